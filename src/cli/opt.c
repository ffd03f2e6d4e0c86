/* tenon opt: a program, some passes, the result as text. What golden files are made with. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/scope.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/dump.h"
#include "cli/file.h"
#include "cli/program.h"
#include "cli/progress.h"
#include "driver/relay_pipeline.h"
#include "driver/tir_pipeline.h"
#include "ir/module.h"
#include "ir/pass.h"
#include "object/containers.h"
#include "object/functions.h"
#include "target/target.h"
#include "tir/schedule/trace.h"

const cli_option cli_opt_options[] = {
    {"trace", 0, "FILE",
     "first take the steps of a schedule on a script: a trace as JSON (Trace.as_json)", NULL},
    {"pass", 'p', "NAME", "pass to run, as tir.Simplify; may be repeated, in order", NULL},
    {"lower", 'l', NULL,
     "before them those of a build: scripts become flat code, Relay programs are cut into kernels",
     NULL},
    {"target", 't', "TARGET",
     "target that functions are bound to first; of Relay programs the one they are for (llvm)",
     NULL},
    {"input", 'i', "NAME:SHAPE", "extents of an ONNX model's input; may be repeated", NULL},
    {"strict", 0, NULL, "warnings about suspicious ONNX models are errors", NULL},
    {"opt-level", 'O', "N", "level of the pass context, 0 to 4 (default 3)", NULL},
    {"dump-passes", 0, "DIR", "write the program after every pass to a file in DIR", NULL},
    {"no-metadata", 0, NULL,
     "leave out the metadata section of Relay text, which holds the data of constants", NULL},
    {"list", 0, NULL, "list the passes and end (FILE may be -)", NULL},
    {"print-all", 0, NULL, "print the program after every pass, to standard error", NULL},
    {0},
};

/* By its name, with or without the layer's: tir.Simplify, Simplify; FuseOps, relay.FuseOps. */
static const ir_pass_row *find_pass(const char *name) {
  const char *plain = strncmp(name, "relay.", 6) == 0 ? name + 6 : name;
  tn_near near = {.name = name};
  for (int i = 0; ir_pass_at(i); ++i) {
    const ir_pass_row *r = ir_pass_at(i);
    const char *last = strrchr(r->name, '.');
    if (strcmp(r->name, plain) == 0 || (last && strcmp(last + 1, name) == 0)) return r;
    tn_near_offer(&near, last && !strchr(name, '.') ? last + 1 : r->name);
  }
  return TN_RAISEP(ValueError, NULL, "tenon opt: unknown pass %s%s (see: tenon opt --list -)", name,
                   tn_near_text(&near));
}

static void list_passes(void) {
  for (int i = 0; ir_pass_at(i); ++i) printf("%-44s %s\n", ir_pass_at(i)->name, ir_pass_at(i)->doc);
}

static int print_program(FILE *out, tn_IRModule *m, bool metadata) {
  tn_str *text;
  TN_GET(text, cli_program_text(m, metadata));
  fprintf(out, "%s\n", tn_cstr(text));
  return 0;
}

static tn_IRModule *run_pass(const char *name, tn_IRModule *m, const tn_any *args, int nargs) {
  const ir_pass_row *row;
  tn_Pass *pass;
  TN_GETP(row, find_pass(name));
  TN_GETP(pass, ir_pass_new(row, args, nargs));
  return ir_pass_run(pass, m, NULL);
}

static tn_IRModule *run_named(const cli_args *a, tn_IRModule *m) {
  for (int i = 0; cli_nth(a, "pass", i); ++i) {
    TN_GETP(m, run_pass(cli_nth(a, "pass", i), m, NULL, 0));
    if (!cli_has(a, "print-all")) continue;
    fprintf(stderr, "# after %s\n", cli_nth(a, "pass", i));
    TN_TRYP(print_program(stderr, m, false));
  }
  return m;
}

/* Passes over Relay programs may ask for types, and for the target. */
static tn_IRModule *run_relay(const cli_args *a, tn_IRModule *m, tn_target *t) {
  bool planned;
  driver_targets targets;
  TN_TRYP(driver_target_only(t, &targets));
  if (cli_has(a, "lower")) TN_GETP(m, driver_relay_graph_pipeline(m, &targets, &planned));
  else TN_GETP(m, run_pass("InferType", m, NULL, 0));
  TN_TRYP(target_enter(t));
  m = run_named(a, m);
  return target_exit(t) ? NULL : m;
}

/* The program after the steps of the trace in a file. */
static tn_IRModule *take_trace(const char *path, tn_IRModule *m) {
  TN_BUF(text);
  tn_TirSchedule *s;
  TN_TRYP(cli_read_file(path, &text));
  TN_GETP(s, sch_new(m, 0, 0));
  TN_TRYP(sch_seed(s, -1));
  if (sch_trace_apply_json(tn_buf_cstr(&text), text.len, s) == 0) return s->mod;
  (void)tn_error_note("in %s", path);
  return NULL;
}

static tn_IRModule *run_passes(const cli_args *a, tn_IRModule *m) {
  bool relay = cli_program_is_relay(m);
  const char *text = cli_get(a, "target", relay ? "llvm" : NULL);
  const char *trace = cli_get(a, "trace", NULL);
  tn_target *t = NULL;
  TN_CHECKP(!trace || !relay, ValueError, NULL,
            "--trace is for scripts of tensor programs: %s is a Relay program", a->operands[0]);
  if (text) TN_GETP(t, target_parse(text));
  if (trace) TN_GETP(m, take_trace(trace, m));
  if (relay) return run_relay(a, m, t);
  tn_any arg = tn_any_obj(t);
  if (t) TN_GETP(m, run_pass("tir.BindTarget", m, &arg, 1));
  if (cli_has(a, "lower")) TN_GETP(m, driver_lower(m, false));
  return run_named(a, m);
}

int cli_opt(const cli_args *a) {
  tn_IRModule *m;
  tn_PassContext *ctx;
  int64_t level;
  if (cli_has(a, "list")) {
    list_passes();
    return 0;
  }
  TN_TRY(cli_int(a, "opt-level", 3, 0, 4, &level));
  cli_stage(a, "reading the program");
  TN_GET(m, cli_program_read(a, true));
  cli_stage(a, cli_has(a, "print-all") ? "" : "running passes");
  TN_GET(ctx, cli_pass_context(level, cli_get(a, "dump-passes", NULL)));
  TN_TRY(ir_pass_ctx_enter(ctx));
  TN_GET(m, run_passes(a, m));
  TN_TRY(ir_pass_ctx_exit(ctx));
  cli_stage(a, "");
  return print_program(stdout, m, !cli_has(a, "no-metadata"));
}
