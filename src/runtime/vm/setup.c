/* Making a virtual machine: its devices, primitives and constants. */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "runtime/library/library.h"
#include "runtime/module/module.h"
#include "runtime/tensor/tensor.h"
#include "runtime/vm/machine.h"

enum { DEFAULT_DEPTH = 100000, DEFAULT_CALLS = 200000000 };

/* ---- devices ---- */

static bool same_device(tn_device a, tn_device b) {
  return a.device_type == b.device_type && a.device_id == b.device_id;
}

/* Of the given devices this one, or one of this type; else the host, where that is asked for. */
static int place(const tn_vm_device *want, const tn_device *devices, const int *kinds, int32_t n,
                 tn_device *dev, int *kind) {
  char text[TN_DEVICE_TEXT];
  *kind = TN_VM_POOLED;
  int32_t found = n;
  for (int32_t i = n; i-- > 0;)
    if (devices[i].device_type == want->dev.device_type &&
        (found == n || devices[found].device_id != want->dev.device_id))
      found = i;
  if (found < n) {
    *dev = devices[found];
    *kind = kinds[found];
    return 0;
  }
  TN_CHECK(tn_device_is_host(want->dev), ValueError, NULL,
           "virtual machine: the executable needs %s, which is not among the given devices",
           tn_device_text(want->dev, text));
  *dev = (tn_device){kDLCPU, 0};
  return 0;
}

static int make_pools(tn_vm_machine *m, const tn_device *devices, const int *kinds, int32_t n) {
  size_t count = (size_t)m->x->ndevice + 1;
  TN_GET(m->devices, tn_alloc_zero(count, sizeof *m->devices));
  TN_GET(m->pools, tn_alloc_zero(count, sizeof(tn_vm_pool *)));
  m->host = (tn_device){kDLCPU, 0};
  for (int64_t i = 0; i < m->x->ndevice; ++i) {
    int kind;
    TN_TRY(place(&m->x->devices[i], devices, kinds, n, &m->devices[i], &kind));
    for (int64_t k = 0; k < i && !m->pools[i]; ++k)
      if (same_device(m->devices[k], m->devices[i])) m->pools[i] = m->pools[k];
    if (!m->pools[i]) TN_GET(m->pools[i], tn_vm_pool_new(m->devices[i], kind != TN_VM_NAIVE, 0));
    if (same_device(m->devices[i], m->host)) m->host_pool = m->pools[i];
  }
  if (!m->host_pool) TN_GET(m->host_pool, tn_vm_pool_new(m->host, true, 0));
  return 0;
}

static void free_pools(tn_vm_machine *m) {
  bool host_is_own = true;
  for (int64_t i = 0; m->pools && i < m->x->ndevice; ++i) {
    bool first = true;
    for (int64_t k = 0; k < i; ++k) first = first && m->pools[k] != m->pools[i];
    host_is_own = host_is_own && m->pools[i] != m->host_pool;
    if (first) tn_vm_pool_unref(m->pools[i]);
  }
  if (host_is_own) tn_vm_pool_unref(m->host_pool);
  tn_free(m->pools);
  tn_free(m->devices);
}

/* ---- primitives ---- */

static int find_primitive(tn_vm_machine *m, int64_t i) {
  tn_vm_primitive *p = &m->prims[i];
  tn_module *owner;
  void *code;
  if ((p->on_values = tn_vm_value_function(m->x->prims[i]))) return 0;
  TN_TRY(tn_module_get_function(m->module, m->x->prims[i], true, &p->func));
  TN_CHECK(p->func, TenonError, NULL, "virtual machine: the library has no function %s%s",
           m->x->prims[i], tn_module_why_missing(m->module));
  if (!tn_func_is_bound(p->func, tn_legacy_compiled_call, &owner, &code)) return 0;
  memcpy(&p->code, &code, sizeof code);
  uint32_t align = tn_library_alignment(owner);
  if (align > m->align) m->align = align;
  return 0;
}

static int longest_call(const tn_vm_exe *x) {
  int64_t most = 0;
  for (int64_t i = 0; i < x->nfunc; ++i) {
    const tn_vm_function *f = &x->funcs[i];
    for (int64_t at = 0; at < f->ncode; at += tn_vm_length(f->code + at, f->ncode - at))
      if (f->code[at] == TN_VM_INVOKE_PACKED && f->code[at + 3] > most) most = f->code[at + 3];
  }
  return most > INT32_MAX ? -1 : (int)most;
}

static int make_primitives(tn_vm_machine *m) {
  m->narg = longest_call(m->x);
  TN_CHECK(m->narg >= 0, ValueError, NULL, "virtual machine: a primitive with too many arguments");
  size_t n = (size_t)m->narg + 1;
  TN_GET(m->prims, tn_alloc_zero((size_t)m->x->nprim + 1, sizeof *m->prims));
  TN_GET(m->dl, tn_alloc_zero(n, sizeof *m->dl));
  TN_GET(m->values, tn_alloc_zero(n, sizeof *m->values));
  TN_GET(m->codes, tn_alloc_zero(n, sizeof *m->codes));
  TN_GET(m->args, tn_alloc_zero(n, sizeof *m->args));
  for (size_t i = 0; i < n; ++i) m->codes[i] = kTVMDLTensorHandle;
  TN_GET(m->part, tn_alloc_zero(n, sizeof *m->part));
  TN_GET(m->part_shapes, tn_alloc_zero(n, TN_VM_MAX_NDIM * sizeof *m->part_shapes));
  for (int64_t i = 0; i < m->x->nprim; ++i) TN_TRY(find_primitive(m, i) || tn_vm_find_pieces(m, i));
  return 0;
}

/* ---- constants ---- */

static int make_consts(tn_vm_machine *m) {
  TN_GET(m->consts, tn_alloc_zero((size_t)m->x->nconst + 1, sizeof(tn_tensor *)));
  for (int64_t i = 0; i < m->x->nconst; ++i) {
    const char *late;
    tn_device dev = m->devices[m->x->consts[i].device];
    tn_tensor *t = tn_vm_const_now(m->x, i, &late);
    if (!t) continue;
    bool there = same_device(t->dl.device, dev) && tn_tensor_is_contiguous(&t->dl) &&
                 (!tn_device_is_host(dev) || tn_tensor_is_aligned(&t->dl, 64));
    m->consts[i] = there ? t : tn_tensor_clone(&t->dl, dev, NULL);
    if (!there) tn_release(t);
    if (!m->consts[i]) return tn_trace(__FILE__, __LINE__, __func__);
  }
  return 0;
}

/* ---- the machine ---- */

static int build(tn_vm_machine *m, const tn_device *devices, const int *kinds, int32_t n) {
  m->align = 1;
  m->max_depth = DEFAULT_DEPTH;
  m->max_calls = DEFAULT_CALLS;
  TN_GET(m->calls_of, tn_alloc_zero((size_t)m->x->nfunc + 1, sizeof *m->calls_of));
  TN_TRY(make_pools(m, devices, kinds, n));
  TN_TRY(make_primitives(m));
  return make_consts(m);
}

tn_vm_machine *tn_vm_machine_new(tn_module *exe, const tn_device *devices, const int *kinds,
                                 int32_t n) {
  tn_vm_exe *x = tn_vm_exe_of(exe);
  TN_CHECKP(x, TypeError, NULL, "virtual machine: expected an executable, got a %s module",
            tn_module_type_key(exe));
  tn_vm_machine *m = tn_alloc_zero(1, sizeof *m);
  if (!m) return NULL;
  tn_retain(m->module = exe);
  m->x = x;
  if (build(m, devices, kinds, n) == 0) return m;
  tn_vm_machine_free(m);
  return (void)tn_trace(__FILE__, __LINE__, __func__), NULL;
}

static void free_call(const tn_vm_machine *m, int64_t func) {
  tn_vm_call *c = &m->calls_of[func];
  for (int32_t i = 0; c->inputs && i < m->x->funcs[func].nparam; ++i) tn_any_release(&c->inputs[i]);
  for (int64_t i = 0; i < c->noutput; ++i) tn_release(c->outputs[i]);
  tn_free(c->inputs);
  tn_free((void *)c->outputs);
}

/* Also of one that was not finished. */
void tn_vm_machine_free(tn_vm_machine *m) {
  for (int64_t i = 0; m->calls_of && i < m->x->nfunc; ++i) free_call(m, i);
  for (int64_t i = 0; m->prims && i < m->x->nprim; ++i) {
    tn_release(m->prims[i].func);
    tn_release(m->prims[i].panels.func);
    for (int k = 0; k < m->prims[i].npiece; ++k) tn_release(m->prims[i].pieces[k].func);
  }
  tn_free(m->part);
  tn_free(m->part_shapes);
  for (int64_t i = 0; m->consts && i < m->x->nconst; ++i) tn_release(m->consts[i]);
  tn_any_release(&m->last);
  free_pools(m);
  tn_free(m->calls_of);
  tn_free(m->prims);
  tn_free((void *)m->consts);
  tn_free(m->dl);
  tn_free(m->values);
  tn_free(m->codes);
  tn_free(m->args);
  tn_free(m->regs);
  tn_free(m->frames);
  tn_module *module = m->module;
  tn_free(m);
  tn_release(module);
}
