#include "driver/function_table.h"

#include <ctype.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/scope.h"
#include "object/containers.h"
#include "object/functions.h"
#include "runtime/module/source_module.h"

void driver_put_identifier(tn_buf *out, const char *name) {
  for (; *name; ++name) tn_buf_putc(out, isalnum((unsigned char)*name) ? *name : '_');
}

static void put_rows(const tn_map *kernels, const char *before, const char *after, bool twice,
                     tn_buf *out) {
  tn_any key, value;
  for (int64_t i = 0; tn_map_at(kernels, i, &key, &value); ++i) {
    const char *name = tn_cstr((const tn_str *)key.v.obj);
    if (twice) tn_buf_printf(out, "%s\"%s\", %s%s", before, name, name, after);
    else tn_buf_printf(out, "%s%s%s", before, name, after);
  }
}

/* A table must not be empty in C: a model without kernels has one row of nothing. */
static void put_table(const char *name, const tn_map *kernels, const tn_map *externals,
                      tn_buf *out) {
  tn_buf_puts(out, "// functions of the model by name\n"
                   "#include \"tenon/micro.h\"\n\n");
  static const char parameters[] =
      "(void* args, int32_t* arg_type_ids, int32_t num_args, void* out_ret_value, int32_t* "
      "out_ret_tcode, void* resource_handle);\n";
  put_rows(kernels, "int32_t ", parameters, false, out);
  put_rows(externals, "int32_t ", parameters, false, out);
  tn_buf_puts(out, "\nstatic const tn_micro_function functions_[] = {\n");
  put_rows(kernels, "  {", "},\n", true, out);
  put_rows(externals, "  {", "},\n", true, out);
  if (!kernels->len && !externals->len) tn_buf_puts(out, "  {NULL, NULL},\n");
  tn_buf_puts(out, "};\n\nextern const tn_micro_library tvmgen_");
  driver_put_identifier(out, name);
  tn_buf_puts(out, "_library;\nconst tn_micro_library tvmgen_");
  driver_put_identifier(out, name);
  tn_buf_printf(out, "_library = {%lld, functions_};\n",
                (long long)(kernels->len + externals->len));
}

/* The same for the C runtime: its header has the types. */
static void put_entry_point(const tn_map *kernels, const tn_map *externals, tn_buf *out) {
  long long n = kernels->len + externals->len;
  static const char call[] = "  (TVMBackendPackedCFunc)";
  tn_buf_printf(out, "\n#include \"tvm/runtime/crt/module.h\"\n\n"
                     "static const TVMBackendPackedCFunc linked_[] = {\n");
  put_rows(kernels, call, ",\n", false, out);
  put_rows(externals, call, ",\n", false, out);
  tn_buf_printf(out, "%s};\n\nstatic const TVMFuncRegistry registry_ = {\n  \"\\%llo\\%llo\"\n",
                n ? "" : "  NULL,\n", n & 255, n >> 8 & 255);
  put_rows(kernels, "  \"", "\\0\"\n", false, out);
  put_rows(externals, "  \"", "\\0\"\n", false, out);
  tn_buf_puts(out, "  , linked_};\nstatic const TVMModule module_ = {&registry_};\n"
                   "const TVMModule* TVMSystemLibEntryPoint(void) { return &module_; }\n");
}

static int add_names(const tn_map *functions, tn_vec *names) {
  for (int64_t i = 0; i < functions->len; ++i)
    TN_TRY(tn_vec_push(names, functions->entries[i].key));
  return 0;
}

/* The table as code of LLVM, which the plug-in makes. */
static int add_llvm_table(tn_module *lib, const tn_map *kernels, const tn_map *externals,
                          tn_target *t) {
  TN_VEC(names);
  tn_arr *all;
  tn_func *make;
  tn_any ret;
  TN_TRY(add_names(kernels, &names));
  TN_TRY(add_names(externals, &names));
  TN_GET(all, tn_arr_from(&names));
  TN_GET(make, tn_scope_own(tn_func_find("target.llvm_function_table"))); /* code of LLVM exists */
  const tn_any args[] = {tn_any_obj(all), tn_any_obj(t)};
  TN_TRY(tn_func_call(make, args, 2, &ret));
  return tn_module_import(lib, (tn_module *)tn_scope_own(ret.v.obj));
}

int driver_add_function_table(tn_module *lib, const char *name, const tn_map *kernels,
                              const tn_map *externals, tn_target *linked) {
  TN_BUF(text);
  tn_module *table;
  TN_CHECK(kernels->len + externals->len < 1 << 16, ValueError, NULL,
           "build: the model has more functions than a table of the C runtime");
  if (linked && strcmp(tn_module_type_key(lib), "llvm") == 0)
    return add_llvm_table(lib, kernels, externals, linked);
  if (strcmp(tn_module_type_key(lib), "c") != 0) return 0;
  put_table(name, kernels, externals, &text);
  if (linked) put_entry_point(kernels, externals, &text);
  TN_TRY(tn_buf_ok(&text));
  TN_GET(table, tn_scope_own(tn_c_source_new(tn_buf_cstr(&text), text.len)));
  return tn_module_import(lib, table);
}
