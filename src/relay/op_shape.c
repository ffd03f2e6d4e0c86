/* Shape functions: extents of an operator's results from those of its arguments (see op.h). */
#include "ir/expr.h"
#include "relay/relay_impl.h"

/* The type with the next of `shapes` for its extents; fields of tuples take one each. */
static tn_Type *with_shapes(tn_Type *t, const tn_arr *shapes, int64_t *next) {
  const tn_TupleType *tuple = TN_AS(TupleType, t);
  const tn_TensorType *tensor = TN_AS(TensorType, t);
  TN_VEC(fields);
  for (int64_t i = 0; tuple && i < tuple->fields->len; ++i) {
    tn_Type *field = with_shapes((tn_Type *)tn_arr_obj(tuple->fields, i), shapes, next);
    if (!field || tn_vec_push_obj(&fields, field)) return NULL;
  }
  if (tuple) return (tn_Type *)relay_tuple_type(tn_arr_from(&fields));
  TN_CHECKP(tensor && *next < shapes->len, TypeError, NULL,
            "shape function: expected a shape for every tensor among the arguments");
  return (tn_Type *)relay_tensor_type((tn_arr *)tn_arr_obj(shapes, (*next)++), tensor->dtype);
}

/* The extents of a type, as int64. 1, 0 where one is not known, -1 on failure. */
static int extents_of(const tn_Type *t, tn_vec *out) {
  const tn_TupleType *tuple = TN_AS(TupleType, t);
  const tn_TensorType *tensor = TN_AS(TensorType, t);
  for (int64_t i = 0; tuple && i < tuple->fields->len; ++i) {
    int known = extents_of((tn_Type *)tn_arr_obj(tuple->fields, i), out);
    if (known != 1) return known;
  }
  if (tuple || !tensor) return tuple != NULL;
  TN_VEC(shape);
  for (int64_t i = 0; i < tensor->shape->len; ++i) {
    if (relay_dim_is_any(relay_dim(tensor, i))) return 0;
    TN_TRY(tn_vec_push_obj(&shape, tir_cast(TN_I64, relay_dim(tensor, i), NULL)));
  }
  return tn_vec_push_obj(out, tn_arr_from(&shape)) ? -1 : 1;
}

/* What the relation makes of symbols, which is what it would make of numbers. */
static tn_Type *related(const tn_Op *op, const void *attrs, const tn_arr *arg_types,
                        const tn_arr *shapes) {
  TN_VEC(types);
  int64_t next = 0;
  for (int64_t i = 0; i < arg_types->len; ++i) {
    tn_Type *t = with_shapes((tn_Type *)tn_arr_obj(arg_types, i), shapes, &next);
    if (!t || tn_vec_push_obj(&types, t)) return NULL;
  }
  return relay_op_result_type(op, attrs, tn_arr_from(&types), NULL);
}

static tn_arr *by_relation(const tn_Op *op, const void *attrs, const tn_arr *arg_types,
                           const tn_arr *shapes) {
  TN_VEC(out);
  tn_Type *result = related(op, attrs, arg_types, shapes);
  int known = result ? extents_of(result, &out) : -1;
  if (known < 0) return NULL;
  TN_CHECKP(known, OpNotImplemented, NULL,
            "The operator %s has no shape function: give its arguments static shapes",
            tn_cstr(op->name));
  return tn_arr_from(&out);
}

/* Every extent as int64. */
static tn_arr *as_int64(const tn_arr *shapes) {
  TN_VEC(out);
  for (int64_t i = 0; i < shapes->len; ++i) {
    tn_TensorType t = {.hdr = {.type_index = TN_TI_TensorType},
                       .shape = (tn_arr *)tn_arr_obj(shapes, i)};
    TN_CHECKP(TN_AS(Array, t.shape), TypeError, NULL,
              "shape function: expected an array of extents for each result");
    if (extents_of((const tn_Type *)&t, &out) != 1) return NULL;
  }
  return tn_arr_from(&out);
}

/* A shape function does not say what it takes for granted; the relation does: that the columns of
   one matrix are as many as the rows of the other. Where it cannot work with symbols nothing is
   known. 0, or -1 with MemoryError. */
static int take_from_relation(const tn_Op *op, const void *attrs, const tn_arr *arg_types,
                              const tn_arr *shapes) {
  int64_t before = relay_count_conditions();
  if (before < 0 || related(op, attrs, arg_types, shapes)) return 0;
  if (tn_error_get_kind() == TN_MemoryError) return -1;
  tn_error_clear();
  relay_drop_conditions(before);
  return 0;
}

tn_arr *relay_op_shapes(const tn_Op *op, const void *attrs, tn_arr *arg_types, tn_arr *shapes,
                        tn_arr *values, tn_Type *out_type) {
  const relay_op_row *row = relay_op_row_of((const tn_obj *)op);
  if (!row || !row->shape) return by_relation(op, attrs, arg_types, shapes);
  TN_TRYP(take_from_relation(op, attrs, arg_types, shapes));
  TN_TRYP(relay_check_attrs(row->name, attrs, NULL));
  relay_shape_query q = {
      .row = row, .attrs = attrs, .shapes = shapes, .values = values, .out_type = out_type};
  tn_arr *result = row->shape(&q);
  return result ? as_int64(result) : NULL;
}

/* (op, attributes, types of the arguments, shapes, values or None, type of the result) */
static int shapes(TN_ARGS) {
  TN_CHECK(n >= 6, TypeError, NULL, "relay.op.Shapes: expected 6 arguments, got %d", n);
  TN_ARG_OBJ(Op, op, 0);
  TN_ARG_OPT(Attrs, attrs, 1);
  TN_ARG_ITEMS(Array(Type), types, 2);
  TN_ARG_ITEMS(Array(Array), given, 3);
  TN_ARG_OPT(Array, values, 4);
  TN_ARG_OPT(Type, out_type, 5);
  tn_TensorType *t;
  TN_VEC(all); /* numbers among the extents become constants */
  for (int64_t i = 0; i < given->len; ++i) {
    tn_arr *shape = TN_AS(Array, tn_arr_obj(given, i));
    TN_CHECK(shape, TypeError, NULL, "relay.op.Shapes: expected a list of shapes");
    TN_GET(t, relay_tensor_type(shape, TN_F32));
    TN_TRY(tn_vec_push_obj(&all, t->shape));
  }
  tn_arr *list = tn_arr_from(&all);
  list = list ? as_int64(list) : NULL;
  return list ? tn_ret_obj(ret, relay_op_shapes(op, attrs, types, list, values, out_type)) : -1;
}

static const tn_func_row functions[] = {{"relay.op.Shapes", shapes}};

int relay_op_shape_init(void) { return tn_func_register_rows(functions, TN_COUNT(functions)); }
