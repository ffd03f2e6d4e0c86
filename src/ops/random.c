/* Random numbers from a key, by Threefry: a key gives the same numbers wherever it is used.

     random.threefry_generate(%key, out_shape=[5])   -> (key, Tensor[(5), uint64])
     random.threefry_split(%key)                     -> (key, key)
     random.uniform(%key, %low, %high, ...)          -> (key, Tensor[out_shape, out_dtype])
     random.normal(%key, %mean, %scale, ...)         the same of a normal distribution
     random.multinomial(%key, %probs, ...)           -> (key, Tensor[(..., num_samples), int32])

   A key is Tensor[(10), uint64]: four words of the cipher's key, two of a path (a bit for each
   split, the highest first), two of a counter (the last one counts numbers), two with one bit set
   at the place that the next split writes. Path and counter are what is enciphered; four words of
   it are four numbers. Where the path or the counter is used up, they are enciphered to a new key.

   Threefry-4x64 with 20 rounds: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1,
   2, 3" (2011); keys with paths: Claessen, Palka, "Splittable pseudorandom number generators using
   cryptographic hashing" (2013). Numbers of a seed are those of existing programs: the
   words enciphered for four numbers at place i are path and counter, i added to each of them; the
   last numbers, fewer than four, are at a counter that only its last word counts. */
#include "ir/imm.h"
#include "ops/ops.h"

#define TN_FIELDS_ThreefryGenerateAttrs(F, S)                                                      \
  F(S, REF, Array, out_shape, TN_INTS, "shape of the numbers")
#define TN_FIELDS_RandomAttrs(F, S)                                                                \
  F(S, REF, Array, out_shape, TN_INTS, "shape of the numbers")                                     \
  F(S, DTYPE, , out_dtype, 0, "float32 or float64", "\"float32\"")
#define TN_FIELDS_UniformAttrs(F, S) TN_FIELDS_RandomAttrs(F, S)
#define TN_FIELDS_NormalAttrs(F, S)  TN_FIELDS_RandomAttrs(F, S)
#define TN_FIELDS_MultinomialAttrs(F, S)                                                           \
  F(S, I64, , num_samples, 0, "how many samples are drawn of each row", "1")
#define RANDOM_ATTRS(N)                                                                            \
  N(ThreefryGenerateAttrs, Attrs, "relay.attrs.ThreefryGenerateAttrs", NODE, TREE, tn_no_hooks,    \
    "attributes of random.threefry_generate")                                                      \
  N(UniformAttrs, Attrs, "relay.attrs.UniformAttrs", NODE, TREE, tn_no_hooks,                      \
    "attributes of random.uniform")                                                                \
  N(NormalAttrs, Attrs, "relay.attrs.NormalAttrs", NODE, TREE, tn_no_hooks,                        \
    "attributes of random.normal")                                                                 \
  N(MultinomialAttrs, Attrs, "relay.attrs.MultinomialAttrs", NODE, TREE, tn_no_hooks,              \
    "attributes of random.multinomial")
TN_NODES_LOCAL(RANDOM_ATTRS)

enum { KEY_WORDS = 10, PATH = 4, COUNTER = 6, COUNT = 7, PLACE = 8 }; /* words of a key */
enum { NORMAL = 1 };                                                  /* row->which */
#define U64 tn_dtype_of(kDLUInt, 64, 1)
#define U32 tn_dtype_of(kDLUInt, 32, 1)

/* ---- relations ---- */

static tn_TensorType *key_type(void) {
  return relay_tensor_type(tn_arr_of(1, tir_i32(KEY_WORDS)), U64);
}

/* Kernels count numbers, four at a time, with 32 bits. */
static int check_numbers(relay_rel *r, const tn_arr *wanted) {
  int64_t n;
  for (int64_t i = 0; i < wanted->len; ++i)
    RELAY_CHECK(r, relay_listed(wanted, i) >= 0, "out_shape: extent %lld is negative",
                (long long)relay_listed(wanted, i));
  RELAY_CHECK(r, relay_known_product(wanted, 0, wanted->len, &n) && n <= INT32_MAX / 4,
              "out_shape: at most %d numbers are made at once", INT32_MAX / 4);
  return 0;
}

static int result(relay_rel *r, const tn_arr *shape, tn_dtype t) {
  TN_TRY(relay_rel_assign(r, 0, (tn_Type *)key_type()));
  tn_TensorType *numbers = relay_tensor_type((tn_arr *)(uintptr_t)shape, t);
  return relay_rel_result(r, relay_tuple_type(tn_arr_of(2, key_type(), numbers)));
}

static int relate_generate(relay_rel *r) {
  const tn_ThreefryGenerateAttrs *a = r->attrs;
  if (check_numbers(r, a->out_shape)) return RELAY_FAILED;
  return result(r, a->out_shape, U64);
}

static int relate_split(relay_rel *r) {
  TN_TRY(relay_rel_assign(r, 0, (tn_Type *)key_type()));
  return relay_rel_result(r, relay_tuple_type(tn_arr_of(2, key_type(), key_type())));
}

static int relate_floats(relay_rel *r) {
  const tn_UniformAttrs *a = r->attrs; /* those of normal are the same */
  tn_dtype t = a->out_dtype;
  if (check_numbers(r, a->out_shape)) return RELAY_FAILED;
  RELAY_CHECK(r, tn_dtype_eq(t, TN_F32) || tn_dtype_eq(t, TN_F64),
              "out_dtype: expected float32 or float64, got %s", TN_DT(t));
  for (int i = 1; i <= 2; ++i)
    TN_TRY(relay_rel_assign(r, i, (tn_Type *)relay_tensor_type(tn_arr_of(0), t)));
  return result(r, a->out_shape, t);
}

/* Extents of probs, the number of samples for the last one. */
static tn_arr *samples_shape(const void *attrs, const tn_arr *probs) {
  const tn_MultinomialAttrs *a = attrs;
  return ops_with_index(probs, probs->len - 1, relay_dim_int(a->num_samples));
}

static int relate_multinomial(relay_rel *r) {
  const tn_MultinomialAttrs *a = r->attrs;
  RELAY_TENSOR(probs, r, 1);
  RELAY_CHECK(r, probs->shape->len > 0, "probs must have an axis of probabilities");
  RELAY_CHECK(r, ir_is_floating(probs->dtype), "probs must be floats, got %s",
              relay_type_text(probs));
  RELAY_CHECK(r, relay_dim_is(relay_dim(probs, -1), 0) != 1, "probs: nothing to draw from, got %s",
              relay_type_text(probs));
  RELAY_CHECK(r, a->num_samples >= 0 && a->num_samples <= INT32_MAX / 4,
              "num_samples: %lld is out of range", (long long)a->num_samples);
  int64_t n;
  tn_arr *shape;
  TN_GET(shape, samples_shape(a, probs->shape));
  RELAY_CHECK(r, !relay_known_product(shape, 0, shape->len, &n) || n <= INT32_MAX / 4,
              "at most %d samples are drawn at once", INT32_MAX / 4);
  return result(r, shape, TN_I32);
}

/* ---- words ---- */

static tn_expr *word(tn_Buffer *b, int64_t i) {
  return tir_load(b, tn_arr_of(1, tir_i32((int32_t)i)));
}
static tn_expr *u64(uint64_t value) { return tir_uint64(value); }
static tn_expr *bits_xor(tn_expr *a, tn_expr *b) {
  return tir_bitwise(TIR_OP_bitwise_xor, a, b, NULL);
}
static tn_expr *bits_or(tn_expr *a, tn_expr *b) {
  return tir_bitwise(TIR_OP_bitwise_or, a, b, NULL);
}
static tn_expr *left(tn_expr *a, int by) {
  return tir_shift(TIR_OP_shift_left, a, tir_const_int(U64, by), NULL);
}
static tn_expr *right(tn_expr *a, int by) {
  return tir_shift(TIR_OP_shift_right, a, tir_const_int(U64, by), NULL);
}

/* A list of statements that is written down one after the other. */
typedef struct {
  tn_vec stmts;
  bool failed;
} steps;

static void set(steps *s, tn_Buffer *b, int64_t i, tn_expr *value) {
  tn_stmt *store = value ? tir_store(b, value, tn_arr_of(1, tir_i32((int32_t)i))) : NULL;
  if (!store || tn_vec_push_obj(&s->stmts, store)) s->failed = true;
}

static void add_step(steps *s, tn_stmt *stmt) {
  if (!stmt || tn_vec_push_obj(&s->stmts, stmt)) s->failed = true;
}

static tn_stmt *done(steps *s) {
  tn_stmt *all = s->failed ? NULL : tir_seq(&s->stmts);
  tn_vec_fini(&s->stmts);
  return all;
}

/* ---- the cipher ---- */

enum { WORDS = 4, ROUNDS = 20, SUBKEYS = WORDS, SCRATCH = 2 * WORDS + 1 };

/* Adds key number n: its words turn by one each time. */
static void add_key(steps *s, tn_Buffer *x, int n) {
  for (int i = 0; i < WORDS; ++i) {
    tn_expr *k = word(x, SUBKEYS + (n + i) % (WORDS + 1));
    if (i == WORDS - 1) k = tir_add(k, u64((uint64_t)n));
    set(s, x, i, tir_add(word(x, i), k));
  }
}

/* Not quite the published mixing, in which the sum is a + b in both places: here, as in the
   programs that keys come from, the second word is added once more. Numbers of a seed hang on it.
 */
static void mix(steps *s, tn_Buffer *x, int a, int b, int turn) {
  set(s, x, a, tir_add(word(x, a), word(x, b)));
  set(s, x, b,
      bits_xor(tir_add(word(x, a), word(x, b)),
               bits_or(left(word(x, b), turn), right(word(x, b), 64 - turn))));
}

/* Words 0 to 3 of x, which hold what is enciphered, by words 0 to 3 of `key`; the words after them
   hold the key and its parity. Odd rounds mix other pairs: 1 and 3 have changed places. */
static void encipher(steps *s, tn_Buffer *x, tn_Buffer *key) {
  static const uint8_t turns[8][2] = {{14, 16}, {52, 57}, {23, 40}, {5, 37},
                                      {25, 33}, {46, 12}, {58, 22}, {32, 32}};
  tn_expr *parity = u64(UINT64_C(0x1BD11BDAA9FC1A22));
  for (int i = 0; i < WORDS; ++i) {
    set(s, x, SUBKEYS + i, word(key, i));
    parity = bits_xor(parity, word(key, i));
  }
  set(s, x, SUBKEYS + WORDS, parity);
  for (int r = 0; r < ROUNDS; ++r) {
    const uint8_t *turn = turns[r % 8];
    if (r % 4 == 0) add_key(s, x, r / 4);
    mix(s, x, 0, r % 2 ? 3 : 1, turn[0]);
    mix(s, x, 2, r % 2 ? 1 : 3, turn[1]);
  }
}

/* ---- keys ---- */

static tn_expr *path_is_full(tn_Buffer *key) {
  return tir_eq(bits_or(word(key, PLACE), word(key, PLACE + 1)), u64(0));
}

/* The place of the bit after that of `key`. */
static void next_place(steps *s, tn_Buffer *out, tn_Buffer *key) {
  set(s, out, PLACE, right(word(key, PLACE), 1));
  set(s, out, PLACE + 1, bits_or(right(word(key, PLACE + 1), 1), left(word(key, PLACE), 63)));
}

/* A new key of the words in x, with an empty path whose first free bit is `place`. */
static void fresh_key(steps *s, tn_Buffer *out, tn_Buffer *x, uint64_t path, uint64_t place) {
  for (int i = 0; i < KEY_WORDS; ++i) {
    uint64_t other = i == PATH ? path : i == PLACE ? place : 0;
    set(s, out, i, i < WORDS ? word(x, i) : u64(other));
  }
}

/* `key` itself with a 1 or a 0 more in its path. */
static void longer_path(steps *s, tn_Buffer *out, tn_Buffer *key, bool one) {
  for (int i = 0; i < PLACE; ++i) {
    bool bit = one && (i == PATH || i == PATH + 1);
    set(s, out, i, bit ? bits_or(word(key, i), word(key, PLACE + i - PATH)) : word(key, i));
  }
  next_place(s, out, key);
}

/* The key by which numbers are made: that of the caller while its counter has room for `n`. */
static tn_stmt *key_with_room(tn_Buffer *key, tn_Buffer *out, tn_Buffer *x, tn_expr *n) {
  const uint64_t all = UINT64_MAX;
  steps same = {0}, fresh = {0}, longer = {0};
  for (int i = 0; i < KEY_WORDS; ++i) set(&same, out, i, word(key, i));
  for (int i = 0; i < WORDS; ++i) set(&fresh, x, i, u64(all)); /* no path and counter are these */
  encipher(&fresh, x, key);
  fresh_key(&fresh, out, x, 0, UINT64_C(1) << 63);
  longer_path(&longer, out, key, true);
  set(&longer, out, COUNTER, u64(0));
  set(&longer, out, COUNT, u64(0));
  tn_expr *room = tir_lt(word(key, COUNT), tir_bitwise_not(tir_cast(U64, n, NULL), NULL));
  tn_stmt *a = done(&same), *b = done(&fresh), *c = done(&longer);
  return a && b && c ? ops_either(room, a, ops_either(path_is_full(key), b, c)) : NULL;
}

/* Four numbers for each block, the last one of which may be needed in part. */
static tn_stmt *blocks(tn_Buffer *key, tn_Buffer *bits, tn_Buffer *x, tn_expr *n, tn_expr *count) {
  tn_Var *v = tir_var("block", TN_I32);
  tn_expr *block = (tn_expr *)v, *first = tir_mul(block, tir_i32(WORDS));
  tn_expr *whole = tir_le(tir_add(first, tir_i32(WORDS)), n);
  steps s = {0};
  for (int i = 0; i < WORDS; ++i) {
    tn_expr *part = i == COUNT - PATH ? first : tir_i32(0);
    tn_expr *at = tir_if_then_else(whole, block, part, NULL);
    set(&s, x, i, tir_add(word(key, PATH + i), tir_cast(U64, at, NULL)));
  }
  encipher(&s, x, key);
  for (int i = 0; i < WORDS; ++i)
    add_step(&s, tir_store(bits, word(x, i), tn_arr_of(1, tir_add(first, tir_i32(i)))));
  tn_stmt *body = done(&s);
  return body ? ops_loop(v, count, body) : NULL;
}

/* The next key and n numbers, of 64 bits each, in a row. */
static int generate(tn_Tensor *key, tn_expr *n, tn_Tensor **next, tn_Tensor **bits) {
  tn_arr *words = tn_arr_of(1, tir_i32(KEY_WORDS)), *scratch = tn_arr_of(1, tir_i32(SCRATCH));
  tn_expr *count, *all;
  tn_Buffer *from, *out, *row, *x;
  TN_GET(n, tir_cast(TN_I32, n, NULL));
  TN_GET(count, tir_ceildiv(n, tir_i32(WORDS), NULL));
  TN_GET(all, tir_mul(count, tir_i32(WORDS)));
  TN_GET(from, tir_buffer(words, U64, "key", ""));
  TN_GET(out, tir_buffer(words, U64, "next", ""));
  TN_GET(row, tir_buffer(tn_arr_of(1, tir_max(all, tir_i32(WORDS))), U64, "bits", ""));
  TN_GET(x, tir_buffer(scratch, U64, "words", ""));
  steps s = {0};
  add_step(&s, key_with_room(from, out, x, all));
  add_step(&s, blocks(out, row, x, n, count));
  set(&s, out, COUNTER, u64(0));
  set(&s, out, COUNT, tir_add(word(out, COUNT), tir_cast(U64, all, NULL)));
  tn_arr *made = ops_extern("threefry", tn_arr_of(1, key), tn_arr_of(1, from),
                            tn_arr_of(3, out, row, x), done(&s));
  if (!made) return -1;
  *next = (tn_Tensor *)tn_arr_obj(made, 0);
  *bits = (tn_Tensor *)tn_arr_obj(made, 1);
  return 0;
}

static tn_arr *compute_split(const relay_compute *c) {
  tn_arr *words = tn_arr_of(1, tir_i32(KEY_WORDS)), *scratch = tn_arr_of(1, tir_i32(SCRATCH));
  tn_Buffer *key, *zero, *one, *x;
  TN_GETP(key, tir_buffer(words, U64, "key", ""));
  TN_GETP(zero, tir_buffer(words, U64, "left", ""));
  TN_GETP(one, tir_buffer(words, U64, "right", ""));
  TN_GETP(x, tir_buffer(scratch, U64, "words", ""));
  steps fresh = {0}, longer = {0};
  for (int i = 0; i < WORDS; ++i) set(&fresh, x, i, word(key, PATH + i));
  encipher(&fresh, x, key);
  fresh_key(&fresh, zero, x, 0, UINT64_C(1) << 62);
  fresh_key(&fresh, one, x, UINT64_C(1) << 63, UINT64_C(1) << 62);
  longer_path(&longer, zero, key, false);
  longer_path(&longer, one, key, true);
  tn_stmt *a = done(&fresh), *b = done(&longer);
  tn_arr *made =
      a && b ? ops_extern("threefry_split", tn_arr_of(1, relay_input(c, 0)), tn_arr_of(1, key),
                          tn_arr_of(3, zero, one, x), ops_either(path_is_full(key), a, b))
             : NULL;
  return made ? tn_arr_of(2, tn_arr_obj(made, 0), tn_arr_obj(made, 1)) : NULL;
}

/* ---- numbers ---- */

typedef struct {
  const tn_Tensor *bits, *low, *high; /* of normal: mean and scale */
  const tn_arr *shape;
  tn_expr *n; /* how many numbers there are */
  tn_dtype t;
} drawn;

/* Place of an element in a row of all of them. */
static tn_expr *flat_place(const tn_arr *shape, const tn_arr *at) {
  tn_expr *place = tir_i32(0);
  for (int64_t i = 0; place && i < at->len; ++i) {
    tn_expr *extent = tir_cast(TN_I32, (tn_expr *)tn_arr_obj(shape, i), NULL);
    place = tir_add(tir_mul(place, extent), tir_cast(TN_I32, te_index(at, i), NULL));
  }
  return place;
}

static tn_expr *bits_at(void *ctx, tn_arr *at) {
  const drawn *d = ctx;
  return te_at_of(d->bits, 1, flat_place(d->shape, at));
}

/* From 0 to below 1: the bits are the fraction of a number from 1 to below 2. */
static tn_expr *unit(tn_dtype t, tn_expr *bits) {
  bool wide = t.bits == 64;
  tn_dtype whole = wide ? U64 : U32;
  tn_expr *fraction = tir_shift(TIR_OP_shift_right, tir_cast(whole, bits, NULL),
                                tir_const_int(whole, wide ? 12 : 9), NULL);
  tn_expr *one = tir_const_int(whole, wide ? INT64_C(0x3FF0000000000000) : 0x3F800000);
  return tir_sub(tir_reinterpret(t, bits_or(fraction, one), NULL), tir_const_float(t, 1));
}

static tn_expr *uniform(void *ctx, tn_arr *at) {
  const drawn *d = ctx;
  tn_expr *low = te_at_of(d->low, 0), *high = te_at_of(d->high, 0);
  return tir_add(tir_mul(unit(d->t, bits_at(ctx, at)), tir_sub(high, low)), low);
}

/* Box and Muller: of two numbers from 0 to below 1, the second half of the row after the first. */
static tn_expr *normal(void *ctx, tn_arr *at) {
  const drawn *d = ctx;
  const double turn = 6.283185307179586;
  tn_expr *place = flat_place(d->shape, at);
  tn_expr *u = unit(d->t, te_at_of(d->bits, 1, place)),
          *v = unit(d->t, te_at_of(d->bits, 1, tir_add(d->n, place)));
  tn_expr *log = tir_call(d->t, TIR_OP_log, 1, tir_sub(tir_const_float(d->t, 1), u));
  tn_expr *radius = tir_call(d->t, TIR_OP_sqrt, 1, tir_mul(tir_const_float(d->t, -2), log));
  tn_expr *sine = tir_call(d->t, TIR_OP_sin, 1, tir_mul(tir_const_float(d->t, turn), v));
  return tir_add(tir_mul(tir_mul(radius, sine), te_at_of(d->high, 0)), te_at_of(d->low, 0));
}

static tn_arr *compute_generate(const relay_compute *c) {
  const tn_ThreefryGenerateAttrs *a = c->attrs;
  drawn d = {.shape = a->out_shape};
  tn_Tensor *next, *bits;
  TN_GETP(d.n, relay_dim_product(a->out_shape));
  TN_TRYP(generate(relay_input(c, 0), d.n, &next, &bits));
  d.bits = bits;
  return tn_arr_of(2, next, te_compute(a->out_shape, bits_at, &d, "T_random", TE_INJECTIVE));
}

static tn_arr *compute_floats(const relay_compute *c) {
  const tn_UniformAttrs *a = c->attrs;
  bool pairs = c->row->which == NORMAL;
  drawn d = {NULL, relay_input(c, 1), relay_input(c, 2), a->out_shape, NULL, a->out_dtype};
  tn_Tensor *next, *bits;
  TN_GETP(d.n, relay_dim_product(a->out_shape));
  TN_TRYP(generate(relay_input(c, 0), pairs ? relay_dim_times(d.n, 2) : d.n, &next, &bits));
  d.bits = bits;
  tn_Tensor *y = te_compute(a->out_shape, pairs ? normal : uniform, &d,
                            pairs ? "T_normal" : "T_uniform", TE_INJECTIVE);
  return tn_arr_of(2, next, y);
}

/* ---- samples ---- */

enum { ALL, SO_FAR, SHARE, SUMS }; /* of a row: the sum, that up to a class, what is looked for */

typedef struct {
  tn_Buffer *bits, *probs, *out, *sums;
  tn_arr *row; /* its indices, with a place for the last axis */
  int64_t last;
  tn_expr *classes;
} sampling;

static tn_arr *in_row(const sampling *s, tn_expr *i) { return ops_with_index(s->row, s->last, i); }

static tn_expr *sum_at(const sampling *s, int which) {
  return tir_load(s->sums, in_row(s, tir_i32(which)));
}

static tn_stmt *set_sum(const sampling *s, int which, tn_expr *value) {
  return tir_store(s->sums, value, in_row(s, tir_i32(which)));
}

/* Adds what class k has to a sum; less than 0, and NaN, are 0. */
static tn_stmt *add_class(const sampling *s, int which, tn_expr *k) {
  tn_expr *p = tir_cast(TN_F32, tir_load(s->probs, in_row(s, k)), NULL);
  tn_expr *none = tir_const_float(TN_F32, 0);
  return set_sum(s, which, tir_add(sum_at(s, which), tir_select(tir_gt(p, none), p, none, NULL)));
}

/* The first class up to which there is more than the share of all. Sums are the same ones, so that
   it has a probability itself; a row without any gives its last class. */
static tn_stmt *find_class(const sampling *s, tn_expr *sample) {
  tn_Var *v = tir_var("class", TN_I32);
  tn_expr *k = (tn_expr *)v, *zero = tir_const_float(TN_F32, 0);
  tn_expr *next = tir_min(tir_add(k, tir_i32(1)), tir_sub(s->classes, tir_i32(1)));
  tn_stmt *pass = ops_either(tir_le(sum_at(s, SO_FAR), sum_at(s, SHARE)),
                             tir_store(s->out, next, in_row(s, sample)), NULL);
  tn_stmt *look = ops_loop(v, s->classes, tir_seq2(add_class(s, SO_FAR, k), pass));
  return tir_seq2(
      tir_seq2(set_sum(s, SO_FAR, zero), tir_store(s->out, tir_i32(0), in_row(s, sample))), look);
}

static tn_stmt *draw_row(const sampling *s, const tn_arr *shape) {
  tn_Var *v = tir_var("class", TN_I32), *w = tir_var("sample", TN_I32);
  tn_expr *sample = (tn_expr *)w, *zero = tir_const_float(TN_F32, 0);
  tn_expr *bits = tir_load(s->bits, tn_arr_of(1, flat_place(shape, in_row(s, sample))));
  tn_stmt *share = set_sum(s, SHARE, tir_mul(unit(TN_F32, bits), sum_at(s, ALL)));
  tn_stmt *sum =
      tir_seq2(set_sum(s, ALL, zero), ops_loop(v, s->classes, add_class(s, ALL, (tn_expr *)v)));
  tn_expr *samples = tir_cast(TN_I32, (tn_expr *)tn_arr_obj(shape, s->last), NULL);
  return tir_seq2(sum, ops_loop(w, samples, tir_seq2(share, find_class(s, sample))));
}

static tn_arr *compute_multinomial(const relay_compute *c) {
  tn_Tensor *probs = relay_input(c, 1), *next, *bits;
  tn_arr *shape = samples_shape(c->attrs, probs->shape);
  sampling s = {.last = probs->shape->len - 1};
  TN_GETP(s.classes, tir_cast(TN_I32, te_extent(probs, s.last), NULL));
  TN_TRYP(generate(relay_input(c, 0), shape ? relay_dim_product(shape) : NULL, &next, &bits));
  TN_GETP(s.bits, tir_buffer(bits->shape, U64, "bits", ""));
  TN_GETP(s.probs, tir_buffer(probs->shape, probs->dtype, "probs", ""));
  TN_GETP(s.out, tir_buffer(shape, TN_I32, "samples", ""));
  tn_arr *sums = ops_with_index(probs->shape, s.last, tir_i32(SUMS));
  TN_GETP(s.sums, sums ? tir_buffer(sums, TN_F32, "sums", "") : NULL);
  TN_GETP(s.row, ops_loop_vars("r", probs->shape->len));
  tn_stmt *body = draw_row(&s, shape);
  for (int64_t i = s.last; body && i-- > 0;)
    body = ops_loop((tn_Var *)te_index(s.row, i), te_extent(probs, i), body);
  tn_arr *made = ops_extern("samples", tn_arr_of(2, bits, probs), tn_arr_of(2, s.bits, s.probs),
                            tn_arr_of(2, s.out, s.sums), body);
  return made ? tn_arr_of(2, next, tn_arr_obj(made, 0)) : NULL;
}

/* ---- shapes ---- */

static tn_arr *shape_with(tn_arr *numbers) {
  tn_arr *key = tn_arr_of(1, tir_i64(KEY_WORDS));
  return key && numbers ? tn_arr_of(2, key, numbers) : NULL;
}

static tn_arr *shape_multinomial(const relay_shape_query *q) {
  return shape_with(samples_shape(q->attrs, relay_shape_of(q, 1)));
}

static const relay_op_row rows[] = {
    {.name = "random.threefry_generate",
     .inputs = "key",
     .attrs = &tn_type_ThreefryGenerateAttrs,
     .level = 10,
     .pattern = RELAY_OPAQUE,
     .rel_name = "ThreefryGenerate",
     .rel = relate_generate,
     .compute = compute_generate,
     .doc = "the next key, and random numbers of 64 bits"},
    {.name = "random.threefry_split",
     .inputs = "key",
     .level = 10,
     .pattern = RELAY_OPAQUE,
     .rel_name = "ThreefrySplit",
     .rel = relate_split,
     .compute = compute_split,
     .doc = "two keys whose numbers have nothing to do with each other"},
    {.name = "random.uniform",
     .inputs = "key low high",
     .attrs = &tn_type_UniformAttrs,
     .level = 10,
     .pattern = RELAY_OPAQUE,
     .rel_name = "Uniform",
     .rel = relate_floats,
     .compute = compute_floats,
     .doc = "the next key, and random numbers from low to high"},
    {.name = "random.normal",
     .inputs = "key mean scale",
     .attrs = &tn_type_NormalAttrs,
     .level = 10,
     .pattern = RELAY_OPAQUE,
     .which = NORMAL,
     .rel_name = "Normal",
     .rel = relate_floats,
     .compute = compute_floats,
     .doc = "the next key, and random numbers of a normal distribution"},
    {.name = "random.multinomial",
     .inputs = "key probs",
     .attrs = &tn_type_MultinomialAttrs,
     .level = 10,
     .pattern = RELAY_OPAQUE,
     .rel_name = "Multinomial",
     .rel = relate_multinomial,
     .compute = compute_multinomial,
     .shape = shape_multinomial,
     .doc = "the next key, and indices along the last axis of probs, drawn by these weights"},
};
RELAY_FAMILY(random, RANDOM_ATTRS)
