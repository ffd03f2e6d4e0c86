/* Relay from C: builders, operators called by name, attributes, failing allocations. */
#include "testing.h"

#include "failing_alloc.h"
#include "relay/op.h"
#include "relay/type_text.h"
#include "te/build.h"
#include "tenon/compiler.h"
#include "tenon/object.h"

static void test_calls_nest_and_pass_errors_on(void **state) {
  (void)state;
  TN_SCOPE(s);
  const int64_t dims[] = {2, 3};
  tn_RelayVar *x = relay_var("x", (tn_Type *)relay_tensor_type_of(dims, 2, TN_F32));
  tn_RelayCall *y = relay_call("nn.relu", NULL, 1, relay_call("add", NULL, 2, x, x));
  assert_non_null(relay_as_call(y, "nn.relu"));
  assert_string_equal(relay_called_op(relay_arg(y, 0)), "add");
  assert_null(relay_as_call(y, "add"));
  assert_null(relay_as_call(x, "add"));
  assert_null(relay_call("nn.relu", NULL, 1, relay_call("no.such", NULL, 1, x)));
  assert_error("AttributeError", "Operator no.such is not registered");
  assert_null(relay_call("tir.exp", NULL, 1, x));
  assert_error("ValueError", "tir.exp is not an operator of Relay");
}

static void test_attributes_by_name(void **state) {
  (void)state;
  TN_SCOPE(s);
  const int64_t two[] = {2, 2};
  void *a = relay_attrs("nn.conv2d", 3, "groups", tn_any_int(4), "strides",
                        tn_any_obj(relay_ints(two, 2)), "data_layout", tn_any_cstr("NHWC"));
  assert_non_null(a);
  assert_int_equal(relay_attr_int(a, "groups", 1), 4);
  assert_int_equal(relay_listed(relay_attr_obj(a, "strides"), 1), 2);
  assert_string_equal(relay_attr_str(a, "data_layout"), "NHWC");
  assert_string_equal(relay_attr_str(a, "kernel_layout"), "OIHW");
  assert_int_equal(relay_attr_int(a, "channels", 7), 7); /* None */
  assert_int_equal(relay_attr_int(a, "no such", 8), 8);
  assert_null(relay_attr_obj(NULL, "strides"));
  void *b = relay_attrs_with(a, "groups", tn_any_int(1));
  assert_int_equal(relay_attr_int(b, "groups", 0), 1);
  assert_int_equal(relay_attr_int(a, "groups", 0), 4);
  assert_null(relay_attrs_with(a, "grups", tn_any_int(1)));
  assert_error("AttributeError", "relay.attrs.Conv2DAttrs has no attribute 'grups'");
  assert_null(relay_attrs("add", 0));
  assert_error("ValueError", "operator add has no attributes");
}

static void test_known_numbers(void **state) {
  (void)state;
  TN_SCOPE(s);
  int64_t v = 7, all[2];
  tn_arr *a = tn_arr_of(3, tir_i32(2), relay_any(), tir_i64(INT64_MAX)),
         *two = tn_arr_of(1, tir_i32(2));
  assert_true(relay_known_int(a, 0, &v) && v == 2);
  v = 7;
  assert_false(relay_known_int(a, 1, &v));
  assert_false(relay_known_int(a, 3, &v));
  assert_false(relay_known_int(a, -1, &v));
  assert_false(relay_known_int(NULL, 0, &v));
  assert_int_equal(v, 7); /* what is not known does not change it */
  assert_true(relay_int_is(a, 0, 2));
  assert_false(relay_int_is(a, 1, 0));
  assert_true(relay_ints_same(a, 0, two, 0));
  assert_false(relay_ints_same(a, 1, a, 1));
  assert_true(relay_known_product(a, 0, 1, &v) && v == 2);
  assert_true(relay_known_product(a, 3, 3, &v) && v == 1);
  assert_false(relay_known_product(a, 0, 2, &v));
  assert_false(relay_known_product(tn_arr_of(2, tir_i32(2), tir_i64(INT64_MAX)), 0, 2, &v));
  assert_int_equal(relay_known_ints(two, all, 2), 1);
  assert_int_equal(relay_known_ints(a, all, 2), -1);
  assert_int_equal(relay_known_ints(two, all, 0), -1);
}

/* A list of integers that holds something else is an error of the call, never a 0. */
static void test_lists_of_integers(void **state) {
  (void)state;
  TN_SCOPE(s);
  const int64_t dims[] = {2, 3};
  tn_arr *types = tn_arr_of(1, relay_tensor_type_of(dims, 2, TN_F32));
  void *a = relay_attrs("transpose", 1, "axes", tn_any_obj(tn_arr_of(2, tir_i32(1), relay_any())));
  assert_null(relay_op_result_type(ir_op_get("transpose"), a, types, NULL));
  assert_error("TypeError", "transpose: axes: expected integers, got a list with tir.Any");
  a = relay_attrs("nn.pad", 1, "pad_width",
                  tn_any_obj(tn_arr_of(2, tn_arr_of(2, tir_i32(0), relay_any()),
                                       tn_arr_of(2, tir_i32(0), tir_i32(0)))));
  types =
      tn_arr_of(2, relay_tensor_type_of(dims, 2, TN_F32), relay_tensor_type_of(NULL, 0, TN_F32));
  assert_null(relay_op_result_type(ir_op_get("nn.pad"), a, types, NULL));
  assert_error("TypeError", "nn.pad: pad_width: expected integers, got a list with tir.Any");
}

static void test_patterns(void **state) {
  (void)state;
  assert_int_equal(relay_op_pattern((tn_obj *)ir_op_get("add")), RELAY_BROADCAST);
  assert_int_equal(relay_op_pattern((tn_obj *)ir_op_get("sum")), RELAY_COMM_REDUCE);
  assert_int_equal(relay_op_pattern((tn_obj *)ir_op_get("tir.exp")), RELAY_OPAQUE);
  assert_int_equal(relay_op_pattern(NULL), RELAY_OPAQUE);
  assert_false(relay_op_is_stateful((tn_obj *)ir_op_get("add")));
  assert_false(relay_op_is_non_computational((tn_obj *)ir_op_get("add")));
}

static void test_constants(void **state) {
  (void)state;
  TN_SCOPE(s);
  double v = 0;
  assert_true(relay_as_scalar(relay_const_float(TN_F32, 1.5), &v));
  assert_true(v == 1.5);
  assert_true(relay_as_scalar(relay_const_int(TN_I64, -7), &v));
  assert_true(v == -7);
  const int64_t many[] = {1, 2};
  assert_false(relay_as_scalar(relay_const_ints(TN_I32, many, 2), &v));
  assert_false(relay_as_scalar(relay_var("x", NULL), &v));
}

static void test_types_as_text(void **state) {
  (void)state;
  TN_SCOPE(s);
  const int64_t dims[] = {2};
  tn_TensorType *t = relay_tensor_type_of(dims, 1, TN_F32), *b = relay_scalar_type(TN_BOOL1);
  assert_string_equal(relay_type_text(t), "Tensor[(2,), float32]");
  assert_string_equal(relay_type_text(b), "bool");
  assert_string_equal(relay_type_text(relay_tuple_type(tn_arr_of(1, b))), "(bool,)");
  assert_string_equal(relay_type_text(relay_incomplete_type()), "_");
  tn_FuncType *f = TN_NEW(FuncType, .type_params = tn_arr_of(0), .arg_types = tn_arr_of(2, t, b),
                          .ret_type = (tn_Type *)b, .type_constraints = tn_arr_of(0));
  assert_string_equal(relay_type_text(f), "fn (Tensor[(2,), float32], bool) -> bool");
  assert_string_equal(relay_type_text(TN_NEW(RefType, .value = (tn_Type *)b)), "ref(bool)");
  tn_TensorType *any = relay_tensor_type(tn_arr_of(2, relay_any(), tir_i32(3)), TN_I32);
  assert_string_equal(relay_type_text(any), "Tensor[(?, 3), int32]");
  assert_false(relay_is_static((tn_Type *)any));
  assert_true(relay_is_static((tn_Type *)t));
}

static void test_extents(void **state) {
  (void)state;
  TN_SCOPE(s);
  tn_expr *n = (tn_expr *)tir_var("n", TN_I32), *two = tir_i32(2);
  assert_int_equal(relay_dim_equal(two, tir_i64(2)), 1);
  assert_int_equal(relay_dim_equal(two, tir_i32(3)), 0);
  assert_int_equal(relay_dim_equal(n, two), -1);
  assert_int_equal(relay_dim_equal(relay_any(), two), -1);
  assert_int_equal(relay_dim_equal(tir_add(n, n), tir_mul(two, n)), 1);
  assert_int_equal(relay_dim_equal(tir_add(n, two), n), 0);
  assert_true(relay_dim_is_any(relay_dim_mul(n, relay_any())));
}

/* A convolution is built, typed and computed, with each of its allocations failing once. */
static int whole(void *ctx) {
  (void)ctx;
  TN_SCOPE(s);
  const int64_t x[] = {1, 4, 6, 6}, w[] = {8, 2, 3, 3}, pads[] = {1, 1};
  void *a = relay_attrs("nn.conv2d", 2, "groups", tn_any_int(2), "padding",
                        tn_any_obj(relay_ints(pads, 2)));
  tn_RelayCall *call = relay_call("nn.conv2d", a, 2, relay_var("x", NULL), relay_var("w", NULL));
  if (!call) return -1;
  tn_TensorType *tx = relay_tensor_type_of(x, 4, TN_F32), *tw = relay_tensor_type_of(w, 4, TN_F32);
  tn_arr *types = tn_arr_of(2, tx, tw);
  tn_Op *op = TN_AS(Op, call->op);
  tn_Type *t = types ? relay_op_result_type(op, call->attrs, types, NULL) : NULL;
  if (!t) return -1;
  tn_arr *in =
      tn_arr_of(2, te_placeholder(tx->shape, TN_F32, "x"), te_placeholder(tw->shape, TN_F32, "w"));
  tn_arr *out = in ? relay_op_compute(op, call->attrs, in, t, NULL) : NULL;
  if (!out) return -1;
  return TN_AS(Tensor, tn_arr_obj(out, 0))->shape->len == 4 ? 0 : -1;
}

/* Unlike fail_every_allocation: comparing extents may run out of memory and still be answered. */
static void test_failing_allocations(void **state) {
  (void)state;
  failing_alloc a = {.most = SIZE_MAX};
  int failed = 0;
  for (int64_t n = 0; a.countdown < 0 || n == 0; ++n) {
    a.countdown = n;
    a.live = 0;
    a.real = tn_set_allocator((tn_allocator){failing_alloc_fn, &a});
    int err = whole(NULL);
    tn_set_allocator(a.real);
    assert_int_equal(a.live, 0);
    if (err) assert_string_equal(tn_error_class(), "MemoryError");
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
      cmocka_unit_test(test_calls_nest_and_pass_errors_on),
      cmocka_unit_test(test_attributes_by_name),
      cmocka_unit_test(test_known_numbers),
      cmocka_unit_test(test_lists_of_integers),
      cmocka_unit_test(test_patterns),
      cmocka_unit_test(test_constants),
      cmocka_unit_test(test_types_as_text),
      cmocka_unit_test(test_extents),
      cmocka_unit_test(test_failing_allocations),
  };
  return cmocka_run_group_tests(tests, start, NULL);
}
