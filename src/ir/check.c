/* Invariants of nodes: what every constructor, keyword construction and the JSON reader go through.
   The checks also fill in what follows from the other fields (dtype), so a file cannot bring in a
   node whose parts disagree. */
#include "ir/imm.h"

void *ir_node_check(void *node) {
  tn_obj *o = node;
  if (!o || !o->type->hooks->init || o->type->hooks->init(o) == 0) return node;
  return (void)tn_trace(__FILE__, __LINE__, __func__), NULL;
}

int ir_check_items(const tn_arr *a, const tn_type *want, const char *what, const tn_Span *span) {
  for (int64_t i = 0; i < a->len; ++i) {
    const tn_obj *o = tn_arr_obj(a, i);
    if (!o && tn_error_pending()) return -1; /* a nested builder failed */
    TN_CHECK(tn_obj_is(o, want), TypeError, span, "%s[%lld]: expected %s, got %s", what,
             (long long)i, want->key, tn_type_key((uint32_t)a->items[i].type_index));
  }
  return 0;
}

static tn_expr *item(const tn_arr *a, int64_t i) { return (tn_expr *)tn_arr_obj(a, i); }

static int mismatch(const tn_expr *self, tn_dtype a, tn_dtype b) {
  return TN_RAISE(TenonError, self->span, "%s: mismatched types. %s vs. %s", self->hdr.type->name,
                  TN_DT(a), TN_DT(b));
}

static int check_binary(tn_BinaryOp *x) {
  uint32_t ti = x->hdr.type_index;
  if (!tn_dtype_eq(x->a->dtype, x->b->dtype))
    return mismatch((tn_expr *)x, x->a->dtype, x->b->dtype);
  if (ti >= TN_TI_And)
    TN_CHECK(ir_is_bool(x->a->dtype), TenonError, x->span,
             "%s: expected operands of type bool, got %s", x->hdr.type->name, TN_DT(x->a->dtype));
  x->dtype = ti >= TN_TI_EQ ? ir_with_lanes(TN_BOOL1, x->a->dtype.lanes) : x->a->dtype;
  return 0;
}

static int check_not(tn_Not *x) {
  TN_CHECK(ir_is_bool(x->a->dtype), TenonError, x->span,
           "Not: expected an operand of type bool, got %s", TN_DT(x->a->dtype));
  x->dtype = x->a->dtype;
  return 0;
}

static int check_cast(const tn_Cast *x) {
  TN_CHECK(x->dtype.lanes == x->value->dtype.lanes, TenonError, x->span,
           "Cast: cannot convert %s to %s: the lanes differ", TN_DT(x->value->dtype),
           TN_DT(x->dtype));
  return 0;
}

static int check_select(tn_Select *x) {
  tn_dtype c = x->condition->dtype, t = x->true_value->dtype, f = x->false_value->dtype;
  TN_CHECK(ir_is_bool(c), TenonError, x->span, "Select: expected a condition of type bool, got %s",
           TN_DT(c));
  if (!tn_dtype_eq(t, f)) return mismatch((tn_expr *)x, t, f);
  TN_CHECK(c.lanes == 1 || c.lanes == t.lanes, TenonError, x->span,
           "Select: the condition is %s, the values are %s: the lanes differ", TN_DT(c), TN_DT(t));
  x->dtype = t;
  return 0;
}

static int check_lanes(const tn_expr *self, const tn_expr *scalar, int64_t lanes) {
  TN_CHECK(scalar->dtype.lanes == 1, TenonError, self->span, "%s: expected a scalar, got %s",
           self->hdr.type->name, TN_DT(scalar->dtype));
  TN_CHECK((lanes > 1 || lanes < 0) && lanes <= INT16_MAX && lanes >= -INT16_MAX, TenonError,
           self->span, "%s: expected 2 to 32767 lanes, or 1 to 32767 times vscale, got %s%lld",
           self->hdr.type->name, lanes < 0 ? "vscale * " : "",
           (long long)(lanes < 0 && lanes > INT64_MIN ? -lanes : lanes));
  return 0;
}

static int check_ramp(tn_Ramp *x) {
  TN_TRY(check_lanes((tn_expr *)x, x->base, x->lanes));
  if (!tn_dtype_eq(x->base->dtype, x->stride->dtype))
    return mismatch((tn_expr *)x, x->base->dtype, x->stride->dtype);
  x->dtype = ir_with_lanes(x->base->dtype, (int)x->lanes);
  return 0;
}

static int check_broadcast(tn_Broadcast *x) {
  TN_TRY(check_lanes((tn_expr *)x, x->value, x->lanes));
  x->dtype = ir_with_lanes(x->value->dtype, (int)x->lanes);
  return 0;
}

static int check_shuffle(tn_Shuffle *x) {
  TN_TRY(ir_check_items(x->vectors, &tn_type_PrimExpr, "Shuffle.vectors", x->span));
  TN_TRY(ir_check_items(x->indices, &tn_type_PrimExpr, "Shuffle.indices", x->span));
  TN_CHECK(x->vectors->len > 0 && x->indices->len > 0, TenonError, x->span,
           "Shuffle: expected at least one vector and one index");
  tn_dtype base = ir_with_lanes(item(x->vectors, 0)->dtype, 1);
  int64_t lanes = 0;
  for (int64_t i = 0; i < x->vectors->len; ++i) {
    tn_dtype t = ir_with_lanes(item(x->vectors, i)->dtype, 1);
    lanes += item(x->vectors, i)->dtype.lanes;
    if (!tn_dtype_eq(t, base)) return mismatch((tn_expr *)x, base, t);
    TN_CHECK(!tn_dtype_is_scalable(item(x->vectors, i)->dtype), TenonError, x->span,
             "Shuffle: vector %lld: expected a fixed number of lanes, got %s", (long long)i,
             TN_DT(item(x->vectors, i)->dtype));
  }
  for (int64_t i = 0; i < x->indices->len; ++i) {
    int64_t at;
    TN_CHECK(!tir_as_int((const tn_obj *)item(x->indices, i), &at) || (at >= 0 && at < lanes),
             IndexError, x->span, "Shuffle: index %lld is %lld, the vectors have %lld lanes",
             (long long)i, (long long)at, (long long)lanes);
  }
  TN_CHECK(x->indices->len <= INT16_MAX, TenonError, x->span, "Shuffle: too many lanes (%lld)",
           (long long)x->indices->len);
  x->dtype = ir_with_lanes(base, (int)x->indices->len);
  return 0;
}

static int check_let(tn_Let *x) {
  if (!tn_dtype_eq(x->var->dtype, x->value->dtype))
    return mismatch((tn_expr *)x, x->var->dtype, x->value->dtype);
  x->dtype = x->body->dtype;
  return 0;
}

/* dtype of values of a type: pointers and functions are handles. */
static tn_dtype type_dtype(const tn_Type *type) {
  const tn_PrimType *prim = TN_AS(PrimType, type);
  const tn_TupleType *tuple = TN_AS(TupleType, type);
  if (prim) return prim->dtype;
  return tuple && tuple->fields->len == 0 ? TN_VOID : TN_HANDLE;
}

/* A variable without an annotation has the type of its dtype; with one it has the annotation's
 * dtype. */
static int check_var(tn_Var *x) {
  if (x->type_annotation) {
    x->dtype = type_dtype(x->type_annotation);
    return 0;
  }
  x->type_annotation = (tn_Type *)TN_NEW(PrimType, .dtype = x->dtype);
  tn_retain(x->type_annotation);
  return x->type_annotation ? 0 : -1;
}

/* Intrinsics of a fixed number of arguments get that many. */
static int check_call(const tn_Call *x) {
  const tn_Op *op = TN_AS(Op, x->op);
  TN_TRY(ir_check_items(x->args, &tn_type_PrimExpr, "Call.args", x->span));
  TN_CHECK(!op || op->num_inputs < 0 || op->num_inputs == x->args->len, ValueError, x->span,
           "%s: expected %lld argument%s, got %lld", tn_cstr(op->name), (long long)op->num_inputs,
           op->num_inputs == 1 ? "" : "s", (long long)x->args->len);
  return 0;
}

static int check_reducer(const tn_CommReducer *x) {
  TN_TRY(ir_check_items(x->lhs, &tn_type_Var, "CommReducer.lhs", x->span));
  TN_TRY(ir_check_items(x->rhs, &tn_type_Var, "CommReducer.rhs", x->span));
  TN_TRY(ir_check_items(x->result, &tn_type_PrimExpr, "CommReducer.result", x->span));
  TN_TRY(ir_check_items(x->identity_element, &tn_type_PrimExpr, "CommReducer.identity_element",
                        x->span));
  int64_t n = x->result->len;
  TN_CHECK(n > 0 && x->lhs->len == n && x->rhs->len == n && x->identity_element->len == n,
           TenonError, x->span,
           "CommReducer: expected as many variables on each side and identity elements as results "
           "(%lld), got %lld, %lld and %lld",
           (long long)n, (long long)x->lhs->len, (long long)x->rhs->len,
           (long long)x->identity_element->len);
  return 0;
}

static int check_reduce_init(const tn_Reduce *x) {
  if (x->init->len == 0) return 0;
  TN_TRY(ir_check_items(x->init, &tn_type_PrimExpr, "Reduce.init", x->span));
  TN_CHECK(x->init->len == x->source->len, TenonError, x->span,
           "Reduce: Number of inits should match number of exprs (%lld vs. %lld)",
           (long long)x->init->len, (long long)x->source->len);
  return 0;
}

static int check_reduce(tn_Reduce *x) {
  TN_TRY(ir_check_items(x->axis, &tn_type_IterVar, "Reduce.axis", x->span));
  TN_TRY(ir_check_items(x->source, &tn_type_PrimExpr, "Reduce.source", x->span));
  for (int64_t i = 0; i < x->axis->len; ++i) {
    const tn_IterVar *iv = (const tn_IterVar *)tn_arr_obj(x->axis, i);
    TN_CHECK(iv->iter_type == IR_ITER_COMM_REDUCE, TenonError, x->span,
             "Reduce: Can only take axis created by reduce_axis, but %s is not one",
             tn_cstr(iv->var->name));
  }
  TN_CHECK(!x->combiner || x->combiner->result->len == x->source->len, TenonError, x->span,
           "Reduce: the combiner takes %lld values, got %lld", (long long)x->combiner->result->len,
           (long long)x->source->len);
  TN_CHECK(x->value_index >= 0 && x->value_index < x->source->len, IndexError, x->span,
           "Reduce: value_index %lld is out of range of %lld sources", (long long)x->value_index,
           (long long)x->source->len);
  TN_CHECK(!x->condition || ir_is_bool(x->condition->dtype), TenonError, x->span,
           "Reduce: expected a condition of type bool, got %s", TN_DT(x->condition->dtype));
  x->dtype = item(x->source, x->value_index)->dtype;
  return check_reduce_init(x);
}

static int check_iter_var(const tn_IterVar *x) {
  tn_dtype v = x->var->dtype;
  TN_CHECK(x->iter_type >= IR_ITER_DATA_PAR && x->iter_type <= IR_ITER_TENSORIZED, ValueError,
           x->span, "IterVar: unknown iter_type %d", x->iter_type);
  if (!x->dom) return 0;
  tn_dtype d = x->dom->extent->dtype;
  TN_CHECK(ir_is_int(d), TenonError, x->span,
           "The dtype of the domain of an IterVar must be an integer type. However, the domain's "
           "dtype is %s",
           TN_DT(d));
  TN_CHECK(tn_dtype_eq(d, v), TenonError, x->span,
           "The dtype of the extent of an IterVar (%s) must match its associated Var's dtype (%s)",
           TN_DT(d), TN_DT(v));
  return 0;
}

static int check_expr(tn_obj *self) {
  if (ir_is_binary(self->type_index)) return check_binary((tn_BinaryOp *)self);
  switch (self->type_index) {
  case TN_TI_StringImm: ((tn_StringImm *)self)->dtype = TN_HANDLE; return 0;
  case TN_TI_Any: ((tn_Any *)self)->dtype = TN_I32; return 0;
  case TN_TI_Var:
  case TN_TI_SizeVar: return check_var((tn_Var *)self);
  case TN_TI_Cast: return check_cast((const tn_Cast *)self);
  case TN_TI_Not: return check_not((tn_Not *)self);
  case TN_TI_Select: return check_select((tn_Select *)self);
  case TN_TI_Ramp: return check_ramp((tn_Ramp *)self);
  case TN_TI_Broadcast: return check_broadcast((tn_Broadcast *)self);
  case TN_TI_Shuffle: return check_shuffle((tn_Shuffle *)self);
  case TN_TI_Let: return check_let((tn_Let *)self);
  case TN_TI_Call: return check_call((const tn_Call *)self);
  case TN_TI_CommReducer: return check_reducer((const tn_CommReducer *)self);
  case TN_TI_Reduce: return check_reduce((tn_Reduce *)self);
  case TN_TI_IterVar: return check_iter_var((const tn_IterVar *)self);
  default: return 0; /* Range */
  }
}

const tn_type_hooks ir_expr_hooks = {.init = check_expr};
