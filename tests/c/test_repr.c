/* Generic text of objects, and the place that is marked in it. Numbers as text in any locale. */
#include "testing.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>

#include "base/number.h"
#include "object/path.h"
#include "object/repr.h"
#include "testing_nodes.h"

static int start(void **state) { return start_runtime(state) || register_test_nodes(); }

static char shown[1 << 18];

static const char *repr(tn_any value) {
  TN_BUF(out);
  assert_int_equal(tn_repr_print(&out, value), 0);
  assert_true(out.len < sizeof shown);
  memcpy(shown, out.data, out.len + 1);
  return shown;
}

static const char *marked(tn_any value, const tn_ObjectPath *path) {
  TN_BUF(out);
  assert_int_equal(tn_repr_print_marked(&out, value, path), 0);
  assert_true(out.len < sizeof shown);
  memcpy(shown, out.data, out.len + 1);
  return shown;
}

static void test_values(void **state) {
  (void)state;
  TN_SCOPE(s);
  const int64_t dims[] = {2, 3};
  tn_map *m = tn_scope_own(tn_map_new());
  assert_int_equal(tn_map_set(m, tn_any_cstr("k\"\n"), tn_any_int(3)), 0);
  assert_int_equal(tn_map_set(m, tn_any_int(1), tn_any_float(1)), 0);
  tn_any items[] = {tn_any_int(-1),
                    tn_any_bool(true),
                    tn_any_float(0.1),
                    tn_any_float(-INFINITY),
                    tn_any_none(),
                    tn_any_dtype((tn_dtype){kDLInt, 8, 4}),
                    tn_any_cstr("a"),
                    tn_any_obj(m),
                    tn_any_obj(tn_scope_own(tn_shape_new(dims, 1))),
                    tn_any_obj(tn_scope_own(tn_shape_new(dims, 2))),
                    tn_any_obj(tn_scope_own(tn_bytes_new("a\0", 2)))};
  assert_string_equal(repr(tn_any_obj(tn_scope_own(tn_arr_new(items, TN_COUNT(items))))),
                      "[-1, True, 0.1, -inf, None, int8x4, \"a\", {\"k\\\"\\n\": 3, 1: 1.0}, (2,), "
                      "(2, 3), b\"a\\x00\"]");
  assert_string_equal(repr(tn_any_obj(tn_scope_own(tn_tuple_new(2, items, 2)))),
                      "ADT(tag=2, fields=[-1, True])");
  assert_string_equal(repr(tn_any_obj(ADD(IMM(1), var("x")))),
                      "test.Add(a=test.Imm(value=1), b=test.Var(name=\"x\", dtype=int32))");
  assert_non_null(
      strstr(repr(tn_any_obj(tn_scope_own(tn_func_find("node.AsRepr")))), "runtime.PackedFunc(0x"));
}

static int in_infix(tn_repr *r, const tn_obj *o) {
  TN_TRY(tn_repr_any(r, tn_any_obj(((const tn_TAdd *)o)->a)));
  tn_buf_puts(tn_repr_out(r), " + ");
  return tn_repr_any(r, tn_any_obj(((const tn_TAdd *)o)->b));
}

static void test_printers_of_other_layers(void **state) {
  (void)state;
  TN_SCOPE(s);
  assert_int_equal(tn_repr_set(&tn_type_TAdd, in_infix), 0);
  assert_string_equal(repr(tn_any_obj(tn_arr_of(1, ADD(IMM(1), IMM(2))))),
                      "[test.Imm(value=1) + test.Imm(value=2)]");
  assert_int_equal(tn_repr_set(&tn_type_TAdd, NULL), 0);
}

static void test_size_is_bounded(void **state) {
  (void)state;
  TN_SCOPE(s);
  tn_obj *e = IMM(1);
  for (int i = 0; i < 1000; ++i) e = ADD(e, e); /* 2^1000 leaves */
  assert_in_range(strlen(repr(tn_any_obj(e))), 1000, 100000);
  TN_VEC(v);
  for (int i = 0; i < 100000; ++i) assert_int_equal(tn_vec_push(&v, tn_any_int(i)), 0);
  tn_any wide = tn_any_obj(tn_arr_from(&v));
  assert_in_range(strlen(repr(wide)), 60000, 70000);
  assert_non_null(strstr(shown, ", ...]"));
  assert_string_equal(marked(wide, tn_path_index(tn_path_root(NULL), 50000)),
                      "[..., 49997, 49998, 49999, 50000, 50001, 50002, 50003, ...]\n"
                      "                           ^^^^^");
}

static void test_marked_places(void **state) {
  (void)state;
  TN_SCOPE(s);
  tn_ObjectPath *root = tn_path_root(NULL);
  tn_map *m = tn_scope_own(tn_map_new());
  assert_int_equal(tn_map_set(m, tn_any_cstr("\xc3\xa9"), tn_any_int(1)), 0);
  assert_int_equal(tn_map_set(m, tn_any_cstr("b"), tn_any_int(22)), 0);
  tn_any v = tn_any_obj(m);
  assert_string_equal(marked(v, root), "{\"\xc3\xa9\": 1, \"b\": 22}\n^^^^^^^^^^^^^^^^^");
  assert_string_equal(marked(v, tn_path_value(root, tn_any_cstr("b"))),
                      "{\"\xc3\xa9\": 1, \"b\": 22}\n              ^^");
  assert_string_equal(marked(v, tn_path_missing_entry(root)),
                      "{\"\xc3\xa9\": 1, \"b\": 22}\n^^^^^^^^^^^^^^^^^");
  tn_obj *f = FUNC(tn_arr_of(0), NULL, NULL);
  assert_string_equal(marked(tn_any_obj(f), tn_path_attr(root, tn_str_from("body"))),
                      "test.Func(params=[], body=None)\n                          ^^^^");
  assert_string_equal(
      marked(tn_any_obj(f), tn_path_missing_index(tn_path_attr(root, tn_str_from("params")), 0)),
      "test.Func(params=[])\n                 ^^");
}

static void test_marked_place_far_down(void **state) {
  (void)state;
  TN_SCOPE(s);
  tn_obj *e = IMM(7);
  tn_ObjectPath *p = tn_path_root(NULL);
  for (int i = 0; i < 100000; ++i) {
    e = ADD(IMM(i), e);
    p = tn_path_attr(p, tn_str_from("b"));
  }
  const char *text = marked(tn_any_obj(e), p);
  assert_in_range(strlen(text), 50, 400);
  const char *line = strchr(text, '\n') + 1, *at = strchr(line, '^');
  assert_non_null(at);
  assert_memory_equal(text + (at - line), "test.Imm(value=7)", 17);
  assert_memory_equal(text, "... ", 4);
}

static void test_numbers_do_not_depend_on_the_locale(void **state) {
  (void)state;
  static const double values[] = {0.1, 1e300, -2.5, 1.0 / 3, 5e-324, 123456789012345678.0};
  static const char *const names[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE.utf8", "C"};
  char text[TN_DOUBLE_TEXT], *end;
  for (int k = 0; k < TN_COUNT(names); ++k) {
    if (!setlocale(LC_ALL, names[k])) continue; /* not installed here */
    for (int i = 0; i < TN_COUNT(values); ++i) {
      assert_null(strchr(tn_double_text(values[i], text), ','));
      assert_true(tn_strtod(text, &end) == values[i]);
      assert_int_equal(*end, '\0');
    }
    tn_any v;
    assert_int_equal(tn_literal_parse("1.5", &v), 0);
    assert_true(v.v.f64 == 1.5);
  }
  setlocale(LC_ALL, "C");
  assert_string_equal(tn_double_text(0.1, text), "0.1");
  assert_string_equal(tn_double_text(1e20, text), "1e+20");
  assert_string_equal(tn_double_text(-INFINITY, text), "-inf");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_values),
      cmocka_unit_test(test_printers_of_other_layers),
      cmocka_unit_test(test_size_is_bounded),
      cmocka_unit_test(test_marked_places),
      cmocka_unit_test(test_marked_place_far_down),
      cmocka_unit_test(test_numbers_do_not_depend_on_the_locale),
  };
  return cmocka_run_group_tests(tests, start, NULL);
}
