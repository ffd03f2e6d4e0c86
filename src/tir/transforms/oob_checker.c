/* Fails where an access is outside of its buffer, as far as that is known:

     A: T.Buffer((8,))
     for i in range(9):
       A[i] = ...          ScheduleError: buffer A: index 0, i, reaches 8, but the extent is 8

   Bounds of indices come from the loops and conditions around; an index of which nothing is known
   is left alone. The function stays as it is. */
#include "arith/analyzer.h"
#include "tir/script/printer.h"
#include "tir/transforms/transforms.h"

typedef struct {
  arith_analyzer known;
  tn_buf errors;
} checker;

/* ---- accesses ---- */

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
  TN_GET(first, arith_simplify(&x->known, first));
  last = first;
  if (ramp)
    TN_GET(last,
           arith_simplify(&x->known,
                          tir_add(first, tir_mul(ramp->stride, tir_const_int(ramp->stride->dtype,
                                                                             ramp->lanes - 1)))));
  arith_bound low = arith_const_bound(&x->known, first), high = arith_const_bound(&x->known, last);
  int64_t n;
  if (low.max < 0) return report(x, b, axis, low.max, extent);
  if (low.min < 0 && low.min > -FAR) return report(x, b, axis, low.min, extent);
  if (!tir_as_int((const tn_obj *)extent, &n)) return 0;
  if (high.min >= n) return report(x, b, axis, high.min, extent);
  return high.max >= n && high.max < FAR ? report(x, b, axis, high.max, extent) : 0;
}

static int check_access(checker *x, const tn_Buffer *b, const tn_arr *indices) {
  for (int64_t i = 0; i < indices->len && i < b->shape->len; ++i)
    TN_TRY(check_index(x, b, i, (tn_expr *)tn_arr_obj(indices, i)));
  return 0;
}

static tn_obj *check_load(tn_mut *m, tn_BufferLoad *op) {
  TN_TRYP(check_access(m->ctx, op->buffer, op->indices));
  return tn_mut_children(m, op);
}
static tn_obj *check_store(tn_mut *m, tn_BufferStore *op) {
  TN_TRYP(check_access(m->ctx, op->buffer, op->indices));
  return tn_mut_children(m, op);
}

/* ---- what is known ---- */

/* Visits a part under a condition; NULL is no part. */
static int visit_under(tn_mut *m, tn_expr *cond, const void *part) {
  checker *x = m->ctx;
  if (!part) return 0;
  int64_t mark = cond ? arith_enter(&x->known, cond) : -1;
  if (mark < 0) return -1;
  bool good = tn_mut_visit(m, part) != NULL;
  arith_leave(&x->known, mark);
  return good ? 0 : -1;
}

static tn_obj *under_if(tn_mut *m, tn_IfThenElse *op) {
  if (!tn_mut_visit(m, op->condition)) return NULL;
  TN_TRYP(visit_under(m, op->condition, op->then_case));
  TN_TRYP(visit_under(m, tir_not(op->condition, NULL), op->else_case));
  return (tn_obj *)op;
}

static tn_obj *under_call(tn_mut *m, tn_Call *op) {
  if (!tir_as_call((tn_obj *)op, TIR_OP_if_then_else) || op->args->len != 3)
    return tn_mut_children(m, op);
  tn_expr *cond = (tn_expr *)tn_arr_obj(op->args, 0);
  if (!tn_mut_visit(m, cond)) return NULL;
  TN_TRYP(visit_under(m, cond, tn_arr_obj(op->args, 1)));
  TN_TRYP(visit_under(m, tir_not(cond, NULL), tn_arr_obj(op->args, 2)));
  return (tn_obj *)op;
}

static tn_obj *under_for(tn_mut *m, tn_For *op) {
  checker *x = m->ctx;
  tn_Range *r;
  if (!tn_mut_visit(m, op->min) || !tn_mut_visit(m, op->extent)) return NULL;
  if (tir_is_zero(op->extent)) return (tn_obj *)op;
  TN_GETP(r, tir_range(op->min, op->extent));
  TN_TRYP(arith_bind_range(&x->known, op->loop_var, r, true));
  bool good = tn_mut_visit(m, op->body) != NULL;
  arith_unbind(&x->known, op->loop_var);
  return good ? (tn_obj *)op : NULL;
}

/* An iterator takes the values that it is given, which may be fewer than its domain has. */
static tn_obj *under_block(tn_mut *m, tn_BlockRealize *op) {
  checker *x = m->ctx;
  const tn_arr *iters = op->block->iter_vars;
  for (int64_t i = 0; i < iters->len; ++i) {
    tn_Var *v = ((tn_IterVar *)tn_arr_obj(iters, i))->var;
    TN_TRYP(arith_bind(&x->known, v, (tn_expr *)tn_arr_obj(op->iter_values, i), true));
  }
  TN_TRYP(visit_under(m, op->predicate, op->block->init));
  TN_TRYP(visit_under(m, op->predicate, op->block->body));
  for (int64_t i = 0; i < iters->len; ++i)
    arith_unbind(&x->known, ((tn_IterVar *)tn_arr_obj(iters, i))->var);
  return (tn_obj *)op;
}

static tn_obj *under_let(tn_mut *m, tn_LetStmt *op) {
  checker *x = m->ctx;
  if (!tn_mut_visit(m, op->value)) return NULL;
  bool index = ir_is_int(op->var->dtype) && op->var->dtype.lanes == 1 && tir_is_pure(op->value);
  if (index) TN_TRYP(arith_bind(&x->known, op->var, op->value, true));
  bool good = tn_mut_visit(m, op->body) != NULL;
  if (index) arith_unbind(&x->known, op->var);
  return good ? (tn_obj *)op : NULL;
}

static tn_obj *leave(tn_mut *m, tn_obj *o) {
  (void)m;
  return o;
}

static void checker_fini(checker *x) {
  arith_fini(&x->known);
  tn_buf_fini(&x->errors);
}

tn_PrimFunc *tir_oob_checker(tn_PrimFunc *f, const tn_pass_ctx *c) {
  static const tn_mut_case cases[] = {
      TN_CASE(BufferLoad, check_load), TN_CASE(BufferStore, check_store),
      TN_CASE(IfThenElse, under_if),   TN_CASE(Call, under_call),
      TN_CASE(For, under_for),         TN_CASE(BlockRealize, under_block),
      TN_CASE(LetStmt, under_let),     TN_CASE(Buffer, leave)};
  __attribute__((cleanup(checker_fini))) checker x = {0};
  const char *text;
  (void)c;
  TN_MUT(m, cases, &x);
  if (!tn_mut_visit(&m, f->body)) return NULL;
  if (x.errors.len == 0) return f;
  TN_GETP(text, tn_buf_cstr(&x.errors));
  return TN_RAISEP(ScheduleError, f->span, "accesses are outside of their buffers:\n%s", text);
}
