/* The archive of a model: its files are made in memory, but for object files, which code generators
   write into a folder of their own, and written at once. */
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
#include "export/tar.h"
#include "object/containers.h"
#include "object/functions.h"
#include "runtime/module.h"
#include "target/target.h"

/* ---- metadata ---- */

/* The date of the archive. @param fixed was it given from outside? */
static int export_date(int64_t *seconds, bool *fixed) {
  const char *given = getenv("SOURCE_DATE_EPOCH");
  *fixed = given && *given;
  *seconds = (int64_t)time(NULL);
  if (*fixed)
    TN_CHECK(tn_text_int(given, strlen(given), seconds) && *seconds >= 0, ValueError, NULL,
             "SOURCE_DATE_EPOCH: expected seconds since 1970, got %s", given);
  return 0;
}

/* Local time, as archives of this version have it, unless the date was given. */
static int put_date(int64_t seconds, bool fixed, tn_buf *out) {
  char text[64];
  struct tm t;
  time_t when = (time_t)seconds;
  bool ok = (fixed ? gmtime_r(&when, &t) : localtime_r(&when, &t)) &&
            strftime(text, sizeof text, "%Y-%m-%d %H:%M:%SZ", &t) > 0;
  TN_CHECK(ok, ValueError, NULL, "%" PRId64 " seconds since 1970 are no date", seconds);
  tn_buf_quote(out, text, strlen(text));
  return 0;
}

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
  TN_TRY(put_date(seconds, fixed, out));
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

typedef struct {
  tar_file *files;
  int64_t n, cap;
} file_list;

/* Both are kept by the scope. */
static int add_file(file_list *l, const tn_str *name, tn_bytes_view data) {
  TN_GROW(l->files, l->cap, l->n + 1, return -1);
  l->files[l->n++] = (tar_file){tn_cstr(name), data};
  return 0;
}

static int add_text(file_list *l, const char *name, const tn_str *text) {
  tn_str *path;
  TN_GET(path, tn_str_from(name));
  return add_file(l, path, (tn_bytes_view){(const uint8_t *)tn_cstr(text), tn_str_len(text)});
}

static int add_code(const mlf_model *m, const char *folder, file_list *l) {
  TN_VEC(names);
  TN_TRY(mlf_write_code(m->lib, folder, &names));
  for (int64_t i = 0; i < names.len; ++i) {
    TN_BUF(data);
    tn_str *path, *name;
    tn_bytes *content;
    TN_GET(path, tn_str_fmt("%s/%s", folder, tn_cstr((const tn_str *)names.items[i].v.obj)));
    TN_TRY(tn_file_read(tn_cstr(path), &data));
    TN_GET(content, tn_scope_own(tn_bytes_new(data.data ? data.data : "", data.len)));
    TN_GET(name, tn_str_fmt("codegen/%s", tn_cstr((const tn_str *)names.items[i].v.obj)));
    TN_TRY(add_file(l, name, tn_bytes_get(content)));
  }
  return 0;
}

static int add_params(const mlf_model *m, file_list *l) {
  tn_str *name;
  tn_bytes *params;
  TN_GET(name, tn_str_fmt("parameters/%s.params", tn_cstr(m->name)));
  TN_GET(params, tn_scope_own(tn_params_save(m->params)));
  return add_file(l, name, tn_bytes_get(params));
}

static int add_all(const mlf_model *m, const char *folder, int64_t seconds, bool fixed,
                   file_list *l) {
  TN_BUF(metadata);
  tn_str *text;
  TN_TRY(put_metadata(m, seconds, fixed, &metadata));
  TN_GET(text, tn_scope_own(tn_buf_str(&metadata)));
  TN_TRY(add_text(l, "metadata.json", text));
  TN_TRY(add_code(m, folder, l));
  TN_TRY(add_params(m, l));
  TN_TRY(add_text(l, "relay.txt", m->relay));
  return add_text(l, "runtime-config/graph/graph.json", m->graph);
}

static int write_archive(const mlf_model *m, const char *folder, const char *path) {
  file_list l = {0};
  int64_t seconds;
  bool fixed;
  TN_BUF(archive);
  TN_TRY(export_date(&seconds, &fixed));
  int err = add_all(m, folder, seconds, fixed, &l);
  if (!err) err = tar_write(l.files, l.n, seconds, &archive);
  tn_free(l.files);
  TN_TRY(err);
  return tn_file_write(path, archive.data, archive.len);
}

static int check_name(const tn_str *name) {
  const char *s = tn_cstr(name);
  bool ok = tn_str_len(name) > 0 && strlen(s) == tn_str_len(name) && !strchr(s, '/');
  TN_CHECK(ok, ValueError, NULL,
           "export_model_library_format: the model is called \"%s\", which is no name of a file",
           s);
  return 0;
}

int mlf_export(const mlf_model *m, const char *path) {
  TN_SCOPE(s);
  TN_BUF(folder);
  TN_TRY(check_name(m->name));
  TN_TRY(tn_folder_make_temp(&folder));
  int err = write_archive(m, tn_buf_cstr(&folder), path);
  tn_folder_remove(tn_buf_cstr(&folder));
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
  TN_ARG_OBJ(Map, params, 3);
  TN_ARG_OBJ(Array, targets, 4);
  TN_TRY(arg_str(&args[5], &relay));
  TN_TRY(tn_any_to_cstr(&args[6], &path));
  TN_CHECK(params && targets, TypeError, NULL,
           "export.ModelLibraryFormat: expected parameters and targets");
  for (int64_t i = 0; i < targets->len; ++i)
    TN_CHECK(TN_AS(Target, tn_arr_obj(targets, i)), TypeError, NULL,
             "export.ModelLibraryFormat: expected targets");
  (void)ret;
  return mlf_export(&(mlf_model){name, graph, lib, params, targets, relay}, path);
}

/* (module, folder) */
static int f_code(TN_ARGS) {
  tn_module *lib;
  const char *folder;
  TN_NARGS("export.ModelLibraryFormatCode", 2);
  TN_TRY(tn_arg_module(args, n, 0, &lib));
  TN_TRY(tn_any_to_cstr(&args[1], &folder));
  (void)ret;
  return mlf_write_code(lib, folder, NULL);
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

int mlf_init(void) { return tn_func_register_rows(rows, TN_COUNT(rows)); }
