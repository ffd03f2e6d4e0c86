/* From a primitive function to a tensor program: every operator's compute in turn, then
   create_prim_func.

     fn (%p0: Tensor[(4), float32], Primitive=1) { nn.relu(exp(%p0)) }
   =>
     def fused_exp_nn_relu(p0: T.Buffer((4,)), T_relu: T.Buffer((4,))): ... */
#include "driver/primitive.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/pmap.h"
#include "base/scope.h"
#include "ir/functor.h"
#include "object/functions.h"
#include "relay/infer.h"
#include "relay/op.h"
#include "te/build.h"
#include "tenon/object.h"
#include "tenon/runtime.h"

enum { MAX_NAME = 80 };

typedef struct {
  tn_pmap tensors; /* expression -> Array of Tensor */
  tn_vec inputs;
  tn_vec linked;    /* Tensor: placeholders of constants */
  tn_vec constants; /* NDArray: what each of them is */
  tn_target *target;
} lowering;

/* ---- parameters and constants ---- */

/* Extents that are known at run time only become variables. */
static tn_arr *extents(const tn_TensorType *t) {
  TN_VEC(v);
  for (int64_t i = 0; i < t->shape->len; ++i) {
    tn_expr *e = (tn_expr *)tn_arr_obj(t->shape, i);
    if (relay_dim_is_any(e))
      TN_GETP(e, (tn_expr *)TN_MAKE(SizeVar, .name = tn_str_from("any_dim"), .dtype = TN_I32));
    TN_TRYP(tn_vec_push_obj(&v, e));
  }
  return tn_arr_from(&v);
}

static int add_placeholders(const tn_Type *type, const char *name, tn_vec *out) {
  const tn_TupleType *tuple = TN_AS(TupleType, type);
  const tn_TensorType *t = TN_AS(TensorType, type);
  for (int64_t i = 0; tuple && i < tuple->fields->len; ++i) {
    tn_str *field;
    TN_GET(field, tn_str_fmt("%s_%" PRId64, name, i));
    TN_TRY(add_placeholders((const tn_Type *)tn_arr_obj(tuple->fields, i), tn_cstr(field), out));
  }
  if (tuple) return 0;
  TN_CHECK(t, ValueError, NULL, "kernel: parameter %s: expected a tensor or a tuple of tensors",
           name);
  tn_arr *shape;
  tn_Tensor *x;
  TN_GET(shape, extents(t));
  TN_GET(x, te_placeholder(shape, t->dtype, name));
  return tn_vec_push_obj(out, x);
}

static int set_tensors(lowering *l, const void *expr, const tn_vec *v) {
  tn_arr *a;
  TN_GET(a, tn_arr_from(v));
  return tn_pmap_put(&l->tensors, expr, a);
}

static int add_param(lowering *l, const tn_RelayVar *v) {
  TN_VEC(items);
  const tn_Type *type = relay_type_of(v);
  if (!type) type = v->type_annotation;
  TN_TRY(add_placeholders(type, tn_cstr(v->vid->name_hint), &items));
  for (int64_t i = 0; i < items.len; ++i) TN_TRY(tn_vec_push(&l->inputs, items.items[i]));
  return set_tensors(l, v->vid, &items);
}

/* A scalar, as an expression. */
static tn_expr *scalar(const DLTensor *t) {
  double x = 0;
  const void *p = t->data;
  if (ir_is_integral(t->dtype)) {
    int64_t v = t->dtype.bits == 64   ? *(const int64_t *)p
                : t->dtype.bits == 32 ? (t->dtype.code == kDLInt ? *(const int32_t *)p
                                                                 : (int64_t) * (const uint32_t *)p)
                : t->dtype.bits == 16
                    ? (t->dtype.code == kDLInt ? *(const int16_t *)p : *(const uint16_t *)p)
                : t->dtype.code == kDLInt ? *(const int8_t *)p
                                          : *(const uint8_t *)p;
    return tir_int(t->dtype, v);
  }
  DLTensor wide = {.data = &x, .device = t->device, .dtype = TN_F64};
  if (t->dtype.bits == 64) x = *(const double *)p;
  else TN_TRYP(tn_tensor_convert(t, &wide));
  return tir_float(t->dtype, x);
}

static tn_expr *constant_element(void *ctx, tn_arr *indices) {
  (void)indices;
  return ctx;
}

/* A parameter of the program, until the code is made. */
static tn_Tensor *linked_constant(lowering *l, const tn_Constant *c) {
  const DLTensor *t = tn_tensor_dl(c->data);
  const tn_TensorType *type;
  tn_Tensor *x;
  tn_str *name;
  TN_GETP(type, relay_tensor_type_of(t->shape, t->ndim, t->dtype));
  TN_GETP(name, tn_str_fmt("constant_%" PRId64, l->linked.len));
  TN_GETP(x, te_placeholder(type->shape, t->dtype, tn_cstr(name)));
  TN_TRYP(tn_vec_push_obj(&l->constants, c->data));
  return tn_vec_push_obj(&l->linked, x) ? NULL : x;
}

static int add_constant(lowering *l, const tn_Constant *c) {
  const DLTensor *t = tn_tensor_dl(c->data);
  tn_expr *e;
  tn_Tensor *x;
  TN_VEC(one);
  TN_CHECK(t->device.device_type == kDLCPU, ValueError, c->span,
           "kernel: a constant inside a primitive function is not in the memory of the host: it "
           "must be an argument");
  if (t->ndim == 0) {
    TN_GET(e, scalar(t));
    TN_GET(x, te_compute(tn_arr_of(0), constant_element, e, "constant", TE_BROADCAST));
  } else {
    TN_GET(x, linked_constant(l, c));
  }
  TN_TRY(tn_vec_push_obj(&one, x));
  return set_tensors(l, c, &one);
}

/* ---- expressions ---- */

static tn_arr *tensors_of(const lowering *l, const relay_expr *e) {
  const tn_RelayVar *v = TN_AS(RelayVar, e);
  tn_arr *a = tn_pmap_get(&l->tensors, v ? (const void *)v->vid : e);
  return a ? a
           : TN_RAISEP(ValueError, e->span, "kernel: %s in a primitive function", tn_obj_key(e));
}

static int append(const lowering *l, const relay_expr *e, tn_vec *out) {
  tn_arr *a;
  TN_GET(a, tensors_of(l, e));
  for (int64_t i = 0; i < a->len; ++i) TN_TRY(tn_vec_push(out, a->items[i]));
  return 0;
}

static int add_call(lowering *l, const tn_RelayCall *c) {
  const tn_Op *op = TN_AS(Op, c->op);
  tn_arr *results;
  TN_VEC(inputs);
  TN_CHECK(op, ValueError, c->span, "kernel: a call of %s in a primitive function",
           tn_obj_key(c->op));
  TN_CHECK(relay_type_of(c), ValueError, c->span,
           "kernel: the type of a call of %s is not known: run InferType first", tn_cstr(op->name));
  for (int64_t i = 0; i < c->args->len; ++i) TN_TRY(append(l, relay_arg(c, i), &inputs));
  TN_GET(results, relay_op_compute(op, c->attrs, tn_arr_from(&inputs), relay_type_of(c),
                                   (tn_obj *)l->target));
  return tn_pmap_put(&l->tensors, c, results);
}

static int add_tuple(lowering *l, const tn_RelayTuple *t) {
  TN_VEC(items);
  for (int64_t i = 0; i < t->fields->len; ++i)
    TN_TRY(append(l, (const relay_expr *)tn_arr_obj(t->fields, i), &items));
  return set_tensors(l, t, &items);
}

static int add_get_item(lowering *l, const tn_TupleGetItem *e) {
  const tn_TupleType *type = TN_AS(TupleType, relay_type_of(e->tuple_value));
  tn_arr *all;
  TN_VEC(items);
  TN_GET(all, tensors_of(l, e->tuple_value));
  TN_CHECK(type && e->index < type->fields->len, ValueError, e->span,
           "kernel: field %" PRId64 " of what is not a tuple with so many fields", e->index);
  int64_t from = 0;
  for (int64_t i = 0; i < e->index; ++i)
    from += relay_count_tensors((const tn_Type *)tn_arr_obj(type->fields, i));
  int64_t n = relay_count_tensors((const tn_Type *)tn_arr_obj(type->fields, e->index));
  for (int64_t i = from; i < from + n && i < all->len; ++i)
    TN_TRY(tn_vec_push(&items, all->items[i]));
  return set_tensors(l, e, &items);
}

static int visit(void *ctx, tn_obj *node) {
  switch (node->type_index) {
  case TN_TI_RelayCall: return add_call(ctx, (const tn_RelayCall *)node);
  case TN_TI_RelayTuple: return add_tuple(ctx, (const tn_RelayTuple *)node);
  case TN_TI_TupleGetItem: return add_get_item(ctx, (const tn_TupleGetItem *)node);
  case TN_TI_Constant: return add_constant(ctx, (const tn_Constant *)node);
  default: return 0;
  }
}

/* ---- results ---- */

static tn_expr *copied(void *ctx, tn_arr *indices) { return te_at(ctx, indices); }

static bool is_among(const tn_vec *v, const tn_Tensor *t) {
  for (int64_t i = 0; i < v->len; ++i)
    if (te_same_tensor((tn_Tensor *)v->items[i].v.obj, t)) return true;
  return false;
}

/* A result that is an input, or that is there already, is copied. */
static int add_result(const lowering *l, tn_Tensor *t, tn_vec *out) {
  if (is_among(&l->inputs, t) || is_among(&l->linked, t) || is_among(out, t))
    TN_GET(t, te_compute(t->shape, copied, t, "T_copy", TE_ELEMWISE));
  return tn_vec_push_obj(out, t);
}

static int push_all(const tn_vec *from, tn_vec *out) {
  for (int64_t i = 0; i < from->len; ++i) TN_TRY(tn_vec_push(out, from->items[i]));
  return 0;
}

/* For each parameter the constant that it is, or None. */
static tn_PrimFunc *with_constants(const lowering *l, tn_PrimFunc *f) {
  tn_arr *list;
  TN_VEC(v);
  int64_t first = l->inputs.len, after = first + l->constants.len;
  if (!f || !l->constants.len) return f;
  for (int64_t i = 0; i < f->params->len; ++i)
    TN_TRYP(
        tn_vec_push(&v, i < first || i >= after ? tn_any_none() : l->constants.items[i - first]));
  TN_GETP(list, tn_arr_from(&v));
  return tir_with_attr(f, DRIVER_LINKED, (tn_obj *)list);
}

static tn_PrimFunc *lower(lowering *l, const tn_RelayFunction *f) {
  TN_VEC(results);
  TN_VEC(all);
  tn_arr *body;
  for (int64_t i = 0; i < f->params->len; ++i)
    TN_TRYP(add_param(l, (const tn_RelayVar *)tn_arr_obj(f->params, i)));
  TN_TRYP(tn_post_order(f->body, visit, l));
  TN_GETP(body, tensors_of(l, f->body));
  for (int64_t i = 0; i < body->len; ++i)
    TN_TRYP(add_result(l, (tn_Tensor *)tn_arr_obj(body, i), &results));
  TN_TRYP(push_all(&l->inputs, &all));
  TN_TRYP(push_all(&l->linked, &all));
  TN_TRYP(push_all(&results, &all));
  return with_constants(l, te_create_prim_func(tn_arr_from(&all)));
}

tn_PrimFunc *driver_primitive(const tn_RelayFunction *f, tn_target *t) {
  TN_SCOPE(s);
  lowering l = {.target = t};
  /* computes ask for the machine of the current target */
  if (t) TN_TRYP(target_enter(t));
  tn_PrimFunc *r = lower(&l, f);
  if (t && target_exit(t)) r = NULL;
  tn_pmap_fini(&l.tensors);
  tn_vec_fini(&l.inputs);
  tn_vec_fini(&l.linked);
  tn_vec_fini(&l.constants);
  return tn_scope_return(s, r);
}

/* ---- names ---- */

static int add_name(void *ctx, tn_obj *node) {
  const char *op = relay_called_op(node);
  if (!op) return 0;
  tn_buf_putc(ctx, '_');
  for (; *op; ++op) tn_buf_putc(ctx, *op == '.' ? '_' : *op);
  return 0;
}

tn_str *driver_primitive_name(const tn_RelayFunction *f) {
  TN_BUF(name);
  tn_buf_puts(&name, "fused");
  TN_TRYP(tn_post_order(f->body, add_name, &name));
  TN_TRYP(tn_buf_ok(&name));
  if (name.len <= MAX_NAME) return tn_str_from(tn_buf_cstr(&name));
  uint64_t hash = 1469598103934665603u;
  for (size_t i = 0; i < name.len; ++i)
    hash = (hash ^ (uint8_t)name.data[i]) * 1099511628211u; /* FNV-1a */
  return tn_str_fmt("%.*s_%016" PRIx64 "_", MAX_NAME - 19, tn_buf_cstr(&name), hash);
}

/* (function, target) -> PrimFunc */
static int lower_to_primfunc(TN_ARGS) {
  TN_NARGS("relay.backend.LowerToPrimFunc", 2);
  TN_ARG_OBJ(RelayFunction, f, 0);
  tn_target *t;
  TN_GET(t, target_from(&args[1]));
  TN_GET(f, relay_infer_expr(f, NULL));
  return tn_ret_obj(ret, driver_primitive(f, t));
}

static const tn_func_row rows[] = {{"relay.backend.LowerToPrimFunc", lower_to_primfunc}};

int driver_primitive_init(void) { return tn_func_register_rows(rows, TN_COUNT(rows)); }
