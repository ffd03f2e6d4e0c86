/* Checks of computations over regions: does each region have the shape that the intrinsic takes, and
   do the axes of a piece have that of its result? What only a run can tell is bound when the program
   is lowered. */
#include "te/region.h"

#include "arith/analyzer.h"
#include "ir/expr.h"
#include "object/functions.h"

typedef struct {
  const tn_TensorComputeOp *op;
  const char *name, *intrin;
  arith_analyzer a;
} checker;

/* Is it certain that they are different? */
static bool differ(checker *c, const void *x, const void *y) {
  tn_expr *ne = tir_ne((tn_expr *)(uintptr_t)x, (tn_expr *)(uintptr_t)y);
  return ne && arith_prove(&c->a, ne);
}

static int check_range(checker *c, const tn_Tensor *t, const tn_Range *r, int64_t dim) {
  const tn_expr *n = (const tn_expr *)tn_arr_obj(t->shape, dim);
  tn_expr *end = tir_add(r->min, r->extent);
  tn_expr *below = end ? tir_lt(r->min, tir_zero(r->min->dtype)) : NULL,
          *above = below ? tir_gt(end, (tn_expr *)(uintptr_t)n) : NULL;
  if (!above) return -1;
  TN_CHECK(!arith_prove(&c->a, below) && !arith_prove(&c->a, above), ValueError, NULL,
           "compute %s: the region of %s lies outside of its dimension %lld", c->name,
           tn_cstr(t->op->name), (long long)dim);
  return 0;
}

/* Dimensions that the intrinsic lacks come first and take one index. */
static int check_input(checker *c, int64_t i) {
  const tn_Tensor *t = TN_AS(Tensor, tn_arr_obj(c->op->inputs, i)),
                  *want = (const tn_Tensor *)tn_arr_obj(c->op->intrin->inputs, i);
  const tn_arr *region = TN_AS(Array, tn_arr_obj(c->op->input_regions, i));
  TN_CHECK(t && region, TypeError, NULL, "compute %s: input %lld: expected a Tensor and its region",
           c->name, (long long)i);
  const char *of = tn_cstr(t->op->name);
  TN_CHECK(tn_dtype_eq(t->dtype, want->dtype), TypeError, NULL,
           "compute %s: input %s of the intrinsic %s: expected %s, got %s of %s", c->name,
           tn_cstr(want->op->name), c->intrin, TN_DT(want->dtype), TN_DT(t->dtype), of);
  TN_CHECK(region->len == t->shape->len, ValueError, NULL,
           "compute %s: expected %lld indices or slices of %s, got %lld", c->name,
           (long long)t->shape->len, of, (long long)region->len);
  int64_t extra = region->len - want->shape->len;
  TN_CHECK(extra >= 0, ValueError, NULL,
           "compute %s: input %s of the intrinsic %s has %lld dimensions, the region of %s %lld",
           c->name, tn_cstr(want->op->name), c->intrin, (long long)want->shape->len, of,
           (long long)region->len);
  for (int64_t k = 0; k < region->len; ++k) {
    const tn_Range *r = TN_AS(Range, tn_arr_obj(region, k));
    TN_CHECK(r, TypeError, NULL, "compute %s: region of %s: expected a Range, got %s", c->name, of,
             tn_obj_key(tn_arr_obj(region, k)));
    TN_TRY(check_range(c, t, r, k));
    TN_CHECK(k >= extra || tir_is_one(r->extent), ValueError, NULL,
             "compute %s: dimension %lld of %s: expected an index, got a slice: the intrinsic %s "
             "has no such dimension",
             c->name, (long long)k, of, c->intrin);
    TN_CHECK(k < extra || !differ(c, r->extent, tn_arr_obj(want->shape, k - extra)), ValueError,
             NULL,
             "compute %s: the region of %s has another extent along dimension %lld than %s of the "
             "intrinsic %s",
             c->name, of, (long long)k, tn_cstr(want->op->name), c->intrin);
  }
  return 0;
}

/* The last axes are those of the intrinsic's result; others of its result have one element. */
static int check_result(checker *c) {
  const tn_arr *axis = c->op->axis;
  int64_t loops = c->op->schedulable_ndim, piece;
  const tn_arr *shape;
  TN_CHECK(loops >= 0 && loops <= axis->len, ValueError, NULL,
           "compute %s: schedulable_ndim: expected 0 to %lld, the number of axes, got %lld",
           c->name, (long long)axis->len, (long long)loops);
  piece = axis->len - loops;
  TN_GET(shape, te_output_shape(c->op->intrin->op, 0));
  TN_CHECK(piece <= shape->len && shape->len <= axis->len, ValueError, NULL,
           "compute %s: the intrinsic %s computes %lld dimensions, but %lld of %lld axes are left "
           "for it",
           c->name, c->intrin, (long long)shape->len, (long long)piece, (long long)axis->len);
  for (int64_t i = 0; i < shape->len; ++i) {
    int64_t at = axis->len - shape->len + i;
    const tn_Range *dom = ((const tn_IterVar *)tn_arr_obj(axis, at))->dom;
    const void *want = at < loops ? tir_one(dom->extent->dtype) : dom->extent;
    if (!want) return -1;
    TN_CHECK(!differ(c, want, tn_arr_obj(shape, i)), ValueError, NULL,
             "compute %s: dimension %lld of a piece has another extent than the intrinsic %s "
             "computes",
             c->name, (long long)at, c->intrin);
  }
  return 0;
}

static int check_all(checker *c) {
  const tn_TensorComputeOp *op = c->op;
  const tn_arr *lists[] = {op->axis, op->reduce_axis};
  const tn_TeTensorIntrin *in = op->intrin;
  for (int k = 0; k < TN_COUNT(lists); ++k)
    for (int64_t i = 0; i < lists[k]->len; ++i) {
      const tn_IterVar *iv = (const tn_IterVar *)tn_arr_obj(lists[k], i);
      TN_CHECK(iv->dom, ValueError, NULL, "compute %s: axis %s has no range", c->name,
               tn_cstr(iv->var->name));
      TN_TRY(arith_bind_range(&c->a, iv->var, iv->dom, true));
    }
  TN_CHECK(op->inputs->len == in->inputs->len && op->input_regions->len == in->inputs->len,
           ValueError, NULL, "compute %s: the intrinsic %s takes %lld tensors, got %lld", c->name,
           c->intrin, (long long)in->inputs->len, (long long)op->inputs->len);
  TN_CHECK(op->scalar_inputs->len == in->scalar_params->len, ValueError, NULL,
           "compute %s: the intrinsic %s takes %lld numbers, got %lld", c->name, c->intrin,
           (long long)in->scalar_params->len, (long long)op->scalar_inputs->len);
  TN_CHECK(!op->reduce_axis->len || in->reduce_update, ValueError, NULL,
           "compute %s: reduce_axis is given, but the intrinsic %s has no reduce_update", c->name,
           c->intrin);
  for (int64_t i = 0; i < op->inputs->len; ++i) TN_TRY(check_input(c, i));
  return check_result(c);
}

static int init_region(tn_obj *self) {
  const tn_TensorComputeOp *op = (const tn_TensorComputeOp *)self;
  checker c = {.op = op, .name = tn_cstr(op->name), .intrin = tn_cstr(op->intrin->name)};
  int rc = check_all(&c);
  arith_fini(&c.a);
  return rc;
}

static const tn_type_hooks region_hooks = {.init = init_region};
TN_NODES_DEFINE(TN_TE_REGION_NODES, te_region_types)

int te_region_init(void) {
  return tn_type_register_table(te_region_types, TN_COUNT(te_region_types));
}
