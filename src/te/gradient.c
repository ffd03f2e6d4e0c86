/* Gradients of tensors by reverse mode.

     dY/dX  =  sum over all Z that read X:  dY/dZ * dZ/dX,    from Y back to X

   Only what depends on the inputs asked for is visited, and zero addends are never made. */
#include "arith/analyzer.h"
#include "base/pmap.h"
#include "ir/expr.h"
#include "te/build.h"
#include "te/gradient_impl.h"

typedef struct {
  tn_Tensor *output, *head; /* head: NULL for the identity */
  const tn_arr *inputs;
  tn_arr *prefix;
  tn_pmap wanted;       /* operations through which the output depends on the inputs */
  tn_vec tensors, sums; /* of equal length: a tensor and the addends of its gradient (Array) */
} reverse;

static bool is_input(const reverse *w, const tn_Tensor *t) {
  for (int64_t i = 0; i < w->inputs->len; ++i) {
    if (te_same_tensor((const tn_Tensor *)tn_arr_obj(w->inputs, i), t)) return true;
  }
  return false;
}

/* ---- adding up ---- */

static tn_expr *add_elements(void *ctx, tn_arr *indices) {
  const tn_vec *addends = ctx;
  tn_expr *e = te_at((const tn_Tensor *)addends->items[0].v.obj, indices);
  for (int64_t i = 1; i < addends->len && e; ++i)
    e = tir_add(e, te_at((const tn_Tensor *)addends->items[i].v.obj, indices));
  return e;
}

static tn_expr *zero_element(void *ctx, tn_arr *indices) {
  (void)indices;
  return tir_zero(((const tn_Tensor *)ctx)->dtype);
}

tn_arr *te_joined(const tn_arr *a, const tn_arr *b) {
  TN_VEC(v);
  for (int64_t i = 0; i < a->len; ++i) TN_TRYP(tn_vec_push(&v, a->items[i]));
  for (int64_t i = 0; i < b->len; ++i) TN_TRYP(tn_vec_push(&v, b->items[i]));
  return tn_arr_from(&v);
}

/* (h..., x...) -> 1 where h and x are equal */
static tn_expr *identity_element(void *ctx, tn_arr *indices) {
  const tn_Tensor *t = ctx;
  tn_expr *same = tir_bool(true);
  int64_t n = indices->len / 2;
  for (int64_t i = 0; same && i < n; ++i)
    same = tir_and(same, tir_eq(te_index(indices, i), te_index(indices, n + i)));
  return same ? tir_select(same, tir_one(t->dtype), tir_zero(t->dtype), NULL) : NULL;
}

static tn_Tensor *identity(tn_Tensor *t) {
  tn_arr *shape = te_joined(t->shape, t->shape);
  return shape ? te_compute(shape, identity_element, t, "identity", "") : NULL;
}

/* ---- the addends of each tensor ---- */

static tn_arr *addends_of(const reverse *w, const tn_Tensor *t) {
  for (int64_t i = 0; i < w->tensors.len; ++i) {
    if (te_same_tensor((const tn_Tensor *)w->tensors.items[i].v.obj, t))
      return (tn_arr *)w->sums.items[i].v.obj;
  }
  return NULL;
}

static int set_addends(reverse *w, const tn_Tensor *t, tn_arr *now) {
  if (!now) return -1;
  for (int64_t i = 0; i < w->tensors.len; ++i) {
    if (!te_same_tensor((const tn_Tensor *)w->tensors.items[i].v.obj, t)) continue;
    w->sums.items[i].v.obj = (tn_obj *)now;
    return 0;
  }
  return tn_vec_push_obj(&w->tensors, t) || tn_vec_push_obj(&w->sums, now) ? -1 : 0;
}

static int add_addends(reverse *w, const tn_Tensor *t, const tn_vec *more) {
  TN_VEC(all);
  const tn_arr *old = addends_of(w, t);
  for (int64_t i = 0; old && i < old->len; ++i) TN_TRY(tn_vec_push(&all, old->items[i]));
  for (int64_t i = 0; i < more->len; ++i) TN_TRY(tn_vec_push(&all, more->items[i]));
  return set_addends(w, t, tn_arr_from(&all));
}

/* The gradient of a tensor, its addends added up; NULL without an error: zero. *out of the output
 * itself is the head. */
static int gradient_of(reverse *w, const tn_Tensor *t, tn_Tensor **out) {
  TN_VEC(addends);
  const tn_arr *found = addends_of(w, t);
  bool whole = te_same_tensor(t, w->output);
  *out = whole ? w->head : NULL;
  if (whole || !found || !found->len) return 0;
  if (found->len == 1) {
    *out = (tn_Tensor *)tn_arr_obj(found, 0);
    return 0;
  }
  for (int64_t i = 0; i < found->len; ++i) TN_TRY(tn_vec_push(&addends, found->items[i]));
  tn_str *name = tn_str_fmt("%s.grad", tn_cstr(t->op->name));
  tn_arr *shape = te_joined(w->prefix, t->shape);
  TN_GET(*out, name && shape ? te_compute(shape, add_elements, &addends, name->data, "") : NULL);
  return set_addends(w, t, tn_arr_of(1, *out));
}

/* ---- the way back ---- */

static int mark_wanted(reverse *w, const tn_arr *ops) {
  for (int64_t i = 0; i < ops->len; ++i) {
    const tn_Operation *op = (const tn_Operation *)tn_arr_obj(ops, i);
    const tn_arr *inputs;
    TN_GET(inputs, te_inputs(op));
    for (int64_t j = 0; j < inputs->len; ++j) {
      const tn_Tensor *t = (const tn_Tensor *)tn_arr_obj(inputs, j);
      if (is_input(w, t) || tn_pmap_get_int(&w->wanted, t->op, 0))
        TN_TRY(tn_pmap_put_int(&w->wanted, op, 1));
    }
  }
  return 0;
}

/* One result of an operation: on to all that it reads. */
static int back_from(reverse *w, tn_Tensor *t) {
  const tn_arr *inputs;
  tn_Tensor *by;
  bool whole = te_same_tensor(t, w->output);
  TN_TRY(gradient_of(w, t, &by));
  if (!by && !whole) return 0;
  TN_CHECK(TN_AS(ComputeOp, t->op), TenonError, NULL,
           "gradient: %s is a %s, which has no derivative", tn_cstr(t->op->name),
           tn_obj_key(t->op));
  TN_GET(inputs, te_inputs(t->op));
  for (int64_t i = 0; i < inputs->len; ++i) {
    TN_VEC(addends);
    const tn_Tensor *x = (const tn_Tensor *)tn_arr_obj(inputs, i);
    if (!is_input(w, x) && !tn_pmap_get_int(&w->wanted, x->op, 0)) continue;
    TN_TRY(te_gradient_through(t, x, by, w->prefix, &addends));
    if (addends.len) TN_TRY(add_addends(w, x, &addends));
  }
  return 0;
}

static tn_arr *run(reverse *w) {
  TN_VEC(out);
  const tn_arr *ops = te_post_order(tn_arr_of(1, w->output));
  if (!ops || mark_wanted(w, ops)) return NULL;
  for (int64_t i = ops->len; i-- > 0;) {
    tn_Operation *op = (tn_Operation *)tn_arr_obj(ops, i);
    for (int64_t j = 0; tn_pmap_get_int(&w->wanted, op, 0) && j < te_num_outputs(op); ++j) {
      tn_Tensor *t = te_output(op, j);
      if (!t || back_from(w, t)) return NULL;
    }
  }
  for (int64_t i = 0; i < w->inputs->len; ++i) {
    tn_Tensor *t = (tn_Tensor *)tn_arr_obj(w->inputs, i), *g;
    TN_TRYP(gradient_of(w, t, &g));
    if (!g && te_same_tensor(t, w->output)) TN_GETP(g, identity(t));
    tn_arr *shape = g ? NULL : te_joined(w->prefix, t->shape);
    if (!g) TN_GETP(g, shape ? te_compute(shape, zero_element, t, "zeros", "") : NULL);
    TN_TRYP(tn_vec_push_obj(&out, g));
  }
  return tn_arr_from(&out);
}

static bool is_float(const tn_Tensor *t) {
  return t->dtype.code == kDLFloat || t->dtype.code == kDLBfloat;
}

/* What is left of the head's shape before that of the output. */
static tn_arr *prefix_of(const tn_Tensor *output, const tn_Tensor *head) {
  TN_ARITH(a);
  TN_VEC(prefix);
  int64_t n = head ? head->shape->len - output->shape->len : 0;
  if (!head) return output->shape;
  TN_CHECKP(n >= 0, ValueError, NULL,
            "gradient: head: expected at least the %lld dimensions of the output, got %lld",
            (long long)output->shape->len, (long long)head->shape->len);
  for (int64_t i = 0; i < head->shape->len; ++i) {
    if (i < n) TN_TRYP(tn_vec_push(&prefix, head->shape->items[i]));
    TN_CHECKP(i < n || arith_prove_equal(&a, te_extent(head, i), te_extent(output, i - n)),
              ValueError, NULL, "gradient: head.shape[%lld] differs from output.shape[%lld]",
              (long long)i, (long long)(i - n));
  }
  return tn_arr_from(&prefix);
}

tn_arr *te_gradient(tn_Tensor *output, const tn_arr *inputs, tn_Tensor *head) {
  reverse w = {.output = output, .inputs = inputs, .head = head};
  TN_CHECKP(is_float(output) && (!head || is_float(head)), TypeError, NULL,
            "gradient: expected an output and head of floats");
  for (int64_t i = 0; i < inputs->len; ++i) {
    const tn_Tensor *t = TN_AS(Tensor, tn_arr_obj(inputs, i));
    TN_CHECKP(t && is_float(t), TypeError, NULL,
              "gradient: input %lld: expected a Tensor of floats", (long long)i);
  }
  TN_GETP(w.prefix, prefix_of(output, head));
  tn_arr *out = run(&w);
  tn_pmap_fini(&w.wanted);
  tn_vec_fini(&w.tensors);
  tn_vec_fini(&w.sums);
  return out;
}
