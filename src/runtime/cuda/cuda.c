/* The plug-in for CUDA: the driver's devices and their memory. Each device has its primary context,
   which other libraries of the process share. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "runtime/cuda/cuda_impl.h"

typedef struct {
  cu_device id;
  cu_context context; /* NULL until the device is first used */
} device;

cu_functions cu;
static device devices[TN_MAX_DEVICES];
static int count;

int cuda_check(int code, const char *what) {
  const char *name = NULL;
  if (code == CU_OK) return 0;
  if (!cu.GetErrorName || cu.GetErrorName(code, &name) != CU_OK) name = NULL;
  return TN_RAISE(DeviceError, NULL, "%s: CUDA error %d (%s)", what, code, name ? name : "unknown");
}

int cuda_enter(int device_id) {
  TN_CHECK(device_id >= 0 && device_id < count, DeviceError, NULL,
           "cuda(%d): unknown device, there are %d", device_id, count);
  device *d = &devices[device_id];
  cu_context c = __atomic_load_n(&d->context, __ATOMIC_ACQUIRE);
  if (!c) {
    TN_TRY(cuda_check(cu.PrimaryCtxRetain(&c, d->id), "context"));
    __atomic_store_n(&d->context, c, __ATOMIC_RELEASE);
  }
  return cuda_check(cu.CtxSetCurrent(c), "context");
}

static int attribute(int device_id, int what, int *out) {
  TN_CHECK(device_id >= 0 && device_id < count, DeviceError, NULL,
           "cuda(%d): unknown device, there are %d", device_id, count);
  return cuda_check(cu.DeviceGetAttribute(out, what, devices[device_id].id), "device attribute");
}

int cuda_capability(int device_id, int *out) {
  int major, minor;
  TN_TRY(attribute(device_id, CU_COMPUTE_MAJOR, &major));
  TN_TRY(attribute(device_id, CU_COMPUTE_MINOR, &minor));
  *out = major * 10 + minor;
  return 0;
}

/* ---- attributes ---- */

static int number(int device_id, int what, tn_any *out) {
  int v;
  TN_TRY(attribute(device_id, what, &v));
  *out = tn_any_int(v);
  return 0;
}

static int text(const char *s, tn_any *out) {
  tn_str *t;
  TN_GET(t, tn_str_new(s));
  *out = tn_any_obj(t);
  return 0;
}

static int version_text(int device_id, tn_any *out) {
  char s[32];
  int v;
  TN_TRY(cuda_capability(device_id, &v));
  snprintf(s, sizeof s, "%d.%d", v / 10, v % 10);
  return text(s, out);
}

static int name_text(int device_id, tn_any *out) {
  char s[256] = "";
  TN_TRY(cuda_check(cu.DeviceGetName(s, sizeof s - 1, devices[device_id].id), "device name"));
  return text(s, out);
}

static int dimensions(int device_id, tn_any *out) {
  char s[64];
  int d[3];
  for (int i = 0; i < 3; ++i) TN_TRY(attribute(device_id, CU_MAX_BLOCK_DIM_X + i, &d[i]));
  snprintf(s, sizeof s, "[%d, %d, %d]", d[0], d[1], d[2]);
  return text(s, out);
}

static int memory(int device_id, bool available, tn_any *out) {
  size_t rest = 0, all = 0;
  TN_TRY(cuda_enter(device_id));
  TN_TRY(cuda_check(cu.MemGetInfo(&rest, &all), "memory"));
  *out = tn_any_int((int64_t)(available ? rest : all));
  return 0;
}

static int get_attr(void *self, tn_device dev, tn_device_attr kind, tn_any *out) {
  (void)self;
  int id = dev.device_id, version;
  if (kind == TN_DEV_EXIST) {
    *out = tn_any_int(id >= 0 && id < count);
    return 0;
  }
  TN_TRY(attribute(id, CU_WARP_SIZE, &version)); /* is there such a device? */
  switch ((int)kind) {
  case TN_DEV_MAX_THREADS_PER_BLOCK: return number(id, CU_MAX_THREADS_PER_BLOCK, out);
  case TN_DEV_WARP_SIZE: return number(id, CU_WARP_SIZE, out);
  case TN_DEV_MAX_SHARED_MEMORY_PER_BLOCK: return number(id, CU_MAX_SHARED_MEMORY_PER_BLOCK, out);
  case TN_DEV_COMPUTE_VERSION: return version_text(id, out);
  case TN_DEV_DEVICE_NAME: return name_text(id, out);
  case TN_DEV_MAX_CLOCK_RATE: return number(id, CU_CLOCK_RATE, out);
  case TN_DEV_MULTI_PROCESSOR_COUNT: return number(id, CU_MULTIPROCESSOR_COUNT, out);
  case TN_DEV_MAX_THREAD_DIMENSIONS: return dimensions(id, out);
  case TN_DEV_MAX_REGISTERS_PER_BLOCK: return number(id, CU_MAX_REGISTERS_PER_BLOCK, out);
  case TN_DEV_L2_CACHE_SIZE_BYTES: return number(id, CU_L2_CACHE_SIZE, out);
  case TN_DEV_TOTAL_GLOBAL_MEMORY: return memory(id, false, out);
  case TN_DEV_AVAILABLE_GLOBAL_MEMORY: return memory(id, true, out);
  case TN_DEV_API_VERSION:
    TN_TRY(cuda_check(cu.DriverGetVersion(&version), "driver version"));
    *out = tn_any_int(version);
    return 0;
  default: return 0; /* belongs to other devices */
  }
}

/* ---- memory ---- */

static int alloc(void *self, tn_device dev, size_t nbytes, size_t align, tn_dtype dtype,
                 const char *mem_scope, void **out) {
  cu_pointer p = 0;
  (void)self, (void)dtype;
  TN_CHECK(!mem_scope || !*mem_scope || strcmp(mem_scope, "global") == 0, ValueError, NULL,
           "cuda has no memory of scope \"%s\", only \"global\"", mem_scope);
  TN_CHECK(align <= 256, ValueError, NULL, "cuda memory is aligned to 256 bytes, not to %zu",
           align);
  TN_TRY(cuda_enter(dev.device_id));
  TN_TRY(cuda_check(cu.MemAlloc(&p, nbytes ? nbytes : 1), "memory"));
  *out = (void *)(uintptr_t)p;
  return 0;
}

static int release(void *self, tn_device dev, void *data) {
  (void)self;
  TN_TRY(cuda_enter(dev.device_id));
  return cuda_check(cu.MemFree((cu_pointer)(uintptr_t)data), "memory");
}

/* ---- streams ---- */

static _Thread_local cu_stream chosen[TN_MAX_DEVICES];

cu_stream cuda_stream(int device_id) { return chosen[device_id]; }

static cu_stream stream_of(tn_device dev, void *stream) {
  return stream ? stream : chosen[dev.device_id];
}

static int stream_new(void *self, tn_device dev, void **out) {
  cu_stream s = NULL;
  (void)self;
  TN_TRY(cuda_enter(dev.device_id));
  TN_TRY(cuda_check(cu.StreamCreate(&s, 0), "stream"));
  *out = s;
  return 0;
}

static int stream_free(void *self, tn_device dev, void *stream) {
  (void)self;
  TN_TRY(cuda_enter(dev.device_id));
  if (chosen[dev.device_id] == stream) chosen[dev.device_id] = NULL;
  return cuda_check(cu.StreamDestroy(stream), "stream");
}

static int stream_set(void *self, tn_device dev, void *stream) {
  (void)self;
  TN_TRY(cuda_enter(dev.device_id));
  chosen[dev.device_id] = stream;
  return 0;
}

static int sync_stream(void *self, tn_device dev, void *stream) {
  (void)self;
  TN_TRY(cuda_enter(dev.device_id));
  return cuda_check(cu.StreamSynchronize(stream_of(dev, stream)), "synchronisation");
}

static int stream_wait(void *self, tn_device dev, void *src, void *dst) {
  cu_event e = NULL;
  (void)self;
  TN_TRY(cuda_enter(dev.device_id));
  TN_TRY(cuda_check(cu.EventCreate(&e, CU_EVENT_NO_TIMING), "event"));
  int err = cuda_check(cu.EventRecord(e, stream_of(dev, src)), "event") ||
            cuda_check(cu.StreamWaitEvent(stream_of(dev, dst), e, 0), "event");
  cu.EventDestroy(e);
  return err ? -1 : 0;
}

/* ---- copies ---- */

static int between_devices(cu_pointer from, tn_device src, cu_pointer to, tn_device dst, size_t n,
                           cu_stream s) {
  if (src.device_id == dst.device_id) return cu.MemcpyDtoD(to, from, n, s);
  TN_TRY(cuda_enter(dst.device_id)); /* both contexts exist */
  TN_TRY(cuda_enter(src.device_id));
  return cu.MemcpyPeer(to, devices[dst.device_id].context, from, devices[src.device_id].context, n,
                       s);
}

static int copy(void *self, const void *src, size_t src_offset, tn_device src_dev, void *dst,
                size_t dst_offset, tn_device dst_dev, size_t nbytes, void *stream) {
  (void)self;
  bool from_host = tn_device_is_host(src_dev), to_host = tn_device_is_host(dst_dev);
  tn_device dev = from_host ? dst_dev : src_dev;
  cu_pointer from = (cu_pointer)(uintptr_t)src + src_offset,
             to = (cu_pointer)(uintptr_t)dst + dst_offset;
  if (nbytes == 0) return 0;
  TN_TRY(cuda_enter(dev.device_id));
  cu_stream s = stream_of(dev, stream);
  int err = from_host ? cu.MemcpyHtoD(to, (const void *)(uintptr_t)from, nbytes, s)
            : to_host ? cu.MemcpyDtoH((void *)(uintptr_t)to, from, nbytes, s)
                      : between_devices(from, src_dev, to, dst_dev, nbytes, s);
  if (err < 0) return -1;
  TN_TRY(cuda_check(err, "copy"));
  return from_host || to_host ? cuda_check(cu.StreamSynchronize(s), "copy") : 0;
}

const tn_device_api cuda_device_api = {
    .size = sizeof(tn_device_api),
    .get_attr = get_attr,
    .alloc = alloc,
    .free = release,
    .copy = copy,
    .sync = sync_stream,
    .stream_new = stream_new,
    .stream_free = stream_free,
    .stream_set = stream_set,
    .stream_wait = stream_wait,
};

/* ---- start ---- */

static int find_functions(void) {
  void *handle = dlopen("libcuda.so.1", RTLD_NOW);
  TN_CHECK(handle, DeviceError, NULL, "the CUDA driver is not installed (%s)", dlerror());
#define CU_FIND(name, symbol, params)                                                              \
  cu.name = (int(*) params)dlsym(handle, symbol);                                                  \
  TN_CHECK(cu.name, DeviceError, NULL, "the CUDA driver has no %s: it is too old", symbol);
  CU_FUNCTIONS(CU_FIND)
#undef CU_FIND
  return 0;
}

static int find_devices(void) {
  TN_TRY(cuda_check(cu.Init(0), "the CUDA driver"));
  TN_TRY(cuda_check(cu.DeviceGetCount(&count), "devices"));
  if (count > TN_MAX_DEVICES) count = TN_MAX_DEVICES;
  TN_CHECK(count > 0, DeviceError, NULL, "the CUDA driver is installed, but no device");
  for (int i = 0; i < count; ++i) TN_TRY(cuda_check(cu.DeviceGet(&devices[i].id, i), "devices"));
  return 0;
}

/** Called once by the runtime when it opens the plug-in. */
TN_API int tn_cuda_init(void);
int tn_cuda_init(void) {
  TN_TRY(cuda_compile_init());
  TN_TRY(find_functions());
  TN_TRY(find_devices());
  TN_TRY(tn_device_register_kernels(kDLCUDA, &cuda_kernel_api));
  return tn_device_register_api(kDLCUDA, &cuda_device_api);
}
