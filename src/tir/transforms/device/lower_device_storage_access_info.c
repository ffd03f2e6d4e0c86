/* Pointers into buffers become addresses of elements.

     T.tvm_access_ptr(T.type_annotation("float32"), A, 8, 16, 1)   ->   T.address_of(A_1[8])

   Of vectors the offset counts vectors. An allocation in memory of which the function
   tvm.info.mem.SCOPE tells something (MemoryInfo) is the address that it gives, or nothing where it
   gives none: the device has taken all uses. Last of the passes, for host and device. */
#include "object/functions.h"
#include "tir/device.h"
#include "tir/transforms/transforms.h"

static tn_expr *address(tn_Var *data, tn_dtype t, tn_expr *offset) {
  tn_dtype scalar = ir_with_lanes(t, 1);
  tn_expr *at = offset;
  if (t.lanes > 1) {
    at = tir_mul(offset, tir_const_int(offset->dtype, t.lanes));
    at = (tn_expr *)TN_MAKE(Ramp, .base = at, .stride = tir_one(offset->dtype),
                            .lanes = tn_dtype_lanes(t));
  }
  tn_Buffer *b = TN_NEW(Buffer, .data = data, .dtype = scalar,
                        .shape = tn_arr_of(1, tir_add(offset, tir_one(offset->dtype))),
                        .axis_separators = tn_arr_of(0), .strides = tn_arr_of(0),
                        .elem_offset = tir_zero(offset->dtype), .name = data->name,
                        .data_alignment = TIR_ALIGNMENT, .offset_factor = 1,
                        .buffer_type = TIR_BUFFER_DEFAULT);
  tn_expr *element = b && at ? tir_load(b, tn_arr_of(1, at)) : NULL;
  return element ? tir_call(TN_HANDLE, TIR_OP_address_of, 1, element) : NULL;
}

static tn_expr *lower_call(tn_mut *m, tn_Call *op) {
  tn_Call *call = tn_mut_children(m, op);
  if (!call || !tir_as_call((tn_obj *)call, TIR_OP_tvm_access_ptr)) return (tn_expr *)call;
  TN_CHECKP(call->args->len == 5, ValueError, call->span,
            "tvm_access_ptr: expected 5 arguments, got %lld", (long long)call->args->len);
  tn_Var *data = (tn_Var *)tn_arr_obj(call->args, 1);
  TN_CHECKP(TN_IS(Var, data), ValueError, call->span,
            "tvm_access_ptr: expected the data pointer of a buffer");
  tn_dtype t = ((tn_expr *)tn_arr_obj(call->args, 0))->dtype;
  return address(data, t, (tn_expr *)tn_arr_obj(call->args, 2));
}

/* ---- memory that the program knows ---- */

int tir_memory_info(const char *scope, const tn_Span *at, tn_MemoryInfo **out) {
  tn_any info = tn_any_none();
  tn_str *name;
  TN_GET(name, tn_str_fmt("tvm.info.mem.%s", scope));
  tn_func *f = tn_scope_own(tn_func_find(tn_cstr(name)));
  if (!f) return 0;
  TN_TRY(tn_func_call(f, NULL, 0, &info));
  tn_obj *o = tn_any_is_obj(&info) ? tn_scope_own(info.v.obj) : NULL;
  TN_CHECK(info.type_index == TN_NONE || TN_IS(MemoryInfo, o), TypeError, at,
           "%s: expected MemoryInfo, got %s", tn_cstr(name),
           tn_type_key((uint32_t)info.type_index));
  *out = (tn_MemoryInfo *)o;
  return 0;
}

static int is_node(void *what, tn_obj *node) { return node == what; }

static tn_obj *drop_declaration(tn_mut *m, tn_DeclBuffer *op) {
  return op->buffer->data == m->ctx ? tn_mut_visit(m, op->body) : tn_mut_children(m, op);
}

/* The body without the declarations of buffers over the memory. */
static tn_stmt *without_memory(const tn_Allocate *op, tn_stmt *body, const char *scope) {
  static const tn_mut_case cases[] = {TN_CASE(DeclBuffer, drop_declaration)};
  TN_MUT(m, cases, op->buffer_var);
  TN_GETP(body, tn_mut_visit(&m, body));
  int used = tn_post_order(body, is_node, op->buffer_var);
  TN_CHECKP(used <= 0, TenonError, op->span,
            "%s: memory %s has no address for the host, which uses it; give head_address in "
            "tvm.info.mem.%s, or use the memory on the device only",
            tn_cstr(op->buffer_var->name), scope, scope);
  return used < 0 ? NULL : body;
}

static tn_stmt *lower_allocate(tn_mut *m, tn_Allocate *op) {
  tn_MemoryInfo *info = NULL;
  const char *scope = tir_var_scope(op->buffer_var);
  TN_TRYP(tir_memory_info(scope, op->span, &info));
  tn_Allocate *r = tn_mut_children(m, op);
  if (!r || !info) return (tn_stmt *)r;
  if (!info->head_address) return without_memory(op, r->body, scope);
  return (tn_stmt *)TN_NEW(LetStmt, .var = op->buffer_var, .value = info->head_address,
                           .body = r->body, .span = op->span);
}

tn_PrimFunc *tir_lower_device_storage_access_info(tn_PrimFunc *f, const tn_pass_ctx *c) {
  static const tn_mut_case cases[] = {TN_CASE(Call, lower_call), TN_CASE(Allocate, lower_allocate)};
  (void)c;
  TN_MUT(m, cases, NULL);
  return tir_with_body(f, tn_mut_visit(&m, f->body));
}
