/* Blocks of functions for devices with blocks of threads that no thread runs yet are shared out.

     for i, j in T.grid(64, 64):               for b in T.thread_binding(4, "blockIdx.x"):
       with T.block("B"):              ->        for t in T.thread_binding(1024, "threadIdx.x"):
         B[i, j] = A[i, j] + 1.0                   B[f // 64, f % 64] = ...

   The leading loops over elements of the result become one, which blocks of as many threads as the
   target has take; a block of another form runs in a single thread. Functions that are scheduled
   (tir.is_scheduled) or made for a processor stay as they are. The target is that of the function,
   else the current one. */
#include "ir/module.h"
#include "target/target.h"
#include "tir/schedule/schedule.h"
#include "tir/device.h"
#include "tir/transforms/transforms.h"

enum { MAX_THREADS = 1024 };

static int find_thread(void *ctx, tn_obj *o) {
  (void)ctx;
  const tn_For *f = TN_AS(For, o);
  return f && f->kind == TIR_FOR_THREAD_BINDING;
}

/* Number of loops, from outside on, that run along iterators of elements. */
static int64_t elements(tn_TirSchedule *s, const tn_BlockRV *rv, const tn_arr *loops) {
  const tn_Block *b = (const tn_Block *)sch_get(s, (const tn_obj *)rv);
  int64_t n = 0;
  if (!b || loops->len != b->iter_vars->len) return 0;
  for (; n < loops->len; ++n) {
    const tn_For *f = (const tn_For *)sch_get(s, tn_arr_obj(loops, n));
    const tn_IterVar *iv = (const tn_IterVar *)tn_arr_obj(b->iter_vars, n);
    int64_t extent;
    bool plain = f && f->kind == TIR_FOR_SERIAL && iv->iter_type == IR_ITER_DATA_PAR &&
                 tir_is_zero(f->min) && !(tir_as_int((tn_obj *)f->extent, &extent) && extent == 0);
    if (!plain) break;
  }
  for (int64_t i = n; i < loops->len; ++i)
    if (((const tn_IterVar *)tn_arr_obj(b->iter_vars, i))->iter_type == IR_ITER_DATA_PAR) return 0;
  for (int64_t i = 0; i + 1 < loops->len; ++i) {
    const tn_For *f = (const tn_For *)sch_get(s, tn_arr_obj(loops, i));
    if (!f || !TN_IS(For, f->body)) return 0;
  }
  return n;
}

static int bind_block(tn_TirSchedule *s, const tn_BlockRV *rv, int64_t threads) {
  tn_arr *loops, *parts;
  tn_LoopRV *all;
  int64_t extent;
  TN_VEC(v);
  TN_GET(loops, sch_get_loops(s, rv));
  for (int64_t i = 0; i < loops->len; ++i)
    if (tn_post_order(sch_get(s, tn_arr_obj(loops, i)), find_thread, NULL)) return 0;
  int64_t n = elements(s, rv, loops);
  for (int64_t i = 0; i < n; ++i) TN_TRY(tn_vec_push_obj(&v, tn_arr_obj(loops, i)));
  if (n) TN_GET(all, sch_fuse(s, tn_arr_from(&v), true));
  else TN_GET(all, sch_add_unit_loop(s, loops->len ? tn_arr_obj(loops, 0) : (const tn_obj *)rv));
  const tn_For *f = (const tn_For *)sch_get(s, (tn_obj *)all);
  if (!f) return -1;
  if (tir_as_int((tn_obj *)f->extent, &extent) && extent < threads) threads = extent;
  tn_arr *factors;
  TN_GET(factors, tn_arr_of(2, NULL, tir_i32((int32_t)threads)));
  TN_GET(parts, sch_split(s, all, factors, true, false));
  const tn_LoopRV *grid = (const tn_LoopRV *)tn_arr_obj(parts, 0);
  TN_TRY(sch_set_kind(s, grid, TIR_FOR_THREAD_BINDING, "blockIdx.x"));
  return sch_set_kind(s, (const tn_LoopRV *)tn_arr_obj(parts, 1), TIR_FOR_THREAD_BINDING,
                      "threadIdx.x");
}

static tn_PrimFunc *schedule(tn_PrimFunc *f, int64_t threads) {
  tn_IRModule *mod;
  tn_GlobalVar *v;
  tn_TirSchedule *s;
  tn_BlockRV *root;
  tn_arr *blocks;
  TN_GETP(mod, ir_module_new(NULL, NULL, NULL));
  TN_GETP(v, ir_global_var("main"));
  TN_TRYP(ir_module_add(mod, v, (tn_BaseFunc *)f, false));
  TN_GETP(s, sch_new(mod, 0, 0));
  TN_GETP(root, sch_get_block(s, "root", "main"));
  TN_GETP(blocks, sch_get_child_blocks(s, (tn_obj *)root));
  for (int64_t i = 0; i < blocks->len; ++i)
    TN_TRYP(bind_block(s, (const tn_BlockRV *)tn_arr_obj(blocks, i), threads));
  tn_BaseFunc *done;
  TN_GETP(done, ir_module_lookup(s->mod, v));
  return tir_with_attr((tn_PrimFunc *)done, "tir.is_scheduled", (tn_obj *)tir_i32(1));
}

static bool has_root(const tn_PrimFunc *f) {
  const tn_BlockRealize *r = TN_AS(BlockRealize, f->body);
  return r && r->block->iter_vars->len == 0 && tn_str_eq(r->block->name_hint, "root");
}

tn_IRModule *tir_default_gpu_schedule(tn_IRModule *m, const tn_pass_ctx *c) {
  (void)c;
  tn_map *functions = m->functions;
  for (int64_t i = 0; i < m->functions->len; ++i) {
    const tn_map_entry *e = &m->functions->entries[i];
    tn_PrimFunc *f = TN_AS(PrimFunc, e->value.v.obj);
    if (!f || tir_func_attr(f, "tir.is_scheduled") || !has_root(f)) continue;
    tn_obj *target = tir_func_attr(f, "target");
    if (!target) target = (tn_obj *)target_current();
    TN_CHECKP(target, ValueError, NULL,
              "tir.DefaultGPUSchedule: for which target? Run it in `with Target(...):` or after "
              "BindTarget");
    if (!tir_is_gpu(tir_target_device_type(target))) continue;
    int64_t threads = tir_target_option(target, "max_threads_per_block", 0);
    if (threads <= 0) threads = tir_target_option(target, "max_num_threads", MAX_THREADS);
    TN_GETP(f, schedule(f, threads < 1 ? 1 : threads < MAX_THREADS ? threads : MAX_THREADS));
    TN_GETP(functions, tn_map_with(functions, e->key, tn_any_obj(f)));
  }
  return functions == m->functions ? m : ir_module_with_functions(m, functions);
}
