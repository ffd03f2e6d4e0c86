/* Operands of a product whose batches meet at run time: an axis of 1 is repeated as often as the
   other operand says.

     MatMul(a: [n, 2, 3, 4], b: [m, 1, 4, 5])
       =>  both broadcast to [max(n, m), 2], unless they are parameters of the model whose extents
           are the same when it runs

   An extent that is dynamic in values within a model is taken to be the same, as those of queries
   and keys are: a check at run time says so where it is not. It sees all of a batch as one axis, so
   that several such extents are compared when the product runs. */
#include "base/error.h"
#include "import/onnx/import.h"
#include "import/onnx/shape_values.h"
#include "relay/infer.h"

enum { MATRIX = 2 }; /* axes behind those of the batch */

/* Extent of an axis of the batch, counted from the matrices; -1: not known, 1: there is none. */
static int64_t extent(const tn_TensorType *t, int64_t from_matrix) {
  int64_t n, i = t->shape->len - MATRIX - 1 - from_matrix;
  if (i < 0) return 1;
  return tir_as_int(tn_arr_obj(t->shape, i), &n) ? n : -1;
}

typedef enum { TOGETHER, MAYBE, APART } meeting;

static bool has_open_matrix(const tn_TensorType *t) {
  int64_t n, rank = t->shape->len;
  return !tir_as_int(tn_arr_obj(t->shape, rank - 1), &n) ||
         !tir_as_int(tn_arr_obj(t->shape, rank - 2), &n);
}

/* One operand surely has to be repeated, or maybe, or they have the same batch.
   @param parameters one of them is a parameter of the model */
static meeting look(const tn_TensorType *s, const tn_TensorType *t, bool parameters) {
  int64_t a = s->shape->len - MATRIX, b = t->shape->len - MATRIX, maybe = 0;
  bool open = (a < b && has_open_matrix(s)) || (b < a && has_open_matrix(t)), repeated = a != b;
  for (int64_t i = 0; i < a || i < b; ++i) {
    int64_t x = extent(s, i), y = extent(t, i);
    open = open || x < 0 || y < 0 || (x < y && has_open_matrix(s)) || (y < x && has_open_matrix(t));
    repeated = repeated || (x != y && (x == 1 || y == 1));
    maybe += (x < 0 && y != 1) || (y < 0 && x != 1);
  }
  if (!open || (a <= 1 && b <= 1 && repeated)) return TOGETHER; /* products know one batch of 1 */
  return repeated ? APART : maybe > !parameters ? MAYBE : TOGETHER;
}

/* The first `n` extents of x, ones before them up to `all`: int64[all] */
static void *batch_of(void *x, int64_t n, int64_t all) {
  int64_t ones[ONNX_MAX_NUMBERS];
  void *a = relay_attrs("shape_of", 1, "dtype", tn_any_dtype(TN_I64));
  void *own = a ? relay_call("shape_of", a, 1, x) : NULL;
  if (n > 0 && own) own = onnx_part(own, 0, 0, n);
  for (int64_t i = n; i < all; ++i) ones[i - n] = 1;
  if (n == all || !own) return own;
  void *more = relay_const_ints(TN_I64, ones, all - n);
  return more && n > 0 ? onnx_concat(tn_arr_of(2, more, own), 0) : more;
}

typedef struct {
  int64_t rank; /* of the batch of the product */
  void *batch;  /* its extents, int64[rank] */
  const tn_TensorType *s, *t;
} spread;

/* x repeated to the batch; what is known of its extents is in its type. */
static void *repeated(const spread *p, void *x, const tn_TensorType *own) {
  int64_t dims[ONNX_MAX_NUMBERS], rank = own->shape->len, n;
  void *a = relay_attrs("shape_of", 1, "dtype", tn_any_dtype(TN_I64));
  void *shape = a ? relay_call("shape_of", a, 1, x) : NULL;
  void *matrix = shape ? onnx_part(shape, 0, rank - MATRIX, rank) : NULL;
  void *to = matrix ? onnx_concat(tn_arr_of(2, p->batch, matrix), 0) : NULL;
  void *y = to ? relay_call("dyn.broadcast_to", NULL, 2, x, to) : NULL;
  for (int64_t i = 0; i < p->rank; ++i) {
    int64_t v = extent(p->s, p->rank - 1 - i), w = extent(p->t, p->rank - 1 - i);
    dims[i] = v == 1 ? w : w == 1 || v > 1 ? v : w;
  }
  for (int64_t i = 0; i < MATRIX; ++i)
    dims[p->rank + i] = tir_as_int(tn_arr_obj(own->shape, rank - MATRIX + i), &n) ? n : -1;
  return y ? onnx_with_known(y, dims, p->rank + MATRIX) : NULL;
}

static void *typed(void *e) { return e ? relay_infer_new(e) : NULL; }

/* As they are where their batches are the same, else repeated. */
static int choose(void *same, void **a, void **b, void *x, void *y) {
  void *yes[2] = {*a, *b}, *no[2] = {typed(x), typed(y)}, *e;
  for (int i = 0; i < 2; ++i) {
    if (!no[i]) return -1;
    tn_Type *t = relay_join_types(relay_type_of(yes[i]), relay_type_of(no[i]));
    TN_GET(yes[i], onnx_widen(yes[i], t));
    TN_GET(no[i], onnx_widen(no[i], t));
  }
  TN_GET(e, relay_if(same, relay_tuple(tn_arr_of(2, yes[0], yes[1])),
                     relay_tuple(tn_arr_of(2, no[0], no[1]))));
  TN_GET(e, typed(e));
  TN_GET(*a, typed(relay_get_item(e, 0)));
  TN_GET(*b, typed(relay_get_item(e, 1)));
  return 0;
}

int onnx_meet_batches(void **a, const tn_TensorType **s, void **b, const tn_TensorType **t) {
  meeting m = look(*s, *t, TN_AS(RelayVar, *a) || TN_AS(RelayVar, *b));
  if (m == TOGETHER) return 0;
  int64_t x = (*s)->shape->len - MATRIX, y = (*t)->shape->len - MATRIX;
  spread p = {.rank = x > y ? x : y, .s = *s, .t = *t};
  void *own = batch_of(*a, x, p.rank), *other = batch_of(*b, y, p.rank), *one;
  if (!own || !other) return -1;
  TN_GET(one, relay_const_int(TN_I64, 1));
  TN_GET(p.batch, typed(onnx_where(onnx_binary("equal", own, one), other, own)));
  void *first, *second;
  TN_GET(first, typed(repeated(&p, *a, *s)));
  TN_GET(second, typed(repeated(&p, *b, *t)));
  if (m == MAYBE) {
    void *same = onnx_reduce("all", onnx_binary("equal", own, other), NULL, 0, false);
    TN_TRY(choose(typed(same), a, b, first, second));
  } else *a = first, *b = second;
  TN_GET(*s, relay_tensor_type_of_expr(*a));
  TN_GET(*t, relay_tensor_type_of_expr(*b));
  return 0;
}
