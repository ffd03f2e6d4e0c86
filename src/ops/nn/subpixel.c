/* Blocks of images as channels and back: nn.depth_to_space, nn.space_to_depth.

     nn.depth_to_space(%x, block_size=2)    Tensor[(1, 8, 2, 3), float32]
                                            -> Tensor[(1, 2, 4, 6), float32] */
#include <string.h>

#include "ir/imm.h"
#include "ops/layout.h"
#include "ops/ops.h"

#define TN_FIELDS_SubPixelAttrs(F, S)                                                              \
  F(S, I64, , block_size, 0, "height and width of a block")                                        \
  F(S, REF, String, layout, 0, "layout of data", "\"NCHW\"")                                       \
  F(S, REF, String, mode, 0, "\"DCR\": the place in a block comes before the channel; \"CDR\"",    \
    "\"DCR\"")
#define SUBPIXEL_ATTRS(N)                                                                          \
  N(SubPixelAttrs, Attrs, "relay.attrs.SubPixelAttrs", NODE, TREE, tn_no_hooks,                    \
    "attributes of nn.depth_to_space")
TN_NODES_LOCAL(SUBPIXEL_ATTRS)

/* row->which: 1 where blocks become channels */
static tn_arr *out_shape(const relay_op_row *row, const tn_SubPixelAttrs *a, const tn_arr *data) {
  ops_axes d;
  int64_t b = a->block_size;
  tn_expr *(*other)(tn_expr *, int64_t) = row->which ? relay_dim_times : relay_dim_divided;
  tn_expr *(*own)(tn_expr *, int64_t) = row->which ? relay_dim_divided : relay_dim_times;
  TN_CHECKP(b > 0 && b <= INT16_MAX, ValueError, NULL,
            "block_size must be positive and of 16 bits, got %lld", (long long)b);
  /* "CDR" is what existing programs call it, "CRD" what ONNX does */
  TN_CHECKP(tn_str_eq(a->mode, "DCR") || tn_str_eq(a->mode, "CDR") || tn_str_eq(a->mode, "CRD"),
            ValueError, NULL, "mode must be DCR or CDR (CRD), got %s", tn_cstr(a->mode));
  TN_TRYP(ops_axes_of(tn_cstr(a->layout), data, true, &d));
  TN_CHECKP(OPS_AXIS(&d, 'C') && OPS_AXIS(&d, 'H') && OPS_AXIS(&d, 'W'), ValueError, NULL,
            "layout %s must have the axes C, H and W", tn_cstr(a->layout));
  TN_GETP(OPS_AXIS(&d, 'H'), own(OPS_AXIS(&d, 'H'), b));
  TN_GETP(OPS_AXIS(&d, 'W'), own(OPS_AXIS(&d, 'W'), b));
  TN_GETP(OPS_AXIS(&d, 'C'), other(OPS_AXIS(&d, 'C'), b * b));
  return ops_axes_to(tn_cstr(a->layout), &d, true);
}

static int relation(relay_rel *r) {
  RELAY_TENSOR(data, r, 0);
  tn_arr *shape = out_shape(relay_op_row_of((const tn_obj *)r->op), r->attrs, data->shape);
  return shape ? relay_rel_result(r, relay_tensor_type(shape, data->dtype)) : ops_rel_failed(r);
}

typedef struct {
  const tn_SubPixelAttrs *attrs;
  const tn_Tensor *data;
  tn_expr *channels; /* the smaller number of them */
} subpixel;

/* `index` with whole blocks of channels: channel place * channels + c is in block place * channels
   / factor + c / factor, at the place that it has in the result. */
static tn_arr *with_blocks(const subpixel *s, const tn_arr *at, tn_arr *index, tn_expr *place) {
  const tn_Layout *l;
  int64_t channels;
  TN_VEC(out);
  TN_GETP(l, tir_layout(tn_cstr(s->attrs->layout), TN_I32));
  int64_t factor = tir_layout_factor(l, 'C');
  if (!index || factor < 0 || !tir_as_int((tn_obj *)s->channels, &channels)) return index;
  for (int64_t i = 0; i < index->len; ++i) {
    tn_expr *e = te_index(index, i), *own = te_index(at, i);
    char letter = tir_layout_axis(l, i);
    if (letter == 'C')
      e = tir_add(own, tir_mul(place, tir_const_int(own->dtype, channels / factor)));
    TN_TRYP(tn_vec_push_obj(&out, letter == 'c' ? own : e));
  }
  return tn_arr_from(&out);
}

static tn_expr *to_space(void *ctx, tn_arr *at) {
  const subpixel *s = ctx;
  const char *layout = tn_cstr(s->attrs->layout);
  ops_axes o;
  TN_TRYP(ops_axes_of(layout, at, false, &o));
  tn_expr *b = tir_i32((int32_t)s->attrs->block_size), *c = OPS_AXIS(&o, 'C');
  tn_expr *y = OPS_AXIS(&o, 'H'), *x = OPS_AXIS(&o, 'W');
  tn_expr *place = tir_add(tir_mul(tir_floormod(y, b), b), tir_floormod(x, b));
  OPS_AXIS(&o, 'C') = tn_str_eq(s->attrs->mode, "DCR") ? tir_add(tir_mul(place, s->channels), c)
                                                       : tir_add(tir_mul(c, tir_mul(b, b)), place);
  OPS_AXIS(&o, 'H') = tir_floordiv(y, b);
  OPS_AXIS(&o, 'W') = tir_floordiv(x, b);
  tn_arr *index = ops_axes_to(layout, &o, false);
  if (tn_str_eq(s->attrs->mode, "DCR")) index = with_blocks(s, at, index, place);
  return te_at(s->data, index);
}

static tn_expr *to_depth(void *ctx, tn_arr *at) {
  const subpixel *s = ctx;
  const char *layout = tn_cstr(s->attrs->layout);
  ops_axes o;
  TN_TRYP(ops_axes_of(layout, at, false, &o));
  tn_expr *b = tir_i32((int32_t)s->attrs->block_size), *c = OPS_AXIS(&o, 'C');
  bool dcr = tn_str_eq(s->attrs->mode, "DCR");
  tn_expr *bb = tir_mul(b, b), *place = dcr ? tir_floordiv(c, s->channels) : tir_floormod(c, bb);
  OPS_AXIS(&o, 'C') = dcr ? tir_floormod(c, s->channels) : tir_floordiv(c, bb);
  OPS_AXIS(&o, 'H') = tir_add(tir_mul(OPS_AXIS(&o, 'H'), b), tir_floordiv(place, b));
  OPS_AXIS(&o, 'W') = tir_add(tir_mul(OPS_AXIS(&o, 'W'), b), tir_floormod(place, b));
  return te_at(s->data, ops_axes_to(layout, &o, false));
}

static tn_arr *compute(const relay_compute *c) {
  const tn_SubPixelAttrs *a = c->attrs;
  subpixel s = {a, relay_input(c, 0), NULL};
  ops_axes d;
  tn_arr *shape = out_shape(c->row, a, s.data->shape);
  if (!shape) return NULL;
  TN_TRYP(ops_axes_of(tn_cstr(a->layout), c->row->which ? s.data->shape : shape, true, &d));
  s.channels = OPS_AXIS(&d, 'C');
  return tn_arr_of(1,
                   te_compute(shape, c->row->which ? to_depth : to_space, &s,
                              c->row->which ? "space_to_depth" : "depth_to_space", TE_INJECTIVE));
}

static tn_arr *shape_function(const relay_shape_query *q) {
  return tn_arr_of(1, out_shape(q->row, q->attrs, relay_shape_of(q, 0)));
}

/* Blocks of channels must be whole on both sides. */
static int layouts(relay_layouts *q) {
  tn_Layout *now = relay_layout_at(q->given, 0);
  tn_Layout *own;
  int64_t factor = now ? tir_layout_factor(now, 'C') : -1, channels;
  TN_GET(own, tir_layout(relay_attr_str(q->attrs, "layout"), TN_I32));
  int64_t axis = tir_layout_index(own, 'C');
  bool whole = factor < 0 || (q->out_type && axis >= 0 &&
                              tir_as_int((tn_obj *)relay_dim(q->out_type, axis), &channels) &&
                              channels % factor == 0 && ops_blocks_fit(q, now, 'C'));
  return whole ? relay_layouts_by_attr(q) : relay_layouts_answer(q, own, own);
}

#define SUBPIXEL(name_, which_, rel_name_, ...)                                                    \
  {                                                                                                \
    .name = name_, .inputs = "data", .attrs = &tn_type_SubPixelAttrs, .level = 5,                  \
    .pattern = RELAY_INJECTIVE, .rel_name = rel_name_, .rel = relation, .compute = compute,        \
    .shape = shape_function, .layouts = layouts, .convert = ops_convert_by_attr, .which = which_,  \
    .doc = __VA_ARGS__                                                                             \
  }

static const relay_op_row rows[] = {
    SUBPIXEL("nn.depth_to_space", 0, "DepthToSpace", "channels laid out as blocks of the image",
             .precision = RELAY_FOLLOWS, .values = RELAY_MOVED),
    SUBPIXEL("nn.space_to_depth", 1, "SpaceToDepth", "blocks of the image made channels",
             .precision = RELAY_FOLLOWS, .values = RELAY_MOVED),
};

RELAY_FAMILY(subpixel, SUBPIXEL_ATTRS)
