/* Arithmetic of indices, folding, questions about programs. */
#include "tir/rewrite.h"

#include <string.h>

#include "arith/analyzer.h"
#include "tir/tir_impl.h"

/* ---- indices ---- */

static tn_expr *ramp(tn_expr *base, tn_expr *stride, int64_t lanes) {
  return (tn_expr *)TN_MAKE(Ramp, .base = base, .stride = stride, .lanes = lanes);
}

/* The scalar that every lane has, or NULL. */
static tn_expr *lane_value(tn_expr *e) {
  const tn_Broadcast *b = TN_AS(Broadcast, e);
  if (b) return b->value;
  return e->dtype.lanes == 1 ? e : NULL;
}

tn_expr *tir_index_add(tn_expr *a, tn_expr *b) {
  if (!a || !b) return NULL;
  const tn_Ramp *x = TN_AS(Ramp, a), *y = TN_AS(Ramp, b);
  tn_expr *s = lane_value(a), *t = lane_value(b);
  if (x && t) return ramp(tir_add(x->base, t), x->stride, x->lanes);
  if (s && y) return ramp(tir_add(s, y->base), y->stride, y->lanes);
  if (x && y && x->lanes == y->lanes)
    return ramp(tir_add(x->base, y->base), tir_add(x->stride, y->stride), x->lanes);
  return tir_add(a, b);
}

tn_expr *tir_index_sub(tn_expr *a, tn_expr *b) {
  if (!a || !b) return NULL;
  const tn_Ramp *x = TN_AS(Ramp, a), *y = TN_AS(Ramp, b);
  tn_expr *s = lane_value(a), *t = lane_value(b);
  if (x && t) return ramp(tir_sub(x->base, t), x->stride, x->lanes);
  if (s && y) return ramp(tir_sub(s, y->base), tir_neg(y->stride, NULL), y->lanes);
  return tir_sub(a, b);
}

tn_expr *tir_index_mul(tn_expr *a, tn_expr *b) {
  if (!a || !b) return NULL;
  const tn_Ramp *x = TN_AS(Ramp, a), *y = TN_AS(Ramp, b);
  tn_expr *s = lane_value(a), *t = lane_value(b);
  if (x && t) return ramp(tir_mul(x->base, t), tir_mul(x->stride, t), x->lanes);
  if (s && y) return ramp(tir_mul(s, y->base), tir_mul(s, y->stride), y->lanes);
  return tir_mul(a, b);
}

static tn_expr *extent_at(const tn_Buffer *b, int64_t i) {
  return (tn_expr *)tn_arr_obj(b->shape, i);
}
static tn_expr *stride_at(const tn_Buffer *b, int64_t i) {
  return (tn_expr *)tn_arr_obj(b->strides, i);
}

/* Does each element of an axis hold all of the axes after it, at strides that divide its own?
 * @return -1 on error */
static int is_nested(const tn_Buffer *b) {
  TN_ARITH(a);
  for (int64_t i = 1; i < b->shape->len; ++i) {
    tn_expr *room, *rest;
    if (tir_is_zero(stride_at(b, i))) return 0;
    TN_GET(room, tir_mul(extent_at(b, i), stride_at(b, i)));
    TN_GET(room, tir_le(room, stride_at(b, i - 1)));
    TN_GET(rest, tir_floormod(stride_at(b, i - 1), stride_at(b, i)));
    TN_GET(rest, tir_eq(rest, tir_const_int(rest->dtype, 0)));
    if (!arith_prove(&a, room) || !arith_prove(&a, rest)) return 0;
  }
  return 1;
}

tn_arr *tir_allocation_shape(const tn_Buffer *b) {
  TN_VEC(v);
  int64_t n = b->shape->len;
  int nested = n > 0 && b->strides->len == n ? is_nested(b) : 0;
  if (nested < 0) return NULL;
  if (n == 0 || b->strides->len != n) return b->shape;
  tn_expr *all = NULL; /* beyond this no element lies, in whatever order the axes are */
  for (int64_t i = 0; i < n; ++i) {
    tn_expr *e = nested && i > 0 ? tir_truncdiv(stride_at(b, i - 1), stride_at(b, i), NULL)
                                 : extent_at(b, i);
    if (!nested || i == n - 1) TN_GETP(e, tir_mul(e, stride_at(b, i)));
    TN_GETP(all, all ? tir_add(all, e) : e);
    if (nested) TN_TRYP(tn_vec_push_obj(&v, e));
  }
  return nested ? tn_arr_from(&v) : tn_arr_of(1, all);
}

/* ---- folding again ---- */

tn_obj *tir_refold_binary(tn_mut *m, tn_obj *e) {
  const tn_BinaryOp *op = TN_AS_BINARY(e);
  tn_expr *a = tn_mut_visit(m, op->a), *b = tn_mut_visit(m, op->b);
  if (!a || !b) return NULL;
  if (a == op->a && b == op->b) return e;
  switch (ir_is_integral(ir_with_lanes(op->dtype, 1)) ? e->type_index : TN_TI_Div) {
  case TN_TI_Add: return (tn_obj *)tir_index_add(a, b);
  case TN_TI_Sub: return (tn_obj *)tir_index_sub(a, b);
  case TN_TI_Mul: return (tn_obj *)tir_index_mul(a, b);
  default: return (tn_obj *)tir_binary(e->type_index, a, b, op->span);
  }
}

tn_obj *tir_refold_cast(tn_mut *m, tn_obj *e) {
  tn_Cast *op = (tn_Cast *)e;
  tn_expr *v = tn_mut_visit(m, op->value);
  return v == op->value ? e : (tn_obj *)tir_cast(op->dtype, v, op->span);
}

static tn_obj *replace_var(tn_mut *m, tn_obj *v) {
  tn_obj *value = tn_pmap_get(m->ctx, v);
  return value ? value : v;
}

void *tir_substitute_fold(const void *node, const tn_pmap *vars) {
  static const tn_mut_case cases[] = {TN_CASE(Var, replace_var), TN_CASE(SizeVar, replace_var),
                                      TIR_REFOLD};
  TN_MUT(m, cases, (void *)(uintptr_t)vars);
  return tn_mut_visit(&m, node);
}

/* ---- questions ---- */

bool tir_is_pure(const tn_expr *e) { return tir_side_effect(e) <= TIR_EFFECT_PURE; }

static int is_it(void *ctx, tn_obj *node) { return node == ctx; }

bool tir_uses_var(const void *node, const tn_Var *v) {
  return tn_post_order(node, is_it, (void *)(uintptr_t)v) != 0;
}

typedef struct {
  bool (*wanted)(const tn_stmt *s, const void *arg);
  const void *arg;
} stmt_query;

static int look_stmt(void *ctx, tn_obj *node) {
  const stmt_query *q = ctx;
  if (!TN_IS(Stmt, node)) return 1;
  if (q->wanted((const tn_stmt *)node, q->arg)) return 2;
  return TN_IS(BufferStore, node) || TN_IS(Evaluate, node);
}

bool tir_has_stmt(const tn_stmt *s, bool (*wanted)(const tn_stmt *s, const void *arg),
                  const void *arg) {
  stmt_query q = {wanted, arg};
  return tn_pre_order(s, look_stmt, &q) != 0;
}

static bool is_attr(const tn_stmt *s, const void *key) {
  const tn_AttrStmt *a = TN_AS(AttrStmt, s);
  return a && tn_str_eq(a->attr_key, key);
}
bool tir_has_attr(const tn_stmt *s, const char *key) { return tir_has_stmt(s, is_attr, key); }

static bool is_loop(const tn_stmt *s, const void *kind) {
  const tn_For *f = TN_AS(For, s);
  return f && f->kind == *(const int32_t *)kind;
}
bool tir_has_loop(const tn_stmt *s, tir_for_kind kind) {
  int32_t wanted = (int32_t)kind;
  return tir_has_stmt(s, is_loop, &wanted);
}

static bool is_marked(const tn_stmt *s, const void *key) {
  const tn_Block *b = TN_AS(Block, s);
  const tn_BlockRealize *r = TN_AS(BlockRealize, s);
  if (r) b = r->block;
  return b && tn_map_find(b->annotations, key);
}

bool tir_has_block_mark(const tn_stmt *s, const char *key) {
  return tir_has_stmt(s, is_marked, key);
}

bool tir_is_legacy(const tn_PrimFunc *f) {
  const tn_obj *a = tir_func_attr(f, "from_legacy_te_schedule");
  return a && !tir_is_zero(a);
}

tn_stmt *tir_for_with(const tn_For *op, tn_expr *min, tn_expr *extent, tn_stmt *body) {
  if (!min || !extent || !body) return NULL;
  if (min == op->min && extent == op->extent && body == op->body) return (tn_stmt *)(uintptr_t)op;
  tn_For copy = *op;
  copy.min = min, copy.extent = extent, copy.body = body;
  return tn_node_copy(&tn_type_For, &copy);
}
