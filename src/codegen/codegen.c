/* Finds the code generator of a target: a global function, or a plug-in beside this library. */
#include "codegen/codegen.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "ir/functor.h"
#include "object/functions.h"
#include "runtime/module/module.h"
#include "codegen/c/gen.h"
#include "codegen/codegen_impl.h"
#include "codegen/elf/elf.h"
#include "codegen/interp/interp.h"

static const void *llvm_plugin; /* its start function, once it is loaded */

/* Constructors of LLVM's library take memory, and end the process where there is none. So it is
   taken and given back before: many pieces, which the allocator keeps for what comes as long as the
   last one is in use. */
static void *open_library(const char *path) {
  enum { PIECES = 128, BYTES = 64 << 10 };
  void *pieces[PIECES], *handle = NULL;
  int n = 0;
  while (n < PIECES && (pieces[n] = tn_alloc(BYTES))) ++n;
  void *last = n == PIECES ? tn_alloc(BYTES) : NULL;
  while (n) tn_free(pieces[--n]);
  if (last) handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  else tn_error_clear();
  tn_free(last);
  return handle;
}

/* Opens lib<name>.so from the folder of this library and calls its `init`. Opened for good. */
static int open_plugin(const char *name, const char *init) {
  Dl_info self;
  TN_CHECK(dladdr((const void *)(uintptr_t)codegen_init, &self) && self.dli_fname, TenonError, NULL,
           "the folder of the compiler library is not known");
  const char *slash = strrchr(self.dli_fname, '/');
  tn_str *path =
      tn_str_fmt("%.*s%s", slash ? (int)(slash - self.dli_fname + 1) : 0, self.dli_fname, name);
  if (!path) return -1;
  void *handle = open_library(tn_cstr(path));
  if (!handle) {
    const char *why = dlerror();
    TN_CHECK(why && !strstr(why, "failed to map segment") && !strstr(why, strerror(ENOMEM)),
             MemoryError, NULL, "out of memory: the code generator %s cannot be loaded", name);
    return TN_RAISE(TenonError, NULL, "the code generator %s cannot be loaded: %s", name, why);
  }
  int (*start)(void) = (int (*)(void))dlsym(handle, init);
  TN_CHECK(start, TenonError, NULL, "%s is not a code generator: it has no %s", name, init);
  llvm_plugin = (const void *)(uintptr_t)start;
  return start();
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Loads the plug-in that generates LLVM code, once. */
static int need_llvm(void) {
  static bool loaded;
  pthread_mutex_lock(&lock);
  int err = loaded ? 0 : open_plugin("libtenon_llvm.so", "tn_llvm_init");
  loaded = !err;
  pthread_mutex_unlock(&lock);
  return err;
}

/* "c, cuda, llvm" */
static tn_str *enabled(void) {
  static const char prefix[] = "target.build.";
  TN_BUF(b);
  (void)codegen_has_llvm(); /* it registers its functions once it is loaded */
  tn_arr *names = tn_scope_own(tn_func_names());
  for (int64_t i = 0; names && i < names->len; ++i) {
    const char *name = tn_cstr((const tn_str *)names->items[i].v.obj);
    if (strncmp(name, prefix, sizeof prefix - 1) != 0) continue;
    tn_buf_printf(&b, "%s%s", b.len ? ", " : "", name + sizeof prefix - 1);
  }
  return tn_scope_own(tn_buf_str(&b));
}

typedef struct {
  const char *kind, *function;
} generator;

static int refuse_scalable(void *ctx, tn_obj *node) {
  const generator *g = ctx;
  const tn_expr *e = TN_IS(PrimExpr, node) ? (const tn_expr *)node : NULL;
  TN_CHECK(
      !e || !tn_dtype_is_scalable(e->dtype), CodegenError, e->span,
      "%s: expected vectors with a fixed number of lanes, got a %s of type %s: code for target "
      "%s has no scalable vectors; use a constant number of lanes",
      g->function, node->type->name, TN_DT(e->dtype), g->kind);
  return 0;
}

/* What no generator has is refused here, before one takes it for something else. */
static int check_functions(const tn_IRModule *m, const tn_target *t) {
  for (int64_t i = 0; i < tn_map_len(m->functions); ++i) {
    const tn_map_entry *e = &m->functions->entries[i];
    generator g = {tn_cstr(t->kind->name), tn_cstr(((tn_GlobalVar *)e->key.v.obj)->name_hint)};
    TN_TRY(tn_post_order(e->value.v.obj, refuse_scalable, &g));
  }
  return 0;
}

/* Calls a global function that returns an object; scope-owned. */
static void *call(tn_func *f, const tn_any *args, int32_t n, const char *type_key) {
  tn_any out = tn_any_none();
  tn_obj *object;
  TN_TRYP(tn_func_call(f, args, n, &out));
  if (tn_any_to_obj(&out, type_key, &object)) {
    tn_any_release(&out);
    return NULL;
  }
  return tn_scope_own(object);
}

tn_module *codegen_build(tn_IRModule *m, tn_target *t) {
  const char *kind = tn_cstr(t->kind->name);
  tn_any args[2] = {tn_any_obj(m), tn_any_obj(t)};
  tn_str *name;
  TN_TRYP(check_functions(m, t));
  if (target_makes(t, TARGET_MACHINE_CODE)) TN_TRYP(need_llvm());
  TN_GETP(name, tn_str_fmt("target.build.%s", kind));
  tn_func *f = tn_scope_own(tn_func_find(tn_cstr(name)));
  TN_CHECKP(f, ValueError, NULL,
            "no code generator for target kind %s: %s is not enabled; enabled are %s", kind,
            tn_cstr(name), tn_cstr(enabled()));
  return call(f, args, 2, "runtime.Module");
}

/* ---- parts ---- */

bool codegen_has_parts(const tn_target *t) {
  const char *triple = target_str(t, "mtriple", "");
  bool elf = !*triple || (strstr(triple, "linux") && (strncmp(triple, "x86_64", 6) == 0 ||
                                                      strncmp(triple, "aarch64", 7) == 0));
  return target_makes(t, TARGET_MACHINE_CODE) && elf && !target_int(t, "system-lib", 0) &&
         !target_str(t, "debug-info", NULL) && codegen_has_llvm();
}

static void *call_llvm(const char *name, const tn_any *args, int32_t n, const char *type_key) {
  TN_TRYP(need_llvm());
  tn_func *f = tn_scope_own(tn_func_find(name));
  TN_ICHECKP(f);
  return call(f, args, n, type_key);
}

tn_arr *codegen_compile_part(tn_IRModule *m, tn_target *t) {
  tn_any args[] = {tn_any_obj(m), tn_any_obj(t)};
  TN_TRYP(check_functions(m, t));
  return call_llvm("target.llvm_compile", args, 2, "Array");
}

tn_module *codegen_assemble(tn_arr *parts, tn_target *t) {
  tn_any args[] = {tn_any_obj(parts), tn_any_obj(t)};
  return call_llvm("target.llvm_assemble", args, 2, "runtime.Module");
}

/* Which build of a library holds a function: its file's size and time. */
static void put_stamp(tn_buf *out, const void *function) {
  Dl_info lib;
  struct stat s;
  if (dladdr(function, &lib) && lib.dli_fname && stat(lib.dli_fname, &s) == 0)
    tn_buf_printf(out, " %lld.%lld.%09ld", (long long)s.st_size, (long long)s.st_mtim.tv_sec,
                  s.st_mtim.tv_nsec);
}

tn_str *codegen_describe(tn_target *t) {
  TN_BUF(out);
  tn_any arg = tn_any_obj(t);
  const tn_str *machine;
  TN_GETP(machine, call_llvm("target.llvm_describe", &arg, 1, NULL));
  tn_buf_puts(&out, tn_cstr(machine));
  put_stamp(&out, (const void *)(uintptr_t)codegen_init);
  put_stamp(&out, llvm_plugin);
  return tn_scope_own(tn_buf_str(&out));
}

/* Asked once: it stays the same. */
static char host_processor[64];
static void find_host_processor(void) {
  TN_SCOPE(scope);
  const tn_str *name =
      codegen_has_llvm() ? call_llvm("target.llvm_host_processor", NULL, 0, NULL) : NULL;
  if (!name) tn_error_clear();
  else snprintf(host_processor, sizeof host_processor, "%s", tn_cstr(name));
}

const char *codegen_host_processor(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, find_host_processor);
  return host_processor;
}

static int build(TN_ARGS) {
  TN_NARGS("target.Build", 2);
  TN_ARG_OBJ(IRModule, m, 0);
  tn_target *t;
  TN_GET(t, target_from(&args[1]));
  return tn_ret_obj(ret, codegen_build(m, t));
}

bool codegen_has_llvm(void) {
  if (need_llvm() == 0) return true;
  tn_error_clear();
  return false;
}

/* What the plug-in says about LLVM; 0 when it is not there. */
static int llvm_version(TN_ARGS) {
  *ret = tn_any_int(0);
  if (!codegen_has_llvm()) return 0;
  tn_func *f = tn_scope_own(tn_func_find("target.llvm_version"));
  return f ? tn_func_call(f, NULL, 0, ret) : 0;
}

/* (path, format) -> Module of a file of LLVM's text or bitcode */
static int load_llvm(TN_ARGS) {
  TN_NARGS("runtime.module.loadfile_ll", 2);
  return tn_ret_obj(ret, call_llvm("target.llvm_load_file", args, 1, "runtime.Module"));
}

static const tn_func_row rows[] = {
    {"target.Build", build},
    {"runtime.module.loadfile_ll", load_llvm},
    {"runtime.module.loadfile_bc", load_llvm},
    {"target.llvm_version_major", llvm_version},
};

int codegen_init(void) {
  static int (*const parts[])(void) = {c_build_init, opencl_build_init, cuda_build_init,
                                       interp_init,  elf_init,          codegen_from_device_init};
  for (int i = 0; i < TN_COUNT(parts); ++i) TN_TRY(parts[i]());
  return tn_func_register_rows(rows, TN_COUNT(rows));
}
