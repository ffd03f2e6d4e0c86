/* The machine of a target (see machine.h): by the rows of cpus.def and the target's features, or by
   what this processor says. */
#include "target/machine_cost.h"

#include <string.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#endif

#include "object/containers.h"
#include "object/functions.h"
#include "target/target_impl.h"
#include "tenon/runtime.h"

enum { BLOCK_THREADS = 64 };

/* ---- by name ---- */

enum { /* one bit each */
#define CPU_FEATURE(id, name, implied) CPU_ORDER_##id,
#include "target/cpus.def"
#undef CPU_FEATURE
};
enum { /* with what they imply */
#define CPU_FEATURE(id, name, implied) CPU_##id = 1 << CPU_ORDER_##id | (implied),
#include "target/cpus.def"
#undef CPU_FEATURE
};

static const struct {
  const char *name;
  int mask;
} features[] = {
#define CPU_FEATURE(id, name, implied) {name, 1 << CPU_ORDER_##id},
#include "target/cpus.def"
#undef CPU_FEATURE
};

typedef struct {
  const char *name;
  int vector_bytes, vector_registers, l1, l2, features; /* caches in KiB */
} cpu_row;

static const cpu_row cpus[] = {
#define CPU(name, bytes, registers, l1, l2, features) {name, bytes, registers, l1, l2, features},
#include "target/cpus.def"
#undef CPU
};

static bool begins(const char *text, const char *with) {
  return strncmp(text, with, strlen(with)) == 0;
}

/* The last row stands for all that are not named. */
static const cpu_row *row_of(const char *cpu) {
  const cpu_row *row = cpus;
  while (!begins(cpu, row->name)) ++row;
  return row;
}

bool target_cpu_has(const char *cpu, const char *feature) {
  for (int i = 0; i < TN_COUNT(features); ++i)
    if (strcmp(features[i].name, feature) == 0) return row_of(cpu)->features & features[i].mask;
  return false;
}

static void named_processor(target_machine *m, const char *cpu, const char *triple) {
  enum { KIB = 1024, MANY = 32, FEW = 16 };
  const cpu_row *row = row_of(cpu);
  m->vector_bytes = row->vector_bytes;
  m->vector_registers = row->vector_registers;
  if (begins(triple, "aarch64") || begins(triple, "arm64")) m->vector_registers = MANY;
  else if (begins(triple, "arm") || begins(triple, "thumb")) m->vector_registers = FEW;
  m->l1 = (int64_t)row->l1 * KIB;
  m->l2 = (int64_t)row->l2 * KIB;
}

/* ---- by the target's features ---- */

static bool has_attr(const tn_target *t, const char *feature) {
  const tn_arr *list = target_list(t, "mattr");
  for (int64_t i = 0; list && i < list->len; ++i) {
    const tn_str *s = (const tn_str *)tn_arr_obj(list, i);
    if (s && strcmp(tn_cstr(s), feature) == 0) return true;
  }
  return false;
}

/* Has it the feature, by the list of features or by its name? */
static bool has(const tn_target *t, const char *cpu, const char *feature) {
  char word[32] = "+";
  strncat(word, feature, sizeof word - 2);
  if (has_attr(t, word)) return true;
  word[0] = '-';
  return !has_attr(t, word) && target_cpu_has(cpu, feature);
}

/* What a processor that is not this one multiplies bfloat16 with. */
static machine_bf16 bf16_of(const tn_target *t, const char *cpu) {
  if (has_attr(t, "-avx512bf16")) return MACHINE_BF16_NONE;
  if (has(t, cpu, "amx-bf16")) return MACHINE_BF16_TILES;
  return has(t, cpu, "avx512bf16") ? MACHINE_BF16_PAIRS : MACHINE_BF16_NONE;
}

/* The same for int8. Without avx512vnni, when a target says so, no instruction for four products is
   used. */
static machine_int8 int8_of(const tn_target *t, const char *cpu) {
  if (has_attr(t, "-avx512vnni")) return MACHINE_INT8_PAIRS;
  if (has(t, cpu, "amx-int8")) return MACHINE_INT8_TILES;
  bool dots = has(t, cpu, "avx512vnni") || has(t, cpu, "avxvnni");
  return dots ? MACHINE_INT8_DOTS : MACHINE_INT8_PAIRS;
}

/* ---- this processor ---- */

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

static machine_bf16 bf16_here(void) {
  if (!__builtin_cpu_supports("avx512bf16")) return MACHINE_BF16_NONE;
  return has_tiles(TILE_BF16) ? MACHINE_BF16_TILES : MACHINE_BF16_PAIRS;
}

static machine_int8 int8_here(void) {
  enum { AVX_VNNI = 1 << 4 }; /* compilers do not all know its name */
  unsigned a = 0, b, c, d;
  bool wide = __builtin_cpu_supports("avx512vnni");
  if (!wide && (!__get_cpuid_count(7, 1, &a, &b, &c, &d) || !(a & AVX_VNNI)))
    return MACHINE_INT8_PAIRS;
  return wide && has_tiles(TILE_INT8) ? MACHINE_INT8_TILES : MACHINE_INT8_DOTS;
}

static void vectors_here(target_machine *m) {
  bool wide = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl");
  m->vector_bytes = wide ? 64 : __builtin_cpu_supports("avx2") ? 32 : 16;
  m->vector_registers = wide ? 32 : 16;
}
#else
static machine_bf16 bf16_here(void) { return MACHINE_BF16_NONE; }
static machine_int8 int8_here(void) { return MACHINE_INT8_PAIRS; }

static void vectors_here(target_machine *m) {
  m->vector_bytes = 16;
  m->vector_registers = 32;
}
#endif

static int64_t cache_size(int name, int64_t absent) {
  long n = sysconf(name);
  return n > 0 ? n : absent;
}

static void this_processor(target_machine *m) {
  vectors_here(m);
  m->l1 = cache_size(_SC_LEVEL1_DCACHE_SIZE, 32 << 10);
  m->l2 = cache_size(_SC_LEVEL2_CACHE_SIZE, 512 << 10);
}

target_machine target_machine_of(const tn_target *t) {
  target_machine m = {.threads = tn_num_threads()};
  if (target_device_type(t) != kDLCPU) {
    int64_t most = target_int(t, "max_num_threads", BLOCK_THREADS);
    m.block_threads = most > 0 && most < BLOCK_THREADS ? (int)most : BLOCK_THREADS;
  }
  const char *cpu = target_str(t, "mcpu", "");
  bool native = !*cpu || strcmp(cpu, "native") == 0;
  bool here = native && !*target_str(t, "mtriple", "");
  if (here) this_processor(&m);
  else named_processor(&m, cpu, target_str(t, "mtriple", ""));
  m.rates = machine_rates_named(here ? "" : cpu);
  /* a list of features says all there are */
  m.bf16 = here && !target_list(t, "mattr") ? bf16_here() : bf16_of(t, cpu);
  m.int8 = here && !target_list(t, "mattr") ? int8_here() : int8_of(t, cpu);
  if (has_attr(t, "+avx512f")) m.vector_bytes = 64, m.vector_registers = 32;
  else if (has_attr(t, "+avx2") && m.vector_bytes < 32) m.vector_bytes = 32;
  m.dots = target_makes(t, TARGET_MACHINE_CODE);
  if (m.dots) return m;
  m.bf16 = MACHINE_BF16_NONE;
  m.int8 = MACHINE_INT8_PAIRS;
  m.threads = 1; /* code of other kinds has no threads */
  bool source = target_makes(t, TARGET_C_SOURCE);
  here = source && strcmp(cpu, "native") == 0;
  if (here) return m;
  m.vector_bytes = 0; /* its compiler finds the vectors */
  /* boards have names; their compilers make small code, and find none */
  m.rows = source && !*cpu && !*target_str(t, "model", "");
  return m;
}

bool target_machine_current(target_machine *out) {
  const tn_target *t = target_current();
  if (!t || target_device_type(t) != kDLCPU) return false;
  *out = target_machine_of(t);
  return true;
}

/* ---- functions ---- */

static int f_cpu_has(TN_ARGS) {
  const char *cpu, *feature;
  TN_NARGS("target.cpu_has", 2);
  TN_TRY(tn_any_to_cstr(&args[0], &cpu));
  TN_TRY(tn_any_to_cstr(&args[1], &feature));
  *ret = tn_any_bool(target_cpu_has(cpu, feature));
  return 0;
}

static int f_cpu_rows(TN_ARGS) {
  (void)args, (void)n;
  TN_VEC(names);
  for (int i = 0; i < TN_COUNT(cpus); ++i)
    TN_TRY(tn_vec_push_obj(&names, tn_str_from(cpus[i].name)));
  return tn_ret_obj(ret, tn_arr_from(&names));
}

static int f_cpu_features(TN_ARGS) {
  (void)args, (void)n;
  TN_VEC(names);
  for (int i = 0; i < TN_COUNT(features); ++i)
    TN_TRY(tn_vec_push_obj(&names, tn_str_from(features[i].name)));
  return tn_ret_obj(ret, tn_arr_from(&names));
}

static const tn_func_row rows[] = {
    {"target.cpu_has", f_cpu_has},
    {"target.cpu_rows", f_cpu_rows},
    {"target.cpu_features", f_cpu_features},
};

int target_machine_init(void) { return tn_func_register_rows(rows, TN_COUNT(rows)); }
