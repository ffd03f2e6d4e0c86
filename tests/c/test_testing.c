/* The functions "testing.*" that Python's tenon.testing offers. */
#include "testing.h"

#include "base/clock.h"

/* Calls a global function; fails the test when there is none. */
static int call(const char *name, const tn_any *args, int32_t n, tn_any *ret) {
  tn_func *f = tn_func_find(name);
  assert_non_null(f);
  int err = tn_func_call(f, args, n, ret);
  tn_release(f);
  return err;
}

static void test_echo_and_counts(void **state) {
  tn_any ret, arg = tn_any_float(0.5);
  (void)state;
  assert_int_equal(call("testing.echo", &arg, 1, &ret), 0);
  assert_true(ret.type_index == TN_FLOAT && ret.v.f64 == 0.5);
  tn_str *s = tn_str_new("kept");
  arg = tn_any_obj(s);
  assert_int_equal(call("testing.object_use_count", &arg, 1, &ret), 0);
  assert_int_equal(ret.v.i64, 1);
  assert_int_equal(call("testing.identity_cpp", &arg, 1, &ret), 0);
  assert_ptr_equal(ret.v.obj, s);
  assert_int_equal(tn_use_count(s), 2);
  tn_any_release(&ret);
  tn_release(s);
  assert_int_equal(call("testing.nop", NULL, 0, &ret), 0);
  assert_int_equal(ret.type_index, TN_NONE);
}

static void test_device(void **state) {
  tn_any ret;
  tn_any args[] = {tn_any_device((tn_device){kDLOpenCL, 10}), tn_any_int(4), tn_any_int(10)};
  (void)state;
  assert_int_equal(call("testing.device_test", args, 3, &ret), 0);
  assert_int_equal(ret.type_index, TN_DEVICE);
  args[2] = tn_any_int(9);
  assert_int_equal(call("testing.device_test", args, 3, &ret), -1);
  assert_error("ValueError", "expected device (4, 10), got (4, 9)");
}

static void test_failures(void **state) {
  tn_any ret, ints[] = {tn_any_int(0), tn_any_int(1)}, text = tn_any_cstr("KeyError: gone");
  (void)state;
  assert_int_equal(call("testing.ErrorTest", ints, 2, &ret), -1);
  assert_error("ValueError", "expect x and y to be equal");
  ints[0] = tn_any_int(1);
  assert_int_equal(call("testing.ErrorTest", ints, 2, &ret), -1);
  assert_error("InternalError", "cannot reach here");

  assert_int_equal(call("testing.test_raise_error_callback", &text, 1, &ret), 0);
  tn_any wrap, ignored;
  assert_int_equal(call("testing.test_wrap_callback", &ret, 1, &wrap), 0);
  tn_any_release(&ret);
  assert_int_equal(tn_func_call((tn_func *)wrap.v.obj, NULL, 0, &ignored), -1);
  assert_error("KeyError", "gone");
  tn_any_release(&wrap);

  assert_int_equal(call("testing.test_check_eq_callback", &text, 1, &ret), 0);
  assert_int_equal(tn_func_call((tn_func *)ret.v.obj, ints, 2, &ignored), 0);
  ints[0] = tn_any_int(2);
  assert_int_equal(tn_func_call((tn_func *)ret.v.obj, ints, 2, &ignored), -1);
  assert_error("KeyError", "gone");
  tn_any_release(&ret);
  ints[0] = tn_any_int(3);
  assert_int_equal(call("testing.test_wrap_callback", ints, 1, &ret), -1);
  assert_error("TypeError", "expected runtime.PackedFunc, got int");
}

static int stop(TN_ARGS) { return TN_RAISE(RuntimeError, NULL, "stopped by the host"); }

static void test_waiting_can_be_stopped(void **state) {
  tn_any ret, seconds = tn_any_float(30);
  int64_t start = tn_now_ns();
  (void)state;
  assert_int_equal(tn_func_register("runtime.CheckSignals", stop, NULL, NULL, 0), 0);
  assert_int_equal(call("testing.run_check_signal", &seconds, 1, &ret), -1);
  assert_error("RuntimeError", "stopped by the host");
  assert_int_equal(tn_func_remove("runtime.CheckSignals"), 0);
  seconds = tn_any_float(0.001);
  assert_int_equal(call("testing.run_check_signal", &seconds, 1, &ret), 0);
  assert_int_equal(call("testing.sleep_in_ffi", &seconds, 1, &ret), 0);
  assert_true(tn_now_ns() - start < 20LL * 1000 * 1000 * 1000);
}

static void test_module_of_functions(void **state) {
  tn_any mod, ret, args[2] = {tn_any_cstr("main")};
  (void)state;
  assert_int_equal(call("testing.FrontendTestModule", NULL, 0, &mod), 0);
  tn_module *m = (tn_module *)mod.v.obj;
  tn_func *add = tn_module_require(m, "__add_function", false),
          *echo = tn_func_find("testing.echo");
  assert_null(tn_module_require(m, "main", false));
  assert_error("AttributeError", "Module has no function 'main'");
  assert_int_equal(tn_func_call(add, args, 2, &ret), -1);
  assert_error("TypeError", "argument 1: expected runtime.PackedFunc, got None");
  args[1] = tn_any_obj(echo);
  assert_int_equal(tn_func_call(add, args, 2, &ret), 0);
  tn_any_release(&mod); /* the function keeps the module */
  assert_int_equal(tn_func_call(add, args, 2, &ret), 0);
  tn_func *found = NULL;
  assert_int_equal(tn_module_get_function(m, "main", false, &found), 0);
  assert_ptr_equal(found, echo);
  tn_release(found);
  tn_release(echo);
  tn_release(add);
}

static void test_build_options(void **state) {
  tn_any ret, value;
  (void)state;
  assert_int_equal(call("support.GetLibInfo", NULL, 0, &ret), 0);
  const tn_map *info = (const tn_map *)ret.v.obj;
  assert_true(tn_map_get(info, tn_any_cstr("USE_THREADS"), &value));
  assert_string_equal(tn_str_data((const tn_str *)value.v.obj), "ON");
  assert_true(tn_map_get(info, tn_any_cstr("USE_BNNS"), &value));
  assert_string_equal(tn_str_data((const tn_str *)value.v.obj), "OFF");
  tn_any_release(&ret);
}

static void test_tensors_from_functions(void **state) {
  tn_any t, view, ret, args[5];
  float data[6] = {0, 1, 2, 3, 4, 5}, back[3] = {0};
  (void)state;
  args[0] = tn_any_cstr("float32"), args[1] = tn_any_device((tn_device){kDLCPU, 0});
  args[2] = tn_any_none(), args[3] = tn_any_int(2), args[4] = tn_any_int(3);
  assert_int_equal(call("runtime.TensorEmpty", args, 5, &t), 0);
  args[0] = t, args[1] = tn_any_ptr(data), args[2] = tn_any_int(sizeof data);
  assert_int_equal(call("runtime.TensorCopyFromBytes", args, 3, &ret), 0);
  args[1] = tn_any_cstr("float32"), args[2] = tn_any_int(3 * sizeof(float)),
  args[3] = tn_any_int(3);
  assert_int_equal(call("runtime.TensorView", args, 4, &view), 0);
  tn_any_release(&t);
  args[0] = view, args[1] = tn_any_ptr(back), args[2] = tn_any_int(sizeof back);
  assert_int_equal(call("runtime.TensorCopyToBytes", args, 3, &ret), 0);
  assert_memory_equal(back, data + 3, sizeof back);
  args[2] = tn_any_int(4);
  assert_int_equal(call("runtime.TensorCopyToBytes", args, 3, &ret), -1);
  assert_error("ValueError", "12");
  assert_int_equal(call("runtime.TensorHandle", args, 1, &ret), 0);
  assert_int_equal(call("runtime.TensorFromHandle", &ret, 1, &t), 0);
  tn_any_release(&t);
  tn_any_release(&view);
  args[0] = tn_any_ptr(NULL);
  assert_int_equal(call("runtime.TensorFromHandle", args, 1, &t), -1);
  assert_error("ValueError", "null");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_echo_and_counts),
      cmocka_unit_test(test_device),
      cmocka_unit_test(test_failures),
      cmocka_unit_test(test_module_of_functions),
      cmocka_unit_test(test_waiting_can_be_stopped),
      cmocka_unit_test(test_build_options),
      cmocka_unit_test(test_tensors_from_functions),
  };
  return cmocka_run_group_tests(tests, start_runtime, NULL);
}
