/* Tokens of TVMScript: those of Python, with NEWLINE, INDENT and DEDENT. */
#ifndef TN_TIR_SCRIPT_LEX_H_
#define TN_TIR_SCRIPT_LEX_H_

#include "tir/script/ast.h"

typedef enum {
  TOK_NAME,
  TOK_INT,
  TOK_FLOAT,
  TOK_STR,
  TOK_OP,
  TOK_NEWLINE,
  TOK_INDENT,
  TOK_DEDENT,
  TOK_END
} tok_kind;

typedef struct {
  tok_kind kind;
  int start, end; /* byte offsets */
  int line, col;  /* from 1 */
  int end_line, end_col;
} tok;

typedef struct {
  tok *toks;
  int n, cap;
} tok_list;

/** Splits the source. Tokens are in the arena; the list ends with TOK_END. 0, or -1 with a
 * DiagnosticError. */
int lex(const ast_source *src, tn_arena *arena, tok_list *out);

/** DiagnosticError at a range of the source, see ast_error. */
int source_error(const ast_source *src, int start, int end, int line, int col, const char *fmt, ...)
    TN_PRINTF(6, 7);

#endif /* TN_TIR_SCRIPT_LEX_H_ */
