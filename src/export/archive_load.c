/* Running models of archives on a host: their C is compiled into a library, in its own folder
   that goes at once. No shell takes part, and no name of the archive becomes the name of a file. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/folder.h"
#include "base/scope.h"
#include "driver/aot/interface.h"
#include "driver/function_table.h"
#include "driver/graph.h"
#include "export/archive.h"
#include "export/crt_files.h"
#include "export/measure.h"
#include "ir/imm.h"
#include "ir/pools.h"
#include "object/functions.h"
#include "relay/relay.h"
#include "runtime/graph/executor.h"
#include "runtime/module/module.h"

typedef struct {
  const mlf_archive *a;
  const mlf_stored *m;
  const char *folder;
  tn_vec command; /* of String */
} job;

/* ---- files ---- */

static tn_str *write_file(const job *x, const char *name, tn_bytes_view data) {
  tn_str *path;
  TN_GETP(path, tn_str_fmt("%s/%s", x->folder, name));
  const char *slash = strrchr(tn_cstr(path), '/');
  TN_BUF(folder);
  tn_buf_put(&folder, tn_cstr(path), (size_t)(slash - tn_cstr(path)));
  TN_TRYP(tn_buf_ok(&folder));
  TN_TRYP(tn_folder_make(tn_buf_cstr(&folder)));
  TN_TRYP(tn_file_write(tn_cstr(path), data.data, data.size));
  return path;
}

/* The headers of generated code, which archives before version 7 do not carry. */
static int write_headers(const job *x) {
  tn_str *path;
  for (int i = 0; i < crt_nfile; ++i)
    if (strncmp(crt_files[i].name, "include/", 8) == 0)
      TN_GET(path, write_file(x, crt_files[i].name, crt_files[i].data));
  return 0;
}

static bool is_word(const char *s) {
  for (; *s; ++s)
    if (!((*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') || (*s >= '0' && *s <= '9') ||
          *s == '_' || *s == '.'))
      return false;
  return true;
}

/* Headers of the archive that its sources may include. */
static int write_own_headers(const job *x) {
  static const char folder[] = "codegen/host/include/";
  for (int64_t i = 0; i < x->a->nfile; ++i) {
    const tar_file *f = &x->a->files[i];
    const char *name = f->name + sizeof folder - 1;
    tn_str *path;
    if (strncmp(f->name, folder, sizeof folder - 1) != 0 || !is_word(name)) continue;
    TN_GET(path, tn_str_fmt("include/%s", name));
    TN_GET(path, write_file(x, tn_cstr(path), f->data));
  }
  return 0;
}

static int push(job *x, const tn_str *word) { return tn_vec_push_obj(&x->command, word); }

static int write_code(job *x) {
  static const struct {
    const char *folder, *ending;
  } kinds[] = {{"src", ".c"}, {"src", ".cc"}, {"lib", ".o"}};
  int64_t n = 0;
  for (int k = 0; k < TN_COUNT(kinds); ++k) {
    for (int64_t i = 0; i < x->a->nfile; ++i) {
      const tar_file *f = &x->a->files[i];
      tn_str *path;
      if (!mlf_is_code_of(x->a, x->m, kinds[k].folder, kinds[k].ending, f->name)) continue;
      TN_GET(path, tn_str_fmt("code%" PRId64 "%s", n++, kinds[k].ending));
      TN_GET(path, write_file(x, tn_cstr(path), f->data));
      TN_TRY(push(x, path));
    }
  }
  TN_CHECK(n, ValueError, NULL, "archive: %s has no code", tn_cstr(x->m->name));
  return 0;
}

/* ---- what calls an ahead-of-time program ---- */

static void put_pointers(const tn_arr *names, const char *what, int64_t first, tn_buf *out) {
  for (int64_t i = 0; i < names->len; ++i) {
    tn_buf_printf(out, "  %s.", what);
    aot_put_identifier(out, tn_cstr((const tn_str *)tn_arr_obj(names, i)));
    tn_buf_printf(out, " = data_of(args, %" PRId64 ");\n", first + i);
  }
}

/* Memory of the pools, and the struct that says where they are. */
static void put_pools(const mlf_stored *m, tn_buf *memory, tn_buf *out) {
  for (int64_t i = 0; i < m->pools->len; ++i) {
    const tn_AllocatedPoolInfo *p = (const tn_AllocatedPoolInfo *)tn_arr_obj(m->pools, i);
    int64_t bytes = 0;
    tir_as_int((const tn_obj *)p->allocated_size, &bytes);
    tn_buf_printf(memory, "static _Alignas(64) unsigned char pool%" PRId64 "[%" PRId64 "];\n", i,
                  bytes > 0 ? bytes : 1);
    tn_buf_puts(out, "  pools.");
    aot_put_identifier(out, tn_cstr(p->pool_info->pool_name));
    tn_buf_printf(out, " = pool%" PRId64 ";\n", i);
  }
}

/* Inputs into the pools before a run, outputs out of them behind it. */
static void put_copies(const tn_arr *names, const tn_arr *types, bool inputs, int64_t first,
                       tn_buf *out) {
  for (int64_t i = 0; i < names->len; ++i) {
    TN_BUF(name);
    aot_put_identifier(&name, tn_cstr((const tn_str *)tn_arr_obj(names, i)));
    const char *id = name.len ? tn_buf_cstr(&name) : "";
    int64_t bytes = graph_type_bytes((const tn_TensorType *)tn_arr_obj(types, i));
    if (inputs) tn_buf_printf(out, "  memcpy(inputs.%s, data_of(args, %" PRId64 ")", id, first + i);
    else tn_buf_printf(out, "  memcpy(data_of(args, %" PRId64 "), outputs.%s", first + i, id);
    tn_buf_printf(out, ", %" PRId64 ");\n", bytes);
  }
}

/* The body of the caller, from where the structs are declared. */
static void put_calls(const mlf_stored *m, const char *p, bool pools, tn_buf *out) {
  const char *given = pools ? "&pools" : "";
  if (!m->workspace_io) {
    put_pointers(m->inputs, "inputs", 0, out);
    put_pointers(m->outputs, "outputs", m->inputs->len, out);
    tn_buf_printf(out, "  return %s_run(&inputs, &outputs%s%s);\n", p, pools ? ", " : "", given);
    return;
  }
  tn_buf_printf(out, "  inputs = %s_map_inputs(%s);\n  outputs = %s_map_outputs(%s);\n", p, given,
                p, given);
  put_copies(m->inputs, m->input_types, true, 0, out);
  tn_buf_printf(out, "  int32_t status = %s_run(%s);\n", p, given);
  put_copies(m->outputs, m->output_types, false, m->inputs->len, out);
  tn_buf_puts(out, "  return status;\n");
}

static const char packed_head[] =
    "TVM_DLL int32_t tenon_archive_run(TVMValue *args, int32_t *codes, int32_t n, TVMValue *value, "
    "int32_t *code, void *resource)";

static int put_caller(const job *x, tn_buf *out) {
  const mlf_stored *m = x->m;
  tn_arr *none;
  TN_BUF(body);
  TN_GET(none, tn_arr_of(0));
  const aot_interface i = {.name = tn_cstr(m->name),
                           .inputs = m->inputs,
                           .outputs = m->outputs,
                           .pools = m->pools,
                           .devices = none,
                           .maps_io = m->workspace_io};
  TN_BUF(prefix);
  tn_buf_puts(&prefix, "tvmgen_");
  driver_put_identifier(&prefix, tn_cstr(m->name));
  TN_TRY(tn_buf_ok(&prefix));
  const char *p = tn_buf_cstr(&prefix);
  tn_buf_puts(out, "#include <string.h>\n#include \"tvm/runtime/c_runtime_api.h\"\n\n");
  TN_TRY(aot_put_structs(&i, out));
  for (int k = 0; k < 2 && m->workspace_io; ++k) {
    aot_put_map_head(&i, k ? "outputs" : "inputs", out);
    tn_buf_puts(out, ";\n");
  }
  aot_put_run_head(&i, out);
  tn_buf_printf(out,
                ";\n%s;\n\nstatic void *data_of(const TVMValue *args, int i) {\n"
                "  const DLTensor *t = args[i].v_handle;\n"
                "  return (char *)t->data + t->byte_offset;\n}\n\n",
                packed_head);
  bool pools = aot_has_pools(&i);
  put_pools(m, out, &body);
  put_calls(m, p, pools, &body);
  TN_TRY(tn_buf_ok(&body));
  tn_buf_printf(out,
                "%s {\n  (void)codes, (void)value, (void)code, (void)resource, (void)args;\n"
                "  struct %s_inputs inputs;\n  struct %s_outputs outputs;\n",
                packed_head, p, p);
  if (pools) tn_buf_printf(out, "  struct %s_workspace_pools pools;\n", p);
  tn_buf_printf(out, "  if (n != %" PRId64 ") return -1;\n%s}\n", m->inputs->len + m->outputs->len,
                tn_buf_cstr(&body));
  return tn_buf_ok(out);
}

static int write_caller(job *x) {
  TN_BUF(text);
  tn_str *path;
  if (!x->m->aot || !x->m->c_interface) return 0;
  TN_TRY(put_caller(x, &text));
  TN_GET(path, write_file(x, "caller.c", (tn_bytes_view){(const uint8_t *)text.data, text.len}));
  return push(x, path);
}

/* ---- the compiler ---- */

static tn_module *compiled(job *x) {
  const char *cc = secure_getenv("CC");
  tn_str *include, *library;
  TN_TRYP(compiler_push_words(&x->command, cc && *cc ? cc : "cc"));
  /* all symbols are looked up when the library is opened: one that is missing is an error then */
  TN_TRYP(compiler_push_words(&x->command, "-O2 -fPIC -shared -w -Wl,-z,now"));
  /* until 2021 a tensor's device was called so; archives of version 1 are older */
  if (x->a->version < 2) TN_TRYP(compiler_push_words(&x->command, "-Dctx=device"));
  TN_GETP(include, tn_str_fmt("-I%s/include", x->folder));
  TN_TRYP(push(x, include));
  TN_TRYP(write_headers(x));
  TN_TRYP(write_own_headers(x));
  TN_TRYP(write_code(x));
  TN_TRYP(write_caller(x));
  TN_GETP(library, tn_str_fmt("%s/model.so", x->folder));
  TN_TRYP(compiler_push_words(&x->command, "-lm -o"));
  TN_TRYP(push(x, library));
  TN_TRYP(compiler_run(&x->command, x->folder, tn_cstr(x->m->name)));
  return tn_scope_own(tn_module_load(tn_cstr(library), ""));
}

/* ---- the factory ---- */

static tn_str *own_symbol(const mlf_stored *m) {
  TN_BUF(name);
  tn_buf_puts(&name, "tvmgen_");
  driver_put_identifier(&name, tn_cstr(m->name));
  tn_buf_puts(&name, "_run");
  return tn_scope_own(tn_buf_str(&name));
}

static tn_str *run_symbol(const mlf_stored *m) {
  return m->c_interface ? tn_str_from("tenon_archive_run") : own_symbol(m);
}

static tn_str *graph_of(const mlf_stored *m) {
  if (!m->aot) return tn_scope_own(tn_str_new_n((const char *)m->graph.data, m->graph.size));
  tn_str *symbol;
  TN_BUF(json);
  TN_GETP(symbol, run_symbol(m));
  const graph_call call = {tn_cstr(symbol), m->inputs, m->input_types, m->output_types};
  TN_TRYP(graph_of_call(&call, &json));
  return tn_scope_own(tn_str_new_n(tn_buf_cstr(&json), json.len));
}

static tn_map *params_of(const mlf_stored *m) {
  if (m->aot || !m->params.data) return tn_scope_own(tn_map_new());
  return tn_scope_own(tn_params_load(m->params.data, m->params.size));
}

static tn_module *load(job *x) {
  tn_str *graph;
  tn_map *params;
  tn_module *lib;
  TN_GETP(graph, graph_of(x->m));
  TN_GETP(params, params_of(x->m));
  TN_GETP(lib, compiled(x));
  return tn_scope_own(tn_graph_factory_new(graph, lib, "default", params));
}

tn_module *mlf_archive_load(const mlf_archive *a, const mlf_stored *m) {
  TN_TEMP_FOLDER(folder);
  TN_TRYP(tn_temp_folder_make(&folder));
  job x = {.a = a, .m = m, .folder = folder.path.data};
  tn_module *made = load(&x);
  tn_vec_fini(&x.command);
  return made;
}

static int measure(job *x, const char *compiler, c_measured *out) {
  tn_str *include, *entry;
  TN_CHECK(x->m->aot, ValueError, NULL,
           "measure: %s is for the graph executor: only models ahead of time have a function that "
           "runs them",
           tn_cstr(x->m->name));
  TN_GET(entry, own_symbol(x->m));
  TN_GET(include, tn_str_fmt("%s/include", x->folder));
  TN_TRY(write_headers(x));
  TN_TRY(write_own_headers(x));
  TN_TRY(write_code(x));
  for (int64_t i = 0; i < x->command.len; ++i) {
    const tn_str *path = (const tn_str *)x->command.items[i].v.obj;
    TN_CHECK(strcmp(tn_cstr(path) + tn_str_len(path) - 2, ".c") == 0, ValueError, NULL,
             "measure: the code of %s is not C source", tn_cstr(x->m->name));
  }
  return c_measure(compiler, x->folder, &x->command, tn_cstr(include), tn_cstr(entry), out);
}

int mlf_archive_measure(const mlf_archive *a, const mlf_stored *m, const char *compiler,
                        c_measured *out) {
  TN_TEMP_FOLDER(folder);
  TN_TRY(tn_temp_folder_make(&folder));
  job x = {.a = a, .m = m, .folder = folder.path.data};
  int err = measure(&x, compiler, out);
  tn_vec_fini(&x.command);
  return err;
}

static tn_module *load_data(const tn_buf *data, const char *model) {
  mlf_archive a;
  mlf_stored m;
  int err = mlf_archive_read(&a, data->data, data->len);
  if (!err) err = mlf_archive_model(&a, model, &m);
  tn_module *made = err ? NULL : mlf_archive_load(&a, &m);
  mlf_archive_fini(&a);
  return made;
}

tn_module *mlf_load(const char *path, const char *model) {
  TN_BUF(data);
  TN_TRYP(tn_file_read(path, &data));
  return load_data(&data, model);
}

/* (path, name of the model or None) -> factory */
static int f_load(TN_ARGS) {
  const char *path, *name = NULL;
  TN_NARGS("export.ModelLibraryFormatLoad", 2);
  TN_TRY(tn_any_to_cstr(&args[0], &path));
  if (args[1].type_index != TN_NONE) TN_TRY(tn_any_to_cstr(&args[1], &name));
  return tn_ret_obj(ret, mlf_load(path, name));
}

static const tn_func_row rows[] = {{"export.ModelLibraryFormatLoad", f_load}};

int mlf_load_init(void) { return tn_func_register_rows(rows, TN_COUNT(rows)); }
