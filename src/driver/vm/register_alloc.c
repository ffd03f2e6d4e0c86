/* Finishing the code of a function.

   As jumps lead forward only, one walk from the end to the begin tells which registers are live at
   each instruction: live before it = (live after it, less what it writes) and what it reads; after
   a branch what is live at either of its targets. A register that an instruction mentions and that
   is not live afterwards is given up after it; one that is live at only one target of a branch is
   given up at the begin of the other. Registers whose values are never alive together become one.
 */
#include "driver/vm/register_alloc.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"

void code_fini(vm_code *c) {
  tn_free(c->words);
  tn_free(c->labels);
  *c = (vm_code){0};
}

int64_t code_reg(vm_code *c) { return c->nreg++; }

int64_t code_label(vm_code *c) {
  TN_GROW(c->labels, c->label_cap, c->nlabel + 1, return (c->failed = true, 0));
  c->labels[c->nlabel] = -1;
  return c->nlabel++;
}

void code_put_label(vm_code *c, int64_t label) {
  if (!c->failed) c->labels[label] = c->n;
}

void code_emit(vm_code *c, const int64_t *words, int64_t n, const int64_t *list, int64_t nlist) {
  int64_t more = n + (list ? nlist + 1 : 0);
  if (c->failed) return;
  TN_GROW(c->words, c->cap, c->n + more, {
    c->failed = true;
    return;
  });
  memcpy(c->words + c->n, words, (size_t)n * sizeof *words);
  c->n += n;
  if (!list) return;
  c->words[c->n++] = nlist;
  if (nlist) memcpy(c->words + c->n, list, (size_t)nlist * sizeof *list);
  c->n += nlist;
}

/* ---- which registers are live ---- */

typedef uint64_t word;

typedef struct {
  vm_code *c;
  int64_t *starts; /* of the instructions, and the end */
  int64_t ninst;
  int64_t *at_label; /* label -> instruction */
  int64_t width;     /* words of a set */
  word *live;        /* before the instruction that the walk has come to */
  word *out;         /* after it */
  word **sets;       /* label -> live there; NULL: not reached yet */
  word *plain;       /* registers that hold numbers or scalars: there is nothing to give up */
  int64_t *kills;    /* pairs of instruction and register, from the last to the first */
  int64_t nkill, kill_cap;
  int64_t *begins; /* the same for registers given up before an instruction */
  int64_t nbegin, begin_cap;
} liveness;

static bool has(const word *s, int64_t r) { return s[r / 64] >> (r % 64) & 1; }
static void add(word *s, int64_t r) { s[r / 64] |= (word)1 << (r % 64); }
static void drop(word *s, int64_t r) { s[r / 64] &= ~((word)1 << (r % 64)); }

static int index_code(liveness *l) {
  vm_code *c = l->c;
  TN_GET(l->starts, tn_alloc_array(c->n + 1, sizeof *l->starts));
  TN_GET(l->at_label, tn_alloc_array(c->nlabel + 1, sizeof *l->at_label));
  TN_GET(l->sets, tn_alloc_zero((size_t)c->nlabel + 1, sizeof(word *)));
  for (int64_t at = 0; at < c->n; at += tn_vm_length(c->words + at, c->n - at))
    l->starts[l->ninst++] = at;
  l->starts[l->ninst] = c->n;
  for (int64_t i = 0; i < c->nlabel; ++i) {
    int64_t low = 0, high = l->ninst;
    while (low < high) {
      int64_t mid = (low + high) / 2;
      if (l->starts[mid] < c->labels[i]) low = mid + 1;
      else high = mid;
    }
    l->at_label[i] = low;
  }
  l->width = c->nreg / 64 + 1;
  TN_GET(l->live, tn_alloc_zero((size_t)l->width, sizeof(word)));
  TN_GET(l->out, tn_alloc_zero((size_t)l->width, sizeof(word)));
  TN_GET(l->plain, tn_alloc_zero((size_t)l->width, sizeof(word)));
  for (int64_t i = 0; i < l->ninst; ++i) {
    const int64_t *w = c->words + l->starts[i];
    if (w[0] == TN_VM_LOAD_CONSTI || w[0] == TN_VM_GET_TAG || w[0] == TN_VM_ALLOC_SCALAR)
      add(l->plain, w[1]);
  }
  return 0;
}

static int push_pair(int64_t **items, int64_t *n, int64_t *cap, int64_t inst, int64_t reg) {
  TN_GROW(*items, *cap, *n + 2, return -1);
  (*items)[(*n)++] = inst;
  (*items)[(*n)++] = reg;
  return 0;
}

/* Registers that are live on the way from a branch, but not at its target. */
static int kill_at_target(liveness *l, int64_t label, const word *out) {
  const word *target = l->sets[label];
  for (int64_t w = 0; w < l->width; ++w) {
    for (word rest = out[w] & ~target[w] & ~l->plain[w]; rest; rest &= rest - 1) {
      int64_t r = w * 64 + __builtin_ctzll(rest);
      TN_TRY(push_pair(&l->begins, &l->nbegin, &l->begin_cap, l->at_label[label], r));
    }
  }
  return 0;
}

static int branch(liveness *l, const int64_t *w) {
  word *a, *b;
  TN_GET(a, l->sets[w[3]]);
  TN_GET(b, l->sets[w[4]]);
  for (int64_t i = 0; i < l->width; ++i) l->live[i] = a[i] | b[i];
  add(l->live, w[1]);
  add(l->live, w[2]);
  TN_TRY(kill_at_target(l, w[3], l->live));
  return kill_at_target(l, w[4], l->live);
}

typedef struct {
  liveness *l;
  int64_t inst;
  bool kill, failed;
} operand_walk;

static int see_operand(void *ctx, char kind, int64_t *reg) {
  operand_walk *o = ctx;
  if (kind != 'd' && kind != 'r') return 0;
  if (!o->kill || has(o->l->out, *reg) || has(o->l->plain, *reg)) return 0;
  add(o->l->out, *reg); /* once */
  return push_pair(&o->l->kills, &o->l->nkill, &o->l->kill_cap, o->inst, *reg);
}

static int write_operand(void *ctx, char kind, int64_t *reg) {
  if (kind == 'd') drop(ctx, *reg);
  return 0;
}
static int read_operand(void *ctx, char kind, int64_t *reg) {
  if (kind == 'r') add(ctx, *reg);
  return 0;
}

static int plain(liveness *l, int64_t i, int64_t *w) {
  const int64_t *next = i + 1 < l->ninst ? l->c->words + l->starts[i + 1] : NULL;
  /* a function that ends gives up everything; calls before ret take its place only when they are
     next to it */
  bool ends = next && next[0] == TN_VM_RET;
  operand_walk o = {.l = l, .inst = i, .kill = !ends};
  memcpy(l->out, l->live, (size_t)l->width * sizeof(word));
  TN_TRY(tn_vm_each_operand(w, see_operand, &o));
  (void)tn_vm_each_operand(w, write_operand, l->live);
  (void)tn_vm_each_operand(w, read_operand, l->live);
  return 0;
}

static int keep_labels(liveness *l, int64_t i) {
  for (int64_t k = 0; k < l->c->nlabel; ++k) {
    if (l->at_label[k] != i || l->sets[k]) continue;
    TN_GET(l->sets[k], tn_alloc_array(l->width, sizeof(word)));
    memcpy(l->sets[k], l->live, (size_t)l->width * sizeof(word));
  }
  return 0;
}

static int find_live(liveness *l) {
  bool *is_target = tn_alloc_zero((size_t)l->ninst + 1, sizeof *is_target);
  int err = is_target ? 0 : -1;
  for (int64_t k = 0; k < l->c->nlabel && !err; ++k) is_target[l->at_label[k]] = true;
  for (int64_t i = l->ninst - 1; i >= 0 && !err; --i) {
    int64_t *w = l->c->words + l->starts[i];
    switch ((tn_vm_opcode)w[0]) {
    case TN_VM_RET:
    case TN_VM_FATAL:
      memset(l->live, 0, (size_t)l->width * sizeof(word));
      if (w[0] == TN_VM_RET) add(l->live, w[1]);
      break;
    case TN_VM_GOTO: memcpy(l->live, l->sets[w[1]], (size_t)l->width * sizeof(word)); break;
    case TN_VM_IF: err = branch(l, w); break;
    default: err = plain(l, i, w); break;
    }
    if (!err && is_target[i]) err = keep_labels(l, i);
  }
  tn_free(is_target);
  return err;
}

static void fini(liveness *l) {
  for (int64_t i = 0; l->sets && i < l->c->nlabel; ++i) tn_free(l->sets[i]);
  tn_free((void *)l->sets);
  tn_free(l->starts);
  tn_free(l->at_label);
  tn_free(l->live);
  tn_free(l->out);
  tn_free(l->plain);
  tn_free(l->kills);
  tn_free(l->begins);
}

/* ---- the code with registers given up ---- */

static void put_kill(vm_code *to, int64_t reg) { CODE(to, TN_VM_KILL_REGISTER, reg); }

/* Pairs of one instruction lie together at the end of the list, as the walk was backwards. */
static int copy_code(liveness *l, vm_code *to) {
  TN_AUTOFREE int64_t *moved = tn_alloc_array(l->ninst + 1, sizeof *moved);
  int64_t kill = l->nkill;
  if (!moved) return -1;
  for (int64_t i = 0; i < l->ninst; ++i) {
    moved[i] = to->n;
    /* few branches: their lists are short, but not in the order of targets */
    for (int64_t k = 0; k < l->nbegin; k += 2)
      if (l->begins[k] == i) put_kill(to, l->begins[k + 1]);
    code_emit(to, l->c->words + l->starts[i], l->starts[i + 1] - l->starts[i], NULL, 0);
    for (; kill > 0 && l->kills[kill - 2] == i; kill -= 2) put_kill(to, l->kills[kill - 1]);
  }
  moved[l->ninst] = to->n;
  for (int64_t i = 0; i < l->c->nlabel; ++i) {
    (void)code_label(to);
    if (!to->failed) to->labels[i] = moved[l->at_label[i]];
  }
  return to->failed ? tn_raise_no_memory((size_t)to->n) : 0;
}

/* ---- registers ---- */

typedef struct {
  int32_t *last;  /* word of the last mention of a register, -1: none */
  int32_t *named; /* register -> the one of the machine, -1: none yet */
  int32_t *free;  /* those that can be used again */
  int32_t nfree, n;
  int64_t at;
} allocation;

static int see_last(void *ctx, char kind, int64_t *reg) {
  allocation *a = ctx;
  if (kind == 'd' || kind == 'r' || kind == 'k') a->last[*reg] = (int32_t)a->at;
  return 0;
}

static int rename_operand(void *ctx, char kind, int64_t *reg) {
  allocation *a = ctx;
  if (kind != 'd' && kind != 'r' && kind != 'k') return 0;
  if (a->named[*reg] < 0) a->named[*reg] = a->nfree ? a->free[--a->nfree] : a->n++;
  int32_t name = a->named[*reg];
  if (a->last[*reg] == a->at) {
    a->last[*reg] = -1; /* mentioned twice: freed once, when the instruction is over */
    a->free[a->nfree++] = name;
  }
  *reg = name;
  return 0;
}

/* A register that an instruction mentions last may only be used again from the next one on: those
   freed by it lie on top of the list, so new names of the same instruction come first. */
static int name_first(void *ctx, char kind, int64_t *reg) {
  allocation *a = ctx;
  if (kind == 'd' && a->named[*reg] < 0) a->named[*reg] = a->nfree ? a->free[--a->nfree] : a->n++;
  return 0;
}

static void rename_all(vm_code *c, allocation *a) {
  for (int64_t i = 0; i < c->nreg; ++i) {
    a->last[i] = -1;
    a->named[i] = i < c->nparam ? (int32_t)i : -1;
  }
  a->n = c->nparam;
  for (a->at = 0; a->at < c->n; a->at += tn_vm_length(c->words + a->at, c->n - a->at))
    (void)tn_vm_each_operand(c->words + a->at, see_last, a);
  for (a->at = 0; a->at < c->n; a->at += tn_vm_length(c->words + a->at, c->n - a->at)) {
    (void)tn_vm_each_operand(c->words + a->at, name_first, a);
    (void)tn_vm_each_operand(c->words + a->at, rename_operand, a);
  }
}

static int allocate(vm_code *c, int32_t *nreg) {
  int64_t n = c->nreg + 1;
  allocation a = {0};
  a.last = tn_alloc_array(n, sizeof *a.last);
  a.named = tn_alloc_array(n, sizeof *a.named);
  a.free = tn_alloc_array(n, sizeof *a.free);
  bool ok = a.last && a.named && a.free;
  if (ok) rename_all(c, &a);
  *nreg = a.n;
  tn_free(a.last);
  tn_free(a.named);
  tn_free(a.free);
  return ok ? 0 : -1;
}

/* ---- all of it ---- */

typedef struct {
  const vm_code *c;
  const int64_t *starts;
  int64_t ninst, inst;
} resolving;

static int resolve(void *ctx, char kind, int64_t *label) {
  const resolving *r = ctx;
  if (kind != 'j') return 0;
  int64_t to = r->c->labels[*label], low = r->inst, high = r->ninst;
  while (low < high) {
    int64_t mid = (low + high) / 2;
    if (r->starts[mid] < to) low = mid + 1;
    else high = mid;
  }
  *label = low - r->inst;
  return 0;
}

static int resolve_all(vm_code *c) {
  TN_AUTOFREE int64_t *starts = tn_alloc_array(c->n + 1, sizeof *starts);
  resolving r = {.c = c, .starts = starts};
  if (!starts) return -1;
  for (int64_t at = 0; at < c->n; at += tn_vm_length(c->words + at, c->n - at))
    starts[r.ninst++] = at;
  for (; r.inst < r.ninst; ++r.inst)
    (void)tn_vm_each_operand(c->words + starts[r.inst], resolve, &r);
  return 0;
}

static int finish(liveness *l, vm_code *to, tn_vm_exe *x, int64_t func) {
  int32_t nreg;
  TN_TRY(index_code(l));
  TN_TRY(find_live(l));
  TN_TRY(copy_code(l, to));
  to->nparam = l->c->nparam;
  to->nreg = l->c->nreg;
  TN_TRY(allocate(to, &nreg));
  TN_TRY(resolve_all(to));
  return tn_vm_set_code(x, func, nreg, to->words, to->n);
}

int code_finish(vm_code *c, tn_vm_exe *x, int64_t func) {
  liveness l = {.c = c};
  vm_code to = {0};
  if (c->failed) return tn_raise_no_memory((size_t)c->n);
  int err = finish(&l, &to, x, func) ? -1 : 0;
  fini(&l);
  code_fini(&to);
  return err;
}
