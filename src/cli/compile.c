/* tenon compile: an ONNX model becomes a library for the graph executor, without any other program,
   or an archive in Model Library Format. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/file.h"
#include "base/folder.h"
#include "base/scope.h"
#include "base/text.h"
#include "base/json.h"
#include "cli/cli.h"
#include "cli/compile_c.h"
#include "cli/dump.h"
#include "cli/file.h"
#include "cli/onnx.h"
#include "cli/program.h"
#include "cli/progress.h"
#include "driver/relay_build.h"
#include "driver/vm/build.h"
#include "export/model_library.h"
#include "export/tar.h"
#include "ir/module.h"
#include "ir/pass.h"
#include "object/containers.h"
#include "object/functions.h"
#include "relay/text/text.h"
#include "runtime/graph/executor.h"
#include "runtime/vm/executable.h"
#include "tenon/compiler.h"

const cli_option cli_compile_options[] = {
    {"output", 'o', "FILE", "what to write (default: the model's name with .so or .tar)", NULL},
    {"format", 'f', "FORMAT",
     "library (also so), tar: its object files, mlf: an archive for microcontrollers, or c: a "
     "folder "
     "with C source that stands alone",
     "library so tar mlf c"},
    {"target", 't', "TARGET",
     "what to compile for (default: llvm, this kind of machine; for mlf and c the target c, any "
     "with a C compiler)",
     NULL},
    {"name", 0, "NAME", "for c: what the model is called there (default: as its file)", NULL},
    {"layout", 0, "LAYOUT",
     "for c: what builds the files besides them: cmake, make, arduino or zephyr (default plain)",
     "plain cmake make arduino zephyr"},
    {"input", 'i', "NAME:SHAPE", "extents of an input, as x:1x3x224x224; may be repeated", NULL},
    {"strict", 0, NULL, "warnings about suspicious ONNX models are errors", NULL},
    {"opt-level", 'O', "N", "how much to optimise, 0 to 4 (default 3)", NULL},
    {"records", 0, "FILE",
     "take tiles of kernels from records of measurements in FILE, not from those that ship", NULL},
    {"dump-passes", 0, "DIR", "write the program after every pass to a file in DIR", NULL},
    {"json", 0, NULL, "describe the library as JSON", NULL},
    {0},
};

/* ---- the library ---- */

/* The library that an executable imports. */
static tn_module *kernels_of(tn_module *exe) {
  tn_arr *imports;
  TN_GETP(imports, tn_scope_own(tn_module_imports(exe)));
  TN_CHECKP(imports->len, ValueError, NULL, "tenon compile: the model computes nothing");
  return (tn_module *)imports->items[0].v.obj;
}

static int archive_objects(const char *code, const char *model, const char *path) {
  TN_BUF(first);
  TN_BUF(second);
  TN_BUF(out);
  TN_TRY(tn_file_read(code, &first));
  TN_TRY(tn_file_read(model, &second));
  tar_file files[] = {{"code.o", {(const uint8_t *)first.data, first.len}},
                      {"model.o", {(const uint8_t *)second.data, second.len}}};
  TN_TRY(tar_write(files, 2, 0, &out));
  return tn_file_write(path, out.data, out.len);
}

static int link_library(const char *folder, tn_module *factory, tn_module *code, tn_str *target,
                        const char *path, bool tar) {
  tn_str *files[2];
  tn_any blob = tn_any_none(), none = tn_any_none();
  TN_GET(files[0], tn_str_fmt("%s/code.o", folder));
  TN_GET(files[1], tn_str_fmt("%s/model.o", folder));
  TN_TRY(tn_module_save(code, tn_cstr(files[0]), "o"));
  tn_any pack[] = {tn_any_obj(factory), tn_any_bool(false), tn_any_obj(target)};
  TN_TRY(cli_call("runtime.ModulePackImportsToLLVM", pack, 3, &blob));
  int err = tn_module_save((tn_module *)blob.v.obj, tn_cstr(files[1]), "o");
  tn_any_release(&blob);
  TN_TRY(err);
  if (tar) return archive_objects(tn_cstr(files[0]), tn_cstr(files[1]), path);
  tn_arr *objects;
  TN_GET(objects, tn_arr_of(2, files[0], files[1]));
  tn_any link[] = {tn_any_cstr(path), tn_any_obj(objects)};
  TN_TRY(cli_call("target.LinkSharedLibrary", link, 2, &none));
  tn_any_release(&none);
  return 0;
}

/* What is compiled, for either executor. */
typedef struct {
  relay_built graph;
  tn_module *exe;     /* of the virtual machine, else NULL */
  const char *reason; /* what the machine is needed for, else NULL */
} compiled;

static int write_library(const compiled *c, tn_str *target, const char *path, bool tar) {
  TN_TEMP_FOLDER(folder);
  const relay_built *b = &c->graph;
  tn_module *factory = c->exe, *code = b->lib;
  if (c->exe) TN_GET(code, kernels_of(c->exe));
  TN_CHECK(strcmp(tn_module_type_key(code), "llvm") == 0, ValueError, NULL,
           "tenon compile: code for this target is of kind %s; libraries are made of target llvm, "
           "archives of C source with --format mlf",
           tn_module_type_key(code));
  if (!factory)
    TN_GET(factory, tn_scope_own(tn_graph_factory_new(b->json, b->lib, "default", b->params)));
  TN_TRY(tn_temp_folder_make(&folder));
  int err = link_library(folder.path.data, factory, code, target, path, tar);
  return err;
}

static int write_archive(const relay_built *b, tn_target *t, tn_str *program, const char *path) {
  tn_str *name;
  tn_arr *targets;
  TN_GET(name, tn_str_from("default"));
  TN_GET(targets, tn_arr_of(1, t));
  const mlf_model m = {.name = name,
                       .graph = b->json,
                       .lib = b->lib,
                       .params = b->params,
                       .targets = targets,
                       .relay = program};
  return mlf_export(&m, path);
}

/* @param machine may it be for the virtual machine, where the graph executor cannot run it? */
static int build(tn_IRModule *m, tn_target *t, int64_t level, const char *dump, bool machine,
                 compiled *out) {
  tn_PassContext *ctx;
  TN_GET(ctx, cli_pass_context(level, dump));
  TN_TRY(ir_pass_ctx_enter(ctx));
  driver_targets targets;
  TN_TRY(driver_target_only(t, &targets));
  if (machine) TN_TRY(driver_needs_vm(m, &out->reason));
  if (out->reason) TN_GET(out->exe, driver_vm_build(m, &targets));
  else TN_TRY(driver_relay_build(m, &targets, "default", &out->graph));
  return ir_pass_ctx_exit(ctx);
}

static tn_str *program_text(const tn_IRModule *m) {
  TN_BUF(text);
  const relay_print_options plain = {0};
  TN_TRYP(relay_print((const tn_obj *)m, &plain, &text));
  return tn_scope_own(tn_buf_str(&text));
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int tell(const cli_args *a, const char *path, const compiled *c, double seconds) {
  struct stat s;
  int64_t kernels = c->exe ? tn_vm_exe_of(c->exe)->nprim : c->graph.kernels->len;
  TN_CHECK(stat(path, &s) == 0, OSError, NULL, "cannot read %s: %s", path, strerror(errno));
  if (!cli_has(a, "json")) {
    printf("%s: %lld bytes, %lld kernels, compiled in %.2f s\n", path, (long long)s.st_size,
           (long long)kernels, seconds);
    if (c->exe) printf("it is for the virtual machine: the model has %s\n", c->reason);
    return 0;
  }
  TN_BUF(out);
  tn_buf_puts(&out, "{\"library\": ");
  tn_buf_quote(&out, path, strlen(path));
  tn_buf_printf(&out,
                ", \"bytes\": %lld, \"kernels\": %lld, \"seconds\": %.6f, \"executor\": \"%s\"}\n",
                (long long)s.st_size, (long long)kernels, seconds, c->exe ? "vm" : "graph");
  TN_TRY(tn_buf_ok(&out));
  fputs(tn_buf_cstr(&out), stdout);
  return 0;
}

/* Are object files wanted? Without --format the name says so. */
static bool wants_objects(const cli_args *a) {
  const char *path = cli_get(a, "output", ""), *dot = strrchr(path, '.');
  return strcmp(cli_get(a, "format", dot ? dot + 1 : ""), "tar") == 0;
}

int cli_compile(const cli_args *a) {
  double begin = now();
  bool tar = wants_objects(a);
  const char *model = a->operands[0], *dot = strrchr(model, '.'), *slash = strrchr(model, '/');
  bool archive = strcmp(cli_get(a, "format", "library"), "mlf") == 0;
  bool source = strcmp(cli_get(a, "format", "library"), "c") == 0;
  const char *text = cli_get(a, "target", archive || source ? "c" : "llvm");
  const char *path = cli_get(a, "output", NULL);
  size_t stem = dot && (!slash || dot > slash + 1) ? (size_t)(dot - model) : strlen(model);
  int64_t level;
  tn_target *t;
  tn_IRModule *m;
  tn_str *target, *chosen, *program = NULL;
  compiled c = {0};
  TN_TRY(cli_int(a, "opt-level", 3, 0, 4, &level));
  TN_GET(t, target_parse(text));
  if (cli_has(a, "records")) TN_TRY(tn_records_enter(cli_get(a, "records", "")));
  cli_stage(a, "reading the model");
  TN_GET(m, cli_program_read(a, false));
  if (source) {
    cli_stage(a, "");
    return cli_compile_c(a, m, t, level);
  }
  if (archive) TN_GET(program, program_text(m));
  cli_stage(a, "optimising and compiling");
  TN_TRY(build(m, t, level, cli_get(a, "dump-passes", NULL), !archive, &c));
  TN_GET(target, tn_str_from(text));
  TN_GET(chosen, path ? tn_str_from(path)
                      : tn_str_fmt("%.*s.%s", (int)stem, model, archive || tar ? "tar" : "so"));
  cli_stage(a, "writing");
  if (archive) TN_TRY(write_archive(&c.graph, t, program, tn_cstr(chosen)));
  else TN_TRY(write_library(&c, target, tn_cstr(chosen), tar));
  cli_stage(a, "");
  return tell(a, tn_cstr(chosen), &c, now() - begin);
}
