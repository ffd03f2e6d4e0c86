/* Integer analysis of expressions: what passes ask when they simplify indices and prove conditions.

     TN_ARITH(a);                                            freed at every return
     TN_TRYP(arith_bind_range(&a, loop->loop_var, tir_range(loop->min, loop->extent), false));
     TN_GETP(index, arith_simplify(&a, index));
     if (arith_prove(&a, tir_lt(index, extent))) ...         bounds check not needed

   Integers are indices or data. Indices, int32 and int64 expressions over variables, are taken not
   to overflow unless the ranges of their variables say that they do. Data, what memory and
   functions give, wraps around: of it only what holds modulo a power of two is used, or what the
   bounds of the operands allow. Unsigned and narrow types and floats are only folded. An analyzer
   belongs to one thread. Expressions that are returned belong to the current scope. */
#ifndef TN_ARITH_ANALYZER_H_
#define TN_ARITH_ANALYZER_H_

#include "arith/arith.h"
#include "base/pmap.h"
#include "ir/expr.h"

#define ARITH_POS_INF INT64_MAX
#define ARITH_NEG_INF (-INT64_MAX)

/** Constant bounds; the limits stand for infinity. */
typedef struct {
  int64_t min, max;
} arith_bound;

/** The integers base + coeff * k; coeff 0: only base; else 0 <= base < coeff. */
typedef struct {
  int64_t coeff, base;
} arith_modular;

typedef struct arith_var arith_var;
typedef struct arith_fact arith_fact;

/** How much work a proof is worth; values as in existing programs. */
typedef enum { ARITH_PROVE_DEFAULT = 0, ARITH_PROVE_SYMBOLIC_BOUND = 1 } arith_strength;

typedef struct {
  tn_pmap vars;      /* tn_Var -> arith_var */
  arith_fact *facts; /* conditions that hold, innermost last */
  int64_t nfacts, cap;
  int depth;         /* of proofs that the rewriter starts */
  int64_t rewrites;  /* rules applied so far */
  bool zero_divisor; /* set when a bound divides by a constant 0 */
  bool narrow;       /* comparisons become the narrowest that the conditions allow */
} arith_analyzer;

#define TN_ARITH(name) __attribute__((cleanup(arith_fini))) arith_analyzer name = {0}
TN_API void arith_fini(arith_analyzer *a);

/* ---- what is known ---- */

/** The variable has this value, which takes its place in what is simplified; of a value of more
 * than 256 nodes only the bounds are known. Binding it again to something else is ValueError unless
 * `override`. */
TN_API int arith_bind(arith_analyzer *a, tn_Var *v, tn_expr *value, bool override);
/** The variable takes values of this range; one of extent 1 binds it to its min. */
TN_API int arith_bind_range(arith_analyzer *a, tn_Var *v, const tn_Range *range, bool override);
/** What is known of one variable, besides. ValueError when something else was known, unless
 * `override`. */
TN_API int arith_set_bound(arith_analyzer *a, tn_Var *v, arith_bound b, bool override);
TN_API int arith_set_modular(arith_analyzer *a, tn_Var *v, arith_modular m, bool override);
TN_API int arith_set_interval(arith_analyzer *a, tn_Var *v, tn_IntervalSet *s, bool override);
/** The variable has this value, which does not take its place: bounds, modular set, whether it is
 * data. Replaces what was known. */
TN_API int arith_know_value(arith_analyzer *a, tn_Var *v, tn_expr *value);
/** Forgets everything about a variable. */
TN_API void arith_unbind(arith_analyzer *a, const tn_Var *v);

/** From now on `cond` holds, until arith_leave with the mark that is returned (>= 0), or -1 with an
 * error. Scopes nest. What the condition reads from memory is not kept: statements below may write
 * it. */
TN_API int64_t arith_enter(arith_analyzer *a, tn_expr *cond);
/** The same for the time of evaluating `within`: what both only read does not change meanwhile.
 * @param cond simplified already */
TN_API int64_t arith_enter_for(arith_analyzer *a, tn_expr *cond, const tn_expr *within);
TN_API void arith_leave(arith_analyzer *a, int64_t mark);

/** Who tells whether a variable holds data; NULL: none does. */
typedef struct {
  bool (*is_data)(void *ctx, const tn_Var *v);
  void *ctx;
} arith_origin;
/** Asks `o` about variables of which an analyzer of this thread knows nothing; who was asked
 * before.
 */
TN_API arith_origin arith_set_origin(arith_origin o);

/* ---- questions (they cannot fail) ---- */

TN_API arith_bound arith_const_bound(arith_analyzer *a, const tn_expr *e);
TN_API arith_modular arith_modular_set(arith_analyzer *a, const tn_expr *e);
/** Does the value depend on memory, or on functions that are not pure? */
TN_API bool arith_is_data(arith_analyzer *a, const tn_expr *e);
/** Does a value depend on variables that only their type limits? Then so may its bounds. */
TN_API bool arith_is_open(arith_analyzer *a, const tn_expr *e);
/** May the arithmetic of this node (sum, difference, product, quotient, ramp, shift) give another
 * number than the exact one? */
TN_API bool arith_wraps(arith_analyzer *a, const tn_expr *e);
/** May `x op y`, op a type index like TN_TI_Add? */
TN_API bool arith_result_wraps(arith_analyzer *a, uint32_t op, tn_expr *x, tn_expr *y);
/** Is e the exact sum, difference and product of its terms? */
TN_API bool arith_exact(arith_analyzer *a, const tn_expr *e);
/** Is the condition always true, as far as can be told? An error on the way counts as no. */
TN_API bool arith_prove(arith_analyzer *a, tn_expr *cond);
TN_API bool arith_prove_with(arith_analyzer *a, tn_expr *cond, arith_strength strength);
TN_API bool arith_prove_equal(arith_analyzer *a, tn_expr *x, tn_expr *y);
TN_API bool arith_prove_ge(arith_analyzer *a, tn_expr *x, int64_t c); /**< x >= c by bounds */
TN_API bool arith_prove_lt(arith_analyzer *a, tn_expr *x, int64_t c); /**< x < c by bounds */

/* ---- simplification; NULL with an error (MemoryError, RuntimeError: nested too deeply) ---- */

/** Rewriting by rules, then canonical form: what passes want. */
TN_API tn_expr *arith_simplify(arith_analyzer *a, tn_expr *e);
/** Rewriting and canonical form in turns, `steps` of them. */
TN_API tn_expr *arith_simplify_steps(arith_analyzer *a, tn_expr *e, int steps);
TN_API tn_expr *arith_rewrite_simplify(arith_analyzer *a, tn_expr *e);
/** Sums of products in one order: positive factors first, larger ones before smaller, constants
 * last among each sign. */
TN_API tn_expr *arith_canonical_simplify(arith_analyzer *a, tn_expr *e);

/** A condition as a conjunction of disjunctions, as far as its terms may change places. What would
 * have more than 32 of them or more than 16 terms in one, and what has more than 256 nodes, stays
 * as it is. Simplified before. */
TN_API tn_expr *arith_and_of_ors(arith_analyzer *a, tn_expr *e);

/** Same structure; variables are equal only to themselves. */
TN_API bool arith_same(const tn_expr *x, const tn_expr *y);

#endif /* TN_ARITH_ANALYZER_H_ */
