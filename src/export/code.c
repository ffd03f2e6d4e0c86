/* The code of a model as files: C source and object files, each module of the import tree one. */
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/folder.h"
#include "base/scope.h"
#include "export/model_library.h"
#include "object/containers.h"
#include "runtime/module/module.h"

static bool is_source(const tn_module *m) { return strcmp(tn_module_type_key(m), "c") == 0; }
static bool is_code(const tn_module *m) {
  return is_source(m) || strcmp(tn_module_type_key(m), "llvm") == 0;
}

static int note_other(void *ctx, tn_module *m) {
  tn_buf *found = ctx;
  if (!is_code(m)) tn_buf_printf(found, "%s%s", found->len ? ", " : "", tn_module_type_key(m));
  return 0;
}

static int check_kinds(tn_module *lib) {
  TN_BUF(found);
  TN_BUF(message);
  TN_TRY(tn_module_walk(lib, note_other, &found));
  TN_TRY(tn_buf_ok(&found));
  if (!found.len) return 0;
  tn_buf_printf(&message, "Don't know how to export non-c or non-llvm modules; found: %s",
                tn_buf_cstr(&found));
  TN_TRY(tn_buf_ok(&message));
  return tn_raise_foreign("UnsupportedInModelLibraryFormatError", tn_buf_cstr(&message), NULL);
}

typedef struct {
  const char *folder, *prefix;
  tn_vec *names;
  int nsource, nobject;
} writer;

static int write_one(void *ctx, tn_module *m) {
  writer *w = ctx;
  bool source = is_source(m);
  tn_str *folder, *name, *path;
  TN_GET(folder, tn_str_fmt("%s/host/%s", w->folder, source ? "src" : "lib"));
  TN_GET(name, source ? tn_str_fmt("host/src/%slib%d.c", w->prefix, w->nsource++)
                      : tn_str_fmt("host/lib/%slib%d.o", w->prefix, w->nobject++));
  TN_GET(path, tn_str_fmt("%s/%s", w->folder, tn_cstr(name)));
  TN_TRY(tn_folder_make(tn_cstr(folder)));
  TN_TRY(tn_module_save(m, tn_cstr(path), source ? "" : "o"));
  return w->names ? tn_vec_push_obj(w->names, name) : 0;
}

int mlf_write_code(tn_module *lib, const char *folder, const char *prefix, tn_vec *names) {
  writer w = {folder, prefix, names, 0, 0};
  TN_TRY(check_kinds(lib));
  return tn_module_walk(lib, write_one, &w);
}
