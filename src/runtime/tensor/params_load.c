/* Reading parameters and single tensors (the format is in params.h) from memory that nobody vouches
   for: sizes are compared with what is left before anything is allocated. */
#include "runtime/tensor/params.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/reader.h"
#include "object/dtype.h"
#include "object/functions.h"
#include "runtime/tensor/tensor_content.h"

/* Puts `where` in front of a pending ValueError: what kind of file is wrong. Other errors pass. */
static int wrong(const char *where) {
  tn_error e;
  tn_error_take(&e);
  if (e.kind != TN_ValueError) tn_error_restore(&e);
  else TN_RAISE(ValueError, NULL, "%s: %s", where, e.message ? e.message : "");
  tn_error_fini(&e);
  return -1;
}

/* ---- one array ---- */

typedef struct {
  tn_dtype dtype;
  int32_t ndim;
  int64_t shape[TN_MAX_NDIM];
  const uint8_t *data; /* borrowed from the reader's memory */
  int64_t nbytes;
} array;

static int read_i32(tn_reader *r, int32_t *out) {
  uint32_t x;
  TN_TRY(tn_read_u32(r, &x));
  *out = (int32_t)x;
  return 0;
}

static int read_magic(tn_reader *r, uint64_t expected) {
  uint64_t magic, reserved;
  TN_TRY(tn_read_u64(r, &magic) || tn_read_u64(r, &reserved));
  TN_CHECK(magic == expected, ValueError, NULL, "expected magic number 0x%llX, got 0x%llX",
           (unsigned long long)expected, (unsigned long long)magic);
  return 0;
}

static int read_head(tn_reader *r, array *a) {
  int32_t device_type, device_id;
  uint8_t code, bits;
  uint16_t lanes;
  TN_TRY(read_magic(r, TN_ARRAY_MAGIC));
  TN_TRY(read_i32(r, &device_type) || read_i32(r, &device_id) || read_i32(r, &a->ndim));
  TN_TRY(tn_read_u8(r, &code) || tn_read_u8(r, &bits) || tn_read_u16(r, &lanes));
  TN_CHECK(device_type == kDLCPU, ValueError, NULL, "expected a cpu tensor, got device type %d",
           device_type);
  TN_CHECK(a->ndim >= 0 && a->ndim <= TN_MAX_NDIM, ValueError, NULL,
           "ndim: expected 0 to %d, got %d", TN_MAX_NDIM, a->ndim);
  TN_CHECK(code != kDLOpaqueHandle, ValueError, NULL, "dtype: addresses cannot be in a file");
  a->dtype = tn_dtype_canonical(tn_dtype_of(code, bits, lanes));
  return 0;
}

static int read_array(tn_reader *r, array *a) {
  int64_t stored;
  TN_TRY(read_head(r, a));
  for (int32_t i = 0; i < a->ndim; ++i) TN_TRY(tn_read_i64(r, &a->shape[i]));
  a->nbytes = tn_shape_nbytes("array", a->shape, a->ndim, a->dtype);
  if (a->nbytes < 0) return -1;
  TN_TRY(tn_read_i64(r, &stored));
  TN_CHECK(stored == a->nbytes, ValueError, NULL,
           "shape and dtype %s take %lld bytes of data, the file says %lld", TN_DT(a->dtype),
           (long long)a->nbytes, (long long)stored);
  TN_TRY(tn_read_bytes(r, (uint64_t)a->nbytes, &a->data));
  return 0;
}

static tn_tensor *copy_of(const array *a) {
  tn_tensor *t = tn_tensor_new(a->shape, a->ndim, a->dtype, (tn_device){kDLCPU, 0}, NULL);
  if (t && a->nbytes) memcpy(t->dl.data, a->data, (size_t)a->nbytes);
  return t;
}

static tn_tensor *view_of(array *a, tn_obj *mapping) {
  const DLTensor dl = {.data = (void *)(uintptr_t)a->data,
                       .device = {kDLCPU, 0},
                       .ndim = a->ndim,
                       .dtype = a->dtype,
                       .shape = a->shape};
  return tn_tensor_from_dltensor(&dl, mapping);
}

/* @param mapping the object that owns the reader's memory: the tensor is a view. NULL: a copy */
static tn_tensor *load_array(tn_reader *r, tn_obj *mapping) {
  array a;
  if (read_array(r, &a)) {
    wrong("Invalid DLTensor file format");
    return NULL;
  }
  return mapping ? view_of(&a, mapping) : copy_of(&a);
}

tn_tensor *tn_tensor_read(tn_reader *r) {
  tn_tensor *t;
  TN_GETP(t, load_array(r, r->owner));
  t->read_only = r->owner != NULL; /* memory of a library, which nobody can write to */
  return t;
}

tn_tensor *tn_tensor_load(const void *data, size_t n) {
  tn_reader r = {.data = data, .size = n};
  return tn_tensor_read(&r);
}

tn_obj *tn_tensor_blob_load(const uint8_t *data, size_t n) {
  return (tn_obj *)tn_tensor_load(data, n);
}

/* ---- a list ---- */

/* Passes over `n` names. */
static int skip_names(tn_reader *r, uint64_t n) {
  tn_bytes_view name;
  for (uint64_t i = 0; i < n; ++i) TN_TRY(tn_read_text(r, &name));
  return 0;
}

static int load_entry(tn_reader *names, tn_reader *arrays, tn_obj *mapping, tn_map *out) {
  tn_bytes_view text;
  TN_TRY(tn_read_text(names, &text));
  tn_tensor *t = load_array(arrays, mapping);
  if (!t) {
    char where[80];
    snprintf(where, sizeof where, "parameter \"%.*s\"", (int)(text.size < 60 ? text.size : 60),
             (const char *)text.data);
    return wrong(where);
  }
  tn_str *name = tn_str_new_n((const char *)text.data, text.size);
  int err = name ? tn_map_set(out, tn_any_obj(name), tn_any_obj(t)) : -1;
  tn_release(name);
  tn_release(t);
  return err;
}

static int load_entries(tn_reader *r, tn_obj *mapping, tn_map *out) {
  uint64_t nnames, narrays;
  TN_TRY(read_magic(r, TN_PARAMS_MAGIC));
  TN_TRY(tn_read_count(r, sizeof(uint64_t), &nnames));
  tn_reader names = *r;
  TN_TRY(skip_names(r, nnames));
  TN_TRY(tn_read_count(r, TN_ARRAY_FIXED_BYTES, &narrays));
  TN_CHECK(nnames == narrays, ValueError, NULL, "%llu names, but %llu arrays",
           (unsigned long long)nnames, (unsigned long long)narrays);
  for (uint64_t i = 0; i < nnames; ++i) TN_TRY(load_entry(&names, r, mapping, out));
  return 0;
}

static tn_map *load_list(const void *data, size_t n, tn_obj *mapping) {
  tn_reader r = {.data = data, .size = n};
  tn_map *m;
  TN_GETP(m, tn_map_new());
  if (load_entries(&r, mapping, m) == 0) return m;
  tn_release(m);
  wrong("Invalid parameters file format");
  return NULL;
}

tn_map *tn_params_load(const void *data, size_t n) { return load_list(data, n, NULL); }

/* ---- a file ---- */

/* A private mapping of a whole file: writes stay in this process. */
typedef struct {
  void *data; /* NULL for an empty file, which cannot be mapped */
  size_t size;
} mapping;

static void unmap(void *ptr) {
  mapping *m = ptr;
  if (m->data) munmap(m->data, m->size);
  tn_free(m);
}

static int map_fd(int fd, const char *path, mapping *out) {
  struct stat st;
  TN_CHECK(fstat(fd, &st) == 0, OSError, NULL, "cannot read %s: %s", path, strerror(errno));
  TN_CHECK(S_ISREG(st.st_mode), OSError, NULL, "cannot read %s: expected an ordinary file", path);
  if (st.st_size == 0) return 0;
  void *data = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
  TN_CHECK(data != MAP_FAILED, OSError, NULL, "cannot read %s: %s", path, strerror(errno));
  *out = (mapping){data, (size_t)st.st_size};
  return 0;
}

static int map_file(const char *path, mapping *out) {
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  TN_CHECK(fd >= 0, OSError, NULL, "cannot open %s: %s", path, strerror(errno));
  int err = map_fd(fd, path, out);
  close(fd);
  return err;
}

/* Owned object around the mapping of a file. */
static tn_obj *mapping_new(const char *path) {
  mapping *m = tn_alloc_zero(1, sizeof *m);
  if (!m) return NULL;
  if (map_file(path, m) == 0) {
    tn_obj *o = tn_opaque_new("runtime.FileMapping", m, unmap);
    if (o) return o;
  }
  unmap(m);
  return NULL;
}

tn_map *tn_params_load_file(const char *path, bool views) {
  tn_obj *owner;
  TN_GETP(owner, mapping_new(path));
  const mapping *m = tn_opaque_get(owner, "runtime.FileMapping");
  tn_map *params = load_list(m->data, m->size, views ? owner : NULL);
  tn_release(owner);
  if (!params) wrong(path);
  return params;
}

/* ---- functions ---- */

static int f_load(TN_ARGS) {
  tn_bytes_view b;
  TN_NARGS("runtime.LoadParams", 1);
  TN_TRY(tn_any_to_bytes(&args[0], &b));
  return tn_ret_owned(ret, tn_params_load(b.data, b.size));
}

/* (path[, views]) */
static int f_load_file(TN_ARGS) {
  const char *path;
  bool views = false;
  TN_CHECK(n == 1 || n == 2, TypeError, NULL,
           "runtime.LoadParamsFromFile: expected a path and perhaps views, got %d arguments", n);
  TN_TRY(tn_any_to_cstr(&args[0], &path));
  if (n == 2) TN_TRY(tn_any_to_bool(&args[1], &views));
  return tn_ret_owned(ret, tn_params_load_file(path, views));
}

static const tn_func_row rows[] = {
    {"runtime.LoadParams", f_load},
    {"runtime.LoadParamsFromFile", f_load_file},
};

int tn_params_load_init(void) {
  TN_TRY(tn_func_register_rows(rows, TN_COUNT(rows)));
  return 0;
}
