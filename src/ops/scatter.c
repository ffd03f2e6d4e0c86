/* Elements of a copy written by index.

     scatter_elements(%x, %i, %u, axis=0)     r[i[a][b]][b] = u[a][b]
     scatter_nd(%x, %i, %u)                   the first axis of the indices holds coordinates

   Updates are done one after another, so that of several for one element the last counts, or all of
   them where they are added and the like. Negative indices count from the end; updates outside of
   the tensor are left out. */
#include <string.h>

#include "ir/imm.h"
#include "ops/ops.h"

#define TN_FIELDS_ScatterElementsAttrs(F, S)                                                       \
  F(S, REF, PrimExpr, axis, 0, "axis that indices are about", "0")                                 \
  F(S, REF, String, reduction, 0, "\"update\", \"add\", \"mul\", \"min\", \"max\" or \"mean\"",    \
    "\"update\"")
#define TN_FIELDS_ScatterNDAttrs(F, S)                                                             \
  F(S, REF, String, mode, 0, "\"update\", \"add\", \"mul\", \"min\" or \"max\"", "\"update\"")
#define SCATTER_ATTRS(N)                                                                           \
  N(ScatterElementsAttrs, Attrs, "relay.attrs.ScatterElementsAttrs", NODE, TREE, tn_no_hooks,      \
    "attributes of scatter_elements")                                                              \
  N(ScatterNDAttrs, Attrs, "relay.attrs.ScatterNDAttrs", NODE, TREE, tn_no_hooks,                  \
    "attributes of scatter_nd")
TN_NODES_LOCAL(SCATTER_ATTRS)

enum { MAX_NDIM = 32 };

/* ---- relations ---- */

static int check_mode(const relay_rel *r, const char *mode, bool mean) {
  static const char *const modes[] = {"update", "add", "mul", "min", "max"};
  for (int i = 0; i < TN_COUNT(modes); ++i)
    if (strcmp(mode, modes[i]) == 0) return 0;
  RELAY_CHECK(r, mean && strcmp(mode, "mean") == 0, "%s is not a known reduction", mode);
  return 0;
}

static int check_common(const relay_rel *r, const tn_TensorType *data, const tn_TensorType *indices,
                        const tn_TensorType *updates) {
  RELAY_CHECK(r, ir_is_integral(indices->dtype), "indices must be integers, got %s",
              TN_DT(indices->dtype));
  RELAY_CHECK(r, tn_dtype_eq(data->dtype, updates->dtype), "updates are %s, data is %s",
              TN_DT(updates->dtype), TN_DT(data->dtype));
  RELAY_CHECK(r, data->shape->len <= MAX_NDIM && indices->shape->len <= MAX_NDIM,
              "too many dimensions");
  return 0;
}

static TN_ASKED bool axis_of(const tn_ScatterElementsAttrs *a, int64_t *axis) {
  return a->axis && tir_as_int((tn_obj *)a->axis, axis);
}

static int elements_relation(relay_rel *r) {
  const tn_ScatterElementsAttrs *a = r->attrs;
  int64_t axis;
  RELAY_TENSOR(data, r, 0);
  RELAY_TENSOR(indices, r, 1);
  RELAY_TENSOR(updates, r, 2);
  TN_TRY(check_common(r, data, indices, updates));
  TN_TRY(check_mode(r, tn_cstr(a->reduction), true));
  RELAY_CHECK(r, axis_of(a, &axis), "axis: expected a constant integer");
  if (relay_rel_axis(r, axis, data->shape->len) < 0) return RELAY_FAILED;
  RELAY_CHECK(r,
              data->shape->len == indices->shape->len && indices->shape->len == updates->shape->len,
              "data, indices and updates must have as many dimensions: %s, %s",
              relay_type_text(data), relay_type_text(indices));
  for (int64_t i = 0; i < indices->shape->len; ++i)
    RELAY_CHECK(r, relay_dim_equal(relay_dim(indices, i), relay_dim(updates, i)) != 0,
                "indices and updates have different shapes: %s", relay_type_text(indices));
  return relay_rel_result(r, data);
}

static int nd_relation(relay_rel *r) {
  const tn_ScatterNDAttrs *a = r->attrs;
  int64_t m;
  RELAY_TENSOR(data, r, 0);
  RELAY_TENSOR(indices, r, 1);
  RELAY_TENSOR(updates, r, 2);
  TN_TRY(check_common(r, data, indices, updates));
  TN_TRY(check_mode(r, tn_cstr(a->mode), false));
  RELAY_CHECK(r, indices->shape->len > 0 && tir_as_int(tn_arr_obj(indices->shape, 0), &m),
              "the number of coordinates (the first extent of indices) must be known");
  RELAY_CHECK(r, m <= data->shape->len, "%lld coordinates for %lld dimensions", (long long)m,
              (long long)data->shape->len);
  int64_t batch = indices->shape->len - 1;
  RELAY_CHECK(r, updates->shape->len == batch + data->shape->len - m,
              "updates of %lld dimensions, expected %lld", (long long)updates->shape->len,
              (long long)(batch + data->shape->len - m));
  for (int64_t i = 0; i < updates->shape->len; ++i) {
    tn_expr *want = i < batch ? relay_dim(indices, i + 1) : relay_dim(data, i - batch + m);
    RELAY_CHECK(r, relay_dim_equal(relay_dim(updates, i), want) != 0,
                "dimension %lld of updates does not fit: %s", (long long)i,
                relay_type_text(updates));
  }
  return relay_rel_result(r, data);
}

/* ---- computes ---- */

typedef struct {
  tn_Buffer *data, *indices, *updates, *out;
} buffers;

static int make_buffers(const relay_compute *c, buffers *b) {
  const tn_Tensor *data = relay_input(c, 0), *indices = relay_input(c, 1),
                  *updates = relay_input(c, 2);
  TN_GET(b->data, tir_buffer(data->shape, data->dtype, "data", ""));
  TN_GET(b->indices, tir_buffer(indices->shape, indices->dtype, "indices", ""));
  TN_GET(b->updates, tir_buffer(updates->shape, updates->dtype, "updates", ""));
  TN_GET(b->out, tir_buffer(data->shape, data->dtype, "scattered", ""));
  return 0;
}

static tn_stmt *copy_all(const buffers *b) {
  tn_arr *at;
  TN_GETP(at, ops_loop_vars("c", b->data->shape->len));
  return ops_loops(at, b->data->shape, tir_store(b->out, tir_load(b->data, at), at));
}

static tn_expr *combine(const char *how, tn_expr *old, tn_expr *new) {
  if (strcmp(how, "add") == 0) return tir_add(old, new);
  if (strcmp(how, "mul") == 0) return tir_mul(old, new);
  if (strcmp(how, "min") == 0) return tir_min(old, new);
  if (strcmp(how, "max") == 0) return tir_max(old, new);
  return new;
}

static tn_stmt *update(const buffers *b, const char *how, tn_arr *at, tn_expr *new,
                       tn_expr *inside) {
  if (!at) return NULL;
  tn_stmt *s = tir_store(b->out, combine(how, tir_load(b->out, at), new), at);
  return inside ? ops_either(inside, s, NULL) : s;
}

static tn_arr *finish(const relay_compute *c, const buffers *b, tn_arr *written, tn_stmt *body) {
  tn_arr *all = ops_extern("scatter", c->inputs, tn_arr_of(3, b->data, b->indices, b->updates),
                           written, body);
  return all ? tn_arr_of(1, tn_arr_obj(all, 0)) : NULL;
}

/* The mean is the sum, divided at the end by how many there were, the element itself among them. */
static tn_arr *compute_mean(const relay_compute *c, const buffers *b, tn_stmt *add, tn_stmt *count,
                            tn_Buffer *counts) {
  tn_arr *at = ops_loop_vars("m", b->data->shape->len),
         *start = ops_loop_vars("s", b->data->shape->len);
  if (!at || !start) return NULL;
  tn_stmt *ones = ops_loops(start, counts->shape, tir_store(counts, tir_i32(1), start));
  tn_expr *n = tir_cast(b->out->dtype, tir_load(counts, at), NULL), *sum = tir_load(b->out, at);
  tn_expr *mean = ir_is_integral(b->out->dtype) ? tir_floordiv(sum, n) : tir_div(sum, n);
  tn_stmt *divide = ops_loops(at, b->data->shape, tir_store(b->out, mean, at));
  tn_stmt *body = tir_seq2(tir_seq2(copy_all(b), ones), tir_seq2(tir_seq2(add, count), divide));
  return finish(c, b, tn_arr_of(2, b->out, counts), body);
}

static tn_arr *compute_elements(const relay_compute *c) {
  const tn_ScatterElementsAttrs *a = c->attrs;
  buffers b;
  tn_arr *at, *to;
  int64_t axis;
  tn_expr *inside = NULL;
  TN_ICHECKP(axis_of(a, &axis));
  TN_TRYP(make_buffers(c, &b));
  if (axis < 0) axis += b.data->shape->len;
  TN_GETP(at, ops_loop_vars("i", b.indices->shape->len));
  tn_expr *extent = (tn_expr *)tn_arr_obj(b.data->shape, axis);
  tn_expr *i = ops_data_index_if(tir_load(b.indices, at), extent, OPS_FROM_END, &inside);
  TN_GETP(to, ops_with_index(at, axis, i));
  bool mean = tn_str_eq(a->reduction, "mean");
  const char *how = mean ? "add" : tn_cstr(a->reduction);
  tn_stmt *all =
      ops_loops(at, b.indices->shape, update(&b, how, to, tir_load(b.updates, at), inside));
  if (!mean) return finish(c, &b, tn_arr_of(1, b.out), tir_seq2(copy_all(&b), all));
  tn_Buffer *counts;
  TN_GETP(counts, tir_buffer(b.data->shape, TN_I32, "counts", ""));
  buffers k = b;
  k.out = counts;
  tn_stmt *count = ops_loops(at, b.indices->shape, update(&k, "add", to, tir_i32(1), inside));
  return compute_mean(c, &b, all, count, counts);
}

static tn_arr *compute_nd(const relay_compute *c) {
  const tn_ScatterNDAttrs *a = c->attrs;
  buffers b;
  TN_VEC(to);
  TN_VEC(from);
  tn_arr *at, *target;
  tn_expr *inside = NULL;
  TN_TRYP(make_buffers(c, &b));
  int64_t m, batch = b.indices->shape->len - 1;
  TN_CHECKP(relay_known_int(b.indices->shape, 0, &m), ValueError, NULL,
            "scatter_nd: the number of coordinates, extent 0 of indices, must be known");
  TN_GETP(at, ops_loop_vars("i", b.updates->shape->len));
  TN_TRYP(tn_vec_push_obj(&from, tir_i32(0)));
  for (int64_t i = 0; i < batch; ++i) TN_TRYP(tn_vec_push_obj(&from, tn_arr_obj(at, i)));
  tn_arr *first;
  TN_GETP(first, tn_arr_from(&from));
  for (int64_t k = 0; k < m; ++k) {
    tn_arr *place = ops_with_index(first, 0, tir_i32((int32_t)k));
    tn_expr *extent = (tn_expr *)tn_arr_obj(b.data->shape, k);
    tn_expr *i = place ? tir_load(b.indices, place) : NULL;
    TN_TRYP(tn_vec_push_obj(&to, ops_data_index_if(i, extent, OPS_FROM_END, &inside)));
  }
  for (int64_t i = batch; i < at->len; ++i) TN_TRYP(tn_vec_push_obj(&to, tn_arr_obj(at, i)));
  TN_GETP(target, tn_arr_from(&to));
  tn_stmt *one = update(&b, tn_cstr(a->mode), target, tir_load(b.updates, at), inside);
  tn_stmt *all = ops_loops(at, b.updates->shape, one);
  return finish(c, &b, tn_arr_of(1, b.out), tir_seq2(copy_all(&b), all));
}

#define SCATTER(name_, attrs_, rel_name_, rel_, compute_, level_, doc_)                            \
  {                                                                                                \
    .name = name_, .inputs = "data indices updates", .attrs = attrs_, .level = level_,             \
    .pattern = RELAY_OPAQUE, .rel_name = rel_name_, .rel = rel_, .compute = compute_,              \
    .shape = relay_shape_same, .doc = doc_                                                         \
  }
static const relay_op_row rows[] = {
    SCATTER("scatter_elements", &tn_type_ScatterElementsAttrs, "ScatterElements", elements_relation,
            compute_elements, 3, "a copy with elements written where indices along an axis say"),
    SCATTER("scatter_nd", &tn_type_ScatterNDAttrs, "ScatterND", nd_relation, compute_nd, 3,
            "a copy with elements or slices written where coordinates say"),
};

RELAY_FAMILY(scatter, SCATTER_ATTRS)
