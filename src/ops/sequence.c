/* Values that are not single tensors (relay/value_types.h): sequences of any length, optional
   values. No kernels are made of these operators: the virtual machine and the interpreter have a
   function of the same name for each (runtime/vm/values.h).

     let %t = sequence.insert(%s, %x, sequence.length(%s));
     let %y = sequence.concat(%t, axis=0);

   value.widen(%x, to=T) is %x with a type that holds for more values: a tuple as a sequence, a
   tensor with dynamic extents, a value that may be missing. */
#include "ops/sequence.h"

#include "relay/value_types.h"
#include "tenon/object.h"

#define TN_FIELDS_ValueTypeAttrs(F, S) F(S, REF, Type, to, 0, "type of the result")
#define TN_FIELDS_SequenceConcatAttrs(F, S)                                                        \
  F(S, I64, , axis, 0, "along which elements are put together", "0")                               \
  F(S, BOOL, , new_axis, 0, "is the axis a new one?", "False")
#define TN_FIELDS_SequenceSplitAttrs(F, S)                                                         \
  F(S, I64, , axis, 0, "along which the tensor is taken apart", "0")                               \
  F(S, BOOL, , keepdims, 0, "do the parts keep the axis?", "True")
#define VALUE_ATTRS(N)                                                                             \
  N(ValueTypeAttrs, Attrs, "relay.attrs.ValueTypeAttrs", NODE, TREE, tn_no_hooks,                  \
    "attributes of value.widen, value.narrow and value.none")                                      \
  N(SequenceConcatAttrs, Attrs, "relay.attrs.SequenceConcatAttrs", NODE, TREE, tn_no_hooks,        \
    "attributes of sequence.concat")                                                               \
  N(SequenceSplitAttrs, Attrs, "relay.attrs.SequenceSplitAttrs", NODE, TREE, tn_no_hooks,          \
    "attributes of sequence.split")
TN_NODES_LOCAL(VALUE_ATTRS)

/* Type of the elements of argument 0. */
static int element_type(relay_rel *r, tn_Type **out) {
  if (TN_AS(IncompleteType, r->types[0])) return RELAY_WAIT;
  *out = relay_sequence_element(r->types[0]);
  RELAY_CHECK(r, *out, "expected a sequence, got %s", relay_type_text(r->types[0]));
  return RELAY_SOLVED;
}
#define ELEMENT_OF(name, r)                                                                        \
  tn_Type *name;                                                                                   \
  do {                                                                                             \
    int known_ = element_type(r, &name);                                                           \
    if (known_ != RELAY_SOLVED) return known_;                                                     \
  } while (0)

/* ---- sequences ---- */

static int at_relation(relay_rel *r) {
  ELEMENT_OF(e, r);
  RELAY_CHECK(r, !relay_is_no_element(e), "the sequence has no elements");
  return relay_rel_result(r, e);
}

static int erase_relation(relay_rel *r) {
  ELEMENT_OF(e, r);
  (void)e;
  return relay_rel_result(r, r->types[0]);
}

static int insert_relation(relay_rel *r) {
  ELEMENT_OF(e, r);
  if (TN_AS(IncompleteType, r->types[1])) return RELAY_WAIT;
  tn_Type *both = relay_is_no_element(e) ? r->types[1] : relay_join_types(e, r->types[1]);
  RELAY_CHECK(r, both, "a sequence of %s cannot hold %s", relay_type_text(e),
              relay_type_text(r->types[1]));
  return relay_rel_result(r, relay_sequence_type(both));
}

static int length_relation(relay_rel *r) {
  ELEMENT_OF(e, r);
  (void)e;
  return relay_rel_result(r, (tn_Type *)relay_scalar_type(TN_I64));
}

static int concat_relation(relay_rel *r) {
  const tn_SequenceConcatAttrs *a = r->attrs;
  ELEMENT_OF(e, r);
  const tn_TensorType *t = TN_AS(TensorType, e);
  TN_VEC(dims);
  RELAY_CHECK(r, t, "elements of type %s: their rank must be known", relay_type_text(e));
  int64_t n = t->shape->len + a->new_axis, axis = relay_rel_axis(r, a->axis, n);
  if (axis < 0) return RELAY_FAILED;
  for (int64_t i = 0; i < n; ++i) {
    tn_expr *d = i == axis ? relay_any() : relay_dim(t, a->new_axis && i > axis ? i - 1 : i);
    TN_TRY(tn_vec_push_obj(&dims, d));
  }
  return relay_rel_result(r, (tn_Type *)relay_tensor_type(tn_arr_from(&dims), t->dtype));
}

static int split_relation(relay_rel *r) {
  const tn_SequenceSplitAttrs *a = r->attrs;
  RELAY_TENSOR(t, r, 0);
  TN_VEC(dims);
  int64_t axis = relay_rel_axis(r, a->axis, t->shape->len);
  if (axis < 0) return RELAY_FAILED;
  for (int64_t i = 0; i < t->shape->len; ++i)
    if (i != axis || a->keepdims)
      TN_TRY(tn_vec_push_obj(&dims, i == axis ? relay_any() : relay_dim(t, i)));
  return relay_rel_result(
      r, relay_sequence_type((tn_Type *)relay_tensor_type(tn_arr_from(&dims), t->dtype)));
}

/* ---- optional values, and types ---- */

static int has_relation(relay_rel *r) {
  if (TN_AS(IncompleteType, r->types[0])) return RELAY_WAIT;
  return relay_rel_result(r, (tn_Type *)relay_scalar_type(TN_BOOL1));
}

static int get_relation(relay_rel *r) {
  if (TN_AS(IncompleteType, r->types[0])) return RELAY_WAIT;
  tn_Type *value = relay_optional_value(r->types[0]);
  return relay_rel_result(r, value ? value : r->types[0]);
}

static int none_relation(relay_rel *r) {
  const tn_ValueTypeAttrs *a = r->attrs;
  RELAY_CHECK(r, relay_optional_value(a->to), "expected an optional type, got %s",
              relay_type_text(a->to));
  return relay_rel_result(r, a->to);
}

static int widen_relation(relay_rel *r) {
  const tn_ValueTypeAttrs *a = r->attrs;
  if (TN_AS(IncompleteType, r->types[0])) return RELAY_WAIT;
  tn_Type *both = relay_join_types(r->types[0], a->to);
  if (!both && tn_error_pending()) return RELAY_FAILED;
  RELAY_CHECK(r, both && tn_equal(both, a->to, 0) == 1, "%s does not hold values of %s",
              relay_type_text(a->to), relay_type_text(r->types[0]));
  return relay_rel_result(r, a->to);
}

static int narrow_relation(relay_rel *r) {
  const tn_ValueTypeAttrs *a = r->attrs;
  tn_dtype t;
  if (TN_AS(IncompleteType, r->types[0])) return RELAY_WAIT;
  const tn_TensorType *to = TN_AS(TensorType, a->to), *from = TN_AS(TensorType, r->types[0]);
  if (from) t = from->dtype;
  RELAY_CHECK(r, to && (from || relay_is_any_tensor(r->types[0], &t)) && tn_dtype_eq(t, to->dtype),
              "%s cannot become %s", relay_type_text(r->types[0]), relay_type_text(a->to));
  return relay_rel_result(r, a->to);
}

static int squeeze_relation(relay_rel *r) {
  RELAY_TENSOR(t, r, 0);
  return relay_rel_result(r, relay_any_tensor_type(t->dtype));
}

/* ---- what the functions get besides ---- */

int ops_sequence_numbers(const tn_Op *op, const void *attrs, tn_vec *out) {
  static const char *const flags[] = {"axis", "new_axis", "keepdims"};
  const tn_TensorType *to = TN_AS(TensorType, (tn_obj *)relay_attr_obj(attrs, "to"));
  if (to && tn_str_eq(op->name, "value.narrow")) {
    for (int64_t i = 0; i < to->shape->len; ++i) {
      int64_t n;
      if (!tir_as_int(tn_arr_obj(to->shape, i), &n)) n = -1;
      TN_TRY(tn_vec_push(out, tn_any_int(n)));
    }
    return 0;
  }
  for (int i = 0; attrs && i < TN_COUNT(flags); ++i) {
    int64_t n = relay_attr_int(attrs, flags[i], INT64_MIN);
    if (n != INT64_MIN) TN_TRY(tn_vec_push(out, tn_any_int(n)));
  }
  return 0;
}

#define VALUE(name_, inputs_, attrs_, rel_name_, rel_, doc_)                                       \
  {                                                                                                \
    .name = name_, .inputs = inputs_, .attrs = attrs_, .level = 10, .pattern = RELAY_OPAQUE,       \
    .flags = RELAY_NON_COMPUTATIONAL | RELAY_ON_VALUES, .rel_name = rel_name_, .rel = rel_,        \
    .doc = doc_                                                                                    \
  }

static const relay_op_row rows[] = {
    VALUE("sequence.length", "sequence", NULL, "SequenceLength", length_relation,
          "how many elements a sequence has, int64"),
    VALUE("sequence.at", "sequence position", NULL, "SequenceAt", at_relation,
          "an element; positions count from the end where they are negative"),
    VALUE("sequence.insert", "sequence value position", NULL, "SequenceInsert", insert_relation,
          "the sequence with a value before the element at a position"),
    VALUE("sequence.erase", "sequence position", NULL, "SequenceErase", erase_relation,
          "the sequence without an element"),
    VALUE("sequence.concat", "sequence", &tn_type_SequenceConcatAttrs, "SequenceConcat",
          concat_relation, "the elements put together along an axis, or along a new one"),
    VALUE("sequence.split", "data sizes", &tn_type_SequenceSplitAttrs, "SequenceSplit",
          split_relation,
          "parts of a tensor: sizes along the axis, or one size for all, of which the last may be "
          "smaller"),
    VALUE("optional.has", "value", NULL, "OptionalHas", has_relation, "is the value there?"),
    VALUE("optional.get", "value", NULL, "OptionalGet", get_relation,
          "the value, which must be there"),
    VALUE("value.none", "", &tn_type_ValueTypeAttrs, "ValueNone", none_relation,
          "a value that is missing"),
    VALUE("value.widen", "value", &tn_type_ValueTypeAttrs, "ValueWiden", widen_relation,
          "the value with a type that holds for more values"),
    VALUE("value.narrow", "value", &tn_type_ValueTypeAttrs, "ValueNarrow", narrow_relation,
          "a tensor with a type that says more, which is checked when it runs"),
    VALUE("value.squeeze", "data", NULL, "ValueSqueeze", squeeze_relation,
          "the tensor without its axes of extent 1, which are known when it runs"),
};

RELAY_FAMILY(sequence, VALUE_ATTRS)
