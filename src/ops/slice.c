/* Parts of a tensor by begin, end and step along axes.

     strided_slice(%x, begin=[0, -2], end=[3, 9], strides=[1, 1])     (5, 4) -> (3, 2)
     slice_like(%x, %y)                                               the first elements of x, as
                                                                      many as y has

   As in numpy, negative begins and ends count from the end of the axis, what is out of range is cut
   off, and a negative step runs backwards. With slice_mode "size" the ends are numbers of elements,
   -1 for all that is left. */
#include <string.h>

#include "ir/imm.h"
#include "ops/gradients.h"
#include "ops/layout.h"
#include "ops/ops.h"

enum { MAX_NDIM = 32 };

#define TN_FIELDS_StridedSliceAttrs(F, S)                                                          \
  F(S, REF, Array, begin, TN_OPT, "first index along each axis", "None")                           \
  F(S, REF, Array, end, TN_OPT, "index after the last, or size", "None")                           \
  F(S, REF, Array, strides, TN_OPT | TN_INTS, "steps, 1 where none is given", "None")              \
  F(S, REF, Array, axes, TN_OPT | TN_INTS, "axes that the lists are about; None: the first ones",  \
    "None")                                                                                        \
  F(S, REF, String, slice_mode, 0, "\"end\" or \"size\"", "\"end\"")
#define TN_FIELDS_SliceLikeAttrs(F, S)                                                             \
  F(S, REF, Array, axes, TN_OPT | TN_INTS, "axes to cut; None: all", "None")
#define SLICE_ATTRS(N)                                                                             \
  N(StridedSliceAttrs, Attrs, "relay.attrs.StridedSliceAttrs", NODE, TREE, tn_no_hooks,            \
    "attributes of strided_slice")                                                                 \
  N(SliceLikeAttrs, Attrs, "relay.attrs.SliceLikeAttrs", NODE, TREE, tn_no_hooks,                  \
    "attributes of slice_like")
TN_NODES_LOCAL(SLICE_ATTRS)

/* What is taken of one axis: elements begin, begin + stride, ..., size of them. */
typedef struct {
  tn_expr *begin, *size;
  int64_t stride;
} range;

/* An index into [low, extent + high]; negative ones count from the end. */
static tn_expr *clamp(tn_expr *extent, int64_t i, int64_t low, int64_t high) {
  tn_expr *e = tir_const_int(extent->dtype, i);
  if (i < 0) e = tir_add(e, extent);
  e = tir_max(e, tir_const_int(extent->dtype, low));
  return tir_min(e, tir_add(extent, tir_const_int(extent->dtype, high)));
}

/* A begin, end or stride that may not be given. What lies beyond all elements is brought back to
   `far`, with which extents can be computed. */
static int64_t at(const tn_arr *a, int64_t i, int64_t absent, int64_t far) {
  int64_t v;
  const tn_obj *o = a && i < a->len ? tn_arr_obj(a, i) : NULL;
  if (!o || !tir_as_int(o, &v)) return absent;
  return v > far ? far : v < -far ? -far : v;
}

/* How many steps it takes from `begin` to before `stop`. */
static tn_expr *count(tn_expr *begin, tn_expr *stop, int64_t stride) {
  tn_expr *span = stride < 0 ? tir_sub(begin, stop) : tir_sub(stop, begin), *one, *step;
  if (!span) return NULL;
  one = tir_one(span->dtype);
  step = tir_const_int(span->dtype, stride < 0 ? -stride : stride);
  return tir_max(tir_add(tir_floordiv(tir_sub(span, one), step), one), tir_zero(span->dtype));
}

/* max(extent - n, 0), of an n that may be larger than any extent */
static tn_expr *less(tn_expr *extent, int64_t n) {
  return tir_max(tir_sub(extent, tir_const_int(extent->dtype, n)), tir_zero(extent->dtype));
}

static tn_expr *at_most(tn_expr *e, int64_t n) { return tir_min(e, tir_const_int(e->dtype, n)); }

/* Elements from `begin` to before `end`, or `end` of them, one after another, with the extent in it
   only once: the extents of slices of slices would double with each. NULL without an error: they
   cannot be told so. */
static tn_expr *count_once(tn_expr *extent, int64_t begin, int64_t end, bool by_size, int64_t far) {
  tn_expr *left;
  if (by_size || end == far) {
    left = begin < 0 ? at_most(extent, -begin) : begin ? less(extent, begin) : extent;
    return by_size && end >= 0 ? at_most(left, end) : left;
  }
  if (begin >= 0 && end >= 0) return less(at_most(extent, end), begin);
  if (begin >= 0) return less(extent, begin > far + end ? far : begin - end);
  if (end >= 0) return NULL;
  return begin < end ? at_most(less(extent, -end), end - begin) : tir_zero(extent->dtype);
}

static int slice_axis(const tn_StridedSliceAttrs *a, int64_t i, tn_expr *extent, range *out) {
  bool by_size = strcmp(tn_cstr(a->slice_mode), "size") == 0;
  const int64_t far = extent->dtype.bits > 32 ? INT64_MAX / 2 : INT32_MAX;
  int64_t stride = by_size ? 1 : at(a->strides, i, 1, far);
  TN_CHECK(stride != 0, ValueError, NULL, "strided_slice: the stride of axis %lld is zero",
           (long long)i);
  bool back = stride < 0;
  int64_t begin = at(a->begin, i, back ? far : 0, far), end = at(a->end, i, back ? -far : far, far);
  out->stride = stride;
  if (relay_dim_is_any(extent)) {
    bool whole = !back && stride == 1 && begin == 0 && (by_size ? end < 0 : end == far);
    out->begin = tir_i32(0);
    out->size = whole ? extent : relay_any();
    return out->begin && out->size ? 0 : -1;
  }
  out->begin = clamp(extent, begin, back ? -1 : 0, back ? -1 : 0);
  if (!out->begin) return -1;
  tn_expr *left = tir_sub(extent, out->begin),
          *stop = by_size && end < 0 ? extent
                  : by_size ? tir_add(out->begin, tir_min(tir_const_int(extent->dtype, end), left))
                            : clamp(extent, end, back ? -1 : 0, back ? -1 : 0);
  out->size = stride == 1 ? count_once(extent, begin, end, by_size, far) : NULL;
  if (!out->size && !tn_error_pending()) out->size = count(out->begin, stop, stride);
  return out->size ? 0 : -1;
}

static int64_t longer(int64_t n, const tn_arr *list) {
  return list && list->len > n ? list->len : n;
}

int64_t ops_sliced_axes(const void *attrs) {
  const tn_StridedSliceAttrs *a = attrs;
  return a->axes ? a->axes->len : longer(longer(longer(0, a->begin), a->end), a->strides);
}

/* The ranges of all axes. ValueError. */
static int ranges(const tn_StridedSliceAttrs *a, const tn_arr *shape, range *out) {
  TN_CHECK(shape->len <= MAX_NDIM, ValueError, NULL, "strided_slice: too many dimensions");
  int64_t n = ops_sliced_axes(a);
  TN_CHECK(n <= shape->len, ValueError, NULL,
           "strided_slice: begin, end or strides have %lld elements for %lld dimensions",
           (long long)n, (long long)shape->len);
  for (int64_t i = 0; i < shape->len; ++i)
    out[i] = (range){tir_i32(0), (tn_expr *)tn_arr_obj(shape, i), 1};
  for (int64_t i = 0; i < n; ++i) {
    int64_t axis = a->axes ? relay_listed(a->axes, i) : i;
    if (axis < 0) axis += shape->len;
    TN_CHECK(axis >= 0 && axis < shape->len, ValueError, NULL,
             "strided_slice: axis %lld is out of range for %lld dimensions", (long long)axis,
             (long long)shape->len);
    TN_TRY(slice_axis(a, i, (tn_expr *)tn_arr_obj(shape, axis), &out[axis]));
  }
  return 0;
}

static tn_arr *sizes(const range *r, int64_t n) {
  TN_VEC(v);
  for (int64_t i = 0; i < n; ++i) TN_TRYP(tn_vec_push_obj(&v, r[i].size));
  return tn_arr_from(&v);
}

static int slice_relation(relay_rel *r) {
  range axes[MAX_NDIM];
  RELAY_TENSOR(data, r, 0);
  TN_TRY(ranges(r->attrs, data->shape, axes));
  return relay_rel_result(r, relay_tensor_type(sizes(axes, data->shape->len), data->dtype));
}

typedef struct {
  const tn_Tensor *data;
  const range *axes;
} sliced;

static tn_expr *slice_element(void *ctx, tn_arr *indices) {
  const sliced *s = ctx;
  TN_VEC(v);
  for (int64_t i = 0; i < indices->len; ++i) {
    tn_expr *x = te_index(indices, i);
    x = tir_mul(x, tir_const_int(x->dtype, s->axes[i].stride));
    TN_TRYP(tn_vec_push_obj(&v, tir_add(x, s->axes[i].begin)));
  }
  return te_at(s->data, tn_arr_from(&v));
}

static tn_arr *slice(const relay_compute *c) {
  range axes[MAX_NDIM];
  const tn_Tensor *data = relay_input(c, 0);
  TN_TRYP(ranges(c->attrs, data->shape, axes));
  sliced s = {data, axes};
  tn_arr *shape = sizes(axes, data->shape->len);
  return tn_arr_of(1, te_compute(shape, slice_element, &s, "T_strided_slice", TE_INJECTIVE));
}

/* ---- layouts ---- */

/* What is cut, axis by axis of the attributes, in a layout. */
typedef struct {
  int64_t n, axis[MAX_NDIM], begin[MAX_NDIM], end[MAX_NDIM], stride[MAX_NDIM];
  bool by_size, blocks; /* are some of the numbers those of blocks? */
} cuts;

/* A cut of an axis that is blocked, in blocks; false: it does not fall between them. */
static bool in_blocks(cuts *c, int64_t i, int64_t extent, int64_t factor) {
  bool all = c->by_size ? c->end[i] == -1 : c->end[i] >= extent;
  if (c->stride[i] != 1 || c->begin[i] < 0 || c->begin[i] % factor != 0) return false;
  if (!all && (c->end[i] < 0 || c->end[i] % factor != 0)) return false;
  c->begin[i] /= factor;
  if (!all) c->end[i] /= factor;
  else if (!c->by_size) c->end[i] = extent / factor;
  return c->blocks = true;
}

/* @return are all cuts possible in layout `now`? */
static bool read_cuts(const relay_layouts *q, const tn_Layout *now, cuts *c) {
  const tn_StridedSliceAttrs *a = q->attrs;
  const tn_Layout *before = relay_layout_at(q->before, 0);
  *c = (cuts){.n = ops_sliced_axes(a), .by_size = strcmp(tn_cstr(a->slice_mode), "size") == 0};
  for (int64_t i = 0; i < c->n; ++i) {
    int64_t axis = a->axes ? relay_listed(a->axes, i) : i, extent;
    if (axis < 0) axis += before->axes->len;
    if (axis < 0 || axis >= before->axes->len) return false;
    c->stride[i] = c->by_size ? 1 : at(a->strides, i, 1, INT32_MAX);
    bool back = c->stride[i] < 0;
    c->begin[i] = at(a->begin, i, back ? INT32_MAX : 0, INT64_MAX);
    c->end[i] = at(a->end, i, c->by_size ? -1 : back ? INT32_MIN : INT32_MAX, INT64_MAX);
    c->axis[i] = relay_layout_axis_in(before, axis, now);
    if (c->axis[i] >= 0) continue;
    char letter = tir_layout_axis(before, axis);
    if (tir_layout_factor(before, letter) > 0 || tir_layout_factor(now, letter) <= 0 ||
        !relay_known_int(relay_layouts_type(q, 0)->shape, axis, &extent) ||
        !in_blocks(c, i, extent, tir_layout_factor(now, letter)))
      return false;
    c->axis[i] = tir_layout_index(now, letter);
  }
  return true;
}

static void *with_lists(const void *attrs, const int64_t *begin, const int64_t *end,
                        const int64_t *strides, int64_t n) {
  void *made = relay_attrs_with(attrs, "begin", tn_any_obj(relay_ints(begin, n)));
  if (made) made = relay_attrs_with(made, "end", tn_any_obj(relay_ints(end, n)));
  return made ? relay_attrs_with(made, "strides", tn_any_obj(relay_ints(strides, n))) : NULL;
}

/* Lists about the first axes become lists about all axes of the layout `now`, in its order. */
static void *in_order(const relay_layouts *q, const cuts *c, const tn_Layout *now) {
  const tn_TensorType *t = relay_layouts_type(q, 0);
  const tn_Layout *before = relay_layout_at(q->before, 0);
  int64_t begin[MAX_NDIM] = {0}, end[MAX_NDIM], strides[MAX_NDIM], ndim = now->axes->len;
  for (int64_t i = 0; i < ndim; ++i) end[i] = c->by_size ? -1 : INT32_MAX, strides[i] = 1;
  for (int64_t i = 0; i < before->axes->len; ++i) {
    int64_t k = relay_layout_axis_in(before, i, now), extent;
    if (k >= 0 && !c->by_size && relay_known_int(t->shape, i, &extent)) end[k] = extent;
  }
  for (int64_t i = 0; i < c->n; ++i) {
    int64_t k = c->axis[i];
    begin[k] = c->begin[i], strides[k] = c->stride[i];
    if (c->end[i] != INT32_MAX) end[k] = c->end[i];
  }
  return with_lists(q->attrs, begin, end, strides, ndim);
}

/* Whole axes may be in any layout; those that are blocked are cut between blocks only. */
static int slice_layouts(relay_layouts *q) {
  const tn_StridedSliceAttrs *a = q->attrs;
  tn_Layout *before = relay_layout_at(q->before, 0), *now = relay_layout_now(q, 0);
  cuts c;
  if (!before || ops_sliced_axes(a) > MAX_NDIM || now->axes->len > MAX_NDIM) return 0;
  if (relay_layout_equal(before, now)) return relay_layouts_answer(q, now, now);
  if (!read_cuts(q, now, &c)) return relay_layouts_answer(q, before, before);
  if (!a->axes) TN_GET(q->attrs, in_order(q, &c, now));
  else {
    if (c.blocks) TN_GET(q->attrs, with_lists(a, c.begin, c.end, c.stride, c.n));
    TN_GET(q->attrs, relay_attrs_with(q->attrs, "axes", tn_any_obj(relay_ints(c.axis, c.n))));
  }
  return relay_layouts_answer(q, now, now);
}

/* ---- slice_like ---- */

static tn_arr *like_shape(const tn_SliceLikeAttrs *a, const tn_arr *data, const tn_arr *like) {
  tn_obj *out[MAX_NDIM];
  TN_VEC(v);
  TN_CHECKP(data->len <= MAX_NDIM, ValueError, NULL, "slice_like: too many dimensions");
  for (int64_t i = 0; i < data->len; ++i) out[i] = tn_arr_obj(data, i);
  int64_t n = a->axes && a->axes->len ? a->axes->len
              : like->len < data->len ? like->len
                                      : data->len;
  for (int64_t i = 0; i < n; ++i) {
    int64_t axis = a->axes && a->axes->len ? relay_listed(a->axes, i) : i, x, y;
    if (axis < 0) axis += data->len;
    TN_CHECKP(axis >= 0 && axis < data->len && axis < like->len, ValueError, NULL,
              "slice_like: axis %lld is out of range", (long long)axis);
    bool known = tir_as_int(out[axis], &x) && tir_as_int(tn_arr_obj(like, axis), &y);
    TN_CHECKP(!known || y <= x, ValueError, NULL,
              "slice_like: dimension %lld: %lld elements of %lld", (long long)axis, (long long)y,
              (long long)x);
    relay_take_least(
        relay_dim_binary(TN_TI_Sub, (tn_expr *)out[axis], (tn_expr *)tn_arr_obj(like, axis)), 0);
    out[axis] = tn_arr_obj(like, axis);
  }
  for (int64_t i = 0; i < data->len; ++i) TN_TRYP(tn_vec_push_obj(&v, out[i]));
  return tn_arr_from(&v);
}

static int like_relation(relay_rel *r) {
  RELAY_TENSOR(data, r, 0);
  RELAY_TENSOR(like, r, 1);
  return relay_rel_result(
      r, relay_tensor_type(like_shape(r->attrs, data->shape, like->shape), data->dtype));
}

static tn_expr *same_element(void *ctx, tn_arr *indices) { return te_at(ctx, indices); }

static tn_arr *like(const relay_compute *c) {
  tn_Tensor *data = relay_input(c, 0);
  tn_arr *shape = like_shape(c->attrs, data->shape, relay_input(c, 1)->shape);
  return tn_arr_of(1, te_compute(shape, same_element, data, "T_slice_like", TE_INJECTIVE));
}

/* Both tensors in one layout, where they come in it and axes that are cut are whole. */
static int like_layouts(relay_layouts *q) {
  const tn_SliceLikeAttrs *a = q->attrs;
  tn_Layout *before = relay_layout_at(q->before, 0), *now = relay_layout_now(q, 0);
  int64_t axes[MAX_NDIM], n = a->axes ? a->axes->len : 0;
  if (!before || before->axes->len > MAX_NDIM || n > MAX_NDIM) return 0;
  if (!relay_layout_equal(now, before) && !relay_layout_equal(now, relay_layout_at(q->given, 1)))
    now = before;
  for (int64_t i = 0; i < (n ? n : before->axes->len); ++i) {
    axes[i] = relay_layout_axis_in(before, n ? relay_listed(a->axes, i) : i, now);
    if (axes[i] < 0) now = before;
  }
  if (n && !relay_layout_equal(now, before))
    TN_GET(q->attrs, relay_attrs_with(a, "axes", tn_any_obj(relay_ints(axes, n))));
  return relay_layouts_answer(q, now, now);
}

static const relay_op_row rows[] = {
    {.name = "strided_slice",
     .inputs = "data",
     .attrs = &tn_type_StridedSliceAttrs,
     .level = 4,
     .pattern = RELAY_INJECTIVE,
     .rel_name = "StridedSlice",
     .rel = slice_relation,
     .compute = slice,
     .layouts = slice_layouts,
     .grad = ops_grad_strided_slice,
     .doc = "part of the tensor by begin, end and step along axes",
     .precision = RELAY_FOLLOWS,
     .values = RELAY_MOVED},
    {.name = "slice_like",
     .inputs = "data shape_like",
     .attrs = &tn_type_SliceLikeAttrs,
     .level = 10,
     .pattern = RELAY_INJECTIVE,
     .rel_name = "SliceLike",
     .rel = like_relation,
     .compute = like,
     .layouts = like_layouts,
     .doc = "the first elements of axes, as many as another tensor has",
     .values = RELAY_MOVED},
};

RELAY_FAMILY(slice, SLICE_ATTRS)
