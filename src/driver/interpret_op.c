/* Operators for the interpreter: each is a kernel of its own, compiled once for the types that its
   arguments have. */
#include "base/alloc.h"
#include "base/error.h"
#include "base/scope.h"
#include "driver/interpret.h"
#include "driver/kernel_build.h"
#include "driver/vm/gen.h"
#include "object/dtype.h"
#include "object/functions.h"
#include "relay/op.h"
#include "tenon/object.h"

enum { MAX_NDIM = TN_VM_MAX_NDIM };

/* ---- the function of a call ---- */

static tn_Type *type_of_value(const tn_any *v) {
  const tn_tuple *t = v->type_index == TN_TI_ADT ? (const tn_tuple *)v->v.obj : NULL;
  tn_tensor *tensor;
  TN_VEC(fields);
  if (!t) {
    TN_TRYP(tn_any_to_tensor(v, &tensor));
    const DLTensor *dl = tn_tensor_dl(tensor);
    return (tn_Type *)relay_tensor_type_of(dl->shape, dl->ndim, dl->dtype);
  }
  for (int64_t i = 0; i < t->len; ++i)
    TN_TRYP(tn_vec_push_obj(&fields, type_of_value(&t->fields[i])));
  return (tn_Type *)relay_tuple_type(tn_arr_from(&fields));
}

static int set_type(void *expr, tn_Type *type) {
  TN_GET(expr, expr);
  TN_GET(type, type);
  tn_retain(type);
  ((relay_expr *)expr)->_checked_type_ = type;
  return 0;
}

/* fn (%p, ...) { op(%p, ...) }, with types. */
static tn_RelayFunction *function_of(const tn_Op *op, tn_Attrs *attrs, const tn_any *args,
                                     int64_t n) {
  TN_VEC(params);
  TN_VEC(types);
  tn_RelayCall *call;
  for (int64_t i = 0; i < n; ++i) {
    tn_Type *t = type_of_value(&args[i]);
    tn_RelayVar *v = t ? relay_var("p", t) : NULL;
    TN_TRYP(set_type(v, t));
    TN_TRYP(tn_vec_push_obj(&params, v));
    TN_TRYP(tn_vec_push_obj(&types, t));
  }
  TN_GETP(call, relay_call_new((void *)(uintptr_t)op, tn_arr_from(&params), attrs));
  TN_TRYP(set_type(call, relay_op_result_type(op, attrs, tn_arr_from(&types), NULL)));
  return relay_function(tn_arr_from(&params), call, NULL, NULL);
}

/* ---- compiling ---- */

static tn_func *compile(tn_PrimFunc *p, const char *name, tn_target *t) {
  tn_map *programs;
  tn_module *m;
  TN_GETP(programs, tn_map_with(NULL, tn_any_cstr(name), tn_any_obj(p)));
  TN_GETP(m, driver_programs_build(programs, t, NULL));
  return tn_scope_own(tn_module_require(m, name, true));
}

static int64_t count_inputs(const tn_RelayFunction *f) {
  int64_t n = 0;
  for (int64_t i = 0; i < f->params->len; ++i)
    n += relay_count_tensors(relay_type_of(tn_arr_obj(f->params, i)));
  return n;
}

/* What tells the extents of a result that the types of the arguments do not; None otherwise. It
   reads the values of all arguments or none of them. */
static int compile_shapes(const tn_RelayFunction *f, tn_target *t, tn_func **out) {
  size_t n = (size_t)count_inputs(f) + 1;
  bool checks = false;
  TN_AUTOFREE int8_t *reads = tn_alloc_zero(n, sizeof *reads);
  TN_AUTOFREE int32_t *same = tn_alloc_zero(n + 64, sizeof *same);
  tn_PrimFunc *p;
  *out = NULL;
  if (!reads || !same) return -1;
  if (relay_is_static(relay_type_of(f->body))) return 0;
  TN_CHECK(TN_AS(TensorType, relay_type_of(f->body)), NotImplementedError, NULL,
           "interpreter: several results whose shapes depend on values");
  TN_GET(p, vm_shape_program(f, reads, same, &checks));
  for (size_t i = 0; i + 1 < n; ++i)
    TN_CHECK(reads[i] == VM_READS_VALUES, NotImplementedError, NULL,
             "interpreter: a shape function that does not read argument %zu", i);
  TN_GET(*out, compile(p, "interpreted_shape", t));
  return 0;
}

static const tn_arr *known(const interp_ops *x, tn_any key, const tn_RelayFunction *f) {
  tn_any found;
  const tn_arr *same = tn_map_get(x->compiled, key, &found) ? (const tn_arr *)found.v.obj : NULL;
  for (int64_t i = 0; same && i < same->len; ++i) {
    const tn_arr *one = (const tn_arr *)tn_arr_obj(same, i);
    if (tn_equal(tn_arr_obj(one, 0), f, 0) == 1) return one;
  }
  return NULL;
}

/* [function of the call, kernel, shape function or None]. */
static const tn_arr *compiled(interp_ops *x, const tn_RelayFunction *f) {
  uint64_t hash;
  tn_PrimFunc *p;
  tn_func *kernel, *shapes;
  TN_TRYP(tn_hash(f, 0, &hash));
  tn_any key = tn_any_int((int64_t)hash), found;
  const tn_arr *one = known(x, key, f);
  if (one) return one;
  TN_GETP(p, driver_primitive(f, x->target));
  TN_GETP(kernel, compile(p, "interpreted", x->target));
  TN_TRYP(compile_shapes(f, x->target, &shapes));
  TN_GETP(one, tn_arr_of(3, f, kernel, shapes));
  TN_VEC(all);
  const tn_arr *same = tn_map_get(x->compiled, key, &found) ? (const tn_arr *)found.v.obj : NULL;
  for (int64_t i = 0; same && i < same->len; ++i) TN_TRYP(tn_vec_push(&all, same->items[i]));
  TN_TRYP(tn_vec_push_obj(&all, one));
  TN_TRYP(tn_map_set(x->compiled, key, tn_any_obj(tn_arr_from(&all))));
  return one;
}

/* ---- running ---- */

static int push_tensors(const tn_any *v, tn_vec *out) {
  const tn_tuple *t = v->type_index == TN_TI_ADT ? (const tn_tuple *)v->v.obj : NULL;
  if (!t) return tn_vec_push(out, *v);
  for (int64_t i = 0; i < t->len; ++i) TN_TRY(push_tensors(&t->fields[i], out));
  return 0;
}

static int call(tn_func *f, const tn_vec *args) {
  tn_any ret = tn_any_none();
  int err = tn_func_call(f, args->items, (int32_t)args->len, &ret);
  tn_any_release(&ret);
  return err;
}

static tn_tensor *new_tensor(const int64_t *dims, int64_t ndim, tn_dtype t) {
  return tn_scope_own(tn_tensor_new(dims, (int32_t)ndim, t, (tn_device){kDLCPU, 0}, NULL));
}

/* Extents from the shape function. */
static int read_shape(tn_func *f, const tn_vec *inputs, int64_t ndim, int64_t *dims) {
  tn_tensor *shape;
  TN_VEC(args);
  TN_GET(shape, new_tensor(&ndim, 1, TN_I64));
  for (int64_t i = 0; i < inputs->len; ++i) TN_TRY(tn_vec_push(&args, inputs->items[i]));
  TN_TRY(tn_vec_push_obj(&args, shape));
  TN_TRY(call(f, &args));
  return tn_tensor_copy_to_bytes(tn_tensor_dl(shape), dims, (size_t)ndim * sizeof *dims);
}

/* Memory for a result, its tensors also pushed to `args`. */
static void *new_result(const tn_Type *type, tn_func *shapes, const tn_vec *inputs, tn_vec *args) {
  const tn_TupleType *tuple = TN_AS(TupleType, type);
  const tn_TensorType *t = TN_AS(TensorType, type);
  int64_t dims[MAX_NDIM];
  TN_VEC(fields);
  for (int64_t i = 0; tuple && i < tuple->fields->len; ++i) {
    const tn_Type *field = (const tn_Type *)tn_arr_obj(tuple->fields, i);
    TN_TRYP(tn_vec_push_obj(&fields, new_result(field, shapes, inputs, args)));
  }
  if (tuple) return tn_scope_own(tn_tuple_new(0, fields.items, fields.len));
  TN_CHECKP(t && t->shape->len <= MAX_NDIM, ValueError, NULL, "interpreter: a result of this type");
  for (int64_t i = 0; i < t->shape->len; ++i) dims[i] = relay_int_at(t->shape, i);
  if (shapes) TN_TRYP(read_shape(shapes, inputs, t->shape->len, dims));
  tn_tensor *r;
  TN_GETP(r, new_tensor(dims, t->shape->len, t->dtype));
  TN_TRYP(tn_vec_push_obj(args, r));
  return r;
}

int interp_op(interp_ops *x, const tn_Op *op, tn_Attrs *attrs, const tn_any *args, int64_t n,
              tn_any *ret) {
  TN_SCOPE(s);
  TN_VEC(inputs);
  TN_VEC(all);
  tn_RelayFunction *f;
  const tn_arr *code;
  void *result;
  if (relay_op_is_non_computational((const tn_obj *)op) && n > 0) return tn_any_own(&args[0], ret);
  TN_GET(f, function_of(op, attrs, args, n));
  TN_GET(code, compiled(x, f));
  for (int64_t i = 0; i < n; ++i) TN_TRY(push_tensors(&args[i], &inputs));
  for (int64_t i = 0; i < inputs.len; ++i) TN_TRY(tn_vec_push(&all, inputs.items[i]));
  TN_GET(result, new_result(relay_type_of(f->body), (tn_func *)tn_arr_obj(code, 2), &inputs, &all));
  if (call((tn_func *)tn_arr_obj(code, 1), &all))
    return tn_error_note("in operator %s", tn_cstr(op->name));
  return tn_ret_obj(ret, result);
}
