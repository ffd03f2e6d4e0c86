/* The notation of each expression, pattern and type definition. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/error.h"
#include "base/number.h"
#include "ir/imm.h"
#include "object/functions.h"
#include "relay/text/print_impl.h"
#include "tenon/runtime.h"

static int put(rp *p, const relay_expr *e, bool may_inline, tn_buf *out) {
  const char *text;
  TN_GET(text, rp_expr(p, e, may_inline));
  tn_buf_puts(out, text);
  return 0;
}

/* ---- constants ---- */

/* Scalars with their own notation: 3, 3i64, 2.5f, 1f64, True. */
static bool print_scalar(const DLTensor *t, tn_buf *out) {
  if (t->ndim != 0 || t->device.device_type != kDLCPU || t->dtype.lanes != 1) return false;
  if (ir_is_bool(t->dtype)) {
    tn_buf_puts(out, *(const uint8_t *)t->data ? "True" : "False");
    return true;
  }
  if (t->dtype.code == kDLInt) {
    switch (t->dtype.bits) {
    case 16: tn_buf_printf(out, "%di16", *(const int16_t *)t->data); return true;
    case 32: tn_buf_printf(out, "%" PRId32, *(const int32_t *)t->data); return true;
    case 64: tn_buf_printf(out, "%" PRId64 "i64", *(const int64_t *)t->data); return true;
    default: return false;
    }
  }
  double x;
  char text[TN_DOUBLE_TEXT];
  DLTensor wide = {.data = &x, .device = t->device, .dtype = TN_F64};
  if (t->dtype.code != kDLFloat || t->dtype.bits < 16) return false;
  if (t->dtype.bits == 64) x = *(const double *)t->data;
  else if (tn_tensor_convert(t, &wide)) {
    tn_error_clear();
    return false;
  }
  if (!isfinite(x)) return false; /* in the metadata section */
  if (t->dtype.bits == 32) {
    /* the fewest digits that give the number back */
    for (int digits = 6; digits <= 9; ++digits) {
      snprintf(text, sizeof text, "%.*g", digits, x);
      if ((float)tn_strtod(text, NULL) == (float)x) break;
    }
    tn_buf_printf(out, "%sf", text);
  } else tn_buf_printf(out, "%sf%d", tn_double_text(x, text), t->dtype.bits);
  return true;
}

/* ---- patterns and data types ---- */

static int pattern_list(rp *p, const tn_arr *patterns, tn_buf *out) {
  tn_buf_putc(out, '(');
  for (int64_t i = 0; i < patterns->len; ++i) {
    if (i) tn_buf_puts(out, ", ");
    TN_TRY(rp_pattern(p, (const tn_Pattern *)tn_arr_obj(patterns, i), out));
  }
  tn_buf_putc(out, ')');
  return 0;
}

int rp_pattern(rp *p, const tn_Pattern *pattern, tn_buf *out) {
  const tn_PatternConstructor *c = TN_AS(PatternConstructor, pattern);
  const tn_PatternVar *v = TN_AS(PatternVar, pattern);
  const tn_PatternTuple *t = TN_AS(PatternTuple, pattern);
  if (v) return rp_bind(p, v->var, out);
  if (t) return pattern_list(p, t->patterns, out);
  tn_buf_puts(out, c ? tn_cstr(c->constructor->name_hint) : "_");
  return c && c->patterns->len ? pattern_list(p, c->patterns, out) : 0;
}

static int constructor_definition(rp *p, const tn_Constructor *c, tn_buf *out) {
  tn_buf_puts(out, tn_cstr(c->name_hint));
  for (int64_t i = 0; i < c->inputs->len; ++i) {
    tn_buf_puts(out, i ? ", " : "(");
    TN_TRY(rp_type(p, (const tn_Type *)tn_arr_obj(c->inputs, i), out));
  }
  tn_buf_puts(out, c->inputs->len ? ")," : ",");
  return 0;
}

int rp_type_data(rp *p, const tn_TypeData *d, tn_buf *out) {
  bool external = d->constructors->len == 0;
  tn_buf_printf(out, "%stype %s", external ? "extern " : "", tn_cstr(d->header->name_hint));
  for (int64_t i = 0; i < d->type_vars->len; ++i) {
    const tn_TypeVar *v = (const tn_TypeVar *)tn_arr_obj(d->type_vars, i);
    tn_buf_printf(out, "%s%s", i ? ", " : "[", tn_cstr(v->name_hint));
  }
  if (d->type_vars->len) tn_buf_putc(out, ']');
  if (external) return 0;
  tn_buf_puts(out, " {");
  p->indent += 2;
  for (int64_t i = 0; i < d->constructors->len; ++i) {
    rp_newline(p, out);
    TN_TRY(constructor_definition(p, (const tn_Constructor *)tn_arr_obj(d->constructors, i), out));
  }
  p->indent -= 2;
  rp_newline(p, out);
  tn_buf_putc(out, '}');
  return 0;
}

/* ---- expressions ---- */

static int print_call(rp *p, const tn_RelayCall *c, tn_buf *out) {
  const tn_Constructor *made = TN_AS(Constructor, c->op);
  if (made) tn_buf_puts(out, tn_cstr(made->name_hint));
  else TN_TRY(put(p, c->op, false, out));
  if (made && made->inputs->len == 0) return 0;
  tn_buf_putc(out, '(');
  for (int64_t i = 0; i < c->args->len; ++i) {
    if (i) tn_buf_puts(out, ", ");
    TN_TRY(put(p, (const relay_expr *)tn_arr_obj(c->args, i), false, out));
  }
  TN_TRY(rp_call_attrs(p, c, (int)c->args->len, out));
  tn_buf_putc(out, ')');
  return 0;
}

static int print_tuple(rp *p, const tn_RelayTuple *t, tn_buf *out) {
  tn_buf_putc(out, '(');
  for (int64_t i = 0; i < t->fields->len; ++i) {
    if (i) tn_buf_puts(out, ", ");
    TN_TRY(put(p, (const relay_expr *)tn_arr_obj(t->fields, i), false, out));
  }
  tn_buf_puts(out, t->fields->len == 1 ? ",)" : ")");
  return 0;
}

static int print_if(rp *p, const tn_RelayIf *e, tn_buf *out) {
  tn_buf_puts(out, "if (");
  TN_TRY(put(p, e->cond, false, out));
  tn_buf_puts(out, ") ");
  TN_TRY(rp_braced(p, e->true_branch, out));
  tn_buf_puts(out, " else ");
  return rp_braced(p, e->false_branch, out);
}

/* A clause's variables are known in it only, as if it were a function. */
static int print_clause(rp *p, const tn_Clause *c, tn_buf *out) {
  rp_block block = {.outer = p->block};
  p->block = &block;
  int err = rp_pattern(p, c->lhs, out);
  tn_buf_puts(out, " => ");
  err = err || rp_braced(p, c->rhs, out);
  tn_buf_putc(out, ',');
  p->block = block.outer;
  for (int64_t i = 0; i < block.named.len; ++i)
    err |= tn_pmap_put(&p->memo, block.named.items[i].v.obj, NULL) != 0;
  tn_vec_fini(&block.named);
  tn_buf_fini(&block.text);
  return err ? -1 : 0;
}

static int print_match(rp *p, const tn_Match *m, tn_buf *out) {
  tn_buf_puts(out, m->complete ? "match (" : "match? (");
  TN_TRY(put(p, m->data, false, out));
  tn_buf_puts(out, ") {");
  p->indent += 2;
  for (int64_t i = 0; i < m->clauses->len; ++i) {
    rp_newline(p, out);
    TN_TRY(print_clause(p, (const tn_Clause *)tn_arr_obj(m->clauses, i), out));
  }
  p->indent -= 2;
  rp_newline(p, out);
  tn_buf_putc(out, '}');
  return 0;
}

static int print_ref(rp *p, const char *what, const relay_expr *a, const relay_expr *b,
                     tn_buf *out) {
  tn_buf_printf(out, "%s(", what);
  TN_TRY(put(p, a, false, out));
  if (b) {
    tn_buf_puts(out, ", ");
    TN_TRY(put(p, b, false, out));
  }
  tn_buf_putc(out, ')');
  return 0;
}

int rp_node(rp *p, const relay_expr *e, tn_buf *out) {
  const tn_obj *o = (const tn_obj *)e;
  switch (o->type_index) {
  case TN_TI_Constant: {
    const tn_Constant *c = (const tn_Constant *)e;
    return print_scalar(tn_tensor_dl(c->data), out) ? 0 : rp_meta(p, o, out);
  }
  case TN_TI_RelayCall: return print_call(p, (const tn_RelayCall *)e, out);
  case TN_TI_RelayTuple: return print_tuple(p, (const tn_RelayTuple *)e, out);
  case TN_TI_TupleGetItem:
    TN_TRY(put(p, ((const tn_TupleGetItem *)e)->tuple_value, false, out));
    tn_buf_printf(out, ".%" PRId64, ((const tn_TupleGetItem *)e)->index);
    return 0;
  case TN_TI_RelayFunction: return rp_function(p, "fn ", (const tn_RelayFunction *)e, out);
  case TN_TI_RelayIf: return print_if(p, (const tn_RelayIf *)e, out);
  case TN_TI_Match: return print_match(p, (const tn_Match *)e, out);
  case TN_TI_RefCreate: return print_ref(p, "ref", ((const tn_RefCreate *)e)->value, NULL, out);
  case TN_TI_RefRead: return print_ref(p, "ref_read", ((const tn_RefRead *)e)->ref, NULL, out);
  case TN_TI_RefWrite:
    return print_ref(p, "ref_write", ((const tn_RefWrite *)e)->ref, ((const tn_RefWrite *)e)->value,
                     out);
  case TN_TI_GlobalVar:
    tn_buf_printf(out, "@%s", tn_cstr(((const tn_GlobalVar *)e)->name_hint));
    return 0;
  case TN_TI_Op: tn_buf_puts(out, tn_cstr(((const tn_Op *)e)->name)); return 0;
  case TN_TI_Constructor:
    tn_buf_puts(out, tn_cstr(((const tn_Constructor *)e)->name_hint));
    return 0;
  default: return rp_meta(p, o, out);
  }
}
