/* A module into which functions are put by name: "testing.FrontendTestModule"(). Its function
   "__add_function"(name, f) adds one. For tests of what is done with modules. */
#include <pthread.h>
#include <string.h>

#include "base/alloc.h"
#include "object/functions.h"
#include "runtime/module/module.h"
#include "runtime/testing/testing.h"

typedef struct {
  pthread_mutex_t lock;
  tn_map *functions; /* name -> function; only used under the lock */
} store;

static int add_function(TN_ARGS) {
  store *s = self;
  const char *name;
  TN_NARGS("__add_function", 2);
  TN_TRY(tn_any_to_cstr(&args[0], &name));
  TN_ARG_OBJ(Function, f, 1);
  tn_str *key = tn_str_new(name);
  if (!key) return -1;
  pthread_mutex_lock(&s->lock);
  int err = tn_map_set(s->functions, tn_any_obj(key), tn_any_obj(f));
  pthread_mutex_unlock(&s->lock);
  tn_release(key);
  TN_TRY(err);
  return 0;
}

static int get_function(tn_module *m, const char *name, tn_func **out) {
  store *s = tn_module_self(m);
  if (strcmp(name, "__add_function") == 0) {
    TN_GET(*out, tn_module_bind(m, add_function, s));
    return 0;
  }
  pthread_mutex_lock(&s->lock);
  tn_obj *found = tn_map_find(s->functions, name);
  tn_retain(found);
  pthread_mutex_unlock(&s->lock);
  *out = (tn_func *)found;
  return 0;
}

static void fini(tn_module *m) {
  store *s = tn_module_self(m);
  pthread_mutex_destroy(&s->lock);
  tn_release(s->functions);
  tn_free(s);
}

static const tn_module_ops ops = {
    .type_key = "ffi_testing",
    .properties = TN_MODULE_RUNNABLE,
    .get_function = get_function,
    .fini = fini,
};

static int new_module(TN_ARGS) {
  TN_NARGS("testing.FrontendTestModule", 0);
  store *s;
  TN_GET(s, tn_alloc(sizeof *s));
  s->functions = tn_map_new();
  tn_module *m = s->functions ? tn_module_new(&ops, s) : NULL;
  if (!m) {
    tn_release(s->functions);
    tn_free(s);
    return -1;
  }
  pthread_mutex_init(&s->lock, NULL);
  return tn_ret_owned(ret, m);
}

static const tn_func_row rows[] = {{"testing.FrontendTestModule", new_module}};

int tn_testing_module_init(void) { return tn_func_register_rows(rows, TN_COUNT(rows)); }
