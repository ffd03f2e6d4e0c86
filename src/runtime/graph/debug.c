/* The debug executor: a graph executor whose nodes can be run, timed and looked at one by one. */
#include <string.h>

#include "base/alloc.h"
#include "object/functions.h"
#include "runtime/graph/executor.h"
#include "runtime/profiling/profiling.h"
#include "runtime/tensor/tensor.h"
#include "runtime/profiling/timing.h"

/* ---- nodes ---- */

static int arg_node(const tn_graph_executor *x, const tn_any *a, int32_t *out) {
  int64_t i;
  TN_TRY(tn_any_to_int(a, &i));
  TN_CHECK(i >= 0 && i < x->g.nnode, TenonError, NULL,
           "debug executor: unknown node %lld: the graph has %d", (long long)i, x->g.nnode);
  *out = (int32_t)i;
  return 0;
}

/* A node by number or name. */
static int arg_node_or_name(const tn_graph_executor *x, const tn_any *a, int32_t *out) {
  const char *name;
  if (a->type_index != TN_CSTR && a->type_index != TN_TI_String) return arg_node(x, a, out);
  TN_TRY(tn_any_to_cstr(a, &name));
  for (int32_t i = 0; i < x->g.nnode; ++i) {
    if (strcmp(x->g.nodes[i].name, name)) continue;
    *out = i;
    return 0;
  }
  return TN_RAISE(TenonError, NULL, "debug executor: unknown node \"%s\"", name);
}

static int run_node(tn_graph_executor *x, int32_t node) {
  int32_t op = x->op_of_node[node];
  return op < 0 ? 0 : tn_graph_run_op(&x->ops[op]);
}

/* (node) */
static int execute_node(TN_ARGS) {
  tn_graph_executor *x = self;
  int32_t node = 0;
  TN_NARGS("execute_node", 1);
  TN_TRY(arg_node(x, &args[0], &node));
  TN_TRY(tn_graph_run_begin(x));
  return run_node(x, node);
}

/* Entry `index` of a node. */
static int entry_of(const tn_graph_executor *x, int32_t node, int64_t index, int32_t *out) {
  const tn_graph_node *n = &x->g.nodes[node];
  TN_CHECK(index >= 0 && index < n->noutput, TenonError, NULL,
           "debug executor: node \"%s\" has no output %lld: it has %d", n->name, (long long)index,
           n->noutput);
  *out = n->first_entry + (int32_t)index;
  return 0;
}

/* (node, output) -> copy of what it holds now */
static int get_node_output(TN_ARGS) {
  tn_graph_executor *x = self;
  int32_t node = 0, entry = 0;
  int64_t index;
  TN_NARGS("get_node_output", 2);
  TN_TRY(arg_node(x, &args[0], &node));
  TN_TRY(tn_any_to_int(&args[1], &index));
  TN_TRY(entry_of(x, node, index, &entry));
  tn_tensor *t = tn_graph_entry_tensor(x, entry);
  tn_tensor *copy = t ? tn_tensor_clone(&t->dl, t->dl.device, NULL) : NULL;
  tn_release(t);
  return tn_ret_owned(ret, copy);
}

/* (node or name[, array]): runs up to the node; its first output, or the last that was asked for
   by number in old programs, is copied to the array or returned */
static int debug_get_output(TN_ARGS) {
  tn_graph_executor *x = self;
  int32_t node = 0, entry = 0;
  DLTensor *to;
  TN_CHECK(n == 1 || n == 2, TypeError, NULL,
           "debug_get_output: expected a node and perhaps an array, got %d arguments", n);
  TN_TRY(arg_node_or_name(x, &args[0], &node));
  TN_TRY(entry_of(x, node, 0, &entry));
  TN_TRY(tn_graph_run_begin(x));
  for (int32_t i = 0; i <= node; ++i) TN_TRY(run_node(x, i));
  tn_tensor *t = tn_graph_entry_tensor(x, entry);
  if (!t) return -1;
  if (n == 1) {
    tn_tensor *copy = tn_tensor_clone(&t->dl, t->dl.device, NULL);
    tn_release(t);
    return tn_ret_owned(ret, copy);
  }
  int err = tn_any_to_writable(&args[1], &to) || tn_tensor_copy(&t->dl, to);
  tn_release(t);
  return err ? -1 : 0;
}

/* ---- times ---- */

static int call_node(void *self, const tn_any *args, int32_t n, tn_any *ret) {
  (void)args, (void)n, (void)ret;
  return tn_graph_run_op(self);
}

static tn_device device_of(const tn_graph_executor *x, int32_t node) {
  return x->storages[x->g.entries[x->g.nodes[node].first_entry].storage].dev;
}

/* Appends `repeat` times of a node in seconds; zeros for one without a function. */
static int time_node(tn_graph_executor *x, int32_t node, const tn_timing *how, tn_buf *out) {
  int32_t op = x->op_of_node[node];
  tn_any ret;
  if (op < 0) {
    static const double zero;
    for (int64_t i = 0; i < how->repeat; ++i) tn_buf_put(out, &zero, sizeof zero);
    return tn_buf_ok(out);
  }
  tn_func *f = tn_func_new(call_node, &x->ops[op], NULL);
  tn_timing mine = *how;
  if (x->g.nodes[node].noutput > 0) mine.device = device_of(x, node);
  tn_func *timer = f ? tn_time_evaluator(f, &mine) : NULL;
  tn_release(f);
  if (!timer) return -1;
  int err = tn_func_call(timer, NULL, 0, &ret);
  tn_release(timer);
  if (err) return -1;
  tn_bytes_view b = tn_bytes_get((const tn_bytes *)ret.v.obj);
  tn_buf_put(out, b.data, b.size);
  tn_any_release(&ret);
  return tn_buf_ok(out);
}

/* number, repeat, min_repeat_ms, limit_zero_time_iterations, cooldown_interval_ms,
   repeats_to_cooldown; what is left out is as for time_evaluator */
static int arg_timing(const tn_graph_executor *x, const tn_any *args, int32_t n, tn_timing *out) {
  int64_t v[6] = {10, 1, 0, 100, 0, 1};
  TN_CHECK(n <= 6, TypeError, NULL, "run_individual: expected at most 6 numbers, got %d", n);
  for (int32_t i = 0; i < n; ++i) TN_TRY(tn_any_to_int(&args[i], &v[i]));
  TN_CHECK(v[1] >= 1 && v[1] <= INT32_MAX, ValueError, NULL,
           "run_individual.repeat: expected 1 or more, got %lld", (long long)v[1]);
  *out = (tn_timing){.device = x->devices[0],
                     .number = v[0],
                     .repeat = v[1],
                     .min_repeat_ms = v[2],
                     .limit_zero_time_iterations = v[3],
                     .cooldown_interval_ms = v[4],
                     .repeats_to_cooldown = v[5]};
  return 0;
}

static int ret_bytes(tn_any *ret, const tn_buf *b) {
  TN_TRY(tn_buf_ok(b));
  return tn_ret_owned(ret, tn_bytes_new(b->data, b->len));
}

/* (number, repeat, ...) -> bytes: int64 number of nodes, then `repeat` doubles for each */
static int run_individual(TN_ARGS) {
  tn_graph_executor *x = self;
  tn_timing how;
  TN_BUF(out);
  TN_TRY(arg_timing(x, args, n, &how));
  tn_buf_u64(&out, (uint64_t)x->g.nnode);
  TN_TRY(tn_graph_run(x)); /* to warm up, and so that every node finds its inputs */
  for (int32_t i = 0; i < x->g.nnode; ++i) TN_TRY(time_node(x, i, &how, &out));
  return ret_bytes(ret, &out);
}

/* (node, number, repeat, ...) -> bytes of `repeat` doubles */
static int run_individual_node(TN_ARGS) {
  tn_graph_executor *x = self;
  tn_timing how;
  int32_t node = 0;
  TN_BUF(out);
  TN_CHECK(n >= 1, TypeError, NULL, "run_individual_node: expected a node");
  TN_TRY(arg_node(x, &args[0], &node));
  TN_TRY(arg_timing(x, args + 1, n - 1, &how));
  TN_TRY(tn_graph_run_begin(x));
  TN_TRY(time_node(x, node, &how, &out));
  return ret_bytes(ret, &out);
}

/* ---- a profile ---- */

/* Types and shapes of the arguments of an operator; owned by the scope. */
static tn_str *shapes_of(const tn_graph_executor *x, const tn_graph_op *op) {
  const tn_graph_node *n = &x->g.nodes[op->node];
  TN_AUTOFREE DLTensor *tensors = tn_alloc_zero((size_t)op->narg + 1, sizeof *tensors);
  TN_AUTOFREE const DLTensor **all = tn_alloc_zero((size_t)op->narg + 1, sizeof *all);
  if (!tensors || !all) return NULL;
  for (int32_t i = 0; i < op->narg; ++i) {
    int32_t entry = i < n->ninput ? n->inputs[i] : n->first_entry + i - n->ninput;
    const tn_graph_entry *e = &x->g.entries[entry];
    tensors[i].ndim = e->ndim; /* the entry's: the function may see it flattened */
    tensors[i].dtype = e->dtype;
    tensors[i].shape = (int64_t *)(uintptr_t)e->shape;
    all[i] = &tensors[i];
  }
  return tn_scope_own(tn_shape_string(all, op->narg));
}

static int put_text(tn_map *m, const char *key, const char *value) {
  tn_str *text = tn_str_from(value);
  return text ? tn_map_set(m, tn_any_cstr(key), tn_any_obj(text)) : -1;
}

/* Metrics of an operator besides its time; owned by the scope. */
static tn_map *metrics_of(const tn_graph_executor *x, const tn_graph_op *op) {
  const tn_graph_node *n = &x->g.nodes[op->node];
  tn_map *m = tn_scope_own(tn_map_new());
  tn_str *shapes = m ? shapes_of(x, op) : NULL;
  if (!shapes || tn_map_set(m, tn_any_cstr("Argument Shapes"), tn_any_obj(shapes))) return NULL;
  for (int32_t i = 0; i < n->nattr; ++i) {
    const tn_graph_attr *a = &n->attrs[i];
    if (strcmp(a->key, "hash") == 0) TN_TRYP(put_text(m, "Hash", a->value));
    else if (strstr(a->key, "layout")) TN_TRYP(put_text(m, a->key, a->value));
  }
  return m;
}

static int profile_op(tn_graph_executor *x, tn_profiler *p, tn_graph_op *op) {
  TN_SCOPE(s);
  const tn_graph_node *n = &x->g.nodes[op->node];
  tn_device dev = n->noutput > 0 ? device_of(x, op->node) : x->devices[0];
  tn_map *metrics;
  TN_GET(metrics, metrics_of(x, op));
  TN_TRY(tn_profiler_start_call(p, n->func, dev, metrics));
  TN_TRY(tn_graph_run_op(op));
  return tn_profiler_stop_call(p, NULL);
}

static int profile_run(tn_graph_executor *x, tn_profiler *p) {
  TN_TRY(tn_graph_run_begin(x));
  TN_TRY(tn_profiler_start(p));
  for (int32_t i = 0; i < x->nop; ++i) TN_TRY(profile_op(x, p, &x->ops[i]));
  TN_TRY(tn_profiler_stop(p));
  return tn_graph_run_end(x);
}

/* A report of one run, after some to warm up. Owned. */
static tn_Report *profile(tn_graph_executor *x, const tn_arr *collectors) {
  enum { WARM_UP = 3 };
  TN_SCOPE(s);
  tn_map *about = tn_scope_own(tn_map_new());
  if (!about) return NULL;
  TN_TRYP(put_text(about, "Executor", "Graph"));
  for (int i = 0; i < WARM_UP; ++i) TN_TRYP(tn_graph_run(x));
  tn_profiler *p = tn_profiler_new(x->devices, x->ndevice, collectors, about);
  if (!p) return NULL;
  tn_Report *r = profile_run(x, p) ? NULL : tn_profiler_report(p);
  tn_profiler_free(p);
  return r;
}

/* ([collectors]) -> report */
static int f_profile(TN_ARGS) {
  tn_arr *collectors = NULL;
  TN_TRY(tn_arg_items(args, n, 0, "Array(MetricCollector)", true, (tn_obj **)&collectors));
  return tn_ret_owned(ret, profile(self, collectors));
}

/* () -> the report as JSON, for callers that are not in this process */
static int profile_rpc(TN_ARGS) {
  tn_Report *r = profile(self, NULL);
  tn_str *text = r ? tn_report_json(r) : NULL;
  tn_release(r);
  return tn_ret_owned(ret, text);
}

/* ---- the module ---- */

static const tn_func_row methods[] = {
    {"debug_get_output", debug_get_output},
    {"execute_node", execute_node},
    {"get_node_output", get_node_output},
    {"run_individual", run_individual},
    {"run_individual_node", run_individual_node},
    {"profile", f_profile},
    {"profile_rpc", profile_rpc},
};

static int get_function(tn_module *m, const char *name, tn_func **out) {
  TN_TRY(tn_graph_find_method(m, methods, TN_COUNT(methods), name, out));
  return *out ? 0 : tn_graph_get_function(m, name, out);
}

static const tn_module_ops debug_ops = {
    .type_key = "GraphExecutorDebug",
    .properties = TN_MODULE_RUNNABLE,
    .get_function = get_function,
    .fini = tn_graph_module_fini,
};

tn_module *tn_graph_debug_module(tn_graph_executor *x) {
  tn_module *m = x ? tn_module_new(&debug_ops, x) : NULL;
  if (x && !m) tn_graph_executor_free(x);
  return m;
}

static int create(TN_ARGS) {
  static const char who[] = "tvm.graph_executor_debug.create";
  return tn_ret_owned(ret, tn_graph_debug_module(tn_graph_executor_from_args(who, args, n)));
}

static const tn_func_row rows[] = {
    {"tvm.graph_executor_debug.create", create},
    {"tvm.graph_runtime_debug.create", create},
};

int tn_graph_debug_init(void) { return tn_func_register_rows(rows, TN_COUNT(rows)); }
