/* Global functions of the operator registry: "ir.GetOp", "ir.RegisterOpAttr", ... */
#include <string.h>

#include "ir/ir_impl.h"
#include "ir/op.h"

static int op_arg(const tn_any *args, int32_t n, tn_Op **out) {
  TN_TRY(tn_arg_obj(args, n, 0, &tn_type_Op, (tn_obj **)out));
  TN_CHECK(*out, TypeError, NULL, "argument 0: expected Op, got None");
  return 0;
}

static int text_arg(const tn_any *args, int32_t n, int32_t i, const char **out) {
  TN_CHECK(i < n, TypeError, NULL, "missing argument %d: expected str", i);
  return tn_any_to_cstr(&args[i], out);
}

/* Replaces a text field of an operator. */
static int set_text(tn_str **field, const char *text) {
  tn_str *s = tn_str_new(text);
  if (!s) return -1;
  tn_release(*field);
  *field = s;
  return 0;
}

static int get_op(TN_ARGS) {
  const char *name;
  TN_TRY(text_arg(args, n, 0, &name));
  return tn_ret_obj(ret, ir_op_get(name));
}

static int list_names(TN_ARGS) { return tn_ret_obj(ret, ir_op_names()); }

/* (name, description) */
static int register_op(TN_ARGS) {
  const char *name, *doc;
  TN_TRY(text_arg(args, n, 0, &name));
  TN_TRY(ir_arg_text(args, n, 1, "", &doc));
  TN_CHECK(!ir_op_find(name), TenonError, NULL, "Operator %s is registered before", name);
  tn_Op *op = ir_op_declare(name);
  return op ? set_text(&op->description, doc) : -1;
}

static int get_attr(TN_ARGS) {
  tn_Op *op;
  const char *key;
  tn_any found;
  TN_TRY(op_arg(args, n, &op));
  TN_TRY(text_arg(args, n, 1, &key));
  return ir_op_attr(op, key, &found) ? tn_any_own(&found, ret) : 0;
}

static int has_attr(TN_ARGS) {
  tn_Op *op;
  const char *key;
  tn_any found;
  TN_TRY(op_arg(args, n, &op));
  TN_TRY(text_arg(args, n, 1, &key));
  *ret = tn_any_bool(ir_op_attr(op, key, &found));
  return 0;
}

static int set_attr_of(tn_Op *op, const tn_any *args, int32_t n) {
  const char *key;
  int64_t level;
  TN_TRY(text_arg(args, n, 1, &key));
  TN_CHECK(n > 2, TypeError, NULL, "missing argument 2: the value");
  TN_TRY(ir_arg_int(args, n, 3, 10, &level));
  return ir_op_set_attr(op, key, args[2], level);
}

static int set_attr(TN_ARGS) {
  tn_Op *op;
  TN_TRY(op_arg(args, n, &op));
  return set_attr_of(op, args, n);
}

static int reset_attr(TN_ARGS) {
  tn_Op *op;
  const char *key;
  TN_TRY(op_arg(args, n, &op));
  TN_TRY(text_arg(args, n, 1, &key));
  return ir_op_reset_attr(op, key);
}

/* (name, key, value, level): the operator is made if there is none */
static int register_attr(TN_ARGS) {
  const char *name, *key;
  TN_TRY(text_arg(args, n, 0, &name));
  TN_TRY(text_arg(args, n, 1, &key));
  tn_Op *op = ir_op_declare(name);
  return op ? set_attr_of(op, args, n) : -1;
}

/* (op, name, type, description) */
static int add_argument(TN_ARGS) {
  tn_Op *op;
  const char *text[3];
  TN_TRY(op_arg(args, n, &op));
  for (int i = 0; i < 3; ++i) TN_TRY(text_arg(args, n, i + 1, &text[i]));
  TN_VEC(v);
  for (int64_t i = 0; i < op->arguments->len; ++i) TN_TRY(tn_vec_push(&v, op->arguments->items[i]));
  tn_AttrFieldInfo *info =
      TN_NEW(AttrFieldInfo, .name = tn_str_from(text[0]), .type_info = tn_str_from(text[1]),
             .description = tn_str_from(text[2]));
  if (!info) return -1;
  TN_TRY(tn_vec_push_obj(&v, info));
  tn_arr *all = tn_arr_new(v.items, v.len);
  if (!all) return -1;
  tn_release(op->arguments);
  op->arguments = all;
  return 0;
}

static int set_number(const tn_any *args, int32_t n, int64_t *out) {
  TN_CHECK(n == 2, TypeError, NULL, "expected 2 arguments, got %d", n);
  return tn_any_to_int(&args[1], out);
}

static int set_support_level(TN_ARGS) {
  tn_Op *op;
  TN_TRY(op_arg(args, n, &op));
  return set_number(args, n, &op->support_level);
}

static int set_num_inputs(TN_ARGS) {
  tn_Op *op;
  TN_TRY(op_arg(args, n, &op));
  return set_number(args, n, &op->num_inputs);
}

static int set_attrs_type_key(TN_ARGS) {
  tn_Op *op;
  const char *key;
  TN_TRY(op_arg(args, n, &op));
  TN_TRY(text_arg(args, n, 1, &key));
  return set_text(&op->attrs_type_key, key);
}

static const tn_func_row rows[] = {
    {"ir.GetOp", get_op},
    {"ir.ListOpNames", list_names},
    {"ir.RegisterOp", register_op},
    {"ir.OpGetAttr", get_attr},
    {"ir.OpHasAttr", has_attr},
    {"ir.OpSetAttr", set_attr},
    {"ir.OpResetAttr", reset_attr},
    {"ir.RegisterOpAttr", register_attr},
    {"ir.OpAddArgument", add_argument},
    {"ir.OpSetSupportLevel", set_support_level},
    {"ir.OpSetNumInputs", set_num_inputs},
    {"ir.OpSetAttrsTypeKey", set_attrs_type_key},
};

int ir_api_registry_init(void) { return tn_func_register_rows(rows, TN_COUNT(rows)); }
