/* ConvertLayout: operators work in the layouts that a program asks for.

     nn.conv2d(%x, %w)  with {"nn.conv2d": ["NHWC", "default"]}
   =>
     %0 = layout_transform(%x, src_layout="NCHW", dst_layout="NHWC");
     %1 = layout_transform(%w, src_layout="OIHW", dst_layout="HWIO");
     %2 = nn.conv2d(%0, %1, data_layout="NHWC", kernel_layout="HWIO");
     layout_transform(%2, src_layout="NHWC", dst_layout="NCHW")

   How an operator is brought to a layout is said by its attribute FTVMConvertOpLayout, or by its
   row; it works in that layout, and those between such operators follow. */
#include "base/error.h"
#include "base/scope.h"
#include "ir/imm.h"
#include "relay/infer.h"
#include "relay/layouts.h"
#include "relay/relay_impl.h"
#include "relay/transforms/transforms.h"

/* Which of the operators that would change stay as they are, by their numbers, and how many have
   been seen: relay.transform.LayoutConfig sets them for its thread. */
static _Thread_local tn_arr *skipped;
static _Thread_local int64_t nseen;

static bool is_skipped(void) {
  if (!skipped) return false;
  int64_t own = nseen++;
  for (int64_t i = 0; i < skipped->len; ++i)
    if (relay_listed(skipped, i) == own) return true;
  return false;
}

static tn_obj *choose(void *ctx, relay_replace *r) {
  const tn_map *wanted = ctx;
  const tn_Op *op = TN_AS(Op, r->call->op);
  relay_replace own = *r;
  own.desired = TN_AS(Array, tn_map_find(wanted, tn_cstr(op->name)));
  if (!own.desired || is_skipped()) return relay_leave(r);
  r->keeps = strcmp(tn_cstr((const tn_str *)tn_arr_obj(own.desired, 0)), "default") != 0;
  return relay_call_hook(&own, "FTVMConvertOpLayout", r->row ? r->row->convert : NULL,
                         tn_any_obj(own.desired));
}

static int check(const tn_map *wanted) {
  for (int64_t i = 0; i < wanted->len; ++i) {
    const tn_map_entry *e = &wanted->entries[i];
    const tn_arr *layouts = tn_any_is_obj(&e->value) ? TN_AS(Array, e->value.v.obj) : NULL;
    bool texts = layouts && layouts->len > 0;
    for (int64_t k = 0; texts && k < layouts->len; ++k)
      texts = TN_AS(String, tn_arr_obj(layouts, k)) != NULL;
    TN_CHECK(
        texts, ValueError, NULL,
        "ConvertLayout: expected a list of layouts for each operator, of its arguments in order");
  }
  return 0;
}

/* argument: map from names of operators to lists of layouts */
tn_RelayFunction *relay_convert_layout(tn_RelayFunction *f, const tn_pass_ctx *c) {
  tn_RelayFunction *typed;
  tn_map *wanted = NULL;
  if (c->nargs > 0) TN_TRYP(tn_arg_obj(c->args, c->nargs, 0, &tn_type_Map, (tn_obj **)&wanted));
  TN_CHECKP(wanted, TypeError, NULL, "ConvertLayout: expected a map of operators to layouts");
  TN_TRYP(check(wanted));
  TN_GETP(typed, relay_infer_expr(f, c->mod));
  return relay_carry_layouts(typed, choose, wanted);
}

/* (numbers of operators or None, how many have been seen) -> what was set before, as an array */
static int set_skipped(TN_ARGS) {
  TN_NARGS("LayoutConfig", 2);
  TN_ARG_OPT(Array, now, 0);
  int64_t seen;
  TN_TRY(tn_any_to_int(&args[1], &seen));
  tn_arr *old = skipped;
  tn_any before[] = {tn_any_obj(old), tn_any_int(nseen)};
  tn_arr *both = tn_arr_new(before, 2);
  if (!both) return -1;
  tn_retain(now);
  skipped = now;
  nseen = seen;
  tn_release(old);
  return tn_ret_owned(ret, both);
}

static const tn_func_row rows[] = {{"relay._transform.SetLayoutConfig", set_skipped}};

int relay_convert_layout_init(void) { return tn_func_register_rows(rows, TN_COUNT(rows)); }
