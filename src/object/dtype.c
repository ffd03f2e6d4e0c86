#include "object/dtype.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/lock.h"

/* `bits` is used when the text gives none. Of two names of one start the longer one comes first;
   the first row of a code gives its text. */
static const struct {
  const char *name;
  uint8_t code, bits, fixed; /* fixed: the text carries no number of bits */
} families[] = {
    {"e4m3_float8", kDLFloat8_e4m3fn, 8, 1},
    {"e5m2_float8", kDLFloat8_e5m2, 8, 1},
    {"float8_e4m3fn", kDLFloat8_e4m3fn, 8, 1},
    {"float8_e5m2", kDLFloat8_e5m2, 8, 1},
    {"int", kDLInt, 32, 0},
    {"uint", kDLUInt, 32, 0},
    {"float", kDLFloat, 32, 0},
    {"bfloat", kDLBfloat, 16, 0},
    {"bool", kDLUInt, 1, 1},
    {"handle", kDLOpaqueHandle, 64, 1},
    {"complex", kDLComplex, 64, 0},
};

/* ---- types that programs register ---- */

static char custom[256 - TN_DTYPE_CUSTOM][TN_DTYPE_NAME]; /* written once, then only read */
static tn_lock lock = TN_LOCK_INIT;
static atomic_bool any;

bool tn_dtype_has_custom(void) { return atomic_load(&any); }

const char *tn_dtype_custom_name(int64_t code) {
  if (code < TN_DTYPE_CUSTOM || code > 255) return NULL;
  const char *name = custom[code - TN_DTYPE_CUSTOM];
  tn_lock_read(&lock);
  bool known = *name != '\0';
  tn_unlock(&lock);
  return known ? name : NULL;
}

static int find(const char *name, size_t n) {
  for (int i = 0; i < 256 - TN_DTYPE_CUSTOM; ++i)
    if (n < TN_DTYPE_NAME && n && memcmp(custom[i], name, n) == 0 && !custom[i][n])
      return i + TN_DTYPE_CUSTOM;
  return -1;
}

int tn_dtype_custom_code(const char *name, size_t n) {
  tn_lock_read(&lock);
  int code = find(name, n);
  tn_unlock(&lock);
  return code;
}

int tn_dtype_register(const char *name, int64_t code) {
  size_t n = strlen(name);
  TN_CHECK(code >= TN_DTYPE_CUSTOM && code <= 255, ValueError, NULL,
           "type %.40s: codes of registered types are %d to 255, got %lld", name, TN_DTYPE_CUSTOM,
           (long long)code);
  TN_CHECK(n > 0 && n < TN_DTYPE_NAME && !strpbrk(name, "[]"), ValueError, NULL,
           "\"%.40s\" is not a name of a type: expected 1 to %d characters without brackets", name,
           TN_DTYPE_NAME - 1);
  tn_lock_write(&lock);
  char *slot = custom[code - TN_DTYPE_CUSTOM];
  int before = find(name, n);
  bool good = before == code || (before < 0 && !*slot);
  if (good) memcpy(slot, name, n + 1);
  if (good) atomic_store(&any, true);
  tn_unlock(&lock);
  TN_CHECK(good, ValueError, NULL,
           "type %s with code %lld: the code or the name belongs to another type", name,
           (long long)code);
  return 0;
}

/* ---- text ---- */

/* The whole of a decimal number below 65536, or -1. */
static long number(const char **p, const char *end) {
  long x = 0;
  const char *start = *p;
  while (*p < end && **p >= '0' && **p <= '9') {
    x = x * 10 + (*(*p)++ - '0');
    if (x > 65535) return -1;
  }
  return *p == start ? -1 : x;
}

/* "x4", "xvscalex4" or nothing: the number of lanes as tn_dtype_lanes gives it, 0 when it is none.
 */
static long lanes_of(const char **p, const char *end) {
  static const char scalable[] = "vscalex";
  if (*p == end || **p != 'x') return 1;
  ++*p;
  size_t n = sizeof scalable - 1;
  bool by_vscale = (size_t)(end - *p) > n && memcmp(*p, scalable, n) == 0;
  if (by_vscale) *p += n;
  long lanes = number(p, end);
  if (lanes < 1 || lanes > INT16_MAX) return 0;
  return by_vscale ? -lanes : lanes;
}

static int bad(const char *text, size_t n) {
  return TN_RAISE(ValueError, NULL,
                  "unknown data type \"%.*s\": expected a name such as float32, int8x4, bool, "
                  "bfloat16 or handle",
                  (int)(n < 60 ? n : 60), text);
}

/* custom[name]16x4 */
static int parse_custom(const char *text, const char *end, tn_dtype *out) {
  const char *name = text + strlen("custom["), *p = memchr(name, ']', (size_t)(end - name));
  if (!p) return bad(text, (size_t)(end - text));
  int code = tn_dtype_custom_code(name, (size_t)(p - name));
  if (code < 0)
    return TN_RAISE(TenonError, NULL, "unknown data type \"%.*s\": register it first",
                    (int)(end - text < 60 ? end - text : 60), text);
  ++p;
  long bits = number(&p, end), lanes = lanes_of(&p, end);
  if (p != end || bits < 1 || bits > 255 || lanes == 0) return bad(text, (size_t)(end - text));
  *out = (tn_dtype){(uint8_t)code, (uint8_t)bits, (uint16_t)lanes};
  return 0;
}

int tn_dtype_parse(const char *text, size_t n, tn_dtype *out) {
  const char *p = text, *end = text + n;
  if (n == 0 || (n == 4 && memcmp(text, "void", 4) == 0)) {
    *out = TN_VOID;
    return 0;
  }
  if (n > 7 && memcmp(text, "custom[", 7) == 0) return parse_custom(text, end, out);
  for (size_t i = 0; i < sizeof families / sizeof *families; ++i) {
    size_t len = strlen(families[i].name);
    if (len > n || memcmp(text, families[i].name, len) != 0) continue;
    p = text + len;
    long bits = families[i].bits;
    if (!families[i].fixed && p < end && *p != 'x') bits = number(&p, end);
    long lanes = lanes_of(&p, end);
    if (p != end || bits < 1 || bits > 255 || lanes == 0) break;
    *out = (tn_dtype){families[i].code, (uint8_t)bits, (uint16_t)lanes};
    return 0;
  }
  return bad(text, n);
}

const char *tn_dtype_text(tn_dtype t, char out[TN_DTYPE_TEXT]) {
  char lanes[20] = "";
  if (t.code == kDLOpaqueHandle && t.bits == 0) return memcpy(out, "void", 5);
  int n = tn_dtype_lanes(t);
  if (n != 1) snprintf(lanes, sizeof lanes, n < 0 ? "xvscalex%d" : "x%d", n < 0 ? -n : n);
  if ((t.code == kDLUInt && t.bits == 1) || t.code == kDLBool) {
    snprintf(out, TN_DTYPE_TEXT, "bool%s", lanes);
    return out;
  }
  if (t.code == kDLOpaqueHandle) {
    snprintf(out, TN_DTYPE_TEXT, "handle%s", lanes);
    return out;
  }
  for (size_t i = 0; i < sizeof families / sizeof *families; ++i) {
    if (families[i].code != t.code) continue;
    if (families[i].fixed) snprintf(out, TN_DTYPE_TEXT, "%s%s", families[i].name, lanes);
    else snprintf(out, TN_DTYPE_TEXT, "%s%u%s", families[i].name, t.bits, lanes);
    return out;
  }
  const char *name = tn_dtype_custom_name(t.code);
  if (name) snprintf(out, TN_DTYPE_TEXT, "custom[%s]%u%s", name, t.bits, lanes);
  else snprintf(out, TN_DTYPE_TEXT, "custom[%u]%u%s", t.code, t.bits, lanes);
  return out;
}

int64_t tn_dtype_bytes(tn_dtype t, int64_t n) {
  int64_t bits = t.bits == 1 ? 8 : t.bits, total;
  if (t.code == kDLOpaqueHandle && t.bits == 0) bits = 0;
  if (n < 0 || tn_dtype_is_scalable(t) || __builtin_mul_overflow(n, bits * t.lanes, &total))
    return -1;
  if (total > INT64_MAX - 7) return -1;
  return (total + 7) / 8;
}
