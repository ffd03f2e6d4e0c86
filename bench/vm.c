/* Cost of the virtual machine itself: an empty call, and loops over scalars.

     vm [--json] [--rounds N]

   The loop is what the compiler makes of

     def @loop(%i, %n, %acc) {
       if (less(%i, %n)) { @loop(add(%i, 1), %n, add(%acc, %i)) } else { %acc }
     }

   with kernels that do what compiled ones do without their checks of arguments. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "object/functions.h"
#include "runtime/library/legacy_abi.h"
#include "runtime/module/module.h"
#include "runtime/tensor/tensor.h"
#include "runtime/vm/machine.h"
#include "timing.h"

enum { MAX_ROUNDS = 101, TURNS = 1000000 };

static int64_t *at(void *args, int i) {
  const DLTensor *t = ((const TVMValue *)args)[i].v_handle;
  return (int64_t *)t->data;
}

#define KERNEL(name, statement)                                                                    \
  static int name(TVMValue *args, int *codes, int n, TVMValue *ret, int *ret_code, void *res) {    \
    (void)codes, (void)n, (void)ret, (void)ret_code, (void)res;                                    \
    statement;                                                                                     \
    return 0;                                                                                      \
  }
KERNEL(less, *(uint8_t *)at(args, 2) = *at(args, 0) < *at(args, 1))
KERNEL(next, *at(args, 1) = *at(args, 0) + 1)
KERNEL(sum, *at(args, 2) = *at(args, 0) + *at(args, 1))

static int get_function(tn_module *m, const char *name, tn_func **out) {
  static const struct {
    const char *name;
    TVMBackendPackedCFunc code;
  } compiled[] = {{"less", less}, {"next", next}, {"sum", sum}};
  for (int i = 0; i < TN_COUNT(compiled); ++i) {
    void *code;
    memcpy(&code, &compiled[i].code, sizeof code);
    if (strcmp(name, compiled[i].name) == 0)
      return (*out = tn_module_bind(m, tn_legacy_compiled_call, code)) ? 0 : -1;
  }
  return 0;
}
static const tn_module_ops ops = {.type_key = "bench", .get_function = get_function};

#define I64 kDLInt, 64, 1
static int fill(tn_vm_exe *x) {
  static const char *const names[] = {"i", "n", "acc"};
  static const int64_t empty[] = {TN_VM_RET, 0};
  static const int64_t loop[] = {TN_VM_ALLOC_SCALAR,
                                 3,
                                 kDLUInt,
                                 1,
                                 1,
                                 TN_VM_INVOKE_PACKED,
                                 0,
                                 1,
                                 3,
                                 0,
                                 1,
                                 3,
                                 TN_VM_LOAD_CONSTI,
                                 4,
                                 1,
                                 TN_VM_IF,
                                 3,
                                 4,
                                 1,
                                 7,
                                 TN_VM_ALLOC_SCALAR,
                                 3,
                                 I64,
                                 TN_VM_INVOKE_PACKED,
                                 1,
                                 1,
                                 2,
                                 0,
                                 3,
                                 TN_VM_ALLOC_SCALAR,
                                 5,
                                 I64,
                                 TN_VM_INVOKE_PACKED,
                                 2,
                                 1,
                                 3,
                                 2,
                                 0,
                                 5,
                                 TN_VM_INVOKE,
                                 6,
                                 1,
                                 3,
                                 3,
                                 1,
                                 5,
                                 TN_VM_RET,
                                 6,
                                 TN_VM_RET,
                                 2};
  TN_TRY(tn_vm_add_device(x, (tn_device){kDLCPU, 0}, "") < 0);
  TN_TRY(tn_vm_add_primitive(x, "less") < 0 || tn_vm_add_primitive(x, "next") < 0 ||
         tn_vm_add_primitive(x, "sum") < 0);
  TN_TRY(tn_vm_add_function(x, "empty", 1, names) < 0 ||
         tn_vm_add_function(x, "loop", 3, names) < 0);
  TN_TRY(tn_vm_set_code(x, 0, 1, empty, TN_COUNT(empty)));
  TN_TRY(tn_vm_set_code(x, 1, 7, loop, TN_COUNT(loop)));
  return tn_vm_verify(x);
}

static tn_vm_machine *make(void) {
  const tn_device cpu = {kDLCPU, 0};
  const int pooled = TN_VM_POOLED;
  tn_vm_exe *x = tn_vm_exe_new();
  tn_module *lib = tn_module_new(&ops, NULL);
  if (!x || !lib || fill(x)) return NULL;
  tn_module *exe = tn_vm_module_new(x, lib);
  tn_vm_machine *m = exe ? tn_vm_machine_new(exe, &cpu, &pooled, 1) : NULL;
  tn_release(exe);
  tn_release(lib);
  return m;
}

static tn_tensor *scalar(int64_t value) {
  tn_tensor *t = tn_tensor_new(NULL, 0, (tn_dtype){I64}, (tn_device){kDLCPU, 0}, NULL);
  if (t) *(int64_t *)t->dl.data = value;
  return t;
}

/* Processor time: the machine runs on one thread, and others may share the processor. */
static double cpu_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* ns of a call with three scalars; -1: an error */
static double time_call(tn_vm_machine *m, int64_t func, int32_t n, tn_tensor *const *t, int times) {
  tn_any args[3];
  for (int i = 0; i < 3; ++i) args[i] = tn_any_obj(t[i]);
  double from = cpu_ns();
  for (int i = 0; i < times; ++i) {
    tn_any ret = tn_any_none();
    if (tn_vm_run(m, func, args, n, &ret)) return -1;
    tn_any_release(&ret);
  }
  return (cpu_ns() - from) / times;
}

static bool read_options(int argc, char **argv, bool *json, int *rounds) {
  for (int i = 1; i < argc; ++i) {
    bool number = strcmp(argv[i], "--rounds") == 0 && i + 1 < argc;
    if (strcmp(argv[i], "--json") == 0) *json = true;
    else if (number) *rounds = atoi(argv[++i]);
    else return false;
  }
  return *rounds >= 1 && *rounds <= MAX_ROUNDS;
}

int main(int argc, char **argv) {
  bool json = false;
  int rounds = 7;
  double call[MAX_ROUNDS], loop[MAX_ROUNDS];
  if (!read_options(argc, argv, &json, &rounds)) {
    fprintf(stderr, "usage: vm [--json] [--rounds 1..%d]\n", MAX_ROUNDS);
    return 2;
  }
  tn_vm_machine *m = tn_runtime_init() == 0 ? make() : NULL;
  tn_tensor *t[] = {scalar(0), scalar(TURNS), scalar(0)};
  if (!m || !t[0] || !t[1] || !t[2]) return fprintf(stderr, "%s\n", tn_error_message()), 1;
  for (int i = 0; i < rounds; ++i) {
    call[i] = time_call(m, 0, 1, t, 100000);
    loop[i] = time_call(m, 1, 3, t, 1) / TURNS;
    if (call[i] < 0 || loop[i] < 0) return fprintf(stderr, "%s\n", tn_error_message()), 1;
  }
  double c = bench_median(call, rounds), l = bench_median(loop, rounds);
  if (json) printf("{\"call_ns\": %.1f, \"turn_ns\": %.1f}\n", c, l);
  else
    printf("empty call %.0f ns\nloop with three scalar kernels %.1f ns a turn, %.2f s for 10 "
           "million\n",
           c, l, l * 1e7 / 1e9);
  for (int i = 0; i < 3; ++i) tn_release(t[i]);
  tn_vm_machine_free(m);
  return 0;
}
