/* Tags that programs register: names of targets, beside those of target_kind.c. */
#include "base/lock.h"
#include "object/functions.h"
#include "target/target_impl.h"

static tn_lock lock = TN_LOCK_INIT;
static tn_map *registered; /* owned: from tag to Target, which names it; NULL: none yet */

static tn_map *all_tags(void) {
  tn_lock_read(&lock);
  tn_map *m = registered;
  tn_retain(m);
  tn_unlock(&lock);
  return m ? tn_scope_own(m) : NULL;
}

tn_target *target_tag_registered(const char *name) {
  const tn_map *m = all_tags();
  return m ? (tn_target *)tn_map_find(m, name) : NULL;
}

int target_tags_add(tn_map *to) {
  const tn_map *m = all_tags();
  tn_any key, value;
  for (int64_t i = 0; m && tn_map_at(m, i, &key, &value); ++i) TN_TRY(tn_map_set(to, key, value));
  return 0;
}

static tn_target *with_tag(const tn_target *t, const char *name) {
  return TN_NEW(Target, .kind = t->kind, .host = t->host, .tag = tn_str_from(name), .keys = t->keys,
                .attrs = t->attrs);
}

/* Another thread may have registered one meanwhile: the maps are never changed, only exchanged. */
static int set_registered(const char *name, tn_target *t, bool override) {
  const tn_map *before = all_tags();
  tn_map *after, *old = NULL;
  TN_CHECK(override || !(before && tn_map_find(before, name)), ValueError, NULL,
           "Tag \"%s\" has already been registered", name);
  if (!before) TN_GET(before, tn_scope_own(tn_map_new()));
  TN_GET(after, tn_map_with(before, tn_any_cstr(name), tn_any_obj(t)));
  tn_retain(after);
  tn_lock_write(&lock);
  bool same = !registered || registered == before;
  if (same) {
    old = registered;
    registered = after;
  }
  tn_unlock(&lock);
  if (!same) tn_release(after);
  else if (old) tn_release(old);
  return same ? 0 : set_registered(name, t, override);
}

/* (tag, target as text, map or Target, override) -> the target */
static int add_tag(TN_ARGS) {
  const char *name;
  bool override = false;
  tn_target *t;
  TN_NARGS("target.TargetTagAddTag", 3);
  TN_TRY(tn_any_to_cstr(&args[0], &name));
  TN_TRY(tn_any_to_bool(&args[2], &override));
  TN_CHECK(!target_tag_find(name), ValueError, NULL, "Tag \"%s\" has already been registered",
           name);
  TN_GET(t, target_from(&args[1]));
  TN_GET(t, with_tag(t, name));
  TN_TRY(set_registered(name, t, override));
  return tn_ret_obj(ret, t);
}

static const tn_func_row rows[] = {{"target.TargetTagAddTag", add_tag}};

int target_tag_init(void) { return tn_func_register_rows(rows, TN_COUNT(rows)); }
