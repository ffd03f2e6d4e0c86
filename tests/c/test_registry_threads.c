/* Function table and type table used from many threads at once, and over a fork. */
#include "testing.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "child.h"

enum { NTHREAD = 6, ROUNDS = 400 };

static _Atomic int wrong;

/* In threads, where a failing assertion could not leave the test. */
static void expect(bool ok) { atomic_fetch_add(&wrong, !ok); }

static void run_threads(void *(*fn)(void *)) {
  pthread_t threads[NTHREAD];
  atomic_store(&wrong, 0);
  for (int i = 0; i < NTHREAD; ++i)
    assert_int_equal(pthread_create(&threads[i], NULL, fn, (void *)(intptr_t)i), 0);
  for (int i = 0; i < NTHREAD; ++i) pthread_join(threads[i], NULL);
  assert_int_equal(atomic_load(&wrong), 0);
}

/* ---- functions ---- */

static int identity(void *self, const tn_any *args, int32_t n, tn_any *ret) {
  (void)self;
  TN_TRY(tn_check_nargs("identity", n, 1));
  return tn_any_own(&args[0], ret);
}

static _Atomic int finalized;

/* A finalizer is foreign code: it may use the table itself. */
static void drop_self(void *self) {
  tn_func *f = tn_func_find("test.shared");
  tn_release(f);
  tn_func_remove("test.never there");
  tn_error_clear();
  atomic_fetch_add(&finalized, 1);
  free(self);
}

static int add_function(const char *name, int override) {
  void *self = malloc(1);
  int err = tn_func_register(name, identity, self, drop_self, override);
  if (err) free(self);
  return err;
}

static void call_if_there(const char *name) {
  tn_func *f = tn_func_find(name);
  expect(!tn_error_pending());
  if (!f) return;
  tn_any arg = tn_any_int(7), ret;
  expect(tn_func_call(f, &arg, 1, &ret) == 0 && ret.v.i64 == 7);
  tn_release(f);
}

static void *use_functions(void *arg) {
  char mine[32];
  snprintf(mine, sizeof mine, "test.of thread %d", (int)(intptr_t)arg);
  for (int i = 0; i < ROUNDS; ++i) {
    expect(add_function(mine, 0) == 0);
    expect(add_function("test.shared", 1) == 0);
    if (add_function("test.contended", 0)) {
      expect(strcmp(tn_error_class(), "TVMError") == 0);
      expect(strstr(tn_error_message(), "test.contended is already registered") != NULL);
      tn_error_clear();
    }
    call_if_there(mine);
    call_if_there("test.shared");
    call_if_there("test.contended");
    if (i % 3 == 0 && tn_func_remove("test.contended"))
      expect(strcmp(tn_error_class(), "KeyError") == 0);
    tn_error_clear();
    if (i % 40 == 0) {
      tn_arr *names = tn_func_names();
      expect(names && tn_arr_len(names) >= 2);
      tn_release(names);
    }
    expect(tn_func_remove(mine) == 0);
  }
  return NULL;
}

static void test_functions(void **state) {
  (void)state;
  atomic_store(&finalized, 0);
  run_threads(use_functions);
  assert_int_equal(tn_func_remove("test.shared"), 0);
  if (tn_func_remove("test.contended")) tn_error_clear();
  int made = atomic_load(&finalized);
  assert_true(made >= 2 * NTHREAD * ROUNDS && made <= 3 * NTHREAD * ROUNDS);
}

/* Names that come and go do not pile up, and the others stay in order. */
static void test_removed_names_are_forgotten(void **state) {
  (void)state;
  char name[32];
  tn_arr *before = tn_func_names();
  assert_int_equal(add_function("test.shared", 0), 0);
  for (int i = 0; i < 5000; ++i) {
    snprintf(name, sizeof name, "test.temporary %d", i);
    assert_int_equal(add_function(name, 0), 0);
    assert_int_equal(tn_func_remove(name), 0);
    assert_int_equal(tn_func_remove(name), -1);
    assert_error("KeyError", name);
  }
  tn_func *shared = tn_func_find("test.shared");
  assert_non_null(shared);
  tn_release(shared);
  assert_int_equal(tn_func_remove("test.shared"), 0);
  tn_arr *after = tn_func_names();
  assert_int_equal(tn_arr_len(before), tn_arr_len(after));
  for (int64_t i = 0; i < tn_arr_len(after); ++i)
    assert_string_equal(tn_str_data((tn_str *)tn_arr_get(before, i).v.obj),
                        tn_str_data((tn_str *)tn_arr_get(after, i).v.obj));
  tn_release(before);
  tn_release(after);
}

/* ---- types ---- */

static void *use_types(void *arg) {
  int me = (int)(intptr_t)arg;
  char key[64];
  for (int i = 0; i < 40; ++i) {
    /* one type for all, whoever comes first */
    snprintf(key, sizeof key, "test.Shared%d", i);
    tn_obj *o = tn_opaque_new(key, &wrong, NULL);
    expect(o && tn_opaque_get(o, key) == &wrong && !tn_error_pending());
    expect(o && tn_type_find(key) == o->type_index && tn_type_get(o->type_index) == o->type);
    tn_release(o);
    /* one of our own, and a look at the others', which may be there or not */
    snprintf(key, sizeof key, "test.Own%d of %d", i, me);
    tn_obj *own = tn_opaque_new(key, NULL, NULL);
    expect(own && strcmp(tn_obj_key(own), key) == 0);
    tn_release(own);
    for (int other = 0; other < NTHREAD; ++other) {
      snprintf(key, sizeof key, "test.Own%d of %d", i, other);
      const tn_type *t = tn_type_get(tn_type_find(key));
      expect(!t || strcmp(t->key, key) == 0);
    }
    expect(tn_type_find("Array") == (uint32_t)TN_TI_Array && tn_type_find("test.Absent") == 0);
    expect(tn_type_by_class("String") == &tn_type_String);
  }
  return NULL;
}

static void test_types(void **state) {
  (void)state;
  run_threads(use_types);
  uint32_t first = tn_type_find("test.Shared0");
  for (uint32_t i = TN_TI_BEGIN_DYNAMIC; i < tn_type_end(); ++i) {
    assert_non_null(tn_type_get(i)); /* dense */
    assert_int_equal(tn_type_get(i)->index, i);
    assert_int_equal(tn_type_find(tn_type_get(i)->key), i); /* each key once */
  }
  assert_true(first >= (uint32_t)TN_TI_BEGIN_DYNAMIC);
}

static void test_type_refused(void **state) {
  (void)state;
  static tn_type again = {.key = "Array", .size = sizeof(tn_obj), .base = &tn_type_Object};
  static tn_type taken = {
      .key = "test.Taken", .size = sizeof(tn_obj), .base = &tn_type_Object, .index = TN_TI_Array};
  static tn_type beyond = {
      .key = "test.Beyond", .size = sizeof(tn_obj), .base = &tn_type_Object, .index = 1 << 20};
  assert_int_equal(tn_type_register(&again), -1);
  assert_error("ValueError", "type Array is already registered");
  assert_int_equal(again.index, 0);
  assert_int_equal(tn_type_register(&taken), -1);
  assert_error("ValueError", "index 67 belongs to Array");
  assert_int_equal(tn_type_register(&beyond), -1);
  assert_error("ValueError", "no type index is left");
  assert_int_equal(tn_type_find("test.Taken"), 0);
  assert_null(tn_opaque_new("Array", NULL, NULL));
  assert_error("TypeError", "type Array is not opaque");
}

/* ---- objects ---- */

static tn_arr *shared_array;

static void *use_objects(void *arg) {
  (void)arg;
  for (int i = 0; i < 2000; ++i) {
    tn_any first = tn_any_obj(shared_array), both[] = {first, tn_any_int(i)};
    tn_arr *a = tn_arr_new(both, 2);
    tn_any inner = tn_arr_get(a, 0);
    tn_retain(inner.v.obj);
    tn_release(a);
    expect(tn_arr_len((tn_arr *)inner.v.obj) == 1);
    tn_any_release(&inner);
  }
  return NULL;
}

/* The last reference goes in whichever thread is last; what others wrote is seen before it. */
static void *drop_last(void *arg) {
  (void)arg;
  tn_arr *a = shared_array;
  expect(tn_str_len((tn_str *)tn_arr_get(a, 0).v.obj) == 5);
  tn_release(a);
  return NULL;
}

static void test_counts(void **state) {
  (void)state;
  tn_any text = tn_any_cstr("alive");
  shared_array = tn_arr_new(&text, 1);
  run_threads(use_objects);
  assert_int_equal(tn_use_count(shared_array), 1);
  for (int round = 0; round < 50; ++round) {
    for (int i = 1; i < NTHREAD; ++i) tn_retain(shared_array);
    run_threads(drop_last);
    shared_array = tn_arr_new(&text, 1);
  }
  tn_release(shared_array);
}

/* ---- threads that end with something left ---- */

static void *leave_an_error(void *arg) {
  (void)arg;
  TN_SCOPE(s);
  expect(tn_str_from("of the scope") != NULL);
  TN_RAISE(ValueError, NULL, "nobody looks at this");
  tn_error_note("nor at this");
  return NULL;
}

/* The leak sanitizer is the judge. */
static void test_thread_ends_with_an_error(void **state) {
  (void)state;
  run_threads(leave_an_error);
}

/* ---- fork ---- */

#ifndef UNDER_TSAN
static _Atomic bool stop;

static void *keep_changing(void *arg) {
  (void)arg;
  while (!atomic_load(&stop)) {
    expect(add_function("test.changing", 1) == 0);
    tn_arr *names = tn_func_names();
    tn_release(names);
    expect(tn_func_remove("test.changing") == 0);
  }
  return NULL;
}

static int child_uses_tables(void *arg) {
  (void)arg;
  if (add_function("test.child", 0)) return 1;
  tn_func *f = tn_func_find("runtime.NumThreads");
  if (!f) return 2;
  tn_release(f);
  tn_arr *names = tn_func_names();
  if (!names) return 3;
  tn_release(names);
  tn_obj *o = tn_opaque_new("test.Child", NULL, NULL);
  if (!o) return 4;
  tn_release(o);
  return tn_func_remove("test.child") ? 5 : 0;
}

static void test_fork_while_tables_change(void **state) {
  (void)state;
  pthread_t thread;
  atomic_store(&stop, false);
  assert_int_equal(pthread_create(&thread, NULL, keep_changing, NULL), 0);
  for (int i = 0; i < 40; ++i) assert_int_equal(in_child(child_uses_tables, NULL), 0);
  atomic_store(&stop, true);
  pthread_join(thread, NULL);
}
#endif

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_functions),
      cmocka_unit_test(test_removed_names_are_forgotten),
      cmocka_unit_test(test_types),
      cmocka_unit_test(test_type_refused),
      cmocka_unit_test(test_counts),
      cmocka_unit_test(test_thread_ends_with_an_error),
#ifndef UNDER_TSAN
      cmocka_unit_test(test_fork_while_tables_change),
#endif
  };
  return cmocka_run_group_tests(tests, start_runtime, NULL);
}
