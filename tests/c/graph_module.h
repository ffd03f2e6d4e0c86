/* A module of functions on float32 tensors and graphs over it, for tests and benchmarks of the
   graph executor:

     add1(x, y)       y = x + 1      called as compiled code
     sum2(a, b, y)    y = a + b      called as compiled code
     twice(x, y)      y = 2 x        a function of the library
     fails(x, y)      KeyError */
#ifndef TENON_TESTS_C_GRAPH_MODULE_H_
#define TENON_TESTS_C_GRAPH_MODULE_H_

#include <string.h>

#include "object/functions.h"
#include "runtime/library/legacy_abi.h"
#include "runtime/module/module.h"

static float *floats(void *args, int i) {
  const DLTensor *t = ((const TVMValue *)args)[i].v_handle;
  return (float *)(void *)((char *)t->data + t->byte_offset);
}

static int64_t count_of(void *args, int i) {
  const DLTensor *t = ((const TVMValue *)args)[i].v_handle;
  int64_t n = 1;
  for (int32_t k = 0; k < t->ndim; ++k) n *= t->shape[k];
  return n;
}

static int add1(TVMValue *args, int *codes, int n, TVMValue *ret, int *ret_code, void *resource) {
  (void)codes, (void)n, (void)ret, (void)ret_code, (void)resource;
  const float *x = floats(args, 0);
  float *y = floats(args, 1);
  for (int64_t i = 0, m = count_of(args, 1); i < m; ++i) y[i] = x[i] + 1;
  return 0;
}

static int sum2(TVMValue *args, int *codes, int n, TVMValue *ret, int *ret_code, void *resource) {
  (void)codes, (void)n, (void)ret, (void)ret_code, (void)resource;
  const float *a = floats(args, 0), *b = floats(args, 1);
  float *y = floats(args, 2);
  for (int64_t i = 0, m = count_of(args, 2); i < m; ++i) y[i] = a[i] + b[i];
  return 0;
}

static int twice(TN_ARGS) {
  const DLTensor *x;
  DLTensor *y;
  TN_NARGS("twice", 2);
  TN_TRY(tn_any_to_dltensor(&args[0], &x) || tn_any_to_writable(&args[1], &y));
  for (int64_t i = 0, m = tn_tensor_count(x); i < m; ++i)
    ((float *)y->data)[i] = ((const float *)x->data)[i] * 2;
  return 0;
}

static int fails(TN_ARGS) { return TN_RAISE(KeyError, NULL, "this function fails"); }

static int graph_module_function(tn_module *m, const char *name, tn_func **out) {
  static const tn_func_row packed[] = {{"twice", twice}, {"fails", fails}};
  static const struct {
    const char *name;
    TVMBackendPackedCFunc code;
  } compiled[] = {{"add1", add1}, {"sum2", sum2}};
  for (int i = 0; i < 2; ++i) {
    void *code;
    memcpy(&code, &compiled[i].code, sizeof code);
    if (strcmp(name, compiled[i].name) == 0)
      return (*out = tn_module_bind(m, tn_legacy_compiled_call, code)) ? 0 : -1;
    if (strcmp(name, packed[i].name) == 0)
      return (*out = tn_module_bind(m, packed[i].call, NULL)) ? 0 : -1;
  }
  return 0;
}

static const tn_module_ops graph_module_ops = {
    .type_key = "test", .properties = TN_MODULE_RUNNABLE, .get_function = graph_module_function};

/** Owned. */
static inline tn_module *graph_module(void) { return tn_module_new(&graph_module_ops, NULL); }

/** Appends a graph: input "x", then `n` nodes `func` (one input, one output) in a chain, all of
 * float32[extent], with two storages taking turns. */
static inline void put_chain(tn_buf *b, int n, const char *func, int extent) {
  tn_buf_puts(b, "{\"nodes\": [{\"op\": \"null\", \"name\": \"x\", \"inputs\": []}");
  for (int i = 0; i < n; ++i)
    tn_buf_printf(b,
                  ", {\"op\": \"tvm_op\", \"name\": \"n%d\", \"inputs\": [[%d, 0, 0]], \"attrs\": "
                  "{\"func_name\": \"%s\", \"num_inputs\": \"1\", \"num_outputs\": \"1\", "
                  "\"flatten_data\": \"0\"}}",
                  i, i, func);
  tn_buf_printf(b, "], \"arg_nodes\": [0], \"heads\": [[%d, 0, 0]], \"node_row_ptr\": [0", n);
  for (int i = 1; i <= n + 1; ++i) tn_buf_printf(b, ", %d", i);
  tn_buf_puts(b, "], \"attrs\": {\"shape\": [\"list_shape\", [");
  for (int i = 0; i <= n; ++i) tn_buf_printf(b, "%s[%d]", i ? ", " : "", extent);
  tn_buf_puts(b, "]], \"dltype\": [\"list_str\", [");
  for (int i = 0; i <= n; ++i) tn_buf_printf(b, "%s\"float32\"", i ? ", " : "");
  tn_buf_puts(b, "]], \"storage_id\": [\"list_int\", [0");
  for (int i = 1; i <= n; ++i) tn_buf_printf(b, ", %d", 1 + i % 2);
  tn_buf_puts(b, "]]}}");
}

#endif
