/* Functions that callers reach by name take the data pointers of their tensors and return an error
   code: the plain C interface of microcontroller code.

     def f(A: T.Buffer((8,))):                  def f(A: T.handle("float32")) -> T.int32:
       body                                ->     body
                                                  return 0

   The target is the host's from here on. Nothing is checked, so extents, strides and offsets that
   are variables must be parameters. Calls of such functions in the module give an error code, and
   pass the data pointer of what was made a tensor for them. */
#include "ir/module.h"
#include "tir/transforms/calls/packed_impl.h"

static tn_arr *data_params(const tn_PrimFunc *f) {
  TN_VEC(v);
  for (int64_t i = 0; i < f->params->len; ++i) {
    tn_any b;
    const tn_obj *p = tn_arr_obj(f->params, i);
    if (tn_map_get(f->buffer_map, f->params->items[i], &b))
      p = (const tn_obj *)((const tn_Buffer *)b.v.obj)->data;
    TN_TRYP(tn_vec_push_obj(&v, p));
  }
  return tn_arr_from(&v);
}

static int is_allocate(void *ctx, tn_obj *node) {
  (void)ctx;
  return TN_IS(Allocate, node);
}

/* Arguments are on the device, and so is what the body allocates; a function with neither has none.
 */
static bool has_device(const tn_PrimFunc *f) {
  return tn_map_len(f->buffer_map) || tn_post_order(f->body, is_allocate, NULL);
}

static tn_stmt *on_device(int device_type, tn_stmt *body) {
  tn_obj *node = (tn_obj *)tn_str_from("default");
  body = (tn_stmt *)TN_NEW(AttrStmt, .node = node, .attr_key = tn_str_from("device_type"),
                           .value = tir_i32(device_type), .body = body);
  return (tn_stmt *)TN_NEW(AttrStmt, .node = node, .attr_key = tn_str_from("device_id"),
                           .value = tir_i32(0), .body = body);
}

static bool is_exposed(const tn_PrimFunc *f) {
  const tn_obj *conv = tir_func_attr(f, "calling_conv");
  return ir_attrs_str(f->attrs, "global_symbol") && (!conv || tir_is_zero(conv));
}

/* ---- calls ---- */

/* The function of the module that is called, if others reach it too. */
static const tn_PrimFunc *called(const tn_IRModule *m, const tn_Call *op) {
  tn_any f;
  if (!TN_IS(GlobalVar, op->op) || !tn_map_get(m->functions, tn_any_obj(op->op), &f)) return NULL;
  const tn_PrimFunc *p = TN_AS(PrimFunc, f.v.obj);
  return p && is_exposed(p) && p->params->len == op->args->len ? p : NULL;
}

static tn_obj *expose_call(tn_mut *m, tn_Call *op) {
  const tn_PrimFunc *f = called(m->ctx, op);
  tn_Call *r = tn_mut_children(m, op);
  if (!f || !r) return (tn_obj *)r;
  tn_Call copy = *r;
  TN_VEC(args);
  for (int64_t i = 0; i < r->args->len; ++i) {
    tn_obj *e = tn_arr_obj(r->args, i);
    const tn_Call *made = tir_as_call(e, TIR_OP_tvm_stack_make_array);
    tn_any b;
    bool tensor = made && tn_map_get(f->buffer_map, f->params->items[i], &b);
    TN_TRYP(tn_vec_push_obj(&args, tensor ? tn_arr_obj(made->args, 0) : e));
  }
  TN_GETP(copy.args, tn_arr_from(&args));
  copy.dtype = TN_I32;
  return tn_node_copy(&tn_type_Call, &copy);
}

static tn_PrimFunc *with_exposed_calls(tn_IRModule *m, tn_PrimFunc *f) {
  static const tn_mut_case cases[] = {TN_CASE(Call, expose_call)};
  TN_MUT(mut, cases, m);
  return tir_with_body(f, tn_mut_visit(&mut, f->body));
}

/* ---- functions ---- */

static tn_PrimFunc *expose(tn_PrimFunc *f) {
  const char *name = ir_attrs_str(f->attrs, "global_symbol");
  const tn_obj *target = tir_func_attr(f, "target");
  TN_CHECKP(target, TenonError, f->span,
            "MakeUnpackedAPI required the function %s to be annotated with the attribute target: "
            "run tir.BindTarget first",
            name);
  tn_PrimFunc copy = *f;
  tn_stmt *done = (tn_stmt *)TN_NEW(Evaluate, .value = tir_call(TN_I32, TIR_OP_ret, 1, tir_i32(0)));
  tn_stmt *body = tir_seq2(f->body, done);
  if (body && has_device(f)) body = on_device(tir_target_device_type(target), body);
  TN_GETP(copy.body, body);
  TN_GETP(copy.params, data_params(f));
  TN_GETP(copy.buffer_map, tn_scope_own(tn_map_new()));
  TN_GETP(copy.ret_type, (tn_Type *)TN_NEW(PrimType, .dtype = TN_I32));
  f = tn_node_copy(&tn_type_PrimFunc, &copy);
  tn_obj *host = tir_target_host(target);
  return f && host ? tir_with_attr(f, "target", host) : f;
}

tn_IRModule *tir_make_unpacked_api(tn_IRModule *m, const tn_pass_ctx *c) {
  tn_map *changed = m->functions;
  (void)c;
  for (int64_t i = 0; i < m->functions->len; ++i) {
    const tn_map_entry *e = &m->functions->entries[i];
    tn_PrimFunc *f = TN_AS(PrimFunc, e->value.v.obj), *r;
    if (!f) continue;
    TN_GETP(r, with_exposed_calls(m, f));
    if (is_exposed(f)) TN_GETP(r, expose(r));
    if (r != f) TN_GETP(changed, tn_map_with(changed, e->key, tn_any_obj(r)));
  }
  return changed == m->functions ? m : ir_module_with_functions(m, changed);
}
