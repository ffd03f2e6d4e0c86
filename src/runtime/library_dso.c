/* Shared libraries as modules: "runtime.module.loadfile_so". */
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "object/functions.h"
#include "runtime/library.h"
#include "runtime/legacy_abi.h"

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
  tn_free(lib->path);
  tn_free(lib->modules);
  tn_free(lib);
}

/* While someone else has the library open it stays in memory, and its static variables go on
   pointing to its context and environment: those then stay, and we keep it open as well. */
static bool shared_close(tn_library *lib) {
  if (lib->stays) return false;
  dlclose(lib->handle);
  void *still = dlopen(lib->path, RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
  if (still == lib->handle) {
    lib->stays = true;
    return false;
  }
  if (still) dlclose(still); /* another file of that name */
  forget(lib);
  return true;
}

/* The library of a handle, with one reference of the loader; with the lock held. */
static tn_library *library_of_handle(void *handle, const char *path) {
  for (tn_library *lib = libraries; lib; lib = lib->next) {
    if (lib->handle != handle) continue;
    dlclose(handle); /* it has been counted before */
    return lib;
  }
  tn_library *lib = tn_alloc_zero(1, sizeof *lib);
  if (lib) lib->path = tn_strdup(path);
  if (!lib || !lib->path) {
    tn_free(lib);
    dlclose(handle);
    return NULL;
  }
  lib->symbol = shared_symbol;
  lib->close = shared_close;
  lib->handle = handle;
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

/* Bytes that the segments of a library take of its file; 0: not told, the loader says why. */
static uint64_t bytes_needed(int file) {
  ElfW(Ehdr) h;
  uint64_t need = 0;
  if (pread(file, &h, sizeof h, 0) != sizeof h || memcmp(h.e_ident, ELFMAG, SELFMAG) ||
      h.e_phentsize != sizeof(ElfW(Phdr)))
    return 0;
  for (int i = 0; i < h.e_phnum; ++i) {
    ElfW(Phdr) p;
    uint64_t at = h.e_phoff + (uint64_t)i * sizeof p, end;
    if (at < h.e_phoff || at > INT64_MAX - sizeof p) return UINT64_MAX;
    if (pread(file, &p, sizeof p, (off_t)at) != sizeof p) return at + sizeof p;
    end = p.p_offset + p.p_filesz;
    if (p.p_type == PT_LOAD && end > need) need = end;
    if (end < p.p_offset) return UINT64_MAX;
  }
  return need;
}

/* A file that was cut off would be mapped beyond its end: the process would die on first use. */
static int check_whole(const char *path) {
  struct stat s;
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  uint64_t need = fstat(file, &s) ? 0 : bytes_needed(file);
  close(file);
  TN_CHECK(!need || need <= (uint64_t)s.st_size, TenonError, NULL,
           "Failed to load dynamic shared library %s: the file is cut off: it has %lld bytes of at "
           "least %llu",
           path, (long long)s.st_size, (unsigned long long)need);
  return 0;
}

/* With the lock held. */
static tn_library *open_shared(const char *path) {
  TN_TRYP(check_whole(path));
  make_global();
  uint64_t before = tn_func_generation();
  void *handle = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
  TN_CHECKP(handle, TenonError, NULL, "Failed to load dynamic shared library %s", dlerror());
  tn_library *lib = library_of_handle(handle, path);
  /* functions that its constructors registered are called by name, whatever became of the module */
  if (lib && tn_func_generation() != before) lib->stays = true;
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
