/* Arguments that are read as if an axis of one element were longer.

     A: (m, n), B: (p, n)     C = te.compute((m, n), lambda i, j: A[i, j] + B[i, j])

   Nothing says that p is m, so programs of the Relay era call this with B of one row too. Its
   buffer takes its strides from the tensor, 0 for an axis of one element (auto_broadcast of
   tir.decl_buffer). Where all indices lie in the shape the buffer is an ordinary one, with rows
   that vectors can read. */
#include "te/schedule/lower_impl.h"

#include "ir/functor.h"

typedef struct {
  te_lowerer *l;
  const tn_Tensor *t;
  const tn_ComputeOp *op; /* that reads it */
} reading;

/* The axis of the operation that the index is, or NULL. */
static const tn_IterVar *axis_at(const tn_ComputeOp *op, const tn_obj *index) {
  const tn_arr *lists[] = {op->axis, op->reduce_axis};
  for (int k = 0; k < TN_COUNT(lists); ++k)
    for (int64_t i = 0; lists[k] && i < lists[k]->len; ++i) {
      const tn_IterVar *iv = te_iv(lists[k], i);
      if ((const tn_obj *)iv->var == index) return iv;
    }
  return NULL;
}

/* May an axis of the operation be longer than the one that it reads, whose extent is a variable? */
static int goes_beyond(void *ctx, tn_obj *node) {
  const reading *r = ctx;
  const tn_ProducerLoad *load = TN_AS(ProducerLoad, node);
  const tn_Tensor *from = load ? TN_AS(Tensor, load->producer) : NULL;
  if (!from || !te_same_tensor(from, r->t)) return 0;
  for (int64_t i = 0; i < load->indices->len && i < r->t->shape->len; ++i) {
    tn_expr *n = (tn_expr *)tn_arr_obj(r->t->shape, i);
    const tn_IterVar *iv = axis_at(r->op, tn_arr_obj(load->indices, i));
    if (!iv || !iv->dom || !TN_IS(Var, n) || !tn_dtype_eq(iv->dom->extent->dtype, n->dtype))
      continue;
    if (!arith_prove(&r->l->arith, tir_le(iv->dom->extent, n))) return 1;
  }
  return 0;
}

static tn_Buffer *broadcast_buffer(const tn_Tensor *t, const char *name) {
  tn_Buffer *b = tir_buffer(t->shape, t->dtype, name, "");
  TN_VEC(strides);
  if (!b) return NULL;
  for (int64_t i = 0; i < t->shape->len; ++i)
    TN_TRYP(tn_vec_push_obj(&strides,
                            tir_var("stride", ((const tn_expr *)tn_arr_obj(t->shape, i))->dtype)));
  tn_Buffer copy = *b;
  copy.buffer_type = TIR_BUFFER_AUTO_BROADCAST;
  TN_GETP(copy.strides, tn_arr_from(&strides));
  return tn_node_copy(&tn_type_Buffer, &copy);
}

int te_lower_broadcast(te_lowerer *l, const tn_Tensor *t, const char *name, tn_Buffer **out) {
  *out = NULL;
  for (int64_t i = 0; TN_AS(PlaceholderOp, t->op) && i < l->s->stages->len; ++i) {
    reading r = {l, t, TN_AS(ComputeOp, te_stage_at(l->s, i)->op)};
    int found = r.op ? tn_post_order(r.op->body, goes_beyond, &r) : 0;
    if (found < 0) return -1;
    if (found) return (*out = broadcast_buffer(t, name)) ? 0 : -1;
  }
  return 0;
}
