/* compute_at, reverse_compute_at: a block moves under a loop of another one, and computes there
   just what is needed.

     for i, j: B[i, j] = A[i, j] * 2       compute_at(B, i)     for i:
     for i, j: C[i, j] = B[i, j] + 1             ->               for ax0: B[i, ax0] = A[i, ax0] * 2
                                                                  for j: C[i, j] = B[i, j] + 1

   What one run of the block provides, over its iterators, is held against what the blocks below the
   loop require in one iteration; that gives the values that each iterator must take
   (compute_domain.c), and a nest of new loops ax0, ax1, ... over them. */
#include "tir/schedule/compute_at.h"

#include "base/alloc.h"
#include "ir/functor.h"
#include "tenon/object.h"

/* ---- checks ---- */

/* The loop lies in the block's scope, and not around the block. */
static int check_same_scope(const sch_step *e, const tn_Block *b, const tn_For *f,
                            const tn_Block *scope) {
  bool fine = sch_scope_block(e, f) == scope;
  for (const tn_obj *o = sch_parent(e, b); fine && o && o != (const tn_obj *)scope;
       o = sch_parent(e, o))
    fine = o != (const tn_obj *)f;
  if (fine) return 0;
  return sch_fail(e,
                  "Expected the block and loop to be under the same block scope, and loop not to "
                  "be the ancestor of block",
                  SCH_PLACES(b, f),
                  "Expected the block {0} and loop {1} to be under the same block scope, and loop "
                  "not to be the ancestor of block");
}

/* The new nest runs the block for values of its iterators, whatever its predicate was. */
static int check_predicate(sch_step *e, const tn_Block *b) {
  bool everywhere;
  TN_TRY(sch_runs_everywhere(e, sch_realize_of(e, b), &everywhere));
  if (everywhere) return 0;
  return sch_fail(e, "The block does not run for all values of its iterators", SCH_PLACES(b),
                  "The predicate of the block {0} leaves out values of its iterators, or is not "
                  "proven to keep them all: the block cannot be moved");
}

static int fail_not_visited(const sch_step *e, const tn_vec *required, int64_t missing,
                            bool consumers) {
  const void *places[8] = {NULL};
  TN_BUF(names);
  for (int64_t i = 0; i < required->len && i < TN_COUNT(places) - 1; ++i) {
    places[i] = required->items[i].v.obj;
    tn_buf_printf(&names, "%s{%d}", i ? ", " : "", (int)i);
  }
  const char *what = consumers ? "consumer" : "producer", *list = tn_buf_cstr(&names);
  tn_str *fast = tn_str_fmt("The primitive requires all the %s(s) of the given block to be present "
                            "under the target loop",
                            what);
  if (!fast || !list) return -1;
  return sch_fail(e, fast->data, places,
                  "The primitive requires all the %s(s) of the given block to be present under the "
                  "target loop. However, %lld of its %s(s) are not: %s",
                  what, (long long)missing, what, list);
}

/* ---- where it goes ---- */

typedef struct {
  const sch_move *m;
  int64_t at; /* number of the statement */
  int64_t last_producer, first_consumer, nproducers, nconsumers;
} finder;

static int meet_block(void *ctx, tn_obj *o) {
  finder *f = ctx;
  if (o->type_index != TN_TI_Block) return TN_IS(PrimExpr, o) ? 1 : 0;
  if (sch_place_of(&f->m->producers, o) >= 0) {
    f->nproducers++;
    f->last_producer = f->at;
  }
  if (sch_place_of(&f->m->consumers, o) >= 0) {
    f->nconsumers++;
    if (f->at < f->first_consumer) f->first_consumer = f->at;
  }
  return 0;
}

/* The place among the statements of the loop, after all producers and before all consumers. */
static int find_place(sch_step *e, sch_move *m, int64_t index) {
  const tn_SeqStmt *seq = TN_AS(SeqStmt, m->loop->body);
  int64_t n = seq ? seq->seq->len : 1;
  finder f = {.m = m, .last_producer = -1, .first_consumer = n};
  for (f.at = 0; f.at < n; ++f.at)
    TN_TRY(tn_pre_order(seq ? tn_arr_obj(seq->seq, f.at) : (tn_obj *)m->loop->body, meet_block,
                        &f) < 0);
  if (m->reverse && f.nproducers < m->producers.len)
    return fail_not_visited(e, &m->producers, m->producers.len - f.nproducers, false);
  if (m->reverse && !f.nproducers) /* nothing tells how much to compute, nor when */
    return sch_fail(e, "The block has no producer under the loop", SCH_PLACES(m->block, m->loop),
                    "The block {0} uses no result that is computed under the loop {1}");
  if (!m->reverse && f.nconsumers < m->consumers.len)
    return fail_not_visited(e, &m->consumers, m->consumers.len - f.nconsumers, true);
  int64_t first = f.last_producer + 1, last = f.first_consumer;
  m->place = index == -1 ? last : index == -2 ? first : index;
  if (first <= last && m->place >= first && m->place <= last) return 0;
  return sch_fail(e, "The index is not a valid place below the loop", SCH_PLACES(m->loop),
                  "Valid index below the loop {0}: (-1, -2, [%lld, %lld]), current index=%lld",
                  (long long)first, (long long)last, (long long)index);
}

/* ---- the new nest ---- */

typedef struct {
  tn_vec loops;   /* Var */
  tn_vec extents; /* PrimExpr */
  tn_vec values;  /* of the block's iterators */
  tn_expr *predicate;
} nest;
static void nest_fini(nest *n) {
  tn_vec_fini(&n->loops);
  tn_vec_fini(&n->extents);
  tn_vec_fini(&n->values);
}

static int add_condition(sch_step *e, nest *n, tn_expr *cond) {
  if (!cond) return -1;
  if (arith_prove_with(&e->arith, cond, ARITH_PROVE_SYMBOLIC_BOUND)) return 0;
  TN_GET(n->predicate, tir_and(n->predicate, cond));
  return 0;
}

static int add_bounds(sch_step *e, nest *n, tn_expr *value, const tn_IntervalSet *bound) {
  if (!bound) return 0;
  if (!arith_is_inf(bound->min_value)) TN_TRY(add_condition(e, n, tir_ge(value, bound->min_value)));
  if (!arith_is_inf(bound->max_value)) {
    tn_expr *end = tir_add(bound->max_value, tir_one(bound->max_value->dtype));
    TN_TRY(add_condition(e, n, tir_lt(value, end)));
  }
  return 0;
}

static int add_iter(sch_step *e, nest *n, const tn_IterVar *iv, const sch_domain *d,
                    bool preserve_unit) {
  tn_Range *r;
  tn_expr *value;
  TN_GET(r, arith_interval_range(&e->arith, d->dom, iv->dom));
  value = r->min;
  if (preserve_unit || !tir_is_one(r->extent)) {
    int bits =
        r->min->dtype.bits > r->extent->dtype.bits ? r->min->dtype.bits : r->extent->dtype.bits;
    tn_dtype t = tn_dtype_of(kDLInt, bits, 1);
    tn_str *name = tn_str_fmt("ax%lld", (long long)n->loops.len);
    tn_Var *v = name ? tir_var(name->data, t) : NULL;
    tn_expr *extent = tir_cast(t, arith_simplify(&e->arith, r->extent), NULL);
    if (!v || !extent || tn_vec_push_obj(&n->loops, v) || tn_vec_push_obj(&n->extents, extent))
      return -1;
    TN_GET(value, tir_add(r->min, (tn_expr *)v));
    /* a variable bound to its only value would leave the conditions */
    TN_TRY(arith_bind_range(&e->arith, v, tir_range(tir_zero(t), extent), true));
  }
  return tn_vec_push_obj(&n->values, value) || add_bounds(e, n, value, d->bound) ? -1 : 0;
}

static tn_stmt *make_nest(sch_step *e, const sch_move *m, nest *n) {
  tn_expr *predicate = arith_simplify(&e->arith, n->predicate);
  tn_map *none = tn_scope_own(tn_map_new());
  tn_stmt *s = predicate && none
                   ? (tn_stmt *)TN_MAKE(BlockRealize, .iter_values = tn_arr_from(&n->values),
                                        .predicate = predicate, .block = m->block)
                   : NULL;
  for (int64_t i = n->loops.len; i-- > 0 && s;) {
    tn_Var *v = (tn_Var *)n->loops.items[i].v.obj;
    s = (tn_stmt *)TN_MAKE(For, .loop_var = v, .min = tir_zero(v->dtype),
                           .extent = (tn_expr *)n->extents.items[i].v.obj, .kind = TIR_FOR_SERIAL,
                           .body = s, .annotations = none);
  }
  return s;
}

static tn_stmt *new_nest(sch_step *e, const sch_move *m, bool preserve_unit) {
  nest n __attribute__((cleanup(nest_fini))) = {.predicate = tir_bool(true)};
  for (int64_t i = 0; i < m->block->iter_vars->len; ++i) {
    const tn_IterVar *iv = (const tn_IterVar *)tn_arr_obj(m->block->iter_vars, i);
    if (add_iter(e, &n, iv, &m->domains[i], preserve_unit)) return NULL;
  }
  return make_nest(e, m, &n);
}

/* ---- the step ---- */

/* The loop with the nest among its statements. */
static int insert(sch_step *e, const sch_move *m, tn_stmt *subtree) {
  TN_VEC(stmts);
  const tn_SeqStmt *seq = TN_AS(SeqStmt, m->loop->body);
  int64_t n = seq ? seq->seq->len : 1;
  if (!subtree) return -1;
  for (int64_t i = 0; i <= n; ++i) {
    if (i == m->place) TN_TRY(tn_vec_push_obj(&stmts, subtree));
    if (i < n)
      TN_TRY(tn_vec_push_obj(&stmts, seq ? tn_arr_obj(seq->seq, i) : (tn_obj *)m->loop->body));
  }
  tn_For *now =
      sch_loop(m->loop, m->loop->loop_var, m->loop->min, m->loop->extent, tir_seq(&stmts));
  if (!now || sch_moved(e, m->loop, now)) return -1;
  return sch_replace(e, (const tn_stmt *)m->loop, (tn_stmt *)now);
}

static void move_fini(sch_move *m) {
  tn_vec_fini(&m->producers);
  tn_vec_fini(&m->consumers);
  tn_free(m->domains);
}

/* Does the block run in each iteration of the loop? Its iterators that depend on no loop between are
   then known to stay in their domains. */
static bool runs_below(const sch_step *e, const sch_move *m, const tn_BlockRealize *r,
                       tn_vec *between) {
  const tn_obj *o = sch_parent(e, r);
  for (; o && o != (const tn_obj *)m->loop; o = sch_parent(e, o)) {
    const tn_For *f = TN_AS(For, o);
    int64_t n;
    if (!f && !TN_AS(SeqStmt, o)) return false;
    if (f && (!tir_as_int((tn_obj *)f->extent, &n) || n < 1 || tn_vec_push_obj(between, f)))
      return false;
  }
  return o && tir_is_one(r->predicate);
}

static int know_iterators(sch_step *e, const sch_move *m, const tn_Block *b) {
  TN_VEC(between);
  const tn_BlockRealize *r = sch_realize_of(e, b);
  if (!runs_below(e, m, r, &between)) return tn_error_pending() ? -1 : 0;
  for (int64_t i = 0; i < r->iter_values->len; ++i) {
    const tn_Range *dom = ((const tn_IterVar *)tn_arr_obj(b->iter_vars, i))->dom;
    tn_expr *value = (tn_expr *)tn_arr_obj(r->iter_values, i), *cond;
    bool outer = !TN_IS(Var, value) && !TN_AS(IntImm, value);
    for (int64_t j = 0; j < between.len; ++j)
      outer = outer && !sch_uses_var(value, ((tn_For *)between.items[j].v.obj)->loop_var);
    if (!outer) continue;
    TN_GET(cond, tir_and(tir_ge(value, dom->min), tir_lt(value, tir_add(dom->min, dom->extent))));
    TN_GET(cond, arith_simplify(&e->arith, cond));
    TN_TRY(arith_enter(&e->arith, cond) < 0);
  }
  return 0;
}

static int prepare(sch_step *e, sch_move *m, int64_t index) {
  SCH_SCOPE_INFO(info);
  tn_Block *scope;
  TN_GET(scope, sch_scope_root(e, m->block, true));
  TN_TRY(sch_scope_info_of(scope, &info));
  TN_TRY(sch_producers(&info, m->block, &m->producers));
  TN_TRY(sch_consumers(&info, m->block, &m->consumers));
  TN_TRY(sch_check_complete_or_reduction(e, m->block));
  TN_TRY(sch_check_own_loops(e, m->block));
  TN_TRY(check_predicate(e, m->block));
  TN_TRY(check_same_scope(e, m->block, m->loop, scope));
  if (!m->reverse) TN_TRY(sch_check_not_output(e, m->block, scope));
  TN_TRY(sch_remove_block(e, m->block));
  TN_TRY(find_place(e, m, index));
  /* what earlier checks have bound belongs to other loops */
  arith_fini(&e->arith);
  e->arith = (arith_analyzer){0};
  TN_TRY(sch_bind_shapes(e));
  TN_TRY(sch_bind_loops_above(e, (const tn_obj *)m->loop));
  const tn_vec *others = m->reverse ? &m->producers : &m->consumers;
  for (int64_t i = 0; i < others->len; ++i)
    TN_TRY(know_iterators(e, m, (const tn_Block *)others->items[i].v.obj));
  return 0;
}

static int move_block(tn_TirSchedule *s, const tn_BlockRV *block, const tn_LoopRV *loop,
                      bool preserve_unit, int64_t index, bool reverse) {
  int64_t mark = sch_loop_mark(s, loop); /* what sample_compute_location may give */
  if (mark)
    return mark == -1 ? 0 : (reverse ? sch_reverse_compute_inline : sch_compute_inline)(s, block);
  SCH_STEP(e, s, reverse ? "reverse-compute-at" : "compute-at");
  sch_move m __attribute__((cleanup(move_fini))) = {.reverse = reverse};
  TN_GET(m.block, sch_block_of(&e, block));
  TN_GET(m.loop, sch_loop_of(&e, loop));
  TN_TRY(prepare(&e, &m, index));
  TN_TRY(sch_find_domains(&e, &m));
  TN_TRY(insert(&e, &m, new_nest(&e, &m, preserve_unit)));
  return sch_commit(&e);
}

int sch_compute_at(tn_TirSchedule *s, const tn_BlockRV *block, const tn_LoopRV *loop,
                   bool preserve_unit, int64_t index) {
  return move_block(s, block, loop, preserve_unit, index, false);
}

int sch_reverse_compute_at(tn_TirSchedule *s, const tn_BlockRV *block, const tn_LoopRV *loop,
                           bool preserve_unit, int64_t index) {
  return move_block(s, block, loop, preserve_unit, index, true);
}
