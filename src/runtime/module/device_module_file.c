/* Modules of kernels as files: the code as it is, and beside it NAME.tvm_meta.json with what the
   kernels take, as the old interface writes it:

     {"tvm_version": "0.14.0", "func_info": {"add_kernel": {"name": "add_kernel",
       "arg_types": ["handle", "int32"], "launch_param_tags": ["blockIdx.x", "threadIdx.x"]}}} */
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "object/dtype.h"
#include "runtime/module/device_module_impl.h"

/* "lib/add.cl" -> "lib/add.tvm_meta.json" */
static int meta_path(const char *path, tn_buf *out) {
  const char *dot = strrchr(path, '.'), *slash = strrchr(path, '/');
  size_t n = dot && (!slash || dot > slash) ? (size_t)(dot - path) : strlen(path);
  tn_buf_put(out, path, n);
  tn_buf_puts(out, ".tvm_meta.json");
  return tn_buf_ok(out);
}

/* ---- writing ---- */

static void put_kernel(tn_buf *b, const tn_kernel *k) {
  tn_buf_quote(b, k->name, strlen(k->name));
  tn_buf_puts(b, ": {\"name\": ");
  tn_buf_quote(b, k->name, strlen(k->name));
  tn_buf_puts(b, ", \"arg_types\": [");
  for (int32_t i = 0; i < k->ntype; ++i)
    tn_buf_printf(b, "%s\"%s\"", i ? ", " : "", TN_DT(k->types[i]));
  tn_buf_puts(b, "], \"launch_param_tags\": [");
  for (int32_t i = 0; i < k->ntag; ++i)
    tn_buf_printf(b, "%s\"%s\"", i ? ", " : "", tn_launch_tag_name(k->tags[i]));
  tn_buf_puts(b, "]}");
}

int tn_device_code_save_file(tn_module *m, const char *path, const char *format) {
  const tn_device_code *c = tn_module_self(m);
  TN_BUF(meta);
  TN_BUF(name);
  bool source = c->source && (strcmp(format, "cu") == 0 || strcmp(format, "cuda") == 0);
  tn_buf_puts(&meta, "{\"tvm_version\": \"0.14.0\", \"func_info\": {");
  for (int64_t i = 0; i < c->n; ++i) {
    if (i) tn_buf_puts(&meta, ", ");
    put_kernel(&meta, c->kernels[i]);
  }
  tn_buf_puts(&meta, "}}\n");
  TN_TRY(tn_buf_ok(&meta));
  TN_TRY(meta_path(path, &name));
  TN_TRY(tn_file_write(tn_buf_cstr(&name), meta.data, meta.len));
  if (source) return tn_file_write(path, tn_str_data(c->source), tn_str_len(c->source));
  return tn_file_write(path, c->data->data, c->data->len);
}

/* ---- reading ---- */

static int read_text(const tn_json *j, tn_json_at x, tn_buf *out) {
  TN_CHECK(tn_json_is(j, x, TN_JSON_STRING), ValueError, NULL,
           "module of kernels: expected text in the description of a kernel");
  tn_buf_clear(out);
  tn_json_text(j, x, out);
  return tn_buf_cstr(out) ? 0 : -1;
}

static int read_kernel(const tn_json *j, tn_json_at x, const char *name, tn_device_code *c) {
  tn_json_at types = tn_json_member(j, x, "arg_types"),
             tags = tn_json_member(j, x, "launch_param_tags");
  if (!tags) tags = tn_json_member(j, x, "thread_axis_tags"); /* older files */
  int64_t ntype = tn_json_count(j, types), ntag = tn_json_count(j, tags);
  tn_kernel *k;
  int32_t i = 0;
  TN_BUF(text);
  TN_CHECK(ntype < 65536 && ntag < 64, ValueError, NULL,
           "module of kernels: %s takes too many arguments", name);
  TN_GET(k, tn_device_code_kernel(c, name, (int32_t)ntype, (int32_t)ntag));
  for (tn_json_at t = tn_json_first(j, types); t; t = tn_json_after(j, types, t)) {
    TN_TRY(read_text(j, t, &text));
    TN_TRY(tn_dtype_parse(text.data, text.len, &k->types[i++]));
  }
  i = 0;
  for (tn_json_at t = tn_json_first(j, tags); t; t = tn_json_after(j, tags, t)) {
    TN_TRY(read_text(j, t, &text));
    int tag = tn_launch_tag_find(text.data);
    if (tag < 0) return -1;
    k->tags[i++] = (tn_launch_tag)tag;
  }
  return 0;
}

static int read_meta(const tn_json *j, const char *path, tn_device_code *c) {
  TN_BUF(name);
  tn_json_at all = tn_json_member(j, TN_JSON_ROOT, "func_info");
  TN_CHECK(tn_json_is(j, all, TN_JSON_OBJECT), ValueError, NULL,
           "%s: expected what the kernels take under \"func_info\"", path);
  for (tn_json_at key = tn_json_first(j, all); key; key = tn_json_after(j, all, key)) {
    TN_TRY(read_text(j, key, &name));
    TN_TRY(read_kernel(j, key + 1, name.data, c));
  }
  return 0;
}

static int read_meta_file(const char *path, tn_device_code *c) {
  TN_BUF(name);
  TN_BUF(text);
  tn_json j = {0};
  TN_TRY(meta_path(path, &name));
  TN_TRY(tn_file_read(tn_buf_cstr(&name), &text));
  int err = tn_json_parse(&j, text.data ? text.data : "", text.len) || read_meta(&j, path, c);
  tn_json_fini(&j);
  return err ? -1 : 0;
}

static int load(const tn_any *args, int32_t n, int device_type, tn_any *ret) {
  const char *path, *format = "";
  TN_CHECK(n >= 1, TypeError, NULL, "loading a module of kernels: expected a path");
  TN_TRY(tn_any_to_cstr(&args[0], &path));
  if (n > 1) TN_TRY(tn_any_to_cstr(&args[1], &format));
  const char *dot = strrchr(path, '.');
  TN_BUF(code);
  TN_TRY(tn_file_read(path, &code));
  tn_bytes *data = tn_bytes_new(code.data ? code.data : "", code.len);
  if (!data) return -1;
  tn_device_code *c = tn_device_code_new(device_type,
                                         *format ? format
                                         : dot   ? dot + 1
                                                 : "",
                                         data, NULL);
  tn_release(data);
  tn_module *m = c && read_meta_file(path, c) == 0 ? tn_device_module_new(c) : NULL;
  if (c && !m) tn_device_code_free(c);
  return tn_ret_owned(ret, m);
}

static int load_opencl(TN_ARGS) { return load(args, n, kDLOpenCL, ret); }
static int load_cuda(TN_ARGS) { return load(args, n, kDLCUDA, ret); }

static const tn_func_row rows[] = {
    {"runtime.module.loadfile_cl", load_opencl},
    {"runtime.module.loadfile_ptx", load_cuda},
    {"runtime.module.loadfile_cubin", load_cuda},
    {"runtime.module.loadfile_cuda", load_cuda},
};

int tn_device_file_init(void) { return tn_func_register_rows(rows, TN_COUNT(rows)); }
