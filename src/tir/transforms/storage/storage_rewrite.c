/* Allocations whose lives do not meet share memory, and move out of the loops that make them.

     for i in range(4):                         B = T.allocate([8])
       B = T.allocate([8])                      for i in range(4):
       fill(B); use(B)                     ->     fill(B); use(B)
       C = T.allocate([8])                        fill(B); use(B)
       fill(C); use(C)

   Memory is given in the order of first uses. A free piece of similar size is taken before a new
   one is made; what computes an array from another of the same size element by element, as its last
   use, gets the memory of the other. Arrays that fit a register, and those close to the threads
   (warp, local), keep memory to themselves. What a device has by name (local.L0A) is one allocation
   with parts (storage_merge.c). Allocations that nothing uses go. Option
   tir.disable_storage_rewrite. Before UnrollLoop: each allocation has its own variable here. */
#include <stdlib.h>
#include <string.h>

#include "arith/analyzer.h"
#include "tir/transforms/storage/storage_impl.h"

enum { MATCH = 16, SMALL_BITS = 32 };

/* Free pieces of a place by size; those of unknown size behind. */
typedef struct {
  tn_vec known, unknown; /* storage_entry, as addresses */
} free_list;

typedef struct {
  storage_live live;
  tn_pmap lists; /* storage_place -> free_list */
} rewriter;

static storage_entry *entry_at(const tn_vec *v, int64_t i) { return v->items[i].v.ptr; }

/* Position of the first piece of at least that size. */
static int64_t first_of(const tn_vec *v, int64_t bits) {
  int64_t lo = 0, hi = v->len;
  while (lo < hi) {
    int64_t mid = (lo + hi) / 2;
    if (entry_at(v, mid)->bits < bits) {
      lo = mid + 1;
    } else {
      hi = mid;
    }
  }
  return lo;
}

static void remove_at(tn_vec *v, int64_t i) {
  memmove(&v->items[i], &v->items[i + 1], (size_t)(v->len - i - 1) * sizeof *v->items);
  v->len -= 1;
}

static free_list *list_of(rewriter *x, const storage_place *p) {
  free_list *l = tn_pmap_get(&x->lists, p);
  if (l) return l;
  TN_GETP(l, tn_arena_alloc(&x->live.arena, sizeof *l));
  TN_TRYP(tn_pmap_put(&x->lists, p, l));
  return l;
}

static int give_back(rewriter *x, storage_entry *e) {
  free_list *l;
  TN_GET(l, list_of(x, e->place));
  tn_vec *v = e->bits < 0 ? &l->unknown : &l->known;
  int64_t at = e->bits < 0 ? v->len : first_of(v, e->bits);
  TN_TRY(tn_vec_push(v, tn_any_none()));
  memmove(&v->items[at + 1], &v->items[at], (size_t)(v->len - at - 1) * sizeof *v->items);
  v->items[at] = tn_any_ptr(e);
  return 0;
}

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
   stack has one, what comes from the workspace takes that of what is stored. */
static bool fits(const storage_entry *e, const storage_var *s) {
  const int64_t stack = 8 * TIR_STACK_BYTES;
  if (strcmp(e->scope, s->scope) != 0) return false;
  if (tn_dtype_eq(element(e->dtype), element(s->op->dtype))) return true;
  if (s->bits < 0) return false;
  return strcmp(s->scope, "global") != 0 || (s->bits >= stack && e->bits >= stack);
}

/* A free piece, or NULL: the smallest that is large enough, else the largest. */
static storage_entry *take(rewriter *x, const storage_var *s) {
  free_list *l = tn_pmap_get(&x->lists, s->place);
  if (!l || !is_shareable(s)) return NULL;
  tn_vec *v = s->bits < 0 ? &l->unknown : &l->known;
  int64_t mid = s->bits < 0 ? 0 : first_of(v, s->bits), at = -1;
  for (int64_t i = mid; at < 0 && i < v->len; ++i) {
    if (s->bits >= 0 && entry_at(v, i)->bits / MATCH > s->bits) break;
    if (fits(entry_at(v, i), s)) at = i;
  }
  for (int64_t i = mid; at < 0 && i-- > 0;) {
    if (entry_at(v, i)->bits < s->bits / MATCH) break;
    if (fits(entry_at(v, i), s)) at = i;
  }
  if (at < 0) return NULL;
  storage_entry *e = entry_at(v, at);
  remove_at(v, at);
  return e;
}

static int assign(rewriter *x, storage_var *s, storage_entry *e) {
  if (!e) {
    TN_GET(e, tn_arena_alloc(&x->live.arena, sizeof *e));
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

/* Memory of an allocation whose last use is the statement that fills `s` in place. `ending`: those
 * that end from that time on. */
static storage_entry *take_in_place(storage_var *const *ending, int64_t n, const storage_var *s) {
  const tn_stmt *at = s->first_stmt;
  if (!at || !is_shareable(s)) return NULL;
  if (at->hdr.type_index != TN_TI_For && at->hdr.type_index != TN_TI_BufferStore) return NULL;
  for (int64_t i = 0; i < n && (ending[i]->last_stmt == at || ending[i]->last <= s->first); ++i) {
    storage_var *src = ending[i];
    if (src->last_stmt != at || src->passed_on || !src->entry || src->place != s->place) continue;
    if (src->bits != s->bits || !same_size(src->op, s->op)) continue;
    if (strcmp(src->scope, s->scope) != 0 || !is_shareable(src)) continue;
    if (!storage_is_inplace(at, s->op->buffer_var, src->op->buffer_var)) continue;
    src->passed_on = true;
    return src->entry;
  }
  return NULL;
}

static int plan(rewriter *x) {
  const int64_t n = x->live.n;
  storage_var **begin, **end;
  int64_t k = 0;
  TN_GET(begin, tn_arena_array(&x->live.arena, n + 1, sizeof(storage_var *)));
  TN_GET(end, tn_arena_array(&x->live.arena, n + 1, sizeof(storage_var *)));
  memcpy(begin, x->live.all, (size_t)n * sizeof(storage_var *));
  memcpy(end, x->live.all, (size_t)n * sizeof(storage_var *));
  qsort(begin, (size_t)n, sizeof(storage_var *), by_first);
  qsort(end, (size_t)n, sizeof(storage_var *), by_last);
  for (int64_t i = 0; i < n; ++i) {
    storage_var *s = begin[i];
    if (s->pinned) continue;
    for (; k < n && end[k]->last < s->first; ++k)
      if (end[k]->entry && !end[k]->passed_on) TN_TRY(give_back(x, end[k]->entry));
    storage_entry *e = take_in_place(end + k, n - k, s);
    TN_TRY(assign(x, s, e ? e : take(x, s)));
  }
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

static void rewriter_fini(rewriter *x) {
  for (size_t i = 0; i < x->lists.cap; ++i) {
    free_list *l = x->lists.slots[i].key ? x->lists.slots[i].v.ptr : NULL;
    if (!l) continue;
    tn_vec_fini(&l->known);
    tn_vec_fini(&l->unknown);
  }
  tn_pmap_fini(&x->lists);
  storage_live_fini(&x->live);
}

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
