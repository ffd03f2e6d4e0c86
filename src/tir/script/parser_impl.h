/* Shared by the two halves of the syntax parser (parse_expr.c, parse_stmt.c). */
#ifndef TN_TIR_SCRIPT_PARSER_IMPL_H_
#define TN_TIR_SCRIPT_PARSER_IMPL_H_

#include "tir/script/lex.h"

typedef struct {
  const ast_source *src;
  tn_arena *arena;
  const tok *toks;
  int at;
  int depth; /* nesting, to refuse what would overflow the stack */
} parser;

enum { PARSE_DEPTH_MAX = 1000 };

static inline const tok *peek_tok(const parser *p) { return &p->toks[p->at]; }
bool is_op(const parser *p, const char *text);   /* the current token is this operator */
bool is_word(const parser *p, const char *text); /* the current token is this name */
bool take_op(parser *p, const char *text);       /* ... and is consumed */
bool take_word(parser *p, const char *text);
int expect_op(parser *p, const char *text, const char *where);
/** DiagnosticError at the current token, naming what was expected. Returns -1. */
int expected_here(parser *p, const char *what);
const char *tok_text(parser *p, const tok *t); /* copy in the arena, or NULL (MemoryError) */
bool is_keyword(const parser *p);              /* the current token is a reserved word */

/** A node that starts at `from`; its end is set by ast_end. NULL with MemoryError. */
ast *ast_new(parser *p, ast_kind kind, const tok *from);
ast *ast_at(parser *p, ast_kind kind, const ast *from); /* starts where another node does */
ast *ast_end(parser *p, ast *node); /* ends at the last consumed token; NULL passes through */
int ast_push(parser *p, ast_list *list, ast *node); /* -1 when node is NULL or memory is out */

ast *parse_expr(parser *p);        /* one expression, no commas */
ast *parse_expr_list(parser *p);   /* expressions with commas make a tuple; stars allowed */
ast *parse_target_list(parser *p); /* of a for loop: stops before "in" */
int parse_params(parser *p, const char *close, ast_list *out);
int parse_call_args(parser *p, ast_list *out);

#endif /* TN_TIR_SCRIPT_PARSER_IMPL_H_ */
