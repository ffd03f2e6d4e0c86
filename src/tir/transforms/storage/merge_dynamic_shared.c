/* All dynamic shared memory of a kernel becomes one allocation, as launches give one.

     A = T.allocate([128], "float32", "shared.dyn")        buf = T.allocate([768], "uint8", ...)
     B = T.allocate([64], "float32", "shared.dyn")   ->    A[tx] -> buf as float32 [tx]
                                                           B[tx] -> buf as float32 [tx + 128]

   Allocations whose uses, in the order of the program, do not overlap share their place. Where
   there is one allocation only nothing changes. With the option tir.merge_static_smem the same is
   done for "shared". Before ThreadSync, which sees what shares a place. */
#include <string.h>

#include "pack/pack.h"
#include "tir/device.h"
#include "tir/transforms/transforms.h"

enum { ALIGN = 16 }; /* bytes: what vector accesses need */

typedef struct {
  const tn_Allocate *alloc;
  tn_expr *bytes;
  int64_t size;        /* -1 when it is not constant */
  int64_t first, last; /* uses, counted in statements */
  tn_expr *offset;     /* bytes */
} part;

enum { MAX_PARTS = 256 };

typedef struct {
  part parts[MAX_PARTS];
  int n;
  tn_pmap index;   /* data pointer -> 1 + number of its part */
  tn_pmap buffers; /* Buffer over a part -> the same over the whole */
  int64_t now;     /* statements seen */
  int64_t loop;    /* statement of the outermost loop around; -1 outside of loops */
  tn_Var *whole;
  const char *scope; /* "shared.dyn" or "shared" */
} merger;

static part *part_of(merger *x, const void *data) {
  int64_t i = tn_pmap_get_int(&x->index, data, 0);
  return i ? &x->parts[i - 1] : NULL;
}

/* ---- what there is ---- */

static void use(merger *x, const void *data) {
  part *p = part_of(x, data);
  if (!p) return;
  if (p->first < 0) p->first = x->loop >= 0 ? x->loop : x->now;
  p->last = x->now;
}

static int add_part(merger *x, const tn_Allocate *s) {
  int64_t n;
  TN_CHECK(x->n < MAX_PARTS, ValueError, s->span,
           "more than %d allocations of dynamic shared memory in a kernel", MAX_PARTS);
  part *p = &x->parts[x->n++];
  *p = (part){.alloc = s, .size = tn_dtype_bytes(s->dtype, 1), .first = -1, .last = -1};
  TN_GET(p->bytes, tir_i32((int32_t)p->size));
  for (int64_t i = 0; i < s->extents->len; ++i) {
    tn_expr *e = (tn_expr *)tn_arr_obj(s->extents, i);
    p->size = p->size >= 0 && tir_as_int((tn_obj *)e, &n) ? p->size * n : -1;
    TN_GET(p->bytes, tir_mul(p->bytes, e));
  }
  return tn_pmap_put_int(&x->index, s->buffer_var, x->n);
}

static tn_obj *see_allocate(tn_mut *m, tn_Allocate *op) {
  if (strcmp(tir_var_scope(op->buffer_var), ((merger *)m->ctx)->scope) == 0)
    TN_TRYP(add_part(m->ctx, op));
  return tn_mut_visit(m, op->body);
}
static tn_obj *see_var(tn_mut *m, tn_obj *v) {
  use(m->ctx, v);
  return v;
}
static tn_obj *see_buffer(tn_mut *m, tn_obj *b) {
  (void)m;
  return b;
}
static tn_obj *see_load(tn_mut *m, tn_BufferLoad *op) {
  use(m->ctx, op->buffer->data);
  return tn_mut_visit(m, op->indices) ? (tn_obj *)op : NULL;
}
static tn_obj *see_store(tn_mut *m, tn_BufferStore *op) {
  merger *x = m->ctx;
  x->now++;
  use(x, op->buffer->data);
  return tn_mut_visit(m, op->indices) && tn_mut_visit(m, op->value) ? (tn_obj *)op : NULL;
}
static tn_obj *see_evaluate(tn_mut *m, tn_Evaluate *op) {
  ((merger *)m->ctx)->now++;
  return tn_mut_children(m, op);
}
/* What the condition reads lives as long as the statement: no barrier stands between the condition
   and what it guards, so that a thread may read it while others are further on. */
static tn_obj *see_if(tn_mut *m, tn_IfThenElse *op) {
  tn_obj *r = tn_mut_children(m, op);
  return r && tn_mut_visit(m, op->condition) ? r : NULL;
}
/* What is used in a loop lives as long as the loop: another iteration uses it again. */
static tn_obj *see_loop(tn_mut *m, tn_obj *op) {
  merger *x = m->ctx;
  int64_t outer = x->loop, begin = ++x->now;
  if (outer < 0) x->loop = begin;
  tn_obj *r = tn_mut_children(m, op);
  x->loop = outer;
  x->now++;
  for (int i = 0; outer < 0 && i < x->n; ++i)
    if (x->parts[i].last >= begin) x->parts[i].last = x->now;
  return r;
}

/* ---- where it goes ---- */

/* Sizes are constant: what is not in use at the same time may lie at the same place. */
static tn_expr *pack_all(merger *x) {
  pack_buffer buffers[MAX_PARTS];
  pack_pool whole = {.name = x->scope, .limit = -1};
  for (int i = 0; i < x->n; ++i)
    buffers[i] = (pack_buffer){.name = tn_cstr(x->parts[i].alloc->buffer_var->name),
                               .bytes = x->parts[i].size,
                               .first = x->parts[i].first,
                               .last = x->parts[i].last};
  TN_TRYP(pack_plan(buffers, x->n, &whole, 1, ALIGN, PACK_FIRST_FIT));
  TN_CHECKP(whole.used <= INT32_MAX, ValueError, NULL, "memory %s: expected at most 2 GB, got %lld",
            x->scope, (long long)whole.used);
  for (int i = 0; i < x->n; ++i) TN_GETP(x->parts[i].offset, tir_i32((int32_t)buffers[i].offset));
  return tir_i32((int32_t)whole.used);
}

/* One after the other. */
static tn_expr *append_all(merger *x) {
  tn_expr *sum = tir_i32(0), *align = tir_i32(ALIGN), *up = tir_i32(ALIGN - 1);
  for (int i = 0; i < x->n && sum; ++i) {
    x->parts[i].offset = sum;
    sum = tir_add(sum, tir_mul(tir_floordiv(tir_add(x->parts[i].bytes, up), align), align));
  }
  return sum;
}

/* Offsets of all parts; the bytes they take together. */
static tn_expr *place_all(merger *x) {
  bool constant = true;
  for (int i = 0; i < x->n; ++i) constant &= x->parts[i].size >= 0;
  return constant ? pack_all(x) : append_all(x);
}

/* ---- rewriting ---- */

/* The buffer over the whole memory, with its elements counted from the begin. */
static tn_Buffer *moved(merger *x, tn_Buffer *b) {
  tn_Buffer *have = tn_pmap_get(&x->buffers, b);
  if (have) return have;
  tn_Buffer copy = *b;
  copy.data = x->whole;
  TN_GETP(have, tn_node_copy(&tn_type_Buffer, &copy));
  return tn_pmap_put(&x->buffers, b, have) ? NULL : have;
}

static tn_arr *moved_indices(tn_mut *m, const part *p, const tn_Buffer *b, const tn_arr *indices) {
  indices = tn_mut_visit(m, indices);
  if (!indices) return NULL;
  TN_CHECKP(indices->len == 1, InternalError, b->span,
            "buffer %s must be flat before dynamic shared memory is merged", tn_cstr(b->name));
  tn_expr *at = (tn_expr *)tn_arr_obj(indices, 0);
  tn_dtype scalar = ir_with_lanes(at->dtype, 1);
  tn_expr *offset =
      tir_floordiv(p->offset, tir_i32((int32_t)tn_dtype_bytes(ir_with_lanes(b->dtype, 1), 1)));
  return tn_arr_of(1, tir_index_add(at, offset ? tir_cast(scalar, offset, NULL) : NULL));
}

static tn_obj *move_load(tn_mut *m, tn_BufferLoad *op) {
  const part *p = part_of(m->ctx, op->buffer->data);
  if (!p) return tn_mut_children(m, op);
  tn_Buffer *b = moved(m->ctx, op->buffer);
  tn_arr *at = b ? moved_indices(m, p, op->buffer, op->indices) : NULL;
  return at ? (tn_obj *)tir_load(b, at) : NULL;
}
static tn_obj *move_store(tn_mut *m, tn_BufferStore *op) {
  const part *p = part_of(m->ctx, op->buffer->data);
  if (!p) return tn_mut_children(m, op);
  tn_Buffer *b = moved(m->ctx, op->buffer);
  tn_arr *at = b ? moved_indices(m, p, op->buffer, op->indices) : NULL;
  tn_expr *value = at ? tn_mut_visit(m, op->value) : NULL;
  return value ? (tn_obj *)tir_store(b, value, at) : NULL;
}

/* tvm_access_ptr(type, data, offset, extent, mask): the offset counts elements of the type. */
static tn_obj *move_pointer(tn_mut *m, tn_Call *op) {
  const tn_obj *data = op->args->len == 5 ? tn_arr_obj(op->args, 1) : NULL;
  const part *p = data ? part_of(m->ctx, data) : NULL;
  if (!p || !tir_as_call((tn_obj *)op, TIR_OP_tvm_access_ptr)) return tn_mut_children(m, op);
  tn_dtype t = ((tn_expr *)tn_arr_obj(op->args, 0))->dtype;
  tn_expr *offset = tn_mut_visit(m, tn_arr_obj(op->args, 2)),
          *extent = tn_mut_visit(m, tn_arr_obj(op->args, 3));
  tn_expr *by = tir_floordiv(p->offset, tir_i32((int32_t)tn_dtype_bytes(t, 1)));
  if (!offset || !extent || !by) return NULL;
  offset = tir_add(offset, tir_cast(offset->dtype, by, NULL));
  return (tn_obj *)tir_call(op->dtype, TIR_OP_tvm_access_ptr, 5, tn_arr_obj(op->args, 0),
                            ((merger *)m->ctx)->whole, offset, extent, tn_arr_obj(op->args, 4));
}

static tn_obj *drop_allocate(tn_mut *m, tn_Allocate *op) {
  return part_of(m->ctx, op->buffer_var) ? tn_mut_visit(m, op->body) : tn_mut_children(m, op);
}
static tn_obj *move_decl(tn_mut *m, tn_DeclBuffer *op) {
  if (!part_of(m->ctx, op->buffer->data)) return tn_mut_children(m, op);
  tn_Buffer *b = moved(m->ctx, op->buffer);
  tn_stmt *body = b ? tn_mut_visit(m, op->body) : NULL;
  return body ? (tn_obj *)TN_NEW(DeclBuffer, .buffer = b, .body = body) : NULL;
}

/* ---- kernels ---- */

static void merger_fini(merger *x) {
  tn_pmap_fini(&x->index);
  tn_pmap_fini(&x->buffers);
}

static tn_stmt *rewrite(merger *x, tn_stmt *body) {
  static const tn_mut_case cases[] = {
      TN_CASE(Allocate, drop_allocate), TN_CASE(DeclBuffer, move_decl),
      TN_CASE(BufferLoad, move_load), TN_CASE(BufferStore, move_store),
      TN_CASE(Call, move_pointer)};
  tn_dtype byte = tn_dtype_of(kDLUInt, 8, 1);
  tn_expr *bytes;
  TN_GETP(bytes, place_all(x));
  bool dynamic = tir_is_dynamic_shared(x->scope);
  TN_GETP(x->whole, tir_pointer_var(dynamic ? "buf_dyn_shmem" : "buf_shmem", byte, x->scope));
  TN_MUT(m, cases, x);
  TN_GETP(body, tn_mut_visit(&m, body));
  return (tn_stmt *)TN_NEW(Allocate, .buffer_var = x->whole, .dtype = byte,
                           .extents = tn_arr_of(1, bytes), .condition = tir_bool(true),
                           .body = body, .annotations = tn_scope_own(tn_map_new()));
}

/* The innermost launch around the first allocation keeps the extents known. */
static tn_stmt *merge_kernel(const char *scope, tn_stmt *body) {
  static const tn_mut_case look[] = {
      TN_CASE(Allocate, see_allocate), TN_CASE(Var, see_var),
      TN_CASE(Buffer, see_buffer),     TN_CASE(BufferLoad, see_load),
      TN_CASE(BufferStore, see_store), TN_CASE(Evaluate, see_evaluate),
      TN_CASE(For, see_loop),          TN_CASE(While, see_loop),
      TN_CASE(IfThenElse, see_if)};
  __attribute__((cleanup(merger_fini))) merger x = {.loop = -1, .scope = scope};
  TN_MUT(m, look, &x);
  if (!tn_mut_visit(&m, body)) return NULL;
  return x.n < 2 ? body : rewrite(&x, body);
}

static tn_stmt *merge_launch(tn_mut *m, tn_AttrStmt *op) {
  if (!tir_launched_axis(op)) return tn_mut_children(m, op);
  tn_AttrStmt copy = *op;
  const tn_AttrStmt *inner = TN_AS(AttrStmt, op->body);
  bool launches = inner && tir_launched_axis(inner);
  TN_GETP(copy.body, launches ? tn_mut_visit(m, op->body) : merge_kernel(m->ctx, op->body));
  return copy.body == op->body ? (tn_stmt *)op : tn_node_copy(&tn_type_AttrStmt, &copy);
}

static tn_PrimFunc *merge_scope(tn_PrimFunc *f, const char *scope) {
  static const tn_mut_case cases[] = {TN_CASE(AttrStmt, merge_launch)};
  TN_MUT(m, cases, (void *)(uintptr_t)scope);
  return tir_with_body(f, tn_mut_visit(&m, f->body));
}

tn_PrimFunc *tir_merge_dynamic_shared(tn_PrimFunc *f, const tn_pass_ctx *c) {
  TN_GETP(f, merge_scope(f, "shared.dyn"));
  return ir_config_int(c->node, "tir.merge_static_smem", 0) ? merge_scope(f, "shared") : f;
}
