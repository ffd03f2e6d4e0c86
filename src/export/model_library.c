/* The archive of a model: its files are made in memory, but for object files, which code generators
   write into their own folder, and written at once. */
#include "export/model_library.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/folder.h"
#include "base/json.h"
#include "base/scope.h"
#include "export/archive.h"
#include "export/files.h"
#include "export/tar.h"
#include "object/containers.h"
#include "object/functions.h"
#include "runtime/module/module.h"
#include "target/target.h"

/* ---- metadata ---- */

static const tn_target *target_at(const tn_arr *targets, int64_t i) {
  return (const tn_target *)tn_arr_obj(targets, i);
}

/* Device type -> target, by number; of several for one type the last. */
static int put_targets(const tn_arr *targets, tn_buf *out) {
  int64_t put = 0;
  tn_buf_putc(out, '{');
  for (int last = -1;;) {
    const tn_target *t = NULL;
    tn_str *text;
    int next = INT32_MAX;
    for (int64_t i = 0; i < targets->len; ++i) {
      int type = target_device_type(target_at(targets, i));
      if (type <= last || type > next) continue;
      next = type;
      t = target_at(targets, i);
    }
    if (!t) break;
    TN_GET(text, target_text(t));
    tn_buf_printf(out, "%s\n    \"%d\": ", put++ ? "," : "", next);
    tn_buf_quote(out, tn_cstr(text), tn_str_len(text));
    last = next;
  }
  tn_buf_puts(out, put ? "\n  }" : "}");
  return 0;
}

static int put_metadata(const mlf_model *m, int64_t seconds, bool fixed, tn_buf *out) {
  tn_buf_puts(out, "{\n  \"export_datetime\": ");
  TN_TRY(mlf_put_date(seconds, fixed, out));
  tn_buf_puts(out, ",\n  \"memory\": ");
  TN_TRY(mlf_memory_map(tn_cstr(m->graph), tn_str_len(m->graph), out));
  tn_buf_puts(out, ",\n  \"model_name\": ");
  tn_buf_quote(out, tn_cstr(m->name), tn_str_len(m->name));
  tn_buf_puts(out, ",\n  \"runtimes\": [\n    \"graph\"\n  ],\n  \"target\": ");
  TN_TRY(put_targets(m->targets, out));
  tn_buf_puts(out, ",\n  \"version\": 1\n}");
  return tn_buf_ok(out);
}

/* ---- the files ---- */

int mlf_add_code(tn_module *lib, const char *prefix, const char *folder, mlf_files *l) {
  TN_VEC(names);
  TN_TRY(mlf_write_code(lib, folder, prefix, &names));
  for (int64_t i = 0; i < names.len; ++i) {
    TN_BUF(data);
    tn_str *path, *name;
    TN_GET(path, tn_str_fmt("%s/%s", folder, tn_cstr((const tn_str *)names.items[i].v.obj)));
    TN_TRY(tn_file_read(tn_cstr(path), &data));
    TN_GET(name, tn_str_fmt("codegen/%s", tn_cstr((const tn_str *)names.items[i].v.obj)));
    TN_TRY(mlf_add_buf(l, tn_cstr(name), &data));
  }
  return 0;
}

int mlf_add_params(const mlf_model *m, mlf_files *l) {
  tn_str *name;
  tn_bytes *params;
  TN_GET(name, tn_str_fmt("parameters/%s.params", tn_cstr(m->name)));
  TN_GET(params, tn_scope_own(tn_params_save(m->params)));
  return mlf_add_file(l, tn_cstr(name), tn_bytes_get(params));
}

static int add_all(const mlf_model *m, const char *folder, int64_t seconds, bool fixed,
                   mlf_files *l) {
  TN_BUF(metadata);
  TN_TRY(put_metadata(m, seconds, fixed, &metadata));
  TN_TRY(mlf_add_buf(l, "metadata.json", &metadata));
  TN_TRY(mlf_add_code(m->lib, "", folder, l));
  TN_TRY(mlf_add_params(m, l));
  TN_TRY(mlf_add_text(l, "relay.txt", m->relay));
  return mlf_add_text(l, "runtime-config/graph/graph.json", m->graph);
}

static int write_archive(const mlf_model *m, const char *folder, const char *path) {
  mlf_files l = {0};
  int64_t seconds;
  bool fixed;
  TN_BUF(archive);
  TN_TRY(mlf_date(&seconds, &fixed));
  int err = add_all(m, folder, seconds, fixed, &l);
  if (!err) err = tar_write(l.files, l.n, seconds, &archive);
  mlf_files_fini(&l);
  TN_TRY(err);
  return tn_file_write(path, archive.data, archive.len);
}

int mlf_export(const mlf_model *m, const char *path) {
  TN_SCOPE(s);
  TN_TEMP_FOLDER(folder);
  TN_TRY(mlf_check_name(m->name));
  TN_TRY(tn_temp_folder_make(&folder));
  int err = write_archive(m, folder.path.data, path);
  return err;
}

/* ---- functions ---- */

static int arg_str(const tn_any *arg, tn_str **out) {
  tn_bytes_view text;
  TN_TRY(tn_any_to_bytes(arg, &text));
  TN_GET(*out, tn_scope_own(tn_str_new_n((const char *)text.data, text.size)));
  return 0;
}

/* (name, graph JSON, module, params, targets, Relay text, path) */
static int f_export(TN_ARGS) {
  tn_str *name, *graph, *relay;
  tn_module *lib;
  const char *path;
  TN_NARGS("export.ModelLibraryFormat", 7);
  TN_TRY(arg_str(&args[0], &name));
  TN_TRY(arg_str(&args[1], &graph));
  TN_TRY(tn_arg_module(args, n, 2, &lib));
  TN_ARG_ITEMS(Map(String, NDArray), params, 3);
  TN_ARG_ITEMS(Array(Target), targets, 4);
  TN_TRY(arg_str(&args[5], &relay));
  TN_TRY(tn_any_to_cstr(&args[6], &path));
  for (int64_t i = 0; i < targets->len; ++i)
    TN_CHECK(TN_AS(Target, tn_arr_obj(targets, i)), TypeError, NULL,
             "export.ModelLibraryFormat: expected targets");
  (void)ret;
  const mlf_model m = {.name = name,
                       .graph = graph,
                       .lib = lib,
                       .params = params,
                       .targets = targets,
                       .relay = relay};
  return mlf_export(&m, path);
}

/* (module, folder) */
static int f_code(TN_ARGS) {
  tn_module *lib;
  const char *folder;
  TN_NARGS("export.ModelLibraryFormatCode", 2);
  TN_TRY(tn_arg_module(args, n, 0, &lib));
  TN_TRY(tn_any_to_cstr(&args[1], &folder));
  (void)ret;
  return mlf_write_code(lib, folder, "", NULL);
}

/* (graph JSON) -> JSON */
static int f_memory_map(TN_ARGS) {
  tn_str *graph;
  TN_BUF(out);
  TN_NARGS("export.ModelLibraryFormatMemory", 1);
  TN_TRY(arg_str(&args[0], &graph));
  TN_TRY(mlf_memory_map(tn_cstr(graph), tn_str_len(graph), &out));
  return tn_ret_owned(ret, tn_buf_str(&out));
}

static const tn_func_row rows[] = {{"export.ModelLibraryFormat", f_export},
                                   {"export.ModelLibraryFormatCode", f_code},
                                   {"export.ModelLibraryFormatMemory", f_memory_map}};

int mlf_init(void) {
  TN_TRY(tn_func_register_rows(rows, TN_COUNT(rows)));
  TN_TRY(mlf_version7_init());
  TN_TRY(mlf_operator_init());
  return mlf_load_init();
}
