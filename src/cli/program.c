#include "cli/program.h"

#include <ctype.h>
#include <string.h>

#include "base/error.h"
#include "base/scope.h"
#include "cli/file.h"
#include "cli/onnx.h"
#include "ir/module.h"
#include "object/containers.h"
#include "relay/text/text.h"
#include "tir/script/build.h"
#include "tir/script/printer.h"

/* Behind white space and comments. */
static const char *first_word(const char *p) {
  for (;;) {
    const char *comment_end = NULL;
    while (isspace((unsigned char)*p)) ++p;
    if (strncmp(p, "//", 2) == 0) comment_end = strchr(p, '\n');
    else if (strncmp(p, "/*", 2) == 0) comment_end = strstr(p + 2, "*/");
    if (!comment_end) return p;
    p = comment_end + (p[1] == '*' ? 2 : 1);
  }
}

/* The version line, or the definition of a function: neither begins a script. */
static bool is_relay_text(const char *text) {
  const char *p = first_word(text);
  return strncmp(p, "#[", 2) == 0 || strncmp(p, "def @", 5) == 0;
}

static tn_IRModule *read_relay(const char *path, const tn_buf *text) {
  tn_str *s;
  TN_GETP(s, tn_scope_own(tn_buf_str(text)));
  return relay_parse(path, s, NULL, NULL);
}

static tn_IRModule *read_script(const char *path, tn_buf *text) {
  tn_obj *program;
  ast_source src = {
      .file = path, .text = tn_buf_cstr(text), .len = (int)text->len, .first_line = 1};
  script_options how = {NULL, true};
  TN_GETP(program, script_parse(&src, &how));
  if (TN_AS(IRModule, program)) return (tn_IRModule *)program;
  tn_IRModule *m;
  tn_GlobalVar *v;
  TN_GETP(m, ir_module_new(NULL, NULL, NULL));
  TN_GETP(v, ir_global_var("main"));
  TN_TRYP(ir_module_add(m, v, (tn_BaseFunc *)program, false));
  return m;
}

tn_IRModule *cli_program_read(const cli_args *a, bool scripts) {
  const char *path = a->operands[0];
  TN_BUF(text);
  bool onnx = cli_onnx_named(path);
  if (!onnx) TN_TRYP(cli_read_file(path, &text));
  bool relay = !onnx && is_relay_text(tn_buf_cstr(&text));
  if (onnx || (!relay && !scripts)) return cli_onnx_read(a);
  TN_CHECKP(!cli_has(a, "input"), ValueError, NULL,
            "--input is for ONNX models (.onnx): the program in %s says its own shapes", path);
  TN_CHECKP(text.len < INT32_MAX, ValueError, NULL, "%s: a program of more than 2 GB", path);
  return relay ? read_relay(path, &text) : read_script(path, &text);
}

bool cli_program_is_relay(const tn_IRModule *m) {
  tn_any key, value;
  bool relay = m->type_definitions->len > 0;
  for (int64_t i = 0; !relay && tn_map_at(m->functions, i, &key, &value); ++i)
    relay = TN_AS(RelayFunction, value.v.obj) != NULL;
  return relay;
}

tn_str *cli_program_text(tn_IRModule *m, bool metadata) {
  TN_BUF(text);
  const relay_print_options how = {.version = true, .metadata = metadata};
  if (!cli_program_is_relay(m)) {
    tn_GlobalVar *v = m->functions->len == 1 ? ir_module_find_var(m, "main") : NULL;
    tn_obj *program = (tn_obj *)m;
    if (v) TN_GETP(program, (tn_obj *)ir_module_lookup(m, v));
    return script_print(program, NULL);
  }
  TN_TRYP(relay_print((const tn_obj *)m, &how, &text));
  return tn_scope_own(tn_buf_str(&text));
}
