/* The system library: compiled code linked into the program, which names its symbols at start
   through TVMBackendRegisterSystemLibSymbol. Several models in one program keep apart by a prefix
   to all their symbols; there is one module for each prefix, made when first asked for. */
#include <string.h>

#include "base/alloc.h"
#include "base/lock.h"
#include "object/functions.h"
#include "runtime/library/library.h"

/* Own lock: symbols are registered by constructors, also while the libraries' lock is held. */
static tn_lock lock = TN_LOCK_INIT;
static tn_map *symbols; /* name to address, for the life of the process */

int tn_system_lib_add(const char *name, void *address) {
  tn_lock_write(&lock);
  int err = !symbols && !(symbols = tn_map_new()) ? -1 : 0;
  if (!err) err = tn_map_set(symbols, tn_any_cstr(name), tn_any_ptr(address));
  tn_unlock(&lock);
  return err;
}

static void *find(const char *name) {
  tn_any a = tn_any_none();
  tn_lock_read(&lock);
  if (symbols) tn_map_get(symbols, tn_any_cstr(name), &a);
  tn_unlock(&lock);
  return a.type_index == TN_PTR ? a.v.ptr : NULL;
}

/* A name stands for the symbol with the module's prefix, or is the whole symbol already. */
static void *system_symbol(const tn_library *lib, const char *name) {
  char full[512];
  size_t np = strlen(lib->prefix), n = strlen(name);
  void *p = NULL;
  if (np > 0 && np + n < sizeof full) {
    memcpy(full, lib->prefix, np);
    memcpy(full + np, name, n + 1);
    p = find(full);
    if (!p && strncmp(name, lib->prefix, np) != 0) return NULL;
  }
  return p ? p : find(name);
}

static bool never_closed(tn_library *lib) {
  (void)lib;
  return false;
}

/* One for each prefix; they live as long as the process, as the code does. */
typedef struct system_module {
  tn_library lib;
  tn_module *root; /* owned; NULL while its first user starts it */
  struct system_module *next;
} system_module;
static system_module *modules; /* under the libraries' lock */

/* With the libraries' lock held. */
static system_module *of_prefix(const char *prefix) {
  for (system_module *s = modules; s; s = s->next) {
    if (strcmp(s->lib.prefix, prefix) == 0) return s;
  }
  system_module *s = tn_alloc_zero(1, sizeof *s);
  if (s) s->lib.prefix = tn_strdup(prefix);
  if (!s || !s->lib.prefix) {
    tn_free(s);
    return NULL;
  }
  s->lib.symbol = system_symbol;
  s->lib.close = never_closed;
  s->next = modules;
  return modules = s;
}

/* Threads that ask at the same time start a module each, over one library; the first one stays. */
static tn_module *keep_first(system_module *s, tn_module *root) {
  tn_library_lock();
  if (!s->root) s->root = root, tn_retain(root);
  tn_module *first = s->root;
  tn_retain(first);
  tn_library_unlock();
  tn_release(root);
  return first;
}

tn_module *tn_system_lib(const char *prefix) {
  tn_library_lock();
  system_module *s = of_prefix(prefix);
  tn_module *root = s ? s->root : NULL;
  tn_retain(root);
  tn_module *m = s && !root ? tn_library_module(&s->lib) : NULL;
  tn_library_unlock();
  if (root || !m) return root;
  root = tn_library_start(&s->lib, m);
  return root ? keep_first(s, root) : NULL;
}

static int system_lib(TN_ARGS) {
  const char *prefix = "";
  if (n > 0) TN_TRY(tn_any_to_cstr(&args[0], &prefix));
  return tn_ret_owned(ret, tn_system_lib(prefix));
}

static const tn_func_row rows[] = {{"runtime.SystemLib", system_lib}};

int tn_system_lib_init(void) { return tn_func_register_rows(rows, TN_COUNT(rows)); }
