/* In which memory the arguments and results of a function lie, by the types of the relay function
   that it computes: tensors of tuples are separate parameters.

     def main(A: T.Buffer((8,), scope="sram"), B: ...)   with  (Tensor) -> Tensor
   =>
     ["sram", ""]

   "" stands for memory "global", which constrains nothing. */
#include <string.h>

#include "ir/expr.h"
#include "ir/functor.h"
#include "object/functions.h"
#include "tir/analysis.h"
#include "tir/tir_impl.h"

typedef struct {
  const tn_PrimFunc *f;
  int64_t next; /* parameter */
} params;

/* The buffer of the next parameter that points to one, or NULL with an error. */
static tn_Buffer *next_buffer(params *p) {
  while (p->next < p->f->params->len) {
    tn_any b, param = p->f->params->items[p->next++];
    if (tn_map_get(p->f->buffer_map, param, &b)) return (tn_Buffer *)b.v.obj;
  }
  return TN_RAISEP(
      ValueError, p->f->span,
      "memory constraints: the function has fewer buffers than its relay type tensors");
}

/* The buffers of all tensors of a type, in order. */
static int buffers_of(params *p, const tn_obj *type, tn_vec *out) {
  const tn_TupleType *t = TN_AS(TupleType, type);
  tn_Buffer *b;
  for (int64_t i = 0; t && i < t->fields->len; ++i)
    TN_TRY(buffers_of(p, tn_arr_obj(t->fields, i), out));
  if (t) return 0;
  TN_GET(b, next_buffer(p));
  return tn_vec_push_obj(out, b);
}

static const char *scope_of(const tn_Buffer *b) {
  const char *scope = tir_buffer_scope(b);
  return strcmp(scope, "global") == 0 ? "" : scope;
}

/* Argument i of the type, or its result. */
static tn_obj *part(const tn_FuncType *type, int64_t i) {
  return i < type->arg_types->len ? tn_arr_obj(type->arg_types, i) : (tn_obj *)type->ret_type;
}

/* (PrimFunc, FuncType) -> memory of each argument, then of the result */
static int get_constraints(TN_ARGS) {
  TN_NARGS("get_prim_func_arg_and_result_memory_constraints", 2);
  TN_ARG_OBJ(PrimFunc, f, 0);
  TN_ARG_OBJ(FuncType, type, 1);
  params p = {.f = f};
  TN_VEC(scopes);
  for (int64_t i = 0; i <= type->arg_types->len; ++i) {
    TN_VEC(buffers);
    const char *scope = "";
    TN_TRY(buffers_of(&p, part(type, i), &buffers));
    for (int64_t k = 0; k < buffers.len; ++k) {
      const tn_Buffer *b = (const tn_Buffer *)buffers.items[k].v.obj;
      const char *own = scope_of(b);
      TN_CHECK(!*scope || !*own || strcmp(scope, own) == 0, ValueError, b->span,
               "memory constraints: tensors of one tuple lie in memory \"%s\" and \"%s\"", scope,
               own);
      if (*own) scope = own;
    }
    TN_TRY(tn_vec_push_obj(&scopes, tn_str_from(scope)));
  }
  return tn_ret_obj(ret, tn_arr_from(&scopes));
}

/* ---- applying them ---- */

static tn_obj *use_var(tn_mut *m, tn_Var *v) {
  tn_obj *r = tn_pmap_get(m->ctx, v);
  return r ? r : (tn_obj *)v;
}

static tn_map *use_buffers(tn_mut *m, const tn_map *old) {
  tn_map *r = tn_scope_own(tn_map_new());
  tn_any k, v;
  for (int64_t i = 0; r && tn_map_at(old, i, &k, &v); ++i) {
    tn_obj *b = tn_mut_visit(m, v.v.obj);
    if (!b || tn_map_set(r, k, tn_any_obj(b))) return NULL;
  }
  return r;
}

/* The buffers of one part get pointers into the memory. */
static int constrain(const tn_vec *buffers, const char *scope, tn_pmap *vars) {
  for (int64_t i = 0; *scope && i < buffers->len; ++i) {
    const tn_Buffer *b = (const tn_Buffer *)buffers->items[i].v.obj;
    const char *own = scope_of(b);
    TN_CHECK(!*own || strcmp(own, scope) == 0, ValueError, b->span,
             "memory constraints: buffer %s lies in memory \"%s\" already, not in \"%s\"",
             tn_cstr(b->name), own, scope);
    const tn_PointerType *t = TN_AS(PointerType, b->data->type_annotation);
    const tn_PrimType *element = t ? TN_AS(PrimType, t->element_type) : NULL;
    tn_Var *v = tir_pointer_var(tn_cstr(b->data->name), element ? element->dtype : b->dtype, scope);
    if (!v || tn_pmap_put(vars, b->data, v)) return -1;
  }
  return 0;
}

static int collect(const tn_PrimFunc *f, const tn_FuncType *type, const tn_arr *scopes,
                   tn_pmap *vars) {
  params p = {.f = f};
  for (int64_t i = 0; i <= type->arg_types->len; ++i) {
    TN_VEC(buffers);
    const char *scope;
    TN_TRY(tn_any_to_cstr(&scopes->items[i], &scope));
    TN_TRY(buffers_of(&p, part(type, i), &buffers));
    TN_TRY(constrain(&buffers, scope, vars));
  }
  return 0;
}

/* (PrimFunc, FuncType, memory of each argument and of the result) -> PrimFunc */
static int apply_constraints(TN_ARGS) {
  static const tn_mut_case cases[] = {TN_CASE(Var, use_var)};
  TN_NARGS("apply_prim_func_arg_and_result_memory_constraints", 3);
  TN_ARG_OBJ(PrimFunc, f, 0);
  TN_ARG_OBJ(FuncType, type, 1);
  TN_ARG_ITEMS(Array(String), scopes, 2);
  TN_CHECK(scopes->len == type->arg_types->len + 1, ValueError, NULL,
           "memory constraints: expected %lld scopes, of the arguments and the result, got %lld",
           (long long)type->arg_types->len + 1, (long long)scopes->len);
  tn_pmap vars = {0};
  TN_MUT(m, cases, &vars);
  tn_PrimFunc copy = *f;
  int err = collect(f, type, scopes, &vars);
  if (!err) err = (copy.buffer_map = use_buffers(&m, f->buffer_map)) ? 0 : -1;
  if (!err) err = (copy.body = tn_mut_visit(&m, f->body)) ? 0 : -1;
  tn_pmap_fini(&vars);
  return err ? -1 : tn_ret_obj(ret, tn_node_copy(&tn_type_PrimFunc, &copy));
}

static const tn_func_row rows[] = {
    {"tir.analysis.GetPrimFuncArgAndResultMemoryConstraints", get_constraints},
    {"tir.analysis.ApplyPrimFuncArgAndResultMemoryConstraints", apply_constraints},
};

int memory_constraints_init(void) { return tn_func_register_rows(rows, TN_COUNT(rows)); }
