/* Compiling CUDA source with NVRTC, NVIDIA's compiler as a library. It is searched where the loader
   looks, in CUDA_HOME, and beside this library. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "runtime/cuda/cuda_impl.h"

static nvrtc_functions rtc;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- finding the library ---- */

static void *open_in(const char *folder) {
  static const char *const names[] = {"libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12",
                                      "libnvrtc.so.11.2"};
  char path[1024];
  void *handle = NULL;
  for (int i = 0; !handle && i < TN_COUNT(names); ++i) {
    int n = snprintf(path, sizeof path, "%s%s%s", folder, *folder ? "/" : "", names[i]);
    if (n > 0 && (size_t)n < sizeof path) handle = dlopen(path, RTLD_NOW);
  }
  return handle;
}

static void *open_library(void) {
  char folder[768];
  const char *home = secure_getenv("CUDA_HOME");
  void *handle = open_in("");
  for (int i = 0; home && !handle && i < 2; ++i) {
    int n = snprintf(folder, sizeof folder, "%s/%s", home, i ? "lib" : "lib64");
    if (n > 0 && (size_t)n < sizeof folder) handle = open_in(folder);
  }
  if (!handle) handle = open_in("/usr/local/cuda/lib64");
  return handle;
}

static int find_functions(void) {
  void *handle = open_library();
  TN_CHECK(handle, DeviceError, NULL,
           "NVRTC, which compiles CUDA source, is not found: install it (the package "
           "nvidia-cuda-nvrtc, or the CUDA toolkit) where the loader finds libnvrtc.so, or set "
           "CUDA_HOME");
#define RTC_FIND(name, symbol, params)                                                             \
  rtc.name = (int(*) params)dlsym(handle, symbol);                                                 \
  TN_CHECK(rtc.name, DeviceError, NULL, "libnvrtc has no %s", symbol);
  NVRTC_FUNCTIONS(RTC_FIND)
#undef RTC_FIND
  return 0;
}

/* A later call may find what was installed, or named in CUDA_HOME, meanwhile. */
static int need_library(void) {
  static bool found;
  pthread_mutex_lock(&lock);
  int err = found ? 0 : find_functions();
  found = !err;
  pthread_mutex_unlock(&lock);
  return err;
}

/* ---- compiling ---- */

static int failed(nvrtc_program p, int code) {
  char log[4096] = "";
  size_t n = 0;
  if (rtc.GetProgramLogSize(p, &n) == 0 && n > 1) {
    char *all = tn_alloc(n + 1);
    if (all && rtc.GetProgramLog(p, all) == 0) {
      all[n] = '\0';
      strncpy(log, all, sizeof log - 1);
    }
    tn_free(all);
  }
  return TN_RAISE(DeviceError, NULL, "NVRTC error %d: the source does not compile:\n%s", code, log);
}

static int take_ptx(nvrtc_program p, tn_bytes **out) {
  size_t n = 0;
  TN_CHECK(rtc.GetPTXSize(p, &n) == 0 && n > 0, DeviceError, NULL, "NVRTC gives no PTX");
  char *text = tn_alloc(n);
  if (!text) return -1;
  int code = rtc.GetPTX(p, text);
  *out = code ? NULL : tn_bytes_new(text, n); /* the NUL is part of it */
  tn_free(text);
  TN_CHECK(code == 0, DeviceError, NULL, "NVRTC error %d: no PTX", code);
  return *out ? 0 : -1;
}

static int compile(nvrtc_program p, int arch, tn_bytes **out) {
  char option[64];
  snprintf(option, sizeof option, "--gpu-architecture=compute_%d", arch);
  const char *const options[] = {option, "--std=c++17"};
  int code = rtc.CompileProgram(p, TN_COUNT(options), options);
  return code ? failed(p, code) : take_ptx(p, out);
}

int cuda_compile(const char *source, size_t n, int arch, tn_bytes **out) {
  nvrtc_program p = NULL;
  TN_TRY(need_library());
  char *text = tn_alloc(n + 1);
  if (!text) return -1;
  memcpy(text, source, n);
  text[n] = '\0';
  int code = rtc.CreateProgram(&p, text, "kernels.cu", 0, NULL, NULL);
  tn_free(text);
  TN_CHECK(code == 0, DeviceError, NULL, "NVRTC error %d: no program", code);
  int err = compile(p, arch, out);
  rtc.DestroyProgram(&p);
  return err;
}

/* runtime.cuda.nvrtc_compile(source, architecture such as 80) -> bytes */
static int f_compile(TN_ARGS) {
  tn_bytes_view source;
  int64_t arch;
  tn_bytes *ptx = NULL;
  TN_NARGS("runtime.cuda.nvrtc_compile", 2);
  TN_TRY(tn_any_to_bytes(&args[0], &source));
  TN_TRY(tn_any_to_int(&args[1], &arch));
  TN_TRY(cuda_compile((const char *)source.data, source.size, (int)arch, &ptx));
  return tn_ret_owned(ret, ptx);
}

static const tn_func_row rows[] = {{"runtime.cuda.nvrtc_compile", f_compile}};

int cuda_compile_init(void) { return tn_func_register_rows(rows, TN_COUNT(rows)); }
