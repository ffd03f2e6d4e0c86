/* Building for the virtual machine:

     module -> what `main` needs -> passes -> bytecode
                                       kernels, shape programs -> schedules -> lowering -> code */
#include "driver/vm/build.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/scope.h"
#include "driver/kernel_build.h"
#include "driver/primitive.h"
#include "driver/relay_pipeline.h"
#include "driver/vm/gen.h"
#include "ir/functor.h"
#include "ir/module.h"
#include "runtime/module.h"

/* ---- what is needed ---- */

typedef struct {
  const tn_IRModule *m;
  tn_map *found; /* GlobalVar of the module -> function */
} reachable;

static int reach(void *ctx, tn_obj *node) {
  reachable *r = ctx;
  const tn_GlobalVar *v = TN_AS(GlobalVar, node);
  tn_any known;
  if (!v) return 0;
  tn_GlobalVar *own = ir_module_find_var(r->m, tn_cstr(v->name_hint));
  if (!own || tn_map_get(r->found, tn_any_obj(own), &known)) return 0;
  tn_BaseFunc *f;
  TN_GET(f, ir_module_lookup(r->m, own));
  return tn_map_set(r->found, tn_any_obj(own), tn_any_obj(f));
}

/* The module with the functions that `main` calls, directly or not. */
static tn_IRModule *only_needed(tn_IRModule *m) {
  reachable r = {.m = m};
  tn_GlobalVar *main = ir_module_find_var(m, "main");
  if (!main) return m;
  TN_GETP(r.found, tn_scope_own(tn_map_new()));
  TN_TRYP(reach(&r, (tn_obj *)main));
  for (int64_t i = 0; i < r.found->len; ++i)
    TN_TRYP(tn_post_order(r.found->entries[i].value.v.obj, reach, &r));
  return ir_module_with_functions(m, r.found);
}

/* ---- kernels ---- */

/* The kernels that are called; those that only reshape are not. */
static tn_map *called_kernels(const vm_gen *g) {
  tn_map *out;
  TN_GETP(out, tn_scope_own(tn_map_new()));
  for (int64_t i = 0; i < g->names.kernels->len; ++i) {
    const tn_map_entry *e = &g->names.kernels->entries[i];
    tn_any known;
    if (tn_map_get(g->prim_index, e->key, &known)) TN_TRYP(tn_map_set(out, e->key, e->value));
  }
  return out;
}

/* Kernels for pieces of rows join the others: kernel_rows64, ... and the primitive's attributes say
   so to the machine. */
static int add_pieces(const vm_gen *g, const tn_map_entry *e, tn_map *programs, tn_target *t) {
  const tn_RelayFunction *f = (const tn_RelayFunction *)e->value.v.obj;
  tn_obj *program = tn_map_find(programs, tn_cstr((const tn_str *)e->key.v.obj));
  tn_any number;
  vm_rows rows;
  tn_map *attrs;
  TN_BUF(sizes);
  TN_BUF(costs);
  TN_TRY(vm_row_pieces(f, (const tn_PrimFunc *)program, &rows));
  if (!rows.n || !tn_map_get(g->prim_index, e->key, &number)) return 0;
  for (int i = 0; i < rows.n; ++i) {
    tn_RelayFunction *piece;
    tn_PrimFunc *p;
    tn_str *name;
    TN_GET(piece, vm_kernel_of_rows(f, rows.sizes[i]));
    TN_GET(p, driver_primitive(piece, t));
    TN_GET(name,
           tn_str_fmt("%s_rows%d", tn_cstr((const tn_str *)e->key.v.obj), (int)rows.sizes[i]));
    TN_TRY(tn_map_set(programs, tn_any_obj(name), tn_any_obj(p)));
    tn_buf_printf(&sizes, "%s%d", i ? "," : "", (int)rows.sizes[i]);
    tn_buf_printf(&costs, "%s%d", i ? "," : "", (int)rows.costs[i]);
  }
  TN_TRY(tn_buf_ok(&sizes) || tn_buf_ok(&costs));
  TN_GET(attrs,
         tn_map_with(NULL, tn_any_cstr("rows"), tn_any_obj(tn_str_from(tn_buf_cstr(&sizes)))));
  TN_GET(attrs, tn_map_with(attrs, tn_any_cstr("row_costs"),
                            tn_any_obj(tn_str_from(tn_buf_cstr(&costs)))));
  TN_GET(attrs, tn_map_with(attrs, tn_any_cstr("row_args"), tn_any_obj(tn_str_from(rows.mask))));
  return tn_map_set(g->x->prim_attrs, number, tn_any_obj(attrs));
}

static tn_target *host_of(tn_target *t) {
  if (target_device_type(t) == kDLCPU) return t;
  return t->host ? (tn_target *)t->host : target_parse("llvm");
}

/* The code of kernels, and of shape programs, which run on the host. */
static tn_module *kernel_code(const vm_gen *g, tn_target *t) {
  tn_map *programs, *kernels;
  tn_module *lib, *shapes;
  tn_target *host;
  TN_GETP(host, host_of(t));
  TN_GETP(kernels, called_kernels(g));
  TN_GETP(programs, driver_kernel_programs(kernels, t));
  for (int64_t i = 0; host == t && i < kernels->len; ++i)
    TN_TRYP(add_pieces(g, &kernels->entries[i], programs, t));
  for (int64_t i = 0; host == t && i < g->shape_funcs->len; ++i)
    TN_TRYP(tn_map_set(programs, g->shape_funcs->entries[i].key, g->shape_funcs->entries[i].value));
  TN_GETP(lib, driver_programs_build(programs, t));
  if (host == t || g->shape_funcs->len == 0) return lib;
  TN_GETP(shapes, driver_programs_build(g->shape_funcs, host));
  return tn_module_import(lib, shapes) ? NULL : lib;
}

/* ---- all of it ---- */

static int set_devices(vm_gen *g, tn_target *t) {
  const tn_device host = {kDLCPU, 0};
  int type = target_device_type(t);
  g->host = tn_vm_add_device(g->x, host, "");
  g->device = g->host;
  if (g->host >= 0 && type != kDLCPU)
    g->device = tn_vm_add_device(g->x, (tn_device){(DLDeviceType)type, 0}, "");
  g->x->host = g->host;
  return g->host < 0 || g->device < 0 ? -1 : 0;
}

static int fill(vm_gen *g, tn_IRModule *m, tn_target *t) {
  g->mod = m;
  TN_TRY(kernel_names_init(&g->names, "vm_mod_"));
  TN_GET(g->shape_funcs, tn_scope_own(tn_map_new()));
  TN_GET(g->prim_index, tn_scope_own(tn_map_new()));
  TN_TRY(set_devices(g, t));
  TN_TRY(vm_generate(g));
  return tn_vm_verify(g->x);
}

static void fini(vm_gen *g) {
  tn_pmap_fini(&g->kernels);
  tn_pmap_fini(&g->known);
  tn_pmap_fini(&g->consts);
  tn_pmap_fini(&g->constructors);
  tn_free(g->queue);
}

/* Without kernels there is no library. */
static tn_module *build(vm_gen *g, tn_IRModule *m, tn_target *t) {
  tn_module *lib = NULL;
  TN_TRYP(fill(g, m, t));
  if (g->prim_index->len > 0) TN_GETP(lib, kernel_code(g, t));
  tn_vm_exe *x = g->x;
  g->x = NULL;
  return tn_scope_own(tn_vm_module_new(x, lib));
}

static tn_IRModule *optimized(tn_IRModule *m, tn_target *t) {
  TN_GETP(m, only_needed(m));
  return driver_relay_vm_pipeline(m, t);
}

tn_module *driver_vm_build(tn_IRModule *m, tn_target *t) {
  TN_SCOPE(s);
  vm_gen g = {0};
  TN_GETP(m, optimized(m, t));
  TN_GETP(g.x, tn_vm_exe_new());
  tn_module *r = build(&g, m, t);
  if (g.x) tn_vm_exe_free(g.x);
  fini(&g);
  return tn_scope_return(s, r);
}

/* ---- functions ---- */

static int module_arg(const char *what, const tn_any *args, int32_t n, tn_IRModule **m,
                      tn_target **t) {
  TN_NARGS(what, 2);
  TN_ARG_OBJ(IRModule, given, 0);
  TN_CHECK(given, TypeError, NULL, "%s: expected a module, got None", what);
  *m = given;
  TN_GET(*t, target_from(&args[1]));
  return 0;
}

/* (module, target) -> executable */
static int vm_build(TN_ARGS) {
  tn_IRModule *m;
  tn_target *t;
  TN_TRY(module_arg("driver.vm_build", args, n, &m, &t));
  return tn_ret_obj(ret, driver_vm_build(m, t));
}

/* (module, target) -> module as it is before bytecode is made */
static int vm_optimize(TN_ARGS) {
  tn_IRModule *m;
  tn_target *t;
  TN_TRY(module_arg("driver.vm_optimize", args, n, &m, &t));
  return tn_ret_obj(ret, optimized(m, t));
}

static const tn_func_row rows[] = {{"driver.vm_build", vm_build},
                                   {"driver.vm_optimize", vm_optimize}};

int driver_vm_init(void) { return tn_func_register_rows(rows, TN_COUNT(rows)); }
