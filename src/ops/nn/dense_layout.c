/* Layouts of weights of dense layers.

     nn.dense(data, weight NC)  =>  nn.contrib_dense_pack(data, weight NC16n, weight_layout="NC16n")

   Weights of int8 lie in groups of four features, whose products share a lane of the sums
   (NC16n4c), those of bfloat16 (relay.backend.precision) in pairs: NC32n2c.

   The last block is padded with zeros, and `units` tells how many rows there are. Passes pack only
   weights that are constant: packing others takes as long as a product with few rows. The virtual
   machine, which knows how many there are, packs others too. */
#include <string.h>

#include "ir/imm.h"
#include "kernels/layout_choice.h"
#include "ops/layout.h"
#include "ops/nn/dense.h"
#include "relay/evaluate.h"
#include "relay/expr/call_builder.h"

/* Layout of the second argument as the attributes have it. */
static const char *weight_layout(const char *op, const void *attrs) {
  if (strcmp(op, "nn.contrib_dense_pack") == 0) return relay_attr_str(attrs, "weight_layout");
  bool matmul = strcmp(op, "nn.matmul") == 0;
  return !matmul || relay_attr_int(attrs, "transpose_b", 0) ? "NC" : "CN";
}

int ops_layouts_weight(relay_layouts *q) {
  tn_Layout *weight;
  if (q->types->len != 2) return 0;
  TN_GET(weight, tir_layout(weight_layout(tn_cstr(q->op->name), q->attrs), TN_I32));
  TN_GET(q->in, tn_arr_of(2, NULL, weight));
  TN_GET(q->out, tn_arr_of(1, NULL));
  return 1;
}

enum { LANE_BITS = 32 }; /* of a sum */

/* What is multiplied: rows of data (-1: not constant) with a constant weight of units times
 * features.
 */
typedef struct {
  tn_dtype dtype; /* of the result */
  tn_dtype weight;
  int64_t rows, units, features;
  int units_axis; /* of the weight */
} problem;

static int64_t rows_of(const tn_TensorType *data) {
  int64_t rows = 1, e;
  for (int64_t i = 0; i + 1 < data->shape->len; ++i) {
    if (!tir_as_int((tn_obj *)relay_dim(data, i), &e) || e < 0 || (e && rows > INT64_MAX / e))
      return -1;
    rows *= e;
  }
  return rows;
}

static const tn_dtype half = {kDLBfloat, 16, 1};

static bool is_byte(const tn_TensorType *t) {
  return ir_is_integral(t->dtype) && t->dtype.bits == 8;
}

static int64_t panel_of(const target_machine *m, const problem *p) {
  kernel_dense d = {p->dtype, p->weight, p->rows, p->units, p->features};
  return kernels_dense_panel(m, &d);
}

/* Features of a weight that share a lane. */
static int64_t group_of(const problem *p) {
  return p->weight.code == kDLFloat ? 1 : LANE_BITS / p->weight.bits;
}

/* All of float32 (the weight may be stored as float16), bfloat16 with sums of float32, or int8
   with sums of int32. */
static bool has_kernels(const tn_TensorType *data, const tn_TensorType *weight,
                        const tn_TensorType *out) {
  if (is_byte(data) && is_byte(weight)) return tn_dtype_eq(out->dtype, TN_I32);
  if (!tn_dtype_eq(out->dtype, TN_F32)) return false;
  bool small = weight->dtype.code == kDLFloat && weight->dtype.bits == 16;
  bool same = tn_dtype_eq(data->dtype, weight->dtype);
  return tn_dtype_eq(data->dtype, TN_F32) ? same || small : same && tn_dtype_eq(data->dtype, half);
}

static bool problem_of(const tn_RelayCall *c, const tn_Type *const types[3], problem *p) {
  const tn_TensorType *data = TN_AS(TensorType, types[0]), *weight = TN_AS(TensorType, types[1]),
                      *out = TN_AS(TensorType, types[2]);
  if (!data || !weight || !out || data->shape->len < 2 || weight->shape->len != 2 ||
      relay_attr_int(c->attrs, "transpose_a", 0))
    return false;
  *p = (problem){.dtype = out->dtype, .weight = weight->dtype, .rows = rows_of(data)};
  p->units_axis = weight_layout(relay_called_op(c), c->attrs)[0] == 'N' ? 0 : 1;
  if (tir_as_int((tn_obj *)relay_dim(weight, 1 - p->units_axis), &p->features) == 0)
    p->features = 1;
  return has_kernels(data, weight, out) &&
         tir_as_int((tn_obj *)relay_dim(weight, p->units_axis), &p->units) &&
         p->units < INT32_MAX / 2 && p->features % group_of(p) == 0;
}

/* The weight with zeros up to a whole number of blocks. */
static void *whole_blocks(void *weight, const problem *p, int64_t block) {
  int64_t none[2] = {0, 0}, more[2] = {0, (block - p->units % block) % block};
  if (!more[1]) return weight;
  tn_arr *kept = relay_ints(none, 2), *grown = relay_ints(more, 2);
  void *attrs = relay_attrs(
      "nn.pad", 1, "pad_width",
      tn_any_obj(p->units_axis == 0 ? tn_arr_of(2, grown, kept) : tn_arr_of(2, kept, grown)));
  return relay_call("nn.pad", attrs, 2, weight, relay_const_float(p->weight, 0));
}

static tn_str *panel_layout(const problem *p, int64_t block) {
  if (group_of(p) == 1) return tn_str_fmt("NC%lldn", (long long)block);
  return tn_str_fmt("NC%lldn%lldc", (long long)block, (long long)group_of(p));
}

static void *packed_call(const tn_RelayCall *c, const problem *p, int64_t block, void *weight) {
  void *attrs = relay_attrs(
      "nn.contrib_dense_pack", 3, "units", tn_any_obj(tir_i32((int32_t)p->units)), "out_dtype",
      tn_any_dtype(p->dtype), "weight_layout", tn_any_obj(panel_layout(p, block)));
  return relay_call("nn.contrib_dense_pack", attrs, 2, relay_arg(c, 0), weight);
}

void *ops_alter_dense(const relay_replace *r) {
  target_machine m;
  problem p;
  const tn_Type *types[3] = {(const tn_Type *)tn_arr_obj(r->types, 0),
                             (const tn_Type *)tn_arr_obj(r->types, 1), r->out_type};
  if (relay_known_depth(relay_arg(r->call, 1)) < 0 || !problem_of(r->call, types, &p) ||
      !kernels_machine(&m))
    return relay_leave(r);
  int64_t block = panel_of(&m, &p);
  if (!block || (group_of(&p) > 1 && !m.dots)) return relay_leave(r);
  return packed_call(r->call, &p, block, whole_blocks(relay_arg(r->call, 1), &p, block));
}

int ops_dense_panels(const tn_RelayCall *c, const target_machine *m, ops_panels *out) {
  problem p;
  const tn_Type *types[3] = {relay_type_of(relay_arg(c, 0)), relay_type_of(relay_arg(c, 1)),
                             relay_type_of(c)};
  if (!problem_of(c, types, &p) || !tn_dtype_eq(p.weight, TN_F32)) return 0;
  out->block = panel_of(m, &p);
  /* a kernel for fewer columns than a vector has does not pack them */
  if (!out->block || p.units * 4 < m->vector_bytes) return 0;
  void *attrs =
      relay_attrs("layout_transform", 2, "src_layout", tn_any_cstr(p.units_axis == 0 ? "NC" : "CN"),
                  "dst_layout", tn_any_obj(panel_layout(&p, out->block)));
  TN_GET(out->panels,
         relay_call("layout_transform", attrs, 1, whole_blocks(relay_arg(c, 1), &p, out->block)));
  return 1;
}

void *ops_dense_of_panels(const tn_RelayCall *c, const ops_panels *q, void *panels) {
  problem p;
  const tn_Type *types[3] = {relay_type_of(relay_arg(c, 0)), relay_type_of(relay_arg(c, 1)),
                             relay_type_of(c)};
  return problem_of(c, types, &p) ? packed_call(c, &p, q->block, panels) : NULL;
}

/* ---- products of bfloat16 ---- */

void *ops_relax_dense(const relay_replace *r) {
  target_machine m;
  problem p;
  const tn_Type *types[3] = {(const tn_Type *)tn_arr_obj(r->types, 0),
                             (const tn_Type *)tn_arr_obj(r->types, 1), r->out_type};
  if (relay_known_depth(relay_arg(r->call, 1)) < 0 || !problem_of(r->call, types, &p) ||
      !tn_dtype_eq(p.weight, TN_F32) || p.features % 2 || !kernels_machine(&m) || !panel_of(&m, &p))
    return relay_leave(r);
  int yes = kernels_may_relax(&m, r->narrow);
  if (yes <= 0) return yes < 0 ? NULL : relay_leave(r);
  void *attrs = relay_attrs_with(r->call->attrs, "out_dtype", tn_any_dtype(p.dtype));
  void *x = relay_cast(relay_arg(r->call, 0), half), *w = relay_cast(relay_arg(r->call, 1), half);
  return attrs && x && w ? relay_call(r->row->name, attrs, 2, x, w) : NULL;
}
