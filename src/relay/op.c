/* The registry of Relay's operators: rows of families become Op nodes with attributes; computes and
   result types by operator (see op.h). */
#include "relay/op.h"

#include <string.h>

#include "base/alloc.h"
#include "ir/module.h"
#include "relay/relay_impl.h"
#include "te/build.h"

/* Rows by Op.index; written at start only. */
static const relay_op_row **rows_by_index;
static int64_t nrows;

const relay_op_row *relay_op_row_of(const tn_obj *o) {
  const tn_Op *op = TN_AS(Op, o);
  return op && op->index < nrows ? rows_by_index[op->index] : NULL;
}

/* ---- registration ---- */

static int add_row(const tn_Op *op, const relay_op_row *row) {
  int64_t old = nrows;
  TN_GROW(rows_by_index, nrows, op->index + 1, return -1);
  for (; old < nrows; ++old) rows_by_index[old] = NULL;
  rows_by_index[op->index] = row;
  return 0;
}

static int set_text(tn_str **field, const char *text) {
  tn_str *s = tn_str_new(text);
  if (!s) return -1;
  tn_release(*field);
  *field = s;
  return 0;
}

/* The words of "data weight". */
static const char *next_word(const char **p, int *len) {
  while (**p == ' ') ++*p;
  const char *start = *p;
  while (**p && **p != ' ') ++*p;
  *len = (int)(*p - start);
  return *len ? start : NULL;
}

int relay_op_ninputs(const relay_op_row *row) {
  int n = 0, len;
  for (const char *p = row->inputs; next_word(&p, &len);) ++n;
  return n;
}

static int set_arguments(tn_Op *op, const relay_op_row *row) {
  TN_VEC(v);
  int len;
  const char *word;
  tn_str *type = tn_str_from("Tensor"), *doc = tn_str_from("");
  for (const char *p = row->inputs; (word = next_word(&p, &len));) {
    tn_str *name = tn_str_fmt("%.*s", len, word);
    TN_TRY(tn_vec_push_obj(
        &v, TN_NEW(AttrFieldInfo, .name = name, .type_info = type, .description = doc)));
  }
  op->num_inputs = v.len;
  tn_arr *all = tn_arr_new(v.items, v.len);
  if (!all) return -1;
  tn_release(op->arguments);
  op->arguments = all;
  return 0;
}

static int set_attrs(tn_Op *op, const relay_op_row *row) {
  TN_TRY(ir_op_set_attr(op, "TOpPattern", tn_any_int(row->pattern), 10));
  if (row->flags & RELAY_STATEFUL)
    TN_TRY(ir_op_set_attr(op, "TOpIsStateful", tn_any_bool(true), 10));
  if (row->flags & RELAY_NON_COMPUTATIONAL)
    TN_TRY(ir_op_set_attr(op, "TNonComputational", tn_any_bool(true), 10));
  return 0;
}

/* "nn.dense" -> "relay.op.nn._make.dense", "qnn.add" -> "relay.qnn.op._make.add" */
static tn_str *maker_name(const char *op) {
  const char *dot = strrchr(op, '.');
  if (!dot) return tn_str_fmt("relay.op._make.%s", op);
  if (strncmp(op, "qnn.", 4) == 0) return tn_str_fmt("relay.qnn.op._make.%s", dot + 1);
  return tn_str_fmt("relay.op.%.*s._make.%s", (int)(dot - op), op, dot + 1);
}

static int register_row(const relay_op_row *row) {
  TN_SCOPE(s);
  TN_CHECK(!ir_op_find(row->name), ValueError, NULL, "operator %s is registered twice", row->name);
  tn_Op *op = ir_op_declare(row->name);
  tn_str *maker = maker_name(row->name);
  if (!op || !maker) return -1;
  TN_TRY(set_text(&op->description, row->doc));
  if (row->attrs) TN_TRY(set_text(&op->attrs_type_key, row->attrs->key));
  op->support_level = row->level;
  TN_TRY(set_arguments(op, row));
  TN_TRY(add_row(op, row));
  TN_TRY(set_attrs(op, row));
  TN_TRY(relay_rel_register(op, row));
  return tn_func_register(tn_cstr(maker), relay_op_make, (void *)(uintptr_t)row, NULL, 0);
}

int relay_family_register(const relay_family *f) {
  static uint32_t next = TN_TI_BEGIN_OPS;
  for (int i = 0; i < f->nattrs; ++i) {
    TN_ICHECK(next < TN_TI_BEGIN_DYNAMIC);
    f->attrs[i]->index = next++;
    TN_TRY(tn_type_register(f->attrs[i]));
  }
  for (int i = 0; i < f->nrows; ++i) TN_TRY(register_row(&f->rows[i]));
  return 0;
}

/* ---- attributes of operators ---- */

static int64_t int_attr(const tn_obj *o, const char *key, int64_t absent) {
  const tn_Op *op = TN_AS(Op, o);
  tn_any found;
  int64_t v;
  if (!op || !ir_op_attr(op, key, &found) || found.type_index == TN_NONE) return absent;
  if (tn_any_to_int(&found, &v) == 0) return v;
  tn_error_clear();
  return absent;
}

relay_pattern relay_op_pattern(const tn_obj *op) {
  return (relay_pattern)int_attr(op, "TOpPattern", RELAY_OPAQUE);
}

bool relay_op_is_stateful(const tn_obj *op) { return int_attr(op, "TOpIsStateful", 0) != 0; }

bool relay_op_is_non_computational(const tn_obj *op) {
  return int_attr(op, "TNonComputational", 0) != 0;
}

/* ---- computes ---- */

/* What a compute written in another language returned: a tensor, or a list of them. */
static tn_arr *as_tensors(const tn_any *value, const tn_Op *op) {
  tn_obj *o = tn_any_is_obj(value) ? tn_scope_own(value->v.obj) : NULL;
  if (TN_AS(Tensor, o)) return tn_arr_of(1, o);
  if (TN_AS(Array, o)) return (tn_arr *)o;
  return TN_RAISEP(TypeError, NULL, "compute of %s: expected a list of tensors, got %s",
                   tn_cstr(op->name), tn_type_key((uint32_t)value->type_index));
}

/* ---- results without elements ---- */

static bool is_empty(const tn_TensorType *t) {
  int64_t n, all = 1;
  for (int64_t i = 0; i < t->shape->len; ++i) {
    if (!relay_known_int(t->shape, i, &n)) return false;
    all = all && n;
  }
  return !all;
}

static tn_expr *no_element(void *ctx, tn_arr *at) {
  const tn_TensorType *t = ctx;
  (void)at;
  return t->dtype.code == kDLOpaqueHandle ? NULL : tir_zero(t->dtype);
}

/* Adds what stands for the results if none of them has an element. 1, 0: some have, -1. */
static int no_elements(const tn_Type *type, tn_vec *out) {
  const tn_TupleType *tuple = TN_AS(TupleType, type);
  const tn_TensorType *t = TN_AS(TensorType, type);
  int none = tuple ? tuple->fields->len > 0 : t && is_empty(t);
  for (int64_t i = 0; tuple && none == 1 && i < tuple->fields->len; ++i)
    none = no_elements((const tn_Type *)tn_arr_obj(tuple->fields, i), out);
  if (!t || none != 1) return none;
  return tn_vec_push_obj(
             out, te_compute(t->shape, no_element, (void *)(uintptr_t)t, "T_none", TE_INJECTIVE))
             ? -1
             : 1;
}

tn_arr *relay_op_compute(const tn_Op *op, const void *attrs, tn_arr *inputs, tn_Type *out_type,
                         tn_obj *target) {
  const relay_op_row *row = relay_op_row_of((const tn_obj *)op);
  tn_any found, ret, args[3] = {tn_any_obj(attrs), tn_any_obj(inputs), tn_any_obj(out_type)};
  if (ir_op_attr(op, "FTVMCompute", &found) && tn_any_is_obj(&found)) {
    tn_func *f = TN_AS(Function, found.v.obj);
    TN_CHECKP(f, TypeError, NULL, "FTVMCompute of %s is not a function", tn_cstr(op->name));
    TN_TRYP(tn_func_call(f, args, 3, &ret));
    return as_tensors(&ret, op);
  }
  TN_CHECKP(row && row->compute, OpNotImplemented, NULL,
            "The operator %s has no compute: it has to be replaced by a pass before it is lowered",
            tn_cstr(op->name));
  TN_TRYP(relay_check_attrs(row->name, attrs, NULL));
  TN_VEC(empty); /* no formula is asked about elements that there are none of: x % 0 */
  int none = no_elements(out_type, &empty);
  if (none) return none < 0 ? NULL : tn_arr_from(&empty);
  relay_compute c = {
      .row = row, .attrs = attrs, .inputs = inputs, .out_type = out_type, .target = target};
  return row->compute(&c);
}
