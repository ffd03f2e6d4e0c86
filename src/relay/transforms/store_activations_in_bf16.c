/* StoreActivationsInBF16: what lies between the kernels of a network of convolutions is kept in bfloat16.

     %2 = nn.relu(add(%0, %1));
     nn.conv2d(cast(%2, "bfloat16"), %w); add(%2, %3)
   =>
     %2 = cast(nn.relu(add(%0, %1)), "bfloat16");
     nn.conv2d(%2, %w); add(cast(%2, "float32"), cast(%3, "float32"))

   Operators go on computing with float32: the casts at the begin and the end become part of their
   kernels, where values stay in registers, and are rounded once, when they are stored (in between
   tir.BF16ComputeLegalize drops what is rounded and widened again). Those that only move values
   or choose among them work on bfloat16 itself. A value with one reader that computes element by
   element of it alone is part of that one's kernel, and left. */
#include <string.h>

#include "base/error.h"
#include "base/scope.h"
#include "ir/functor.h"
#include "relay/infer.h"
#include "relay/expr/call_builder.h"
#include "relay/expr/expr_info.h"
#include "relay/expr/replace.h"
#include "relay/expr/typed_builder.h"
#include "relay/transforms/transforms.h"

enum { NDIM = 4, MIN_ELEMENTS = 1024, MAX_DEEP = 32 };

static const tn_dtype half_type = {kDLBfloat, 16, 1};

typedef struct {
  tn_pmap readers; /* how many read an expression */
  tn_pmap takers;  /* how many of these can take bfloat16 */
  tn_map *narrow;  /* expression -> the same in bfloat16; keeps both alive */
  bool any;        /* a convolution of bfloat16 was seen */
} halving;

/* A kernel's root, or an index into one: what repeats values is better left to those who read. */
static bool is_mover(const tn_RelayCall *c) {
  relay_values v = RELAY_ASK(values, c);
  relay_pattern pattern = relay_op_pattern(relay_op_of(c));
  return (v == RELAY_MOVED || v == RELAY_CHOSEN) && c->args->len == 1 && relay_known_type(c) &&
         (pattern == RELAY_INJECTIVE || pattern == RELAY_OUT_ELEMWISE_FUSABLE);
}

static bool is_half(const void *e) {
  const tn_TensorType *t = relay_known_type(e);
  return t && tn_dtype_eq(t->dtype, half_type);
}

/* Part of the kernel that computes its operands, or reads them. */
static bool is_elementwise(const tn_RelayCall *c) {
  return relay_called_op(c) && relay_op_pattern((const tn_obj *)c->op) <= RELAY_INJECTIVE;
}

static bool is_rounding(const tn_RelayCall *c) {
  return relay_as_call(c, "cast") && is_half(c) && !is_half(relay_arg(c, 0));
}

/* Images of float32 that a kernel computes. */
static bool is_value(const void *e) {
  const tn_TensorType *t = TN_AS(RelayCall, e) ? relay_known_type(e) : NULL;
  return t && tn_dtype_eq(t->dtype, TN_F32) && t->shape->len >= NDIM &&
         relay_count_elements(t) >= MIN_ELEMENTS;
}

/* ---- who reads ---- */

static int take_in(halving *h, const void *e) {
  const tn_RelayTuple *t = TN_AS(RelayTuple, e);
  for (int64_t i = 0; t && i < t->fields->len; ++i) TN_TRY(take_in(h, tn_arr_obj(t->fields, i)));
  return tn_pmap_put_int(&h->takers, e, tn_pmap_get_int(&h->takers, e, 0) + 1);
}

static int look(void *ctx, tn_obj *node) {
  halving *h = ctx;
  const tn_RelayCall *c = TN_AS(RelayCall, node);
  if (!c || !relay_called_op(c)) return 0;
  if (RELAY_ASK(form, c) == RELAY_CONVOLUTION && is_half(relay_arg(c, 0))) h->any = true;
  bool takes = is_mover(c) || is_elementwise(c);
  for (int64_t i = 0; takes && i < c->args->len; ++i) TN_TRY(take_in(h, relay_arg(c, i)));
  return 0;
}

/* ---- rewriting ---- */

/* What a widening widens; NULL for other expressions. */
static relay_expr *widened(const void *e) {
  const tn_RelayCall *c = relay_as_call(e, "cast");
  return c && !is_half(c) && is_half(relay_arg(c, 0)) ? relay_arg(c, 0) : NULL;
}

/* A new expression gets its type, which later ones ask for. */
static relay_expr *typed(relay_expr *e) {
  return e ? relay_typed(e, relay_infer_type(e, NULL)) : NULL;
}

static relay_expr *cast_to(relay_expr *e, tn_dtype t) { return typed(relay_cast(e, t)); }

/* A value in bfloat16, the same for all who ask. */
static relay_expr *halved(halving *h, relay_expr *e) {
  tn_any key = tn_any_obj(e), found;
  relay_expr *r = widened(e);
  if (r) return r;
  if (tn_map_get(h->narrow, key, &found)) return (relay_expr *)found.v.obj;
  TN_GETP(r, cast_to(e, half_type));
  return tn_map_set(h->narrow, key, tn_any_obj(r)) ? NULL : r;
}

/* An operand of what moves values. */
static relay_expr *halved_all(halving *h, relay_expr *e) {
  const tn_RelayTuple *t = TN_AS(RelayTuple, e);
  TN_VEC(fields);
  if (!t) return halved(h, e);
  for (int64_t i = 0; i < t->fields->len; ++i) {
    relay_expr *field;
    TN_GETP(field, halved(h, (relay_expr *)tn_arr_obj(t->fields, i)));
    TN_TRYP(tn_vec_push_obj(&fields, field));
  }
  return typed((relay_expr *)relay_tuple(tn_arr_from(&fields)));
}

static bool are_values(const relay_expr *e) {
  const tn_RelayTuple *t = TN_AS(RelayTuple, e);
  for (int64_t i = 0; t && i < t->fields->len; ++i)
    if (!is_value(tn_arr_obj(t->fields, i))) return false;
  return t ? t->fields->len > 0 : is_value(e);
}

/* Moves bfloat16 where its result is read as such. */
static relay_expr *move(halving *h, const tn_RelayCall *pre, tn_RelayCall *c) {
  relay_expr *arg = c->args->len == 1 ? relay_arg(c, 0) : NULL;
  if (!arg || !are_values(arg) || !tn_pmap_get_int(&h->takers, pre, 0)) return (relay_expr *)c;
  TN_GETP(arg, halved_all(h, arg));
  relay_expr *r = typed(relay_call(relay_called_op(c), c->attrs, 1, arg));
  return r ? cast_to(r, TN_F32) : NULL;
}

/* Does a convolution or the like end in this value, which one other reads? */
static bool is_anchored(const halving *h, const void *e, int depth) {
  const tn_RelayCall *c = TN_AS(RelayCall, e);
  if (!c || !relay_called_op(c) || depth == MAX_DEEP || tn_pmap_get_int(&h->readers, e, 0) > 1)
    return false;
  if (!is_elementwise(c))
    return relay_op_pattern((const tn_obj *)c->op) == RELAY_OUT_ELEMWISE_FUSABLE;
  for (int64_t i = 0; i < c->args->len; ++i)
    if (is_anchored(h, relay_arg(c, i), depth + 1)) return true;
  return false;
}

/* An operand as the kernel of its reader gets it. @param mine whether the kernel has room for a
   convolution; FuseOps gives it the first one */
static relay_expr *operand(halving *h, const relay_expr *before, relay_expr *e, bool *mine) {
  bool shared = widened(e) || tn_pmap_get_int(&h->readers, before, 0) > 1;
  if (!widened(e) && !is_value(e)) return e;
  if (!shared && (!is_anchored(h, before, 0) || *mine)) {
    *mine = *mine && !is_anchored(h, before, 0);
    return e;
  }
  TN_GETP(e, halved(h, e));
  if (!shared) TN_GETP(e, typed(relay_call("annotation.stop_fusion", NULL, 1, e)));
  return cast_to(e, TN_F32);
}

/* Operands that are stored are read as bfloat16, and widened by each reader. */
static relay_expr *compute(halving *h, const tn_RelayCall *pre, tn_RelayCall *c) {
  bool any = false, mine = true;
  TN_VEC(args);
  for (int64_t i = 0; i < c->args->len; ++i) {
    relay_expr *e;
    TN_GETP(e, operand(h, relay_arg(pre, i), relay_arg(c, i), &mine));
    any = any || e != relay_arg(c, i);
    TN_TRYP(tn_vec_push_obj(&args, e));
  }
  if (!any) return (relay_expr *)c;
  return (relay_expr *)relay_call_new(c->op, tn_arr_from(&args), c->attrs);
}

static tn_obj *rewrite_call(void *ctx, tn_obj *pre, tn_obj *post) {
  halving *h = ctx;
  const tn_RelayCall *before = (const tn_RelayCall *)pre;
  tn_RelayCall *c = relay_stands_for(post, pre);
  if (!c || !relay_called_op(c)) return (tn_obj *)c;
  relay_expr *r = (relay_expr *)c;
  if (is_rounding(c) && (is_value(relay_arg(c, 0)) || widened(relay_arg(c, 0))))
    r = halved(h, relay_arg(c, 0));
  else if (is_mover(c)) r = move(h, before, c);
  else if (is_elementwise(c)) r = compute(h, before, c);
  return relay_stands_for(r, pre);
}

static tn_obj *keep_type(void *ctx, tn_obj *pre, tn_obj *post) {
  (void)ctx;
  return relay_stands_for(post, pre);
}

static const tn_rewrite_case cases[] = {TN_REWRITE(RelayCall, rewrite_call),
                                        TN_REWRITE(RelayTuple, keep_type),
                                        TN_REWRITE(TupleGetItem, keep_type)};

static tn_RelayFunction *run(halving *h, tn_RelayFunction *f) {
  TN_TRYP(relay_count_readers(f, &h->readers));
  TN_TRYP(tn_post_order(f, look, h));
  if (!h->any) return f;
  TN_GETP(h->narrow, tn_scope_own(tn_map_new()));
  return tn_rewrite(f, cases, TN_COUNT(cases), h);
}

tn_RelayFunction *relay_store_activations_in_bf16(tn_RelayFunction *f, const tn_pass_ctx *c) {
  halving h = {.any = false};
  TN_GETP(f, relay_infer_expr(f, c->mod));
  tn_RelayFunction *r = run(&h, f);
  tn_pmap_fini(&h.readers);
  tn_pmap_fini(&h.takers);
  return r;
}
