/* The graph executor: what a run computes wherever values lie, what it allocates, errors. */
#include "failing_alloc.h"

#include <pthread.h>
#include <stdalign.h>
#include <stdio.h>

#include "graph_module.h"
#include "runtime/graph/executor.h"
#include "runtime/tensor/tensor.h"

static const tn_device cpu = {kDLCPU, 0};
static const tn_dtype f32 = {kDLFloat, 32, 1};

#define OP(name, func, inputs, n)                                                                  \
  "{\"op\": \"tvm_op\", \"name\": \"" name "\", \"inputs\": [" inputs                              \
  "], \"attrs\": {\"func_name\": \"" func "\", \"num_inputs\": \"" n                               \
  "\", \"num_outputs\": \"1\", \"flatten_data\": \"0\", \"hash\": \"abc\"}}"
#define INPUT(name) "{\"op\": \"null\", \"name\": \"" name "\", \"inputs\": []}"

/* x, p -> y = (x + p) + 1; r = y as (2, 2); z = 2 r; outputs z, r, x. y and z share a storage with
   nobody; the sum shares that of z. */
static const char net[] =
    "{\"nodes\": [" INPUT("x") "," INPUT("p") "," OP("s", "sum2", "[0,0,0],[1,0,0]", "2") "," OP(
        "y", "add1", "[2,0,0]",
        "1") "," OP("r", "__nop", "[3,0]",
                    "1") "," OP("z", "twice", "[4,0,0]",
                                "1") "]"
                                     ",\"arg_nodes\": [0, 1], \"heads\": [[5,0,0],[4,0,0],[0,0,0]],"
                                     "\"node_row_ptr\": [0,1,2,3,4,5,6], \"attrs\": {"
                                     "\"shape\": [\"list_shape\", [[4],[4],[4],[4],[2,2],[2,2]]],"
                                     "\"dltype\": [\"list_str\", "
                                     "[\"float32\",\"float32\",\"float32\",\"float32\",\"float32\","
                                     "\"float32\"]], \"storage_id\": [\"list_int\", "
                                     "[0,1,2,3,3,2]]}}";

static tn_graph_executor *new_net(const char *json) {
  tn_module *m = graph_module();
  if (!m) return NULL;
  tn_graph_executor *x = tn_graph_executor_new(json, strlen(json), m, &cpu, 1);
  tn_release(m);
  return x;
}

/* 4 floats in the given shape; owned */
static tn_tensor *array(int32_t ndim, float a, float b, float c, float d) {
  static const int64_t shapes[2][2] = {{4}, {2, 2}};
  tn_tensor *t = tn_tensor_new(shapes[ndim - 1], ndim, f32, cpu, NULL);
  if (t) memcpy(t->dl.data, (float[]){a, b, c, d}, 16);
  return t;
}

static void assert_floats(const tn_tensor *t, float a, float b, float c, float d) {
  float want[] = {a, b, c, d};
  assert_non_null(t);
  for (int i = 0; i < 4; ++i)
    assert_true(((float *)(void *)((char *)t->dl.data + t->dl.byte_offset))[i] == want[i]);
}

static void assert_output(tn_graph_executor *x, int32_t i, float a, float b, float c, float d) {
  tn_tensor *t = tn_graph_get_output(x, i);
  assert_floats(t, a, b, c, d);
  tn_release(t);
}

static void set(tn_graph_executor *x, int32_t i, float a, float b, float c, float d) {
  tn_tensor *t = array(1, a, b, c, d);
  assert_int_equal(tn_graph_set_input(x, i, &t->dl), 0);
  tn_release(t);
}

static tn_any any(tn_tensor *t) { return tn_any_obj(t); }

/* ---- results ---- */

static void test_run(void **state) {
  (void)state;
  tn_graph_executor *x = new_net(net);
  assert_non_null(x);
  set(x, 0, 1, 2, 3, 4);
  set(x, 1, 10, 20, 30, 40);
  assert_int_equal(tn_graph_run(x), 0);
  assert_output(x, 0, 24, 46, 68, 90);
  assert_output(x, 1, 12, 23, 34, 45);
  assert_output(x, 2, 1, 2, 3, 4);
  tn_tensor *r = tn_graph_get_output(x, 1);
  assert_int_equal(r->dl.ndim, 2);
  assert_int_equal(tn_graph_input_index(x, "p"), 1);
  assert_int_equal(tn_graph_input_index(x, "s"), -1);
  assert_int_equal(tn_graph_output_index(x, "z"), 0);
  tn_graph_executor_free(x);
  assert_floats(r, 12, 23, 34, 45); /* outlives the executor */
  tn_release(r);
}

static void test_inputs_that_nobody_sets_are_zero(void **state) {
  (void)state;
  tn_graph_executor *x = new_net(net);
  assert_int_equal(tn_graph_run(x), 0);
  assert_output(x, 0, 2, 2, 2, 2);
  tn_graph_executor_free(x);
}

/* ---- arrays of callers ---- */

static void test_zero_copy(void **state) {
  (void)state;
  tn_graph_executor *x = new_net(net);
  tn_tensor *in = array(1, 1, 2, 3, 4), *z = array(2, 0, 0, 0, 0), *r = array(2, 0, 0, 0, 0);
  tn_tensor *copy = array(1, 0, 0, 0, 0);
  tn_any a = any(in), b = any(z), c = any(r), d = any(copy);
  assert_int_equal(tn_graph_bind_input(x, 0, &a), 0);
  assert_int_equal(tn_graph_bind_output(x, 0, &b), 0);
  assert_int_equal(tn_graph_bind_output(x, 1, &c), 0);
  assert_int_equal(tn_graph_bind_output(x, 2, &d), 0);
  assert_true(x->inputs[0].direct && x->outputs[0].direct && x->outputs[1].direct);
  assert_false(x->outputs[2].direct); /* the value is the caller's input */
  for (int round = 0; round < 3; ++round) {
    ((float *)in->dl.data)[0] = (float)round;
    assert_int_equal(tn_graph_run(x), 0);
    assert_floats(z, (float)round * 2 + 2, 6, 8, 10);
    assert_floats(r, (float)round + 1, 3, 4, 5);
    assert_floats(copy, (float)round, 2, 3, 4);
  }
  set(x, 0, 5, 5, 5, 5); /* back to the executor's own memory */
  assert_floats(in, 2, 2, 3, 4);
  assert_int_equal(tn_graph_run(x), 0);
  assert_floats(z, 12, 12, 12, 12);
  assert_floats(copy, 5, 5, 5, 5);
  tn_graph_executor_free(x);
  tn_release(in), tn_release(z), tn_release(r), tn_release(copy);
}

/* The output is written to the input's memory: the result is as if it were not. */
static void test_overlapping_arrays(void **state) {
  (void)state;
  tn_graph_executor *x = new_net(net);
  float memory[5] = {1, 2, 3, 4, 0};
  int64_t four = 4, square[] = {2, 2};
  DLTensor in = {.data = memory, .device = cpu, .ndim = 1, .dtype = f32, .shape = &four};
  DLTensor out = {.data = memory + 1, .device = cpu, .ndim = 2, .dtype = f32, .shape = square};
  tn_any a = {.type_index = TN_DLTENSOR, .v.dltensor = &in};
  tn_any b = {.type_index = TN_DLTENSOR, .v.dltensor = &out};
  assert_int_equal(tn_graph_bind_output(x, 1, &b), 0);
  assert_true(x->outputs[1].direct);
  assert_int_equal(tn_graph_bind_input(x, 0, &a), 0);
  assert_false(x->outputs[1].direct);
  assert_int_equal(tn_graph_run(x), 0);
  const float want[] = {1, 2, 3, 4, 5};
  assert_memory_equal(memory, want, sizeof want);
  assert_output(x, 0, 4, 6, 8, 10);
  tn_graph_executor_free(x);
}

/* An output fed back as input, and two outputs in one array. */
static void test_the_executors_own_memory_as_input(void **state) {
  (void)state;
  tn_graph_executor *x = new_net(net);
  set(x, 0, 1, 2, 3, 4);
  assert_int_equal(tn_graph_run(x), 0);
  tn_tensor *r = tn_graph_get_output(x, 1), *flat;
  assert_non_null(flat = tn_tensor_view(r, &(int64_t){4}, 1, f32, 0));
  tn_any a = any(flat);
  assert_int_equal(tn_graph_bind_input(x, 0, &a), 0);
  assert_false(x->inputs[0].direct);
  for (int i = 0; i < 3; ++i) assert_int_equal(tn_graph_run(x), 0);
  assert_floats(r, 5, 6, 7, 8);
  tn_release(flat), tn_release(r);
  tn_graph_executor_free(x);
}

static void test_any_alignment_and_layout(void **state) {
  (void)state;
  tn_graph_executor *x = new_net(net);
  char memory[64];
  int64_t four = 4, step = 2, square[] = {2, 2};
  float block[8] = {1, 0, 2, 0, 3, 0, 4, 0};
  for (int odd = 0; odd < 2; ++odd) {
    DLTensor in = {.data = memory + odd, .device = cpu, .ndim = 1, .dtype = f32, .shape = &four};
    DLTensor out = {.data = memory + 40, .device = cpu, .ndim = 2, .dtype = f32, .shape = square};
    out.byte_offset = (uint64_t)(4 - odd);
    tn_any a = {.type_index = TN_DLTENSOR, .v.dltensor = &in};
    tn_any b = {.type_index = TN_DLTENSOR, .v.dltensor = &out};
    memcpy(memory + odd, (float[]){1, 2, 3, 4}, 16);
    assert_int_equal(tn_graph_bind_input(x, 0, &a), 0);
    assert_int_equal(tn_graph_bind_output(x, 0, &b), 0);
    assert_int_equal(x->inputs[0].direct, ((uintptr_t)memory + (uintptr_t)odd) % 4 == 0);
    assert_int_equal(tn_graph_run(x), 0);
    float got[4];
    memcpy(got, memory + 44 - odd, sizeof got);
    assert_memory_equal(got, ((float[]){4, 6, 8, 10}), sizeof got);
  }
  DLTensor gaps = {.data = block, .device = cpu, .ndim = 1, .dtype = f32, .shape = &four};
  gaps.strides = &step;
  tn_any a = {.type_index = TN_DLTENSOR, .v.dltensor = &gaps};
  assert_int_equal(tn_graph_bind_input(x, 0, &a), 0);
  assert_int_equal(tn_graph_run(x), 0);
  assert_output(x, 1, 2, 3, 4, 5);
  tn_graph_executor_free(x);
}

/* Libraries of the old stack rely on the alignment of what its executors allocate. */
static void test_alignment_for_old_libraries(void **state) {
  (void)state;
  TN_BUF(json);
  put_chain(&json, 1, "add_one", 4);
  tn_module *m = tn_module_load(TENON_TEST_MODULES "/packed.so", "");
  assert_non_null(m);
  tn_graph_executor *x = tn_graph_executor_new(json.data, json.len, m, &cpu, 1);
  assert_non_null(x);
  alignas(64) char memory[128] = {0};
  int64_t four = 4;
  for (int offset = 0; offset < 8; offset += 4) {
    DLTensor in = {.data = memory + offset, .device = cpu, .ndim = 1, .dtype = f32, .shape = &four};
    tn_any a = {.type_index = TN_DLTENSOR, .v.dltensor = &in};
    assert_int_equal(tn_graph_bind_input(x, 0, &a), 0);
    assert_int_equal(x->inputs[0].direct, offset == 0);
  }
  tn_graph_executor_free(x);
  tn_release(m);
}

/* ---- parameters ---- */

static tn_map *params_of(const char *name, tn_tensor *t) {
  tn_map *m = tn_map_new();
  assert_int_equal(tn_map_set(m, tn_any_cstr(name), tn_any_obj(t)), 0);
  return m;
}

static void test_params_are_shared_until_written(void **state) {
  (void)state;
  tn_graph_executor *x = new_net(net), *y = new_net(net);
  tn_tensor *p = array(1, 10, 20, 30, 40);
  tn_map *m = params_of("p", p);
  assert_int_equal(tn_graph_set_params(x, m, TN_PARAMS_SHARE), 0);
  assert_int_equal(tn_graph_set_params(y, m, TN_PARAMS_SHARE), 0);
  assert_ptr_equal(x->values[1].data, p->dl.data);
  assert_ptr_equal(y->values[1].data, p->dl.data);
  assert_int_equal(tn_graph_run(x), 0);
  assert_output(x, 1, 11, 21, 31, 41);
  set(x, 1, 1, 1, 1, 1);
  assert_int_equal(tn_graph_run(x), 0);
  assert_output(x, 1, 2, 2, 2, 2);
  tn_tensor *own = tn_graph_get_input(y, 1);
  assert_floats(own, 10, 20, 30, 40);
  ((float *)own->dl.data)[0] = 0;
  assert_int_equal(tn_graph_run(y), 0);
  assert_output(y, 1, 1, 21, 31, 41);
  assert_floats(p, 10, 20, 30, 40);
  tn_release(own), tn_release(m), tn_release(p);
  tn_graph_executor_free(x);
  tn_graph_executor_free(y);
}

static void test_share_params(void **state) {
  (void)state;
  tn_graph_executor *x = new_net(net), *y = new_net(net);
  tn_tensor *p = array(1, 10, 20, 30, 40), *bound = array(1, 1, 1, 1, 1);
  tn_map *m = params_of("p", p);
  tn_any b = any(bound);
  assert_int_equal(tn_graph_set_params(x, m, TN_PARAMS_TAKE), 0);
  assert_int_equal(tn_graph_bind_input(y, 1, &b), 0);
  assert_int_equal(tn_graph_share_params(y, x, m), 0);
  assert_ptr_equal(x->values[1].data, y->values[1].data);
  tn_graph_executor_free(x);
  assert_int_equal(tn_graph_run(y), 0);
  assert_output(y, 1, 11, 21, 31, 41);
  tn_graph_executor_free(y);
  tn_release(m), tn_release(p), tn_release(bound);
}

/* A staged input must not overwrite a parameter that others use. */
static void test_staging_over_a_shared_parameter(void **state) {
  (void)state;
  tn_graph_executor *x = new_net(net);
  tn_tensor *p = array(1, 10, 20, 30, 40);
  tn_map *m = params_of("p", p);
  float block[8] = {1, 0, 2, 0, 3, 0, 4, 0};
  DLTensor gaps = {.data = block, .device = cpu, .ndim = 1, .dtype = f32};
  gaps.shape = &(int64_t){4};
  gaps.strides = &(int64_t){2};
  tn_any a = {.type_index = TN_DLTENSOR, .v.dltensor = &gaps};
  assert_int_equal(tn_graph_set_params(x, m, TN_PARAMS_SHARE), 0);
  assert_int_equal(tn_graph_bind_input(x, 1, &a), 0);
  assert_int_equal(tn_graph_run(x), 0);
  assert_output(x, 1, 2, 3, 4, 5);
  assert_floats(p, 10, 20, 30, 40);
  tn_graph_executor_free(x);
  tn_release(m), tn_release(p);
}

/* ---- memory ---- */

static void test_a_run_allocates_nothing(void **state) {
  (void)state;
  TN_BUF(json);
  put_chain(&json, 50, "add1", 4);
  const char *const graphs[] = {net, json.data};
  for (int k = 0; k < 2; ++k) {
    tn_graph_executor *x = new_net(graphs[k]);
    tn_tensor *in = array(1, 1, 2, 3, 4);
    tn_any a = any(in);
    set(x, 0, 1, 2, 3, 4);
    for (int bound = 0; bound < 2; ++bound) {
      if (bound) assert_int_equal(tn_graph_bind_input(x, 0, &a), 0);
      assert_int_equal(tn_graph_run(x), 0);
      failing_alloc none = {.most = 0};
      none.real = tn_set_allocator((tn_allocator){failing_alloc_fn, &none});
      int err = tn_graph_run(x);
      tn_set_allocator(none.real);
      assert_int_equal(err, 0);
    }
    tn_graph_executor_free(x);
    tn_release(in);
  }
}

/* Calls a function of a module; its result is dropped. */
static int call(tn_module *m, const char *name, const tn_any *args, int32_t n) {
  tn_func *f;
  tn_any ret;
  TN_GET(f, tn_module_require(m, name, false));
  int err = tn_func_call(f, args, n, &ret);
  tn_release(f);
  if (err) return -1;
  tn_any_release(&ret);
  return 0;
}

static int use_module(tn_module *m) {
  static const char *const plain[] = {"get_input_info", "get_output_info", "run", "profile",
                                      "profile_rpc"};
  tn_any numbers[] = {tn_any_int(1), tn_any_int(0)};
  for (int i = 0; i < TN_COUNT(plain); ++i) TN_TRY(call(m, plain[i], NULL, 0));
  TN_TRY(call(m, "run_from_inputs", numbers, 2));
  TN_TRY(call(m, "get_node_output", numbers, 2));
  TN_TRY(call(m, "debug_get_output", numbers, 1));
  TN_TRY(call(m, "_describe_input", numbers, 1));
  return call(m, "run_individual", numbers, 1);
}

/* A factory saved, loaded, and its debug executor in use. */
static int use_factory(void *ctx) {
  tn_module *lib = graph_module(), *factory = NULL, *loaded = NULL, *m = NULL;
  tn_str *json = lib ? tn_str_new(net) : NULL;
  if (json) factory = tn_graph_factory_new(json, lib, "default", ctx);
  tn_bytes *saved = factory ? tn_module_save_binary(factory) : NULL;
  tn_reader r =
      saved ? (tn_reader){tn_bytes_get(saved).data, tn_bytes_get(saved).size, 0} : (tn_reader){0};
  if (saved) loaded = tn_module_load_binary("GraphExecutorFactory", &r);
  tn_func *f = loaded && tn_module_import(loaded, lib) == 0
                   ? tn_module_require(loaded, "debug_create", false)
                   : NULL;
  tn_any args[] = {tn_any_cstr("default"), tn_any_device(cpu)}, ret = tn_any_none();
  if (f && tn_func_call(f, args, 2, &ret) == 0) m = (tn_module *)ret.v.obj;
  int err = m ? use_module(m) : -1;
  tn_release(lib), tn_release(factory), tn_release(loaded), tn_release(m);
  tn_release(json), tn_release(saved), tn_release(f);
  return err;
}

static void test_factory_out_of_memory(void **state) {
  (void)state;
  tn_tensor *p = array(1, 10, 20, 30, 40);
  tn_map *params = params_of("p", p);
  assert_int_equal(use_factory(params), 0); /* what the thread keeps is allocated now */
  assert_true(fail_every_allocation(use_factory, params) > 100);
  tn_release(params), tn_release(p);
}

static int everything(void *ctx) {
  (void)ctx;
  tn_graph_executor *x = new_net(net);
  tn_tensor *in = array(1, 1, 2, 3, 4), *r = array(2, 0, 0, 0, 0), *out = NULL;
  int err = !x || !in || !r;
  if (!err) {
    tn_any a = any(in), b = any(r);
    err = tn_graph_set_input(x, 1, &in->dl) || tn_graph_bind_input(x, 0, &a) ||
          tn_graph_bind_output(x, 1, &b) || tn_graph_bind_output(x, 2, &a) || tn_graph_run(x) ||
          !(out = tn_graph_get_output(x, 0));
  }
  if (x) tn_graph_executor_free(x);
  tn_release(in), tn_release(r), tn_release(out);
  return err ? -1 : 0;
}

static void test_out_of_memory(void **state) {
  (void)state;
  assert_true(fail_every_allocation(everything, NULL) > 20);
}

/* ---- errors ---- */

static void refuse(const char *json, const char *kind, const char *part) {
  if (new_net(json)) fail_msg("accepted: %s", json);
  assert_error(kind, part);
}

/* `net` with the first `old` replaced. Valid until the next call. */
static const char *with(const char *old, const char *new) {
  static char text[4096];
  const char *at = strstr(net, old);
  assert_non_null(at);
  snprintf(text, sizeof text, "%.*s%s%s", (int)(at - net), net, new, at + strlen(old));
  return text;
}

static void test_broken_graphs(void **state) {
  (void)state;
  refuse("", "ValueError", "JSON");
  refuse("3", "ValueError", "invalid format: expected an object");
  refuse("{}", "ValueError", "nodes: missing");
  refuse(with("\"nodes\": [", "\"nodes\": [3, "), "ValueError", "node_row_ptr: expected 8");
  refuse(with("[0,1,2,3,4,5,6]", "[0,1,2,3,4,5,5]"), "ValueError", "expected a value for each");
  refuse(with("[0,1,2,3,4,5,6]", "[0,1,0,3,4,5,6]"), "ValueError", "node_row_ptr[2]");
  refuse(with("[0,1,2,3,4,5,6]", "[1,1,2,3,4,5,6]"), "ValueError", "node_row_ptr[0]");
  refuse(with("[0,1,2,3,4,5,6]", "[0,1,2,3,4,5,99999999999]"), "ValueError", "node_row_ptr[6]");
  refuse(with("[0, 1]", "[0, 2]"), "ValueError", "arg_nodes[1]: node 2 is not an input");
  refuse(with("[0, 1]", "[1, 1]"), "ValueError", "second time");
  refuse(with("[0, 1]", "[0, -1]"), "ValueError", "arg_nodes[1]: expected 0 to 5, got -1");
  refuse(with("[5,0,0]", "[6,0,0]"), "ValueError", "heads[0]");
  refuse(with("[5,0,0]", "[5,1,0]"), "ValueError", "heads[0]");
  refuse(with("[5,0,0]", "[5]"), "ValueError", "heads[0]");
  refuse(with("[2,0,0]", "[3,0,0]"), "ValueError", "nodes[3].inputs: expected 0 to 2, got 3");
  refuse(with("tvm_op", "op"), "ValueError", "nodes[2].op");
  refuse(with("\"num_inputs\": \"2\", ", ""), "ValueError", "nodes[2].attrs.num_inputs: missing");
  refuse(with("\"num_inputs\": \"2\"", "\"num_inputs\": \"3\""), "ValueError", "inputs has 2");
  refuse(with("\"num_outputs\": \"1\"", "\"num_outputs\": \"2\""), "ValueError",
         "num_outputs is 2");
  refuse(with("[2,2],", "[2,3],"), "ValueError", "__nop makes 24 bytes of 16");
  refuse(with("[4]", "[-4]"), "ValueError", "attrs.shape[0]");
  refuse(with("[4]", "[4.0]"), "ValueError", "attrs.shape[0]: expected an integer");
  refuse(with("[4]", "[4294967296, 4294967296, 4]"), "ValueError", "overflows");
  refuse(with("\"float32\"", "\"floot\""), "ValueError", "attrs.dltype[0]: unknown type");
  refuse(with("[0,1,2,3,3,2]", "[0,1,2,3,3,-2]"), "ValueError", "attrs.storage_id[5]");
  refuse(with("\"storage_id\"", "\"storage\""), "ValueError", "attrs.storage_id: missing");
  refuse(with("sum2", "sum3"), "TVMError", "no such function in module: sum3");
}

static void test_failing_function(void **state) {
  (void)state;
  tn_graph_executor *x = new_net(with("add1", "fails"));
  assert_int_equal(tn_graph_run(x), -1);
  assert_error("KeyError", "this function fails");
  tn_graph_executor_free(x);
}

static void test_arrays_that_do_not_fit(void **state) {
  (void)state;
  tn_graph_executor *x = new_net(net);
  tn_tensor *square = array(2, 1, 2, 3, 4);
  tn_tensor *ints = tn_tensor_new(&(int64_t){4}, 1, (tn_dtype){kDLInt, 32, 1}, cpu, NULL);
  DLTensor elsewhere = ints->dl;
  elsewhere.dtype = f32;
  elsewhere.device = (tn_device){kDLCUDA, 1};
  tn_any a = any(square), b = any(ints), c = {.type_index = TN_DLTENSOR, .v.dltensor = &elsewhere};
  tn_any d = tn_any_int(3);
  set(x, 0, 1, 2, 3, 4);
  assert_int_equal(tn_graph_set_input(x, 0, &square->dl), -1);
  assert_error("ValueError", "x: expected shape (4,), got (2, 2)");
  assert_int_equal(tn_graph_set_input(x, 0, &ints->dl), -1);
  assert_error("ValueError", "x: expected dtype float32, got int32");
  assert_int_equal(tn_graph_bind_input(x, 0, &a), -1);
  assert_error("ValueError", "x: expected shape");
  assert_int_equal(tn_graph_bind_input(x, 0, &c), -1);
  assert_error("ValueError", "x: expected an array on cpu(0), got one on cuda(1)");
  assert_int_equal(tn_graph_bind_input(x, 0, &d), -1);
  assert_error("TypeError", "int");
  assert_int_equal(tn_graph_bind_output(x, 1, &b), -1);
  assert_error("ValueError", "output 1: expected dtype float32, got int32");
  assert_int_equal(tn_graph_copy_output(x, 0, &ints->dl), -1);
  assert_error("ValueError", "output 0: expected dtype");
  assert_int_equal(tn_graph_run(x), 0);
  assert_output(x, 1, 2, 3, 4, 5);
  tn_graph_executor_free(x);
  tn_release(square), tn_release(ints);
}

/* ---- devices ---- */

static void test_devices(void **state) {
  (void)state;
  char text[4096];
  const tn_device both[] = {{kDLVPI, 0}, {kDLCPU, 0}};
  tn_module *m = graph_module();
  snprintf(text, sizeof text, "%.*s, \"device_index\": [\"list_int\", [1,1,1,1,1,9]]}}",
           (int)strlen(net) - 2, net);
  assert_null(tn_graph_executor_new(text, strlen(text), m, both, 2));
  assert_error("ValueError",
               "entry 5 is on vpi(0), but shares its storage with an entry on cpu(0)");
  tn_graph_executor *x = tn_graph_executor_new(text, strlen(text), m, both + 1, 1);
  assert_non_null(x); /* there is no such device: the first one */
  assert_int_equal(tn_graph_run(x), 0);
  tn_graph_executor_free(x);
  assert_null(tn_graph_executor_new(net, strlen(net), m, NULL, 0));
  assert_error("ValueError", "at least one device");
  tn_release(m);
}

/* ---- threads ---- */

static void *run_often(void *module) {
  for (int i = 0; i < 50; ++i) {
    tn_graph_executor *x = tn_graph_executor_new(net, strlen(net), module, &cpu, 1);
    tn_tensor *in = array(1, (float)i, 2, 3, 4);
    bool ok = x && in && tn_graph_set_input(x, 0, &in->dl) == 0;
    for (int k = 0; k < 20 && ok; ++k) ok = tn_graph_run(x) == 0;
    tn_tensor *out = ok ? tn_graph_get_output(x, 1) : NULL;
    ok = out && ((float *)out->dl.data)[0] == (float)i + 1;
    tn_release(out);
    tn_release(in);
    if (x) tn_graph_executor_free(x);
    if (!ok) return NULL;
  }
  return module;
}

static void test_threads_on_one_module(void **state) {
  (void)state;
  pthread_t threads[4];
  tn_module *m = graph_module();
  for (int i = 0; i < 4; ++i) assert_int_equal(pthread_create(&threads[i], NULL, run_often, m), 0);
  for (int i = 0; i < 4; ++i) {
    void *result;
    pthread_join(threads[i], &result);
    assert_ptr_equal(result, m);
  }
  assert_int_equal(tn_use_count(m), 1);
  tn_release(m);
}

static void *first_executor(void *factory) {
  tn_func *f = tn_module_require(factory, "default", false);
  tn_any dev = tn_any_device(cpu), ret = tn_any_none();
  void *w = NULL;
  if (f && tn_func_call(f, &dev, 1, &ret) == 0)
    w = tn_graph_executor_of((tn_module *)ret.v.obj)->values[1].data;
  tn_any_release(&ret);
  tn_release(f);
  return w;
}

/* Parameters that lie in a library are copied once, whoever asks first. */
static void test_threads_on_one_loaded_factory(void **state) {
  (void)state;
  pthread_t threads[4];
  void *where[4];
  tn_tensor *p = array(1, 10, 20, 30, 40);
  tn_map *params = params_of("p", p);
  tn_module *lib = graph_module();
  tn_str *json = tn_str_new(net);
  tn_module *factory = tn_graph_factory_new(json, lib, "default", params);
  tn_bytes *saved = tn_module_save_binary(factory);
  tn_bytes_view v = tn_bytes_get(saved);
  for (int round = 0; round < 20; ++round) {
    tn_reader r = {.data = v.data, .size = v.size, .owner = (tn_obj *)saved};
    tn_module *loaded = tn_module_load_binary("GraphExecutorFactory", &r);
    assert_non_null(loaded);
    assert_int_equal(tn_module_import(loaded, lib), 0);
    for (int i = 0; i < 4; ++i)
      assert_int_equal(pthread_create(&threads[i], NULL, first_executor, loaded), 0);
    for (int i = 0; i < 4; ++i) pthread_join(threads[i], &where[i]);
    for (int i = 0; i < 4; ++i) assert_ptr_equal(where[i], where[0]);
    assert_true(where[0] && ((uintptr_t)where[0]) % 64 == 0);
    tn_release(loaded);
  }
  assert_int_equal(tn_use_count(saved), 1);
  tn_release(saved), tn_release(factory), tn_release(json), tn_release(lib);
  tn_release(params), tn_release(p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_run),
      cmocka_unit_test(test_inputs_that_nobody_sets_are_zero),
      cmocka_unit_test(test_zero_copy),
      cmocka_unit_test(test_overlapping_arrays),
      cmocka_unit_test(test_the_executors_own_memory_as_input),
      cmocka_unit_test(test_any_alignment_and_layout),
      cmocka_unit_test(test_alignment_for_old_libraries),
      cmocka_unit_test(test_params_are_shared_until_written),
      cmocka_unit_test(test_share_params),
      cmocka_unit_test(test_staging_over_a_shared_parameter),
      cmocka_unit_test(test_a_run_allocates_nothing),
      cmocka_unit_test(test_out_of_memory),
      cmocka_unit_test(test_factory_out_of_memory),
      cmocka_unit_test(test_broken_graphs),
      cmocka_unit_test(test_failing_function),
      cmocka_unit_test(test_arrays_that_do_not_fit),
      cmocka_unit_test(test_devices),
      cmocka_unit_test(test_threads_on_one_module),
      cmocka_unit_test(test_threads_on_one_loaded_factory),
  };
  return cmocka_run_group_tests(tests, start_runtime, NULL);
}
