/* Modules that are not code yet: C source (type key "c") and static libraries ("static_library").

   Both are text or bytes with the names of the functions inside, saved to a file as they are when
   a library is exported. */
#include "runtime/module/source_module.h"

#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "object/functions.h"
#include "runtime/module/module.h"

typedef struct {
  tn_bytes *content;
  tn_arr *names;     /* of its functions: strings */
  tn_arr *constants; /* names of those that the code wants to be told, see const_loader.h */
} source;

static void fini(tn_module *m) {
  source *s = tn_module_self(m);
  tn_release(s->content);
  tn_release(s->names);
  tn_release(s->constants);
  tn_free(s);
}

static int names_of(void *self, const tn_any *args, int32_t n, tn_any *ret) {
  (void)args, (void)n;
  return tn_ret_obj(ret, ((const source *)self)->names);
}

static int constants_of(void *self, const tn_any *args, int32_t n, tn_any *ret) {
  (void)args, (void)n;
  return tn_ret_obj(ret, ((const source *)self)->constants);
}

static int symbol_of(void *self, const tn_any *args, int32_t n, tn_any *ret) {
  const source *s = self;
  (void)args, (void)n;
  return s->names->len ? tn_ret_obj(ret, s->names->items[0].v.obj) : 0;
}

static int not_linked(TN_ARGS) {
  return TN_RAISE(RuntimeError, NULL,
                  "the function is in a module that is not linked: export the library and load it");
}

static int get_function(tn_module *m, const char *name, tn_func **out) {
  source *s = tn_module_self(m);
  static const struct {
    const char *name;
    tn_call call;
  } own[] = {
      {"get_func_names", names_of}, {"get_symbol", symbol_of}, {"get_const_vars", constants_of}};
  for (int i = 0; i < TN_COUNT(own); ++i) {
    if (strcmp(name, own[i].name)) continue;
    TN_GET(*out, tn_module_bind(m, own[i].call, s));
    return 0;
  }
  for (int64_t i = 0; i < s->names->len; ++i) {
    if (!tn_str_eq((const tn_str *)s->names->items[i].v.obj, name)) continue;
    TN_GET(*out, tn_module_bind(m, not_linked, s));
    return 0;
  }
  return 0;
}

static tn_str *get_source(tn_module *m, const char *format) {
  const source *s = tn_module_self(m);
  const char *own = tn_module_format(m);
  TN_CHECKP(!*format || strcmp(format, own) == 0, ValueError, NULL,
            "get_source: the module has its source as \"%s\", not as \"%s\"", own, format);
  return tn_str_new_n((const char *)s->content->data, s->content->len);
}

static int save_file(tn_module *m, const char *path, const char *format) {
  (void)format; /* the content has one form */
  const source *s = tn_module_self(m);
  return tn_file_write(path, s->content->data, s->content->len);
}

/* ---- the kinds ---- */

/* C source differs in the file format alone: by language */
#define C_KIND(format_)                                                                            \
  {                                                                                                \
    .type_key = "c", .format = format_, .properties = TN_MODULE_DSO, .get_function = get_function, \
    .get_source = get_source, .save_file = save_file, .fini = fini                                 \
  }
static const tn_module_ops c_kinds[] = {C_KIND("c"), C_KIND("cc"), C_KIND("cpp"), C_KIND("cu")};

static const tn_module_ops static_library = {.type_key = "static_library",
                                             .format = "o",
                                             .properties = TN_MODULE_DSO,
                                             .get_function = get_function,
                                             .save_file = save_file,
                                             .fini = fini};

/* Takes over all but the first, which may be NULL with an error pending. */
static tn_module *make(const tn_module_ops *ops, tn_bytes *content, tn_arr *names,
                       tn_arr *constants) {
  source *s = content && names && constants ? tn_alloc(sizeof *s) : NULL;
  tn_module *m = NULL;
  if (s) {
    *s = (source){content, names, constants};
    m = tn_module_new(ops, s);
  }
  if (m) return m;
  tn_free(s);
  tn_release(content);
  tn_release(names);
  tn_release(constants);
  return NULL;
}

tn_module *tn_c_source_new(const char *code, size_t n) {
  return make(&c_kinds[0], tn_bytes_new(code, n), tn_arr_new(NULL, 0), tn_arr_new(NULL, 0));
}

/* Argument i: an array of strings, or None for none. Owned. */
static tn_arr *names_arg(const char *func, const tn_any *args, int32_t n, int32_t i) {
  tn_arr *given = NULL;
  TN_TRYP(tn_arg_opt(args, n, i, &tn_type_Array, (tn_obj **)&given));
  for (int64_t k = 0; given && k < given->len; ++k) {
    TN_CHECKP(given->items[k].type_index == TN_TI_String, TypeError, NULL,
              "%s: names (argument %d): expected str, got %s", func, i,
              tn_type_key((uint32_t)given->items[k].type_index));
  }
  tn_retain(given);
  return given ? given : tn_arr_new(NULL, 0);
}

/* ---- functions ---- */

/* (code, format, function names, names of constants) */
static int c_source(TN_ARGS) {
  const char *format = "c";
  tn_bytes_view code;
  TN_CHECK(n >= 1, TypeError, NULL, "CSourceModuleCreate: expected code, format and names");
  TN_TRY(tn_any_to_bytes(&args[0], &code));
  if (n > 1) TN_TRY(tn_any_to_cstr(&args[1], &format));
  for (int i = 0; i < TN_COUNT(c_kinds); ++i) {
    if (strcmp(c_kinds[i].format, format)) continue;
    tn_arr *names = names_arg("CSourceModuleCreate", args, n, 2);
    tn_arr *constants = names ? names_arg("CSourceModuleCreate", args, n, 3) : NULL;
    tn_bytes *text = constants ? tn_bytes_new(code.data, code.size) : NULL;
    return tn_ret_owned(ret, make(&c_kinds[i], text, names, constants));
  }
  return TN_RAISE(ValueError, NULL,
                  "CSourceModuleCreate: expected format c, cc, cpp or cu, got \"%s\"", format);
}

/* The content of a file. Owned, or NULL (OSError). */
static tn_bytes *read_file(const char *path) {
  TN_BUF(text);
  TN_TRYP(tn_file_read(path, &text));
  return tn_bytes_new(text.data ? text.data : "", text.len);
}

/* (path, function names) */
static int load_static(TN_ARGS) {
  const char *path;
  TN_CHECK(n >= 1, TypeError, NULL, "ModuleLoadStaticLibrary: expected path and function names");
  TN_TRY(tn_any_to_cstr(&args[0], &path));
  tn_arr *names = names_arg("ModuleLoadStaticLibrary", args, n, 1);
  if (!names) return -1;
  return tn_ret_owned(ret, make(&static_library, read_file(path), names, tn_arr_new(NULL, 0)));
}

static const tn_func_row rows[] = {
    {"runtime.CSourceModuleCreate", c_source},
    {"runtime.ModuleLoadStaticLibrary", load_static},
};

int tn_source_module_init(void) { return tn_func_register_rows(rows, TN_COUNT(rows)); }
