/* Matching of patterns, evaluation of conditions, building of right sides. */
#include "arith/rules_impl.h"

typedef struct {
  arith_analyzer *a;
  const arith_values *plain; /* evaluate with these numbers, or NULL: with what was matched */
  tn_expr *var[ARITH_NVARS];
  int64_t c[ARITH_NCONSTS], lanes;
  uint32_t has_c;
  bool has_lanes;
  bool exact; /* nothing that is built may wrap around */
} env;

static const arith_pat *at(int32_t p) { return &arith_rules.pats[p]; }

/* ---- matching ---- */

static bool match(env *m, int32_t p, tn_expr *e);

static bool match_const(env *m, int64_t which, const tn_expr *e) {
  const tn_IntImm *i = TN_AS(IntImm, e);
  if (!i || ir_is_bool(i->dtype)) return false;
  if (m->has_c & (1u << which)) return m->c[which] == i->value;
  m->has_c |= 1u << which;
  m->c[which] = i->value;
  return true;
}

static bool match_lanes(env *m, int64_t lanes) {
  if (m->has_lanes) return m->lanes == lanes;
  m->has_lanes = true;
  m->lanes = lanes;
  return true;
}

static bool match_var(env *m, int64_t which, tn_expr *e) {
  if (m->var[which]) return arith_same(m->var[which], e);
  m->var[which] = e;
  return true;
}

static bool match_node(env *m, const arith_pat *n, tn_expr *e) {
  if ((int32_t)e->hdr.type_index != n->op) return false;
  const tn_BinaryOp *b = TN_AS_BINARY(e);
  if (b) return match(m, n->kid[0], b->a) && match(m, n->kid[1], b->b);
  switch (n->op) {
  case TN_TI_Not: return match(m, n->kid[0], ((tn_Not *)e)->a);
  case TN_TI_Broadcast:
    return match_lanes(m, ((tn_Broadcast *)e)->lanes) &&
           match(m, n->kid[0], ((tn_Broadcast *)e)->value);
  case TN_TI_Ramp: {
    const tn_Ramp *r = (const tn_Ramp *)e;
    return match_lanes(m, r->lanes) && match(m, n->kid[0], r->base) &&
           match(m, n->kid[1], r->stride);
  }
  case TN_TI_Select: {
    const tn_Select *s = (const tn_Select *)e;
    return match(m, n->kid[0], s->condition) && match(m, n->kid[1], s->true_value) &&
           match(m, n->kid[2], s->false_value);
  }
  default: return false;
  }
}

static bool match(env *m, int32_t p, tn_expr *e) {
  const arith_pat *n = at(p);
  const tn_IntImm *i = TN_AS(IntImm, e);
  switch (n->op) {
  case PAT_VAR: return match_var(m, n->num, e);
  case PAT_CONST: return match_const(m, n->num, e);
  case PAT_NUM: return i && !ir_is_bool(i->dtype) && i->value == n->num;
  case PAT_BOOL: return i && ir_is_bool(i->dtype) && i->value == n->num;
  default: return match_node(m, n, e);
  }
}

/* ---- evaluation ---- */

static bool eval(env *m, int32_t p, int64_t *out);
static int build(env *m, int32_t p, tn_dtype t, tn_expr **out);

/* Plain numbers of a type of some bits wrap around; a constant that does not fit stops the rule. */
static bool in_bits(const env *m, const arith_pat *n, int64_t *v) {
  if (!m->plain || !m->plain->bits) return true;
  int64_t wrapped = ir_wrap_int(*v, tn_dtype_of(kDLInt, (uint8_t)m->plain->bits, 1));
  if (n->constant) return *v == wrapped;
  *v = wrapped;
  return true;
}

static bool eval_arith(int32_t op, int64_t a, int64_t b, int64_t *out) {
  switch (op) {
  case TN_TI_Add: return !__builtin_add_overflow(a, b, out);
  case TN_TI_Sub: return !__builtin_sub_overflow(a, b, out);
  case TN_TI_Mul: return !__builtin_mul_overflow(a, b, out);
  case TN_TI_Min: return *out = a < b ? a : b, true;
  case TN_TI_Max: return *out = a > b ? a : b, true;
  case TN_TI_EQ: return *out = a == b, true;
  case TN_TI_NE: return *out = a != b, true;
  case TN_TI_LT: return *out = a < b, true;
  case TN_TI_LE: return *out = a <= b, true;
  default: break;
  }
  if (b == 0) return *out = 0, true; /* docs/semantics.md */
  if (a == INT64_MIN && b == -1) return false;
  *out = op == TN_TI_Div        ? a / b
         : op == TN_TI_Mod      ? a % b
         : op == TN_TI_FloorDiv ? arith_floordiv(a, b)
                                : arith_floormod(a, b);
  return true;
}

/* && and || do not look at the right side when the left one decides */
static bool eval_logic(env *m, const arith_pat *n, int64_t *out) {
  if (!eval(m, n->kid[0], out)) return false;
  if (n->op == TN_TI_Not) return *out = !*out, true;
  if (!*out == (n->op == TN_TI_And)) return *out = n->op == TN_TI_Or, true;
  return eval(m, n->kid[1], out);
}

static bool eval_vector(env *m, const arith_pat *n, int64_t *out) {
  int64_t stride;
  if (!m->plain) return false;
  if (n->op == TN_TI_Broadcast) return eval(m, n->kid[0], out);
  bool ok = eval(m, n->kid[0], out) && eval(m, n->kid[1], &stride) &&
            eval_arith(TN_TI_Mul, stride, m->plain->lane, &stride) &&
            eval_arith(TN_TI_Add, *out, stride, out);
  return ok && in_bits(m, n, out);
}

/* What a condition asks of an expression. */
static bool eval_question(env *m, const arith_pat *n, int64_t *out) {
  int64_t c = 0;
  if (n->op == PAT_KNOWN_MOD && (!eval(m, n->kid[1], &c) || c <= 0)) return false;
  if (m->plain) {
    if (!eval(m, n->kid[0], out)) return false;
    if (n->op == PAT_ZERO) *out = *out == 0;
    if (n->op == PAT_KNOWN_MOD) *out = arith_floormod(*out, c);
    return true;
  }
  tn_expr *e;
  m->exact = true;
  if (build(m, n->kid[0], TN_I32, &e) != 1) return false;
  if (n->op == PAT_ZERO)
    return *out = (e = arith_rewrite_simplify(m->a, e)) && tir_is_zero(e), true;
  if (n->op == PAT_KNOWN_MOD) {
    arith_modular s = arith_modular_set(m->a, e);
    return *out = s.coeff % c == 0 ? arith_floormod(s.base, c) : -1, true;
  }
  arith_bound b = arith_const_bound(m->a, e);
  return *out = n->op == PAT_LO ? b.min : b.max, true;
}

static bool eval(env *m, int32_t p, int64_t *out) {
  const arith_pat *n = at(p);
  int64_t a, b;
  switch (n->op) {
  case PAT_VAR: return m->plain ? (*out = m->plain->var[n->num], true) : false;
  case PAT_CONST: return *out = m->plain ? m->plain->c[n->num] : m->c[n->num], true;
  case PAT_LANES: return *out = m->plain ? m->plain->lanes : m->lanes, *out > 0;
  case PAT_NUM:
  case PAT_BOOL: return *out = n->num, true;
  case PAT_LO:
  case PAT_HI:
  case PAT_ZERO:
  case PAT_KNOWN_MOD: return eval_question(m, n, out);
  case TN_TI_And:
  case TN_TI_Or:
  case TN_TI_Not: return eval_logic(m, n, out);
  case TN_TI_Ramp:
  case TN_TI_Broadcast: return eval_vector(m, n, out);
  case TN_TI_Select: return eval(m, n->kid[0], &a) && eval(m, n->kid[a ? 1 : 2], out);
  default:
    return eval(m, n->kid[0], &a) && eval(m, n->kid[1], &b) && eval_arith(n->op, a, b, out) &&
           in_bits(m, n, out);
  }
}

bool arith_pattern_value(int pat, const arith_values *v, int64_t *out) {
  env m = {.plain = v};
  return eval(&m, pat, out);
}

/* ---- building; 1: done, 0: the rule does not apply (a constant does not fit), -1: error ---- */

static int build_const(env *m, int32_t p, tn_dtype t, tn_expr **out) {
  int64_t v;
  if (!ir_is_integral(t) || !eval(m, p, &v)) return 0;
  arith_bound all = arith_dtype_bound(t);
  if (v < all.min || v > all.max) return 0;
  TN_GET(*out, tir_const_int(t, v));
  return 1;
}

/* Type of the operands of a comparison: that of a variable in it. */
static bool operand_type(env *m, int32_t p, tn_dtype *t) {
  if (p < 0) return false;
  const arith_pat *n = at(p);
  if (n->op == PAT_VAR) return *t = m->var[n->num]->dtype, true;
  for (int i = n->op == TN_TI_Select; i < 3; ++i)
    if (operand_type(m, n->kid[i], t)) return true;
  return false;
}

static int build_two(env *m, const arith_pat *n, tn_dtype t, tn_expr **out) {
  tn_expr *a, *b;
  bool cmp = n->op >= TN_TI_EQ && n->op <= TN_TI_GE;
  if (cmp && !operand_type(m, n->kid[0], &t) && !operand_type(m, n->kid[1], &t)) return 0;
  int r = build(m, n->kid[0], t, &a);
  if (r == 1) r = build(m, n->kid[1], t, &b);
  if (r != 1) return r;
  bool divides = n->op >= TN_TI_Div && n->op <= TN_TI_FloorMod;
  if (divides && tir_is_zero(b)) return 0;
  if (m->exact && arith_result_wraps(m->a, (uint32_t)n->op, a, b)) return 0;
  TN_GET(*out, tir_binary((uint32_t)n->op, a, b, NULL));
  return 1;
}

static int build_vector(env *m, const arith_pat *n, tn_dtype t, tn_expr **out) {
  tn_expr *a, *b = NULL;
  t.lanes = 1;
  int r = build(m, n->kid[0], t, &a);
  if (r == 1 && n->op == TN_TI_Ramp) r = build(m, n->kid[1], t, &b);
  if (r != 1) return r;
  if (n->op == TN_TI_Broadcast) TN_GET(*out, tir_broadcast(a, (int)m->lanes, NULL));
  else TN_GET(*out, (tn_expr *)TN_MAKE(Ramp, .base = a, .stride = b, .lanes = m->lanes));
  return !m->exact || !arith_wraps(m->a, *out);
}

static int build_select(env *m, const arith_pat *n, tn_dtype t, tn_expr **out) {
  tn_expr *c, *x, *y;
  int r = build(m, n->kid[0], TN_BOOL1, &c);
  if (r == 1) r = build(m, n->kid[1], t, &x);
  if (r == 1) r = build(m, n->kid[2], t, &y);
  if (r == 1) TN_GET(*out, tir_select(c, x, y, NULL));
  return r;
}

static int build(env *m, int32_t p, tn_dtype t, tn_expr **out) {
  const arith_pat *n = at(p);
  if (n->constant) return build_const(m, p, t, out);
  if (n->op == PAT_VAR) return *out = m->var[n->num], 1;
  switch (n->op) {
  case TN_TI_Not: {
    tn_expr *a;
    int r = build(m, n->kid[0], t, &a);
    if (r == 1) TN_GET(*out, tir_not(a, NULL));
    return r;
  }
  case TN_TI_Ramp:
  case TN_TI_Broadcast: return build_vector(m, n, t, out);
  case TN_TI_Select: return build_select(m, n, t, out);
  default: return build_two(m, n, t, out);
  }
}

/* ---- applying ---- */

/* Rules about integers do not hold where numbers wrap around, and comparisons of floats have NaN.
 */
static bool types_fit(const env *m, const arith_rule *r) {
  if (r->kind != ARITH_RULE_INDEX) return true;
  for (int i = 0; i < ARITH_NVARS; ++i) {
    if (!m->var[i]) continue;
    tn_dtype t = m->var[i]->dtype;
    if (t.lanes != 1 || !(ir_is_bool(t) || arith_is_index(t))) return false;
  }
  return true;
}

/* Rules for vectors move arithmetic from lanes to scalars: sound for every type but that ramps of
   types that wrap around must not be divided or compared. */
static bool vector_fits(const arith_rule *r, const tn_expr *e) {
  const tn_BinaryOp *b = TN_AS_BINARY(e);
  if (r->kind != ARITH_RULE_VECTOR || !b) return true;
  bool ramp = b->a->hdr.type_index == TN_TI_Ramp || b->b->hdr.type_index == TN_TI_Ramp;
  return !ramp || arith_is_index(ir_with_lanes(b->a->dtype, 1));
}

/* Does nothing wrap around in the part of e that the pattern tells of? */
static bool lhs_exact(arith_analyzer *a, int32_t p, tn_expr *e) {
  const arith_pat *n = &arith_rules.pats[p];
  const tn_BinaryOp *b = TN_AS_BINARY(e);
  if (n->op >= PAT_VAR) return true;
  if (arith_wraps(a, e)) return false;
  if (b) return lhs_exact(a, n->kid[0], b->a) && lhs_exact(a, n->kid[1], b->b);
  switch (n->op) {
  case TN_TI_Not: return lhs_exact(a, n->kid[0], ((tn_Not *)e)->a);
  case TN_TI_Broadcast: return lhs_exact(a, n->kid[0], ((tn_Broadcast *)e)->value);
  case TN_TI_Ramp:
    return lhs_exact(a, n->kid[0], ((tn_Ramp *)e)->base) &&
           lhs_exact(a, n->kid[1], ((tn_Ramp *)e)->stride);
  case TN_TI_Select:
    return lhs_exact(a, n->kid[0], ((tn_Select *)e)->condition) &&
           lhs_exact(a, n->kid[1], ((tn_Select *)e)->true_value) &&
           lhs_exact(a, n->kid[2], ((tn_Select *)e)->false_value);
  default: return true;
  }
}

static int try_way(arith_analyzer *a, const arith_way *w, tn_expr *e, tn_expr **out) {
  env m = {.a = a};
  int64_t holds = 1;
  if (!match(&m, w->lhs, e) || !types_fit(&m, w->rule) || !vector_fits(w->rule, e)) return 0;
  if (w->rule->cond_pat >= 0 && (!eval(&m, w->rule->cond_pat, &holds) || !holds))
    return tn_error_pending() ? -1 : 0;
  m.exact = !w->rule->modular;
  if (m.exact && !lhs_exact(a, w->lhs, e)) return 0;
  return build(&m, w->rule->rhs_pat, e->dtype, out);
}

static bool kid_is(int32_t wanted, const tn_expr *kid) {
  return !wanted || (int32_t)kid->hdr.type_index == wanted;
}

int arith_apply_rules(arith_analyzer *a, tn_expr *e, tn_expr **out) {
  uint32_t type = e->hdr.type_index;
  const tn_BinaryOp *b = TN_AS_BINARY(e);
  *out = NULL;
  if (type > TN_TI_END_expr) return 0;
  const arith_way *w = &arith_rules.ways[arith_rules.first[type]];
  for (int32_t i = 0; i < arith_rules.count[type]; ++i, ++w) {
    if (b && !(kid_is(w->a, b->a) && kid_is(w->b, b->b))) continue;
    tn_expr *r = NULL;
    int got = try_way(a, w, e, &r);
    TN_TRY(got < 0);
    if (got == 0 || arith_same(r, e)) continue;
    ++a->rewrites;
    *out = r;
    return 0;
  }
  return 0;
}
