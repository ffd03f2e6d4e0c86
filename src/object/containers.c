/* Strings, bytes, arrays, shapes and tuples: immutable, content inline behind the header. Maps are
 * in map.c. */
#include "object/containers.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"

/* An object of a header and n bytes, or NULL (MemoryError, also for a size that cannot be). */
static void *alloc_bytes(const tn_type *type, size_t head, size_t n) {
  if (n <= PTRDIFF_MAX - head) return tn_obj_alloc(type, head + n);
  return (void)tn_raise_no_memory(n), NULL;
}

tn_str *tn_str_new_n(const char *data, size_t n) {
  tn_str *s = alloc_bytes(&tn_type_String, sizeof *s + 1, n);
  if (!s) return NULL;
  if (n) memcpy(s->data, data, n);
  s->data[n] = '\0';
  s->len = n;
  s->hash = tn_hash_bytes(s->data, n);
  return s;
}

tn_str *tn_str_new(const char *cstr) { return tn_str_new_n(cstr, strlen(cstr)); }
const char *tn_str_data(const tn_str *s) { return s->data; }
size_t tn_str_len(const tn_str *s) { return s->len; }
bool tn_str_eq(const tn_str *a, const char *b) { return a && strcmp(a->data, b) == 0; }

tn_str *tn_str_from(const char *cstr) { return tn_scope_own(tn_str_new(cstr)); }

tn_str *tn_str_fmt(const char *fmt, ...) {
  char text[256];
  va_list ap;
  va_start(ap, fmt);
  int n = vsnprintf(text, sizeof text, fmt, ap);
  va_end(ap);
  TN_ICHECKP(n >= 0);
  if (n < (int)sizeof text) return tn_str_from(text);
  TN_AUTOFREE char *longer = tn_alloc((size_t)n + 1);
  if (!longer) return NULL;
  va_start(ap, fmt);
  vsnprintf(longer, (size_t)n + 1, fmt, ap);
  va_end(ap);
  return tn_str_from(longer);
}

tn_bytes *tn_bytes_new(const void *data, size_t n) {
  tn_bytes *b = alloc_bytes(&tn_type_Bytes, sizeof *b, n);
  if (!b) return NULL;
  if (n) memcpy(b->data, data, n);
  b->len = n;
  return b;
}

tn_bytes_view tn_bytes_get(const tn_bytes *b) { return (tn_bytes_view){b->data, b->len}; }

/* Makes n values owned into out; on failure those already made are given up. */
static int own_all(tn_any *out, const tn_any *items, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    if (tn_any_own(&items[i], &out[i]) == 0) continue;
    while (i > 0) tn_any_release(&out[--i]);
    return -1;
  }
  return 0;
}

tn_arr *tn_arr_new(const tn_any *items, int64_t n) {
  size_t size = tn_array_bytes(sizeof(tn_arr), n, sizeof(tn_any));
  TN_CHECKP(size != SIZE_MAX, ValueError, NULL, "array: length %lld is out of range", (long long)n);
  tn_arr *a = tn_obj_alloc(&tn_type_Array, size);
  if (!a) return NULL;
  a->len = n;
  if (own_all(a->items, items, n)) {
    tn_free(a);
    return NULL;
  }
  return a;
}

int64_t tn_arr_len(const tn_arr *a) { return a->len; }
tn_any tn_arr_get(const tn_arr *a, int64_t i) {
  return i >= 0 && i < a->len ? a->items[i] : tn_any_none();
}
tn_arr *tn_arr_from(const tn_vec *v) { return tn_scope_own(tn_arr_new(v->items, v->len)); }

tn_arr *tn_arr_of(int n, ...) {
  TN_VEC(v);
  va_list ap;
  va_start(ap, n);
  int err = 0;
  for (int i = 0; i < n && !err; ++i) {
    const void *o = va_arg(ap, void *);
    /* NULL is None, unless it is what a builder that failed has returned */
    err = (!o && tn_error_pending()) || tn_vec_push_obj(&v, o);
  }
  va_end(ap);
  return err ? NULL : tn_arr_from(&v);
}

tn_shape *tn_shape_new(const int64_t *dims, int64_t n) {
  size_t size = tn_array_bytes(sizeof(tn_shape), n, sizeof(int64_t));
  TN_CHECKP(size != SIZE_MAX, ValueError, NULL, "shape: length %lld is out of range", (long long)n);
  tn_shape *s = tn_obj_alloc(&tn_type_ShapeTuple, size);
  if (!s) return NULL;
  s->len = n;
  if (n) memcpy(s->dims, dims, (size_t)n * sizeof *dims);
  return s;
}

const int64_t *tn_shape_get(const tn_shape *s, int64_t *n) {
  *n = s->len;
  return s->dims;
}

tn_tuple *tn_tuple_new(uint32_t tag, const tn_any *fields, int64_t n) {
  size_t size = tn_array_bytes(sizeof(tn_tuple), n, sizeof(tn_any));
  TN_CHECKP(size != SIZE_MAX, ValueError, NULL, "tuple: length %lld is out of range", (long long)n);
  tn_tuple *t = tn_obj_alloc(&tn_type_ADT, size);
  if (!t) return NULL;
  t->tag = tag;
  t->len = n;
  if (own_all(t->fields, fields, n)) {
    tn_free(t);
    return NULL;
  }
  return t;
}

uint32_t tn_tuple_tag(const tn_tuple *t) { return t->tag; }
int64_t tn_tuple_len(const tn_tuple *t) { return t->len; }
tn_any tn_tuple_get(const tn_tuple *t, int64_t i) {
  return i >= 0 && i < t->len ? t->fields[i] : tn_any_none();
}
