/* Extents as values.

     shape_of(%x, dtype="int32")       Tensor[(2, 3), float32] -> Tensor[(2), int32]
     ndarray_size(%x)                  the number of elements
     vm.shape_of(%x, dtype="int64")    as shape_of, an instruction of the virtual machine */
#include "ir/imm.h"
#include "ops/ops.h"

#define TN_FIELDS_ShapeOfAttrs(F, S)     F(S, DTYPE, , dtype, 0, "type of the numbers", "\"int32\"")
#define TN_FIELDS_NdarraySizeAttrs(F, S) F(S, DTYPE, , dtype, 0, "type of the number", "\"int32\"")
#define SHAPE_OF_ATTRS(N)                                                                          \
  N(ShapeOfAttrs, Attrs, "relay.attrs.ShapeOfAttrs", NODE, TREE, tn_no_hooks,                      \
    "attributes of shape_of")                                                                      \
  N(NdarraySizeAttrs, Attrs, "relay.attrs.NdarraySizeAttrs", NODE, TREE, tn_no_hooks,              \
    "attributes of ndarray_size")
TN_NODES_LOCAL(SHAPE_OF_ATTRS)

static int shape_relation(relay_rel *r) {
  RELAY_TENSOR(data, r, 0);
  tn_arr *shape = tn_arr_of(1, tir_i32((int32_t)data->shape->len));
  return relay_rel_result(r, relay_tensor_type(shape, ((const tn_ShapeOfAttrs *)r->attrs)->dtype));
}

static tn_expr *shape_element(void *ctx, tn_arr *at) {
  const relay_compute *c = ctx;
  const tn_arr *shape = relay_input(c, 0)->shape;
  tn_dtype t = ((const tn_ShapeOfAttrs *)c->attrs)->dtype;
  tn_expr *e = tir_zero(t), *i = te_index(at, 0);
  for (int64_t k = shape->len; k-- > 0;)
    e = tir_select(tir_eq(i, tir_const_int(i->dtype, k)),
                   tir_cast(t, (tn_expr *)tn_arr_obj(shape, k), NULL), e, NULL);
  return e;
}

static tn_arr *shape(const relay_compute *c) {
  tn_arr *extents = tn_arr_of(1, tir_i32((int32_t)relay_input(c, 0)->shape->len));
  return tn_arr_of(
      1, te_compute(extents, shape_element, (void *)(uintptr_t)c, "T_shape", TE_INJECTIVE));
}

static int size_relation(relay_rel *r) {
  RELAY_TENSOR(data, r, 0);
  (void)data;
  return relay_rel_result(r, relay_scalar_type(((const tn_NdarraySizeAttrs *)r->attrs)->dtype));
}

static tn_expr *size_element(void *ctx, tn_arr *at) {
  const relay_compute *c = ctx;
  const tn_arr *extents = relay_input(c, 0)->shape;
  tn_dtype t = ((const tn_NdarraySizeAttrs *)c->attrs)->dtype;
  tn_expr *e = tir_one(t);
  (void)at;
  for (int64_t k = 0; k < extents->len; ++k)
    e = tir_mul(e, tir_cast(t, (tn_expr *)tn_arr_obj(extents, k), NULL));
  return e;
}

static tn_arr *size(const relay_compute *c) {
  return tn_arr_of(1, te_compute(tn_arr_of(0), size_element, (void *)(uintptr_t)c, "ndarray_size",
                                 TE_INJECTIVE));
}

static const relay_op_row rows[] = {
    {.name = "shape_of",
     .inputs = "data",
     .attrs = &tn_type_ShapeOfAttrs,
     .level = 10,
     .pattern = RELAY_INJECTIVE,
     .rel_name = "ShapeOf",
     .rel = shape_relation,
     .compute = shape,
     .doc = "the extents of the tensor",
     .precision = RELAY_FULL,
     .values = RELAY_FROM_SHAPE},
    {.name = "vm.shape_of",
     .inputs = "data",
     .attrs = &tn_type_ShapeOfAttrs,
     .level = 10,
     .pattern = RELAY_OPAQUE,
     .flags = RELAY_NON_COMPUTATIONAL,
     .rel_name = "ShapeOf",
     .rel = shape_relation,
     .doc = "the extents of the tensor, read by the virtual machine"},
    {.name = "ndarray_size",
     .inputs = "data",
     .attrs = &tn_type_NdarraySizeAttrs,
     .level = 10,
     .pattern = RELAY_INJECTIVE,
     .rel_name = "NdarraySize",
     .rel = size_relation,
     .compute = size,
     .doc = "the number of elements",
     .precision = RELAY_FULL,
     .values = RELAY_FROM_SHAPE},
};

RELAY_FAMILY(shape_of, SHAPE_OF_ATTRS)
