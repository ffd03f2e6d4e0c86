/* The first elements of each sequence turned around, as many as its length says.

     reverse_sequence(%x, %lengths, seq_axis=1, batch_axis=0)   r[b][i] = x[b][lengths[b] - 1 - i]
 */
#include "ir/imm.h"
#include "ops/ops.h"

#define TN_FIELDS_ReverseSequenceAttrs(F, S)                                                       \
  F(S, I64, , seq_axis, 0, "axis that is turned around", "1")                                      \
  F(S, I64, , batch_axis, 0, "axis of the sequences, along which the lengths lie", "0")
#define REVERSE_SEQUENCE_ATTRS(N)                                                                  \
  N(ReverseSequenceAttrs, Attrs, "relay.attrs.ReverseSequenceAttrs", NODE, TREE, tn_no_hooks,      \
    "attributes of reverse_sequence")
TN_NODES_LOCAL(REVERSE_SEQUENCE_ATTRS)

static int relation(relay_rel *r) {
  const tn_ReverseSequenceAttrs *a = r->attrs;
  RELAY_TENSOR(data, r, 0);
  RELAY_TENSOR(lengths, r, 1);
  RELAY_CHECK(r, lengths->shape->len == 1, "seq_lengths should be a 1D tensor, got %s",
              relay_type_text(lengths));
  RELAY_CHECK(r, ir_is_integral(lengths->dtype), "seq_lengths must be integers, got %s",
              TN_DT(lengths->dtype));
  int64_t axis = relay_rel_axis(r, a->seq_axis, data->shape->len),
          batch = relay_rel_axis(r, a->batch_axis, data->shape->len);
  if (axis < 0 || batch < 0) return RELAY_FAILED;
  RELAY_CHECK(r, relay_dim_equal(relay_dim(data, batch), relay_dim(lengths, 0)) != 0,
              "for batch_axis=%lld, seq_lengths should have the extent of that axis, got %s",
              (long long)a->batch_axis, relay_type_text(lengths));
  return relay_rel_result(r, data);
}

/* Lengths beyond the axis are cut off: nothing outside is read. */
static tn_expr *element(void *ctx, tn_arr *at) {
  const relay_compute *c = ctx;
  const tn_ReverseSequenceAttrs *a = c->attrs;
  const tn_Tensor *data = relay_input(c, 0), *lengths = relay_input(c, 1);
  int64_t n = data->shape->len, axis = a->seq_axis < 0 ? a->seq_axis + n : a->seq_axis,
          batch = a->batch_axis < 0 ? a->batch_axis + n : a->batch_axis;
  tn_expr *i = te_index(at, axis), *extent = te_extent(data, axis), *length;
  TN_GETP(length, te_at(lengths, tn_arr_of(1, te_index(at, batch))));
  length = tir_cast(TN_I64, tir_max(length, tir_zero(length->dtype)), NULL);
  length = tir_min(length, tir_cast(TN_I64, extent, NULL));
  tn_expr *back = tir_sub(tir_sub(length, tir_i64(1)), tir_cast(TN_I64, i, NULL));
  back = ops_data_index(back, extent, OPS_CLIP);
  tn_expr *turned = tir_lt(tir_cast(TN_I64, i, NULL), length);
  return te_at(data, ops_with_index(at, axis, tir_select(turned, back, i, NULL)));
}

static tn_arr *compute(const relay_compute *c) {
  return tn_arr_of(1, te_compute(relay_input(c, 0)->shape, element, (void *)(uintptr_t)c,
                                 "T_reverse_sequence", TE_INJECTIVE));
}

static const relay_op_row rows[] = {
    {.name = "reverse_sequence",
     .inputs = "data seq_lengths",
     .attrs = &tn_type_ReverseSequenceAttrs,
     .level = 3,
     .pattern = RELAY_INJECTIVE,
     .rel_name = "ReverseSequence",
     .rel = relation,
     .compute = compute,
     .shape = relay_shape_same,
     .doc = "the first elements of each sequence turned around",
     .values = RELAY_MOVED},
};

RELAY_FAMILY(reverse_sequence, REVERSE_SEQUENCE_ATTRS)
