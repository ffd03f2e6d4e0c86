/* Modules of kernels: source or code for a device, with what each kernel takes. They can be saved
   and loaded anywhere; the plug-in of the device compiles them when a kernel is first launched.

   A kernel is a function whose arguments are followed by its launch parameters: the extents of its
   thread axes, in the order of its tags. */
#ifndef TN_RUNTIME_MODULE_DEVICE_MODULE_H_
#define TN_RUNTIME_MODULE_DEVICE_MODULE_H_

#include "object/dtype.h"
#include "object/functions.h"
#include "tenon/runtime.h"

enum { TN_MAX_DEVICES = 64 }; /* of one type, whose kernels can be launched */

/** What the numbers behind the arguments of a kernel are. */
typedef enum {
  TN_LAUNCH_GRID_X,
  TN_LAUNCH_GRID_Y,
  TN_LAUNCH_GRID_Z,
  TN_LAUNCH_BLOCK_X,
  TN_LAUNCH_BLOCK_Y,
  TN_LAUNCH_BLOCK_Z,
  TN_LAUNCH_SHARED, /**< bytes of dynamic shared memory */
  TN_LAUNCH_TAGS,
} tn_launch_tag;

/** One kernel of a module. */
typedef struct {
  char *name;
  int32_t ntype, ntag;
  tn_dtype *types;
  tn_launch_tag *tags;
  void *loaded[TN_MAX_DEVICES]; /* by device; the plug-in's own */
  struct tn_device_code *code;
} tn_kernel;

typedef struct tn_device_code {
  int device_type;
  char *format; /* "cl", "cu", "ptx", ... */
  tn_bytes *data;
  tn_str *source; /* what data was compiled from; NULL where it is the source, or is not known */
  tn_kernel **kernels;
  int64_t n, cap;
  void *programs[TN_MAX_DEVICES]; /* by device; the plug-in's own */
} tn_device_code;

/** Code without kernels yet. @param data, source retained; source may be NULL. NULL: MemoryError */
TN_API tn_device_code *tn_device_code_new(int device_type, const char *format, const tn_bytes *data,
                                          const tn_str *source);
/** Adds a kernel. @param types vector of dtypes @param tags vector of strings: "blockIdx.x", ...
 * @return 0, or -1: ValueError for an unknown tag, MemoryError */
TN_API int tn_device_code_add(tn_device_code *c, const char *name, const tn_vec *types,
                              const tn_vec *tags);
TN_API void tn_device_code_free(tn_device_code *c);
/** The module of the code, which it takes over. Its type key is the name of the device type.
 * Owned, or NULL (the code stays with the caller). */
TN_API TN_OWNED tn_module *tn_device_module_new(tn_device_code *c);

/** A launch, as the plug-in sees it. Numbers of threads are not 0. */
typedef struct {
  uint32_t grid[3], block[3]; /* blocks, and threads of each */
  size_t shared;              /* bytes */
  int32_t n;
  const struct tn_kernel_arg {
    size_t size;
    union {
      void *ptr;
      int64_t i64;
      int32_t i32;
      int16_t i16;
      int8_t i8;
      float f32;
      double f64;
    } v;
    bool is_data; /* memory of the device */
  } * args;
} tn_launch;

/** What a plug-in does with kernels. Functions return 0, or -1 with an error. Calls for one device
 * may come from several threads, except load and find, which are made one at a time. */
typedef struct {
  int (*load)(const tn_device_code *c, int device_id, void **program);
  int (*find)(int device_id, void *program, const tn_kernel *k, void **kernel);
  int (*launch)(int device_id, void *kernel, const tn_launch *l);
  void (*unload)(int device_id, void *program); /* with all that find gave */
} tn_kernel_api;

/** Puts a plug-in's table in force for a device type, by reference. */
TN_API int tn_device_register_kernels(int device_type, const tn_kernel_api *api);

/** The device of a type that kernels of the calling thread run on: that of "__tvm_set_device". */
int tn_device_current(int device_type);

/** Loaders of saved modules; part of tn_runtime_init. */
int tn_device_module_init(void);

#endif /* TN_RUNTIME_MODULE_DEVICE_MODULE_H_ */
