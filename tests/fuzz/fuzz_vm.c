/* Bytecode of the virtual machine: whatever the bytes, they are refused with an error or give an
   executable that can be printed, saved and read again as the same bytes, and whose functions run
   to a result or an error. The primitives "a", "b", ... fill their last argument; larger memories
   than a few megabytes are refused, as on a small machine. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "primitives.h"
#include "runtime/module/module.h"
#include "runtime/tensor/tensor.h"
#include "runtime/vm/machine.h"

int LLVMFuzzerInitialize(int *argc, char ***argv) {
  (void)argc, (void)argv;
  start_primitives();
  return 0;
}

static void print_all(const tn_vm_exe *x) {
  tn_str *texts[] = {tn_vm_text_bytecode(x), tn_vm_text_constants(x), tn_vm_text_devices(x),
                     tn_vm_text_primitives(x), tn_vm_text_stats(x)};
  for (int i = 0; i < TN_COUNT(texts); ++i) tn_release(texts[i]);
  tn_error_clear();
}

static void save_again(const tn_vm_exe *x) {
  tn_bytes *b = tn_vm_save(x);
  if (!b) {
    tn_error_clear();
    return;
  }
  tn_bytes_view v = tn_bytes_get(b);
  tn_vm_exe *again = tn_vm_load(v.data, v.size);
  require(again || tn_error_get_kind() == TN_MemoryError, "read again");
  tn_error_clear();
  tn_bytes *same = again ? tn_vm_save(again) : NULL;
  if (same) require(same->len == b->len && !memcmp(same->data, b->data, b->len), "same bytes");
  tn_release(same);
  tn_release(b);
  if (again) tn_vm_exe_free(again);
}

static void run_all(tn_vm_machine *m) {
  const int64_t shape[] = {2};
  tn_tensor *t = tn_tensor_new(shape, 1, (tn_dtype){kDLInt, 64, 1}, (tn_device){kDLCPU, 0}, NULL);
  tn_any args[8];
  require(t, "tensor");
  memset(t->dl.data, 0, 16);
  for (int i = 0; i < 8; ++i) args[i] = tn_any_obj(t);
  m->max_depth = 20;
  m->max_calls = 1000;
  for (int64_t i = 0; i < m->x->nfunc && i < 8; ++i) {
    tn_any ret = tn_any_none();
    if (m->x->funcs[i].nparam > 8) continue;
    if (tn_vm_run(m, i, args, m->x->funcs[i].nparam, &ret)) {
      require(tn_error_pending(), "failed with a reason");
      tn_error_clear();
    }
    tn_any_release(&ret);
  }
  tn_release(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  const tn_device cpu = {kDLCPU, 0};
  const int pooled = TN_VM_POOLED;
  tn_vm_exe *x = tn_vm_load(data, n);
  if (!x) {
    require(tn_error_pending(), "refused with a reason");
    tn_error_clear();
    return 0;
  }
  print_all(x);
  save_again(x);
  tn_module *exe = tn_vm_module_new(x, lib);
  tn_vm_machine *m = exe ? tn_vm_machine_new(exe, &cpu, &pooled, 1) : NULL;
  if (m) run_all(m);
  if (m) tn_vm_machine_free(m);
  tn_error_clear();
  tn_release(exe);
  return 0;
}
