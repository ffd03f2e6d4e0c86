/* Graph executors as modules: what programs call on them, by name. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "object/dtype.h"
#include "object/functions.h"
#include "runtime/graph/executor.h"
#include "runtime/tensor/tensor.h"

static const char what[] = "graph executor";

/* ---- arguments ---- */

static bool is_text(const tn_any *a) {
  return a->type_index == TN_CSTR || a->type_index == TN_TI_String;
}

/* An argument that names an input or output by number or name. `*out` is -1 for an unknown name;
   TVMError for a number out of range. */
static int arg_key(const tn_any *a, int32_t (*index)(const tn_graph_executor *, const char *),
                   const tn_graph_executor *x, int32_t n, const char *kind, int32_t *out) {
  const char *name;
  int64_t i;
  if (is_text(a)) {
    TN_TRY(tn_any_to_cstr(a, &name));
    *out = index(x, name);
    TN_CHECK(*out != TN_GRAPH_SEVERAL, ValueError, NULL,
             "graph executor: several inputs are called \"%s\": use their numbers", name);
    return 0;
  }
  TN_TRY(tn_any_to_int(a, &i));
  TN_CHECK(i >= 0 && i < n, TenonError, NULL, "graph executor: unknown %s %lld: it has %d", kind,
           (long long)i, n);
  *out = (int32_t)i;
  return 0;
}

static int arg_input(const tn_graph_executor *x, const tn_any *a, int32_t *out) {
  return arg_key(a, tn_graph_input_index, x, x->g.narg, "input", out);
}
/* An output must be there, also one that is named. */
static int arg_output(const tn_graph_executor *x, const tn_any *a, int32_t *out) {
  TN_TRY(arg_key(a, tn_graph_output_index, x, x->g.nhead, "output", out));
  const char *name = "";
  if (*out < 0) TN_TRY(tn_any_to_cstr(a, &name));
  TN_CHECK(*out >= 0, TenonError, NULL, "graph executor: unknown output \"%s\"", name);
  return 0;
}

static int arg_bytes(const tn_any *a, tn_map **params) {
  tn_bytes_view b;
  TN_TRY(tn_any_to_bytes(a, &b));
  TN_GET(*params, tn_params_load(b.data, b.size));
  return 0;
}

/* ---- inputs ---- */

static int set_input(TN_ARGS) {
  int32_t i;
  const DLTensor *t;
  TN_NARGS("set_input", 2);
  TN_TRY(arg_input(self, &args[0], &i));
  TN_TRY(tn_any_to_dltensor(&args[1], &t));
  return i < 0 ? 0 : tn_graph_set_input(self, i, t);
}

static int set_input_zero_copy(TN_ARGS) {
  int32_t i;
  TN_NARGS("set_input_zero_copy", 2);
  TN_TRY(arg_input(self, &args[0], &i));
  return i < 0 ? 0 : tn_graph_bind_input(self, i, &args[1]);
}

static int get_input(TN_ARGS) {
  int32_t i;
  TN_NARGS("get_input", 1);
  TN_TRY(arg_input(self, &args[0], &i));
  return i < 0 ? 0 : tn_ret_owned(ret, tn_graph_get_input(self, i));
}

static int get_input_index(TN_ARGS) {
  TN_NARGS("get_input_index", 1);
  TN_CHECK(is_text(&args[0]), TypeError, NULL, "get_input_index: Input key is not a string");
  int32_t i;
  TN_TRY(arg_input(self, &args[0], &i));
  *ret = tn_any_int(i);
  return 0;
}

static int get_num_inputs(TN_ARGS) {
  *ret = tn_any_int(((const tn_graph_executor *)self)->g.narg);
  return 0;
}

/* ---- what inputs and outputs are ---- */

static int put_owned(tn_map *m, const char *key, void *value) {
  int err = value ? tn_map_set(m, tn_any_cstr(key), tn_any_obj(value)) : -1;
  tn_release(value);
  return err;
}

static int put_info(const tn_graph_entry *e, const char *name, tn_map *shapes, tn_map *dtypes) {
  TN_TRY(put_owned(shapes, name, tn_shape_new(e->shape, e->ndim)));
  return put_owned(dtypes, name, tn_str_new(TN_DT(e->dtype)));
}

static int input_infos(const tn_graph_executor *x, tn_map *shapes, tn_map *dtypes) {
  for (int32_t i = 0; i < x->g.narg; ++i) {
    const char *name = x->g.nodes[x->g.args[i]].name;
    tn_any known;
    if (x->loaded && tn_map_get(x->loaded, tn_any_cstr(name), &known)) continue;
    TN_TRY(put_info(&x->g.entries[tn_graph_input_entry(x, i)], name, shapes, dtypes));
  }
  return 0;
}

static int output_infos(const tn_graph_executor *x, tn_map *shapes, tn_map *dtypes) {
  tn_any name, i;
  for (int64_t k = 0; tn_map_at(x->output_names, k, &name, &i); ++k) {
    const tn_graph_entry *e = &x->g.entries[x->g.heads[i.v.i64]];
    TN_TRY(put_info(e, ((const tn_str *)name.v.obj)->data, shapes, dtypes));
  }
  return 0;
}

/* {"shape": {name: shape}, "dtype": {name: type}} */
static int get_info(const tn_graph_executor *x,
                    int (*fill)(const tn_graph_executor *, tn_map *, tn_map *), tn_any *ret) {
  tn_map *shapes = tn_map_new(), *dtypes = tn_map_new(), *both = tn_map_new();
  int err = !shapes || !dtypes || !both || fill(x, shapes, dtypes) ||
            tn_map_set(both, tn_any_cstr("shape"), tn_any_obj(shapes)) ||
            tn_map_set(both, tn_any_cstr("dtype"), tn_any_obj(dtypes));
  tn_release(shapes);
  tn_release(dtypes);
  if (!err) return tn_ret_owned(ret, both);
  tn_release(both);
  return -1;
}

static int get_input_info(TN_ARGS) { return get_info(self, input_infos, ret); }
static int get_output_info(TN_ARGS) { return get_info(self, output_infos, ret); }

/* (input) -> [shape, type], or None for an unknown name: what a host needs to convert a value */
static int describe_input(TN_ARGS) {
  const tn_graph_executor *x = self;
  int32_t i;
  TN_NARGS("_describe_input", 1);
  TN_TRY(arg_input(x, &args[0], &i));
  if (i < 0) return 0;
  const tn_graph_entry *e = &x->g.entries[tn_graph_input_entry(x, i)];
  tn_shape *shape = tn_shape_new(e->shape, e->ndim);
  tn_any both[] = {tn_any_obj(shape), tn_any_cstr(TN_DT(e->dtype))};
  tn_arr *pair = shape ? tn_arr_new(both, 2) : NULL;
  tn_release(shape);
  return tn_ret_owned(ret, pair);
}

/* ---- outputs ---- */

/* (output) -> array, or (output, array to copy to) */
static int get_output(TN_ARGS) {
  int32_t i;
  DLTensor *to;
  TN_CHECK(n == 1 || n == 2, TypeError, NULL,
           "get_output: expected an output and perhaps an array, got %d arguments", n);
  TN_TRY(arg_output(self, &args[0], &i));
  if (n == 1) return tn_ret_owned(ret, tn_graph_get_output(self, i));
  TN_TRY(tn_any_to_writable(&args[1], &to));
  return tn_graph_copy_output(self, i, to);
}

static int set_output_zero_copy(TN_ARGS) {
  int32_t i;
  TN_NARGS("set_output_zero_copy", 2);
  TN_TRY(arg_output(self, &args[0], &i));
  return tn_graph_bind_output(self, i, &args[1]);
}

static int get_num_outputs(TN_ARGS) {
  *ret = tn_any_int(((const tn_graph_executor *)self)->g.nhead);
  return 0;
}

static int get_output_index(TN_ARGS) {
  const char *name;
  TN_NARGS("get_output_index", 1);
  TN_TRY(tn_any_to_cstr(&args[0], &name));
  *ret = tn_any_int(tn_graph_output_index(self, name));
  return 0;
}

/* ---- running ---- */

static int run(TN_ARGS) { return tn_graph_run(self); }

static int set_pair(tn_graph_executor *x, const tn_any *key, const tn_any *value) {
  int32_t i;
  const DLTensor *t;
  const char *name = "";
  TN_TRY(arg_input(x, key, &i));
  if (i < 0) TN_TRY(tn_any_to_cstr(key, &name));
  TN_CHECK(i >= 0, ValueError, NULL, "run_from_inputs: %s is not a valid input name", name);
  TN_TRY(tn_any_to_dltensor(value, &t));
  return tn_graph_set_input(x, i, t);
}

/* A copy of an output on a device. Owned. */
static tn_tensor *output_on(tn_graph_executor *x, int32_t i, tn_device dev) {
  tn_tensor *t = tn_graph_get_output(x, i);
  tn_tensor *copy = t ? tn_tensor_clone(&t->dl, dev, NULL) : NULL;
  tn_release(t);
  return copy;
}

/* (device type, device id, input, value, ...) -> array of the outputs, copied to the device */
static int run_from_inputs(TN_ARGS) {
  tn_graph_executor *x = self;
  int64_t type, id;
  TN_CHECK(n >= 2 && n % 2 == 0, TypeError, NULL,
           "run_from_inputs: expected a device type and id, then inputs and values in turn; got %d "
           "arguments",
           n);
  TN_TRY(tn_any_to_int(&args[0], &type));
  TN_TRY(tn_any_to_int(&args[1], &id));
  for (int32_t i = 2; i < n; i += 2) TN_TRY(set_pair(x, &args[i], &args[i + 1]));
  TN_TRY(tn_graph_run(x));
  TN_VEC(outputs);
  tn_arr *all = NULL;
  int err = 0;
  for (int32_t i = 0; i < x->g.nhead && !err; ++i) {
    tn_tensor *t = output_on(x, i, (tn_device){(DLDeviceType)type, (int32_t)id});
    err = t ? tn_vec_push_obj(&outputs, t) : -1;
    if (err) tn_release(t);
  }
  if (!err) all = tn_arr_new(outputs.items, outputs.len);
  while (outputs.len > 0) tn_release(outputs.items[--outputs.len].v.obj);
  return tn_ret_owned(ret, all);
}

/* ---- parameters ---- */

static int load_params(TN_ARGS) {
  tn_map *params;
  TN_NARGS("load_params", 1);
  TN_TRY(arg_bytes(&args[0], &params));
  int err = tn_graph_set_params(self, params, TN_PARAMS_TAKE) || tn_graph_mark_loaded(self, params);
  tn_release(params);
  return err ? -1 : 0;
}

static int share_all(tn_graph_executor *x, tn_graph_executor *other, const tn_map *params) {
  TN_TRY(tn_use_begin(&other->use, what, "share_params"));
  int err = tn_graph_share_params(x, other, params);
  tn_use_end(&other->use);
  return err;
}

/* (executor module, bytes of which the names count) */
static int share_params(TN_ARGS) {
  tn_module *m;
  tn_map *params;
  TN_NARGS("share_params", 2);
  TN_TRY(tn_arg_module(args, n, 0, &m));
  tn_graph_executor *other = tn_graph_executor_of(m);
  TN_CHECK(other, TypeError, NULL, "share_params: expected a graph executor, got a %s module",
           m->ops->type_key);
  TN_TRY(arg_bytes(&args[1], &params));
  int err = other == self ? 0 : share_all(self, other, params);
  if (!err) err = tn_graph_mark_loaded(self, params);
  tn_release(params);
  return err;
}

/* ---- the module ---- */

static const tn_func_row methods[] = {
    {"set_input", set_input},
    {"set_input_zero_copy", set_input_zero_copy},
    {"set_output_zero_copy", set_output_zero_copy},
    {"get_input", get_input},
    {"get_output", get_output},
    {"run", run},
    {"run_from_inputs", run_from_inputs},
    {"get_input_info", get_input_info},
    {"get_output_info", get_output_info},
    {"load_params", load_params},
    {"share_params", share_params},
};

/* These read what never changes. */
static const tn_func_row questions[] = {
    {"get_num_inputs", get_num_inputs},   {"get_num_outputs", get_num_outputs},
    {"get_input_index", get_input_index}, {"get_output_index", get_output_index},
    {"_describe_input", describe_input},
};

int tn_graph_find_method(tn_module *m, const tn_func_row *rows, int n, const char *name,
                         tn_func **out) {
  tn_graph_executor *x = tn_module_self(m);
  for (int i = 0; i < n; ++i) {
    if (strcmp(rows[i].name, name)) continue;
    TN_GET(*out, tn_module_bind_alone(m, &rows[i], x, &x->use, what));
    return 0;
  }
  return 0;
}

int tn_graph_get_function(tn_module *m, const char *name, tn_func **out) {
  for (int i = 0; i < TN_COUNT(questions); ++i) {
    if (strcmp(questions[i].name, name)) continue;
    TN_GET(*out, tn_module_bind(m, questions[i].call, tn_module_self(m)));
    return 0;
  }
  return tn_graph_find_method(m, methods, TN_COUNT(methods), name, out);
}

void tn_graph_module_fini(tn_module *m) { tn_graph_executor_free(tn_module_self(m)); }

static const tn_module_ops graph_ops = {
    .type_key = "GraphExecutor",
    .properties = TN_MODULE_RUNNABLE,
    .get_function = tn_graph_get_function,
    .fini = tn_graph_module_fini,
};

tn_graph_executor *tn_graph_executor_of(const tn_module *m) {
  return m->ops->fini == tn_graph_module_fini ? tn_module_self(m) : NULL;
}

tn_module *tn_graph_module(tn_graph_executor *x) {
  tn_module *m = x ? tn_module_new(&graph_ops, x) : NULL;
  if (x && !m) tn_graph_executor_free(x);
  return m;
}

/* Reads devices given as pairs of type and id. */
static int pairs_of_devices(const tn_any *args, int32_t n, tn_device *out) {
  int64_t type, id;
  for (int32_t i = 0; i + 1 < n; i += 2) {
    TN_TRY(tn_any_to_int(&args[i], &type));
    TN_TRY(tn_any_to_int(&args[i + 1], &id));
    out[i / 2] = (tn_device){(DLDeviceType)type, (int32_t)id};
  }
  return 0;
}

/* (graph JSON, module, [function that is not used,] device type, device id, ...) */
tn_graph_executor *tn_graph_executor_from_args(const char *who, const tn_any *args, int32_t n) {
  enum { MAX_DEVICES = 32 };
  tn_device devices[MAX_DEVICES];
  tn_bytes_view json;
  tn_module *lib;
  bool hook = n > 2 && (args[2].type_index == TN_NONE || args[2].type_index == TN_TI_Function);
  int32_t first = hook ? 3 : 2;
  TN_CHECKP(n >= first + 2 && (n - first) % 2 == 0 && (n - first) / 2 <= MAX_DEVICES, TypeError,
            NULL,
            "%s: expected graph JSON, a module, and pairs of device type and id, got %d arguments",
            who, n);
  TN_TRYP(tn_any_to_bytes(&args[0], &json));
  TN_TRYP(tn_arg_module(args, n, 1, &lib));
  TN_TRYP(pairs_of_devices(args + first, n - first, devices));
  return tn_graph_executor_new((const char *)json.data, json.size, lib, devices, (n - first) / 2);
}

static int create(TN_ARGS) {
  return tn_ret_owned(
      ret, tn_graph_module(tn_graph_executor_from_args("tvm.graph_executor.create", args, n)));
}

static const tn_func_row rows[] = {
    {"tvm.graph_executor.create", create},
    {"tvm.graph_runtime.create", create},
};

int tn_graph_init(void) { return tn_func_register_rows(rows, TN_COUNT(rows)); }
