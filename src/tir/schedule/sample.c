/* Random choices of schedules: how to tile a loop, which of several numbers to take.

   The numbers come from a linear congruential generator, x <- 48271 x mod 2^31 - 1, whose state the
   schedule holds, so that a seed always leads to the same choices; integers and weighted choices
   are drawn from it the way the C++ library of GCC does, which existing logs of seeds rely on. A
   choice that was made before, the decision, is taken again as far as it still fits. */
#include <time.h>

#include "tenon/object.h"
#include "tir/schedule/api.h"
#include "tir/schedule/blocks.h"
#include "tir/schedule/schedule_impl.h"

enum { MODULUS = 2147483647, MULTIPLIER = 48271 };

/* ---- the generator ---- */

int sch_seed(tn_TirSchedule *s, int64_t seed) {
  struct timespec now;
  TN_CHECK(seed >= -1, ValueError, NULL, "seed: expected a number that is not negative, got %lld",
           (long long)seed);
  if (seed == -1) {
    clock_gettime(CLOCK_REALTIME, &now);
    seed = (now.tv_nsec ^ now.tv_sec ^ (int64_t)((uintptr_t)s >> 4)) & INT32_MAX;
  }
  seed = (seed ? seed : 1) % MODULUS;
  tn_any value = tn_any_int(seed ? seed : 1);
  return tn_field_set((tn_obj *)s, tn_type_field(&tn_type_TirSchedule, "rand_state"), &value);
}

static int64_t draw(int64_t *state) { return *state = *state * MULTIPLIER % MODULUS; }

int64_t sch_fork_seed(tn_TirSchedule *s) {
  int64_t state = s->rand_state, seed = draw(&state) * 32767 % 1999999973;
  return sch_seed(s, state) ? -1 : seed;
}

/* Draws in the last, incomplete part are made again. */
int64_t sch_draw_below(int64_t *state, int64_t n) {
  if (n <= 1) return 0;
  int64_t scale = (MODULUS - 1) / n, x;
  do {
    x = draw(state);
  } while (x >= n * scale);
  return x / scale;
}

/* A number of [0, 1) with 53 bits: two draws. */
static double draw_unit(int64_t *state) {
  double low = (double)draw(state), high = (double)draw(state), r = (double)MODULUS;
  double x = (low + high * r) / (r * r);
  return x < 1 ? x : 0x1.fffffffffffffp-1;
}

/* ---- decisions and results ---- */

static int read_ints(const tn_any *list, int64_t *out, int64_t n, const char *what) {
  const tn_arr *a = TN_AS(Array, tn_any_is_obj(list) ? list->v.obj : NULL);
  TN_CHECK(a && a->len == n, ValueError, NULL, "%s: expected a decision of %lld numbers", what,
           (long long)n);
  for (int64_t i = 0; i < n; ++i)
    TN_CHECK(tn_any_to_int(&a->items[i], &out[i]) == 0, TypeError, NULL,
             "%s: decision %lld is not an integer", what, (long long)i);
  return 0;
}

/* A variable of the schedule with a value. */
static tn_obj *value_handle(tn_TirSchedule *s, int64_t value) {
  tn_Var *v = tir_var("v", TN_I32);
  tn_expr *k = tir_i32((int32_t)value);
  return v && k && tn_map_set(s->symbols, tn_any_obj(v), tn_any_obj(k)) == 0 ? (tn_obj *)v : NULL;
}

/* [handles of the values, the values as the decision] */
static tn_arr *value_handles(tn_TirSchedule *s, const int64_t *values, int64_t n, int64_t state) {
  TN_VEC(rvs);
  TN_VEC(ints);
  for (int64_t i = 0; i < n; ++i) {
    const tn_obj *rv = value_handle(s, values[i]);
    if (!rv || tn_vec_push_obj(&rvs, rv) || tn_vec_push_obj(&ints, tir_i32((int32_t)values[i])))
      return NULL;
  }
  tn_arr *handles = tn_arr_from(&rvs), *decision = tn_arr_from(&ints);
  if (!handles || !decision || sch_seed(s, state)) return NULL;
  return tn_arr_of(2, handles, decision);
}

/* ---- tiles ---- */

enum { MAX_TILES = 32 };

/* Each prime factor goes to one of the n parts. */
static void tile(int64_t *state, int64_t extent, int64_t n, int64_t *out) {
  for (int64_t i = 0; i < n; ++i) out[i] = 1;
  for (int64_t p = 2; extent > 1 && n > 1; p = p * p > extent ? extent : p + 1) {
    for (; extent % p == 0; extent /= p) out[sch_draw_below(state, n)] *= p;
  }
  out[0] *= extent;
}

static int tile_perfectly(int64_t *state, int64_t extent, int64_t n, int64_t max_innermost,
                          int64_t *out) {
  int64_t choices = 0, pick, f = 0;
  if (max_innermost == -1) {
    tile(state, extent, n, out);
    return 0;
  }
  TN_CHECK(n >= 2, ValueError, NULL,
           "sample_perfect_tile: Cannot tile a loop into %lld splits: expected 2 or more",
           (long long)n);
  TN_CHECK(max_innermost >= 1, ValueError, NULL,
           "sample_perfect_tile: max_innermost_factor: expected -1 or a positive number, got %lld",
           (long long)max_innermost);
  for (int64_t i = 1; i <= max_innermost && i <= extent; ++i) choices += extent % i == 0;
  pick = sch_draw_below(state, choices);
  while (pick >= 0) pick -= extent % ++f == 0;
  tile(state, extent / f, n - 1, out);
  out[n - 1] = f;
  return 0;
}

/* A decision may have been made for a loop of another extent: what does not divide takes all. */
static void fit_tile(int64_t extent, int64_t n, int64_t *tiles) {
  for (int64_t i = n; --i > 0;) {
    if (tiles[i] <= 0 || extent % tiles[i] != 0) tiles[i] = extent;
    extent /= tiles[i];
  }
  tiles[0] = extent;
}

static int check_tiles(int64_t n, const char *what) {
  TN_CHECK(n >= 1 && n <= MAX_TILES, ValueError, NULL, "%s: n: expected 1 to %d, got %lld", what,
           MAX_TILES, (long long)n);
  return 0;
}

/* Extent that is a constant, else *extent stays 0 and the tile is (-1, 1, ..., 1). */
static int loop_extent(tn_TirSchedule *s, const tn_LoopRV *loop, const char *what, int64_t n,
                       int64_t *extent, int64_t *tiles) {
  SCH_STEP(e, s, what);
  *extent = 0;
  const tn_For *f = sch_loop_of(&e, loop);
  if (!f) return -1;
  for (int64_t i = 0; i < n; ++i) tiles[i] = i ? 1 : -1;
  if (tir_as_int((const tn_obj *)f->extent, extent) && *extent < 1)
    return sch_fail(&e, "A loop without iterations cannot be tiled", SCH_PLACES(f),
                    "The loop {0} has no iterations, it cannot be tiled");
  return 0;
}

tn_arr *sch_sample_perfect_tile(tn_TirSchedule *s, const tn_LoopRV *loop, int64_t n,
                                int64_t max_innermost, const tn_any *decision) {
  int64_t tiles[MAX_TILES], extent, state = s->rand_state;
  TN_TRYP(check_tiles(n, "sample_perfect_tile"));
  TN_TRYP(loop_extent(s, loop, "sample-perfect-tile", n, &extent, tiles));
  if (extent && decision) {
    TN_TRYP(read_ints(decision, tiles, n, "sample_perfect_tile"));
    fit_tile(extent, n, tiles);
  } else if (extent) {
    TN_TRYP(tile_perfectly(&state, extent, n, max_innermost, tiles));
  }
  return value_handles(s, tiles, n, state);
}

tn_arr *sch_sample_partitioned_tile(tn_TirSchedule *s, const tn_LoopRV *loop, int64_t n,
                                    int64_t partition, int64_t factor, const tn_any *decision) {
  int64_t tiles[MAX_TILES], extent, inner = 1, state = s->rand_state;
  TN_TRYP(check_tiles(n, "sample_partitioned_tile"));
  TN_CHECKP(partition >= 0 && partition < n && factor >= 1, ValueError, NULL,
            "sample_partitioned_tile: expected partition_pos from 0 to %lld and a positive "
            "innerpart_factor, got %lld and %lld",
            (long long)n - 1, (long long)partition, (long long)factor);
  TN_TRYP(loop_extent(s, loop, "sample-partitioned-tile", n, &extent, tiles));
  if (extent % factor != 0) extent = 0; /* the inner part cannot be a multiple of it */
  if (extent && decision) {
    TN_TRYP(read_ints(decision, tiles, n, "sample_partitioned_tile"));
    for (int64_t i = partition; i < n; ++i) inner *= tiles[i];
    if (inner % factor != 0) tiles[partition] *= factor;
    fit_tile(extent, n, tiles);
  } else if (extent) {
    tile(&state, extent / factor, n, tiles);
    tiles[partition] *= factor;
  }
  return value_handles(s, tiles, n, state);
}

/* ---- one of several numbers ---- */

static bool as_double(const tn_obj *o, double *out) {
  const tn_FloatImm *f = TN_AS(FloatImm, o);
  int64_t k = 0;
  bool whole = !f && o && tir_as_int(o, &k);
  *out = f ? f->value : (double)k;
  return f || whole;
}

static int weighted(int64_t *state, const tn_arr *probs, int64_t *pick) {
  double sum = 0, at = 0, p;
  for (int64_t i = 0; i < probs->len; ++i) {
    TN_CHECK(as_double(tn_arr_obj(probs, i), &p) && p >= 0, ValueError, NULL,
             "sample_categorical: probability %lld is not a number of 0 or more", (long long)i);
    sum += p;
  }
  TN_CHECK(sum > 0, ValueError, NULL, "sample_categorical: the probabilities add up to 0");
  double x = draw_unit(state);
  for (*pick = 0; *pick + 1 < probs->len; ++*pick) {
    as_double(tn_arr_obj(probs, *pick), &p);
    if ((at += p / sum) >= x) break;
  }
  return 0;
}

tn_arr *sch_sample_categorical(tn_TirSchedule *s, const tn_arr *candidates, const tn_arr *probs,
                               const tn_any *decision) {
  int64_t pick = -1, value, state = s->rand_state;
  if (decision && tn_any_to_int(decision, &pick)) return NULL;
  TN_CHECKP(candidates->len == probs->len && probs->len > 0, ValueError, NULL,
            "sample_categorical: number of candidates does not match number of probabilities");
  if (pick < 0) TN_TRYP(weighted(&state, probs, &pick));
  TN_CHECKP(pick < candidates->len, ValueError, NULL,
            "sample_categorical: Wrong decision value, where n = %lld, but decision is: %lld",
            (long long)candidates->len, (long long)pick);
  TN_CHECKP(tir_as_int(tn_arr_obj(candidates, pick), &value), TypeError, NULL,
            "sample_categorical: candidate %lld is not an integer", (long long)pick);
  tn_obj *rv = sch_seed(s, state) ? NULL : value_handle(s, value);
  return rv ? tn_arr_of(2, rv, tir_i32((int32_t)pick)) : NULL;
}

/* ---- functions ---- */

static int f_seed(TN_ARGS) {
  int64_t seed = -1;
  SCH_ARG_SCHEDULE("Schedule.seed", 2);
  if (args[1].type_index != TN_NONE) TN_TRY(tn_any_to_int(&args[1], &seed));
  return sch_seed(s, seed);
}

static int f_fork_seed(TN_ARGS) {
  SCH_ARG_SCHEDULE("Schedule.fork_seed", 1);
  int64_t seed = sch_fork_seed(s);
  *ret = tn_any_int(seed);
  return seed < 0 ? -1 : 0;
}

static const tn_func_row functions[] = {
    {"tir.schedule.Seed", f_seed},
    {"tir.schedule.ForkSeed", f_fork_seed},
};

int sch_sample_init(void) { return tn_func_register_rows(functions, TN_COUNT(functions)); }
