/* Sequences and optional values: a sequence whose length is known while importing is a tuple,
   others are values of their own type (relay/value_types.h). An optional value that is there
   is the value itself.

     SequenceConstruct(a, b) -> (a, b);  SequenceAt(s, 1) -> s.1;  ConcatFromSequence(s)
     SequenceAt(s, i) -> sequence.at(value.widen(s), i)

   A result that is a tuple is given as a tuple of one field, as tuples are several results. */
#include "base/error.h"
#include "import/onnx/import.h"
#include "import/onnx/dynamic_loop.h"
#include "relay/infer.h"

static void *i64(int64_t v) { return relay_const_int(TN_I64, v); }
static void *typed(void *e) { return e ? relay_infer_new(e) : NULL; }

/* ---- of any length ---- */

/* Input i as a sequence of any length. */
static void *sequence(const onnx_ctx *c, int i) {
  if (!onnx_is_sequence(onnx_in(c, i))) return onnx_fail(c, "input %d is not a sequence", i);
  return onnx_as_sequence(onnx_in(c, i));
}

static void *position(const onnx_ctx *c, int i) {
  return onnx_in(c, i) ? onnx_reshape(onnx_in(c, i), NULL, 0) : NULL;
}

static void *length_of(void *s) { return s ? relay_call("sequence.length", NULL, 1, s) : NULL; }

/* Is input i a sequence of a known length? */
static bool is_known(const onnx_ctx *c, int i) {
  return onnx_in(c, i) && TN_AS(TupleType, relay_type_of(onnx_in(c, i)));
}

static void *open_at(const onnx_ctx *c, void *s, void *place) {
  if (s && relay_is_no_element(relay_sequence_element(relay_type_of(s))))
    return onnx_fail(c, "the type of the elements is not known: the model does not state it");
  return s && place ? relay_call("sequence.at", NULL, 2, s, place) : NULL;
}

static void *open_insert(void *s, void *e, void *place) {
  return s && e && place ? relay_call("sequence.insert", NULL, 3, s, e, place) : NULL;
}

static void *open_concat(const onnx_ctx *c, void *s) {
  tn_Type *e = s ? relay_sequence_element(relay_type_of(s)) : NULL;
  if (!s || !TN_AS(TensorType, e))
    return s ? onnx_fail(c, "the rank of the elements is not known: the model does not state it")
             : NULL;
  void *a = relay_attrs("sequence.concat", 2, "axis", tn_any_int(onnx_int(c, "axis", 0)),
                        "new_axis", tn_any_bool(onnx_int(c, "new_axis", 0) != 0));
  return a ? relay_call("sequence.concat", a, 1, s) : NULL;
}

static void *open_split(const onnx_ctx *c, bool keeps) {
  void *sizes = onnx_in(c, 1) ? onnx_in(c, 1) : typed(i64(1));
  void *a = relay_attrs("sequence.split", 2, "axis", tn_any_int(onnx_int(c, "axis", 0)), "keepdims",
                        tn_any_bool(keeps));
  return a && sizes ? relay_call("sequence.split", a, 2, onnx_in(c, 0), sizes) : NULL;
}

/* ---- of a known length ---- */

/* The elements of input i: *n of them. 0, or -1 with an error. */
static int elements(const onnx_ctx *c, int i, tn_vec *out) {
  void *e = onnx_in(c, i);
  const tn_RelayTuple *parts = TN_AS(RelayTuple, e);
  const tn_TupleType *t = e ? TN_AS(TupleType, relay_type_of(e)) : NULL;
  if (!t) return onnx_fail(c, "input %d is not a sequence of a known length", i), -1;
  for (int64_t k = 0; k < t->fields->len; ++k) {
    void *field = parts ? (void *)tn_arr_obj(parts->fields, k) : (void *)relay_get_item(e, k);
    TN_TRY(tn_vec_push_obj(out, field));
  }
  return 0;
}

static void *as_result(tn_vec *v) {
  tn_arr *all;
  void *sequence;
  TN_GETP(all, tn_arr_from(v));
  TN_GETP(sequence, relay_infer_new(relay_tuple(all)));
  return relay_tuple(tn_arr_of(1, sequence));
}

static void *construct(onnx_ctx *c) {
  TN_VEC(v);
  for (int i = 0; i < c->nin; ++i) {
    if (!c->in[i]) return onnx_fail(c, "input %d is left out", i);
    TN_TRYP(tn_vec_push_obj(&v, c->in[i]));
  }
  return as_result(&v);
}

static void *empty(onnx_ctx *c) {
  TN_VEC(v);
  (void)c;
  return as_result(&v);
}

/* A place in a sequence of n elements from input i, `absent` where it is not given. */
static int place(const onnx_ctx *c, int i, int64_t n, int64_t most, int64_t absent, int64_t *out) {
  int64_t count = 1;
  *out = absent;
  if (onnx_in(c, i)) TN_TRY(onnx_values(c, i, "position", out, 1, &count));
  if (*out < 0) *out += n;
  if (count == 1 && *out >= 0 && *out <= most) return 0;
  return onnx_fail(c, "position %lld is out of range of %lld elements", (long long)*out,
                   (long long)n),
         -1;
}

static void *at(onnx_ctx *c) {
  TN_VEC(v);
  int64_t i;
  if (!is_known(c, 0) || onnx_runs(c, 1)) return open_at(c, sequence(c, 0), position(c, 1));
  TN_TRYP(elements(c, 0, &v));
  TN_TRYP(place(c, 1, v.len, v.len - 1, 0, &i));
  return v.items[i].v.obj;
}

static void *insert(onnx_ctx *c) {
  TN_VEC(v);
  TN_VEC(out);
  int64_t i;
  if (!is_known(c, 0) || onnx_runs(c, 2)) {
    void *s = sequence(c, 0);
    return open_insert(s, onnx_in(c, 1), onnx_in(c, 2) ? position(c, 2) : length_of(s));
  }
  TN_TRYP(elements(c, 0, &v));
  TN_TRYP(place(c, 2, v.len, v.len, v.len, &i));
  for (int64_t k = 0; k <= v.len; ++k) {
    if (k == i) TN_TRYP(tn_vec_push_obj(&out, onnx_in(c, 1)));
    if (k < v.len) TN_TRYP(tn_vec_push(&out, v.items[k]));
  }
  return as_result(&out);
}

static void *erase(onnx_ctx *c) {
  TN_VEC(v);
  TN_VEC(out);
  int64_t i;
  if (!is_known(c, 0) || onnx_runs(c, 1)) {
    void *s = sequence(c, 0), *last = onnx_in(c, 1) ? position(c, 1) : i64(-1);
    return s && last ? relay_call("sequence.erase", NULL, 2, s, last) : NULL;
  }
  TN_TRYP(elements(c, 0, &v));
  TN_TRYP(place(c, 1, v.len, v.len - 1, v.len - 1, &i));
  for (int64_t k = 0; k < v.len; ++k)
    if (k != i) TN_TRYP(tn_vec_push(&out, v.items[k]));
  return as_result(&out);
}

static void *length(onnx_ctx *c) {
  TN_VEC(v);
  if (!is_known(c, 0)) return length_of(sequence(c, 0));
  TN_TRYP(elements(c, 0, &v));
  return relay_const_int(TN_I64, v.len);
}

static void *concat(onnx_ctx *c) {
  TN_VEC(v);
  int64_t axis = onnx_int(c, "axis", 0);
  if (!is_known(c, 0)) return open_concat(c, sequence(c, 0));
  TN_TRYP(elements(c, 0, &v));
  if (v.len == 0) return onnx_fail(c, "a sequence without elements");
  bool fresh = onnx_int(c, "new_axis", 0) != 0;
  for (int64_t i = 0; fresh && i < v.len; ++i) {
    void *e;
    TN_GETP(e, onnx_expand_dims(v.items[i].v.obj, axis, 1));
    v.items[i] = tn_any_obj(e);
  }
  tn_arr *all;
  TN_GETP(all, tn_arr_from(&v));
  return onnx_concat(all, axis);
}

/* Sizes of the parts: a list, one size for all (the last may be smaller), or 1. */
static int part_sizes(const onnx_ctx *c, int64_t extent, int64_t *sizes, int64_t *n) {
  int64_t each = 1;
  const tn_TensorType *t = onnx_in_type(c, 1);
  bool list = t && t->shape->len == 1;
  if (list) return onnx_values(c, 1, "split", sizes, ONNX_MAX_INPUTS, n);
  if (onnx_in(c, 1)) TN_TRY(onnx_values(c, 1, "split", &each, 1, n));
  *n = 0;
  if (each < 1 || extent < 0 || (extent + each - 1) / each > ONNX_MAX_INPUTS)
    return onnx_fail(c, "parts of size %lld", (long long)each), -1;
  for (int64_t from = 0; from < extent; from += each)
    sizes[(*n)++] = each < extent - from ? each : extent - from;
  return 0;
}

static void *split(onnx_ctx *c) {
  int64_t sizes[ONNX_MAX_INPUTS], n = 0, extent = -1, from = 0, axis = onnx_int(c, "axis", 0);
  const tn_TensorType *t = onnx_in_type(c, 0);
  TN_VEC(v);
  if (t && axis < 0) axis += t->shape->len;
  if (!t || axis < 0 || axis >= t->shape->len) return onnx_fail(c, "the axis is out of range");
  bool known = tir_as_int((tn_obj *)relay_dim(t, axis), &extent) && !onnx_runs(c, 1);
  bool squeeze = !onnx_in(c, 1) && !onnx_int(c, "keepdims", 1);
  if (!known) return open_split(c, !squeeze);
  TN_TRYP(part_sizes(c, extent, sizes, &n));
  for (int64_t i = 0; i < n; from += sizes[i++]) {
    void *e;
    TN_GETP(e, onnx_part(onnx_in(c, 0), axis, from, from + sizes[i]));
    if (squeeze) TN_GETP(e, onnx_squeeze(e, axis));
    TN_TRYP(tn_vec_push_obj(&v, e));
  }
  return as_result(&v);
}

/* The body for each element: of further inputs sequences give theirs, tensors themselves. */
static void *map(onnx_ctx *c) {
  TN_VEC(first);
  TN_VEC(results);
  tn_vec collected[16] = {{0}};
  size_t nout = c->node->n_output;
  void *in[ONNX_MAX_INPUTS];
  int err = nout > TN_COUNT(collected) || elements(c, 0, &first);
  for (int64_t k = 0; k < first.len && !err; ++k) {
    for (int i = 0; i < c->nin && !err; ++i) {
      TN_VEC(own);
      bool sequence = onnx_in(c, i) && TN_AS(TupleType, relay_type_of(onnx_in(c, i)));
      err = sequence && (elements(c, i, &own) || own.len != first.len);
      in[i] = sequence && !err ? relay_infer_new(own.items[k].v.obj) : onnx_in(c, i);
      err = err || !in[i];
    }
    tn_arr *got = err ? NULL : onnx_subgraph(c, "body", in, c->nin);
    err = !got || got->len < (int64_t)nout;
    for (size_t i = 0; i < nout && !err; ++i) err = tn_vec_push(&collected[i], got->items[i]);
  }
  for (size_t i = 0; i < nout && i < TN_COUNT(collected); ++i) {
    tn_arr *all = err ? NULL : tn_arr_from(&collected[i]);
    err = err || !all || tn_vec_push_obj(&results, relay_infer_new(relay_tuple(all)));
    tn_vec_fini(&collected[i]);
  }
  if (err && !tn_error_pending())
    return onnx_fail(c, "its sequences differ in length, or its body is wrong");
  return err ? NULL : (void *)relay_tuple(tn_arr_from(&results));
}

/* The same where a length is not known: a loop over the longest sequence, so that one of another
   length is an error. */
typedef struct {
  const onnx_ctx *c;
  void **in;
} mapping;

static tn_arr *map_step(void *ctx, void *index, void *const *states) {
  const mapping *m = ctx;
  const onnx_ctx *c = m->c;
  void *in[ONNX_MAX_INPUTS];
  TN_VEC(next);
  for (int i = 0; i < c->nin; ++i) {
    in[i] = m->in[i];
    if (onnx_is_sequence(in[i])) TN_GETP(in[i], typed(open_at(c, in[i], index)));
  }
  tn_arr *got = onnx_subgraph(c, "body", in, c->nin);
  if (!got || got->len != (int64_t)c->node->n_output)
    return got ? onnx_fail(c, "the body has %lld results", (long long)got->len) : NULL;
  for (int64_t i = 0; i < got->len; ++i) {
    void *s;
    TN_GETP(s, typed(open_insert(states[i], tn_arr_obj(got, i), typed(length_of(states[i])))));
    TN_TRYP(tn_vec_push_obj(&next, s));
  }
  return tn_arr_from(&next);
}

static void *open_map(onnx_ctx *c) {
  void *in[ONNX_MAX_INPUTS], *states[ONNX_MAX_INPUTS], *empty;
  int64_t n = (int64_t)c->node->n_output;
  for (int i = 0; i < c->nin; ++i) {
    if (!(in[i] = onnx_in(c, i))) return onnx_fail(c, "input %d is left out", i);
    if (onnx_is_sequence(in[i])) TN_GETP(in[i], onnx_as_sequence(in[i]));
  }
  if (n < 1 || n > ONNX_MAX_INPUTS) return onnx_fail(c, "%lld results", (long long)n);
  if (!onnx_is_sequence(in[0])) return onnx_fail(c, "input 0 is not a sequence");
  TN_GETP(empty, typed(relay_tuple(tn_arr_of(0))));
  TN_GETP(empty, onnx_as_sequence(empty));
  for (int64_t i = 0; i < n; ++i) states[i] = empty;
  mapping m = {c, in};
  void *count = typed(length_of(in[0]));
  for (int i = 1; i < c->nin && count; ++i)
    if (onnx_is_sequence(in[i])) count = typed(onnx_binary("maximum", count, length_of(in[i])));
  onnx_loop t = {.count = count, .states = states, .nstates = n, .step = map_step, .ctx = &m};
  void *all = t.count ? onnx_run_loop(c, &t) : NULL;
  return all && n == 1 ? (void *)relay_get_item(all, 0) : all;
}

static void *map_any(onnx_ctx *c) {
  for (int i = 0; i < c->nin; ++i)
    if (onnx_is_sequence(onnx_in(c, i)) && !is_known(c, i)) return open_map(c);
  return map(c);
}

/* ---- optional values ---- */

static void *optional(onnx_ctx *c) {
  const onnx_attr *a = onnx_node_attr(c, "type");
  tn_Type *t;
  if (onnx_in(c, 0)) return onnx_results(tn_arr_of(1, onnx_in(c, 0)));
  if (!a || !a->tp) return onnx_fail(c, "without an input the attribute type must be given");
  TN_GETP(t, onnx_type_of(a->tp, "type"));
  TN_GETP(t, relay_optional_type(t));
  void *attrs = relay_attrs("value.none", 1, "to", tn_any_obj(t));
  return attrs ? relay_call("value.none", attrs, 0) : NULL;
}

/* Is the value there? -1: known at run time only. */
static int is_there(void *e) {
  if (!e || relay_as_call(e, "value.none")) return 0;
  return relay_optional_value(relay_type_of(e)) ? -1 : 1;
}

static void *get_element(onnx_ctx *c) {
  if (is_there(onnx_in(c, 0)) > 0) return onnx_results(tn_arr_of(1, onnx_in(c, 0)));
  return onnx_in(c, 0) ? relay_call("optional.get", NULL, 1, onnx_in(c, 0)) : NULL;
}

static void *has_element(onnx_ctx *c) {
  int there = is_there(onnx_in(c, 0));
  return there < 0 ? relay_call("optional.has", NULL, 1, onnx_in(c, 0))
                   : (void *)relay_const_int(TN_BOOL1, there);
}

static const onnx_row rows[] = {
    {"SequenceConstruct", construct, 1, -1, true},
    {"SequenceEmpty", empty, 0, 0, true},
    {"SequenceAt", at, 2, 2, true},
    {"SequenceInsert", insert, 2, 3, true},
    {"SequenceErase", erase, 1, 2, true},
    {"SequenceLength", length, 1, 1, true},
    {"ConcatFromSequence", concat, 1, 1, true},
    {"SplitToSequence", split, 1, 2},
    {"SequenceMap", map_any, 1, -1, true},
    {"Optional", optional, 0, 1, true},
    {"OptionalGetElement", get_element, 1, 1, true},
    {"OptionalHasElement", has_element, 0, 1, true},
};
const onnx_table onnx_sequence = {rows, TN_COUNT(rows), ""};
