/* decompose_padding: what pads a buffer is divided into filling and copying.

     for i in range(140):                                 for i in range(140):
       y[vi] = if_then_else(6 <= vi < 134,        ->        y[vi] = 0           block "B_pad_const"
                            x[vi - 6], 0)                 for i in range(128):
                                                            y[vi + 6] = x[vi]   block "B"

   The condition must limit each iterator by itself; the iterators of the copying block run over the
   part where it holds, from 0. A loop that is bound to one of them alone is cut short; where the
   binding is something else a predicate limits it. */
#include "arith/region.h"
#include "ir/functor.h"
#include "tir/schedule/regions.h"

typedef struct {
  sch_step *e;
  const tn_Block *block;
  const tn_BlockRealize *realize;
  const tn_For *loop;
  tn_vec loops; /* from the given one inwards */
  const tn_BufferStore *store;
  tn_expr *cond, *inside, *outside;
  tn_vec ranges; /* Range of each iterator where the condition holds */
  tn_pmap cut;   /* loop variable -> its new extent */
  tn_Block *filling;
} padding;

static int fail_pattern(const padding *p, const char *why) {
  tn_str *fast = tn_str_fmt("decompose_padding expect the block to match padding pattern: %s", why);
  return fast ? sch_fail(p->e, fast->data, SCH_PLACES(p->block),
                         "decompose_padding expect the block {0} to match padding pattern: %s", why)
              : -1;
}

/* Each loop is around the next one and nothing else, the innermost around the block. */
static int check_nest(const padding *p) {
  for (int64_t i = 0; i < p->loops.len; ++i) {
    const tn_For *f = (const tn_For *)p->loops.items[i].v.obj;
    const tn_obj *below =
        i + 1 < p->loops.len ? p->loops.items[i + 1].v.obj : (const tn_obj *)p->realize;
    if ((const tn_obj *)f->body != below)
      return sch_fail(
          p->e, "The loop is around more than the block", SCH_PLACES(p->block, f),
          "The loop {1} is around more than block {0}, which would be lost: give a loop "
          "around this block alone");
  }
  return 0;
}

/* ---- the pattern ---- */

static bool uses_iters(const padding *p, const tn_expr *e) {
  for (int64_t i = 0; i < p->block->iter_vars->len; ++i) {
    if (sch_uses_var(e, ((const tn_IterVar *)tn_arr_obj(p->block->iter_vars, i))->var)) return true;
  }
  return false;
}

static int match_body(padding *p) {
  p->store = TN_AS(BufferStore, p->block->body);
  if (!p->store) return fail_pattern(p, "its body is required to be one BufferStore");
  const tn_obj *value = (const tn_obj *)p->store->value;
  const tn_Select *s = TN_AS(Select, value);
  const tn_Call *call = tir_as_call(value, TIR_OP_if_then_else);
  if (!s && !call)
    return fail_pattern(p, "the value is required to be constrained by a padding predicate");
  p->cond = s ? s->condition : (tn_expr *)tn_arr_obj(call->args, 0);
  p->inside = s ? s->true_value : (tn_expr *)tn_arr_obj(call->args, 1);
  p->outside = s ? s->false_value : (tn_expr *)tn_arr_obj(call->args, 2);
  if (uses_iters(p, p->outside)) return fail_pattern(p, "the pad value is required to be constant");
  return 0;
}

/* Values of one iterator for which its conditions hold, within its domain. */
static int limit(padding *p, const tn_IterVar *iv, tn_expr *cond, tn_IntervalSet **set) {
  const tn_And *both = TN_AS(And, cond);
  tn_map *none = tn_scope_own(tn_map_new());
  if (both) {
    TN_TRY(limit(p, iv, both->a, set));
    return limit(p, iv, both->b, set);
  }
  if (!none || !sch_uses_var(cond, iv->var)) return none ? 0 : -1;
  tn_IntervalSet *found;
  TN_GET(found, arith_deduce_bound(&p->e->arith, iv->var, cond, none, none));
  if (arith_interval_is_none(found)) return 0; /* what is proved at the end tells */
  TN_GET(*set, arith_interval_intersect(&p->e->arith, *set, found));
  return 0;
}

static int find_ranges(padding *p) {
  for (int64_t i = 0; i < p->block->iter_vars->len; ++i) {
    const tn_IterVar *iv = (const tn_IterVar *)tn_arr_obj(p->block->iter_vars, i);
    tn_IntervalSet *set;
    TN_GET(set, arith_interval_of_range(&p->e->arith, iv->dom));
    TN_TRY(limit(p, iv, p->cond, &set));
    tn_Range *r = arith_interval_range(&p->e->arith, set, iv->dom);
    if (!r || tn_vec_push_obj(&p->ranges, r)) return -1;
  }
  for (int64_t i = 0; i < p->block->iter_vars->len; ++i) {
    const tn_IterVar *iv = (const tn_IterVar *)tn_arr_obj(p->block->iter_vars, i);
    TN_TRY(
        arith_bind_range(&p->e->arith, iv->var, (const tn_Range *)p->ranges.items[i].v.obj, true));
  }
  bool whole = arith_prove(&p->e->arith, p->cond);
  for (int64_t i = 0; i < p->block->iter_vars->len; ++i)
    arith_unbind(&p->e->arith, ((const tn_IterVar *)tn_arr_obj(p->block->iter_vars, i))->var);
  return whole ? 0
               : fail_pattern(p, "the padding predicate is required to limit each iterator by "
                                 "itself");
}

static int check(padding *p) {
  const char *why;
  TN_VEC(above);
  sch_step *e = p->e;
  bool found = false;
  if (!sch_scope_root(e, p->block, false)) return -1;
  if (!sch_is_complete(e, p->block, &why))
    return sch_fail(e, "The block is not a complete block", SCH_PLACES(p->block),
                    "The block {0} is not a complete block, since %s", why);
  TN_TRY(sch_loops_above(e, p->block, &above));
  for (int64_t i = 0; i < above.len; ++i) {
    found = found || above.items[i].v.obj == (const tn_obj *)p->loop;
    if (found) TN_TRY(tn_vec_push(&p->loops, above.items[i]));
  }
  if (!found)
    return sch_fail(e, "decompose_padding expect the loop to be an ancestor of block",
                    SCH_PLACES(p->block, p->loop),
                    "decompose_padding expect the loop {1} to be an ancestor of block {0}");
  TN_TRY(check_nest(p));
  TN_TRY(match_body(p));
  return find_ranges(p);
}

/* ---- the two blocks ---- */

typedef struct {
  tn_vec iters, values;
  tn_pmap vars;
  tn_expr *predicate;
} maker;
static void maker_fini(maker *m) {
  tn_vec_fini(&m->iters);
  tn_vec_fini(&m->values);
  tn_pmap_fini(&m->vars);
}

static int add_iter(maker *m, const tn_IterVar *iv, tn_Range *dom, tn_expr *value, tn_expr *min) {
  tn_Var *v = tir_var_like(iv->var, tn_cstr(iv->var->name));
  tn_IterVar *now =
      v && dom ? tir_iter_var(dom, v, (ir_iter_type)iv->iter_type, tn_cstr(iv->thread_tag)) : NULL;
  tn_expr *at = now ? tir_add((tn_expr *)v, min) : NULL;
  if (!at || !value || tn_vec_push_obj(&m->iters, now) || tn_vec_push_obj(&m->values, value))
    return -1;
  return tn_pmap_put(&m->vars, iv->var, at);
}

/* Indices in which an iterator was replaced, without what adds up to nothing: x[v + 6 - 6]. */
static tn_arr *simplified(sch_step *e, const tn_arr *was, const tn_arr *now) {
  TN_VEC(out);
  for (int64_t i = 0; i < now->len; ++i) {
    tn_obj *x = tn_arr_obj(now, i);
    if (x != tn_arr_obj(was, i)) x = (tn_obj *)arith_simplify(&e->arith, (tn_expr *)x);
    if (!x || tn_vec_push_obj(&out, x)) return NULL;
  }
  return tn_arr_from(&out);
}

static tn_obj *simplify_access(sch_step *e, const tn_obj *was, tn_obj *now) {
  const tn_BufferLoad *load = TN_AS(BufferLoad, now);
  const tn_BufferStore *store = TN_AS(BufferStore, now);
  if (now == was || (!load && !store)) return now;
  tn_arr *at = load ? simplified(e, ((const tn_BufferLoad *)was)->indices, load->indices)
                    : simplified(e, ((const tn_BufferStore *)was)->indices, store->indices);
  if (!at) return NULL;
  return load ? (tn_obj *)tir_load(load->buffer, at)
              : (tn_obj *)tir_store(store->buffer, store->value, at);
}

/* The store of a value over the new iterators. */
static tn_stmt *make_store(const padding *p, const maker *m, tn_expr *value) {
  sch_step *e = p->e;
  tn_BufferStore copy = *p->store;
  copy.value = value;
  tn_stmt *store = tn_node_copy(&tn_type_BufferStore, &copy);
  e->vars = m->vars; /* lent; nothing else is replaced yet */
  e->after = simplify_access;
  tn_stmt *out = store ? sch_rewrite(e, store) : NULL;
  e->after = NULL;
  e->vars = (tn_pmap){0};
  return out;
}

static tn_BlockRealize *make_block(const padding *p, const maker *m, tn_str *name, tn_expr *value) {
  tn_arr *none = tn_arr_of(0);
  tn_Block b = *p->block;
  b.iter_vars = tn_arr_from(&m->iters);
  b.name_hint = name;
  b.body = make_store(p, m, value);
  b.reads = b.writes = none;
  if (!b.iter_vars || !name || !b.body || !none) return NULL;
  tn_Block *bare = tn_node_copy(&tn_type_Block, &b);
  tn_Block *block = bare ? tir_block_with_regions(bare, true, true) : NULL;
  tn_arr *values = tn_arr_from(&m->values);
  return block && values ? TN_MAKE(BlockRealize, .iter_values = values, .predicate = m->predicate,
                                   .block = block)
                         : NULL;
}

/* The whole of the buffer gets the pad value; in its own loops. */
static tn_stmt *fill_nest(padding *p) {
  maker m __attribute__((cleanup(maker_fini))) = {.predicate = p->realize->predicate};
  TN_PMAP(loops);
  for (int64_t i = 0; i < p->block->iter_vars->len; ++i) {
    const tn_IterVar *iv = (const tn_IterVar *)tn_arr_obj(p->block->iter_vars, i);
    TN_TRYP(add_iter(&m, iv, iv->dom, (tn_expr *)tn_arr_obj(p->realize->iter_values, i),
                     tir_zero(iv->var->dtype)));
  }
  tn_BlockRealize *r =
      make_block(p, &m, tn_str_fmt("%s_pad_const", tn_cstr(p->block->name_hint)), p->outside);
  tn_stmt *s = (tn_stmt *)r;
  for (int64_t i = p->loops.len; i-- > 0 && s;) {
    const tn_For *f = (const tn_For *)p->loops.items[i].v.obj;
    if (!sch_uses_var(r->iter_values, f->loop_var) && !sch_uses_var(r->predicate, f->loop_var))
      continue;
    tn_Var *v = tir_var_like(f->loop_var, tn_cstr(f->loop_var->name));
    if (!v || tn_pmap_put(&loops, f->loop_var, v)) return NULL;
    s = (tn_stmt *)sch_loop(f, v, f->min, f->extent, s);
  }
  p->filling = r ? r->block : NULL;
  return s ? tir_substitute(s, &loops) : NULL;
}

/* Is the loop bound to this iterator and to nothing else? */
static const tn_For *own_loop(const padding *p, int64_t iter) {
  const tn_obj *value = tn_arr_obj(p->realize->iter_values, iter);
  for (int64_t i = 0; i < p->loops.len; ++i) {
    const tn_For *f = (const tn_For *)p->loops.items[i].v.obj;
    bool own = (const tn_obj *)f->loop_var == value && tir_is_zero(f->min) &&
               !sch_uses_var(p->realize->predicate, f->loop_var);
    for (int64_t j = 0; own && j < p->realize->iter_values->len; ++j)
      own = j == iter || !sch_uses_var(tn_arr_obj(p->realize->iter_values, j), f->loop_var);
    if (own) return f;
  }
  return NULL;
}

static int add_condition(const padding *p, maker *m, tn_expr *cond) {
  TN_GET(cond, arith_simplify(&p->e->arith, cond));
  TN_GET(m->predicate, tir_and(m->predicate, cond));
  return 0;
}

static int add_inside_iter(padding *p, maker *m, int64_t i) {
  const tn_IterVar *iv = (const tn_IterVar *)tn_arr_obj(p->block->iter_vars, i);
  const tn_Range *r = (const tn_Range *)p->ranges.items[i].v.obj;
  tn_expr *value = (tn_expr *)tn_arr_obj(p->realize->iter_values, i);
  const tn_For *own = own_loop(p, i);
  bool same = arith_prove_equal(&p->e->arith, r->min, iv->dom->min) &&
              arith_prove_equal(&p->e->arith, r->extent, iv->dom->extent);
  if (same) return add_iter(m, iv, iv->dom, value, tir_zero(iv->var->dtype));
  tn_Range *dom = tir_range(tir_zero(iv->var->dtype), r->extent);
  if (own) {
    TN_TRY(tn_pmap_put(&p->cut, own->loop_var, r->extent));
    return add_iter(m, iv, dom, value, r->min);
  }
  TN_GET(value, arith_simplify(&p->e->arith, tir_sub(value, r->min)));
  TN_TRY(add_condition(p, m, tir_ge(value, tir_zero(value->dtype))));
  TN_TRY(add_condition(p, m, tir_lt(value, r->extent)));
  return add_iter(m, iv, dom, value, r->min);
}

static tn_stmt *copy_nest(padding *p) {
  maker m __attribute__((cleanup(maker_fini))) = {.predicate = p->realize->predicate};
  TN_TRYP(sch_bind_loops_above(p->e, sch_parent(p->e, p->realize)));
  for (int64_t i = 0; i < p->block->iter_vars->len; ++i) TN_TRYP(add_inside_iter(p, &m, i));
  tn_BlockRealize *r = make_block(p, &m, p->block->name_hint, p->inside);
  if (!r || sch_moved(p->e, p->block, r->block)) return NULL;
  tn_stmt *s = (tn_stmt *)r;
  for (int64_t i = p->loops.len; i-- > 0 && s;) {
    const tn_For *f = (const tn_For *)p->loops.items[i].v.obj;
    tn_expr *extent = tn_pmap_get(&p->cut, f->loop_var);
    tn_For *now = sch_loop(f, f->loop_var, f->min, extent ? extent : f->extent, s);
    if (!now || sch_moved(p->e, f, now)) return NULL;
    s = (tn_stmt *)now;
  }
  return s;
}

static int prepare(padding *p, const tn_BlockRV *block, const tn_LoopRV *loop) {
  TN_GET(p->block, sch_block_of(p->e, block));
  TN_GET(p->loop, sch_loop_of(p->e, loop));
  p->realize = sch_realize_of(p->e, p->block);
  return check(p);
}

static void padding_fini(padding *p) {
  tn_vec_fini(&p->loops);
  tn_vec_fini(&p->ranges);
  tn_pmap_fini(&p->cut);
}

tn_BlockRV *sch_decompose_padding(tn_TirSchedule *s, const tn_BlockRV *block,
                                  const tn_LoopRV *loop) {
  SCH_STEP(e, s, "decompose-padding");
  padding p __attribute__((cleanup(padding_fini))) = {.e = &e};
  if (prepare(&p, block, loop)) return NULL;
  tn_stmt *fill = fill_nest(&p), *copy = fill ? copy_nest(&p) : NULL;
  tn_stmt *both = copy ? tir_seq2(fill, copy) : NULL;
  if (!both || sch_replace(&e, (const tn_stmt *)p.loop, both) || sch_commit(&e)) return NULL;
  return (tn_BlockRV *)sch_handle(s, (tn_obj *)p.filling);
}

int sch_can_decompose_padding(tn_TirSchedule *s, const tn_BlockRV *block, const tn_LoopRV *loop,
                              bool *out) {
  SCH_STEP(e, s, "decompose-padding");
  padding p __attribute__((cleanup(padding_fini))) = {.e = &e};
  *out = prepare(&p, block, loop) == 0;
  if (*out) return 0;
  if (tn_error_get_kind() != TN_ScheduleError) return -1;
  tn_error_clear();
  return 0;
}
