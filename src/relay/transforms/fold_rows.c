/* FoldRows: kernels that compute each row of their result from a row of one argument see the rows
   of all leading axes as one axis, where extents of these are dynamic.

     fn (%p0: Tensor[(?, ?, 768)], %p1: Tensor[(48, 768, 16)]) { nn.contrib_dense_pack(%p0, %p1) }
   of %x =>
     %y = fn (%p0: Tensor[(?, 768)], %p1) { the same }(reshape(%x, newshape=[-3, -2]), %w);
     reshape_like(%y, %x, lhs_end=1, rhs_end=2)

   The virtual machine cuts the first axis into pieces (vm/rows.c) and threads share it: a batch of
   one would leave nothing to cut or to share. The reshapes move nothing there. */
#include "base/error.h"
#include "base/scope.h"
#include "ir/functor.h"
#include "ir/module.h"
#include "relay/infer.h"
#include "relay/expr/call_builder.h"
#include "relay/expr/expr_info.h"
#include "relay/expr/replace.h"
#include "relay/expr/typed_builder.h"
#include "relay/transforms/transforms.h"

enum { MAX_NDIM = 8 };

typedef enum { SHARED, ROWS, OTHER } kind; /* the same for all rows, a row of the argument each */

typedef struct {
  const tn_RelayFunction *f;
  const tn_RelayVar *rows; /* the parameter that has rows */
  int64_t ndim;            /* of it and of the result */
  tn_pmap kinds;           /* expression, or id of a variable -> kind + 1 */
  bool worth;              /* holds a product or a norm */
} search;

/* ---- is each row computed by itself? ---- */

static kind kind_of(const search *s, const void *e) {
  const tn_RelayVar *v = TN_AS(RelayVar, e);
  if (TN_AS(Constant, e)) return SHARED;
  return (kind)(tn_pmap_get_int(&s->kinds, v ? (const void *)v->vid : e, OTHER + 1) - 1);
}

/* Numbers that all rows share: a scalar, or one for each column. */
static bool is_shared(const search *s, const void *e) {
  const tn_TensorType *t = relay_known_type(e);
  return kind_of(s, e) == SHARED && t && t->shape->len <= 1;
}

static bool is_product(const tn_RelayCall *c) {
  return (relay_as_call(c, "nn.dense") || relay_as_call(c, "nn.contrib_dense_pack"));
}

/* Operators with an axis, which must be the last. */
static bool has_axis(const tn_RelayCall *c) {
  return relay_as_call(c, "nn.layer_norm") || relay_as_call(c, "nn.softmax") ||
         relay_as_call(c, "nn.bias_add");
}

static bool is_along_rows(const search *s, const tn_RelayCall *c) {
  int64_t axis = relay_attr_int(c->attrs, "axis", 1);
  return axis == -1 || axis == s->ndim - 1;
}

static kind kind_of_call(search *s, const tn_RelayCall *c) {
  const relay_op_row *row = TN_AS(Op, c->op) ? relay_op_row_of((const tn_obj *)c->op) : NULL;
  const tn_TensorType *t = relay_known_type(c);
  if (!row || c->args->len == 0 || !t || t->shape->len != s->ndim) return OTHER;
  kind first = kind_of(s, relay_arg(c, 0));
  if (is_product(c) || has_axis(c)) {
    bool norm = has_axis(c);
    for (int64_t i = 1; i < c->args->len; ++i)
      if (norm ? !is_shared(s, relay_arg(c, i)) : kind_of(s, relay_arg(c, i)) != SHARED)
        return OTHER;
    if (first != ROWS || (norm && !is_along_rows(s, c))) return OTHER;
    s->worth = s->worth || !relay_as_call(c, "nn.bias_add");
    return ROWS;
  }
  relay_pattern pattern = relay_op_pattern((const tn_obj *)c->op);
  if (pattern == RELAY_ELEMWISE && c->args->len == 1) return first;
  if (row->rel != relay_rel_broadcast && row->rel != relay_rel_broadcast_comp) return OTHER;
  for (int64_t i = 0; i < c->args->len; ++i)
    if (kind_of(s, relay_arg(c, i)) != ROWS && !is_shared(s, relay_arg(c, i))) return OTHER;
  return ROWS; /* all are rows of one argument, which have the same extents */
}

static int see(void *ctx, tn_obj *node) {
  search *s = ctx;
  const tn_RelayCall *c = TN_AS(RelayCall, node);
  return c ? tn_pmap_put_int(&s->kinds, c, kind_of_call(s, c) + 1) : 0;
}

static bool is_dynamic(const tn_TensorType *t) {
  int64_t n;
  for (int64_t i = 0; i + 1 < t->shape->len; ++i)
    if (!tir_as_int(tn_arr_obj(t->shape, i), &n)) return true;
  return false;
}

/* The parameter with as many axes as the result, of which leading ones are dynamic. */
static bool find_rows(search *s) {
  const tn_TensorType *out = relay_known_type(s->f->body);
  if (!out || out->shape->len < 3 || out->shape->len > MAX_NDIM || !is_dynamic(out)) return false;
  s->ndim = out->shape->len;
  for (int64_t i = 0; i < s->f->params->len; ++i) {
    const tn_RelayVar *v = (const tn_RelayVar *)tn_arr_obj(s->f->params, i);
    const tn_TensorType *t = TN_AS(TensorType, relay_type_of(v));
    if (!t) return false;
    if (t->shape->len != s->ndim || !is_dynamic(t)) continue;
    if (s->rows) return false;
    s->rows = v;
  }
  return s->rows != NULL;
}

/* @return 1, 0 where the kernel is none of these, -1 */
static int match(search *s) {
  if (!find_rows(s)) return 0;
  for (int64_t i = 0; i < s->f->params->len; ++i) {
    const tn_RelayVar *v = (const tn_RelayVar *)tn_arr_obj(s->f->params, i);
    TN_TRY(tn_pmap_put_int(&s->kinds, v->vid, (v == s->rows ? ROWS : SHARED) + 1));
  }
  TN_TRY(tn_post_order(s->f->body, see, s));
  return s->worth && kind_of(s, s->f->body) == ROWS;
}

/* ---- the functions ---- */

static tn_RelayFunction *kernel(tn_arr *params, void *body) {
  tn_DictAttrs *attrs;
  tn_RelayFunction *f;
  TN_GETP(attrs, ir_attrs_with(NULL, "Primitive", tn_any_obj(tir_i32(1))));
  TN_GETP(f, body ? relay_function(params, body, NULL, attrs) : NULL);
  return relay_infer_expr(f, NULL);
}

static void *call_of(tn_RelayFunction *f, tn_arr *args) {
  void *c = f && args ? relay_call_new(f, args, NULL) : NULL;
  return c ? relay_typed(c, relay_type_of(f->body)) : NULL;
}

/* The leading axes of a value as one. */
static void *folded(void *x, const tn_TensorType *t) {
  static const int64_t codes[] = {-3, -2};
  tn_RelayVar *p;
  TN_GETP(p, relay_var("p0", (tn_Type *)(uintptr_t)t));
  void *e = p;
  for (int64_t i = t->shape->len; e && i > 2; --i) e = relay_reshape(e, relay_ints(codes, 2));
  return call_of(kernel(tn_arr_of(1, p), e), tn_arr_of(1, x));
}

/* Rows under the leading axes of `like`, which has `ndim` axes. */
static void *unfolded(void *y, void *like, const tn_TensorType *t, int64_t ndim) {
  tn_RelayVar *rows, *shape;
  TN_GETP(rows, relay_var("p0", relay_type_of(y)));
  TN_GETP(shape, relay_var("p1", (tn_Type *)(uintptr_t)t));
  void *attrs = relay_attrs("reshape_like", 2, "lhs_end", tn_any_obj(tir_i32(1)), "rhs_end",
                            tn_any_obj(tir_i32((int32_t)ndim - 1)));
  void *e = attrs ? relay_call("reshape_like", attrs, 2, rows, shape) : NULL;
  return call_of(kernel(tn_arr_of(2, rows, shape), e), tn_arr_of(2, y, like));
}

static tn_obj *along_last(void *ctx, tn_obj *pre, tn_obj *post) {
  const tn_RelayCall *c = (const tn_RelayCall *)post;
  (void)ctx, (void)pre;
  if (!has_axis(c)) return post;
  void *attrs = relay_attrs_with(c->attrs, "axis", tn_any_int(-1));
  return attrs ? (tn_obj *)relay_call_new(c->op, c->args, attrs) : NULL;
}

/* The kernel with rows along one axis. */
static tn_RelayFunction *of_rows(const search *s) {
  static const tn_rewrite_case cases[] = {TN_REWRITE(RelayCall, along_last)};
  const tn_TensorType *t = TN_AS(TensorType, relay_type_of(s->rows));
  tn_RelayVar *rows;
  tn_TensorType *flat;
  tn_RelayFunction *r;
  void *body;
  TN_PMAP(values);
  TN_VEC(params);
  TN_GETP(flat, relay_tensor_type(tn_arr_of(2, relay_any(), relay_dim(t, -1)), t->dtype));
  TN_GETP(rows, relay_var(tn_cstr(s->rows->vid->name_hint), (tn_Type *)flat));
  TN_TRYP(tn_pmap_put(&values, s->rows->vid, rows));
  for (int64_t i = 0; i < s->f->params->len; ++i) {
    tn_RelayVar *v = (tn_RelayVar *)tn_arr_obj(s->f->params, i);
    TN_TRYP(tn_vec_push_obj(&params, v == s->rows ? rows : v));
  }
  TN_GETP(body, tn_rewrite(s->f->body, cases, TN_COUNT(cases), NULL));
  TN_GETP(body, relay_substitute(body, &values));
  TN_GETP(r, relay_function(tn_arr_from(&params), body, NULL, s->f->attrs));
  return relay_infer_expr(r, NULL);
}

/* ---- the pass ---- */

/* The rows, of two axes, that a value has been unfolded from; NULL: it has not. */
static void *rows_behind(const void *x) {
  const tn_RelayCall *c = TN_AS(RelayCall, x);
  const tn_RelayFunction *f = c ? TN_AS(RelayFunction, c->op) : NULL;
  const tn_RelayCall *body = f ? relay_as_call(f->body, "reshape_like") : NULL;
  bool leading = body && relay_known_type(relay_arg(body, 0))->shape->len == 2 &&
                 relay_attr_int(body->attrs, "lhs_begin", 0) == 0 &&
                 relay_attr_int(body->attrs, "rhs_begin", 0) == 0 &&
                 relay_attr_int(body->attrs, "lhs_end", 0) == 1 &&
                 relay_attr_int(body->attrs, "rhs_end", 0) ==
                     relay_known_type(relay_arg(body, 1))->shape->len - 1;
  return leading && relay_arg(body, 0) == tn_arr_obj(f->params, 0) ? relay_arg(c, 0) : NULL;
}

static void *with_rows(search *s, const tn_RelayCall *c) {
  const tn_TensorType *t = TN_AS(TensorType, relay_type_of(s->rows));
  TN_VEC(args);
  void *like = NULL, *y;
  for (int64_t i = 0; i < c->args->len; ++i) {
    void *arg = relay_arg(c, i);
    if (tn_arr_obj(s->f->params, i) == (const tn_obj *)s->rows) {
      like = arg;
      arg = rows_behind(like);
      if (!arg) TN_GETP(arg, folded(like, t));
    }
    TN_TRYP(tn_vec_push_obj(&args, arg));
  }
  TN_GETP(y, call_of(of_rows(s), tn_arr_from(&args)));
  return unfolded(y, like, t, s->ndim);
}

static tn_obj *fold(void *ctx, tn_obj *pre, tn_obj *post) {
  const tn_RelayCall *c = (const tn_RelayCall *)post;
  const tn_RelayFunction *f = TN_AS(RelayFunction, c->op);
  search s = {.f = f};
  (void)ctx;
  if (!f || !relay_is_kernel(f) || c->args->len != f->params->len) return post;
  int found = match(&s);
  void *e = found > 0 ? with_rows(&s, c) : NULL;
  tn_pmap_fini(&s.kinds);
  if (found < 0 || (found > 0 && !e)) return NULL;
  return e ? relay_stands_for(e, pre) : post;
}

static bool enters(void *ctx, const tn_obj *o) {
  const tn_RelayFunction *f = TN_AS(RelayFunction, o);
  (void)ctx;
  return !f || !ir_attrs_flag(f->attrs, "Primitive");
}

static const tn_rewrite_case cases[] = {TN_REWRITE(RelayCall, fold)};

tn_RelayFunction *relay_fold_rows(tn_RelayFunction *f, const tn_pass_ctx *c) {
  TN_GETP(f, relay_infer_expr(f, c->mod));
  return tn_rewrite_if(f, enters, cases, TN_COUNT(cases), NULL);
}
