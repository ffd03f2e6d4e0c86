/* The instrument that measures passes. Times nest: a sequence holds its passes. */
#include "base/alloc.h"
#include "base/clock.h"
#include "ir/pass_impl.h"

typedef struct {
  char *name;
  int64_t start, duration; /* ns */
  int parent;              /* index, -1 at the top */
} record;

typedef struct {
  record *records;
  int64_t n, cap;
  int open; /* the pass that is running, -1: none */
} times;

static void times_fini(void *p) {
  times *t = p;
  for (int64_t i = 0; i < t->n; ++i) tn_free(t->records[i].name);
  tn_free(t->records);
  tn_free(t);
}

/* Each context starts afresh. */
static int on_enter(void *self, const tn_any *args, int32_t n, tn_any *ret) {
  times *t = tn_opaque_get(self, "ir.PassTimes");
  (void)args, (void)n, (void)ret;
  for (int64_t i = 0; i < t->n; ++i) tn_free(t->records[i].name);
  t->n = 0;
  t->open = -1;
  return 0;
}

static int on_before(void *self, const tn_any *args, int32_t n, tn_any *ret) {
  times *t = tn_opaque_get(self, "ir.PassTimes");
  (void)ret;
  TN_ARG_OBJ(PassInfo, info, 1);
  TN_GROW(t->records, t->cap, t->n + 1, return -1);
  char *name = tn_strdup(tn_cstr(info->name));
  if (!name) return -1;
  t->records[t->n] = (record){name, tn_now_ns(), 0, t->open};
  t->open = (int)t->n++;
  return 0;
}

static int on_after(void *self, const tn_any *args, int32_t n, tn_any *ret) {
  times *t = tn_opaque_get(self, "ir.PassTimes");
  (void)args, (void)n, (void)ret;
  if (t->open < 0) return 0; /* the pass began before the context was entered */
  record *r = &t->records[t->open];
  r->duration = tn_now_ns() - r->start;
  t->open = r->parent;
  return 0;
}

static void release_state(void *state) { tn_release(state); }

static tn_func *bound(tn_call call, tn_obj *state) {
  tn_retain(state);
  tn_func *f = tn_func_new(call, state, release_state);
  if (!f) tn_release(state);
  return tn_scope_own(f);
}

tn_PassInstrument *ir_timing_instrument(void) {
  times *t = tn_alloc_zero(1, sizeof *t);
  if (!t) return NULL;
  t->open = -1;
  tn_obj *state = tn_opaque_new("ir.PassTimes", t, times_fini);
  if (!state) return tn_free(t), NULL;
  state = tn_scope_own(state);
  return TN_NEW(PassInstrument, .name = tn_str_from("PassTimingInstrument"), .state = state,
                .on_enter = bound(on_enter, state), .on_before_pass = bound(on_before, state),
                .on_after_pass = bound(on_after, state));
}

static int depth_of(const times *t, int64_t i) {
  int depth = 0;
  for (int p = t->records[i].parent; p >= 0; p = t->records[p].parent) ++depth;
  return depth;
}

static double percent(int64_t part, int64_t whole) {
  return whole ? 100.0 * (double)part / (double)whole : 0;
}

/* Records are in the order in which passes began, so a pass stands before those inside it:

     name: TIMEus [time without inner passes] (percent of all; percent of the outer pass) */
tn_str *ir_timing_render(const tn_PassInstrument *p) {
  TN_BUF(out);
  const times *t = tn_opaque_get(p->state, "ir.PassTimes");
  TN_CHECKP(t, TypeError, NULL, "instrument %s does not measure passes", tn_cstr(p->name));
  int64_t all = 0;
  for (int64_t i = 0; i < t->n; ++i) all += t->records[i].parent < 0 ? t->records[i].duration : 0;
  for (int64_t i = 0; i < t->n; ++i) {
    const record *r = &t->records[i];
    int64_t self = r->duration, outer = r->parent < 0 ? all : t->records[r->parent].duration;
    for (int64_t j = i + 1; j < t->n; ++j)
      self -= t->records[j].parent == i ? t->records[j].duration : 0;
    tn_buf_pad(&out, '\t', (size_t)depth_of(t, i));
    tn_buf_printf(&out, "%s: %lldus [%lldus] (%.2f%%; %.2f%%)\n", r->name,
                  (long long)(r->duration / 1000), (long long)(self / 1000),
                  percent(r->duration, all), percent(r->duration, outer));
  }
  return tn_scope_own(tn_buf_str(&out));
}
