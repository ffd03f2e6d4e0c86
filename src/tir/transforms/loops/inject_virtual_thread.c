/* Virtual threads become part of the program: what depends on the thread is done for each thread in
   turn, the smallest statement at a time, and each has its own part of the arrays that differ.

     with T.attr(vx, "virtual_thread", 2):      B = T.allocate([16])
       B = T.allocate([8])                      for i in range(8):
       for i in range(8):                  ->     B[i] = A[i]
         B[i] = A[vx * 8 + i]                     B[i + 8] = A[i + 8]

   Few threads are written out in the innermost loops, otherwise they become a loop. What does not
   depend on the thread is done once. After vectorization: buffers are flat. */
#include <string.h>

#include "base/vec.h"
#include "tir/transforms/transforms.h"

enum { WRITE_OUT = 16 }; /* fewer threads than this are written out */

typedef struct {
  tn_Var *var;
  int64_t n;
  tn_pmap touched; /* variables and arrays that differ between threads */
  tn_pmap strides; /* tn_Var of an array with a part for each thread -> elements of a part */
  bool share;      /* arrays that are the same in all threads are one */
  bool seen;       /* the expression just visited differs between threads */
  bool base;       /* the statement just visited is to be repeated in any case */
  bool repeated;   /* inside a statement that is repeated */
  int64_t depth;   /* of loops in the statement just visited */
} injector;

/* ---- what differs ---- */

typedef struct {
  injector *x;
  tn_vec writes; /* variable and what it is computed from, in turns */
} analysis;

static int is_touched(void *ctx, tn_obj *node) {
  const tn_BufferLoad *l = TN_AS(BufferLoad, node);
  return tn_pmap_has(ctx, l ? (const void *)l->buffer->data : (const void *)node);
}

static int note(analysis *a, const void *var, const void *from) {
  TN_TRY(tn_vec_push_obj(&a->writes, var));
  return tn_vec_push_obj(&a->writes, from);
}

/* The array that a pointer made by access_ptr is to be written through, or NULL. */
static const tn_obj *written_through(tn_obj *node) {
  const tn_Call *p = tir_as_call(node, TIR_OP_tvm_access_ptr) ? (const tn_Call *)node : NULL;
  int64_t mask = 0;
  bool writes = p && p->args->len == 5 && tir_as_int(tn_arr_obj(p->args, 4), &mask) && (mask & 2);
  return writes ? tn_arr_obj(p->args, 1) : NULL;
}

/* What a call writes through a pointer may come from all its arguments. */
static int note_call(analysis *a, tn_Call *op) {
  const tn_obj *v = written_through((tn_obj *)op);
  if (v) TN_TRY(note(a, v, tn_arr_obj(op->args, 2)));
  for (int64_t i = 0; i < op->args->len; ++i) {
    v = written_through(tn_arr_obj(op->args, i));
    if (v) TN_TRY(note(a, v, op));
  }
  return 0;
}

static int note_write(void *ctx, tn_obj *node) {
  analysis *a = ctx;
  const tn_BufferStore *s = TN_AS(BufferStore, node);
  const tn_LetStmt *l = TN_AS(LetStmt, node);
  const tn_For *f = TN_AS(For, node);
  const tn_Allocate *b = TN_AS(Allocate, node);
  if (l) return note(a, l->var, l->value);
  if (b) return note(a, b->buffer_var, b->extents);
  if (f) return note(a, f->loop_var, f->min) || note(a, f->loop_var, f->extent);
  if (s) return note(a, s->buffer->data, s->value) || note(a, s->buffer->data, s->indices);
  return TN_AS(Call, node) ? note_call(a, (tn_Call *)node) : 0;
}

static int find_touched(injector *x, const tn_stmt *body) {
  analysis a = {.x = x};
  int err = tn_pmap_put_int(&x->touched, x->var, 1) || tn_post_order(body, note_write, &a);
  for (bool more = true; more && !err;) {
    more = false;
    for (int64_t i = 0; i < a.writes.len && !err; i += 2) {
      const void *v = a.writes.items[i].v.obj;
      if (tn_pmap_has(&x->touched, v)) continue;
      int found = tn_post_order(a.writes.items[i + 1].v.obj, is_touched, &x->touched);
      if (found < 0) err = -1;
      if (found > 0) more = true, err = tn_pmap_put_int(&x->touched, v, 1);
    }
  }
  tn_vec_fini(&a.writes);
  return err;
}

/* ---- expressions ---- */

static tn_obj *use_var(tn_mut *m, tn_obj *v) {
  injector *x = m->ctx;
  TN_CHECKP(!tn_pmap_has(&x->strides, v), ValueError, ((tn_Var *)v)->span,
            "Buffer address may get rewritten in virtual thread: %s is used as a pointer",
            tn_cstr(((tn_Var *)v)->name));
  if (tn_pmap_has(&x->touched, v)) x->seen = true;
  return v;
}

/* Seen through the mapper's memory of shared nodes: one for each. */
static tn_obj *use_buffer(tn_mut *m, tn_Buffer *b) {
  const injector *x = m->ctx;
  tn_expr *stride = tn_pmap_get(&x->strides, b->data);
  if (!stride || b->shape->len != 1) return (tn_obj *)b;
  tn_Buffer copy = *b;
  tn_expr *n = (tn_expr *)tn_arr_obj(b->shape, 0);
  TN_GETP(copy.shape, tn_arr_of(1, tir_mul(n, tir_const_int(n->dtype, x->n))));
  return tn_node_copy(&tn_type_Buffer, &copy);
}

/* Indices of the thread's part. */
static tn_arr *in_part(injector *x, const tn_Buffer *b, tn_arr *indices) {
  tn_expr *stride = tn_pmap_get(&x->strides, b->data);
  if (!stride) return indices;
  TN_CHECKP(indices->len == 1, ValueError, b->span,
            "InjectVirtualThread: buffer %s must be flat, got %lld axes", tn_cstr(b->name),
            (long long)indices->len);
  tn_expr *i = (tn_expr *)tn_arr_obj(indices, 0);
  tn_expr *at = tir_mul((tn_expr *)x->var, tir_cast(x->var->dtype, stride, NULL));
  x->seen = true;
  return tn_arr_of(1, tir_index_add(i, at ? tir_cast(ir_with_lanes(i->dtype, 1), at, NULL) : NULL));
}

static tn_obj *use_load(tn_mut *m, tn_BufferLoad *op) {
  injector *x = m->ctx;
  tn_Buffer *b = tn_mut_visit(m, op->buffer);
  tn_arr *indices = tn_mut_visit(m, op->indices);
  if (!b || !indices) return NULL;
  if (tn_pmap_has(&x->touched, op->buffer->data)) x->seen = true;
  TN_GETP(indices, in_part(x, op->buffer, indices));
  return b == op->buffer && indices == op->indices ? (tn_obj *)op : (tn_obj *)tir_load(b, indices);
}

/* (type, data, offset, extent, mask) */
static tn_obj *use_call(tn_mut *m, tn_Call *op) {
  injector *x = m->ctx;
  bool access = tir_as_call((tn_obj *)op, TIR_OP_tvm_access_ptr) && op->args->len == 5;
  tn_expr *stride = access ? tn_pmap_get(&x->strides, tn_arr_obj(op->args, 1)) : NULL;
  if (!stride) return tn_mut_children(m, op);
  tn_expr *offset = tn_mut_visit(m, tn_arr_obj(op->args, 2)),
          *extent = tn_mut_visit(m, tn_arr_obj(op->args, 3));
  tn_expr *at = tir_mul(stride, tir_cast(stride->dtype, (tn_expr *)x->var, NULL));
  x->seen = true;
  tn_Call copy = *op;
  TN_GETP(copy.args, tn_arr_of(5, tn_arr_obj(op->args, 0), tn_arr_obj(op->args, 1),
                               tir_add(offset, at), extent, tn_arr_obj(op->args, 4)));
  return tn_node_copy(&tn_type_Call, &copy);
}

/* ---- repeating ---- */

static tn_stmt *for_thread(injector *x, tn_stmt *s, tn_expr *thread) {
  TN_PMAP(vars);
  if (!thread || tn_pmap_put(&vars, x->var, thread)) return NULL;
  return tir_substitute_fold(s, &vars);
}

/* The statement for each thread. `visit`: it was not visited yet. */
static tn_stmt *repeat(tn_mut *m, tn_stmt *s, bool visit) {
  injector *x = m->ctx;
  TN_VEC(v);
  x->seen = x->base = false;
  x->repeated = true;
  if (visit) s = tn_mut_visit(m, s);
  x->repeated = x->seen = x->base = false;
  if (!s) return NULL;
  if (x->depth == 0 && x->n < WRITE_OUT) {
    for (int64_t i = 0; i < x->n; ++i)
      TN_TRYP(tn_vec_push_obj(&v, for_thread(x, s, tir_const_int(x->var->dtype, i))));
    return tn_error_pending() ? NULL : tir_seq(&v);
  }
  tn_str *name = tn_str_fmt("%s.s", tn_cstr(x->var->name));
  tn_Var *i = name ? tir_var(tn_cstr(name), x->var->dtype) : NULL;
  return (tn_stmt *)TN_MAKE(For, .loop_var = i, .min = tir_zero(x->var->dtype),
                            .extent = tir_const_int(x->var->dtype, x->n), .kind = TIR_FOR_SERIAL,
                            .body = for_thread(x, s, (tn_expr *)i),
                            .annotations = tn_scope_own(tn_map_new()));
}

/* Visits an operand of a statement. *differs: between threads, and nothing around is repeated. */
static void *operand(tn_mut *m, const void *e, bool *differs) {
  injector *x = m->ctx;
  void *r = tn_mut_visit(m, e);
  *differs |= x->seen && !x->repeated;
  x->seen = false;
  return r;
}

/* A store or evaluation. */
static tn_stmt *leaf(tn_mut *m, tn_stmt *r) {
  injector *x = m->ctx;
  if (!r) return NULL;
  bool again = (x->seen || x->base) && !x->repeated;
  x->seen = x->base = false;
  return again ? repeat(m, r, false) : r;
}

static tn_stmt *visit_store(tn_mut *m, tn_BufferStore *op) {
  injector *x = m->ctx;
  tn_Buffer *b = tn_mut_visit(m, op->buffer);
  tn_arr *indices = tn_mut_visit(m, op->indices);
  tn_expr *value = tn_mut_visit(m, op->value);
  if (!b || !indices || !value) return NULL;
  if (tn_pmap_has(&x->touched, op->buffer->data)) x->seen = true;
  x->base = !x->share;
  TN_GETP(indices, in_part(x, op->buffer, indices));
  bool same = b == op->buffer && indices == op->indices && value == op->value;
  return leaf(m, same ? (tn_stmt *)op : tir_store(b, value, indices));
}

static tn_stmt *visit_evaluate(tn_mut *m, tn_Evaluate *op) {
  injector *x = m->ctx;
  tn_stmt *r = tn_mut_children(m, op);
  if (!x->share) x->base = true;
  return leaf(m, r);
}

static tn_stmt *visit_for(tn_mut *m, tn_For *op) {
  injector *x = m->ctx;
  bool differs = false;
  tn_expr *min = operand(m, op->min, &differs), *extent = operand(m, op->extent, &differs);
  if (!min || !extent) return NULL;
  if (differs) {
    tn_stmt *r = repeat(m, (tn_stmt *)op, true);
    x->depth += 1;
    return r;
  }
  tn_stmt *body = tn_mut_visit(m, op->body);
  x->depth += 1;
  return tir_for_with(op, min, extent, body);
}

static tn_stmt *visit_if(tn_mut *m, tn_IfThenElse *op) {
  bool differs = false;
  injector *x = m->ctx;
  tn_IfThenElse copy = *op;
  int64_t depth;
  TN_GETP(copy.condition, operand(m, op->condition, &differs));
  if (differs) return repeat(m, (tn_stmt *)op, true);
  TN_GETP(copy.then_case, tn_mut_visit(m, op->then_case));
  depth = x->depth, x->depth = 0;
  if (op->else_case) TN_GETP(copy.else_case, tn_mut_visit(m, op->else_case));
  if (depth > x->depth) x->depth = depth;
  return tn_node_copy(&tn_type_IfThenElse, &copy);
}

/* Statements with one operand and a body: repeated as a whole when the operand differs. */
#define WITH_BODY(T, OPERAND)                                                                      \
  bool differs = false;                                                                            \
  tn_##T copy = *op;                                                                               \
  TN_GETP(copy.OPERAND, operand(m, op->OPERAND, &differs));                                        \
  if (differs) return repeat(m, (tn_stmt *)op, true);                                              \
  TN_GETP(copy.body, tn_mut_visit(m, op->body));                                                   \
  bool same = copy.OPERAND == op->OPERAND && copy.body == op->body;                                \
  return same ? (tn_stmt *)op : tn_node_copy(&tn_type_##T, &copy)

static tn_stmt *visit_let(tn_mut *m, tn_LetStmt *op) { WITH_BODY(LetStmt, value); }
static tn_stmt *visit_assert(tn_mut *m, tn_AssertStmt *op) { WITH_BODY(AssertStmt, condition); }
static tn_stmt *visit_attr(tn_mut *m, tn_AttrStmt *op) { WITH_BODY(AttrStmt, value); }
static tn_stmt *visit_while(tn_mut *m, tn_While *op) {
  injector *x = m->ctx;
  x->depth += 1;
  WITH_BODY(While, condition);
}

static tn_stmt *visit_sequence(tn_mut *m, tn_SeqStmt *op) {
  injector *x = m->ctx;
  TN_VEC(v);
  int64_t most = 0, before = x->depth;
  for (int64_t i = 0; i < op->seq->len; ++i) {
    x->depth = 0;
    tn_obj *s = tn_mut_visit(m, tn_arr_obj(op->seq, i));
    if (!s || tn_vec_push_obj(&v, s)) return NULL;
    if (x->depth > most) most = x->depth;
  }
  x->depth = before > most ? before : most;
  return tir_seq(&v);
}

static tn_stmt *visit_allocate(tn_mut *m, tn_Allocate *op) {
  injector *x = m->ctx;
  bool differs = false;
  tn_Allocate copy = *op;
  TN_GETP(copy.extents, operand(m, op->extents, &differs));
  TN_GETP(copy.condition, operand(m, op->condition, &differs));
  if (differs) return repeat(m, (tn_stmt *)op, true);
  if ((tn_pmap_has(&x->touched, op->buffer_var) || !x->share) && !x->repeated) {
    tn_expr *stride = tir_const_int(TN_I32, op->dtype.lanes);
    for (int64_t i = 0; i < op->extents->len; ++i)
      TN_GETP(stride, tir_mul(stride, (tn_expr *)tn_arr_obj(op->extents, i)));
    tn_expr *all = tir_mul(stride, tir_const_int(stride->dtype, x->n));
    if (op->dtype.lanes > 1)
      all = tir_floordiv(all, all ? tir_const_int(all->dtype, op->dtype.lanes) : NULL);
    TN_GETP(copy.extents, tn_arr_of(1, all));
    TN_TRYP(tn_pmap_put_int(&x->touched, op->buffer_var, 1));
    TN_TRYP(tn_pmap_put(&x->strides, op->buffer_var, stride));
  }
  TN_GETP(copy.body, tn_mut_visit(m, op->body));
  return tn_node_copy(&tn_type_Allocate, &copy);
}

static tn_stmt *visit_declaration(tn_mut *m, tn_DeclBuffer *op) {
  tn_DeclBuffer copy = *op;
  TN_GETP(copy.buffer, tn_mut_visit(m, op->buffer));
  TN_GETP(copy.body, tn_mut_visit(m, op->body));
  return tn_node_copy(&tn_type_DeclBuffer, &copy);
}

/* ---- the program ---- */

static tn_stmt *inject(tn_AttrStmt *op, const tn_IterVar *axis, int64_t n) {
  static const tn_mut_case cases[] = {TN_CASE(Var, use_var),
                                      TN_CASE(SizeVar, use_var),
                                      TN_CASE(BufferLoad, use_load),
                                      TN_CASE(Buffer, use_buffer),
                                      TN_CASE(Call, use_call),
                                      TN_CASE(BufferStore, visit_store),
                                      TN_CASE(Evaluate, visit_evaluate),
                                      TN_CASE(For, visit_for),
                                      TN_CASE(IfThenElse, visit_if),
                                      TN_CASE(LetStmt, visit_let),
                                      TN_CASE(AssertStmt, visit_assert),
                                      TN_CASE(AttrStmt, visit_attr),
                                      TN_CASE(While, visit_while),
                                      TN_CASE(SeqStmt, visit_sequence),
                                      TN_CASE(Allocate, visit_allocate),
                                      TN_CASE(DeclBuffer, visit_declaration)};
  injector x = {
      .var = axis->var, .n = n, .share = strncmp(tn_cstr(axis->thread_tag), "vthread", 7) == 0};
  TN_MUT(m, cases, &x);
  tn_stmt *r = find_touched(&x, op->body) ? NULL : tn_mut_visit(&m, op->body);
  tn_pmap_fini(&x.touched);
  tn_pmap_fini(&x.strides);
  return r;
}

static tn_stmt *lower_attr(tn_mut *m, tn_AttrStmt *op) {
  bool *any = m->ctx;
  int64_t n;
  tn_AttrStmt *r = tn_mut_children(m, op);
  if (!r || !tn_str_eq(r->attr_key, "virtual_thread")) return (tn_stmt *)r;
  const tn_IterVar *axis = TN_AS(IterVar, r->node);
  TN_CHECKP(axis && tir_as_int((tn_obj *)r->value, &n) && n > 0, ValueError, r->span,
            "virtual_thread: expected an iteration variable and a constant number of threads");
  *any = true;
  return inject(r, axis, n);
}

tn_PrimFunc *tir_inject_virtual_thread(tn_PrimFunc *f, const tn_pass_ctx *c) {
  static const tn_mut_case cases[] = {TN_CASE(AttrStmt, lower_attr)};
  bool any = false;
  if (!tir_has_attr(f->body, "virtual_thread")) return f;
  TN_MUT(m, cases, &any);
  TN_GETP(f, tir_with_body(f, tn_mut_visit(&m, f->body)));
  return any ? tir_convert_ssa(f, c) : f;
}
