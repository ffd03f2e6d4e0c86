/* Makes two blocks one, that which makes what is used:

     B[vi, vj] = A[vi, vj] * 2                  reverse_compute_inline(C), for C over (8, 16, 100):
     C[va, vb, vc] = B[va * 16 + vb, vc] + 1      ->
                                                T.where(j < 100)
                                                C[vi // 16, vi % 16, vj] = A[vi, vj] * 2 + 1

   The consumer reads B at f(v) for its iterators v, the producer writes B at w. Where g is such
   that g(f(v)) = v, an element w is read in the iteration v = g(w) at most: if g(w) lies in the
   consumer's domain and f(g(w)) = w. What of this is not known becomes a predicate. Each iteration
   of the consumer must have its w: the producer covers what is read. */
#include "arith/iter_map.h"
#include "ir/functor.h"
#include "tenon/object.h"
#include "tir/schedule/inline.h"

/* ---- the blocks ---- */

/* The one block of the scope that writes something the consumer reads. */
static const tn_Block *single_producer(const sch_step *e, const tn_Block *consumer,
                                       tn_Buffer **buffer) {
  const tn_Block *found = NULL, *scope = sch_scope_block(e, sch_parent(e, consumer));
  TN_VEC(blocks);
  int n = 0;
  if (scope && sch_blocks_below((const tn_obj *)scope->body, &blocks)) return NULL;
  for (int64_t i = 0; i < blocks.len; ++i) {
    const tn_Block *b = ((const tn_BlockRealize *)blocks.items[i].v.obj)->block;
    for (int64_t j = 0; b != consumer && j < b->writes->len * consumer->reads->len; ++j) {
      tn_Buffer *w = ((tn_BufferRegion *)tn_arr_obj(b->writes, j % b->writes->len))->buffer;
      if (((tn_BufferRegion *)tn_arr_obj(consumer->reads, j / b->writes->len))->buffer != w)
        continue;
      found = b;
      *buffer = w;
      ++n;
    }
  }
  if (n == 1) return found;
  sch_fail(e, "The consumer block does not have a single producer", SCH_PLACES(consumer),
           "The consumer block {0} reads results of %d blocks, expected one", n);
  return NULL;
}

typedef struct {
  const tn_Buffer *buffer;
  const tn_arr *indices; /* of all loads met; NULL before the first */
  bool differ;
} load_shape;

static int same_indices(void *ctx, tn_obj *o) {
  load_shape *l = ctx;
  const tn_BufferLoad *load = TN_AS(BufferLoad, o);
  if (!load || load->buffer != l->buffer) return 0;
  if (l->indices && tn_equal(l->indices, load->indices, 0) != 1) l->differ = true;
  l->indices = load->indices;
  return 0;
}

/* ---- from what is written back to the iterators that read it ---- */

typedef struct {
  const tn_Block *consumer;
  const tn_arr *reads;  /* f(v) */
  const tn_arr *writes; /* w, over the producer's iterators */
  tn_vec back;          /* g(w), for each iterator of the consumer */
} way_back;

static const tn_IterVar *iter_at(const tn_Block *b, int64_t i) {
  return (const tn_IterVar *)tn_arr_obj(b->iter_vars, i);
}

static int bind_iters(arith_analyzer *a, const tn_Block *b) {
  for (int64_t i = 0; i < b->iter_vars->len; ++i)
    TN_TRY(arith_bind_range(a, iter_at(b, i)->var, iter_at(b, i)->dom, true));
  return 0;
}

static tn_map *domain_of(const tn_Block *b) {
  tn_map *out = tn_scope_own(tn_map_new());
  for (int64_t i = 0; out && i < b->iter_vars->len; ++i)
    TN_TRYP(tn_map_set(out, tn_any_obj(iter_at(b, i)->var), tn_any_obj(iter_at(b, i)->dom)));
  return out;
}

/* g at `at`; *out is false where f is not affine. */
static int invert(const way_back *w, const tn_arr *at, tn_vec *back, bool *out) {
  TN_ARITH(a);
  tn_map *dom, *found;
  const tn_IterMapResult *r;
  TN_GET(dom, domain_of(w->consumer));
  TN_GET(r, iter_map_detect_padded(&a, w->reads, dom, NULL, ITER_MAP_NO_CHECK, false));
  *out = r->errors->len == 0 && r->indices->len == at->len;
  if (!*out) return 0;
  TN_GET(found, iter_map_inverse(&a, r->indices, at));
  for (int64_t i = 0; i < w->consumer->iter_vars->len; ++i) {
    const tn_IterVar *iv = iter_at(w->consumer, i);
    tn_any e;
    bool known = tn_map_get(found, tn_any_obj(iv->var), &e);
    TN_TRY(tn_vec_push_obj(back, known ? e.v.obj : (tn_obj *)iv->dom->min));
  }
  return 0;
}

/* Does  g(f(v)) = v  hold, and are all f(v) elements of the buffer? */
static int is_way_back(const way_back *w, const tn_Buffer *buffer, bool *out) {
  TN_ARITH(a);
  TN_VEC(same);
  TN_TRY(bind_iters(&a, w->consumer));
  TN_TRY(invert(w, w->reads, &same, out));
  for (int64_t i = 0; *out && i < same.len; ++i)
    *out = arith_prove_equal(&a, (tn_expr *)same.items[i].v.obj,
                             (tn_expr *)iter_at(w->consumer, i)->var);
  for (int64_t i = 0; *out && i < w->reads->len; ++i) {
    tn_expr *at = (tn_expr *)tn_arr_obj(w->reads, i);
    *out = arith_prove(&a, tir_ge(at, tir_zero(at->dtype))) &&
           arith_prove(&a, tir_lt(at, (tn_expr *)tn_arr_obj(buffer->shape, i)));
  }
  return 0;
}

/* Puts g(w) into e->vars for the consumer's iterators. */
static int match_loads(sch_step *e, way_back *w, const tn_Buffer *buffer) {
  bool fits = false;
  if (w->reads) TN_TRY(is_way_back(w, buffer, &fits));
  if (fits) TN_TRY(invert(w, w->writes, &w->back, &fits));
  if (!fits)
    return sch_fail(e, "The consumer does not read each element of the buffer once",
                    SCH_PLACES(w->consumer),
                    "The block {0} does not read %s at indices that tell its iterators, one "
                    "element in each iteration: affine ones, each inside of the buffer",
                    tn_cstr(buffer->name));
  for (int64_t i = 0; i < w->back.len; ++i)
    TN_TRY(sch_put_var(e, iter_at(w->consumer, i)->var, (tn_expr *)w->back.items[i].v.obj));
  return 0;
}

/* ---- the predicate ---- */

static tn_expr *with_condition(sch_step *e, tn_expr *all, tn_expr *cond, const tn_pmap *values) {
  TN_GETP(cond, cond ? arith_simplify(&e->arith, cond) : NULL);
  if (tir_is_one(cond)) return all;
  TN_GETP(cond, tir_substitute(cond, values));
  TN_GETP(cond, arith_simplify(&e->arith, cond));
  return tir_is_one(cond) ? all : tir_is_one(all) ? cond : tir_and(all, cond);
}

/* The condition over the loops around the producer under which what it writes is read. */
static tn_expr *read_when(sch_step *e, const way_back *w, const tn_BlockRealize *producer) {
  TN_PMAP(values);
  for (int64_t i = 0; i < producer->iter_values->len; ++i)
    TN_TRYP(tn_pmap_put(&values, iter_at(producer->block, i)->var,
                        tn_arr_obj(producer->iter_values, i)));
  tn_expr *all = tir_bool(true);
  for (int64_t i = 0; all && i < w->back.len; ++i) {
    const tn_Range *dom = iter_at(w->consumer, i)->dom;
    tn_expr *at = (tn_expr *)w->back.items[i].v.obj;
    all = with_condition(e, all, tir_ge(at, dom->min), &values);
    if (all) all = with_condition(e, all, tir_lt(at, tir_add(dom->min, dom->extent)), &values);
  }
  tn_arr *again = tir_substitute(w->reads, &e->vars);
  for (int64_t i = 0; all && again && i < again->len; ++i)
    all = with_condition(
        e, all, tir_eq((tn_expr *)tn_arr_obj(again, i), (tn_expr *)tn_arr_obj(w->writes, i)),
        &values);
  return again ? all : NULL;
}

typedef struct {
  const tn_BlockRealize *producer;
  tn_expr *predicate;
} guarded;

/* For sch_step.after. */
static tn_obj *guard(sch_step *e, const tn_obj *was, tn_obj *now) {
  const guarded *g = e->after_ctx;
  if (was != (const tn_obj *)g->producer) return now;
  tn_BlockRealize copy = *(const tn_BlockRealize *)now;
  copy.predicate = g->predicate;
  return tn_node_copy(&tn_type_BlockRealize, &copy);
}

static int find_predicate(sch_step *e, const way_back *w, guarded *g) {
  tn_expr *given = g->producer->predicate;
  TN_TRY(sch_bind_loops_above(e, sch_parent(e, g->producer)));
  TN_TRY(bind_iters(&e->arith, g->producer->block));
  int64_t mark = arith_enter(&e->arith, given);
  if (mark < 0) return -1;
  g->predicate = read_when(e, w, g->producer);
  arith_leave(&e->arith, mark);
  if (g->predicate && !tir_is_one(given))
    g->predicate = tir_is_one(g->predicate) ? given : tir_and(given, g->predicate);
  return g->predicate ? 0 : -1;
}

/* ---- the step ---- */

/* Every iteration of the consumer runs, and finds its element written. */
static int check_covered(sch_step *e, const tn_Block *consumer, const tn_Block *producer) {
  SCH_SCOPE_INFO(info);
  bool fine;
  TN_TRY(sch_bind_shapes(e));
  TN_TRY(sch_runs_everywhere(e, sch_realize_of(e, consumer), &fine));
  if (!fine)
    return sch_fail(e, "The consumer is not proven to run everywhere", SCH_PLACES(consumer),
                    "The block {0} is not proven to run for all values of its iterators");
  TN_TRY(sch_scope_info_of(sch_scope_block(e, sch_parent(e, consumer)), &info));
  TN_TRY(sch_region_cover(e, &info, consumer, &fine));
  if (fine) return 0;
  return sch_fail(e, "The producer does not cover what the consumer reads",
                  SCH_PLACES(consumer, producer),
                  "The block {0} may read elements that the block {1} does not write");
}

static int put_in(sch_step *e, way_back *w, const tn_BufferStore *out, const tn_BufferStore *in,
                  guarded *g) {
  TN_VEC(zeros);
  TN_TRY(match_loads(e, w, in->buffer));
  TN_TRY(check_covered(e, w->consumer, g->producer->block));
  TN_TRY(find_predicate(e, w, g));
  for (int64_t i = 0; i < in->indices->len; ++i) TN_TRY(tn_vec_push_obj(&zeros, tir_i32(0)));
  sch_inline how = {.vars = tn_arr_from(&zeros), .value = in->value};
  if (!how.vars || tn_pmap_put(&e->loads, in->buffer, &how)) return -1;
  TN_TRY(sch_replace(e, (const tn_stmt *)in, sch_rewrite(e, (const tn_stmt *)out)));
  TN_TRY(tn_pmap_put(&e->dropped, in->buffer, g->producer));
  TN_TRY(tn_pmap_put_int(&e->renewed, g->producer->block, 2));
  TN_TRY(sch_remove_block(e, w->consumer));
  e->after = guard;
  e->after_ctx = g;
  return sch_commit(e);
}

int sch_reverse_compute_inline(tn_TirSchedule *s, const tn_BlockRV *block) {
  SCH_STEP(e, s, "reverse-compute-inline");
  tn_Buffer *buffer = NULL;
  tn_Block *consumer = sch_block_of(&e, block);
  if (!consumer || sch_check_complete(&e, consumer) || sch_check_own_loops(&e, consumer)) return -1;
  const tn_Block *producer = single_producer(&e, consumer, &buffer);
  if (!producer || sch_check_complete(&e, producer)) return -1;
  const tn_BufferStore *out = sch_only_store(&e, consumer, true),
                       *in = out ? sch_only_store(&e, producer, true) : NULL;
  if (!in) return -1;
  sch_uses u = {.e = &e, .buffer = buffer};
  TN_TRY(sch_check_intermediate(&e, producer, &u));
  if (u.readers != 1)
    return sch_fail(&e, "The producer block has other consumers", SCH_PLACES(producer),
                    "The block {0} has %d consumers, expected one", u.readers);
  load_shape l = {.buffer = buffer};
  TN_TRY(tn_post_order(out->value, same_indices, &l));
  way_back w = {.consumer = consumer, .reads = l.differ ? NULL : l.indices, .writes = in->indices};
  guarded g = {.producer = sch_realize_of(&e, producer)};
  int err = put_in(&e, &w, out, in, &g);
  tn_vec_fini(&w.back);
  return err;
}
