/* Modules: functions that were compiled or loaded together, and the modules they rely on. What a
   module is (a shared library, C source, a graph executor) is a table of functions, tn_module_ops
   in tenon/runtime.h, which also holds the public operations.

   Imports form a directed graph without cycles. They are an immutable array that is replaced as a
   whole under one lock, so a reader works on a consistent snapshot without holding anything. */
#ifndef TN_RUNTIME_MODULE_MODULE_H_
#define TN_RUNTIME_MODULE_MODULE_H_

#include "object/functions.h"
#include "runtime/types.h"
#include "tenon/runtime.h"

struct tn_Module {
  tn_obj hdr;
  tn_arr *imports; /* NULL when there are none */
  const tn_module_ops *ops;
  void *self;
};

extern const tn_type_hooks tn_module_hooks;

/** Argument i of a tn_call as a module; TypeError for anything else, None included. */
TN_API int tn_arg_module(const tn_any *args, int32_t n, int32_t i, tn_module **out);

/** Calls fn for root and everything it imports, each module once, parents before their imports, in
    the order of import, until fn returns non-zero; that is returned. */
TN_API int tn_module_walk(tn_module *root, int (*fn)(void *ctx, tn_module *m), void *ctx);

/** The end of the message for an unknown function: ": its code is C source ..." if that is the
 * reason, else "". */
const char *tn_module_why_missing(tn_module *m);

/** Whether a call uses something that is for one call at a time. */
typedef struct {
  _Atomic int taken;
} tn_use;
/** @return 0, or -1: RuntimeError that names `what` and the function where another call has it */
int tn_use_begin(tn_use *u, const char *what, const char *function);
void tn_use_end(tn_use *u);
/** A row's function bound to a module as by tn_module_bind, whose calls are refused while another
 * one has `use`, of this thread or of another. Row and `what` are static. */
TN_OWNED tn_func *tn_module_bind_alone(tn_module *m, const tn_func_row *row, void *self,
                                       tn_use *use, const char *what);

/** Was f made by tn_module_bind with this `call`? Then `*m` is its module and `*self` what it is
    bound to, both borrowed: a caller that knows `call` can do without it. */
bool tn_func_is_bound(const tn_func *f, tn_call call, tn_module **m, void **self);

/** tn_module_import of n modules at once. */
int tn_module_import_all(tn_module *m, const tn_any *others, int64_t n);

/** Registers the functions "runtime.Module*"; part of tn_runtime_init. */
int tn_module_api_init(void);

#endif /* TN_RUNTIME_MODULE_MODULE_H_ */
