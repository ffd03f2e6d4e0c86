/* Branches and loops: graphs in attributes of nodes.

   A condition that is known chooses its branch. Loops are written out, each turn after the other:
   Scan always, Loop where the number of turns and the conditions are known. */
#include <string.h>

#include "base/error.h"
#include "import/onnx/import.h"
#include "relay/infer.h"

enum { MAX_TURNS = 4096, MAX_STATES = 256 };

int oc_condition(const void *e) {
  int64_t v;
  return relay_as_int(e, &v) ? v != 0 : -1;
}

/* One expression, or the tuple of several. */
static void *results(tn_arr *parts) {
  if (!parts) return NULL;
  return parts->len == 1 ? (void *)tn_arr_obj(parts, 0) : (void *)relay_tuple(parts);
}

/* Also of a branch that is never taken: a model without it is wrong. */
static int check_branch(const oc *c, const char *name) {
  const onnx_attr *a = oc_attr(c, name);
  if (!a || !a->g) return oc_fail(c, "the attribute %s is missing", name), -1;
  if (a->g->n_output == c->node->n_output && a->g->n_output > 0) return 0;
  return oc_fail(c, "%s has %zu outputs, expected %zu", name, a->g->n_output, c->node->n_output),
         -1;
}

static void *branch(oc *c) {
  int known = oc_condition(oc_in(c, 0));
  TN_TRYP(check_branch(c, "then_branch"));
  TN_TRYP(check_branch(c, "else_branch"));
  if (known >= 0) return results(oc_subgraph(c, known ? "then_branch" : "else_branch", NULL, 0));
  void *yes = results(oc_subgraph(c, "then_branch", NULL, 0)),
       *no = yes ? results(oc_subgraph(c, "else_branch", NULL, 0)) : NULL;
  void *cond = no ? oc_reshape(oc_in(c, 0), NULL, 0) : NULL;
  return cond ? relay_if(cond, yes, no) : NULL;
}

/* ---- loops ---- */

/* What the turns of a loop give: the state, and lists of what is collected. */
typedef struct {
  int64_t nstates, nscans;
  void *state[MAX_STATES];
  tn_vec collected[MAX_STATES];
} turns;

static void turns_fini(turns *t) {
  for (int64_t i = 0; i < t->nscans; ++i) tn_vec_fini(&t->collected[i]);
}

/* Results of a body from place `first` on: states, then one of each list. */
static int take_results(const oc *c, const tn_arr *got, int64_t first, turns *t,
                        const int64_t *axes) {
  if (got->len != first + t->nstates + t->nscans)
    return oc_fail(c, "the body has %lld results, expected %lld", (long long)got->len,
                   (long long)(first + t->nstates + t->nscans)),
           -1;
  for (int64_t i = 0; i < t->nstates; ++i) t->state[i] = tn_arr_obj(got, first + i);
  for (int64_t i = 0; i < t->nscans; ++i) {
    void *e = tn_arr_obj(got, first + t->nstates + i);
    TN_TRY(tn_vec_push_obj(&t->collected[i], oc_expand_dims(e, axes ? axes[i] : 0, 1)));
  }
  return 0;
}

static void *all_results(const oc *c, turns *t, const int64_t *axes, const bool *backwards) {
  TN_VEC(v);
  for (int64_t i = 0; i < t->nstates; ++i) TN_TRYP(tn_vec_push_obj(&v, t->state[i]));
  for (int64_t i = 0; i < t->nscans; ++i) {
    if (t->collected[i].len == 0) return oc_fail(c, "a loop without turns collects nothing");
    int64_t axis = axes ? axes[i] : 0;
    void *e = oc_concat(tn_arr_from(&t->collected[i]), axis);
    if (backwards && backwards[i]) {
      void *a = relay_attrs("reverse", 1, "axis", tn_any_int(axis));
      e = a && e ? relay_call("reverse", a, 1, e) : NULL;
    }
    TN_TRYP(tn_vec_push_obj(&v, e));
  }
  return results(tn_arr_from(&v));
}

static void *typed(void *e) { return e ? relay_infer_new(e) : NULL; }

/* ---- Scan ---- */

typedef struct {
  int64_t n, turns;
  int64_t in_axes[MAX_STATES], out_axes[MAX_STATES];
  bool in_back[MAX_STATES], out_back[MAX_STATES];
} scan_attrs;

static int read_lists(const oc *c, scan_attrs *s, int64_t first, int64_t nout) {
  static const char *const names[] = {"scan_input_axes", "scan_output_axes",
                                      "scan_input_directions", "scan_output_directions"};
  for (int k = 0; k < 4; ++k) {
    int64_t given, want = k % 2 ? nout : s->n;
    const int64_t *v = oc_ints(c, names[k], &given);
    if (given && given != want)
      return oc_fail(c, "%s: expected %lld numbers", names[k], (long long)want), -1;
    for (int64_t i = 0; i < want; ++i) {
      int64_t x = given ? v[i] : 0;
      if (k < 2) (k ? s->out_axes : s->in_axes)[i] = x;
      else (k == 3 ? s->out_back : s->in_back)[i] = x != 0;
    }
  }
  s->turns = -1;
  for (int64_t i = 0; i < s->n; ++i) {
    const tn_TensorType *t = oc_type(c, (int)(first + i));
    int64_t axis = s->in_axes[i], extent;
    if (t && axis < 0) axis += t->shape->len;
    if (!t || axis < 0 || axis >= t->shape->len || !tir_as_int(tn_arr_obj(t->shape, axis), &extent))
      return oc_fail(c, "a scanned input of no known shape"), -1;
    if (s->turns >= 0 && extent != s->turns)
      return oc_fail(c, "the shapes of scanned inputs differ"), -1;
    s->in_axes[i] = axis, s->turns = extent;
  }
  return 0;
}

static int scan_turn(const oc *c, const scan_attrs *s, int64_t t, turns *out) {
  void *in[MAX_STATES * 2];
  tn_arr *got;
  for (int64_t i = 0; i < out->nstates; ++i) in[i] = out->state[i];
  for (int64_t i = 0; i < s->n; ++i) {
    void *at = relay_const_int(TN_I32, s->in_back[i] ? s->turns - 1 - t : t);
    void *x = oc_take(oc_in(c, (int)(out->nstates + i)), at, s->in_axes[i]);
    TN_GET(in[out->nstates + i], typed(x));
  }
  TN_GET(got, oc_subgraph(c, "body", in, out->nstates + s->n));
  return take_results(c, got, 0, out, s->out_axes);
}

static void *scan(oc *c) {
  scan_attrs s = {.n = oc_int(c, "num_scan_inputs", 0)};
  turns t = {0};
  if (c->opset < 9) return oc_fail(c, "operator sets before 9 are not supported");
  t.nstates = c->nin - s.n;
  t.nscans = (int64_t)c->node->n_output - t.nstates;
  if (s.n < 1 || t.nstates < 0 || t.nscans < 0 || c->nin > MAX_STATES || t.nscans > MAX_STATES)
    return oc_fail(c, "num_scan_inputs: %lld", (long long)s.n);
  for (int i = 0; i < c->nin; ++i)
    if (!oc_in(c, i)) return oc_fail(c, "input %d must be given", i);
  TN_TRYP(read_lists(c, &s, t.nstates, t.nscans));
  if (s.turns < 1 || s.turns > MAX_TURNS)
    return oc_fail(c, "%lld turns: the size is too large, or zero", (long long)s.turns);
  for (int64_t i = 0; i < t.nstates; ++i) t.state[i] = oc_in(c, (int)i);
  int err = 0;
  for (int64_t i = 0; i < s.turns && !err; ++i) err = scan_turn(c, &s, i, &t);
  void *r = err ? NULL : all_results(c, &t, s.out_axes, s.out_back);
  turns_fini(&t);
  return r;
}

/* ---- Loop ---- */

static int loop_turns(const oc *c, int64_t most, int going, turns *t) {
  void *in[MAX_STATES + 2];
  for (int64_t i = 0; going == 1 && (most < 0 || i < most); ++i) {
    tn_arr *got;
    if (i >= MAX_TURNS)
      return oc_fail(c, "more than %d turns: the size is too large", MAX_TURNS), -1;
    TN_GET(in[0], typed(relay_const_int(TN_I64, i)));
    TN_GET(in[1], typed(relay_const_int(TN_BOOL1, 1)));
    for (int64_t k = 0; k < t->nstates; ++k) in[k + 2] = t->state[k];
    TN_GET(got, oc_subgraph(c, "body", in, t->nstates + 2));
    going = got->len > 0 ? oc_condition(tn_arr_obj(got, 0)) : -1;
    TN_CHECK(going >= 0, OpNotImplemented, NULL,
             "%s: whether it goes on must be known while compiling: the condition is computed at "
             "run time",
             c->node->op_type);
    TN_TRY(take_results(c, got, 1, t, NULL));
  }
  return 0;
}

static void *loop(oc *c) {
  turns t = {.nstates = c->nin - 2};
  int64_t most = -1, n = 0;
  int going = oc_in(c, 1) ? oc_condition(oc_in(c, 1)) : 1;
  t.nscans = (int64_t)c->node->n_output - t.nstates;
  if (t.nstates < 0 || t.nscans < 0 || t.nstates > MAX_STATES || t.nscans > MAX_STATES)
    return oc_fail(c, "%d inputs and %zu results", c->nin, c->node->n_output);
  if (oc_in(c, 0)) TN_TRYP(oc_values(c, 0, "the number of turns", &most, 1, &n));
  if (oc_in(c, 0) && (n != 1 || most < 0)) most = 0;
  TN_CHECKP(going >= 0, OpNotImplemented, NULL,
            "Loop: its condition must be known while compiling: it is computed at run time");
  for (int64_t i = 0; i < t.nstates; ++i)
    if (!(t.state[i] = oc_in(c, (int)i + 2)))
      return oc_fail(c, "input %lld must be given", (long long)i + 2);
  void *r = loop_turns(c, most, going, &t) ? NULL : all_results(c, &t, NULL, NULL);
  turns_fini(&t);
  return r;
}

static const onnx_row rows[] = {
    {"If", branch, 1, 1},
    {"Scan", scan, 1, -1},
    {"Loop", loop, 0, -1},
};
const onnx_table onnx_flow = {rows, TN_COUNT(rows), ""};
