/* Barriers where threads read what others have written, for one memory.

     S[tx] = A[tx]                         S[tx] = A[tx]
     B[tx] = S[63 - tx]              ->    T.tvm_storage_sync("shared")
                                           B[tx] = S[63 - tx]

   A barrier stands before a statement that reads an element which another thread may have written
   since the last one, or writes one which another may have read: also one iteration of a loop ago.
   Accesses by one index are by one thread when the index takes in every thread axis. Two writes
   need none: an element is written by one thread between barriers. Barriers inside a condition are
   reached by all threads or none, so the condition must not depend on the thread: ValueError.

   Buffers of dynamic shared memory of which one is done before the other is begun may get the same
   place (MergeDynamicSharedMemoryAllocations): what is accessed of one counts as accessed of both.

   "global" synchronises all blocks: T.tvm_storage_sync("global", is lead, number of blocks). */
#include <string.h>

#include "arith/analyzer.h"
#include "base/alloc.h"
#include "base/stack.h"
#include "tir/device.h"
#include "tir/transforms/transforms.h"

typedef enum { ACCESS_READ, ACCESS_WRITE, ACCESS_SYNC } access_kind;

typedef struct {
  const tn_Var *data;
  const tn_expr *index; /* NULL: anywhere */
  int bits;             /* of an element: what the index counts */
  access_kind kind;
  bool doubled; /* a write to the half of a double buffer that nobody reads in this iteration */
} access;

typedef struct {
  access *items;
  int64_t len, cap;
} accesses;

/* A statement of a sequence, with all accesses inside. */
typedef struct {
  const tn_stmt *stmt;
  accesses list;
} entry;

typedef struct {
  entry *items;
  int64_t len, cap;
} sequence;

typedef struct {
  const char *scope;
  tn_vec threads;        /* Var of threadIdx axes with more than one thread */
  tn_vec blocks;         /* IterVar of all axes, for the barrier of "global" */
  sequence *at;          /* the sequence under work, NULL on the host */
  const tn_Var *doubled; /* written as a double buffer here */
  int divergent;         /* depth of conditions that depend on the thread */
  tn_pmap before;        /* statements that get a barrier before them */
  tn_pmap first, last;   /* data pointers in dynamic shared memory -> number of an access */
  int64_t numbered;      /* accesses */
} planner;

/* ---- accesses of one statement ---- */

static int push(accesses *l, access a) {
  TN_GROW(l->items, l->cap, l->len + 1, return -1);
  l->items[l->len++] = a;
  return 0;
}

static bool in_scope(const planner *p, const tn_Var *data) {
  return strcmp(tir_var_scope(data), p->scope) == 0;
}

static const tn_expr *only_index(const tn_arr *indices) {
  return indices->len == 1 ? (const tn_expr *)tn_arr_obj(indices, 0) : NULL;
}

typedef struct {
  planner *p;
  accesses *to;
} collector;

static int note_call(collector *c, const tn_Call *call) {
  int64_t mask = 3;
  const tn_Var *data = NULL;
  switch ((int)tir_op_number((const tn_obj *)call->op)) {
  case TIR_OP_tvm_storage_sync: {
    const tn_StringImm *s = call->args->len ? TN_AS(StringImm, tn_arr_obj(call->args, 0)) : NULL;
    bool same = s && tir_memory_of(tn_cstr(s->value)) == tir_memory_of(c->p->scope);
    return same ? push(c->to, (access){.kind = ACCESS_SYNC}) : 0;
  }
  case TIR_OP_tvm_access_ptr:
    if (call->args->len != 5) return 0;
    data = TN_AS(Var, tn_arr_obj(call->args, 1));
    tir_as_int(tn_arr_obj(call->args, 4), &mask);
    break;
  case TIR_OP_address_of: {
    const tn_BufferLoad *l = call->args->len ? TN_AS(BufferLoad, tn_arr_obj(call->args, 0)) : NULL;
    data = l ? l->buffer->data : NULL;
    break;
  }
  default: return 0;
  }
  if (!data || !in_scope(c->p, data)) return 0;
  if (mask & 1) TN_TRY(push(c->to, (access){data, NULL, 0, ACCESS_READ, false}));
  if (mask & 2) TN_TRY(push(c->to, (access){data, NULL, 0, ACCESS_WRITE, false}));
  return 0;
}

static int note_expr(void *ctx, tn_obj *o) {
  collector *c = ctx;
  const tn_BufferLoad *l = TN_AS(BufferLoad, o);
  if (TN_IS(Call, o)) return note_call(c, (const tn_Call *)o);
  if (!l || !in_scope(c->p, l->buffer->data)) return 0;
  return push(c->to, (access){l->buffer->data, only_index(l->indices), l->buffer->dtype.bits,
                              ACCESS_READ, false});
}

static int collect(planner *p, const void *expr, accesses *to) {
  collector c = {p, to};
  return expr ? tn_post_order(expr, note_expr, &c) : 0;
}

static entry *new_entry(planner *p, const void *s) {
  sequence *q = p->at;
  TN_GROW(q->items, q->cap, q->len + 1, return NULL);
  q->items[q->len] = (entry){.stmt = s};
  return &q->items[q->len++];
}

static void sequence_fini(sequence *q) {
  for (int64_t i = 0; i < q->len; ++i) tn_free(q->items[i].list.items);
  tn_free(q->items);
}

/* ---- conflicts ---- */

static bool of_one_thread(const planner *p, const tn_expr *index) {
  for (int64_t i = 0; i < p->threads.len; ++i)
    if (!tir_uses_var(index, (const tn_Var *)p->threads.items[i].v.obj)) return false;
  return true;
}

/* Is one buffer done before the other is begun? */
static bool may_share_place(const planner *p, const tn_Var *a, const tn_Var *b) {
  if (p->first.len < 2) return false;
  return tn_pmap_get_int(&p->last, a, 0) < tn_pmap_get_int(&p->first, b, 0) ||
         tn_pmap_get_int(&p->last, b, 0) < tn_pmap_get_int(&p->first, a, 0);
}

static bool conflict(const planner *p, const access *a, const access *b, bool carried) {
  if (a->data != b->data) return may_share_place(p, a->data, b->data);
  if (a->index && b->index && a->bits == b->bits && arith_same(a->index, b->index) &&
      of_one_thread(p, a->index))
    return false;
  return !(a->doubled && b->kind == ACCESS_READ && !carried);
}

static bool conflicts(const planner *p, const accesses *pending, const access *a, bool carried) {
  access_kind other = a->kind == ACCESS_READ ? ACCESS_WRITE : ACCESS_READ;
  for (int64_t i = 0; i < pending->len; ++i)
    if ((pending->items[i].kind == other || pending->items[i].data != a->data) &&
        conflict(p, &pending->items[i], a, carried))
      return true;
  return false;
}

/* Does the statement need a barrier before it? Barriers inside it clear what is pending. */
static bool needs_sync(const planner *p, accesses *pending, const entry *e, bool carried) {
  for (int64_t i = 0; i < e->list.len; ++i) {
    const access *a = &e->list.items[i];
    if (a->kind == ACCESS_SYNC) {
      pending->len = 0;
    } else if (conflicts(p, pending, a, carried)) {
      return true;
    }
  }
  return false;
}

static int put_sync(planner *p, const entry *e) {
  TN_CHECK(p->divergent == 0, ValueError, e->stmt->span,
           "ThreadSync(\"%s\"): a barrier is needed inside a condition that depends on the thread: "
           "Cannot insert syncs inside condition",
           p->scope);
  return tn_pmap_put_int(&p->before, e->stmt, 1);
}

static int add_pending(accesses *pending, const entry *e) {
  for (int64_t i = 0; i < e->list.len; ++i) {
    if (e->list.items[i].kind == ACCESS_SYNC) {
      pending->len = 0;
    } else {
      TN_TRY(push(pending, e->list.items[i]));
    }
  }
  return 0;
}

static int plan_sequence(planner *p, const sequence *q, bool loop, accesses *pending) {
  for (int64_t i = 0; i < q->len; ++i) {
    const entry *e = &q->items[i];
    if (needs_sync(p, pending, e, false)) {
      pending->len = 0;
      TN_TRY(put_sync(p, e));
    }
    TN_TRY(add_pending(pending, e));
  }
  for (int64_t i = 0; loop && i < q->len && pending->len > 0; ++i) {
    const entry *e = &q->items[i];
    if (tn_pmap_has(&p->before, e->stmt)) break;
    if (needs_sync(p, pending, e, true)) return put_sync(p, e);
  }
  return 0;
}

/* What the outside sees of a sequence: accesses up to the first barrier, and those after the last
   one. */
static int summarize(planner *p, const sequence *q, accesses *out) {
  int64_t head = -1; /* length up to the first barrier */
  for (int64_t i = 0; i < q->len; ++i) {
    const entry *e = &q->items[i];
    bool sync = tn_pmap_has(&p->before, e->stmt);
    for (int64_t k = -1; k < e->list.len; ++k) {
      bool barrier = k < 0 ? sync : e->list.items[k].kind == ACCESS_SYNC;
      if (barrier && head < 0) {
        TN_TRY(push(out, (access){.kind = ACCESS_SYNC}));
        head = out->len;
      } else if (barrier) {
        out->len = head;
      } else if (k >= 0) {
        TN_TRY(push(out, e->list.items[k]));
      }
    }
  }
  return 0;
}

/* ---- statements ---- */

static int look(planner *p, const tn_stmt *s);

/* A part with its own sequence; its accesses are added to `to`. */
static int look_inside(planner *p, const tn_stmt *body, bool loop, accesses *to) {
  sequence own = {0}, *outer = p->at;
  accesses pending = {0};
  p->at = &own;
  int err = look(p, body);
  p->at = outer;
  if (!err) err = plan_sequence(p, &own, loop, &pending);
  if (!err) err = summarize(p, &own, to);
  tn_free(pending.items);
  sequence_fini(&own);
  return err;
}

/* Of all iterations. */
static void forget_index(accesses *l, const tn_Var *v) {
  for (int64_t i = 0; i < l->len; ++i) {
    access *a = &l->items[i];
    if (a->index && (!v || tir_uses_var(a->index, v))) a->index = NULL;
    a->doubled = false;
  }
}

static int depends_on_thread(void *ctx, tn_obj *o) {
  const planner *p = ctx;
  if (TN_IS(BufferLoad, o)) return 1;
  for (int64_t i = 0; i < p->threads.len; ++i)
    if (p->threads.items[i].v.obj == o) return 1;
  return 0;
}

static int look_loop(planner *p, const tn_stmt *s, const tn_Var *v, const tn_stmt *body,
                     const tn_expr *a, const tn_expr *b) {
  accesses list = {0};
  entry *e;
  int err = collect(p, a, &list) || collect(p, b, &list) || look_inside(p, body, true, &list);
  forget_index(&list, v);
  if (err || !(e = new_entry(p, s))) {
    tn_free(list.items);
    return -1;
  }
  e->list = list;
  return 0;
}

static int look_if(planner *p, const tn_IfThenElse *s) {
  accesses list = {0};
  entry *e;
  int divergent = tn_post_order(s->condition, depends_on_thread, p) != 0;
  p->divergent += divergent;
  int err = collect(p, s->condition, &list) || look_inside(p, s->then_case, false, &list) ||
            (s->else_case && look_inside(p, s->else_case, false, &list));
  p->divergent -= divergent;
  if (err || !(e = new_entry(p, s))) {
    tn_free(list.items);
    return -1;
  }
  e->list = list;
  return 0;
}

static int look_leaf(planner *p, const tn_stmt *s, const void *expr) {
  entry *e;
  TN_GET(e, new_entry(p, s));
  return collect(p, expr, &e->list);
}

static int look_store(planner *p, const tn_BufferStore *s) {
  entry *e;
  const tn_Var *data = s->buffer->data;
  TN_GET(e, new_entry(p, s));
  TN_TRY(collect(p, s->indices, &e->list) || collect(p, s->value, &e->list));
  if (!in_scope(p, data)) return 0;
  return push(&e->list, (access){data, only_index(s->indices), s->buffer->dtype.bits, ACCESS_WRITE,
                                 p->doubled == data});
}

static int look_launch(planner *p, const tn_AttrStmt *s, const tn_IterVar *axis) {
  bool thread = tir_is_thread_axis(tn_cstr(axis->thread_tag)) && !tir_is_one(s->value);
  accesses unused = {0};
  if (!p->at) p->blocks.len = p->threads.len = 0; /* another kernel */
  if (thread) TN_TRY(tn_vec_push_obj(&p->threads, axis->var));
  TN_TRY(tn_vec_push_obj(&p->blocks, s));
  /* the end of a kernel is a barrier: nothing is seen of it outside */
  int err = p->at ? look(p, s->body) : look_inside(p, s->body, false, &unused);
  tn_free(unused.items);
  return err;
}

static int look_attr(planner *p, const tn_AttrStmt *s) {
  const tn_IterVar *axis = tir_launched_axis(s);
  if (axis) return look_launch(p, s, axis);
  const tn_Var *outer = p->doubled;
  if (tn_str_eq(s->attr_key, "double_buffer_write")) p->doubled = TN_AS(Var, s->node);
  int err = look(p, s->body);
  p->doubled = outer;
  return err;
}

static int look_children(void *ctx, tn_obj *o) {
  if (TN_IS(Stmt, o)) return look(ctx, (const tn_stmt *)o);
  return o->type->kind == TN_KIND_ARRAY ? tn_visit_children(o, look_children, ctx) : 0;
}

static int look(planner *p, const tn_stmt *s) {
  TN_TRY(tn_stack_check("the program"));
  if (!p->at && !TN_IS(AttrStmt, s))
    return tn_visit_children((tn_obj *)(uintptr_t)s, look_children, p);
  switch (s->hdr.type_index) {
  case TN_TI_BufferStore: return look_store(p, (const tn_BufferStore *)s);
  case TN_TI_Evaluate: return look_leaf(p, s, ((const tn_Evaluate *)s)->value);
  case TN_TI_IfThenElse: return look_if(p, (const tn_IfThenElse *)s);
  case TN_TI_AttrStmt: return look_attr(p, (const tn_AttrStmt *)s);
  case TN_TI_LetStmt:
    TN_TRY(look_leaf(p, s, ((const tn_LetStmt *)s)->value));
    return look(p, ((const tn_LetStmt *)s)->body);
  case TN_TI_For: {
    const tn_For *f = (const tn_For *)s;
    return look_loop(p, s, f->loop_var, f->body, f->min, f->extent);
  }
  case TN_TI_While: {
    const tn_While *w = (const tn_While *)s;
    return look_loop(p, s, NULL, w->body, w->condition, NULL);
  }
  default: return tn_visit_children((tn_obj *)(uintptr_t)s, look_children, p);
  }
}

/* ---- places in dynamic shared memory ---- */

static int number_access(void *ctx, tn_obj *o) {
  planner *p = ctx;
  const tn_BufferLoad *l = TN_AS(BufferLoad, o);
  const tn_BufferStore *s = TN_AS(BufferStore, o);
  const tn_Var *v = l ? l->buffer->data : s ? s->buffer->data : TN_AS(Var, o);
  if (!v || v->dtype.code != kDLOpaqueHandle || !in_scope(p, v)) return 0;
  int64_t n = ++p->numbered;
  if (!tn_pmap_has(&p->first, v)) TN_TRY(tn_pmap_put_int(&p->first, v, n));
  return tn_pmap_put_int(&p->last, v, n);
}

/* Accesses, not declarations: a buffer names its pointer wherever it is. */
static bool is_access(const tn_obj *parent, const tn_field *field, const tn_obj *child) {
  (void)field;
  return !TN_IS(Buffer, child) && !(TN_IS(Allocate, parent) && TN_IS(Var, child));
}

/* ---- writing the barriers ---- */

static tn_stmt *global_sync(const planner *p) {
  tn_expr *lead = NULL, *blocks = NULL;
  for (int64_t i = 0; i < p->blocks.len; ++i) {
    const tn_AttrStmt *s = (const tn_AttrStmt *)p->blocks.items[i].v.obj;
    const tn_IterVar *axis = tir_launched_axis(s);
    if (tir_is_block_axis(tn_cstr(axis->thread_tag))) {
      blocks = blocks ? tir_mul(s->value, blocks) : s->value;
    } else {
      tn_expr *first = tir_eq((tn_expr *)axis->var, tir_zero(axis->var->dtype));
      lead = lead ? tir_and(first, lead) : first;
    }
  }
  if (!lead) lead = tir_bool(true);
  if (!blocks) blocks = tir_i32(1);
  return (tn_stmt *)TN_NEW(Evaluate, .value = tir_call(TN_I32, TIR_OP_tvm_storage_sync, 3,
                                                       tir_str("global"), lead, blocks));
}

static tn_obj *insert(tn_mut *m, tn_obj *s) {
  const planner *p = m->ctx;
  tn_obj *r = tn_mut_children(m, s);
  if (!r || !tn_pmap_has(&p->before, s)) return r;
  bool global = tir_memory_of(p->scope) == TIR_MEMORY_GLOBAL;
  return (tn_obj *)tir_seq2(global ? global_sync(p) : tir_sync(p->scope), (tn_stmt *)r);
}

static void planner_fini(planner *p) {
  tn_vec_fini(&p->threads);
  tn_vec_fini(&p->blocks);
  tn_pmap_fini(&p->before);
  tn_pmap_fini(&p->first);
  tn_pmap_fini(&p->last);
}

tn_PrimFunc *tir_thread_sync(tn_PrimFunc *f, const tn_pass_ctx *c) {
  static const tn_mut_case cases[] = {TN_CASE(BufferStore, insert), TN_CASE(Evaluate, insert),
                                      TN_CASE(IfThenElse, insert),  TN_CASE(For, insert),
                                      TN_CASE(While, insert),       TN_CASE(LetStmt, insert)};
  __attribute__((cleanup(planner_fini))) planner p = {0};
  TN_CHECKP(c->nargs == 1 && tn_any_to_cstr(&c->args[0], &p.scope) == 0, TypeError, NULL,
            "tir.ThreadSync: expected the name of a memory, such as \"shared\"");
  if (strcmp(p.scope, "shared.dyn") == 0)
    TN_TRYP(tn_post_order_if(f->body, is_access, number_access, &p));
  TN_TRYP(look(&p, f->body));
  if (p.before.len == 0) return f;
  TN_MUT(m, cases, &p);
  return tir_with_body(f, tn_mut_visit(&m, f->body));
}
