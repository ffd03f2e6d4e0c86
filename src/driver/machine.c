/* What kernels may count on: from the target's options, or from this processor where code is made
 * for it. */
#include <string.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#endif

#include "driver/primitive.h"
#include "kernels/blocks.h"
#include "object/containers.h"
#include "tenon/runtime.h"

enum { BLOCK_THREADS = 64 };

static bool has_attr(const tn_target *t, const char *feature) {
  const tn_arr *list = target_list(t, "mattr");
  for (int64_t i = 0; list && i < list->len; ++i) {
    const tn_str *s = (const tn_str *)tn_arr_obj(list, i);
    if (s && strcmp(tn_cstr(s), feature) == 0) return true;
  }
  return false;
}

static bool is_one_of(const char *cpu, const char *const *names) {
  for (; *names; ++names)
    if (strncmp(cpu, *names, strlen(*names)) == 0) return true;
  return false;
}

/* What a processor that is not this one multiplies bfloat16 with. */
static kernel_bf16 bf16_of(const tn_target *t, const char *cpu) {
  static const char *const tiles[] = {"sapphirerapids", "emeraldrapids", "graniterapids", NULL},
                           *const pairs[] = {"cooperlake", "znver4", "znver5", NULL};
  if (has_attr(t, "-avx512bf16")) return KERNEL_BF16_NONE;
  if (has_attr(t, "+amx-bf16") || is_one_of(cpu, tiles))
    return has_attr(t, "-amx-bf16") ? KERNEL_BF16_PAIRS : KERNEL_BF16_TILES;
  return has_attr(t, "+avx512bf16") || is_one_of(cpu, pairs) ? KERNEL_BF16_PAIRS : KERNEL_BF16_NONE;
}

/* The same for bytes. */
static kernel_bytes bytes_of(const tn_target *t, const char *cpu) {
  static const char *const tiles[] = {"sapphirerapids", "emeraldrapids", "graniterapids", NULL},
                           *const dots[] = {
                               "cascadelake", "cooperlake",   "icelake",    "tigerlake",
                               "rocketlake",  "znver4",       "znver5",     "alderlake",
                               "raptorlake",  "meteorlake",   "arrowlake",  "lunarlake",
                               "pantherlake", "sierraforest", "grandridge", "clearwaterforest",
                               NULL};
  bool less = has_attr(t, "-avx512vnni");
  if (has_attr(t, "+amx-int8") || is_one_of(cpu, tiles)) {
    if (!less && !has_attr(t, "-amx-int8")) return KERNEL_BYTES_TILES;
    return less ? KERNEL_BYTES_PAIRS : KERNEL_BYTES_DOTS;
  }
  bool more = has_attr(t, "+avx512vnni") || has_attr(t, "+avxvnni");
  return more || (is_one_of(cpu, dots) && !less) ? KERNEL_BYTES_DOTS : KERNEL_BYTES_PAIRS;
}

#if defined(__x86_64__)
enum { TILE_BF16 = 1u << 22, TILE = 1u << 24, TILE_INT8 = 1u << 25 }; /* headers name them apart */

/* Linux gives matrix registers to processes that ask for them. */
static bool has_tiles(unsigned kind) {
  enum { ASK_FOR_STATE = 0x1023, TILE_DATA = 18 };
  const unsigned both = kind | TILE;
  unsigned a, b, c, d;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || (d & both) != both) return false;
  return syscall(SYS_arch_prctl, ASK_FOR_STATE, TILE_DATA) == 0;
}

static kernel_bf16 bf16_here(void) {
  if (!__builtin_cpu_supports("avx512bf16")) return KERNEL_BF16_NONE;
  return has_tiles(TILE_BF16) ? KERNEL_BF16_TILES : KERNEL_BF16_PAIRS;
}

static kernel_bytes bytes_here(void) {
  enum { AVX_VNNI = 1 << 4 }; /* compilers do not all know its name */
  unsigned a = 0, b, c, d;
  bool wide = __builtin_cpu_supports("avx512vnni");
  if (!wide && (!__get_cpuid_count(7, 1, &a, &b, &c, &d) || !(a & AVX_VNNI)))
    return KERNEL_BYTES_PAIRS;
  return wide && has_tiles(TILE_INT8) ? KERNEL_BYTES_TILES : KERNEL_BYTES_DOTS;
}

static void vectors_here(kernel_machine *m) {
  bool wide = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl");
  m->vector_bytes = wide ? 64 : __builtin_cpu_supports("avx2") ? 32 : 16;
  m->vector_registers = wide ? 32 : 16;
}
#else
static kernel_bf16 bf16_here(void) { return KERNEL_BF16_NONE; }
static kernel_bytes bytes_here(void) { return KERNEL_BYTES_PAIRS; }

static void vectors_here(kernel_machine *m) {
  m->vector_bytes = 16;
  m->vector_registers = 32;
}
#endif

static int64_t cache_size(int name, int64_t absent) {
  long n = sysconf(name);
  return n > 0 ? n : absent;
}

static void this_processor(kernel_machine *m) {
  vectors_here(m);
  m->l1 = cache_size(_SC_LEVEL1_DCACHE_SIZE, 32 << 10);
  m->l2 = cache_size(_SC_LEVEL2_CACHE_SIZE, 512 << 10);
}

kernel_machine driver_machine(const tn_target *t) {
  kernel_machine m = {.threads = tn_num_threads()};
  if (target_device_type(t) != kDLCPU) {
    int64_t most = target_int(t, "max_num_threads", BLOCK_THREADS);
    m.block_threads = most > 0 && most < BLOCK_THREADS ? (int)most : BLOCK_THREADS;
  }
  const char *cpu = target_str(t, "mcpu", "");
  bool native = !*cpu || strcmp(cpu, "native") == 0;
  bool here = native && !*target_str(t, "mtriple", "");
  if (here) this_processor(&m);
  else driver_named_processor(&m, cpu, target_str(t, "mtriple", ""));
  /* a list of features says all there are */
  m.bf16 = here && !target_list(t, "mattr") ? bf16_here() : bf16_of(t, cpu);
  m.bytes = here && !target_list(t, "mattr") ? bytes_here() : bytes_of(t, cpu);
  if (has_attr(t, "+avx512f")) m.vector_bytes = 64, m.vector_registers = 32;
  else if (has_attr(t, "+avx2") && m.vector_bytes < 32) m.vector_bytes = 32;
  m.dots = strcmp(tn_cstr(t->kind->name), "llvm") == 0;
  if (m.dots) return m;
  m.bf16 = KERNEL_BF16_NONE;
  m.bytes = KERNEL_BYTES_PAIRS;
  m.threads = 1; /* code of other kinds has no threads */
  here = strcmp(tn_cstr(t->kind->name), "c") == 0 && strcmp(cpu, "native") == 0;
  if (here) return m;
  m.vector_bytes = 0; /* its compiler finds the vectors */
  /* boards have names; their compilers make small code, and find none */
  m.rows = strcmp(tn_cstr(t->kind->name), "c") == 0 && !*cpu && !*target_str(t, "model", "");
  return m;
}

static bool current_machine(kernel_machine *out) {
  const tn_target *t = target_current();
  if (!t || target_device_type(t) != kDLCPU) return false;
  *out = driver_machine(t);
  return true;
}

int driver_machine_init(void) {
  kernels_set_machine_source(current_machine);
  return 0;
}
