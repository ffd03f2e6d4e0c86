/* A kind of module for tests, made of a text: its one function has the text's name and returns it.
 */
#ifndef TENON_TESTS_C_TEXT_MODULE_H_
#define TENON_TESTS_C_TEXT_MODULE_H_

#include "testing.h"

#include <stdlib.h>

#include "base/reader.h"
#include "runtime/module/module.h"

static int text_alive;

static int say_text(void *self, const tn_any *args, int32_t n, tn_any *ret) {
  (void)args, (void)n;
  return tn_ret_owned(ret, tn_str_new(self));
}

static int text_function(tn_module *m, const char *name, tn_func **out) {
  if (strcmp(name, "broken") == 0) return TN_RAISE(RuntimeError, NULL, "lookup failed");
  if (strcmp(name, tn_module_self(m)) != 0) return 0;
  *out = tn_module_bind(m, say_text, tn_module_self(m));
  return *out ? 0 : -1;
}

static tn_bytes *text_save(tn_module *m) {
  TN_BUF(out);
  const char *text = tn_module_self(m);
  tn_buf_u64(&out, strlen(text));
  tn_buf_puts(&out, text);
  return tn_buf_ok(&out) ? NULL : tn_bytes_new(out.data, out.len);
}

static void text_fini(tn_module *m) {
  --text_alive;
  free(tn_module_self(m));
}

static const tn_module_ops text_ops = {.type_key = "test.text",
                                       .format = "txt",
                                       .properties = TN_MODULE_BINARY | TN_MODULE_RUNNABLE,
                                       .get_function = text_function,
                                       .save_binary = text_save,
                                       .fini = text_fini};
static const tn_module_ops host_ops = {.type_key = "test.host",
                                       .properties = TN_MODULE_DSO,
                                       .get_function = text_function,
                                       .fini = text_fini};

static inline tn_module *make(const tn_module_ops *ops, const char *text) {
  char *copy = strdup(text);
  tn_module *m = copy ? tn_module_new(ops, copy) : NULL;
  if (!m) {
    free(copy);
    return NULL;
  }
  ++text_alive;
  return m;
}

static int load_text(TN_ARGS) {
  void *r;
  tn_bytes_view v;
  char text[64];
  TN_TRY(tn_any_to_ptr(&args[0], &r));
  TN_TRY(tn_read_text(r, &v));
  TN_CHECK(v.size < sizeof text, ValueError, NULL, "test.text: too long");
  memcpy(text, v.data, v.size);
  text[v.size] = '\0';
  return tn_ret_owned(ret, make(&text_ops, text));
}

static inline int register_text_loader(void) {
  return tn_func_register("runtime.module.loadbinary_test.text", load_text, NULL, NULL, 1);
}

/* Calls a function of a module; the module reference stays with the caller. */
static inline int call(tn_module *m, const char *name, const tn_any *args, int n, tn_any *ret) {
  tn_func *f = tn_module_require(m, name, true);
  assert_non_null(f);
  int err = tn_func_call(f, args, n, ret);
  tn_release(f);
  return err;
}

static inline void assert_says(tn_module *m, const char *name, const char *text) {
  tn_any ret;
  assert_int_equal(call(m, name, NULL, 0, &ret), 0);
  assert_int_equal(ret.type_index, TN_TI_String);
  assert_string_equal(tn_str_data((const tn_str *)ret.v.obj), text);
  tn_any_release(&ret);
}

#endif
