/* Shared libraries as modules: "runtime.module.loadfile_so". */
#include <dlfcn.h>
#include <link.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "object/functions.h"
#include "runtime/library/library.h"
#include "runtime/library/legacy_abi.h"

static tn_library *libraries; /* under the lock */

/* ---- symbols ---- */

tn_symbol_info tn_symbol_describe(const void *address) {
  tn_symbol_info out = {TN_SYMBOL_UNKNOWN, 0, NULL};
#ifdef __GLIBC__
  Dl_info info;
  struct link_map *map = NULL;
  const ElfW(Sym) *sym = NULL;
  if (!dladdr1(address, &info, (void **)&map, RTLD_DL_LINKMAP)) return out;
  out.map = map;
  if (!dladdr1(address, &info, (void **)(uintptr_t)&sym, RTLD_DL_SYMENT) || !sym) return out;
  if (info.dli_saddr != address) return out;
  int type = ELF64_ST_TYPE(sym->st_info);
  out.size = sym->st_size;
  if (type == STT_FUNC || type == STT_GNU_IFUNC) out.kind = TN_SYMBOL_CODE;
  if (type == STT_OBJECT || type == STT_TLS) out.kind = TN_SYMBOL_DATA;
#else
  (void)address;
#endif
  return out;
}

/* dlsym also finds what the library was linked to (every function of libc): that is not its own. */
static void *shared_symbol(const tn_library *lib, const char *name) {
  struct link_map *own = NULL;
  void *p = dlsym(lib->handle, name);
  if (!p) return NULL;
  const void *map = tn_symbol_describe(p).map;
  if (map && dlinfo(lib->handle, RTLD_DI_LINKMAP, &own) == 0 && map != (void *)own) return NULL;
  return p;
}

/* ---- opening and closing ---- */

static void forget(tn_library *lib) {
  for (tn_library **at = &libraries; *at; at = &(*at)->next) {
    if (*at != lib) continue;
    *at = lib->next;
    break;
  }
  if (lib->file >= 0) close(lib->file);
  tn_free(lib->path);
  tn_free(lib->modules);
  tn_free(lib);
}

/* While someone else has the library open it stays in memory, and its static variables go on
   pointing to its context and environment: those then stay, and we keep it open as well. So does
   the descriptor of a copy, by whose number the loader knows it. */
static bool shared_close(tn_library *lib) {
  char name[TN_LIBRARY_NAME];
  if (lib->stays) return false;
  dlclose(lib->handle);
  void *still = dlopen(lib->file < 0 ? lib->path : tn_library_fd_name(lib->file, name),
                       RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
  if (still == lib->handle) {
    lib->stays = true;
    return false;
  }
  if (still) dlclose(still); /* another file of that name */
  forget(lib);
  return true;
}

/* A library of the loader with its handle, and the descriptor of its copy, which are given up to
   it. With the lock held. NULL with an error. */
static tn_library *new_library(void *handle, const char *path, int file, const tn_library_id *id) {
  tn_library *lib = tn_alloc_zero(1, sizeof *lib);
  if (lib) lib->path = tn_strdup(path);
  if (!lib || !lib->path) {
    tn_free(lib);
    dlclose(handle);
    if (file >= 0) close(file);
    return NULL;
  }
  lib->symbol = shared_symbol;
  lib->close = shared_close;
  lib->handle = handle;
  lib->file = file;
  lib->id = *id;
  lib->next = libraries;
  return libraries = lib;
}

/* Compiled C sources refer to our symbols by name and are linked to nothing: they find them when
   this library is global, which a host that opened it itself may not have asked for. */
static void make_global(void) {
  static bool done;
  Dl_info self;
  if (done) return;
  done = true;
  if (dladdr((const void *)(uintptr_t)tn_library_init, &self) && self.dli_fname)
    dlopen(self.dli_fname, RTLD_NOW | RTLD_GLOBAL | RTLD_NOLOAD);
}

/* Larger libraries are not copied to memory: they are mostly constants, which the loader shares. */
enum { MAX_COPIED = 32 << 20 };

/* A library that is open by its own name, in a copy of the file. NULL without an error where
   the system has no such copies, or the loader does not take them. */
static tn_library *open_copy(const char *path, int file, const tn_library_id *id) {
  char name[TN_LIBRARY_NAME];
  int copy = tn_library_copy(file, path);
  void *handle = copy < 0 ? NULL : dlopen(tn_library_fd_name(copy, name), RTLD_LAZY | RTLD_LOCAL);
  if (handle) return new_library(handle, path, copy, id);
  if (copy >= 0) close(copy);
  return NULL;
}

/* Code of a model: what its file holds is all of it, and it registers nothing. */
static bool is_model(const tn_library *lib) {
  return !lib->stays && shared_symbol(lib, TN_SYMBOL_MODULE_CTX);
}

/* By its own name, so that others who open it get the same. */
static tn_library *open_file(const char *path, const tn_library_id *id) {
  uint64_t before = tn_func_generation();
  void *handle = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
  TN_CHECKP(handle || !id->program, TenonError, NULL,
            "Failed to load dynamic shared library %s: it is a program, not a library", path);
  TN_CHECKP(handle, TenonError, NULL, "Failed to load dynamic shared library %s", dlerror());
  tn_library *lib = new_library(handle, path, -1, id);
  /* functions that its constructors registered are called by name, whatever became of the module */
  if (lib && tn_func_generation() != before) lib->stays = true;
  return lib;
}

static bool is_open(const char *path) {
  void *handle = dlopen(path, RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
  if (handle) dlclose(handle);
  return handle != NULL;
}

/* What is written to a file changes the code that is mapped from it, so models are moved to copies,
   unless somebody else uses the file's. */
static tn_library *open_new(const char *path, int file, const tn_library_id *id) {
  bool others = is_open(path);
  tn_library *lib = open_file(path, id);
  if (!lib || others || id->at.st_size > MAX_COPIED || !is_model(lib)) return lib;
  tn_library *copy = open_copy(path, file, id);
  if (!copy) return tn_error_pending() ? (shared_close(lib), NULL) : lib;
  shared_close(lib);
  return copy;
}

/* The library of a file that is open; *taken where the loader would take the file for another one.
 */
static tn_library *known_library(const char *path, int file, const tn_library_id *id, bool *taken) {
  *taken = false;
  for (tn_library *lib = libraries; lib; lib = lib->next) {
    if (tn_library_same(&lib->id, lib->file, id, file)) return lib;
    if (lib->file < 0)
      *taken |= strcmp(lib->path, path) == 0 || tn_library_same_place(&lib->id, id);
  }
  return NULL;
}

/* With the lock held. */
static tn_library *open_shared(const char *path) {
  tn_library_id id;
  bool taken;
  int file = tn_library_open(path, &id);
  if (file < 0) return NULL;
  make_global();
  tn_library *lib = known_library(path, file, &id, &taken);
  if (!lib) {
    lib = taken ? open_copy(path, file, &id) : open_new(path, file, &id);
    if (!lib && !tn_error_pending())
      TN_RAISE(
          TenonError, NULL,
          "Failed to load dynamic shared library %s: the file has changed, but what was loaded "
          "from it before is still in use, and the system gives no memory for another copy",
          path);
  }
  close(file);
  return lib;
}

static tn_module *load_shared(const char *path) {
  tn_library_lock();
  tn_library *lib = open_shared(path);
  tn_module *m = lib ? tn_library_module(lib) : NULL;
  if (lib && !m && lib->nmodule == 0) lib->close(lib);
  tn_library_unlock();
  return m ? tn_library_start(lib, m) : NULL;
}

static int loadfile_so(TN_ARGS) {
  const char *path;
  TN_CHECK(n >= 1, TypeError, NULL, "runtime.module.loadfile_so: expected a path");
  TN_TRY(tn_any_to_cstr(&args[0], &path));
  return tn_ret_owned(ret, load_shared(path));
}

static const tn_func_row rows[] = {{"runtime.module.loadfile_so", loadfile_so}};

int tn_library_init(void) { return tn_func_register_rows(rows, TN_COUNT(rows)); }
