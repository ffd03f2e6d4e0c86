/* Values of plain arithmetic on constants, computed by the compiler's own code: what a kernel would
   make costs far more to compile than to run. Only operators and types whose result IEEE 754 or
   the width of the integer fixes, so that a kernel gives the same bits.

     multiply(w: Tensor[(64, 3, 7, 7), float32], s: Tensor[(64, 1, 1, 1), float32])
       extents 64, 147   strides of w 147, 1   of s 1, 0

   Dimensions along which both operands are laid out alike are one. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/scope.h"
#include "eval/evaluate.h"
#include "ir/op.h"
#include "relay/op.h"
#include "tenon/runtime.h"

enum { MAX_DIMS = 64 };

/* ---- runs of elements ---- */

/* n results, one after another, of elements that are `sa` and `sb` apart: 0 or any other number. */
typedef void (*run_fn)(void *out, const void *a, const void *b, int64_t n, int64_t sa, int64_t sb);

#define LOOP(x, y, value)                                                                          \
  for (int64_t i = 0; i < n; ++i) {                                                                \
    const element a = p[x], b = q[y];                                                              \
    (void)b;                                                                                       \
    r[i] = (value);                                                                                \
  }
/* The usual strides in loops that have vectors. */
#define RUN(name, type, value)                                                                     \
  static void name(void *out, const void *from, const void *by, int64_t n, int64_t sa,             \
                   int64_t sb) {                                                                   \
    typedef type element;                                                                          \
    const element *p = from, *q = by;                                                              \
    element *r = out;                                                                              \
    if (sa == 1 && sb == 1) LOOP(i, i, value)                                                      \
    else if (sa == 1 && sb == 0) LOOP(i, 0, value)                                                 \
    else if (sa == 0 && sb == 1) LOOP(0, i, value)                                                 \
    else LOOP(i *sa, i *sb, value)                                                                 \
  }
#define FLOAT_RUNS(letter, type)                                                                   \
  RUN(add_##letter, type, a + b)                                                                   \
  RUN(subtract_##letter, type, a - b)                                                              \
  RUN(multiply_##letter, type, a *b)                                                               \
  RUN(divide_##letter, type, a / b)                                                                \
  RUN(negative_##letter, type, 0 - a)
/* integers wrap around: their sums are those of unsigned ones */
#define INT_RUNS(letter, type)                                                                     \
  RUN(add_##letter, type, a + b)                                                                   \
  RUN(subtract_##letter, type, a - b)                                                              \
  RUN(multiply_##letter, type, a *b)                                                               \
  RUN(negative_##letter, type, 0 - a)
FLOAT_RUNS(f, float)
FLOAT_RUNS(d, double)
RUN(sqrt_f, float, sqrtf(a))
RUN(sqrt_d, double, sqrt(a))
INT_RUNS(i, uint32_t)
INT_RUNS(l, uint64_t)

static const struct {
  const char *op;
  int inputs;
  run_fn f32, f64, i32, i64;
} runs[] = {
    {"add", 2, add_f, add_d, add_i, add_l},
    {"subtract", 2, subtract_f, subtract_d, subtract_i, subtract_l},
    {"multiply", 2, multiply_f, multiply_d, multiply_i, multiply_l},
    {"divide", 2, divide_f, divide_d, NULL, NULL},
    {"negative", 1, negative_f, negative_d, negative_i, negative_l},
    {"sqrt", 1, sqrt_f, sqrt_d, NULL, NULL},
};

/* NULL: not of those. */
static run_fn run_of(const char *op, int64_t inputs, tn_dtype t) {
  for (int i = 0; i < TN_COUNT(runs); ++i) {
    if (strcmp(op, runs[i].op) != 0 || inputs != runs[i].inputs || t.lanes != 1) continue;
    if (t.code == kDLFloat) return t.bits == 32 ? runs[i].f32 : t.bits == 64 ? runs[i].f64 : NULL;
    if (t.code == kDLInt) return t.bits == 32 ? runs[i].i32 : t.bits == 64 ? runs[i].i64 : NULL;
  }
  return NULL;
}

/* ---- all elements ---- */

/* Of a result and two operands; the last dimension is the innermost. */
typedef struct {
  int64_t extent[MAX_DIMS], a[MAX_DIMS], b[MAX_DIMS];
  int n;
} nest;

/* The dimension, outwards of those that are there, or as a part of the outermost. */
static void add_outwards(nest *x, int64_t extent, int64_t a, int64_t b) {
  int last = x->n - 1;
  if (extent == 1) return;
  if (x->n && a == x->a[last] * x->extent[last] && b == x->b[last] * x->extent[last]) {
    x->extent[last] *= extent;
    return;
  }
  x->extent[x->n] = extent;
  x->a[x->n] = a;
  x->b[x->n++] = b;
}

/* Extent and stride of dimension `i` of the result in an operand, whose own are the last of them.
 * @return 0 where it has neither */
static int64_t step_of(const DLTensor *t, int ndim, int i, int64_t *compact) {
  int own = i - (ndim - t->ndim);
  if (own < 0) return 0;
  int64_t stride = t->strides ? t->strides[own] : *compact;
  *compact *= t->shape[own];
  return t->shape[own] == 1 ? 0 : stride;
}

static void nest_of(const DLTensor *out, const DLTensor *a, const DLTensor *b, nest *x) {
  int64_t compact_a = 1, compact_b = 1;
  x->n = 0;
  for (int i = out->ndim - 1; i >= 0; --i) {
    int64_t sa = step_of(a, out->ndim, i, &compact_a), sb = step_of(b, out->ndim, i, &compact_b);
    add_outwards(x, out->shape[i], sa, sb);
  }
  if (!x->n) x->extent[0] = 1, x->a[0] = x->b[0] = 0, x->n = 1;
}

static void run_nest(const nest *x, run_fn run, size_t item, char *out, const char *a,
                     const char *b) {
  int64_t at[MAX_DIMS] = {0}, n = x->extent[0];
  for (int k = 0; k < x->n;) {
    run(out, a, b, n, x->a[0], x->b[0]);
    out += (size_t)n * item;
    for (k = 1; k < x->n; ++k) {
      a += x->a[k] * (int64_t)item;
      b += x->b[k] * (int64_t)item;
      if (++at[k] < x->extent[k]) break;
      a -= x->a[k] * x->extent[k] * (int64_t)item;
      b -= x->b[k] * x->extent[k] * (int64_t)item;
      at[k] = 0;
    }
  }
}

/* ---- calls ---- */

/* Does the operand broadcast to the shape of the result? */
static bool fits(const DLTensor *t, const DLTensor *out) {
  if (t->ndim > out->ndim || !tn_dtype_eq(t->dtype, out->dtype)) return false;
  for (int i = 1; i <= t->ndim; ++i) {
    int64_t extent = t->shape[t->ndim - i];
    if (extent != 1 && extent != out->shape[out->ndim - i]) return false;
  }
  return t->device.device_type == kDLCPU;
}

static const DLTensor *operand(const tn_RelayCall *call, int64_t i) {
  const tn_Constant *c = TN_AS(Constant, relay_arg(call, i));
  return c ? tn_tensor_dl((const tn_tensor *)c->data) : NULL;
}

static const char *first(const DLTensor *t) { return (const char *)t->data + t->byte_offset; }

int eval_elementwise(const tn_RelayCall *call, relay_expr **out) {
  int64_t dims[MAX_DIMS], inputs = call->args->len;
  const tn_TensorType *type = relay_tensor_type_of_expr(call);
  nest x;
  *out = NULL;
  run_fn run = type ? run_of(relay_called_op(call), inputs, type->dtype) : NULL;
  if (!run || ir_op_has_foreign_rules()) return 0;
  const DLTensor *a = operand(call, 0), *b = operand(call, inputs - 1);
  if (!a || !b || relay_known_ints(type->shape, dims, MAX_DIMS) < 0) return 0;
  tn_tensor *to;
  TN_GET(to, tn_scope_own(tn_tensor_new(dims, (int32_t)type->shape->len, type->dtype,
                                        (tn_device){kDLCPU, 0}, NULL)));
  const DLTensor *dl = tn_tensor_dl(to);
  if (!fits(a, dl) || !fits(b, dl)) return 0;
  nest_of(dl, a, b, &x);
  if (tn_tensor_count(dl))
    run_nest(&x, run, type->dtype.bits / 8u, (char *)dl->data + dl->byte_offset, first(a),
             first(b));
  TN_GET(*out, (relay_expr *)relay_constant((tn_NDArray *)to));
  return 1;
}
