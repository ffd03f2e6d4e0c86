/* Names of processors that the code generator knows, as LLVM 19 has them, for the architectures
   where an unknown one ends the process instead of giving an error. */
#include <string.h>

#include "base/text.h"
#include "target/llvm/cg.h"

static const char *const x86_64[] = {
    "alderlake",
    "amdfam10",
    "arrowlake",
    "arrowlake-s",
    "arrowlake_s",
    "athlon-fx",
    "athlon64",
    "athlon64-sse3",
    "atom",
    "atom_sse4_2",
    "atom_sse4_2_movbe",
    "barcelona",
    "bdver1",
    "bdver2",
    "bdver3",
    "bdver4",
    "bonnell",
    "broadwell",
    "btver1",
    "btver2",
    "cannonlake",
    "cascadelake",
    "clearwaterforest",
    "cooperlake",
    "core-avx-i",
    "core-avx2",
    "core2",
    "core_2_duo_sse4_1",
    "core_2_duo_ssse3",
    "core_2nd_gen_avx",
    "core_3rd_gen_avx",
    "core_4th_gen_avx",
    "core_4th_gen_avx_tsx",
    "core_5th_gen_avx",
    "core_5th_gen_avx_tsx",
    "core_aes_pclmulqdq",
    "core_i7_sse4_2",
    "corei7",
    "corei7-avx",
    "emeraldrapids",
    "generic",
    "goldmont",
    "goldmont-",
    "plus",
    "goldmont_plus",
    "gracemont",
    "grandridge",
    "graniterapids",
    "graniterapids",
    "-",
    "d",
    "graniterapids_d",
    "haswell",
    "icelake-client",
    "icelake-server",
    "icelake_client",
    "icelake_server",
    "ivybridge",
    "k8",
    "k8-sse3",
    "knl",
    "knm",
    "lunarlake",
    "meteorlake",
    "mic_avx512",
    "nehalem",
    "nocona",
    "opteron",
    "opteron-sse3",
    "pantherlake",
    "penryn",
    "raptorlake",
    "rocketlake",
    "sandybridge",
    "sapphirerapids",
    "sierraforest",
    "silvermont",
    "skx",
    "skylake",
    "skylake-avx512",
    "skylake_avx512",
    "slm",
    "tigerlake",
    "tremont",
    "westmere",
    "x86-64",
    "x86-64-v2",
    "x86-64-v3",
    "x86-64-v4",
    "znver1",
    "znver2",
    "znver3",
    "znver4",
    "znver5",
};
static const char *const riscv64[] = {
    "generic",      "generic-rv64",        "rocket-rv64", "sifive-p450",
    "sifive-p670",  "sifive-s21",          "sifive-s51",  "sifive-s54",
    "sifive-s76",   "sifive-u54",          "sifive-u74",  "sifive-x280",
    "spacemit-x60", "syntacore-scr3-rv64", "veyron-v1",   "xiangshan-nanhu",
};

static const struct {
  const char *triple; /* how triples of the architecture begin */
  const char *const *names;
  int n;
} architectures[] = {{"x86_64", x86_64, TN_COUNT(x86_64)}, {"riscv64", riscv64, TN_COUNT(riscv64)}};

static int check(const char *const *names, int n, const char *triple, const char *cpu) {
  tn_near near = {.name = cpu};
  for (int i = 0; i < n; ++i) {
    if (strcmp(names[i], cpu) == 0) return 0;
    tn_near_offer(&near, names[i]);
  }
  return TN_RAISE(ValueError, NULL,
                  "-mcpu=%s: no such processor for %s%s; -mcpu=native is that of this machine", cpu,
                  triple, tn_near_text(&near));
}

int cg_check_processor(const char *triple, const char *cpu) {
  for (int i = 0; i < TN_COUNT(architectures); ++i)
    if (strncmp(triple, architectures[i].triple, strlen(architectures[i].triple)) == 0)
      return check(architectures[i].names, architectures[i].n, triple, cpu);
  return 0;
}
