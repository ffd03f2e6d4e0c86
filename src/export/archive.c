#include "export/archive.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/scope.h"
#include "driver/aot/interface.h"
#include "export/archive_impl.h"
#include "export/files.h"
#include "ir/imm.h"
#include "ir/pools.h"
#include "object/functions.h"
#include "relay/infer.h"
#include "relay/relay.h"
#include "relay/text/text.h"
#include "ir/module.h"

enum { NEWEST = 7 };

int mlf_archive_read(mlf_archive *out, const void *data, size_t size) {
  tn_bytes_view text;
  *out = (mlf_archive){0};
  TN_TRY(tar_read(data, size, &out->files, &out->nfile));
  TN_CHECK(tar_find(out->files, out->nfile, "metadata.json", &text), ValueError, NULL,
           "archive: metadata.json is missing: expected an archive in Model Library Format");
  TN_TRY(tn_json_parse(&out->json, (const char *)text.data, text.size));
  tn_json_at version = tn_json_kind_of(&out->json, TN_JSON_ROOT) == TN_JSON_OBJECT
                           ? tn_json_member(&out->json, TN_JSON_ROOT, "version")
                           : 0;
  TN_CHECK(version && tn_json_int(&out->json, version, &out->version), ValueError, NULL,
           "archive: metadata.json does not say its version");
  TN_CHECK(out->version >= 1 && out->version <= NEWEST, ValueError, NULL,
           "archive: version %" PRId64 ", known are 1 to %d", out->version, NEWEST);
  return 0;
}

void mlf_archive_fini(mlf_archive *a) {
  tn_free(a->files);
  tn_json_fini(&a->json);
  *a = (mlf_archive){0};
}

/* ---- which model ---- */

static tn_str *text_at(const tn_json *j, tn_json_at x) {
  TN_BUF(text);
  TN_CHECKP(tn_json_is(j, x, TN_JSON_STRING), ValueError, NULL,
            "archive: metadata.json: expected a text");
  tn_json_text(j, x, &text);
  TN_TRYP(tn_buf_ok(&text));
  return tn_scope_own(tn_str_new_n(tn_buf_cstr(&text), text.len));
}

static tn_json_at only_object(const tn_json *j, tn_json_at x) {
  return tn_json_is(j, x, TN_JSON_OBJECT) ? x : 0;
}

/* Archives of tenon.build have functions, but nothing that says in which order to call them. */
static int check_style(const tn_json *j) {
  tn_json_at style = tn_json_member(j, TN_JSON_ROOT, "style");
  tn_str *text;
  if (!style) return 0;
  TN_GET(text, text_at(j, style));
  TN_CHECK(strcmp(tn_cstr(text), "operator") != 0, ValueError, NULL,
           "archive: it holds operators and no model: call its functions by their names");
  return 0;
}

/* From version 7 on models are listed by name. */
static int choose(const mlf_archive *a, const char *name, mlf_stored *out) {
  const tn_json *j = &a->json;
  tn_json_at modules = only_object(j, tn_json_member(j, TN_JSON_ROOT, "modules"));
  TN_BUF(names);
  if (!modules) {
    TN_TRY(check_style(j));
    TN_GET(out->name, text_at(j, tn_json_member(j, TN_JSON_ROOT, "model_name")));
    TN_CHECK(!name || strcmp(name, tn_cstr(out->name)) == 0, ValueError, NULL,
             "archive: unknown model %s: it is called %s", name, tn_cstr(out->name));
    out->metadata = TN_JSON_ROOT;
    return 0;
  }
  int64_t count = tn_json_count(j, modules);
  for (tn_json_at x = tn_json_first(j, modules); x; x = tn_json_after(j, modules, x)) {
    tn_str *one;
    TN_GET(one, text_at(j, x));
    tn_buf_printf(&names, "%s%s", names.len ? ", " : "", tn_cstr(one));
    if (name ? strcmp(name, tn_cstr(one)) != 0 : count != 1) continue;
    TN_CHECK(tn_json_is(j, x + 1, TN_JSON_OBJECT), ValueError, NULL,
             "archive: metadata.json: expected an object for %s", tn_cstr(one));
    out->name = one;
    out->metadata = x + 1;
  }
  TN_TRY(tn_buf_ok(&names));
  TN_CHECK(out->name || !name, ValueError, NULL, "archive: unknown model %s; known: %s", name,
           names.len ? tn_buf_cstr(&names) : "none");
  TN_CHECK(out->name, ValueError, NULL, "archive: which model is meant: %s?",
           names.len ? tn_buf_cstr(&names) : "none");
  return 0;
}

static tn_json_at member(const mlf_archive *a, const mlf_stored *m, const char *name) {
  return tn_json_member(&a->json, m->metadata, name);
}

/* "executors", before version 3 "runtimes": the first one. */
static int read_executor(const mlf_archive *a, mlf_stored *m) {
  const tn_json *j = &a->json;
  tn_json_at list = member(a, m, "executors");
  if (!list) list = member(a, m, "runtimes");
  tn_json_at first = tn_json_is(j, list, TN_JSON_ARRAY) ? tn_json_first(j, list) : 0;
  tn_str *kind;
  TN_GET(kind, text_at(j, first));
  m->aot = tn_str_eq(kind, "aot");
  TN_CHECK(m->aot || tn_str_eq(kind, "graph"), ValueError, NULL,
           "archive: %s is for the executor %s, known are graph and aot", tn_cstr(m->name),
           tn_cstr(kind));
  return 0;
}

/* A file under one of its names, in which %s is the model's. */
static int find_file(const mlf_archive *a, const mlf_stored *m, const char *const *names, int n,
                     tn_bytes_view *out) {
  for (int i = 0; i < n; ++i) {
    tn_str *path;
    const char *mark = strstr(names[i], "%s");
    TN_GET(path, mark ? tn_str_fmt("%.*s%s%s", (int)(mark - names[i]), names[i], tn_cstr(m->name),
                                   mark + 2)
                      : tn_str_from(names[i]));
    if (tar_find(a->files, a->nfile, tn_cstr(path), out)) return 0;
  }
  *out = (tn_bytes_view){0};
  return 0;
}

static const char *const graphs[] = {"executor-config/graph/%s.graph",
                                     "executor-config/graph/graph.json",
                                     "runtime-config/graph/graph.json"};
static const char *const programs[] = {"src/%s.relay", "src/relay.txt", "relay.txt"};
static const char *const parameters[] = {"parameters/%s.params"};

/* ---- tensors of ahead-of-time programs ---- */

typedef struct {
  tn_vec names, types;
} tensors;

static void tensors_fini(tensors *t) {
  tn_vec_fini(&t->names);
  tn_vec_fini(&t->types);
}

static int add_tensor(tensors *t, tn_str *name, const int64_t *shape, int32_t ndim,
                      const tn_str *dtype) {
  tn_dtype type;
  tn_TensorType *made;
  int64_t n = 1;
  TN_TRY(tn_dtype_parse(tn_cstr(dtype), tn_str_len(dtype), &type));
  for (int32_t i = 0; i < ndim; ++i)
    TN_CHECK(shape[i] >= 0 && shape[i] <= INT32_MAX && !__builtin_mul_overflow(n, shape[i], &n) &&
                 n <= INT32_MAX,
             ValueError, NULL, "archive: the shape of %s is none", tn_cstr(name));
  TN_GET(made, relay_tensor_type_of(shape, ndim, type));
  TN_TRY(tn_vec_push_obj(&t->names, name));
  return tn_vec_push_obj(&t->types, made);
}

/* [{"name", "dtype", "shape"}, ...] */
static int read_ordered(const tn_json *j, tn_json_at list, tensors *t) {
  enum { MAX_DIMS = 32 };
  TN_CHECK(tn_json_is(j, list, TN_JSON_ARRAY), ValueError, NULL,
           "archive: metadata.json: expected a list of tensors");
  for (tn_json_at x = tn_json_first(j, list); x; x = tn_json_after(j, list, x)) {
    int64_t shape[MAX_DIMS];
    int32_t ndim = 0;
    tn_str *name, *dtype;
    TN_CHECK(tn_json_is(j, x, TN_JSON_OBJECT), ValueError, NULL,
             "archive: metadata.json: expected an object for a tensor");
    TN_GET(name, text_at(j, tn_json_member(j, x, "name")));
    TN_GET(dtype, text_at(j, tn_json_member(j, x, "dtype")));
    tn_json_at dims = tn_json_member(j, x, "shape");
    TN_CHECK(tn_json_is(j, dims, TN_JSON_ARRAY), ValueError, NULL,
             "archive: metadata.json: %s has no shape", tn_cstr(name));
    for (tn_json_at d = tn_json_first(j, dims); d; d = tn_json_after(j, dims, d))
      TN_CHECK(ndim < MAX_DIMS && tn_json_int(j, d, &shape[ndim++]), ValueError, NULL,
               "archive: metadata.json: the shape of %s is none", tn_cstr(name));
    TN_TRY(add_tensor(t, name, shape, ndim, dtype));
  }
  return 0;
}

/* {name: {"dtype", "size"}}, which other compilers write: as many elements as there are bytes for
 */
static int read_sized(const tn_json *j, tn_json_at object, tensors *t) {
  for (tn_json_at x = tn_json_first(j, object); x; x = tn_json_after(j, object, x)) {
    tn_str *name, *dtype;
    int64_t bytes;
    tn_dtype type;
    tn_json_at size = only_object(j, x + 1) ? tn_json_member(j, x + 1, "size") : 0;
    TN_CHECK(size && tn_json_int(j, size, &bytes) && bytes >= 0, ValueError, NULL,
             "archive: metadata.json: a tensor without a size");
    TN_GET(name, text_at(j, x));
    TN_GET(dtype, text_at(j, tn_json_member(j, x + 1, "dtype")));
    TN_TRY(tn_dtype_parse(tn_cstr(dtype), tn_str_len(dtype), &type));
    int64_t one = tn_dtype_bytes(type, 1);
    int64_t n = one > 0 ? bytes / one : 0;
    TN_TRY(add_tensor(t, name, &n, 1, dtype));
  }
  return 0;
}

/* Is a parameter of the program the input of that name? Headers have identifiers of C. */
static int is_called(const tn_str *name, const tn_RelayVar *v) {
  TN_BUF(id);
  if (tn_str_eq(name, tn_cstr(v->vid->name_hint))) return 1;
  aot_put_identifier(&id, tn_cstr(v->vid->name_hint));
  TN_TRY(tn_buf_ok(&id));
  return tn_str_eq(name, tn_buf_cstr(&id));
}

/* Inputs in the order of the program's parameters, with the shapes they have there. */
static int take_inputs(tensors *t, const tn_arr *params) {
  int64_t to = 0;
  for (int64_t i = 0; i < params->len; ++i) {
    const tn_RelayVar *v = (const tn_RelayVar *)tn_arr_obj(params, i);
    const tn_TensorType *own = TN_AS(TensorType, relay_type_of(v));
    for (int64_t k = to; k < t->names.len; ++k) {
      int is = is_called((const tn_str *)t->names.items[k].v.obj, v);
      if (is < 0) return -1;
      if (!is) continue;
      tn_any name = t->names.items[k], type = own ? tn_any_obj(own) : t->types.items[k];
      t->names.items[k] = t->names.items[to], t->types.items[k] = t->types.items[to];
      t->names.items[to] = name, t->types.items[to] = type;
      ++to;
    }
  }
  return 0;
}

/* The same of results; @param add those that are not listed yet */
static int take_results(tensors *t, const tn_Type *type, bool add, int64_t *at) {
  const tn_TupleType *tuple = TN_AS(TupleType, type);
  for (int64_t i = 0; tuple && i < tuple->fields->len; ++i)
    TN_TRY(take_results(t, (const tn_Type *)tn_arr_obj(tuple->fields, i), add, at));
  if (tuple) return 0;
  if (add) {
    TN_TRY(tn_vec_push_obj(&t->names, tn_str_fmt("output%" PRId64, *at)));
    TN_TRY(tn_vec_push(&t->types, tn_any_none()));
  }
  if (TN_AS(TensorType, type) && *at < t->types.len) t->types.items[*at] = tn_any_obj(type);
  ++*at;
  return 0;
}

/* `main` of the program whose text is in the archive; NULL, without an error, where that cannot be
   read. */
static tn_RelayFunction *program_of(const mlf_archive *a, const mlf_stored *m) {
  tn_bytes_view text;
  TN_BUF(copied);
  tn_str *copy;
  TN_TRYP(find_file(a, m, programs, TN_COUNT(programs), &text));
  if (!text.data) return NULL;
  bool headed = text.size >= 2 && memcmp(text.data, "#[", 2) == 0;
  tn_buf_puts(&copied, headed ? "" : "#[version = \"0.0.5\"]\n");
  tn_buf_put(&copied, text.data, text.size);
  TN_TRYP(tn_buf_ok(&copied));
  TN_GETP(copy, tn_scope_own(tn_str_new_n(copied.data, copied.len)));
  tn_IRModule *program = relay_parse("archive", copy, NULL, NULL);
  if (program) program = relay_infer_module(program);
  tn_GlobalVar *v = program ? ir_module_find_var(program, "main") : NULL;
  tn_RelayFunction *f = v ? TN_AS(RelayFunction, ir_module_lookup(program, v)) : NULL;
  tn_error_clear();
  return f;
}

/* Before version 7 nothing but the C interface, or the program's text, says how tensors are called;
   their types are filled in later. */
static int name_tensors(const mlf_archive *a, const mlf_stored *m, const tn_RelayFunction *f,
                        tensors *in, tensors *out) {
  tn_bytes_view header;
  if (m->c_interface && mlf_header_of(a, m, &header)) {
    if (mlf_header_names(header, m, "inputs", &in->names) < 0) return -1;
    if (mlf_header_names(header, m, "outputs", &out->names) < 0) return -1;
  } else {
    for (int64_t i = 0; f && i < f->params->len; ++i)
      TN_TRY(tn_vec_push_obj(&in->names,
                             ((const tn_RelayVar *)tn_arr_obj(f->params, i))->vid->name_hint));
  }
  while (in->types.len < in->names.len) TN_TRY(tn_vec_push(&in->types, tn_any_none()));
  while (out->types.len < out->names.len) TN_TRY(tn_vec_push(&out->types, tn_any_none()));
  return 0;
}

static int check_types(const mlf_stored *m, const tensors *t, bool needed) {
  bool known = t->names.len > 0 || !needed;
  for (int64_t i = 0; i < t->types.len; ++i)
    known = known && tn_any_is_obj(&t->types.items[i]) &&
            TN_AS(TensorType, t->types.items[i].v.obj) &&
            relay_is_static((const tn_Type *)t->types.items[i].v.obj);
  TN_CHECK(known, ValueError, NULL,
           "archive: neither metadata.json nor the program's text says what goes into %s and what "
           "comes out",
           tn_cstr(m->name));
  return 0;
}

static int read_main(const mlf_archive *a, const mlf_stored *m, tensors *in, tensors *out) {
  const tn_json *j = &a->json;
  tn_json_at own = only_object(j, member(a, m, "tenon"));
  if (own) {
    TN_TRY(read_ordered(j, tn_json_member(j, own, "inputs"), in));
    return read_ordered(j, tn_json_member(j, own, "outputs"), out);
  }
  tn_json_at memory = only_object(j, member(a, m, "memory"));
  tn_json_at functions = memory ? only_object(j, tn_json_member(j, memory, "functions")) : 0;
  tn_json_at list = functions ? tn_json_member(j, functions, "main") : 0;
  tn_json_at main = tn_json_is(j, list, TN_JSON_ARRAY) ? only_object(j, tn_json_first(j, list)) : 0;
  tn_json_at inputs = main ? only_object(j, tn_json_member(j, main, "inputs")) : 0;
  tn_json_at outputs = main ? only_object(j, tn_json_member(j, main, "outputs")) : 0;
  tn_RelayFunction *f = program_of(a, m);
  if (tn_error_pending()) return -1;
  if (inputs && outputs) {
    TN_TRY(read_sized(j, inputs, in));
    TN_TRY(read_sized(j, outputs, out));
  } else {
    TN_TRY(name_tensors(a, m, f, in, out));
  }
  int64_t at = 0;
  if (f) TN_TRY(take_inputs(in, f->params));
  if (f) TN_TRY(take_results(out, relay_type_of(f->body), !out->names.len, &at));
  TN_TRY(check_types(m, in, false));
  return check_types(m, out, true);
}

/* ---- pools ---- */

static tn_AllocatedPoolInfo *pool_of(tn_str *name, int64_t bytes) {
  const char *names[] = {"pool_name", "targets"};
  tn_any values[] = {tn_any_obj(name), tn_any_obj(tn_arr_of(0))};
  tn_obj *info;
  TN_GETP(info, tn_scope_own(tn_node_make(&tn_type_WorkspacePoolInfo, 2, names, values)));
  const char *fields[] = {"pool_info", "allocated_size"};
  tn_any both[] = {tn_any_obj(info), tn_any_int(bytes)};
  return tn_scope_own(tn_node_make(&tn_type_AllocatedPoolInfo, 2, fields, both));
}

/* Others tell the pools of the caller's in the header only. */
static int read_header_pools(const mlf_archive *a, const mlf_stored *m, tn_vec *out) {
  tn_bytes_view header;
  TN_VEC(names);
  if (!m->c_interface || !mlf_header_of(a, m, &header)) return 0;
  if (mlf_header_names(header, m, "workspace_pools", &names) < 0) return -1;
  for (int64_t i = 0; i < names.len; ++i) {
    tn_str *name = (tn_str *)names.items[i].v.obj;
    int64_t bytes = -1;
    int found = mlf_header_size(header, m, tn_cstr(name), "WORKSPACE_POOL_SIZE", &bytes);
    if (!found) found = mlf_header_size(header, m, tn_cstr(name), "CONSTANT_POOL_SIZE", &bytes);
    if (found < 0) return -1;
    TN_CHECK(found && bytes >= 0 && bytes <= INT32_MAX, ValueError, NULL,
             "archive: the header of %s does not say how large the pool %s is", tn_cstr(m->name),
             tn_cstr(name));
    TN_TRY(tn_vec_push_obj(out, pool_of(name, bytes)));
  }
  return 0;
}

static int read_pools(const mlf_archive *a, const mlf_stored *m, tn_vec *out) {
  const tn_json *j = &a->json;
  tn_json_at own = only_object(j, member(a, m, "tenon"));
  tn_json_at pools = own ? tn_json_member(j, own, "pools") : 0;
  if (!own) return read_header_pools(a, m, out);
  if (!tn_json_is(j, pools, TN_JSON_ARRAY)) return 0;
  for (tn_json_at x = tn_json_first(j, pools); x; x = tn_json_after(j, pools, x)) {
    tn_str *name;
    int64_t bytes = -1;
    TN_CHECK(tn_json_is(j, x, TN_JSON_OBJECT), ValueError, NULL,
             "archive: metadata.json: expected an object for a pool");
    if (tn_json_is(j, tn_json_member(j, x, "internal"), TN_JSON_TRUE)) continue;
    TN_GET(name, text_at(j, tn_json_member(j, x, "name")));
    tn_json_at size = tn_json_member(j, x, "size_bytes");
    TN_CHECK(size && tn_json_int(j, size, &bytes) && bytes >= 0 && bytes <= INT32_MAX, ValueError,
             NULL, "archive: metadata.json: the pool %s has no size", tn_cstr(name));
    TN_TRY(tn_vec_push_obj(out, pool_of(name, bytes)));
  }
  return 0;
}

/* ---- all of it ---- */

static int read_interface(const mlf_archive *a, mlf_stored *m) {
  const tn_json *j = &a->json;
  tn_json_at own = only_object(j, member(a, m, "tenon"));
  tn_str *api;
  if (own) {
    TN_GET(api, text_at(j, tn_json_member(j, own, "interface_api")));
    m->c_interface = tn_str_eq(api, "c");
    m->workspace_io = tn_json_is(j, tn_json_member(j, own, "workspace_io"), TN_JSON_TRUE);
    return 0;
  }
  tn_bytes_view header; /* others write one only then */
  m->c_interface = mlf_header_of(a, m, &header);
  if (tn_error_pending()) return -1;
  m->workspace_io = m->c_interface && mlf_header_has(header, "_map_inputs(");
  return 0;
}

static int read_aot(const mlf_archive *a, mlf_stored *m) {
  tensors in = {0}, out = {0};
  TN_VEC(pools);
  int err = read_interface(a, m) || read_main(a, m, &in, &out) || read_pools(a, m, &pools);
  if (!err)
    err = !(m->inputs = tn_arr_from(&in.names)) || !(m->outputs = tn_arr_from(&out.names)) ||
          !(m->input_types = tn_arr_from(&in.types)) ||
          !(m->output_types = tn_arr_from(&out.types)) || !(m->pools = tn_arr_from(&pools));
  tensors_fini(&in);
  tensors_fini(&out);
  return err ? -1 : 0;
}

int mlf_archive_model(const mlf_archive *a, const char *name, mlf_stored *out) {
  *out = (mlf_stored){0};
  TN_TRY(choose(a, name, out));
  TN_TRY(mlf_check_name(out->name));
  TN_TRY(read_executor(a, out));
  TN_TRY(find_file(a, out, parameters, TN_COUNT(parameters), &out->params));
  TN_TRY(find_file(a, out, graphs, TN_COUNT(graphs), &out->graph));
  TN_CHECK(out->aot || out->graph.data, ValueError, NULL, "archive: %s has no graph",
           tn_cstr(out->name));
  return out->aot ? read_aot(a, out) : 0;
}

bool mlf_is_code_of(const mlf_archive *a, const mlf_stored *m, const char *folder,
                    const char *ending, const char *name) {
  size_t n = strlen(folder), end = strlen(ending), size = strlen(name);
  if (strncmp(name, "codegen/host/", 13) != 0 || strncmp(name + 13, folder, n) != 0) return false;
  if (name[13 + n] != '/' || size < end || strcmp(name + size - end, ending) != 0) return false;
  name += 13 + n + 1;
  if (strchr(name, '/')) return false;
  if (a->version < NEWEST) return true;
  n = tn_str_len(m->name);
  return strncmp(name, tn_cstr(m->name), n) == 0 && strncmp(name + n, "_lib", 4) == 0;
}
