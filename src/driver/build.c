/* Building lowered programs: host and device apart, then the code generators of their targets. What
   runs on one host is one module; the kernels of a target are a module that it imports. */
#include "driver/build.h"

#include "driver/relay_pipeline.h"
#include "driver/tir_pipeline.h"
#include "ir/functor.h"
#include "ir/module.h"
#include "object/functions.h"
#include "runtime/module/module.h"
#include "tir/script/printer.h"

/* What is compiled for one host. */
typedef struct {
  tn_target *target;
  tn_IRModule *ir;
  tn_vec kernels; /* modules, owned by the scope */
} host_part;

/* ---- targets ---- */

static bool is_cpu(const tn_target *t) { return target_device_type(t) == kDLCPU; }

/* The host of a target that names none: the machine itself. */
static tn_target *default_host(void) {
  return target_parse(codegen_has_llvm() ? "llvm" : "stackvm");
}

/* A target for the host compiles its own host code; others say what their host is. */
static tn_target *with_host(tn_target *t, tn_target *host) {
  if (is_cpu(t)) return target_with_host(t, NULL);
  if (!host) host = t->host;
  if (!host) TN_GETP(host, default_host());
  return target_with_host(t, host);
}

/* ---- parts ---- */

static host_part *part_of(tn_target *t, host_part *parts, int *n) {
  tn_str *text, *other;
  TN_GETP(text, target_text(t));
  for (int i = 0; i < *n; ++i) {
    TN_GETP(other, target_text(parts[i].target));
    if (tn_str_eq(text, tn_cstr(other))) return &parts[i];
  }
  parts[*n] = (host_part){.target = t};
  return &parts[(*n)++];
}

static int add_functions(host_part *p, const tn_IRModule *m) {
  tn_any key, value;
  if (!p->ir) {
    TN_GET(p->ir, ir_module_copy(m));
    return 0;
  }
  for (int64_t i = 0; tn_map_at(m->functions, i, &key, &value); ++i) {
    tn_GlobalVar *v = (tn_GlobalVar *)key.v.obj;
    TN_CHECK(!ir_module_find_var(p->ir, tn_cstr(v->name_hint)), ValueError, v->span,
             "build: two modules have a function %s", tn_cstr(v->name_hint));
    TN_TRY(ir_module_add(p->ir, v, (tn_BaseFunc *)value.v.obj, false));
  }
  return 0;
}

/* ---- threads on a CPU ---- */

static int find_thread(void *ctx, tn_obj *o) {
  const tn_AttrStmt *s = TN_AS(AttrStmt, o);
  bool launches = s && TN_AS(IterVar, s->node) && tn_str_eq(s->attr_key, "thread_extent");
  if (launches) *(const tn_AttrStmt **)ctx = s;
  return launches;
}

/* No code generator of a CPU has thread axes: said before the program is split and its names are
   others. */
static int refuse_threads(const tn_IRModule *m, tn_target *t) {
  tn_any key, value;
  for (int64_t i = 0; tn_map_at(m->functions, i, &key, &value); ++i) {
    const tn_PrimFunc *f = TN_AS(PrimFunc, value.v.obj);
    tn_obj *own = f ? tir_func_attr(f, "target") : NULL;
    tn_target *of = own && TN_IS(Target, own) ? (tn_target *)own : t;
    const tn_AttrStmt *s = NULL;
    if (!f || !is_cpu(of) || tn_pre_order(f->body, find_thread, (void *)&s) < 0 || !s) {
      if (tn_error_pending()) return -1;
      continue;
    }
    tn_str *extent = script_print((tn_obj *)s->value, NULL);
    return TN_RAISE(
        CodegenError, s->span,
        "%s: thread axis %s of extent %s is bound, and target %s, which is a CPU, has no thread "
        "axes: build for \"cuda\" or \"opencl\", or let the loop be parallel or serial",
        tn_cstr(((const tn_GlobalVar *)key.v.obj)->name_hint),
        tn_cstr(((const tn_IterVar *)s->node)->thread_tag), extent ? extent->data : "?",
        tn_cstr(of->kind->name));
  }
  return 0;
}

static int add(tn_IRModule *lowered, tn_target *t, tn_target *host, host_part *parts, int *n) {
  tn_IRModule *on_host, *on_device;
  host_part *p;
  TN_GET(t, with_host(t, host));
  TN_TRY(refuse_threads(lowered, t));
  TN_TRY(driver_split_pipeline(lowered, (tn_obj *)t, &on_host, &on_device));
  TN_GET(p, part_of(is_cpu(t) ? t : t->host, parts, n));
  TN_TRY(add_functions(p, on_host));
  if (tn_map_len(on_device->functions) == 0) return 0;
  tn_module *kernels;
  TN_GET(t, target_with_host(t, NULL));
  TN_GET(kernels, codegen_build(on_device, t));
  return tn_vec_push_obj(&p->kernels, kernels);
}

static tn_module *finish(host_part *parts, int n) {
  tn_module *root = NULL, *m;
  for (int i = 0; i < n; ++i) {
    TN_GETP(m, codegen_build(parts[i].ir, parts[i].target));
    for (int64_t k = 0; k < parts[i].kernels.len; ++k)
      TN_TRYP(tn_module_import(m, (tn_module *)parts[i].kernels.items[k].v.obj));
    if (root) TN_TRYP(tn_module_import(root, m));
    if (!root) root = m;
  }
  return root;
}

enum { MAX_TARGETS = 64 };

tn_module *driver_build(const tn_map *programs, tn_target *host) {
  host_part parts[MAX_TARGETS];
  int n = 0, err = 0;
  tn_any key, value;
  int64_t count = tn_map_len(programs);
  TN_CHECKP(count > 0 && count <= MAX_TARGETS, ValueError, NULL,
            "build: expected 1 to %d targets, got %lld", MAX_TARGETS, (long long)count);
  for (int64_t i = 0; !err && tn_map_at(programs, i, &key, &value); ++i)
    err = add((tn_IRModule *)value.v.obj, (tn_target *)key.v.obj, host, parts, &n);
  tn_module *m = err ? NULL : finish(parts, n);
  for (int i = 0; i < n; ++i) tn_vec_fini(&parts[i].kernels);
  return m;
}

/* ---- functions ---- */

/* The same programs for targets whose code is linked into a program. */
static tn_map *for_system_lib(const tn_map *programs) {
  tn_any key, value;
  tn_map *out;
  TN_GETP(out, tn_scope_own(tn_map_new()));
  for (int64_t i = 0; tn_map_at(programs, i, &key, &value); ++i) {
    tn_target *t;
    TN_GETP(t, target_with_system_lib((tn_target *)key.v.obj));
    TN_TRYP(tn_map_set(out, tn_any_obj(t), value));
  }
  return out;
}

/* The first argument: a module for a target, or a map from Target to IRModule. */
static tn_map *programs_from(const tn_any *arg, tn_target *t) {
  tn_any key, value;
  if (arg->type_index != TN_TI_Map) {
    bool is_module = tn_any_is_obj(arg) && TN_IS(IRModule, arg->v.obj);
    TN_CHECKP(is_module && t, TypeError, NULL, "driver.build: expected a module and a target");
    return tn_map_with(NULL, tn_any_obj(t), *arg);
  }
  tn_map *programs = (tn_map *)arg->v.obj;
  for (int64_t i = 0; tn_map_at(programs, i, &key, &value); ++i)
    TN_CHECKP(tn_any_is_obj(&key) && TN_IS(Target, key.v.obj) && tn_any_is_obj(&value) &&
                  TN_IS(IRModule, value.v.obj),
              TypeError, NULL, "driver.build: expected a map from Target to IRModule");
  return programs;
}

/* driver.build(module, target) or (map from Target to module, host or None, runtime or None) ->
 * Module */
static int build(TN_ARGS) {
  tn_target *t = NULL;
  tn_map *programs;
  tn_Runtime *runtime = NULL;
  TN_CHECK(n == 2 || n == 3, TypeError, NULL, "driver.build: expected 2 or 3 arguments, got %d", n);
  if (args[1].type_index != TN_NONE) TN_GET(t, target_from(&args[1]));
  if (n == 3 && args[2].type_index != TN_NONE) {
    TN_ARG_OBJ(Runtime, given, 2);
    runtime = given;
  }
  TN_GET(programs, programs_from(&args[0], t));
  tn_target *host = args[0].type_index == TN_TI_Map ? t : NULL;
  if (driver_is_system_lib(runtime)) {
    if (host) TN_GET(host, target_with_system_lib(host));
    TN_GET(programs, for_system_lib(programs));
  }
  return tn_ret_obj(ret, driver_build(programs, host));
}

static const tn_func_row rows[] = {{"driver.build", build}};

int driver_build_init(void) { return tn_func_register_rows(rows, TN_COUNT(rows)); }
