/* Building for the virtual machine:

     module -> what `main` needs -> passes -> bytecode
                                       kernels, shape programs -> schedules -> lowering -> code */
#include "driver/vm/build.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/scope.h"
#include "driver/external.h"
#include "driver/kernel_build.h"
#include "driver/primitive.h"
#include "driver/relay_pipeline.h"
#include "driver/vm/gen.h"
#include "ir/functor.h"
#include "ir/module.h"
#include "ir/pass.h"
#include "relay/op.h"
#include "relay/transforms/transforms.h"
#include "runtime/module/module.h"

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

/* A program joins the others under the name of a kernel and what it is for. */
static int add_program(const vm_gen *g, tn_map *programs, const tn_map_entry *kernel,
                       const char *what, const tn_RelayFunction *f, tn_target *t) {
  tn_PrimFunc *p;
  tn_str *name;
  TN_GET(p, driver_primitive(f, t));
  TN_GET(name, tn_str_fmt("%s_%s", tn_cstr((const tn_str *)kernel->key.v.obj), what));
  TN_TRY(tn_map_set(programs, tn_any_obj(name), tn_any_obj(p)));
  return tn_map_set(g->names.targets, tn_any_obj(name), tn_any_obj(t));
}

static tn_map *with_numbers(const tn_map *m, const char *key, const int64_t *n, int count) {
  TN_BUF(out);
  for (int i = 0; i < count; ++i) tn_buf_printf(&out, "%s%lld", i ? "," : "", (long long)n[i]);
  if (tn_buf_ok(&out)) return NULL;
  return tn_map_with(m, tn_any_cstr(key), tn_any_obj(tn_str_from(tn_buf_cstr(&out))));
}

/* What tells the machine about the pieces of a primitive, see runtime/vm/row_buckets.c. */
static tn_map *piece_attrs(const vm_rows *rows) {
  const vm_pieces *direct = &rows->direct, *packed = &rows->packed;
  int64_t shape[TN_VM_PANEL_NDIM];
  tn_map *m;
  TN_GETP(m, tn_map_with(NULL, tn_any_cstr("row_args"), tn_any_obj(tn_str_from(rows->mask))));
  TN_GETP(m, with_numbers(m, "rows", direct->sizes, direct->n));
  TN_GETP(m, with_numbers(m, "row_costs", direct->costs, direct->n));
  if (!packed->n) return m;
  int ndim = relay_known_ints(rows->panels.type->shape, shape, TN_VM_PANEL_NDIM);
  TN_ICHECKP(ndim >= 0);
  TN_GETP(m, with_numbers(m, "panel_cost", &rows->panel_cost, 1));
  TN_GETP(m, with_numbers(m, "panel_sizes", packed->sizes, packed->n));
  TN_GETP(m, with_numbers(m, "panel_costs", packed->costs, packed->n));
  return with_numbers(m, "panel_shape", shape, ndim);
}

static int add_list(const vm_gen *g, const tn_map_entry *e, const char *what,
                    const tn_RelayFunction *f, const vm_pieces *all, const char *mask,
                    tn_map *programs, tn_target *t) {
  for (int i = 0; i < all->n; ++i) {
    tn_RelayFunction *piece;
    char full[40];
    snprintf(full, sizeof full, "%s%d", what, (int)all->sizes[i]);
    TN_GET(piece, vm_kernel_of_rows(f, all->sizes[i], mask));
    TN_TRY(add_program(g, programs, e, full, piece, t));
  }
  return 0;
}

/* Kernels for pieces of rows join the others: kernel_rows64, ..., and kernel_panels and
   kernel_panel_rows64, ...; the primitive's attributes say so to the machine. */
static int add_pieces(const vm_gen *g, const tn_map_entry *e, tn_map *programs, tn_target *t) {
  const tn_RelayFunction *f = (const tn_RelayFunction *)e->value.v.obj;
  tn_obj *program = tn_map_find(programs, tn_cstr((const tn_str *)e->key.v.obj));
  const target_machine machine = target_machine_of(t);
  tn_any number;
  vm_rows rows;
  tn_map *attrs;
  TN_TRY(vm_row_pieces(f, (const tn_PrimFunc *)program, &machine, &rows));
  if (!rows.direct.n || !tn_map_get(g->prim_index, e->key, &number)) return 0;
  TN_TRY(add_list(g, e, "rows", f, &rows.direct, rows.mask, programs, t));
  if (rows.packed.n) {
    TN_TRY(add_program(g, programs, e, "panels", rows.panels.make, t));
    TN_TRY(add_list(g, e, "panel_rows", rows.panels.read, &rows.packed, rows.mask, programs, t));
  }
  TN_GET(attrs, piece_attrs(&rows));
  return tn_map_set(g->x->prim_attrs, number, tn_any_obj(attrs));
}

/* Kernels for the host are also made for pieces of rows. */
static int add_all_pieces(const vm_gen *g, const tn_map *kernels, tn_target *dflt,
                          tn_map *programs) {
  for (int64_t i = 0; i < kernels->len; ++i) {
    tn_any found;
    bool own = tn_map_get(g->names.targets, kernels->entries[i].key, &found);
    tn_target *t = own ? (tn_target *)found.v.obj : dflt;
    if (target_device_type(t) == kDLCPU) TN_TRY(add_pieces(g, &kernels->entries[i], programs, t));
  }
  return 0;
}

/* Shape programs run on the host: they join its kernels. */
static int add_shape_programs(const vm_gen *g, const driver_targets *t, tn_map *programs) {
  tn_target *host = t->main;
  if (target_device_type(host) != kDLCPU) host = t->config->host_target;
  for (int64_t i = 0; i < t->config->primitive_targets->len; ++i) {
    tn_target *one = (tn_target *)tn_arr_obj(t->config->primitive_targets, i);
    if (g->plan && target_device_type(one) == kDLCPU) host = one;
  }
  for (int64_t i = 0; i < g->shape_funcs->len; ++i) {
    const tn_map_entry *e = &g->shape_funcs->entries[i];
    TN_TRY(tn_map_set(programs, e->key, e->value));
    TN_TRY(tn_map_set(g->names.targets, e->key, tn_any_obj(host)));
  }
  return 0;
}

static tn_module *kernel_code(const vm_gen *g, const driver_targets *t) {
  tn_map *programs, *kernels;
  TN_GETP(kernels, called_kernels(g));
  TN_GETP(programs, driver_programs_for_targets(kernels, g->names.targets, t->main));
  TN_TRYP(add_all_pieces(g, kernels, t->main, programs));
  TN_TRYP(add_shape_programs(g, t, programs));
  tn_module *lib;
  TN_GETP(lib, driver_build_for_targets(programs, g->names.targets, t->main, NULL));
  return external_build(g->names.externals, lib, false);
}

/* ---- all of it ---- */

static int64_t find_device(const tn_vm_exe *x, tn_device dev, const char *scope) {
  for (int64_t i = 0; i < x->ndevice; ++i)
    if (x->devices[i].dev.device_type == dev.device_type &&
        x->devices[i].dev.device_id == dev.device_id && strcmp(x->devices[i].scope, scope) == 0)
      return i;
  return -1;
}

int64_t vm_place(vm_gen *g, const tn_VirtualDevice *d) {
  int64_t i = tn_pmap_get_int(&g->places, d, 0) - 1;
  if (i >= 0) return i;
  int64_t id = d->virtual_device_id < 0 ? 0 : d->virtual_device_id;
  const tn_device dev = {(DLDeviceType)d->device_type_int, (int32_t)id};
  const char *scope = tn_cstr(d->memory_scope);
  i = dev.device_type == kDLCPU && id == 0 ? g->host : find_device(g->x, dev, scope);
  if (i < 0) i = tn_vm_add_device(g->x, dev, scope);
  return i < 0 || tn_pmap_put_int(&g->places, d, i + 1) ? -1 : i;
}

int64_t vm_device_of(vm_gen *g, const void *expr) {
  tn_VirtualDevice *d = g->plan ? device_of(g->plan, expr) : NULL;
  return d ? vm_place(g, d) : g->device;
}

static int set_devices(vm_gen *g, const tn_target *t) {
  const tn_device host = {kDLCPU, 0};
  int type = target_device_type(t);
  g->host = tn_vm_add_device(g->x, host, "");
  g->device = g->host;
  if (g->host >= 0 && type != kDLCPU)
    g->device = tn_vm_add_device(g->x, (tn_device){(DLDeviceType)type, 0}, "");
  g->x->host = g->host;
  if (g->host < 0 || g->device < 0) return -1;
  for (int64_t i = 0; g->plan && i < g->plan->known.len; ++i) { /* one for a kind of device */
    tn_VirtualDevice *d = (tn_VirtualDevice *)g->plan->known.items[i].v.obj;
    if (d->device_type_int == type && d->virtual_device_id == 0 && !d->memory_scope->len)
      TN_TRY(tn_pmap_put_int(&g->places, d, g->device + 1));
  }
  return 0;
}

static int fill(vm_gen *g, tn_IRModule *m, const driver_targets *t) {
  g->mod = m;
  TN_TRY(kernel_names_init(&g->names, "vm_mod_"));
  TN_GET(g->shape_funcs, tn_scope_own(tn_map_new()));
  TN_GET(g->prim_index, tn_scope_own(tn_map_new()));
  TN_TRY(set_devices(g, t->main));
  TN_TRY(vm_generate(g));
  return tn_vm_verify(g->x);
}

static void fini(vm_gen *g) {
  tn_pmap_fini(&g->kernels);
  tn_pmap_fini(&g->known);
  tn_pmap_fini(&g->consts);
  tn_pmap_fini(&g->bound);
  tn_pmap_fini(&g->constructors);
  tn_pmap_fini(&g->scalars);
  tn_pmap_fini(&g->places);
  tn_free(g->queue);
}

/* Without kernels there is no library. */
static tn_module *build(vm_gen *g, tn_IRModule *m, const driver_targets *t) {
  tn_module *lib = NULL;
  TN_TRYP(fill(g, m, t));
  if (g->prim_index->len > 0) TN_GETP(lib, kernel_code(g, t));
  tn_vm_exe *x = g->x;
  g->x = NULL;
  return tn_scope_own(tn_vm_module_new(x, lib));
}

static tn_module *build_planned(vm_gen *g, tn_IRModule *m, const driver_targets *t) {
  device_plan plan = {0};
  tn_module *r = NULL;
  g->plan = &plan;
  if (device_plan_make(&plan, m, t->config, false) == 0) r = build(g, m, t);
  device_plan_fini(&plan);
  g->plan = NULL;
  return r;
}

static tn_IRModule *optimized(tn_IRModule *m, const driver_targets *t, bool *planned) {
  TN_GETP(m, only_needed(m));
  return driver_relay_vm_pipeline(m, t, planned);
}

tn_module *driver_vm_build(tn_IRModule *m, const driver_targets *t) {
  TN_SCOPE(s);
  vm_gen g = {0};
  bool planned;
  TN_GETP(m, optimized(m, t, &planned));
  TN_GETP(g.x, tn_vm_exe_new());
  tn_module *r = planned ? build_planned(&g, m, t) : build(&g, m, t);
  if (g.x) tn_vm_exe_free(g.x);
  fini(&g);
  return tn_scope_return(s, r);
}

/* ---- functions ---- */

static int module_arg(const char *what, const tn_any *args, int32_t n, tn_IRModule **m,
                      driver_targets *t) {
  TN_NARGS(what, 2);
  TN_ARG_OBJ(IRModule, given, 0);
  *m = given;
  return driver_targets_from(&args[1], t);
}

/* (module, target or array of them) -> executable */
static int vm_build(TN_ARGS) {
  tn_IRModule *m;
  driver_targets t;
  TN_TRY(module_arg("driver.vm_build", args, n, &m, &t));
  return tn_ret_obj(ret, driver_vm_build(m, &t));
}

/* (module, target or array of them) -> module as it is before bytecode is made, with the ends of
   lives: those in bytecode are of registers, see register_alloc.c */
static int vm_optimize(TN_ARGS) {
  tn_IRModule *m;
  driver_targets t;
  bool planned;
  TN_TRY(module_arg("driver.vm_optimize", args, n, &m, &t));
  TN_GET(m, optimized(m, &t, &planned));
  return tn_ret_obj(ret, relay_run_pass("ManifestLifetimes", m, NULL));
}

static const tn_func_row rows[] = {{"driver.vm_build", vm_build},
                                   {"driver.vm_optimize", vm_optimize}};

int driver_vm_init(void) { return tn_func_register_rows(rows, TN_COUNT(rows)); }
