/* Cortex-M on the boards mps2-an385, an386, an500 and mps3-an547: start, semihosting, SysTick. */
#include "port.h"

extern uint32_t data_begin[], data_end[], data_source[], bss_begin[], bss_end[], stack_top[];

static int semihost(int op, const void *arg) {
  register int r0 __asm__("r0") = op;
  register const void *r1 __asm__("r1") = arg;
  __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
  return r0;
}

void port_print(const char *text) { semihost(4, text); }
void port_leave(int ok) { semihost(0x18, (const void *)(ok ? 0x20026 : 0x20023)); }

/* SysTick counts down at the clock of the processor. */
#define SYST ((volatile uint32_t *)0xE000E010)
enum { TOP = 0xFFFFFF };

static void start_clock(void) {
  SYST[1] = TOP;
  SYST[2] = 0;
  SYST[0] = 5;
}

/* An instruction takes a nanosecond of the emulator's time; CLOCK_PERIOD_PS is that of the board.
 */
uint32_t port_instructions(void) {
  return (uint32_t)((uint64_t)(TOP - SYST[2]) * CLOCK_PERIOD_PS / 1000);
}

static void fault(void) {
  port_print("fault\n");
  port_leave(0);
}

static void reset(void) {
  *(volatile uint32_t *)0xE000ED88 |= 0xFu << 20; /* the floating-point unit, where there is one */
  __asm__ volatile("dsb\nisb");
  for (uint32_t *to = data_begin, *from = data_source; to < data_end;) *to++ = *from++;
  for (uint32_t *to = bss_begin; to < bss_end;) *to++ = 0;
  start_clock();
  port_leave(main());
}

__attribute__((section(".vectors"), used)) static const void *const vectors[16] = {
    stack_top, reset, fault, fault, fault, fault, fault, fault,
    fault,     fault, fault, fault, fault, fault, fault, fault};
