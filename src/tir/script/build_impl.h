/* State of the script builder, shared by build*.c. */
#ifndef TN_TIR_SCRIPT_BUILD_IMPL_H_
#define TN_TIR_SCRIPT_BUILD_IMPL_H_

#include "base/pmap.h"
#include "ir/expr.h"
#include "object/functions.h"
#include "tir/script/build.h"

/* What an expression of a script means. */
typedef enum {
  VAL_PLAIN,  /* v: number, text, None, array, map, IR object, function */
  VAL_T,      /* name behind "T.": "axis.remap" */
  VAL_I,      /* name behind "I." */
  VAL_MODULE, /* the module being defined: cls */
  VAL_METHOD, /* v.name, about to be called */
} val_kind;

typedef struct {
  val_kind kind;
  tn_any v; /* borrowed from the scope */
  const char *name;
} val;

typedef struct {
  const char *name;
  val value;
  int shadowed; /* index of the binding of the same name that this one hides, or -1 */
} binding;

/* Statements of one body. A wrap encloses everything after it: LetStmt, Allocate, AttrStmt, ...
   with a body to be filled in. */
typedef struct {
  tn_stmt *stmt;
  bool wraps;
} body_item;

typedef struct body body;
struct body {
  body *up;
  body_item *items;
  int n, cap;
  int bindings; /* height of the environment when it was opened */
};

/* The block whose body is being read. */
typedef struct block_info block_info;
struct block_info {
  block_info *up;
  tn_vec iter_vars, iter_values, reads, writes, alloc_buffers, match_buffers;
  bool has_reads, has_writes;
  bool realized; /* it is executed where it stands */
  tn_expr *predicate;
  tn_map *annotations;
  tn_stmt *init;
};

typedef struct {
  tn_vec params;
  tn_map *buffer_map, *attrs;
  tn_vec root_alloc;      /* buffers allocated outside of any block */
  const tn_Block *untold; /* the last block that told neither what it reads nor what it writes */
  tn_Type *ret_type;
  tn_str *name;
} func_info;

typedef struct {
  const ast_source *src;
  const script_options *opt;
  tn_arena arena;
  binding *bindings;
  int nbindings, cap_bindings;
  tn_map *newest; /* name -> index of its newest binding, -1 when gone */
  body *body;
  block_info *block;
  func_info *func;
  tn_pmap loops;         /* loop variable -> its Range */
  tn_pmap declared;      /* variables and buffers that are declared but not bound by a statement */
  tn_IRModule *module;   /* while a module is read */
  tn_SourceName *source; /* what the places of the program refer to */
  const ast *stmt;       /* that is being read */
  int depth;
  int64_t left; /* how many steps the text may take still, see one_step */
} builder;

enum { BUILD_DEPTH_MAX = 1000, BUILD_LISTS_MAX = 200, BUILD_FREE_STEPS = 1 << 20 };

#define PLAIN(any)   ((val){.kind = VAL_PLAIN, .v = (any)})
#define PLAIN_OBJ(o) PLAIN(tn_any_obj(o))

/** The object a value is, NULL when it is none. */
static inline tn_obj *val_obj(const val *v) {
  return v->kind == VAL_PLAIN && tn_any_is_obj(&v->v) ? v->v.v.obj : NULL;
}

/* ---- environment (build.c) ---- */
int bind_name(builder *b, const char *name, val value);
/** Counts an expression, a statement or an element of a list at n. Loops over lists and macros read
   parts of the text over and over, and lists hold others more than once: a short text may come to a
   program that fills the memory, and is refused. */
int one_step(builder *b, const ast *n);
/** Takes back all bindings after the first `height`. */
int forget_bindings(builder *b, int height);
/** Makes T, tir and I known. */
int bind_script_modules(builder *b);
bool find_name(const builder *b, const char *name, val *out);
body *open_body(builder *b);
/** The place of a piece of the text. NULL with MemoryError. */
tn_Span *span_at(builder *b, const ast *n);
/** A statement is where it is read, unless the host made it and knows better. */
int place_stmt(builder *b, tn_stmt *s);
/** The statements of the innermost body as one; NULL on failure. The names bound in it are gone. */
tn_stmt *close_body(builder *b);
int add_stmt(builder *b, tn_stmt *s);
int add_wrap(builder *b, tn_stmt *s);
tn_stmt *with_stmt_body(tn_stmt *s, tn_stmt *inner);
/** Turns a pending error that has no place yet into a diagnostic at `at`. Returns -1. */
int place_error(builder *b, const ast *at);

/* ---- expressions (build_expr.c, build_call.c) ---- */
int eval(builder *b, const ast *n, val *out);
tn_expr *eval_expr(builder *b, const ast *n);
tn_obj *eval_obj(builder *b, const ast *n);
int eval_int(builder *b, const ast *n, int64_t *out);
const char *eval_text(builder *b, const ast *n);
/* The memory that a buffer or allocation is in: "global" when n is NULL or an empty text. */
const char *eval_memory_scope(builder *b, const ast *n);
int eval_dtype(builder *b, const ast *n, tn_dtype *out);
tn_expr *to_expr(builder *b, const ast *at, const val *v);
tn_obj *to_obj(builder *b, const ast *at, const val *v);
/** Array of PrimExpr from a tuple, list or single value. */
tn_arr *to_exprs(builder *b, const ast *at, const val *v);
tn_arr *eval_exprs(builder *b, const ast *n);
tn_BufferRegion *to_region(builder *b, const ast *at, const val *v);
/** Indices of a store: slices become ramps. */
tn_arr *eval_indices(builder *b, const ast *index);
/** The value of an expression that the host evaluates (build_host.c). */
int host_eval(builder *b, const ast *n, val *out);
/** Asks the host what a name is, without making a value of it: a module of scripts becomes known
 * under that name.
 * @return 1 when the name is the host's own, 0 when it is bound now, -1 */
int ask_host(builder *b, const ast *name, val *out);
/** base[...] (build_index.c) */
int eval_index(builder *b, const ast *n, val *out);
/** A region that stands in an expression is a read of it: a slice of constant length is a vector.
 */
tn_expr *region_as_load(builder *b, const ast *at, const tn_BufferRegion *r);

/* arguments of a call by position or name */
const ast *arg_of(const ast *call, int position, const char *name);

/** Notes that something was made of a node. */
static inline void see(const ast *n) { ((ast *)(uintptr_t)n)->seen = true; }
/** The same for all that is in it. */
void see_all(const ast *n);

/** Of calls that something was made of, all arguments must have been taken: what no builder asked
 * for is one too many, or has a name that is not known. Asked once what is in the statements is
 * built. */
int args_are_seen(builder *b, ast_list stmts);
int count_args(const ast *call);
/** Positional arguments with *starred ones spread out, as objects. */
int eval_args(builder *b, const ast *call, tn_vec *out);

/** Calls T.name(...) that give a value. @return 1 when `name` is not one of them */
int call_t(builder *b, const ast *call, const char *name, val *out);
/** T.name(...) that is neither a number nor an intrinsic (build_names.c).
 *  @return 1 when it is not one of these */
int call_named(builder *b, const ast *call, const char *name, val *out);
/** A call of T.name or I.name that scripts do not have: the host's function, or an error. */
int call_unknown(builder *b, const ast *call, const val *f, val *out);
/** The first argument of call_llvm_intrin as a number, where it is a name (build_names.c). */
int name_llvm_intrinsic(builder *b, const ast *call, tn_vec *args);
/** A call of a function of the module; its type is the function's result, where that is known. */
tn_Call *call_global(const tn_GlobalVar *gv, const tn_vec *args);
int call_method(builder *b, const ast *call, const val *method, val *out);
tn_Type *eval_type(builder *b, const ast *n);

/* ---- buffers (build_buffer.c) ---- */
/** T.Buffer / match_buffer / alloc_buffer / decl_buffer with its keyword arguments; `first` is the
 * position of shape. */
tn_Buffer *eval_buffer(builder *b, const ast *call, int first, const char *name);
/** The same for a buffer that stands for a region: its shape and type where no shape is given. */
tn_Buffer *eval_buffer_of(builder *b, const ast *call, int first, const char *name,
                          const tn_BufferRegion *of);

/* ---- statements (build_stmt.c, build_block.c, build_with.c) ---- */
int build_stmts(builder *b, ast_list stmts);
int build_stmt(builder *b, const ast *n);
int build_with(builder *b, const ast *n);
int build_for(builder *b, const ast *n);
/** From begin to before end, the extent as script_loop_extent has it. */
tn_Range *script_range(tn_expr *begin, tn_expr *end);
/** Statements that are calls of T.name: T.reads, T.where, T.func_attr, ... @return 1 when it is
 * none of them */
int build_call_stmt(builder *b, const ast *call, const char *name);
/** x = T.name(...) where T.name binds rather than computes. @return 1 when it is none of them */
int build_binding(builder *b, const ast *target, const ast *call, const char *name);
/** with T.block(...) */
int build_block(builder *b, const ast *with, const ast *call);
/** v = T.axis.kind(...) */
int build_axis(builder *b, const ast *target, const ast *call, const char *kind);
/** target = value where target is a[...]. */
int build_store(builder *b, const ast *at, const ast *target, tn_expr *value);
int bind_target(builder *b, const ast *target, val v);
/** The variable of type t that a statement binds to `target`: the one that was declared under this
 * name (x = T.int32()), because the program uses it above the statement too, or a new one. */
int bind_var(builder *b, const ast *target, tn_Var **out, tn_dtype t);
/** What was declared under the name `target`, before a statement binds it; NULL when nothing was.
 */
tn_obj *declared_as(const builder *b, const ast *target);
/** The pointer that a statement binds to `target`: the declared one, or a new one of `element` in
 * `scope`, named `other` where there is no name. */
tn_Var *bound_pointer(const builder *b, const ast *target, const char *other, tn_dtype element,
                      const char *scope);
/** The dotted name when n is T.name or a call of it, else NULL. */
const char *t_name(builder *b, const ast *n);

/** name(...) as a statement where name is a macro. @return 1 when it is none (build_macro.c) */
int build_macro(builder *b, const ast *call);

/* ---- functions (build_func.c) ---- */
/** The type of a function from its head; NULL without an error when it cannot be told. */
tn_Type *signature_of(builder *b, const ast *def);
tn_PrimFunc *build_func(builder *b, const ast *def);

/* ---- build_wide.c ---- */

/** An integer that is written with numbers alone: an int64, or a uint64 expression beyond.
 * @return 0, 1 when it is none or does not fit, -1 with an error */
int build_wide(const ast *n, val *out);

#endif /* TN_TIR_SCRIPT_BUILD_IMPL_H_ */
