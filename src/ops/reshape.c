/* The same elements under another shape.

     reshape(%x, newshape=[2, -1])    Tensor[(4, 3), float32] -> Tensor[(2, 6), float32]

   Numbers in newshape: an extent; 0 the extent of the input there (a real 0 with allowzero); -1
   what is left (once); -2 all axes of the input that are left; -3 the product of the next two; -4
   the next axis split into the two numbers that follow, of which one may be -1.
   contrib_reverse_reshape reads both from the end.

     reshape_like(%x, %y, lhs_begin=1, rhs_begin=1)    axes of x from one on become those of y */
#include "ir/imm.h"
#include "ops/ops.h"

#define TN_FIELDS_ReshapeAttrs(F, S)                                                               \
  F(S, REF, Array, newshape, 0, "extents, or codes from 0 to -4")                                  \
  F(S, BOOL, , allowzero, 0, "0 is an extent, not a code", "False")
#define TN_FIELDS_ReshapeLikeAttrs(F, S)                                                           \
  F(S, I64, , lhs_begin, 0, "first axis of data that goes", "0")                                   \
  F(S, REF, PrimExpr, lhs_end, TN_OPT, "axis after the last one that goes; None: the end", "None") \
  F(S, I64, , rhs_begin, 0, "first axis of the other tensor that is taken", "0")                   \
  F(S, REF, PrimExpr, rhs_end, TN_OPT, "axis after the last one that is taken", "None")
#define RESHAPE_ATTRS(N)                                                                           \
  N(ReshapeAttrs, Attrs, "relay.attrs.ReshapeAttrs", NODE, TREE, tn_no_hooks,                      \
    "attributes of reshape")                                                                       \
  N(ReshapeLikeAttrs, Attrs, "relay.attrs.ReshapeLikeAttrs", NODE, TREE, tn_no_hooks,              \
    "attributes of reshape_like")
TN_NODES_LOCAL(RESHAPE_ATTRS)

enum { MAX_NDIM = 32, COPY = 0, INFER = -1, REST = -2, MERGE = -3, SPLIT = -4 };

/* The walk over newshape. */
typedef struct {
  const tn_ReshapeAttrs *attrs;
  const tn_arr *in;
  tn_expr *out[MAX_NDIM];
  bool in_used[MAX_NDIM], out_used[MAX_NDIM]; /* copied: both sides cancel */
  int64_t nin, nout, infer;                   /* infer: place of -1, or -1 */
} reshaping;

static int bad(const char *what) { return TN_RAISE(ValueError, NULL, "reshape: %s", what); }

static int put(reshaping *s, tn_expr *e, bool used) {
  if (!e) return -1;
  if (s->nout == MAX_NDIM) return bad("too many dimensions");
  s->out_used[s->nout] = used;
  s->out[s->nout++] = e;
  return 0;
}

/* The next axis of the input, which goes into one of the result. */
static tn_expr *take(reshaping *s) {
  if (s->nin >= s->in->len) return bad("newshape refers to more axes than data has"), NULL;
  s->in_used[s->nin] = true;
  return (tn_expr *)tn_arr_obj(s->in, s->nin++);
}

/* -4, a, b. @param i place of -4 */
static int split(reshaping *s, int64_t i) {
  const tn_arr *codes = s->attrs->newshape;
  if (i + 2 >= codes->len) return bad("-4 must be followed by two numbers");
  int64_t a, b;
  tn_expr *e;
  if (!relay_known_int(codes, i + 1, &a) || !relay_known_int(codes, i + 2, &b))
    return bad("the numbers after -4 must be constant");
  TN_GET(e, take(s));
  if (a == INFER && b == INFER) return bad("only one of the numbers after -4 can be -1");
  TN_TRY(put(s, a == INFER ? relay_dim_over(e, b) : relay_dim_int(a), true));
  return put(s, b == INFER ? relay_dim_over(e, a) : relay_dim_int(b), true);
}

/* One code; *i is moved past it. */
static int code(reshaping *s, int64_t *i) {
  const tn_obj *given = tn_arr_obj(s->attrs->newshape, *i);
  int64_t at = (*i)++, c;
  if (!tir_as_int(given, &c)) { /* an expression: an extent */
    s->nin++;
    return put(s, (tn_expr *)(uintptr_t)given, false);
  }
  tn_expr *e, *f;
  if (c > 0 || (c == COPY && s->attrs->allowzero)) {
    s->nin++;
    return put(s, (tn_expr *)(uintptr_t)given, false);
  }
  switch (c) {
  case COPY: return put(s, take(s), true);
  case INFER:
    if (s->infer >= 0) return bad("only one number of newshape can be -1");
    s->infer = s->nout;
    s->nin++;
    return put(s, tir_i32(1), true);
  case REST:
    while (s->nin < s->in->len) TN_TRY(put(s, take(s), true));
    return 0;
  case MERGE:
    TN_GET(e, take(s));
    TN_GET(f, take(s));
    return put(s, relay_dim_mul(e, f), true);
  case SPLIT: *i += 2; return split(s, at);
  default: return bad("numbers of newshape cannot be below -4");
  }
}

/* Product of the extents that were not copied; Any when one of them is. */
static tn_expr *product(tn_expr *const *dims, const bool *used, int64_t n) {
  tn_expr *p = tir_i32(1);
  for (int64_t i = 0; i < n && p; ++i) {
    if (!used[i]) p = relay_dim_mul(p, dims[i]);
  }
  return p;
}

/* The number of elements must stay. */
static int check_count(const reshaping *s) {
  const bool none[MAX_NDIM] = {false};
  tn_expr *dims[MAX_NDIM];
  for (int64_t i = 0; i < s->in->len; ++i) dims[i] = (tn_expr *)tn_arr_obj(s->in, i);
  tn_expr *a = product(dims, none, s->in->len), *b = product(s->out, none, s->nout);
  if (!a || !b) return -1;
  if (relay_dim_equal(a, b) != 0) return 0;
  int64_t has = -1, wanted = -1; /* only numbers are known to differ */
  if (!tir_as_int((tn_obj *)a, &has) || !tir_as_int((tn_obj *)b, &wanted)) has = wanted = -1;
  return TN_RAISE(
      TenonError, NULL,
      "reshape: Input tensor shape and reshaped shape are not compatible: %lld elements "
      "cannot become %lld",
      (long long)has, (long long)wanted);
}

/* Extents of the result. NULL with ValueError. */
static tn_arr *new_shape(const tn_ReshapeAttrs *attrs, const tn_arr *in) {
  reshaping s = {.attrs = attrs, .in = in, .infer = -1};
  tn_expr *dims[MAX_NDIM];
  if (in->len > MAX_NDIM) return bad("too many dimensions"), NULL;
  for (int64_t i = 0; i < in->len; ++i) dims[i] = (tn_expr *)tn_arr_obj(in, i);
  for (int64_t i = 0; i < attrs->newshape->len;) TN_TRYP(code(&s, &i));
  if (s.infer >= 0) {
    tn_expr *all = product(dims, s.in_used, in->len), *rest = product(s.out, s.out_used, s.nout);
    if (rest && relay_dim_is(rest, 0) == 1)
      return bad("-1 beside an extent of 0 is ambiguous"), NULL;
    TN_GETP(s.out[s.infer], relay_dim_binary(TN_TI_FloorDiv, all, rest));
  }
  TN_TRYP(check_count(&s));
  TN_VEC(out);
  for (int64_t i = 0; i < s.nout; ++i) TN_TRYP(tn_vec_push_obj(&out, s.out[i]));
  return tn_arr_from(&out);
}

static tn_arr *turned(const tn_arr *a) {
  TN_VEC(v);
  for (int64_t i = a->len; i-- > 0;) TN_TRYP(tn_vec_push(&v, a->items[i]));
  return tn_arr_from(&v);
}

/* The same with everything read from the end. */
static tn_arr *reverse_shape(const tn_ReshapeAttrs *attrs, const tn_arr *in) {
  tn_ReshapeAttrs back = *attrs;
  tn_arr *out;
  TN_GETP(back.newshape, turned(attrs->newshape));
  TN_GETP(in, turned(in));
  TN_GETP(out, new_shape(&back, in));
  return turned(out);
}

static tn_arr *shape_of(const relay_op_row *row, const void *attrs, const tn_arr *in) {
  return row->which ? reverse_shape(attrs, in) : new_shape(attrs, in);
}

static int relation(relay_rel *r) {
  RELAY_TENSOR(data, r, 0);
  tn_arr *shape = shape_of(relay_op_row_of((const tn_obj *)r->op), r->attrs, data->shape);
  return relay_rel_result(r, relay_tensor_type(shape, data->dtype));
}

/* An end that may be absent or count from the end. */
static int64_t end_of(const tn_expr *e, int64_t ndim) {
  int64_t v;
  if (!e || !tir_as_int((const tn_obj *)e, &v)) return ndim;
  return v < 0 ? v + ndim : v;
}

/* The axes of data around those that go, and between them axes of another shape. ValueError. */
static tn_arr *like_shape(const tn_ReshapeLikeAttrs *a, const tn_arr *in, const tn_arr *like) {
  int64_t n = in->len, m = like->len, from = a->lhs_begin, first = a->rhs_begin;
  int64_t to = end_of(a->lhs_end, n), last = end_of(a->rhs_end, m);
  TN_VEC(out);
  if (from < 0) from += n;
  if (first < 0) first += m;
  if (from < 0 || from > to || to > n || first < 0 || first > last || last > m)
    return bad("begins and ends do not fit the axes"), NULL;
  for (int64_t i = 0; i < from; ++i) TN_TRYP(tn_vec_push(&out, in->items[i]));
  for (int64_t i = first; i < last; ++i) TN_TRYP(tn_vec_push(&out, like->items[i]));
  for (int64_t i = to; i < n; ++i) TN_TRYP(tn_vec_push(&out, in->items[i]));
  return tn_arr_from(&out);
}

static int like_relation(relay_rel *r) {
  RELAY_TENSOR(data, r, 0);
  RELAY_TENSOR(like, r, 1);
  reshaping s = {.in = data->shape};
  tn_arr *shape;
  RELAY_CHECK(r, data->shape->len <= MAX_NDIM, "too many dimensions");
  TN_GET(shape, like_shape(r->attrs, data->shape, like->shape));
  for (int64_t i = 0; i < shape->len; ++i) TN_TRY(put(&s, (tn_expr *)tn_arr_obj(shape, i), false));
  TN_TRY(check_count(&s));
  return relay_rel_result(r, relay_tensor_type(shape, data->dtype));
}

/* ---- compute ---- */

typedef struct {
  const tn_Tensor *data;
  const tn_arr *shape;
} reshaped;

/* The place in row-major order, and from it the indices of data. */
static tn_expr *element(void *ctx, tn_arr *at) {
  const reshaped *s = ctx;
  const tn_arr *in = s->data->shape;
  tn_expr *place = tir_zero(TN_I32), *index[MAX_NDIM];
  for (int64_t i = 0; i < at->len; ++i)
    place = tir_add(tir_mul(place, (tn_expr *)tn_arr_obj(s->shape, i)), te_index(at, i));
  for (int64_t i = in->len; i-- > 0;) {
    tn_expr *extent = (tn_expr *)tn_arr_obj(in, i);
    index[i] = i ? tir_floormod(place, extent) : place;
    place = i ? tir_floordiv(place, extent) : place;
  }
  TN_VEC(v);
  for (int64_t i = 0; i < in->len; ++i) TN_TRYP(tn_vec_push_obj(&v, index[i]));
  return te_at(s->data, tn_arr_from(&v));
}

/* Nothing can be divided by an extent of 0, and there is nothing to compute. */
static tn_expr *nothing(void *ctx, tn_arr *at) {
  (void)at;
  return tir_zero(((const reshaped *)ctx)->data->dtype);
}

static bool is_empty(const tn_arr *shape) {
  for (int64_t i = 0; i < shape->len; ++i) {
    if (relay_dim_is((tn_expr *)tn_arr_obj(shape, i), 0) == 1) return true;
  }
  return false;
}

static tn_arr *compute_as(const tn_Tensor *data, const tn_arr *shape) {
  reshaped s = {data, shape};
  if (!s.shape) return NULL;
  return tn_arr_of(1, te_compute((tn_arr *)(uintptr_t)s.shape,
                                 is_empty(data->shape) ? nothing : element, &s, "T_reshape",
                                 TE_INJECTIVE));
}

static tn_arr *compute(const relay_compute *c) {
  const tn_Tensor *data = relay_input(c, 0);
  return compute_as(data, shape_of(c->row, c->attrs, data->shape));
}

static tn_arr *compute_like(const relay_compute *c) {
  const tn_Tensor *data = relay_input(c, 0);
  return compute_as(data, like_shape(c->attrs, data->shape, relay_input(c, 1)->shape));
}

static tn_arr *shape_function(const relay_shape_query *q) {
  return tn_arr_of(1, shape_of(q->row, q->attrs, relay_shape_of(q, 0)));
}

static tn_arr *like_shape_function(const relay_shape_query *q) {
  return tn_arr_of(1, like_shape(q->attrs, relay_shape_of(q, 0), relay_shape_of(q, 1)));
}

static const relay_op_row rows[] = {
    {.name = "reshape",
     .inputs = "data",
     .attrs = &tn_type_ReshapeAttrs,
     .level = 3,
     .pattern = RELAY_INJECTIVE,
     .rel_name = "Reshape",
     .rel = relation,
     .compute = compute,
     .shape = shape_function,
     .grads = "(reshape_like(%d, %a),)",
     .doc = "the elements, in their order, under another shape",
     .precision = RELAY_FOLLOWS,
     .values = RELAY_RESHAPED},
    {.name = "contrib_reverse_reshape",
     .inputs = "data",
     .attrs = &tn_type_ReshapeAttrs,
     .level = 10,
     .pattern = RELAY_INJECTIVE,
     .rel_name = "ReverseReshape",
     .rel = relation,
     .compute = compute,
     .shape = shape_function,
     .which = 1,
     .grads = "(reshape_like(%d, %a),)",
     .doc = "reshape with its codes read from the end",
     .values = RELAY_RESHAPED},
    {.name = "reshape_like",
     .inputs = "data shape_like",
     .attrs = &tn_type_ReshapeLikeAttrs,
     .level = 3,
     .pattern = RELAY_INJECTIVE,
     .rel_name = "ReshapeLike",
     .rel = like_relation,
     .compute = compute_like,
     .shape = like_shape_function,
     .grads = "(reshape_like(%d, %a), ())",
     .doc = "the elements under the shape of another tensor, or of some of its axes",
     .values = RELAY_RESHAPED},
};

RELAY_FAMILY(reshape, RESHAPE_ATTRS)
