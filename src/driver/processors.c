/* Processors by the names that -mcpu takes: what kernels are made for where code is not for this
   machine. Names begin as LLVM writes them; where one begins like another, the longer comes first.

   Caches are those of a core: of one that shares its second level, its part; of one that comes with
   several sizes, the smallest. */
#include "driver/primitive.h"

#include <string.h>

typedef struct {
  const char *name;
  int bytes, registers; /* of a vector; how many of them */
  int l1, l2;           /* KiB */
} processor;

static const processor processors[] = {
    {"skylake-avx512", 64, 32, 32, 1024},
    {"skylake_avx512", 64, 32, 32, 1024},
    {"skx", 64, 32, 32, 1024},
    {"cascadelake", 64, 32, 32, 1024},
    {"cooperlake", 64, 32, 32, 1024},
    {"cannonlake", 64, 32, 32, 256},
    {"icelake-client", 64, 32, 48, 512},
    {"icelake_client", 64, 32, 48, 512},
    {"icelake", 64, 32, 48, 1280},
    {"tigerlake", 64, 32, 48, 1280},
    {"rocketlake", 64, 32, 48, 512},
    {"sapphirerapids", 64, 32, 48, 2048},
    {"emeraldrapids", 64, 32, 48, 2048},
    {"graniterapids", 64, 32, 48, 2048},
    {"znver5", 64, 32, 48, 1024},
    {"znver4", 64, 32, 32, 1024},
    {"znver", 32, 16, 32, 512},
    {"knl", 32, 16, 32, 512},
    {"knm", 32, 16, 32, 512},
    {"haswell", 32, 16, 32, 256},
    {"core-avx2", 32, 16, 32, 256},
    {"core_4th", 32, 16, 32, 256},
    {"core_5th", 32, 16, 32, 256},
    {"broadwell", 32, 16, 32, 256},
    {"skylake", 32, 16, 32, 256},
    {"alderlake", 32, 16, 48, 1280},
    {"raptorlake", 32, 16, 48, 1280},
    {"meteorlake", 32, 16, 48, 2048},
    {"arrowlake", 32, 16, 48, 2048},
    {"lunarlake", 32, 16, 48, 2048},
    {"pantherlake", 32, 16, 48, 2048},
    {"gracemont", 32, 16, 32, 512},
    {"sierraforest", 32, 16, 32, 1024},
    {"grandridge", 32, 16, 32, 1024},
    {"clearwaterforest", 32, 16, 32, 1024},
    {"x86-64-v4", 64, 32, 32, 1024},
    {"x86-64-v3", 32, 16, 32, 256},
    {"cortex-a7", 16, 32, 32, 256},
    {"cortex-a5", 16, 32, 32, 128},
    {"cortex-x", 16, 32, 64, 1024},
    {"cortex-a", 16, 32, 32, 256},
    {"neoverse", 16, 32, 64, 1024},
    {"apple", 16, 32, 64, 3072},
    {"", 16, 16, 32, 256}, /* every other one */
};

static bool begins(const char *text, const char *with) {
  return strncmp(text, with, strlen(with)) == 0;
}

void driver_named_processor(kernel_machine *m, const char *cpu, const char *triple) {
  enum { KIB = 1024, MANY = 32, FEW = 16 };
  const processor *p = processors;
  while (!begins(cpu, p->name)) ++p;
  m->vector_bytes = p->bytes;
  m->vector_registers = p->registers;
  if (begins(triple, "aarch64") || begins(triple, "arm64")) m->vector_registers = MANY;
  else if (begins(triple, "arm") || begins(triple, "thumb")) m->vector_registers = FEW;
  m->l1 = (int64_t)p->l1 * KIB;
  m->l2 = (int64_t)p->l2 * KIB;
}
