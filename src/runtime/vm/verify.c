/* Checks of bytecode that nobody vouches for, before it runs. */
#include "base/error.h"
#include "object/dtype.h"
#include "runtime/tensor/tensor.h"
#include "runtime/vm/executable.h"

typedef struct {
  const tn_vm_exe *x;
  const tn_vm_function *f;
} checker;

static int in_range(const char *what, int64_t value, int64_t n) {
  TN_CHECK(value >= 0 && value < n, ValueError, NULL, "bytecode: unknown %s %lld: there are %lld",
           what, (long long)value, (long long)n);
  return 0;
}

static int check_operand(void *ctx, char kind, int64_t *word) {
  const checker *c = ctx;
  switch (kind) {
  case 'd':
  case 'r':
  case 'k': return in_range("register", *word, c->f->nreg);
  case 'f': return in_range("function", *word, c->x->nfunc);
  case 'p': return in_range("primitive", *word, c->x->nprim);
  case 'c': return in_range("constant", *word, c->x->nconst);
  case 'v': return in_range("device", *word, c->x->ndevice);
  case 't': return in_range("data type", *word, 256);
  default: return 0;
  }
}

static int check_dtype(const int64_t *t) {
  TN_CHECK(t[0] != kDLOpaqueHandle && t[1] > 0 && t[2] == 1, ValueError, NULL,
           "bytecode: code %lld, bits %lld, lanes %lld is not a data type of tensors",
           (long long)t[0], (long long)t[1], (long long)t[2]);
  return 0;
}

static int check_call(const checker *c, const char *what, int64_t func, int64_t n, bool all) {
  const tn_vm_function *callee = &c->x->funcs[func];
  TN_CHECK(all ? n == callee->nparam : n <= callee->nparam, ValueError, NULL,
           "bytecode: %s %s with %lld arguments, it has %d parameters", what, callee->name,
           (long long)n, callee->nparam);
  return 0;
}

/* alloc_tensor: d r i t t t n extents */
static int check_tensor(const int64_t *w) {
  TN_TRY(check_dtype(w + 4));
  int64_t item = tn_dtype_item_bytes(tn_dtype_of((int)w[4], (int)w[5], (int)w[6]));
  TN_CHECK(w[3] >= 0 && (item <= 0 || w[3] % (item & -item) == 0), ValueError, NULL,
           "bytecode: a tensor at offset %lld", (long long)w[3]);
  if (w[0] != TN_VM_ALLOC_TENSOR) return 0;
  TN_CHECK(w[7] <= TN_VM_MAX_NDIM, ValueError, NULL, "bytecode: a tensor of %lld dimensions",
           (long long)w[7]);
  for (int64_t i = 0; i < w[7]; ++i)
    TN_CHECK(w[8 + i] >= 0, ValueError, NULL, "bytecode: a tensor with the extent %lld",
             (long long)w[8 + i]);
  return 0;
}

/* make_shape, check_extents: a word, count and registers, count and extents or places of them */
static int check_extents(const int64_t *w) {
  int64_t tensors = w[2], n = w[3 + tensors];
  const int64_t *extents = w + 4 + tensors;
  TN_CHECK(n <= TN_VM_MAX_NDIM || w[0] == TN_VM_CHECK_EXTENTS, ValueError, NULL,
           "bytecode: a shape of %lld extents", (long long)n);
  for (int64_t i = 0; i < n; ++i)
    if (extents[i] < 0)
      TN_TRY(in_range("tensor of a shape", -(extents[i] + 1) / TN_VM_MAX_NDIM, tensors));
  return 0;
}

static int check_instruction(const checker *c, int64_t *w) {
  TN_TRY(tn_vm_each_operand(w, check_operand, (void *)(uintptr_t)c));
  switch ((tn_vm_opcode)w[0]) {
  case TN_VM_INVOKE: return check_call(c, "a call of", w[2], w[3], true);
  case TN_VM_ALLOC_CLOSURE: return check_call(c, "a closure of", w[2], w[3], false);
  case TN_VM_INVOKE_PACKED: return in_range("number of results", w[2], w[3] + 1);
  case TN_VM_ALLOC_TENSOR:
  case TN_VM_ALLOC_TENSOR_REG: return check_tensor(w);
  case TN_VM_ALLOC_ADT: return in_range("tag", w[2], INT32_MAX);
  case TN_VM_GET_FIELD: return in_range("field", w[3], INT32_MAX);
  case TN_VM_ALLOC_STORAGE:
    TN_CHECK(w[3] > 0 && w[3] <= 4096 && (w[3] & (w[3] - 1)) == 0, ValueError, NULL,
             "bytecode: %lld is not an alignment", (long long)w[3]);
    return check_dtype(w + 4);
  case TN_VM_CHECK_EXTENTS:
  case TN_VM_MAKE_SHAPE: return check_extents(w);
  case TN_VM_ALLOC_SCALAR:
    TN_CHECK(w[3] <= 64, ValueError, NULL, "bytecode: a scalar of %lld bits", (long long)w[3]);
    return check_dtype(w + 2);
  default: return 0;
  }
}

static int check_function(const tn_vm_exe *x, const tn_vm_function *f) {
  const checker c = {x, f};
  int64_t last = -1, number = 0;
  TN_CHECK(f->nreg >= f->nparam && f->nreg <= TN_VM_MAX_REGISTERS, ValueError, NULL,
           "bytecode: %d registers for %d parameters", f->nreg, f->nparam);
  for (int32_t i = 0; i < f->nparam; ++i)
    TN_TRY(in_range("device", f->param_devices[i], x->ndevice));
  for (int64_t at = 0; at < f->ncode; ++number) {
    last = f->code[at];
    if (check_instruction(&c, f->code + at))
      return tn_error_note("in instruction %lld, %s", (long long)number, tn_vm_opcode_text(last));
    at += tn_vm_length(f->code + at, f->ncode - at);
  }
  TN_CHECK(last == TN_VM_RET || last == TN_VM_FATAL, ValueError, NULL,
           "bytecode: the code ends without ret");
  return 0;
}

int tn_vm_verify(const tn_vm_exe *x) {
  if (x->ndevice) TN_TRY(in_range("host device", x->host, x->ndevice));
  for (int64_t i = 0; i < x->nconst; ++i)
    TN_TRY(in_range("device", x->consts[i].device, x->ndevice));
  for (int64_t i = 0; i < x->nfunc; ++i)
    if (check_function(x, &x->funcs[i])) return tn_error_note("in function %s", x->funcs[i].name);
  return 0;
}
