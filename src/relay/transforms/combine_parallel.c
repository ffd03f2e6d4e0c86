/* CombineParallelConv2D, CombineParallelDense, CombineParallelBatchMatmul, CombineAttentionDense:
   layers that read the same data become one layer with all their weights.

     (nn.relu(nn.conv2d(%x, %w1, channels=4)), nn.relu(nn.conv2d(%x, %w2, channels=8)))
   =>
     %0 = nn.relu(nn.conv2d(%x, concatenate((%w1, %w2)), channels=12));
     (strided_slice(%0, begin=[0, 0], end=[-1, 4]), strided_slice(%0, begin=[0, 4], end=[-1, 8]))

   What follows all of the layers alike, element by element, becomes one too: operands are put
   beside one another, those with one number for all channels are repeated first where they differ.
   Dense layers become parts of a batch_matmul where that is asked for and all are of one size.
   Those that make query, key and value of an attention become one where kernels read their parts in
   place.
 */
#include "base/alloc.h"
#include "base/error.h"
#include "base/scope.h"
#include "ir/functor.h"
#include "ir/imm.h"
#include "relay/evaluate.h"
#include "relay/infer.h"
#include "relay/expr/call_builder.h"
#include "relay/expr/expr_info.h"
#include "relay/expr/replace.h"
#include "relay/transforms/transforms.h"
#include "tenon/object.h"

enum { MAX_FOLLOWERS = 8, MAX_AXES = 8 };

/* An operator with weights that can be put beside one another. */
typedef struct {
  const char *op, *count; /* count: the attribute that says how many channels, "" none */
} layer_kind;

/* Calls that become one. */
typedef struct {
  tn_vec layers;                    /* the calls, in order of evaluation */
  int64_t weight_axis, out_axis;    /* that of the channels in weights and results */
  tn_vec steps[MAX_FOLLOWERS];      /* for each layer the call that follows */
  int position[MAX_FOLLOWERS];      /* which argument of it the layer's result is */
  int64_t step_axis[MAX_FOLLOWERS]; /* where the channels are in its result */
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
  if (!relay_as_call(c, x->kind.op) || c->args->len != 2 || !t || t->shape->len > MAX_AXES)
    return false;
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

/* They are known: only layers of static types are combined. */
static int64_t channels_of(const branches *b, int64_t i) {
  int64_t n = 0;
  const tn_TensorType *t = relay_tensor_type_of_expr(call_at(&b->layers, i));
  return relay_known_int(t->shape, b->out_axis, &n) ? n : 0;
}

static int64_t axis_before(const branches *b, int step) {
  return step ? b->step_axis[step - 1] : b->out_axis;
}

/* An operator with a number for each place along the axis that it names. */
static bool names_axis(const tn_RelayCall *c) {
  return relay_as_call(c, "nn.bias_add") || relay_as_call(c, "nn.prelu");
}

static int64_t counted(int64_t axis, int64_t ndim) { return axis < 0 ? axis + ndim : axis; }

/* Where the channels, on `axis` of argument `e`, are in the result of `c`; -1: other operators than
   those that work element by element, or on another axis. */
static int64_t axis_after(const tn_RelayCall *c, const void *e, int64_t axis) {
  const tn_TensorType *in = relay_tensor_type_of_expr(e), *out = relay_tensor_type_of_expr(c);
  relay_pattern pattern = relay_op_pattern((const tn_obj *)c->op);
  if (!in || !out || pattern > RELAY_BROADCAST || out->shape->len > MAX_AXES) return -1;
  if (relay_as_call(c, "expand_dims")) {
    int64_t at = counted(relay_attr_int(c->attrs, "axis", 0), in->shape->len + 1);
    return at <= axis ? axis + out->shape->len - in->shape->len : axis;
  }
  if (names_axis(c) && relay_arg(c, 0) != (void *)(uintptr_t)e) return -1;
  if (names_axis(c))
    return counted(relay_attr_int(c->attrs, "axis", 1), in->shape->len) == axis ? axis : -1;
  if (pattern == RELAY_BROADCAST && c->attrs) return -1; /* they may speak of extents and axes */
  return axis + out->shape->len - in->shape->len;
}

/* The axis of operand `i` that lies along the channels, which are on `axis` of the result of `c`;
   negative: it does not reach so far. */
static int64_t operand_axis(const tn_RelayCall *c, int64_t i, int64_t axis) {
  const tn_TensorType *own = relay_tensor_type_of_expr(relay_arg(c, i)),
                      *t = relay_tensor_type_of_expr(c);
  return names_axis(c) ? 0 : axis - (t->shape->len - own->shape->len);
}

/* One number for all channels: is it to be repeated? */
static bool is_repeated(const tn_RelayCall *c, int64_t i, int64_t axis) {
  const tn_TensorType *t = relay_tensor_type_of_expr(relay_arg(c, i));
  int64_t own = operand_axis(c, i, axis);
  return own < 0 || relay_int_is(t->shape, own, 1);
}

/* Is operand `i` of the step the same in all branches, so that it stays as it is? */
static bool is_shared(const tn_RelayCall *a, const tn_RelayCall *b, int64_t i, int64_t axis) {
  const relay_expr *e = relay_arg(a, i), *f = relay_arg(b, i);
  if (!is_repeated(a, i, axis) || !is_repeated(b, i, axis)) return false;
  return e == f || (TN_AS(Constant, e) && TN_AS(Constant, f) && tn_equal(e, f, 0) == 1);
}

/* Does the operand go with that of the first branch: to be put beside it, or the same? */
static bool operand_fits(const combining *x, const tn_RelayCall *first, const tn_RelayCall *c,
                         int64_t i, int64_t axis) {
  const tn_TensorType *t = relay_tensor_type_of_expr(relay_arg(first, i)),
                      *u = relay_tensor_type_of_expr(relay_arg(c, i));
  if (!t || !u || !is_independent(x, relay_arg(c, i))) return false;
  if (x->to_batch) {
    bool fits = same_but(t, u, -1) && !names_axis(c);
    return fits && t->shape->len <= relay_tensor_type_of_expr(c)->shape->len;
  }
  if (is_shared(first, c, i, axis)) return true;
  int64_t own = operand_axis(first, i, axis);
  bool last = axis == relay_tensor_type_of_expr(c)->shape->len - 1;
  return (own >= 0 || (t->shape->len == 0 && last)) && same_but(t, u, own);
}

/* The only call that reads `e`; *position: as which argument. */
static const tn_RelayCall *follower_of(const combining *x, const tn_RelayCall *e, int *position) {
  const tn_RelayCall *c = tn_pmap_get(&x->reader, e);
  if (tn_pmap_get_int(&x->readers, e, 0) != 1 || !c || !relay_called_op(c)) return NULL;
  for (int64_t i = 0; i < c->args->len; ++i)
    if (relay_arg(c, i) == (void *)(uintptr_t)e) *position = (int)i;
  return c;
}

/* Is what follows a branch the same as what follows the first one, `first`, and as large? */
static bool step_fits(const combining *x, const branches *b, const tn_RelayCall *first,
                      const tn_RelayCall *c, int64_t i) {
  const tn_TensorType *t = relay_tensor_type_of_expr(first), *u = relay_tensor_type_of_expr(c);
  int k = b->position[b->nsteps];
  int64_t axis = b->step_axis[b->nsteps];
  if (c->op != first->op || c->args->len != first->args->len || !t || !u) return false;
  if (c->attrs != first->attrs &&
      (!c->attrs || !first->attrs || tn_equal(c->attrs, first->attrs, 0) != 1))
    return false;
  if (axis_after(c, relay_arg(c, k), axis_before(b, b->nsteps)) != axis) return false;
  if (x->to_batch && (!relay_same_type(c, relay_arg(c, k)) || !same_but(t, u, -1))) return false;
  return same_but(t, u, axis) && relay_int_is(u->shape, axis, channels_of(b, i));
}

/* Calls that follow all branches alike become a step; *any: are there some? */
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
    if (i == 0) {
      first = c, b->position[b->nsteps] = position = own;
      int64_t axis = axis_after(c, before, axis_before(b, b->nsteps));
      b->step_axis[b->nsteps] = axis;
      if (axis < 0) return 0;
    }
    bool fits = own == position && step_fits(x, b, first, c, i);
    for (int64_t k = 0; fits && k < c->args->len; ++k)
      fits = k == position || operand_fits(x, first, c, k, b->step_axis[b->nsteps]);
    if (!fits) return 0;
    TN_TRY(tn_vec_push_obj(step, c));
  }
  b->nsteps++;
  *any = true;
  return 0;
}

static int find_steps(combining *x) {
  for (int64_t i = 0; i < x->len; ++i) {
    branches *b = &x->items[i];
    bool any = true;
    if (b->layers.len < x->min_branches) continue;
    while (any) TN_TRY(add_step(x, b, &any));
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

/* Operand i of branch k of a step, with a number for each channel along axis `own`. */
static void *repeated(const branches *b, const tn_RelayCall *c, int64_t i, int64_t k,
                      int64_t axis) {
  int64_t own = operand_axis(c, i, axis);
  void *e = relay_arg(c, i);
  if (!is_repeated(c, i, axis)) return e;
  if (own < 0) {
    void *attrs = relay_attrs("expand_dims", 1, "axis", tn_any_int(-1));
    TN_GETP(e, relay_call("expand_dims", attrs, 1, e));
    own = 0;
  }
  void *attrs =
      relay_attrs("repeat", 2, "repeats", tn_any_int(channels_of(b, k)), "axis", tn_any_int(own));
  return relay_call("repeat", attrs, 1, e);
}

/* Operand i of all branches of a step, along the channels. */
static void *operands(const combining *x, const branches *b, int step, int64_t i) {
  const tn_vec *calls = &b->steps[step];
  const tn_RelayCall *first = call_at(calls, 0);
  int64_t axis = b->step_axis[step], own = operand_axis(first, i, axis);
  bool shared = true;
  TN_VEC(parts);
  for (int64_t k = 0; k < calls->len; ++k)
    shared = shared && is_shared(first, call_at(calls, k), i, axis);
  if (shared) return relay_arg(first, i);
  for (int64_t k = 0; k < calls->len; ++k)
    TN_TRYP(tn_vec_push_obj(&parts, repeated(b, call_at(calls, k), i, k, axis)));
  /* the last axis, of operands with any number of axes */
  bool last = strcmp(x->kind.op, "nn.batch_matmul") == 0;
  return relay_concatenate(tn_arr_from(&parts), last ? -1 : own < 0 ? 0 : own);
}

static void *stacked(tn_arr *parts) {
  void *attrs = relay_attrs("stack", 1, "axis", tn_any_int(0));
  return relay_call("stack", attrs, 1, relay_tuple(parts));
}

/* The same where the branches become parts of a batch, the first axis. */
static void *operands_of_batch(const branches *b, int step, int64_t i) {
  TN_VEC(parts);
  for (int64_t k = 0; k < b->steps[step].len; ++k) {
    const tn_RelayCall *c = call_at(&b->steps[step], k);
    void *e = relay_arg(c, i);
    int64_t missing =
        relay_tensor_type_of_expr(c)->shape->len - relay_tensor_type_of_expr(e)->shape->len;
    void *attrs =
        relay_attrs("expand_dims", 2, "axis", tn_any_int(0), "num_newaxis", tn_any_int(missing));
    if (missing) TN_GETP(e, relay_call("expand_dims", attrs, 1, e));
    TN_TRYP(tn_vec_push_obj(&parts, e));
  }
  return stacked(tn_arr_from(&parts));
}

static relay_expr *combined_step(const combining *x, const branches *b, int step,
                                 relay_expr *before) {
  const tn_RelayCall *first = call_at(&b->steps[step], 0);
  TN_VEC(args);
  for (int64_t i = 0; i < first->args->len; ++i) {
    relay_expr *e = before;
    if (i != b->position[step])
      TN_GETP(e, x->to_batch ? operands_of_batch(b, step, i) : operands(x, b, step, i));
    TN_TRYP(tn_vec_push_obj(&args, e));
  }
  return (relay_expr *)relay_call_new(first->op, tn_arr_from(&args), first->attrs);
}

/* Dense layers of one size: batch_matmul(stack(data), stack(weights)) */
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
  return relay_call("nn.batch_matmul", attrs, 2, stacked(tn_arr_from(&datas)),
                    stacked(tn_arr_from(&weights)));
}

static relay_expr *split_batch(const branches *b, relay_expr *e) {
  void *attrs = relay_attrs("split", 2, "indices_or_sections", tn_any_int(b->layers.len), "axis",
                            tn_any_int(0));
  return relay_call("split", attrs, 1, e);
}

/* The result of branch i. */
static relay_expr *part_of(const combining *x, const branches *b, relay_expr *combined, int64_t i) {
  if (x->to_batch) {
    int64_t zero = 0;
    void *attrs = relay_attrs("squeeze", 1, "axis", tn_any_obj(relay_ints(&zero, 1)));
    return relay_call("squeeze", attrs, 1, relay_get_item(combined, i));
  }
  int64_t begin[MAX_AXES] = {0}, end[MAX_AXES], strides[MAX_AXES];
  int64_t axis = axis_before(b, b->nsteps), n = axis + 1;
  const tn_RelayCall *last = call_at(b->nsteps ? &b->steps[b->nsteps - 1] : &b->layers, 0);
  if (strcmp(x->kind.op, "nn.conv2d") != 0) n = relay_tensor_type_of_expr(last)->shape->len;
  TN_ICHECKP(n <= MAX_AXES);
  for (int64_t k = 0; k < n; ++k) end[k] = -1, strides[k] = 1;
  for (int64_t k = 0; k < i; ++k) begin[axis] += channels_of(b, k);
  end[axis] = channels_of(b, i);
  void *attrs = relay_attrs("strided_slice", 4, "begin", tn_any_obj(relay_ints(begin, n)), "end",
                            tn_any_obj(relay_ints(end, n)), "strides",
                            tn_any_obj(relay_ints(strides, n)), "slice_mode", tn_any_cstr("size"));
  return relay_call("strided_slice", attrs, 1, combined);
}

static relay_expr *combine(const combining *x, const branches *b, relay_expr *data) {
  relay_expr *e = x->to_batch ? combined_batch(b, data) : combined_layer(x, b, data);
  for (int i = 0; e && i < b->nsteps; ++i) e = combined_step(x, b, i, e);
  return e && x->to_batch ? split_batch(b, e) : e;
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
  bool known = dense && relay_known_depth(relay_arg(dense, 1)) >= 0;
  return known && tn_pmap_get_int(readers, dense, 0) <= 1 ? dense : NULL;
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
