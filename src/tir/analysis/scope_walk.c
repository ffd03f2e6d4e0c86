/* The walk of scope_walk.h: a stack of jobs, the next one on top. */
#include "tir/analysis/scope_walk.h"

#include <string.h>

#include "base/alloc.h"
#include "ir/expr.h"
#include "object/functions.h"

typedef enum { VISIT, DEFINE, DEFINE_BUFFER, END, ENTER_BLOCK, LEAVE_BLOCK } job_kind;

typedef struct {
  job_kind kind;
  scope_kind scope;
  const tn_obj *obj;
  const tn_expr *value; /* of a let */
  int64_t place;
} job;

/* One step of the way from the root: a field, or an index into it. */
typedef struct {
  int64_t up;
  const char *field; /* NULL: the root */
  int64_t index;     /* -1: none */
  const tn_obj *node;
} place;

struct scope_walk {
  job *jobs; /* as it runs, jobs of one node are added in order and then turned round */
  int64_t njobs, cap_jobs;
  place *places;
  int64_t nplaces, cap_places;
  int64_t now; /* place of the node that is being expanded or shown */
  const tn_expr *value;
};

const tn_expr *scope_walk_value(const scope_walk *w) { return w->value; }
int64_t scope_walk_place(const scope_walk *w) { return w->now; }

tn_Span *scope_walk_span(const scope_walk *w) {
  for (int64_t i = w->now;; i = w->places[i].up) {
    const tn_obj *o = w->places[i].node;
    bool placed = o && (TN_IS(Stmt, o) || (TN_IS(PrimExpr, o) && !TN_IS(Var, o)));
    tn_any span = placed ? tn_field_get(o, tn_type_field(o->type, "span")) : tn_any_none();
    if (tn_any_is_obj(&span)) return (tn_Span *)span.v.obj;
    if (!w->places[i].field) return NULL;
  }
}

tn_str *scope_walk_path(const scope_walk *w, int64_t at) {
  int64_t n = 0;
  for (int64_t i = at; w->places[i].field; i = w->places[i].up) ++n;
  int64_t *way = tn_alloc_array(n + 1, sizeof *way);
  if (!way) return NULL;
  for (int64_t i = at, k = n; w->places[i].field; i = w->places[i].up) way[--k] = i;
  TN_BUF(text);
  tn_buf_puts(&text, "<root>");
  for (int64_t k = 0; k < n; ++k) {
    const place *p = &w->places[way[k]];
    tn_buf_printf(&text, ".%s", p->field);
    if (p->index >= 0) tn_buf_printf(&text, "[%lld]", (long long)p->index);
  }
  tn_free(way);
  return tn_scope_own(tn_buf_str(&text));
}

/* ---- jobs ---- */

static int64_t step(scope_walk *w, const char *field, int64_t index) {
  TN_GROW(w->places, w->cap_places, w->nplaces + 1, return -1);
  w->places[w->nplaces] = (place){w->now, field, index, NULL};
  return w->nplaces++;
}

static int add(scope_walk *w, job j, const char *field, int64_t index) {
  if (!j.obj) return 0;
  if ((j.place = step(w, field, index)) < 0) return -1;
  w->places[j.place].node = j.obj;
  TN_GROW(w->jobs, w->cap_jobs, w->njobs + 1, return -1);
  w->jobs[w->njobs++] = j;
  return 0;
}

static int visit(scope_walk *w, const void *obj, const char *field) {
  return add(w, (job){.kind = VISIT, .obj = obj}, field, -1);
}
static int visit_all(scope_walk *w, const tn_arr *items, const char *field) {
  for (int64_t i = 0; i < items->len; ++i)
    TN_TRY(add(w, (job){.kind = VISIT, .obj = tn_arr_obj(items, i)}, field, i));
  return 0;
}
static int define(scope_walk *w, const tn_Var *v, scope_kind kind, const char *field) {
  return add(w, (job){.kind = DEFINE, .scope = kind, .obj = (const tn_obj *)v}, field, -1);
}
static int end(scope_walk *w, const tn_Var *v, scope_kind kind) {
  return add(w, (job){.kind = END, .scope = kind, .obj = (const tn_obj *)v}, "body", -1);
}

/* ---- what each node brings, in order ---- */

static scope_kind loop_kind(const tn_For *s) {
  return s->kind == TIR_FOR_THREAD_BINDING ? SCOPE_BOUND_LOOP : SCOPE_LOOP;
}

static int loop(scope_walk *w, const tn_For *s) {
  return visit(w, s->min, "min") || visit(w, s->extent, "extent") ||
                 define(w, s->loop_var, loop_kind(s), "loop_var") || visit(w, s->body, "body") ||
                 end(w, s->loop_var, loop_kind(s))
             ? -1
             : 0;
}

static int let(scope_walk *w, const tn_Var *v, const tn_expr *value, const void *body) {
  job d = {.kind = DEFINE, .scope = SCOPE_LET, .obj = (const tn_obj *)v, .value = value};
  return visit(w, value, "value") || add(w, d, "var", -1) || visit(w, body, "body") ||
                 end(w, v, SCOPE_LET)
             ? -1
             : 0;
}

static int allocate(scope_walk *w, const tn_Var *v, const tn_arr *extents, const tn_expr *condition,
                    const tn_stmt *body) {
  return visit_all(w, extents, "extents") || visit(w, condition, "condition") ||
                 define(w, v, SCOPE_ALLOC, "buffer_var") || visit(w, body, "body") ||
                 end(w, v, SCOPE_ALLOC)
             ? -1
             : 0;
}

static int attr(scope_walk *w, const tn_AttrStmt *s) {
  const tn_IterVar *iv = TN_AS(IterVar, s->node);
  bool thread =
      iv && (tn_str_eq(s->attr_key, "thread_extent") || tn_str_eq(s->attr_key, "virtual_thread"));
  /* a pragma of a loop names the loop's variable before the loop, as "fragment_shape" and
     "fragment_layout" do that of an allocation */
  const char *key = s->attr_key->data;
  bool pragma = strncmp(key, "pragma_", 7) == 0 || strncmp(key, "fragment_", 9) == 0;
  bool seen =
      !thread && !pragma && s->node && (TN_IS(PrimExpr, s->node) || TN_AS(CommReducer, s->node));
  if (seen && visit(w, s->node, "node")) return -1;
  return visit(w, s->value, "value") || (thread && define(w, iv->var, SCOPE_THREAD, "node.var")) ||
                 visit(w, s->body, "body") || (thread && end(w, iv->var, SCOPE_THREAD))
             ? -1
             : 0;
}

static int iter_vars(scope_walk *w, const tn_arr *vars, scope_kind kind, const char *field,
                     bool begins) {
  for (int64_t i = 0; i < vars->len; ++i) {
    const tn_IterVar *iv = (const tn_IterVar *)tn_arr_obj(vars, i);
    if (begins && iv->dom && add(w, (job){.kind = VISIT, .obj = (const tn_obj *)iv->dom}, field, i))
      return -1;
    job j = {.kind = begins ? DEFINE : END, .scope = kind, .obj = (const tn_obj *)iv->var};
    TN_TRY(add(w, j, field, i));
  }
  return 0;
}

static const tn_Var *pointer_of(const tn_obj *buffer) { return ((const tn_Buffer *)buffer)->data; }

static int block_buffers(scope_walk *w, const tn_Block *b, bool begins) {
  for (int64_t i = 0; i < b->alloc_buffers->len; ++i) {
    const tn_Var *data = pointer_of(tn_arr_obj(b->alloc_buffers, i));
    job j = {.kind = begins ? DEFINE : END, .scope = SCOPE_ALLOC, .obj = (const tn_obj *)data};
    TN_TRY(add(w, j, "alloc_buffers", i));
  }
  for (int64_t i = 0; begins && i < b->match_buffers->len; ++i) {
    const tn_MatchBufferRegion *m = (tn_MatchBufferRegion *)tn_arr_obj(b->match_buffers, i);
    job source = {.kind = VISIT, .obj = (const tn_obj *)m->source};
    job buffer = {.kind = DEFINE_BUFFER, .obj = (const tn_obj *)m->buffer};
    TN_TRY(add(w, source, "match_buffers", i));
    TN_TRY(add(w, buffer, "match_buffers", i));
  }
  return 0;
}

static int block(scope_walk *w, const tn_Block *b) {
  const job in = {.kind = ENTER_BLOCK, .obj = (const tn_obj *)b},
            out = {.kind = LEAVE_BLOCK, .obj = (const tn_obj *)b};
  return iter_vars(w, b->iter_vars, SCOPE_BLOCK_ITER, "iter_vars", true) ||
                 block_buffers(w, b, true) || add(w, in, "body", -1) ||
                 visit_all(w, b->reads, "reads") || visit_all(w, b->writes, "writes") ||
                 visit(w, b->init, "init") || visit(w, b->body, "body") ||
                 add(w, out, "body", -1) || block_buffers(w, b, false) ||
                 iter_vars(w, b->iter_vars, SCOPE_BLOCK_ITER, "iter_vars", false)
             ? -1
             : 0;
}

static int reducer(scope_walk *w, const tn_CommReducer *r) {
  const tn_arr *sides[] = {r->lhs, r->rhs};
  for (int pass = 0; pass < 2; ++pass) {
    for (int s = 0; s < 2; ++s) {
      for (int64_t i = 0; i < sides[s]->len; ++i) {
        job j = {
            .kind = pass ? END : DEFINE, .scope = SCOPE_REDUCE, .obj = tn_arr_obj(sides[s], i)};
        TN_TRY(add(w, j, s ? "rhs" : "lhs", i));
      }
    }
    if (!pass) TN_TRY(visit_all(w, r->result, "result"));
  }
  return visit_all(w, r->identity_element, "identity_element");
}

static int reduce(scope_walk *w, const tn_Reduce *e) {
  return visit(w, e->combiner, "combiner") || iter_vars(w, e->axis, SCOPE_REDUCE, "axis", true) ||
                 visit_all(w, e->source, "source") || visit_all(w, e->init, "init") ||
                 visit(w, e->condition, "condition") ||
                 iter_vars(w, e->axis, SCOPE_REDUCE, "axis", false)
             ? -1
             : 0;
}

static int realize(scope_walk *w, const tn_BufferRealize *s) {
  return visit_all(w, s->bounds, "bounds") || visit(w, s->condition, "condition") ||
                 define(w, s->buffer->data, SCOPE_ALLOC, "buffer.data") ||
                 visit(w, s->body, "body") || end(w, s->buffer->data, SCOPE_ALLOC)
             ? -1
             : 0;
}

static int func(scope_walk *w, const tn_PrimFunc *f) {
  for (int64_t i = 0; i < f->params->len; ++i) {
    job j = {.kind = DEFINE, .scope = SCOPE_PARAM, .obj = tn_arr_obj(f->params, i)};
    TN_TRY(add(w, j, "params", i));
  }
  for (int64_t i = 0; i < f->buffer_map->len; ++i) {
    job j = {.kind = DEFINE_BUFFER, .obj = f->buffer_map->entries[i].value.v.obj};
    TN_TRY(add(w, j, "buffer_map", i));
  }
  TN_TRY(visit(w, f->body, "body"));
  for (int64_t i = 0; i < f->params->len; ++i) {
    job j = {.kind = END, .scope = SCOPE_PARAM, .obj = tn_arr_obj(f->params, i)};
    TN_TRY(add(w, j, "params", i));
  }
  return 0;
}

/* Fields of nodes that bind nothing. */
static int children(scope_walk *w, const tn_obj *o) {
  const tn_type *t = o->type;
  if (t->kind != TN_KIND_NODE) return 0;
  for (int i = 0; i < t->nfield; ++i) {
    const tn_field *f = &t->fields[i];
    if (f->kind != TN_F_REF || strcmp(f->name, "span") == 0) continue;
    tn_any v = tn_field_get(o, f);
    if (!tn_any_is_obj(&v)) continue;
    if (v.type_index == TN_TI_Array) TN_TRY(visit_all(w, (const tn_arr *)v.v.obj, f->name));
    else TN_TRY(visit(w, v.v.obj, f->name));
  }
  return 0;
}

static int expand(scope_walk *w, const tn_obj *o) {
  switch (o->type_index) {
  case TN_TI_PrimFunc: return func(w, (const tn_PrimFunc *)o);
  case TN_TI_For: return loop(w, (const tn_For *)o);
  case TN_TI_LetStmt: {
    const tn_LetStmt *s = (const tn_LetStmt *)o;
    return let(w, s->var, s->value, s->body);
  }
  case TN_TI_Let: {
    const tn_Let *e = (const tn_Let *)o;
    return let(w, e->var, e->value, e->body);
  }
  case TN_TI_Allocate: {
    const tn_Allocate *s = (const tn_Allocate *)o;
    return allocate(w, s->buffer_var, s->extents, s->condition, s->body);
  }
  case TN_TI_AllocateConst: {
    const tn_AllocateConst *s = (const tn_AllocateConst *)o;
    return allocate(w, s->buffer_var, s->extents, NULL, s->body);
  }
  case TN_TI_AttrStmt: return attr(w, (const tn_AttrStmt *)o);
  case TN_TI_Block: return block(w, (const tn_Block *)o);
  case TN_TI_CommReducer: return reducer(w, (const tn_CommReducer *)o);
  case TN_TI_Reduce: return reduce(w, (const tn_Reduce *)o);
  case TN_TI_BufferRealize: return realize(w, (const tn_BufferRealize *)o);
  case TN_TI_Buffer: return visit(w, pointer_of(o), "data"); /* a use of what it points to */
  case TN_TI_Op:
  case TN_TI_GlobalVar:
  case TN_TI_String:
  case TN_TI_Map: return 0;
  default: return TN_IS(Type, o) ? 0 : children(w, o);
  }
}

/* ---- running ---- */

/* Variables of a buffer that no one has defined come with it. The visitor knows which are new. */
static int show_buffer(scope_walk *w, const tn_Buffer *b, const scope_visitor *v, void *ctx) {
  const tn_arr *lists[] = {b->shape, b->strides};
  if (!v->define) return 0;
  int r = v->define(ctx, w, b->data, SCOPE_BUFFER);
  for (int k = 0; k < 2 && !r; ++k) {
    for (int64_t i = 0; lists[k] && i < lists[k]->len && !r; ++i) {
      tn_obj *e = tn_arr_obj(lists[k], i);
      if (TN_IS(Var, e)) r = v->define(ctx, w, (tn_Var *)e, SCOPE_BUFFER);
    }
  }
  if (!r && TN_IS(Var, b->elem_offset))
    r = v->define(ctx, w, (tn_Var *)b->elem_offset, SCOPE_BUFFER);
  return r;
}

static int show(scope_walk *w, const job *j, const scope_visitor *v, void *ctx) {
  tn_Var *var = (tn_Var *)(uintptr_t)j->obj;
  w->value = j->value;
  switch (j->kind) {
  case VISIT: return v->use ? v->use(ctx, w, var) : 0;
  case DEFINE: return v->define ? v->define(ctx, w, var, j->scope) : 0;
  case DEFINE_BUFFER: return show_buffer(w, (const tn_Buffer *)j->obj, v, ctx);
  case END: return v->end ? v->end(ctx, w, var, j->scope) : 0;
  case ENTER_BLOCK: return v->enter_block ? v->enter_block(ctx, w, (const tn_Block *)j->obj) : 0;
  case LEAVE_BLOCK: return v->leave_block ? v->leave_block(ctx, w, (const tn_Block *)j->obj) : 0;
  }
  return 0;
}

static int run(scope_walk *w, const scope_visitor *v, void *ctx) {
  while (w->njobs > 0) {
    job j = w->jobs[--w->njobs];
    w->now = j.place;
    if (j.kind != VISIT || TN_IS(Var, j.obj)) {
      int r = show(w, &j, v, ctx);
      if (r) return r;
      continue;
    }
    int64_t from = w->njobs;
    TN_TRY(expand(w, j.obj));
    for (int64_t a = from, b = w->njobs - 1; a < b; ++a, --b) {
      job swap = w->jobs[a];
      w->jobs[a] = w->jobs[b];
      w->jobs[b] = swap;
    }
  }
  return 0;
}

int scope_walk_run(const tn_obj *root, const scope_visitor *visitor, void *ctx) {
  scope_walk w = {0};
  int r = step(&w, NULL, -1) < 0 ? -1 : 0;
  if (!r) {
    TN_GROW(w.jobs, w.cap_jobs, 1, r = -1);
    if (!r) w.jobs[w.njobs++] = (job){.kind = VISIT, .obj = root};
  }
  if (!r) r = run(&w, visitor, ctx);
  tn_free(w.jobs);
  tn_free(w.places);
  return r;
}
