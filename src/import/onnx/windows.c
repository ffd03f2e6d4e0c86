/* Windows over spatial axes, and the border that auto_pad asks for.

     SAME_UPPER, SAME_LOWER     as many results as x / stride, rounded up: the border is what that
                                takes, its odd element after or before the data

   With windows at each element (stride 1) it is the same for all extents. */
#include "import/onnx/windows.h"

#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"

int onnx_read_sizes(const onnx_ctx *c, const char *name, int64_t n, int64_t absent, int64_t least,
                    int64_t *out) {
  int64_t given;
  const int64_t *v = onnx_ints(c, name, &given);
  if (given && given != n)
    return onnx_fail(c, "%s: expected %" PRId64 " numbers, got %" PRId64, name, n, given), -1;
  for (int64_t i = 0; i < n; ++i) {
    out[i] = given ? v[i] : absent;
    if (out[i] < least || out[i] > INT32_MAX)
      return onnx_fail(c, "%s: %" PRId64 " is not a valid size: at least %" PRId64 " is expected",
                       name, out[i], least),
             -1;
  }
  return 0;
}

/* The border of axis i for an extent of x. */
static void same_pads(onnx_window *w, int i, int64_t x, bool lower) {
  int64_t out = (x + w->strides[i] - 1) / w->strides[i];
  int64_t total = (out - 1) * w->strides[i] + onnx_window_reach(w, i) - x;
  if (total < 0) total = 0;
  int64_t small = total / 2, large = total - small;
  w->pads[i] = lower ? large : small;
  w->pads[i + w->n] = lower ? small : large;
}

static int auto_pads(const onnx_ctx *c, const char *how, onnx_window *w) {
  if (strcmp(how, "NOTSET") == 0) return onnx_read_sizes(c, "pads", 2 * w->n, 0, 0, w->pads);
  bool lower = strcmp(how, "SAME_LOWER") == 0;
  if (strcmp(how, "VALID") == 0) return 0;
  if (!lower && strcmp(how, "SAME_UPPER") != 0)
    return onnx_fail(c, "auto_pad: %s is not one of NOTSET, SAME_UPPER, SAME_LOWER, VALID", how),
           -1;
  for (int i = 0; i < w->n; ++i) {
    int64_t x = 1;
    if (relay_known_int(onnx_in_type(c, 0)->shape, i + 2, &x) || w->strides[i] == 1)
      same_pads(w, i, x, lower);
    else w->border = lower ? ONNX_PADS_LOWER : ONNX_PADS_UPPER;
  }
  if (w->border != ONNX_PADS_KNOWN) memset(w->pads, 0, sizeof w->pads);
  return 0;
}

int onnx_check_room(const onnx_ctx *c, const onnx_window *w) {
  for (int i = 0; i < w->n && w->border == ONNX_PADS_KNOWN; ++i) {
    int64_t x, pads = w->pads[i] + w->pads[i + w->n], reach = onnx_window_reach(w, i);
    if (!relay_known_int(onnx_in_type(c, 0)->shape, i + 2, &x) || x + pads >= reach) continue;
    return onnx_fail(c,
                     "a window of %" PRId64 " elements (kernel %" PRId64 ", dilation %" PRId64
                     ") does not fit into axis %d, which has %" PRId64 " elements and %" PRId64
                     " of padding: give it more padding or a larger input",
                     reach, w->kernel[i], w->dilations[i], i + 2, x, pads),
           -1;
  }
  return 0;
}

int onnx_suspect_kernel(const onnx_ctx *c, int weight, const onnx_window *w) {
  int64_t n;
  const int64_t *stated = onnx_ints(c, "kernel_shape", &n);
  bool same = n == w->n;
  for (int i = 0; same && i < w->n; ++i) same = stated[i] == w->kernel[i];
  if (same || !n) return 0;
  TN_BUF(text);
  for (int64_t i = 0; i < n; ++i) tn_buf_printf(&text, "%s%" PRId64, i ? ", " : "", stated[i]);
  tn_buf_puts(&text, "], the weight has [");
  for (int i = 0; i < w->n; ++i) tn_buf_printf(&text, "%s%" PRId64, i ? ", " : "", w->kernel[i]);
  TN_TRY(tn_buf_ok(&text));
  return onnx_suspect(c, "kernel_shape is [%s] (input %d, %s), which counts", tn_buf_cstr(&text),
                      weight, c->node->input[weight]);
}

int onnx_read_window(const onnx_ctx *c, int weight, onnx_window *w) {
  char how[32];
  int64_t rank = onnx_rank(c, 0);
  *w = (onnx_window){.n = (int)rank - 2};
  if (rank < 3 || rank > 2 + ONNX_MAX_SPATIAL)
    return onnx_fail(c, "expected 1 to 3 spatial dimensions, got a shape of %" PRId64 " dimensions",
                     rank),
           -1;
  for (int i = 0; weight >= 0 && i < w->n; ++i)
    TN_TRY(onnx_known_extent(c, weight, i + 2, &w->kernel[i]));
  if (weight < 0) TN_TRY(onnx_read_sizes(c, "kernel_shape", w->n, 0, 1, w->kernel));
  else TN_TRY(onnx_suspect_kernel(c, weight, w));
  TN_TRY(onnx_read_sizes(c, "strides", w->n, 1, 1, w->strides));
  TN_TRY(onnx_read_sizes(c, "dilations", w->n, 1, 1, w->dilations));
  TN_TRY(auto_pads(c, onnx_text(c, "auto_pad", "NOTSET", how, sizeof how), w));
  return weight >= 0 ? onnx_check_room(c, w) : 0;
}

/* ---- at run time ---- */

static void *i64(int64_t v) { return relay_const_int(TN_I64, v); }

/* As same_pads: vectors of one element, before and after. */
static int border_of(const onnx_ctx *c, const onnx_window *w, int i, void **before, void **after) {
  void *x = onnx_extent(onnx_in(c, 0), i + 2, TN_I64), *s = i64(w->strides[i]);
  void *out = onnx_binary("floor_divide", onnx_binary("add", x, i64(w->strides[i] - 1)), s);
  void *whole = onnx_binary("add", onnx_binary("multiply", onnx_binary("subtract", out, i64(1)), s),
                            i64(onnx_window_reach(w, i)));
  void *total = onnx_binary("maximum", onnx_binary("subtract", whole, x), i64(0));
  void *small = onnx_binary("floor_divide", total, i64(2)),
       *large = onnx_binary("subtract", total, small);
  bool lower = w->border == ONNX_PADS_LOWER;
  TN_GET(*before, onnx_reshape(lower ? large : small, (int64_t[]){1}, 1));
  TN_GET(*after, onnx_reshape(lower ? small : large, (int64_t[]){1}, 1));
  return 0;
}

void *onnx_window_border(const onnx_ctx *c, const onnx_window *w, void *x, void *value) {
  int64_t dims[2 + ONNX_MAX_SPATIAL], rank = w->n + 2, none[2] = {0, 0};
  TN_VEC(numbers);
  void *after[ONNX_MAX_SPATIAL], *before;
  if (w->border == ONNX_PADS_KNOWN || !x) return x;
  TN_TRYP(tn_vec_push_obj(&numbers, relay_const_ints(TN_I64, none, 2)));
  for (int i = 0; i < w->n; ++i) {
    TN_TRYP(border_of(c, w, i, &before, &after[i]));
    TN_TRYP(tn_vec_push_obj(&numbers, before));
  }
  TN_TRYP(tn_vec_push_obj(&numbers, relay_const_ints(TN_I64, none, 2)));
  for (int i = 0; i < w->n; ++i) TN_TRYP(tn_vec_push_obj(&numbers, after[i]));
  void *width = onnx_reshape(onnx_concat(tn_arr_from(&numbers), 0), (int64_t[]){2, rank}, 2);
  void *a = relay_attrs("dyn.nn.pad", 1, "pad_mode", tn_any_cstr("constant"));
  width = onnx_transpose(width, (int64_t[]){1, 0}, 2);
  for (int64_t i = 0; i < rank; ++i)
    if (i >= 2 || !relay_known_int(onnx_in_type(c, 0)->shape, i, &dims[i])) dims[i] = -1;
  void *y = a && width && value ? relay_call("dyn.nn.pad", a, 3, x, width, value) : NULL;
  return y ? onnx_with_known(y, dims, rank) : NULL;
}
