/* tenon compile: an ONNX model becomes a library for the graph executor, without any other program,
   or an archive in Model Library Format. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/folder.h"
#include "base/scope.h"
#include "base/text.h"
#include "base/json.h"
#include "cli/cli.h"
#include "driver/relay_build.h"
#include "export/model_library.h"
#include "ir/module.h"
#include "ir/pass.h"
#include "object/containers.h"
#include "object/functions.h"
#include "relay/text/text.h"
#include "runtime/graph/executor.h"

const cli_option cli_compile_options[] = {
    {"output", 'o', "FILE", "what to write (default: the model's name with .so or .tar)", NULL},
    {"format", 'f', "FORMAT", "library, or mlf: an archive for microcontrollers", "library mlf"},
    {"target", 't', "TARGET",
     "what to compile for (default: llvm, this kind of machine; for mlf c, any with a C compiler)",
     NULL},
    {"input", 'i', "NAME:SHAPE", "extents of an input, as x:1x3x224x224; may be repeated", NULL},
    {"opt-level", 'O', "N", "how much to optimise, 0 to 4 (default 3)", NULL},
    {"json", 0, NULL, "tell about the library as JSON", NULL},
    {0},
};

/* ---- the model ---- */

/* Calls a global function. */
static int call(const char *name, const tn_any *args, int32_t n, tn_any *ret) {
  tn_func *f = tn_func_find(name);
  TN_CHECK(f, ValueError, NULL,
           "tenon compile: %s is not part of this installation (see: tenon doctor)", name);
  int err = tn_func_call(f, args, n, ret);
  tn_release(f);
  return err;
}

/* "1x3x224x224" behind the last colon of an --input. */
static int add_shape(tn_map *shapes, const char *text) {
  const char *colon = strrchr(text, ':');
  TN_VEC(extents);
  TN_CHECK(colon && colon > text && colon[1], ValueError, NULL,
           "tenon compile: --input: expected NAME:SHAPE as x:1x3x224x224, got %s", text);
  for (const char *p = colon + 1;; ++p) {
    size_t n = strcspn(p, "x");
    int64_t extent;
    TN_CHECK(tn_text_int(p, n, &extent) && extent >= 0 && extent < INT32_MAX, ValueError, NULL,
             "tenon compile: --input %s: expected extents with x between, got %.*s", text, (int)n,
             p);
    TN_TRY(tn_vec_push(&extents, tn_any_int(extent)));
    p += n;
    if (!*p) break;
  }
  tn_str *name;
  tn_arr *list;
  TN_GET(name, tn_scope_own(tn_str_new_n(text, (size_t)(colon - text))));
  TN_GET(list, tn_arr_from(&extents));
  return tn_map_set(shapes, tn_any_obj(name), tn_any_obj(list));
}

/* Weights are constants of the program: its parameters are the inputs. */
static int check_names(const tn_map *shapes, const tn_RelayFunction *f) {
  for (int64_t i = 0; i < shapes->len; ++i) {
    const char *name = tn_cstr((const tn_str *)shapes->entries[i].key.v.obj);
    tn_near near = {.name = name};
    bool found = false;
    for (int64_t k = 0; k < f->params->len && !found; ++k) {
      const char *known = tn_cstr(((const tn_RelayVar *)f->params->items[k].v.obj)->vid->name_hint);
      found = strcmp(known, name) == 0;
      tn_near_offer(&near, known);
    }
    TN_CHECK(found, ValueError, NULL, "tenon compile: --input: the model has no input %s%s", name,
             tn_near_text(&near));
  }
  return 0;
}

static tn_IRModule *read_model(const cli_args *a) {
  tn_map *shapes;
  tn_GlobalVar *v;
  tn_BaseFunc *f;
  tn_any ret = tn_any_none();
  TN_GETP(shapes, tn_scope_own(tn_map_new()));
  for (int i = 0; cli_nth(a, "input", i); ++i) TN_TRYP(add_shape(shapes, cli_nth(a, "input", i)));
  tn_any args[] = {tn_any_cstr(a->operands[0]), tn_any_bool(true), tn_any_obj(shapes),
                   tn_any_bool(true)};
  TN_TRYP(call("relay.frontend.FromONNX", args, TN_COUNT(args), &ret));
  const tn_arr *made = tn_scope_own(ret.v.obj); /* [module, params] */
  tn_IRModule *m = (tn_IRModule *)made->items[0].v.obj;
  TN_GETP(v, ir_module_var(m, "main"));
  TN_GETP(f, ir_module_lookup(m, v));
  TN_TRYP(check_names(shapes, (const tn_RelayFunction *)f));
  return m;
}

/* ---- the library ---- */

static int link_library(const char *folder, tn_module *factory, tn_module *code, tn_str *target,
                        const char *path) {
  tn_str *files[2];
  tn_any blob = tn_any_none(), none = tn_any_none();
  TN_GET(files[0], tn_str_fmt("%s/code.o", folder));
  TN_GET(files[1], tn_str_fmt("%s/model.o", folder));
  TN_TRY(tn_module_save(code, tn_cstr(files[0]), "o"));
  tn_any pack[] = {tn_any_obj(factory), tn_any_bool(false), tn_any_obj(target)};
  TN_TRY(call("runtime.ModulePackImportsToLLVM", pack, 3, &blob));
  int err = tn_module_save((tn_module *)blob.v.obj, tn_cstr(files[1]), "o");
  tn_any_release(&blob);
  TN_TRY(err);
  tn_arr *objects;
  TN_GET(objects, tn_arr_of(2, files[0], files[1]));
  tn_any link[] = {tn_any_cstr(path), tn_any_obj(objects)};
  TN_TRY(call("target.LinkSharedLibrary", link, 2, &none));
  tn_any_release(&none);
  return 0;
}

static int write_library(const relay_built *b, tn_str *target, const char *path) {
  TN_BUF(folder);
  tn_module *factory;
  TN_CHECK(strcmp(tn_module_type_key(b->lib), "llvm") == 0, ValueError, NULL,
           "tenon compile: code for this target is of kind %s; libraries are made of target llvm, "
           "archives of C source with --format mlf",
           tn_module_type_key(b->lib));
  TN_GET(factory, tn_scope_own(tn_graph_factory_new(b->json, b->lib, "default", b->params)));
  TN_TRY(tn_folder_make_temp(&folder));
  int err = link_library(tn_buf_cstr(&folder), factory, b->lib, target, path);
  tn_folder_remove(tn_buf_cstr(&folder));
  return err;
}

static int write_archive(const relay_built *b, tn_target *t, tn_str *program, const char *path) {
  tn_str *name;
  tn_arr *targets;
  TN_GET(name, tn_str_from("default"));
  TN_GET(targets, tn_arr_of(1, t));
  return mlf_export(&(mlf_model){name, b->json, b->lib, b->params, targets, program}, path);
}

static int build(tn_IRModule *m, tn_target *t, int64_t level, relay_built *out) {
  tn_PassContext *ctx;
  const char *names[] = {"opt_level"};
  tn_any value = tn_any_int(level);
  TN_GET(ctx, tn_scope_own(tn_node_make(&tn_type_PassContext, 1, names, &value)));
  TN_TRY(ir_pass_ctx_enter(ctx));
  int err = driver_relay_build(m, t, "default", out);
  return err ? err : ir_pass_ctx_exit(ctx);
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

static int tell(const cli_args *a, const char *path, int64_t kernels, double seconds) {
  struct stat s;
  TN_CHECK(stat(path, &s) == 0, OSError, NULL, "cannot read %s: %s", path, strerror(errno));
  if (!cli_has(a, "json")) {
    printf("%s: %lld bytes, %lld kernels, compiled in %.2f s\n", path, (long long)s.st_size,
           (long long)kernels, seconds);
    return 0;
  }
  TN_BUF(out);
  tn_buf_puts(&out, "{\"library\": ");
  tn_buf_quote(&out, path, strlen(path));
  tn_buf_printf(&out, ", \"bytes\": %lld, \"kernels\": %lld, \"seconds\": %.6f}\n",
                (long long)s.st_size, (long long)kernels, seconds);
  TN_TRY(tn_buf_ok(&out));
  fputs(tn_buf_cstr(&out), stdout);
  return 0;
}

int cli_compile(const cli_args *a) {
  double begin = now();
  const char *model = a->operands[0], *dot = strrchr(model, '.'), *slash = strrchr(model, '/');
  bool archive = strcmp(cli_get(a, "format", "library"), "mlf") == 0;
  const char *text = cli_get(a, "target", archive ? "c" : "llvm");
  const char *path = cli_get(a, "output", NULL);
  size_t stem = dot && (!slash || dot > slash + 1) ? (size_t)(dot - model) : strlen(model);
  int64_t level;
  tn_target *t;
  tn_IRModule *m;
  tn_str *target, *chosen, *program = NULL;
  relay_built b;
  TN_TRY(cli_int(a, "opt-level", 3, 0, 4, &level));
  TN_GET(t, target_parse(text));
  TN_GET(m, read_model(a));
  if (archive) TN_GET(program, program_text(m));
  TN_TRY(build(m, t, level, &b));
  TN_GET(target, tn_str_from(text));
  TN_GET(chosen, path ? tn_str_from(path)
                      : tn_str_fmt("%.*s.%s", (int)stem, model, archive ? "tar" : "so"));
  if (archive) TN_TRY(write_archive(&b, t, program, tn_cstr(chosen)));
  else TN_TRY(write_library(&b, target, tn_cstr(chosen)));
  return tell(a, tn_cstr(chosen), b.kernels->len, now() - begin);
}
