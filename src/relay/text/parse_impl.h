/* What the files of the parser share: tokens, scopes, errors. */
#ifndef TN_RELAY_TEXT_PARSE_IMPL_H_
#define TN_RELAY_TEXT_PARSE_IMPL_H_

#include "base/arena.h"
#include "base/buf.h"
#include "base/vec.h"
#include "ir/diag.h"
#include "object/containers.h"
#include "relay/text/text.h"

typedef enum {
  RT_END,
  RT_NAME,   /* nn.conv2d, Tensor, fn */
  RT_LOCAL,  /* %x */
  RT_GRAPH,  /* %0 */
  RT_GLOBAL, /* @main */
  RT_INT,
  RT_FLOAT,
  RT_STR,
  RT_META, /* meta[relay.Constant][0] */
  RT_OP,   /* punctuation: op holds it */
} rt_kind;

typedef struct {
  rt_kind kind;
  char op[4];       /* of RT_OP: "(", "->", "==" */
  const char *text; /* in the source: name without its sigil, digits, string with its quotes */
  int len;
  int64_t number; /* RT_GRAPH; RT_META: the index */
  int line, col, end_line, end_col;
  int suffix; /* numbers: offset of the suffix in text, len if none */
} rt_token;

typedef struct {
  const char *text, *at, *end;
  int line;
  const char *line_start;
  bool after_dot; /* only digits may follow: %x.0.1 */
} rt_lexer;

/* A name that is known from here on, until its scope ends. */
typedef struct {
  const char *name; /* arena; NULL: graph temporary `id` */
  int64_t id;
  tn_obj *value;  /* RelayVar, expression of a temporary, or TypeVar; kept by the parser's scope */
  int64_t hidden; /* number of the binding of the same name that this one hides, -1: none */
} rt_binding;

typedef struct {
  rt_lexer lexer;
  rt_token tok, last; /* next token; the one before it */
  tn_arena arena;
  tn_SourceName *source;
  tn_IRModule *mod;
  tn_DiagnosticContext *diag;
  const tn_map *meta; /* type key -> Array; may be NULL */
  rt_binding *bindings;
  int64_t nbindings, cap;
  tn_map *known;        /* name or id -> number of its binding, -1 when its scope has ended */
  tn_map *globals;      /* name -> GlobalVar */
  tn_map *constructors; /* name -> Constructor */
  bool metadata_end;    /* tokens stop at #[metadata] */
} rt;

/* ---- lex.c ---- */
void rt_lex_start(rt_lexer *l, const char *text, size_t n);
/* The next token. -1 with DiagnosticError noted in p->diag. */
int rt_next(rt *p);

/* ---- parse.c: errors and small steps ---- */
/* Notes an error at a token; always -1, with an error pending that the parser's caller replaces by
 * all diagnostics. */
int rt_fail(rt *p, const rt_token *at, const char *fmt, ...) TN_PRINTF(3, 4);
/* After rt_fail: may the parser go on, with something in the place of what is wrong? The error is
 * then no longer pending. Not after too many. */
bool rt_goes_on(rt *p);
bool rt_is(const rt *p, const char *op);        /* is the next token this punctuation? */
bool rt_is_name(const rt *p, const char *name); /* ... this name? */
int rt_accept(rt *p, const char *op, bool *yes);
int rt_expect(rt *p, const char *op);
const char *rt_text(rt *p, const rt_token *t);       /* the token's text, NUL-terminated */
tn_Span *rt_span_from(rt *p, const rt_token *first); /* from a token to the last one taken */
/* Sets the place of a fresh node. */
void rt_place(void *node, tn_Span *span);
/* What a token says, for messages. */
const char *rt_describe(rt *p, const rt_token *t);
int rt_bind(rt *p, const char *name, int64_t id, void *value);
/* Ends a scope: forgets the bindings made since there were `mark` of them. */
void rt_unbind(rt *p, int64_t mark);
tn_obj *rt_find(const rt *p, const char *name, int64_t id);
tn_obj *rt_meta_object(rt *p, const rt_token *t);

/* ---- parse_type.c ---- */
tn_Type *rt_type(rt *p);
/* [A, B]: type variables, bound from here on. An empty array when there is no list. */
tn_arr *rt_type_params(rt *p);
bool rt_is_dtype(const char *name, tn_dtype *out);

/* ---- parse_value.c ---- */
/* name=value, ... up to the closing parenthesis, which is not taken. */
int rt_attributes(rt *p, tn_map *out);
/* One of them. */
int rt_attribute(rt *p, tn_map *out);
int rt_value(rt *p, tn_any *out);
/* The attributes of an operator; NULL without an error when it takes none. */
int rt_make_attrs(rt *p, const char *type_key, const tn_map *values, const rt_token *at,
                  tn_Attrs **out);
/* A number as a constant expression. */
relay_expr *rt_number(rt *p, bool negative);
/* A number as an attribute's value (IntImm, FloatImm). */
int rt_number_value(rt *p, bool negative, tn_any *out);

/* ---- parse_expr.c ---- */
relay_expr *rt_expr(rt *p);
/* Bindings and a result, up to '}' or the end. */
relay_expr *rt_body(rt *p);
/* Parameters, attributes, result type and body, after `fn` or the name of a definition. */
tn_RelayFunction *rt_function(rt *p);
tn_GlobalVar *rt_global(rt *p, const char *name);

/* ---- parse_match.c ---- */
relay_expr *rt_match(rt *p);
/* `type X[A] { ... }` or `extern type X`, after the keyword. */
int rt_type_definition(rt *p, bool external);

#endif /* TN_RELAY_TEXT_PARSE_IMPL_H_ */
