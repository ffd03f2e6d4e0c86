/* The digits model on an emulated board: every image through the graph runtime; prints how many are
   recognised and the memory in use, over semihosting. */
#include <stdint.h>

#include "model_data.h" /* written by the test */
#include "tenon/micro.h"
#include "tvm/runtime/c_runtime_api.h"

extern const tn_micro_library tvmgen_default_library;
extern uint32_t data_begin[], data_end[], data_source[], bss_begin[], bss_end[], stack_top[];
int main(void);

static int semihost(int op, const void *arg) {
  register int r0 __asm__("r0") = op;
  register const void *r1 __asm__("r1") = arg;
  __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
  return r0;
}

static void print(const char *text) { semihost(4, text); }

static void print_number(const char *before, uint32_t n) {
  char digits[12], *p = digits + sizeof digits;
  *--p = '\0';
  *--p = '\n';
  do *--p = (char)('0' + n % 10);
  while (n /= 10);
  print(before);
  print(p);
}

static void leave(int ok) { semihost(0x18, (const void *)(ok ? 0x20026 : 0x20023)); }

static void fault(void) {
  print("fault\n");
  leave(0);
}

static void reset(void) {
  *(volatile uint32_t *)0xE000ED88 |= 0xFu << 20; /* the floating-point unit, where there is one */
  __asm__ volatile("dsb\nisb");
  for (uint32_t *to = data_begin, *from = data_source; to < data_end;) *to++ = *from++;
  for (uint32_t *to = bss_begin; to < bss_end;) *to++ = 0;
  main();
}

__attribute__((section(".vectors"), used)) static const void *const vectors[16] = {
    stack_top, reset, fault, fault, fault, fault, fault, fault,
    fault,     fault, fault, fault, fault, fault, fault, fault};

static _Alignas(TN_MICRO_ALIGN) uint8_t memory[MODEL_MEMORY];

int main(void) {
  tn_micro_model model = {(const char *)graph_json,
                          sizeof graph_json,
                          params,
                          sizeof params,
                          &tvmgen_default_library,
                          memory,
                          sizeof memory};
  tn_micro_graph *g;
  uint32_t right = 0;
  size_t missing;
  if (tn_micro_graph_init(&model, &g, &missing)) {
    print_number("no graph: missing ", (uint32_t)missing);
    leave(0);
  }
  float *in = tn_micro_graph_input(g, "image")->data;
  const float *out = tn_micro_graph_output(g, 0)->data;
  for (uint32_t i = 0; i < sizeof labels; ++i) {
    for (int k = 0; k < 64; ++k) in[k] = (float)images[i][k] / 255.0f;
    if (tn_micro_graph_run(g)) {
      print(TVMGetLastError());
      leave(0);
    }
    int best = 0;
    for (int k = 1; k < 10; ++k)
      if (out[k] > out[best]) best = k;
    right += best == labels[i];
  }
  print_number("images ", sizeof labels);
  print_number("right ", right);
  print_number("memory ", (uint32_t)tn_micro_graph_bytes(g));
  leave(1);
  return 0;
}
