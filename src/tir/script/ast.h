/* Syntax tree of TVMScript: the subset of Python that scripts are written in, before any meaning is
   given to it.

   Nodes live in the arena of the parse; texts are NUL-terminated copies in it. Every node knows its
   place in the source, for carets and for handing an expression's text to Python when the host
   language has to evaluate it. */
#ifndef TN_TIR_SCRIPT_AST_H_
#define TN_TIR_SCRIPT_AST_H_

#include "base/arena.h"
#include "tenon/ffi.h"

typedef enum {
  /* expressions */
  AST_NAME,    /* text */
  AST_INT,     /* text: digits as written */
  AST_FLOAT,   /* text */
  AST_STR,     /* text, ntext: adjacent literals joined, escapes decoded */
  AST_FSTR,    /* evaluated by the host language as a whole */
  AST_CONST,   /* text: True, False, None or ... */
  AST_ATTR,    /* a.text */
  AST_INDEX,   /* a[items]; `flag` is set when the index was written as a tuple */
  AST_SLICE,   /* a:b:c, each may be NULL */
  AST_CALL,    /* a(items); keyword arguments are AST_KEYWORD, after or between the others */
  AST_KEYWORD, /* text=a; text is NULL for **a */
  AST_STARRED, /* *a */
  AST_UNARY,   /* text a; text is - + ~ or not */
  AST_BINARY,  /* a text b */
  AST_BOOLOP,  /* items joined by text: and / or */
  AST_COMPARE, /* items[0] ops[0] items[1] ...; chains keep all operands */
  AST_IFEXP,   /* a if b else c */
  AST_LAMBDA,  /* lambda items (AST_PARAM): a */
  AST_TUPLE,   /* items */
  AST_LIST,    /* items */
  AST_DICT,    /* items: key, value, key, value, ... */
  AST_SET,     /* items */
  AST_COMP,    /* comprehension of any kind: evaluated by the host language as a whole */
  /* statements */
  AST_ASSIGN,   /* items = a: one target for each "=" */
  AST_AUG,      /* a text= b */
  AST_ANN,      /* a: b = c; c may be NULL */
  AST_EXPR,     /* a */
  AST_WITH,     /* with items (AST_WITHITEM): body */
  AST_WITHITEM, /* a as b; b may be NULL */
  AST_FOR,      /* for a in b: body */
  AST_WHILE,    /* while a: body */
  AST_IF,       /* if a: body else: orelse */
  AST_ASSERT,   /* assert a, b; b may be NULL */
  AST_RETURN,   /* a may be NULL */
  AST_PASS,
  AST_BREAK,
  AST_CONTINUE,
  AST_DEF,    /* decorators; def text(items: AST_PARAM) -> b: body */
  AST_PARAM,  /* text: a = b; either may be NULL; `flag` 1 for *text, 2 for **text */
  AST_CLASS,  /* decorators; class text(items): body */
  AST_IMPORT, /* skipped over */
} ast_kind;

typedef struct ast ast;

typedef struct {
  ast **items;
  int n;
} ast_list;

struct ast {
  ast_kind kind;
  bool seen; /* something was made of it: see args_are_seen */
  int flag;
  int line, col;         /* of the first character, from 1 */
  int start, end;        /* byte offsets in the source: the text is [start, end) */
  int end_line, end_col; /* one past the last character */
  const void *group;     /* token of the outermost "(" around it alone, where what it is the first
                            part of begins; or NULL */
  const char *text;
  int ntext;
  ast *a, *b, *c;
  ast_list items, body, orelse, decorators;
  const char **ops; /* AST_COMPARE: items.n - 1 operators ("==", "not in", ...) */
};

/** Where a text is wrong, and why; `line` is 0 while nothing is. */
typedef struct {
  const char *file;
  int line, col, width;
  char message[1024];
} ast_wrong;

typedef struct {
  const char *file; /* name for messages */
  const char *text; /* NUL-terminated source */
  int len;
  int first_line; /* number of the first line in `file` (a function inside a module does not start
                     at 1) */
  int first_col;  /* columns cut off the left of every line when an indented definition was dedented
                   */
  ast_wrong *wrong; /* takes the latest error, for those who show it themselves; may be NULL */
} ast_source;

/** Parses a whole source into a list of statements.
 *  @param arena owns the tree
 *  @return 0, or -1: DiagnosticError with the place and a caret, MemoryError */
TN_API int ast_parse(const ast_source *src, tn_arena *arena, ast_list *out);
/** Parses a single expression. */
TN_API ast *ast_parse_expr(const ast_source *src, tn_arena *arena);

/** DiagnosticError at a node: message, file:line:col, the source line and a caret under the node.
 * Returns -1. */
TN_API int ast_error(const ast_source *src, const ast *at, const char *fmt, ...) TN_PRINTF(3, 4);

#endif /* TN_TIR_SCRIPT_AST_H_ */
