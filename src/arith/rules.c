/* The table of rewrite rules: parsed, and with every order of operands in which a rule may match.
 */
#include "arith/rules.h"

#include "arith/rules_impl.h"
#include "base/alloc.h"

#define I                         ARITH_RULE_INDEX, false
#define IX                        ARITH_RULE_INDEX, true
#define IM                        ARITH_RULE_INDEX, false, true
#define IXM                       ARITH_RULE_INDEX, true, true
#define A                         ARITH_RULE_ANY, false
#define AX                        ARITH_RULE_ANY, true
#define V                         ARITH_RULE_VECTOR, false
#define VX                        ARITH_RULE_VECTOR, true
#define VM                        ARITH_RULE_VECTOR, false, true
#define RULE(how, lhs, rhs, cond) {lhs, rhs, cond, how},
static const arith_rule rows[] = {
#include "arith/rules.def"
};
#undef I
#undef IX
#undef IM
#undef IXM
#undef A
#undef AX
#undef V
#undef VX
#undef VM

int arith_rule_count(void) { return (int)arith_rules.nrules; }
const arith_rule *arith_rule_at(int i) { return &arith_rules.rules[i]; }

static arith_pat *at(int32_t p) { return &arith_rules.pats[p]; }

static bool is_const_pat(int32_t p) { return at(p)->op >= PAT_CONST && at(p)->op <= PAT_BOOL; }

static bool commutes(int32_t p) {
  switch (at(p)->op) {
  case TN_TI_Add:
  case TN_TI_Mul:
  case TN_TI_Min:
  case TN_TI_Max:
  case TN_TI_EQ:
  case TN_TI_NE:
  case TN_TI_And:
  case TN_TI_Or: return !is_const_pat(at(p)->kid[0]) && !is_const_pat(at(p)->kid[1]);
  default: return false;
  }
}

static int count_commuting(int32_t p) {
  if (p < 0) return 0;
  int n = commutes(p);
  for (int i = 0; i < 3; ++i) n += count_commuting(at(p)->kid[i]);
  return n;
}

/* A copy of the pattern in which the commuting nodes whose bits are set (in preorder) are turned.
 */
static int32_t turned(int32_t p, uint32_t *bits) {
  if (p < 0) return p;
  arith_pat copy = *at(p);
  bool turn = false;
  if (commutes(p)) {
    turn = *bits & 1;
    *bits >>= 1;
  }
  for (int i = 0; i < 3; ++i) copy.kid[i] = turned(copy.kid[i], bits);
  if (turn) {
    int32_t first = copy.kid[0];
    copy.kid[0] = copy.kid[1], copy.kid[1] = first;
  }
  return arith_pattern_add(copy);
}

static int32_t wanted(int32_t p) {
  if (p < 0 || at(p)->op == PAT_VAR) return 0;
  return at(p)->op < PAT_VAR ? at(p)->op : at(p)->op == PAT_LANES ? 0 : TN_TI_IntImm;
}

static int add_way(const arith_rule *r, int32_t lhs) {
  arith_rule_table *t = &arith_rules;
  TN_GROW(t->ways, t->cap_ways, t->nways + 1, return -1);
  t->ways[t->nways++] = (arith_way){
      .rule = r, .lhs = lhs, .a = wanted(at(lhs)->kid[0]), .b = wanted(at(lhs)->kid[1])};
  return 0;
}

static int add_ways(const arith_rule *r) {
  int n = r->exact ? 0 : count_commuting(r->lhs_pat);
  TN_TRY(add_way(r, r->lhs_pat));
  for (uint32_t k = 1; k < 1u << n; ++k) {
    uint32_t bits = k;
    int32_t lhs = turned(r->lhs_pat, &bits);
    TN_TRY(lhs < 0);
    TN_TRY(add_way(r, lhs));
  }
  return 0;
}

/* Which variables and constants occur; a variable below && and the like is a bool. */
static void note_leaves(arith_rule *r, int32_t p, bool logical) {
  if (p < 0) return;
  const arith_pat *n = at(p);
  if (n->op == PAT_CONST) r->consts |= 1u << n->num;
  if (n->op == PAT_VAR) {
    r->vars |= 1u << n->num;
    if (logical) r->bools |= 1u << n->num;
  }
  bool inner = n->op == TN_TI_And || n->op == TN_TI_Or || n->op == TN_TI_Not;
  for (int i = 0; i < 3; ++i)
    note_leaves(
        r, n->kid[i],
        inner || (n->op == TN_TI_Select ? i == 0 || logical : n->op == TN_TI_Broadcast && logical));
}

/* Sums and products of anything: an identity of exact numbers is one modulo a power of two. */
static bool is_ring(int32_t p) {
  if (p < 0) return true;
  switch (at(p)->op) {
  case PAT_VAR:
  case PAT_CONST:
  case PAT_LANES:
  case PAT_NUM: return true;
  case TN_TI_Add:
  case TN_TI_Sub:
  case TN_TI_Mul:
  case TN_TI_Select:
  case TN_TI_Ramp:
  case TN_TI_Broadcast: break;
  default: return at(p)->constant;
  }
  for (int i = 0; i < 3; ++i)
    if (!is_ring(at(p)->kid[i])) return false;
  return true;
}

static int add_rule(const arith_rule *row) {
  arith_rule_table *t = &arith_rules;
  arith_rule r = *row;
  r.lhs_pat = arith_pattern_parse(r.lhs);
  TN_TRY(r.lhs_pat < 0);
  r.rhs_pat = arith_pattern_parse(r.rhs);
  TN_TRY(r.rhs_pat < 0);
  r.cond_pat = *r.cond ? arith_pattern_parse(r.cond) : -1;
  TN_TRY(*r.cond && r.cond_pat < 0);
  r.modular |= is_ring(r.lhs_pat) && is_ring(r.rhs_pat);
  note_leaves(&r, r.lhs_pat, false);
  TN_GROW(t->rules, t->cap_rules, TN_COUNT(rows), return -1); /* all at once: they do not move */
  t->rules[t->nrules++] = r;
  return 0;
}

/* Ways in groups by the type of the root, in the order of the table. */
static int group_ways(void) {
  arith_rule_table *t = &arith_rules;
  for (int32_t type = 0; type <= TN_TI_END_expr; ++type) {
    t->first[type] = (int32_t)t->nways;
    for (int64_t i = 0; i < t->nrules; ++i)
      if (at(t->rules[i].lhs_pat)->op == type) TN_TRY(add_ways(&t->rules[i]));
    t->count[type] = (int32_t)t->nways - t->first[type];
  }
  return 0;
}

int arith_rules_init(void) {
  for (int i = 0; i < TN_COUNT(rows); ++i) TN_TRY(add_rule(&rows[i]));
  return group_ways();
}
