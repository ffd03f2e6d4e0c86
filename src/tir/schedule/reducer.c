/* Which commutative reducer a block computes with.

     B[i] = B[i] + A[i, k]                       sum of x and y, y = A[i, k]
     v0 = Select(V[i] >= A[i, k], I[i], k)       argmax of (x0, x1) and (y0, y1)
     v1 = Select(V[i] >= A[i, k], V[i], A[i, k])
     I[i] = v0; V[i] = v1

   A reducer is an expression over x (the results so far) and y (anything); it is matched against
   the update. Operands of what commutes may come in either order. */
#include "tir/schedule/reducer.h"

#include <string.h>

#include "ir/functor.h"
#include "tir/schedule/regions.h"

typedef struct {
  sch_reduction *r;
  const tn_arr *indices[SCH_MAX_REDUCED];
} matcher;

static bool matches(matcher *m, const tn_obj *pattern, tn_obj *e);

static bool is_result(const matcher *m, int i, const tn_obj *e) {
  const tn_BufferLoad *load = TN_AS(BufferLoad, e);
  return load && load->buffer == m->r->stores[i]->buffer &&
         sch_same_exprs(load->indices, m->indices[i]);
}

static bool matches_pair(matcher *m, const void *x, const void *y, void *a, void *b) {
  tn_expr *kept[SCH_MAX_REDUCED];
  for (int i = 0; i < SCH_MAX_REDUCED; ++i) kept[i] = m->r->rhs[i];
  if (matches(m, x, a) && matches(m, y, b)) return true;
  for (int i = 0; i < SCH_MAX_REDUCED; ++i) m->r->rhs[i] = kept[i];
  return false;
}

/* The operator with its operands exchanged; 0 when there is none. */
static uint32_t mirrored(uint32_t op) {
  switch (op) {
  case TN_TI_Add:
  case TN_TI_Mul:
  case TN_TI_Min:
  case TN_TI_Max:
  case TN_TI_And:
  case TN_TI_Or:
  case TN_TI_EQ: return op;
  case TN_TI_LT: return TN_TI_GT;
  case TN_TI_GT: return TN_TI_LT;
  case TN_TI_LE: return TN_TI_GE;
  case TN_TI_GE: return TN_TI_LE;
  default: return 0;
  }
}

static bool matches_binary(matcher *m, const tn_BinaryOp *p, tn_obj *e) {
  const tn_BinaryOp *o = TN_AS_BINARY(e);
  uint32_t op = p->hdr.type_index;
  if (!o) return false;
  if (e->type_index == op && matches_pair(m, p->a, p->b, o->a, o->b)) return true;
  return e->type_index == mirrored(op) && matches_pair(m, p->a, p->b, o->b, o->a);
}

/* Of bits: both orders are the same. */
static bool matches_bits(matcher *m, const tn_Call *p, tn_obj *e) {
  const tn_Call *c = tir_as_call(e, tir_op_number((const tn_obj *)p->op));
  if (!c || c->args->len != 2) return false;
  const tn_obj *x = tn_arr_obj(p->args, 0), *y = tn_arr_obj(p->args, 1);
  tn_obj *a = tn_arr_obj(c->args, 0), *b = tn_arr_obj(c->args, 1);
  return matches_pair(m, x, y, a, b) || matches_pair(m, x, y, b, a);
}

static bool matches(matcher *m, const tn_obj *pattern, tn_obj *e) {
  const sch_reduction *r = m->r;
  for (int i = 0; i < r->n; ++i) {
    if (pattern == (const tn_obj *)r->x[i]) return is_result(m, i, e);
    if (pattern != (const tn_obj *)r->y[i]) continue;
    if (!tn_dtype_eq(((tn_expr *)e)->dtype, r->y[i]->dtype)) return false;
    if (!m->r->rhs[i]) m->r->rhs[i] = (tn_expr *)e;
    return arith_same(m->r->rhs[i], (tn_expr *)e);
  }
  const tn_Select *s = TN_AS(Select, pattern), *t = TN_AS(Select, e);
  if (s)
    return t && matches(m, (tn_obj *)s->condition, (tn_obj *)t->condition) &&
           matches(m, (tn_obj *)s->true_value, (tn_obj *)t->true_value) &&
           matches(m, (tn_obj *)s->false_value, (tn_obj *)t->false_value);
  if (TN_IS(Call, pattern)) return matches_bits(m, (const tn_Call *)pattern, e);
  return TN_AS_BINARY(pattern) && matches_binary(m, TN_AS_BINARY(pattern), e);
}

/* ---- the reducers ---- */

static tn_expr *all_bits(tn_expr *x, tn_expr *y) {
  return tir_bitwise(TIR_OP_bitwise_and, x, y, NULL);
}
static tn_expr *any_bits(tn_expr *x, tn_expr *y) {
  return tir_bitwise(TIR_OP_bitwise_or, x, y, NULL);
}

static int single_reducers(sch_reduction *r, int which) {
  static tn_expr *(*const builders[])(tn_expr *, tn_expr *) = {
      tir_add, tir_mul, tir_min, tir_max, tir_and, tir_or, all_bits, any_bits};
  tn_expr *x = (tn_expr *)r->x[0], *y = (tn_expr *)r->y[0];
  if (which >= TN_COUNT(builders)) return 0;
  if (which >= 4 && !ir_is_bool(x->dtype)) return 1;
  TN_GET(r->combined[0], builders[which](x, y));
  return 1;
}

/* Pairs of a number and a value: the first or the last of several largest or smallest. Two sums. */
static int pair_reducers(sch_reduction *r, int which) {
  static tn_expr *(*const order[])(tn_expr *, tn_expr *) = {tir_ge, tir_le, tir_gt, tir_lt};
  tn_expr *x0 = (tn_expr *)r->x[0], *x1 = (tn_expr *)r->x[1], *y0 = (tn_expr *)r->y[0],
          *y1 = (tn_expr *)r->y[1];
  if (which > 8) return 0;
  if (which == 8) {
    TN_GET(r->combined[0], tir_add(x0, y0));
    TN_GET(r->combined[1], tir_add(x1, y1));
    return 1;
  }
  tn_expr *better = order[which % 4](x1, y1), *choice = better;
  if (which >= 4) { /* of equal ones that with the smaller number */
    if (which < 6) return 1;
    choice = tir_or(better, tir_and(tir_eq(x1, y1), tir_lt(x0, y0)));
  }
  TN_GET(r->combined[0], tir_select(choice, x0, y0, NULL));
  TN_GET(r->combined[1], tir_select(better, x1, y1, NULL));
  return 1;
}

/* Sums and products count their first value once for each part; the others do not mind. */
static bool is_identity(const sch_reduction *r) {
  for (int i = 0; i < r->n; ++i) {
    const tn_obj *c = (const tn_obj *)r->combined[i];
    if (c->type_index == TN_TI_Add && !tir_is_zero(r->init[i])) return false;
    if (c->type_index == TN_TI_Mul && !tir_is_one(r->init[i])) return false;
  }
  return true;
}

static int find_reducer(matcher *m, tn_expr *const *values) {
  sch_reduction *r = m->r;
  for (int which = 0;; ++which) {
    int more = r->n == 1 ? single_reducers(r, which) : pair_reducers(r, which);
    if (more <= 0) return more;
    bool all = r->combined[0] != NULL;
    for (int i = 0; i < r->n; ++i) r->rhs[i] = NULL;
    for (int i = 0; all && i < r->n; ++i)
      all = matches(m, (tn_obj *)r->combined[i], (tn_obj *)values[i]);
    for (int i = 0; i < r->n; ++i) all = all && r->rhs[i];
    if (all && is_identity(r)) return 1;
  }
}

/* ---- the block ---- */

/* Stores in a row; 0 when there is anything else, or too much. */
static int stores_in(const tn_stmt *s, const tn_BufferStore **out) {
  const tn_SeqStmt *seq = TN_AS(SeqStmt, s);
  int64_t n = seq ? seq->seq->len : 1;
  if (n > SCH_MAX_REDUCED) return 0;
  for (int64_t i = 0; i < n; ++i) {
    out[i] = TN_AS(BufferStore, seq ? tn_arr_obj(seq->seq, i) : (const tn_obj *)s);
    if (!out[i]) return 0;
  }
  return (int)n;
}

static int place_of(const sch_reduction *r, const tn_Buffer *buffer) {
  for (int i = 0; i < r->n; ++i) {
    if (r->stores[i]->buffer == buffer) return i;
  }
  return -1;
}

/* Values of the stores, of which each may be a variable that a statement around them binds. */
static bool take_update(sch_reduction *r, const tn_Block *b, tn_expr **values) {
  const tn_LetStmt *lets[SCH_MAX_REDUCED];
  const tn_stmt *s = b->body;
  int nlets = 0;
  for (const tn_LetStmt *let; (let = TN_AS(LetStmt, s)); s = let->body) {
    if (nlets == SCH_MAX_REDUCED) return false;
    lets[nlets++] = let;
  }
  r->n = stores_in(s, r->stores);
  if (!r->n || (nlets && nlets != r->n) || (r->n > 1 && !nlets)) return false;
  for (int i = 0; i < r->n; ++i) {
    values[i] = r->stores[i]->value;
    for (int j = 0; j < nlets; ++j) {
      if (values[i] == (tn_expr *)lets[j]->var) r->lets[i] = lets[j];
    }
    if (nlets && !r->lets[i]) return false;
    if (nlets) values[i] = r->lets[i]->value;
  }
  return true;
}

static bool take_init(sch_reduction *r, const tn_Block *b) {
  const tn_BufferStore *stores[SCH_MAX_REDUCED];
  int n = b->init ? stores_in(b->init, stores) : 0;
  if (n != r->n) return false;
  for (int i = 0; i < n; ++i) {
    int at = place_of(r, stores[i]->buffer);
    if (at < 0 || !sch_same_exprs(stores[i]->indices, r->stores[at]->indices)) return false;
    r->init[at] = stores[i]->value;
  }
  for (int i = 0; i < n; ++i) {
    if (!r->init[i]) return false;
  }
  return true;
}

/* @param pair an array of two pointers */
static void swap(void *pair) {
  void *p[2], *q[2];
  memcpy(p, pair, sizeof p);
  q[0] = p[1], q[1] = p[0];
  memcpy(pair, q, sizeof q);
}

/* The pair with its second result first. */
static void exchange(matcher *m, tn_expr **values) {
  sch_reduction *r = m->r;
  void *pairs[] = {r->stores, r->lets, r->init, r->x, r->y, m->indices, values};
  for (int i = 0; i < TN_COUNT(pairs); ++i) swap(pairs[i]);
}

/* Stops at what changes from step to step: a result, or a variable that holds a new one. */
static int meet_result(void *ctx, tn_obj *o) {
  const sch_reduction *r = ctx;
  for (int i = 0; i < r->n; ++i)
    if (o == (const tn_obj *)r->stores[i]->buffer->data ||
        (r->lets[i] && o == (const tn_obj *)r->lets[i]->var))
      return 2;
  return 0;
}

/* Does what is combined in depend on results so far? Parts of the reduction would have others. */
static int reads_results(sch_reduction *r, bool *out) {
  *out = false;
  for (int i = 0; i < r->n && !*out; ++i) {
    int found = tn_pre_order(r->rhs[i], meet_result, r);
    if (found < 0) return -1;
    *out = found == 2;
  }
  return 0;
}

sch_found sch_find_reduction(const tn_Block *b, sch_reduction *out) {
  matcher m = {.r = out};
  tn_expr *values[SCH_MAX_REDUCED];
  *out = (sch_reduction){0};
  if (!take_update(out, b, values) || !take_init(out, b)) return SCH_OTHER_FORM;
  for (int i = 0; i < out->n; ++i) {
    m.indices[i] = out->stores[i]->indices;
    out->x[i] = tir_var("x", values[i]->dtype);
    out->y[i] = tir_var("y", values[i]->dtype);
    if (!out->x[i] || !out->y[i]) return SCH_FAILED;
  }
  int found = find_reducer(&m, values);
  if (found == 0 && out->n == 2) {
    exchange(&m, values);
    found = find_reducer(&m, values);
  }
  bool depends = false;
  if (found < 0 || (found && reads_results(out, &depends))) return SCH_FAILED;
  return found && !depends ? SCH_FOUND : SCH_OTHER_REDUCER;
}

int sch_match_reduction(const sch_step *e, const tn_Block *b, sch_reduction *out) {
  switch (sch_find_reduction(b, out)) {
  case SCH_FOUND: return 0;
  case SCH_FAILED: return -1;
  case SCH_OTHER_FORM:
    return sch_fail(e,
                    "The `init` and `body` of the reduction block are required to be a BufferStore "
                    "or a SeqStmt of BufferStores",
                    SCH_PLACES(b),
                    "The `init` and `body` of the reduction block {0} are required to store each "
                    "result once, at the same indices; several results by variables bound before");
  case SCH_OTHER_REDUCER: break;
  }
  return sch_fail(
      e,
      "No matched reducer for the identity and the combiner of this reduction block. So "
      "rfactor and cross-thread reduction cannot be applied",
      SCH_PLACES(b),
      "No matched reducer for identity and combiner of the reduction block {0}: known "
      "are sum, product, min, max, argmin, argmax and two sums, of values that do not depend on "
      "the results");
}

int sch_combine(const sch_reduction *r, tn_expr *const *lhs, tn_expr *const *rhs, tn_expr **out) {
  TN_PMAP(vars);
  for (int i = 0; i < r->n; ++i) {
    TN_TRY(tn_pmap_put(&vars, r->x[i], lhs[i]));
    TN_TRY(tn_pmap_put(&vars, r->y[i], rhs[i]));
  }
  for (int i = 0; i < r->n; ++i) TN_GET(out[i], tir_substitute(r->combined[i], &vars));
  return 0;
}
