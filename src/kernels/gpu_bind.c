/* Schedules for devices with blocks of threads: every stage is a separate kernel, its elements
   shared out, each computed by one thread.

     for i0 in thread_binding(n / 64, "blockIdx.x"): for i1 in thread_binding(64, "threadIdx.x"):
       B[i0 * 64 + i1] = sum over k of A[i0 * 64 + i1, k]

   A stage of another form runs in a single thread. */
#include <string.h>

#include "base/error.h"
#include "base/scope.h"
#include "ir/expr.h"
#include "kernels/kernels_impl.h"
#include "object/functions.h"

/* Number of loops, from the outermost on, that run elements of the result; 0: it has none, or is of
   another form. */
static int elements(tn_TirSchedule *s, const tn_Block *b, const tn_arr *loops) {
  const tn_arr *iters = b->iter_vars;
  int n = 0;
  if (loops->len != iters->len || loops->len > KERNEL_MAX_AXES) return 0;
  while (n < iters->len &&
         ((const tn_IterVar *)iters->items[n].v.obj)->iter_type == IR_ITER_DATA_PAR)
    ++n;
  for (int64_t i = 0; i < iters->len; ++i) {
    const tn_For *loop = (const tn_For *)sch_get(s, loops->items[i].v.obj);
    bool last = i + 1 == iters->len;
    if (!loop || loop->kind != TIR_FOR_SERIAL || (!last && !TN_AS(For, loop->body))) return 0;
    if (i >= n && ((const tn_IterVar *)iters->items[i].v.obj)->iter_type == IR_ITER_DATA_PAR)
      return 0;
  }
  return n;
}

/* The loop over the elements, one of one iteration where there is none, or loops of none, which
   cannot be told apart again. */
static tn_LoopRV *element_loop(kernel_stage *st, int n) {
  tn_LoopRV *loops[KERNEL_MAX_AXES];
  for (int i = 0; i < n; ++i) {
    loops[i] = kernel_loop(st, i);
    if (kernel_loop_extent(st, loops[i]) == 0) n = 0;
  }
  if (n > 0) return kernel_fuse(st, loops, n);
  const tn_obj *whole = st->loops->len ? st->loops->items[0].v.obj : (tn_obj *)st->rv;
  return sch_add_unit_loop(st->sch, whole);
}

static int bind_loop(kernel_stage *st, tn_LoopRV *loop) {
  int64_t n = kernel_loop_extent(st, loop);
  tn_LoopRV *blocks, *threads;
  if (n >= 0 && n <= st->machine->block_threads)
    return sch_set_kind(st->sch, loop, TIR_FOR_THREAD_BINDING, "threadIdx.x");
  TN_TRY(kernel_split(st, loop, st->machine->block_threads, &blocks, &threads));
  TN_TRY(sch_set_kind(st->sch, blocks, TIR_FOR_THREAD_BINDING, "blockIdx.x"));
  return sch_set_kind(st->sch, threads, TIR_FOR_THREAD_BINDING, "threadIdx.x");
}

static bool is_whole_sum(const tn_Block *b) {
  for (int64_t i = 0; i < b->iter_vars->len; ++i)
    if (((const tn_IterVar *)b->iter_vars->items[i].v.obj)->iter_type != IR_ITER_COMM_REDUCE)
      return false;
  return b->iter_vars->len > 0;
}

/* Sums of nothing are what they begin with: where a sum may have no terms, its beginning does not
   wait for the first. n: loops over elements, before those of the sum */
static int begin_before(kernel_stage *st, int n) {
  tn_arr *loops;
  int64_t sums = st->block->iter_vars->len - n;
  bool some = true;
  TN_GET(loops, sch_get_loops(st->sch, st->rv));
  for (int64_t i = loops->len - sums; i < loops->len; ++i)
    some = some && kernel_loop_extent(st, (tn_LoopRV *)loops->items[i].v.obj) > 0;
  if (some || sums == 0) return 0;
  tn_LoopRV *outer = (tn_LoopRV *)loops->items[loops->len - sums].v.obj;
  return sch_decompose_reduction(st->sch, st->rv, outer) ? 0 : -1;
}

static int bind_block(tn_TirSchedule *s, tn_BlockRV *rv, const target_machine *m) {
  TN_SCOPE(scope);
  kernel_stage st = {.sch = s, .rv = rv, .machine = m};
  tn_LoopRV *loop;
  TN_GET(st.block, (const tn_Block *)sch_get(s, (tn_obj *)rv));
  TN_GET(st.loops, sch_get_loops(s, rv));
  int n = elements(s, st.block, st.loops);
  bool is_sum = st.block->init && (n > 0 || is_whole_sum(st.block));
  TN_GET(loop, element_loop(&st, n));
  TN_TRY(bind_loop(&st, loop));
  return is_sum ? begin_before(&st, n) : 0;
}

int kernel_bind_threads(tn_TirSchedule *s, const target_machine *m) {
  tn_BlockRV *root;
  tn_arr *blocks;
  TN_GET(root, sch_get_block(s, "root", "main"));
  TN_GET(blocks, sch_get_child_blocks(s, (tn_obj *)root));
  for (int64_t i = 0; i < blocks->len; ++i)
    TN_TRY(bind_block(s, (tn_BlockRV *)blocks->items[i].v.obj, m));
  return 0;
}

tn_PrimFunc *kernel_in_one_thread(tn_PrimFunc *f) {
  tn_IterVar *thread;
  tn_PrimFunc *r;
  tn_expr *extent = tir_i32(1);
  tn_Var *var = TN_NEW(Var, .name = tn_str_from("threadIdx.x"), .dtype = TN_I32);
  TN_GETP(thread,
          tir_iter_var(tir_range(tir_i32(0), extent), var, IR_ITER_THREAD_INDEX, "threadIdx.x"));
  tn_stmt *body =
      (tn_stmt *)TN_NEW(AttrStmt, .node = (tn_obj *)thread,
                        .attr_key = tn_str_from("thread_extent"), .value = extent, .body = f->body);
  TN_GETP(body, body);
  TN_GETP(r, tn_node_copy(((tn_obj *)f)->type, f));
  tn_retain(body);
  tn_release(r->body);
  r->body = body;
  return r;
}
