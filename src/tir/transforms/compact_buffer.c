/* Buffers shrink to what is accessed where they live.

     for i in range(8):                         for i in range(8):
       with T.block(""):                          with T.block(""):
         B = T.alloc_buffer((8, 16))       ->       B = T.alloc_buffer((1, 16))
         ... B[i, j] ...                            ... B[0, j] ...

   For each axis the indices of all accesses, over the loops within the block that allocates the
   buffer, give an interval; it becomes the new extent where that has a constant bound below the old
   one, and its begin is subtracted from every index. With the argument is_strict false, an axis
   that is accessed beyond its extent grows. Buffers that are accessed by their pointer or with
   strides keep their shape; memory that threads share holds what all of them access. After
   ConvertBlocksToOpaque. */
#include <string.h>

#include "arith/int_set.h"
#include "base/arena.h"
#include "tir/transforms/device_impl.h"

/* What is known of a buffer that a block allocates. */
typedef struct {
  int64_t outside; /* number of loops around the block */
  tir_memory memory;
  bool whole; /* keeps its shape */
  tn_IntervalSet **axes;
  tn_expr **begin; /* of the new axes; NULL: the axis stays */
  tn_Buffer *smaller;
} use;

typedef struct {
  tn_arena arena;
  arith_analyzer known;
  tn_pmap uses;   /* Buffer or its data pointer -> use */
  tn_pmap hidden; /* variables bound by LetStmt: not seen where the buffer is allocated */
  tn_vec loops;   /* For, outermost first */
  bool grows;     /* an axis that is accessed beyond its extent gets a larger one */
} compactor;

static tn_expr *expr_at(const tn_arr *a, int64_t i) { return (tn_expr *)tn_arr_obj(a, i); }

static void keep_whole(compactor *x, const void *what) {
  use *u = tn_pmap_get(&x->uses, what);
  if (u) u->whole = true;
}

/* ---- looking ---- */

/* The interval over one more loop. */
static tn_IntervalSet *relax(compactor *x, const tn_IntervalSet *s, const tn_For *loop) {
  tn_Range *r = tir_range(loop->min, loop->extent);
  tn_map *dom = r ? tn_map_with(NULL, tn_any_obj(loop->loop_var), tn_any_obj(r)) : NULL;
  tn_IntervalSet *lo = dom ? arith_int_set(&x->known, s->min_value, dom) : NULL;
  tn_IntervalSet *hi = dom ? arith_int_set(&x->known, s->max_value, dom) : NULL;
  return lo && hi ? arith_interval(lo->min_value, hi->max_value) : NULL;
}

/* Threads that share the buffer are apart in it, wherever it is allocated. */
static bool is_over_threads(const use *u, const tn_For *loop) {
  return loop->kind == TIR_FOR_THREAD_BINDING &&
         tir_is_shared_along(u->memory, tn_cstr(loop->thread_binding->thread_tag));
}

static int note_index(compactor *x, use *u, int64_t axis, tn_expr *from, tn_expr *to) {
  tn_IntervalSet *s;
  TN_GET(s, arith_interval(from, to));
  for (int64_t i = x->loops.len; i-- > 0;) {
    const tn_For *loop = (const tn_For *)x->loops.items[i].v.obj;
    if (i >= u->outside || is_over_threads(u, loop)) TN_GET(s, relax(x, s, loop));
  }
  if (u->axes[axis]) TN_GET(s, arith_interval_union(&x->known, u->axes[axis], s));
  u->axes[axis] = s;
  return 0;
}

static int note_access(compactor *x, const tn_Buffer *b, const tn_arr *indices) {
  use *u = tn_pmap_get(&x->uses, b);
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
  use *u = tn_pmap_get(&x->uses, r->buffer);
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
static tn_obj *look_call(tn_mut *m, tn_Call *op) {
  if (tir_as_call((tn_obj *)op, TIR_OP_address_of)) {
    const tn_BufferLoad *l = TN_AS(BufferLoad, tn_arr_obj(op->args, 0));
    if (l) keep_whole(m->ctx, l->buffer);
  }
  return tn_mut_children(m, op);
}
static tn_obj *look_let(tn_mut *m, tn_LetStmt *op) {
  TN_TRYP(tn_pmap_put_int(&((compactor *)m->ctx)->hidden, op->var, 1));
  return tn_mut_children(m, op);
}
static tn_obj *look_let_expr(tn_mut *m, tn_Let *op) {
  TN_TRYP(tn_pmap_put_int(&((compactor *)m->ctx)->hidden, op->var, 1));
  return tn_mut_children(m, op);
}

static tn_obj *look_for(tn_mut *m, tn_For *op) {
  compactor *x = m->ctx;
  if (!tn_mut_visit(m, op->min) || !tn_mut_visit(m, op->extent)) return NULL;
  tn_Range *r = tir_range(op->min, op->extent);
  if (!r || arith_bind_range(&x->known, op->loop_var, r, true)) return NULL;
  TN_TRYP(tn_vec_push_obj(&x->loops, op));
  if (!tn_mut_visit(m, op->body)) return NULL;
  x->loops.len -= 1;
  arith_unbind(&x->known, op->loop_var);
  return (tn_obj *)op;
}

/* ---- deciding ---- */

static int is_hidden(void *ctx, tn_obj *node) {
  return node->type_index == TN_TI_BufferLoad || node->type_index == TN_TI_Call ||
         tn_pmap_has(&((compactor *)ctx)->hidden, node);
}

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
  if (any) TN_GET(u->smaller, tn_node_copy(&tn_type_Buffer, &copy));
  return 0;
}

static bool can_shrink(const tn_Buffer *b) {
  const char *scope = tir_buffer_scope(b);
  return b->strides->len == 0 && b->axis_separators->len == 0 &&
         (!b->elem_offset || tir_is_zero(b->elem_offset)) &&
         (strcmp(scope, "global") == 0 || strcmp(scope, "local") == 0 ||
          strcmp(scope, "warp") == 0 || strncmp(scope, "wmma.", 5) == 0 ||
          tir_memory_of(scope) == TIR_MEMORY_SHARED);
}

static int open_buffer(compactor *x, const tn_Buffer *b) {
  use *u;
  int64_t n = b->shape->len;
  TN_GET(u, tn_arena_alloc(&x->arena, sizeof *u));
  TN_GET(u->axes, (tn_IntervalSet **)tn_arena_array(&x->arena, n + 1, sizeof *u->axes));
  TN_GET(u->begin, (tn_expr **)tn_arena_array(&x->arena, n + 1, sizeof *u->begin));
  u->outside = x->loops.len;
  u->whole = !can_shrink(b);
  u->memory = tir_memory_of(tir_buffer_scope(b));
  TN_TRY(tn_pmap_put(&x->uses, b, u));
  return tn_pmap_put(&x->uses, b->data, u);
}

static tn_obj *look_block(tn_mut *m, tn_Block *op) {
  compactor *x = m->ctx;
  for (int64_t i = 0; i < op->alloc_buffers->len; ++i)
    TN_TRYP(open_buffer(x, (const tn_Buffer *)tn_arr_obj(op->alloc_buffers, i)));
  for (int64_t i = 0; i < op->match_buffers->len; ++i)
    TN_TRYP(
        note_region(x, ((const tn_MatchBufferRegion *)tn_arr_obj(op->match_buffers, i))->source));
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

static tn_expr *shifted(tn_mut *m, const use *u, int64_t axis, tn_expr *e) {
  if (!u->begin[axis]) return e;
  tn_expr *d = tir_index_sub(e, tir_cast(ir_with_lanes(e->dtype, 1), u->begin[axis], NULL));
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
}

tn_PrimFunc *tir_compact_buffer_allocation(tn_PrimFunc *f, const tn_pass_ctx *c) {
  static const tn_mut_case look[] = {
      TN_CASE(Block, look_block),       TN_CASE(For, look_for),   TN_CASE(BufferLoad, look_load),
      TN_CASE(BufferStore, look_store), TN_CASE(Call, look_call), TN_CASE(LetStmt, look_let),
      TN_CASE(Let, look_let_expr),      TN_CASE(Var, look_var),   TN_CASE(Buffer, look_buffer)};
  static const tn_mut_case shift[] = {
      TN_CASE(BufferLoad, shift_load), TN_CASE(BufferStore, shift_store),
      TN_CASE(BufferRegion, shift_region), TN_CASE(Buffer, shrink_buffer), TN_CASE(For, shift_for)};
  bool strict = true;
  if (c->nargs > 0) TN_TRYP(tn_any_to_bool(&c->args[0], &strict));
  if (tir_is_legacy(f)) return f;
  __attribute__((cleanup(compactor_fini))) compactor x = {.grows = !strict};
  TN_MUT(looking, look, &x);
  TN_MUT(shifting, shift, &x);
  if (!tn_mut_visit(&looking, f->body)) return NULL;
  return tir_with_body(f, tn_mut_visit(&shifting, f->body));
}
