/* A digits model in C on an emulated board: runs every image, prints the digits that it sees, how
   many are right, and the instructions and the bytes of stack of the first run. digits_data.h is
   written by the test. */
#include "digits_data.h"
#include "port.h"

static void print_number(const char *before, uint32_t n) {
  char digits[12], *p = digits + sizeof digits;
  *--p = '\0';
  *--p = '\n';
  do *--p = (char)('0' + n % 10);
  while (n /= 10);
  port_print(before);
  port_print(p);
}

/* Words below the stack that are painted, to see how far it comes. */
enum { PAINTED = 4096 };
static const uint32_t paint = 0xA5C3A5C3;

static char seen[COUNT + 2];

int main(void) {
  static INPUT_TYPE image[64];
  static float scores[10];
  static int64_t digit[1];
  const struct MODEL_INPUTS in = {image};
  struct MODEL_OUTPUTS out = {scores REST};
  uint32_t right = 0, instructions = 0;
  volatile uint32_t *const stack = port_stack(), *deepest = stack - PAINTED;
  for (volatile uint32_t *p = deepest; p < stack; ++p) *p = paint;
  for (int i = 0; i < COUNT; ++i) {
    for (int k = 0; k < 64; ++k) image[k] = INPUT_OF(images[i][k]);
    uint32_t begin = port_instructions();
    if (MODEL_RUN(&in, &out)) return 0;
    if (i == 0) {
      instructions = port_instructions() - begin;
      while (deepest < stack && *deepest == paint) ++deepest;
    }
    int best = 0;
    for (int k = 1; k < 10; ++k)
      if (scores[k] > scores[best]) best = k;
    seen[i] = (char)('0' + best);
    right += best == labels[i];
  }
  (void)digit;
  seen[COUNT] = '\n';
  port_print("seen ");
  port_print(seen);
  print_number("right ", right);
  print_number("instructions ", instructions);
  print_number("stack ", (uint32_t)((uintptr_t)stack - (uintptr_t)deepest));
  print_number("selftest ", (uint32_t)MODEL_SELFTEST());
  return 1;
}
