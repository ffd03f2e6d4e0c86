/* State of hybrid_text.c (statements, the function) and hybrid_expr.c. */
#ifndef TN_TE_HYBRID_IMPL_H_
#define TN_TE_HYBRID_IMPL_H_

#include "base/pmap.h"
#include "ir/names.h"
#include "object/functions.h"
#include "tir/script/doc.h"

enum { HYBRID_DEPTH_MAX = 1000 };

typedef struct {
  tn_pmap docs;        /* Var, Buffer -> ExprDoc that names it */
  tn_NameSupply *used; /* names of the script and words of the language */
  tn_vec *stmts;       /* StmtDoc of the body that is being written */
  int depth;
} hybrid;

#define HYBRID_DOC(T, ...) TN_NEW(T, .source_paths = tn_arr_of(0), __VA_ARGS__)

/** ValueError: `what` has no form in hybrid script. @return -1 */
int hybrid_no_form(const tn_Span *span, const char *what);
tn_ExprDoc *hybrid_id(const char *name);
tn_ExprDoc *hybrid_string(const char *text);
tn_ExprDoc *hybrid_int(int64_t value);
/** name(args[0], ...) @param args ExprDoc; one that is NULL makes the result NULL */
tn_ExprDoc *hybrid_call(const char *name, int n, tn_ExprDoc *const *args);
/** (a, b, c) of expressions */
tn_ExprDoc *hybrid_tuple(hybrid *h, const tn_arr *items);
tn_ExprDoc *hybrid_element(hybrid *h, const tn_Buffer *b, const tn_arr *indices);
/** NULL with an error, ValueError for what has no form. */
tn_ExprDoc *hybrid_expr(hybrid *h, const void *e);

#endif /* TN_TE_HYBRID_IMPL_H_ */
