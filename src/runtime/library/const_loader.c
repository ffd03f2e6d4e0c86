/* Constants for modules of other code generators, see const_loader.h. */
#include "runtime/library/const_loader.h"

#include "base/alloc.h"
#include "base/reader.h"
#include "base/scope.h"
#include "object/functions.h"
#include "runtime/library/legacy_abi.h"
#include "runtime/module/module_blob.h"
#include "runtime/threads/once.h"
#include "runtime/tensor/params.h"
#include "runtime/tensor/tensor_content.h"

typedef struct {
  tn_map *by_symbol, *data;
  tn_once *told; /* of each symbol */
} loader;

static void fini(tn_module *m) {
  loader *l = tn_module_self(m);
  tn_release(l->by_symbol);
  tn_release(l->data);
  tn_free(l->told);
  tn_free(l);
}

/* A function of the modules below. Owned, *out is NULL when there is none. */
static int find(tn_module *m, const char *name, bool deep, tn_func **out) {
  tn_arr *imports;
  int err = 0;
  TN_GET(imports, tn_module_imports(m));
  for (int64_t i = 0; !err && !*out && i < imports->len; ++i)
    err = tn_module_get_function((tn_module *)imports->items[i].v.obj, name, deep, out);
  tn_release(imports);
  return err;
}

static int call_with(tn_func *f, const loader *l, const tn_arr *names) {
  tn_any ret = tn_any_none();
  tn_module *m;
  void *code;
  /* compiled code keeps the address: of a read-only tensor it would get a copy for the call */
  bool compiled = tn_func_is_bound(f, tn_legacy_compiled_call, &m, &code);
  TN_AUTOFREE tn_any *args = tn_alloc_zero((size_t)names->len + 1, sizeof *args);
  if (!args) return -1;
  for (int64_t i = 0; i < names->len; ++i) {
    TN_CHECK(tn_map_get(l->data, names->items[i], &args[i]), ValueError, NULL,
             "const_loader: no constant \"%s\"", tn_cstr((const tn_str *)names->items[i].v.obj));
    DLTensor *dl = tn_tensor_dl((const tn_tensor *)args[i].v.obj);
    if (compiled) args[i] = (tn_any){.type_index = TN_DLTENSOR, .v.dltensor = dl};
  }
  TN_TRY(tn_func_call(f, args, (int32_t)names->len, &ret));
  tn_any_release(&ret);
  return 0;
}

static int tell(tn_module *m, const loader *l, const tn_map_entry *e) {
  tn_func *init = NULL;
  TN_BUF(name);
  tn_buf_printf(&name, "__init_%s", tn_cstr((const tn_str *)e->key.v.obj));
  TN_TRY(tn_buf_ok(&name));
  TN_TRY(find(m, tn_buf_cstr(&name), true, &init));
  TN_CHECK(init, AttributeError, NULL, "const_loader: no imported module has the function \"%s\"",
           tn_buf_cstr(&name));
  int err = call_with(init, l, (const tn_arr *)e->value.v.obj);
  tn_release(init);
  return err;
}

static int get_function(tn_module *m, const char *name, tn_func **out) {
  loader *l = tn_module_self(m);
  for (int64_t i = 0; i < l->by_symbol->len; ++i) {
    const tn_map_entry *e = &l->by_symbol->entries[i];
    if (!tn_str_eq((const tn_str *)e->key.v.obj, name)) continue;
    if (tn_once_begin(&l->told[i])) {
      int err = tell(m, l, e);
      tn_once_end(&l->told[i], err == 0);
      if (err) return -1;
    }
    return find(m, name, true, out);
  }
  return 0;
}

/* ---- bytes ---- */

static void put_names(tn_buf *b, const tn_arr *names) {
  tn_buf_u64(b, (uint64_t)names->len);
  for (int64_t i = 0; i < names->len; ++i) {
    const tn_str *s = (const tn_str *)names->items[i].v.obj;
    tn_buf_u64(b, s->len);
    tn_buf_put(b, tn_cstr(s), s->len);
  }
}

static void put_keys(tn_buf *b, const tn_map *m) {
  tn_buf_u64(b, (uint64_t)m->len);
  for (int64_t i = 0; i < m->len; ++i) {
    const tn_str *s = (const tn_str *)m->entries[i].key.v.obj;
    tn_buf_u64(b, s->len);
    tn_buf_put(b, tn_cstr(s), s->len);
  }
}

static tn_bytes *save_binary(tn_module *m) {
  const loader *l = tn_module_self(m);
  TN_BUF(b);
  put_keys(&b, l->data);
  tn_buf_u64(&b, (uint64_t)l->data->len);
  for (int64_t i = 0; i < l->data->len; ++i)
    TN_TRYP(tn_tensor_blob_save(l->data->entries[i].value.v.obj, &b));
  put_keys(&b, l->by_symbol);
  tn_buf_u64(&b, (uint64_t)l->by_symbol->len);
  for (int64_t i = 0; i < l->by_symbol->len; ++i)
    put_names(&b, (const tn_arr *)l->by_symbol->entries[i].value.v.obj);
  TN_TRYP(tn_buf_ok(&b));
  return tn_bytes_new(b.data, b.len);
}

static void *read_names(tn_reader *r) {
  uint64_t n;
  tn_bytes_view text;
  TN_VEC(names);
  TN_TRYP(tn_read_count(r, sizeof(uint64_t), &n));
  for (uint64_t i = 0; i < n; ++i) {
    TN_TRYP(tn_read_text(r, &text));
    TN_TRYP(
        tn_vec_push_obj(&names, tn_scope_own(tn_str_new_n((const char *)text.data, text.size))));
  }
  return tn_scope_own(tn_arr_new(names.items, names.len));
}

static void *read_tensor(tn_reader *r) { return tn_scope_own(tn_tensor_read(r)); }

/* The map from names that come next in `r` to what `read` makes of what follows them. */
static int read_map(tn_reader *r, void *(*read)(tn_reader *r), tn_map *out) {
  uint64_t n;
  const tn_arr *names;
  TN_GET(names, read_names(r));
  TN_TRY(tn_read_count(r, sizeof(uint64_t), &n));
  TN_CHECK(n == (uint64_t)names->len, ValueError, NULL,
           "const_loader: %llu values for %lld names at offset %zu", (unsigned long long)n,
           (long long)names->len, r->pos);
  for (int64_t i = 0; i < names->len; ++i) {
    void *value;
    TN_GET(value, read(r));
    TN_TRY(tn_map_set(out, names->items[i], tn_any_obj(value)));
  }
  return 0;
}

/* ---- making ---- */

static const tn_module_ops ops = {.type_key = "const_loader",
                                  .properties = TN_MODULE_BINARY | TN_MODULE_RUNNABLE,
                                  .get_function = get_function,
                                  .save_binary = save_binary,
                                  .fini = fini};

tn_module *tn_const_loader_new(tn_map *by_symbol, tn_map *data) {
  loader *l = tn_alloc_zero(1, sizeof *l);
  tn_once *told = tn_alloc_zero((size_t)by_symbol->len + 1, sizeof *told);
  if (l && told) {
    l->told = told;
    tn_retain(l->by_symbol = by_symbol);
    tn_retain(l->data = data);
    tn_module *m = tn_module_new(&ops, l);
    if (m) return m;
    tn_release(by_symbol);
    tn_release(data);
  }
  tn_free(told);
  tn_free(l);
  return NULL;
}

static int check_names(const tn_map *m, const tn_type *value, const char *what) {
  for (int64_t i = 0; i < m->len; ++i) {
    const tn_map_entry *e = &m->entries[i];
    TN_CHECK(e->key.type_index == TN_TI_String && tn_any_is_obj(&e->value) &&
                 tn_obj_is(e->value.v.obj, value),
             TypeError, NULL, "ConstLoaderModuleCreate: expected %s", what);
  }
  return 0;
}

/* name -> NDArray, symbol -> names */
static int create(TN_ARGS) {
  TN_NARGS("runtime.ConstLoaderModuleCreate", 2);
  TN_ARG_OBJ(Map, data, 0);
  TN_ARG_OBJ(Map, by_symbol, 1);
  TN_TRY(check_names(data, &tn_type_NDArray, "a map from name to NDArray"));
  TN_TRY(check_names(by_symbol, &tn_type_Array, "a map from symbol to names"));
  for (int64_t i = 0; i < by_symbol->len; ++i) {
    const tn_arr *names = (const tn_arr *)by_symbol->entries[i].value.v.obj;
    for (int64_t k = 0; k < names->len; ++k)
      TN_CHECK(names->items[k].type_index == TN_TI_String, TypeError, NULL,
               "ConstLoaderModuleCreate: expected names of constants as str");
  }
  return tn_ret_owned(ret, tn_const_loader_new(by_symbol, data));
}

static int load(TN_ARGS) {
  TN_NARGS("runtime.module.loadbinary_const_loader", 1);
  tn_reader *r;
  TN_TRY(tn_arg_reader(args, &r));
  tn_map *data, *by_symbol;
  TN_GET(data, tn_scope_own(tn_map_new()));
  TN_GET(by_symbol, tn_scope_own(tn_map_new()));
  TN_TRY(read_map(r, read_tensor, data));
  TN_TRY(read_map(r, read_names, by_symbol));
  return tn_ret_owned(ret, tn_const_loader_new(by_symbol, data));
}

static const tn_func_row rows[] = {
    {"runtime.ConstLoaderModuleCreate", create},
    {"runtime.module.loadbinary_const_loader", load},
};

int tn_const_loader_init(void) { return tn_func_register_rows(rows, TN_COUNT(rows)); }
