/* Module trees to bytes and back; the format is in module_blob.h. */
#include "runtime/module/module_blob.h"

#include <string.h>

#include "base/alloc.h"
#include "base/pmap.h"
#include "base/reader.h"
#include "object/functions.h"

static const char lib_key[] = "_lib", tree_key[] = "_import_tree";

/* ---- reading ---- */

enum { MAX_KEY = 255 };

typedef struct {
  uint64_t n;
  const uint8_t *items; /* n little-endian uint64, maybe misaligned */
} u64_list;

typedef struct {
  tn_vec modules; /* owned references */
  tn_module *lib; /* borrowed */
  bool has_lib, has_tree;
  u64_list rows, children;
} blob;

static uint64_t item(const u64_list *l, uint64_t i) {
  uint64_t x = 0;
  for (int k = 7; k >= 0; --k) x = x << 8 | l->items[i * 8 + (uint64_t)k];
  return x;
}

static int read_list(tn_reader *r, u64_list *out) {
  TN_TRY(tn_read_count(r, sizeof(uint64_t), &out->n));
  return tn_read_bytes(r, out->n * sizeof(uint64_t), &out->items);
}

static int read_key(tn_reader *r, char key[MAX_KEY + 1]) {
  tn_bytes_view v;
  TN_TRY(tn_read_text(r, &v));
  TN_CHECK(v.size > 0 && v.size <= MAX_KEY && !memchr(v.data, 0, v.size), ValueError, NULL,
           "module blob: a type key of %zu bytes", v.size);
  memcpy(key, v.data, v.size);
  key[v.size] = '\0';
  return 0;
}

static int add(blob *b, tn_module *m) {
  if (!m) return -1;
  int err = tn_vec_push_obj(&b->modules, m);
  if (err) tn_release(m);
  return err;
}

static int read_entry(tn_reader *r, blob *b) {
  char key[MAX_KEY + 1];
  TN_TRY(read_key(r, key));
  TN_CHECK(!b->has_tree, ValueError, NULL, "module blob: %s after the import tree", key);
  if (strcmp(key, tree_key) == 0) {
    b->has_tree = true;
    TN_TRY(read_list(r, &b->rows));
    return read_list(r, &b->children);
  }
  if (strcmp(key, lib_key) == 0) {
    TN_CHECK(!b->has_lib, ValueError, NULL, "module blob: the library occurs twice");
    b->has_lib = true;
    tn_retain(b->lib);
    return add(b, b->lib);
  }
  return add(b, tn_module_load_binary(key, r));
}

/* Module i imports children[begin..end). */
static int link_one(const blob *b, int64_t i, uint64_t begin, uint64_t end) {
  TN_VEC(imports);
  TN_CHECK(begin <= end && end <= b->children.n, ValueError, NULL,
           "module blob: imports of module %lld are [%llu, %llu) of %llu", (long long)i,
           (unsigned long long)begin, (unsigned long long)end, (unsigned long long)b->children.n);
  for (uint64_t k = begin; k < end; ++k) {
    uint64_t child = item(&b->children, k);
    TN_CHECK(child < (uint64_t)b->modules.len, ValueError, NULL,
             "module blob: module %lld imports module %llu of %lld", (long long)i,
             (unsigned long long)child, (long long)b->modules.len);
    TN_TRY(tn_vec_push(&imports, b->modules.items[child]));
  }
  if (imports.len == 0) return 0;
  return tn_module_import_all((tn_module *)b->modules.items[i].v.obj, imports.items, imports.len);
}

static int link_tree(const blob *b) {
  TN_CHECK(b->rows.n == (uint64_t)b->modules.len + 1, ValueError, NULL,
           "module blob: an import tree of %llu rows for %lld modules",
           (unsigned long long)b->rows.n, (long long)b->modules.len);
  for (int64_t i = 0; i < b->modules.len; ++i)
    TN_TRY(link_one(b, i, item(&b->rows, (uint64_t)i), item(&b->rows, (uint64_t)i + 1)));
  return 0;
}

/* Files without a tree: all modules are the library's own imports. */
static int link_flat(const blob *b) {
  TN_VEC(imports);
  for (int64_t i = 0; i < b->modules.len; ++i) {
    if (b->modules.items[i].v.obj != &b->lib->hdr)
      TN_TRY(tn_vec_push(&imports, b->modules.items[i]));
  }
  return imports.len ? tn_module_import_all(b->lib, imports.items, imports.len) : 0;
}

static int read_all(tn_reader *r, blob *b) {
  uint64_t n;
  TN_TRY(tn_read_count(r, sizeof(uint64_t), &n)); /* each entry has at least a key's length */
  for (uint64_t i = 0; i < n; ++i) TN_TRY(read_entry(r, b));
  return b->has_tree ? link_tree(b) : link_flat(b);
}

static int is_same(void *wanted, tn_module *m) { return wanted == (void *)m; }

/* The root of what was read. A library that it does not reach becomes its last import, so that the
   functions are not lost. */
static int find_root(const blob *b, tn_module **root) {
  tn_module *m =
      b->has_tree && b->modules.len > 0 ? (tn_module *)b->modules.items[0].v.obj : b->lib;
  int reached = tn_module_walk(m, is_same, b->lib);
  if (reached < 0) return -1;
  if (!reached) TN_TRY(tn_module_import(m, b->lib));
  tn_retain(*root = m);
  return 0;
}

int tn_arg_reader(const tn_any *args, tn_reader **out) {
  void *p;
  TN_TRY(tn_any_to_ptr(&args[0], &p));
  TN_CHECK(p, TypeError, NULL, "argument 0: expected a reader, got None");
  *out = p;
  return 0;
}

int tn_module_unpack(const uint8_t *data, size_t n, tn_module *lib, bool lasting,
                     tn_module **root) {
  blob b = {.lib = lib};
  tn_reader r = {.data = data, .size = n, .owner = lasting ? &lib->hdr : NULL};
  *root = NULL;
  int err = read_all(&r, &b) || find_root(&b, root);
  while (b.modules.len > 0) tn_release(b.modules.items[--b.modules.len].v.obj);
  tn_vec_fini(&b.modules);
  return err ? tn_trace(__FILE__, __LINE__, __func__) : 0;
}

/* ---- writing ---- */

typedef struct {
  tn_vec modules; /* all modules, each once, parents before imports; owned references */
  tn_pmap index;  /* module to number in the blob; all parts of the library share one */
  int64_t count;  /* numbers given */
  int64_t lib;    /* number of the library, -1 while there is none */
  tn_vec children;
} packer;

static bool in_library(const tn_module *m) { return m->ops->properties & TN_MODULE_DSO; }

static int64_t number_of(const packer *p, const tn_module *m) {
  return tn_pmap_get_int(&p->index, m, -1);
}

static int enumerate(void *ctx, tn_module *m) {
  packer *p = ctx;
  if (tn_vec_push_obj(&p->modules, m)) return -1;
  tn_retain(m);
  bool shared = in_library(m);
  int64_t number = shared && p->lib >= 0 ? p->lib : p->count++;
  if (shared) p->lib = number;
  return tn_pmap_put_int(&p->index, m, number);
}

/* The parts of the library become one module: one that lies between two parts would then import
   itself. `m` imports a part: no part may reach m. */
static int check_between(const packer *p, tn_module *m) {
  for (int64_t i = 0; i < p->modules.len; ++i) {
    tn_module *part = (tn_module *)p->modules.items[i].v.obj;
    int r = in_library(part) ? tn_module_walk(part, is_same, m) : 0;
    if (r < 0) return -1;
    TN_CHECK(
        r == 0, ValueError, NULL,
        "pack modules: a %s module is imported by host code and imports other host code, which "
        "is to be in the same library",
        m->ops->type_key);
  }
  return 0;
}

/* Adds what m imports to the row of children that starts at `row`, each number once. */
static int add_children(packer *p, tn_module *m, int64_t row) {
  tn_arr *imports = tn_module_imports(m);
  if (!imports) return -1;
  int64_t own = number_of(p, m);
  int err = 0;
  bool imports_lib = false;
  for (int64_t i = 0; i < imports->len && !err; ++i) {
    int64_t child = number_of(p, (const tn_module *)imports->items[i].v.obj);
    bool known = child == own || child < 0; /* < 0: imported after the modules were counted */
    for (int64_t k = row; k < p->children.len; ++k) known |= p->children.items[k].v.i64 == child;
    if (!known) err = tn_vec_push(&p->children, tn_any_int(child));
    imports_lib |= child == p->lib && child != own;
  }
  tn_release(imports);
  return !err && imports_lib ? check_between(p, m) : err;
}

static void put_text(tn_buf *out, const char *s) {
  tn_buf_u64(out, strlen(s));
  tn_buf_puts(out, s);
}

/* Modules in the order of their numbers: a module with a new number is the next entry. */
static int put_entries(const packer *p, tn_buf *out) {
  int64_t next = 0;
  for (int64_t i = 0; i < p->modules.len; ++i) {
    tn_module *m = (tn_module *)p->modules.items[i].v.obj;
    if (number_of(p, m) != next) continue;
    ++next;
    put_text(out, in_library(m) ? lib_key : m->ops->type_key);
    if (in_library(m)) continue;
    tn_bytes *content;
    TN_GET(content, tn_module_save_binary(m));
    tn_bytes_view v = tn_bytes_get(content);
    tn_buf_put(out, v.data, v.size);
    tn_release(content);
  }
  return 0;
}

static int put_tree(packer *p, tn_buf *out) {
  put_text(out, tree_key);
  tn_buf_u64(out, (uint64_t)p->count + 1);
  tn_buf_u64(out, 0);
  for (int64_t number = 0; number < p->count; ++number) {
    int64_t row = p->children.len;
    for (int64_t i = 0; i < p->modules.len; ++i) {
      tn_module *m = (tn_module *)p->modules.items[i].v.obj;
      if (number_of(p, m) == number) TN_TRY(add_children(p, m, row));
    }
    tn_buf_u64(out, (uint64_t)p->children.len);
  }
  tn_buf_u64(out, (uint64_t)p->children.len);
  for (int64_t i = 0; i < p->children.len; ++i)
    tn_buf_u64(out, (uint64_t)p->children.items[i].v.i64);
  return 0;
}

static int pack(packer *p, tn_module *root, tn_buf *out) {
  TN_TRY(tn_module_walk(root, enumerate, p));
  tn_buf_u64(out, 0); /* the size, filled in at the end */
  tn_buf_u64(out, (uint64_t)p->count + 1);
  TN_TRY(put_entries(p, out));
  TN_TRY(put_tree(p, out));
  TN_TRY(tn_buf_ok(out));
  uint64_t size = out->len - 8;
  for (int i = 0; i < 8; ++i) out->data[i] = (char)(size >> (8 * i) & 0xff);
  return 0;
}

static int pack_into(tn_module *root, tn_buf *out) {
  packer p = {.lib = -1};
  int err = pack(&p, root, out);
  while (p.modules.len > 0) tn_release(p.modules.items[--p.modules.len].v.obj);
  tn_vec_fini(&p.modules);
  tn_vec_fini(&p.children);
  tn_pmap_fini(&p.index);
  return err;
}

tn_bytes *tn_module_pack(tn_module *root) {
  TN_BUF(out);
  TN_TRYP(pack_into(root, &out));
  return tn_bytes_new(out.data, out.len);
}

/* ---- as C source ---- */

static void put_array(tn_buf *out, const char *symbol, const tn_buf *data) {
  static const char hex[] = "0123456789abcdef";
  tn_buf_printf(out, "TVM_BLOB_EXPORT extern const unsigned char %s[];\n", symbol);
  tn_buf_printf(out, "const unsigned char %s[%zu] = {", symbol, data->len);
  for (size_t i = 0; i < data->len; ++i) {
    unsigned char c = (unsigned char)data->data[i];
    char text[] = {'0', 'x', hex[c >> 4], hex[c & 15], ','};
    if (i % 20 == 0) tn_buf_puts(out, "\n  ");
    tn_buf_put(out, text, sizeof text);
  }
  tn_buf_puts(out, "\n};\n");
}

tn_str *tn_module_pack_c(tn_module *root, bool system_lib, const char *prefix) {
  TN_BUF(data);
  TN_BUF(symbol);
  TN_BUF(out);
  TN_TRYP(pack_into(root, &data));
  tn_buf_printf(&symbol, "%s__tvm_dev_mblob", prefix);
  if (!tn_buf_cstr(&symbol)) return NULL;
  tn_buf_puts(&out, "/* The modules that this library imports. */\n"
                    "#ifdef _WIN32\n#define TVM_BLOB_EXPORT __declspec(dllexport)\n"
                    "#else\n#define TVM_BLOB_EXPORT __attribute__((visibility(\"default\")))\n"
                    "#endif\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n");
  put_array(&out, symbol.data, &data);
  if (system_lib) {
    tn_buf_puts(&out, "extern int TVMBackendRegisterSystemLibSymbol(const char *name, void *ptr);\n"
                      "__attribute__((constructor)) static void register_modules(void) {\n");
    tn_buf_printf(&out, "  TVMBackendRegisterSystemLibSymbol(\"%s\", (void *)%s);\n}\n",
                  symbol.data, symbol.data);
  }
  tn_buf_puts(&out, "#ifdef __cplusplus\n}\n#endif\n");
  return tn_buf_str(&out);
}

/* ---- functions by name ---- */

static int pack_to_bytes(TN_ARGS) {
  tn_module *m;
  TN_NARGS("runtime.ModulePackImportsToBytes", 1);
  TN_TRY(tn_arg_module(args, n, 0, &m));
  return tn_ret_owned(ret, tn_module_pack(m));
}

static int pack_to_c(TN_ARGS) {
  tn_module *m;
  bool system_lib = false;
  const char *prefix = "";
  TN_CHECK(n >= 1 && n <= 3, TypeError, NULL,
           "runtime.ModulePackImportsToC: expected 1 to 3 arguments, got %d", n);
  TN_TRY(tn_arg_module(args, n, 0, &m));
  if (n > 1) TN_TRY(tn_any_to_bool(&args[1], &system_lib));
  if (n > 2) TN_TRY(tn_any_to_cstr(&args[2], &prefix));
  return tn_ret_owned(ret, tn_module_pack_c(m, system_lib, prefix));
}

static const tn_func_row rows[] = {
    {"runtime.ModulePackImportsToBytes", pack_to_bytes},
    {"runtime.ModulePackImportsToC", pack_to_c},
};

int tn_module_blob_init(void) { return tn_func_register_rows(rows, TN_COUNT(rows)); }
