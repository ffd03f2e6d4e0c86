/* Stores of what a later statement of the same sequence stores over, before anything reads it:

     for i in range(4, 12):                     for i in range(16):
       A[i] = 100                          ->     A[i] = 42
     for i in range(16):
       A[i] = 42

   The later statement is a nest of loops around one store, so that the elements it reaches are
   known; its conditions have to follow from those of the first. Between the two nothing names the
   buffer's memory, calls what may have an effect, or may end the program. Part of tir.RemoveNoOp.
   */
#include "arith/analyzer.h"
#include "tir/transforms/simplify/known_values.h"

enum { MAX_LOOPS = 16, MAX_CONDITIONS = 8 };

/* Loops around one store. */
typedef struct {
  const tn_For *loops[MAX_LOOPS];
  int n;
  tn_expr *conditions[MAX_CONDITIONS];
  int nconditions;
  const tn_BufferStore *store;
} nest;

static bool take_nest(const tn_stmt *s, nest *x) {
  *x = (nest){.n = 0};
  for (;;) {
    const tn_For *f = TN_AS(For, s);
    const tn_IfThenElse *c = TN_AS(IfThenElse, s);
    if (f && (f->kind != TIR_FOR_SERIAL || x->n == MAX_LOOPS)) return false;
    if (c && (c->else_case || !tir_is_pure(c->condition) || x->nconditions == MAX_CONDITIONS))
      return false;
    if (!f && !c) break;
    if (f) x->loops[x->n++] = f;
    if (c) x->conditions[x->nconditions++] = c->condition;
    s = f ? f->body : c->then_case;
  }
  x->store = TN_AS(BufferStore, s);
  if (!x->store || x->store->buffer->strides->len) return false;
  for (int64_t i = 0; i < x->store->indices->len; ++i)
    if (((tn_expr *)tn_arr_obj(x->store->indices, i))->dtype.lanes != 1) return false;
  return true;
}

/* ---- what keeps a store ---- */

typedef struct {
  const tn_Var *data;
  bool found;
} search;

static int look(void *ctx, tn_obj *o) {
  search *x = ctx;
  const tn_Call *c = TN_AS(Call, o);
  bool effect = c && tir_call_effect((tn_obj *)c->op) > TIR_EFFECT_READ;
  x->found |= (const void *)o == x->data || effect || TN_IS(While, o) || TN_IS(AssertStmt, o);
  return 0;
}

static bool may_see(const void *program, const tn_Var *data) {
  search x = {.data = data};
  if (tn_post_order(program, look, &x)) return tn_error_clear(), true;
  return x.found;
}

static bool nest_may_see(const nest *x, const tn_Var *data) {
  for (int i = 0; i < x->n; ++i)
    if (may_see(x->loops[i]->min, data) || may_see(x->loops[i]->extent, data)) return true;
  return may_see(x->store->value, data) || may_see(x->store->indices, data);
}

/* ---- what is reached ---- */

static int loop_of(const nest *x, const tn_obj *v) {
  for (int i = 0; i < x->n; ++i)
    if ((const tn_obj *)x->loops[i]->loop_var == v) return i;
  return -1;
}

static bool uses_loops(const nest *x, const void *e) {
  for (int i = 0; i < x->n; ++i)
    if (tir_uses_var(e, x->loops[i]->loop_var)) return true;
  return false;
}

/* Is the element at `at` of this axis among those that `later` stores to, as far as its loops go?
 * `where` gets what their variables are there. */
static bool reaches(arith_analyzer *a, const nest *later, tn_expr *index, tn_expr *at, bool *used,
                    tn_pmap *where) {
  int k = loop_of(later, (const tn_obj *)index);
  if (k < 0) return !uses_loops(later, index) && arith_prove_equal(a, index, at);
  const tn_For *f = later->loops[k];
  if (used[k]) return false;
  used[k] = true;
  if (tn_pmap_put(where, f->loop_var, at)) return false;
  return arith_prove(a, tir_ge(at, f->min)) &&
         arith_prove(a, tir_lt(at, tir_add(f->min, f->extent)));
}

/* Do the conditions of `later` hold at the element? */
static bool conditions_hold(arith_analyzer *a, const nest *later, const bool *used,
                            const tn_pmap *where) {
  for (int i = 0; i < later->nconditions; ++i) {
    for (int k = 0; k < later->n; ++k)
      if (!used[k] && tir_uses_var(later->conditions[i], later->loops[k]->loop_var)) return false;
    tn_expr *c = tir_substitute(later->conditions[i], where);
    if (!c || !arith_prove(a, c)) return false;
  }
  return true;
}

static bool covers(arith_analyzer *a, const nest *later, const nest *first, tn_pmap *where) {
  const tn_arr *to = later->store->indices, *at = first->store->indices;
  bool used[MAX_LOOPS] = {false};
  if (to->len != at->len) return false;
  for (int i = 0; i < later->n; ++i)
    if (uses_loops(later, later->loops[i]->min) || uses_loops(later, later->loops[i]->extent))
      return false;
  for (int64_t i = 0; i < to->len; ++i)
    if (!reaches(a, later, (tn_expr *)tn_arr_obj(to, i), (tn_expr *)tn_arr_obj(at, i), used, where))
      return false;
  for (int i = 0; i < later->n; ++i)
    if (!used[i] && !arith_prove_ge(a, later->loops[i]->extent, 1)) return false;
  return conditions_hold(a, later, used, where);
}

static int is_overwritten(const nest *first, const tn_stmt *s) {
  TN_ARITH(a);
  nest later;
  const tn_Buffer *b = first->store->buffer;
  if (!take_nest(s, &later) || later.store->buffer != b) return 0;
  if (nest_may_see(&later, b->data)) return 0;
  for (int i = 0; i < first->n; ++i) {
    const tn_For *f = first->loops[i];
    tn_Range *r;
    TN_GET(r, tir_range(f->min, f->extent));
    TN_TRY(arith_bind_range(&a, f->loop_var, r, true));
  }
  for (int i = 0; i < first->nconditions; ++i)
    if (arith_enter(&a, first->conditions[i]) < 0) return -1;
  TN_PMAP(where);
  bool good = covers(&a, &later, first, &where);
  return tn_error_pending() ? -1 : good;
}

/* ---- rewriting ---- */

static tn_obj *drop_store(tn_mut *m, tn_BufferStore *op) {
  (void)m;
  if (tir_side_effect(op->value) <= TIR_EFFECT_READ) return (tn_obj *)tir_nop();
  return (tn_obj *)TN_NEW(Evaluate, .value = op->value);
}

/* 1 when the statement at i is stored over, 0, or -1 with an error. */
static int look_ahead(const tn_arr *seq, int64_t i) {
  nest first;
  if (!take_nest((const tn_stmt *)tn_arr_obj(seq, i), &first)) return 0;
  for (int64_t k = i + 1; k < seq->len; ++k) {
    const tn_stmt *s = (const tn_stmt *)tn_arr_obj(seq, k);
    int r = is_overwritten(&first, s);
    if (r) return r;
    if (may_see(s, first.store->buffer->data)) return 0;
  }
  return 0;
}

static tn_obj *drop_in_sequence(tn_mut *m, tn_SeqStmt *op) {
  static const tn_mut_case cases[] = {TN_CASE(BufferStore, drop_store)};
  TN_VEC(items);
  bool any = false;
  for (int64_t i = 0; i < op->seq->len; ++i) {
    tn_stmt *s = (tn_stmt *)tn_arr_obj(op->seq, i);
    int gone = look_ahead(op->seq, i);
    if (gone < 0) return NULL;
    TN_MUT(drop, cases, NULL);
    TN_GETP(s, gone ? tn_mut_visit(&drop, s) : tn_mut_visit(m, s));
    any |= s != (tn_stmt *)tn_arr_obj(op->seq, i);
    TN_TRYP(tn_vec_push_obj(&items, s));
  }
  return any ? (tn_obj *)tir_seq(&items) : (tn_obj *)op;
}

tn_stmt *tir_without_overwritten(tn_stmt *s) {
  static const tn_mut_case cases[] = {TN_CASE(SeqStmt, drop_in_sequence)};
  TN_MUT(m, cases, NULL);
  return s ? tn_mut_visit(&m, s) : NULL;
}
