/* The seam to the Relay-era C interface (include/tvm/runtime/c_runtime_api.h): the one place where
   TVMValue and type codes become tn_any and back. Its callers are the exported TVM* functions
   (legacy_abi_*.c) and the packed functions of compiled libraries (library.c).

   Errors. Compiled code and foreign callbacks report failure as -1 after TVMAPISetLastError, or
   after a call of ours failed inside them. That error is parked in the thread, apart from the
   pending error: the message alone for foreign code (TVMGetLastError), the whole error (trace, a
   Python exception) for when it comes back into the library. */
#ifndef TN_RUNTIME_LIBRARY_LEGACY_ABI_H_
#define TN_RUNTIME_LIBRARY_LEGACY_ABI_H_

#include "base/error.h"
#include "tenon/runtime.h"
#include "tvm/runtime/c_backend_api.h"

enum { TN_LEGACY_INLINE_ARGS = 12 };

/** Arguments in the old form, with the memory they need for the time of a call. */
typedef struct {
  TVMValue *values;
  int *codes;
  TVMByteArray *bytes; /* views of bytes objects */
  void *heap;          /* NULL while the arguments fit the arrays below */
  const tn_any *from;  /* the arguments, n of them */
  int32_t n;
  tn_tensor **copies; /* of those that are read-only, owned; NULL: there are none */
  TVMValue inline_values[TN_LEGACY_INLINE_ARGS];
  int inline_codes[TN_LEGACY_INLINE_ARGS];
  TVMByteArray inline_bytes[TN_LEGACY_INLINE_ARGS];
} tn_legacy_args;

/** Converts n arguments, which must live as long as `a`.
 *  @param unbox for compiled code: numbers that are objects become plain, and tensors that are
 *  read-only are copied, since nothing tells which arguments such code writes
 *  @return 0, or -1 (MemoryError); tn_legacy_args_end is then not needed */
TN_API int tn_legacy_args_init(tn_legacy_args *a, const tn_any *args, int32_t n, bool unbox);
/** The call is over. @param err its result @return err, or -1 (ValueError) where it was 0 but a
 * read-only tensor was written */
TN_API int tn_legacy_args_end(tn_legacy_args *a, int err);

/** The value behind a TVMValue, borrowed. TypeError for an unknown code. */
int tn_legacy_to_any(const TVMValue *value, int code, tn_any *out);
/** A result for foreign code: objects are handed over, strings and bytes kept by the thread until
 * its next result. `ret` becomes None. */
int tn_legacy_set_result(tn_any *ret, TVMValue *value, int *code);
/** A result from foreign code: objects are taken over, strings and bytes copied. */
TN_API int tn_legacy_take_result(const TVMValue *value, int code, tn_any *ret);

/** Calls a compiled function. @return 0, or -1 with the error it left */
int tn_legacy_call(TVMBackendPackedCFunc f, const tn_any *args, int32_t n, tn_any *ret);
/** The same as a function for tn_module_bind, whose `self` is the address of the code. All modules
 * of compiled code bind it, so that callers can find the code (tn_func_is_bound). */
TN_API int tn_legacy_compiled_call(void *self, const tn_any *args, int32_t n, tn_any *ret);
/** Calls a compiled function with arguments in the old form that were made before; a result is
 * dropped. Allocates nothing. */
int tn_legacy_call_values(TVMBackendPackedCFunc f, TVMValue *values, int *codes, int32_t n);
/** Calls a function of TVMFuncCreateFromCFunc. */
int tn_legacy_call_c(TVMPackedCFunc f, void *resource, const tn_any *args, int32_t n, tn_any *ret);

/** Parks the pending error. Always returns -1: the end of an exported function that failed. */
int tn_legacy_fail(void);
/** Makes the parked error, or a general one, the pending error. Always returns -1. */
TN_API int tn_legacy_unpark(void);

/** Functions that compiled code finds in its library's context; see library.h.
 *  @return did the library ask for any? Those of the old stack do. */
bool tn_legacy_set_context(void *(*symbol)(void *ctx, const char *name), void *ctx);

#endif /* TN_RUNTIME_LIBRARY_LEGACY_ABI_H_ */
