/* What is known of vectors of whole numbers while a model is imported: shapes, and what models
   compute of them.

     x: [?, 3, 8];  Concat(Unsqueeze(Gather(Shape(x), 0)), [-1])   = (extent 0 of x, -1)
     Gather(Shape(x), 1)                                            = 3

   Where all numbers are known the value becomes a constant, so that what follows is static. */
#include "import/onnx/shape_values.h"

#include <string.h>

#include "base/error.h"
#include "object/dtype.h"

enum { MAX_DEPTH = 12 }; /* values that read one another twice are looked at 2^12 times at most */

static int64_t numbers(const void *e, onnx_number *out, int depth);

static int64_t of_constant(const tn_Constant *c, onnx_number *out) {
  const DLTensor *t = tn_tensor_dl(c->data);
  int64_t n = tn_tensor_count(t);
  bool wide = t->dtype.bits == 64;
  if (t->dtype.code != kDLInt || (!wide && t->dtype.bits != 32) || n > ONNX_MAX_NUMBERS ||
      t->strides)
    return -1;
  const char *data = (const char *)t->data + t->byte_offset;
  for (int64_t i = 0; i < n; ++i) {
    int64_t v =
        wide ? ((const int64_t *)(const void *)data)[i] : ((const int32_t *)(const void *)data)[i];
    out[i] = (onnx_number){ONNX_NUMBER, v, NULL};
  }
  return n;
}

static int64_t of_shape(const void *x, onnx_number *out) {
  const tn_TensorType *t = TN_AS(TensorType, relay_type_of(x));
  if (!t || t->shape->len > ONNX_MAX_NUMBERS) return -1;
  for (int64_t i = 0; i < t->shape->len; ++i) {
    int64_t v;
    bool known = tir_as_int(tn_arr_obj(t->shape, i), &v);
    out[i] = known ? (onnx_number){ONNX_NUMBER, v, NULL} : (onnx_number){ONNX_EXTENT, i, x};
  }
  return t->shape->len;
}

static int64_t of_parts(const void *tuple, onnx_number *out, int depth) {
  const tn_RelayTuple *t = TN_AS(RelayTuple, tuple);
  int64_t n = 0;
  for (int64_t i = 0; t && i < t->fields->len; ++i) {
    onnx_number part[ONNX_MAX_NUMBERS];
    int64_t m = numbers(tn_arr_obj(t->fields, i), part, depth);
    if (m < 0 || n + m > ONNX_MAX_NUMBERS) return -1;
    memcpy(out + n, part, (size_t)m * sizeof *part);
    n += m;
  }
  return t ? n : -1;
}

/* Elements by constant indices. */
static int64_t of_take(const tn_RelayCall *c, onnx_number *out, int depth) {
  onnx_number all[ONNX_MAX_NUMBERS], index[ONNX_MAX_NUMBERS];
  int64_t n = numbers(relay_arg(c, 0), all, depth), m = numbers(relay_arg(c, 1), index, depth);
  if (n < 0 || m < 0) return -1;
  for (int64_t i = 0; i < m; ++i) {
    int64_t at = index[i].value < 0 ? index[i].value + n : index[i].value;
    if (index[i].kind != ONNX_NUMBER || at < 0 || at >= n) return -1;
    out[i] = all[at];
  }
  return m;
}

static int64_t of_slice(const tn_RelayCall *c, onnx_number *out, int depth) {
  onnx_number all[ONNX_MAX_NUMBERS];
  const tn_arr *begin = relay_attr_obj(c->attrs, "begin"), *end = relay_attr_obj(c->attrs, "end"),
               *step = relay_attr_obj(c->attrs, "strides");
  int64_t n = numbers(relay_arg(c, 0), all, depth), count = 0;
  if (n < 0 || !begin || !end || begin->len != 1 || end->len != 1) return -1;
  int64_t from, to, by = 1;
  if (!relay_known_int(begin, 0, &from) || !relay_known_int(end, 0, &to)) return -1;
  if (step && step->len && !relay_known_int(step, 0, &by)) return -1;
  if (by < 1) return -1;
  from = from < 0 ? from + n : from, to = to < 0 ? to + n : to > n ? n : to;
  for (int64_t i = from < 0 ? 0 : from; i < to; i += by) out[count++] = all[i];
  return count;
}

/* Known numbers are computed with; what is not known stays so. */
static onnx_number combined(const char *op, onnx_number a, onnx_number b) {
  onnx_number r = {ONNX_NUMBER, 0, NULL};
  bool fits = a.kind == ONNX_NUMBER && b.kind == ONNX_NUMBER;
  if (!fits) return (onnx_number){ONNX_UNKNOWN, 0, NULL};
  if (strcmp(op, "add") == 0) fits = !__builtin_add_overflow(a.value, b.value, &r.value);
  else if (strcmp(op, "subtract") == 0) fits = !__builtin_sub_overflow(a.value, b.value, &r.value);
  else if (strcmp(op, "multiply") == 0) fits = !__builtin_mul_overflow(a.value, b.value, &r.value);
  else if ((fits = strcmp(op, "divide") == 0 && b.value > 0)) r.value = a.value / b.value;
  return fits ? r : (onnx_number){ONNX_UNKNOWN, 0, NULL};
}

static int64_t of_binary(const char *op, const tn_RelayCall *c, onnx_number *out, int depth) {
  onnx_number a[ONNX_MAX_NUMBERS], b[ONNX_MAX_NUMBERS];
  int64_t n = numbers(relay_arg(c, 0), a, depth), m = numbers(relay_arg(c, 1), b, depth);
  if (n < 0 || m < 0 || (n != m && n != 1 && m != 1)) return -1;
  int64_t most = n > m ? n : m;
  if (n == 0 || m == 0) most = 0;
  for (int64_t i = 0; i < most; ++i) out[i] = combined(op, a[n == 1 ? 0 : i], b[m == 1 ? 0 : i]);
  return most;
}

static int64_t of_call(const tn_RelayCall *c, onnx_number *out, int depth) {
  static const char *const sums[] = {"add", "subtract", "multiply", "divide"};
  const char *op = relay_called_op(c);
  if (!op) return -1;
  if (strcmp(op, "shape_of") == 0) return of_shape(relay_arg(c, 0), out);
  if (strcmp(op, "concatenate") == 0) return of_parts(relay_arg(c, 0), out, depth);
  if (strcmp(op, "take") == 0) return of_take(c, out, depth);
  if (strcmp(op, "strided_slice") == 0) return of_slice(c, out, depth);
  if (strcmp(op, "cast") == 0 || RELAY_ASK(values, c) == RELAY_RESHAPED)
    return numbers(relay_arg(c, 0), out, depth);
  for (int i = 0; i < TN_COUNT(sums); ++i)
    if (strcmp(op, sums[i]) == 0) return of_binary(op, c, out, depth);
  return -1;
}

/* As many numbers as the type says, none of them known. */
static int64_t unknown(const tn_TensorType *t, onnx_number *out) {
  int64_t n = 1;
  for (int64_t i = 0; i < t->shape->len; ++i) {
    int64_t v;
    if (!tir_as_int(tn_arr_obj(t->shape, i), &v) || v > ONNX_MAX_NUMBERS || v < 0) return -1;
    if ((n *= v) > ONNX_MAX_NUMBERS) return -1;
  }
  for (int64_t i = 0; i < n; ++i) out[i] = (onnx_number){ONNX_UNKNOWN, 0, NULL};
  return n;
}

static int64_t numbers(const void *e, onnx_number *out, int depth) {
  const tn_TensorType *t = TN_AS(TensorType, relay_type_of(e));
  const tn_Constant *k = TN_AS(Constant, e);
  const tn_RelayCall *c = TN_AS(RelayCall, e);
  int64_t n = -1;
  if (k) return of_constant(k, out);
  if (!t || !ir_is_integral(t->dtype) || t->shape->len > 1) return -1;
  if (c && depth < MAX_DEPTH) n = of_call(c, out, depth + 1);
  return n >= 0 ? n : unknown(t, out);
}

int64_t onnx_numbers(const void *e, onnx_number *out) { return e ? numbers(e, out, 0) : -1; }

void *onnx_known_numbers(void *e) {
  onnx_number all[ONNX_MAX_NUMBERS];
  int64_t values[ONNX_MAX_NUMBERS];
  const tn_TensorType *t = TN_AS(TensorType, relay_type_of(e));
  if (!TN_AS(RelayCall, e) || !t || !ir_is_integral(t->dtype) || t->shape->len > 1) return e;
  int64_t n = onnx_numbers(e, all);
  if (n < 0 || (t->shape->len == 1 && !tir_is_const(tn_arr_obj(t->shape, 0), n))) return e;
  for (int64_t i = 0; i < n; ++i) {
    if (all[i].kind != ONNX_NUMBER) return e;
    values[i] = all[i].value;
  }
  return t->shape->len ? relay_const_ints(t->dtype, values, n)
                       : relay_const_int(t->dtype, values[0]);
}
