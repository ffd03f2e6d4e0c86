/* Rewrite rules as a table of text,  "(x + c1) - y" => "(x - y) + c1",  and the engine that matches
   them. The table is rules.def; it is parsed once at start.

   In a pattern x y z w b1 b2 s1 s2 stand for any expression (the same wherever they are repeated),
   c1 ... c4 for integer constants, l for a number of lanes. Operators: || && == != < <= + - *
   / (truncated) // % (floored) rem(a, b) (truncated) ! min max select(c, t, f) ramp(base, stride,
   l) bcast(v, l). Addition, multiplication, min, max, ==, !=, && and || match in either order,
   except with a constant, which is on the right.

   A condition is an expression over the constants; of expressions it may use lo(e) and hi(e), their
   constant bounds, zero(e): does e simplify to 0?, and known_mod(e, c): e % c where that is one
   known number, else -1.

   A rule is about exact numbers: it applies where the bounds tell that neither side's arithmetic
   wraps around, and to indices, which are taken not to (analyzer.h). A modular rule applies to all
   numbers: those written with + - * and select only are found to be, others say so. */
#ifndef TN_ARITH_RULES_H_
#define TN_ARITH_RULES_H_

#include "arith/analyzer.h"

/** What a rule holds for. */
typedef enum {
  ARITH_RULE_INDEX,  /* every expression in it is a bool, int32 or int64 scalar */
  ARITH_RULE_ANY,    /* any type */
  ARITH_RULE_VECTOR, /* any type; written with ramp and bcast */
} arith_rule_kind;

typedef struct {
  const char *lhs, *rhs, *cond; /* cond "" : always */
  uint8_t kind;
  bool exact;                         /* matches operands in the given order only */
  bool modular;                       /* holds where numbers wrap around, too */
  int32_t lhs_pat, rhs_pat, cond_pat; /* cond_pat -1: none */
  uint32_t vars, bools; /* which variables occur, and which of them are bools (bits) */
  uint32_t consts;
} arith_rule;

enum { ARITH_NVARS = 8, ARITH_NCONSTS = 4 };

/** Plain numbers for a rule's variables, for evaluating its sides. */
typedef struct {
  int64_t var[ARITH_NVARS], c[ARITH_NCONSTS];
  int64_t lanes, lane; /* number of lanes, and the one to evaluate */
  int bits;            /* results wrap around to that many; 0: they are exact */
} arith_values;

TN_API int arith_rule_count(void);
TN_API const arith_rule *arith_rule_at(int i);
/** Value of a pattern; lo(e) and hi(e) are the value of e. False where it is undefined (division by
 * zero, overflow). */
TN_API bool arith_pattern_value(int pat, const arith_values *v, int64_t *out);

/** Applies the first rule that matches the node (not below it). *out stays NULL when there is none.
 * 0, or -1 with an error. */
int arith_apply_rules(arith_analyzer *a, tn_expr *e, tn_expr **out);

#endif /* TN_ARITH_RULES_H_ */
