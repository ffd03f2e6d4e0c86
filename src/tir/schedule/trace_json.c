/* Taking the steps of a trace that is given as JSON. The text may come from anywhere: it is checked
   step by step, and a step that is not one ends the replay with an error that tells which. */
#include "base/json.h"
#include "ir/module.h"
#include "tir/schedule/trace.h"

typedef struct {
  const tn_json *j;
  tn_TirSchedule *s;
  tn_map *known;         /* name -> handle */
  const tn_arr *choices; /* of each step, or None */
} reader;

#define NOT_A_TRACE(...)                                                                           \
  TN_RAISE(ValueError, NULL, "apply_json_to_schedule: this is not a trace: " __VA_ARGS__)

static bool is_list(const tn_json *j, tn_json_at x) {
  return tn_json_kind_of(j, x) == TN_JSON_ARRAY;
}

static tn_str *text_of(const tn_json *j, tn_json_at x) {
  TN_BUF(text);
  tn_json_text(j, x, &text);
  return tn_buf_ok(&text) ? NULL : tn_scope_own(tn_buf_str(&text));
}

/* ---- values ---- */

/* A text in its own quotes. */
static int quoted(const tn_str *text, tn_any *out) {
  tn_json inner;
  tn_str *s = NULL;
  int err = tn_json_parse(&inner, text->data, text->len);
  if (!err && tn_json_kind_of(&inner, TN_JSON_ROOT) != TN_JSON_STRING)
    err = NOT_A_TRACE("expected a text in quotes, got %s", text->data);
  else if (!err) s = text_of(&inner, TN_JSON_ROOT);
  tn_json_fini(&inner);
  *out = tn_any_obj(s);
  return s ? 0 : -1;
}

static int input_text(const reader *r, const tn_str *text, tn_any *out) {
  *out = tn_any_none();
  if (tn_str_eq(text, "None")) return 0;
  if (text->data[0] == '"') return quoted(text, out);
  return tn_map_get(r->known, tn_any_obj(text), out) ? 0 : sch_undefined(text->data);
}

static int value_of(const reader *r, tn_json_at x, bool input, int depth, tn_any *out);

static int list_of(const reader *r, tn_json_at list, bool input, int depth, tn_any *out) {
  TN_VEC(items);
  for (tn_json_at x = tn_json_first(r->j, list); x; x = tn_json_after(r->j, list, x)) {
    tn_any item;
    TN_TRY(value_of(r, x, input, depth, &item));
    TN_TRY(tn_vec_push(&items, item));
  }
  *out = tn_any_obj(tn_arr_from(&items));
  return out->v.obj ? 0 : -1;
}

static int map_of(const reader *r, tn_json_at map, bool input, int depth, tn_any *out) {
  tn_map *m = tn_scope_own(tn_map_new());
  if (!m) return -1;
  for (tn_json_at x = tn_json_first(r->j, map); x; x = tn_json_after(r->j, map, x)) {
    const tn_str *key;
    tn_any item;
    TN_GET(key, text_of(r->j, x));
    TN_TRY(value_of(r, x + 1, input, depth, &item));
    TN_TRY(tn_map_set(m, tn_any_obj(key), item));
  }
  *out = tn_any_obj(m);
  return 0;
}

static int number_of(const reader *r, tn_json_at x, tn_any *out) {
  int64_t i;
  double d;
  bool whole = tn_json_int(r->j, x, &i);
  if (!whole && !tn_json_double(r->j, x, &d))
    return NOT_A_TRACE("a number of more than 400 characters");
  *out = whole ? tn_any_int(i) : tn_any_float(d);
  return 0;
}

/* @param input names stand for handles */
static int value_of(const reader *r, tn_json_at x, bool input, int depth, tn_any *out) {
  const tn_str *text;
  *out = tn_any_none();
  if (depth > SCH_MAX_NESTED) return NOT_A_TRACE("lists nested more than %d deep", SCH_MAX_NESTED);
  switch (tn_json_kind_of(r->j, x)) {
  case TN_JSON_NULL: return 0;
  case TN_JSON_FALSE:
  case TN_JSON_TRUE: *out = tn_any_bool(tn_json_kind_of(r->j, x) == TN_JSON_TRUE); return 0;
  case TN_JSON_NUMBER: return number_of(r, x, out);
  case TN_JSON_ARRAY: return list_of(r, x, input, depth + 1, out);
  case TN_JSON_OBJECT: return map_of(r, x, input, depth + 1, out);
  case TN_JSON_STRING:
    TN_GET(text, text_of(r->j, x));
    *out = tn_any_obj(text);
    return input ? input_text(r, text, out) : 0;
  }
  return 0;
}

/* ---- steps ---- */

/* Positions of the elements of a list that has n of them. */
static bool elements(const tn_json *j, tn_json_at list, int n, tn_json_at *out) {
  if (!is_list(j, list) || tn_json_count(j, list) != n) return false;
  for (tn_json_at x = tn_json_first(j, list); x; x = tn_json_after(j, list, x)) *out++ = x;
  return true;
}

static int names_of(const reader *r, tn_json_at list, tn_any *out) {
  for (tn_json_at x = tn_json_first(r->j, list); x; x = tn_json_after(r->j, list, x))
    if (tn_json_kind_of(r->j, x) != TN_JSON_STRING)
      return NOT_A_TRACE("names of handles are texts");
  return list_of(r, list, false, 0, out);
}

static int take_step(const reader *r, tn_json_at x, int64_t number) {
  TN_SCOPE(scope);
  enum { KIND, INPUTS, ATTRS, OUTPUTS };
  tn_json_at part[4];
  tn_any inputs, attrs, outputs;
  const tn_str *kind;
  const sch_row *row;
  bool ok = elements(r->j, x, 4, part) && tn_json_is(r->j, part[KIND], TN_JSON_STRING) &&
            is_list(r->j, part[INPUTS]) && is_list(r->j, part[ATTRS]) &&
            is_list(r->j, part[OUTPUTS]);
  if (!ok) return NOT_A_TRACE("expected [kind, [inputs], [attributes], [outputs]]");
  TN_GET(kind, text_of(r->j, part[KIND]));
  TN_GET(row, sch_row_named(kind->data));
  TN_TRY(list_of(r, part[INPUTS], true, 0, &inputs));
  TN_TRY(list_of(r, part[ATTRS], false, 0, &attrs));
  TN_TRY(names_of(r, part[OUTPUTS], &outputs));
  return sch_retake(r->s, row, (const tn_arr *)inputs.v.obj, (const tn_arr *)attrs.v.obj,
                    &r->choices->items[number], (const tn_arr *)outputs.v.obj, r->known);
}

/* A choice, or None, for each step. */
static const tn_arr *read_choices(const reader *r, tn_json_at list, int64_t nsteps) {
  TN_VEC(choices);
  tn_json_at pair[2];
  int64_t step;
  for (int64_t i = 0; i < nsteps; ++i) TN_TRYP(tn_vec_push(&choices, tn_any_none()));
  for (tn_json_at x = tn_json_first(r->j, list); x; x = tn_json_after(r->j, list, x)) {
    if (!elements(r->j, x, 2, pair) || !tn_json_int(r->j, pair[0], &step) || step < 0 ||
        step >= nsteps)
      return NOT_A_TRACE("expected choices [number of a step, choice]; it has %lld steps",
                         (long long)nsteps),
             NULL;
    TN_TRYP(value_of(r, pair[1], true, 0, &choices.items[step]));
  }
  return tn_arr_from(&choices);
}

static int at_step(int64_t number) {
  if (tn_error_get_kind() != TN_MemoryError)
    (void)tn_error_note("in step %lld of the trace", (long long)number);
  return -1;
}

static int take_steps(reader *r) {
  tn_json_at part[2];
  int64_t number = 0;
  if (!elements(r->j, TN_JSON_ROOT, 2, part) || !is_list(r->j, part[0]) || !is_list(r->j, part[1]))
    return NOT_A_TRACE("expected [[steps], [choices]]");
  TN_GET(r->choices, read_choices(r, part[1], tn_json_count(r->j, part[0])));
  for (tn_json_at x = tn_json_first(r->j, part[0]); x; x = tn_json_after(r->j, part[0], x)) {
    if (take_step(r, x, number)) return at_step(number);
    ++number;
  }
  return 0;
}

int sch_trace_apply_json(const char *text, size_t n, tn_TirSchedule *s) {
  tn_json j;
  reader r = {&j, s, tn_scope_own(tn_map_new()), NULL};
  if (!r.known) return -1;
  int err = tn_json_parse(&j, text, n);
  if (err && tn_error_get_kind() == TN_ValueError)
    err = tn_error_prefix("apply_json_to_schedule: this is not a trace: ");
  if (!err) err = take_steps(&r);
  tn_json_fini(&j);
  return err;
}
