/* Targets from text and maps, and back:  "llvm -mcpu=znver4 -mattr=+avx512f,+fma"  <->
   {"kind": "llvm", "mcpu": "znver4", "mattr": ["+avx512f", "+fma"], "keys": ["cpu"]}. */
#include "target/target.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "ir/imm.h"
#include "object/functions.h"
#include "target/target_impl.h"
#include "tenon/runtime.h"

TN_NODES_DEFINE(TN_TARGET_NODES, target_types)

/* ---- options of a target ---- */

const char *target_str(const tn_target *t, const char *option, const char *absent) {
  const tn_obj *o = tn_map_find(t->attrs, option);
  return o && o->type_index == TN_TI_String ? tn_cstr((const tn_str *)o) : absent;
}

int64_t target_int(const tn_target *t, const char *option, int64_t absent) {
  int64_t value;
  const tn_obj *o = tn_map_find(t->attrs, option);
  return o && tir_as_int(o, &value) ? value : absent;
}

const tn_arr *target_list(const tn_target *t, const char *option) {
  const tn_obj *o = tn_map_find(t->attrs, option);
  return o && o->type_index == TN_TI_Array ? (const tn_arr *)o : NULL;
}

bool target_makes(const tn_target *t, uint32_t what) {
  const target_kind_row *row = target_kind_find(tn_cstr(t->kind->name));
  return row && (row->code & what);
}

int target_device_type(const tn_target *t) {
  return (int)target_int(t, "target_device_type", t->kind->default_device_type);
}

/* ---- values of options ---- */

static tn_obj *int_from_text(const char *text, bool boolean, const char *what) {
  char *end;
  if (boolean && (strcmp(text, "true") == 0 || strcmp(text, "True") == 0)) text = "1";
  if (boolean && (strcmp(text, "false") == 0 || strcmp(text, "False") == 0)) text = "0";
  errno = 0;
  long long value = strtoll(text, &end, 10);
  TN_CHECKP(*text && !*end && !errno && (!boolean || value == 0 || value == 1), ValueError, NULL,
            "target: option '%s': expected %s, got \"%s\"", what, boolean ? "0 or 1" : "an integer",
            text);
  if (boolean) return (tn_obj *)tir_bool(value != 0);
  return (tn_obj *)(value == (int32_t)value ? tir_i32((int32_t)value) : tir_i64(value));
}

static tn_obj *ints_from_text(const char *text, const char *what) {
  TN_VEC(v);
  const tn_arr *parts;
  TN_GETP(parts, target_split(text));
  for (int64_t i = 0; i < parts->len; ++i) {
    tn_obj *x;
    TN_GETP(x, int_from_text(tn_cstr((const tn_str *)tn_arr_obj(parts, i)), false, what));
    TN_TRYP(tn_vec_push_obj(&v, x));
  }
  return (tn_obj *)tn_arr_from(&v);
}

/* Targets with commas between; their own options take none. */
static tn_obj *targets_from_text(const char *text) {
  TN_VEC(v);
  const tn_arr *parts;
  TN_GETP(parts, target_split(text));
  for (int64_t i = 0; i < parts->len; ++i) {
    tn_target *t;
    TN_GETP(t, target_parse(tn_cstr((const tn_str *)tn_arr_obj(parts, i))));
    TN_TRYP(tn_vec_push_obj(&v, t));
  }
  return (tn_obj *)tn_arr_from(&v);
}

static tn_obj *value_from_text(const target_option *o, const char *text) {
  switch (o->type) {
  case TARGET_STR: return (tn_obj *)tn_str_from(text);
  case TARGET_INT: return int_from_text(text, false, o->name);
  case TARGET_BOOL: return int_from_text(text, true, o->name);
  case TARGET_STRS: return (tn_obj *)target_split(text);
  case TARGET_INTS: return ints_from_text(text, o->name);
  case TARGET_TARGETS: return targets_from_text(text);
  }
  return NULL;
}

static tn_obj *targets_from_list(const tn_arr *list) {
  TN_VEC(v);
  for (int64_t i = 0; i < list->len; ++i) {
    tn_target *t;
    TN_GETP(t, target_from(&list->items[i]));
    TN_TRYP(tn_vec_push_obj(&v, t));
  }
  return (tn_obj *)tn_arr_from(&v);
}

/* A value of a map as the option's type. */
static tn_obj *value_from(const target_option *o, const tn_any *value) {
  const char *text;
  tn_obj *obj = tn_any_is_obj(value) ? value->v.obj : NULL;
  bool is_list = obj && obj->type_index == TN_TI_Array;
  if (is_list && o->type == TARGET_TARGETS) return targets_from_list((tn_arr *)obj);
  if (is_list && (o->type == TARGET_STRS || o->type == TARGET_INTS)) return obj;
  if ((o->type == TARGET_INT || o->type == TARGET_BOOL) && !is_list) {
    int64_t number;
    bool is_text = value->type_index == TN_CSTR || value->type_index == TN_TI_String;
    if (!is_text && !tn_any_to_int(value, &number)) {
      if (o->type == TARGET_BOOL) return (tn_obj *)tir_bool(number != 0);
      return (tn_obj *)(number == (int32_t)number ? tir_i32((int32_t)number) : tir_i64(number));
    }
  }
  tn_error_clear();
  TN_CHECKP(!is_list && !tn_any_to_cstr(value, &text), ValueError, NULL,
            "target: option '%s': the value has type %s", o->name,
            tn_type_key((uint32_t)value->type_index));
  return value_from_text(o, text);
}

/* ---- making ---- */

typedef struct {
  const target_kind_row *kind;
  tn_map *attrs; /* being built */
  tn_arr *keys;
  tn_target *host;
  const char *tag, *device;
} parts;

static int set_option(parts *p, const target_option *o, tn_obj *value) {
  if (!value) return -1;
  if (strcmp(o->name, "keys") == 0) {
    p->keys = (tn_arr *)value;
    return 0;
  }
  if (strcmp(o->name, "tag") == 0) {
    p->tag = tn_cstr((tn_str *)value);
    return 0;
  }
  if (strcmp(o->name, "host") == 0) {
    TN_GET(p->host, target_parse(tn_cstr((tn_str *)value)));
    return 0;
  }
  if (strcmp(o->name, "device") == 0) p->device = tn_cstr((tn_str *)value);
  return tn_map_set(p->attrs, tn_any_cstr(o->name), tn_any_obj(value));
}

static int push_key(tn_vec *keys, tn_str *key) {
  if (!key) return -1;
  for (int64_t i = 0; i < keys->len; ++i)
    if (tn_str_eq((tn_str *)keys->items[i].v.obj, tn_cstr(key))) return 0;
  return tn_vec_push_obj(keys, key);
}

/* The keys: those given, the device and what the options tell before the kind's own else. */
static tn_arr *all_keys(const parts *p, const tn_TargetKind *kind) {
  TN_VEC(v);
  if (p->keys) return p->keys;
  if (p->device && *p->device) TN_TRYP(push_key(&v, tn_str_from(p->device)));
  if (target_is_arm(p->attrs)) TN_TRYP(push_key(&v, tn_str_from("arm_cpu")));
  if (!v.len) return kind->default_keys;
  for (int64_t i = 0; i < kind->default_keys->len; ++i)
    TN_TRYP(push_key(&v, (tn_str *)tn_arr_obj(kind->default_keys, i)));
  return tn_arr_from(&v);
}

static int set_defaults(const parts *p) {
  for (const target_default *d = p->kind->defaults; d && d->name; ++d) {
    tn_expr *v;
    if (tn_map_find(p->attrs, d->name)) continue;
    TN_GET(v, tir_i32((int32_t)d->value));
    TN_TRY(tn_map_set(p->attrs, tn_any_cstr(d->name), tn_any_obj(v)));
  }
  return p->kind->complete ? p->kind->complete(p->attrs) : 0;
}

static tn_target *finish(const parts *p) {
  tn_TargetKind *kind;
  TN_TRYP(set_defaults(p));
  TN_GETP(kind, target_kind_get(p->kind->name));
  return TN_NEW(Target, .kind = kind, .host = p->host, .tag = tn_str_from(p->tag ? p->tag : ""),
                .keys = all_keys(p, kind), .attrs = p->attrs);
}

static int start(parts *p, const char *kind) {
  TN_TRY(!target_kind_get(kind)); /* for the error */
  p->kind = target_kind_find(kind);
  TN_GET(p->attrs, tn_scope_own(tn_map_new()));
  return 0;
}

/* ---- text ---- */

/* The next word of `*at`, quotes and backslashes taken away; false at the end. */
static bool next_word(const char **at, tn_buf *word) {
  const char *s = *at;
  char quote = 0;
  tn_buf_clear(word);
  while (*s == ' ' || *s == '\t' || *s == '\n') ++s;
  if (!*s) return false;
  for (; *s && (quote || (*s != ' ' && *s != '\t' && *s != '\n')); ++s) {
    if (*s == quote) {
      quote = 0;
    } else if (!quote && (*s == '\'' || *s == '"')) {
      quote = *s;
    } else {
      if (*s == '\\' && s[1]) ++s;
      tn_buf_putc(word, *s);
    }
  }
  *at = s;
  return true;
}

/* Does a value follow the option in the next word? Values do not begin with a '-'. */
static bool value_follows(const char *at) {
  while (*at == ' ') ++at;
  return *at && *at != '-';
}

static int parse_option(parts *p, tn_buf *word, const char **at) {
  const char *text = tn_buf_cstr(word);
  if (!text) return -1;
  TN_CHECK(text[0] == '-' && text[1], ValueError, NULL,
           "target %s: expected an option such as -mcpu=NAME, got \"%s\"", p->kind->name, text);
  text += text[1] == '-' ? 2 : 1;
  const char *eq = strchr(text, '=');
  tn_str *name = tn_scope_own(eq ? tn_str_new_n(text, (size_t)(eq - text)) : tn_str_new(text));
  if (!name) return -1;
  const target_option *o;
  TN_GET(o, target_option_find(p->kind, tn_cstr(name)));
  if (eq) return set_option(p, o, value_from_text(o, eq + 1));
  if (value_follows(*at)) {
    next_word(at, word);
    TN_GET(text, tn_buf_cstr(word));
    return set_option(p, o, value_from_text(o, text));
  }
  TN_CHECK(o->type == TARGET_BOOL, ValueError, NULL, "target %s: option '%s' needs a value",
           p->kind->name, o->name);
  return set_option(p, o, (tn_obj *)tir_bool(true));
}

static tn_target *from_tag(const char *tag) {
  parts p = {0};
  tn_target *t;
  TN_GETP(t, target_parse(target_tag_find(tag)));
  p = (parts){.kind = target_kind_find(tn_cstr(t->kind->name)),
              .attrs = t->attrs,
              .keys = t->keys,
              .host = t->host,
              .tag = tag};
  return finish(&p);
}

tn_target *target_parse(const char *text) {
  TN_BUF(word);
  parts p = {0};
  const char *at = text;
  tn_target *tagged = target_tag_registered(text);
  if (tagged) return tagged;
  if (target_tag_find(text)) return from_tag(text);
  TN_CHECKP(next_word(&at, &word), ValueError, NULL, "target: the text is empty");
  const char *kind;
  TN_GETP(kind, tn_buf_cstr(&word));
  if (*kind == '{')
    return TN_RAISEP(ValueError, NULL, "target: the text is not a target: %s", text);
  TN_TRYP(start(&p, kind));
  while (next_word(&at, &word)) TN_TRYP(parse_option(&p, &word, &at));
  TN_TRYP(tn_buf_ok(&word));
  return finish(&p);
}

/* ---- maps ---- */

tn_target *target_from_map(const tn_map *config) {
  parts p = {0};
  tn_any kind, key, value;
  const char *name;
  if (!tn_map_get(config, tn_any_cstr("kind"), &kind)) {
    TN_CHECKP(tn_map_get(config, tn_any_cstr("tag"), &kind), ValueError, NULL,
              "target: the dictionary has neither \"kind\" nor \"tag\"");
  }
  TN_CHECKP(!tn_any_to_cstr(&kind, &name), ValueError, NULL, "target: \"kind\" has to be a string");
  if (target_tag_find(name) || target_tag_registered(name)) return target_parse(name);
  TN_TRYP(start(&p, name));
  for (int64_t i = 0; tn_map_at(config, i, &key, &value); ++i) {
    TN_CHECKP(!tn_any_to_cstr(&key, &name), ValueError, NULL,
              "target: names of options have to be strings");
    if (strcmp(name, "kind") == 0 || value.type_index == TN_NONE) continue;
    if (strcmp(name, "host") == 0) {
      TN_GETP(p.host, target_from(&value));
      continue;
    }
    const target_option *o;
    TN_GETP(o, target_option_find(p.kind, name));
    TN_TRYP(set_option(&p, o, value_from(o, &value)));
  }
  return finish(&p);
}

tn_target *target_from(const tn_any *value) {
  const char *text;
  tn_obj *o = tn_any_is_obj(value) ? value->v.obj : NULL;
  if (o && o->type_index == TN_TI_Target) return (tn_target *)o;
  if (o && o->type_index == TN_TI_Map) return target_from_map((tn_map *)o);
  TN_CHECKP(!tn_any_to_cstr(value, &text), ValueError, NULL,
            "target has to be a string or dictionary.");
  return target_parse(text);
}

tn_target *target_with_host(const tn_target *t, tn_target *host) {
  return TN_NEW(Target, .kind = t->kind, .host = host, .tag = t->tag, .keys = t->keys,
                .attrs = t->attrs);
}

/* Without an error where there is none, which target_option_find raises. */
static bool has_option(const target_kind_row *kind, const char *name) {
  for (const target_option *o = kind ? kind->options : NULL; o && o->name; ++o)
    if (strcmp(o->name, name) == 0) return true;
  return false;
}

tn_target *target_with_system_lib(const tn_target *t) {
  tn_map *attrs;
  tn_target *host = t->host;
  const target_kind_row *kind = target_kind_find(tn_cstr(t->kind->name));
  if (host) TN_GETP(host, target_with_system_lib(host));
  if (!has_option(kind, "system-lib")) return target_with_host(t, host);
  TN_GETP(attrs, tn_map_with(t->attrs, tn_any_cstr("system-lib"), tn_any_obj(tir_bool(true))));
  return TN_NEW(Target, .kind = t->kind, .host = host, .tag = t->tag, .keys = t->keys,
                .attrs = attrs);
}

/* ---- back to text and maps ---- */

static int value_text(tn_buf *out, const tn_obj *o) {
  int64_t number;
  if (o->type_index == TN_TI_Array) {
    const tn_arr *a = (const tn_arr *)o;
    for (int64_t i = 0; i < a->len; ++i) {
      if (i) tn_buf_putc(out, ',');
      TN_TRY(value_text(out, tn_arr_obj(a, i)));
    }
  } else if (o->type_index == TN_TI_String) {
    const char *s = tn_cstr((const tn_str *)o);
    bool quote = strpbrk(s, " \t\n'\"") != NULL;
    if (quote) tn_buf_putc(out, '"');
    for (; *s; ++s) {
      if (*s == '"' || *s == '\\') tn_buf_putc(out, '\\');
      tn_buf_putc(out, *s);
    }
    if (quote) tn_buf_putc(out, '"');
  } else if (o->type_index == TN_TI_Target) {
    const tn_str *s;
    TN_GET(s, target_text((const tn_target *)o));
    tn_buf_puts(out, tn_cstr(s));
  } else if (tir_as_int(o, &number)) {
    tn_buf_printf(out, "%lld", (long long)number);
  }
  return tn_buf_ok(out);
}

static int by_name(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

tn_str *target_text(const tn_target *t) {
  TN_BUF(out);
  tn_any key, value;
  int64_t n = tn_map_len(t->attrs);
  TN_AUTOFREE const char **names = tn_alloc_zero((size_t)n + 1, sizeof *names);
  if (!names) return NULL;
  for (int64_t i = 0; tn_map_at(t->attrs, i, &key, &value); ++i)
    TN_TRYP(tn_any_to_cstr(&key, &names[i]));
  qsort(names, (size_t)n, sizeof *names, by_name);
  tn_buf_puts(&out, tn_cstr(t->kind->name));
  if (t->keys->len > 0 || t->kind->default_keys->len > 0) { /* none is not the same as not said */
    tn_buf_puts(&out, " -keys=");
    TN_TRYP(value_text(&out, (const tn_obj *)t->keys));
  }
  for (int64_t i = 0; i < n; ++i) {
    const tn_obj *o = tn_map_find(t->attrs, names[i]);
    if (!o) continue;
    tn_buf_printf(&out, " -%s=", names[i]);
    TN_TRYP(value_text(&out, o));
  }
  return tn_scope_own(tn_buf_str(&out));
}

tn_map *target_export(const tn_target *t) {
  tn_map *m = tn_scope_own(tn_map_new());
  tn_any key, value;
  if (!m) return NULL;
  TN_TRYP(tn_map_set(m, tn_any_cstr("kind"), tn_any_obj(t->kind->name)));
  TN_TRYP(tn_map_set(m, tn_any_cstr("tag"), tn_any_obj(t->tag)));
  TN_TRYP(tn_map_set(m, tn_any_cstr("keys"), tn_any_obj(t->keys)));
  if (t->host) {
    tn_map *host;
    TN_GETP(host, target_export(t->host));
    TN_TRYP(tn_map_set(m, tn_any_cstr("host"), tn_any_obj(host)));
  }
  for (int64_t i = 0; tn_map_at(t->attrs, i, &key, &value); ++i) TN_TRYP(tn_map_set(m, key, value));
  return m;
}

int target_init(void) {
  TN_TRY(tn_type_register_table(target_types, TN_COUNT(target_types)));
  TN_TRY(target_api_init());
  TN_TRY(target_tag_init());
  TN_TRY(target_arm_init());
  TN_TRY(target_virtual_device_init());
  TN_TRY(target_generic_func_init());
  return target_machine_init();
}
