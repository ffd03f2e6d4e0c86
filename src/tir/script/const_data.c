/* Constant data in scripts: the content of AllocateConst as a list of numbers, both ways. */
#include "tenon/runtime.h"

#include <string.h>

#include "ir/expr.h"
#include "tir/script/const_data.h"

static const tn_device cpu = {kDLCPU, 0};

static int64_t product(const tn_arr *shape) {
  int64_t n = 1, extent;
  for (int64_t i = 0; i < shape->len; ++i) {
    if (!tir_as_int(tn_arr_obj(shape, i), &extent) || extent < 0 ||
        __builtin_mul_overflow(n, extent, &n))
      return -1;
  }
  return n;
}

/* Integers of whole bytes, little-endian; bool takes one. */
static int put_int(void *at, tn_dtype t, const tn_any *value) {
  int64_t x, low, high;
  const tn_Call *large =
      tn_any_is_obj(value) ? tir_as_call(value->v.obj, TIR_OP_large_uint_imm) : NULL;
  if (large && large->args->len == 2 && t.code == kDLUInt && t.bits == 64 &&
      tir_as_int(tn_arr_obj(large->args, 0), &low) && tir_as_int(tn_arr_obj(large->args, 1), &high))
    x = (int64_t)((uint64_t)high << 32 | (uint64_t)low);
  else TN_TRY(tn_any_to_int(value, &x));
  memcpy(at, &x, (size_t)tn_dtype_bytes(t, 1));
  return 0;
}

static tn_any get_int(const void *at, tn_dtype t) {
  int64_t x = 0, bits = tn_dtype_bytes(t, 1) * 8;
  memcpy(&x, at, (size_t)bits / 8);
  if (t.code == kDLInt && bits < 64 && x >> (bits - 1) & 1) x |= (int64_t)(~UINT64_C(0) << bits);
  if (t.code == kDLUInt && x < 0) return tn_any_obj(tir_uint64((uint64_t)x));
  return tn_any_int(x);
}

/* float64 and float32 as they are; narrower ones by way of float32 */
static int put_floats(const DLTensor *dl, const tn_arr *list) {
  bool wide = dl->dtype.bits == 64;
  tn_tensor *t = wide ? NULL : tn_tensor_new(dl->shape, dl->ndim, TN_F32, cpu, NULL);
  int err = !wide && !t;
  for (int64_t i = 0; i < list->len && !err; ++i) {
    double x;
    err = tn_any_to_float(&list->items[i], &x);
    if (!err && wide) ((double *)dl->data)[i] = x;
    if (!err && !wide) ((float *)tn_tensor_dl(t)->data)[i] = (float)x;
  }
  DLTensor out = *dl;
  if (!err && !wide)
    err = dl->dtype.bits == 32 ? tn_tensor_copy(tn_tensor_dl(t), &out)
                               : tn_tensor_convert(tn_tensor_dl(t), &out);
  tn_release(t);
  return err;
}

static bool whole_bytes(tn_dtype t) {
  return t.lanes == 1 && ((t.bits % 8 == 0 && t.bits <= 64) || ir_is_bool(t));
}

static int fill(const DLTensor *dl, const tn_arr *list) {
  TN_CHECK(whole_bytes(dl->dtype), NotImplementedError, NULL, "constant data of type %s",
           TN_DT(dl->dtype));
  if (!ir_is_integral(dl->dtype)) return put_floats(dl, list);
  for (int64_t i = 0; i < list->len; ++i) {
    TN_TRY(
        put_int((char *)dl->data + i * tn_dtype_bytes(dl->dtype, 1), dl->dtype, &list->items[i]));
  }
  return 0;
}

static tn_tensor *from_list(const tn_arr *list, tn_dtype t, const tn_arr *shape) {
  int64_t dims[32], n = product(shape);
  TN_CHECKP(shape->len <= 32 && n >= 0, ValueError, NULL,
            "constant data: expected constant extents");
  TN_CHECKP(list->len == n, ValueError, NULL, "constant data: expected %lld numbers, got %lld",
            (long long)n, (long long)list->len);
  for (int64_t i = 0; i < shape->len; ++i) tir_as_int(tn_arr_obj(shape, i), &dims[i]);
  tn_tensor *out = tn_tensor_new(dims, (int32_t)shape->len, t, cpu, NULL);
  if (out && fill(tn_tensor_dl(out), list)) {
    tn_release(out);
    return NULL;
  }
  return out;
}

tn_obj *tir_const_data(tn_any value, tn_dtype t, const tn_arr *shape) {
  if (value.type_index == tn_tensor_type_index()) return value.v.obj;
  TN_CHECKP(value.type_index == TN_TI_Array, TypeError, NULL,
            "constant data: expected a list of numbers or a tensor, got %s",
            tn_type_key((uint32_t)value.type_index));
  TN_CHECKP(t.code != kDLOpaqueHandle, TypeError, NULL,
            "constant data: expected a data type of numbers, got %s", TN_DT(t));
  return tn_scope_own(from_list((tn_arr *)value.v.obj, t, shape));
}

static int list_floats(const DLTensor *dl, int64_t n, tn_vec *out) {
  bool wide = dl->dtype.bits == 64;
  tn_tensor *t = tn_tensor_new(dl->shape, dl->ndim, wide ? TN_F64 : TN_F32, cpu, NULL);
  int err = !t || (dl->dtype.bits >= 32 ? tn_tensor_copy(dl, tn_tensor_dl(t))
                                        : tn_tensor_convert(dl, tn_tensor_dl(t)));
  for (int64_t i = 0; i < n && !err; ++i) {
    const void *data = tn_tensor_dl(t)->data;
    err = tn_vec_push(
        out, tn_any_float(wide ? ((const double *)data)[i] : (double)((const float *)data)[i]));
  }
  tn_release(t);
  return err;
}

tn_arr *tir_const_list(const tn_NDArray *data) {
  TN_VEC(out);
  const DLTensor *dl = tn_tensor_dl(data);
  int64_t n = tn_tensor_count(dl), size = tn_dtype_bytes(dl->dtype, 1);
  TN_CHECKP(whole_bytes(dl->dtype) && tn_tensor_is_contiguous(dl), NotImplementedError, NULL,
            "cannot print constant data of type %s", TN_DT(dl->dtype));
  if (!ir_is_integral(dl->dtype)) return list_floats(dl, n, &out) ? NULL : tn_arr_from(&out);
  for (int64_t i = 0; i < n; ++i) {
    const char *at = (const char *)dl->data + dl->byte_offset + (uint64_t)(i * size);
    tn_any x = get_int(at, dl->dtype);
    if (tn_any_is_obj(&x) && !x.v.obj) return NULL;
    TN_TRYP(tn_vec_push(&out, x));
  }
  return tn_arr_from(&out);
}
