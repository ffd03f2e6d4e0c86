/* Calls of packed functions get their argument stacks, large allocations come from the workspace of
   the device.

     T.call_packed("f", x)                 ->   stack_value = T.tvm_stack_alloca("arg_value", 2)
                                                stack_tcode = T.tvm_stack_alloca("arg_tcode", 2)
                                                T.tvm_struct_set(stack_value, 0, 12, x)
                                                stack_tcode[0] = 0
                                                T.tvm_call_packed_lowered("f", stack_value,
                                                                          stack_tcode, 0, 1)

   T.tvm_call_trace_packed("f", x) is such a call whose value is what f returns, or x.
   The stacks belong to the function, or to the body of a parallel loop, which another thread runs.
   Their sizes are known once the body was lowered: a body that uses them is lowered twice. After
   MakePackedAPI; needs to know the device (attribute "target" of the function, "device_type" and
   "device_id" within it). */
#include <string.h>

#include "ir/module.h"
#include "tir/transforms/calls/packed_impl.h"

enum {
  DEVICE_ALIGN = 64
}; /* bytes: the least that workspaces on devices other than the CPU have */
enum { CODE_INT = 0, CODE_FLOAT = 2, CODE_HANDLE = 3, CODE_DLTENSOR = 7, CODE_STR = 11 };

typedef struct {
  int32_t shape, arg, array;
} sizes;

/* The stacks of a body. */
typedef struct {
  tn_Buffer *shape, *tcode;
  tn_Var *value, *array;
  sizes now, most;
} stacks;

typedef struct {
  const char *name; /* of the function */
  stacks *at;
  tn_vec *before; /* statements that the current one needs in front of it */
  tn_expr *device_type, *device_id;
} lowerer;

static int32_t max32(int32_t a, int32_t b) { return a > b ? a : b; }

static tn_expr *const_i32(int64_t v) { return tir_i32((int32_t)v); }

static void use(stacks *s, sizes n) {
  s->now = (sizes){s->now.shape + n.shape, s->now.arg + n.arg, s->now.array + n.array};
  s->most = (sizes){max32(s->most.shape, s->now.shape), max32(s->most.arg, s->now.arg),
                    max32(s->most.array, s->now.array)};
}

static int do_before(lowerer *x, tn_stmt *s) { return s ? tn_vec_push_obj(x->before, s) : -1; }

static int set_field(lowerer *x, tn_Var *of, int32_t index, tir_struct_field f, tn_expr *value) {
  tn_expr *set =
      tir_call(TN_I32, TIR_OP_tvm_struct_set, 4, of, tir_i32(index), tir_i32((int32_t)f), value);
  return do_before(x, (tn_stmt *)TN_NEW(Evaluate, .value = set));
}

static tn_expr *null_handle(void) {
  return tir_call(TN_HANDLE, TIR_OP_reinterpret, 1, tir_int(tn_dtype_of(kDLUInt, 64, 1), 0));
}

static int need_device(const lowerer *x, const char *what) {
  TN_CHECK(x->device_type, TenonError, NULL, "%s: %s requires the device_type to be defined",
           x->name, what);
  TN_CHECK(x->device_id, TenonError, NULL, "%s: %s requires the device_id to be defined", x->name,
           what);
  return 0;
}

/* ---- calls ---- */

static bool is_array(const tn_expr *e) {
  const tn_Call *get = tir_as_call((const tn_obj *)e, TIR_OP_tvm_struct_get);
  int64_t field;
  return get && tir_as_int(tn_arr_obj(get->args, 2), &field) && field == TIR_ARR_ADDR;
}

static int push_arg(lowerer *x, int32_t at, tn_expr *e) {
  tn_dtype api = tir_api_type(e->dtype);
  TN_CHECK(e->dtype.lanes == 1, TypeError, e->span,
           "%s: argument of a packed function: expected a scalar, got %s", x->name,
           TN_DT(e->dtype));
  int code = api.code == kDLInt ? CODE_INT : api.code == kDLFloat ? CODE_FLOAT : CODE_HANDLE;
  if (TN_IS(StringImm, e)) code = CODE_STR;
  if (is_array(e)) code = CODE_DLTENSOR;
  tn_expr *value = code == CODE_INT || code == CODE_FLOAT ? tir_cast(api, e, NULL) : e;
  TN_TRY(set_field(x, x->at->value, at, TIR_VALUE_CONTENT, value));
  return do_before(x, tir_store(x->at->tcode, tir_i32(code), tn_arr_of(1, tir_i32(at))));
}

/* args: name, arguments, and for a C symbol its resource handle. The result of the call is behind
 * the arguments. */
static tn_expr *packed_call(tn_mut *m, tn_Call *op, bool symbol) {
  lowerer *x = m->ctx;
  int64_t n = op->args->len - 1 - (symbol ? 1 : 0);
  int32_t begin = x->at->now.arg;
  TN_CHECKP(n >= 0, ValueError, op->span, "%s: call of a packed function without its name",
            x->name);
  use(x->at, (sizes){.arg = (int32_t)n + 1});
  tn_Call *r = tn_mut_children(m, op);
  if (!r) return NULL;
  for (int64_t i = 0; i < n; ++i)
    TN_TRYP(push_arg(x, begin + (int32_t)i, (tn_expr *)tn_arr_obj(r->args, i + 1)));
  TN_VEC(v);
  tn_obj *lowered[] = {tn_arr_obj(r->args, 0), (tn_obj *)x->at->value, (tn_obj *)x->at->tcode->data,
                       (tn_obj *)const_i32(begin), (tn_obj *)const_i32(begin + n)};
  for (int i = 0; i < TN_COUNT(lowered); ++i)
    if (!lowered[i] || tn_vec_push_obj(&v, lowered[i])) return NULL;
  if (symbol) TN_TRYP(tn_vec_push_obj(&v, tn_arr_obj(r->args, n + 1)));
  return tir_call_args(r->dtype,
                       symbol ? TIR_OP_tvm_call_cpacked_lowered : TIR_OP_tvm_call_packed_lowered,
                       tn_arr_from(&v), r->span);
}

/* What slot i of the values holds, as a value of type t. */
static tn_expr *slot(const lowerer *x, tn_dtype api, int32_t i, tn_dtype t) {
  return tir_cast(t, tir_struct_get(api, (tn_expr *)x->at->value, i, TIR_VALUE_CONTENT), NULL);
}

/* args: name, arguments. The value is the number that the function returns, else the last argument.
   That is read from its slot: another trace in it must not be called twice. */
static tn_expr *trace_call(tn_mut *m, tn_Call *op) {
  lowerer *x = m->ctx;
  TN_CHECKP(op->args->len >= 2, ValueError, op->span,
            "%s: tvm_call_trace_packed: expected a name and values, got %lld arguments", x->name,
            (long long)op->args->len);
  tn_dtype t = op->dtype, api = tir_api_type(t);
  int32_t end = x->at->now.arg + (int32_t)op->args->len - 1;
  tn_Call copy = *op, *traced;
  copy.dtype = TN_I32;
  TN_GETP(traced, tn_node_copy(&tn_type_Call, &copy));
  tn_expr *call = packed_call(m, traced, false), *value = call ? slot(x, api, end - 1, t) : NULL;
  tn_Var *done = tir_var("traced", TN_I32);
  if (value && (ir_is_integral(t) || ir_is_floating(t))) {
    tn_expr *code = tir_load(x->at->tcode, tn_arr_of(1, tir_i32(end)));
    value =
        tir_if_then_else(tir_eq(code, tir_i32(CODE_FLOAT)), slot(x, TN_F64, end, t), value, NULL);
    value = tir_if_then_else(tir_eq(code, tir_i32(CODE_INT)), slot(x, TN_I64, end, t), value, NULL);
  }
  return value && done ? (tn_expr *)TN_MAKE(Let, .var = done, .value = call, .body = value) : NULL;
}

static tn_expr *make_shape(tn_mut *m, tn_Call *op) {
  lowerer *x = m->ctx;
  int32_t begin = x->at->now.shape;
  tn_Call *r = tn_mut_children(m, op);
  if (!r || r->args->len == 0) return r ? null_handle() : NULL;
  use(x->at, (sizes){.shape = (int32_t)r->args->len});
  for (int64_t i = 0; i < r->args->len; ++i)
    TN_TRYP(do_before(x, tir_store(x->at->shape,
                                   tir_cast(TN_I64, (tn_expr *)tn_arr_obj(r->args, i), NULL),
                                   tn_arr_of(1, const_i32(begin + i)))));
  tn_expr *first = tir_load(x->at->shape, tn_arr_of(1, tir_i32(begin)));
  return tir_call(TN_HANDLE, TIR_OP_address_of, 1, first);
}

/* data, shape, strides, ndim, a number of the element type, offset in elements */
static tn_expr *make_array(tn_mut *m, tn_Call *op) {
  lowerer *x = m->ctx;
  tn_dtype u8 = tn_dtype_of(kDLUInt, 8, 1), u16 = tn_dtype_of(kDLUInt, 16, 1);
  TN_TRYP(need_device(x, "tvm_stack_make_array"));
  TN_CHECKP(op->args->len == 6, ValueError, op->span,
            "%s: tvm_stack_make_array: expected 6 arguments, got %lld", x->name,
            (long long)op->args->len);
  int32_t i = x->at->now.array;
  use(x->at, (sizes){.array = 1});
  tn_Call *r = tn_mut_children(m, op);
  if (!r) return NULL;
  tn_expr *const *a =
      (tn_expr *[]){(tn_expr *)tn_arr_obj(r->args, 0), (tn_expr *)tn_arr_obj(r->args, 1),
                    (tn_expr *)tn_arr_obj(r->args, 2), (tn_expr *)tn_arr_obj(r->args, 3),
                    (tn_expr *)tn_arr_obj(r->args, 4), (tn_expr *)tn_arr_obj(r->args, 5)};
  tn_dtype t = a[4]->dtype;
  tn_expr *size = tir_const_int(a[5]->dtype, tn_dtype_bytes(t, 1));
  const struct {
    tir_struct_field field;
    tn_expr *value;
  } fields[] = {
      {TIR_ARR_DATA, a[0]},
      {TIR_ARR_SHAPE, a[1]},
      {TIR_ARR_STRIDES, tir_is_zero(a[2]) ? null_handle() : a[2]},
      {TIR_ARR_NDIM, tir_cast(TN_I32, a[3], NULL)},
      {TIR_ARR_TYPE_CODE, tir_int(u8, t.code)},
      {TIR_ARR_TYPE_BITS, tir_int(u8, t.bits)},
      {TIR_ARR_TYPE_LANES, tir_int(u16, t.lanes)},
      {TIR_ARR_BYTE_OFFSET, tir_cast(tn_dtype_of(kDLUInt, 64, 1), tir_mul(a[5], size), NULL)},
      {TIR_ARR_DEVICE_ID, tir_cast(TN_I32, x->device_id, NULL)},
      {TIR_ARR_DEVICE_TYPE, tir_cast(TN_I32, x->device_type, NULL)},
  };
  for (int k = 0; k < TN_COUNT(fields); ++k)
    TN_TRYP(set_field(x, x->at->array, i, fields[k].field, fields[k].value));
  return tir_struct_get(TN_HANDLE, (tn_expr *)x->at->array, i, TIR_ARR_ADDR);
}

static tn_expr *lower_call(tn_mut *m, tn_Call *op) {
  switch (tir_op_number((tn_obj *)op->op)) {
  case TIR_OP_tvm_call_packed: return packed_call(m, op, false);
  case TIR_OP_tvm_call_cpacked: return packed_call(m, op, true);
  case TIR_OP_tvm_call_trace_packed: return trace_call(m, op);
  case TIR_OP_tvm_stack_make_shape: return make_shape(m, op);
  case TIR_OP_tvm_stack_make_array: return make_array(m, op);
  default: return tn_mut_children(m, op);
  }
}

/* ---- allocations ---- */

static tn_stmt *fail_if(tn_expr *cond) {
  tn_stmt *fail =
      (tn_stmt *)TN_NEW(Evaluate, .value = tir_call(TN_I32, TIR_OP_tvm_throw_last_error, 0));
  return (tn_stmt *)TN_NEW(IfThenElse, .condition = cond, .then_case = fail);
}

static bool on_cpu(const lowerer *x) {
  int64_t device;
  return !x->device_type || (tir_as_int((tn_obj *)x->device_type, &device) && device == kDLCPU);
}

/* Small ones of constant size stay: they are put on the stack. */
static bool stays(const lowerer *x, const tn_Allocate *op, tn_expr **bytes) {
  tn_dtype u64 = tn_dtype_of(kDLUInt, 64, 1);
  const tn_PointerType *t = TN_AS(PointerType, op->buffer_var->type_annotation);
  const char *scope = t && t->storage_scope->len ? tn_cstr(t->storage_scope) : "global";
  int64_t size = tn_dtype_bytes(op->dtype, 1), n;
  bool known = true;
  *bytes = tir_int(u64, size);
  for (int64_t i = 0; i < op->extents->len; ++i) {
    tn_expr *e = (tn_expr *)tn_arr_obj(op->extents, i);
    bool constant = tir_as_int((tn_obj *)e, &n);
    known &= constant && n >= 0 && (n == 0 || size <= TIR_STACK_BYTES / n);
    size = known ? size * n : size;
    *bytes = tir_mul(*bytes, tir_cast(u64, e, NULL));
  }
  if (strcmp(scope, "global") != 0) return true; /* memory of another kind: of its own device */
  return on_cpu(x) && known && size > 0 && size < TIR_STACK_BYTES;
}

/* A buffer is declared as long as its memory is there. */
static tn_stmt *followed_by(tn_stmt *s, tn_stmt *last) {
  const tn_DeclBuffer *decl = s && last ? TN_AS(DeclBuffer, s) : NULL;
  if (!decl) return tir_seq2(s, last);
  return (tn_stmt *)TN_NEW(DeclBuffer, .buffer = decl->buffer,
                           .body = followed_by(decl->body, last));
}

static tn_stmt *lower_allocate(tn_mut *m, tn_Allocate *op) {
  lowerer *x = m->ctx;
  tn_expr *bytes;
  tn_Allocate *r = tn_mut_children(m, op);
  if (!r || stays(x, r, &bytes)) return (tn_stmt *)r;
  TN_TRYP(need_device(x, "allocation of workspace memory"));
  tn_expr *type = tir_cast(TN_I32, x->device_type, NULL),
          *id = tir_cast(TN_I32, x->device_id, NULL);
  tn_expr *get = tir_call(r->buffer_var->dtype, TIR_OP_TVMBackendAllocWorkspace, 5, type, id, bytes,
                          tir_i32(r->dtype.code), tir_i32(r->dtype.bits));
  tn_expr *give = tir_call(TN_I32, TIR_OP_TVMBackendFreeWorkspace, 3, type, id, r->buffer_var);
  tn_stmt *check = fail_if(tir_call(TN_BOOL1, TIR_OP_isnullptr, 1, r->buffer_var));
  tn_stmt *body = tir_seq2(check, followed_by(r->body, fail_if(tir_ne(give, tir_i32(0)))));
  if (body && !on_cpu(x))
    body = (tn_stmt *)TN_NEW(AttrStmt, .node = (tn_obj *)r->buffer_var,
                             .attr_key = tn_str_from("storage_alignment"),
                             .value = tir_i32(DEVICE_ALIGN), .body = body);
  return (tn_stmt *)TN_NEW(LetStmt, .var = r->buffer_var, .value = get, .body = body);
}

/* ---- statements ---- */

static tn_stmt *define(tn_Var *v, const char *kind, int32_t n, tn_stmt *body) {
  tn_expr *get = tir_call(TN_HANDLE, TIR_OP_tvm_stack_alloca, 2, tir_str(kind), tir_i32(n));
  return (tn_stmt *)TN_NEW(LetStmt, .var = v, .value = get, .body = body);
}

static int make_stacks(stacks *s, sizes most) {
  *s = (stacks){.most = {0}};
  TN_GET(s->shape,
         tir_buffer(tn_arr_of(1, tir_i32(max32(most.shape, 1))), TN_I64, "stack_shape", ""));
  TN_GET(s->tcode,
         tir_buffer(tn_arr_of(1, tir_i32(max32(most.arg, 1))), TN_I32, "stack_tcode", ""));
  TN_GET(s->value, tir_var("stack_value", TN_HANDLE));
  TN_GET(s->array, tir_var("stack_array", TN_HANDLE));
  return 0;
}

static tn_stmt *with_stacks(const stacks *s, tn_stmt *body) {
  if (s->most.array) body = define(s->array, "array", s->most.array, body);
  if (s->most.shape) {
    body = (tn_stmt *)TN_NEW(DeclBuffer, .buffer = s->shape, .body = body);
    body = define(s->shape->data, "shape", s->most.shape, body);
  }
  if (s->most.arg) {
    body = (tn_stmt *)TN_NEW(DeclBuffer, .buffer = s->tcode, .body = body);
    body = define(s->tcode->data, "arg_tcode", s->most.arg, body);
    body = define(s->value, "arg_value", s->most.arg, body);
  }
  return body;
}

/* A body with its own stacks. */
static tn_stmt *lower_body(tn_mut *m, tn_stmt *s) {
  lowerer *x = m->ctx;
  stacks own, *outer = x->at;
  TN_TRYP(make_stacks(&own, (sizes){0}));
  x->at = &own;
  tn_stmt *body = tn_mut_visit(m, s);
  if (body && (own.most.arg || own.most.shape || own.most.array)) {
    TN_TRYP(make_stacks(&own, own.most));
    body = with_stacks(&own, tn_mut_visit(m, s));
  }
  x->at = outer;
  return body;
}

static tn_stmt *lower_for(tn_mut *m, tn_For *op) {
  if (op->kind != TIR_FOR_PARALLEL) return tn_mut_children(m, op);
  tn_expr *min = tn_mut_visit(m, op->min), *extent = tn_mut_visit(m, op->extent);
  return tir_for_with(op, min, extent, lower_body(m, op->body));
}

/* The device is needed here only: its attributes go. */
static tn_stmt *lower_attr(tn_mut *m, tn_AttrStmt *op) {
  lowerer *x = m->ctx;
  tn_expr *type = x->device_type, *id = x->device_id;
  bool is_type = tn_str_eq(op->attr_key, "device_type"),
       is_id = tn_str_eq(op->attr_key, "device_id");
  if (is_type) x->device_type = op->value;
  if (is_id) x->device_id = op->value;
  tn_stmt *r = is_type || is_id ? tn_mut_visit(m, op->body) : tn_mut_children(m, op);
  x->device_type = type, x->device_id = id;
  return r;
}

static tn_stmt *dispatch(tn_mut *m, tn_stmt *s) {
  switch (s->hdr.type_index) {
  case TN_TI_Allocate: return lower_allocate(m, (tn_Allocate *)s);
  case TN_TI_For: return lower_for(m, (tn_For *)s);
  case TN_TI_AttrStmt: return lower_attr(m, (tn_AttrStmt *)s);
  default: return tn_mut_children(m, s);
  }
}

/* Every statement gathers what its own expressions need before it. */
static tn_stmt *lower_stmt(tn_mut *m, tn_stmt *s) {
  lowerer *x = m->ctx;
  tn_vec *outer = x->before;
  sizes now = x->at->now;
  TN_VEC(before);
  x->before = &before;
  tn_stmt *r = dispatch(m, s);
  x->before = outer;
  x->at->now = now;
  if (!r || before.len == 0) return r;
  if (tn_vec_push_obj(&before, r)) return NULL;
  return tir_seq(&before);
}

tn_PrimFunc *tir_lower_tvm_builtin(tn_PrimFunc *f, const tn_pass_ctx *c) {
  static const tn_mut_case cases[] = {
      TN_CASE(LetStmt, lower_stmt),    TN_CASE(AttrStmt, lower_stmt),
      TN_CASE(AssertStmt, lower_stmt), TN_CASE(BufferStore, lower_stmt),
      TN_CASE(Allocate, lower_stmt),   TN_CASE(AllocateConst, lower_stmt),
      TN_CASE(DeclBuffer, lower_stmt), TN_CASE(SeqStmt, lower_stmt),
      TN_CASE(IfThenElse, lower_stmt), TN_CASE(Evaluate, lower_stmt),
      TN_CASE(For, lower_stmt),        TN_CASE(While, lower_stmt),
      TN_CASE(Prefetch, lower_stmt),   TN_CASE(Call, lower_call)};
  (void)c;
  const tn_obj *target = tir_func_attr(f, "target");
  const char *name = ir_attrs_str(f->attrs, "global_symbol");
  lowerer x = {.name = name ? name : "function"};
  if (target) TN_GETP(x.device_type, tir_i32(tir_target_device_type(target)));
  TN_MUT(m, cases, &x);
  return tir_with_body(f, lower_body(&m, f->body));
}
