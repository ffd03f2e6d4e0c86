/* Graph executor factories: what a built model is. A module with the graph and the parameters that
   imports the compiled code, and whose functions make executors:

     factory["default"](device, ...)                executor; "default" is the model's name
     factory["debug_create"]("default", device, ...)
     factory["get_graph_json"](), ["get_graph_params"](), ["remove_params"]()

   Inside a library it is saved as: text graph JSON, u64 number of parameters, list of their names,
   the parameters (as in params.h), text model name. */
#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "base/reader.h"
#include "object/functions.h"
#include "runtime/module/module_blob.h"
#include "runtime/graph/executor.h"
#include "runtime/tensor/params.h"
#include "runtime/tensor/tensor_content.h"

/* Parameters that were loaded from a library are copied out of it when the first executor is made
   (to one block of memory, where each is aligned), and shared by all executors from then on. */
typedef struct {
  tn_str *json, *name;
  _Atomic(tn_map *) params; /* name to tensor, never written to; NULL: not copied yet */
  tn_map *stored;           /* views of the library's memory, or NULL */
} factory;

static const tn_module_ops factory_ops;

static void factory_free(factory *f) {
  tn_release(f->json);
  tn_release(f->name);
  tn_release(atomic_load(&f->params));
  tn_release(f->stored);
  tn_free(f);
}

static void fini(tn_module *m) { factory_free(tn_module_self(m)); }

/* Takes over all three, of which any may be NULL with an error pending.
   @param stored the parameters are views of a library's memory. Owned. */
static tn_module *make(tn_str *json, tn_str *name, tn_map *params, bool stored) {
  factory *f = json && name && params ? tn_alloc_zero(1, sizeof *f) : NULL;
  tn_module *m = NULL;
  if (f) {
    f->json = json;
    f->name = name;
    f->stored = stored ? params : NULL;
    atomic_init(&f->params, stored ? NULL : params);
    if ((m = tn_module_new(&factory_ops, f))) return m;
    factory_free(f);
    return NULL;
  }
  tn_release(json);
  tn_release(name);
  tn_release(params);
  return NULL;
}

/* ---- parameters ---- */

static int64_t padded(const tn_tensor *t) {
  return (tn_tensor_nbytes(&t->dl) + TN_TENSOR_ALIGN - 1) / TN_TENSOR_ALIGN * TN_TENSOR_ALIGN;
}

/* A block of memory for all tensors of a map. Owned. */
static tn_tensor *block_for(const tn_map *params) {
  int64_t total = 0;
  tn_any key, value;
  for (int64_t i = 0; tn_map_at(params, i, &key, &value); ++i)
    total += padded((const tn_tensor *)value.v.obj); /* of views of memory: cannot overflow */
  return tn_tensor_new(&total, 1, (tn_dtype){kDLUInt, 8, 1}, (tn_device){kDLCPU, 0}, NULL);
}

static int copy_to(tn_tensor *block, const tn_map *params, tn_map *out) {
  int64_t at = 0;
  tn_any key, value;
  for (int64_t i = 0; tn_map_at(params, i, &key, &value); ++i) {
    const tn_tensor *from = (const tn_tensor *)value.v.obj;
    const DLTensor *dl = &from->dl;
    tn_tensor *t;
    TN_GET(t, tn_tensor_view(block, dl->shape, dl->ndim, dl->dtype, at));
    int err = tn_tensor_copy(dl, &t->dl) || tn_map_set(out, key, tn_any_obj(t));
    tn_release(t);
    TN_TRY(err);
    at += padded(from);
  }
  return 0;
}

/* Copies of all tensors of a map in memory of their own. Owned. */
static tn_map *copied(const tn_map *params) {
  tn_tensor *block = block_for(params);
  tn_map *out = block ? tn_map_new() : NULL;
  int err = out ? copy_to(block, params, out) : -1;
  tn_release(block);
  if (!err) return out;
  tn_release(out);
  return NULL;
}

/* The parameters, borrowed; NULL with an error. Of threads that make them at the same time one
   wins. */
static tn_map *params_of(factory *f) {
  tn_map *now = atomic_load(&f->params), *made;
  if (now) return now;
  TN_GETP(made, copied(f->stored));
  if (atomic_compare_exchange_strong(&f->params, &now, made)) return made;
  tn_release(made);
  return now;
}

/* ---- executors ---- */

/* The compiled code: what the factory imports. Owned, or NULL without an error. */
static tn_module *code_of(const tn_module *m) {
  tn_arr *imports = tn_module_imports(m);
  tn_module *lib = imports && imports->len > 0 ? (tn_module *)imports->items[0].v.obj : NULL;
  tn_retain(lib);
  tn_release(imports);
  return lib;
}

/* An executor on the devices that are the arguments. Owned. */
static tn_graph_executor *new_executor(tn_module *m, const tn_any *args, int32_t n) {
  enum { MAX_DEVICES = 32 };
  factory *f = tn_module_self(m);
  tn_device devices[MAX_DEVICES];
  TN_CHECKP(n >= 1 && n <= MAX_DEVICES, TypeError, NULL,
            "%s: expected a device for the executor to run on, got %d arguments", f->name->data, n);
  for (int32_t i = 0; i < n; ++i) TN_TRYP(tn_any_to_device(&args[i], &devices[i]));
  tn_map *params;
  TN_GETP(params, params_of(f));
  tn_module *lib = code_of(m);
  if (tn_error_pending()) tn_error_clear(); /* without it every function is missing */
  tn_graph_executor *x = tn_graph_executor_new(f->json->data, f->json->len, lib, devices, n);
  tn_release(lib);
  if (!x || tn_graph_set_params(x, params, TN_PARAMS_SHARE) == 0) return x;
  tn_graph_executor_free(x);
  return NULL;
}

static int create(TN_ARGS) {
  return tn_ret_owned(ret, tn_graph_module(new_executor(self, args, n)));
}

/* (name of the model, device, ...) */
static int debug_create(TN_ARGS) {
  const char *name;
  const factory *f = tn_module_self(self);
  TN_CHECK(n >= 2, TypeError, NULL, "debug_create: expected the model's name and a device");
  TN_TRY(tn_any_to_cstr(&args[0], &name));
  TN_CHECK(strcmp(name, f->name->data) == 0, ValueError, NULL,
           "debug_create: expected the model's name \"%s\", got \"%s\"", f->name->data, name);
  return tn_ret_owned(ret, tn_graph_debug_module(new_executor(self, args + 1, n - 1)));
}

static int cuda_graph_create(TN_ARGS) {
  return TN_RAISE(NotImplementedError, NULL,
                  "cuda_graph_create: no CUDA graph executor; use the function named like "
                  "the model, \"default\" for most");
}

/* ---- content ---- */

static int get_json(TN_ARGS) { return tn_ret_obj(ret, ((factory *)tn_module_self(self))->json); }
static int get_params(TN_ARGS) { return tn_ret_obj(ret, params_of(tn_module_self(self))); }

/* A factory without the parameters, over the same code. */
static int remove_params(TN_ARGS) {
  factory *f = tn_module_self(self);
  tn_arr *imports = tn_module_imports(self);
  if (!imports) return -1;
  tn_retain(f->json);
  tn_retain(f->name);
  tn_module *m = make(f->json, f->name, tn_map_new(), false);
  if (m && tn_module_import_all(m, imports->items, imports->len)) {
    tn_release(m);
    m = NULL;
  }
  tn_release(imports);
  return tn_ret_owned(ret, m);
}

static const tn_func_row methods[] = {
    {"debug_create", debug_create},   {"cuda_graph_create", cuda_graph_create},
    {"get_graph_json", get_json},     {"get_graph_params", get_params},
    {"remove_params", remove_params},
};

static int get_function(tn_module *m, const char *name, tn_func **out) {
  const factory *f = tn_module_self(m);
  tn_call call = strcmp(name, f->name->data) == 0 ? create : NULL;
  for (int i = 0; i < TN_COUNT(methods) && !call; ++i) {
    if (strcmp(methods[i].name, name) == 0) call = methods[i].call;
  }
  if (!call) return 0;
  TN_GET(*out, tn_module_bind(m, call, m));
  return 0;
}

/* ---- saving ---- */

static void put_text(tn_buf *out, const tn_str *s) {
  tn_buf_u64(out, s->len);
  tn_buf_put(out, s->data, s->len);
}

static tn_bytes *save_binary(tn_module *m) {
  factory *f = tn_module_self(m);
  const tn_map *params = f->stored ? f->stored : atomic_load(&f->params);
  TN_BUF(out);
  tn_any key, value;
  uint64_t n = (uint64_t)tn_map_len(params);
  put_text(&out, f->json);
  tn_buf_u64(&out, n);
  tn_buf_u64(&out, n); /* of the list of names */
  for (int64_t i = 0; tn_map_at(params, i, &key, &value); ++i)
    put_text(&out, (const tn_str *)key.v.obj);
  for (int64_t i = 0; tn_map_at(params, i, &key, &value); ++i)
    TN_TRYP(tn_tensor_blob_save(value.v.obj, &out));
  put_text(&out, f->name);
  TN_TRYP(tn_buf_ok(&out));
  return tn_bytes_new(out.data, out.len);
}

static tn_str *read_text(tn_reader *r) {
  tn_bytes_view v;
  TN_TRYP(tn_read_text(r, &v));
  return tn_str_new_n((const char *)v.data, v.size);
}

/* One parameter: its name from `names`, its array from `r`. */
static int read_param(tn_reader *names, tn_reader *r, tn_map *params) {
  tn_str *name;
  tn_tensor *t;
  TN_GET(name, read_text(names));
  t = tn_tensor_read(r);
  int err = t ? tn_map_set(params, tn_any_obj(name), tn_any_obj(t)) : -1;
  tn_release(t);
  tn_release(name);
  return err;
}

static int read_params(tn_reader *r, tn_map *params) {
  uint64_t n, count;
  tn_bytes_view text;
  TN_TRY(tn_read_u64(r, &n));
  TN_TRY(tn_read_count(r, sizeof(uint64_t), &count));
  TN_CHECK(n == count, ValueError, NULL, "graph executor factory: %llu parameters, %llu names",
           (unsigned long long)n, (unsigned long long)count);
  tn_reader names = *r;
  for (uint64_t i = 0; i < n; ++i) TN_TRY(tn_read_text(r, &text));
  for (uint64_t i = 0; i < n; ++i) TN_TRY(read_param(&names, r, params));
  return 0;
}

static tn_module *read_factory(tn_reader *r) {
  tn_str *json, *name = NULL;
  tn_map *params = NULL;
  TN_GETP(json, read_text(r));
  bool ok = (params = tn_map_new()) && read_params(r, params) == 0 && (name = read_text(r));
  if (ok) return make(json, name, params, r->owner != NULL);
  tn_release(json);
  tn_release(params);
  return NULL;
}

static int load_binary(TN_ARGS) {
  tn_reader *r;
  TN_NARGS("loadbinary_GraphExecutorFactory", 1);
  TN_TRY(tn_arg_reader(args, &r));
  return tn_ret_owned(ret, read_factory(r));
}

static const tn_module_ops factory_ops = {
    .type_key = "GraphExecutorFactory",
    .properties = TN_MODULE_BINARY | TN_MODULE_RUNNABLE,
    .get_function = get_function,
    .save_binary = save_binary,
    .fini = fini,
};

/* ---- making ---- */

tn_module *tn_graph_factory_new(tn_str *json, tn_module *lib, const char *name, tn_map *params) {
  tn_retain(json);
  tn_retain(params);
  tn_module *m = make(json, tn_str_new(name), params, false);
  if (!m || tn_module_import(m, lib) == 0) return m;
  tn_release(m);
  return NULL;
}

static int put_pairs(tn_map *params, const tn_any *args, int32_t n) {
  const char *name;
  tn_tensor *t;
  for (int32_t i = 0; i + 1 < n; i += 2) {
    TN_TRY(tn_any_to_cstr(&args[i], &name));
    TN_TRY(tn_any_to_tensor(&args[i + 1], &t));
    TN_TRY(tn_map_set(params, tn_any_cstr(name), tn_any_obj(t)));
  }
  return 0;
}

/* (graph JSON, module of the code, model name, name of a parameter, its tensor, ...) */
static int factory_create(TN_ARGS) {
  tn_bytes_view json;
  tn_module *lib, *m = NULL;
  const char *name;
  TN_CHECK(
      n >= 3 && n % 2 == 1, TypeError, NULL,
      "graph_executor_factory.create: expected graph JSON, a module, the model's name and pairs "
      "of name and tensor, got %d arguments",
      n);
  TN_TRY(tn_any_to_bytes(&args[0], &json));
  TN_TRY(tn_arg_module(args, n, 1, &lib));
  TN_TRY(tn_any_to_cstr(&args[2], &name));
  tn_str *text = tn_str_new_n((const char *)json.data, json.size);
  tn_map *params = text ? tn_map_new() : NULL;
  if (params && put_pairs(params, args + 3, n - 3) == 0)
    m = tn_graph_factory_new(text, lib, name, params);
  tn_release(text);
  tn_release(params);
  return tn_ret_owned(ret, m);
}

static const tn_func_row rows[] = {
    {"tvm.graph_executor_factory.create", factory_create},
    {"tvm.graph_runtime_factory.create", factory_create},
    {"runtime.module.loadbinary_GraphExecutorFactory", load_binary},
    {"runtime.module.loadbinary_GraphRuntimeFactory", load_binary},
};

int tn_graph_factory_init(void) { return tn_func_register_rows(rows, TN_COUNT(rows)); }
