/* Loops whose conditions hold in one part of their range only become several loops: those marked
   T.likely, and all conditions of loops that ask for it.

     for i in range((n + 3) // 4):              for i in range(n // 4):
       for j in range(4):                         for j in range(4):
         if T.likely(i * 4 + j < n):       ->       A[i * 4 + j] = 0
           A[i * 4 + j] = 0                     for i in range((n + 3) // 4 - n // 4):
                                                  for j in range(4):
                                                    if (i + n // 4) * 4 + j < n: ...

   Options: tir.LoopPartition. Loops of constant range are taken if partition_const_loop says so or
   the loop has the pragma "loop_partition_hint". Threads cannot run a part of their range: there
   the innermost body becomes a choice of two. Marks are gone afterwards. */
#include <string.h>

#include "arith/analyzer.h"
#include "arith/int_set.h"
#include "arith/region.h"
#include "tir/transforms/transforms.h"

#define HINT "pragma_loop_partition_hint"

typedef struct {
  const tn_LoopPartitionConfig *config;
  arith_analyzer known;
  tn_pmap chosen; /* tn_For and tn_AttrStmt of threads to divide */
  tn_pmap hinted; /* loop variables */
  tn_map *relax;  /* threads around: Var to Range */
  int depth;      /* of parts that are divided again */
  bool marks;     /* there are marks or hints */
  bool any;       /* something was divided */
} partitioner;

/* ---- which loops ---- */

typedef struct {
  partitioner *p;
  tn_pmap used; /* variable of a loop around -> whether a marked condition uses it */
  bool marked, keep;
} selector;

static bool is_thread(const tn_AttrStmt *op) {
  return tn_str_eq(op->attr_key, "thread_extent") && TN_IS(IterVar, op->node);
}

static tn_obj *select_var(tn_mut *m, tn_obj *v) {
  selector *s = m->ctx;
  if (s->marked && tn_pmap_has(&s->used, v)) TN_TRYP(tn_pmap_put_int(&s->used, v, 2));
  return v;
}

static tn_obj *select_call(tn_mut *m, tn_Call *op) {
  selector *s = m->ctx;
  bool outer = s->marked;
  if (tir_as_call((tn_obj *)op, TIR_OP_likely)) s->marked = s->p->marks = true;
  if (tir_as_call((tn_obj *)op, TIR_OP_tvm_thread_allreduce)) s->keep = true;
  const void *r = tn_mut_children(m, op);
  s->marked = outer;
  return r ? (tn_obj *)op : NULL;
}

/* Visits a body and chooses the node around it if a marked condition uses the variable. */
static int select_body(tn_mut *m, const tn_Var *v, const tn_stmt *body, const void *node) {
  selector *s = m->ctx;
  bool outer = s->keep;
  s->keep = false;
  TN_TRY(tn_pmap_put_int(&s->used, v, 1));
  if (!tn_mut_visit(m, body)) return -1;
  bool wanted = tn_pmap_get_int(&s->used, v, 0) == 2 || tn_pmap_has(&s->p->hinted, v);
  if (wanted && !s->keep) TN_TRY(tn_pmap_put_int(&s->p->chosen, node, 1));
  s->keep |= outer;
  return tn_pmap_put_int(&s->used, v, 0);
}

static tn_obj *select_for(tn_mut *m, tn_For *op) {
  selector *s = m->ctx;
  int64_t value;
  if (tn_map_find(op->annotations, HINT)) {
    s->p->marks = true;
    TN_TRYP(tn_pmap_put_int(&s->p->hinted, op->loop_var, 1));
  }
  bool constant = tir_as_int((tn_obj *)op->min, &value) && tir_as_int((tn_obj *)op->extent, &value);
  bool candidate =
      !constant || s->p->config->partition_const_loop || tn_pmap_has(&s->p->hinted, op->loop_var);
  if (!candidate) return tn_mut_visit(m, op->body) ? (tn_obj *)op : NULL;
  return select_body(m, op->loop_var, op->body, op) ? NULL : (tn_obj *)op;
}

static tn_obj *select_attr(tn_mut *m, tn_AttrStmt *op) {
  selector *s = m->ctx;
  if (tn_str_eq(op->attr_key, HINT)) s->p->marks = true;
  if (tn_str_eq(op->attr_key, HINT) && op->node && !tir_is_zero(op->value)) {
    const tn_IterVar *axis = TN_AS(IterVar, op->node);
    TN_TRYP(tn_pmap_put_int(&s->p->hinted, axis ? (void *)axis->var : (void *)op->node, 1));
  }
  if (!is_thread(op)) return tn_mut_visit(m, op->body) ? (tn_obj *)op : NULL;
  const tn_Var *v = ((const tn_IterVar *)op->node)->var;
  return select_body(m, v, op->body, op) ? NULL : (tn_obj *)op;
}

static tn_obj *skip(tn_mut *m, tn_obj *o) {
  (void)m;
  return o;
}

static int select_loops(partitioner *p, const tn_stmt *s) {
  static const tn_mut_case cases[] = {TN_CASE(Var, select_var),       TN_CASE(SizeVar, select_var),
                                      TN_CASE(Call, select_call),     TN_CASE(For, select_for),
                                      TN_CASE(AttrStmt, select_attr), TN_CASE(Buffer, skip)};
  selector x = {.p = p};
  TN_MUT(m, cases, &x);
  const void *r = tn_mut_visit(&m, s);
  tn_pmap_fini(&x.used);
  return r ? 0 : -1;
}

/* ---- where conditions hold ---- */

/* Conditions on one variable with the values of it for which they are known to hold, or not. */
typedef struct {
  partitioner *p;
  tn_Var *var;
  tn_map *range; /* of the variable */
  tn_map *relax;
  bool hint;
  tn_vec conds, holds, fails; /* tn_expr, tn_IntervalSet */
} finder;

static tn_expr *opposite(tn_expr *e) {
  const tn_BinaryOp *b = TN_AS_BINARY(e);
  static const uint32_t of[][2] = {{TN_TI_LT, TN_TI_GE}, {TN_TI_LE, TN_TI_GT},
                                   {TN_TI_GT, TN_TI_LE}, {TN_TI_GE, TN_TI_LT},
                                   {TN_TI_EQ, TN_TI_NE}, {TN_TI_NE, TN_TI_EQ}};
  for (int i = 0; b && i < TN_COUNT(of); ++i)
    if (of[i][0] == e->hdr.type_index) return tir_binary(of[i][1], b->a, b->b, NULL);
  return NULL;
}

static int add_condition(finder *f, tn_expr *cond) {
  tn_IntervalSet *holds, *fails;
  const tn_BinaryOp *b = TN_AS(And, cond) ? TN_AS_BINARY(cond) : NULL;
  if (b) {
    TN_TRY(add_condition(f, b->a));
    return add_condition(f, b->b);
  }
  if (!tir_uses_var(cond, f->var) || !tir_is_pure(cond)) return 0;
  tn_expr *inverse = opposite(cond);
  if (!inverse && tn_error_pending()) return -1;
  TN_GET(holds, arith_deduce_bound(&f->p->known, f->var, cond, f->range, f->relax));
  fails = inverse ? arith_deduce_bound(&f->p->known, f->var, inverse, f->range, f->relax)
                  : arith_interval_none();
  if (!fails) return -1;
  TN_TRY(tn_vec_push_obj(&f->conds, cond));
  TN_TRY(tn_vec_push_obj(&f->holds, holds));
  return tn_vec_push_obj(&f->fails, fails);
}

static tn_obj *find_call(tn_mut *m, tn_Call *op) {
  finder *f = m->ctx;
  bool choice = f->hint && tir_as_call((tn_obj *)op, TIR_OP_if_then_else);
  if (choice || tir_as_call((tn_obj *)op, TIR_OP_likely))
    TN_TRYP(add_condition(f, (tn_expr *)tn_arr_obj(op->args, 0)));
  return tn_mut_children(m, op);
}
static tn_obj *find_if(tn_mut *m, tn_IfThenElse *op) {
  finder *f = m->ctx;
  bool marked = tir_as_call((tn_obj *)op->condition, TIR_OP_likely) != NULL;
  if (f->hint && !marked) TN_TRYP(add_condition(f, op->condition));
  return tn_mut_children(m, op);
}
static tn_obj *find_select(tn_mut *m, tn_Select *op) {
  finder *f = m->ctx;
  if (f->hint) TN_TRYP(add_condition(f, op->condition));
  return tn_mut_children(m, op);
}

static tn_obj *find_for(tn_mut *m, tn_For *op) {
  finder *f = m->ctx;
  tn_map *outer = f->relax;
  tn_Range *r = tir_range(op->min, op->extent);
  if (!r) return NULL;
  if (tir_uses_var(r, f->var)) return (tn_obj *)op; /* what it covers varies */
  TN_GETP(f->relax, tn_map_with(outer, tn_any_obj(op->loop_var), tn_any_obj(r)));
  const void *body = tn_mut_visit(m, op->body);
  f->relax = outer;
  return body ? (tn_obj *)op : NULL;
}

static tn_obj *find_attr(tn_mut *m, tn_AttrStmt *op) {
  finder *f = m->ctx;
  tn_map *outer = f->relax;
  if (is_thread(op)) {
    const tn_Var *v = ((const tn_IterVar *)op->node)->var;
    tn_Range *r = tir_range(tir_zero(v->dtype), op->value);
    if (!r) return NULL;
    TN_GETP(f->relax, tn_map_with(outer, tn_any_obj((tn_obj *)(uintptr_t)v), tn_any_obj(r)));
  }
  const void *body = tn_mut_visit(m, op->body);
  f->relax = outer;
  return body ? (tn_obj *)op : NULL;
}

/* Where all conditions that can be decided within the range are decided: true, or false. NULL
 * without an error: nowhere. Their number is in *n, the conditions in `decided`. */
static tn_IntervalSet *decided_part(finder *f, const tn_vec *sets, tn_IntervalSet *range,
                                    tn_pmap *decided, int *n) {
  tn_IntervalSet *all = arith_interval_all();
  arith_analyzer *a = &f->p->known;
  if (!all) return NULL;
  *n = 0;
  for (int64_t i = 0; i < f->conds.len; ++i) {
    tn_IntervalSet *s = (tn_IntervalSet *)sets->items[i].v.obj, *part;
    if (arith_interval_is_none(s)) continue;
    TN_GETP(part, arith_interval_intersect(a, s, range));
    if (arith_interval_is_none(part)) continue;
    TN_GETP(all, arith_interval_intersect(a, all, s));
    TN_TRYP(tn_pmap_put_int(decided, f->conds.items[i].v.obj, 1));
    *n += 1;
  }
  if (*n == 0 || arith_interval_is_none(all)) return NULL;
  if (arith_is_inf(all->min_value) || arith_is_inf(all->max_value)) return all;
  return arith_prove(a, tir_lt(all->max_value, all->min_value)) ? NULL : all;
}

/* The part in which one condition holds, where not all do at once, but not the whole range. NULL
 * without an error: no condition divides it. */
static tn_IntervalSet *part_of_one(finder *f, tn_IntervalSet *range, tn_pmap *decided) {
  arith_analyzer *a = &f->p->known;
  for (int64_t i = 0; i < f->conds.len; ++i) {
    tn_IntervalSet *s = (tn_IntervalSet *)f->holds.items[i].v.obj, *part;
    if (arith_interval_is_none(s)) continue;
    TN_GETP(part, arith_interval_intersect(a, s, range));
    if (arith_interval_is_none(part) || arith_is_inf(part->min_value) ||
        arith_is_inf(part->max_value) || !arith_prove(a, tir_le(part->min_value, part->max_value)))
      continue;
    if (arith_prove(a, tir_and(tir_eq(part->min_value, range->min_value),
                               tir_eq(part->max_value, range->max_value))))
      continue;
    TN_TRYP(tn_pmap_put_int(decided, f->conds.items[i].v.obj, 1));
    return s;
  }
  return NULL;
}

/* ---- conditions decided ---- */

typedef struct {
  const tn_pmap *decided;
  bool value;
} decider;

static tn_obj *decide(tn_mut *m, tn_expr *e) {
  const decider *d = m->ctx;
  if (tn_pmap_has(d->decided, e)) return (tn_obj *)tir_bool(d->value);
  return tir_refold_binary(m, (tn_obj *)e);
}
static tn_obj *decide_call(tn_mut *m, tn_Call *op) {
  tn_Call *r = tn_mut_children(m, op);
  int64_t c;
  if (!r || r == op) return (tn_obj *)r;
  bool likely = tir_as_call((tn_obj *)r, TIR_OP_likely) != NULL;
  if (!likely && !tir_as_call((tn_obj *)r, TIR_OP_if_then_else)) return (tn_obj *)r;
  if (!tir_as_int(tn_arr_obj(r->args, 0), &c)) return (tn_obj *)r;
  return tn_arr_obj(r->args, likely ? 0 : c ? 1 : 2);
}
static tn_obj *decide_select(tn_mut *m, tn_Select *op) {
  tn_Select *r = tn_mut_children(m, op);
  int64_t c;
  if (!r || !tir_as_int((tn_obj *)r->condition, &c)) return (tn_obj *)r;
  return (tn_obj *)(c ? r->true_value : r->false_value);
}
static tn_obj *decide_if(tn_mut *m, tn_IfThenElse *op) {
  tn_IfThenElse *r = tn_mut_children(m, op);
  int64_t c;
  if (!r || !tir_as_int((tn_obj *)r->condition, &c)) return (tn_obj *)r;
  return (tn_obj *)(c ? r->then_case : r->else_case ? r->else_case : tir_nop());
}

static tn_stmt *with_decisions(tn_stmt *body, const tn_pmap *decided, bool value) {
  static const tn_mut_case cases[] = {TN_CASE(EQ, decide),
                                      TN_CASE(NE, decide),
                                      TN_CASE(LT, decide),
                                      TN_CASE(LE, decide),
                                      TN_CASE(GT, decide),
                                      TN_CASE(GE, decide),
                                      TN_CASE(Or, decide),
                                      TN_CASE(And, decide),
                                      TN_CASE(Call, decide_call),
                                      TN_CASE(Buffer, skip),
                                      TN_CASE(Select, decide_select),
                                      TN_CASE(IfThenElse, decide_if)};
  decider d = {decided, value};
  TN_MUT(m, cases, &d);
  return tn_mut_visit(&m, body);
}

/* ---- dividing ---- */

enum { MAX_DEPTH = 4 };

static tn_stmt *divide_again(tn_mut *m, tn_stmt *s, bool outermost);

/* The loop over [begin, end) of its range; *loop: itself, NULL when one iteration is left of it.
 * NULL without an error: it is empty. */
static tn_stmt *part(partitioner *p, const tn_For *op, tn_stmt *body, tn_expr *begin, tn_expr *end,
                     const tn_For **loop) {
  tn_expr *extent = arith_simplify(&p->known, tir_sub(end, begin));
  if (!extent || !begin) return NULL;
  if (arith_prove(&p->known, tir_le(extent, tir_zero(extent->dtype)))) return NULL;
  bool once = tir_is_one(extent) && !p->config->no_unroll_loop_with_extent_one;
  tn_Var *v = once ? NULL : tir_var_like(op->loop_var, tn_cstr(op->loop_var->name));
  if (!once && !v) return NULL;
  if (v && tn_pmap_has(&p->hinted, op->loop_var)) TN_TRYP(tn_pmap_put_int(&p->hinted, v, 1));
  TN_PMAP(vars);
  tn_expr *at = tir_cast(op->loop_var->dtype, begin, NULL);
  if (!once) at = tir_add((tn_expr *)v, at);
  if (!at || tn_pmap_put(&vars, op->loop_var, at)) return NULL;
  body = tir_substitute_fold(body, &vars);
  if (once || !body) return body;
  tn_For copy = *op;
  copy.loop_var = v, copy.min = tir_zero(v->dtype), copy.extent = extent, copy.body = body;
  tn_stmt *r = tn_node_copy(&tn_type_For, &copy);
  *loop = (const tn_For *)r;
  return r;
}

/* `e` where it is known to be within [low, high], else forced into them, which *forced tells. */
static tn_expr *within(partitioner *p, tn_expr *e, tn_expr *low, tn_expr *high, bool *forced) {
  bool above = arith_prove(&p->known, tir_ge(e, low));
  if (!above) e = tir_max(e, low);
  bool below = e && arith_prove(&p->known, tir_le(e, high));
  if (e && !below) e = tir_min(e, high);
  *forced |= !above || !below;
  return arith_simplify(&p->known, e);
}

static bool is_constant_loop(const tn_stmt *s) {
  const tn_For *op = TN_AS(For, s);
  int64_t n;
  return !op || tir_as_int((tn_obj *)op->extent, &n);
}

/* Is a loop with a hint written out where its conditions cannot be decided? */
static bool is_unrolled_hint(const partitioner *p, const tn_For *op) {
  int64_t n;
  return p->config->unroll_loop_with_partition_hint_no_interval &&
         tn_pmap_has(&p->hinted, op->loop_var) && tir_as_int((tn_obj *)op->extent, &n);
}

static tn_stmt *unrolled(tn_mut *m, const tn_For *op) {
  partitioner *p = m->ctx;
  tn_For copy = *op;
  tn_Range *r;
  copy.kind = TIR_FOR_UNROLLED;
  TN_TRYP(select_loops(p, op->body));
  TN_GETP(r, tir_range(op->min, op->extent));
  TN_TRYP(arith_bind_range(&p->known, op->loop_var, r, true));
  copy.body = tn_mut_visit(m, op->body);
  arith_unbind(&p->known, op->loop_var);
  return copy.body ? tn_node_copy(&tn_type_For, &copy) : NULL;
}

/* Before, within and behind the part in which the conditions are decided. `more`: there are others.
 */
static tn_stmt *divide_loop(tn_mut *m, const tn_For *op, const tn_IntervalSet *middle,
                            tn_stmt *decided, bool more) {
  partitioner *p = m->ctx;
  tn_expr *end = tir_add(op->min, op->extent), *begin_mid = op->min, *end_mid = end;
  bool forced = false;
  TN_VEC(parts);
  if (!end) return NULL;
  if (!arith_is_inf(middle->min_value))
    TN_GETP(begin_mid, within(p, middle->min_value, op->min, end, &forced));
  if (!arith_is_inf(middle->max_value))
    TN_GETP(end_mid,
            within(p, tir_add(middle->max_value, tir_one(end->dtype)), begin_mid, end, &forced));
  const tn_For *loops[3] = {NULL, NULL, NULL};
  tn_stmt *const pieces[] = {part(p, op, op->body, op->min, begin_mid, &loops[0]),
                             part(p, op, decided, begin_mid, end_mid, &loops[1]),
                             part(p, op, op->body, end_mid, end, &loops[2])};
  if (tn_error_pending()) return NULL;
  bool several = pieces[0] || pieces[2];
  if (!several && more && loops[1] && is_unrolled_hint(p, op)) return unrolled(m, loops[1]);
  for (int i = 0; i < 3; ++i) {
    if (!pieces[i]) continue;
    if (op->kind >= TIR_FOR_VECTORIZED && !is_constant_loop(pieces[i])) return NULL;
    TN_TRYP(tn_vec_push_obj(
        &parts,
        several ? divide_again(m, pieces[i], (i == 1 ? more : !forced) || !loops[i]) : pieces[i]));
  }
  return tn_error_pending() ? NULL : tir_seq(&parts);
}

/* The attributes of threads with a choice in the innermost. */
static tn_stmt *choose_in_threads(tn_AttrStmt *op, tn_expr *cond, const tn_pmap *decided,
                                  bool value) {
  tn_AttrStmt copy = *op;
  const tn_AttrStmt *inner = TN_AS(AttrStmt, op->body);
  if (inner && is_thread(inner)) {
    TN_GETP(copy.body, choose_in_threads((tn_AttrStmt *)op->body, cond, decided, value));
  } else {
    tn_stmt *body = with_decisions(op->body, decided, value);
    TN_GETP(copy.body, (tn_stmt *)TN_MAKE(IfThenElse, .condition = cond, .then_case = body,
                                          .else_case = op->body));
  }
  return tn_node_copy(&tn_type_AttrStmt, &copy);
}

static tn_stmt *divide_threads(partitioner *p, tn_AttrStmt *op, const tn_IntervalSet *middle,
                               const tn_pmap *decided, bool value) {
  tn_expr *v = (tn_expr *)((tn_IterVar *)op->node)->var, *cond = tir_bool(true);
  tn_expr *last = tir_sub(op->value, tir_one(op->value->dtype));
  if (!v || !last) return NULL;
  if (!arith_is_inf(middle->min_value) &&
      !arith_prove(&p->known, tir_le(middle->min_value, tir_zero(v->dtype))))
    cond = tir_and(cond, tir_ge(v, middle->min_value));
  if (!arith_is_inf(middle->max_value) && !arith_prove(&p->known, tir_ge(middle->max_value, last)))
    cond = tir_and(cond, tir_le(v, middle->max_value));
  if (!cond || tir_is_one(cond)) return NULL;
  return choose_in_threads(op, cond, decided, value);
}

static void finder_fini(finder *f) {
  tn_vec_fini(&f->conds);
  tn_vec_fini(&f->holds);
  tn_vec_fini(&f->fails);
}

/* Divides the loop or thread axis; NULL without an error when that is not possible. */
static tn_stmt *divide(tn_mut *m, tn_stmt *s, tn_Var *v, tn_Range *range, tn_stmt *body) {
  static const tn_mut_case cases[] = {TN_CASE(Call, find_call),     TN_CASE(IfThenElse, find_if),
                                      TN_CASE(Select, find_select), TN_CASE(For, find_for),
                                      TN_CASE(AttrStmt, find_attr), TN_CASE(Buffer, skip)};
  partitioner *p = m->ctx;
  __attribute__((cleanup(finder_fini)))
  finder f = {.p = p, .var = v, .relax = p->relax, .hint = tn_pmap_has(&p->hinted, v)};
  TN_GETP(f.range, tn_map_with(NULL, tn_any_obj(v), tn_any_obj(range)));
  TN_MUT(finding, cases, &f);
  TN_PMAP(decided);
  TN_PMAP(refuted);
  tn_IntervalSet *all;
  int n;
  bool value = true;
  if (!tn_mut_visit(&finding, body) || f.conds.len == 0) return NULL;
  TN_GETP(all, arith_interval_of_range(&p->known, range));
  tn_IntervalSet *middle = decided_part(&f, &f.holds, all, &decided, &n);
  if (!middle && !tn_error_pending()) {
    value = false;
    middle = decided_part(&f, &f.fails, all, &refuted, &n);
  }
  if (!middle && !tn_error_pending() && f.hint && TN_IS(For, s)) {
    TN_PMAP(first);
    middle = part_of_one(&f, all, &first);
    tn_stmt *simple = middle ? with_decisions(body, &first, true) : NULL;
    return simple ? divide_loop(m, (const tn_For *)s, middle, simple, true) : NULL;
  }
  if (!middle) return NULL;
  const tn_pmap *which = value ? &decided : &refuted;
  if (TN_IS(AttrStmt, s)) return divide_threads(p, (tn_AttrStmt *)s, middle, which, value);
  tn_stmt *simple = with_decisions(body, which, value);
  return simple ? divide_loop(m, (const tn_For *)s, middle, simple, f.conds.len > n) : NULL;
}

/* ---- the program ---- */

static tn_stmt *visit_for(tn_mut *m, tn_For *op) {
  partitioner *p = m->ctx;
  tn_Range *r = tir_range(op->min, op->extent);
  if (!r) return NULL;
  bool serial = op->kind != TIR_FOR_VECTORIZED;
  if (serial && tn_pmap_get_int(&p->chosen, op, 0)) {
    TN_TRYP(arith_bind_range(&p->known, op->loop_var, r, true));
    arith_unbind(&p->known, op->loop_var);
    tn_stmt *s = divide(m, (tn_stmt *)op, op->loop_var, r, op->body);
    if (s || tn_error_pending()) return p->any = true, s;
    if (is_unrolled_hint(p, op)) return unrolled(m, op);
  }
  TN_TRYP(arith_bind_range(&p->known, op->loop_var, r, true));
  tn_stmt *body = tn_mut_visit(m, op->body);
  arith_unbind(&p->known, op->loop_var);
  return tir_for_with(op, op->min, op->extent, body);
}

static tn_stmt *visit_attr(tn_mut *m, tn_AttrStmt *op) {
  partitioner *p = m->ctx;
  tn_map *outer = p->relax;
  if (tn_str_eq(op->attr_key, HINT)) return tn_mut_visit(m, op->body);
  tn_Var *v = is_thread(op) ? ((tn_IterVar *)op->node)->var : NULL;
  if (!v) return tn_mut_children(m, op);
  tn_Range *r = tir_range(tir_zero(v->dtype), op->value);
  if (!r) return NULL;
  if (tn_pmap_has(&p->chosen, op)) {
    tn_stmt *s = divide(m, (tn_stmt *)op, v, r, op->body);
    if (s || tn_error_pending()) return p->any = true, s;
  }
  bool lane = strncmp(tn_cstr(((tn_IterVar *)op->node)->thread_tag), "threadIdx", 9) == 0;
  if (lane) TN_GETP(p->relax, tn_map_with(outer, tn_any_obj(v), tn_any_obj(r)));
  TN_TRYP(arith_bind_range(&p->known, v, r, true));
  tn_stmt *body = tn_mut_visit(m, op->body);
  arith_unbind(&p->known, v);
  p->relax = outer;
  if (!body || body == op->body) return body ? (tn_stmt *)op : NULL;
  tn_AttrStmt copy = *op;
  copy.body = body;
  return tn_node_copy(&tn_type_AttrStmt, &copy);
}

/* A part of a divided loop: the loops in it, and where `outermost` says so itself. */
static tn_stmt *divide_again(tn_mut *m, tn_stmt *s, bool outermost) {
  partitioner *p = m->ctx;
  if (select_loops(p, s)) return NULL;
  if (!outermost || p->depth == MAX_DEPTH) TN_TRYP(tn_pmap_put_int(&p->chosen, s, 0));
  p->depth += 1;
  tn_stmt *r = tn_mut_visit(m, s);
  p->depth -= 1;
  return r;
}

static tn_obj *unmark(tn_mut *m, tn_Call *op) {
  if (tir_as_call((tn_obj *)op, TIR_OP_likely)) return tn_mut_visit(m, tn_arr_obj(op->args, 0));
  return tn_mut_children(m, op);
}

static tn_stmt *without_hint(tn_mut *m, tn_For *op) {
  tn_For *r = tn_mut_children(m, op);
  if (!r || !tn_map_find(r->annotations, HINT)) return (tn_stmt *)r;
  tn_For copy = *r;
  TN_GETP(copy.annotations,
          tn_map_without(r->annotations, tn_any_obj((tn_obj *)tn_str_from(HINT))));
  return tn_node_copy(&tn_type_For, &copy);
}

/* Extents of the buffers that are passed are not negative. */
static int know_extents(arith_analyzer *a, const tn_PrimFunc *f) {
  tn_any k, v;
  for (int64_t i = 0; tn_map_at(f->buffer_map, i, &k, &v); ++i) {
    const tn_arr *shape = ((const tn_Buffer *)v.v.obj)->shape;
    for (int64_t j = 0; j < shape->len; ++j)
      if (TN_IS(Var, tn_arr_obj(shape, j)))
        TN_TRY(arith_set_bound(a, (tn_Var *)tn_arr_obj(shape, j), (arith_bound){0, ARITH_POS_INF},
                               true));
  }
  return 0;
}

tn_PrimFunc *tir_loop_partition(tn_PrimFunc *f, const tn_pass_ctx *c) {
  static const tn_mut_case cases[] = {TN_CASE(For, visit_for), TN_CASE(AttrStmt, visit_attr),
                                      TN_CASE(Buffer, skip)};
  static const tn_mut_case cleaning[] = {TN_CASE(Call, unmark), TN_CASE(For, without_hint),
                                         TN_CASE(Buffer, skip)};
  partitioner p = {.config =
                       ir_config_node(c->node, "tir.LoopPartition", &tn_type_LoopPartitionConfig),
                   .relax = tn_scope_own(tn_map_new())};
  if (!p.config || !p.relax) return NULL;
  TN_MUT(m, cases, &p);
  TN_MUT(clean, cleaning, NULL);
  tn_stmt *body = know_extents(&p.known, f) || select_loops(&p, f->body) ? NULL : f->body;
  if (body && p.marks) body = tn_mut_visit(&m, body);
  arith_fini(&p.known);
  tn_pmap_fini(&p.chosen);
  tn_pmap_fini(&p.hinted);
  if (body && p.marks) body = tn_mut_visit(&clean, body);
  TN_GETP(f, tir_with_body(f, body));
  return p.any ? tir_convert_ssa(f, c) : f;
}
