/* Modules: imports, lookup, loaders, shared libraries, the system library, module trees as bytes.
 */
#include "testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/reader.h"
#include "runtime/module.h"
#include "runtime/module_blob.h"
#include "tvm/runtime/c_backend_api.h"

/* ---- a kind of module made of a text: its one function has the text's name and returns it ---- */

static int text_alive;

static int say_text(void *self, const tn_any *args, int32_t n, tn_any *ret) {
  (void)args, (void)n;
  return tn_ret_owned(ret, tn_str_new(self));
}

static int text_function(tn_module *m, const char *name, tn_func **out) {
  if (strcmp(name, "broken") == 0) return TN_RAISE(RuntimeError, NULL, "lookup failed");
  if (strcmp(name, tn_module_self(m)) != 0) return 0;
  *out = tn_module_bind(m, say_text, tn_module_self(m));
  return *out ? 0 : -1;
}

static tn_bytes *text_save(tn_module *m) {
  TN_BUF(out);
  const char *text = tn_module_self(m);
  tn_buf_u64(&out, strlen(text));
  tn_buf_puts(&out, text);
  return tn_buf_ok(&out) ? NULL : tn_bytes_new(out.data, out.len);
}

static void text_fini(tn_module *m) {
  --text_alive;
  free(tn_module_self(m));
}

static const tn_module_ops text_ops = {.type_key = "test.text",
                                       .format = "txt",
                                       .properties = TN_MODULE_BINARY | TN_MODULE_RUNNABLE,
                                       .get_function = text_function,
                                       .save_binary = text_save,
                                       .fini = text_fini};
static const tn_module_ops host_ops = {.type_key = "test.host",
                                       .properties = TN_MODULE_DSO,
                                       .get_function = text_function,
                                       .fini = text_fini};

static tn_module *make(const tn_module_ops *ops, const char *text) {
  char *copy = strdup(text);
  tn_module *m = copy ? tn_module_new(ops, copy) : NULL;
  if (!m) {
    free(copy);
    return NULL;
  }
  ++text_alive;
  return m;
}

static int load_text(TN_ARGS) {
  void *r;
  tn_bytes_view v;
  char text[64];
  TN_TRY(tn_any_to_ptr(&args[0], &r));
  TN_TRY(tn_read_text(r, &v));
  TN_CHECK(v.size < sizeof text, ValueError, NULL, "test.text: too long");
  memcpy(text, v.data, v.size);
  text[v.size] = '\0';
  return tn_ret_owned(ret, make(&text_ops, text));
}

static int return_int(TN_ARGS) {
  *ret = tn_any_int(1);
  return 0;
}

static int setup(void **state) {
  if (start_runtime(state)) return -1;
  return tn_func_register("runtime.module.loadbinary_test.text", load_text, NULL, NULL, 1) ||
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

/* Calls a function of a module; the module reference stays with the caller. */
static int call(tn_module *m, const char *name, const tn_any *args, int n, tn_any *ret) {
  tn_func *f = tn_module_require(m, name, true);
  assert_non_null(f);
  int err = tn_func_call(f, args, n, ret);
  tn_release(f);
  return err;
}

static void assert_says(tn_module *m, const char *name, const char *text) {
  tn_any ret;
  assert_int_equal(call(m, name, NULL, 0, &ret), 0);
  assert_int_equal(ret.type_index, TN_TI_String);
  assert_string_equal(tn_str_data((const tn_str *)ret.v.obj), text);
  tn_any_release(&ret);
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

static void test_tree_round_trip(void **state) {
  (void)state;
  tn_module *root = make(&text_ops, "root"), *host = make(&host_ops, "host"),
            *host2 = make(&host_ops, "host2"), *leaf = make(&text_ops, "leaf");
  assert_int_equal(tn_module_import(root, host), 0);
  assert_int_equal(tn_module_import(host, host2), 0);
  assert_int_equal(tn_module_import(host2, leaf), 0);
  assert_int_equal(tn_module_import(root, leaf), 0);
  tn_bytes *blob = tn_module_pack(root);
  assert_non_null(blob);
  tn_bytes_view v = tn_bytes_get(blob);
  tn_release(root);
  tn_release(host);
  tn_release(host2);
  tn_release(leaf);
  tn_module *lib = make(&host_ops, "lib"), *back;
  assert_int_equal(tn_module_unpack(v.data + 8, v.size - 8, lib, &back), 0);
  assert_says(back, "root", "root");
  tn_arr *imports = tn_module_imports(back);
  assert_int_equal(tn_arr_len(imports), 2);
  assert_ptr_equal(tn_arr_get(imports, 0).v.obj, lib);
  tn_arr *of_lib = tn_module_imports(lib);
  assert_int_equal(tn_arr_len(of_lib), 1);
  assert_ptr_equal(tn_arr_get(of_lib, 0).v.obj, tn_arr_get(imports, 1).v.obj);
  tn_release(of_lib);
  tn_release(imports);
  tn_release(back);
  tn_release(lib);
  tn_release(blob);
  assert_int_equal(text_alive, 0);
}

static void test_trees_that_cannot_be_packed(void **state) {
  (void)state;
  tn_module *outer = make(&host_ops, "outer"), *middle = make(&text_ops, "middle"),
            *inner = make(&host_ops, "inner");
  assert_int_equal(tn_module_import(outer, middle), 0);
  assert_int_equal(tn_module_import(middle, inner), 0);
  assert_null(tn_module_pack(outer));
  assert_error("ValueError", "is imported by host code and imports other host code");
  tn_release(outer);
  tn_release(middle);
  tn_release(inner);
  tn_module *lib = load("packed"); /* neither host code to link nor savable */
  assert_null(tn_module_pack(lib));
  assert_error("TVMError", "Module[library] does not support SaveToBinary");
  tn_release(lib);
}

/* Unpacks every prefix of a blob and every blob with one byte changed: errors, no crash, no leak.
 */
static void test_broken_blobs(void **state) {
  (void)state;
  tn_module *root = make(&text_ops, "root"), *host = make(&host_ops, "host"), *back;
  assert_int_equal(tn_module_import(root, host), 0);
  tn_bytes *blob = tn_module_pack(root);
  tn_bytes_view v = tn_bytes_get(blob);
  size_t n = v.size - 8;
  for (size_t cut = 0; cut < n; ++cut) {
    tn_module *lib = make(&host_ops, "lib");
    assert_int_equal(tn_module_unpack(v.data + 8, cut, lib, &back), -1);
    assert_error("ValueError", "");
    tn_release(lib);
  }
  uint8_t copy[512];
  assert_true(n <= sizeof copy);
  for (size_t i = 0; i < n * 8; ++i) {
    tn_module *lib = make(&host_ops, "lib");
    memcpy(copy, v.data + 8, n);
    copy[i / 8] ^= (uint8_t)(1 << i % 8);
    if (tn_module_unpack(copy, n, lib, &back) == 0) tn_release(back);
    tn_error_clear();
    tn_release(lib);
  }
  tn_release(blob);
  tn_release(root);
  tn_release(host);
  assert_int_equal(text_alive, 0);
}

static void test_unknown_kind_in_a_blob(void **state) {
  (void)state;
  TN_BUF(b);
  tn_buf_u64(&b, 1);
  tn_buf_u64(&b, 7);
  tn_buf_puts(&b, "unknown");
  tn_module *lib = make(&host_ops, "lib"), *back;
  assert_int_equal(tn_module_unpack((const uint8_t *)b.data, b.len, lib, &back), -1);
  assert_error("TVMError", "Binary was created using {unknown} but a loader of that name is not "
                           "registered. Available loaders are test.text");
  tn_release(lib);
}

static void test_tree_as_c_source(void **state) {
  (void)state;
  tn_module *root = make(&text_ops, "root");
  tn_str *s = tn_module_pack_c(root, true, "p_");
  assert_non_null(strstr(tn_str_data(s), "const unsigned char p___tvm_dev_mblob["));
  assert_non_null(
      strstr(tn_str_data(s), "TVMBackendRegisterSystemLibSymbol(\"p___tvm_dev_mblob\""));
  tn_release(s);
  tn_release(root);
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

/* ---- memory ---- */

static int countdown;
static void *failing(void *ctx, void *old, size_t size) {
  (void)ctx;
  if (size == 0) return free(old), NULL;
  return countdown-- == 0 ? NULL : realloc(old, size);
}

/* Packs and unpacks with the n-th allocation failing, for every n: MemoryError, nothing leaked. */
static void test_failing_allocations(void **state) {
  (void)state;
  tn_module *root = make(&text_ops, "root"), *host = make(&host_ops, "host");
  assert_int_equal(tn_module_import(root, host), 0);
  for (int i = 0;; ++i) {
    tn_module *back = NULL;
    countdown = i;
    tn_allocator old = tn_set_allocator((tn_allocator){failing, NULL});
    tn_bytes *blob = tn_module_pack(root);
    tn_bytes_view v = blob ? tn_bytes_get(blob) : (tn_bytes_view){0};
    tn_module *lib = blob ? make(&host_ops, "lib") : NULL;
    int err = !lib || tn_module_unpack(v.data + 8, v.size - 8, lib, &back);
    tn_set_allocator(old);
    if (err) assert_error("MemoryError", "");
    tn_release(back);
    tn_release(lib);
    tn_release(blob);
    if (!err) break;
  }
  tn_release(root);
  tn_release(host);
  assert_int_equal(text_alive, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_lookup_goes_depth_first_through_imports),
      cmocka_unit_test(test_cycles_are_refused),
      cmocka_unit_test(test_a_function_keeps_its_module),
      cmocka_unit_test(test_long_chain_of_imports),
      cmocka_unit_test(test_what_a_kind_leaves_out),
      cmocka_unit_test(test_functions_by_name),
      cmocka_unit_test(test_files_that_cannot_be_loaded),
      cmocka_unit_test(test_compiled_functions),
      cmocka_unit_test(test_entry_function_with_tensors),
      cmocka_unit_test(test_every_kind_of_argument),
      cmocka_unit_test(test_callbacks_and_their_errors),
      cmocka_unit_test(test_functions_from_the_environment),
      cmocka_unit_test(test_parallel_loop_of_compiled_code),
      cmocka_unit_test(test_library_with_imported_modules),
      cmocka_unit_test(test_tree_round_trip),
      cmocka_unit_test(test_trees_that_cannot_be_packed),
      cmocka_unit_test(test_broken_blobs),
      cmocka_unit_test(test_unknown_kind_in_a_blob),
      cmocka_unit_test(test_tree_as_c_source),
      cmocka_unit_test(test_system_library),
      cmocka_unit_test(test_failing_allocations),
  };
  return cmocka_run_group_tests(tests, setup, NULL);
}
