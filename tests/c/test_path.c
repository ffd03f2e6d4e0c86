/* Object paths and the functions behind the Python class. */
#include "testing.h"

#include "object/path.h"

static const char *text_of(const tn_ObjectPath *p) {
  static char text[200];
  TN_BUF(out);
  tn_path_text(&out, p);
  assert_int_equal(tn_buf_ok(&out), 0);
  assert_true(out.len < sizeof text);
  memcpy(text, out.data, out.len + 1);
  return text;
}

static tn_ObjectPath *attr(tn_ObjectPath *p, const char *name) {
  return tn_path_attr(p, name ? tn_str_from(name) : NULL);
}

static void test_text(void **state) {
  (void)state;
  TN_SCOPE(s);
  tn_ObjectPath *root = tn_path_root(NULL), *body = attr(root, "body");
  assert_string_equal(text_of(root), "<root>");
  assert_string_equal(text_of(tn_path_root(tn_str_from("mod"))), "mod");
  assert_string_equal(text_of(tn_path_value(tn_path_index(body, 2), tn_any_cstr("k"))),
                      "<root>.body[2][\"k\"]");
  assert_string_equal(text_of(tn_path_value(root, tn_any_int(7))), "<root>[7]");
  assert_string_equal(text_of(attr(root, NULL)), "<root>.<unknown attribute>");
  assert_string_equal(text_of(tn_path_missing_index(body, 2)), "<root>.body[<missing element #2>]");
  assert_string_equal(text_of(tn_path_missing_entry(body)), "<root>.body[<missing entry>]");
}

static void test_comparison(void **state) {
  (void)state;
  TN_SCOPE(s);
  tn_ObjectPath *all[][2] = {
      {tn_path_root(NULL), tn_path_root(NULL)},
      {tn_path_root(tn_str_from("a")), tn_path_root(tn_str_from("a"))},
      {attr(tn_path_root(NULL), "x"), attr(tn_path_root(NULL), "x")},
      {attr(tn_path_root(NULL), "y"), attr(tn_path_root(NULL), "y")},
      {attr(tn_path_root(NULL), NULL), attr(tn_path_root(NULL), NULL)},
      {tn_path_index(tn_path_root(NULL), 1), tn_path_index(tn_path_root(NULL), 1)},
      {tn_path_index(tn_path_root(NULL), 2), tn_path_index(tn_path_root(NULL), 2)},
      {tn_path_missing_index(tn_path_root(NULL), 1), tn_path_missing_index(tn_path_root(NULL), 1)},
      {tn_path_value(tn_path_root(NULL), tn_any_cstr("k")),
       tn_path_value(tn_path_root(NULL), tn_any_cstr("k"))},
      {tn_path_value(tn_path_root(NULL), tn_any_cstr("l")),
       tn_path_value(tn_path_root(NULL), tn_any_cstr("l"))},
      {tn_path_missing_entry(tn_path_root(NULL)), tn_path_missing_entry(tn_path_root(NULL))},
  };
  for (int i = 0; i < TN_COUNT(all); ++i) {
    for (int j = 0; j < TN_COUNT(all); ++j) {
      assert_int_equal(tn_path_equal(all[i][0], all[j][1]), i == j);
      assert_int_equal(tn_path_is_prefix(all[i][0], all[j][1]), i == j || (i == 0 && j > 1));
    }
  }
}

static void test_prefixes(void **state) {
  (void)state;
  TN_SCOPE(s);
  tn_ObjectPath *root = tn_path_root(NULL), *x = attr(root, "x"), *y = tn_path_index(x, 3);
  assert_int_equal(y->length, 3);
  assert_ptr_equal(tn_path_prefix(y, 1), root);
  assert_ptr_equal(tn_path_prefix(y, 2), x);
  assert_ptr_equal(tn_path_prefix(y, 3), y);
  assert_null(tn_path_prefix(y, 0));
  assert_error("IndexError", "Prefix length must be at least 1");
  assert_null(tn_path_prefix(y, 4));
  assert_error("IndexError", "Attempted to get a prefix longer than the path itself");
  assert_true(tn_path_is_prefix(x, y));
  assert_false(tn_path_is_prefix(y, x));
}

/* Calls a global function; the result is owned by the scope. */
static tn_any call(const char *name, int n, const tn_any *args) {
  tn_func *f = tn_scope_own(tn_func_find(name));
  tn_any ret;
  assert_non_null(f);
  if (tn_func_call(f, args, n, &ret)) fail_msg("%s: %s", name, tn_error_message());
  if (tn_any_is_obj(&ret)) tn_scope_own(ret.v.obj);
  return ret;
}
#define CALL(name, ...)                                                                            \
  call(name, sizeof((tn_any[]){__VA_ARGS__}) / sizeof(tn_any), (tn_any[]){__VA_ARGS__})

static void test_functions(void **state) {
  (void)state;
  TN_SCOPE(s);
  tn_any root = CALL("node.ObjectPathRoot", tn_any_none());
  tn_any p = CALL("node.ObjectPathAttr", root, tn_any_cstr("body"));
  p = CALL("node.ObjectPathArrayIndex", p, tn_any_int(1));
  p = CALL("node.ObjectPathMapValue", p, tn_any_cstr("k"));
  assert_string_equal(tn_obj_key(p.v.obj), "MapValuePath");
  assert_int_equal(CALL("node.ObjectPathLength", p).v.i64, 4);
  tn_any parent = CALL("node.ObjectPathGetParent", p);
  assert_string_equal(text_of((tn_ObjectPath *)parent.v.obj), "<root>.body[1]");
  assert_int_equal(CALL("node.ObjectPathGetParent", root).type_index, TN_NONE);
  assert_true(CALL("node.ObjectPathIsPrefixOf", parent, p).v.i64);
  assert_false(CALL("node.ObjectPathEqual", parent, p).v.i64);
  assert_true(
      CALL("node.ObjectPathEqual", CALL("node.ObjectPathGetPrefix", p, tn_any_int(3)), parent)
          .v.i64);
  p = CALL("node.ObjectPathMissingArrayElement", root, tn_any_int(5));
  assert_string_equal(tn_obj_key(p.v.obj), "MissingArrayElementPath");
  p = CALL("node.ObjectPathMissingMapEntry", root);
  assert_string_equal(tn_obj_key(p.v.obj), "MissingMapEntryPath");
  p = CALL("node.ObjectPathAttr", root, tn_any_none());
  assert_string_equal(tn_obj_key(p.v.obj), "UnknownAttributeAccessPath");
  p = CALL("node.AsRepr", p);
  assert_string_equal(tn_str_data((tn_str *)p.v.obj), "<root>.<unknown attribute>");
}

static void test_wrong_arguments(void **state) {
  (void)state;
  TN_SCOPE(s);
  tn_func *f = tn_scope_own(tn_func_find("node.ObjectPathAttr"));
  tn_any ret, args[] = {tn_any_none(), tn_any_cstr("a")};
  assert_int_equal(tn_func_call(f, args, 2, &ret), -1);
  assert_error("TypeError", "expected ObjectPath, got None");
  args[0] = tn_any_obj(tn_str_from("x"));
  assert_int_equal(tn_func_call(f, args, 2, &ret), -1);
  assert_error("TypeError", "expected ObjectPath, got runtime.String");
  args[0] = tn_any_obj(tn_path_root(NULL));
  args[1] = tn_any_int(1);
  assert_int_equal(tn_func_call(f, args, 2, &ret), -1);
  assert_error("TypeError", "expected str or None, got int");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_text),
      cmocka_unit_test(test_comparison),
      cmocka_unit_test(test_prefixes),
      cmocka_unit_test(test_functions),
      cmocka_unit_test(test_wrong_arguments),
  };
  return cmocka_run_group_tests(tests, start_runtime, NULL);
}
