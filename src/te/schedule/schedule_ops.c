/* A schedule as one statement, and that statement as a function: what te_schedule_to_func does at
   once, in two steps.

     stmt = te.schedule.ScheduleOps(s, bounds)
       T.attr({A.op: [A], B.op: [B]}, "te_buffers", 0, ...)
     func = te.schedule.SchedulePostProcToPrimFunc([A, B], stmt, None)

   The attribute around the statement says in which buffers the results of operations are: all
   inputs, and the results that are wanted. */
#include "ir/functor.h"
#include "ir/module.h"
#include "te/schedule/lower_impl.h"

static const char attr_key[] = "te_buffers";

/* ---- the statement ---- */

/* Inputs of the schedule, then its results. */
static tn_arr *arguments(const tn_TeSchedule *s) {
  TN_VEC(out);
  for (int output = 0; output < 2; ++output) {
    for (int64_t i = 0; i < s->stages->len; ++i) {
      const tn_TeStage *st = te_stage_at(s, i);
      bool input = TN_AS(PlaceholderOp, st->op) && !te_is_scan_state(s, st->op);
      if (output ? !st->is_output : !input) continue;
      if (output && input) continue;
      for (int64_t k = 0; k < te_num_outputs(st->op); ++k)
        if (tn_vec_push_obj(&out, te_output(st->op, k))) return NULL;
    }
  }
  return tn_arr_from(&out);
}

/* Callers know an operation by what it was before caches replaced it. */
static int note_buffers(const tn_TeSchedule *s, const tn_arr *args, const tn_PrimFunc *f,
                        tn_map *out) {
  for (int64_t i = 0; i < args->len;) {
    const tn_Tensor *t = (const tn_Tensor *)tn_arr_obj(args, i);
    TN_VEC(buffers);
    tn_any b, st;
    for (int k = te_num_outputs(t->op); k-- > 0; ++i) {
      TN_ICHECK(tn_map_get(f->buffer_map, tn_any_obj(tn_arr_obj(f->params, i)), &b));
      TN_TRY(tn_vec_push(&buffers, b));
    }
    const tn_arr *list;
    TN_GET(list, tn_arr_from(&buffers));
    TN_TRY(tn_map_set(out, tn_any_obj(t->op), tn_any_obj(list)));
    if (tn_map_get(s->stage_map, tn_any_obj(t->op), &st))
      TN_TRY(
          tn_map_set(out, tn_any_obj(((const tn_TeStage *)st.v.obj)->origin_op), tn_any_obj(list)));
  }
  return 0;
}

tn_stmt *te_schedule_ops(const tn_TeSchedule *s) {
  tn_map *buffers = tn_scope_own(tn_map_new());
  tn_arr *args = arguments(s);
  tn_PrimFunc *f = buffers && args ? te_schedule_to_func(s, args, NULL) : NULL;
  if (!f || note_buffers(s, args, f, buffers)) return NULL;
  return (tn_stmt *)TN_NEW(AttrStmt, .node = (tn_obj *)buffers, .attr_key = tn_str_from(attr_key),
                           .value = tir_i32(0), .body = f->body);
}

/* ---- the function ---- */

typedef struct {
  const tn_map *known; /* Operation -> its buffers; NULL: nothing is said */
  const tn_map *given; /* Tensor -> Buffer, or NULL */
  tn_pmap instead;     /* Buffer, and its pointer -> those that the caller wants */
  tn_pmap used;        /* operations that are among the arguments */
} maker;

static tn_Buffer *given_buffer(const maker *x, const tn_Tensor *t) {
  for (int64_t i = 0; x->given && i < x->given->len; ++i) {
    const tn_map_entry *e = &x->given->entries[i];
    if (te_same_tensor((const tn_Tensor *)e->key.v.obj, t)) return (tn_Buffer *)e->value.v.obj;
  }
  return NULL;
}

static const tn_Tensor *tensor_of(const maker *x, const tn_Buffer *b) {
  for (int64_t i = 0; x->given && i < x->given->len; ++i) {
    const tn_map_entry *e = &x->given->entries[i];
    if (e->value.v.obj == (const tn_obj *)b) return (const tn_Tensor *)e->key.v.obj;
  }
  return NULL;
}

/* The buffer of a tensor; one that the caller gave takes the place of the statement's. */
static tn_Buffer *buffer_of(maker *x, const tn_Tensor *t) {
  tn_any found;
  tn_Buffer *own = NULL, *given = given_buffer(x, t);
  if (x->known && tn_map_get(x->known, tn_any_obj(t->op), &found))
    own = (tn_Buffer *)tn_arr_obj((const tn_arr *)found.v.obj, t->value_index);
  TN_TRYP(tn_pmap_put_int(&x->used, t->op, 1));
  if (own && given && own != given) {
    TN_TRYP(tn_pmap_put(&x->instead, own, given));
    TN_TRYP(tn_pmap_put(&x->instead, own->data, given->data));
  }
  if (own || given) return given ? given : own;
  return tir_buffer(t->shape, t->dtype, tn_cstr(t->op->name), "");
}

static tn_obj *take_instead(tn_mut *m, tn_obj *o) {
  tn_obj *r = tn_pmap_get(&((maker *)m->ctx)->instead, o);
  return r ? r : o;
}

static int add_argument(maker *x, tn_obj *arg, int64_t i, tn_vec *params, tn_map *buffers) {
  const tn_Tensor *t = TN_AS(Tensor, arg), *of;
  tn_Buffer *b = TN_AS(Buffer, arg);
  TN_CHECK(t || b || (arg && TN_IS(Var, arg)), ValueError, NULL,
           "SchedulePostProcToPrimFunc: argument %lld: expected Tensor, Buffer or Var, got %s",
           (long long)i, arg ? tn_obj_key(arg) : "None");
  if (b && (of = tensor_of(x, b))) t = of;
  if (t) TN_GET(b, buffer_of(x, t));
  if (!b) return tn_vec_push_obj(params, arg);
  tn_str *name;
  tn_Var *handle;
  TN_GET(name, tn_str_fmt("var_%s", tn_cstr(b->name)));
  TN_GET(handle, tir_var(name->data, TN_HANDLE));
  TN_TRY(tn_vec_push_obj(params, handle));
  return tn_map_set(buffers, tn_any_obj(handle), tn_any_obj(b));
}

/* What the statement reads and writes must be passed. */
static int check_used(const maker *x) {
  for (int64_t i = 0; x->known && i < x->known->len; ++i) {
    const tn_Operation *op = (const tn_Operation *)x->known->entries[i].key.v.obj;
    const tn_obj *list = x->known->entries[i].value.v.obj;
    bool used = false;
    for (int64_t k = 0; k < x->known->len; ++k) /* under another name, too */
      used |= x->known->entries[k].value.v.obj == list &&
              tn_pmap_get_int(&x->used, x->known->entries[k].key.v.obj, 0);
    TN_CHECK(used, ValueError, NULL,
             "SchedulePostProcToPrimFunc: the statement uses %s, which is not among the arguments",
             tn_cstr(op->name));
  }
  return 0;
}

static void maker_fini(maker *x) {
  tn_pmap_fini(&x->instead);
  tn_pmap_fini(&x->used);
}

tn_PrimFunc *te_stmt_to_func(const tn_arr *args, tn_stmt *body, const tn_map *given) {
  static const tn_mut_case cases[] = {TN_CASE(Buffer, take_instead), TN_CASE(Var, take_instead)};
  __attribute__((cleanup(maker_fini))) maker x = {.given = given};
  const tn_AttrStmt *attr = TN_AS(AttrStmt, body);
  tn_map *buffers = tn_scope_own(tn_map_new());
  TN_VEC(params);
  if (attr && attr->node && attr->node->type_index == TN_TI_Map &&
      tn_str_eq(attr->attr_key, attr_key)) {
    x.known = (const tn_map *)attr->node;
    body = attr->body;
  }
  for (int64_t i = 0; buffers && i < args->len; ++i)
    TN_TRYP(add_argument(&x, tn_arr_obj(args, i), i, &params, buffers));
  TN_TRYP(check_used(&x));
  TN_MUT(m, cases, &x);
  if (x.instead.len) TN_GETP(body, tn_mut_visit(&m, body));
  return buffers ? TN_MAKE(PrimFunc, .params = tn_arr_from(&params), .buffer_map = buffers,
                           .body = body, .attrs = ir_attrs_new(NULL))
                 : NULL;
}

/* ---- the graph of what reads what ---- */

tn_map *te_read_graph(const tn_arr *ops) {
  tn_map *out = tn_scope_own(tn_map_new());
  TN_VEC(tensors);
  for (int64_t i = 0; i < ops->len; ++i)
    TN_TRYP(tn_vec_push_obj(&tensors, te_output((tn_Operation *)tn_arr_obj(ops, i), 0)));
  tn_arr *roots = tn_arr_from(&tensors), *all = roots ? te_post_order(roots) : NULL;
  for (int64_t i = 0; out && all && i < all->len; ++i) {
    const tn_arr *reads;
    TN_GETP(reads, te_inputs((const tn_Operation *)tn_arr_obj(all, i)));
    TN_TRYP(tn_map_set(out, tn_any_obj(tn_arr_obj(all, i)), tn_any_obj(reads)));
  }
  return all ? out : NULL;
}

/* Operations of the graph that `ops` need, inputs before users; it has them in that order. */
static int visit(const tn_map *graph, const tn_Operation *op, tn_pmap *wanted) {
  TN_VEC(stack);
  TN_TRY(tn_vec_push_obj(&stack, op));
  while (stack.len) {
    const tn_obj *at = stack.items[--stack.len].v.obj;
    tn_any reads;
    if (tn_pmap_get_int(wanted, at, 0)) continue;
    TN_TRY(tn_pmap_put_int(wanted, at, 1));
    if (!tn_map_get(graph, tn_any_obj(at), &reads)) continue;
    const tn_arr *list = (const tn_arr *)reads.v.obj;
    for (int64_t i = 0; i < list->len; ++i)
      TN_TRY(tn_vec_push_obj(&stack, ((const tn_Tensor *)tn_arr_obj(list, i))->op));
  }
  return 0;
}

tn_arr *te_graph_order(const tn_arr *ops, const tn_map *graph) {
  TN_PMAP(wanted);
  TN_VEC(out);
  for (int64_t i = 0; i < ops->len; ++i)
    TN_TRYP(visit(graph, (const tn_Operation *)tn_arr_obj(ops, i), &wanted));
  for (int64_t i = 0; i < graph->len; ++i)
    if (tn_pmap_get_int(&wanted, graph->entries[i].key.v.obj, 0))
      TN_TRYP(tn_vec_push_obj(&out, graph->entries[i].key.v.obj));
  return tn_arr_from(&out);
}
