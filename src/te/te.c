/* Nodes of tensor expressions: checks, results, inputs. */
#include "te/hybrid_text.h"
#include "te/region.h"
#include "te/te_impl.h"

#include "base/pmap.h"
#include "ir/expr.h"
#include "ir/functor.h"
#include "object/functions.h"
#include "object/repr.h"
#include "tir/transforms/transforms.h"
#include "tenon/object.h"

/* ---- checks ---- */

static int find_reduce(void *ctx, tn_obj *o) {
  (void)ctx;
  if (o->type_index == TN_TI_Reduce) return 1;
  return TN_IS(PrimExpr, o) || o->type_index == TN_TI_Array
             ? tn_visit_children(o, find_reduce, NULL)
             : 0;
}

static int check_element(const tn_ComputeOp *op, const tn_obj *e, const tn_Reduce *first) {
  const tn_Reduce *r = TN_AS(Reduce, e);
  const char *name = tn_cstr(op->name);
  TN_CHECK(TN_IS(PrimExpr, e), TypeError, NULL, "compute %s: expected an expression, got %s", name,
           tn_obj_key(e));
  if (!r) {
    TN_CHECK(!first, TenonError, NULL,
             "compute %s: all results of a reduction must come from the same Reduce", name);
    TN_CHECK(!find_reduce(NULL, (tn_obj *)(uintptr_t)e), TenonError, NULL,
             "Reductions are only allowed at the top level of compute. Please create another "
             "tensor for further composition (compute %s)",
             name);
    return 0;
  }
  TN_CHECK(r->combiner && r->condition, TenonError, r->span,
           "compute %s: a reduction needs a combiner and a condition", name);
  for (int64_t i = 0; i < r->source->len; ++i) {
    TN_CHECK(!find_reduce(NULL, tn_arr_obj(r->source, i)), TenonError, NULL,
             "Reductions are only allowed at the top level of compute. Please create another "
             "tensor for further composition (compute %s)",
             name);
  }
  TN_CHECK(first && r->combiner == first->combiner && r->source == first->source &&
               r->axis == first->axis,
           TenonError, NULL,
           "compute %s: all results of a reduction must come from the same Reduce", name);
  return 0;
}

static int init_compute(tn_obj *self) {
  tn_ComputeOp *op = (tn_ComputeOp *)self;
  TN_CHECK(op->body->len > 0, ValueError, NULL, "compute %s: nothing is computed",
           tn_cstr(op->name));
  const tn_Reduce *first = TN_AS(Reduce, tn_arr_obj(op->body, 0));
  for (int64_t i = 0; i < op->body->len; ++i)
    TN_TRY(check_element(op, tn_arr_obj(op->body, i), first));
  if (!first) return 0;
  tn_any axes = tn_any_obj(first->axis);
  return tn_field_set(self, tn_type_field(&tn_type_ComputeOp, "reduce_axis"), &axes);
}

static int init_extern(tn_obj *self) {
  tn_ExternOp *op = (tn_ExternOp *)self;
  const char *name = tn_cstr(op->name);
  TN_CHECK(op->inputs->len == op->input_placeholders->len, ValueError, NULL,
           "extern %s: expected %lld input buffers, got %lld", name, (long long)op->inputs->len,
           (long long)op->input_placeholders->len);
  for (int64_t i = 0; i < op->inputs->len; ++i) {
    const tn_Tensor *t = TN_AS(Tensor, tn_arr_obj(op->inputs, i));
    const tn_Buffer *b = TN_AS(Buffer, tn_arr_obj(op->input_placeholders, i));
    TN_CHECK(t && b, TypeError, NULL, "extern %s: input %lld: expected a Tensor and a Buffer", name,
             (long long)i);
    TN_CHECK(tn_dtype_eq(t->dtype, b->dtype) && t->shape->len == b->shape->len, ValueError, NULL,
             "extern %s: input %lld: the buffer has another type or shape than the tensor", name,
             (long long)i);
  }
  return 0;
}

static int init_placeholder(tn_obj *self) {
  const tn_PlaceholderOp *op = (const tn_PlaceholderOp *)self;
  return tir_check_extents(op->shape, tn_cstr(op->name), NULL);
}

static const tn_type_hooks placeholder_hooks = {.init = init_placeholder},
                           compute_hooks = {.init = init_compute},
                           extern_hooks = {.init = init_extern},
                           scan_hooks = {.init = te_init_scan},
                           intrin_hooks = {.init = te_init_intrin};

TN_NODES_DEFINE(TN_TE_NODES, te_types)

/* ---- results ---- */

int te_num_outputs(const tn_Operation *op) {
  const tn_ComputeOp *c = TN_AS(ComputeOp, op);
  const tn_ExternOp *e = TN_AS(ExternOp, op);
  const tn_ScanOp *s = TN_AS(ScanOp, op);
  const tn_TensorComputeOp *r = TN_AS(TensorComputeOp, op);
  if (s) return (int)s->update->len;
  if (r) return te_num_outputs(r->intrin->op);
  return c ? (int)c->body->len : e ? (int)e->output_placeholders->len : 1;
}

tn_dtype te_output_dtype(const tn_Operation *op, int64_t i) {
  const tn_ComputeOp *c = TN_AS(ComputeOp, op);
  const tn_ExternOp *e = TN_AS(ExternOp, op);
  if (c) return ((const tn_expr *)tn_arr_obj(c->body, i))->dtype;
  if (e) return ((const tn_Buffer *)tn_arr_obj(e->output_placeholders, i))->dtype;
  const tn_ScanOp *s = TN_AS(ScanOp, op);
  if (s) return ((const tn_Tensor *)tn_arr_obj(s->update, i))->dtype;
  const tn_TensorComputeOp *r = TN_AS(TensorComputeOp, op);
  if (r) return te_output_dtype(r->intrin->op, i);
  return ((const tn_PlaceholderOp *)op)->dtype;
}

tn_arr *te_output_shape(const tn_Operation *op, int64_t i) {
  const tn_BaseComputeOp *c = te_axes_op(op);
  const tn_ExternOp *e = TN_AS(ExternOp, op);
  const tn_ScanOp *s = TN_AS(ScanOp, op);
  TN_VEC(out);
  if (e) return ((const tn_Buffer *)tn_arr_obj(e->output_placeholders, i))->shape;
  if (s) return ((const tn_Tensor *)tn_arr_obj(s->state_placeholder, i))->shape;
  if (!c) return ((const tn_PlaceholderOp *)op)->shape;
  for (int64_t k = 0; k < c->axis->len; ++k) {
    TN_TRYP(tn_vec_push_obj(&out, ((const tn_IterVar *)tn_arr_obj(c->axis, k))->dom->extent));
  }
  return tn_arr_from(&out);
}

tn_Tensor *te_output(tn_Operation *op, int64_t i) {
  TN_CHECKP(i >= 0 && i < te_num_outputs(op), IndexError, NULL,
            "operation %s has %d results: result %lld is out of range", tn_cstr(op->name),
            te_num_outputs(op), (long long)i);
  return TN_NEW(Tensor, .shape = te_output_shape(op, i), .dtype = te_output_dtype(op, i), .op = op,
                .value_index = i);
}

bool te_same_tensor(const tn_Tensor *a, const tn_Tensor *b) {
  return a == b || (a && b && a->op == b->op && a->value_index == b->value_index);
}

/* ---- inputs ---- */

static int add_once(tn_vec *out, tn_Tensor *t) {
  for (int64_t i = 0; i < out->len; ++i) {
    if (te_same_tensor((const tn_Tensor *)out->items[i].v.obj, t)) return 0;
  }
  return tn_vec_push_obj(out, t);
}

static int find_loads(void *ctx, tn_obj *o) {
  const tn_ProducerLoad *load = TN_AS(ProducerLoad, o);
  const tn_Tensor *t = load ? TN_AS(Tensor, load->producer) : NULL;
  if (t && add_once(ctx, (tn_Tensor *)(uintptr_t)t)) return -1;
  if (o->type_index == TN_TI_Tensor) return 0;
  return tn_visit_children(o, find_loads, ctx);
}

tn_arr *te_inputs(const tn_Operation *op) {
  TN_VEC(out);
  const tn_ComputeOp *c = TN_AS(ComputeOp, op);
  const tn_ExternOp *e = TN_AS(ExternOp, op);
  const tn_ScanOp *s = TN_AS(ScanOp, op);
  if (e) return e->inputs;
  const tn_TensorComputeOp *r = TN_AS(TensorComputeOp, op);
  for (int64_t i = 0; r && i < r->inputs->len; ++i)
    if (add_once(&out, (tn_Tensor *)tn_arr_obj(r->inputs, i))) return NULL;
  for (int64_t i = 0; s && i < s->init->len; ++i)
    if (add_once(&out, (tn_Tensor *)tn_arr_obj(s->init, i))) return NULL;
  for (int64_t i = 0; s && i < s->update->len; ++i)
    if (add_once(&out, (tn_Tensor *)tn_arr_obj(s->update, i))) return NULL;
  const tn_arr *reads[] = {c ? c->body : NULL, r ? r->input_regions : NULL,
                           r ? r->scalar_inputs : NULL};
  for (int i = 0; i < TN_COUNT(reads); ++i)
    if (reads[i] && find_loads(&out, (tn_obj *)(uintptr_t)reads[i])) return NULL;
  return tn_arr_from(&out);
}

/* Iterative: chains of operations may be long. `state` holds 1 while an operation's inputs are
 * being visited, 2 after. */
static int visit_from(tn_Operation *root, tn_pmap *state, tn_vec *out) {
  TN_VEC(stack);
  TN_TRY(tn_vec_push_obj(&stack, root));
  while (stack.len) {
    tn_Operation *op = (tn_Operation *)stack.items[stack.len - 1].v.obj;
    int64_t seen = tn_pmap_get_int(state, op, 0);
    if (seen) {
      stack.len--;
      if (seen == 1 && (tn_vec_push_obj(out, op) || tn_pmap_put_int(state, op, 2))) return -1;
      continue;
    }
    TN_TRY(tn_pmap_put_int(state, op, 1));
    tn_arr *inputs = te_inputs(op);
    for (int64_t i = inputs ? inputs->len : 0; i-- > 0;) {
      tn_Operation *in = ((tn_Tensor *)tn_arr_obj(inputs, i))->op;
      if (!tn_pmap_get_int(state, in, 0)) TN_TRY(tn_vec_push_obj(&stack, in));
    }
    if (!inputs) return -1;
  }
  return 0;
}

tn_arr *te_post_order(const tn_arr *tensors) {
  TN_VEC(out);
  TN_PMAP(state);
  for (int64_t i = 0; i < tensors->len; ++i) {
    const tn_Tensor *t = TN_AS(Tensor, tn_arr_obj(tensors, i));
    if (t) TN_TRYP(visit_from(t->op, &state, &out));
  }
  return tn_arr_from(&out);
}

/* ---- functions for Python ---- */

static int f_output(TN_ARGS) {
  int64_t i;
  TN_NARGS("te.OpGetOutput", 2);
  TN_ARG_OBJ(Operation, op, 0);
  TN_TRY(tn_any_to_int(&args[1], &i));
  return tn_ret_obj(ret, te_output(op, i));
}

static int f_num_outputs(TN_ARGS) {
  TN_NARGS("te.OpNumOutputs", 1);
  TN_ARG_OBJ(Operation, op, 0);
  *ret = tn_any_int(te_num_outputs(op));
  return 0;
}

static int f_inputs(TN_ARGS) {
  TN_NARGS("te.OpInputTensors", 1);
  TN_ARG_OBJ(Operation, op, 0);
  return tn_ret_obj(ret, te_inputs(op));
}

/* (tensors, type of indices or None) -> PrimFunc */
static int f_create_prim_func(TN_ARGS) {
  tn_dtype index;
  TN_NARGS("te.CreatePrimFunc", 2);
  TN_ARG_OBJ(Array, tensors, 0);
  tn_PrimFunc *f = te_create_prim_func(tensors);
  if (f && args[1].type_index != TN_NONE) {
    TN_TRY(tn_any_to_dtype(&args[1], &index));
    f = tir_with_index_type(f, index);
  }
  return tn_ret_obj(ret, f);
}

/* (output, inputs, head or None) -> gradients */
static int f_gradient(TN_ARGS) {
  TN_NARGS("te.Gradient", 3);
  TN_ARG_OBJ(Tensor, output, 0);
  TN_ARG_ITEMS(Array(Tensor), inputs, 1);
  TN_ARG_OPT(Tensor, head, 2);
  return tn_ret_obj(ret, te_gradient(output, inputs, head));
}

/* (program of a schedule, number of its inputs, name) -> text of hybrid script */
static int f_hybrid_text(TN_ARGS) {
  int64_t ninputs;
  const char *name;
  TN_NARGS("te.hybrid.Text", 3);
  TN_ARG_OBJ(PrimFunc, f, 0);
  TN_TRY(tn_any_to_int(&args[1], &ninputs));
  TN_TRY(tn_any_to_cstr(&args[2], &name));
  return tn_ret_obj(ret, te_hybrid_text(f, ninputs, name));
}

/* A zero-dimensional tensor is its element where an expression is expected. */
static tn_expr *as_expr(tn_obj *o) {
  tn_Tensor *t = (tn_Tensor *)o;
  TN_CHECKP(t->shape->len == 0, ValueError, NULL,
            "tensor %s has %lld dimensions: write which element is meant", tn_cstr(t->op->name),
            (long long)t->shape->len);
  return (tn_expr *)TN_NEW(ProducerLoad, .dtype = t->dtype, .producer = (tn_DataProducer *)t,
                           .indices = tn_arr_of(0));
}

static const tn_func_row functions[] = {
    {"te.OpGetOutput", f_output},    {"te.OpNumOutputs", f_num_outputs},
    {"te.OpInputTensors", f_inputs}, {"te.CreatePrimFunc", f_create_prim_func},
    {"te.Gradient", f_gradient},     {"te.hybrid.Text", f_hybrid_text},
};

/* ---- how tensors and operations are shown ---- */

/* Tensor(shape=[4, 4], op.name=A) */
static int repr_tensor(tn_repr *r, const tn_obj *o) {
  const tn_Tensor *t = (const tn_Tensor *)o;
  tn_buf_puts(tn_repr_out(r), "Tensor(shape=");
  TN_TRY(tn_repr_any(r, tn_any_obj(t->shape)));
  tn_buf_printf(tn_repr_out(r), ", op.name=%s)", tn_cstr(t->op->name));
  return 0;
}

static int repr_placeholder(tn_repr *r, const tn_obj *o) {
  const tn_PlaceholderOp *op = (const tn_PlaceholderOp *)o;
  tn_buf_printf(tn_repr_out(r), "placeholder(%s, shape=", tn_cstr(op->name));
  TN_TRY(tn_repr_any(r, tn_any_obj(op->shape)));
  tn_buf_printf(tn_repr_out(r), ", dtype=%s)", TN_DT(op->dtype));
  return 0;
}

/* compute(C, body=[A[i] + B[i]], axis=[...], reduce_axis=[], tag=, attrs={}) */
static int repr_compute(tn_repr *r, const tn_obj *o) {
  const tn_ComputeOp *op = (const tn_ComputeOp *)o;
  tn_buf *out = tn_repr_out(r);
  tn_buf_printf(out, "compute(%s, body=", tn_cstr(op->name));
  TN_TRY(tn_repr_any(r, tn_any_obj(op->body)));
  tn_buf_puts(out, ", axis=");
  TN_TRY(tn_repr_any(r, tn_any_obj(op->axis)));
  tn_buf_puts(out, ", reduce_axis=");
  TN_TRY(tn_repr_any(r, tn_any_obj(op->reduce_axis)));
  tn_buf_printf(out, ", tag=%s, attrs=", tn_cstr(op->tag));
  TN_TRY(tn_repr_any(r, tn_any_obj(op->attrs)));
  tn_buf_putc(out, ')');
  return 0;
}

int te_nodes_init(void) {
  TN_TRY(tn_type_register_table(te_types, TN_COUNT(te_types)));
  tn_functor_leaf(&tn_type_Tensor, true);
  TN_TRY(tn_repr_set(&tn_type_Tensor, repr_tensor));
  TN_TRY(tn_repr_set(&tn_type_PlaceholderOp, repr_placeholder));
  TN_TRY(tn_repr_set(&tn_type_ComputeOp, repr_compute));
  ir_set_expr_from(TN_TI_Tensor, as_expr);
  return tn_func_register_rows(functions, TN_COUNT(functions));
}
