/* RV32 on the board virt: start, semihosting, the counter of instructions. */
#include "port.h"

static int semihost(int op, const void *arg) {
  register int a0 __asm__("a0") = op;
  register const void *a1 __asm__("a1") = arg;
  __asm__ volatile(".option push\n.option norvc\n.balign 16\n"
                   "slli x0, x0, 0x1f\nebreak\nsrai x0, x0, 7\n.option pop"
                   : "+r"(a0)
                   : "r"(a1)
                   : "memory");
  return a0;
}

void port_print(const char *text) { semihost(4, text); }

void port_leave(int ok) {
  const uint32_t block[] = {0x20026, ok ? 0 : 1};
  semihost(0x20, block);
}

uint32_t port_instructions(void) {
  uint32_t n;
  __asm__ volatile(".option push\n.option arch, +zicsr\ncsrr %0, minstret\n.option pop" : "=r"(n));
  return n;
}

__attribute__((naked, used, section(".vectors"))) void reset(void) {
  __asm__ volatile("la sp, stack_top\nj begin");
}

extern uint32_t bss_begin[], bss_end[];

__attribute__((used)) void begin(void) {
  for (uint32_t *to = bss_begin; to < bss_end;) *to++ = 0;
  port_leave(main());
  for (;;) {
  }
}

/* What the compiler may call, without a C library. */
void *memcpy(void *to, const void *from, unsigned n) {
  char *t = to;
  const char *f = from;
  while (n--) *t++ = *f++;
  return to;
}

void *memset(void *to, int value, unsigned n) {
  char *t = to;
  while (n--) *t++ = (char)value;
  return to;
}
