/* Plug-ins that serve devices: libraries beside this one, opened when a device of their type is
   first asked for, once. */
#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

#include "runtime/device/device.h"

typedef struct {
  int device_type;
  const char *library, *init;
  bool tried;
  char problem[256]; /* why it does not serve the device */
} plugin;

static plugin plugins[] = {
    {.device_type = kDLOpenCL, .library = "libtenon_opencl.so", .init = "tn_opencl_init"},
    {.device_type = kDLCUDA, .library = "libtenon_cuda.so", .init = "tn_cuda_init"},
};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Opened for good: its code stays. */
static int open_library(const plugin *p) {
  Dl_info self;
  TN_CHECK(dladdr((const void *)(uintptr_t)tn_runtime_init, &self) && self.dli_fname, DeviceError,
           NULL, "the folder of the runtime library is not known");
  const char *slash = strrchr(self.dli_fname, '/');
  TN_BUF(path);
  tn_buf_printf(&path, "%.*s%s", slash ? (int)(slash - self.dli_fname + 1) : 0, self.dli_fname,
                p->library);
  const char *name = tn_buf_cstr(&path);
  void *handle = name ? dlopen(name, RTLD_NOW | RTLD_LOCAL) : NULL;
  TN_CHECK(handle, DeviceError, NULL, "%s cannot be opened: %s", p->library, dlerror());
  int (*init)(void) = (int (*)(void))dlsym(handle, p->init);
  TN_CHECK(init, DeviceError, NULL, "%s is not a plug-in of this library", p->library);
  return init();
}

static plugin *find(int device_type) {
  for (int i = 0; i < TN_COUNT(plugins); ++i)
    if (plugins[i].device_type == device_type) return &plugins[i];
  return NULL;
}

const char *tn_device_plugin_open(int device_type) {
  plugin *p = find(device_type);
  if (!p) return NULL;
  pthread_mutex_lock(&lock);
  if (!p->tried) {
    tn_error before = {0};
    bool pending = tn_error_pending();
    if (pending) tn_error_take(&before);
    if (open_library(p)) {
      strncpy(p->problem, tn_error_message(), sizeof p->problem - 1);
      tn_error_clear();
    }
    if (pending) tn_error_restore(&before);
    p->tried = true;
  }
  pthread_mutex_unlock(&lock);
  return p->problem;
}
