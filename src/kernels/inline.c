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

/* Nodes of an expression, those it shares counted as often as they occur, and loads of a buffer. */
typedef struct {
  const tn_Buffer *buffer;
  int nodes, loads;
} tally;

enum { MAX_NODES = 4096, MAX_REPEATED = 96, STOP = 2 };

static int add_node(void *ctx, tn_obj *node) {
  tally *t = ctx;
  const tn_BufferLoad *load = TN_AS(BufferLoad, node);
  if (++t->nodes > MAX_NODES) return STOP;
  if (load) t->loads += load->buffer == t->buffer;
  return tn_visit_children(load ? (const tn_obj *)load->indices : node, add_node, ctx);
}

static int tally_of(const tn_obj *value, const tn_Buffer *buffer, tally *out) {
  *out = (tally){.buffer = buffer};
  return add_node(out, (tn_obj *)(uintptr_t)value) < 0 ? -1 : 0;
}

/* What a reader computes several times, though the compiler may find out, must stay small: where
   every stage of a chain reads the one before twice, it would double with each. */
static int repeats_much(const tn_BufferStore *value, const tn_BufferStore *reader, bool *much) {
  tally size, reads;
  TN_TRY(tally_of((const tn_obj *)value->value, NULL, &size));
  TN_TRY(tally_of((const tn_obj *)reader->value, value->buffer, &reads));
  int64_t repeated = (int64_t)size.nodes * (reads.loads - 1);
  *much = reads.nodes > MAX_NODES || repeated > MAX_REPEATED;
  return 0;
}

/* Do the readers make it worth while? *yes = false when one of them does not.
   @param keep what reductions read stays: it is computed in bands */
static int readers_allow(tn_TirSchedule *s, const tn_BlockRV *rv, const tn_BufferStore *value,
                         const cost *c, bool keep, bool *yes) {
  tn_arr *readers;
  TN_GET(readers, sch_get_neighbours(s, rv, false));
  *yes = readers->len > 0 && (c->calls == 0 || readers->len == 1);
  for (int64_t i = 0; i < readers->len && *yes; ++i) {
    const tn_Block *b;
    TN_GET(b, (const tn_Block *)sch_get(s, readers->items[i].v.obj));
    const tn_BufferStore *store = TN_AS(BufferStore, b->body);
    bool much = false;
    if (store) TN_TRY(repeats_much(value, store, &much));
    if (!store || much) *yes = false; /* an extern call needs the buffer */
    if (tn_map_find(b->annotations, KERNEL_CLASS)) *yes = false;
    if (is_reduction(b) && (c->calls || c->choices || keep)) *yes = false;
  }
  return 0;
}

static int inline_stage(tn_TirSchedule *s, tn_BlockRV *rv, bool bands) {
  TN_SCOPE(scope);
  const tn_Block *b;
  bool yes;
  TN_GET(b, (const tn_Block *)sch_get(s, (tn_obj *)rv));
  const tn_BufferStore *store = TN_AS(BufferStore, b->body);
  if (!store || is_reduction(b) || tn_map_find(b->annotations, KERNEL_CLASS)) return 0;
  if (tn_map_find(b->annotations, KERNEL_BANDS)) return 0;
  cost c = {0, 0};
  TN_TRY(tn_post_order(store->value, count, &c));
  TN_TRY(readers_allow(s, rv, store, &c, bands, &yes));
  if (!yes) return 0;
  /* one that cannot be inlined (its indices are not plain, it is a result) stays */
  return kernel_try(sch_compute_inline(s, rv)) < 0 ? -1 : 0;
}

int kernel_inline_stages(tn_TirSchedule *s, const target_machine *m) {
  TN_SCOPE(scope);
  (void)m;
  tn_BlockRV *root, *mark;
  tn_arr *blocks;
  TN_GET(root, sch_get_block(s, "root", "main"));
  TN_GET(blocks, sch_get_child_blocks(s, (tn_obj *)root));
  TN_TRY(kernel_find_bands(s, blocks, &mark));
  for (int64_t i = 0; i < blocks->len; ++i)
    TN_TRY(inline_stage(s, (tn_BlockRV *)blocks->items[i].v.obj, mark != NULL));
  return 0;
}
