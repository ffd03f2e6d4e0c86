/* Shape programs: extents of a kernel's results from those of its arguments, by the shape functions
   of its operators one after another.

     fn (%p0: Tensor[(?, 8)], %p1: Tensor[(4, 8)], Primitive=1) {
       repeat(nn.dense(%p0, %p1), repeats=4, axis=0)
     }
   =>
     def shape_func(shape0: int64[2], result0: int64[2]): result0 = [shape0[0] * 4, 4]

   Extents that are known, or those of an argument as here those of nn.dense, need no program: the
   instruction make_shape puts them together.

   An extent of more than a few nodes is computed once and has a name from then on: what operators
   one after another make of an extent would grow with each, and what they take for granted repeats
   it. */
#include <inttypes.h>

#include "arith/analyzer.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/pmap.h"
#include "base/scope.h"
#include "relay/memory/kernel_shapes.h"
#include "ir/expr.h"
#include "ir/functor.h"
#include "ir/module.h"
#include "object/dtype.h"
#include "relay/op.h"
#include "te/build.h"

/* A tensor among the arguments of the kernel. */
typedef struct {
  tn_arr *extents;   /* numbers and variables */
  tn_Tensor *shape;  /* its shape as an argument, made when it is needed */
  tn_Tensor *values; /* the same for its elements */
  tn_TensorType *type;
} argument;

typedef struct {
  argument *args;
  int64_t nargs;
  tn_pmap shapes; /* expression, or id of a variable -> Array of extents of each tensor */
  tn_pmap first;  /* id of a parameter -> number of its first tensor */
  tn_vec taken;   /* conditions that the operators take for granted, owned */
  tn_vec named;   /* variables and the extents they stand for, in turn */
} shapes;

/* ---- arguments ---- */

/* Extents that are not known are separate variables. */
static tn_arr *variables(const tn_TensorType *t) {
  TN_VEC(v);
  for (int64_t i = 0; i < t->shape->len; ++i) {
    tn_expr *e = relay_dim(t, i);
    int64_t known;
    if (tir_as_int((tn_obj *)e, &known)) e = tir_int(TN_I64, known);
    else TN_GETP(e, (tn_expr *)TN_MAKE(SizeVar, .name = tn_str_from("n"), .dtype = TN_I64));
    TN_TRYP(tn_vec_push_obj(&v, e));
  }
  return tn_arr_from(&v);
}

static int add_param(shapes *s, const tn_RelayVar *var) {
  TN_VEC(types);
  TN_VEC(all);
  const tn_Type *t = relay_type_of(var);
  TN_TRY(kernel_flat_types(t ? t : var->type_annotation, &types));
  TN_TRY(tn_pmap_put_int(&s->first, var->vid, s->nargs));
  for (int64_t i = 0; i < types.len; ++i) {
    argument *a = &s->args[s->nargs++];
    a->type = (tn_TensorType *)types.items[i].v.obj;
    TN_GET(a->extents, variables(a->type));
    TN_TRY(tn_vec_push_obj(&all, a->extents));
  }
  return tn_pmap_put(&s->shapes, var->vid, tn_arr_from(&all));
}

static int add_constant(shapes *s, const tn_Constant *c) {
  const DLTensor *dl = tn_tensor_dl(c->data);
  TN_VEC(extents);
  for (int32_t i = 0; i < dl->ndim; ++i)
    TN_TRY(tn_vec_push_obj(&extents, tir_int(TN_I64, dl->shape[i])));
  return tn_pmap_put(&s->shapes, c, tn_arr_of(1, tn_arr_from(&extents)));
}

/* ---- expressions ---- */

static const tn_arr *shapes_of(const shapes *s, const void *e) {
  const tn_RelayVar *v = TN_AS(RelayVar, e);
  return tn_pmap_get(&s->shapes, v ? (const void *)v->vid : e);
}

static int append(const shapes *s, const void *e, tn_vec *out) {
  const tn_arr *a = shapes_of(s, e);
  TN_CHECK(a, ValueError, NULL, "relay.vm: a shape that is not known, of %s", tn_obj_key(e));
  for (int64_t i = 0; i < a->len; ++i) TN_TRY(tn_vec_push(out, a->items[i]));
  return 0;
}

/* The elements of an argument of the kernel, for shape functions that read values. */
static tn_Tensor *values_of(shapes *s, const void *e) {
  const tn_RelayVar *v = TN_AS(RelayVar, e);
  int64_t i = v ? tn_pmap_get_int(&s->first, v->vid, -1) : -1;
  TN_CHECKP(i >= 0 && shapes_of(s, e)->len == 1, ValueError, NULL,
            "relay.vm: extents depend on values that the same kernel computes");
  argument *a = &s->args[i];
  if (!a->values) TN_GETP(a->values, te_placeholder(a->extents, a->type->dtype, "values"));
  return a->values;
}

/* The element of a tensor without axes. */
static tn_expr *whole(void *ctx, tn_arr *at) {
  (void)at;
  return ctx;
}

/* The same, also of a scalar that is part of the kernel. */
static void *values_or_constant(shapes *s, const void *e) {
  const tn_Constant *c = TN_AS(Constant, e);
  int64_t number;
  double x;
  if (!c) return values_of(s, e);
  tn_dtype t = tn_tensor_dl(c->data)->dtype;
  tn_expr *value = NULL;
  if (relay_as_int(c, &number)) value = tir_int(t, number);
  else if (relay_as_scalar(c, &x)) value = tir_float(t, x);
  TN_CHECKP(value, ValueError, NULL, "relay.vm: extents depend on a constant that is not a scalar");
  return te_compute(tn_arr_of(0), whole, value, "constant", TE_BROADCAST);
}

static tn_arr *values_for(shapes *s, const tn_RelayCall *c, uint32_t mask) {
  TN_VEC(v);
  for (int64_t i = 0; i < c->args->len; ++i) {
    void *value = NULL;
    if (i < 32 && mask >> i & 1) TN_GETP(value, values_or_constant(s, relay_arg(c, i)));
    TN_TRYP(tn_vec_push_obj(&v, value));
  }
  return tn_arr_from(&v);
}

/* ---- names ---- */

enum { MAX_NODES = 16 };

/* The extent, or a variable that stands for it where it is large: the same for the same one. */
static tn_obj *with_name(shapes *s, tn_obj *e) {
  tn_vec *all = &s->named;
  if (!tir_is_larger((tn_expr *)e, MAX_NODES)) return e;
  for (int64_t i = 0; i < all->len; i += 2)
    if (arith_same((tn_expr *)all->items[i + 1].v.obj, (tn_expr *)e)) return all->items[i].v.obj;
  tn_SizeVar *v;
  TN_GETP(v, TN_MAKE(SizeVar, .name = tn_str_from("extent"), .dtype = ((tn_expr *)e)->dtype));
  if (tn_vec_push_obj(all, v) || tn_vec_push_obj(all, e)) return NULL;
  return (tn_obj *)v;
}

static tn_arr *with_names(shapes *s, const tn_arr *results) {
  TN_VEC(all);
  for (int64_t i = 0; i < results->len; ++i) {
    const tn_arr *extents = (const tn_arr *)tn_arr_obj(results, i);
    TN_VEC(own);
    for (int64_t k = 0; k < extents->len; ++k)
      TN_TRYP(tn_vec_push_obj(&own, with_name(s, tn_arr_obj(extents, k))));
    TN_TRYP(tn_vec_push_obj(&all, tn_arr_from(&own)));
  }
  return tn_arr_from(&all);
}

static int add_call(shapes *s, const tn_RelayCall *c) {
  const tn_Op *op = TN_AS(Op, c->op);
  const relay_op_row *row = relay_op_row_of((const tn_obj *)op);
  TN_VEC(types);
  TN_VEC(given);
  tn_arr *values = NULL, *result;
  TN_CHECK(op, ValueError, c->span, "relay.vm: a call of %s in a kernel", tn_obj_key(c->op));
  for (int64_t i = 0; i < c->args->len; ++i) {
    TN_TRY(tn_vec_push_obj(&types, relay_type_of(relay_arg(c, i))));
    TN_TRY(append(s, relay_arg(c, i), &given));
  }
  if (row && row->data_mask && row->shape) TN_GET(values, values_for(s, c, row->data_mask));
  relay_collect_conditions(&s->taken);
  result = relay_op_shapes(op, c->attrs, tn_arr_from(&types), tn_arr_from(&given), values,
                           relay_type_of(c));
  relay_collect_conditions(NULL);
  TN_GET(result, result);
  return tn_pmap_put(&s->shapes, c, with_names(s, result));
}

static int add_tuple(shapes *s, const tn_RelayTuple *t) {
  TN_VEC(all);
  for (int64_t i = 0; i < t->fields->len; ++i) TN_TRY(append(s, tn_arr_obj(t->fields, i), &all));
  return tn_pmap_put(&s->shapes, t, tn_arr_from(&all));
}

static int add_get_item(shapes *s, const tn_TupleGetItem *e) {
  const tn_TupleType *type = TN_AS(TupleType, relay_type_of(e->tuple_value));
  TN_VEC(all);
  TN_VEC(own);
  int64_t from = 0;
  TN_TRY(append(s, e->tuple_value, &all));
  TN_CHECK(type && e->index < type->fields->len, ValueError, e->span,
           "field of what is not a tuple");
  for (int64_t i = 0; i < e->index; ++i)
    from += relay_count_tensors((const tn_Type *)tn_arr_obj(type->fields, i));
  int64_t n = relay_count_tensors((const tn_Type *)tn_arr_obj(type->fields, e->index));
  for (int64_t i = from; i < from + n && i < all.len; ++i) TN_TRY(tn_vec_push(&own, all.items[i]));
  return tn_pmap_put(&s->shapes, e, tn_arr_from(&own));
}

static int visit(void *ctx, tn_obj *node) {
  shapes *s = ctx;
  switch (node->type_index) {
  case TN_TI_RelayCall: return add_call(s, (const tn_RelayCall *)node);
  case TN_TI_RelayTuple: return add_tuple(s, (const tn_RelayTuple *)node);
  case TN_TI_TupleGetItem: return add_get_item(s, (const tn_TupleGetItem *)node);
  case TN_TI_Constant: return add_constant(s, (const tn_Constant *)node);
  default: return 0;
  }
}

/* ---- the program ---- */

typedef struct {
  shapes *s;
  tn_pmap uses; /* variable -> element of a shape argument */
} reading;

static tn_expr *as_read(reading *r, const void *e);

/* A variable that stands for an extent: its own tensor. */
static int use_name(reading *r, const tn_obj *node) {
  const tn_vec *all = &r->s->named;
  for (int64_t i = 0; i < all->len; i += 2) {
    if (all->items[i].v.obj != node) continue;
    tn_expr *e;
    tn_Tensor *t;
    TN_GET(e, as_read(r, all->items[i + 1].v.obj));
    TN_GET(t, te_compute(tn_arr_of(0), whole, e, "extent", TE_INJECTIVE));
    return tn_pmap_put(&r->uses, node, te_at(t, tn_arr_of(0)));
  }
  return 0;
}

/* Variables become elements of the shapes that the program is given. */
static int use_variable(void *ctx, tn_obj *node) {
  reading *r = ctx;
  if (!TN_AS(SizeVar, node) || tn_pmap_has(&r->uses, node)) return 0;
  for (int64_t i = 0; i < r->s->nargs; ++i) {
    argument *a = &r->s->args[i];
    for (int64_t k = 0; k < a->extents->len; ++k) {
      if (tn_arr_obj(a->extents, k) != node) continue;
      if (a->values) return 0; /* the buffer of its values says what it is */
      tn_expr *ndim = tir_int(TN_I64, a->extents->len);
      if (!a->shape) TN_GET(a->shape, te_placeholder(tn_arr_of(1, ndim), TN_I64, "shape"));
      return tn_pmap_put(&r->uses, node, te_at_of(a->shape, 1, tir_int(TN_I64, k)));
    }
  }
  return use_name(r, node);
}

typedef struct {
  const tn_arr *extents;
} extent_list;

static tn_expr *extent_at(void *ctx, tn_arr *at) {
  const extent_list *l = ctx;
  tn_expr *i = te_index(at, 0), *e = (tn_expr *)tn_arr_obj(l->extents, l->extents->len - 1);
  for (int64_t k = l->extents->len - 2; k >= 0; --k)
    e = tir_select(tir_eq(i, tir_const_int(i->dtype, k)), (tn_expr *)tn_arr_obj(l->extents, k), e,
                   NULL);
  return e;
}

/* An expression as the program computes it. */
static tn_expr *as_read(reading *r, const void *e) {
  TN_TRYP(tn_post_order(e, use_variable, r));
  return tir_substitute(e, &r->uses);
}

/* 1 where all conditions hold. */
static tn_Tensor *fit_tensor(reading *r) {
  tn_expr *all = NULL;
  for (int64_t i = 0; i < r->s->taken.len; ++i) {
    tn_expr *e;
    TN_GETP(e, as_read(r, r->s->taken.items[i].v.obj));
    all = all ? tir_and(all, e) : e;
  }
  return te_compute(tn_arr_of(0), whole, tir_cast(TN_I64, all, NULL), "fit", TE_INJECTIVE);
}

static tn_Tensor *result_tensor(reading *r, const tn_arr *extents) {
  TN_VEC(v);
  for (int64_t i = 0; i < extents->len; ++i) {
    TN_TRYP(tn_vec_push_obj(&v, as_read(r, tn_arr_obj(extents, i))));
  }
  tn_arr *all;
  TN_GETP(all, tn_arr_from(&v));
  extent_list l = {all};
  tn_arr *shape = tn_arr_of(1, tir_int(TN_I64, extents->len));
  return te_compute(shape, extent_at, &l, "result", TE_INJECTIVE);
}

static bool same_extents(const tn_arr *a, const tn_arr *b) {
  if (a->len != b->len) return false;
  for (int64_t i = 0; i < a->len; ++i)
    if (relay_dim_equal((tn_expr *)tn_arr_obj(a, i), (tn_expr *)tn_arr_obj(b, i)) != 1)
      return false;
  return true;
}

static int32_t same_as(const shapes *s, const tn_arr *extents) {
  for (int64_t i = 0; i < s->nargs; ++i)
    if (same_extents(s->args[i].extents, extents)) return (int32_t)i;
  return -1;
}

static bool is_static(const tn_arr *extents) {
  int64_t n;
  for (int64_t i = 0; i < extents->len; ++i)
    if (!tir_as_int(tn_arr_obj(extents, i), &n)) return false;
  return true;
}

/* Where an extent is that of an argument: -1 - (64 * argument + axis); 0: nowhere. */
static int64_t place_of(const shapes *s, const tn_obj *extent) {
  for (int64_t i = 0; i < s->nargs; ++i)
    for (int64_t k = 0; k < s->args[i].extents->len; ++k)
      if (tn_arr_obj(s->args[i].extents, k) == extent) return -1 - (TN_VM_MAX_NDIM * i + k);
  return 0;
}

/* All extents where they are known or those of arguments. */
static kernel_places places_of(const shapes *s, const tn_arr *extents) {
  kernel_places r = {.n = extents->len <= KERNEL_MAX_PLACES ? (int)extents->len : -1};
  for (int i = 0; i < r.n; ++i) {
    const tn_obj *e = tn_arr_obj(extents, i);
    if (!tir_as_int(e, &r.at[i]) && (r.at[i] = place_of(s, e)) == 0) r.n = -1;
  }
  return r;
}

/* An extent as make_shape has it. False: it must be computed. */
static bool number_of(const shapes *s, const tn_obj *e, int64_t *out) {
  const tn_Cast *cast = TN_AS(Cast, e);
  if (cast) e = (const tn_obj *)cast->value;
  return tir_as_int(e, out) ? *out >= 0 : (*out = place_of(s, e)) != 0;
}

/* Conditions as pairs of extents. False: some are more than that. */
static bool as_pairs(const shapes *s, kernel_shapes *known) {
  known->npair = 0;
  for (int64_t i = 0; i < s->taken.len; ++i) {
    const tn_EQ *eq = TN_AS(EQ, s->taken.items[i].v.obj);
    int64_t *pair = known->pairs + 2 * known->npair;
    if (!eq || known->npair == KERNEL_MAX_PAIRS || !number_of(s, (const tn_obj *)eq->a, &pair[0]) ||
        !number_of(s, (const tn_obj *)eq->b, &pair[1]))
      return known->npair = 0, false;
    ++known->npair;
  }
  return true;
}

/* @param types of the results: those that are known need no program */
static int add_results(reading *r, const tn_arr *results, const tn_vec *types, kernel_shapes *known,
                       tn_vec *out) {
  for (int64_t i = 0; i < results->len; ++i) {
    const tn_arr *extents = (const tn_arr *)tn_arr_obj(results, i);
    known->same[i] = -1;
    if (known->places) known->places[i] = places_of(r->s, extents);
    if (relay_is_static((const tn_Type *)types->items[i].v.obj)) continue;
    if (!is_static(extents)) known->same[i] = same_as(r->s, extents);
    if (known->same[i] >= 0 || (known->places && known->places[i].n >= 0)) continue;
    TN_TRY(tn_vec_push_obj(out, result_tensor(r, extents)));
  }
  return 0;
}

static tn_PrimFunc *make_program(shapes *s, const tn_RelayFunction *kernel, kernel_shapes *known) {
  TN_VEC(results);
  TN_VEC(types);
  TN_VEC(all);
  reading r = {.s = s};
  const tn_arr *found;
  TN_TRYP(tn_post_order(kernel->body, visit, s));
  found = shapes_of(s, kernel->body);
  const tn_Type *t = relay_type_of(kernel->body);
  TN_TRYP(kernel_flat_types(t ? t : kernel->ret_type, &types));
  TN_CHECKP(found && found->len == types.len, ValueError, NULL,
            "relay.vm: shapes of results that are not known");
  bool pairs = known->places && !known->no_pairs && as_pairs(s, known);
  known->checks = !pairs && s->taken.len > 0;
  int err = add_results(&r, found, &types, known, &results) ||
            (known->checks && tn_vec_push_obj(&results, fit_tensor(&r)));
  tn_pmap_fini(&r.uses);
  if (err) return NULL;
  for (int64_t i = 0; i < s->nargs; ++i) {
    const argument *a = &s->args[i];
    tn_Tensor *arg = a->values ? a->values : a->shape;
    known->reads[i] = a->values  ? KERNEL_READS_VALUES
                      : a->shape ? KERNEL_READS_SHAPE
                                 : KERNEL_READS_NOTHING;
    if (arg) TN_TRYP(tn_vec_push_obj(&all, arg));
  }
  for (int64_t i = 0; i < results.len; ++i) TN_TRYP(tn_vec_push(&all, results.items[i]));
  return te_create_prim_func(tn_arr_from(&all));
}

static tn_PrimFunc *shape_program(shapes *s, const tn_RelayFunction *kernel, kernel_shapes *known) {
  int64_t n = 0;
  for (int64_t i = 0; i < kernel->params->len; ++i) {
    const tn_RelayVar *v = (const tn_RelayVar *)tn_arr_obj(kernel->params, i);
    const tn_Type *t = relay_type_of(v);
    n += relay_count_tensors(t ? t : v->type_annotation);
  }
  TN_GETP(s->args, tn_alloc_zero((size_t)n + 1, sizeof *s->args));
  for (int64_t i = 0; i < kernel->params->len; ++i)
    TN_TRYP(add_param(s, (const tn_RelayVar *)tn_arr_obj(kernel->params, i)));
  return make_program(s, kernel, known);
}

tn_PrimFunc *kernel_shape_program(const tn_RelayFunction *kernel, kernel_shapes *out) {
  TN_SCOPE(scope);
  shapes s = {0};
  tn_PrimFunc *p = shape_program(&s, kernel, out);
  tn_pmap_fini(&s.shapes);
  tn_pmap_fini(&s.first);
  for (int64_t i = 0; i < s.taken.len; ++i) tn_release(s.taken.items[i].v.obj);
  tn_vec_fini(&s.taken);
  tn_vec_fini(&s.named);
  tn_free(s.args);
  return tn_scope_return(scope, p);
}

int kernel_shapes_init(kernel_shapes *s, const tn_RelayFunction *kernel, int64_t inputs,
                       int64_t outputs) {
  *s = (kernel_shapes){.no_pairs = kernel_reshaped(kernel) >= 0};
  TN_GET(s->reads, tn_alloc_zero((size_t)inputs + 1, sizeof *s->reads));
  TN_GET(s->same, tn_alloc_zero((size_t)outputs + 1, sizeof *s->same));
  TN_GET(s->places, tn_alloc_zero((size_t)outputs + 1, sizeof *s->places));
  return 0;
}

void kernel_shapes_fini(kernel_shapes *s) {
  tn_free(s->reads);
  tn_free(s->same);
  tn_free(s->places);
}
