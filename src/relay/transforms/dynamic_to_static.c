/* DynamicToStatic: operators that take a shape, bounds or a number as a tensor become those that
   have it as an attribute, where it is constant.

     dyn.reshape(%x, meta[relay.Constant][0])                 ->  reshape(%x, newshape=[2, 6])
     dyn.broadcast_to(%x, shape_of(%y: Tensor[(2, 3), ...]))  ->  broadcast_to(%x, shape=[2, 3])

   A shape that becomes static makes further ones constant: repeated with FoldConstant until nothing
   changes. */
#include "base/alloc.h"
#include "base/error.h"
#include "base/scope.h"
#include "ir/module.h"
#include "relay/infer.h"
#include "relay/transforms/transforms.h"

typedef enum { NUMBER = 1, INTEGER, FACTOR, LIST, PAIRS } form; /* NUMBER: 1 and more */

typedef struct {
  const char *from, *to;
  int kept[3], nkept; /* arguments that stay */
  struct {
    int arg;
    form as;
    const char *attr;
  } sets[3];           /* arguments that become attributes */
  const char *same[9]; /* attributes of both */
} rule;

static const rule rules[] = {
    {"dyn.reshape", "reshape", {0}, 1, {{1, LIST, "newshape"}}, {"allowzero"}},
    {"dyn.strided_slice",
     "strided_slice",
     {0},
     1,
     {{1, LIST, "begin"}, {2, LIST, "end"}, {3, LIST, "strides"}},
     {"slice_mode"}},
    {"dyn.full", "full", {0}, 1, {{1, LIST, "shape"}}, {"dtype"}},
    {"dyn.broadcast_to", "broadcast_to", {0}, 1, {{1, LIST, "shape"}}, {NULL}},
    {"dyn.zeros", "zeros", {0}, 0, {{0, LIST, "shape"}}, {"dtype"}},
    {"dyn.ones", "ones", {0}, 0, {{0, LIST, "shape"}}, {"dtype"}},
    {"dyn.tile", "tile", {0}, 1, {{1, LIST, "reps"}}, {NULL}},
    {"dyn.nn.pad", "nn.pad", {0, 2}, 2, {{1, PAIRS, "pad_width"}}, {"pad_mode"}},
    {"dyn.one_hot", "one_hot", {0, 1, 2}, 3, {{3, NUMBER, "depth"}}, {"axis", "dtype"}},
    {"dyn.squeeze", "squeeze", {0}, 1, {{1, LIST, "axis"}}, {NULL}},
    {"dyn.expand_dims", "expand_dims", {0}, 1, {{1, INTEGER, "axis"}}, {"num_newaxis"}},
    {"dyn.sparse_to_dense", "sparse_to_dense", {0, 1, 2}, 3, {{3, LIST, "output_shape"}}, {NULL}},
    {"dyn.image.resize2d",
     "image.resize2d",
     {0},
     1,
     {{1, LIST, "size"}},
     {"roi", "layout", "method", "coordinate_transformation_mode", "rounding_method", "cubic_alpha",
      "cubic_exclude", "extrapolation_value", "out_dtype"}},
    {"dyn.nn.upsampling",
     "nn.upsampling",
     {0},
     1,
     {{1, FACTOR, "scale_h"}, {2, FACTOR, "scale_w"}},
     {"layout", "method", "align_corners"}},
    {"dyn.nn.upsampling3d",
     "nn.upsampling3d",
     {0},
     1,
     {{1, FACTOR, "scale_d"}, {2, FACTOR, "scale_h"}, {3, FACTOR, "scale_w"}},
     {"layout", "method", "coordinate_transformation_mode"}},
    {"dyn.topk", "topk", {0}, 1, {{1, NUMBER, "k"}}, {"axis", "ret_type", "is_ascend", "dtype"}},
};

static const rule *rule_for(const char *op) {
  for (int i = 0; op && i < TN_COUNT(rules); ++i)
    if (strcmp(rules[i].from, op) == 0) return &rules[i];
  return NULL;
}

/* Do all fit 32 bits? An extent that does not is left to the program that runs. */
static bool fit(const double *v, int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    if (!(v[i] >= INT32_MIN && v[i] <= INT32_MAX)) return false;
  return true;
}

/* Of a bound, what is beyond 32 bits is as good as their end: so it says "to the end". */
static int64_t clamped(double v) {
  return v >= INT32_MAX ? INT32_MAX : v <= INT32_MIN ? INT32_MIN : (int64_t)v;
}

static tn_arr *list_of(const double *v, int64_t n) {
  TN_VEC(out);
  for (int64_t i = 0; i < n; ++i) TN_TRYP(tn_vec_push_obj(&out, tir_i32((int32_t)clamped(v[i]))));
  return tn_arr_from(&out);
}

static tn_arr *pairs_of(const double *v, int64_t n) {
  TN_VEC(out);
  for (int64_t i = 0; i + 1 < n; i += 2) TN_TRYP(tn_vec_push_obj(&out, list_of(v + i, 2)));
  return tn_arr_from(&out);
}

/* The numbers of a constant as a value of an attribute. 1, 0 when it is none, -1. */
static int value_of(const void *e, form as, bool bounds, tn_any *out) {
  TN_AUTOFREE double *v = NULL;
  int64_t n;
  int is = relay_const_numbers(e, &v, &n);
  if (is <= 0) return is;
  if (!bounds && !fit(v, n)) return 0;
  if (as < LIST) {
    double one = n == 1 ? v[0] : 0;
    *out = as == FACTOR ? tn_any_float(one) : tn_any_int(clamped(one));
    return n == 1 && (as != NUMBER || one >= 1);
  }
  tn_arr *list;
  TN_GET(list, as == LIST ? list_of(v, n) : pairs_of(v, n));
  *out = tn_any_obj(list);
  return 1;
}

/* The attributes of the static operator: NULL without an error when an argument is not constant. */
static void *static_attrs(const tn_RelayCall *c, const rule *r) {
  const tn_obj *op = (const tn_obj *)ir_op_get(r->to), *own = (const tn_obj *)c->attrs;
  const relay_op_row *row = op ? relay_op_row_of(op) : NULL;
  const char *names[TN_COUNT(r->sets) + TN_COUNT(r->same)];
  tn_any values[TN_COUNT(names)];
  int n = 0;
  if (!row) return NULL;
  for (int i = 0; i < TN_COUNT(r->sets) && r->sets[i].attr; ++i) {
    bool bounds = strcmp(r->to, "strided_slice") == 0;
    int is = value_of(relay_arg(c, r->sets[i].arg), r->sets[i].as, bounds, &values[n]);
    if (is <= 0) return NULL;
    names[n++] = r->sets[i].attr;
  }
  for (int i = 0; i < TN_COUNT(r->same) && r->same[i]; ++i) {
    values[n] = tn_field_get(own, tn_type_field(own->type, r->same[i]));
    names[n++] = r->same[i];
  }
  return tn_scope_own(tn_node_make(row->attrs, n, names, values));
}

static tn_obj *make_static(void *ctx, tn_obj *pre, tn_obj *post) {
  const tn_RelayCall *c = (const tn_RelayCall *)post;
  const rule *r = rule_for(relay_called_op(post));
  bool *changed = ctx;
  TN_VEC(args);
  (void)pre;
  if (!r) return post;
  void *attrs = static_attrs(c, r);
  if (!attrs) return tn_error_pending() ? NULL : post;
  for (int i = 0; i < r->nkept; ++i) TN_TRYP(tn_vec_push_obj(&args, relay_arg(c, r->kept[i])));
  *changed = true;
  return relay_call_args(r->to, attrs, tn_arr_from(&args));
}

static const tn_rewrite_case cases[] = {TN_REWRITE(RelayCall, make_static)};

/* Calls of a function become static, and then its result. */
static tn_obj *step_function(const tn_RelayFunction *f, bool *changed) {
  const tn_Type *result = relay_type_of(f->body);
  tn_RelayFunction *r;
  TN_GETP(r, tn_rewrite(f, cases, TN_COUNT(cases), changed));
  if (r != f || !f->ret_type || !result || !relay_is_static(result) || relay_is_static(f->ret_type))
    return (tn_obj *)r;
  *changed = true;
  tn_any type = tn_any_obj(result);
  TN_GETP(r, relay_fresh_copy(f));
  TN_TRYP(tn_field_set((tn_obj *)r, tn_type_field(&tn_type_RelayFunction, "ret_type"), &type));
  return (tn_obj *)r;
}

static tn_IRModule *step(tn_IRModule *m, bool *changed) {
  tn_map *functions;
  TN_GETP(functions, tn_scope_own(tn_map_new()));
  for (int64_t i = 0; i < m->functions->len; ++i) {
    const tn_map_entry *e = &m->functions->entries[i];
    const tn_RelayFunction *f = TN_AS(RelayFunction, e->value.v.obj);
    tn_obj *r = e->value.v.obj;
    if (f && !ir_attrs_flag(f->attrs, "Primitive")) TN_GETP(r, step_function(f, changed));
    TN_TRYP(tn_map_set(functions, e->key, tn_any_obj(r)));
  }
  return ir_module_with_functions(m, functions);
}

tn_IRModule *relay_dynamic_to_static(tn_IRModule *m, const tn_pass_ctx *c) {
  for (bool changed = true; changed;) {
    changed = false;
    TN_GETP(m, relay_run_pass("FoldConstant", m, c->node));
    TN_GETP(m, step(m, &changed));
  }
  return relay_infer_module(m);
}
