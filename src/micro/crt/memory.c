#include "micro/crt/memory.h"

#include <stdint.h>

#include "tvm/runtime/crt/platform.h"

static const DLDevice cpu = {kDLCPU, 0};

/* What the platform gave stands before the aligned piece. */
void *crt_take(size_t n) {
  void *raw = NULL;
  if (n > SIZE_MAX / 2 ||
      TVMPlatformMemoryAllocate(n + CRT_ALIGN + sizeof raw, cpu, &raw) != kTvmErrorNoError || !raw)
    return NULL;
  uintptr_t at = ((uintptr_t)raw + sizeof raw + CRT_ALIGN - 1) / CRT_ALIGN * CRT_ALIGN;
  char *p = (char *)raw + (at - (uintptr_t)raw);
  ((void **)(void *)p)[-1] = raw;
  return p;
}

void crt_give(void *p) {
  if (p) (void)TVMPlatformMemoryFree(((void **)p)[-1], cpu);
}
