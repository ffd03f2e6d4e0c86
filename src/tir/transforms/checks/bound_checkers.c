/* Stores check their indices, and those of what they read, at run time.

     B[i] = A[i + 1]                       ->   if 0 <= i and i < 8 and 0 <= i + 1 and i + 1 < 8:
                                                  B[i] = A[i + 1]
                                                else:
                                                  assert False, "OUT OF THE BOUNDS"

   The extents are those of the buffers, and of the attributes "buffer_bound" where there are some.
   Last of the lowering passes, where the option tir.instrument_bound_checkers asks for it. */
#include "tir/transforms/transforms.h"

typedef struct {
  tn_pmap bounds; /* tn_Var of a buffer -> array of extents that an attribute tells */
  tn_expr *cond;  /* of the store that is visited, NULL: none yet */
} checker;

/* Each lane of an index is within its extent. */
static tn_expr *is_within(tn_expr *i, tn_expr *extent) {
  const tn_Ramp *r = TN_AS(Ramp, i);
  const tn_Broadcast *b = TN_AS(Broadcast, i);
  if (b) i = b->value;
  if (!r) return tir_and(tir_le(tir_zero(i->dtype), i), tir_lt(i, extent));
  tn_expr *last = tir_mul(r->stride, tir_lanes(r->stride->dtype, r->lanes, -1));
  last = tir_add(r->base, last);
  tn_expr *low = tir_min(r->base, last), *high = tir_max(r->base, last);
  return tir_and(tir_le(tir_zero(r->base->dtype), low), tir_lt(high, extent));
}

static int add_checks(checker *x, const tn_Buffer *b, const tn_arr *indices) {
  const tn_arr *told = tn_pmap_get(&x->bounds, b->data);
  const tn_arr *shape = told && told->len == indices->len ? told : b->shape;
  for (int64_t i = 0; i < indices->len && i < shape->len; ++i) {
    tn_expr *at = (tn_expr *)tn_arr_obj(indices, i), *ok;
    tn_expr *extent = (tn_expr *)tn_arr_obj(shape, i);
    if (at->dtype.lanes > 1 && !TN_IS(Ramp, at) && !TN_IS(Broadcast, at)) continue;
    if (b->dtype.lanes > 1 && shape == told)
      TN_GET(extent, tir_floordiv(extent, tir_const_int(extent->dtype, b->dtype.lanes)));
    TN_GET(ok, is_within(at, extent));
    TN_GET(x->cond, x->cond ? tir_and(x->cond, ok) : ok);
  }
  return 0;
}

static tn_obj *check_load(tn_mut *m, tn_BufferLoad *op) {
  checker *x = m->ctx;
  if (!tn_mut_visit(m, op->indices)) return NULL;
  return add_checks(x, op->buffer, op->indices) ? NULL : (tn_obj *)op;
}

/* What is evaluated under a condition is not checked: its indices may be wrong where it is not. */
static tn_obj *check_call(tn_mut *m, tn_Call *op) {
  if (tir_as_call((tn_obj *)op, TIR_OP_if_then_else)) return (tn_obj *)op;
  return tn_mut_children(m, op);
}

static tn_obj *check_store(tn_mut *m, tn_BufferStore *op) {
  checker *x = m->ctx;
  x->cond = NULL;
  TN_TRYP(add_checks(x, op->buffer, op->indices));
  if (!tn_mut_visit(m, op->value) || !tn_mut_visit(m, op->indices)) return NULL;
  if (!x->cond || tir_is_one(x->cond)) return (tn_obj *)op;
  tn_stmt *fail = (tn_stmt *)TN_NEW(AssertStmt, .condition = tir_bool(false),
                                    .message = tir_str("OUT OF THE BOUNDS"), .body = tir_nop());
  return (tn_obj *)TN_MAKE(IfThenElse, .condition = x->cond, .then_case = (tn_stmt *)op,
                           .else_case = fail);
}

/* The attribute's value is tvm_tuple(extents). */
static tn_obj *note_bounds(tn_mut *m, tn_AttrStmt *op) {
  checker *x = m->ctx;
  if (!tn_str_eq(op->attr_key, "buffer_bound")) return tn_mut_children(m, op);
  const tn_Call *tuple = tir_as_call((tn_obj *)op->value, TIR_OP_tvm_tuple);
  if (tuple && op->node) TN_TRYP(tn_pmap_put(&x->bounds, op->node, tuple->args));
  return tn_mut_visit(m, op->body);
}

static tn_obj *skip(tn_mut *m, tn_obj *o) {
  (void)m;
  return o;
}

tn_PrimFunc *tir_instrument_bound_checkers(tn_PrimFunc *f, const tn_pass_ctx *c) {
  static const tn_mut_case cases[] = {TN_CASE(BufferLoad, check_load),
                                      TN_CASE(BufferStore, check_store), TN_CASE(Call, check_call),
                                      TN_CASE(AttrStmt, note_bounds), TN_CASE(Buffer, skip)};
  (void)c;
  checker x = {0};
  TN_MUT(m, cases, &x);
  tn_stmt *body = tn_mut_visit(&m, f->body);
  tn_pmap_fini(&x.bounds);
  return tir_with_body(f, body);
}
