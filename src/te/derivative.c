/* Derivatives of expressions by the rules of calculus, zeros left out.

     d (x * exp(y)) / dy  =  x * exp(y)

   At kinks (min, max, abs, choices) it is that of the side whose value is taken; steps (rounding,
   comparisons, integers) have derivative 0. */
#include "ir/expr.h"
#include "ir/functor.h"
#include "object/functions.h"
#include "tenon/object.h"
#include "te/gradient_impl.h"

typedef struct {
  const tn_obj *by;
} differ;

static int d(const differ *w, tn_expr *e, tn_expr **out);

tn_expr *te_product(tn_expr *a, tn_expr *b) {
  return tir_is_one(a) ? b : tir_is_one(b) ? a : tir_mul(a, b);
}

static int negated(tn_expr **e) {
  if (*e) TN_GET(*e, tir_neg(*e, NULL));
  return 0;
}

static int sum(tn_expr *a, tn_expr *b, tn_expr **out) {
  *out = a ? a : b;
  if (a && b) TN_GET(*out, tir_add(a, b));
  return 0;
}

/* `by` times the derivative of an argument. */
static int chain(tn_expr *by, tn_expr *inner, tn_expr **out) {
  TN_GET(*out, by ? te_product(inner, by) : NULL);
  return 0;
}

static int d_product(const differ *w, const tn_Mul *e, tn_expr **out) {
  tn_expr *a, *b;
  TN_TRY(d(w, e->a, &a) || d(w, e->b, &b));
  if (a) TN_GET(a, te_product(a, e->b));
  if (b) TN_GET(b, te_product(e->a, b));
  return sum(a, b, out);
}

static int d_quotient(const differ *w, const tn_Div *e, tn_expr **out) {
  tn_expr *a, *b;
  TN_TRY(d(w, e->a, &a) || d(w, e->b, &b));
  if (a) TN_GET(a, tir_div(a, e->b));
  if (b) TN_GET(b, tir_div(te_product(e->a, b), tir_mul(e->b, e->b)));
  return negated(&b) || sum(a, b, out) ? -1 : 0;
}

/* The derivative of the side that is taken. */
static int d_choice(const differ *w, tn_expr *cond, tn_expr *yes, tn_expr *no, bool lazy,
                    tn_expr **out) {
  tn_expr *a, *b;
  TN_TRY(d(w, yes, &a) || d(w, no, &b));
  *out = NULL;
  if (!a && !b) return 0;
  if (!a) TN_GET(a, tir_zero(yes->dtype));
  if (!b) TN_GET(b, tir_zero(yes->dtype));
  TN_GET(*out, lazy ? tir_if_then_else(cond, a, b, NULL) : tir_select(cond, a, b, NULL));
  return 0;
}

static tn_expr *one_over(tn_expr *e) { return e ? tir_div(tir_one(e->dtype), e) : NULL; }
static tn_expr *square(tn_expr *e) { return tir_mul(e, e); }
static tn_expr *fn(tir_op_id op, tn_expr *x) { return tir_call(x->dtype, op, 1, x); }
static tn_expr *number(tn_dtype t, double x) { return tir_const_float(t, x); }

/* The derivative of a function of one argument at x; e is its value there. *known is whether there
 * is a rule. */
static tn_expr *slope(tir_op_id op, tn_expr *x, tn_expr *e, bool *known) {
  tn_expr *one = tir_one(x->dtype);
  *known = true;
  switch ((int)op) {
  case TIR_OP_exp: return e;
  case TIR_OP_exp2: return tir_mul(e, number(x->dtype, 0.69314718055994530942));
  case TIR_OP_exp10: return tir_mul(e, number(x->dtype, 2.30258509299404568402));
  case TIR_OP_log: return one_over(x);
  case TIR_OP_log2: return one_over(tir_mul(x, number(x->dtype, 0.69314718055994530942)));
  case TIR_OP_log10: return one_over(tir_mul(x, number(x->dtype, 2.30258509299404568402)));
  case TIR_OP_log1p: return one_over(tir_add(x, one));
  case TIR_OP_sigmoid: return tir_mul(e, tir_sub(one, e));
  case TIR_OP_tanh: return tir_sub(one, square(e));
  case TIR_OP_sqrt: return one_over(tir_mul(e, number(x->dtype, 2)));
  case TIR_OP_rsqrt: return tir_mul(tir_div(e, x), number(x->dtype, -0.5));
  case TIR_OP_sin: return fn(TIR_OP_cos, x);
  case TIR_OP_cos: return tir_neg(fn(TIR_OP_sin, x), NULL);
  case TIR_OP_tan: return tir_add(one, square(e));
  case TIR_OP_sinh: return fn(TIR_OP_cosh, x);
  case TIR_OP_cosh: return fn(TIR_OP_sinh, x);
  case TIR_OP_asin: return fn(TIR_OP_rsqrt, tir_sub(one, square(x)));
  case TIR_OP_acos: return tir_neg(fn(TIR_OP_rsqrt, tir_sub(one, square(x))), NULL);
  case TIR_OP_atan: return one_over(tir_add(one, square(x)));
  case TIR_OP_asinh: return fn(TIR_OP_rsqrt, tir_add(one, square(x)));
  case TIR_OP_acosh: return fn(TIR_OP_rsqrt, tir_sub(square(x), one));
  case TIR_OP_atanh: return one_over(tir_sub(one, square(x)));
  case TIR_OP_erf:
    return tir_mul(fn(TIR_OP_exp, tir_neg(square(x), NULL)),
                   number(x->dtype, 1.12837916709551257390));
  case TIR_OP_fabs: return tir_select(tir_ge(x, tir_zero(x->dtype)), one, tir_neg(one, NULL), NULL);
  default: *known = false; return NULL;
  }
}

/* a**b: b * a**(b - 1) da + a**b * log(a) db */
static int d_power(const differ *w, tn_expr *e, tn_expr *a, tn_expr *b, tn_expr **out) {
  tn_expr *da, *db;
  TN_TRY(d(w, a, &da) || d(w, b, &db));
  if (da) {
    tn_expr *less = tir_call(e->dtype, TIR_OP_pow, 2, a, tir_sub(b, tir_one(b->dtype)));
    TN_TRY(chain(tir_mul(b, less), da, &da));
  }
  if (db) TN_TRY(chain(tir_mul(e, fn(TIR_OP_log, a)), db, &db));
  return sum(da, db, out);
}

static bool is_step(tir_op_id op) {
  switch ((int)op) {
  case TIR_OP_floor:
  case TIR_OP_ceil:
  case TIR_OP_trunc:
  case TIR_OP_round:
  case TIR_OP_nearbyint:
  case TIR_OP_isnan:
  case TIR_OP_isinf:
  case TIR_OP_isfinite: return true;
  default: return false;
  }
}

/* Does the expression depend on it at all? Where it does not, anything has the derivative 0. */
static int depends(void *ctx, tn_obj *o) {
  const differ *w = ctx;
  if (o == w->by) return 1;
  if (o->type_index == TN_TI_ProducerLoad)
    return w->by->type_index == o->type_index && tn_equal(o, w->by, 0) == 1;
  if (o->type_index == TN_TI_Tensor) return 0;
  return tn_visit_children(o, depends, ctx);
}

static int d_call(const differ *w, tn_Call *e, tn_expr **out) {
  tn_expr *args[2] = {0}, *inner;
  tir_op_id op = tir_op_number((tn_obj *)e->op);
  for (int i = 0; i < e->args->len && i < 2; ++i) args[i] = (tn_expr *)tn_arr_obj(e->args, i);
  *out = NULL;
  if (is_step(op)) return 0;
  if (op == TIR_OP_if_then_else)
    return d_choice(w, args[0], args[1], (tn_expr *)tn_arr_obj(e->args, 2), true, out);
  if (op == TIR_OP_pow) return d_power(w, (tn_expr *)e, args[0], args[1], out);
  if (op == TIR_OP_fma) {
    tn_expr *c = (tn_expr *)tn_arr_obj(e->args, 2);
    return d(w, tir_add(tir_mul(args[0], args[1]), c), out);
  }
  int used = depends((void *)(uintptr_t)w, (tn_obj *)e);
  if (used <= 0) return used;
  bool known = false;
  tn_expr *by = e->args->len == 1 ? slope(op, args[0], (tn_expr *)e, &known) : NULL;
  TN_CHECK(known, TenonError, e->span, "gradient: %s has no derivative here",
           TN_AS(Op, e->op) ? tn_cstr(((const tn_Op *)e->op)->name) : tn_obj_key(e->op));
  TN_TRY(!by || d(w, args[0], &inner));
  return inner ? chain(by, inner, out) : 0;
}

/* Values of integers change in steps. */
static int d_cast(const differ *w, const tn_Cast *e, tn_expr **out) {
  TN_TRY(d(w, e->value, out));
  if (*out) TN_GET(*out, tir_cast(e->dtype, *out, NULL));
  return 0;
}

static bool is_float(tn_dtype t) { return t.code == kDLFloat || t.code == kDLBfloat; }

static int d(const differ *w, tn_expr *e, tn_expr **out) {
  tn_expr *a, *b;
  *out = NULL;
  if (!e) return -1;
  if (!is_float(e->dtype)) return 0;
  uint32_t type = ((const tn_obj *)e)->type_index;
  if (type == w->by->type_index && tn_equal(e, w->by, 0) == 1) {
    TN_GET(*out, tir_one(e->dtype));
    return 0;
  }
  switch (type) {
  case TN_TI_Var:
  case TN_TI_SizeVar:
  case TN_TI_IntImm:
  case TN_TI_FloatImm:
  case TN_TI_ProducerLoad: return 0;
  case TN_TI_Add:
  case TN_TI_Sub:
    TN_TRY(d(w, ((tn_Add *)e)->a, &a) || d(w, ((tn_Add *)e)->b, &b));
    if (type == TN_TI_Sub) TN_TRY(negated(&b));
    return sum(a, b, out);
  case TN_TI_Mul: return d_product(w, (tn_Mul *)e, out);
  case TN_TI_Div: return d_quotient(w, (tn_Div *)e, out);
  case TN_TI_Min:
    a = ((tn_Min *)e)->a, b = ((tn_Min *)e)->b;
    return d_choice(w, tir_le(a, b), a, b, false, out);
  case TN_TI_Max:
    a = ((tn_Max *)e)->a, b = ((tn_Max *)e)->b;
    return d_choice(w, tir_ge(a, b), a, b, false, out);
  case TN_TI_Select: {
    const tn_Select *s = (const tn_Select *)e;
    return d_choice(w, s->condition, s->true_value, s->false_value, false, out);
  }
  case TN_TI_Cast: return d_cast(w, (const tn_Cast *)e, out);
  case TN_TI_Call: return d_call(w, (tn_Call *)e, out);
  default: {
    int used = depends((void *)(uintptr_t)w, (tn_obj *)e);
    if (used <= 0) return used;
    return TN_RAISE(TenonError, e->span, "gradient: %s has no derivative here", tn_obj_key(e));
  }
  }
}

int te_derivative(tn_expr *e, const tn_obj *by, tn_expr **out) {
  differ w = {by};
  return d(&w, e, out);
}
