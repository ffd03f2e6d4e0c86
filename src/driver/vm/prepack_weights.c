/* Weights in panels for kernels of any number of rows.

     fn (%p0: Tensor[(?, 512)], %p1: Tensor[(512, 512)]) { nn.relu(nn.dense(%p0, %p1)) }
   =>
     fn (%p1) { layout_transform(%p1, "NC", "NC32n") }
     fn (%p0, %p1: Tensor[(16, 512, 32)]) { nn.relu(nn.contrib_dense_pack(%p0, %p1)) }

   A kernel for a known number of rows packs its weight by itself. Where the rows come in pieces,
   each piece would do so: the machine calls the first function once, then pieces of the second. */
#include <inttypes.h>

#include "base/error.h"
#include "base/pmap.h"
#include "base/scope.h"
#include "driver/vm/gen.h"
#include "ir/functor.h"
#include "ops/nn/dense.h"
#include "relay/infer.h"
#include "relay/op.h"

typedef struct {
  const tn_RelayCall *dense; /* the only one */
  int n;
} search;

static int see(void *ctx, tn_obj *node) {
  search *s = ctx;
  tn_RelayCall *c = TN_AS(RelayCall, node) ? relay_as_call(node, "nn.dense") : NULL;
  if (c) s->dense = c, ++s->n;
  return 0;
}

/* The number of the parameter that is the weight, where it is used for nothing else; -1: none is.
 */
static int64_t weight_number(const tn_RelayFunction *f, const tn_RelayCall *dense) {
  const tn_RelayVar *w = TN_AS(RelayVar, relay_arg(dense, 1)),
                    *x = TN_AS(RelayVar, relay_arg(dense, 0));
  if (x && w && x->vid == w->vid) return -1;
  for (int64_t i = 0; w && i < f->params->len; ++i)
    if (((const tn_RelayVar *)tn_arr_obj(f->params, i))->vid == w->vid) return i;
  return -1;
}

static tn_RelayFunction *maker(const tn_RelayCall *dense, const ops_panels *q) {
  tn_RelayFunction *f;
  TN_GETP(f, relay_function(tn_arr_of(1, relay_arg(dense, 1)), q->panels, NULL, NULL));
  return relay_infer_expr(f, NULL);
}

typedef struct {
  const tn_RelayCall *dense;
  void *other;
} replacing;

static tn_obj *replace(void *ctx, tn_obj *pre, tn_obj *post) {
  const replacing *r = ctx;
  return pre == (const tn_obj *)r->dense ? r->other : post;
}

static tn_RelayFunction *reader(const tn_RelayFunction *f, const tn_RelayCall *dense,
                                const ops_panels *q, vm_panels *out) {
  static const tn_rewrite_case cases[] = {TN_REWRITE(RelayCall, replace)};
  const tn_RelayVar *weight = (const tn_RelayVar *)tn_arr_obj(f->params, out->arg);
  TN_VEC(params);
  tn_RelayVar *var;
  void *body;
  tn_RelayFunction *r;
  TN_GETP(var, relay_var(tn_cstr(weight->vid->name_hint), (tn_Type *)(uintptr_t)out->type));
  replacing ctx = {.dense = dense};
  TN_GETP(ctx.other, ops_dense_of_panels(dense, q, var));
  TN_GETP(body, tn_rewrite(f->body, cases, TN_COUNT(cases), &ctx));
  for (int64_t i = 0; i < f->params->len; ++i)
    TN_TRYP(tn_vec_push_obj(&params, i == out->arg ? (tn_obj *)var : tn_arr_obj(f->params, i)));
  TN_GETP(r, relay_function(tn_arr_from(&params), body, NULL, NULL));
  return relay_infer_expr(r, NULL);
}

int vm_panels_of(const tn_RelayFunction *f, const target_machine *m, vm_panels *out) {
  search s = {0};
  ops_panels q;
  TN_TRY(tn_post_order(f->body, see, &s));
  if (s.n != 1 || m->vector_bytes <= 0 || (out->arg = weight_number(f, s.dense)) < 0) return 0;
  int r = ops_dense_panels(s.dense, m, &q);
  if (r <= 0) return r;
  TN_GET(out->make, maker(s.dense, &q));
  TN_GET(out->type, TN_AS(TensorType, relay_type_of(out->make->body)));
  TN_GET(out->read, reader(f, s.dense, &q, out));
  return 1;
}
