/* Every variable is bound in one place only, as it is not after a loop body was written out several
   times: later bindings get their own variables.

     for i in range(4): ... i ...               for i in range(4): ... i ...
     for i in range(8): ... i ...          ->   for i_1 in range(8): ... i_1 ...

   Functions of a module that share variables get their own variables as well. */
#include "ir/module.h"
#include "tir/transforms/transforms.h"

typedef struct {
  tn_pmap bound; /* variables that were bound so far */
  tn_pmap now;   /* variable, or buffer that a block allocates -> what stands for it here */
} renamer;

static tn_obj *use_var(tn_mut *m, tn_obj *v) {
  tn_obj *r = tn_pmap_get(&((renamer *)m->ctx)->now, v);
  return r ? r : v;
}

/* The variable for a binding of `v` that begins; *outer is what stood for it before. */
static tn_Var *begin(tn_mut *m, tn_Var *v, tn_Var **outer) {
  renamer *x = m->ctx;
  tn_Var *r = v;
  *outer = tn_pmap_get(&x->now, v);
  if (tn_pmap_has(&x->bound, v)) {
    TN_GETP(r, tir_var_like(v, tn_cstr(v->name)));
    tn_mut_forget(m); /* buffers over the old variable */
  }
  TN_TRYP(tn_pmap_put_int(&x->bound, v, 1));
  TN_TRYP(tn_pmap_put(&x->now, v, r));
  return r;
}

static int end(tn_mut *m, const tn_Var *v, const tn_Var *r, const tn_Var *outer) {
  if (r != v) tn_mut_forget(m);
  return tn_pmap_put(&((renamer *)m->ctx)->now, v, outer);
}

/* Rewrites a node whose variable is bound in `body`, after the operands outside it. */
#define BINDING(T, VAR, OUTSIDE)                                                                   \
  tn_##T copy = *op;                                                                               \
  tn_Var *outer;                                                                                   \
  OUTSIDE;                                                                                         \
  TN_GETP(copy.VAR, begin(m, op->VAR, &outer));                                                    \
  TN_GETP(copy.body, tn_mut_visit(m, op->body));                                                   \
  TN_TRYP(end(m, op->VAR, copy.VAR, outer))

static tn_obj *bind_for(tn_mut *m, tn_For *op) {
  BINDING(For, loop_var, TN_GETP(copy.min, tn_mut_visit(m, op->min));
          TN_GETP(copy.extent, tn_mut_visit(m, op->extent)));
  bool same = copy.loop_var == op->loop_var && copy.body == op->body && copy.min == op->min &&
              copy.extent == op->extent;
  return same ? (tn_obj *)op : tn_node_copy(&tn_type_For, &copy);
}
static tn_obj *bind_let(tn_mut *m, tn_LetStmt *op) {
  BINDING(LetStmt, var, TN_GETP(copy.value, tn_mut_visit(m, op->value)));
  bool same = copy.var == op->var && copy.body == op->body && copy.value == op->value;
  return same ? (tn_obj *)op : tn_node_copy(&tn_type_LetStmt, &copy);
}
static tn_obj *bind_let_expr(tn_mut *m, tn_Let *op) {
  BINDING(Let, var, TN_GETP(copy.value, tn_mut_visit(m, op->value)));
  bool same = copy.var == op->var && copy.body == op->body && copy.value == op->value;
  return same ? (tn_obj *)op : tn_node_copy(&tn_type_Let, &copy);
}
static tn_obj *bind_allocate(tn_mut *m, tn_Allocate *op) {
  BINDING(Allocate, buffer_var, TN_GETP(copy.extents, tn_mut_visit(m, op->extents));
          TN_GETP(copy.condition, tn_mut_visit(m, op->condition)));
  bool same = copy.buffer_var == op->buffer_var && copy.body == op->body &&
              copy.extents == op->extents && copy.condition == op->condition;
  return same ? (tn_obj *)op : tn_node_copy(&tn_type_Allocate, &copy);
}

/* Buffers of a block that allocates them a second time are separate buffers. *outer: what stood
   for them before. */
static int begin_buffers(tn_mut *m, const tn_arr *buffers, tn_vec *outer) {
  renamer *x = m->ctx;
  for (int64_t i = 0; i < buffers->len; ++i) {
    const tn_Buffer *b = (const tn_Buffer *)tn_arr_obj(buffers, i);
    bool again = tn_pmap_has(&x->bound, b->data);
    tn_Var *old;
    tn_Buffer copy = *b, *r;
    TN_TRY(tn_vec_push_obj(outer, tn_pmap_get(&x->now, b)));
    TN_GET(copy.data, begin(m, b->data, &old));
    TN_TRY(tn_vec_push_obj(outer, old));
    if (!again) continue;
    TN_GET(copy.shape, tn_mut_visit(m, b->shape));
    TN_GET(r, tn_node_copy(&tn_type_Buffer, &copy));
    TN_TRY(tn_pmap_put(&x->now, b, r));
  }
  return 0;
}

static int end_buffers(tn_mut *m, const tn_arr *buffers, const tn_vec *outer) {
  renamer *x = m->ctx;
  tn_mut_forget(m);
  for (int64_t i = 0; i < buffers->len; ++i) {
    const tn_Buffer *b = (const tn_Buffer *)tn_arr_obj(buffers, i);
    TN_TRY(tn_pmap_put(&x->now, b, outer->items[2 * i].v.obj));
    TN_TRY(tn_pmap_put(&x->now, b->data, outer->items[2 * i + 1].v.obj));
  }
  return 0;
}

static tn_obj *bind_block(tn_mut *m, tn_Block *op) {
  TN_VEC(outer);
  tn_obj *r;
  if (op->alloc_buffers->len == 0) return tn_mut_children(m, op);
  TN_TRYP(begin_buffers(m, op->alloc_buffers, &outer));
  TN_GETP(r, tn_mut_children(m, op));
  TN_TRYP(end_buffers(m, op->alloc_buffers, &outer));
  return r;
}

static tn_obj *use_buffer(tn_mut *m, tn_obj *b) {
  tn_obj *r = tn_pmap_get(&((renamer *)m->ctx)->now, b);
  return r ? r : tn_mut_children(m, b);
}

/* ---- functions ---- */

static const tn_mut_case cases[] = {TN_CASE(For, bind_for),      TN_CASE(LetStmt, bind_let),
                                    TN_CASE(Let, bind_let_expr), TN_CASE(Allocate, bind_allocate),
                                    TN_CASE(Var, use_var),       TN_CASE(SizeVar, use_var),
                                    TN_CASE(Block, bind_block),  TN_CASE(Buffer, use_buffer)};

tn_PrimFunc *tir_convert_ssa(tn_PrimFunc *f, const tn_pass_ctx *c) {
  (void)c;
  renamer x = {0};
  TN_MUT(m, cases, &x);
  tn_stmt *body = tn_mut_visit(&m, f->body);
  tn_pmap_fini(&x.bound);
  tn_pmap_fini(&x.now);
  return tir_with_body(f, body);
}

/* A variable that the signature binds. */
static int begin_once(tn_mut *m, const void *v) {
  renamer *x = m->ctx;
  tn_Var *outer;
  if (!v || (!TN_AS(Var, v) && !TN_AS(SizeVar, v)) || tn_pmap_get(&x->now, v)) return 0;
  return begin(m, (tn_Var *)(uintptr_t)v, &outer) ? 0 : -1;
}

static int begin_all(tn_mut *m, const tn_arr *list) {
  for (int64_t i = 0; i < list->len; ++i) TN_TRY(begin_once(m, tn_arr_obj(list, i)));
  return 0;
}

/* Parameters, and what buffers bind: their pointer, and variables as extents. */
static int begin_signature(tn_mut *m, const tn_PrimFunc *f) {
  TN_TRY(begin_all(m, f->params));
  for (int64_t i = 0; i < f->buffer_map->len; ++i) {
    const tn_Buffer *b = (const tn_Buffer *)f->buffer_map->entries[i].value.v.obj;
    TN_TRY(begin_once(m, b->data));
    TN_TRY(begin_all(m, b->shape));
    TN_TRY(begin_all(m, b->strides));
    TN_TRY(begin_once(m, b->elem_offset));
  }
  return 0;
}

/* The function, whose variables are not those of the functions before it. */
static tn_PrimFunc *apart(tn_mut *m, tn_PrimFunc *f) {
  renamer *x = m->ctx;
  tn_PrimFunc copy = *f;
  TN_TRYP(begin_signature(m, f));
  TN_GETP(copy.params, tn_mut_visit(m, f->params));
  TN_GETP(copy.buffer_map, tn_mut_visit(m, f->buffer_map));
  TN_GETP(copy.body, tn_mut_visit(m, f->body));
  tn_pmap_fini(&x->now);
  x->now = (tn_pmap){0};
  tn_mut_forget(m);
  bool same = copy.params == f->params && copy.buffer_map == f->buffer_map && copy.body == f->body;
  return same ? f : tn_node_copy(&tn_type_PrimFunc, &copy);
}

tn_IRModule *tir_convert_ssa_module(tn_IRModule *mod, const tn_pass_ctx *c) {
  (void)c;
  renamer x = {0};
  TN_MUT(m, cases, &x);
  tn_map *functions = mod->functions;
  for (int64_t i = 0; functions && i < mod->functions->len; ++i) {
    const tn_map_entry *e = &mod->functions->entries[i];
    tn_PrimFunc *f = TN_AS(PrimFunc, e->value.v.obj), *r = f ? apart(&m, f) : NULL;
    if (f && r != f) functions = r ? tn_map_with(functions, e->key, tn_any_obj(r)) : NULL;
  }
  tn_pmap_fini(&x.bound);
  tn_pmap_fini(&x.now);
  if (!functions) return NULL;
  return functions == mod->functions ? mod : ir_module_with_functions(mod, functions);
}
