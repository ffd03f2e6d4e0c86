/* Structural equality and hash of random graphs, beside the rules written down as plainly as they
   can be: recursive, without memory of what was compared, variables in a list of pairs. */
#include "testing.h"

#include "tenon/object.h"
#include "testing_nodes.h"

static int start(void **state) { return start_runtime(state) || register_test_nodes(); }

/* ---- the rules ---- */

enum { MAX_PAIRS = 200 };
typedef struct {
  const tn_obj *l[MAX_PAIRS], *r[MAX_PAIRS];
  int n;
  bool map_free;
} pairs;

static bool same(pairs *p, const tn_obj *l, const tn_obj *r, bool binding);

/* 1: paired with each other, 0: one of them with something else, -1: neither is paired */
static int paired(const pairs *p, const tn_obj *l, const tn_obj *r) {
  for (int i = 0; i < p->n; ++i) {
    if (p->l[i] == l || p->r[i] == r) return p->l[i] == l && p->r[i] == r;
  }
  return -1;
}

static void pair_up(pairs *p, const tn_obj *l, const tn_obj *r) {
  assert_true(p->n < MAX_PAIRS);
  p->l[p->n] = l;
  p->r[p->n++] = r;
}

static bool same_items(pairs *p, const tn_arr *l, const tn_arr *r, bool binding) {
  if (l->len != r->len) return false;
  for (int64_t i = 0; i < l->len; ++i) {
    if (!same(p, l->items[i].v.obj, r->items[i].v.obj, binding)) return false;
  }
  return true;
}

static bool same(pairs *p, const tn_obj *l, const tn_obj *r, bool binding) {
  if (l->type_index != r->type_index) return false;
  int known = -1;
  switch (l->type_index) {
  case TN_TI_TImm: return ((const tn_TImm *)l)->value == ((const tn_TImm *)r)->value;
  case TN_TI_TAdd:
    return same(p, ((const tn_TAdd *)l)->a, ((const tn_TAdd *)r)->a, binding) &&
           same(p, ((const tn_TAdd *)l)->b, ((const tn_TAdd *)r)->b, binding);
  case TN_TI_TVar:
    if ((known = paired(p, l, r)) >= 0) return known;
    if (l != r && !binding && !p->map_free) return false;
    pair_up(p, l, r);
    return true;
  case TN_TI_GCall:
    if ((known = paired(p, l, r)) >= 0) return known;
    pair_up(p, l, r);
    return same_items(p, ((const tn_GCall *)l)->args, ((const tn_GCall *)r)->args, binding);
  case TN_TI_TLet: {
    const tn_TLet *x = (const tn_TLet *)l, *y = (const tn_TLet *)r;
    return same(p, (const tn_obj *)x->var, (const tn_obj *)y->var, true) &&
           same(p, x->value, y->value, binding) && same(p, x->body, y->body, binding);
  }
  default: return same_items(p, (const tn_arr *)l, (const tn_arr *)r, binding);
  }
}

static bool plainly_equal(const tn_obj *l, const tn_obj *r, bool map_free) {
  pairs p = {.map_free = map_free};
  return same(&p, l, r, false);
}

/* ---- random graphs ---- */

typedef struct {
  uint64_t seed;
  int step, changed; /* the choice number `changed` is made differently */
  tn_TVar *vars[4];
  tn_obj *made[40];
  int nmade;
} maker;

static uint32_t choose(maker *m, uint32_t n) {
  m->seed = m->seed * 6364136223846793005U + 1442695040888963407U;
  uint32_t x = (uint32_t)(m->seed >> 33);
  return (m->step++ == m->changed ? x + 1 : x) % n;
}

/* An object made before, or a variable. */
static tn_obj *any(maker *m) {
  uint32_t i = choose(m, (uint32_t)(m->nmade + 4));
  return i < 4 ? (tn_obj *)m->vars[i] : m->made[i - 4];
}

static tn_obj *make_one(maker *m) {
  switch (choose(m, 6)) {
  case 0: return IMM(choose(m, 2));
  case 1:
  case 2: return ADD(any(m), any(m));
  case 3: return CALL(NULL, 2, any(m), any(m));
  case 4: return LET(m->vars[choose(m, 4)], any(m), any(m));
  default: return (tn_obj *)tn_arr_of(2, any(m), any(m));
  }
}

/* The same seed gives the same graph, of fresh objects; variables from `shared` on are the
 * caller's. */
static tn_obj *make(uint64_t seed, int changed, int n, tn_TVar **vars, int shared) {
  maker m = {.seed = seed, .changed = changed};
  for (int i = 0; i < 4; ++i) m.vars[i] = i < shared ? var("fresh") : vars[i];
  for (int i = 0; i < n; ++i) {
    m.made[m.nmade] = make_one(&m);
    assert_non_null(m.made[m.nmade]);
    m.nmade++;
  }
  return m.made[n - 1];
}

static void check(const tn_obj *x, const tn_obj *y, bool map_free, int count[2]) {
  int flags = map_free ? TN_MAP_FREE_VARS : 0;
  uint64_t h, k;
  bool want = plainly_equal(x, y, map_free);
  assert_int_equal(tn_equal(x, y, flags), want);
  assert_int_equal(tn_equal(y, x, flags), want);
  assert_int_equal(plainly_equal(y, x, map_free), want);
  assert_int_equal(tn_hash(x, flags, &h), 0);
  assert_int_equal(tn_hash(y, flags, &k), 0);
  assert_int_equal(h == k, want); /* fixed seeds: no collision among them */
  count[want]++;
}

static void test_random_graphs(void **state) {
  (void)state;
  int count[2] = {0, 0};
  for (uint64_t seed = 0; seed < 20000; ++seed) {
    TN_SCOPE(s);
    tn_TVar *vars[4] = {var("a"), var("b"), var("c"), var("d")};
    int n = 2 + (int)(seed % 13), shared = (int)(seed % 5);
    int changed = seed % 3 ? (int)(seed / 3 % (uint64_t)(3 * n)) : -1;
    const tn_obj *x = make(seed * 977, -1, n, vars, 0),
                 *y = make(seed * 977, changed, n, vars, shared);
    check(x, y, false, count);
    check(x, y, true, count);
  }
  assert_true(count[0] > 8000 && count[1] > 8000); /* both answers are put to the test */
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_graphs)};
  return cmocka_run_group_tests(tests, start, NULL);
}
