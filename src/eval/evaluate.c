/* The value of a call on constants. Moves and plain arithmetic are done here; of other operators the
   tensor program runs at once. Small ones are interpreted, which needs no code generator; from a
   size on native code is made where there is LLVM. */
#include "base/error.h"
#include "base/scope.h"
#include "eval/evaluate.h"
#include "eval/evaluate_code.h"
#include "driver/kernel_build.h"
#include "ir/op.h"
#include "ir/pass.h"
#include "object/functions.h"
#include "relay/evaluate.h"
#include "relay/op.h"
#include "relay/type_text.h"
#include "tenon/runtime.h"

enum { SMALL = 1 << 14 }; /* elements that are interpreted */

/* ---- arguments ---- */

typedef struct {
  tn_vec params;  /* Var of the function, for each argument */
  tn_vec args;    /* their expressions inside */
  tn_vec tensors; /* values, then results */
  int64_t elements;
} evaluation;

static relay_expr *add_constant(evaluation *e, const tn_Constant *c) {
  const DLTensor *t = tn_tensor_dl(c->data);
  tn_TensorType *type;
  tn_RelayVar *v;
  TN_GETP(type, relay_tensor_type_of(t->shape, t->ndim, t->dtype));
  TN_GETP(v, relay_var("p", (tn_Type *)type));
  TN_TRYP(tn_vec_push_obj(&e->params, v));
  TN_TRYP(tn_vec_push_obj(&e->tensors, c->data));
  e->elements += tn_tensor_count(t);
  return (relay_expr *)v;
}

static int add_arg(evaluation *e, tn_obj *arg) {
  const tn_RelayTuple *tuple = TN_AS(RelayTuple, arg);
  relay_expr *inside;
  if (!tuple) {
    TN_GET(inside, add_constant(e, (const tn_Constant *)arg));
    return tn_vec_push_obj(&e->args, inside);
  }
  TN_VEC(fields);
  for (int64_t i = 0; i < tuple->fields->len; ++i) {
    TN_GET(inside, add_constant(e, (const tn_Constant *)tn_arr_obj(tuple->fields, i)));
    TN_TRY(tn_vec_push_obj(&fields, inside));
  }
  TN_GET(inside, (relay_expr *)relay_tuple(tn_arr_from(&fields)));
  return tn_vec_push_obj(&e->args, inside);
}

/* ---- results ---- */

static relay_expr *add_result(evaluation *e, const tn_TensorType *t) {
  int64_t dims[64];
  tn_tensor *out;
  TN_CHECKP(relay_known_ints(t->shape, dims, 64) >= 0, ValueError, NULL,
            "a constant of type %s: expected at most 64 dimensions, all of them known",
            relay_type_text(t));
  TN_GETP(out, tn_scope_own(tn_tensor_new(dims, (int32_t)t->shape->len, t->dtype,
                                          (tn_device){kDLCPU, 0}, NULL)));
  TN_TRYP(tn_vec_push_obj(&e->tensors, out));
  e->elements += tn_tensor_count(tn_tensor_dl(out));
  return (relay_expr *)relay_constant((tn_NDArray *)out);
}

static relay_expr *add_results(evaluation *e, const tn_Type *t) {
  const tn_TupleType *tuple = TN_AS(TupleType, t);
  TN_VEC(fields);
  if (!tuple) return add_result(e, (const tn_TensorType *)t);
  for (int64_t i = 0; i < tuple->fields->len; ++i) {
    relay_expr *field;
    const tn_TensorType *type = TN_AS(TensorType, tn_arr_obj(tuple->fields, i));
    TN_CHECKP(type, ValueError, NULL, "a constant that is a tuple of tuples");
    TN_GETP(field, add_result(e, type));
    TN_TRYP(tn_vec_push_obj(&fields, field));
  }
  return (relay_expr *)relay_tuple(tn_arr_from(&fields));
}

/* ---- running ---- */

static bool has_llvm(void) {
  tn_func *f = tn_func_find("target.llvm_version_major"); /* opens the plug-in */
  tn_any ret = tn_any_none();
  int64_t version = 0;
  if (f && tn_func_call(f, NULL, 0, &ret) == 0) (void)tn_any_to_int(&ret, &version);
  tn_any_release(&ret);
  tn_release(f);
  tn_error_clear();
  return version > 0;
}

static tn_target *target_for(const evaluation *e) {
  return target_parse(e->elements > SMALL && has_llvm() ? "llvm" : "stackvm");
}

static tn_module *compile(const tn_RelayFunction *f, tn_target *t) {
  kernel_job job = {.name = "constant"};
  TN_GETP(job.program, driver_primitive(f, t));
  return driver_kernels_build(&job, 1, t);
}

/* In its own context: instruments and options are meant for the program, not for what becomes
   of its constants. The program may be anybody's, so indices that are data are checked, whatever
   the operator made of them. */
static tn_module *compile_apart(const tn_RelayFunction *f, tn_target *t) {
  tn_PassContext *ctx;
  tn_map *config;
  TN_GETP(config, tn_map_with(NULL, tn_any_cstr("tir.check_data_indices"), tn_any_int(1)));
  const char *names[] = {"config"};
  tn_any values[] = {tn_any_obj(config)};
  TN_GETP(ctx, tn_scope_own(tn_node_make(&tn_type_PassContext, 1, names, values)));
  TN_TRYP(ir_pass_ctx_enter(ctx));
  tn_module *m = compile(f, t);
  return ir_pass_ctx_exit(ctx) ? NULL : m;
}

static int run(tn_module *m, const evaluation *e) {
  tn_any ret = tn_any_none();
  tn_func *f;
  TN_GET(f, tn_module_require(m, "constant", false));
  int err = tn_func_call(f, e->tensors.items, (int32_t)e->tensors.len, &ret);
  tn_any_release(&ret);
  tn_release(f);
  return err;
}

static relay_expr *evaluate_call(evaluation *e, const tn_RelayCall *call) {
  tn_RelayCall *inside;
  tn_RelayFunction *f;
  relay_expr *result;
  tn_target *t;
  tn_module *m;
  for (int64_t i = 0; i < call->args->len; ++i) TN_TRYP(add_arg(e, relay_arg(call, i)));
  TN_GETP(result, add_results(e, relay_type_of(call)));
  TN_GETP(inside, relay_call_new(call->op, tn_arr_from(&e->args), call->attrs));
  tn_retain(((const relay_expr *)call)->_checked_type_);
  ((relay_expr *)inside)->_checked_type_ = ((const relay_expr *)call)->_checked_type_;
  TN_GETP(f, relay_function(tn_arr_from(&e->params), inside, NULL, NULL));
  TN_GETP(t, target_for(e));
  if (!(m = evaluate_code_get(f, t))) {
    TN_GETP(m, compile_apart(f, t));
    evaluate_code_put(f, t, m);
  }
  if (run(m, e)) {
    tn_error_note("in %s, computed on constants", relay_called_op(call));
    return NULL;
  }
  return result;
}

/* Has the program registered what the operator computes? */
static bool has_registered_compute(const tn_RelayCall *call) {
  tn_any found;
  return ir_op_attr((const tn_Op *)call->op, "FTVMCompute", &found);
}

static relay_expr *evaluate(const tn_RelayCall *call) {
  TN_SCOPE(s);
  evaluation e = {0};
  relay_expr *r;
  bool ours = !has_registered_compute(call);
  int known = ours ? eval_move(call, &r) : 0;
  if (ours && !known) known = eval_elementwise(call, &r);
  if (known) return tn_scope_return(s, r);
  r = evaluate_call(&e, call);
  tn_vec_fini(&e.params);
  tn_vec_fini(&e.args);
  tn_vec_fini(&e.tensors);
  return tn_scope_return(s, r);
}

int eval_constants_init(void) {
  relay_set_evaluator(evaluate);
  return 0;
}
