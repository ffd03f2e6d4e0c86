/* Fragments of matrix units get their shape and layout, which the calls that use them tell.

     F = T.allocate([256], "float16", "wmma.matrix_a")
     T.tvm_load_matrix_sync(F, 16, 16, 16, 0, ptr, 16, "row_major")
       ->
     T.attr(F, "fragment_shape", "16, 16, 16") and T.attr(F, "fragment_layout", "row_major")
     around the allocation

   Uses of one fragment must agree: ValueError. */
#include <string.h>

#include "base/arena.h"
#include "tir/device.h"
#include "tir/transforms/transforms.h"

typedef struct {
  int64_t m, n, k;
  const char *layout; /* "" for accumulators */
} fragment;

typedef struct {
  tn_arena arena;
  tn_pmap fragments; /* pointer -> fragment */
} inferrer;

static bool has_layout(const tn_Var *v) {
  const char *scope = tir_var_scope(v);
  return strcmp(scope, "wmma.matrix_a") == 0 || strcmp(scope, "wmma.matrix_b") == 0;
}

static int note_fragment(inferrer *x, const tn_Call *call, const char *layout) {
  fragment f = {.layout = layout};
  int64_t *sizes[] = {&f.m, &f.n, &f.k};
  const tn_Var *v = TN_AS(Var, tn_arr_obj(call->args, 0));
  TN_CHECK(v, ValueError, call->span, "%s: expected a fragment first", tn_obj_key(call->op));
  for (int i = 0; i < 3; ++i)
    TN_CHECK(tir_as_int(tn_arr_obj(call->args, 1 + i), sizes[i]), ValueError, call->span,
             "fragment %s: its shape must be constant", tn_cstr(v->name));
  fragment *have = tn_pmap_get(&x->fragments, v);
  if (have) {
    bool same = have->m == f.m && have->n == f.n && have->k == f.k &&
                (strcmp(have->layout, f.layout) == 0 || !*have->layout || !*f.layout);
    TN_CHECK(same, ValueError, call->span, "fragment %s is used with two shapes or layouts",
             tn_cstr(v->name));
    if (*f.layout) have->layout = f.layout;
    return 0;
  }
  TN_GET(have, tn_arena_alloc(&x->arena, sizeof *have));
  *have = f;
  return tn_pmap_put(&x->fragments, v, have);
}

/* Of a product all fragments have one shape. */
static int check_product(inferrer *x, const tn_Call *call) {
  const fragment *first = tn_pmap_get(&x->fragments, tn_arr_obj(call->args, 0));
  for (int i = 2; i < 8; i += 2) {
    const fragment *f = tn_pmap_get(&x->fragments, tn_arr_obj(call->args, i));
    TN_CHECK(!first || !f || (first->m == f->m && first->n == f->n && first->k == f->k), ValueError,
             call->span, "the fragments of a product differ in shape");
  }
  return 0;
}

static int look(void *ctx, tn_obj *o) {
  const tn_Call *call = TN_AS(Call, o);
  const tn_StringImm *layout;
  if (!call) return 0;
  switch ((int)tir_op_number((const tn_obj *)call->op)) {
  case TIR_OP_tvm_load_matrix_sync:
    if (call->args->len != 8) return 0;
    layout = TN_AS(StringImm, tn_arr_obj(call->args, 7));
    const tn_Var *v = TN_AS(Var, tn_arr_obj(call->args, 0));
    return note_fragment(ctx, call, layout && v && has_layout(v) ? tn_cstr(layout->value) : "");
  case TIR_OP_tvm_store_matrix_sync:
  case TIR_OP_tvm_fill_fragment: return call->args->len >= 6 ? note_fragment(ctx, call, "") : 0;
  default: return 0;
  }
}

static int look_products(void *ctx, tn_obj *o) {
  const tn_Call *call = tir_as_call(o, TIR_OP_tvm_mma_sync);
  if (!call) call = tir_as_call(o, TIR_OP_tvm_bmma_sync);
  return call && call->args->len == 8 ? check_product(ctx, call) : 0;
}

static tn_stmt *attribute(tn_Var *v, const char *key, const char *value, tn_stmt *body) {
  return (tn_stmt *)TN_NEW(AttrStmt, .node = (tn_obj *)v, .attr_key = tn_str_from(key),
                           .value = tir_str(value), .body = body);
}

static tn_stmt *mark(tn_mut *m, tn_Allocate *op) {
  const fragment *f = tn_pmap_get(&((inferrer *)m->ctx)->fragments, op->buffer_var);
  tn_stmt *s = tn_mut_children(m, op);
  tn_str *shape;
  if (!s || !f) return s;
  TN_GETP(shape, tn_str_fmt("%lld, %lld, %lld", (long long)f->m, (long long)f->n, (long long)f->k));
  s = attribute(op->buffer_var, "fragment_shape", tn_cstr(shape), s);
  return *f->layout ? attribute(op->buffer_var, "fragment_layout", f->layout, s) : s;
}

static void inferrer_fini(inferrer *x) {
  tn_arena_fini(&x->arena);
  tn_pmap_fini(&x->fragments);
}

tn_PrimFunc *tir_infer_fragment(tn_PrimFunc *f, const tn_pass_ctx *c) {
  static const tn_mut_case cases[] = {TN_CASE(Allocate, mark)};
  (void)c;
  __attribute__((cleanup(inferrer_fini))) inferrer x = {0};
  TN_TRYP(tn_post_order(f->body, look, &x));
  if (x.fragments.len == 0) return f;
  TN_TRYP(tn_post_order(f->body, look_products, &x));
  TN_MUT(m, cases, &x);
  return tir_with_body(f, tn_mut_visit(&m, f->body));
}
