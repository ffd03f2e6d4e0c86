/**
 * Tenon's runtime: memory, tensors, devices, modules, parallel loops. Needs ffi.h only; no
 * compiler.
 */
#ifndef TENON_RUNTIME_H_
#define TENON_RUNTIME_H_

#include "tenon/ffi.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- memory ---- */

/** One function for everything: old == NULL allocates, size == 0 frees, otherwise resizes; NULL
 * when it cannot. */
typedef struct {
  void *(*alloc)(void *ctx, void *old, size_t size);
  void *ctx;
} tn_allocator;

/** Replaces the allocator of the whole library (a zero struct restores malloc); returns the one
 * before. Blocks are freed by the allocator in force, so replace it before anything was made, or
 * wrap the one that is returned. */
TN_API tn_allocator tn_set_allocator(tn_allocator a);

/* ---- modules ---- */

/**
 * Functions that were compiled or loaded together, and the modules they import. An object of type
 * key "runtime.Module": tn_retain and tn_release count it. A function obtained from a module keeps
 * the module alive, a module the modules it imports. All operations may be used from any thread.
 */
typedef struct tn_Module tn_module;

/** What can be done with a kind of module; bits of tn_module_ops.properties. */
enum {
  TN_MODULE_BINARY = 1,   /**< save_binary works, and a loader for the type key exists */
  TN_MODULE_RUNNABLE = 2, /**< its functions can be called */
  TN_MODULE_DSO = 4,      /**< export as (part of) a shared library: host code */
};

/** The name that stands for a module's entry function, the one that calling the module calls. */
#define TN_MODULE_MAIN "__tvm_main__"

/** A kind of module. Static data; every function may be NULL and is then not supported. */
typedef struct tn_module_ops {
  const char *type_key; /**< "library", "c", "GraphExecutorFactory"; names the binary loader too */
  const char *format;   /**< file format of its source or code, "so" or "c" for instance */
  uint32_t properties;  /**< TN_MODULE_* */
  /** Finds a function of this module itself. `*out` is NULL on entry; set it to an owned function
   * that keeps the module alive (tn_module_bind does), or leave it when there is none.
   * @return 0, or -1 with an error */
  int (*get_function)(tn_module *m, const char *name, tn_func **out);
  /** Source text in `format` ("" for the kind's own). @return owned, or NULL with an error */
  tn_str *(*get_source)(tn_module *m, const char *format);
  int (*save_file)(tn_module *m, const char *path, const char *format);
  /** The content from which "runtime.module.loadbinary_<type_key>" makes the module again.
   * @return owned, or NULL with an error */
  tn_bytes *(*save_binary)(tn_module *m);
  void (*fini)(tn_module *m); /**< the last reference is gone: frees self */
} tn_module_ops;

/** A module of a kind. @param ops kept by reference. @param self the kind's own data, given up to
 * the module. @return owned, or NULL (MemoryError; `self` stays with the caller) */
TN_API TN_OWNED tn_module *tn_module_new(const tn_module_ops *ops, void *self);
TN_API void *tn_module_self(const tn_module *m);
TN_API const tn_module_ops *tn_module_get_ops(const tn_module *m);
TN_API const char *tn_module_type_key(const tn_module *m);
TN_API const char *tn_module_format(tn_module *m);        /**< "" when the kind has none */
TN_API uint32_t tn_module_properties(const tn_module *m); /**< TN_MODULE_* */

/** Looks a function up by name, "__tvm_main__" for the entry function. @param query_imports also in
 * all imported modules, depth first. @param out owned, or NULL when there is no such function
 * @return 0, or -1 with an error of the module itself */
TN_API int tn_module_get_function(tn_module *m, const char *name, bool query_imports,
                                  tn_func **out);
/** The same for a function that must be there. @return owned, or NULL (AttributeError "Module has
 * no function 'NAME'") */
TN_API TN_OWNED tn_func *tn_module_require(tn_module *m, const char *name, bool query_imports);
/** A function that calls `call(self, ...)` and keeps the module alive: for get_function of a kind.
 * @param self borrowed from the module. @return owned, or NULL (MemoryError) */
TN_API TN_OWNED tn_func *tn_module_bind(tn_module *m, tn_call call, void *self);

/** Makes `other` an import of `m`. @return 0, or -1 (ValueError when m would import itself through
 * others, MemoryError) */
TN_API int tn_module_import(tn_module *m, tn_module *other);
TN_API void tn_module_clear_imports(tn_module *m);
/** Array of the imported modules as of now; owned, or NULL (MemoryError). */
TN_API TN_OWNED tn_arr *tn_module_imports(const tn_module *m);

/** Source text. @param format "" for the kind's own. @return owned, or NULL (TVMError when the kind
 * has none) */
TN_API TN_OWNED tn_str *tn_module_source(tn_module *m, const char *format);
/** Writes the module to a file. @param format "" to go by the ending of path. @return 0, or -1
 * (TVMError when the kind cannot, OSError) */
TN_API int tn_module_save(tn_module *m, const char *path, const char *format);
/** The module's own content (not its imports) as bytes. @return owned, or NULL (TVMError) */
TN_API TN_OWNED tn_bytes *tn_module_save_binary(tn_module *m);

/** Loads a module from a file with the loader registered for its format: the global function
 * "runtime.module.loadfile_EXT"(path, format) -> Module.
 * @param format "so", "tar", ...; "" to go by the ending of path. Endings of shared libraries of
 * all systems mean "so".
 * @return owned, or NULL: ValueError "cannot find file PATH" or when no loader is registered, and
 * the loader's own errors */
TN_API TN_OWNED tn_module *tn_module_load(const char *path, const char *format);

/** The module of compiled code linked into the program, whose symbols start with `prefix` ("" for
 * all). One module for each prefix, for the life of the process. @return owned, or NULL: the errors
 * of the modules that the code carries */
TN_API TN_OWNED tn_module *tn_system_lib(const char *prefix);

/** Where a binary loader reads; see base/reader.h for the checked operations the library uses. */
typedef struct tn_reader {
  const uint8_t *data; /**< borrowed */
  size_t size;
  size_t pos; /**< next byte, <= size */
  /** What keeps the data alive (borrowed): a loader that retains it may go on using the data, to
   * read only. NULL: the data is gone when the loader returns. */
  tn_obj *owner;
} tn_reader;

/** Makes a module from the content that its save_binary wrote, with the loader of its kind: the
 * global function "runtime.module.loadbinary_KEY"(reader as a handle) -> Module, which advances the
 * reader past what it used. @return owned, or NULL: TVMError when there is no loader for type_key,
 * and the loader's own errors */
TN_API TN_OWNED tn_module *tn_module_load_binary(const char *type_key, tn_reader *r);

/* ---- start ---- */

/** Registers the types and global functions of the runtime. Called by every entry that needs it
 * (loading the Python extension, the compiler, a compiled library); call it first in a C program.
 * Safe to call again, from any thread. */
TN_API int tn_runtime_init(void);

/* ---- log ---- */

typedef enum {
  TN_LOG_DEBUG,
  TN_LOG_INFO,
  TN_LOG_WARNING,
  TN_LOG_ERROR,
  TN_LOG_OFF /**< as a level: no messages */
} tn_log_level;

/** Where messages go. */
typedef struct {
  /** Called for one message (without a line end), from any thread, also from several at once; file
   * and message are valid for the call. */
  void (*write)(void *ctx, tn_log_level level, const char *file, int line, const char *message);
  void *ctx;
} tn_log_sink;

/** Sends messages to a sink, which must stay valid as long as the process lives; NULL: to standard
 * error, as at the start. */
TN_API void tn_set_log_sink(const tn_log_sink *sink);
/** Writes a message to standard error as it is done without a sink: for a sink that leaves some of
 * them alone. */
TN_API void tn_log_to_stderr(tn_log_level level, const char *file, int line, const char *message);
/** Lowest level that is written: TN_LOG_WARNING at the start, or that of the variable TENON_LOG
 * ("debug", "info", "warning", "error", "off"; also "PREFIX=LEVEL" for source files, with commas).
 */
TN_API void tn_set_log_level(tn_log_level level);

/* ---- parallel loops ---- */

/**
 * What a task of a parallel loop knows about the loop.
 *
 * One pool of threads serves the process. It is made at the first launch; nothing is pinned to a
 * processor. Its size is that of tn_set_num_threads, else the first of TENON_NUM_THREADS,
 * TVM_NUM_THREADS and OMP_NUM_THREADS that is set, else the physical cores in the affinity mask,
 * cut down to the cgroup's quota.
 */
typedef struct {
  void *sync;       /**< the library's own */
  int32_t num_task; /**< tasks of this launch: a task takes its share of the work by it */
} tn_parallel_env;

/** One task. @return 0, or -1 with the thread's error set. */
typedef int (*tn_task)(int task_id, const tn_parallel_env *env, void *data);

/**
 * Runs fn(0), ..., fn(num_task - 1) and returns when all have ended.
 *
 * Task i runs on thread i of the pool, task 0 on the caller; tasks beyond the last thread follow on
 * the thread of their number modulo the size. May be called from any thread, also at the same time:
 * the launch that finds the pool in use, or is made inside a task, runs its tasks one after the
 * other on the calling thread, so no launch waits for another.
 * @param num_task 0 for as many tasks as threads will run them
 * @return 0, or -1 with the error of the task that failed first (the other tasks run to their end),
 *     ValueError when num_task < 0, RuntimeError in a process forked inside the launch
 */
TN_API int tn_parallel_launch(tn_task fn, void *data, int num_task);
/**
 * Returns when every task of the launch has called it. Tasks that could not start otherwise (more
 * tasks than threads, a launch that runs on the calling thread) get their own threads then, so
 * it works in every launch but is slow in those; launch with num_task 0 to avoid that.
 * @return 0, or -1 when another task failed, or when threads cannot be made (RuntimeError)
 */
TN_API int tn_parallel_barrier(int task_id, const tn_parallel_env *env);
/** Threads a launch may use, the caller's included. */
TN_API int tn_num_threads(void);
/** Sets the number for launches to come; n <= 0 restores the default. Never fails: the pool runs
 * with the threads that the system gives it. */
TN_API void tn_set_num_threads(int n);

/**
 * Functions called around long waits of the library (the end of a launch, a barrier), so that a
 * host may give up a lock that tasks need: an interpreter's, say. `enter` returns a token for
 * `leave`, or NULL when there is nothing to take back. Both NULL: none.
 */
TN_API void tn_set_wait_hooks(void *(*enter)(void), void (*leave)(void *token));

/* ---- devices ---- */

/** What a device can be asked for; the numbers are those of the old interface. */
typedef enum {
  TN_DEV_EXIST = 0, /**< int, 0 or 1 */
  TN_DEV_MAX_THREADS_PER_BLOCK = 1,
  TN_DEV_WARP_SIZE = 2,
  TN_DEV_MAX_SHARED_MEMORY_PER_BLOCK = 3, /**< bytes */
  TN_DEV_COMPUTE_VERSION = 4,             /**< string, "8.0" */
  TN_DEV_DEVICE_NAME = 5,                 /**< string */
  TN_DEV_MAX_CLOCK_RATE = 6,              /**< kHz */
  TN_DEV_MULTI_PROCESSOR_COUNT = 7,
  TN_DEV_MAX_THREAD_DIMENSIONS = 8, /**< string, "[1024, 1024, 64]" */
  TN_DEV_MAX_REGISTERS_PER_BLOCK = 9,
  TN_DEV_GCN_ARCH = 10,
  TN_DEV_API_VERSION = 11,
  TN_DEV_DRIVER_VERSION = 12,
  TN_DEV_L2_CACHE_SIZE_BYTES = 13,
  TN_DEV_TOTAL_GLOBAL_MEMORY = 14,     /**< bytes */
  TN_DEV_AVAILABLE_GLOBAL_MEMORY = 15, /**< bytes */
  TN_DEV_IMAGE_PITCH_ALIGNMENT = 16,
  TN_DEV_ATTRS
} tn_device_attr;

/** What serves a type of device. Functions return 0, or -1 with the thread's error set; `self` is
 * the struct's. A member marked optional may be NULL. */
typedef struct tn_device_api {
  uint32_t size; /**< sizeof(tn_device_api) of the one who filled it in */
  void *self;
  /** Stores an owned value, or leaves `*out` None for an attribute the device does not have. */
  int (*get_attr)(void *self, tn_device dev, tn_device_attr kind, tn_any *out);
  /** @param mem_scope NULL or "global" for ordinary memory
   *  @param dtype what the memory will hold, a hint */
  int (*alloc)(void *self, tn_device dev, size_t nbytes, size_t align, tn_dtype dtype,
               const char *mem_scope, void **out);
  int (*free)(void *self, tn_device dev, void *data);
  /** Copies bytes within the device type, or between it and the host; in order with `stream` (NULL:
   * the current one). A copy to the host has happened when it returns. */
  int (*copy)(void *self, const void *src, size_t src_offset, tn_device src_dev, void *dst,
              size_t dst_offset, tn_device dst_dev, size_t nbytes, void *stream);
  int (*sync)(void *self, tn_device dev, void *stream);     /**< NULL: the current stream */
  int (*stream_new)(void *self, tn_device dev, void **out); /**< optional, as the next ones */
  int (*stream_free)(void *self, tn_device dev, void *stream);
  int (*stream_set)(void *self, tn_device dev, void *stream); /**< for the calling thread */
  int (*stream_wait)(void *self, tn_device dev, void *src, void *dst); /**< dst waits for src */
} tn_device_api;

/** Device types of remote sessions are the plain type plus a multiple of this. */
enum { TN_DEVICE_REMOTE = 128 };

/** Puts the API that serves `device_type` (TN_DEVICE_REMOTE: all remote types) in force, for the
 * life of the process; `api` is kept by reference. ValueError for a type that is out of range or
 * taken. */
TN_API int tn_device_register_api(int device_type, const tn_device_api *api);
/** @return the API of a device type, or NULL: with DeviceError that says what is missing, unless
 * `allow_missing` */
TN_API const tn_device_api *tn_device_api_of(int device_type, bool allow_missing);

/** Device type of a name ("cuda", "llvm"), or -1 without an error. */
TN_API int tn_device_type_find(const char *name);
/** Name of a device type ("cpu"), or NULL. */
TN_API const char *tn_device_type_name(int device_type);
/** Parses "cuda", "cuda:3" or "cuda -arch=sm_80" (a target: its kind counts).
 *  @param id used when the text names none
 *  @return 0, or -1 (ValueError: naming near matches of an unknown name) */
TN_API int tn_device_parse(const char *text, int id, tn_device *out);
enum { TN_DEVICE_TEXT = 64 };
/** Writes "cpu(0)", "remote[1]:cuda(0)"; returns `out`. */
TN_API const char *tn_device_text(tn_device dev, char out[TN_DEVICE_TEXT]);

/** Can the host read and write the device's memory through a plain pointer? */
TN_API bool tn_device_is_host(tn_device dev);
/** Memory of a device; NULL with DeviceError, MemoryError or ValueError (scope). */
TN_API void *tn_device_alloc(tn_device dev, size_t nbytes, size_t align, tn_dtype dtype,
                             const char *mem_scope);
TN_API int tn_device_free(tn_device dev, void *data);
/** Copies bytes between two places of which at most one kind is not the host. DeviceError when the
 * devices are of different kinds. */
TN_API int tn_device_copy(const void *src, size_t src_offset, tn_device src_dev, void *dst,
                          size_t dst_offset, tn_device dst_dev, size_t nbytes, void *stream);
TN_API int tn_device_sync(tn_device dev, void *stream);
/** Attribute of a device as an owned value, None if it has none of that kind. TN_DEV_EXIST is 0 for
 * a device type without API; the others are DeviceError then. */
TN_API int tn_device_get_attr(tn_device dev, tn_device_attr kind, tn_any *out);

/* ---- tensors ---- */

/** A tensor: an object of type "runtime.NDArray" with a DLTensor directly behind its header. */
typedef struct tn_NDArray tn_tensor;

enum {
  TN_TENSOR_ALIGN = 128, /**< bytes; alignment of memory the library allocates for tensors */
  TN_MAX_NDIM = 256,
};

/** The description of a tensor. shape and the rest stay as they are for the life of the tensor;
 * strides is NULL when it is compact. */
static inline DLTensor *tn_tensor_dl(const tn_tensor *t) {
  return (DLTensor *)((uintptr_t)t + sizeof(tn_obj));
}
/** The tensor a description is part of: only for one that came from tn_tensor_dl. */
static inline tn_tensor *tn_tensor_of_dl(const DLTensor *dl) {
  return (tn_tensor *)((uintptr_t)dl - sizeof(tn_obj));
}
/** Type index of tensors (that of "runtime.NDArray"). */
TN_API int32_t tn_tensor_type_index(void);
/** The tensor description behind an argument, to be read: a tensor or a borrowed DLTensor.
 * TypeError otherwise. `*out` is borrowed. */
TN_API int tn_any_to_dltensor(const tn_any *a, const DLTensor **out);
/** The same for a tensor that is written: ValueError for one that is read-only. */
TN_API int tn_any_to_writable(const tn_any *a, DLTensor **out);
/** The argument as a tensor object, borrowed; TypeError otherwise. */
TN_API int tn_any_to_tensor(const tn_any *a, tn_tensor **out);

/** A tensor with uninitialised content, compact.
 *  @param shape ndim extents, none negative; copied. May be NULL when ndim is 0.
 *  @param mem_scope NULL for ordinary memory
 *  @return owned, or NULL: ValueError (shape, dtype, scope), MemoryError, DeviceError (no such
 *  device) */
TN_API TN_OWNED tn_tensor *tn_tensor_new(const int64_t *shape, int32_t ndim, tn_dtype dtype,
                                         tn_device dev, const char *mem_scope);
/** A compact tensor over part of the memory of `t`, which it keeps alive.
 *  @param byte_offset from the first element of t
 *  @return owned, or NULL: ValueError when t is not compact or the view would reach beyond it */
TN_API TN_OWNED tn_tensor *tn_tensor_view(tn_tensor *t, const int64_t *shape, int32_t ndim,
                                          tn_dtype dtype, int64_t byte_offset);
/** A tensor over memory described by someone else. The description is copied (bool becomes uint1, a
 * compact layout gets no strides, the offset is added to an address); any alignment is accepted.
 *  @param owner retained for the life of the tensor; NULL when the caller sees to it
 *  @return owned, or NULL: ValueError naming the member that is wrong */
TN_API TN_OWNED tn_tensor *tn_tensor_from_dltensor(const DLTensor *dl, tn_obj *owner);
/** Takes a tensor over from a producer, whose deleter is called when the tensor goes. When it fails
 * (NULL, ValueError) the producer's tensor is not touched and still the caller's. */
TN_API TN_OWNED tn_tensor *tn_tensor_from_dlpack(DLManagedTensor *m);
/** The same for the versioned protocol; ValueError for another major version. */
TN_API TN_OWNED tn_tensor *tn_tensor_from_dlpack_versioned(DLManagedTensorVersioned *m);
/** Hands a tensor out; the consumer calls the deleter, from any thread. Keeps `t` alive until then.
 * uint1 is handed out as DLPack's bool, and strides are always given. NULL: MemoryError, ValueError
 * for a read-only tensor (only the versioned protocol can say so). */
TN_API DLManagedTensor *tn_tensor_to_dlpack(tn_tensor *t);
TN_API DLManagedTensorVersioned *tn_tensor_to_dlpack_versioned(tn_tensor *t);

/** Number of elements. */
TN_API int64_t tn_tensor_count(const DLTensor *dl);
/** Bytes of the elements laid out compactly; types below a byte are packed (int4: two in a byte,
 * the first in the low half), bool takes a byte. */
TN_API int64_t tn_tensor_nbytes(const DLTensor *dl);
/** Are the elements in row-major order without gaps? Strides of extent-1 dimensions do not matter;
 * without elements always true. */
TN_API bool tn_tensor_is_contiguous(const DLTensor *dl);
/** Is the address of the first element a multiple of `align` bytes? */
TN_API bool tn_tensor_is_aligned(const DLTensor *dl, size_t align);
TN_API bool tn_tensor_is_read_only(const tn_tensor *t);
/** Does it borrow the memory of another object? */
TN_API bool tn_tensor_is_view(const tn_tensor *t);

/** Copies the elements of `src` to `dst`, on whatever devices they are. Any layout on the host; on
 * devices compact ones. ValueError unless dtypes are equal and shapes are (or, for two compact
 * tensors, the numbers of elements). */
TN_API int tn_tensor_copy(const DLTensor *src, DLTensor *dst);
/** A compact copy on `dev`. Owned, or NULL. */
TN_API TN_OWNED tn_tensor *tn_tensor_clone(const DLTensor *src, tn_device dev,
                                           const char *mem_scope);
/** Copies raw elements, compact in host memory, in and out. ValueError unless nbytes is
 * tn_tensor_nbytes. */
TN_API int tn_tensor_copy_from_bytes(DLTensor *dst, const void *data, size_t nbytes);
TN_API int tn_tensor_copy_to_bytes(const DLTensor *src, void *data, size_t nbytes);
/** Copies with conversion between element types, compact host tensors of equal numbers of elements:
 * any two of float16, bfloat16, float32 and float64 (rounding to nearest, ties to even), and int4
 * and int8, uint4 and uint8 (values that do not fit are ValueError). TypeError for other pairs. */
TN_API int tn_tensor_convert(const DLTensor *src, DLTensor *dst);

/* ---- parameters ---- */

/** Named tensors in the parameter format.
 *  @param params map from string to tensor, on any device
 *  @return owned bytes, or NULL: TypeError for other keys or values, MemoryError */
TN_API TN_OWNED tn_bytes *tn_params_save(const tn_map *params);
/** The same into a file, without the whole of it in memory; an existing file is replaced once the
 * new one is complete. OSError. */
TN_API int tn_params_save_file(const tn_map *params, const char *path);
/** Reads parameters; the data is copied. Owned map from name to tensor (on the CPU), or NULL:
 * ValueError "Invalid parameters file format" when it is anything else. */
TN_API TN_OWNED tn_map *tn_params_load(const void *data, size_t n);
/** Reads parameters from a file.
 *  @param views every tensor is a view of a private mapping of the file: read when it is used,
 *  aligned as it happens to lie in the file, and writing to it does not change the file (which must
 *  not be cut short meanwhile). For callers who copy from it, or mind the alignment. Otherwise the
 *  data is copied out of the mapping, so that memory is needed once.
 *  @return owned map, or NULL: OSError, ValueError */
TN_API TN_OWNED tn_map *tn_params_load_file(const char *path, bool views);
/** One tensor in the same format (the content of a constant in JSON). Owned. */
TN_API TN_OWNED tn_bytes *tn_tensor_save(const tn_tensor *t);
/** ValueError "Invalid DLTensor file format". */
TN_API TN_OWNED tn_tensor *tn_tensor_load(const void *data, size_t n);

#ifdef __cplusplus
}
#endif
#endif /* TENON_RUNTIME_H_ */
