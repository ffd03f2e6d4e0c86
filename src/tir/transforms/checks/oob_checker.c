/* Fails where an access is outside of its buffer, as far as that is known:

     A: T.Buffer((8,))
     for i in range(9):
       A[i] = ...          ScheduleError: buffer A: index 0, i, reaches 8, but the extent is 8

   Bounds of indices come from the loops and conditions around; an index of which nothing is known
   is left alone. The function stays as it is. */
#include "tir/analysis/access_bounds.h"
#include "tir/script/printer.h"
#include "tir/transforms/transforms.h"

typedef struct {
  access_bounds at;
  tn_buf errors;
} checker;

static int report(checker *x, const tn_Buffer *b, int64_t axis, int64_t value,
                  const tn_expr *extent) {
  tn_str *text;
  TN_GET(text, script_print((tn_obj *)(uintptr_t)extent, NULL));
  tn_buf_printf(&x->errors, "  buffer %s: index %lld reaches %lld, but the extent is %s\n",
                tn_cstr(b->name), (long long)axis, (long long)value, tn_cstr(text));
  return tn_buf_ok(&x->errors);
}

/* A bound beyond is that of the type: nothing else is known. */
enum { FAR = 1 << 30 };

static int check_index(checker *x, const tn_Buffer *b, int64_t axis, tn_expr *index) {
  const tn_Ramp *ramp = TN_AS(Ramp, index);
  tn_expr *extent = (tn_expr *)tn_arr_obj(b->shape, axis), *first = ramp ? ramp->base : index,
          *last;
  if (first->dtype.lanes != 1) return 0;
  TN_GET(first, arith_simplify(&x->at.known, first));
  last = first;
  if (ramp)
    TN_GET(last, arith_simplify(&x->at.known,
                                tir_add(first, tir_mul(ramp->stride, tir_lanes(ramp->stride->dtype,
                                                                               ramp->lanes, -1)))));
  arith_bound low = arith_const_bound(&x->at.known, first),
              high = arith_const_bound(&x->at.known, last);
  int64_t n;
  if (low.max < 0) return report(x, b, axis, low.max, extent);
  if (low.min < 0 && low.min > -FAR) return report(x, b, axis, low.min, extent);
  if (!tir_as_int((const tn_obj *)extent, &n)) return 0;
  if (high.min >= n) return report(x, b, axis, high.min, extent);
  return high.max >= n && high.max < FAR ? report(x, b, axis, high.max, extent) : 0;
}

static int check_access(access_bounds *a, const tn_Buffer *b, const tn_arr *indices) {
  checker *x = (checker *)a;
  for (int64_t i = 0; i < indices->len && i < b->shape->len; ++i)
    TN_TRY(check_index(x, b, i, (tn_expr *)tn_arr_obj(indices, i)));
  return 0;
}

static void checker_fini(checker *x) {
  tir_access_fini(&x->at);
  tn_buf_fini(&x->errors);
}

tn_PrimFunc *tir_oob_checker(tn_PrimFunc *f, const tn_pass_ctx *c) {
  __attribute__((cleanup(checker_fini))) checker x = {.at.access = check_access};
  const char *text;
  (void)c;
  TN_TRYP(tir_walk_accesses(&x.at, f->body));
  if (x.errors.len == 0) return f;
  TN_GETP(text, tn_buf_cstr(&x.errors));
  return TN_RAISEP(ScheduleError, f->span, "accesses are outside of their buffers:\n%s", text);
}
