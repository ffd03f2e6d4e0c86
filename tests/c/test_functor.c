/* Walking and rewriting: order, sharing, depth, context, substitution. */
#include "testing.h"

#include <pthread.h>

#include "child.h"
#include "ir/expr.h"
#include "ir/functor.h"
#include "tenon/compiler.h"

static int record(void *ctx, tn_obj *o) {
  tn_buf_printf(ctx, "%s ", o->type->name);
  return 0;
}

static void test_post_order_shows_operands_first_and_shared_ones_once(void **state) {
  (void)state;
  TN_SCOPE(s);
  TN_BUF(out);
  tn_expr *x = (tn_expr *)tir_var("x", TN_I32), *xx = tir_mul(x, x);
  assert_int_equal(tn_post_order(tir_add(xx, tir_floordiv(xx, tir_i32(2))), record, &out), 0);
  assert_string_equal(tn_buf_cstr(&out), "Var Mul IntImm FloorDiv Add ");
  tn_buf_clear(&out);
  assert_int_equal(tn_post_order(tir_call(TN_I32, TIR_OP_popcount, 1, x), record, &out), 0);
  assert_string_equal(tn_buf_cstr(&out), "Op Var Call ");
}

static int stop_at_mul(void *ctx, tn_obj *o) {
  record(ctx, o);
  return o->type_index == TN_TI_Mul ? 1 : o->type_index == TN_TI_IntImm ? 2 : 0;
}

static void test_pre_order_can_leave_out_and_stop(void **state) {
  (void)state;
  TN_SCOPE(s);
  TN_BUF(out);
  tn_expr *x = (tn_expr *)tir_var("x", TN_I32);
  tn_expr *e = tir_add(tir_mul(x, x), tir_add(tir_i32(1), x));
  assert_int_equal(tn_pre_order(e, stop_at_mul, &out), 2);
  assert_string_equal(tn_buf_cstr(&out), "Add Mul Add IntImm ");
}

static tn_obj *mul_to_add(void *ctx, tn_Mul *pre, tn_Mul *post) {
  ++*(int *)ctx;
  assert_true(tn_dtype_eq(pre->dtype, post->dtype));
  return (tn_obj *)tir_add(post->a, post->b);
}
static const tn_rewrite_case mul_cases[] = {TN_REWRITE(Mul, mul_to_add)};

static void test_rewrite_keeps_sharing_and_what_did_not_change(void **state) {
  (void)state;
  TN_SCOPE(s);
  int n = 0;
  tn_expr *x = (tn_expr *)tir_var("x", TN_I32), *y = (tn_expr *)tir_var("y", TN_I32);
  tn_expr *xy = tir_mul(x, y), *plain = tir_sub(x, y);
  tn_Max *r =
      TN_AS(Max, tn_rewrite(tir_max(tir_min(xy, plain), xy), mul_cases, TN_COUNT(mul_cases), &n));
  assert_int_equal(n, 1);
  assert_ptr_equal(((tn_Min *)r->a)->a, r->b);
  assert_ptr_equal(((tn_Min *)r->a)->b, plain);
  assert_ptr_equal(tn_rewrite(plain, mul_cases, TN_COUNT(mul_cases), &n), plain);
}

/* x + x + ... of n operators */
static tn_expr *chain(tn_expr *x, int n) {
  tn_expr *e = x;
  for (int i = 0; i < n; ++i) e = tir_add(e, x);
  return e;
}

static int count(void *ctx, tn_obj *o) {
  *(int *)ctx += o->type_index == TN_TI_Add;
  return 0;
}

static void *deep(void *arg) {
  (void)arg;
  enum { N = 300000 };
  TN_SCOPE(s);
  int n = 0;
  tn_expr *x = (tn_expr *)tir_var("x", TN_I32), *y = (tn_expr *)tir_var("y", TN_I32);
  tn_expr *e = chain(x, N);
  assert_int_equal(tn_post_order(e, count, &n), 0);
  assert_int_equal(n, N);
  assert_ptr_equal(tn_rewrite(e, mul_cases, TN_COUNT(mul_cases), &n), e);
  TN_PMAP(vars);
  assert_int_equal(tn_pmap_put(&vars, x, y), 0);
  assert_null(tir_substitute(e, &vars));
  assert_error("RuntimeError", "nested too deeply");
  return NULL;
}

/* also in a thread with a small stack */
static void test_depth_is_no_danger(void **state) {
  (void)state;
  pthread_t thread;
  pthread_attr_t attr;
#ifndef UNDER_TSAN /* which follows no more than 65535 calls */
  deep(NULL);
#endif
  pthread_attr_init(&attr);
  assert_int_equal(pthread_attr_setstacksize(&attr, 512 << 10), 0);
  assert_int_equal(pthread_create(&thread, &attr, deep, NULL), 0);
  assert_int_equal(pthread_join(thread, NULL), 0);
  pthread_attr_destroy(&attr);
}

/* Let with its value under a deeper level than its body: a case decides how children are visited.
 */
static tn_obj *let_case(tn_mut *m, tn_Let *op) {
  int *level = m->ctx;
  ++*level;
  tn_obj *value = tn_mut_visit(m, op->value);
  --*level;
  tn_obj *body = tn_mut_visit(m, op->body);
  return (tn_obj *)TN_MAKE(Let, .var = op->var, .value = (tn_expr *)value, .body = (tn_expr *)body);
}
static tn_obj *imm_case(tn_mut *m, tn_IntImm *op) {
  return (tn_obj *)tir_int(op->dtype, op->value + *(int *)m->ctx);
}

static void test_cases_carry_context(void **state) {
  (void)state;
  TN_SCOPE(s);
  static const tn_mut_case cases[] = {TN_CASE(Let, let_case), TN_CASE(IntImm, imm_case)};
  int level = 0;
  TN_MUT(m, cases, &level);
  tn_Var *v = tir_var("v", TN_I32);
  tn_expr *body = tir_add((tn_expr *)v, tir_i32(7));
  tn_Let *e = TN_MAKE(Let, .var = v, .value = tir_i32(7), .body = body);
  tn_Let *r = TN_AS(Let, tn_mut_visit(&m, e));
  assert_true(tir_is_const((tn_obj *)r->value, 8));
  assert_ptr_equal(((tn_Add *)r->body)->a, v);
  assert_true(tir_is_const((tn_obj *)((tn_Add *)r->body)->b, 7));
}

static void test_substitute(void **state) {
  (void)state;
  TN_SCOPE(s);
  tn_Var *x = tir_var("x", TN_I32), *y = tir_var("y", TN_I32), *z = tir_var("z", TN_I64);
  tn_expr *e = tir_lt(tir_mul((tn_expr *)x, tir_i32(2)), (tn_expr *)y),
          *other = tir_neg((tn_expr *)y, NULL);
  TN_PMAP(vars);
  assert_int_equal(tn_pmap_put(&vars, x, other), 0);
  tn_LT *r = TN_AS(LT, tir_substitute(e, &vars));
  assert_ptr_equal(((tn_Mul *)r->a)->a, other);
  assert_ptr_equal(r->b, y);
  assert_ptr_equal(tir_substitute(other, &vars), other);
  assert_int_equal(tn_pmap_put(&vars, x, z), 0);
  assert_null(tir_substitute(e, &vars));
  assert_error("TVMError", "substitute: x is of type int32, its replacement of type int64");
}

static int start_compiler(void **state) {
  (void)state;
  return tn_compiler_init();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_post_order_shows_operands_first_and_shared_ones_once),
      cmocka_unit_test(test_pre_order_can_leave_out_and_stop),
      cmocka_unit_test(test_rewrite_keeps_sharing_and_what_did_not_change),
      cmocka_unit_test(test_depth_is_no_danger),
      cmocka_unit_test(test_cases_carry_context),
      cmocka_unit_test(test_substitute),
  };
  return cmocka_run_group_tests(tests, start_compiler, NULL);
}
