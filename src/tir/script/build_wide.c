/* Integers that need more than 64 bits on the way: 2**64 - 1 is a uint64. Only what is written with
   numbers alone; Python's integers have no limit, and programs write limits of types like that. */
#include <stdlib.h>
#include <string.h>

#include "tir/script/build_impl.h"

__extension__ typedef __int128 wide;

static bool wide_power(wide x, wide n, wide *out) {
  if (n < 0 || n > 128) return false;
  for (*out = 1; n > 0; --n)
    if (__builtin_mul_overflow(*out, x, out)) return false;
  return true;
}

static bool wide_digits(const char *s, wide *out) {
  *out = 0;
  if (s[0] == '0' && s[1]) { /* 0x.., 0b.., 0o..: as far as they fit 64 bits */
    int base = strchr("xX", s[1]) ? 16 : strchr("bB", s[1]) ? 2 : strchr("oO", s[1]) ? 8 : 0;
    if (!base || strchr(s, '_') || strlen(s) > 66) return false;
    unsigned long long x = strtoull(s + 2, NULL, base);
    *out = x;
    return x < UINT64_MAX || strlen(s) <= (base == 16 ? 18 : base == 8 ? 24 : 66);
  }
  for (; *s; ++s) {
    if (*s == '_') continue;
    if (*s < '0' || *s > '9' || *out > (((wide)1) << 120) / 10) return false;
    *out = *out * 10 + (*s - '0');
  }
  return true;
}

static bool wide_value(const ast *n, int depth, wide *out) {
  wide x, y;
  if (depth > 64) return false;
  if (n->kind == AST_INT) return wide_digits(n->text, out);
  if (n->kind == AST_UNARY && !strcmp(n->text, "-"))
    return wide_value(n->a, depth + 1, &x) && !__builtin_sub_overflow((wide)0, x, out);
  if (n->kind != AST_BINARY) return false;
  if (!wide_value(n->a, depth + 1, &x) || !wide_value(n->b, depth + 1, &y)) return false;
  if (!strcmp(n->text, "+")) return !__builtin_add_overflow(x, y, out);
  if (!strcmp(n->text, "-")) return !__builtin_sub_overflow(x, y, out);
  if (!strcmp(n->text, "*")) return !__builtin_mul_overflow(x, y, out);
  if (!strcmp(n->text, "**")) return wide_power(x, y, out);
  if (!strcmp(n->text, "<<") && x >= 0 && y >= 0 && y < 64 && x >> 63 == 0)
    return *out = x << y, true;
  return false;
}

int build_wide(const ast *n, val *out) {
  wide x;
  if (!wide_value(n, 0, &x) || x < INT64_MIN || x > UINT64_MAX) return 1;
  if (x <= INT64_MAX) {
    *out = PLAIN(tn_any_int((int64_t)x));
    return 0;
  }
  tn_expr *e;
  TN_GET(e, tir_uint64((uint64_t)x));
  *out = PLAIN_OBJ(e);
  return 0;
}
