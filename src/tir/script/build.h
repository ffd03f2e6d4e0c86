/* TVMScript read back into programs: gives meaning to a syntax tree (ast.h).

   What a script does not define itself (captured Python values, calls of Python functions,
   f-strings, comprehensions) is evaluated by a callback: host(source text, locals) -> value, where
   locals maps the script's names that occur in the text to their values. Without a host such a name
   is an error at its place. */
#ifndef TN_TIR_SCRIPT_BUILD_H_
#define TN_TIR_SCRIPT_BUILD_H_

#include "tir/script/ast.h"
#include "tir/script/printer.h"
#include "tir/tir.h"

/* A function whose statements stand for its calls (T.macro). */
#define TN_FIELDS_ScriptMacro(F, S)                                                                \
  F(S, REF, String, name, 0, "name of the function")                                               \
  F(S, REF, String, source, 0, "its text")                                                         \
  F(S, REF, String, file, 0, "where the text is from", "\"<string>\"")                             \
  F(S, I64, , first_line, 0, "number of its first line in the file", "1")                          \
  F(S, I64, , first_col, 0, "columns cut off on the left", "0")                                    \
  F(S, BOOL, , hygienic, 0, "other names mean what they meant where it was defined", "True")       \
  F(S, REF, Object, host, TN_OPT | TN_NOCMP | TN_NOSAVE, "evaluates those names", "None")          \
  F(S, REF, Object, receiver, TN_OPT | TN_NOCMP | TN_NOSAVE, "first argument of a method", "None")
/* A value of the host language that scripts have no form for, as an instance of a class. */
#define TN_FIELDS_HostValue(F, S) F(S, I64, , key, 0, "what the host knows it by")
#define TN_SCRIPT_NODES(N)                                                                         \
  N(ScriptMacro, Object, "script.Macro", NODE, TREE, tn_no_hooks, "macro of scripts")              \
  N(HostValue, Object, "script.HostValue", NODE, TREE, tn_no_hooks, "value of the host language")
TN_NODES_FORWARD(TN_SCRIPT_NODES)
TN_NODES_INDEX(TN_SCRIPT_NODES, TN_TI_END_printer, script)
TN_NODES_DECLARE(TN_SCRIPT_NODES)

typedef struct {
  tn_func *host;          /* may be NULL */
  bool check_well_formed; /* refuse uses of undefined variables */
} script_options;

/** The programs of a source text: its only definition, or an IRModule of several.
 *  @return PrimFunc or IRModule owned by the scope; NULL with DiagnosticError (place and caret), or
 *  whatever the host raised */
TN_API tn_obj *script_parse(const ast_source *src, const script_options *opt);
/** A single expression, with names from `locals` (string to value, may be NULL). */
TN_API tn_obj *script_parse_expr(const ast_source *src, const tn_map *locals,
                                 const script_options *opt);

/** A buffer that the host allocates while it evaluates something for a script on this thread.
 *  @return 1: the script owns it now; 0: no script is being read; -1 with MemoryError */
int script_host_alloc(tn_obj *buffer);
/** Iterations from `begin` to before `end`, as the heads of loops mean it: of `begin + n` it is n
 * as it stands. */
tn_expr *script_loop_extent(tn_expr *begin, tn_expr *end);

#endif /* TN_TIR_SCRIPT_BUILD_H_ */
