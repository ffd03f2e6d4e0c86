/* Tokens of Relay text, one ahead of the parser. */
#include <string.h>

#include "base/error.h"
#include "relay/text/parse_impl.h"

void rt_lex_start(rt_lexer *l, const char *text, size_t n) {
  *l = (rt_lexer){.text = text, .at = text, .end = text + n, .line = 1, .line_start = text};
}

static bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static char peek(const rt_lexer *l, int ahead) {
  return l->end - l->at > ahead ? l->at[ahead] : '\0';
}

static void step(rt_lexer *l) {
  if (*l->at++ != '\n') return;
  ++l->line;
  l->line_start = l->at;
}

static void start_token(const rt_lexer *l, rt_token *t) {
  *t = (rt_token){.text = l->at, .line = l->line, .col = (int)(l->at - l->line_start) + 1};
}

static void end_token(const rt_lexer *l, rt_token *t) {
  t->len = (int)(l->at - t->text);
  t->end_line = l->line;
  t->end_col = (int)(l->at - l->line_start) + 1;
}

/* Comments nest. */
static int skip_comment(rt *p) {
  rt_lexer *l = &p->lexer;
  rt_token begin;
  start_token(l, &begin);
  int depth = 0;
  do {
    if (peek(l, 0) == '/' && peek(l, 1) == '*') ++depth, ++l->at;
    else if (peek(l, 0) == '*' && peek(l, 1) == '/') --depth, ++l->at;
    else if (l->at >= l->end) {
      end_token(l, &begin);
      begin.len = 2;
      return rt_fail(p, &begin, "this comment does not end");
    }
    step(l);
  } while (depth > 0);
  return 0;
}

static int skip_space(rt *p) {
  rt_lexer *l = &p->lexer;
  while (l->at < l->end) {
    char c = *l->at;
    if (c == ' ' || c == '\t' || c == '\n' || c == '\r') step(l);
    else if (c == '/' && peek(l, 1) == '/')
      while (l->at < l->end && *l->at != '\n') ++l->at;
    else if (c == '/' && peek(l, 1) == '*') TN_TRY(skip_comment(p));
    else break;
  }
  return 0;
}

static void lex_word(rt_lexer *l, bool dots) {
  while (is_letter(peek(l, 0)) || is_digit(peek(l, 0)) ||
         (dots && peek(l, 0) == '.' && is_letter(peek(l, 1))))
    ++l->at;
}

/* digits, fraction, exponent, suffix */
static void lex_number(rt_lexer *l, rt_token *t) {
  t->kind = RT_INT;
  while (is_digit(peek(l, 0))) ++l->at;
  if (peek(l, 0) == '.' && !l->after_dot) {
    t->kind = RT_FLOAT;
    for (++l->at; is_digit(peek(l, 0));) ++l->at;
  }
  char sign = peek(l, 1);
  bool exponent = (peek(l, 0) == 'e' || peek(l, 0) == 'E') &&
                  (is_digit(sign) || ((sign == '-' || sign == '+') && is_digit(peek(l, 2))));
  if (exponent && !l->after_dot) {
    t->kind = RT_FLOAT;
    for (l->at += 2; is_digit(peek(l, 0));) ++l->at;
  }
  t->suffix = (int)(l->at - t->text);
  if (!l->after_dot) lex_word(l, false);
  if (t->text[t->suffix] == 'f' && l->at - t->text > t->suffix) t->kind = RT_FLOAT;
}

static int lex_string(rt *p, rt_token *t) {
  rt_lexer *l = &p->lexer;
  t->kind = RT_STR;
  for (++l->at; l->at < l->end && *l->at != '"'; step(l))
    if (*l->at == '\\' && l->at + 1 < l->end) ++l->at;
  if (l->at >= l->end) {
    end_token(l, t);
    t->len = 1;
    t->end_line = t->line;
    return rt_fail(p, t, "this text does not end");
  }
  ++l->at;
  return 0;
}

/* %x, %0, @main, @"any name" */
static int lex_sigil(rt *p, rt_token *t, char sigil) {
  rt_lexer *l = &p->lexer;
  ++l->at;
  t->text = l->at;
  if (sigil == '%' && is_digit(peek(l, 0))) {
    t->kind = RT_GRAPH;
    for (; is_digit(peek(l, 0)) && t->number < INT64_MAX / 16; ++l->at)
      t->number = t->number * 10 + (*l->at - '0');
    return 0;
  }
  t->kind = sigil == '%' ? RT_LOCAL : RT_GLOBAL;
  if (sigil == '@' && peek(l, 0) == '"') {
    for (++l->at; l->at < l->end && *l->at != '"' && *l->at != '\n';) ++l->at;
    ++t->text;
    t->len = (int)(l->at - t->text);
    if (peek(l, 0) == '"') ++l->at;
    return 0;
  }
  lex_word(l, sigil == '@');
  if (l->at > t->text) return 0;
  end_token(l, t);
  return rt_fail(p, t,
                 sigil == '%' ? "expected a name or number after %%" : "expected a name after @");
}

/* meta[relay.Constant][0] */
static int lex_meta(rt *p, rt_token *t) {
  rt_lexer *l = &p->lexer;
  t->kind = RT_META;
  ++l->at;
  t->text = l->at;
  lex_word(l, true);
  t->len = (int)(l->at - t->text);
  bool ok = t->len > 0 && peek(l, 0) == ']' && peek(l, 1) == '[' && is_digit(peek(l, 2));
  if (ok)
    for (l->at += 2; is_digit(peek(l, 0)) && t->number < INT64_MAX / 16; ++l->at)
      t->number = t->number * 10 + (*l->at - '0');
  ok = ok && peek(l, 0) == ']';
  if (ok) ++l->at;
  t->end_line = l->line;
  t->end_col = (int)(l->at - l->line_start) + 1;
  return ok ? 0 : rt_fail(p, t, "a reference to the metadata looks like meta[relay.Constant][0]");
}

static int lex_punctuation(rt *p, rt_token *t) {
  static const char *const two[] = {"->", "=>", "==", "!=", "<=", ">="};
  rt_lexer *l = &p->lexer;
  t->kind = RT_OP;
  for (int i = 0; i < (int)(sizeof two / sizeof *two); ++i) {
    if (peek(l, 0) != two[i][0] || peek(l, 1) != two[i][1]) continue;
    memcpy(t->op, two[i], 3);
    l->at += 2;
    return 0;
  }
  if (strchr("()[]{}<>,:;=+-*/.?&#", *l->at)) {
    t->op[0] = *l->at++;
    return 0;
  }
  ++l->at;
  end_token(l, t);
  return rt_fail(p, t, "unexpected character '%.*s'", ((unsigned char)*t->text & 0x80) ? 0 : 1,
                 t->text);
}

static int lex_one(rt *p, rt_token *t) {
  rt_lexer *l = &p->lexer;
  char c = *l->at;
  bool after_dot = l->after_dot;
  if (is_digit(c)) lex_number(l, t);
  else if (is_letter(c)) {
    lex_word(l, true);
    t->kind = RT_NAME;
    if (l->at - t->text == 4 && memcmp(t->text, "meta", 4) == 0 && peek(l, 0) == '[') {
      TN_TRY(lex_meta(p, t));
      l->after_dot = false;
      return 0;
    }
  } else if (c == '"') TN_TRY(lex_string(p, t));
  else if (c == '%' || c == '@') TN_TRY(lex_sigil(p, t, c));
  else TN_TRY(lex_punctuation(p, t));
  l->after_dot = !after_dot && t->kind == RT_OP && t->op[0] == '.';
  int len = t->len;
  end_token(l, t);
  if (len) t->len = len; /* a quoted name */
  return 0;
}

int rt_next(rt *p) {
  rt_token t;
  p->last = p->tok;
  TN_TRY(skip_space(p));
  start_token(&p->lexer, &t);
  t.end_line = t.line;
  t.end_col = t.col + 1;
  if (p->lexer.at < p->lexer.end) TN_TRY(lex_one(p, &t));
  p->tok = t;
  return 0;
}
