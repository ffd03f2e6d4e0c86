/* What the files of src/arith share among themselves. */
#ifndef TN_ARITH_ARITH_IMPL_H_
#define TN_ARITH_ARITH_IMPL_H_

#include "arith/analyzer.h"

/** What is known of a variable. References are retained. */
struct arith_var {
  tn_Var *var;
  tn_expr *value;   /* bound to it, or NULL */
  tn_expr *lo, *hi; /* symbolic bounds, or NULL */
  arith_bound bound;
  arith_modular modular;
  bool has_bound, has_modular;
  bool data; /* it comes from memory */
  bool open; /* the bound limits nothing: an extent or loop of unknown length */
};

/** A condition that holds, and what follows for one expression. References are retained. */
struct arith_fact {
  tn_expr *cond; /* simplified */
  tn_expr *expr; /* bound and modular are about it; NULL: about nothing */
  arith_bound bound;
  arith_modular modular;
};

/* ---- saturating arithmetic of bounds (bound.c) ---- */
int64_t arith_sat_add(int64_t x, int64_t y);
int64_t arith_sat_neg(int64_t x);
int64_t arith_sat_mul(int64_t x, int64_t y);
static inline arith_bound arith_everything(void) {
  return (arith_bound){ARITH_NEG_INF, ARITH_POS_INF};
}
static inline arith_bound arith_intersect(arith_bound a, arith_bound b) {
  return (arith_bound){a.min > b.min ? a.min : b.min, a.max < b.max ? a.max : b.max};
}
static inline arith_bound arith_union(arith_bound a, arith_bound b) {
  return (arith_bound){a.min < b.min ? a.min : b.min, a.max > b.max ? a.max : b.max};
}
/** What the thread's origin says. */
bool arith_var_is_data(const tn_expr *v);
/** Where a value comes from (bound.c). */
void arith_value_origin(arith_analyzer *a, const tn_expr *e, bool *data, bool *open);
/** A variable lies between two values, of which either may be infinite. */
int arith_know_between(arith_analyzer *a, tn_Var *v, const tn_expr *min, const tn_expr *max);
/** All values of a type. */
arith_bound arith_dtype_bound(tn_dtype t);

/* ---- modular sets (modular.c) ---- */
int64_t arith_gcd(int64_t x, int64_t y);
/** The numbers in both; false when it cannot be told or there are none. */
bool arith_modular_intersect(arith_modular x, arith_modular y, arith_modular *out);
arith_modular arith_modular_of(int64_t coeff, int64_t base);

/* ---- symbolic bounds ---- */
/** Constant bounds of `e` by way of the variables' symbolic ones: of n - i for i in [0, n) that is
 * 1 and more (int_set.c). */
int arith_known_bounds(arith_analyzer *a, tn_expr *e, arith_bound *out);
/** The same by way of the conditions that hold: y - x for x < y is 1 and more (prove.c). */
int arith_fact_bounds(arith_analyzer *a, tn_expr *e, arith_bound *out);
/** The same of a sum with quotients: 6 * ((n + 5) // 6) - n is 0 and more (quotients.c). */
int arith_quotient_bounds(arith_analyzer *a, tn_expr *e, arith_bound *out);

/* ---- small helpers ---- */
static inline int64_t arith_floordiv(int64_t a, int64_t b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}
static inline int64_t arith_floormod(int64_t a, int64_t b) {
  int64_t r = a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
/** int32 or int64, the types of indices. */
static inline bool arith_is_index(tn_dtype t) {
  return t.code == kDLInt && (t.bits == 32 || t.bits == 64);
}
static inline bool arith_is_comparison(const tn_BinaryOp *e) {
  return e->hdr.type_index >= TN_TI_EQ && e->hdr.type_index <= TN_TI_GE;
}
/** The comparison that holds where this one does not; of floats only for == and !=: an order of NaN
 * has no opposite (rewrite_logic.c). */
tn_expr *arith_opposite(tn_BinaryOp *e);
/** Is little of the stack left? Then questions are answered with what is always true. */
bool arith_deep(void);
arith_var *arith_known(const arith_analyzer *a, const tn_expr *e);
/** The i-th argument of a call. */
static inline tn_expr *arith_arg(const tn_Call *c, int64_t i) {
  return (tn_expr *)tn_arr_obj(c->args, i);
}

/** Expressions that occur at least `threshold` times in e, with their counts: PrimExpr to IntImm.
 * NULL with MemoryError. */
tn_map *arith_common_subexpr(const tn_expr *e, int64_t threshold);

int arith_rules_init(void);
int arith_int_set_init(void);
int arith_api_init(void);
int arith_api_sets_init(void);
int arith_repr_init(void);

#endif /* TN_ARITH_ARITH_IMPL_H_ */
