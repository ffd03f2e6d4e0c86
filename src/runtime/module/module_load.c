/* Loading modules. Who can load what is in the table of global functions:
   "runtime.module.loadfile_EXT"(path, format) for files by their ending,
   "runtime.module.loadbinary_KEY"(tn_reader *) for the content of a module of type KEY. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "object/functions.h"
#include "runtime/module/module.h"

/* Takes the module out of a loader's result. */
static tn_module *loaded(const char *loader, tn_any *result) {
  if (result->type_index == TN_TI_Module) return (tn_module *)result->v.obj;
  TN_RAISE(TypeError, NULL, "%s: expected a runtime.Module as the result, got %s", loader,
           tn_type_key((uint32_t)result->type_index));
  tn_any_release(result);
  return NULL;
}

static tn_module *call_loader(tn_func *f, const char *name, const tn_any *args, int32_t n) {
  tn_any result;
  int err = tn_func_call(f, args, n, &result);
  tn_release(f);
  return err ? NULL : loaded(name, &result);
}

/* The ending that names the loader; all endings of shared libraries mean "so". */
static const char *loader_ending(const char *path, const char *format) {
  static const char *const shared[] = {"so", "dll", "dylib", "dso"};
  if (!*format) {
    const char *name = strrchr(path, '/'), *dot = strrchr(name ? name : path, '.');
    format = dot ? dot + 1 : "";
  }
  for (int i = 0; i < TN_COUNT(shared); ++i) {
    if (strcmp(format, shared[i]) == 0) return "so";
  }
  return format;
}

/* Models that are not compiled yet. */
static bool is_model(const char *ending) {
  return strcmp(ending, "onnx") == 0 || strcmp(ending, "relay") == 0;
}

tn_module *tn_module_load(const char *path, const char *format) {
  TN_BUF(name);
  struct stat st;
  TN_CHECKP(stat(path, &st) == 0, ValueError, NULL, "cannot find file %s", path);
  const char *ending = loader_ending(path, format);
  TN_CHECKP(*ending, ValueError, NULL,
            "load_module: cannot tell the format of %s from its name: expected a library (.so) as "
            "export_library and tenon compile write it; the format of another file is an argument",
            path);
  TN_CHECKP(!is_model(ending), ValueError, NULL,
            "load_module: %s is a model, not a library: compile it (tenon.compile, or relay.build "
            "and export_library), then load what was written",
            path);
  tn_buf_printf(&name, "runtime.module.loadfile_%s", ending);
  if (!tn_buf_cstr(&name)) return NULL;
  tn_func *f = tn_func_find(name.data);
  TN_CHECKP(f, ValueError, NULL,
            "Loader for `.%s` files is not registered (global function %s): the part of the "
            "runtime that reads them is not in this build or not loaded",
            ending, name.data);
  char full[PATH_MAX]; /* a name without a slash would be searched in library paths */
  tn_any args[] = {tn_any_cstr(realpath(path, full) ? full : path), tn_any_cstr(format)};
  return call_loader(f, name.data, args, 2);
}

/* "graph, vm" of the loaders there are, for the error. */
static void known_loaders(tn_buf *out) {
  static const char prefix[] = "runtime.module.loadbinary_";
  tn_arr *names = tn_func_names();
  for (int64_t i = 0; names && i < names->len; ++i) {
    const char *name = ((const tn_str *)names->items[i].v.obj)->data;
    if (strncmp(name, prefix, sizeof prefix - 1) == 0)
      tn_buf_printf(out, "%s%s", out->len ? ", " : "", name + sizeof prefix - 1);
  }
  tn_release(names);
}

static int unknown_key(const char *key) {
  TN_BUF(known);
  known_loaders(&known);
  return TN_RAISE(TenonError, NULL,
                  "Binary was created using {%s} but a loader of that name is not registered. "
                  "Available loaders are %s. Perhaps you need to recompile with this runtime "
                  "enabled.",
                  key, known.data ? known.data : "(none)");
}

tn_module *tn_module_load_binary(const char *type_key, tn_reader *r) {
  TN_BUF(name);
  tn_buf_printf(&name, "runtime.module.loadbinary_%s", type_key);
  if (!tn_buf_cstr(&name)) return NULL;
  tn_func *f = tn_func_find(name.data);
  if (!f) {
    unknown_key(type_key);
    return NULL;
  }
  tn_any arg = tn_any_ptr(r);
  return call_loader(f, name.data, &arg, 1);
}
