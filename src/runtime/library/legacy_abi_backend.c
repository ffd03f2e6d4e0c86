/* The exported Relay-era symbols that compiled functions call: lookup, workspace, parallel loops.
 */
#include <string.h>

#include "base/alloc.h"
#include "runtime/library/legacy_abi.h"
#include "runtime/library/legacy_thread.h"
#include "runtime/library/library.h"
#include "runtime/threads/once.h"

/* ---- functions ---- */

/* `out` is mostly a static variable that other threads read without a lock: it is written once, and
   all threads find the same function. */
int TVMBackendGetFuncFromEnv(void *mod_node, const char *func_name, TVMFunctionHandle *out) {
  tn_func *f = tn_runtime_init() ? NULL : tn_library_env_function(mod_node, func_name);
  if (!f) return tn_legacy_fail();
  __atomic_store_n(out, (TVMFunctionHandle)f, __ATOMIC_RELEASE);
  return 0;
}

int TVMBackendRegisterSystemLibSymbol(const char *name, void *ptr) {
  return tn_system_lib_add(name, ptr) ? tn_legacy_fail() : 0;
}

/* Libraries that carry no undefined symbols reach the runtime through pointers of these names. */
typedef struct {
  const char *name;
  void (*function)(void);
} context_row;
#define ROW(f)                                                                                     \
  { "__" #f, (void (*)(void))f }
static const context_row context[] = {
    ROW(TVMFuncCall),
    ROW(TVMAPISetLastError),
    ROW(TVMBackendGetFuncFromEnv),
    ROW(TVMBackendAllocWorkspace),
    ROW(TVMBackendFreeWorkspace),
    ROW(TVMBackendParallelLaunch),
    ROW(TVMBackendParallelBarrier),
};

bool tn_legacy_set_context(void *(*symbol)(void *ctx, const char *name), void *ctx) {
  bool any = false;
  for (size_t i = 0; i < sizeof context / sizeof *context; ++i) {
    void (**at)(void) = (void (**)(void))symbol(ctx, context[i].name);
    if (at) *at = context[i].function;
    any |= at != NULL;
  }
  return any;
}

/* ---- workspace ----

   A thread's blocks, used and free. A request takes the smallest free block that is large enough;
   compiled functions ask for the same sizes again and again, so after the first run none is
   allocated. When all free blocks are too small the largest gives way to a new one, so there are
   never more blocks than were in use at one time. */

enum { WORKSPACE_ALIGN = 128, WORKSPACE_PAGE = 4096 };

static bool is_on(const tn_workspace_block *b, tn_device dev) {
  return b->device.device_type == dev.device_type && b->device.device_id == dev.device_id;
}

/* The smallest free block of at least `size` bytes, else the largest free one, else NULL. */
static tn_workspace_block *best_block(const tn_legacy_thread *t, tn_device dev, size_t size) {
  tn_workspace_block *best = NULL;
  for (int64_t i = 0; i < t->nblock; ++i) {
    tn_workspace_block *b = &t->blocks[i];
    if (b->used || !is_on(b, dev)) continue;
    bool fits = b->size >= size, best_fits = best && best->size >= size;
    if (!best || (fits && (!best_fits || b->size < best->size)) ||
        (!fits && !best_fits && b->size > best->size))
      best = b;
  }
  return best;
}

/* A new entry, with no memory yet. */
static tn_workspace_block *add_block(tn_legacy_thread *t, tn_device dev) {
  if (t->nblock == t->cap) {
    int64_t cap = t->cap ? t->cap * 2 : 8;
    tn_workspace_block *blocks = tn_realloc_array(t->blocks, cap, sizeof *blocks);
    if (!blocks) return NULL;
    t->blocks = blocks;
    t->cap = cap;
  }
  tn_workspace_block *b = &t->blocks[t->nblock++];
  *b = (tn_workspace_block){.device = dev};
  return b;
}

static int resize_block(tn_workspace_block *b, size_t size) {
  size_t rounded = (size + WORKSPACE_PAGE - 1) / WORKSPACE_PAGE * WORKSPACE_PAGE;
  if (rounded < size) return tn_raise_no_memory(size);
  TN_TRY(tn_runtime_init()); /* a program that only calls compiled functions never did */
  if (b->data) tn_device_free(b->device, b->data);
  b->size = 0;
  b->data = tn_device_alloc(b->device, rounded, WORKSPACE_ALIGN, (tn_dtype){kDLUInt, 8, 1}, NULL);
  if (!b->data) return -1;
  b->size = rounded;
  return 0;
}

static void *take_block(tn_device dev, size_t size) {
  tn_legacy_thread *t = tn_legacy_state();
  if (!t) return NULL;
  tn_workspace_block *b = best_block(t, dev, size);
  if (!b && !(b = add_block(t, dev))) return NULL;
  if (b->size < size && resize_block(b, size)) return NULL;
  b->used = true;
  return b->data;
}

void *TVMBackendAllocWorkspace(int device_type, int device_id, uint64_t nbytes, int code_hint,
                               int bits_hint) {
  tn_device dev = {(DLDeviceType)device_type, device_id};
  (void)code_hint, (void)bits_hint;
  void *p = take_block(dev, nbytes ? (size_t)nbytes : 1);
  if (!p) tn_legacy_fail();
  return p;
}

int TVMBackendFreeWorkspace(int device_type, int device_id, void *ptr) {
  tn_legacy_thread *t = tn_legacy_state();
  /* from the end: what was taken last is given back first */
  for (int64_t i = t && ptr ? t->nblock : 0; i-- > 0;) {
    if (t->blocks[i].data != ptr || !t->blocks[i].used) continue;
    t->blocks[i].used = false;
    return 0;
  }
  if (!ptr) return 0;
  TN_RAISE(ValueError, NULL,
           "TVMBackendFreeWorkspace: %p is not workspace in use of this thread (device type %d, "
           "id %d)",
           ptr, device_type, device_id);
  return tn_legacy_fail();
}

void tn_workspace_drop(tn_legacy_thread *t) {
  for (int64_t i = 0; i < t->nblock; ++i) {
    if (t->blocks[i].data) tn_device_free(t->blocks[i].device, t->blocks[i].data);
  }
  tn_free(t->blocks);
}

/* ---- parallel loops ---- */

_Static_assert(sizeof(TVMParallelGroupEnv) == sizeof(tn_parallel_env) &&
                   offsetof(TVMParallelGroupEnv, num_task) == offsetof(tn_parallel_env, num_task),
               "one environment for both interfaces");

typedef struct {
  FTVMParallelLambda f;
  void *data;
} task;

/* A compiled task leaves its error in the thread it ran on: the launch carries it to the caller. */
static int run_task(int task_id, const tn_parallel_env *env, void *data) {
  const task *t = data;
  return t->f(task_id, (TVMParallelGroupEnv *)(uintptr_t)env, t->data) ? tn_legacy_unpark() : 0;
}

int TVMBackendParallelLaunch(FTVMParallelLambda f, void *cdata, int num_task) {
  task t = {f, cdata};
  return tn_parallel_launch(run_task, &t, num_task) ? tn_legacy_fail() : 0;
}

int TVMBackendParallelBarrier(int task_id, TVMParallelGroupEnv *penv) {
  return tn_parallel_barrier(task_id, (const tn_parallel_env *)penv) ? tn_legacy_fail() : 0;
}

_Static_assert(sizeof(tn_once) == sizeof(void *), "a handle is the state of its run");

int TVMBackendRunOnce(void **handle, int (*f)(void *), void *cdata, int nbytes) {
  (void)nbytes;                      /* size of cdata */
  tn_once *once = (tn_once *)handle; /* a variable of compiled code, NULL at first */
  if (!tn_once_begin(once)) return 0;
  int err = f(cdata);
  tn_once_end(once, err == 0);
  return err;
}
