/* RNN, GRU and LSTM with the loop over time unrolled; over any number of steps it is a function
   that calls itself (dynamic_loop.h).

     x: [time, batch, in]                                           the inputs of all gates at once:
     gates = dense(reshape(x), W) + bias                            [time, batch, gates * hidden]
     for t: h, c = cell(take(gates, [t]) + dense(h, R), h, c)

   Steps differ in one constant only, so that their kernels are the same ones. */
#include <string.h>

#include "base/error.h"
#include "base/scope.h"
#include "import/onnx/import.h"
#include "import/onnx/dynamic_loop.h"
#include "relay/infer.h"

enum { MAX_STEPS = 4096, X = 0, W = 1, R = 2, B = 3, LENGTHS = 4, H0 = 5, C0 = 6, PEEPHOLES = 7 };

/* An activation with its coefficients. */
typedef struct {
  char name[20];
  double alpha, beta;
} activation;

typedef struct recurrent recurrent;
/* The next state from the part of the inputs that belongs to the step. 0 or -1. */
typedef int (*cell_fn)(const recurrent *r, void *x, void **state);

struct recurrent {
  onnx_ctx *c;
  cell_fn cell;
  tn_dtype dtype;
  int64_t time, batch, in, hidden, dirs, gates; /* extents; -1: open, of time and batch */
  bool batch_first, has_c, reset_after, tied;   /* tied: the forget gate is 1 - input gate */
  double limit;                                 /* 0: inputs of activations are not clipped */
  activation acts[6];
  /* of the direction at hand */
  const activation *act;
  void *weight, *recurrence, *bias, *late_bias, *peepholes;
};

/* ---- activations ---- */

static void *scalar(const recurrent *r, double v) { return relay_const_float(r->dtype, v); }
static void *add(void *a, void *b) { return onnx_binary("add", a, b); }
static void *mul(void *a, void *b) { return onnx_binary("multiply", a, b); }

static void *affine(const recurrent *r, double alpha, void *x, double beta) {
  return add(mul(x, scalar(r, alpha)), scalar(r, beta));
}

static void *relu(const recurrent *r, const activation *a, void *x) {
  return (void)r, (void)a, onnx_unary("nn.relu", x);
}
static void *tanh_of(const recurrent *r, const activation *a, void *x) {
  return (void)r, (void)a, onnx_unary("tanh", x);
}
static void *sigmoid(const recurrent *r, const activation *a, void *x) {
  return (void)r, (void)a, onnx_unary("sigmoid", x);
}
static void *affine_of(const recurrent *r, const activation *a, void *x) {
  return affine(r, a->alpha, x, a->beta);
}
static void *leaky(const recurrent *r, const activation *a, void *x) {
  return onnx_where(onnx_binary("less", x, scalar(r, 0)), mul(x, scalar(r, a->alpha)), x);
}
static void *thresholded(const recurrent *r, const activation *a, void *x) {
  return onnx_where(onnx_binary("less", x, scalar(r, a->alpha)), scalar(r, 0), x);
}
static void *scaled_tanh(const recurrent *r, const activation *a, void *x) {
  return mul(onnx_unary("tanh", mul(x, scalar(r, a->beta))), scalar(r, a->alpha));
}
static void *hard_sigmoid(const recurrent *r, const activation *a, void *x) {
  void *y = onnx_binary("maximum", affine(r, a->alpha, x, a->beta), scalar(r, 0));
  return onnx_binary("minimum", y, scalar(r, 1));
}
static void *elu(const recurrent *r, const activation *a, void *x) {
  void *low = onnx_unary("exp", onnx_binary("minimum", x, scalar(r, 0)));
  return add(onnx_unary("nn.relu", x), affine(r, a->alpha, low, -a->alpha));
}
static void *softsign(const recurrent *r, const activation *a, void *x) {
  return (void)a, onnx_binary("divide", x, add(onnx_unary("abs", x), scalar(r, 1)));
}
static void *softplus(const recurrent *r, const activation *a, void *x) {
  void *e = onnx_unary("exp", onnx_unary("negative", onnx_unary("abs", x)));
  return (void)a, add(onnx_unary("nn.relu", x), onnx_unary("log", add(e, scalar(r, 1))));
}

static const struct {
  const char *name;
  void *(*apply)(const recurrent *r, const activation *a, void *x);
  int coefficients;   /* how many it takes: alpha, beta */
  double alpha, beta; /* where the model gives none */
} activations[] = {
    {"Relu", relu, 0, 0, 0},
    {"Tanh", tanh_of, 0, 0, 0},
    {"Sigmoid", sigmoid, 0, 0, 0},
    {"Affine", affine_of, 2, 1, 0},
    {"LeakyRelu", leaky, 1, 0.01, 0},
    {"ThresholdedRelu", thresholded, 1, 1, 0},
    {"ScaledTanh", scaled_tanh, 2, 1, 1},
    {"HardSigmoid", hard_sigmoid, 2, 0.2, 0.5},
    {"Elu", elu, 1, 1, 0},
    {"Softsign", softsign, 0, 0, 0},
    {"Softplus", softplus, 0, 0, 0},
};

static int find_activation(const char *name) {
  for (int i = 0; i < TN_COUNT(activations); ++i)
    if (strcmp(activations[i].name, name) == 0) return i;
  return -1;
}

/* Activation i of the direction, its input clipped where the node says so. */
static void *activate(const recurrent *r, int i, void *x) {
  const activation *a = &r->act[i];
  if (r->limit > 0)
    x = onnx_binary("minimum", onnx_binary("maximum", x, scalar(r, -r->limit)),
                    scalar(r, r->limit));
  return activations[find_activation(a->name)].apply(r, a, x);
}

/* The next coefficient of a list; what is usual where the list has ended. */
static double next_coefficient(const onnx_attr *list, size_t *at, double usual) {
  size_t i = (*at)++;
  return list && i < list->n_floats ? (double)list->floats[i] : usual;
}

/* The names, and coefficients: each list in the order of the activations that take one of it. */
static int read_activations(recurrent *r, const char *const *usual, int each) {
  const onnx_attr *names = onnx_node_attr(r->c, "activations"),
                  *alpha = onnx_node_attr(r->c, "activation_alpha"),
                  *beta = onnx_node_attr(r->c, "activation_beta");
  int64_t n = r->dirs * each;
  if (names && (int64_t)names->n_strings != n)
    return onnx_fail(r->c, "activations: expected %lld names, got %lld", (long long)n,
                     (long long)names->n_strings),
           -1;
  size_t alphas = 0, betas = 0;
  for (int64_t i = 0; i < n; ++i) {
    activation *a = &r->acts[i];
    size_t size = names ? names->strings[i].len : strlen(usual[i % each]);
    if (size >= sizeof a->name) size = sizeof a->name - 1;
    memcpy(a->name, names ? (const char *)names->strings[i].data : usual[i % each], size);
    a->name[size] = '\0';
    int found = find_activation(a->name);
    if (found < 0) return onnx_fail(r->c, "the activation %s is not supported", a->name), -1;
    a->alpha = activations[found].alpha, a->beta = activations[found].beta;
    if (activations[found].coefficients > 0) a->alpha = next_coefficient(alpha, &alphas, a->alpha);
    if (activations[found].coefficients > 1) a->beta = next_coefficient(beta, &betas, a->beta);
  }
  return 0;
}

/* ---- cells ---- */

static void *gate(const recurrent *r, void *x, int64_t i) {
  return onnx_part(x, 1, i * r->hidden, (i + 1) * r->hidden);
}

static void *recur(void *h, void *weight) { return relay_call("nn.dense", NULL, 2, h, weight); }

static int rnn_cell(const recurrent *r, void *x, void **state) {
  TN_GET(state[0], activate(r, 0, add(recur(state[0], r->recurrence), x)));
  return 0;
}

/* Gates z (keep), r (reset), h (new). */
static int gru_cell(const recurrent *r, void *x, void **state) {
  void *h = state[0], *z, *reset, *fresh;
  int64_t n = r->hidden;
  if (r->reset_after) {
    void *y = recur(h, r->recurrence),
         *both = add(onnx_part(y, 1, 0, 2 * n), onnx_part(x, 1, 0, 2 * n));
    void *late = gate(r, y, 2);
    if (r->late_bias) late = add(late, r->late_bias);
    z = activate(r, 0, gate(r, both, 0)), reset = activate(r, 0, gate(r, both, 1));
    fresh = activate(r, 1, add(gate(r, x, 2), mul(reset, late)));
  } else {
    void *both = add(recur(h, onnx_part(r->recurrence, 0, 0, 2 * n)), onnx_part(x, 1, 0, 2 * n));
    z = activate(r, 0, gate(r, both, 0)), reset = activate(r, 0, gate(r, both, 1));
    void *late = recur(mul(reset, h), onnx_part(r->recurrence, 0, 2 * n, 3 * n));
    fresh = activate(r, 1, add(late, gate(r, x, 2)));
  }
  TN_GET(state[0], add(fresh, mul(z, onnx_binary("subtract", h, fresh))));
  return 0;
}

static void *peep(const recurrent *r, int i, void *x, void *c) {
  if (!r->peepholes) return x;
  return add(x, mul(c, onnx_part(r->peepholes, 0, i * r->hidden, (i + 1) * r->hidden)));
}

/* Gates i (in), o (out), f (forget), c (new); the peepholes are those of i, o, f. */
static int lstm_cell(const recurrent *r, void *x, void **state) {
  void *c = state[1], *y = add(recur(state[0], r->recurrence), x);
  void *in = activate(r, 0, peep(r, 0, gate(r, y, 0), c));
  void *forget = r->tied ? onnx_binary("subtract", scalar(r, 1), in)
                         : activate(r, 0, peep(r, 2, gate(r, y, 2), c));
  void *fresh = activate(r, 1, gate(r, y, 3));
  TN_GET(c, add(mul(forget, c), mul(in, fresh)));
  void *out = activate(r, 0, peep(r, 1, gate(r, y, 1), c));
  recurrent unlimited = *r; /* the clip is for gates only */
  unlimited.limit = 0;
  TN_GET(state[0], mul(out, activate(&unlimited, 2, c)));
  state[1] = c;
  return 0;
}

/* ---- one direction ---- */

/* Row d of an input whose first axis is the direction. */
static void *of_direction(const recurrent *r, int input, int64_t d) {
  return onnx_squeeze(onnx_part(onnx_in(r->c, input), 0, d, d + 1), 0);
}

static int enter_direction(recurrent *r, int64_t d, int each) {
  int64_t n = r->gates * r->hidden;
  r->act = &r->acts[d * each];
  TN_GET(r->weight, of_direction(r, W, d));
  TN_GET(r->recurrence, of_direction(r, R, d));
  r->bias = r->late_bias = r->peepholes = NULL;
  if (onnx_in(r->c, PEEPHOLES)) TN_GET(r->peepholes, of_direction(r, PEEPHOLES, d));
  if (!onnx_in(r->c, B)) return 0;
  void *b = of_direction(r, B, d), *own = onnx_part(b, 0, 0, n), *back = onnx_part(b, 0, n, 2 * n);
  if (r->reset_after) { /* the reset gate scales the bias of the new state */
    int64_t late = 2 * r->hidden;
    TN_GET(r->late_bias, onnx_part(back, 0, late, n));
    void *first = add(onnx_part(own, 0, 0, late), onnx_part(back, 0, 0, late));
    void *last = onnx_part(own, 0, late, n);
    TN_GET(r->bias, first && last ? onnx_concat(tn_arr_of(2, first, last), 0) : NULL);
    return 0;
  }
  TN_GET(r->bias, add(own, back));
  return 0;
}

/* What the inputs add to the gates, at all times: [time, batch, gates * hidden]. */
static void *input_gates(const recurrent *r, void *x) {
  if (r->time < 0 || r->batch < 0) {
    void *all = recur(x, r->weight);
    return r->bias ? add(all, r->bias) : all;
  }
  int64_t flat[] = {r->time * r->batch, r->in}, dims[] = {r->time, r->batch, r->gates * r->hidden};
  void *y = recur(onnx_reshape(x, flat, 2), r->weight);
  if (r->bias) y = add(y, r->bias);
  return onnx_reshape(y, dims, 3);
}

/* The state before the first step: [batch, hidden]. */
static void *first_state(const recurrent *r, int input, int64_t d) {
  int64_t dims[] = {r->batch, r->hidden};
  void *given = onnx_in(r->c, input);
  if (given) return onnx_squeeze(onnx_part(given, r->batch_first, d, d + 1), r->batch_first);
  if (r->batch < 0) {
    void *n = onnx_expand_dims(onnx_extent(onnx_in(r->c, X), r->batch_first ? 0 : 1, TN_I64), 0, 1);
    void *width = relay_const_ints(TN_I64, &r->hidden, 1), *a = relay_attrs("dyn.full", 0);
    void *shape = n && width ? onnx_concat(tn_arr_of(2, n, width), 0) : NULL;
    void *all = a && shape ? relay_call("dyn.full", a, 2, scalar(r, 0), shape) : NULL;
    return all ? onnx_reshape(all, (int64_t[]){0, r->hidden}, 2) : NULL;
  }
  void *a = relay_attrs("zeros", 2, "shape", tn_any_obj(relay_ints(dims, 2)), "dtype",
                        tn_any_dtype(r->dtype));
  return a ? relay_call("zeros", a, 0) : NULL;
}

/* Sequences that have ended keep their state and give zeros. @param t the step, of the lengths'
 * type */
static int hold_ended(const recurrent *r, void *t, void *const *before, void **state, void **y) {
  *y = state[0];
  if (!onnx_in(r->c, LENGTHS)) return 0;
  void *going = onnx_binary("greater", onnx_in(r->c, LENGTHS), t);
  TN_GET(going, onnx_expand_dims(going, 1, 1));
  TN_GET(*y, onnx_where(going, state[0], scalar(r, 0)));
  for (int i = 0; i <= r->has_c; ++i) TN_GET(state[i], onnx_where(going, state[i], before[i]));
  return 0;
}

static tn_dtype length_type(const recurrent *r) {
  const tn_TensorType *t = onnx_in_type(r->c, LENGTHS);
  return t ? t->dtype : TN_I32;
}

/* ---- any number of steps ---- */

typedef struct {
  const recurrent *r;
  void *gates, *last; /* [time, batch, gates * hidden]; time - 1 where it runs backwards */
} stepping;

static void *typed(void *e) { return e ? relay_infer_new(e) : NULL; }

static tn_arr *any_step(void *ctx, void *index, void *const *states) {
  const stepping *g = ctx;
  const recurrent *r = g->r;
  void *before[2] = {states[0], r->has_c ? states[1] : NULL}, *state[2] = {before[0], before[1]},
       *y;
  void *t = g->last ? onnx_binary("subtract", g->last, index) : index, *each;
  TN_GETP(each, t ? onnx_take(g->gates, t, 0) : NULL);
  const tn_TensorType *at = relay_tensor_type_of_expr(index);
  if (at && at->shape->len == 1) TN_GETP(each, onnx_squeeze(each, 0));
  TN_TRYP(r->cell(r, each, state));
  TN_TRYP(hold_ended(r, onnx_cast(t, length_type(r)), before, state, &y));
  TN_VEC(v);
  for (int i = 0; i <= r->has_c; ++i) TN_TRYP(tn_vec_push_obj(&v, state[i]));
  TN_TRYP(tn_vec_push_obj(&v, y));
  const tn_RelayTuple *all; /* typed as one, so that they share what they have in common */
  TN_GETP(all, typed(relay_tuple(tn_arr_from(&v))));
  return all->fields;
}

static int run_any(const recurrent *r, void *x, void *gates, bool reverse, void **state, void **y) {
  stepping g = {.r = r};
  void *count, *all;
  TN_GET(g.gates, typed(gates));
  TN_GET(count, typed(onnx_extent(typed(x), 0, TN_I64)));
  if (reverse) TN_GET(g.last, typed(onnx_binary("subtract", count, relay_const_int(TN_I64, 1))));
  for (int i = 0; i <= r->has_c; ++i) TN_GET(state[i], typed(state[i]));
  onnx_loop t = {.count = count,
                 .states = state,
                 .nstates = r->has_c ? 2 : 1,
                 .ncollected = 1,
                 .chunks = true,
                 .step = any_step,
                 .ctx = &g};
  TN_GET(all, onnx_run_loop(r->c, &t));
  for (int i = 0; i <= r->has_c; ++i) TN_GET(state[i], relay_get_item(all, i));
  TN_GET(*y, relay_get_item(all, t.nstates));
  if (!reverse) return 0;
  void *a = relay_attrs("reverse", 1, "axis", tn_any_int(0));
  TN_GET(*y, a ? relay_call("reverse", a, 1, *y) : NULL);
  return 0;
}

/* The last states: zeros of sequences without a step, whatever the first state was, as onnxruntime
   has them. */
static int blank_unstarted(const recurrent *r, void **state) {
  void *started;
  if (!onnx_in(r->c, LENGTHS)) return 0;
  TN_GET(started,
         onnx_binary("greater", onnx_in(r->c, LENGTHS), relay_const_int(length_type(r), 0)));
  TN_GET(started, onnx_expand_dims(started, 1, 1));
  for (int i = 0; i <= r->has_c; ++i) TN_GET(state[i], onnx_where(started, state[i], scalar(r, 0)));
  return 0;
}

/* Runs over time; *y is [time, batch, hidden]. */
static int run_direction(const recurrent *r, void *x, int64_t d, bool reverse, void **state,
                         void **y) {
  TN_VEC(outputs);
  void *gates, *each;
  tn_obj *rows[MAX_STEPS];
  int64_t dims[] = {r->batch, r->gates * r->hidden};
  TN_GET(gates, input_gates(r, x));
  TN_GET(state[0], first_state(r, H0, d));
  if (r->has_c) TN_GET(state[1], first_state(r, C0, d));
  if (r->time < 0 || r->batch < 0) return run_any(r, x, gates, reverse, state, y);
  for (int64_t i = 0; i < r->time; ++i) {
    int64_t t = reverse ? r->time - 1 - i : i;
    void *before[2] = {state[0], state[1]};
    void *index = relay_const_ints(TN_I32, &t, 1);
    TN_GET(each, onnx_reshape(onnx_take(gates, index, 0), dims, 2));
    TN_TRY(r->cell(r, each, state));
    TN_TRY(hold_ended(r, relay_const_int(length_type(r), t), before, state, &each));
    TN_GET(rows[t], onnx_expand_dims(each, 0, 1));
  }
  for (int64_t t = 0; t < r->time; ++t) TN_TRY(tn_vec_push_obj(&outputs, rows[t]));
  TN_GET(*y, onnx_concat(tn_arr_from(&outputs), 0));
  return 0;
}

/* ---- the operators ---- */

static int expect(const recurrent *r, int input, const char *name, int n, const int64_t *dims) {
  const tn_TensorType *t = onnx_in_type(r->c, input);
  if (!onnx_in(r->c, input)) return 0;
  bool fits = t && t->shape->len == n;
  for (int i = 0; fits && i < n; ++i) {
    int64_t extent; /* dynamic ones are seen at run time */
    fits = dims[i] < 0 || !tir_as_int((tn_obj *)relay_dim(t, i), &extent) || extent == dims[i];
  }
  if (fits) return 0;
  return onnx_fail(r->c, "%s has the wrong shape: expected %d dimensions, the first of extent %lld",
                   name, n, (long long)dims[0]),
         -1;
}

static int check_shapes(const recurrent *r) {
  int64_t n = r->gates * r->hidden, b = r->batch_first;
  int64_t state[] = {b ? r->batch : r->dirs, b ? r->dirs : r->batch, r->hidden};
  TN_TRY(expect(r, W, "W", 3, (int64_t[]){r->dirs, n, r->in}));
  TN_TRY(expect(r, R, "R", 3, (int64_t[]){r->dirs, n, r->hidden}));
  TN_TRY(expect(r, B, "B", 2, (int64_t[]){r->dirs, 2 * n}));
  TN_TRY(expect(r, LENGTHS, "sequence_lens", 1, (int64_t[]){r->batch}));
  TN_TRY(expect(r, H0, "initial_h", 3, state));
  TN_TRY(expect(r, C0, "initial_c", 3, state));
  return expect(r, PEEPHOLES, "P", 2, (int64_t[]){r->dirs, 3 * r->hidden});
}

/* -1: it is dynamic */
static int64_t extent_of(const tn_TensorType *t, int64_t axis) {
  int64_t n;
  return t && axis < t->shape->len && tir_as_int((tn_obj *)relay_dim(t, axis), &n) ? n : -1;
}

static int read_sizes(recurrent *r, int64_t gates) {
  const tn_TensorType *x = onnx_in_type(r->c, X), *w = onnx_in_type(r->c, R);
  char text[16];
  const char *direction = onnx_text(r->c, "direction", "forward", text, sizeof text);
  if (!x || x->shape->len != 3 || !w || w->shape->len != 3)
    return onnx_fail(r->c, "expected X and R of three dimensions"), -1;
  if (strcmp(direction, "forward") != 0 && strcmp(direction, "reverse") != 0 &&
      strcmp(direction, "bidirectional") != 0)
    return onnx_fail(r->c, "direction: %s", direction), -1;
  r->dtype = x->dtype;
  r->gates = gates;
  r->batch_first = onnx_int(r->c, "layout", 0) != 0;
  r->time = extent_of(x, r->batch_first ? 1 : 0);
  r->batch = extent_of(x, r->batch_first ? 0 : 1);
  r->in = extent_of(x, 2);
  if (r->in < 0) r->in = extent_of(onnx_in_type(r->c, W), 2);
  TN_TRY(onnx_known_extent(r->c, R, 2, &r->hidden));
  if (onnx_int(r->c, "hidden_size", r->hidden) != r->hidden)
    return onnx_fail(r->c, "hidden_size is %lld, R has %lld columns",
                     (long long)onnx_int(r->c, "hidden_size", 0), (long long)r->hidden),
           -1;
  r->dirs = strcmp(direction, "bidirectional") == 0 ? 2 : 1;
  r->limit = onnx_float(r->c, "clip", 0);
  if (r->time == 0 || r->time > MAX_STEPS || r->hidden < 1 || r->hidden > INT32_MAX / 8)
    return onnx_fail(r->c, "%lld steps of %lld hidden units: the size is too large, or zero",
                     (long long)r->time, (long long)r->hidden),
           -1;
  return check_shapes(r);
}

/* The results of all directions on a new axis. */
static void *joined(const recurrent *r, void *const *parts, int64_t axis) {
  TN_VEC(v);
  for (int64_t d = 0; d < r->dirs; ++d)
    TN_TRYP(tn_vec_push_obj(&v, parts[d] ? onnx_expand_dims(parts[d], axis, 1) : NULL));
  return r->dirs > 1 ? onnx_concat(tn_arr_from(&v), axis) : (void *)v.items[0].v.obj;
}

static void *convert(onnx_ctx *c, cell_fn cell, int64_t gates, const char *const *usual, int each) {
  recurrent r = {.c = c, .cell = cell, .has_c = cell == lstm_cell};
  char text[16];
  void *x = onnx_in(c, X), *y[2], *h[2], *cs[2];
  r.reset_after = cell == gru_cell && onnx_int(c, "linear_before_reset", 0) != 0;
  r.tied = cell == lstm_cell && onnx_int(c, "input_forget", 0) != 0;
  TN_TRYP(read_sizes(&r, gates));
  TN_TRYP(read_activations(&r, usual, each));
  if (r.batch_first) x = onnx_transpose(x, (int64_t[]){1, 0, 2}, 3);
  bool reverse = strcmp(onnx_text(c, "direction", "", text, sizeof text), "reverse") == 0;
  for (int64_t d = 0; d < r.dirs; ++d) {
    void *state[2] = {NULL, NULL};
    TN_TRYP(enter_direction(&r, d, each));
    TN_TRYP(run_direction(&r, x, d, d == 1 || reverse, state, &y[d]));
    TN_TRYP(blank_unstarted(&r, state));
    h[d] = state[0], cs[d] = state[1];
  }
  void *all = joined(&r, y, 1), *last = joined(&r, h, r.batch_first);
  if (r.batch_first) all = onnx_transpose(all, (int64_t[]){2, 0, 1, 3}, 4);
  if (!all || !last) return NULL;
  if (!r.has_c) return relay_tuple(tn_arr_of(2, all, last));
  void *memory = joined(&r, cs, r.batch_first);
  return memory ? relay_tuple(tn_arr_of(3, all, last, memory)) : NULL;
}

static void *rnn(onnx_ctx *c) {
  static const char *const usual[] = {"Tanh"};
  return convert(c, rnn_cell, 1, usual, 1);
}

static void *gru(onnx_ctx *c) {
  static const char *const usual[] = {"Sigmoid", "Tanh"};
  return convert(c, gru_cell, 3, usual, 2);
}

static void *lstm(onnx_ctx *c) {
  static const char *const usual[] = {"Sigmoid", "Tanh", "Tanh"};
  return convert(c, lstm_cell, 4, usual, 3);
}

static const onnx_row rows[] = {
    {"RNN", rnn, 3, 6},
    {"GRU", gru, 3, 6},
    {"LSTM", lstm, 3, 8},
};
const onnx_table onnx_recurrent = {rows, TN_COUNT(rows), ""};
