/* FoldConstant: what depends on constants only is computed.

     add(1f, 2f) -> 3f        shape_of(%x: Tensor[(2, 3), float32]) -> meta[relay.Constant][0]
     (%a, %b).0 -> %a

   Types are inferred first and are known afterwards.

   A large result that one other call reads only, as the scaled weight that gets another layout,
   waits until that call is computed: both go through memory together and the first is never kept.
   With a limit, larger ones stay calls. */
#include "base/error.h"
#include "base/scope.h"
#include "ir/module.h"
#include "relay/analysis/analysis.h"
#include "relay/evaluate.h"
#include "relay/infer.h"
#include "relay/expr/expr_info.h"
#include "relay/transforms/transforms.h"

/* Extents of a static tensor need no computing. */
static tn_obj *fold_shape(const tn_RelayCall *c, const tn_TensorType *t) {
  int64_t dims[64], count = 0;
  tn_TensorType *own = relay_tensor_type_of_expr(c);
  const char *name = relay_called_op(c);
  bool size = strcmp(name, "ndarray_size") == 0;
  if (!own || !t || relay_known_ints(t->shape, dims, 64) < 0) return NULL;
  if (size && !relay_known_product(t->shape, 0, t->shape->len, &count)) return NULL;
  return (tn_obj *)(size ? relay_const_int(own->dtype, count)
                         : relay_const_ints(own->dtype, dims, t->shape->len));
}

enum { LARGE = 1 << 20 }; /* bytes from which on a result waits */

typedef struct {
  tn_pmap *readers, *read; /* readers of an expression; calls that a call reads */
  int64_t limit;           /* bytes; -1: none */
  bool fold_qnn;           /* quantized operators too, which other passes want to see */
  bool keep_moves;         /* large weights are not transposed yet */
} folding;

/* Is it of a type that a program registers? What computes constants has no lowering for it. */
static bool is_custom(const tn_obj *e) {
  if (!tn_dtype_has_custom()) return false;
  const tn_TensorType *t = relay_tensor_type_of_expr(e);
  return t && tn_dtype_is_custom(t->dtype);
}

/* Of types whose size is not known as many as there can be. */
static int64_t bytes_of(const tn_Type *type) {
  const tn_TensorType *t = TN_AS(TensorType, type);
  int64_t n = t ? t->dtype.bits * t->dtype.lanes / 8 : 0, count;
  if (!t) return 0;
  bool known = relay_known_product(t->shape, 0, t->shape->len, &count);
  return known && !__builtin_mul_overflow(n, count, &n) ? n : INT64_MAX;
}

/* Weights get their layout later, which is one move more: both at once need no memory between. */
static bool is_kept_move(const folding *x, const tn_RelayCall *c, const char *name) {
  return x->keep_moves && name && strcmp(name, "transpose") == 0 &&
         bytes_of(relay_type_of(c)) >= LARGE;
}

/* Is it, or is below it, a call that stays? Expressions that can be computed are not deep. */
static bool stays(const folding *x, const tn_obj *e, int depth) {
  const tn_RelayCall *c = TN_AS(RelayCall, e);
  const char *name = c ? relay_called_op(c) : NULL;
  if (is_custom(e)) return true;
  if (c && is_kept_move(x, c, name)) return true;
  if (!c || (x->fold_qnn && !x->keep_moves && !tn_dtype_has_custom())) return false;
  if (!x->fold_qnn && (!name || strncmp(name, "qnn.", 4) == 0)) return true;
  if (depth == 0) return true;
  for (int64_t i = 0; i < c->args->len; ++i)
    if (stays(x, relay_arg(c, i), depth - 1)) return true;
  return false;
}

static bool may_wait(const folding *x, const tn_obj *e) {
  return tn_pmap_has(x->read, e) && tn_pmap_get_int(x->readers, e, 0) == 1;
}

/* Arguments that wait are computed after all, since the call is not. */
static tn_obj *fold_arguments(const folding *x, tn_RelayCall *c) {
  TN_VEC(args);
  bool same = true;
  for (int64_t i = 0; i < c->args->len; ++i) {
    tn_obj *arg = relay_arg(c, i);
    const tn_RelayCall *inner = TN_AS(RelayCall, arg);
    if (inner && relay_known_depth(arg) > 0 && !stays(x, arg, RELAY_KNOWN_DEPTH))
      TN_GETP(arg, (tn_obj *)relay_evaluate_nested(inner));
    same &= arg == relay_arg(c, i);
    TN_TRYP(tn_vec_push_obj(&args, arg));
  }
  if (same) return (tn_obj *)c;
  tn_RelayCall copy = *c;
  TN_GETP(copy.args, tn_arr_from(&args));
  return tn_node_copy(&tn_type_RelayCall, &copy);
}

/* A quantized operator of constants is computed as the arithmetic that it is; NULL without an error:
   something of it is not known. */
static tn_obj *fold_quantized(const tn_RelayCall *c) {
  const char *name = relay_called_op(c);
  tn_IRModule *m;
  if (!name || strncmp(name, "qnn.", 4) != 0) return NULL;
  for (int64_t i = 0; i < c->args->len; ++i)
    if (relay_known_depth(relay_arg(c, i)) != 0) return NULL;
  TN_GETP(m, relay_module_from_expr((tn_obj *)(uintptr_t)c, NULL, NULL));
  TN_GETP(m, relay_run_pass("QnnCanonicalizeOps", m, NULL));
  TN_GETP(m, relay_run_pass("FoldConstant", m, NULL));
  const tn_RelayFunction *f = TN_AS(RelayFunction, m->functions->entries[0].value.v.obj);
  tn_obj *body = f ? (tn_obj *)f->body : NULL;
  return body && relay_known_depth(body) == 0 ? body : NULL;
}

static tn_obj *fold_known(const folding *x, tn_obj *pre, tn_RelayCall *c) {
  tn_obj *quantized = x->fold_qnn && x->limit < 0 ? fold_quantized(c) : NULL;
  if (quantized || tn_error_pending()) return quantized;
  int depth = relay_known_depth((tn_obj *)c);
  int64_t bytes = depth > 0 ? bytes_of(relay_type_of(c)) : 0;
  if (x->limit >= 0 && (depth < 0 || bytes > x->limit)) return (tn_obj *)c;
  if (depth < 0 || stays(x, (tn_obj *)c, RELAY_KNOWN_DEPTH)) return fold_arguments(x, c);
  if (bytes >= LARGE && depth < RELAY_KNOWN_DEPTH && may_wait(x, pre)) return (tn_obj *)c;
  return (tn_obj *)relay_evaluate_nested(c);
}

static tn_obj *fold_call(void *ctx, tn_obj *pre, tn_obj *post) {
  tn_RelayCall *c = (tn_RelayCall *)post;
  const char *name = relay_called_op(c);
  if (!name) return fold_arguments(ctx, c);
  if (strcmp(name, "shape_of") == 0 || strcmp(name, "ndarray_size") == 0) {
    const tn_RelayCall *before = (const tn_RelayCall *)pre;
    tn_obj *folded = fold_shape(before, relay_tensor_type_of_expr(relay_arg(before, 0)));
    if (folded || tn_error_pending()) return folded;
  }
  if (post != pre) { /* the copy has the type of what it was made from */
    tn_retain(((relay_expr *)pre)->_checked_type_);
    tn_release(((relay_expr *)c)->_checked_type_);
    ((relay_expr *)c)->_checked_type_ = ((relay_expr *)pre)->_checked_type_;
  }
  return fold_known(ctx, pre, c);
}

static tn_obj *fold_get_item(void *ctx, tn_obj *pre, tn_obj *post) {
  (void)ctx, (void)pre;
  const tn_TupleGetItem *e = (const tn_TupleGetItem *)post;
  const tn_RelayTuple *t = TN_AS(RelayTuple, e->tuple_value);
  return t && e->index < t->fields->len ? tn_arr_obj(t->fields, e->index) : post;
}

/* A condition that is known: one branch. */
static tn_obj *fold_if(void *ctx, tn_obj *pre, tn_obj *post) {
  (void)ctx, (void)pre;
  const tn_RelayIf *e = (const tn_RelayIf *)post;
  double value;
  if (!relay_as_scalar(e->cond, &value)) return post;
  return (tn_obj *)(value != 0 ? e->true_branch : e->false_branch);
}

static const tn_rewrite_case cases[] = {
    TN_REWRITE(RelayCall, fold_call),
    TN_REWRITE(TupleGetItem, fold_get_item),
    TN_REWRITE(RelayIf, fold_if),
};

static int note_arguments(void *ctx, tn_obj *e) {
  const tn_RelayCall *c = TN_AS(RelayCall, e);
  for (int64_t i = 0; c && i < c->args->len; ++i)
    if (TN_AS(RelayCall, relay_arg(c, i))) TN_TRY(tn_pmap_put_int(ctx, relay_arg(c, i), 1));
  return 0;
}

static tn_obj *fold_function(const tn_RelayFunction *f, int64_t limit, int64_t how) {
  TN_PMAP(readers);
  TN_PMAP(read);
  folding x = {&readers, &read, limit, (how & RELAY_FOLD_QNN) != 0,
               (how & RELAY_FOLD_KEEP_MOVES) != 0};
  TN_TRYP(relay_count_readers(f, &readers));
  TN_TRYP(tn_post_order(f, note_arguments, &read));
  return tn_rewrite(f, cases, TN_COUNT(cases), &x);
}

/* arguments: RELAY_FOLD_... (True: quantized operators are folded too), the most bytes of a result
   (-1: any number) */
tn_IRModule *relay_fold_constant(tn_IRModule *m, const tn_pass_ctx *c) {
  int64_t how = 0;
  if (c->nargs > 0 && c->args[0].type_index != TN_NONE) TN_TRYP(tn_any_to_int(&c->args[0], &how));
  tn_map *functions;
  int64_t limit = -1;
  if (c->nargs > 1) TN_TRYP(tn_any_to_int(&c->args[1], &limit));
  TN_GETP(m, relay_infer_module(m));
  TN_GETP(functions, tn_scope_own(tn_map_new()));
  for (int64_t i = 0; i < m->functions->len; ++i) {
    const tn_map_entry *e = &m->functions->entries[i];
    const tn_RelayFunction *f = TN_AS(RelayFunction, e->value.v.obj);
    tn_obj *folded = e->value.v.obj;
    if (f && !ir_attrs_flag(f->attrs, "Primitive")) TN_GETP(folded, fold_function(f, limit, how));
    TN_TRYP(tn_map_set(functions, e->key, tn_any_obj(folded)));
  }
  TN_GETP(m, ir_module_with_functions(m, functions));
  return relay_infer_module(m);
}

/* The same for an expression: what importers use. */
relay_expr *relay_fold_expr(relay_expr *e) {
  TN_PMAP(none);
  folding x = {&none, &none, -1, false, false};
  TN_GETP(e, relay_infer_expr(e, NULL));
  return tn_rewrite(e, cases, TN_COUNT(cases), &x);
}
