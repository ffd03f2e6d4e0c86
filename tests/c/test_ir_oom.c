/* Running out of memory at every single allocation of the IR layer: each failure is a MemoryError
   and leaves nothing behind. */
#include "failing_alloc.h"

#include "ir/diag.h"
#include "ir/expr.h"
#include "ir/functor.h"
#include "ir/module.h"
#include "ir/names.h"
#include "ir/pass.h"
#include "ir/span.h"
#include "tenon/compiler.h"

static tn_IRModule *nothing(tn_IRModule *m, const tn_pass_ctx *c) {
  (void)c;
  return ir_module_copy(m);
}
static const ir_pass_row row = {"test.Nothing", IR_PASS_MODULE, 0, nothing, NULL, NULL, "nothing"};

/* What stays allocated for good is made here: scope stack, the thread's contexts, source names. */
static int start(void **state) {
  (void)state;
  if (tn_compiler_init()) return -1;
  TN_SCOPE(s);
  for (int i = 0; i < 2000; ++i) {
    if (!tn_str_from("x")) return -1;
  }
  tn_PassContext *c = ir_pass_ctx_current();
  if (ir_pass_ctx_enter(c) || ir_pass_ctx_exit(c)) return -1;
  return ir_source_name("a.txt") ? 0 : -1;
}

static tn_expr *sample(void) {
  tn_expr *x = (tn_expr *)tir_var("x", TN_I32), *y = (tn_expr *)tir_var("y", TN_I64);
  tn_expr *e = tir_floordiv(tir_add(tir_mul(x, tir_i32(3)), y), tir_i32(4));
  e = tir_if_then_else(tir_and(tir_lt(e, y), tir_not(tir_eq(x, tir_i32(0)), NULL)), e,
                       tir_neg(e, NULL), NULL);
  e = tir_max(tir_shift(TIR_OP_shift_left, e, tir_i32(2), NULL), tir_abs(y, NULL));
  tn_expr *f = tir_call(TN_F32, TIR_OP_exp, 1, tir_cast(TN_F32, e, NULL));
  f = tir_float_binary(TIR_OP_pow, f, tir_rounding(TIR_OP_floor, f, NULL), NULL);
  f = tir_select(tir_isfinite(f, NULL), f, tir_uint64(UINT64_MAX), NULL);
  return tir_broadcast(f, 4, NULL);
}

static int build(void *ctx) {
  (void)ctx;
  TN_SCOPE(s);
  return sample() ? 0 : -1;
}

static int reduce(void *ctx) {
  (void)ctx;
  TN_SCOPE(s);
  tn_Var *a = tir_var("a", TN_F32), *b = tir_var("b", TN_F32);
  tn_IterVar *k = tir_iter_var(tir_range_to(tir_i32(0), tir_i32(8), NULL), tir_var("k", TN_I32),
                               IR_ITER_COMM_REDUCE, "");
  if (!a || !b || !k) return -1;
  tn_CommReducer *r = TN_MAKE(CommReducer, .lhs = tn_arr_of(1, a), .rhs = tn_arr_of(1, b),
                              .result = tn_arr_of(1, tir_add((tn_expr *)a, (tn_expr *)b)),
                              .identity_element = tn_arr_of(1, tir_f32(0)));
  return TN_MAKE(Reduce, .combiner = r, .source = tn_arr_of(1, a), .axis = tn_arr_of(1, k),
                 .condition = tir_bool(true), .init = tn_arr_of(0))
             ? 0
             : -1;
}

static int count(void *ctx, tn_obj *o) {
  *(int *)ctx += o != NULL;
  return 0;
}
static tn_obj *int_plus_one(void *ctx, tn_IntImm *pre, tn_IntImm *post) {
  (void)ctx, (void)pre;
  return (tn_obj *)tir_int(post->dtype, ir_wrap_int(post->value + 1, post->dtype));
}

static int walk(void *ctx) {
  static const tn_rewrite_case cases[] = {TN_REWRITE(IntImm, int_plus_one)};
  TN_SCOPE(s);
  TN_PMAP(vars);
  int n = 0;
  tn_expr *e = ctx;
  if (tn_post_order(e, count, &n) || tn_pre_order(e, count, &n)) return -1;
  if (!tn_rewrite(e, cases, TN_COUNT(cases), NULL)) return -1;
  tn_expr *y = (tn_expr *)tir_var("y", TN_I32);
  if (!y || tn_pmap_put(&vars, ((tn_Add *)e)->a, y)) return -1;
  return tir_substitute(e, &vars) ? 0 : -1;
}

static int modules(void *ctx) {
  TN_SCOPE(s);
  tn_DictAttrs *attrs = ir_attrs_with(NULL, "a", tn_any_cstr("b"));
  tn_IRModule *m = attrs ? ir_module_new(NULL, NULL, attrs) : NULL;
  if (!m) return -1;
  for (int i = 0; i < 10; ++i) {
    TN_SCOPE(inner);
    tn_str *name = tn_str_fmt("f%d", i % 7);
    tn_GlobalVar *v = name ? ir_global_var(tn_cstr(name)) : NULL;
    if (!v || ir_module_add(m, v, ctx, true)) return -1;
  }
  tn_GlobalVarSupply *names = ir_global_var_supply(NULL, m);
  if (!names || !ir_global_var_fresh(names, "f1", true) || !ir_global_var_unique(names, "g", true))
    return -1;
  return ir_module_remove(m, "f2");
}

static int passes(void *ctx) {
  TN_SCOPE(s);
  tn_arr *none = tn_arr_of(0);
  tn_map *config = tn_map_with(NULL, tn_any_cstr("tir.disable_vectorize"), tn_any_bool(true));
  tn_PassContext *c = TN_MAKE(PassContext, .opt_level = 2, .required_pass = none,
                              .disabled_pass = none, .instruments = none, .config = config);
  tn_any arg = tn_any_cstr("kept");
  tn_Pass *p = ir_pass_new(&row, &arg, 1);
  if (!c || !p) return -1;
  tn_Pass *all = (tn_Pass *)ir_sequential("all", tn_arr_of(3, p, p, p));
  if (!all || ir_pass_ctx_enter(c)) return -1;
  tn_IRModule *r = ir_pass_run(all, ctx, NULL);
  int err = ir_pass_ctx_exit(c);
  return r && !err ? 0 : -1;
}

static int diagnostics(void *ctx) {
  TN_SCOPE(s);
  TN_BUF(text);
  tn_DiagnosticContext *d = ir_diag_context(ctx, NULL);
  tn_Span *span = d ? ir_span(ir_source_name("a.txt"), 1, 1, 2, 4) : NULL;
  if (!span) return -1;
  for (int i = 0; i < 3; ++i) {
    if (ir_diag_emit(d, IR_DIAG_NOTE, span, "number %d", i)) return -1;
  }
  ir_diag_text(d, &text);
  return tn_buf_ok(&text) || ir_diag_render(d) ? -1 : 0;
}

static void sweep(int (*action)(void *), void *ctx) {
  int64_t n = fail_every_allocation(action, ctx);
  if (n <= 3) fail_msg("only %lld allocations", (long long)n);
}

static void test_expressions(void **state) {
  (void)state;
  sweep(build, NULL);
  sweep(reduce, NULL);
}

static void test_walks(void **state) {
  (void)state;
  TN_SCOPE(s);
  tn_expr *x = (tn_expr *)tir_var("x", TN_I32);
  sweep(walk, tir_add(x, tir_max(tir_mul(x, x), tir_i32(7))));
}

static void test_modules_and_passes(void **state) {
  (void)state;
  TN_SCOPE(s);
  tn_IRModule *m = ir_module_new(NULL, NULL, NULL);
  assert_int_equal(ir_source_add(m, ir_source_name("a.txt"), "one\ntwo"), 0);
  sweep(modules, ir_global_var("stands for a function"));
  sweep(passes, m);
  sweep(diagnostics, m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_expressions),
      cmocka_unit_test(test_walks),
      cmocka_unit_test(test_modules_and_passes),
  };
  return cmocka_run_group_tests(tests, start, NULL);
}
