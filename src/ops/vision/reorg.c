/* Blocks of images as channels, in the order of detectors of the YOLO family.

     vision.yolo_reorg(%data, stride=2)    Tensor[(1, 4, 6, 6), float32]
                                           -> Tensor[(1, 16, 3, 3), float32]

   The elements stay where they are counted: element number p of the result, counted in the shape
   of data, takes from an image of c / stride^2 channels and stride times the rows and columns. */
#include "ir/imm.h"
#include "ops/ops.h"

#define TN_FIELDS_YoloReorgAttrs(F, S) F(S, I64, , stride, 0, "rows and columns of a block", "1")
#define REORG_ATTRS(N)                                                                             \
  N(YoloReorgAttrs, Attrs, "relay.attrs.YoloReorgAttrs", NODE, TREE, tn_no_hooks,                  \
    "attributes of vision.yolo_reorg")
TN_NODES_LOCAL(REORG_ATTRS)

static tn_arr *out_shape(const tn_YoloReorgAttrs *a, const tn_arr *data) {
  int64_t s = a->stride;
  tn_expr *c = (tn_expr *)tn_arr_obj(data, 1), *h, *w;
  TN_GETP(c, relay_dim_times(c, s * s));
  TN_GETP(h, relay_dim_over((tn_expr *)tn_arr_obj(data, 2), s));
  TN_GETP(w, relay_dim_over((tn_expr *)tn_arr_obj(data, 3), s));
  return tn_arr_of(4, tn_arr_obj(data, 0), c, h, w);
}

static int relation(relay_rel *r) {
  const tn_YoloReorgAttrs *a = r->attrs;
  RELAY_TENSOR(data, r, 0);
  RELAY_CHECK(r, data->shape->len == 4, "expected data of 4 dimensions, got %s",
              relay_type_text(data));
  RELAY_CHECK(r, a->stride > 0 && a->stride <= INT16_MAX,
              "stride must be positive and of 16 bits, got %lld", (long long)a->stride);
  for (int i = 1; i < 4; ++i) {
    int64_t n, by = i == 1 ? a->stride * a->stride : a->stride;
    RELAY_CHECK(r, !relay_known_int(data->shape, i, &n) || n % by == 0,
                "dimension %d of %s must be a multiple of %lld", i, relay_type_text(data),
                (long long)by);
    relay_take_multiple(relay_dim(data, i), by);
  }
  tn_arr *shape;
  TN_GET(shape, out_shape(a, data->shape));
  return relay_rel_result(r, relay_tensor_type(shape, data->dtype));
}

typedef struct {
  const tn_Tensor *data;
  tn_arr *shape;
  int64_t stride;
} reorg;

/* Takes the last axis of extent n off a number that counts elements. */
static tn_expr *take_axis(tn_expr **place, tn_expr *n) {
  tn_expr *own = tir_floormod(*place, n);
  *place = tir_floordiv(*place, n);
  return own;
}

static tn_expr *element(void *ctx, tn_arr *at) {
  const reorg *r = ctx;
  tn_expr *place = tir_i64(0), *n[4], *in[4], *from[4], *s = tir_i64(r->stride);
  for (int i = 0; i < 4; ++i) {
    tn_expr *extent = tir_cast(TN_I64, (tn_expr *)tn_arr_obj(r->shape, i), NULL);
    n[i] = tir_cast(TN_I64, te_extent(r->data, i), NULL);
    place = tir_add(tir_mul(place, extent), tir_cast(TN_I64, te_index(at, i), NULL));
  }
  for (int i = 3; i > 0; --i) in[i] = take_axis(&place, n[i]);
  in[0] = place;
  tn_expr *few = tir_floordiv(n[1], tir_i64(r->stride * r->stride));
  tn_expr *offset = tir_floordiv(in[1], few), *w = tir_mul(n[3], s), *h = tir_mul(n[2], s);
  tn_expr *column = tir_add(tir_mul(in[3], s), tir_floormod(offset, s)),
          *row = tir_add(tir_mul(in[2], s), tir_floordiv(offset, s)),
          *channel = tir_add(tir_floormod(in[1], few), tir_mul(few, in[0]));
  tn_expr *source = tir_add(column, tir_mul(w, tir_add(row, tir_mul(h, channel))));
  for (int i = 3; i > 0; --i) from[i] = take_axis(&source, n[i]);
  from[0] = source;
  TN_VEC(index);
  for (int i = 0; i < 4; ++i) {
    tn_expr *k = tir_cast(te_extent(r->data, i)->dtype, from[i], NULL);
    TN_TRYP(tn_vec_push_obj(&index, k));
  }
  return te_at(r->data, tn_arr_from(&index));
}

static tn_arr *compute(const relay_compute *c) {
  const tn_YoloReorgAttrs *a = c->attrs;
  reorg r = {.data = relay_input(c, 0), .stride = a->stride};
  TN_GETP(r.shape, out_shape(a, r.data->shape));
  return tn_arr_of(1, te_compute(r.shape, element, &r, "T_reorg", TE_INJECTIVE));
}

static const relay_op_row rows[] = {
    {.name = "vision.yolo_reorg",
     .inputs = "data",
     .attrs = &tn_type_YoloReorgAttrs,
     .level = 5,
     .pattern = RELAY_INJECTIVE,
     .rel_name = "YoloReorg",
     .rel = relation,
     .compute = compute,
     .doc = "blocks of images as channels, in the order of YOLO",
     .values = RELAY_MOVED},
};

RELAY_FAMILY(reorg, REORG_ATTRS)
