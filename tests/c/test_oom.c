/* Running out of memory at every single allocation of the object layer: each failure is a
   MemoryError and leaves nothing behind. */
#include "failing_alloc.h"

#include <stdio.h>

#include "object/path.h"
#include "object/repr.h"
#include "tenon/object.h"
#include "testing_nodes.h"

/* The thread's scope stack stays allocated once it has grown: grown here, before anything is
 * counted. */
static int start(void **state) {
  if (start_runtime(state) || register_test_nodes()) return -1;
  TN_SCOPE(s);
  for (int i = 0; i < 1000; ++i) {
    if (!tn_str_from("x")) return -1;
  }
  return 0;
}

/* Every kind of object, some of it shared. Owned by the scope. */
static tn_obj *sample(void) {
  static const int64_t dims[] = {1, 2, 3};
  tn_TVar *x = var("x"), *y = x ? var("y") : NULL;
  tn_obj *c = y ? CALL(NULL, 2, x, IMM(1)) : NULL;
  tn_map *table = c ? tn_scope_own(tn_map_new()) : NULL;
  if (!table || tn_map_set(table, tn_any_obj(x), tn_any_obj(c))) return NULL;
  for (int i = 0; i < 20; ++i) {
    char key[16];
    snprintf(key, sizeof key, "k%d", i);
    if (tn_map_set(table, tn_any_cstr(key), i % 2 ? tn_any_int(i) : tn_any_obj(c))) return NULL;
  }
  void *shape = tn_scope_own(tn_shape_new(dims, 3));
  void *bytes = shape ? tn_scope_own(tn_bytes_new("\0\xff", 2)) : NULL;
  if (!bytes) return NULL;
  tn_any items[] = {tn_any_obj(shape),
                    tn_any_obj(bytes),
                    tn_any_float(0.5),
                    tn_any_cstr("text\n"),
                    tn_any_dtype((tn_dtype){kDLFloat, 32, 1}),
                    tn_any_obj(c)};
  void *tuple = tn_scope_own(tn_tuple_new(3, items, TN_COUNT(items)));
  tn_arr *params = tuple ? tn_arr_of(2, x, y) : NULL;
  if (!params) return NULL;
  tn_obj *body = CALL(c, 3, ADD(c, c), ADD(ADD(x, y), IMM(2)), tuple);
  return body ? FUNC(params, table, body) : NULL;
}

static int make(void *ctx) {
  (void)ctx;
  TN_SCOPE(s);
  return sample() ? 0 : -1;
}

static int make_by_keyword(void *ctx) {
  (void)ctx;
  static const char *const names[] = {"i", "b", "d", "s"};
  tn_any values[] = {tn_any_int(1), tn_any_bool(true), tn_any_device((tn_device){kDLCPU, 0}),
                     tn_any_cstr("text")};
  tn_obj *o = tn_node_make(&tn_type_TAll, 3 + (ctx != NULL), names, values);
  tn_release(o);
  return o ? 0 : -1;
}

typedef struct {
  tn_any lhs, rhs;
  tn_str *text;
} pair;

static int equal(void *ctx) {
  const pair *p = ctx;
  int c = tn_equal_any(p->lhs, p->rhs, TN_MAP_FREE_VARS);
  if (c >= 0) assert_int_equal(c, 1);
  return c < 0 ? -1 : 0;
}

static int hash(void *ctx) {
  uint64_t h;
  return tn_hash_any(((const pair *)ctx)->lhs, 0, &h);
}

static int mismatch(void *ctx) {
  const pair *p = ctx;
  tn_obj *lp, *rp;
  if (tn_first_mismatch(p->lhs, p->rhs, 0, &lp, &rp)) return -1;
  assert_true(lp && rp);
  tn_release(lp);
  tn_release(rp);
  return 0;
}

/* Succeeds once the ValueError that shows both sides could be made. */
static int assert_mode(void *ctx) {
  const pair *p = ctx;
  assert_int_equal(tn_assert_equal(p->lhs, p->rhs, 0), -1);
  if (tn_error_get_kind() != TN_ValueError) return -1;
  tn_error_clear();
  return 0;
}

static int save(void *ctx) {
  tn_str *text = tn_json_save(((const pair *)ctx)->lhs);
  tn_release(text);
  return text ? 0 : -1;
}

static int load(void *ctx) {
  const tn_str *text = ((const pair *)ctx)->text;
  tn_any value;
  if (tn_json_load(tn_str_data(text), tn_str_len(text), &value)) return -1;
  tn_any_release(&value);
  return 0;
}

static int print(void *ctx) {
  TN_BUF(out);
  return tn_repr_print(&out, ((const pair *)ctx)->lhs);
}

static int add_function(void *self, const tn_any *args, int32_t n, tn_any *ret) {
  (void)self, (void)args, (void)n, (void)ret;
  return 0;
}
static int function(void *ctx) {
  (void)ctx;
  tn_func *f = tn_func_new(add_function, NULL, NULL);
  tn_any ret;
  int err = f ? tn_func_call(f, NULL, 0, &ret) : -1;
  tn_release(f);
  return err;
}

static void test_making_objects(void **state) {
  (void)state;
  int with_text;
  assert_in_range(fail_every_allocation(make, NULL), 40, 400);
  assert_in_range(fail_every_allocation(make_by_keyword, NULL), 1, 20);
  assert_in_range(fail_every_allocation(make_by_keyword, &with_text), 2, 20);
  assert_int_equal(fail_every_allocation(function, NULL), 1);
}

static void test_algorithms(void **state) {
  (void)state;
  TN_SCOPE(s);
  pair same = {tn_any_obj(sample()), tn_any_obj(sample()), NULL};
  assert_in_range(fail_every_allocation(equal, &same), 5, 400);
  assert_in_range(fail_every_allocation(hash, &same), 5, 400);
  assert_in_range(fail_every_allocation(save, &same), 5, 400);
  assert_in_range(fail_every_allocation(print, &same), 1, 100);
  same.text = tn_scope_own(tn_json_save(same.lhs));
  assert_in_range(fail_every_allocation(load, &same), 50, 5000);
  pair differ = {tn_any_obj(CALL(NULL, 2, IMM(1), sample())),
                 tn_any_obj(CALL(NULL, 2, IMM(2), sample())), NULL};
  assert_in_range(fail_every_allocation(mismatch, &differ), 5, 400);
  assert_in_range(fail_every_allocation(assert_mode, &differ), 10, 400);
}

/* Registering needs memory that stays: what failed before must not be half there. */
static void test_registering_a_function(void **state) {
  (void)state;
  failing_alloc a = {.most = SIZE_MAX};
  char name[32];
  for (int i = 0; i < 40; ++i) {
    snprintf(name, sizeof name, "test.oom.%d", i);
    int err = -1;
    for (int64_t n = 0; err; ++n) {
      a.countdown = n;
      a.real = tn_set_allocator((tn_allocator){failing_alloc_fn, &a});
      err = tn_func_register(name, add_function, NULL, NULL, 0);
      tn_set_allocator(a.real);
      if (err) assert_error("MemoryError", "memory");
      tn_func *f = tn_func_find(name);
      assert_int_equal(f == NULL, err != 0);
      tn_release(f);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_making_objects),
      cmocka_unit_test(test_algorithms),
      cmocka_unit_test(test_registering_a_function),
  };
  return cmocka_run_group_tests(tests, start, NULL);
}
