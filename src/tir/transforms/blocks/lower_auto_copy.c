/* Marked blocks that copy between global and shared memory are shared out among the threads of
   their kernel, neighbouring elements to neighbouring threads.

     with T.block("A_shared"):                  with T.block("A_shared"):
       T.block_attr({"auto_copy": 1,              for ty in T.thread_binding(8, "threadIdx.y"):
                     "vector_bytes": 16})           for tx in T.thread_binding(32, "threadIdx.x"):
       for i, j in T.grid(64, 64):           ->       for step in range(4):
         A_shared[i, j] = A[i, k + j]                   for lane in T.vectorized(4):
                                                          A_shared[n // 16, n % 16 * 4 + lane] = ...

   where n = (step * 8 + ty) * 32 + tx. Vectors have as many elements as fit into
   "vector_bytes" and divide the innermost extent. With "local_stage" all that a thread copies goes
   through its registers: its loads come before its stores. A thread axis around the block that
   the copy or a condition around it depends on keeps its threads apart: it does not take part.

   All other marked blocks, copies between other memories among them, are left as they are: every
   thread does them itself. After CompactBufferAllocation, before UnifyThreadBinding, which makes
   one axis of those that are bound here and there. */
#include <string.h>

#include "tir/transforms/blocks/copy_nest.h"
#include "tir/device.h"
#include "tir/transforms/transforms.h"

enum { AXES = 3 };
static const char *const axis_tags[AXES] = {"threadIdx.x", "threadIdx.y", "threadIdx.z"};

typedef struct {
  int64_t extent[AXES];       /* threads of the kernel along each axis */
  const tn_Var *around[AXES]; /* variable of the loop over it that is around, NULL: none */
  bool apart[AXES]; /* threads along it need not all come here, or not with equal values */
  bool in_kernel;
} copier;

static int axis_of(const tn_IterVar *binding) {
  for (int i = 0; binding && i < AXES; ++i)
    if (tn_str_eq(binding->thread_tag, axis_tags[i])) return i;
  return -1;
}

static int find_extent(void *ctx, tn_obj *o) {
  copier *x = ctx;
  const tn_For *f = TN_AS(For, o);
  int axis = f && f->kind == TIR_FOR_THREAD_BINDING ? axis_of(f->thread_binding) : -1;
  int64_t n;
  if (axis >= 0 && tir_as_int((tn_obj *)f->extent, &n)) x->extent[axis] = n;
  return 0;
}

/* Visits what runs only if, as often as, or with values as expressions say. */
static tn_stmt *enter(tn_mut *m, const tn_stmt *op, const tn_expr *x, const tn_expr *y) {
  copier *c = m->ctx, saved = *c;
  for (int i = 0; i < AXES; ++i) {
    const tn_Var *v = c->around[i];
    if (v && (tir_uses_var(x, v) || (y && tir_uses_var(y, v)))) c->apart[i] = true;
  }
  tn_stmt *s = tn_mut_children(m, op);
  *c = saved;
  return s;
}
static tn_stmt *enter_if(tn_mut *m, tn_IfThenElse *op) {
  return enter(m, (tn_stmt *)op, op->condition, NULL);
}
static tn_stmt *enter_while(tn_mut *m, tn_While *op) {
  return enter(m, (tn_stmt *)op, op->condition, NULL);
}
static tn_stmt *enter_let(tn_mut *m, tn_LetStmt *op) {
  return enter(m, (tn_stmt *)op, op->value, NULL);
}
static tn_stmt *enter_realize(tn_mut *m, tn_BlockRealize *op) {
  return enter(m, (tn_stmt *)op, op->predicate, NULL);
}

static tn_stmt *enter_loop(tn_mut *m, tn_For *op) {
  copier *x = m->ctx, saved = *x;
  if (op->kind != TIR_FOR_THREAD_BINDING) return enter(m, (tn_stmt *)op, op->min, op->extent);
  int axis = axis_of(op->thread_binding);
  if (!x->in_kernel) {
    for (int i = 0; i < AXES; ++i) x->extent[i] = 1;
    TN_TRYP(tn_post_order(op, find_extent, x));
  }
  x->in_kernel = true;
  if (axis >= 0) x->around[axis] = op->loop_var;
  tn_stmt *s = tn_mut_children(m, op);
  *x = saved;
  return s;
}

/* ---- a copy ---- */

typedef struct {
  copy_nest nest;
  int64_t total, lanes, threads,
      steps; /* elements; of a vector; threads that take part; per thread */
  bool takes[AXES];
  tn_Var *step, *thread[AXES], *lane;
} copy;

static void copy_fini(copy *c) { tir_copy_nest_fini(&c->nest); }

static int64_t option(const tn_Block *b, const char *key) {
  int64_t n = 0;
  const tn_obj *v = tn_map_find(b->annotations, key);
  return v && tir_as_int(v, &n) ? n : 0;
}

static int64_t common(int64_t a, int64_t b) { return b ? common(b, a % b) : a; }

static bool is_memory(const tn_Buffer *b, tir_memory memory) {
  return tir_memory_of(tir_buffer_scope(b)) == memory;
}

/* Is it a copy between global and shared memory whose elements can be counted? */
static int plan(const copier *x, const tn_Block *b, copy *c) {
  int is_nest = tir_copy_nest(b->body, false, &c->nest);
  if (is_nest <= 0 || !c->nest.loops.len) return is_nest < 0 ? -1 : 0;
  const tn_BufferStore *s = c->nest.store;
  const tn_Cast *cast = TN_AS(Cast, s->value);
  const tn_BufferLoad *l = TN_AS(BufferLoad, cast ? cast->value : s->value);
  if (!l || s->value->dtype.lanes != 1) return 0;
  bool in = is_memory(s->buffer, TIR_MEMORY_SHARED) && is_memory(l->buffer, TIR_MEMORY_GLOBAL);
  bool out = is_memory(s->buffer, TIR_MEMORY_GLOBAL) && is_memory(l->buffer, TIR_MEMORY_SHARED);
  if (!in && !out) return 0;
  int64_t extent = 1;
  c->total = 1;
  for (int64_t i = 0; i < c->nest.loops.len; ++i) {
    const tn_For *f = tir_copy_loop(&c->nest, i);
    if (f->kind != TIR_FOR_SERIAL || !tir_is_zero(f->min) || f->annotations->len ||
        !tir_as_int((tn_obj *)f->extent, &extent) || extent <= 0 ||
        __builtin_mul_overflow(c->total, extent, &c->total) || c->total > INT32_MAX)
      return 0;
  }
  int64_t bytes = option(b, "vector_bytes") / (l->dtype.bits / 8 ? l->dtype.bits / 8 : 1);
  c->lanes = c->nest.condition ? 1 : common(extent, bytes > 1 ? bytes : 1);
  c->threads = 1;
  for (int i = 0; i < AXES; ++i) {
    c->takes[i] =
        x->extent[i] > 1 && !x->apart[i] && !(x->around[i] && tir_uses_var(b->body, x->around[i]));
    if (c->takes[i]) c->threads *= x->extent[i];
  }
  c->steps = (c->total + c->threads * c->lanes - 1) / (c->threads * c->lanes);
  return 1;
}

/* Number of the vector that a thread copies in a step. */
static tn_expr *vector_number(const copier *x, const copy *c) {
  tn_expr *e = (tn_expr *)c->step;
  for (int i = AXES; i-- > 0;)
    if (c->takes[i])
      e = tir_add(tir_mul(e, tir_i32((int32_t)x->extent[i])), (tn_expr *)c->thread[i]);
  return e;
}

static int bind_var(arith_analyzer *known, tn_Var *v, int64_t extent) {
  return arith_bind_range(known, v, tir_range(tir_i32(0), tir_i32((int32_t)extent)), false);
}

/* Loops of the copy -> their values for the element. */
static int place(const copier *x, const copy *c, tn_pmap *values) {
  TN_ARITH(known);
  int64_t stride = 1;
  TN_TRY(bind_var(&known, c->step, c->steps));
  for (int i = 0; i < AXES; ++i) TN_TRY(bind_var(&known, c->thread[i], x->extent[i]));
  TN_TRY(bind_var(&known, c->lane, c->lanes));
  tn_expr *number = vector_number(x, c);
  for (int64_t n = c->nest.loops.len, i = n; i-- > 0;) {
    const tn_For *loop = tir_copy_loop(&c->nest, i);
    int64_t extent = 1;
    tir_as_int((tn_obj *)loop->extent, &extent);
    if (i == n - 1) extent /= c->lanes; /* vectors, not elements */
    tn_expr *v = tir_floordiv(number, tir_i32((int32_t)stride));
    if (i > 0) v = tir_floormod(v, tir_i32((int32_t)extent));
    if (i == n - 1) v = tir_add(tir_mul(v, tir_i32((int32_t)c->lanes)), (tn_expr *)c->lane);
    if (v) v = arith_simplify(&known, tir_cast(loop->loop_var->dtype, v, NULL));
    if (!v) return -1;
    TN_TRY(tn_pmap_put(values, loop->loop_var, v));
    stride *= extent;
  }
  return 0;
}

static tn_stmt *loop_over(tn_Var *v, int64_t extent, tir_for_kind kind, const char *tag,
                          tn_stmt *body) {
  tn_IterVar *binding = NULL;
  if (!body || (extent == 1 && !tag)) {
    TN_PMAP(once);
    if (!body || tn_pmap_put(&once, v, tir_i32(0))) return NULL;
    return tir_substitute_fold(body, &once);
  }
  if (tag)
    TN_GETP(binding, TN_NEW(IterVar, .var = tir_var("", TN_I32), .iter_type = IR_ITER_THREAD_INDEX,
                            .thread_tag = tn_str_from(tag)));
  return (tn_stmt *)TN_NEW(For, .loop_var = v, .min = tir_i32(0),
                           .extent = tir_i32((int32_t)extent), .kind = (int32_t)kind, .body = body,
                           .thread_binding = binding, .annotations = tn_scope_own(tn_map_new()));
}

/* The loops of a thread around one store. */
static tn_stmt *per_thread(const copier *x, const copy *c, tn_stmt *body) {
  bool fits = c->steps * c->threads * c->lanes == c->total;
  body = loop_over(c->lane, c->lanes, TIR_FOR_VECTORIZED, NULL, body);
  if (!fits)
    body = (tn_stmt *)TN_NEW(
        IfThenElse, .then_case = body,
        .condition = tir_lt(vector_number(x, c), tir_i32((int32_t)(c->total / c->lanes))));
  return loop_over(c->step, c->steps, TIR_FOR_SERIAL, NULL, body);
}

/* One pass over what a thread copies: `s` for the element at hand. @param registers takes the place
 * of the target (first half of a staged copy) or of the value (second half); NULL: direct */
static tn_stmt *one_pass(const copier *x, copy *c, tn_Buffer *registers, bool first) {
  TN_PMAP(values);
  const tn_BufferStore *s = c->nest.store;
  TN_GETP(c->step, tir_var("step", TN_I32));
  TN_GETP(c->lane, tir_var("lane", TN_I32));
  TN_TRYP(place(x, c, &values));
  tn_expr *own =
      tir_add(tir_mul((tn_expr *)c->step, tir_i32((int32_t)c->lanes)), (tn_expr *)c->lane);
  tn_arr *at;
  TN_GETP(at, tn_arr_of(1, own));
  tn_stmt *body = registers && first ? tir_store(registers, s->value, at)
                  : registers        ? tir_store(s->buffer, tir_load(registers, at), s->indices)
                                     : (tn_stmt *)(uintptr_t)s;
  if (body && c->nest.condition)
    body = (tn_stmt *)TN_NEW(IfThenElse, .condition = c->nest.condition, .then_case = body);
  body = body ? tir_substitute_fold(body, &values) : NULL;
  return body ? per_thread(x, c, body) : NULL;
}

static tn_obj *shared_out(const copier *x, const tn_Block *b, copy *c) {
  static const char *const marks[] = {"auto_copy", "vector_bytes", "local_stage"};
  tn_Block made = *b;
  tn_Buffer *registers = NULL;
  tn_stmt *s;
  for (int i = 0; i < AXES; ++i) TN_GETP(c->thread[i], tir_var(axis_tags[i], TN_I32));
  if (option(b, "local_stage")) {
    tn_arr *shape;
    TN_VEC(buffers);
    TN_GETP(shape, tn_arr_of(1, tir_i32((int32_t)(c->steps * c->lanes))));
    TN_GETP(registers, tir_buffer(shape, c->nest.store->buffer->dtype, "copied", "local"));
    for (int64_t i = 0; i < b->alloc_buffers->len; ++i)
      TN_TRYP(tn_vec_push(&buffers, b->alloc_buffers->items[i]));
    TN_TRYP(tn_vec_push_obj(&buffers, registers));
    TN_GETP(made.alloc_buffers, tn_arr_from(&buffers));
  }
  TN_GETP(s, one_pass(x, c, registers, true));
  if (registers) TN_GETP(s, tir_seq2(s, one_pass(x, c, registers, false)));
  for (int i = 0; i < AXES; ++i)
    if (c->takes[i])
      TN_GETP(s, loop_over(c->thread[i], x->extent[i], TIR_FOR_THREAD_BINDING, axis_tags[i], s));
  made.body = s;
  for (int i = 0; i < TN_COUNT(marks); ++i)
    TN_GETP(made.annotations, tn_map_without(made.annotations, tn_any_cstr(marks[i])));
  return tn_node_copy(&tn_type_Block, &made);
}

static tn_obj *lower_block(tn_mut *m, tn_Block *op) {
  __attribute__((cleanup(copy_fini))) copy c = {0};
  if (!option(op, "auto_copy") || op->iter_vars->len) return tn_mut_children(m, op);
  int is_copy = plan(m->ctx, op, &c);
  if (is_copy < 0) return NULL;
  return is_copy ? shared_out(m->ctx, op, &c) : tn_mut_children(m, op);
}

tn_PrimFunc *tir_lower_auto_copy(tn_PrimFunc *f, const tn_pass_ctx *c) {
  static const tn_mut_case cases[] = {
      TN_CASE(For, enter_loop),    TN_CASE(IfThenElse, enter_if),
      TN_CASE(While, enter_while), TN_CASE(LetStmt, enter_let),
      TN_CASE(Block, lower_block), TN_CASE(BlockRealize, enter_realize),
  };
  (void)c;
  if (!tir_has_block_mark(f->body, "auto_copy")) return f;
  copier x = {.extent = {1, 1, 1}};
  TN_MUT(m, cases, &x);
  return tir_with_body(f, tn_mut_visit(&m, f->body));
}
