/* Products of matrices of bfloat16 or of int8 in marked loops are computed in matrix registers.

     with T.attr(k, "pragma_tile_product", 1):
       for k in range(24):                             T.tile_product(address of C, of A, of W,
         for r, i in T.grid(2, 16):                        2, 2, 2048, 128, 24576, 1536, 128,
           for j in range(32):                  ->         address of W, 0, 0, 24, 64, 2048)
             for l in range(16):
               for p in range(2):
                 C[r * 512 + i * 32 + j] += T.float32(A[r * 12288 + i * 768 + k * 32 + l * 2 + p])
                     * T.float32(W[k * 1024 + l * 64 + j * 2 + p])

   The last two loops are the values of a sum that share a row of a tile, up to 32 in pairs, or 64
   int8 in fours, as W has them (or three, of which the first two go on where the other ends); rows
   are those of A and C, up to 2 times 16; columns those of W and C, 16 or 32. What is summed up
   outside of these goes on in the registers. With 2 for 1, what the next product with other weights
   reads is fetched into the cache meanwhile. Loops of another form stay as they are. Sums that the
   statement in front sets to zero begin with zero in the registers, and that statement goes.

   The registers are set up at the begin of the function, or of the body of a parallel loop, and
   given back at its end; so all products of a function have tiles of the same sizes. Runs on flat
   buffers, while there is bfloat16. */
#include "arith/region.h"
#include "tir/transforms/transforms.h"

enum {
  MAX_LOOPS = 12,
  MAX_SUMS = 4,
  TILE_ROWS = 16,
  TILE_COLUMNS = 16,
  MAX_GROUPS = 16, /* of values in a row of a tile */
  LANE = 4,        /* bytes of a sum, and of a group of values */
  OF_BYTES = 4,    /* kind of a product: and more for its signs (codegen/llvm/x86_amx.c) */
  A_SIGN = 1,
  W_SIGN = 2,
  FROM_ZERO = 8 /* the sums begin with zero, and are not read */
};

typedef struct {
  tn_Var *var;
  int64_t extent;
  int64_t c, a, w; /* elements that the index in each moves by */
} nest_loop;

typedef struct {
  const tn_BufferStore *store;
  const tn_BufferLoad *a, *w;
  nest_loop loop[MAX_LOOPS];
  int n;
  int64_t bytes;    /* of an element of a and w */
  int64_t group;    /* elements that share a lane */
  int64_t kind;     /* as tile_product has it */
  tn_expr *base[3]; /* of c, a, w */
  const nest_loop *value, *groups, *column, *columns, *row,
      *row_tile; /* columns, row_tile: outer ones or NULL */
  const nest_loop *sum[MAX_SUMS];
  int sums;
} product;

enum { FETCH = 2, MAX_AROUND = 16, CACHE_LINE = 64, MAX_LINES = 16 };

typedef struct {
  int64_t rows; /* of the tiles of products that were found since the last configuration; 0: none */
  int64_t groups;
  const tn_For *around[MAX_AROUND]; /* loops that are open, from the outside */
  int naround;
} state;

/* ---- finding ---- */

/* The loops down to the store. */
static bool read_loops(const tn_stmt *s, product *p) {
  for (const tn_For *f; (f = TN_AS(For, s)); s = f->body) {
    if (p->n == MAX_LOOPS || f->kind == TIR_FOR_PARALLEL || !tir_is_zero(f->min) ||
        !tir_as_int((tn_obj *)f->extent, &p->loop[p->n].extent) || p->loop[p->n].extent <= 0)
      return false;
    p->loop[p->n++].var = f->loop_var;
  }
  p->store = TN_AS(BufferStore, s);
  return p->store != NULL;
}

/* A widened element. */
static const tn_BufferLoad *small_factor(const tn_expr *e) {
  const tn_Cast *c = TN_AS(Cast, e);
  const tn_BufferLoad *l = c ? TN_AS(BufferLoad, c->value) : NULL;
  tn_dtype t = l ? l->buffer->dtype : (tn_dtype){0, 0, 0};
  bool half = t.code == kDLBfloat && t.bits == 16 && tn_dtype_eq(e->dtype, TN_F32);
  bool byte = ir_is_integral(t) && t.bits == 8 && tn_dtype_eq(e->dtype, TN_I32);
  return (half || byte) && t.lanes == 1 ? l : NULL;
}

static bool read_store(product *p) {
  const tn_Add *sum = TN_AS(Add, p->store->value);
  const tn_BufferLoad *self = sum ? TN_AS(BufferLoad, sum->a) : NULL;
  const tn_Mul *m = sum ? TN_AS(Mul, sum->b) : NULL;
  if (!self || !m || self->buffer != p->store->buffer ||
      tn_equal(self->indices, p->store->indices, 0) != 1)
    return false;
  p->a = small_factor(m->a);
  p->w = small_factor(m->b);
  if (!p->a || !p->w || p->a->buffer->dtype.bits != p->w->buffer->dtype.bits) return false;
  p->bytes = p->a->buffer->dtype.bits / 8;
  p->group = LANE / p->bytes;
  if (p->bytes == 1)
    p->kind = OF_BYTES + (ir_is_int(p->a->buffer->dtype) ? A_SIGN : 0) +
              (ir_is_int(p->w->buffer->dtype) ? W_SIGN : 0);
  return true;
}

static bool read_index(product *p, const tn_arr *indices, int which) {
  TN_VEC(vars);
  for (int i = 0; i < p->n; ++i)
    if (tn_vec_push_obj(&vars, p->loop[i].var)) return false;
  tn_arr *all = tn_arr_from(&vars);
  tn_arr *f =
      all && indices->len == 1 ? arith_linear((tn_expr *)tn_arr_obj(indices, 0), all) : NULL;
  if (!f || f->len != p->n + 1) return false;
  for (int i = 0; i < p->n; ++i) {
    nest_loop *l = &p->loop[i];
    int64_t *by = which == 0 ? &l->c : which == 1 ? &l->a : &l->w;
    if (!tir_as_int(tn_arr_obj(f, i), by)) return false;
  }
  p->base[which] = (tn_expr *)tn_arr_obj(f, p->n);
  return true;
}

static bool take_row(product *p, const nest_loop *l) {
  if (p->row_tile) return false;
  p->row_tile = p->row;
  p->row = l;
  return true;
}

static bool take_column(product *p, const nest_loop *l) {
  if (p->columns) return false;
  p->columns = p->column;
  p->column = l;
  return true;
}

/* Columns that follow one another, in one loop or two. */
static int64_t count_columns(const product *p) {
  const nest_loop *in = p->column, *out = p->columns;
  if (in->c != 1 || in->w != p->group ||
      (out && (out->c != in->extent || out->w != p->group * in->extent)))
    return 0;
  return in->extent * (out ? out->extent : 1);
}

/* Two loops over groups that lie next to each other, as pixels and their channels do, become one.
 */
static void join_groups(product *p) {
  nest_loop *l = p->n > 3 ? &p->loop[p->n - 3] : NULL, *in = l ? l + 1 : NULL;
  if (!l || l->c || in->c || l->a != in->a * in->extent || l->w != in->w * in->extent ||
      l->extent > MAX_GROUPS / in->extent || in->extent > MAX_GROUPS)
    return;
  in->extent *= l->extent;
  *l = *in;
  in[0] = in[1];
  --p->n;
}

/* Which loop plays which part, from the outside. */
static bool give_parts(product *p) {
  join_groups(p);
  int inner = p->n - 2; /* loops of a row's values come last */
  for (int i = 0; i < p->n; ++i) {
    const nest_loop *l = &p->loop[i];
    bool ok = true;
    if (l->c && l->a && !l->w) ok = take_row(p, l);
    else if (l->c && l->w && !l->a) ok = take_column(p, l);
    else if (l->c) ok = false;
    else if (l->extent == p->group && l->a == 1 && l->w == 1) ok = !p->value, p->value = l;
    else if (i >= inner && l->extent <= MAX_GROUPS && l->a == p->group)
      ok = !p->groups, p->groups = l;
    else ok = p->sums < MAX_SUMS, p->sum[ok ? p->sums++ : 0] = l;
    if (!ok) return false;
  }
  return p->value && p->groups && p->column && p->row &&
         (count_columns(p) == TILE_COLUMNS || count_columns(p) == 2 * TILE_COLUMNS) &&
         p->row->extent <= TILE_ROWS && (!p->row_tile || p->row_tile->extent <= 2);
}

static bool match(const tn_stmt *s, product *p) {
  if (!read_loops(s, p) || !read_store(p) ||
      !tn_dtype_eq(p->store->buffer->dtype, p->bytes == 1 ? TN_I32 : TN_F32) ||
      !read_index(p, p->store->indices, 0) || !read_index(p, p->a->indices, 1) ||
      !read_index(p, p->w->indices, 2))
    return false;
  return give_parts(p);
}

/* ---- what the next product with other weights reads ---- */

typedef struct {
  tn_expr *from; /* index in w; NULL: nothing is fetched */
  int64_t lines; /* in each turn */
} fetch;

/* The innermost loop around that w moves with, in whole strides of what a product reads: while it
   runs through the loops inside, each product fetches its part of the next stride. */
static int find_fetch(const state *x, const product *p, fetch *out) {
  int64_t turns = 1, calls = 1, extent, stride = 0;
  tn_expr *number = NULL;
  *out = (fetch){0};
  for (int i = 0; i < p->sums; ++i)
    if (__builtin_mul_overflow(turns, p->sum[i]->extent, &turns)) return 0;
  for (int i = x->naround - 1; i >= 0; --i) {
    const tn_For *f = x->around[i];
    tn_arr *parts;
    TN_GET(parts, arith_linear(p->base[2], tn_arr_of(1, f->loop_var)));
    if (parts->len != 2 || !tir_as_int(tn_arr_obj(parts, 0), &stride)) return 0;
    if (stride) break;
    if (!tir_as_int((tn_obj *)f->extent, &extent) || extent <= 0 || extent > INT32_MAX / calls)
      return 0;
    tn_expr *here =
        tir_mul(tir_sub((tn_expr *)f->loop_var, f->min), tir_const_int(f->loop_var->dtype, calls));
    TN_GET(number, number ? tir_add(here, number) : here);
    calls *= extent;
  }
  int64_t bytes = stride * p->bytes;
  if (bytes <= 0 || bytes > INT32_MAX || turns > INT32_MAX) return 0;
  int64_t lines = (bytes / CACHE_LINE + calls * turns - 1) / (calls * turns);
  if (lines > MAX_LINES) return 0;
  out->lines = lines;
  out->from = tir_add(p->base[2], tir_const_int(p->base[2]->dtype, stride));
  int64_t part = lines * turns * CACHE_LINE / p->bytes;
  if (number)
    TN_GET(out->from, tir_add(out->from, tir_mul(number, tir_const_int(number->dtype, part))));
  return out->from ? 0 : -1;
}

/* ---- the call ---- */

static tn_expr *address(tn_Buffer *b, tn_expr *base) {
  tn_expr *first = base ? tir_load(b, tn_arr_of(1, base)) : NULL;
  return first ? tir_call(TN_HANDLE, TIR_OP_address_of, 1, first) : NULL;
}

static int push(tn_vec *v, int64_t n) { return tn_vec_push_obj(v, tir_const_int(TN_I64, n)); }

static tn_stmt *as_call(const product *p, const fetch *next, bool from_zero) {
  TN_VEC(v);
  const nest_loop *r = p->row_tile;
  TN_TRYP(tn_vec_push_obj(&v, address(p->store->buffer, p->base[0])));
  TN_TRYP(tn_vec_push_obj(&v, address(p->a->buffer, p->base[1])));
  TN_TRYP(tn_vec_push_obj(&v, address(p->w->buffer, p->base[2])));
  TN_TRYP(push(&v, r ? r->extent : 1));
  TN_TRYP(push(&v, count_columns(p) / TILE_COLUMNS));
  TN_TRYP(push(&v, r ? r->c * LANE : 0));
  TN_TRYP(push(&v, p->row->c * LANE));
  TN_TRYP(push(&v, r ? r->a * p->bytes : 0));
  TN_TRYP(push(&v, p->row->a * p->bytes));
  TN_TRYP(push(&v, p->groups->w * p->bytes));
  TN_TRYP(tn_vec_push_obj(&v, address(p->w->buffer, next->from ? next->from : p->base[2])));
  TN_TRYP(push(&v, next->lines));
  TN_TRYP(push(&v, p->kind + (from_zero ? FROM_ZERO : 0)));
  for (int i = 0; i < p->sums; ++i) {
    TN_TRYP(push(&v, p->sum[i]->extent));
    TN_TRYP(push(&v, p->sum[i]->a * p->bytes));
    TN_TRYP(push(&v, p->sum[i]->w * p->bytes));
  }
  tn_expr *call = tir_call_args(TN_I32, TIR_OP_tile_product, tn_arr_from(&v), NULL);
  return (tn_stmt *)TN_MAKE(Evaluate, .value = call);
}

/* ---- sums from zero ---- */

/* Elements of the buffer of sums, one behind the other from the first on, that a nest of loops sets
   to zero; 0: it does something else. */
static int64_t count_zeros(const tn_stmt *s, const product *p) {
  int64_t n = 1, extents[MAX_LOOPS], by;
  int loops = 0;
  TN_VEC(vars);
  for (const tn_For *f; (f = TN_AS(For, s)); s = f->body) {
    if (loops == MAX_LOOPS || !tir_is_zero(f->min) || f->kind == TIR_FOR_PARALLEL ||
        !tir_as_int((tn_obj *)f->extent, &extents[loops++]) || tn_vec_push_obj(&vars, f->loop_var))
      return 0;
  }
  const tn_BufferStore *store = TN_AS(BufferStore, s);
  if (!store || store->buffer != p->store->buffer || !tir_is_zero(store->value) ||
      store->indices->len != 1 || store->value->dtype.lanes != 1)
    return 0;
  tn_arr *all = tn_arr_from(&vars);
  tn_arr *f = all ? arith_linear((tn_expr *)tn_arr_obj(store->indices, 0), all) : NULL;
  if (!f || f->len != loops + 1 || !tir_is_zero(tn_arr_obj(f, loops))) return 0;
  for (int k = loops - 1; k >= 0; --k)
    if (!tir_as_int(tn_arr_obj(f, k), &by) || (by != n && extents[k] != 1) || extents[k] <= 0 ||
        __builtin_mul_overflow(n, extents[k], &n))
      return 0;
  return n;
}

/* Does a statement before the product set all of its sums to zero? They are all of a buffer. */
static bool begins_with_zero(const tn_stmt *s, const product *p) {
  const tn_Buffer *c = p->store->buffer;
  int64_t all, rows = p->row->extent * (p->row_tile ? p->row_tile->extent : 1);
  return c->shape->len == 1 && tir_as_int(tn_arr_obj(c->shape, 0), &all) &&
         all == rows * count_columns(p) && tir_is_zero(p->base[0]) && count_zeros(s, p) == all;
}

/* The marked loops as a call; other loops as they are.
   @param before the statement in front of them, or NULL @param drop whether it is not needed */
static tn_obj *product_of(tn_mut *m, const tn_AttrStmt *op, const tn_stmt *before, bool *drop) {
  state *x = m->ctx;
  product p = {0};
  bool found = match(op->body, &p) &&
               (!x->rows || (x->rows == p.row->extent && x->groups == p.groups->extent));
  if (!found) return tn_error_pending() ? NULL : tn_mut_visit(m, op->body);
  x->rows = p.row->extent, x->groups = p.groups->extent;
  fetch next = {0};
  if (tir_is_const((tn_obj *)op->value, FETCH)) TN_TRYP(find_fetch(x, &p, &next));
  *drop = before && begins_with_zero(before, &p);
  return (tn_obj *)as_call(&p, &next, *drop);
}

static const tn_AttrStmt *as_marked(const void *s) {
  const tn_AttrStmt *a = TN_AS(AttrStmt, s);
  return a && tn_str_eq(a->attr_key, "pragma_tile_product") ? a : NULL;
}

static tn_obj *marked(tn_mut *m, tn_AttrStmt *op) {
  bool drop = false;
  return as_marked(op) ? product_of(m, op, NULL, &drop) : tn_mut_children(m, op);
}

static tn_obj *sequence(tn_mut *m, tn_SeqStmt *op) {
  TN_VEC(list);
  bool same = true;
  tn_obj *before = NULL, *done = NULL; /* the statement in front, and what became of it */
  for (int64_t i = 0; i < op->seq->len; ++i) {
    tn_obj *s = tn_arr_obj(op->seq, i), *now;
    bool drop = false;
    if (as_marked(s)) TN_GETP(now, product_of(m, as_marked(s), (tn_stmt *)before, &drop));
    else TN_GETP(now, tn_mut_visit(m, s));
    if (done && !drop) TN_TRYP(tn_vec_push_obj(&list, done));
    same = same && now == s;
    before = s, done = now;
  }
  if (done) TN_TRYP(tn_vec_push_obj(&list, done));
  return same ? (tn_obj *)op : (tn_obj *)tir_seq(&list);
}

/* ---- setting up ---- */

static tn_stmt *evaluate(tn_expr *call) {
  return call ? (tn_stmt *)TN_MAKE(Evaluate, .value = call) : NULL;
}

/* The statements with registers set up around them, where they have products. */
static tn_stmt *with_registers(state *x, tn_stmt *body) {
  if (!body || !x->rows) return body;
  tn_stmt *begin = evaluate(tir_call(TN_I32, TIR_OP_tile_config, 2, tir_i32((int32_t)x->rows),
                                     tir_i32((int32_t)x->groups))),
          *end = evaluate(tir_call_args(TN_I32, TIR_OP_tile_release, tn_arr_of(0), NULL));
  x->rows = 0;
  body = begin && end ? tir_seq2(begin, body) : NULL;
  return body ? tir_seq2(body, end) : NULL;
}

static tn_obj *loop(tn_mut *m, tn_For *op) {
  state *x = m->ctx;
  bool parallel = op->kind == TIR_FOR_PARALLEL, deep = x->naround == MAX_AROUND;
  int64_t rows = x->rows;
  if (parallel) x->rows = 0;
  if (!deep) x->around[x->naround++] = op;
  tn_stmt *body = tn_mut_visit(m, op->body);
  if (!deep) --x->naround;
  if (parallel) {
    body = with_registers(x, body);
    x->rows = rows;
  }
  if (!body || body == op->body) return body ? (tn_obj *)op : NULL;
  tn_For copy = *op;
  copy.body = body;
  return tn_node_copy(&tn_type_For, &copy);
}

tn_PrimFunc *tir_tile_products(tn_PrimFunc *f, const tn_pass_ctx *c) {
  static const tn_mut_case cases[] = {TN_CASE(AttrStmt, marked), TN_CASE(SeqStmt, sequence),
                                      TN_CASE(For, loop)};
  state x = {0};
  (void)c;
  TN_MUT(m, cases, &x);
  return tir_with_body(f, with_registers(&x, tn_mut_visit(&m, f->body)));
}
