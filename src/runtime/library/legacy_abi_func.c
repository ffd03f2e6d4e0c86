/* The exported Relay-era symbols for functions, modules and objects. Each converts, calls the
   operation of tenon/ffi.h or tenon/runtime.h and parks the error (see legacy_abi.h). Programs of
   old never started the runtime: what depends on its tables does it for them. */
#include "runtime/library/legacy_abi.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "object/containers.h"
#include "runtime/library/legacy_thread.h"
#include "runtime/module/module.h"

/* ---- functions ---- */

static int call(tn_func *f, const TVMValue *values, const int *codes, int n, tn_any *args,
                TVMValue *ret_val, int *ret_code) {
  tn_any ret = tn_any_none();
  for (int i = 0; i < n; ++i) TN_TRY(tn_legacy_to_any(&values[i], codes[i], &args[i]));
  TN_TRY(tn_func_call(f, args, n, &ret));
  return tn_legacy_set_result(&ret, ret_val, ret_code);
}

int TVMFuncCall(TVMFunctionHandle func, TVMValue *values, int *codes, int n, TVMValue *ret_val,
                int *ret_code) {
  tn_any few[TN_LEGACY_INLINE_ARGS];
  if (n <= TN_LEGACY_INLINE_ARGS)
    return call(func, values, codes, n, few, ret_val, ret_code) ? tn_legacy_fail() : 0;
  tn_any *many = tn_alloc_zero((size_t)n, sizeof *many);
  int err = many ? call(func, values, codes, n, many, ret_val, ret_code) : -1;
  tn_free(many);
  return err ? tn_legacy_fail() : 0;
}

int TVMFuncFree(TVMFunctionHandle func) {
  tn_release(func);
  return 0;
}

typedef struct {
  TVMPackedCFunc call;
  void *resource;
  TVMPackedCFuncFinalizer fin;
} c_function;

static int c_function_call(void *self, const tn_any *args, int32_t n, tn_any *ret) {
  const c_function *f = self;
  return tn_legacy_call_c(f->call, f->resource, args, n, ret);
}

static void c_function_fini(void *self) {
  c_function *f = self;
  if (f->fin) f->fin(f->resource);
  tn_free(f);
}

int TVMFuncCreateFromCFunc(TVMPackedCFunc func, void *resource, TVMPackedCFuncFinalizer fin,
                           TVMFunctionHandle *out) {
  c_function *f = tn_alloc(sizeof *f);
  if (!f) return tn_legacy_fail();
  *f = (c_function){func, resource, fin};
  *out = tn_func_new(c_function_call, f, c_function_fini);
  if (*out) return 0;
  tn_free(f); /* the caller keeps the resource */
  return tn_legacy_fail();
}

int TVMCFuncSetReturn(TVMRetValueHandle ret, TVMValue *value, int *code, int num_ret) {
  tn_any a, own, *out = ret;
  if (num_ret != 1) {
    TN_RAISE(ValueError, NULL, "TVMCFuncSetReturn: expected 1 result, got %d", num_ret);
    return tn_legacy_fail();
  }
  if (tn_legacy_to_any(value, code[0], &a) || tn_any_own(&a, &own)) return tn_legacy_fail();
  tn_any_release(out);
  *out = own;
  return 0;
}

int TVMCbArgToReturn(TVMValue *value, int *code) {
  tn_any a, own;
  if (tn_legacy_to_any(value, *code, &a) || tn_any_own(&a, &own) ||
      tn_legacy_set_result(&own, value, code))
    return tn_legacy_fail();
  return 0;
}

int TVMFuncRegisterGlobal(const char *name, TVMFunctionHandle f, int override) {
  return tn_func_register_obj(name, f, override) ? tn_legacy_fail() : 0;
}

int TVMFuncGetGlobal(const char *name, TVMFunctionHandle *out) {
  *out = NULL;
  if (tn_runtime_init()) return tn_legacy_fail();
  *out = tn_func_find(name);
  return 0;
}

int TVMFuncRemoveGlobal(const char *name) { return tn_func_remove(name) ? tn_legacy_fail() : 0; }

int TVMFuncListGlobalNames(int *out_size, const char ***out_array) {
  tn_legacy_thread *t = tn_legacy_state();
  tn_arr *names = t && !tn_runtime_init() ? tn_func_names() : NULL;
  const char **strings = names ? tn_alloc_array(names->len + 1, sizeof *strings) : NULL;
  if (!strings) {
    tn_release(names);
    return tn_legacy_fail();
  }
  for (int64_t i = 0; i < names->len; ++i)
    strings[i] = ((const tn_str *)names->items[i].v.obj)->data;
  tn_release(t->names);
  tn_free(t->strings);
  t->names = names;
  t->strings = strings;
  *out_size = (int)names->len;
  *out_array = strings;
  return 0;
}

/* ---- modules ---- */

int TVMModLoadFromFile(const char *file_name, const char *format, TVMModuleHandle *out) {
  if (tn_runtime_init()) return tn_legacy_fail();
  *out = tn_module_load(file_name, format ? format : "");
  return *out ? 0 : tn_legacy_fail();
}

int TVMModImport(TVMModuleHandle mod, TVMModuleHandle dep) {
  return tn_module_import(mod, dep) ? tn_legacy_fail() : 0;
}

int TVMModGetFunction(TVMModuleHandle mod, const char *func_name, int query_imports,
                      TVMFunctionHandle *out) {
  tn_func *f;
  *out = NULL;
  if (tn_module_get_function(mod, func_name, query_imports != 0, &f)) return tn_legacy_fail();
  *out = f;
  return 0;
}

int TVMModFree(TVMModuleHandle mod) {
  tn_release(mod);
  return 0;
}

/* ---- objects ---- */

int TVMObjectGetTypeIndex(TVMObjectHandle obj, unsigned *out_tindex) {
  *out_tindex = ((const tn_obj *)obj)->type_index;
  return 0;
}

int TVMObjectTypeKey2Index(const char *type_key, unsigned *out_tindex) {
  *out_tindex = tn_runtime_init() ? 0 : tn_type_find(type_key);
  if (*out_tindex) return 0;
  TN_RAISE(KeyError, NULL, "unknown type key %s", type_key);
  return tn_legacy_fail();
}

int TVMObjectTypeIndex2Key(unsigned tindex, char **out_type_key) {
  const tn_type *t = tn_type_get(tindex);
  if (!t) {
    TN_RAISE(KeyError, NULL, "unknown type index %u", tindex);
    return tn_legacy_fail();
  }
  *out_type_key = strdup(t->key); /* the caller frees it with the C library's free */
  if (*out_type_key) return 0;
  tn_raise_no_memory(strlen(t->key));
  return tn_legacy_fail();
}

int TVMObjectDerivedFrom(uint32_t child, uint32_t parent, int *is_derived) {
  const tn_type *base = tn_type_get(parent);
  *is_derived = base && tn_type_is(tn_type_get(child), base);
  return 0;
}

int TVMObjectRetain(TVMObjectHandle obj) {
  tn_retain(obj);
  return 0;
}

int TVMObjectFree(TVMObjectHandle obj) {
  tn_release(obj);
  return 0;
}
