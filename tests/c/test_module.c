/* Modules: imports, lookup, loaders, shared libraries, the system library. */
#include "failing_alloc.h"
#include "text_module.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "tvm/runtime/c_backend_api.h"

static int return_int(TN_ARGS) {
  *ret = tn_any_int(1);
  return 0;
}

static int setup(void **state) {
  if (start_runtime(state)) return -1;
  return register_text_loader() ||
         tn_func_register("runtime.module.loadfile_odd", return_int, NULL, NULL, 1);
}

/* ---- helpers ---- */

static tn_module *load(const char *name) {
  char path[512];
  snprintf(path, sizeof path, "%s/%s.so", TENON_TEST_MODULES, name);
  tn_module *m = tn_module_load(path, "");
  if (!m) fail_msg("%s: %s", path, tn_error_message());
  return m;
}

static int64_t call_ints(tn_module *m, const char *name, int64_t a, int64_t b) {
  tn_any ret, args[] = {tn_any_int(a), tn_any_int(b)};
  assert_int_equal(call(m, name, args, 2, &ret), 0);
  assert_int_equal(ret.type_index, TN_INT);
  return ret.v.i64;
}

/* ---- imports and lookup ---- */

static void test_lookup_goes_depth_first_through_imports(void **state) {
  (void)state;
  tn_module *a = make(&text_ops, "a"), *b = make(&text_ops, "b"), *c = make(&text_ops, "c");
  tn_func *f;
  assert_int_equal(tn_module_import(a, b), 0);
  assert_int_equal(tn_module_import(b, c), 0);
  assert_int_equal(tn_module_import(a, c), 0);
  assert_int_equal(tn_module_get_function(a, "c", false, &f), 0);
  assert_null(f);
  assert_says(a, "c", "c");
  assert_null(tn_module_require(a, "missing", true));
  assert_error("AttributeError", "Module has no function 'missing'");
  assert_int_equal(tn_module_get_function(a, "broken", true, &f), -1);
  assert_error("RuntimeError", "lookup failed");
  tn_arr *imports = tn_module_imports(a);
  assert_int_equal(tn_arr_len(imports), 2);
  assert_ptr_equal(tn_arr_get(imports, 0).v.obj, b);
  tn_release(imports);
  tn_release(b);
  tn_release(c);
  assert_int_equal(text_alive, 3);
  tn_module_clear_imports(a);
  assert_int_equal(text_alive, 1);
  tn_release(a);
  assert_int_equal(text_alive, 0);
}

static void test_cycles_are_refused(void **state) {
  (void)state;
  tn_module *a = make(&text_ops, "a"), *b = make(&text_ops, "b"), *c = make(&text_ops, "c");
  assert_int_equal(tn_module_import(a, a), -1);
  assert_error("ValueError", "cycle");
  assert_int_equal(tn_module_import(a, b), 0);
  assert_int_equal(tn_module_import(b, c), 0);
  assert_int_equal(tn_module_import(c, a), -1);
  assert_error("ValueError", "would import itself");
  tn_release(a);
  tn_release(b);
  tn_release(c);
  assert_int_equal(text_alive, 0);
}

static void test_a_function_keeps_its_module(void **state) {
  (void)state;
  tn_module *a = make(&text_ops, "a");
  tn_func *f = tn_module_require(a, "a", false);
  tn_any ret;
  tn_release(a);
  assert_int_equal(text_alive, 1);
  assert_int_equal(tn_func_call(f, NULL, 0, &ret), 0);
  tn_any_release(&ret);
  tn_release(f);
  assert_int_equal(text_alive, 0);
}

static void test_long_chain_of_imports(void **state) {
  (void)state;
  tn_module *head = make(&text_ops, "tail");
  for (int i = 0; i < 20000; ++i) {
    tn_module *m = make(&text_ops, "x");
    tn_any one = tn_any_obj(head);
    m->imports =
        tn_arr_new(&one, 1); /* without the check for cycles, which walks the whole chain */
    tn_release(head);
    head = m;
  }
  assert_says(head, "tail", "tail");
  tn_release(head);
  assert_int_equal(text_alive, 0);
}

static void test_what_a_kind_leaves_out(void **state) {
  (void)state;
  tn_module *m = make(&host_ops, "h");
  assert_null(tn_module_source(m, ""));
  assert_error("TVMError", "Module[test.host] does not support GetSource");
  assert_int_equal(tn_module_save(m, "f", ""), -1);
  assert_error("TVMError", "Module[test.host] does not support SaveToFile");
  assert_null(tn_module_save_binary(m));
  assert_error("TVMError", "Module[test.host] does not support SaveToBinary");
  assert_string_equal(tn_module_format(m), "");
  tn_release(m);
}

static tn_any api(const char *name, const tn_any *args, int n) {
  tn_any ret;
  tn_func *f = tn_func_find(name);
  assert_non_null(f);
  assert_int_equal(tn_func_call(f, args, n, &ret), 0);
  tn_release(f);
  return ret;
}

static void test_functions_by_name(void **state) {
  (void)state;
  tn_module *a = make(&text_ops, "a"), *b = make(&text_ops, "b");
  tn_any pair[] = {tn_any_obj(a), tn_any_obj(b)},
         lookup[] = {tn_any_obj(a), tn_any_cstr("b"), tn_any_bool(true)};
  api("runtime.ModuleImport", pair, 2);
  assert_int_equal(api("runtime.ModuleImportsSize", pair, 1).v.i64, 1);
  assert_int_equal(api("runtime.ModuleImplementsFunction", lookup, 3).v.i64, 1);
  assert_int_equal(api("runtime.ModuleImplementsFunction", lookup, 2).v.i64, 0);
  assert_int_equal(api("runtime.ModuleGetFunction", lookup, 2).type_index, TN_NONE);
  assert_int_equal(api("runtime.ModuleGetPropertyMask", pair, 1).v.i64, 3);
  tn_any key = api("runtime.ModuleGetTypeKey", pair, 1);
  assert_string_equal(tn_str_data((const tn_str *)key.v.obj), "test.text");
  tn_any_release(&key);
  tn_func *f = tn_func_find("runtime.ModuleGetImport");
  tn_any ret, args[] = {tn_any_obj(a), tn_any_int(1)};
  assert_int_equal(tn_func_call(f, args, 2, &ret), -1);
  assert_error("IndexError", "module import 1: there are 1");
  args[0] = tn_any_none();
  assert_int_equal(tn_func_call(f, args, 2, &ret), -1);
  assert_error("TypeError", "expected runtime.Module");
  tn_release(f);
  api("runtime.ModuleClearImports", pair, 1);
  tn_release(a);
  tn_release(b);
  assert_int_equal(text_alive, 0);
}

static void test_what_is_enabled(void **state) {
  (void)state;
  const struct {
    const char *name;
    bool enabled;
  } cases[] = {
      {"cpu", true}, {"llvm", true}, {"llvm -mcpu=x", true}, {"cuda", false}, {"no", false}};
  for (int i = 0; i < TN_COUNT(cases); ++i) {
    tn_any name = tn_any_cstr(cases[i].name);
    assert_int_equal(api("runtime.RuntimeEnabled", &name, 1).v.i64, cases[i].enabled);
  }
}

/* ---- files ---- */

static void write_file(const char *path, const char *text) {
  FILE *f = fopen(path, "w");
  assert_non_null(f);
  fputs(text, f);
  fclose(f);
}

static void test_files_that_cannot_be_loaded(void **state) {
  (void)state;
  char dir[] = "/tmp/tenon_test_XXXXXX", path[128];
  assert_non_null(mkdtemp(dir));
  assert_null(tn_module_load("/no/such/file.so", ""));
  assert_error("ValueError", "cannot find file /no/such/file.so");
  snprintf(path, sizeof path, "%s/empty.so", dir);
  write_file(path, "not a library");
  assert_null(tn_module_load(path, ""));
  assert_error("TVMError", "Failed to load dynamic shared library");
  assert_null(tn_module_load(path, "strange"));
  assert_error("ValueError", "Loader for `.strange` files is not registered");
  assert_null(tn_module_load(path, "odd"));
  assert_error("TypeError", "expected a runtime.Module as the result, got int");
  unlink(path);
  snprintf(path, sizeof path, "%s/noending", dir);
  write_file(path, "");
  assert_null(tn_module_load(path, ""));
  assert_error("ValueError", "cannot tell the format");
  unlink(path);
  rmdir(dir);
}

/* ---- compiled functions ---- */

static void test_compiled_functions(void **state) {
  (void)state;
  tn_module *m = load("packed");
  assert_string_equal(tn_module_type_key(m), "library");
  assert_int_equal(tn_module_properties(m), TN_MODULE_RUNNABLE);
  assert_int_equal(call_ints(m, "sum", 40, 2), 42);
  tn_any ret, args[] = {tn_any_float(0.5), tn_any_bool(true)};
  assert_int_equal(call(m, "sum", args, 2, &ret), 0);
  assert_true(ret.type_index == TN_FLOAT && ret.v.f64 == 1.5);
  assert_null(tn_module_require(m, "printf", true)); /* of libc, not of the library */
  assert_error("AttributeError", "no function 'printf'");
  assert_null(tn_module_require(m, "not_a_function", true));
  assert_error("AttributeError", "not_a_function");
  assert_int_equal(call(m, "fail_silently", NULL, 0, &ret), -1);
  assert_error("InternalError", "without saying why");
  assert_int_equal(call(m, "add_one", args, 1, &ret), -1);
  assert_error("TypeError", "add_one: num_args should be 2");
  assert_int_equal(call(m, "add_one", args, 2, &ret), -1);
  assert_error("TVMError", "Assert fail: arg[0] is a tensor");
  tn_release(m);
}

static void test_entry_function_with_tensors(void **state) {
  (void)state;
  tn_module *m = load("packed");
  int64_t n = 3;
  tn_device cpu = {kDLCPU, 0};
  tn_tensor *x = tn_tensor_new(&n, 1, (tn_dtype){kDLFloat, 32, 1}, cpu, NULL);
  tn_tensor *y = tn_tensor_new(&n, 1, (tn_dtype){kDLFloat, 32, 1}, cpu, NULL);
  for (int i = 0; i < n; ++i) ((float *)tn_tensor_dl(x)->data)[i] = (float)i;
  tn_any ret, args[] = {tn_any_obj(x), {.type_index = TN_DLTENSOR, .v.dltensor = tn_tensor_dl(y)}};
  assert_int_equal(call(m, TN_MODULE_MAIN, args, 2, &ret), 0);
  assert_true(((float *)tn_tensor_dl(y)->data)[2] == 3.0f);
  tn_release(x);
  tn_release(y);
  tn_release(m);
}

static void test_every_kind_of_argument(void **state) {
  (void)state;
  tn_module *m = load("packed");
  tn_str *s = tn_str_new("s");
  tn_arr *a = tn_arr_new(NULL, 0);
  tn_any ret, box = tn_any_int(5), rows[20] = {{0}};
  assert_int_equal(tn_scalar_box(&box, "Object"), 0);
  tn_bytes_view view = {(const uint8_t *)"b", 1};
  const struct {
    tn_any value;
    int code;
  } cases[] = {
      {tn_any_none(), kTVMNullptr},
      {tn_any_int(1), kTVMArgInt},
      {tn_any_bool(true), kTVMArgInt},
      {tn_any_float(1), kTVMArgFloat},
      {tn_any_ptr(m), kTVMOpaqueHandle},
      {tn_any_dtype((tn_dtype){kDLFloat, 32, 1}), kTVMDataType},
      {tn_any_device((tn_device){kDLCPU, 0}), kDLDevice},
      {tn_any_cstr("text"), kTVMStr},
      {tn_any_obj(s), kTVMStr},
      {{.type_index = TN_CBYTES, .v.bytes = &view}, kTVMBytes},
      {tn_any_obj(m), kTVMModuleHandle},
      {tn_any_obj(a), kTVMObjectHandle},
      {box, kTVMArgInt},
  };
  for (int i = 0; i < TN_COUNT(cases); ++i) {
    assert_int_equal(call(m, "last_code", &cases[i].value, 1, &ret), 0);
    assert_int_equal(ret.v.i64, cases[i].code);
    rows[19] = cases[i].value; /* more arguments than fit the stack */
    assert_int_equal(call(m, "last_code", rows, 20, &ret), 0);
    assert_int_equal(ret.v.i64, cases[i].code);
  }
  tn_any_release(&box);
  tn_release(s);
  tn_release(a);
  tn_release(m);
}

static int raise_key_error(TN_ARGS) { return TN_RAISE(KeyError, NULL, "from the callback"); }
static int subtract(TN_ARGS) {
  *ret = tn_any_int(args[0].v.i64 - args[1].v.i64);
  return 0;
}

static void test_callbacks_and_their_errors(void **state) {
  (void)state;
  tn_module *m = load("packed");
  tn_func *f = tn_func_new(subtract, NULL, NULL), *g = tn_func_new(raise_key_error, NULL, NULL);
  tn_any ret, arg = tn_any_obj(f);
  assert_int_equal(call(m, "call_it", &arg, 1, &ret), 0);
  assert_int_equal(ret.v.i64, -1);
  arg = tn_any_obj(g);
  assert_int_equal(call(m, "call_it", &arg, 1, &ret), -1);
  assert_int_not_equal(tn_error_get()->ntrace, 0); /* the whole error comes back, not its text */
  assert_error("KeyError", "from the callback");
  assert_string_equal(TVMGetLastError(), "");
  tn_release(f);
  tn_release(g);
  tn_release(m);
}

static int add_two(TN_ARGS) {
  *ret = tn_any_int(args[0].v.i64 + 2);
  return 0;
}

static void test_functions_from_the_environment(void **state) {
  (void)state;
  tn_any ret;
  tn_module *first = load("packed"), *second = load("packed");
  assert_int_equal(call(first, "call_missing", NULL, 0, &ret), -1);
  assert_error("TVMError", "Cannot find function test.not_there");
  assert_int_equal(tn_func_register("test.env", add_two, NULL, NULL, 1), 0);
  assert_int_equal(call(second, "call_env", NULL, 0, &ret), 0);
  assert_int_equal(ret.v.i64, 43);
  /* the library looked it up once and keeps the handle: it must outlive the module that did */
  tn_release(second);
  assert_int_equal(tn_func_remove("test.env"), 0);
  assert_int_equal(call(first, "call_env", NULL, 0, &ret), 0);
  assert_int_equal(ret.v.i64, 43);
  tn_release(first);
}

static void test_parallel_loop_of_compiled_code(void **state) {
  (void)state;
  tn_module *m = load("packed");
  tn_any ret, args[] = {tn_any_int(2), tn_any_int(0)};
  for (int i = 0; i < 100; ++i) assert_int_equal(call(m, "parallel", args, 2, &ret), 0);
  args[1] = tn_any_int(1);
  assert_int_equal(call(m, "parallel", args, 2, &ret), -1);
  assert_error("KeyError", "a task failed on purpose");
  tn_release(m);
}

static int load_call_and_drop(void *path) {
  tn_any ret = tn_any_none();
  tn_module *m = tn_module_load(path, "");
  tn_func *f = m ? tn_module_require(m, "call_env", false) : NULL;
  int err = !f || tn_func_call(f, NULL, 0, &ret) ? -1 : 0;
  tn_any_release(&ret);
  tn_release(f);
  tn_release(m);
  return err;
}

static void test_failing_allocations(void **state) {
  (void)state;
  static char plain[] = TENON_TEST_MODULES "/packed.so";
  assert_int_equal(tn_func_register("test.env", add_two, NULL, NULL, 1), 0);
  assert_int_equal(load_call_and_drop(plain), 0); /* what the thread keeps is there from now on */
  assert_in_range(fail_every_allocation(load_call_and_drop, plain), 5, 1000);
  assert_int_equal(tn_func_remove("test.env"), 0);
}

static void test_a_library_that_others_have_open_stays(void **state) {
  (void)state;
  tn_any ret;
  void *other = dlopen(TENON_TEST_MODULES "/packed.so", RTLD_LAZY | RTLD_LOCAL);
  assert_non_null(other);
  assert_int_equal(tn_func_register("test.env", add_two, NULL, NULL, 1), 0);
  tn_module *m = load("packed");
  assert_int_equal(call(m, "call_env", NULL, 0, &ret), 0);
  tn_release(m);
  assert_int_equal(tn_func_remove("test.env"), 0);
  m = load("packed"); /* its code still has the handle it looked up, which must be good */
  assert_int_equal(call(m, "call_env", NULL, 0, &ret), 0);
  assert_int_equal(ret.v.i64, 43);
  tn_release(m);
  dlclose(other);
}

/* Loads, calls and drops the library again and again: it is unloaded whenever no thread has it. */
static void *load_and_call(void *unused) {
  (void)unused;
  for (int i = 0; i < 60; ++i) {
    tn_any ret;
    tn_module *m = tn_module_load(TENON_TEST_MODULES "/packed.so", "so");
    tn_func *f = m ? tn_module_require(m, "call_env", false) : NULL;
    tn_release(m);
    bool right = f && tn_func_call(f, NULL, 0, &ret) == 0 && ret.v.i64 == 43;
    tn_release(f);
    if (!right) return "wrong";
  }
  return NULL;
}

static void test_threads_that_load_the_same_library(void **state) {
  (void)state;
  pthread_t threads[4];
  void *failure;
  assert_int_equal(tn_func_register("test.env", add_two, NULL, NULL, 1), 0);
  for (int i = 0; i < 4; ++i)
    assert_int_equal(pthread_create(&threads[i], NULL, load_and_call, NULL), 0);
  for (int i = 0; i < 4; ++i) {
    pthread_join(threads[i], &failure);
    assert_null(failure);
  }
  assert_int_equal(tn_func_remove("test.env"), 0);
}

/* ---- module trees ---- */

static void test_library_with_imported_modules(void **state) {
  (void)state;
  for (int i = 0; i < 2; ++i) {
    tn_module *root = load("direct");
    assert_string_equal(tn_module_type_key(root), "test.text");
    assert_says(root, "root", "root");
    tn_arr *imports = tn_module_imports(root);
    assert_int_equal(tn_arr_len(imports), 2);
    tn_module *lib = (tn_module *)tn_arr_get(imports, 0).v.obj;
    assert_string_equal(tn_module_type_key(lib), "library");
    tn_any ret;
    assert_int_equal(call(lib, TN_MODULE_MAIN, NULL, 0, &ret), 0);
    assert_int_equal(ret.v.i64, 42);
    assert_says(lib, "ask_leaf", "leaf");
    tn_release(imports);
    tn_release(root);
    assert_int_equal(text_alive, 0);
  }
}

/* ---- system library ---- */

static int system_answer(TVMValue *args, int *codes, int n, TVMValue *ret, int *code, void *r) {
  (void)args, (void)codes, (void)n, (void)r;
  ret->v_int64 = 7;
  *code = kTVMArgInt;
  return 0;
}

static void test_system_library(void **state) {
  (void)state;
  static const char entry[] = "answer";
  static void *ctx;
  TVMBackendRegisterSystemLibSymbol("my_answer", (void *)(uintptr_t)system_answer);
  TVMBackendRegisterSystemLibSymbol("my___tvm_main__", (void *)(uintptr_t)entry);
  TVMBackendRegisterSystemLibSymbol("my___tvm_module_ctx", &ctx);
  tn_module *m = tn_system_lib("my_"), *again = tn_system_lib("my_"), *all = tn_system_lib("");
  assert_ptr_equal(m, again);
  assert_ptr_not_equal(m, all);
  assert_non_null(ctx);
  assert_int_equal(call_ints(m, "answer", 0, 0), 7);
  assert_int_equal(call_ints(m, "my_answer", 0, 0), 7);
  assert_int_equal(call_ints(m, TN_MODULE_MAIN, 0, 0), 7);
  assert_int_equal(call_ints(all, "my_answer", 0, 0), 7);
  assert_null(tn_module_require(all, "answer", false));
  tn_error_clear();
  tn_release(m);
  tn_release(again);
  tn_release(all);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_lookup_goes_depth_first_through_imports),
      cmocka_unit_test(test_cycles_are_refused),
      cmocka_unit_test(test_a_function_keeps_its_module),
      cmocka_unit_test(test_long_chain_of_imports),
      cmocka_unit_test(test_what_a_kind_leaves_out),
      cmocka_unit_test(test_functions_by_name),
      cmocka_unit_test(test_what_is_enabled),
      cmocka_unit_test(test_files_that_cannot_be_loaded),
      cmocka_unit_test(test_compiled_functions),
      cmocka_unit_test(test_entry_function_with_tensors),
      cmocka_unit_test(test_every_kind_of_argument),
      cmocka_unit_test(test_callbacks_and_their_errors),
      cmocka_unit_test(test_functions_from_the_environment),
      cmocka_unit_test(test_parallel_loop_of_compiled_code),
      cmocka_unit_test(test_threads_that_load_the_same_library),
      cmocka_unit_test(test_library_with_imported_modules),
      cmocka_unit_test(test_system_library),
      cmocka_unit_test(test_failing_allocations),
      /* the last one: the library stays open from then on */
      cmocka_unit_test(test_a_library_that_others_have_open_stays),
  };
  return cmocka_run_group_tests(tests, setup, NULL);
}
