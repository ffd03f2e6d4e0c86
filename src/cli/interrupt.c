#include "cli/interrupt.h"

#include <signal.h>
#include <stddef.h>

#include "base/error.h"
#include "tenon/ffi.h"

static volatile sig_atomic_t came;

static void on_interrupt(int number) {
  (void)number;
  came = 1;
}

/* "runtime.CheckSignals", which long work asks (ir/interrupt.h) */
static int check_signals(void *self, const tn_any *args, int32_t n, tn_any *ret) {
  (void)self, (void)args, (void)n, (void)ret;
  return came ? tn_raise_foreign("KeyboardInterrupt", "interrupted", NULL) : 0;
}

int cli_catch_interrupts(void) {
  struct sigaction before, action = {.sa_handler = on_interrupt, .sa_flags = (int)SA_RESETHAND};
  TN_TRY(tn_func_register("runtime.CheckSignals", check_signals, NULL, NULL, 1));
  sigemptyset(&action.sa_mask);
  if (sigaction(SIGINT, NULL, &before) == 0 && before.sa_handler != SIG_IGN)
    (void)sigaction(SIGINT, &action, NULL);
  return 0;
}

bool cli_interrupted(void) { return came; }
