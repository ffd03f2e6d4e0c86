/* Building for the graph executor:

     module -> passes -> graph of kernels -> memory plan -> JSON
                          kernels -> tensor programs -> schedules -> lowering -> code */
#include "driver/relay_build.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/scope.h"
#include "driver/executor.h"
#include "driver/external.h"
#include "driver/function_info.h"
#include "driver/function_table.h"
#include "driver/graph.h"
#include "driver/kernel_build.h"
#include "ir/module.h"
#include "object/functions.h"
#include "runtime/module/module.h"

static int make_graph(graph_program *g, const tn_RelayFunction *f, const device_plan *plan,
                      bool joins, const char *name, relay_built *out) {
  TN_BUF(prefix);
  TN_BUF(json);
  tn_buf_puts(&prefix, "tvmgen_");
  driver_put_identifier(&prefix, name);
  tn_buf_putc(&prefix, '_');
  TN_TRY(tn_buf_ok(&prefix));
  TN_TRY(graph_make(g, f, plan, tn_buf_cstr(&prefix), "Graph Executor"));
  if (joins) TN_TRY(graph_join(g));
  TN_TRY(graph_plan(g));
  TN_TRY(graph_json(g, &json));
  TN_GET(out->json, tn_scope_own(tn_str_new_n(tn_buf_cstr(&json), json.len)));
  out->params = g->params;
  return 0;
}

tn_RelayFunction *driver_relay_main(const tn_IRModule *m) {
  tn_GlobalVar *v;
  tn_BaseFunc *f;
  TN_GETP(v, ir_module_var(m, "main"));
  TN_GETP(f, ir_module_lookup(m, v));
  tn_RelayFunction *r = TN_AS(RelayFunction, f);
  return r ? r
           : TN_RAISEP(TypeError, NULL, "relay.build: main is a %s, expected a Relay function",
                       tn_obj_key(f));
}

enum { MAX_TARGETS = 16 };

/* What the graph needs on the devices of each target. */
typedef struct {
  main_needs of[MAX_TARGETS];
  int n;
} graph_needs;

static main_needs *needs_on(graph_needs *x, const tn_VirtualDevice *d) {
  tn_target *t = d ? d->target : NULL;
  for (int i = 0; i < x->n; ++i)
    if (x->of[i].target == t) return &x->of[i];
  if (x->n == MAX_TARGETS) return &x->of[0];
  x->of[x->n] = (main_needs){.target = t};
  return &x->of[x->n++];
}

/* Memory of values between operators: blocks in which neither inputs nor outputs lie. */
static int count_main(const graph_program *g, graph_needs *out) {
  TN_AUTOFREE bool *counted = tn_alloc_zero((size_t)g->nblocks + 1, sizeof *counted);
  if (!counted) return -1;
  for (int64_t i = 0; i < g->n; ++i) {
    const graph_node *n = &g->nodes[i];
    tn_any found;
    if (n->op) continue;
    main_needs *own = needs_on(out, n->device);
    counted[n->storage[0]] = true;
    bool constant = tn_map_get(g->params, tn_any_cstr(n->name), &found);
    *(constant ? &own->constants : &own->io) += graph_type_bytes(n->types[0]);
  }
  for (int k = 0; k < g->nheads; ++k) {
    const graph_node *n = &g->nodes[g->heads[k].node];
    counted[n->storage[g->heads[k].index]] = true;
    needs_on(out, n->device)->io += graph_type_bytes(n->types[g->heads[k].index]);
  }
  for (int64_t i = 0; i < g->n; ++i) {
    const graph_node *n = &g->nodes[i];
    for (int k = 0; k < n->nresults; ++k) {
      if (counted[n->storage[k]]) continue;
      counted[n->storage[k]] = true;
      needs_on(out, n->device)->workspace += g->block_bytes[n->storage[k]];
    }
  }
  return 0;
}

static int graph_of(graph_program *g, const driver_targets *t, bool planned, const char *name,
                    relay_built *out) {
  device_plan plan = {0};
  tn_RelayFunction *f;
  TN_GET(f, driver_relay_main(out->mod));
  int err = planned ? device_plan_make(&plan, out->mod, t->config, false) : 0;
  bool joins = !planned && !t->crt && target_makes(t->main, TARGET_MACHINE_CODE);
  if (!err) err = make_graph(g, f, planned ? &plan : NULL, joins, name, out);
  device_plan_fini(&plan);
  return err;
}

static int build_all(graph_program *g, tn_IRModule *m, const driver_targets *t, const char *name,
                     relay_built *out) {
  bool planned;
  tn_map *workspace;
  graph_needs needs = {.n = 0};
  TN_GET(out->mod, driver_relay_graph_pipeline(m, t, &planned));
  TN_TRY(graph_of(g, t, planned, name, out));
  TN_GET(out->kernels, driver_programs_for_targets(g->kernels, g->targets, t->main));
  TN_GET(workspace, tn_scope_own(tn_map_new()));
  TN_GET(out->lib, driver_build_for_targets(out->kernels, g->targets, t->main, workspace));
  TN_GET(out->lib, external_build(g->externals, out->lib, false));
  TN_TRY(count_main(g, &needs));
  if (!needs.n) (void)needs_on(&needs, NULL);
  TN_GET(needs.of[0].relay, driver_relay_main(out->mod));
  TN_GET(out->functions, driver_function_infos(t->main, g->targets, out->kernels, g->kernels,
                                               workspace, needs.of, needs.n));
  return driver_add_function_table(out->lib, name, out->kernels, g->externals,
                                   t->linked ? t->main : NULL);
}

int driver_relay_build(tn_IRModule *m, const driver_targets *t, const char *name,
                       relay_built *out) {
  graph_program g = {0};
  *out = (relay_built){0};
  int err = build_all(&g, m, t, name, out);
  graph_fini(&g);
  return err;
}

/* (module, target or array of them, name of the model, executor, runtime) -> [JSON, library,
 * params, module, functions] */
static int build(TN_ARGS) {
  TN_NARGS("driver.relay_build", 5);
  TN_ARG_OBJ(IRModule, m, 0);
  TN_ARG_OPT(Executor, executor, 3);
  TN_ARG_OPT(Runtime, runtime, 4);
  driver_targets t;
  const char *name;
  relay_built b;
  TN_TRY(driver_targets_for(&args[1], runtime, &t));
  TN_TRY(tn_any_to_cstr(&args[2], &name));
  t.link_params = executor && ir_attrs_flag(executor->attrs, "link-params");
  t.crt = runtime && tn_str_eq(runtime->name, "crt");
  t.linked = t.crt && ir_attrs_flag(runtime->attrs, "system-lib");
  TN_TRY(driver_relay_build(m, &t, name, &b));
  return tn_ret_obj(ret, tn_arr_of(5, b.json, b.lib, b.params, b.mod, b.functions));
}

/* Kernels as far as their classes choose tiles, and ask for records (tune/records.h). */
static int schedule_kernels(graph_program *g, tn_IRModule *m, const driver_targets *t) {
  bool planned;
  tn_map *programs;
  relay_built out = {0};
  TN_GET(out.mod, driver_relay_graph_pipeline(m, t, &planned));
  TN_TRY(graph_of(g, t, planned, "default", &out));
  TN_GET(programs, driver_programs_for_targets(g->kernels, g->targets, t->main));
  for (int64_t i = 0; i < programs->len; ++i) {
    TN_SCOPE(s);
    tn_obj *own = tn_map_find(g->targets, tn_cstr((const tn_str *)programs->entries[i].key.v.obj));
    tn_target *target = own ? (tn_target *)own : t->main;
    const target_machine machine = target_machine_of(target);
    TN_TRY(target_enter(target));
    tn_PrimFunc *p = kernels_schedule((tn_PrimFunc *)programs->entries[i].value.v.obj, &machine);
    if (target_exit(target) || !p) return -1;
  }
  return 0;
}

/* (module, target or array of them): what a build would do up to the choice of tiles */
static int schedule(TN_ARGS) {
  TN_NARGS("driver.relay_schedule", 2);
  TN_ARG_OBJ(IRModule, m, 0);
  driver_targets t;
  graph_program g = {0};
  TN_TRY(driver_targets_from(&args[1], &t));
  int err = schedule_kernels(&g, m, &t);
  graph_fini(&g);
  return err;
}

/* (module, target or array of them) -> module */
static int optimize(TN_ARGS) {
  TN_NARGS("driver.relay_optimize", 2);
  TN_ARG_OBJ(IRModule, m, 0);
  driver_targets t;
  TN_TRY(driver_targets_from(&args[1], &t));
  return tn_ret_obj(ret, driver_relay_optimize(m, &t));
}

static const tn_func_row rows[] = {{"driver.relay_build", build},
                                   {"driver.relay_schedule", schedule},
                                   {"driver.relay_optimize", optimize}};

int driver_relay_build_init(void) { return tn_func_register_rows(rows, TN_COUNT(rows)); }
