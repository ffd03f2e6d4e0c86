/* Virtual machines as modules: what programs call on them, by name.

     vm = exe["vm_load_executable"]()
     vm["init"](device type, device id, kind of allocator, ...)
     vm["invoke"]("main", x)                                    the result
     vm["set_input"]("main", x), ["invoke"]("main")             inputs that stay
     vm["invoke_stateful"]("main"), ["get_output"](0)           a result that stays */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "runtime/module/module.h"
#include "runtime/tensor/tensor.h"
#include "runtime/vm/machine.h"

typedef struct {
  tn_module *exe;   /* owned */
  tn_vm_machine *m; /* NULL before init */
  tn_use use;       /* of the machine, by the functions below */
} vm_self;

/* ---- arguments ---- */

static tn_vm_machine *machine_of(const vm_self *s) {
  return s->m ? s->m : TN_RAISEP(RuntimeError, NULL, "virtual machine: init was not called");
}

static int64_t function_arg(const tn_vm_machine *m, const char *what, const tn_any *args,
                            int32_t n) {
  const char *name;
  TN_CHECK(n >= 1, TypeError, NULL, "%s: expected the name of a function", what);
  TN_TRY(tn_any_to_cstr(&args[0], &name));
  int64_t i = tn_vm_find(m->x, name);
  TN_CHECK(i >= 0, ValueError, NULL, "Cannot find function %s in the executable", name);
  return i;
}

/* Declares the machine `m` and the number `func` of the function that argument 0 names. */
#define TN_VM_ARGS(what)                                                                           \
  tn_vm_machine *m;                                                                                \
  TN_GET(m, machine_of(self));                                                                     \
  int64_t func = function_arg(m, what, args, n);                                                   \
  if (func < 0) return -1

/* *out is -1 where there is none; ValueError for a name that several have. */
static int param_index(const tn_vm_function *f, const char *name, int64_t *out) {
  *out = -1;
  for (int32_t i = 0; i < f->nparam; ++i) {
    if (strcmp(f->params[i], name) != 0) continue;
    TN_CHECK(*out < 0, ValueError, NULL, "%s() has several parameters \"%s\": use their numbers",
             f->name, name);
    *out = i;
  }
  return 0;
}

/* ---- inputs ---- */

enum { SET_TO_NONE = 1 }; /* aux of None that was given, unlike an input that was not set */

static int put_input(tn_vm_machine *m, int64_t func, int32_t i, const tn_any *value) {
  const tn_vm_function *f = &m->x->funcs[func];
  tn_vm_call *c = &m->calls_of[func];
  tn_any own;
  if (!c->inputs) TN_GET(c->inputs, tn_alloc_zero((size_t)f->nparam + 1, sizeof *c->inputs));
  TN_TRY(tn_vm_argument(m, f, i, value, &own));
  if (own.type_index == TN_NONE) own.aux = SET_TO_NONE;
  tn_any_release(&c->inputs[i]);
  c->inputs[i] = own;
  return 0;
}

static int set_all(tn_vm_machine *m, int64_t func, const tn_any *args, int32_t n) {
  const tn_vm_function *f = &m->x->funcs[func];
  TN_CHECK(n == f->nparam, ValueError, NULL,
           "set_input: %s() takes %d arguments, got %d: argument count", f->name, f->nparam, n);
  for (int32_t i = 0; i < n; ++i) TN_TRY(put_input(m, func, i, &args[i]));
  return 0;
}

/* (function, value of each parameter) */
static int set_input(TN_ARGS) {
  TN_VM_ARGS("set_input");
  return set_all(m, func, args + 1, n - 1);
}

/* (function, number or name of a parameter, value) */
static int set_one_input(TN_ARGS) {
  TN_VM_ARGS("set_one_input");
  const tn_vm_function *f = &m->x->funcs[func];
  const char *name;
  int64_t i;
  TN_NARGS("set_one_input", 3);
  if (args[1].type_index == TN_CSTR || args[1].type_index == TN_TI_String) {
    TN_TRY(tn_any_to_cstr(&args[1], &name));
    TN_TRY(param_index(f, name, &i));
    TN_CHECK(i >= 0, ValueError, NULL, "set_one_input: %s() has no parameter %s", f->name, name);
  } else TN_TRY(tn_any_to_int(&args[1], &i));
  TN_CHECK(i >= 0 && i < f->nparam, ValueError, NULL,
           "set_one_input: %s() has no parameter %lld: it has %d", f->name, (long long)i,
           f->nparam);
  return put_input(m, func, (int32_t)i, &args[2]);
}

/* (name[, function]) -> number, -1: none */
static int get_input_index(TN_ARGS) {
  tn_vm_machine *m;
  const char *name, *function = "main";
  TN_GET(m, machine_of(self));
  TN_CHECK(n == 1 || n == 2, TypeError, NULL, "get_input_index: expected a name and a function");
  TN_TRY(tn_any_to_cstr(&args[0], &name));
  if (n == 2) TN_TRY(tn_any_to_cstr(&args[1], &function));
  int64_t func = tn_vm_find(m->x, function);
  TN_CHECK(func >= 0, ValueError, NULL, "Cannot find function %s in the executable", function);
  int64_t i;
  TN_TRY(param_index(&m->x->funcs[func], name, &i));
  *ret = tn_any_int(i);
  return 0;
}

/* ---- outputs ---- */

/* A result, or part of it, to an array that was set for it. */
static int copy_out(const tn_any *value, tn_tensor *to) {
  tn_tensor *from;
  TN_TRY(tn_any_to_tensor(value, &from));
  return tn_tensor_copy(&from->dl, &to->dl);
}

static int copy_outputs(const tn_vm_call *c, const tn_any *result) {
  const tn_tuple *t = result->type_index == TN_TI_ADT ? (const tn_tuple *)result->v.obj : NULL;
  TN_CHECK(c->noutput == (t ? t->len : 1), ValueError, NULL,
           "set_outputs: %lld arrays were set, the function has %lld results",
           (long long)c->noutput, (long long)(t ? t->len : 1));
  for (int64_t i = 0; i < c->noutput; ++i)
    TN_TRY(copy_out(t ? &t->fields[i] : result, c->outputs[i]));
  return 0;
}

static void clear_outputs(tn_vm_call *c) {
  for (int64_t i = 0; i < c->noutput; ++i) tn_release(c->outputs[i]);
  tn_free((void *)c->outputs);
  c->outputs = NULL;
  c->noutput = 0;
}

/* (function, array for each result): of the next call only */
static int set_outputs(TN_ARGS) {
  TN_VM_ARGS("set_outputs");
  tn_vm_call *c = &m->calls_of[func];
  clear_outputs(c);
  TN_GET(c->outputs, tn_alloc_zero((size_t)n, sizeof(tn_tensor *)));
  for (int32_t i = 1; i < n; ++i) {
    tn_tensor *t;
    TN_TRY(tn_any_to_tensor(&args[i], &t) || tn_tensor_check_writable(t));
    tn_retain(c->outputs[c->noutput++] = t);
  }
  return 0;
}

/* ---- calls ---- */

static int call_with_inputs(tn_vm_machine *m, int64_t func, tn_any *ret) {
  const tn_vm_function *f = &m->x->funcs[func];
  const tn_vm_call *c = &m->calls_of[func];
  for (int32_t i = 0; i < f->nparam; ++i)
    TN_CHECK(c->inputs && (c->inputs[i].type_index != TN_NONE || c->inputs[i].aux == SET_TO_NONE),
             ValueError, NULL, "Input has not been set for function %s: parameter %s", f->name,
             f->params[i]);
  return tn_vm_run(m, func, c->inputs, f->nparam, ret);
}

/* With the given arguments, or with those set before. */
static int call(tn_vm_machine *m, int64_t func, const tn_any *args, int32_t n, tn_any *ret) {
  tn_vm_call *c = &m->calls_of[func];
  TN_TRY(n ? tn_vm_run(m, func, args, n, ret) : call_with_inputs(m, func, ret));
  if (!c->outputs) return 0;
  int err = copy_outputs(c, ret);
  clear_outputs(c);
  if (err) tn_any_release(ret);
  return err;
}

/* (function, arguments: all of them, or none) */
static int invoke(TN_ARGS) {
  TN_VM_ARGS("invoke");
  return call(m, func, args + 1, n - 1, ret);
}

static int invoke_stateful(TN_ARGS) {
  tn_any result = tn_any_none();
  TN_VM_ARGS("invoke_stateful");
  TN_TRY(call(m, func, args + 1, n - 1, &result));
  tn_any_release(&m->last);
  m->last = result;
  return 0;
}

/* (function, device type, device id): the result there */
static int invoke_return_to_device(TN_ARGS) {
  int64_t type, id;
  tn_any result = tn_any_none();
  TN_VM_ARGS("invoke_return_to_device");
  TN_NARGS("invoke_return_to_device", 3);
  TN_TRY(tn_any_to_int(&args[1], &type) || tn_any_to_int(&args[2], &id));
  TN_TRY(call(m, func, NULL, 0, &result));
  const tn_device dev = {(DLDeviceType)type, (int32_t)id};
  if (result.type_index != TN_TI_NDArray) {
    *ret = result;
    return 0;
  }
  tn_tensor *t = tn_tensor_clone(&((tn_tensor *)result.v.obj)->dl, dev, NULL);
  tn_any_release(&result);
  return tn_ret_owned(ret, t);
}

/* (function, array of collectors or None, arguments: all of them, or none) -> report */
static int profile(TN_ARGS) {
  tn_arr *collectors = NULL;
  TN_VM_ARGS("profile");
  const tn_vm_function *f = &m->x->funcs[func];
  TN_CHECK(n >= 2, TypeError, NULL, "profile: expected a function, collectors and arguments");
  TN_TRY(tn_arg_items(args, n, 1, "Array(MetricCollector)", true, (tn_obj **)&collectors));
  bool given = n > 2 || f->nparam == 0;
  TN_CHECK(given || m->calls_of[func].inputs, ValueError, NULL,
           "Input has not been set for function %s", f->name);
  return tn_ret_owned(ret, tn_vm_profile(m, func, collectors,
                                         given ? args + 2 : m->calls_of[func].inputs,
                                         given ? n - 2 : f->nparam));
}

static int get_num_outputs(TN_ARGS) {
  tn_vm_machine *m;
  TN_GET(m, machine_of(self));
  bool many = m->last.type_index == TN_TI_ADT;
  *ret = tn_any_int(many ? ((const tn_tuple *)m->last.v.obj)->len : m->last.type_index != TN_NONE);
  return 0;
}

static int get_output(TN_ARGS) {
  tn_vm_machine *m;
  int64_t i;
  TN_GET(m, machine_of(self));
  TN_NARGS("get_output", 1);
  TN_TRY(tn_any_to_int(&args[0], &i));
  TN_CHECK(m->last.type_index != TN_NONE, RuntimeError, NULL,
           "get_output: no result yet: call invoke_stateful first");
  if (m->last.type_index != TN_TI_ADT) {
    TN_CHECK(i == 0, IndexError, NULL, "VM output contains only one item, but got index %lld",
             (long long)i);
    return tn_any_own(&m->last, ret);
  }
  const tn_tuple *t = (const tn_tuple *)m->last.v.obj;
  TN_CHECK(i >= 0 && i < t->len, IndexError, NULL, "get_output: unknown result %lld of %lld",
           (long long)i, (long long)t->len);
  return tn_any_own(&t->fields[i], ret);
}

/* ---- the machine ---- */

/* (device type, device id, kind of allocator, ...) */
static int init(TN_ARGS) {
  enum { MAX_DEVICES = 32 };
  tn_device devices[MAX_DEVICES];
  int kinds[MAX_DEVICES];
  vm_self *s = self;
  TN_CHECK(n >= 3 && n % 3 == 0 && n / 3 <= MAX_DEVICES, TypeError, NULL,
           "init: expected device type, device id and kind of allocator of each device");
  for (int32_t i = 0; i < n / 3; ++i) {
    int64_t type, id, kind;
    TN_TRY(tn_any_to_int(&args[3 * i], &type) || tn_any_to_int(&args[3 * i + 1], &id) ||
           tn_any_to_int(&args[3 * i + 2], &kind));
    TN_CHECK(kind == TN_VM_NAIVE || kind == TN_VM_POOLED, ValueError, NULL,
             "init: kind of allocator %lld: 1 is naive, 2 pooled", (long long)kind);
    devices[i] = (tn_device){(DLDeviceType)type, (int32_t)id};
    kinds[i] = (int)kind;
  }
  tn_vm_machine *m;
  TN_GET(m, tn_vm_machine_new(s->exe, devices, kinds, n / 3));
  if (s->m) tn_vm_machine_free(s->m);
  s->m = m;
  return 0;
}

/* Of all devices together. */
static int each_pool(tn_vm_machine *m, void (*fn)(tn_vm_pool *p, void *ctx), void *ctx) {
  for (int64_t i = 0; i < m->x->ndevice; ++i) {
    bool first = true;
    for (int64_t k = 0; k < i; ++k) first = first && m->pools[k] != m->pools[i];
    if (first) fn(m->pools[i], ctx);
  }
  return 0;
}

static void trim_one(tn_vm_pool *p, void *ctx) {
  (void)ctx;
  tn_vm_pool_trim(p);
}
static void limit_one(tn_vm_pool *p, void *ctx) { tn_vm_pool_set_limit(p, *(int64_t *)ctx); }
static void add_stats(tn_vm_pool *p, void *ctx) {
  tn_vm_pool_stats *sum = ctx, s = tn_vm_pool_get_stats(p);
  sum->used += s.used;
  sum->reserved += s.reserved;
  sum->peak += s.peak;
  sum->allocs += s.allocs;
}

/* Gives memory that is kept for later back to the devices. */
static int trim(TN_ARGS) {
  tn_vm_machine *m;
  TN_GET(m, machine_of(self));
  return each_pool(m, trim_one, NULL);
}

/* (bytes of each device, 0: no limit) */
static int set_memory_limit(TN_ARGS) {
  tn_vm_machine *m;
  int64_t limit;
  TN_GET(m, machine_of(self));
  TN_NARGS("set_memory_limit", 1);
  TN_TRY(tn_any_to_int(&args[0], &limit));
  TN_CHECK(limit >= 0, ValueError, NULL, "set_memory_limit: %lld bytes", (long long)limit);
  return each_pool(m, limit_one, &limit);
}

/* {"used", "reserved", "peak": bytes, "allocations": number} */
static int memory_stats(TN_ARGS) {
  tn_vm_machine *m;
  tn_vm_pool_stats s = {0};
  tn_map *out;
  TN_GET(m, machine_of(self));
  (void)each_pool(m, add_stats, &s);
  TN_GET(out, tn_map_new());
  if (tn_map_set(out, tn_any_cstr("used"), tn_any_int(s.used)) ||
      tn_map_set(out, tn_any_cstr("reserved"), tn_any_int(s.reserved)) ||
      tn_map_set(out, tn_any_cstr("peak"), tn_any_int(s.peak)) ||
      tn_map_set(out, tn_any_cstr("allocations"), tn_any_int(s.allocs))) {
    tn_release(out);
    return -1;
  }
  return tn_ret_owned(ret, out);
}

static int positive(const char *what, const tn_any *args, int32_t n, int64_t *out) {
  int64_t value;
  TN_NARGS(what, 1);
  TN_TRY(tn_any_to_int(&args[0], &value));
  TN_CHECK(value > 0, ValueError, NULL, "%s: expected a positive number, got %lld", what,
           (long long)value);
  *out = value;
  return 0;
}

static int set_max_depth(TN_ARGS) {
  tn_vm_machine *m;
  TN_GET(m, machine_of(self));
  return positive("set_max_depth", args, n, &m->max_depth);
}

static int set_max_calls(TN_ARGS) {
  tn_vm_machine *m;
  TN_GET(m, machine_of(self));
  return positive("set_max_calls", args, n, &m->max_calls);
}

static const tn_func_row methods[] = {
    {"init", init},
    {"invoke", invoke},
    {"invoke_stateful", invoke_stateful},
    {"invoke_return_to_device", invoke_return_to_device},
    {"get_output", get_output},
    {"profile", profile},
    {"get_num_outputs", get_num_outputs},
    {"get_input_index", get_input_index},
    {"set_input", set_input},
    {"set_one_input", set_one_input},
    {"set_outputs", set_outputs},
    {"trim", trim},
    {"set_memory_limit", set_memory_limit},
    {"memory_stats", memory_stats},
    {"set_max_depth", set_max_depth},
    {"set_max_calls", set_max_calls},
};

static int get_function(tn_module *mod, const char *name, tn_func **out) {
  vm_self *s = tn_module_self(mod);
  for (int i = 0; i < TN_COUNT(methods); ++i) {
    if (strcmp(methods[i].name, name)) continue;
    TN_GET(*out, tn_module_bind_alone(mod, &methods[i], s, &s->use, "virtual machine"));
    return 0;
  }
  /* what belongs to the executable */
  return tn_module_get_function(s->exe, name, false, out);
}

static void fini(tn_module *mod) {
  vm_self *s = tn_module_self(mod);
  if (s->m) tn_vm_machine_free(s->m);
  tn_release(s->exe);
  tn_free(s);
}

static const tn_module_ops vm_ops = {
    .type_key = "VirtualMachine",
    .properties = TN_MODULE_RUNNABLE,
    .get_function = get_function,
    .fini = fini,
};

tn_module *tn_vm_machine_module(tn_module *exe) {
  vm_self *s = tn_alloc_zero(1, sizeof *s);
  if (!s) return NULL;
  tn_retain(s->exe = exe);
  tn_module *m = tn_module_new(&vm_ops, s);
  if (m) return m;
  tn_release(exe);
  tn_free(s);
  return NULL;
}

/* (executable) -> virtual machine */
static int make(TN_ARGS) {
  tn_module *exe;
  TN_NARGS("runtime._VirtualMachine", 1);
  TN_TRY(tn_arg_module(args, n, 0, &exe));
  return tn_ret_owned(ret, tn_vm_machine_module(exe));
}

static const tn_func_row rows[] = {{"runtime._VirtualMachine", make}};

int tn_vm_init(void) { return tn_func_register_rows(rows, TN_COUNT(rows)); }
