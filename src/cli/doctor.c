/* tenon doctor: what this installation can do on this machine, and what is missing for the rest. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/scope.h"
#include "cli/cli.h"
#include "cache/kernel_store.h"
#include "object/containers.h"

const cli_option cli_doctor_options[] = {
    {"json", 0, NULL, "as JSON", NULL},
    {0},
};

typedef struct {
  tn_buf *out;
  bool json, first;
} report;

static void row(report *r, const char *key, const char *value) {
  if (!r->json) {
    tn_buf_printf(r->out, "%-20s %s\n", key, value);
    return;
  }
  tn_buf_puts(r->out, r->first ? "{\n  " : ",\n  ");
  r->first = false;
  tn_buf_quote(r->out, key, strlen(key));
  tn_buf_puts(r->out, ": ");
  tn_buf_quote(r->out, value, strlen(value));
}

static void row_number(report *r, const char *key, int64_t value, const char *unit) {
  char text[64];
  if (!r->json) {
    snprintf(text, sizeof text, "%lld%s%s", (long long)value, *unit ? " " : "", unit);
    row(r, key, text);
    return;
  }
  tn_buf_puts(r->out, r->first ? "{\n  " : ",\n  ");
  r->first = false;
  tn_buf_quote(r->out, key, strlen(key));
  tn_buf_printf(r->out, ": %lld", (long long)value);
}

/* ---- the processor ---- */

static void model_name(char *out, size_t n) {
  snprintf(out, n, "unknown");
  FILE *f = fopen("/proc/cpuinfo", "r");
  char line[256];
  while (f && fgets(line, sizeof line, f)) {
    char *colon = strchr(line, ':');
    if (!colon || (strncmp(line, "model name", 10) != 0 && strncmp(line, "Hardware", 8) != 0))
      continue;
    line[strcspn(line, "\n")] = '\0';
    snprintf(out, n, "%s", colon + 2);
    break;
  }
  if (f) fclose(f);
}

#if defined(__x86_64__)
#define FEATURE(name)                                                                              \
  if (__builtin_cpu_supports(name)) tn_buf_puts(b, " " name)
static void features(tn_buf *b) {
  FEATURE("sse4.2");
  FEATURE("avx");
  FEATURE("avx2");
  FEATURE("fma");
  FEATURE("avx512f");
  FEATURE("avx512bw");
  FEATURE("avx512vl");
  FEATURE("avx512vnni");
  FEATURE("avx512bf16");
}
#undef FEATURE
#else
static void features(tn_buf *b) { (void)b; }
#endif

static int processor(report *r) {
  char name[200];
  TN_BUF(b);
  model_name(name, sizeof name);
  row(r, "processor", name);
  features(&b);
  TN_TRY(tn_buf_ok(&b));
  row(r, "features", b.len ? tn_buf_cstr(&b) + 1 : "none known");
  row_number(r, "cores", sysconf(_SC_NPROCESSORS_ONLN), "");
  row_number(r, "threads used", tn_num_threads(), "(TVM_NUM_THREADS changes it)");
  row_number(r, "L1 data cache", sysconf(_SC_LEVEL1_DCACHE_SIZE), "bytes");
  row_number(r, "L2 cache", sysconf(_SC_LEVEL2_CACHE_SIZE), "bytes");
  return 0;
}

/* ---- the library ---- */

/* A global function without arguments that gives text or a number; `absent` when it is missing or
 * fails. */
static void ask(const char *name, const char *absent, char *out, size_t n) {
  snprintf(out, n, "%s", absent);
  tn_func *f = tn_func_find(name);
  tn_any ret = tn_any_none();
  const char *text;
  int64_t number;
  if (f && tn_func_call(f, NULL, 0, &ret) == 0) {
    if (tn_any_to_cstr(&ret, &text) == 0) snprintf(out, n, "%s", text);
    else {
      tn_error_clear();
      if (tn_any_to_int(&ret, &number) == 0) snprintf(out, n, "%lld", (long long)number);
    }
    tn_any_release(&ret);
  }
  tn_error_clear();
  tn_release(f);
}

static bool can_call(const char *name) {
  tn_func *f = tn_func_find(name);
  tn_release(f);
  return f != NULL;
}

static const struct {
  const char *what, *function, *missing;
} parts[] = {
    {"target llvm", "target.build.llvm",
     "no: libtenon_llvm or the LLVM library (libllvm19) is missing"},
    {"target c", "target.build.c", "no"},
    {"target stackvm", "target.build.stackvm", "no"},
    {"target opencl", "target.build.opencl", "no: not part of this build"},
    {"target cuda", "target.build.cuda", "no: not part of this build"},
    {"graph executor", "tvm.graph_executor.create", "no: not part of this build"},
    {"Relay VM", "runtime._VirtualMachine", "no: not part of this build"},
    {"RPC", "rpc.Connect", "no: not part of this build"},
};

static const char *find_program(const char *const *names) {
  static char found[300];
  const char *path = secure_getenv("PATH");
  for (; *names; ++names) {
    for (const char *p = path ? path : ""; *p;) {
      size_t n = strcspn(p, ":");
      snprintf(found, sizeof found, "%.*s/%s", (int)n, p, *names);
      if (access(found, X_OK) == 0) return found;
      p += n;
      p += *p == ':';
    }
  }
  return NULL;
}

static void library(report *r) {
  char llvm[64];
  row(r, "tenon", TN_VERSION);
  ask("target.llvm_version_major", "none", llvm, sizeof llvm); /* opens the plug-in */
  row(r, "LLVM", llvm);
  for (int i = 0; i < (int)(sizeof parts / sizeof *parts); ++i)
    row(r, parts[i].what, can_call(parts[i].function) ? "yes" : parts[i].missing);
  const char *cc = find_program((const char *const[]){"cc", "gcc", "clang", NULL});
  row(r, "C compiler", cc ? cc : "none: exporting C sources needs one (apt-get install gcc)");
}

static void cache(report *r) {
  kernel_store_info i;
  char text[1400];
  kernel_store_tell(&i, true);
  if (*i.reason) snprintf(text, sizeof text, "none: %s", i.reason);
  else
    snprintf(text, sizeof text, "%s, %.1f of %.0f MiB (tenon cache --clear empties it)", i.folder,
             (double)i.bytes / (1 << 20), (double)i.limit / (1 << 20));
  row(r, "kernel cache", text);
}

int cli_doctor(const cli_args *a) {
  TN_BUF(out);
  report r = {&out, cli_has(a, "json"), true};
  library(&r);
  TN_TRY(processor(&r));
  cache(&r);
  if (r.json) tn_buf_puts(&out, "\n}\n");
  TN_TRY(tn_buf_ok(&out));
  fputs(tn_buf_cstr(&out), stdout);
  return 0;
}
