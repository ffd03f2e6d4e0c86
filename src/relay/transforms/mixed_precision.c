/* ToMixedPrecision: operators that gain by it compute in a smaller floating point type.

     nn.relu(nn.conv2d(%x, %w))
   =>
     nn.relu(nn.conv2d(cast(%x, dtype="float16"), cast(%w, dtype="float16"), out_dtype="float16"))

   An operator always computes in the small type (convolutions, products), never (what loses too
   much by it), or follows its operands; variables and constants have any type for it. Which, and
   the types of sums and results, is said by its attribute FTVMMixedPrecisionConversionType, (call,
   type) -> [0 always, 1 follow, 2 never, type of sums, type of the result], else by its row
   (`precision`), with sums of the small type: a cast after each product would round what
   ComputeInFloat32 keeps. Other operators count as never; argument 2 says what else happens: 0 an
   error, 1 a warning, 2 nothing. */
#include <math.h>

#include "base/error.h"
#include "base/log.h"
#include "base/scope.h"
#include "ir/imm.h"
#include "ir/op.h"
#include "relay/infer.h"
#include "relay/expr/call_builder.h"
#include "relay/expr/expr_info.h"
#include "relay/expr/replace.h"
#include "relay/transforms/transforms.h"

enum { ALWAYS, FOLLOW, NEVER, UNKNOWN }; /* as the attribute counts */

typedef struct {
  tn_dtype small, wide; /* the types: "float16", and float32 */
  int64_t missing;
  tn_map *casts;  /* pair of expression and type -> cast of it; keeps them alive */
  tn_pmap origin; /* cast -> what it is a cast of, where that was of the wide or small type */
  bool keep_result;
} lowering;

/* ---- casts ---- */

/* Gives a new expression its type, which later ones ask for. */
static relay_expr *typed(relay_expr *e) {
  tn_Type *t = e && !relay_type_of(e) ? relay_infer_type(e, NULL) : NULL;
  if (!e || relay_type_of(e)) return e;
  if (!t) return NULL;
  tn_retain(t);
  e->_checked_type_ = t;
  return e;
}

/* A tensor of type `from` as `to`; casts are made once, and undone instead of cast back. */
static relay_expr *cast_tensor(lowering *l, relay_expr *e, tn_dtype from, tn_dtype to) {
  const tn_TensorType *t = relay_known_type(e);
  tn_any key = tn_any_obj(e), found;
  if (!t || !tn_dtype_eq(t->dtype, from)) return e;
  relay_expr *origin = tn_pmap_get(&l->origin, e), *c;
  if (origin && tn_dtype_eq(relay_known_type(origin)->dtype, to)) return origin;
  if (tn_map_get(l->casts, key, &found)) {
    c = (relay_expr *)found.v.obj;
    if (tn_dtype_eq(relay_known_type(c)->dtype, to)) return c;
  }
  TN_GETP(c, typed(relay_cast(e, to)));
  TN_TRYP(tn_map_set(l->casts, key, tn_any_obj(c)));
  return tn_pmap_put(&l->origin, c, e) ? NULL : c;
}

/* The same for tuples of tensors. */
static relay_expr *cast_all(lowering *l, relay_expr *e, tn_dtype from, tn_dtype to) {
  const tn_TupleType *t = e ? TN_AS(TupleType, relay_type_of(e)) : NULL;
  const tn_RelayTuple *tuple = TN_AS(RelayTuple, e);
  bool any = false;
  TN_VEC(fields);
  if (!t) return e ? cast_tensor(l, e, from, to) : NULL;
  for (int64_t i = 0; i < t->fields->len; ++i) {
    relay_expr *field, *now;
    if (tuple) field = (relay_expr *)tn_arr_obj(tuple->fields, i);
    else TN_GETP(field, typed((relay_expr *)relay_get_item(e, i)));
    TN_GETP(now, cast_all(l, field, from, to));
    any = any || now != field;
    TN_TRYP(tn_vec_push_obj(&fields, now));
  }
  return any ? typed((relay_expr *)relay_tuple(tn_arr_from(&fields))) : e;
}

static relay_expr *widen(lowering *l, relay_expr *e) { return cast_all(l, e, l->small, l->wide); }

/* ---- what an operator does ---- */

typedef struct {
  int64_t kind;
  tn_dtype sums, result;
} conversion;

/* What the operator's attribute says. */
static int ask_hook(const lowering *l, const tn_RelayCall *c, conversion *out) {
  tn_any hook, args[] = {tn_any_obj(c), tn_any_obj(tn_str_from(TN_DT(l->small)))},
               ret = tn_any_none();
  tn_func *f;
  if (!ir_op_attr((const tn_Op *)c->op, "FTVMMixedPrecisionConversionType", &hook)) return 0;
  TN_TRY(tn_any_to_obj(&hook, "runtime.PackedFunc", (tn_obj **)&f));
  TN_TRY(tn_func_call(f, args, 2, &ret));
  const tn_arr *said = tn_any_is_obj(&ret) ? TN_AS(Array, ret.v.obj) : NULL;
  int err = said && said->len == 3
                ? tn_any_to_int(&said->items[0], &out->kind) |
                      tn_any_to_dtype(&said->items[1], &out->sums) |
                      tn_any_to_dtype(&said->items[2], &out->result)
                : TN_RAISE(TypeError, c->span,
                           "%s: FTVMMixedPrecisionConversionType: expected a list of a number and "
                           "two types",
                           relay_called_op(c));
  tn_any_release(&ret);
  return err ? -1 : 0;
}

static bool has_out_dtype(const tn_RelayCall *c) {
  return c->attrs && tn_type_field(((const tn_obj *)c->attrs)->type, "out_dtype");
}

/* Finite bounds of clip that the small type has no numbers for would become infinite in it. */
static bool bounds_fit(const lowering *l, const tn_RelayCall *c) {
  double low = fabs(relay_attr_float(c->attrs, "a_min", 0)),
         high = fabs(relay_attr_float(c->attrs, "a_max", 0)), most = ir_float_limit(l->small);
  return (isinf(low) || low <= most) && (isinf(high) || high <= most);
}

/* Indices may be floats: rounded they are those of other elements. */
static bool has_float_indices(const tn_RelayCall *c) {
  const tn_TensorType *t = relay_as_call(c, "gather_nd") ? relay_known_type(relay_arg(c, 1)) : NULL;
  return t && ir_is_floating(t->dtype);
}

/* What the operator's row says. */
static int64_t kind_of(const lowering *l, const tn_RelayCall *c) {
  switch (RELAY_ASK(precision, c)) {
  case RELAY_LOW: return ALWAYS;
  case RELAY_FOLLOWS: return bounds_fit(l, c) && !has_float_indices(c) ? FOLLOW : NEVER;
  case RELAY_FULL: return NEVER;
  default: return UNKNOWN;
  }
}

static int find_conversion(const lowering *l, const tn_RelayCall *c, conversion *out) {
  const char *op = relay_called_op(c);
  *out = (conversion){UNKNOWN, l->small, l->small};
  TN_TRY(ask_hook(l, c, out));
  if (out->kind == UNKNOWN) out->kind = kind_of(l, c);
  if (out->kind != UNKNOWN) return 0;
  out->kind = NEVER;
  TN_CHECK(l->missing != 0, ValueError, c->span,
           "ToMixedPrecision: nothing is known of operator %s: register "
           "FTVMMixedPrecisionConversionType for it, or allow this by missing_op_mode",
           op);
  if (l->missing == 1) TN_LOG(WARNING, "ToMixedPrecision: %s stays as it is", op);
  return 0;
}

static bool is_free(const void *e) { return TN_AS(Constant, e) || TN_AS(RelayVar, e); }

/* Is every floating point operand of the small type, or a variable or constant that can be? */
static bool is_small(const lowering *l, const relay_expr *e) {
  const tn_TupleType *tuple = TN_AS(TupleType, relay_type_of(e));
  const tn_RelayTuple *literal = TN_AS(RelayTuple, e);
  const tn_TensorType *t = tuple ? NULL : relay_known_type(e);
  for (int64_t i = 0; tuple && i < tuple->fields->len; ++i) {
    const tn_TensorType *field = TN_AS(TensorType, tn_arr_obj(tuple->fields, i));
    bool free = literal && is_free(tn_arr_obj(literal->fields, i));
    if (field && !free && tn_dtype_eq(field->dtype, l->wide)) return false;
  }
  return tuple || is_free(e) || (t && !tn_dtype_eq(t->dtype, l->wide));
}

static bool follows(const lowering *l, const tn_RelayCall *c) {
  bool any = false;
  for (int64_t i = 0; i < c->args->len; ++i) {
    const relay_expr *e = relay_arg(c, i);
    if (!is_small(l, e)) return false;
    any = any || !TN_AS(Constant, e);
  }
  return any;
}

/* ---- rewriting ---- */

static relay_expr *with_args(lowering *l, const tn_RelayCall *c, bool small, void *attrs) {
  TN_VEC(args);
  for (int64_t i = 0; i < c->args->len; ++i) {
    relay_expr *e = relay_arg(c, i);
    TN_GETP(e, small ? cast_all(l, e, l->wide, l->small) : widen(l, e));
    TN_TRYP(tn_vec_push_obj(&args, e));
  }
  relay_expr *r = (relay_expr *)relay_call_new(c->op, tn_arr_from(&args), attrs);
  return r;
}

/* Sums are taken in their own type where the operator can. */
static relay_expr *lower_call(lowering *l, const tn_RelayCall *c, const conversion *how) {
  void *attrs = c->attrs;
  bool sums = has_out_dtype(c);
  relay_expr *e;
  if (sums) TN_GETP(attrs, relay_attrs_with(attrs, "out_dtype", tn_any_dtype(how->sums)));
  TN_GETP(e, typed(with_args(l, c, true, attrs)));
  return sums && !tn_dtype_eq(how->sums, how->result) ? cast_all(l, e, how->sums, how->result) : e;
}

static bool is_float_result(const lowering *l, const tn_obj *pre) {
  const tn_TensorType *t = relay_tensor_type_of_expr(pre);
  return !t || tn_dtype_eq(t->dtype, l->wide) || !ir_is_floating(t->dtype);
}

static tn_obj *rewrite_call(void *ctx, tn_obj *pre, tn_obj *post) {
  lowering *l = ctx;
  const tn_RelayCall *c = (const tn_RelayCall *)post;
  conversion how;
  if (!relay_called_op(c))
    return (tn_obj *)typed(relay_stands_for(with_args(l, c, false, c->attrs), pre));
  TN_TRYP(find_conversion(l, (const tn_RelayCall *)pre, &how));
  bool small = how.kind == ALWAYS || (how.kind == FOLLOW && follows(l, c));
  if (small && is_float_result(l, pre)) return (tn_obj *)lower_call(l, c, &how);
  return (tn_obj *)relay_stands_for(with_args(l, c, false, c->attrs), pre);
}

/* What is below it may have another type now. */
static tn_obj *rewrite_tuple(void *ctx, tn_obj *pre, tn_obj *post) {
  (void)ctx;
  return (tn_obj *)typed(pre == post ? (relay_expr *)post : relay_fresh_copy(post));
}

/* Elsewhere values have the types they had: bodies of functions, branches, bindings. */
static tn_obj *widen_child(void *ctx, tn_obj *child) {
  if (TN_AS(Array, child) || TN_AS(Clause, child)) return tn_map_children(child, widen_child, ctx);
  return TN_IS(RelayExpr, child) && relay_type_of(child) ? (tn_obj *)widen(ctx, (relay_expr *)child)
                                                         : child;
}

static tn_obj *rewrite_other(void *ctx, tn_obj *pre, tn_obj *post) {
  if (pre == post) return post;
  return relay_stands_for(tn_map_children(post, widen_child, ctx), pre);
}

static const tn_rewrite_case cases[] = {
    TN_REWRITE(RelayCall, rewrite_call),     TN_REWRITE(RelayTuple, rewrite_tuple),
    TN_REWRITE(TupleGetItem, rewrite_tuple), TN_REWRITE(RelayFunction, rewrite_other),
    TN_REWRITE(RelayLet, rewrite_other),     TN_REWRITE(RelayIf, rewrite_other),
    TN_REWRITE(RefCreate, rewrite_other),    TN_REWRITE(RefWrite, rewrite_other),
    TN_REWRITE(Match, rewrite_other),
};

static tn_RelayFunction *run(lowering *l, tn_RelayFunction *f) {
  relay_expr *body;
  TN_GETP(l->casts, tn_scope_own(tn_map_new()));
  TN_GETP(body, tn_rewrite(f->body, cases, TN_COUNT(cases), l));
  if (body == f->body) return f;
  tn_Type *result = NULL;
  if (l->keep_result) {
    TN_GETP(body, widen(l, body));
    result = f->ret_type;
  }
  tn_RelayFunction *r;
  TN_GETP(r, relay_function(f->params, body, result, f->attrs));
  r->span = f->span;
  tn_retain(f->span);
  return r;
}

/* arguments: type, missing_op_mode */
tn_RelayFunction *relay_mixed_precision(tn_RelayFunction *f, const tn_pass_ctx *c) {
  lowering l = {.small = tn_dtype_of(kDLFloat, 16, 1), .wide = TN_F32, .missing = 1};
  if (c->nargs > 0) TN_TRYP(tn_any_to_dtype(&c->args[0], &l.small));
  if (c->nargs > 1) TN_TRYP(tn_any_to_int(&c->args[1], &l.missing));
  TN_CHECKP(ir_is_floating(l.small) && l.small.bits >= 16 && l.small.bits != 32, ValueError, NULL,
            "ToMixedPrecision: expected float16, bfloat16 or float64, got %s", TN_DT(l.small));
  TN_CHECKP(l.missing >= 0 && l.missing <= 2, ValueError, NULL,
            "ToMixedPrecision: missing_op_mode: expected 0, 1 or 2, got %lld",
            (long long)l.missing);
  l.keep_result = ir_config_int(c->node, "relay.ToMixedPrecision.keep_orig_output_dtype", 0) != 0;
  TN_GETP(f, relay_infer_expr(f, c->mod));
  tn_RelayFunction *r = run(&l, f);
  tn_pmap_fini(&l.origin);
  return r;
}
