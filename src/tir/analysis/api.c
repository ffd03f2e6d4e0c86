/* Analyses as global functions: "tir.analysis.*". */
#include <string.h>

#include "arith/analyzer.h"
#include "ir/expr.h"
#include "ir/functor.h"
#include "ir/pass.h"
#include "object/functions.h"
#include "tir/analysis.h"
#include "tir/tir_impl.h"

/* (PrimFunc or IRModule, whether to raise) -> bool */
static int verify_well_formed(TN_ARGS) {
  bool raises = true;
  TN_CHECK(n == 1 || n == 2, TypeError, NULL, "verify_well_formed: expected 1 or 2 arguments");
  TN_ARG_OBJ(Object, program, 0);
  if (n == 2) TN_TRY(tn_any_to_bool(&args[1], &raises));
  TN_CHECK(TN_AS(PrimFunc, program) || TN_AS(IRModule, program), TypeError, NULL,
           "verify_well_formed: expected a PrimFunc or IRModule, got %s", tn_obj_key(program));
  int err = tir_check_well_formed(program, true);
  if (err && raises) return -1;
  if (err && tn_error_get_kind() != TN_ValueError) return -1;
  tn_error_clear();
  *ret = tn_any_bool(!err);
  return 0;
}

static int verify_ssa(TN_ARGS) {
  TN_ARG_OBJ(PrimFunc, f, 0);
  int r = tir_is_ssa((tn_obj *)f);
  *ret = tn_any_bool(r == 1);
  return r < 0 ? -1 : 0;
}

/* (statement or expression, defined variables or None) -> variables */
static int undefined_vars(TN_ARGS) {
  TN_ARG_OBJ(Object, program, 0);
  tn_arr *defined = NULL;
  TN_TRY(tn_arg_opt(args, n, 1, &tn_type_Array, (tn_obj **)&defined));
  return tn_ret_obj(ret, tir_undefined_vars(program, defined));
}

static int expr_deep_equal(TN_ARGS) {
  TN_ARG_OPT(PrimExpr, a, 0);
  TN_ARG_OPT(PrimExpr, b, 1);
  *ret = tn_any_bool(a == b || (a && b && arith_same(a, b)));
  return 0;
}

static int workspace_bytes(TN_ARGS) {
  int64_t alignment;
  TN_NARGS("calculate_workspace_bytes", 2);
  TN_ARG_OBJ(PrimFunc, f, 0);
  TN_TRY(tn_any_to_int(&args[1], &alignment));
  *ret = tn_any_int(tir_workspace_bytes(f, alignment));
  return 0;
}

static int constant_bytes(TN_ARGS) {
  int64_t alignment, bytes;
  TN_NARGS("calculate_constant_bytes", 2);
  TN_ARG_OBJ(PrimFunc, f, 0);
  TN_TRY(tn_any_to_int(&args[1], &alignment));
  TN_TRY(tir_constant_bytes(f, alignment, &bytes));
  *ret = tn_any_int(bytes);
  return 0;
}

static int put_bytes(tn_map *out, const char *name, const tn_PrimFunc *f) {
  tn_map *sizes = tir_allocated_bytes(f);
  return sizes ? tn_map_set(out, tn_any_cstr(name), tn_any_obj(sizes)) : -1;
}

/* (PrimFunc or IRModule) -> {function: {kind of memory: bytes}}; a function alone is "main" */
static int allocated_bytes(TN_ARGS) {
  TN_ARG_OBJ(Object, o, 0);
  tn_map *out = tn_scope_own(tn_map_new());
  const tn_IRModule *m = TN_AS(IRModule, o);
  if (!out) return -1;
  TN_CHECK(m || TN_AS(PrimFunc, o), TypeError, NULL,
           "calculate_allocated_bytes: expect the arguments to be either PrimFunc or IRModule");
  if (!m) TN_TRY(put_bytes(out, "main", (const tn_PrimFunc *)o));
  for (int64_t i = 0; m && i < m->functions->len; ++i) {
    const tn_PrimFunc *f = TN_AS(PrimFunc, m->functions->entries[i].value.v.obj);
    const tn_GlobalVar *gv = (const tn_GlobalVar *)m->functions->entries[i].key.v.obj;
    if (f) TN_TRY(put_bytes(out, tn_cstr(gv->name_hint), f));
  }
  return tn_ret_obj(ret, out);
}

/* (PrimFunc) -> {buffer: For or Block, None for the function itself} */
static int detect_access_lca(TN_ARGS) {
  TN_ARG_OBJ(PrimFunc, f, 0);
  __attribute__((cleanup(tir_access_lca_fini))) tir_access_lca uses = {0};
  tn_map *out = tn_scope_own(tn_map_new());
  if (!out || tir_access_lca_find(f, TIR_LCA_PARAMS, &uses)) return -1;
  for (int64_t i = 0; i < uses.buffers.len; ++i) {
    const tn_obj *at = tn_pmap_get(&uses.node, uses.buffers.items[i].v.obj);
    if (!at) continue;
    tn_any node = at == (const tn_obj *)f ? tn_any_none() : tn_any_obj(at);
    TN_TRY(tn_map_set(out, uses.buffers.items[i], node));
  }
  return tn_ret_obj(ret, out);
}

/* (statement, PrimFunc or IRModule) -> float */
static int estimate_flops(TN_ARGS) {
  double flops;
  TN_ARG_OBJ(Object, o, 0);
  TN_TRY(tir_estimate_flops(o, &flops));
  *ret = tn_any_float(flops);
  return 0;
}

static int is_pure(TN_ARGS) {
  TN_ARG_OBJ(PrimFunc, f, 0);
  *ret = tn_any_bool(tir_is_pure_func(f));
  return 0;
}

static int anchor_block(TN_ARGS) {
  TN_ARG_OBJ(IRModule, m, 0);
  const tn_Block *b = tir_anchor_block(m);
  *ret = tn_any_none();
  return b ? tn_ret_obj(ret, b) : tn_error_pending() ? -1 : 0;
}

static int find_if(void *ctx, tn_obj *o) {
  (void)ctx;
  return TN_AS(IfThenElse, o) != NULL;
}
static int has_if_then_else(TN_ARGS) {
  TN_ARG_OBJ(Object, o, 0);
  int r = tn_post_order(o, find_if, NULL);
  *ret = tn_any_bool(r > 0);
  return r < 0 ? -1 : 0;
}

/* (block, pointer to buffer) -> [reads, writes, either] */
static int block_access(TN_ARGS, tir_block_regions *out) {
  TN_NARGS("get_block_access_region", 2);
  TN_ARG_OPT(Block, b, 0);
  TN_ARG_ITEMS(Map(Var, Buffer), pointers, 1);
  TN_CHECK(b && pointers, TypeError, NULL,
           "get_block_access_region: expected a Block and a map from pointers to buffers");
  return tir_block_access(b, pointers, out);
}
static int access_region(TN_ARGS) {
  tir_block_regions r;
  TN_TRY(block_access(self, args, n, ret, &r));
  return tn_ret_obj(ret, tn_arr_of(3, r.reads, r.writes, r.opaque));
}

static const tn_BufferRegion *region_of(const tn_arr *regions, const tn_Buffer *b) {
  for (int64_t i = 0; i < regions->len; ++i) {
    const tn_BufferRegion *r = (const tn_BufferRegion *)tn_arr_obj(regions, i);
    if (r->buffer == b) return r;
  }
  return NULL;
}

/* a, then what is in b alone; of a buffer in both the region in b, which is all of it */
static tn_arr *joined(const tn_arr *a, const tn_arr *b) {
  TN_VEC(out);
  for (int64_t i = 0; i < a->len; ++i) {
    const tn_BufferRegion *r = (const tn_BufferRegion *)tn_arr_obj(a, i),
                          *all = region_of(b, r->buffer);
    TN_TRYP(tn_vec_push_obj(&out, all ? all : r));
  }
  for (int64_t i = 0; i < b->len; ++i) {
    const tn_BufferRegion *r = (const tn_BufferRegion *)tn_arr_obj(b, i);
    if (!region_of(a, r->buffer)) TN_TRYP(tn_vec_push_obj(&out, r));
  }
  return tn_arr_from(&out);
}
/* The same with what may be either among both: [reads, writes] */
static int read_write_region(TN_ARGS) {
  tir_block_regions r;
  TN_TRY(block_access(self, args, n, ret, &r));
  tn_arr *reads = joined(r.reads, r.opaque), *writes = reads ? joined(r.writes, r.opaque) : NULL;
  return writes ? tn_ret_obj(ret, tn_arr_of(2, reads, writes)) : -1;
}

static const tn_func_row rows[] = {
    {"tir.analysis.verify_well_formed", verify_well_formed},
    {"tir.analysis.VerifyWellFormed", verify_well_formed},
    {"tir.analysis.verify_ssa", verify_ssa},
    {"tir.analysis.undefined_vars", undefined_vars},
    {"tir.analysis.UndefinedVars", undefined_vars},
    {"tir.analysis.expr_deep_equal", expr_deep_equal},
    {"tir.analysis.calculate_workspace_bytes", workspace_bytes},
    {"tir.analysis.calculate_constant_bytes", constant_bytes},
    {"tir.analysis.calculate_allocated_bytes", allocated_bytes},
    {"tir.analysis.detect_buffer_access_lca", detect_access_lca},
    {"tir.analysis.EstimateTIRFlops", estimate_flops},
    {"tir.analysis.is_pure_function", is_pure},
    {"tir.analysis.find_anchor_block", anchor_block},
    {"tir.analysis.has_if_then_else", has_if_then_else},
    {"tir.analysis.GetBlockAccessRegion", access_region},
    {"tir.analysis.GetBlockReadWriteRegion", read_write_region},
};

/* After each pass variables are used where they are defined. Passes that take statements twice may
   define a variable in two places, one after the other. */
static int verify_module(tn_IRModule *m) { return tir_check_well_formed((const tn_obj *)m, false); }

int analysis_init(void) {
  ir_pass_add_verifier(1, verify_module);
  return tn_func_register_rows(rows, TN_COUNT(rows));
}
