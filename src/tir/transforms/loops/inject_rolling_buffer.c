/* A buffer keeps what neighbouring iterations of a loop share.

     for i in range(5):                                 with T.realize(B[0:4]):
       with T.realize(B[i * 2 : i * 2 + 4]):              for i in range(5):
         with T.attr(B, "rolling_buffer_scope", 1):         for k in range(4):
           for k in range(4):                        ->       if T.likely(i < 1 or 2 <= k):
             B[i * 2 + k] = ...                                 B[(i * 2 + k) % 4] = ...
         ... B[i * 2 + 3]                                   ... B[(i * 2 + 3) % 4]

   A dimension slides when its region begins at c * loop + rest, c > 0, has a constant extent above
   c, and no other dimension follows that loop. The one with the outermost loop becomes circular:
   what is realized moves in front of that loop, with the other dimensions as large as all loops
   inside need. Elements in the overlap of a sliding dimension were stored one iteration of its loop
   earlier, as all loops from the circular one's on run one iteration after the other; they are left
   out. The condition depends on the element only, so it is put around each store.

   Schedules of tensor expressions run it on what Stage.rolling_buffer asks for, before
   StorageFlatten or its like. tir.Schedule does the same to blocks (tir/schedule/rolling_buffer.c).
 */
#include "arith/int_set.h"
#include "arith/region.h"
#include "base/arena.h"
#include "tir/transforms/transforms.h"

/* How the region moves along a dimension. */
typedef struct {
  int64_t loop, extent, overlap; /* place of the loop among the statements; -1: it does not slide */
  tn_expr *begin;
} slide;

/* A buffer that is rolled. */
typedef struct {
  const tn_BufferRealize *op; /* NULL before it was met */
  slide *dims;
  int64_t circular;     /* a dimension */
  const tn_For *loop;   /* its loop */
  const tn_arr *bounds; /* what is realized in front of it */
  bool writing;
} roll;

typedef struct {
  tn_arena arena;
  tn_pmap rolls; /* Buffer -> roll */
  tn_pmap data;  /* variable of such a buffer -> the buffer */
  tn_vec around; /* loops, and what else decides whether and with what values a statement runs */
} roller;

static int fail(const tn_Buffer *b, const char *why) {
  return TN_RAISE(ValueError, b->span, "InjectRollingBuffer: buffer %s cannot be rolled: %s",
                  tn_cstr(b->name), why);
}

static bool asks(const tn_AttrStmt *op) {
  return op && tn_str_eq(op->attr_key, "rolling_buffer_scope") && TN_AS(Buffer, op->node) &&
         !tir_is_zero(op->value);
}

static int find_scope(void *ctx, tn_obj *node) {
  roller *x = ctx;
  const tn_AttrStmt *op = TN_AS(AttrStmt, node);
  if (!asks(op)) return 0;
  const tn_Buffer *b = TN_AS(Buffer, op->node);
  roll *r;
  TN_GET(r, tn_arena_alloc(&x->arena, sizeof *r));
  TN_TRY(tn_pmap_put(&x->data, b->data, b));
  return tn_pmap_put(&x->rolls, b, r);
}

/* ---- how the region slides ---- */

static const tn_For *loop_at(const roller *x, int64_t i) {
  return TN_AS(For, x->around.items[i].v.obj);
}

/* Is the variable bound by one of the statements from a place on? */
typedef struct {
  const roller *x;
  int64_t from;
} binders;
static int is_bound(void *ctx, tn_obj *o) {
  const binders *in = ctx;
  for (int64_t i = in->from; i < in->x->around.len; ++i) {
    const tn_For *f = loop_at(in->x, i);
    const tn_LetStmt *let = TN_AS(LetStmt, in->x->around.items[i].v.obj);
    if ((f && (tn_obj *)f->loop_var == o) || (let && (tn_obj *)let->var == o)) return 1;
  }
  return 0;
}
static bool uses_bound(const roller *x, const void *e, int64_t from) {
  binders in = {x, from};
  return tn_post_order(e, is_bound, &in) != 0;
}

/* Does each iteration of the loop come to the region, the others inside it in their order? */
static bool in_order(const roller *x, int64_t from) {
  for (int64_t i = from; i < x->around.len; ++i) {
    const tn_For *f = loop_at(x, i);
    bool serial = f && (f->kind == TIR_FOR_SERIAL || f->kind == TIR_FOR_UNROLLED);
    if (!serial && !TN_AS(LetStmt, x->around.items[i].v.obj)) return false;
  }
  return true;
}

static bool follows(const tn_Range *r, const tn_For *f) {
  return tir_uses_var(r->min, f->loop_var) || tir_uses_var(r->extent, f->loop_var);
}

/* The only loop that `begin` follows, by *step; -1: there is none. */
static int find_loop(const roller *x, tn_expr *begin, int64_t *loop, int64_t *step) {
  TN_VEC(vars);
  TN_VEC(places);
  tn_arr *all;
  const tn_arr *factors;
  *loop = -1;
  for (int64_t i = 0; i < x->around.len; ++i) {
    const tn_For *f = loop_at(x, i);
    if (!f) continue;
    TN_TRY(tn_vec_push_obj(&vars, f->loop_var));
    TN_TRY(tn_vec_push(&places, tn_any_int(i)));
  }
  TN_GET(all, tn_arr_from(&vars));
  TN_GET(factors, arith_linear(begin, all));
  int64_t found = -1, by = 0;
  for (int64_t i = 0; i + 1 < factors->len; ++i) {
    int64_t k;
    if (!tir_as_int(tn_arr_obj(factors, i), &k)) return 0;
    if (k == 0) continue;
    if (found >= 0 || k < 0) return 0;
    found = places.items[i].v.i64;
    by = k;
  }
  if (found < 0 || !tir_is_zero(loop_at(x, found)->min) ||
      uses_bound(x, tn_arr_obj(factors, factors->len - 1), 0))
    return 0;
  *loop = found;
  *step = by;
  return 0;
}

static int find_slide(const roller *x, const tn_arr *bounds, int64_t d, slide *out) {
  TN_ARITH(a);
  const tn_Range *r = (const tn_Range *)tn_arr_obj(bounds, d);
  int64_t step = 0;
  tn_expr *extent;
  *out = (slide){.loop = -1};
  TN_GET(out->begin, arith_simplify(&a, r->min));
  TN_GET(extent, arith_simplify(&a, r->extent));
  TN_TRY(find_loop(x, out->begin, &out->loop, &step));
  bool fine = out->loop >= 0 && tir_as_int((tn_obj *)extent, &out->extent) &&
              out->extent < INT32_MAX && in_order(x, out->loop);
  for (int64_t i = 0; fine && i < bounds->len; ++i)
    fine = i == d || !follows((const tn_Range *)tn_arr_obj(bounds, i), loop_at(x, out->loop));
  out->overlap = out->extent - step;
  if (!fine || out->overlap <= 0) out->loop = -1;
  return 0;
}

static int find_circular(roller *x, roll *r) {
  const tn_arr *bounds = r->op->bounds;
  TN_GET(r->dims, tn_arena_array(&x->arena, bounds->len + 1, sizeof(slide)));
  r->circular = -1;
  for (int64_t d = 0; d < bounds->len; ++d) {
    slide *s = &r->dims[d];
    TN_TRY(find_slide(x, bounds, d, s));
    if (s->loop >= 0 && (r->circular < 0 || s->loop < r->dims[r->circular].loop)) r->circular = d;
  }
  if (r->circular < 0)
    return fail(r->op->buffer, "no dimension of its region slides with a loop around it and "
                               "overlaps from one iteration to the next");
  r->loop = loop_at(x, r->dims[r->circular].loop);
  return 0;
}

/* ---- what is realized ---- */

/* Ranges of the loops from a place on. */
static tn_map *loops_from(const roller *x, int64_t from) {
  tn_map *m = tn_scope_own(tn_map_new());
  for (int64_t i = from; m && i < x->around.len; ++i) {
    const tn_For *f = loop_at(x, i);
    if (f)
      TN_TRYP(tn_map_set(m, tn_any_obj(f->loop_var), tn_any_obj(tir_range(f->min, f->extent))));
  }
  return m;
}

static tn_Range *whole(const roller *x, const roll *r, int64_t d) {
  TN_ARITH(a);
  tn_Range *range = (tn_Range *)tn_arr_obj(r->op->bounds, d);
  int64_t from = r->dims[r->circular].loop;
  tn_map *loops;
  const tn_IntervalSet *s;
  if (d == r->circular) {
    tn_dtype t = range->min->dtype;
    return tir_range(tir_zero(t), tir_const_int(t, r->dims[d].extent));
  }
  if (!uses_bound(x, range->min, from) && !uses_bound(x, range->extent, from)) return range;
  TN_GETP(loops, loops_from(x, from));
  TN_GETP(s, arith_int_set_of_range(&a, range, loops));
  TN_GETP(range, arith_interval_range(&a, s, range));
  TN_TRYP(uses_bound(x, range->min, from) || uses_bound(x, range->extent, from)
              ? fail(r->op->buffer, "another dimension of its region has no bound outside the loop")
              : 0);
  return range;
}

static tn_obj *roll_realize(tn_mut *m, tn_BufferRealize *op) {
  roller *x = m->ctx;
  roll *r = tn_pmap_get(&x->rolls, op->buffer);
  TN_VEC(bounds);
  if (!r) return tn_mut_children(m, op);
  TN_CHECKP(!r->op, ValueError, op->span, "InjectRollingBuffer: buffer %s is realized twice",
            tn_cstr(op->buffer->name));
  TN_CHECKP(op->bounds->len == op->buffer->shape->len, ValueError, op->span,
            "InjectRollingBuffer: buffer %s has %lld axes, its region %lld",
            tn_cstr(op->buffer->name), (long long)op->buffer->shape->len,
            (long long)op->bounds->len);
  r->op = op;
  TN_TRYP(find_circular(x, r));
  for (int64_t d = 0; d < op->bounds->len; ++d) TN_TRYP(tn_vec_push_obj(&bounds, whole(x, r, d)));
  TN_GETP(r->bounds, tn_arr_from(&bounds));
  return tn_mut_visit(m, op->body);
}

/* ---- statements around ---- */

static void *visit_inside(tn_mut *m, void *op) {
  roller *x = m->ctx;
  TN_TRYP(tn_vec_push_obj(&x->around, op));
  void *r = tn_mut_children(m, op);
  x->around.len -= 1;
  return r;
}

static tn_obj *roll_for(tn_mut *m, tn_For *op) {
  roller *x = m->ctx;
  tn_stmt *s = visit_inside(m, op);
  for (size_t i = 0; s && i < x->rolls.cap; ++i) {
    roll *r = x->rolls.slots[i].key ? x->rolls.slots[i].v.ptr : NULL;
    if (!r || r->loop != op) continue;
    tn_BufferRealize copy = *r->op;
    copy.bounds = (tn_arr *)(uintptr_t)r->bounds;
    copy.body = s;
    s = tn_node_copy(&tn_type_BufferRealize, &copy);
  }
  return (tn_obj *)s;
}

static tn_obj *roll_other(tn_mut *m, tn_obj *op) { return visit_inside(m, op); }

/* Blocks that only allocate are not an obstacle. */
static tn_obj *roll_block(tn_mut *m, tn_BlockRealize *op) {
  bool plain = op->iter_values->len == 0 && tir_is_one(op->predicate);
  return plain ? tn_mut_children(m, op) : visit_inside(m, op);
}

static tn_obj *roll_attr(tn_mut *m, tn_AttrStmt *op) {
  roller *x = m->ctx;
  if (!asks(op))
    return TN_AS(IterVar, op->node) ? visit_inside(m, op) : (tn_obj *)tn_mut_children(m, op);
  roll *r = tn_pmap_get(&x->rolls, op->node);
  TN_TRYP(r->op ? 0
                : fail(TN_AS(Buffer, op->node), "nothing around its rolling_buffer_scope "
                                                "realizes it"));
  r->writing = true;
  tn_stmt *body = tn_mut_visit(m, op->body);
  r->writing = false;
  return (tn_obj *)body;
}

/* ---- accesses ---- */

static tn_arr *circular_indices(const roll *r, const tn_arr *indices) {
  TN_VEC(v);
  for (int64_t d = 0; d < indices->len; ++d) {
    tn_expr *at = (tn_expr *)tn_arr_obj(indices, d);
    if (d == r->circular) at = tir_floormod(at, tir_const_int(at->dtype, r->dims[d].extent));
    if (!at || tn_vec_push_obj(&v, at)) return NULL;
  }
  return tn_arr_from(&v);
}

static int check_access(const roll *r, const tn_Buffer *b, const tn_arr *indices) {
  if (!r->op) return fail(b, "it is used where it is not realized");
  for (int64_t d = 0; d < indices->len; ++d)
    if (((const tn_expr *)tn_arr_obj(indices, d))->dtype.lanes != 1)
      return fail(b, "it is used as vectors");
  return 0;
}

static tn_obj *roll_load(tn_mut *m, tn_BufferLoad *op) {
  const roller *x = m->ctx;
  const roll *r = tn_pmap_get(&x->rolls, op->buffer);
  tn_BufferLoad *now = tn_mut_children(m, op);
  if (!now || !r) return (tn_obj *)now;
  TN_TRYP(check_access(r, op->buffer, now->indices));
  return (tn_obj *)tir_load(op->buffer, circular_indices(r, now->indices));
}

/* Elements of the first iteration, and those that the iteration before did not store. */
static tn_expr *is_new(const roller *x, const roll *r, const tn_arr *indices) {
  tn_expr *all = NULL;
  TN_ARITH(a);
  for (int64_t d = 0; d < indices->len; ++d) {
    const slide *s = &r->dims[d];
    if (s->loop < 0) continue;
    tn_expr *loop = (tn_expr *)loop_at(x, s->loop)->loop_var, *at;
    TN_GETP(at, tir_sub((tn_expr *)tn_arr_obj(indices, d), s->begin));
    TN_GETP(at, arith_simplify(&a, at));
    tn_expr *fresh = tir_ge(at, tir_const_int(at->dtype, s->overlap));
    tn_expr *both = tir_or(tir_lt(loop, tir_one(loop->dtype)), fresh);
    all = both && all ? tir_and(all, both) : both;
    if (!all) return NULL;
  }
  return tir_likely(all, NULL);
}

static tn_obj *roll_store(tn_mut *m, tn_BufferStore *op) {
  const roller *x = m->ctx;
  const roll *r = tn_pmap_get(&x->rolls, op->buffer);
  tn_BufferStore *now = tn_mut_children(m, op);
  if (!now || !r) return (tn_obj *)now;
  TN_TRYP(check_access(r, op->buffer, now->indices));
  TN_TRYP(r->writing ? 0 : fail(op->buffer, "it is written outside its rolling_buffer_scope"));
  tn_stmt *s = tir_store(op->buffer, now->value, circular_indices(r, now->indices));
  tn_expr *condition = s ? is_new(x, r, now->indices) : NULL;
  if (!condition) return NULL;
  return (tn_obj *)TN_MAKE(IfThenElse, .condition = condition, .then_case = s);
}

static tn_obj *roll_var(tn_mut *m, tn_Var *op) {
  const tn_Buffer *b = tn_pmap_get(&((roller *)m->ctx)->data, op);
  TN_TRYP(b ? fail(b, "its memory is used as a whole") : 0);
  return (tn_obj *)op;
}

static tn_obj *skip(tn_mut *m, tn_obj *o) {
  (void)m;
  return o;
}

static void roller_fini(roller *x) {
  tn_pmap_fini(&x->rolls);
  tn_pmap_fini(&x->data);
  tn_vec_fini(&x->around);
  tn_arena_fini(&x->arena);
}

tn_PrimFunc *tir_inject_rolling_buffer(tn_PrimFunc *f, const tn_pass_ctx *c) {
  static const tn_mut_case cases[] = {TN_CASE(BufferLoad, roll_load),
                                      TN_CASE(BufferStore, roll_store),
                                      TN_CASE(BufferRealize, roll_realize),
                                      TN_CASE(AttrStmt, roll_attr),
                                      TN_CASE(For, roll_for),
                                      TN_CASE(LetStmt, roll_other),
                                      TN_CASE(IfThenElse, roll_other),
                                      TN_CASE(While, roll_other),
                                      TN_CASE(BlockRealize, roll_block),
                                      TN_CASE(Var, roll_var),
                                      TN_CASE(SizeVar, roll_var),
                                      TN_CASE(Buffer, skip)};
  __attribute__((cleanup(roller_fini))) roller x = {.arena = {0}};
  (void)c;
  if (!tir_has_attr(f->body, "rolling_buffer_scope")) return f;
  if (tn_post_order(f->body, find_scope, &x)) return NULL;
  if (x.rolls.len == 0) return f;
  TN_MUT(m, cases, &x);
  return tir_with_body(f, tn_mut_visit(&m, f->body));
}
