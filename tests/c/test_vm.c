/* The virtual machine: reading and writing executables, running, running out of memory. */
#include "failing_alloc.h"

#include <string.h>

#include "graph_module.h"
#include "runtime/tensor/tensor.h"
#include "runtime/vm/machine.h"
#include "tenon/object.h"

static const tn_device cpu = {kDLCPU, 0};

#define F32 kDLFloat, 32, 1
#define I64 kDLInt, 64, 1

/* main(x: float32[4]) = Cons(add1(x), Cons(2 x, ())) by a closure and a call; deep(x) calls itself
 */
static int fill(tn_vm_exe *x) {
  static const char *const names[] = {"x", "y"};
  static const int64_t main_code[] = {TN_VM_LOAD_CONSTI,
                                      1,
                                      16,
                                      TN_VM_ALLOC_STORAGE,
                                      2,
                                      1,
                                      64,
                                      F32,
                                      0,
                                      TN_VM_ALLOC_TENSOR,
                                      3,
                                      2,
                                      0,
                                      F32,
                                      1,
                                      4,
                                      TN_VM_INVOKE_PACKED,
                                      0,
                                      1,
                                      2,
                                      0,
                                      3,
                                      TN_VM_ALLOC_CLOSURE,
                                      4,
                                      1,
                                      1,
                                      3,
                                      TN_VM_INVOKE_CLOSURE,
                                      5,
                                      4,
                                      1,
                                      0,
                                      TN_VM_RET,
                                      5};
  static const int64_t pair[] = {TN_VM_SHAPE_OF,
                                 2,
                                 1,
                                 TN_VM_ALLOC_STORAGE,
                                 3,
                                 2,
                                 64,
                                 F32,
                                 0,
                                 TN_VM_ALLOC_TENSOR_REG,
                                 4,
                                 3,
                                 0,
                                 F32,
                                 2,
                                 TN_VM_INVOKE_PACKED,
                                 1,
                                 1,
                                 2,
                                 1,
                                 4,
                                 TN_VM_ALLOC_ADT,
                                 5,
                                 7,
                                 0,
                                 TN_VM_ALLOC_ADT,
                                 6,
                                 9,
                                 2,
                                 4,
                                 5,
                                 TN_VM_ALLOC_ADT,
                                 7,
                                 9,
                                 2,
                                 0,
                                 6,
                                 TN_VM_RET,
                                 7};
  static const int64_t deep[] = {TN_VM_INVOKE, 1, 2, 1, 0, TN_VM_MOVE, 2, 1, TN_VM_RET, 2};
  static const int64_t loop[] = {TN_VM_INVOKE, 1, 3, 1, 0, TN_VM_RET, 1};
  TN_TRY(tn_vm_add_device(x, cpu, "") < 0);
  TN_TRY(tn_vm_add_primitive(x, "add1") < 0 || tn_vm_add_primitive(x, "twice") < 0);
  TN_TRY(
      tn_vm_add_function(x, "main", 1, names) < 0 || tn_vm_add_function(x, "pair", 2, names) < 0 ||
      tn_vm_add_function(x, "deep", 1, names) < 0 || tn_vm_add_function(x, "loop", 1, names) < 0);
  TN_TRY(tn_vm_set_code(x, 0, 6, main_code, TN_COUNT(main_code)));
  TN_TRY(tn_vm_set_code(x, 1, 8, pair, TN_COUNT(pair)));
  TN_TRY(tn_vm_set_code(x, 2, 3, deep, TN_COUNT(deep)));
  TN_TRY(tn_vm_set_code(x, 3, 2, loop, TN_COUNT(loop)));
  static const int64_t extents[] = {4, -1};
  static const tn_vm_type types[] = {{{F32}, 1, 0, extents}, {{0, 0, 0}, 0, 0, NULL}};
  TN_TRY(tn_vm_set_types(x, 0, types, 2));
  return tn_vm_verify(x);
}

static tn_vm_exe *new_exe(void) {
  tn_vm_exe *x = tn_vm_exe_new();
  if (!x || fill(x) == 0) return x;
  tn_vm_exe_free(x);
  return NULL;
}

static tn_vm_machine *new_machine(tn_vm_exe *x) {
  const int pooled = TN_VM_POOLED;
  tn_module *lib = x ? graph_module() : NULL, *exe;
  if (x && !lib) tn_vm_exe_free(x);
  if (!lib) return NULL;
  exe = tn_vm_module_new(x, lib);
  tn_release(lib);
  tn_vm_machine *m = exe ? tn_vm_machine_new(exe, &cpu, &pooled, 1) : NULL;
  tn_release(exe);
  return m;
}

static tn_tensor *four(void) {
  const int64_t n = 4;
  tn_tensor *t = tn_tensor_new(&n, 1, (tn_dtype){F32}, cpu, NULL);
  for (int i = 0; t && i < 4; ++i) ((float *)t->dl.data)[i] = (float)i;
  return t;
}

static float at(const tn_any *list, int depth, int i) {
  const tn_tuple *t = (const tn_tuple *)list->v.obj;
  while (depth-- > 0) t = (const tn_tuple *)t->fields[1].v.obj;
  return ((const float *)((const tn_tensor *)t->fields[0].v.obj)->dl.data)[i];
}

static void test_run(void **state) {
  (void)state;
  tn_vm_machine *m = new_machine(new_exe());
  tn_tensor *t = four();
  tn_any x = tn_any_obj(t), ret = tn_any_none();
  assert_non_null(m);
  assert_int_equal(tn_vm_run(m, tn_vm_find(m->x, "main"), &x, 1, &ret), 0);
  assert_int_equal(ret.type_index, TN_TI_ADT);
  assert_int_equal(((const tn_tuple *)ret.v.obj)->tag, 9);
  assert_true(at(&ret, 0, 3) == 4 && at(&ret, 1, 3) == 6);
  tn_any_release(&ret);
  tn_vm_machine_free(m);
  tn_release(t);
}

static void test_limits(void **state) {
  (void)state;
  tn_vm_machine *m = new_machine(new_exe());
  tn_tensor *t = four();
  tn_any x = tn_any_obj(t), ret = tn_any_none();
  m->max_depth = 50;
  m->max_calls = 1000;
  assert_int_equal(tn_vm_run(m, tn_vm_find(m->x, "deep"), &x, 1, &ret), -1);
  assert_error("RuntimeError", "nested more than 50 deep");
  assert_int_equal(tn_vm_run(m, tn_vm_find(m->x, "loop"), &x, 1, &ret), -1);
  assert_error("RuntimeError", "more than 1000 calls without a return");
  assert_int_equal(tn_vm_run(m, tn_vm_find(m->x, "main"), &x, 0, &ret), -1);
  assert_error("ValueError", "expected 1 arguments, got 0");
  assert_int_equal(tn_vm_run(m, tn_vm_find(m->x, "main"), &x, 1, &ret), 0);
  tn_any_release(&ret);
  tn_vm_machine_free(m);
  tn_release(t);
}

static void test_types(void **state) {
  (void)state;
  tn_vm_machine *m = new_machine(new_exe());
  const int64_t extents[] = {2, 2};
  tn_tensor *wrong = tn_tensor_new(extents, 2, (tn_dtype){F32}, cpu, NULL);
  tn_any x = tn_any_obj(wrong), ret = tn_any_none();
  assert_non_null(m);
  assert_int_equal(tn_vm_run(m, tn_vm_find(m->x, "main"), &x, 1, &ret), -1);
  assert_error("ShapeError",
               "main(): parameter x: expected float32 of shape (4,), got float32 of shape (2, 2)");
  tn_vm_machine_free(m);
  tn_release(wrong);
}

static tn_vm_exe *exe_of_code(const int64_t *code, int64_t n, int32_t nreg) {
  static const char *const names[] = {"x"};
  tn_vm_exe *x = tn_vm_exe_new();
  assert_true(tn_vm_add_device(x, cpu, "") == 0 && tn_vm_add_function(x, "main", 1, names) == 0);
  assert_int_equal(tn_vm_set_code(x, 0, nreg, code, n), 0);
  return x;
}

/* A condition on a number of 248 bits: verified bytecode must not write its 31 bytes to a word. */
static void test_numbers_larger_than_a_word(void **state) {
  (void)state;
  static const int64_t code[] = {TN_VM_LOAD_CONSTI, 1, 1,         TN_VM_IF, 0, 1, 1, 2,
                                 TN_VM_RET,         0, TN_VM_RET, 1};
  tn_vm_exe *x = exe_of_code(code, TN_COUNT(code), 2);
  assert_int_equal(tn_vm_verify(x), 0);
  tn_vm_machine *m = new_machine(x);
  const uint8_t bits[] = {248, 128, 24, 12};
  for (int i = 0; i < TN_COUNT(bits); ++i) {
    tn_tensor *t = tn_tensor_new(NULL, 0, (tn_dtype){kDLInt, bits[i], 1}, cpu, NULL);
    memset(t->dl.data, 1, (size_t)tn_tensor_nbytes(&t->dl));
    tn_any ret, arg = tn_any_obj(t);
    assert_int_equal(tn_vm_run(m, 0, &arg, 1, &ret), -1);
    assert_error("TypeError", "expected a whole number or bool");
    tn_release(t);
  }
  tn_vm_machine_free(m);
}

/* Code reads whole words where a tensor lies. */
static void test_offsets_of_tensors(void **state) {
  (void)state;
  int64_t code[] = {TN_VM_LOAD_CONSTI,
                    1,
                    64,
                    TN_VM_ALLOC_STORAGE,
                    2,
                    1,
                    64,
                    I64,
                    0,
                    TN_VM_ALLOC_TENSOR,
                    3,
                    2,
                    4,
                    I64,
                    1,
                    2,
                    TN_VM_RET,
                    3};
  tn_vm_exe *x = exe_of_code(code, TN_COUNT(code), 4);
  assert_int_equal(tn_vm_verify(x), -1);
  assert_error("ValueError", "a tensor at offset 4");
  tn_vm_exe_free(x);
}

static void test_closures_are_not_saved_as_data(void **state) {
  (void)state;
  static const int64_t code[] = {TN_VM_ALLOC_CLOSURE, 1, 0, 0, TN_VM_RET, 1};
  tn_vm_machine *m = new_machine(exe_of_code(code, TN_COUNT(code), 2));
  tn_tensor *t = four();
  tn_any closure, ret, arg = tn_any_obj(t);
  assert_int_equal(tn_vm_run(m, 0, &arg, 1, &closure), 0);
  assert_null(tn_json_save(closure));
  assert_error("TypeError", "vm.Closure has no JSON form");
  tn_any_release(&closure);
  static const char text[] = "{\"root\": 1, \"nodes\": [{\"type_key\": \"\"}, {\"type_key\": "
                             "\"vm.Closure\", \"attrs\": {\"tag\": \"7\"}}], \"b64ndarrays\": []}";
  assert_int_equal(tn_json_load(text, sizeof text - 1, &ret), -1);
  assert_error("ValueError", "objects of this type are not saved in JSON");
  tn_release(t);
  tn_vm_machine_free(m);
}

static void test_save_and_load(void **state) {
  (void)state;
  tn_vm_exe *x = new_exe();
  tn_bytes *code = tn_vm_save(x);
  assert_non_null(code);
  tn_vm_exe *again = tn_vm_load(code->data, code->len);
  assert_non_null(again);
  tn_bytes *same = tn_vm_save(again);
  assert_int_equal(same->len, code->len);
  assert_memory_equal(same->data, code->data, code->len);
  for (size_t n = 0; n < code->len; ++n) {
    assert_null(tn_vm_load(code->data, n));
    tn_error_clear();
  }
  tn_release(same);
  tn_release(code);
  tn_vm_exe_free(again);
  tn_vm_exe_free(x);
}

/* Code that is not code, and what is said of it. */
static void test_verify(void **state) {
  (void)state;
  static const struct {
    int64_t code[8];
    int n;
    const char *text;
  } cases[] = {
      {{TN_VM_RET, 3}, 2, "unknown register 3"},
      {{TN_VM_MOVE, 0, 0}, 3, "ends without ret"},
      {{TN_VM_RET, -1}, 2, "unknown register -1"},
      {{TN_VM_LOAD_CONST, 0, 0, TN_VM_RET, 0}, 5, "unknown constant 0"},
      {{TN_VM_INVOKE, 0, 9, 0, TN_VM_RET, 0}, 6, "unknown function 9"},
      {{TN_VM_INVOKE, 0, 0, 0, TN_VM_RET, 0}, 6, "with 0 arguments, it has 1"},
      {{TN_VM_INVOKE_PACKED, 0, 0, 0, TN_VM_RET, 0}, 6, "unknown primitive 0"},
      {{TN_VM_ALLOC_SCALAR, 0, 3, 64, 1, TN_VM_RET, 0}, 7, "not a data type"},
      {{TN_VM_ALLOC_ADT, 0, -1, 0, TN_VM_RET, 0}, 6, "unknown tag -1"},
  };
  static const char *const names[] = {"x"};
  for (int i = 0; i < TN_COUNT(cases); ++i) {
    tn_vm_exe *x = tn_vm_exe_new();
    assert_true(tn_vm_add_device(x, cpu, "") == 0 && tn_vm_add_function(x, "f", 1, names) == 0);
    assert_int_equal(tn_vm_set_code(x, 0, 1, cases[i].code, cases[i].n), 0);
    assert_int_equal(tn_vm_verify(x), -1);
    assert_error("ValueError", cases[i].text);
    tn_vm_exe_free(x);
  }
  static const int64_t cut[] = {TN_VM_INVOKE, 0, 0, 5, 1}, back[] = {TN_VM_GOTO, 0, TN_VM_RET, 0},
                       far[] = {TN_VM_GOTO, 2, TN_VM_RET, 0}, none[] = {99};
  tn_vm_exe *x = tn_vm_exe_new();
  assert_int_equal(tn_vm_add_function(x, "f", 1, names), 0);
  assert_int_equal(tn_vm_set_code(x, 0, 1, cut, 5), -1);
  assert_error("ValueError", "is cut off");
  assert_int_equal(tn_vm_set_code(x, 0, 1, back, 4), -1);
  assert_error("ValueError", "jumps by 0");
  assert_int_equal(tn_vm_set_code(x, 0, 1, far, 4), -1);
  assert_error("ValueError", "jumps by 2");
  assert_int_equal(tn_vm_set_code(x, 0, 1, none, 1), -1);
  assert_error("ValueError", "unknown instruction 99");
  tn_vm_exe_free(x);
}

/* ---- out of memory ---- */

static int make_and_run(void *ctx) {
  tn_vm_machine *m = new_machine(new_exe());
  tn_any ret = tn_any_none(), x = tn_any_obj(ctx);
  if (!m) return -1;
  int err = tn_vm_run(m, 0, &x, 1, &ret);
  tn_any_release(&ret);
  tn_vm_machine_free(m);
  return err;
}

static int load_and_save(void *ctx) {
  const tn_bytes *code = ctx;
  tn_vm_exe *x = tn_vm_load(code->data, code->len);
  if (!x) return -1;
  tn_bytes *again = tn_vm_save(x);
  tn_str *text = again ? tn_vm_text_bytecode(x) : NULL;
  tn_release(again);
  tn_release(text);
  tn_vm_exe_free(x);
  return text ? 0 : -1;
}

static void test_no_memory(void **state) {
  (void)state;
  tn_tensor *t = four();
  tn_vm_exe *x = new_exe();
  tn_bytes *code = tn_vm_save(x);
  assert_true(fail_every_allocation(make_and_run, t) > 20);
  assert_true(fail_every_allocation(load_and_save, code) > 20);
  tn_release(code);
  tn_vm_exe_free(x);
  tn_release(t);
}

/* A call that fails for want of memory leaves a machine that works. */
static void test_usable_after_no_memory(void **state) {
  (void)state;
  tn_vm_machine *m = new_machine(new_exe());
  tn_tensor *t = four();
  tn_any x = tn_any_obj(t), ret = tn_any_none();
  for (int64_t n = 0;; ++n) {
    failing_alloc a = {.countdown = n, .most = SIZE_MAX};
    a.real = tn_set_allocator((tn_allocator){failing_alloc_fn, &a});
    int err = tn_vm_run(m, 0, &x, 1, &ret);
    tn_set_allocator(a.real);
    if (!err) break;
    assert_error("MemoryError", "");
  }
  assert_true(at(&ret, 1, 3) == 6);
  tn_any_release(&ret);
  tn_vm_machine_free(m);
  tn_release(t);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_run),
      cmocka_unit_test(test_limits),
      cmocka_unit_test(test_types),
      cmocka_unit_test(test_numbers_larger_than_a_word),
      cmocka_unit_test(test_offsets_of_tensors),
      cmocka_unit_test(test_closures_are_not_saved_as_data),
      cmocka_unit_test(test_save_and_load),
      cmocka_unit_test(test_verify),
      cmocka_unit_test(test_no_memory),
      cmocka_unit_test(test_usable_after_no_memory),
  };
  return cmocka_run_group_tests(tests, start_runtime, NULL);
}
