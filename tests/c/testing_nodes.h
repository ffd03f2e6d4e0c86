/* A small IR for tests of the generic algorithms: variables, expressions whose sharing does not
   count (T) and those where it does (G), binders, and a function with a map. */
#ifndef TENON_TESTS_C_TESTING_NODES_H_
#define TENON_TESTS_C_TESTING_NODES_H_

#include "object/functions.h"

#define TN_FIELDS_TVar(F, S)                                                                       \
  F(S, REF, String, name, TN_NOCMP, "hint")                                                        \
  F(S, DTYPE, , dtype, 0, "type", "\"int32\"")                                                     \
  F(S, REF, Object, annotation, TN_OPT, "may hold variables")
#define TN_FIELDS_TImm(F, S)   F(S, I64, , value, 0, "the number")
#define TN_FIELDS_TFloat(F, S) F(S, F64, , value, 0, "the number")
#define TN_FIELDS_TAdd(F, S)   F(S, REF, Object, a, 0, "left") F(S, REF, Object, b, 0, "right")
#define TN_FIELDS_GCall(F, S)                                                                      \
  F(S, REF, Object, op, TN_OPT, "callee") F(S, REF, Array, args, 0, "arguments")
#define TN_FIELDS_TLet(F, S)                                                                       \
  F(S, REF, TVar, var, TN_DEF, "bound")                                                            \
  F(S, REF, Object, value, 0, "value") F(S, REF, Object, body, 0, "where it is bound")
#define TN_FIELDS_TFunc(F, S)                                                                      \
  F(S, REF, Array, params, TN_DEF, "bound")                                                        \
  F(S, REF, Map, table, TN_OPT, "from parameters to anything")                                     \
  F(S, REF, Object, body, TN_OPT, "body")                                                          \
  F(S, REF, Object, note, TN_OPT | TN_NOCMP, "not compared")
#define TN_FIELDS_TGlobal(F, S) F(S, REF, String, name, 0, "compared")
#define TN_FIELDS_TModule(F, S) F(S, REF, Map, functions, TN_DEF, "by TGlobal")
#define TN_FIELDS_TAll(F, S)                                                                       \
  F(S, I64, , i, 0, "integer")                                                                     \
  F(S, F64, , f, 0, "number", "1.5") F(S, BOOL, , b, 0, "flag")                                    \
      F(S, DTYPE, , t, 0, "type", "\"float32\"") F(S, DEVICE, , d, 0, "device")                    \
          F(S, ENUM, TKind, e, 0, "kind", "0") F(S, ANY, , any, 0, "anything")                     \
              F(S, REF, String, s, TN_OPT, "text", "\"dflt\"")                                     \
                  F(S, REF, Object, cache, TN_OPT | TN_NOSAVE | TN_NOCMP, "not saved")

#define TN_TEST_NODES(N)                                                                           \
  N(TVar, Object, "test.Var", NODE, VAR, tn_no_hooks, "variable")                                  \
  N(TImm, Object, "test.Imm", NODE, TREE, tn_no_hooks, "integer")                                  \
  N(TFloat, Object, "test.Float", NODE, TREE, tn_no_hooks, "number")                               \
  N(TAdd, Object, "test.Add", NODE, TREE, tn_no_hooks, "a + b")                                    \
  N(GCall, Object, "test.Call", NODE, DAG, tn_no_hooks, "op(args)")                                \
  N(TLet, Object, "test.Let", NODE, TREE, tn_no_hooks, "let")                                      \
  N(TFunc, Object, "test.Func", NODE, TREE, tn_no_hooks, "function")                               \
  N(TGlobal, Object, "test.Global", NODE, VAR, tn_no_hooks, "name of a function")                  \
  N(TModule, Object, "test.Module", NODE, TREE, tn_no_hooks, "functions by name")                  \
  N(TAll, Object, "test.All", NODE, TREE, tn_no_hooks, "a field of each kind")

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
