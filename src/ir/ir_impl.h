/* What the files of src/ir share among themselves. */
#ifndef TN_IR_IR_IMPL_H_
#define TN_IR_IR_IMPL_H_

#include "ir/imm.h"
#include "object/functions.h"

/* hooks of the type tables */
/** Places of errors are shown from now on. */
void ir_diag_init(void);
extern const tn_type_hooks ir_int_hooks, ir_float_hooks, ir_expr_hooks, ir_source_name_hooks,
    ir_env_func_hooks, ir_op_hooks, ir_module_hooks;
const char *ir_env_func_name(const tn_obj *self);
tn_obj *ir_env_func_from_name(const char *name);
const char *ir_op_name(const tn_obj *self);
tn_obj *ir_op_from_name(const char *name);
const char *ir_source_name_text(const tn_obj *self);
tn_obj *ir_source_name_from_text(const char *text);
int ir_module_check(tn_obj *self);

/* parts of ir_init */
int ir_types_init(void);
int ir_pools_init(void);
int ir_api_expr_init(void);
int ir_api_types_init(void);
int ir_api_op_init(void);
int ir_api_module_init(void);
int ir_api_registry_init(void);
int ir_names_init(void);
int ir_tir_ops_init(void);
void ir_functor_init(void);

/** Argument i as an expression (see ir_expr_from); *out is NULL when it is None or missing. */
int ir_arg_expr(const tn_any *args, int32_t n, int32_t i, tn_expr **out);
/** The same when it must be there: TypeError names the function and the argument. */
int ir_arg_need(const char *func, const tn_any *args, int32_t n, int32_t i, tn_expr **out);
/** Argument i, an array, with every element as an expression; None and a missing one give an empty
 * array. */
int ir_arg_exprs(const tn_any *args, int32_t n, int32_t i, tn_arr **out);
/** Argument i as a span, NULL when None or missing. */
int ir_arg_span(const tn_any *args, int32_t n, int32_t i, tn_Span **out);
/** Argument i as a text, or `absent` when None or missing. */
int ir_arg_text(const tn_any *args, int32_t n, int32_t i, const char *absent, const char **out);
/** Argument i as an integer, or `absent` when None or missing. */
int ir_arg_int(const tn_any *args, int32_t n, int32_t i, int64_t absent, int64_t *out);

#endif /* TN_IR_IR_IMPL_H_ */
