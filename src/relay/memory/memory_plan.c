/* MemoryPlan: memory that several tensors share, one after the other, in programs that
   ManifestAlloc has made.

     let %s = memory.alloc_storage(64i64, 64i64);       let %s = memory.alloc_storage(64i64, 64i64);
     let %a = memory.alloc_tensor(%s, ...);             let %a = memory.alloc_tensor(%s, ...);
     let %_ = vm.invoke_tvm_op(%f, (%x,), (%a,));       let %_ = vm.invoke_tvm_op(%f, (%x,), (%a,));
     let %t = memory.alloc_storage(256i64, 64i64);      let %t = memory.alloc_storage(256i64, 64i64);
     let %b = memory.alloc_tensor(%t, ...);        =>   let %b = memory.alloc_tensor(%t, ...);
     let %_ = vm.invoke_tvm_op(%g, (%a,), (%b,));       let %_ = vm.invoke_tvm_op(%g, (%a,), (%b,));
     let %u = memory.alloc_storage(32i64, 64i64);       let %c = memory.alloc_tensor(%s, ...);
     let %c = memory.alloc_tensor(%u, ...);             let %_ = vm.invoke_tvm_op(%h, (%b,), (%c,))
     let %_ = vm.invoke_tvm_op(%h, (%b,), (%c,))

   Only tensors of known size that nothing but kernels and what looks at extents reads: what is
   returned, stored in data, passed on or looked at under another shape keeps its own memory. And
   only between branches: both are allocated or none, and none waits while a branch needs memory.
   Bindings are numbered in order, those of branches between what is before and behind them, so that
   a tensor is dead after the last binding that reads it. Scalars are left alone: on the host they
   need no memory. */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/pmap.h"
#include "base/scope.h"
#include "base/stack.h"
#include "pack/pack.h"
#include "relay/expr/expr_info.h"
#include "relay/expr/let_list.h"
#include "relay/expr/typed_builder.h"
#include "relay/transforms/transforms.h"
#include "tenon/object.h"

/* A variable, or what it is another name of. */
typedef struct {
  const relay_expr *same; /* a variable that is none itself, a tuple; NULL: this is its own value */
  int64_t storage;        /* number of the storage that it is, or that it is in; -1: none */
  int64_t last;           /* number of the last binding that reads it */
  int32_t level;          /* of the function in which it is bound */
  bool kept;              /* something that outlives a call may have it */
} life;

typedef struct {
  const tn_RelayCall *alloc;
  const tn_RelayVar *var;
  int64_t life, tensor; /* numbers of variables; the tensor's: -1 while there is none */
  int64_t size;         /* -1: it is not known, or more than one tensor is in it */
  int64_t begin;        /* number of its binding */
  int64_t block, next;  /* the one after it in its block, -1: none */
  int64_t in;           /* the storage that takes its place, itself at first */
} storage;

typedef struct {
  int64_t first, last; /* of its storages, -1: none */
} block;               /* bindings without a branch among them */

typedef struct {
  tn_pmap index; /* id of a variable -> number + 1 */
  life *lives;
  storage *all;
  block *blocks;
  int64_t nlife, life_cap, nall, all_cap, nblock, block_cap;
  int64_t now;    /* number of the binding that is looked at */
  int64_t within; /* the block that it is in */
  int32_t level;
  bool changed;
} plan;

static int see(plan *p, const void *e);
static int see_block(plan *p, const void *body);

/* ---- who reads what ---- */

static life *life_of(const plan *p, const tn_RelayVar *v) {
  int64_t i = tn_pmap_get_int(&p->index, v->vid, 0);
  return i ? &p->lives[i - 1] : NULL;
}

static int add_life(plan *p, const tn_RelayVar *v, life l) {
  l.level = p->level;
  TN_GROW(p->lives, p->life_cap, p->nlife + 1, return -1);
  p->lives[p->nlife++] = l;
  return tn_pmap_put_int(&p->index, v->vid, p->nlife);
}

/* A use of a value. @param keeps may it outlive the call? */
static int use(plan *p, const void *e, bool keeps) {
  const tn_RelayVar *v = TN_AS(RelayVar, e);
  const tn_RelayTuple *t = TN_AS(RelayTuple, e);
  TN_TRY(tn_stack_check("an expression"));
  for (int64_t i = 0; t && i < t->fields->len; ++i) TN_TRY(use(p, tn_arr_obj(t->fields, i), keeps));
  if (t) return 0;
  if (!v) return see(p, e);
  life *l = life_of(p, v);
  if (!l || (l->kept && l->same)) return 0; /* all of it is kept already */
  l->kept |= keeps || l->level != p->level;
  l->last = p->now;
  return l->same ? use(p, l->same, l->kept) : 0;
}

static bool of_atoms(const tn_RelayTuple *t) {
  for (int64_t i = 0; t && i < t->fields->len; ++i)
    if (!TN_AS(RelayVar, tn_arr_obj(t->fields, i)) && !TN_AS(Constant, tn_arr_obj(t->fields, i)))
      return false;
  return t != NULL;
}

/* What a value is another name of: a variable or tuple, NULL: nothing that is known. */
static const relay_expr *root_of(const plan *p, const void *e) {
  const tn_RelayVar *v = TN_AS(RelayVar, e);
  const life *l = v ? life_of(p, v) : NULL;
  if (l && l->same) return l->same;
  return v || of_atoms(TN_AS(RelayTuple, e)) ? e : NULL;
}

static const relay_expr *other_name(const plan *p, const void *e) {
  const tn_RelayCall *c = TN_AS(RelayCall, e) ? relay_as_call(e, "on_device") : NULL;
  const tn_TupleGetItem *item = TN_AS(TupleGetItem, e);
  const tn_RelayTuple *t;
  if (c) return root_of(p, relay_arg(c, 0));
  if (!item) return root_of(p, e);
  t = TN_AS(RelayTuple, root_of(p, item->tuple_value));
  return t && item->index < t->fields->len ? root_of(p, tn_arr_obj(t->fields, item->index)) : NULL;
}

/* ---- what is bound ---- */

static int add_storage(plan *p, const tn_RelayVar *v, const tn_RelayCall *c) {
  block *b = &p->blocks[p->within];
  const tn_Constant *bytes = TN_AS(Constant, relay_arg(c, 0)); /* a list would be extents */
  int64_t n = p->nall, size = -1;
  if (bytes && tn_tensor_dl(bytes->data)->ndim == 0 && !relay_as_int(bytes, &size)) size = -1;
  TN_TRY(use(p, relay_arg(c, 0), false));
  TN_GROW(p->all, p->all_cap, n + 1, return -1);
  p->all[n] = (storage){.alloc = c,
                        .var = v,
                        .life = p->nlife,
                        .tensor = -1,
                        .size = size,
                        .begin = p->now,
                        .block = p->within,
                        .next = -1,
                        .in = n};
  if (b->last >= 0) p->all[b->last].next = n;
  else b->first = n;
  b->last = n;
  ++p->nall;
  return add_life(p, v, (life){.storage = n});
}

static int add_tensor(plan *p, const tn_RelayVar *v, const tn_RelayCall *c) {
  const tn_TensorType *t = TN_AS(TensorType, relay_type_of(v));
  const tn_RelayVar *from = TN_AS(RelayVar, relay_arg(c, 0));
  const life *l = from ? life_of(p, from) : NULL;
  int64_t n = l && !l->same ? l->storage : -1, offset;
  if (n < 0) TN_TRY(use(p, relay_arg(c, 0), true));
  TN_TRY(use(p, relay_arg(c, 2), false));
  if (n >= 0) {
    storage *s = &p->all[n];
    bool alone = s->tensor < 0 && s->block == p->within && t && t->shape->len > 0 &&
                 relay_as_int(relay_arg(c, 1), &offset) && offset == 0;
    if (!alone) s->size = -1;
    s->tensor = p->nlife;
  }
  return add_life(p, v, (life){.storage = n, .last = p->now});
}

/* Operators that keep none of what they are given. */
static bool only_reads(const tn_RelayCall *c) {
  static const char *const names[] = {"vm.invoke_tvm_op", "vm.shape_of",     "vm.shape_func",
                                      "vm.make_shape",    "vm.check_shapes", "vm.check_extents"};
  const char *op = relay_called_op(c);
  for (int i = 0; op && i < TN_COUNT(names); ++i)
    if (strcmp(op, names[i]) == 0) return true;
  return false;
}

static int bind(plan *p, const tn_RelayVar *v, const void *value) {
  const tn_RelayCall *c = TN_AS(RelayCall, value);
  const relay_expr *same = other_name(p, value);
  life *before = life_of(p, v);
  if (before) { /* a block that stands in several places */
    before->kept = true;
    if (before->storage >= 0) p->all[before->storage].size = -1;
    return see(p, value);
  }
  if (same) return add_life(p, v, (life){.same = same, .storage = -1});
  if (c && relay_as_call(c, "memory.alloc_storage")) return add_storage(p, v, c);
  if (c && relay_as_call(c, "memory.alloc_tensor")) return add_tensor(p, v, c);
  TN_TRY(add_life(p, v, (life){.storage = -1}));
  return see(p, value);
}

/* ---- expressions ---- */

static int see_call(plan *p, const tn_RelayCall *c) {
  bool reads = only_reads(c), kill = relay_as_call(c, "memory.kill");
  if (!TN_AS(Op, c->op)) TN_TRY(use(p, c->op, true));
  for (int64_t i = 0; i < c->args->len && !kill; ++i) TN_TRY(use(p, relay_arg(c, i), !reads));
  return 0;
}

static int see_clauses(plan *p, const tn_Match *m) {
  TN_TRY(use(p, m->data, true));
  for (int64_t i = 0; i < m->clauses->len; ++i)
    TN_TRY(see_block(p, ((const tn_Clause *)tn_arr_obj(m->clauses, i))->rhs));
  return 0;
}

static int see_function(plan *p, const tn_RelayFunction *f) {
  if (relay_is_kernel(f)) return 0;
  ++p->level;
  int err = see_block(p, f->body);
  --p->level;
  return err;
}

static int see(plan *p, const void *e) {
  const tn_obj *o = e;
  const void *operand;
  TN_TRY(tn_stack_check("an expression"));
  switch (o->type_index) {
  case TN_TI_RelayCall: return see_call(p, e);
  case TN_TI_Match: return see_clauses(p, e);
  case TN_TI_RelayFunction: return see_function(p, e);
  case TN_TI_RelayLet: return see_block(p, e);
  case TN_TI_RelayIf:
    TN_TRY(use(p, ((const tn_RelayIf *)e)->cond, true));
    TN_TRY(see_block(p, ((const tn_RelayIf *)e)->true_branch));
    return see_block(p, ((const tn_RelayIf *)e)->false_branch);
  default: break;
  }
  for (int64_t i = 0; (operand = relay_operand(o, i)) != NULL; ++i) TN_TRY(use(p, operand, true));
  return 0;
}

static int begin_block(plan *p) {
  TN_GROW(p->blocks, p->block_cap, p->nblock + 1, return -1);
  p->within = p->nblock++;
  p->blocks[p->within] = (block){-1, -1};
  return 0;
}

static int see_block(plan *p, const void *body) {
  int64_t outer = p->within;
  const tn_RelayLet *let;
  TN_TRY(tn_stack_check("an expression"));
  TN_TRY(begin_block(p));
  for (; (let = TN_AS(RelayLet, body)) != NULL; body = let->body) {
    ++p->now;
    TN_TRY(bind(p, let->var, let->value));
    if (TN_AS(RelayIf, let->value) || TN_AS(Match, let->value)) TN_TRY(begin_block(p));
  }
  ++p->now;
  TN_TRY(use(p, body, true));
  p->within = outer;
  return 0;
}

/* ---- sharing ---- */

static bool can_share(const plan *p, const storage *s) {
  return s->size >= 0 && s->tensor >= 0 && !p->lives[s->life].kept && !p->lives[s->tensor].kept;
}

static bool same_kind(const storage *a, const storage *b) {
  int64_t x = 0, y = 1;
  const tn_obj *d = relay_attr_obj(a->alloc->attrs, "virtual_device"),
               *e = relay_attr_obj(b->alloc->attrs, "virtual_device");
  return relay_as_int(relay_arg(a->alloc, 1), &x) && relay_as_int(relay_arg(b->alloc, 1), &y) &&
         x == y && (d == e || (d && e && tn_equal(d, e, 0) == 1));
}

/* What can share: as buffers, and the number of the storage of each. */
typedef struct {
  pack_buffer *buffers;
  int64_t *of, *sizes;
  int64_t n;
  int32_t kinds; /* those of a block are numbered from here on */
  int64_t *like; /* a storage of each kind */
} sharing;

/* Storages of one block, device and alignment are of one kind. */
static int32_t kind_of(const plan *p, sharing *x, int32_t from, int64_t n) {
  int32_t k = from;
  while (k < x->kinds && !same_kind(&p->all[x->like[k]], &p->all[n])) ++k;
  if (k == x->kinds) x->like[x->kinds++] = n;
  return k;
}

static void add_block(const plan *p, const block *b, sharing *x) {
  int32_t from = x->kinds;
  for (int64_t n = b->first; n >= 0; n = p->all[n].next) {
    const storage *s = &p->all[n];
    if (!can_share(p, s)) continue;
    x->of[x->n] = n;
    x->buffers[x->n++] = (pack_buffer){.bytes = s->size,
                                       .first = s->begin,
                                       .last = p->lives[s->tensor].last,
                                       .kind = kind_of(p, x, from, n)};
  }
}

/* Numbers of blocks become the storages that have them first. */
static void take_over(plan *p, const sharing *x, int64_t *owner) {
  for (int64_t i = x->n; i-- > 0;) owner[x->buffers[i].pool] = x->of[i];
  for (int64_t i = 0; i < x->n; ++i) {
    int64_t mine = owner[x->buffers[i].pool];
    p->all[x->of[i]].in = mine;
    p->changed |= mine != x->of[i];
    p->all[mine].size = x->sizes[x->buffers[i].pool];
  }
}

static int share_all(plan *p) {
  int64_t n = p->nall + 1;
  TN_AUTOFREE pack_buffer *buffers = tn_alloc_array(n, sizeof *buffers);
  TN_AUTOFREE int64_t *lists = tn_alloc_array(n, 3 * sizeof *lists);
  sharing x = {.buffers = buffers, .of = lists, .sizes = lists + n, .like = lists + 2 * n};
  if (!buffers || !lists) return -1;
  for (int64_t i = 0; i < p->nblock; ++i) add_block(p, &p->blocks[i], &x);
  TN_TRY(pack_blocks(x.buffers, x.n, NULL, x.sizes) < 0);
  take_over(p, &x, x.like);
  return 0;
}

/* ---- the program with it ---- */

static tn_arr *with_first(const tn_RelayCall *c, const void *first) {
  TN_VEC(args);
  TN_TRYP(tn_vec_push_obj(&args, first));
  for (int64_t i = 1; i < c->args->len; ++i) TN_TRYP(tn_vec_push(&args, c->args->items[i]));
  return tn_arr_from(&args);
}

/* The same allocation with another size, or storage. */
static void *changed_call(const tn_RelayCall *c, const void *first) {
  tn_RelayCall copy = *c;
  TN_GETP(copy.args, first ? with_first(c, first) : NULL);
  return tn_node_copy(&tn_type_RelayCall, &copy);
}

static void *larger(const storage *s) {
  const tn_Type *t = relay_type_of(relay_arg(s->alloc, 0));
  int64_t before = -1;
  if (s->size < 0 || (relay_as_int(relay_arg(s->alloc, 0), &before) && before == s->size))
    return (void *)(uintptr_t)s->alloc;
  tn_Constant *size = relay_const_int(TN_I64, s->size);
  return changed_call(s->alloc, t ? relay_typed(size, t) : size);
}

static void *planned_block(void *ctx, const void *body);

static int put(plan *p, relay_lets *l, const tn_RelayLet *let) {
  const life *v = life_of(p, let->var);
  const tn_RelayCall *c = TN_AS(RelayCall, let->value);
  const storage *s = v && v->storage >= 0 ? &p->all[v->storage] : NULL;
  if (s && s->var == let->var && s->in != v->storage) return 0; /* another one takes its place */
  if (s && s->var == let->var) return relay_lets_put(l, let->var, larger(s));
  if (s && c && s->in != v->storage)
    return relay_lets_put(l, let->var, changed_call(c, p->all[s->in].var));
  return relay_lets_put(l, let->var, relay_with_blocks(let->value, planned_block, p));
}

static void *planned_block(void *ctx, const void *body) {
  relay_lets l = {0};
  const tn_RelayLet *let;
  int err = tn_stack_check("an expression");
  for (; !err && (let = TN_AS(RelayLet, body)) != NULL; body = let->body) err = put(ctx, &l, let);
  void *end = err ? NULL : relay_with_blocks(body, planned_block, ctx);
  void *r = end ? relay_lets_typed(&l, end) : NULL;
  relay_lets_fini(&l);
  return r;
}

static void fini(plan *p) {
  tn_pmap_fini(&p->index);
  tn_free(p->lives);
  tn_free(p->all);
  tn_free(p->blocks);
}

tn_RelayFunction *relay_memory_plan(tn_RelayFunction *f, const tn_pass_ctx *c) {
  plan p = {0};
  void *r = NULL;
  (void)c;
  if (see_function(&p, f) == 0 && share_all(&p) == 0)
    r = p.changed ? relay_with_blocks(f, planned_block, &p) : f;
  fini(&p);
  return r;
}
