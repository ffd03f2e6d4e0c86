/* Sequences and optional values: a sequence whose length is known while importing is a tuple, an
   optional value is there or is left out.

     SequenceConstruct(a, b) -> (a, b);  SequenceAt(s, 1) -> s.1;  ConcatFromSequence(s)

   A result that is a sequence is given as a tuple of one field, as tuples are several results. */
#include "base/error.h"
#include "import/onnx/import.h"
#include "relay/infer.h"

/* The elements of input i: *n of them. 0, or -1 with an error. */
static int elements(const oc *c, int i, tn_vec *out) {
  void *e = oc_in(c, i);
  const tn_RelayTuple *parts = TN_AS(RelayTuple, e);
  const tn_TupleType *t = e ? TN_AS(TupleType, relay_type_of(e)) : NULL;
  if (!t) return oc_fail(c, "input %d is no sequence of a known length", i), -1;
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

static void *construct(oc *c) {
  TN_VEC(v);
  for (int i = 0; i < c->nin; ++i) {
    if (!c->in[i]) return oc_fail(c, "input %d is left out", i);
    TN_TRYP(tn_vec_push_obj(&v, c->in[i]));
  }
  return as_result(&v);
}

static void *empty(oc *c) {
  TN_VEC(v);
  (void)c;
  return as_result(&v);
}

/* A place in a sequence of n elements from input i, `absent` where it is not given. */
static int place(const oc *c, int i, int64_t n, int64_t most, int64_t absent, int64_t *out) {
  int64_t count = 1;
  *out = absent;
  if (oc_in(c, i)) TN_TRY(oc_values(c, i, "position", out, 1, &count));
  if (*out < 0) *out += n;
  if (count == 1 && *out >= 0 && *out <= most) return 0;
  return oc_fail(c, "position %lld is out of range of %lld elements", (long long)*out,
                 (long long)n),
         -1;
}

static void *at(oc *c) {
  TN_VEC(v);
  int64_t i;
  TN_TRYP(elements(c, 0, &v));
  TN_TRYP(place(c, 1, v.len, v.len - 1, 0, &i));
  return v.items[i].v.obj;
}

static void *insert(oc *c) {
  TN_VEC(v);
  TN_VEC(out);
  int64_t i;
  TN_TRYP(elements(c, 0, &v));
  TN_TRYP(place(c, 2, v.len, v.len, v.len, &i));
  for (int64_t k = 0; k <= v.len; ++k) {
    if (k == i) TN_TRYP(tn_vec_push_obj(&out, oc_in(c, 1)));
    if (k < v.len) TN_TRYP(tn_vec_push(&out, v.items[k]));
  }
  return as_result(&out);
}

static void *erase(oc *c) {
  TN_VEC(v);
  TN_VEC(out);
  int64_t i;
  TN_TRYP(elements(c, 0, &v));
  TN_TRYP(place(c, 1, v.len, v.len - 1, v.len - 1, &i));
  for (int64_t k = 0; k < v.len; ++k)
    if (k != i) TN_TRYP(tn_vec_push(&out, v.items[k]));
  return as_result(&out);
}

static void *length(oc *c) {
  TN_VEC(v);
  TN_TRYP(elements(c, 0, &v));
  return relay_const_int(TN_I64, v.len);
}

static void *concat(oc *c) {
  TN_VEC(v);
  int64_t axis = oc_int(c, "axis", 0);
  TN_TRYP(elements(c, 0, &v));
  if (v.len == 0) return oc_fail(c, "a sequence without elements");
  bool fresh = oc_int(c, "new_axis", 0) != 0;
  for (int64_t i = 0; fresh && i < v.len; ++i) {
    void *e;
    TN_GETP(e, oc_expand_dims(v.items[i].v.obj, axis, 1));
    v.items[i] = tn_any_obj(e);
  }
  tn_arr *all;
  TN_GETP(all, tn_arr_from(&v));
  return oc_concat(all, axis);
}

/* Sizes of the parts: a list, one size for all (the last may be smaller), or 1. */
static int part_sizes(const oc *c, int64_t extent, int64_t *sizes, int64_t *n) {
  int64_t each = 1;
  const tn_TensorType *t = oc_type(c, 1);
  bool list = t && t->shape->len == 1;
  if (list) return oc_values(c, 1, "split", sizes, OC_MAX_INPUTS, n);
  if (oc_in(c, 1)) TN_TRY(oc_values(c, 1, "split", &each, 1, n));
  *n = 0;
  if (each < 1 || extent < 0 || (extent + each - 1) / each > OC_MAX_INPUTS)
    return oc_fail(c, "parts of size %lld", (long long)each), -1;
  for (int64_t from = 0; from < extent; from += each)
    sizes[(*n)++] = each < extent - from ? each : extent - from;
  return 0;
}

static void *split(oc *c) {
  int64_t sizes[OC_MAX_INPUTS], n = 0, extent = -1, from = 0, axis = oc_int(c, "axis", 0);
  const tn_TensorType *t = oc_type(c, 0);
  TN_VEC(v);
  if (t && axis < 0) axis += t->shape->len;
  if (!t || axis < 0 || axis >= t->shape->len) return oc_fail(c, "the axis is out of range");
  (void)tir_as_int((tn_obj *)relay_dim(t, axis), &extent);
  TN_TRYP(part_sizes(c, extent, sizes, &n));
  bool squeeze = !oc_in(c, 1) && !oc_int(c, "keepdims", 1);
  for (int64_t i = 0; i < n; from += sizes[i++]) {
    void *e;
    TN_GETP(e, oc_part(oc_in(c, 0), axis, from, from + sizes[i]));
    if (squeeze) TN_GETP(e, oc_squeeze(e, axis));
    TN_TRYP(tn_vec_push_obj(&v, e));
  }
  return as_result(&v);
}

/* The body for each element: of further inputs sequences give theirs, tensors themselves. */
static void *map(oc *c) {
  TN_VEC(first);
  TN_VEC(results);
  tn_vec collected[16] = {{0}};
  size_t nout = c->node->n_output;
  void *in[OC_MAX_INPUTS];
  int err = nout > TN_COUNT(collected) || elements(c, 0, &first);
  for (int64_t k = 0; k < first.len && !err; ++k) {
    for (int i = 0; i < c->nin && !err; ++i) {
      TN_VEC(own);
      bool sequence = oc_in(c, i) && TN_AS(TupleType, relay_type_of(oc_in(c, i)));
      err = sequence && (elements(c, i, &own) || own.len != first.len);
      in[i] = sequence && !err ? relay_infer_new(own.items[k].v.obj) : oc_in(c, i);
      err = err || !in[i];
    }
    tn_arr *got = err ? NULL : oc_subgraph(c, "body", in, c->nin);
    err = !got || got->len < (int64_t)nout;
    for (size_t i = 0; i < nout && !err; ++i) err = tn_vec_push(&collected[i], got->items[i]);
  }
  for (size_t i = 0; i < nout && i < TN_COUNT(collected); ++i) {
    tn_arr *all = err ? NULL : tn_arr_from(&collected[i]);
    err = err || !all || tn_vec_push_obj(&results, relay_infer_new(relay_tuple(all)));
    tn_vec_fini(&collected[i]);
  }
  if (err && !tn_error_pending())
    return oc_fail(c, "its sequences differ in length, or its body is wrong");
  return err ? NULL : (void *)relay_tuple(tn_arr_from(&results));
}

/* ---- optional values ---- */

static void *whole(void *e) {
  return e && TN_AS(TupleType, relay_type_of(e)) ? (void *)relay_tuple(tn_arr_of(1, e)) : e;
}

static void *optional(oc *c) {
  return oc_in(c, 0) ? whole(oc_in(c, 0)) : oc_fail(c, "an optional value that is never there");
}

static void *has_element(oc *c) { return relay_const_int(TN_BOOL1, oc_in(c, 0) != NULL); }

static const onnx_row rows[] = {
    {"SequenceConstruct", construct, 1, -1},
    {"SequenceEmpty", empty, 0, 0},
    {"SequenceAt", at, 2, 2},
    {"SequenceInsert", insert, 2, 3},
    {"SequenceErase", erase, 1, 2},
    {"SequenceLength", length, 1, 1},
    {"ConcatFromSequence", concat, 1, 1},
    {"SplitToSequence", split, 1, 2},
    {"SequenceMap", map, 1, -1},
    {"Optional", optional, 0, 1},
    {"OptionalGetElement", optional, 1, 1},
    {"OptionalHasElement", has_element, 0, 1},
};
const onnx_table onnx_sequence = {rows, TN_COUNT(rows), ""};
