/* Object model: containers, functions, registry, nodes, release. */
#include "testing.h"

#include <stdio.h>

#include "base/alloc.h"

static void test_strings(void **state) {
  (void)state;
  tn_str *s = tn_str_new_n("a\0b", 3);
  assert_int_equal(tn_str_len(s), 3);
  assert_memory_equal(tn_str_data(s), "a\0b", 4);
  tn_release(s);
}

static void test_array_owns_what_it_holds(void **state) {
  (void)state;
  tn_str *s = tn_str_new("x");
  tn_any items[] = {tn_any_obj(s), tn_any_int(3), tn_any_cstr("y")};
  tn_arr *a = tn_arr_new(items, 3);
  assert_int_equal(tn_use_count(s), 2);
  assert_int_equal(tn_arr_len(a), 3);
  assert_int_equal(tn_arr_get(a, 1).v.i64, 3);
  assert_string_equal(((tn_str *)tn_arr_get(a, 2).v.obj)->data, "y");
  assert_int_equal(tn_arr_get(a, 3).type_index, TN_NONE);
  tn_release(a);
  assert_int_equal(tn_use_count(s), 1);
  tn_release(s);
}

static void test_map_keeps_order_and_compares_by_content(void **state) {
  (void)state;
  tn_map *m = tn_map_new();
  char key[16];
  for (int i = 0; i < 1000; ++i) {
    snprintf(key, sizeof key, "k%d", i);
    assert_int_equal(tn_map_set(m, tn_any_cstr(key), tn_any_int(i)), 0);
  }
  assert_int_equal(tn_map_set(m, tn_any_cstr("k5"), tn_any_int(-5)), 0);
  assert_int_equal(tn_map_len(m), 1000);
  tn_any k, v;
  assert_true(tn_map_at(m, 5, &k, &v));
  assert_string_equal(((tn_str *)k.v.obj)->data, "k5");
  assert_int_equal(v.v.i64, -5);
  tn_str *probe = tn_str_new("k999");
  assert_true(tn_map_get(m, tn_any_obj(probe), &v));
  assert_int_equal(v.v.i64, 999);
  assert_false(tn_map_get(m, tn_any_int(999), &v));
  tn_release(probe);
  tn_release(m);
}

static void test_map_keys_of_any_kind(void **state) {
  (void)state;
  tn_map *m = tn_map_new();
  tn_bytes_view view = {(const uint8_t *)"ab", 2};
  tn_any found, bytes = tn_any_none(), text = tn_any_cstr("ab");
  bytes.type_index = TN_CBYTES;
  bytes.v.bytes = &view;
  for (int round = 0; round < 3; ++round) {
    assert_int_equal(tn_map_set(m, bytes, tn_any_int(1)), 0);
    assert_int_equal(tn_map_set(m, text, tn_any_int(2)), 0);
    assert_int_equal(tn_map_set(m, tn_any_none(), tn_any_int(3)), 0);
    assert_int_equal(tn_map_set(m, tn_any_bool(true), tn_any_int(4)), 0);
    assert_int_equal(tn_map_set(m, tn_any_int(1), tn_any_int(5)), 0);
    assert_int_equal(tn_map_set(m, tn_any_float(1), tn_any_int(6)), 0);
  }
  assert_int_equal(tn_map_len(m), 5);
  tn_bytes *same = tn_bytes_new("ab", 2);
  assert_true(tn_map_get(m, tn_any_obj(same), &found));
  assert_int_equal(found.v.i64, 1);
  tn_obj *key = (tn_obj *)tn_str_new("ab");
  tn_any rvalue = {.type_index = TN_RVALUE, .v.rvalue = &key};
  assert_true(tn_map_get(m, rvalue, &found));
  assert_int_equal(found.v.i64, 2);
  assert_int_equal(tn_map_set(m, rvalue, tn_any_int(7)), 0);
  assert_int_equal(tn_map_len(m), 5);
  assert_non_null(key); /* still the caller's */
  tn_any unkeepable = {.type_index = TN_DLTENSOR};
  assert_int_equal(tn_map_set(m, unkeepable, tn_any_none()), -1);
  assert_error("TypeError", "DLTensor");
  tn_release(key);
  tn_release(same);
  tn_release(m);
}

static void test_impossible_sizes(void **state) {
  (void)state;
  assert_null(tn_str_new_n("x", SIZE_MAX));
  assert_error("MemoryError", "");
  assert_null(tn_str_new_n("x", (size_t)PTRDIFF_MAX + 5));
  assert_error("MemoryError", "");
  assert_null(tn_bytes_new("x", SIZE_MAX - 8));
  assert_error("MemoryError", "");
  assert_null(tn_arr_new(NULL, INT64_MAX));
  assert_error("ValueError", "out of range");
  assert_null(tn_shape_new(NULL, -1));
  assert_error("ValueError", "out of range");
  const int64_t counts[] = {-1, (int64_t)1 << 61, INT64_MAX};
  for (int i = 0; i < 3; ++i) { /* 8 * 2^61 is 0 in 64 bits */
    assert_null(tn_alloc_array(counts[i], 8));
    assert_error("MemoryError", "");
    assert_null(tn_realloc_array(NULL, counts[i], 8));
    assert_error("MemoryError", "");
    assert_null(tn_alloc_zero((size_t)counts[i], 8));
    assert_error("MemoryError", "");
    assert_true(tn_array_bytes(16, counts[i], 8) == SIZE_MAX);
  }
  assert_int_equal(tn_array_bytes(16, 3, 8), 40);
  assert_true(tn_array_bytes(PTRDIFF_MAX, 1, 1) == SIZE_MAX);
  tn_str *empty = tn_str_new_n(NULL, 0);
  assert_string_equal(tn_str_data(empty), "");
  tn_release(empty);
}

/* A finalizer that raises, as foreign code may. */
static void raise_and_forget(void *self) {
  (void)self;
  TN_RAISE(KeyError, NULL, "of the finalizer");
}

static void test_finalizers_and_the_pending_error(void **state) {
  (void)state;
  tn_func *f = tn_func_new(NULL, NULL, raise_and_forget);
  tn_release(f);
  assert_false(tn_error_pending());
  f = tn_func_new(NULL, NULL, raise_and_forget);
  TN_RAISE(ValueError, NULL, "on the way");
  tn_release(f);
  assert_error("ValueError", "on the way");
}

/* The cause of an error that is replaced by one with the same cause. */
static void test_cause_is_handed_on(void **state) {
  (void)state;
  tn_obj *cause = tn_opaque_new("test.Exception", NULL, NULL);
  tn_raise_foreign("OSError", "first", cause);
  tn_release(cause);
  tn_raise_foreign("OSError", "second", tn_error_get()->cause);
  assert_ptr_equal(tn_error_get()->cause, cause);
  assert_int_equal(tn_use_count(cause), 1);
  assert_error("OSError", "second");
}

static void test_deep_chain_is_released_without_recursion(void **state) {
  (void)state;
  tn_any head = tn_any_none();
  for (int i = 0; i < 1000000; ++i) {
    tn_any next = tn_any_obj(tn_arr_new(&head, 1));
    tn_any_release(&head);
    head = next;
  }
  tn_any_release(&head);
}

static int add(TN_ARGS) {
  int64_t a, b;
  TN_NARGS("add", 2);
  TN_TRY(tn_any_to_int(&args[0], &a));
  TN_TRY(tn_any_to_int(&args[1], &b));
  *ret = tn_any_int(a + b);
  return 0;
}

static void test_registry(void **state) {
  (void)state;
  assert_int_equal(tn_func_register("test.add", add, NULL, NULL, 0), 0);
  assert_int_equal(tn_func_register("test.add", add, NULL, NULL, 0), -1);
  assert_error("TVMError", "test.add is already registered");
  assert_int_equal(tn_func_register("test.add", add, NULL, NULL, 1), 0);
  tn_func *f = tn_func_find("test.add");
  tn_any ret, args[] = {tn_any_int(40), tn_any_int(2)};
  assert_int_equal(tn_func_call(f, args, 2, &ret), 0);
  assert_int_equal(ret.v.i64, 42);
  args[1] = tn_any_cstr("two");
  assert_int_equal(tn_func_call(f, args, 2, &ret), -1);
  assert_error("TypeError", "expected int, got str");
  assert_int_equal(tn_func_call(f, args, 1, &ret), -1);
  assert_error("TypeError", "add: expected 2 arguments, got 1");
  tn_release(f);
  assert_int_equal(tn_func_remove("test.add"), 0);
  assert_null(tn_func_find("test.add"));
  assert_false(tn_error_pending());
  assert_int_equal(tn_func_remove("test.add"), -1);
  assert_error("KeyError", "test.add");
}

static void test_nodes_from_fields(void **state) {
  (void)state;
  const char *names[] = {"value"};
  tn_any value = tn_any_int(7);
  const tn_type *t = tn_type_get(tn_type_find("runtime.BoxInt"));
  tn_obj *o = tn_node_make(t, 1, names, &value);
  int64_t i;
  tn_any a = tn_any_obj(o);
  assert_int_equal(tn_any_to_int(&a, &i), 0);
  assert_int_equal(i, 7);
  tn_release(o);
  value = tn_any_cstr("seven");
  assert_null(tn_node_make(t, 1, names, &value));
  assert_error("TypeError", "runtime.BoxInt.value: expected int, got str");
  names[0] = "valeu";
  assert_null(tn_node_make(t, 1, names, &value));
  assert_error("AttributeError", "runtime.BoxInt has no field 'valeu'; known: value");
}

static void test_scope_returns_to_the_enclosing_one(void **state) {
  (void)state;
  TN_SCOPE(outer);
  tn_str *kept;
  {
    TN_SCOPE(inner);
    (void)tn_str_from("dropped");
    kept = tn_scope_return(inner, tn_str_from("kept"));
  }
  assert_int_equal(tn_use_count(kept), 1);
  assert_int_equal(tn_scope_height(), 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_strings),
      cmocka_unit_test(test_array_owns_what_it_holds),
      cmocka_unit_test(test_map_keeps_order_and_compares_by_content),
      cmocka_unit_test(test_map_keys_of_any_kind),
      cmocka_unit_test(test_impossible_sizes),
      cmocka_unit_test(test_finalizers_and_the_pending_error),
      cmocka_unit_test(test_cause_is_handed_on),
      cmocka_unit_test(test_deep_chain_is_released_without_recursion),
      cmocka_unit_test(test_registry),
      cmocka_unit_test(test_nodes_from_fields),
      cmocka_unit_test(test_scope_returns_to_the_enclosing_one),
  };
  return cmocka_run_group_tests(tests, start_runtime, NULL);
}
