/* What ManifestAlloc has written down as instructions, one for each call:

     memory.alloc_storage  alloc_storage         vm.invoke_tvm_op   invoke_packed
     memory.alloc_tensor   alloc_tensor(_reg)    vm.shape_func      invoke_packed
     vm.shape_of           shape_of              vm.check_shapes    check_shapes
     vm.make_shape         make_shape            vm.check_extents   check_extents
     vm.reshape_tensor     reshape_tensor

   A scalar on the host that has a storage to itself needs none: alloc_scalar. */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/scope.h"
#include "driver/vm/gen.h"
#include "ir/functor.h"
#include "ir/imm.h"
#include "ir/module.h"
#include "object/dtype.h"
#include "relay/expr/expr_info.h"

/* ---- kernels ---- */

/* The kernel that is argument i of a call. */
static const tn_RelayFunction *kernel_at(vm_func *f, const tn_RelayCall *c, int64_t i) {
  const void *e = relay_arg(c, i);
  const tn_RelayVar *v = TN_AS(RelayVar, e);
  const tn_RelayFunction *k = v ? tn_pmap_get(&f->g->kernels, v->vid) : TN_AS(RelayFunction, e);
  TN_CHECKP(k && relay_is_kernel(k), ValueError, c->span, "relay.vm: %s: expected a kernel, got %s",
            relay_called_op(c), tn_obj_key(e));
  return k;
}

/* The name of its code on the device that it runs on. */
static const char *name_of(vm_func *f, const tn_RelayCall *c, const tn_RelayFunction *k) {
  const tn_VirtualDevice *d = f->g->plan ? device_of(f->g->plan, relay_arg(c, 0)) : NULL;
  return kernel_names_of(&f->g->names, k, d ? d->target : NULL);
}

static int64_t primitive_of(vm_func *f, const tn_RelayCall *c, const tn_RelayFunction *k) {
  const char *name = name_of(f, c, k);
  return name ? vm_primitive(f->g, name) : -1;
}

/* ---- operands ---- */

static int64_t operand(vm_func *f, const void *e) {
  const vm_value *v = vm_atom(f, e);
  return v ? vm_in_register(f, v) : -1;
}

/* A list of registers. */
typedef struct {
  int64_t *items;
  int64_t n, cap;
} registers;
#define REGISTERS(name) __attribute__((cleanup(registers_fini))) registers name = {0}

static void registers_fini(registers *r) { tn_free(r->items); }

static int push(registers *r, int64_t reg) {
  if (reg < 0) return -1;
  TN_GROW(r->items, r->cap, r->n + 1, return -1);
  r->items[r->n++] = reg;
  return 0;
}

/* The registers of a tuple's fields, which is written out, or bound to a variable. */
static int fields(vm_func *f, const void *e, registers *out) {
  const tn_RelayTuple *t = TN_AS(RelayTuple, e);
  const vm_value *v;
  for (int64_t i = 0; t && i < t->fields->len; ++i)
    TN_TRY(push(out, operand(f, tn_arr_obj(t->fields, i))));
  if (t) return 0;
  TN_GET(v, vm_atom(f, e));
  TN_CHECK(v->reg < 0, ValueError, ((const relay_expr *)e)->span,
           "relay.vm: expected a tuple whose fields are known");
  for (int64_t i = 0; i < v->n; ++i) TN_TRY(push(out, vm_in_register(f, &v->fields[i])));
  return 0;
}

static const vm_value *nothing(vm_func *f) { return vm_tuple_value(f, 0); }

/* ---- memory ---- */

static int64_t place_of(vm_gen *g, const void *attrs, const char *name) {
  const tn_VirtualDevice *d = TN_AS(VirtualDevice, (tn_obj *)relay_attr_obj(attrs, name));
  return d ? vm_place(g, d) : g->device;
}

static tn_dtype dtype_of(const void *attrs) {
  const tn_obj *o = attrs;
  const tn_field *field = o ? tn_type_field(o->type, "dtype") : NULL;
  return field && field->kind == TN_F_DTYPE ? tn_field_get(o, field).v.dtype : TN_F32;
}

/* The constant that an argument is, or is bound to; NULL: none. */
static const tn_Constant *constant_at(vm_func *f, const tn_RelayCall *c, int64_t i) {
  const tn_RelayVar *v = TN_AS(RelayVar, relay_arg(c, i));
  return v ? tn_pmap_get(&f->g->bound, v->vid) : TN_AS(Constant, relay_arg(c, i));
}

static bool number_at(vm_func *f, const tn_RelayCall *c, int64_t i, int64_t *out) {
  const tn_Constant *k = constant_at(f, c, i);
  return k && relay_as_int(k, out);
}

/* A shape: a variable, or a constant. Its register. */
static int64_t shape_operand(vm_func *f, const void *e) {
  const tn_Constant *c = TN_AS(Constant, e);
  return c ? vm_load_const(f, (tn_tensor *)c->data, f->g->host) : operand(f, e);
}

typedef struct {
  tn_pmap *scalars; /* id of a storage -> 1: one scalar is in it, -1: something else */
} scan;

static int see_tensor(void *ctx, tn_obj *e) {
  const scan *s = ctx;
  const tn_RelayCall *c = TN_AS(RelayCall, e) ? relay_as_call(e, "memory.alloc_tensor") : NULL;
  const tn_RelayVar *storage = c ? TN_AS(RelayVar, relay_arg(c, 0)) : NULL;
  if (!storage) return 0;
  const tn_TensorType *t = TN_AS(TensorType, relay_type_of(c));
  int64_t offset = -1;
  bool scalar = t && t->shape->len == 0 && t->dtype.bits <= 64 && t->dtype.lanes == 1 &&
                relay_as_int(relay_arg(c, 1), &offset) && offset == 0 &&
                !tn_pmap_has(s->scalars, storage->vid);
  return tn_pmap_put_int(s->scalars, storage->vid, scalar ? 1 : -1);
}

static bool see(const tn_obj *parent, const tn_field *field, const tn_obj *child) {
  (void)field, (void)child;
  return !relay_is_kernel(parent);
}

int vm_find_scalars(vm_gen *g, const tn_RelayFunction *f) {
  scan s = {&g->scalars};
  return tn_post_order_if(f, see, see_tensor, &s) < 0 ? -1 : 0;
}

/* @param var what it is bound to, NULL: nothing */
static const vm_value *alloc_storage(vm_func *f, const tn_RelayCall *c, const tn_RelayVar *var) {
  int64_t device = place_of(f->g, c->attrs, "virtual_device"), align, bytes, from;
  const tn_dtype t = dtype_of(c->attrs);
  const tn_Constant *size = constant_at(f, c, 0);
  if (device < 0) return NULL;
  if (var && device == f->g->host && tn_pmap_get_int(&f->g->scalars, var->vid, 0) == 1)
    return nothing(f);
  TN_CHECKP(number_at(f, c, 1, &align), ValueError, c->span,
            "relay.vm: memory.alloc_storage: expected a constant for the alignment");
  bool number = size && tn_tensor_dl(size->data)->ndim == 0 && relay_as_int(size, &bytes);
  from = number ? vm_load_number(f, bytes) : shape_operand(f, relay_arg(c, 0));
  int64_t dst = code_reg(&f->code);
  CODE(&f->code, TN_VM_ALLOC_STORAGE, dst, from, align, t.code, t.bits, t.lanes, device);
  return from < 0 ? NULL : vm_register_value(f, dst);
}

static const vm_value *alloc_tensor(vm_func *f, const tn_RelayCall *c, const tn_RelayVar *var) {
  const tn_Constant *shape = constant_at(f, c, 2);
  const tn_dtype t = dtype_of(c->attrs);
  const int64_t code = t.code, bits = t.bits, lanes = t.lanes, dst = code_reg(&f->code);
  const vm_value *storage;
  int64_t offset, reg, n = 0;
  (void)var;
  TN_GETP(storage, vm_atom(f, relay_arg(c, 0)));
  if (storage->reg < 0) {
    CODE(&f->code, TN_VM_ALLOC_SCALAR, dst, code, bits, lanes);
    return vm_register_value(f, dst);
  }
  TN_CHECKP(number_at(f, c, 1, &offset), ValueError, c->span,
            "relay.vm: memory.alloc_tensor: expected a constant for the offset");
  if (!shape) {
    if ((reg = operand(f, relay_arg(c, 2))) < 0) return NULL;
    CODE(&f->code, TN_VM_ALLOC_TENSOR_REG, dst, storage->reg, offset, code, bits, lanes, reg);
    return vm_register_value(f, dst);
  }
  TN_AUTOFREE double *extents = NULL;
  int64_t dims[TN_VM_MAX_NDIM];
  int known = relay_const_numbers(shape, &extents, &n);
  if (known < 0) return NULL;
  TN_CHECKP(known && n <= TN_VM_MAX_NDIM, ValueError, c->span,
            "relay.vm: memory.alloc_tensor: %lld extents", (long long)n);
  for (int64_t i = 0; i < n; ++i) dims[i] = (int64_t)extents[i];
  CODE_LIST(&f->code, dims, n, TN_VM_ALLOC_TENSOR, dst, storage->reg, offset, code, bits, lanes);
  return vm_register_value(f, dst);
}

/* ---- extents ---- */

static const vm_value *shape_of(vm_func *f, const tn_RelayCall *c, const tn_RelayVar *var) {
  int64_t from = operand(f, relay_arg(c, 0)), dst = code_reg(&f->code);
  (void)var;
  CODE(&f->code, TN_VM_SHAPE_OF, dst, from);
  return from < 0 ? NULL : vm_register_value(f, dst);
}

/* An instruction with tensors and extents of them, as the attributes have them. */
static int emit_extents(vm_func *f, int64_t op, int64_t word, const tn_RelayCall *c,
                        const void *tensors) {
  const tn_arr *extents = relay_attr_obj(c->attrs, "extents");
  REGISTERS(words);
  REGISTERS(given);
  REGISTERS(numbers);
  TN_TRY(fields(f, tensors, &given));
  for (int64_t i = 0; extents && i < extents->len; ++i) {
    TN_GROW(numbers.items, numbers.cap, numbers.n + 1, return -1);
    numbers.items[numbers.n++] = relay_listed(extents, i);
  }
  TN_TRY(push(&words, op) || push(&words, word) || push(&words, given.n));
  for (int64_t i = 0; i < given.n; ++i) TN_TRY(push(&words, given.items[i]));
  code_emit(&f->code, words.items, words.n, numbers.items ? numbers.items : words.items, numbers.n);
  return 0;
}

static const vm_value *make_shape(vm_func *f, const tn_RelayCall *c, const tn_RelayVar *var) {
  int64_t dst = code_reg(&f->code);
  (void)var;
  TN_TRYP(emit_extents(f, TN_VM_MAKE_SHAPE, dst, c, relay_arg(c, 0)));
  return vm_register_value(f, dst);
}

static const vm_value *check_extents(vm_func *f, const tn_RelayCall *c, const tn_RelayVar *var) {
  const tn_RelayFunction *kernel;
  int64_t named;
  (void)var;
  TN_GETP(kernel, kernel_at(f, c, 0));
  TN_TRYP((named = primitive_of(f, c, kernel)) < 0);
  TN_TRYP(emit_extents(f, TN_VM_CHECK_EXTENTS, named, c, relay_arg(c, 1)));
  return nothing(f);
}

static const vm_value *reshape(vm_func *f, const tn_RelayCall *c, const tn_RelayVar *var) {
  int64_t data = operand(f, relay_arg(c, 0)), shape = shape_operand(f, relay_arg(c, 1));
  int64_t dst = code_reg(&f->code);
  (void)var;
  CODE(&f->code, TN_VM_RESHAPE_TENSOR, dst, data, shape);
  return data < 0 || shape < 0 ? NULL : vm_register_value(f, dst);
}

/* ---- shape functions ---- */

static const char *shape_func_name(vm_func *f, const tn_RelayCall *c, const tn_RelayFunction *k) {
  const char *name, *prefix = f->g->names.prefix;
  TN_GETP(name, name_of(f, c, k));
  return tn_cstr(tn_str_fmt("%sshape_func_%s", prefix, name + strlen(prefix)));
}

/* Does the call give the program what it reads, and take what it writes? */
static bool suits(const kernel_shapes *known, const tn_vec *inputs, const tn_vec *outputs,
                  const tn_RelayCall *c, int64_t written) {
  const tn_arr *is_input = relay_attr_obj(c->attrs, "is_input");
  int64_t n = 0, wanted = known->checks;
  for (int64_t i = 0; i < inputs->len; ++i) {
    if (known->reads[i] == KERNEL_READS_NOTHING) continue;
    if (n >= is_input->len) return false;
    if ((known->reads[i] == KERNEL_READS_VALUES) != relay_listed(is_input, n++)) return false;
  }
  for (int64_t i = 0; i < outputs->len; ++i)
    wanted += known->same[i] < 0 && known->places[i].n < 0 &&
              !relay_is_static((const tn_Type *)outputs->items[i].v.obj);
  return n == is_input->len && written == wanted;
}

/* The program joins the kernels under the name; what is known of it already is not made again. */
static int make_program(vm_func *f, const tn_RelayCall *c, const tn_RelayFunction *k,
                        const char *name, int64_t written) {
  TN_VEC(inputs);
  TN_VEC(outputs);
  kernel_shapes known = {0};
  tn_PrimFunc *p = NULL;
  bool fits = false;
  for (int64_t i = 0; i < k->params->len; ++i)
    TN_TRY(kernel_flat_types(kernel_param_type(k, i), &inputs));
  TN_TRY(kernel_flat_types(kernel_result_type(k), &outputs));
  if (!kernel_shapes_init(&known, k, inputs.len, outputs.len)) p = kernel_shape_program(k, &known);
  if (p) fits = suits(&known, &inputs, &outputs, c, written);
  kernel_shapes_fini(&known);
  TN_GET(p, p);
  TN_CHECK(fits, ValueError, c->span,
           "relay.vm: vm.shape_func: inputs and outputs are not those of the kernel's shape "
           "function");
  return tn_map_set(f->g->shape_funcs, tn_any_cstr(name), tn_any_obj(p));
}

static int invoke_packed(vm_func *f, const tn_RelayCall *c, const char *name, int64_t *written) {
  REGISTERS(regs);
  TN_TRY(fields(f, relay_arg(c, 1), &regs));
  int64_t inputs = regs.n, index;
  TN_TRY(fields(f, relay_arg(c, 2), &regs));
  TN_TRY((index = vm_primitive(f->g, name)) < 0);
  *written = regs.n - inputs;
  CODE_LIST(&f->code, regs.items ? regs.items : &index, regs.n, TN_VM_INVOKE_PACKED, index,
            *written);
  return 0;
}

static const vm_value *shape_func(vm_func *f, const tn_RelayCall *c, const tn_RelayVar *var) {
  const tn_RelayFunction *kernel;
  const char *name;
  int64_t written;
  tn_any found;
  (void)var;
  TN_GETP(kernel, kernel_at(f, c, 0));
  TN_GETP(name, shape_func_name(f, c, kernel));
  TN_TRYP(invoke_packed(f, c, name, &written));
  if (!tn_map_get(f->g->shape_funcs, tn_any_cstr(name), &found))
    TN_TRYP(make_program(f, c, kernel, name, written));
  return nothing(f);
}

/* Messages name the kernel, but where it only reshapes there is none. */
static const vm_value *check_shapes(vm_func *f, const tn_RelayCall *c, const tn_RelayVar *var) {
  const tn_RelayFunction *kernel;
  const char *name;
  int64_t fit = operand(f, relay_arg(c, 2)), named;
  REGISTERS(tensors);
  (void)var;
  TN_GETP(kernel, kernel_at(f, c, 0));
  bool none = kernel_reshaped(kernel) >= 0;
  TN_GETP(name, none ? shape_func_name(f, c, kernel) : name_of(f, c, kernel));
  if (fit < 0 || (named = vm_primitive(f->g, name)) < 0) return NULL;
  TN_TRYP(fields(f, relay_arg(c, 1), &tensors));
  const int64_t words[] = {TN_VM_CHECK, fit, named};
  code_emit(&f->code, words, TN_COUNT(words), tensors.items ? tensors.items : words, tensors.n);
  return nothing(f);
}

/* ---- kernels ---- */

static const vm_value *invoke(vm_func *f, const tn_RelayCall *c, const tn_RelayVar *var) {
  const tn_RelayFunction *kernel;
  const char *name;
  int64_t written;
  (void)var;
  TN_GETP(kernel, kernel_at(f, c, 0));
  TN_GETP(name, name_of(f, c, kernel));
  return invoke_packed(f, c, name, &written) ? NULL : nothing(f);
}

static const struct {
  const char *op;
  const vm_value *(*emit)(vm_func *f, const tn_RelayCall *c, const tn_RelayVar *var);
} instructions[] = {
    {"memory.alloc_storage", alloc_storage},
    {"memory.alloc_tensor", alloc_tensor},
    {"vm.invoke_tvm_op", invoke},
    {"vm.shape_of", shape_of},
    {"vm.make_shape", make_shape},
    {"vm.shape_func", shape_func},
    {"vm.check_shapes", check_shapes},
    {"vm.check_extents", check_extents},
    {"vm.reshape_tensor", reshape},
};

const vm_value *vm_instruction(vm_func *f, const tn_RelayCall *c, const tn_RelayVar *var,
                               bool *known) {
  const char *op = relay_called_op(c);
  *known = false;
  for (int i = 0; op && i < TN_COUNT(instructions); ++i) {
    if (strcmp(op, instructions[i].op) != 0) continue;
    *known = true;
    return instructions[i].emit(f, c, var);
  }
  return NULL;
}
