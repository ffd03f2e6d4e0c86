/* Comparing a block with the description of an instruction (tensorize.c).

     program                                         description
     C[io * 16 + vi] = C[io * 16 + vi] + A[ko + vk]  C[vi] = C[vi] + A[vk]
       =>  C: base [io * 16],  A: base [ko]

   Both are gone through side by side. Variables that are bound inside correspond to each other;
   indices differ by a base that is the same for all accesses to a buffer and uses nothing that is
   bound inside. Scalar parameters of the description stand for what the program has in their place.
   The outermost blocks themselves may differ in iterators, regions and init. */
#include "ir/functor.h"
#include "tenon/object.h"
#include "tir/schedule/tensorize.h"
#include "tir/rewrite.h"

void sch_pattern_fini(sch_pattern *p) {
  tn_pmap_fini(&p->buffers);
  tn_pmap_fini(&p->bases);
  tn_pmap_fini(&p->vars);
  tn_pmap_fini(&p->inner);
  tn_pmap_fini(&p->scalars);
}

/* 1: the same, 0: not, -1: error */
static int same(sch_pattern *p, tn_obj *x, tn_obj *y);

/* ---- variables and numbers ---- */

/* x, bound in the program, stands for y. */
static int bind(sch_pattern *p, tn_Var *x, tn_Var *y) {
  tn_expr *value = tir_cast(y->dtype, (tn_expr *)x, NULL);
  if (!value || tn_pmap_put(&p->vars, y, value) || tn_pmap_put(&p->inner, x, x)) return -1;
  return 1;
}

/* An integer of the description in terms of the program. */
static tn_expr *translated(sch_pattern *p, tn_expr *y, tn_dtype t) {
  tn_expr *e = tir_substitute(y, &p->vars);
  return e ? tir_cast(ir_with_lanes(t, e->dtype.lanes), e, NULL) : NULL;
}

static int same_int(sch_pattern *p, tn_expr *x, tn_expr *y) {
  tn_expr *e = translated(p, y, x->dtype);
  return !e ? -1 : arith_prove_equal(&p->e->arith, x, e);
}

/* ---- accesses ---- */

static int meet_inner(void *ctx, tn_obj *o) { return tn_pmap_has(&((sch_pattern *)ctx)->inner, o); }

/* Index of the program less that of the description, or NULL: they do not differ by a base. */
static tn_expr *base_of(sch_pattern *p, tn_expr *x, tn_expr *y) {
  tn_expr *e = y ? translated(p, y, x->dtype) : tir_zero(x->dtype);
  tn_expr *base = e ? arith_simplify(&p->e->arith, tir_sub(x, e)) : NULL;
  return base && tn_post_order(base, meet_inner, p) == 0 ? base : NULL;
}

/* The program's buffer may have more axes in front, where it is one element wide. */
static int same_access(sch_pattern *p, tn_Buffer *x, const tn_arr *xs, const tn_Buffer *y,
                       const tn_arr *ys) {
  const tn_arr *known = tn_pmap_get(&p->bases, y);
  const tn_Buffer *other = tn_pmap_get(&p->buffers, y);
  int64_t more = xs->len - ys->len;
  TN_VEC(bases);
  if (!tn_dtype_eq(x->dtype, y->dtype) || more < 0 || (other && other != x)) return 0;
  for (int64_t i = 0; i < xs->len; ++i) {
    tn_expr *at = i < more ? NULL : (tn_expr *)tn_arr_obj(ys, i - more);
    tn_expr *base = base_of(p, (tn_expr *)tn_arr_obj(xs, i), at);
    if (!base || (known && !arith_prove_equal(&p->e->arith, base, (tn_expr *)tn_arr_obj(known, i))))
      return 0;
    if (tn_vec_push_obj(&bases, base)) return -1;
  }
  if (known) return 1;
  tn_arr *all = tn_arr_from(&bases);
  if (!all || tn_pmap_put(&p->bases, y, all) || tn_pmap_put(&p->buffers, y, x)) return -1;
  return 1;
}

/* ---- statements ---- */

static int same_loop(sch_pattern *p, const tn_For *x, const tn_For *y) {
  if (x->kind != y->kind && !(x->kind == TIR_FOR_UNROLLED || x->kind == TIR_FOR_VECTORIZED ||
                              y->kind == TIR_FOR_UNROLLED || y->kind == TIR_FOR_VECTORIZED))
    return 0;
  int r = same_int(p, x->min, y->min);
  if (r == 1) r = same_int(p, x->extent, y->extent);
  if (r == 1) r = bind(p, x->loop_var, y->loop_var);
  return r == 1 ? same(p, (tn_obj *)x->body, (tn_obj *)y->body) : r;
}

static int same_iters(sch_pattern *p, const tn_arr *xs, const tn_arr *ys) {
  int r = xs->len == ys->len;
  for (int64_t i = 0; r == 1 && i < xs->len; ++i) {
    const tn_IterVar *x = (const tn_IterVar *)tn_arr_obj(xs, i),
                     *y = (const tn_IterVar *)tn_arr_obj(ys, i);
    r = x->iter_type == y->iter_type ? same_int(p, x->dom->extent, y->dom->extent) : 0;
    if (r == 1) r = bind(p, x->var, y->var);
  }
  return r;
}

static int same_block(sch_pattern *p, const tn_BlockRealize *x, const tn_BlockRealize *y) {
  int r = x->iter_values->len == y->iter_values->len;
  for (int64_t i = 0; r == 1 && i < x->iter_values->len; ++i)
    r = same_int(p, (tn_expr *)tn_arr_obj(x->iter_values, i),
                 (tn_expr *)tn_arr_obj(y->iter_values, i));
  if (r == 1) r = same(p, (tn_obj *)x->predicate, (tn_obj *)y->predicate);
  if (r == 1) r = same_iters(p, x->block->iter_vars, y->block->iter_vars);
  if (r == 1) r = !x->block->init == !y->block->init;
  if (r == 1 && x->block->init) r = same(p, (tn_obj *)x->block->init, (tn_obj *)y->block->init);
  return r == 1 ? same(p, (tn_obj *)x->block->body, (tn_obj *)y->block->body) : r;
}

static int same_let(sch_pattern *p, const tn_LetStmt *x, const tn_LetStmt *y) {
  int r = same(p, (tn_obj *)x->value, (tn_obj *)y->value);
  if (r == 1) r = bind(p, x->var, y->var);
  return r == 1 ? same(p, (tn_obj *)x->body, (tn_obj *)y->body) : r;
}

/* ---- anything else ---- */

/* Where something was written is not part of what it computes. */
static int push_child(void *ctx, tn_obj *child) {
  return TN_IS(Span, child) ? 0 : tn_vec_push_obj(ctx, child);
}

static int same_children(sch_pattern *p, tn_obj *x, tn_obj *y) {
  TN_VEC(xs);
  TN_VEC(ys);
  if (tn_visit_children(x, push_child, &xs) || tn_visit_children(y, push_child, &ys)) return -1;
  int r = xs.len == ys.len && xs.len > 0;
  for (int64_t i = 0; r == 1 && i < xs.len; ++i) r = same(p, xs.items[i].v.obj, ys.items[i].v.obj);
  return r;
}

/* Sums and products may have their operands exchanged. A try that fails must leave no trace. */
static int same_binary(sch_pattern *p, const tn_BinaryOp *x, const tn_BinaryOp *y) {
  bool either = x->hdr.type_index == TN_TI_Add || x->hdr.type_index == TN_TI_Mul;
  int r = same(p, (tn_obj *)x->a, (tn_obj *)y->a);
  if (r == 1) r = same(p, (tn_obj *)x->b, (tn_obj *)y->b);
  if (r != 0 || !either) return r;
  r = same(p, (tn_obj *)x->a, (tn_obj *)y->b);
  return r == 1 ? same(p, (tn_obj *)x->b, (tn_obj *)y->a) : r;
}

/* What the program has in the place of a scalar parameter: known before the block runs. */
static int bind_scalar(sch_pattern *p, tn_obj *x, const tn_Var *y) {
  if (!TN_IS(PrimExpr, x) || !tn_dtype_eq(((tn_expr *)x)->dtype, y->dtype) ||
      !tir_is_pure((tn_expr *)x))
    return 0;
  int inner = tn_post_order(x, meet_inner, p);
  if (inner) return inner < 0 ? -1 : 0;
  return tn_pmap_put(&p->vars, y, x) ? -1 : 1;
}

static int same_node(sch_pattern *p, tn_obj *x, tn_obj *y) {
  tn_expr *value = tn_pmap_get(&p->vars, y);
  if (value && TN_IS(PrimExpr, x))
    return arith_prove_equal(&p->e->arith, tir_cast(value->dtype, (tn_expr *)x, NULL), value);
  if (!value && tn_pmap_has(&p->scalars, y)) return bind_scalar(p, x, (tn_Var *)y);
  if (x->type_index != y->type_index) return 0;
  if (TN_IS(PrimExpr, x) && !tn_dtype_eq(((tn_expr *)x)->dtype, ((tn_expr *)y)->dtype) &&
      !(ir_is_int(((tn_expr *)x)->dtype) && ir_is_int(((tn_expr *)y)->dtype) && TN_IS(IntImm, x)))
    return 0;
  switch (x->type_index) {
  case TN_TI_BufferLoad: {
    tn_BufferLoad *a = (tn_BufferLoad *)x, *b = (tn_BufferLoad *)y;
    return same_access(p, a->buffer, a->indices, b->buffer, b->indices);
  }
  case TN_TI_BufferStore: {
    tn_BufferStore *a = (tn_BufferStore *)x, *b = (tn_BufferStore *)y;
    int r = same_access(p, a->buffer, a->indices, b->buffer, b->indices);
    return r == 1 ? same(p, (tn_obj *)a->value, (tn_obj *)b->value) : r;
  }
  case TN_TI_For: return same_loop(p, (tn_For *)x, (tn_For *)y);
  case TN_TI_BlockRealize: return same_block(p, (tn_BlockRealize *)x, (tn_BlockRealize *)y);
  case TN_TI_LetStmt: return same_let(p, (tn_LetStmt *)x, (tn_LetStmt *)y);
  default: break;
  }
  if (TN_AS_BINARY(x)) return same_binary(p, TN_AS_BINARY(x), TN_AS_BINARY(y));
  int r = same_children(p, x, y);
  return r ? r : tn_equal(x, y, 0); /* constants */
}

static int same(sch_pattern *p, tn_obj *x, tn_obj *y) {
  if (x == y) return 1;
  int r = same_node(p, x, y);
  if (r == 0 && !p->ours && (TN_IS(Stmt, x) || TN_IS(PrimExpr, x))) {
    p->ours = x;
    p->theirs = y;
  }
  return r;
}

int sch_match_desc(sch_pattern *p, const tn_Block *block, const tn_PrimFunc *desc, bool *out) {
  const tn_BlockRealize *root = TN_AS(BlockRealize, desc->body);
  const tn_stmt *body = root ? root->block->body : desc->body;
  for (int64_t i = 0; i < block->iter_vars->len; ++i) {
    const tn_IterVar *iv = (const tn_IterVar *)tn_arr_obj(block->iter_vars, i);
    if (!tir_is_one(iv->dom->extent)) /* one value stays written as the iterator */
      TN_TRY(arith_bind_range(&p->e->arith, iv->var, iv->dom, true));
  }
  for (int64_t i = 0; i < desc->params->len; ++i) {
    const tn_obj *param = tn_arr_obj(desc->params, i);
    tn_any buffer;
    if (!tn_map_get(desc->buffer_map, tn_any_obj(param), &buffer))
      TN_TRY(tn_pmap_put_int(&p->scalars, param, 1));
  }
  int r = same(p, (tn_obj *)block->body, (tn_obj *)(uintptr_t)body);
  *out = r == 1;
  return r < 0 ? -1 : 0;
}
