/* Scans: results whose steps along the first axis are computed from earlier steps.

     X = te.placeholder((m, n))                           for i: S[0, i] = X[0, i]
     state = te.placeholder((m, n))                       for t in range(1, m):
     init = te.compute((1, n), lambda _, i: X[0, i])   ->   for i:
     update = te.compute((m, n), lambda t, i:                 S[t, i] = S[t - 1, i] + X[t, i]
                         state[t - 1, i] + X[t, i])
     S = te.scan(init, update, state)

   The first values, the update, the state and the result are one buffer. */
#include "arith/analyzer.h"
#include "ir/expr.h"
#include "te/te_impl.h"

static tn_Tensor *tensor_at(const tn_arr *a, int64_t i) { return TN_AS(Tensor, tn_arr_obj(a, i)); }

static int check_computed(const char *name, const char *what, int64_t i, const tn_Tensor *t) {
  TN_CHECK(TN_AS(ComputeOp, t->op), ValueError, NULL,
           "scan %s: %s[%lld]: expected the result of a compute, got %s of a %s", name, what,
           (long long)i, tn_cstr(t->op->name), tn_obj_key(t->op));
  return 0;
}

/* One state: `first` are the steps that init gives, `all` those of the result. */
static int check_state(const tn_ScanOp *op, int64_t i, const tn_expr *first, const tn_expr *all) {
  TN_ARITH(a);
  const char *name = tn_cstr(op->name);
  const tn_Tensor *init = tensor_at(op->init, i), *update = tensor_at(op->update, i),
                  *state = tensor_at(op->state_placeholder, i);
  TN_CHECK(init && update && state, TypeError, NULL,
           "scan %s: init, update and state_placeholder %lld: expected tensors", name,
           (long long)i);
  TN_TRY(check_computed(name, "init", i, init));
  TN_TRY(check_computed(name, "update", i, update));
  TN_CHECK(TN_AS(PlaceholderOp, state->op), ValueError, NULL,
           "scan %s: state_placeholder[%lld]: expected a placeholder, got %s", name, (long long)i,
           tn_obj_key(state->op));
  TN_CHECK(tn_dtype_eq(init->dtype, state->dtype) && tn_dtype_eq(update->dtype, state->dtype),
           ValueError, NULL, "scan %s: init, state_placeholder and update %lld differ in type",
           name, (long long)i);
  int64_t n = state->shape->len;
  TN_CHECK(n > 0 && init->shape->len == n && update->shape->len == n, ValueError, NULL,
           "scan %s: expected init, state_placeholder and update %lld of one number of dimensions, "
           "at least 1; got %lld, %lld and %lld",
           name, (long long)i, (long long)init->shape->len, (long long)n,
           (long long)update->shape->len);
  TN_CHECK(
      arith_prove_equal(&a, (tn_expr *)tn_arr_obj(init->shape, 0), (tn_expr *)(uintptr_t)first),
      ValueError, NULL, "scan %s: init.shape[0] need to match scan_axis.dom.min (init %lld)", name,
      (long long)i);
  TN_CHECK(
      arith_prove_equal(&a, (tn_expr *)tn_arr_obj(update->shape, 0), (tn_expr *)(uintptr_t)all),
      ValueError, NULL,
      "scan %s: update.shape[0] need to match scan_axis.dom.min + scan_axis.dom.extent "
      "(update %lld)",
      name, (long long)i);
  for (int64_t k = 0; k < n; ++k) {
    tn_expr *e = (tn_expr *)tn_arr_obj(state->shape, k);
    bool fits = arith_prove_equal(&a, e, (tn_expr *)tn_arr_obj(update->shape, k)) &&
                (k == 0 || arith_prove_equal(&a, e, (tn_expr *)tn_arr_obj(init->shape, k)));
    TN_CHECK(fits, ValueError, NULL,
             "scan %s: init, state_placeholder and update %lld differ in shape[%lld]", name,
             (long long)i, (long long)k);
  }
  return 0;
}

/* Each state has its own memory, so no tensor may stand for two. */
static int check_distinct(const tn_ScanOp *op, const tn_arr *tensors, const char *what) {
  for (int64_t i = 0; i < tensors->len; ++i) {
    for (int64_t j = 0; j < i; ++j)
      TN_CHECK(!te_same_tensor(tensor_at(tensors, i), tensor_at(tensors, j)), ValueError, NULL,
               "scan %s: %s %lld and %lld are one tensor: each state needs its own",
               tn_cstr(op->name), what, (long long)j, (long long)i);
  }
  return 0;
}

/* An opaque axis for each axis of each result but the first. */
static int set_spatial(tn_ScanOp *op) {
  TN_VEC(axes);
  for (int64_t i = 0; i < op->update->len; ++i) {
    const tn_Tensor *t = tensor_at(op->update, i);
    for (int64_t k = 1; k < t->shape->len; ++k) {
      tn_expr *extent = (tn_expr *)tn_arr_obj(t->shape, k);
      tn_str *name = tn_str_fmt("%s.out%lld.i%lld", tn_cstr(op->name), (long long)i, (long long)k);
      tn_Var *v = name ? tir_var(name->data, extent->dtype) : NULL;
      tn_Range *dom = tir_range(tir_zero(extent->dtype), extent);
      TN_TRY(tn_vec_push_obj(&axes, v && dom ? tir_iter_var(dom, v, IR_ITER_OPAQUE, "") : NULL));
    }
  }
  tn_arr *all = tn_arr_from(&axes);
  tn_any value = tn_any_obj(all);
  if (!all) return -1;
  return tn_field_set((tn_obj *)op, tn_type_field(&tn_type_ScanOp, "spatial_axis_"), &value);
}

int te_init_scan(tn_obj *self) {
  tn_ScanOp *op = (tn_ScanOp *)self;
  const char *name = tn_cstr(op->name);
  int64_t n = op->init->len;
  TN_CHECK(n > 0 && op->update->len == n && op->state_placeholder->len == n, ValueError, NULL,
           "scan %s: expected init, update and state_placeholder of one length, at least 1; got "
           "%lld, %lld and %lld",
           name, (long long)n, (long long)op->update->len, (long long)op->state_placeholder->len);
  TN_CHECK(op->scan_axis->dom && op->scan_axis->iter_type == IR_ITER_ORDERED, ValueError, NULL,
           "scan %s: scan_axis: expected an ordered axis with a range", name);
  const tn_Range *dom = op->scan_axis->dom;
  const tn_expr *all;
  TN_GET(all, tir_add(dom->min, dom->extent));
  for (int64_t i = 0; i < n; ++i) TN_TRY(check_state(op, i, dom->min, all));
  TN_TRY(check_distinct(op, op->init, "init"));
  TN_TRY(check_distinct(op, op->update, "update"));
  TN_TRY(check_distinct(op, op->state_placeholder, "state_placeholder"));
  return op->spatial_axis_->len ? 0 : set_spatial(op);
}
