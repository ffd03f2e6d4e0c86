/* Numbers, and the values of attributes: 3, 1e-05f, "NCHW", [1, 1], {"k": 2}, True, None,
 * meta[...][0]. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/number.h"
#include "base/scope.h"
#include "base/stack.h"
#include "ir/imm.h"
#include "ir/module.h"
#include "object/functions.h"
#include "relay/text/parse_impl.h"

/* ---- numbers ---- */

typedef struct {
  bool is_float;
  int64_t i;
  double f;
  tn_dtype type;
  bool typed; /* it has a suffix that names the bits */
} number;

static int read_suffix(rt *p, const rt_token *t, number *n) {
  const char *s = t->text + t->suffix;
  int len = t->len - t->suffix, bits = 0;
  n->is_float = t->kind == RT_FLOAT;
  n->type = n->is_float ? TN_F32 : TN_I32;
  if (len == 0) return 0;
  char kind = s[0];
  for (int i = 1; i < len && i < 4; ++i)
    bits = s[i] >= '0' && s[i] <= '9' ? bits * 10 + (s[i] - '0') : -1000;
  n->typed = len > 1;
  bool ok = kind == 'f' ? len == 1 || bits == 16 || bits == 32 || bits == 64
                        : (kind == 'i' || kind == 'u') && !n->is_float &&
                              ((kind == 'i' && len == 1) || bits == 8 || bits == 16 || bits == 32 ||
                               bits == 64);
  if (!ok || len > 3) return rt_fail(p, t, "invalid numeric suffix `%.*s`", len < 20 ? len : 20, s);
  n->is_float = kind == 'f';
  if (len == 1) bits = 32;
  n->type = tn_dtype_of(kind == 'f' ? kDLFloat : kind == 'i' ? kDLInt : kDLUInt, bits, 1);
  return 0;
}

static int read_int(rt *p, const rt_token *t, bool negative, number *n) {
  uint64_t v = 0, limit = (uint64_t)INT64_MAX + negative;
  for (int i = 0; i < t->suffix; ++i) {
    uint64_t d = (uint64_t)(t->text[i] - '0');
    if (v > (UINT64_MAX - d) / 10 || v * 10 + d > limit)
      return rt_fail(p, t, "invalid integer number `%.*s`", t->len < 60 ? t->len : 60, t->text);
    v = v * 10 + d;
  }
  n->i = negative ? (int64_t)(0 - v) : (int64_t)v;
  if (t->len == t->suffix && n->i != (int32_t)n->i) n->type = TN_I64;
  int bits = n->type.bits;
  int64_t most = n->type.code == kDLUInt ? (bits == 64 ? INT64_MAX : (INT64_C(1) << bits) - 1)
                 : bits == 64            ? INT64_MAX
                                         : (INT64_C(1) << (bits - 1)) - 1;
  int64_t least = n->type.code == kDLUInt ? 0 : -most - 1;
  if (n->i < least || n->i > most)
    return rt_fail(p, t, "integer number %lld is unrepresentable in width %d", (long long)n->i,
                   bits);
  return 0;
}

static int read_float(rt *p, const rt_token *t, bool negative, number *n) {
  const char *text;
  char *end;
  TN_GET(text, tn_arena_strndup(&p->arena, t->text, (size_t)t->suffix));
  double v = tn_strtod(text, &end);
  if (*end || end == text) return rt_fail(p, t, "invalid floating point number `%s`", text);
  if (isinf(v) || v > ir_float_limit(n->type))
    return rt_fail(p, t, "floating point number %s is unrepresentable in width %d", text,
                   n->type.bits);
  n->f = negative ? -v : v;
  return 0;
}

static int read_number(rt *p, bool negative, number *n) {
  rt_token t = p->tok;
  *n = (number){0};
  int err = read_suffix(p, &t, n);
  if (!err) err = n->is_float ? read_float(p, &t, negative, n) : read_int(p, &t, negative, n);
  if (err && !rt_goes_on(p)) return -1;
  if (err) *n = (number){.type = TN_I32};
  return rt_next(p);
}

relay_expr *rt_number(rt *p, bool negative) {
  number n;
  rt_token first = p->tok;
  relay_expr *e;
  TN_TRYP(read_number(p, negative, &n));
  if (n.is_float) e = (relay_expr *)relay_const_float(n.type, n.f);
  else e = (relay_expr *)relay_const_int(n.type, n.i);
  rt_place(e, rt_span_from(p, &first));
  return e;
}

int rt_number_value(rt *p, bool negative, tn_any *out) {
  number n;
  tn_expr *e;
  TN_TRY(read_number(p, negative, &n));
  if (n.is_float && !n.typed) {
    *out = tn_any_float(n.f);
    return 0;
  }
  TN_GET(e, n.is_float ? tir_float(n.type, n.f) : tir_int(n.type, n.i));
  *out = tn_any_obj(e);
  return 0;
}

/* ---- other values ---- */

static int hex(char c) {
  return c >= '0' && c <= '9'   ? c - '0'
         : c >= 'a' && c <= 'f' ? c - 'a' + 10
         : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                : -1;
}

/* The content of a quoted text. */
static int unquote(const rt_token *t, tn_buf *out) {
  for (const char *c = t->text + 1, *end = t->text + t->len - 1; c < end; ++c) {
    if (*c != '\\' || c + 1 >= end) {
      tn_buf_putc(out, *c);
      continue;
    }
    ++c;
    if (*c == 'x' && c + 2 < end && hex(c[1]) >= 0 && hex(c[2]) >= 0) {
      tn_buf_putc(out, (char)(hex(c[1]) * 16 + hex(c[2])));
      c += 2;
    } else tn_buf_putc(out, *c == 'n' ? '\n' : *c == 't' ? '\t' : *c == 'r' ? '\r' : *c);
  }
  return tn_buf_ok(out);
}

static int text_value(const rt_token *t, tn_any *out) {
  TN_BUF(b);
  tn_str *s;
  TN_TRY(unquote(t, &b));
  TN_GET(s, tn_scope_own(tn_str_new_n(tn_buf_cstr(&b), b.len)));
  *out = tn_any_obj(s);
  return 0;
}

static int list_value(rt *p, const char *close, tn_any *out) {
  TN_VEC(items);
  bool more = true;
  TN_TRY(rt_next(p));
  while (more && !rt_is(p, close)) {
    tn_any item;
    TN_TRY(rt_value(p, &item));
    TN_TRY(tn_vec_push(&items, item));
    TN_TRY(rt_accept(p, ",", &more));
  }
  TN_TRY(rt_expect(p, close));
  tn_arr *a;
  TN_GET(a, tn_arr_from(&items));
  *out = tn_any_obj(a);
  return 0;
}

static int map_value(rt *p, tn_any *out) {
  tn_map *m;
  bool more = true, colon;
  TN_GET(m, tn_scope_own(tn_map_new()));
  TN_TRY(rt_next(p));
  while (more && !rt_is(p, "}")) {
    tn_any key, value;
    TN_TRY(rt_value(p, &key));
    TN_TRY(rt_accept(p, ":", &colon));
    if (!colon) TN_TRY(rt_expect(p, "="));
    TN_TRY(rt_value(p, &value));
    TN_TRY(tn_map_set(m, key, value));
    TN_TRY(rt_accept(p, ",", &more));
  }
  TN_TRY(rt_expect(p, "}"));
  *out = tn_any_obj(m);
  return 0;
}

/* True, False, None, inf, nan; any other word stands for its text (data types without quotes). */
static int word_value(rt *p, const rt_token *t, bool negative, tn_any *out) {
  const char *w;
  TN_GET(w, rt_text(p, t));
  if (strcmp(w, "True") == 0 || strcmp(w, "False") == 0) {
    tn_expr *e;
    TN_GET(e, tir_bool(w[0] == 'T'));
    *out = tn_any_obj(e);
  } else if (strcmp(w, "None") == 0) *out = tn_any_none();
  else if (strncmp(w, "inf", 3) == 0) *out = tn_any_float(negative ? -INFINITY : INFINITY);
  else if (strncmp(w, "nan", 3) == 0) *out = tn_any_float(NAN);
  else {
    tn_str *s;
    TN_GET(s, tn_str_from(w));
    *out = tn_any_obj(s);
  }
  return 0;
}

int rt_value(rt *p, tn_any *out) {
  bool negative = false, minus;
  TN_TRY(tn_stack_check("an attribute"));
  for (;;) {
    TN_TRY(rt_accept(p, "-", &minus));
    if (!minus) break;
    negative = !negative;
  }
  rt_token t = p->tok;
  if (t.kind == RT_INT || t.kind == RT_FLOAT) return rt_number_value(p, negative, out);
  if (rt_is(p, "[")) return list_value(p, "]", out);
  if (rt_is(p, "(")) return list_value(p, ")", out);
  if (rt_is(p, "{")) return map_value(p, out);
  bool any = rt_is(p, "?");
  if (t.kind != RT_NAME && t.kind != RT_STR && t.kind != RT_META && !any)
    return rt_fail(p, &t, "expected an attribute's value, got %s", rt_describe(p, &t));
  TN_TRY(rt_next(p));
  if (t.kind == RT_NAME) return word_value(p, &t, negative, out);
  if (t.kind == RT_STR) return text_value(&t, out);
  tn_obj *o;
  TN_GET(o, any ? (tn_obj *)relay_any() : rt_meta_object(p, &t));
  *out = tn_any_obj(o);
  return 0;
}

int rt_attribute(rt *p, tn_map *out) {
  rt_token t = p->tok;
  tn_any key, value, old;
  if (t.kind == RT_STR) TN_TRY(text_value(&t, &key));
  else if (t.kind == RT_NAME) key = tn_any_cstr(rt_text(p, &t));
  else
    return rt_fail(p, &t, "expected an attribute (name=value) after the first one, got %s",
                   rt_describe(p, &t));
  TN_TRY(rt_next(p));
  TN_TRY(rt_expect(p, "="));
  TN_TRY(rt_value(p, &value));
  if (tn_map_get(out, key, &old))
    return rt_fail(p, &t, "the attribute %s is given twice", rt_describe(p, &t));
  return tn_map_set(out, key, value);
}

int rt_attributes(rt *p, tn_map *out) {
  bool more = true;
  while (more && !rt_is(p, ")")) {
    TN_TRY(rt_attribute(p, out));
    TN_TRY(rt_accept(p, ",", &more));
  }
  return 0;
}

/* ---- attributes of operators ---- */

static int make_node(const tn_type *type, const tn_map *values, tn_Attrs **out) {
  enum { MAX = 64 };
  const char *names[MAX];
  tn_any items[MAX];
  int n = 0;
  TN_CHECK(values->len <= MAX, ValueError, NULL, "more than %d attributes", MAX);
  for (int64_t i = 0; i < values->len; ++i) {
    names[n] = tn_cstr((const tn_str *)values->entries[i].key.v.obj);
    items[n++] = values->entries[i].value;
  }
  TN_GET(*out, (tn_Attrs *)tn_scope_own(tn_node_make(type, n, names, items)));
  return 0;
}

int rt_make_attrs(rt *p, const char *type_key, const tn_map *values, const rt_token *at,
                  tn_Attrs **out) {
  *out = NULL;
  if (!*type_key) {
    if (values->len == 0) return 0;
    return rt_fail(p, at, "%s takes no attributes, got %s", rt_describe(p, at),
                   tn_cstr((const tn_str *)values->entries[0].key.v.obj));
  }
  if (strcmp(type_key, "DictAttrs") == 0) {
    TN_GET(*out, (tn_Attrs *)ir_attrs_new((tn_map *)(uintptr_t)values));
    return 0;
  }
  uint32_t index = tn_type_find(type_key);
  const tn_type *type = index ? tn_type_get(index) : NULL;
  if (!type) return rt_fail(p, at, "unknown type of attributes `%s`", type_key);
  if (make_node(type, values, out) == 0) return 0;
  TN_BUF(why);
  tn_buf_puts(&why, tn_error_message());
  TN_TRY(tn_buf_ok(&why));
  return rt_fail(p, at, "%s", tn_buf_cstr(&why));
}
