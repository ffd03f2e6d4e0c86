/* Attention: softmax between two products, for each head a block of rows at a time, so that scores
   never leave the first levels of cache.

     for head in parallel:
       keys = the head's keys, transposed into panels of vectors
       for block of rows (the last one overlaps the one before):
         scores = scale, mask of query * keys       in tiles that stay in registers
         scores = exp(scores - max of the row);  share = 1 / sum of the row
         out = scores * values * share              in tiles again

   Columns beyond the last key are -inf and count for nothing. Values are read where they lie, or
   from panels where these are nearer. */
#include "kernels/attention.h"

#include "base/error.h"
#include "base/pmap.h"
#include "base/scope.h"
#include "ir/expr.h"
#include "ir/functor.h"
#include "ir/module.h"
#include "object/functions.h"

enum {
  MANY_REGISTERS = 16, /* more than so many: tiles of four vectors where all columns fill some */
  UNROLL = 4,          /* steps of a sum in a row */
  MIN_ROWS = 2,        /* fewer do not pay for transposing keys */
  LONG_ROW = 2048,     /* bytes from which rows of values lie on their own pages */
  ROWS_WORTH_PACKING = 32, /* that share values in panels */
  MAX_LANES = 16
};

/* Panels of one width in a matrix whose columns are whole vectors. */
typedef struct {
  int64_t first, count, vectors; /* first vector, panels, vectors of each */
} panels;

/* What is written for one program. */
typedef struct {
  const attention *a;
  int lanes;
  int64_t rows, vectors;  /* of a block; of a tile, along columns */
  int64_t columns, width; /* of keys and values, in whole vectors */
  int64_t stride;         /* of a row of scores */
  bool packs_values;
  tn_Buffer *keys, *values, *scores, *shares;
  tn_expr *b, *h, *row; /* of the item, the head, the block's first row */
  tn_vec *buffers;      /* all that it has memory for */
} program;

/* ---- building blocks ---- */

static tn_expr *num(int64_t v) { return tir_i32((int32_t)v); }

static tn_expr *ex(tn_Var *v) { return (tn_expr *)v; }

static tn_expr *scaled(tn_expr *e, int64_t by) { return tir_mul(e, num(by)); }

static tn_stmt *loop(tn_Var *v, int64_t extent, tir_for_kind kind, tn_stmt *body) {
  if (!v || !body) return NULL;
  return (tn_stmt *)TN_MAKE(For, .loop_var = v, .min = num(0), .extent = num(extent),
                            .kind = (int32_t)kind, .body = body,
                            .annotations = tn_scope_own(tn_map_new()));
}

/* A body for each value of v: `kind` is that of all loops. */
static tn_Var *counter(const char *name) { return tir_var(name, TN_I32); }

static tn_stmt *in_order(int n, tn_stmt *const *list) {
  TN_VEC(v);
  for (int i = 0; i < n; ++i) {
    if (!list[i]) return NULL;
    TN_TRYP(tn_vec_push_obj(&v, list[i]));
  }
  return tir_seq(&v);
}
#define SEQ(...)                                                                                   \
  in_order((int)(sizeof((tn_stmt *[]){__VA_ARGS__}) / sizeof(tn_stmt *)),                          \
           (tn_stmt *[]){__VA_ARGS__})

static tn_expr *at1(tn_Buffer *b, tn_expr *i) { return i ? tir_load(b, tn_arr_of(1, i)) : NULL; }
static tn_expr *at2(tn_Buffer *b, tn_expr *i, tn_expr *j) {
  return i && j ? tir_load(b, tn_arr_of(2, i, j)) : NULL;
}
static tn_stmt *put1(tn_Buffer *b, tn_expr *i, tn_expr *value) {
  return i && value ? tir_store(b, value, tn_arr_of(1, i)) : NULL;
}
static tn_stmt *put2(tn_Buffer *b, tn_expr *i, tn_expr *j, tn_expr *value) {
  return i && j && value ? tir_store(b, value, tn_arr_of(2, i, j)) : NULL;
}

static tn_Buffer *memory(const program *p, int64_t rows, int64_t columns, const char *name,
                         const char *scope) {
  tn_Buffer *b;
  tn_arr *shape = rows ? tn_arr_of(2, num(rows), num(columns)) : tn_arr_of(1, num(columns));
  TN_GETP(b, shape ? tir_buffer(shape, p->a->dtype, name, scope) : NULL);
  return tn_vec_push_obj(p->buffers, b) ? NULL : b;
}

/* An expression of the program with values for its variables; NULL: the variable stays. */
typedef struct {
  tn_expr *m, *n, *k, *d, *score;
} point;

static void *placed(const program *p, const void *e, point at) {
  const attention *a = p->a;
  TN_PMAP(map);
  const tn_Var *vars[] = {a->b, a->h, a->m, a->n, a->k, a->d, a->score};
  tn_expr *values[] = {p->b, p->h, at.m, at.n, at.k, at.d, at.score};
  for (int i = 0; i < TN_COUNT(vars); ++i)
    if (values[i]) TN_TRYP(tn_pmap_put(&map, vars[i], values[i]));
  return tir_substitute(e, &map);
}

static tn_expr *lanes_from(const program *p, int64_t first) {
  return (tn_expr *)TN_MAKE(Ramp, .base = num(first), .stride = num(1), .lanes = p->lanes);
}

/* Lanes of one or two vectors. @param from for each lane its number among those of both */
static tn_expr *shuffled(const program *p, tn_expr *a, tn_expr *b, const int *from) {
  TN_VEC(v);
  for (int i = 0; i < p->lanes; ++i) TN_TRYP(tn_vec_push_obj(&v, num(from[i])));
  return (tn_expr *)TN_MAKE(Shuffle, .vectors = b ? tn_arr_of(2, a, b) : tn_arr_of(1, a),
                            .indices = tn_arr_from(&v));
}

/* Panels of a tile's vectors in `columns`, and what is left; `whole`: only those without columns
   beyond the last are in the first. */
static int divide(const program *p, int64_t columns, panels out[2]) {
  int64_t vectors = (columns + p->lanes - 1) / p->lanes, full = columns / p->lanes / p->vectors;
  int n = 0;
  if (full) out[n++] = (panels){0, full, p->vectors};
  if (full * p->vectors < vectors)
    out[n++] = (panels){full * p->vectors, 1, vectors - full * p->vectors};
  return n;
}

/* Where in its memory row k of a panel begins. */
static tn_expr *panel_at(const program *p, panels g, int64_t sums, tn_expr *panel, tn_expr *k) {
  int64_t width = g.vectors * p->lanes;
  return tir_add(tir_add(num(g.first * p->lanes * sums), scaled(panel, width * sums)),
                 scaled(k, width));
}

/* ---- keys ---- */

/* A square of numbers in registers, turned over by exchanging halves of pairs of rows. */
static tn_stmt *transpose(const program *p, tn_Buffer *square) {
  TN_VEC(steps);
  tn_expr *lanes;
  TN_GETP(lanes, lanes_from(p, 0));
  for (int far = 1; far < p->lanes; far *= 2)
    for (int i = 0; i < p->lanes; ++i) {
      int low[MAX_LANES], high[MAX_LANES];
      if (i & far) continue;
      for (int c = 0; c < p->lanes; ++c) {
        low[c] = c & far ? p->lanes + c - far : c;
        high[c] = c & far ? p->lanes + c : c + far;
      }
      tn_dtype t = ir_with_lanes(p->a->dtype, p->lanes);
      tn_Var *x = tir_var("x", t), *y = tir_var("y", t);
      tn_stmt *s = x && y ? SEQ(put2(square, num(i), lanes, shuffled(p, ex(x), ex(y), low)),
                                put2(square, num(i + far), lanes, shuffled(p, ex(x), ex(y), high)))
                          : NULL;
      if (s)
        s = (tn_stmt *)TN_MAKE(LetStmt, .var = y, .value = at2(square, num(i + far), lanes),
                               .body = s);
      if (s)
        s = (tn_stmt *)TN_MAKE(LetStmt, .var = x, .value = at2(square, num(i), lanes), .body = s);
      TN_TRYP(tn_vec_push_obj(&steps, s));
    }
  return tir_seq(&steps);
}

/* Row n of the keys, that of the last where there is none. */
static tn_expr *key_row(const program *p, tn_expr *n) {
  return p->columns == p->a->columns ? n : tir_min(n, num(p->a->columns - 1));
}

static tn_expr *key(const program *p, tn_expr *n, tn_expr *k) {
  return placed(p, p->a->key, (point){.n = key_row(p, n), .k = k});
}

/* Blocks of keys that lie along k. */
static tn_stmt *turn_keys(const program *p, panels g, tn_Var *panel, tn_Var *v) {
  int64_t sums = p->a->depth, blocks = sums / p->lanes, rest = sums % p->lanes;
  tn_Var *kb = counter("kb"), *i = counter("i"), *j = counter("j"), *i2 = counter("i"),
         *k2 = counter("k"), *i3 = counter("i");
  tn_Buffer *square = memory(p, p->lanes, p->lanes, "square", "local");
  tn_stmt *turned = NULL, *left = NULL;
  if (!kb || !i || !j || !i2 || !k2 || !i3 || !square) return NULL;
  tn_expr *vector = tir_add(scaled(ex(panel), g.vectors), ex(v)),
          *n0 = scaled(tir_add(vector, num(g.first)), p->lanes);
  if (blocks) {
    tn_expr *k0 = scaled(ex(kb), p->lanes);
    tn_stmt *read =
        loop(i, p->lanes, TIR_FOR_UNROLLED,
             loop(j, p->lanes, TIR_FOR_VECTORIZED,
                  put2(square, ex(i), ex(j), key(p, tir_add(n0, ex(i)), tir_add(k0, ex(j))))));
    tn_Var *l = counter("l");
    tn_expr *to = tir_add(panel_at(p, g, sums, ex(panel), tir_add(k0, ex(i2))),
                          tir_add(scaled(ex(v), p->lanes), ex(l)));
    tn_stmt *write =
        loop(i2, p->lanes, TIR_FOR_UNROLLED,
             loop(l, p->lanes, TIR_FOR_VECTORIZED, put1(p->keys, to, at2(square, ex(i2), ex(l)))));
    turned = loop(kb, blocks, TIR_FOR_SERIAL, SEQ(read, transpose(p, square), write));
    if (!turned) return NULL;
  }
  if (rest) {
    tn_expr *k = tir_add(ex(k2), num(blocks * p->lanes));
    tn_expr *to =
        tir_add(panel_at(p, g, sums, ex(panel), k), tir_add(scaled(ex(v), p->lanes), ex(i3)));
    left =
        loop(k2, rest, TIR_FOR_SERIAL,
             loop(i3, p->lanes, TIR_FOR_SERIAL, put1(p->keys, to, key(p, tir_add(n0, ex(i3)), k))));
    if (!left) return NULL;
  }
  return turned && left ? SEQ(turned, left) : turned ? turned : left;
}

/* Rows of vectors, copied. @param element of row k and column c @param whole are all columns of the
   panels there? Otherwise they are copied one by one. */
static tn_stmt *copy_rows(const program *p, panels g, tn_Buffer *to, int64_t sums, bool whole,
                          tn_expr *(*element)(const program *p, tn_expr *k, tn_expr *c),
                          tn_Var *panel, tn_Var *v) {
  tn_Var *k = counter("k"), *l = counter("l");
  if (!k || !l) return NULL;
  tn_expr *vector = tir_add(scaled(ex(panel), g.vectors), ex(v)),
          *column = tir_add(scaled(tir_add(vector, num(g.first)), p->lanes), ex(l)),
          *at = tir_add(panel_at(p, g, sums, ex(panel), ex(k)),
                        tir_add(scaled(ex(v), p->lanes), ex(l)));
  return loop(k, sums, TIR_FOR_SERIAL,
              loop(l, p->lanes, whole ? TIR_FOR_VECTORIZED : TIR_FOR_SERIAL,
                   put1(to, at, element(p, ex(k), column))));
}

static tn_expr *key_of(const program *p, tn_expr *k, tn_expr *c) { return key(p, c, k); }

static tn_expr *value(const program *p, tn_expr *n, tn_expr *d) {
  return placed(p, p->a->value, (point){.n = n, .d = d});
}

/* Numbers beyond the last column are those of the last: what comes of them is not stored. */
static tn_expr *value_of(const program *p, tn_expr *n, tn_expr *d) {
  return value(p, n, p->width == p->a->width ? d : tir_min(d, num(p->a->width - 1)));
}

static tn_stmt *pack_keys(const program *p) {
  panels g[2];
  int n = divide(p, p->a->columns, g);
  bool turn = attention_runs_along(p->a->key, p->a->k),
       along = attention_runs_along(p->a->key, p->a->n);
  TN_VEC(all);
  for (int i = 0; i < n; ++i) {
    tn_Var *panel = counter("panel"), *v = counter("v");
    bool whole = (g[i].first + g[i].count * g[i].vectors) * p->lanes <= p->a->columns;
    if (!panel || !v) return NULL;
    tn_stmt *s = turn ? turn_keys(p, g[i], panel, v)
                      : copy_rows(p, g[i], p->keys, p->a->depth, along && whole, key_of, panel, v);
    s = loop(panel, g[i].count, TIR_FOR_SERIAL, loop(v, g[i].vectors, TIR_FOR_SERIAL, s));
    TN_TRYP(tn_vec_push_obj(&all, s));
  }
  return tir_seq(&all);
}

static tn_stmt *pack_values(const program *p) {
  panels g[2];
  int n = divide(p, p->a->width, g);
  bool along = attention_runs_along(p->a->value, p->a->d);
  TN_VEC(all);
  for (int i = 0; i < n; ++i) {
    tn_Var *panel = counter("panel"), *v = counter("v");
    bool whole = (g[i].first + g[i].count * g[i].vectors) * p->lanes <= p->a->width;
    if (!panel || !v) return NULL;
    tn_stmt *s = copy_rows(p, g[i], p->values, p->a->columns, along && whole, value_of, panel, v);
    s = loop(panel, g[i].count, TIR_FOR_SERIAL, loop(v, g[i].vectors, TIR_FOR_SERIAL, s));
    TN_TRYP(tn_vec_push_obj(&all, s));
  }
  return tir_seq(&all);
}

/* ---- tiles ---- */

/* A tile of a product, in registers. */
typedef struct {
  panels g;
  tn_expr *panel;
  tn_Buffer *sums;
} tile;

typedef tn_expr *(*left_fn)(const program *p, tn_expr *row, tn_expr *k);
typedef tn_expr *(*right_fn)(const program *p, const tile *t, tn_expr *k, tn_expr *c);

/* For all rows of the tile, all its vectors and their lanes. @param c column in the tile */
static tn_stmt *over_tile(const program *p, int64_t vectors, tn_Var *r, tn_Var *v, tn_Var *l,
                          tn_stmt *body) {
  return loop(r, p->rows, TIR_FOR_UNROLLED,
              loop(v, vectors, TIR_FOR_UNROLLED, loop(l, p->lanes, TIR_FOR_VECTORIZED, body)));
}

static tn_stmt *multiply(const program *p, const tile *t, int64_t sums, left_fn left,
                         right_fn right) {
  tn_Var *v[8];
  for (int i = 0; i < TN_COUNT(v); ++i)
    TN_GETP(v[i], counter((const char *[]){"r", "v", "l", "r", "v", "l", "k", "u"}[i]));
  tn_expr *c0 = tir_add(scaled(ex(v[1]), p->lanes), ex(v[2])),
          *c = tir_add(scaled(ex(v[4]), p->lanes), ex(v[5]));
  bool unroll = sums % UNROLL == 0 && sums > UNROLL;
  tn_expr *k = unroll ? tir_add(scaled(ex(v[6]), UNROLL), ex(v[7])) : ex(v[6]);
  tn_stmt *first = over_tile(p, t->g.vectors, v[0], v[1], v[2],
                             put2(t->sums, ex(v[0]), c0, tir_const_int(p->a->dtype, 0)));
  tn_expr *term = tir_mul(left(p, ex(v[3]), k), right(p, t, k, c));
  tn_stmt *step = over_tile(p, t->g.vectors, v[3], v[4], v[5],
                            put2(t->sums, ex(v[3]), c, tir_add(at2(t->sums, ex(v[3]), c), term)));
  if (unroll) step = loop(v[7], UNROLL, TIR_FOR_UNROLLED, step);
  return SEQ(first, loop(v[6], unroll ? sums / UNROLL : sums, TIR_FOR_SERIAL, step));
}

static tn_expr *query(const program *p, tn_expr *row, tn_expr *k) {
  return placed(p, p->a->query, (point){.m = tir_add(p->row, row), .k = k});
}

static tn_expr *packed_key(const program *p, const tile *t, tn_expr *k, tn_expr *c) {
  return at1(p->keys, tir_add(panel_at(p, t->g, p->a->depth, t->panel, k), c));
}

static tn_expr *share(const program *p, tn_expr *row, tn_expr *n) { return at2(p->scores, row, n); }

/* The column of the whole matrix for one of the tile. */
static tn_expr *column_of(const program *p, const tile *t, tn_expr *c) {
  return tir_add(scaled(t->panel, t->g.vectors * p->lanes), tir_add(num(t->g.first * p->lanes), c));
}

static tn_expr *any_value(const program *p, const tile *t, tn_expr *k, tn_expr *c) {
  if (!p->packs_values) return value(p, k, column_of(p, t, c));
  return at1(p->values, tir_add(panel_at(p, t->g, p->a->columns, t->panel, k), c));
}

/* ---- scores ---- */

static tn_expr *score(const program *p, tn_expr *row, tn_expr *n, tn_expr *sum) {
  return placed(p, p->a->scores, (point){.m = tir_add(p->row, row), .n = n, .score = sum});
}

/* The last vector, of which only `some` lanes are columns: the others are -inf. */
static tn_stmt *last_scores(const program *p, int64_t column, int64_t some) {
  tn_Var *r = counter("r"), *l = counter("l"), *rest = counter("l");
  if (!r || !l || !rest) return NULL;
  tn_expr *c = tir_add(num(column), ex(l)), *beyond = tir_add(num(column + some), ex(rest)),
          *none = tir_neg(tir_infinity(p->a->dtype), NULL);
  tn_stmt *in = loop(l, some, TIR_FOR_SERIAL,
                     put2(p->scores, ex(r), c, score(p, ex(r), c, at2(p->scores, ex(r), c)))),
          *out = loop(rest, p->lanes - some, TIR_FOR_SERIAL, put2(p->scores, ex(r), beyond, none));
  return loop(r, p->rows, TIR_FOR_SERIAL, SEQ(in, out));
}

static tn_stmt *score_panels(const program *p, panels g) {
  const attention *a = p->a;
  tn_Var *panel = counter("panel"), *v[6];
  tile t = {g, ex(panel), memory(p, p->rows, g.vectors * p->lanes, "sums", "local")};
  if (!panel || !t.sums) return NULL;
  for (int i = 0; i < TN_COUNT(v); ++i)
    TN_GETP(v[i], counter((const char *[]){"r", "v", "l", "r", "v", "l"}[i]));
  int64_t end = (g.first + g.count * g.vectors) * p->lanes, over = end - a->columns,
          whole = over > 0 ? g.vectors - 1 : g.vectors;
  tn_stmt *list[4];
  int n = 0;
  list[n++] = multiply(p, &t, a->depth, query, packed_key);
  if (whole) {
    tn_expr *c = tir_add(scaled(ex(v[1]), p->lanes), ex(v[2])), *column = column_of(p, &t, c);
    tn_expr *e = score(p, ex(v[0]), column, at2(t.sums, ex(v[0]), c));
    list[n++] = over_tile(p, whole, v[0], v[1], v[2], put2(p->scores, ex(v[0]), column, e));
  }
  if (over > 0) {
    tn_expr *c = tir_add(num(whole * p->lanes), ex(v[5])), *column = column_of(p, &t, c);
    list[n++] = over_tile(p, 1, v[3], v[4], v[5],
                          put2(p->scores, ex(v[3]), column, at2(t.sums, ex(v[3]), c)));
    list[n++] = last_scores(p, end - p->lanes, p->lanes - over);
  }
  return loop(panel, g.count, TIR_FOR_SERIAL, in_order(n, list));
}

/* ---- softmax ---- */

/* All lanes of the vector become their sum or largest: halves are put together again and again. */
static tn_stmt *over_lanes(const program *p, tn_Buffer *vector, uint32_t op) {
  TN_VEC(steps);
  tn_expr *lanes;
  TN_GETP(lanes, lanes_from(p, 0));
  for (int far = p->lanes / 2; far > 0; far /= 2) {
    int from[MAX_LANES];
    for (int c = 0; c < p->lanes; ++c) from[c] = c ^ far;
    tn_Var *x = tir_var("x", ir_with_lanes(p->a->dtype, p->lanes));
    tn_stmt *s =
        x ? put1(vector, lanes, tir_binary(op, ex(x), shuffled(p, ex(x), NULL, from), NULL)) : NULL;
    if (s) s = (tn_stmt *)TN_MAKE(LetStmt, .var = x, .value = at1(vector, lanes), .body = s);
    TN_TRYP(tn_vec_push_obj(&steps, s));
  }
  return tir_seq(&steps);
}

/* exp(x), x <= 0 (or NaN, which neither bound takes for its own), but 0 where products with values
   could fall below the normal numbers, which processors are slow with: 9e-27 is nothing beside the
   sum, which is 1 or more. It is 0, not the least one, as values that are masked may be large. */
static tn_expr *power(const program *p, tn_expr *x) {
  tn_dtype t = p->a->dtype;
  tn_expr *least = tir_const_float(t, t.bits == 32 ? -60 : -600), *most = tir_const_float(t, 0);
  tn_expr *e = tir_call(t, TIR_OP_exp, 1, tir_max(least, tir_min(most, x)));
  return tir_select(tir_lt(x, least), most, e, NULL);
}

static tn_stmt *softmax(const program *p) {
  const attention *a = p->a;
  tn_Var *r = counter("r"), *c[2], *l[4];
  for (int i = 0; i < 2; ++i) TN_GETP(c[i], counter("c"));
  for (int i = 0; i < 4; ++i) TN_GETP(l[i], counter("l"));
  tn_Buffer *most = memory(p, 0, p->lanes, "most", "local"),
            *sum = memory(p, 0, p->lanes, "sum", "local");
  if (!r || !most || !sum) return NULL;
  int64_t vectors = p->columns / p->lanes;
  tn_expr *at[2];
  for (int i = 0; i < 2; ++i) at[i] = tir_add(scaled(ex(c[i]), p->lanes), ex(l[2 * i + 1]));
  tn_stmt *first = loop(l[0], p->lanes, TIR_FOR_VECTORIZED,
                        SEQ(put1(most, ex(l[0]), tir_neg(tir_infinity(a->dtype), NULL)),
                            put1(sum, ex(l[0]), tir_const_int(a->dtype, 0))));
  tn_stmt *largest =
      loop(c[0], vectors, TIR_FOR_SERIAL,
           loop(l[1], p->lanes, TIR_FOR_VECTORIZED,
                put1(most, ex(l[1]), tir_max(at1(most, ex(l[1])), at2(p->scores, ex(r), at[0])))));
  tn_expr *e = power(p, tir_sub(at2(p->scores, ex(r), at[1]), at1(most, ex(l[3]))));
  tn_stmt *powers = loop(
      c[1], vectors, TIR_FOR_SERIAL,
      loop(l[3], p->lanes, TIR_FOR_VECTORIZED,
           SEQ(put2(p->scores, ex(r), at[1], e),
               put1(sum, ex(l[3]), tir_add(at1(sum, ex(l[3])), at2(p->scores, ex(r), at[1]))))));
  tn_stmt *share = put1(p->shares, ex(r), tir_div(tir_const_int(a->dtype, 1), at1(sum, num(0))));
  return loop(r, p->rows, TIR_FOR_SERIAL,
              SEQ(first, largest, over_lanes(p, most, TN_TI_Max), powers,
                  over_lanes(p, sum, TN_TI_Add), share));
}

/* ---- the result ---- */

static tn_stmt *put_result(const program *p, tn_expr *row, tn_expr *d, tn_expr *sum) {
  tn_arr *at = placed(p, p->a->place, (point){.m = tir_add(p->row, row), .d = d});
  tn_expr *e = tir_mul(sum, at1(p->shares, row));
  return at && e ? tir_store(p->a->out, e, at) : NULL;
}

/* The last vector, of which only `some` lanes are columns of the result, through memory. */
static tn_stmt *last_results(const program *p, const tile *t, int64_t vector, int64_t some) {
  tn_Var *v[5];
  for (int i = 0; i < TN_COUNT(v); ++i)
    TN_GETP(v[i], counter((const char *[]){"r", "v", "l", "r", "l"}[i]));
  tn_expr *c = tir_add(num(vector * p->lanes), ex(v[2]));
  tn_stmt *keep = over_tile(p, 1, v[0], v[1], v[2],
                            put2(p->scores, ex(v[0]), ex(v[2]), at2(t->sums, ex(v[0]), c)));
  tn_expr *d = tir_add(num((t->g.first + vector) * p->lanes), ex(v[4]));
  tn_stmt *put = put_result(p, ex(v[3]), d, at2(p->scores, ex(v[3]), ex(v[4])));
  return SEQ(keep, loop(v[3], p->rows, TIR_FOR_SERIAL, loop(v[4], some, TIR_FOR_SERIAL, put)));
}

/* Scores are read no more where the last vector goes through their memory: it is the last panel. */
static tn_stmt *result_panels(const program *p, panels g) {
  const attention *a = p->a;
  tn_Var *panel = counter("panel"), *r = counter("r"), *v = counter("v"), *l = counter("l");
  tile t = {g, ex(panel), memory(p, p->rows, g.vectors * p->lanes, "sums", "local")};
  if (!panel || !r || !v || !l || !t.sums) return NULL;
  int64_t over = (g.first + g.count * g.vectors) * p->lanes - a->width,
          whole = over > 0 ? g.vectors - 1 : g.vectors;
  tn_stmt *list[3];
  int n = 0;
  list[n++] = multiply(p, &t, a->columns, share, any_value);
  if (whole) {
    tn_expr *c = tir_add(scaled(ex(v), p->lanes), ex(l));
    list[n++] = over_tile(p, whole, r, v, l,
                          put_result(p, ex(r), column_of(p, &t, c), at2(t.sums, ex(r), c)));
  }
  if (over > 0) list[n++] = last_results(p, &t, whole, p->lanes - over);
  return loop(panel, g.count, TIR_FOR_SERIAL, in_order(n, list));
}

/* ---- the program ---- */

static tn_stmt *all_panels(const program *p, int64_t columns,
                           tn_stmt *(*make)(const program *p, panels g)) {
  panels g[2];
  int n = divide(p, columns, g);
  TN_VEC(list);
  for (int i = 0; i < n; ++i) TN_TRYP(tn_vec_push_obj(&list, make(p, g[i])));
  return tir_seq(&list);
}

/* Rows of a block: as many as registers hold, unless fewer leave less to be computed twice. */
static int64_t block_rows(const attention *a, int64_t vectors) {
  const target_machine *m = a->machine;
  int registers = m->vector_registers > 16 ? m->vector_registers - 2 : m->vector_registers;
  int64_t most = (registers - 1 - vectors) / vectors, best = 1, least = INT64_MAX;
  if (most > a->rows) most = a->rows;
  for (int64_t rows = most; rows > 0 && rows > most / 2; --rows) {
    int64_t cost = (a->rows + rows - 1) / rows * (vectors * rows + 3);
    if (cost < least) least = cost, best = rows;
  }
  return best;
}

/* Bytes from a row of values to the next one; 0: not known. */
static int64_t row_bytes(const program *p) {
  const tn_arr *shape = p->a->value->buffer->shape, *at = p->a->value->indices;
  kernel_axis n = {.var = p->a->n};
  int64_t stride = p->a->dtype.bits / 8, extent;
  for (int64_t i = shape->len - 1; i >= 0; --i) {
    if (kernel_uses(tn_arr_obj(at, i), &n)) return stride;
    if (!tir_as_int(tn_arr_obj(shape, i), &extent)) return 0;
    stride *= extent;
  }
  return 0;
}

static tn_stmt *block_of_rows(program *p) {
  const attention *a = p->a;
  tn_Var *block = counter("block");
  int64_t blocks = (a->rows + p->rows - 1) / p->rows;
  if (!block) return NULL;
  p->row = scaled(ex(block), p->rows);
  if (a->rows % p->rows) p->row = tir_min(p->row, num(a->rows - p->rows));
  tn_stmt *body = SEQ(all_panels(p, a->columns, score_panels), softmax(p),
                      all_panels(p, a->width, result_panels));
  return loop(block, blocks, TIR_FOR_SERIAL, body);
}

static tn_stmt *head(program *p) {
  tn_stmt *pack = pack_keys(p), *rows = block_of_rows(p);
  if (!pack || !rows) return NULL;
  return p->packs_values ? SEQ(pack, pack_values(p), rows) : SEQ(pack, rows);
}

static tn_stmt *root(const program *p, tn_stmt *body) {
  tn_arr *none = tn_arr_of(0);
  if (!body || !none) return NULL;
  tn_Block *block =
      TN_MAKE(Block, .iter_vars = none, .reads = none, .writes = none,
              .name_hint = tn_str_from("root"), .alloc_buffers = tn_arr_from(p->buffers),
              .match_buffers = none, .annotations = tn_scope_own(tn_map_new()), .body = body);
  if (!block) return NULL;
  return (tn_stmt *)TN_MAKE(BlockRealize, .iter_values = none, .predicate = tir_bool(true),
                            .block = block);
}

static int plan(program *p) {
  const attention *a = p->a;
  int64_t lanes = p->lanes, depth = a->depth;
  int64_t four = 4 * lanes;
  bool wide = a->machine->vector_registers > MANY_REGISTERS && a->width % four == 0 &&
              a->columns >= four && a->rows >= ROWS_WORTH_PACKING;
  p->vectors = wide ? 4 : 2;
  p->rows = block_rows(a, p->vectors);
  p->columns = (a->columns + lanes - 1) / lanes * lanes;
  p->width = (a->width + lanes - 1) / lanes * lanes;
  /* rows an odd number of vectors apart do not share their places in the cache */
  p->stride = p->columns / lanes % 2 ? p->columns : p->columns + lanes;
  p->packs_values = p->width != a->width || !attention_runs_along(a->value, a->d) ||
                    (row_bytes(p) > LONG_ROW && a->rows >= ROWS_WORTH_PACKING);
  TN_GET(p->keys, memory(p, 0, p->columns * depth, "keys", "global"));
  if (p->packs_values) TN_GET(p->values, memory(p, 0, p->width * a->columns, "values", "global"));
  TN_GET(p->scores, memory(p, p->rows, p->stride, "scores", "global"));
  TN_GET(p->shares, memory(p, 0, p->rows, "shares", "global"));
  return 0;
}

/* Do keys, values and scores of a head stay in the second level of cache? */
static bool fits(const attention *a) {
  int64_t bytes = a->dtype.bits / 8, held = a->columns * (a->depth + a->width + 2 * MAX_LANES);
  return a->rows >= MIN_ROWS && held <= INT32_MAX / 16 && held * bytes <= 2 * a->machine->l2;
}

tn_PrimFunc *kernel_attention(tn_PrimFunc *f, const target_machine *m) {
  attention a;
  int found = attention_match(&a, f, m);
  int lanes = found > 0 ? m->vector_bytes * 8 / a.dtype.bits : 0;
  if (found < 0) return NULL;
  bool floats = lanes && a.dtype.code == kDLFloat && a.dtype.bits >= 32;
  if (!floats || lanes < 2 || lanes > MAX_LANES || !fits(&a)) return f;
  TN_VEC(buffers);
  program p = {.a = &a, .lanes = lanes, .buffers = &buffers};
  tn_Var *item;
  TN_GETP(item, counter("head"));
  p.b = tir_floordiv(ex(item), num(a.heads));
  p.h = tir_floormod(ex(item), num(a.heads));
  TN_TRYP(plan(&p));
  int64_t items = a.batch * a.heads;
  tn_stmt *body =
      loop(item, items, m->threads > 1 && items > 1 ? TIR_FOR_PARALLEL : TIR_FOR_SERIAL, head(&p));
  body = root(&p, body);
  tn_PrimFunc *done = body ? tir_with_body(f, body) : NULL;
  return done ? tir_with_attr(done, "tir.is_scheduled", (tn_obj *)tir_i32(1)) : NULL;
}
