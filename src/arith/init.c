/* Start of the layer: its types, rules and functions. */
#include "arith/arith_impl.h"

static int init_split(tn_obj *self) {
  tn_IterSplitExpr *e = (tn_IterSplitExpr *)self;
  e->dtype = e->scale->dtype;
  return 0;
}
static int init_sum(tn_obj *self) {
  tn_IterSumExpr *e = (tn_IterSumExpr *)self;
  for (int64_t i = 0; i < e->args->len; ++i)
    TN_CHECK(TN_AS(IterSplitExpr, tn_arr_obj(e->args, i)), TypeError, NULL,
             "arith.IterSumExpr.args: expected IterSplitExpr, got %s",
             tn_type_key((uint32_t)e->args->items[i].type_index));
  e->dtype = e->base->dtype;
  return 0;
}
const tn_type_hooks arith_split_hooks = {.init = init_split};
const tn_type_hooks arith_sum_hooks = {.init = init_sum};

TN_NODES_DEFINE(TN_ARITH_NODES, arith_types)

int arith_init(void) {
  TN_TRY(tn_type_register_table(arith_types, (int)(sizeof arith_types / sizeof *arith_types)));
  TN_TRY(arith_repr_init());
  TN_TRY(arith_rules_init());
  TN_TRY(arith_int_set_init());
  TN_TRY(arith_api_init());
  TN_TRY(arith_api_sets_init());
  return 0;
}
