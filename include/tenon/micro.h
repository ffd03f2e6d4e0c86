/**
 * Models on microcontrollers: what the C source of an archive in Model Library Format refers to.
 *
 * C99 without the C library beyond the headers a freestanding compiler has.
 */
#ifndef TENON_MICRO_H_
#define TENON_MICRO_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Signature of every compiled function: arguments are TVMValue (tvm/runtime/c_runtime_api.h), each
 * with a type code. @return 0, or -1 after TVMAPISetLastError */
typedef int32_t (*tn_micro_kernel)(void *args, int32_t *type_codes, int32_t num_args,
                                   void *ret_value, int32_t *ret_code, void *resource);

typedef struct {
  const char *name;
  tn_micro_kernel call;
} tn_micro_function;

/** Functions of a model: its archive defines tvmgen_NAME_library. */
typedef struct {
  int32_t count;
  const tn_micro_function *functions;
} tn_micro_library;

#ifdef __cplusplus
}
#endif
#endif /* TENON_MICRO_H_ */
