/* Options of passes: declaration, checking of what a context is given, reading. */
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/text.h"
#include "ir/config.def"
#include "ir/pass_impl.h"

enum { MAX_CONFIGS = 256 };
static const ir_config_row *declared[MAX_CONFIGS];
static _Atomic int ndeclared;

int ir_config_declare(const ir_config_row *rows, int n) {
  for (int i = 0; i < n; ++i) {
    TN_ICHECK(ndeclared < MAX_CONFIGS);
    declared[ndeclared] = &rows[i];
    ndeclared++;
  }
  return 0;
}

const ir_config_row *ir_config_at(int i) { return i < ndeclared ? declared[i] : NULL; }

static const ir_config_row *find(const char *key) {
  for (int i = 0; i < ndeclared; ++i) {
    if (strcmp(declared[i]->key, key) == 0) return declared[i];
  }
  return NULL;
}

static int unknown(const char *key) {
  tn_near near = {.name = key};
  TN_BUF(all);
  for (int i = 0; i < ndeclared; ++i) {
    tn_buf_printf(&all, "%s%s", i ? "," : "", declared[i]->key);
    tn_near_offer(&near, declared[i]->key);
  }
  TN_TRY(tn_buf_ok(&all));
  return TN_RAISE(AttributeError, NULL, "Invalid config option '%s'%s candidates are: %s", key,
                  tn_near_text(&near), tn_buf_cstr(&all));
}

/* An options node from a dictionary; owned by the scope. */
static tn_obj *node_from_map(const tn_type *type, const tn_map *m) {
  TN_AUTOFREE const char **names = tn_alloc_array(m->len + 1, sizeof *names);
  TN_AUTOFREE tn_any *values = tn_alloc_array(m->len + 1, sizeof *values);
  if (!names || !values) return NULL;
  for (int64_t i = 0; i < m->len; ++i) {
    const tn_map_entry *e = &m->entries[i];
    TN_CHECKP(e->key.type_index == TN_TI_String, TypeError, NULL,
              "%s: expected names as keys, got %s", type->key,
              tn_type_key((uint32_t)e->key.type_index));
    names[i] = tn_cstr((const tn_str *)e->key.v.obj);
    values[i] = e->value;
  }
  return tn_scope_own(tn_node_make(type, (int)m->len, names, values));
}

/* The value as the declared type wants it, NULL with an error. */
static tn_obj *as_declared(const ir_config_row *row, const tn_any *value) {
  tn_any v = *value;
  if (!tn_any_is_obj(&v) && v.type_index != TN_NONE) {
    TN_TRYP(tn_any_own(value, &v));
    if (!tn_any_is_obj(&v)) TN_TRYP(tn_scalar_box(&v, row->type));
    tn_scope_own(v.v.obj);
  }
  tn_obj *o = tn_any_is_obj(&v) ? v.v.obj : NULL;
  const tn_type *want = tn_type_get(tn_type_find(row->type));
  TN_CHECKP(want, InternalError, NULL, "option %s: type %s is not registered", row->key, row->type);
  if (tn_obj_is(o, want)) return o;
  if (o && o->type_index == TN_TI_Map && tn_type_is(want, &tn_type_Attrs))
    return node_from_map(want, (tn_map *)o);
  return TN_RAISEP(AttributeError, NULL, "expect config %s to have type %s, but instead get %s",
                   row->key, row->type, tn_obj_key(o));
}

static bool is_set(const tn_obj *value) {
  const tn_IntImm *number = TN_AS(IntImm, value);
  return !number || number->value != 0;
}

tn_map *ir_config_check(const tn_map *config) {
  tn_map *out = tn_scope_own(tn_map_new());
  for (int64_t i = 0; out && i < config->len; ++i) {
    const tn_map_entry *e = &config->entries[i];
    const char *key;
    TN_TRYP(tn_any_to_cstr(&e->key, &key));
    const ir_config_row *row = find(key);
    if (!row) return (void)unknown(key), NULL;
    tn_obj *value = as_declared(row, &e->value);
    if (!value) return NULL;
    if (row->no_effect && is_set(value))
      TN_LOG(WARNING, "PassContext: option %s has no effect: %s", key, row->no_effect);
    TN_TRYP(tn_map_set(out, e->key, tn_any_obj(value)));
  }
  return out;
}

tn_obj *ir_config_get(const tn_PassContext *ctx, const char *key) {
  return tn_map_find(ctx->config, key);
}

int64_t ir_config_int(const tn_PassContext *ctx, const char *key, int64_t absent) {
  const tn_IntImm *v = TN_AS(IntImm, ir_config_get(ctx, key));
  return v ? v->value : absent;
}

void *ir_config_node(const tn_PassContext *ctx, const char *key, const tn_type *type) {
  tn_obj *v = ir_config_get(ctx, key);
  if (tn_obj_is(v, type)) return v;
  return tn_scope_own(tn_node_make(type, 0, NULL, NULL));
}

#define AS_CONFIG(key, type, doc)         {key, type, doc, NULL},
#define AS_NO_EFFECT(key, type, doc, why) {key, type, doc, why},
static const ir_config_row rows[] = {TN_CONFIGS(AS_CONFIG, AS_NO_EFFECT)};

int ir_config_init(void) { return ir_config_declare(rows, TN_COUNT(rows)); }
