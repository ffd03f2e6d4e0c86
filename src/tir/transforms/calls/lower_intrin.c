/* Operations that machines do not have become those they have.

     x // 4                                ->   T.shift_right(x, 2)
     x % n   (x >= 0 is known)             ->   T.truncmod(x, n)
     T.q_multiply_shift(x, y, 31, s)       ->   rounding shift of a 64-bit product

   Rounding down is expressed by rounding toward zero, with what is known of the signs. What a
   program has registered for calls comes first (ir.register_intrin_lowering: the attribute
   <target>.FLowerIntrinsic or .FLegalize of an operator, default.F... for all targets). Last of the
   passes over host code. */
#include "arith/analyzer.h"
#include "ir/op.h"
#include "tir/device.h"
#include "tir/transforms/transforms.h"

typedef struct {
  arith_analyzer known;
  const char *target; /* kind */
} lowerer;

/* n of 2**n, or -1. */
static int power_of_two(const tn_expr *e) {
  int64_t v;
  if (!tir_as_int((const tn_obj *)e, &v) || v <= 0 || (v & (v - 1))) return -1;
  int n = 0;
  while (v >> n != 1) ++n;
  return n;
}

static tn_expr *zero_of(const tn_expr *e) { return tir_zero(e->dtype); }

/* Does the remainder of rounding toward zero have the sign it has when rounding down? */
static tn_expr *same_sign(tn_expr *b, tn_expr *rem) {
  tn_expr *pos = tir_and(tir_ge(b, zero_of(b)), tir_ge(rem, zero_of(rem)));
  tn_expr *neg = tir_and(tir_lt(b, zero_of(b)), tir_le(rem, zero_of(rem)));
  return tir_or(pos, neg);
}

/* An expression that is used several times is computed once. */
static tn_expr *let(tn_Var *v, tn_expr *value, tn_expr *body) {
  return (tn_expr *)TN_NEW(Let, .dtype = body ? body->dtype : value->dtype, .var = v,
                           .value = value, .body = body);
}

static tn_expr *floor_div(arith_analyzer *k, tn_expr *a, tn_expr *b) {
  int n = power_of_two(b);
  if (ir_is_floating(ir_with_lanes(a->dtype, 1)))
    return tir_rounding(TIR_OP_floor, tir_div(a, b), NULL);
  if (!ir_is_int(a->dtype)) return tir_truncdiv(a, b, NULL);
  if (n >= 0) return tir_shift(TIR_OP_shift_right, a, tir_const_int(a->dtype, n), NULL);
  bool positive = arith_prove_ge(k, b, 0);
  if (positive && arith_prove_ge(k, a, 0)) return tir_truncdiv(a, b, NULL);
  tn_Var *rem = tir_var("rmod", a->dtype);
  tn_expr *r = (tn_expr *)rem, *q = tir_truncdiv(a, b, NULL);
  tn_expr *ok = !r ? NULL : positive ? tir_ge(r, zero_of(r)) : same_sign(b, r);
  return let(rem, tir_truncmod(a, b, NULL), tir_select(ok, q, tir_sub(q, tir_one(a->dtype)), NULL));
}

static tn_expr *floor_mod(arith_analyzer *k, tn_expr *a, tn_expr *b) {
  int n = power_of_two(b);
  if (ir_is_floating(ir_with_lanes(a->dtype, 1))) return tir_floormod(a, b);
  if (!ir_is_int(a->dtype)) return tir_truncmod(a, b, NULL);
  if (n >= 0) {
    tn_expr *mask = tir_sub(b, tir_one(b->dtype));
    return mask ? tir_bitwise(TIR_OP_bitwise_and, a, mask, NULL) : NULL;
  }
  bool positive = arith_prove_ge(k, b, 0);
  if (positive && arith_prove_ge(k, a, 0)) return tir_truncmod(a, b, NULL);
  tn_Var *rem = tir_var("rmod", a->dtype);
  tn_expr *r = (tn_expr *)rem;
  tn_expr *ok = !r ? NULL : positive ? tir_ge(r, zero_of(r)) : same_sign(b, r);
  return let(rem, tir_truncmod(a, b, NULL), tir_select(ok, r, tir_add(r, b), NULL));
}

static tn_expr *lower_binary(tn_mut *m, tn_expr *e) {
  const tn_BinaryOp *op = TN_AS_BINARY(e);
  tn_expr *a = tn_mut_visit(m, op->a), *b = tn_mut_visit(m, op->b);
  if (!a || !b) return NULL;
  arith_analyzer *k = &((lowerer *)m->ctx)->known;
  return TN_IS(FloorDiv, e) ? floor_div(k, a, b) : floor_mod(k, a, b);
}

/* ---- fixed point ---- */

/* x * y * 2**-s with s = q - shift, rounded to nearest, plus a number: in 64 bits. Shifting left
   comes first. */
static tn_expr *multiply_shift_add(tn_expr *x, tn_expr *y, tn_expr *q, tn_expr *left,
                                   tn_expr *right, int64_t more) {
  tn_dtype wide = tn_dtype_of(kDLInt, 64, x->dtype.lanes);
  tn_expr *v = tir_cast(wide, x, NULL), *w = tir_cast(wide, y, NULL),
          *l = tir_cast(wide, left, NULL);
  tn_expr *total = tir_add(tir_cast(wide, q, NULL), tir_cast(wide, right, NULL));
  v = l && !tir_is_zero(l) ? tir_shift(TIR_OP_shift_left, v, l, NULL) : v;
  tn_expr *half = tir_shift(TIR_OP_shift_left, tir_one(wide), tir_sub(total, tir_one(wide)), NULL);
  if (more)
    half = tir_add(half, tir_mul(tir_const_int(wide, more),
                                 tir_shift(TIR_OP_shift_left, tir_one(wide), total, NULL)));
  tn_expr *sum = tir_add(tir_mul(v, w), half);
  return tir_cast(x->dtype, tir_shift(TIR_OP_shift_right, sum, total, NULL), NULL);
}

static tn_expr *multiply_shift(tn_expr *x, tn_expr *y, tn_expr *q, tn_expr *left, tn_expr *right) {
  return multiply_shift_add(x, y, q, left, right, 0);
}

static tn_expr *arg(const tn_Call *c, int64_t i) { return (tn_expr *)tn_arr_obj(c->args, i); }

/* (x, y, q, s): s > 0 shifts left before, s < 0 right after the product */
static tn_expr *q_multiply_shift(const tn_Call *c) {
  tn_expr *s = arg(c, 3);
  return multiply_shift(arg(c, 0), arg(c, 1), arg(c, 2), tir_max(s, zero_of(s)),
                        tir_max(tir_neg(s, NULL), zero_of(s)));
}

enum { SMALL = 1 << 15 }; /* so far a sum with a product of 62 bits stays in range */

/* q_multiply_shift(...) + c: c is part of what is added to round. */
static tn_expr *lower_sum(tn_mut *m, tn_BinaryOp *op) {
  int64_t c, q, s;
  const tn_Call *call = tir_as_call((tn_obj *)op->a, TIR_OP_q_multiply_shift);
  bool known = call && call->args->len == 4 && tn_dtype_eq(op->a->dtype, TN_I32) &&
               tir_as_int((tn_obj *)op->b, &c) && tir_as_int((tn_obj *)arg(call, 2), &q) &&
               tir_as_int((tn_obj *)arg(call, 3), &s);
  if (!known || c <= -SMALL || c >= SMALL || s > 0 || q - s > 46) return tn_mut_children(m, op);
  tn_expr *x = tn_mut_visit(m, arg(call, 0)), *zero = x ? zero_of(x) : NULL;
  if (!zero) return NULL;
  return multiply_shift_add(x, arg(call, 1), arg(call, 2), zero, tir_const_int(TN_I32, -s),
                            TN_IS(Sub, op) ? -c : c);
}

/* (x, y, left, right, q, is left needed, is right needed) */
static tn_expr *q_multiply_shift_per_axis(const tn_Call *c) {
  tn_expr *left = arg(c, 2), *right = arg(c, 3);
  if (tir_is_zero(arg(c, 5))) left = zero_of(left);
  if (tir_is_zero(arg(c, 6))) right = zero_of(right);
  return multiply_shift(arg(c, 0), arg(c, 1), arg(c, 4), left, right);
}

/* ---- rules of the program ---- */

/* What the first rule makes of the call that does not leave it as it is, or NULL. */
static int apply_rules(const lowerer *x, const tn_Call *c, tn_expr **out) {
  static const char *const names[] = {"FLowerIntrinsic", "FLegalize"};
  const tn_Op *op = TN_AS(Op, c->op);
  *out = NULL;
  for (int i = 0; op && i < 4; ++i) {
    tn_str *key = tn_str_fmt("%s.%s", i < 2 ? x->target : "default", names[i % 2]);
    tn_any rule, ret, arg = tn_any_obj(c);
    if (!key) return -1;
    if (!ir_op_attr(op, tn_cstr(key), &rule) || rule.type_index != TN_TI_Function) continue;
    TN_TRY(tn_func_call((tn_func *)rule.v.obj, &arg, 1, &ret));
    tn_obj *o = tn_any_is_obj(&ret) ? tn_scope_own(ret.v.obj) : NULL;
    const tn_expr *e = o && TN_IS(PrimExpr, o) ? (const tn_expr *)o : NULL;
    TN_CHECK(e && tn_dtype_eq(e->dtype, c->dtype), TypeError, c->span,
             "the rule %s of %s: expected an expression of %s, got %s", tn_cstr(key),
             tn_cstr(op->name), TN_DT(c->dtype),
             e   ? TN_DT(e->dtype)
             : o ? tn_obj_key(o)
                 : "no object");
    if (o == (const tn_obj *)c) continue;
    *out = (tn_expr *)o;
    return 0;
  }
  return 0;
}

static tn_expr *lower_call(tn_mut *m, tn_Call *op) {
  tn_Call *c = tn_mut_children(m, op);
  tn_expr *own = NULL;
  if (!c) return NULL;
  if (ir_op_has_foreign_rules()) TN_TRYP(apply_rules(m->ctx, c, &own));
  if (own) return tn_mut_visit(m, own);
  switch (tir_op_number((tn_obj *)c->op)) {
  case TIR_OP_q_multiply_shift: return c->args->len == 4 ? q_multiply_shift(c) : (tn_expr *)c;
  case TIR_OP_q_multiply_shift_per_axis:
    return c->args->len == 7 ? q_multiply_shift_per_axis(c) : (tn_expr *)c;
  default: return (tn_expr *)c;
  }
}

/* ---- what is known ---- */

static tn_stmt *lower_for(tn_mut *m, tn_For *op) {
  arith_analyzer *k = &((lowerer *)m->ctx)->known;
  tn_expr *min = tn_mut_visit(m, op->min), *extent = tn_mut_visit(m, op->extent);
  tn_Range *r = tir_range(op->min, op->extent);
  if (!r || !min || !extent || arith_bind_range(k, op->loop_var, r, true)) return NULL;
  tn_stmt *body = tn_mut_visit(m, op->body);
  arith_unbind(k, op->loop_var);
  return tir_for_with(op, min, extent, body);
}

static tn_stmt *lower_let(tn_mut *m, tn_LetStmt *op) {
  arith_analyzer *k = &((lowerer *)m->ctx)->known;
  tn_LetStmt copy = *op;
  TN_GETP(copy.value, tn_mut_visit(m, op->value));
  if (ir_is_int(op->var->dtype)) TN_TRYP(arith_know_value(k, op->var, op->value));
  TN_GETP(copy.body, tn_mut_visit(m, op->body));
  arith_unbind(k, op->var);
  bool same = copy.value == op->value && copy.body == op->body;
  return same ? (tn_stmt *)op : tn_node_copy(&tn_type_LetStmt, &copy);
}

tn_PrimFunc *tir_lower_intrin(tn_PrimFunc *f, const tn_pass_ctx *c) {
  static const tn_mut_case cases[] = {
      TN_CASE(FloorDiv, lower_binary), TN_CASE(FloorMod, lower_binary), TN_CASE(Call, lower_call),
      TN_CASE(Add, lower_sum),         TN_CASE(Sub, lower_sum),         TN_CASE(For, lower_for),
      TN_CASE(LetStmt, lower_let)};
  (void)c;
  lowerer x = {.target = tir_target_kind_name(tir_func_attr(f, "target"))};
  TN_MUT(m, cases, &x);
  tn_stmt *body = tn_mut_visit(&m, f->body);
  arith_fini(&x.known);
  return tir_with_body(f, body);
}
