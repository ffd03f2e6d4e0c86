/* Simplification by rewriting: operands first, then constants are folded, then the rules of
   rules.def, whose results are simplified again.

     (x + 3) - (x - 2)  =>  5          x in [0, 7]:  x // 8  =>  0 */
#include "arith/rewrite.h"

#include "arith/rules.h"

enum { MAX_AGAIN = 10, MAX_TIMES = 8 };

void rw_fini(rewriter *r) {
  tn_pmap_fini(&r->done);
  tn_pmap_fini(&r->times);
  tn_pmap_fini(&r->plain);
}

/* Was the node simplified under so many other conditions that it may as well stay as it is? */
static int is_worn(rewriter *r, const tn_expr *e, bool *worn) {
  *worn = false;
  if (!r->apart || tn_use_count(e) < 2) return 0;
  tn_pmap_slot *slot = tn_pmap_slot_of(&r->times, e);
  if (!slot) return -1;
  *worn = ++slot->v.i64 > MAX_TIMES;
  return 0;
}

static tn_obj *value_of(tn_mut *m, tn_obj *v) {
  const arith_var *known = arith_known(m->ctx, (tn_expr *)v);
  return known && known->value ? (tn_obj *)known->value : v;
}

/* What is not simplified has no bound variable either: whoever bound it may drop its definition. */
static tn_expr *with_values(rewriter *r, tn_expr *e) {
  static const tn_mut_case cases[] = {TN_CASE(Var, value_of), TN_CASE(SizeVar, value_of)};
  tn_expr *to = tn_pmap_get(&r->plain, e);
  if (to) return to;
  TN_MUT(m, cases, r->a);
  m.exprs = m.pure = true;
  TN_GETP(to, tn_mut_visit(&m, e));
  TN_TRYP(tn_pmap_put(&r->plain, e, to));
  return to;
}

tn_expr *rw_visit(tn_mut *m, tn_expr *e) {
  rewriter *r = m->ctx;
  bool worn;
  tn_expr *to = e ? tn_pmap_get(&r->done, e) : NULL;
  if (to || !e) return to;
  TN_TRYP(is_worn(r, e, &worn));
  if (worn) return with_values(r, e);
  TN_GETP(to, tn_mut_visit(m, e));
  TN_TRYP(tn_pmap_put(&r->done, e, to));
  TN_TRYP(tn_pmap_put(&r->done, to, to));
  return to;
}

tn_expr *rw_visit_apart(tn_mut *m, tn_expr *e) {
  rewriter *r = m->ctx;
  tn_pmap outside = r->done;
  r->done = (tn_pmap){0};
  ++r->apart;
  tn_expr *to = rw_visit(m, e);
  --r->apart;
  tn_pmap_fini(&r->done);
  r->done = outside;
  return to;
}

tn_expr *rw_again(tn_mut *m, tn_expr *e) {
  rewriter *r = m->ctx;
  if (r->again >= MAX_AGAIN || TN_AS(IntImm, e) || TN_AS(Var, e)) return e;
  ++r->again;
  e = rw_visit(m, e);
  --r->again;
  return e;
}

tn_expr *rw_rules(tn_mut *m, tn_expr *e) {
  tn_expr *to;
  TN_TRYP(arith_apply_rules(rw_analyzer(m), e, &to));
  return to ? rw_again(m, to) : e;
}

/* ---- arithmetic ---- */

static bool folds(const tn_BinaryOp *e, const tn_expr *b) {
  uint32_t t = e->hdr.type_index;
  return !(t >= TN_TI_Div && t <= TN_TI_FloorMod && tir_is_zero(b));
}

/* A quotient or remainder of which bounds or modular sets leave one value. */
static tn_expr *one_value(tn_mut *m, tn_expr *e) {
  uint32_t t = e->hdr.type_index;
  if (!arith_is_index(e->dtype) || e->dtype.lanes != 1) return e;
  if (t < TN_TI_Div || t > TN_TI_FloorMod) return e;
  arith_bound b = arith_const_bound(rw_analyzer(m), e);
  if (b.min == b.max) return tir_int(e->dtype, b.min);
  return e;
}

/* min and max of expressions whose difference has one sign */
static tn_expr *by_difference(tn_mut *m, tn_expr *e) {
  const tn_BinaryOp *o = TN_AS_BINARY(e);
  bool is_min = e->hdr.type_index == TN_TI_Min;
  if ((!is_min && e->hdr.type_index != TN_TI_Max) || !arith_is_index(e->dtype)) return e;
  tn_expr *d;
  if (arith_result_wraps(rw_analyzer(m), TN_TI_Sub, o->a, o->b)) return e;
  TN_GETP(d, rw_again(m, tir_sub(o->a, o->b)));
  arith_bound b = arith_const_bound(rw_analyzer(m), d);
  if (b.max <= 0) return is_min ? o->a : o->b;
  return b.min >= 0 ? (is_min ? o->b : o->a) : e;
}

tn_expr *rw_arithmetic(tn_mut *m, tn_BinaryOp *e) {
  tn_expr *a, *b, *r = (tn_expr *)e;
  TN_GETP(a, rw_visit(m, e->a));
  TN_GETP(b, rw_visit(m, e->b));
  if (!folds(e, b)) return r;
  tn_expr *folded;
  TN_TRYP(tir_fold(e->hdr.type_index, a, b, e->span, &folded));
  if (folded) return folded;
  if (a != e->a || b != e->b) TN_GETP(r, tir_binary(e->hdr.type_index, a, b, e->span));
  tn_expr *to;
  TN_TRYP(arith_apply_rules(rw_analyzer(m), r, &to));
  if (to) return rw_again(m, to);
  TN_GETP(to, one_value(m, r));
  return to == r ? by_difference(m, r) : to;
}

/* ---- other nodes ---- */

tn_expr *rw_var(tn_mut *m, tn_Var *v) {
  const arith_var *known = arith_known(rw_analyzer(m), (tn_expr *)v);
  if (known && known->value) return known->value;
  return ir_is_bool(v->dtype) ? rw_facts(m, (tn_expr *)v) : (tn_expr *)v;
}

tn_expr *rw_cast(tn_mut *m, tn_Cast *e) {
  tn_expr *v;
  TN_GETP(v, rw_visit(m, e->value));
  tn_expr *r = (tn_expr *)e;
  if (v != e->value || TN_AS(IntImm, v) || TN_AS(FloatImm, v))
    TN_GETP(r, tir_cast(e->dtype, v, e->span));
  if (!TN_IS(Cast, r) || !TN_IS(Call, v) || !arith_is_index(r->dtype)) return r;
  arith_bound b = arith_const_bound(rw_analyzer(m), r); /* of a logarithm */
  return b.min == b.max && tir_side_effect(r) <= TIR_EFFECT_PURE ? tir_int(r->dtype, b.min) : r;
}

tn_expr *rw_vector(tn_mut *m, tn_expr *e) {
  TN_GETP(e, tn_mut_children(m, e));
  return rw_rules(m, e);
}

tn_expr *rw_let(tn_mut *m, tn_Let *e) {
  arith_analyzer *a = rw_analyzer(m);
  tn_expr *value, *body;
  TN_GETP(value, rw_visit(m, e->value));
  bool known = arith_known(a, (tn_expr *)e->var) != NULL;
  tir_effect most;
  TN_TRYP(tir_effect_of(value, &most));
  bool effect = most > TIR_EFFECT_PURE; /* not to be computed twice or moved */
  if (!effect && !known) TN_TRYP(arith_bind(a, e->var, value, false));
  body = rw_visit_apart(m, e->body);
  if (!effect && !known) arith_unbind(a, e->var);
  if (!body || (!effect && !known)) return body;
  if (value == e->value && body == e->body) return (tn_expr *)e;
  return (tn_expr *)TN_MAKE(Let, .span = e->span, .var = e->var, .value = value, .body = body);
}

tn_obj *rw_reduce(tn_mut *m, tn_Reduce *e) {
  arith_analyzer *a = rw_analyzer(m);
  for (int64_t i = 0; i < e->axis->len; ++i) {
    const tn_IterVar *iv = TN_AS(IterVar, tn_arr_obj(e->axis, i));
    if (iv && iv->dom) TN_TRYP(arith_bind_range(a, iv->var, iv->dom, true));
  }
  tn_pmap outside = ((rewriter *)m->ctx)->done;
  ((rewriter *)m->ctx)->done = (tn_pmap){0};
  /* the axes stay: what binds a variable is not replaced by its value */
  tn_Reduce copy = *e;
  copy.source = tn_mut_visit(m, e->source);
  copy.condition = tn_mut_visit(m, e->condition);
  copy.init = tn_mut_visit(m, e->init);
  tn_pmap_fini(&((rewriter *)m->ctx)->done);
  ((rewriter *)m->ctx)->done = outside;
  for (int64_t i = 0; i < e->axis->len; ++i) {
    const tn_IterVar *iv = TN_AS(IterVar, tn_arr_obj(e->axis, i));
    if (iv) arith_unbind(a, iv->var);
  }
  if (!copy.source || !copy.condition || !copy.init) return NULL;
  if (copy.source == e->source && copy.condition == e->condition && copy.init == e->init)
    return (tn_obj *)e;
  return ir_node_check(tn_node_copy(&tn_type_Reduce, &copy));
}

tn_obj *rw_as_it_is(tn_mut *m, tn_obj *e) {
  (void)m;
  return e;
}

static const tn_mut_case cases[] = {
    TN_CASE(Add, rw_arithmetic),      TN_CASE(Sub, rw_arithmetic),
    TN_CASE(Mul, rw_arithmetic),      TN_CASE(Div, rw_arithmetic),
    TN_CASE(Mod, rw_arithmetic),      TN_CASE(FloorDiv, rw_arithmetic),
    TN_CASE(FloorMod, rw_arithmetic), RW_COMMON_CASES,
};

tn_expr *arith_rewrite_simplify(arith_analyzer *a, tn_expr *e) {
  TN_SCOPE(s);
  /* proofs that rules ask for start their own rewriter: no endless descent through them */
  if (a->depth >= 3) return e;
  rewriter r = {.a = a, .again = a->depth ? MAX_AGAIN / 2 : 0};
  TN_MUT(m, cases, &r);
  m.exprs = true;
  ++a->depth;
  tn_expr *out = rw_visit(&m, e);
  --a->depth;
  rw_fini(&r);
  return tn_scope_return(s, out);
}
