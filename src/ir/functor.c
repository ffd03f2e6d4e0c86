/* Walking and rewriting programs (see functor.h). */
#include "ir/functor.h"

#include "base/alloc.h"
#include "base/stack.h"
#include "ir/ir_impl.h"

/* Declared leaves, few: the answer for a type is cached by index. */
enum { MAX_LEAVES = 32 };
enum { UNKNOWN, INNER, LEAF, HIDDEN };
static struct {
  const tn_type *type;
  uint8_t as;
} leaves[MAX_LEAVES];
static int nleaves;
static _Atomic uint8_t known[TN_TI_BEGIN_DYNAMIC];

void tn_functor_leaf(const tn_type *type, bool seen) {
  if (nleaves < MAX_LEAVES) {
    leaves[nleaves].type = type;
    leaves[nleaves++].as = seen ? LEAF : HIDDEN;
  }
  for (int i = 0; i < TN_TI_BEGIN_DYNAMIC; ++i) known[i] = UNKNOWN;
}

/* Few: sequences of statements. */
enum { MAX_NORMAL = 4 };
static struct {
  const tn_type *type;
  tn_obj *(*fn)(tn_obj *node);
} normal_forms[MAX_NORMAL];
static int nnormal;

void tn_functor_normal(const tn_type *type, tn_obj *(*fn)(tn_obj *node)) {
  if (nnormal == MAX_NORMAL) return;
  normal_forms[nnormal].type = type;
  normal_forms[nnormal++].fn = fn;
}

/* ---- places ---- */

static const tn_type *placed;
static _Atomic(const tn_field *) span_fields[TN_TI_BEGIN_DYNAMIC];

void tn_functor_placed(const tn_type *type) { placed = type; }

/* NULL: a node of this type has no place that counts here. */
static const tn_field *span_field(const tn_obj *o) {
  if (!placed || o->type_index >= TN_TI_BEGIN_DYNAMIC || !tn_type_is(o->type, placed)) return NULL;
  const tn_field *f = span_fields[o->type_index];
  if (!f) span_fields[o->type_index] = f = tn_type_field(o->type, "span");
  return f;
}

static tn_obj *place_of(const tn_obj *o) {
  const tn_field *f = o ? span_field(o) : NULL;
  tn_any span = f ? tn_field_get(o, f) : tn_any_none();
  return tn_any_is_obj(&span) ? span.v.obj : NULL;
}

/* What came of `pre` is where it was, when it was made just now and says nothing else; where
   nothing came of it, the error is there. */
static tn_obj *keep_place(const tn_obj *pre, tn_obj *post) {
  if (post == pre) return post;
  tn_obj *span = place_of(pre);
  if (!span) return post;
  if (!post) return (void)tn_error_at(span), NULL;
  const tn_field *f = span_field(post);
  tn_any value = tn_any_obj(span);
  if (f && !place_of(post) && tn_use_count(post) == 1 && tn_field_set(post, f, &value)) return NULL;
  return post;
}

/* What a rewriting made of a node with other children: checked, in its normal form. */
static tn_obj *changed(tn_obj *made) {
  tn_obj *r = ir_node_check(made);
  for (int i = 0; r && i < nnormal; ++i) {
    if (r->type == normal_forms[i].type) return normal_forms[i].fn(r);
  }
  return r;
}

static uint8_t find_class(const tn_type *t) {
  switch ((tn_type_kind)t->kind) {
  case TN_KIND_NODE:
  case TN_KIND_ARRAY:
  case TN_KIND_MAP:
  case TN_KIND_TUPLE: break;
  default: return HIDDEN; /* holds no other objects */
  }
  for (int i = 0; i < nleaves; ++i) {
    if (tn_type_is(t, leaves[i].type)) return leaves[i].as;
  }
  return INNER;
}

static uint8_t class_of(const tn_obj *o) {
  if (o->type_index >= TN_TI_BEGIN_DYNAMIC) return find_class(o->type);
  uint8_t k = known[o->type_index];
  if (k == UNKNOWN) known[o->type_index] = k = find_class(o->type);
  return k;
}

static bool is_container(const tn_obj *o) { return o->type->kind != TN_KIND_NODE; }

/* ---- an explicit stack of objects whose children are being walked ---- */

typedef struct {
  tn_obj *node;
  int64_t first, next; /* its children in `queue`, and the next to enter */
} frame;

typedef struct {
  frame *frames;
  tn_obj **queue; /* children of all open frames, one after another */
  int64_t depth, frames_cap, nqueue, queue_cap;
  tn_pmap seen;
  tn_walk_filter see; /* NULL: everything */
} walk;

static void walk_fini(walk *w) {
  tn_free(w->frames);
  tn_free((void *)w->queue);
  tn_pmap_fini(&w->seen);
}
#define WALK(name) __attribute__((cleanup(walk_fini))) walk name = {0}

static int add_child(void *ctx, tn_obj *child) {
  walk *w = ctx;
  if (class_of(child) == HIDDEN) return 0;
  TN_GROW(w->queue, w->queue_cap, w->nqueue + 1, return -1);
  w->queue[w->nqueue++] = child;
  return 0;
}

static int add_seen(walk *w, tn_obj *parent, const tn_field *field, tn_any child) {
  if (!tn_any_is_obj(&child) || !w->see(parent, field, child.v.obj)) return 0;
  return add_child(w, child.v.obj);
}

/* The children that the filter lets through. */
static int add_children(walk *w, tn_obj *o) {
  if (!w->see) return tn_visit_children(o, add_child, w);
  if (o->type->kind == TN_KIND_ARRAY) {
    const tn_arr *a = (const tn_arr *)o;
    for (int64_t i = 0; i < a->len; ++i) TN_TRY(add_seen(w, o, NULL, a->items[i]));
  } else if (o->type->kind == TN_KIND_MAP) {
    const tn_map *m = (const tn_map *)o;
    for (int64_t i = 0; i < m->len; ++i) {
      TN_TRY(add_seen(w, o, NULL, m->entries[i].key));
      TN_TRY(add_seen(w, o, NULL, m->entries[i].value));
    }
  } else {
    for (uint16_t i = 0; i < o->type->nfield; ++i)
      TN_TRY(add_seen(w, o, &o->type->fields[i], tn_field_get(o, &o->type->fields[i])));
  }
  return 0;
}

static int enter(walk *w, tn_obj *o) {
  TN_GROW(w->frames, w->frames_cap, w->depth + 1, return -1);
  w->frames[w->depth++] = (frame){o, w->nqueue, w->nqueue};
  return class_of(o) == INNER ? add_children(w, o) : 0;
}

/* Was the object met before? Marks it as met. What has a single reference can be met only once. */
static int meet(walk *w, const tn_obj *o, bool *before) {
  *before = false;
  if (tn_use_count(o) == 1) return 0;
  tn_pmap_slot *slot = tn_pmap_slot_of(&w->seen, o);
  if (!slot) return -1;
  *before = slot->v.i64 != 0;
  slot->v.i64 = 1;
  return 0;
}

/* The next child of the top frame that was not met before; NULL when there is none. */
static int next_child(walk *w, tn_obj **out) {
  frame *top = &w->frames[w->depth - 1];
  bool before;
  *out = NULL;
  while (top->next < w->nqueue) {
    tn_obj *child = w->queue[top->next++];
    TN_TRY(meet(w, child, &before));
    if (before) continue;
    *out = child;
    return 0;
  }
  return 0;
}

static void leave(walk *w) { w->nqueue = w->frames[--w->depth].first; }

int tn_post_order(const void *root, int (*fn)(void *ctx, tn_obj *node), void *ctx) {
  return tn_post_order_if(root, NULL, fn, ctx);
}

int tn_post_order_if(const void *root, tn_walk_filter see, int (*fn)(void *ctx, tn_obj *node),
                     void *ctx) {
  WALK(w);
  w.see = see;
  tn_obj *child;
  if (!root) return 0;
  TN_TRY(enter(&w, (tn_obj *)(uintptr_t)root));
  while (w.depth > 0) {
    TN_TRY(next_child(&w, &child));
    if (child) {
      TN_TRY(enter(&w, child));
      continue;
    }
    tn_obj *done = w.frames[w.depth - 1].node;
    leave(&w);
    int r = is_container(done) ? 0 : fn(ctx, done);
    if (r) return r;
  }
  return 0;
}

int tn_pre_order(const void *root, int (*fn)(void *ctx, tn_obj *node), void *ctx) {
  return tn_pre_order_if(root, NULL, fn, ctx);
}

int tn_pre_order_if(const void *root, tn_walk_filter see, int (*fn)(void *ctx, tn_obj *node),
                    void *ctx) {
  WALK(w);
  w.see = see;
  tn_obj *child = (tn_obj *)(uintptr_t)root;
  while (child) {
    int r = is_container(child) ? 0 : fn(ctx, child);
    if (r != 0 && r != 1) return r;
    if (r == 0) TN_TRY(enter(&w, child));
    for (child = NULL; w.depth > 0 && !child;) {
      TN_TRY(next_child(&w, &child));
      if (!child) leave(&w);
    }
  }
  return 0;
}

/* ---- rewriting, children first ---- */

typedef struct {
  tn_pmap done; /* object to its retained result */
  const tn_rewrite_case *cases;
  int ncases;
  void *ctx;
} rewriter;

static void rewriter_fini(rewriter *r) {
  for (size_t i = 0; i < r->done.cap; ++i)
    tn_release(r->done.slots[i].key ? r->done.slots[i].v.ptr : NULL);
  tn_pmap_fini(&r->done);
}

static tn_obj *result_of(void *ctx, tn_obj *child) {
  tn_obj *r = tn_pmap_get(&((rewriter *)ctx)->done, child);
  return r ? r : child;
}

static int finish(rewriter *r, tn_obj *pre) {
  TN_SCOPE(s);
  tn_obj *post = class_of(pre) == INNER ? tn_map_children(pre, result_of, r) : pre;
  if (post != pre) TN_GET(post, changed(post));
  tn_rewrite_case f = pre->type_index < (uint32_t)r->ncases ? r->cases[pre->type_index] : NULL;
  if (f) TN_GET(post, keep_place(pre, f(r->ctx, pre, post)));
  tn_retain(post);
  if (tn_pmap_put(&r->done, pre, post) == 0) return 0;
  tn_release(post);
  return -1;
}

void *tn_rewrite(const void *root, const tn_rewrite_case *cases, int ncases, void *ctx) {
  return tn_rewrite_if(root, NULL, cases, ncases, ctx);
}

void *tn_rewrite_if(const void *root, bool (*enters)(void *ctx, const tn_obj *o),
                    const tn_rewrite_case *cases, int ncases, void *ctx) {
  WALK(w);
  __attribute__((cleanup(rewriter_fini)))
  rewriter r = {.cases = cases, .ncases = ncases, .ctx = ctx};
  tn_obj *child, *top = (tn_obj *)(uintptr_t)root;
  if (!root) return NULL;
  TN_TRYP(enter(&w, top));
  while (w.depth > 0) {
    TN_TRYP(next_child(&w, &child));
    if (child) {
      if (!enters || enters(ctx, child)) TN_TRYP(enter(&w, child));
      continue;
    }
    TN_TRYP(finish(&r, w.frames[w.depth - 1].node));
    leave(&w);
  }
  tn_obj *result = tn_pmap_get(&r.done, top);
  tn_retain(result);
  return tn_scope_own(result);
}

/* ---- rewriting with context ---- */

void tn_mut_forget(tn_mut *m) {
  for (size_t i = 0; i < m->memo.cap; ++i) {
    if (!m->memo.slots[i].key) continue;
    tn_release(m->memo.slots[i].key);
    tn_release(m->memo.slots[i].v.ptr);
  }
  tn_pmap_fini(&m->memo);
  m->memo = (tn_pmap){0};
}

void tn_mut_fini(tn_mut *m) { tn_mut_forget(m); }

static tn_obj *visit_child(void *ctx, tn_obj *child) { return tn_mut_visit(ctx, child); }

void *tn_mut_children(tn_mut *m, const void *node) {
  tn_obj *o = (tn_obj *)(uintptr_t)node;
  if (class_of(o) != INNER && !(m->types && TN_IS(Type, o))) return o;
  tn_obj *r = tn_map_children(o, visit_child, m);
  return r == o ? r : changed(r);
}

static tn_obj *dispatch(tn_mut *m, tn_obj *o) {
  if (m->exprs && !TN_IS(PrimExpr, o) && !TN_AS(Array, o)) return o;
  tn_mut_case f = o->type_index < (uint32_t)m->ncases ? m->cases[o->type_index] : NULL;
  return keep_place(o, f ? f(m, o) : tn_mut_children(m, o));
}

/* Keys are retained too: the address of a temporary node must not come back as another node. */
static tn_obj *remember(tn_mut *m, tn_obj *o, tn_obj *r) {
  if (!r) return NULL;
  TN_TRYP(tn_pmap_put(&m->memo, o, r));
  tn_retain(o);
  tn_retain(r);
  return r;
}

void *tn_mut_visit(tn_mut *m, const void *node) {
  tn_obj *o = (tn_obj *)(uintptr_t)node;
  if (!o) return NULL;
  TN_TRYP(tn_stack_check("the program"));
  bool shared =
      o->type->role == TN_EQ_DAG || (m->pure && tn_use_count(o) > 1 && class_of(o) == INNER);
  if (!shared) return dispatch(m, o);
  tn_obj *known_result = tn_pmap_get(&m->memo, o);
  return known_result ? known_result : remember(m, o, dispatch(m, o));
}

/* ---- substitution ---- */

static tn_obj *replace_var(tn_mut *m, tn_obj *o) {
  const tn_Var *v = (const tn_Var *)o;
  const tn_expr *e = tn_pmap_get(m->ctx, o);
  if (!e) return o;
  TN_CHECKP(tn_dtype_eq(v->dtype, e->dtype), TenonError, v->span,
            "substitute: %s is of type %s, its replacement of type %s", tn_cstr(v->name),
            TN_DT(v->dtype), TN_DT(e->dtype));
  return (tn_obj *)(uintptr_t)e;
}

void *tir_substitute(const void *node, const tn_pmap *vars) {
  static const tn_mut_case cases[] = {TN_CASE(Var, replace_var), TN_CASE(SizeVar, replace_var)};
  TN_MUT(m, cases, (void *)(uintptr_t)vars);
  m.pure = true;
  return tn_mut_visit(&m, node);
}

void ir_functor_init(void) {
  tn_functor_leaf(&tn_type_Span, false);
  tn_functor_leaf(&tn_type_SourceName, false);
  tn_functor_leaf(&tn_type_Type, false);
  tn_functor_leaf(&tn_type_Attrs, false);
  tn_functor_leaf(&tn_type_EnvFunc, false);
  tn_functor_leaf(&tn_type_Op, true);
  tn_functor_leaf(&tn_type_GlobalVar, true);
  tn_functor_leaf(&tn_type_Var, true);
}
