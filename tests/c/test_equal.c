/* Structural equality and hash, and where two values first differ. */
#include "testing.h"

#include <math.h>
#include <stdio.h>

#include "object/path.h"
#include "tenon/object.h"
#include "testing_nodes.h"

static int start(void **state) { return start_runtime(state) || register_test_nodes(); }

static uint64_t hash_of(const void *o, int flags) {
  uint64_t h;
  assert_int_equal(tn_hash(o, flags, &h), 0);
  return h;
}

/* Equality both ways; hashes agree (and differ when the objects do: the inputs are fixed). */
static bool same(const void *a, const void *b, int flags) {
  int x = tn_equal(a, b, flags), y = tn_equal(b, a, flags);
  assert_int_equal(x, y);
  assert_in_range(x, 0, 1);
  assert_int_equal(hash_of(a, flags) == hash_of(b, flags), x);
  return x;
}

/* Both paths as "LHS | RHS", which must be the mirror image the other way round; "" when equal. */
static const char *where(const void *a, const void *b, int flags) {
  static char text[2][400];
  for (int i = 0; i < 2; ++i) {
    tn_obj *lp, *rp;
    TN_BUF(l);
    TN_BUF(r);
    assert_int_equal(
        tn_first_mismatch(tn_any_obj(i ? b : a), tn_any_obj(i ? a : b), flags, &lp, &rp), 0);
    text[i][0] = '\0';
    if (!lp) continue;
    tn_path_text(&l, (tn_ObjectPath *)(i ? rp : lp));
    tn_path_text(&r, (tn_ObjectPath *)(i ? lp : rp));
    snprintf(text[i], sizeof text[i], "%s | %s", l.data, r.data);
    tn_release(lp);
    tn_release(rp);
  }
  assert_string_equal(text[0], text[1]);
  return text[0];
}

static void test_expressions(void **state) {
  (void)state;
  TN_SCOPE(s);
  tn_TVar *x = var("x"), *y = var("y"), *z = var("z");
  tn_obj *xx = ADD(x, x), *yy = ADD(y, y);
  assert_true(same(ADD(xx, xx), ADD(ADD(x, x), ADD(x, x)), 0)); /* sharing does not count */
  assert_false(same(x, y, 0));
  assert_true(same(x, x, 0));
  assert_true(same(x, y, TN_MAP_FREE_VARS));
  assert_false(same(ADD(x, x), ADD(y, x), TN_MAP_FREE_VARS));
  assert_true(same(ADD(x, y), ADD(y, x), TN_MAP_FREE_VARS));
  assert_true(same(ADD(ADD(x, y), z), ADD(ADD(y, z), x), TN_MAP_FREE_VARS));
  assert_false(same(ADD(ADD(x, y), x), ADD(ADD(y, z), x), TN_MAP_FREE_VARS));
  assert_false(same(ADD(x, IMM(1)), ADD(y, IMM(1)), 0));
  assert_false(same(ADD(x, IMM(1)), ADD(x, IMM(2)), 0));
  assert_true(same(xx, yy, TN_MAP_FREE_VARS));
  assert_false(same(IMM(1), FLOAT(1), 0));
}

static void test_definitions(void **state) {
  (void)state;
  TN_SCOPE(s);
  tn_TVar *x = var("x"), *y = var("y"), *z = var("z");
  assert_true(same(LET(x, IMM(1), ADD(x, z)), LET(y, IMM(1), ADD(y, z)), 0));
  assert_false(same(LET(x, IMM(1), ADD(x, z)), LET(y, IMM(1), ADD(z, y)), 0));
  assert_false(same(LET(x, IMM(1), y), LET(y, IMM(1), y), 0)); /* free on one side only */
  assert_true(same(FUNC(tn_arr_of(2, x, y), NULL, ADD(x, y)),
                   FUNC(tn_arr_of(2, y, x), NULL, ADD(y, x)), 0));
  assert_false(same(FUNC(tn_arr_of(2, x, y), NULL, ADD(x, y)),
                    FUNC(tn_arr_of(2, y, x), NULL, ADD(x, y)), 0));
  assert_false(same(FUNC(tn_arr_of(2, x, x), NULL, x), FUNC(tn_arr_of(2, x, y), NULL, x), 0));
  /* a variable's type holds variables that are bound with it */
  tn_TVar *n = var("n"), *m = var("m");
  tn_TVar *p = TN_NEW(TVar, .name = tn_str_from("p"), .annotation = (tn_obj *)n);
  tn_TVar *q = TN_NEW(TVar, .name = tn_str_from("q"), .annotation = (tn_obj *)m);
  assert_true(
      same(FUNC(tn_arr_of(1, p), NULL, ADD(p, n)), FUNC(tn_arr_of(1, q), NULL, ADD(q, m)), 0));
  assert_false(
      same(FUNC(tn_arr_of(1, p), NULL, ADD(p, n)), FUNC(tn_arr_of(1, q), NULL, ADD(q, n)), 0));
  /* met free first, then bound to something else */
  assert_false(same(ADD(x, LET(x, IMM(1), x)), ADD(x, LET(y, IMM(1), y)), 0));
}

static void test_fields_that_are_not_compared(void **state) {
  (void)state;
  TN_SCOPE(s);
  tn_obj *a = (tn_obj *)TN_NEW(TFunc, .params = tn_arr_of(0), .note = IMM(1));
  tn_obj *b = (tn_obj *)TN_NEW(TFunc, .params = tn_arr_of(0), .note = IMM(2));
  assert_true(same(a, b, 0));
  assert_true(same(a, FUNC(tn_arr_of(0), NULL, NULL), 0));
  assert_false(same(a, FUNC(tn_arr_of(0), NULL, IMM(1)), 0));
}

static void test_sharing_counts_for_graphs(void **state) {
  (void)state;
  TN_SCOPE(s);
  tn_TVar *x = var("x");
  tn_obj *c = CALL(NULL, 1, x);
  tn_obj *shared = CALL(NULL, 2, c, c);
  tn_obj *copies = CALL(NULL, 2, CALL(NULL, 1, x), CALL(NULL, 1, x));
  tn_obj *d = CALL(NULL, 1, x);
  assert_false(same(shared, copies, 0));
  assert_true(same(shared, CALL(NULL, 2, d, d), 0));
  assert_string_equal(where(shared, copies, 0), "<root>.args[1] | <root>.args[1]");
  /* a content-compared object around a graph object: shared or not, what it holds decides */
  tn_obj *t = ADD(c, IMM(1));
  assert_true(same(ADD(t, t), ADD(ADD(d, IMM(1)), ADD(d, IMM(1))), 0));
  assert_false(same(ADD(t, t), ADD(ADD(c, IMM(1)), ADD(d, IMM(1))), 0));
}

static tn_map *map_of(int n, const tn_any *pairs) {
  tn_map *m = tn_scope_own(tn_map_new());
  for (int i = 0; i < n; ++i) assert_int_equal(tn_map_set(m, pairs[2 * i], pairs[2 * i + 1]), 0);
  return m;
}

static void test_maps(void **state) {
  (void)state;
  TN_SCOPE(s);
  tn_any ab[] = {tn_any_cstr("a"), tn_any_int(1), tn_any_cstr("b"), tn_any_obj(IMM(2))};
  tn_any ba[] = {tn_any_cstr("b"), tn_any_obj(IMM(2)), tn_any_cstr("a"), tn_any_int(1)};
  tn_any abc[] = {tn_any_cstr("b"), tn_any_obj(IMM(2)), tn_any_cstr("a"),
                  tn_any_int(1),    tn_any_cstr("c"),   tn_any_int(1)};
  tn_any ab2[] = {tn_any_cstr("a"), tn_any_int(1), tn_any_cstr("b"), tn_any_obj(IMM(3))};
  tn_any n1[] = {tn_any_int(1), tn_any_float(0.5), tn_any_int(2), tn_any_bool(true)};
  tn_any n2[] = {tn_any_int(2), tn_any_bool(true), tn_any_int(1), tn_any_float(0.5)};
  assert_true(same(map_of(0, NULL), map_of(0, NULL), 0));
  assert_true(same(map_of(2, ab), map_of(2, ba), 0));
  assert_true(same(map_of(2, n1), map_of(2, n2), 0));
  assert_false(same(map_of(2, ab), map_of(3, abc), 0));
  assert_string_equal(where(map_of(2, ab), map_of(3, abc), 0),
                      "<root>[<missing entry>] | <root>[\"c\"]");
  assert_string_equal(where(map_of(2, ab), map_of(2, ab2), 0),
                      "<root>[\"b\"].value | <root>[\"b\"].value");
}

static void test_maps_keyed_by_variables(void **state) {
  (void)state;
  TN_SCOPE(s);
  tn_TVar *x = var("x"), *y = var("y"), *u = var("u"), *v = var("v");
  tn_any xy[] = {tn_any_obj(x), tn_any_int(1), tn_any_obj(y), tn_any_int(2)};
  tn_any yx[] = {tn_any_obj(y), tn_any_int(2), tn_any_obj(x), tn_any_int(1)};
  tn_any vu[] = {tn_any_obj(v), tn_any_int(2), tn_any_obj(u), tn_any_int(1)};
  tn_any x1[] = {tn_any_obj(x), tn_any_int(1)}, y2[] = {tn_any_obj(y), tn_any_int(2)};
  /* bound before: order of insertion is nothing */
  tn_obj *f = FUNC(tn_arr_of(2, x, y), map_of(2, xy), x);
  assert_true(same(f, FUNC(tn_arr_of(2, u, v), map_of(2, vu), u), 0));
  assert_false(same(f, FUNC(tn_arr_of(2, v, u), map_of(2, vu), v), 0));
  /* free: only themselves */
  assert_true(same(map_of(2, xy), map_of(2, yx), 0));
  assert_false(same(map_of(2, xy), map_of(2, vu), 0));
  assert_false(same(map_of(1, x1), map_of(1, y2), 0));
  /* mapped free variables that look alike pair in insertion order */
  tn_any uv[] = {tn_any_obj(u), tn_any_int(1), tn_any_obj(v), tn_any_int(2)};
  assert_true(same(map_of(2, xy), map_of(2, uv), TN_MAP_FREE_VARS));
  tn_obj *g = FUNC(tn_arr_of(2, u, v), map_of(1, (tn_any[]){tn_any_obj(u), tn_any_int(1)}), u);
  const char *at = where(f, g, 0);
  assert_non_null(strstr(at, " | <root>.table[<missing entry>]"));
  assert_non_null(strstr(at, "<root>.table[test.Var(name=\"y\""));
}

static void test_functions_of_a_module_refer_to_one_another(void **state) {
  (void)state;
  TN_SCOPE(s);
  tn_map *m[3];
  for (int i = 0; i < 3; ++i) {
    tn_obj *f = GLOBAL("f"), *g = GLOBAL(i == 2 ? "h" : "g");
    tn_obj *ff = CALL(g, 1, IMM(1)), *gf = CALL(f, 1, IMM(2));
    tn_any fg[] = {tn_any_obj(f), tn_any_obj(ff), tn_any_obj(g), tn_any_obj(gf)};
    tn_any gfirst[] = {tn_any_obj(g), tn_any_obj(gf), tn_any_obj(f), tn_any_obj(ff)};
    m[i] = map_of(2, i == 1 ? gfirst : fg);
  }
  tn_obj *a = (tn_obj *)TN_NEW(TModule, .functions = m[0]);
  tn_obj *b = (tn_obj *)TN_NEW(TModule, .functions = m[1]);
  tn_obj *c = (tn_obj *)TN_NEW(TModule, .functions = m[2]);
  assert_true(same(a, b, 0));
  assert_false(same(a, c, 0));
}

static void test_plain_values(void **state) {
  (void)state;
  uint64_t h1, h2;
  const double nan2 = -nan("7");
  assert_int_equal(tn_equal_any(tn_any_float(NAN), tn_any_float(nan2), 0), 1);
  assert_int_equal(tn_hash_any(tn_any_float(NAN), 0, &h1), 0);
  assert_int_equal(tn_hash_any(tn_any_float(nan2), 0, &h2), 0);
  assert_true(h1 == h2);
  assert_int_equal(tn_equal_any(tn_any_float(0.0), tn_any_float(-0.0), 0), 0);
  assert_int_equal(tn_equal_any(tn_any_int(1), tn_any_bool(1), 0), 0);
  assert_int_equal(tn_equal_any(tn_any_int(1), tn_any_float(1), 0), 0);
  assert_int_equal(tn_equal_any(tn_any_none(), tn_any_none(), 0), 1);
  assert_int_equal(tn_equal_any(tn_any_none(), tn_any_int(0), 0), 0);
  TN_SCOPE(s);
  tn_any boxed = tn_any_int(7);
  assert_int_equal(tn_scalar_box(&boxed, "Object"), 0);
  assert_int_equal(tn_equal_any(boxed, tn_any_int(7), 0), 1);
  assert_int_equal(tn_hash_any(boxed, 0, &h1), 0);
  assert_int_equal(tn_hash_any(tn_any_int(7), 0, &h2), 0);
  assert_true(h1 == h2);
  tn_any_release(&boxed);
  assert_true(same(FLOAT(NAN), FLOAT(nan2), 0));
  assert_false(same(FLOAT(1), FLOAT(nextafter(1, 2)), 0));
}

static void test_leaves_by_content(void **state) {
  (void)state;
  TN_SCOPE(s);
  const int64_t d[] = {1, 2, 3};
  assert_true(same(tn_str_from("hello"), tn_str_from("hello"), 0));
  assert_false(same(tn_str_from("hello"), tn_str_from("goodbye"), 0));
  assert_string_equal(where(tn_str_from("hello"), tn_str_from("goodbye"), 0), "<root> | <root>");
  assert_true(same(tn_scope_own(tn_shape_new(d, 3)), tn_scope_own(tn_shape_new(d, 3)), 0));
  assert_false(same(tn_scope_own(tn_shape_new(d, 3)), tn_scope_own(tn_shape_new(d, 2)), 0));
  assert_true(
      same(tn_scope_own(tn_bytes_new("a\0b", 3)), tn_scope_own(tn_bytes_new("a\0b", 3)), 0));
  assert_false(
      same(tn_scope_own(tn_bytes_new("a\0b", 3)), tn_scope_own(tn_bytes_new("a\0c", 3)), 0));
  tn_any f[] = {tn_any_int(1), tn_any_cstr("x")};
  tn_obj *t = tn_scope_own(tn_tuple_new(1, f, 2));
  assert_true(same(t, tn_scope_own(tn_tuple_new(1, f, 2)), 0));
  assert_false(same(t, tn_scope_own(tn_tuple_new(2, f, 2)), 0));
  assert_false(same(t, tn_scope_own(tn_tuple_new(1, f, 1)), 0));
}

static tn_arr *imms(int n, const int *values) {
  TN_VEC(v);
  for (int i = 0; i < n; ++i) assert_int_equal(tn_vec_push_obj(&v, IMM(values[i])), 0);
  return tn_arr_from(&v);
}
#define IMMS(...) imms(sizeof((int[]){__VA_ARGS__}) / sizeof(int), (int[]){__VA_ARGS__})

static void test_first_mismatch(void **state) {
  (void)state;
  TN_SCOPE(s);
  assert_string_equal(where(IMMS(1, 2, 3), IMMS(1, 2, 3), 0), "");
  assert_string_equal(where(IMMS(1, 2, 3), IMMS(1, 4, 3), 0), "<root>[1].value | <root>[1].value");
  assert_string_equal(where(IMMS(1, 2, 3), IMMS(10, 2, 30), 0),
                      "<root>[0].value | <root>[0].value");
  assert_string_equal(where(IMMS(1, 3, 4), IMMS(1, 2, 3, 4), 0),
                      "<root>[1].value | <root>[1].value");
  assert_string_equal(where(IMMS(1, 2, 3), IMMS(1, 2, 3, 4), 0),
                      "<root>[<missing element #3>] | <root>[3]");
  assert_string_equal(where(imms(0, NULL), IMMS(1), 0), "<root>[<missing element #0>] | <root>[0]");
  tn_any plain[] = {tn_any_int(1), tn_any_int(2)}, other[] = {tn_any_int(1), tn_any_float(2)};
  assert_string_equal(
      where(tn_scope_own(tn_arr_new(plain, 2)), tn_scope_own(tn_arr_new(other, 2)), 0),
      "<root>[1] | <root>[1]");
  tn_TVar *x = var("x"), *y = var("y"), *z = var("z"), *w = var("w");
  tn_TVar *f = TN_NEW(TVar, .name = tn_str_from("f"), .dtype = {kDLFloat, 32, 1});
  assert_string_equal(
      where(FUNC(tn_arr_of(2, x, y), NULL, NULL), FUNC(tn_arr_of(3, x, y, z), NULL, NULL), 0),
      "<root>.params[<missing element #2>] | <root>.params[2]");
  assert_string_equal(
      where(FUNC(tn_arr_of(2, x, y), NULL, NULL), FUNC(tn_arr_of(2, x, f), NULL, NULL), 0),
      "<root>.params[1].dtype | <root>.params[1].dtype");
  assert_string_equal(where(FUNC(tn_arr_of(2, x, y), NULL, ADD(x, x)),
                            FUNC(tn_arr_of(2, z, w), NULL, ADD(z, w)), 0),
                      "<root>.body.b | <root>.body.b");
  assert_string_equal(where(FUNC(tn_arr_of(0), NULL, IMM(1)), FUNC(tn_arr_of(0), NULL, NULL), 0),
                      "<root>.body | <root>.body");
}

static void test_assert_shows_both_sides(void **state) {
  (void)state;
  TN_SCOPE(s);
  tn_any a = tn_any_obj(IMMS(1, 2, 3)), b = tn_any_obj(IMMS(1, 42, 3));
  assert_int_equal(tn_assert_equal(a, a, 0), 0);
  assert_int_equal(tn_assert_equal(a, b, 0), -1);
  assert_string_equal(tn_error_message(),
                      "StructuralEqual check failed, caused by lhs at <root>[1].value:\n"
                      "[test.Imm(value=1), test.Imm(value=2), test.Imm(value=3)]\n"
                      "                                   ^\n"
                      "and rhs at <root>[1].value:\n"
                      "[test.Imm(value=1), test.Imm(value=42), test.Imm(value=3)]\n"
                      "                                   ^^");
  assert_error("ValueError", "StructuralEqual");
}

/* x + (x + (x + ...)) */
static tn_obj *chain(tn_TVar *x, int n) {
  TN_SCOPE(s);
  tn_obj *e = IMM(0);
  for (int i = 0; i < n; ++i) {
    TN_SCOPE(inner);
    e = tn_scope_return(inner, ADD(e, x));
  }
  return tn_scope_return(s, e);
}

static void test_deep_chains(void **state) {
  (void)state;
  TN_SCOPE(s);
  tn_TVar *x = var("x"), *y = var("y");
  tn_obj *a = chain(x, 1000000), *b = chain(y, 1000000), *c = chain(y, 999999);
  assert_int_equal(tn_equal(a, b, TN_MAP_FREE_VARS), 1);
  assert_int_equal(tn_equal(a, b, 0), 0);
  assert_int_equal(tn_equal(a, c, TN_MAP_FREE_VARS), 0);
  assert_true(hash_of(a, TN_MAP_FREE_VARS) == hash_of(b, TN_MAP_FREE_VARS));
  assert_true(hash_of(a, TN_MAP_FREE_VARS) != hash_of(c, TN_MAP_FREE_VARS));
  tn_obj *lp, *rp;
  assert_int_equal(tn_first_mismatch(tn_any_obj(a), tn_any_obj(c), TN_MAP_FREE_VARS, &lp, &rp), 0);
  assert_int_equal(((tn_ObjectPath *)lp)->length, 1000000);
  tn_release(lp);
  tn_release(rp);
}

/* Towers whose levels are shared differently: 2^60 paths, linear work. */
static void test_shared_trees_take_linear_time(void **state) {
  (void)state;
  TN_SCOPE(s);
  tn_TVar *x = var("x");
  tn_obj *a = ADD(x, x), *b[2] = {ADD(x, x), ADD(x, x)};
  for (int i = 0; i < 60; ++i) {
    a = ADD(a, a);
    tn_obj *left = ADD(b[0], b[1]), *right = ADD(b[1], b[0]);
    b[0] = left;
    b[1] = right;
  }
  assert_true(same(a, b[0], 0));
  assert_true(same(b[1], b[0], 0));
  assert_false(same(a, ADD(b[0], x), 0));
}

static void test_functions_are_equal_to_themselves(void **state) {
  (void)state;
  TN_SCOPE(s);
  tn_obj *f = tn_scope_own(tn_func_find("node.StructuralEqual"));
  tn_obj *g = tn_scope_own(tn_func_find("node.StructuralHash"));
  assert_true(same(f, f, 0));
  assert_false(same(f, g, 0));
}

static void test_called_by_name(void **state) {
  (void)state;
  TN_SCOPE(s);
  tn_func *f = tn_scope_own(tn_func_find("node.StructuralEqual"));
  tn_any ret, args[] = {tn_any_cstr("a"), tn_any_obj(tn_str_from("a")), tn_any_bool(false),
                        tn_any_bool(false)};
  assert_int_equal(tn_func_call(f, args, 4, &ret), 0);
  assert_int_equal(ret.v.i64, 1);
  args[0] = tn_any_cstr("b");
  assert_int_equal(tn_func_call(f, args, 4, &ret), 0);
  assert_int_equal(ret.v.i64, 0);
  args[2] = tn_any_bool(true);
  assert_int_equal(tn_func_call(f, args, 4, &ret), -1);
  assert_error("ValueError", "caused by lhs at <root>:\n\"b\"\n^^^\nand rhs");
  tn_func *g = tn_scope_own(tn_func_find("node.GetFirstStructuralMismatch"));
  tn_any two[] = {args[0], args[1], tn_any_bool(false)};
  assert_int_equal(tn_func_call(g, two, 3, &ret), 0);
  assert_string_equal(tn_obj_key(ret.v.obj), "ObjectPathPair");
  tn_any_release(&ret);
  two[0] = two[1];
  assert_int_equal(tn_func_call(g, two, 3, &ret), 0);
  assert_int_equal(ret.type_index, TN_NONE);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_expressions),
      cmocka_unit_test(test_definitions),
      cmocka_unit_test(test_fields_that_are_not_compared),
      cmocka_unit_test(test_sharing_counts_for_graphs),
      cmocka_unit_test(test_maps),
      cmocka_unit_test(test_maps_keyed_by_variables),
      cmocka_unit_test(test_functions_of_a_module_refer_to_one_another),
      cmocka_unit_test(test_plain_values),
      cmocka_unit_test(test_leaves_by_content),
      cmocka_unit_test(test_first_mismatch),
      cmocka_unit_test(test_assert_shows_both_sides),
      cmocka_unit_test(test_deep_chains),
      cmocka_unit_test(test_shared_trees_take_linear_time),
      cmocka_unit_test(test_functions_are_equal_to_themselves),
      cmocka_unit_test(test_called_by_name),
  };
  return cmocka_run_group_tests(tests, start, NULL);
}
