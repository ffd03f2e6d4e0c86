/* Writing parameters and single tensors (the format is in params.h). */
#include "runtime/tensor/params.h"

#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "object/functions.h"
#include "runtime/device/device.h"
#include "runtime/tensor/tensor_content.h"

/* Where the bytes go. */
typedef struct {
  int (*put)(void *to, const void *data, size_t n); /* 0 or -1 */
  void *to;
} sink;

static int put_u64(const sink *s, uint64_t x) { return s->put(s->to, &x, sizeof x); }

/* The fixed part and the extents of an array: little-endian, as this machine is (tensor.c). */
static int put_array_head(const sink *s, const DLTensor *dl) {
  const struct {
    uint64_t magic, reserved;
    int32_t device_type, device_id, ndim;
    tn_dtype dtype;
  } head = {TN_ARRAY_MAGIC, 0, kDLCPU, 0, dl->ndim, tn_dtype_canonical(dl->dtype)};
  _Static_assert(sizeof head + sizeof(int64_t) == TN_ARRAY_FIXED_BYTES, "no padding");
  TN_TRY(s->put(s->to, &head, sizeof head));
  if (dl->ndim) TN_TRY(s->put(s->to, dl->shape, (size_t)dl->ndim * sizeof *dl->shape));
  return put_u64(s, (uint64_t)tn_tensor_nbytes(dl));
}

/* Data that is elsewhere or has gaps goes through a compact copy, one tensor at a time. */
static int put_array(const sink *s, const DLTensor *dl) {
  const tn_device cpu = {kDLCPU, 0};
  size_t n = (size_t)tn_tensor_nbytes(dl);
  TN_TRY(put_array_head(s, dl));
  if (n == 0) return 0;
  if (tn_device_is_host(dl->device) && tn_tensor_is_contiguous(dl))
    return s->put(s->to, tn_tensor_first(dl), n);
  tn_tensor *copy;
  TN_GET(copy, tn_tensor_clone(dl, cpu, NULL));
  int err = s->put(s->to, copy->dl.data, n);
  tn_release(copy);
  return err;
}

/* The i-th entry; TypeError unless it is a name and a tensor. */
static int entry(const tn_map *params, int64_t i, const tn_str **name, const DLTensor **dl) {
  const tn_map_entry *e = &params->entries[i];
  tn_tensor *t;
  TN_CHECK(e->key.type_index == TN_TI_String, TypeError, NULL,
           "save parameters: expected a name as key, got %s",
           tn_type_key((uint32_t)e->key.type_index));
  *name = (const tn_str *)e->key.v.obj;
  TN_CHECK(tn_any_to_tensor(&e->value, &t) == 0, TypeError, NULL,
           "save parameters: %s: expected runtime.NDArray, got %s", (*name)->data,
           tn_type_key((uint32_t)e->value.type_index));
  *dl = &t->dl;
  return 0;
}

static int put_list(const sink *s, const tn_map *params) {
  const tn_str *name;
  const DLTensor *dl;
  TN_TRY(put_u64(s, TN_PARAMS_MAGIC) || put_u64(s, 0) || put_u64(s, (uint64_t)params->len));
  for (int64_t i = 0; i < params->len; ++i) {
    TN_TRY(entry(params, i, &name, &dl));
    TN_TRY(put_u64(s, name->len) || s->put(s->to, name->data, name->len));
  }
  TN_TRY(put_u64(s, (uint64_t)params->len));
  for (int64_t i = 0; i < params->len; ++i) {
    TN_TRY(entry(params, i, &name, &dl));
    TN_TRY(put_array(s, dl));
  }
  return 0;
}

/* ---- to memory, whose size is known before ---- */

static int add(size_t *total, size_t n) {
  return __builtin_add_overflow(*total, n, total) ? tn_raise_no_memory(SIZE_MAX) : 0;
}

static int add_array(size_t *total, const DLTensor *dl) {
  TN_TRY(add(total, TN_ARRAY_FIXED_BYTES + (size_t)dl->ndim * sizeof(int64_t)));
  return add(total, (size_t)tn_tensor_nbytes(dl));
}

static int add_list(size_t *total, const tn_map *params) {
  const tn_str *name;
  const DLTensor *dl;
  TN_TRY(add(total, 4 * sizeof(uint64_t)));
  for (int64_t i = 0; i < params->len; ++i) {
    TN_TRY(entry(params, i, &name, &dl));
    TN_TRY(add(total, sizeof(uint64_t) + name->len));
    TN_TRY(add_array(total, dl));
  }
  return 0;
}

static int put_memory(void *to, const void *data, size_t n) {
  uint8_t **at = to;
  memcpy(*at, data, n);
  *at += n;
  return 0;
}

/* Bytes objects of `size`, to be filled. */
static tn_bytes *bytes_of(size_t size) {
  size_t total = sizeof(tn_bytes);
  TN_TRYP(add(&total, size));
  tn_bytes *b = tn_obj_alloc(&tn_type_Bytes, total);
  if (b) b->len = size;
  return b;
}

tn_bytes *tn_params_save(const tn_map *params) {
  size_t size = 0;
  tn_bytes *b;
  TN_TRYP(add_list(&size, params));
  TN_GETP(b, bytes_of(size));
  uint8_t *at = b->data;
  if (put_list(&(sink){put_memory, &at}, params) == 0) return b;
  tn_release(b);
  return NULL;
}

tn_bytes *tn_tensor_save(const tn_tensor *t) {
  size_t size = 0;
  tn_bytes *b;
  TN_TRYP(add_array(&size, &t->dl));
  TN_GETP(b, bytes_of(size));
  uint8_t *at = b->data;
  if (put_array(&(sink){put_memory, &at}, &t->dl) == 0) return b;
  tn_release(b);
  return NULL;
}

static int put_buf(void *to, const void *data, size_t n) {
  tn_buf_put(to, data, n);
  return tn_buf_ok(to);
}

int tn_tensor_blob_save(const tn_obj *self, tn_buf *out) {
  TN_TRY(put_array(&(sink){put_buf, out}, &((const tn_tensor *)self)->dl));
  return 0;
}

/* ---- to a file ---- */

/* Tensors that view the old file (tn_params_load_file) keep it. */
int tn_params_save_file(const tn_map *params, const char *path) {
  tn_file f;
  TN_TRY(tn_file_begin(&f, path, 0));
  int err = put_list(&(sink){tn_file_put, &f}, params);
  TN_TRY(tn_file_end(&f, err));
  return 0;
}

/* ---- functions ---- */

static int arg_params(const tn_any *args, int32_t n, const tn_map **out) {
  TN_ARG_ITEMS(Map(String, NDArray), m, 0);
  *out = m;
  return 0;
}

static int f_save(TN_ARGS) {
  const tn_map *params;
  TN_NARGS("runtime.SaveParams", 1);
  TN_TRY(arg_params(args, n, &params));
  return tn_ret_owned(ret, tn_params_save(params));
}

static int f_save_file(TN_ARGS) {
  const tn_map *params;
  const char *path;
  TN_NARGS("runtime.SaveParamsToFile", 2);
  TN_TRY(arg_params(args, n, &params));
  TN_TRY(tn_any_to_cstr(&args[1], &path));
  TN_TRY(tn_params_save_file(params, path));
  return 0;
}

static const tn_func_row rows[] = {
    {"runtime.SaveParams", f_save},
    {"runtime.SaveParamsToFile", f_save_file},
};

int tn_params_save_init(void) {
  TN_TRY(tn_func_register_rows(rows, TN_COUNT(rows)));
  return 0;
}
