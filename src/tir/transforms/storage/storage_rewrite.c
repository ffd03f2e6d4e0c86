/* Allocations whose lives do not meet share memory, and move out of the loops that make them.

     for i in range(4):                         B = T.allocate([8])
       B = T.allocate([8])                      for i in range(4):
       fill(B); use(B)                     ->     fill(B); use(B)
       C = T.allocate([8])                        fill(B); use(B)
       fill(C); use(C)

   A piece holds one allocation after the other, of similar size (pack/pack.h); what computes an
   array from another of the same size element by element, as its last use, gets the memory of the
   other. Arrays that fit a register, and those close to the threads (warp, local), keep memory to
   themselves. What a device has by name (local.L0A) is one allocation with parts (storage_merge.c).
   Allocations that nothing uses go. Option tir.disable_storage_rewrite. Before UnrollLoop: each
   allocation has its own variable here. */
#include <stdlib.h>
#include <string.h>

#include "arith/analyzer.h"
#include "pack/pack.h"
#include "tir/transforms/storage/storage_impl.h"

enum { MATCH = 16, SMALL_BITS = 32 };

typedef struct {
  storage_live live;
  storage_var **vars;   /* those that get memory, in the order of their first uses */
  pack_buffer *buffers; /* of each of these, unless it is computed in place of another */
  int64_t *buffer;      /* of each of these: the number of its buffer */
  storage_var **of;     /* of each buffer: the first variable in it */
  int64_t nvar, nbuffer;
} rewriter;

/* ---- finding memory ---- */

/* Memory that many threads see, or that a device has by name ("local.L0A", not "shared.dyn"). */
static bool is_shareable(const storage_var *s) {
  const char *m = s->scope;
  if (strcmp(m, "shared.dyn") == 0 || strncmp(m, "wmma.", 5) == 0) return false;
  if (strstr(m, "texture") || s->op->annotations->len) return false;
  if (strchr(m, '.') || storage_is_named(m)) return true;
  bool far_away = strcmp(m, "global") == 0 || strcmp(m, "shared") == 0;
  bool small = s->bits >= 0 && s->bits <= SMALL_BITS;
  return far_away && !small && s->op->dtype.code != kDLOpaqueHandle;
}

static tn_dtype element(tn_dtype t) { return ir_with_lanes(t, 1); }

/* Values of several types meet only in memory that has no type of its own: in C an array on the
   stack has one, what comes from the workspace takes that of what is stored.
   @param bits of the piece that `first` has and `next` would get */
static bool fits(const void *ctx, int64_t first, int64_t bits, int64_t next) {
  const rewriter *x = ctx;
  const storage_var *a = x->of[first], *b = x->of[next];
  const int64_t stack = 8 * TIR_STACK_BYTES;
  if (!is_shareable(b) || strcmp(a->scope, b->scope) != 0) return false;
  if (tn_dtype_eq(element(a->op->dtype), element(b->op->dtype))) return true;
  if (b->bits < 0) return false;
  return strcmp(b->scope, "global") != 0 || (b->bits >= stack && bits >= stack);
}

static int assign(rewriter *x, storage_var *s, storage_entry **piece) {
  storage_entry *e = *piece;
  if (!e) {
    TN_GET(e, tn_arena_alloc(&x->live.arena, sizeof *e));
    *piece = e;
    *e = (storage_entry){.place = s->place,
                         .var = s->op->buffer_var,
                         .scope = s->scope,
                         .dtype = s->op->dtype,
                         .bits = s->bits,
                         .align = 1};
    TN_TRY(tn_vec_push(&s->place->made, tn_any_ptr(e)));
  }
  s->entry = e;
  if (s->bits > e->bits) e->bits = s->bits;
  if (s->align > e->align) e->align = s->align;
  e->fixed |= s->fixed;
  if (s->op->dtype.lanes > e->dtype.lanes) e->dtype = s->op->dtype;
  return tn_vec_push_obj(&e->allocs, s->op);
}

/* ---- in the order of time ---- */

static int by_first(const void *a, const void *b) {
  int64_t x = (*(storage_var *const *)a)->first, y = (*(storage_var *const *)b)->first;
  return (x > y) - (x < y);
}
static int by_last(const void *a, const void *b) {
  int64_t x = (*(storage_var *const *)a)->last, y = (*(storage_var *const *)b)->last;
  return (x > y) - (x < y);
}

static bool same_size(const tn_Allocate *a, const tn_Allocate *b) {
  bool same = tn_dtype_eq(a->dtype, b->dtype) && a->extents->len == b->extents->len;
  for (int64_t k = 0; same && k < a->extents->len; ++k)
    same = arith_same((tn_expr *)tn_arr_obj(a->extents, k), (tn_expr *)tn_arr_obj(b->extents, k));
  return same;
}

/* The variable, among those from `ending` on, whose last use is the statement that fills `s` in
   place: its number, or -1. */
static int64_t in_place_of(storage_var *const *ending, int64_t n, const storage_var *s) {
  const tn_stmt *at = s->first_stmt;
  if (!at || !is_shareable(s)) return -1;
  if (at->hdr.type_index != TN_TI_For && at->hdr.type_index != TN_TI_BufferStore) return -1;
  for (int64_t i = 0; i < n && (ending[i]->last_stmt == at || ending[i]->last <= s->first); ++i) {
    storage_var *src = ending[i];
    if (src->last_stmt != at || src->passed_on || !src->number || src->place != s->place) continue;
    if (src->bits != s->bits || !same_size(src->op, s->op)) continue;
    if (strcmp(src->scope, s->scope) != 0 || !is_shareable(src)) continue;
    if (!storage_is_inplace(at, s->op->buffer_var, src->op->buffer_var)) continue;
    src->passed_on = true;
    return src->number - 1;
  }
  return -1;
}

/* Pieces are of one place, and of known size or not. */
static int kind_of(const storage_var *s, tn_pmap *places, int32_t *kind) {
  int64_t n = tn_pmap_get_int(places, s->place, -1);
  if (n < 0) TN_TRY(tn_pmap_put_int(places, s->place, n = (int64_t)places->len));
  *kind = (int32_t)(2 * n + (s->bits < 0));
  return 0;
}

/* A buffer for each variable, or for several that are computed in place of each other. */
static int make_buffers(rewriter *x, storage_var *const *begin, storage_var *const *end) {
  TN_PMAP(places);
  int64_t k = 0, n = x->live.n;
  for (int64_t i = 0; i < n; ++i) {
    storage_var *s = begin[i];
    if (s->pinned) continue;
    while (k < n && end[k]->last < s->first) ++k;
    int64_t src = in_place_of(end + k, n - k, s);
    int64_t b = src >= 0 ? x->buffer[src] : x->nbuffer++;
    if (src < 0) {
      x->of[b] = s;
      x->buffers[b] = (pack_buffer){.bytes = s->bits < 0 ? 0 : s->bits, .first = s->first};
      TN_TRY(kind_of(s, &places, &x->buffers[b].kind));
    }
    x->buffers[b].last = s->last;
    x->buffer[x->nvar] = b;
    x->vars[x->nvar] = s;
    s->number = ++x->nvar;
  }
  return 0;
}

static int plan(rewriter *x) {
  const size_t size = (size_t)x->live.n;
  const pack_sharing how = {.range = MATCH, .fits = fits, .ctx = x};
  tn_arena *a = &x->live.arena;
  storage_var **begin, **end;
  storage_entry **pieces;
  int64_t *sizes;
  TN_GET(begin, tn_arena_array(a, x->live.n + 1, sizeof(storage_var *)));
  TN_GET(end, tn_arena_array(a, x->live.n + 1, sizeof(storage_var *)));
  TN_GET(x->vars, tn_arena_array(a, x->live.n + 1, sizeof(storage_var *)));
  TN_GET(x->of, tn_arena_array(a, x->live.n + 1, sizeof(storage_var *)));
  TN_GET(x->buffers, tn_arena_array(a, x->live.n + 1, sizeof *x->buffers));
  TN_GET(x->buffer, tn_arena_array(a, x->live.n + 1, sizeof *x->buffer));
  TN_GET(pieces, tn_arena_array(a, x->live.n + 1, sizeof(storage_entry *)));
  TN_GET(sizes, tn_arena_array(a, x->live.n + 1, sizeof *sizes));
  memcpy(begin, x->live.all, size * sizeof(storage_var *));
  memcpy(end, x->live.all, size * sizeof(storage_var *));
  qsort(begin, size, sizeof(storage_var *), by_first);
  qsort(end, size, sizeof(storage_var *), by_last);
  TN_TRY(make_buffers(x, begin, end));
  if (pack_blocks(x->buffers, x->nbuffer, &how, sizes) < 0) return -1;
  for (int64_t i = 0; i < x->nvar; ++i)
    TN_TRY(assign(x, x->vars[i], &pieces[x->buffers[x->buffer[i]].pool]));
  return 0;
}

/* ---- writing it down ---- */

static bool same_extents(const storage_entry *e) {
  const tn_Allocate *first = (const tn_Allocate *)e->allocs.items[0].v.obj;
  for (int64_t i = 1; i < e->allocs.len; ++i)
    if (!same_size((const tn_Allocate *)e->allocs.items[i].v.obj, first)) return false;
  return true;
}

/* Elements of the type of the piece that hold all its allocations. */
static tn_expr *size_of(const storage_entry *e) {
  int64_t unit = storage_bits_of(e->dtype), bits = e->total ? e->total : e->bits;
  tn_expr *most = NULL;
  if (bits >= 0) return tir_const_int(TN_I32, (bits + unit - 1) / unit);
  for (int64_t i = 0; i < e->allocs.len; ++i) {
    const tn_Allocate *a = (const tn_Allocate *)e->allocs.items[i].v.obj;
    tn_expr *n = tir_i32(1);
    for (int64_t k = 0; k < a->extents->len; ++k)
      n = tir_mul(n, (tn_expr *)tn_arr_obj(a->extents, k));
    if (a->dtype.lanes != e->dtype.lanes && n)
      n = tir_ceildiv(tir_mul(n, tir_const_int(n->dtype, a->dtype.lanes)),
                      tir_const_int(n->dtype, e->dtype.lanes), NULL);
    TN_GETP(most, most ? tir_max(most, n) : n);
  }
  return most;
}

static tn_stmt *with_allocations(const storage_place *p, tn_stmt *body) {
  TN_ARITH(a);
  for (int64_t i = p->made.len; body && i-- > 0;) {
    const storage_entry *e = p->made.items[i].v.ptr;
    if (e->base) continue;
    tn_Allocate copy = *(const tn_Allocate *)e->allocs.items[0].v.obj;
    if (e->total > e->bits || (e->allocs.len > 1 && !same_extents(e))) {
      copy.dtype = e->dtype;
      TN_GETP(copy.extents, tn_arr_of(1, arith_simplify(&a, size_of(e))));
    }
    copy.body = body;
    body = tn_node_copy(&tn_type_Allocate, &copy);
  }
  return body;
}

static const storage_var *var_of(const tn_mut *m, const void *v) {
  return tn_pmap_get(&((rewriter *)m->ctx)->live.vars, v);
}
static bool is_unused(const storage_var *s) { return s && !s->first && !s->twin; }

static tn_obj *move_allocate(tn_mut *m, tn_Allocate *op) {
  const storage_var *s = var_of(m, op->buffer_var);
  return (s && s->entry) || is_unused(s) ? tn_mut_visit(m, op->body) : tn_mut_children(m, op);
}
static tn_obj *drop_unused(tn_mut *m, tn_DeclBuffer *op) {
  return is_unused(var_of(m, op->buffer->data)) ? tn_mut_visit(m, op->body)
                                                : tn_mut_children(m, op);
}

/* ---- parts of named memory ---- */

/* Elements of the type by which the accesses of an allocation move. */
static int64_t shift_of(const storage_var *s, tn_dtype t) {
  return s && s->entry && s->entry->base ? s->entry->offset / storage_bits_of(t) : 0;
}

static tn_obj *move_buffer(tn_mut *m, tn_Buffer *b) {
  int64_t by = shift_of(var_of(m, b->data), b->dtype);
  tn_Buffer *r = tn_mut_children(m, b);
  if (!r || !by || b->shape->len != 1) return (tn_obj *)r;
  tn_Buffer copy = *r;
  tn_expr *n = (tn_expr *)tn_arr_obj(r->shape, 0);
  TN_GETP(copy.shape, tn_arr_of(1, tir_add(n, tir_const_int(n->dtype, by))));
  return tn_node_copy(&tn_type_Buffer, &copy);
}

static tn_arr *moved_indices(tn_mut *m, const tn_Buffer *b, const tn_arr *indices) {
  int64_t by = shift_of(var_of(m, b->data), b->dtype);
  tn_arr *r = tn_mut_visit(m, indices);
  if (!r || !by) return r;
  tn_expr *at = (tn_expr *)tn_arr_obj(r, 0);
  return tn_arr_of(1, tir_index_add(at, tir_const_int(ir_with_lanes(at->dtype, 1), by)));
}
static tn_obj *move_load(tn_mut *m, tn_BufferLoad *op) {
  tn_BufferLoad copy = *op;
  TN_GETP(copy.buffer, tn_mut_visit(m, op->buffer));
  TN_GETP(copy.indices, moved_indices(m, op->buffer, op->indices));
  if (copy.buffer == op->buffer && copy.indices == op->indices) return (tn_obj *)op;
  return tn_node_copy(&tn_type_BufferLoad, &copy);
}
static tn_obj *move_store(tn_mut *m, tn_BufferStore *op) {
  tn_BufferStore copy = *op;
  TN_GETP(copy.buffer, tn_mut_visit(m, op->buffer));
  TN_GETP(copy.indices, moved_indices(m, op->buffer, op->indices));
  TN_GETP(copy.value, tn_mut_visit(m, op->value));
  bool same = copy.buffer == op->buffer && copy.indices == op->indices && copy.value == op->value;
  return same ? (tn_obj *)op : tn_node_copy(&tn_type_BufferStore, &copy);
}
static tn_obj *move_pointer(tn_mut *m, tn_Call *op) {
  bool pointer = tir_as_call((tn_obj *)op, TIR_OP_tvm_access_ptr) && op->args->len == 5;
  const storage_var *s = pointer ? var_of(m, tn_arr_obj(op->args, 1)) : NULL;
  tn_Call *r = tn_mut_children(m, op);
  int64_t by = s ? shift_of(s, ((tn_expr *)tn_arr_obj(op->args, 0))->dtype) : 0;
  if (!r || !by) return (tn_obj *)r;
  tn_expr *offset = (tn_expr *)tn_arr_obj(r->args, 2);
  offset = tir_add(offset, tir_const_int(offset->dtype, by));
  return (tn_obj *)tir_call(r->dtype, TIR_OP_tvm_access_ptr, 5, tn_arr_obj(r->args, 0),
                            tn_arr_obj(r->args, 1), offset, tn_arr_obj(r->args, 3),
                            tn_arr_obj(r->args, 4));
}

static tn_obj *place_in_loop(tn_mut *m, tn_For *op) {
  const rewriter *x = m->ctx;
  const storage_place *p = tn_pmap_get(&x->live.places, op);
  tn_For *r = tn_mut_children(m, op);
  if (!r || !p || !p->made.len) return (tn_obj *)r;
  return (tn_obj *)tir_for_with(r, r->min, r->extent, with_allocations(p, r->body));
}

static tn_obj *place_in_attr(tn_mut *m, tn_AttrStmt *op) {
  const rewriter *x = m->ctx;
  if (is_unused(var_of(m, op->node))) return tn_mut_visit(m, op->body);
  const storage_place *p = tn_pmap_get(&x->live.places, op);
  tn_AttrStmt *r = tn_mut_children(m, op);
  if (!r || !p || !p->made.len) return (tn_obj *)r;
  tn_AttrStmt copy = *r;
  TN_GETP(copy.body, with_allocations(p, r->body));
  return tn_node_copy(&tn_type_AttrStmt, &copy);
}

static tn_obj *rename_var(tn_mut *m, tn_obj *v) {
  const storage_var *s = var_of(m, v);
  if (!s || !s->entry) return v;
  return (tn_obj *)(s->entry->base ? s->entry->base->var : s->entry->var);
}

static void rewriter_fini(rewriter *x) { storage_live_fini(&x->live); }

static bool is_allocation(const tn_stmt *s, const void *arg) {
  (void)arg;
  return TN_IS(Allocate, s);
}

tn_PrimFunc *tir_storage_rewrite(tn_PrimFunc *f, const tn_pass_ctx *c) {
  static const tn_mut_case cases[] = {
      TN_CASE(Allocate, move_allocate), TN_CASE(For, place_in_loop),
      TN_CASE(AttrStmt, place_in_attr), TN_CASE(Var, rename_var),
      TN_CASE(DeclBuffer, drop_unused), TN_CASE(Buffer, move_buffer),
      TN_CASE(BufferLoad, move_load),   TN_CASE(BufferStore, move_store),
      TN_CASE(Call, move_pointer)};
  (void)c;
  if (!tir_has_stmt(f->body, is_allocation, NULL)) return f;
  __attribute__((cleanup(rewriter_fini))) rewriter x = {0};
  TN_TRYP(storage_find_live(&x.live, f));
  if (x.live.n == 0) return f;
  TN_TRYP(plan(&x));
  TN_TRYP(storage_merge(&x.live));
  TN_MUT(m, cases, &x);
  return tir_with_body(f, with_allocations(&x.live.root, tn_mut_visit(&m, f->body)));
}
