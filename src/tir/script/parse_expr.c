/* Expressions of TVMScript, by recursive descent; the grammar of each rule stands above its
   function and follows Python's reference (https://docs.python.org/3/reference/grammar.html). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "tir/script/parser_impl.h"

/* ---- tokens ---- */

static bool tok_is(const parser *p, tok_kind kind, const char *text) {
  const tok *t = peek_tok(p);
  size_t n = strlen(text);
  return t->kind == kind && (size_t)(t->end - t->start) == n &&
         memcmp(p->src->text + t->start, text, n) == 0;
}

bool is_op(const parser *p, const char *text) { return tok_is(p, TOK_OP, text); }
bool is_word(const parser *p, const char *text) { return tok_is(p, TOK_NAME, text); }
bool take_op(parser *p, const char *text) { return is_op(p, text) && ++p->at; }
bool take_word(parser *p, const char *text) { return is_word(p, text) && ++p->at; }

const char *tok_text(parser *p, const tok *t) {
  return tn_arena_strndup(p->arena, p->src->text + t->start, (size_t)(t->end - t->start));
}

int expected_here(parser *p, const char *what) {
  const tok *t = peek_tok(p);
  const char *got = t->kind == TOK_NEWLINE  ? "the end of the line"
                    : t->kind == TOK_END    ? "the end of the text"
                    : t->kind == TOK_INDENT ? "an indented line"
                    : t->kind == TOK_DEDENT ? "the end of the block"
                                            : tok_text(p, t);
  return source_error(p->src, t->start, t->end, t->line, t->col, "expected %s, got %s", what,
                      got ? got : "?");
}

int expect_op(parser *p, const char *text, const char *where) {
  char what[80];
  if (take_op(p, text)) return 0;
  snprintf(what, sizeof what, "'%s' %s", text, where);
  return expected_here(p, what);
}

bool is_keyword(const parser *p) {
  static const char *const words[] = {
      "False",    "None",  "True",   "and",  "as",    "assert", "break", "class",
      "continue", "def",   "del",    "elif", "else",  "except", "for",   "from",
      "global",   "if",    "import", "in",   "is",    "lambda", "not",   "or",
      "pass",     "raise", "return", "try",  "while", "with",   "yield"};
  for (size_t i = 0; i < sizeof words / sizeof *words; ++i) {
    if (is_word(p, words[i])) return true;
  }
  return false;
}

/* ---- nodes ---- */

ast *ast_new(parser *p, ast_kind kind, const tok *from) {
  ast *node = tn_arena_alloc(p->arena, sizeof *node);
  if (!node) return NULL;
  node->kind = kind;
  node->line = from->line, node->col = from->col, node->start = from->start;
  node->end = from->end, node->end_line = from->end_line, node->end_col = from->end_col;
  return node;
}

ast *ast_at(parser *p, ast_kind kind, const ast *from) {
  if (from->group) return ast_new(p, kind, from->group); /* (a) + b begins with the bracket */
  tok t = {TOK_NAME, from->start, from->end, from->line, from->col, from->end_line, from->end_col};
  return ast_new(p, kind, &t);
}

ast *ast_end(parser *p, ast *node) {
  int i = p->at ? p->at - 1 : 0;
  while (i > 0 && (p->toks[i].kind == TOK_NEWLINE || p->toks[i].kind == TOK_DEDENT)) --i;
  const tok *last = &p->toks[i];
  if (node) node->end = last->end, node->end_line = last->end_line, node->end_col = last->end_col;
  return node;
}

/* Lists grow by doubling inside the arena; the old block stays behind, which at most doubles the
 * memory. */
int ast_push(parser *p, ast_list *list, ast *node) {
  if (!node) return -1;
  if ((list->n & (list->n - 1)) == 0) { /* n is 0 or a power of two: full */
    int64_t room = list->n ? 2 * (int64_t)list->n : 1;
    ast **items = tn_arena_array(p->arena, room, sizeof *items);
    if (!items) return -1;
    if (list->n) memcpy(items, list->items, sizeof *items * (size_t)list->n);
    list->items = items;
  }
  list->items[list->n++] = node;
  return 0;
}

int ast_error(const ast_source *src, const ast *at, const char *fmt, ...) {
  char message[1024];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(message, sizeof message, fmt, ap);
  va_end(ap);
  return source_error(src, at->start, at->end, at->line, at->col, "%s", message);
}

/* ---- literals ---- */

static int hex_digits(const char *s, int n) {
  char text[9] = {0};
  memcpy(text, s, (size_t)n);
  return (int)strtol(text, NULL, 16);
}

static char *put_utf8(char *out, int c) {
  if (c < 0x80) {
    *out++ = (char)c;
  } else if (c < 0x800) {
    *out++ = (char)(0xc0 | c >> 6);
    *out++ = (char)(0x80 | (c & 0x3f));
  } else if (c < 0x10000) {
    *out++ = (char)(0xe0 | c >> 12);
    *out++ = (char)(0x80 | (c >> 6 & 0x3f));
    *out++ = (char)(0x80 | (c & 0x3f));
  } else {
    *out++ = (char)(0xf0 | c >> 18);
    *out++ = (char)(0x80 | (c >> 12 & 0x3f));
    *out++ = (char)(0x80 | (c >> 6 & 0x3f));
    *out++ = (char)(0x80 | (c & 0x3f));
  }
  return out;
}

static bool all_hex(const char *s, const char *end, int n) {
  for (int i = 0; i < n; ++i) {
    if (s + i >= end || !s[i] || !strchr("0123456789abcdefABCDEF", s[i])) return false;
  }
  return true;
}

/* One escape after the backslash; *s is moved past it. Unknown escapes stay as they are, as in
 * Python. */
static char *escape(const char **s, const char *end, char *out) {
  static const char from[] = "abfnrtv\\'\"0", to[] = "\a\b\f\n\r\t\v\\'\"";
  char c = *(*s)++;
  int digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
  if (c == '\n') return out;
  if (digits && all_hex(*s, end, digits)) {
    int code = hex_digits(*s, digits);
    *s += digits;
    return put_utf8(out, code & 0x1fffff);
  }
  const char *found = strchr(from, c);
  if (found && c) {
    *out++ = to[found - from];
    return out;
  }
  *out++ = '\\';
  *out++ = c;
  return out;
}

/* Appends the content of one literal token to `out`. @return its new end, or NULL for an f-string
 */
static char *literal_content(const parser *p, const tok *t, char *out) {
  const char *s = p->src->text + t->start, *end = p->src->text + t->end;
  bool raw = false;
  for (; *s != '"' && *s != '\''; ++s) {
    if (*s == 'f' || *s == 'F') return NULL;
    raw |= *s == 'r' || *s == 'R';
  }
  int quotes = end - s >= 6 && s[1] == s[0] && s[2] == s[0] ? 3 : 1;
  s += quotes;
  end -= quotes;
  while (s < end) {
    if (*s == '\\' && !raw && s + 1 < end) {
      ++s;
      out = escape(&s, end, out);
    } else {
      *out++ = *s++;
    }
  }
  return out;
}

static ast *parse_string(parser *p) {
  ast *node = ast_new(p, AST_STR, peek_tok(p));
  if (!node) return NULL;
  size_t room = 1;
  int last = p->at;
  for (; p->toks[last].kind == TOK_STR; ++last)
    room += (size_t)(p->toks[last].end - p->toks[last].start) + 4;
  char *text = tn_arena_alloc(p->arena, room), *out = text;
  if (!text) return NULL;
  for (; p->at < last; ++p->at) {
    char *end = out ? literal_content(p, peek_tok(p), out) : NULL;
    if (!end) node->kind = AST_FSTR;
    out = end;
  }
  node->text = text;
  node->ntext = out ? (int)(out - text) : 0;
  return ast_end(p, node);
}

/* ---- atoms ---- */

static ast *parse_named(parser *p);

/* comp_for = "for" ...: the host language evaluates a comprehension, so only its extent is needed
 */
static ast *skip_comprehension(parser *p, ast *node, const char *close) {
  int depth = 0;
  for (; peek_tok(p)->kind != TOK_END; ++p->at) {
    if (depth == 0 && is_op(p, close)) break;
    if (is_op(p, "(") || is_op(p, "[") || is_op(p, "{")) depth++;
    if (is_op(p, ")") || is_op(p, "]") || is_op(p, "}")) depth--;
  }
  node->kind = AST_COMP;
  node->items.n = 0;
  return expect_op(p, close, "after a comprehension") ? NULL : ast_end(p, node);
}

/* sequence = [ item { "," item } [","] ] close;  item = ["*"] named_expr | comp_for */
static ast *parse_sequence(parser *p, ast_kind kind, const char *close) {
  ast *node = ast_new(p, kind, peek_tok(p) - 1);
  bool comma = false;
  if (!node) return NULL;
  while (!is_op(p, close)) {
    if (ast_push(p, &node->items, parse_named(p))) return NULL;
    if (is_word(p, "for") || is_word(p, "async")) return skip_comprehension(p, node, close);
    if (!take_op(p, ",")) break;
    comma = true;
  }
  if (expect_op(p, close, "to close the bracket")) return NULL;
  node->flag = comma;
  return ast_end(p, node);
}

/* group = "(" sequence: a tuple when there is a comma or nothing inside */
static ast *parse_group(parser *p) {
  const tok *open = peek_tok(p) - 1;
  ast *node = parse_sequence(p, AST_TUPLE, ")");
  if (!node || node->kind != AST_TUPLE || node->flag || node->items.n != 1) return node;
  ast *inner = node->items.items[0];
  if (inner->kind == AST_STARRED)
    return (void)expected_here(p, "a comma after a starred expression"), NULL;
  inner->group = open;
  return inner;
}

/* braces = "{" [ key ":" value { "," key ":" value } | items ] "}" */
static ast *parse_braces(parser *p) {
  ast *node = ast_new(p, AST_DICT, peek_tok(p) - 1);
  if (!node) return NULL;
  while (!is_op(p, "}")) {
    if (ast_push(p, &node->items, parse_named(p))) return NULL;
    if (take_op(p, ":")) {
      if (ast_push(p, &node->items, parse_expr(p))) return NULL;
    } else {
      node->kind = AST_SET;
    }
    if (is_word(p, "for")) return skip_comprehension(p, node, "}");
    if (!take_op(p, ",")) break;
  }
  return expect_op(p, "}", "to close the bracket") ? NULL : ast_end(p, node);
}

/* lambda = "lambda" [params] ":" expr */
static ast *parse_lambda(parser *p) {
  ast *node = ast_new(p, AST_LAMBDA, peek_tok(p) - 1);
  if (!node || parse_params(p, ":", &node->items) ||
      expect_op(p, ":", "after the parameters of a lambda"))
    return NULL;
  return (node->a = parse_expr(p)) ? ast_end(p, node) : NULL;
}

/* atom = NAME | NUMBER | STRING+ | "(" group | "[" list | "{" braces | "..." */
static ast *parse_atom(parser *p) {
  const tok *t = peek_tok(p);
  ast_kind kind;
  if (t->kind == TOK_STR) return parse_string(p);
  if (take_op(p, "(")) return parse_group(p);
  if (take_op(p, "[")) return parse_sequence(p, AST_LIST, "]");
  if (take_op(p, "{")) return parse_braces(p);
  if (t->kind == TOK_INT) kind = AST_INT;
  else if (t->kind == TOK_FLOAT) kind = AST_FLOAT;
  else if (is_op(p, "...") || is_word(p, "True") || is_word(p, "False") || is_word(p, "None"))
    kind = AST_CONST;
  else if (t->kind == TOK_NAME && !is_keyword(p)) kind = AST_NAME;
  else return (void)expected_here(p, "an expression"), NULL;
  ast *node = ast_new(p, kind, t);
  if (!node || !(node->text = tok_text(p, t))) return NULL;
  node->ntext = t->end - t->start;
  p->at++;
  return node;
}

/* arg = expr [comp_for] | NAME "=" expr | "*" expr | "**" expr */
static ast *parse_arg(parser *p) {
  const tok *t = peek_tok(p);
  bool keyword = t->kind == TOK_NAME && t[1].kind == TOK_OP && t[1].end - t[1].start == 1 &&
                 p->src->text[t[1].start] == '=';
  if (!keyword && !is_op(p, "**")) return parse_named(p);
  ast *node = ast_new(p, AST_KEYWORD, t);
  if (!node) return NULL;
  if (keyword && !(node->text = tok_text(p, t))) return NULL;
  p->at += keyword ? 2 : 1;
  return (node->a = parse_expr(p)) ? ast_end(p, node) : NULL;
}

/* args = "(" [ arg { "," arg } [","] ] ")" with the opening bracket consumed */
int parse_call_args(parser *p, ast_list *out) {
  while (!is_op(p, ")")) {
    ast *arg = parse_arg(p);
    if (!arg) return -1;
    if (is_word(p, "for")) {
      ast *comp = ast_at(p, AST_COMP, arg);
      if (!comp || !skip_comprehension(p, comp, ")")) return -1;
      p->at--; /* the bracket closes the call too */
      comp->end = p->toks[p->at - 1].end;
      arg = comp;
    }
    if (ast_push(p, out, arg)) return -1;
    if (!take_op(p, ",")) break;
  }
  return expect_op(p, ")", "to close the arguments");
}

/* slice = [expr] ":" [expr] [":" [expr]] | expr */
static ast *parse_slice(parser *p) {
  const tok *from = peek_tok(p);
  ast *lower = is_op(p, ":") ? NULL : parse_named(p);
  if (!lower && !is_op(p, ":")) return NULL;
  if (!take_op(p, ":")) return lower;
  ast *node = ast_new(p, AST_SLICE, from);
  if (!node) return NULL;
  node->a = lower;
  if (!is_op(p, "]") && !is_op(p, ",") && !is_op(p, ":") && !(node->b = parse_expr(p))) return NULL;
  if (take_op(p, ":") && !is_op(p, "]") && !is_op(p, ",") && !(node->c = parse_expr(p)))
    return NULL;
  return ast_end(p, node);
}

/* subscript = "[" slice { "," slice } [","] "]" with the opening bracket consumed */
static ast *parse_subscript(parser *p, ast *base) {
  ast *node = ast_at(p, AST_INDEX, base);
  if (!node) return NULL;
  node->a = base;
  do {
    if (is_op(p, "]") && node->items.n) break;
    if (ast_push(p, &node->items, parse_slice(p))) return NULL;
    if (is_op(p, ",")) node->flag = 1;
  } while (take_op(p, ","));
  return expect_op(p, "]", "to close the index") ? NULL : ast_end(p, node);
}

/* primary = atom { "." NAME | "(" args | "[" subscript } */
static ast *parse_primary(parser *p) {
  ast *node = parse_atom(p);
  while (node) {
    ast *outer;
    if (take_op(p, ".")) {
      if (peek_tok(p)->kind != TOK_NAME) return (void)expected_here(p, "a name after '.'"), NULL;
      if (!(outer = ast_at(p, AST_ATTR, node)) || !(outer->text = tok_text(p, peek_tok(p))))
        return NULL;
      outer->a = node;
      p->at++;
    } else if (take_op(p, "(")) {
      if (!(outer = ast_at(p, AST_CALL, node))) return NULL;
      outer->a = node;
      if (parse_call_args(p, &outer->items)) return NULL;
    } else if (take_op(p, "[")) {
      if (!(outer = parse_subscript(p, node))) return NULL;
    } else {
      return node;
    }
    node = ast_end(p, outer);
  }
  return NULL;
}

/* ---- operators ---- */

static ast *parse_unary(parser *p);

static ast *make_unary(parser *p, const tok *from, const char *op, ast *a) {
  ast *node = a ? ast_new(p, AST_UNARY, from) : NULL;
  if (!node) return NULL;
  node->text = op;
  node->a = a;
  return ast_end(p, node);
}

static ast *make_binary(parser *p, const char *op, ast *a, ast *b) {
  ast *node = a && b ? ast_at(p, AST_BINARY, a) : NULL;
  if (!node) return NULL;
  node->text = op;
  node->a = a;
  node->b = b;
  return ast_end(p, node);
}

/* power = primary ["**" unary] */
static ast *parse_power(parser *p) {
  ast *a = parse_primary(p);
  return a && take_op(p, "**") ? make_binary(p, "**", a, parse_unary(p)) : a;
}

/* unary = ("-" | "+" | "~") unary | power */
static ast *parse_unary(parser *p) {
  static const char *const ops[] = {"-", "+", "~"};
  const tok *from = peek_tok(p);
  ast *node = NULL;
  if (++p->depth > PARSE_DEPTH_MAX)
    return (void)expected_here(p, "a less deeply nested expression"), NULL;
  int i = 0;
  while (i < 3 && !take_op(p, ops[i])) ++i;
  node = i < 3 ? make_unary(p, from, ops[i], parse_unary(p)) : parse_power(p);
  p->depth--;
  return node;
}

/* Binary operators by level, loosest first: or_ = xor {"|" xor}; xor = and {"^" and}; and = shift
 * {"&" shift}; ... */
static const char *const levels[][6] = {
    {"|"}, {"^"}, {"&"}, {"<<", ">>"}, {"+", "-"}, {"*", "//", "/", "%", "@"},
};

static ast *parse_level(parser *p, size_t level) {
  if (level == sizeof levels / sizeof *levels) return parse_unary(p);
  ast *a = parse_level(p, level + 1);
  for (int i = 0; a && i < 6 && levels[level][i];) {
    if (take_op(p, levels[level][i])) {
      a = make_binary(p, levels[level][i], a, parse_level(p, level + 1));
      i = 0;
    } else {
      ++i;
    }
  }
  return a;
}

static const char *take_comparison(parser *p) {
  static const char *const ops[] = {"==", "!=", "<=", ">=", "<", ">"};
  for (int i = 0; i < 6; ++i) {
    if (take_op(p, ops[i])) return ops[i];
  }
  if (take_word(p, "in")) return "in";
  if (take_word(p, "is")) return take_word(p, "not") ? "is not" : "is";
  if (is_word(p, "not") && p->toks[p->at + 1].kind == TOK_NAME) {
    p->at++;
    if (take_word(p, "in")) return "not in";
    p->at--;
  }
  return NULL;
}

/* comparison = bitor { ("==" | "<" | ... | "in" | "is") bitor } */
static ast *parse_comparison(parser *p) {
  ast *a = parse_level(p, 0), *node = NULL;
  const char *op;
  while (a && (op = take_comparison(p))) {
    if (!node) {
      node = ast_at(p, AST_COMPARE, a);
      if (!node || ast_push(p, &node->items, a)) return NULL;
    }
    const char **ops = tn_arena_array(p->arena, node->items.n, sizeof *ops);
    if (!ops) return NULL;
    for (int i = 0; i + 1 < node->items.n; ++i) ops[i] = node->ops[i];
    ops[node->items.n - 1] = op;
    node->ops = ops;
    if (ast_push(p, &node->items, parse_level(p, 0))) return NULL;
  }
  return node ? ast_end(p, node) : a;
}

/* not_ = "not" not_ | comparison */
static ast *parse_not(parser *p) {
  const tok *from = peek_tok(p);
  if (!take_word(p, "not")) return parse_comparison(p);
  if (++p->depth > PARSE_DEPTH_MAX)
    return (void)expected_here(p, "a less deeply nested expression"), NULL;
  ast *node = make_unary(p, from, "not", parse_not(p));
  p->depth--;
  return node;
}

static ast *parse_bool(parser *p, const char *word, ast *(*next)(parser *)) {
  ast *a = next(p), *node = NULL;
  while (a && take_word(p, word)) {
    if (!node) {
      node = ast_at(p, AST_BOOLOP, a);
      if (!node || ast_push(p, &node->items, a)) return NULL;
      node->text = word;
    }
    if (ast_push(p, &node->items, next(p))) return NULL;
  }
  return node ? ast_end(p, node) : a;
}

/* and_ = not_ { "and" not_ };  or_ = and_ { "or" and_ } */
static ast *parse_and(parser *p) { return parse_bool(p, "and", parse_not); }
static ast *parse_or(parser *p) { return parse_bool(p, "or", parse_and); }

/* expr = "lambda" ... | or_ ["if" or_ "else" expr] */
ast *parse_expr(parser *p) {
  if (take_word(p, "lambda")) return parse_lambda(p);
  if (++p->depth > PARSE_DEPTH_MAX)
    return (void)expected_here(p, "a less deeply nested expression"), NULL;
  ast *value = parse_or(p), *node = value;
  if (value && take_word(p, "if")) {
    node = ast_at(p, AST_IFEXP, value);
    if (!node) return NULL;
    node->b = value;
    if (!(node->a = parse_or(p))) return NULL;
    if (!take_word(p, "else"))
      return (void)expected_here(p, "'else' of a conditional expression"), NULL;
    if (!(node->c = parse_expr(p))) return NULL;
    ast_end(p, node);
  }
  p->depth--;
  return node;
}

/* named = "*" expr | expr [":=" expr]   (the walrus is Python's business) */
static ast *parse_named(parser *p) {
  const tok *from = peek_tok(p);
  if (!take_op(p, "*")) return parse_expr(p);
  ast *node = ast_new(p, AST_STARRED, from);
  if (!node || !(node->a = parse_expr(p))) return NULL;
  return ast_end(p, node);
}

static bool ends_list(const parser *p) {
  const tok *t = peek_tok(p);
  return t->kind != TOK_NAME && t->kind != TOK_INT && t->kind != TOK_FLOAT && t->kind != TOK_STR &&
         !(t->kind == TOK_OP && strchr("([{-+~*.", p->src->text[t->start]));
}

static ast *list_of(parser *p, ast *(*item)(parser *)) {
  ast *first = item(p), *node = NULL;
  while (first && take_op(p, ",")) {
    if (!node) {
      node = ast_at(p, AST_TUPLE, first);
      if (!node || ast_push(p, &node->items, first)) return NULL;
    }
    if (ends_list(p) || is_word(p, "in")) break;
    if (ast_push(p, &node->items, item(p))) return NULL;
  }
  return node ? ast_end(p, node) : first;
}

/* expr_list = named { "," named } [","] */
ast *parse_expr_list(parser *p) { return list_of(p, parse_named); }

/* targets = target { "," target } [","];  target = primary | "*" primary: no operators, so that
 * "in" ends it */
static ast *parse_target(parser *p) {
  const tok *from = peek_tok(p);
  if (!take_op(p, "*")) return parse_primary(p);
  ast *node = ast_new(p, AST_STARRED, from);
  if (!node || !(node->a = parse_primary(p))) return NULL;
  return ast_end(p, node);
}
ast *parse_target_list(parser *p) { return list_of(p, parse_target); }
