/* Nodes of the IR: construction, invariants, constants, operators by name, modules. */
#include "testing.h"

#include <math.h>

#include "ir/imm.h"
#include "ir/module.h"
#include "ir/op.h"
#include "ir/span.h"
#include "tenon/compiler.h"

static tn_Var *var(const char *name, tn_dtype t) {
  return TN_MAKE(Var, .dtype = t, .name = tn_str_from(name));
}

static void test_var_has_the_type_of_its_dtype(void **state) {
  (void)state;
  TN_SCOPE(s);
  tn_Var *x = var("x", TN_I32);
  assert_true(tn_dtype_eq(TN_AS(PrimType, x->type_annotation)->dtype, TN_I32));
  tn_PointerType *p =
      TN_NEW(PointerType, .element_type = (tn_Type *)TN_NEW(PrimType, .dtype = TN_F32),
             .storage_scope = tn_str_from("global"));
  tn_Var *y = TN_MAKE(Var, .name = tn_str_from("y"), .type_annotation = (tn_Type *)p);
  assert_true(tn_dtype_eq(y->dtype, TN_HANDLE));
  assert_true(TN_IS(PrimExpr, x));
  assert_true(TN_IS(BaseExpr, x));
}

static void test_operands_must_agree(void **state) {
  (void)state;
  TN_SCOPE(s);
  tn_expr *x = (tn_expr *)var("x", TN_I32), *y = (tn_expr *)var("y", TN_F32);
  assert_non_null(TN_MAKE(Add, .a = x, .b = x));
  assert_true(tn_dtype_eq(TN_MAKE(LT, .a = x, .b = x)->dtype, TN_BOOL1));
  assert_null(TN_MAKE(Add, .a = x, .b = y));
  assert_error("TVMError", "mismatched types. int32 vs. float32");
  assert_null(TN_MAKE(Add, .a = x));
  assert_error("TypeError", "tir.Add.b: expected PrimExpr, got None");
  assert_null(TN_MAKE(And, .a = x, .b = x));
  assert_error("TVMError", "bool");
  assert_null(TN_MAKE(Ramp, .base = x, .stride = x, .lanes = 1));
  assert_error("TVMError", "lanes");
}

static void test_literals_are_checked(void **state) {
  (void)state;
  TN_SCOPE(s);
  tn_dtype i8 = tn_dtype_of(kDLInt, 8, 1), u8 = tn_dtype_of(kDLUInt, 8, 1);
  assert_non_null(tir_int(i8, -128));
  assert_null(tir_int(i8, 128));
  assert_error("TVMError", "Literal value 128 exceeds maximum of int8");
  assert_null(tir_int(i8, -129));
  assert_error("TVMError", "Literal value -129 exceeds minimum of int8");
  assert_null(tir_int(u8, -1));
  assert_error("TVMError", "Literal value -1 is negative for unsigned integer type uint8");
  assert_null(tir_float(tn_dtype_of(kDLFloat, 16, 1), 65505));
  assert_error("TVMError", "exceeds maximum of float16");
  assert_non_null(tir_float(TN_F32, (double)INFINITY));
  assert_null(tir_float(TN_F32, 1e39));
  assert_error("TVMError", "exceeds maximum of float32");
  int64_t v;
  assert_true(tir_as_int((tn_obj *)tir_min_value(i8), &v) && v == -128);
  assert_true(tir_as_int((tn_obj *)tir_max_value(TN_I64), &v) && v == INT64_MAX);
  assert_non_null(TN_AS(Call, tir_max_value(tn_dtype_of(kDLUInt, 64, 1))));
  assert_non_null(TN_AS(Broadcast, tir_const_int(tn_dtype_of(kDLInt, 32, 4), 7)));
}

static void test_plain_numbers_become_constants(void **state) {
  (void)state;
  tn_any a = tn_any_int(INT64_C(1) << 40);
  assert_int_equal(tn_scalar_box(&a, "Object"), 0);
  assert_true(tn_dtype_eq(((tn_IntImm *)a.v.obj)->dtype, TN_I64));
  int64_t v;
  assert_int_equal(tn_any_to_int(&a, &v), 0);
  assert_int_equal(v, INT64_C(1) << 40);
  tn_any_release(&a);
  a = tn_any_bool(true);
  assert_int_equal(tn_scalar_box(&a, "PrimExpr"), 0);
  assert_true(tn_dtype_eq(((tn_IntImm *)a.v.obj)->dtype, TN_BOOL1));
  tn_any_release(&a);
  a = tn_any_float(0.5);
  assert_int_equal(tn_scalar_box(&a, "PrimExpr"), 0);
  assert_true(tn_dtype_eq(((tn_FloatImm *)a.v.obj)->dtype, TN_F32));
  tn_any_release(&a);
}

static void test_operator_attributes_compete_by_level(void **state) {
  (void)state;
  TN_SCOPE(s);
  assert_null(ir_op_get("test.none"));
  assert_error("AttributeError", "Operator test.none is not registered");
  tn_Op *op = ir_op_declare("test.op");
  assert_ptr_equal(op, ir_op_declare("test.op"));
  tn_any v;
  assert_int_equal(ir_op_set_attr(op, "key", tn_any_int(1), 10), 0);
  assert_int_equal(ir_op_set_attr(op, "key", tn_any_int(2), 5), 0);
  assert_true(ir_op_attr(op, "key", &v) && v.v.i64 == 1);
  assert_int_equal(ir_op_set_attr(op, "key", tn_any_int(3), 11), 0);
  assert_true(ir_op_attr(op, "key", &v) && v.v.i64 == 3);
  assert_int_equal(ir_op_set_attr(op, "key", tn_any_int(4), 11), -1);
  assert_error("TVMError", "Attribute key of test.op is already registered with same plevel=11");
  assert_int_equal(ir_op_reset_attr(op, "key"), 0);
  assert_false(ir_op_attr(op, "key", &v));
}

static void test_module_by_name(void **state) {
  (void)state;
  TN_SCOPE(s);
  tn_IRModule *m = ir_module_new(NULL, NULL, NULL);
  tn_BaseFunc *f =
      (tn_BaseFunc *)TN_NEW(GlobalVar, .name_hint = tn_str_from("stands for a function"));
  for (int i = 0; i < 1000; ++i) {
    TN_SCOPE(inner);
    assert_int_equal(ir_module_add(m, ir_global_var(tn_cstr(tn_str_fmt("f%d", i))), f, false), 0);
  }
  assert_int_equal(m->functions->len, 1000);
  assert_ptr_equal(ir_module_lookup(m, ir_global_var("f7")), f);
  assert_int_equal(ir_module_add(m, ir_global_var("f7"), f, false), -1);
  assert_error("ValueError", "Duplicate global function name f7");
  assert_int_equal(ir_module_add(m, ir_global_var("f7"), f, true), 0);
  assert_int_equal(m->functions->len, 1000);
  tn_IRModule *copy = ir_module_copy(m);
  assert_int_equal(ir_module_remove(copy, "f7"), 0);
  assert_null(ir_module_var(copy, "f7"));
  assert_error("ValueError", "Cannot find global var \"f7\" in the Module");
  assert_non_null(ir_module_var(m, "f7"));
}

static void test_spans(void **state) {
  (void)state;
  TN_SCOPE(s);
  tn_SourceName *name = ir_source_name("a.txt");
  assert_ptr_equal(name, ir_source_name("a.txt"));
  tn_Span *both = ir_span_merge(ir_span(name, 2, 2, 5, 9), ir_span(name, 1, 2, 7, 6));
  assert_int_equal(both->line, 1);
  assert_int_equal(both->column, 7);
  assert_int_equal(both->end_line, 2);
  assert_int_equal(both->end_column, 9);
}

static int start_compiler(void **state) {
  (void)state;
  return tn_compiler_init();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_var_has_the_type_of_its_dtype),
      cmocka_unit_test(test_operands_must_agree),
      cmocka_unit_test(test_literals_are_checked),
      cmocka_unit_test(test_plain_numbers_become_constants),
      cmocka_unit_test(test_operator_attributes_compete_by_level),
      cmocka_unit_test(test_module_by_name),
      cmocka_unit_test(test_spans),
  };
  return cmocka_run_group_tests(tests, start_compiler, NULL);
}
