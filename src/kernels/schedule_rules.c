/* Scheduling a whole program: stages are inlined, then each one left is given to the first class
   that applies.

   In between create_prim_func and the lowering passes. */
#include <string.h>

#include "base/error.h"
#include "base/log.h"
#include "base/scope.h"
#include "ir/imm.h"
#include "ir/module.h"
#include "kernels/kernels_impl.h"
#include "object/functions.h"

/* In this order: the first that applies. Those that take neighbouring stages into their loops come
   before any other stage is scheduled. */
static const kernel_class with_neighbours[] = {
    kernel_winograd,       kernel_conv_tiles, kernel_gemm_tiles,  kernel_conv_direct,
    kernel_conv_depthwise, kernel_gemm,       kernel_row_program, kernel_scalar};
static const kernel_class classes[] = {kernel_transpose, kernel_parts,         kernel_elementwise,
                                       kernel_tile,      kernel_scalar_result, kernel_rows,
                                       kernel_plain};
/* Those that no step refuses, whatever the extents are. */
static const kernel_class plain[] = {kernel_elementwise, kernel_rows, kernel_plain};

typedef enum { ALL_CLASSES, WITHOUT_NEIGHBOURS, PLAIN_CLASSES, NCHOICES } choice;

/* Was the block put into another one? */
static bool is_gone(const tn_TirSchedule *s, const tn_BlockRV *rv) {
  tn_any now;
  return tn_map_get(s->symbols, tn_any_obj(rv), &now) && !tn_any_is_obj(&now);
}

static int schedule_stage(tn_TirSchedule *s, tn_BlockRV *rv, const target_machine *m,
                          const kernel_class *list, int n) {
  TN_SCOPE(scope);
  if (is_gone(s, rv)) return 0;
  kernel_stage st;
  int r = kernel_stage_of(&st, s, rv, m);
  if (r <= 0) return r;
  for (int i = 0; i < n; ++i)
    if ((r = list[i](&st)) != 0) return r < 0 ? r : 0;
  return 0;
}

static int schedule_all(tn_TirSchedule *s, const target_machine *m, choice which) {
  tn_BlockRV *root;
  tn_arr *blocks;
  TN_TRY(kernel_inline_stages(s, m));
  if (m->block_threads) return kernel_bind_threads(s, m);
  TN_GET(root, sch_get_block(s, "root", "main"));
  TN_GET(blocks, sch_get_child_blocks(s, (tn_obj *)root));
  bool safe = which == PLAIN_CLASSES;
  if (which == ALL_CLASSES) TN_TRY(kernel_bands(s, blocks, m));
  for (int64_t i = 0; which == ALL_CLASSES && i < blocks->len; ++i)
    TN_TRY(schedule_stage(s, (tn_BlockRV *)blocks->items[i].v.obj, m, with_neighbours,
                          TN_COUNT(with_neighbours)));
  for (int64_t i = 0; i < blocks->len; ++i)
    TN_TRY(schedule_stage(s, (tn_BlockRV *)blocks->items[i].v.obj, m, safe ? plain : classes,
                          safe ? TN_COUNT(plain) : TN_COUNT(classes)));
  return 0;
}

/* A program marked as done is left alone. */
static bool is_ready(const tn_PrimFunc *f) {
  return tir_func_attr(f, "tir.is_scheduled") || tir_func_attr(f, "tir.noschedule");
}

/* One that is a single statement (of an ExternOp). */
static bool has_no_blocks(const tn_PrimFunc *f) {
  const tn_BlockRealize *r = TN_AS(BlockRealize, f->body);
  return !r || r->block->iter_vars->len != 0 || !tn_str_eq(r->block->name_hint, "root");
}

static tn_PrimFunc *scheduled(tn_PrimFunc *f, const target_machine *m, choice which) {
  tn_IRModule *mod;
  tn_GlobalVar *v;
  tn_TirSchedule *s;
  TN_GETP(mod, ir_module_new(NULL, NULL, NULL));
  TN_GETP(v, ir_global_var("main"));
  TN_TRYP(ir_module_add(mod, v, (tn_BaseFunc *)f, false));
  TN_GETP(s, sch_new(mod, 0, 2));
  TN_TRYP(schedule_all(s, m, which));
  tn_BaseFunc *done;
  TN_GETP(done, ir_module_lookup(s->mod, v));
  TN_GETP(f, kernel_linear_indices((tn_PrimFunc *)done));
  return tir_with_attr(f, "tir.is_scheduled", (tn_obj *)tir_i32(1));
}

/* A step may refuse a program that a class took for its own: one with neighbours, or one that tiles
   windows whose extents are open. The others know all. */
tn_PrimFunc *kernels_schedule(tn_PrimFunc *f, const target_machine *m) {
  TN_SCOPE(scope);
  if (is_ready(f)) return tn_scope_return(scope, f);
  if (has_no_blocks(f))
    return tn_scope_return(scope, m->block_threads ? kernel_in_one_thread(f) : f);
  TN_GETP(f, kernel_simplify_indices(f));
  tn_PrimFunc *whole = m->vector_bytes && !m->block_threads ? kernel_attention(f, m) : f;
  if (whole != f) return tn_scope_return(scope, whole);
  const char *name = ir_attrs_str(f->attrs, "global_symbol");
  tn_PrimFunc *done = scheduled(f, m, ALL_CLASSES);
  for (int i = WITHOUT_NEIGHBOURS; !done && i < NCHOICES; ++i) {
    if (strcmp(tn_error_class(), "ScheduleError") != 0) break;
    TN_LOG(INFO, "kernels: %s is scheduled more plainly, as a step was refused: %s",
           name ? name : "a program", tn_error_message());
    tn_error_clear();
    done = scheduled(f, m, (choice)i);
  }
  return tn_scope_return(scope, done);
}

static int f_schedule(TN_ARGS) {
  int64_t bytes, registers, threads, bf16 = MACHINE_BF16_NONE, dots = MACHINE_INT8_DOTS;
  TN_CHECK(n >= 4 && n <= 6, TypeError, NULL, "kernels.schedule: expected 4 to 6 arguments, got %d",
           (int)n);
  TN_ARG_OBJ(PrimFunc, f, 0);
  TN_TRY(tn_any_to_int(&args[1], &bytes));
  TN_TRY(tn_any_to_int(&args[2], &registers));
  TN_TRY(tn_any_to_int(&args[3], &threads));
  if (n > 4) TN_TRY(tn_any_to_int(&args[4], &bf16));
  if (n > 5) TN_TRY(tn_any_to_int(&args[5], &dots));
  TN_CHECK(bytes >= 0 && bytes <= 256 && registers > 0 && registers <= 64 && threads > 0 &&
               threads <= 4096 && bf16 >= MACHINE_BF16_NONE && bf16 <= MACHINE_BF16_TILES &&
               dots >= MACHINE_INT8_PAIRS && dots <= MACHINE_INT8_TILES,
           ValueError, NULL,
           "kernels.schedule: no such machine: vectors of %lld bytes, %lld registers, %lld threads",
           (long long)bytes, (long long)registers, (long long)threads);
  target_machine m = {.vector_bytes = (int)bytes,
                      .vector_registers = (int)registers,
                      .threads = (int)threads,
                      .dots = true,
                      .bf16 = (machine_bf16)bf16,
                      .int8 = (machine_int8)dots,
                      .l1 = 32 << 10,
                      .l2 = 1 << 20};
  return tn_ret_obj(ret, kernels_schedule(f, &m));
}

static const tn_func_row rows[] = {{"kernels.schedule", f_schedule}};

int kernels_init(void) { return tn_func_register_rows(rows, TN_COUNT(rows)); }
