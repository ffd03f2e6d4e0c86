/* Kernels on OpenCL devices: source is compiled for a device when its first kernel is launched
   there; errors of the compiler carry its log. */
#include <pthread.h>
#include <string.h>

#include "base/alloc.h"
#include "runtime/opencl/opencl_impl.h"

typedef struct kernel {
  cl_kernel handle;
  const tn_kernel *info;
  pthread_mutex_t lock; /* arguments are set on the kernel, one launch at a time */
  struct kernel *next;
} kernel;

typedef struct {
  cl_program handle;
  kernel *kernels;
} program;

/* ---- compiling ---- */

static int build_failed(cl_program p, const opencl_device *d, int32_t code) {
  char log[4096] = "";
  size_t n = 0;
  cl.GetProgramBuildInfo(p, d->id, CL_BUILD_LOG, 0, NULL, &n);
  char *all = n > 0 ? tn_alloc(n + 1) : NULL;
  if (all && cl.GetProgramBuildInfo(p, d->id, CL_BUILD_LOG, n, all, NULL) == CL_OK)
    strncpy(log, all, sizeof log - 1);
  tn_free(all);
  return TN_RAISE(DeviceError, NULL,
                  "OpenCL build error %d for the device: the source does not compile:\n%s",
                  (int)code, log);
}

static int compile(const tn_device_code *c, const opencl_device *d, cl_program *out) {
  int32_t err;
  const char *text = (const char *)c->data->data;
  size_t n = c->data->len;
  TN_CHECK(strcmp(c->format, "cl") == 0, DeviceError, NULL,
           "opencl: expected source (\"cl\"), the module holds \"%s\"", c->format);
  cl_program p = cl.CreateProgramWithSource(opencl_context(), 1, &text, &n, &err);
  TN_TRY(opencl_check(err, "a program"));
  err = cl.BuildProgram(p, 1, &d->id, "", NULL, NULL);
  if (err != CL_OK) {
    build_failed(p, d, err);
    cl.ReleaseProgram(p);
    return -1;
  }
  *out = p;
  return 0;
}

static int load(const tn_device_code *c, int device_id, void **out) {
  opencl_device *d;
  TN_GET(d, opencl_at(device_id));
  program *p = tn_alloc_zero(1, sizeof *p);
  if (!p) return -1;
  if (compile(c, d, &p->handle)) {
    tn_free(p);
    return -1;
  }
  *out = p;
  return 0;
}

static int find(int device_id, void *prog, const tn_kernel *info, void **out) {
  program *p = prog;
  int32_t err;
  (void)device_id;
  kernel *k = tn_alloc_zero(1, sizeof *k);
  if (!k) return -1;
  k->handle = cl.CreateKernel(p->handle, info->name, &err);
  if (opencl_check(err, info->name)) {
    tn_free(k);
    return -1;
  }
  k->info = info;
  pthread_mutex_init(&k->lock, NULL);
  k->next = p->kernels;
  *out = p->kernels = k;
  return 0;
}

static void unload(int device_id, void *prog) {
  program *p = prog;
  (void)device_id;
  for (kernel *k = p->kernels, *next; k; k = next) {
    next = k->next;
    cl.ReleaseKernel(k->handle);
    pthread_mutex_destroy(&k->lock);
    tn_free(k);
  }
  cl.ReleaseProgram(p->handle);
  tn_free(p);
}

/* ---- launching ---- */

static int set_args(const kernel *k, const tn_launch *l) {
  for (int32_t i = 0; i < l->n; ++i) {
    const opencl_memory *m = l->args[i].is_data ? l->args[i].v.ptr : NULL;
    cl_mem mem = m ? m->mem : NULL;
    int32_t err = l->args[i].is_data
                      ? cl.SetKernelArg(k->handle, (uint32_t)i, sizeof mem, &mem)
                      : cl.SetKernelArg(k->handle, (uint32_t)i, l->args[i].size, &l->args[i].v);
    TN_TRY(opencl_check(err, k->info->name));
  }
  return 0;
}

static int enqueue(const kernel *k, cl_queue q, const tn_launch *l) {
  size_t all[3], group[3];
  for (int i = 0; i < 3; ++i) {
    group[i] = l->block[i];
    all[i] = (size_t)l->grid[i] * l->block[i];
  }
  TN_TRY(set_args(k, l));
  return opencl_check(cl.EnqueueNDRangeKernel(q, k->handle, 3, NULL, all, group, 0, NULL, NULL),
                      k->info->name);
}

static int launch(int device_id, void *handle, const tn_launch *l) {
  kernel *k = handle;
  opencl_device *d;
  TN_GET(d, opencl_at(device_id));
  pthread_mutex_lock(&k->lock);
  int err = enqueue(k, opencl_queue(d, device_id), l);
  pthread_mutex_unlock(&k->lock);
  return err;
}

const tn_kernel_api opencl_kernel_api = {load, find, launch, unload};
