/* Sequences and optional values: places, tensors that do not fit, running out of memory. */
#include "failing_alloc.h"

#include "object/containers.h"
#include "runtime/tensor/tensor.h"
#include "runtime/vm/machine.h"

static tn_tensor *floats(int64_t rows, int64_t columns, float from) {
  const int64_t shape[] = {rows, columns};
  tn_tensor *t = tn_tensor_new(shape, 2, (tn_dtype){kDLFloat, 32, 1}, (tn_device){kDLCPU, 0}, NULL);
  for (int64_t i = 0; t && i < rows * columns; ++i) ((float *)t->dl.data)[i] = from + (float)i;
  return t;
}

static int call(const char *name, const tn_any *args, int32_t n, tn_any *ret) {
  *ret = tn_any_none();
  return tn_vm_value_call(tn_vm_value_function(name), args, n, ret);
}

/* Two tensors, [1, 2] and [2, 2]. */
static tn_tuple *pair(void) {
  tn_any parts[] = {tn_any_obj(floats(1, 2, 0)), tn_any_obj(floats(2, 2, 2))};
  tn_tuple *s = parts[0].v.obj && parts[1].v.obj ? tn_tuple_new(0, parts, 2) : NULL;
  for (int i = 0; i < 2; ++i) tn_any_release(&parts[i]);
  return s;
}

static const tn_tuple *tuple_of(const tn_any *a) { return (const tn_tuple *)a->v.obj; }

static void test_places(void **state) {
  (void)state;
  tn_tuple *s = pair();
  tn_any ret, args[] = {tn_any_obj(s), s->fields[1], tn_any_int(-2)};
  assert_int_equal(call("sequence.insert", args, 3, &ret), 0);
  assert_int_equal(tuple_of(&ret)->len, 3);
  assert_ptr_equal(tuple_of(&ret)->fields[0].v.obj, s->fields[1].v.obj);
  tn_any_release(&ret);
  args[2] = tn_any_int(3);
  assert_int_equal(call("sequence.insert", args, 3, &ret), -1);
  assert_error("IndexError", "position 3 is out of range of 2 elements");
  args[1] = tn_any_int(0);
  assert_int_equal(call("sequence.erase", args, 2, &ret), 0);
  assert_int_equal(tuple_of(&ret)->len, 1);
  tn_any_release(&ret);
  args[1] = tn_any_int(2);
  assert_int_equal(call("sequence.at", args, 2, &ret), -1);
  assert_error("IndexError", "position 2");
  assert_int_equal(call("sequence.at", args, 1, &ret), -1);
  assert_error("ValueError", "sequence.at: 1 arguments, expected 2");
  assert_int_equal(call("sequence.length", &s->fields[0], 1, &ret), -1);
  assert_error("TypeError", "expected a sequence, got runtime.NDArray");
  assert_null(tn_vm_value_function("sequence.sort"));
  tn_release(s);
}

static void test_put_together(void **state) {
  (void)state;
  tn_tuple *s = pair();
  tn_any ret, args[] = {tn_any_obj(s), tn_any_int(0), tn_any_int(0)};
  assert_int_equal(call("sequence.concat", args, 3, &ret), 0);
  const tn_tensor *t = (const tn_tensor *)ret.v.obj;
  assert_true(t->dl.shape[0] == 3 && t->dl.shape[1] == 2);
  for (int i = 0; i < 6; ++i) assert_true(((const float *)t->dl.data)[i] == (float)i);
  tn_any_release(&ret);
  args[1] = tn_any_int(1);
  assert_int_equal(call("sequence.concat", args, 3, &ret), -1);
  assert_error("ValueError", "element 1 does not fit the first");
  args[1] = tn_any_int(-4);
  assert_int_equal(call("sequence.concat", args, 3, &ret), -1);
  assert_error("ValueError", "axis -4 is out of range of 2 dimensions");
  tn_tuple *empty = tn_tuple_new(0, NULL, 0);
  args[0] = tn_any_obj(empty);
  assert_int_equal(call("sequence.concat", args, 3, &ret), -1);
  assert_error("ValueError", "without elements");
  tn_release(empty);
  tn_release(s);
}

static void test_taken_apart(void **state) {
  (void)state;
  tn_tensor *x = floats(2, 3, 0), *sizes = NULL;
  const int64_t two = 2;
  const int32_t parts[] = {2, 1}, wrong[] = {-1, 4};
  sizes = tn_tensor_new(&two, 1, (tn_dtype){kDLInt, 32, 1}, (tn_device){kDLCPU, 0}, NULL);
  memcpy(sizes->dl.data, parts, sizeof parts);
  tn_any ret, args[] = {tn_any_obj(x), tn_any_obj(sizes), tn_any_int(1), tn_any_int(1)};
  assert_int_equal(call("sequence.split", args, 4, &ret), 0);
  const tn_tensor *last = (const tn_tensor *)tuple_of(&ret)->fields[1].v.obj;
  assert_true(tuple_of(&ret)->len == 2 && last->dl.shape[0] == 2 && last->dl.shape[1] == 1);
  assert_true(((const float *)last->dl.data)[0] == 2 && ((const float *)last->dl.data)[1] == 5);
  tn_any_release(&ret);
  memcpy(sizes->dl.data, wrong, sizeof wrong);
  assert_int_equal(call("sequence.split", args, 4, &ret), -1);
  assert_error("ValueError", "do not come to the extent, 3");
  memcpy(sizes->dl.data, parts, sizeof parts);
  args[3] = tn_any_int(0); /* without the axis there is room for one row of it */
  assert_int_equal(call("sequence.split", args, 4, &ret), -1);
  assert_error("ValueError", "without the axis, are not 1");
  sizes->dl.dtype.lanes = 4;
  assert_int_equal(call("sequence.split", args, 4, &ret), -1);
  assert_error("TypeError", "must be a scalar or a vector of int64");
  sizes->dl.dtype.lanes = 1;
  tn_release(x);
  tn_release(sizes);
}

/* So many parts that their sizes take more bytes than can be counted. */
static void test_more_parts_than_memory(void **state) {
  (void)state;
  const int64_t extents[] = {0, (int64_t)1 << 61}, each = 1;
  tn_tensor *x =
      tn_tensor_new(extents, 2, (tn_dtype){kDLFloat, 32, 1}, (tn_device){kDLCPU, 0}, NULL);
  tn_tensor *size = tn_tensor_new(NULL, 0, (tn_dtype){kDLInt, 64, 1}, (tn_device){kDLCPU, 0}, NULL);
  memcpy(size->dl.data, &each, sizeof each);
  tn_any ret, args[] = {tn_any_obj(x), tn_any_obj(size), tn_any_int(1), tn_any_int(1)};
  assert_int_equal(call("sequence.split", args, 4, &ret), -1);
  assert_string_equal(tn_error_class(), "MemoryError");
  tn_error_clear();
  tn_release(x);
  tn_release(size);
}

static void test_missing(void **state) {
  (void)state;
  tn_any ret, none = tn_any_none();
  assert_int_equal(call("optional.has", &none, 1, &ret), 0);
  assert_int_equal(*(uint8_t *)((tn_tensor *)ret.v.obj)->dl.data, 0);
  tn_any_release(&ret);
  assert_int_equal(call("optional.get", &none, 1, &ret), -1);
  assert_error("ValueError", "it is None");
  tn_tensor *x = floats(2, 3, 0);
  tn_any args[] = {tn_any_obj(x), tn_any_int(-1), tn_any_int(4)};
  assert_int_equal(call("value.narrow", args, 3, &ret), -1);
  assert_error("ValueError", "extent 1 is 3, where the model states 4");
  assert_int_equal(call("value.narrow", args, 2, &ret), -1);
  assert_error("ValueError", "a tensor of 2 dimensions, where the model states 1");
  tn_release(x);
}

/* A pair of pairs of pairs ... of one tensor that the caller has too: 2^40 leaves, 40 pairs. */
static tn_tuple *pairs(const tn_tensor *x, int depth) {
  tn_obj *o = (tn_obj *)(uintptr_t)x;
  tn_retain(o);
  for (int i = 0; i < depth && o; ++i) {
    tn_any both[] = {tn_any_obj(o), tn_any_obj(o)};
    tn_obj *next = (tn_obj *)tn_tuple_new(0, both, 2);
    tn_release(o);
    o = next;
  }
  return (tn_tuple *)o;
}

static void test_results_nobody_else_sees(void **state) {
  (void)state;
  tn_tensor *x = floats(2, 3, 0), *own;
  tn_any value = tn_any_obj(pairs(x, 40));
  assert_int_equal(tn_unshare(&value), 0);
  const tn_tuple *t = tuple_of(&value);
  for (int i = 0; i < 39; ++i, t = (const tn_tuple *)t->fields[1].v.obj)
    assert_ptr_equal(t->fields[0].v.obj, t->fields[1].v.obj);
  own = (tn_tensor *)t->fields[0].v.obj;
  assert_ptr_not_equal(own, x);
  assert_memory_equal(own->dl.data, x->dl.data, 24);
  assert_int_equal(tn_use_count(x), 1);
  tn_any_release(&value);

  value = tn_any_obj(tn_tensor_view(x, (int64_t[]){6}, 1, x->dl.dtype, 0)); /* memory of x */
  assert_int_equal(tn_unshare(&value), 0);
  assert_ptr_not_equal(((tn_tensor *)value.v.obj)->dl.data, x->dl.data);
  tn_any_release(&value);
  void *data = x->dl.data;
  value = tn_any_obj(tn_tensor_view(x, (int64_t[]){6}, 1, x->dl.dtype, 0));
  tn_release(x); /* now its only user */
  assert_int_equal(tn_unshare(&value), 0);
  assert_ptr_equal(((tn_tensor *)value.v.obj)->dl.data, data);
  tn_any_release(&value);
}

static int unshare_pairs(void *ctx) {
  tn_tensor *x = floats(2, 3, 0);
  tn_any value = tn_any_obj(x ? pairs(x, 3) : NULL);
  (void)ctx;
  int err = value.v.obj ? tn_unshare(&value) : -1;
  tn_any_release(&value);
  tn_release(x);
  return err;
}

static void test_unsharing_without_memory(void **state) {
  (void)state;
  assert_true(fail_every_allocation(unshare_pairs, NULL) > 5);
}

static int use_all(void *ctx) {
  tn_tuple *s = pair();
  tn_any ret, args[] = {tn_any_obj(s), tn_any_int(0), tn_any_int(0), tn_any_int(1)};
  (void)ctx;
  if (!s) return -1;
  int err = call("sequence.concat", args, 3, &ret);
  tn_any whole = ret;
  tn_any one = {0};
  if (!err && (err = call("sequence.length", args, 1, &one)) == 0) {
    tn_any split[] = {whole, one, tn_any_int(0), tn_any_int(1)};
    err = call("sequence.split", split, 4, &ret);
    if (!err) tn_any_release(&ret);
  }
  tn_any_release(&one);
  if (!err && (err = call("sequence.erase", args, 2, &ret)) == 0) tn_any_release(&ret);
  tn_any_release(&whole);
  tn_release(s);
  return err;
}

static void test_no_memory(void **state) {
  (void)state;
  assert_true(fail_every_allocation(use_all, NULL) > 5);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_places),
      cmocka_unit_test(test_put_together),
      cmocka_unit_test(test_taken_apart),
      cmocka_unit_test(test_missing),
      cmocka_unit_test(test_results_nobody_else_sees),
      cmocka_unit_test(test_unsharing_without_memory),
      cmocka_unit_test(test_more_parts_than_memory),
      cmocka_unit_test(test_no_memory),
  };
  return cmocka_run_group_tests(tests, start_runtime, NULL);
}
