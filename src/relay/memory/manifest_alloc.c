/* ManifestAlloc(config): memory is explicit, in programs whose values are bound in order
   (ToANormalForm).

     let %y = %f(%x);                                       %f is a kernel
   =>
     let %storage = memory.alloc_storage(40i64, 64i64);
     let %y = memory.alloc_tensor(%storage, 0i64, meta[relay.Constant][0], assert_shape=[10]);
     let %_ = vm.invoke_tvm_op(%f, (%x,), (%y,));

   Extents that are not known are those of arguments (vm.shape_of, vm.make_shape), or vm.shape_func
   computes them: storages and tensors take them in place of numbers. A kernel that only reshapes
   becomes vm.reshape_tensor. Tuples that kernels take or give are taken apart, and made, outside.

   With a config storages have the virtual devices that the plan of devices says, shapes the host's;
   without one all is where the program runs, on the host. */
#include "base/alloc.h"
#include "base/error.h"
#include "base/stack.h"
#include "relay/devices/devices.h"
#include "relay/memory/kernel_shapes.h"
#include "ir/imm.h"
#include "ir/module.h"
#include "object/dtype.h"
#include "relay/infer.h"
#include "relay/expr/expr_info.h"
#include "relay/expr/let_list.h"
#include "relay/expr/typed_builder.h"
#include "relay/transforms/transforms.h"
#include "relay/value_types.h"

enum { ALIGNMENT = 64 };

typedef struct {
  const device_plan *plan; /* NULL: there is one device, the host */
  tn_VirtualDevice *host;  /* of shapes; NULL without a plan */
  tn_pmap kernels;         /* id of a variable -> the kernel that it is bound to */
} manifest;

/* A call of a kernel. */
typedef struct {
  manifest *m;
  relay_lets *lets; /* where its bindings go */
  const tn_RelayFunction *kernel;
  void *callee;            /* expression for it */
  tn_vec inputs, outputs;  /* types of tensors */
  tn_vec args;             /* a variable for each input */
  tn_vec shapes;           /* of each output a variable, None where it is known */
  tn_VirtualDevice *place; /* where it runs, NULL without a plan */
  kernel_shapes known;
} kernel_call;

static void *block(manifest *m, const void *body);

static const tn_TensorType *type_at(const tn_vec *types, int64_t i) {
  return (const tn_TensorType *)types->items[i].v.obj;
}

static const tn_Type *nothing(void) { return (tn_Type *)relay_tuple_type(tn_arr_of(0)); }

static void *number(int64_t value) {
  return relay_typed(relay_const_int(TN_I64, value), relay_scalar_type(TN_I64));
}

static void *numbers(const int64_t *values, int64_t n) {
  return relay_typed(relay_const_ints(TN_I64, values, n), relay_tensor_type_of(&n, 1, TN_I64));
}

/* let %_ = op(args) of an operator without a result */
static int effect(kernel_call *k, const char *op, void *attrs, tn_arr *args) {
  return relay_lets_name(k->lets, "_", relay_typed_call(op, attrs, args, nothing())) ? 0 : -1;
}

/* ---- arguments ---- */

static int flatten(kernel_call *k, const tn_Type *t, void *e) {
  const tn_TupleType *tuple = TN_AS(TupleType, t);
  TN_GET(e, e);
  if (!TN_AS(RelayVar, e)) TN_GET(e, relay_lets_name(k->lets, tuple ? "tuple" : "arg", e));
  if (!tuple) return tn_vec_push_obj(&k->args, e);
  for (int64_t i = 0; i < tuple->fields->len; ++i)
    TN_TRY(flatten(k, (const tn_Type *)tn_arr_obj(tuple->fields, i), relay_typed_field(e, i)));
  return 0;
}

static int arguments(kernel_call *k, const tn_RelayCall *c) {
  TN_CHECK(c->args->len == k->kernel->params->len, ValueError, c->span,
           "ManifestAlloc: %lld arguments for a kernel of %lld", (long long)c->args->len,
           (long long)k->kernel->params->len);
  for (int64_t i = 0; i < c->args->len; ++i)
    TN_TRY(flatten(k, kernel_param_type(k->kernel, i), relay_arg(c, i)));
  return 0;
}

/* ---- memory ---- */

/* Bytes of a tensor of known extents, -1 with an error. */
static int64_t bytes_of(const tn_TensorType *t, int64_t *dims) {
  int64_t count = 1, n = t->shape->len;
  TN_CHECK(n <= TN_VM_MAX_NDIM, ValueError, NULL, "relay.vm: a tensor of %lld dimensions",
           (long long)n);
  for (int64_t i = 0; i < n; ++i) {
    TN_ICHECK(relay_known_int(t->shape, i, &dims[i]));
    TN_CHECK(!__builtin_mul_overflow(count, dims[i], &count), ValueError, NULL,
             "relay.vm: a tensor of more than 2^63 elements");
  }
  int64_t bytes = tn_dtype_bytes(t->dtype, count);
  TN_CHECK(bytes >= 0, ValueError, NULL, "relay.vm: a tensor that is too large");
  return bytes;
}

/* A tensor of its own memory. @param shape its extents, NULL: they are in its type */
static void *new_tensor(kernel_call *k, const tn_TensorType *t, void *shape, tn_VirtualDevice *d) {
  int64_t dims[TN_VM_MAX_NDIM], bytes;
  void *size = shape, *storage, *attrs;
  if (!shape) {
    if ((bytes = bytes_of(t, dims)) < 0) return NULL;
    size = number(bytes);
    shape = numbers(dims, t->shape->len);
  }
  TN_GETP(attrs, relay_attrs("memory.alloc_storage", d ? 2 : 1, "dtype", tn_any_dtype(t->dtype),
                             "virtual_device", tn_any_obj(d)));
  TN_GETP(storage, relay_typed_call("memory.alloc_storage", attrs,
                                    tn_arr_of(2, size, number(ALIGNMENT)), relay_storage_type()));
  TN_GETP(storage, relay_lets_name(k->lets, "storage", storage));
  TN_GETP(attrs, relay_attrs("memory.alloc_tensor", 2, "dtype", tn_any_dtype(t->dtype),
                             "assert_shape", tn_any_obj(t->shape)));
  return relay_typed_call("memory.alloc_tensor", attrs, tn_arr_of(3, storage, number(0), shape), t);
}

/* The same of a tensor of extents on the host, as a variable. */
static void *host_tensor(kernel_call *k, const char *name, const int64_t *shape, int ndim) {
  tn_TensorType *t = relay_tensor_type_of(shape, ndim, TN_I64);
  return t ? relay_lets_name(k->lets, name, new_tensor(k, t, NULL, k->m->host)) : NULL;
}

/* ---- extents that are known at run time ---- */

static void *shape_of(kernel_call *k, void *tensor, const tn_TensorType *t) {
  void *attrs = relay_attrs("vm.shape_of", 1, "dtype", tn_any_dtype(TN_I64));
  tn_TensorType *type = relay_tensor_type_of(&t->shape->len, 1, TN_I64);
  return relay_lets_name(k->lets, "shape",
                         relay_typed_call("vm.shape_of", attrs, tn_arr_of(1, tensor), type));
}

/* The values of an argument where the host can read them. */
static void *on_host(kernel_call *k, void *tensor) {
  const tn_VirtualDevice *from = k->place, *host = k->m->host;
  if (!from || (from->device_type_int == host->device_type_int &&
                from->virtual_device_id == host->virtual_device_id))
    return tensor;
  void *attrs = relay_attrs("device_copy", 2, "src_virtual_device", tn_any_obj(from),
                            "dst_virtual_device", tn_any_obj(host));
  return relay_lets_name(
      k->lets, "copy",
      relay_typed_call("device_copy", attrs, tn_arr_of(1, tensor), relay_type_of(tensor)));
}

static int shape_inputs(kernel_call *k, tn_vec *out, tn_vec *is_input) {
  for (int64_t i = 0; i < k->inputs.len; ++i) {
    void *arg = k->args.items[i].v.obj;
    int reads = k->known.reads[i];
    if (reads == KERNEL_READS_NOTHING) continue;
    if (reads == KERNEL_READS_VALUES) arg = on_host(k, arg);
    else arg = shape_of(k, arg, type_at(&k->inputs, i));
    TN_TRY(tn_vec_push_obj(out, arg));
    TN_TRY(tn_vec_push_obj(is_input, tir_i32(reads == KERNEL_READS_VALUES)));
  }
  return 0;
}

/* What the shape function reads, then the shapes that it writes. */
static int call_shape_function(kernel_call *k) {
  TN_VEC(inputs);
  TN_VEC(outputs);
  TN_VEC(is_input);
  void *attrs, *fit = NULL;
  TN_TRY(shape_inputs(k, &inputs, &is_input));
  for (int64_t i = 0; i < k->outputs.len; ++i) {
    const tn_TensorType *t = type_at(&k->outputs, i);
    void *shape;
    if (tn_any_is_obj(&k->shapes.items[i]) || relay_is_static((const tn_Type *)t)) continue;
    TN_GET(shape, host_tensor(k, "shape", &t->shape->len, 1));
    k->shapes.items[i] = tn_any_obj(shape);
    TN_TRY(tn_vec_push_obj(&outputs, shape));
  }
  if (k->known.checks) {
    TN_GET(fit, host_tensor(k, "fit", NULL, 0));
    TN_TRY(tn_vec_push_obj(&outputs, fit));
  }
  attrs = relay_attrs("vm.shape_func", 1, "is_input", tn_any_obj(tn_arr_from(&is_input)));
  TN_TRY(effect(k, "vm.shape_func", attrs,
                tn_arr_of(3, k->callee, relay_typed_tuple(tn_arr_from(&inputs)),
                          relay_typed_tuple(tn_arr_from(&outputs)))));
  if (!fit) return 0;
  return effect(k, "vm.check_shapes", NULL,
                tn_arr_of(3, k->callee, relay_typed_tuple(tn_arr_from(&k->args)), fit));
}

/* Attributes and tensors of a call that names extents as make_shape has them: of the arguments only
   those that are used. */
static void *named_extents(kernel_call *k, const int64_t *extents, int n, void **tensors) {
  TN_VEC(used);
  int64_t now[2 * KERNEL_MAX_PAIRS];
  for (int i = 0; i < n; ++i) {
    int64_t at = -(extents[i] + 1), j = 0;
    now[i] = extents[i];
    if (extents[i] >= 0) continue;
    const tn_any *arg = &k->args.items[at / TN_VM_MAX_NDIM];
    while (j < used.len && used.items[j].v.obj != arg->v.obj) ++j;
    if (j == used.len) TN_TRYP(tn_vec_push(&used, *arg));
    now[i] = -1 - (TN_VM_MAX_NDIM * j + at % TN_VM_MAX_NDIM);
  }
  TN_GETP(*tensors, relay_typed_tuple(tn_arr_from(&used)));
  return relay_attrs("vm.make_shape", 1, "extents", tn_any_obj(relay_ints(now, n)));
}

static void *shape_of_places(kernel_call *k, const kernel_places *p) {
  const int64_t n = p->n;
  void *tensors, *attrs;
  TN_GETP(attrs, named_extents(k, p->at, p->n, &tensors));
  return relay_lets_name(k->lets, "shape",
                         relay_typed_call("vm.make_shape", attrs, tn_arr_of(1, tensors),
                                          relay_tensor_type_of(&n, 1, TN_I64)));
}

static int check_pairs(kernel_call *k) {
  void *tensors, *attrs;
  if (!k->known.npair) return 0;
  TN_GET(attrs, named_extents(k, k->known.pairs, 2 * k->known.npair, &tensors));
  return effect(k, "vm.check_extents", attrs, tn_arr_of(2, k->callee, tensors));
}

static bool all_static(const tn_vec *types) {
  for (int64_t i = 0; i < types->len; ++i)
    if (!relay_is_static((const tn_Type *)types->items[i].v.obj)) return false;
  return true;
}

static int result_shapes(kernel_call *k) {
  bool computed = false;
  for (int64_t i = 0; i < k->outputs.len; ++i) TN_TRY(tn_vec_push(&k->shapes, tn_any_none()));
  if (all_static(&k->inputs) && all_static(&k->outputs)) return 0;
  TN_TRY(kernel_shape_program(k->kernel, &k->known) == NULL);
  TN_TRY(check_pairs(k));
  for (int64_t i = 0; i < k->outputs.len; ++i) {
    int32_t same = k->known.same[i];
    void *shape;
    if (relay_is_static((const tn_Type *)type_at(&k->outputs, i))) continue;
    if (same >= 0) shape = shape_of(k, k->args.items[same].v.obj, type_at(&k->inputs, same));
    else if (k->known.places[i].n >= 0) shape = shape_of_places(k, &k->known.places[i]);
    else {
      computed = true;
      continue;
    }
    TN_GET(shape, shape);
    k->shapes.items[i] = tn_any_obj(shape);
  }
  return computed || k->known.checks ? call_shape_function(k) : 0;
}

/* ---- the call ---- */

static void *shape_at(const kernel_call *k, int64_t i) {
  return tn_any_is_obj(&k->shapes.items[i]) ? k->shapes.items[i].v.obj : NULL;
}

/* A value of the result's type from tensors that follow one another. */
static void *result_value(kernel_call *k, const tn_Type *t, const tn_vec *tensors, int64_t *at) {
  const tn_TupleType *tuple = TN_AS(TupleType, t);
  TN_VEC(fields);
  if (!tuple) return tensors->items[(*at)++].v.obj;
  for (int64_t i = 0; i < tuple->fields->len; ++i) {
    const tn_Type *type = (const tn_Type *)tn_arr_obj(tuple->fields, i);
    void *field = result_value(k, type, tensors, at);
    if (TN_AS(TupleType, type)) field = relay_lets_name(k->lets, "tuple", field);
    TN_TRYP(tn_vec_push_obj(&fields, field));
  }
  return relay_typed_tuple(tn_arr_from(&fields));
}

static void *reshape(kernel_call *k, int64_t arg) {
  const tn_TensorType *t = type_at(&k->outputs, 0);
  int64_t dims[TN_VM_MAX_NDIM];
  void *shape = shape_at(k, 0), *attrs;
  if (!shape) {
    if (bytes_of(t, dims) < 0) return NULL;
    TN_GETP(shape, numbers(dims, t->shape->len));
  }
  attrs = relay_attrs("vm.reshape_tensor", 1, "newshape", tn_any_obj(t->shape));
  return relay_typed_call("vm.reshape_tensor", attrs, tn_arr_of(2, k->args.items[arg].v.obj, shape),
                          t);
}

static int invoke(kernel_call *k, const tn_vec *tensors) {
  return effect(k, "vm.invoke_tvm_op", NULL,
                tn_arr_of(3, k->callee, relay_typed_tuple(tn_arr_from(&k->args)),
                          relay_typed_tuple(tn_arr_from(tensors))));
}

/* @param var what the result is bound to */
static int make_call(kernel_call *k, const tn_RelayCall *c, tn_RelayVar *var) {
  TN_VEC(tensors);
  int64_t at = 0, reshaped = kernel_reshaped(k->kernel);
  const tn_Type *result = kernel_result_type(k->kernel);
  TN_TRY(arguments(k, c));
  TN_TRY(result_shapes(k));
  if (reshaped >= 0) return relay_lets_put(k->lets, var, reshape(k, reshaped));
  for (int64_t i = 0; i < k->outputs.len; ++i) {
    void *tensor = new_tensor(k, type_at(&k->outputs, i), shape_at(k, i), k->place);
    if (TN_AS(TupleType, result)) tensor = relay_lets_name(k->lets, "tensor", tensor);
    else tensor = relay_lets_put(k->lets, var, tensor) ? NULL : var;
    TN_TRY(tn_vec_push_obj(&tensors, tensor));
  }
  TN_TRY(invoke(k, &tensors));
  if (!TN_AS(TupleType, result)) return 0;
  return relay_lets_put(k->lets, var, result_value(k, result, &tensors, &at));
}

static int prepare(kernel_call *k) {
  for (int64_t i = 0; i < k->kernel->params->len; ++i)
    TN_TRY(kernel_flat_types(kernel_param_type(k->kernel, i), &k->inputs));
  TN_TRY(kernel_flat_types(kernel_result_type(k->kernel), &k->outputs));
  return kernel_shapes_init(&k->known, k->kernel, k->inputs.len, k->outputs.len);
}

static int kernel_of(manifest *m, const tn_RelayCall *c, relay_lets *lets, tn_RelayVar *var,
                     const tn_RelayFunction *kernel) {
  kernel_call k = {.m = m, .lets = lets, .kernel = kernel, .callee = c->op};
  if (m->plan) k.place = device_of(m->plan, c);
  int err = !TN_AS(RelayVar, k.callee) && !(k.callee = relay_lets_name(lets, "f", k.callee));
  err = err || prepare(&k) || make_call(&k, c, var);
  tn_vec_fini(&k.inputs);
  tn_vec_fini(&k.outputs);
  tn_vec_fini(&k.args);
  tn_vec_fini(&k.shapes);
  kernel_shapes_fini(&k.known);
  return err ? -1 : 0;
}

/* The kernel that an expression calls, NULL: it calls none. */
static const tn_RelayFunction *called_kernel(const manifest *m, const void *e) {
  const tn_RelayCall *c = TN_AS(RelayCall, e);
  const tn_RelayVar *v = c ? TN_AS(RelayVar, c->op) : NULL;
  if (v) return tn_pmap_get(&m->kernels, v->vid);
  const tn_RelayFunction *f = c ? TN_AS(RelayFunction, c->op) : NULL;
  return f && relay_is_kernel(f) ? f : NULL;
}

/* ---- the rest of a program ---- */

static void *inner_block(void *ctx, const void *body) { return block(ctx, body); }

static void *value_of(manifest *m, const void *e) { return relay_with_blocks(e, inner_block, m); }

static int bind(manifest *m, relay_lets *l, tn_RelayVar *var, const void *value) {
  const tn_RelayFunction *kernel = called_kernel(m, value);
  if (kernel) return kernel_of(m, (const tn_RelayCall *)value, l, var, kernel);
  if (relay_is_kernel(value)) TN_TRY(tn_pmap_put(&m->kernels, var->vid, value));
  return relay_lets_put(l, var, value_of(m, value));
}

static void *fill_block(manifest *m, relay_lets *l, const void *body) {
  const tn_RelayLet *let;
  while ((let = TN_AS(RelayLet, body)) != NULL) {
    TN_TRYP(bind(m, l, let->var, let->value));
    body = let->body;
  }
  if (!called_kernel(m, body)) return value_of(m, body);
  tn_RelayVar *result;
  TN_GETP(result, relay_typed(relay_var("result", NULL), relay_type_of(body)));
  return bind(m, l, result, body) ? NULL : result;
}

static void *block(manifest *m, const void *body) {
  relay_lets l = {0};
  TN_TRYP(tn_stack_check("an expression"));
  void *result = fill_block(m, &l, body);
  if (result) result = relay_lets_typed(&l, result);
  relay_lets_fini(&l);
  return result;
}

static tn_IRModule *each_function(manifest *m, tn_IRModule *mod) {
  tn_map *functions;
  TN_GETP(functions, tn_scope_own(tn_map_new()));
  for (int64_t i = 0; i < mod->functions->len; ++i) {
    const tn_map_entry *e = &mod->functions->entries[i];
    const tn_RelayFunction *f = TN_AS(RelayFunction, e->value.v.obj);
    tn_obj *now = e->value.v.obj;
    if (f) TN_GETP(now, value_of(m, f));
    TN_TRYP(tn_map_set(functions, e->key, tn_any_obj(now)));
  }
  tn_IRModule *r;
  TN_GETP(r, ir_module_with_functions(mod, functions));
  return relay_define_storage(r) ? NULL : r;
}

static tn_IRModule *with_plan(tn_IRModule *mod, const tn_CompilationConfig *config) {
  device_plan plan;
  manifest m = {.plan = &plan, .host = config->host_virtual_device};
  tn_IRModule *r = device_plan_make(&plan, mod, config, false) ? NULL : each_function(&m, mod);
  device_plan_fini(&plan);
  tn_pmap_fini(&m.kernels);
  return r;
}

/* argument: CompilationConfig of a program that PlanDevices has seen; none: all is on the host */
tn_IRModule *relay_manifest_alloc(tn_IRModule *mod, const tn_pass_ctx *c) {
  tn_obj *config = NULL;
  manifest m = {0};
  TN_CHECKP(c->nargs <= 1, TypeError, NULL, "ManifestAlloc: expected one argument, got %d",
            c->nargs);
  if (c->nargs) TN_TRYP(tn_arg_obj(c->args, c->nargs, 0, &tn_type_CompilationConfig, &config));
  TN_GETP(mod, relay_infer_module(mod));
  if (config) return with_plan(mod, (const tn_CompilationConfig *)config);
  tn_IRModule *r = each_function(&m, mod);
  tn_pmap_fini(&m.kernels);
  return r;
}
