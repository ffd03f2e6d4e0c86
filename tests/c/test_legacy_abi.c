/* The Relay-era C interface, used as old C programs use it: only its own header, no start call. */
#include "testing.h"

#include <pthread.h>
#include <stdlib.h>

#include "tvm/runtime/c_backend_api.h"

/* ---- functions ---- */

static int finalized;
static void finalize(void *resource) {
  (void)resource;
  ++finalized;
}

/* returns its arguments' count, or the argument whose index the resource says */
static int pick(TVMValue *args, int *codes, int n, TVMRetValueHandle ret, void *resource) {
  TVMValue count = {.v_int64 = n};
  int code = kTVMArgInt, i = resource ? *(int *)resource : -1;
  if (i >= n) {
    TVMAPISetLastError("IndexError: pick: not so many arguments");
    return -1;
  }
  return i < 0 ? TVMCFuncSetReturn(ret, &count, &code, 1)
               : TVMCFuncSetReturn(ret, &args[i], &codes[i], 1);
}

static TVMFunctionHandle make(int *index) {
  TVMFunctionHandle f = NULL;
  assert_int_equal(TVMFuncCreateFromCFunc(pick, index, finalize, &f), 0);
  return f;
}

static void test_start_happens_by_itself(void **state) {
  TVMFunctionHandle f = NULL;
  (void)state;
  assert_int_equal(TVMFuncGetGlobal("runtime.ModuleGetTypeKey", &f), 0);
  assert_non_null(f);
  assert_int_equal(TVMFuncFree(f), 0);
  assert_int_equal(TVMFuncGetGlobal("test.not_there", &f), 0);
  assert_null(f);
  assert_string_equal(TVMGetLastError(), "");
}

static void test_register_list_remove(void **state) {
  (void)state;
  const char **names;
  int n, found = 0;
  TVMFunctionHandle f = make(NULL);
  finalized = 0;
  assert_int_equal(TVMFuncRegisterGlobal("test.pick", f, 0), 0);
  assert_int_equal(TVMFuncRegisterGlobal("test.pick", f, 0), -1);
  assert_non_null(strstr(TVMGetLastError(), "Global PackedFunc test.pick is already registered"));
  assert_int_equal(TVMFuncRegisterGlobal("test.pick", f, 1), 0);
  assert_int_equal(TVMFuncListGlobalNames(&n, &names), 0);
  for (int i = 0; i < n; ++i) found += strcmp(names[i], "test.pick") == 0;
  assert_int_equal(found, 1);
  assert_int_equal(TVMFuncFree(f), 0);
  assert_int_equal(finalized, 0);
  assert_int_equal(TVMFuncRemoveGlobal("test.pick"), 0);
  assert_int_equal(finalized, 1);
  assert_int_equal(TVMFuncRemoveGlobal("test.pick"), -1);
  assert_non_null(strstr(TVMGetLastError(), "KeyError: "));
}

static void test_scalars_come_back_as_they_went(void **state) {
  (void)state;
  int first = 0;
  TVMFunctionHandle f = make(&first);
  const struct {
    TVMValue value;
    int code, expect;
  } cases[] = {
      {{.v_int64 = INT64_MIN}, kTVMArgInt, kTVMArgInt},
      {{.v_float64 = 0.1}, kTVMArgFloat, kTVMArgFloat},
      {{.v_handle = &first}, kTVMOpaqueHandle, kTVMOpaqueHandle},
      {{.v_handle = NULL}, kTVMNullptr, kTVMNullptr},
      {{.v_type = {kDLFloat, 16, 4}}, kTVMDataType, kTVMDataType},
      {{.v_device = {kDLCUDA, 3}}, kDLDevice, kDLDevice},
      {{.v_int64 = 1}, 15, kTVMArgInt}, /* a truth value of later releases */
  };
  for (int i = 0; i < TN_COUNT(cases); ++i) {
    TVMValue arg = cases[i].value, ret = {.v_int64 = -1};
    int code = cases[i].code, ret_code = -1;
    assert_int_equal(TVMFuncCall(f, &arg, &code, 1, &ret, &ret_code), 0);
    assert_int_equal(ret_code, cases[i].expect);
    assert_memory_equal(&ret, &arg, cases[i].code == kTVMDataType ? 4 : 8);
  }
  TVMValue arg = {0}, ret;
  int code = 99, ret_code;
  assert_int_equal(TVMFuncCall(f, &arg, &code, 1, &ret, &ret_code), -1);
  assert_string_equal(TVMGetLastError(), "TypeError: unknown type code 99 of a value");
  TVMFuncFree(f);
}

static void test_text_and_bytes(void **state) {
  (void)state;
  int first = 0;
  TVMFunctionHandle f = make(&first);
  char text[] = "hello";
  TVMByteArray bytes = {"a\0b", 3};
  TVMValue arg = {.v_str = text}, ret;
  int code = kTVMStr, ret_code;
  assert_int_equal(TVMFuncCall(f, &arg, &code, 1, &ret, &ret_code), 0);
  text[0] = 'j'; /* the result is a copy */
  assert_int_equal(ret_code, kTVMStr);
  assert_string_equal(ret.v_str, "hello");
  arg.v_handle = &bytes;
  code = kTVMBytes;
  assert_int_equal(TVMFuncCall(f, &arg, &code, 1, &ret, &ret_code), 0);
  assert_int_equal(ret_code, kTVMBytes);
  assert_int_equal(((TVMByteArray *)ret.v_handle)->size, 3);
  assert_memory_equal(((TVMByteArray *)ret.v_handle)->data, "a\0b", 3);
  TVMFuncFree(f);
}

static void test_objects_are_owned_by_the_receiver(void **state) {
  (void)state;
  int first = 0;
  TVMFunctionHandle f = make(&first);
  tn_arr *a = tn_arr_new(NULL, 0);
  TVMValue arg = {.v_handle = a}, ret;
  int code = kTVMObjectHandle, ret_code;
  assert_int_equal(TVMFuncCall(f, &arg, &code, 1, &ret, &ret_code), 0);
  assert_int_equal(ret_code, kTVMObjectHandle);
  assert_ptr_equal(ret.v_handle, a);
  assert_int_equal(tn_use_count(a), 2);
  assert_int_equal(TVMObjectFree(ret.v_handle), 0);
  TVMObjectRetain(a);
  assert_int_equal(tn_use_count(a), 2);
  TVMObjectFree(a);
  /* a moved argument: the callee has the only reference and gives it back */
  TVMObjectHandle moved = a;
  arg.v_handle = &moved;
  code = kTVMObjectRValueRefArg;
  assert_int_equal(TVMFuncCall(f, &arg, &code, 1, &ret, &ret_code), 0);
  assert_null(moved);
  assert_ptr_equal(ret.v_handle, a);
  assert_int_equal(tn_use_count(a), 1);
  code = kTVMObjectHandle;
  assert_int_equal(TVMCbArgToReturn(&ret, &code), 0);
  assert_int_equal(tn_use_count(a), 2);
  TVMObjectFree(a);
  TVMObjectFree(a);
  /* functions are values too */
  arg.v_handle = f;
  code = kTVMPackedFuncHandle;
  assert_int_equal(TVMFuncCall(f, &arg, &code, 1, &ret, &ret_code), 0);
  assert_int_equal(ret_code, kTVMPackedFuncHandle);
  TVMFuncFree(ret.v_handle);
  TVMFuncFree(f);
}

static void test_many_arguments(void **state) {
  (void)state;
  enum { N = 100 };
  int last = N - 1, codes[N], ret_code;
  TVMValue args[N], ret;
  TVMFunctionHandle f = make(&last);
  for (int i = 0; i < N; ++i) args[i].v_int64 = i, codes[i] = kTVMArgInt;
  assert_int_equal(TVMFuncCall(f, args, codes, N, &ret, &ret_code), 0);
  assert_int_equal(ret.v_int64, last);
  assert_int_equal(TVMFuncCall(f, args, codes, N - 1, &ret, &ret_code), -1);
  assert_string_equal(TVMGetLastError(), "IndexError: pick: not so many arguments");
  TVMFuncFree(f);
}

/* ---- errors ---- */

static int silent(TVMValue *args, int *codes, int n, TVMRetValueHandle ret, void *resource) {
  (void)args, (void)codes, (void)n, (void)ret, (void)resource;
  return -1;
}

static void *other_thread(void *seen) {
  strncpy(seen, TVMGetLastError(), 15);
  TVMAPISetLastError("ValueError: elsewhere");
  return NULL;
}

static void test_errors(void **state) {
  (void)state;
  TVMFunctionHandle f;
  TVMValue ret;
  int code;
  char seen[16] = "unset";
  pthread_t thread;
  TVMAPISetLastError("plain words: no class");
  assert_string_equal(TVMGetLastError(), "plain words: no class");
  TVMAPISetLastError("MyError: of a user");
  assert_string_equal(TVMGetLastError(), "MyError: of a user");
  assert_false(tn_error_pending()); /* it is parked, not pending: other calls are not disturbed */
  assert_int_equal(pthread_create(&thread, NULL, other_thread, seen), 0);
  pthread_join(thread, NULL);
  assert_string_equal(seen, "");
  assert_string_equal(TVMGetLastError(), "MyError: of a user");
  assert_int_equal(TVMFuncCreateFromCFunc(silent, NULL, NULL, &f), 0);
  assert_int_equal(TVMFuncCall(f, NULL, NULL, 0, &ret, &code), -1);
  assert_non_null(strstr(TVMGetLastError(), "without saying why")); /* not the old error */
  TVMFuncFree(f);
}

/* ---- tensors and devices ---- */

static void test_tensors(void **state) {
  (void)state;
  int64_t shape[] = {2, 3};
  float data[] = {1, 2, 3, 4, 5, 6}, back[6];
  TVMArrayHandle a, b, c;
  DLManagedTensor *managed;
  assert_int_equal(TVMArrayAlloc(shape, 2, kDLFloat, 32, 1, kDLCPU, 0, &a), 0);
  assert_int_equal(TVMArrayAlloc(shape, 2, kDLFloat, 32, 1, kDLCPU, 0, &b), 0);
  assert_int_equal(TVMArrayCopyFromBytes(a, data, sizeof data), 0);
  assert_int_equal(TVMArrayCopyFromTo(a, b, NULL), 0);
  assert_int_equal(TVMArrayToDLPack(b, &managed), 0);
  assert_int_equal(TVMArrayFree(b), 0);
  assert_int_equal(TVMArrayFromDLPack(managed, &c), 0);
  assert_int_equal(TVMArrayCopyToBytes(c, back, sizeof back), 0);
  assert_memory_equal(back, data, sizeof data);
  assert_int_equal(TVMArrayCopyToBytes(c, back, 3), -1);
  assert_non_null(strstr(TVMGetLastError(), "ValueError"));
  /* as an argument, a tensor handle is the address of its DLTensor */
  int first = 0, code = kTVMNDArrayHandle, ret_code;
  TVMFunctionHandle f = make(&first);
  TVMValue arg = {.v_handle = c}, ret;
  assert_int_equal(TVMFuncCall(f, &arg, &code, 1, &ret, &ret_code), 0);
  assert_int_equal(ret_code, kTVMNDArrayHandle);
  assert_ptr_equal(ret.v_handle, c);
  TVMFuncFree(f);
  TVMArrayFree(ret.v_handle);
  TVMArrayFree(c);
  TVMArrayFree(a);
  assert_int_equal(TVMArrayAlloc(shape, 2, kDLFloat, 32, 1, kDLMetal, 0, &a), -1);
  assert_non_null(strstr(TVMGetLastError(), "DeviceError"));
  shape[0] = -1;
  assert_int_equal(TVMArrayAlloc(shape, 2, kDLFloat, 32, 1, kDLCPU, 0, &a), -1);
}

static void test_device_memory(void **state) {
  (void)state;
  DLDevice cpu = {kDLCPU, 0};
  DLDataType f32 = {kDLFloat, 32, 1};
  int64_t shape[] = {4}, huge[] = {INT64_MAX, 2};
  TVMStreamHandle stream;
  void *p, *q;
  assert_int_equal(TVMDeviceAllocDataSpace(cpu, 16, 64, f32, &p), 0);
  assert_int_equal((uintptr_t)p % 64, 0);
  assert_int_equal(TVMDeviceAllocDataSpaceWithScope(cpu, 1, shape, f32, NULL, &q), 0);
  DLTensor from = {p, cpu, 1, f32, shape, NULL, 0}, to = {q, cpu, 1, f32, shape, NULL, 0};
  for (int i = 0; i < 4; ++i) ((float *)p)[i] = (float)i;
  assert_int_equal(TVMDeviceCopyDataFromTo(&from, &to, NULL), 0);
  assert_memory_equal(p, q, 16);
  assert_int_equal(TVMDeviceFreeDataSpace(cpu, p), 0);
  assert_int_equal(TVMDeviceFreeDataSpace(cpu, q), 0);
  assert_int_equal(TVMDeviceAllocDataSpaceWithScope(cpu, 2, huge, f32, NULL, &p), -1);
  assert_null(p);
  assert_int_equal(TVMStreamCreate(kDLCPU, 0, &stream), 0);
  assert_int_equal(TVMSetStream(kDLCPU, 0, stream), 0);
  assert_int_equal(TVMSynchronize(kDLCPU, 0, stream), 0);
  assert_int_equal(TVMStreamStreamSynchronize(kDLCPU, 0, stream, stream), 0);
  assert_int_equal(TVMStreamFree(kDLCPU, 0, stream), 0);
  assert_int_equal(TVMSynchronize(kDLMetal, 0, NULL), -1);
}

/* ---- objects and modules ---- */

static void test_object_types(void **state) {
  (void)state;
  unsigned array, object, index;
  char *key;
  int derived;
  assert_int_equal(TVMObjectTypeKey2Index("Array", &array), 0);
  assert_int_equal(TVMObjectTypeKey2Index("Object", &object), 0);
  tn_arr *a = tn_arr_new(NULL, 0);
  assert_int_equal(TVMObjectGetTypeIndex(a, &index), 0);
  assert_int_equal(index, array);
  assert_int_equal(TVMObjectTypeIndex2Key(index, &key), 0);
  assert_string_equal(key, "Array");
  free(key);
  assert_int_equal(TVMObjectDerivedFrom(array, object, &derived), 0);
  assert_true(derived);
  assert_int_equal(TVMObjectDerivedFrom(object, array, &derived), 0);
  assert_false(derived);
  assert_int_equal(TVMObjectTypeKey2Index("test.Nothing", &index), -1);
  assert_int_equal(TVMObjectTypeIndex2Key(4000, &key), -1);
  TVMObjectFree(a);
}

static void test_modules(void **state) {
  (void)state;
  TVMModuleHandle a, b;
  TVMFunctionHandle f;
  TVMValue args[] = {{.v_int64 = 20}, {.v_int64 = 22}}, ret;
  int codes[] = {kTVMArgInt, kTVMArgInt}, code;
  assert_int_equal(TVMModLoadFromFile(TENON_TEST_MODULES "/packed.so", "", &a), 0);
  assert_int_equal(TVMModLoadFromFile("/no/such.so", "so", &b), -1);
  assert_string_equal(TVMGetLastError(), "ValueError: cannot find file /no/such.so");
  assert_int_equal(TVMModLoadFromFile(TENON_TEST_MODULES "/packed.so", "so", &b), 0);
  assert_int_equal(TVMModImport(a, b), 0);
  assert_int_equal(TVMModImport(b, a), -1);
  assert_int_equal(TVMModGetFunction(a, "missing", 1, &f), 0);
  assert_null(f);
  assert_int_equal(TVMModGetFunction(a, "sum", 0, &f), 0);
  TVMModFree(a);
  TVMModFree(b);
  assert_int_equal(TVMFuncCall(f, args, codes, 2, &ret, &code), 0); /* keeps its module alive */
  assert_int_equal(ret.v_int64, 42);
  TVMFuncFree(f);
}

/* ---- what compiled code calls ---- */

static void *use_workspace(void *unused) {
  void *p[8], *again;
  (void)unused;
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 8; ++i) {
      p[i] = TVMBackendAllocWorkspace(kDLCPU, 0, (uint64_t)(i + 1) * 5000, kDLFloat, 32);
      if (!p[i] || (uintptr_t)p[i] % 64) return "not aligned";
      memset(p[i], round, (size_t)(i + 1) * 5000);
    }
    for (int i = 8; i-- > 0;) {
      if (TVMBackendFreeWorkspace(kDLCPU, 0, p[i])) return "not freed";
    }
  }
  again = TVMBackendAllocWorkspace(kDLCPU, 0, 5000, kDLFloat, 32);
  if (again != p[0]) return "not the block that fits best";
  return TVMBackendFreeWorkspace(kDLCPU, 0, again) ? "not freed" : NULL;
}

static void test_workspace(void **state) {
  (void)state;
  pthread_t thread;
  void *failure;
  assert_null(use_workspace(NULL));
  assert_int_equal(pthread_create(&thread, NULL, use_workspace, NULL), 0);
  pthread_join(thread, &failure); /* the pool goes with its thread: leak checkers watch */
  assert_null(failure);
  char foreign;
  assert_int_equal(TVMBackendFreeWorkspace(kDLCPU, 0, &foreign), -1);
  assert_non_null(strstr(TVMGetLastError(), "is not workspace in use of this thread"));
  assert_int_equal(TVMBackendFreeWorkspace(kDLCPU, 0, NULL), 0);
  assert_null(TVMBackendAllocWorkspace(kDLCPU, 0, UINT64_MAX, kDLInt, 8));
  assert_non_null(strstr(TVMGetLastError(), "MemoryError"));
}

static int increment(void *counter) { return ++*(int *)counter, 0; }

static void test_run_once(void **state) {
  (void)state;
  void *handle = NULL;
  int counter = 0;
  for (int i = 0; i < 3; ++i)
    assert_int_equal(TVMBackendRunOnce(&handle, increment, &counter, sizeof counter), 0);
  assert_int_equal(counter, 1);
}

static int fill(int task_id, TVMParallelGroupEnv *env, void *data) {
  ((int *)data)[task_id] = env->num_task;
  return 0;
}

static void test_parallel(void **state) {
  (void)state;
  int data[5] = {0};
  assert_int_equal(TVMBackendParallelLaunch(fill, data, 5), 0);
  for (int i = 0; i < 5; ++i) assert_int_equal(data[i], 5);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_start_happens_by_itself),
      cmocka_unit_test(test_register_list_remove),
      cmocka_unit_test(test_scalars_come_back_as_they_went),
      cmocka_unit_test(test_text_and_bytes),
      cmocka_unit_test(test_objects_are_owned_by_the_receiver),
      cmocka_unit_test(test_many_arguments),
      cmocka_unit_test(test_errors),
      cmocka_unit_test(test_tensors),
      cmocka_unit_test(test_device_memory),
      cmocka_unit_test(test_object_types),
      cmocka_unit_test(test_modules),
      cmocka_unit_test(test_workspace),
      cmocka_unit_test(test_run_once),
      cmocka_unit_test(test_parallel),
  };
  return cmocka_run_group_tests(tests, NULL, NULL); /* no setup: nobody starts the runtime */
}
