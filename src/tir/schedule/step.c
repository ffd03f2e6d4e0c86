/* One step of a schedule: the tree of a function, rewriting, taking the result.

   A step says what changes in tables; the rewriting then goes over the function once, shares what
   stays, and notes for every loop and block what it has become, so that handles follow. */
#include "tir/schedule/schedule_impl.h"

#include "arith/iter_map.h"
#include "ir/functor.h"
#include "tenon/object.h"

void sch_step_fini(sch_step *e) {
  tn_pmap *all[] = {&e->parent, &e->vars,    &e->loads,  &e->replace,
                    &e->moved,  &e->dropped, &e->renewed};
  for (int i = 0; i < TN_COUNT(all); ++i) tn_pmap_fini(all[i]);
  arith_fini(&e->arith);
}

/* ---- the tree ---- */

typedef struct {
  tn_pmap *parent;
  tn_obj *above;
} tree_walk;

static int note_parents(void *ctx, tn_obj *o) {
  tree_walk *w = ctx;
  bool is_stmt = TN_IS(Stmt, o);
  if (!is_stmt && o->type_index != TN_TI_Array) return 0;
  if (is_stmt && w->above && tn_pmap_put(w->parent, o, w->above)) return -1;
  tree_walk inner = {w->parent, is_stmt ? o : w->above};
  return tn_visit_children(o, note_parents, &inner);
}

int sch_note_parents(tn_pmap *parent, const tn_stmt *body) {
  tree_walk w = {parent, NULL};
  return note_parents(&w, (tn_obj *)(uintptr_t)body);
}

int sch_begin(sch_step *e, const tn_obj *stmt) {
  const tn_map *functions = e->s->mod->functions;
  if (e->func) return 0;
  for (int64_t i = 0; i < functions->len; ++i) {
    tn_PrimFunc *f = TN_AS(PrimFunc, functions->entries[i].value.v.obj);
    if (!f) continue;
    tn_pmap_fini(&e->parent);
    e->parent = (tn_pmap){0};
    TN_TRY(sch_note_parents(&e->parent, f->body));
    if (f->body != (const tn_stmt *)stmt && !sch_parent(e, stmt)) continue;
    e->func = f;
    e->var = (tn_GlobalVar *)functions->entries[i].key.v.obj;
    return 0;
  }
  return TN_RAISE(InternalError, NULL, "schedule: the statement is not part of the module");
}

tn_Block *sch_scope_block(const sch_step *e, const void *stmt) {
  const tn_obj *o = sch_parent(e, stmt);
  while (o && o->type_index != TN_TI_Block) o = sch_parent(e, o);
  return TN_AS(Block, o);
}

static int find_blocks(void *ctx, tn_obj *o) {
  if (o->type_index == TN_TI_BlockRealize) return tn_vec_push_obj(ctx, o);
  if (!TN_IS(Stmt, o) && o->type_index != TN_TI_Array) return 0;
  return tn_visit_children(o, find_blocks, ctx);
}
int sch_blocks_below(const tn_obj *stmt, tn_vec *out) {
  return find_blocks(out, (tn_obj *)(uintptr_t)stmt);
}

int sch_loops_above(const sch_step *e, const tn_Block *b, tn_vec *out) {
  const tn_obj *realize = sch_parent(e, b);
  for (const tn_obj *o = realize ? sch_parent(e, realize) : NULL; o && o->type_index != TN_TI_Block;
       o = sch_parent(e, o)) {
    if (o->type_index == TN_TI_For) TN_TRY(tn_vec_push_obj(out, o));
  }
  for (int64_t i = 0, j = out->len - 1; i < j; ++i, --j) {
    tn_any t = out->items[i];
    out->items[i] = out->items[j];
    out->items[j] = t;
  }
  return 0;
}

static int is_var(void *ctx, tn_obj *o) { return (const void *)o == ctx; }
bool sch_uses_var(const void *expr, const tn_Var *v) {
  return tn_post_order(expr, is_var, (void *)(uintptr_t)v) != 0;
}

tn_For *sch_loop(const tn_For *like, tn_Var *var, tn_expr *min, tn_expr *extent, tn_stmt *body) {
  tn_For f = *like;
  f.loop_var = var;
  f.min = min;
  f.extent = extent;
  f.body = body;
  return min && extent && var && body ? tn_node_copy(&tn_type_For, &f) : NULL;
}

/* ---- rewriting ---- */

int sch_put_var(sch_step *e, const tn_Var *v, tn_expr *value) {
  TN_GET(value, tir_cast(v->dtype, value, NULL));
  return tn_pmap_put(&e->vars, v, value);
}

static tn_obj *visit(void *ctx, tn_obj *o);

/* A read of an inlined buffer: its value with the indices put in. */
static tn_obj *inlined(sch_step *e, const sch_inline *how, const tn_BufferLoad *load) {
  TN_PMAP(at);
  for (int64_t i = 0; i < load->indices->len; ++i) {
    const tn_Var *v =
        TN_IS(Var, tn_arr_obj(how->vars, i)) ? (tn_Var *)tn_arr_obj(how->vars, i) : NULL;
    tn_expr *index = (tn_expr *)visit(e, tn_arr_obj(load->indices, i));
    if (v) index = tir_cast(v->dtype, index, NULL); /* an index read from an int64 tensor, say */
    if (!index || (v && tn_pmap_put(&at, v, index))) return NULL;
  }
  return tir_substitute(how->value, &at);
}

/* All at once, so that parts of one loop are taken in the same way in each: f // 8 and f % 8. */
static tn_obj *simplify_bindings(sch_step *e, const tn_BlockRealize *r) {
  tn_BlockRealize copy = *r;
  copy.iter_values = iter_map_simplify(&e->arith, r->iter_values, e->ranges, r->predicate,
                                       ITER_MAP_SURJECTIVE, !e->preserve_unit);
  return copy.iter_values ? tn_node_copy(&tn_type_BlockRealize, &copy) : NULL;
}

static tn_obj *finish_realize(sch_step *e, const tn_BlockRealize *was, tn_BlockRealize *now) {
  if (!now || now->iter_values == was->iter_values) return (tn_obj *)now;
  if (e->ranges) return simplify_bindings(e, now);
  TN_VEC(values);
  for (int64_t i = 0; i < now->iter_values->len; ++i) {
    tn_expr *v = (tn_expr *)tn_arr_obj(now->iter_values, i);
    if ((const tn_obj *)v != tn_arr_obj(was->iter_values, i)) v = arith_simplify(&e->arith, v);
    if (!v || tn_vec_push_obj(&values, v)) return NULL;
  }
  tn_BlockRealize copy = *now;
  copy.iter_values = tn_arr_from(&values);
  return tn_node_copy(&tn_type_BlockRealize, &copy);
}

typedef struct {
  const tn_Var *data;
  bool found;
} pointer_use;

static int meet_pointer(void *ctx, tn_obj *o) {
  pointer_use *p = ctx;
  if (o->type_index == TN_TI_BufferRegion || o->type_index == TN_TI_Buffer) return 0;
  if ((const void *)o == p->data) p->found = true;
  return p->found ? 1 : tn_visit_children(o, meet_pointer, p);
}

bool sch_uses_pointer(const void *part, const tn_Buffer *b) {
  pointer_use p = {b->data, false};
  return meet_pointer(&p, (tn_obj *)(uintptr_t)part) < 0 || p.found;
}

static bool is_among(const tn_arr *regions, const tn_BufferRegion *r) {
  for (int64_t i = 0; i < regions->len; ++i) {
    const tn_BufferRegion *x = (const tn_BufferRegion *)tn_arr_obj(regions, i);
    if (x->buffer == r->buffer && tn_equal(x->region, r->region, 0) == 1) return true;
  }
  return false;
}

/* Regions of the new body, behind those that the block declares and the body does not show: of
   buffers that it uses by their pointers. @param own results; the block may list them as read (an
   update without its init), which stays */
static tn_arr *with_declared(const tn_Block *now, const tn_arr *declared, const tn_arr *found,
                             const tn_arr *own) {
  TN_VEC(all);
  for (int64_t i = 0; i < declared->len; ++i) {
    const tn_BufferRegion *r = (const tn_BufferRegion *)tn_arr_obj(declared, i);
    if (sch_uses_pointer(now->body, r->buffer) || (own && is_among(own, r)))
      TN_TRYP(tn_vec_push_obj(&all, r));
  }
  if (!all.len) return (tn_arr *)(uintptr_t)found;
  for (int64_t i = 0; i < found->len; ++i) TN_TRYP(tn_vec_push_obj(&all, tn_arr_obj(found, i)));
  return tn_arr_from(&all);
}

static tn_Block *renew_regions(const tn_Block *was, tn_Block *now, bool writes) {
  now = now ? tir_block_with_regions(now, true, writes) : NULL;
  if (!now) return NULL;
  tn_Block copy = *now;
  if (writes) TN_GETP(copy.writes, with_declared(now, was->writes, now->writes, NULL));
  TN_GETP(copy.reads, with_declared(now, was->reads, now->reads, now->writes));
  bool same = copy.reads == now->reads && copy.writes == now->writes;
  return same ? now : tn_node_copy(&tn_type_Block, &copy);
}

/* Buffers that are dropped are allocated no more; regions follow from the new body. */
static tn_obj *finish_block(sch_step *e, const tn_Block *was, tn_Block *now) {
  TN_VEC(allocs);
  if (!now) return NULL;
  for (int64_t i = 0; i < now->alloc_buffers->len; ++i) {
    const tn_obj *b = tn_arr_obj(now->alloc_buffers, i);
    if (!tn_pmap_has(&e->dropped, b) && tn_vec_push_obj(&allocs, b)) return NULL;
  }
  if (allocs.len < now->alloc_buffers->len) {
    tn_Block copy = *now;
    copy.alloc_buffers = tn_arr_from(&allocs);
    now = tn_node_copy(&tn_type_Block, &copy);
  }
  int64_t renew = tn_pmap_get_int(&e->renewed, was, 0);
  if (renew) now = renew_regions(was, now, renew > 1);
  return now && (now == was || sch_moved(e, was, now) == 0) ? (tn_obj *)now : NULL;
}

/* Statements that were taken away (Evaluate(0)) leave sequences, sequences in sequences are joined.
 */
static tn_obj *finish_seq(const tn_SeqStmt *was, tn_SeqStmt *now) {
  TN_VEC(stmts);
  if (!now || now == was) return (tn_obj *)now;
  for (int64_t i = 0; i < now->seq->len; ++i)
    TN_TRYP(tn_vec_push_obj(&stmts, tn_arr_obj(now->seq, i)));
  return (tn_obj *)tir_seq(&stmts);
}

static tn_obj *visit(void *ctx, tn_obj *o) {
  sch_step *e = ctx;
  tn_obj *with = tn_pmap_get(&e->replace, o);
  if (with) return with;
  if ((with = tn_pmap_get(&e->vars, o))) return with;
  const tn_BufferLoad *load = TN_AS(BufferLoad, o);
  const sch_inline *how = load ? tn_pmap_get(&e->loads, load->buffer) : NULL;
  if (how) return inlined(e, how, load);
  if (o->type_index == TN_TI_Buffer || TN_IS(Var, o) || o->type_index == TN_TI_Op) return o;
  tn_obj *now = tn_map_children(o, visit, e);
  if (e->after && now) now = e->after(e, o, now);
  if (o->type_index == TN_TI_BlockRealize)
    return finish_realize(e, (tn_BlockRealize *)o, (tn_BlockRealize *)now);
  if (o->type_index == TN_TI_Block) return finish_block(e, (tn_Block *)o, (tn_Block *)now);
  if (o->type_index == TN_TI_SeqStmt) return finish_seq((tn_SeqStmt *)o, (tn_SeqStmt *)now);
  if (o->type_index == TN_TI_For && now && now != o && sch_moved(e, o, now)) return NULL;
  return now;
}

tn_stmt *sch_rewrite(sch_step *e, const tn_stmt *stmt) {
  return stmt ? (tn_stmt *)visit(e, (tn_obj *)(uintptr_t)stmt) : NULL;
}

int sch_replace(sch_step *e, const tn_stmt *old, const tn_stmt *with) {
  return with ? tn_pmap_put(&e->replace, old, with) : -1;
}
int sch_moved(sch_step *e, const void *old, const void *now) {
  return tn_pmap_put(&e->moved, old, now);
}

/* ---- taking the result ---- */

static int set_field(tn_TirSchedule *s, const char *name, const void *obj) {
  tn_any value = tn_any_obj(obj);
  if (!obj) return -1;
  return tn_field_set((tn_obj *)s, tn_type_field(&tn_type_TirSchedule, name), &value);
}

/* What a loop or block has become; one of another function is itself, one that is gone NULL. */
static const tn_obj *moved_to(const sch_step *e, const tn_pmap *there, const tn_obj *o) {
  if (!(tn_pmap_has(&e->parent, o) || o == (const tn_obj *)e->func->body)) return o;
  for (const tn_obj *next; (next = tn_pmap_get(&e->moved, o));) o = next;
  return tn_pmap_has(there, o) ? o : NULL;
}

static tn_any now_at(const sch_step *e, const tn_pmap *there, tn_any value) {
  const tn_obj *o = tn_any_is_obj(&value) ? value.v.obj : NULL;
  bool stmt = o && (o->type_index == TN_TI_For || o->type_index == TN_TI_Block);
  const tn_obj *now = stmt ? moved_to(e, there, o) : NULL;
  return !stmt ? value : now ? tn_any_obj(now) : tn_any_none();
}

/* The table of handles with every loop and block of the function followed to what it is now. */
static tn_map *follow(const sch_step *e, const tn_stmt *body) {
  TN_PMAP(there);
  tn_map *out = tn_scope_own(tn_map_new());
  if (!out || sch_note_parents(&there, body)) return NULL;
  for (int64_t i = 0; i < e->s->symbols->len; ++i) {
    const tn_map_entry *old = &e->s->symbols->entries[i];
    if (tn_map_set(out, old->key, now_at(e, &there, old->value))) return NULL;
  }
  return out;
}

int sch_commit(sch_step *e) {
  tn_stmt *body = sch_rewrite(e, e->func->body);
  tn_PrimFunc *f = body ? tir_with_body(e->func, body) : NULL;
  tn_IRModule *mod = f ? ir_module_copy(e->s->mod) : NULL;
  if (!mod || ir_module_add(mod, e->var, (tn_BaseFunc *)f, true)) return -1;
  tn_map *symbols = follow(e, body);
  if (!symbols || (e->s->debug_mask && sch_verify(e, f))) return -1;
  if (e->s->srefs->len) TN_TRY(sch_move_srefs(e, body, moved_to));
  TN_TRY(set_field(e->s, "symbols", symbols));
  return set_field(e->s, "mod", mod);
}

/* ---- handles ---- */

/* The table is the schedule's own: copies of schedules copy it. */
tn_obj *sch_handle(tn_TirSchedule *s, const tn_obj *stmt) {
  if (!stmt) return NULL;
  tn_obj *rv = stmt->type_index == TN_TI_For ? tn_node_copy(&tn_type_LoopRV, &(tn_LoopRV){0})
                                             : tn_node_copy(&tn_type_BlockRV, &(tn_BlockRV){0});
  return rv && tn_map_set(s->symbols, tn_any_obj(rv), tn_any_obj(stmt)) == 0 ? rv : NULL;
}

tn_obj *sch_loop_handle(tn_TirSchedule *s, const tn_obj *loop_or_mark) {
  tn_obj *rv = tn_node_copy(&tn_type_LoopRV, &(tn_LoopRV){0});
  return rv && tn_map_set(s->symbols, tn_any_obj(rv), tn_any_obj(loop_or_mark)) == 0 ? rv : NULL;
}

int64_t sch_loop_mark(const tn_TirSchedule *s, const tn_LoopRV *loop) {
  tn_any value;
  int64_t mark;
  bool found = loop && tn_map_get(s->symbols, tn_any_obj(loop), &value) && tn_any_is_obj(&value);
  return found && tir_as_int(value.v.obj, &mark) ? mark : 0;
}

tn_obj *sch_get(const tn_TirSchedule *s, const tn_obj *rv) {
  tn_any value;
  bool known = rv && tn_map_get(s->symbols, tn_any_obj(rv), &value);
  TN_CHECKP(known, IndexError, NULL, "schedule: the random variable is not of this schedule");
  TN_CHECKP(tn_any_is_obj(&value), IndexError, NULL,
            "schedule: the random variable is no more: its block or loop was taken away");
  return value.v.obj;
}

tn_Block *sch_block_of(sch_step *e, const tn_BlockRV *rv) {
  tn_obj *o = sch_get(e->s, (const tn_obj *)rv);
  return o && sch_begin(e, o) == 0 ? TN_AS(Block, o) : NULL;
}
tn_For *sch_loop_of(sch_step *e, const tn_LoopRV *rv) {
  tn_obj *o = sch_get(e->s, (const tn_obj *)rv);
  return o && sch_begin(e, o) == 0 ? TN_AS(For, o) : NULL;
}
