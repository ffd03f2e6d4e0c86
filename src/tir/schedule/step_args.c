/* What callers of steps give, checked and made what the trace records: handles for the names of
   blocks, numbers for buffers, expressions for plain numbers. */
#include <stdio.h>
#include <string.h>

#include "ir/module.h"
#include "tenon/object.h"
#include "tir/schedule/api.h"
#include "tir/schedule/layout.h"
#include "tir/schedule/schedule_impl.h"
#include "tir/schedule/steps.h"

typedef struct {
  tn_TirSchedule *s;
  const sch_row *row;
  const sch_param *p;
  const tn_obj *block; /* the handle given before, which buffers are looked up in; may be NULL */
  int64_t item;        /* number of the element of a list, or -1 */
  int depth;           /* lists and maps around what is given */
} taking;

enum { WHERE = 128 };

/* "split: factors[1]" */
static const char *where(const taking *t, char out[WHERE]) {
  int n = snprintf(out, WHERE, "%s: %s", t->row->method, t->p->name);
  if (t->item >= 0) snprintf(out + n, (size_t)(WHERE - n), "[%lld]", (long long)t->item);
  return out;
}
#define AT(t) where((t), (char[WHERE]){0})

static int wrong(const taking *t, const char *expected, const tn_any *got) {
  tn_any plain = *got;
  tn_error_clear();
  if (tn_any_is_obj(got) && got->v.obj->type->hooks->scalar)
    got->v.obj->type->hooks->scalar(got->v.obj, &plain);
  return TN_RAISE(TypeError, NULL, "%s: expected %s, got %s", AT(t), expected,
                  tn_type_key((uint32_t)plain.type_index));
}

/* The error that is pending, with the parameter before it. */
static int at_param(const taking *t) { return tn_error_prefix("%s: ", AT(t)); }

static tn_obj *as_obj(const tn_any *given) { return tn_any_is_obj(given) ? given->v.obj : NULL; }

static bool is_text(const tn_any *given) {
  return given->type_index == TN_CSTR || given->type_index == TN_TI_String;
}

static int to_text(const taking *t, const tn_any *given, tn_any *out) {
  const tn_StringImm *imm = TN_AS(StringImm, as_obj(given));
  tn_str *text = imm                                 ? imm->value
                 : given->type_index == TN_TI_String ? (tn_str *)given->v.obj
                 : given->type_index == TN_CSTR      ? tn_str_from(given->v.cstr)
                                                     : NULL;
  if (!text && given->type_index != TN_CSTR) return wrong(t, "a text", given);
  *out = tn_any_obj(text);
  return text ? 0 : -1;
}

/* ---- handles ---- */

static int to_block(const taking *t, const tn_any *given, tn_any *out) {
  *out = *given;
  if (TN_AS(BlockRV, as_obj(given))) return 0;
  if (!is_text(given)) return wrong(t, "a block: its handle (BlockRV) or name", given);
  const tn_any args[] = {*given, tn_any_none()};
  return sch_take(t->s, sch_row_of(SCH_GetBlock), args, NULL, out);
}

static int to_loop(const taking *t, const tn_any *given, tn_any *out) {
  *out = *given;
  return TN_AS(LoopRV, as_obj(given)) ? 0 : wrong(t, "the handle of a loop (LoopRV)", given);
}

static int to_site(const taking *t, const tn_any *given, tn_any *out) {
  *out = *given;
  if (TN_AS(LoopRV, as_obj(given)) || TN_AS(BlockRV, as_obj(given))) return 0;
  return is_text(given) ? to_block(t, given, out)
                        : wrong(t, "a block or loop: its handle, or the name of a block", given);
}

/* Each element by `item`. */
static int to_list(const taking *t, const tn_any *given, const char *expected,
                   int (*item)(const taking *t, const tn_any *given, tn_any *out), tn_any *out) {
  TN_VEC(v);
  const tn_arr *list = TN_AS(Array, as_obj(given));
  if (!list) return wrong(t, expected, given);
  for (int64_t i = 0; i < list->len; ++i) {
    tn_any one;
    const taking of_item = {t->s, t->row, t->p, t->block, i, t->depth + 1};
    TN_TRY(item(&of_item, &list->items[i], &one));
    TN_TRY(tn_vec_push(&v, one));
  }
  *out = tn_any_obj(tn_arr_from(&v));
  return out->v.obj ? 0 : -1;
}

static int to_target(const taking *t, const tn_any *given, tn_any *out) {
  *out = *given;
  if (TN_AS(LoopRV, as_obj(given))) return 0;
  if (!TN_AS(Array, as_obj(given))) return wrong(t, "a loop or a list of blocks", given);
  return to_list(t, given, "a list of blocks", to_block, out);
}

/* ---- numbers ---- */

static int to_int(const taking *t, const tn_any *given, tn_any *out) {
  int64_t x;
  if (tn_any_to_int(given, &x)) return wrong(t, "an int", given);
  *out = tn_any_int(x);
  return 0;
}

static int to_flag(const taking *t, const tn_any *given, tn_any *out) {
  bool x;
  if (tn_any_to_bool(given, &x)) return wrong(t, "a bool", given);
  *out = tn_any_int(x);
  return 0;
}

/* None, or the expression that a number stands for. */
static int to_factor(const taking *t, const tn_any *given, tn_any *out) {
  tn_expr *e = ir_expr_from(given);
  if (!e && given->type_index != TN_NONE) return at_param(t);
  if (e && (!ir_is_integral(e->dtype) || e->dtype.lanes != 1))
    return wrong(t, "an extent: an int, a handle of one, or None", given);
  *out = tn_any_obj(e);
  return 0;
}

/* A constant, where handles stand for what was drawn. */
static int to_number(const taking *t, const tn_any *given, tn_any *out) {
  tn_any value = *given;
  int64_t x;
  if (TN_AS(Var, as_obj(given)) && !tn_map_get(t->s->symbols, *given, &value))
    return TN_RAISE(IndexError, NULL, "%s: the random variable is not of this schedule", AT(t));
  if (tn_any_to_int(&value, &x)) return wrong(t, "an int", given);
  value = tn_any_int(x);
  *out = tn_any_obj(ir_expr_from(&value));
  return out->v.obj ? 0 : -1;
}

static int to_float(const taking *t, const tn_any *given, tn_any *out) {
  double x;
  if (tn_any_to_float(given, &x)) return wrong(t, "a number", given);
  tn_any value = tn_any_float(x);
  *out = tn_any_obj(ir_expr_from(&value));
  return out->v.obj ? 0 : -1;
}

/* Plain numbers become constants, also in lists and maps. */
static int to_value(const taking *t, const tn_any *given, tn_any *out) {
  tn_obj *o = as_obj(given);
  const tn_map *m = TN_AS(Map, o);
  bool is_place = TN_AS(BlockRV, o) || TN_AS(LoopRV, o); /* a program has no handles */
  taking of_value = *t;
  ++of_value.depth;
  TN_CHECK(t->depth <= SCH_MAX_NESTED, ValueError, NULL, "%s: lists nested more than %d deep",
           AT(t), SCH_MAX_NESTED);
  if (given->type_index == TN_NONE || is_place) return wrong(t, "a value", given);
  if (is_text(given)) return to_text(t, given, out);
  if (TN_AS(Array, o)) return to_list(t, given, "a list", to_value, out);
  if (!m) {
    *out = o ? *given : tn_any_obj(ir_expr_from(given));
    return out->v.obj ? 0 : at_param(t);
  }
  tn_map *now = tn_scope_own(tn_map_new());
  for (int64_t i = 0; now && i < m->len; ++i) {
    tn_any value;
    TN_TRY(to_value(&of_value, &m->entries[i].value, &value));
    TN_TRY(tn_map_set(now, m->entries[i].key, value));
  }
  *out = tn_any_obj(now);
  return now ? 0 : -1;
}

/* ---- buffers ---- */

static const tn_Block *block_of(const taking *t) {
  const tn_obj *o = sch_get(t->s, t->block);
  const tn_Block *b = TN_AS(Block, o);
  TN_CHECKP(!o || b, TypeError, NULL, "%s: expected a block, got %s", t->row->method,
            tn_obj_key(o));
  return b;
}

/* Is the buffer of a region the one that a name or Buffer means? */
static bool is_meant(const tn_arr *regions, int64_t i, const tn_any *given, const char *name) {
  const tn_Buffer *b = ((const tn_BufferRegion *)tn_arr_obj(regions, i))->buffer;
  return name ? tn_str_eq(b->name, name) : (const tn_obj *)b == as_obj(given);
}

static int name_or_buffer(const taking *t, const tn_any *given, const char **name) {
  *name = NULL;
  if (is_text(given)) return tn_any_to_cstr(given, name);
  return TN_AS(Buffer, as_obj(given)) ? 0 : wrong(t, "a number, a name or a Buffer", given);
}

static const char *shown(const tn_any *given, const char *name) {
  return name ? name : tn_cstr(((const tn_Buffer *)given->v.obj)->name);
}

static int to_index(const taking *t, const tn_any *given, tn_any *out) {
  bool reads = t->p->type == SCH_READS;
  const tn_Block *b;
  const char *name;
  int64_t n = 0, at = 0;
  if (tn_any_to_int(given, &at) == 0) {
    *out = tn_any_int(at);
    return 0;
  }
  tn_error_clear();
  TN_TRY(name_or_buffer(t, given, &name));
  TN_GET(b, block_of(t));
  const tn_arr *regions = reads ? b->reads : b->writes;
  for (int64_t i = 0; i < regions->len; ++i)
    if (is_meant(regions, i, given, name)) at = i, ++n;
  TN_CHECK(n == 1, ValueError, NULL, "%s: the block %s %lld buffers %s, expected one", AT(t),
           reads ? "reads" : "writes", (long long)n, shown(given, name));
  *out = tn_any_int(at);
  return 0;
}

/* ("read" or "write", number) */
static int to_given_place(const taking *t, const tn_arr *pair, tn_any *out) {
  const char *side;
  int64_t at;
  bool ok = pair->len == 2 && tn_any_to_cstr(&pair->items[0], &side) == 0 &&
            tn_any_to_int(&pair->items[1], &at) == 0 &&
            (strcmp(side, "read") == 0 || strcmp(side, "write") == 0);
  if (!ok) tn_error_clear();
  TN_CHECK(ok, ValueError, NULL, "%s: expected (\"read\" or \"write\", number)", AT(t));
  out[0] = tn_any_int(at);
  out[1] = tn_any_int(*side == 'w');
  return 0;
}

/* The name of a buffer that is read and written means the write, a Buffer the read, as in existing
   programs. */
static int to_place(const taking *t, const tn_any *given, tn_any *out) {
  const tn_arr *pair = TN_AS(Array, as_obj(given));
  const tn_Buffer *found = NULL;
  const tn_Block *b;
  const char *name;
  if (pair) return to_given_place(t, pair, out);
  TN_TRY(name_or_buffer(t, given, &name));
  TN_GET(b, block_of(t));
  for (int write = 0; write <= 1; ++write) {
    const tn_arr *regions = write ? b->writes : b->reads;
    for (int64_t i = 0; i < regions->len; ++i) {
      if (!is_meant(regions, i, given, name)) continue;
      const tn_Buffer *one = ((const tn_BufferRegion *)tn_arr_obj(regions, i))->buffer;
      TN_CHECK(!found || found == one, ValueError, NULL,
               "%s: the block %s has several buffers named %s: give the Buffer", t->row->method,
               tn_cstr(b->name_hint), shown(given, name));
      if (!found || name) out[0] = tn_any_int(i), out[1] = tn_any_int(write);
      found = one;
    }
  }
  TN_CHECK(found, ValueError, NULL, "%s: the block %s neither reads nor writes %s", t->row->method,
           tn_cstr(b->name_hint), shown(given, name));
  return 0;
}

/* ---- others ---- */

static int to_function(const taking *t, const tn_any *given, tn_any *out) {
  if (given->type_index != TN_NONE) return to_text(t, given, out);
  const tn_GlobalVar *v;
  TN_GET(v, sch_func_var(t->s, NULL));
  *out = tn_any_obj(v->name_hint);
  return 0;
}

static int to_map(const taking *t, const tn_any *given, tn_any *out) {
  tn_any loaded = *given;
  const char *text;
  *out = tn_any_none();
  if (t->p->type == SCH_PADDING && given->type_index == TN_NONE) return 0;
  if (is_text(given)) {
    TN_TRY(tn_any_to_cstr(given, &text));
    if (tn_json_load(text, strlen(text), &loaded)) return at_param(t);
    if (tn_any_is_obj(&loaded) && !tn_scope_own(loaded.v.obj)) return -1;
  }
  const tn_IndexMap *m = TN_AS(IndexMap, as_obj(&loaded));
  if (!m) return wrong(t, "an IndexMap", &loaded);
  *out = tn_any_obj(sch_known_map(t->s, m));
  return out->v.obj ? 0 : -1;
}

static int to_side(const taking *t, const tn_any *given, tn_any *out) {
  TN_TRY(to_text(t, given, out));
  const tn_str *side = (const tn_str *)out->v.obj;
  TN_CHECK(tn_str_eq(side, "read") || tn_str_eq(side, "write"), ValueError, NULL,
           "%s: Unrecognized buffer type %s, expected read or write", t->row->method,
           tn_cstr(side));
  return 0;
}

static int to_dtype(const taking *t, const tn_any *given, tn_any *out) {
  char text[TN_DTYPE_TEXT];
  tn_dtype dtype;
  if (tn_any_to_dtype(given, &dtype)) return at_param(t);
  *out = tn_any_obj(tn_str_from(tn_dtype_text(dtype, text)));
  return out->v.obj ? 0 : -1;
}

static int to_consumers(const taking *t, const tn_any *given, tn_any *out) {
  if (given->type_index != TN_NONE) return to_list(t, given, "a list of blocks", to_block, out);
  *out = tn_any_obj(tn_arr_of(0));
  return out->v.obj ? 0 : -1;
}

static int convert(const taking *t, const tn_any *given, tn_any *out) {
  switch (t->p->type) {
  case SCH_BLOCK: return to_block(t, given, out);
  case SCH_LOOP: return to_loop(t, given, out);
  case SCH_SITE: return to_site(t, given, out);
  case SCH_LOOPS: return to_list(t, given, "a list of loops", to_loop, out);
  case SCH_FACTORS: return to_list(t, given, "a list of extents", to_factor, out);
  case SCH_CONSUMERS: return to_consumers(t, given, out);
  case SCH_TARGET: return to_target(t, given, out);
  case SCH_VALUE: return to_value(t, given, out);
  case SCH_INT: return to_int(t, given, out);
  case SCH_FLAG: return to_flag(t, given, out);
  case SCH_TEXT: return to_text(t, given, out);
  case SCH_FUNCTION: return to_function(t, given, out);
  case SCH_READS:
  case SCH_WRITES: return to_index(t, given, out);
  case SCH_PLACE: return to_place(t, given, out);
  case SCH_MAP:
  case SCH_PADDING: return to_map(t, given, out);
  case SCH_INTS: return to_list(t, given, "a list of ints", to_number, out);
  case SCH_FLOATS: return to_list(t, given, "a list of numbers", to_float, out);
  case SCH_SIDE: return to_side(t, given, out);
  case SCH_DTYPE: return to_dtype(t, given, out);
  }
  return 0;
}

/* (schedule, block, which buffer) -> ["read" or "write", number, Buffer or None where the block has
   fewer]: for index maps that are functions of Python, which need to know its dimensions */
static int f_buffer_of(TN_ARGS) {
  tn_any at[2];
  const tn_Block *b;
  SCH_ARG_SCHEDULE("Schedule.buffer_of", 3);
  SCH_ARG_HANDLE(BlockRV, block, 1);
  const sch_row *row = sch_row_of(SCH_TransformLayout);
  const taking t = {s, row, &row->params[1], (const tn_obj *)block, -1, 0};
  TN_GET(b, block_of(&t));
  TN_TRY(to_place(&t, &args[2], at));
  bool write = at[1].v.i64;
  const tn_arr *regions = write ? b->writes : b->reads;
  int64_t i = at[0].v.i64;
  const tn_Buffer *buffer =
      i >= 0 && i < regions->len ? ((tn_BufferRegion *)tn_arr_obj(regions, i))->buffer : NULL;
  tn_any out[] = {tn_any_cstr(write ? "write" : "read"), at[0], tn_any_obj(buffer)};
  return tn_ret_owned(ret, tn_arr_new(out, 3));
}

static const tn_func_row functions[] = {{"tir.schedule.BufferOf", f_buffer_of}};

int schedule_step_args_init(void) { return tn_func_register_rows(functions, TN_COUNT(functions)); }

int sch_take_args(tn_TirSchedule *s, const sch_row *row, const tn_any *given, tn_any *values) {
  taking t = {s, row, row->params, NULL, -1, 0};
  for (; t.p < row->params + row->nparams; ++t.p, ++given) {
    TN_TRY(convert(&t, given, values));
    if (t.p->type == SCH_BLOCK) t.block = values->v.obj;
    values += t.p->type == SCH_PLACE ? 2 : 1;
  }
  return 0;
}
