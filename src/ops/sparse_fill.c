/* Rows of a sparse tensor that have no element get one.

     sparse_fill_empty_rows(%indices, %values, %dense_shape, %default)
         =>  (indices, values, is each row empty?)

   An empty row gets the default value, in its first place. Elements stand in the order of their
   rows; one that lies outside of the tensor, or out of order, is kept where there is room. How many
   elements there are in the end is seen by the shape function: it reads indices and dense_shape. */
#include "ir/imm.h"
#include "ops/dynamic.h"

enum { INDICES, VALUES, DENSE_SHAPE, DEFAULT };

static int relation(relay_rel *r) {
  RELAY_TENSOR(indices, r, INDICES);
  RELAY_TENSOR(values, r, VALUES);
  RELAY_TENSOR(shape, r, DENSE_SHAPE);
  RELAY_TENSOR(fill, r, DEFAULT);
  RELAY_CHECK(r, indices->shape->len == 2 && ir_is_integral(indices->dtype),
              "sparse_indices must be integers (elements, dimensions), got %s",
              relay_type_text(indices));
  RELAY_CHECK(r, !relay_int_is(indices->shape, 1, 0),
              "sparse_indices must have a column for each dimension, one at least, got %s",
              relay_type_text(indices));
  RELAY_CHECK(r,
              values->shape->len == 1 &&
                  relay_dim_equal(relay_dim(indices, 0), relay_dim(values, 0)) != 0,
              "sparse_values %s must be as many as sparse_indices %s", relay_type_text(values),
              relay_type_text(indices));
  RELAY_CHECK(r,
              shape->shape->len == 1 && ir_is_integral(shape->dtype) &&
                  relay_dim_equal(relay_dim(indices, 1), relay_dim(shape, 0)) != 0,
              "dense_shape must have an integer for each dimension of sparse_indices %s, got %s",
              relay_type_text(indices), relay_type_text(shape));
  RELAY_CHECK(r,
              fill->shape->len == 1 && relay_dim_equal(relay_dim(fill, 0), tir_i64(1)) != 0 &&
                  tn_dtype_eq(fill->dtype, values->dtype),
              "default_value must be one element of %s, got %s", TN_DT(values->dtype),
              relay_type_text(fill));
  tn_arr *places = tn_arr_of(2, relay_any(), relay_dim(indices, 1)), *many;
  TN_TRY(!places);
  many = tn_arr_of(1, tn_arr_obj(places, 0));
  return relay_rel_result(
      r, relay_tuple_type(tn_arr_of(3, relay_tensor_type(places, indices->dtype),
                                    relay_tensor_type(many, values->dtype),
                                    relay_tensor_type(tn_arr_of(1, relay_any()), TN_BOOL1))));
}

/* ---- shapes ---- */

/* Is element n the first one of its row? */
static tn_expr *first_of_row(void *ctx, tn_arr *at) {
  const tn_Tensor *t = ctx;
  tn_IterVar *k;
  (void)at;
  TN_GETP(k, te_reduce_axis(te_extent(t, 0), "k"));
  tn_expr *n = (tn_expr *)k->var, *zero = tir_zero(n->dtype);
  tn_expr *before = tir_max(tir_sub(n, tir_one(n->dtype)), zero);
  tn_expr *first = tir_or(
      tir_eq(n, zero), tir_ne(te_at_of(t, 2, n, tir_i32(0)), te_at_of(t, 2, before, tir_i32(0))));
  return te_reduce(TE_SUM, tir_cast(TN_I64, first, NULL), tn_arr_of(1, k), NULL);
}

static tn_arr *shapes(const relay_shape_query *q) {
  const tn_arr *in = relay_shape_of(q, INDICES);
  tn_expr *rows, *columns = (tn_expr *)tn_arr_obj(in, 1);
  tn_Tensor *full;
  relay_take_for_granted(tir_lt(tir_zero(columns->dtype), columns));
  TN_GETP(rows, ops_number_at(q, DENSE_SHAPE, 0));
  rows = tir_max(rows, tir_i64(0));
  void *indices = tn_arr_obj(q->values, INDICES);
  TN_GETP(full,
          te_compute(tn_arr_of(1, tir_i64(1)), first_of_row, indices, "full_rows", TE_COMM_REDUCE));
  tn_expr *empty = tir_max(tir_sub(rows, te_at_of(full, 1, tir_i64(0))), tir_i64(0));
  tn_expr *many = tir_add(tir_cast(TN_I64, (tn_expr *)tn_arr_obj(in, 0), NULL), empty);
  return tn_arr_of(3, tn_arr_of(2, many, tn_arr_obj(in, 1)), tn_arr_of(1, many),
                   tn_arr_of(1, rows));
}

/* ---- compute ---- */

typedef struct {
  tn_Buffer *indices, *values, *fill;          /* given */
  tn_Buffer *places, *numbers, *empty, *state; /* made; state: next element, next row */
} buffers;

static tn_expr *state(const buffers *b, int i) {
  return tir_load(b->state, tn_arr_of(1, tir_i32(i)));
}

static tn_stmt *set_state(const buffers *b, int i, tn_expr *e) {
  return tir_store(b->state, e, tn_arr_of(1, tir_i32(i)));
}

/* What puts an element in the next place, if there is room for one. */
static tn_stmt *put(const buffers *b, tn_expr *room, tn_stmt *body) {
  tn_stmt *more = set_state(b, 0, tir_add(state(b, 0), tir_i64(1)));
  return ops_either(room, tir_seq2(body, more), NULL);
}

/* The next free place in the result; *room: is there one? */
static tn_expr *next_place(const buffers *b, tn_expr **room) {
  *room = NULL;
  return ops_data_index_if(state(b, 0), (tn_expr *)tn_arr_obj(b->numbers->shape, 0), OPS_CLIP,
                           room);
}

/* Elements for the rows from the next one to before `end`. */
static tn_stmt *fill_rows(const buffers *b, tn_expr *end) {
  tn_expr *room, *next;
  tn_Var *k = tir_var("k", TN_I64);
  TN_GETP(next, next_place(b, &room));
  tn_expr *row = tir_cast(b->places->dtype, tir_add(state(b, 1), (tn_expr *)k), NULL);
  tn_stmt *one = put(b, room, tir_store(b->places, row, tn_arr_of(2, next, tir_i32(0))));
  return ops_loop(k, tir_max(tir_sub(end, state(b, 1)), tir_i64(0)), one);
}

/* Element n: the empty rows before its own, then itself. */
static tn_stmt *take_element(const buffers *b, tn_Var *n, tn_expr *rows) {
  tn_expr *room, *next, *inside = NULL, *row = tir_load(b->indices, tn_arr_of(2, n, tir_i32(0)));
  tn_Var *d = tir_var("d", TN_I64), *of = tir_var("row", TN_I64);
  tn_expr *end = tir_min((tn_expr *)of, rows), *here;
  TN_GETP(here, ops_data_index_if((tn_expr *)of, rows, OPS_CLIP, &inside));
  tn_stmt *seen =
      ops_either(inside, tir_store(b->empty, tir_bool(false), tn_arr_of(1, here)), NULL);
  TN_GETP(next, next_place(b, &room));
  tn_stmt *copy = ops_loop(
      d, (tn_expr *)tn_arr_obj(b->indices->shape, 1),
      tir_store(b->places, tir_load(b->indices, tn_arr_of(2, n, d)), tn_arr_of(2, next, d)));
  tn_stmt *value = tir_store(b->numbers, tir_load(b->values, tn_arr_of(1, n)), tn_arr_of(1, next));
  tn_stmt *go_on =
      ops_either(inside, set_state(b, 1, tir_max(state(b, 1), tir_add(here, tir_i64(1)))), NULL);
  tn_stmt *all = tir_seq2(tir_seq2(seen, fill_rows(b, end)),
                          tir_seq2(put(b, room, tir_seq2(copy, value)), go_on));
  if (!all) return NULL;
  return (tn_stmt *)TN_MAKE(LetStmt, .var = of, .value = tir_cast(TN_I64, row, NULL), .body = all);
}

/* What stands where no element is put. */
static tn_stmt *clear(const buffers *b, tn_expr *rows) {
  tn_arr *at = ops_loop_vars("i", 2);
  tn_Var *i = tir_var("i", TN_I64), *r = tir_var("r", TN_I64);
  tn_expr *number = tir_load(b->fill, tn_arr_of(1, tir_i32(0)));
  if (!at || !number) return NULL;
  tn_stmt *places =
      ops_loops(at, b->places->shape, tir_store(b->places, tir_zero(b->places->dtype), at));
  tn_stmt *numbers = ops_loop(i, (tn_expr *)tn_arr_obj(b->numbers->shape, 0),
                              tir_store(b->numbers, number, tn_arr_of(1, i)));
  tn_stmt *empty = ops_loop(r, rows, tir_store(b->empty, tir_bool(true), tn_arr_of(1, r)));
  tn_stmt *start = tir_seq2(set_state(b, 0, tir_i64(0)), set_state(b, 1, tir_i64(0)));
  return tir_seq2(tir_seq2(places, numbers), tir_seq2(empty, start));
}

static tn_Buffer *buffer_of(const relay_compute *c, int i, const char *name) {
  const tn_Tensor *t = relay_input(c, i);
  return tir_buffer(t->shape, t->dtype, name, "");
}

static tn_arr *compute(const relay_compute *c) {
  const tn_Tensor *given = relay_input(c, INDICES);
  buffers b = {buffer_of(c, INDICES, "indices"),
               buffer_of(c, VALUES, "values"),
               buffer_of(c, DEFAULT, "default_value"),
               NULL,
               NULL,
               NULL,
               NULL};
  tn_expr *many, *rows;
  TN_GETP(many, (tn_expr *)TN_MAKE(SizeVar, .name = tn_str_from("many"), .dtype = TN_I64));
  TN_GETP(rows, (tn_expr *)TN_MAKE(SizeVar, .name = tn_str_from("rows"), .dtype = TN_I64));
  TN_GETP(b.places,
          tir_buffer(tn_arr_of(2, many, te_extent(given, 1)), given->dtype, "places", ""));
  TN_GETP(b.numbers, tir_buffer(tn_arr_of(1, many), relay_input(c, VALUES)->dtype, "numbers", ""));
  TN_GETP(b.empty, tir_buffer(tn_arr_of(1, rows), TN_BOOL1, "empty", ""));
  TN_GETP(b.state, tir_buffer(tn_arr_of(1, tir_i32(2)), TN_I64, "state", ""));
  tn_Var *n = tir_var("n", TN_I64);
  tn_stmt *each = n && b.indices && b.values && b.fill ? take_element(&b, n, rows) : NULL;
  if (!each) return NULL;
  tn_stmt *body = tir_seq2(tir_seq2(clear(&b, rows), ops_loop(n, te_extent(given, 0), each)),
                           fill_rows(&b, rows));
  tn_arr *all = ops_extern("sparse_fill_empty_rows",
                           tn_arr_of(3, given, relay_input(c, VALUES), relay_input(c, DEFAULT)),
                           tn_arr_of(3, b.indices, b.values, b.fill),
                           tn_arr_of(4, b.places, b.numbers, b.empty, b.state), body);
  return all ? tn_arr_of(3, tn_arr_obj(all, 0), tn_arr_obj(all, 1), tn_arr_obj(all, 2)) : NULL;
}

static const relay_op_row rows[] = {
    OPS_DYNAMIC("sparse_fill_empty_rows", "sparse_indices sparse_values dense_shape default_value",
                NULL, 1 << INDICES | 1 << DENSE_SHAPE, "SparseFillEmptyRows", relation, shapes,
                compute,
                "elements of a sparse tensor, one for each row at least, and which rows had none"),
};

RELAY_FAMILY_PLAIN(sparse_fill)
