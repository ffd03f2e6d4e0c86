#include "ir/interrupt.h"

#include "base/clock.h"
#include "base/error.h"
#include "object/functions.h"
#include "tenon/object.h"

enum { PAUSE_NS = 20 * 1000 * 1000 };

static _Thread_local const _Atomic bool *followed;
static _Thread_local int64_t last, count;

static int ask_host(void) {
  tn_any ignored = tn_any_none();
  tn_func *check = tn_func_find("runtime.CheckSignals"); /* NULL: nobody to ask */
  int err = check ? tn_func_call(check, NULL, 0, &ignored) : 0;
  tn_any_release(&ignored);
  tn_release(check);
  return err;
}

static int check(void) {
  if (followed)
    return atomic_load(followed) ? tn_raise_foreign("KeyboardInterrupt", "interrupted", NULL) : 0;
  int64_t now = tn_now_ns();
  if (now - last < PAUSE_NS) return 0;
  last = now;
  return ask_host();
}

int ir_interrupt_check(void) {
  if (check() == 0) return 0;
  ++count;
  return -1;
}

int64_t ir_interrupt_count(void) { return count; }

int ir_interrupt_dropped(int64_t before) {
  if (count == before) return 0;
  return tn_raise_foreign("KeyboardInterrupt", "interrupted", NULL);
}

void ir_interrupt_follow(const _Atomic bool *stop) { followed = stop; }
