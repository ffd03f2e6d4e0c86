/* Calls of kernels: memory for the results, extents that are known at run time only, the call.

     load_consti $2 64;  alloc_storage $3 $2 ...;  alloc_tensor $4 $3 ...;  invoke_packed p ($1, $4)

   Where extents are not known, they are those of arguments (make_shape), or a second primitive
   computes them from those of the arguments:

     shape_of $2 $1;  alloc ... $5;  invoke_packed shape_func_p ($2, $5);  alloc_storage $3 $5 ...
 */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/scope.h"
#include "driver/vm/gen.h"
#include "ir/imm.h"
#include "ir/module.h"
#include "object/dtype.h"
#include "relay/op.h"

int vm_flat_types(const tn_Type *t, tn_vec *out) {
  const tn_TupleType *tuple = TN_AS(TupleType, t);
  for (int64_t i = 0; tuple && i < tuple->fields->len; ++i)
    TN_TRY(vm_flat_types((const tn_Type *)tn_arr_obj(tuple->fields, i), out));
  if (tuple) return 0;
  TN_CHECK(t && TN_AS(TensorType, t), ValueError, NULL,
           "relay.vm: a kernel works on tensors, not on %s",
           t ? tn_obj_key(t) : "what has no type");
  return tn_vec_push_obj(out, t);
}

/* What a call is made of. */
typedef struct {
  vm_func *f;
  const tn_RelayFunction *kernel;
  const char *name;
  tn_vec inputs, outputs; /* types of tensors */
  int64_t *regs;          /* of the inputs, then of the outputs */
  int64_t device;         /* where it runs */
  int64_t *shapes;        /* register of the shape of each output, -1: known */
  vm_shapes known;
} kernel_call;

static const tn_Type *type_of_param(const tn_RelayFunction *f, int64_t i) {
  const tn_RelayVar *v = (const tn_RelayVar *)tn_arr_obj(f->params, i);
  const tn_Type *t = relay_type_of(v);
  return t ? t : v->type_annotation;
}

static const tn_Type *type_of_result(const tn_RelayFunction *f) {
  const tn_Type *t = relay_type_of(f->body);
  return t ? t : f->ret_type;
}

/* ---- arguments ---- */

static int flat_registers(kernel_call *k, const tn_Type *t, const vm_value *v, int64_t *n) {
  const tn_TupleType *tuple = TN_AS(TupleType, t);
  vm_code *code = &k->f->code;
  if (!tuple) {
    TN_TRY((k->regs[*n] = vm_in_register(k->f, v)) < 0);
    ++*n;
    return 0;
  }
  for (int64_t i = 0; i < tuple->fields->len; ++i) {
    const vm_value *field = v->reg < 0 ? &v->fields[i] : NULL;
    if (!field) {
      int64_t dst = code_reg(code);
      CODE(code, TN_VM_GET_FIELD, dst, v->reg, i);
      TN_GET(field, vm_register_value(k->f, dst));
    }
    TN_TRY(flat_registers(k, (const tn_Type *)tn_arr_obj(tuple->fields, i), field, n));
  }
  return 0;
}

static int arguments(kernel_call *k, const tn_RelayCall *c) {
  int64_t n = 0;
  for (int64_t i = 0; i < c->args->len; ++i) {
    const vm_value *v;
    TN_GET(v, vm_atom(k->f, tn_arr_obj(c->args, i)));
    TN_TRY(flat_registers(k, type_of_param(k->kernel, i), v, &n));
  }
  return 0;
}

/* ---- memory ---- */

static const tn_TensorType *type_at(const tn_vec *types, int64_t i) {
  return (const tn_TensorType *)types->items[i].v.obj;
}

/* A tensor of known extents; on the host a scalar is none. */
static int64_t static_tensor(vm_func *f, const tn_TensorType *t, int64_t device) {
  vm_code *c = &f->code;
  int64_t dims[TN_VM_MAX_NDIM], n = t->shape->len, count = 1, dst = code_reg(c);
  const int64_t code = t->dtype.code, bits = t->dtype.bits, lanes = t->dtype.lanes;
  TN_CHECK(n <= TN_VM_MAX_NDIM, ValueError, NULL, "relay.vm: a tensor of %lld dimensions",
           (long long)n);
  if (n == 0 && device == f->g->host && bits <= 64 && lanes == 1) {
    CODE(c, TN_VM_ALLOC_SCALAR, dst, code, bits, lanes);
    return dst;
  }
  for (int64_t i = 0; i < n; ++i) {
    dims[i] = relay_int_at(t->shape, i);
    TN_CHECK(!__builtin_mul_overflow(count, dims[i], &count), ValueError, NULL,
             "relay.vm: a tensor of more than 2^63 elements");
  }
  int64_t bytes = tn_dtype_bytes(t->dtype, count);
  TN_CHECK(bytes >= 0, ValueError, NULL, "relay.vm: a tensor that is too large");
  int64_t size = vm_load_number(f, bytes), storage = code_reg(c);
  CODE(c, TN_VM_ALLOC_STORAGE, storage, size, 64, code, bits, lanes, device);
  CODE_LIST(c, dims, n, TN_VM_ALLOC_TENSOR, dst, storage, 0, code, bits, lanes);
  return dst;
}

static int64_t dynamic_tensor(vm_func *f, const tn_TensorType *t, int64_t shape, int64_t device) {
  vm_code *c = &f->code;
  int64_t storage = code_reg(c), dst = code_reg(c);
  const int64_t code = t->dtype.code, bits = t->dtype.bits, lanes = t->dtype.lanes;
  CODE(c, TN_VM_ALLOC_STORAGE, storage, shape, 64, code, bits, lanes, device);
  CODE(c, TN_VM_ALLOC_TENSOR_REG, dst, storage, 0, code, bits, lanes, shape);
  return dst;
}

/* ---- extents that are known at run time ---- */

static int64_t shape_of(vm_func *f, int64_t tensor) {
  int64_t dst = code_reg(&f->code);
  CODE(&f->code, TN_VM_SHAPE_OF, dst, tensor);
  return dst;
}

static int64_t copied(vm_func *f, int64_t tensor, int64_t from, int64_t to) {
  if (from == to) return tensor;
  int64_t dst = code_reg(&f->code);
  CODE(&f->code, TN_VM_DEVICE_COPY, dst, tensor, from, to);
  return dst;
}

const vm_value *vm_copied(vm_func *f, const tn_Type *type, const vm_value *v, int64_t from,
                          int64_t to) {
  const tn_TupleType *tuple = TN_AS(TupleType, type);
  if (!tuple) {
    int64_t reg = vm_in_register(f, v);
    return reg < 0 ? NULL : vm_register_value(f, copied(f, reg, from, to));
  }
  vm_value *all;
  TN_GETP(all, vm_tuple_value(f, tuple->fields->len));
  for (int64_t i = 0; i < all->n; ++i) {
    const vm_value *field = v->reg < 0 ? &v->fields[i] : NULL;
    if (!field) {
      int64_t dst = code_reg(&f->code);
      CODE(&f->code, TN_VM_GET_FIELD, dst, v->reg, i);
      TN_GETP(field, vm_register_value(f, dst));
    }
    TN_GETP(field, vm_copied(f, (const tn_Type *)tn_arr_obj(tuple->fields, i), field, from, to));
    all->fields[i] = *field;
  }
  return all;
}

/* Arguments of the shape program: what it reads, then the shapes it writes. */
static int call_shape_program(kernel_call *k, const char *name) {
  bool checks = k->known.checks;
  vm_func *f = k->f;
  int64_t n = 0, written = 0, index = vm_primitive(f->g, name);
  TN_AUTOFREE int64_t *regs = tn_alloc((size_t)(k->inputs.len + k->outputs.len + 1) * sizeof *regs);
  if (!regs || index < 0) return -1;
  for (int64_t i = 0; i < k->inputs.len; ++i) {
    if (k->known.reads[i] == VM_READS_VALUES)
      regs[n++] = copied(f, k->regs[i], k->device, f->g->host);
    else if (k->known.reads[i] == VM_READS_SHAPE) regs[n++] = shape_of(f, k->regs[i]);
  }
  for (int64_t i = 0; i < k->outputs.len; ++i) {
    const tn_TensorType *t = type_at(&k->outputs, i);
    int64_t ndim = t->shape->len;
    tn_TensorType *shape;
    if (k->shapes[i] >= 0 || relay_is_static((const tn_Type *)t)) continue;
    TN_GET(shape, relay_tensor_type_of(&ndim, 1, TN_I64));
    TN_TRY((k->shapes[i] = static_tensor(f, shape, f->g->host)) < 0);
    regs[n++] = k->shapes[i];
    ++written;
  }
  if (checks) {
    regs[n++] = code_reg(&f->code);
    CODE(&f->code, TN_VM_ALLOC_SCALAR, regs[n - 1], kDLInt, 64, 1);
    ++written;
  }
  CODE_LIST(&f->code, regs, n, TN_VM_INVOKE_PACKED, index, written);
  if (!checks) return 0;
  int64_t named = k->known.no_pairs ? index : vm_primitive(f->g, k->name);
  TN_TRY(named < 0);
  CODE(&f->code, TN_VM_CHECK, regs[n - 1], named);
  return 0;
}

static bool all_static(const tn_vec *types) {
  for (int64_t i = 0; i < types->len; ++i)
    if (!relay_is_static((const tn_Type *)types->items[i].v.obj)) return false;
  return true;
}

/* An instruction whose numbers are extents that are known or those of arguments; of these only what
   is used is named. */
static void emit_extents(kernel_call *k, int64_t op, int64_t word, const int64_t *numbers, int n) {
  int64_t words[2 * VM_MOST_PAIRS + 3] = {op, word}, used[2 * VM_MOST_PAIRS];
  int64_t *regs = words + 3, count = 0;
  for (int i = 0; i < n; ++i) {
    int64_t at = -(numbers[i] + 1), j = 0;
    used[i] = numbers[i];
    if (numbers[i] >= 0) continue;
    while (j < count && regs[j] != k->regs[at / TN_VM_MAX_NDIM]) ++j;
    if (j == count) regs[count++] = k->regs[at / TN_VM_MAX_NDIM];
    used[i] = -1 - (TN_VM_MAX_NDIM * j + at % TN_VM_MAX_NDIM);
  }
  words[2] = count;
  code_emit(&k->f->code, words, count + 3, used, n);
}

static int64_t shape_of_places(kernel_call *k, const vm_places *p) {
  int64_t dst = code_reg(&k->f->code);
  emit_extents(k, TN_VM_MAKE_SHAPE, dst, p->at, p->n);
  return dst;
}

static int check_pairs(kernel_call *k) {
  const vm_shapes *s = &k->known;
  int64_t named;
  if (!s->npair) return 0;
  TN_TRY((named = vm_primitive(k->f->g, k->name)) < 0);
  emit_extents(k, TN_VM_CHECK_EXTENTS, named, s->pairs, 2 * s->npair);
  return 0;
}

/* Registers with the shapes of the results that need one. */
static int result_shapes(kernel_call *k) {
  tn_PrimFunc *p;
  const char *name;
  bool program = false;
  for (int64_t i = 0; i < k->outputs.len; ++i) k->shapes[i] = -1;
  if (all_static(&k->inputs) && all_static(&k->outputs)) return 0;
  /* messages name the kernel, but where it only reshapes there is none */
  k->known.no_pairs = ir_attrs_flag(k->kernel->attrs, "relay.reshape_only");
  TN_GET(p, vm_shape_program(k->kernel, &k->known));
  TN_TRY(check_pairs(k));
  for (int64_t i = 0; i < k->outputs.len; ++i) {
    if (relay_is_static((const tn_Type *)type_at(&k->outputs, i))) continue;
    if (k->known.same[i] >= 0) k->shapes[i] = shape_of(k->f, k->regs[k->known.same[i]]);
    else if (k->known.places[i].n >= 0) k->shapes[i] = shape_of_places(k, &k->known.places[i]);
    else program = true;
  }
  if (!program && !k->known.checks) return 0;
  TN_GET(name, tn_cstr(tn_str_fmt("%sshape_func_%s", k->f->g->names.prefix,
                                  k->name + strlen(k->f->g->names.prefix))));
  TN_TRY(tn_map_set(k->f->g->shape_funcs, tn_any_cstr(name), tn_any_obj(p)));
  return call_shape_program(k, name);
}

/* ---- the call ---- */

static int64_t result_register(kernel_call *k, int64_t i) {
  const tn_TensorType *t = type_at(&k->outputs, i);
  return k->shapes[i] < 0 ? static_tensor(k->f, t, k->device)
                          : dynamic_tensor(k->f, t, k->shapes[i], k->device);
}

/* A value of the result's type from the registers that follow one another. */
static vm_value *result_value(vm_func *f, const tn_Type *t, const int64_t **regs) {
  const tn_TupleType *tuple = TN_AS(TupleType, t);
  vm_value *v;
  if (!tuple) return vm_register_value(f, *(*regs)++);
  TN_GETP(v, vm_tuple_value(f, tuple->fields->len));
  for (int64_t i = 0; i < v->n; ++i) {
    const vm_value *field;
    TN_GETP(field, result_value(f, (const tn_Type *)tn_arr_obj(tuple->fields, i), regs));
    v->fields[i] = *field;
  }
  return v;
}

/* A kernel that only gives its argument another shape needs no call. */
static const vm_value *reshape(kernel_call *k) {
  const tn_TensorType *t = type_at(&k->outputs, 0);
  int64_t shape = k->shapes[0], dims[TN_VM_MAX_NDIM], n = t->shape->len;
  if (shape < 0) {
    for (int64_t i = 0; i < n && i < TN_VM_MAX_NDIM; ++i) dims[i] = relay_int_at(t->shape, i);
    shape = vm_load_ints(k->f, dims, n < TN_VM_MAX_NDIM ? n : TN_VM_MAX_NDIM);
    if (shape < 0) return NULL;
  }
  int64_t dst = code_reg(&k->f->code);
  CODE(&k->f->code, TN_VM_RESHAPE_TENSOR, dst, k->regs[0], shape);
  return vm_register_value(k->f, dst);
}

static const vm_value *make_call(kernel_call *k, const tn_RelayCall *c) {
  vm_func *f = k->f;
  int64_t nin = k->inputs.len, nout = k->outputs.len, index;
  TN_TRYP(arguments(k, c));
  bool only_reshapes = ir_attrs_flag(k->kernel->attrs, "relay.reshape_only") && nin == 1;
  const tn_VirtualDevice *d = f->g->plan ? device_of(f->g->plan, c) : NULL;
  TN_TRYP((k->device = vm_device_of(f->g, c)) < 0);
  TN_GETP(k->name, kernel_names_of(&f->g->names, k->kernel, d ? d->target : NULL));
  TN_TRYP(result_shapes(k));
  if (only_reshapes) return reshape(k);
  for (int64_t i = 0; i < nout; ++i)
    if ((k->regs[nin + i] = result_register(k, i)) < 0) return NULL;
  if ((index = vm_primitive(f->g, k->name)) < 0) return NULL;
  CODE_LIST(&f->code, k->regs, nin + nout, TN_VM_INVOKE_PACKED, index, nout);
  const int64_t *regs = k->regs + nin;
  return result_value(f, type_of_result(k->kernel), &regs);
}

static int prepare(kernel_call *k) {
  for (int64_t i = 0; i < k->kernel->params->len; ++i)
    TN_TRY(vm_flat_types(type_of_param(k->kernel, i), &k->inputs));
  TN_TRY(vm_flat_types(type_of_result(k->kernel), &k->outputs));
  size_t n = (size_t)(k->inputs.len + k->outputs.len + 1);
  TN_GET(k->regs, tn_alloc_zero(n, sizeof *k->regs));
  TN_GET(k->shapes, tn_alloc_zero(n, sizeof *k->shapes));
  TN_GET(k->known.reads, tn_alloc_zero(n, sizeof *k->known.reads));
  TN_GET(k->known.same, tn_alloc_zero(n, sizeof *k->known.same));
  TN_GET(k->known.places, tn_alloc_zero(n, sizeof *k->known.places));
  return 0;
}

const vm_value *vm_call_kernel(vm_func *f, const tn_RelayCall *c, const tn_RelayFunction *kernel) {
  kernel_call k = {.f = f, .kernel = kernel};
  const vm_value *v = prepare(&k) ? NULL : make_call(&k, c);
  tn_vec_fini(&k.inputs);
  tn_vec_fini(&k.outputs);
  tn_free(k.regs);
  tn_free(k.shapes);
  tn_free(k.known.reads);
  tn_free(k.known.same);
  tn_free(k.known.places);
  return v;
}
