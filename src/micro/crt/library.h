/* The functions of a linked library: their number, and their names one after another. */
#ifndef TN_MICRO_CRT_LIBRARY_H_
#define TN_MICRO_CRT_LIBRARY_H_

#include "tvm/runtime/crt/module.h"

int32_t crt_library_count(const TVMModule *m);
/* The first name (name is NULL), or the one after it. */
const char *crt_library_next(const TVMModule *m, const char *name);

#endif /* TN_MICRO_CRT_LIBRARY_H_ */
