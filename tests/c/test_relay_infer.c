/* Type inference from C: incremental results, long chains, failing allocations. */
#include "testing.h"

#include "failing_alloc.h"
#include "ir/module.h"
#include "relay/analysis/analysis.h"
#include "relay/infer.h"
#include "relay/op.h"
#include "relay/text/text.h"
#include "relay/type_text.h"
#include "tenon/compiler.h"
#include "tenon/object.h"

static const char program[] =
    "#[version = \"0.0.5\"]\n"
    "type List[A] { Cons(A, List[A]), Nil, }\n"
    "def @map[A, B](%f: fn(A) -> B, %l: List[A]) -> List[B] {\n"
    "  match (%l) { Cons(%x, %rest) => Cons(%f(%x), @map(%f, %rest)), Nil => Nil }\n"
    "}\n"
    "def @count(%n, %acc) { if (%n == 0) { %acc } else { @count(%n - 1, %acc + 2f) } }\n"
    "def @main(%x: int32, %t: Tensor[(2, 3), float32]) {\n"
    "  let %r = ref(%t);\n"
    "  let %u = ref_write(%r, nn.relu(add(%t, %t)));\n"
    "  let %g = fn(%p) { %p.0 };\n"
    "  (ref_read(%r), @map(fn(%y) { %y == 1 }, Cons(%x, Nil)), @count(%x, 1f), %g((%x, %t)))\n"
    "}\n";

static tn_Type *type_of_main(const tn_IRModule *m) {
  tn_GlobalVar *v = m ? ir_module_var(m, "main") : NULL;
  return v ? relay_type_of(ir_module_lookup(m, v)) : NULL;
}

static int infer(void *module) {
  TN_SCOPE(s);
  return type_of_main(relay_infer_module(module)) ? 0 : -1;
}

static void test_a_program(void **state) {
  (void)state;
  TN_SCOPE(s);
  tn_IRModule *m = relay_parse("program", tn_str_from(program), NULL, NULL);
  assert_non_null(m);
  assert_null(type_of_main(m));
  tn_IRModule *typed = relay_infer_module(m);
  assert_non_null(typed);
  const tn_FuncType *f = TN_AS(FuncType, type_of_main(typed));
  assert_string_equal(relay_type_text(f->ret_type),
                      "(Tensor[(2, 3), float32], List[bool], float32, int32)");
  assert_ptr_equal(relay_infer_module(typed), typed);
  assert_null(type_of_main(m));
}

static void test_what_is_known_is_shared(void **state) {
  (void)state;
  TN_SCOPE(s);
  const int64_t dims[] = {4};
  tn_RelayVar *x = relay_var("x", (tn_Type *)relay_tensor_type_of(dims, 1, TN_F32));
  tn_RelayCall *y = relay_infer_expr(relay_call("nn.relu", NULL, 1, x), NULL);
  assert_non_null(y);
  assert_null(relay_type_of(x));
  tn_RelayCall *z = relay_infer_expr(relay_call("exp", NULL, 1, y), NULL);
  assert_ptr_equal(relay_arg(z, 0), y);
  assert_string_equal(relay_type_text(relay_type_of(z)), "Tensor[(4,), float32]");
  assert_string_equal(relay_type_text(relay_infer_type(relay_call("exp", NULL, 1, z), NULL)),
                      "Tensor[(4,), float32]");
  assert_null(relay_infer_expr(relay_call("exp", NULL, 1, relay_var("free", NULL)), NULL));
  assert_error("DiagnosticError", "Cannot resolve type");
}

static void test_long_chains(void **state) {
  (void)state;
  TN_SCOPE(s);
  enum { MANY = 100000 };
  tn_RelayVar *x = relay_var("x", (tn_Type *)relay_scalar_type(TN_F32));
  void *calls = x, *lets = x;
  for (int i = 0; i < MANY; ++i) {
    calls = relay_call("exp", NULL, 1, calls);
    lets = relay_let(relay_var("v", NULL), x, lets);
  }
  tn_IRModule *m = relay_module_from_expr(relay_tuple(tn_arr_of(2, calls, lets)), NULL, NULL);
  tn_IRModule *typed = m ? relay_infer_module(m) : NULL;
  assert_non_null(typed);
  assert_int_equal(relay_well_formed(ir_module_lookup(typed, ir_module_var(typed, "main"))), 1);
}

/* Unlike fail_every_allocation: comparing extents may run out of memory and still be answered. */
static void test_failing_allocations(void **state) {
  (void)state;
  TN_SCOPE(s);
  failing_alloc a = {.most = SIZE_MAX};
  int failed = 0;
  tn_IRModule *m = relay_parse("program", tn_str_from(program), NULL, NULL);
  assert_non_null(m);
  assert_int_equal(infer(m), 0); /* global variables keep their types */
  for (int64_t n = 0; a.countdown < 0 || n == 0; ++n) {
    a.countdown = n;
    a.live = 0;
    a.real = tn_set_allocator((tn_allocator){failing_alloc_fn, &a});
    int err = infer(m);
    tn_set_allocator(a.real);
    failed += err != 0;
    tn_error_clear();
  }
  assert_true(failed > 100);
}

static int start(void **state) {
  (void)state;
  return tn_compiler_init();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_program),
      cmocka_unit_test(test_what_is_known_is_shared),
      cmocka_unit_test(test_long_chains),
      cmocka_unit_test(test_failing_allocations),
  };
  return cmocka_run_group_tests(tests, start, NULL);
}
