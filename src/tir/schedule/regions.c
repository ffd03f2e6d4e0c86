/* Parts of buffers that blocks touch while loops run, and what follows for a scope: region cover
   and stage pipeline.

     for i:
       for j: block "B" writes B[i, j]          under i: B[i, 0:16]
       for k: block "C" reads B[i, k // 2]      under i: B[i, 0:8], which is covered */
#include "arith/iter_map.h"
#include "arith/region.h"
#include "ir/functor.h"
#include "tir/schedule/regions.h"

/* ---- loops ---- */

static bool shared_by(const char *memory, const tn_For *f) {
  return f->kind == TIR_FOR_THREAD_BINDING && f->thread_binding &&
         tir_is_shared_by(memory, tn_cstr(f->thread_binding->thread_tag));
}

tn_map *sch_loop_domain(const sch_step *e, const tn_obj *low, const tn_obj *high,
                        const char *memory) {
  tn_map *out = tn_scope_own(tn_map_new());
  bool above = false;
  for (const tn_obj *o = low; out && o; o = sch_parent(e, o)) {
    above = above || o == high;
    if (above && sch_is_global(memory)) break;
    const tn_For *f = TN_AS(For, o);
    if (!f || (above && !shared_by(memory, f))) continue;
    tn_Range *r = tir_range(f->min, f->extent);
    if (!r || tn_map_set(out, tn_any_obj(f->loop_var), tn_any_obj(r))) return NULL;
  }
  return out;
}

int sch_bind_loops_above(sch_step *e, const tn_obj *stmt) {
  for (const tn_obj *o = stmt; o && o->type_index != TN_TI_Block; o = sch_parent(e, o)) {
    const tn_For *f = TN_AS(For, o);
    if (f) TN_TRY(arith_bind_range(&e->arith, f->loop_var, tir_range(f->min, f->extent), true));
  }
  return 0;
}

int sch_bind_shapes(sch_step *e) {
  const tn_map *buffers = e->func->buffer_map;
  for (int64_t i = 0; i < buffers->len; ++i) {
    const tn_Buffer *b = (const tn_Buffer *)buffers->entries[i].value.v.obj;
    for (int64_t j = 0; j < b->shape->len; ++j) {
      tn_obj *dim = tn_arr_obj(b->shape, j);
      if (TN_IS(Var, dim))
        TN_TRY(arith_set_bound(&e->arith, (tn_Var *)dim, (arith_bound){0, ARITH_POS_INF}, true));
    }
  }
  return 0;
}

/* ---- regions ---- */

tn_arr *sch_bound_region(const tn_BlockRealize *r, const tn_arr *region) {
  TN_PMAP(vars);
  for (int64_t i = 0; i < r->iter_values->len; ++i) {
    const tn_IterVar *iv = (const tn_IterVar *)tn_arr_obj(r->block->iter_vars, i);
    if (tn_pmap_put(&vars, iv->var, tn_arr_obj(r->iter_values, i))) return NULL;
  }
  return tir_substitute(region, &vars);
}

tn_arr *sch_relax_region(sch_step *e, const tn_arr *region, const tn_map *dom) {
  TN_VEC(sets);
  if (!region || !dom) return NULL;
  for (int64_t i = 0; i < region->len; ++i) {
    const tn_Range *r = (const tn_Range *)tn_arr_obj(region, i);
    tn_IntervalSet *s = arith_int_set_of_range(&e->arith, r, dom);
    if (!s || tn_vec_push_obj(&sets, s)) return NULL;
  }
  return tn_arr_from(&sets);
}

tn_arr *sch_union_region(sch_step *e, const tn_arr *x, const tn_arr *y) {
  TN_VEC(sets);
  if (!x || !y) return NULL;
  for (int64_t i = 0; i < x->len; ++i) {
    tn_IntervalSet *s = arith_interval_union(&e->arith, (tn_IntervalSet *)tn_arr_obj(x, i),
                                             (tn_IntervalSet *)tn_arr_obj(y, i));
    if (!s || tn_vec_push_obj(&sets, s)) return NULL;
  }
  return tn_arr_from(&sets);
}

bool sch_same_exprs(const tn_arr *x, const tn_arr *y) {
  for (int64_t i = 0; i < x->len && x->len == y->len; ++i) {
    if (!arith_same((tn_expr *)tn_arr_obj(x, i), (tn_expr *)tn_arr_obj(y, i))) return false;
  }
  return x->len == y->len;
}

bool sch_same_region(const tn_arr *x, const tn_arr *y) {
  for (int64_t i = 0; i < x->len && x->len == y->len; ++i) {
    const tn_Range *a = (tn_Range *)tn_arr_obj(x, i), *b = (tn_Range *)tn_arr_obj(y, i);
    if (!arith_same(a->min, b->min) || !arith_same(a->extent, b->extent)) return false;
  }
  return x->len == y->len;
}

/* ---- region cover ---- */

/* The lowest statement around both blocks: a loop or block (a branch lies below one). */
static const tn_obj *common_ancestor(const sch_step *e, const tn_Block *a, const tn_Block *b) {
  const tn_obj *o = sch_parent(e, a);
  for (; o; o = sch_parent(e, o)) {
    bool site = o->type_index == TN_TI_For || o->type_index == TN_TI_Block;
    if (site && sch_lies_below(e, sch_parent(e, b), o)) break;
  }
  return o;
}

/* What a block surely writes of a buffer below `high`, added to the boxes. */
static int add_written(sch_step *e, const tn_Block *b, const tn_Buffer *buffer, const tn_obj *high,
                       tn_vec *boxes) {
  const tn_BlockRealize *r = sch_realize_of(e, b);
  tn_map *dom;
  TN_GET(dom, sch_loop_domain(e, (const tn_obj *)r, high, tir_buffer_scope(buffer)));
  for (int64_t i = 0; i < b->writes->len; ++i) {
    const tn_BufferRegion *w = (const tn_BufferRegion *)tn_arr_obj(b->writes, i);
    tn_arr *exact;
    if (w->buffer != buffer) continue;
    TN_TRY(
        arith_region_exact(&e->arith, sch_bound_region(r, w->region), dom, r->predicate, &exact));
    if (exact) TN_TRY(tn_vec_push_obj(boxes, exact));
  }
  return 0;
}

static const tn_IntervalSet *side(const tn_arr *box, int64_t i) {
  return (const tn_IntervalSet *)tn_arr_obj(box, i);
}

/* Does y begin where x ends at the latest, and end where x begins at the earliest? */
static bool meet(sch_step *e, const tn_IntervalSet *x, const tn_IntervalSet *y) {
  if (arith_is_inf(x->min_value) || arith_is_inf(x->max_value) || arith_is_inf(y->min_value) ||
      arith_is_inf(y->max_value))
    return false;
  tn_expr *one = tir_one(x->max_value->dtype);
  return arith_prove(&e->arith, tir_le(y->min_value, tir_add(x->max_value, one))) &&
         arith_prove(&e->arith, tir_le(x->min_value, tir_add(y->max_value, one)));
}

/* The box that two boxes are together, or NULL in *out. */
static int join(sch_step *e, const tn_arr *x, const tn_arr *y, tn_arr **out) {
  int64_t differ = -1;
  *out = NULL;
  for (int64_t i = 0; i < x->len; ++i) {
    if (arith_same(side(x, i)->min_value, side(y, i)->min_value) &&
        arith_same(side(x, i)->max_value, side(y, i)->max_value))
      continue;
    if (differ >= 0) return 0;
    differ = i;
  }
  if (differ >= 0 && !meet(e, side(x, differ), side(y, differ))) return 0;
  TN_GET(*out, sch_union_region(e, x, y));
  return 0;
}

/* Boxes that are one together become one, until none are. */
static int join_all(sch_step *e, tn_vec *boxes) {
  for (int64_t i = 0; i < boxes->len; ++i) {
    for (int64_t j = i + 1; j < boxes->len; ++j) {
      tn_arr *both;
      TN_TRY(join(e, (tn_arr *)boxes->items[i].v.obj, (tn_arr *)boxes->items[j].v.obj, &both));
      if (!both) continue;
      boxes->items[i] = tn_any_obj(both);
      boxes->items[j] = boxes->items[--boxes->len];
      i = -1; /* from the beginning */
      break;
    }
  }
  return 0;
}

static bool holds(sch_step *e, const tn_IntervalSet *outer, const tn_IntervalSet *inner,
                  tn_expr *extent) {
  tn_expr *last = tir_sub(extent, tir_one(extent->dtype)), *zero = tir_zero(extent->dtype);
  tn_expr *lo = arith_is_inf(inner->min_value) ? zero : tir_max(inner->min_value, zero);
  tn_expr *hi = arith_is_inf(inner->max_value) ? last : tir_min(inner->max_value, last);
  return !arith_interval_is_none(outer) &&
         (arith_is_inf(outer->min_value) || arith_prove(&e->arith, tir_le(outer->min_value, lo))) &&
         (arith_is_inf(outer->max_value) || arith_prove(&e->arith, tir_ge(outer->max_value, hi)));
}

bool sch_holds(sch_step *e, const tn_arr *outer, const tn_arr *inner, const tn_Buffer *buffer) {
  bool all = true;
  for (int64_t i = 0; all && i < inner->len; ++i)
    all = holds(e, (tn_IntervalSet *)tn_arr_obj(outer, i), (tn_IntervalSet *)tn_arr_obj(inner, i),
                (tn_expr *)tn_arr_obj(buffer->shape, i));
  return all;
}

/* Is what the block reads of one buffer below `high` written by the producers that meet it there?
 */
static int covers(sch_step *e, const tn_Block *b, const tn_BufferRegion *read, const tn_obj *high,
                  const tn_vec *boxes, bool *out) {
  const tn_BlockRealize *r = sch_realize_of(e, b);
  tn_map *dom;
  tn_arr *used;
  TN_GET(dom, sch_loop_domain(e, (const tn_obj *)r, high, tir_buffer_scope(read->buffer)));
  TN_GET(used, arith_region_upper(&e->arith, sch_bound_region(r, read->region), dom, r->predicate));
  *out = false;
  for (int64_t i = 0; !*out && i < boxes->len; ++i)
    *out = sch_holds(e, (tn_arr *)boxes->items[i].v.obj, used, read->buffer);
  return 0;
}

/* Producers of one region, grouped by where they meet the block; each group must cover it. */
static int check_group(sch_step *e, const sch_scope_info *info, const tn_Block *b,
                       const tn_BufferRegion *read, const tn_obj *high, bool *out) {
  TN_VEC(boxes);
  for (int64_t i = 0; i < info->ndeps; ++i) {
    const sch_dep *d = &info->deps[i];
    if (d->dst == b && d->kind == SCH_RAW && common_ancestor(e, d->src, b) == high)
      TN_TRY(add_written(e, d->src, read->buffer, high, &boxes));
  }
  TN_TRY(join_all(e, &boxes));
  return covers(e, b, read, high, &boxes, out);
}

static int check_read(sch_step *e, const sch_scope_info *info, const tn_Block *b,
                      const tn_BufferRegion *read, bool *out) {
  TN_PMAP(seen); /* places */
  for (int64_t i = 0; *out && i < info->ndeps; ++i) {
    const sch_dep *d = &info->deps[i];
    if (d->dst != b || d->kind != SCH_RAW || !sch_has_buffer(d->src->writes, read->buffer))
      continue;
    const tn_obj *high = common_ancestor(e, d->src, b);
    if (!high || tn_pmap_has(&seen, high)) continue;
    TN_TRY(tn_pmap_put(&seen, high, high));
    TN_TRY(check_group(e, info, b, read, high, out));
  }
  return 0;
}

int sch_region_cover(sch_step *e, const sch_scope_info *info, const tn_Block *b, bool *out) {
  *out = true;
  TN_TRY(sch_bind_loops_above(e, sch_parent(e, b)));
  for (int64_t i = 0; *out && i < b->reads->len; ++i)
    TN_TRY(check_read(e, info, b, (const tn_BufferRegion *)tn_arr_obj(b->reads, i), out));
  return 0;
}

int sch_stage_pipeline(sch_step *e, const tn_Block *scope, bool *out) {
  SCH_SCOPE_INFO(info);
  *out = true;
  TN_TRY(sch_scope_info_of(scope, &info));
  TN_TRY(sch_bind_shapes(e));
  for (int64_t i = 0; i < info.ndeps; ++i) {
    sch_dep_kind kind = info.deps[i].kind;
    if (kind == SCH_WAR || kind == SCH_OPAQUE) *out = false;
  }
  for (int64_t i = 0; *out && i < info.blocks.len; ++i)
    TN_TRY(sch_region_cover(e, &info, (tn_Block *)info.blocks.items[i].v.obj, out));
  return 0;
}

bool sch_affine_binding(sch_step *e, const tn_Block *b) {
  const tn_BlockRealize *r = sch_realize_of(e, b);
  const tn_Block *scope = sch_scope_block(e, r);
  tn_map *dom = sch_loop_domain(e, sch_parent(e, r), (const tn_obj *)scope, "");
  if (!r || !dom || !dom->len) return dom != NULL;
  tn_IterMapResult *map =
      iter_map_detect(&e->arith, r->iter_values, dom, r->predicate, ITER_MAP_SURJECTIVE, false);
  if (!map || map->indices->len != r->iter_values->len) return false;
  for (int64_t i = 0; i < map->indices->len; ++i) {
    const tn_IterSumExpr *s = (const tn_IterSumExpr *)tn_arr_obj(map->indices, i);
    if (s->args->len && !tir_is_one(((tn_IterSplitExpr *)tn_arr_obj(s->args, 0))->scale))
      return false;
  }
  return true;
}

/* ---- checks ---- */

tn_Block *sch_scope_root(sch_step *e, const tn_Block *b, bool stage_pipeline) {
  tn_Block *scope = sch_scope_block(e, sch_parent(e, b));
  bool fine = true;
  if (!scope)
    return sch_fail(e, "The primitive does not operate on the root block", SCH_PLACES(b),
                    "The primitive does not operate on the root block {0}"),
           NULL;
  if (!stage_pipeline) return scope;
  TN_TRYP(sch_stage_pipeline(e, scope, &fine));
  if (!fine)
    sch_fail(e, "The scope root is not a stage pipeline", SCH_PLACES(scope),
             "The scope {0} is not a stage pipeline: one of its blocks overwrites what another "
             "reads, or reads what no block before it has written");
  return fine ? scope : NULL;
}

int sch_check_complete_or_reduction(const sch_step *e, const tn_Block *b) {
  const char *no_complete, *no_reduction;
  if (sch_is_complete(e, b, &no_complete) || sch_is_reduction(e, b, &no_reduction)) return 0;
  return sch_fail(e, "Not a complete or reduction block", SCH_PLACES(b),
                  "The block {0} is not a complete block, since %s, and no reduction block, since "
                  "%s",
                  no_complete, no_reduction);
}

int sch_check_not_output(const sch_step *e, const tn_Block *b, const tn_Block *scope) {
  if (!sch_is_output(b, scope)) return 0;
  return sch_fail(e, "Cannot operate on an output block", SCH_PLACES(b),
                  "The block {0} is an output block");
}
