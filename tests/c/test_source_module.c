/* C source and static libraries as modules. */
#include "testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int call(const char *name, const tn_any *args, int32_t n, tn_any *ret) {
  tn_func *f = tn_func_find(name);
  assert_non_null(f);
  int err = tn_func_call(f, args, n, ret);
  tn_release(f);
  return err;
}

/* An array of one string; the caller releases it. */
static tn_arr *one_name(const char *name) {
  tn_any item = tn_any_obj(tn_str_new(name));
  tn_arr *a = tn_arr_new(&item, 1);
  tn_any_release(&item);
  return a;
}

static void test_c_source(void **state) {
  tn_arr *names = one_name("f");
  tn_any ret, result, args[] = {tn_any_cstr("int f;"), tn_any_cstr("cc"), tn_any_obj(names)};
  (void)state;
  assert_int_equal(call("runtime.CSourceModuleCreate", args, 3, &ret), 0);
  tn_module *m = (tn_module *)ret.v.obj;
  assert_string_equal(tn_module_type_key(m), "c");
  assert_string_equal(tn_module_format(m), "cc");
  assert_int_equal(tn_module_properties(m), TN_MODULE_DSO);
  tn_str *source = tn_module_source(m, "");
  assert_string_equal(tn_str_data(source), "int f;");
  tn_release(source);
  assert_null(tn_module_source(m, "ll"));
  assert_error("ValueError", "not as \"ll\"");
  tn_func *f = tn_module_require(m, "f", false),
          *list = tn_module_require(m, "get_func_names", false);
  tn_release(m); /* its functions keep it */
  assert_int_equal(tn_func_call(f, NULL, 0, &result), -1);
  assert_error("RuntimeError", "not linked");
  assert_int_equal(tn_func_call(list, NULL, 0, &result), 0);
  assert_ptr_equal(result.v.obj, names);
  tn_any_release(&result);
  tn_release(f);
  tn_release(list);
  tn_release(names);
  args[1] = tn_any_cstr("pas");
  args[2] = tn_any_none();
  assert_int_equal(call("runtime.CSourceModuleCreate", args, 3, &ret), -1);
  assert_error("ValueError", "expected format c, cc, cpp or cu");
}

static void test_static_library(void **state) {
  char in[] = "/tmp/tenon-test-XXXXXX", out[64];
  int fd = mkstemp(in);
  (void)state;
  assert_true(fd >= 0 && write(fd, "\177ELF", 5) == 5);
  close(fd);
  snprintf(out, sizeof out, "%s.copy", in);
  tn_any ret, args[] = {tn_any_cstr(in), tn_any_none()};
  assert_int_equal(call("runtime.ModuleLoadStaticLibrary", args, 2, &ret), 0);
  tn_module *m = (tn_module *)ret.v.obj;
  assert_string_equal(tn_module_type_key(m), "static_library");
  assert_null(tn_module_source(m, ""));
  assert_error("TVMError", "");
  assert_int_equal(tn_module_save(m, out, ""), 0);
  char back[8] = {0};
  FILE *f = fopen(out, "rb");
  assert_int_equal(fread(back, 1, sizeof back, f), 5);
  fclose(f);
  assert_memory_equal(back, "\177ELF", 5);
  assert_int_equal(tn_module_save(m, "/no/such/folder/x.o", ""), -1);
  assert_error("OSError", "/no/such/folder/x.o");
  tn_release(m);
  unlink(in);
  unlink(out);
  assert_int_equal(call("runtime.ModuleLoadStaticLibrary", args, 2, &ret), -1);
  assert_error("OSError", in);
  tn_any three = tn_any_int(3);
  tn_arr *wrong = tn_arr_new(&three, 1);
  args[1] = tn_any_obj(wrong);
  assert_int_equal(call("runtime.ModuleLoadStaticLibrary", args, 2, &ret), -1);
  assert_error("TypeError", "names (argument 1): expected str, got int");
  tn_release(wrong);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_c_source),
      cmocka_unit_test(test_static_library),
  };
  return cmocka_run_group_tests(tests, start_runtime, NULL);
}
