/* Modules over native code: lookup of compiled functions, the context that compiled code sees. */
#include "runtime/library/library.h"

#include <pthread.h>
#include <string.h>

#include "base/alloc.h"
#include "base/reader.h"
#include "object/functions.h"
#include "runtime/library/legacy_abi.h"
#include "runtime/module/module_blob.h"

static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
void tn_library_lock(void) { pthread_mutex_lock(&lock); }
void tn_library_unlock(void) { pthread_mutex_unlock(&lock); }

/* ---- the kind of module ---- */

static tn_library *library_of(const tn_module *m) { return m->self; }

/* The name of the entry function at `text`, if that is what is there: libraries define the symbol
   as the text of the name, or as the function itself. */
static const char *entry_name(const void *text, const tn_symbol_info *info) {
  size_t max = info->size ? info->size : 256;
  const char *s = text;
  if (info->kind == TN_SYMBOL_CODE) return NULL;
  for (size_t i = 0; i < max; ++i) {
    if (s[i] == '\0') return i ? s : NULL;
    bool word = (s[i] >= 'a' && s[i] <= 'z') || (s[i] >= 'A' && s[i] <= 'Z') || s[i] == '_' ||
                (s[i] >= '0' && s[i] <= '9');
    if (!word) return NULL;
  }
  return NULL;
}

/* Address of the function called `name`, or NULL. Data (a context, a blob) is not callable. */
static void *code_of(const tn_library *lib, const char *name) {
  void *p = lib->symbol(lib, name);
  tn_symbol_info info = p ? tn_symbol_describe(p) : (tn_symbol_info){0};
  if (p && strcmp(name, TN_MODULE_MAIN) == 0) {
    const char *entry = entry_name(p, &info);
    void *target = entry ? lib->symbol(lib, entry) : NULL;
    if (target) return target;
  }
  return info.kind == TN_SYMBOL_DATA ? NULL : p;
}

static int get_function(tn_module *m, const char *name, tn_func **out) {
  void *code = code_of(library_of(m), name);
  if (!code) return 0;
  *out = tn_module_bind(m, tn_legacy_compiled_call, code);
  return *out ? 0 : -1;
}

/* Takes m off its library's list, and closes the library after the last. What the environment holds
   is released without the lock, and after closing: it belongs to other libraries and modules (a
   library that registers global functions is never unloaded, see library_dso.c). */
static void module_gone(tn_module *m) {
  tn_library *lib = library_of(m);
  tn_map *released = NULL;
  tn_library_lock();
  for (int64_t i = 0; i < lib->nmodule; ++i) {
    if (lib->modules[i] == m) lib->modules[i] = lib->modules[--lib->nmodule];
  }
  if (lib->nmodule == 0) {
    tn_map *env = lib->env;
    if (lib->close(lib)) released = env;
  }
  tn_library_unlock();
  tn_release(released);
}

static const tn_module_ops library_ops = {
    .type_key = "library",
    .format = "so",
    .properties = TN_MODULE_RUNNABLE,
    .get_function = get_function,
    .fini = module_gone,
};

static int reserve(tn_library *lib) {
  if (lib->nmodule < lib->cap) return 0;
  int64_t cap = lib->cap ? lib->cap * 2 : 1;
  tn_module **modules = tn_realloc_array(lib->modules, cap, sizeof *modules);
  if (!modules) return -1;
  lib->modules = modules;
  lib->cap = cap;
  return 0;
}

static void *symbol_of(void *ctx, const char *name) {
  const tn_library *lib = ctx;
  return lib->symbol(lib, name);
}

/* Once, before any of its code can run: the variables are plain ones. */
static void start_code(tn_library *lib) {
  void **ctx = lib->symbol(lib, TN_SYMBOL_MODULE_CTX);
  if (ctx) *ctx = lib;
  lib->wants_aligned = tn_legacy_set_context(symbol_of, lib);
  lib->started = true;
}

tn_module *tn_library_module(tn_library *lib) {
  if (reserve(lib)) return NULL;
  tn_module *m = tn_module_new(&library_ops, lib);
  if (!m) return NULL;
  lib->modules[lib->nmodule++] = m;
  if (!lib->started) start_code(lib);
  return m;
}

uint32_t tn_library_alignment(const tn_module *m) {
  return m->ops == &library_ops && library_of(m)->wants_aligned ? 64 : 1;
}

/* ---- the modules it carries ---- */

static int load_blob(tn_library *lib, tn_module *m, tn_module **root) {
  const uint8_t *blob = lib->symbol(lib, TN_SYMBOL_DEV_MBLOB);
  if (!blob) {
    tn_retain(*root = m);
    return 0;
  }
  size_t size = tn_symbol_describe(blob).size;
  uint64_t n;
  tn_reader r = {.data = blob, .size = size ? size : sizeof n};
  TN_TRY(tn_read_u64(&r, &n));
  TN_CHECK(size == 0 || n <= size - sizeof n, ValueError, NULL,
           "%s: the library's modules are said to take %llu bytes, but there are %zu",
           TN_SYMBOL_DEV_MBLOB, (unsigned long long)n, size - sizeof n);
  return tn_module_unpack(blob + sizeof n, (size_t)n, m, true, root);
}

tn_module *tn_library_start(tn_library *lib, tn_module *m) {
  tn_module *root = NULL;
  int err = load_blob(lib, m, &root);
  tn_release(m);
  return err ? NULL : root;
}

/* ---- what compiled code looks up ---- */

/* Borrowed from the environment, or NULL. With the lock held. */
static tn_func *env_get(const tn_library *lib, const char *name) {
  tn_any found;
  if (!lib->env || !tn_map_get(lib->env, tn_any_cstr(name), &found)) return NULL;
  return (tn_func *)found.v.obj;
}

/* Arrays of what lib's modules import as of now; each is owned by the vector's user. */
static int collect_imports(const tn_library *lib, tn_vec *out) {
  for (int64_t i = 0; i < lib->nmodule; ++i) {
    tn_arr *imports = tn_module_imports(lib->modules[i]);
    if (!imports) return -1;
    if (tn_vec_push_obj(out, imports)) {
      tn_release(imports);
      return -1;
    }
  }
  return 0;
}

static int search_imports(const tn_vec *imports, const char *name, tn_func **out) {
  for (int64_t i = 0; i < imports->len && !*out; ++i) {
    const tn_arr *a = (const tn_arr *)imports->items[i].v.obj;
    for (int64_t j = 0; j < a->len && !*out; ++j)
      TN_TRY(tn_module_get_function((tn_module *)a->items[j].v.obj, name, true, out));
  }
  return 0;
}

/* Keeps f, unless another thread has found one meanwhile; that one is then the answer. */
static tn_func *env_put(tn_library *lib, const char *name, tn_func *f) {
  tn_library_lock();
  tn_func *old = env_get(lib, name);
  if (!old && ((!lib->env && !(lib->env = tn_map_new())) ||
               tn_map_set(lib->env, tn_any_cstr(name), tn_any_obj(f)))) {
    tn_library_unlock();
    tn_release(f);
    return NULL;
  }
  tn_library_unlock();
  tn_release(f); /* the environment keeps it */
  return old ? old : f;
}

tn_func *tn_library_env_function(tn_library *lib, const char *name) {
  static tn_library without_context;
  TN_VEC(imports);
  if (!lib) lib = &without_context;
  tn_library_lock();
  tn_func *f = env_get(lib, name);
  int err = f ? 0 : collect_imports(lib, &imports);
  tn_library_unlock();
  if (f) return f;
  if (!err) err = search_imports(&imports, name, &f);
  while (imports.len > 0) tn_release(imports.items[--imports.len].v.obj);
  if (err) return NULL;
  if (!f) f = tn_func_find(name);
  TN_CHECKP(f, TenonError, NULL,
            "Cannot find function %s in the imported modules or among the global functions", name);
  return env_put(lib, name, f);
}
