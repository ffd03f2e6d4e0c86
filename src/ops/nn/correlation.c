/* Correlation of patches of one image with moved patches of another (Dosovitskiy et al., 2015).

     nn.correlation(%a, %b, kernel_size=3, max_displacement=4)
         r[n][m][y][x] = mean over channels and the patch of a[here] * b[here moved by m] */
#include "ir/imm.h"
#include "ops/ops.h"

#define TN_FIELDS_CorrelationAttrs(F, S)                                                           \
  F(S, I64, , kernel_size, 0, "height and width of a patch", "1")                                  \
  F(S, I64, , max_displacement, 0, "farthest move along an axis", "1")                             \
  F(S, I64, , stride1, 0, "distance of patches of the first image", "1")                           \
  F(S, I64, , stride2, 0, "distance of moves", "1")                                                \
  F(S, REF, Array, padding, TN_INTS, "one number, two, or those before all axes and those after",  \
    "[0]")                                                                                         \
  F(S, BOOL, , is_multiply, 0, "products? else absolute differences", "True")                      \
  F(S, REF, String, layout, 0, "\"NCHW\"", "\"NCHW\"")
#define CORRELATION_ATTRS(N)                                                                       \
  N(CorrelationAttrs, Attrs, "relay.attrs.CorrelationAttrs", NODE, TREE, tn_no_hooks,              \
    "attributes of nn.correlation")
TN_NODES_LOCAL(CORRELATION_ATTRS)

typedef struct {
  const tn_CorrelationAttrs *a;
  int64_t before[4], after[4], moves; /* moves: along one axis */
  const tn_Tensor *data[2], *sums;
} correlation;

static int read_attrs(const tn_CorrelationAttrs *a, correlation *c) {
  enum { MAX = 1 << 14 }; /* moves and elements of a patch, squared, are int32 */
  *c = (correlation){.a = a};
  TN_CHECK(a->kernel_size > 0 && a->kernel_size % 2 && a->max_displacement >= 0 && a->stride1 > 0 &&
               a->stride2 > 0,
           ValueError, NULL,
           "kernel_size must be odd, strides positive and max_displacement not negative");
  TN_CHECK(a->kernel_size <= MAX && a->max_displacement <= MAX && a->stride1 <= INT32_MAX &&
               a->stride2 <= INT32_MAX,
           ValueError, NULL,
           "kernel_size=%lld, max_displacement=%lld: expected %d at most, and strides of 32 bits",
           (long long)a->kernel_size, (long long)a->max_displacement, MAX);
  TN_CHECK(tn_str_eq(a->layout, "NCHW"), ValueError, NULL, "layout must be NCHW, got %s",
           tn_cstr(a->layout));
  TN_TRY(ops_get_pads(a->padding, 2, &c->before[2], &c->after[2], "nn.correlation"));
  c->moves = a->max_displacement / a->stride2 * 2 + 1;
  return 0;
}

static tn_arr *out_shape(const correlation *c, const tn_arr *data) {
  tn_expr *size[2];
  int64_t reach = 2 * c->a->max_displacement + c->a->kernel_size;
  for (int i = 0; i < 2; ++i)
    TN_GETP(size[i], ops_window_extent((tn_expr *)tn_arr_obj(data, i + 2), relay_dim_int(reach),
                                       c->before[i + 2] + c->after[i + 2], c->a->stride1, 1));
  return tn_arr_of(4, tn_arr_obj(data, 0), relay_dim_int(c->moves * c->moves), size[0], size[1]);
}

static int relation(relay_rel *r) {
  correlation c;
  RELAY_TENSOR(a, r, 0);
  RELAY_TENSOR(b, r, 1);
  if (read_attrs(r->attrs, &c)) return ops_rel_failed(r);
  RELAY_CHECK(r, a->shape->len == 4 && b->shape->len == 4,
              "expected images of 4 dimensions, got %s and %s", relay_type_text(a),
              relay_type_text(b));
  for (int64_t i = 0; i < 4; ++i)
    RELAY_CHECK(r, relay_dim_equal(relay_dim(a, i), relay_dim(b, i)) != 0,
                "images of two sizes: %s and %s", relay_type_text(a), relay_type_text(b));
  tn_arr *shape = out_shape(&c, a->shape);
  return shape ? relay_rel_result(r, relay_tensor_type(shape, a->dtype)) : ops_rel_failed(r);
}

/* Move number q along one axis: from the farthest back to the farthest on. */
static tn_expr *moved(const correlation *c, tn_expr *q) {
  tn_expr *from = tir_sub(q, tir_const_int(q->dtype, c->moves / 2));
  return tir_mul(from, tir_const_int(q->dtype, c->a->stride2));
}

static tn_expr *sum(void *ctx, tn_arr *at) {
  const correlation *c = ctx;
  tn_IterVar *k[3];
  tn_expr *here[2], *there[2], *q = te_index(at, 1), *n = tir_const_int(q->dtype, c->moves);
  TN_GETP(k[0], te_reduce_axis(te_extent(c->data[0], 1), "rc"));
  TN_GETP(k[1], te_reduce_axis(tir_i32((int32_t)c->a->kernel_size), "ry"));
  TN_GETP(k[2], te_reduce_axis(tir_i32((int32_t)c->a->kernel_size), "rx"));
  for (int i = 0; i < 2; ++i) {
    tn_expr *x = tir_mul(te_index(at, 2 + i), tir_i32((int32_t)c->a->stride1));
    x = tir_add(x, tir_i32((int32_t)c->a->max_displacement));
    TN_GETP(here[i], tir_add(x, (tn_expr *)k[i + 1]->var));
    tn_expr *by = moved(c, i ? tir_floormod(q, n) : tir_floordiv(q, n));
    TN_GETP(there[i], tir_add(here[i], by));
  }
  tn_expr *x = te_at_of(c->data[0], 4, te_index(at, 0), k[0]->var, here[0], here[1]);
  tn_expr *y = te_at_of(c->data[1], 4, te_index(at, 0), k[0]->var, there[0], there[1]);
  tn_expr *both = c->a->is_multiply ? tir_mul(x, y) : tir_abs(tir_sub(x, y), NULL);
  return te_reduce(TE_SUM, both, tn_arr_of(3, k[0], k[1], k[2]), NULL);
}

static tn_expr *mean(void *ctx, tn_arr *at) {
  const correlation *c = ctx;
  tn_expr *v = te_at(c->sums, at), *channels = te_extent(c->data[0], 1);
  tn_expr *patch = tir_const_int(channels->dtype, c->a->kernel_size * c->a->kernel_size);
  return v ? tir_div(v, tir_cast(v->dtype, tir_mul(channels, patch), NULL)) : NULL;
}

static tn_arr *compute(const relay_compute *q) {
  correlation c;
  tn_arr *shape;
  TN_TRYP(read_attrs(q->attrs, &c));
  TN_GETP(shape, out_shape(&c, relay_input(q, 0)->shape));
  for (int i = 0; i < 2; ++i) {
    tn_Tensor *t = relay_input(q, i);
    TN_GETP(c.data[i], ops_pad(t, c.before, c.after, tir_zero(t->dtype), "pad_temp"));
  }
  TN_GETP(c.sums, te_compute(shape, sum, &c, "T_correlation", "correlation_nchw"));
  return tn_arr_of(1, te_compute(shape, mean, &c, "T_mean", TE_ELEMWISE));
}

static tn_arr *shape_function(const relay_shape_query *q) {
  correlation c;
  TN_TRYP(read_attrs(q->attrs, &c));
  return tn_arr_of(1, out_shape(&c, relay_shape_of(q, 0)));
}

static const relay_op_row rows[] = {
    {.name = "nn.correlation",
     .inputs = "data1 data2",
     .attrs = &tn_type_CorrelationAttrs,
     .level = 2,
     .pattern = RELAY_OUT_ELEMWISE_FUSABLE,
     .rel_name = "Correlation",
     .rel = relation,
     .compute = compute,
     .shape = shape_function,
     .doc = "correlation of patches with moved patches of another image"},
};

RELAY_FAMILY(correlation, CORRELATION_ATTRS)
