#include "base/json.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"

typedef struct {
  tn_json *j;
  const char *p, *end;
  tn_json_at open; /* innermost container that is not closed, whose `end` names the one around it */
  bool any;        /* is anything open? (the root's position is 0) */
} parser;

static int fail(const parser *s, const char *what) {
  int line = 1, column = 1;
  for (const char *q = s->j->text; q < s->p; ++q) {
    ++column;
    if (*q == '\n') ++line, column = 1;
  }
  return TN_RAISE(ValueError, NULL, "JSON: line %d, column %d: %s", line, column, what);
}

static void blank(parser *s) {
  while (s->p < s->end && (*s->p == ' ' || *s->p == '\n' || *s->p == '\r' || *s->p == '\t')) ++s->p;
}

/* ---- tokens ---- */

static int add(parser *s, tn_json_kind kind, const char *start, size_t size, bool escaped) {
  tn_json *j = s->j;
  TN_GROW(j->tokens, j->cap, j->ntoken + 1, return -1);
  j->tokens[j->ntoken] = (tn_json_token){(uint32_t)(start - j->text), (uint32_t)size,
                                         (tn_json_at)(j->ntoken + 1), (uint8_t)kind, escaped};
  j->ntoken++;
  return 0;
}

static bool is_digit(const parser *s) { return s->p < s->end && *s->p >= '0' && *s->p <= '9'; }

static bool digits(parser *s) {
  if (!is_digit(s)) return false;
  while (is_digit(s)) ++s->p;
  return true;
}

/* number = [ "-" ] ( "0" | digit1-9 *digit ) [ "." 1*digit ] [ e [ "+" | "-" ] 1*digit ] */
static int number(parser *s) {
  const char *start = s->p;
  if (*s->p == '-') ++s->p;
  if (s->p < s->end && *s->p == '0') ++s->p;
  else if (!digits(s)) return fail(s, "expected a digit");
  if (s->p < s->end && *s->p == '.') {
    ++s->p;
    if (!digits(s)) return fail(s, "expected a digit after the point");
  }
  if (s->p < s->end && (*s->p == 'e' || *s->p == 'E')) {
    ++s->p;
    if (s->p < s->end && (*s->p == '+' || *s->p == '-')) ++s->p;
    if (!digits(s)) return fail(s, "expected a digit in the exponent");
  }
  return add(s, TN_JSON_NUMBER, start, (size_t)(s->p - start), false);
}

/* Value of four hexadecimal digits, or -1. */
static int32_t hex4(const char *p, const char *end) {
  int32_t x = 0;
  if (end - p < 4) return -1;
  for (int i = 0; i < 4; ++i) {
    int c = p[i], d = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                             : -1;
    if (d < 0) return -1;
    x = x << 4 | d;
  }
  return x;
}

/* Code point of the escape whose \u is at p, and its length; a pair of surrogates is one character.
   -1 when it is malformed. */
static int32_t unicode(const char *p, const char *end, int *length) {
  int32_t high = hex4(p + 2, end), low;
  *length = 6;
  if (high < 0xd800 || high >= 0xe000) return high;
  if (high >= 0xdc00 || end - p < 12 || p[6] != '\\' || p[7] != 'u') return -1;
  *length = 12;
  low = hex4(p + 8, end);
  return low < 0xdc00 || low >= 0xe000 ? -1 : 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
}

static int string(parser *s) {
  const char *start = ++s->p;
  bool escaped = false;
  int length;
  for (; s->p < s->end && *s->p != '"'; ++s->p) {
    if ((unsigned char)*s->p < 0x20) return fail(s, "control character in a string");
    if (*s->p != '\\') continue;
    escaped = true;
    if (s->p + 1 < s->end && s->p[1] == 'u') {
      if (unicode(s->p, s->end, &length) < 0) return fail(s, "malformed \\u escape");
      s->p += length - 1;
    } else if (s->p + 1 < s->end && strchr("\"\\/bfnrt", s->p[1]) && s->p[1]) {
      ++s->p;
    } else {
      return fail(s, "unknown escape");
    }
  }
  if (s->p == s->end) return fail(s, "the string has no end");
  size_t n = (size_t)(s->p - start);
  if (!tn_utf8_valid(start, n)) return fail(s, "the string before is not UTF-8");
  ++s->p;
  return add(s, TN_JSON_STRING, start, n, escaped);
}

static int word(parser *s, const char *text, tn_json_kind kind) {
  size_t n = strlen(text);
  if ((size_t)(s->end - s->p) < n || memcmp(s->p, text, n) != 0) return fail(s, "expected a value");
  s->p += n;
  return add(s, kind, s->p - n, n, false);
}

static int open_container(parser *s, tn_json_kind kind) {
  TN_TRY(add(s, kind, s->p, 0, s->any));
  tn_json_at x = (tn_json_at)(s->j->ntoken - 1);
  s->j->tokens[x].end = s->open; /* until it is closed; `escaped` says whether anything is around */
  s->open = x;
  s->any = true;
  ++s->p;
  return 0;
}

static void close_container(parser *s) {
  tn_json_token *t = &s->j->tokens[s->open];
  s->open = t->end;
  s->any = t->escaped;
  t->escaped = false;
  t->end = (tn_json_at)s->j->ntoken;
  ++s->p;
}

static int value(parser *s) {
  if (s->p == s->end) return fail(s, "expected a value");
  switch (*s->p) {
  case '{': return open_container(s, TN_JSON_OBJECT);
  case '[': return open_container(s, TN_JSON_ARRAY);
  case '"': return string(s);
  case 't': return word(s, "true", TN_JSON_TRUE);
  case 'f': return word(s, "false", TN_JSON_FALSE);
  case 'n': return word(s, "null", TN_JSON_NULL);
  default: return *s->p == '-' || is_digit(s) ? number(s) : fail(s, "expected a value");
  }
}

/* key ":" value, or the value alone in an array */
static int element(parser *s) {
  tn_json_token *t = &s->j->tokens[s->open];
  t->size++;
  if (t->kind == TN_JSON_OBJECT) {
    if (s->p == s->end || *s->p != '"') return fail(s, "expected a name in quotes");
    TN_TRY(string(s));
    blank(s);
    if (s->p == s->end || *s->p != ':') return fail(s, "expected ':'");
    ++s->p;
    blank(s);
  }
  return value(s);
}

/* What follows a value or an opening bracket, up to the next value. */
static int step(parser *s, bool opened) {
  bool object = s->j->tokens[s->open].kind == TN_JSON_OBJECT;
  blank(s);
  if (s->p < s->end && *s->p == (object ? '}' : ']')) {
    close_container(s);
    return 0;
  }
  if (!opened) {
    if (s->p == s->end || *s->p != ',')
      return fail(s, object ? "expected ',' or '}'" : "expected ',' or ']'");
    ++s->p;
    blank(s);
  }
  return element(s);
}

int tn_json_parse(tn_json *out, const char *text, size_t n) {
  *out = (tn_json){.text = text};
  parser s = {out, text, text + n, 0, false};
  TN_CHECK(n < UINT32_MAX, ValueError, NULL, "JSON: the text is longer than 4 GB");
  blank(&s);
  TN_TRY(value(&s));
  while (s.any) {
    const tn_json_token *t = &out->tokens[s.open];
    TN_TRY(step(&s, t->size == 0));
  }
  blank(&s);
  return s.p == s.end ? 0 : fail(&s, "expected the end of the text");
}

void tn_json_fini(tn_json *j) {
  tn_free(j->tokens);
  *j = (tn_json){0};
}

/* ---- reading ---- */

static bool is_container(const tn_json_token *t) {
  return t->kind == TN_JSON_ARRAY || t->kind == TN_JSON_OBJECT;
}

int64_t tn_json_count(const tn_json *j, tn_json_at x) {
  return is_container(&j->tokens[x]) ? j->tokens[x].size : 0;
}

tn_json_at tn_json_first(const tn_json *j, tn_json_at container) {
  return tn_json_count(j, container) ? container + 1 : 0;
}

tn_json_at tn_json_after(const tn_json *j, tn_json_at container, tn_json_at x) {
  const tn_json_token *t = &j->tokens[container];
  tn_json_at next = j->tokens[t->kind == TN_JSON_OBJECT ? x + 1 : x].end;
  return next < t->end ? next : 0;
}

tn_bytes_view tn_json_raw(const tn_json *j, tn_json_at x) {
  const tn_json_token *t = &j->tokens[x];
  return (tn_bytes_view){(const uint8_t *)j->text + t->start, t->size};
}

/* Bytes of a character (at most 4). */
static size_t utf8(uint32_t c, char out[4]) {
  size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
  for (size_t i = n; i-- > 1; c >>= 6) out[i] = (char)(0x80 | (c & 0x3f));
  out[0] = (char)(n == 1 ? c : (0xf00U >> n & 0xff) | c);
  return n;
}

/* What the escape at *p stands for; *p moves behind it. */
static size_t unescape(const char **p, const char *end, char out[4]) {
  static const char letters[] = "bfnrt", controls[] = "\b\f\n\r\t";
  const char *slash = *p, *letter = strchr(letters, slash[1]);
  int length = 2;
  size_t n = 1;
  if (slash[1] == 'u') n = utf8((uint32_t)unicode(slash, end, &length), out);
  else out[0] = letter ? controls[letter - letters] : slash[1];
  *p = slash + length;
  return n;
}

void tn_json_text(const tn_json *j, tn_json_at x, tn_buf *out) {
  tn_bytes_view raw = tn_json_raw(j, x);
  const char *p = (const char *)raw.data, *end = p + raw.size;
  char c[4];
  while (p < end) {
    const char *slash = memchr(p, '\\', (size_t)(end - p));
    tn_buf_put(out, p, (size_t)((slash ? slash : end) - p));
    if (!slash) return;
    p = slash;
    size_t n = unescape(&p, end, c);
    tn_buf_put(out, c, n);
  }
}

/* Without a copy: looking for a member must not fail. */
static bool has_text(const tn_json *j, tn_json_at x, const char *text) {
  tn_bytes_view raw = tn_json_raw(j, x);
  size_t left = strlen(text);
  if (!j->tokens[x].escaped) return raw.size == left && memcmp(raw.data, text, left) == 0;
  const char *p = (const char *)raw.data, *end = p + raw.size;
  for (char c[4]; p < end;) {
    size_t n = 1;
    if (*p == '\\') n = unescape(&p, end, c);
    else c[0] = *p++;
    if (n > left || memcmp(c, text, n) != 0) return false;
    text += n;
    left -= n;
  }
  return left == 0;
}

tn_json_at tn_json_member(const tn_json *j, tn_json_at object, const char *name) {
  if (j->tokens[object].kind != TN_JSON_OBJECT) return 0;
  for (tn_json_at x = tn_json_first(j, object); x; x = tn_json_after(j, object, x)) {
    if (has_text(j, x, name)) return x + 1;
  }
  return 0;
}

bool tn_text_int(const char *text, size_t n, int64_t *out) {
  bool minus = n > 0 && text[0] == '-';
  int64_t x = 0; /* built below zero, where there is one number more */
  if (n == (size_t)minus) return false;
  for (size_t i = minus; i < n; ++i) {
    if (text[i] < '0' || text[i] > '9' || __builtin_mul_overflow(x, 10, &x) ||
        __builtin_sub_overflow(x, text[i] - '0', &x))
      return false;
  }
  if (!minus && x == INT64_MIN) return false;
  *out = minus ? x : -x;
  return true;
}

bool tn_json_int(const tn_json *j, tn_json_at x, int64_t *out) {
  if (j->tokens[x].kind != TN_JSON_NUMBER) return false;
  tn_bytes_view raw = tn_json_raw(j, x);
  return tn_text_int((const char *)raw.data, raw.size, out);
}
