/* FoldBatchMatmul: the operands of a batch_matmul are read where they lie, and its result is
   written where it is wanted, instead of being moved there before and after. What attention makes
   of heads:

     %1 = reshape(transpose(%q, axes=[0, 2, 1, 3]), newshape=[-1, 128, 64]);   %q: (1, 128, 12, 64)
     %2 = reshape(transpose(%k, axes=[0, 2, 3, 1]), newshape=[-1, 64, 128]);
     reshape(nn.batch_matmul(%1, %2, transpose_b=False), newshape=[1, 12, 128, 128])
   =>
     einsum((%q, %k), equation="bmhk,bnhk->bhmn")

   Two leading axes b, h that a reshape makes one are taken apart again; a transpose of the result
   changes the order of the letters behind the arrow, also where no operand was moved. */
#include "base/error.h"
#include "base/scope.h"
#include "object/functions.h"
#include "relay/infer.h"
#include "relay/expr/call_builder.h"
#include "relay/expr/expr_info.h"
#include "relay/expr/replace.h"
#include "relay/transforms/transforms.h"

enum { NDIM = 4 };

/* A tensor of four axes and the letters of these. */
typedef struct {
  void *e;
  char letters[NDIM + 1];
  bool moved;      /* it was transposed */
  int64_t dims[2]; /* extents of b and h; 0: not known from here */
} view;

static const tn_arr *static_shape(const void *e, int64_t ndim) {
  const tn_TensorType *t = relay_known_type(e);
  return t && t->shape->len == ndim && relay_is_static((const tn_Type *)t) ? t->shape : NULL;
}

/* What operand `e`, of axes (b h), then those of `matrix`, is made of. */
static bool view_of(void *e, const char *matrix, view *v) {
  const tn_RelayCall *merged = relay_as_call(e, "reshape");
  const tn_arr *to = static_shape(e, NDIM - 1);
  void *split = merged ? relay_arg(merged, 0) : NULL;
  const tn_arr *from = split ? static_shape(split, NDIM) : NULL;
  char letters[NDIM + 1] = {'b', 'h', matrix[0], matrix[1], 0};
  *v = (view){.e = e};
  if (!to) return false;
  memcpy(v->letters, letters, sizeof letters);
  if (!from || !relay_ints_same(from, 2, to, 1) || !relay_ints_same(from, 3, to, 2))
    return true; /* to be reshaped as the other operand says */
  v->e = split;
  for (int i = 0; i < 2; ++i)
    if (!relay_known_int(from, i, &v->dims[i])) return false;
  const tn_RelayCall *c = relay_as_call(split, "transpose");
  const tn_arr *axes = c ? relay_attr_obj(c->attrs, "axes") : NULL;
  if (!axes || axes->len != NDIM) return true;
  for (int i = 0; i < NDIM; ++i) {
    int64_t axis = relay_listed(axes, i);
    v->letters[axis < 0 ? axis + NDIM : axis] = letters[i];
  }
  v->e = relay_arg(c, 0);
  v->moved = true;
  return v->letters[NDIM - 1] != 'b' && v->letters[NDIM - 1] != 'h';
}

/* The operand with b and h apart. */
static void *apart(const view *v, const int64_t *dims) {
  if (v->dims[0]) return v->e;
  const tn_arr *shape = static_shape(v->e, NDIM - 1);
  int64_t four[NDIM] = {dims[0], dims[1]};
  if (!relay_known_int(shape, 1, &four[2]) || !relay_known_int(shape, 2, &four[3])) return NULL;
  return relay_reshape(v->e, relay_ints(four, NDIM));
}

static void *einsum(void *operands, const char *a, const char *b, const char *out) {
  tn_str *equation = tn_str_fmt("%s,%s->%s", a, b, out);
  void *attrs = equation ? relay_attrs("einsum", 1, "equation", tn_any_obj(equation)) : NULL;
  return attrs ? relay_call("einsum", attrs, 1, operands) : NULL;
}

/* The product as a sum over four axes; NULL when it cannot be one, or nothing is gained by it.
   @param given extents of b and h; NULL: those of operands that were moved */
static void *product_sum(const tn_RelayCall *c, const int64_t *given) {
  view a, b;
  const tn_TensorType *out = relay_known_type(c), *in = relay_known_type(relay_arg(c, 0));
  bool ta = relay_attr_int(c->attrs, "transpose_a", 0) != 0,
       tb = relay_attr_int(c->attrs, "transpose_b", 1) != 0;
  if (!out || !in || !tn_dtype_eq(out->dtype, in->dtype) ||
      !relay_is_static((const tn_Type *)out) || !view_of(relay_arg(c, 0), ta ? "km" : "mk", &a) ||
      !view_of(relay_arg(c, 1), tb ? "nk" : "kn", &b) || !(given || a.moved || b.moved))
    return NULL;
  const int64_t *dims = given ? given : a.dims[0] ? a.dims : b.dims;
  const view *both[] = {&a, &b};
  bool same = true;
  for (int i = 0; i < 2; ++i) { /* neither is repeated for the other */
    const int64_t *own = both[i]->dims;
    same = same && (!own[0] || (own[0] == dims[0] && own[1] == dims[1])) &&
           relay_int_is(relay_known_type(relay_arg(c, i))->shape, 0, dims[0] * dims[1]);
  }
  if (!same) return NULL;
  void *x = apart(&a, dims), *y = apart(&b, dims);
  return x && y ? einsum(relay_tuple(tn_arr_of(2, x, y)), a.letters, b.letters, "bhmn") : NULL;
}

static relay_expr *product(const tn_RelayCall *c) {
  void *e = product_sum(c, NULL);
  return e ? relay_reshape(e, relay_known_type(c)->shape) : NULL;
}

/* ---- behind the product ---- */

static const tn_RelayCall *as_product(const void *e) {
  const tn_RelayCall *c = relay_as_call(e, "einsum");
  const char *equation = c ? relay_attr_str(c->attrs, "equation") : "";
  return strlen(equation) == 3 * NDIM + 3 && strcmp(equation + 2 * NDIM + 1, "->bhmn") == 0 ? c
                                                                                            : NULL;
}

/* reshape back to the shape of the sum: the sum itself */
static relay_expr *reshaped_back(const tn_RelayCall *c) {
  const tn_RelayCall *inner = relay_as_call(relay_arg(c, 0), "reshape");
  const tn_RelayCall *sum = inner ? as_product(relay_arg(inner, 0)) : NULL;
  return sum && relay_same_type(sum, c) ? relay_arg(inner, 0) : NULL;
}

/* The sum whose letters a transpose orders, or one made of a product that a reshape takes apart. */
static const tn_RelayCall *sum_behind(const void *e) {
  const tn_RelayCall *split = relay_as_call(e, "reshape"),
                     *c = split ? relay_as_call(relay_arg(split, 0), "nn.batch_matmul") : NULL;
  const tn_arr *to = c ? static_shape(e, NDIM) : NULL, *from = c ? static_shape(c, NDIM - 1) : NULL;
  int64_t dims[2];
  if (!to || !from || !relay_ints_same(from, 1, to, 2) || !relay_ints_same(from, 2, to, 3) ||
      !relay_known_int(to, 0, &dims[0]) || !relay_known_int(to, 1, &dims[1]))
    return as_product(e);
  return product_sum(c, dims);
}

/* transpose of the sum: another order of its letters; columns must stay the last. */
static relay_expr *reordered(const tn_RelayCall *c) {
  const tn_RelayCall *sum = sum_behind(relay_arg(c, 0));
  const tn_arr *axes = relay_attr_obj(c->attrs, "axes");
  char a[NDIM + 1] = {0}, b[NDIM + 1] = {0}, out[NDIM + 1] = {0};
  if (!sum || !axes || axes->len != NDIM) return NULL;
  const char *equation = relay_attr_str(sum->attrs, "equation");
  memcpy(a, equation, NDIM);
  memcpy(b, equation + NDIM + 1, NDIM);
  for (int i = 0; i < NDIM; ++i) {
    int64_t axis = relay_listed(axes, i);
    out[i] = "bhmn"[axis < 0 ? axis + NDIM : axis];
  }
  return out[NDIM - 1] == 'n' ? einsum(relay_arg(sum, 0), a, b, out) : NULL;
}

/* Does nobody but `c` read its argument, nor what that only reshapes? */
static bool is_only_reader(const tn_pmap *readers, const tn_RelayCall *c) {
  const void *e = relay_arg(c, 0);
  const tn_RelayCall *inner;
  while (tn_pmap_get_int(readers, e, 0) <= 1) {
    if (!(inner = relay_as_call(e, "reshape"))) return true;
    e = relay_arg(inner, 0);
  }
  return false;
}

/* ctx: numbers of readers */
static tn_obj *fold(void *ctx, tn_obj *pre, tn_obj *post) {
  const tn_RelayCall *c = (const tn_RelayCall *)post;
  relay_expr *e = NULL;
  if (!relay_stands_for(post, pre)) return NULL;
  if (relay_as_call(c, "nn.batch_matmul")) e = product(c);
  else if (relay_as_call(c, "reshape")) e = reshaped_back(c);
  else if (relay_as_call(c, "transpose") && is_only_reader(ctx, (const tn_RelayCall *)pre))
    e = reordered(c);
  return relay_replaced("FoldBatchMatmul", e, post, pre);
}

static const tn_rewrite_case cases[] = {TN_REWRITE(RelayCall, fold)};

tn_RelayFunction *relay_fold_batch_matmul(tn_RelayFunction *f, const tn_pass_ctx *c) {
  TN_PMAP(readers);
  TN_GETP(f, relay_infer_expr(f, c->mod));
  TN_TRYP(relay_count_readers(f, &readers));
  return tn_rewrite(f, cases, TN_COUNT(cases), &readers);
}
