/* The parameter format: exact bytes, files, hostile input, running out of memory. */
#include "testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "failing_alloc.h"
#include "object/dtype.h"
#include "runtime/tensor/tensor.h"

static const tn_device cpu = {kDLCPU, 0};

static tn_tensor *make(const char *dtype, int32_t ndim, const int64_t *shape, uint8_t first) {
  tn_dtype t;
  assert_int_equal(tn_dtype_parse(dtype, strlen(dtype), &t), 0);
  tn_tensor *x = tn_tensor_new(shape, ndim, t, cpu, NULL);
  assert_non_null(x);
  for (int64_t i = 0; i < tn_tensor_nbytes(&x->dl); ++i)
    ((uint8_t *)x->dl.data)[i] = (uint8_t)(first + i);
  return x;
}

static void put(tn_map *m, const char *name, tn_tensor *t) {
  assert_int_equal(tn_map_set(m, tn_any_cstr(name), tn_any_obj(t)), 0);
  tn_release(t);
}

static tn_tensor *get(const tn_map *m, const char *name) {
  tn_obj *o = tn_map_find(m, name);
  assert_non_null(o);
  return (tn_tensor *)o;
}

/* Two parameters and the file that older stacks write for them, byte by byte. */
static tn_map *example(void) {
  tn_map *m = tn_map_new();
  put(m, "w", make("float32", 2, (int64_t[]){2, 1}, 1));
  put(m, "bias", make("bool", 1, (int64_t[]){3}, 0));
  return m;
}

/* clang-format off */
static const uint8_t example_file[] = {
    0xb7, 0x9c, 0x04, 0x05, 0x4f, 0x8d, 0xe5, 0xf7, 0, 0, 0, 0, 0, 0, 0, 0,
    2, 0, 0, 0, 0, 0, 0, 0,
    1, 0, 0, 0, 0, 0, 0, 0, 'w', 4, 0, 0, 0, 0, 0, 0, 0, 'b', 'i', 'a', 's',
    2, 0, 0, 0, 0, 0, 0, 0,
    0x3f, 0xa1, 0xb4, 0x96, 0xf0, 0x40, 0x5e, 0xdd, 0, 0, 0, 0, 0, 0, 0, 0,
    1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 2, 32, 1, 0, /* cpu(0), 2 dimensions, float32 */
    2, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8,
    0x3f, 0xa1, 0xb4, 0x96, 0xf0, 0x40, 0x5e, 0xdd, 0, 0, 0, 0, 0, 0, 0, 0,
    1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 1, 1, 0, /* uint1 */
    3, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2,
};
/* clang-format on */
enum { FIRST_ARRAY = 53, ARRAY_HEAD = 16 /* magics */ + 16 };

static void test_bytes_are_those_of_the_format(void **state) {
  (void)state;
  tn_map *m = example();
  tn_bytes *b = tn_params_save(m);
  tn_bytes_view v = tn_bytes_get(b);
  assert_int_equal(v.size, sizeof example_file);
  assert_memory_equal(v.data, example_file, sizeof example_file);
  tn_release(b);
  tn_release(m);
}

static void check_example(const tn_map *m) {
  assert_non_null(m);
  assert_int_equal(tn_map_len(m), 2);
  const tn_tensor *w = get(m, "w"), *bias = get(m, "bias");
  assert_int_equal(w->dl.ndim, 2);
  assert_int_equal(w->dl.shape[0], 2);
  assert_true(tn_dtype_eq(w->dl.dtype, TN_F32));
  assert_memory_equal(w->dl.data, "\1\2\3\4\5\6\7\10", 8);
  assert_true(tn_dtype_eq(bias->dl.dtype, TN_BOOL1));
  assert_memory_equal(bias->dl.data, "\0\1\2", 3);
}

static void test_load(void **state) {
  (void)state;
  tn_map *m = tn_params_load(example_file, sizeof example_file);
  check_example(m);
  tn_any key, value;
  assert_true(tn_map_at(m, 0, &key, &value)); /* in the order of the file */
  assert_string_equal(tn_str_data((tn_str *)key.v.obj), "w");
  assert_true(tn_tensor_is_aligned(&get(m, "bias")->dl, 64));
  tn_release(m);
  uint8_t more[sizeof example_file + 3] = {0}; /* what follows belongs to someone else */
  memcpy(more, example_file, sizeof example_file);
  check_example(m = tn_params_load(more, sizeof more));
  tn_release(m);
  tn_map *none = tn_map_new(); /* an empty list */
  tn_bytes *b = tn_params_save(none);
  tn_bytes_view v = tn_bytes_get(b);
  assert_int_equal(v.size, 32);
  m = tn_params_load(v.data, v.size);
  assert_int_equal(tn_map_len(m), 0);
  tn_release(m);
  tn_release(b);
  tn_release(none);
}

static void test_every_dtype_and_layout_survives(void **state) {
  (void)state;
  const char *types[] = {"bool",   "int4",    "uint4",      "int8",    "int16",   "uint32",
                         "int64",  "float16", "bfloat16",   "float32", "float64", "float32x4",
                         "int4x2", "int4x3",  "complex128", "uint8x3"};
  tn_map *m = tn_map_new();
  for (int i = 0; i < TN_COUNT(types); ++i)
    put(m, types[i], make(types[i], 3, (int64_t[]){3, 1, 5}, (uint8_t)(i * 7)));
  put(m, "scalar", make("float64", 0, NULL, 1));
  put(m, "empty", make("int8", 2, (int64_t[]){INT64_MAX, 0}, 1));
  tn_tensor *whole = make("int16", 2, (int64_t[]){3, 4}, 0);
  DLTensor turned = whole->dl;
  turned.shape = (int64_t[]){4, 3};
  turned.strides = (int64_t[]){1, 4};
  put(m, "turned", tn_tensor_from_dltensor(&turned, &whole->hdr));
  tn_release(whole);
  tn_bytes *b = tn_params_save(m);
  tn_map *back = tn_params_load(tn_bytes_get(b).data, tn_bytes_get(b).size);
  assert_int_equal(tn_map_len(back), tn_map_len(m));
  tn_any key, x, y;
  for (int64_t i = 0; tn_map_at(m, i, &key, &x); ++i) {
    assert_true(tn_map_get(back, key, &y));
    assert_true(tn_type_NDArray.hooks->content_equal(x.v.obj, y.v.obj));
    assert_int_equal(tn_type_NDArray.hooks->content_hash(x.v.obj),
                     tn_type_NDArray.hooks->content_hash(y.v.obj));
  }
  assert_memory_equal(get(back, "turned")->dl.data, "\0\1\10\11\20\21\2\3", 8);
  tn_release(back);
  tn_release(b);
  tn_release(m);
}

static void test_save_checks_the_map(void **state) {
  (void)state;
  tn_map *m = tn_map_new();
  assert_int_equal(tn_map_set(m, tn_any_cstr("w"), tn_any_int(3)), 0);
  assert_null(tn_params_save(m));
  assert_error("TypeError", "save parameters: w: expected runtime.NDArray, got int");
  tn_release(m);
  m = tn_map_new();
  assert_int_equal(tn_map_set(m, tn_any_int(3), tn_any_int(3)), 0);
  assert_null(tn_params_save(m));
  assert_error("TypeError", "expected a name as key, got int");
  assert_int_equal(tn_params_save_file(m, "/dev/null"), -1);
  assert_error("TypeError", "expected a name as key");
  tn_release(m);
}

/* ---- hostile input ---- */

/* A copy in a block of exactly n bytes, so that the sanitizer sees every byte read beyond it. */
static uint8_t *copy_of(const void *data, size_t n) {
  uint8_t *p = malloc(n ? n : 1);
  assert_non_null(p);
  memcpy(p, data, n);
  return p;
}

static void test_truncated_anywhere(void **state) {
  (void)state;
  for (size_t n = 0; n < sizeof example_file; ++n) {
    uint8_t *cut = copy_of(example_file, n);
    assert_null(tn_params_load(cut, n));
    assert_error("ValueError", "Invalid parameters file format: ");
    free(cut);
  }
  for (size_t n = FIRST_ARRAY; n < FIRST_ARRAY + 56; ++n) {
    uint8_t *cut = copy_of(example_file + FIRST_ARRAY, n - FIRST_ARRAY);
    assert_null(tn_tensor_load(cut, n - FIRST_ARRAY));
    assert_error("ValueError", "Invalid DLTensor file format: ");
    free(cut);
  }
}

/* Puts each of some extreme values over each place of the file: it loads, or is refused, and
   nothing large is allocated. */
static void test_damaged_anywhere(void **state) {
  (void)state;
  const uint64_t extremes[] = {0,
                               1,
                               0xff,
                               INT64_MAX,
                               UINT64_MAX,
                               UINT64_C(1) << 60,
                               UINT64_C(1) << 63,
                               UINT32_MAX,
                               INT32_MAX,
                               0x0101010101010101};
  failing_alloc a = {.most = 1 << 20, .countdown = -1};
  a.real = tn_set_allocator((tn_allocator){failing_alloc_fn, &a});
  for (size_t at = 0; at + 1 < sizeof example_file; ++at) {
    for (int k = 0; k < TN_COUNT(extremes); ++k) {
      uint8_t *bad = copy_of(example_file, sizeof example_file);
      size_t n = sizeof example_file - at < 8 ? sizeof example_file - at : 8;
      memcpy(bad + at, &extremes[k], n);
      tn_map *m = tn_params_load(bad, sizeof example_file);
      if (!m) {
        assert_string_equal(tn_error_class(), "ValueError"); /* not MemoryError: it was noticed */
        tn_error_clear();
      }
      tn_release(m);
      free(bad);
    }
  }
  tn_set_allocator(a.real);
  assert_int_equal(a.live, 0);
}

static void expect_bad(size_t at, const void *patch, size_t n, const char *part) {
  uint8_t *bad = copy_of(example_file, sizeof example_file);
  memcpy(bad + at, patch, n);
  assert_null(tn_params_load(bad, sizeof example_file));
  assert_error("ValueError", part);
  free(bad);
}

static void test_messages_name_what_is_wrong(void **state) {
  (void)state;
  const uint64_t huge = UINT64_C(1) << 60;
  expect_bad(0, "TVM!", 4, "Invalid parameters file format: expected magic number");
  expect_bad(16, &huge, 8, "Invalid parameters file format: ");
  expect_bad(24, &huge, 8, "Invalid parameters file format: ");
  expect_bad(45, "\3", 1, "Invalid parameters file format: "); /* number of arrays */
  expect_bad(45, "\1", 1, "2 names, but 1 arrays");
  expect_bad(FIRST_ARRAY, "!", 1,
             "Invalid parameters file format: parameter \"w\": Invalid DLTensor file format: "
             "expected magic number 0xDD5E40F096B4A13F");
  expect_bad(FIRST_ARRAY + 16, "\2", 1, "expected a cpu tensor, got device type 2");
  expect_bad(FIRST_ARRAY + 24, "\xff\xff\xff\xff", 4, "ndim: expected 0 to 256, got -1");
  expect_bad(FIRST_ARRAY + 28, "\3", 1, "addresses cannot be in a file");
  expect_bad(FIRST_ARRAY + 29, "", 1, "array.dtype: expected a type with a size");
  expect_bad(FIRST_ARRAY + ARRAY_HEAD, &huge, 8, "number of bytes overflows");
  expect_bad(FIRST_ARRAY + ARRAY_HEAD + 7, "\xff", 1, "array.shape[0]: expected 0 or more");
  expect_bad(FIRST_ARRAY + ARRAY_HEAD + 16, "\7", 1,
             "shape and dtype float32 take 8 bytes of data, the file says 7");
}

/* ---- files ---- */

typedef struct {
  char folder[64], path[96];
} place;

static place make_place(void) {
  place p = {"/tmp/tenon-params-XXXXXX", ""};
  assert_non_null(mkdtemp(p.folder));
  snprintf(p.path, sizeof p.path, "%s/x.params", p.folder);
  return p;
}

static void write_file(const char *path, const void *data, size_t n) {
  FILE *f = fopen(path, "wb");
  assert_non_null(f);
  assert_int_equal(fwrite(data, 1, n, f), n);
  fclose(f);
}

static void check_file(const char *path, const void *data, size_t n) {
  uint8_t found[512];
  FILE *f = fopen(path, "rb");
  assert_non_null(f);
  assert_int_equal(fread(found, 1, sizeof found, f), n);
  assert_memory_equal(found, data, n);
  fclose(f);
}

static void test_file_both_ways(void **state) {
  (void)state;
  place p = make_place();
  tn_map *m = example();
  assert_int_equal(tn_params_save_file(m, p.path), 0);
  check_file(p.path, example_file, sizeof example_file);
  tn_release(m);
  m = tn_params_load_file(p.path, false);
  check_example(m);
  assert_false(tn_tensor_is_view(get(m, "w")));
  assert_true(tn_tensor_is_aligned(&get(m, "w")->dl, 64));
  tn_release(m);
  assert_int_equal(unlink(p.path), 0);
  assert_int_equal(rmdir(p.folder), 0); /* no partial file is left */
}

static void test_views_of_a_file(void **state) {
  (void)state;
  place p = make_place();
  write_file(p.path, example_file, sizeof example_file);
  tn_map *m = tn_params_load_file(p.path, true);
  check_example(m);
  tn_tensor *w = get(m, "w");
  assert_true(tn_tensor_is_view(w));
  memset(w->dl.data, 0, 8); /* does not reach the file */
  check_file(p.path, example_file, sizeof example_file);
  assert_int_equal(tn_params_save_file(m, p.path), 0); /* over the file that is mapped */
  tn_map *again = tn_params_load_file(p.path, false);
  assert_memory_equal(get(again, "w")->dl.data, "\0\0\0\0\0\0\0\0", 8);
  tn_retain(w);
  tn_release(m);
  assert_int_equal(unlink(p.path), 0);
  assert_memory_equal(w->dl.data, "\0\0\0\0\0\0\0\0", 8); /* still mapped */
  tn_release(w);
  tn_release(again);
  assert_int_equal(rmdir(p.folder), 0);
}

static void test_bad_files(void **state) {
  (void)state;
  place p = make_place();
  assert_null(tn_params_load_file(p.path, false));
  assert_error("OSError", "x.params: No such file");
  assert_null(tn_params_load_file(p.folder, false));
  assert_error("OSError", "expected an ordinary file");
  write_file(p.path, "", 0);
  assert_null(tn_params_load_file(p.path, true));
  assert_error("ValueError", "x.params: Invalid parameters file format: ");
  write_file(p.path, example_file, sizeof example_file - 1);
  assert_null(tn_params_load_file(p.path, true));
  assert_error("ValueError", "parameter \"bias\"");
  tn_map *m = tn_map_new(), *good = example();
  assert_int_equal(tn_map_set(m, tn_any_cstr("w"), tn_any_int(3)), 0);
  assert_int_equal(tn_params_save_file(m, p.path), -1); /* the old file stays */
  assert_error("TypeError", "w: expected runtime.NDArray");
  check_file(p.path, example_file, sizeof example_file - 1);
  assert_int_equal(tn_params_save_file(good, "/nonexistent/x.params"), -1);
  assert_error("OSError", "No such file");
  assert_int_equal(tn_params_save_file(good, "/dev/full"), -1);
  assert_error("OSError", "cannot write /dev/full: No space left");
  struct stat st;
  assert_int_equal(stat("/dev/full", &st), 0);
  tn_release(good);
  tn_release(m);
  assert_int_equal(unlink(p.path), 0);
  assert_int_equal(rmdir(p.folder), 0);
}

/* ---- out of memory ---- */

static int load_and_drop(void *ctx) {
  (void)ctx;
  tn_map *m = tn_params_load(example_file, sizeof example_file);
  tn_release(m);
  return m ? 0 : -1;
}

static int save_and_drop(void *ctx) {
  tn_bytes *b = tn_params_save(ctx);
  tn_release(b);
  return b ? 0 : -1;
}

static int save_file_once(void *ctx) { return tn_params_save_file(ctx, "/dev/null"); }

static int load_views(void *ctx) {
  tn_map *m = tn_params_load_file(ctx, true);
  tn_release(m);
  return m ? 0 : -1;
}

static int blob_and_drop(void *ctx) {
  TN_BUF(b);
  return tn_type_NDArray.hooks->blob_save(ctx, &b);
}

static void test_every_allocation_may_fail(void **state) {
  (void)state;
  place p = make_place();
  tn_map *m = example();
  tn_tensor *whole = get(m, "w");
  DLTensor turned = whole->dl; /* one that is saved through a copy */
  turned.shape = (int64_t[]){1, 2};
  turned.dtype = TN_I32;
  turned.strides = (int64_t[]){5, -1};
  turned.byte_offset = 4;
  put(m, "turned", tn_tensor_from_dltensor(&turned, &whole->hdr));
  write_file(p.path, example_file, sizeof example_file);
  assert_int_equal(load_views(p.path), 0); /* the mapping's type is made once for all */
  assert_true(fail_every_allocation(load_and_drop, NULL) > 8);
  assert_true(fail_every_allocation(load_views, p.path) > 6);
  assert_true(fail_every_allocation(save_and_drop, m) > 2);
  assert_true(fail_every_allocation(save_file_once, m) > 1);
  assert_true(fail_every_allocation(blob_and_drop, get(m, "turned")) > 2);
  tn_release(m);
  assert_int_equal(unlink(p.path), 0);
  assert_int_equal(rmdir(p.folder), 0);
}

/* ---- functions and hooks ---- */

static void test_functions(void **state) {
  (void)state;
  place p = make_place();
  tn_map *m = example();
  tn_func *save = tn_func_find("runtime.SaveParams"), *load = tn_func_find("runtime.LoadParams");
  tn_func *save_file = tn_func_find("runtime.SaveParamsToFile");
  tn_func *load_file = tn_func_find("runtime.LoadParamsFromFile");
  tn_any args[2] = {tn_any_obj(m), tn_any_cstr(p.path)}, blob, back;
  assert_int_equal(tn_func_call(save, args, 1, &blob), 0);
  assert_int_equal(tn_func_call(load, &blob, 1, &back), 0);
  check_example((tn_map *)back.v.obj);
  tn_any_release(&back);
  assert_int_equal(tn_func_call(save_file, args, 2, &back), 0);
  assert_int_equal(tn_func_call(load_file, &args[1], 1, &back), 0);
  check_example((tn_map *)back.v.obj);
  tn_any_release(&back);
  tn_any with_views[] = {args[1], tn_any_bool(true)};
  assert_int_equal(tn_func_call(load_file, with_views, 2, &back), 0);
  assert_true(tn_tensor_is_view(get((tn_map *)back.v.obj, "w")));
  tn_any_release(&back);
  assert_int_equal(tn_func_call(save, &blob, 1, &back), -1);
  assert_error("TypeError", "expected Map, got runtime.Bytes");
  assert_int_equal(tn_func_call(load, args, 1, &back), -1);
  assert_error("TypeError", "expected bytes, got Map");
  tn_any_release(&blob);
  tn_release(save);
  tn_release(load);
  tn_release(save_file);
  tn_release(load_file);
  tn_release(m);
  assert_int_equal(unlink(p.path), 0);
  assert_int_equal(rmdir(p.folder), 0);
}

static void test_single_tensor(void **state) {
  (void)state;
  tn_tensor *t = make("float32", 2, (int64_t[]){2, 1}, 1);
  tn_bytes *b = tn_tensor_save(t);
  TN_BUF(buf);
  assert_int_equal(tn_type_NDArray.hooks->blob_save(&t->hdr, &buf), 0);
  assert_int_equal(buf.len, tn_bytes_get(b).size);
  assert_memory_equal(buf.data, tn_bytes_get(b).data, buf.len);
  assert_memory_equal(buf.data, example_file + FIRST_ARRAY, buf.len);
  tn_obj *back = tn_type_NDArray.hooks->blob_load((const uint8_t *)buf.data, buf.len);
  assert_true(tn_type_NDArray.hooks->content_equal(back, &t->hdr));
  ((char *)t->dl.data)[7] = 0;
  assert_false(tn_type_NDArray.hooks->content_equal(back, &t->hdr));
  assert_int_not_equal(tn_type_NDArray.hooks->content_hash(back),
                       tn_type_NDArray.hooks->content_hash(&t->hdr));
  tn_release(back);
  tn_release(b);
  tn_release(t);
}

static void test_content_of_other_layouts_and_leftover_bits(void **state) {
  (void)state;
  const tn_type_hooks *hooks = tn_type_NDArray.hooks;
  tn_tensor *big = make("int16", 2, (int64_t[]){97, 101}, 3);
  DLTensor turned = big->dl;
  turned.shape = (int64_t[]){101, 97};
  turned.strides = (int64_t[]){1, 101};
  tn_tensor *a = tn_tensor_from_dltensor(&turned, &big->hdr),
            *b = tn_tensor_clone(&turned, cpu, NULL);
  assert_true(hooks->content_equal(&a->hdr, &b->hdr));
  assert_int_equal(hooks->content_hash(&a->hdr), hooks->content_hash(&b->hdr));
  assert_false(hooks->content_equal(&a->hdr, &big->hdr)); /* another shape */
  ((int16_t *)b->dl.data)[96 * 101] ^= 1;
  assert_false(hooks->content_equal(&a->hdr, &b->hdr));
  tn_release(a);
  tn_release(b);
  tn_release(big);
  a = make("int4", 1, (int64_t[]){3}, 1);
  b = make("int4", 1, (int64_t[]){3}, 1);
  ((uint8_t *)a->dl.data)[1] = 0x52;
  ((uint8_t *)b->dl.data)[1] = 0xa2; /* differs where there is no element */
  assert_true(hooks->content_equal(&a->hdr, &b->hdr));
  assert_int_equal(hooks->content_hash(&a->hdr), hooks->content_hash(&b->hdr));
  ((uint8_t *)b->dl.data)[1] = 0xa3;
  assert_false(hooks->content_equal(&a->hdr, &b->hdr));
  tn_release(a);
  tn_release(b);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_bytes_are_those_of_the_format),
      cmocka_unit_test(test_load),
      cmocka_unit_test(test_every_dtype_and_layout_survives),
      cmocka_unit_test(test_save_checks_the_map),
      cmocka_unit_test(test_truncated_anywhere),
      cmocka_unit_test(test_damaged_anywhere),
      cmocka_unit_test(test_messages_name_what_is_wrong),
      cmocka_unit_test(test_file_both_ways),
      cmocka_unit_test(test_views_of_a_file),
      cmocka_unit_test(test_bad_files),
      cmocka_unit_test(test_every_allocation_may_fail),
      cmocka_unit_test(test_functions),
      cmocka_unit_test(test_single_tensor),
      cmocka_unit_test(test_content_of_other_layouts_and_leftover_bits),
  };
  return cmocka_run_group_tests(tests, start_runtime, NULL);
}
