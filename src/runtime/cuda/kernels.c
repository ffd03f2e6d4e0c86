/* Kernels on CUDA devices. PTX is made code by the driver; source is compiled for the device
   first. */
#include <string.h>

#include "base/alloc.h"
#include "runtime/cuda/cuda_impl.h"

typedef struct kernel {
  cu_function handle;
  const tn_kernel *info;
  size_t shared; /* dynamic shared memory it may use */
  struct kernel *next;
} kernel;

typedef struct {
  cu_module handle;
  kernel *kernels;
} program;

enum { LOG_SIZE = 4096, SHARED_BY_DEFAULT = 48 * 1024 };

static int load_code(const tn_bytes *code, cu_module *out) {
  char log[LOG_SIZE] = "";
  int options[] = {CU_JIT_ERROR_LOG, CU_JIT_ERROR_LOG_SIZE};
  void *values[] = {log, (void *)(uintptr_t)LOG_SIZE};
  int err = cu.ModuleLoadDataEx(out, code->data, TN_COUNT(options), options, values);
  if (err == CU_OK) return 0;
  cuda_check(err, "the kernels cannot be loaded");
  if (*log) tn_error_note("%s", log);
  return -1;
}

/* The driver reads text up to its NUL. */
static tn_bytes *with_nul(const tn_bytes *b) {
  char *text = tn_alloc(b->len + 1);
  if (!text) return NULL;
  memcpy(text, b->data, b->len);
  text[b->len] = '\0';
  tn_bytes *r = tn_bytes_new(text, b->len + 1);
  tn_free(text);
  return r;
}

static int code_of(const tn_device_code *c, int device_id, tn_bytes **out) {
  int arch;
  bool source = strcmp(c->format, "cuda") == 0 || strcmp(c->format, "cu") == 0;
  *out = NULL;
  if (source) {
    TN_TRY(cuda_capability(device_id, &arch));
    return cuda_compile((const char *)c->data->data, c->data->len, arch, out);
  }
  TN_GET(*out, with_nul(c->data));
  return 0;
}

static int load(const tn_device_code *c, int device_id, void **out) {
  tn_bytes *code;
  TN_TRY(cuda_enter(device_id));
  TN_TRY(code_of(c, device_id, &code));
  program *p = tn_alloc_zero(1, sizeof *p);
  int err = p ? load_code(code, &p->handle) : -1;
  tn_release(code);
  if (err) {
    tn_free(p);
    return -1;
  }
  *out = p;
  return 0;
}

static int find(int device_id, void *prog, const tn_kernel *info, void **out) {
  program *p = prog;
  cu_function f;
  TN_TRY(cuda_enter(device_id));
  TN_TRY(cuda_check(cu.ModuleGetFunction(&f, p->handle, info->name), info->name));
  kernel *k = tn_alloc_zero(1, sizeof *k);
  if (!k) return -1;
  *k = (kernel){f, info, SHARED_BY_DEFAULT, p->kernels};
  *out = p->kernels = k;
  return 0;
}

static void unload(int device_id, void *prog) {
  program *p = prog;
  for (kernel *k = p->kernels, *next; k; k = next) {
    next = k->next;
    tn_free(k);
  }
  if (cuda_enter(device_id) == 0) {
    cu.ModuleUnload(p->handle);
  } else {
    tn_error_clear();
  }
  tn_free(p);
}

/* More dynamic shared memory than a kernel may use by default is asked for. */
static int allow_shared(kernel *k, size_t n) {
  if (n <= __atomic_load_n(&k->shared, __ATOMIC_RELAXED)) return 0;
  TN_TRY(cuda_check(cu.FuncSetAttribute(k->handle, CU_FUNC_MAX_DYNAMIC_SHARED, (int)n),
                    k->info->name));
  __atomic_store_n(&k->shared, n, __ATOMIC_RELAXED);
  return 0;
}

static int launch(int device_id, void *handle, const tn_launch *l) {
  kernel *k = handle;
  void *args[257];
  TN_TRY(cuda_enter(device_id));
  TN_TRY(allow_shared(k, l->shared));
  for (int32_t i = 0; i < l->n; ++i) args[i] = (void *)(uintptr_t)&l->args[i].v;
  args[l->n] = NULL;
  int err = cu.LaunchKernel(k->handle, l->grid[0], l->grid[1], l->grid[2], l->block[0], l->block[1],
                            l->block[2], (unsigned)l->shared, cuda_stream(device_id), args, NULL);
  return cuda_check(err, k->info->name);
}

const tn_kernel_api cuda_kernel_api = {load, find, launch, unload};
