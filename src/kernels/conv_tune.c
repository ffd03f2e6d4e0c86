/* What can be tuned in a convolution: pixels and vectors of channels of its tile, and how the work
   is divided. Workloads are written as for convolutions without blocks of channels; a border is
   part of the image, so that the padding is none:

     ["conv2d_NCHWc.x86",["TENSOR",[n,c,h,w],"float32"],["TENSOR",[o,i,kh,kw],"float32"],
      [stride,stride],[0,0,0,0],[dilation,dilation],"NCHW","NCHW","float32"] */
#include "arith/region.h"
#include "base/error.h"
#include "base/scope.h"
#include "kernels/conv_impl.h"
#include "object/functions.h"

enum { MAX_VECTORS = 8, MAX_COLS = 16 };

void kernel_conv_workload(tune_task *t, const kernel_conv2d *p, const int64_t out[2],
                          tn_dtype weight, tn_dtype result) {
  static const int64_t padding[4];
  bool depthwise = p->groups > 1;
  int64_t data[4] = {p->batch, p->in}, kernel[4] = {p->out, depthwise ? 1 : p->in};
  for (int i = 0; i < 2; ++i) {
    data[2 + i] = (out[i] - 1) * p->stride[i] + (p->kernel[i] - 1) * p->dilation[i] + 1;
    kernel[2 + i] = p->kernel[i];
  }
  tune_task_workload(t, depthwise ? "depthwise_conv2d_NCHWc.x86" : "conv2d_NCHWc.x86");
  tune_task_tensor(t, data, 4, p->dtype);
  tune_task_tensor(t, kernel, 4, weight);
  tune_task_list(t, p->stride, 2);
  tune_task_list(t, padding, 4);
  tune_task_list(t, p->dilation, 2);
  tune_task_value(t, "\"NCHW\",\"NCHW\"");
  tune_task_dtype(t, result);
}

/* ---- the problem of a stage ---- */

/* Factor of an axis in the one index of the data that it is in; 1 where it is in none.
   @return 1, 0 when it is not linear there, -1 */
static int factor_of(const kernel_conv *c, int axis, int64_t *out) {
  const tn_Var *var = c->st->axis[axis].var;
  tn_any v = tn_any_obj(var);
  tn_arr *vars, *factors;
  *out = 1;
  for (int64_t i = 0; i < c->data->indices->len; ++i) {
    tn_expr *index = (tn_expr *)tn_arr_obj(c->data->indices, i);
    if (!kernel_uses(index, &c->st->axis[axis])) continue;
    TN_GET(vars, tn_scope_own(tn_arr_new(&v, 1)));
    TN_GET(factors, arith_linear(index, vars));
    return factors->len == 2 && tir_as_int(tn_arr_obj(factors, 0), out);
  }
  return 1;
}

/* Does data and weight of the stage have their own axis, for groups? */
static bool has_groups(const kernel_conv *c) {
  for (int i = 0; i < c->lane; ++i) {
    const kernel_axis *a = &c->st->axis[i];
    if (a->extent > 1 && i != c->row && i != c->col && i != c->vectors &&
        kernel_uses(c->weight->indices, a) && !c->depthwise)
      return true;
  }
  return false;
}

/* The channels of a depthwise convolution that are not in `lane`: the axis that both operands
   have. */
static int64_t blocks_of(const kernel_conv *c) {
  int64_t n = kernel_extent(c, c->vectors);
  for (int i = 0; c->depthwise && i < c->lane; ++i)
    if (i != c->row && i != c->col && i != c->vectors &&
        kernel_uses(c->weight->indices, &c->st->axis[i]))
      n *= c->st->axis[i].extent;
  return n;
}

/* Axes of the window: those summed over that are not channels. @return their number, 2 at most */
static int window_of(const kernel_conv *c, int axes[2]) {
  int n = 0;
  for (int i = c->st->nspatial; i < c->st->naxes; ++i) {
    if (i == c->channel) continue;
    if (n < 2) axes[n] = i;
    ++n;
  }
  return n;
}

/* @return 1, 0 for convolutions that no workload is written for, -1 */
static int problem_of(const kernel_conv *c, kernel_conv2d *p, int64_t out[2]) {
  int window[2], image[2] = {c->row, c->col};
  if (!c->weight || c->row < 0 || window_of(c, window) != 2 || has_groups(c)) return 0;
  int64_t channels = kernel_extent(c, c->lane) * blocks_of(c);
  *p = (kernel_conv2d){.dtype = c->data->buffer->dtype, .out = channels};
  p->in = c->depthwise ? channels : kernel_extent(c, c->channel);
  p->groups = c->depthwise ? channels : 1;
  for (int i = 0; i < 2; ++i) {
    int r = factor_of(c, image[i], &p->stride[i]);
    if (r > 0) r = factor_of(c, window[i], &p->dilation[i]);
    if (r <= 0) return r;
    out[i] = kernel_extent(c, image[i]);
    p->kernel[i] = c->st->axis[window[i]].extent;
  }
  p->batch = c->st->spatial / (out[0] * out[1] * channels);
  return 1;
}

/* ---- direct convolutions ---- */

enum { TILE_H, TILE_W, TILE_C, CHUNKS, BANDS, FETCH };

static bool fits_direct(const tune_task *t, const void *ctx) {
  const kernel_conv *c = ctx;
  const tune_knob *k = t->knobs;
  int64_t lane = (kernel_extent(c, c->lane) + c->st->lanes - 1) / c->st->lanes;
  int64_t vectors = k[TILE_C].value * lane, pixels = k[TILE_H].value * k[TILE_W].value;
  int64_t rows = kernel_extent(c, c->row), groups = kernel_extent(c, c->vectors) / k[TILE_C].value;
  int64_t heights = rows % k[TILE_H].value ? 1 : rows / k[TILE_H].value;
  if (pixels * vectors + vectors + 1 > c->st->machine->vector_registers) return false;
  if (k[CHUNKS].given && groups % k[CHUNKS].value != 0) return false;
  return !k[BANDS].given || heights % k[BANDS].value == 0;
}

static void offer_direct(const kernel_conv *c, const kernel_conv_tile *tile,
                         const kernel_conv_parts *parts, tune_task *t) {
  int64_t most = c->st->machine->vector_registers;
  int64_t rows = kernel_extent(c, c->row), cols = kernel_extent(c, c->col);
  int64_t groups = kernel_extent(c, c->vectors);
  tune_knob *h = tune_task_knob(t, "tile_oh", tile->rows);
  for (int64_t i = 1; i <= rows && i + 2 <= most; ++i) tune_knob_may(h, i);
  tune_knob *w = tune_task_knob(t, "tile_ow", tile->cols);
  for (int64_t i = 1; i <= cols && i + 2 <= most; ++i) tune_knob_may(w, i);
  tune_knob_may_divide(tune_task_knob(t, "tile_oc", tile->vectors), groups, MAX_VECTORS);
  tune_knob_may_divide(tune_task_knob(t, "chunks", parts->chunks), groups, groups);
  tune_knob_may_divide(tune_task_knob(t, "bands", parts->bands), rows, rows);
  tune_knob *fetch = tune_task_knob(t, "fetch", parts->fetch);
  for (int i = 0; i < 2; ++i) tune_knob_may(fetch, i);
}

int kernel_conv_tune(const kernel_conv *c, kernel_conv_tile *tile, kernel_conv_parts *parts) {
  tune_task t = {0};
  kernel_conv2d p;
  int64_t out[2];
  int r = problem_of(c, &p, out);
  if (r <= 0) return r;
  kernel_conv_workload(&t, &p, out, c->weight->buffer->dtype, c->out->dtype);
  offer_direct(c, tile, parts, &t);
  int err = tune_task_ask(&t, fits_direct, c);
  const tune_knob *k = t.knobs;
  if (k[TILE_H].given || k[TILE_W].given || k[TILE_C].given) {
    *tile = (kernel_conv_tile){k[TILE_H].value, k[TILE_W].value, k[TILE_C].value};
    (void)kernel_conv_divide(c, tile, parts);
  }
  if (k[CHUNKS].given) parts->chunks = k[CHUNKS].value;
  if (k[BANDS].given) parts->bands = k[BANDS].value;
  if (k[FETCH].given) parts->fetch = k[FETCH].value;
  tune_task_fini(&t);
  return err;
}

/* ---- depthwise convolutions ---- */

static bool fits_depthwise(const tune_task *t, const void *ctx) {
  const kernel_conv *c = ctx;
  const tune_knob *k = t->knobs;
  int64_t rows = kernel_extent(c, c->row);
  return rows % k[0].value == 0 &&
         k[0].value * k[1].value + 2 <= c->st->machine->vector_registers &&
         (!k[2].given || rows / k[0].value % k[2].value == 0);
}

int kernel_conv_tune_depthwise(const kernel_conv *c, kernel_conv_tile *tile, int64_t *band) {
  tune_task t = {0};
  kernel_conv2d p;
  int64_t out[2], rows = kernel_extent(c, c->row), cols = kernel_extent(c, c->col);
  int r = problem_of(c, &p, out);
  if (r <= 0) return r;
  kernel_conv_workload(&t, &p, out, c->weight->buffer->dtype, c->out->dtype);
  tune_knob_may_divide(tune_task_knob(&t, "tile_oh", tile->rows), rows, 4);
  tune_knob *w = tune_task_knob(&t, "tile_ow", tile->cols);
  for (int64_t i = 1; i <= cols && i <= MAX_COLS; ++i) tune_knob_may(w, i);
  tune_knob_may_divide(tune_task_knob(&t, "band", *band), rows, rows);
  int err = tune_task_ask(&t, fits_depthwise, c);
  tile->rows = t.knobs[0].value;
  tile->cols = t.knobs[1].value;
  bool same = !t.knobs[0].given && !t.knobs[1].given;
  *band = t.knobs[2].given || same ? t.knobs[2].value : 0;
  tune_task_fini(&t);
  return err;
}
