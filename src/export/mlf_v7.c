/* Archives of version 7: several models, for the graph executor and ahead of time, each with what
   its functions need. */
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/folder.h"
#include "base/file.h"
#include "base/scope.h"
#include "driver/aot/interface.h"
#include "driver/function_info.h"
#include "driver/function_table.h"
#include "export/archive.h"
#include "export/crt_files.h"
#include "export/model_library.h"
#include "ir/imm.h"
#include "ir/module.h"
#include "ir/pools.h"
#include "object/functions.h"
#include "runtime/module/module.h"
#include "target/target.h"

/* ---- JSON ---- */

static void put_key(tn_buf *out, bool *first, const char *key) {
  if (!*first) tn_buf_putc(out, ',');
  *first = false;
  tn_buf_quote(out, key, strlen(key));
  tn_buf_putc(out, ':');
}

static void put_int(tn_buf *out, bool *first, const char *key, int64_t value) {
  put_key(out, first, key);
  tn_buf_printf(out, "%" PRId64, value);
}

static void put_text(tn_buf *out, const tn_str *s) { tn_buf_quote(out, tn_cstr(s), tn_str_len(s)); }

/* The number of a map by Target, of the one entry it has. */
static int64_t first_size(const tn_map *m) {
  int64_t bytes = 0;
  if (m->len && tn_any_is_obj(&m->entries[0].value)) tir_as_int(m->entries[0].value.v.obj, &bytes);
  return bytes;
}

static int device_type_of(const tn_FunctionInfo *f) {
  const tn_map *m = f->workspace_sizes;
  const tn_target *t =
      m->len && tn_any_is_obj(&m->entries[0].key) ? TN_AS(Target, m->entries[0].key.v.obj) : NULL;
  return t ? target_device_type(t) : kDLCPU;
}

/* ---- inputs and outputs ---- */

typedef struct {
  tn_vec names, types;
} tensors;

static void tensors_fini(tensors *t) {
  tn_vec_fini(&t->names);
  tn_vec_fini(&t->types);
}

static int add_tensor(tensors *t, const tn_str *name, const tn_Type *type) {
  TN_TRY(tn_vec_push_obj(&t->names, name));
  return tn_vec_push_obj(&t->types, type);
}

static int flat_results(const tn_Type *type, tn_vec *out) {
  const tn_TupleType *tuple = TN_AS(TupleType, type);
  for (int64_t i = 0; tuple && i < tuple->fields->len; ++i)
    TN_TRY(flat_results((const tn_Type *)tn_arr_obj(tuple->fields, i), out));
  return tuple ? 0 : tn_vec_push_obj(out, type);
}

/* Names of a program's own, else "output" or "output0", ... */
static int name_results(const tn_RelayFunction *f, tensors *t) {
  tn_any given;
  const tn_arr *own = NULL;
  if (f->attrs && ir_attrs_get(f->attrs, "output_tensor_names", &given) && tn_any_is_obj(&given) &&
      given.v.obj->type_index == TN_TI_Array)
    own = (const tn_arr *)given.v.obj;
  for (int64_t i = 0; i < t->types.len; ++i) {
    const tn_obj *name = own && own->len == t->types.len ? tn_arr_obj(own, i) : NULL;
    if (!name)
      TN_GET(name, (const tn_obj *)(t->types.len == 1 ? tn_str_from("output")
                                                      : tn_str_fmt("output%" PRId64, i)));
    TN_TRY(tn_vec_push_obj(&t->names, name));
  }
  return 0;
}

static const tn_FunctionInfo *info_of(const mlf_model *m, const char *name) {
  return (const tn_FunctionInfo *)tn_map_find(m->functions, name);
}

static int find_tensors(const mlf_model *m, tensors *in, tensors *out) {
  const tn_FunctionInfo *info = info_of(m, DRIVER_MAIN_INFO);
  TN_CHECK(info && info->relay_primfuncs->len, ValueError, NULL,
           "export_model_library_format: %s does not say what its functions need",
           tn_cstr(m->name));
  const tn_RelayFunction *f =
      (const tn_RelayFunction *)info->relay_primfuncs->entries[0].value.v.obj;
  for (int64_t i = 0; !m->aot && i < f->params->len; ++i) {
    const tn_RelayVar *v = (const tn_RelayVar *)tn_arr_obj(f->params, i);
    const tn_Type *type = relay_type_of(v);
    TN_TRY(add_tensor(in, v->vid->name_hint, type ? type : v->type_annotation));
  }
  if (!m->aot) {
    const tn_Type *result = relay_type_of(f->body);
    TN_TRY(flat_results(result ? result : f->ret_type, &out->types));
    return name_results(f, out);
  }
  const tn_arr *lists[][2] = {{m->aot->inputs, m->aot->input_tensor_types},
                              {m->aot->outputs, m->aot->output_tensor_types}};
  for (int k = 0; k < 2; ++k)
    for (int64_t i = 0; i < lists[k][0]->len; ++i)
      TN_TRY(add_tensor(k ? out : in, (const tn_str *)tn_arr_obj(lists[k][0], i),
                        (const tn_Type *)tn_arr_obj(lists[k][1], i)));
  return 0;
}

static const tn_TensorType *type_at(const tensors *t, int64_t i) {
  return TN_AS(TensorType, t->types.items[i].v.obj);
}

/* {"x": {"dtype": "float32", "size": 16}, ...} by name */
static int put_tensors(const tensors *t, tn_buf *out) {
  tn_buf_putc(out, '{');
  const char *last = NULL;
  for (int64_t done = 0; done < t->names.len; ++done) {
    int64_t next = -1;
    for (int64_t i = 0; i < t->names.len; ++i) {
      const char *name = tn_cstr((const tn_str *)t->names.items[i].v.obj);
      if (last && strcmp(name, last) <= 0) continue;
      if (next < 0 || strcmp(name, tn_cstr((const tn_str *)t->names.items[next].v.obj)) < 0)
        next = i;
    }
    if (next < 0) break;
    const tn_str *name = (const tn_str *)t->names.items[next].v.obj;
    const tn_TensorType *type = type_at(t, next);
    TN_CHECK(type, ValueError, NULL, "export_model_library_format: %s is not a tensor",
             tn_cstr(name));
    if (last) tn_buf_putc(out, ',');
    put_text(out, name);
    tn_buf_printf(out, ":{\"dtype\":\"%s\",\"size\":%" PRId64 "}", TN_DT(type->dtype),
                  graph_type_bytes(type));
    last = tn_cstr(name);
  }
  tn_buf_putc(out, '}');
  return 0;
}

/* The same in the order of the calls, with shapes. */
static void put_ordered(const tensors *t, tn_buf *out) {
  tn_buf_putc(out, '[');
  for (int64_t i = 0; i < t->names.len; ++i) {
    const tn_TensorType *type = type_at(t, i);
    int64_t extent;
    tn_buf_printf(out, "%s{\"dtype\":\"%s\",\"name\":", i ? "," : "", TN_DT(type->dtype));
    put_text(out, (const tn_str *)t->names.items[i].v.obj);
    tn_buf_puts(out, ",\"shape\":[");
    for (int64_t k = 0; k < type->shape->len; ++k)
      tn_buf_printf(out, "%s%" PRId64, k ? "," : "",
                    tir_as_int(tn_arr_obj(type->shape, k), &extent) ? extent : 0);
    tn_buf_puts(out, "]}");
  }
  tn_buf_putc(out, ']');
}

/* ---- memory ---- */

static int put_main(const mlf_model *m, const tensors *in, const tensors *results, tn_buf *out) {
  const tn_FunctionInfo *info = info_of(m, DRIVER_MAIN_INFO);
  bool first = true;
  tn_buf_puts(out, "[{");
  put_int(out, &first, "constants_size_bytes", first_size(info->constant_sizes));
  put_int(out, &first, "device", device_type_of(info));
  put_key(out, &first, "inputs");
  TN_TRY(put_tensors(in, out));
  put_int(out, &first, "io_size_bytes", first_size(info->io_sizes));
  put_key(out, &first, "outputs");
  TN_TRY(put_tensors(results, out));
  put_int(out, &first, "workspace_size_bytes", first_size(info->workspace_sizes));
  tn_buf_puts(out, "}]");
  return 0;
}

static void put_operators(const mlf_model *m, tn_buf *out) {
  bool first = true;
  tn_buf_putc(out, '[');
  for (int64_t i = 0; i < m->functions->len; ++i) {
    const tn_map_entry *e = &m->functions->entries[i];
    const tn_FunctionInfo *f = (const tn_FunctionInfo *)e->value.v.obj;
    if (tn_str_eq((const tn_str *)e->key.v.obj, DRIVER_MAIN_INFO)) continue;
    tn_buf_puts(out, first ? "{\"function_name\":" : ",{\"function_name\":");
    put_text(out, (const tn_str *)e->key.v.obj);
    tn_buf_printf(out, ",\"workspace\":[{\"device\":%d,\"workspace_size_bytes\":%" PRId64 "}]}",
                  device_type_of(f), first_size(f->workspace_sizes));
    first = false;
  }
  tn_buf_putc(out, ']');
}

static int put_memory(const mlf_model *m, const tensors *in, const tensors *results, tn_buf *out) {
  tn_buf_puts(out, "{\"functions\":{\"main\":");
  TN_TRY(put_main(m, in, results, out));
  tn_buf_puts(out, ",\"operator_functions\":");
  put_operators(m, out);
  tn_buf_putc(out, '}');
  if (!m->aot) {
    tn_buf_puts(out, ",\"sids\":");
    TN_TRY(mlf_memory_map(tn_cstr(m->graph), tn_str_len(m->graph), out));
  }
  tn_buf_putc(out, '}');
  return 0;
}

static void put_pools(const tn_arr *pools, tn_buf *out) {
  tn_buf_putc(out, '[');
  for (int64_t i = 0; i < pools->len; ++i) {
    const tn_AllocatedPoolInfo *p = (const tn_AllocatedPoolInfo *)tn_arr_obj(pools, i);
    int64_t used = 0, limit = -1;
    tir_as_int((const tn_obj *)p->allocated_size, &used);
    tir_as_int((const tn_obj *)p->pool_info->size_hint_bytes, &limit);
    tn_buf_printf(out, "%s{\"internal\":%s,\"name\":", i ? "," : "",
                  p->pool_info->is_internal ? "true" : "false");
    put_text(out, p->pool_info->pool_name);
    tn_buf_printf(out, ",\"size_bytes\":%" PRId64 ",\"size_hint_bytes\":%" PRId64 "}", used, limit);
  }
  tn_buf_putc(out, ']');
}

/* What a compiler makes of the code. */
static void put_measured(const c_measured *s, const char *compiler, tn_buf *out) {
  bool first = true;
  tn_buf_puts(out, "{\"calls\":");
  put_text(out, s->outside);
  tn_buf_puts(out, ",\"compiler\":");
  tn_buf_quote(out, compiler, strlen(compiler));
  tn_buf_putc(out, ',');
  put_int(out, &first, "flash_bytes", s->flash);
  put_int(out, &first, "memory_bytes", s->memory);
  put_int(out, &first, "stack_bytes", s->stack);
  tn_buf_putc(out, '}');
}

/* What the format has no place for: exact figures, and what it takes to call main. */
static void put_own(const mlf_model *m, const tensors *in, const tensors *results, tn_buf *out) {
  const tn_ExecutorCodegenMetadata *a = m->aot;
  bool first = true;
  tn_buf_putc(out, '{');
  put_int(out, &first, "constant_bytes", a->constant_bytes);
  put_key(out, &first, "constant_pools");
  put_pools(a->constant_pools, out);
  put_key(out, &first, "inputs");
  put_ordered(in, out);
  put_key(out, &first, "interface_api");
  put_text(out, a->interface_api);
  put_int(out, &first, "live_bytes", a->live_bytes);
  if (m->measured.outside) {
    put_key(out, &first, "measured");
    put_measured(&m->measured, m->compiler, out);
  }
  put_key(out, &first, "outputs");
  put_ordered(results, out);
  put_key(out, &first, "pools");
  put_pools(a->pools, out);
  put_int(out, &first, "stack_bytes", a->stack_bytes);
  put_key(out, &first, "unpacked_api");
  tn_buf_puts(out, a->unpacked_api ? "true" : "false");
  put_int(out, &first, "workspace_alignment", a->workspace_alignment);
  put_int(out, &first, "workspace_bytes", a->workspace_bytes);
  if (a->io_pool_allocations->len) {
    put_key(out, &first, "workspace_io");
    tn_buf_puts(out, "true");
  }
  tn_buf_putc(out, '}');
}

/* ---- metadata.json ---- */

static int put_targets(const mlf_model *m, tn_buf *out) {
  tn_buf_putc(out, '[');
  for (int64_t i = 0; i < m->targets->len; ++i) {
    tn_str *text;
    TN_GET(text, target_text((const tn_target *)tn_arr_obj(m->targets, i)));
    if (i) tn_buf_putc(out, ',');
    put_text(out, text);
  }
  tn_buf_putc(out, ']');
  return 0;
}

static int put_model_of(const mlf_model *m, const tensors *in, const tensors *results,
                        int64_t seconds, tn_buf *out) {
  bool first = true;
  tn_buf_putc(out, '{');
  put_key(out, &first, "executors");
  tn_buf_puts(out, m->aot ? "[\"aot\"]" : "[\"graph\"]");
  put_key(out, &first, "export_datetime");
  TN_TRY(mlf_put_date(seconds, true, out));
  put_key(out, &first, "memory");
  TN_TRY(put_memory(m, in, results, out));
  put_key(out, &first, "model_name");
  put_text(out, m->name);
  put_key(out, &first, "style");
  tn_buf_puts(out, "\"full-model\"");
  put_key(out, &first, "target");
  TN_TRY(put_targets(m, out));
  if (m->aot) {
    put_key(out, &first, "tenon");
    put_own(m, in, results, out);
  }
  tn_buf_putc(out, '}');
  return 0;
}

static int put_model(const mlf_model *m, int64_t seconds, tn_buf *out) {
  tensors in = {0}, results = {0};
  int err = find_tensors(m, &in, &results);
  if (!err) err = put_model_of(m, &in, &results, seconds, out);
  tensors_fini(&in);
  tensors_fini(&results);
  return err;
}

/* Models by name. */
static int put_metadata(const mlf_model *models, int64_t n, int64_t seconds, tn_buf *out) {
  TN_BUF(json);
  const char *last = NULL;
  tn_buf_puts(&json, "{\"modules\":{");
  for (int64_t done = 0; done < n; ++done) {
    const mlf_model *next = NULL;
    for (const mlf_model *m = models; m < models + n; ++m)
      if ((!last || strcmp(tn_cstr(m->name), last) > 0) &&
          (!next || strcmp(tn_cstr(m->name), tn_cstr(next->name)) < 0))
        next = m;
    if (done) tn_buf_putc(&json, ',');
    put_text(&json, next->name);
    tn_buf_putc(&json, ':');
    TN_TRY(put_model(next, seconds, &json));
    last = tn_cstr(next->name);
  }
  tn_buf_puts(&json, "},\"version\":7}");
  TN_TRY(tn_buf_ok(&json));
  mlf_put_indented(json.data, json.len, out);
  return tn_buf_ok(out);
}

/* ---- files ---- */

static tn_arr *sizes_of(const tn_arr *types) {
  TN_VEC(v);
  for (int64_t i = 0; i < types->len; ++i) {
    int64_t bytes = graph_type_bytes((const tn_TensorType *)tn_arr_obj(types, i));
    TN_TRYP(tn_vec_push(&v, tn_any_int(bytes)));
  }
  return tn_arr_from(&v);
}

static int add_header(const mlf_model *m, mlf_files *l) {
  const tn_ExecutorCodegenMetadata *a = m->aot;
  aot_interface x = {.name = tn_cstr(m->name),
                     .inputs = a->inputs,
                     .outputs = a->outputs,
                     .pools = a->pools,
                     .devices = a->devices,
                     .places = a->io_pool_allocations};
  TN_BUF(text);
  TN_BUF(path);
  if (!a->pools->len) x.workspace = a->workspace_bytes;
  TN_GET(x.input_sizes, sizes_of(a->input_tensor_types));
  TN_GET(x.output_sizes, sizes_of(a->output_tensor_types));
  TN_TRY(aot_put_header(&x, &text));
  tn_buf_puts(&path, "codegen/host/include/tvmgen_");
  driver_put_identifier(&path, tn_cstr(m->name));
  tn_buf_puts(&path, ".h");
  TN_TRY(tn_buf_ok(&path));
  return mlf_add_buf(l, tn_buf_cstr(&path), &text);
}

static int add_model(const mlf_model *m, const char *folder, mlf_files *l) {
  tn_str *prefix, *path;
  const char *name = tn_cstr(m->name);
  TN_GET(prefix, tn_str_fmt("%s_", name));
  TN_TRY(mlf_add_code(m->lib, tn_cstr(prefix), folder, l));
  TN_TRY(mlf_add_params(m, l));
  TN_GET(path, tn_str_fmt("src/%s.relay", name));
  TN_TRY(mlf_add_text(l, tn_cstr(path), m->relay));
  if (m->aot) return tn_str_eq(m->aot->interface_api, "c") ? add_header(m, l) : 0;
  TN_GET(path, tn_str_fmt("executor-config/graph/%s.graph", name));
  return mlf_add_text(l, tn_cstr(path), m->graph);
}

static const char config_template[] =
    "/* Settings of the runtime, for firmware to fill in. */\n"
    "#ifndef CRT_CONFIG_H_\n#define CRT_CONFIG_H_\n\n"
    "/* bytes for code that asks for memory while it runs: TVMGEN_NAME_WORKSPACE_SIZE of the\n"
    "   largest model, and TN_MICRO_WORKSPACE_EXTRA */\n"
    "#define WORKSPACE_BYTES 16384\n\n#endif\n";

static const char platform_template[] =
    "/* What a program with ahead-of-time models does at its start, unless they were built with\n"
    "   pools of memory. */\n"
    "#include <stdint.h>\n#include \"tenon/micro.h\"\n#include \"crt_config.h\"\n\n"
    "static union {\n  uint8_t bytes[WORKSPACE_BYTES];\n  uint64_t aligned;\n} workspace\n"
    "#if defined(__GNUC__)\n    __attribute__((aligned(16)))\n#endif\n    ;\n\n"
    "int platform_start(void);\nint platform_start(void) {\n"
    "  return tn_micro_workspace_init(&workspace, sizeof workspace);\n}\n";

static tn_bytes_view view_of(const char *text) {
  return (tn_bytes_view){(const uint8_t *)text, strlen(text)};
}

static int add_runtime(mlf_files *l) {
  for (int i = 0; i < crt_nfile; ++i) {
    tn_str *path;
    TN_GET(path, tn_str_fmt("runtime/%s", crt_files[i].name));
    TN_TRY(mlf_add_file(l, tn_cstr(path), crt_files[i].data));
  }
  TN_TRY(mlf_add_file(l, "templates/crt_config.h.template", view_of(config_template)));
  return mlf_add_file(l, "templates/platform.c.template", view_of(platform_template));
}

static int add_all(const mlf_model *models, int64_t n, const char *folder, int64_t seconds,
                   mlf_files *l) {
  TN_BUF(metadata);
  bool runtime = false;
  TN_TRY(put_metadata(models, n, seconds, &metadata));
  TN_TRY(mlf_add_buf(l, "metadata.json", &metadata));
  for (int64_t i = 0; i < n; ++i) {
    TN_BUF(own);
    tn_buf_printf(&own, "%s/%" PRId64, folder, i);
    TN_TRY(tn_buf_ok(&own));
    TN_TRY(add_model(&models[i], tn_buf_cstr(&own), l));
    runtime = runtime || (models[i].aot && models[i].crt);
  }
  return runtime ? add_runtime(l) : 0;
}

static int check_models(const mlf_model *models, int64_t n) {
  TN_CHECK(n > 0, ValueError, NULL, "export_model_library_format: expected at least one model");
  for (int64_t i = 0; i < n; ++i) {
    TN_TRY(mlf_check_name(models[i].name));
    for (int64_t k = 0; k < i; ++k)
      TN_CHECK(strcmp(tn_cstr(models[i].name), tn_cstr(models[k].name)) != 0, ValueError, NULL,
               "Multiple modules should have unique names.");
  }
  return 0;
}

static int pack(const mlf_model *models, int64_t n, int64_t seconds, tn_buf *archive) {
  TN_TEMP_FOLDER(folder);
  mlf_files l = {0};
  TN_TRY(tn_temp_folder_make(&folder));
  int err = add_all(models, n, folder.path.data, seconds, &l);
  if (!err) err = tar_write(l.files, l.n, seconds, archive);
  mlf_files_fini(&l);
  return err;
}

static bool to_measure(const mlf_model *m) { return m->aot && m->compiler; }

/* Models as an archive has them. */
static int measure_models(mlf_model *models, int64_t n, const tn_buf *archive) {
  mlf_archive a = {0};
  int err = mlf_archive_read(&a, archive->data, archive->len);
  for (int64_t i = 0; !err && i < n; ++i) {
    mlf_stored stored;
    if (!to_measure(&models[i])) continue;
    err = mlf_archive_model(&a, tn_cstr(models[i].name), &stored);
    if (!err) err = mlf_archive_measure(&a, &stored, models[i].compiler, &models[i].measured);
  }
  mlf_archive_fini(&a);
  return err;
}

int mlf_export_models(mlf_model *models, int64_t n, const char *path) {
  TN_SCOPE(s);
  TN_BUF(archive);
  TN_BUF(again);
  int64_t seconds;
  bool fixed, measured = false;
  TN_TRY(check_models(models, n));
  TN_TRY(mlf_date(&seconds, &fixed));
  TN_TRY(pack(models, n, seconds, &archive));
  for (int64_t i = 0; i < n; ++i) measured = measured || to_measure(&models[i]);
  if (measured) {
    TN_TRY(measure_models(models, n, &archive));
    TN_TRY(pack(models, n, seconds, &again));
  }
  const tn_buf *out = measured ? &again : &archive;
  return tn_file_write(path, out->data, out->len);
}

/* ---- functions ---- */

static int read_model(const tn_arr *a, mlf_model *out) {
  const tn_type *types[] = {&tn_type_String, NULL,         NULL, &tn_type_Map, &tn_type_Array,
                            &tn_type_String, &tn_type_Map, NULL, NULL,         NULL};
  TN_CHECK(a->len == TN_COUNT(types), TypeError, NULL,
           "export.ModelLibraryFormat7: expected %d values of a model", TN_COUNT(types));
  for (int i = 0; i < TN_COUNT(types); ++i) {
    const tn_obj *o = tn_arr_obj(a, i);
    TN_CHECK(!types[i] || (o && o->type_index == types[i]->index), TypeError, NULL,
             "export.ModelLibraryFormat7: expected %s at %d", types[i] ? types[i]->key : "", i);
  }
  tn_module *lib;
  const char *compiler = NULL;
  bool crt;
  TN_TRY(tn_arg_module(a->items, (int32_t)a->len, 2, &lib));
  TN_TRY(tn_any_to_bool(&a->items[8], &crt));
  if (a->items[9].type_index != TN_NONE) TN_TRY(tn_any_to_cstr(&a->items[9], &compiler));
  *out = (mlf_model){
      .name = (const tn_str *)tn_arr_obj(a, 0),
      .graph = (const tn_str *)tn_arr_obj(a, 1),
      .lib = lib,
      .params = (const tn_map *)tn_arr_obj(a, 3),
      .targets = (const tn_arr *)tn_arr_obj(a, 4),
      .relay = (const tn_str *)tn_arr_obj(a, 5),
      .functions = (const tn_map *)tn_arr_obj(a, 6),
      .aot = TN_AS(ExecutorCodegenMetadata, tn_arr_obj(a, 7)),
      .crt = crt,
      .compiler = compiler,
  };
  for (int64_t i = 0; i < out->targets->len; ++i)
    TN_CHECK(TN_AS(Target, tn_arr_obj(out->targets, i)), TypeError, NULL,
             "export.ModelLibraryFormat7: expected targets");
  for (int64_t i = 0; i < out->functions->len; ++i)
    TN_CHECK(TN_AS(FunctionInfo, out->functions->entries[i].value.v.obj), TypeError, NULL,
             "export.ModelLibraryFormat7: expected FunctionInfo of functions");
  TN_CHECK(out->aot || (out->graph && out->graph->hdr.type_index == TN_TI_String), TypeError, NULL,
           "export.ModelLibraryFormat7: expected a graph");
  return 0;
}

/* (path, [name, graph or None, module, params, targets, Relay text, functions, metadata or None,
   for a microcontroller, compiler or None], ...) */
static int f_export(TN_ARGS) {
  enum { MAX = 64 };
  mlf_model models[MAX];
  const char *path;
  TN_CHECK(n >= 1 && n <= MAX + 1, TypeError, NULL,
           "export.ModelLibraryFormat7: expected a path and 1 to %d models", MAX);
  TN_TRY(tn_any_to_cstr(&args[0], &path));
  for (int32_t i = 1; i < n; ++i) {
    TN_ARG_OBJ(Array, a, i);
    TN_CHECK(a, TypeError, NULL, "export.ModelLibraryFormat7: expected a list");
    TN_TRY(read_model(a, &models[i - 1]));
  }
  (void)ret;
  return mlf_export_models(models, n - 1, path);
}

static const tn_func_row rows[] = {{"export.ModelLibraryFormat7", f_export}};

int mlf_version7_init(void) { return tn_func_register_rows(rows, TN_COUNT(rows)); }
