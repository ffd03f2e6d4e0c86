/* Buffers shrink to what is accessed where they live.

     for i in range(8):                         for i in range(8):
       with T.block(""):                          with T.block(""):
         B = T.alloc_buffer((8, 16))       ->       B = T.alloc_buffer((1, 16))
         ... B[i, j] ...                            ... B[0, j] ...

   For each axis the indices of all accesses, over the loops within the block that allocates the
   buffer and under the conditions around them, give an interval; it becomes the new extent where
   that has a constant bound below the old one, and its begin is subtracted from every index. With
   the argument is_strict false, an axis that is accessed beyond its extent grows. Buffers that are
   accessed by their pointer, through a second buffer or with strides keep their shape; memory that
   threads share holds what all of them access. T.allocate is treated alike where one buffer names
   all of it. The annotation buffer_dim_align of a block (Schedule.storage_align) gives strides to
   what it writes. After ConvertBlocksToOpaque. */
#include <string.h>

#include "arith/int_set.h"
#include "base/arena.h"
#include "tir/transforms/blocks/compact_impl.h"
#include "tir/device.h"
#include "tir/transforms/transforms.h"

enum { MAX_GUARDS = 8 }; /* innermost conditions that an index is compared with */

/* What is known of memory that a block or T.allocate allocates. */
typedef struct {
  tn_Buffer *buffer;             /* that names it; NULL: no access of an allocation was seen yet */
  const tn_Allocate *allocation; /* NULL: of a block */
  int64_t outside;               /* number of loops around the block */
  tir_memory memory;
  bool whole; /* keeps its shape */
  tn_IntervalSet **axes;
  tn_expr **begin;       /* of the new axes; NULL: the axis stays */
  const tn_arr *aligned; /* hints of a block that writes the buffer; NULL: none is about it */
  int64_t index;         /* of the buffer among the block's writes */
  bool rigid;            /* a second buffer counts on rows that lie close together */
  tn_Buffer *smaller;
} use;

typedef struct {
  tn_arena arena;
  arith_analyzer known;
  tn_pmap uses;   /* Buffer or its data pointer -> use */
  tn_pmap hidden; /* variables bound by LetStmt: not seen where the buffer is allocated */
  tn_vec loops;   /* For or AttrStmt of a thread axis, outermost first */
  tn_vec ranges;  /* Range of each loop's variable under the guards; empty: not known yet */
  compact_guards guards;
  bool grows; /* an axis that is accessed beyond its extent gets a larger one */
} compactor;

static tn_expr *expr_at(const tn_arr *a, int64_t i) { return (tn_expr *)tn_arr_obj(a, i); }

static void keep_whole(compactor *x, const void *what) {
  use *u = tn_pmap_get(&x->uses, what);
  if (u) u->whole = true;
}

/* ---- looking ---- */

static bool can_shrink(const tn_Buffer *b) {
  const char *scope = tir_buffer_scope(b);
  return b->strides->len == 0 && b->axis_separators->len == 0 &&
         (!b->elem_offset || tir_is_zero(b->elem_offset)) &&
         (strcmp(scope, "global") == 0 || strcmp(scope, "local") == 0 ||
          strcmp(scope, "warp") == 0 || strncmp(scope, "wmma.", 5) == 0 ||
          tir_memory_of(scope) == TIR_MEMORY_SHARED);
}

/* The variable that a loop or a thread axis binds; its values and, for threads, its tag. */
typedef struct {
  const tn_Var *var;
  tn_Range *range;
  const char *tag;
} axis;

static const tn_IterVar *thread_of(const tn_AttrStmt *s) {
  bool binds = tn_str_eq(s->attr_key, "thread_extent") || tn_str_eq(s->attr_key, "virtual_thread");
  return binds ? TN_AS(IterVar, s->node) : NULL;
}

static int axis_of(const tn_obj *o, axis *out) {
  const tn_For *loop = TN_AS(For, o);
  if (loop) {
    const tn_IterVar *thread = loop->kind == TIR_FOR_THREAD_BINDING ? loop->thread_binding : NULL;
    *out = (axis){loop->loop_var, tir_range(loop->min, loop->extent),
                  thread ? tn_cstr(thread->thread_tag) : NULL};
  } else {
    const tn_AttrStmt *s = (const tn_AttrStmt *)o;
    const tn_IterVar *iv = thread_of(s);
    *out = (axis){iv->var, tir_range(tir_zero(s->value->dtype), s->value), tn_cstr(iv->thread_tag)};
  }
  return out->range ? 0 : -1;
}

/* The interval over one more loop. */
static tn_IntervalSet *relax(compactor *x, const tn_IntervalSet *s, const axis *loop) {
  tn_map *dom = tn_map_with(NULL, tn_any_obj(loop->var), tn_any_obj(loop->range));
  tn_IntervalSet *lo = dom ? arith_int_set(&x->known, s->min_value, dom) : NULL;
  tn_IntervalSet *hi = dom ? arith_int_set(&x->known, s->max_value, dom) : NULL;
  return lo && hi ? arith_interval(lo->min_value, hi->max_value) : NULL;
}

static int64_t first_guard(const compactor *x) {
  return x->guards.len > MAX_GUARDS ? x->guards.len - MAX_GUARDS : 0;
}

/* The walk goes into another loop or condition. */
static void at_other_place(compactor *x) { x->ranges.len = 0; }

static int find_ranges(compactor *x) {
  if (x->ranges.len == x->loops.len) return 0;
  x->ranges.len = 0;
  for (int64_t i = 0; i < x->loops.len; ++i) {
    axis loop;
    TN_TRY(axis_of(x->loops.items[i].v.obj, &loop));
    tn_Range *r = compact_range(&x->guards, first_guard(x), &x->known, loop.var, loop.range);
    if (!r || tn_vec_push_obj(&x->ranges, r)) return -1;
  }
  return 0;
}

/* Over all loops within the allocation. Threads that share the buffer are apart in it, wherever it
 * is allocated. */
static tn_IntervalSet *relax_all(compactor *x, const use *u, tn_IntervalSet *s) {
  TN_TRYP(find_ranges(x));
  for (int64_t i = x->loops.len; i-- > 0;) {
    axis loop;
    TN_TRYP(axis_of(x->loops.items[i].v.obj, &loop));
    loop.range = (tn_Range *)x->ranges.items[i].v.obj;
    if (i >= u->outside || (loop.tag && tir_is_shared_along(u->memory, loop.tag)))
      TN_GETP(s, relax(x, s, &loop));
  }
  return s;
}

static int is_hidden(void *ctx, tn_obj *node) {
  return node->type_index == TN_TI_BufferLoad || node->type_index == TN_TI_Call ||
         tn_pmap_has(&((compactor *)ctx)->hidden, node);
}

/* Of index = guard + rest, where the guard is at most zero, the rest is an upper bound; of
 * index = rest - guard a lower one. */
static tn_expr *bound_by(compactor *x, const use *u, tn_expr *index, tn_expr *guard, bool upper) {
  tn_expr *rest = upper ? tir_sub(index, guard) : tir_add(index, guard);
  TN_GETP(rest, rest ? arith_simplify(&x->known, rest) : NULL);
  tn_IntervalSet *s = arith_interval(rest, rest);
  s = s ? relax_all(x, u, s) : NULL;
  return s ? (upper ? s->max_value : s->min_value) : NULL;
}

/* The bound, or the guard's where that is closer for sure. */
static int tighten(compactor *x, tn_expr **bound, tn_expr *by, bool upper) {
  if (!by) return -1;
  if (arith_is_inf(by)) return 0;
  if (arith_is_inf(*bound)) {
    *bound = by;
    return 0;
  }
  tn_expr *closer = upper ? tir_le(by, *bound) : tir_le(*bound, by);
  if (!closer) return -1;
  if (arith_prove(&x->known, closer)) *bound = by;
  return 0;
}

static int note_index(compactor *x, use *u, int64_t at, tn_expr *from, tn_expr *to) {
  tn_IntervalSet *s = arith_interval(from, to);
  TN_GET(s, s ? relax_all(x, u, s) : NULL);
  tn_expr *lo = s->min_value, *hi = s->max_value;
  int64_t first = first_guard(x);
  tn_expr *least, *most;
  TN_GET(least, compact_limited(&x->guards, first, &x->known, from));
  TN_GET(most, to == from ? least : compact_limited(&x->guards, first, &x->known, to));
  if (least != from || most != to) {
    TN_GET(s, arith_interval(least, most));
    TN_GET(s, relax_all(x, u, s));
    TN_TRY(tighten(x, &lo, s->min_value, false));
    TN_TRY(tighten(x, &hi, s->max_value, true));
  }
  for (int64_t i = first; i < x->guards.len; ++i) {
    tn_expr *guard = (tn_expr *)x->guards.items[i].v.obj;
    if (!tn_dtype_eq(guard->dtype, from->dtype) || tn_post_order(guard, is_hidden, x)) continue;
    TN_TRY(tighten(x, &lo, bound_by(x, u, from, guard, false), false));
    TN_TRY(tighten(x, &hi, bound_by(x, u, to, guard, true), true));
  }
  TN_GET(s, arith_interval(lo, hi));
  if (u->axes[at]) TN_GET(s, arith_interval_union(&x->known, u->axes[at], s));
  u->axes[at] = s;
  return 0;
}

static bool names_all(const tn_Buffer *b, const tn_Allocate *op) {
  bool same = b->shape->len == op->extents->len && tn_dtype_eq(b->dtype, op->dtype);
  for (int64_t i = 0; same && i < b->shape->len; ++i)
    same = arith_same(expr_at(b->shape, i), expr_at(op->extents, i));
  return same;
}

static int make_room(compactor *x, use *u, tn_Buffer *b) {
  int64_t n = b->shape->len;
  u->buffer = b;
  u->whole |= !can_shrink(b);
  TN_GET(u->axes, (tn_IntervalSet **)tn_arena_array(&x->arena, n + 1, sizeof *u->axes));
  TN_GET(u->begin, (tn_expr **)tn_arena_array(&x->arena, n + 1, sizeof *u->begin));
  return tn_pmap_put(&x->uses, b, u);
}

/* The use of the memory that the buffer names, NULL where it stays as it is. A second name keeps
 * it whole. */
static int use_of(compactor *x, tn_Buffer *b, use **out) {
  use *u = tn_pmap_get(&x->uses, b->data);
  if (u && u->allocation && !u->buffer) {
    u->whole |= !names_all(b, u->allocation);
    TN_TRY(make_room(x, u, b));
  }
  if (u && u->buffer != b) u->whole = true;
  *out = u && !u->whole ? u : NULL;
  return 0;
}

static int note_access(compactor *x, tn_Buffer *b, const tn_arr *indices) {
  use *u;
  TN_TRY(use_of(x, b, &u));
  for (int64_t i = 0; u && !u->whole && i < indices->len; ++i) {
    tn_expr *e = expr_at(indices, i);
    const tn_Ramp *ramp = TN_AS(Ramp, e);
    int64_t step = 0;
    if (tn_dtype_is_scalable(e->dtype)) {
      u->whole = true;
    } else if (e->dtype.lanes > 1 &&
               !(ramp && tir_as_int((tn_obj *)ramp->stride, &step) && step >= 0)) {
      u->whole = true;
    } else if (ramp) {
      tn_expr *last =
          tir_add(ramp->base, tir_const_int(ramp->base->dtype, step * (ramp->lanes - 1)));
      TN_TRY(note_index(x, u, i, ramp->base, last));
    } else {
      TN_TRY(note_index(x, u, i, e, e));
    }
  }
  return 0;
}

static int note_region(compactor *x, const tn_BufferRegion *r) {
  use *u;
  TN_TRY(use_of(x, r->buffer, &u));
  for (int64_t i = 0; u && !u->whole && i < r->region->len; ++i) {
    const tn_Range *d = (const tn_Range *)tn_arr_obj(r->region, i);
    tn_expr *last = tir_sub(tir_add(d->min, d->extent), tir_one(d->min->dtype));
    TN_TRY(note_index(x, u, i, d->min, last));
  }
  return 0;
}

static tn_obj *look_var(tn_mut *m, tn_obj *v) {
  keep_whole(m->ctx, v);
  return v;
}
static tn_obj *look_buffer(tn_mut *m, tn_obj *b) {
  (void)m;
  return b;
}
static tn_obj *look_load(tn_mut *m, tn_BufferLoad *op) {
  TN_TRYP(note_access(m->ctx, op->buffer, op->indices));
  return tn_mut_visit(m, op->indices) ? (tn_obj *)op : NULL;
}
static tn_obj *look_store(tn_mut *m, tn_BufferStore *op) {
  TN_TRYP(note_access(m->ctx, op->buffer, op->indices));
  return tn_mut_visit(m, op->indices) && tn_mut_visit(m, op->value) ? (tn_obj *)op : NULL;
}
static tn_obj *look_let(tn_mut *m, tn_LetStmt *op) {
  TN_TRYP(tn_pmap_put_int(&((compactor *)m->ctx)->hidden, op->var, 1));
  return tn_mut_children(m, op);
}
static tn_obj *look_let_expr(tn_mut *m, tn_Let *op) {
  TN_TRYP(tn_pmap_put_int(&((compactor *)m->ctx)->hidden, op->var, 1));
  return tn_mut_children(m, op);
}

static tn_obj *look_inside(tn_mut *m, tn_obj *op, tn_stmt *body) {
  compactor *x = m->ctx;
  axis loop;
  TN_TRYP(axis_of(op, &loop));
  TN_TRYP(arith_bind_range(&x->known, (tn_Var *)(uintptr_t)loop.var, loop.range, true));
  TN_TRYP(tn_vec_push_obj(&x->loops, op));
  at_other_place(x);
  if (!tn_mut_visit(m, body)) return NULL;
  x->loops.len -= 1;
  at_other_place(x);
  arith_unbind(&x->known, loop.var);
  return op;
}

static tn_obj *look_for(tn_mut *m, tn_For *op) {
  if (!tn_mut_visit(m, op->min) || !tn_mut_visit(m, op->extent)) return NULL;
  return look_inside(m, (tn_obj *)op, op->body);
}

static tn_obj *look_attr(tn_mut *m, tn_AttrStmt *op) {
  if (!thread_of(op)) return tn_mut_children(m, op);
  return tn_mut_visit(m, op->value) ? look_inside(m, (tn_obj *)op, op->body) : NULL;
}

/* Looks at what runs only where the condition holds, or does not. */
static int look_under(tn_mut *m, tn_expr *cond, bool holds, void *part) {
  compactor *x = m->ctx;
  int64_t before = x->guards.len;
  TN_TRY(compact_enter(&x->guards, &x->known, cond, holds));
  at_other_place(x);
  if (part && !tn_mut_visit(m, part)) return -1;
  x->guards.len = before;
  at_other_place(x);
  return 0;
}

static tn_obj *look_if(tn_mut *m, tn_IfThenElse *op) {
  if (!tn_mut_visit(m, op->condition)) return NULL;
  TN_TRYP(look_under(m, op->condition, true, op->then_case));
  TN_TRYP(look_under(m, op->condition, false, op->else_case));
  return (tn_obj *)op;
}

static tn_obj *look_call(tn_mut *m, tn_Call *op) {
  if (tir_as_call((tn_obj *)op, TIR_OP_address_of)) {
    const tn_BufferLoad *l = TN_AS(BufferLoad, tn_arr_obj(op->args, 0));
    if (l) keep_whole(m->ctx, l->buffer->data);
  }
  if (tir_as_call((tn_obj *)op, TIR_OP_if_then_else)) {
    tn_expr *cond = (tn_expr *)tn_arr_obj(op->args, 0);
    if (!tn_mut_visit(m, cond)) return NULL;
    TN_TRYP(look_under(m, cond, true, tn_arr_obj(op->args, 1)));
    TN_TRYP(look_under(m, cond, false, tn_arr_obj(op->args, 2)));
    return (tn_obj *)op;
  }
  return tn_mut_children(m, op);
}

static tn_obj *look_realize(tn_mut *m, tn_BlockRealize *op) {
  if (!tn_mut_visit(m, op->iter_values) || !tn_mut_visit(m, op->predicate)) return NULL;
  TN_TRYP(look_under(m, op->predicate, true, op->block));
  return (tn_obj *)op;
}

/* ---- deciding ---- */

/* A variable of which no limit is known but that of its type. */
static int is_unlimited(void *ctx, tn_obj *node) {
  compactor *x = ctx;
  if (!TN_IS(Var, node)) return 0;
  tn_dtype t = ((tn_Var *)node)->dtype;
  arith_bound b = arith_const_bound(&x->known, (tn_expr *)node);
  int64_t top = ir_is_int(t) && t.bits < 64 ? ((int64_t)1 << (t.bits - 1)) - 1 : ARITH_POS_INF;
  return b.max >= top || -b.min >= top;
}

/* A constant extent that holds the axis, or -1. */
static int64_t new_extent(compactor *x, const tn_IntervalSet *s, tn_expr *old) {
  if (!s || arith_is_inf(s->min_value) || arith_is_inf(s->max_value)) return -1;
  if (tn_post_order(s->min_value, is_hidden, x)) return -1;
  tn_expr *n = tir_add(tir_sub(s->max_value, s->min_value), tir_one(s->min_value->dtype));
  n = n ? arith_simplify(&x->known, n) : NULL;
  if (!n || tn_post_order(n, is_unlimited, x)) return -1;
  int64_t most = arith_const_bound(&x->known, n).max, was;
  if (most == ARITH_POS_INF || most < 1) return -1;
  bool fits = tir_as_int((tn_obj *)old, &was) && (x->grows ? most == was : most >= was);
  return fits ? -1 : most;
}

/* What a block says of an axis of a buffer that it writes. */
typedef struct {
  int64_t index, axis, factor, offset;
} hint;

static bool read_hint(const tn_obj *o, hint *h) {
  const tn_arr *a = TN_AS(Array, o);
  return a && a->len == 4 && tir_as_int(tn_arr_obj(a, 0), &h->index) &&
         tir_as_int(tn_arr_obj(a, 1), &h->axis) && tir_as_int(tn_arr_obj(a, 2), &h->factor) &&
         h->factor > 0 && tir_as_int(tn_arr_obj(a, 3), &h->offset);
}

/* Strides of the shape, that of an axis with a hint grown to a multiple of the factor and the
 * offset. An empty list where no hint is about the buffer. */
static tn_arr *aligned_strides(compactor *x, const use *u, const tn_arr *shape) {
  TN_VEC(reversed);
  TN_VEC(strides);
  bool any = false;
  hint h;
  tn_expr *stride = shape->len ? tir_one(expr_at(shape, 0)->dtype) : NULL;
  for (int64_t k = shape->len; stride && k-- > 0;) {
    for (int64_t i = 0; i < u->aligned->len; ++i) {
      if (!read_hint(tn_arr_obj(u->aligned, i), &h) || h.index != u->index || h.axis != k) continue;
      tn_expr *gap = tir_sub(tir_const_int(stride->dtype, h.offset), stride);
      TN_GETP(stride, tir_add(stride, tir_floormod(gap, tir_const_int(stride->dtype, h.factor))));
      any = true;
    }
    TN_GETP(stride, arith_simplify(&x->known, stride));
    TN_TRYP(tn_vec_push_obj(&reversed, stride));
    TN_GETP(stride, tir_mul(stride, expr_at(shape, k)));
  }
  for (int64_t i = any ? reversed.len : 0; i-- > 0;)
    TN_TRYP(tn_vec_push(&strides, reversed.items[i]));
  return tn_arr_from(&strides);
}

static void note_alignment(compactor *x, const tn_Block *op) {
  const tn_arr *hints = TN_AS(Array, tn_map_find(op->annotations, "buffer_dim_align"));
  hint h;
  for (int64_t i = 0; hints && i < hints->len; ++i) {
    if (!read_hint(tn_arr_obj(hints, i), &h) || h.index < 0 || h.index >= op->writes->len) continue;
    use *u = tn_pmap_get(&x->uses, ((tn_BufferRegion *)tn_arr_obj(op->writes, h.index))->buffer);
    if (u) u->aligned = hints, u->index = h.index;
  }
}

static int decide(compactor *x, tn_Buffer *b, use *u) {
  TN_VEC(shape);
  bool any = false;
  for (int64_t i = 0; i < b->shape->len; ++i) {
    tn_expr *old = expr_at(b->shape, i);
    int64_t n = u->whole ? -1 : new_extent(x, u->axes[i], old);
    tn_expr *e = n < 0 ? old : tir_const_int(old->dtype, n);
    if (n >= 0) TN_GET(u->begin[i], arith_simplify(&x->known, u->axes[i]->min_value));
    any |= n >= 0;
    if (!e || tn_vec_push_obj(&shape, e)) return -1;
  }
  tn_Buffer copy = *b;
  TN_GET(copy.shape, tn_arr_from(&shape));
  if (u->aligned && !u->whole && !u->rigid) {
    TN_GET(copy.strides, aligned_strides(x, u, copy.shape));
    any |= copy.strides->len > 0;
  }
  if (any) TN_GET(u->smaller, tn_node_copy(&tn_type_Buffer, &copy));
  return 0;
}

static use *open_use(compactor *x, const tn_Var *data, const tn_Allocate *op) {
  use *u;
  TN_GETP(u, tn_arena_alloc(&x->arena, sizeof *u));
  *u = (use){
      .allocation = op, .outside = x->loops.len, .memory = tir_memory_of(tir_var_scope(data))};
  return tn_pmap_put(&x->uses, data, u) ? NULL : u;
}

static int open_buffer(compactor *x, tn_Buffer *b) {
  use *u = open_use(x, b->data, NULL);
  return u ? make_room(x, u, b) : -1;
}

static tn_obj *look_allocate(tn_mut *m, tn_Allocate *op) {
  use *u = open_use(m->ctx, op->buffer_var, op);
  if (!u || !tn_mut_visit(m, op->extents) || !tn_mut_visit(m, op->body)) return NULL;
  if (u->buffer) TN_TRYP(decide(m->ctx, u->buffer, u));
  return (tn_obj *)op;
}

static tn_obj *look_block(tn_mut *m, tn_Block *op) {
  compactor *x = m->ctx;
  for (int64_t i = 0; i < op->iter_vars->len; ++i)
    TN_TRYP(tn_pmap_put_int(&x->hidden, ((tn_IterVar *)tn_arr_obj(op->iter_vars, i))->var, 1));
  for (int64_t i = 0; i < op->alloc_buffers->len; ++i)
    TN_TRYP(open_buffer(x, (tn_Buffer *)tn_arr_obj(op->alloc_buffers, i)));
  for (int64_t i = 0; i < op->match_buffers->len; ++i) {
    const tn_MatchBufferRegion *r = (const tn_MatchBufferRegion *)tn_arr_obj(op->match_buffers, i);
    use *u = tn_pmap_get(&x->uses, r->source->buffer);
    if (u) u->rigid |= r->buffer->strides->len == 0;
    TN_TRYP(note_region(x, r->source));
  }
  note_alignment(x, op);
  if (!tn_mut_visit(m, op->body)) return NULL;
  for (int64_t i = 0; i < op->alloc_buffers->len; ++i) {
    tn_Buffer *b = (tn_Buffer *)tn_arr_obj(op->alloc_buffers, i);
    TN_TRYP(decide(x, b, tn_pmap_get(&x->uses, b)));
  }
  return (tn_obj *)op;
}

/* ---- rewriting ---- */

static const use *shrunk(tn_mut *m, const tn_Buffer *b) {
  const use *u = tn_pmap_get(&((compactor *)m->ctx)->uses, b);
  return u && u->smaller ? u : NULL;
}

static tn_expr *shifted(tn_mut *m, const use *u, int64_t at, tn_expr *e) {
  if (!u->begin[at]) return e;
  tn_expr *d = tir_index_sub(e, tir_cast(ir_with_lanes(e->dtype, 1), u->begin[at], NULL));
  return d ? arith_simplify(&((compactor *)m->ctx)->known, d) : NULL;
}

static tn_arr *shifted_indices(tn_mut *m, const use *u, const tn_arr *indices) {
  TN_VEC(v);
  for (int64_t i = 0; i < indices->len; ++i) {
    tn_expr *e = shifted(m, u, i, expr_at(indices, i));
    if (!e || tn_vec_push_obj(&v, e)) return NULL;
  }
  return tn_arr_from(&v);
}

static tn_obj *shift_load(tn_mut *m, tn_BufferLoad *op) {
  const use *u = shrunk(m, op->buffer);
  tn_arr *indices = tn_mut_visit(m, op->indices);
  if (!indices) return NULL;
  if (u) return (tn_obj *)tir_load(u->smaller, shifted_indices(m, u, indices));
  return (tn_obj *)(indices == op->indices ? (tn_expr *)op : tir_load(op->buffer, indices));
}

static tn_obj *shift_store(tn_mut *m, tn_BufferStore *op) {
  const use *u = shrunk(m, op->buffer);
  tn_arr *indices = tn_mut_visit(m, op->indices);
  tn_expr *value = tn_mut_visit(m, op->value);
  if (!indices || !value) return NULL;
  if (u) return (tn_obj *)tir_store(u->smaller, value, shifted_indices(m, u, indices));
  if (indices == op->indices && value == op->value) return (tn_obj *)op;
  return (tn_obj *)tir_store(op->buffer, value, indices);
}

static tn_obj *shift_region(tn_mut *m, tn_BufferRegion *op) {
  const use *u = shrunk(m, op->buffer);
  TN_VEC(v);
  if (!u) return (tn_obj *)op;
  for (int64_t i = 0; i < op->region->len; ++i) {
    const tn_Range *r = (const tn_Range *)tn_arr_obj(op->region, i);
    tn_Range *d = tir_range(shifted(m, u, i, r->min), r->extent);
    if (!d || tn_vec_push_obj(&v, d)) return NULL;
  }
  return (tn_obj *)TN_NEW(BufferRegion, .buffer = u->smaller, .region = tn_arr_from(&v));
}

static tn_obj *shrink_buffer(tn_mut *m, tn_Buffer *b) {
  const use *u = shrunk(m, b);
  return u ? (tn_obj *)u->smaller : (tn_obj *)b;
}

static tn_obj *shift_allocate(tn_mut *m, tn_Allocate *op) {
  const use *u = tn_pmap_get(&((compactor *)m->ctx)->uses, op->buffer_var);
  tn_Allocate *r = tn_mut_children(m, op);
  if (!r || !u || !u->smaller) return (tn_obj *)r;
  tn_Allocate copy = *r;
  copy.extents = u->smaller->shape;
  return tn_node_copy(&tn_type_Allocate, &copy);
}

/* Ranges of loops are known while their bodies are rewritten: sums come out short. */
static tn_obj *shift_for(tn_mut *m, tn_For *op) {
  compactor *x = m->ctx;
  tn_expr *min = tn_mut_visit(m, op->min), *extent = tn_mut_visit(m, op->extent);
  tn_Range *r = tir_range(op->min, op->extent);
  int64_t n;
  if (!r || !min || !extent) return NULL;
  bool single = tir_as_int((tn_obj *)op->extent, &n) && n == 1; /* its variable stays */
  if (!single) TN_TRYP(arith_bind_range(&x->known, op->loop_var, r, true));
  tn_stmt *body = tn_mut_visit(m, op->body);
  if (!single) arith_unbind(&x->known, op->loop_var);
  return (tn_obj *)tir_for_with(op, min, extent, body);
}

static void compactor_fini(compactor *x) {
  tn_arena_fini(&x->arena);
  arith_fini(&x->known);
  tn_pmap_fini(&x->uses);
  tn_pmap_fini(&x->hidden);
  tn_vec_fini(&x->loops);
  tn_vec_fini(&x->ranges);
  tn_vec_fini(&x->guards);
}

tn_PrimFunc *tir_compact_buffer_allocation(tn_PrimFunc *f, const tn_pass_ctx *c) {
  static const tn_mut_case look[] = {
      TN_CASE(AttrStmt, look_attr),     TN_CASE(IfThenElse, look_if),
      TN_CASE(Allocate, look_allocate), TN_CASE(BlockRealize, look_realize),
      TN_CASE(Block, look_block),       TN_CASE(For, look_for),
      TN_CASE(BufferLoad, look_load),   TN_CASE(BufferStore, look_store),
      TN_CASE(Call, look_call),         TN_CASE(LetStmt, look_let),
      TN_CASE(Let, look_let_expr),      TN_CASE(Var, look_var),
      TN_CASE(Buffer, look_buffer)};
  static const tn_mut_case shift[] = {TN_CASE(BufferLoad, shift_load),
                                      TN_CASE(BufferStore, shift_store),
                                      TN_CASE(BufferRegion, shift_region),
                                      TN_CASE(Buffer, shrink_buffer),
                                      TN_CASE(For, shift_for),
                                      TN_CASE(Allocate, shift_allocate)};
  bool strict = true;
  if (c->nargs > 0) TN_TRYP(tn_any_to_bool(&c->args[0], &strict));
  if (tir_is_legacy(f)) return f;
  __attribute__((cleanup(compactor_fini))) compactor x = {.grows = !strict};
  TN_MUT(looking, look, &x);
  TN_MUT(shifting, shift, &x);
  if (!tn_mut_visit(&looking, f->body)) return NULL;
  return tir_with_body(f, tn_mut_visit(&shifting, f->body));
}
