/* One array of numpy as bytes:

     "\x93NUMPY", u8 major, u8 minor, u16 or (major 2, 3) u32 length of the header, the header
     "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", the elements */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/reader.h"
#include "cli/npz.h"
#include "object/dtype.h"

enum { MAX_DIM = 32 };
static const char magic[] = "\x93NUMPY";

static const struct {
  const char *descr;
  uint8_t code, bits;
} types[] = {
    {"<f4", kDLFloat, 32}, {"<f8", kDLFloat, 64}, {"<f2", kDLFloat, 16}, {"<i8", kDLInt, 64},
    {"<i4", kDLInt, 32},   {"<i2", kDLInt, 16},   {"|i1", kDLInt, 8},    {"<u8", kDLUInt, 64},
    {"<u4", kDLUInt, 32},  {"<u2", kDLUInt, 16},  {"|u1", kDLUInt, 8},   {"|b1", kDLUInt, 1},
};
enum { NTYPES = (int)(sizeof types / sizeof *types) };

bool cli_is_npy(const void *data, size_t n) { return n >= 6 && memcmp(data, magic, 6) == 0; }

/* What follows a key of the header, or NULL. */
static const char *after(const char *header, const char *key) {
  const char *at = strstr(header, key);
  if (!at) return NULL;
  at += strlen(key);
  while (*at == ' ' || *at == ':') ++at;
  return at;
}

static int parse_type(const char *what, const char *at, tn_dtype *out) {
  for (int i = 0; at && i < NTYPES; ++i)
    if (at[0] == '\'' && strncmp(at + 1, types[i].descr, 3) == 0 && at[4] == '\'') {
      *out = tn_dtype_of(types[i].code, types[i].bits, 1);
      return 0;
    }
  return TN_RAISE(ValueError, NULL, "%s: an array of a type that is not supported: %.20s", what,
                  at ? at : "none");
}

static int parse_shape(const char *what, const char *at, int64_t *shape, int32_t *ndim) {
  TN_CHECK(at && *at == '(', ValueError, NULL, "%s: a header of numpy without shape", what);
  *ndim = 0;
  for (++at; *at != ')';) {
    char *end;
    long long extent = *at >= '0' && *at <= '9' ? strtoll(at, &end, 10) : -1;
    TN_CHECK(extent >= 0 && extent < INT64_MAX && *ndim < MAX_DIM, ValueError, NULL,
             "%s: a wrong shape in the header of numpy: %.40s", what, at);
    shape[(*ndim)++] = extent;
    for (at = end; *at == ',' || *at == ' ';) ++at;
  }
  return 0;
}

static int parse_header(const char *what, tn_reader *r, tn_buf *text) {
  const uint8_t *start;
  uint8_t major, minor;
  uint16_t small = 0;
  uint32_t size = 0;
  TN_CHECK(tn_read_left(r) > 10 && memcmp(r->data, magic, 6) == 0, ValueError, NULL,
           "%s: no array of numpy", what);
  TN_TRY(tn_read_bytes(r, 6, &start));
  TN_TRY(tn_read_u8(r, &major));
  TN_TRY(tn_read_u8(r, &minor));
  if (major == 1) TN_TRY(tn_read_u16(r, &small));
  else TN_TRY(tn_read_u32(r, &size));
  TN_CHECK(major >= 1 && major <= 3, ValueError, NULL, "%s: version %d.%d of numpy's format", what,
           major, minor);
  TN_TRY(tn_read_bytes(r, major == 1 ? small : size, &start));
  tn_buf_put(text, start, major == 1 ? small : size);
  return tn_buf_ok(text);
}

tn_tensor *cli_npy_parse(const char *what, const uint8_t *data, size_t n) {
  tn_reader r = {data, n, 0};
  TN_BUF(text);
  tn_dtype dtype;
  int64_t shape[MAX_DIM], count = 1;
  int32_t ndim;
  TN_TRYP(parse_header(what, &r, &text));
  const char *header = tn_buf_cstr(&text), *order = after(header, "'fortran_order'");
  TN_TRYP(parse_type(what, after(header, "'descr'"), &dtype));
  TN_TRYP(parse_shape(what, after(header, "'shape'"), shape, &ndim));
  bool whole = false;
  for (int32_t i = 0; i < ndim && !whole; ++i)
    whole = __builtin_mul_overflow(count, shape[i], &count);
  int64_t bytes = whole ? -1 : tn_dtype_bytes(dtype, count);
  TN_CHECKP(bytes >= 0 && (uint64_t)bytes == tn_read_left(&r), ValueError, NULL,
            "%s: %zu bytes of elements, which is not what its shape needs", what, tn_read_left(&r));
  TN_CHECKP(ndim < 2 || (order && strncmp(order, "False", 5) == 0), ValueError, NULL,
            "%s: an array in Fortran order: use numpy.ascontiguousarray", what);
  tn_tensor *t;
  TN_GETP(t, tn_tensor_new(shape, ndim, dtype, (tn_device){kDLCPU, 0}, NULL));
  if (tn_tensor_copy_from_bytes(tn_tensor_dl(t), data + r.pos, (size_t)bytes) == 0) return t;
  tn_release(t);
  return NULL;
}

int cli_npy_put(tn_buf *out, const DLTensor *t) {
  const char *descr = NULL;
  TN_BUF(text);
  for (int i = 0; i < NTYPES; ++i)
    if (tn_dtype_eq(t->dtype, tn_dtype_of(types[i].code, types[i].bits, 1))) descr = types[i].descr;
  TN_CHECK(descr, ValueError, NULL, "numpy has no type %s", TN_DT(t->dtype));
  tn_buf_printf(&text, "{'descr': '%s', 'fortran_order': False, 'shape': (", descr);
  for (int32_t i = 0; i < t->ndim; ++i) tn_buf_printf(&text, "%lld,", (long long)t->shape[i]);
  tn_buf_puts(&text, "), }");
  tn_buf_pad(&text, ' ', 63 - (text.len + 10) % 64);
  tn_buf_putc(&text, '\n');
  TN_CHECK(text.len < UINT16_MAX, ValueError, NULL, "an array of too many dimensions");
  const uint8_t head[] = {1, 0, (uint8_t)(text.len & 255), (uint8_t)(text.len >> 8)};
  tn_buf_put(out, magic, 6);
  tn_buf_put(out, head, sizeof head);
  tn_buf_put(out, text.data, text.len);
  size_t at = out->len, bytes = (size_t)tn_tensor_nbytes(t);
  tn_buf_pad(out, '\0', bytes);
  TN_TRY(tn_buf_ok(out));
  return tn_tensor_copy_to_bytes(t, out->data + at, bytes);
}
