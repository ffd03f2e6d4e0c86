/* Which stages are computed where they are used instead of being kept.

   A stage without reduction goes into its readers: into other such stages unless that repeats an
   expensive function, into a reduction only when it is mere arithmetic on values read (a reduction
   reads each element many times). */
#include <string.h>

#include "base/error.h"
#include "base/scope.h"
#include "ir/expr.h"
#include "ir/functor.h"
#include "kernels/kernels_impl.h"
#include "object/functions.h"

typedef struct {
  int calls, choices; /* intrinsics called; conditionals and divisions */
} cost;

static int count(void *ctx, tn_obj *node) {
  cost *c = ctx;
  uint32_t t = node->type_index;
  if (t == TN_TI_Call) {
    bool choice = tir_as_call(node, TIR_OP_if_then_else) != NULL;
    if (choice) ++c->choices;
    else ++c->calls;
  }
  if (t == TN_TI_Select || t == TN_TI_FloorDiv || t == TN_TI_FloorMod || t == TN_TI_Div ||
      t == TN_TI_Mod)
    ++c->choices;
  return 0;
}

static bool is_reduction(const tn_Block *b) {
  for (int64_t i = 0; i < b->iter_vars->len; ++i)
    if (((const tn_IterVar *)b->iter_vars->items[i].v.obj)->iter_type != IR_ITER_DATA_PAR)
      return true;
  return b->init != NULL;
}

/* Do the readers make it worth while? *yes = false when one of them does not. */
static int readers_allow(tn_TirSchedule *s, const tn_BlockRV *rv, const cost *c, bool *yes) {
  tn_arr *readers;
  TN_GET(readers, sch_get_neighbours(s, rv, false));
  *yes = readers->len > 0 && (c->calls == 0 || readers->len == 1);
  for (int64_t i = 0; i < readers->len && *yes; ++i) {
    const tn_Block *b;
    TN_GET(b, (const tn_Block *)sch_get(s, readers->items[i].v.obj));
    if (!TN_AS(BufferStore, b->body)) *yes = false; /* an extern call needs the buffer */
    if (tn_map_find(b->annotations, KERNEL_CLASS)) *yes = false;
    if (is_reduction(b) && (c->calls || c->choices)) *yes = false;
  }
  return 0;
}

static int inline_stage(tn_TirSchedule *s, tn_BlockRV *rv) {
  TN_SCOPE(scope);
  const tn_Block *b;
  bool yes;
  TN_GET(b, (const tn_Block *)sch_get(s, (tn_obj *)rv));
  const tn_BufferStore *store = TN_AS(BufferStore, b->body);
  if (!store || is_reduction(b) || tn_map_find(b->annotations, KERNEL_CLASS)) return 0;
  cost c = {0, 0};
  TN_TRY(tn_post_order(store->value, count, &c));
  TN_TRY(readers_allow(s, rv, &c, &yes));
  if (!yes || sch_compute_inline(s, rv) == 0) return 0;
  /* one that cannot be inlined (its indices are not plain, it is a result) stays */
  if (strcmp(tn_error_class(), "ScheduleError") != 0) return -1;
  tn_error_clear();
  return 0;
}

int kernel_inline_stages(tn_TirSchedule *s, const kernel_machine *m) {
  TN_SCOPE(scope);
  (void)m;
  tn_BlockRV *root;
  tn_arr *blocks;
  TN_GET(root, sch_get_block(s, "root", "main"));
  TN_GET(blocks, sch_get_child_blocks(s, (tn_obj *)root));
  for (int64_t i = 0; i < blocks->len; ++i)
    TN_TRY(inline_stage(s, (tn_BlockRV *)blocks->items[i].v.obj));
  return 0;
}
