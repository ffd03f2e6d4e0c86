/* Nodes: fields of any value, rvalues, mapping of children, construction under failing allocations.
 */
#include "testing.h"

#include "failing_alloc.h"
#include "testing_nodes.h"

static int start(void **state) { return start_runtime(state) || register_test_nodes(); }

static void test_any_fields_own_what_they_hold(void **state) {
  (void)state;
  TN_SCOPE(s);
  char text[] = "borrowed";
  tn_TAll *n = TN_NEW(TAll, .any = tn_any_cstr(text));
  text[0] = 'x';
  assert_int_equal(n->any.type_index, TN_TI_String);
  assert_string_equal(tn_cstr((tn_str *)n->any.v.obj), "borrowed");
  tn_any unkeepable = {.type_index = TN_DLTENSOR};
  assert_null(TN_NEW(TAll, .s = tn_str_from("kept"), .any = unkeepable));
  assert_error("TypeError", "DLTensor");
}

static int make_node(void *ctx) {
  TN_SCOPE(s);
  (void)ctx;
  tn_str *text = tn_str_from("shared");
  if (!text) return -1;
  return TN_NEW(TAll, .s = text, .any = tn_any_cstr("copied")) ? 0 : -1;
}

static int make_node_from_fields(void *ctx) {
  const char *names[] = {"i", "d", "s", "any"};
  tn_any values[] = {tn_any_int(1), tn_any_device((tn_device){kDLCPU, 0}), tn_any_cstr("text"),
                     tn_any_cstr("value")};
  (void)ctx;
  tn_obj *o = tn_node_make(&tn_type_TAll, 4, names, values);
  tn_release(o);
  return o ? 0 : -1;
}

static void test_out_of_memory(void **state) {
  (void)state;
  assert_true(fail_every_allocation(make_node, NULL) >= 3);
  assert_true(fail_every_allocation(make_node_from_fields, NULL) >= 3);
}

static void test_rvalue_fields(void **state) {
  (void)state;
  const char *names[] = {"s"};
  tn_obj *text = (tn_obj *)tn_str_new("moved");
  tn_any value = {.type_index = TN_RVALUE, .v.rvalue = &text};
  tn_obj *o = tn_node_make(&tn_type_TAll, 1, names, &value);
  assert_null(text);
  assert_int_equal(tn_use_count(((tn_TAll *)o)->s), 1);
  tn_release(o);
  o = tn_node_make(&tn_type_TAll, 1, names, &value); /* moved away before: None */
  assert_null(((tn_TAll *)o)->s);
  tn_release(o);
  names[0] = "a";
  assert_null(tn_node_make(&tn_type_TAdd, 1, names, &value));
  assert_error("TypeError", "test.Add.a: expected Object, got None");
}

/* Replaces the object it is given as context by text. */
static tn_obj *replace(void *ctx, tn_obj *child) {
  return child == ctx ? (tn_obj *)tn_str_from("new") : child;
}

static void test_map_children(void **state) {
  (void)state;
  TN_SCOPE(s);
  tn_obj *x = IMM(1), *y = IMM(2);
  tn_TAll *n = TN_NEW(TAll, .i = 5, .any = tn_any_obj(x));
  assert_ptr_equal(tn_map_children(&n->hdr, replace, y), n);
  tn_TAll *m = (tn_TAll *)tn_map_children(&n->hdr, replace, x);
  assert_ptr_not_equal(m, n);
  assert_int_equal(m->i, 5);
  assert_string_equal(tn_cstr((tn_str *)m->any.v.obj), "new");
  assert_ptr_equal(n->any.v.obj, x);
  tn_obj *sum = ADD(x, y), *other = tn_map_children(sum, replace, y);
  assert_ptr_equal(((tn_TAdd *)other)->a, x);
  assert_ptr_not_equal(((tn_TAdd *)other)->b, y);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_any_fields_own_what_they_hold),
      cmocka_unit_test(test_out_of_memory),
      cmocka_unit_test(test_rvalue_fields),
      cmocka_unit_test(test_map_children),
  };
  return cmocka_run_group_tests(tests, start, NULL);
}
