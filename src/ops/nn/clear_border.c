/* Images whose border is zeros: what a convolution has computed beyond the edge of its image, for
   one that has no border itself and is computed with it in bands of rows (FuseDepthwiseBlock).

     nn.contrib_clear_border(%x, padding=[1, 1, 1, 1], rows=14)
         Tensor[(1, 9, 58, 58, 16), float32] -> the same type */
#include "ir/imm.h"
#include "kernels/kernels.h"
#include "ops/ops.h"

#define TN_FIELDS_ClearBorderAttrs(F, S)                                                           \
  F(S, REF, Array, padding, TN_INTS,                                                               \
    "rows and columns that are cleared: top, left, bottom, right")                                 \
  F(S, I64, , rows, 0, "rows of the result behind the next convolution in a band")                 \
  F(S, I64, , convolutions, 0, "that follow in the same kernel: 1 or 2", "1")
#define CLEAR_BORDER_ATTRS(N)                                                                      \
  N(ClearBorderAttrs, Attrs, "relay.attrs.ClearBorderAttrs", NODE, TREE, tn_no_hooks,              \
    "attributes of nn.contrib_clear_border")
TN_NODES_LOCAL(CLEAR_BORDER_ATTRS)

enum { ROW = 2, COL = 3 };

typedef struct {
  const tn_Tensor *data;
  int64_t before[2], after[2]; /* rows, columns */
} border;

static int relation(relay_rel *r) {
  const tn_ClearBorderAttrs *a = r->attrs;
  int64_t before[2], after[2];
  RELAY_TENSOR(data, r, 0);
  RELAY_CHECK(r, data->shape->len > COL, "data: expected the axes N, C, H, W and maybe more");
  RELAY_CHECK(r, a->rows > 0 && (a->convolutions == 1 || a->convolutions == 2),
              "rows must be positive, convolutions 1 or 2, got %lld and %lld", (long long)a->rows,
              (long long)a->convolutions);
  if (ops_get_pads(a->padding, 2, before, after, "clear_border")) return ops_rel_failed(r);
  return relay_rel_result(r, data);
}

static tn_expr *within(tn_expr *cond, tn_expr *i, tn_expr *extent, int64_t before, int64_t after) {
  if (before > 0) cond = tir_and(cond, tir_ge(i, tir_const_int(i->dtype, before)));
  if (after > 0)
    cond = tir_and(cond, tir_lt(i, tir_sub(extent, tir_const_int(extent->dtype, after))));
  return cond;
}

static tn_expr *element(void *ctx, tn_arr *at) {
  const border *b = ctx;
  tn_expr *cond = tir_bool(true), *x = te_at(b->data, at);
  cond = within(cond, te_index(at, ROW), te_extent(b->data, ROW), b->before[0], b->after[0]);
  cond = within(cond, te_index(at, COL), te_extent(b->data, COL), b->before[1], b->after[1]);
  return tir_select(cond, x, tir_zero(b->data->dtype), NULL);
}

static tn_arr *compute(const relay_compute *c) {
  const tn_ClearBorderAttrs *a = c->attrs;
  border b = {.data = relay_input(c, 0)};
  tn_map *mark;
  TN_TRYP(ops_get_pads(a->padding, 2, b.before, b.after, "clear_border"));
  TN_GETP(mark,
          tn_map_with(NULL, tn_any_cstr(KERNEL_BANDS), tn_any_obj(tir_i32((int32_t)a->rows))));
  return tn_arr_of(
      1, te_compute_attrs(b.data->shape, element, &b, "T_clear_border", TE_INJECTIVE, mark));
}

static const relay_op_row rows[] = {
    {.name = "nn.contrib_clear_border",
     .inputs = "data",
     .attrs = &tn_type_ClearBorderAttrs,
     .level = 10,
     .pattern = RELAY_ELEMWISE,
     .rel_name = "ClearBorder",
     .rel = relation,
     .compute = compute,
     .shape = relay_shape_same,
     .doc = "images with zeros for their outermost rows and columns"},
};

RELAY_FAMILY(clear_border, CLEAR_BORDER_ATTRS)
