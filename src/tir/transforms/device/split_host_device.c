/* Device regions become separate functions, called by the host function.

     def main(A: T.Buffer((16,))):                     def main(A: T.Buffer((16,))):
       T.attr(T.target("cuda"), "target", 0)     ->      main_kernel(A.data)
       body
                                                       def main_kernel(A: T.handle("float32")):
                                                         T.func_attr({"target": T.target("cuda")})
                                                         body

   The parameters are the variables that the region uses: pointers first, then by name. A kernel is
   named after its function, with a number where one function has several. Where host and device
   share a kind of machine the call returns an error code, which is checked. After
   AnnotateDeviceRegions. */
#include <stdlib.h>
#include <string.h>

#include "ir/module.h"
#include "tir/device.h"
#include "tir/transforms/transforms.h"

typedef struct {
  tn_IRModule *out;
  const char *prefix; /* of names of kernels */
} splitter;

/* ---- what a region uses ---- */

typedef struct {
  tn_pmap defined;
  tn_vec used;    /* Var, once each */
  tn_vec buffers; /* Buffer, once each */
  tn_pmap seen;
} region;

static int note_use(region *r, const tn_obj *v) {
  if (tn_pmap_has(&r->seen, v)) return 0;
  TN_TRY(tn_pmap_put_int(&r->seen, v, 1));
  return tn_vec_push_obj(&r->used, v);
}

static int define(region *r, const void *v) { return tn_pmap_put_int(&r->defined, v, 1); }

static int note_node(void *ctx, tn_obj *o) {
  region *r = ctx;
  switch (o->type_index) {
  case TN_TI_Var:
  case TN_TI_SizeVar: return note_use(r, o);
  case TN_TI_For: return define(r, ((tn_For *)o)->loop_var);
  case TN_TI_LetStmt: return define(r, ((tn_LetStmt *)o)->var);
  case TN_TI_Let: return define(r, ((tn_Let *)o)->var);
  case TN_TI_Allocate: return define(r, ((tn_Allocate *)o)->buffer_var);
  case TN_TI_AllocateConst: return define(r, ((tn_AllocateConst *)o)->buffer_var);
  case TN_TI_DeclBuffer: return define(r, ((tn_DeclBuffer *)o)->buffer);
  case TN_TI_CommReducer: {
    const tn_CommReducer *c = (tn_CommReducer *)o;
    for (int64_t i = 0; i < c->lhs->len; ++i) TN_TRY(define(r, tn_arr_obj(c->lhs, i)));
    for (int64_t i = 0; i < c->rhs->len; ++i) TN_TRY(define(r, tn_arr_obj(c->rhs, i)));
    return 0;
  }
  case TN_TI_AttrStmt: {
    const tn_IterVar *axis = TN_AS(IterVar, ((tn_AttrStmt *)o)->node);
    return axis ? define(r, axis->var) : 0;
  }
  case TN_TI_Buffer:
    if (tn_pmap_has(&r->seen, o)) return 0;
    TN_TRY(tn_pmap_put_int(&r->seen, o, 1));
    return tn_vec_push_obj(&r->buffers, o);
  default: return 0;
  }
}

/* Pointers first, then by name. */
static int by_kind_and_name(const void *a, const void *b) {
  const tn_Var *x = (const tn_Var *)((const tn_any *)a)->v.obj,
               *y = (const tn_Var *)((const tn_any *)b)->v.obj;
  bool p = x->dtype.code == kDLOpaqueHandle, q = y->dtype.code == kDLOpaqueHandle;
  return p != q ? (p ? -1 : 1) : strcmp(tn_cstr(x->name), tn_cstr(y->name));
}

static tn_arr *params_of(const region *r) {
  TN_VEC(v);
  for (int64_t i = 0; i < r->used.len; ++i)
    if (!tn_pmap_has(&r->defined, r->used.items[i].v.obj))
      TN_TRYP(tn_vec_push(&v, r->used.items[i]));
  if (v.len > 1) qsort(v.items, (size_t)v.len, sizeof *v.items, by_kind_and_name);
  return tn_arr_from(&v);
}

/* Buffers over memory from outside are declared in the kernel. */
static tn_stmt *with_buffers(const region *r, tn_stmt *body) {
  for (int64_t i = r->buffers.len; body && i-- > 0;) {
    tn_Buffer *b = (tn_Buffer *)r->buffers.items[i].v.obj;
    if (!tn_pmap_has(&r->defined, b) && !tn_pmap_has(&r->defined, b->data))
      body = (tn_stmt *)TN_NEW(DeclBuffer, .buffer = b, .body = body);
  }
  return body;
}

/* ---- kernels ---- */

/* A GlobalVar with a name that the module does not have. */
static tn_GlobalVar *fresh_name(const splitter *s) {
  tn_str *name = tn_str_fmt("%s_kernel", s->prefix);
  for (int i = 1; name && ir_module_find_var(s->out, tn_cstr(name)); ++i)
    name = tn_str_fmt("%s_kernel_%d", s->prefix, i);
  return name ? ir_global_var(tn_cstr(name)) : NULL;
}

/* The kernel has its own variables. */
static tn_arr *renew_params(const tn_arr *params, tn_stmt **body) {
  TN_PMAP(fresh);
  TN_VEC(v);
  for (int64_t i = 0; i < params->len; ++i) {
    const tn_Var *old = (const tn_Var *)tn_arr_obj(params, i);
    tn_Var *var = tir_var_like(old, tn_cstr(old->name));
    if (!var || tn_vec_push_obj(&v, var) || tn_pmap_put(&fresh, old, var)) return NULL;
  }
  TN_GETP(*body, tir_substitute(*body, &fresh));
  return tn_arr_from(&v);
}

static tn_PrimFunc *kernel(const tn_arr *args, tn_stmt *body, tn_obj *target, tn_Type *result) {
  tn_arr *params;
  TN_GETP(params, renew_params(args, &body));
  tn_map *attrs = tn_map_with(NULL, tn_any_cstr("target"), tn_any_obj(target));
  attrs = attrs ? tn_map_with(attrs, tn_any_cstr("tir.noalias"), tn_any_obj(tir_bool(true))) : NULL;
  attrs = attrs ? tn_map_with(attrs, tn_any_cstr("tir.is_global_func"), tn_any_obj(tir_bool(true)))
                : NULL;
  if (!attrs) return NULL;
  return TN_MAKE(PrimFunc, .params = params, .body = body, .ret_type = result,
                 .buffer_map = tn_scope_own(tn_map_new()), .attrs = ir_attrs_new(attrs));
}

/* Where both run on machines of one kind the kernel says whether it failed. */
static tn_stmt *checked_call(tn_GlobalVar *v, tn_arr *args) {
  tn_Var *code = tir_var("kernel_error_code", TN_I32);
  tn_expr *call = (tn_expr *)TN_NEW(Call, .dtype = TN_I32, .op = (tn_BaseExpr *)v, .args = args);
  tn_stmt *check =
      (tn_stmt *)TN_NEW(AssertStmt, .condition = tir_eq((tn_expr *)code, tir_i32(0)),
                        .message = tir_str("Error executing compute kernel"), .body = tir_nop());
  return (tn_stmt *)TN_NEW(LetStmt, .var = code, .value = call, .body = check);
}

static tn_stmt *split(splitter *s, region *r, tn_obj *target, tn_stmt *body) {
  tn_GlobalVar *v;
  tn_arr *params;
  bool checked = !tir_is_gpu(tir_target_device_type(target));
  TN_TRYP(tn_pre_order(body, note_node, r));
  TN_GETP(params, params_of(r));
  TN_GETP(v, fresh_name(s));
  TN_GETP(body, with_buffers(r, body));
  if (checked)
    body = tir_seq2(
        body, (tn_stmt *)TN_NEW(Evaluate, .value = tir_call(TN_I32, TIR_OP_ret, 1, tir_i32(0))));
  tn_Type *nothing = (tn_Type *)TN_NEW(TupleType, .fields = tn_arr_of(0)),
          *code = (tn_Type *)TN_NEW(PrimType, .dtype = TN_I32);
  tn_PrimFunc *f = kernel(params, body, target, checked ? code : nothing);
  if (!f || ir_module_add(s->out, v, (tn_BaseFunc *)f, false)) return NULL;
  if (checked) return checked_call(v, params);
  tn_expr *call = (tn_expr *)TN_NEW(Call, .dtype = TN_VOID, .op = (tn_BaseExpr *)v, .args = params);
  return (tn_stmt *)TN_NEW(Evaluate, .value = call);
}

static void region_fini(region *r) {
  tn_pmap_fini(&r->defined);
  tn_pmap_fini(&r->seen);
  tn_vec_fini(&r->used);
  tn_vec_fini(&r->buffers);
}

static tn_stmt *split_region(tn_mut *m, tn_AttrStmt *op) {
  if (!tn_str_eq(op->attr_key, "target")) return tn_mut_children(m, op);
  __attribute__((cleanup(region_fini))) region r = {0};
  return split(m->ctx, &r, op->node, op->body);
}

tn_IRModule *tir_split_host_device(tn_IRModule *m, const tn_pass_ctx *c) {
  static const tn_mut_case cases[] = {TN_CASE(AttrStmt, split_region)};
  tn_any key, value;
  splitter s;
  bool changed = false;
  (void)c;
  TN_GETP(s.out, ir_module_copy(m));
  for (int64_t i = 0; tn_map_at(m->functions, i, &key, &value); ++i) {
    tn_PrimFunc *f = TN_AS(PrimFunc, value.v.obj);
    if (!f) continue;
    const char *name = ir_attrs_str(f->attrs, "global_symbol");
    s.prefix = name ? name : tn_cstr(((const tn_GlobalVar *)key.v.obj)->name_hint);
    TN_MUT(mut, cases, &s);
    tn_PrimFunc *r = tir_with_body(f, tn_mut_visit(&mut, f->body));
    if (!r || (r != f && ir_module_add(s.out, (tn_GlobalVar *)key.v.obj, (tn_BaseFunc *)r, true)))
      return NULL;
    changed |= r != f;
  }
  return changed ? s.out : m;
}
