/* decompose_reduction: the first value of a reduction becomes a separate block.

     for i, k in T.grid(n, m):               for i_init in range(n):
         with T.block("B"):            ->        with T.block("B_init"):
             with T.init(): B[vi] = 0                B[vi] = 0
             B[vi] = B[vi] + A[vi, vk]       for i, k in T.grid(n, m):
                                                 with T.block("B_update"):
                                                     B[vi] = B[vi] + A[vi, vk] */
#include "ir/functor.h"
#include "tir/schedule/reducer.h"

typedef struct {
  const tn_Block *block;
  const tn_BlockRealize *realize;
  const tn_For *loop;
  tn_vec loops; /* around the block, outermost first */
  int64_t at;   /* place of `loop` among them */
} target;

static bool bound_to(const target *t, const tn_For *f, bool reduced) {
  for (int64_t i = 0; i < t->block->iter_vars->len; ++i) {
    const tn_IterVar *iv = (const tn_IterVar *)tn_arr_obj(t->block->iter_vars, i);
    if ((iv->iter_type == IR_ITER_COMM_REDUCE) == reduced &&
        sch_uses_var(tn_arr_obj(t->realize->iter_values, i), f->loop_var))
      return true;
  }
  return false;
}

/* What an iterator is bound to in the first or the last iteration of the loops below. */
static tn_expr *bound_at(const tn_BlockRealize *r, const tn_vec *loops, int64_t at, int64_t which,
                         bool last) {
  TN_PMAP(ends);
  for (int64_t i = at; i < loops->len; ++i) {
    const tn_For *f = (const tn_For *)loops->items[i].v.obj;
    tn_expr *end = last ? tir_sub(tir_add(f->min, f->extent), tir_one(f->extent->dtype)) : f->min;
    TN_GETP(end, tir_substitute(end, &ends));
    TN_TRYP(tn_pmap_put(&ends, f->loop_var, end));
  }
  return tir_substitute(tn_arr_obj(r->iter_values, which), &ends);
}

/* A part of a reduction that goes on with the results of another has no first value. */
int sch_check_start(sch_step *e, const tn_BlockRealize *r, const tn_vec *loops, int64_t at) {
  const tn_Block *b = r->block;
  for (int64_t i = 0; i < b->iter_vars->len; ++i) {
    const tn_IterVar *iv = (const tn_IterVar *)tn_arr_obj(b->iter_vars, i);
    if (iv->iter_type != IR_ITER_COMM_REDUCE) continue;
    tn_expr *first, *last;
    TN_GET(first, bound_at(r, loops, at, i, false));
    TN_GET(last, bound_at(r, loops, at, i, true));
    if (arith_prove(&e->arith, tir_gt(first, iv->dom->min)) &&
        arith_prove(&e->arith, tir_gt(last, iv->dom->min)))
      return sch_fail(e, "The loops do not begin the reduction",
                      SCH_PLACES(loops->items[at].v.obj, b),
                      "The loop {0} goes on with a reduction of block {1} that begins elsewhere: "
                      "its iterator %s does not start at the beginning of its domain",
                      tn_cstr(iv->var->name));
  }
  return 0;
}

static int check(sch_step *e, target *t) {
  const char *why;
  if (!sch_is_reduction(e, t->block, &why))
    return sch_fail(e, "The block is not a reduction block", SCH_PLACES(t->block),
                    "The block {0} is not a reduction block, since %s", why);
  TN_TRY(sch_loops_above(e, t->block, &t->loops));
  t->at = -1;
  for (int64_t i = 0; i < t->loops.len; ++i) {
    if (t->loops.items[i].v.obj == (const tn_obj *)t->loop) t->at = i;
  }
  if (t->at < 0)
    return sch_fail(e, "The loop is not an ancestor of the block", SCH_PLACES(t->block, t->loop),
                    "The loop {1} is not around the block {0}");
  for (int64_t i = 0; i < t->at; ++i) {
    const tn_For *f = (const tn_For *)t->loops.items[i].v.obj;
    if (bound_to(t, f, true))
      return sch_fail(e, "The loop is not above all reduction loops",
                      SCH_PLACES(t->loop, f, t->block),
                      "The loop {0} is below the loop {1}, which the reduction block {2} reduces "
                      "over");
  }
  for (int64_t i = t->at; i < t->loops.len; ++i) { /* else it would start from old results again */
    const tn_For *f = (const tn_For *)t->loops.items[i].v.obj;
    if (!bound_to(t, f, true) && !bound_to(t, f, false) && !tir_is_one(f->extent))
      return sch_fail(e, "A loop repeats the reduction", SCH_PLACES(f, t->block, t->loop),
                      "The loop {0} repeats the reduction of block {1}: its first value cannot "
                      "move out of it, to the loop {2}");
  }
  return sch_check_start(e, t->realize, &t->loops, t->at);
}

/* ---- the new block ---- */

typedef struct {
  tn_vec iters, values;
  tn_pmap vars;  /* block iterator -> the new one */
  tn_pmap loops; /* loop variable -> the new one */
} maker;
static void maker_fini(maker *m) {
  tn_vec_fini(&m->iters);
  tn_vec_fini(&m->values);
  tn_pmap_fini(&m->vars);
  tn_pmap_fini(&m->loops);
}

static tn_Var *init_var(const tn_Var *v) {
  tn_str *name = tn_str_fmt("%s_init", tn_cstr(v->name));
  return name ? tir_var_like(v, name->data) : NULL;
}

static int copy_loop_vars(maker *m, const target *t) {
  for (int64_t i = t->at; i < t->loops.len; ++i) {
    const tn_For *f = (const tn_For *)t->loops.items[i].v.obj;
    tn_Var *v = init_var(f->loop_var);
    if (!v || (bound_to(t, f, false) && tn_pmap_put(&m->loops, f->loop_var, v))) return -1;
  }
  return 0;
}

static int copy_iters(maker *m, const target *t) {
  for (int64_t i = 0; i < t->block->iter_vars->len; ++i) {
    const tn_IterVar *iv = (const tn_IterVar *)tn_arr_obj(t->block->iter_vars, i);
    if (iv->iter_type != IR_ITER_DATA_PAR) continue;
    tn_IterVar copy = *iv;
    copy.var = init_var(iv->var);
    tn_IterVar *now = copy.var ? tn_node_copy(&tn_type_IterVar, &copy) : NULL;
    tn_obj *value = tir_substitute(tn_arr_obj(t->realize->iter_values, i), &m->loops);
    if (!now || !value || tn_pmap_put(&m->vars, iv->var, copy.var) ||
        tn_vec_push_obj(&m->iters, now) || tn_vec_push_obj(&m->values, value))
      return -1;
  }
  return 0;
}

/* Conditions on loops that the new block does not have are left out. */
static tn_expr *predicate(const maker *m, const target *t, tn_expr *cond) {
  const tn_And *both = TN_AS(And, cond);
  if (both) return tir_and(predicate(m, t, both->a), predicate(m, t, both->b));
  for (int64_t i = t->at; i < t->loops.len; ++i) {
    const tn_Var *v = ((const tn_For *)t->loops.items[i].v.obj)->loop_var;
    if (!tn_pmap_has(&m->loops, v) && sch_uses_var(cond, v)) return tir_bool(true);
  }
  return tir_substitute(cond, &m->loops);
}

static tn_Block *init_block(maker *m, const target *t) {
  tn_arr *none = tn_arr_of(0);
  return TN_NEW(Block, .iter_vars = tn_arr_from(&m->iters), .reads = none,
                .writes = tir_substitute(t->block->writes, &m->vars),
                .name_hint = tn_str_fmt("%s_init", tn_cstr(t->block->name_hint)),
                .alloc_buffers = none, .match_buffers = none, .annotations = t->block->annotations,
                .body = tir_substitute(t->block->init, &m->vars));
}

/* Each loop defines the variable of its thread. */
static tn_IterVar *own_thread(const tn_IterVar *thread) {
  tn_IterVar copy = *thread;
  copy.var = tir_var_like(thread->var, tn_cstr(thread->var->name));
  return copy.var ? tn_node_copy(&tn_type_IterVar, &copy) : NULL;
}

static tn_stmt *init_nest(maker *m, const target *t, const tn_Block *block) {
  tn_expr *cond = predicate(m, t, t->realize->predicate);
  tn_stmt *s = (tn_stmt *)TN_MAKE(BlockRealize, .iter_values = tn_arr_from(&m->values),
                                  .predicate = cond, .block = (tn_Block *)(uintptr_t)block);
  for (int64_t i = t->loops.len; i-- > t->at && s;) {
    tn_For f = *(const tn_For *)t->loops.items[i].v.obj;
    tn_Var *v = tn_pmap_get(&m->loops, f.loop_var);
    if (!v) continue;
    f.loop_var = v;
    f.min = tir_substitute(f.min, &m->loops);
    f.extent = tir_substitute(f.extent, &m->loops);
    f.body = s;
    if (f.thread_binding) TN_GETP(f.thread_binding, own_thread(f.thread_binding));
    s = f.min && f.extent ? tn_node_copy(&tn_type_For, &f) : NULL;
  }
  return s;
}

/* Without its init the block reads what it updates. */
static tn_Block *update_block(const tn_Block *b) {
  TN_VEC(reads);
  tn_Block copy = *b;
  for (int64_t i = 0; i < b->writes->len; ++i) {
    const tn_BufferRegion *w = (const tn_BufferRegion *)tn_arr_obj(b->writes, i);
    bool read = false;
    for (int64_t j = 0; j < b->reads->len; ++j)
      read = read || ((const tn_BufferRegion *)tn_arr_obj(b->reads, j))->buffer == w->buffer;
    if (!read && tn_vec_push_obj(&reads, w)) return NULL;
  }
  for (int64_t i = 0; i < b->reads->len; ++i)
    TN_TRYP(tn_vec_push_obj(&reads, tn_arr_obj(b->reads, i)));
  copy.reads = tn_arr_from(&reads);
  copy.name_hint = tn_str_fmt("%s_update", tn_cstr(b->name_hint));
  copy.init = NULL;
  return copy.reads && copy.name_hint ? tn_node_copy(&tn_type_Block, &copy) : NULL;
}

static tn_BlockRV *decompose(sch_step *e, target *t, maker *m) {
  if (check(e, t) || copy_loop_vars(m, t) || copy_iters(m, t)) return NULL;
  tn_Block *init = init_block(m, t), *update = update_block(t->block);
  tn_stmt *nest = init ? init_nest(m, t, init) : NULL;
  if (!nest || !update || sch_moved(e, t->block, update) ||
      sch_replace(e, (const tn_stmt *)t->block, (tn_stmt *)update))
    return NULL;
  tn_stmt *both = tir_seq2(nest, sch_rewrite(e, (const tn_stmt *)t->loop));
  if (!both || sch_replace(e, (const tn_stmt *)t->loop, both) || sch_commit(e)) return NULL;
  return (tn_BlockRV *)sch_handle(e->s, (tn_obj *)init);
}

tn_BlockRV *sch_decompose_reduction(tn_TirSchedule *s, const tn_BlockRV *block,
                                    const tn_LoopRV *loop) {
  SCH_STEP(e, s, "decompose-reduction");
  maker m __attribute__((cleanup(maker_fini))) = {0};
  target t = {.block = sch_block_of(&e, block)};
  if (!t.block) return NULL;
  t.loop = sch_loop_of(&e, loop);
  t.realize = TN_AS(BlockRealize, sch_parent(&e, t.block));
  tn_BlockRV *out = t.loop && t.realize ? decompose(&e, &t, &m) : NULL;
  tn_vec_fini(&t.loops);
  return out;
}
