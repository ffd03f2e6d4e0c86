/* Matrix products: nn.matmul, nn.batch_matmul, nn.contrib_dense_pack.

     nn.batch_matmul(%a, %b, transpose_b=True)
         Tensor[(2, 3, 4), float32], Tensor[(2, 5, 4), float32] -> Tensor[(2, 3, 5), float32] */
#include "ir/imm.h"
#include "kernels/layout_choice.h"
#include "ops/gradients.h"
#include "ops/layout.h"
#include "ops/nn/dense.h"
#include "ops/ops.h"
#include "ops/qnn.h"
#include "tenon/object.h"

#define REWRITE_FIELDS(F, S)                                                                       \
  F(S, REF, String, auto_scheduler_rewritten_layout, 0, "layout of the second after a rewrite",    \
    "\"\"")                                                                                        \
  F(S, REF, Array, meta_schedule_original_shape, 0, "shape of the second before a rewrite", "[]")
#define TN_FIELDS_MatmulAttrs(F, S)                                                                \
  F(S, REF, PrimExpr, units, TN_OPT, "columns of the result", "None")                              \
  F(S, DTYPE, , out_dtype, 0, "type of the result, that of the first when empty", "\"\"")          \
  F(S, BOOL, , transpose_a, 0, "is the first transposed?", "False")                                \
  F(S, BOOL, , transpose_b, 0, "is the second transposed?", "False")                               \
  REWRITE_FIELDS(F, S)
#define TN_FIELDS_BatchMatmulAttrs(F, S)                                                           \
  F(S, DTYPE, , out_dtype, 0, "type of the result, that of the first when empty", "\"\"")          \
  F(S, BOOL, , transpose_a, 0, "are the first transposed?", "False")                               \
  F(S, BOOL, , transpose_b, 0, "are the second transposed?", "True")                               \
  REWRITE_FIELDS(F, S)
#define TN_FIELDS_DensePackAttrs(F, S)                                                             \
  F(S, REF, PrimExpr, units, TN_OPT, "number of rows of weight", "None")                           \
  F(S, DTYPE, , out_dtype, 0, "type of the result, that of data when empty", "\"\"")               \
  F(S, REF, String, weight_layout, 0, "layout of weight, as \"NC8n\"", "\"NC\"")
#define MATMUL_ATTRS(N)                                                                            \
  N(MatmulAttrs, Attrs, "relay.attrs.MatmulAttrs", NODE, TREE, tn_no_hooks,                        \
    "attributes of nn.matmul")                                                                     \
  N(BatchMatmulAttrs, Attrs, "relay.attrs.BatchMatmulAttrs", NODE, TREE, tn_no_hooks,              \
    "attributes of nn.batch_matmul")                                                               \
  N(DensePackAttrs, Attrs, "relay.attrs.DensePackAttrs", NODE, TREE, tn_no_hooks,                  \
    "attributes of nn.contrib_dense_pack")
TN_NODES_LOCAL(MATMUL_ATTRS)

/* What the two products have in common. */
typedef struct {
  tn_expr *units;
  tn_dtype out_dtype; /* of no bits when not given */
  bool ta, tb;
  int64_t b_ndim; /* dimensions of the second */
} product;

static product matmul_of(const void *attrs) {
  const tn_MatmulAttrs *a = attrs;
  return (product){a->units, a->out_dtype, a->transpose_a, a->transpose_b, 2};
}

static product batch_of(const void *attrs) {
  const tn_BatchMatmulAttrs *a = attrs;
  return (product){NULL, a->out_dtype, a->transpose_a, a->transpose_b, 3};
}

static product product_of(const relay_op_row *row, const void *attrs) {
  return row->which == 3 ? batch_of(attrs) : matmul_of(attrs);
}

/* Extent `from_end` places from the end. */
static tn_expr *extent(const tn_arr *shape, int64_t from_end) {
  return (tn_expr *)tn_arr_obj(shape, shape->len - from_end);
}

static tn_arr *out_shape(const product *p, const tn_arr *a, const tn_arr *b) {
  TN_VEC(out);
  for (int64_t i = 0; i + 2 < a->len; ++i) {
    tn_expr *e = (tn_expr *)tn_arr_obj(a, i);
    if (p->b_ndim == 3) e = relay_broadcast_dim(e, (tn_expr *)tn_arr_obj(b, i));
    TN_TRYP(tn_vec_push_obj(&out, e));
  }
  if (a->len > 1) TN_TRYP(tn_vec_push_obj(&out, extent(a, p->ta ? 1 : 2)));
  TN_TRYP(tn_vec_push_obj(&out, extent(b, p->tb ? 2 : 1)));
  return tn_arr_from(&out);
}

static tn_dtype result_dtype(tn_dtype out, tn_dtype a) { return out.bits == 0 ? a : out; }

/* ---- relations ---- */

static int check(const relay_rel *r, const product *p, const tn_TensorType *a,
                 const tn_TensorType *b) {
  RELAY_CHECK(r, p->b_ndim == 2 || a->shape->len == 3, "tensor_a: expected 3 dimensions, got %lld",
              (long long)a->shape->len);
  RELAY_CHECK(r, b->shape->len == p->b_ndim, "tensor_b: expected %lld dimensions, got %lld",
              (long long)p->b_ndim, (long long)b->shape->len);
  RELAY_CHECK(r, relay_dim_equal(extent(a->shape, p->ta ? 2 : 1), extent(b->shape, p->tb ? 1 : 2)),
              "shapes of tensor_a %s and tensor_b %s do not fit%s%s", relay_type_text(a),
              relay_type_text(b), p->ta ? ", transpose_a" : "", p->tb ? ", transpose_b" : "");
  tn_expr *n = extent(a->shape, a->shape->len), *m = extent(b->shape, b->shape->len);
  RELAY_CHECK(r, p->b_ndim == 2 || relay_broadcast_dim(n, m),
              "batch dimensions don't match: tensor_a %s, tensor_b %s", relay_type_text(a),
              relay_type_text(b));
  RELAY_CHECK(r, !p->units || relay_dim_equal(p->units, extent(b->shape, p->tb ? 2 : 1)) != 0,
              "units doesn't match tensor_b %s", relay_type_text(b));
  return 0;
}

static int relation(relay_rel *r) {
  product p = product_of(relay_op_row_of((const tn_obj *)r->op), r->attrs);
  RELAY_TENSOR(a, r, 0);
  RELAY_CHECK(r, a->shape->len > (p.ta ? 1 : 0), "tensor_a: too few dimensions");
  tn_TensorType *b = TN_AS(TensorType, r->types[1]);
  if (!b && p.units) { /* the second follows from `units` */
    tn_expr *k = extent(a->shape, p.ta ? 2 : 1);
    TN_GET(b,
           relay_tensor_type(p.tb ? tn_arr_of(2, p.units, k) : tn_arr_of(2, k, p.units), a->dtype));
    TN_TRY(relay_rel_assign(r, 1, (tn_Type *)b));
  }
  if (!b) return RELAY_WAIT;
  TN_TRY(check(r, &p, a, b));
  return relay_rel_result(
      r, relay_tensor_type(out_shape(&p, a->shape, b->shape), result_dtype(p.out_dtype, a->dtype)));
}

/* ---- computes ---- */

typedef struct {
  product p;
  const tn_Tensor *a, *b;
  tn_dtype dtype;
} matmul;

/* Index of an operand: what `at` says of its batch, then row and column. A batch is repeated where
   it is 1 and that of the other operand is not. */
static tn_expr *operand(const matmul *m, const tn_Tensor *t, const tn_arr *at, tn_expr *row,
                        tn_expr *column) {
  TN_VEC(v);
  for (int64_t i = 0; i + 2 < t->shape->len; ++i) {
    tn_expr *e = te_index(at, i), *own = te_extent(t, i);
    tn_expr *other = te_extent(t == m->a ? m->b : m->a, i);
    if (m->p.b_ndim == 3) e = ops_repeated_index(own, other, e);
    TN_TRYP(tn_vec_push_obj(&v, e));
  }
  if (t->shape->len > 1) TN_TRYP(tn_vec_push_obj(&v, row));
  TN_TRYP(tn_vec_push_obj(&v, column));
  return tir_cast(m->dtype, te_at(t, tn_arr_from(&v)), NULL);
}

static tn_expr *element(void *ctx, tn_arr *at) {
  const matmul *m = ctx;
  tn_IterVar *iv = te_reduce_axis(extent(m->a->shape, m->p.ta ? 2 : 1), "k");
  if (!iv) return NULL;
  tn_expr *k = (tn_expr *)iv->var, *column = te_index(at, at->len - 1);
  tn_expr *row = at->len > 1 ? te_index(at, at->len - 2) : NULL;
  tn_expr *a = operand(m, m->a, at, m->p.ta ? k : row, m->p.ta ? row : k);
  tn_expr *b = operand(m, m->b, at, m->p.tb ? column : k, m->p.tb ? k : column);
  return te_reduce(TE_SUM, tir_mul(a, b), tn_arr_of(1, iv), NULL);
}

static tn_arr *compute(const relay_compute *c) {
  matmul m = {product_of(c->row, c->attrs), relay_input(c, 0), relay_input(c, 1), {0}};
  m.dtype = result_dtype(m.p.out_dtype, m.a->dtype);
  bool dense = m.p.b_ndim == 2 && m.p.tb && !m.p.ta;
  TN_BUF(name);
  tn_buf_printf(&name, "T_%s_%c%c", m.p.b_ndim == 3 ? "batch_matmul" : "matmul", m.p.ta ? 'T' : 'N',
                m.p.tb ? 'T' : 'N');
  TN_TRYP(tn_buf_ok(&name));
  return tn_arr_of(1, te_compute(out_shape(&m.p, m.a->shape, m.b->shape), element, &m,
                                 tn_buf_cstr(&name),
                                 m.p.b_ndim == 3 ? "batch_matmul"
                                 : dense         ? "dense"
                                                 : "matmul"));
}

static tn_arr *shape_function(const relay_shape_query *q) {
  product p = product_of(q->row, q->attrs);
  return tn_arr_of(1, out_shape(&p, relay_shape_of(q, 0), relay_shape_of(q, 1)));
}

/* ---- packed weights ---- */

/* Extents of data with the last one replaced. */
static tn_arr *with_columns(const tn_arr *data, tn_expr *columns) {
  TN_VEC(shape);
  for (int64_t i = 0; i + 1 < data->len; ++i) TN_TRYP(tn_vec_push_obj(&shape, tn_arr_obj(data, i)));
  TN_TRYP(tn_vec_push_obj(&shape, columns));
  return tn_arr_from(&shape);
}

/* Weights may be padded to whole blocks: `units` tells how many rows they have. */
static tn_arr *packed_shape(const tn_DensePackAttrs *a, const tn_arr *data, const tn_arr *weight) {
  ops_axes w;
  TN_TRYP(ops_axes_of(tn_cstr(a->weight_layout), weight, true, &w));
  return with_columns(data, a->units ? a->units : OPS_AXIS(&w, 'N'));
}

static int relate_packed(relay_rel *r) {
  const tn_DensePackAttrs *a = r->attrs;
  ops_axes w;
  int64_t units, rows;
  RELAY_TENSOR(data, r, 0);
  RELAY_TENSOR(weight, r, 1);
  RELAY_CHECK(r, data->shape->len >= 2, "data: expected 2 or more dimensions, got %lld",
              (long long)data->shape->len);
  if (ops_axes_of(tn_cstr(a->weight_layout), weight->shape, true, &w)) return ops_rel_failed(r);
  RELAY_CHECK(r, relay_dim_equal(OPS_AXIS(&w, 'C'), relay_dim(data, -1)) != 0,
              "data %s doesn't match weight %s", relay_type_text(data), relay_type_text(weight));
  bool known = a->units && tir_as_int((const tn_obj *)a->units, &units) &&
               tir_as_int((const tn_obj *)OPS_AXIS(&w, 'N'), &rows);
  RELAY_CHECK(r, !known || (units >= 0 && units <= rows), "units=%lld, but weight %s has %lld rows",
              (long long)units, relay_type_text(weight), (long long)rows);
  return relay_rel_result(r, relay_tensor_type(packed_shape(a, data->shape, weight->shape),
                                               result_dtype(a->out_dtype, data->dtype)));
}

typedef struct {
  const tn_DensePackAttrs *attrs;
  const tn_Tensor *data, *weight;
  const tn_Tensor *before; /* the sums of the features before those of this piece; NULL: none */
  int64_t start;           /* the first feature of this piece */
  tn_expr *length;         /* how many it has */
} packed;

static tn_dtype packed_dtype(const packed *p) {
  return result_dtype(p->attrs->out_dtype, p->data->dtype);
}

static tn_expr *packed_element(void *ctx, tn_arr *at) {
  const packed *p = ctx;
  ops_axes w = {{NULL}};
  TN_VEC(row);
  tn_IterVar *iv = te_reduce_axis(p->length, "k");
  if (!iv) return NULL;
  tn_expr *k = (tn_expr *)iv->var;
  TN_GETP(k, tir_add(k, tir_const_int(k->dtype, p->start)));
  for (int64_t i = 0; i + 1 < at->len; ++i) TN_TRYP(tn_vec_push_obj(&row, te_index(at, i)));
  TN_TRYP(tn_vec_push_obj(&row, k));
  OPS_AXIS(&w, 'N') = te_index(at, at->len - 1);
  OPS_AXIS(&w, 'C') = k;
  tn_arr *place = ops_axes_to(tn_cstr(p->attrs->weight_layout), &w, false);
  tn_dtype t = packed_dtype(p);
  tn_expr *a = tir_cast(t, te_at(p->data, tn_arr_from(&row)), NULL),
          *b = tir_cast(t, te_at(p->weight, place), NULL), *both = tir_mul(a, b);
  return p->before ? te_sum_onto(te_at(p->before, at), both, tn_arr_of(1, iv))
                   : te_reduce(TE_SUM, both, tn_arr_of(1, iv), NULL);
}

/* Rows of data times units of weight as kernels see them. */
static kernel_dense problem_of(const packed *p, const ops_axes *w) {
  kernel_dense d = {packed_dtype(p), p->weight->dtype, 1, -1, -1};
  int64_t n;
  for (int64_t i = 0; i + 1 < p->data->shape->len; ++i) {
    if (!tir_as_int((tn_obj *)te_extent(p->data, i), &n) || __builtin_mul_overflow(d.rows, n, &n))
      n = -1;
    d.rows = d.rows < 0 ? -1 : n;
  }
  if (!tir_as_int((tn_obj *)OPS_AXIS(w, 'N'), &d.units)) d.units = -1;
  if (!tir_as_int((tn_obj *)te_extent(p->data, -1), &d.features)) d.features = -1;
  return d;
}

/* Rows of the weight in its innermost axis: [units / n][k][n]; 0: it has another layout. */
static int64_t panel_of(const packed *p) {
  const tn_Tensor *w = p->weight;
  int64_t n = 0;
  bool panels = w->shape->len == 3 && tir_as_int((tn_obj *)te_extent(w, 2), &n);
  return panels && tn_equal((tn_obj *)te_extent(w, 1), (tn_obj *)te_extent(p->data, -1), 0) == 1
             ? n
             : 0;
}

/* Sums of pieces of the features, each beginning with what the one before it gave. */
static tn_Tensor *products(packed *p, tn_arr *shape, const ops_axes *w) {
  target_machine m;
  kernel_dense d = problem_of(p, w);
  int64_t n = kernels_machine(&m) ? kernels_dense_pieces(&m, &d, panel_of(p)) : 1;
  tn_Tensor *all = NULL;
  p->length = te_extent(p->data, -1);
  if (n > 1) TN_GETP(p->length, tir_const_int(p->length->dtype, d.features / n));
  for (int64_t i = 0; i < n; ++i) {
    p->start = d.features / n * i;
    TN_GETP(all, te_compute(shape, packed_element, p, "T_dense_pack", "dense_pack"));
    p->before = all;
  }
  return all;
}

static tn_expr *same_element(void *ctx, tn_arr *at) { return te_at(ctx, at); }

/* All rows of the padded weights, so that blocks are whole; what is padding is then left out. */
static tn_arr *compute_packed(const relay_compute *c) {
  packed p = {.attrs = c->attrs, .data = relay_input(c, 0), .weight = relay_input(c, 1)};
  ops_axes w;
  tn_Tensor *all;
  TN_TRYP(ops_axes_of(tn_cstr(p.attrs->weight_layout), p.weight->shape, true, &w));
  tn_arr *shape = packed_shape(p.attrs, p.data->shape, p.weight->shape),
         *whole = with_columns(p.data->shape, OPS_AXIS(&w, 'N'));
  if (!shape || !whole) return NULL;
  TN_GETP(all, products(&p, whole, &w));
  if (tn_equal(shape, whole, 0) == 1) return tn_arr_of(1, all);
  return tn_arr_of(1, te_compute(shape, same_element, all, "T_dense_rows", TE_INJECTIVE));
}

static tn_arr *shape_of_packed(const relay_shape_query *q) {
  return tn_arr_of(1, packed_shape(q->attrs, relay_shape_of(q, 0), relay_shape_of(q, 1)));
}

static const relay_op_row rows[] = {
    {.name = "qnn.batch_matmul",
     .inputs = "x y x_zero_point y_zero_point x_scale y_scale",
     .attrs = &tn_type_BatchMatmulAttrs,
     .level = 11,
     .pattern = RELAY_OUT_ELEMWISE_FUSABLE,
     .rel_name = "QnnBatchMatmul",
     .rel = qnn_rel_batch_matmul,
     .legalize = qnn_lower_batch_matmul,
     .doc = "products of two lists of quantized matrices"},
    {.name = "nn.matmul",
     .inputs = "tensor_a tensor_b",
     .attrs = &tn_type_MatmulAttrs,
     .level = 1,
     .pattern = RELAY_OUT_ELEMWISE_FUSABLE,
     .rel_name = "Matmul",
     .rel = relation,
     .compute = compute,
     .shape = shape_function,
     .which = 2,
     .layouts = ops_layouts_weight,
     .alter = ops_alter_dense,
     .relax = ops_relax_dense,
     .grad = ops_grad_matmul,
     .doc = "matrix product, either matrix transposed where wanted",
     .precision = RELAY_LOW,
     .values = RELAY_COMPUTED,
     .form = RELAY_PRODUCT},
    {.name = "nn.batch_matmul",
     .inputs = "tensor_a tensor_b",
     .attrs = &tn_type_BatchMatmulAttrs,
     .level = 10,
     .pattern = RELAY_OUT_ELEMWISE_FUSABLE,
     .rel_name = "BatchMatmul",
     .rel = relation,
     .compute = compute,
     .shape = shape_function,
     .which = 3,
     .grad = ops_grad_batch_matmul,
     .doc = "matrix products of two lists of matrices",
     .precision = RELAY_LOW,
     .values = RELAY_COMPUTED,
     .form = RELAY_PRODUCT},
    {.name = "nn.contrib_dense_pack",
     .inputs = "data weight",
     .attrs = &tn_type_DensePackAttrs,
     .level = 10,
     .pattern = RELAY_OUT_ELEMWISE_FUSABLE,
     .rel_name = "DensePack",
     .rel = relate_packed,
     .compute = compute_packed,
     .shape = shape_of_packed,
     .layouts = ops_layouts_weight,
     .doc = "nn.dense with the rows of weight in blocks",
     .values = RELAY_COMPUTED,
     .form = RELAY_PRODUCT},
};

RELAY_FAMILY(matmul, MATMUL_ATTRS)
