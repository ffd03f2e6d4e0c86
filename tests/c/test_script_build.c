/* TVMScript read back: what is printed parses to an equal program, and mistakes are shown at their
 * place. */
#include "testing.h"

#include "tenon/compiler.h"
#include "tenon/object.h"
#include "tir/script/build.h"
#include "tir/script/printer.h"

static int start_compiler(void **state) {
  (void)state;
  return tn_compiler_init();
}

static tn_obj *parse(const char *text) {
  ast_source src = {"test.py", text, (int)strlen(text), 1, 0};
  script_options opt = {0};
  return script_parse(&src, &opt);
}

/* text -> program -> text (the same) -> program (equal) */
static void round_trip(const char *body) {
  TN_SCOPE(s);
  tn_obj *program = parse(body);
  if (!program) fail_msg("%s", tn_error_message());
  tn_str *text = script_print(program, NULL);
  if (!text) fail_msg("%s", tn_error_message());
  const char *printed = strstr(text->data, "\n\n") + 2;
  assert_string_equal(printed, body);
  tn_obj *again = parse(printed);
  assert_int_equal(tn_equal(program, again, 0), 1);
}

static void test_round_trips(void **state) {
  (void)state;
  round_trip("@T.prim_func\n"
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
  round_trip("@T.prim_func\n"
             "def main(var_A: T.handle, var_C: T.handle):\n"
             "    T.func_attr({\"tir.noalias\": T.bool(True)})\n"
             "    A = T.match_buffer(var_A, (10,), offset_factor=1)\n"
             "    C = T.match_buffer(var_C, (10,), offset_factor=1)\n"
             "    with T.block(\"C\"):\n"
             "        T.reads()\n"
             "        T.writes()\n"
             "        T.call_packed(\"tvm.contrib.my_tvm_addone\", T.tvm_stack_make_array(A.data, "
             "T.tvm_stack_make_shape(10), 0, 1, T.float32(0.0), A.elem_offset), "
             "T.tvm_stack_make_array(C.data, "
             "T.tvm_stack_make_shape(10), 0, 1, T.float32(0.0), C.elem_offset))");
  round_trip("@T.prim_func\n"
             "def f(a: T.handle, n: T.int32, A: T.Buffer((8, 16), \"float16\")):\n"
             "    m = T.int32()\n"
             "    B = T.match_buffer(a, (n, m), strides=(\"s0\", 1), offset_factor=4)\n"
             "    for i in T.parallel(8):\n"
             "        for j in T.vectorized(16):\n"
             "            A[i, j] = A[i, j] * T.float16(2.0) + T.Cast(\"float16\", T.max(i, j))\n"
             "    for i in range(1, 8):\n"
             "        if i < 4 and n < m:\n"
             "            C = T.allocate([4], \"float32\", \"global\")\n"
             "            x: T.int32 = i + n * 2 - (m - n)\n"
             "            A[i, x:x + 4] = A[i, x:x + 4]\n"
             "            T.evaluate(x)\n"
             "        else:\n"
             "            A[i, 0] = T.exp(A[i, 1])\n"
             "    for i in T.thread_binding(8, thread=\"threadIdx.x\"):\n"
             "        T.call_extern(\"int32\", \"puts\", \"hi\\n\")\n"
             "    while n < 3:\n"
             "        T.evaluate(0)");
  round_trip("@I.ir_module\n"
             "class Module:\n"
             "    I.module_attrs({\"version\": 3})\n"
             "    @T.prim_func(private=True)\n"
             "    def add(x: T.int32, y: T.int64) -> T.int32:\n"
             "        T.func_attr({\"key\": \"value\", \"list\": [1, 2, T.int64(3)]})\n"
             "        T.ret(x + T.Cast(\"int32\", y % T.int64(7)) // 3)\n\n"
             "    @T.prim_func\n"
             "    def main(A: T.Buffer((4,), \"float32\")):\n"
             "        B = T.allocate_const([1, 2, 3, 4], \"int32\", [4])\n"
             "        bx = T.launch_thread(\"blockIdx.x\", 4)\n"
             "        T.attr(0, \"pragma\", 1)\n"
             "        assert bx < 4, \"too many\"\n"
             "        A[bx] = T.float32(\"inf\")");
}

static void test_sugar_gives_the_same(void **state) {
  (void)state;
  TN_SCOPE(s);
  tn_obj *full =
      parse("@T.prim_func\n"
            "def main(A: T.Buffer((16,), \"float32\"), B: T.Buffer((16,), \"float32\")):\n"
            "    for i in T.serial(0, 16):\n"
            "        with T.block(\"B\"):\n"
            "            vi = T.axis.spatial(16, i)\n"
            "            T.reads(A[vi])\n"
            "            T.writes(B[vi])\n"
            "            B[vi] = A[vi] + T.float32(1.0)\n");
  tn_obj *brief = parse("@T.prim_func\n"
                        "def main(A: T.Buffer(16), B: T.Buffer[(16,), 'float32']) -> None:\n"
                        "    '''documentation'''\n"
                        "    for i in range(8 * 2):\n"
                        "        with T.block('B'):\n"
                        "            vi, = T.axis.remap('S', [i])\n"
                        "            B[vi] = A[vi] + 1.0\n");
  if (!full || !brief) fail_msg("%s", tn_error_message());
  assert_int_equal(tn_equal(full, brief, 0), 1);
}

static void expect_error(const char *text, const char *part) {
  TN_SCOPE(s);
  assert_null(parse(text));
  assert_error("DiagnosticError", part);
}

static void test_errors_show_the_place(void **state) {
  (void)state;
  expect_error("@T.prim_func\ndef f(A: T.Buffer((4,), 'float32')):\n    A[i] = 0.0\n",
               "undefined: i\n --> test.py:3:7\n   |\n 3 |     A[i] = 0.0\n   |       ^");
  expect_error("@T.prim_func\ndef f(A: T.Buffer((4,), 'float99x')):\n    A[0] = 0.0\n",
               "unknown data type \"float99x\"");
  expect_error("@T.prim_func\ndef f(A: T.Buffer((-4,), 'float32')):\n    A[0] = 0.0\n",
               "is negative: -4");
  expect_error("@T.prim_func\ndef f(A: T.Buffer((4,), 'float32')):\n    A[0, 1] = 0.0\n",
               "buffer A has 1 dimensions");
  expect_error("@T.prim_func\ndef f(A: T.Buffer((4,), 'float32')):\n    T.nonsense(1)\n",
               "T.nonsense is not known here\n --> test.py:3:5");
  expect_error(
      "@T.prim_func\ndef f(x: T.int32):\n    for i in T.whatever(3):\n        T.evaluate(i / x)\n",
      "T.whatever is not a loop");
  expect_error("@T.prim_func\ndef f(x: T.int32):\n    T.evaluate(x / 2)\n",
               "integers divide in several ways");
  expect_error("@T.prim_func\ndef f(x: T.int32):\n    T.evaluate(x // 0)\n", "Divide by zero");
  expect_error("@T.prim_func\ndef f(x):\n    T.evaluate(x)\n", "parameter x: expected a type");
  expect_error("x = 1\n", "no function or class is defined");
}

/* A name that would hide the module of scripts gets another. */
static void test_names_that_are_taken(void **state) {
  (void)state;
  TN_SCOPE(s);
  tn_obj *program = parse("@T.prim_func\n"
                          "def f(A: T.Buffer((4,), \"float32\"), cls: T.int32):\n"
                          "    I = cls + 1\n"
                          "    T = A[I]\n"
                          "    A[I] = T\n");
  tn_str *text = program ? script_print(program, NULL) : NULL;
  if (!text) fail_msg("%s", tn_error_message());
  assert_non_null(strstr(text->data, "A[I_1] = T_1"));
  tn_obj *again = parse(text->data);
  if (!again) fail_msg("%s", tn_error_message());
  assert_int_equal(tn_equal(program, again, 0), 1);
}

/* What was found by trying random texts. */
static void test_what_would_not_read_back(void **state) {
  (void)state;
  round_trip("@T.prim_func\n"
             "def main(A: T.Buffer((4,), \"float32\")):\n"
             "    A[0] = T.float32(-0.0)\n"
             "    A[1] = A[0] * T.float32(-1.0)\n"
             "    T.evaluate(T.int64(-9223372036854775808))");
  expect_error("@T.prim_func\ndef f(A: T.Buffer((4,), 'float32')):\n    T.evaluate(+A.data)\n",
               "+ needs a number\n --> test.py:3:16");
  expect_error("@T.prim_func\ndef f(A: T.Buffer((4,), 'float32')):\n    T.evaluate(+'text')\n",
               "+ needs a number");
  expect_error("@T.prim_func\ndef f(a: T.handle):\n"
               "    A = T.match_buffer(a, (4,), strides='text')\n",
               "strides: expected integers, got handle");
  expect_error("@T.prim_func\ndef f(a: T.handle):\n"
               "    A = T.match_buffer(a, (4,), strides=(1.5,))\n",
               "strides: expected integers, got float32");
  expect_error("@T.prim_func\ndef f():\n    B = T.allocate_const([1, 2], 'int88', [2])\n",
               "constant data of type int88");
  expect_error("@T.prim_func\ndef f():\n    T.evaluate(5 ** 2153233344)\n",
               "the number does not fit 64 bits\n --> test.py:3:16");
  expect_error("@T.prim_func\ndef f():\n    T.launch_thread('threadIdx.x', 1.5)\n",
               "T.launch_thread: expected an integer, got float32\n --> test.py:3:36");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_round_trips),
      cmocka_unit_test(test_sugar_gives_the_same),
      cmocka_unit_test(test_errors_show_the_place),
      cmocka_unit_test(test_names_that_are_taken),
      cmocka_unit_test(test_what_would_not_read_back),
  };
  return cmocka_run_group_tests(tests, start_compiler, NULL);
}
