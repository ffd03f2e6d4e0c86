/* The plug-in for OpenCL: finds the loader, a platform and its devices, and serves their memory.
   GPUs are preferred, then accelerators, then processors. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "runtime/opencl/opencl_impl.h"

enum { MAX_PLATFORMS = 16 };

cl_functions cl;
static opencl_device devices[TN_MAX_DEVICES];
static int count;
static cl_context context;

int opencl_count(void) { return count; }
cl_context opencl_context(void) { return context; }

opencl_device *opencl_at(int device_id) {
  TN_CHECKP(device_id >= 0 && device_id < count, DeviceError, NULL,
            "opencl(%d): unknown device, there are %d", device_id, count);
  return &devices[device_id];
}

static const struct {
  int32_t code;
  const char *text;
} codes[] = {
    {-1, "device not found"},
    {-2, "device not available"},
    {-3, "compiler not available"},
    {-4, "memory object allocation failure"},
    {-5, "out of resources"},
    {-6, "out of host memory"},
    {-11, "build program failure"},
    {-30, "invalid value"},
    {-33, "invalid device"},
    {-36, "invalid command queue"},
    {-38, "invalid memory object"},
    {-45, "invalid program executable"},
    {-46, "invalid kernel name"},
    {-48, "invalid kernel"},
    {-49, "invalid argument index"},
    {-50, "invalid argument value"},
    {-51, "invalid argument size"},
    {-52, "invalid kernel arguments"},
    {-53, "invalid work dimension"},
    {-54, "invalid work group size"},
    {-55, "invalid work item size"},
    {-61, "invalid buffer size"},
    {CL_NO_PLATFORM, "no platform is installed"},
};

int opencl_check(int32_t code, const char *what) {
  if (code == CL_OK) return 0;
  const char *text = "see the codes of cl.h";
  for (int i = 0; i < TN_COUNT(codes); ++i)
    if (codes[i].code == code) text = codes[i].text;
  return TN_RAISE(DeviceError, NULL, "%s: OpenCL error %d (%s)", what, (int)code, text);
}

/* ---- start ---- */

static int find_functions(void) {
  const char *const names[] = {"libOpenCL.so.1", "libOpenCL.so"};
  void *handle = NULL;
  for (int i = 0; !handle && i < TN_COUNT(names); ++i) handle = dlopen(names[i], RTLD_NOW);
  TN_CHECK(handle, DeviceError, NULL,
           "OpenCL is not installed (%s): install a driver and the loader, such as pocl-opencl-icd "
           "and ocl-icd-libopencl1",
           dlerror());
#define CL_FIND(result, name, params)                                                              \
  cl.name = (result(*) params)dlsym(handle, "cl" #name);                                           \
  TN_CHECK(cl.name, DeviceError, NULL, "the OpenCL loader has no cl%s: 1.2 is needed", #name);
  CL_FUNCTIONS(CL_FIND)
#undef CL_FIND
  return 0;
}

/* Devices of a type on one platform. */
static uint32_t devices_of(cl_platform p, uint64_t type, cl_device *out) {
  uint32_t n = 0;
  if (cl.GetDeviceIDs(p, type, TN_MAX_DEVICES, out, &n) != CL_OK) return 0;
  return n < TN_MAX_DEVICES ? n : TN_MAX_DEVICES;
}

static int open_devices(cl_platform p, const cl_device *ids, uint32_t n) {
  int32_t err;
  const intptr_t on[] = {CL_CONTEXT_ON_PLATFORM, (intptr_t)p, 0};
  context = cl.CreateContext(on, n, ids, NULL, NULL, &err);
  TN_TRY(opencl_check(err, "a context"));
  for (uint32_t i = 0; i < n; ++i) {
    devices[i].id = ids[i];
    devices[i].queue = cl.CreateCommandQueue(context, ids[i], 0, &err);
    TN_TRY(opencl_check(err, "a command queue"));
  }
  count = (int)n;
  return 0;
}

static int find_devices(void) {
  static const uint64_t types[] = {CL_TYPE_GPU, CL_TYPE_ACCELERATOR, CL_TYPE_CPU};
  cl_platform platforms[MAX_PLATFORMS];
  cl_device ids[TN_MAX_DEVICES];
  uint32_t n = 0, found;
  TN_TRY(opencl_check(cl.GetPlatformIDs(MAX_PLATFORMS, platforms, &n), "platforms"));
  if (n > MAX_PLATFORMS) n = MAX_PLATFORMS;
  for (int t = 0; t < TN_COUNT(types); ++t)
    for (uint32_t i = 0; i < n; ++i)
      if ((found = devices_of(platforms[i], types[t], ids)) > 0)
        return open_devices(platforms[i], ids, found);
  return TN_RAISE(DeviceError, NULL, "OpenCL is installed, but no device");
}

/* ---- attributes ---- */

static int number(const opencl_device *d, uint32_t what, int64_t scale, tn_any *out) {
  uint64_t v = 0; /* little-endian: smaller answers fill the low bytes */
  TN_TRY(opencl_check(cl.GetDeviceInfo(d->id, what, sizeof v, &v, NULL), "device attribute"));
  *out = tn_any_int((int64_t)v * scale);
  return 0;
}

static int string(const opencl_device *d, uint32_t what, tn_any *out) {
  char text[256] = "";
  TN_TRY(
      opencl_check(cl.GetDeviceInfo(d->id, what, sizeof text - 1, text, NULL), "device attribute"));
  tn_str *s;
  TN_GET(s, tn_str_new(text));
  *out = tn_any_obj(s);
  return 0;
}

static int thread_dimensions(const opencl_device *d, tn_any *out) {
  size_t sizes[16] = {0};
  TN_BUF(b);
  tn_str *s;
  TN_TRY(opencl_check(cl.GetDeviceInfo(d->id, CL_MAX_WORK_ITEM_SIZES, sizeof sizes, sizes, NULL),
                      "device attribute"));
  tn_buf_printf(&b, "[%zu, %zu, %zu]", sizes[0], sizes[1], sizes[2]);
  TN_GET(s, tn_buf_str(&b));
  *out = tn_any_obj(s);
  return 0;
}

/* "OpenCL 3.0 ..." as 30 * 10 */
static int version(const opencl_device *d, tn_any *out) {
  char text[256] = "", *end;
  TN_TRY(opencl_check(cl.GetDeviceInfo(d->id, CL_VERSION, sizeof text - 1, text, NULL),
                      "device attribute"));
  if (strncmp(text, "OpenCL ", 7) != 0) return 0;
  long major = strtol(text + 7, &end, 10), minor = *end == '.' ? strtol(end + 1, NULL, 10) : 0;
  *out = tn_any_int(major * 100 + minor * 10);
  return 0;
}

static int get_attr(void *self, tn_device dev, tn_device_attr kind, tn_any *out) {
  (void)self;
  bool exists = dev.device_id >= 0 && dev.device_id < count;
  if (kind == TN_DEV_EXIST) {
    *out = tn_any_int(exists);
    return 0;
  }
  const opencl_device *d;
  TN_GET(d, opencl_at(dev.device_id));
  switch ((int)kind) {
  case TN_DEV_MAX_THREADS_PER_BLOCK: return number(d, CL_MAX_WORK_GROUP_SIZE, 1, out);
  case TN_DEV_WARP_SIZE: *out = tn_any_int(1); return 0; /* not known before a kernel is */
  case TN_DEV_MAX_SHARED_MEMORY_PER_BLOCK: return number(d, CL_LOCAL_MEM_SIZE, 1, out);
  case TN_DEV_COMPUTE_VERSION: return string(d, CL_VERSION, out);
  case TN_DEV_DEVICE_NAME: return string(d, CL_NAME, out);
  case TN_DEV_MAX_CLOCK_RATE: return number(d, CL_MAX_CLOCK_FREQUENCY, 1000, out);
  case TN_DEV_MULTI_PROCESSOR_COUNT: return number(d, CL_MAX_COMPUTE_UNITS, 1, out);
  case TN_DEV_MAX_THREAD_DIMENSIONS: return thread_dimensions(d, out);
  case TN_DEV_API_VERSION: return version(d, out);
  case TN_DEV_DRIVER_VERSION: return string(d, CL_DRIVER, out);
  case TN_DEV_L2_CACHE_SIZE_BYTES: return number(d, CL_GLOBAL_CACHE_SIZE, 1, out);
  case TN_DEV_TOTAL_GLOBAL_MEMORY: return number(d, CL_GLOBAL_MEM_SIZE, 1, out);
  default: return 0; /* not known of OpenCL devices */
  }
}

/* ---- memory ---- */

static int alloc(void *self, tn_device dev, size_t nbytes, size_t align, tn_dtype dtype,
                 const char *mem_scope, void **out) {
  opencl_device *d;
  int32_t err;
  (void)self, (void)align, (void)dtype;
  TN_GET(d, opencl_at(dev.device_id));
  TN_CHECK(!mem_scope || !*mem_scope || strcmp(mem_scope, "global") == 0, ValueError, NULL,
           "opencl has no memory of scope \"%s\", only \"global\"", mem_scope);
  opencl_memory *m = tn_alloc(sizeof *m);
  if (!m) return -1;
  m->size = nbytes ? nbytes : 1;
  m->mem = cl.CreateBuffer(context, CL_BUFFER_READ_WRITE, m->size, NULL, &err);
  if (opencl_check(err, "memory")) {
    tn_free(m);
    return -1;
  }
  *out = m;
  return 0;
}

static int release(void *self, tn_device dev, void *data) {
  opencl_memory *m = data;
  (void)self, (void)dev;
  /* commands that use it keep it until they are done */
  int err = opencl_check(cl.ReleaseMemObject(m->mem), "memory");
  tn_free(m);
  return err;
}

/* ---- queues ---- */

static _Thread_local cl_queue chosen[TN_MAX_DEVICES];

cl_queue opencl_queue(const opencl_device *d, int device_id) {
  return chosen[device_id] ? chosen[device_id] : d->queue;
}

static int stream_new(void *self, tn_device dev, void **out) {
  opencl_device *d;
  int32_t err;
  (void)self;
  TN_GET(d, opencl_at(dev.device_id));
  *out = cl.CreateCommandQueue(context, d->id, 0, &err);
  return opencl_check(err, "a command queue");
}

static int stream_free(void *self, tn_device dev, void *stream) {
  (void)self;
  if (dev.device_id >= 0 && dev.device_id < TN_MAX_DEVICES && chosen[dev.device_id] == stream)
    chosen[dev.device_id] = NULL;
  return opencl_check(cl.ReleaseCommandQueue(stream), "a command queue");
}

static int stream_set(void *self, tn_device dev, void *stream) {
  (void)self;
  TN_TRY(!opencl_at(dev.device_id));
  chosen[dev.device_id] = stream;
  return 0;
}

static cl_queue queue_of(const opencl_device *d, tn_device dev, void *stream) {
  return stream ? stream : opencl_queue(d, dev.device_id);
}

static int sync_queue(void *self, tn_device dev, void *stream) {
  opencl_device *d;
  (void)self;
  TN_GET(d, opencl_at(dev.device_id));
  return opencl_check(cl.Finish(queue_of(d, dev, stream)), "synchronisation");
}

static int stream_wait(void *self, tn_device dev, void *src, void *dst) {
  opencl_device *d;
  cl_event done;
  (void)self;
  TN_GET(d, opencl_at(dev.device_id));
  cl_queue from = queue_of(d, dev, src), to = queue_of(d, dev, dst);
  TN_TRY(opencl_check(cl.EnqueueMarkerWithWaitList(from, 0, NULL, &done), "a marker"));
  int err = opencl_check(cl.EnqueueBarrierWithWaitList(to, 1, &done, NULL), "a barrier");
  cl.ReleaseEvent(done);
  if (!err) err = opencl_check(cl.Flush(from), "a command queue");
  return err;
}

/* Copies from and to the host are done when it returns. */
static int copy(void *self, const void *src, size_t src_offset, tn_device src_dev, void *dst,
                size_t dst_offset, tn_device dst_dev, size_t nbytes, void *stream) {
  (void)self;
  bool from_host = tn_device_is_host(src_dev), to_host = tn_device_is_host(dst_dev);
  tn_device dev = from_host ? dst_dev : src_dev;
  opencl_device *d;
  int32_t err;
  TN_GET(d, opencl_at(dev.device_id));
  if (nbytes == 0) return 0;
  cl_queue q = queue_of(d, dev, stream);
  if (from_host) {
    err = cl.EnqueueWriteBuffer(q, ((opencl_memory *)dst)->mem, 1, dst_offset, nbytes,
                                (const char *)src + src_offset, 0, NULL, NULL);
  } else if (to_host) {
    err = cl.EnqueueReadBuffer(q, ((const opencl_memory *)src)->mem, 1, src_offset, nbytes,
                               (char *)dst + dst_offset, 0, NULL, NULL);
  } else {
    err = cl.EnqueueCopyBuffer(q, ((const opencl_memory *)src)->mem, ((opencl_memory *)dst)->mem,
                               src_offset, dst_offset, nbytes, 0, NULL, NULL);
    /* the other device's queue would not know of it */
    if (err == CL_OK && src_dev.device_id != dst_dev.device_id) err = cl.Finish(q);
  }
  return opencl_check(err, "copy");
}

const tn_device_api opencl_device_api = {
    .size = sizeof(tn_device_api),
    .get_attr = get_attr,
    .alloc = alloc,
    .free = release,
    .copy = copy,
    .sync = sync_queue,
    .stream_new = stream_new,
    .stream_free = stream_free,
    .stream_set = stream_set,
    .stream_wait = stream_wait,
};

/** Called once by the runtime when it opens the plug-in. */
TN_API int tn_opencl_init(void);
int tn_opencl_init(void) {
  TN_TRY(find_functions());
  TN_TRY(find_devices());
  TN_TRY(tn_device_register_kernels(kDLOpenCL, &opencl_kernel_api));
  return tn_device_register_api(kDLOpenCL, &opencl_device_api);
}
