/* Splits TVMScript into tokens. Indentation becomes INDENT and DEDENT as in Python; inside brackets
   line ends count for nothing; comments and blank lines disappear. */
#include "tir/script/lex.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"

enum { MAX_INDENT = 100, MAX_DEPTH = 200 };

typedef struct {
  const ast_source *src;
  tn_arena *arena;
  tok_list out;
  int at, line, line_start; /* byte offset, line number from 1, offset of the line's first byte */
  int indents[MAX_INDENT], nindent;
  int depth; /* open brackets */
} lexer;

static void note_wrong(const ast_source *src, int line, int col, int width, const char *message) {
  ast_wrong *w = src->wrong;
  if (!w) return;
  *w = (ast_wrong){.file = src->file, .line = line, .col = col + src->first_col, .width = width};
  snprintf(w->message, sizeof w->message, "%s", message);
}

int source_error(const ast_source *src, int start, int end, int line, int col, const char *fmt,
                 ...) {
  char message[1024];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(message, sizeof message, fmt, ap);
  va_end(ap);
  int from = start, to = start;
  while (from > 0 && src->text[from - 1] != '\n') --from;
  while (src->text[to] && src->text[to] != '\n') ++to;
  int width = end > to ? to - start : end - start;
  int shown = line + src->first_line - 1;
  note_wrong(src, shown, col, width > 0 ? width : 1, message);
  TN_BUF(b);
  tn_buf_printf(&b, "%s\n --> %s:%d:%d\n", message, src->file, shown, col + src->first_col);
  int gutter = snprintf(NULL, 0, "%d", shown);
  tn_buf_printf(&b, " %*s |\n %d | %.*s\n %*s | ", gutter, "", shown, to - from, src->text + from,
                gutter, "");
  tn_buf_pad(&b, ' ', (size_t)(start - from));
  tn_buf_pad(&b, '^', width > 0 ? (size_t)width : 1);
  const char *text = tn_buf_cstr(&b);
  return text ? TN_RAISE(DiagnosticError, NULL, "%s", text) : -1;
}

static int fail(lexer *lx, int start, const char *what) {
  return source_error(lx->src, start, start + 1, lx->line, start - lx->line_start + 1, "%s", what);
}

static int push(lexer *lx, tok_kind kind, int start, int line, int col) {
  if (lx->out.n == lx->out.cap) {
    int cap = lx->out.cap ? lx->out.cap * 2 : 256;
    tok *toks = tn_arena_array(lx->arena, cap, sizeof *toks);
    if (!toks) return -1;
    if (lx->out.n) memcpy(toks, lx->out.toks, (size_t)lx->out.n * sizeof *toks);
    lx->out.toks = toks;
    lx->out.cap = cap;
  }
  lx->out.toks[lx->out.n++] =
      (tok){kind, start, lx->at, line, col, lx->line, lx->at - lx->line_start + 1};
  return 0;
}

static char peek(const lexer *lx, int ahead) {
  int i = lx->at + ahead;
  return i < lx->src->len ? lx->src->text[i] : '\0';
}

static void new_line(lexer *lx) {
  lx->line++;
  lx->line_start = lx->at;
}

/* At the first byte of a line: skips blank and comment lines, then compares the indentation. */
static int indentation(lexer *lx) {
  for (;;) {
    int column = 0;
    while (peek(lx, 0) == ' ' || peek(lx, 0) == '\t' || peek(lx, 0) == '\f') {
      column = peek(lx, 0) == '\t' ? (column / 8 + 1) * 8 : column + 1;
      lx->at++;
    }
    if (peek(lx, 0) == '#') {
      while (lx->at < lx->src->len && peek(lx, 0) != '\n') lx->at++;
    }
    if (peek(lx, 0) == '\r') lx->at++;
    if (peek(lx, 0) == '\n') {
      lx->at++;
      new_line(lx);
      continue;
    }
    if (lx->at >= lx->src->len) return 0;
    int col = lx->at - lx->line_start + 1;
    if (column > lx->indents[lx->nindent]) {
      if (lx->nindent + 1 == MAX_INDENT) return fail(lx, lx->at, "too many levels of indentation");
      lx->indents[++lx->nindent] = column;
      return push(lx, TOK_INDENT, lx->at, lx->line, col);
    }
    while (column < lx->indents[lx->nindent]) {
      lx->nindent--;
      if (push(lx, TOK_DEDENT, lx->at, lx->line, col)) return -1;
    }
    if (column != lx->indents[lx->nindent])
      return fail(lx, lx->at, "unindent does not match any outer level");
    return 0;
  }
}

static bool is_name(char c) {
  return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

/* Length of the prefix of a string literal (r, b, u, f and pairs) when a quote follows it, else -1.
 */
static int string_prefix(const lexer *lx) {
  int n = 0;
  while (n < 2 && peek(lx, n) && strchr("rRbBuUfF", peek(lx, n))) ++n;
  return peek(lx, n) == '"' || peek(lx, n) == '\'' ? n : -1;
}

static int string(lexer *lx, int prefix) {
  int start = lx->at, line = lx->line, col = start - lx->line_start + 1;
  lx->at += prefix;
  char quote = peek(lx, 0);
  bool triple = peek(lx, 1) == quote && peek(lx, 2) == quote;
  lx->at += triple ? 3 : 1;
  for (;;) {
    char c = peek(lx, 0);
    if (lx->at >= lx->src->len || (c == '\n' && !triple))
      return fail(lx, start, "unterminated string literal");
    if (c == '\\' && lx->at + 1 < lx->src->len) {
      lx->at++;
      if (peek(lx, 0) == '\n') {
        lx->at++;
        new_line(lx);
      } else {
        lx->at++;
      }
      continue;
    }
    lx->at++;
    if (c == '\n') new_line(lx);
    if (c != quote) continue;
    if (!triple) break;
    if (peek(lx, 0) == quote && peek(lx, 1) == quote) {
      lx->at += 2;
      break;
    }
  }
  return push(lx, TOK_STR, start, line, col);
}

static int number(lexer *lx) {
  int start = lx->at, col = start - lx->line_start + 1;
  bool is_float = false;
  if (peek(lx, 0) == '0' && peek(lx, 1) && strchr("xXoObB", peek(lx, 1))) {
    lx->at += 2;
    while (isxdigit((unsigned char)peek(lx, 0)) || peek(lx, 0) == '_') lx->at++;
    return push(lx, TOK_INT, start, lx->line, col);
  }
  while (isdigit((unsigned char)peek(lx, 0)) || peek(lx, 0) == '_') lx->at++;
  if (peek(lx, 0) == '.') {
    is_float = true;
    lx->at++;
    while (isdigit((unsigned char)peek(lx, 0)) || peek(lx, 0) == '_') lx->at++;
  }
  if (peek(lx, 0) == 'e' || peek(lx, 0) == 'E') {
    int sign = peek(lx, 1) == '+' || peek(lx, 1) == '-';
    if (isdigit((unsigned char)peek(lx, 1 + sign))) {
      is_float = true;
      lx->at += 1 + sign;
      while (isdigit((unsigned char)peek(lx, 0))) lx->at++;
    }
  }
  if (is_name(peek(lx, 0))) return fail(lx, start, "invalid number");
  return push(lx, is_float ? TOK_FLOAT : TOK_INT, start, lx->line, col);
}

/* Longest first, so that a prefix never wins. */
static const char *const operators[] = {
    "**=", "//=", ">>=", "<<=", "...", "->", "**", "//", "<<", ">>", "<=", ">=",
    "==",  "!=",  "+=",  "-=",  "*=",  "/=", "%=", "&=", "|=", "^=", "@=", ":=",
    "+",   "-",   "*",   "/",   "%",   "@",  "&",  "|",  "^",  "~",  "<",  ">",
    "(",   ")",   "[",   "]",   "{",   "}",  ",",  ":",  ".",  ";",  "="};

static int operator_(lexer *lx) {
  int start = lx->at, col = start - lx->line_start + 1;
  for (size_t i = 0; i < sizeof operators / sizeof *operators; ++i) {
    size_t n = strlen(operators[i]);
    if (strncmp(lx->src->text + lx->at, operators[i], n) != 0) continue;
    if (strchr("([{", *operators[i]) && ++lx->depth > MAX_DEPTH)
      return fail(lx, start, "brackets are nested too deeply");
    if (strchr(")]}", *operators[i]) && --lx->depth < 0)
      return fail(lx, start, "closing bracket without an opening one");
    lx->at += (int)n;
    return push(lx, TOK_OP, start, lx->line, col);
  }
  return fail(lx, start, "unexpected character");
}

static int line_end(lexer *lx) {
  int start = lx->at, line = lx->line, col = start - lx->line_start + 1;
  bool last_is_newline = lx->out.n == 0 || lx->out.toks[lx->out.n - 1].kind == TOK_NEWLINE;
  if (lx->depth == 0 && !last_is_newline && push(lx, TOK_NEWLINE, start, line, col)) return -1;
  lx->at++;
  new_line(lx);
  return lx->depth == 0 ? indentation(lx) : 0;
}

static int token(lexer *lx) {
  char c = peek(lx, 0);
  if (c == ' ' || c == '\t' || c == '\r' || c == '\f') return lx->at++, 0;
  if (c == '#') {
    while (lx->at < lx->src->len && peek(lx, 0) != '\n') lx->at++;
    return 0;
  }
  if (c == '\n') return line_end(lx);
  if (c == '\\' && (peek(lx, 1) == '\n' || (peek(lx, 1) == '\r' && peek(lx, 2) == '\n'))) {
    lx->at += peek(lx, 1) == '\r' ? 3 : 2;
    new_line(lx);
    return 0;
  }
  int prefix = string_prefix(lx);
  if (prefix >= 0) return string(lx, prefix);
  if (isdigit((unsigned char)c) || (c == '.' && isdigit((unsigned char)peek(lx, 1))))
    return number(lx);
  if (is_name(c)) {
    int start = lx->at, col = start - lx->line_start + 1;
    while (is_name(peek(lx, 0))) lx->at++;
    return push(lx, TOK_NAME, start, lx->line, col);
  }
  return operator_(lx);
}

/* The opening bracket that has no closing one: the innermost of them. */
static int never_closed(const lexer *lx) {
  int depth = 0;
  for (int i = lx->out.n; i-- > 0;) {
    const tok *t = &lx->out.toks[i];
    char c = t->kind == TOK_OP ? lx->src->text[t->start] : ' ';
    if (strchr(")]}", c)) ++depth;
    else if (strchr("([{", c) && --depth < 0)
      return source_error(lx->src, t->start, t->end, t->line, t->col,
                          "the bracket is never closed");
  }
  return -1;
}

int lex(const ast_source *src, tn_arena *arena, tok_list *out) {
  lexer lx = {.src = src, .arena = arena, .line = 1};
  if (indentation(&lx)) return -1;
  while (lx.at < src->len) {
    if (token(&lx)) return -1;
  }
  if (lx.depth > 0) return never_closed(&lx);
  int col = lx.at - lx.line_start + 1;
  if (lx.out.n && lx.out.toks[lx.out.n - 1].kind != TOK_NEWLINE &&
      push(&lx, TOK_NEWLINE, lx.at, lx.line, col))
    return -1;
  for (; lx.nindent > 0; --lx.nindent) {
    if (push(&lx, TOK_DEDENT, lx.at, lx.line, col)) return -1;
  }
  if (push(&lx, TOK_END, lx.at, lx.line, col)) return -1;
  *out = lx.out;
  return 0;
}
