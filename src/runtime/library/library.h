/* Modules whose functions are native code in this process: shared libraries, and code linked into
   the program (the system library).

   A library is what the operating system's loader knows once, however often it is loaded as a
   module. Compiled code keeps its context (`__tvm_module_ctx`) and the functions it has looked up
   in static variables of the library, so both belong to the library and live until it is unloaded,
   with the last of its modules. */
#ifndef TN_RUNTIME_LIBRARY_LIBRARY_H_
#define TN_RUNTIME_LIBRARY_LIBRARY_H_

#include "runtime/library/library_file.h"
#include "runtime/module/module.h"

/* Symbols that a compiled library may define. */
#define TN_SYMBOL_MODULE_CTX "__tvm_module_ctx" /* void *: handed to TVMBackendGetFuncFromEnv */
#define TN_SYMBOL_DEV_MBLOB  "__tvm_dev_mblob"  /* imported modules: uint64 length and a blob */

typedef struct tn_library tn_library;
struct tn_library {
  /** Address of a symbol of the library itself, or NULL. */
  void *(*symbol)(const tn_library *lib, const char *name);
  /** The last module is gone: unloads and frees the library, but for one that stays in the process
   * (@return false). With the lock held. */
  bool (*close)(tn_library *lib);
  void *handle;       /* of dlopen; NULL for the system library */
  char *path;         /* of the file; NULL for the system library */
  tn_library_id id;   /* of what was in it */
  int file;           /* the copy in memory that it is loaded from; -1: the file itself */
  char *prefix;       /* of the system library's symbols; NULL for shared ones */
  bool stays;         /* somebody else needs it too: it is never unloaded */
  bool started;       /* compiled code has its context */
  bool wants_aligned; /* compiled by the old stack, which relies on the alignment of tensors */
  tn_library *next;
  int64_t nmodule, cap;
  tn_module **modules; /* loaded from it; not owned: each leaves when it goes */
  tn_map *env;         /* name to function, owned: what tn_library_env_function has found */
};

/** What the loader knows about the thing at an address. */
typedef struct {
  enum { TN_SYMBOL_UNKNOWN, TN_SYMBOL_CODE, TN_SYMBOL_DATA } kind;
  size_t size;     /* bytes, 0 when unknown */
  const void *map; /* the loaded object that defines it, NULL when unknown */
} tn_symbol_info;
tn_symbol_info tn_symbol_describe(const void *address);

/** The lock over all libraries: their list, `modules` and `env`. Recursive, since constructors of a
 * library that is being opened may load others. No foreign code but such constructors and
 * destructors runs while it is held. */
void tn_library_lock(void);
void tn_library_unlock(void);

/** A module of type "library" over `lib`, whose compiled code gets what it needs of the runtime;
 * with the lock held. Owned, or NULL (MemoryError). */
tn_module *tn_library_module(tn_library *lib);
/** Loads the modules that the library carries in its blob; without the lock.
 *  @param m new module of lib; the reference is given up
 *  @return root of the module tree, owned: m, or a module that imports it. NULL with an error. */
tn_module *tn_library_start(tn_library *lib, tn_module *m);

/** What functions of a module of compiled code expect the data of tensors to be a multiple of: 1
 * for all but libraries of the old stack. */
uint32_t tn_library_alignment(const tn_module *m);

/** A function compiled code asks for by name: of the imports of lib's modules, else a global one.
 *  @param lib NULL for code without a context
 *  @return borrowed from the library's environment, or NULL with an error */
tn_func *tn_library_env_function(tn_library *lib, const char *name);

/** Adds a symbol to the system library. */
int tn_system_lib_add(const char *name, void *address);

/** "runtime.module.loadfile_so"; part of tn_runtime_init. */
int tn_library_init(void);
/** "runtime.SystemLib"; part of tn_runtime_init. */
int tn_system_lib_init(void);

#endif /* TN_RUNTIME_LIBRARY_LIBRARY_H_ */
