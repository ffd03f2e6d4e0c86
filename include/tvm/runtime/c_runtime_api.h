/**
 * The C interface of Relay-era runtimes (releases 0.8 to 0.14), served by libtenon_runtime: for C
 * and C++ programs, generated C sources and libraries that were written against it.
 *
 * New code should use tenon/ffi.h and tenon/runtime.h. What differs from them:
 *
 * - A value is a TVMValue and, beside it, a type code (TVMArgTypeCode); arguments are two parallel
 *   arrays.
 * - Handles (TVMFunctionHandle, TVMModuleHandle, TVMObjectHandle) are references to objects. A
 *   handle that a function stores through an `out` parameter is owned by the caller, who gives it
 *   up with the Free function of its kind. Handles among arguments are borrowed.
 * - A TVMArrayHandle is the address of the DLTensor inside a tensor object.
 * - Functions return 0, or -1 with the message in TVMGetLastError. A message that starts with the
 *   name of an error class and a colon ("TypeError: ...") becomes that class in Python.
 */
#ifndef TVM_RUNTIME_C_RUNTIME_API_H_
#define TVM_RUNTIME_C_RUNTIME_API_H_

#include <stddef.h>
#include <stdint.h>

#include "tenon/dlpack.h"

#ifndef TVM_DLL
#ifdef __GNUC__
#define TVM_DLL __attribute__((visibility("default")))
#else
#define TVM_DLL
#endif
#endif
#ifndef TVM_WEAK
#ifdef __GNUC__
#define TVM_WEAK __attribute__((weak))
#else
#define TVM_WEAK
#endif
#endif

/** Release whose interface this is. */
#define TVM_VERSION "0.14.0"

#ifdef __cplusplus
extern "C" {
#endif

typedef int64_t tvm_index_t;

/** Device types beyond DLDeviceType. */
typedef enum {
  kDLAOCL = 32,
  kDLSDAccel,
  kOpenGL,
  kDLMicroDev,
  TVMDeviceExtType_End,
} TVMDeviceExtType;

/** What a TVMValue holds. */
typedef enum {
  kTVMArgInt = 0,   /**< v_int64; also truth values */
  kTVMArgFloat = 2, /**< v_float64 */
  kTVMOpaqueHandle = 3,
  kTVMNullptr = 4,
  kTVMDataType = 5,       /**< v_type */
  kDLDevice = 6,          /**< v_device */
  kTVMDLTensorHandle = 7, /**< DLTensor *, borrowed for the call: arguments only */
  kTVMObjectHandle = 8,
  kTVMModuleHandle = 9,
  kTVMPackedFuncHandle = 10,
  kTVMStr = 11,   /**< v_str; a result is valid until the thread's next call */
  kTVMBytes = 12, /**< TVMByteArray *; a result is valid until the thread's next call */
  kTVMNDArrayHandle = 13,
  kTVMObjectRValueRefArg = 14, /**< address of a handle that the callee may take: arguments only */
  kTVMExtBegin = 15,
  kTVMNNVMFirst = 16,
  kTVMNNVMLast = 20,
  kTVMExtReserveEnd = 64,
  kTVMExtEnd = 128,
} TVMArgTypeCode;

typedef DLTensor *TVMArrayHandle;

typedef union {
  int64_t v_int64;
  double v_float64;
  void *v_handle;
  const char *v_str;
  DLDataType v_type;
  DLDevice v_device;
} TVMValue;

typedef struct {
  const char *data;
  size_t size;
} TVMByteArray;

typedef void *TVMModuleHandle;
typedef void *TVMFunctionHandle;
typedef void *TVMRetValueHandle;
typedef void *TVMStreamHandle;
typedef void *TVMObjectHandle;

/* ---- errors ---- */

/** Sets the message of the thread's last error. */
TVM_DLL void TVMAPISetLastError(const char *msg);
/** Message of the last call of this interface that failed in this thread; "" when none did. Valid
 * until the next failure. */
TVM_DLL const char *TVMGetLastError(void);

/* ---- modules ---- */

/** @param format "" to go by the ending of the name */
TVM_DLL int TVMModLoadFromFile(const char *file_name, const char *format, TVMModuleHandle *out);
TVM_DLL int TVMModImport(TVMModuleHandle mod, TVMModuleHandle dep);
/** `*out` is NULL, and the result 0, when there is no such function. */
TVM_DLL int TVMModGetFunction(TVMModuleHandle mod, const char *func_name, int query_imports,
                              TVMFunctionHandle *out);
TVM_DLL int TVMModFree(TVMModuleHandle mod);

/* ---- functions ---- */

TVM_DLL int TVMFuncFree(TVMFunctionHandle func);
/** Calls a function. Objects among the results are owned by the caller; kTVMStr and kTVMBytes are
 * the thread's, see TVMArgTypeCode. */
TVM_DLL int TVMFuncCall(TVMFunctionHandle func, TVMValue *arg_values, int *type_codes, int num_args,
                        TVMValue *ret_val, int *ret_type_code);
/** Sets the result of a TVMPackedCFunc; the value is copied or retained. @param num_ret 1 */
TVM_DLL int TVMCFuncSetReturn(TVMRetValueHandle ret, TVMValue *value, int *type_code, int num_ret);
/** Turns an argument of a callback, in place, into a value the callback owns. */
TVM_DLL int TVMCbArgToReturn(TVMValue *value, int *code);

/** A function written by hand. @return 0, or -1 after TVMAPISetLastError */
typedef int (*TVMPackedCFunc)(TVMValue *args, int *type_codes, int num_args, TVMRetValueHandle ret,
                              void *resource_handle);
typedef void (*TVMPackedCFuncFinalizer)(void *resource_handle);
typedef int (*TVMExtensionFuncDeclarer)(TVMFunctionHandle register_func_handle);

/** @param fin called once with resource_handle when the function goes; may be NULL */
TVM_DLL int TVMFuncCreateFromCFunc(TVMPackedCFunc func, void *resource_handle,
                                   TVMPackedCFuncFinalizer fin, TVMFunctionHandle *out);
TVM_DLL int TVMFuncRegisterGlobal(const char *name, TVMFunctionHandle f, int override);
/** `*out` is NULL, and the result 0, when there is no such function. */
TVM_DLL int TVMFuncGetGlobal(const char *name, TVMFunctionHandle *out);
/** The array is valid until the thread's next call of it. */
TVM_DLL int TVMFuncListGlobalNames(int *out_size, const char ***out_array);
TVM_DLL int TVMFuncRemoveGlobal(const char *name);

/* ---- tensors ---- */

TVM_DLL int TVMArrayAlloc(const tvm_index_t *shape, int ndim, int dtype_code, int dtype_bits,
                          int dtype_lanes, int device_type, int device_id, TVMArrayHandle *out);
TVM_DLL int TVMArrayFree(TVMArrayHandle handle);
/** Compact elements; nbytes must be the size of the tensor. */
TVM_DLL int TVMArrayCopyFromBytes(TVMArrayHandle handle, void *data, size_t nbytes);
TVM_DLL int TVMArrayCopyToBytes(TVMArrayHandle handle, void *data, size_t nbytes);
TVM_DLL int TVMArrayCopyFromTo(TVMArrayHandle from, TVMArrayHandle to, TVMStreamHandle stream);
/** Takes the producer's tensor over. */
TVM_DLL int TVMArrayFromDLPack(DLManagedTensor *from, TVMArrayHandle *out);
TVM_DLL int TVMArrayToDLPack(TVMArrayHandle from, DLManagedTensor **out);
TVM_DLL void TVMDLManagedTensorCallDeleter(DLManagedTensor *dltensor);

/* ---- devices ---- */

TVM_DLL int TVMStreamCreate(int device_type, int device_id, TVMStreamHandle *out);
TVM_DLL int TVMStreamFree(int device_type, int device_id, TVMStreamHandle stream);
TVM_DLL int TVMSetStream(int device_type, int device_id, TVMStreamHandle handle);
TVM_DLL int TVMSynchronize(int device_type, int device_id, TVMStreamHandle stream);
TVM_DLL int TVMStreamStreamSynchronize(int device_type, int device_id, TVMStreamHandle src,
                                       TVMStreamHandle dst);
TVM_DLL int TVMDeviceAllocDataSpace(DLDevice dev, size_t nbytes, size_t alignment,
                                    DLDataType type_hint, void **out_data);
/** @param mem_scope NULL or "global" for ordinary memory */
TVM_DLL int TVMDeviceAllocDataSpaceWithScope(DLDevice dev, int ndim, const int64_t *shape,
                                             DLDataType dtype, const char *mem_scope,
                                             void **out_data);
TVM_DLL int TVMDeviceFreeDataSpace(DLDevice dev, void *ptr);
TVM_DLL int TVMDeviceCopyDataFromTo(DLTensor *from, DLTensor *to, TVMStreamHandle stream);

/* ---- objects ---- */

TVM_DLL int TVMObjectGetTypeIndex(TVMObjectHandle obj, unsigned *out_tindex);
TVM_DLL int TVMObjectTypeKey2Index(const char *type_key, unsigned *out_tindex);
/** `*out_type_key` is to be freed with free(). */
TVM_DLL int TVMObjectTypeIndex2Key(unsigned tindex, char **out_type_key);
TVM_DLL int TVMObjectDerivedFrom(uint32_t child_type_index, uint32_t parent_type_index,
                                 int *is_derived);
TVM_DLL int TVMObjectRetain(TVMObjectHandle obj);
TVM_DLL int TVMObjectFree(TVMObjectHandle obj);

#ifdef __cplusplus
}
#endif
#endif /* TVM_RUNTIME_C_RUNTIME_API_H_ */
