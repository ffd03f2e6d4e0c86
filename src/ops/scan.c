/* Running sums and products along an axis.

     cumsum(%x, axis=0)                       r[i] = x[0] + ... + x[i]
     cumprod(%x, axis=0, exclusive=True)      r[i] = x[0] * ... * x[i - 1], 1 at the start */
#include "ir/imm.h"
#include "ops/ops.h"

#define TN_FIELDS_ScanopAttrs(F, S)                                                                \
  F(S, REF, PrimExpr, axis, TN_OPT, "axis along which it runs; None: all of data, flat", "None")   \
  F(S, DTYPE, , dtype, 0, "type of the result, that of data when empty", "\"\"")                   \
  F(S, BOOL, , exclusive, 0, "leave the element itself out?", "False")
#define SCAN_ATTRS(N)                                                                              \
  N(ScanopAttrs, Attrs, "relay.attrs.ScanopAttrs", NODE, TREE, tn_no_hooks,                        \
    "attributes of cumsum and cumprod")
TN_NODES_LOCAL(SCAN_ATTRS)

static tn_dtype type_of(const tn_ScanopAttrs *a, tn_dtype data) {
  return a->dtype.bits ? a->dtype : data;
}

/* Extents of the result: flat data is one axis. */
static tn_arr *out_shape(const tn_ScanopAttrs *a, tn_arr *shape) {
  tn_expr *n = tir_i32(1);
  if (a->axis) return shape;
  for (int64_t i = 0; i < shape->len; ++i) n = relay_dim_mul(n, (tn_expr *)tn_arr_obj(shape, i));
  return n ? tn_arr_of(1, n) : NULL;
}

static int relation(relay_rel *r) {
  const tn_ScanopAttrs *a = r->attrs;
  int64_t axis;
  RELAY_TENSOR(data, r, 0);
  if (a->axis && tir_as_int((tn_obj *)a->axis, &axis) &&
      relay_rel_axis(r, axis, data->shape->len) < 0)
    return RELAY_FAILED;
  return relay_rel_result(r, relay_tensor_type(out_shape(a, data->shape), type_of(a, data->dtype)));
}

/* An element from the one before it. row->which is the node that joins them. */
static tn_stmt *scan_one(const relay_compute *c, tn_Buffer *data, tn_Buffer *out, const tn_arr *at,
                         int64_t axis) {
  const tn_ScanopAttrs *a = c->attrs;
  tn_expr *k = (tn_expr *)tn_arr_obj(at, axis), *before = tir_sub(k, tir_i32(1));
  tn_arr *here = ops_with_index(at, axis, k),
         *last = before ? ops_with_index(at, axis, before) : NULL;
  if (!here || !last) return NULL;
  tn_expr *none = tir_const_int(out->dtype, c->row->which == TN_TI_Mul);
  tn_expr *x = tir_cast(out->dtype, tir_load(data, a->exclusive ? last : here), NULL);
  tn_expr *next = tir_binary((uint32_t)c->row->which, tir_load(out, last), x, NULL);
  tn_expr *first = tir_eq(k, tir_i32(0));
  tn_expr *value = tir_if_then_else(first, a->exclusive ? none : x, next, NULL);
  return tir_store(out, value, here);
}

static tn_Tensor *flat(const tn_Tensor *t);

static tn_arr *compute(const relay_compute *c) {
  const tn_ScanopAttrs *a = c->attrs;
  tn_Tensor *input = relay_input(c, 0);
  tn_Buffer *data, *out;
  tn_arr *at;
  int64_t axis = 0;
  if (!a->axis) TN_GETP(input, flat(input));
  else if (!tir_as_int((tn_obj *)a->axis, &axis)) return NULL;
  if (axis < 0) axis += input->shape->len;
  TN_GETP(data, tir_buffer(input->shape, input->dtype, "data", ""));
  TN_GETP(out, tir_buffer(input->shape, type_of(a, input->dtype), "scanned", ""));
  TN_GETP(at, ops_loop_vars("i", input->shape->len));
  /* in the order of memory, whichever axis it is */
  tn_stmt *body = ops_loops(at, input->shape, scan_one(c, data, out, at, axis));
  return ops_extern("scan", tn_arr_of(1, input), tn_arr_of(1, data), tn_arr_of(1, out), body);
}

static tn_expr *flat_element(void *ctx, tn_arr *at) {
  const tn_Tensor *t = ctx;
  tn_expr *rest = te_index(at, 0), *index[OPS_MAX_NDIM];
  TN_VEC(v);
  for (int64_t i = t->shape->len; i-- > 0;) {
    index[i] = i ? tir_floormod(rest, te_extent(t, i)) : rest;
    rest = tir_floordiv(rest, te_extent(t, i));
  }
  for (int64_t i = 0; i < t->shape->len; ++i) TN_TRYP(tn_vec_push_obj(&v, index[i]));
  return te_at(t, tn_arr_from(&v));
}

static tn_Tensor *flat(const tn_Tensor *t) {
  tn_expr *n = tir_i32(1);
  TN_CHECKP(t->shape->len <= OPS_MAX_NDIM, ValueError, NULL, "cumsum: too many dimensions");
  for (int64_t i = 0; i < t->shape->len; ++i) n = tir_mul(n, te_extent(t, i));
  return te_compute(tn_arr_of(1, n), flat_element, (void *)(uintptr_t)t, "T_flat", TE_INJECTIVE);
}

static tn_arr *shape_function(const relay_shape_query *q) {
  return tn_arr_of(1, out_shape(q->attrs, relay_shape_of(q, 0)));
}

#define SCAN(name_, Node, doc_)                                                                    \
  {                                                                                                \
    .name = name_, .inputs = "data", .attrs = &tn_type_ScanopAttrs, .level = 4,                    \
    .pattern = RELAY_OPAQUE, .flags = RELAY_NUMBERS, .rel_name = "scanop", .rel = relation,        \
    .compute = compute, .shape = shape_function, .which = TN_TI_##Node, .doc = doc_                \
  }
static const relay_op_row rows[] = {
    SCAN("cumsum", Add, "running sum along an axis"),
    SCAN("cumprod", Mul, "running product along an axis"),
};

RELAY_FAMILY(scan, SCAN_ATTRS)
