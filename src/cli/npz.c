/* Archives of arrays: zip files. Read through the directory at the end, as the lengths there are
   always right. Written without compression. */
#include "cli/npz.h"

#include <string.h>

#include "base/error.h"
#include "base/reader.h"
#include "base/scope.h"
#include "base/text.h"
#include "cli/file.h"
#include "cli/inflate.h"
#include "object/containers.h"

enum {
  LOCAL = 0x04034b50,
  CENTRAL = 0x02014b50,
  END = 0x06054b50,
  LOCAL_BYTES = 30,
  CENTRAL_BYTES = 46,
  END_BYTES = 22,
  STORED = 0, /* methods of compression */
  DEFLATED = 8
};

static uint32_t u16(const uint8_t *p) { return p[0] | (uint32_t)p[1] << 8; }
static uint32_t u32(const uint8_t *p) { return u16(p) | u16(p + 2) << 16; }

static uint32_t crc32_of(const uint8_t *data, size_t n) {
  uint32_t crc = UINT32_MAX;
  for (size_t i = 0; i < n; ++i) {
    crc ^= data[i];
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320U : 0);
  }
  return ~crc;
}

/* ---- reading ---- */

/* The record at the end, before a comment of at most 64 KB. */
static const uint8_t *find_end(const uint8_t *data, size_t n) {
  for (size_t back = END_BYTES; back <= n && back <= END_BYTES + UINT16_MAX; ++back)
    if (u32(data + n - back) == END) return data + n - back;
  return NULL;
}

/* What the archive holds for a member, perhaps compressed. */
static int raw_member(const char *path, const char *name, const uint8_t *row, const uint8_t *data,
                      size_t n, tn_bytes_view *out) {
  size_t at = u32(row + 42), size = u32(row + 20);
  TN_CHECK(at <= n && n - at >= LOCAL_BYTES && u32(data + at) == LOCAL, ValueError, NULL,
           "%s: %s is not where the archive says", path, name);
  size_t skip = LOCAL_BYTES + u16(data + at + 26) + u16(data + at + 28);
  TN_CHECK(n - at >= skip && n - at - skip >= size, ValueError, NULL,
           "%s: %s goes beyond the end of the archive", path, name);
  *out = (tn_bytes_view){(const void *)(data + at + skip), size};
  return 0;
}

/* The content of the member that a row of the directory is about; in `room` where it has to be
   made. */
static int member(const char *path, const char *name, const uint8_t *row, const uint8_t *data,
                  size_t n, tn_buf *room, tn_bytes_view *out) {
  uint32_t method = u16(row + 10), size = u32(row + 24);
  TN_CHECK((method == STORED || method == DEFLATED) && !(u16(row + 8) & 1), ValueError, NULL,
           "%s: %s is encrypted or compressed by method %u: expected what numpy.savez or "
           "savez_compressed write",
           path, name, (unsigned)method);
  TN_TRY(raw_member(path, name, row, data, n, out));
  if (method == DEFLATED) {
    tn_str *what;
    TN_GET(what, tn_str_fmt("%s: %s", path, name));
    TN_TRY(cli_inflate(tn_cstr(what), (const uint8_t *)out->data, out->size, size, room));
    *out = (tn_bytes_view){(const void *)(room->data ? room->data : ""), room->len};
  }
  TN_CHECK(out->size == size && crc32_of((const uint8_t *)out->data, size) == u32(row + 16),
           ValueError, NULL, "%s: %s is damaged: its checksum or length is wrong", path, name);
  return 0;
}

/* Text that can be shown as it is. */
static bool is_name(const char *text, size_t n) {
  for (size_t i = 0; i < n; ++i)
    if ((uint8_t)text[i] < ' ' || text[i] == 0x7f) return false;
  return tn_utf8_valid(text, n);
}

static int read_row(const char *path, const uint8_t *row, const uint8_t *data, size_t n,
                    tn_map *out) {
  TN_BUF(room);
  tn_bytes_view content;
  tn_str *name, *what;
  tn_tensor *t;
  size_t len = u16(row + 28);
  const char *text = (const char *)row + CENTRAL_BYTES;
  if (len > 4 && memcmp(text + len - 4, ".npy", 4) == 0) len -= 4;
  TN_CHECK(is_name(text, len), ValueError, NULL, "%s: the name of an array is not readable text",
           path);
  TN_GET(name, tn_scope_own(tn_str_new_n(text, len)));
  TN_GET(what, tn_str_fmt("%s: %s", path, tn_cstr(name)));
  TN_TRY(member(path, tn_cstr(name), row, data, n, &room, &content));
  TN_GET(t,
         tn_scope_own(cli_npy_parse(tn_cstr(what), (const uint8_t *)content.data, content.size)));
  return tn_map_set(out, tn_any_obj(name), tn_any_obj(t));
}

tn_map *cli_npz_parse(const char *path, const uint8_t *data, size_t n) {
  tn_map *out;
  TN_GETP(out, tn_scope_own(tn_map_new()));
  const uint8_t *end = data ? find_end(data, n) : NULL;
  TN_CHECKP(end, ValueError, NULL, "%s: no archive of numpy (.npz)", path);
  size_t at = u32(end + 16), limit = (size_t)(end - data);
  for (uint32_t left = u16(end + 10); left; --left) {
    TN_CHECKP(at <= limit && limit - at >= CENTRAL_BYTES && u32(data + at) == CENTRAL &&
                  limit - at - CENTRAL_BYTES >= u16(data + at + 28),
              ValueError, NULL, "%s: the directory of the archive is damaged", path);
    TN_TRYP(read_row(path, data + at, data, n, out));
    at += CENTRAL_BYTES + u16(data + at + 28) + u16(data + at + 30) + u16(data + at + 32);
  }
  return out;
}

/* ---- writing ---- */

static void put16(tn_buf *b, uint32_t x) {
  tn_buf_putc(b, (char)(x & 255));
  tn_buf_putc(b, (char)(x >> 8 & 255));
}

/* What the headers of a member have in common: from the version to the length of further fields. */
static void put_common(tn_buf *b, uint32_t crc, size_t size, size_t name) {
  put16(b, 20);
  put16(b, 0);      /* flags */
  put16(b, 0);      /* stored */
  put16(b, 0);      /* time */
  put16(b, 0x0021); /* 1 January 1980 */
  tn_buf_u32(b, crc);
  tn_buf_u32(b, (uint32_t)size);
  tn_buf_u32(b, (uint32_t)size);
  put16(b, (uint32_t)name);
  put16(b, 0);
}

static int put_member(tn_buf *file, tn_buf *directory, const char *name, const DLTensor *t) {
  TN_BUF(content);
  TN_BUF(full);
  TN_TRY(cli_npy_put(&content, t));
  tn_buf_printf(&full, "%s.npy", name);
  TN_CHECK(full.len <= UINT16_MAX && content.len + file->len < UINT32_MAX, ValueError, NULL,
           "%.40s: too large for an archive: 4 GB", name);
  uint32_t crc = crc32_of((const uint8_t *)content.data, content.len), at = (uint32_t)file->len;
  tn_buf_u32(file, LOCAL);
  put_common(file, crc, content.len, full.len);
  tn_buf_put(file, full.data, full.len);
  tn_buf_put(file, content.data, content.len);
  tn_buf_u32(directory, CENTRAL);
  put16(directory, 20);
  put_common(directory, crc, content.len, full.len);
  tn_buf_pad(directory, '\0', 10); /* comment, disk, attributes */
  tn_buf_u32(directory, at);
  tn_buf_put(directory, full.data, full.len);
  return tn_buf_ok(directory);
}

int cli_npz_write(const char *path, const tn_map *arrays) {
  TN_BUF(file);
  TN_BUF(directory);
  TN_CHECK(arrays->len < UINT16_MAX, ValueError, NULL, "%s: too many arrays for an archive", path);
  for (int64_t i = 0; i < arrays->len; ++i)
    TN_TRY(put_member(&file, &directory, tn_cstr((const tn_str *)arrays->entries[i].key.v.obj),
                      tn_tensor_dl((const tn_tensor *)arrays->entries[i].value.v.obj)));
  size_t at = file.len;
  TN_CHECK(at < UINT32_MAX - directory.len, ValueError, NULL, "%s: more than 4 GB", path);
  tn_buf_put(&file, directory.data ? directory.data : "", directory.len);
  tn_buf_u32(&file, END);
  tn_buf_pad(&file, '\0', 4);
  put16(&file, (uint32_t)arrays->len);
  put16(&file, (uint32_t)arrays->len);
  tn_buf_u32(&file, (uint32_t)directory.len);
  tn_buf_u32(&file, (uint32_t)at);
  put16(&file, 0);
  TN_TRY(tn_buf_ok(&file));
  return cli_write_file(path, file.data, file.len);
}
