/* Expressions. */
#include <math.h>

#include "base/alloc.h"
#include "codegen/interp/interp.h"

static bool is_float(tn_dtype t) { return t.code == kDLFloat || t.code == kDLBfloat; }

/* ---- constants and variables ---- */

static int int_imm(in_frame *f, const tn_IntImm *e, int lane, in_value *out) {
  (void)f, (void)lane;
  out->i = in_wrap(e->dtype, (uint64_t)e->value);
  return 0;
}

static int float_imm(in_frame *f, const tn_FloatImm *e, int lane, in_value *out) {
  (void)f, (void)lane;
  out->f = in_round(e->dtype, e->value);
  return 0;
}

static int string_imm(in_frame *f, const tn_StringImm *e, int lane, in_value *out) {
  (void)f, (void)lane;
  out->i = (int64_t)(intptr_t)tn_cstr(e->value);
  return 0;
}

static int var(in_frame *f, const tn_Var *v, int lane, in_value *out) {
  const in_value *at = tn_pmap_get(&f->vars, v);
  TN_CHECK(at, CodegenError, v->span, "stackvm: %s: variable %s is used where it is not defined",
           f->name, tn_cstr(v->name));
  *out = at[v->dtype.lanes > 1 ? lane : 0];
  return 0;
}

/* ---- arithmetic ---- */

static int float_binary(uint32_t op, tn_dtype t, double a, double b, in_value *out) {
  switch (op) {
  case TN_TI_Add: out->f = in_round(t, a + b); return 0;
  case TN_TI_Sub: out->f = in_round(t, a - b); return 0;
  case TN_TI_Mul: out->f = in_round(t, a * b); return 0;
  case TN_TI_Div: out->f = in_round(t, a / b); return 0;
  case TN_TI_Mod: out->f = fmod(a, b); return 0;
  case TN_TI_FloorDiv: out->f = floor(in_round(t, a / b)); return 0;
  case TN_TI_FloorMod: out->f = in_round(t, ir_floor_mod(a, b)); return 0;
  case TN_TI_Min: out->f = b < a || isnan(b) ? b : a; return 0;
  case TN_TI_Max: out->f = b > a || isnan(b) ? b : a; return 0;
  case TN_TI_EQ: out->i = a == b; return 0;
  case TN_TI_NE: out->i = a != b; return 0;
  case TN_TI_LT: out->i = a < b; return 0;
  case TN_TI_LE: out->i = a <= b; return 0;
  case TN_TI_GT: out->i = a > b; return 0;
  default: out->i = a >= b; return 0;
  }
}

/* Quotient and remainder toward zero, then rounded down where that is asked for. */
static int divide(const tn_BinaryOp *e, int64_t a, int64_t b, in_value *out) {
  uint32_t op = e->hdr.type_index;
  bool floored = op == TN_TI_FloorDiv || op == TN_TI_FloorMod;
  tn_dtype t = e->a->dtype;
  int64_t q, r;
  if (b == 0) {
    q = r = 0;
  } else if (!ir_is_int(t)) {
    q = (int64_t)((uint64_t)a / (uint64_t)b);
    r = (int64_t)((uint64_t)a % (uint64_t)b);
  } else {
    q = b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b;
    r = b == -1 ? 0 : a % b;
    if (floored && r != 0 && (r < 0) != (b < 0)) {
      q -= 1;
      r += b;
    }
  }
  out->i = in_wrap(t, (uint64_t)(op == TN_TI_Div || op == TN_TI_FloorDiv ? q : r));
  return 0;
}

static int int_binary(const tn_BinaryOp *e, int64_t a, int64_t b, in_value *out) {
  tn_dtype t = e->a->dtype;
  uint64_t x = (uint64_t)a, y = (uint64_t)b;
  bool less = ir_is_int(t) ? a < b : x < y;
  switch (e->hdr.type_index) {
  case TN_TI_Add: out->i = in_wrap(t, x + y); return 0;
  case TN_TI_Sub: out->i = in_wrap(t, x - y); return 0;
  case TN_TI_Mul: out->i = in_wrap(t, x * y); return 0;
  case TN_TI_Min: out->i = less ? a : b; return 0;
  case TN_TI_Max: out->i = less ? b : a; return 0;
  case TN_TI_EQ: out->i = a == b; return 0;
  case TN_TI_NE: out->i = a != b; return 0;
  case TN_TI_LT: out->i = less; return 0;
  case TN_TI_LE: out->i = less || a == b; return 0;
  case TN_TI_GT: out->i = !less && a != b; return 0;
  case TN_TI_GE: out->i = !less; return 0;
  default: return divide(e, a, b, out);
  }
}

static int binary(in_frame *f, const tn_BinaryOp *e, int lane, in_value *out) {
  in_value a, b;
  TN_TRY(in_eval(f, e->a, lane, &a));
  TN_TRY(in_eval(f, e->b, lane, &b));
  if (!is_float(e->a->dtype)) return int_binary(e, a.i, b.i, out);
  return float_binary(e->hdr.type_index, e->a->dtype, a.f, b.f, out);
}

static int logic(in_frame *f, const tn_BinaryOp *e, int lane, in_value *out) {
  TN_TRY(in_eval(f, e->a, lane, out));
  if ((out->i != 0) == (e->hdr.type_index == TN_TI_Or)) return 0;
  return in_eval(f, e->b, lane, out);
}

static int not_expr(in_frame *f, const tn_Not *e, int lane, in_value *out) {
  TN_TRY(in_eval(f, e->a, lane, out));
  out->i = !out->i;
  return 0;
}

static int cast(in_frame *f, const tn_Cast *e, int lane, in_value *out) {
  TN_TRY(in_eval(f, e->value, lane, out));
  *out = in_cast(e->value->dtype, e->dtype, *out);
  return 0;
}

/* As in C: of the two values one is computed. */
static int select_expr(in_frame *f, const tn_Select *e, int lane, in_value *out) {
  in_value c;
  TN_TRY(in_eval(f, e->condition, lane, &c));
  return in_eval(f, c.i ? e->true_value : e->false_value, lane, out);
}

/* ---- vectors ---- */

static int ramp(in_frame *f, const tn_Ramp *e, int lane, in_value *out) {
  in_value stride;
  TN_TRY(in_eval(f, e->base, 0, out));
  TN_TRY(in_eval(f, e->stride, 0, &stride));
  out->i = in_wrap(e->dtype, (uint64_t)out->i + (uint64_t)stride.i * (uint64_t)lane);
  return 0;
}

static int broadcast(in_frame *f, const tn_Broadcast *e, int lane, in_value *out) {
  (void)lane;
  return in_eval(f, e->value, 0, out);
}

static int shuffle(in_frame *f, const tn_Shuffle *e, int lane, in_value *out) {
  in_value at;
  TN_TRY(in_eval(f, tn_arr_obj(e->indices, lane), 0, &at));
  for (int64_t i = 0; i < e->vectors->len && at.i >= 0; ++i) {
    const tn_expr *v = (const tn_expr *)tn_arr_obj(e->vectors, i);
    if (at.i < v->dtype.lanes) return in_eval(f, v, (int)at.i, out);
    at.i -= v->dtype.lanes;
  }
  return TN_RAISE(CodegenError, e->span, "stackvm: %s: a shuffle takes a lane that is not there",
                  f->name);
}

int in_eval_lanes(in_frame *f, const tn_expr *e, in_lanes *out) {
  int n = e->dtype.lanes > 1 ? e->dtype.lanes : 1; /* nothing, too, is evaluated once */
  out->v = out->few;
  if (n > IN_FEW) {
    in_value *v;
    TN_GET(v, tn_alloc_zero((size_t)n, sizeof *v));
    out->v = v;
  }
  for (int i = 0; i < n; ++i) TN_TRY(in_eval(f, e, i, &out->v[i]));
  return 0;
}

void in_lanes_fini(in_lanes *l) {
  if (l->v != l->few) tn_free(l->v);
}

static int let(in_frame *f, const tn_Let *e, int lane, in_value *out) {
  in_lanes v;
  int err = in_eval_lanes(f, e->value, &v) || tn_pmap_put(&f->vars, e->var, v.v) ||
            in_eval(f, e->body, lane, out);
  in_lanes_fini(&v);
  return err ? -1 : 0;
}

/* ---- memory ---- */

int in_element(in_frame *f, const tn_Buffer *b, const tn_arr *indices, int lane, char **out) {
  in_value data, i;
  size_t size;
  TN_CHECK(indices->len == 1 && b->dtype.lanes == 1, CodegenError, b->span,
           "stackvm: %s: buffer %s is not flat: flatten the program first (tir.FlattenBuffer)",
           f->name, tn_cstr(b->name));
  TN_TRY(in_eval(f, b->data, 0, &data));
  TN_TRY(in_eval(f, tn_arr_obj(indices, 0), lane, &i));
  TN_GET(size, in_size(f, b->dtype));
  *out = data.p ? (char *)data.p + i.i * (int64_t)size : NULL;
  return 0;
}

int in_load(in_frame *f, const tn_Buffer *b, const tn_arr *indices, int lane, in_value *out) {
  char *p;
  TN_TRY(in_element(f, b, indices, lane, &p));
  return in_read(f, b->dtype, p, out);
}

static int load(in_frame *f, const tn_BufferLoad *e, int lane, in_value *out) {
  return in_load(f, e->buffer, e->indices, lane, out);
}

/* ---- dispatch ---- */

typedef int (*expr_case)(in_frame *f, const tn_obj *e, int lane, in_value *out);
#define CASE(T, fn) [TN_TI_##T] = (expr_case)(void (*)(void))(fn)

static const expr_case cases[] = {
    CASE(IntImm, int_imm),
    CASE(FloatImm, float_imm),
    CASE(StringImm, string_imm),
    CASE(Var, var),
    CASE(SizeVar, var),
    CASE(Cast, cast),
    CASE(Add, binary),
    CASE(Sub, binary),
    CASE(Mul, binary),
    CASE(Div, binary),
    CASE(Mod, binary),
    CASE(FloorDiv, binary),
    CASE(FloorMod, binary),
    CASE(Min, binary),
    CASE(Max, binary),
    CASE(EQ, binary),
    CASE(NE, binary),
    CASE(LT, binary),
    CASE(LE, binary),
    CASE(GT, binary),
    CASE(GE, binary),
    CASE(And, logic),
    CASE(Or, logic),
    CASE(Not, not_expr),
    CASE(Select, select_expr),
    CASE(Ramp, ramp),
    CASE(Broadcast, broadcast),
    CASE(Shuffle, shuffle),
    CASE(Let, let),
    CASE(Call, in_call),
    CASE(BufferLoad, load),
};

int in_eval(in_frame *f, const void *e, int lane, in_value *out) {
  uint32_t i = ((const tn_obj *)e)->type_index;
  TN_CHECK(i < (uint32_t)TN_COUNT(cases) && cases[i], CodegenError, ((const tn_expr *)e)->span,
           "stackvm: %s: an expression of type %s is left in the program", f->name, tn_obj_key(e));
  return cases[i](f, e, lane, out);
}
