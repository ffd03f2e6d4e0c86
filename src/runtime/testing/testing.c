/* Probes for test suites, seen from Python as tenon.testing: values that come back as they are,
   reference counts, functions that wrap a callback or fail in a known way. */
#include "runtime/testing/testing.h"

#include <errno.h>
#include <stdatomic.h>
#include <time.h>

#include "base/clock.h"
#include "base/file.h"
#include "object/functions.h"

/* testing.echo(x) -> x, also as testing.identity_cpp */
static int echo(TN_ARGS) {
  TN_NARGS("testing.echo", 1);
  return tn_any_own(&args[0], ret);
}

static int nop(TN_ARGS) { return 0; }

/* testing.device_test(device, type, id) -> device: checks that the parts arrived too */
static int device_test(TN_ARGS) {
  tn_device dev;
  int64_t type, id;
  TN_NARGS("testing.device_test", 3);
  TN_TRY(tn_any_to_device(&args[0], &dev));
  TN_TRY(tn_any_to_int(&args[1], &type));
  TN_TRY(tn_any_to_int(&args[2], &id));
  TN_CHECK((int64_t)dev.device_type == type && dev.device_id == id, ValueError, NULL,
           "testing.device_test: expected device (%d, %d), got (%lld, %lld)", (int)dev.device_type,
           (int)dev.device_id, (long long)type, (long long)id);
  *ret = tn_any_device(dev);
  return 0;
}

/* testing.object_use_count(obj) -> references held, 0 for a plain value */
static int object_use_count(TN_ARGS) {
  tn_obj *obj = NULL;
  TN_NARGS("testing.object_use_count", 1);
  if (args[0].type_index == TN_RVALUE) obj = *args[0].v.rvalue;
  if (tn_any_is_obj(&args[0])) obj = args[0].v.obj;
  *ret = tn_any_int(obj ? tn_use_count(obj) : 0);
  return 0;
}

/* testing.ErrorTest(x, y): ValueError unless they are equal; InternalError when both are 1 */
static int error_test(TN_ARGS) {
  int64_t x, y;
  TN_NARGS("testing.ErrorTest", 2);
  TN_TRY(tn_any_to_int(&args[0], &x));
  TN_TRY(tn_any_to_int(&args[1], &y));
  TN_CHECK(x == y, ValueError, NULL, "expect x and y to be equal, got %lld and %lld", (long long)x,
           (long long)y);
  TN_CHECK(x != 1, InternalError, NULL, "Check failed: (x != 1) is false: cannot reach here");
  return 0;
}

static void release(void *obj) { tn_release(obj); }

/* A function that keeps `state` (owned, given up here also on failure) and calls `call` with it. */
static int return_closure(tn_call call, tn_obj *state, tn_any *ret) {
  tn_func *f = tn_func_new(call, state, release);
  if (!f) tn_release(state);
  return tn_ret_owned(ret, f);
}

static int call_wrapped(TN_ARGS) {
  tn_any ignored = tn_any_none();
  TN_TRY(tn_func_call(self, NULL, 0, &ignored));
  tn_any_release(&ignored);
  return 0;
}

/* testing.test_wrap_callback(f) -> a function that calls f() from native code */
static int wrap_callback(TN_ARGS) {
  TN_NARGS("testing.test_wrap_callback", 1);
  TN_ARG_OBJ(Function, f, 0);
  tn_retain(f);
  return return_closure(call_wrapped, (tn_obj *)f, ret);
}

static int raise_kept(TN_ARGS) { return tn_raise_text(tn_str_data(self)); }

/* testing.test_raise_error_callback(text) -> a function that fails with text ("ValueError: ...") */
static int raise_error_callback(TN_ARGS) {
  const char *text;
  TN_NARGS("testing.test_raise_error_callback", 1);
  TN_TRY(tn_any_to_cstr(&args[0], &text));
  tn_str *kept = tn_str_new(text);
  return kept ? return_closure(raise_kept, (tn_obj *)kept, ret) : -1;
}

static int check_eq_kept(TN_ARGS) {
  int64_t x, y;
  TN_NARGS("check_eq", 2);
  TN_TRY(tn_any_to_int(&args[0], &x));
  TN_TRY(tn_any_to_int(&args[1], &y));
  return x == y ? 0 : tn_raise_text(tn_str_data(self));
}

/* testing.test_check_eq_callback(text) -> a function (x, y) that fails with text unless x == y */
static int check_eq_callback(TN_ARGS) {
  const char *text;
  TN_NARGS("testing.test_check_eq_callback", 1);
  TN_TRY(tn_any_to_cstr(&args[0], &text));
  tn_str *kept = tn_str_new(text);
  return kept ? return_closure(check_eq_kept, (tn_obj *)kept, ret) : -1;
}

static void sleep_ns(int64_t ns) {
  struct timespec t = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
  nanosleep(&t, NULL);
}

/* testing.run_check_signal(seconds): waits, but ends with the host's error when it wants to stop.
   The host registers "runtime.CheckSignals" for that (Python: KeyboardInterrupt). */
static int run_check_signal(TN_ARGS) {
  double seconds;
  TN_NARGS("testing.run_check_signal", 1);
  TN_TRY(tn_any_to_float(&args[0], &seconds));
  tn_func *check = tn_func_find("runtime.CheckSignals");
  int64_t end = tn_now_ns() + (int64_t)(seconds * 1e9);
  int err = 0;
  while (!err && tn_now_ns() < end) {
    sleep_ns(10 * 1000 * 1000);
    tn_any ignored = tn_any_none();
    if (check) err = tn_func_call(check, NULL, 0, &ignored);
    tn_any_release(&ignored);
  }
  tn_release(check);
  TN_TRY(err);
  return 0;
}

/* testing.sleep_in_ffi(seconds) */
static int sleep_in_ffi(TN_ARGS) {
  double seconds;
  TN_NARGS("testing.sleep_in_ffi", 1);
  TN_TRY(tn_any_to_float(&args[0], &seconds));
  sleep_ns((int64_t)(seconds * 1e9));
  return 0;
}

static _Atomic int64_t file_steps, failing_step;

static int fail_step(void *ctx, const char *name) {
  (void)ctx, (void)name;
  return atomic_fetch_add(&file_steps, 1) == atomic_load(&failing_step) ? ENOSPC : 0;
}

/* testing.fail_file_step(n) -> steps of writing files since the last call: from now on the n-th one
   fails as if the disk were full (base/file.h); a negative n ends that */
static int fail_file_step(TN_ARGS) {
  int64_t k;
  TN_NARGS("testing.fail_file_step", 1);
  TN_TRY(tn_any_to_int(&args[0], &k));
  atomic_store(&failing_step, k);
  *ret = tn_any_int(atomic_exchange(&file_steps, 0));
  tn_set_file_hook(k < 0 ? NULL : fail_step, NULL);
  return 0;
}

static const tn_func_row rows[] = {
    {"testing.echo", echo},
    {"testing.identity_cpp", echo},
    {"testing.nop", nop},
    {"testing.device_test", device_test},
    {"testing.object_use_count", object_use_count},
    {"testing.ErrorTest", error_test},
    {"testing.test_wrap_callback", wrap_callback},
    {"testing.test_raise_error_callback", raise_error_callback},
    {"testing.test_check_eq_callback", check_eq_callback},
    {"testing.run_check_signal", run_check_signal},
    {"testing.sleep_in_ffi", sleep_in_ffi},
    {"testing.fail_file_step", fail_file_step},
};

int tn_testing_init(void) {
  TN_TRY(tn_func_register_rows(rows, TN_COUNT(rows)));
  return tn_testing_module_init();
}
