/* A small IR for tests of the generic algorithms: variables, expressions whose sharing does not
   count (T) and those where it does (G), binders, and a function with a map. */
#ifndef TENON_TESTS_C_TESTING_NODES_H_
#define TENON_TESTS_C_TESTING_NODES_H_

#include "object/functions.h"

#include "testing_nodes.def"

TN_NODES_FORWARD(TN_TEST_NODES)
TN_NODES_INDEX(TN_TEST_NODES, 600, test)
TN_NODES_DECLARE(TN_TEST_NODES)
TN_NODES_DEFINE(TN_TEST_NODES, test_types)

static inline int register_test_nodes(void) {
  return tn_type_register_table(test_types, TN_COUNT(test_types));
}

#define IMM(x)    ((tn_obj *)TN_NEW(TImm, .value = (x)))
#define ADD(x, y) ((tn_obj *)TN_NEW(TAdd, .a = (tn_obj *)(x), .b = (tn_obj *)(y)))
#define LET(v, x, y)                                                                               \
  ((tn_obj *)TN_NEW(TLet, .var = (v), .value = (tn_obj *)(x), .body = (tn_obj *)(y)))
#define CALL(o, ...)  ((tn_obj *)TN_NEW(GCall, .op = (tn_obj *)(o), .args = tn_arr_of(__VA_ARGS__)))
#define FUNC(p, m, e) ((tn_obj *)TN_NEW(TFunc, .params = (p), .table = (m), .body = (tn_obj *)(e)))
#define GLOBAL(text)  ((tn_obj *)TN_NEW(TGlobal, .name = tn_str_from(text)))
#define FLOAT(x)      ((tn_obj *)TN_NEW(TFloat, .value = (x)))

static inline tn_TVar *var(const char *name) {
  return TN_NEW(TVar, .name = tn_str_from(name), .dtype = {kDLInt, 32, 1});
}

#endif
