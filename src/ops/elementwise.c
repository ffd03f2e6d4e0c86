/* Computes that work element by element, with numpy's broadcasting. */
#include "ir/imm.h"
#include "ops/ops.h"

tn_expr *ops_repeated_index(tn_expr *own, tn_expr *out, tn_expr *i) {
  if (!own || !out || !i) return NULL;
  if (relay_dim_is(out, 1) == 1 || relay_dim_equal(own, out) == 1) return i;
  return relay_if_one(own, tir_zero(i->dtype), i);
}

tn_expr *ops_broadcast_at(const tn_Tensor *t, const tn_arr *shape, const tn_arr *indices) {
  TN_VEC(at);
  int64_t more = shape->len - t->shape->len;
  for (int64_t i = 0; i < t->shape->len; ++i) {
    tn_expr *e = ops_repeated_index(te_extent(t, i), (tn_expr *)tn_arr_obj(shape, i + more),
                                    te_index(indices, i + more));
    TN_TRYP(tn_vec_push_obj(&at, e));
  }
  return te_at(t, tn_arr_from(&at));
}

/* Extent of two axes that fit. */
static tn_expr *common_extent(tn_expr *a, tn_expr *b) {
  if (relay_dim_is(a, 1) == 1) return b;
  if (relay_dim_is(b, 1) == 1 || relay_dim_equal(a, b) == 1) return a;
  return relay_broadcast_extent(a, b);
}

tn_arr *ops_common_shape(tn_arr *a, tn_arr *b) {
  if (a->len < b->len) {
    tn_arr *t = a;
    a = b, b = t;
  }
  TN_VEC(out);
  for (int64_t i = 0; i < a->len; ++i) {
    int64_t j = i - (a->len - b->len);
    tn_expr *e = (tn_expr *)tn_arr_obj(a, i);
    TN_TRYP(tn_vec_push_obj(&out, j < 0 ? e : common_extent(e, (tn_expr *)tn_arr_obj(b, j))));
  }
  return tn_arr_from(&out);
}

enum { MAX_INPUTS = 8 };

typedef struct {
  const relay_compute *c;
  tn_arr *shape;
} elements;

static tn_expr *element(void *ctx, tn_arr *indices) {
  const elements *e = ctx;
  tn_expr *args[MAX_INPUTS];
  for (int64_t i = 0; i < e->c->inputs->len; ++i) {
    TN_GETP(args[i], ops_broadcast_at(relay_input(e->c, i), e->shape, indices));
  }
  return e->c->row->element(e->c->row, e->c->attrs, args);
}

tn_arr *ops_elementwise(const relay_compute *c) {
  TN_ICHECKP(c->inputs->len >= 1 && c->inputs->len <= MAX_INPUTS);
  elements e = {.c = c, .shape = relay_input(c, 0)->shape};
  for (int64_t i = 1; i < c->inputs->len && e.shape; ++i)
    e.shape = ops_common_shape(e.shape, relay_input(c, i)->shape);
  TN_BUF(name);
  tn_buf_printf(&name, "T_%s", c->row->name);
  for (char *p = name.data; p && *p; ++p) *p = *p == '.' ? '_' : *p;
  TN_TRYP(tn_buf_ok(&name));
  const char *tag = c->row->pattern == RELAY_ELEMWISE ? TE_ELEMWISE : TE_BROADCAST;
  return tn_arr_of(1, te_compute(e.shape, element, &e, tn_buf_cstr(&name), tag));
}
