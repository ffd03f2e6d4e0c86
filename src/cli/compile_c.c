/* tenon compile --format c: a folder with NAME.c and NAME.h. */
#include "cli/compile_c.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/scope.h"
#include "driver/aot/interface.h"
#include "export/standalone_c.h"
#include "ir/pass.h"
#include "object/functions.h"

/* The model's file without folder and extension, as an identifier. */
static tn_str *default_name(const char *path) {
  TN_BUF(id);
  const char *slash = strrchr(path, '/'), *from = slash ? slash + 1 : path;
  const char *dot = strrchr(from, '.');
  tn_str *stem;
  TN_GETP(stem, tn_scope_own(tn_str_new_n(from, dot > from ? (size_t)(dot - from) : strlen(from))));
  aot_put_identifier(&id, tn_cstr(stem));
  return tn_scope_own(tn_buf_str(&id));
}

static int make(tn_IRModule *m, tn_target *t, int64_t level, const char *name, c_file *out) {
  tn_PassContext *ctx;
  const char *names[] = {"opt_level"};
  tn_any values[] = {tn_any_int(level)};
  TN_GET(ctx, tn_scope_own(tn_node_make(&tn_type_PassContext, 1, names, values)));
  TN_TRY(ir_pass_ctx_enter(ctx));
  int err = c_file_make(m, t, name, out);
  return err ? err : ir_pass_ctx_exit(ctx);
}

int cli_compile_c(const cli_args *a, tn_IRModule *m, tn_target *t, int64_t level) {
  const char *layout = cli_get(a, "layout", "plain");
  tn_str *name, *sources;
  c_file f;
  TN_GET(name, default_name(a->operands[0]));
  if (cli_has(a, "name")) TN_GET(name, tn_str_from(cli_get(a, "name", "")));
  const char *folder = cli_get(a, "output", tn_cstr(name));
  TN_TRY(make(m, t, level, tn_cstr(name), &f));
  TN_GET(sources, c_file_folder(folder, layout));
  TN_TRY(c_file_write(&f, tn_cstr(sources)));
  TN_TRY(c_file_write_project(&f, folder, layout));
  const tn_ExecutorCodegenMetadata *data = f.program.metadata;
  const long long sizes[] = {(long long)data->constant_bytes, (long long)data->workspace_bytes,
                             (long long)data->stack_bytes};
  if (cli_has(a, "json"))
    printf("{\"constant_bytes\": %lld, \"workspace_bytes\": %lld, \"stack_bytes\": %lld}\n",
           sizes[0], sizes[1], sizes[2]);
  else
    printf("%s: %lld bytes of constants, %lld of memory, %lld of arrays on the stack\n",
           tn_cstr(sources), sizes[0], sizes[1], sizes[2]);
  return 0;
}
