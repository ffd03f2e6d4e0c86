/* Parser of the patterns in rules.def (see rules.h for the language):

     or = and {"||" and};  and = cmp {"&&" cmp};  cmp = sum [("==" | "!=" | "<" | "<=") sum]
     sum = product {("+" | "-") product};  product = unary {("*" | "//" | "/" | "%") unary}
     unary = "!" unary | "-" number | number | name | name "(" or {"," or} ")" | "(" or ")" */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "arith/rules_impl.h"
#include "base/alloc.h"

arith_rule_table arith_rules;

typedef struct {
  const char *text, *at;
  bool failed;
} reader;

static int32_t parse_or(reader *r);

int32_t arith_pattern_add(arith_pat p) {
  arith_rule_table *t = &arith_rules;
  TN_GROW(t->pats, t->cap_pats, t->npats + 1, return -1);
  p.constant = p.op != PAT_VAR && p.op < PAT_LO && p.op != TN_TI_Ramp && p.op != TN_TI_Broadcast;
  for (int i = 0; i < 3; ++i)
    if (p.kid[i] >= 0 && !t->pats[p.kid[i]].constant) p.constant = false;
  t->pats[t->npats] = p;
  return (int32_t)t->npats++;
}

static int32_t fail(reader *r) {
  if (!r->failed)
    (void)TN_RAISE(InternalError, NULL, "rule pattern \"%s\": not understood at \"%s\"", r->text,
                   r->at);
  r->failed = true;
  return -1;
}

static int32_t leaf(int32_t op, int64_t num) {
  return arith_pattern_add((arith_pat){.op = op, .kid = {-1, -1, -1}, .num = num});
}
static int32_t node(int32_t op, int32_t a, int32_t b, int32_t c) {
  return arith_pattern_add((arith_pat){.op = op, .kid = {a, b, c}});
}

static bool take(reader *r, const char *token) {
  while (*r->at == ' ') ++r->at;
  size_t n = strlen(token);
  if (strncmp(r->at, token, n) != 0) return false;
  if (n == 1 && strchr("/!<", *token) && r->at[1] && strchr("/=", r->at[1])) return false;
  r->at += n;
  return true;
}

static const char *const var_names[ARITH_NVARS] = {"x", "y", "z", "w", "b1", "b2", "s1", "s2"};
static const struct {
  const char *name;
  int32_t op, nargs;
} functions[] = {
    {"min", TN_TI_Min, 2},   {"max", TN_TI_Max, 2},
    {"rem", TN_TI_Mod, 2},   {"select", TN_TI_Select, 3},
    {"ramp", TN_TI_Ramp, 3}, {"bcast", TN_TI_Broadcast, 2},
    {"lo", PAT_LO, 1},       {"hi", PAT_HI, 1},
    {"zero", PAT_ZERO, 1},   {"known_mod", PAT_KNOWN_MOD, 2},
};

static int32_t parse_call(reader *r, const char *name, size_t n) {
  for (int i = 0; i < TN_COUNT(functions); ++i) {
    if (strlen(functions[i].name) != n || strncmp(functions[i].name, name, n) != 0) continue;
    int32_t kid[3] = {-1, -1, -1};
    for (int k = 0; k < functions[i].nargs; ++k) {
      if (k && !take(r, ",")) return fail(r);
      kid[k] = parse_or(r);
    }
    return take(r, ")") ? node(functions[i].op, kid[0], kid[1], kid[2]) : fail(r);
  }
  return fail(r);
}

static int32_t parse_name(reader *r) {
  const char *name = r->at;
  while (isalnum((unsigned char)*r->at) || *r->at == '_') ++r->at;
  size_t n = (size_t)(r->at - name);
  if (take(r, "(")) return parse_call(r, name, n);
  for (int i = 0; i < ARITH_NVARS; ++i)
    if (strlen(var_names[i]) == n && strncmp(var_names[i], name, n) == 0) return leaf(PAT_VAR, i);
  if (n == 2 && name[0] == 'c' && name[1] >= '1' && name[1] <= '0' + ARITH_NCONSTS)
    return leaf(PAT_CONST, name[1] - '1');
  if (n == 1 && *name == 'l') return leaf(PAT_LANES, 0);
  if (n == 4 && strncmp(name, "true", 4) == 0) return leaf(PAT_BOOL, 1);
  if (n == 5 && strncmp(name, "false", 5) == 0) return leaf(PAT_BOOL, 0);
  r->at = name;
  return fail(r);
}

static int32_t parse_unary(reader *r) {
  if (take(r, "!")) return node(TN_TI_Not, parse_unary(r), -1, -1);
  if (take(r, "(")) {
    int32_t p = parse_or(r);
    return take(r, ")") ? p : fail(r);
  }
  bool minus = take(r, "-");
  while (*r->at == ' ') ++r->at;
  if (isdigit((unsigned char)*r->at)) {
    char *end;
    int64_t v = strtoll(r->at, &end, 10);
    r->at = end;
    return leaf(PAT_NUM, minus ? -v : v);
  }
  return minus || !isalpha((unsigned char)*r->at) ? fail(r) : parse_name(r);
}

static int32_t parse_product(reader *r) {
  int32_t p = parse_unary(r);
  for (;;) {
    int32_t op = take(r, "*")    ? TN_TI_Mul
                 : take(r, "//") ? TN_TI_FloorDiv
                 : take(r, "/")  ? TN_TI_Div
                 : take(r, "%")  ? TN_TI_FloorMod
                                 : 0;
    if (!op || r->failed) return p;
    p = node(op, p, parse_unary(r), -1);
  }
}

static int32_t parse_sum(reader *r) {
  int32_t p = parse_product(r);
  for (;;) {
    int32_t op = take(r, "+") ? TN_TI_Add : take(r, "-") ? TN_TI_Sub : 0;
    if (!op || r->failed) return p;
    p = node(op, p, parse_product(r), -1);
  }
}

static int32_t parse_cmp(reader *r) {
  int32_t p = parse_sum(r);
  int32_t op = take(r, "==")   ? TN_TI_EQ
               : take(r, "!=") ? TN_TI_NE
               : take(r, "<=") ? TN_TI_LE
               : take(r, "<")  ? TN_TI_LT
                               : 0;
  return op ? node(op, p, parse_sum(r), -1) : p;
}

static int32_t parse_and(reader *r) {
  int32_t p = parse_cmp(r);
  while (!r->failed && take(r, "&&")) p = node(TN_TI_And, p, parse_cmp(r), -1);
  return p;
}

static int32_t parse_or(reader *r) {
  int32_t p = parse_and(r);
  while (!r->failed && take(r, "||")) p = node(TN_TI_Or, p, parse_and(r), -1);
  return p;
}

int32_t arith_pattern_parse(const char *text) {
  reader r = {.text = text, .at = text};
  int32_t p = parse_or(&r);
  if (!r.failed && *r.at) fail(&r);
  return r.failed || tn_error_pending() ? -1 : p;
}
