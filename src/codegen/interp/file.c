/* Saving interpreted modules, as the JSON of their programs, and loading them again. */
#include "base/file.h"
#include "base/reader.h"
#include "runtime/module/module_blob.h"
#include "codegen/interp/interp.h"
#include "tenon/object.h"

static tn_str *text_of(tn_module *m) {
  const in_module *self = tn_module_self(m);
  return tn_json_save(tn_any_obj(self->ir));
}

int in_save_file(tn_module *m, const char *path, const char *format) {
  tn_str *text;
  (void)format; /* there is one */
  TN_GET(text, text_of(m));
  int err = tn_file_write(path, text->data, text->len);
  tn_release(text);
  return err;
}

tn_bytes *in_save_binary(tn_module *m) {
  TN_BUF(b);
  tn_str *text;
  TN_GETP(text, text_of(m));
  tn_buf_u64(&b, text->len);
  tn_buf_put(&b, text->data, text->len);
  tn_release(text);
  return tn_buf_ok(&b) ? NULL : tn_bytes_new(b.data, b.len);
}

/* The module of a text that may come from anywhere. */
static tn_module *of_text(const char *text, size_t n) {
  tn_any value;
  tn_module *m = NULL;
  TN_TRYP(tn_json_load(text, n, &value));
  tn_IRModule *ir = tn_any_is_obj(&value) ? TN_AS(IRModule, value.v.obj) : NULL;
  if (ir) {
    m = in_module_new(ir);
  } else {
    TN_RAISE(ValueError, NULL, "stackvm: the file holds no module of programs");
  }
  tn_any_release(&value);
  return m;
}

static int load_file(TN_ARGS) {
  TN_BUF(b);
  const char *path;
  TN_CHECK(n >= 1, TypeError, NULL, "loadfile_stackvm: expected a path");
  TN_TRY(tn_any_to_cstr(&args[0], &path));
  TN_TRY(tn_file_read(path, &b));
  return tn_ret_owned(ret, of_text(b.data ? b.data : "", b.len));
}

static int load_binary(TN_ARGS) {
  tn_reader *reader;
  tn_bytes_view text;
  TN_NARGS("loadbinary_stackvm", 1);
  TN_TRY(tn_arg_reader(args, &reader));
  TN_TRY(tn_read_text(reader, &text));
  return tn_ret_owned(ret, of_text((const char *)text.data, text.size));
}

static const tn_func_row rows[] = {
    {"runtime.module.loadfile_stackvm", load_file},
    {"runtime.module.loadbinary_stackvm", load_binary},
};

int in_file_init(void) { return tn_func_register_rows(rows, TN_COUNT(rows)); }
