/* Sequences and optional values, see values.h. */
#include "runtime/vm/values.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "object/containers.h"
#include "object/dtype.h"
#include "runtime/tensor/tensor.h"
#include "runtime/vm/machine.h"

enum { MAX_NDIM = TN_VM_MAX_NDIM };

/* ---- arguments ---- */

static const tn_tuple *sequence_in(const tn_any *a) {
  TN_CHECKP(a->type_index == TN_TI_ADT, TypeError, NULL, "expected a sequence, got %s",
            tn_type_key((uint32_t)a->type_index));
  return (const tn_tuple *)a->v.obj;
}

static const DLTensor *tensor_in(const tn_any *a) {
  TN_CHECKP(a->type_index == TN_TI_NDArray, TypeError, NULL, "expected a tensor, got %s",
            tn_type_key((uint32_t)a->type_index));
  return tn_tensor_dl((tn_tensor *)a->v.obj);
}

/* A place among n elements, the end itself where `most` is n. */
static int place_in(const tn_any *a, int64_t n, int64_t most, int64_t *out) {
  tn_any own = *a;
  TN_TRY(tn_vm_int(&own, out));
  int64_t i = *out < 0 ? *out + n : *out;
  TN_CHECK(i >= 0 && i <= most, IndexError, NULL, "position %lld is out of range of %lld elements",
           (long long)*out, (long long)n);
  *out = i;
  return 0;
}

/* An axis of `ndim` dimensions. */
static int axis_in(const tn_any *a, int64_t ndim, int64_t *out) {
  TN_TRY(tn_any_to_int(a, out));
  int64_t axis = *out < 0 ? *out + ndim : *out;
  TN_CHECK(axis >= 0 && axis < ndim, ValueError, NULL,
           "axis %lld is out of range of %lld dimensions", (long long)*out, (long long)ndim);
  *out = axis;
  return 0;
}

/* ---- memory ---- */

/* A tensor in the machine's memory, so that its limit holds for it. */
static tn_tensor *new_tensor(tn_vm_machine *m, int64_t *dims, int32_t ndim, tn_dtype t,
                             tn_device dev) {
  tn_vm_pool *pool = NULL;
  for (int64_t i = 0; m && i < m->x->ndevice && !pool; ++i)
    if (m->devices[i].device_type == dev.device_type && m->devices[i].device_id == dev.device_id)
      pool = m->pools[i];
  if (!pool) return tn_tensor_new(dims, ndim, t, dev, NULL);
  int64_t bytes = tn_shape_nbytes("virtual machine", dims, ndim, t);
  tn_VMStorage *s = bytes < 0 ? NULL : tn_vm_pool_alloc(pool, bytes);
  if (!s) return (void)tn_trace(__FILE__, __LINE__, __func__), NULL;
  DLTensor dl = {.data = s->data, .device = dev, .ndim = ndim, .dtype = t, .shape = dims};
  tn_tensor *made = tn_tensor_from_dltensor(&dl, (tn_obj *)s);
  tn_release(s);
  return made;
}

/* Extents before and behind an axis: how many parts, and bytes of one step along the axis. */
typedef struct {
  int64_t outer, step;
} around;

static int around_axis(const DLTensor *t, int64_t axis, int64_t behind, around *out) {
  int64_t item = tn_dtype_item_bytes(t->dtype);
  TN_CHECK(item > 0, ValueError, NULL, "elements of %s share bytes", TN_DT(t->dtype));
  *out = (around){1, item};
  bool fits = true;
  for (int64_t i = 0; i < axis; ++i)
    fits = fits && !__builtin_mul_overflow(out->outer, t->shape[i], &out->outer);
  for (int64_t i = behind; i < t->ndim; ++i)
    fits = fits && !__builtin_mul_overflow(out->step, t->shape[i], &out->step);
  TN_CHECK(fits, ValueError, NULL, "the extents are too large");
  return 0;
}

/* `n` bytes for each of the outer parts, from and to places that are so far apart. */
static int copy_parts(const DLTensor *from, int64_t first, int64_t from_pitch, const DLTensor *to,
                      int64_t at, int64_t to_pitch, int64_t n, int64_t outer) {
  for (int64_t i = 0; i < outer && n > 0; ++i) {
    size_t a = (size_t)(from->byte_offset + (uint64_t)(first + i * from_pitch));
    size_t b = (size_t)(to->byte_offset + (uint64_t)(at + i * to_pitch));
    bool host = tn_device_is_host(from->device) && tn_device_is_host(to->device);
    if (host) memcpy((char *)to->data + b, (const char *)from->data + a, (size_t)n);
    else
      TN_TRY(tn_device_copy(from->data, a, from->device, to->data, b, to->device, (size_t)n, NULL));
  }
  return 0;
}

/* ---- sequences ---- */

static int length(tn_vm_machine *m, const tn_any *args, int32_t n, tn_any *ret) {
  const tn_tuple *s;
  (void)m, (void)n;
  TN_GET(s, sequence_in(&args[0]));
  *ret = tn_any_int(s->len);
  return 0;
}

static int at(tn_vm_machine *m, const tn_any *args, int32_t n, tn_any *ret) {
  const tn_tuple *s;
  int64_t i;
  (void)m, (void)n;
  TN_GET(s, sequence_in(&args[0]));
  TN_TRY(place_in(&args[1], s->len, s->len - 1, &i));
  return tn_any_own(&s->fields[i], ret);
}

/* Elements before i, the value where there is one, the others but for `skipped`. */
static int changed(const tn_tuple *s, int64_t i, const tn_any *value, int64_t skipped,
                   tn_any *ret) {
  int64_t n = s->len + (value != NULL) - skipped;
  TN_AUTOFREE tn_any *all = tn_alloc_array(n + 1, sizeof *all);
  if (!all) return -1;
  if (i) memcpy(all, s->fields, (size_t)i * sizeof *all);
  if (value) all[i] = *value;
  int64_t rest = s->len - i - skipped;
  if (rest) memcpy(all + n - rest, s->fields + i + skipped, (size_t)rest * sizeof *all);
  return tn_ret_owned(ret, tn_tuple_new(0, all, n));
}

static int insert(tn_vm_machine *m, const tn_any *args, int32_t n, tn_any *ret) {
  const tn_tuple *s;
  int64_t i;
  (void)m, (void)n;
  TN_GET(s, sequence_in(&args[0]));
  TN_TRY(place_in(&args[2], s->len, s->len, &i));
  return changed(s, i, &args[1], 0, ret);
}

static int erase(tn_vm_machine *m, const tn_any *args, int32_t n, tn_any *ret) {
  const tn_tuple *s;
  int64_t i;
  (void)m, (void)n;
  TN_GET(s, sequence_in(&args[0]));
  TN_TRY(place_in(&args[1], s->len, s->len - 1, &i));
  return changed(s, i, NULL, 1, ret);
}

/* ---- joining ---- */

static bool same_but(const DLTensor *a, const DLTensor *b, int64_t axis) {
  if (a->ndim != b->ndim || memcmp(&a->dtype, &b->dtype, sizeof a->dtype) != 0) return false;
  for (int64_t i = 0; i < a->ndim; ++i)
    if (i != axis && a->shape[i] != b->shape[i]) return false;
  return true;
}

/* The extents of the whole. @param axis -1 for a new one */
static int joined_shape(const tn_tuple *s, int64_t axis, int64_t *extent) {
  const DLTensor *first;
  TN_GET(first, tensor_in(&s->fields[0]));
  *extent = 0;
  for (int64_t i = 0; i < s->len; ++i) {
    const DLTensor *t;
    TN_GET(t, tensor_in(&s->fields[i]));
    TN_CHECK(same_but(first, t, axis), ValueError, NULL,
             "element %lld does not fit the first in type or shape", (long long)i);
    TN_CHECK(tn_tensor_is_contiguous(t), ValueError, NULL, "element %lld has gaps", (long long)i);
    int64_t one = axis < 0 ? 1 : t->shape[axis];
    TN_CHECK(!__builtin_add_overflow(*extent, one, extent), ValueError, NULL,
             "the elements are too large together");
  }
  return 0;
}

static int concat(tn_vm_machine *m, const tn_any *args, int32_t n, tn_any *ret) {
  const tn_tuple *s;
  const DLTensor *first;
  int64_t dims[MAX_NDIM + 1], axis, stacks, extent, at_byte = 0;
  around a;
  (void)n;
  TN_GET(s, sequence_in(&args[0]));
  TN_CHECK(s->len > 0, ValueError, NULL, "a sequence without elements cannot be concatenated");
  TN_GET(first, tensor_in(&s->fields[0]));
  TN_TRY(tn_any_to_int(&args[2], &stacks));
  stacks = stacks != 0;
  TN_CHECK(first->ndim <= MAX_NDIM, ValueError, NULL, "%d dimensions", first->ndim);
  TN_TRY(axis_in(&args[1], first->ndim + stacks, &axis));
  TN_TRY(joined_shape(s, stacks ? -1 : axis, &extent));
  TN_TRY(around_axis(first, axis, stacks ? axis : axis + 1, &a));
  for (int64_t i = 0; i < first->ndim; ++i) dims[stacks && i >= axis ? i + 1 : i] = first->shape[i];
  dims[axis] = extent;
  tn_tensor *whole =
      new_tensor(m, dims, (int32_t)(first->ndim + stacks), first->dtype, first->device);
  if (!whole) return -1;
  for (int64_t i = 0; i < s->len; ++i) {
    const DLTensor *t = tn_tensor_dl((tn_tensor *)s->fields[i].v.obj);
    int64_t bytes = a.step * (stacks ? 1 : t->shape[axis]);
    if (copy_parts(t, 0, bytes, tn_tensor_dl(whole), at_byte, a.step * extent, bytes, a.outer)) {
      tn_release(whole);
      return -1;
    }
    at_byte += bytes;
  }
  return tn_ret_owned(ret, whole);
}

/* ---- splitting ---- */

/* Sizes of the parts, with tn_alloc; *n of them. Where the axis goes away each is 1. NULL with an
   error. */
static int64_t *part_sizes(const tn_any *a, int64_t extent, int64_t keeps, int64_t *n) {
  const DLTensor *t;
  int64_t sum = 0;
  tn_any one = *a;
  TN_GETP(t, tensor_in(a));
  TN_CHECKP(t->ndim <= 1 && t->dtype.code == kDLInt && t->dtype.lanes == 1 &&
                (t->dtype.bits == 64 || t->dtype.bits == 32),
            TypeError, NULL, "the sizes of parts must be a scalar or a vector of int64");
  if (t->ndim == 0) {
    int64_t each;
    TN_TRYP(tn_vm_int(&one, &each));
    TN_CHECKP(each == 1 || (each > 0 && keeps), ValueError, NULL, "parts of size %lld",
              (long long)each);
    *n = extent / each + (extent % each != 0);
    int64_t *sizes = tn_alloc_array(*n + 1, sizeof *sizes);
    for (int64_t i = 0; sizes && i < *n; ++i)
      sizes[i] = each < extent - i * each ? each : extent - i * each;
    return sizes;
  }
  *n = t->shape[0];
  int64_t *sizes = tn_alloc_array(*n + 1, sizeof *sizes);
  if (!sizes) return NULL;
  int err = tn_tensor_copy_to_bytes(t, sizes, (size_t)tn_tensor_nbytes(t));
  for (int64_t i = *n; !err && t->dtype.bits == 32 && i-- > 0;) {
    int32_t narrow;
    memcpy(&narrow, (char *)sizes + i * (int64_t)sizeof narrow, sizeof narrow);
    sizes[i] = narrow;
  }
  bool fit = !err;
  for (int64_t i = 0; fit && i < *n; ++i)
    fit =
        (sizes[i] == 1 || (sizes[i] >= 0 && keeps)) && !__builtin_add_overflow(sum, sizes[i], &sum);
  if (fit && sum == extent) return sizes;
  tn_free(sizes);
  if (err) return NULL;
  return TN_RAISEP(
      ValueError, NULL,
      "the sizes of parts do not come to the extent, %lld, or, without the axis, are not 1",
      (long long)extent);
}

static int split_into(tn_vm_machine *m, const DLTensor *x, int64_t axis, bool keeps,
                      const int64_t *sizes, int64_t n, tn_any *out) {
  int64_t dims[MAX_NDIM], from = 0;
  around a;
  TN_TRY(around_axis(x, axis, axis + 1, &a));
  for (int64_t i = 0; i < n; ++i) {
    int32_t ndim = 0;
    for (int64_t k = 0; k < x->ndim; ++k) {
      if (k != axis) dims[ndim++] = x->shape[k];
      else if (keeps) dims[ndim++] = sizes[i];
    }
    tn_tensor *part;
    TN_GET(part, new_tensor(m, dims, ndim, x->dtype, x->device));
    out[i] = tn_any_obj(part);
    TN_TRY(copy_parts(x, from, a.step * x->shape[axis], tn_tensor_dl(part), 0, a.step * sizes[i],
                      a.step * sizes[i], a.outer));
    from += a.step * sizes[i];
  }
  return 0;
}

static int split(tn_vm_machine *m, const tn_any *args, int32_t n, tn_any *ret) {
  const DLTensor *x;
  int64_t axis, keeps, count;
  (void)n;
  TN_GET(x, tensor_in(&args[0]));
  TN_TRY(tn_any_to_int(&args[3], &keeps));
  TN_TRY(axis_in(&args[2], x->ndim, &axis));
  TN_CHECK(x->ndim <= MAX_NDIM && tn_tensor_is_contiguous(x), ValueError, NULL,
           "a tensor of %d dimensions, or with gaps", x->ndim);
  TN_AUTOFREE int64_t *sizes = part_sizes(&args[1], x->shape[axis], keeps, &count);
  TN_AUTOFREE tn_any *parts = sizes ? tn_alloc_zero((size_t)count + 1, sizeof *parts) : NULL;
  if (!parts) return -1;
  int err = split_into(m, x, axis, keeps != 0, sizes, count, parts);
  tn_tuple *all = err ? NULL : tn_tuple_new(0, parts, count);
  for (int64_t i = 0; i < count; ++i) tn_any_release(&parts[i]);
  return tn_ret_owned(ret, all);
}

/* ---- optional values, and types ---- */

static int has(tn_vm_machine *m, const tn_any *args, int32_t n, tn_any *ret) {
  (void)m, (void)n;
  *ret = tn_any_bool(args[0].type_index != TN_NONE);
  return 0;
}

static int get(tn_vm_machine *m, const tn_any *args, int32_t n, tn_any *ret) {
  (void)m, (void)n;
  TN_CHECK(args[0].type_index != TN_NONE, ValueError, NULL,
           "the optional value has no element: it is None");
  return tn_any_own(&args[0], ret);
}

static int none(tn_vm_machine *m, const tn_any *args, int32_t n, tn_any *ret) {
  (void)m, (void)args, (void)n;
  *ret = tn_any_none();
  return 0;
}

static int narrow(tn_vm_machine *m, const tn_any *args, int32_t n, tn_any *ret) {
  const DLTensor *t;
  (void)m;
  TN_GET(t, tensor_in(&args[0]));
  TN_CHECK(t->ndim == n - 1, ValueError, NULL,
           "a tensor of %d dimensions, where the model states %d", t->ndim, n - 1);
  for (int32_t i = 0; i + 1 < n; ++i) {
    int64_t want;
    TN_TRY(tn_any_to_int(&args[i + 1], &want));
    TN_CHECK(want < 0 || want == t->shape[i], ValueError, NULL,
             "extent %d is %lld, where the model states %lld", i, (long long)t->shape[i],
             (long long)want);
  }
  return tn_any_own(&args[0], ret);
}

static int squeeze(tn_vm_machine *m, const tn_any *args, int32_t n, tn_any *ret) {
  const DLTensor *t;
  int64_t dims[MAX_NDIM];
  int32_t ndim = 0;
  (void)m, (void)n;
  TN_GET(t, tensor_in(&args[0]));
  TN_CHECK(t->ndim <= MAX_NDIM && tn_tensor_is_contiguous(t), ValueError, NULL,
           "a tensor of %d dimensions, or with gaps", t->ndim);
  for (int32_t i = 0; i < t->ndim; ++i)
    if (t->shape[i] != 1) dims[ndim++] = t->shape[i];
  return tn_ret_owned(ret, tn_tensor_view((tn_tensor *)args[0].v.obj, dims, ndim, t->dtype, 0));
}

/* ---- finding them ---- */

typedef struct {
  const char *name;
  tn_vm_value_fn f;
  int least; /* arguments */
} row;

static const row rows[] = {
    {"sequence.length", length, 1}, {"sequence.at", at, 2},         {"sequence.insert", insert, 3},
    {"sequence.erase", erase, 2},   {"sequence.concat", concat, 3}, {"sequence.split", split, 4},
    {"optional.has", has, 1},       {"optional.get", get, 1},       {"value.none", none, 0},
    {"value.narrow", narrow, 1},    {"value.squeeze", squeeze, 1},
};

tn_vm_value_fn tn_vm_value_function(const char *name) {
  for (int i = 0; i < TN_COUNT(rows); ++i)
    if (strcmp(rows[i].name, name) == 0) return rows[i].f;
  return NULL;
}

/* Code from a file may have too few arguments. */
int tn_vm_call_value(tn_vm_machine *m, tn_vm_value_fn f, const tn_any *args, int32_t n,
                     tn_any *ret) {
  for (int i = 0; i < TN_COUNT(rows); ++i)
    TN_CHECK(rows[i].f != f || n >= rows[i].least, ValueError, NULL,
             "%s: %d arguments, expected %d", rows[i].name, n, rows[i].least);
  return f(m, args, n, ret);
}

int tn_vm_value_call(tn_vm_value_fn f, const tn_any *args, int32_t n, tn_any *ret) {
  tn_any own;
  uint8_t yes;
  TN_TRY(tn_vm_call_value(NULL, f, args, n, &own));
  if (own.type_index == TN_INT) return tn_vm_box(&own, ret);
  if (own.type_index != TN_BOOL) {
    *ret = own;
    return 0;
  }
  yes = own.v.i64 != 0;
  tn_tensor *t;
  TN_GET(t, tn_tensor_new(NULL, 0, TN_BOOL1, (tn_device){kDLCPU, 0}, NULL));
  memcpy(t->dl.data, &yes, 1);
  *ret = tn_any_obj(t);
  return 0;
}
