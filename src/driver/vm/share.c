/* Memory that several tensors share, one after the other.

     alloc_storage $3 1024; alloc_tensor $4 $3        alloc_storage $3 1024; alloc_tensor $4 $3
     invoke_packed p ($1, $4)                         invoke_packed p ($1, $4)
     alloc_storage $5 4096; alloc_tensor $6 $5   ->   alloc_storage $5 4096; alloc_tensor $6 $5
     invoke_packed q ($4, $6)                         invoke_packed q ($4, $6)
     alloc_storage $7 512;  alloc_tensor $8 $7        alloc_tensor $8 $3
     invoke_packed r ($6, $8)                         invoke_packed r ($6, $8)

   Only tensors of known size that nothing but kernels sees, and their extents: what is returned,
   stored in data or looked at under another shape keeps memory of its own. And only between
   branches, where both are allocated or none. As jumps lead forward, a tensor is dead behind the
   last instruction that names it. A storage grows to the largest of its tensors; the one whose size
   fits best is taken. */
#include "base/alloc.h"
#include "base/error.h"
#include "driver/vm/code.h"

typedef struct {
  int64_t size_at;   /* word of the number that is its size, -1: none that can be shared */
  int64_t alloc;     /* word of its alloc_storage */
  int64_t tensor_at; /* word of its one alloc_tensor, 0: none yet */
  int64_t tensor;    /* register of that */
} storage;

typedef struct {
  vm_code *c;
  int64_t *defined; /* register -> word of the instruction that writes it, -1: none; -2: several */
  int64_t *last;    /* register -> word of the last instruction that names it */
  bool *seen;       /* register -> something else than a kernel may keep its value */
  bool *left_out;   /* word -> the instruction there is not needed any more */
  bool *target;     /* word -> a label stands before it */
  storage *all;     /* register of a storage -> what is known of it */
  int64_t *idle;    /* registers of storages whose tensor is dead, in the current stretch */
  int64_t nidle, at;
  int64_t *busy; /* those whose tensor is alive */
  int64_t nbusy;
} sharing;

/* ---- what the instructions do with their registers ---- */

static bool keeps_nothing(int64_t op, int number) {
  if (op == TN_VM_INVOKE_PACKED || op == TN_VM_SHAPE_OF || op == TN_VM_MAKE_SHAPE ||
      op == TN_VM_CHECK_EXTENTS)
    return true;
  return op == TN_VM_ALLOC_TENSOR && number == 1; /* its storage */
}

typedef struct {
  sharing *s;
  int number; /* of the operand */
} operands;

static int note(void *ctx, char kind, int64_t *reg) {
  operands *o = ctx;
  sharing *s = o->s;
  int number = o->number++;
  if (kind != 'd' && kind != 'r' && kind != 'k') return 0;
  s->last[*reg] = s->at;
  if (kind == 'd') s->defined[*reg] = s->defined[*reg] == -1 ? s->at : -2;
  else if (!keeps_nothing(s->c->words[s->at], number)) s->seen[*reg] = true;
  return 0;
}

/* A storage of constant size with one tensor, at its begin. */
static void note_memory(sharing *s, const int64_t *w) {
  if (w[0] == TN_VM_ALLOC_STORAGE) {
    int64_t size = s->defined[w[2]];
    bool known = size >= 0 && s->c->words[size] == TN_VM_LOAD_CONSTI;
    s->all[w[1]] = (storage){.size_at = known ? size + 2 : -1, .alloc = s->at};
  } else if (w[0] == TN_VM_ALLOC_TENSOR) {
    storage *m = &s->all[w[2]];
    if (m->tensor_at || w[3] != 0) m->size_at = -1;
    m->tensor_at = s->at;
    m->tensor = w[1];
  } else if (w[0] == TN_VM_ALLOC_TENSOR_REG) {
    s->all[w[2]].size_at = -1;
  }
}

static void look_at_all(sharing *s) {
  vm_code *c = s->c;
  for (s->at = 0; s->at < c->n; s->at += tn_vm_length(c->words + s->at, c->n - s->at)) {
    operands o = {.s = s};
    (void)tn_vm_each_operand(c->words + s->at, note, &o);
    note_memory(s, c->words + s->at);
  }
}

/* ---- sharing ---- */

static bool can_share(const sharing *s, int64_t reg) {
  const storage *m = &s->all[reg];
  return s->defined[reg] >= 0 && m->size_at >= 0 && m->tensor_at && !s->seen[reg] &&
         s->defined[m->tensor] >= 0 && !s->seen[m->tensor];
}

/* Storages whose tensors are dead by now. */
static void retire(sharing *s) {
  for (int64_t i = 0; i < s->nbusy; ++i) {
    int64_t reg = s->busy[i];
    if (s->last[s->all[reg].tensor] >= s->at) continue;
    s->idle[s->nidle++] = reg;
    s->busy[i--] = s->busy[--s->nbusy];
  }
}

/* The idle one that fits best: the smallest that is large enough, else the largest. -1: none. */
static int64_t best(const sharing *s, int64_t reg) {
  const int64_t *words = s->c->words, *mine = words + s->all[reg].alloc;
  int64_t need = words[s->all[reg].size_at], found = -1, size = 0;
  for (int64_t i = 0; i < s->nidle; ++i) {
    const storage *m = &s->all[s->idle[i]];
    int64_t has = words[m->size_at];
    if (words[m->alloc + 7] != mine[7] || words[m->alloc + 3] != mine[3]) continue; /* device */
    bool better =
        found < 0 || (has >= need ? size < need || has < size : size < has && size < need);
    if (better) found = i, size = has;
  }
  return found;
}

/* Lets the tensor of a storage live in one that is idle; its own is given up. */
static void share(sharing *s, int64_t reg, int64_t idle) {
  int64_t *words = s->c->words, other = s->idle[idle];
  storage *mine = &s->all[reg], *m = &s->all[other];
  if (words[m->size_at] < words[mine->size_at]) words[m->size_at] = words[mine->size_at];
  words[mine->tensor_at + 2] = other;
  m->tensor = mine->tensor;
  s->left_out[mine->alloc] = true;
  if (s->last[words[mine->alloc + 2]] == mine->alloc) s->left_out[mine->size_at - 2] = true;
  s->idle[idle] = s->idle[--s->nidle];
  s->busy[s->nbusy++] = other;
}

static void visit(sharing *s, const int64_t *w) {
  if (w[0] != TN_VM_ALLOC_STORAGE || !can_share(s, w[1])) return;
  retire(s);
  int64_t reg = w[1], idle = best(s, reg);
  if (idle >= 0) share(s, reg, idle);
  else s->busy[s->nbusy++] = reg;
}

static void share_all(sharing *s) {
  const vm_code *c = s->c;
  for (s->at = 0; s->at < c->n; s->at += tn_vm_length(c->words + s->at, c->n - s->at)) {
    const int64_t *w = c->words + s->at;
    if (s->target[s->at] || w[0] == TN_VM_IF || w[0] == TN_VM_GOTO) s->nidle = s->nbusy = 0;
    visit(s, w);
  }
}

/* ---- the code without what was left out ---- */

static int compact(sharing *s) {
  vm_code *c = s->c;
  int64_t n = 0;
  TN_AUTOFREE int64_t *moved = tn_alloc(((size_t)c->n + 1) * sizeof *moved);
  if (!moved) return -1;
  for (int64_t at = 0, length; at < c->n; at += length) {
    length = tn_vm_length(c->words + at, c->n - at);
    moved[at] = n;
    for (int64_t i = 0; i < length && !s->left_out[at]; ++i) c->words[n++] = c->words[at + i];
  }
  moved[c->n] = n;
  for (int64_t i = 0; i < c->nlabel; ++i) c->labels[i] = moved[c->labels[i]];
  c->n = n;
  return 0;
}

static int prepare(sharing *s) {
  size_t nreg = (size_t)s->c->nreg + 1, n = (size_t)s->c->n + 1;
  TN_GET(s->defined, tn_alloc(nreg * sizeof *s->defined));
  TN_GET(s->last, tn_alloc_zero(nreg, sizeof *s->last));
  TN_GET(s->seen, tn_alloc_zero(nreg, sizeof *s->seen));
  TN_GET(s->all, tn_alloc_zero(nreg, sizeof *s->all));
  TN_GET(s->idle, tn_alloc(nreg * sizeof *s->idle));
  TN_GET(s->busy, tn_alloc(nreg * sizeof *s->busy));
  TN_GET(s->left_out, tn_alloc_zero(n, sizeof *s->left_out));
  TN_GET(s->target, tn_alloc_zero(n, sizeof *s->target));
  for (size_t i = 0; i < nreg; ++i) s->defined[i] = -1;
  for (int64_t i = 0; i < s->c->nparam; ++i) s->defined[i] = -2;
  for (int64_t i = 0; i < s->c->nlabel; ++i) s->target[s->c->labels[i]] = true;
  return 0;
}

int code_share_memory(vm_code *c) {
  sharing s = {.c = c};
  int err = prepare(&s);
  if (!err) {
    look_at_all(&s);
    share_all(&s);
    err = compact(&s);
  }
  tn_free(s.defined);
  tn_free(s.last);
  tn_free(s.seen);
  tn_free(s.all);
  tn_free(s.idle);
  tn_free(s.busy);
  tn_free(s.left_out);
  tn_free(s.target);
  return err;
}
