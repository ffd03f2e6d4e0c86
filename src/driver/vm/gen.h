/* From Relay functions in A-normal form to functions of the virtual machine.

   Functions inside functions become separate functions, with what they use from outside as
   first parameters. Tuples stay in the registers of their fields until somebody needs them as one
   value.

   Files: gen.c (functions and expressions), call.c (instructions for what ManifestAlloc has
   written), match.c, rows.c and prepack_weights.c (kernels of any number of rows). */
#ifndef TN_DRIVER_VM_GEN_H_
#define TN_DRIVER_VM_GEN_H_

#include "relay/devices/devices.h"
#include "driver/kernel_names.h"
#include "driver/vm/register_alloc.h"
#include "kernels/kernels.h"
#include "relay/memory/kernel_shapes.h"
#include "runtime/vm/machine.h"
#include "target/target.h"
#include "tir/tir.h"

/** A function that waits for its turn. */
typedef struct {
  const tn_RelayFunction *f; /* NULL: what makes values of `constructor` */
  const tn_Constructor *constructor;
  tn_arr *captured;        /* variables that are its first parameters; NULL: none */
  const tn_RelayVar *self; /* the variable that it is bound to, NULL: none */
  int64_t func;
} vm_pending;

typedef struct {
  const tn_IRModule *mod;
  tn_vm_exe *x;
  kernel_names names;
  tn_map *shape_funcs;  /* name -> PrimFunc: programs that compute extents */
  tn_map *prim_index;   /* name of a primitive -> its number */
  tn_pmap kernels;      /* id of a variable -> the primitive function it is bound to */
  tn_pmap known;        /* id of a variable -> number + 1 of the function it is bound to */
  tn_pmap consts;       /* tensor -> number + 1 of the constant */
  tn_pmap bound;        /* id of a variable -> the constant it is bound to */
  tn_pmap constructors; /* constructor -> number + 1 of the function that calls it */
  tn_pmap scalars;      /* id of a storage -> 1: a scalar is all that is in it, -1: other things */
  vm_pending *queue;
  int64_t npending, pending_cap;
  const device_plan *plan; /* NULL: all but what the host has to know is on `device` */
  tn_pmap places;          /* virtual device -> number + 1 of the device */
  int64_t device, host;    /* numbers of devices */
} vm_gen;

/** The value of an expression: a register, or the values of a tuple's fields. */
typedef struct vm_value {
  int64_t reg; /* -1: a tuple */
  int64_t n;
  struct vm_value *fields;
} vm_value;

/** The function that is made. */
typedef struct {
  vm_gen *g;
  vm_code code;
  tn_pmap values; /* id of a variable -> vm_value */
  tn_arena arena; /* for them */
  const vm_pending *of;
} vm_func;

/** Fills the executable of a generator: the function `main`, or every function when there is none,
 * and what they call. */
int vm_generate(vm_gen *g);

/** Number of a device; -1: MemoryError. */
int64_t vm_place(vm_gen *g, const tn_VirtualDevice *d);
/** The same of the device that the value of an expression is on. */
int64_t vm_device_of(vm_gen *g, const void *expr);
/** The value on another device, tensor by tensor. NULL with an error. */
const vm_value *vm_copied(vm_func *f, const tn_Type *type, const vm_value *v, int64_t from,
                          int64_t to);

/** The value that a variable or other atom stands for. NULL with ValueError. */
const vm_value *vm_atom(vm_func *f, const void *e);
/** A value in one register; a tuple is made into one there. */
int64_t vm_in_register(vm_func *f, const vm_value *v);
vm_value *vm_register_value(vm_func *f, int64_t reg);
vm_value *vm_tuple_value(vm_func *f, int64_t n);
/** A register with a constant, a number. */
int64_t vm_load_const(vm_func *f, tn_tensor *t, int64_t device);
int64_t vm_load_number(vm_func *f, int64_t value);
/** Number of a primitive of the executable, which is made known. -1: MemoryError. */
int64_t vm_primitive(vm_gen *g, const char *name);

/** Notes which storages of a function hold one scalar each. */
int vm_find_scalars(vm_gen *g, const tn_RelayFunction *f);
/** A call of an operator that is an instruction. @param var what it is bound to, NULL: nothing
 *  @param known is it one? NULL without an error where it is not */
const vm_value *vm_instruction(vm_func *f, const tn_RelayCall *c, const tn_RelayVar *var,
                               bool *known);

/** A match. @param ends does the function end with its clauses?
 *  @param clause makes the code of a clause's result */
int vm_match(vm_func *f, const tn_Match *m, bool ends, int (*clause)(void *ctx, const void *body),
             void *ctx);

/** The tag of what a constructor makes: constructors of a type without fields come first, so that
 * an empty list has tag 0. -1: ValueError. */
int64_t vm_tag(const vm_gen *g, const tn_Constructor *c);

/** A kernel that reads the weight of its dense layer in panels. */
typedef struct {
  int64_t arg;               /* number of that argument */
  tn_RelayFunction *make;    /* panels from the weight */
  tn_RelayFunction *read;    /* the kernel with panels for that argument */
  const tn_TensorType *type; /* of them */
} vm_panels;
/** @return 1, 0 where a kernel is best as it is, -1 */
int vm_panels_of(const tn_RelayFunction *f, const target_machine *m, vm_panels *out);

/** Pieces of known sizes. */
typedef struct {
  int64_t sizes[TN_VM_MAX_PIECES]; /* their rows, the largest first */
  int64_t costs[TN_VM_MAX_PIECES]; /* of a call of each, in tenths of a row of the largest */
  int n;
} vm_pieces;

/** How a kernel whose first extents are dynamic is cut into pieces. */
typedef struct {
  vm_pieces direct; /* none: it is not */
  vm_pieces packed; /* pieces of the kernel that reads panels */
  char mask[64];    /* for each argument 'r' (has rows), 's' (is the same for all), 'p' (the same,
                       and there are panels of it) or 'x' (has rows, and is never cut) */
  vm_panels panels;
  int64_t panel_cost; /* of making them */
} vm_rows;
/** Which pieces a kernel is worth. @param p its program @param m what it runs on */
int vm_row_pieces(const tn_RelayFunction *f, const tn_PrimFunc *p, const target_machine *m,
                  vm_rows *rows);
/** The kernel for a number of rows of the arguments that have rows by the mask, with types.
 * Scope-owned. */
tn_RelayFunction *vm_kernel_of_rows(const tn_RelayFunction *f, int64_t rows, const char *mask);

/** Types of the parameters and results of a function that the executable has (types.c). */
int vm_set_types(vm_gen *g, int64_t func, const tn_RelayFunction *f);

#endif /* TN_DRIVER_VM_GEN_H_ */
