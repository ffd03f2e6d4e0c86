/* Carrying layouts through a function (see relay/layouts.h): what AlterOpLayout and ConvertLayout
   share.

   Every result is kept in the layout it had before, so that the program is right at every moment: a
   call that works in another layout is followed by a layout_transform back,

     %1 = layout_transform(nn.conv2d(...), NCHW16c -> NCHW);  nn.relu(%1)

   and a call whose argument is such a transform is asked whether it works on what is below it. If
   so, it does and is followed by the transform instead; the first one is used by nobody any more.

     %1 = layout_transform(nn.relu(nn.conv2d(...)), NCHW16c -> NCHW) */
#include "base/error.h"
#include "base/scope.h"
#include "relay/infer.h"
#include "relay/layouts.h"
#include "relay/transforms/transforms.h"
#include "tenon/object.h"

typedef struct {
  relay_choose_fn choose;
  void *ctx;
  tn_pmap back;   /* transforms back to the layout of before; each retained */
  tn_pmap copies; /* expression -> retained Array of its transforms, each made once */
} carrying;

static void carrying_fini(carrying *c) {
  for (size_t i = 0; i < c->back.cap; ++i) tn_release(c->back.slots[i].key);
  for (size_t i = 0; i < c->copies.cap; ++i)
    tn_release(c->copies.slots[i].key ? c->copies.slots[i].v.ptr : NULL);
  tn_pmap_fini(&c->back);
  tn_pmap_fini(&c->copies);
}

/* ---- transforms ---- */

static tn_Layout *layout_attr(const tn_RelayCall *c, const char *name) {
  return tir_layout(relay_attr_str(c->attrs, name), TN_I32);
}

static bool has_layout(const tn_RelayCall *c, const char *name, const tn_Layout *l) {
  return strcmp(relay_attr_str(c->attrs, name), tn_cstr(l->name)) == 0;
}

/* The transform of `e` if there is one already. Results of a case do not outlive it, so the list is
 * retained. */
static tn_obj *find_copy(const carrying *c, const void *e, const tn_Layout *from,
                         const tn_Layout *to) {
  const tn_arr *list = tn_pmap_get(&c->copies, e);
  for (int64_t i = 0; list && i < list->len; ++i) {
    const tn_RelayCall *t = (const tn_RelayCall *)tn_arr_obj(list, i);
    if (has_layout(t, "src_layout", from) && has_layout(t, "dst_layout", to))
      return tn_arr_obj(list, i);
  }
  return NULL;
}

static int keep_copy(carrying *c, const void *e, tn_obj *copy) {
  tn_arr *known = tn_pmap_get(&c->copies, e), *longer;
  TN_VEC(list);
  for (int64_t i = 0; known && i < known->len; ++i) TN_TRY(tn_vec_push(&list, known->items[i]));
  TN_TRY(tn_vec_push_obj(&list, copy));
  TN_GET(longer, tn_arr_from(&list));
  TN_TRY(tn_pmap_put(&c->copies, e, longer));
  tn_retain(longer);
  tn_release(known);
  return 0;
}

/* Axes of `to` that `from` lacks, put before it with extent 1. */
static void *add_axes(void *e, tn_Layout **from, const tn_Layout *to) {
  TN_BUF(text);
  int64_t n = 0;
  for (int64_t i = 0; i < to->axes->len; ++i) {
    char letter = tir_layout_axis(to, i);
    if (letter < 'A' || letter > 'Z' || tir_layout_index(*from, letter) >= 0) continue;
    tn_buf_printf(&text, "%c", letter);
    ++n;
  }
  if (n == 0) return e;
  tn_buf_printf(&text, "%s", tn_cstr((*from)->name));
  TN_TRYP(tn_buf_ok(&text));
  TN_GETP(*from, tir_layout(tn_buf_cstr(&text), TN_I32));
  void *attrs = relay_attrs("expand_dims", 2, "axis", tn_any_int(0), "num_newaxis", tn_any_int(n));
  return relay_call("expand_dims", attrs, 1, e);
}

/* `e`, of layout `from`, in layout `to`; transforms that lead to each other become one. */
static void *transform(carrying *c, void *e, tn_Layout *from, tn_Layout *to) {
  tn_RelayCall *below;
  while ((below = relay_as_call(e, "layout_transform")) && has_layout(below, "dst_layout", from)) {
    e = relay_arg(below, 0);
    TN_GETP(from, layout_attr(below, "src_layout"));
  }
  TN_GETP(e, add_axes(e, &from, to));
  if (relay_layout_equal(from, to)) return e;
  tn_obj *copy = find_copy(c, e, from, to);
  if (copy) return copy;
  void *attrs = relay_attrs("layout_transform", 2, "src_layout", tn_any_obj(from->name),
                            "dst_layout", tn_any_obj(to->name));
  TN_GETP(copy, relay_call("layout_transform", attrs, 1, e));
  TN_TRYP(keep_copy(c, e, copy));
  return copy;
}

/* A result in the layout of before. */
static void *transform_back(carrying *c, void *e, tn_Layout *from, tn_Layout *to) {
  if (!from || !to || relay_layout_equal(from, to)) return e;
  TN_GETP(e, transform(c, e, from, to));
  if (tn_pmap_has(&c->back, e)) return e;
  TN_TRYP(tn_pmap_put_int(&c->back, e, 1));
  tn_retain(e);
  return e;
}

/* ---- arguments ---- */

/* The tensors among the arguments of a call. */
typedef struct {
  tn_vec values;        /* RelayExpr */
  tn_vec types;         /* TensorType */
  tn_vec before, given; /* Layout or None */
  bool any_given;
} leaves;

static void leaves_fini(leaves *l) {
  tn_vec_fini(&l->values);
  tn_vec_fini(&l->types);
  tn_vec_fini(&l->before);
  tn_vec_fini(&l->given);
}
#define LEAVES(name) __attribute__((cleanup(leaves_fini))) leaves name = {0}

static int add_leaf(const carrying *c, leaves *l, tn_obj *e, const tn_Type *type) {
  const tn_RelayCall *t = tn_pmap_has(&c->back, e) ? (const tn_RelayCall *)e : NULL;
  tn_Layout *before = NULL, *given = NULL;
  if (!TN_AS(TensorType, type)) return 0;
  if (t) {
    TN_GET(before, layout_attr(t, "dst_layout"));
    TN_GET(given, layout_attr(t, "src_layout"));
    l->any_given = true;
  }
  TN_TRY(tn_vec_push_obj(&l->values, e));
  TN_TRY(tn_vec_push_obj(&l->types, type));
  TN_TRY(tn_vec_push_obj(&l->before, before));
  TN_TRY(tn_vec_push_obj(&l->given, given));
  return 1;
}

/* @return 1, 0 when an argument is something else than tensors and tuples of them, -1 error */
static int leaves_of(const carrying *c, const tn_RelayCall *pre, const tn_RelayCall *post,
                     leaves *l) {
  for (int64_t i = 0; i < post->args->len; ++i) {
    tn_obj *e = relay_arg(post, i);
    const tn_Type *type = relay_type_of(relay_arg(pre, i));
    const tn_TupleType *fields = TN_AS(TupleType, type);
    const tn_RelayTuple *tuple = TN_AS(RelayTuple, e);
    int known = fields && tuple ? 1 : add_leaf(c, l, e, type);
    for (int64_t k = 0; known == 1 && tuple && k < tuple->fields->len; ++k)
      known = add_leaf(c, l, tn_arr_obj(tuple->fields, k),
                       (const tn_Type *)tn_arr_obj(fields->fields, k));
    if (known != 1) return known;
  }
  return 1;
}

/* A call that was chosen may have other arguments than the first one: what is known of these.
 * `before` of those that it has is in `l`. @return 1, 0 when they do not correspond, -1 */
static int replace_leaf(leaves *l, int64_t i, tn_obj *e) {
  if (i >= l->values.len) return 0;
  if (l->values.items[i].v.obj == e) return 1;
  tn_Type *type;
  TN_GET(type, relay_infer_type(e, NULL));
  const tn_TensorType *t = TN_AS(TensorType, type),
                      *old = (const tn_TensorType *)l->types.items[i].v.obj;
  if (!t) return 0;
  if (t->shape->len != old->shape->len) l->before.items[i] = tn_any_none();
  l->given.items[i] = tn_any_none();
  l->values.items[i] = tn_any_obj(e);
  l->types.items[i] = tn_any_obj(t);
  return 1;
}

static int replace_leaves(leaves *l, const tn_RelayCall *chosen) {
  int64_t n = 0;
  int known = 1;
  for (int64_t i = 0; known == 1 && i < chosen->args->len; ++i) {
    tn_obj *e = relay_arg(chosen, i);
    const tn_RelayTuple *tuple = TN_AS(RelayTuple, e);
    for (int64_t k = 0; known == 1 && tuple && k < tuple->fields->len; ++k)
      known = replace_leaf(l, n++, tn_arr_obj(tuple->fields, k));
    if (!tuple) known = replace_leaf(l, n++, e);
  }
  return known == 1 ? n == l->values.len : known;
}

/* ---- calls ---- */

/* Which layouts the call has as it stands: into l->before. @return as relay_op_layouts */
static int ask_before(const tn_RelayCall *call, leaves *l, relay_layouts *q) {
  TN_GET(q->types, tn_arr_from(&l->types));
  TN_GET(q->before, tn_arr_from(&l->before));
  q->op = TN_AS(Op, call->op);
  q->attrs = call->attrs;
  int known = relay_op_layouts(q);
  if (known != 1) return known;
  for (int64_t i = 0; i < l->before.len; ++i) {
    tn_Layout *in = relay_layout_at(q->in, i);
    if (!relay_layout_equal(in, relay_layout_at(q->before, i))) l->given.items[i] = tn_any_none();
    l->before.items[i] = in ? tn_any_obj(in) : tn_any_none();
  }
  return 1;
}

/* What another operator makes of arguments that the first call did not have. */
static int ask_others(const tn_RelayCall *chosen, leaves *l) {
  relay_layouts q = {.op = TN_AS(Op, chosen->op), .attrs = chosen->attrs};
  bool any = false;
  for (int64_t i = 0; i < l->before.len; ++i) any = any || !tn_any_is_obj(&l->before.items[i]);
  if (!any) return 1;
  q.out_type = (tn_TensorType *)l->types.items[0].v.obj;
  TN_GET(q.types, tn_arr_from(&l->types));
  TN_GET(q.before, tn_arr_from(&l->before));
  int known = relay_op_layouts(&q);
  for (int64_t i = 0; known == 1 && i < l->before.len; ++i) {
    tn_Layout *in = relay_layout_at(q.in, i);
    if (in && !tn_any_is_obj(&l->before.items[i])) l->before.items[i] = tn_any_obj(in);
  }
  return known;
}

static int ask_now(const tn_RelayCall *chosen, const leaves *l, relay_layouts *q) {
  TN_GET(q->types, tn_arr_from(&l->types));
  TN_GET(q->before, tn_arr_from(&l->before));
  TN_GET(q->given, tn_arr_from(&l->given));
  q->op = TN_AS(Op, chosen->op);
  q->attrs = chosen->attrs;
  return relay_op_layouts(q);
}

/* Leaf i in the layout that the call takes. */
static void *bring(carrying *c, const leaves *l, const relay_layouts *q, int64_t i) {
  tn_Layout *from = relay_layout_at(q->before, i), *to = relay_layout_at(q->in, i);
  void *e = l->values.items[i].v.obj;
  return from && to ? transform(c, e, from, to) : e;
}

static tn_arr *new_args(carrying *c, const tn_RelayCall *call, const leaves *l,
                        const relay_layouts *q) {
  TN_VEC(args);
  int64_t n = 0;
  for (int64_t i = 0; i < call->args->len; ++i) {
    const tn_RelayTuple *tuple = TN_AS(RelayTuple, relay_arg(call, i));
    TN_VEC(fields);
    void *e;
    for (int64_t k = 0; tuple && k < tuple->fields->len; ++k) {
      TN_GETP(e, bring(c, l, q, n++));
      TN_TRYP(tn_vec_push_obj(&fields, e));
    }
    TN_GETP(e, tuple ? (void *)relay_tuple(tn_arr_from(&fields)) : bring(c, l, q, n++));
    TN_TRYP(tn_vec_push_obj(&args, e));
  }
  return tn_arr_from(&args);
}

/* Layout of result i. */
static tn_Layout *out_at(const tn_arr *out, int64_t i) {
  return relay_layout_at(out, i < out->len ? i : out->len - 1);
}

static tn_obj *results_back(carrying *c, void *call, const tn_Type *type,
                            const relay_layouts *before, const relay_layouts *now) {
  const tn_TupleType *tuple = TN_AS(TupleType, type);
  if (!tuple) return transform_back(c, call, out_at(now->out, 0), out_at(before->out, 0));
  TN_VEC(fields);
  for (int64_t i = 0; i < tuple->fields->len; ++i) {
    void *e = relay_get_item(call, i);
    TN_GETP(e, transform_back(c, e, out_at(now->out, i), out_at(before->out, i)));
    TN_TRYP(tn_vec_push_obj(&fields, e));
  }
  return (tn_obj *)relay_tuple(tn_arr_from(&fields));
}

static bool changes_nothing(const leaves *l, const relay_layouts *q) {
  for (int64_t i = 0; i < l->before.len; ++i) {
    tn_Layout *in = relay_layout_at(q->in, i);
    if (in && !relay_layout_equal(in, relay_layout_at(q->before, i))) return false;
  }
  return true;
}

/* The chosen call between layouts; itself where it takes what it is given as it is. */
static tn_obj *carry_through(carrying *c, const tn_RelayCall *pre, tn_RelayCall *call,
                             tn_RelayCall *chosen, leaves *l) {
  tn_Type *type = relay_type_of(pre);
  relay_layouts before = {.out_type = TN_AS(TensorType, type)}, now = before;
  int known = ask_before(call, l, &before);
  if (known == 1 && chosen != call) known = replace_leaves(l, chosen);
  if (known == 1 && chosen->op != call->op) known = ask_others(chosen, l);
  if (known == 1) known = ask_now(chosen, l, &now);
  if (known != 1) return known < 0 ? NULL : (tn_obj *)chosen;
  if (chosen == call && changes_nothing(l, &now)) return (tn_obj *)call;
  tn_arr *args;
  tn_RelayCall *made;
  TN_GETP(args, new_args(c, chosen, l, &now));
  TN_GETP(made, relay_call_new(chosen->op, args, now.attrs));
  tn_retain(((const relay_expr *)call)->span);
  ((relay_expr *)made)->span = ((const relay_expr *)call)->span;
  return results_back(c, made, type, &before, &now);
}

static tn_arr *types_of(const tn_arr *args) {
  TN_VEC(types);
  for (int64_t i = 0; i < args->len; ++i)
    TN_TRYP(tn_vec_push_obj(&types, relay_type_of(tn_arr_obj(args, i))));
  return tn_arr_from(&types);
}

static tn_obj *carry_call(void *ctx, tn_obj *pre, tn_obj *post) {
  carrying *c = ctx;
  const tn_RelayCall *before = (const tn_RelayCall *)pre;
  tn_RelayCall *call = (tn_RelayCall *)post;
  const tn_Op *op = TN_AS(Op, call->op);
  if (!op || !relay_type_of(pre) || relay_as_call(call, "layout_transform")) return post;
  LEAVES(l);
  relay_replace r = {.row = relay_op_row_of((const tn_obj *)op), .call = call};
  TN_GETP(r.types, types_of(before->args));
  r.out_type = relay_type_of(pre);
  tn_obj *chosen = c->choose(c->ctx, &r);
  tn_RelayCall *other = TN_AS(RelayCall, chosen);
  if (!chosen || !other || !TN_AS(Op, other->op)) return chosen;
  int known = leaves_of(c, before, call, &l);
  if (known != 1) return known < 0 ? NULL : chosen;
  for (int64_t i = 0; r.keeps && i < l.given.len; ++i) l.given.items[i] = tn_any_none();
  if (chosen == post && !l.any_given) return post;
  return carry_through(c, before, call, other, &l);
}

/* A field of several results that were transformed back one by one. */
static tn_obj *carry_get_item(void *ctx, tn_obj *pre, tn_obj *post) {
  (void)ctx;
  const tn_TupleGetItem *e = (const tn_TupleGetItem *)post;
  const tn_RelayTuple *t = TN_AS(RelayTuple, e->tuple_value);
  bool made_here = t && !TN_AS(RelayTuple, ((const tn_TupleGetItem *)pre)->tuple_value);
  return made_here && e->index < t->fields->len ? tn_arr_obj(t->fields, e->index) : post;
}

static const tn_rewrite_case cases[] = {
    TN_REWRITE(RelayCall, carry_call),
    TN_REWRITE(TupleGetItem, carry_get_item),
};

tn_RelayFunction *relay_carry_layouts(tn_RelayFunction *f, relay_choose_fn choose, void *ctx) {
  __attribute__((cleanup(carrying_fini))) carrying c = {.choose = choose, .ctx = ctx};
  return tn_rewrite(f, cases, TN_COUNT(cases), &c);
}

/* ---- hooks ---- */

tn_obj *relay_call_hook(const relay_replace *r, const char *key, relay_replace_fn row_hook,
                        tn_any last) {
  tn_any found, ret;
  const tn_RelayCall *call = r->call;
  const tn_Op *op = TN_AS(Op, call->op);
  if (!ir_op_attr(op, key, &found) || !tn_any_is_obj(&found))
    return row_hook ? row_hook(r) : relay_leave(r);
  tn_func *f = TN_AS(Function, found.v.obj);
  TN_CHECKP(f, TypeError, NULL, "%s of %s is not a function", key, tn_cstr(op->name));
  tn_any args[] = {tn_any_obj(call->attrs), tn_any_obj(call->args), tn_any_obj(r->types), last};
  TN_TRYP(tn_func_call(f, args, 4, &ret));
  tn_obj *e = tn_any_is_obj(&ret) ? tn_scope_own(ret.v.obj) : NULL;
  if (!e) return relay_leave(r);
  TN_CHECKP(TN_IS(RelayExpr, e), TypeError, NULL, "%s of %s: expected an expression, got %s", key,
            tn_cstr(op->name), tn_obj_key(e));
  return e;
}
