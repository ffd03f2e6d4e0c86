/* Order between a program, a coprocessor that runs beside it, and the coprocessor's queues.

   Statements under the attribute "coproc_scope" of an axis are commands; its value is the queue
   they go to. Queues run beside one another and beside the program. With the axis named cop:

     A[i] = 1.0                             A[i] = 1.0
     T.attr(cop, "coproc_scope", 1)         T.cop.coproc_read_barrier(A, 32, 0, 8)
     for j in range(8): B[j] = A[j]   ->    T.attr(cop, "coproc_scope", 1) ...
     T.attr(cop, "coproc_scope", 2)         T.cop.coproc_dep_push(1, 2)
     for j in range(8): C[j] = B[j]         T.cop.coproc_dep_pop(1, 2)
     x = C[0]                               T.attr(cop, "coproc_scope", 2) ...
                                            T.cop.coproc_sync()
                                            T.cop.coproc_write_barrier(C, 32, 0, 8)
                                            x = C[0]

   coproc_dep_push(p, q) and coproc_dep_pop(p, q): queue q goes on when queue p has come to its
   push. coproc_sync(): the program waits for all commands; also at the end, if any may still run.
   coproc_read_barrier(data, bits, first, count): commands see what the program wrote there;
   coproc_write_barrier: the program sees what commands wrote. A count of 0 stands for all there is,
   where the places are not known. */
#include <string.h>

#include "base/stack.h"
#include "ir/expr.h"
#include "ir/op.h"
#include "tir/transforms/device/coproc_impl.h"

typedef struct {
  tn_arena arena;
  const char *name; /* of the coprocessor's axis; NULL: no command was met */
} sync_ctx;

/* ---- uses ---- */

static int add_use(sync_ctx *x, coproc_unit *u, coproc_use use) {
  if (u->n == u->cap) {
    u->cap = u->cap ? u->cap * 2 : 8;
    coproc_use *all = tn_arena_array(&x->arena, u->cap, sizeof use);
    if (!all) return -1;
    if (u->n) memcpy(all, u->uses, sizeof use * (size_t)u->n);
    u->uses = all;
  }
  u->uses[u->n++] = use;
  return 0;
}

static int add_uses(sync_ctx *x, coproc_unit *to, const coproc_unit *from) {
  for (int64_t i = 0; i < from->n; ++i) TN_TRY(add_use(x, to, from->uses[i]));
  return 0;
}

/* An index of one dimension is an interval; anything else may be anywhere. */
static tn_IntervalSet *interval_of(const tn_arr *indices) {
  tn_expr *e = indices->len == 1 ? (tn_expr *)tn_arr_obj(indices, 0) : NULL;
  const tn_Ramp *r = TN_AS(Ramp, e);
  int64_t stride;
  if (r && tir_as_int((const tn_obj *)r->stride, &stride) && stride >= 0)
    return arith_interval(
        r->base, tir_add(r->base, tir_mul(r->stride, tir_lanes(r->stride->dtype, r->lanes, -1))));
  return e && e->dtype.lanes == 1 ? arith_interval(e, e) : arith_interval_all();
}

static int note_buffer(sync_ctx *x, coproc_unit *u, const tn_Buffer *b, const tn_arr *indices,
                       int64_t queue, bool write) {
  tn_IntervalSet *where;
  TN_GET(where, interval_of(indices));
  return add_use(x, u, (coproc_use){b->data, b->dtype, queue, !write, write, where});
}

/* T.tvm_access_ptr(type, data, offset, extent, mask) */
static int note_pointer(sync_ctx *x, coproc_unit *u, const tn_Call *c, int64_t queue) {
  const tn_Var *data = TN_AS(Var, tn_arr_obj(c->args, 1));
  tn_expr *first = (tn_expr *)tn_arr_obj(c->args, 2), *count = (tn_expr *)tn_arr_obj(c->args, 3);
  int64_t mask;
  if (!data) return 0;
  if (!tir_as_int(tn_arr_obj(c->args, 4), &mask)) mask = 3;
  tn_dtype t = ((const tn_expr *)tn_arr_obj(c->args, 0))->dtype;
  tn_IntervalSet *where;
  TN_GET(where, arith_interval(first, tir_sub(tir_add(first, count), tir_one(first->dtype))));
  return add_use(x, u, (coproc_use){data, t, queue, mask & 1, (mask & 2) != 0, where});
}

/* After a loop the places are those of all its turns. */
static int close_loop(coproc_unit *u, const tn_For *l) {
  TN_ARITH(a);
  tn_map *dom;
  TN_GET(dom, tn_map_with(NULL, tn_any_obj(l->loop_var), tn_any_obj(tir_range(l->min, l->extent))));
  for (int64_t i = 0; i < u->n; ++i) {
    const tn_IntervalSet *low, *high;
    tn_IntervalSet *s = u->uses[i].where;
    TN_GET(low, arith_is_inf(s->min_value) ? s : arith_int_set(&a, s->min_value, dom));
    TN_GET(high, arith_is_inf(s->max_value) ? s : arith_int_set(&a, s->max_value, dom));
    TN_GET(u->uses[i].where, arith_interval(low->min_value, high->max_value));
  }
  return 0;
}

typedef struct {
  sync_ctx *x;
  coproc_unit *unit;
  int64_t queue;
} collector;

/* Everything a statement or expression uses. */
static int collect(void *ctx, tn_obj *o) {
  collector *c = ctx;
  const tn_BufferLoad *load = TN_AS(BufferLoad, o);
  const tn_BufferStore *store = TN_AS(BufferStore, o);
  const tn_For *loop = TN_AS(For, o);
  TN_TRY(tn_stack_check("the program"));
  if (o->type_index == TN_TI_Buffer) return 0;
  if (load) TN_TRY(note_buffer(c->x, c->unit, load->buffer, load->indices, c->queue, false));
  if (store) TN_TRY(note_buffer(c->x, c->unit, store->buffer, store->indices, c->queue, true));
  if (tir_as_call(o, TIR_OP_tvm_access_ptr))
    TN_TRY(note_pointer(c->x, c->unit, (const tn_Call *)o, c->queue));
  if (!loop) return tn_visit_children(o, collect, ctx);
  coproc_unit inner = {0};
  collector in = {c->x, &inner, c->queue};
  TN_TRY(collect(&in, (tn_obj *)loop->body));
  TN_TRY(close_loop(&inner, loop));
  TN_TRY(collect(c, (tn_obj *)loop->min) || collect(c, (tn_obj *)loop->extent));
  return add_uses(c->x, c->unit, &inner);
}

static int collect_into(sync_ctx *x, coproc_unit *u, const void *o, int64_t queue) {
  collector c = {x, u, queue};
  return o ? collect(&c, (tn_obj *)(uintptr_t)o) : 0;
}

/* ---- statements that are put in ---- */

/* The operator of a coprocessor, declared when it is first used. */
static tn_Op *operator_of(const char *name) {
  tn_Op *op = ir_op_find(name);
  if (op) return op;
  tn_any text = tn_any_obj(tn_str_from("order between a program and its coprocessor"));
  if (!text.v.obj || !(op = ir_op_declare(name))) return NULL;
  TN_TRYP(tn_field_set((tn_obj *)op, tn_type_field(&tn_type_Op, "description"), &text));
  TN_TRYP(ir_op_set_attr(op, "TCallEffectKind", tn_any_int(TIR_EFFECT_OPAQUE), 10));
  return op;
}

static tn_stmt *command(const sync_ctx *x, const char *name, const tn_arr *args) {
  tn_str *full = tn_str_fmt("tir.%s.%s", x->name, name);
  tn_Op *op = full ? operator_of(full->data) : NULL;
  tn_Call *call = op && args ? TN_NEW(Call, .dtype = TN_I32, .op = (tn_BaseExpr *)op,
                                      .args = (tn_arr *)(uintptr_t)args)
                             : NULL;
  return call ? (tn_stmt *)TN_NEW(Evaluate, .value = (tn_expr *)call) : NULL;
}

static tn_stmt *token(const sync_ctx *x, const char *name, const coproc_edge *e) {
  return command(x, name, tn_arr_of(2, tir_i32((int32_t)e->from), tir_i32((int32_t)e->to)));
}

/* name(data, bits of an element, first, count) of what all uses of `like` in the unit cover. */
static tn_stmt *barrier(const sync_ctx *x, const char *name, const coproc_unit *u,
                        const coproc_use *like) {
  TN_ARITH(a);
  tn_IntervalSet *all = like->where;
  for (int64_t i = 0; i < u->n; ++i) {
    const coproc_use *o = &u->uses[i];
    bool same = o->data == like->data &&
                (o->queue == COPROC_HOST) == (like->queue == COPROC_HOST) &&
                o->write == like->write;
    if (same) TN_GETP(all, arith_interval_union(&a, all, o->where));
  }
  bool known = !arith_is_inf(all->min_value) && !arith_is_inf(all->max_value);
  tn_expr *first = known ? all->min_value : tir_i32(0), *count = tir_i32(0);
  if (known)
    count =
        arith_simplify(&a, tir_add(tir_sub(all->max_value, all->min_value), tir_one(first->dtype)));
  return command(x, name, tn_arr_of(4, like->data, tir_i32(like->dtype.bits), first, count));
}

/* ---- sequences ---- */

typedef struct {
  coproc_unit *units;
  int64_t n;
  tn_vec *before;  /* n + 1: in front of each unit, and at the end */
  tn_vec *after;   /* n: right behind each unit */
  uint8_t *synced; /* n + 1: the program waits in front of the unit, or at the end */
} sequence;

static bool is_host(const coproc_use *u) { return u->queue == COPROC_HOST; }

/* A use of the program in unit v that has to wait for one of commands in unit u. */
static bool waits_for(const coproc_unit *u, const coproc_unit *v, const coproc_use **of) {
  for (int64_t i = 0; i < u->n; ++i) {
    for (int64_t j = 0; !is_host(&u->uses[i]) && j < v->n; ++j) {
      if (!is_host(&v->uses[j]) || !coproc_conflict(&u->uses[i], &v->uses[j])) continue;
      *of = &u->uses[i];
      return true;
    }
  }
  return false;
}

/* Is there a wait in front of one of the units from..to? */
static bool is_synced(const sequence *s, int64_t from, int64_t to) {
  for (int64_t i = from; i <= to; ++i) {
    if (s->synced[i]) return true;
  }
  return false;
}

static int sync_at(sync_ctx *x, sequence *s, int64_t at) {
  tn_stmt *wait;
  if (s->synced[at]) return 0;
  s->synced[at] = 1;
  TN_GET(wait, command(x, "coproc_sync", tn_arr_of(0)));
  return tn_vec_push_obj(&s->before[at], wait);
}

/* Where the program waits for commands: in front of what conflicts, or at the end of the loop. */
static int plan_syncs(sync_ctx *x, sequence *s, bool loop) {
  const coproc_use *of;
  for (int64_t v = 0; v < s->n; ++v) {
    for (int64_t u = 0; u < v; ++u) {
      if (!is_synced(s, u + 1, v) && waits_for(&s->units[u], &s->units[v], &of))
        TN_TRY(sync_at(x, s, v));
    }
  }
  for (int64_t u = 0; loop && u < s->n; ++u) {
    for (int64_t v = 0; v <= u; ++v) {
      bool done = is_synced(s, u + 1, s->n) || is_synced(s, 0, v);
      if (!done && waits_for(&s->units[u], &s->units[v], &of)) TN_TRY(sync_at(x, s, s->n));
    }
  }
  return 0;
}

/* The first wait behind unit u, in this turn or the next; -1: none. */
static int64_t sync_behind(const sequence *s, int64_t u, bool loop) {
  for (int64_t i = u + 1; i <= s->n; ++i) {
    if (s->synced[i]) return i;
  }
  for (int64_t i = 0; loop && i <= u; ++i) {
    if (s->synced[i]) return i;
  }
  return -1;
}

static bool has_use(const coproc_unit *u, const tn_Var *data, bool host, bool write) {
  for (int64_t i = 0; i < u->n; ++i) {
    const coproc_use *o = &u->uses[i];
    if (o->data == data && is_host(o) == host && (write ? o->write : o->read)) return true;
  }
  return false;
}

static bool first_of_its_kind(const coproc_unit *u, int64_t i) {
  const coproc_use *o = &u->uses[i];
  for (int64_t k = 0; k < i; ++k) {
    const coproc_use *p = &u->uses[k];
    if (p->data == o->data && is_host(p) == is_host(o) && p->write == o->write) return false;
  }
  return true;
}

/* Commands see what the program wrote; the program sees what commands wrote, once it has waited. */
static int plan_barriers(sync_ctx *x, sequence *s, bool loop) {
  for (int64_t v = 0; v < s->n; ++v) {
    const coproc_unit *unit = &s->units[v];
    for (int64_t i = 0; i < unit->n; ++i) {
      const coproc_use *o = &unit->uses[i];
      bool needed = false;
      if (is_host(o) || !first_of_its_kind(unit, i)) continue;
      int64_t at = o->write ? sync_behind(s, v, loop) : v;
      for (int64_t w = 0; w < s->n && !needed; ++w) {
        bool ordered = loop || (o->write ? w > v : w < v);
        needed = ordered && w != v && has_use(&s->units[w], o->data, true, !o->write);
      }
      tn_stmt *b;
      if (!needed || at < 0) continue;
      TN_GET(b, barrier(x, o->write ? "coproc_write_barrier" : "coproc_read_barrier", unit, o));
      TN_TRY(tn_vec_push_obj(&s->before[at], b));
    }
  }
  return 0;
}

/* Waits among queues; what a loop passes on from turn to turn starts before it and ends behind it.
 */
static int plan_order(sync_ctx *x, sequence *s, bool loop, tn_vec *ahead, tn_vec *behind) {
  coproc_edge *edges;
  int64_t n = coproc_order(&x->arena, s->units, s->n, loop, &edges);
  if (n < 0) return -1;
  for (int64_t i = 0; i < n; ++i) {
    tn_stmt *push, *pop;
    TN_GET(push, token(x, "coproc_dep_push", &edges[i]));
    TN_GET(pop, token(x, "coproc_dep_pop", &edges[i]));
    TN_TRY(tn_vec_push_obj(&s->after[edges[i].src], push));
    TN_TRY(tn_vec_push_obj(&s->before[edges[i].dst], pop));
    if (edges[i].carried && (tn_vec_push_obj(ahead, push) || tn_vec_push_obj(behind, pop)))
      return -1;
  }
  return 0;
}

static tn_stmt *write_sequence(const sequence *s) {
  TN_VEC(all);
  for (int64_t i = 0; i <= s->n; ++i) {
    for (int64_t k = 0; k < s->before[i].len; ++k)
      TN_TRYP(tn_vec_push(&all, s->before[i].items[k]));
    if (i == s->n) break;
    TN_TRYP(tn_vec_push_obj(&all, s->units[i].stmt));
    for (int64_t k = 0; k < s->after[i].len; ++k) TN_TRYP(tn_vec_push(&all, s->after[i].items[k]));
  }
  return tir_seq(&all);
}

static int visit(sync_ctx *x, tn_stmt *s, coproc_unit *out);

static int plan(sync_ctx *x, sequence *s, bool loop, coproc_unit *out, tn_vec *ahead,
                tn_vec *behind) {
  TN_TRY(plan_syncs(x, s, loop) || plan_order(x, s, loop, ahead, behind) ||
         plan_barriers(x, s, loop));
  for (int64_t i = 0; i < s->n; ++i) {
    TN_TRY(add_uses(x, out, &s->units[i]));
    out->dirty |= s->units[i].dirty && !is_synced(s, i + 1, s->n);
  }
  return (out->stmt = write_sequence(s)) ? 0 : -1;
}

/* The statements of a body. @param ahead, behind get what belongs around the loop whose body it is
 */
static int visit_body(sync_ctx *x, tn_stmt *body, bool loop, coproc_unit *out, tn_vec *ahead,
                      tn_vec *behind) {
  const tn_SeqStmt *seq = TN_AS(SeqStmt, body);
  int64_t n = seq ? seq->seq->len : 1;
  sequence s = {.n = n};
  s.units = tn_arena_array(&x->arena, n, sizeof *s.units);
  s.before = tn_arena_array(&x->arena, n + 1, sizeof *s.before);
  s.after = tn_arena_array(&x->arena, n, sizeof *s.after);
  s.synced = tn_arena_alloc(&x->arena, (size_t)(n + 1));
  if (!s.units || !s.before || !s.after || !s.synced) return -1;
  memset(s.units, 0, sizeof *s.units * (size_t)n);
  memset(s.before, 0, sizeof *s.before * (size_t)(n + 1));
  memset(s.after, 0, sizeof *s.after * (size_t)n);
  memset(s.synced, 0, (size_t)(n + 1));
  int err = 0;
  for (int64_t i = 0; i < n && !err; ++i)
    err = visit(x, seq ? (tn_stmt *)tn_arr_obj(seq->seq, i) : body, &s.units[i]);
  if (!err) err = plan(x, &s, loop, out, ahead, behind);
  for (int64_t i = 0; i <= n; ++i) tn_vec_fini(&s.before[i]);
  for (int64_t i = 0; i < n; ++i) tn_vec_fini(&s.after[i]);
  return err;
}

/* ---- kinds of statements ---- */

static tn_stmt *with_field(const tn_stmt *s, const char *name, tn_stmt *value) {
  tn_stmt *copy = value ? tn_node_copy(s->hdr.type, s) : NULL;
  tn_any v = tn_any_obj(value);
  return copy && tn_field_set((tn_obj *)copy, tn_type_field(s->hdr.type, name), &v) == 0 ? copy
                                                                                         : NULL;
}

static int visit_loop(sync_ctx *x, const tn_For *l, coproc_unit *out) {
  TN_VEC(ahead);
  TN_VEC(behind);
  TN_TRY(visit_body(x, l->body, true, out, &ahead, &behind));
  TN_TRY(close_loop(out, l));
  TN_TRY(collect_into(x, out, l->min, COPROC_HOST) || collect_into(x, out, l->extent, COPROC_HOST));
  tn_stmt *loop;
  TN_GET(loop, with_field((const tn_stmt *)l, "body", out->stmt));
  TN_TRY(tn_vec_push_obj(&ahead, loop));
  for (int64_t i = 0; i < behind.len; ++i) TN_TRY(tn_vec_push(&ahead, behind.items[i]));
  return (out->stmt = tir_seq(&ahead)) ? 0 : -1;
}

static int visit_if(sync_ctx *x, const tn_IfThenElse *s, coproc_unit *out) {
  TN_VEC(none);
  coproc_unit no = {0};
  TN_TRY(visit_body(x, s->then_case, false, out, &none, &none));
  tn_stmt *made;
  TN_GET(made, with_field((const tn_stmt *)s, "then_case", out->stmt));
  if (s->else_case) {
    TN_TRY(visit_body(x, s->else_case, false, &no, &none, &none) || add_uses(x, out, &no));
    TN_GET(made, with_field(made, "else_case", no.stmt));
    out->dirty |= no.dirty;
  }
  out->stmt = made;
  return collect_into(x, out, s->condition, COPROC_HOST);
}

/* LetStmt, Allocate and the like: what they say themselves, and their body. */
static int visit_around(sync_ctx *x, tn_stmt *s, tn_stmt *body, coproc_unit *out) {
  TN_VEC(none);
  TN_TRY(visit_body(x, body, false, out, &none, &none));
  for (uint16_t i = 0; i < s->hdr.type->nfield; ++i) {
    tn_any v = tn_field_get((tn_obj *)s, &s->hdr.type->fields[i]);
    if (tn_any_is_obj(&v) && TN_IS(PrimExpr, v.v.obj))
      TN_TRY(collect_into(x, out, v.v.obj, COPROC_HOST));
  }
  return (out->stmt = with_field(s, "body", out->stmt)) ? 0 : -1;
}

static int visit_command(sync_ctx *x, tn_AttrStmt *s, coproc_unit *out) {
  const tn_IterVar *axis = TN_AS(IterVar, s->node);
  int64_t queue;
  TN_CHECK(axis, TypeError, s->span,
           "tir.CoProcSync: coproc_scope: expected the axis of a coprocessor as the node, got %s",
           s->node ? tn_obj_key(s->node) : "None");
  TN_CHECK(tir_as_int((const tn_obj *)s->value, &queue) && queue >= 0 && queue <= INT32_MAX,
           ValueError, s->span,
           "tir.CoProcSync: coproc_scope: expected the number of a queue, a constant from 0 on");
  const char *name = tn_cstr(axis->var->name);
  TN_CHECK(!x->name || strcmp(x->name, name) == 0, NotImplementedError, s->span,
           "tir.CoProcSync: the program uses two coprocessors, %s and %s: expected one", x->name,
           name);
  x->name = name;
  out->stmt = (tn_stmt *)s;
  out->dirty = true;
  return collect_into(x, out, s->body, queue);
}

static int is_command(void *ctx, tn_obj *o) {
  const tn_AttrStmt *s = TN_AS(AttrStmt, o);
  (void)ctx;
  return s && tn_str_eq(s->attr_key, "coproc_scope") ? 2 : 0;
}

/* All of it runs on the host: commands in it would be taken for what the program does itself. */
static int visit_other(sync_ctx *x, tn_stmt *s, coproc_unit *out) {
  int found = tn_pre_order(s, is_command, NULL);
  TN_CHECK(found != 2, NotImplementedError, s->span,
           "tir.CoProcSync: commands in a %s: expected them in loops with a range, conditions and "
           "sequences only",
           tn_obj_key(s));
  return found < 0 ? -1 : collect_into(x, out, s, COPROC_HOST);
}

static int visit(sync_ctx *x, tn_stmt *s, coproc_unit *out) {
  tn_AttrStmt *attr = TN_AS(AttrStmt, s);
  TN_VEC(none);
  TN_TRY(tn_stack_check("the program"));
  if (attr && tn_str_eq(attr->attr_key, "coproc_scope")) return visit_command(x, attr, out);
  switch (s->hdr.type_index) {
  case TN_TI_For: return visit_loop(x, (const tn_For *)s, out);
  case TN_TI_IfThenElse: return visit_if(x, (const tn_IfThenElse *)s, out);
  case TN_TI_SeqStmt: return visit_body(x, s, false, out, &none, &none);
  case TN_TI_AttrStmt: return visit_around(x, s, attr->body, out);
  case TN_TI_LetStmt: return visit_around(x, s, ((tn_LetStmt *)s)->body, out);
  case TN_TI_AssertStmt: return visit_around(x, s, ((tn_AssertStmt *)s)->body, out);
  case TN_TI_Allocate: return visit_around(x, s, ((tn_Allocate *)s)->body, out);
  case TN_TI_AllocateConst: return visit_around(x, s, ((tn_AllocateConst *)s)->body, out);
  case TN_TI_DeclBuffer: return visit_around(x, s, ((tn_DeclBuffer *)s)->body, out);
  default: out->stmt = s; return visit_other(x, s, out);
  }
}

/* ---- the pass ---- */

static tn_stmt *synced_body(sync_ctx *x, tn_stmt *body) {
  TN_VEC(none);
  coproc_unit all = {0};
  TN_TRYP(visit_body(x, body, false, &all, &none, &none));
  if (!all.dirty) return all.stmt;
  tn_stmt *wait;
  TN_GETP(wait, command(x, "coproc_sync", tn_arr_of(0)));
  return tir_seq2(all.stmt, wait);
}

tn_PrimFunc *tir_coproc_sync(tn_PrimFunc *f, const tn_pass_ctx *c) {
  sync_ctx x = {0};
  (void)c;
  int found = tn_pre_order(f->body, is_command, NULL);
  if (found != 2) return found < 0 ? NULL : f;
  tn_stmt *body = synced_body(&x, f->body);
  tn_arena_fini(&x.arena);
  return tir_with_body(f, body);
}
