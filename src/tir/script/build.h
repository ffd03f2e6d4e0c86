/* TVMScript read back into programs: gives meaning to a syntax tree (ast.h).

   What a script does not define itself (captured Python values, calls of Python functions,
   f-strings, comprehensions) is evaluated by a callback: host(source text, locals) -> value, where
   locals maps the script's names that occur in the text to their values. Without a host such a name
   is an error at its place. */
#ifndef TN_TIR_SCRIPT_BUILD_H_
#define TN_TIR_SCRIPT_BUILD_H_

#include "tir/script/ast.h"
#include "tir/tir.h"

typedef struct {
  tn_func *host;          /* may be NULL */
  bool check_well_formed; /* refuse uses of undefined variables */
} script_options;

/** The programs of a source text: its only definition, or an IRModule of several.
 *  @return PrimFunc or IRModule owned by the scope; NULL with DiagnosticError (place and caret), or
 * whatever the host raised */
TN_API tn_obj *script_parse(const ast_source *src, const script_options *opt);
/** A single expression, with names from `locals` (string to value, may be NULL). */
TN_API tn_obj *script_parse_expr(const ast_source *src, const tn_map *locals,
                                 const script_options *opt);

#endif /* TN_TIR_SCRIPT_BUILD_H_ */
