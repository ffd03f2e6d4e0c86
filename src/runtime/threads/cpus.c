#include "runtime/threads/cpus.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"

/* ---- affinity ---- */

enum { MAX_CPUS = 8192, WORD = 8 * sizeof(unsigned long) };

typedef union {
  cpu_set_t set;                        /* 1024 processors; the kernel may know of more */
  unsigned long words[MAX_CPUS / WORD]; /* its layout in the kernel */
} cpu_mask;

/* The mask of the calling thread. */
static int get_mask(cpu_mask *mask) {
  memset(mask, 0, sizeof *mask);
  return sched_getaffinity(0, sizeof *mask, &mask->set);
}

static bool has(const cpu_mask *mask, long cpu) {
  return mask->words[cpu / WORD] >> cpu % WORD & 1;
}
static void add(cpu_mask *mask, long cpu) { mask->words[cpu / WORD] |= 1UL << cpu % WORD; }

int tn_cpu_count(void) {
  cpu_mask mask;
  int n = 0;
  if (get_mask(&mask)) n = (int)sysconf(_SC_NPROCESSORS_ONLN);
  else
    for (int i = 0; i < MAX_CPUS / WORD; ++i) n += __builtin_popcountl(mask.words[i]);
  return n > 0 ? n : 1;
}

/* The number that opens a file, or -1. */
static long first_number(const char *path) {
  long value = -1;
  FILE *f = fopen(path, "re");
  if (!f) return -1;
  if (fscanf(f, "%ld", &value) != 1) value = -1;
  fclose(f);
  return value;
}

/* First hardware thread of the core of `cpu` (lists look like "0,4" or "0-1"), or -1. */
static long first_sibling(int cpu) {
  char path[96];
  snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu);
  return first_number(path);
}

int tn_core_count(void) {
  cpu_mask mask, cores;
  int n = 0;
  if (get_mask(&mask)) return tn_cpu_count();
  memset(&cores, 0, sizeof cores);
  for (int cpu = 0; cpu < MAX_CPUS; ++cpu) {
    if (!has(&mask, cpu)) continue;
    long core = first_sibling(cpu);
    if (core < 0 || core >= MAX_CPUS) core = cpu;
    n += !has(&cores, core);
    add(&cores, core);
  }
  return n > 0 ? n : 1;
}

/* ---- cgroup quota ---- */

static double smaller(double a, double b) { return a > 0 && (b <= 0 || a < b) ? a : b; }

/* "max 100000" or "150000 100000" in cpu.max */
static double quota_v2(const char *folder) {
  char path[768], quota[32];
  double period, cpus = 0;
  snprintf(path, sizeof path, "%.700s/cpu.max", folder);
  FILE *f = fopen(path, "re");
  if (!f) return 0;
  if (fscanf(f, "%31s %lf", quota, &period) == 2 && strcmp(quota, "max") != 0 && period > 0)
    cpus = (double)atol(quota) / period;
  fclose(f);
  return cpus;
}

static double quota_v1(const char *folder) {
  char path[768];
  snprintf(path, sizeof path, "%.700s/cpu.cfs_quota_us", folder);
  long quota = first_number(path);
  snprintf(path, sizeof path, "%.700s/cpu.cfs_period_us", folder);
  long period = first_number(path);
  return quota > 0 && period > 0 ? (double)quota / (double)period : 0;
}

/* The least quota of the group `path` below `mount` and of those around it. Inside a container the
   path may name folders of the host that are not there; the mount itself is then the group. */
static double quota_upwards(const char *mount, const char *path, double (*quota)(const char *)) {
  char folder[704];
  double least = 0;
  size_t base = strlen(mount);
  int n = snprintf(folder, sizeof folder, "%s%s", mount, path);
  if (n < 0 || (size_t)n >= sizeof folder) return quota(mount);
  for (char *slash;;) {
    least = smaller(quota(folder), least);
    slash = strrchr(folder, '/');
    if (!slash || (size_t)(slash - folder) < base) return least;
    *slash = '\0';
  }
}

/* Is `name` an item of the comma-separated `list`? */
static bool has_item(const char *list, const char *name) {
  size_t n = strlen(name);
  for (const char *p = list; p; p = strchr(p, ',')) {
    if (*p == ',') ++p;
    if (strncmp(p, name, n) == 0 && (p[n] == ',' || p[n] == '\0')) return true;
  }
  return false;
}

/* One line of /proc/self/cgroup: "0::/path" (version 2) or "4:cpu,cpuacct:/path". */
static double quota_of_line(const char *root, char *line) {
  char mount[256];
  double least = 0;
  char *controllers = strchr(line, ':'), *path = controllers ? strchr(controllers + 1, ':') : NULL;
  if (!path) return 0;
  *controllers++ = *path++ = '\0';
  path[strcspn(path, "\n")] = '\0';
  if (strcmp(path, "/") == 0) *path = '\0';
  if (!*controllers) {
    snprintf(mount, sizeof mount, "%.200s/sys/fs/cgroup", root);
    least = quota_upwards(mount, path, quota_v2);
    snprintf(mount, sizeof mount, "%.200s/sys/fs/cgroup/unified", root);
    return smaller(quota_upwards(mount, path, quota_v2), least);
  }
  if (!has_item(controllers, "cpu")) return 0;
  snprintf(mount, sizeof mount, "%.200s/sys/fs/cgroup/cpu", root);
  return quota_upwards(mount, path, quota_v1);
}

double tn_cpu_quota(const char *root) {
  char path[256], line[640];
  double least = 0;
  snprintf(path, sizeof path, "%.200s/proc/self/cgroup", root);
  FILE *f = fopen(path, "re");
  if (!f) return 0;
  while (fgets(line, sizeof line, f)) least = smaller(quota_of_line(root, line), least);
  fclose(f);
  return least;
}

/* ---- the choice ---- */

/* The positive number an environment variable starts with, or 0. */
static int from_env(const char *name) {
  const char *text = secure_getenv(name);
  char *end;
  if (!text) return 0;
  long n = strtol(text, &end, 10);
  if (end == text || (*end && *end != ',' && *end != ' ') || n < 1) {
    if (*text) TN_LOG(WARNING, "%s: expected a number of threads, got \"%s\"", name, text);
    return 0;
  }
  return n < 100000 ? (int)n : 100000;
}

int tn_default_threads(void) {
  static const char *const names[] = {"TENON_NUM_THREADS", "TVM_NUM_THREADS", "OMP_NUM_THREADS"};
  for (int i = 0; i < 3; ++i) {
    int n = from_env(names[i]);
    if (n) return n;
  }
  int n = tn_core_count();
  double quota = tn_cpu_quota("");
  if (quota > 0 && quota < n) n = (int)quota;
  return n > 0 ? n : 1;
}
