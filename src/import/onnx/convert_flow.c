/* Branches and loops: graphs in attributes of nodes.

   A condition that is known chooses its branch. Loops are written out, one iteration after the other,
   where the number of iterations and the conditions are known; others are functions that call
   themselves (dynamic_loop.h). */
#include <string.h>

#include "base/error.h"
#include "import/onnx/import.h"
#include "import/onnx/dynamic_loop.h"
#include "relay/infer.h"

enum {
  MAX_ITERATIONS = 4096,
  MAX_STATES = 256,
  MAX_WRITTEN = 2048 /* nodes of a loop that is written out: more take long to compile */
};

/* Nodes of the body, and of the graphs in them. */
static int64_t count_nodes(const onnx_graph *g) {
  int64_t n = (int64_t)g->n_node;
  for (size_t i = 0; i < g->n_node; ++i)
    for (size_t k = 0; k < g->node[i]->n_attribute; ++k)
      if (g->node[i]->attribute[k]->g) n += count_nodes(g->node[i]->attribute[k]->g);
  return n;
}

/* Should so many iterations be written out? */
static bool are_few(const onnx_ctx *c, int64_t iterations) {
  const onnx_attr *body = onnx_node_attr(c, "body");
  int64_t n;
  /* with a limit as large as that the condition ends the loop */
  if (!body || !body->g || iterations < 0 || iterations > INT32_MAX) return true;
  return iterations <= MAX_ITERATIONS &&
         !__builtin_mul_overflow(count_nodes(body->g), iterations, &n) && n <= MAX_WRITTEN;
}

int onnx_condition(const void *e) {
  int64_t v;
  return relay_as_int(e, &v) ? v != 0 : -1;
}

void *onnx_results(tn_arr *parts) {
  if (!parts) return NULL;
  bool alone = parts->len == 1 && !TN_AS(TupleType, relay_type_of(tn_arr_obj(parts, 0)));
  return alone ? (void *)tn_arr_obj(parts, 0) : (void *)relay_tuple(parts);
}

/* Also of a branch that is never taken: a model without it is wrong. */
static int check_branch(const onnx_ctx *c, const char *name) {
  const onnx_attr *a = onnx_node_attr(c, name);
  if (!a || !a->g) return onnx_fail(c, "the attribute %s is missing", name), -1;
  if (a->g->n_output == c->node->n_output && a->g->n_output > 0) return 0;
  return onnx_fail(c, "%s has %zu outputs, expected %zu", name, a->g->n_output, c->node->n_output),
         -1;
}

static void *typed(void *e) { return e ? relay_infer_new(e) : NULL; }

/* May a result be a tensor of any rank? An operator needs a rank, which the model may state. */
static bool may_be_any(const onnx_ctx *c, int64_t i) {
  const char *name = c->node->output[i];
  return onnx_states_rank(c, name) ||
         (c->graph == c->model->proto->graph && !onnx_is_read(c->graph, name));
}

/* A tensor of as many dimensions as the other: it gets leading ones, as it would where both meet.
 */
static void *of_rank(const onnx_ctx *c, int64_t i, void *e, const void *other) {
  const tn_TensorType *t = relay_tensor_type_of_expr(e), *wide = relay_tensor_type_of_expr(other);
  int64_t missing = t && wide ? wide->shape->len - t->shape->len : 0;
  if (missing <= 0 || may_be_any(c, i)) return e;
  TN_TRYP(onnx_suspect(c, "the ranks of result %lld differ between the branches: %lld and %lld",
                       (long long)i, (long long)t->shape->len, (long long)wide->shape->len));
  return typed(onnx_expand_dims(e, 0, missing));
}

/* Both with types that hold for either: extents that differ are dynamic, and so on. */
static int join_branches(const onnx_ctx *c, tn_arr **yes, tn_arr **no) {
  TN_VEC(a);
  TN_VEC(b);
  for (int64_t i = 0; i < (*yes)->len; ++i) {
    void *x = tn_arr_obj(*yes, i), *y = tn_arr_obj(*no, i);
    TN_GET(x, of_rank(c, i, x, y));
    TN_GET(y, of_rank(c, i, y, x));
    tn_Type *t = relay_join_types(relay_type_of(x), relay_type_of(y));
    if (!t && tn_error_pending()) return -1;
    if (!t) return onnx_fail(c, "output %lld is of another type in each branch", (long long)i), -1;
    TN_TRY(tn_vec_push_obj(&a, onnx_widen(x, t)));
    TN_TRY(tn_vec_push_obj(&b, onnx_widen(y, t)));
  }
  TN_GET(*yes, tn_arr_from(&a));
  TN_GET(*no, tn_arr_from(&b));
  return 0;
}

static void *single(tn_arr *parts) {
  return parts->len == 1 ? (void *)tn_arr_obj(parts, 0) : (void *)relay_tuple(parts);
}

static void *branch(onnx_ctx *c) {
  int known = onnx_condition(onnx_in(c, 0));
  tn_arr *yes, *no;
  TN_TRYP(check_branch(c, "then_branch"));
  TN_TRYP(check_branch(c, "else_branch"));
  if (known >= 0)
    return onnx_results(onnx_subgraph(c, known ? "then_branch" : "else_branch", NULL, 0));
  TN_GETP(yes, onnx_subgraph(c, "then_branch", NULL, 0));
  TN_GETP(no, onnx_subgraph(c, "else_branch", NULL, 0));
  TN_TRYP(join_branches(c, &yes, &no));
  void *cond = onnx_reshape(onnx_in(c, 0), NULL, 0), *e;
  TN_GETP(e, cond ? relay_if(cond, single(yes), single(no)) : NULL);
  if (yes->len != 1) return e;
  TN_GETP(e, relay_infer_new(e));
  return onnx_results(tn_arr_of(1, e));
}

/* ---- loops ---- */

/* What the iterations of a loop give: the state, and lists of what is collected. */
typedef struct {
  int64_t nstates, nscans;
  void *state[MAX_STATES];
  tn_vec collected[MAX_STATES];
} collected;

static void collected_fini(collected *t) {
  for (int64_t i = 0; i < t->nscans; ++i) tn_vec_fini(&t->collected[i]);
}

/* Results of a body from place `first` on: states, then one of each list. */
static int take_results(const onnx_ctx *c, const tn_arr *got, int64_t first, collected *t,
                        const int64_t *axes) {
  if (got->len != first + t->nstates + t->nscans)
    return onnx_fail(c, "the body has %lld results, expected %lld", (long long)got->len,
                     (long long)(first + t->nstates + t->nscans)),
           -1;
  for (int64_t i = 0; i < t->nstates; ++i) t->state[i] = tn_arr_obj(got, first + i);
  for (int64_t i = 0; i < t->nscans; ++i) {
    void *e = tn_arr_obj(got, first + t->nstates + i);
    TN_TRY(tn_vec_push_obj(&t->collected[i], onnx_expand_dims(e, axes ? axes[i] : 0, 1)));
  }
  return 0;
}

static void *all_results(const onnx_ctx *c, collected *t, const int64_t *axes,
                         const bool *backwards) {
  TN_VEC(v);
  for (int64_t i = 0; i < t->nstates; ++i) TN_TRYP(tn_vec_push_obj(&v, t->state[i]));
  for (int64_t i = 0; i < t->nscans; ++i) {
    if (t->collected[i].len == 0) return onnx_fail(c, "a loop without iterations collects nothing");
    int64_t axis = axes ? axes[i] : 0;
    void *e = onnx_concat(tn_arr_from(&t->collected[i]), axis);
    if (backwards && backwards[i]) {
      void *a = relay_attrs("reverse", 1, "axis", tn_any_int(axis));
      e = a && e ? relay_call("reverse", a, 1, e) : NULL;
    }
    TN_TRYP(tn_vec_push_obj(&v, e));
  }
  return onnx_results(tn_arr_from(&v));
}

/* ---- Scan ---- */

typedef struct {
  int64_t n, iterations;
  int64_t in_axes[MAX_STATES], out_axes[MAX_STATES];
  bool in_back[MAX_STATES], out_back[MAX_STATES];
} scan_attrs;

static int read_lists(const onnx_ctx *c, scan_attrs *s, int64_t first, int64_t nout) {
  static const char *const names[] = {"scan_input_axes", "scan_output_axes",
                                      "scan_input_directions", "scan_output_directions"};
  for (int k = 0; k < 4; ++k) {
    int64_t given, want = k % 2 ? nout : s->n;
    const int64_t *v = onnx_ints(c, names[k], &given);
    if (given && given != want)
      return onnx_fail(c, "%s: expected %lld numbers", names[k], (long long)want), -1;
    for (int64_t i = 0; i < want; ++i) {
      int64_t x = given ? v[i] : 0;
      if (k < 2) (k ? s->out_axes : s->in_axes)[i] = x;
      else (k == 3 ? s->out_back : s->in_back)[i] = x != 0;
    }
  }
  s->iterations = -1;
  for (int64_t i = 0; i < s->n; ++i) {
    const tn_TensorType *t = onnx_in_type(c, (int)(first + i));
    int64_t axis = s->in_axes[i], extent = -1;
    if (t && axis < 0) axis += t->shape->len;
    if (!t || axis < 0 || axis >= t->shape->len)
      return onnx_fail(c, "a scanned input of no known shape"), -1;
    if (!tir_as_int(tn_arr_obj(t->shape, axis), &extent)) {
      s->in_axes[i] = axis;
      continue;
    }
    if (s->iterations >= 0 && extent != s->iterations)
      return onnx_fail(c, "the shapes of scanned inputs differ"), -1;
    s->in_axes[i] = axis, s->iterations = extent;
  }
  return 0;
}

static int scan_step(const onnx_ctx *c, const scan_attrs *s, int64_t t, collected *out) {
  void *in[MAX_STATES * 2];
  tn_arr *got;
  for (int64_t i = 0; i < out->nstates; ++i) in[i] = out->state[i];
  for (int64_t i = 0; i < s->n; ++i) {
    void *at = relay_const_int(TN_I32, s->in_back[i] ? s->iterations - 1 - t : t);
    void *x = onnx_take(onnx_in(c, (int)(out->nstates + i)), at, s->in_axes[i]);
    TN_GET(in[out->nstates + i], typed(x));
  }
  TN_GET(got, onnx_subgraph(c, "body", in, out->nstates + s->n));
  return take_results(c, got, 0, out, s->out_axes);
}

/* ---- Scan of any length ---- */

typedef struct {
  const onnx_ctx *c;
  const scan_attrs *s;
  int64_t nstates;
  void *count;
} scanning;

static tn_arr *any_scan_step(void *ctx, void *index, void *const *states) {
  const scanning *g = ctx;
  void *in[MAX_STATES * 2], *last = onnx_binary("subtract", g->count, relay_const_int(TN_I64, 1));
  for (int64_t i = 0; i < g->nstates; ++i) in[i] = states[i];
  for (int64_t i = 0; i < g->s->n; ++i) {
    void *at = g->s->in_back[i] ? onnx_binary("subtract", last, index) : index;
    void *x = at ? onnx_take(onnx_in(g->c, (int)(g->nstates + i)), at, g->s->in_axes[i]) : NULL;
    TN_GETP(in[g->nstates + i], typed(x));
  }
  return onnx_subgraph(g->c, "body", in, g->nstates + g->s->n);
}

/* What was collected has the iterations first; they go where the node wants them. */
static void *placed(void *e, int64_t axis, bool back) {
  const tn_TensorType *t = TN_AS(TensorType, relay_type_of(e));
  int64_t order[ONNX_MAX_NDIM], rank = t ? t->shape->len : 0, k = 0;
  if (back) {
    void *a = relay_attrs("reverse", 1, "axis", tn_any_int(0));
    e = a ? relay_call("reverse", a, 1, e) : NULL;
  }
  if (axis < 0) axis += rank;
  if (axis <= 0 || axis >= rank || rank > ONNX_MAX_NDIM) return e;
  for (int64_t i = 0; i < rank; ++i) order[i] = i == axis ? 0 : ++k;
  return onnx_transpose(e, order, rank);
}

static void *any_scan(onnx_ctx *c, const scan_attrs *s, int64_t nstates, int64_t nscans) {
  scanning g = {c, s, nstates, onnx_extent(onnx_in(c, (int)nstates), s->in_axes[0], TN_I64)};
  onnx_loop t = {.count = typed(g.count),
                 .states = c->in,
                 .nstates = nstates,
                 .ncollected = nscans,
                 .step = any_scan_step,
                 .ctx = &g};
  g.count = t.count;
  TN_VEC(v);
  void *all;
  TN_GETP(all, t.count ? onnx_run_loop(c, &t) : NULL);
  for (int64_t i = 0; i < nstates + nscans; ++i) {
    void *e;
    TN_GETP(e, typed(relay_get_item(all, i)));
    if (i >= nstates) TN_GETP(e, placed(e, s->out_axes[i - nstates], s->out_back[i - nstates]));
    TN_TRYP(tn_vec_push_obj(&v, e));
  }
  return onnx_results(tn_arr_from(&v));
}

static void *scan(onnx_ctx *c) {
  scan_attrs s = {.n = onnx_int(c, "num_scan_inputs", 0)};
  collected t = {0};
  if (c->opset < 9) return onnx_fail(c, "operator sets before 9 are not supported");
  t.nstates = c->nin - s.n;
  t.nscans = (int64_t)c->node->n_output - t.nstates;
  if (s.n < 1 || t.nstates < 0 || t.nscans < 0 || c->nin > MAX_STATES || t.nscans > MAX_STATES)
    return onnx_fail(c, "num_scan_inputs: %lld", (long long)s.n);
  for (int i = 0; i < c->nin; ++i)
    if (!onnx_in(c, i)) return onnx_fail(c, "input %d must be given", i);
  TN_TRYP(read_lists(c, &s, t.nstates, t.nscans));
  if (s.iterations < 1 || !are_few(c, s.iterations)) return any_scan(c, &s, t.nstates, t.nscans);
  for (int64_t i = 0; i < t.nstates; ++i) t.state[i] = onnx_in(c, (int)i);
  int err = 0;
  for (int64_t i = 0; i < s.iterations && !err; ++i) err = scan_step(c, &s, i, &t);
  void *r = err ? NULL : all_results(c, &t, s.out_axes, s.out_back);
  collected_fini(&t);
  return r;
}

/* ---- Loop ---- */

static int loop_steps(const onnx_ctx *c, int64_t most, int going, collected *t) {
  void *in[MAX_STATES + 2];
  for (int64_t i = 0; going == 1 && (most < 0 || i < most); ++i) {
    tn_arr *got;
    if (i >= MAX_ITERATIONS)
      return onnx_fail(c, "more than %d iterations: the size is too large", MAX_ITERATIONS), -1;
    TN_GET(in[0], typed(relay_const_int(TN_I64, i)));
    TN_GET(in[1], typed(relay_const_int(TN_BOOL1, 1)));
    for (int64_t k = 0; k < t->nstates; ++k) in[k + 2] = t->state[k];
    TN_GET(got, onnx_subgraph(c, "body", in, t->nstates + 2));
    going = got->len > 0 ? onnx_condition(tn_arr_obj(got, 0)) : -1;
    TN_CHECK(going >= 0, OpNotImplemented, NULL,
             "%s: whether it goes on must be known while compiling: the condition is computed at "
             "run time",
             c->node->op_type);
    TN_TRY(take_results(c, got, 1, t, NULL));
  }
  return 0;
}

/* ---- Loop of any number of iterations ---- */

typedef struct {
  const onnx_ctx *c;
  int64_t nstates;
  bool conditional;
} looping;

/* Does the body give back `true`, or the condition that it was given? */
static tn_arr *any_loop_step(void *ctx, void *index, void *const *states) {
  const looping *g = ctx;
  void *in[MAX_STATES + 2];
  tn_arr *got;
  TN_VEC(rest);
  in[0] = index;
  TN_GETP(in[1], typed(relay_const_int(TN_BOOL1, 1)));
  for (int64_t i = 0; i < g->nstates; ++i) in[i + 2] = states[i];
  TN_GETP(got, onnx_subgraph(g->c, "body", in, g->nstates + 2));
  if (g->conditional || got->len == 0) return got;
  for (int64_t i = 1; i < got->len; ++i) TN_TRYP(tn_vec_push(&rest, got->items[i]));
  return tn_arr_from(&rest);
}

/* With the states as they are at first: is the condition known to stay true? */
static int stays_true(const onnx_ctx *c, int64_t nstates, void *const *states, bool *yes) {
  looping g = {c, nstates, true};
  void *vars[MAX_STATES], *index;
  tn_arr *got;
  for (int64_t i = 0; i < nstates; ++i)
    TN_GET(vars[i], typed(relay_var("state", relay_type_of(states[i]))));
  TN_GET(index, typed(relay_var("i", (tn_Type *)relay_scalar_type(TN_I64))));
  TN_GET(got, any_loop_step(&g, index, vars));
  *yes = got->len > 0 && onnx_condition(tn_arr_obj(got, 0)) == 1;
  return 0;
}

/* States before the first iteration. A sequence may become longer, so its length is not part of its
   type; where it is empty the body says what its elements are. */
static int first_states(const onnx_ctx *c, int64_t nstates, void **out) {
  const onnx_attr *body = onnx_node_attr(c, "body");
  for (int64_t i = 0; i < nstates; ++i) {
    out[i] = onnx_in(c, (int)i + 2);
    if (!out[i]) return onnx_fail(c, "input %lld must be given", (long long)i + 2), -1;
    if (!onnx_is_sequence(out[i])) continue;
    TN_GET(out[i], onnx_as_sequence(out[i]));
    bool stated = body && body->g && (size_t)i + 2 < body->g->n_input;
    const onnx_type *said = stated ? body->g->input[i + 2]->type : NULL;
    if (!said || !said->sequence_type) continue;
    tn_Type *t, *e;
    TN_GET(t, onnx_type_of(said, "body"));
    e = relay_sequence_element(t);
    if (TN_AS(TensorType, e) && (t = relay_join_types(relay_type_of(out[i]), t)))
      TN_GET(out[i], onnx_widen(out[i], t));
    if (tn_error_pending()) return -1;
  }
  return 0;
}

static void *any_loop(onnx_ctx *c, int64_t nstates, int64_t nscans) {
  looping g = {c, nstates, true};
  void *states[MAX_STATES];
  bool always = false;
  int known = onnx_in(c, 1) ? onnx_condition(onnx_in(c, 1)) : 1;
  TN_TRYP(first_states(c, nstates, states));
  if (known == 1 && onnx_in(c, 0)) TN_TRYP(stays_true(c, nstates, states, &always));
  g.conditional = !always;
  onnx_loop t = {
      .states = states, .nstates = nstates, .ncollected = nscans, .step = any_loop_step, .ctx = &g};
  if (onnx_in(c, 0)) TN_GETP(t.count, typed(onnx_reshape(onnx_in(c, 0), NULL, 0)));
  if (!always)
    TN_GETP(t.going, onnx_in(c, 1) ? typed(onnx_reshape(onnx_in(c, 1), NULL, 0))
                                   : typed(relay_const_int(TN_BOOL1, 1)));
  void *all = onnx_run_loop(c, &t);
  return all && nstates + nscans == 1 ? (void *)relay_get_item(all, 0) : all;
}

/* Can the loop be written out? Its iterations, and whether another one follows, must be known. */
static int is_written_out(const onnx_ctx *c, int64_t nstates, bool *yes) {
  looping g = {c, nstates, true};
  void *index;
  tn_arr *got;
  int64_t most = -1, n = 1;
  int going = onnx_in(c, 1) ? onnx_condition(onnx_in(c, 1)) : 1;
  *yes = !onnx_runs(c, 0) && going >= 0;
  if (!*yes || nstates < 0) return 0;
  if (onnx_in(c, 0)) TN_TRY(onnx_values(c, 0, "the number of iterations", &most, 1, &n));
  bool none = going == 0 || (onnx_in(c, 0) && most < 1); /* what is collected has no elements */
  *yes = none ? (int64_t)c->node->n_output <= nstates : are_few(c, most);
  if (!*yes) return 0;
  for (int64_t i = 0; i < nstates; ++i)
    if (!onnx_in(c, (int)i + 2)) return 0;
  if (onnx_in(c, 1) && onnx_condition(onnx_in(c, 1)) == 0) return 0;
  TN_GET(index, typed(relay_const_int(TN_I64, 0)));
  TN_GET(got, any_loop_step(&g, index, c->in + 2));
  *yes = got->len > 0 && onnx_condition(tn_arr_obj(got, 0)) >= 0;
  return 0;
}

static void *loop(onnx_ctx *c) {
  collected t = {.nstates = c->nin - 2};
  int64_t most = -1, n = 0;
  int going = onnx_in(c, 1) ? onnx_condition(onnx_in(c, 1)) : 1;
  t.nscans = (int64_t)c->node->n_output - t.nstates;
  if (t.nstates < 0 || t.nscans < 0 || t.nstates > MAX_STATES || t.nscans > MAX_STATES)
    return onnx_fail(c, "%d inputs and %zu results", c->nin, c->node->n_output);
  bool known;
  TN_TRYP(is_written_out(c, t.nstates, &known));
  if (!known) return any_loop(c, t.nstates, t.nscans);
  if (onnx_in(c, 0)) TN_TRYP(onnx_values(c, 0, "the number of iterations", &most, 1, &n));
  if (onnx_in(c, 0) && (n != 1 || most < 0)) most = 0;
  for (int64_t i = 0; i < t.nstates; ++i)
    if (!(t.state[i] = onnx_in(c, (int)i + 2)))
      return onnx_fail(c, "input %lld must be given", (long long)i + 2);
  void *r = loop_steps(c, most, going, &t) ? NULL : all_results(c, &t, NULL, NULL);
  collected_fini(&t);
  return r;
}

static const onnx_row rows[] = {
    {"If", branch, 1, 1},
    {"Scan", scan, 1, -1},
    {"Loop", loop, 0, -1, true},
};
const onnx_table onnx_flow = {rows, TN_COUNT(rows), ""};
