/* Memory that a function allocates and that is too large for the stack becomes part of a workspace
   that the caller gives, behind the other parameters. How many bytes that takes is the attribute
   "workspace_bytes"; functions that need none stay as they are.

     def f(A: T.Buffer((8,))):                def f(A: T.Buffer((8,)), workspace: T.handle("uint8")):
       B = T.allocate([512], "float32")   ->    B = T.handle_add_byte_offset(workspace, 0)
       ...                                      ...

   Allocations around each other lie behind each other, those beside each other share memory: no
   plan is better. Extents must be constant; all iterations of a loop use the same memory, so run
   tir.ConvertForLoopsToSerial first. */
#include <string.h>

#include "ir/module.h"
#include "tir/transforms/transforms.h"

typedef struct {
  tn_Var *memory;
  int64_t now, most, align;
} workspace;

/* Bytes of an allocation that does not stay on the stack, else 0. */
static int64_t bytes_to_take(const tn_Allocate *op) {
  const tn_PointerType *t = TN_AS(PointerType, op->buffer_var->type_annotation);
  const char *scope = t && t->storage_scope->len ? tn_cstr(t->storage_scope) : "global";
  int64_t bytes = tn_dtype_bytes(op->dtype, 1), n;
  if (strcmp(scope, "global") != 0) return 0;
  for (int64_t i = 0; i < op->extents->len; ++i)
    if (!tir_as_int(tn_arr_obj(op->extents, i), &n) || n < 0 ||
        __builtin_mul_overflow(bytes, n, &bytes))
      return 0;
  return bytes >= TIR_STACK_BYTES ? bytes : 0;
}

static tn_stmt *take(tn_mut *m, tn_Allocate *op) {
  workspace *w = m->ctx;
  int64_t bytes = bytes_to_take(op), begin = w->now;
  if (!bytes) return tn_mut_children(m, op);
  w->now += (bytes + w->align - 1) / w->align * w->align;
  if (w->now > w->most) w->most = w->now;
  tn_stmt *body = tn_mut_visit(m, op->body);
  w->now = begin;
  tn_expr *place = tir_call(TN_HANDLE, TIR_OP_handle_add_byte_offset, 2, w->memory, tir_i64(begin));
  return (tn_stmt *)TN_NEW(LetStmt, .var = op->buffer_var, .value = place, .body = body);
}

tn_PrimFunc *tir_workspace_to_parameter(tn_PrimFunc *f, const tn_pass_ctx *c) {
  static const tn_mut_case cases[] = {TN_CASE(Allocate, take)};
  workspace w = {.align = 16};
  TN_CHECKP(c->nargs <= 1, TypeError, NULL,
            "tir.WorkspaceToParameter: expected nothing or an alignment in bytes");
  if (c->nargs) TN_TRYP(tn_any_to_int(&c->args[0], &w.align));
  TN_CHECKP(w.align > 0 && (w.align & (w.align - 1)) == 0, ValueError, NULL,
            "tir.WorkspaceToParameter: expected an alignment that is a power of two, got %lld",
            (long long)w.align);
  TN_GETP(w.memory, tir_pointer_var("workspace", tn_dtype_of(kDLUInt, 8, 1), "global"));
  TN_MUT(m, cases, &w);
  tn_PrimFunc copy = *f;
  TN_GETP(copy.body, tn_mut_visit(&m, f->body));
  if (!w.most) return f;
  TN_VEC(params);
  for (int64_t i = 0; i < f->params->len; ++i) TN_TRYP(tn_vec_push(&params, f->params->items[i]));
  TN_TRYP(tn_vec_push_obj(&params, w.memory));
  TN_GETP(copy.params, tn_arr_from(&params));
  tn_PrimFunc *r = tn_node_copy(&tn_type_PrimFunc, &copy);
  return r ? tir_with_attr(r, "workspace_bytes", (tn_obj *)tir_i64(w.most)) : NULL;
}
