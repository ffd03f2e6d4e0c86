/* Tensors: making, views, DLPack both ways, layouts, copies. */
#include "testing.h"

#include "failing_alloc.h"
#include "object/dtype.h"
#include "runtime/tensor/tensor.h"
#include "tvm/runtime/c_runtime_api.h"

static const tn_device cpu = {kDLCPU, 0};

static tn_tensor *make(tn_dtype dtype, int32_t ndim, const int64_t *shape) {
  tn_tensor *t = tn_tensor_new(shape, ndim, dtype, cpu, NULL);
  assert_non_null(t);
  return t;
}

/* A float32 tensor with elements 0, 1, 2, ... */
static tn_tensor *counting(int32_t ndim, const int64_t *shape) {
  tn_tensor *t = make(TN_F32, ndim, shape);
  for (int64_t i = 0; i < tn_tensor_count(&t->dl); ++i) ((float *)t->dl.data)[i] = (float)i;
  return t;
}

static tn_dtype parse(const char *text) {
  tn_dtype t;
  assert_int_equal(tn_dtype_parse(text, strlen(text), &t), 0);
  return t;
}

/* ---- making ---- */

static void test_new_is_compact_and_aligned(void **state) {
  (void)state;
  const int64_t shape[] = {2, 3, 5};
  tn_tensor *t = make(TN_F32, 3, shape);
  const DLTensor *dl = tn_tensor_dl(t);
  assert_ptr_equal(dl, &t->dl);
  assert_ptr_equal(tn_tensor_of_dl(dl), t);
  assert_int_equal(dl->ndim, 3);
  assert_memory_equal(dl->shape, shape, sizeof shape);
  assert_ptr_not_equal(dl->shape, shape);
  assert_null(dl->strides);
  assert_int_equal(dl->byte_offset, 0);
  assert_int_equal(tn_tensor_count(dl), 30);
  assert_int_equal(tn_tensor_nbytes(dl), 120);
  assert_true(tn_tensor_is_aligned(dl, TN_TENSOR_ALIGN));
  assert_true(tn_tensor_is_contiguous(dl));
  assert_false(tn_tensor_is_view(t));
  assert_false(tn_tensor_is_read_only(t));
  assert_string_equal(tn_obj_key(t), "runtime.NDArray");
  assert_int_equal(tn_tensor_type_index(), t->hdr.type_index);
  tn_release(t);
}

static void test_bytes_of_every_dtype(void **state) {
  (void)state;
  static const struct {
    const char *dtype;
    int64_t n, nbytes;
  } cases[] = {
      {"bool", 5, 5},     {"int4", 5, 3},        {"uint4", 4, 2},     {"int8", 5, 5},
      {"uint16", 5, 10},  {"float16", 5, 10},    {"bfloat16", 5, 10}, {"int32", 5, 20},
      {"float64", 5, 40}, {"complex128", 2, 32}, {"handle", 3, 24},   {"float32x4", 3, 48},
      {"boolx4", 3, 12},  {"int4x2", 3, 3},      {"int4x3", 3, 5},    {"uint1", 7, 7},
      {"int2", 5, 2},     {"float32", 0, 0},     {"custom", -1, -1},
  };
  for (int i = 0; cases[i].n >= 0; ++i) {
    tn_tensor *t = make(parse(cases[i].dtype), 1, &cases[i].n);
    assert_int_equal(tn_tensor_nbytes(&t->dl), cases[i].nbytes);
    memset(t->dl.data, 0x5a, (size_t)cases[i].nbytes);
    tn_release(t);
  }
}

static void test_scalar_and_empty(void **state) {
  (void)state;
  tn_tensor *t = make(TN_F64, 0, NULL);
  assert_int_equal(tn_tensor_count(&t->dl), 1);
  assert_int_equal(tn_tensor_nbytes(&t->dl), 8);
  tn_release(t);
  t = make(TN_F64, 3, (int64_t[]){INT64_MAX, 0, INT64_MAX}); /* no overflow: there is nothing */
  assert_int_equal(tn_tensor_nbytes(&t->dl), 0);
  assert_non_null(t->dl.data);
  tn_release(t);
}

static void test_bad_shapes(void **state) {
  (void)state;
  int64_t shape[TN_MAX_NDIM + 1] = {2, -3};
  assert_null(tn_tensor_new(shape, 2, TN_F32, cpu, NULL));
  assert_error("ValueError", "tensor.shape[1]: expected 0 or more, got -3");
  assert_null(tn_tensor_new(shape, -1, TN_F32, cpu, NULL));
  assert_error("ValueError", "tensor.ndim: expected 0 to 256, got -1");
  assert_null(tn_tensor_new(shape, TN_MAX_NDIM + 1, TN_F32, cpu, NULL));
  assert_error("ValueError", "tensor.ndim");
  assert_null(tn_tensor_new(NULL, 2, TN_F32, cpu, NULL));
  assert_error("ValueError", "tensor.shape: expected 2 extents, got NULL");
  shape[0] = shape[1] = INT64_C(1) << 40;
  assert_null(tn_tensor_new(shape, 2, TN_F32, cpu, NULL));
  assert_error("ValueError", "tensor.shape: the number of elements overflows");
  shape[1] = 1 << 22;
  assert_null(tn_tensor_new(shape, 2, TN_F32, cpu, NULL));
  assert_error("ValueError", "tensor.shape: the number of bytes overflows");
  shape[0] = shape[1] = 1;
  assert_null(tn_tensor_new(shape, 2, TN_VOID, cpu, NULL));
  assert_error("ValueError", "tensor.dtype: expected a type with a size, got void");
  assert_null(tn_tensor_new(shape, 2, tn_dtype_of(kDLInt, 32, 0), cpu, NULL));
  assert_error("ValueError", "tensor.dtype");
  assert_null(tn_tensor_new(shape, 2, TN_F32, cpu, "global.texture"));
  assert_error("ValueError", "scope \"global.texture\"");
  assert_null(tn_tensor_new(shape, 2, TN_F32, (tn_device){kDLHexagon, 0}, NULL));
  assert_error("DeviceError", "device hexagon (type 16) is not available");
}

/* ---- views ---- */

static void test_view_shares_memory_and_keeps_it(void **state) {
  (void)state;
  tn_tensor *t = counting(2, (int64_t[]){4, 6});
  tn_tensor *v = tn_tensor_view(t, (int64_t[]){2, 3}, 2, TN_F32, 24);
  assert_non_null(v);
  assert_true(tn_tensor_is_view(v));
  assert_ptr_equal(v->dl.data, (char *)t->dl.data + 24); /* no offset for kernels to mind */
  assert_int_equal(v->dl.byte_offset, 0);
  tn_tensor *w = tn_tensor_view(v, (int64_t[]){3}, 1, parse("int16"), 3);
  assert_non_null(w);
  assert_ptr_equal(w->owner, t); /* not v: chains of views do not grow */
  assert_ptr_equal(w->dl.data, (char *)t->dl.data + 27);
  tn_release(v);
  tn_release(t);
  assert_memory_equal((char *)w->dl.data + 1, &(float){7}, 4);
  assert_int_equal(tn_use_count(w->owner), 1);
  tn_release(w);
}

static void test_view_stays_inside(void **state) {
  (void)state;
  tn_tensor *t = counting(1, (int64_t[]){4});
  assert_null(tn_tensor_view(t, (int64_t[]){4}, 1, TN_F32, 1));
  assert_error("ValueError", "view: 16 bytes at offset 1 reach beyond the 16 bytes");
  assert_null(tn_tensor_view(t, (int64_t[]){1}, 1, TN_F32, -4));
  assert_error("ValueError", "at offset -4");
  assert_null(tn_tensor_view(t, (int64_t[]){0}, 1, TN_F32, 17));
  assert_error("ValueError", "at offset 17");
  assert_null(tn_tensor_view(t, (int64_t[]){3}, 1, TN_F64, 0));
  assert_error("ValueError", "view: 24 bytes");
  tn_tensor *v = tn_tensor_view(t, (int64_t[]){0, 9}, 2, TN_F32, 16);
  assert_non_null(v);
  tn_release(v);
  DLTensor odd = t->dl;
  odd.shape = (int64_t[]){2};
  odd.strides = (int64_t[]){2};
  tn_tensor *s = tn_tensor_from_dltensor(&odd, &t->hdr);
  assert_null(tn_tensor_view(s, (int64_t[]){1}, 1, TN_F32, 0));
  assert_error("ValueError", "view: the tensor is not compact");
  tn_release(s);
  tn_release(t);
}

/* ---- DLPack ---- */

typedef struct {
  DLManagedTensor legacy;
  DLManagedTensorVersioned versioned;
  int64_t shape[4], strides[4];
  char data[64];
  int deleted;
} producer;

static void delete_legacy(DLManagedTensor *m) { ((producer *)m->manager_ctx)->deleted++; }
static void delete_versioned(DLManagedTensorVersioned *m) {
  ((producer *)m->manager_ctx)->deleted++;
}

static void producer_init(producer *p) {
  memset(p, 0, sizeof *p);
  for (int i = 0; i < 64; ++i) p->data[i] = (char)i;
  p->shape[0] = 2, p->shape[1] = 3;
  p->strides[0] = 3, p->strides[1] = 1;
  p->legacy.dl_tensor = (DLTensor){.data = p->data,
                                   .device = cpu,
                                   .ndim = 2,
                                   .dtype = {kDLInt, 8, 1},
                                   .shape = p->shape,
                                   .strides = p->strides};
  p->legacy.manager_ctx = p->versioned.manager_ctx = p;
  p->legacy.deleter = delete_legacy;
  p->versioned.deleter = delete_versioned;
  p->versioned.version = (DLPackVersion){1, 3};
  p->versioned.dl_tensor = p->legacy.dl_tensor;
}

static void test_from_dlpack_keeps_the_producer(void **state) {
  (void)state;
  producer p;
  producer_init(&p);
  p.legacy.dl_tensor.byte_offset = 5;
  tn_tensor *t = tn_tensor_from_dlpack(&p.legacy);
  assert_non_null(t);
  assert_ptr_equal(t->dl.data, p.data + 5);
  assert_int_equal(t->dl.byte_offset, 0);
  assert_null(t->dl.strides); /* compact */
  tn_tensor *v = tn_tensor_view(t, (int64_t[]){2}, 1, parse("int8"), 1);
  tn_release(t);
  assert_int_equal(p.deleted, 0);
  assert_int_equal(((char *)v->dl.data)[0], 6);
  tn_release(v);
  assert_int_equal(p.deleted, 1);

  producer_init(&p);
  p.versioned.flags = DLPACK_FLAG_BITMASK_READ_ONLY;
  t = tn_tensor_from_dlpack_versioned(&p.versioned);
  assert_true(tn_tensor_is_read_only(t));
  assert_null(tn_tensor_to_dlpack(t));
  assert_error("ValueError", "read-only");
  DLManagedTensorVersioned *m = tn_tensor_to_dlpack_versioned(t);
  assert_int_equal(m->flags, DLPACK_FLAG_BITMASK_READ_ONLY);
  tn_release(t);
  assert_int_equal(p.deleted, 0);
  m->deleter(m);
  assert_int_equal(p.deleted, 1);
}

static void test_from_dlpack_keeps_strides(void **state) {
  (void)state;
  producer p;
  producer_init(&p);
  p.strides[0] = 1, p.strides[1] = 2;
  tn_tensor *t = tn_tensor_from_dlpack(&p.legacy);
  assert_false(tn_tensor_is_contiguous(&t->dl));
  assert_memory_equal(t->dl.strides, p.strides, 16);
  assert_ptr_not_equal(t->dl.strides, p.strides);
  tn_release(t);
  p.shape[0] = 1, p.strides[0] = 77, p.strides[1] = 1; /* a stride nobody takes */
  t = tn_tensor_from_dlpack(&p.legacy);
  assert_null(t->dl.strides);
  tn_release(t);
  p.shape[0] = 2, p.shape[1] = 0, p.strides[1] = -9; /* no elements */
  t = tn_tensor_from_dlpack(&p.legacy);
  assert_null(t->dl.strides);
  tn_release(t);
  p.shape[1] = 3, p.strides[0] = -3, p.strides[1] = -1; /* reversed */
  p.legacy.dl_tensor.data = p.data + 5;
  t = tn_tensor_from_dlpack(&p.legacy);
  char out[6];
  assert_int_equal(tn_tensor_copy_to_bytes(&t->dl, out, 6), 0);
  assert_memory_equal(out, "\5\4\3\2\1\0", 6);
  tn_release(t);
  assert_int_equal(p.deleted, 4);
}

static void test_nothing_at_no_address(void **state) {
  (void)state;
  producer p;
  producer_init(&p);
  p.shape[0] = 0;
  p.legacy.dl_tensor.data = NULL;
  const char *types[] = {"int8", "int4", "float32", "bool"};
  for (int i = 0; i < TN_COUNT(types); ++i) {
    p.legacy.dl_tensor.dtype = parse(types[i]);
    tn_tensor *t = tn_tensor_from_dlpack(&p.legacy), *c = tn_tensor_clone(&t->dl, cpu, NULL);
    assert_int_equal(tn_tensor_copy(&c->dl, &t->dl), 0);
    assert_int_equal(tn_tensor_copy_to_bytes(&t->dl, NULL, 0), 0);
    assert_true(tn_type_NDArray.hooks->content_equal(&t->hdr, &c->hdr));
    assert_int_equal(tn_type_NDArray.hooks->content_hash(&t->hdr),
                     tn_type_NDArray.hooks->content_hash(&c->hdr));
    tn_tensor *v = tn_tensor_view(t, (int64_t[]){0}, 1, TN_F32, 0);
    bool same = tn_dtype_eq(t->dl.dtype, TN_F32);
    assert_int_equal(tn_tensor_convert(&v->dl, &t->dl), same ? 0 : -1);
    if (!same) assert_error("TypeError", "no conversion from float32");
    tn_bytes *b = tn_tensor_save(t);
    assert_non_null(b);
    tn_release(b);
    tn_release(v);
    tn_release(c);
    tn_release(t);
  }
  assert_int_equal(p.deleted, TN_COUNT(types));
}

static void test_bool_is_uint1_inside_and_bool_outside(void **state) {
  (void)state;
  producer p;
  producer_init(&p);
  p.legacy.dl_tensor.dtype = (DLDataType){kDLBool, 8, 1};
  tn_tensor *t = tn_tensor_from_dlpack(&p.legacy);
  assert_true(tn_dtype_eq(t->dl.dtype, TN_BOOL1));
  assert_int_equal(tn_tensor_nbytes(&t->dl), 6);
  DLManagedTensor *m = tn_tensor_to_dlpack(t);
  assert_int_equal(m->dl_tensor.dtype.code, kDLBool);
  assert_int_equal(m->dl_tensor.dtype.bits, 8);
  m->deleter(m);
  tn_release(t);
  p.legacy.dl_tensor.dtype.bits = 32;
  assert_null(tn_tensor_from_dlpack(&p.legacy));
  assert_error("ValueError", "from_dlpack.dtype: expected 8 bits for a bool, got 32");
  assert_int_equal(p.deleted, 1);
}

static void test_bad_dlpack_is_left_alone(void **state) {
  (void)state;
  producer p;
  producer_init(&p);
  DLTensor good = p.legacy.dl_tensor;
#define BAD(change, part)                                                                          \
  do {                                                                                             \
    p.legacy.dl_tensor = good;                                                                     \
    change;                                                                                        \
    assert_null(tn_tensor_from_dlpack(&p.legacy));                                                 \
    assert_error("ValueError", part);                                                              \
    assert_null(tn_tensor_from_dltensor(&p.legacy.dl_tensor, NULL));                               \
    assert_error("ValueError", strchr(part, '.'));                                                 \
  } while (0)
  BAD(p.legacy.dl_tensor.ndim = -1, "from_dlpack.ndim");
  BAD(p.legacy.dl_tensor.ndim = 1 << 30, "from_dlpack.ndim");
  BAD(p.legacy.dl_tensor.shape = NULL, "from_dlpack.shape: expected 2 extents, got NULL");
  BAD(p.legacy.dl_tensor.data = NULL, "from_dlpack.data: expected 6 bytes, got NULL");
  BAD(p.legacy.dl_tensor.dtype.bits = 0, "from_dlpack.dtype");
  BAD(p.legacy.dl_tensor.dtype.lanes = 0, "from_dlpack.dtype");
  BAD(p.legacy.dl_tensor.byte_offset = UINT64_MAX, "from_dlpack.byte_offset");
  p.shape[0] = -2;
  BAD((void)0, "from_dlpack.shape[0]: expected 0 or more, got -2");
  p.shape[0] = INT64_MAX;
  BAD((void)0, "from_dlpack.shape: the number of elements");
  p.shape[0] = 2;
  const int64_t far[] = {INT64_MAX, INT64_MIN, INT64_MAX / 2 + 2};
  for (int i = 0; i < 3; ++i) {
    p.strides[1] = far[i];
    BAD((void)0, "from_dlpack.strides[1]");
  }
  p.versioned.version.major = 2;
  assert_null(tn_tensor_from_dlpack_versioned(&p.versioned));
  assert_error("ValueError", "from_dlpack.version: expected DLPack 1, got 2.3");
  assert_null(tn_tensor_from_dlpack(NULL));
  assert_error("ValueError", "got NULL");
  assert_int_equal(p.deleted, 0);
}

static void test_to_dlpack_keeps_the_tensor(void **state) {
  (void)state;
  tn_tensor *t = counting(3, (int64_t[]){2, 1, 3});
  DLManagedTensor *m = tn_tensor_to_dlpack(t);
  assert_int_equal(tn_use_count(t), 2);
  assert_ptr_equal(m->dl_tensor.data, t->dl.data);
  assert_memory_equal(m->dl_tensor.strides, ((int64_t[]){3, 3, 1}), 24);
  DLManagedTensorVersioned *w = tn_tensor_to_dlpack_versioned(t);
  assert_int_equal(w->version.major, 1);
  assert_int_equal(w->flags, 0);
  tn_release(t);
  m->deleter(m);
  tn_tensor *back = tn_tensor_from_dlpack_versioned(w); /* taken over by the same library */
  assert_true(((float *)back->dl.data)[5] == 5.0F);
  tn_release(back);
}

/* ---- copies ---- */

static void test_copy_between_layouts(void **state) {
  (void)state;
  tn_tensor *t = counting(3, (int64_t[]){2, 3, 4});
  DLTensor turned = t->dl; /* axes in the order 2, 0, 1 */
  turned.shape = (int64_t[]){4, 2, 3};
  turned.strides = (int64_t[]){1, 12, 4};
  float out[24];
  assert_int_equal(tn_tensor_copy_to_bytes(&turned, out, sizeof out), 0);
  for (int i = 0, k = 0; i < 4; ++i)
    for (int j = 0; j < 2; ++j)
      for (int l = 0; l < 3; ++l) assert_true(out[k++] == (float)(12 * j + 4 * l + i));
  assert_int_equal(tn_tensor_copy_from_bytes(&turned, out, sizeof out), 0);
  for (int i = 0; i < 24; ++i) assert_true(((float *)t->dl.data)[i] == (float)i);
  DLTensor every_other = t->dl, zeros = t->dl; /* strided on both sides, with an offset */
  float room[24] = {0};
  every_other.shape = zeros.shape = (int64_t[]){3, 2};
  every_other.strides = (int64_t[]){8, 2};
  every_other.ndim = zeros.ndim = 2;
  every_other.byte_offset = 4;
  zeros.data = room;
  zeros.strides = (int64_t[]){2, 12};
  assert_int_equal(tn_tensor_copy(&every_other, &zeros), 0);
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 2; ++j) assert_true(room[2 * i + 12 * j] == (float)(1 + 8 * i + 2 * j));
  tn_release(t);
}

static void test_copy_of_every_item_size(void **state) {
  (void)state;
  const char *types[] = {"int8", "float16", "float32", "float64", "complex128", "int8x3", "bool"};
  for (int i = 0; i < TN_COUNT(types); ++i) {
    tn_tensor *t = make(parse(types[i]), 2, (int64_t[]){3, 5});
    int64_t n = tn_tensor_nbytes(&t->dl), item = n / 15;
    for (int64_t k = 0; k < n; ++k) ((uint8_t *)t->dl.data)[k] = (uint8_t)k;
    DLTensor turned = t->dl;
    turned.shape = (int64_t[]){5, 3};
    turned.strides = (int64_t[]){1, 5};
    uint8_t out[256];
    assert_int_equal(tn_tensor_copy_to_bytes(&turned, out, (size_t)n), 0);
    for (int64_t r = 0; r < 5; ++r)
      for (int64_t c = 0; c < 3; ++c)
        assert_memory_equal(out + (3 * r + c) * item, (char *)t->dl.data + (5 * c + r) * item,
                            (size_t)item);
    tn_release(t);
  }
}

static void test_copy_checks_its_sides(void **state) {
  (void)state;
  tn_tensor *a = counting(2, (int64_t[]){2, 3}), *b = counting(2, (int64_t[]){3, 2});
  tn_tensor *c = counting(1, (int64_t[]){5}), *d = make(TN_I32, 2, (int64_t[]){2, 3});
  assert_int_equal(tn_tensor_copy(&a->dl, &b->dl), 0); /* both compact, as many elements */
  assert_int_equal(tn_tensor_copy(&a->dl, &c->dl), -1);
  assert_error("ValueError", "copy: expected shape (5,), got (2, 3)");
  assert_int_equal(tn_tensor_copy(&a->dl, &d->dl), -1);
  assert_error("ValueError", "copy: expected dtype int32, got float32");
  DLTensor turned = a->dl;
  turned.shape = (int64_t[]){3, 2};
  turned.strides = (int64_t[]){1, 3};
  assert_int_equal(tn_tensor_copy(&turned, &a->dl), -1);
  assert_error("ValueError", "copy: expected shape (2, 3), got (3, 2)");
  assert_int_equal(tn_tensor_copy_from_bytes(&a->dl, "1234", 4), -1);
  assert_error("ValueError", "the tensor has 24 bytes, the memory 4");
  DLTensor packed = a->dl;
  packed.dtype = parse("int4");
  packed.strides = (int64_t[]){6, 2};
  char room[3];
  assert_int_equal(tn_tensor_copy_to_bytes(&packed, room, 3), -1);
  assert_error("NotImplementedError", "type int4, packed below a byte, must be compact");
  DLTensor cuda = a->dl;
  cuda.device = (tn_device){kDLCUDA, 0};
  assert_int_equal(tn_tensor_copy(&a->dl, &cuda), -1);
  assert_error("DeviceError", "device cuda (type 2) is not available");
  tn_release(a);
  tn_release(b);
  tn_release(c);
  tn_release(d);
}

static void test_clone(void **state) {
  (void)state;
  tn_tensor *t = counting(2, (int64_t[]){2, 3});
  DLTensor turned = t->dl;
  turned.shape = (int64_t[]){3, 2};
  turned.strides = (int64_t[]){1, 3};
  tn_tensor *c = tn_tensor_clone(&turned, cpu, "global");
  assert_null(c->dl.strides);
  assert_memory_equal(c->dl.data, ((float[]){0, 3, 1, 4, 2, 5}), 24);
  assert_null(tn_tensor_clone(&turned, (tn_device){kDLMetal, 0}, NULL));
  assert_error("DeviceError", "metal");
  tn_release(c);
  tn_release(t);
}

static void test_tensor_as_argument(void **state) {
  (void)state;
  tn_tensor *t = counting(1, (int64_t[]){2}), *out;
  const DLTensor *dl;
  tn_any a = tn_any_obj(t);
  assert_int_equal(tn_any_to_tensor(&a, &out), 0);
  assert_ptr_equal(out, t);
  assert_int_equal(tn_any_to_dltensor(&a, &dl), 0);
  assert_ptr_equal(dl, &t->dl);
  a.type_index = TN_DLTENSOR;
  a.v.dltensor = &t->dl;
  assert_int_equal(tn_any_to_dltensor(&a, &dl), 0);
  assert_ptr_equal(dl, &t->dl);
  DLTensor *to;
  assert_int_equal(tn_any_to_writable(&a, &to), 0);
  assert_ptr_equal(to, &t->dl);
  t->read_only = true;
  a = tn_any_obj(t);
  assert_int_equal(tn_any_to_dltensor(&a, &dl), 0);
  assert_int_equal(tn_any_to_writable(&a, &to), -1);
  assert_error("ValueError", "read-only");
  assert_int_equal(TVMArrayCopyFromBytes(&t->dl, (float[]){7, 8}, 8), -1);
  assert_non_null(strstr(TVMGetLastError(), "read-only"));
  tn_tensor *part = tn_tensor_from_dltensor(&t->dl, &t->hdr);
  assert_true(tn_tensor_is_read_only(part));
  tn_release(part);
  a = tn_any_int(3);
  assert_int_equal(tn_any_to_dltensor(&a, &dl), -1);
  assert_error("TypeError", "expected runtime.NDArray, got int");
  tn_release(t);
}

/* ---- out of memory ---- */

static int make_and_pass_on(void *ctx) {
  producer p;
  (void)ctx;
  producer_init(&p);
  p.strides[0] = 1, p.strides[1] = 2; /* with gaps, so that it is copied in a walk */
  tn_tensor *t = tn_tensor_from_dlpack(&p.legacy);
  if (!t) {
    assert_int_equal(p.deleted, 0); /* still the producer's */
    return -1;
  }
  tn_tensor *c = tn_tensor_clone(&t->dl, cpu, NULL);
  tn_tensor *v = c ? tn_tensor_view(c, (int64_t[]){3}, 1, parse("int8"), 3) : NULL;
  DLManagedTensor *m = v ? tn_tensor_to_dlpack(v) : NULL;
  DLManagedTensorVersioned *w = m ? tn_tensor_to_dlpack_versioned(t) : NULL;
  tn_release(v);
  tn_release(c);
  tn_release(t);
  if (m) m->deleter(m);
  assert_int_equal(p.deleted, w ? 0 : 1);
  if (w) w->deleter(w);
  assert_int_equal(p.deleted, 1);
  return w ? 0 : -1;
}

static void test_every_allocation_may_fail(void **state) {
  (void)state;
  assert_int_equal(fail_every_allocation(make_and_pass_on, NULL), 6);
}

static void test_refused_memory_is_an_error(void **state) {
  (void)state;
  failing_alloc a = {.most = 1 << 20, .countdown = -1};
  a.real = tn_set_allocator((tn_allocator){failing_alloc_fn, &a});
  tn_tensor *t = tn_tensor_new((int64_t[]){INT64_MAX / 128}, 1, TN_F64, cpu, NULL);
  assert_null(t);
  assert_error("MemoryError", "out of memory");
  t = tn_tensor_new((int64_t[]){INT64_MAX / 16}, 1, parse("int8"), cpu, NULL);
  assert_null(t);
  assert_error("MemoryError", "out of memory");
  tn_set_allocator(a.real);
  assert_int_equal(a.live, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_new_is_compact_and_aligned),
      cmocka_unit_test(test_bytes_of_every_dtype),
      cmocka_unit_test(test_scalar_and_empty),
      cmocka_unit_test(test_bad_shapes),
      cmocka_unit_test(test_view_shares_memory_and_keeps_it),
      cmocka_unit_test(test_view_stays_inside),
      cmocka_unit_test(test_from_dlpack_keeps_the_producer),
      cmocka_unit_test(test_from_dlpack_keeps_strides),
      cmocka_unit_test(test_nothing_at_no_address),
      cmocka_unit_test(test_bool_is_uint1_inside_and_bool_outside),
      cmocka_unit_test(test_bad_dlpack_is_left_alone),
      cmocka_unit_test(test_to_dlpack_keeps_the_tensor),
      cmocka_unit_test(test_copy_between_layouts),
      cmocka_unit_test(test_copy_of_every_item_size),
      cmocka_unit_test(test_copy_checks_its_sides),
      cmocka_unit_test(test_clone),
      cmocka_unit_test(test_tensor_as_argument),
      cmocka_unit_test(test_every_allocation_may_fail),
      cmocka_unit_test(test_refused_memory_is_an_error),
  };
  return cmocka_run_group_tests(tests, start_runtime, NULL);
}
