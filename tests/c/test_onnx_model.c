/* Reading ONNX files: wire checks, the places a tensor's values may stand in, external data,
 * hostile sizes. */
#include "testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/scope.h"
#include "import/onnx/model.h"
#include "tenon/compiler.h"

enum { COPIES = 3 };

/* A model of initializers that are all `t` as bytes; the caller frees it. */
static uint8_t *pack_copies(onnx_tensor *t, size_t copies, size_t *n) {
  onnx_graph g;
  onnx_tensor *all[COPIES] = {t, t, t};
  assert_true(copies <= COPIES);
  onnx__graph_proto__init(&g);
  g.initializer = all;
  g.n_initializer = copies;
  Onnx__OperatorSetIdProto set;
  onnx__operator_set_id_proto__init(&set);
  set.has_version = 1;
  set.version = 17;
  Onnx__OperatorSetIdProto *sets[] = {&set};
  onnx_model_proto m;
  onnx__model_proto__init(&m);
  m.graph = &g;
  m.opset_import = sets;
  m.n_opset_import = 1;
  uint8_t *out = malloc(*n = onnx__model_proto__get_packed_size(&m));
  onnx__model_proto__pack(&m, out);
  return out;
}

/* A model of one initializer. */
static uint8_t *pack(onnx_tensor *t, size_t *n) { return pack_copies(t, 1, n); }

static onnx_tensor tensor(int32_t type, int64_t *dims, size_t ndim) {
  onnx_tensor t;
  onnx__tensor_proto__init(&t);
  t.name = (char *)(uintptr_t) "w";
  t.has_data_type = 1;
  t.data_type = type;
  t.dims = dims;
  t.n_dims = ndim;
  return t;
}

static void raw(onnx_tensor *t, void *data, size_t n) {
  t->has_raw_data = 1;
  t->raw_data = (ProtobufCBinaryData){n, data};
}

/* The tensor as the reader gives it; NULL with the error. */
static tn_tensor *round_trip(onnx_tensor *t) {
  size_t n;
  uint8_t *data = pack(t, &n);
  onnx_model m;
  assert_int_equal(onnx_model_parse(&m, data, n), 0);
  free(data);
  assert_int_equal(onnx_opset(m.proto, ""), 17);
  assert_int_equal(onnx_opset(m.proto, "com.microsoft"), 0);
  tn_tensor *r = onnx_read_tensor(&m, m.proto->graph->initializer[0]);
  onnx_model_fini(&m);
  return r;
}

static void test_raw_and_typed_values(void **state) {
  (void)state;
  TN_SCOPE(s);
  int64_t dims[] = {2, 3};
  float values[] = {1, -2, 3.5f, 0, 7, 9};
  onnx_tensor t = tensor(1, dims, 2);
  raw(&t, values, sizeof values);
  tn_tensor *r = round_trip(&t);
  assert_non_null(r);
  assert_memory_equal(tn_tensor_dl(r)->data, values, sizeof values);
  t = tensor(1, dims, 2);
  t.float_data = values;
  t.n_float_data = 6;
  assert_non_null(r = round_trip(&t));
  assert_memory_equal(tn_tensor_dl(r)->data, values, sizeof values);
  int32_t half[] = {0x3c00, 0x4000};
  int64_t two[] = {2};
  t = tensor(10, two, 1);
  t.int32_data = half;
  t.n_int32_data = 2;
  assert_non_null(r = round_trip(&t));
  assert_int_equal(((uint16_t *)tn_tensor_dl(r)->data)[1], 0x4000);
  assert_int_equal(tn_tensor_dl(r)->dtype.bits, 16);
  int32_t bools[] = {0, 5};
  t = tensor(9, two, 1);
  t.int32_data = bools;
  t.n_int32_data = 2;
  assert_non_null(r = round_trip(&t));
  assert_int_equal(((uint8_t *)tn_tensor_dl(r)->data)[1], 1);
}

static void test_wrong_sizes_and_types(void **state) {
  (void)state;
  TN_SCOPE(s);
  float values[6] = {0};
  int64_t dims[] = {2, 4}, negative[] = {2, -2}, wide[] = {INT64_C(1) << 62, 4},
          wrap[] = {INT64_C(1) << 32, INT64_C(1) << 32};
  onnx_tensor t = tensor(1, dims, 2);
  raw(&t, values, sizeof values);
  assert_null(round_trip(&t));
  assert_error("ValueError", "tensor w: the shape's size is 32 bytes, the data has 24");
  t.dims = negative;
  assert_null(round_trip(&t));
  assert_error("ValueError", "tensor w: dimension 1 of the shape is negative (-2)");
  t.dims = wide;
  assert_null(round_trip(&t));
  assert_error("ValueError", "tensor w: the size of the shape overflows");
  t.dims = wrap;
  assert_null(round_trip(&t));
  assert_error("ValueError", "tensor w: the size of the shape overflows");
  t = tensor(77, dims, 2);
  assert_null(round_trip(&t));
  assert_error("ValueError", "w: the element type 77 is not one of ONNX's");
  t = tensor(8, dims, 2);
  assert_null(round_trip(&t));
  assert_error("ValueError", "w: the element type 8 (string) is not supported");
}

static void test_damaged_bytes(void **state) {
  (void)state;
  TN_SCOPE(s);
  int64_t dims[] = {6};
  float values[6] = {0};
  onnx_tensor t = tensor(1, dims, 1);
  raw(&t, values, sizeof values);
  size_t n;
  uint8_t *data = pack(&t, &n);
  onnx_model m;
  for (size_t cut = 0; cut < n; ++cut) {
    int r = onnx_model_parse(&m, data, cut);
    if (r) assert_error("ValueError", "");
    onnx_model_fini(&m);
  }
  free(data);
  static const uint8_t wire7[] = {0x3f, 0x01}, varint[12] = {0x08, 0xff, 0xff, 0xff, 0xff, 0xff,
                                                             0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
  assert_int_equal(onnx_model_parse(&m, wire7, sizeof wire7), -1);
  assert_error("ValueError", "wire type 7 at byte 0");
  onnx_model_fini(&m);
  assert_int_equal(onnx_model_parse(&m, varint, sizeof varint), -1);
  assert_error("ValueError", "varint of more than 10 bytes");
  onnx_model_fini(&m);
}

/* AttributeProto.g and GraphProto.node and NodeProto.attribute, one inside the other. */
static void test_depth_is_limited(void **state) {
  (void)state;
  TN_SCOPE(s);
  enum { DEPTH = 3000 };
  static const uint8_t tags[] = {0x0a, 0x2a, 0x32}; /* node, attribute, g */
  uint8_t *data = malloc(DEPTH * 4 + 8);
  size_t at = DEPTH * 4 + 8, end = at;
  for (int i = DEPTH - 1; i >= 0; --i) {
    size_t n = end - at;
    uint8_t head[4] = {tags[i % 3], (uint8_t)(0x80 | (n & 0x7f)), (uint8_t)(n >> 7), 0};
    size_t k = 3;
    if (n < 128) {
      head[1] = (uint8_t)n;
      k = 2;
    } else assert_true(n < 1 << 14);
    memcpy(data + (at -= k), head, k);
  }
  assert_int_equal(onnx_check_wire(&onnx__graph_proto__descriptor, data + at, end - at), -1);
  assert_error("ValueError", "nested more than 200 deep");
  free(data);
}

/* A model in its own folder, weights beside it. */
static tn_tensor *external(const char *location, const char *offset, const char *length) {
  char folder[] = "/tmp/test_onnx_XXXXXX", path[64], inside[64];
  assert_non_null(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/model.onnx", folder);
  snprintf(inside, sizeof inside, "%s/w.bin", folder);
  Onnx__StringStringEntryProto e[3], *entries[3];
  const char *text[] = {"location", location, "offset", offset, "length", length};
  for (int i = 0; i < 3; ++i) {
    onnx__string_string_entry_proto__init(entries[i] = &e[i]);
    e[i].key = (char *)(uintptr_t)text[2 * i];
    e[i].value = (char *)(uintptr_t)text[2 * i + 1];
  }
  int64_t dims[] = {4};
  onnx_tensor t = tensor(2, dims, 1);
  t.has_data_location = 1;
  t.data_location = 1;
  t.external_data = entries;
  t.n_external_data = 3;
  size_t n;
  uint8_t *data = pack(&t, &n);
  FILE *f = fopen(path, "wb");
  assert_int_equal(fwrite(data, 1, n, f), n);
  fclose(f);
  free(data);
  f = fopen(inside, "wb");
  assert_int_equal(fwrite("0123456789", 1, 10, f), 10);
  fclose(f);
  onnx_model m;
  assert_int_equal(onnx_model_read(&m, path), 0);
  tn_tensor *r = onnx_read_tensor(&m, m.proto->graph->initializer[0]);
  onnx_model_fini(&m);
  unlink(path);
  unlink(inside);
  rmdir(folder);
  return r;
}

/* Large data is not copied again: tensors of it share the memory, and outlive the model. */
static void test_large_data(void **state) {
  (void)state;
  TN_SCOPE(s);
  enum { N = 40000 };
  int64_t dims[] = {N / 4, 4};
  float *values = malloc(N * sizeof *values);
  for (int i = 0; i < N; ++i) values[i] = (float)i;
  onnx_tensor t = tensor(1, dims, 2);
  raw(&t, values, N * sizeof *values);
  size_t n;
  uint8_t *data = pack(&t, &n);
  onnx_model m;
  assert_int_equal(onnx_model_parse(&m, data, n), 0);
  free(data);
  tn_tensor *a = onnx_read_tensor(&m, m.proto->graph->initializer[0]);
  tn_tensor *b = onnx_read_tensor(&m, m.proto->graph->initializer[0]);
  onnx_model_fini(&m);
  assert_non_null(a);
  assert_non_null(b);
  assert_ptr_equal(tn_tensor_dl(a)->data, tn_tensor_dl(b)->data);
  assert_int_equal((uintptr_t)tn_tensor_dl(a)->data % 64, 0);
  assert_memory_equal(tn_tensor_dl(a)->data, values, N * sizeof *values);
  raw(&t, values, N * sizeof *values - 4); /* data and shape do not agree */
  assert_null(round_trip(&t));
  tn_error_clear();
  free(values);
}

/* Numbers that are larger in memory than in the file: what is after the file's mapping must stay.
   The file is mapped into a hole before pages that are looked at afterwards (the highest place that
   is large enough; elsewhere the test says nothing). */
static void test_file_of_small_numbers(void **state) {
  (void)state;
  enum { N = 400000, MARK = 0x5a };
  const size_t after = (size_t)COPIES * N * 8;
  char path[] = "/tmp/test_onnx_XXXXXX";
  int64_t dims[] = {N}, *ones = malloc(N * sizeof *ones);
  onnx_tensor t = tensor(7, dims, 1);
  for (int i = 0; i < N; ++i) ones[i] = 1;
  t.int64_data = ones;
  t.n_int64_data = N;
  size_t n, page = (size_t)sysconf(_SC_PAGESIZE);
  uint8_t *data = pack_copies(&t, COPIES, &n);
  int fd = mkstemp(path);
  assert_int_equal(write(fd, data, n), n);
  close(fd);
  free(data);
  free(ones);
  size_t hole = (n + page - 1) / page * page;
  char *all = mmap(NULL, hole + after, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  assert_true(all != MAP_FAILED);
  memset(all + hole, MARK, after);
  munmap(all, hole);
  onnx_model m;
  assert_int_equal(onnx_model_read(&m, path), 0);
  assert_int_equal(m.proto->graph->initializer[COPIES - 1]->int64_data[N - 1], 1);
  for (size_t i = hole; i < hole + after; i += page) assert_int_equal(all[i], MARK);
  onnx_model_fini(&m);
  munmap(all + hole, after);
  unlink(path);
}

static void test_external_data(void **state) {
  (void)state;
  TN_SCOPE(s);
  tn_tensor *r = external("w.bin", "6", "4");
  assert_non_null(r);
  assert_memory_equal(tn_tensor_dl(r)->data, "6789", 4);
  assert_null(external("w.bin", "7", "4"));
  assert_error("ValueError",
               "4 bytes at offset 7 are past the end of the external file w.bin (10 bytes)");
  assert_null(external("w.bin", "0", "4611686018427387904"));
  assert_error("ValueError", "the external data's length 4611686018427387904");
  assert_null(external("../w.bin", "0", "4"));
  assert_error("ValueError", "tensor w:");
  assert_null(external("/etc/passwd", "0", "4"));
  assert_error("ValueError", "an absolute path");
  assert_null(external("../../etc/passwd", "0", "4"));
  assert_error("ValueError", "outside the model's folder");
  assert_null(external("w.bin", "-1", "4"));
  assert_error("ValueError", "offset is not a number: -1");
}

static void test_sparse_values(void **state) {
  (void)state;
  TN_SCOPE(s);
  int64_t dims[] = {2, 3}, two[] = {2}, flat[] = {1, 5};
  float values[] = {4, 8};
  onnx_tensor v = tensor(1, two, 1), idx = tensor(7, two, 1);
  raw(&v, values, sizeof values);
  raw(&idx, flat, sizeof flat);
  onnx_sparse sp;
  onnx__sparse_tensor_proto__init(&sp);
  sp.values = &v;
  sp.indices = &idx;
  sp.dims = dims;
  sp.n_dims = 2;
  onnx_model m = {0};
  tn_tensor *r = onnx_read_sparse(&m, &sp);
  assert_non_null(r);
  float want[] = {0, 4, 0, 0, 0, 8};
  assert_memory_equal(tn_tensor_dl(r)->data, want, sizeof want);
  flat[1] = 900000;
  assert_null(onnx_read_sparse(&m, &sp));
  assert_error("ValueError", "index 900000 is out of range");
}

static void test_files_that_are_none(void **state) {
  (void)state;
  TN_SCOPE(s);
  onnx_model m;
  assert_int_equal(onnx_model_read(&m, "/nowhere/model.onnx"), -1);
  assert_error("OSError", "cannot open the ONNX model /nowhere/model.onnx");
  onnx_model_fini(&m);
  assert_int_equal(onnx_model_read(&m, "/tmp"), -1);
  assert_error("OSError", "not a regular file");
  onnx_model_fini(&m);
  assert_int_equal(onnx_model_parse(&m, "", 0), -1);
  assert_error("ValueError", "empty");
  onnx_model_fini(&m);
}

static int start_compiler(void **state) {
  (void)state;
  return tn_compiler_init();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_raw_and_typed_values),  cmocka_unit_test(test_wrong_sizes_and_types),
      cmocka_unit_test(test_damaged_bytes),         cmocka_unit_test(test_depth_is_limited),
      cmocka_unit_test(test_external_data),         cmocka_unit_test(test_large_data),
      cmocka_unit_test(test_file_of_small_numbers), cmocka_unit_test(test_sparse_values),
      cmocka_unit_test(test_files_that_are_none),
  };
  return cmocka_run_group_tests(tests, start_compiler, NULL);
}
