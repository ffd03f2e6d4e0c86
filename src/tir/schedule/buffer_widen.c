/* Has the last writer of a buffer store the padding too, that transform_layout gave it:

     for i in range(14):          ->   for io, ii in T.grid(4, 4):
         B[i] = A[i] * 2                   B[io, ii] = if_then_else(io == 3 and ii >= 2, 0,
                                                                    A[io * 4 + ii] * 2)

   That is done where loops go through all elements in their order, and in them nothing happens but
   stores to the elements, in blocks or not: what is evaluated for the padding is a condition then.
 */
#include "ir/functor.h"
#include "tenon/object.h"
#include "tir/schedule/buffer_change.h"

typedef struct {
  sch_step *e;
  const sch_padding *p;
  const tn_Buffer *old;
  tn_vec chain;       /* loops, one for each axis, outermost first */
  const tn_arr *here; /* the old indices at the place: loop variables, in a block its iterators */
  bool in_block;
  /* while the new loops are made */
  const tn_arr *at; /* the new indices at the place */
  tn_pmap vars;     /* old indices -> over the new ones */
} widening;

static const tn_For *loop_at(const widening *w, int64_t i) {
  return (const tn_For *)w->chain.items[i].v.obj;
}

/* The number of the axis whose loop variable that is, or -1. */
static int64_t axis_of(const widening *w, const tn_obj *v) {
  for (int64_t i = 0; i < w->chain.len; ++i)
    if ((const tn_obj *)loop_at(w, i)->loop_var == v) return i;
  return -1;
}

static bool uses_chain(const widening *w, const void *expr) {
  for (int64_t i = 0; i < w->chain.len; ++i)
    if (sch_uses_var(expr, loop_at(w, i)->loop_var)) return true;
  return false;
}

/* ---- the loops ---- */

static int meet_store(void *ctx, tn_obj *o) {
  widening *w = ctx;
  const tn_BufferStore *store = TN_AS(BufferStore, o);
  if (!store || store->buffer != w->old) return 0;
  w->here = store->indices;
  return 2;
}

static const tn_For *loop_of(const tn_vec *loops, const tn_Block *b, const tn_BlockRealize *r,
                             const tn_obj *index) {
  for (int64_t i = 0; i < b->iter_vars->len; ++i)
    if ((const tn_obj *)((const tn_IterVar *)tn_arr_obj(b->iter_vars, i))->var == index)
      index = tn_arr_obj(r->iter_values, i);
  for (int64_t i = 0; i < loops->len; ++i) {
    const tn_For *f = (const tn_For *)loops->items[i].v.obj;
    if ((const tn_obj *)f->loop_var == index) return f;
  }
  return NULL;
}

static bool spans(const tn_For *f, const tn_expr *extent) {
  return f->kind == TIR_FOR_SERIAL && f->annotations->len == 0 && tir_is_zero(f->min) &&
         tn_equal(f->extent, extent, 0) == 1;
}

/* Loops right in each other, one for each index of the store, over all of its axis. */
static int find_chain(widening *w, const tn_Block *writer, bool *out) {
  TN_VEC(loops);
  const tn_BlockRealize *r = TN_AS(BlockRealize, sch_parent(w->e, writer));
  *out = r && tn_pre_order(writer, meet_store, w) == 2 && w->here->len > 0;
  if (!*out) return 0;
  TN_TRY(sch_loops_above(w->e, writer, &loops));
  for (int64_t i = 0; *out && i < w->here->len; ++i) {
    const tn_For *f = loop_of(&loops, writer, r, tn_arr_obj(w->here, i));
    *out = f && spans(f, (const tn_expr *)tn_arr_obj(w->old->shape, i)) &&
           (i == 0 || (const tn_obj *)loop_at(w, i - 1)->body == (const tn_obj *)f);
    if (*out) TN_TRY(tn_vec_push_obj(&w->chain, f));
  }
  return 0;
}

/* ---- is what is in them only stores to the elements? ---- */

static int other_load(void *ctx, tn_obj *o) {
  const widening *w = ctx;
  const tn_BufferLoad *load = TN_AS(BufferLoad, o);
  return load && load->buffer == w->old && tn_equal(load->indices, w->here, 0) != 1;
}

static bool stores_here(const widening *w, const tn_BufferStore *s) {
  return s->buffer == w->old && tn_equal(s->indices, w->here, 0) == 1 &&
         tir_side_effect(s->value) <= TIR_EFFECT_READ && !sch_uses_pointer(s->value, w->old) &&
         !tn_post_order(s->value, other_load, (void *)(uintptr_t)w);
}

static bool only_stores(widening *w, const tn_obj *stmt);

/* The iterators that are bound to the loops: for all axes, or none. NULL: neither. */
static const tn_arr *bound_iters(const widening *w, const tn_BlockRealize *r) {
  TN_VEC(out);
  for (int64_t axis = 0; axis < w->chain.len; ++axis) {
    int64_t before = out.len;
    for (int64_t i = 0; i < r->iter_values->len; ++i) {
      const tn_IterVar *iv = (const tn_IterVar *)tn_arr_obj(r->block->iter_vars, i);
      const tn_obj *value = tn_arr_obj(r->iter_values, i);
      if (axis_of(w, value) < 0 && uses_chain(w, value)) return NULL;
      if (axis_of(w, value) != axis) continue;
      bool whole = iv->iter_type == IR_ITER_DATA_PAR && tir_is_zero(iv->dom->min) &&
                   tn_equal(iv->dom->extent, loop_at(w, axis)->extent, 0) == 1;
      if (!whole || out.len > before || tn_vec_push_obj(&out, iv->var)) return NULL;
    }
  }
  return out.len == 0 || out.len == w->chain.len ? tn_arr_from(&out) : NULL;
}

static bool block_fits(widening *w, const tn_BlockRealize *r) {
  const tn_Block *b = r->block;
  const tn_arr *outer = w->here, *iters = w->in_block ? NULL : bound_iters(w, r);
  bool fits = iters && tir_is_one(r->predicate) && !b->alloc_buffers->len && !b->match_buffers->len;
  if (fits && iters->len) {
    fits = fits && !uses_chain(w, b->body) && (!b->init || !uses_chain(w, b->init));
    w->here = iters;
  }
  w->in_block = true;
  fits = fits && only_stores(w, (const tn_obj *)b->body) &&
         (!b->init || only_stores(w, (const tn_obj *)b->init));
  w->in_block = false;
  w->here = outer;
  return fits;
}

static bool only_stores(widening *w, const tn_obj *stmt) {
  const tn_SeqStmt *seq = TN_AS(SeqStmt, stmt);
  const tn_For *f = TN_AS(For, stmt);
  const tn_BufferStore *store = TN_AS(BufferStore, stmt);
  int64_t k;
  if (store) return stores_here(w, store);
  if (f)
    return tir_as_int((tn_obj *)f->min, &k) && tir_as_int((tn_obj *)f->extent, &k) &&
           only_stores(w, (const tn_obj *)f->body);
  for (int64_t i = 0; seq && i < seq->seq->len; ++i)
    if (!only_stores(w, tn_arr_obj(seq->seq, i))) return false;
  if (seq) return true;
  return TN_AS(BlockRealize, stmt) && block_fits(w, TN_AS(BlockRealize, stmt));
}

/* ---- the new loops ---- */

static tn_obj *new_value(void *ctx, tn_obj *o) {
  const widening *w = ctx;
  const tn_BufferLoad *load = TN_AS(BufferLoad, o);
  tn_obj *with = tn_pmap_get(&w->vars, o);
  if (with) return with;
  if (load && load->buffer == w->old)
    return (tn_obj *)tir_load(w->p->change->now, (tn_arr *)(uintptr_t)w->at);
  if (o->type_index == TN_TI_Buffer || TN_IS(Var, o) || o->type_index == TN_TI_Op) return o;
  return tn_map_children(o, new_value, ctx);
}

static tn_stmt *widened(widening *w, const tn_obj *stmt);

static tn_stmt *new_store(widening *w, const tn_BufferStore *s) {
  tn_arr *at = (tn_arr *)(uintptr_t)w->at;
  tn_expr *value = (tn_expr *)new_value(w, (tn_obj *)s->value);
  tn_expr *cond = value ? sch_in_padding(w->p, at) : NULL,
          *pad = cond ? sch_padding_value(w->p, at) : NULL;
  value = pad ? tir_if_then_else(cond, pad, value, NULL) : NULL;
  return value ? tir_store(w->p->change->now, value, at) : NULL;
}

/* What the old indices are over the new ones. */
static int put_old(widening *w, const tn_arr *old, const tn_arr *at) {
  TN_PMAP(vars);
  const tn_IndexMap *back = w->p->back;
  for (int64_t i = 0; i < at->len; ++i)
    TN_TRY(tn_pmap_put(&vars, tn_arr_obj(back->initial_indices, i), tn_arr_obj(at, i)));
  for (int64_t i = 0; i < old->len; ++i) {
    const tn_Var *v = (const tn_Var *)tn_arr_obj(old, i);
    tn_expr *e = tir_substitute(tn_arr_obj(back->final_indices, i), &vars);
    TN_GET(e, e ? tir_cast(v->dtype, e, NULL) : NULL);
    TN_TRY(tn_pmap_put(&w->vars, v, e));
  }
  return 0;
}

static int new_iters(widening *w, tn_vec *iters, tn_vec *values, tn_vec *vars) {
  const tn_Buffer *now = w->p->change->now;
  for (int64_t i = 0; i < now->shape->len; ++i) {
    const tn_Var *loop = (const tn_Var *)tn_arr_obj(w->at, i);
    tn_expr *extent = (tn_expr *)tn_arr_obj(now->shape, i);
    tn_str *name = tn_str_fmt("v_%s", tn_cstr(loop->name));
    tn_Var *v = name ? tir_var(tn_cstr(name), loop->dtype) : NULL;
    tn_Range *dom = tir_range(tir_zero(extent->dtype), extent);
    const tn_IterVar *iv = v && dom ? tir_iter_var(dom, v, IR_ITER_DATA_PAR, "") : NULL;
    if (!iv || tn_vec_push_obj(iters, iv) || tn_vec_push_obj(values, loop) ||
        tn_vec_push_obj(vars, v))
      return -1;
  }
  return 0;
}

/* An update without its init declares its own result as read. */
static tn_Block *with_regions(const widening *w, const tn_Block *was, tn_Block *now) {
  TN_VEC(reads);
  bool own = false;
  TN_GETP(now, tir_block_with_regions(now, true, true));
  for (int64_t i = 0; i < was->reads->len; ++i)
    own = own || ((const tn_BufferRegion *)tn_arr_obj(was->reads, i))->buffer == w->old;
  for (int64_t i = 0; own && i < now->reads->len; ++i)
    own = ((const tn_BufferRegion *)tn_arr_obj(now->reads, i))->buffer != w->p->change->now;
  if (!own) return now;
  TN_TRYP(tn_vec_push_obj(&reads, tn_arr_obj(now->writes, 0)));
  for (int64_t i = 0; i < now->reads->len; ++i)
    TN_TRYP(tn_vec_push_obj(&reads, tn_arr_obj(now->reads, i)));
  tn_Block copy = *now;
  copy.reads = tn_arr_from(&reads);
  return copy.reads ? tn_node_copy(&tn_type_Block, &copy) : NULL;
}

/* The block over new iterators, if it has some of the loops. */
static tn_stmt *new_block(widening *w, const tn_BlockRealize *r) {
  TN_VEC(iters);
  TN_VEC(values);
  TN_VEC(vars);
  const tn_arr *bound = bound_iters(w, r), *outer = w->at;
  if (!bound) return NULL;
  for (int64_t i = 0; i < r->iter_values->len; ++i) {
    bool kept = axis_of(w, tn_arr_obj(r->iter_values, i)) < 0;
    if (!kept && !vars.len) TN_TRYP(new_iters(w, &iters, &values, &vars));
    if (kept && (tn_vec_push_obj(&iters, tn_arr_obj(r->block->iter_vars, i)) ||
                 tn_vec_push_obj(&values, tn_arr_obj(r->iter_values, i))))
      return NULL;
  }
  if (vars.len) {
    TN_GETP(w->at, tn_arr_from(&vars));
    TN_TRYP(put_old(w, bound, w->at));
  }
  tn_Block copy = *r->block;
  copy.iter_vars = tn_arr_from(&iters);
  TN_GETP(copy.body, widened(w, (const tn_obj *)copy.body));
  if (copy.init) TN_GETP(copy.init, widened(w, (const tn_obj *)copy.init));
  w->at = outer;
  tn_Block *now = copy.iter_vars ? tn_node_copy(&tn_type_Block, &copy) : NULL;
  TN_GETP(now, now ? with_regions(w, r->block, now) : NULL);
  TN_TRYP(sch_moved(w->e, r->block, now));
  return (tn_stmt *)TN_MAKE(BlockRealize, .iter_values = tn_arr_from(&values),
                            .predicate = r->predicate, .block = now);
}

static tn_stmt *widened(widening *w, const tn_obj *stmt) {
  const tn_SeqStmt *seq = TN_AS(SeqStmt, stmt);
  const tn_For *f = TN_AS(For, stmt);
  TN_VEC(all);
  if (TN_IS(BufferStore, stmt)) return new_store(w, TN_AS(BufferStore, stmt));
  if (TN_IS(BlockRealize, stmt)) return new_block(w, TN_AS(BlockRealize, stmt));
  if (f) {
    tn_stmt *body = widened(w, (const tn_obj *)f->body);
    tn_For *now = body ? sch_loop(f, f->loop_var, f->min, f->extent, body) : NULL;
    return now && sch_moved(w->e, f, now) == 0 ? (tn_stmt *)now : NULL;
  }
  for (int64_t i = 0; i < seq->seq->len; ++i)
    TN_TRYP(tn_vec_push_obj(&all, widened(w, tn_arr_obj(seq->seq, i))));
  return tir_seq(&all);
}

/* The loops over the new buffer around the new body; handles stay where their number does. */
static tn_stmt *new_loops(widening *w) {
  TN_VEC(vars);
  TN_VEC(old);
  const tn_arr *shape = w->p->change->now->shape;
  for (int64_t i = 0; i < shape->len; ++i) {
    tn_str *name = tn_str_fmt("axis%lld", (long long)i);
    const tn_Var *v =
        name ? tir_var(tn_cstr(name), ((tn_expr *)tn_arr_obj(shape, i))->dtype) : NULL;
    TN_TRYP(tn_vec_push_obj(&vars, v));
  }
  for (int64_t i = 0; i < w->chain.len; ++i)
    TN_TRYP(tn_vec_push_obj(&old, loop_at(w, i)->loop_var));
  const tn_arr *loops = tn_arr_from(&old);
  TN_GETP(w->at, tn_arr_from(&vars));
  TN_TRYP(put_old(w, loops, w->at));
  tn_stmt *s = widened(w, (const tn_obj *)loop_at(w, w->chain.len - 1)->body);
  tn_map *none = tn_scope_own(tn_map_new());
  for (int64_t i = shape->len; i-- > 0 && s && none;) {
    tn_expr *extent = (tn_expr *)tn_arr_obj(shape, i);
    s = (tn_stmt *)TN_MAKE(For, .loop_var = (tn_Var *)vars.items[i].v.obj,
                           .min = tir_zero(extent->dtype), .extent = extent, .kind = TIR_FOR_SERIAL,
                           .body = s, .annotations = none);
    if (s && shape->len == w->chain.len) TN_TRYP(sch_moved(w->e, loop_at(w, i), s));
  }
  return s;
}

static int widen(widening *w, const tn_Block *writer, bool *out) {
  TN_VEC(old);
  TN_TRY(find_chain(w, writer, out));
  if (!*out) return 0;
  for (int64_t i = 0; i < w->chain.len; ++i) TN_TRY(tn_vec_push_obj(&old, loop_at(w, i)->loop_var));
  TN_GET(w->here, tn_arr_from(&old));
  *out = only_stores(w, (const tn_obj *)loop_at(w, w->chain.len - 1)->body);
  if (!*out) return 0;
  return sch_replace(w->e, (const tn_stmt *)loop_at(w, 0), new_loops(w));
}

int sch_widen_writer(sch_step *e, const sch_padding *p, const tn_Block *writer, bool *out) {
  widening w = {.e = e, .p = p, .old = p->change->old};
  int err = widen(&w, writer, out);
  tn_vec_fini(&w.chain);
  tn_pmap_fini(&w.vars);
  return err;
}
