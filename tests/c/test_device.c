/* Devices: names, attributes, the API table, and a device of the test's own, whose memory is a
   handle that only its API can read. */
#include "testing.h"

#include <stdlib.h>

#include "object/dtype.h"
#include "runtime/tensor/tensor.h"

static const tn_device cpu = {kDLCPU, 0};

/* ---- names ---- */

static void test_names(void **state) {
  (void)state;
  static const struct {
    const char *name;
    int type;
  } cases[] = {{"cpu", 1},      {"llvm", 1},   {"c", 1},        {"stackvm", 1},    {"cuda", 2},
               {"nvptx", 2},    {"opencl", 4}, {"cl", 4},       {"vulkan", 7},     {"metal", 8},
               {"vpi", 9},      {"rocm", 10},  {"ext_dev", 12}, {"micro_dev", 13}, {"webgpu", 15},
               {"hexagon", 16}, {"gpu", 2},    {"", -1},        {"cpux", -1},      {"CPU", -1}};
  for (int i = 0; i < TN_COUNT(cases); ++i)
    assert_int_equal(tn_device_type_find(cases[i].name), cases[i].type);
  assert_string_equal(tn_device_type_name(1), "cpu");
  assert_string_equal(tn_device_type_name(4), "opencl");
  assert_string_equal(tn_device_type_name(13), "cuda_managed");
  assert_null(tn_device_type_name(99));
  assert_false(tn_error_pending());
}

static void expect_device(const char *text, int id, int type, int want_id) {
  tn_device dev;
  assert_int_equal(tn_device_parse(text, id, &dev), 0);
  assert_int_equal(dev.device_type, type);
  assert_int_equal(dev.device_id, want_id);
}

static void expect_bad(const char *text, const char *part) {
  tn_device dev;
  assert_int_equal(tn_device_parse(text, 0, &dev), -1);
  assert_error("ValueError", part);
}

static void test_parse(void **state) {
  (void)state;
  expect_device("cuda:3", 0, kDLCUDA, 3);
  expect_device("cuda", 2, kDLCUDA, 2);
  expect_device("llvm", 0, kDLCPU, 0);
  expect_device("llvm -mcpu=core-avx2 -mattr=+a:b", 1, kDLCPU, 1);
  expect_device("cpu:0", 7, kDLCPU, 0);
  expect_bad("cuda:", "device \"cuda:\": expected a number behind the colon");
  expect_bad("cuda:x", "expected a number");
  expect_bad("cuda:-1", "expected a number");
  expect_bad("cuda:1:2", "expected a number");
  expect_bad("cuda:1x", "expected a number");
  expect_bad("cuda:99999999999", "expected a number");
  expect_bad("", "unknown device \"\": expected a name");
  expect_bad("cdua:1", "unknown device \"cdua\"; did you mean cuda?");
  expect_bad("opncl", "did you mean opencl");
  expect_bad("?", "unknown device \"?\": expected a name such as cpu, llvm, cuda or opencl:1");
  expect_bad("a name that is far longer than the name of any device could be and goes on",
             "unknown");
}

static void test_text(void **state) {
  (void)state;
  char text[TN_DEVICE_TEXT];
  assert_string_equal(tn_device_text(cpu, text), "cpu(0)");
  assert_string_equal(tn_device_text((tn_device){kDLCUDA, 3}, text), "cuda(3)");
  assert_string_equal(tn_device_text((tn_device){(DLDeviceType)(2 * 128 + 2), 1}, text),
                      "remote[1]:cuda(1)");
  assert_string_equal(tn_device_text((tn_device){(DLDeviceType)77, -1}, text),
                      "device_type_77(-1)");
  assert_string_equal(tn_device_text((tn_device){(DLDeviceType)-5, INT32_MIN}, text),
                      "device_type_-5(-2147483648)");
}

static void test_cpu_memory(void **state) {
  (void)state;
  const size_t aligns[] = {0, 1, 8, 64, 4096};
  for (int i = 0; i < TN_COUNT(aligns); ++i) {
    char *p = tn_device_alloc(cpu, 10, aligns[i], TN_I32, NULL);
    assert_non_null(p);
    assert_true(aligns[i] == 0 || (uintptr_t)p % aligns[i] == 0);
    memset(p, 1, 10);
    char out[4];
    assert_int_equal(tn_device_copy(p, 3, cpu, out, 1, cpu, 3, NULL), 0);
    assert_memory_equal(out + 1, "\1\1\1", 3);
    assert_int_equal(tn_device_free(cpu, p), 0);
  }
  assert_null(tn_device_alloc(cpu, 10, 48, TN_I32, NULL));
  assert_error("ValueError", "expected a power of two as alignment, got 48");
}

/* ---- attributes ---- */

static int attr(int type, int kind, tn_any *out) {
  tn_func *f = tn_func_find("runtime.GetDeviceAttr");
  tn_any args[] = {tn_any_int(type), tn_any_int(0), tn_any_int(kind)};
  int err = tn_func_call(f, args, 3, out);
  tn_release(f);
  return err;
}

static void test_attributes(void **state) {
  (void)state;
  tn_any a;
  assert_int_equal(attr(kDLCPU, TN_DEV_EXIST, &a), 0);
  assert_int_equal(a.v.i64, 1);
  assert_int_equal(attr(kDLCPU, TN_DEV_MULTI_PROCESSOR_COUNT, &a), 0);
  assert_true(a.v.i64 >= 1);
  assert_int_equal(attr(kDLCPU, TN_DEV_TOTAL_GLOBAL_MEMORY, &a), 0);
  int64_t total = a.v.i64;
  assert_int_equal(attr(kDLCPU, TN_DEV_AVAILABLE_GLOBAL_MEMORY, &a), 0);
  assert_true(a.v.i64 > 0 && a.v.i64 <= total);
  assert_int_equal(attr(kDLCPU, TN_DEV_WARP_SIZE, &a), 0);
  assert_int_equal(a.type_index, TN_NONE);
  assert_int_equal(attr(kDLVPI, TN_DEV_EXIST, &a), 0);
  assert_int_equal(a.v.i64, 0);
  assert_int_equal(attr(kDLVPI, TN_DEV_WARP_SIZE, &a), -1);
  assert_error("DeviceError", "device vpi (type 9) is not available");
  assert_int_equal(attr(kDLCPU, TN_DEV_ATTRS, &a), -1);
  assert_error("ValueError", "device attribute 17 does not exist");
  assert_int_equal(attr(kDLCPU, -1, &a), -1);
  assert_error("ValueError", "device attribute -1");
  assert_int_equal(attr(77, TN_DEV_WARP_SIZE, &a), -1);
  assert_error("DeviceError", "unknown device type 77");
}

/* ---- a device whose memory is a handle ---- */

typedef struct {
  size_t size;
  char *bytes;
} block;

static int blocks, stream, synced; /* blocks that are allocated; a stream; calls of sync */
static bool failing;               /* every dev_free reports an error */

static int dev_attr(void *self, tn_device dev, tn_device_attr kind, tn_any *out) {
  (void)self;
  if (kind == TN_DEV_EXIST) *out = tn_any_int(dev.device_id == 0);
  if (kind != TN_DEV_DEVICE_NAME) return 0;
  tn_str *name = tn_str_new("drawer");
  if (!name) return -1;
  *out = tn_any_obj(name);
  return 0;
}

static int dev_alloc(void *self, tn_device dev, size_t nbytes, size_t align, tn_dtype dtype,
                     const char *mem_scope, void **out) {
  (void)self, (void)align, (void)dtype, (void)mem_scope;
  TN_CHECK(dev.device_id == 0, DeviceError, NULL, "drawer: unknown device %d", dev.device_id);
  block *b = malloc(sizeof *b);
  *b = (block){nbytes, malloc(nbytes ? nbytes : 1)};
  ++blocks;
  *out = b;
  return 0;
}

static int dev_free(void *self, tn_device dev, void *data) {
  (void)self, (void)dev;
  free(((block *)data)->bytes);
  free(data);
  --blocks;
  return failing ? TN_RAISE(DeviceError, NULL, "drawer: stuck") : 0;
}

static char *reach(tn_device dev, const void *data, size_t offset, size_t n) {
  if (dev.device_type == kDLCPU) return (char *)(uintptr_t)data + offset;
  const block *b = data;
  assert_true(offset <= b->size && n <= b->size - offset);
  return b->bytes + offset;
}

static int dev_copy(void *self, const void *src, size_t src_offset, tn_device src_dev, void *dst,
                    size_t dst_offset, tn_device dst_dev, size_t nbytes, void *s) {
  assert_string_equal(self, "drawer");
  assert_null(s);
  memmove(reach(dst_dev, dst, dst_offset, nbytes), reach(src_dev, src, src_offset, nbytes), nbytes);
  return 0;
}

static int dev_sync(void *self, tn_device dev, void *s) {
  (void)self, (void)dev;
  synced += s == &stream ? 10 : 1;
  return 0;
}

static int dev_stream_new(void *self, tn_device dev, void **out) {
  (void)self, (void)dev;
  *out = &stream;
  return 0;
}

static char drawer_name[] = "drawer";
static const tn_device_api drawer = {.size = sizeof drawer,
                                     .self = drawer_name,
                                     .get_attr = dev_attr,
                                     .alloc = dev_alloc,
                                     .free = dev_free,
                                     .copy = dev_copy,
                                     .sync = dev_sync,
                                     .stream_new = dev_stream_new};
static const tn_device dev = {kDLExtDev, 0};

static int start(void **state) {
  return start_runtime(state) || tn_device_register_api(kDLExtDev, &drawer) ? -1 : 0;
}

static void test_register(void **state) {
  (void)state;
  assert_ptr_equal(tn_device_api_of(kDLExtDev, false), &drawer);
  assert_int_equal(tn_device_register_api(kDLExtDev, &drawer), -1);
  assert_error("ValueError", "type 12 has one already");
  assert_int_equal(tn_device_register_api(0, &drawer), -1);
  assert_error("ValueError", "expected a device type of 1 to 128, got 0");
  assert_int_equal(tn_device_register_api(TN_DEVICE_REMOTE + 1, &drawer), -1);
  assert_error("ValueError", "got 129");
  tn_device_api old = drawer;
  old.size = 8;
  assert_int_equal(tn_device_register_api(99, &old), -1);
  assert_error("ValueError", "made for another release, or incomplete");
  old = drawer;
  old.copy = NULL;
  assert_int_equal(tn_device_register_api(99, &old), -1);
  assert_error("ValueError", "incomplete");
  assert_null(tn_device_api_of(99, true));
  assert_null(tn_device_api_of(-3, true));
  assert_null(tn_device_api_of(TN_DEVICE_REMOTE + 2, true));
  assert_false(tn_error_pending());
  tn_any a;
  assert_int_equal(attr(kDLExtDev, TN_DEV_DEVICE_NAME, &a), 0);
  assert_string_equal(tn_str_data((tn_str *)a.v.obj), "drawer");
  tn_any_release(&a);
}

static tn_tensor *counting(int32_t ndim, const int64_t *shape) {
  tn_tensor *t = tn_tensor_new(shape, ndim, TN_I32, cpu, NULL);
  for (int i = 0; i < (int)tn_tensor_count(&t->dl); ++i) ((int32_t *)t->dl.data)[i] = i;
  return t;
}

static void test_copies(void **state) {
  (void)state;
  tn_tensor *host = counting(2, (int64_t[]){2, 3});
  tn_tensor *there = tn_tensor_clone(&host->dl, dev, "global");
  tn_tensor *twice = tn_tensor_clone(&there->dl, dev, NULL);
  assert_int_equal(blocks, 2);
  tn_tensor *back = tn_tensor_clone(&twice->dl, cpu, NULL);
  assert_memory_equal(back->dl.data, host->dl.data, 24);
  tn_tensor *v = tn_tensor_view(there, (int64_t[]){2}, 1, TN_I32, 8);
  assert_ptr_equal(v->dl.data, there->dl.data); /* a handle: nothing can be added to it */
  assert_int_equal(v->dl.byte_offset, 8);
  tn_release(there);
  int32_t out[2];
  assert_int_equal(tn_tensor_copy_to_bytes(&v->dl, out, 8), 0);
  assert_int_equal(out[0], 2);
  assert_int_equal(out[1], 3);
  assert_true(tn_type_NDArray.hooks->content_equal(&twice->hdr, &host->hdr));
  assert_int_equal(tn_type_NDArray.hooks->content_hash(&twice->hdr),
                   tn_type_NDArray.hooks->content_hash(&host->hdr));
  tn_bytes *b = tn_tensor_save(twice);
  tn_tensor *loaded = tn_tensor_load(tn_bytes_get(b).data, tn_bytes_get(b).size);
  assert_int_equal(loaded->dl.device.device_type, kDLCPU);
  assert_true(tn_type_NDArray.hooks->content_equal(&loaded->hdr, &host->hdr));
  tn_release(loaded);
  tn_release(b);
  tn_release(v);
  tn_release(twice);
  tn_release(back);
  tn_release(host);
  assert_int_equal(blocks, 0);
}

static void test_copies_with_gaps(void **state) {
  (void)state;
  tn_tensor *host = counting(2, (int64_t[]){2, 3});
  DLTensor turned = host->dl;
  turned.shape = (int64_t[]){3, 2};
  turned.strides = (int64_t[]){1, 3};
  tn_tensor *there = tn_tensor_clone(&turned, dev, NULL);
  tn_tensor *back = tn_tensor_clone(&there->dl, cpu, NULL);
  assert_memory_equal(back->dl.data, ((int32_t[]){0, 3, 1, 4, 2, 5}), 24);
  memset(host->dl.data, 0, 24);
  assert_int_equal(tn_tensor_copy(&there->dl, &turned), 0);
  assert_memory_equal(host->dl.data, ((int32_t[]){0, 1, 2, 3, 4, 5}), 24);
  DLTensor odd = there->dl;
  odd.strides = (int64_t[]){1, 3};
  assert_int_equal(tn_tensor_copy(&odd, &back->dl), -1);
  assert_error("NotImplementedError", "a tensor on a device must be compact");
  DLTensor metal = there->dl;
  metal.device.device_type = kDLMetal;
  assert_int_equal(tn_tensor_copy(&metal, &there->dl), -1);
  assert_error("DeviceError", "copy from metal(0) to ext_dev(0): devices of different kinds");
  assert_null(tn_tensor_clone(&back->dl, (tn_device){kDLExtDev, 3}, NULL));
  assert_error("DeviceError", "drawer: unknown device 3");
  tn_release(there);
  tn_release(back);
  tn_release(host);
  assert_int_equal(blocks, 0);
}

static int call(const char *name, const tn_any *args, int32_t n, tn_any *ret) {
  tn_func *f = tn_func_find(name);
  assert_non_null(f);
  int err = tn_func_call(f, args, n, ret);
  tn_release(f);
  return err;
}

static void test_functions(void **state) {
  (void)state;
  tn_any ret, args[3] = {tn_any_int(kDLExtDev), tn_any_int(0), tn_any_none()};
  assert_int_equal(call("runtime.DeviceStreamCreate", args, 2, &ret), 0);
  assert_ptr_equal(ret.v.ptr, &stream);
  args[2] = ret;
  synced = 0;
  assert_int_equal(call("runtime.DeviceSync", args, 2, &ret), 0);
  assert_int_equal(call("runtime.DeviceSync", args, 3, &ret), 0);
  assert_int_equal(synced, 11);
  assert_int_equal(call("runtime.DeviceStreamSet", args, 3, &ret), -1);
  assert_error("DeviceError", "device ext_dev has no streams");
  assert_int_equal(call("runtime.DeviceStreamFree", args, 3, &ret), -1);
  assert_error("DeviceError", "device ext_dev has no streams");
  args[0] = tn_any_int(kDLCPU), args[2] = tn_any_none();
  assert_int_equal(call("runtime.DeviceStreamCreate", args, 2, &ret), 0);
  assert_null(ret.v.ptr);
  assert_int_equal(call("runtime.DeviceStreamSet", args, 3, &ret), 0);
  assert_int_equal(call("runtime.DeviceStreamFree", args, 3, &ret), 0);
  args[0] = tn_any_int(INT64_C(1) << 40);
  assert_int_equal(call("runtime.DeviceSync", args, 2, &ret), -1);
  assert_error("ValueError", "out of range");
  args[0] = tn_any_cstr("opencl"), args[1] = tn_any_int(2);
  assert_int_equal(call("runtime.ParseDevice", args, 2, &ret), 0);
  assert_int_equal(ret.type_index, TN_DEVICE);
  assert_int_equal(ret.v.device.device_type, kDLOpenCL);
  args[0] = ret;
  assert_int_equal(call("runtime.DeviceText", args, 1, &ret), 0);
  assert_string_equal(tn_str_data((tn_str *)ret.v.obj), "opencl(2)");
  tn_any_release(&ret);
}

static void test_release_hides_no_error(void **state) {
  (void)state;
  tn_tensor *a = tn_tensor_new(NULL, 0, TN_I32, dev, NULL);
  tn_tensor *b = tn_tensor_new(NULL, 0, TN_I32, dev, NULL);
  failing = true;
  tn_release(a);
  assert_false(tn_error_pending()); /* nobody could handle it */
  TN_RAISE(KeyError, NULL, "the first error");
  tn_release(b);
  failing = false;
  assert_error("KeyError", "the first error");
  assert_int_equal(blocks, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_names),      cmocka_unit_test(test_parse),
      cmocka_unit_test(test_text),       cmocka_unit_test(test_cpu_memory),
      cmocka_unit_test(test_attributes), cmocka_unit_test(test_register),
      cmocka_unit_test(test_copies),     cmocka_unit_test(test_copies_with_gaps),
      cmocka_unit_test(test_functions),  cmocka_unit_test(test_release_hides_no_error),
  };
  return cmocka_run_group_tests(tests, start, NULL);
}
