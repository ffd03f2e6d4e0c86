/* Modules of kernels: what they take, launching them on a device that only notes what it is asked,
   saving and loading, and everything that can be wrong with what is loaded. */
#include "failing_alloc.h"

#include "runtime/module/device_module.h"

/* ---- a device that notes launches ---- */

static tn_launch seen;
static struct tn_kernel_arg seen_args[8];
static int loads, unloads, launches, device_of_launch;

static int load(const tn_device_code *c, int device_id, void **program) {
  (void)c, (void)device_id;
  ++loads;
  *program = &loads;
  return 0;
}
static int find(int device_id, void *program, const tn_kernel *k, void **kernel) {
  (void)device_id, (void)program;
  *kernel = (void *)(uintptr_t)k;
  return 0;
}
static int launch(int device_id, void *kernel, const tn_launch *l) {
  (void)kernel;
  seen = *l;
  memcpy(seen_args, l->args, (size_t)l->n * sizeof *seen_args);
  device_of_launch = device_id;
  ++launches;
  return 0;
}
static void unload(int device_id, void *program) {
  (void)device_id, (void)program;
  ++unloads;
}
static const tn_kernel_api kernels = {load, find, launch, unload};

static int get_attr(void *self, tn_device dev, tn_device_attr kind, tn_any *out) {
  (void)self, (void)dev, (void)kind;
  *out = tn_any_int(1);
  return 0;
}
static int alloc(void *self, tn_device dev, size_t nbytes, size_t align, tn_dtype dtype,
                 const char *scope, void **out) {
  (void)self, (void)dev, (void)nbytes, (void)align, (void)dtype, (void)scope;
  *out = NULL;
  return TN_RAISE(DeviceError, NULL, "no memory here");
}
static int release(void *self, tn_device dev, void *data) {
  (void)self, (void)dev, (void)data;
  return 0;
}
static int copy(void *self, const void *src, size_t src_offset, tn_device src_dev, void *dst,
                size_t dst_offset, tn_device dst_dev, size_t nbytes, void *stream) {
  (void)self, (void)src, (void)src_offset, (void)src_dev, (void)dst, (void)dst_offset;
  (void)dst_dev, (void)nbytes, (void)stream;
  return 0;
}
static int sync_nothing(void *self, tn_device dev, void *stream) {
  (void)self, (void)dev, (void)stream;
  return 0;
}
static const tn_device_api device = {.size = sizeof(tn_device_api),
                                     .get_attr = get_attr,
                                     .alloc = alloc,
                                     .free = release,
                                     .copy = copy,
                                     .sync = sync_nothing};

static int setup(void **state) {
  if (start_runtime(state)) return -1;
  if (tn_device_register_api(kDLOpenCL, &device)) return -1;
  return tn_device_register_kernels(kDLOpenCL, &kernels);
}

/* ---- a module ---- */

static const tn_dtype handle = {kDLOpaqueHandle, 64, 1}, i32 = {kDLInt, 32, 1},
                      f32 = {kDLFloat, 32, 1}, f64 = {kDLFloat, 64, 1};

static int add(tn_device_code *c) {
  tn_any types[] = {tn_any_dtype(handle), tn_any_dtype(i32), tn_any_dtype(f32), tn_any_dtype(f64)};
  tn_any tags[] = {tn_any_cstr("blockIdx.y"), tn_any_cstr("threadIdx.x"),
                   tn_any_cstr("tir.use_dyn_shared_memory")};
  tn_vec t = {types, 4, 4}, l = {tags, 3, 3};
  return tn_device_code_add(c, "add", &t, &l);
}

static tn_module *make(void) {
  tn_bytes *text = tn_bytes_new("source", 6);
  tn_device_code *c = text ? tn_device_code_new(kDLOpenCL, "cl", text, NULL) : NULL;
  tn_release(text);
  tn_module *m = c && add(c) == 0 ? tn_device_module_new(c) : NULL;
  if (c && !m) tn_device_code_free(c);
  return m;
}

static int call(tn_module *m, const tn_any *args, int32_t n) {
  tn_any ret = tn_any_none();
  tn_func *f = tn_module_require(m, "add", false);
  assert_non_null(f);
  int err = tn_func_call(f, args, n, &ret);
  tn_release(f);
  return err;
}

static void test_launch(void **state) {
  int data = 0;
  tn_module *m = make();
  tn_any args[] = {tn_any_ptr(&data), tn_any_int(-7), tn_any_float(1.5), tn_any_float(2.5),
                   tn_any_int(3),     tn_any_int(32), tn_any_int(256)};
  (void)state;
  assert_non_null(m);
  assert_string_equal(tn_module_type_key(m), "opencl");
  loads = launches = unloads = 0;
  assert_int_equal(call(m, args, 7), 0);
  assert_int_equal(call(m, args, 7), 0);
  assert_int_equal(loads, 1);
  assert_int_equal(launches, 2);
  assert_int_equal(device_of_launch, 0);
  assert_int_equal(seen.grid[0] * 100 + seen.grid[1] * 10 + seen.grid[2], 131);
  assert_int_equal(seen.block[0], 32);
  assert_int_equal(seen.shared, 256);
  assert_int_equal(seen.n, 4);
  assert_true(seen_args[0].is_data && seen_args[0].v.ptr == &data);
  assert_int_equal(seen_args[1].v.i32, -7);
  assert_int_equal(seen_args[1].size, 4);
  assert_true(seen_args[2].v.f32 == 1.5F && seen_args[3].v.f64 == 2.5);
  tn_release(m);
  assert_int_equal(unloads, 1);
}

static void test_device_of_the_thread(void **state) {
  tn_any set[] = {tn_any_int(kDLOpenCL), tn_any_int(2)}, ret = tn_any_none();
  tn_any args[] = {tn_any_none(), tn_any_int(1), tn_any_int(1), tn_any_int(1),
                   tn_any_int(1), tn_any_int(1), tn_any_int(0)};
  tn_func *f = tn_func_find("__tvm_set_device");
  tn_module *m = make();
  (void)state;
  assert_int_equal(tn_func_call(f, set, 2, &ret), 0);
  assert_int_equal(call(m, args, 7), 0);
  assert_int_equal(device_of_launch, 2);
  assert_null(seen_args[0].v.ptr);
  set[1] = tn_any_int(0);
  assert_int_equal(tn_func_call(f, set, 2, &ret), 0);
  tn_release(f);
  tn_release(m);
}

static void test_wrong_launches(void **state) {
  tn_module *m = make();
  tn_any args[] = {tn_any_none(), tn_any_int(1), tn_any_int(1), tn_any_int(1),
                   tn_any_int(1), tn_any_int(1), tn_any_int(0)};
  (void)state;
  launches = 0;
  assert_int_equal(call(m, args, 6), -1);
  assert_error("TypeError", "kernel add: expected 4 arguments and 3 launch parameters, got 6");
  args[4] = tn_any_int(-1);
  assert_int_equal(call(m, args, 7), -1);
  assert_error("ValueError", "kernel add: blockIdx.y is -1");
  args[4] = tn_any_int(0); /* nothing to do */
  assert_int_equal(call(m, args, 7), 0);
  args[0] = tn_any_int(1);
  assert_int_equal(call(m, args, 7), -1);
  tn_error_clear();
  assert_int_equal(launches, 0);
  tn_release(m);
}

static void test_unknown_launch_parameter(void **state) {
  tn_any tags[] = {tn_any_cstr("vthread")};
  tn_vec none = {0}, l = {tags, 1, 1};
  tn_bytes *text = tn_bytes_new("source", 6);
  tn_device_code *c = tn_device_code_new(kDLOpenCL, "cl", text, NULL);
  (void)state;
  assert_int_equal(tn_device_code_add(c, "f", &none, &l), -1);
  assert_error("ValueError", "unknown launch parameter \"vthread\"");
  tn_device_code_free(c);
  tn_release(text);
}

/* ---- saving and loading ---- */

static void test_round_trip(void **state) {
  tn_module *m = make();
  tn_bytes *saved = tn_module_save_binary(m);
  (void)state;
  assert_non_null(saved);
  tn_bytes_view v = tn_bytes_get(saved);
  tn_reader r = {v.data, v.size, 0};
  tn_module *back = tn_module_load_binary("opencl", &r);
  assert_non_null(back);
  assert_int_equal(r.pos, v.size);
  tn_bytes *again = tn_module_save_binary(back);
  tn_bytes_view w = tn_bytes_get(again);
  assert_int_equal(v.size, w.size);
  assert_memory_equal(v.data, w.data, v.size);
  tn_str *source = tn_module_source(back, "cl");
  assert_string_equal(tn_str_data(source), "source");
  tn_release(source);
  tn_release(again);
  tn_release(back);
  tn_release(saved);
  tn_release(m);
}

/* Cut short anywhere, and with any byte changed: an error or a module, nothing else. */
static void test_damaged(void **state) {
  tn_module *m = make();
  tn_bytes *saved = tn_module_save_binary(m);
  tn_bytes_view v = tn_bytes_get(saved);
  uint8_t copy_of[512];
  (void)state;
  assert_true(v.size <= sizeof copy_of);
  for (size_t n = 0; n < v.size; ++n) {
    tn_reader r = {v.data, n, 0};
    assert_null(tn_module_load_binary("opencl", &r));
    tn_error_clear();
  }
  for (size_t i = 0; i < v.size; ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      memcpy(copy_of, v.data, v.size);
      copy_of[i] = (uint8_t)(copy_of[i] ^ 1 << bit);
      tn_reader r = {copy_of, v.size, 0};
      tn_release(tn_module_load_binary("opencl", &r));
      tn_error_clear();
    }
  }
  tn_release(saved);
  tn_release(m);
}

static int load_and_drop(void *ctx) {
  const tn_bytes_view *v = ctx;
  tn_reader r = {v->data, v->size, 0};
  tn_module *m = tn_module_load_binary("opencl", &r);
  tn_release(m);
  return m ? 0 : -1;
}

static void test_out_of_memory(void **state) {
  tn_module *m = make();
  tn_bytes *saved = tn_module_save_binary(m);
  tn_bytes_view v = tn_bytes_get(saved);
  (void)state;
  assert_true(fail_every_allocation(load_and_drop, &v) > 5);
  tn_release(saved);
  tn_release(m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_launch),         cmocka_unit_test(test_device_of_the_thread),
      cmocka_unit_test(test_wrong_launches), cmocka_unit_test(test_unknown_launch_parameter),
      cmocka_unit_test(test_round_trip),     cmocka_unit_test(test_damaged),
      cmocka_unit_test(test_out_of_memory),
  };
  return cmocka_run_group_tests(tests, setup, NULL);
}
