/* Indices that come from data: whatever a tensor holds, nothing outside of an axis is read or
   written. Every compute that uses a loaded value as an index does so through a function of this
   file; tir.analysis.unbounded_data_indices finds those that do not. */
#include "ir/imm.h"
#include "ops/ops.h"

/* In a type that both the index and the extent fit into: int8 does not count to 300. */
static tn_expr *wide(tn_expr *i, const tn_expr *extent) {
  if (!i || !extent) return NULL;
  int bits = i->dtype.bits < extent->dtype.bits ? extent->dtype.bits : i->dtype.bits;
  if (ir_is_uint(i->dtype) && i->dtype.bits < 64 && bits == i->dtype.bits) bits *= 2;
  if (bits < 32) bits = 32;
  if (ir_is_uint(i->dtype) && i->dtype.bits == 64) return i;
  return tir_cast(tn_dtype_of(kDLInt, (uint8_t)bits, 1), i, NULL);
}

/* Negative ones count from the end. */
static tn_expr *from_end(tn_expr *i, tn_expr *n) {
  tn_expr *zero = tir_zero(i->dtype);
  return ir_is_uint(i->dtype) ? i : tir_add(i, tir_select(tir_lt(i, zero), n, zero, NULL));
}

static tn_expr *clipped(tn_expr *i, tn_expr *n) {
  tn_expr *zero = tir_zero(i->dtype);
  return tir_max(tir_min(i, tir_sub(n, tir_one(i->dtype))), zero);
}

tn_expr *ops_data_index(tn_expr *i, tn_expr *extent, ops_outside how) {
  tn_expr *n;
  TN_GETP(i, wide(i, extent));
  TN_GETP(n, tir_cast(i->dtype, extent, NULL));
  if (how == OPS_FROM_END) TN_GETP(i, from_end(i, n));
  if (how == OPS_WRAP) i = tir_floormod(i, tir_max(n, tir_one(n->dtype)));
  else i = clipped(i, n);
  return tir_cast(extent->dtype, i, NULL);
}

tn_expr *ops_data_index_if(tn_expr *i, tn_expr *extent, ops_outside how, tn_expr **inside) {
  tn_expr *n;
  TN_GETP(i, wide(i, extent));
  TN_GETP(n, tir_cast(i->dtype, extent, NULL));
  if (how == OPS_FROM_END) TN_GETP(i, from_end(i, n));
  tn_expr *in = tir_and(tir_ge(i, tir_zero(i->dtype)), tir_lt(i, n));
  *inside = *inside ? tir_and(*inside, in) : in;
  return tir_cast(extent->dtype, i, NULL);
}

tn_expr *ops_place_index(tn_expr *x, tn_expr *extent) {
  if (!x || !extent) return NULL;
  tn_expr *zero = tir_zero(x->dtype),
          *last = tir_cast(x->dtype, tir_sub(extent, tir_one(extent->dtype)), NULL);
  x = tir_select(tir_gt(x, zero), x, zero, NULL); /* not a number is 0, too */
  x = tir_cast(extent->dtype, tir_min(x, last), NULL);
  return ops_data_index(x, extent, OPS_CLIP);
}

int ops_rel_takes(const relay_rel *r, tn_expr *extent, const tn_arr *result, const char *what) {
  tn_expr *fits;
  int64_t n;
  bool known = tir_as_int((tn_obj *)extent, &n);
  if (relay_dim_is_any(extent) || (known && n > 0)) return 0;
  TN_GET(fits, tir_ge(tir_cast(TN_I64, extent, NULL), tir_i64(1)));
  for (int64_t i = 0; i < result->len; ++i) {
    tn_expr *e = (tn_expr *)tn_arr_obj(result, i);
    if (relay_dim_is_any(e) || relay_dim_is(e, 0) == 1) return 0;
    TN_GET(fits, tir_or(fits, tir_eq(tir_cast(TN_I64, e, NULL), tir_i64(0))));
  }
  RELAY_CHECK(r, relay_dim_is(fits, 0) != 1, "%s has no elements to take, and the result has some",
              what);
  relay_take_for_granted(fits);
  return 0;
}
