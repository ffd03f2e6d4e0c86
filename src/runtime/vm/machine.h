/* The virtual machine: runs the functions of an executable.

   Registers hold values: tensors, values of algebraic data types (tn_tuple), closures, references,
   numbers (of the machine itself), and scalars, which are tensors of no dimension kept in the
   register: primitives read and write them there, so that loops over scalars allocate nothing. They
   become tensors when they are stored or leave the machine.

   A call that is the last thing a function does takes the place of its caller, so loops need no
   stack. Other calls may be nested up to `max_depth`; the calls that follow one another without a
   return are bounded by `max_calls`, so a recursion without end is an error either way.

   One machine is for one call at a time, of one thread, which the functions of its module see to;
   many stand on one executable. */
#ifndef TN_RUNTIME_VM_MACHINE_H_
#define TN_RUNTIME_VM_MACHINE_H_

#include "runtime/library/legacy_abi.h"
#include "runtime/types.h"
#include "runtime/vm/executable.h"
#include "runtime/vm/memory.h"
#include "runtime/vm/values.h"

/* Type index of a scalar in a register: aux holds its type, v its value. Seen by nobody else. */
enum { TN_VM_SCALAR = 48 };

/* A function of the executable with captured values: laid out as a tn_tuple whose tag is the
   function. */
struct tn_VMClosure {
  tn_obj hdr;
  uint32_t func;
  int64_t len;
  tn_any fields[]; /* owned */
};

struct tn_VMRef {
  tn_obj hdr;
  tn_any value; /* owned */
};

/* A primitive for a known number of rows. */
typedef struct {
  int64_t rows, cost; /* of a call, by which the cheapest pieces are chosen */
  TVMBackendPackedCFunc code;
  tn_func *func; /* owned */
} tn_vm_piece;

enum { TN_VM_MAX_PIECES = 9, TN_VM_PANEL_NDIM = 4 };

typedef struct {
  TVMBackendPackedCFunc code; /* compiled: called as it is */
  tn_func *func;              /* owned */
  tn_vm_value_fn on_values;   /* a function on values: neither code nor func */
  /* Where it can be computed in pieces of rows: which, the largest first, and for each argument 'r'
     (has rows), 's' (the same for all) or 'p'. The first npanel pieces read the argument p from
     panels, which are made once for a call; where that costs more, those behind are taken. */
  tn_vm_piece pieces[TN_VM_MAX_PIECES];
  int npiece, npanel;
  const char *mask;
  tn_vm_piece panels; /* what makes them, and what that costs; without code where there is none */
  int64_t panel_shape[TN_VM_PANEL_NDIM];
  int panel_ndim;
} tn_vm_primitive;

typedef struct {
  const tn_vm_function *f;
  const int64_t *pc; /* where the caller goes on */
  int64_t base;      /* its first register */
  int64_t dst;       /* register of the caller for the result */
  int64_t calls;     /* that took the place of one another here */
} tn_vm_frame;

typedef struct {
  tn_any *inputs; /* owned values, None where not set; NULL: none was set */
  tn_tensor **outputs;
  int64_t noutput;
} tn_vm_call;

typedef struct tn_vm_machine {
  tn_module *module; /* of the executable, owned */
  tn_vm_exe *x;
  tn_device *devices; /* of the executable's device numbers */
  tn_vm_pool **pools; /* the same */
  tn_device host;
  tn_vm_pool *host_pool;
  tn_vm_primitive *prims;
  tn_tensor **consts; /* on their devices, owned; NULL: late-bound */
  uint32_t align;     /* bytes that memory of tensors must be a multiple of */
  bool scalars;       /* may registers hold scalars? */
  tn_any *regs;
  int64_t nreg, reg_cap;
  tn_vm_frame *frames;
  int64_t nframe, frame_cap;
  int64_t max_depth, max_calls;
  DLTensor *dl; /* arguments of a primitive */
  TVMValue *values;
  int *codes;
  tn_any *args;
  int64_t narg;         /* room for so many */
  DLTensor *part;       /* parts of arguments: narg of them, */
  int64_t *part_shapes; /* TN_VM_MAX_NDIM extents each */
  tn_vm_call *calls_of; /* of each function: inputs and outputs set before */
  tn_any result;        /* on its way out */
  tn_any last;          /* result of the last stateful call, owned */
  void *observer;       /* of `observe` */
  /* Called around each primitive and allocation, for profiles: begin and end. */
  int (*observe)(void *observer, struct tn_vm_machine *m, const int64_t *w, bool begin);
} tn_vm_machine;

enum { TN_VM_NAIVE = 1, TN_VM_POOLED = 2 };

/** A machine for a module of type "VMExecutable".
 *  @param devices what it runs on; those of the executable that are not among them are refused,
 *  the host is always there @param kinds of allocators (TN_VM_POOLED)
 *  @return owned, or NULL: TypeError, TVMError for a primitive that is missing */
TN_API TN_OWNED tn_vm_machine *tn_vm_machine_new(tn_module *exe, const tn_device *devices,
                                                 const int *kinds, int32_t n);
TN_API void tn_vm_machine_free(tn_vm_machine *m);

/** Calls a function. @param args borrowed; tensors, ADTs, closures @param ret owned
 *  @return 0, or -1: ValueError (no such function, number of arguments), TypeError, RuntimeError
 *  (too many calls), MemoryError, what primitives raise. The machine can be used again. */
TN_API int tn_vm_run(tn_vm_machine *m, int64_t func, const tn_any *args, int32_t n, tn_any *ret);

/** The register's value as one that others may see: a scalar becomes a tensor. Owned. */
int tn_vm_box(const tn_any *a, tn_any *out);
/** The value of a number, scalar or tensor of one element. */
int tn_vm_int(tn_any *a, int64_t *out);
/** An argument as a register's value: on the device of the parameter, laid out as primitives want
 * it. Owned. */
int tn_vm_argument(const tn_vm_machine *m, const tn_vm_function *f, int32_t i, const tn_any *a,
                   tn_any *out);

/* Instructions that work on tensors (tensors.c); `w` the instruction, `r` the registers. */
int tn_vm_alloc_storage(tn_vm_machine *m, const int64_t *w, tn_any *r);
int tn_vm_alloc_tensor(tn_vm_machine *m, const int64_t *w, tn_any *r);
/** The extents of what a register holds. */
int tn_vm_shape_in(tn_any *reg, const int64_t **shape, int64_t *ndim);
/** The number of make_shape and check_extents: itself, or an extent of what the registers hold. */
int tn_vm_extent(tn_any *r, const int64_t *registers, int64_t number, int64_t *out);
int tn_vm_make_shape(tn_vm_machine *m, const int64_t *w, tn_any *r);
int tn_vm_shape_of(tn_vm_machine *m, const int64_t *w, tn_any *r);
int tn_vm_reshape(tn_vm_machine *m, const int64_t *w, tn_any *r);
int tn_vm_device_copy(tn_vm_machine *m, const int64_t *w, tn_any *r);
/** Calls a primitive in pieces of rows; `values` hold its n arguments, of which the last nout are
 * written. 0: it cannot be done so for these; 1 done, -1. */
int tn_vm_call_pieces(tn_vm_machine *m, const tn_vm_primitive *p, int64_t n, int64_t nout);
/** Calls a function on values; the arguments are registers' values but for scalars. */
int tn_vm_call_value(tn_vm_machine *m, tn_vm_value_fn f, const tn_any *args, int32_t n,
                     tn_any *ret);
/** Finds the pieces of a primitive by its attributes. */
int tn_vm_find_pieces(tn_vm_machine *m, int64_t primitive);
/** Stores an owned object in a register. NULL: an error is pending. */
int tn_vm_put(tn_any *reg, const void *owned);

/** A report (tn_Report) of a call, after some to warm up. @param collectors array of
 * MetricCollector, or NULL. Owned, or NULL. */
TN_OWNED tn_obj *tn_vm_profile(tn_vm_machine *m, int64_t func, const tn_arr *collectors,
                               const tn_any *args, int32_t n);

/** A module of type "VirtualMachine": a machine for an executable, once its function "init" was
 * called. */
TN_OWNED tn_module *tn_vm_machine_module(tn_module *exe);

#endif /* TN_RUNTIME_VM_MACHINE_H_ */
