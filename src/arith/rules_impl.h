/* Parsed patterns: shared by the parser (rules_parse.c) and the matcher (rules_match.c). */
#ifndef TN_ARITH_RULES_IMPL_H_
#define TN_ARITH_RULES_IMPL_H_

#include "arith/arith_impl.h"
#include "arith/rules.h"
#include "object/functions.h"

/* pat.op is the type index of a node, or one of these */
enum {
  PAT_VAR = TN_TYPE_MAX, /* num: which */
  PAT_CONST,             /* num: which */
  PAT_LANES,
  PAT_NUM,  /* num: the integer */
  PAT_BOOL, /* num: 0 or 1 */
  PAT_LO,
  PAT_HI,
  PAT_ZERO,
  PAT_KNOWN_MOD,
};

typedef struct {
  int32_t op;
  int32_t kid[3]; /* patterns, -1: none */
  int64_t num;
  bool constant; /* no variable in it */
} arith_pat;

/* One way to match a rule: its left side with operands in one order. */
typedef struct {
  const arith_rule *rule;
  int32_t lhs;
  int32_t a, b; /* type index that the first two operands must have, 0: any */
} arith_way;

typedef struct {
  arith_rule *rules;
  arith_pat *pats;
  arith_way *ways;
  int64_t nrules, npats, nways, cap_rules, cap_pats, cap_ways;
  int32_t first[TN_TI_END_expr + 1]; /* ways of a root's type are ways[first[t]] ... */
  int32_t count[TN_TI_END_expr + 1];
} arith_rule_table;

extern arith_rule_table arith_rules;

/** Parses a pattern; its index, or -1 with InternalError naming the place. */
int32_t arith_pattern_parse(const char *text);
/** Adds a pattern. -1 with MemoryError. */
int32_t arith_pattern_add(arith_pat p);

#endif /* TN_ARITH_RULES_IMPL_H_ */
