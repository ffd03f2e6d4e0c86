/* Module trees as bytes: packing, unpacking, and everything that can be wrong with them. */
#include "failing_alloc.h"
#include "text_module.h"

#include "runtime/module/module_blob.h"

static int setup(void **state) { return start_runtime(state) || register_text_loader(); }

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
  assert_int_equal(tn_module_unpack(v.data + 8, v.size - 8, lib, false, &back), 0);
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
  static const tn_module_ops mute_ops = {.type_key = "test.mute"};
  tn_module *mute = tn_module_new(&mute_ops, NULL);
  assert_null(tn_module_pack(mute));
  assert_error("TVMError", "Module[test.mute] does not support SaveToBinary");
  tn_release(mute);
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
    assert_int_equal(tn_module_unpack(v.data + 8, cut, lib, false, &back), -1);
    assert_error("ValueError", "");
    tn_release(lib);
  }
  uint8_t copy[512];
  assert_true(n <= sizeof copy);
  for (size_t i = 0; i < n * 8; ++i) {
    tn_module *lib = make(&host_ops, "lib");
    memcpy(copy, v.data + 8, n);
    copy[i / 8] ^= (uint8_t)(1 << i % 8);
    if (tn_module_unpack(copy, n, lib, false, &back) == 0) tn_release(back);
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
  assert_int_equal(tn_module_unpack((const uint8_t *)b.data, b.len, lib, false, &back), -1);
  assert_non_null(strstr(tn_error_message(), "test.text")); /* among the loaders that there are */
  assert_error("TVMError", "Binary was created using {unknown} but a loader of that name is not "
                           "registered. Available loaders are ");
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

/* ---- memory ---- */

static int pack_and_unpack(void *root) {
  tn_module *back = NULL;
  tn_bytes *blob = tn_module_pack(root);
  tn_bytes_view v = blob ? tn_bytes_get(blob) : (tn_bytes_view){0};
  tn_module *lib = blob ? make(&host_ops, "lib") : NULL;
  int err = !lib || tn_module_unpack(v.data + 8, v.size - 8, lib, false, &back) ? -1 : 0;
  tn_release(back);
  tn_release(lib);
  tn_release(blob);
  return err;
}

static void test_failing_allocations(void **state) {
  (void)state;
  tn_module *root = make(&text_ops, "root"), *host = make(&host_ops, "host");
  assert_int_equal(tn_module_import(root, host), 0);
  assert_in_range(fail_every_allocation(pack_and_unpack, root), 10, 1000);
  tn_release(root);
  tn_release(host);
  assert_int_equal(text_alive, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_tree_round_trip),  cmocka_unit_test(test_trees_that_cannot_be_packed),
      cmocka_unit_test(test_broken_blobs),     cmocka_unit_test(test_unknown_kind_in_a_blob),
      cmocka_unit_test(test_tree_as_c_source), cmocka_unit_test(test_failing_allocations),
  };
  return cmocka_run_group_tests(tests, setup, NULL);
}
