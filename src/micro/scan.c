#include "micro/scan.h"

static void blank(micro_scan *s) {
  while (s->p < s->end && (*s->p == ' ' || *s->p == '\n' || *s->p == '\t' || *s->p == '\r')) ++s->p;
}

int micro_text_is(micro_text t, const char *name) {
  size_t i = 0;
  for (; i < t.len && name[i] != '\0'; ++i)
    if (t.text[i] != name[i]) return 0;
  return i == t.len && name[i] == '\0';
}

int micro_scan_enter(micro_scan *s, char bracket) {
  blank(s);
  if (s->p >= s->end || *s->p != bracket) return -1;
  ++s->p;
  return 0;
}

int micro_scan_more(micro_scan *s, char closing) {
  blank(s);
  if (s->p < s->end && *s->p == ',') ++s->p;
  blank(s);
  if (s->p >= s->end) return -1;
  if (*s->p != closing) return 1;
  ++s->p;
  return 0;
}

int micro_scan_string(micro_scan *s, micro_text *out) {
  if (micro_scan_enter(s, '"')) return -1;
  out->text = s->p;
  for (; s->p < s->end && *s->p != '"'; ++s->p)
    if (*s->p == '\\' && s->end - s->p > 1) ++s->p;
  if (s->p >= s->end) return -1;
  out->len = (size_t)(s->p - out->text);
  ++s->p;
  return 0;
}

/* A value ends where as many brackets were closed as opened. */
int micro_scan_skip(micro_scan *s) {
  size_t depth = 0;
  micro_text text;
  blank(s);
  if (s->p >= s->end) return -1;
  do {
    const char *before = s->p;
    blank(s);
    if (s->p >= s->end) return -1;
    if (*s->p == '"') {
      if (micro_scan_string(s, &text)) return -1;
    } else if (*s->p == '{' || *s->p == '[') {
      ++depth;
      ++s->p;
    } else if (*s->p == '}' || *s->p == ']') {
      if (depth == 0) return -1;
      --depth;
      ++s->p;
    } else if (depth > 0 && (*s->p == ',' || *s->p == ':')) {
      ++s->p;
    } else {
      while (s->p < s->end && *s->p != ',' && *s->p != ']' && *s->p != '}' && *s->p != ':') ++s->p;
    }
    if (s->p == before) return -1;
  } while (depth > 0);
  return 0;
}

int micro_scan_key(micro_scan *s, micro_text *out) {
  if (micro_scan_string(s, out)) return -1;
  return micro_scan_enter(s, ':');
}

int micro_scan_int(micro_scan *s, int64_t *out) {
  int digits = 0, negative = 0;
  int64_t v = 0;
  blank(s);
  if (s->p < s->end && *s->p == '-') {
    negative = 1;
    ++s->p;
  }
  for (; s->p < s->end && *s->p >= '0' && *s->p <= '9'; ++s->p, ++digits) {
    if (v > (INT64_MAX - 9) / 10) return -1;
    v = v * 10 + (*s->p - '0');
  }
  *out = negative ? -v : v;
  return digits > 0 ? 0 : -1;
}

int micro_scan_member(micro_scan *s, const char *name) {
  micro_text key;
  int more;
  if (micro_scan_enter(s, '{')) return -1;
  while ((more = micro_scan_more(s, '}')) > 0) {
    if (micro_scan_key(s, &key)) return -1;
    if (micro_text_is(key, name)) return 0;
    if (micro_scan_skip(s)) return -1;
  }
  return -1;
}
