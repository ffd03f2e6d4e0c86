/* Products of integers of a few bits, which may be packed: bit planes of words.

     nn.bitpack(%x, bits=2, pack_axis=1, bit_axis=4, pack_type="uint8")
         Tensor[(1, 64, 8, 8), int16] -> Tensor[(1, 8, 8, 8, 2), uint8]
     nn.bitserial_conv2d(%x, %w, channels=32, activation_bits=2, weight_bits=1)
     nn.bitserial_dense(%x, %w, units=32, data_bits=2)

   The first of the elements in a word is its highest bit. Data counts with its lowest bits; those of
   a weight are 0 or 1, or -1 or 1 where it is unipolar (so the old interface calls it): n bits w are
   2 * w - (2 ** n - 1) then. A weight with one more axis is packed: the last one of a convolution,
   the one in the middle of a dense layer. Products are computed as those of other integers. */
#include <string.h>

#include "ir/imm.h"
#include "ir/op.h"
#include "ops/ops.h"

#define PRODUCT_FIELDS(F, S)                                                                       \
  F(S, DTYPE, , pack_dtype, 0, "type of the words of a packed weight", "\"uint32\"")               \
  F(S, DTYPE, , out_dtype, 0, "type of the result, that of data when empty", "\"int16\"")          \
  F(S, BOOL, , unipolar, 0, "do bits of the weight mean -1 and 1?", "True")
#define TN_FIELDS_BitPackAttrs(F, S)                                                               \
  F(S, I64, , bits, 0, "how many of each element's bits", "1")                                     \
  F(S, I64, , pack_axis, 0, "axis whose elements share words", "1")                                \
  F(S, I64, , bit_axis, 0, "place of the new axis, that of bits", "2")                             \
  F(S, DTYPE, , pack_type, 0, "type of the words", "\"uint32\"")                                   \
  F(S, REF, String, name, 0, "not used", "\"BitPack\"")
#define TN_FIELDS_BinaryConv2DAttrs(F, S)                                                          \
  F(S, REF, Array, strides, TN_INTS, "steps of the window", "[1, 1]")                              \
  F(S, REF, Array, padding, TN_INTS,                                                               \
    "zeros put around: one number, one for each axis, or those before and after", "[0, 0]")        \
  F(S, REF, PrimExpr, channels, TN_OPT, "channels of the result", "None")                          \
  F(S, REF, Array, kernel_size, TN_INTS, "extents of the kernel", "[3, 3]")                        \
  F(S, I64, , activation_bits, 0, "bits of data", "1")                                             \
  F(S, I64, , weight_bits, 0, "bits of weight", "1")                                               \
  F(S, REF, String, data_layout, 0, "layout of data", "\"NCHW\"")                                  \
  F(S, REF, String, kernel_layout, 0, "layout of weight, without its bits", "\"OIHW\"")            \
  PRODUCT_FIELDS(F, S)
#define TN_FIELDS_BinaryDenseAttrs(F, S)                                                           \
  F(S, REF, PrimExpr, units, TN_OPT, "rows of weight", "None")                                     \
  F(S, I64, , data_bits, 0, "bits of data", "1")                                                   \
  F(S, I64, , weight_bits, 0, "bits of weight", "1") PRODUCT_FIELDS(F, S)
#define BITSERIAL_ATTRS(N)                                                                         \
  N(BitPackAttrs, Attrs, "relay.attrs.BitPackAttrs", NODE, TREE, tn_no_hooks,                      \
    "attributes of nn.bitpack")                                                                    \
  N(BinaryConv2DAttrs, Attrs, "relay.attrs.BinaryConv2DAttrs", NODE, TREE, tn_no_hooks,            \
    "attributes of nn.bitserial_conv2d")                                                           \
  N(BinaryDenseAttrs, Attrs, "relay.attrs.BinaryDenseAttrs", NODE, TREE, tn_no_hooks,              \
    "attributes of nn.bitserial_dense")
TN_NODES_LOCAL(BITSERIAL_ATTRS)

enum { MAX_BITS = 8 };

static tn_expr *bits_and(tn_expr *a, tn_expr *b) {
  return a && b ? tir_bitwise(TIR_OP_bitwise_and, a, b, NULL) : NULL;
}
static tn_expr *bits_or(tn_expr *a, tn_expr *b) {
  return a && b ? tir_bitwise(TIR_OP_bitwise_or, a, b, NULL) : NULL;
}
static tn_expr *shifted_up(tn_expr *a, tn_expr *by) {
  return a && by ? tir_shift(TIR_OP_shift_left, a, by, NULL) : NULL;
}
static tn_expr *shifted_down(tn_expr *a, tn_expr *by) {
  return a && by ? tir_shift(TIR_OP_shift_right, a, by, NULL) : NULL;
}

static int check_bits(const relay_rel *r, const char *what, int64_t bits) {
  RELAY_CHECK(r, bits > 0 && bits <= MAX_BITS, "%s: expected 1 to %d, got %lld", what, MAX_BITS,
              (long long)bits);
  return 0;
}

static int check_words(const relay_rel *r, const char *what, tn_dtype t) {
  RELAY_CHECK(r, ir_is_uint(t) && t.bits >= 8,
              "%s: expected uint8, uint16, uint32 or uint64, got %s", what, TN_DT(t));
  return 0;
}

static int check_integers(const relay_rel *r, const char *what, const tn_TensorType *t) {
  RELAY_CHECK(r, ir_is_integral(t->dtype), "%s: expected integers, got %s", what,
              relay_type_text(t));
  return 0;
}

/* ---- bitpack ---- */

/* Extents with words along an axis and the new axis. */
static tn_arr *packed_shape(const tn_BitPackAttrs *a, const tn_arr *shape, int64_t axis,
                            int64_t bit_axis) {
  TN_VEC(v);
  for (int64_t i = 0; i <= shape->len; ++i) {
    if (i == bit_axis) TN_TRYP(tn_vec_push_obj(&v, relay_dim_int(a->bits)));
    if (i == shape->len) break;
    tn_expr *e = (tn_expr *)tn_arr_obj(shape, i);
    if (i == axis) TN_GETP(e, relay_dim_divided(e, a->pack_type.bits));
    TN_TRYP(tn_vec_push_obj(&v, e));
  }
  return tn_arr_from(&v);
}

static int64_t from_start(int64_t axis, int64_t rank) { return axis < 0 ? axis + rank : axis; }

static int relate_bitpack(relay_rel *r) {
  const tn_BitPackAttrs *a = r->attrs;
  RELAY_TENSOR(data, r, 0);
  int64_t n = data->shape->len, axis, bit_axis;
  TN_TRY(check_integers(r, "data", data) || check_bits(r, "bits", a->bits) ||
         check_words(r, "pack_type", a->pack_type));
  axis = relay_rel_axis(r, a->pack_axis, n);
  bit_axis = axis < 0 ? -1 : relay_rel_axis(r, a->bit_axis, n + 1);
  if (bit_axis < 0) return RELAY_FAILED;
  tn_arr *shape = packed_shape(a, data->shape, axis, bit_axis);
  return shape ? relay_rel_result(r, relay_tensor_type(shape, a->pack_type)) : ops_rel_failed(r);
}

typedef struct {
  const tn_Tensor *data;
  int64_t axis, bit_axis;
  tn_dtype word;
} packing;

/* The word of one bit of its elements. */
static tn_expr *word(void *ctx, tn_arr *at) {
  const packing *p = ctx;
  tn_expr *bit = te_index(at, p->bit_axis), *value = NULL;
  TN_VEC(index);
  for (int64_t i = 0; i < at->len; ++i)
    if (i != p->bit_axis) TN_TRYP(tn_vec_push_obj(&index, te_index(at, i)));
  tn_arr *words;
  TN_GETP(words, tn_arr_from(&index));
  tn_expr *first = te_index(words, p->axis);
  for (int64_t k = 0; k < p->word.bits; ++k) {
    tn_dtype t = first->dtype;
    tn_expr *place = tir_add(tir_mul(first, tir_const_int(t, p->word.bits)), tir_const_int(t, k));
    tn_expr *x = te_at(p->data, ops_with_index(words, p->axis, place));
    TN_GETP(x, x);
    x = shifted_down(x, tir_cast(x->dtype, bit, NULL));
    x = bits_and(x, tir_one(x->dtype));
    x = shifted_up(tir_cast(p->word, x, NULL), tir_const_int(p->word, p->word.bits - 1 - k));
    TN_GETP(value, value ? bits_or(value, x) : x);
  }
  return value;
}

static tn_arr *bitpack(const relay_compute *c) {
  const tn_BitPackAttrs *a = c->attrs;
  packing p = {.data = relay_input(c, 0), .word = a->pack_type};
  p.axis = from_start(a->pack_axis, p.data->shape->len);
  p.bit_axis = from_start(a->bit_axis, p.data->shape->len + 1);
  tn_arr *shape;
  TN_GETP(shape, packed_shape(a, p.data->shape, p.axis, p.bit_axis));
  return tn_arr_of(1, te_compute(shape, word, &p, "bitpack", TE_INJECTIVE));
}

static tn_arr *bitpack_shapes(const relay_shape_query *q) {
  const tn_BitPackAttrs *a = q->attrs;
  const tn_arr *in = relay_shape_of(q, 0);
  return tn_arr_of(1, packed_shape(a, in, from_start(a->pack_axis, in->len),
                                   from_start(a->bit_axis, in->len + 1)));
}

/* ---- products ---- */

/* row->which */
enum { CONV, DENSE };

/* What they have in common. */
typedef struct {
  int64_t data_bits, weight_bits;
  tn_dtype word, out;
  bool unipolar;
  int64_t rank;     /* of a weight that is not packed */
  int64_t axis;     /* of it: the one that is summed up over and packed */
  int64_t bit_axis; /* of a packed one */
  const char *name; /* the operator that computes it */
  void *attrs;      /* of that */
} product;

/* Its attributes; NULL: an error is pending. */
static void *conv_attrs(const tn_BinaryConv2DAttrs *a, tn_dtype out) {
  return relay_attrs("nn.conv2d", 7, "strides", tn_any_obj(a->strides), "padding",
                     tn_any_obj(a->padding), "channels", tn_any_obj(a->channels), "kernel_size",
                     tn_any_obj(a->kernel_size), "data_layout", tn_any_obj(a->data_layout),
                     "kernel_layout", tn_any_obj(a->kernel_layout), "out_dtype", tn_any_dtype(out));
}

static int read_product(const relay_op_row *row, const void *attrs, tn_dtype data, product *p) {
  if (row->which == DENSE) {
    const tn_BinaryDenseAttrs *a = attrs;
    *p = (product){a->data_bits, a->weight_bits, a->pack_dtype, a->out_dtype,      a->unipolar,
                   .rank = 2,    .axis = 1,      .bit_axis = 1, .name = "nn.dense"};
    if (!p->out.bits) p->out = data;
    TN_GET(p->attrs, relay_attrs("nn.dense", 2, "units", tn_any_obj(a->units), "out_dtype",
                                 tn_any_dtype(p->out)));
    return 0;
  }
  const tn_BinaryConv2DAttrs *a = attrs;
  const char *layout = tn_cstr(a->kernel_layout), *in = strchr(layout, 'I');
  *p = (product){a->activation_bits, a->weight_bits, a->pack_dtype, a->out_dtype,
                 a->unipolar,        .rank = 4,      .bit_axis = 4, .name = "nn.conv2d"};
  TN_CHECK(in && strlen(layout) == 4, ValueError, NULL,
           "kernel_layout: expected one of four axes with I, got %s", layout);
  p->axis = in - layout;
  if (!p->out.bits) p->out = data;
  TN_GET(p->attrs, conv_attrs(a, p->out));
  return 0;
}

/* The extents of a weight that is packed, without its bits. */
static tn_arr *unpacked_shape(const product *p, const tn_arr *shape) {
  TN_VEC(v);
  for (int64_t i = 0; i < shape->len; ++i) {
    tn_expr *e = (tn_expr *)tn_arr_obj(shape, i);
    int64_t axis = i - (i > p->bit_axis);
    if (i == p->bit_axis) continue;
    if (axis == p->axis) TN_GETP(e, relay_dim_times(e, p->word.bits));
    TN_TRYP(tn_vec_push_obj(&v, e));
  }
  return tn_arr_from(&v);
}

static int check_product(const relay_rel *r, const product *p, const tn_TensorType *data,
                         const tn_TensorType *weight) {
  TN_TRY(check_integers(r, "data", data) || check_integers(r, "weight", weight) ||
         check_bits(r, "bits of data", p->data_bits) ||
         check_bits(r, "weight_bits", p->weight_bits) || check_words(r, "pack_dtype", p->word));
  RELAY_CHECK(r, ir_is_integral(p->out), "out_dtype: expected integers, got %s", TN_DT(p->out));
  bool packed = weight->shape->len == p->rank + 1;
  RELAY_CHECK(r, packed || weight->shape->len == p->rank,
              "weight: expected %lld dimensions, or %lld of words, got %s", (long long)p->rank,
              (long long)p->rank + 1, relay_type_text(weight));
  RELAY_CHECK(r,
              !packed || (tn_dtype_eq(weight->dtype, p->word) &&
                          relay_dim_equal(relay_dim(weight, p->bit_axis),
                                          relay_dim_int(p->weight_bits)) != 0),
              "weight: expected %lld planes of %s, got %s", (long long)p->weight_bits,
              TN_DT(p->word), relay_type_text(weight));
  return 0;
}

static int relation(relay_rel *r) {
  product p;
  tn_Op *plain;
  tn_Type *t;
  RELAY_TENSOR(data, r, 0);
  RELAY_TENSOR(weight, r, 1);
  if (read_product(relay_op_row_of((const tn_obj *)r->op), r->attrs, data->dtype, &p))
    return ops_rel_failed(r);
  if (check_product(r, &p, data, weight)) return RELAY_FAILED;
  tn_arr *shape = weight->shape;
  if (shape->len > p.rank) TN_GET(shape, unpacked_shape(&p, shape));
  tn_arr *types =
      tn_arr_of(2, relay_tensor_type(data->shape, p.out), relay_tensor_type(shape, p.out));
  TN_GET(plain, ir_op_get(p.name));
  TN_GET(t, relay_op_result_type(plain, p.attrs, types, r->span));
  return relay_rel_result(r, t);
}

typedef struct {
  const product *p;
  const tn_Tensor *from;
} values;

/* In type `t`: types of so many bits may lack the number whose bits are all 1. */
static tn_expr *low_bits(tn_expr *x, tn_dtype t, int64_t bits) {
  x = x ? tir_cast(t, x, NULL) : NULL;
  return bits < t.bits ? bits_and(x, tir_const_int(t, (1 << bits) - 1)) : x;
}

static tn_expr *data_value(void *ctx, tn_arr *at) {
  const values *v = ctx;
  return low_bits(te_at(v->from, at), v->p->out, v->p->data_bits);
}

/* The number whose bits the planes of words hold. */
static tn_expr *unpacked(const values *v, tn_arr *at) {
  const product *p = v->p;
  tn_expr *i = te_index(at, p->axis), *size = tir_const_int(i->dtype, p->word.bits), *value = NULL;
  tn_expr *last = tir_sub(size, tir_one(i->dtype)),
          *shift = tir_cast(p->word, tir_sub(last, tir_floormod(i, size)), NULL);
  tn_arr *words;
  TN_GETP(words, ops_with_index(at, p->axis, tir_floordiv(i, size)));
  for (int64_t b = 0; b < p->weight_bits; ++b) {
    TN_VEC(index);
    for (int64_t k = 0; k <= words->len; ++k) {
      if (k == p->bit_axis) TN_TRYP(tn_vec_push_obj(&index, tir_i32((int32_t)b)));
      if (k < words->len) TN_TRYP(tn_vec_push_obj(&index, tn_arr_obj(words, k)));
    }
    tn_expr *bit = shifted_down(te_at(v->from, tn_arr_from(&index)), shift);
    bit = bits_and(bit, tir_one(p->word));
    bit = shifted_up(bit, tir_const_int(p->word, b));
    TN_GETP(value, value ? bits_or(value, bit) : bit);
  }
  return value;
}

static tn_expr *weight_value(void *ctx, tn_arr *at) {
  const values *v = ctx;
  const product *p = v->p;
  bool packed = v->from->shape->len > p->rank;
  tn_expr *x = packed ? unpacked(v, at) : te_at(v->from, at);
  if (!x) return NULL;
  TN_GETP(x, packed ? tir_cast(p->out, x, NULL) : low_bits(x, p->out, p->weight_bits));
  if (!p->unipolar) return x;
  return tir_sub(tir_add(x, x), tir_const_int(p->out, (1 << p->weight_bits) - 1));
}

static tn_arr *compute(const relay_compute *c) {
  const tn_Tensor *data = relay_input(c, 0), *weight = relay_input(c, 1);
  product p;
  tn_Tensor *x, *w;
  tn_Op *plain;
  TN_TRYP(read_product(c->row, c->attrs, data->dtype, &p));
  values of_data = {&p, data}, of_weight = {&p, weight};
  tn_arr *shape = weight->shape;
  if (shape->len > p.rank) TN_GETP(shape, unpacked_shape(&p, shape));
  TN_GETP(x, te_compute(data->shape, data_value, &of_data, "data_bits", TE_ELEMWISE));
  TN_GETP(w, te_compute(shape, weight_value, &of_weight, "weight_bits", TE_INJECTIVE));
  TN_GETP(plain, ir_op_get(p.name));
  return relay_op_compute(plain, p.attrs, tn_arr_of(2, x, w), c->out_type, c->target);
}

#define PRODUCT(name_, Attrs, level_, rel_name_, which_, doc_)                                     \
  {                                                                                                \
    .name = name_, .inputs = "data weight", .attrs = &tn_type_##Attrs, .level = level_,            \
    .pattern = RELAY_OUT_ELEMWISE_FUSABLE, .flags = RELAY_NUMBERS, .rel_name = rel_name_,          \
    .rel = relation, .compute = compute, .which = which_, .doc = doc_                              \
  }

static const relay_op_row rows[] = {
    {.name = "nn.bitpack",
     .inputs = "data",
     .attrs = &tn_type_BitPackAttrs,
     .level = 2,
     .pattern = RELAY_INJECTIVE,
     .rel_name = "BitPack",
     .rel = relate_bitpack,
     .compute = bitpack,
     .shape = bitpack_shapes,
     .doc = "bits of neighbouring elements as words, a plane for each bit"},
    PRODUCT("nn.bitserial_conv2d", BinaryConv2DAttrs, 2, "BinaryConv2D", CONV,
            "convolution of integers of a few bits"),
    PRODUCT("nn.bitserial_dense", BinaryDenseAttrs, 1, "BinaryDense", DENSE,
            "data times the transpose of weight, integers of a few bits"),
};

RELAY_FAMILY(bitserial, BITSERIAL_ATTRS)
