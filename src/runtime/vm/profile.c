/* A profile of a call: each primitive and allocation is a row of the report. */
#include "base/alloc.h"
#include "base/error.h"
#include "runtime/profiling/profiling.h"
#include "runtime/tensor/tensor.h"
#include "runtime/vm/machine.h"

static const char *name_of(const tn_vm_machine *m, const int64_t *w) {
  switch (w[0]) {
  case TN_VM_INVOKE_PACKED: return m->x->prims[w[1]];
  case TN_VM_ALLOC_STORAGE: return "AllocStorage";
  case TN_VM_ALLOC_TENSOR_REG: return "AllocTensorReg";
  case TN_VM_DEVICE_COPY: return "DeviceCopy";
  default: return "AllocTensor";
  }
}

/* Types and shapes of the arguments of a primitive; owned by the scope. */
static tn_str *shapes_of(const tn_vm_machine *m, const int64_t *w) {
  const tn_any *r = m->regs + m->frames[m->nframe - 1].base;
  int32_t n = 0;
  TN_AUTOFREE DLTensor *scalars = tn_alloc_zero((size_t)w[3] + 1, sizeof *scalars);
  TN_AUTOFREE const DLTensor **all = tn_alloc_zero((size_t)w[3] + 1, sizeof *all);
  if (!scalars || !all) return NULL;
  for (int64_t i = 0; i < w[3]; ++i) {
    const tn_any *a = &r[w[4 + i]];
    scalars[n].dtype = (tn_dtype){(uint8_t)a->aux, (uint8_t)(a->aux >> 8), 1};
    if (a->type_index == TN_TI_NDArray) all[n++] = &((const tn_tensor *)a->v.obj)->dl;
    else if (a->type_index == TN_VM_SCALAR) {
      all[n] = &scalars[n];
      ++n;
    }
  }
  return tn_scope_own(tn_shape_string(all, n));
}

/* Where the instruction works: a primitive where its last argument is, which is a result. */
static tn_device device_of(const tn_vm_machine *m, const int64_t *w) {
  const tn_any *r = m->regs + m->frames[m->nframe - 1].base;
  if (w[0] == TN_VM_ALLOC_STORAGE) return m->devices[w[7]];
  if (w[0] == TN_VM_DEVICE_COPY) return m->devices[w[4]];
  if (w[0] != TN_VM_INVOKE_PACKED || w[3] == 0) return m->host;
  const tn_any *last = &r[w[3 + w[3]]];
  return last->type_index == TN_TI_NDArray ? ((const tn_tensor *)last->v.obj)->dl.device : m->host;
}

static int observe(void *observer, tn_vm_machine *m, const int64_t *w, bool begin) {
  TN_SCOPE(s);
  tn_map *metrics;
  tn_str *shapes;
  if (!begin) return tn_profiler_stop_call(observer, NULL);
  TN_GET(metrics, tn_scope_own(tn_map_new()));
  if (w[0] == TN_VM_INVOKE_PACKED) {
    TN_GET(shapes, shapes_of(m, w));
    TN_TRY(tn_map_set(metrics, tn_any_cstr("Argument Shapes"), tn_any_obj(shapes)));
  }
  return tn_profiler_start_call(observer, name_of(m, w), device_of(m, w), metrics);
}

static int observed_run(tn_vm_machine *m, tn_profiler *p, int64_t func, const tn_any *args,
                        int32_t n) {
  tn_any ret = tn_any_none();
  TN_TRY(tn_profiler_start(p));
  m->observer = p;
  m->observe = observe;
  int err = tn_vm_run(m, func, args, n, &ret);
  m->observe = NULL;
  m->observer = NULL;
  tn_any_release(&ret);
  TN_TRY(err);
  return tn_profiler_stop(p);
}

tn_obj *tn_vm_profile(tn_vm_machine *m, int64_t func, const tn_arr *collectors, const tn_any *args,
                      int32_t n) {
  enum { WARM_UP = 2 };
  TN_SCOPE(s);
  tn_map *about;
  tn_profiler *p;
  TN_GETP(about, tn_scope_own(tn_map_new()));
  TN_TRYP(tn_map_set(about, tn_any_cstr("Executor"), tn_any_obj(tn_str_from("VM"))));
  for (int i = 0; i < WARM_UP; ++i) {
    tn_any ret = tn_any_none();
    TN_TRYP(tn_vm_run(m, func, args, n, &ret));
    tn_any_release(&ret);
  }
  TN_GETP(p, tn_profiler_new(m->devices, (int32_t)m->x->ndevice, collectors, about));
  tn_Report *r = observed_run(m, p, func, args, n) ? NULL : tn_profiler_report(p);
  tn_profiler_free(p);
  return (tn_obj *)r;
}
