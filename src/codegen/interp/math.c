/* Functions of <math.h>, in float for types up to 32 bits. */
#include <math.h>

#include "codegen/interp/interp.h"

typedef struct {
  float (*f1)(float);
  double (*d1)(double);
  float (*f2)(float, float);
  double (*d2)(double, double);
} math_row;
#define ONE(name) [TIR_OP_##name] = {.f1 = name##f, .d1 = name}
#define TWO(name) [TIR_OP_##name] = {.f2 = name##f, .d2 = name}

static float rsqrtf(float x) { return 1.0F / sqrtf(x); }
static double rsqrt(double x) { return 1.0 / sqrt(x); }
static float sigmoidf(float x) { return 1.0F / (1.0F + expf(-x)); }
static double sigmoid(double x) { return 1.0 / (1.0 + exp(-x)); }
static float power10f(float x) { return powf(10.0F, x); }
static double power10(double x) { return pow(10.0, x); }

static const math_row rows[TIR_OP_END] = {
    ONE(exp),
    ONE(exp2),
    ONE(log),
    ONE(log2),
    ONE(log10),
    ONE(log1p),
    ONE(sqrt),
    ONE(sin),
    ONE(cos),
    ONE(tan),
    ONE(sinh),
    ONE(cosh),
    ONE(tanh),
    ONE(asin),
    ONE(acos),
    ONE(atan),
    ONE(asinh),
    ONE(acosh),
    ONE(atanh),
    ONE(erf),
    ONE(floor),
    ONE(ceil),
    ONE(trunc),
    ONE(round),
    ONE(fabs),
    ONE(rsqrt),
    ONE(nearbyint),
    ONE(sigmoid),
    TWO(pow),
    TWO(fmod),
    TWO(atan2),
    TWO(hypot),
    TWO(copysign),
    TWO(nextafter),
    [TIR_OP_exp10] = {.f1 = power10f, .d1 = power10},
};

/* Arguments of a function, 0 when the intrinsic is none. */
static int64_t arity(tir_op_id op) {
  const math_row *r = op < TIR_OP_END ? &rows[op] : NULL;
  return op == TIR_OP_fma ? 3 : r && r->d2 ? 2 : r && r->d1 ? 1 : 0;
}

bool in_is_math(tir_op_id op) { return arity(op) != 0; }

static int power_of_ints(in_frame *f, const tn_Call *call, int64_t first, int lane, in_value *out) {
  in_value x[2];
  for (int i = 0; i < 2; ++i) TN_TRY(in_eval(f, tn_arr_obj(call->args, i + first), lane, &x[i]));
  out->i = ir_int_power(x[0].i, x[1].i, ir_with_lanes(call->dtype, 1));
  return 0;
}

int in_math(in_frame *f, tir_op_id op, const tn_Call *call, int64_t first, int lane, in_value *out,
            bool *found) {
  in_value x[3];
  const math_row *r = op < TIR_OP_END ? &rows[op] : NULL;
  int64_t n = arity(op);
  *found = n != 0;
  if (!n) return 0;
  TN_CHECK(call->args->len - first == n, CodegenError, call->span,
           "stackvm: %s: %s: expected %d arguments, got %d", f->name,
           tn_cstr(((const tn_Op *)call->op)->name), (int)n, (int)(call->args->len - first));
  if (op == TIR_OP_pow && ir_is_integral(call->dtype))
    return power_of_ints(f, call, first, lane, out);
  for (int64_t i = 0; i < n; ++i)
    TN_TRY(in_eval(f, tn_arr_obj(call->args, i + first), lane, &x[i]));
  float a = (float)x[0].f, b = n > 1 ? (float)x[1].f : 0;
  double v;
  if (call->dtype.bits > 32) {
    v = n == 1 ? r->d1(x[0].f) : n == 2 ? r->d2(x[0].f, x[1].f) : fma(x[0].f, x[1].f, x[2].f);
  } else {
    v = (double)(n == 1 ? r->f1(a) : n == 2 ? r->f2(a, b) : fmaf(a, b, (float)x[2].f));
  }
  out->f = in_round(call->dtype, v);
  return 0;
}
