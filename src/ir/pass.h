/* Passes: functions from modules to modules, with a name, a level and options.

   A pass in C is one function and one row of its layer's table:

     P(tir_remove_no_op, "tir.RemoveNoOp", PRIMFUNC, 0, "tir.transform.RemoveNoOpConfig",
       "drop ...")

     tn_PrimFunc *tir_remove_no_op(tn_PrimFunc *f, const tn_pass_ctx *c);

   From the row follow the constructor "tir.transform.RemoveNoOp" (a global function, so Python's
   tenon.tir.transform.RemoveNoOp too) and the declaration of its option. */
#ifndef TN_IR_PASS_H_
#define TN_IR_PASS_H_

#include "ir/ir.h"
#include "ir/pass.def"

TN_NODES_FORWARD(TN_PASS_NODES)
TN_NODES_INDEX(TN_PASS_NODES, TN_TI_END_expr, pass)
TN_NODES_DECLARE(TN_PASS_NODES)
_Static_assert((int)TN_TI_END_pass <= (int)TN_TI_BEGIN_ARITH,
               "the layer's block of type indices is full");

/** What a pass function is given besides its module or function. */
typedef struct {
  tn_PassContext *node; /**< the context it runs in */
  tn_IRModule *mod;     /**< the module */
  const tn_any *args;   /**< arguments of the pass's constructor, borrowed */
  int32_t nargs;
} tn_pass_ctx;

typedef tn_IRModule *(*ir_module_pass_fn)(tn_IRModule *m, const tn_pass_ctx *c);
typedef tn_BaseFunc *(*ir_func_pass_fn)(tn_BaseFunc *f, const tn_pass_ctx *c);

/** RELAYMODULE: a module pass that changes Relay functions, whose types are found afterwards. */
typedef enum {
  IR_PASS_MODULE,
  IR_PASS_PRIMFUNC,
  IR_PASS_RELAYFUNC,
  IR_PASS_RELAYMODULE
} ir_pass_kind;

typedef struct {
  const char *name; /**< of the pass: "tir.RemoveNoOp" */
  ir_pass_kind kind;
  int level;
  ir_module_pass_fn module; /**< the one that `kind` says */
  ir_func_pass_fn func;
  const char *config; /**< type key of its options node, declared as option `name`; NULL */
  const char *doc;
} ir_pass_row;

/** Expansions of P(fn, name, KIND, level, config, doc) for a layer's table. */
#define TN_AS_PASS_ROW(fn, name, KIND, level, config, doc)                                         \
  {name, IR_PASS_##KIND, level, TN_PASS_FN_##KIND(fn), config, doc},
#define TN_PASS_FN_MODULE(fn)      fn, NULL
#define TN_PASS_FN_PRIMFUNC(fn)    NULL, (ir_func_pass_fn)(void (*)(void))(fn)
#define TN_PASS_FN_RELAYMODULE(fn) fn, NULL
#define TN_PASS_FN_RELAYFUNC(fn)   NULL, (ir_func_pass_fn)(void (*)(void))(fn)

/** Registers constructors: `prefix` ("tir.transform.") and the last part of each row's name. Their
 * arguments reach the function in tn_pass_ctx. */
TN_API int ir_pass_register(const char *prefix, const ir_pass_row *rows, int n);
/** Rows of all registered passes in order of registration. NULL at the end. */
TN_API const ir_pass_row *ir_pass_at(int i);
/** The row of a registered pass by its full name ("tir.Simplify"). NULL with an InternalError where
 * there is none: names come from lists in the library. */
TN_API const ir_pass_row *ir_pass_named(const char *name);
/** Tells which functions passes of a kind are for, and which of them to leave alone. */
TN_API void ir_pass_functions(ir_pass_kind kind, const tn_type *func,
                              bool (*skip)(const tn_BaseFunc *f));

/** Tells what is done around every pass over a function of a kind: `end` gets what `begin` gave,
 * which is NULL with an error. */
TN_API void ir_pass_around(ir_pass_kind kind, void *(*begin)(const tn_BaseFunc *f),
                           void (*end)(void *state));

/** Tells what is done to a module after a pass of a kind that a program runs by itself or in a
 * sequence: `finish` returns the module, NULL with an error. */
TN_API void ir_pass_finished(ir_pass_kind kind, tn_IRModule *(*finish)(tn_IRModule *m));

/** A pass made of a C function. `args` are kept. */
TN_API tn_Pass *ir_pass_new(const ir_pass_row *row, const tn_any *args, int32_t nargs);
TN_API tn_Sequential *ir_sequential(const char *name, tn_arr *passes);
/** Runs a pass in a context (NULL: the current one) with its instruments around. */
TN_API tn_IRModule *ir_pass_run(tn_Pass *pass, tn_IRModule *m, tn_PassContext *ctx);
/** The same as programs see it: what is told by ir_pass_finished is done afterwards. Builds run
 * lists of passes that find types where they need them. */
TN_API tn_IRModule *ir_pass_run_whole(tn_Pass *pass, tn_IRModule *m, tn_PassContext *ctx);
/** Runs passes in order, whatever their levels. */
TN_API tn_IRModule *ir_pass_run_all(tn_Pass *const *list, int n, tn_IRModule *m,
                                    tn_PassContext *ctx);

/** Adds a check of modules, run after every pass where the option "ir.verify" or the environment
 * variable TENON_VERIFY_PASSES is at least `level`: 0, or -1 with an error. Called at start by the
 * layer that has it. */
TN_API void ir_pass_add_verifier(int level, int (*verify)(tn_IRModule *m));

/* ---- context ---- */

/** The innermost context of the thread; at first one with default values. */
TN_API tn_PassContext *ir_pass_ctx_current(void);
/** Makes a context current, after its instruments' enter functions. If one fails those already
 * entered are left, the context's instruments are dropped, and the error is passed on. */
TN_API int ir_pass_ctx_enter(tn_PassContext *ctx);
/** Leaves the current context, which must be `ctx`. */
TN_API int ir_pass_ctx_exit(tn_PassContext *ctx);
/** Does a sequence run this pass? */
TN_API bool ir_pass_enabled(const tn_PassContext *ctx, const tn_PassInfo *info);

/* ---- options ---- */

typedef struct {
  const char *key, *type; /**< type: "IntImm" (also bool), "runtime.String", "Array", "Map", or the
                             key of an options node, which may be given as a dictionary */
  const char *doc;
  const char *no_effect; /**< why nothing depends on it; NULL: something does */
} ir_config_row;

TN_API int ir_config_declare(const ir_config_row *rows, int n);
/** The i-th declared option, NULL at the end. */
TN_API const ir_config_row *ir_config_at(int i);
/** Value of an option: NULL when it is not set. */
TN_API tn_obj *ir_config_get(const tn_PassContext *ctx, const char *key);
TN_API int64_t ir_config_int(const tn_PassContext *ctx, const char *key, int64_t absent);
/** The options node of a pass (of static type `type`), with its defaults when it is not set. */
TN_API void *ir_config_node(const tn_PassContext *ctx, const char *key, const tn_type *type);
/** A checked and completed copy of a config map. AttributeError names unknown keys and wrong types.
 */
TN_API tn_map *ir_config_check(const tn_map *config);

#endif /* TN_IR_PASS_H_ */
