/* Operators for the interpreter: each is a separate kernel, compiled once for the types that its
   arguments have. */
#include "base/alloc.h"
#include "base/error.h"
#include "base/scope.h"
#include "eval/interpret.h"
#include "driver/kernel_build.h"
#include "driver/vm/gen.h"
#include "object/dtype.h"
#include "object/functions.h"
#include "ops/sequence.h"
#include "relay/op.h"
#include "runtime/profiling/profiling.h"
#include "runtime/vm/values.h"
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

/* What tells the extents of results that the types of the arguments do not, and which arguments it
   reads: a letter for each, 'v' or '-', then 'c' where it also tells whether they fit. None and ""
   where all is known. */
static int compile_shapes(const tn_RelayFunction *f, tn_target *t, tn_func **out, tn_str **reads) {
  size_t n = (size_t)count_inputs(f),
         nout = (size_t)relay_count_tensors(relay_type_of(f->body)) + 1;
  TN_AUTOFREE int8_t *read = tn_alloc_zero(n + 1, sizeof *read);
  TN_AUTOFREE int32_t *same = tn_alloc_zero(nout, sizeof *same);
  kernel_shapes known = {.reads = read, .same = same};
  TN_BUF(text);
  tn_PrimFunc *p;
  *out = NULL;
  if (!read || !same) return -1;
  if (!relay_is_static(relay_type_of(f->body))) {
    TN_GET(p, kernel_shape_program(f, &known));
    TN_GET(*out, compile(p, "interpreted_shape", t));
    for (size_t i = 0; i < n; ++i) tn_buf_putc(&text, read[i] == KERNEL_READS_VALUES ? 'v' : '-');
    if (known.checks) tn_buf_putc(&text, 'c');
  }
  TN_TRY(tn_buf_ok(&text));
  *reads = tn_str_from(tn_buf_cstr(&text));
  return *reads ? 0 : -1;
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

/* [function of the call, kernel, shape function or None, what that reads]. */
static const tn_arr *compiled(interp_ops *x, const tn_RelayFunction *f) {
  uint64_t hash;
  tn_PrimFunc *p;
  tn_func *kernel, *shapes;
  tn_str *reads;
  TN_TRYP(tn_hash(f, 0, &hash));
  tn_any key = tn_any_int((int64_t)hash), found;
  const tn_arr *one = known(x, key, f);
  if (one) return one;
  TN_GETP(p, driver_primitive(f, x->target));
  TN_GETP(kernel, compile(p, "interpreted", x->target));
  TN_TRYP(compile_shapes(f, x->target, &shapes, &reads));
  TN_GETP(one, tn_arr_of(4, f, kernel, shapes, reads));
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

/* A tensor for the shape of each result that is not known. */
static int add_shapes(const tn_Type *type, tn_vec *shapes) {
  const tn_TupleType *tuple = TN_AS(TupleType, type);
  for (int64_t i = 0; tuple && i < tuple->fields->len; ++i)
    TN_TRY(add_shapes((const tn_Type *)tn_arr_obj(tuple->fields, i), shapes));
  const tn_TensorType *t = TN_AS(TensorType, type);
  if (!t || relay_is_static(type)) return 0;
  int64_t ndim = t->shape->len;
  return tn_vec_push_obj(shapes, new_tensor(&ndim, 1, TN_I64));
}

static int misfit(const tn_vec *inputs) {
  TN_AUTOFREE const DLTensor **all = tn_alloc_zero((size_t)inputs->len + 1, sizeof *all);
  if (!all) return -1;
  for (int64_t i = 0; i < inputs->len; ++i) {
    tn_tensor *t;
    TN_TRY(tn_any_to_tensor(&inputs->items[i], &t));
    all[i] = tn_tensor_dl(t);
  }
  tn_str *shapes = tn_scope_own(tn_shape_string(all, (int32_t)inputs->len));
  return shapes
             ? TN_RAISE(ShapeError, NULL, "the arguments do not fit together: %s", tn_cstr(shapes))
             : -1;
}

/* Shapes of results from the shape function. */
static int compute_shapes(const tn_arr *code, const tn_vec *inputs, const tn_Type *type,
                          tn_vec *shapes) {
  tn_func *f = (tn_func *)tn_arr_obj(code, 2);
  const char *reads = tn_cstr((const tn_str *)tn_arr_obj(code, 3));
  TN_VEC(args);
  tn_tensor *fit;
  int64_t fits = 1;
  if (!f) return 0;
  TN_TRY(add_shapes(type, shapes));
  for (int64_t i = 0; i < inputs->len; ++i)
    if (reads[i] == 'v') TN_TRY(tn_vec_push(&args, inputs->items[i]));
  for (int64_t i = 0; i < shapes->len; ++i) TN_TRY(tn_vec_push(&args, shapes->items[i]));
  TN_GET(fit, new_tensor(NULL, 0, TN_I64));
  if (reads[inputs->len] == 'c') TN_TRY(tn_vec_push_obj(&args, fit));
  TN_TRY(call(f, &args));
  if (reads[inputs->len] == 'c')
    TN_TRY(tn_tensor_copy_to_bytes(tn_tensor_dl(fit), &fits, sizeof fits));
  return fits ? 0 : misfit(inputs);
}

/* Memory for a result, its tensors also pushed to `args`. @param shapes what is left of those that
   were computed */
static void *new_result(const tn_Type *type, const tn_any **shapes, tn_vec *args) {
  const tn_TupleType *tuple = TN_AS(TupleType, type);
  const tn_TensorType *t = TN_AS(TensorType, type);
  int64_t dims[MAX_NDIM];
  TN_VEC(fields);
  for (int64_t i = 0; tuple && i < tuple->fields->len; ++i) {
    const tn_Type *field = (const tn_Type *)tn_arr_obj(tuple->fields, i);
    TN_TRYP(tn_vec_push_obj(&fields, new_result(field, shapes, args)));
  }
  if (tuple) return tn_scope_own(tn_tuple_new(0, fields.items, fields.len));
  TN_CHECKP(t && t->shape->len <= MAX_NDIM, ValueError, NULL, "interpreter: a result of this type");
  if (relay_known_ints(t->shape, dims, MAX_NDIM) < 0)
    TN_TRYP(tn_tensor_copy_to_bytes(tn_tensor_dl((const tn_tensor *)(*shapes)++->v.obj), dims,
                                    (size_t)t->shape->len * sizeof *dims));
  tn_tensor *r;
  TN_GETP(r, new_tensor(dims, t->shape->len, t->dtype));
  TN_TRYP(tn_vec_push_obj(args, r));
  return r;
}

/* An operator on values: a function of the runtime. */
static int call_on_values(const tn_Op *op, const void *attrs, const tn_any *args, int64_t n,
                          tn_any *ret) {
  TN_VEC(all);
  if (tn_str_eq(op->name, "value.widen")) return tn_any_own(&args[0], ret);
  tn_vm_value_fn f = tn_vm_value_function(tn_cstr(op->name));
  TN_CHECK(f, InternalError, NULL, "interpreter: no function for %s", tn_cstr(op->name));
  for (int64_t i = 0; i < n; ++i) TN_TRY(tn_vec_push(&all, args[i]));
  TN_TRY(ops_sequence_numbers(op, attrs, &all));
  if (tn_vm_value_call(f, all.items, (int32_t)all.len, ret))
    return tn_error_note("in operator %s", tn_cstr(op->name));
  return 0;
}

int interp_op(interp_ops *x, const tn_Op *op, tn_Attrs *attrs, const tn_any *args, int64_t n,
              tn_any *ret) {
  TN_SCOPE(s);
  TN_VEC(inputs);
  TN_VEC(all);
  tn_RelayFunction *f;
  const tn_arr *code;
  void *result;
  if (relay_op_is_on_values((const tn_obj *)op)) return call_on_values(op, attrs, args, n, ret);
  if (relay_op_is_non_computational((const tn_obj *)op) && n > 0) return tn_any_own(&args[0], ret);
  TN_GET(f, function_of(op, attrs, args, n));
  TN_GET(code, compiled(x, f));
  for (int64_t i = 0; i < n; ++i) TN_TRY(push_tensors(&args[i], &inputs));
  for (int64_t i = 0; i < inputs.len; ++i) TN_TRY(tn_vec_push(&all, inputs.items[i]));
  const tn_Type *type = relay_type_of(f->body);
  TN_VEC(shapes);
  if (compute_shapes(code, &inputs, type, &shapes))
    return tn_error_note("in operator %s", tn_cstr(op->name));
  const tn_any *next = shapes.items;
  TN_GET(result, new_result(type, &next, &all));
  if (call((tn_func *)tn_arr_obj(code, 1), &all))
    return tn_error_note("in operator %s", tn_cstr(op->name));
  return tn_ret_obj(ret, result);
}
