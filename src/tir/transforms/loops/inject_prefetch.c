/* What a later iteration reads is fetched now.

     for i in range(n):                          for i in range(n):
       with T.attr(A, "prefetch_scope", 2):   ->   T.prefetch(A, [(i + 2) * 4 : (i + 2) * 4 + 4])
         for j in range(4): ... A[i * 4 + j]       for j in range(4): ... A[i * 4 + j]

   The value of the attribute is the number of iterations ahead. The region is that of all reads of
   the buffer inside, moved along with the loop; in the last iterations it may lie beyond the
   buffer, which a fetch may. Nothing is fetched where nothing is read. FlattenBuffer and
   StorageFlatten make calls of it. */
#include "arith/int_set.h"
#include "tir/transforms/loops/prefetch.h"
#include "tir/transforms/transforms.h"

enum { CACHE_LINE = 64, MAX_AXES = 64 };

typedef struct {
  const tn_Var *loop; /* variable of the innermost loop around */
} injector;

/* ---- what is read ---- */

typedef struct {
  const tn_Buffer *buffer;
  arith_analyzer *a;
  tn_map *inner;                    /* variable defined inside -> Range or IntervalSet */
  tn_IntervalSet *region[MAX_AXES]; /* NULL: nothing read yet */
} reads;

static int define(reads *w, const tn_Var *v, const void *values) {
  return values ? tn_map_set(w->inner, tn_any_obj(v), tn_any_obj(values)) : -1;
}

static int note_definition(reads *w, tn_obj *o) {
  const tn_For *f = TN_AS(For, o);
  const tn_LetStmt *let = TN_AS(LetStmt, o);
  const tn_Block *b = TN_AS(Block, o);
  if (f) {
    const tn_Range *r = tir_range(f->min, f->extent);
    return r ? define(w, f->loop_var, arith_int_set_of_range(w->a, r, w->inner)) : -1;
  }
  if (let) return define(w, let->var, arith_int_set(w->a, let->value, w->inner));
  for (int64_t i = 0; b && i < b->iter_vars->len; ++i) {
    const tn_IterVar *iv = (const tn_IterVar *)tn_arr_obj(b->iter_vars, i);
    TN_TRY(define(w, iv->var, arith_int_set_of_range(w->a, iv->dom, w->inner)));
  }
  return 0;
}

static int note_read(void *ctx, tn_obj *o) {
  reads *w = ctx;
  const tn_BufferLoad *load = TN_AS(BufferLoad, o);
  TN_TRY(note_definition(w, o));
  if (!load || load->buffer != w->buffer) return 0;
  for (int64_t i = 0; i < load->indices->len; ++i) {
    tn_IntervalSet *s = arith_int_set(w->a, (tn_expr *)tn_arr_obj(load->indices, i), w->inner);
    if (s && w->region[i]) s = arith_interval_union(w->a, w->region[i], s);
    if (!s) return -1;
    w->region[i] = s;
  }
  return 0;
}

/* ---- the fetch ---- */

/* What is read of an axis `ahead` iterations later; all of it where that is unknown. */
static tn_Range *moved(const reads *w, int64_t axis, const tn_pmap *later) {
  tn_expr *n = (tn_expr *)tn_arr_obj(w->buffer->shape, axis);
  tn_Range *whole = tir_range(tir_zero(n->dtype), n);
  const tn_Range *r = whole ? arith_interval_range(w->a, w->region[axis], whole) : NULL;
  tn_expr *min = r ? tir_substitute(r->min, later) : NULL,
          *extent = min ? tir_substitute(r->extent, later) : NULL;
  if (!extent) return NULL;
  return tir_range(arith_simplify(w->a, min), arith_simplify(w->a, extent));
}

static tn_obj *inject(tn_mut *m, tn_AttrStmt *op) {
  if (!tn_str_eq(op->attr_key, "prefetch_scope")) return tn_mut_children(m, op);
  const injector *x = m->ctx;
  tn_Buffer *b = TN_AS(Buffer, op->node);
  TN_CHECKP(b && x->loop, ValueError, op->span,
            "prefetch_scope: expected a buffer as its node and a loop around it");
  TN_CHECKP(b->shape->len <= MAX_AXES, ValueError, op->span,
            "prefetch_scope: %s has more than %d dimensions", tn_cstr(b->name), MAX_AXES);
  TN_ARITH(a);
  TN_PMAP(later);
  TN_VEC(bounds);
  reads w = {.buffer = b, .a = &a, .inner = tn_scope_own(tn_map_new())};
  tn_expr *ahead = tir_cast(x->loop->dtype, op->value, NULL);
  tn_expr *then = ahead ? tir_add((tn_expr *)(uintptr_t)x->loop, ahead) : NULL;
  if (!w.inner || !then || tn_pmap_put(&later, x->loop, then)) return NULL;
  if (tn_pre_order(op->body, note_read, &w) < 0) return NULL;
  tn_stmt *body = tn_mut_visit(m, op->body);
  if (b->shape->len && !w.region[0]) return (tn_obj *)body;
  for (int64_t i = 0; i < b->shape->len; ++i)
    TN_TRYP(tn_vec_push_obj(&bounds, moved(&w, i, &later)));
  tn_stmt *fetch = (tn_stmt *)TN_MAKE(Prefetch, .buffer = b, .bounds = tn_arr_from(&bounds));
  return fetch && body ? (tn_obj *)tir_seq2(fetch, body) : NULL;
}

static tn_obj *loop(tn_mut *m, tn_For *op) {
  injector *x = m->ctx;
  const tn_Var *outer = x->loop;
  x->loop = op->loop_var;
  tn_obj *r = tn_mut_children(m, op);
  x->loop = outer;
  return r;
}

tn_PrimFunc *tir_inject_prefetch(tn_PrimFunc *f, const tn_pass_ctx *c) {
  static const tn_mut_case cases[] = {TN_CASE(AttrStmt, inject), TN_CASE(For, loop)};
  injector x = {0};
  (void)c;
  TN_MUT(m, cases, &x);
  return tir_with_body(f, tn_mut_visit(&m, f->body));
}

/* ---- as calls ---- */

/* T.prefetch(address, read, keep in all levels, data) of the element at the indices. */
static tn_stmt *call(const tn_Prefetch *op, const tn_vec *indices) {
  tn_expr *first = tir_load(op->buffer, tn_arr_from(indices));
  tn_expr *address = first ? tir_call(TN_HANDLE, TIR_OP_address_of, 1, first) : NULL;
  tn_expr *fetch =
      tir_call(TN_VOID, TIR_OP_prefetch, 4, address, tir_i32(0), tir_i32(3), tir_i32(1));
  return (tn_stmt *)TN_MAKE(Evaluate, .value = fetch);
}

static tn_expr *lines_of(const tn_Range *r, tn_expr *per_line) {
  if (tir_is_one(per_line)) return r->extent;
  return tir_floordiv(tir_sub(tir_add(r->extent, per_line), tir_one(r->extent->dtype)), per_line);
}

/* Elements of the axes behind this one, where the region holds all of them; 0: it does not. */
static int64_t whole_row(const tn_Prefetch *op, int64_t axis) {
  int64_t row = 1, extent, all;
  for (int64_t i = axis + 1; i < op->bounds->len; ++i) {
    const tn_Range *r = (const tn_Range *)tn_arr_obj(op->bounds, i);
    bool whole = tir_is_zero(r->min) && tir_as_int((tn_obj *)r->extent, &extent) &&
                 tir_as_int(tn_arr_obj(op->buffer->shape, i), &all) && extent == all;
    if (!whole || op->buffer->strides->len || all < 1 || all > CACHE_LINE / row) return 0;
    row *= all;
  }
  return row;
}

/* Along an axis one fetch is for as many elements as a line holds. */
static int64_t step_along(const tn_Prefetch *op, int64_t axis) {
  int64_t bytes = (op->buffer->dtype.bits * op->buffer->dtype.lanes + 7) / 8;
  int64_t row = whole_row(op, axis) * bytes;
  return row > 0 && row < CACHE_LINE ? CACHE_LINE / row : 1;
}

tn_stmt *tir_prefetch_calls(const tn_Prefetch *op) {
  TN_VEC(indices);
  TN_VEC(vars);
  TN_VEC(extents);
  int64_t n = op->bounds->len;
  for (int64_t i = 0; i < n; ++i) {
    const tn_Range *r = (const tn_Range *)tn_arr_obj(op->bounds, i);
    tn_dtype t = r->extent->dtype;
    tn_expr *step = tir_const_int(t, step_along(op, i));
    tn_expr *count = lines_of(r, step);
    tn_str *name = tn_str_fmt("p%lld", (long long)i);
    tn_Var *v = name ? tir_var(name->data, t) : NULL;
    tn_expr *at =
        count && tir_is_one(count) ? r->min : tir_add(r->min, tir_mul((tn_expr *)v, step));
    if (!count || !at || tn_vec_push_obj(&indices, at) || tn_vec_push_obj(&vars, v) ||
        tn_vec_push_obj(&extents, count))
      return NULL;
  }
  tn_map *none = tn_scope_own(tn_map_new());
  tn_stmt *s = none ? call(op, &indices) : NULL;
  for (int64_t i = n; i-- > 0 && s;) {
    tn_expr *count = (tn_expr *)extents.items[i].v.obj;
    if (tir_is_one(count)) continue;
    s = (tn_stmt *)TN_MAKE(For, .loop_var = (tn_Var *)vars.items[i].v.obj,
                           .min = tir_zero(count->dtype), .extent = count, .kind = TIR_FOR_SERIAL,
                           .body = s, .annotations = none);
  }
  return s;
}
