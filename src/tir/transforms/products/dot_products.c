/* Sums of products of small numbers that lie next to each other become calls of T.dot.

     with T.attr(v, "pragma_dot", 1):
       for v in T.vectorized(16):             C[i:i + 16] = T.dot(C[i:i + 16],
         for k in range(4):              ->       T.reinterpret("uint8x64", T.Broadcast(
           C[i + v] += T.int32(A[j + k])              T.reinterpret("int32", A[j:j + 4]), 16)),
               * T.int32(B[l + v * 4 + k])        B[l:l + 64])

   The k of a group are neighbours in both factors and fill a lane of the sum; along the lanes a
   factor either stays where it is or goes on with the next group. Factors are integers of 8 or
   16 bits with sums of int32, or bfloat16, whose bits are handed over, with sums of float32. Loops
   that are of another form stay as they are. Runs on flat buffers, before loops are vectorized and
   bfloat16 becomes computations with its bits. */
#include "arith/region.h"
#include "tir/transforms/transforms.h"

typedef struct {
  const tn_BufferLoad *load;
  tn_expr *base;  /* where the first group begins */
  int64_t stride; /* elements from a lane to the next: 0, or those of a group */
} factor;

typedef struct {
  const tn_PrimFunc *func;
  const tn_BufferStore *store;
  const tn_IfThenElse *where; /* around it, the same for all lanes and k; NULL: none */
  tn_Var *lane, *k;
  int64_t lanes, group;
  tn_expr *base; /* of the sums */
  factor f[2];
} dot;

/* The place of lane 0 and k 0, and the factors of both; false where the index is not linear. */
static bool place(const dot *d, const tn_arr *indices, tn_expr **base, int64_t by[2]) {
  tn_arr *vars = tn_arr_of(2, d->lane, d->k);
  tn_arr *parts =
      vars && indices->len == 1 ? arith_linear((tn_expr *)tn_arr_obj(indices, 0), vars) : NULL;
  if (!parts || parts->len != 3 || !tir_as_int(tn_arr_obj(parts, 0), &by[0]) ||
      !tir_as_int(tn_arr_obj(parts, 1), &by[1]))
    return false;
  *base = (tn_expr *)tn_arr_obj(parts, 2);
  return true;
}

static bool is_half(tn_dtype t) { return t.code == kDLBfloat && t.bits == 16; }

/* Is it memory that the caller gives? Arrays of the function may get another type. */
static bool is_given(const dot *d, const tn_Buffer *b) {
  tn_any key, value;
  for (int64_t i = 0; tn_map_at(d->func->buffer_map, i, &key, &value); ++i)
    if (((const tn_Buffer *)value.v.obj)->data == b->data) return true;
  return false;
}

/* A widened element whose k are neighbours. */
static bool is_factor(const dot *d, const tn_expr *e, factor *f) {
  const tn_Cast *cast = TN_AS(Cast, e);
  int64_t by[2];
  f->load = cast ? TN_AS(BufferLoad, cast->value) : NULL;
  if (!f->load || !tn_dtype_eq(e->dtype, d->store->value->dtype)) return false;
  tn_dtype t = f->load->buffer->dtype;
  bool small = tn_dtype_eq(e->dtype, TN_I32)
                   ? ir_is_integral(t) && (t.bits == 8 || t.bits == 16) && !ir_is_bool(t)
                   : is_half(t) && is_given(d, f->load->buffer);
  if (!small || t.lanes != 1 || t.bits * d->group != 32) return false;
  if (!place(d, f->load->indices, &f->base, by)) return false;
  f->stride = by[0];
  return by[1] == 1 && (by[0] == 0 || by[0] == d->group);
}

static bool match(const tn_For *lanes, dot *d) {
  const tn_For *k = TN_AS(For, lanes->body);
  d->where = k ? TN_AS(IfThenElse, k->body) : NULL;
  d->store = k ? TN_AS(BufferStore, d->where ? d->where->then_case : k->body) : NULL;
  if (!d->store || k->kind == TIR_FOR_PARALLEL || lanes->kind != TIR_FOR_VECTORIZED ||
      !tir_is_zero(k->min) || !tir_is_zero(lanes->min) ||
      !tir_as_int((tn_obj *)k->extent, &d->group) ||
      !tir_as_int((tn_obj *)lanes->extent, &d->lanes) || d->group < 2 || d->group > 4 ||
      d->lanes < 2 || d->lanes > 64)
    return false;
  d->lane = lanes->loop_var, d->k = k->loop_var;
  if (d->where && (d->where->else_case || tir_uses_var(d->where->condition, d->lane) ||
                   tir_uses_var(d->where->condition, d->k)))
    return false;
  const tn_Add *sum = TN_AS(Add, d->store->value);
  const tn_BufferLoad *self = sum ? TN_AS(BufferLoad, sum->a) : NULL;
  const tn_Mul *product = sum ? TN_AS(Mul, sum->b) : NULL;
  int64_t by[2];
  return self && product && self->buffer == d->store->buffer &&
         tn_equal(self->indices, d->store->indices, 0) == 1 &&
         (tn_dtype_eq(d->store->value->dtype, TN_I32) ||
          tn_dtype_eq(d->store->value->dtype, TN_F32)) &&
         is_factor(d, product->a, &d->f[0]) && is_factor(d, product->b, &d->f[1]) &&
         place(d, d->store->indices, &d->base, by) && by[0] == 1 && by[1] == 0;
}

static tn_expr *load_row(tn_Buffer *b, tn_expr *base, int64_t n) {
  tn_expr *at = (tn_expr *)TN_MAKE(Ramp, .base = base, .stride = tir_one(base->dtype), .lanes = n);
  return at ? tir_load(b, tn_arr_of(1, at)) : NULL;
}

/* The buffer with its elements as bits, where they are bfloat16. */
static tn_Buffer *as_bits(tn_Buffer *b) {
  tn_Buffer copy = *b;
  if (!is_half(b->dtype)) return b;
  copy.dtype = tn_dtype_of(kDLUInt, 16, 1);
  return tn_node_copy(&tn_type_Buffer, &copy);
}

/* The groups of all lanes. */
static tn_expr *groups(const dot *d, const factor *f) {
  tn_Buffer *from;
  TN_GETP(from, as_bits(f->load->buffer));
  tn_dtype t = from->dtype;
  if (f->stride) return load_row(from, f->base, d->group * d->lanes);
  tn_expr *one = load_row(from, f->base, d->group);
  one = one ? tir_reinterpret(TN_I32, one, NULL) : NULL;
  one = one ? tir_broadcast(one, (int)d->lanes, NULL) : NULL;
  return one ? tir_reinterpret(ir_with_lanes(t, (int)(d->group * d->lanes)), one, NULL) : NULL;
}

static tn_stmt *as_call(const dot *d) {
  tn_expr *sum, *a, *b, *value;
  TN_GETP(sum, load_row(d->store->buffer, d->base, d->lanes));
  TN_GETP(a, groups(d, &d->f[0]));
  TN_GETP(b, groups(d, &d->f[1]));
  TN_GETP(value, tir_call(sum->dtype, TIR_OP_dot, 3, sum, a, b));
  tn_stmt *all = tir_store(d->store->buffer, value, ((const tn_BufferLoad *)sum)->indices);
  if (!d->where) return all;
  return (tn_stmt *)TN_MAKE(IfThenElse, .condition = d->where->condition, .then_case = all);
}

static tn_obj *marked(tn_mut *m, tn_AttrStmt *op) {
  dot d = {.func = m->ctx};
  if (!tn_str_eq(op->attr_key, "pragma_dot")) return tn_mut_children(m, op);
  const tn_For *lanes = TN_AS(For, op->body);
  TN_CHECKP(lanes, ValueError, op->span, "pragma_dot: expected a loop below it");
  if (match(lanes, &d)) return (tn_obj *)as_call(&d);
  return tn_error_pending() ? NULL : tn_mut_visit(m, op->body);
}

tn_PrimFunc *tir_dot_products(tn_PrimFunc *f, const tn_pass_ctx *c) {
  static const tn_mut_case cases[] = {TN_CASE(AttrStmt, marked)};
  (void)c;
  TN_MUT(m, cases, f);
  return tir_with_body(f, tn_mut_visit(&m, f->body));
}
