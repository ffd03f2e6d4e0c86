/* TVMScript printer: programs built in C and their exact text. */
#include "testing.h"

#include "ir/expr.h"
#include "ir/module.h"
#include "tenon/compiler.h"
#include "tir/script/printer.h"
#include "tir/tir.h"

static int start_compiler(void **state) {
  (void)state;
  return tn_compiler_init();
}

static tn_arr *exprs(int n, ...) {
  TN_VEC(v);
  va_list ap;
  va_start(ap, n);
  for (int i = 0; i < n; ++i) tn_vec_push_obj(&v, va_arg(ap, void *));
  va_end(ap);
  return tn_arr_from(&v);
}

static tn_BufferRegion *point(tn_Buffer *b, tn_expr *i, tn_expr *j) {
  return TN_NEW(BufferRegion, .buffer = b,
                .region = exprs(2, tir_range(i, tir_i32(1)), tir_range(j, tir_i32(1))));
}

static tn_stmt *loop(tn_Var *v, int n, tn_stmt *body) {
  return (tn_stmt *)TN_NEW(For, .loop_var = v, .min = tir_i32(0), .extent = tir_i32(n),
                           .kind = TIR_FOR_SERIAL, .body = body,
                           .annotations = tn_scope_own(tn_map_new()));
}

static tn_PrimFunc *function(int n, tn_Buffer *const *buffers, tn_stmt *body) {
  TN_VEC(params);
  tn_map *map = tn_scope_own(tn_map_new());
  for (int i = 0; i < n; ++i) {
    tn_Var *v = tir_var(tn_cstr(buffers[i]->name), TN_HANDLE);
    tn_vec_push_obj(&params, v);
    tn_map_set(map, tn_any_obj(v), tn_any_obj(buffers[i]));
  }
  tn_map *attrs = tn_scope_own(tn_map_new());
  tn_map_set(attrs, tn_any_cstr("global_symbol"), tn_any_cstr("main"));
  tn_map_set(attrs, tn_any_cstr("tir.noalias"), tn_any_obj(tir_bool(true)));
  return TN_NEW(PrimFunc, .params = tn_arr_from(&params), .buffer_map = map, .body = body,
                .attrs = ir_attrs_new(attrs));
}

static tn_PrimFunc *matmul(void) {
  tn_arr *shape = exprs(2, tir_i32(137), tir_i32(137)), *none = exprs(0);
  tn_Buffer *X = tir_buffer(shape, TN_F32, "X", ""), *Y = tir_buffer(shape, TN_F32, "Y", "");
  tn_Buffer *Z = tir_buffer(shape, TN_F32, "compute", "");
  const char *names[] = {"i", "j", "k"}, *vnames[] = {"v_i", "v_j", "v_k"};
  tn_Var *l[3], *v[3];
  TN_VEC(iters);
  for (int i = 0; i < 3; ++i) {
    l[i] = tir_var(names[i], TN_I32);
    v[i] = tir_var(vnames[i], TN_I32);
    ir_iter_type t = i == 2 ? IR_ITER_COMM_REDUCE : IR_ITER_DATA_PAR;
    tn_vec_push_obj(&iters, tir_iter_var(tir_range(tir_i32(0), tir_i32(137)), v[i], t, ""));
  }
  tn_expr *i = (tn_expr *)v[0], *j = (tn_expr *)v[1], *k = (tn_expr *)v[2];
  tn_arr *at = exprs(2, i, j);
  tn_expr *product = tir_mul(tir_load(X, exprs(2, i, k)), tir_load(Y, exprs(2, k, j)));
  tn_map *empty = tn_scope_own(tn_map_new());
  tn_Block *block =
      TN_NEW(Block, .iter_vars = tn_arr_from(&iters),
             .reads = exprs(2, point(X, i, k), point(Y, k, j)), .writes = exprs(1, point(Z, i, j)),
             .name_hint = tn_str_from("compute"), .alloc_buffers = none, .match_buffers = none,
             .annotations = empty, .init = tir_store(Z, tir_f32(0), at),
             .body = tir_store(Z, tir_add(tir_load(Z, at), product), at));
  tn_BlockRealize *realize = TN_NEW(BlockRealize, .iter_values = exprs(3, l[0], l[1], l[2]),
                                    .predicate = tir_bool(true), .block = block);
  tn_stmt *nest = loop(l[0], 137, loop(l[1], 137, loop(l[2], 137, (tn_stmt *)realize)));
  tn_Block *root = TN_NEW(Block, .iter_vars = none, .reads = none, .writes = none,
                          .name_hint = tn_str_from("root"), .alloc_buffers = none,
                          .match_buffers = none, .annotations = empty, .body = nest);
  tn_stmt *body = (tn_stmt *)TN_NEW(BlockRealize, .iter_values = none, .predicate = tir_bool(true),
                                    .block = root);
  return function(3, (tn_Buffer *[]){X, Y, Z}, body);
}

static const tn_PrinterConfig *verbose(void) {
  const char *name = "verbose_expr";
  tn_any yes = tn_any_bool(true);
  return tn_scope_own(tn_node_make(&tn_type_PrinterConfig, 1, &name, &yes));
}

static void expect(tn_obj *program, const char *want) {
  tn_str *text = script_print(program, verbose());
  if (!text) fail_msg("%s", tn_error_message());
  assert_string_equal(text->data, want);
}

static void test_matmul(void **state) {
  (void)state;
  TN_SCOPE(s);
  expect((tn_obj *)matmul(),
         "# from tvm.script import tir as T\n"
         "\n"
         "@T.prim_func\n"
         "def main(X: T.Buffer((137, 137), \"float32\"), Y: T.Buffer((137, 137), \"float32\"), "
         "compute: T.Buffer((137, "
         "137), \"float32\")):\n"
         "    T.func_attr({\"tir.noalias\": T.bool(True)})\n"
         "    # with T.block(\"root\"):\n"
         "    for i, j, k in T.grid(137, 137, 137):\n"
         "        with T.block(\"compute\"):\n"
         "            v_i, v_j, v_k = T.axis.remap(\"SSR\", [i, j, k])\n"
         "            T.reads(X[v_i, v_k], Y[v_k, v_j])\n"
         "            T.writes(compute[v_i, v_j])\n"
         "            with T.init():\n"
         "                compute[v_i, v_j] = T.float32(0.0)\n"
         "            compute[v_i, v_j] = compute[v_i, v_j] + X[v_i, v_k] * Y[v_k, v_j]");
}

static void test_free_variables_are_declared_first(void **state) {
  (void)state;
  TN_SCOPE(s);
  tn_Var *x = tir_var("x", TN_I32), *y = tir_var("x", TN_I64);
  expect((tn_obj *)tir_add((tn_expr *)x, tir_i32(1)), "x = T.int32()\nx + 1");
  expect((tn_obj *)tir_mul((tn_expr *)x, tir_sub((tn_expr *)x, (tn_expr *)x)),
         "x = T.int32()\nx * (x - x)");
  expect((tn_obj *)tir_lt((tn_expr *)y, tir_i64(3)), "x = T.int64()\nx < T.int64(3)");
  expect((tn_obj *)TN_NEW(Add, .dtype = TN_I32, .a = tir_i32(1), .b = tir_i32(2)), "T.Add(1, 2)");
  tn_Buffer *A = tir_buffer(exprs(1, tir_i32(8)), TN_F32, "A", "");
  tn_expr *ramp = (tn_expr *)TN_MAKE(Ramp, .base = (tn_expr *)x, .stride = tir_i32(1), .lanes = 4);
  expect((tn_obj *)tir_load(A, exprs(1, ramp)), "A = T.Buffer((8,))\nx = T.int32()\nA[x:x + 4]");
}

static void test_an_expression_alone(void **state) {
  (void)state;
  TN_SCOPE(s);
  tn_Var *x = tir_var("x", TN_I32);
  tn_str *text = script_print((tn_obj *)tir_add((tn_expr *)x, tir_i32(1)), NULL);
  assert_string_equal(tn_str_data(text), "x + 1");
}

static void test_statements(void **state) {
  (void)state;
  TN_SCOPE(s);
  tn_Var *i = tir_var("i", TN_I32), *p = tir_pointer_var("B", TN_F32, "global"),
         *v = tir_var("v", TN_I32), *w = tir_var("v", TN_I32);
  tn_Buffer *A = tir_buffer(exprs(1, tir_i32(8)), TN_F32, "A", "");
  tn_stmt *store = tir_store(A, tir_f32(1.5), exprs(1, i));
  tn_stmt *let = (tn_stmt *)TN_NEW(LetStmt, .var = v, .value = tir_add((tn_expr *)i, tir_i32(1)),
                                   .body = store);
  tn_stmt *let2 = (tn_stmt *)TN_NEW(LetStmt, .var = w, .value = tir_add((tn_expr *)i, tir_i32(1)),
                                    .body = store);
  tn_stmt *alloc = (tn_stmt *)TN_NEW(Allocate, .buffer_var = p, .dtype = TN_F32,
                                     .extents = exprs(1, tir_i32(4)), .condition = tir_bool(true),
                                     .body = let2, .annotations = tn_scope_own(tn_map_new()));
  tn_stmt *branch = (tn_stmt *)TN_NEW(IfThenElse, .condition = tir_lt((tn_expr *)i, tir_i32(4)),
                                      .then_case = alloc);
  tn_stmt *both = tir_seq2(let, branch);
  tn_PrimFunc *f = function(1, &A, loop(i, 8, both));
  expect((tn_obj *)f, "# from tvm.script import tir as T\n"
                      "\n"
                      "@T.prim_func\n"
                      "def main(A: T.Buffer((8,), \"float32\")):\n"
                      "    T.func_attr({\"tir.noalias\": T.bool(True)})\n"
                      "    for i in range(8):\n"
                      "        with T.LetStmt(i + 1) as v:\n"
                      "            A[i] = T.float32(1.5)\n"
                      "        if i < 4:\n"
                      "            B = T.allocate([4], \"float32\", \"global\")\n"
                      "            v: T.int32 = i + 1\n"
                      "            A[i] = T.float32(1.5)");
}

/* What is bound twice is one variable wherever the text is read. */
static void test_shared_variables(void **state) {
  (void)state;
  TN_SCOPE(s);
  tn_Var *i = tir_var("i", TN_I32), *j = tir_var("j", TN_I32);
  tn_Buffer *A = tir_buffer(exprs(1, tir_i32(8)), TN_F32, "A", "");
  tn_stmt *inner = loop(j, 8, tir_store(A, tir_f32(1), exprs(1, j)));
  tn_stmt *twice = tir_seq2(loop(i, 4, inner), loop(i, 4, inner));
  tn_PrimFunc *f = function(1, &A, twice);
  expect((tn_obj *)f, "# from tvm.script import tir as T\n"
                      "\n"
                      "@T.prim_func\n"
                      "def main(A: T.Buffer((8,), \"float32\")):\n"
                      "    T.func_attr({\"tir.noalias\": T.bool(True)})\n"
                      "    i = T.int32()\n"
                      "    j = T.int32()\n"
                      "    for i, j in T.grid(4, 8):\n"
                      "        A[j] = T.float32(1.0)\n"
                      "    for i, j in T.grid(4, 8):\n"
                      "        A[j] = T.float32(1.0)");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_matmul),
      cmocka_unit_test(test_free_variables_are_declared_first),
      cmocka_unit_test(test_an_expression_alone),
      cmocka_unit_test(test_statements),
      cmocka_unit_test(test_shared_variables),
  };
  return cmocka_run_group_tests(tests, start_compiler, NULL);
}
