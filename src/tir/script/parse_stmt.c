/* Statements of TVMScript. See parse_expr.c. */
#include <string.h>

#include "base/error.h"
#include "tir/script/parser_impl.h"

static int parse_block(parser *p, ast_list *out, const char *where);

static int end_of_statement(parser *p) {
  if (take_op(p, ";")) return 0;
  if (peek_tok(p)->kind == TOK_NEWLINE) return p->at++, 0;
  if (peek_tok(p)->kind == TOK_END) return 0;
  return expected_here(p, "the end of the line");
}

/* param = NAME [":" expr] ["=" expr] | "*" [NAME] | "**" NAME | "/";  a lambda's parameters have no
 * annotation */
static ast *parse_param(parser *p, bool annotated) {
  ast *node = ast_new(p, AST_PARAM, peek_tok(p));
  if (!node) return NULL;
  node->flag = take_op(p, "**") ? 2 : take_op(p, "*") ? 1 : 0;
  if (node->flag == 1 && (is_op(p, ",") || is_op(p, ")"))) return ast_end(p, node);
  if (peek_tok(p)->kind != TOK_NAME || is_keyword(p))
    return (void)expected_here(p, "a parameter name"), NULL;
  if (!(node->text = tok_text(p, peek_tok(p)))) return NULL;
  p->at++;
  if (annotated && take_op(p, ":") && !(node->a = parse_expr(p))) return NULL;
  if (take_op(p, "=") && !(node->b = parse_expr(p))) return NULL;
  return ast_end(p, node);
}

/* params = [ param { "," param } [","] ]; stops before `close` */
int parse_params(parser *p, const char *close, ast_list *out) {
  while (!is_op(p, close)) {
    if (take_op(p, "/")) {
      if (!take_op(p, ",")) break;
      continue;
    }
    if (ast_push(p, out, parse_param(p, *close == ')'))) return -1;
    if (!take_op(p, ",")) break;
  }
  return 0;
}

/* def = "def" NAME "(" params ")" ["->" expr] ":" block */
static ast *parse_def(parser *p, const tok *from, ast_list decorators) {
  ast *node = ast_new(p, AST_DEF, from);
  if (!node) return NULL;
  node->decorators = decorators;
  if (peek_tok(p)->kind != TOK_NAME)
    return (void)expected_here(p, "the name of the function"), NULL;
  if (!(node->text = tok_text(p, peek_tok(p)))) return NULL;
  p->at++;
  if (expect_op(p, "(", "after the name of a function") || parse_params(p, ")", &node->items))
    return NULL;
  if (expect_op(p, ")", "to close the parameters")) return NULL;
  if (take_op(p, "->") && !(node->b = parse_expr(p))) return NULL;
  if (parse_block(p, &node->body, "after the head of a function")) return NULL;
  return ast_end(p, node);
}

/* class = "class" NAME ["(" args ")"] ":" block */
static ast *parse_class(parser *p, const tok *from, ast_list decorators) {
  ast *node = ast_new(p, AST_CLASS, from);
  if (!node) return NULL;
  node->decorators = decorators;
  if (peek_tok(p)->kind != TOK_NAME) return (void)expected_here(p, "the name of the class"), NULL;
  if (!(node->text = tok_text(p, peek_tok(p)))) return NULL;
  p->at++;
  if (take_op(p, "(") && parse_call_args(p, &node->items)) return NULL;
  if (parse_block(p, &node->body, "after the head of a class")) return NULL;
  return ast_end(p, node);
}

/* decorated = { "@" expr NEWLINE } (def | class) */
static ast *parse_decorated(parser *p) {
  const tok *from = peek_tok(p);
  ast_list decorators = {0};
  while (take_op(p, "@")) {
    if (ast_push(p, &decorators, parse_expr(p)) || end_of_statement(p)) return NULL;
  }
  if (take_word(p, "def")) return parse_def(p, from, decorators);
  if (take_word(p, "class")) return parse_class(p, from, decorators);
  return (void)expected_here(p, "a function or a class after a decorator"), NULL;
}

/* withitem = expr ["as" target] */
static ast *parse_with_item(parser *p) {
  ast *node = ast_new(p, AST_WITHITEM, peek_tok(p));
  if (!node || !(node->a = parse_expr(p))) return NULL;
  if (take_word(p, "as") && !(node->b = parse_expr(p))) return NULL;
  return ast_end(p, node);
}

/* True when the bracket at the current token closes right before ":": "with (a as x, b as y):" */
static bool brackets_all_items(const parser *p) {
  int depth = 0, i = p->at;
  if (!is_op(p, "(")) return false;
  for (;; ++i) {
    if (p->toks[i].kind == TOK_END) return false;
    if (p->toks[i].kind != TOK_OP) continue;
    char c = p->src->text[p->toks[i].start];
    if (strchr("([{", c)) depth++;
    if (strchr(")]}", c) && --depth == 0) break;
  }
  return p->toks[i + 1].kind == TOK_OP && p->src->text[p->toks[i + 1].start] == ':';
}

/* with = "with" withitem { "," withitem } ":" block, items optionally in brackets */
static ast *parse_with(parser *p, const tok *from) {
  ast *node = ast_new(p, AST_WITH, from);
  if (!node) return NULL;
  bool bracket = brackets_all_items(p);
  if (bracket) p->at++;
  do {
    if (bracket && is_op(p, ")")) break;
    if (ast_push(p, &node->items, parse_with_item(p))) return NULL;
  } while (take_op(p, ","));
  if (bracket && expect_op(p, ")", "to close the items of with")) return NULL;
  return parse_block(p, &node->body, "after the head of with") ? NULL : ast_end(p, node);
}

/* for = "for" targets "in" expr_list ":" block */
static ast *parse_for(parser *p, const tok *from) {
  ast *node = ast_new(p, AST_FOR, from);
  if (!node || !(node->a = parse_target_list(p))) return NULL;
  if (!take_word(p, "in")) return (void)expected_here(p, "'in' of a for loop"), NULL;
  if (!(node->b = parse_expr_list(p))) return NULL;
  return parse_block(p, &node->body, "after the head of a loop") ? NULL : ast_end(p, node);
}

/* if = "if" expr ":" block { "elif" expr ":" block } ["else" ":" block] */
static ast *parse_if(parser *p, const tok *from) {
  ast *first = NULL, **next = &first;
  ast_list *orelse = NULL;
  do {
    ast *node = ast_new(p, AST_IF, from);
    if (!node || !(node->a = parse_expr(p)) || parse_block(p, &node->body, "after the condition"))
      return NULL;
    ast_end(p, node);
    if (orelse && ast_push(p, orelse, node)) return NULL;
    if (!first) *next = node;
    orelse = &node->orelse;
    from = peek_tok(p);
  } while (take_word(p, "elif"));
  if (take_word(p, "else") && parse_block(p, orelse, "after else")) return NULL;
  return ast_end(p, first);
}

static ast *parse_while(parser *p, const tok *from) {
  ast *node = ast_new(p, AST_WHILE, from);
  if (!node || !(node->a = parse_expr(p)) || parse_block(p, &node->body, "after the condition"))
    return NULL;
  return ast_end(p, node);
}

/* ---- simple statements ---- */

static const char *take_augmented(parser *p) {
  static const char *const ops[][2] = {{"+=", "+"},   {"-=", "-"},   {"*=", "*"},   {"/=", "/"},
                                       {"//=", "//"}, {"%=", "%"},   {"&=", "&"},   {"|=", "|"},
                                       {"^=", "^"},   {"<<=", "<<"}, {">>=", ">>"}, {"**=", "**"}};
  for (size_t i = 0; i < sizeof ops / sizeof *ops; ++i) {
    if (take_op(p, ops[i][0])) return ops[i][1];
  }
  return NULL;
}

/* assignment = expr_list { "=" expr_list } | expr AUGMENTED expr_list | expr ":" expr ["="
 * expr_list] */
static ast *parse_assignment(parser *p) {
  ast *first = parse_expr_list(p), *node;
  const char *op;
  if (!first) return NULL;
  if (take_op(p, ":")) {
    if (!(node = ast_at(p, AST_ANN, first)) || !(node->b = parse_expr(p))) return NULL;
    node->a = first;
    if (take_op(p, "=") && !(node->c = parse_expr_list(p))) return NULL;
    return ast_end(p, node);
  }
  if ((op = take_augmented(p))) {
    if (!(node = ast_at(p, AST_AUG, first)) || !(node->b = parse_expr_list(p))) return NULL;
    node->a = first;
    node->text = op;
    return ast_end(p, node);
  }
  node = ast_at(p, is_op(p, "=") ? AST_ASSIGN : AST_EXPR, first);
  if (!node) return NULL;
  node->a = first;
  while (take_op(p, "=")) {
    if (ast_push(p, &node->items, node->a) || !(node->a = parse_expr_list(p))) return NULL;
  }
  return ast_end(p, node);
}

static ast *parse_assert(parser *p, const tok *from) {
  ast *node = ast_new(p, AST_ASSERT, from);
  if (!node || !(node->a = parse_expr(p))) return NULL;
  if (take_op(p, ",") && !(node->b = parse_expr(p))) return NULL;
  return ast_end(p, node);
}

static ast *parse_return(parser *p, const tok *from) {
  ast *node = ast_new(p, AST_RETURN, from);
  if (!node) return NULL;
  if (peek_tok(p)->kind != TOK_NEWLINE && !is_op(p, ";") && !(node->a = parse_expr_list(p)))
    return NULL;
  return ast_end(p, node);
}

static ast *skip_import(parser *p, const tok *from) {
  while (peek_tok(p)->kind != TOK_NEWLINE && peek_tok(p)->kind != TOK_END) p->at++;
  return ast_end(p, ast_new(p, AST_IMPORT, from));
}

static ast *parse_simple(parser *p) {
  const tok *from = peek_tok(p);
  if (take_word(p, "pass")) return ast_new(p, AST_PASS, from);
  if (take_word(p, "break")) return ast_new(p, AST_BREAK, from);
  if (take_word(p, "continue")) return ast_new(p, AST_CONTINUE, from);
  if (take_word(p, "return")) return parse_return(p, from);
  if (take_word(p, "assert")) return parse_assert(p, from);
  if (is_word(p, "import") || is_word(p, "from")) return skip_import(p, from);
  return parse_assignment(p);
}

/* ---- blocks ---- */

static ast *parse_compound(parser *p) {
  const tok *from = peek_tok(p);
  ast_list none = {0};
  if (is_op(p, "@")) return parse_decorated(p);
  if (take_word(p, "def")) return parse_def(p, from, none);
  if (take_word(p, "class")) return parse_class(p, from, none);
  if (take_word(p, "with")) return parse_with(p, from);
  if (take_word(p, "for")) return parse_for(p, from);
  if (take_word(p, "while")) return parse_while(p, from);
  return take_word(p, "if") ? parse_if(p, from) : NULL;
}

static bool starts_compound(const parser *p) {
  return is_op(p, "@") || is_word(p, "def") || is_word(p, "class") || is_word(p, "with") ||
         is_word(p, "for") || is_word(p, "while") || is_word(p, "if");
}

/* statement = compound | simple { ";" simple } NEWLINE */
static int parse_statement(parser *p, ast_list *out) {
  if (starts_compound(p)) return ast_push(p, out, parse_compound(p));
  do {
    if (ast_push(p, out, parse_simple(p)) || end_of_statement(p)) return -1;
  } while (p->toks[p->at - 1].kind == TOK_OP && peek_tok(p)->kind != TOK_NEWLINE);
  if (p->toks[p->at - 1].kind == TOK_OP) p->at++; /* "a; NEWLINE" */
  return 0;
}

/* block = ":" (simple NEWLINE | NEWLINE INDENT statement { statement } DEDENT) */
static int parse_block(parser *p, ast_list *out, const char *where) {
  if (expect_op(p, ":", where)) return -1;
  if (peek_tok(p)->kind != TOK_NEWLINE) return parse_statement(p, out);
  p->at++;
  if (peek_tok(p)->kind != TOK_INDENT) return expected_here(p, "an indented block");
  p->at++;
  if (++p->depth > PARSE_DEPTH_MAX) return expected_here(p, "less deeply nested blocks");
  while (peek_tok(p)->kind != TOK_DEDENT) {
    if (peek_tok(p)->kind == TOK_INDENT)
      return expected_here(p, "a statement at the indentation of the block");
    if (parse_statement(p, out)) return -1;
  }
  p->at++;
  p->depth--;
  return 0;
}

int ast_parse(const ast_source *src, tn_arena *arena, ast_list *out) {
  tok_list toks;
  TN_TRY(lex(src, arena, &toks));
  parser p = {.src = src, .arena = arena, .toks = toks.toks};
  while (peek_tok(&p)->kind != TOK_END) {
    if (peek_tok(&p)->kind == TOK_INDENT)
      return expected_here(&p, "a statement without indentation");
    if (parse_statement(&p, out)) return -1;
  }
  return 0;
}

ast *ast_parse_expr(const ast_source *src, tn_arena *arena) {
  tok_list toks;
  if (lex(src, arena, &toks)) return NULL;
  parser p = {.src = src, .arena = arena, .toks = toks.toks};
  ast *node = parse_expr_list(&p);
  if (!node) return NULL;
  if (peek_tok(&p)->kind != TOK_NEWLINE && peek_tok(&p)->kind != TOK_END)
    return (void)expected_here(&p, "the end of the expression"), NULL;
  return node;
}
