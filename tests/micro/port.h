/* What a board without an operating system gives to the test programs. */
#ifndef PORT_H_
#define PORT_H_

#include <stdint.h>

void port_print(const char *text);
/* Instructions since the start, modulo 2**32, where the emulator counts them (-icount shift=0). */
uint32_t port_instructions(void);
/* Ends the emulator: 0 when all is well. */
void port_leave(int ok);
int main(void);

/* The stack pointer of the function that calls. */
static inline uint32_t *port_stack(void) {
  uint32_t *sp;
#if defined(__arm__)
  __asm__ volatile("mov %0, sp" : "=r"(sp));
#else
  __asm__ volatile("mv %0, sp" : "=r"(sp));
#endif
  return sp;
}

#endif
