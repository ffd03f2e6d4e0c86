/* The code of a function while it is made: instructions over as many registers as there are values,
   each written in one place or, where branches meet, once in each branch; jumps name labels.

   code_finish makes of that what the machine runs: registers are given up where their values are
   used last, on every way through the code, and used again; jumps count instructions. */
#ifndef TN_DRIVER_VM_REGISTER_ALLOC_H_
#define TN_DRIVER_VM_REGISTER_ALLOC_H_

#include "runtime/vm/executable.h"

typedef struct {
  int64_t *words;
  int64_t n, cap;
  int64_t *labels; /* number of a label -> word it stands before */
  int64_t nlabel, label_cap;
  int32_t nparam, nreg; /* the first registers are the parameters */
  bool failed;          /* out of memory on the way; code_finish says so */
} vm_code;

void code_fini(vm_code *c);
/** A new register. */
int64_t code_reg(vm_code *c);
/** A label, to be put somewhere after the jumps to it. */
int64_t code_label(vm_code *c);
void code_put_label(vm_code *c, int64_t label);
/** Adds an instruction: n words, then a list of nlist words with its count before it, unless list
 * is NULL. */
void code_emit(vm_code *c, const int64_t *words, int64_t n, const int64_t *list, int64_t nlist);
#define CODE(c, ...)                                                                               \
  code_emit(c, (const int64_t[]){__VA_ARGS__},                                                     \
            (int64_t)(sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), NULL, 0)
#define CODE_LIST(c, list, nlist, ...)                                                             \
  code_emit(c, (const int64_t[]){__VA_ARGS__},                                                     \
            (int64_t)(sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), list, nlist)

/** Gives the code to a function of the executable. */
int code_finish(vm_code *c, tn_vm_exe *x, int64_t func);

#endif /* TN_DRIVER_VM_REGISTER_ALLOC_H_ */
