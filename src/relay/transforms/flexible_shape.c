/* FlexibleShapeDispatch: an extent of main's inputs is dynamic; some values of it have
   their own functions, whose types are static.

     def @main(%x: Tensor[(1, 3), float32]) { f(%x) }         buckets 2 and 4, axis 0
   =>
     def @main_2(%x: Tensor[(2, 3), float32]) { f(%x) }       and @main_4, @main_any
     def @main(%x: Tensor[(?, 3), float32]) {
       let %n = take(shape_of(%x), 0);
       if (%n == 2) { @main_2(%x) } else { if (%n == 4) { @main_4(%x) } else { @main_any(%x) } }
     }

   With auto_pad the conditions are %n <= 2, %n <= 4; inputs are filled up, results cut off. */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/scope.h"
#include "ir/imm.h"
#include "ir/module.h"
#include "relay/infer.h"
#include "relay/expr/call_builder.h"
#include "relay/expr/expr_info.h"
#include "relay/transforms/change_batch.h"
#include "relay/transforms/transforms.h"

typedef struct {
  tn_IRModule *mod;
  const tn_RelayFunction *main; /* as it was, with types */
  int64_t *axes;                /* of each parameter */
  int64_t *buckets, nbucket;
  int64_t axis;
  bool pad, cut;
  double pad_value;
  void *n;        /* the extent, int64 */
  tn_arr *params; /* of the new main */
} dispatch;

enum { MAX_NDIM = 32 };

static int64_t axis_in(const dispatch *d, const tn_TensorType *t) {
  return d->axis < 0 ? d->axis + t->shape->len : d->axis;
}

/* %x with elements after the last along the axis, up to `size` of them. */
static void *filled(const dispatch *d, tn_RelayVar *x, int64_t size) {
  const tn_TensorType *t = TN_AS(TensorType, x->type_annotation);
  int64_t mask[2 * MAX_NDIM] = {0}, ndim = t->shape->len, shape[2] = {ndim, 2};
  mask[2 * axis_in(d, t) + 1] = 1;
  void *more = relay_binary("subtract", relay_const_int(TN_I64, size), d->n);
  void *width = relay_binary("multiply", relay_const_ints(TN_I64, mask, 2 * ndim), more);
  width = relay_reshape(width, relay_ints(shape, 2));
  void *value = relay_const_float(t->dtype, d->pad_value);
  return width && value ? relay_call("dyn.nn.pad", NULL, 3, x, width, value) : NULL;
}

/* The first elements of a result along the axis. */
static void *cut_off(const dispatch *d, void *e, const tn_Type *type) {
  const tn_TupleType *tuple = TN_AS(TupleType, type);
  const tn_TensorType *t = TN_AS(TensorType, type);
  int64_t ends[MAX_NDIM], mask[MAX_NDIM] = {0}, zeros[MAX_NDIM] = {0}, ones[MAX_NDIM];
  TN_VEC(v);
  for (int64_t i = 0; tuple && i < tuple->fields->len; ++i)
    TN_TRYP(tn_vec_push_obj(
        &v, cut_off(d, relay_get_item(e, i), (const tn_Type *)tn_arr_obj(tuple->fields, i))));
  if (tuple) return relay_tuple(tn_arr_from(&v));
  int64_t n = t ? relay_static_shape(t, ends, MAX_NDIM) : -1, axis = t ? axis_in(d, t) : -1;
  TN_CHECKP(axis >= 0 && axis < n, ValueError, NULL,
            "FlexibleShapeDispatch: a result has no axis %lld that is known: use "
            "affects_output=False",
            (long long)d->axis);
  for (int64_t i = 0; i < n; ++i) ones[i] = 1;
  mask[axis] = 1;
  ends[axis] = 0;
  void *end = relay_binary("multiply", relay_const_ints(TN_I64, mask, n), d->n);
  end = relay_binary("add", end, relay_const_ints(TN_I64, ends, n));
  void *begin = relay_const_ints(TN_I64, zeros, n), *step = relay_const_ints(TN_I64, ones, n);
  return begin && end && step ? relay_call("dyn.strided_slice", NULL, 4, e, begin, end, step)
                              : NULL;
}

/* Adds a function with the extent to the module. */
static tn_GlobalVar *specialised(dispatch *d, tn_expr *extent, const char *suffix,
                                 const tn_Type **ret) {
  tn_RelayFunction *f;
  tn_GlobalVar *v;
  tn_str *name;
  TN_GETP(f, relay_with_extents(d->main, d->axes, extent));
  TN_GETP(f, relay_rename_bound(f)); /* each function has its own variables */
  TN_GETP(f, relay_infer_expr(f, d->mod));
  TN_GETP(name, tn_str_fmt("main_%s", suffix));
  TN_GETP(v, ir_global_var(tn_cstr(name)));
  *ret = f->ret_type;
  return ir_module_add(d->mod, v, (tn_BaseFunc *)f, false) ? NULL : v;
}

static void *run_bucket(dispatch *d, int64_t size) {
  tn_GlobalVar *f;
  tn_str *suffix;
  const tn_Type *ret;
  TN_VEC(args);
  TN_GETP(suffix, tn_str_fmt("%lld", (long long)size));
  TN_GETP(f, specialised(d, tir_i32((int32_t)size), tn_cstr(suffix), &ret));
  for (int64_t i = 0; i < d->params->len; ++i) {
    void *x = tn_arr_obj(d->params, i);
    if (d->pad && d->axes[i] != RELAY_NO_AXIS) x = filled(d, x, size);
    TN_TRYP(tn_vec_push_obj(&args, x));
    if (!x) return NULL;
  }
  void *call = relay_call_new(f, tn_arr_from(&args), NULL);
  return call && d->pad && d->cut ? cut_off(d, call, ret) : call;
}

static tn_RelayFunction *new_main(dispatch *d) {
  const tn_RelayFunction *open;
  tn_GlobalVar *any;
  const tn_Type *ret;
  int64_t first = 0;
  TN_GETP(open, relay_with_extents(d->main, d->axes, relay_any()));
  TN_GETP(any, specialised(d, relay_any(), "any", &ret));
  d->params = open->params;
  while (d->axes[first] == RELAY_NO_AXIS) ++first;
  tn_RelayVar *x = (tn_RelayVar *)tn_arr_obj(d->params, first), *n;
  int64_t axis = axis_in(d, TN_AS(TensorType, x->type_annotation));
  void *at = relay_const_int(TN_I64, axis);
  void *shape =
      relay_call("shape_of", relay_attrs("shape_of", 1, "dtype", tn_any_dtype(TN_I64)), 1, x);
  void *extent = shape && at ? relay_call("take", NULL, 2, shape, at) : NULL;
  TN_GETP(n, relay_var("n", (tn_Type *)relay_scalar_type(TN_I64)));
  d->n = n;
  void *e = relay_call_new(any, d->params, NULL);
  for (int64_t i = d->nbucket; i-- > 0 && e;) {
    void *size = relay_const_int(TN_I64, d->buckets[i]), *own = run_bucket(d, d->buckets[i]);
    void *cond = own ? relay_binary(d->pad ? "less_equal" : "equal", n, size) : NULL;
    e = cond ? relay_if(cond, own, e) : NULL;
  }
  void *body = extent && e ? relay_let(n, extent, e) : NULL;
  return body ? relay_function(d->params, body, NULL, d->main->attrs) : NULL;
}

static int compare(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

static int read_buckets(dispatch *d, const tn_arr *given) {
  TN_CHECK(given && given->len > 0, ValueError, NULL,
           "FlexibleShapeDispatch: expected a list of extents");
  TN_GET(d->buckets, tn_alloc_zero((size_t)given->len, sizeof *d->buckets));
  for (int64_t i = 0; i < given->len; ++i) {
    int64_t v;
    TN_TRY(tn_any_to_int(&given->items[i], &v));
    TN_CHECK(v > 0 && v <= INT32_MAX, ValueError, NULL,
             "FlexibleShapeDispatch: expected positive extents, got %lld", (long long)v);
    bool known = false;
    for (int64_t k = 0; k < d->nbucket; ++k) known = known || d->buckets[k] == v;
    if (!known) d->buckets[d->nbucket++] = v;
  }
  qsort(d->buckets, (size_t)d->nbucket, sizeof *d->buckets, compare);
  return 0;
}

static int read_inputs(dispatch *d, const tn_arr *given) {
  int64_t n = d->main->params->len;
  TN_CHECK(n > 0, ValueError, NULL, "FlexibleShapeDispatch: main has no inputs");
  TN_GET(d->axes, tn_alloc_zero((size_t)n, sizeof *d->axes));
  for (int64_t i = 0; i < n; ++i) d->axes[i] = given ? RELAY_NO_AXIS : d->axis;
  TN_CHECK(!given || given->len > 0, ValueError, NULL,
           "FlexibleShapeDispatch: expected numbers of inputs");
  for (int64_t i = 0; given && i < given->len; ++i) {
    int64_t v;
    TN_TRY(tn_any_to_int(&given->items[i], &v));
    TN_CHECK(v >= 0 && v < n, ValueError, NULL, "FlexibleShapeDispatch: main has no input %lld",
             (long long)v);
    d->axes[v] = d->axis;
  }
  for (int64_t i = 0; i < n; ++i) {
    const tn_RelayVar *v = (const tn_RelayVar *)tn_arr_obj(d->main->params, i);
    const tn_TensorType *t = TN_AS(TensorType, v->type_annotation);
    TN_CHECK(d->axes[i] == RELAY_NO_AXIS || (t && t->shape->len <= MAX_NDIM), TypeError, v->span,
             "FlexibleShapeDispatch: %%%s is not a tensor", tn_cstr(v->vid->name_hint));
  }
  return 0;
}

static tn_IRModule *dispatched(dispatch *d, tn_IRModule *m, const tn_pass_ctx *c) {
  tn_GlobalVar *var;
  tn_arr *buckets, *inputs;
  tn_RelayFunction *f;
  TN_TRYP(tn_arg_obj(c->args, c->nargs, 0, &tn_type_Array, (tn_obj **)&buckets));
  TN_TRYP(tn_arg_opt(c->args, c->nargs, 4, &tn_type_Array, (tn_obj **)&inputs));
  TN_TRYP(tn_any_to_int(&c->args[1], &d->axis));
  TN_TRYP(tn_any_to_bool(&c->args[2], &d->pad));
  TN_TRYP(tn_any_to_float(&c->args[3], &d->pad_value));
  TN_TRYP(tn_any_to_bool(&c->args[5], &d->cut));
  TN_TRYP(read_buckets(d, buckets));
  TN_GETP(m, relay_infer_module(m));
  TN_GETP(var, ir_module_var(m, "main"));
  f = TN_AS(RelayFunction, ir_module_lookup(m, var));
  TN_CHECKP(f, TypeError, NULL, "FlexibleShapeDispatch: @main is not a function of Relay");
  d->main = f;
  TN_TRYP(read_inputs(d, inputs));
  TN_GETP(d->mod,
          ir_module_with_functions(m, tn_map_with(m->functions, tn_any_obj(var), tn_any_obj(f))));
  TN_GETP(f, new_main(d));
  TN_TRYP(ir_module_add(d->mod, var, (tn_BaseFunc *)f, true));
  return relay_infer_module(d->mod);
}

/* arguments: extents, axis, fill up, with what, numbers of inputs or None, are results affected */
tn_IRModule *relay_flexible_shape(tn_IRModule *m, const tn_pass_ctx *c) {
  dispatch d = {0};
  TN_CHECKP(c->nargs == 6, TypeError, NULL, "FlexibleShapeDispatch: expected 6 arguments");
  m = dispatched(&d, m, c);
  tn_free(d.axes);
  tn_free(d.buckets);
  return m;
}
