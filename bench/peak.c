/* What one core can do at most: float32 multiply-adds a second, from registers alone.

     build/dev/bench/peak [seconds]

   Prints one JSON object: GFLOP/s by kind of vector, and the best of them as "peak". The fastest
   of many short pieces counts, so that other work on the machine disturbs little. */
#include <stdio.h>

#include "timing.h"

/* Multiply-adds that do not wait for each other: more than latency times units of any processor
   here. Written in assembly, which a compiler can neither leave out nor put into memory. */
#define TWELVE(F) F(0) F(1) F(2) F(3) F(4) F(5) F(6) F(7) F(8) F(9) F(10) F(11)

typedef struct {
  const char *name;
  int (*supported)(void);
  void (*run)(long n);
  double flops; /* of one round */
} kernel;

#if defined(__x86_64__)

#define ZMM(i)      "vfmadd231ps %%zmm30,%%zmm31,%%zmm" #i "\n\t"
#define YMM(i)      "vfmadd231ps %%ymm14,%%ymm15,%%ymm" #i "\n\t"
#define ZERO_ZMM(i) "vpxorq %%zmm" #i ",%%zmm" #i ",%%zmm" #i "\n\t"
#define ZERO_YMM(i) "vpxor %%ymm" #i ",%%ymm" #i ",%%ymm" #i "\n\t"
#define USED(i)     "xmm" #i,

__attribute__((target("avx512f"))) static void run_avx512(long n) {
  __asm__ volatile(TWELVE(ZERO_ZMM) ZERO_ZMM(30)
                       ZERO_ZMM(31) ".p2align 5\n"
                                    "1:\n\t" TWELVE(ZMM) "dec %0\n\t"
                                                         "jnz 1b\n\tvzeroupper"
                   : "+r"(n)
                   :
                   : TWELVE(USED) "xmm30", "xmm31", "cc");
}
__attribute__((target("avx2"))) static void run_avx2(long n) {
  __asm__ volatile(TWELVE(ZERO_YMM) ZERO_YMM(14)
                       ZERO_YMM(15) ".p2align 5\n"
                                    "1:\n\t" TWELVE(YMM) "dec %0\n\t"
                                                         "jnz 1b\n\tvzeroupper"
                   : "+r"(n)
                   :
                   : TWELVE(USED) "xmm14", "xmm15", "cc");
}
static int has_avx512(void) { return __builtin_cpu_supports("avx512f") != 0; }
static int has_avx2(void) {
  return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
}
static const kernel kernels[] = {{"avx512", has_avx512, run_avx512, 12 * 16 * 2},
                                 {"avx2", has_avx2, run_avx2, 12 * 8 * 2}};

#elif defined(__aarch64__)

#define FMLA(i)   "fmla v" #i ".4s, v30.4s, v31.4s\n\t"
#define ZERO_V(i) "movi v" #i ".4s, #0\n\t"
#define USED(i)   "v" #i,

static void run_neon(long n) {
  __asm__ volatile(TWELVE(ZERO_V) ZERO_V(30) ZERO_V(31) "1:\n\t" TWELVE(FMLA) "subs %0, %0, #1\n\t"
                                                                              "b.ne 1b"
                   : "+r"(n)
                   :
                   : TWELVE(USED) "v30", "v31", "cc");
}
static int always(void) { return 1; }
static const kernel kernels[] = {{"neon", always, run_neon, 12 * 4 * 2}};

#else

static const kernel kernels[] = {{NULL, NULL, NULL, 0}};

#endif

static double best_rate(const kernel *k, double seconds) {
  const long n = 200000;
  double best = 0, end = bench_now_ns() + seconds * 1e9, start;
  while ((start = bench_now_ns()) < end) {
    k->run(n);
    double rate = k->flops * (double)n / (bench_now_ns() - start);
    if (rate > best) best = rate;
  }
  return best;
}

int main(int argc, char **argv) {
  double seconds = argc > 1 ? atof(argv[1]) : 0.5, peak = 0;
  printf("{");
  for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; ++i) {
    if (!kernels[i].supported || !kernels[i].supported()) continue;
    double rate = best_rate(&kernels[i], seconds);
    if (rate > peak) peak = rate;
    printf("\"%s\": %.1f, ", kernels[i].name, rate);
  }
  printf("\"peak\": %.1f}\n", peak);
  return 0;
}
