/* Modules of kernels: looking up and launching; device_module_blob.c and
   device_module_file.c save and load them. */
#include "runtime/module/device_module.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "runtime/module/device_module_impl.h"
#include "runtime/module/module.h"

/* ---- code ---- */

static const char *const tag_names[TN_LAUNCH_TAGS] = {"blockIdx.x",
                                                      "blockIdx.y",
                                                      "blockIdx.z",
                                                      "threadIdx.x",
                                                      "threadIdx.y",
                                                      "threadIdx.z",
                                                      "tir.use_dyn_shared_memory"};

const char *tn_launch_tag_name(tn_launch_tag t) { return tag_names[t]; }

int tn_launch_tag_find(const char *name) {
  for (int i = 0; i < TN_LAUNCH_TAGS; ++i)
    if (strcmp(tag_names[i], name) == 0) return i;
  return TN_RAISE(ValueError, NULL,
                  "kernel: unknown launch parameter \"%s\"; known are blockIdx and threadIdx with "
                  ".x, .y and .z, and tir.use_dyn_shared_memory",
                  name);
}

tn_device_code *tn_device_code_new(int device_type, const char *format, const tn_bytes *data,
                                   const tn_str *source) {
  tn_device_code *c = tn_alloc_zero(1, sizeof *c);
  if (!c) return NULL;
  c->device_type = device_type;
  tn_retain(c->data = (tn_bytes *)(uintptr_t)data);
  tn_retain(c->source = (tn_str *)(uintptr_t)source);
  c->format = tn_strdup(format);
  if (c->format) return c;
  tn_device_code_free(c);
  return NULL;
}

static void kernel_free(tn_kernel *k) {
  tn_free(k->name);
  tn_free(k->types);
  tn_free(k->tags);
  tn_free(k);
}

tn_kernel *tn_device_code_kernel(tn_device_code *c, const char *name, int32_t ntype, int32_t ntag) {
  TN_GROW(c->kernels, c->cap, c->n + 1, return NULL);
  tn_kernel *k = tn_alloc_zero(1, sizeof *k);
  if (!k) return NULL;
  k->code = c;
  k->ntype = ntype;
  k->ntag = ntag;
  k->name = tn_strdup(name);
  k->types = tn_alloc_zero((size_t)ntype + 1, sizeof *k->types);
  k->tags = tn_alloc_zero((size_t)ntag + 1, sizeof *k->tags);
  if (k->name && k->types && k->tags) return c->kernels[c->n++] = k;
  kernel_free(k);
  return NULL;
}

int tn_device_code_add(tn_device_code *c, const char *name, const tn_vec *types,
                       const tn_vec *tags) {
  tn_kernel *k;
  const char *tag;
  TN_GET(k, tn_device_code_kernel(c, name, (int32_t)types->len, (int32_t)tags->len));
  for (int64_t i = 0; i < types->len; ++i) k->types[i] = types->items[i].v.dtype;
  for (int64_t i = 0; i < tags->len; ++i) {
    TN_TRY(tn_any_to_cstr(&tags->items[i], &tag));
    int t = tn_launch_tag_find(tag);
    if (t < 0) return -1;
    k->tags[i] = (tn_launch_tag)t;
  }
  return 0;
}

/* ---- plug-ins ---- */

static _Atomic(const tn_kernel_api *) apis[TN_DEVICE_REMOTE];

int tn_device_register_kernels(int device_type, const tn_kernel_api *api) {
  TN_CHECK(device_type >= 1 && device_type < TN_DEVICE_REMOTE, ValueError, NULL,
           "register kernels: device type %d is out of range", device_type);
  atomic_store(&apis[device_type], api);
  return 0;
}

void tn_device_code_free(tn_device_code *c) {
  const tn_kernel_api *api = atomic_load(&apis[c->device_type]);
  for (int i = 0; api && i < TN_MAX_DEVICES; ++i)
    if (c->programs[i]) api->unload(i, c->programs[i]);
  for (int64_t i = 0; i < c->n; ++i) kernel_free(c->kernels[i]);
  tn_free(c->kernels);
  tn_free(c->format);
  tn_release(c->data);
  tn_release(c->source);
  tn_free(c);
}

/* Programs are compiled one at a time: each for a device once. */
static pthread_mutex_t load_lock = PTHREAD_MUTEX_INITIALIZER;

static int load_locked(const tn_kernel_api *api, tn_kernel *k, int id) {
  tn_device_code *c = k->code;
  void *kernel = NULL;
  if (k->loaded[id]) return 0;
  if (!c->programs[id]) TN_TRY(api->load(c, id, &c->programs[id]));
  TN_TRY(api->find(id, c->programs[id], k, &kernel));
  __atomic_store_n(&k->loaded[id], kernel, __ATOMIC_RELEASE);
  return 0;
}

static int load(tn_kernel *k, int id, const tn_kernel_api **api, void **kernel) {
  const tn_device_api *device; /* opens the plug-in, or says why there is none */
  TN_GET(device, tn_device_api_of(k->code->device_type, false));
  *api = atomic_load(&apis[k->code->device_type]);
  TN_CHECK(*api, DeviceError, NULL, "kernel %s: devices %s have no kernels", k->name,
           tn_device_type_name(k->code->device_type));
  TN_CHECK(id >= 0 && id < TN_MAX_DEVICES, DeviceError, NULL, "kernel %s: unknown device %d",
           k->name, id);
  *kernel = __atomic_load_n(&k->loaded[id], __ATOMIC_ACQUIRE);
  if (*kernel) return 0;
  pthread_mutex_lock(&load_lock);
  int err = load_locked(*api, k, id);
  pthread_mutex_unlock(&load_lock);
  *kernel = k->loaded[id];
  return err;
}

/* ---- launching ---- */

enum { MAX_ARGS = 256 };
typedef struct tn_kernel_arg kernel_arg;

static int data_arg(const tn_any *a, kernel_arg *out) {
  const DLTensor *t;
  out->size = sizeof(void *);
  out->is_data = true;
  out->v.ptr = NULL;
  if (a->type_index == TN_NONE) return 0;
  if (a->type_index == TN_PTR) return tn_any_to_ptr(a, &out->v.ptr);
  TN_TRY(tn_any_to_dltensor(a, &t));
  out->v.ptr = t->data;
  return 0;
}

static int float_arg(const tn_any *a, tn_dtype t, kernel_arg *out) {
  double v;
  TN_TRY(tn_any_to_float(a, &v));
  if (t.bits == 64) {
    out->v.f64 = v;
  } else {
    out->v.f32 = (float)v;
  }
  out->size = t.bits == 64 ? 8 : 4;
  return 0;
}

/* Little-endian: the low bytes of the number come first. */
static int int_arg(const tn_any *a, tn_dtype t, kernel_arg *out) {
  TN_TRY(tn_any_to_int(a, &out->v.i64));
  out->size = (size_t)(t.bits + 7) / 8;
  return 0;
}

static int set_arg(const tn_kernel *k, int32_t i, const tn_any *a, kernel_arg *out) {
  tn_dtype t = k->types[i];
  *out = (kernel_arg){.size = 0};
  switch (t.lanes == 1 ? t.code : 255) {
  case kDLOpaqueHandle: return data_arg(a, out);
  case kDLFloat: return float_arg(a, t, out);
  case kDLInt:
  case kDLUInt: return int_arg(a, t, out);
  default:
    return TN_RAISE(TypeError, NULL, "kernel %s: argument %d has type %s, which cannot be passed",
                    k->name, i, TN_DT(t));
  }
}

/* @return 1 when there is nothing to do */
static int set_extents(const tn_kernel *k, const tn_any *args, tn_launch *l) {
  bool empty = false;
  for (int i = 0; i < 3; ++i) l->grid[i] = l->block[i] = 1;
  for (int32_t i = 0; i < k->ntag; ++i) {
    int64_t v;
    TN_TRY(tn_any_to_int(&args[i], &v));
    TN_CHECK(v >= 0 && v <= UINT32_MAX, ValueError, NULL, "kernel %s: %s is %lld", k->name,
             tag_names[k->tags[i]], (long long)v);
    if (k->tags[i] == TN_LAUNCH_SHARED) {
      l->shared = (size_t)v;
      continue;
    }
    uint32_t *to = k->tags[i] >= TN_LAUNCH_BLOCK_X ? l->block : l->grid;
    to[k->tags[i] % 3] = (uint32_t)v;
    empty |= v == 0;
  }
  return empty;
}

static int launch(void *self, const tn_any *args, int32_t n, tn_any *ret) {
  tn_kernel *k = self;
  const tn_kernel_api *api;
  kernel_arg values[MAX_ARGS];
  void *kernel;
  (void)ret;
  TN_CHECK(n == k->ntype + k->ntag, TypeError, NULL,
           "kernel %s: expected %d arguments and %d launch parameters, got %d values", k->name,
           k->ntype, k->ntag, n);
  TN_CHECK(n <= MAX_ARGS, ValueError, NULL, "kernel %s: more than %d arguments", k->name, MAX_ARGS);
  tn_launch l = {.n = k->ntype, .args = values};
  for (int32_t i = 0; i < k->ntype; ++i) TN_TRY(set_arg(k, i, &args[i], &values[i]));
  int empty = set_extents(k, args + k->ntype, &l);
  if (empty) return empty < 0 ? -1 : 0;
  int id = tn_device_current(k->code->device_type);
  TN_TRY(load(k, id, &api, &kernel));
  TN_TRY(api->launch(id, kernel, &l));
  return 0;
}

/* ---- the kind of module ---- */

static int get_function(tn_module *m, const char *name, tn_func **out) {
  tn_device_code *c = tn_module_self(m);
  if (strcmp(name, TN_MODULE_MAIN) == 0 && c->n == 1) name = c->kernels[0]->name;
  for (int64_t i = 0; i < c->n; ++i) {
    if (strcmp(c->kernels[i]->name, name) != 0) continue;
    TN_GET(*out, tn_module_bind(m, launch, c->kernels[i]));
    return 0;
  }
  return 0;
}

static bool is_text(const char *format) {
  return strcmp(format, "cl") == 0 || strcmp(format, "cu") == 0 || strcmp(format, "cuda") == 0 ||
         strcmp(format, "ptx") == 0;
}

static tn_str *get_source(tn_module *m, const char *format) {
  const tn_device_code *c = tn_module_self(m);
  bool own = strcmp(format, c->format) == 0;
  if (c->source && !own) {
    tn_retain(c->source);
    return c->source;
  }
  TN_CHECKP((!*format || own) && is_text(c->format), ValueError, NULL,
            "get_source: the module has its code as \"%s\", not as \"%s\"", c->format, format);
  return tn_str_new_n((const char *)c->data->data, c->data->len);
}

static void fini(tn_module *m) { tn_device_code_free(tn_module_self(m)); }

#define KIND(key, format_)                                                                         \
  {                                                                                                \
    .type_key = key, .format = format_, .properties = TN_MODULE_BINARY | TN_MODULE_RUNNABLE,       \
    .get_function = get_function, .get_source = get_source, .save_file = tn_device_code_save_file, \
    .save_binary = tn_device_code_save, .fini = fini                                               \
  }
static const tn_module_ops opencl_ops = KIND("opencl", "cl");
static const tn_module_ops cuda_ops = KIND("cuda", "ptx");

tn_module *tn_device_module_new(tn_device_code *c) {
  TN_CHECKP(c->device_type == kDLOpenCL || c->device_type == kDLCUDA, ValueError, NULL,
            "modules of kernels: device type %d has none", c->device_type);
  return tn_module_new(c->device_type == kDLOpenCL ? &opencl_ops : &cuda_ops, c);
}
