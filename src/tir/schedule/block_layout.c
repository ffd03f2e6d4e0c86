/* Steps on blocks and their iterators: transform_block_layout, reorder_block_iter_var,
   storage_align, unsafe_hide_buffer_access.

     for i, j in T.grid(8, 16):     transform_block_layout(b, lambda i, j: (i * 16 + j,))
       with T.block("B"):                 ->        for ax0 in range(128):
         vi, vj = remap("SS", [i, j])                 with T.block("B"):
         B[vi, vj] = A[vi, vj]                          v0 = T.axis.spatial(128, ax0)
                                                        B[v0 // 16, v0 % 16] = A[v0 // 16, v0 % 16]
 */
#include "arith/iter_map.h"
#include "ir/functor.h"
#include "tenon/object.h"
#include "tir/schedule/buffer_change.h"
#include "tir/schedule/layout.h"
#include "tir/schedule/schedule_impl.h"

/* ---- other iterators ---- */

typedef struct {
  const tn_Block *block;
  const tn_BlockRealize *realize;
  const tn_IndexMap *map;
  tn_vec loops;         /* around the block, outermost first */
  tn_vec iters, values; /* the new ones */
} relayout;

/* Each iterator is one of the loops, and the loops are around nothing else. */
static int check_bindings(const sch_step *e, relayout *t) {
  TN_TRY(sch_loops_above(e, t->block, &t->loops));
  int64_t n = t->block->iter_vars->len;
  bool trivial = n == t->loops.len && tir_is_one(t->realize->predicate);
  for (int64_t i = 0; trivial && i < n; ++i) {
    const tn_Range *dom = ((const tn_IterVar *)tn_arr_obj(t->block->iter_vars, i))->dom;
    bool found = false;
    for (int64_t j = 0; j < t->loops.len; ++j) {
      const tn_For *f = (const tn_For *)t->loops.items[j].v.obj;
      found =
          found || ((const void *)f->loop_var == tn_arr_obj(t->realize->iter_values, i) &&
                    tn_equal(f->min, dom->min, 0) == 1 && tn_equal(f->extent, dom->extent, 0) == 1);
    }
    trivial = found;
  }
  for (int64_t i = 0; trivial && i < t->loops.len; ++i) {
    const tn_obj *body = (tn_obj *)((const tn_For *)t->loops.items[i].v.obj)->body;
    trivial =
        body == (i + 1 < t->loops.len ? t->loops.items[i + 1].v.obj : (const tn_obj *)t->realize);
  }
  if (trivial) return 0;
  return sch_fail(e, "The block does not have trivial binding", SCH_PLACES(t->block),
                  "The block {0} needs a loop for each iterator, around nothing else, and no "
                  "predicate");
}

static tn_arr *extents_of(const tn_Block *b) {
  TN_VEC(out);
  for (int64_t i = 0; i < b->iter_vars->len; ++i) {
    const tn_IterVar *iv = (const tn_IterVar *)tn_arr_obj(b->iter_vars, i);
    TN_TRYP(tn_vec_push_obj(&out, iv->dom->extent));
  }
  return tn_arr_from(&out);
}

/* Data parallel if all old iterators in it are, reduced if all are; else -1. */
static int kind_of(const relayout *t, const tn_obj *index) {
  int kind = -1;
  for (int64_t i = 0; i < t->block->iter_vars->len; ++i) {
    const tn_IterVar *iv = (const tn_IterVar *)tn_arr_obj(t->block->iter_vars, i);
    if (!sch_uses_var(index, (const tn_Var *)tn_arr_obj(t->map->initial_indices, i))) continue;
    if (kind >= 0 && kind != iv->iter_type) return -1;
    kind = iv->iter_type;
  }
  return kind < 0 ? IR_ITER_DATA_PAR : kind;
}

static int new_iters(const sch_step *e, relayout *t, const tn_arr *shape) {
  for (int64_t i = 0; i < shape->len; ++i) {
    tn_expr *extent = (tn_expr *)tn_arr_obj(shape, i);
    int kind = kind_of(t, tn_arr_obj(t->map->final_indices, i));
    if (kind < 0)
      return sch_fail(
          e, "The new block iterators mix data parallel and reduced ones", SCH_PLACES(t->block),
          "Iterator %lld that the map gives for block {0} mixes kinds of iterators", (long long)i);
    tn_str *loop = tn_str_fmt("ax%lld", (long long)i), *name = tn_str_fmt("v%lld", (long long)i);
    tn_Var *ax = loop ? tir_var(loop->data, extent->dtype) : NULL,
           *v = name ? tir_var(name->data, extent->dtype) : NULL;
    tn_Range *dom = tir_range(tir_zero(extent->dtype), extent);
    const tn_IterVar *iv = v && dom ? tir_iter_var(dom, v, (ir_iter_type)kind, "") : NULL;
    if (!iv || !ax || tn_vec_push_obj(&t->iters, iv) || tn_vec_push_obj(&t->values, ax)) return -1;
  }
  return 0;
}

/* The old iterators in terms of the new ones. Digits of an extent that is not constant are known to
   the map alone: v // (n * 32) is 0. */
static int replace_iters(sch_step *e, const relayout *t, const tn_IndexMap *back) {
  TN_PMAP(vars);
  tn_map *dom;
  tn_arr *plain, *all;
  TN_GET(dom, tn_scope_own(tn_map_new()));
  for (int64_t i = 0; i < back->initial_indices->len; ++i) {
    const tn_IterVar *iv = (const tn_IterVar *)t->iters.items[i].v.obj;
    TN_TRY(tn_pmap_put(&vars, tn_arr_obj(back->initial_indices, i), iv->var));
    TN_TRY(tn_map_set(dom, tn_any_obj(iv->var), tn_any_obj(iv->dom)));
  }
  TN_GET(plain, tir_substitute(back->final_indices, &vars));
  TN_GET(all, iter_map_simplify(&e->arith, plain, dom, tir_bool(true), ITER_MAP_SURJECTIVE, true));
  for (int64_t i = 0; i < t->block->iter_vars->len; ++i) {
    const tn_Var *old = ((const tn_IterVar *)tn_arr_obj(t->block->iter_vars, i))->var;
    bool stays = TN_IS(Var, tn_arr_obj(plain, i));
    tn_expr *value = (tn_expr *)tn_arr_obj(stays ? plain : all, i);
    const tn_expr *min = ((const tn_IterVar *)tn_arr_obj(t->block->iter_vars, i))->dom->min;
    if (value && !tir_is_zero(min)) value = tir_add(value, (tn_expr *)(uintptr_t)min);
    if (!value || sch_put_var(e, old, value)) return -1;
  }
  return 0;
}

static tn_obj *simpler(sch_step *e, const void *was, tn_obj *now) {
  bool stays = now == was || TN_IS(Var, now);
  return stays ? now : (tn_obj *)arith_simplify(&e->arith, (tn_expr *)now);
}

static tn_arr *simpler_all(sch_step *e, const tn_arr *was, const tn_arr *now) {
  TN_VEC(out);
  for (int64_t i = 0; i < now->len; ++i)
    TN_TRYP(tn_vec_push_obj(&out, simpler(e, tn_arr_obj(was, i), tn_arr_obj(now, i))));
  return tn_arr_from(&out);
}

/* For sch_step.after: indices that the new iterators make. */
static tn_obj *simplify_indices(sch_step *e, const tn_obj *was, tn_obj *now) {
  if (now == was) return now;
  if (TN_IS(BufferLoad, now)) {
    tn_BufferLoad copy = *(tn_BufferLoad *)now;
    copy.indices = simpler_all(e, TN_AS(BufferLoad, was)->indices, copy.indices);
    return copy.indices ? tn_node_copy(&tn_type_BufferLoad, &copy) : NULL;
  }
  if (TN_IS(BufferStore, now)) {
    tn_BufferStore copy = *(tn_BufferStore *)now;
    copy.indices = simpler_all(e, TN_AS(BufferStore, was)->indices, copy.indices);
    return copy.indices ? tn_node_copy(&tn_type_BufferStore, &copy) : NULL;
  }
  if (TN_IS(Range, now)) {
    tn_Range copy = *(tn_Range *)now;
    copy.min = (tn_expr *)simpler(e, TN_AS(Range, was)->min, (tn_obj *)copy.min);
    return copy.min ? tn_node_copy(&tn_type_Range, &copy) : NULL;
  }
  return now;
}

static tn_stmt *new_nest(sch_step *e, const relayout *t) {
  tn_Block body = *t->block;
  tn_expr *some = tir_bool(true); /* where the block runs, its iterators have values */
  body.iter_vars = tn_arr_of(0);
  for (int64_t i = 0; i < t->iters.len; ++i) {
    const tn_IterVar *iv = (const tn_IterVar *)t->iters.items[i].v.obj;
    TN_TRYP(arith_bind_range(&e->arith, iv->var, iv->dom, true));
    TN_GETP(some, tir_and(some, tir_gt(iv->dom->extent, tir_zero(iv->dom->extent->dtype))));
  }
  int64_t mark = arith_enter(&e->arith, arith_simplify(&e->arith, some));
  if (mark < 0) return NULL;
  e->after = simplify_indices;
  tn_Block *bare = body.iter_vars ? tn_node_copy(&tn_type_Block, &body) : NULL;
  const tn_Block *with = bare ? (tn_Block *)sch_rewrite(e, (tn_stmt *)bare) : NULL;
  e->after = NULL;
  arith_leave(&e->arith, mark);
  if (!with) return NULL;
  tn_Block copy = *with;
  copy.iter_vars = tn_arr_from(&t->iters);
  tn_Block *now = copy.iter_vars ? tn_node_copy(&tn_type_Block, &copy) : NULL;
  if (!now || sch_moved(e, t->block, now)) return NULL;
  tn_stmt *s = (tn_stmt *)TN_MAKE(BlockRealize, .iter_values = tn_arr_from(&t->values),
                                  .predicate = tir_bool(true), .block = now);
  tn_map *none = tn_scope_own(tn_map_new());
  for (int64_t i = t->iters.len; i-- > 0 && s && none;) {
    tn_expr *extent = ((const tn_IterVar *)t->iters.items[i].v.obj)->dom->extent;
    s = (tn_stmt *)TN_MAKE(For, .loop_var = (tn_Var *)t->values.items[i].v.obj,
                           .min = tir_zero(extent->dtype), .extent = extent, .kind = TIR_FOR_SERIAL,
                           .body = s, .annotations = none);
  }
  return s;
}

/* The values of one that is neither data parallel nor reduced come in an order that counts. */
static int check_kinds(const sch_step *e, const relayout *t) {
  for (int64_t i = 0; i < t->block->iter_vars->len; ++i) {
    const tn_IterVar *iv = (const tn_IterVar *)tn_arr_obj(t->block->iter_vars, i);
    if (iv->iter_type != IR_ITER_DATA_PAR && iv->iter_type != IR_ITER_COMM_REDUCE)
      return sch_fail(e, "The block has an iterator that is neither data parallel nor reduced",
                      SCH_PLACES(t->block),
                      "Iterator %s of block {0} is neither data parallel nor reduced: its values "
                      "must keep their order",
                      tn_cstr(iv->var->name));
  }
  return 0;
}

static int relayout_block(sch_step *e, relayout *t) {
  TN_ARITH(a);
  tn_arr *extents;
  if (t->map->initial_indices->len != t->block->iter_vars->len)
    return sch_fail(e, "The index map takes another number of iterators than the block has",
                    SCH_PLACES(t->block), "The index map takes %lld iterators, block {0} has %lld",
                    (long long)t->map->initial_indices->len, (long long)t->block->iter_vars->len);
  TN_TRY(check_kinds(e, t));
  TN_TRY(check_bindings(e, t));
  TN_GET(extents, extents_of(t->block));
  const tn_IndexMap *back = tir_index_map_inverse(&a, t->map, extents, NULL);
  if (!back) {
    tn_error_clear();
    return sch_fail(e, "The index map is not bijective affine", SCH_PLACES(t->block),
                    "The index map for block {0} is not bijective affine");
  }
  TN_GET(extents, tir_index_map_shape(&a, t->map, extents));
  if (new_iters(e, t, extents) || replace_iters(e, t, back)) return -1;
  const tn_obj *outer = t->loops.len ? t->loops.items[0].v.obj : (const tn_obj *)t->realize;
  TN_TRY(sch_replace(e, (const tn_stmt *)outer, new_nest(e, t)));
  return sch_commit(e);
}

int sch_transform_block_layout(tn_TirSchedule *s, const tn_BlockRV *block, const tn_IndexMap *map) {
  SCH_STEP(e, s, "transform-block-layout");
  relayout t = {.block = sch_block_of(&e, block), .map = map};
  if (!t.block) return -1;
  t.realize = TN_AS(BlockRealize, sch_parent(&e, t.block));
  int err = t.realize ? relayout_block(&e, &t) : -1;
  tn_vec *all[] = {&t.loops, &t.iters, &t.values};
  for (int i = 0; i < TN_COUNT(all); ++i) tn_vec_fini(all[i]);
  return err;
}

/* ---- the same block, said differently ---- */

static int take_block(sch_step *e, const tn_Block *old, const tn_Block *copy) {
  tn_stmt *now;
  TN_GET(now, tn_node_copy(&tn_type_Block, copy));
  if (sch_moved(e, old, now) || sch_replace(e, (const tn_stmt *)old, now)) return -1;
  return 0;
}

int sch_reorder_block_iter_var(tn_TirSchedule *s, const tn_BlockRV *block, const tn_arr *order) {
  SCH_STEP(e, s, "reorder-block-iter-var");
  TN_VEC(iters);
  TN_VEC(values);
  tn_Block *b = sch_block_of(&e, block);
  if (!b) return -1;
  const tn_BlockRealize *r = TN_AS(BlockRealize, sch_parent(&e, b));
  uint64_t seen = 0;
  int64_t n = b->iter_vars->len, k;
  for (int64_t i = 0; i < order->len; ++i) {
    bool fine = tir_as_int(tn_arr_obj(order, i), &k) && k >= 0 && k < n && n < 64 &&
                order->len == n && !(seen >> k & 1);
    if (!fine)
      return sch_fail(&e, "The new order is not a permutation of the block iterators",
                      SCH_PLACES(b), "The order is not a permutation of the %lld iterators of {0}",
                      (long long)n);
    seen |= (uint64_t)1 << k;
    TN_TRY(tn_vec_push_obj(&iters, tn_arr_obj(b->iter_vars, k)));
    TN_TRY(tn_vec_push_obj(&values, tn_arr_obj(r->iter_values, k)));
  }
  if (order->len != n)
    return sch_fail(&e, "The new order is not a permutation of the block iterators", SCH_PLACES(b),
                    "The order has %lld numbers, {0} has %lld iterators", (long long)order->len,
                    (long long)n);
  tn_Block copy = *b;
  tn_BlockRealize realize = *r;
  copy.iter_vars = tn_arr_from(&iters);
  realize.iter_values = tn_arr_from(&values);
  realize.block = copy.iter_vars ? tn_node_copy(&tn_type_Block, &copy) : NULL;
  if (!realize.block || !realize.iter_values || sch_moved(&e, b, realize.block)) return -1;
  TN_TRY(sch_replace(&e, (const tn_stmt *)r, tn_node_copy(&tn_type_BlockRealize, &realize)));
  return sch_commit(&e);
}

static tn_Buffer *written(const sch_step *e, const tn_Block *b, int64_t index) {
  if (index >= 0 && index < b->writes->len)
    return ((tn_BufferRegion *)tn_arr_obj(b->writes, index))->buffer;
  sch_fail(e, "The buffer index is out of range", SCH_PLACES(b),
           "The block {0} writes %lld buffers: number %lld is out of range",
           (long long)b->writes->len, (long long)index);
  return NULL;
}

static bool is_alignment(const tn_obj *o, int64_t index, int64_t axis) {
  const tn_arr *a = o && o->type_index == TN_TI_Array ? (const tn_arr *)o : NULL;
  int64_t i, k;
  return a && a->len == 4 && tir_as_int(tn_arr_obj(a, 0), &i) && tir_as_int(tn_arr_obj(a, 1), &k) &&
         i == index && k == axis;
}

int sch_storage_align(tn_TirSchedule *s, const tn_BlockRV *block, int64_t index, int64_t axis,
                      int64_t factor, int64_t offset) {
  SCH_STEP(e, s, "storage-align");
  TN_VEC(all);
  tn_Block *b = sch_block_of(&e, block);
  const tn_Buffer *buffer = b ? written(&e, b, index) : NULL;
  if (!buffer) return -1;
  if (!sch_is_allocated(&e, buffer))
    return sch_fail(&e, "The buffer is not allocated by a block", SCH_PLACES(b),
                    "Buffer %s, which block {0} writes, is not allocated by a block: arguments "
                    "keep their strides",
                    tn_cstr(buffer->name));
  if (factor <= 0)
    return sch_fail(&e, "The factor of storage_align must be positive", SCH_PLACES(b),
                    "The specified factor %lld of block {0} must be positive", (long long)factor);
  int64_t ndim = buffer->shape->len, at = axis < 0 ? axis + ndim : axis;
  if (at < 0 || at >= ndim)
    return sch_fail(&e, "The axis of storage_align is out of range", SCH_PLACES(b),
                    "The buffer %s of block {0} has %lld axes: axis %lld is out of range",
                    tn_cstr(buffer->name), (long long)ndim, (long long)axis);
  const tn_obj *old = tn_map_find(b->annotations, "buffer_dim_align");
  const tn_arr *list = old && old->type_index == TN_TI_Array ? (const tn_arr *)old : NULL;
  for (int64_t i = 0; list && i < list->len; ++i)
    if (!is_alignment(tn_arr_obj(list, i), index, at)) TN_TRY(tn_vec_push(&all, list->items[i]));
  tn_arr *one = tn_arr_of(4, tir_i32((int32_t)index), tir_i32((int32_t)at),
                          tir_i32((int32_t)factor), tir_i32((int32_t)offset));
  tn_arr *hints = one && tn_vec_push_obj(&all, one) == 0 ? tn_arr_from(&all) : NULL;
  tn_Block copy = *b;
  copy.annotations =
      hints ? tn_map_with(b->annotations, tn_any_cstr("buffer_dim_align"), tn_any_obj(hints))
            : NULL;
  return copy.annotations && take_block(&e, b, &copy) == 0 ? sch_commit(&e) : -1;
}

int sch_unsafe_hide_access(tn_TirSchedule *s, const tn_BlockRV *block, bool write,
                           const tn_arr *indices) {
  SCH_STEP(e, s, "unsafe-hide-buffer-access");
  e.hides = true;
  TN_VEC(left);
  tn_Block *b = sch_block_of(&e, block);
  if (!b) return -1;
  const tn_arr *regions = write ? b->writes : b->reads;
  for (int64_t i = 0; i < regions->len; ++i) {
    bool hidden = false;
    for (int64_t j = 0; j < indices->len; ++j)
      hidden = hidden || tir_is_const(tn_arr_obj(indices, j), i);
    if (!hidden) TN_TRY(tn_vec_push(&left, regions->items[i]));
  }
  if (left.len + indices->len != regions->len)
    return sch_fail(&e, "The buffer index is out of range", SCH_PLACES(b),
                    "The numbers do not name different buffers among the %lld that {0} %s",
                    (long long)regions->len, write ? "writes" : "reads");
  tn_Block copy = *b;
  tn_arr **field = write ? &copy.writes : &copy.reads;
  *field = tn_arr_from(&left);
  return *field && take_block(&e, b, &copy) == 0 ? sch_commit(&e) : -1;
}
