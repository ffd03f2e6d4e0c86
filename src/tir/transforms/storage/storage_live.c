/* When the allocations of a function are in use: part of tir.StorageRewrite.

     A = T.allocate([8])            time 1..2     the loop that fills A
     for i in range(8): A[i] = ..
     for i in range(8): .. A[i] ..  time 3..4     the loop that reads it: A lives from 1 to 4

   An allocation is pinned, left where it is, when nothing uses it, when its pointer is given a
   second name, or when its size is not known where it would be moved to. It is fixed, may not be a
   part of a larger one, when its pointer is used itself. */
#include "tir/transforms/storage/storage_impl.h"

#include <string.h>

#include "base/alloc.h"

typedef struct {
  int64_t id, begin;
  const tn_stmt *node;
  tn_vec touched; /* storage_var, as addresses */
} frame;

typedef struct {
  storage_live *live;
  storage_place *place;
  tn_pmap bound; /* variable -> the place it is bound in */
  frame *frames;
  int64_t nframes, cap, ids, time;
  const tn_stmt *leaf; /* the store or evaluation that is visited */
  bool naming;         /* in the value of a binding: pointers get a second name */
} walker;

/* ---- uses ---- */

static int touch(walker *x, const tn_Var *v) {
  storage_var *s = tn_pmap_get(&x->live->vars, v);
  if (!s) return 0;
  int64_t begin = x->time;
  const tn_stmt *at = x->leaf;
  s->last = begin;
  if (x->nframes > s->level) {
    frame *f = &x->frames[s->level];
    begin = f->begin, at = f->node;
    if (s->frame != f->id) TN_TRY(tn_vec_push(&f->touched, tn_any_ptr(s)));
    s->frame = f->id;
  }
  s->last_stmt = at;
  if (!s->first) s->first = begin, s->first_stmt = at;
  return 0;
}

static int enter(walker *x, const tn_stmt *node) {
  if (x->nframes == x->cap) {
    int64_t cap = x->cap ? x->cap * 2 : 16;
    frame *more = tn_realloc_array(x->frames, cap, sizeof *more);
    if (!more) return -1;
    x->frames = more, x->cap = cap;
  }
  x->frames[x->nframes++] = (frame){.id = ++x->ids, .begin = ++x->time, .node = node};
  return 0;
}

static void leave(walker *x) {
  frame *f = &x->frames[--x->nframes];
  x->time += 1;
  for (int64_t i = 0; i < f->touched.len; ++i)
    ((storage_var *)f->touched.items[i].v.ptr)->last = x->time;
  tn_vec_fini(&f->touched);
}

static tn_obj *use_var(tn_mut *m, tn_obj *v) {
  walker *x = m->ctx;
  storage_var *s = tn_pmap_get(&x->live->vars, v);
  if (s && x->naming) s->pinned = true;
  if (s) s->fixed = true;
  TN_TRYP(touch(x, (tn_Var *)v));
  return v;
}

static void need(storage_var *s, tn_dtype t) {
  int64_t bytes = tn_dtype_bytes(t, 1);
  if (bytes < 1 || (bytes & (bytes - 1))) s->fixed = true;
  if (bytes > s->align) s->align = bytes;
}

/* An access of an element: of a flat buffer it may move with its memory. */
static int access(walker *x, const tn_Buffer *b) {
  storage_var *s = tn_pmap_get(&x->live->vars, b->data);
  if (s && (b->shape->len != 1 || b->strides->len)) s->fixed = true;
  if (s) need(s, b->dtype);
  return touch(x, b->data);
}

static tn_obj *use_load(tn_mut *m, tn_BufferLoad *op) {
  walker *x = m->ctx;
  storage_var *s = x->naming ? tn_pmap_get(&x->live->vars, op->buffer->data) : NULL;
  if (s) s->pinned = true; /* T.address_of */
  TN_TRYP(access(x, op->buffer));
  return tn_mut_visit(m, op->indices) ? (tn_obj *)op : NULL;
}
static tn_obj *use_store(tn_mut *m, tn_BufferStore *op) {
  walker *x = m->ctx;
  x->time += 1;
  x->leaf = (tn_stmt *)op;
  TN_TRYP(access(x, op->buffer));
  bool good = tn_mut_visit(m, op->indices) && tn_mut_visit(m, op->value);
  x->leaf = NULL;
  return good ? (tn_obj *)op : NULL;
}
/* tvm_access_ptr(type, data, offset, extent, mask): the offset counts elements of the type. */
static tn_obj *use_call(tn_mut *m, tn_Call *op) {
  walker *x = m->ctx;
  bool pointer = tir_as_call((tn_obj *)op, TIR_OP_tvm_access_ptr) && op->args->len == 5;
  storage_var *s = pointer ? tn_pmap_get(&x->live->vars, tn_arr_obj(op->args, 1)) : NULL;
  if (!s || x->naming) return tn_mut_children(m, op);
  need(s, ((tn_expr *)tn_arr_obj(op->args, 0))->dtype);
  TN_TRYP(touch(x, s->op->buffer_var));
  bool good = tn_mut_visit(m, tn_arr_obj(op->args, 2)) && tn_mut_visit(m, tn_arr_obj(op->args, 3));
  return good ? (tn_obj *)op : NULL;
}

/* Evaluations, conditions and the like: a moment of their own. */
static tn_obj *use_stmt(tn_mut *m, tn_obj *op) {
  ((walker *)m->ctx)->time += 1;
  return tn_mut_children(m, op);
}
static tn_obj *skip_buffer(tn_mut *m, tn_obj *b) {
  (void)m;
  return b;
}

/* ---- bindings ---- */

static tn_obj *bind_let(tn_mut *m, tn_LetStmt *op) {
  walker *x = m->ctx;
  x->time += 1;
  x->naming = op->var->dtype.code == kDLOpaqueHandle;
  const void *value = tn_mut_visit(m, op->value);
  x->naming = false;
  TN_TRYP(tn_pmap_put(&x->bound, op->var, x->place));
  return value && tn_mut_visit(m, op->body) ? (tn_obj *)op : NULL;
}
static tn_obj *bind_let_expr(tn_mut *m, tn_Let *op) {
  walker *x = m->ctx;
  bool outer = x->naming;
  x->naming |= op->var->dtype.code == kDLOpaqueHandle;
  const void *value = tn_mut_visit(m, op->value);
  x->naming = outer;
  return value && tn_mut_visit(m, op->body) ? (tn_obj *)op : NULL;
}

static storage_place *new_place(walker *x, const void *node) {
  storage_place *p;
  TN_GETP(p, tn_arena_alloc(&x->live->arena, sizeof *p));
  *p = (storage_place){.up = x->place, .node = node};
  TN_TRYP(tn_pmap_put(&x->live->places, node, p));
  return p;
}

static tn_obj *walk_for(tn_mut *m, tn_For *op) {
  walker *x = m->ctx;
  storage_place *outer = x->place;
  x->time += 1;
  if (!tn_mut_visit(m, op->min) || !tn_mut_visit(m, op->extent)) return NULL;
  TN_TRYP(tn_pmap_put(&x->bound, op->loop_var, x->place));
  if (op->kind == TIR_FOR_PARALLEL || op->kind == TIR_FOR_THREAD_BINDING)
    TN_GETP(x->place, new_place(x, op));
  TN_TRYP(enter(x, (tn_stmt *)op));
  if (!tn_mut_visit(m, op->body)) return NULL;
  leave(x);
  x->place = outer;
  return (tn_obj *)op;
}

static tn_obj *walk_while(tn_mut *m, tn_While *op) {
  walker *x = m->ctx;
  TN_TRYP(enter(x, (tn_stmt *)op));
  x->time += 1;
  if (!tn_mut_visit(m, op->condition) || !tn_mut_visit(m, op->body)) return NULL;
  leave(x);
  return (tn_obj *)op;
}

/* The tasks of one launch work on the same memory: it lies around the launch. */
static bool is_thread_scope(const tn_AttrStmt *op) {
  if (tn_str_eq(op->attr_key, "pragma_parallel_launch_point")) return false;
  return tn_str_eq(op->attr_key, "thread_extent") || tn_str_eq(op->attr_key, "virtual_thread") ||
         strncmp(tn_cstr(op->attr_key), "pragma_", 7) == 0;
}

/* Is the place inside the attribute of a thread or pragma? Those further in are none of their own.
 */
static bool in_threads(const storage_place *p) {
  for (; p; p = p->up)
    if (p->node && p->node->type_index == TN_TI_AttrStmt) return true;
  return false;
}

static tn_obj *walk_attr(tn_mut *m, tn_AttrStmt *op) {
  walker *x = m->ctx;
  storage_place *outer = x->place;
  const tn_IterVar *axis = TN_AS(IterVar, op->node);
  x->time += 1;
  if (!tn_mut_visit(m, op->value)) return NULL;
  if (axis) TN_TRYP(tn_pmap_put(&x->bound, axis->var, x->place));
  if (is_thread_scope(op) && !in_threads(x->place)) TN_GETP(x->place, new_place(x, op));
  const void *body = tn_mut_visit(m, op->body);
  x->place = outer;
  return body ? (tn_obj *)op : NULL;
}

/* ---- allocations ---- */

int64_t storage_bits_of(tn_dtype t) {
  if (tn_dtype_is_scalable(t)) return -1;
  return (t.bits == 1 ? 8 : (int64_t)t.bits) * t.lanes;
}

static int64_t constant_bits(const tn_Allocate *op) {
  int64_t size = storage_bits_of(op->dtype), n;
  if (size < 0) return -1;
  for (int64_t i = 0; i < op->extents->len; ++i) {
    if (!tir_as_int(tn_arr_obj(op->extents, i), &n) || n <= 0) return -1;
    if (size > (INT64_MAX >> 5) / n) return -1;
    size *= n;
  }
  return size;
}

typedef struct {
  const walker *x;
  const storage_place *place;
} bound_in;

static int is_bound_in(void *ctx, tn_obj *node) {
  const bound_in *b = ctx;
  return tn_pmap_has(&b->x->bound, node) && tn_pmap_get(&b->x->bound, node) == b->place;
}

static int add(storage_live *x, storage_var *s) {
  if (x->n == x->cap) {
    int64_t cap = x->cap ? x->cap * 2 : 16;
    storage_var **more = tn_realloc_array(x->all, cap, sizeof(storage_var *));
    if (!more) return -1;
    x->all = more, x->cap = cap;
  }
  x->all[x->n++] = s;
  return tn_pmap_put(&x->vars, s->op->buffer_var, s);
}

static tn_obj *walk_allocate(tn_mut *m, tn_Allocate *op) {
  walker *x = m->ctx;
  storage_var *s;
  x->time += 1;
  if (!tn_mut_visit(m, op->extents) || !tn_mut_visit(m, op->condition)) return NULL;
  TN_GETP(s, tn_arena_alloc(&x->live->arena, sizeof *s));
  const tn_PointerType *t = TN_AS(PointerType, op->buffer_var->type_annotation);
  *s = (storage_var){.op = op,
                     .scope = t && t->storage_scope->len ? tn_cstr(t->storage_scope) : "global",
                     .place = x->place,
                     .level = x->nframes,
                     .bits = constant_bits(op)};
  bound_in b = {x, x->place};
  storage_var *twin = tn_pmap_get(&x->live->vars, op->buffer_var);
  if (twin) twin->pinned = twin->twin = s->twin = true; /* one variable for two allocations */
  s->pinned =
      !tir_is_one(op->condition) || twin || tn_post_order(op->extents, is_bound_in, &b) != 0;
  TN_TRYP(add(x->live, s));
  if (!tn_mut_visit(m, op->body)) return NULL;
  if (!s->first) s->pinned = true;
  return (tn_obj *)op;
}

static void walker_fini(walker *x) {
  while (x->nframes) tn_vec_fini(&x->frames[--x->nframes].touched);
  tn_free(x->frames);
  tn_pmap_fini(&x->bound);
}

int storage_find_live(storage_live *live, tn_PrimFunc *f) {
  static const tn_mut_case cases[] = {
      TN_CASE(Var, use_var),           TN_CASE(SizeVar, use_var),
      TN_CASE(BufferLoad, use_load),   TN_CASE(BufferStore, use_store),
      TN_CASE(Buffer, skip_buffer),    TN_CASE(Evaluate, use_stmt),
      TN_CASE(Call, use_call),         TN_CASE(IfThenElse, use_stmt),
      TN_CASE(AssertStmt, use_stmt),   TN_CASE(LetStmt, bind_let),
      TN_CASE(Let, bind_let_expr),     TN_CASE(For, walk_for),
      TN_CASE(While, walk_while),      TN_CASE(AttrStmt, walk_attr),
      TN_CASE(Allocate, walk_allocate)};
  __attribute__((cleanup(walker_fini))) walker x = {.live = live, .place = &live->root};
  TN_MUT(m, cases, &x);
  return tn_mut_visit(&m, f->body) ? 0 : -1;
}

static void fini_entries(storage_live *x) {
  for (int64_t i = 0; i < x->n; ++i)
    if (x->all[i]->entry) tn_vec_fini(&x->all[i]->entry->allocs);
}

void storage_live_fini(storage_live *x) {
  fini_entries(x);
  for (size_t i = 0; i < x->places.cap; ++i) {
    storage_place *p = x->places.slots[i].key ? x->places.slots[i].v.ptr : NULL;
    if (p) tn_vec_fini(&p->made);
  }
  tn_vec_fini(&x->root.made);
  tn_free(x->all);
  tn_pmap_fini(&x->vars);
  tn_pmap_fini(&x->places);
  tn_arena_fini(&x->arena);
}
