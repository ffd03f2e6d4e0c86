/* Blocks become allocations, conditions and attributes; loops of one iteration go.

     with T.block("B"):                         B_1 = T.allocate([8], "float32", "global")
       T.where(i < 7)                           B = T.decl_buffer((8,), data=B_1)
       B = T.alloc_buffer((8,))            ->   if i < 7:
       body                                       body

   Annotations "pragma_..." of blocks and loops become attributes; other annotations of blocks have
   done their work. tir.debug_keep_trivial_loop keeps loops of one iteration. */
#include "tir/transforms/transforms.h"

#include <string.h>

typedef struct {
  tn_pmap unit; /* variable of a loop of one iteration -> its value */
  bool keep_trivial;
} lowerer;

static tn_obj *replace_var(tn_mut *m, tn_obj *v) {
  tn_obj *value = tn_pmap_get(&((lowerer *)m->ctx)->unit, v);
  return value ? value : v;
}

static tn_expr *attr_value(const tn_any *v) {
  if (v->type_index == TN_TI_String) return tir_str(tn_cstr((const tn_str *)v->v.obj));
  return ir_expr_from(v);
}

static bool is_pragma(const tn_map_entry *e) {
  return e->key.type_index == TN_TI_String &&
         strncmp(tn_cstr((const tn_str *)e->key.v.obj), "pragma_", 7) == 0;
}

/* The body under the pragmas among the annotations. */
static tn_stmt *with_pragmas(const tn_map *annotations, tn_obj *node, tn_stmt *body) {
  for (int64_t i = annotations->len; body && i-- > 0;) {
    const tn_map_entry *e = &annotations->entries[i];
    if (!is_pragma(e)) continue;
    body = (tn_stmt *)TN_NEW(AttrStmt, .node = node, .attr_key = (tn_str *)e->key.v.obj,
                             .value = attr_value(&e->value), .body = body);
  }
  return body;
}

static tn_map *without_pragmas(tn_map *annotations) {
  tn_map *rest = annotations;
  for (int64_t i = 0; rest && i < annotations->len; ++i) {
    if (is_pragma(&annotations->entries[i]))
      rest = tn_map_without(rest, annotations->entries[i].key);
  }
  return rest;
}

static tn_stmt *allocate(tn_Buffer *b, tn_stmt *body) {
  tn_stmt *decl = (tn_stmt *)TN_NEW(DeclBuffer, .buffer = b, .body = body);
  return (tn_stmt *)TN_NEW(Allocate, .buffer_var = b->data, .dtype = b->dtype,
                           .extents = tir_allocation_shape(b), .condition = tir_bool(true),
                           .body = decl, .annotations = tn_scope_own(tn_map_new()));
}

static tn_stmt *lower_block(tn_mut *m, tn_BlockRealize *op) {
  tn_Block *b;
  tn_expr *predicate;
  TN_CHECKP(op->iter_values->len == 0, InternalError, op->span,
            "block %s: its iterators must be replaced before it is lowered",
            tn_cstr(op->block->name_hint));
  TN_CHECKP(!op->block->init, InternalError, op->span,
            "block %s: its first value must be lowered before it", tn_cstr(op->block->name_hint));
  TN_GETP(b, tn_mut_visit(m, op->block));
  TN_GETP(predicate, tn_mut_visit(m, op->predicate));
  tn_stmt *body = b->body;
  if (!tir_is_one(predicate))
    body = (tn_stmt *)TN_NEW(IfThenElse, .condition = predicate, .then_case = body);
  body = with_pragmas(b->annotations, (tn_obj *)tir_i32(0), body);
  for (int64_t i = b->alloc_buffers->len; body && i-- > 0;)
    body = allocate((tn_Buffer *)tn_arr_obj(b->alloc_buffers, i), body);
  return body;
}

/* A thread axis: its variable holds within the attribute. */
static tn_stmt *launch(const tn_For *op, tn_expr *min, tn_expr *extent, tn_stmt *body) {
  const char *tag = tn_cstr(op->thread_binding->thread_tag);
  tn_IterVar *axis = tir_iter_var(tir_range(min, extent), op->loop_var, IR_ITER_THREAD_INDEX, tag);
  const char *key = strcmp(tag, "vthread") == 0 || strncmp(tag, "vthread.", 8) == 0
                        ? "virtual_thread"
                        : "thread_extent";
  return (tn_stmt *)TN_NEW(AttrStmt, .node = (tn_obj *)axis, .attr_key = tn_str_from(key),
                           .value = extent, .body = body);
}

static tn_stmt *lower_for(tn_mut *m, tn_For *op) {
  lowerer *x = m->ctx;
  tn_For copy = *op;
  TN_GETP(copy.min, tn_mut_visit(m, op->min));
  TN_GETP(copy.extent, tn_mut_visit(m, op->extent));
  bool thread = op->kind == TIR_FOR_THREAD_BINDING;
  bool trivial =
      tir_is_one(copy.extent) && op->annotations->len == 0 && !thread && !x->keep_trivial;
  if (trivial) {
    tn_expr *v = tir_cast(op->loop_var->dtype, copy.min, NULL);
    if (!v) return NULL;
    TN_TRYP(tn_pmap_put(&x->unit, op->loop_var, v));
  }
  TN_GETP(copy.body, tn_mut_visit(m, op->body));
  if (trivial) return copy.body;
  TN_GETP(copy.annotations, without_pragmas(op->annotations));
  tn_stmt *r = (tn_stmt *)op;
  if (thread) {
    r = launch(op, copy.min, copy.extent, copy.body);
  } else if (copy.body != op->body || copy.annotations != op->annotations || copy.min != op->min ||
             copy.extent != op->extent) {
    r = tn_node_copy(&tn_type_For, &copy);
  }
  return with_pragmas(op->annotations, (tn_obj *)op->loop_var, r);
}

tn_PrimFunc *tir_lower_opaque_block(tn_PrimFunc *f, const tn_pass_ctx *c) {
  static const tn_mut_case cases[] = {TN_CASE(BlockRealize, lower_block), TN_CASE(For, lower_for),
                                      TN_CASE(Var, replace_var), TN_CASE(SizeVar, replace_var),
                                      TIR_REFOLD};
  if (tir_is_legacy(f)) return f;
  lowerer x = {.keep_trivial = ir_config_int(c->node, "tir.debug_keep_trivial_loop", 0) != 0};
  TN_MUT(m, cases, &x);
  tn_stmt *body = tn_mut_visit(&m, f->body);
  tn_pmap_fini(&x.unit);
  return tir_with_body(f, body);
}
