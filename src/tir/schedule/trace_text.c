/* Traces as text: a line of Python for each step, or JSON. Handles are named b0, l1, v2 ... in the
   order in which steps give them. */
#include <math.h>
#include <string.h>

#include "ir/imm.h"
#include "tenon/object.h"
#include "tir/schedule/trace.h"
#include "tir/script/printer.h"

/* Inputs and attributes look different in JSON: handles are texts, so texts have quotes there. */
typedef enum { PYTHON, JSON_INPUT, JSON } form;

typedef struct {
  tn_map *names;  /* handle -> its name */
  bool anonymous; /* all are _ */
  tn_buf *out;
  int depth; /* lists and maps around what is written */
} writer;

static int writer_init(writer *w, tn_buf *out, bool anonymous) {
  *w = (writer){tn_scope_own(tn_map_new()), anonymous, out, 0};
  return w->names ? 0 : -1;
}

/* ---- names ---- */

static int put_new_name(writer *w, const tn_any *handle, bool quotes) {
  const char *letter = handle->type_index == TN_TI_BlockRV  ? "b"
                       : handle->type_index == TN_TI_LoopRV ? "l"
                                                            : "v";
  tn_any name;
  if (!tn_map_get(w->names, *handle, &name)) {
    const tn_str *text;
    TN_GET(text, w->anonymous ? tn_str_from("_")
                              : tn_str_fmt("%s%lld", letter, (long long)w->names->len));
    name = tn_any_obj(text);
    TN_TRY(tn_map_set(w->names, *handle, name));
  }
  const char *text = tn_cstr((const tn_str *)name.v.obj);
  if (quotes) tn_buf_quote(w->out, text, strlen(text));
  else tn_buf_puts(w->out, text);
  return 0;
}

static int put_name(writer *w, const tn_any *handle, bool quotes) {
  tn_any known;
  if (!w->anonymous && !tn_map_get(w->names, *handle, &known)) return sch_undefined(NULL);
  return put_new_name(w, handle, quotes);
}

/* ---- values ---- */

static int put_value(writer *w, const tn_any *x, form f);

/* As Python writes numbers: what is whole keeps its point, or it would be read as an integer. */
static int put_float(writer *w, double x, form f) {
  TN_CHECK(f == PYTHON || isfinite(x), ValueError, NULL,
           "trace: JSON has no number for %s: use as_python, or apply_to_schedule",
           isnan(x) ? "nan" : "inf");
  size_t start = w->out->len;
  tn_buf_double(w->out, x);
  TN_TRY(tn_buf_ok(w->out));
  if (isfinite(x) && !strpbrk(w->out->data + start, ".e")) tn_buf_puts(w->out, ".0");
  return 0;
}

static int put_text(writer *w, const tn_str *s, form f) {
  TN_BUF(quoted);
  if (f != JSON_INPUT) {
    tn_buf_quote(w->out, s->data, s->len);
    return 0;
  }
  tn_buf_quote(&quoted, s->data, s->len);
  TN_TRY(tn_buf_ok(&quoted));
  tn_buf_quote(w->out, quoted.data, quoted.len);
  return 0;
}

static int put_list(writer *w, const tn_arr *list, form f) {
  tn_buf_putc(w->out, '[');
  for (int64_t i = 0; i < list->len; ++i) {
    if (i) tn_buf_puts(w->out, ", ");
    TN_TRY(put_value(w, &list->items[i], f));
  }
  tn_buf_putc(w->out, ']');
  return 0;
}

static int put_map(writer *w, const tn_map *map, form f) {
  tn_buf_putc(w->out, '{');
  for (int64_t i = 0; i < map->len; ++i) {
    const tn_any *given = &map->entries[i].key;
    TN_CHECK(given->type_index == TN_TI_String, TypeError, NULL,
             "trace: a map with keys other than texts cannot be written");
    const tn_str *key = (const tn_str *)given->v.obj;
    if (i) tn_buf_puts(w->out, ", ");
    tn_buf_quote(w->out, key->data, key->len);
    tn_buf_puts(w->out, ": ");
    TN_TRY(put_value(w, &map->entries[i].value, f));
  }
  tn_buf_putc(w->out, '}');
  return 0;
}

static int put_container(writer *w, const tn_obj *o, form f) {
  ++w->depth;
  TN_TRY(TN_AS(Array, o) ? put_list(w, (const tn_arr *)o, f) : put_map(w, (const tn_map *)o, f));
  --w->depth;
  return 0;
}

/* lambda i, j: [j, i] */
static int put_index_map(writer *w, tn_IndexMap *m, form f) {
  static const char head[] = "T.index_map(";
  tn_str *text;
  if (f == PYTHON) {
    TN_GET(text, script_print((tn_obj *)m, NULL));
    bool plain = strncmp(text->data, head, sizeof head - 1) == 0;
    tn_buf_put(w->out, text->data + (plain ? sizeof head - 1 : 0),
               text->len - (plain ? sizeof head : 0));
    return 0;
  }
  TN_GET(text, tn_scope_own(tn_json_save(tn_any_obj(m))));
  tn_buf_quote(w->out, text->data, text->len);
  return 0;
}

static int put_scalar(writer *w, const tn_any *x, form f) {
  bool json = f != PYTHON;
  switch (x->type_index) {
  case TN_NONE: tn_buf_puts(w->out, f == JSON ? "null" : json ? "\"None\"" : "None"); return 0;
  case TN_INT: tn_buf_printf(w->out, "%lld", (long long)x->v.i64); return 0;
  case TN_FLOAT: return put_float(w, x->v.f64, f);
  case TN_BOOL:
    tn_buf_puts(w->out, json ? (x->v.i64 ? "true" : "false") : (x->v.i64 ? "True" : "False"));
    return 0;
  default:
    return TN_RAISE(TypeError, NULL, "Stringifying is not supported for type: %s",
                    tn_type_key((uint32_t)x->type_index));
  }
}

static int put_value(writer *w, const tn_any *x, form f) {
  tn_obj *o = tn_any_is_obj(x) ? x->v.obj : NULL;
  tn_any plain = *x;
  TN_CHECK(w->depth <= SCH_MAX_NESTED, ValueError, NULL, "trace: lists nested more than %d deep",
           SCH_MAX_NESTED);
  if (!o) return put_scalar(w, x, f);
  if (sch_is_handle(x)) return put_name(w, x, f != PYTHON);
  switch (o->type_index) {
  case TN_TI_Array:
  case TN_TI_Map: return put_container(w, o, f);
  case TN_TI_String: return put_text(w, (const tn_str *)o, f);
  case TN_TI_StringImm: return put_text(w, ((const tn_StringImm *)o)->value, f);
  case TN_TI_IndexMap:
    if (f != JSON_INPUT) return put_index_map(w, (tn_IndexMap *)o, f);
    break;
  default:
    if (o->type->hooks->scalar && o->type->hooks->scalar(o, &plain)) break;
  }
  return put_scalar(w, &plain, f);
}

/* ---- Python ---- */

static int put_separator(writer *w, bool *begun) {
  if (*begun) tn_buf_puts(w->out, ", ");
  *begun = true;
  return 0;
}

static int put_flag(writer *w, const tn_any *x) {
  bool flag;
  if (tn_any_to_bool(x, &flag)) {
    tn_error_clear();
    return put_value(w, x, PYTHON);
  }
  tn_buf_puts(w->out, flag ? "True" : "False");
  return 0;
}

/* Numbers without a point where they are whole. */
static int put_floats(writer *w, const tn_any *x) {
  const tn_arr *list = TN_AS(Array, tn_any_is_obj(x) ? x->v.obj : NULL);
  if (!list) return put_value(w, x, PYTHON);
  tn_buf_putc(w->out, '[');
  for (int64_t i = 0; i < list->len; ++i) {
    double number;
    TN_TRY(tn_any_to_float(&list->items[i], &number));
    if (i) tn_buf_puts(w->out, ", ");
    tn_buf_double(w->out, number);
  }
  tn_buf_putc(w->out, ']');
  return 0;
}

/* A constant, unless what is stored depends on the indices. */
static int put_padding(writer *w, const tn_any *x) {
  const tn_IndexMap *m = TN_AS(IndexMap, tn_any_is_obj(x) ? x->v.obj : NULL);
  const tn_obj *first = m && m->final_indices->len ? tn_arr_obj(m->final_indices, 0) : NULL;
  tn_any value = tn_any_obj(first);
  bool constant = first && (TN_AS(IntImm, first) || TN_AS(FloatImm, first));
  return put_value(w, constant ? &value : x, PYTHON);
}

static int put_place(writer *w, const tn_any *x) {
  const tn_arr *pair = (const tn_arr *)x->v.obj;
  tn_buf_putc(w->out, '(');
  TN_TRY(put_value(w, &pair->items[0], PYTHON));
  tn_buf_puts(w->out, ", ");
  TN_TRY(put_value(w, &pair->items[1], PYTHON));
  tn_buf_putc(w->out, ')');
  return 0;
}

static int put_param(writer *w, const sch_param *p, const tn_any *x, bool *begun) {
  if (p->type == SCH_LOOPS) { /* each its own argument */
    const tn_arr *loops = (const tn_arr *)x->v.obj;
    for (int64_t i = 0; i < loops->len; ++i)
      if (put_separator(w, begun) || put_value(w, &loops->items[i], PYTHON)) return -1;
    return 0;
  }
  TN_TRY(put_separator(w, begun));
  tn_buf_printf(w->out, "%s=", p->name);
  switch (p->type) {
  case SCH_FLAG: return put_flag(w, x);
  case SCH_FLOATS: return put_floats(w, x);
  case SCH_PADDING: return put_padding(w, x);
  case SCH_PLACE: return put_place(w, x);
  default: return put_value(w, x, PYTHON);
  }
}

static int put_outputs(writer *w, const sch_row *row, const tn_arr *outputs) {
  for (int64_t i = 0; i < outputs->len; ++i) {
    if (i) tn_buf_puts(w->out, ", ");
    TN_TRY(put_new_name(w, &outputs->items[i], false));
  }
  if (row->gives == SCH_LIST && outputs->len == 1) tn_buf_putc(w->out, ',');
  if (outputs->len) tn_buf_puts(w->out, " = ");
  return 0;
}

/* What is left out where it is empty comes last. */
static bool is_left_out(const sch_param *p, const tn_any *x) {
  const tn_arr *list = TN_AS(Array, tn_any_is_obj(x) ? x->v.obj : NULL);
  return p->type == SCH_CONSUMERS && !(list && list->len);
}

static int put_call(writer *w, const sch_row *row, const tn_Instruction *inst, tn_any choice) {
  tn_any given[SCH_MAX_PARAMS] = {0};
  bool begun = false;
  TN_TRY(sch_unpack(row, inst->inputs, inst->attrs, given));
  tn_buf_printf(w->out, "sch.%s(", row->method);
  for (int last = 0; last <= 1; ++last) {
    for (int i = 0; i < row->nparams; ++i) {
      const sch_param *p = &row->params[i];
      if ((p->type == SCH_CONSUMERS) == last && !is_left_out(p, &given[i]))
        TN_TRY(put_param(w, p, &given[i], &begun));
    }
  }
  if (choice.type_index != TN_NONE) {
    TN_TRY(put_separator(w, &begun));
    tn_buf_puts(w->out, "decision=");
    TN_TRY(put_value(w, &choice, PYTHON));
  }
  tn_buf_putc(w->out, ')');
  return 0;
}

/* The names of what the step uses are known before those of what it gives. */
static tn_str *line_of(writer *w, const tn_Instruction *inst, tn_any choice) {
  TN_BUF(call);
  TN_BUF(line);
  const sch_row *row;
  TN_GETP(row, sch_row_of_inst(inst));
  w->out = &call;
  TN_TRYP(put_call(w, row, inst, choice));
  w->out = &line;
  TN_TRYP(put_outputs(w, row, inst->outputs));
  TN_TRYP(tn_buf_ok(&call));
  tn_buf_put(&line, call.data, call.len);
  return tn_buf_ok(&line) ? NULL : tn_scope_own(tn_buf_str(&line));
}

tn_arr *sch_trace_python(const tn_Trace *trace, bool remove_postproc) {
  TN_VEC(lines);
  writer w;
  TN_TRYP(writer_init(&w, NULL, false));
  for (int64_t i = 0, n = sch_trace_len(trace, remove_postproc); i < n; ++i) {
    const tn_Instruction *inst = sch_trace_at(trace, i);
    TN_TRYP(tn_vec_push_obj(&lines, line_of(&w, inst, sch_trace_choice(trace, inst))));
  }
  return tn_arr_from(&lines);
}

tn_str *sch_inst_python(const tn_Instruction *inst) {
  writer w;
  return writer_init(&w, NULL, true) ? NULL : line_of(&w, inst, tn_any_none());
}

/* ---- JSON ---- */

static int put_inst(writer *w, const tn_Instruction *inst) {
  tn_buf_putc(w->out, '[');
  TN_TRY(put_text(w, inst->kind->name, JSON));
  tn_buf_puts(w->out, ", ");
  TN_TRY(put_list(w, inst->inputs, JSON_INPUT));
  tn_buf_puts(w->out, ", ");
  TN_TRY(put_list(w, inst->attrs, JSON));
  tn_buf_puts(w->out, ", [");
  for (int64_t i = 0; i < inst->outputs->len; ++i) {
    if (i) tn_buf_puts(w->out, ", ");
    TN_TRY(put_new_name(w, &inst->outputs->items[i], true));
  }
  tn_buf_puts(w->out, "]]");
  return 0;
}

tn_str *sch_trace_json(const tn_Trace *trace, bool remove_postproc) {
  TN_BUF(steps);
  TN_BUF(choices);
  writer w;
  TN_TRYP(writer_init(&w, &steps, false));
  tn_buf_puts(&steps, "[[");
  for (int64_t i = 0, n = sch_trace_len(trace, remove_postproc); i < n; ++i) {
    const tn_Instruction *inst = sch_trace_at(trace, i);
    tn_any choice = sch_trace_choice(trace, inst);
    w.out = &steps;
    if (i) tn_buf_puts(w.out, ", ");
    TN_TRYP(put_inst(&w, inst));
    if (choice.type_index == TN_NONE) continue;
    w.out = &choices;
    tn_buf_printf(w.out, "%s[%lld, ", choices.len ? ", " : "", (long long)i);
    TN_TRYP(put_value(&w, &choice, JSON_INPUT));
    tn_buf_putc(w.out, ']');
  }
  TN_TRYP(tn_buf_ok(&choices));
  tn_buf_puts(&steps, "], [");
  tn_buf_put(&steps, choices.data, choices.len);
  tn_buf_puts(&steps, "]]");
  return tn_buf_ok(&steps) ? NULL : tn_scope_own(tn_buf_str(&steps));
}
