/* CombineParallelConv2D, CombineParallelDense, CombineParallelBatchMatmul, CombineAttentionDense:
   layers that read the same data become one layer with all their weights.

     (nn.relu(nn.conv2d(%x, %w1, channels=4)), nn.relu(nn.conv2d(%x, %w2, channels=8)))
   =>
     %0 = nn.relu(nn.conv2d(%x, concatenate((%w1, %w2)), channels=12));
     (strided_slice(%0, begin=[0, 0], end=[-1, 4]), strided_slice(%0, begin=[0, 4], end=[-1, 8]))

   What follows all of the layers alike, element by element, becomes one too. Dense layers become
   parts of a batch_matmul where that is asked for and all are of one size. Those that make query,
   key and value of an attention become one where kernels read their parts in place. */
#include "base/alloc.h"
#include "base/error.h"
#include "base/scope.h"
#include "ir/functor.h"
#include "ir/imm.h"
#include "relay/infer.h"
#include "relay/transforms/make.h"
#include "relay/transforms/transforms.h"
#include "tenon/object.h"

enum { MAX_FOLLOWERS = 8 };

/* An operator with weights that can be put beside one another. */
typedef struct {
  const char *op, *count; /* count: the attribute that says how many channels, "" none */
} layer_kind;

/* Calls that become one. */
typedef struct {
  tn_vec layers; /* the calls, in order of evaluation */
  int64_t weight_axis, out_axis;
  tn_vec steps[MAX_FOLLOWERS]; /* for each layer the call that follows */
  int position[MAX_FOLLOWERS]; /* which argument of it the layer's result is */
  int nsteps;
  int64_t combined; /* 1 + its number in `made`, 0: not made yet */
} branches;

typedef struct {
  const char *pass;
  layer_kind kind;
  bool to_batch;
  int64_t min_branches;
  const tn_pmap *only; /* the layers that are looked at; NULL: all */
  branches *items;
  int64_t len, cap;
  tn_pmap readers; /* expression -> number of readers */
  tn_pmap reader;  /* expression -> the last call that reads it */
  tn_pmap inner;   /* variables that are bound inside the function */
  tn_pmap by_data; /* data -> 1 + number of the last branches found for it */
  tn_pmap last;    /* last call of a branch -> 1 + number of its branches */
  tn_vec made;     /* combined results (kept alive by `keep`) */
  tn_map *keep;
} combining;

static void fini(combining *x) {
  for (int64_t i = 0; i < x->len; ++i) {
    tn_vec_fini(&x->items[i].layers);
    for (int k = 0; k < MAX_FOLLOWERS; ++k) tn_vec_fini(&x->items[i].steps[k]);
  }
  tn_free(x->items);
  tn_pmap_fini(&x->readers);
  tn_pmap_fini(&x->reader);
  tn_pmap_fini(&x->inner);
  tn_pmap_fini(&x->by_data);
  tn_pmap_fini(&x->last);
  tn_vec_fini(&x->made);
}

static const tn_RelayCall *call_at(const tn_vec *v, int64_t i) {
  return (const tn_RelayCall *)v->items[i].v.obj;
}

/* ---- which layers go together ---- */

static int64_t axis_in(const tn_RelayCall *c, const char *layout, char axis) {
  const char *text = relay_attr_str(c->attrs, layout), *at = strchr(text, axis);
  return at ? at - text : -1;
}

/* Where channels of the layer are in its weights and in its result; false: not one of the kind. */
static bool axes_of(const combining *x, const tn_RelayCall *c, int64_t *weight, int64_t *out) {
  const tn_TensorType *t = relay_tensor_type_of_expr(c);
  if (!relay_as_call(c, x->kind.op) || c->args->len != 2 || !t) return false;
  if (strcmp(x->kind.op, "nn.conv2d") == 0) {
    const char *layout = relay_attr_str(c->attrs, "out_layout");
    *weight = axis_in(c, "kernel_layout", 'O');
    *out = axis_in(c, *layout ? "out_layout" : "data_layout", 'C');
    return *weight >= 0 && *out >= 0 && t->shape->len == 4 &&
           relay_attr_int(c->attrs, "groups", 1) == 1;
  }
  if (x->to_batch && t->shape->len != 2) return false;
  *out = t->shape->len - 1;
  *weight = strcmp(x->kind.op, "nn.dense") == 0               ? 0
            : relay_attr_int(c->attrs, "transpose_b", 1) != 0 ? 1
                                                              : 2;
  return true;
}

/* Types that are the same but for one axis, all of them static. */
static bool same_but(const tn_TensorType *a, const tn_TensorType *b, int64_t axis) {
  if (!a || !b || a->shape->len != b->shape->len || !tn_dtype_eq(a->dtype, b->dtype)) return false;
  if (!relay_is_static((const tn_Type *)a) || !relay_is_static((const tn_Type *)b)) return false;
  for (int64_t i = 0; i < a->shape->len; ++i)
    if (i != axis && !relay_ints_same(a->shape, i, b->shape, i)) return false;
  return true;
}

static bool same_attrs(const combining *x, const tn_RelayCall *a, const tn_RelayCall *b) {
  const void *attrs = b->attrs;
  if (x->kind.count[0] && a->attrs && b->attrs) {
    tn_any count = tn_any_none();
    const tn_field *f = tn_type_field(((const tn_obj *)a->attrs)->type, x->kind.count);
    if (f) count = tn_field_get((const tn_obj *)a->attrs, f);
    attrs = relay_attrs_with(b->attrs, x->kind.count, count);
  }
  tn_error_clear();
  return attrs && a->attrs && tn_equal(a->attrs, attrs, 0) == 1;
}

static int is_fixed(void *ctx, tn_obj *node) {
  const combining *x = ctx;
  return relay_as_call(node, x->kind.op) != NULL || tn_pmap_has(&x->inner, node);
}

/* What is computed by no layer of the kind stays as it is: it may move to another branch, unless it
   reads a variable that may not be bound there yet. */
static bool is_independent(const combining *x, const relay_expr *e) {
  return tn_post_order(e, is_fixed, (void *)(uintptr_t)x) == 0;
}

static bool fit_together(const combining *x, const branches *b, const tn_RelayCall *c) {
  const tn_RelayCall *first = call_at(&b->layers, 0);
  int64_t weight, out;
  if (!axes_of(x, c, &weight, &out) || weight != b->weight_axis || out != b->out_axis) return false;
  int64_t free_axis = x->to_batch ? -1 : weight;
  return same_attrs(x, first, c) && relay_arg(first, 0) == relay_arg(c, 0) &&
         same_but(relay_tensor_type_of_expr(relay_arg(first, 1)),
                  relay_tensor_type_of_expr(relay_arg(c, 1)), free_axis);
}

static int new_branches(combining *x, const tn_RelayCall *c) {
  branches b = {0};
  if (!axes_of(x, c, &b.weight_axis, &b.out_axis)) return 0;
  if (!same_but(relay_tensor_type_of_expr(relay_arg(c, 1)),
                relay_tensor_type_of_expr(relay_arg(c, 1)), -1))
    return 0;
  TN_GROW(x->items, x->cap, x->len + 1, return -1);
  x->items[x->len++] = b;
  TN_TRY(tn_vec_push_obj(&x->items[x->len - 1].layers, c));
  return 0;
}

/* Layers of one data are looked at together: first come, first joined. */
static int add_layer(combining *x, const tn_RelayCall *c) {
  const void *data = relay_arg(c, 0);
  if (!is_independent(x, relay_arg(c, 1))) return 0;
  for (int64_t i = tn_pmap_get_int(&x->by_data, data, 0) - 1; i >= 0 && i < x->len; ++i)
    if (fit_together(x, &x->items[i], c)) return tn_vec_push_obj(&x->items[i].layers, c);
  TN_TRY(new_branches(x, c));
  return tn_pmap_has(&x->by_data, data) ? 0 : tn_pmap_put_int(&x->by_data, data, x->len);
}

/* Variables of lets, of functions inside of the function, of patterns. */
static int see_bound(void *ctx, tn_obj *node) {
  combining *x = ctx;
  const tn_RelayLet *let = TN_AS(RelayLet, node);
  const tn_RelayFunction *f = TN_AS(RelayFunction, node);
  const tn_PatternVar *var = TN_AS(PatternVar, node);
  if (let) TN_TRY(tn_pmap_put_int(&x->inner, let->var, 1));
  if (var) TN_TRY(tn_pmap_put_int(&x->inner, var->var, 1));
  for (int64_t i = 0; f && i < f->params->len; ++i)
    TN_TRY(tn_pmap_put_int(&x->inner, tn_arr_obj(f->params, i), 1));
  return 0;
}

static int visit(void *ctx, tn_obj *node) {
  combining *x = ctx;
  const tn_RelayCall *c = TN_AS(RelayCall, node);
  for (int64_t i = 0; c && i < c->args->len; ++i)
    TN_TRY(tn_pmap_put(&x->reader, relay_arg(c, i), c));
  if (!c || !relay_as_call(c, x->kind.op) || c->args->len != 2) return 0;
  return !x->only || tn_pmap_has(x->only, c) ? add_layer(x, c) : 0;
}

/* ---- what follows ---- */

/* The axis of an operand that lies along the channels; -1: it does not have them. */
static int64_t channel_axis(const tn_RelayCall *c, const tn_TensorType *arg, int64_t out_axis) {
  const tn_TensorType *t = relay_tensor_type_of_expr(c);
  if (relay_as_call(c, "nn.bias_add")) {
    int64_t axis = relay_attr_int(c->attrs, "axis", 1);
    return (axis < 0 ? axis + t->shape->len : axis) == out_axis ? 0 : -2;
  }
  int64_t axis = out_axis - (t->shape->len - arg->shape->len);
  return axis >= 0 && !relay_int_is(arg->shape, axis, 1) ? axis : -1;
}

/* Does the operand go with that of the first branch: to be put beside it, or the same? */
static bool operand_fits(const combining *x, const branches *b, const tn_RelayCall *first,
                         const tn_RelayCall *c, int64_t i) {
  relay_expr *a = relay_arg(first, i), *e = relay_arg(c, i);
  const tn_TensorType *t = relay_tensor_type_of_expr(a), *u = relay_tensor_type_of_expr(e);
  if (!t || !u || !is_independent(x, e)) return false;
  int64_t axis = channel_axis(first, t, b->out_axis);
  if (axis != channel_axis(c, u, b->out_axis) || axis == -2) return false;
  if (axis >= 0) return same_but(t, u, axis);
  return a == e || (TN_AS(Constant, a) && TN_AS(Constant, e) && tn_equal(a, e, 0) == 1);
}

/* The only call that reads `e`, where it works element by element; *position: as which argument. */
static const tn_RelayCall *follower_of(const combining *x, const tn_RelayCall *e, int *position) {
  const tn_RelayCall *c = tn_pmap_get(&x->reader, e);
  if (tn_pmap_get_int(&x->readers, e, 0) != 1 || !c || !relay_called_op(c)) return NULL;
  if (relay_op_pattern((const tn_obj *)c->op) > RELAY_BROADCAST || !relay_same_type(e, c))
    return NULL;
  for (int64_t i = 0; i < c->args->len; ++i)
    if (relay_arg(c, i) == (void *)(uintptr_t)e) *position = (int)i;
  return c;
}

/* Calls that follow all branches alike become a step; false: there are none. */
static int add_step(const combining *x, branches *b, bool *any) {
  const tn_RelayCall *first = NULL;
  int position = 0, own = 0;
  *any = false;
  if (b->nsteps == MAX_FOLLOWERS) return 0;
  tn_vec *step = &b->steps[b->nsteps];
  for (int64_t i = 0; i < b->layers.len; ++i) {
    const tn_RelayCall *before = call_at(b->nsteps ? &b->steps[b->nsteps - 1] : &b->layers, i);
    const tn_RelayCall *c = follower_of(x, before, &own);
    if (!c) return 0;
    if (i == 0) first = c, position = own;
    bool fits = c->op == first->op && own == position && c->args->len == first->args->len &&
                (c->attrs == first->attrs ||
                 (c->attrs && first->attrs && tn_equal(c->attrs, first->attrs, 0) == 1));
    for (int64_t k = 0; fits && k < c->args->len; ++k)
      fits = k == position || operand_fits(x, b, first, c, k);
    if (!fits) return 0;
    TN_TRY(tn_vec_push_obj(step, c));
  }
  b->position[b->nsteps++] = position;
  *any = true;
  return 0;
}

static int find_steps(combining *x) {
  for (int64_t i = 0; i < x->len; ++i) {
    branches *b = &x->items[i];
    bool any = true;
    if (b->layers.len < x->min_branches) continue;
    while (any && !x->to_batch) TN_TRY(add_step(x, b, &any));
    const tn_vec *last = b->nsteps ? &b->steps[b->nsteps - 1] : &b->layers;
    for (int64_t k = 0; k < last->len; ++k)
      TN_TRY(tn_pmap_put_int(&x->last, last->items[k].v.obj, i + 1));
  }
  return 0;
}

/* ---- making one of them ---- */

/* Argument `i` of all calls beside one another along an axis. */
static void *beside(const tn_vec *calls, int64_t i, int64_t axis) {
  TN_VEC(parts);
  for (int64_t k = 0; k < calls->len; ++k)
    TN_TRYP(tn_vec_push_obj(&parts, relay_arg(call_at(calls, k), i)));
  return relay_concatenate(tn_arr_from(&parts), axis);
}

/* They are known: only layers of static types are combined. */
static int64_t channels_of(const branches *b, int64_t i) {
  int64_t n = 0;
  const tn_TensorType *t = relay_tensor_type_of_expr(call_at(&b->layers, i));
  return relay_known_int(t->shape, b->out_axis, &n) ? n : 0;
}

static relay_expr *combined_layer(const combining *x, const branches *b, relay_expr *data) {
  const tn_RelayCall *first = call_at(&b->layers, 0);
  void *attrs = first->attrs;
  int64_t total = 0;
  for (int64_t i = 0; i < b->layers.len; ++i) total += channels_of(b, i);
  if (x->kind.count[0])
    TN_GETP(attrs, relay_attrs_with(attrs, x->kind.count, tn_any_obj(tir_i32((int32_t)total))));
  void *weights = beside(&b->layers, 1, b->weight_axis);
  if (!weights) return NULL;
  return (relay_expr *)relay_call_new(first->op, tn_arr_of(2, data, weights), attrs);
}

static relay_expr *combined_step(const branches *b, int step, relay_expr *before) {
  const tn_RelayCall *first = call_at(&b->steps[step], 0);
  TN_VEC(args);
  for (int64_t i = 0; i < first->args->len; ++i) {
    relay_expr *e = relay_arg(first, i);
    int64_t axis = i == b->position[step]
                       ? -1
                       : channel_axis(first, relay_tensor_type_of_expr(e), b->out_axis);
    if (i == b->position[step]) e = before;
    else if (axis >= 0) TN_GETP(e, beside(&b->steps[step], i, axis));
    TN_TRYP(tn_vec_push_obj(&args, e));
  }
  return (relay_expr *)relay_call_new(first->op, tn_arr_from(&args), first->attrs);
}

static void *stacked(tn_arr *parts) {
  void *attrs = relay_attrs("stack", 1, "axis", tn_any_int(0));
  return relay_call("stack", attrs, 1, relay_tuple(parts));
}

/* Dense layers of one size: split(batch_matmul(stack(data), stack(weights))) */
static relay_expr *combined_batch(const branches *b, relay_expr *data) {
  TN_VEC(datas);
  TN_VEC(weights);
  for (int64_t i = 0; i < b->layers.len; ++i) {
    TN_TRYP(tn_vec_push_obj(&datas, data));
    TN_TRYP(tn_vec_push_obj(&weights, relay_arg(call_at(&b->layers, i), 1)));
  }
  const tn_obj *own = (const tn_obj *)call_at(&b->layers, 0)->attrs;
  tn_any out = tn_field_get(own, tn_type_field(own->type, "out_dtype"));
  void *attrs = relay_attrs("nn.batch_matmul", 1, "out_dtype", out);
  void *product = relay_call("nn.batch_matmul", attrs, 2, stacked(tn_arr_from(&datas)),
                             stacked(tn_arr_from(&weights)));
  attrs = relay_attrs("split", 2, "indices_or_sections", tn_any_int(b->layers.len), "axis",
                      tn_any_int(0));
  return product ? relay_call("split", attrs, 1, product) : NULL;
}

/* The result of branch i. */
static relay_expr *part_of(const combining *x, const branches *b, relay_expr *combined, int64_t i) {
  if (x->to_batch) {
    int64_t zero = 0;
    void *attrs = relay_attrs("squeeze", 1, "axis", tn_any_obj(relay_ints(&zero, 1)));
    return relay_call("squeeze", attrs, 1, relay_get_item(combined, i));
  }
  int64_t begin[8] = {0}, end[8], strides[8], n = b->out_axis + 1;
  TN_ICHECKP(n <= 8);
  for (int64_t k = 0; k < n; ++k) end[k] = -1, strides[k] = 1;
  for (int64_t k = 0; k < i; ++k) begin[n - 1] += channels_of(b, k);
  end[n - 1] = channels_of(b, i);
  void *attrs = relay_attrs("strided_slice", 4, "begin", tn_any_obj(relay_ints(begin, n)), "end",
                            tn_any_obj(relay_ints(end, n)), "strides",
                            tn_any_obj(relay_ints(strides, n)), "slice_mode", tn_any_cstr("size"));
  return relay_call("strided_slice", attrs, 1, combined);
}

static relay_expr *combine(const combining *x, const branches *b, relay_expr *data) {
  relay_expr *e = x->to_batch ? combined_batch(b, data) : combined_layer(x, b, data);
  for (int i = 0; e && i < b->nsteps; ++i) e = combined_step(b, i, e);
  return e;
}

static tn_obj *replace(void *ctx, tn_obj *pre, tn_obj *post) {
  combining *x = ctx;
  int64_t number = tn_pmap_get_int(&x->last, pre, 0), i = 0;
  if (number == 0) return relay_stands_for(post, pre);
  branches *b = &x->items[number - 1];
  const tn_vec *last = b->nsteps ? &b->steps[b->nsteps - 1] : &b->layers;
  while (last->items[i].v.obj != pre) ++i;
  if (!b->combined) {
    const tn_RelayCall *layer = (const tn_RelayCall *)post;
    relay_expr *e;
    for (int k = b->nsteps - 1; k >= 0; --k) layer = relay_arg(layer, b->position[k]);
    TN_GETP(e, combine(x, b, relay_arg(layer, 0)));
    TN_TRYP(tn_map_set(x->keep, tn_any_int(number), tn_any_obj(e)));
    TN_TRYP(tn_vec_push_obj(&x->made, e));
    b->combined = x->made.len;
  }
  relay_expr *part = part_of(x, b, (relay_expr *)x->made.items[b->combined - 1].v.obj, i);
  return relay_replaced(x->pass, part, post, pre);
}

static const tn_rewrite_case cases[] = {TN_REWRITE(RelayCall, replace)};

static tn_RelayFunction *combine_all(tn_RelayFunction *f, combining *x) {
  TN_GETP(x->keep, tn_scope_own(tn_map_new()));
  TN_TRYP(tn_post_order(f->body, see_bound, x));
  TN_TRYP(tn_post_order(f, visit, x));
  TN_TRYP(find_steps(x));
  return tn_rewrite(f, cases, TN_COUNT(cases), x);
}

static tn_RelayFunction *run(tn_RelayFunction *f, const tn_pass_ctx *c, combining *x) {
  x->min_branches = 3;
  if (c->nargs > 0) TN_TRYP(tn_any_to_int(&c->args[0], &x->min_branches));
  if (x->min_branches < 2) x->min_branches = 2;
  TN_GETP(f, relay_infer_expr(f, c->mod));
  TN_TRYP(relay_count_readers(f, &x->readers));
  return combine_all(f, x);
}

/* argument: min_num_branches */
tn_RelayFunction *relay_combine_conv2d(tn_RelayFunction *f, const tn_pass_ctx *c) {
  combining x = {.pass = "CombineParallelConv2D", .kind = {"nn.conv2d", "channels"}};
  tn_RelayFunction *r = run(f, c, &x);
  fini(&x);
  return r;
}

tn_RelayFunction *relay_combine_batch_matmul(tn_RelayFunction *f, const tn_pass_ctx *c) {
  combining x = {.pass = "CombineParallelBatchMatmul", .kind = {"nn.batch_matmul", ""}};
  tn_RelayFunction *r = run(f, c, &x);
  fini(&x);
  return r;
}

/* arguments: min_num_branches, to_batch */
tn_RelayFunction *relay_combine_dense(tn_RelayFunction *f, const tn_pass_ctx *c) {
  combining x = {.pass = "CombineParallelDense", .kind = {"nn.dense", "units"}, .to_batch = true};
  if (c->nargs > 1) TN_TRYP(tn_any_to_bool(&c->args[1], &x.to_batch));
  tn_RelayFunction *r = run(f, c, &x);
  fini(&x);
  return r;
}

/* ---- attention ---- */

typedef struct {
  const tn_pmap *readers;
  tn_pmap only;
} projections;

/* The dense layer of constant weights behind an operand, maybe with a bias, that only it reads;
 *biased tells which. */
static const tn_RelayCall *projection_of(const tn_pmap *readers, const void *e, bool *biased) {
  const tn_RelayCall *sum = relay_as_call(e, "add"), *bias = relay_as_call(e, "nn.bias_add");
  if (tn_pmap_get_int(readers, e, 0) > 1) return NULL;
  *biased = sum || bias;
  if (bias) e = relay_arg(bias, 0);
  for (int i = 0; sum && i < 2; ++i)
    if (TN_AS(Constant, relay_arg(sum, 1 - i))) e = relay_arg(sum, i);
  const tn_RelayCall *dense = relay_as_call(e, "nn.dense");
  return dense && TN_AS(Constant, relay_arg(dense, 1)) && tn_pmap_get_int(readers, dense, 0) <= 1
             ? dense
             : NULL;
}

/* Those of one data, all of them with a bias or none. */
static int see_attention(void *ctx, const void *const operands[3]) {
  projections *p = ctx;
  const tn_RelayCall *dense[3];
  bool biased[3];
  for (int i = 0; i < 3; ++i) dense[i] = projection_of(p->readers, operands[i], &biased[i]);
  for (int i = 0; i < 3; ++i)
    for (int k = 0; k < 3; ++k) {
      bool pays = dense[i] && dense[k] && dense[i] != dense[k] && biased[i] == biased[k] &&
                  relay_arg(dense[i], 0) == relay_arg(dense[k], 0);
      if (pays) TN_TRY(tn_pmap_put_int(&p->only, dense[i], 1));
    }
  return 0;
}

/* arguments: threads, bytes of cache that each has (FuseAttention has the same) */
tn_RelayFunction *relay_combine_attention(tn_RelayFunction *f, const tn_pass_ctx *c) {
  combining x = {.pass = "CombineAttentionDense", .kind = {"nn.dense", "units"}, .min_branches = 2};
  projections p = {.readers = &x.readers};
  int64_t cache = 1 << 20;
  if (c->nargs > 1) TN_TRYP(tn_any_to_int(&c->args[1], &cache));
  TN_CHECKP(cache > 0, ValueError, NULL, "CombineAttentionDense: expected bytes of cache, got %lld",
            (long long)cache);
  TN_GETP(f, relay_infer_expr(f, c->mod));
  int err = relay_count_readers(f, &x.readers);
  if (!err) err = relay_each_attention(f, &x.readers, cache, see_attention, &p);
  x.only = &p.only;
  tn_RelayFunction *r = err ? NULL : p.only.len ? combine_all(f, &x) : f;
  fini(&x);
  tn_pmap_fini(&p.only);
  return r;
}
