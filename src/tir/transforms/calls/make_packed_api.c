/* Functions that callers reach by name get the packed signature

     (args, arg_type_ids, num_args, out_ret_value, out_ret_tcode, resource_handle) -> int32

   read their parameters from it, and check them: number, kinds, and for tensors dimensions, element
   type, extents, strides, offset and device against the buffers of buffer_map.

     def f(A: T.Buffer((n,))):             assert num_args == 1, "f: num_args should be 1"
       body                          ->    let a = args[0]  (checked to be a pointer)
                                           assert a.ndim == 1, "arg.A.ndim is expected to equal 1"
                                           ...
                                           body
                                           return 0

   Functions with the attribute tir.check_table check by a table where they can: packed_table.c.
   T.ret(x) becomes a store to out_ret_value. Functions without global_symbol are left alone; calls
   of functions of the module that get the signature become calls of their symbols. After lowering
   to flat code. */
#include "ir/module.h"
#include "tir/transforms/calls/packed_impl.h"

/* ---- the nest of definitions and checks around the body ---- */

int packed_let(packer *p, tn_Var *v, tn_expr *value) {
  tn_stmt *s = (tn_stmt *)TN_NEW(LetStmt, .var = v, .value = value, .body = p->nop);
  return s ? tn_vec_push_obj(&p->nest, s) : -1;
}

int packed_assert(packer *p, tn_vec *to, tn_expr *cond, tn_str *message) {
  if (!cond || !message) return -1;
  if (tir_is_one(cond)) return 0;
  tn_stmt *s = (tn_stmt *)TN_NEW(AssertStmt, .condition = cond,
                                 .message = tir_str(tn_cstr(message)), .body = p->nop);
  return s ? tn_vec_push_obj(to, s) : -1;
}

/* The body within the statements; those without a body of their own stand before it. */
static tn_stmt *nest(const tn_vec *v, tn_stmt *body) {
  for (int64_t i = v->len; body && i-- > 0;) {
    tn_obj *s = v->items[i].v.obj;
    const tn_LetStmt *let = TN_AS(LetStmt, s);
    const tn_AssertStmt *check = TN_AS(AssertStmt, s);
    const tn_AttrStmt *attr = TN_AS(AttrStmt, s);
    if (let) {
      tn_LetStmt copy = *let;
      copy.body = body;
      body = tn_node_copy(&tn_type_LetStmt, &copy);
    } else if (check) {
      tn_AssertStmt copy = *check;
      copy.body = body;
      body = tn_node_copy(&tn_type_AssertStmt, &copy);
    } else if (attr) {
      tn_AttrStmt copy = *attr;
      copy.body = body;
      body = tn_node_copy(&tn_type_AttrStmt, &copy);
    } else {
      body = tir_seq2((tn_stmt *)s, body);
    }
  }
  return body;
}

/* ---- parameters ---- */

tn_expr *tir_struct_get(tn_dtype t, tn_expr *of, int64_t index, tir_struct_field field) {
  return tir_call(t, TIR_OP_tvm_struct_get, 3, of, tir_i32((int32_t)index),
                  tir_i32((int32_t)field));
}

tn_dtype tir_api_type(tn_dtype t) {
  if (ir_is_integral(t)) return TN_I64;
  return ir_is_floating(t) ? TN_F64 : t;
}

/* A bool argument has the code of an integer. */
static int check_kind(packer *p, tn_Var *code, const tn_Var *param, int64_t i) {
  tn_dtype t = param->dtype;
  tn_expr *c = (tn_expr *)code, *ok;
  const char *kind = "float";
  if (t.code == kDLOpaqueHandle) {
    kind = "pointer";
    ok = tir_or(tir_or(tir_eq(c, tir_i32(3)), tir_eq(c, tir_i32(13))),
                tir_or(tir_eq(c, tir_i32(7)), tir_eq(c, tir_i32(4))));
  } else if (ir_is_integral(t)) {
    kind = "int";
    ok = tir_eq(c, tir_i32(0));
  } else {
    ok = tir_eq(c, tir_i32(2));
  }
  return packed_assert(p, &p->nest, ok,
                       tn_str_fmt("%s: Expect arg[%lld] to be %s", p->name, (long long)i, kind));
}

static int read_param(packer *p, int64_t i) {
  tn_Var *param = (tn_Var *)tn_arr_obj(p->func->params, i);
  tn_expr *value =
      tir_struct_get(tir_api_type(param->dtype), (tn_expr *)p->args, i, TIR_VALUE_CONTENT);
  tn_expr *code = tir_load(p->type_ids, tn_arr_of(1, tir_i32((int32_t)i)));
  tn_str *name;
  tn_Var *v;
  if (!value || !code) return -1;
  TN_GET(name, tn_str_fmt("%s.code", tn_cstr(param->name)));
  TN_GET(v, tir_var(tn_cstr(name), TN_I32));
  TN_TRY(packed_let(p, v, code));
  TN_TRY(check_kind(p, v, param, i));
  TN_TRY(packed_let(p, param, tir_cast(param->dtype, value, NULL)));
  return tn_pmap_put(&p->defined, param, param);
}

/* Parameters first: extents that are parameters themselves are known when tensors are checked. */
static int read_params(packer *p) {
  int64_t n = p->func->params->len;
  TN_TRY(packed_assert(p, &p->nest, tir_eq((tn_expr *)p->num_args, tir_i32((int32_t)n)),
                       tn_str_fmt("%s: num_args should be %lld", p->name, (long long)n)));
  for (int64_t i = 0; i < n; ++i) TN_TRY(read_param(p, i));
  for (int64_t i = 0; i < n; ++i) {
    tn_any b;
    tn_Var *param = (tn_Var *)tn_arr_obj(p->func->params, i);
    if (tn_map_get(p->func->buffer_map, tn_any_obj(param), &b))
      TN_TRY(packed_bind_tensor(p, param, (tn_Buffer *)b.v.obj));
  }
  return 0;
}

/* Does the function get the packed signature? @return its symbol, or NULL */
static const char *symbol_of_packed(const tn_PrimFunc *f) {
  const tn_obj *conv = f ? tir_func_attr(f, "calling_conv") : NULL;
  return !f || (conv && !tir_is_zero(conv)) ? NULL : ir_attrs_str(f->attrs, "global_symbol");
}

/* ---- returns, and calls of other functions of the module ---- */

static tn_stmt *rewrite_return(tn_mut *m, tn_Evaluate *op) {
  packer *p = m->ctx;
  const tn_Call *call = tir_as_call((tn_obj *)op->value, TIR_OP_ret);
  if (!call) return tn_mut_children(m, op);
  tn_expr *value = tn_mut_visit(m, tn_arr_obj(call->args, 0));
  if (!value) return NULL;
  TN_CHECKP(value->dtype.lanes == 1 &&
                (ir_is_integral(value->dtype) || ir_is_floating(value->dtype) ||
                 value->dtype.code == kDLOpaqueHandle),
            TypeError, op->span, "%s: ret: a value of type %s cannot be returned", p->name,
            TN_DT(value->dtype));
  tn_dtype t = tir_api_type(value->dtype);
  int code = t.code == kDLInt ? 0 : t.code == kDLFloat ? 2 : 3;
  tn_expr *set = tir_call(TN_I32, TIR_OP_tvm_struct_set, 4, p->ret_value, tir_i32(0),
                          tir_i32(TIR_VALUE_CONTENT), tir_cast(t, value, NULL));
  tn_stmt *store = tir_store(p->ret_code, tir_i32(code), tn_arr_of(1, tir_i32(0)));
  tn_stmt *leave =
      (tn_stmt *)TN_NEW(Evaluate, .value = tir_call(TN_I32, TIR_OP_ret, 1, tir_i32(0)));
  tn_stmt *first = (tn_stmt *)TN_NEW(Evaluate, .value = set);
  return tir_seq2(tir_seq2(first, store), leave);
}

static tn_obj *rewrite_call(tn_mut *m, tn_Call *op) {
  packer *p = m->ctx;
  const tn_GlobalVar *callee = TN_AS(GlobalVar, op->op);
  tn_Call *r = tn_mut_children(m, op);
  if (!r || !callee || !ir_module_find_var(p->mod, tn_cstr(callee->name_hint))) return (tn_obj *)r;
  const tn_PrimFunc *f = TN_AS(PrimFunc, ir_module_lookup(p->mod, callee));
  const char *symbol = symbol_of_packed(f);
  if (!symbol) return (tn_obj *)r;
  TN_VEC(v);
  tn_expr *name = tir_str(symbol);
  tn_expr *null =
      tir_call(TN_HANDLE, TIR_OP_reinterpret, 1, tir_int(tn_dtype_of(kDLUInt, 64, 1), 0));
  if (!name || !null || tn_vec_push_obj(&v, name)) return NULL;
  for (int64_t i = 0; i < r->args->len; ++i) TN_TRYP(tn_vec_push(&v, r->args->items[i]));
  TN_TRYP(tn_vec_push_obj(&v, null));
  return (tn_obj *)tir_call_args(r->dtype, TIR_OP_tvm_call_cpacked, tn_arr_from(&v), r->span);
}

/* ---- the function ---- */

/* What is launched in the body runs on the device of the arguments. */
static tn_stmt *set_device(const packer *p) {
  tn_expr *call = tir_call(TN_I32, TIR_OP_tvm_call_packed, 3, tir_str("__tvm_set_device"),
                           tir_i32(p->device_type), (tn_expr *)p->device_id);
  return (tn_stmt *)TN_NEW(Evaluate, .value = call);
}

static tn_stmt *packed_body(packer *p) {
  static const tn_mut_case cases[] = {TN_CASE(Evaluate, rewrite_return),
                                      TN_CASE(Call, rewrite_call)};
  TN_MUT(m, cases, p);
  tn_str *scope = tn_str_fmt("%s_compute_", p->name);
  tn_stmt *body = tn_mut_visit(&m, p->func->body);
  if (!scope || !body) return NULL;
  body = (tn_stmt *)TN_NEW(AttrStmt, .node = (tn_obj *)tir_i32(0),
                           .attr_key = tn_str_from("compute_scope"),
                           .value = tir_str(tn_cstr(scope)), .body = body);
  tn_stmt *done = (tn_stmt *)TN_NEW(Evaluate, .value = tir_call(TN_I32, TIR_OP_ret, 1, tir_i32(0)));
  body = tir_seq2(body, done);
  TN_TRYP(packed_has_table(p) ? packed_table(p) : read_params(p));
  if (p->has_device && p->device_type != kDLCPU) body = tir_seq2(set_device(p), body);
  body = nest(&p->checks, body);
  if (p->has_device) {
    tn_obj *node = (tn_obj *)tn_str_from("default");
    body = (tn_stmt *)TN_NEW(AttrStmt, .node = node, .attr_key = tn_str_from("device_type"),
                             .value = tir_i32(p->device_type), .body = body);
    body = (tn_stmt *)TN_NEW(AttrStmt, .node = node, .attr_key = tn_str_from("device_id"),
                             .value = (tn_expr *)p->device_id, .body = body);
  }
  return nest(&p->nest, body);
}

/* A pointer of this name is not an argument: callers give it as the resource handle. */
static bool is_device_context(const tn_PrimFunc *f, const tn_Var *v) {
  tn_any buffer;
  return v->dtype.code == kDLOpaqueHandle && tn_str_eq(v->name, "device_api_context") &&
         !tn_map_get(f->buffer_map, tn_any_obj(v), &buffer);
}

static int take_device_context(packer *p) {
  TN_VEC(params);
  TN_PMAP(at);
  tn_PrimFunc copy = *p->func;
  for (int64_t i = 0; i < p->func->params->len; ++i) {
    tn_Var *v = (tn_Var *)tn_arr_obj(p->func->params, i);
    bool context = is_device_context(p->func, v);
    TN_TRY(context ? tn_pmap_put(&at, v, p->resource) : tn_vec_push_obj(&params, v));
  }
  if (at.len == 0) return 0;
  TN_GET(copy.params, tn_arr_from(&params));
  TN_GET(copy.body, tir_substitute(p->func->body, &at));
  TN_GET(p->func, tn_node_copy(&tn_type_PrimFunc, &copy));
  return 0;
}

static int make_params(packer *p) {
  TN_GET(p->resource, tir_var("resource_handle", TN_HANDLE));
  TN_TRY(take_device_context(p));

  tn_arr *shape = tn_arr_of(1, tir_i32((int32_t)p->func->params->len)),
         *one = tn_arr_of(1, tir_i32(1));
  TN_GET(p->args, tir_var("args", TN_HANDLE));
  TN_GET(p->type_ids, tir_buffer(shape, TN_I32, "arg_type_ids", ""));
  TN_GET(p->num_args, tir_var("num_args", TN_I32));
  TN_GET(p->ret_value, tir_var("out_ret_value", TN_HANDLE));
  TN_GET(p->ret_code, tir_buffer(one, TN_I32, "out_ret_tcode", ""));
  TN_GET(p->device_id, tir_var("dev_id", TN_I32));
  TN_GET(p->nop, tir_nop());
  return 0;
}

static tn_PrimFunc *pack(packer *p) {
  TN_TRYP(make_params(p));
  tn_PrimFunc copy = *p->func;
  TN_GETP(copy.body, packed_body(p));
  TN_GETP(copy.params, tn_arr_of(6, p->args, p->type_ids->data, p->num_args, p->ret_value,
                                 p->ret_code->data, p->resource));
  TN_GETP(copy.buffer_map, tn_scope_own(tn_map_new()));
  copy.ret_type = (tn_Type *)TN_NEW(PrimType, .dtype = TN_I32);
  tn_PrimFunc *f = tn_node_copy(&tn_type_PrimFunc, &copy);
  tn_obj *host = tir_target_host(tir_func_attr(p->func, "target"));
  if (f && host) f = tir_with_attr(f, "target", host);
  return f ? tir_with_attr(f, "calling_conv", (tn_obj *)tir_i32(1)) : NULL;
}

static void packer_fini(packer *p) {
  tn_vec_fini(&p->nest);
  tn_vec_fini(&p->checks);
  tn_pmap_fini(&p->defined);
}

tn_PrimFunc *tir_make_packed_api(tn_PrimFunc *f, const tn_pass_ctx *c) {
  const char *name = symbol_of_packed(f);
  if (!name) return f;
  const tn_obj *target = tir_func_attr(f, "target");
  TN_CHECKP(target, TenonError, f->span,
            "MakePackedAPI required the function %s to be annotated with the attribute target: run "
            "tir.BindTarget first",
            name);
  __attribute__((cleanup(packer_fini))) packer p = {
      .func = f, .mod = c->mod, .name = name, .device_type = tir_target_device_type(target)};
  return pack(&p);
}
