/* JSON: round trips, the layout, old layouts, and texts that are wrong in every way. */
#include "testing.h"

#include <math.h>
#include <stdio.h>

#include "tenon/object.h"
#include "testing_nodes.h"

static int start(void **state) { return start_runtime(state) || register_test_nodes(); }

static tn_any load(const char *text) {
  tn_any value;
  if (tn_json_load(text, strlen(text), &value)) fail_msg("%s", tn_error_message());
  return value;
}

/* Saved and loaded again; equal to what it was, and saved again to the same text. Owned. */
static tn_any round_trip(tn_any value) {
  tn_str *text = tn_json_save(value);
  if (!text) fail_msg("%s", tn_error_message());
  tn_any back = load(tn_str_data(text));
  if (tn_assert_equal(value, back, TN_MAP_FREE_VARS)) fail_msg("%s", tn_error_message());
  tn_str *again = tn_json_save(back);
  assert_string_equal(tn_str_data(text), tn_str_data(again));
  tn_release(text);
  tn_release(again);
  return back;
}

static void test_plain_values(void **state) {
  (void)state;
  const double nan1 = NAN;
  tn_any items[] = {
      tn_any_none(),
      tn_any_int(INT64_MIN),
      tn_any_int(INT64_MAX),
      tn_any_bool(true),
      tn_any_bool(false),
      tn_any_float(0.1),
      tn_any_float(INFINITY),
      tn_any_float(-INFINITY),
      tn_any_float(nan1),
      tn_any_float(-0.0),
      tn_any_float(5e-324),
      tn_any_float(1.7976931348623157e308),
      tn_any_cstr("h\xc3\xa9"),
      tn_any_cstr("a\"\\\n\x7f"),
      tn_any_cstr("\xff"),
      tn_any_cstr(""),
      tn_any_dtype((tn_dtype){kDLBfloat, 16, 4}),
      tn_any_device((tn_device){kDLCUDA, 3}),
  };
  tn_arr *a = tn_arr_new(items, TN_COUNT(items));
  tn_any back = round_trip(tn_any_obj(a));
  for (int i = 0; i < TN_COUNT(items); ++i) {
    tn_any x = tn_arr_get((tn_arr *)back.v.obj, i);
    assert_int_equal(x.type_index, tn_arr_get(a, i).type_index);
  }
  tn_any_release(&back);
  tn_release(a);
  for (int i = 0; i < TN_COUNT(items); ++i) {
    tn_any one;
    assert_int_equal(tn_any_own(&items[i], &one), 0);
    back = round_trip(one);
    tn_any_release(&one);
    tn_any_release(&back);
  }
}

static void test_containers(void **state) {
  (void)state;
  TN_SCOPE(s);
  const int64_t dims[] = {INT64_MAX, -1, 0};
  tn_map *m = tn_scope_own(tn_map_new()), *by_object = tn_scope_own(tn_map_new());
  tn_map *odd_keys = tn_scope_own(tn_map_new());
  tn_any fields[] = {tn_any_int(1), tn_any_cstr("x")};
  assert_int_equal(tn_map_set(m, tn_any_cstr("z"), tn_any_int(1)), 0);
  assert_int_equal(tn_map_set(m, tn_any_cstr("a\n\""), tn_any_none()), 0);
  assert_int_equal(tn_map_set(by_object, tn_any_obj(var("x")), tn_any_cstr("x")), 0);
  assert_int_equal(tn_map_set(by_object, tn_any_int(-3), tn_any_obj(m)), 0);
  assert_int_equal(tn_map_set(odd_keys, tn_any_cstr("\xff\xfe"), tn_any_obj(m)), 0);
  tn_any items[] = {tn_any_obj(m),
                    tn_any_obj(by_object),
                    tn_any_obj(odd_keys),
                    tn_any_obj(tn_scope_own(tn_map_new())),
                    tn_any_obj(tn_scope_own(tn_shape_new(dims, 3))),
                    tn_any_obj(tn_scope_own(tn_shape_new(NULL, 0))),
                    tn_any_obj(tn_scope_own(tn_bytes_new("\0\1\2\xff", 4))),
                    tn_any_obj(tn_scope_own(tn_tuple_new(4000000000U, fields, 2))),
                    tn_any_obj(tn_arr_of(0))};
  tn_any back = round_trip(tn_any_obj(tn_scope_own(tn_arr_new(items, TN_COUNT(items)))));
  tn_any key, value;
  assert_true(tn_map_at((tn_map *)tn_arr_get((tn_arr *)back.v.obj, 0).v.obj, 0, &key, &value));
  assert_string_equal(tn_str_data((tn_str *)key.v.obj), "z"); /* order is kept */
  tn_any_release(&back);
}

static void test_every_kind_of_field(void **state) {
  (void)state;
  TN_SCOPE(s);
  tn_TAll *all = TN_NEW(TAll, .i = INT64_MIN, .f = 1e-7, .b = true, .t = {kDLUInt, 1, 1},
                        .d = {kDLOpenCL, 2}, .e = -5, .any = tn_any_int(9), .cache = IMM(1));
  tn_any back = round_trip(tn_any_obj(all));
  const tn_TAll *got = (const tn_TAll *)back.v.obj;
  assert_int_equal(got->i, INT64_MIN);
  assert_true(got->b && got->f == 1e-7 && got->e == -5);
  assert_int_equal(got->any.type_index, TN_INT);
  assert_null(got->s); /* None was saved: not the default */
  assert_null(got->cache);
  tn_any_release(&back);
}

static void test_sharing_is_kept(void **state) {
  (void)state;
  TN_SCOPE(s);
  tn_TVar *x = var("x");
  tn_obj *c = CALL(NULL, 1, x);
  tn_any back = round_trip(tn_any_obj(LET(x, c, CALL(NULL, 3, c, c, x))));
  const tn_TLet *let = (const tn_TLet *)back.v.obj;
  const tn_arr *args = ((const tn_GCall *)let->body)->args;
  assert_ptr_equal(tn_arr_obj(args, 0), let->value);
  assert_ptr_equal(tn_arr_obj(args, 1), let->value);
  assert_ptr_equal(tn_arr_obj(args, 2), let->var);
  tn_any_release(&back);
}

static void test_layout(void **state) {
  (void)state;
  TN_SCOPE(s);
  tn_str *text = tn_scope_own(tn_json_save(tn_any_obj(ADD(IMM(1), IMM(-2)))));
  assert_string_equal(tn_str_data(text),
                      "{\n  \"root\": 1,\n  \"nodes\": [\n    {\"type_key\": \"\"},\n"
                      "    {\"type_key\": \"test.Add\", \"attrs\": {\"a\": \"2\", \"b\": \"3\"}},\n"
                      "    {\"type_key\": \"test.Imm\", \"attrs\": {\"value\": \"1\"}},\n"
                      "    {\"type_key\": \"test.Imm\", \"attrs\": {\"value\": \"-2\"}}\n"
                      "  ],\n  \"b64ndarrays\": [],\n"
                      "  \"attrs\": {\"tvm_version\": \"0.14.0\", \"tenon_version\": \"" TN_VERSION
                      "\"}\n}");
}

static void test_deep_chain(void **state) {
  (void)state;
  tn_any head = tn_any_none();
  for (int i = 0; i < 200000; ++i) {
    tn_any next = tn_any_obj(tn_arr_new(&head, 1));
    tn_any_release(&head);
    head = next;
  }
  tn_any back = round_trip(head);
  tn_any_release(&back);
  tn_any_release(&head);
}

static void test_what_has_no_form(void **state) {
  (void)state;
  TN_SCOPE(s);
  tn_obj *f = tn_scope_own(tn_func_find("node.SaveJSON"));
  assert_null(tn_json_save(tn_any_obj(tn_arr_of(1, f))));
  assert_error("TypeError", "runtime.PackedFunc has no JSON form (found in Array)");
  assert_null(tn_json_save(tn_any_ptr(s)));
  assert_error("TypeError", "handle has no JSON form");
}

#define FILE_OF(nodes) "{\"root\": 1, \"nodes\": [{\"type_key\": \"\"}, " nodes "]}"

static void test_broken_files(void **state) {
  (void)state;
  static const struct {
    const char *text, *kind, *message;
  } cases[] = {
      {"", "ValueError", "JSON: line 1, column 1: expected a value"},
      {"{\n\"root\": 1,\n\"nodes\": [}", "ValueError", "line 3, column 11: expected a value"},
      {"[1]", "ValueError", "expected an object with nodes"},
      {"{}", "ValueError", "expected an object with nodes"},
      {"{\"nodes\": {}}", "ValueError", "expected an object with nodes"},
      {"{\"nodes\": []}", "ValueError", "root is not the number of a node"},
      {"{\"root\": 0, \"nodes\": []}", "ValueError", "root is not the number of a node"},
      {"{\"root\": -1, \"nodes\": [{\"type_key\": \"\"}]}", "ValueError", "root is not"},
      {"{\"root\": \"0\", \"nodes\": [{\"type_key\": \"\"}]}", "ValueError", "root is not"},
      {"{\"root\": 1e300, \"nodes\": [{\"type_key\": \"\"}]}", "ValueError", "root is not"},
      {"{\"root\": 99999999999999999999, \"nodes\": []}", "ValueError", "root is not"},
      {"{\"root\": 0, \"nodes\": [7]}", "ValueError",
       "node 0 (without a type key): expected an object"},
      {"{\"root\": 0, \"nodes\": [{\"type_key\": 3}]}", "ValueError",
       "node 0 (without a type key)"},
      {FILE_OF("{\"type_key\": \"test.Ad\"}"), "ValueError",
       "node 1 (test.Ad): no type has the key \"test.Ad\"; did you mean test.Add"},
      {FILE_OF("{\"type_key\": \"zzzzzzzzzzzzzzz\"}"), "ValueError", "no type has the key"},
      {FILE_OF("{\"type_key\": \"Object\"}"), "ValueError", "not saved in JSON"},
      {FILE_OF("{\"type_key\": \"runtime.PackedFunc\"}"), "ValueError", "not saved in JSON"},
      {FILE_OF("{\"type_key\": \"runtime.Module\"}"), "ValueError", "not saved in JSON"},
      {FILE_OF("{\"type_key\": \"test.Imm\", \"attrs\": []}"), "ValueError",
       "attrs: expected an object"},
      {FILE_OF("{\"type_key\": \"test.Imm\"}"), "ValueError",
       "node 1 (test.Imm): the attribute value is missing"},
      {FILE_OF("{\"type_key\": \"test.Imm\", \"attrs\": {\"value\": 3}}"), "ValueError",
       "value: expected a string"},
      {FILE_OF("{\"type_key\": \"test.Imm\", \"attrs\": {\"value\": \"3x\"}}"), "ValueError",
       "value: expected an integer of 64 bits, got \"3x\""},
      {FILE_OF("{\"type_key\": \"test.Imm\", \"attrs\": {\"value\": \"\"}}"), "ValueError",
       "expected an integer"},
      {FILE_OF("{\"type_key\": \"test.Imm\", \"attrs\": {\"value\": \"9223372036854775808\"}}"),
       "ValueError", "value: expected an integer of 64 bits, got \"9223372036854775808\""},
      {FILE_OF("{\"type_key\": \"test.Float\", \"attrs\": {\"value\": \"1,5\"}}"), "ValueError",
       "expected a number"},
      {FILE_OF("{\"type_key\": \"test.Add\", \"attrs\": {\"a\": \"0\"}}"), "TypeError",
       "node 1 (test.Add): test.Add.a: expected Object, got None"},
      {FILE_OF("{\"type_key\": \"test.Add\", \"attrs\": {}}"), "TypeError", "missing field 'a'"},
      {FILE_OF("{\"type_key\": \"test.Add\", \"attrs\": {\"a\": \"2\", \"b\": \"0\"}}"),
       "IndexError", "node number 2 is out of range: the file has 2 nodes"},
      {FILE_OF("{\"type_key\": \"test.Add\", \"attrs\": {\"a\": \"-1\", \"b\": \"0\"}}"),
       "IndexError", "a: node number -1 is out of range"},
      {FILE_OF("{\"type_key\": \"test.Add\", \"attrs\": {\"a\": \"x\", \"b\": \"0\"}}"),
       "ValueError", "a: expected a node number, got \"x\""},
      {FILE_OF("{\"type_key\": \"test.Add\", \"attrs\": {\"a\": \"1\", \"b\": \"0\"}}"),
       "ValueError", "node 1 (test.Add): the node contains itself"},
      {FILE_OF(
           "{\"type_key\": \"Array\", \"data\": [2]}, {\"type_key\": \"Array\", \"data\": [1]}"),
       "ValueError", "node 1 (Array): the node contains itself"},
      {FILE_OF("{\"type_key\": \"test.Let\", \"attrs\": {\"var\": \"2\", \"value\": \"2\", "
               "\"body\": \"2\"}},"
               "{\"type_key\": \"Array\"}"),
       "TypeError", "test.Let.var: expected test.Var, got Array"},
      {FILE_OF("{\"type_key\": \"Array\", \"data\": {}}"), "ValueError", "data: expected a list"},
      {FILE_OF("{\"type_key\": \"Array\", \"data\": [\"0\"]}"), "ValueError",
       "data[0]: expected a node number"},
      {FILE_OF("{\"type_key\": \"Array\", \"data\": [0, -1]}"), "ValueError",
       "data[1]: expected a node number"},
      {FILE_OF("{\"type_key\": \"Array\", \"data\": [2147483648]}"), "IndexError", "out of range"},
      {FILE_OF("{\"type_key\": \"Map\", \"keys\": [\"a\"], \"data\": []}"), "ValueError",
       "1 keys and 0 values"},
      {FILE_OF("{\"type_key\": \"Map\", \"keys\": {}, \"data\": []}"), "ValueError",
       "keys: expected a list"},
      {FILE_OF("{\"type_key\": \"Map\", \"keys\": [1], \"data\": [0]}"), "ValueError",
       "keys[0]: expected a string"},
      {FILE_OF("{\"type_key\": \"Map\", \"keys\": [\"a\", \"a\"], \"data\": [0, 0]}"), "ValueError",
       "there twice"},
      {FILE_OF("{\"type_key\": \"Map\", \"data\": [0]}"), "ValueError", "keys and values in turn"},
      {FILE_OF("{\"type_key\": \"runtime.ADT\", \"attrs\": {\"tag\": \"-1\"}}"), "ValueError",
       "tag: -1 is out"},
      {FILE_OF("{\"type_key\": \"runtime.String\"}"), "ValueError",
       "expected a repr_str or repr_b64"},
      {FILE_OF("{\"type_key\": \"runtime.String\", \"repr_b64\": \"a\"}"), "ValueError", "base64"},
      {FILE_OF("{\"type_key\": \"runtime.String\", \"repr_b64\": \"!!!!\"}"), "ValueError",
       "position 0"},
      {FILE_OF("{\"type_key\": \"runtime.ShapeTuple\", \"repr_str\": \"[1, 2\"}"), "ValueError",
       "expected a shape"},
      {FILE_OF("{\"type_key\": \"runtime.ShapeTuple\", \"repr_str\": \"[1,, 2]\"}"), "ValueError",
       "expected a shape"},
      {FILE_OF("{\"type_key\": \"DataType\", \"repr_str\": \"floot32\"}"), "ValueError",
       "unknown data type"},
      {FILE_OF("{\"type_key\": \"Device\", \"repr_str\": \"cpu\"}"), "ValueError",
       "expected a device"},
      {FILE_OF("{\"type_key\": \"runtime.NDArray\", \"repr_str\": \"AAAA\"}"), "ValueError",
       "node 1 (runtime.NDArray)"},
  };
  for (int i = 0; i < TN_COUNT(cases); ++i) {
    tn_any value;
    if (tn_json_load(cases[i].text, strlen(cases[i].text), &value) != -1)
      fail_msg("loaded: %s", cases[i].text);
    assert_int_equal(value.type_index, TN_NONE);
    assert_error(cases[i].kind, cases[i].message);
  }
}

static void test_missing_fields_get_defaults(void **state) {
  (void)state;
  tn_any v = load(FILE_OF(
      "{\"type_key\": \"test.All\", \"attrs\": {\"i\": \"1\", \"b\": \"0\", \"d\": \"1:0\", "
      "\"cache\": \"77\", \"unknown\": \"5\"}}"));
  const tn_TAll *all = (const tn_TAll *)v.v.obj;
  assert_true(all->f == 1.5);
  assert_string_equal(tn_str_data(all->s), "dflt");
  assert_int_equal(all->any.type_index, TN_NONE);
  tn_any_release(&v);
}

/* Files of releases up to 0.6 hold strings in the attributes themselves and use older names. */
static void test_old_layouts(void **state) {
  (void)state;
#define OLD(version, nodes)                                                                        \
  "{\"root\": 1, \"nodes\": [{\"type_key\": \"\"}, " nodes                                         \
  "], \"b64ndarrays\": [], \"attrs\": {\"tvm_version\": \"" version "\"}}"
  tn_any v =
      load(OLD("0.6.0", "{\"type_key\": \"StrMap\", \"keys\": [\"z\", \"x\"], \"data\": [2, 3]}, "
                        "{\"type_key\": \"test.Imm\", \"attrs\": {\"value\": \"2\"}}, "
                        "{\"type_key\": \"Array\"}"));
  assert_string_equal(tn_obj_key(v.v.obj), "Map");
  assert_string_equal(tn_obj_key(tn_map_find((tn_map *)v.v.obj, "z")), "test.Imm");
  tn_any_release(&v);
  v = load(OLD("0.6.0", "{\"type_key\": \"relay.test.Var\", \"attrs\": {\"name\": \"in0\"}}"));
  assert_string_equal(tn_str_data(((tn_TVar *)v.v.obj)->name), "in0");
  tn_any_release(&v);
  v = load(OLD("0.8.dev0", "{\"type_key\": \"test.Var\", \"attrs\": {\"name\": \"2\"}}, "
                           "{\"type_key\": \"runtime.String\", \"repr_str\": \"y\"}"));
  assert_string_equal(tn_str_data(((tn_TVar *)v.v.obj)->name), "y");
  tn_any_release(&v);
  const char *renamed_later = OLD("0.8.0", "{\"type_key\": \"StrMap\"}");
  assert_int_equal(tn_json_load(renamed_later, strlen(renamed_later), &v), -1);
  assert_error("ValueError", "no type has the key \"StrMap\"");
  /* a file of our own is not searched for texts */
  const char *ours = FILE_OF("{\"type_key\": \"test.Var\", \"attrs\": {\"name\": \"in0\"}}");
  assert_int_equal(tn_json_load(ours, strlen(ours), &v), -1);
  assert_error("ValueError", "name: expected a node number, got \"in0\"");
}

static void test_only_what_the_root_needs_is_made(void **state) {
  (void)state;
  tn_any v =
      load("{\"root\": 0, \"nodes\": [{\"type_key\": \"Array\"}, {\"type_key\": \"no such\"}]}");
  assert_int_equal(tn_arr_len((tn_arr *)v.v.obj), 0);
  tn_any_release(&v);
}

static void test_called_by_name(void **state) {
  (void)state;
  TN_SCOPE(s);
  tn_func *save = tn_scope_own(tn_func_find("node.SaveJSON"));
  tn_func *load_f = tn_scope_own(tn_func_find("node.LoadJSON"));
  tn_any arg = tn_any_int(5), text, back;
  assert_int_equal(tn_func_call(save, &arg, 1, &text), 0);
  assert_int_equal(tn_func_call(load_f, &text, 1, &back), 0);
  int64_t i = 0;
  assert_int_equal(tn_any_to_int(&back, &i), 0);
  assert_int_equal(i, 5);
  tn_any_release(&text);
  tn_any_release(&back);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_plain_values),
      cmocka_unit_test(test_containers),
      cmocka_unit_test(test_every_kind_of_field),
      cmocka_unit_test(test_sharing_is_kept),
      cmocka_unit_test(test_layout),
      cmocka_unit_test(test_deep_chain),
      cmocka_unit_test(test_what_has_no_form),
      cmocka_unit_test(test_broken_files),
      cmocka_unit_test(test_missing_fields_get_defaults),
      cmocka_unit_test(test_old_layouts),
      cmocka_unit_test(test_only_what_the_root_needs_is_made),
      cmocka_unit_test(test_called_by_name),
  };
  return cmocka_run_group_tests(tests, start, NULL);
}
