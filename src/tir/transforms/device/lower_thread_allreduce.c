/* Reductions over threads become steps that threads take together.

     T.tvm_thread_allreduce(1, A[tx], True, R[0], tx)       (8 threads)
       ->
     red_buf0[tx] = A[tx]
     T.tvm_storage_sync("shared")
     if tx < 4:
       red_buf0[tx] = red_buf0[tx] + red_buf0[tx + 4]
     T.tvm_storage_sync("shared")
     ...                                                     (2, 1)

   and R[0] is red_buf0[0] from there on. The arguments are the number of values reduced together,
   the values, a condition for taking part, where the results go, and the thread axes; the combiner
   is that of the attribute "reduce_scope" around it, which stays. Where the target has warps values
   are exchanged within them (allreduce_warp.c). After ThreadSync. */
#include <stdlib.h>
#include <string.h>

#include "arith/analyzer.h"
#include "tir/transforms/device/allreduce_impl.h"

typedef struct {
  tn_vec axes;      /* AttrStmt that launch threads, outermost first */
  tn_vec combiners; /* CommReducer of "reduce_scope", innermost last */
  tn_pmap loads;    /* data pointer of a result -> BufferLoad that replaces it */
  tn_pmap storage;  /* the same -> Buffer that replaces its allocation */
  int64_t warp, max_threads;
  bool masked; /* shuffles take a mask */
  bool has_shuffles;
  int loops; /* within the kernel */
} lowerer;

/* ---- building blocks ---- */

tn_arr *allreduce_combine(const allreduce *r, const tn_arr *a, const tn_arr *b) {
  TN_PMAP(vars);
  TN_VEC(v);
  for (int64_t i = 0; i < r->size; ++i) {
    TN_TRYP(tn_pmap_put(&vars, tn_arr_obj(r->combiner->lhs, i), tn_arr_obj(a, i)));
    TN_TRYP(tn_pmap_put(&vars, tn_arr_obj(r->combiner->rhs, i), tn_arr_obj(b, i)));
  }
  for (int64_t i = 0; i < r->size; ++i) {
    tn_expr *e = tir_substitute(tn_arr_obj(r->combiner->result, i), &vars);
    if (!e || tn_vec_push_obj(&v, e)) return NULL;
  }
  return tn_arr_from(&v);
}

int allreduce_do(allreduce *r, tn_stmt *s) { return s ? tn_vec_push_obj(&r->body, s) : -1; }

tn_arr *allreduce_loads(tn_Buffer *const *buffers, int64_t n, tn_expr *index) {
  TN_VEC(v);
  for (int64_t i = 0; i < n; ++i) {
    tn_expr *e = index ? tir_load(buffers[i], tn_arr_of(1, index)) : NULL;
    if (!e || tn_vec_push_obj(&v, e)) return NULL;
  }
  return tn_arr_from(&v);
}

tn_stmt *allreduce_stores(tn_Buffer *const *buffers, const tn_arr *values, tn_expr *index) {
  TN_VEC(v);
  for (int64_t i = 0; i < values->len; ++i) {
    tn_stmt *s =
        index ? tir_store(buffers[i], (tn_expr *)tn_arr_obj(values, i), tn_arr_of(1, index)) : NULL;
    if (!s || tn_vec_push_obj(&v, s)) return NULL;
  }
  return tir_seq(&v);
}

tn_stmt *allreduce_if(tn_expr *cond, tn_stmt *s) {
  if (!cond || !s) return NULL;
  return (tn_stmt *)TN_NEW(IfThenElse, .condition = cond, .then_case = s);
}

/* ---- through shared memory ---- */

/* Place of a thread's value; those of one reduction are neighbours. */
static tn_expr *place(const allreduce *r, tn_expr *index) {
  tn_expr *e = index;
  if (r->groups > 1) e = tir_add(tir_mul(r->group, tir_i32((int32_t)r->extent)), index);
  TN_ARITH(known);
  return e ? arith_simplify(&known, e) : NULL;
}

static tn_arr *combined(const allreduce *r, tn_Buffer *const *b, int64_t offset) {
  tn_arr *mine = allreduce_loads(b, r->size, place(r, r->index)),
         *theirs =
             allreduce_loads(b, r->size, place(r, tir_add(r->index, tir_i32((int32_t)offset))));
  return mine && theirs ? allreduce_combine(r, mine, theirs) : NULL;
}

/* The first `threads` take the values `offset` behind; all wait. */
static int halve(allreduce *r, tn_Buffer *const *b, int64_t threads, int64_t offset) {
  tn_arr *sums = combined(r, b, offset);
  tn_stmt *s = sums ? allreduce_stores(b, sums, place(r, r->index)) : NULL;
  TN_TRY(allreduce_do(r, allreduce_if(tir_lt(r->index, tir_i32((int32_t)threads)), s)));
  return allreduce_do(r, tir_sync("shared"));
}

/* The same within a warp: what is read and written by several is read first. */
static tn_stmt *warp_step(allreduce *r, tn_Buffer *const *b, int64_t offset) {
  tn_arr *sums = combined(r, b, offset);
  TN_VEC(vars);
  TN_VEC(seq);
  for (int64_t i = 0; sums && i < r->size; ++i) {
    tn_str *name = tn_str_fmt("w_%lld_%lld", (long long)offset, (long long)i);
    tn_Var *v = name ? tir_var(tn_cstr(name), ((tn_expr *)tn_arr_obj(sums, i))->dtype) : NULL;
    if (!v || tn_vec_push_obj(&vars, v)) return NULL;
  }
  tn_arr *all = sums ? tn_arr_from(&vars) : NULL;
  tn_stmt *store = all ? allreduce_stores(b, all, place(r, r->index)) : NULL;
  tn_stmt *parts[] = {tir_sync("warp"), store, tir_sync("warp")};
  for (int i = 0; i < TN_COUNT(parts); ++i)
    if (!parts[i] || tn_vec_push_obj(&seq, parts[i])) return NULL;
  tn_stmt *body = tir_seq(&seq);
  for (int64_t i = 0; body && i < r->size; ++i)
    body = (tn_stmt *)TN_NEW(LetStmt, .var = (tn_Var *)tn_arr_obj(all, i),
                             .value = (tn_expr *)tn_arr_obj(sums, i), .body = body);
  return body;
}

static int finish_in_warp(allreduce *r, tn_Buffer *const *b, int64_t align) {
  TN_VEC(seq);
  tn_expr *cond = tir_lt(r->index, tir_i32((int32_t)(align / 2)));
  while (align > 1) {
    tn_stmt *s = warp_step(r, b, align /= 2);
    if (!s || tn_vec_push_obj(&seq, s)) return -1;
  }
  TN_TRY(allreduce_do(r, allreduce_if(cond, tir_seq(&seq))));
  return allreduce_do(r, tir_sync("shared"));
}

static int by_shared_memory(allreduce *r, bool again) {
  tn_Buffer *b[MAX_REDUCED];
  tn_str *name;
  for (int64_t i = 0; i < r->size; ++i) {
    TN_GET(name, tn_str_fmt("red_buf%lld", (long long)i));
    TN_GET(b[i], tir_scratch(tn_cstr(name), ((tn_expr *)tn_arr_obj(r->values, i))->dtype,
                             r->groups * r->extent, "shared"));
  }
  /* in a loop the last result may still be read */
  if (again) TN_TRY(allreduce_do(r, tir_sync("shared")));
  TN_TRY(allreduce_do(r, allreduce_stores(b, r->values, place(r, r->index))));
  TN_TRY(allreduce_do(r, tir_sync("shared")));
  int64_t align = 1;
  while (align < r->extent) align *= 2;
  if (align > r->extent) {
    align /= 2;
    TN_TRY(halve(r, b, r->extent - align, align));
  }
  bool aligned = r->groups == 1 || r->neighbours % r->warp == 0;
  while (align > 1 && (align > r->neighbours || align > r->warp || !aligned)) {
    align /= 2;
    TN_TRY(halve(r, b, align, align));
  }
  if (align > 1) TN_TRY(finish_in_warp(r, b, align));
  for (int64_t i = 0; i < r->size; ++i) {
    tn_expr *load = tir_load(b[i], tn_arr_of(1, place(r, tir_i32(0))));
    if (!load || tn_vec_push_obj(&r->results, load)) return -1;
  }
  return 0;
}

/* ---- the call ---- */

typedef struct {
  tn_Var *var;
  int64_t extent;
  int dim;
  bool reduced;
} axis;

static int by_dim(const void *a, const void *b) {
  return ((const axis *)a)->dim - ((const axis *)b)->dim;
}

static bool among(const tn_Call *call, int64_t first, const tn_Var *v) {
  for (int64_t i = first; i < call->args->len; ++i)
    if (tn_arr_obj(call->args, i) == (const tn_obj *)v) return true;
  return false;
}

/* The thread axes in use, x first. -1 with an error. */
static int find_axes(lowerer *x, const tn_Call *call, int64_t first, axis *out) {
  int n = 0, matched = 0, wanted = 0;
  for (int64_t i = first; i < call->args->len; ++i) wanted += TN_IS(Var, tn_arr_obj(call->args, i));
  for (int64_t i = 0; i < x->axes.len; ++i) {
    const tn_AttrStmt *s = (const tn_AttrStmt *)x->axes.items[i].v.obj;
    const tn_IterVar *iv = tir_launched_axis(s);
    axis a = {.var = iv->var, .dim = tir_axis_dim(tn_cstr(iv->thread_tag))};
    if (!tir_is_thread_axis(tn_cstr(iv->thread_tag)) || n == 3) continue;
    TN_CHECK(tir_as_int((tn_obj *)s->value, &a.extent), ValueError, s->span,
             "tvm_thread_allreduce: Need constant extent for reduce set %s",
             tn_cstr(iv->thread_tag));
    a.reduced = among(call, first, a.var);
    matched += a.reduced;
    if (a.extent != 1) out[n++] = a;
  }
  TN_CHECK(matched == wanted, ValueError, call->span,
           "tvm_thread_allreduce: Not all reduce index are presented in the context");
  qsort(out, (size_t)n, sizeof *out, by_dim);
  return n;
}

/* Axes of one kind as one index, x fastest. */
static int flatten(const axis *a, int n, bool reduced, tn_expr **index, int64_t *extent) {
  *extent = 1;
  TN_GET(*index, tir_i32(0));
  for (int i = 0; i < n; ++i) {
    if (a[i].reduced != reduced) continue;
    TN_GET(*index, tir_add(*index, tir_mul((tn_expr *)a[i].var, tir_i32((int32_t)*extent))));
    *extent *= a[i].extent;
  }
  return 0;
}

static int64_t neighbours(const axis *a, int n) {
  int64_t total = 1;
  for (int i = 0; i < n && a[i].reduced; ++i) total *= a[i].extent;
  return total;
}

static bool can_shuffle(const lowerer *x, const allreduce *r) {
  if (!x->has_shuffles || x->warp <= 1 || r->neighbours != r->extent) return false;
  for (int64_t i = 0; i < r->size; ++i) {
    tn_dtype t = ((tn_expr *)tn_arr_obj(r->values, i))->dtype;
    if (t.lanes != 1 || (t.bits != 16 && t.bits != 32 && t.bits != 64)) return false;
  }
  bool parts = x->warp % r->extent == 0, several = r->extent % x->warp == 0 &&
                                                   r->extent <= x->max_threads &&
                                                   r->extent / x->warp <= x->warp;
  return parts || several || (r->groups == 1 && r->extent <= x->warp);
}

static int read_values(allreduce *r, const tn_Call *call) {
  TN_VEC(v);
  tn_expr *cond = (tn_expr *)tn_arr_obj(call->args, 1 + r->size);
  for (int64_t i = 0; i < r->size; ++i) {
    tn_expr *e = (tn_expr *)tn_arr_obj(call->args, 1 + i);
    if (!tir_is_one(cond))
      e = tir_select(cond, e, (tn_expr *)tn_arr_obj(r->combiner->identity_element, i), NULL);
    if (!e || tn_vec_push_obj(&v, e)) return -1;
  }
  TN_GET(r->values, tn_arr_from(&v));
  return 0;
}

/* Where result i goes: the data pointer of a buffer. */
static const tn_Var *result_var(const tn_Call *call, int64_t i) {
  const tn_obj *o = tn_arr_obj(call->args, i);
  if (TN_IS(Cast, o)) o = (tn_obj *)((const tn_Cast *)o)->value;
  const tn_BufferLoad *l = TN_AS(BufferLoad, o);
  return l ? l->buffer->data : TN_AS(Var, o);
}

/* From here on the results are read where they are. */
static tn_stmt *finish(lowerer *x, allreduce *r, const tn_Call *call) {
  for (int64_t i = 0; i < r->size; ++i) {
    const tn_Var *to = result_var(call, 2 + r->size + i);
    tn_BufferLoad *load = (tn_BufferLoad *)r->results.items[i].v.obj;
    TN_CHECKP(to, ValueError, call->span,
              "tvm_thread_allreduce: expected an element of a buffer for the result");
    TN_TRYP(tn_pmap_put(&x->loads, to, load));
    TN_TRYP(tn_pmap_put(&x->storage, to, load->buffer));
  }
  tn_stmt *s = tir_seq(&r->body);
  for (int64_t i = r->buffers.len; s && i-- > 0;)
    s = tir_with_allocation((tn_Buffer *)r->buffers.items[i].v.obj, s);
  return s;
}

/* A single thread has the result. */
static tn_stmt *keep_values(const allreduce *r, const tn_Call *call) {
  TN_VEC(v);
  for (int64_t i = 0; i < r->size; ++i) {
    const tn_obj *o = tn_arr_obj(call->args, 2 + r->size + i);
    const tn_BufferLoad *l = TN_AS(BufferLoad, o);
    TN_CHECKP(l, ValueError, call->span,
              "tvm_thread_allreduce: expected an element of a buffer for the result");
    tn_stmt *s = tir_store(l->buffer, (tn_expr *)tn_arr_obj(r->values, i), l->indices);
    if (!s || tn_vec_push_obj(&v, s)) return NULL;
  }
  return tir_seq(&v);
}

static tn_stmt *lower(lowerer *x, allreduce *r, const tn_Call *call) {
  axis axes[3];
  int64_t size = 0;
  tir_as_int(tn_arr_obj(call->args, 0), &size);
  TN_CHECKP(x->combiners.len > 0, ValueError, call->span,
            "tvm_thread_allreduce outside of an attribute \"reduce_scope\"");
  r->combiner = (const tn_CommReducer *)x->combiners.items[x->combiners.len - 1].v.obj;
  r->size = r->combiner->result->len;
  TN_CHECKP(size == r->size && size <= MAX_REDUCED && call->args->len >= 2 + 2 * size, ValueError,
            call->span, "tvm_thread_allreduce: expected %lld values, got %lld", (long long)r->size,
            (long long)size);
  TN_TRYP(read_values(r, call));
  int n = find_axes(x, call, 2 + 2 * size, axes);
  if (n < 0) return NULL;
  TN_TRYP(flatten(axes, n, true, &r->index, &r->extent));
  TN_TRYP(flatten(axes, n, false, &r->group, &r->groups));
  if (r->extent == 1) return keep_values(r, call);
  r->neighbours = neighbours(axes, n);
  r->warp = x->warp, r->masked = x->masked;
  TN_TRYP(can_shuffle(x, r) ? allreduce_by_warps(r) : by_shared_memory(r, x->loops > 0));
  return finish(x, r, call);
}

/* ---- statements ---- */

static tn_stmt *lower_evaluate(tn_mut *m, tn_Evaluate *op) {
  tn_Evaluate *r = tn_mut_children(m, op);
  const tn_Call *call = r ? tir_as_call((tn_obj *)r->value, TIR_OP_tvm_thread_allreduce) : NULL;
  if (!call) return (tn_stmt *)r;
  allreduce a = {0};
  tn_stmt *s = lower(m->ctx, &a, call);
  tn_vec_fini(&a.body);
  tn_vec_fini(&a.buffers);
  tn_vec_fini(&a.results);
  return s;
}

static tn_stmt *lower_attr(tn_mut *m, tn_AttrStmt *op) {
  lowerer *x = m->ctx;
  if (tir_launched_axis(op)) {
    int loops = x->loops;
    x->loops = 0;
    TN_TRYP(tn_vec_push_obj(&x->axes, op));
    tn_stmt *s = tn_mut_children(m, op);
    x->axes.len -= 1;
    x->loops = loops;
    return s;
  }
  if (!tn_str_eq(op->attr_key, "reduce_scope")) return tn_mut_children(m, op);
  TN_CHECKP(TN_IS(CommReducer, op->node), ValueError, op->span,
            "reduce_scope: expected a CommReducer");
  TN_TRYP(tn_vec_push_obj(&x->combiners, op->node));
  tn_stmt *s = tn_mut_children(m, op);
  x->combiners.len -= 1;
  return s;
}

static tn_stmt *lower_loop(tn_mut *m, tn_stmt *op) {
  lowerer *x = m->ctx;
  x->loops += 1;
  tn_stmt *s = tn_mut_children(m, op);
  x->loops -= 1;
  return s;
}

static tn_obj *lower_load(tn_mut *m, tn_BufferLoad *op) {
  tn_obj *load = tn_pmap_get(&((lowerer *)m->ctx)->loads, op->buffer->data);
  return load ? load : tn_mut_children(m, op);
}

static tn_stmt *lower_allocate(tn_mut *m, tn_Allocate *op) {
  tn_Allocate *r = tn_mut_children(m, op);
  tn_Buffer *b = r ? tn_pmap_get(&((lowerer *)m->ctx)->storage, op->buffer_var) : NULL;
  if (!b) return (tn_stmt *)r;
  tn_stmt *body = r->body;
  if (tir_memory_of(tir_buffer_scope(b)) == TIR_MEMORY_SHARED)
    body = (tn_stmt *)TN_NEW(AttrStmt, .node = (tn_obj *)b->data,
                             .attr_key = tn_str_from("volatile_scope"), .value = tir_i32(1),
                             .body = body);
  tn_Allocate copy = *r;
  copy.buffer_var = b->data, copy.dtype = b->dtype, copy.extents = b->shape;
  copy.condition = tir_bool(true), copy.body = body;
  return tn_node_copy(&tn_type_Allocate, &copy);
}

static tn_stmt *lower_decl(tn_mut *m, tn_DeclBuffer *op) {
  tn_stmt *body = tn_mut_visit(m, op->body);
  tn_Buffer *b = tn_pmap_get(&((lowerer *)m->ctx)->storage, op->buffer->data);
  if (!body || (body == op->body && !b)) return body ? (tn_stmt *)op : NULL;
  return (tn_stmt *)TN_NEW(DeclBuffer, .buffer = b ? b : op->buffer, .body = body);
}

static void lowerer_fini(lowerer *x) {
  tn_vec_fini(&x->axes);
  tn_vec_fini(&x->combiners);
  tn_pmap_fini(&x->loads);
  tn_pmap_fini(&x->storage);
}

tn_PrimFunc *tir_lower_thread_allreduce(tn_PrimFunc *f, const tn_pass_ctx *c) {
  static const tn_mut_case cases[] = {
      TN_CASE(Evaluate, lower_evaluate), TN_CASE(AttrStmt, lower_attr),
      TN_CASE(For, lower_loop),          TN_CASE(While, lower_loop),
      TN_CASE(BufferLoad, lower_load),   TN_CASE(Allocate, lower_allocate),
      TN_CASE(DeclBuffer, lower_decl)};
  (void)c;
  const tn_obj *target = tir_func_attr(f, "target");
  TN_CHECKP(target, ValueError, f->span,
            "LowerThreadAllreduce: Require the target attribute: run tir.BindTarget first");
  int device = tir_target_device_type(target);
  bool cuda = device == kDLCUDA;
  __attribute__((cleanup(lowerer_fini)))
  lowerer x = {.warp = tir_target_option(target, "thread_warp_size", cuda ? 32 : 1),
               .max_threads = tir_target_option(target, "max_num_threads", cuda ? 1024 : 256),
               .has_shuffles = cuda || device == kDLMetal,
               .masked = cuda};
  TN_MUT(m, cases, &x);
  return tir_with_body(f, tn_mut_visit(&m, f->body));
}
