/* rolling_buffer: a buffer keeps what neighbouring iterations of a loop share.

     for i in range(4):                               for i in range(4):
       for k in range(6): B[i * 4 + k] = ...            for k in range(6):
       for k in range(4):                       ->        if i < 1 or k >= 2:
         C[i * 4 + k] = B[i * 4 + k : + 3]                  B[(i * 4 + k) % 6] = ...
                                                        ...

   A dimension slides when its region begins at k * loop + rest, k > 0, has a constant extent above
   k, and no other dimension follows that loop. The one with the outermost loop becomes circular:
   during an iteration a window of its extent is alive, and each iteration overwrites just what lies
   before its window. Elements of the window's first part, in every sliding dimension, were computed
   one iteration earlier: in the circular one by the same loops inside, in the others, whose loops
   lie inside, in the window that is alive. Hence all loops from the circular one's to the place run
   one iteration after the other, every element of a window is computed, and whether that happens
   depends on the element only. The iterators become opaque: the order of these loops matters now,
   and the buffer lives around them. */
#include "arith/region.h"
#include "ir/functor.h"
#include "tir/schedule/buffer_change.h"
#include "tir/schedule/cache.h"
#include "tir/schedule/regions.h"

typedef struct {
  sch_step *e;
  tn_Block *block, *scope;
  tn_BlockRealize *realize;
  tn_Buffer *buffer;
  const tn_arr *indices; /* of the store: array of Range over iterators */
  const tn_For *place;   /* the innermost loop around block and users */
  tn_vec loops;          /* For from the outermost to the place */
  tn_arr *vars;          /* their variables */
  tn_arr *window;        /* IntervalSet of each dimension in one iteration of the place */
} roller;
static void roller_fini(roller *x) { tn_vec_fini(&x->loops); }

/* How the window moves along a dimension. */
typedef struct {
  int64_t loop, extent, overlap; /* number of the loop; -1: it does not slide */
  tn_expr *begin;
} slide;

static int fail(const roller *x, const char *fast, const char *why) {
  return sch_fail(x->e, fast, SCH_PLACES(x->block),
                  "The buffer %s that block {0} writes cannot be rolled: %s",
                  tn_cstr(x->buffer->name), why);
}

static const tn_For *loop_at(const roller *x, int64_t i) {
  return (const tn_For *)x->loops.items[i].v.obj;
}
static tn_IntervalSet *window_at(const roller *x, int64_t d) {
  return (tn_IntervalSet *)tn_arr_obj(x->window, d);
}
static bool uses_loops(const roller *x, const void *e) {
  for (int64_t i = 0; i < x->vars->len; ++i)
    if (sch_uses_var(e, (const tn_Var *)tn_arr_obj(x->vars, i))) return true;
  return false;
}

/* ---- what is rolled ---- */

static int check_dependencies(const roller *x) {
  SCH_SCOPE_INFO(info);
  TN_TRY(sch_scope_info_of(x->scope, &info));
  for (int64_t i = 0; i < info.ndeps; ++i) {
    const sch_dep *d = &info.deps[i];
    if ((d->src == x->block || d->dst == x->block) && d->kind != SCH_RAW)
      return sch_fail(x->e, "The block has dependencies other than read-after-write",
                      SCH_PLACES(x->block, d->src == x->block ? d->dst : d->src),
                      "The block {0} must have read-after-write dependencies only, but it and the "
                      "block {1} are tied by %s",
                      d->kind == SCH_WAW ? "write-after-write" : "write-after-read");
  }
  return 0;
}

/* Number of the iterator that a dimension is indexed with, or -1. */
static int64_t iter_at(const roller *x, int64_t d) {
  const tn_Range *r = (const tn_Range *)tn_arr_obj(x->indices, d);
  for (int64_t i = 0; i < x->block->iter_vars->len && tir_is_one(r->extent); ++i)
    if (((const tn_IterVar *)tn_arr_obj(x->block->iter_vars, i))->var == (const tn_Var *)r->min)
      return i;
  return -1;
}

/* An element is computed for one value of the data parallel iterators. */
static int check_indices(const roller *x) {
  const tn_arr *iters = x->block->iter_vars;
  for (int64_t i = 0; i < iters->len; ++i) {
    const tn_IterVar *iv = (const tn_IterVar *)tn_arr_obj(iters, i);
    bool fine = iv->iter_type == IR_ITER_COMM_REDUCE || tir_is_one(iv->dom->extent);
    for (int64_t d = 0; d < x->indices->len && !fine; ++d) fine = iter_at(x, d) == i;
    if (!fine)
      return fail(x, "The data parallel iterators must be the indices of the buffer",
                  "its indices must be the block's data parallel iterators");
  }
  return 0;
}

static int find_block(roller *x, const tn_BlockRV *rv, int64_t index) {
  sch_step *e = x->e;
  const tn_BufferRegion *written;
  TN_GET(x->block, sch_block_of(e, rv));
  TN_GET(x->scope, sch_scope_root(e, x->block, false));
  TN_GET(written, sch_nth_region(e, x->block, index, true));
  x->buffer = written->buffer;
  x->indices = written->region;
  x->realize = sch_realize_of(e, x->block);
  TN_TRY(sch_check_not_output(e, x->block, x->scope));
  TN_TRY(check_dependencies(x));
  TN_TRY(sch_check_complete_or_reduction(e, x->block));
  if (x->block->writes->len != 1)
    return fail(x, "The block writes several buffers", "the block writes others, too");
  if (x->buffer->strides->len) return fail(x, "The buffer has strides", "it has strides");
  return check_indices(x);
}

/* ---- the loops and the window ---- */

static int find_place(roller *x) {
  __attribute__((cleanup(tir_access_lca_fini))) tir_access_lca uses = {0};
  TN_TRY(tir_access_lca_find(x->e->func, 0, &uses));
  const tn_obj *at = tn_pmap_get(&uses.node, x->buffer);
  x->place = at ? TN_AS(For, at) : NULL;
  bool inside = x->place && sch_scope_block(x->e, at) == x->scope;
  return inside ? 0
                : fail(x, "The producer and its consumers have no loop in common",
                       "the innermost scope around its producer and its consumers is not a loop; "
                       "compute the block at a loop of its consumer first");
}

static int find_loops(roller *x) {
  TN_VEC(all);
  TN_VEC(vars);
  TN_TRY(sch_loops_above(x->e, x->block, &all));
  for (int64_t i = 0; i < all.len; ++i) {
    const tn_For *f = (const tn_For *)all.items[i].v.obj;
    TN_TRY(tn_vec_push_obj(&x->loops, f) || tn_vec_push_obj(&vars, f->loop_var));
    if (f->kind == TIR_FOR_THREAD_BINDING)
      return fail(x, "A loop around the place is bound to a thread axis",
                  "a loop around it is bound to a thread axis");
    if (f == x->place) break;
  }
  TN_GET(x->vars, tn_arr_from(&vars));
  return 0;
}

/* Does the condition say of an iterator's value, whatever the loops are, what it must be? */
static int check_condition(roller *x, const tn_obj *cond) {
  const tn_BinaryOp *op = TN_AS_BINARY(cond);
  bool fine = !uses_loops(x, cond);
  for (int64_t i = 0; !fine && op && i < 2 * x->realize->iter_values->len; ++i) {
    tn_expr *value = (tn_expr *)tn_arr_obj(x->realize->iter_values, i / 2), *rest;
    if (op->a->dtype.code != kDLInt) break;
    rest = tir_sub(op->a, op->b);
    TN_GET(rest, rest ? i % 2 ? tir_add(rest, value) : tir_sub(rest, value) : NULL);
    TN_GET(rest, arith_simplify(&x->e->arith, rest));
    fine = !uses_loops(x, rest);
  }
  return fine ? 0
              : fail(x, "The predicate of the block is not about single elements",
                     "its block's predicate differs from iteration to iteration");
}

/* @param local receives the conditions on loops below the place, which shape the window */
static int check_predicate(roller *x, tn_expr *predicate, tn_expr **local) {
  const tn_And *both = TN_AS(And, predicate);
  if (both) {
    TN_TRY(check_predicate(x, both->a, local));
    return check_predicate(x, both->b, local);
  }
  TN_TRY(check_condition(x, (const tn_obj *)predicate));
  if (!uses_loops(x, predicate)) TN_GET(*local, tir_and(*local, predicate));
  return 0;
}

static int find_window(roller *x) {
  sch_step *e = x->e;
  tn_expr *local = tir_bool(true);
  tn_map *dom;
  TN_TRY(sch_bind_loops_above(e, (const tn_obj *)x->realize));
  TN_GET(dom, sch_loop_domain(e, sch_parent(e, x->realize), (const tn_obj *)x->place, ""));
  TN_TRY(check_predicate(x, x->realize->predicate, &local));
  TN_TRY(arith_region_exact(&e->arith, sch_bound_region(x->realize, x->indices), dom, local,
                            &x->window));
  return x->window ? 0
                   : fail(x, "The region that the block writes is not a box",
                          "what one iteration writes is not a box of its elements");
}

/* ---- how it slides ---- */

/* Number of the only loop that `begin` follows, by *step; -1: there is none. */
static int64_t loop_of(const roller *x, const tn_arr *factors, int64_t *step) {
  int64_t found = -1, k;
  for (int64_t i = 0; i + 1 < factors->len; ++i) {
    if (!tir_as_int(tn_arr_obj(factors, i), &k)) return -1;
    if (k == 0) continue;
    if (found >= 0 || k < 0) return -1;
    found = i;
    *step = k;
  }
  if (found < 0 || uses_loops(x, tn_arr_obj(factors, factors->len - 1))) return -1;
  return tir_is_zero(loop_at(x, found)->min) ? found : -1;
}

/* Run the loops from this one to the place one iteration after the other? */
static bool in_order(const roller *x, int64_t from) {
  for (int64_t i = from; i < x->loops.len; ++i) {
    int kind = loop_at(x, i)->kind;
    if (kind != TIR_FOR_SERIAL && kind != TIR_FOR_UNROLLED) return false;
  }
  return true;
}

static int find_slide(const roller *x, int64_t d, slide *out) {
  arith_analyzer *a = &x->e->arith;
  const tn_IntervalSet *w = window_at(x, d);
  int64_t step = 0;
  tn_expr *last;
  const tn_arr *factors;
  *out = (slide){.loop = -1};
  if (iter_at(x, d) < 0 || arith_is_inf(w->min_value) || arith_is_inf(w->max_value)) return 0;
  TN_GET(out->begin, arith_simplify(a, w->min_value));
  TN_GET(last, tir_sub(w->max_value, w->min_value));
  TN_GET(last, arith_simplify(a, last));
  TN_GET(factors, arith_linear(out->begin, x->vars));
  int64_t loop = factors->len ? loop_of(x, factors, &step) : -1;
  bool fine = loop >= 0 && tir_as_int((tn_obj *)last, &out->extent) && out->extent < INT32_MAX &&
              in_order(x, loop);
  out->extent++;
  out->overlap = out->extent - step;
  for (int64_t i = 0; fine && i < x->window->len; ++i)
    fine = i == d || (!sch_uses_var(window_at(x, i)->min_value, loop_at(x, loop)->loop_var) &&
                      !sch_uses_var(window_at(x, i)->max_value, loop_at(x, loop)->loop_var));
  if (fine && out->overlap > 0) out->loop = loop;
  return 0;
}

/* The dimension that becomes circular. */
static int find_circular(const roller *x, int64_t *dim, slide *out) {
  *dim = -1;
  for (int64_t d = 0; d < x->window->len; ++d) {
    slide s;
    TN_TRY(find_slide(x, d, &s));
    if (s.loop < 0 || (*dim >= 0 && s.loop >= out->loop)) continue;
    *dim = d;
    *out = s;
  }
  if (*dim >= 0) return 0;
  return fail(x, "No dimension of the buffer overlaps",
              "no dimension of it has a region that slides with a loop and overlaps from one "
              "iteration to the next");
}

/* All reads of an iteration lie in its window. */
static int check_readers(const roller *x, int64_t dim) {
  sch_step *e = x->e;
  TN_VEC(blocks);
  TN_TRY(sch_blocks_below((const tn_obj *)x->place, &blocks));
  for (int64_t i = 0; i < blocks.len; ++i) {
    const tn_BlockRealize *r = (const tn_BlockRealize *)blocks.items[i].v.obj;
    TN_TRY(sch_bind_loops_above(e, sch_parent(e, r)));
    for (int64_t j = 0; r != x->realize && j < r->block->reads->len; ++j) {
      const tn_BufferRegion *b = (const tn_BufferRegion *)tn_arr_obj(r->block->reads, j);
      tn_map *dom;
      tn_arr *used;
      if (b->buffer != x->buffer) continue;
      TN_GET(dom, sch_loop_domain(e, sch_parent(e, r), (const tn_obj *)x->place, ""));
      TN_GET(used,
             arith_region_upper(&e->arith, sch_bound_region(r, b->region), dom, r->predicate));
      const tn_IntervalSet *u = (tn_IntervalSet *)tn_arr_obj(used, dim), *w = window_at(x, dim);
      if (arith_is_inf(u->min_value) || arith_is_inf(u->max_value) ||
          !arith_prove(&e->arith, tir_ge(u->min_value, w->min_value)) ||
          !arith_prove(&e->arith, tir_le(u->max_value, w->max_value)))
        return sch_fail(e, "A consumer reads more than one iteration computes",
                        SCH_PLACES(x->block, r->block),
                        "The block {1} reads more of %s than block {0} computes in an iteration of "
                        "the loop around both",
                        tn_cstr(x->buffer->name));
    }
  }
  return 0;
}

/* ---- the new program ---- */

static const tn_IndexMap *circular_map(const roller *x, int64_t dim, int64_t extent) {
  TN_VEC(from);
  TN_VEC(to);
  for (int64_t d = 0; d < x->buffer->shape->len; ++d) {
    tn_dtype t = ((const tn_expr *)tn_arr_obj(x->buffer->shape, d))->dtype;
    tn_str *name = tn_str_fmt("i%lld", (long long)d);
    tn_expr *v = name ? (tn_expr *)tir_var(name->data, t) : NULL;
    tn_expr *at = v && d == dim ? tir_floormod(v, tir_int(t, extent)) : v;
    if (!at || tn_vec_push_obj(&from, v) || tn_vec_push_obj(&to, at)) return NULL;
  }
  return TN_NEW(IndexMap, .initial_indices = tn_arr_from(&from), .final_indices = tn_arr_from(&to));
}

static tn_Buffer *circular_buffer(const roller *x, int64_t dim, int64_t extent) {
  TN_VEC(shape);
  for (int64_t d = 0; d < x->buffer->shape->len; ++d) {
    tn_expr *old = (tn_expr *)tn_arr_obj(x->buffer->shape, d);
    if (tn_vec_push_obj(&shape, d == dim ? tir_int(old->dtype, extent) : old)) return NULL;
  }
  return sch_buffer_shaped(x->buffer, tn_arr_from(&shape), x->buffer->axis_separators);
}

/* The first iteration computes the whole window, others what comes after the overlap. */
static tn_expr *only_new(const roller *x, int64_t d, const slide *s) {
  tn_expr *loop = (tn_expr *)loop_at(x, s->loop)->loop_var;
  tn_expr *at = tir_sub((tn_expr *)tn_arr_obj(x->realize->iter_values, iter_at(x, d)), s->begin);
  at = at ? arith_simplify(&x->e->arith, at) : NULL;
  tn_expr *fresh = at ? tir_ge(at, tir_int(at->dtype, s->overlap)) : NULL;
  tn_expr *first = tir_lt(loop, tir_one(loop->dtype));
  return fresh && first ? tir_or(first, fresh) : NULL;
}

static tn_arr *opaque_iters(const roller *x, const tn_arr *iters, const tn_vec *rolled) {
  TN_VEC(out);
  for (int64_t i = 0; i < iters->len; ++i) {
    tn_IterVar copy = *(const tn_IterVar *)tn_arr_obj(iters, i);
    for (int64_t j = 0; j < rolled->len; ++j)
      if (iter_at(x, rolled->items[j].v.i64) == i) copy.iter_type = IR_ITER_OPAQUE;
    if (tn_vec_push_obj(&out, tn_node_copy(&tn_type_IterVar, &copy))) return NULL;
  }
  return tn_arr_from(&out);
}

static int rewrite_block(const roller *x) {
  sch_step *e = x->e;
  TN_VEC(rolled);
  tn_expr *predicate = x->realize->predicate;
  const tn_BlockRealize *now;
  slide s;
  for (int64_t d = 0; d < x->window->len; ++d) {
    TN_TRY(find_slide(x, d, &s));
    if (s.loop < 0) continue;
    TN_TRY(tn_vec_push(&rolled, tn_any_int(d)));
    TN_GET(predicate, tir_and(predicate, only_new(x, d, &s)));
  }
  TN_GET(now, TN_AS(BlockRealize, sch_rewrite(e, (const tn_stmt *)x->realize)));
  tn_Block block = *now->block;
  tn_BlockRealize realize = *now;
  TN_GET(block.iter_vars, opaque_iters(x, block.iter_vars, &rolled));
  TN_GET(realize.block, tn_node_copy(&tn_type_Block, &block));
  TN_GET(realize.predicate, arith_simplify(&e->arith, predicate));
  TN_TRY(sch_moved(e, now->block, realize.block));
  return sch_replace(e, (const tn_stmt *)x->realize, tn_node_copy(&tn_type_BlockRealize, &realize));
}

static int roll(roller *x, sch_buffer_change *c) {
  slide s = {.loop = -1};
  int64_t dim;
  TN_TRY(find_circular(x, &dim, &s));
  TN_TRY(check_readers(x, dim));
  c->old = x->buffer;
  TN_GET(c->map, circular_map(x, dim, s.extent));
  c->now = circular_buffer(x, dim, s.extent);
  TN_TRY(sch_change_buffer(x->e, c));
  TN_TRY(rewrite_block(x));
  return sch_commit(x->e);
}

int sch_rolling_buffer(tn_TirSchedule *s, const tn_BlockRV *block, int64_t index) {
  SCH_STEP(e, s, "rolling-buffer");
  roller x __attribute__((cleanup(roller_fini))) = {.e = &e};
  sch_buffer_change c = {0};
  TN_TRY(find_block(&x, block, index));
  TN_TRY(find_place(&x));
  TN_TRY(find_loops(&x));
  TN_TRY(find_window(&x));
  int err = roll(&x, &c);
  sch_buffer_change_fini(&c);
  return err ? -1 : 0;
}
