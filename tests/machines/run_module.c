/* Runs an exported module on a machine without Python: tests build it, with the runtime, for
   processors that an emulator knows.

     run_module vm|graph MODULE.so ROWS COLUMNS    numbers of a matrix from standard input; those of
                                                   the result, after its extents, to standard output
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/module/module.h"
#include "runtime/tensor/tensor.h"
#include "runtime/vm/machine.h"

static const tn_device cpu = {kDLCPU, 0};

static tn_tensor *read_matrix(const char *rows, const char *columns) {
  int64_t shape[2] = {strtoll(rows, NULL, 10), strtoll(columns, NULL, 10)};
  tn_tensor *t = tn_tensor_new(shape, 2, (tn_dtype){kDLFloat, 32, 1}, cpu, NULL);
  for (int64_t i = 0; t && i < shape[0] * shape[1]; ++i)
    if (scanf("%f", (float *)tn_tensor_dl(t)->data + i) != 1) return NULL;
  return t;
}

static int run_vm(tn_module *exe, tn_tensor *x, tn_any *ret) {
  const int pooled = TN_VM_POOLED;
  tn_vm_machine *m = tn_vm_machine_new(exe, &cpu, &pooled, 1);
  tn_any args[] = {tn_any_obj(x)};
  int err = m ? tn_vm_run(m, tn_vm_find(m->x, "main"), args, 1, ret) : -1;
  if (m) tn_vm_machine_free(m);
  return err;
}

static int call(tn_module *m, const char *name, const tn_any *args, int n, tn_any *ret) {
  tn_func *f = tn_module_require(m, name, true);
  int err = f ? tn_func_call(f, args, n, ret) : -1;
  tn_release(f);
  return err;
}

static int run_graph(tn_module *factory, tn_tensor *x, tn_any *ret) {
  tn_any made = tn_any_none(), none = tn_any_none(),
         dev = {.type_index = TN_DEVICE, .v.device = cpu};
  if (call(factory, "default", &dev, 1, &made)) return -1;
  tn_module *g = (tn_module *)made.v.obj;
  tn_any input[] = {tn_any_int(0), tn_any_obj(x)}, first = tn_any_int(0);
  int err = call(g, "set_input", input, 2, &none) || call(g, "run", NULL, 0, &none) ||
            call(g, "get_output", &first, 1, ret);
  tn_any_release(&made);
  return err;
}

static int print(const tn_any *value) {
  const DLTensor *dl;
  if (tn_any_to_dltensor(value, &dl)) return -1;
  int64_t n = tn_tensor_count(dl);
  for (int i = 0; i < dl->ndim; ++i) printf("%lld ", (long long)dl->shape[i]);
  printf("\n");
  for (int64_t i = 0; i < n; ++i) printf("%.9g ", (double)((float *)dl->data)[i]);
  printf("\n");
  return 0;
}

int main(int argc, char **argv) {
  tn_any ret = tn_any_none();
  if (argc != 5) return fprintf(stderr, "usage: run_module vm|graph MODULE ROWS COLUMNS\n"), 2;
  tn_module *m = tn_runtime_init() == 0 ? tn_module_load(argv[2], "") : NULL;
  tn_tensor *x = m ? read_matrix(argv[3], argv[4]) : NULL;
  if (!x || (strcmp(argv[1], "vm") == 0 ? run_vm(m, x, &ret) : run_graph(m, x, &ret)) ||
      print(&ret))
    return fprintf(stderr, "%s\n", tn_error_message()), 1;
  printf("pointers of %d bits\n", (int)(8 * sizeof(void *)));
  tn_any_release(&ret);
  tn_release(x);
  tn_release(m);
  return 0;
}
