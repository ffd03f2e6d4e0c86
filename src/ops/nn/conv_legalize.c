/* Convolutions that kernels do not know, as ones that they know: with more channels, and ordinary
   ones for transposed ones. Extents of data may be dynamic: those of the parts differ by constants.

   A transposed convolution with step s and a kernel of K rows gives row o of the result from the
   rows x[q - t] with weights w[a + s * t], where q = (o + pad) / s, a = (o + pad) % s: for each a
   that is an ordinary convolution with ceil(K / s) rows of the kernel, turned around. All of them
   are computed at once, as channels (a, b, oc), and laid out by nn.depth_to_space; what lies in the
   padding is cut off.

     nn.conv2d_transpose(%x, %w, channels=8, kernel_size=[2, 2], strides=[2, 2])
   =>
     nn.depth_to_space(nn.conv2d(%x, %w2, channels=32, kernel_size=[1, 1]), block_size=2) */
#include <string.h>

#include "ir/imm.h"
#include "kernels/layout_choice.h"
#include "ops/layout.h"
#include "ops/nn/conv.h"
#include "relay/evaluate.h"

static int64_t extent_of(const ops_axes *a, char letter) {
  int64_t v = -1;
  const tn_obj *e = (const tn_obj *)OPS_AXIS(a, letter);
  return e && tir_as_int(e, &v) ? v : -1;
}

static void *reshape(void *e, const int64_t *shape, int64_t n) {
  return relay_call("reshape",
                    relay_attrs("reshape", 1, "newshape", tn_any_obj(relay_ints(shape, n))), 1, e);
}

/* `e` with zeros after the elements of each axis, up to `to` of them. */
static void *grown(void *e, tn_dtype t, const int64_t *from, const int64_t *to, int n) {
  TN_VEC(width);
  bool any = false;
  for (int i = 0; i < n; ++i) {
    int64_t pair[2] = {0, to[i] - from[i]};
    any = any || pair[1];
    TN_TRYP(tn_vec_push_obj(&width, relay_ints(pair, 2)));
  }
  if (!any) return e;
  void *attrs = relay_attrs("nn.pad", 1, "pad_width", tn_any_obj(tn_arr_from(&width)));
  return relay_call("nn.pad", attrs, 2, e, relay_const_float(t, 0));
}

/* Elements begin[i] to end[i] along axis axes[i]. */
static void *cut(void *e, const int64_t *axes, const int64_t *begin, const int64_t *end, int n) {
  void *attrs =
      relay_attrs("strided_slice", 3, "begin", tn_any_obj(relay_ints(begin, n)), "end",
                  tn_any_obj(relay_ints(end, n)), "axes", tn_any_obj(relay_ints(axes, n)));
  return relay_call("strided_slice", attrs, 1, e);
}

/* Plain layouts and a weight that is constant; the machine has kernels. */
static bool has_weight(const relay_replace *r, target_machine *m) {
  const void *attrs = r->call->attrs;
  const tn_TensorType *data = TN_AS(TensorType, tn_arr_obj(r->types, 0)),
                      *weight = TN_AS(TensorType, tn_arr_obj(r->types, 1)),
                      *out = TN_AS(TensorType, r->out_type);
  const char *out_layout = relay_attr_str(attrs, "out_layout"),
             *layout = relay_attr_str(attrs, "data_layout");
  return data && weight && out && relay_known_depth(relay_arg(r->call, 1)) >= 0 &&
         strlen(layout) == (size_t)r->row->which + 2 &&
         strlen(relay_attr_str(attrs, "kernel_layout")) == (size_t)r->row->which + 2 &&
         (!*out_layout || strcmp(out_layout, layout) == 0) && kernels_machine(m);
}

static bool is_of_floats(const relay_replace *r) {
  const tn_TensorType *data = TN_AS(TensorType, tn_arr_obj(r->types, 0)),
                      *weight = TN_AS(TensorType, tn_arr_obj(r->types, 1)),
                      *out = TN_AS(TensorType, r->out_type);
  return data && weight && out && tn_dtype_eq(data->dtype, TN_F32) &&
         tn_dtype_eq(data->dtype, weight->dtype) && tn_dtype_eq(data->dtype, out->dtype);
}

static bool is_float_with_weight(const relay_replace *r, target_machine *m) {
  return is_of_floats(r) && has_weight(r, m);
}

static bool is_static(const relay_replace *r) {
  return relay_is_static((const tn_Type *)tn_arr_obj(r->types, 0));
}

/* The same, without groups. */
static bool is_plain(const relay_replace *r, target_machine *m) {
  return relay_attr_int(r->call->attrs, "groups", 1) == 1 && is_float_with_weight(r, m);
}

static int axes_of(const relay_replace *r, ops_axes *data, ops_axes *weight) {
  const void *attrs = r->call->attrs;
  TN_TRY(ops_axes_of(relay_attr_str(attrs, "data_layout"),
                     ((tn_TensorType *)tn_arr_obj(r->types, 0))->shape, true, data));
  return ops_axes_of(relay_attr_str(attrs, "kernel_layout"),
                     ((tn_TensorType *)tn_arr_obj(r->types, 1))->shape, true, weight);
}

/* ---- more channels ---- */

void *ops_whole_conv(const relay_replace *r) {
  enum { MAX_RANK = 5 };
  target_machine m;
  ops_axes d, w;
  int64_t from[MAX_RANK], to[MAX_RANK], zero = 0;
  int rank = (int)r->row->which + 2;
  bool known = is_of_floats(r) || (rank == 4 && ops_is_conv2d_int8(r));
  if (strstr(r->row->name, "NCHWc") || !known || !has_weight(r, &m) || !is_static(r) ||
      relay_attr_int(r->call->attrs, "groups", 1) != 1)
    return relay_leave(r);
  TN_TRYP(axes_of(r, &d, &w));
  tn_dtype t = ((tn_TensorType *)tn_arr_obj(r->types, 1))->dtype;
  int64_t out = extent_of(&w, 'O'), whole = kernels_whole_channels(&m, t, out);
  if (whole == out) return relay_leave(r);
  const char *kernel_layout = relay_attr_str(r->call->attrs, "kernel_layout");
  for (int i = 0; i < rank; ++i) {
    from[i] = extent_of(&w, kernel_layout[i]);
    to[i] = kernel_layout[i] == 'O' ? whole : from[i];
  }
  const char *layout = relay_attr_str(r->call->attrs, "data_layout");
  int64_t axis = strchr(layout, 'C') - layout;
  void *attrs = relay_attrs_with(r->call->attrs, "channels", tn_any_obj(tir_i32((int32_t)whole)));
  void *weight = grown(relay_arg(r->call, 1), t, from, to, rank);
  if (!attrs) return NULL;
  void *y = relay_call(r->row->name, attrs, 2, relay_arg(r->call, 0), weight);
  return cut(y, &axis, &zero, &out, 1);
}

/* ---- kernels without what sees zeros only ---- */

/* Along an axis: rows `begin` to `end` of the kernel, and the zeros that they need. */
typedef struct {
  int64_t begin, end, before, after;
} seen;

/* Row k of a kernel sees rows o * step + k * dilation - before of the data. */
static seen seen_of(int64_t size, int64_t rows, int64_t out, int64_t step, int64_t dilation,
                    const int64_t pads[2]) {
  seen s = {0, rows, pads[0], pads[1]}, all = s;
  while (s.begin < rows && (out - 1) * step + s.begin * dilation < pads[0]) ++s.begin;
  while (s.end > 0 && (s.end - 1) * dilation - pads[0] >= size) --s.end;
  if (s.end <= s.begin || s.end - s.begin == rows) return all;
  int64_t reach = (s.end - s.begin - 1) * dilation + 1;
  s.before -= s.begin * dilation;
  s.after = (out - 1) * step + reach - size - s.before;
  if (s.after < 0) s.after = 0;
  bool same = s.before >= 0 && (size + s.before + s.after - reach) / step + 1 == out;
  return same ? s : all;
}

/* With dilation and images smaller than that, most of a kernel lies in the border:

     nn.conv2d(%x: 16 x 16, %w: 3 x 3, padding=[24, 24], dilation=[24, 24])
   =>
     nn.conv2d(%x, strided_slice(%w): 1 x 1) */
void *ops_legalize_conv(const relay_replace *r) {
  target_machine m;
  ops_axes d, w, o;
  const void *attrs = r->call->attrs;
  int n = (int)r->row->which;
  const tn_arr *strides = relay_attr_obj(attrs, "strides"),
               *dilation = relay_attr_obj(attrs, "dilation");
  int64_t pads[2][3], now[6], axes[3], begin[3], end[3], taps[3];
  bool less = false;
  if (n == 2 && ops_is_conv2d_int8(r)) return ops_conv2d_int8_in_floats(r);
  if (!is_float_with_weight(r, &m) || !is_static(r)) return relay_leave(r);
  TN_TRYP(axes_of(r, &d, &w));
  TN_TRYP(ops_axes_of(relay_attr_str(attrs, "data_layout"), ((tn_TensorType *)r->out_type)->shape,
                      true, &o));
  TN_TRYP(ops_get_pads(relay_attr_obj(attrs, "padding"), n, pads[0], pads[1], "padding"));
  for (int i = 0; i < n; ++i) {
    char letter = (&"DHW"[3 - n])[i];
    int64_t rows = extent_of(&w, letter), pair[2] = {pads[0][i], pads[1][i]};
    seen s = seen_of(extent_of(&d, letter), rows, extent_of(&o, letter), relay_listed(strides, i),
                     relay_listed(dilation, i), pair);
    less = less || s.end - s.begin < rows;
    axes[i] = strchr(relay_attr_str(attrs, "kernel_layout"), letter) -
              relay_attr_str(attrs, "kernel_layout");
    begin[i] = s.begin, end[i] = s.end, taps[i] = s.end - s.begin;
    now[i] = s.before, now[n + i] = s.after;
  }
  if (!less) return relay_leave(r);
  void *fewer = relay_attrs_with(attrs, "padding", tn_any_obj(relay_ints(now, 2 * n)));
  if (fewer) fewer = relay_attrs_with(fewer, "kernel_size", tn_any_obj(relay_ints(taps, n)));
  void *weight = cut(relay_arg(r->call, 1), axes, begin, end, n);
  return fewer ? relay_call(r->row->name, fewer, 2, relay_arg(r->call, 0), weight) : NULL;
}

/* ---- transposed ---- */

enum { MAX_SPATIAL = 3, MAX_PLACES = 64 };

/* Along the axes of lines, images or volumes. */
typedef struct {
  int n;
  int64_t in, out, places;                        /* channels; product of steps */
  int64_t kernel[MAX_SPATIAL], step[MAX_SPATIAL]; /* rows of the kernel */
  int64_t taps[MAX_SPATIAL], pad[MAX_SPATIAL];    /* of its parts; before */
  int64_t more[MAX_SPATIAL];                      /* rows q of the parts, less those of data */
  int64_t rest[MAX_SPATIAL];                      /* rows beyond the result */
  int64_t q[MAX_SPATIAL], result[MAX_SPATIAL];    /* extents; -1: not known */
} transposed;

static const char *letters(int n) { return &"DHW"[MAX_SPATIAL - n]; }

/* Of x rows of data come (x - 1) * step + kernel - pads + output_padding of the result: `more` and
   `rest` are the same for all x. */
static bool read_transposed(const relay_replace *r, const ops_axes *d, const ops_axes *w,
                            transposed *p) {
  const void *attrs = r->call->attrs;
  const tn_arr *strides = relay_attr_obj(attrs, "strides"),
               *dilation = relay_attr_obj(attrs, "dilation"),
               *extra = relay_attr_obj(attrs, "output_padding");
  int64_t after[MAX_SPATIAL];
  ops_axes o;
  *p = (transposed){
      .n = (int)r->row->which, .in = extent_of(w, 'I'), .out = extent_of(w, 'O'), .places = 1};
  if (ops_get_pads(relay_attr_obj(attrs, "padding"), p->n, p->pad, after, "padding") ||
      ops_axes_of(relay_attr_str(attrs, "data_layout"), ((tn_TensorType *)r->out_type)->shape, true,
                  &o))
    return false;
  for (int i = 0; i < p->n; ++i) {
    char letter = letters(p->n)[i];
    int64_t step = p->step[i] = relay_listed(strides, i), size = extent_of(d, letter);
    p->kernel[i] = extent_of(w, letter);
    p->result[i] = extent_of(&o, letter);
    if (relay_listed(dilation, i) != 1 || step > MAX_PLACES / p->places || p->kernel[i] <= 0 ||
        size == 0 || p->result[i] == 0)
      return false;
    int64_t last = p->kernel[i] - after[i] + relay_listed(extra, extra->len == 1 ? 0 : i);
    if (last <= 0) return false;
    p->taps[i] = (p->kernel[i] + step - 1) / step;
    p->more[i] = (last + step - 1) / step - 1;
    p->rest[i] = (p->more[i] + 1) * step - last;
    p->q[i] = size < 0 ? -1 : size + p->more[i];
    p->places *= step;
  }
  return p->in > 0 && p->out > 0 && p->out < INT32_MAX / p->places;
}

static void *turned_around(void *e, int64_t axis, int64_t extent) {
  if (extent == 1) return e;
  return relay_call("reverse", relay_attrs("reverse", 1, "axis", tn_any_int(axis)), 1, e);
}

static void *transpose(void *e, const int64_t *axes, int64_t n) {
  void *attrs = relay_attrs("transpose", 1, "axes", tn_any_obj(relay_ints(axes, n)));
  return attrs ? relay_call("transpose", attrs, 1, e) : NULL;
}

/* Weight of layout OIHW to that of the ordinary convolution, channels (a, b, oc). */
static void *parts_of(void *w, tn_dtype t, const transposed *p) {
  enum { FIRST = 2 };
  int n = p->n;
  int64_t from[FIRST + MAX_SPATIAL] = {p->out, p->in}, to[FIRST + MAX_SPATIAL] = {p->out, p->in};
  int64_t split[FIRST + 2 * MAX_SPATIAL] = {p->out, p->in}, order[FIRST + 2 * MAX_SPATIAL];
  int64_t whole[FIRST + MAX_SPATIAL] = {p->places * p->out, p->in};
  order[n] = 0, order[n + 1] = 1;
  for (int i = 0; i < n; ++i) {
    from[FIRST + i] = p->kernel[i];
    to[FIRST + i] = p->taps[i] * p->step[i];
    split[FIRST + 2 * i] = whole[FIRST + i] = p->taps[i];
    split[FIRST + 2 * i + 1] = p->step[i];
    order[i] = FIRST + 2 * i + 1;
    order[n + FIRST + i] = FIRST + 2 * i;
  }
  w = reshape(grown(w, t, from, to, FIRST + n), split, FIRST + 2 * n);
  for (int i = 0; i < n; ++i) w = turned_around(w, FIRST + 2 * i, p->taps[i]);
  return reshape(transpose(w, order, FIRST + 2 * n), whole, FIRST + n);
}

static void *in_layout(void *e, const char *from, const char *to) {
  if (strcmp(from, to) == 0) return e;
  return relay_call("layout_transform",
                    relay_attrs("layout_transform", 2, "src_layout", tn_any_cstr(from),
                                "dst_layout", tn_any_cstr(to)),
                    1, e);
}

static void *ordinary(const relay_replace *r, void *weight, const transposed *p) {
  static const char *const names[] = {"nn.conv1d", "nn.conv2d", "nn.conv3d"};
  int64_t pads[2 * MAX_SPATIAL], ones[] = {1, 1, 1};
  for (int i = 0; i < p->n; ++i) {
    pads[i] = p->taps[i] - 1;
    pads[p->n + i] = p->more[i];
  }
  const char *layout = relay_attr_str(r->call->attrs, "data_layout");
  void *attrs = relay_attrs(
      names[p->n - 1], 6, "strides", tn_any_obj(relay_ints(ones, p->n)), "dilation",
      tn_any_obj(relay_ints(ones, p->n)), "padding", tn_any_obj(relay_ints(pads, 2 * p->n)),
      "channels", tn_any_obj(tir_i32((int32_t)(p->places * p->out))), "kernel_size",
      tn_any_obj(relay_ints(p->taps, p->n)), "data_layout", tn_any_cstr(layout));
  return relay_call(names[p->n - 1], attrs, 2, relay_arg(r->call, 0), weight);
}

/* Channels (a, b, oc) as places: from [n, a, b, oc, h, w] to [n, oc, h, a, w, b]. In newshape 0
   keeps an extent, -4 splits one in two, -3 joins two. */
static void *laid_out(void *y, const transposed *p) {
  enum { FIRST = 2 };
  int n = p->n;
  int64_t order[FIRST + 2 * MAX_SPATIAL] = {0, 1 + n}, whole[FIRST + MAX_SPATIAL] = {0, 0};
  int64_t rest = p->places * p->out;
  for (int i = 0; i < n; ++i) {
    int64_t split[3 + 2 * MAX_SPATIAL + 1] = {0};
    rest /= p->step[i];
    split[1 + i] = -4, split[2 + i] = p->step[i], split[3 + i] = rest;
    y = reshape(y, split, 4 + i + n);
    order[FIRST + 2 * i] = FIRST + n + i;
    order[FIRST + 2 * i + 1] = 1 + i;
    whole[FIRST + i] = -3;
  }
  return reshape(transpose(y, order, FIRST + 2 * n), whole, FIRST + n);
}

/* The same; images with equal steps keep blocks of channels. @return NULL without an error: the
   layout has none */
static void *placed(const relay_replace *r, void *y, const transposed *p) {
  const char *layout = relay_attr_str(r->call->attrs, "data_layout");
  if (p->places == 1) return y;
  if (p->n == 2 && p->step[0] == p->step[1])
    return relay_call("nn.depth_to_space",
                      relay_attrs("nn.depth_to_space", 2, "block_size", tn_any_int(p->step[0]),
                                  "layout", tn_any_cstr(layout)),
                      1, y);
  bool plain = strncmp(layout, "NC", 2) == 0 && strcmp(layout + 2, letters(p->n)) == 0;
  return plain ? laid_out(y, p) : NULL;
}

void *ops_legalize_conv_transpose(const relay_replace *r) {
  target_machine m;
  ops_axes d, w;
  transposed p;
  TN_BUF(oi);
  if (!is_plain(r, &m)) return relay_leave(r);
  TN_TRYP(axes_of(r, &d, &w));
  if (!read_transposed(r, &d, &w, &p)) return tn_error_pending() ? NULL : relay_leave(r);
  const char *layout = relay_attr_str(r->call->attrs, "data_layout");
  tn_buf_printf(&oi, "OI%s", letters(p.n));
  TN_TRYP(tn_buf_ok(&oi));
  void *weight = in_layout(relay_arg(r->call, 1), relay_attr_str(r->call->attrs, "kernel_layout"),
                           tn_buf_cstr(&oi));
  tn_dtype t = ((tn_TensorType *)r->out_type)->dtype;
  void *y = placed(r, ordinary(r, parts_of(weight, t, &p), &p), &p);
  if (!y) return tn_error_pending() ? NULL : relay_leave(r);
  int64_t axes[MAX_SPATIAL], end[MAX_SPATIAL];
  bool whole = true;
  for (int i = 0; i < p.n; ++i) {
    axes[i] = strchr(layout, letters(p.n)[i]) - layout;
    end[i] = p.q[i] < 0 ? -p.rest[i] : p.pad[i] + p.result[i];
    if (p.q[i] < 0 && p.rest[i] == 0) end[i] = INT32_MAX;
    whole = whole && p.pad[i] == 0 && p.rest[i] == 0;
  }
  return whole ? y : cut(y, axes, p.pad, end, p.n);
}
