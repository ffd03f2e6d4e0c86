/* Arrays that are filled and used in turns get two halves: one is filled for the next round while
   the other is used.

     for i in range(n):                         fill(B[0], 0)
       with T.attr(B, "double_buffer_scope"):   for i in range(n):
         fill(B, i)                        ->     if i + 1 < n:
       use(B, i)                                    with T.attr(B, "double_buffer_write"):
                                                      fill(B[(i + 1) % 2], i + 1)
                                                  use(B[i % 2], i)

   The allocation moves in front of the loop, so its size may not depend on it; and what fills it
   may not read what an earlier round of the loop writes. What is filled outside loops stays as it
   is. Option tir.InjectDoubleBuffer: split_loop is a factor by which the loop is split, its inner
   part written out, so that the remainders are constant. After vectorization: buffers are flat. */
#include "tir/transforms/transforms.h"

#include "base/arena.h"
#include "tir/analysis.h"

/* An array with two halves. */
typedef struct {
  const tn_For *loop; /* around its scope, NULL before that was met */
  tn_expr *stride;    /* elements of a half */
  tn_Var *write;      /* stands for the half that is filled */
  tn_Buffer *buffer;  /* with both halves */
  tn_Allocate *moved; /* the allocation, once it left its place */
} pair;

typedef struct {
  tn_arena arena;
  tn_pmap pairs;   /* tn_Var -> pair */
  tn_pmap buffers; /* tn_Buffer -> the buffer with both halves */
  tn_pmap before;  /* tn_For -> statements in front of it (tn_Array of tn_stmt) */
  tn_vec loops;    /* around the current statement */
  bool writing;
  int64_t split;
  bool any;
} doubler;

static const tn_Var *scope_var(const tn_AttrStmt *op) {
  const tn_Buffer *b = TN_AS(Buffer, op->node);
  if (b) return b->data;
  return op->node && TN_IS(Var, op->node) ? (const tn_Var *)op->node : NULL;
}

static int find_scope(void *ctx, tn_obj *node) {
  doubler *x = ctx;
  const tn_AttrStmt *op = TN_AS(AttrStmt, node);
  if (!op || !tn_str_eq(op->attr_key, "double_buffer_scope") || !scope_var(op)) return 0;
  pair *p;
  TN_GET(p, tn_arena_alloc(&x->arena, sizeof *p));
  return tn_pmap_put(&x->pairs, scope_var(op), p);
}

/* ---- arrays ---- */

static tn_expr *twice(tn_expr *n) { return n ? tir_mul(n, tir_const_int(n->dtype, 2)) : NULL; }

static tn_Buffer *both_halves(doubler *x, pair *p, tn_Buffer *b) {
  tn_Buffer *r = tn_pmap_get(&x->buffers, b);
  if (r) return r;
  TN_CHECKP(b->shape->len == 1, ValueError, b->span,
            "InjectDoubleBuffer: buffer %s must be flat, got %lld axes", tn_cstr(b->name),
            (long long)b->shape->len);
  tn_Buffer copy = *b;
  TN_GETP(copy.shape, tn_arr_of(1, twice((tn_expr *)tn_arr_obj(b->shape, 0))));
  TN_GETP(r, tn_node_copy(&tn_type_Buffer, &copy));
  TN_TRYP(tn_pmap_put(&x->buffers, b, r));
  p->buffer = r;
  return r;
}

/* Indices of the half with the number `turn`. */
static tn_arr *in_half(const pair *p, tn_expr *turn, const tn_arr *indices) {
  tn_expr *i = (tn_expr *)tn_arr_obj(indices, 0);
  tn_expr *at = turn ? tir_mul(tir_cast(p->stride->dtype, turn, NULL), p->stride) : NULL;
  at = at ? tir_cast(ir_with_lanes(i->dtype, 1), at, NULL) : NULL;
  return tn_arr_of(1, tir_index_add(at, i));
}

static tn_expr *parity(tn_expr *e) {
  return e ? tir_floormod(e, tir_const_int(e->dtype, 2)) : NULL;
}

static tn_obj *double_load(tn_mut *m, tn_BufferLoad *op) {
  doubler *x = m->ctx;
  pair *p = tn_pmap_get(&x->pairs, op->buffer->data);
  tn_BufferLoad *r = tn_mut_children(m, op);
  if (!r || !p || !p->stride) return (tn_obj *)r;
  TN_CHECKP(p->loop, ValueError, op->span,
            "InjectDoubleBuffer: %s is read before its double_buffer_scope",
            tn_cstr(op->buffer->name));
  tn_expr *turn = x->writing ? (tn_expr *)p->write : parity((tn_expr *)p->loop->loop_var);
  tn_Buffer *b = both_halves(x, p, op->buffer);
  return b ? (tn_obj *)tir_load(b, in_half(p, turn, r->indices)) : NULL;
}

static tn_obj *double_store(tn_mut *m, tn_BufferStore *op) {
  doubler *x = m->ctx;
  pair *p = tn_pmap_get(&x->pairs, op->buffer->data);
  tn_BufferStore *r = tn_mut_children(m, op);
  if (!r || !p || !p->stride) return (tn_obj *)r;
  TN_CHECKP(x->writing && p->loop, ValueError, op->span,
            "InjectDoubleBuffer: %s is written outside its double_buffer_scope",
            tn_cstr(op->buffer->name));
  tn_Buffer *b = both_halves(x, p, op->buffer);
  return b ? (tn_obj *)tir_store(b, r->value, in_half(p, (tn_expr *)p->write, r->indices)) : NULL;
}

static bool is_around(const doubler *x, const tn_For *loop) {
  for (int64_t i = 0; i < x->loops.len; ++i)
    if (x->loops.items[i].v.obj == (const tn_obj *)loop) return true;
  return false;
}

/* Does the node define the variable? */
static int defines(void *var, tn_obj *o) {
  const tn_For *loop = TN_AS(For, o);
  const tn_LetStmt *let = TN_AS(LetStmt, o);
  const tn_Allocate *alloc = TN_AS(Allocate, o);
  return (loop && loop->loop_var == var) || (let && let->var == var) ||
         (alloc && alloc->buffer_var == var);
}

static int check_extent(const pair *p, const tn_Allocate *op, const tn_obj *extent) {
  const tn_arr *vars;
  TN_GET(vars, tir_undefined_vars(extent, NULL));
  for (int64_t i = 0; i < vars->len; ++i) {
    tn_Var *v = (tn_Var *)tn_arr_obj(vars, i);
    int inside = tn_post_order(p->loop, defines, v);
    TN_CHECK(inside <= 0, ValueError, op->span,
             "InjectDoubleBuffer: the size of %s depends on %s, which is defined in the loop over "
             "%s: leave double_buffer out, or give it constant extents",
             tn_cstr(op->buffer_var->name), tn_cstr(v->name), tn_cstr(p->loop->loop_var->name));
    if (inside < 0) return -1;
  }
  return 0;
}

/* An allocation that leaves the loop uses no variable of it. */
static int check_size(const pair *p, const tn_Allocate *op) {
  for (int64_t i = 0; i < op->extents->len; ++i)
    TN_TRY(check_extent(p, op, tn_arr_obj(op->extents, i)));
  return 0;
}

static tn_obj *double_allocate(tn_mut *m, tn_Allocate *op) {
  doubler *x = m->ctx;
  pair *p = tn_pmap_get(&x->pairs, op->buffer_var);
  if (!p) return tn_mut_children(m, op);
  TN_GETP(p->stride, tir_const_int(TN_I32, op->dtype.lanes));
  for (int64_t i = 0; i < op->extents->len; ++i)
    TN_GETP(p->stride, tir_mul(p->stride, (tn_expr *)tn_arr_obj(op->extents, i)));
  tn_Allocate *r = tn_mut_children(m, op);
  if (!r || !p->loop) return (tn_obj *)r;
  tn_Allocate copy = *r;
  TN_VEC(extents);
  for (int64_t i = 0; i < r->extents->len; ++i) {
    tn_expr *n = (tn_expr *)tn_arr_obj(r->extents, i);
    TN_TRYP(tn_vec_push_obj(&extents, i == 0 ? twice(n) : n));
  }
  TN_GETP(copy.extents, tn_arr_from(&extents));
  TN_GETP(r, tn_node_copy(&tn_type_Allocate, &copy));
  if (!is_around(x, p->loop)) return (tn_obj *)r;
  TN_TRYP(check_size(p, op));
  p->moved = r;
  return (tn_obj *)r->body;
}

/* The declaration moves with the allocation. */
static tn_obj *double_declaration(tn_mut *m, tn_DeclBuffer *op) {
  doubler *x = m->ctx;
  pair *p = tn_pmap_get(&x->pairs, op->buffer->data);
  if (!p) return tn_mut_children(m, op);
  tn_stmt *body = tn_mut_visit(m, op->body);
  if (!body) return NULL;
  if (!p->loop) return (tn_obj *)TN_NEW(DeclBuffer, .buffer = op->buffer, .body = body);
  if (is_around(x, p->loop)) return (tn_obj *)body;
  tn_Buffer *b = both_halves(x, p, op->buffer);
  return b ? (tn_obj *)TN_NEW(DeclBuffer, .buffer = b, .body = body) : NULL;
}

/* ---- rounds ---- */

static tn_stmt *at_round(tn_stmt *s, const pair *p, tn_expr *round, tn_expr *half) {
  TN_PMAP(vars);
  if (!round || !half) return NULL;
  TN_TRYP(tn_pmap_put(&vars, p->loop->loop_var, round));
  TN_TRYP(tn_pmap_put(&vars, p->write, half));
  return tir_substitute_fold(s, &vars);
}

static int add_before(doubler *x, const tn_For *loop, tn_stmt *s) {
  const tn_arr *old = tn_pmap_get(&x->before, loop);
  TN_VEC(v);
  if (!s) return -1;
  for (int64_t i = 0; old && i < old->len; ++i) TN_TRY(tn_vec_push(&v, old->items[i]));
  TN_TRY(tn_vec_push_obj(&v, s));
  tn_arr *all = tn_arr_from(&v);
  return all ? tn_pmap_put(&x->before, loop, all) : -1;
}

/* May the node write to the array? */
static int writes(void *var, tn_obj *o) {
  const tn_BufferStore *store = TN_AS(BufferStore, o);
  const tn_Call *call = tir_as_call(o, TIR_OP_tvm_access_ptr) ? (const tn_Call *)o : NULL;
  int64_t mask = 2;
  if (store) return store->buffer->data == var;
  if (!call || call->args->len != 5 || tn_arr_obj(call->args, 1) != var) return 0;
  tir_as_int(tn_arr_obj(call->args, 4), &mask);
  return (mask & 2) != 0;
}

typedef struct {
  const tn_For *loop;
  const tn_AttrStmt *fill;
} filling;

/* What fills an array a round ahead reads nothing that the loop writes, but what it has itself. */
static int check_read(void *ctx, tn_obj *o) {
  const filling *f = ctx;
  const tn_BufferLoad *load = TN_AS(BufferLoad, o);
  tn_Var *v = load ? load->buffer->data : NULL;
  if (!v || v == scope_var(f->fill)) return 0;
  int own = tn_post_order(f->fill->body, defines, v);
  int written = own ? own : tn_post_order(f->loop->body, writes, v);
  TN_CHECK(own || written <= 0, ValueError, load->span,
           "InjectDoubleBuffer: %s is filled a round ahead from %s, which the loop over %s writes: "
           "leave double_buffer out",
           tn_cstr(scope_var(f->fill)->name), tn_cstr(load->buffer->name),
           tn_cstr(f->loop->loop_var->name));
  return written < 0 ? -1 : 0;
}

static tn_obj *fill(tn_mut *m, tn_AttrStmt *op) {
  doubler *x = m->ctx;
  bool is_scope = tn_str_eq(op->attr_key, "double_buffer_scope") && scope_var(op);
  pair *p = is_scope ? tn_pmap_get(&x->pairs, scope_var(op)) : NULL;
  if (!p) return tn_mut_children(m, op);
  if (x->loops.len == 0) p->stride = NULL; /* it is filled once: one half is enough */
  if (!p->stride) return tn_mut_visit(m, op->body);
  const tn_For *loop = p->loop = (const tn_For *)x->loops.items[x->loops.len - 1].v.obj;
  filling f = {loop, op};
  TN_TRYP(tn_post_order(op->body, check_read, &f));
  tn_dtype t = loop->loop_var->dtype;
  tn_str *name = tn_str_fmt("%s.db", tn_cstr(loop->loop_var->name));
  TN_GETP(p->write, name ? tir_var(tn_cstr(name), t) : NULL);
  x->writing = true;
  tn_stmt *body = tn_mut_visit(m, op->body);
  x->writing = false;
  if (!body) return NULL;
  tn_expr *zero = tir_zero(t), *next = tir_add((tn_expr *)loop->loop_var, tir_one(t));
  TN_TRYP(add_before(x, loop, at_round(body, p, zero, zero)));
  TN_GETP(body, at_round(body, p, next, parity(next)));
  body = (tn_stmt *)TN_NEW(AttrStmt, .node = (tn_obj *)(uintptr_t)scope_var(op),
                           .attr_key = tn_str_from("double_buffer_write"), .value = tir_i32(1),
                           .body = body);
  return (tn_obj *)TN_MAKE(IfThenElse, .condition = tir_lt(next, loop->extent), .then_case = body);
}

/* The loop split, its inner part written out. */
static tn_stmt *split_loop(const tn_For *op, int64_t factor) {
  tn_dtype t = op->loop_var->dtype;
  tn_str *name = tn_str_fmt("%s.outer", tn_cstr(op->loop_var->name));
  tn_Var *outer = name ? tir_var(tn_cstr(name), t) : NULL;
  tn_expr *by = tir_const_int(t, factor);
  tn_expr *rounds = tir_floordiv(op->extent, by), *rest = tir_floormod(op->extent, by);
  tn_expr *done = rounds ? tir_mul(rounds, by) : NULL;
  TN_VEC(inner);
  TN_VEC(all);
  if (!outer || !done || !rest) return NULL;
  for (int64_t i = 0; i < factor; ++i) {
    TN_PMAP(vars);
    TN_TRYP(tn_pmap_put(&vars, op->loop_var,
                        tir_add(tir_mul((tn_expr *)outer, by), tir_const_int(t, i))));
    tn_stmt *s = tir_substitute_fold(op->body, &vars);
    if (!s || tn_vec_push_obj(&inner, s)) return NULL;
  }
  tn_For copy = *op;
  copy.loop_var = outer, copy.min = tir_zero(t), copy.extent = rounds;
  TN_GETP(copy.body, tir_seq(&inner));
  TN_TRYP(tn_vec_push_obj(&all, tn_node_copy(&tn_type_For, &copy)));
  for (int64_t i = 0; !tir_is_zero(rest) && i + 1 < factor; ++i) {
    TN_PMAP(vars);
    tn_expr *at = tir_add(done, tir_const_int(t, i));
    TN_TRYP(tn_pmap_put(&vars, op->loop_var, at));
    tn_stmt *s = tir_substitute_fold(op->body, &vars);
    s = (tn_stmt *)TN_MAKE(IfThenElse, .condition = tir_lt(at, op->extent), .then_case = s);
    if (!s || tn_vec_push_obj(&all, s)) return NULL;
  }
  return tir_seq(&all);
}

/* The allocations that left the loop, around the statement. */
static tn_stmt *with_moved(doubler *x, const tn_For *loop, tn_stmt *s) {
  for (size_t i = 0; s && i < x->pairs.cap; ++i) {
    pair *p = x->pairs.slots[i].key ? x->pairs.slots[i].v.ptr : NULL;
    if (!p || p->loop != loop || !p->moved) continue;
    tn_Allocate copy = *p->moved;
    copy.body = p->buffer ? (tn_stmt *)TN_NEW(DeclBuffer, .buffer = p->buffer, .body = s) : s;
    s = tn_node_copy(&tn_type_Allocate, &copy);
  }
  return s;
}

static tn_obj *double_for(tn_mut *m, tn_For *op) {
  doubler *x = m->ctx;
  TN_TRYP(tn_vec_push_obj(&x->loops, op));
  tn_For *r = tn_mut_children(m, op);
  x->loops.len -= 1;
  const tn_arr *before = tn_pmap_get(&x->before, op);
  if (!r || !before) return (tn_obj *)r;
  TN_CHECKP(tir_is_zero(op->min), ValueError, op->span,
            "InjectDoubleBuffer: the loop over %s must begin at 0", tn_cstr(op->loop_var->name));
  TN_VEC(all);
  for (int64_t i = 0; i < before->len; ++i) TN_TRYP(tn_vec_push(&all, before->items[i]));
  tn_stmt *loop = x->split > 1 ? split_loop(r, x->split) : (tn_stmt *)r;
  if (!loop || tn_vec_push_obj(&all, loop)) return NULL;
  x->any = true;
  return (tn_obj *)with_moved(x, op, tir_seq(&all));
}

static void doubler_fini(doubler *x) {
  tn_pmap_fini(&x->pairs);
  tn_pmap_fini(&x->buffers);
  tn_pmap_fini(&x->before);
  tn_vec_fini(&x->loops);
  tn_arena_fini(&x->arena);
}

static tn_obj *skip(tn_mut *m, tn_obj *o) {
  (void)m;
  return o;
}

tn_PrimFunc *tir_inject_double_buffer(tn_PrimFunc *f, const tn_pass_ctx *c) {
  static const tn_mut_case cases[] = {TN_CASE(BufferLoad, double_load),
                                      TN_CASE(BufferStore, double_store),
                                      TN_CASE(Allocate, double_allocate),
                                      TN_CASE(DeclBuffer, double_declaration),
                                      TN_CASE(AttrStmt, fill),
                                      TN_CASE(For, double_for),
                                      TN_CASE(Buffer, skip)};
  const tn_InjectDoubleBufferConfig *o =
      ir_config_node(c->node, "tir.InjectDoubleBuffer", &tn_type_InjectDoubleBufferConfig);
  if (!o) return NULL;
  __attribute__((cleanup(doubler_fini)))
  doubler x = {.split = ir_config_int(c->node, "tir.InjectDoubleBuffer.split_loop", o->split_loop)};
  if (!tir_has_attr(f->body, "double_buffer_scope")) return f;
  if (tn_post_order(f->body, find_scope, &x)) return NULL;
  if (x.pairs.len == 0) return f;
  TN_MUT(m, cases, &x);
  TN_GETP(f, tir_with_body(f, tn_mut_visit(&m, f->body)));
  return x.any ? tir_convert_ssa(f, c) : f;
}
