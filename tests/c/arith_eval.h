/* Evaluation and random making of index expressions, for tests of integer analysis. */
#ifndef TENON_TESTS_C_ARITH_EVAL_H_
#define TENON_TESTS_C_ARITH_EVAL_H_

#include "testing.h"

#include "ir/expr.h"

enum { NVARS = 4 };

typedef struct {
  tn_Var *var[NVARS];
  int64_t lo[NVARS], hi[NVARS], value[NVARS];
  uint64_t seed;
  bool related;   /* the last variable is x, ..., x + 5 */
  tn_expr *holds; /* a condition on the values, or NULL */
} program;

static inline uint64_t rnd(program *p) { /* xorshift64 */
  p->seed ^= p->seed << 13;
  p->seed ^= p->seed >> 7;
  return p->seed ^= p->seed << 17;
}
static inline int64_t between(program *p, int64_t lo, int64_t hi) {
  return lo + (int64_t)(rnd(p) % (uint64_t)(hi - lo + 1));
}

static inline int64_t floor_div(int64_t a, int64_t b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

static bool eval(const program *p, const tn_expr *e, int64_t *out);

static inline bool eval_binary(uint32_t op, int64_t a, int64_t b, int64_t *out) {
  if (op >= TN_TI_Div && op <= TN_TI_FloorMod && b == 0) return false;
  switch (op) {
  case TN_TI_Add: return !__builtin_add_overflow(a, b, out);
  case TN_TI_Sub: return !__builtin_sub_overflow(a, b, out);
  case TN_TI_Mul: return !__builtin_mul_overflow(a, b, out);
  case TN_TI_Div: return *out = a / b, true;
  case TN_TI_Mod: return *out = a % b, true;
  case TN_TI_FloorDiv: return *out = floor_div(a, b), true;
  case TN_TI_FloorMod: return *out = a - floor_div(a, b) * b, true;
  case TN_TI_Min: return *out = a < b ? a : b, true;
  case TN_TI_Max: return *out = a > b ? a : b, true;
  case TN_TI_EQ: return *out = a == b, true;
  case TN_TI_NE: return *out = a != b, true;
  case TN_TI_LT: return *out = a < b, true;
  case TN_TI_LE: return *out = a <= b, true;
  case TN_TI_GT: return *out = a > b, true;
  case TN_TI_GE: return *out = a >= b, true;
  case TN_TI_And: return *out = a && b, true;
  case TN_TI_Or: return *out = a || b, true;
  default: return false;
  }
}

/* False where the value is undefined (division by zero). */
static bool eval(const program *p, const tn_expr *e, int64_t *out) {
  int64_t a, b, c;
  const tn_BinaryOp *o = TN_AS_BINARY(e);
  const tn_Call *call = TN_AS(Call, e);
  if (o) return eval(p, o->a, &a) && eval(p, o->b, &b) && eval_binary(e->hdr.type_index, a, b, out);
  if (TN_AS(IntImm, e)) return *out = ((const tn_IntImm *)e)->value, true;
  for (int i = 0; i < NVARS; ++i)
    if ((const tn_expr *)p->var[i] == e) return *out = p->value[i], true;
  if (TN_AS(Not, e)) return eval(p, ((const tn_Not *)e)->a, &a) && (*out = !a, true);
  if (TN_AS(Cast, e)) return eval(p, ((const tn_Cast *)e)->value, out);
  if (TN_AS(Select, e)) {
    const tn_Select *s = (const tn_Select *)e;
    return eval(p, s->condition, &c) && eval(p, s->true_value, &a) && eval(p, s->false_value, &b) &&
           (*out = c ? a : b, true);
  }
  if (call && tir_op_number((const tn_obj *)call->op) == TIR_OP_if_then_else)
    return eval(p, (const tn_expr *)tn_arr_obj(call->args, 0), &c) &&
           eval(p, (const tn_expr *)tn_arr_obj(call->args, c ? 1 : 2), out);
  if (call && tir_op_number((const tn_obj *)call->op) == TIR_OP_likely)
    return eval(p, (const tn_expr *)tn_arr_obj(call->args, 0), out);
  fail_msg("cannot evaluate %s", tn_obj_key(e));
  return false;
}

/* ---- random expressions ---- */

static tn_expr *random_int(program *p, int depth);

static inline tn_expr *random_bool(program *p, int depth) {
  tn_expr *a, *b;
  switch (rnd(p) % (depth > 1 ? 9 : 6)) {
  case 6: return a = random_bool(p, depth - 1), b = random_bool(p, depth - 1), tir_and(a, b);
  case 7: return a = random_bool(p, depth - 1), b = random_bool(p, depth - 1), tir_or(a, b);
  case 8: return tir_not(random_bool(p, depth - 1), NULL);
  default:
    a = random_int(p, depth - 1), b = random_int(p, depth - 1);
    return tir_binary(TN_TI_EQ + (uint32_t)(rnd(p) % 6), a, b, NULL);
  }
}

static tn_expr *random_int(program *p, int depth) {
  tn_expr *a, *b;
  uint64_t what = rnd(p) % 16;
  if (depth <= 0 || what == 0)
    return rnd(p) % 4 ? (tn_expr *)p->var[rnd(p) % NVARS] : tir_i32((int32_t)between(p, -9, 17));
  a = random_int(p, depth - 1);
  if (what <= 3) return tir_add(a, random_int(p, depth - 1));
  if (what <= 5) return tir_sub(a, random_int(p, depth - 1));
  if (what <= 7) return tir_mul(a, tir_i32((int32_t)between(p, -6, 8)));
  if (what == 8) return tir_mul(a, random_int(p, depth - 2));
  b = rnd(p) % 8 ? tir_i32((int32_t)between(p, 1, 9)) : (tn_expr *)p->var[0];
  if (what == 9) return tir_floordiv(a, b);
  if (what == 10) return tir_floormod(a, b);
  if (what == 11) return tir_div(a, b);
  if (what == 12) return tir_mod(a, b);
  b = random_int(p, depth - 1);
  if (what == 13) return tir_min(a, b);
  if (what == 14) return tir_max(a, b);
  tn_expr *c = random_bool(p, depth - 1);
  return rnd(p) % 2 ? tir_select(c, a, b, NULL) : tir_if_then_else(c, a, b, NULL);
}

static inline void new_program(program *p, uint64_t seed) {
  *p = (program){.seed = seed * 2654435761u + 88172645463325252u};
  static const char *const names[NVARS] = {"x", "y", "z", "w"};
  for (int i = 0; i < 8; ++i) rnd(p);
  for (int i = 0; i < NVARS; ++i) {
    p->var[i] = tir_var(names[i], TN_I32);
    p->lo[i] = rnd(p) % 2 ? 0 : between(p, -20, 5);
    p->hi[i] = p->lo[i] + between(p, 1, 30);
  }
}
/* False when no values that satisfy the condition were found. */
static inline bool draw_values(program *p) {
  int64_t ok = 1;
  for (int k = 0; k < 50; ++k) {
    for (int i = 0; i < NVARS; ++i) p->value[i] = between(p, p->lo[i], p->hi[i]);
    if (p->related) p->value[NVARS - 1] = p->value[0] + between(p, 0, 5);
    if (!p->holds || (eval(p, p->holds, &ok) && ok)) return true;
  }
  return false;
}

#endif
