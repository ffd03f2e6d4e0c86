/* While one iteration of a loop runs, what the next one reads anew is fetched into the cache.

     with T.attr(j, "pragma_prefetch_next", 1):
       for j in range(96):                     for j in range(96):
         for i in range(10):               ->    for i in range(10):
           for k in range(192):                    for k in range(192):
             ... B[j * 24576 + k * 128] ...          T.prefetch(B[min(j + 1, 95) * 24576 +
                                                                  (i * 192 + k) * 16])
                                                     ... B[j * 24576 + k * 128] ...

   A buffer is fetched when its flat index moves by a constant with the loop: the stretch between
   two iterations, or what is read of it where that is known. The lines of the next stretch are
   spread over all iterations of the serial loops inside, so that the memory has as much time as the
   work takes; the last iteration fetches what it has, which costs little. Hardware fetches only
   what follows on a page, and the first reads of a stretch would wait. Runs on flat buffers. */
#include "arith/analyzer.h"
#include "arith/region.h"
#include "ir/expr.h"
#include "ir/functor.h"
#include "tir/transforms/transforms.h"

enum {
  CACHE_LINE = 64,
  MIN_BYTES = 4096,    /* of a stretch: less is fetched while the loop starts */
  MAX_BYTES = 1 << 20, /* more would push out what is being read */
  MAX_LINES = 8,       /* in a turn: more cost more than they hide */
  MAX_ITERATIONS = 8,  /* for a line: with more the stretch is a small part of the time */
  MAX_BUFFERS = 4
};

typedef struct {
  const tn_Buffer *buffer;
  int64_t stride; /* elements by which the index moves in an iteration */
  int64_t start;  /* what is read, from the place that the number of the iteration tells */
  int64_t length;
} stretch;

typedef struct {
  tn_Var *loop;       /* whose next iteration is fetched for; NULL: none is marked */
  tn_expr *next;      /* its value in the next iteration; in the last one that of the last */
  tn_expr *step;      /* number of the iteration of the serial loops inside, counted through */
  int64_t iterations; /* how many there are; 0: not known */
  const tn_For *in;   /* the innermost serial loop that was entered */
  tn_vec *inside;     /* For: the serial loops that were entered, from the marked one's body on */
  bool done;
} fetcher;

/* ---- what is read ---- */

typedef struct {
  stretch found[MAX_BUFFERS];
  int n;
  tn_vec *loops; /* For: in the marked one, all that are around the reads */
  tn_arr *vars;  /* of the marked loop, then of those */
} reads;

static int64_t bytes_of(const tn_Buffer *b) { return (b->dtype.bits * b->dtype.lanes + 7) / 8; }

static stretch *find(reads *r, const tn_Buffer *b) {
  for (int i = 0; i < r->n; ++i)
    if (r->found[i].buffer == b) return &r->found[i];
  return NULL;
}

static int add_loop(void *ctx, tn_obj *o) {
  return TN_AS(For, o) ? tn_vec_push_obj(((reads *)ctx)->loops, o) : 0;
}

/* Moves the start of what is read, or its end, by what a loop adds to the index. */
static bool extend(stretch *s, const tn_For *l, const tn_obj *factor) {
  int64_t f, first, extent, by, reach;
  return tir_as_int(factor, &f) && tir_as_int((const tn_obj *)l->min, &first) &&
         tir_as_int((const tn_obj *)l->extent, &extent) && extent > 0 &&
         !__builtin_mul_overflow(f, first, &by) && !__builtin_mul_overflow(f, extent - 1, &reach) &&
         !__builtin_add_overflow(by, reach < 0 ? reach : 0, &by) &&
         !__builtin_add_overflow(s->start, by, &s->start) && reach > INT64_MIN &&
         !__builtin_add_overflow(s->length, reach < 0 ? -reach : reach, &s->length);
}

/* The elements that an iteration reads, when all factors are known; else those up to the next. */
static stretch stretch_of(const reads *r, const tn_Buffer *b, const tn_arr *factors,
                          int64_t stride) {
  stretch whole = {b, stride, 0, stride}, s = {b, stride, 0, 1};
  if (factors->len != r->vars->len + 1 ||
      !tir_as_int(tn_arr_obj(factors, factors->len - 1), &s.start))
    return whole;
  for (int64_t i = 0; i < r->loops->len; ++i)
    if (!extend(&s, (const tn_For *)r->loops->items[i].v.obj, tn_arr_obj(factors, i + 1)))
      return whole;
  return s.length < stride ? s : whole;
}

static int note(void *ctx, tn_obj *o) {
  reads *r = ctx;
  const tn_BufferLoad *load = TN_AS(BufferLoad, o);
  int64_t stride = 0;
  if (!load || load->indices->len != 1 || r->n == MAX_BUFFERS) return 0;
  tn_expr *index = (tn_expr *)tn_arr_obj(load->indices, 0);
  const tn_Ramp *vector = TN_AS(Ramp, index);
  tn_arr *factors, *one;
  TN_GET(factors, arith_linear(vector ? vector->base : index, r->vars));
  if (vector || factors->len == 0) { /* maybe in the marked loop alone */
    TN_GET(one, tn_arr_of(1, tn_arr_obj(r->vars, 0)));
    TN_GET(factors, arith_linear(vector ? vector->base : index, one));
  }
  if (factors->len == 0 || !tir_as_int(tn_arr_obj(factors, 0), &stride)) return 0;
  int64_t size = bytes_of(load->buffer);
  if (size <= 0 || stride < MIN_BYTES / size || stride > MAX_BYTES / size) return 0;
  stretch s = stretch_of(r, load->buffer, factors, stride), *known = find(r, load->buffer);
  if (!known) r->found[r->n++] = s;
  else if (known->start != s.start || known->length != s.length)
    *known = (stretch){known->buffer, known->stride, 0, known->stride};
  return 0;
}

/* ---- the fetches ---- */

/* One line: number `line` of those of the next iteration. */
static tn_stmt *fetch(const fetcher *x, const stretch *s, tn_expr *line) {
  tn_dtype t = x->loop->dtype;
  int64_t per_line = CACHE_LINE / bytes_of(s->buffer);
  tn_expr *at = tir_add(tir_mul(x->next, tir_const_int(t, s->stride)),
                        tir_mul(line, tir_const_int(t, per_line > 0 ? per_line : 1)));
  at = tir_add(at, tir_const_int(t, s->start));
  tn_expr *first = at ? tir_load((tn_Buffer *)(uintptr_t)s->buffer, tn_arr_of(1, at)) : NULL;
  tn_expr *address = first ? tir_call(TN_HANDLE, TIR_OP_address_of, 1, first) : NULL;
  /* 2: into the second level, where a whole stretch has room */
  return (tn_stmt *)TN_MAKE(Evaluate, .value = tir_call(TN_VOID, TIR_OP_prefetch, 4, address,
                                                        tir_i32(0), tir_i32(2), tir_i32(1)));
}

static tn_stmt *fetch_all(const fetcher *x, const stretch *s, tn_stmt *body) {
  tn_dtype t = x->loop->dtype;
  int64_t lines = (s->length * bytes_of(s->buffer) + CACHE_LINE - 1) / CACHE_LINE;
  int64_t each = (lines + x->iterations - 1) / x->iterations;
  if (each > MAX_LINES || x->iterations / MAX_ITERATIONS > lines) return body;
  tn_expr *first = tir_mul(x->step, tir_const_int(t, each));
  /* What lies behind the stretch would push out what is needed: the last line again. No condition,
     by which LoopPartition would divide the loop instead of where tiles are whole. */
  if (x->iterations > 2 * lines) first = tir_min(first, tir_const_int(t, lines - 1));
  for (int64_t i = each; i-- > 0 && body;) {
    tn_expr *line = first ? tir_add(first, tir_const_int(t, i)) : NULL;
    tn_stmt *one = line ? fetch(x, s, line) : NULL;
    body = one ? tir_seq2(one, body) : NULL;
  }
  return body;
}

/* ---- where ---- */

static tn_obj *marked(tn_mut *m, tn_AttrStmt *op) {
  fetcher *x = m->ctx, outer = *x;
  if (!tn_str_eq(op->attr_key, "pragma_prefetch_next")) return tn_mut_children(m, op);
  const tn_stmt *below = op->body; /* maybe under other pragmas */
  for (const tn_AttrStmt *a; (a = TN_AS(AttrStmt, below));) below = a->body;
  const tn_For *loop = TN_AS(For, below);
  TN_CHECKP(loop, ValueError, op->span, "pragma_prefetch_next: expected a loop below it");
  tn_dtype t = loop->loop_var->dtype;
  tn_expr *last = tir_sub(tir_add(loop->min, loop->extent), tir_one(t));
  tn_expr *next = tir_min(tir_add((tn_expr *)loop->loop_var, tir_one(t)), last);
  if (!next) return NULL;
  TN_VEC(inside);
  *x = (fetcher){.loop = loop->loop_var, .next = next, .step = tir_zero(t), .iterations = 1};
  x->inside = &inside;
  tn_obj *r = tn_mut_visit(m, op->body);
  *x = outer;
  return r;
}

/* What the loop reads of the next iteration's, fetched in each of its iterations. */
static tn_stmt *with_fetches(const fetcher *x, tn_stmt *body) {
  TN_VEC(loops);
  TN_VEC(vars);
  reads r = {.loops = &loops};
  TN_TRYP(tn_vec_push_obj(&vars, x->loop));
  for (int64_t i = 0; i < x->inside->len; ++i) TN_TRYP(tn_vec_push(&loops, x->inside->items[i]));
  TN_TRYP(tn_pre_order(body, add_loop, &r));
  for (int64_t i = 0; i < loops.len; ++i)
    TN_TRYP(tn_vec_push_obj(&vars, ((const tn_For *)loops.items[i].v.obj)->loop_var));
  TN_GETP(r.vars, tn_arr_from(&vars));
  TN_TRYP(tn_pre_order(body, note, &r));
  for (int i = 0; i < r.n && body; ++i) body = fetch_all(x, &r.found[i], body);
  return body;
}

static tn_obj *loop(tn_mut *m, tn_For *op) {
  fetcher *x = m->ctx, outer = *x;
  int64_t extent, depth = x->inside ? x->inside->len : 0;
  if (!x->loop || x->loop == op->loop_var || op->kind != TIR_FOR_SERIAL || x->done)
    return tn_mut_children(m, op);
  if (!tir_as_int((const tn_obj *)op->extent, &extent) || extent <= 0 || x->iterations == 0)
    return tn_mut_children(m, op);
  tn_expr *here = tir_sub((tn_expr *)op->loop_var, op->min);
  x->step = tir_add(tir_mul(x->step, op->extent), here);
  x->iterations = extent < INT32_MAX / x->iterations ? x->iterations * extent : 0;
  x->in = op;
  if (!x->step || tn_vec_push_obj(x->inside, op)) return NULL;
  tn_stmt *body = tn_mut_visit(m, op->body);
  if (body && x->in == op && x->iterations) {
    body = with_fetches(x, body);
    outer.done = true;
  }
  outer.done |= x->done;
  outer.in = x->in;
  x->inside->len = depth;
  *x = outer;
  if (!body || body == op->body) return body ? (tn_obj *)op : NULL;
  tn_For copy = *op;
  copy.body = body;
  return tn_node_copy(&tn_type_For, &copy);
}

tn_PrimFunc *tir_prefetch_next(tn_PrimFunc *f, const tn_pass_ctx *c) {
  static const tn_mut_case cases[] = {TN_CASE(AttrStmt, marked), TN_CASE(For, loop)};
  fetcher x = {0};
  (void)c;
  TN_MUT(m, cases, &x);
  return tir_with_body(f, tn_mut_visit(&m, f->body));
}
