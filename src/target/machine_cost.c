/* The cost model, see machine_cost.h. */
#include "target/machine_cost.h"

#include <string.h>

static const struct {
  const char *name;
  machine_rates rates;
} table[] = {
#define CPU_RATES(name, ...) {name, {__VA_ARGS__}},
#include "target/cpus.def"
#undef CPU_RATES
};

/* The last row has an empty name, which all begin with. */
const machine_rates *machine_rates_named(const char *cpu) {
  int i = 0;
  while (strncmp(cpu, table[i].name, strlen(table[i].name)) != 0) ++i;
  return &table[i].rates;
}

const machine_rates *machine_rates_of(const target_machine *m) {
  return m->rates ? m->rates : machine_rates_named("");
}

static double products(const target_machine *m, double n, int percent) {
  enum { LANE_BYTES = 4 };
  double lanes = m->vector_bytes / (double)LANE_BYTES;
  return n / (machine_rates_of(m)->fmas * lanes * percent / 100);
}

double machine_conv_cycles(const target_machine *m, double n) {
  return products(m, n, machine_rates_of(m)->conv_percent);
}

double machine_depthwise_cycles(const target_machine *m, double n) {
  return products(m, n, machine_rates_of(m)->depthwise_percent);
}

double machine_stream_cycles(const target_machine *m, double bytes, machine_level from) {
  const machine_rates *r = machine_rates_of(m);
  const int rates[] = {r->l2_bytes, r->far_bytes, r->shared_bytes, r->remote_bytes};
  return bytes / rates[from];
}

double machine_copy_cycles(const target_machine *m, double bytes) {
  return bytes / machine_rates_of(m)->copy_bytes;
}

bool machine_is_little_work(const target_machine *m, double cycles) {
  return cycles <= 2.0 * machine_rates_of(m)->wake_cycles;
}
