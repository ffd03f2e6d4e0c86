/* Tensors of which only some elements are stored.

     sparse_to_dense(%i, %v, %d, output_shape=[2, 3])   r[i[k]] = v[k], the default elsewhere
     nn.sparse_dense(%x, %v, %c, %p)                    x times the transpose of a matrix in rows
     nn.sparse_add(%x, %v, %c, %p)                      x plus such a matrix
     nn.sparse_transpose(%v, %c, %p)                    the transpose of such a matrix, square
     sparse_reshape(%i, %prev_shape, %new_shape)        coordinates in another shape

   A matrix in compressed rows has its elements (v), their columns (c) and for each row where it
   begins, and one more number (p). Elements may be blocks of rows and columns. What coordinates and
   positions hold is checked when they are used: those outside are left out. */
#include "ir/imm.h"
#include "ops/dynamic.h"
#include "ops/ops.h"

#define TN_FIELDS_SparseToDenseAttrs(F, S) F(S, REF, Array, output_shape, 0, "shape of the result")
#define TN_FIELDS_SparseDenseAttrs(F, S)                                                           \
  F(S, BOOL, , sparse_lhs, 0, "is the sparse matrix the left one?", "False")
#define SPARSE_ATTRS(N)                                                                            \
  N(SparseToDenseAttrs, Attrs, "relay.attrs.SparseToDenseAttrs", NODE, TREE, tn_no_hooks,          \
    "attributes of sparse_to_dense")                                                               \
  N(SparseDenseAttrs, Attrs, "relay.attrs.SparseDenseAttrs", NODE, TREE, tn_no_hooks,              \
    "attributes of nn.sparse_dense")
TN_NODES_LOCAL(SPARSE_ATTRS)

/* ---- coordinates ---- */

/* Coordinates and elements for a result of `ndim` dimensions. */
static int check_dense(relay_rel *r, int64_t ndim) {
  RELAY_TENSOR(indices, r, 0);
  RELAY_TENSOR(values, r, 1);
  RELAY_TENSOR(fill, r, 2);
  RELAY_CHECK(r, ir_is_integral(indices->dtype), "sparse_indices must be integers, got %s",
              TN_DT(indices->dtype));
  RELAY_CHECK(r, indices->shape->len <= 2 && values->shape->len <= 1 && fill->shape->len == 0,
              "expected sparse_indices of 2 dimensions at most, sparse_values of 1 at most and a "
              "scalar, got %s and %s",
              relay_type_text(indices), relay_type_text(values));
  if (indices->shape->len == 2)
    RELAY_CHECK(r, relay_dim_equal(relay_dim(indices, 1), tir_i64(ndim)) != 0,
                "%lld coordinates are needed for the result, got %s", (long long)ndim,
                relay_type_text(indices));
  else
    RELAY_CHECK(r, ndim == 1, "%s: only a result of one dimension has such coordinates",
                relay_type_text(indices));
  if (indices->shape->len && values->shape->len)
    RELAY_CHECK(r, relay_dim_equal(relay_dim(indices, 0), relay_dim(values, 0)) != 0,
                "%s coordinates for %s", relay_type_text(indices), relay_type_text(values));
  else
    RELAY_CHECK(r, !values->shape->len || relay_dim_equal(relay_dim(values, 0), tir_i64(1)) != 0,
                "one coordinate for %s", relay_type_text(values));
  return RELAY_SOLVED;
}

static int to_dense_relation(relay_rel *r) {
  const tn_SparseToDenseAttrs *a = r->attrs;
  int known = check_dense(r, a->output_shape->len);
  if (known != RELAY_SOLVED) return known;
  RELAY_TENSOR(values, r, 1);
  return relay_rel_result(r, relay_tensor_type(a->output_shape, values->dtype));
}

static int open_dense_relation(relay_rel *r) {
  int64_t ndim;
  int known = ops_vector_length(r, 3, &ndim);
  if (known == RELAY_SOLVED) known = check_dense(r, ndim);
  if (known != RELAY_SOLVED) return known;
  RELAY_TENSOR(values, r, 1);
  return relay_rel_result(r, relay_tensor_type(ops_open_shape(ndim), values->dtype));
}

static tn_arr *open_dense_shape(const relay_shape_query *q) {
  const tn_TensorType *out = TN_AS(TensorType, q->out_type);
  TN_VEC(shape);
  for (int64_t i = 0; i < out->shape->len; ++i)
    TN_TRYP(tn_vec_push_obj(&shape, ops_number_at(q, 3, i)));
  return tn_arr_of(1, tn_arr_from(&shape));
}

static tn_arr *buffers_for(const relay_compute *c, const char *const *names) {
  TN_VEC(v);
  for (int64_t i = 0; i < c->inputs->len; ++i) {
    const tn_Tensor *t = relay_input(c, i);
    TN_TRYP(tn_vec_push_obj(&v, tir_buffer(t->shape, t->dtype, names[i], "")));
  }
  return tn_arr_from(&v);
}
static tn_Buffer *buffer_at(const tn_arr *a, int64_t i) { return (tn_Buffer *)tn_arr_obj(a, i); }

static tn_arr *to_dense(const relay_compute *c) {
  static const char *const names[] = {"indices", "values", "default_value", "output_shape"};
  const tn_arr *shape;
  tn_arr *in, *at, *none = tn_arr_of(0), *each;
  tn_Buffer *out;
  tn_expr *inside = NULL;
  TN_VEC(target);
  TN_GETP(in, buffers_for(c, names));
  tn_Buffer *indices = buffer_at(in, 0), *values = buffer_at(in, 1);
  TN_GETP(shape, ops_open_extents(relay_out(c)));
  TN_GETP(out, tir_buffer((tn_arr *)(uintptr_t)shape, values->dtype, "dense", ""));
  TN_GETP(at, ops_loop_vars("i", shape->len));
  tn_stmt *fill =
      ops_loops(at, out->shape,
                tir_store(out, tir_cast(out->dtype, tir_load(buffer_at(in, 2), none), NULL), at));
  tn_Var *k = tir_var("k", TN_I32);
  for (int64_t i = 0; i < shape->len; ++i) {
    tn_arr *place = indices->shape->len == 2   ? tn_arr_of(2, k, tir_i32((int32_t)i))
                    : indices->shape->len == 1 ? tn_arr_of(1, k)
                                               : none;
    tn_expr *x = place ? tir_load(indices, place) : NULL;
    x = ops_data_index_if(x, (tn_expr *)tn_arr_obj(out->shape, i), OPS_CLIP, &inside);
    TN_TRYP(tn_vec_push_obj(&target, x));
  }
  TN_GETP(each, tn_arr_from(&target));
  tn_arr *of = values->shape->len ? tn_arr_of(1, k) : none;
  tn_stmt *one = ops_either(inside, tir_store(out, tir_load(values, of), each), NULL);
  tn_expr *count = indices->shape->len ? (tn_expr *)tn_arr_obj(indices->shape, 0) : tir_i32(1);
  return ops_extern("sparse_to_dense", c->inputs, in, tn_arr_of(1, out),
                    tir_seq2(fill, ops_loop(k, count, one)));
}

static int reshape_relation(relay_rel *r) {
  RELAY_TENSOR(indices, r, 0);
  RELAY_TENSOR(prev, r, 1);
  RELAY_TENSOR(next, r, 2);
  RELAY_CHECK(r, indices->shape->len == 2 && prev->shape->len == 1 && next->shape->len == 1,
              "expected coordinates of 2 dimensions and shapes of 1, got %s, %s and %s",
              relay_type_text(indices), relay_type_text(prev), relay_type_text(next));
  RELAY_CHECK(r, relay_dim_equal(relay_dim(indices, 1), relay_dim(prev, 0)) != 0,
              "coordinates %s are not those of a shape %s", relay_type_text(indices),
              relay_type_text(prev));
  RELAY_CHECK(r,
              ir_is_integral(indices->dtype) && ir_is_integral(prev->dtype) &&
                  ir_is_integral(next->dtype),
              "coordinates and shapes must be integers, got %s, %s and %s",
              relay_type_text(indices), relay_type_text(prev), relay_type_text(next));
  tn_arr *shape = tn_arr_of(2, relay_dim(indices, 0), relay_dim(next, 0));
  return relay_rel_result(
      r, relay_tuple_type(tn_arr_of(2, relay_tensor_type(shape, indices->dtype), next)));
}

/* What the statement of a reshape counts in, of type int64. */
enum { ALL, OTHERS, SAME, FLAT, COUNTS };
typedef struct {
  tn_Buffer *indices, *prev, *next, *out, *shape, *counts;
} reshaping;

static tn_expr *at1(tn_Buffer *b, tn_expr *i) {
  return tir_cast(TN_I64, tir_load(b, tn_arr_of(1, i)), NULL);
}
static tn_expr *at2(tn_Buffer *b, tn_expr *i, tn_expr *k) {
  return tir_cast(TN_I64, tir_load(b, tn_arr_of(2, i, k)), NULL);
}
static tn_expr *extent_of(tn_Buffer *b, int64_t i) {
  return tir_cast(TN_I32, (tn_expr *)tn_arr_obj(b->shape, i), NULL);
}
static tn_expr *count(const reshaping *s, int which) { return at1(s->counts, tir_i32(which)); }
/* The last column that coordinates have; 0 where they have none, which is not read then. */
static tn_expr *last_of(tn_Buffer *indices) {
  return tir_max(tir_sub(extent_of(indices, 1), tir_i32(1)), tir_i32(0));
}
static tn_stmt *set_count(const reshaping *s, int which, tn_expr *value) {
  return tir_store(s->counts, value, tn_arr_of(1, tir_i32(which)));
}

/* The new extents; the one that is below 0 is what the others leave of all elements. */
static tn_stmt *find_extents(const reshaping *s) {
  tn_Var *i = tir_var("i", TN_I32), *k = tir_var("k", TN_I32), *n = tir_var("n", TN_I32);
  tn_expr *one = tir_i64(1), *zero = tir_i64(0), *e = at1(s->next, (tn_expr *)n);
  tn_stmt *all = set_count(s, ALL, tir_mul(count(s, ALL), at1(s->prev, (tn_expr *)i)));
  tn_expr *known = at1(s->next, (tn_expr *)k);
  tn_stmt *others =
      ops_either(tir_le(zero, known), set_count(s, OTHERS, tir_mul(count(s, OTHERS), known)), NULL);
  tn_expr *by = tir_max(count(s, OTHERS), one); /* a product of 0 leaves nothing to divide by */
  e = tir_select(tir_lt(e, zero), tir_floordiv(count(s, ALL), by), e, NULL);
  tn_stmt *set = tir_store(s->shape, tir_cast(s->shape->dtype, e, NULL), tn_arr_of(1, n));
  tn_stmt *start = tir_seq2(set_count(s, ALL, one), set_count(s, OTHERS, one));
  tn_stmt *products =
      tir_seq2(ops_loop(i, extent_of(s->prev, 0), all), ops_loop(k, extent_of(s->next, 0), others));
  return tir_seq2(tir_seq2(start, products), ops_loop(n, extent_of(s->next, 0), set));
}

/* Is the new shape the old one? */
static tn_stmt *compare_extents(const reshaping *s) {
  tn_Var *i = tir_var("i", TN_I32);
  tn_expr *before = extent_of(s->prev, 0), *after = extent_of(s->next, 0), *k = (tn_expr *)i;
  tn_expr *differs = tir_ne(at1(s->prev, k), at1(s->shape, k));
  tn_stmt *look = ops_either(differs, set_count(s, SAME, tir_i64(0)), NULL);
  tn_expr *same = tir_cast(TN_I64, tir_eq(before, after), NULL);
  return tir_seq2(set_count(s, SAME, same), ops_loop(i, tir_min(before, after), look));
}

/* Row `row`: its place in all elements, then coordinates from the last axis on, of which the first
   takes what is left. In the same shape they are those that they were. */
static tn_stmt *reshape_row(const reshaping *s, tn_expr *row) {
  tn_Var *i = tir_var("i", TN_I32), *back = tir_var("back", TN_I32);
  tn_expr *k = (tn_expr *)i, *n = extent_of(s->next, 0);
  tn_expr *flat = tir_add(tir_mul(count(s, FLAT), at1(s->prev, k)), at2(s->indices, row, k));
  tn_stmt *place = tir_seq2(set_count(s, FLAT, tir_i64(0)),
                            ops_loop(i, extent_of(s->prev, 0), set_count(s, FLAT, flat)));
  tn_expr *axis = tir_sub(tir_sub(n, tir_i32(1)), (tn_expr *)back), *left = count(s, FLAT);
  tn_expr *e = tir_max(at1(s->shape, axis), tir_i64(1));
  tn_expr *own = tir_select(tir_eq(axis, tir_i32(0)), left, tir_floormod(left, e), NULL);
  tn_expr *old =
      tir_if_then_else(tir_eq(count(s, SAME), tir_i64(1)),
                       at2(s->indices, row, tir_min(axis, last_of(s->indices))), own, NULL);
  tn_stmt *set = tir_store(s->out, tir_cast(s->out->dtype, old, NULL), tn_arr_of(2, row, axis));
  tn_stmt *each = tir_seq2(set, set_count(s, FLAT, tir_floordiv(left, e)));
  return tir_seq2(place, ops_loop(back, n, each));
}

static tn_arr *reshape(const relay_compute *c) {
  tn_Tensor *indices = relay_input(c, 0), *prev = relay_input(c, 1), *next = relay_input(c, 2);
  tn_arr *shape = tn_arr_of(2, te_extent(indices, 0), te_extent(next, 0));
  reshaping s;
  TN_GETP(s.indices, tir_buffer(indices->shape, indices->dtype, "indices", ""));
  TN_GETP(s.prev, tir_buffer(prev->shape, prev->dtype, "prev", ""));
  TN_GETP(s.next, tir_buffer(next->shape, next->dtype, "next", ""));
  TN_GETP(s.out, tir_buffer(shape, indices->dtype, "reshaped", ""));
  TN_GETP(s.shape, tir_buffer(next->shape, next->dtype, "shape", ""));
  TN_GETP(s.counts, tir_buffer(tn_arr_of(1, tir_i32(COUNTS)), TN_I64, "counts", ""));
  tn_Var *row = tir_var("row", TN_I32);
  tn_stmt *rows = ops_loop(row, extent_of(s.indices, 0), reshape_row(&s, (tn_expr *)row));
  tn_stmt *body = tir_seq2(tir_seq2(find_extents(&s), compare_extents(&s)), rows);
  tn_arr *made = ops_extern("sparse_reshape", c->inputs, tn_arr_of(3, s.indices, s.prev, s.next),
                            tn_arr_of(3, s.out, s.shape, s.counts), body);
  return made ? tn_arr_of(2, tn_arr_obj(made, 0), tn_arr_obj(made, 1)) : NULL;
}

static tn_arr *reshape_shapes(const relay_shape_query *q) {
  tn_arr *next = relay_shape_of(q, 2), *indices = relay_shape_of(q, 0);
  relay_take_for_granted(
      tir_eq((tn_expr *)tn_arr_obj(indices, 1), (tn_expr *)tn_arr_obj(relay_shape_of(q, 1), 0)));
  return tn_arr_of(2, tn_arr_of(2, tn_arr_obj(indices, 0), tn_arr_obj(next, 0)), next);
}

/* ---- matrices in compressed rows ---- */

/* Checks the three parts, the arguments from `first` on. *block: do elements have rows and columns?
 */
static int check_rows(relay_rel *r, int first, bool blocks, tn_TensorType **data,
                      tn_TensorType **indptr) {
  RELAY_TENSOR(values, r, first);
  RELAY_TENSOR(columns, r, first + 1);
  RELAY_TENSOR(begins, r, first + 2);
  RELAY_CHECK(r, values->shape->len == 1 || (blocks && values->shape->len == 3),
              "sparse_data must have %s, got %s", blocks ? "1 or 3 dimensions" : "1 dimension",
              relay_type_text(values));
  RELAY_CHECK(r, columns->shape->len == 1 && begins->shape->len == 1,
              "sparse_indices and sparse_indptr must have 1 dimension, got %s and %s",
              relay_type_text(columns), relay_type_text(begins));
  RELAY_CHECK(r, ir_is_integral(columns->dtype) && ir_is_integral(begins->dtype),
              "sparse_indices and sparse_indptr must be integers, got %s and %s",
              TN_DT(columns->dtype), TN_DT(begins->dtype));
  RELAY_CHECK(r, relay_dim_equal(relay_dim(values, 0), relay_dim(columns, 0)) != 0,
              "sparse_data %s and sparse_indices %s must be equally many", relay_type_text(values),
              relay_type_text(columns));
  int64_t n;
  RELAY_CHECK(r, !tir_as_int((tn_obj *)relay_dim(begins, 0), &n) || n > 0,
              "sparse_indptr must have one number more than rows, got %s", relay_type_text(begins));
  *data = values;
  *indptr = begins;
  return RELAY_SOLVED;
}

/* How many rows there are: one less than the positions, times those of a block. */
static tn_expr *row_count(const tn_arr *values, const tn_arr *begins) {
  tn_expr *e = (tn_expr *)tn_arr_obj(begins, 0);
  e = relay_dim_plus(e, -1);
  return values->len == 3 ? relay_dim_mul(e, (tn_expr *)tn_arr_obj(values, 1)) : e;
}

static tn_arr *dense_shape(const tn_SparseDenseAttrs *a, const tn_arr *x, const tn_arr *values,
                           const tn_arr *begins) {
  void *rows = tn_arr_obj(x, 0), *columns = row_count(values, begins);
  return a->sparse_lhs ? tn_arr_of(2, columns, rows) : tn_arr_of(2, rows, columns);
}

static int dense_relation(relay_rel *r) {
  tn_TensorType *values, *begins;
  RELAY_TENSOR(x, r, 0);
  int state = check_rows(r, 1, true, &values, &begins);
  if (state != RELAY_SOLVED) return state;
  RELAY_CHECK(r, x->shape->len == 2 && tn_dtype_eq(x->dtype, values->dtype),
              "dense_data must be a matrix of %s, got %s", TN_DT(values->dtype),
              relay_type_text(x));
  tn_arr *shape = dense_shape(r->attrs, x->shape, values->shape, begins->shape);
  return relay_rel_result(r, relay_tensor_type(shape, x->dtype));
}

/* for e in indptr[row] ... indptr[row + 1] - 1: body, as far as there are elements */
static tn_stmt *over_row(const tn_arr *in, tn_expr *row, tn_Var *e, tn_stmt *body) {
  tn_Buffer *values = buffer_at(in, 0), *begins = buffer_at(in, 2);
  tn_expr *count = tir_cast(TN_I32, (tn_expr *)tn_arr_obj(values->shape, 0), NULL);
  tn_expr *next = tir_add(row, tir_one(row->dtype)), *from, *to, *most;
  TN_GETP(most, tir_add(count, tir_i32(1))); /* the end of the last row is the number of elements */
  TN_GETP(from, ops_data_index(tir_load(begins, tn_arr_of(1, row)), most, OPS_CLIP));
  TN_GETP(to, ops_data_index(tir_load(begins, tn_arr_of(1, next)), most, OPS_CLIP));
  tn_Var *k = tir_var("k", TN_I32);
  body = ops_either(tir_lt((tn_expr *)e, count), body, NULL);
  body = (tn_stmt *)TN_MAKE(LetStmt, .var = e, .value = tir_add(from, (tn_expr *)k), .body = body);
  return ops_loop(k, tir_max(tir_sub(to, from), tir_i32(0)), body);
}

/* out[row of the matrix][row of x] += element * x[row of x][column]; blocks inside */
static tn_arr *dense(const relay_compute *c) {
  static const char *const names[] = {"dense", "values", "columns", "begins"};
  const tn_SparseDenseAttrs *a = c->attrs;
  tn_arr *in, *shape, *at;
  tn_Buffer *out;
  TN_GETP(in, buffers_for(c, names));
  tn_Buffer *x = buffer_at(in, 0), *values = buffer_at(in, 1), *columns = buffer_at(in, 2);
  tn_arr *rows = tn_arr_of(3, values, columns, buffer_at(in, 3));
  bool blocks = values->shape->len == 3;
  TN_GETP(shape, dense_shape(a, x->shape, values->shape, buffer_at(in, 3)->shape));
  TN_GETP(out, tir_buffer(shape, x->dtype, "product", ""));
  tn_Var *m = tir_var("m", TN_I32), *n = tir_var("n", TN_I32), *e = tir_var("e", TN_I32),
         *i = tir_var("i", TN_I32), *j = tir_var("j", TN_I32);
  void *block_rows = blocks ? tn_arr_obj(values->shape, 1) : (void *)tir_i32(1);
  void *block_columns = blocks ? tn_arr_obj(values->shape, 2) : (void *)tir_i32(1);
  tn_expr *row = blocks ? tir_add(tir_mul((tn_expr *)n, block_rows), (tn_expr *)i) : (tn_expr *)n;
  tn_expr *wide = (tn_expr *)tn_arr_obj(x->shape, 1), *given = tir_load(columns, tn_arr_of(1, e));
  tn_expr *there = NULL, *inside = NULL, *column = ops_data_index_if(given, wide, OPS_CLIP, &there);
  if (!row || !column) return NULL;
  if (blocks)
    column = ops_data_index_if(
        tir_add(tir_mul(tir_cast(TN_I64, column, NULL), tir_cast(TN_I64, block_columns, NULL)),
                tir_cast(TN_I64, (tn_expr *)j, NULL)),
        wide, OPS_CLIP, &inside);
  TN_GETP(at, a->sparse_lhs ? tn_arr_of(2, row, m) : tn_arr_of(2, m, row));
  tn_expr *v = tir_load(values, blocks ? tn_arr_of(3, e, i, j) : tn_arr_of(1, e));
  tn_expr *more = tir_mul(v, tir_load(x, tn_arr_of(2, m, column)));
  tn_stmt *body = tir_store(out, tir_add(tir_load(out, at), more), at);
  if (blocks) body = ops_either(inside, body, NULL);
  body = ops_either(there, body, NULL); /* before it is multiplied, which may overflow */
  if (blocks) body = ops_loop(i, block_rows, ops_loop(j, block_columns, body));
  tn_expr *block_count = (tn_expr *)tn_arr_obj(buffer_at(in, 3)->shape, 0);
  block_count = tir_sub(block_count, tir_one(block_count->dtype));
  tn_stmt *clear = tir_store(out, tir_zero(out->dtype), at);
  if (blocks) clear = ops_loop(i, block_rows, clear);
  body = body ? tir_seq2(clear, over_row(rows, (tn_expr *)n, e, body)) : NULL;
  tn_stmt *all = ops_loop(m, (tn_expr *)tn_arr_obj(x->shape, 0), ops_loop(n, block_count, body));
  return ops_extern("sparse_dense", c->inputs, in, tn_arr_of(1, out), all);
}

static tn_arr *dense_shapes(const relay_shape_query *q) {
  return tn_arr_of(
      1, dense_shape(q->attrs, relay_shape_of(q, 0), relay_shape_of(q, 1), relay_shape_of(q, 3)));
}

static int add_relation(relay_rel *r) {
  tn_TensorType *values, *begins;
  RELAY_TENSOR(x, r, 0);
  int state = check_rows(r, 1, false, &values, &begins);
  if (state != RELAY_SOLVED) return state;
  RELAY_CHECK(r, x->shape->len == 2 && tn_dtype_eq(x->dtype, values->dtype),
              "dense_data must be a matrix of %s, got %s", TN_DT(values->dtype),
              relay_type_text(x));
  RELAY_CHECK(r, relay_dim_equal(relay_dim(x, 0), row_count(values->shape, begins->shape)) != 0,
              "dense_data %s has other rows than sparse_indptr %s", relay_type_text(x),
              relay_type_text(begins));
  return relay_rel_result(r, x);
}

static tn_arr *add(const relay_compute *c) {
  static const char *const names[] = {"dense", "values", "columns", "begins"};
  tn_arr *in, *all = ops_loop_vars("i", 2);
  tn_Buffer *out;
  TN_GETP(in, buffers_for(c, names));
  tn_Buffer *x = buffer_at(in, 0), *values = buffer_at(in, 1);
  tn_arr *rows = tn_arr_of(3, values, buffer_at(in, 2), buffer_at(in, 3));
  TN_GETP(out, tir_buffer(x->shape, x->dtype, "sum", ""));
  tn_Var *n = tir_var("n", TN_I32), *e = tir_var("e", TN_I32);
  tn_expr *inside = NULL,
          *column = ops_data_index_if(tir_load(buffer_at(in, 2), tn_arr_of(1, e)),
                                      (tn_expr *)tn_arr_obj(x->shape, 1), OPS_CLIP, &inside);
  tn_arr *at = column ? tn_arr_of(2, n, column) : NULL;
  if (!all || !at) return NULL;
  tn_stmt *copy = ops_loops(all, x->shape, tir_store(out, tir_load(x, all), all));
  tn_expr *v = tir_load(values, tn_arr_of(1, e));
  tn_stmt *body = tir_store(out, tir_add(tir_load(out, at), v), at);
  body = ops_either(inside, body, NULL);
  if (!body) return NULL;
  body = ops_loop(n, (tn_expr *)tn_arr_obj(x->shape, 0), over_row(rows, (tn_expr *)n, e, body));
  return ops_extern("sparse_add", c->inputs, in, tn_arr_of(1, out), tir_seq2(copy, body));
}

static int transpose_relation(relay_rel *r) {
  tn_TensorType *values, *begins;
  int state = check_rows(r, 0, false, &values, &begins);
  if (state != RELAY_SOLVED) return state;
  RELAY_TENSOR(columns, r, 1);
  return relay_rel_result(r, relay_tuple_type(tn_arr_of(3, values, columns, begins)));
}

/* x[i] += how much */
static tn_stmt *increase(tn_Buffer *x, tn_expr *i, tn_expr *by) {
  tn_arr *at = i ? tn_arr_of(1, i) : NULL;
  return at ? tir_store(x, tir_add(tir_load(x, at), tir_cast(x->dtype, by, NULL)), at) : NULL;
}

/* Elements are counted by column; the sums of counts say where columns begin; elements are put
   there one after another, which moves each begin to that of the next column: so positions are kept
   one place to the right while that lasts. */
static tn_arr *transpose(const relay_compute *c) {
  static const char *const names[] = {"values", "columns", "begins"};
  tn_arr *in;
  tn_Buffer *data, *rows, *begins;
  TN_GETP(in, buffers_for(c, names));
  tn_Buffer *values = buffer_at(in, 0), *columns = buffer_at(in, 1), *old = buffer_at(in, 2);
  TN_GETP(data, tir_buffer(values->shape, values->dtype, "data", ""));
  TN_GETP(rows, tir_buffer(columns->shape, columns->dtype, "rows", ""));
  TN_GETP(begins, tir_buffer(old->shape, old->dtype, "moved", ""));
  tn_Var *e = tir_var("e", TN_I32), *n = tir_var("n", TN_I32), *k = tir_var("k", TN_I32);
  tn_expr *extent =
      tir_sub(tir_cast(TN_I32, (tn_expr *)tn_arr_obj(old->shape, 0), NULL), tir_i32(1));
  tn_expr *count = (tn_expr *)tn_arr_obj(values->shape, 0), *one = tir_i32(1), *two = tir_i32(2);
  tn_expr *inside = NULL, *column = ops_data_index_if(tir_load(columns, tn_arr_of(1, e)), extent,
                                                      OPS_CLIP, &inside);
  if (!extent || !column) return NULL;
  tn_expr *next = tir_add(column, one);
  tn_stmt *clear = ops_loop(k, tir_add(extent, one),
                            tir_store(begins, tir_zero(begins->dtype), tn_arr_of(1, k)));
  /* counts of column j are at j + 2, if that is a place: the last one is needed by nobody */
  tn_expr *counted = tir_and(inside, tir_lt(tir_add(column, two), tir_add(extent, one)));
  tn_stmt *count_all =
      ops_loop(e, count, ops_either(counted, increase(begins, tir_add(column, two), one), NULL));
  tn_expr *here = tir_add((tn_expr *)k, one);
  tn_stmt *sums = ops_loop(k, extent, increase(begins, here, tir_load(begins, tn_arr_of(1, k))));
  tn_Var *to = tir_var("to", begins->dtype);
  tn_expr *free = NULL, *place = ops_data_index_if((tn_expr *)to, count, OPS_CLIP, &free);
  tn_arr *there = place ? tn_arr_of(1, place) : NULL;
  if (!there) return NULL;
  tn_stmt *put = tir_seq2(tir_store(data, tir_load(values, tn_arr_of(1, e)), there),
                          tir_store(rows, tir_cast(rows->dtype, (tn_expr *)n, NULL), there));
  put = ops_either(free, put, NULL);
  put = put ? tir_seq2(put, increase(begins, next, one)) : NULL;
  if (!put) return NULL;
  put = (tn_stmt *)TN_MAKE(LetStmt, .var = to, .value = tir_load(begins, tn_arr_of(1, next)),
                           .body = put);
  put = ops_either(inside, put, NULL);
  tn_arr *zero_at = tn_arr_of(1, e);
  tn_stmt *blank = ops_loop(e, count,
                            tir_seq2(tir_store(data, tir_zero(data->dtype), zero_at),
                                     tir_store(rows, tir_zero(rows->dtype), zero_at)));
  if (!put || !blank) return NULL;
  tn_stmt *all = ops_loop(n, extent, over_row(in, (tn_expr *)n, e, put));
  all = tir_seq2(tir_seq2(tir_seq2(clear, blank), tir_seq2(count_all, sums)), all);
  return ops_extern("sparse_transpose", c->inputs, in, tn_arr_of(3, data, rows, begins), all);
}

static tn_arr *transpose_shapes(const relay_shape_query *q) {
  return tn_arr_of(3, relay_shape_of(q, 0), relay_shape_of(q, 1), relay_shape_of(q, 2));
}

static const relay_op_row rows[] = {
    {.name = "sparse_to_dense",
     .inputs = "sparse_indices sparse_values default_value",
     .attrs = &tn_type_SparseToDenseAttrs,
     .level = 3,
     .pattern = RELAY_OPAQUE,
     .rel_name = "SparseToDense",
     .rel = to_dense_relation,
     .compute = to_dense,
     .doc = "a tensor of its elements and their coordinates"},
    OPS_DYNAMIC("dyn.sparse_to_dense", "sparse_indices sparse_values default_value output_shape",
                NULL, 8, "DynSparseToDense", open_dense_relation, open_dense_shape, to_dense,
                "a tensor, whose shape is one, of its elements and their coordinates"),
    {.name = "sparse_reshape",
     .inputs = "sparse_indices prev_shape new_shape",
     .level = 3,
     .pattern = RELAY_OPAQUE,
     .rel_name = "SparseReshape",
     .rel = reshape_relation,
     .compute = reshape,
     .shape = reshape_shapes,
     .doc = "coordinates of elements in another shape, and that shape"},
    {.name = "nn.sparse_dense",
     .inputs = "dense_data sparse_data sparse_indices sparse_indptr",
     .attrs = &tn_type_SparseDenseAttrs,
     .level = 1,
     .pattern = RELAY_OPAQUE,
     .rel_name = "SparseDense",
     .rel = dense_relation,
     .compute = dense,
     .shape = dense_shapes,
     .doc = "product with the transpose of a matrix in compressed rows"},
    {.name = "nn.sparse_add",
     .inputs = "dense_data sparse_data sparse_indices sparse_indptr",
     .level = 1,
     .pattern = RELAY_OPAQUE,
     .rel_name = "SparseAdd",
     .rel = add_relation,
     .compute = add,
     .shape = relay_shape_same,
     .doc = "sum with a matrix in compressed rows"},
    {.name = "nn.sparse_transpose",
     .inputs = "sparse_data sparse_indices sparse_indptr",
     .level = 1,
     .pattern = RELAY_OPAQUE,
     .rel_name = "SparseTranspose",
     .rel = transpose_relation,
     .compute = transpose,
     .shape = transpose_shapes,
     .doc = "the transpose of a square matrix in compressed rows"},
};

RELAY_FAMILY(sparse, SPARSE_ATTRS)
