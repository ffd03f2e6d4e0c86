/* What the virtual machine does for kernels, one instruction each (relay/memory/manifest_alloc.c puts
   them into programs).

     vm.invoke_tvm_op(%f, (%a, %b), (%out,))            %f reads the first, writes the last
     vm.shape_func(%f, (%sa, %b), (%sout,), is_input=[0, 1])
                                                        extents of its results from the shape of
                                                        one argument and the values of another
     vm.make_shape((%a,), extents=[-1, 4])              extent 0 of %a, and 4
     vm.check_extents(%f, (%a, %b), extents=[-1, -65])  an error where extent 0 of both differs
     vm.check_shapes(%f, %fit)                          an error where %fit is 0
     vm.reshape_tensor(%a, %shape, newshape=[2, ?])     the elements of %a under another shape

   An extent that is not negative is a number; -1 - (64 * i + k) is extent k of tensor i. */
#include "ops/ops.h"

#define TN_FIELDS_ShapeFuncAttrs(F, S)                                                             \
  F(S, REF, Array, is_input, TN_INTS, "for each input 1: its values are read, 0: it is a shape")
#define TN_FIELDS_ReshapeTensorAttrs(F, S)                                                         \
  F(S, REF, Array(PrimExpr), newshape, 0, "extents as far as they are known")
#define TN_FIELDS_VMExtentsAttrs(F, S)                                                             \
  F(S, REF, Array, extents, TN_INTS,                                                               \
    "extents: numbers, or -1 - (64 * i + k) for extent k of tensor i; pairs of equal ones")
#define VM_ATTRS(N)                                                                                \
  N(ShapeFuncAttrs, Attrs, "relay.attrs.ShapeFuncAttrs", NODE, TREE, tn_no_hooks,                  \
    "attributes of vm.shape_func")                                                                 \
  N(ReshapeTensorAttrs, Attrs, "relay.attrs.ReshapeTensorAttrs", NODE, TREE, tn_no_hooks,          \
    "attributes of vm.reshape_tensor")                                                             \
  N(VMExtentsAttrs, Attrs, "relay.attrs.VMExtentsAttrs", NODE, TREE, tn_no_hooks,                  \
    "attributes of vm.make_shape and vm.check_extents")
TN_NODES_LOCAL(VM_ATTRS)

enum { MAX_DIMS = 64 }; /* of a tensor in the machine */

static int nothing(relay_rel *r) { return relay_rel_result(r, relay_tuple_type(tn_arr_of(0))); }

/* Argument i as a function. */
static int function_at(relay_rel *r, int i, tn_FuncType **out) {
  if (TN_AS(IncompleteType, r->types[i])) return RELAY_WAIT;
  *out = TN_AS(FuncType, r->types[i]);
  RELAY_CHECK(r, *out, "expected a function, got %s", relay_type_text(r->types[i]));
  return RELAY_SOLVED;
}
#define FUNCTION_AT(name, r, i)                                                                    \
  tn_FuncType *name;                                                                               \
  do {                                                                                             \
    int known_ = function_at(r, i, &name);                                                         \
    if (known_ != RELAY_SOLVED) return known_;                                                     \
  } while (0)

/* Does a tensor fit where a kernel has the type `want`? */
static bool fits(const tn_TensorType *t, const tn_Type *want) {
  const tn_TensorType *w = TN_AS(TensorType, want);
  if (!w || w->shape->len != t->shape->len || !tn_dtype_eq(w->dtype, t->dtype)) return false;
  for (int64_t i = 0; i < t->shape->len; ++i)
    if (relay_dim_equal(relay_dim(t, i), relay_dim(w, i)) == 0) return false;
  return true;
}

/* Fields of a tuple, one after the other, against types of a kernel, tuples of which count as their
 * fields. @param at the next field */
static int check_fields(const relay_rel *r, const tn_TupleType *given, const tn_Type *want,
                        int64_t *at) {
  const tn_TupleType *many = TN_AS(TupleType, want);
  for (int64_t i = 0; many && i < many->fields->len; ++i)
    if (check_fields(r, given, (const tn_Type *)tn_arr_obj(many->fields, i), at) < 0)
      return RELAY_FAILED;
  if (many) return RELAY_SOLVED;
  RELAY_CHECK(r, *at < given->fields->len, "%lld tensors are too few for %s",
              (long long)given->fields->len, relay_type_text(r->types[0]));
  const tn_TensorType *t = TN_AS(TensorType, tn_arr_obj(given->fields, (*at)++));
  RELAY_CHECK(r, t && fits(t, want), "tensor %lld: expected %s, got %s", (long long)*at - 1,
              relay_type_text(want), relay_type_text(t));
  return RELAY_SOLVED;
}

/* (func, inputs, outputs) */
static int invoke_relation(relay_rel *r) {
  int64_t in = 0, out = 0;
  FUNCTION_AT(f, r, 0);
  RELAY_TUPLE_OF(inputs, r, 1);
  RELAY_TUPLE_OF(outputs, r, 2);
  for (int64_t i = 0; i < f->arg_types->len; ++i)
    if (check_fields(r, inputs, (const tn_Type *)tn_arr_obj(f->arg_types, i), &in) < 0)
      return RELAY_FAILED;
  if (check_fields(r, outputs, f->ret_type, &out) < 0) return RELAY_FAILED;
  RELAY_CHECK(r, in == inputs->fields->len && out == outputs->fields->len,
              "%lld inputs and %lld outputs are too many for %s", (long long)inputs->fields->len,
              (long long)outputs->fields->len, relay_type_text(f));
  return nothing(r);
}

/* (func, inputs, outputs) */
static int shape_func_relation(relay_rel *r) {
  const tn_ShapeFuncAttrs *a = r->attrs;
  FUNCTION_AT(f, r, 0);
  RELAY_TUPLE_OF(inputs, r, 1);
  RELAY_TUPLE_OF(outputs, r, 2);
  (void)f, (void)outputs;
  RELAY_CHECK(r, a->is_input->len == inputs->fields->len, "%lld inputs, %lld in is_input",
              (long long)inputs->fields->len, (long long)a->is_input->len);
  return nothing(r);
}

/* Are the extents numbers, or those of the tensors? */
static int check_places(const relay_rel *r, const tn_arr *extents, const tn_TupleType *tensors) {
  for (int64_t i = 0; i < extents->len; ++i) {
    int64_t n, at;
    RELAY_CHECK(r, tir_as_int(tn_arr_obj(extents, i), &n), "an extent that is not a number");
    if (n >= 0) continue;
    at = -(n + 1);
    const tn_TensorType *t = at / MAX_DIMS < tensors->fields->len
                                 ? TN_AS(TensorType, tn_arr_obj(tensors->fields, at / MAX_DIMS))
                                 : NULL;
    RELAY_CHECK(r, t && at % MAX_DIMS < t->shape->len, "unknown extent %lld of tensor %lld",
                (long long)(at % MAX_DIMS), (long long)(at / MAX_DIMS));
  }
  return RELAY_SOLVED;
}

/* (tensors) */
static int make_shape_relation(relay_rel *r) {
  const tn_VMExtentsAttrs *a = r->attrs;
  RELAY_TUPLE_OF(tensors, r, 0);
  RELAY_CHECK(r, a->extents->len <= MAX_DIMS, "a shape of %lld extents",
              (long long)a->extents->len);
  if (check_places(r, a->extents, tensors) < 0) return RELAY_FAILED;
  return relay_rel_result(r, relay_tensor_type_of(&a->extents->len, 1, TN_I64));
}

/* (func, tensors) */
static int check_extents_relation(relay_rel *r) {
  const tn_VMExtentsAttrs *a = r->attrs;
  FUNCTION_AT(f, r, 0);
  RELAY_TUPLE_OF(tensors, r, 1);
  (void)f;
  RELAY_CHECK(r, a->extents->len % 2 == 0, "%lld extents are not pairs",
              (long long)a->extents->len);
  if (check_places(r, a->extents, tensors) < 0) return RELAY_FAILED;
  return nothing(r);
}

/* (func, tensors, fit) */
static int check_shapes_relation(relay_rel *r) {
  FUNCTION_AT(f, r, 0);
  RELAY_TUPLE_OF(tensors, r, 1);
  RELAY_TENSOR(fit, r, 2);
  (void)f;
  (void)tensors;
  RELAY_CHECK(r, fit->shape->len == 0, "expected a scalar, got %s", relay_type_text(fit));
  return nothing(r);
}

/* (data, shape) */
static int reshape_relation(relay_rel *r) {
  const tn_ReshapeTensorAttrs *a = r->attrs;
  int64_t n;
  RELAY_TENSOR(data, r, 0);
  RELAY_TENSOR(shape, r, 1);
  RELAY_CHECK(r,
              shape->shape->len == 1 && shape->dtype.code == kDLInt &&
                  tir_as_int(tn_arr_obj(shape->shape, 0), &n) && n == a->newshape->len,
              "expected %lld extents for the shape, got %s", (long long)a->newshape->len,
              relay_type_text(shape));
  return relay_rel_result(r, relay_tensor_type(a->newshape, data->dtype));
}

#define INSTRUCTION(name_, inputs_, attrs_, flags_, rel_name_, rel_, doc_)                         \
  {                                                                                                \
    .name = name_, .inputs = inputs_, .attrs = attrs_, .level = 10, .pattern = RELAY_OPAQUE,       \
    .flags = RELAY_NON_COMPUTATIONAL | (flags_), .rel_name = rel_name_, .rel = rel_, .doc = doc_   \
  }

/* (func, arguments) */
static int call_lowered_relation(relay_rel *r) {
  int64_t in = 0;
  FUNCTION_AT(f, r, 0);
  RELAY_TUPLE_OF(inputs, r, 1);
  for (int64_t i = 0; i < f->arg_types->len; ++i)
    if (check_fields(r, inputs, (const tn_Type *)tn_arr_obj(f->arg_types, i), &in) < 0)
      return RELAY_FAILED;
  RELAY_CHECK(r, in == inputs->fields->len, "%lld arguments are too many for %s",
              (long long)inputs->fields->len, relay_type_text(f));
  return relay_rel_result(r, f->ret_type);
}

static const relay_op_row rows[] = {
    INSTRUCTION("call_lowered", "func inputs", NULL, 0, "CallLowered", call_lowered_relation,
                "the result of a function that is a kernel already (AOTLowerMain)"),
    INSTRUCTION("vm.invoke_tvm_op", "func inputs outputs", NULL, RELAY_STATEFUL, "InvokeTVMOp",
                invoke_relation, "a kernel reads tensors and writes others; the empty tuple"),
    INSTRUCTION("vm.shape_func", "func inputs outputs", &tn_type_ShapeFuncAttrs, RELAY_STATEFUL,
                "ShapeFuncRel", shape_func_relation,
                "writes extents of a kernel's results; the empty tuple"),
    INSTRUCTION("vm.make_shape", "tensors", &tn_type_VMExtentsAttrs, 0, "MakeShape",
                make_shape_relation, "a shape of extents that are known, or those of tensors"),
    INSTRUCTION("vm.check_extents", "func tensors", &tn_type_VMExtentsAttrs, RELAY_STATEFUL,
                "CheckExtents", check_extents_relation,
                "an error where two extents of a pair differ; the empty tuple"),
    INSTRUCTION("vm.check_shapes", "func tensors fit", NULL, RELAY_STATEFUL, "CheckShapes",
                check_shapes_relation,
                "an error where fit is 0: the tensors do not fit together; the empty tuple"),
    INSTRUCTION("vm.reshape_tensor", "data shape", &tn_type_ReshapeTensorAttrs, 0, "ReshapeTensor",
                reshape_relation, "the elements of a tensor under another shape"),
};

RELAY_FAMILY(vm, VM_ATTRS)
