/* The table of device APIs by device type, and what goes through it. The CPU's is device_cpu.c;
   others are registered by their plug-ins when these are opened. */
#include "runtime/device/device.h"
#include "runtime/module/device_module.h"

#include <stdatomic.h>
#include <string.h>

enum { SLOTS = TN_DEVICE_REMOTE + 1 }; /* the last one serves all remote types */

static _Atomic(const tn_device_api *) apis[SLOTS];

static int slot_of(int device_type) {
  if (device_type < 1) return 0; /* never filled */
  return device_type < TN_DEVICE_REMOTE ? device_type : TN_DEVICE_REMOTE;
}

int tn_device_register_api(int device_type, const tn_device_api *api) {
  const tn_device_api *none = NULL;
  TN_CHECK(device_type >= 1 && device_type <= TN_DEVICE_REMOTE, ValueError, NULL,
           "register device API: expected a device type of 1 to %d, got %d", TN_DEVICE_REMOTE,
           device_type);
  TN_CHECK(api && api->size == sizeof *api && api->get_attr && api->alloc && api->free &&
               api->copy && api->sync,
           ValueError, NULL,
           "register device API of type %d: made for another release, or incomplete", device_type);
  TN_CHECK(atomic_compare_exchange_strong(&apis[slot_of(device_type)], &none, api), ValueError,
           NULL, "register device API: type %d has one already", device_type);
  return 0;
}

static const tn_device_api *in_force(int device_type) {
  return atomic_load_explicit(&apis[slot_of(device_type)], memory_order_acquire);
}

const tn_device_api *tn_device_api_of(int device_type, bool allow_missing) {
  const tn_device_api *api = in_force(device_type);
  const char *problem = api ? NULL : tn_device_plugin_open(device_type);
  if (problem) api = in_force(device_type);
  if (api || allow_missing) return api;
  const char *name = tn_device_type_name(device_type);
  TN_CHECKP(name, DeviceError, NULL, "unknown device type %d", device_type);
  TN_CHECKP(!problem || !*problem, DeviceError, NULL, "device %s (type %d) is not available: %s",
            name, device_type, problem);
  return TN_RAISEP(DeviceError, NULL,
                   "device %s (type %d) is not available: no device API serves it in this process "
                   "(build the library with it, or open its plug-in)",
                   name, device_type);
}

void *tn_device_alloc(tn_device dev, size_t nbytes, size_t align, tn_dtype dtype,
                      const char *mem_scope) {
  void *data = NULL;
  const tn_device_api *api;
  TN_GETP(api, tn_device_api_of((int)dev.device_type, false));
  TN_TRYP(api->alloc(api->self, dev, nbytes, align, dtype, mem_scope, &data));
  TN_ICHECKP(data);
  return data;
}

int tn_device_free(tn_device dev, void *data) {
  const tn_device_api *api;
  TN_GET(api, tn_device_api_of((int)dev.device_type, false));
  TN_TRY(api->free(api->self, dev, data));
  return 0;
}

int tn_device_copy(const void *src, size_t src_offset, tn_device src_dev, void *dst,
                   size_t dst_offset, tn_device dst_dev, size_t nbytes, void *stream) {
  const tn_device_api *api;
  bool from_host = tn_device_is_host(src_dev);
  bool to_host = tn_device_is_host(dst_dev);
  if (from_host && to_host) {
    if (nbytes) memmove((char *)dst + dst_offset, (const char *)src + src_offset, nbytes);
    return 0;
  }
  TN_CHECK(from_host || to_host || src_dev.device_type == dst_dev.device_type, DeviceError, NULL,
           "copy from %s to %s: devices of different kinds (copy to the cpu first)",
           tn_device_text(src_dev, (char[TN_DEVICE_TEXT]){0}),
           tn_device_text(dst_dev, (char[TN_DEVICE_TEXT]){0}));
  TN_GET(api, tn_device_api_of((int)(from_host ? dst_dev : src_dev).device_type, false));
  TN_TRY(api->copy(api->self, src, src_offset, src_dev, dst, dst_offset, dst_dev, nbytes, stream));
  return 0;
}

int tn_device_sync(tn_device dev, void *stream) {
  const tn_device_api *api;
  TN_GET(api, tn_device_api_of((int)dev.device_type, false));
  TN_TRY(api->sync(api->self, dev, stream));
  return 0;
}

int tn_device_get_attr(tn_device dev, tn_device_attr kind, tn_any *out) {
  const tn_device_api *api;
  *out = tn_any_none();
  TN_CHECK((int)kind >= 0 && kind < TN_DEV_ATTRS, ValueError, NULL,
           "device attribute %d does not exist", (int)kind);
  if (kind == TN_DEV_EXIST && !tn_device_api_of((int)dev.device_type, true)) {
    *out = tn_any_int(0);
    return 0;
  }
  TN_GET(api, tn_device_api_of((int)dev.device_type, false));
  TN_TRY(api->get_attr(api->self, dev, kind, out));
  return 0;
}

/* ---- streams ---- */

/* The optional member of an API that manages streams, or an error naming it. */
#define STREAM_API(api, dev, member)                                                               \
  const tn_device_api *api;                                                                        \
  TN_GET(api, tn_device_api_of((int)(dev).device_type, false));                                    \
  TN_CHECK(api->member, DeviceError, NULL, "device %s has no streams",                             \
           tn_device_type_name((int)(dev).device_type))

static int arg_device(const tn_any *args, tn_device *dev) {
  int64_t type, id;
  TN_TRY(tn_any_to_int(&args[0], &type));
  TN_TRY(tn_any_to_int(&args[1], &id));
  TN_CHECK(type >= INT32_MIN && type <= INT32_MAX && id >= INT32_MIN && id <= INT32_MAX, ValueError,
           NULL, "device type %lld, id %lld: out of range", (long long)type, (long long)id);
  *dev = (tn_device){(DLDeviceType)type, (int32_t)id};
  return 0;
}

/* ---- the device that kernels run on ---- */

static _Thread_local int32_t current[SLOTS];

int tn_device_current(int device_type) { return current[slot_of(device_type)]; }

/* ---- functions: a device is given as type and id, which the old interface's Python side does ----
 */

static int f_get_attr(TN_ARGS) {
  tn_device dev;
  int64_t kind;
  TN_NARGS("runtime.GetDeviceAttr", 3);
  TN_TRY(arg_device(args, &dev));
  TN_TRY(tn_any_to_int(&args[2], &kind));
  TN_CHECK(kind >= 0 && kind < TN_DEV_ATTRS, ValueError, NULL,
           "device attribute %lld does not exist", (long long)kind);
  TN_TRY(tn_device_get_attr(dev, (tn_device_attr)kind, ret));
  return 0;
}

static int f_sync(TN_ARGS) {
  tn_device dev;
  void *stream = NULL;
  TN_CHECK(n == 2 || n == 3, TypeError, NULL,
           "runtime.DeviceSync: expected device type, id and perhaps a stream, got %d arguments",
           n);
  TN_TRY(arg_device(args, &dev));
  if (n == 3) TN_TRY(tn_any_to_ptr(&args[2], &stream));
  TN_TRY(tn_device_sync(dev, stream));
  return 0;
}

static int f_stream_new(TN_ARGS) {
  tn_device dev;
  void *stream = NULL;
  TN_NARGS("runtime.DeviceStreamCreate", 2);
  TN_TRY(arg_device(args, &dev));
  STREAM_API(api, dev, stream_new);
  TN_TRY(api->stream_new(api->self, dev, &stream));
  *ret = tn_any_ptr(stream);
  return 0;
}

static int f_stream_free(TN_ARGS) {
  tn_device dev;
  void *stream;
  TN_NARGS("runtime.DeviceStreamFree", 3);
  TN_TRY(arg_device(args, &dev));
  TN_TRY(tn_any_to_ptr(&args[2], &stream));
  STREAM_API(api, dev, stream_free);
  TN_TRY(api->stream_free(api->self, dev, stream));
  return 0;
}

static int f_stream_set(TN_ARGS) {
  tn_device dev;
  void *stream;
  TN_NARGS("runtime.DeviceStreamSet", 3);
  TN_TRY(arg_device(args, &dev));
  TN_TRY(tn_any_to_ptr(&args[2], &stream));
  STREAM_API(api, dev, stream_set);
  TN_TRY(api->stream_set(api->self, dev, stream));
  return 0;
}

static int f_parse(TN_ARGS) {
  const char *text;
  int64_t id = 0;
  tn_device dev;
  TN_CHECK(n == 1 || n == 2, TypeError, NULL,
           "runtime.ParseDevice: expected a name and perhaps an id, got %d arguments", n);
  TN_TRY(tn_any_to_cstr(&args[0], &text));
  if (n == 2) TN_TRY(tn_any_to_int(&args[1], &id));
  TN_CHECK(id >= INT32_MIN && id <= INT32_MAX, ValueError, NULL, "device id %lld is out of range",
           (long long)id);
  TN_TRY(tn_device_parse(text, (int)id, &dev));
  *ret = tn_any_device(dev);
  return 0;
}

/* What compiled functions call before they launch kernels. */
static int f_set_device(TN_ARGS) {
  tn_device dev;
  TN_NARGS("__tvm_set_device", 2);
  TN_TRY(arg_device(args, &dev));
  current[slot_of((int)dev.device_type)] = dev.device_id;
  return 0;
}

/* Text of a device for its repr. */
static int f_text(TN_ARGS) {
  tn_device dev;
  char text[TN_DEVICE_TEXT];
  TN_NARGS("runtime.DeviceText", 1);
  TN_TRY(tn_any_to_device(&args[0], &dev));
  return tn_ret_owned(ret, tn_str_new(tn_device_text(dev, text)));
}

static const tn_func_row rows[] = {
    {"runtime.GetDeviceAttr", f_get_attr},
    {"runtime.DeviceSync", f_sync},
    {"runtime.DeviceStreamCreate", f_stream_new},
    {"runtime.DeviceStreamFree", f_stream_free},
    {"runtime.DeviceStreamSet", f_stream_set},
    {"runtime.ParseDevice", f_parse},
    {"runtime.DeviceText", f_text},
    {"__tvm_set_device", f_set_device},
};

int tn_device_init(void) {
  TN_TRY(tn_device_register_api(kDLCPU, &tn_cpu_api));
  TN_TRY(tn_func_register_rows(rows, TN_COUNT(rows)));
  return 0;
}
