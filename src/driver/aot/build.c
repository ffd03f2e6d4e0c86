/* Building for the ahead-of-time executor. */
#include "base/alloc.h"
#include "base/error.h"
#include "base/scope.h"
#include "driver/aot/aot.h"
#include "driver/aot/interface.h"
#include "driver/external.h"
#include "driver/function_info.h"
#include "driver/function_table.h"
#include "driver/kernel_build.h"
#include "driver/relay_build.h"
#include "driver/relay_pipeline.h"
#include "driver/tir_pipeline.h"
#include "ir/expr.h"
#include "ir/functor.h"
#include "ir/module.h"
#include "object/functions.h"
#include "runtime/module/module.h"
#include "runtime/module/source_module.h"
#include "codegen/codegen.h"
#include "tir/analysis.h"

tn_str *aot_symbol(const char *model, const char *function) {
  TN_BUF(name);
  tn_buf_puts(&name, "tvmgen_");
  driver_put_identifier(&name, model);
  tn_buf_printf(&name, "_%s", function);
  return tn_scope_own(tn_buf_str(&name));
}

/* ---- operators and main ---- */

/* Name of an operator -> bytes of memory that a call of it needs. */
static tn_map *workspaces(const tn_IRModule *m) {
  tn_map *out;
  tn_any key, value;
  TN_GETP(out, tn_scope_own(tn_map_new()));
  for (int64_t i = 0; tn_map_at(m->functions, i, &key, &value); ++i) {
    const tn_PrimFunc *f = TN_AS(PrimFunc, value.v.obj);
    int64_t bytes = 0;
    const tn_obj *attr = f ? tir_func_attr(f, "workspace_bytes") : NULL;
    if (!attr || !tir_as_int(attr, &bytes)) continue;
    tn_any name = tn_any_obj(((const tn_GlobalVar *)key.v.obj)->name_hint);
    TN_TRYP(tn_map_set(out, name, tn_any_int(bytes)));
  }
  return out;
}

static int64_t largest(const tn_map *m) {
  int64_t most = 0;
  for (int64_t i = 0; i < m->len; ++i)
    if (m->entries[i].value.v.i64 > most) most = m->entries[i].value.v.i64;
  return most;
}

typedef struct {
  const tn_RelayFunction *relay;
  tn_target *t;
  const aot_options *o;
  const char *name;
  tn_str *main_symbol;
  tn_map *workspace; /* of operators */
  aot_main main;
} build_state;

/* Operators for one thread; where memory is planned as a whole, theirs is given to them. */
static tn_IRModule *lower_operators(build_state *b, const tn_map *kernels) {
  tn_IRModule *serial, *taking;
  TN_GETP(serial, driver_kernels_lower(kernels, b->t));
  TN_GETP(taking, driver_workspace_pipeline(serial, b->o->workspace_align));
  TN_GETP(b->workspace, workspaces(taking));
  return b->o->pools ? taking : driver_workspace_pipeline(serial, 0);
}

static int add_main(const build_state *b, tn_IRModule *m) {
  tn_GlobalVar *v;
  TN_GET(v, ir_global_var(tn_cstr(b->main_symbol)));
  return ir_module_add(m, v, (tn_BaseFunc *)b->main.func, false);
}

static tn_IRModule *for_generator(const build_state *b, tn_IRModule *lowered) {
  tn_IRModule *host, *device;
  tn_target *t;
  TN_GETP(t, target_with_host(b->t, NULL));
  if (b->o->unpacked) return driver_unpacked_pipeline(lowered, (tn_obj *)t);
  TN_TRYP(driver_split_pipeline(lowered, (tn_obj *)t, &host, &device));
  return host;
}

/* ---- what is known of it ---- */

/* Arrays that a function has on the stack. */
static int add_stack_array(void *ctx, tn_obj *node) {
  const tn_Call *c = tir_as_call(node, TIR_OP_tvm_stack_alloca);
  const tn_StringImm *kind = c ? TN_AS(StringImm, tn_arr_obj(c->args, 0)) : NULL;
  int64_t n;
  if (!kind || !tir_as_int(tn_arr_obj(c->args, 1), &n)) return 0;
  bool array = tn_str_eq(kind->value, "array"), code = tn_str_eq(kind->value, "arg_tcode");
  *(int64_t *)ctx += n * (int64_t)(array ? sizeof(DLTensor) : code ? sizeof(int32_t) : 8);
  return 0;
}

/* Arrays; constants are none. */
static int add_array(void *ctx, tn_obj *node) {
  const tn_Allocate *a = TN_AS(Allocate, node);
  int64_t bytes = a ? (a->dtype.bits + 7) / 8 * a->dtype.lanes : 0, n;
  for (int64_t i = 0; a && i < a->extents->len; ++i)
    bytes *= tir_as_int(tn_arr_obj(a->extents, i), &n) ? n : 0;
  *(int64_t *)ctx += bytes;
  return 0;
}

static int stack_of(const tn_PrimFunc *f, int64_t *out) {
  *out = 0;
  TN_TRY(tn_post_order(f->body, add_array, out));
  return tn_post_order(f->body, add_stack_array, out);
}

/* Of main and the operator that has most. */
static int deepest_stack(const tn_IRModule *m, const tn_str *symbol, int64_t *out) {
  int64_t main = 0, most = 0, bytes;
  tn_any key, value;
  for (int64_t i = 0; m && tn_map_at(m->functions, i, &key, &value); ++i) {
    TN_TRY(stack_of((const tn_PrimFunc *)value.v.obj, &bytes));
    if (tn_str_eq(((const tn_GlobalVar *)key.v.obj)->name_hint, tn_cstr(symbol))) main = bytes;
    else if (bytes > most) most = bytes;
  }
  *out = main + most;
  return 0;
}

static int tensors_of(const graph_program *g, tn_vec *inputs, tn_vec *types) {
  tn_any found;
  for (int64_t i = 0; i < g->n; ++i) {
    const graph_node *n = &g->nodes[i];
    if (n->op || tn_map_get(g->params, tn_any_cstr(n->name), &found)) continue;
    TN_TRY(tn_vec_push_obj(inputs, tn_str_from(n->name)));
    TN_TRY(tn_vec_push_obj(types, n->types[0]));
  }
  return 0;
}

/* "output", or "output0", ..., unless the program names them. */
static int results_of(const graph_program *g, const tn_RelayFunction *f, tn_vec *outputs,
                      tn_vec *types) {
  tn_any given;
  const tn_arr *names = NULL;
  if (f->attrs && ir_attrs_get(f->attrs, "output_tensor_names", &given) && tn_any_is_obj(&given) &&
      given.v.obj->type_index == TN_TI_Array)
    names = (const tn_arr *)given.v.obj;
  for (int k = 0; k < g->nheads; ++k) {
    const tn_obj *own = names && names->len == g->nheads ? tn_arr_obj(names, k) : NULL;
    if (own && own->type_index == TN_TI_String) TN_TRY(tn_vec_push_obj(outputs, own));
    else
      TN_TRY(tn_vec_push_obj(outputs,
                             g->nheads == 1 ? tn_str_from("output") : tn_str_fmt("output%d", k)));
    TN_TRY(tn_vec_push_obj(types, g->nodes[g->heads[k].node].types[g->heads[k].index]));
  }
  return 0;
}

/* Names of inputs and outputs -> where they lie; empty where that is the caller's memory. */
static tn_map *io_places(const build_state *b, const tn_vec *inputs, const tn_vec *outputs) {
  const tn_arr *places = b->main.places;
  tn_map *out;
  TN_GETP(out, tn_scope_own(tn_map_new()));
  for (int64_t i = 0; i < places->len; ++i) {
    tn_any other, name = i < inputs->len ? inputs->items[i] : outputs->items[i - inputs->len];
    TN_CHECKP(!tn_map_get(out, name, &other), ValueError, NULL,
              "tir.usmp.use_workspace_io: two inputs or outputs are called %s",
              tn_cstr((const tn_str *)name.v.obj));
    TN_TRYP(tn_map_set(out, name, places->items[i]));
  }
  return out;
}

static tn_ExecutorCodegenMetadata *metadata(const build_state *b, const graph_program *g,
                                            const aot_program *p) {
  TN_VEC(inputs);
  TN_VEC(input_types);
  TN_VEC(outputs);
  TN_VEC(output_types);
  int64_t stack;
  tn_arr *a[4];
  tn_map *places;
  TN_TRYP(tensors_of(g, &inputs, &input_types));
  TN_TRYP(results_of(g, b->relay, &outputs, &output_types));
  TN_TRYP(deepest_stack(p->programs, b->main_symbol, &stack));
  TN_GETP(places, io_places(b, &inputs, &outputs));
  const tn_vec *lists[] = {&inputs, &input_types, &outputs, &output_types};
  for (int i = 0; i < 4; ++i) TN_GETP(a[i], tn_arr_from(lists[i]));
  return (tn_ExecutorCodegenMetadata *)TN_NEW(
      ExecutorCodegenMetadata, .inputs = a[0], .input_tensor_types = a[1], .outputs = a[2],
      .output_tensor_types = a[3], .pools = b->main.pools, .constant_pools = b->main.constant_pools,
      .io_pool_allocations = places, .devices = tn_arr_of(0), .executor = tn_str_from("aot"),
      .mod_name = tn_str_from(b->name),
      .interface_api = tn_str_from(b->o->c_interface ? "c" : "packed"),
      .unpacked_api = b->o->unpacked, .workspace_alignment = b->o->workspace_align,
      .constant_alignment = b->o->constant_align, .workspace_bytes = b->main.workspace,
      .live_bytes = b->main.live, .constant_bytes = b->main.constants, .io_bytes = b->main.io,
      .stack_bytes = stack);
}

/* ---- all of it ---- */

static int make(build_state *b, const graph_program *g, aot_program *out) {
  const aot_options *o = b->o;
  TN_GET(out->kernels, driver_kernel_programs(g->kernels, b->t));
  out->externals = g->externals;
  if (o->crt) TN_GET(out->lowered, lower_operators(b, out->kernels));
  else TN_GET(out->lowered, ir_module_new(NULL, NULL, NULL));
  TN_GET(b->main_symbol, aot_symbol(b->name, DRIVER_MAIN_INFO));
  TN_TRY(aot_make_main(g, o, tn_cstr(b->main_symbol), o->pools ? b->workspace : NULL, &b->main));
  if (o->crt && !o->pools) b->main.workspace += largest(b->workspace);
  TN_TRY(add_main(b, out->lowered));
  if (o->crt) TN_GET(out->programs, for_generator(b, out->lowered));
  TN_GET(out->params, o->link_params ? tn_scope_own(tn_map_new()) : g->params);
  const main_needs needs = {.workspace = b->main.workspace,
                            .io = b->main.io,
                            .constants = b->main.constants,
                            .func = b->main.func,
                            .relay = b->relay};
  TN_GET(out->functions,
         driver_function_infos(b->t, NULL, out->kernels, g->kernels, b->workspace, &needs, 1));
  TN_GET(out->metadata, metadata(b, g, out));
  return 0;
}

int driver_aot_lower(tn_IRModule *m, tn_target *t, const char *name, const aot_options *o,
                     aot_program *out) {
  graph_program g = {0};
  build_state b = {.t = t, .o = o, .name = name};
  tn_str *prefix;
  *out = (aot_program){0};
  TN_GET(prefix, aot_symbol(name, ""));
  driver_targets targets;
  bool planned; /* for the one device that there is */
  TN_TRY(driver_target_only(t, &targets));
  TN_GET(out->mod, driver_relay_graph_pipeline(m, &targets, &planned));
  TN_GET(b.relay, driver_relay_main(out->mod));
  int err = graph_make(&g, b.relay, NULL, tn_cstr(prefix), "AOT Executor");
  if (!err) err = make(&b, &g, out);
  graph_fini(&g);
  return err;
}

/* For hosts: operators one by one, on all cores, main as one more. */
static tn_module *code_in_parts(const aot_program *p, tn_target *t) {
  int64_t n = p->kernels->len;
  tn_str *symbol;
  tn_any key, value;
  TN_AUTOFREE kernel_job *jobs = tn_alloc_zero((size_t)n + 1, sizeof *jobs);
  TN_GETP(symbol, aot_symbol(tn_cstr(p->metadata->mod_name), DRIVER_MAIN_INFO));
  if (!jobs) return NULL;
  for (int64_t i = 0; tn_map_at(p->kernels, i, &key, &value); ++i)
    jobs[i] = (kernel_job){.name = tn_cstr((const tn_str *)key.v.obj),
                           .program = (tn_PrimFunc *)value.v.obj};
  tn_GlobalVar *v;
  TN_GETP(v, ir_module_var(p->lowered, tn_cstr(symbol)));
  jobs[n] = (kernel_job){.name = tn_cstr(symbol), .flat = true};
  TN_GETP(jobs[n].program, (tn_PrimFunc *)ir_module_lookup(p->lowered, v));
  return driver_kernels_build(jobs, n + 1, t);
}

tn_module *driver_aot_code(const aot_program *p, tn_target *t, const aot_options *o) {
  TN_BUF(text);
  tn_module *lib, *entry;
  if (!o->crt) {
    TN_GETP(lib, code_in_parts(p, t));
    return external_build(p->externals, lib, true);
  }
  TN_GETP(t, target_with_host(t, NULL));
  TN_GETP(lib, codegen_build(p->programs, t));
  TN_TRYP(aot_entry(p, o, &text));
  TN_GETP(entry, tn_scope_own(tn_c_source_new(tn_buf_cstr(&text), text.len)));
  return tn_module_import(lib, entry) ? NULL : external_build(p->externals, lib, true);
}

/* ---- functions ---- */

/* (module, target or array of one, name, executor, runtime, workspace pools, constant pools)
   -> [library, params, module, lowered, functions, metadata, graph or None] */
static int build(TN_ARGS) {
  TN_NARGS("driver.aot_build", 7);
  TN_ARG_OBJ(IRModule, m, 0);
  TN_ARG_OPT(Executor, executor, 3);
  TN_ARG_OPT(Runtime, runtime, 4);
  TN_ARG_OPT(WorkspaceMemoryPools, workspace, 5);
  TN_ARG_OPT(ConstantMemoryPools, constant, 6);
  driver_targets targets;
  tn_target *t;
  const char *name;
  aot_options o;
  aot_program p;
  tn_module *lib;
  tn_str *graph = NULL;
  TN_TRY(driver_targets_for(&args[1], runtime, &targets));
  TN_CHECK(!targets.several, NotImplementedError, NULL,
           "relay.build: the AOT executor takes one target: for several use Executor(\"graph\")");
  t = targets.main;
  TN_TRY(tn_any_to_cstr(&args[2], &name));
  TN_TRY(aot_options_from(executor, runtime, workspace, constant, t, &o));
  TN_TRY(driver_aot_lower(m, t, name, &o, &p));
  TN_GET(lib, driver_aot_code(&p, t, &o));
  if (!o.crt) TN_GET(graph, driver_aot_graph(&p));
  return tn_ret_obj(ret,
                    tn_arr_of(7, lib, p.params, p.mod, p.lowered, p.functions, p.metadata, graph));
}

/* (name, inputs, sizes, outputs, sizes, pools, devices, workspace, places of inputs and outputs)
   -> text of tvmgen_NAME.h */
static int header(TN_ARGS) {
  TN_NARGS("driver.aot_header", 9);
  TN_ARG_ITEMS(Array(String), inputs, 1);
  TN_ARG_OBJ(Array, input_sizes, 2);
  TN_ARG_ITEMS(Array(String), outputs, 3);
  TN_ARG_OBJ(Array, output_sizes, 4);
  TN_ARG_ITEMS(Array(AllocatedPoolInfo), pools, 5);
  TN_ARG_ITEMS(Array(String), devices, 6);
  TN_ARG_ITEMS(Map(String, PoolAllocation), places, 8);
  TN_BUF(text);
  const char *name;
  int64_t bytes;
  TN_TRY(tn_any_to_cstr(&args[0], &name));
  TN_TRY(tn_any_to_int(&args[7], &bytes));
  bool lists = inputs && input_sizes && outputs && output_sizes && pools && devices && places;
  TN_CHECK(lists, TypeError, NULL, "driver.aot_header: expected lists of names and sizes");
  for (int64_t i = 0; i < pools->len; ++i)
    TN_CHECK(TN_IS(AllocatedPoolInfo, tn_arr_obj(pools, i)), TypeError, NULL,
             "driver.aot_header: expected pools as AllocatedPoolInfo");
  for (int64_t i = 0; i < places->len; ++i) {
    const tn_any *place = &places->entries[i].value;
    TN_CHECK(tn_any_is_obj(place) && TN_IS(PoolAllocation, place->v.obj), TypeError, NULL,
             "driver.aot_header: expected places as PoolAllocation");
  }
  const aot_interface x = {.name = name,
                           .inputs = inputs,
                           .input_sizes = input_sizes,
                           .outputs = outputs,
                           .output_sizes = output_sizes,
                           .pools = pools,
                           .devices = devices,
                           .workspace = bytes,
                           .places = places};
  TN_TRY(aot_put_header(&x, &text));
  return tn_ret_obj(ret, tn_scope_own(tn_buf_str(&text)));
}

static const tn_func_row rows[] = {{"driver.aot_build", build}, {"driver.aot_header", header}};

int driver_aot_init(void) {
  TN_TRY(aot_passes_init());
  return tn_func_register_rows(rows, TN_COUNT(rows));
}
