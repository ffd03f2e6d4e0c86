/* Analyses of tensor programs: variables, memory, regions, what a function does. */
#include "testing.h"

#include "ir/module.h"
#include "tenon/compiler.h"
#include "tenon/object.h"
#include "tir/analysis.h"
#include "tir/script/build.h"

static int start_compiler(void **state) {
  (void)state;
  return tn_compiler_init();
}

static const tn_PrimFunc *parse(const char *text) {
  ast_source src = {"test.py", text, (int)strlen(text), 1, 0};
  script_options opt = {0};
  tn_obj *program = script_parse(&src, &opt);
  if (!program) fail_msg("%s", tn_error_message());
  const tn_PrimFunc *f = TN_AS(PrimFunc, program);
  assert_non_null(f);
  return f;
}

static tn_IRModule *module_of(const tn_PrimFunc *f) {
  tn_IRModule *m = ir_module_new(NULL, NULL, NULL);
  assert_int_equal(ir_module_add(m, ir_global_var("main"), (tn_BaseFunc *)(uintptr_t)f, false), 0);
  return m;
}

static const char matmul[] =
    "@T.prim_func\n"
    "def main(A: T.Buffer((8, 4)), B: T.Buffer((8, 4)), C: T.Buffer((8, 8))):\n"
    "    for i, j, k in T.grid(8, 8, 4):\n"
    "        with T.block(\"C\"):\n"
    "            vi, vj, vk = T.axis.remap(\"SSR\", [i, j, k])\n"
    "            with T.init():\n"
    "                C[vi, vj] = T.float32(0)\n"
    "            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vj, vk]\n";

static void test_well_formed(void **state) {
  (void)state;
  TN_SCOPE(s);
  const tn_PrimFunc *f = parse(matmul);
  assert_int_equal(tir_check_well_formed((const tn_obj *)f, true), 0);
  assert_int_equal(tir_is_ssa((const tn_obj *)f), 1);
  const tn_arr *free_ = tir_undefined_vars((const tn_obj *)f->body, NULL);
  assert_int_equal(free_->len, 3);
  f = parse("@T.prim_func\ndef f(A: T.Buffer((8,))):\n    for i in range(8):\n"
            "        with T.block(\"B\"):\n            vi = T.axis.spatial(8, i)\n"
            "            A[vi] = A[i]\n");
  assert_int_equal(tir_check_well_formed((const tn_obj *)f, true), -1);
  assert_error("ValueError", "Loop iterator var i is defined outside of any block");
  f = parse("@T.prim_func\ndef f():\n    x = T.int32()\n    T.evaluate(x)\n");
  assert_int_equal(tir_check_well_formed((const tn_obj *)f, false), -1);
  assert_error("ValueError", "undefined variable x at <root>.body.value");
}

static void test_memory(void **state) {
  (void)state;
  TN_SCOPE(s);
  int64_t bytes;
  const tn_PrimFunc *f = parse("@T.prim_func\ndef f():\n"
                               "    C = T.allocate_const([1, 2, 3], \"int32\", [3])\n"
                               "    A = T.allocate([32], \"float32\", \"shared\")\n"
                               "    for i in range(3):\n"
                               "        D = T.allocate([100], \"int8\")\n"
                               "        T.evaluate(D)\n"
                               "    E = T.allocate([200], \"int8\")\n"
                               "    T.evaluate(E)\n");
  assert_int_equal(tir_workspace_bytes(f, 1), 200);
  assert_int_equal(tir_workspace_bytes(f, 64), 256);
  assert_int_equal(tir_constant_bytes(f, 16, &bytes), 0);
  assert_int_equal(bytes, 16);
  const tn_map *sizes = tir_allocated_bytes(f);
  assert_int_equal(((const tn_IntImm *)tn_map_find(sizes, "shared"))->value, 128);
  assert_int_equal(((const tn_IntImm *)tn_map_find(sizes, "global"))->value, 212);
}

static void test_work(void **state) {
  (void)state;
  TN_SCOPE(s);
  double flops;
  const tn_PrimFunc *f = parse(matmul);
  assert_int_equal(tir_estimate_flops((const tn_obj *)f, &flops), 0);
  assert_true(flops == 2 * 8 * 8 * 4);
  assert_false(tir_is_pure_func(f));
  assert_true(tir_is_pure_func(parse("@T.prim_func\ndef f(x: T.int32):\n    T.ret(x + 1)\n")));
  assert_string_equal(tn_cstr(tir_anchor_block(module_of(f))->name_hint), "C");
}

static void test_accesses(void **state) {
  (void)state;
  TN_SCOPE(s);
  const tn_PrimFunc *f = parse(matmul);
  __attribute__((cleanup(tir_access_lca_fini))) tir_access_lca uses = {0};
  assert_int_equal(tir_access_lca_find(f, true, &uses), 0);
  assert_int_equal(uses.buffers.len, 3);
  const tn_For *loop = tn_pmap_get(&uses.node, uses.buffers.items[2].v.obj);
  assert_string_equal(tn_cstr(loop->loop_var->name), "j");
  const tn_Block *block = tir_anchor_block(module_of(f));
  tir_block_regions regions;
  assert_int_equal(tir_block_access(block, tn_scope_own(tn_map_new()), &regions), 0);
  assert_int_equal(regions.reads->len, 2);
  assert_int_equal(regions.writes->len, 1);
  assert_int_equal(regions.opaque->len, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_well_formed),
      cmocka_unit_test(test_memory),
      cmocka_unit_test(test_work),
      cmocka_unit_test(test_accesses),
  };
  return cmocka_run_group_tests(tests, start_compiler, NULL);
}
