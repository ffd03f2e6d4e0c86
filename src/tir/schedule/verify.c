/* What a step made is checked where the schedule asks for it (debug_mask):

     SCH_VERIFY_TREE   each loop and block stands at one place and binds its own variables; every
                       variable is bound around its uses
     SCH_VERIFY_FLOW   no statement is lost; a buffer that the step made is written before it is
                       read; blocks touch what they declare; indices are within the shapes

   The program that came in may have such faults, or be more than the analyzer can prove: a fault is
   the step's own only where the program before did not have its like. */
#include <stdio.h>
#include <string.h>

#include "ir/functor.h"
#include "tir/schedule/verify.h"

int sch_fault(sch_verifier *v, const char *fmt, ...) {
  va_list args;
  char text[512];
  va_start(args, fmt);
  vsnprintf(text, sizeof text, fmt, args);
  va_end(args);
  return (v->why = tn_str_from(text)) ? 1 : -1;
}

/* ---- the tree ---- */

typedef struct {
  sch_verifier *v;
  tn_pmap seen; /* loops, blocks and the variables they bind */
} tree_check;

static int once(tree_check *t, const void *what, const char *why, const tn_str *name) {
  if (tn_pmap_has(&t->seen, what)) return sch_fault(t->v, "%s %s", tn_cstr(name), why);
  return tn_pmap_put(&t->seen, what, what);
}

static int stands_once(void *ctx, tn_obj *o) {
  tree_check *t = ctx;
  const tn_For *f = TN_AS(For, o);
  const tn_Block *b = TN_AS(Block, o);
  int r = 0;
  if (f) r = once(t, f->loop_var, "is bound by two loops", f->loop_var->name);
  if (!r && f) r = once(t, f, "is the variable of a loop at two places", f->loop_var->name);
  if (b) r = once(t, b, "is the name of a block at two places", b->name_hint);
  for (int64_t i = 0; !r && b && i < b->iter_vars->len; ++i) {
    const tn_Var *var = ((const tn_IterVar *)tn_arr_obj(b->iter_vars, i))->var;
    r = once(t, var, "is an iterator of two blocks", var->name);
  }
  if (r || (!TN_IS(Stmt, o) && o->type_index != TN_TI_Array)) return r;
  return tn_visit_children(o, stands_once, t);
}

static int check_tree(sch_verifier *v) {
  tree_check t = {.v = v};
  int r = stands_once(&t, (tn_obj *)v->func->body);
  tn_pmap_fini(&t.seen);
  return r;
}

/* Where a caller puts in statements step by step (ScheduleState.replace), variables may be bound
   later. */
static int check_variables(sch_verifier *v) {
  if (strcmp(v->primitive, "replace") == 0) return 0;
  if (tir_check_well_formed((const tn_obj *)v->func, false) == 0) return 0;
  const tn_error *err = tn_error_get();
  if (err->kind != TN_ValueError) return -1;
  int r = sch_fault(v, "%s", err->message ? err->message : "a variable is not bound");
  tn_error_clear();
  return r;
}

/* ---- statements ---- */

static int count_leaf(void *ctx, tn_obj *o) {
  const tn_Evaluate *call = TN_AS(Evaluate, o);
  int64_t k;
  if (TN_IS(BufferStore, o) || (call && !tir_as_int((tn_obj *)call->value, &k))) ++*(int64_t *)ctx;
  if (!TN_IS(Stmt, o) && o->type_index != TN_TI_Array) return 0;
  return tn_visit_children(o, count_leaf, ctx);
}

/* Steps that take statements away, and how many at most; -1: any number. */
static int64_t may_lose(const char *primitive) {
  static const struct {
    const char *primitive;
    int64_t n;
  } rows[] = {{"compute-inline", 1},
              {"reverse-compute-inline", 1},
              {"tensorize", -1}, /* an instruction stands for them */
              {"replace", -1}};
  for (int i = 0; i < TN_COUNT(rows); ++i)
    if (strcmp(rows[i].primitive, primitive) == 0) return rows[i].n;
  return 0;
}

static int check_statements(sch_verifier *v) {
  int64_t was = 0, now = 0, lost = may_lose(v->primitive);
  TN_TRY(count_leaf(&was, (tn_obj *)v->before->body));
  TN_TRY(count_leaf(&now, (tn_obj *)v->func->body));
  if (lost < 0 || now >= was - lost) return 0;
  return sch_fault(v, "%lld of %lld statements are lost", (long long)(was - now), (long long)was);
}

/* ---- new buffers ---- */

typedef struct {
  sch_verifier *v;
  tn_pmap known; /* pointers of buffers of before, and of those that were written */
} first_use;

static int note_allocs(void *ctx, tn_obj *o) {
  const tn_Block *b = TN_AS(Block, o);
  for (int64_t i = 0; b && i < b->alloc_buffers->len; ++i)
    TN_TRY(tn_pmap_put(ctx, ((const tn_Buffer *)tn_arr_obj(b->alloc_buffers, i))->data, o));
  if (!TN_IS(Stmt, o) && o->type_index != TN_TI_Array) return 0;
  return tn_visit_children(o, note_allocs, ctx);
}

static int meet_store_to(void *ctx, tn_obj *o) {
  const tn_BufferStore *store = TN_AS(BufferStore, o);
  return store && store->buffer->data == ctx;
}

/* What a caller replaces may leave a buffer without its writer. */
static bool has_writer(const sch_verifier *v, const tn_Buffer *b) {
  return !v->given || tn_post_order(v->func->body, meet_store_to, b->data) != 0;
}

static int in_order(void *ctx, tn_obj *o) {
  first_use *u = ctx;
  const tn_Block *b = TN_AS(Block, o);
  const tn_BufferLoad *load = TN_AS(BufferLoad, o);
  const tn_BufferStore *store = TN_AS(BufferStore, o);
  if (load && !tn_pmap_has(&u->known, load->buffer->data) && has_writer(u->v, load->buffer))
    return sch_fault(u->v, "%s is read before it is written", tn_cstr(load->buffer->name));
  if (o->type_index == TN_TI_Buffer || TN_IS(Op, o)) return 0;
  if (TN_IS(Var, o)) return tn_pmap_put(&u->known, o, o); /* a pointer may be written through */
  if (tir_as_call(o, TIR_OP_address_of)) {                /* the same */
    const tn_BufferLoad *at = TN_AS(BufferLoad, tn_arr_obj(((tn_Call *)o)->args, 0));
    return at ? tn_pmap_put(&u->known, at->buffer->data, o) : 0;
  }
  for (int64_t i = 0; b && i < b->match_buffers->len; ++i) {
    const tn_MatchBufferRegion *m = (const tn_MatchBufferRegion *)tn_arr_obj(b->match_buffers, i);
    TN_TRY(tn_pmap_put(&u->known, m->buffer->data, o));
    TN_TRY(tn_pmap_put(&u->known, m->source->buffer->data, o));
  }
  int r = b && b->init ? in_order(u, (tn_obj *)b->init) : 0;
  if (!r) r = b ? in_order(u, (tn_obj *)b->body) : tn_visit_children(o, in_order, u);
  return !r && store ? tn_pmap_put(&u->known, store->buffer->data, o) : r;
}

static int check_first_uses(sch_verifier *v) {
  first_use u = {.v = v};
  int r = v->before ? note_allocs(&u.known, (tn_obj *)v->before->body) : 0;
  const tn_map *params = v->func->buffer_map;
  for (int64_t i = 0; !r && i < params->len; ++i)
    r = tn_pmap_put(&u.known, ((const tn_Buffer *)params->entries[i].value.v.obj)->data, v);
  if (!r) r = in_order(&u, (tn_obj *)v->func->body);
  tn_pmap_fini(&u.known);
  return r;
}

/* ---- a step ---- */

typedef int (*check)(sch_verifier *v);

/* A check of the program after the step, whose fault counts where the one before had none. */
static int own_fault(sch_verifier *v, check c, bool *out) {
  int now = c(v);
  *out = false;
  if (now <= 0) return now;
  sch_verifier old = {.func = v->before, .primitive = v->primitive};
  int was = c(&old);
  *out = was == 0;
  return was < 0 ? -1 : 0;
}

int sch_verify(const sch_step *e, const tn_PrimFunc *now) {
  static const struct {
    check run;
    int bit;
  } checks[] = {{check_tree, SCH_VERIFY_TREE},
                {check_variables, SCH_VERIFY_TREE},
                {check_first_uses, SCH_VERIFY_FLOW},
                {sch_check_regions, SCH_VERIFY_FLOW},
                {sch_check_shapes, SCH_VERIFY_FLOW}};
  sch_verifier v = {.func = now, .before = e->func, .primitive = e->primitive, .given = e->given};
  bool failed = false;
  int64_t mask = e->s->debug_mask;
  if (mask & SCH_VERIFY_FLOW) {
    int r = check_statements(&v);
    if (r < 0) return -1;
    failed = r > 0;
  }
  for (int i = 0; !failed && i < TN_COUNT(checks); ++i)
    if ((mask & checks[i].bit) && !(e->hides && checks[i].run == sch_check_regions))
      TN_TRY(own_fault(&v, checks[i].run, &failed));
  TN_CHECK(!failed, InternalError, NULL,
           "schedule: %s gave a program in which %s; the schedule stays as it was, please report",
           e->primitive, tn_cstr(v.why));
  return 0;
}
