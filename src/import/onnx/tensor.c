/* Tensors of ONNX models: element types, the five places values may stand in, sparse tensors. */
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/scope.h"
#include "import/onnx/model.h"
#include "object/containers.h"

enum { MAX_RANK = 64 };

/* TensorProto.DataType: index is the format's number. Code 255: known to the format, not a number
 * here. */
static const struct {
  const char *name;
  uint8_t code, bits;
} types[] = {
    [0] = {"undefined", 255, 0},        [1] = {"float", kDLFloat, 32},
    [2] = {"uint8", kDLUInt, 8},        [3] = {"int8", kDLInt, 8},
    [4] = {"uint16", kDLUInt, 16},      [5] = {"int16", kDLInt, 16},
    [6] = {"int32", kDLInt, 32},        [7] = {"int64", kDLInt, 64},
    [8] = {"string", 255, 0},           [9] = {"bool", kDLUInt, 1},
    [10] = {"float16", kDLFloat, 16},   [11] = {"double", kDLFloat, 64},
    [12] = {"uint32", kDLUInt, 32},     [13] = {"uint64", kDLUInt, 64},
    [14] = {"complex64", 255, 0},       [15] = {"complex128", 255, 0},
    [16] = {"bfloat16", kDLBfloat, 16}, [17] = {"float8e4m3fn", 255, 0},
    [18] = {"float8e4m3fnuz", 255, 0},  [19] = {"float8e5m2", 255, 0},
    [20] = {"float8e5m2fnuz", 255, 0},  [21] = {"uint4", kDLUInt, 4},
    [22] = {"int4", kDLInt, 4},         [23] = {"float4e2m1", 255, 0},
};
enum { NTYPES = (int)(sizeof types / sizeof *types) };

int onnx_dtype(int32_t type, const char *what, tn_dtype *out) {
  TN_CHECK(type >= 0 && type < NTYPES, ValueError, NULL,
           "%s: the element type %d is not one of ONNX's", what, type);
  TN_CHECK(types[type].code != 255, ValueError, NULL,
           "%s: the element type %d (%s) is not supported", what, type, types[type].name);
  *out = (tn_dtype){types[type].code, types[type].bits, 1};
  return 0;
}

int32_t onnx_dtype_number(tn_dtype t) {
  for (int32_t i = 0; i < NTYPES; ++i)
    if (types[i].code == t.code && types[i].bits == t.bits && t.lanes == 1) return i;
  return 0;
}

/* Number of elements; sizes that no memory could hold are refused here, before any multiplication
 * wraps. */
static int count_elements(const char *name, const int64_t *dims, size_t ndim, int64_t *out) {
  int64_t n = 1;
  bool empty = false;
  TN_CHECK(ndim <= MAX_RANK, ValueError, NULL,
           "tensor %s: a rank of %zu dimensions, at most %d are supported", name, ndim, MAX_RANK);
  for (size_t i = 0; i < ndim; ++i) {
    TN_CHECK(dims[i] >= 0, ValueError, NULL,
             "tensor %s: dimension %zu of the shape is negative (%" PRId64 ")", name, i, dims[i]);
    if (dims[i] == 0) empty = true;
    else
      TN_CHECK(n <= (INT64_MAX >> 7) / dims[i], ValueError, NULL,
               "tensor %s: the size of the shape overflows at dimension %zu (%" PRId64 ")", name, i,
               dims[i]);
    if (dims[i]) n *= dims[i];
  }
  *out = empty ? 0 : n;
  return 0;
}

/* ---- values in typed fields ---- */

static int wrong_count(const char *name, const char *field, size_t have, int64_t want) {
  return TN_RAISE(ValueError, NULL,
                  "tensor %s: the shape's size is %" PRId64 " elements, the data (%s) has %zu",
                  name, want, field, have);
}

/* int32_data holds everything up to 32 bits, floats of 16 bits as their bit patterns, 4-bit numbers
 * two in one. */
static void narrow_int32(const int32_t *src, size_t n, int bits, void *dst) {
  for (size_t i = 0; i < n; ++i) {
    if (bits == 32) ((int32_t *)dst)[i] = src[i];
    else if (bits == 16) ((uint16_t *)dst)[i] = (uint16_t)src[i];
    else if (bits == 1) ((uint8_t *)dst)[i] = src[i] != 0;
    else ((uint8_t *)dst)[i] = (uint8_t)src[i];
  }
}

static int fill_typed(const onnx_tensor *t, const char *name, int64_t count, DLTensor *dl) {
  const tn_dtype d = dl->dtype;
  void *out = dl->data;
  if (d.code == kDLFloat && d.bits == 32) {
    if ((int64_t)t->n_float_data != count)
      return wrong_count(name, "float_data", t->n_float_data, count);
    if (count) memcpy(out, t->float_data, (size_t)count * 4);
  } else if (d.code == kDLFloat && d.bits == 64) {
    if ((int64_t)t->n_double_data != count)
      return wrong_count(name, "double_data", t->n_double_data, count);
    if (count) memcpy(out, t->double_data, (size_t)count * 8);
  } else if (d.code == kDLInt && d.bits == 64) {
    if ((int64_t)t->n_int64_data != count)
      return wrong_count(name, "int64_data", t->n_int64_data, count);
    if (count) memcpy(out, t->int64_data, (size_t)count * 8);
  } else if (d.code == kDLUInt && d.bits >= 32) {
    if ((int64_t)t->n_uint64_data != count)
      return wrong_count(name, "uint64_data", t->n_uint64_data, count);
    for (int64_t i = 0; i < count; ++i) {
      if (d.bits == 64) ((uint64_t *)out)[i] = t->uint64_data[i];
      else ((uint32_t *)out)[i] = (uint32_t)t->uint64_data[i];
    }
  } else {
    int64_t items = d.bits == 4 ? (count + 1) / 2 : count;
    if ((int64_t)t->n_int32_data != items)
      return wrong_count(name, "int32_data", t->n_int32_data, items);
    narrow_int32(t->int32_data, t->n_int32_data, d.bits, out);
  }
  return 0;
}

static int fill(const onnx_tensor *t, const char *name, int64_t count, DLTensor *dl) {
  if (!t->has_raw_data) return fill_typed(t, name, count, dl);
  if (t->raw_data.len) memcpy(dl->data, t->raw_data.data, t->raw_data.len);
  return 0;
}

static uint64_t nbytes(tn_dtype d, int64_t count) {
  uint64_t bits = d.bits == 1 ? 8 : d.bits; /* bool takes a byte */
  return ((uint64_t)count * bits + 7) / 8;
}

/* Is there as much data in the message as the shape asks for? Asked before memory is taken. */
static int check_present(const onnx_tensor *t, const char *name, tn_dtype d, int64_t count) {
  uint64_t want = nbytes(d, count);
  if (t->has_raw_data) {
    TN_CHECK(t->raw_data.len == want, ValueError, NULL,
             "tensor %s: the shape's size is %" PRIu64 " bytes, the data has %zu", name, want,
             t->raw_data.len);
    return 0;
  }
  size_t items =
      t->n_float_data + t->n_double_data + t->n_int64_data + t->n_uint64_data + t->n_int32_data * 2;
  TN_CHECK((size_t)count <= items, ValueError, NULL,
           "tensor %s: the shape's size is %" PRId64 " elements, the data has %zu", name, count,
           items);
  return 0;
}

static tn_tensor *new_tensor(const int64_t *dims, size_t ndim, tn_dtype d) {
  return tn_scope_own(tn_tensor_new(dims, (int32_t)ndim, d, (tn_device){kDLCPU, 0}, NULL));
}

static tn_tensor *read_outside(const onnx_model *m, const onnx_tensor *t, const char *name,
                               tn_dtype d, int64_t count) {
  uint64_t offset;
  int fd = onnx_open_external(m, t, name, nbytes(d, count), &offset);
  if (fd < 0) return tn_trace(__FILE__, __LINE__, __func__), NULL;
  tn_tensor *r = new_tensor(t->dims, t->n_dims, d);
  if (!r) {
    close(fd);
    return NULL;
  }
  TN_TRYP(onnx_read_external(fd, offset, name, tn_tensor_dl(r)));
  return r;
}

tn_tensor *onnx_read_tensor(const onnx_model *m, const onnx_tensor *t) {
  const char *name = t->name && *t->name ? t->name : "(without name)";
  tn_dtype d;
  int64_t count;
  tn_tensor *r;
  TN_TRYP(onnx_dtype(t->data_type, name, &d));
  TN_TRYP(count_elements(name, t->dims, t->n_dims, &count));
  if (t->data_location == 1) return read_outside(m, t, name, d, count);
  TN_TRYP(check_present(t, name, d, count));
  tn_tensor *bytes = t->has_raw_data ? onnx_memory_tensor(m, t->raw_data.data) : NULL;
  if (bytes) return tn_scope_own(tn_tensor_view(bytes, t->dims, (int32_t)t->n_dims, d, 0));
  TN_GETP(r, new_tensor(t->dims, t->n_dims, d));
  TN_TRYP(fill(t, name, count, tn_tensor_dl(r)));
  return r;
}

/* ---- sparse ---- */

/* Position in the dense tensor of the i-th value: indices are flat, or one row of coordinates each.
 */
static int position(const onnx_sparse *t, const DLTensor *idx, const char *name, int64_t i,
                    int64_t count, int64_t *out) {
  const int64_t *p = idx->data;
  int64_t at = 0;
  if (idx->ndim == 1) {
    at = p[i];
    TN_CHECK(at >= 0 && at < count, ValueError, NULL,
             "sparse tensor %s: index %" PRId64 " is out of range, there are %" PRId64 " elements",
             name, at, count);
  } else {
    for (size_t k = 0; k < t->n_dims; ++k) {
      int64_t c = p[i * (int64_t)t->n_dims + (int64_t)k];
      TN_CHECK(c >= 0 && c < t->dims[k], ValueError, NULL,
               "sparse tensor %s: index %" PRId64 " is out of range, dimension %zu is %" PRId64,
               name, c, k, t->dims[k]);
      at = at * t->dims[k] + c;
    }
  }
  *out = at;
  return 0;
}

static int check_indices(const onnx_sparse *t, const DLTensor *values, const DLTensor *idx,
                         const char *name) {
  TN_CHECK(idx->dtype.code == kDLInt && idx->dtype.bits == 64, ValueError, NULL,
           "sparse tensor %s: indices must be int64", name);
  TN_CHECK(values->ndim == 1 && values->dtype.bits >= 8, ValueError, NULL,
           "sparse tensor %s: values must be a vector of numbers of at least 8 bits", name);
  bool flat = idx->ndim == 1 && idx->shape[0] == values->shape[0];
  bool rows =
      idx->ndim == 2 && idx->shape[0] == values->shape[0] && idx->shape[1] == (int64_t)t->n_dims;
  TN_CHECK(flat || rows, ValueError, NULL,
           "sparse tensor %s: indices must be [%" PRId64 "] or [%" PRId64 ", %zu]", name,
           values->shape[0], values->shape[0], t->n_dims);
  return 0;
}

tn_tensor *onnx_read_sparse(const onnx_model *m, const onnx_sparse *t) {
  TN_CHECKP(t->values && t->indices, ValueError, NULL, "a sparse tensor without values or indices");
  const char *name = t->values->name && *t->values->name ? t->values->name : "(without name)";
  int64_t count, at;
  tn_tensor *values, *indices, *r;
  TN_TRYP(count_elements(name, t->dims, t->n_dims, &count));
  TN_GETP(values, onnx_read_tensor(m, t->values));
  TN_GETP(indices, onnx_read_tensor(m, t->indices));
  const DLTensor *v = tn_tensor_dl(values), *idx = tn_tensor_dl(indices);
  TN_TRYP(check_indices(t, v, idx, name));
  int64_t n = v->shape[0];
  for (int64_t i = 0; i < n; ++i) TN_TRYP(position(t, idx, name, i, count, &at));
  TN_CHECKP(count <= INT64_C(1) << 31, ValueError, NULL,
            "sparse tensor %s: a size of %" PRId64 " elements is too large to be made dense", name,
            count);
  TN_GETP(r, new_tensor(t->dims, t->n_dims, v->dtype));
  DLTensor *dl = tn_tensor_dl(r);
  size_t item = v->dtype.bits / 8u;
  memset(dl->data, 0, (size_t)tn_tensor_nbytes(dl));
  for (int64_t i = 0; i < n; ++i) {
    TN_TRYP(position(t, idx, name, i, count, &at));
    memcpy((char *)dl->data + (size_t)at * item, (const char *)v->data + (size_t)i * item, item);
  }
  return r;
}
