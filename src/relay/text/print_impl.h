/* What the files of the printer share. */
#ifndef TN_RELAY_TEXT_PRINT_IMPL_H_
#define TN_RELAY_TEXT_PRINT_IMPL_H_

#include "base/arena.h"
#include "base/buf.h"
#include "base/pmap.h"
#include "object/containers.h"
#include "relay/text/text.h"

/* A block of text whose temporaries come before its result. Expressions that got their text in a
   block are forgotten when it ends, since its temporaries are not known outside. */
typedef struct rp_block {
  tn_buf text;
  struct rp_block *outer;
  tn_vec named; /* expressions named here */
} rp_block;

typedef struct {
  const relay_print_options *opt;
  tn_arena arena;
  tn_pmap memo;    /* expression or variable -> its text (arena) */
  tn_pmap parents; /* expression -> number of places it occurs at */
  tn_pmap typed;   /* expressions whose type was shown */
  tn_map *names;   /* names in use, owned by the scope */
  tn_map *meta;    /* type key -> Array of objects; owned by the scope */
  tn_pmap meta_at; /* object -> 1 + number in its array */
  rp_block *block;
  int indent;
  int temps;
  const relay_expr *wrapped; /* the let that stands in the parentheses opened last */
} rp;

/* print.c */
/* The text of an expression: a name, or the expression itself where it may stand inline. Lives as
 * long as the printer. */
const char *rp_expr(rp *p, const relay_expr *e, bool may_inline);
/* A body in its own block: temporaries, then the result, each line indented. */
int rp_scope(rp *p, const relay_expr *e, tn_buf *out);
int rp_braced(rp *p, const relay_expr *e, tn_buf *out);
int rp_function(rp *p, const char *prefix, const tn_RelayFunction *f, tn_buf *out);
/* Names a variable where it is bound, with its type. */
int rp_bind(rp *p, const tn_RelayVar *v, tn_buf *out);
void rp_newline(const rp *p, tn_buf *out);
int rp_meta(rp *p, const tn_obj *o, tn_buf *out);

/* print_node.c */
/* Text of one expression whose operands have theirs. */
int rp_node(rp *p, const relay_expr *e, tn_buf *out);
int rp_type_data(rp *p, const tn_TypeData *d, tn_buf *out);
int rp_pattern(rp *p, const tn_Pattern *pattern, tn_buf *out);

/* print_type.c */
int rp_type(rp *p, const tn_Type *t, tn_buf *out);
/* An attribute's value. */
int rp_value(rp *p, const tn_any *v, tn_buf *out);
/* ", name=value" for every attribute that is not the default; *n counts what was printed before. */
int rp_call_attrs(rp *p, const tn_RelayCall *call, int n, tn_buf *out);
int rp_dict_attrs(rp *p, const tn_DictAttrs *a, int n, tn_buf *out);

#endif /* TN_RELAY_TEXT_PRINT_IMPL_H_ */
