/* Modules and the graph of their imports: construction, lookup, import. */
#include "runtime/module/module.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "base/pmap.h"
#include "object/functions.h"

static void module_fini(tn_obj *obj) {
  tn_module *m = (tn_module *)obj;
  if (m->ops && m->ops->fini) m->ops->fini(m); /* imports are a field: released after this */
}
const tn_type_hooks tn_module_hooks = {.fini = module_fini};

tn_module *tn_module_new(const tn_module_ops *ops, void *self) {
  tn_module *m = tn_obj_alloc(&tn_type_Module, sizeof *m);
  if (!m) return NULL;
  m->imports = NULL;
  m->ops = ops;
  m->self = self;
  return m;
}

void *tn_module_self(const tn_module *m) { return m->self; }
const tn_module_ops *tn_module_get_ops(const tn_module *m) { return m->ops; }
const char *tn_module_type_key(const tn_module *m) { return m->ops->type_key; }
uint32_t tn_module_properties(const tn_module *m) { return m->ops->properties; }

int tn_arg_module(const tn_any *args, int32_t n, int32_t i, tn_module **out) {
  TN_TRY(tn_arg_obj(args, n, i, &tn_type_Module, (tn_obj **)out));
  TN_CHECK(*out, TypeError, NULL, "argument %d: expected runtime.Module, got None", i);
  return 0;
}

/* ---- imports ---- */

/* Guards `imports` of all modules. Recursive: the check for cycles walks while it is held. */
static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

/* Owned; NULL when there are none. */
static tn_arr *snapshot(const tn_module *m) {
  pthread_mutex_lock(&lock);
  tn_arr *a = m->imports;
  tn_retain(a);
  pthread_mutex_unlock(&lock);
  return a;
}

tn_arr *tn_module_imports(const tn_module *m) {
  tn_arr *a = snapshot(m);
  return a ? a : tn_arr_new(NULL, 0);
}

/* Puts the imports of m on the stack, the first one on top. The stack owns its modules: one that
   another thread drops meanwhile must not vanish. */
static int push_imports(tn_vec *todo, const tn_module *m) {
  tn_arr *imports = snapshot(m);
  int err = 0;
  for (int64_t i = imports ? imports->len : 0; i-- > 0 && !err;) {
    err = tn_vec_push(todo, imports->items[i]);
    if (!err) tn_retain(imports->items[i].v.obj);
  }
  tn_release(imports);
  return err;
}

/* seen: modules done, kept alive until the end by `kept` so that no address is used twice. */
static int walk(tn_vec *todo, tn_vec *kept, tn_pmap *seen, int (*fn)(void *, tn_module *),
                void *ctx) {
  while (todo->len > 0) {
    tn_any top = todo->items[todo->len - 1];
    if (tn_pmap_has(seen, top.v.obj)) {
      --todo->len;
      tn_release(top.v.obj);
      continue;
    }
    TN_TRY(tn_pmap_put(seen, top.v.obj, top.v.obj));
    TN_TRY(tn_vec_push(kept, top)); /* takes over the stack's reference */
    --todo->len;
    int r = fn(ctx, (tn_module *)top.v.obj);
    if (r) return r;
    TN_TRY(push_imports(todo, (tn_module *)top.v.obj));
  }
  return 0;
}

static void release_all(tn_vec *v) {
  while (v->len > 0) tn_release(v->items[--v->len].v.obj);
}

int tn_module_walk(tn_module *root, int (*fn)(void *ctx, tn_module *m), void *ctx) {
  TN_VEC(todo);
  TN_VEC(kept);
  TN_PMAP(seen);
  int r = fn(ctx, root);
  if (r) return r;
  if (push_imports(&todo, root)) r = -1;
  if (!r && todo.len > 0) r = walk(&todo, &kept, &seen, fn, ctx);
  release_all(&todo);
  release_all(&kept);
  return r;
}

static int is_same(void *wanted, tn_module *m) { return wanted == (void *)m; }

/* Is m one of `from`, or imported by one of them through any number of others? -1 on error. */
static int reached(const tn_any *from, int64_t n, tn_module *m) {
  for (int64_t i = 0; i < n; ++i) {
    int r = tn_module_walk((tn_module *)from[i].v.obj, is_same, m);
    if (r) return r;
  }
  return 0;
}

/* The array of m's imports with others at the end; owned. */
static tn_arr *extended(const tn_module *m, const tn_any *others, int64_t n) {
  TN_VEC(v);
  const tn_arr *old = m->imports;
  for (int64_t i = 0; old && i < old->len; ++i) TN_TRYP(tn_vec_push(&v, old->items[i]));
  for (int64_t i = 0; i < n; ++i) TN_TRYP(tn_vec_push(&v, others[i]));
  return tn_arr_new(v.items, v.len);
}

int tn_module_import_all(tn_module *m, const tn_any *others, int64_t n) {
  tn_arr *old = NULL, *now = NULL;
  pthread_mutex_lock(&lock);
  int r = reached(others, n, m);
  if (r == 0 && (now = extended(m, others, n))) {
    old = m->imports;
    m->imports = now;
  }
  pthread_mutex_unlock(&lock);
  tn_release(old); /* outside the lock: may run finalizers */
  TN_CHECK(r <= 0, ValueError, NULL,
           "module imports must not form a cycle: a %s module would import itself",
           m->ops->type_key);
  return now ? 0 : -1;
}

int tn_module_import(tn_module *m, tn_module *other) {
  tn_any one = tn_any_obj(other);
  return tn_module_import_all(m, &one, 1);
}

void tn_module_clear_imports(tn_module *m) {
  pthread_mutex_lock(&lock);
  tn_arr *old = m->imports;
  m->imports = NULL;
  pthread_mutex_unlock(&lock);
  tn_release(old);
}

/* ---- functions ---- */

typedef struct {
  const char *name;
  tn_func *found; /* owned */
} search;

/* 1 when found, 0 to go on, -1 on error. */
static int look_in(void *ctx, tn_module *m) {
  search *s = ctx;
  if (!m->ops->get_function) return 0;
  TN_TRY(m->ops->get_function(m, s->name, &s->found));
  return s->found != NULL;
}

int tn_module_get_function(tn_module *m, const char *name, bool query_imports, tn_func **out) {
  search s = {name, NULL};
  *out = NULL;
  int r = query_imports ? tn_module_walk(m, look_in, &s) : look_in(&s, m);
  if (r < 0) return tn_trace(__FILE__, __LINE__, __func__);
  *out = s.found;
  return 0;
}

static int look_for_source(void *ctx, tn_module *m) {
  const char *key = tn_module_type_key(m);
  (void)ctx;
  return strcmp(key, "c") == 0 || strcmp(key, "static_library") == 0;
}

const char *tn_module_why_missing(tn_module *m) {
  return m && tn_module_walk(m, look_for_source, NULL) == 1
             ? ": its code is C source or an object file, which does not run where it is: "
               "export_library and load what that writes, or compile for the target llvm"
             : "";
}

tn_func *tn_module_require(tn_module *m, const char *name, bool query_imports) {
  tn_func *f;
  TN_TRYP(tn_module_get_function(m, name, query_imports, &f));
  TN_CHECKP(f, AttributeError, NULL, "Module has no function '%s'%s", name,
            tn_module_why_missing(m));
  return f;
}

int tn_use_begin(tn_use *u, const char *what, const char *function) {
  TN_CHECK(
      !atomic_exchange_explicit(&u->taken, 1, memory_order_acquire), RuntimeError, NULL,
      "%s: %s: it is in use by another call, of a function that it runs or of another thread: it "
      "is for one call at a time (make one for each thread)",
      what, function);
  return 0;
}

void tn_use_end(tn_use *u) { atomic_store_explicit(&u->taken, 0, memory_order_release); }

/* A function of a module: keeps the module, and through it the code, alive. */
typedef struct {
  tn_module *m;
  tn_call call;
  void *self;
  tn_use *use; /* of one that is called alone, as the next two */
  const char *what, *name;
} method;

static int method_call(void *self, const tn_any *args, int32_t n, tn_any *ret) {
  const method *f = self;
  return f->call(f->self, args, n, ret);
}

static int method_call_alone(void *self, const tn_any *args, int32_t n, tn_any *ret) {
  const method *f = self;
  TN_TRY(tn_use_begin(f->use, f->what, f->name));
  int err = f->call(f->self, args, n, ret);
  tn_use_end(f->use);
  return err;
}

static void method_fini(void *self) {
  tn_release(((method *)self)->m);
  tn_free(self);
}

static tn_func *new_method(method it) {
  method *f = tn_alloc(sizeof *f);
  if (!f) return NULL;
  *f = it;
  tn_func *func = tn_func_new(it.use ? method_call_alone : method_call, f, method_fini);
  if (func) tn_retain(it.m);
  else tn_free(f);
  return func;
}

tn_func *tn_module_bind(tn_module *m, tn_call call, void *self) {
  return new_method((method){m, call, self, NULL, NULL, NULL});
}

tn_func *tn_module_bind_alone(tn_module *m, const tn_func_row *row, void *self, tn_use *use,
                              const char *what) {
  return new_method((method){m, row->call, self, use, what, row->name});
}

bool tn_func_is_bound(const tn_func *f, tn_call call, tn_module **m, void **self) {
  const method *bound = f->self;
  if (f->call != method_call || bound->call != call) return false;
  *m = bound->m;
  *self = bound->self;
  return true;
}

/* ---- what a kind of module may leave out ---- */

static int unsupported(const tn_module *m, const char *what) {
  return TN_RAISE(TenonError, NULL, "Module[%s] does not support %s", m->ops->type_key, what);
}

tn_str *tn_module_source(tn_module *m, const char *format) {
  if (m->ops->get_source) return m->ops->get_source(m, format);
  unsupported(m, "GetSource");
  return NULL;
}

const char *tn_module_format(tn_module *m) { return m->ops->format ? m->ops->format : ""; }

int tn_module_save(tn_module *m, const char *path, const char *format) {
  if (m->ops->save_file) return m->ops->save_file(m, path, format);
  return unsupported(m, "SaveToFile");
}

tn_bytes *tn_module_save_binary(tn_module *m) {
  if (m->ops->save_binary) return m->ops->save_binary(m);
  unsupported(m, "SaveToBinary");
  return NULL;
}
