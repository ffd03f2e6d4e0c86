/* NAME.c and NAME.h, see standalone_c.h. */
#include "export/standalone_c.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/folder.h"
#include "base/scope.h"
#include "driver/aot/interface.h"
#include "export/standalone_c_impl.h"
#include "ir/module.h"
#include "object/functions.h"
#include "codegen/c/gen.h"

enum { ALIGNMENT = 8 }; /* of the memory between operators: that of its uint64_t */

/* ---- what a file says of tensors ---- */

const tn_TensorType *c_file_type(const tn_arr *types, int64_t i) {
  return TN_AS(TensorType, tn_arr_obj(types, i));
}

int64_t c_file_count(const tn_TensorType *t) {
  int64_t n = 1, extent = 0;
  for (int64_t i = 0; i < t->shape->len; ++i)
    n *= tir_as_int(tn_arr_obj(t->shape, i), &extent) ? extent : 1;
  return n;
}

const char *c_file_name(const tn_arr *names, int64_t i, tn_buf *out) {
  aot_put_identifier(out, tn_cstr((const tn_str *)tn_arr_obj(names, i)));
  return tn_buf_cstr(out);
}

static void put_shape(const tn_TensorType *t, tn_buf *out) {
  tn_buf_printf(out, "%s [", TN_DT(t->dtype));
  for (int64_t i = 0; i < t->shape->len; ++i) {
    int64_t extent = 0;
    tir_as_int(tn_arr_obj(t->shape, i), &extent);
    tn_buf_printf(out, i ? ", %" PRId64 : "%" PRId64, extent);
  }
  tn_buf_putc(out, ']');
}

/* ---- the header ---- */

static void put_upper(tn_buf *out, const char *s) {
  for (; *s; ++s) tn_buf_putc(out, (char)toupper((unsigned char)*s));
}

static int put_struct(const c_file *f, bool inputs, tn_buf *out) {
  const tn_ExecutorCodegenMetadata *m = f->program.metadata;
  const tn_arr *names = inputs ? m->inputs : m->outputs,
               *types = inputs ? m->input_tensor_types : m->output_tensor_types;
  tn_map *seen;
  tn_any other;
  TN_GET(seen, tn_scope_own(tn_map_new()));
  tn_buf_printf(out, "struct %s_%s {\n", f->name, inputs ? "inputs" : "outputs");
  for (int64_t i = 0; i < names->len; ++i) {
    TN_BUF(name);
    const char *type, *id = c_file_name(names, i, &name);
    const tn_TensorType *t = c_file_type(types, i);
    TN_CHECK(id && !tn_map_get(seen, tn_any_cstr(id), &other), CodegenError, NULL,
             "Sanitized input tensor name clash: %s", id ? id : "");
    TN_TRY(tn_map_set(seen, tn_any_cstr(id), tn_any_int(1)));
    TN_GET(type, c_standard_type(t->dtype));
    tn_buf_printf(out, "  %s%s *%s; /* %" PRId64 " elements: ", inputs ? "const " : "", type, id,
                  c_file_count(t));
    put_shape(t, out);
    tn_buf_puts(out, " */\n");
  }
  if (!names->len) tn_buf_puts(out, "  int nothing;\n");
  tn_buf_puts(out, "};\n\n");
  return 0;
}

static void put_size(const c_file *f, const char *what, int64_t bytes, const char *note,
                     tn_buf *out) {
  tn_buf_puts(out, "#define ");
  put_upper(out, f->name);
  tn_buf_printf(out, "_%s_BYTES %" PRId64 " /* %s */\n", what, bytes, note);
}

static int put_header(const c_file *f, tn_buf *out) {
  const tn_ExecutorCodegenMetadata *m = f->program.metadata;
  tn_buf_printf(out, "/* %s, compiled by Tenon %s. One call runs at a time. */\n#ifndef ", f->name,
                TN_VERSION);
  put_upper(out, f->name);
  tn_buf_puts(out, "_H_\n#define ");
  put_upper(out, f->name);
  tn_buf_puts(out, "_H_\n\n#include <stdbool.h>\n#include <stdint.h>\n\n"
                   "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n");
  put_size(f, "WORKSPACE", m->workspace_bytes, "static memory", out);
  put_size(f, "CONSTANT", m->constant_bytes, "weights", out);
  put_size(f, "STACK", m->stack_bytes, "arrays on the stack, besides saved registers", out);
  tn_buf_putc(out, '\n');
  TN_TRY(put_struct(f, true, out));
  TN_TRY(put_struct(f, false, out));
  tn_buf_printf(out,
                "/* Runs the model. The structs point to the caller's memory, which is aligned as "
                "its elements\n   are. Returns 0. */\n"
                "int %s_run(const struct %s_inputs *inputs, struct %s_outputs *outputs);\n\n"
                "/* Of %s_selftest.c, where it was asked for. 0: the model computes what was "
                "expected;\n   i > 0: not in test i; -1: %s_run failed. */\n"
                "int %s_selftest(void);\n\n"
                "#ifdef __cplusplus\n}\n#endif\n\n#endif\n",
                f->name, f->name, f->name, f->name, f->name, f->name);
  return tn_buf_ok(out);
}

/* ---- the code ---- */

static int64_t pool_bytes(const c_file *f, int64_t i) {
  const tn_arr *pools = f->program.metadata->pools;
  int64_t bytes = 0;
  tir_as_int((const tn_obj *)((const tn_AllocatedPoolInfo *)tn_arr_obj(pools, i))->allocated_size,
             &bytes);
  return bytes;
}

static void put_pools(const c_file *f, tn_buf *out) {
  bool first = true;
  for (int64_t i = 0; i < f->program.metadata->pools->len; ++i) {
    int64_t bytes = pool_bytes(f, i);
    if (!bytes) continue; /* main gets NULL */
    if (first)
      tn_buf_puts(out, "#ifndef TENON_WORKSPACE /* an attribute of memory: a section, say */\n"
                       "#define TENON_WORKSPACE\n#endif\n");
    tn_buf_printf(out, "TENON_WORKSPACE static uint64_t workspace%" PRId64 "_[%" PRId64 "];\n", i,
                  bytes / 8);
    first = false;
  }
  tn_buf_putc(out, '\n');
}

/* Inputs are never written to. */
static void put_args(const tn_arr *names, bool inputs, bool *first, tn_buf *out) {
  for (int64_t i = 0; i < names->len; ++i) {
    TN_BUF(name);
    tn_buf_printf(out, "%s(void *)%s->%s", *first ? "" : ", ", inputs ? "inputs" : "outputs",
                  c_file_name(names, i, &name));
    *first = false;
  }
}

static int put_run(const c_file *f, tn_buf *out) {
  const tn_ExecutorCodegenMetadata *m = f->program.metadata;
  bool first = true;
  tn_str *main;
  TN_GET(main, tn_str_fmt("tvmgen_%s___tvm_main__", f->name));
  tn_buf_printf(out, "int %s_run(const struct %s_inputs *inputs, struct %s_outputs *outputs) {\n",
                f->name, f->name, f->name);
  if (!m->inputs->len) tn_buf_puts(out, "  (void)inputs;\n");
  if (!m->outputs->len) tn_buf_puts(out, "  (void)outputs;\n");
  tn_buf_printf(out, "  return (int)%s(", tn_cstr(main));
  put_args(m->inputs, true, &first, out);
  put_args(m->outputs, false, &first, out);
  for (int64_t i = 0; i < m->pools->len; ++i) {
    tn_buf_puts(out, first ? "(uint8_t *)" : ", (uint8_t *)");
    if (pool_bytes(f, i)) tn_buf_printf(out, "workspace%" PRId64 "_", i);
    else tn_buf_putc(out, '0');
    first = false;
  }
  tn_buf_puts(out, ");\n}\n");
  return tn_buf_ok(out);
}

static int put_source(const c_file *f, tn_buf *out) {
  tn_buf_printf(out, "/* %s, compiled by Tenon %s: see %s.h. */\n#include \"%s.h\"\n\n", f->name,
                TN_VERSION, f->name, f->name);
  tn_buf_puts(out, c_constant_macro);
  tn_buf_putc(out, '\n');
  TN_TRY(c_standalone_source(f->program.programs, f->target, "TENON_CONST ", out));
  put_pools(f, out);
  return put_run(f, out);
}

/* ---- files ---- */

int c_file_put(const char *folder, const char *name, const tn_buf *text) {
  tn_str *path;
  TN_TRY(tn_buf_ok(text));
  TN_GET(path, tn_str_fmt("%s/%s", folder, name));
  return tn_file_write(tn_cstr(path), text->data, text->len);
}

int c_file_write(const c_file *f, const char *folder) {
  TN_SCOPE(scope);
  TN_BUF(source);
  TN_BUF(header);
  tn_str *c, *h;
  TN_TRY(put_source(f, &source));
  TN_TRY(put_header(f, &header));
  TN_GET(c, tn_str_fmt("%s.c", f->name));
  TN_GET(h, tn_str_fmt("%s.h", f->name));
  TN_TRY(tn_folder_make(folder));
  TN_TRY(c_file_put(folder, tn_cstr(c), &source));
  return c_file_put(folder, tn_cstr(h), &header);
}

int c_file_make(tn_IRModule *m, tn_target *t, const char *name, c_file *out) {
  TN_BUF(id);
  aot_options o = {.crt = true,
                   .unpacked = true,
                   .pools = true,
                   .link_params = true,
                   .workspace_align = ALIGNMENT};
  *out = (c_file){.name = name, .target = t};
  aot_put_identifier(&id, name);
  TN_TRY(tn_buf_ok(&id));
  TN_CHECK(strcmp(tn_buf_cstr(&id), name) == 0, ValueError, NULL,
           "a model in C: \"%s\" is not an identifier of C: use %s", name, tn_buf_cstr(&id));
  TN_CHECK(target_makes(t, TARGET_C_SOURCE), ValueError, NULL,
           "a model in C: expected a target of kind c, got %s", tn_cstr(t->kind->name));
  return driver_aot_lower(m, t, name, &o, &out->program);
}
