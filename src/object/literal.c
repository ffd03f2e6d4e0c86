/* Default values in field tables: "1", "-2.5", "\"NCHW\"", "True", "None", "[1, 1]", "{}". */
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "object/containers.h"

static void blank(const char **p) {
  while (**p == ' ') ++*p;
}

static int literal(const char **p, tn_any *out);

static int list(const char **p, tn_any *out) {
  tn_any items[32];
  int n = 0, err = 0;
  ++*p;
  for (blank(p); **p && **p != ']' && n < 32 && !err; blank(p)) {
    err = literal(p, &items[n]);
    n += !err;
    blank(p);
    if (**p == ',') ++*p;
  }
  if (!err && **p == ']') {
    ++*p;
    /* elements become objects as they do from Python: small boxes (immediates once the IR is there)
     */
    for (int i = 0; i < n && !err; ++i)
      err = tn_any_is_obj(&items[i]) ? 0 : tn_scalar_box(&items[i], "Object");
    tn_arr *a = err ? NULL : tn_arr_new(items, n);
    err = !a;
    if (a) *out = tn_any_obj(a);
  } else {
    err = -1;
  }
  while (n > 0) tn_any_release(&items[--n]);
  return err;
}

static int text(const char **p, tn_any *out) {
  const char *start = ++*p;
  while (**p && **p != '"') ++*p;
  if (!**p) return -1;
  tn_str *s = tn_str_new_n(start, (size_t)(*p - start));
  ++*p;
  if (!s) return -1;
  *out = tn_any_obj(s);
  return 0;
}

static int number(const char **p, tn_any *out) {
  char *end, *fend;
  long long i = strtoll(*p, &end, 10);
  double f = tn_strtod(*p, &fend);
  if (fend == *p) return -1;
  *out = fend > end ? tn_any_float(f) : tn_any_int(i);
  *p = fend;
  return 0;
}

static bool word(const char **p, const char *w) {
  size_t n = strlen(w);
  if (strncmp(*p, w, n) != 0) return false;
  *p += n;
  return true;
}

static int literal(const char **p, tn_any *out) {
  *out = tn_any_none();
  blank(p);
  if (**p == '[') return list(p, out);
  if (**p == '"') return text(p, out);
  if (word(p, "{}")) {
    tn_map *m = tn_map_new();
    *out = tn_any_obj(m);
    return m ? 0 : -1;
  }
  if (word(p, "None")) return 0;
  if (word(p, "True")) return *out = tn_any_bool(true), 0;
  if (word(p, "False")) return *out = tn_any_bool(false), 0;
  return number(p, out);
}

int tn_literal_parse(const char *s, tn_any *out) {
  const char *p = s;
  int err = literal(&p, out);
  blank(&p);
  if (!err && !*p) return 0;
  if (!err) tn_any_release(out);
  if (tn_error_pending()) return -1;
  return TN_RAISE(InternalError, NULL, "field default is not a literal: %s", s);
}
