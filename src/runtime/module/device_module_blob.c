/* Modules of kernels as bytes, as the old interface wrote them:

     text format
     uint64 count of kernels; for each: text name, text name again,
       uint64 count and types of its arguments (code u8, bits u8, lanes u16),
       uint64 count and texts of its launch parameters
     text code

   A text is its uint64 length and that many bytes. */
#include <string.h>

#include "base/alloc.h"
#include "base/reader.h"
#include "runtime/module/module_blob.h"
#include "runtime/module/device_module_impl.h"

/* ---- writing ---- */

static void put_text(tn_buf *b, const void *data, size_t n) {
  tn_buf_u64(b, n);
  tn_buf_put(b, data, n);
}

static void put_kernel(tn_buf *b, const tn_kernel *k) {
  put_text(b, k->name, strlen(k->name));
  put_text(b, k->name, strlen(k->name));
  tn_buf_u64(b, (uint64_t)k->ntype);
  for (int32_t i = 0; i < k->ntype; ++i) {
    tn_dtype t = k->types[i];
    uint8_t bytes[4] = {t.code, t.bits, (uint8_t)(t.lanes & 0xff), (uint8_t)(t.lanes >> 8)};
    tn_buf_put(b, bytes, sizeof bytes);
  }
  tn_buf_u64(b, (uint64_t)k->ntag);
  for (int32_t i = 0; i < k->ntag; ++i) {
    const char *name = tn_launch_tag_name(k->tags[i]);
    put_text(b, name, strlen(name));
  }
}

tn_bytes *tn_device_code_save(tn_module *m) {
  const tn_device_code *c = tn_module_self(m);
  TN_BUF(b);
  put_text(&b, c->format, strlen(c->format));
  tn_buf_u64(&b, (uint64_t)c->n);
  for (int64_t i = 0; i < c->n; ++i) put_kernel(&b, c->kernels[i]);
  put_text(&b, c->data->data, c->data->len);
  if (tn_buf_ok(&b)) return NULL;
  return tn_bytes_new(b.data, b.len);
}

/* ---- reading ---- */

/* A text of at most `max` bytes without NUL. */
static int read_name(tn_reader *r, char *out, size_t max) {
  tn_bytes_view v;
  TN_TRY(tn_read_text(r, &v));
  TN_CHECK(v.size <= max && !memchr(v.data, 0, v.size), ValueError, NULL,
           "module of kernels: a name of %zu bytes at offset %zu", v.size, r->pos);
  memcpy(out, v.data, v.size);
  out[v.size] = '\0';
  return 0;
}

enum { MAX_NAME = 4096, MAX_TAGS = 64, MAX_TYPES = 65536 };

static int read_types(tn_reader *r, tn_kernel *k) {
  for (int32_t i = 0; i < k->ntype; ++i) {
    uint8_t code, bits;
    uint16_t lanes;
    TN_TRY(tn_read_u8(r, &code));
    TN_TRY(tn_read_u8(r, &bits));
    TN_TRY(tn_read_u16(r, &lanes));
    k->types[i] = (tn_dtype){code, bits, lanes};
  }
  return 0;
}

static int read_kernel(tn_reader *r, tn_device_code *c) {
  char name[MAX_NAME + 1], tag[MAX_NAME + 1];
  uint64_t ntype, ntag;
  tn_kernel *k;
  TN_TRY(read_name(r, name, MAX_NAME));
  TN_TRY(read_name(r, tag, MAX_NAME)); /* the name again */
  TN_TRY(tn_read_count(r, 4, &ntype));
  TN_CHECK(ntype <= MAX_TYPES, ValueError, NULL, "module of kernels: %s has %llu arguments", name,
           (unsigned long long)ntype);
  TN_GET(k, tn_device_code_kernel(c, name, (int32_t)ntype, MAX_TAGS));
  k->ntag = 0;
  TN_TRY(read_types(r, k));
  TN_TRY(tn_read_count(r, 8, &ntag));
  TN_CHECK(ntag <= MAX_TAGS, ValueError, NULL, "module of kernels: %s has %llu launch parameters",
           name, (unsigned long long)ntag);
  for (uint64_t i = 0; i < ntag; ++i) {
    TN_TRY(read_name(r, tag, MAX_NAME));
    int t = tn_launch_tag_find(tag);
    if (t < 0) return -1;
    k->tags[k->ntag++] = (tn_launch_tag)t;
  }
  return 0;
}

static int read_all(tn_reader *r, tn_device_code *c) {
  uint64_t n;
  tn_bytes_view code;
  TN_TRY(tn_read_count(r, 4 * sizeof(uint64_t), &n));
  for (uint64_t i = 0; i < n; ++i) TN_TRY(read_kernel(r, c));
  TN_TRY(tn_read_text(r, &code));
  tn_release(c->data);
  TN_GET(c->data, tn_bytes_new(code.data, code.size));
  return 0;
}

static int load_binary(const tn_any *args, int device_type, tn_any *ret) {
  tn_reader *p;
  char format[MAX_NAME + 1];
  TN_TRY(tn_arg_reader(args, &p));
  TN_TRY(read_name(p, format, MAX_NAME));
  tn_device_code *c = tn_device_code_new(device_type, format, NULL, NULL);
  tn_module *m = c && read_all(p, c) == 0 ? tn_device_module_new(c) : NULL;
  if (c && !m) tn_device_code_free(c);
  return tn_ret_owned(ret, m);
}

static int load_opencl(TN_ARGS) {
  TN_NARGS("runtime.module.loadbinary_opencl", 1);
  return load_binary(args, kDLOpenCL, ret);
}
static int load_cuda(TN_ARGS) {
  TN_NARGS("runtime.module.loadbinary_cuda", 1);
  return load_binary(args, kDLCUDA, ret);
}

static const tn_func_row rows[] = {
    {"runtime.module.loadbinary_opencl", load_opencl},
    {"runtime.module.loadbinary_cuda", load_cuda},
};

int tn_device_module_init(void) {
  TN_TRY(tn_device_file_init());
  return tn_func_register_rows(rows, TN_COUNT(rows));
}
