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

/* ---- memory
 * -------------------------------------------------------------------------------------------------
 */

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

/* ---- modules
 * ------------------------------------------------------------------------------------------------
 */

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

/** Where a binary loader reads; see base/reader.h for the checked operations the library uses. */
typedef struct tn_reader {
  const uint8_t *data; /**< borrowed */
  size_t size;
  size_t pos; /**< next byte, <= size */
} tn_reader;

/** Makes a module from the content that its save_binary wrote, with the loader of its kind: the
 * global function "runtime.module.loadbinary_KEY"(reader as a handle) -> Module, which advances the
 * reader past what it used. @return owned, or NULL: TVMError when there is no loader for type_key,
 * and the loader's own errors */
TN_API TN_OWNED tn_module *tn_module_load_binary(const char *type_key, tn_reader *r);

/* ---- start
 * --------------------------------------------------------------------------------------------------
 */

/** Registers the types and global functions of the runtime. Called by every entry that needs it
 * (loading the Python extension, the compiler, a compiled library); call it first in a C program.
 * Safe to call again, from any thread. */
TN_API int tn_runtime_init(void);

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
 * tasks than threads, a launch that runs on the calling thread) get threads of their own then, so
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

#ifdef __cplusplus
}
#endif
#endif /* TENON_RUNTIME_H_ */
