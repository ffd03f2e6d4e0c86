/* tenon opt: a program in TVMScript, some passes, the result as text. What golden files are made
 * with. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/scope.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/file.h"
#include "driver/tir_pipeline.h"
#include "ir/module.h"
#include "ir/pass.h"
#include "object/containers.h"
#include "target/target.h"
#include "tir/script/build.h"
#include "tir/script/printer.h"

const cli_option cli_opt_options[] = {
    {"pass", 'p', "NAME", "pass to run, as tir.Simplify; may be repeated, in order", NULL},
    {"lower", 'l', NULL, "run the passes that lead to flat code, in their order", NULL},
    {"target", 't', "TARGET", "target that functions are bound to first", NULL},
    {"list", 0, NULL, "list the passes and end (FILE may be -)", NULL},
    {"print-all", 0, NULL, "print the program after every pass, to standard error", NULL},
    {0},
};

static const ir_pass_row *find_pass(const char *name) {
  for (int i = 0; ir_pass_at(i); ++i) {
    const ir_pass_row *r = ir_pass_at(i);
    const char *last = strrchr(r->name, '.');
    if (strcmp(r->name, name) == 0 || (last && strcmp(last + 1, name) == 0)) return r;
  }
  tn_near near = {.name = name};
  for (int i = 0; ir_pass_at(i); ++i) {
    const char *last = strrchr(ir_pass_at(i)->name, '.');
    tn_near_offer(&near, last && !strchr(name, '.') ? last + 1 : ir_pass_at(i)->name);
  }
  return TN_RAISEP(ValueError, NULL, "tenon opt: there is no pass %s%s (see: tenon opt --list -)",
                   name, tn_near_text(&near));
}

static void list_passes(void) {
  for (int i = 0; ir_pass_at(i); ++i) printf("%-44s %s\n", ir_pass_at(i)->name, ir_pass_at(i)->doc);
}

static tn_IRModule *read_program(const char *path) {
  TN_BUF(text);
  tn_obj *program;
  TN_TRYP(cli_read_file(path, &text));
  TN_CHECKP(text.len < INT32_MAX, ValueError, NULL, "%s: a program of more than 2 GB", path);
  ast_source src = {
      .file = path, .text = tn_buf_cstr(&text), .len = (int)text.len, .first_line = 1};
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

static int print_program(FILE *out, tn_IRModule *m) {
  tn_obj *program = (tn_obj *)m;
  tn_GlobalVar *v = ir_module_find_var(m, "main");
  if (v && m->functions->len == 1) TN_GET(program, (tn_obj *)ir_module_lookup(m, v));
  tn_str *text;
  TN_GET(text, script_print(program, NULL));
  fprintf(out, "%s\n", tn_str_data(text));
  return 0;
}

static tn_IRModule *run_pass(const char *name, tn_IRModule *m, const tn_any *args, int nargs) {
  const ir_pass_row *row;
  tn_Pass *pass;
  TN_GETP(row, find_pass(name));
  TN_GETP(pass, ir_pass_new(row, args, nargs));
  return ir_pass_run(pass, m, NULL);
}

static tn_IRModule *run_passes(const cli_args *a, tn_IRModule *m) {
  const char *target = cli_get(a, "target", NULL);
  if (target) {
    tn_target *t;
    TN_GETP(t, target_parse(target));
    tn_any arg = tn_any_obj(t);
    TN_GETP(m, run_pass("tir.BindTarget", m, &arg, 1));
  }
  if (cli_has(a, "lower")) TN_GETP(m, driver_lower(m, false));
  for (int i = 0; cli_nth(a, "pass", i); ++i) {
    TN_GETP(m, run_pass(cli_nth(a, "pass", i), m, NULL, 0));
    if (!cli_has(a, "print-all")) continue;
    fprintf(stderr, "# after %s\n", cli_nth(a, "pass", i));
    TN_TRYP(print_program(stderr, m));
  }
  return m;
}

int cli_opt(const cli_args *a) {
  if (cli_has(a, "list")) {
    list_passes();
    return 0;
  }
  tn_IRModule *m;
  TN_GET(m, read_program(a->operands[0]));
  TN_GET(m, run_passes(a, m));
  return print_program(stdout, m);
}
