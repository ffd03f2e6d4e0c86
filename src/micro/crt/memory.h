/* Aligned memory from the platform. */
#ifndef TN_MICRO_CRT_MEMORY_H_
#define TN_MICRO_CRT_MEMORY_H_

#include <stddef.h>

/* n bytes at a multiple of CRT_ALIGN; NULL: the platform has none. */
void *crt_take(size_t n);
void crt_give(void *p);

enum { CRT_ALIGN = 64 }; /* what vectors of compiled code need */

#endif /* TN_MICRO_CRT_MEMORY_H_ */
