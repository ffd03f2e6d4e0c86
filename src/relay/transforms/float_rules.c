/* The table of what passes do to floats, see float_rules.h. */
#include "relay/transforms/float_rules.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "ir/imm.h"
#include "object/functions.h"
#include "relay/expr/expr_info.h"

#define KIND(name, level, doc) {#name, level, doc},
static const struct {
  const char *name;
  int level;
  const char *doc;
} kinds[] = {RELAY_FLOAT_KINDS(KIND)};

#define RULE(name, kind, pass, whole, doc) {#name, RELAY_FLOAT_KIND_##kind, pass, whole, doc},
static const struct {
  const char *name;
  relay_float_kind kind;
  const char *pass;
  bool whole;
  const char *doc;
} rules[] = {RELAY_FLOAT_RULES(RULE)};

bool relay_float_may(relay_float_rule rule, const tn_pass_ctx *c) {
  return rule == RELAY_FLOAT_exact || c->node->opt_level >= kinds[rules[rule - 1].kind].level;
}

int relay_float_level_of_pass(const char *pass) {
  int level = 0;
  for (int i = 0; i < TN_COUNT(rules); ++i) {
    bool is = rules[i].whole && strcmp(rules[i].pass, pass) == 0;
    if (is && kinds[rules[i].kind].level > level) level = kinds[rules[i].kind].level;
  }
  return level;
}

bool relay_is_moderate(const relay_expr *e) {
  TN_AUTOFREE double *x = NULL;
  int64_t n = 0;
  const tn_TensorType *t = TN_AS(Constant, e) ? relay_known_type(e) : NULL;
  if (!t) return false;
  if (!ir_is_floating(t->dtype)) return true;
  int r = relay_const_numbers(e, &x, &n);
  if (r < 0) tn_error_clear();
  if (r <= 0) return false;
  /* a quarter of the exponents to either side: products of two and sums of many stay inside */
  int e_max;
  frexp(ir_float_limit(t->dtype), &e_max);
  double most = ldexp(1, e_max / 4);
  for (int64_t i = 0; i < n; ++i)
    if (x[i] != 0 && !(fabs(x[i]) <= most && fabs(x[i]) >= 1 / most)) return false;
  return true;
}

/* Rules as arrays: name, kind, level, pass, what it does, what may differ. */
static int float_rules(TN_ARGS) {
  TN_NARGS("FloatRules", 0);
  (void)args;
  TN_VEC(all);
  for (int i = 0; i < TN_COUNT(rules); ++i) {
    tn_arr *row;
    TN_GET(row, tn_arr_of(6, tn_str_from(rules[i].name), tn_str_from(kinds[rules[i].kind].name),
                          tir_i32(kinds[rules[i].kind].level), tn_str_from(rules[i].pass),
                          tn_str_from(rules[i].doc), tn_str_from(kinds[rules[i].kind].doc)));
    TN_TRY(tn_vec_push_obj(&all, row));
  }
  return tn_ret_obj(ret, tn_arr_from(&all));
}

static const tn_func_row rows[] = {{"relay._transform.FloatRules", float_rules}};

int relay_float_rules_init(void) { return tn_func_register_rows(rows, TN_COUNT(rows)); }
