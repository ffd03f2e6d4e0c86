/* FakeQuantizationToInteger: rules of programs, the attribute FTVMFakeQuantizationToInteger of an
   operator.

     rule(call, types) -> [expression, type]

   The call has quantized operands; `types` tells what they stand for (operand -> TensorAffineType,
   that of a tuple -> TupleAffineType). The rule answers with an expression of integers and what that
   stands for, or with None where it does not apply. It goes before the pass's own rules. It is not
   asked where one expression stands for different numbers as two operands (two scales of the same
   integers), which `types` cannot tell apart. */
#include "base/error.h"
#include "base/scope.h"
#include "base/stack.h"
#include "object/functions.h"
#include "relay/op.h"
#include "relay/transforms/fake_quantization.h"
#include "tenon/object.h"

/* What a rule is told besides the call. */
typedef struct {
  tn_map *types;
  bool unclear; /* an expression stands for different numbers */
} telling;

/* Puts down what an operand stands for. */
static int tell(telling *t, void *x, void *type) {
  tn_any known;
  if (!x || !type) return -1;
  if (tn_map_get(t->types, tn_any_obj(x), &known)) {
    int same = tn_equal(known.v.obj, type, 0);
    if (same < 0) return -1;
    t->unclear |= !same;
  }
  return tn_map_set(t->types, tn_any_obj(x), tn_any_obj(type));
}

static void *affine_type(const fq_view *v) {
  return TN_NEW(TensorAffineType, .scale = v->scale, .zero_point = v->zero, .dtype = v->type->dtype,
                .axis = v->one ? -1 : v->axis);
}

/* A tuple of quantized tensors; the operand itself where some are not. */
static void *quantized_tuple(const tn_RelayTuple *t, telling *to) {
  fq_view v;
  tn_RelayTuple *made;
  TN_VEC(fields);
  TN_VEC(all);
  for (int64_t i = 0; i < t->fields->len; ++i) {
    if (!fq_view_of(tn_arr_obj(t->fields, i), &v)) return (void *)(uintptr_t)t;
    TN_TRYP(tn_vec_push_obj(&fields, v.x) || tn_vec_push_obj(&all, affine_type(&v)));
  }
  TN_GETP(made, relay_tuple(tn_arr_from(&fields)));
  void *type = TN_NEW(TupleAffineType, .types = tn_arr_from(&all));
  return tell(to, made, type) ? NULL : made;
}

/* The operand as integers, of which the rule is told; itself where it stands for none (indices). */
static void *quantized(void *e, telling *to) {
  fq_view v;
  const tn_RelayTuple *t = TN_AS(RelayTuple, e);
  if (t) return quantized_tuple(t, to);
  if (!fq_view_of(e, &v)) return e;
  return tell(to, v.x, affine_type(&v)) ? NULL : v.x;
}

static tn_RelayCall *quantized_call(const tn_RelayCall *c, telling *to) {
  TN_VEC(args);
  for (int64_t i = 0; i < c->args->len; ++i) {
    void *e;
    TN_GETP(e, quantized(relay_arg(c, i), to));
    TN_TRYP(tn_vec_push_obj(&args, e));
  }
  return relay_call_new(c->op, tn_arr_from(&args), c->attrs);
}

/* What a rule's expression stands for, as an expression of floats. NULL without an error: `type`, or
   one in it, is not an affine type of expressions. */
static void *dequantized(void *e, const tn_obj *type) {
  const tn_TensorAffineType *t = TN_AS(TensorAffineType, type);
  const tn_TupleAffineType *all = TN_AS(TupleAffineType, type);
  TN_VEC(fields);
  TN_TRYP(tn_stack_check("an affine type"));
  if (t && (!TN_IS(RelayExpr, t->scale) || !TN_IS(RelayExpr, t->zero_point))) return NULL;
  if (t)
    return fq_stands_for(e, relay_fold_expr((relay_expr *)t->scale),
                         relay_fold_expr((relay_expr *)t->zero_point), t->axis);
  if (!all) return NULL;
  for (int64_t i = 0; i < all->types->len; ++i) {
    void *field = dequantized(relay_get_item(e, i), tn_arr_obj(all->types, i));
    if (!field) return NULL;
    TN_TRYP(tn_vec_push_obj(&fields, field));
  }
  return relay_tuple(tn_arr_from(&fields));
}

static void *answered(const tn_RelayCall *c, tn_obj *said) {
  const tn_arr *pair = TN_AS(Array, said);
  tn_obj *e = pair && pair->len == 2 ? tn_arr_obj(pair, 0) : NULL,
         *type = e ? tn_arr_obj(pair, 1) : NULL;
  void *made = TN_IS(RelayExpr, e) ? dequantized(e, type) : NULL;
  TN_CHECKP(made || tn_error_pending(), TypeError, c->span,
            "%s: FTVMFakeQuantizationToInteger: expected a list of an expression and an affine "
            "type, or None, got %s",
            relay_called_op(c), tn_obj_key(said));
  return made;
}

int fq_ask_hook(const tn_RelayCall *c, void **made) {
  tn_any found, ret = tn_any_none();
  tn_func *f;
  telling t = {0};
  tn_RelayCall *call;
  *made = NULL;
  if (!ir_op_attr((const tn_Op *)c->op, "FTVMFakeQuantizationToInteger", &found)) return 0;
  TN_TRY(tn_any_to_obj(&found, "runtime.PackedFunc", (tn_obj **)&f));
  TN_GET(t.types, tn_scope_own(tn_map_new()));
  TN_GET(call, quantized_call(c, &t));
  if (tn_map_len(t.types) == 0 || t.unclear) return 1;
  TN_TRY(tn_func_call(f, (tn_any[]){tn_any_obj(call), tn_any_obj(t.types)}, 2, &ret));
  if (ret.type_index == TN_NONE) return 1;
  TN_CHECK(
      tn_any_is_obj(&ret), TypeError, c->span,
      "%s: FTVMFakeQuantizationToInteger: expected a list of an expression and an affine type, "
      "or None, got a number",
      relay_called_op(c));
  TN_GET(*made, answered(c, tn_scope_own(ret.v.obj)));
  return 1;
}
