/* SplitArgs(max_function_args, max_open_args): a concatenate, stack or split of more tensors than a
   kernel may have becomes several, which are not fused again.

     concatenate((%a, %b, %c), axis=1)           at most 2
   =>
     %0 = annotation.stop_fusion(concatenate((%a, %b), axis=1));
     annotation.stop_fusion(concatenate((%0, %c), axis=1))

     split(%x, indices_or_sections=4)            of Tensor[(4), float32], at most 2
   =>
     %0 = split(%x, indices_or_sections=[2]);
     %1 = split(annotation.stop_fusion(%0.0), indices_or_sections=[1]);
     %2 = split(annotation.stop_fusion(%0.1), indices_or_sections=[1]);
     (%1.0, %1.1, %2.0, %2.1)

   Parts of equal extents are computed by one kernel, so that the time of a build hardly depends on
   their number. */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/scope.h"
#include "relay/infer.h"
#include "relay/expr/call_builder.h"
#include "relay/expr/replace.h"
#include "relay/transforms/transforms.h"

/* The most tensors of a kernel: of extents that are known, and of others, where each place is
   looked for among sums of all before it. */
typedef struct {
  int64_t known, open;
} most_args;

static void *stop(void *e) { return e ? relay_call("annotation.stop_fusion", NULL, 1, e) : NULL; }

/* ---- several into one ---- */

static void *joined_by(const char *op, tn_arr *parts, int64_t axis) {
  void *attrs = relay_attrs(op, 1, "axis", tn_any_int(axis));
  return parts ? relay_call(op, attrs, 1, relay_tuple(parts)) : NULL;
}

/* `n` of the parts at a time. A part by itself stays what it is, unless it has to be stacked. */
static tn_arr *join(const char *op, const tn_arr *parts, int64_t n, int64_t axis) {
  bool stacks = strcmp(op, "stack") == 0;
  TN_VEC(joined);
  for (int64_t i = 0; i < parts->len; i += n) {
    TN_VEC(some);
    for (int64_t k = i; k < parts->len && k < i + n; ++k)
      TN_TRYP(tn_vec_push(&some, parts->items[k]));
    void *one = some.len == 1 && !stacks ? some.items[0].v.obj
                                         : stop(joined_by(op, tn_arr_from(&some), axis));
    TN_TRYP(tn_vec_push_obj(&joined, one));
  }
  return tn_arr_from(&joined);
}

/* Are the extents along the axis known, of one part or of each of a tuple? */
static bool is_known(const void *e, int64_t axis) {
  const tn_TupleType *all = TN_AS(TupleType, relay_type_of(e));
  const tn_TensorType *t = TN_AS(TensorType, relay_type_of(e));
  int64_t n;
  for (int64_t i = 0; all && i < all->fields->len; ++i) {
    t = TN_AS(TensorType, tn_arr_obj(all->fields, i));
    int64_t at = t && axis < 0 ? axis + t->shape->len : axis;
    if (!t || at < 0 || at >= t->shape->len || !tir_as_int(tn_arr_obj(t->shape, at), &n))
      return false;
  }
  int64_t at = t && axis < 0 ? axis + t->shape->len : axis;
  return all || !t || (at >= 0 && at < t->shape->len && tir_as_int(tn_arr_obj(t->shape, at), &n));
}

static tn_obj *in_groups(const most_args *limit, const char *op, tn_obj *pre, tn_obj *post) {
  const tn_RelayCall *c = (const tn_RelayCall *)post;
  const tn_RelayTuple *t = TN_AS(RelayTuple, relay_arg(c, 0));
  int64_t axis = relay_attr_int(c->attrs, "axis", 0);
  bool known = strcmp(op, "stack") == 0 || is_known(relay_arg((const tn_RelayCall *)pre, 0), axis);
  int64_t most = known ? limit->known : limit->open;
  if (!t || t->fields->len <= most) return post;
  const tn_arr *parts = t->fields;
  while (parts->len > most) {
    TN_GETP(parts, join(op, parts, most, axis));
    op = "concatenate"; /* what is stacked has the new axis already */
  }
  tn_arr *rest;
  TN_GETP(rest, tn_scope_own(tn_arr_new(parts->items, parts->len)));
  return relay_replaced("SplitArgs", stop(relay_concatenate(rest, axis)), post, pre);
}

/* ---- one into several ---- */

typedef struct {
  int64_t axis, most;
  const int64_t *begin; /* of each part */
  tn_vec *out;
} cut;

/* Parts `from` to `to`, `size` of them together. */
static void *split_at(const cut *c, void *data, int64_t from, int64_t to, int64_t size) {
  TN_VEC(at);
  for (int64_t i = from + size; i < to; i += size)
    TN_TRYP(tn_vec_push_obj(&at, tir_i32((int32_t)(c->begin[i] - c->begin[from]))));
  tn_arr *list = tn_arr_from(&at);
  void *attrs = list ? relay_attrs("split", 2, "indices_or_sections", tn_any_obj(list), "axis",
                                   tn_any_int(c->axis))
                     : NULL;
  return attrs ? relay_call("split", attrs, 1, data) : NULL;
}

/* Its depth is the logarithm of the number of parts. */
static int cut_into(const cut *c, void *data, int64_t from, int64_t to) {
  int64_t size = 1, k = 0;
  void *all;
  while ((to - from + size - 1) / size > c->most) size *= c->most;
  if (to - from == 1) return tn_vec_push_obj(c->out, data);
  TN_GET(all, split_at(c, data, from, to, size));
  for (int64_t i = from; i < to; i += size, ++k) {
    void *part = relay_get_item(all, k);
    if (size == 1) TN_TRY(tn_vec_push_obj(c->out, part));
    else TN_TRY(cut_into(c, stop(part), i, i + size < to ? i + size : to));
  }
  return 0;
}

/* Where each part begins; false where extents are dynamic. */
static int begins(const tn_TupleType *parts, int64_t axis, int64_t *begin, bool *known) {
  int64_t at = 0, n;
  for (int64_t i = 0; i < parts->fields->len; ++i) {
    const tn_TensorType *t = (const tn_TensorType *)tn_arr_obj(parts->fields, i);
    *known =
        axis < t->shape->len && tir_as_int(tn_arr_obj(t->shape, axis), &n) && at <= INT32_MAX - n;
    if (!*known) return 0;
    begin[i] = at;
    at += n;
  }
  return 0;
}

static tn_obj *in_steps(const most_args *limit, tn_obj *pre, tn_obj *post) {
  const tn_TupleType *parts = TN_AS(TupleType, relay_type_of(pre));
  const tn_RelayCall *c = (const tn_RelayCall *)post;
  int64_t axis = relay_attr_int(c->attrs, "axis", 0), n = parts ? parts->fields->len : 0;
  bool known = false;
  TN_VEC(out);
  if (n <= limit->known) return post;
  if (axis < 0) axis += ((const tn_TensorType *)tn_arr_obj(parts->fields, 0))->shape->len;
  int64_t *begin = tn_alloc_array(n, sizeof *begin);
  cut how = {axis, limit->known, begin, &out};
  int r = begin ? begins(parts, axis, begin, &known) : -1;
  if (r == 0 && known) r = cut_into(&how, relay_arg(c, 0), 0, n);
  tn_free(begin);
  if (r || !known) return r ? NULL : post;
  return relay_replaced("SplitArgs", relay_tuple(tn_arr_from(&out)), post, pre);
}

static tn_obj *split(void *ctx, tn_obj *pre, tn_obj *post) {
  const most_args *limit = ctx;
  if (relay_as_call(post, "concatenate")) return in_groups(limit, "concatenate", pre, post);
  if (relay_as_call(post, "stack")) return in_groups(limit, "stack", pre, post);
  return relay_as_call(post, "split") ? in_steps(limit, pre, post) : post;
}

/* A field of what was a split. */
static tn_obj *field(void *ctx, tn_obj *pre, tn_obj *post) {
  (void)ctx;
  const tn_TupleGetItem *was = (const tn_TupleGetItem *)pre, *now = (const tn_TupleGetItem *)post;
  const tn_RelayTuple *t = TN_AS(RelayTuple, now->tuple_value);
  return t && relay_as_call(was->tuple_value, "split")
             ? relay_replaced("SplitArgs", tn_arr_obj(t->fields, now->index), post, pre)
             : post;
}

/* arguments: most tensors of a kernel; below 2: any number; the same where extents are dynamic */
tn_RelayFunction *relay_split_args(tn_RelayFunction *f, const tn_pass_ctx *c) {
  static const tn_rewrite_case cases[] = {TN_REWRITE(RelayCall, split),
                                          TN_REWRITE(TupleGetItem, field)};
  most_args most = {-1, -1};
  if (c->nargs > 0) TN_TRYP(tn_any_to_int(&c->args[0], &most.known));
  most.open = most.known;
  if (c->nargs > 1) TN_TRYP(tn_any_to_int(&c->args[1], &most.open));
  if (most.known < 2 || most.open < 2) return f;
  TN_GETP(f, relay_infer_expr(f, c->mod));
  return tn_rewrite(f, cases, TN_COUNT(cases), &most);
}
