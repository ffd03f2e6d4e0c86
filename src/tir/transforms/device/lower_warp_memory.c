/* Memory of a warp becomes registers of its threads; what another thread has is fetched from it.

     W = T.allocate([32], "float32", "warp")        W = T.allocate([1], "float32", "local")
     W[tx] = A[tx]                             ->   W[0] = A[tx]
     B[tx] = W[(tx + 1) % 32]                       B[tx] = T.tvm_warp_shuffle(mask, W[0],
                                                                        (tx + 1) % 32, 32, 32)

   The threads of a warp are neighbours along threadIdx.x. Each keeps the elements it writes: a
   store is to m * threadIdx.x + local, 0 <= local < m, or to that plus multiples of m * warp. On
   the device, after SplitHostDevice. */
#include <string.h>

#include "arith/analyzer.h"
#include "tir/device.h"
#include "tir/transforms/transforms.h"

/* One allocation. */
typedef struct {
  tn_Buffer *local; /* of the first buffer over it; others are made like it */
  int64_t m;        /* neighbouring elements of one thread */
  int64_t groups;   /* number of copies of the warp's part of the memory */
  int64_t width;    /* threads that have a part */
  tn_Var *data, *registers;
} warp_memory;

typedef struct {
  arith_analyzer known;
  tn_Var *thread; /* threadIdx.x */
  int64_t threads, warp;
  warp_memory *at; /* the allocation under work */
  tn_pmap buffers; /* Buffer over it -> the same over registers */
  const char *problem;
} lowerer;

/* ---- who keeps what ---- */

/* The factor of threadIdx.x in an index that is linear in it, or 0. */
static int64_t factor_of(lowerer *x, tn_expr *index) {
  TN_PMAP(values);
  int64_t d = 0;
  const tn_Ramp *r = TN_AS(Ramp, index);
  tn_expr *at = r ? r->base : index, *next = tir_add((tn_expr *)x->thread, tir_i32(1));
  if (!next || tn_pmap_put(&values, x->thread, next)) return 0;
  tn_expr *moved = tir_substitute_fold(at, &values);
  tn_expr *step = moved ? arith_simplify(&x->known, tir_sub(moved, at)) : NULL;
  return step && tir_as_int((tn_obj *)step, &d) && d > 0 ? d : 0;
}

static int look_store(void *ctx, tn_obj *o) {
  lowerer *x = ctx;
  const tn_BufferStore *s = TN_AS(BufferStore, o);
  if (!s || s->buffer->data != x->at->data) return 0;
  int64_t m = s->indices->len == 1 ? factor_of(x, (tn_expr *)tn_arr_obj(s->indices, 0)) : 0;
  if (m == 0 || (x->at->m != 0 && x->at->m != m))
    x->problem = "is written at places that are not one multiple of threadIdx.x apart";
  x->at->m = m;
  return 0;
}

static int plan(lowerer *x, const tn_Allocate *s, warp_memory *w) {
  int64_t size = 1, n;
  for (int64_t i = 0; i < s->extents->len; ++i) {
    TN_CHECK(tir_as_int(tn_arr_obj(s->extents, i), &n), ValueError, s->span,
             "warp memory %s must have a constant size", tn_cstr(s->buffer_var->name));
    size *= n;
  }
  x->problem = NULL;
  TN_TRY(tn_pre_order(s->body, look_store, x) < 0);
  if (!x->thread) x->problem = "is used where no threadIdx.x is";
  if (x->warp <= 1) x->problem = "needs a target with warps (option thread_warp_size)";
  if (!x->problem && w->m == 0) x->problem = "is never written";
  TN_CHECK(!x->problem, ValueError, s->span, "LowerWarpMemory: %s %s", tn_cstr(s->buffer_var->name),
           x->problem);
  w->width = x->threads < x->warp ? x->threads : x->warp;
  w->groups = (size + w->m * w->width - 1) / (w->m * w->width);
  return 0;
}

/* ---- accesses ---- */

/* The element among a thread's own, and the thread that has it. */
static int split_index(lowerer *x, tn_expr *index, tn_expr **own, tn_expr **lane) {
  const warp_memory *w = x->at;
  tn_expr *m = tir_const_int(index->dtype, w->m);
  *own = tir_floormod(index, m);
  if (w->groups == 1) {
    *lane = tir_floordiv(index, m);
  } else {
    tn_expr *all = tir_const_int(index->dtype, w->m * w->width);
    *own = tir_add(tir_mul(tir_floordiv(index, all), m), *own);
    *lane = tir_floordiv(tir_floormod(index, all), m);
  }
  if (!*own || !*lane) return -1;
  TN_GET(*own, arith_simplify(&x->known, *own));
  TN_GET(*lane, arith_simplify(&x->known, *lane));
  return 0;
}

/* Vectors are of elements that one thread has. */
static int split_access(lowerer *x, const tn_arr *indices, tn_expr **own, tn_expr **lane) {
  tn_expr *index = (tn_expr *)tn_arr_obj(indices, 0);
  const tn_Ramp *r = TN_AS(Ramp, index);
  TN_CHECK(indices->len == 1, InternalError, index->span,
           "buffers must be flat before warp memory is lowered");
  TN_TRY(split_index(x, r ? r->base : index, own, lane));
  if (r)
    TN_GET(*own, (tn_expr *)TN_MAKE(Ramp, .base = *own, .stride = r->stride, .lanes = r->lanes));
  return 0;
}

static tn_Buffer *over_registers(lowerer *x, tn_Buffer *b) {
  tn_Buffer *have = tn_pmap_get(&x->buffers, b);
  if (have) return have;
  tn_Buffer copy = *b;
  copy.data = x->at->registers;
  TN_GETP(copy.shape, tn_arr_of(1, tir_i32((int32_t)(x->at->m * x->at->groups))));
  TN_GETP(have, tn_node_copy(&tn_type_Buffer, &copy));
  return tn_pmap_put(&x->buffers, b, have) ? NULL : have;
}

static tn_obj *lower_store(tn_mut *m, tn_BufferStore *op) {
  lowerer *x = m->ctx;
  tn_expr *own, *lane;
  if (!x->at || op->buffer->data != x->at->data) return tn_mut_children(m, op);
  tn_expr *value = tn_mut_visit(m, op->value);
  tn_Buffer *b = value ? over_registers(x, op->buffer) : NULL;
  if (!b || split_access(x, op->indices, &own, &lane)) return NULL;
  return (tn_obj *)tir_store(b, value, tn_arr_of(1, own));
}

static tn_obj *lower_load(tn_mut *m, tn_BufferLoad *op) {
  lowerer *x = m->ctx;
  tn_expr *own, *lane;
  if (!x->at || op->buffer->data != x->at->data) return tn_mut_children(m, op);
  tn_arr *indices = tn_mut_visit(m, op->indices);
  tn_Buffer *b = indices ? over_registers(x, op->buffer) : NULL;
  if (!b || split_access(x, indices, &own, &lane)) return NULL;
  TN_CHECKP(!tir_uses_var(own, x->thread), ValueError, op->span,
            "LowerWarpMemory: Local index depends on the thread where %s is read",
            tn_cstr(op->buffer->name));
  tn_expr *load = tir_load(b, tn_arr_of(1, own));
  if (!load || arith_prove_equal(&x->known, lane, (tn_expr *)x->thread)) return (tn_obj *)load;
  tn_expr *mask = tir_call(tn_dtype_of(kDLUInt, 32, 1), TIR_OP_tvm_warp_activemask, 0);
  return (tn_obj *)tir_call(load->dtype, TIR_OP_tvm_warp_shuffle, 5, mask, load, lane,
                            tir_i32((int32_t)x->at->width), tir_i32((int32_t)x->warp));
}

static tn_obj *lower_decl(tn_mut *m, tn_DeclBuffer *op) {
  lowerer *x = m->ctx;
  if (!x->at || op->buffer->data != x->at->data) return tn_mut_children(m, op);
  tn_Buffer *b = over_registers(x, op->buffer);
  tn_stmt *body = b ? tn_mut_visit(m, op->body) : NULL;
  return body ? (tn_obj *)TN_NEW(DeclBuffer, .buffer = b, .body = body) : NULL;
}

/* ---- statements ---- */

/* Allocations inside come first: one is under work at a time. */
static tn_obj *lower_allocate(tn_mut *m, tn_Allocate *op) {
  static const tn_mut_case cases[] = {TN_CASE(BufferStore, lower_store),
                                      TN_CASE(BufferLoad, lower_load),
                                      TN_CASE(DeclBuffer, lower_decl)};
  lowerer *x = m->ctx;
  tn_Allocate *r = tn_mut_children(m, op);
  if (!r || strcmp(tir_var_scope(op->buffer_var), "warp") != 0) return (tn_obj *)r;
  warp_memory w = {.data = op->buffer_var};
  x->at = &w;
  TN_TRYP(plan(x, r, &w));
  TN_GETP(w.registers,
          tir_pointer_var(tn_cstr(op->buffer_var->name), ir_with_lanes(op->dtype, 1), "local"));
  TN_MUT(accesses, cases, x);
  tn_stmt *body = tn_mut_visit(&accesses, r->body);
  x->at = NULL;
  return (tn_obj *)TN_NEW(Allocate, .buffer_var = w.registers, .dtype = r->dtype,
                          .extents = tn_arr_of(1, tir_i32((int32_t)(w.m * w.groups))),
                          .condition = tir_bool(true), .body = body, .annotations = r->annotations);
}

static tn_obj *enter_launch(tn_mut *m, tn_AttrStmt *op) {
  lowerer *x = m->ctx;
  const tn_IterVar *axis = tir_launched_axis(op);
  if (!axis || strcmp(tn_cstr(axis->thread_tag), "threadIdx.x") != 0) return tn_mut_children(m, op);
  tn_Range *r = tir_range(tir_zero(axis->var->dtype), op->value);
  if (!r || arith_bind_range(&x->known, axis->var, r, true)) return NULL;
  x->thread = axis->var;
  if (!tir_as_int((tn_obj *)op->value, &x->threads)) x->threads = x->warp;
  return tn_mut_children(m, op);
}

static tn_obj *enter_loop(tn_mut *m, tn_For *op) {
  lowerer *x = m->ctx;
  tn_Range *r = tir_range(op->min, op->extent);
  if (!r || arith_bind_range(&x->known, op->loop_var, r, true)) return NULL;
  return tn_mut_children(m, op);
}

tn_PrimFunc *tir_lower_warp_memory(tn_PrimFunc *f, const tn_pass_ctx *c) {
  static const tn_mut_case cases[] = {TN_CASE(Allocate, lower_allocate),
                                      TN_CASE(AttrStmt, enter_launch), TN_CASE(For, enter_loop)};
  (void)c;
  const tn_obj *target = tir_func_attr(f, "target");
  TN_CHECKP(target, ValueError, f->span,
            "LowerWarpMemory: Require the target attribute: run tir.BindTarget first");
  bool cuda = tir_target_device_type(target) == kDLCUDA;
  lowerer x = {.warp = tir_target_option(target, "thread_warp_size", cuda ? 32 : 1)};
  TN_MUT(m, cases, &x);
  tn_stmt *body = tn_mut_visit(&m, f->body);
  arith_fini(&x.known);
  tn_pmap_fini(&x.buffers);
  return tir_with_body(f, body);
}
