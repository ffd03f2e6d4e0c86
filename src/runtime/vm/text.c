/* Executables as text for people.

     VM Function[0]: main(x)
     # reg file size = 3
     # instruction count = 4
     opcode, fields # inst(text):
      0: 10 2 1 40 2 20 1 0   # alloc_storage $2 $1 64 float32 device(0)   */
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "object/dtype.h"
#include "runtime/tensor/tensor.h"
#include "runtime/vm/executable.h"

/* ---- bytecode ---- */

typedef struct {
  tn_buf *out;
  const tn_vm_exe *x;
  const int64_t *starts;
  int64_t at; /* number of the instruction */
} printer;

static void put_list(tn_buf *out, const int64_t *w, int64_t n, const char *before) {
  for (int64_t i = 0; i < n; ++i) tn_buf_printf(out, "%s%s%" PRId64, i ? ", " : "", before, w[i]);
}

static int64_t target_of(const printer *p, int64_t words) {
  int64_t i = p->at;
  while (p->starts[i] < p->starts[p->at] + words) ++i;
  return i;
}

static void put_operands(const printer *p, const int64_t *w) {
  const int64_t *at = w + 1;
  for (const char *o = tn_vm_operands(w[0]); *o; ++o) {
    tn_buf_putc(p->out, ' ');
    switch (*o) {
    case 'd':
    case 'r':
    case 'k': tn_buf_printf(p->out, "$%" PRId64, *at++); break;
    case 'f':
      tn_buf_printf(p->out, "VMFunc[%" PRId64 "] %s", *at, p->x->funcs[*at].name);
      ++at;
      break;
    case 'p': tn_buf_printf(p->out, "PackedFunc[%" PRId64 "]", *at++); break;
    case 'c': tn_buf_printf(p->out, "Const[%" PRId64 "]", *at++); break;
    case 'v': tn_buf_printf(p->out, "device(%" PRId64 ")", *at++); break;
    case 'j': tn_buf_printf(p->out, "%" PRId64, target_of(p, *at++)); break;
    case 't':
      tn_buf_puts(p->out, TN_DT(tn_dtype_of((int)at[0], (int)at[1], (int)at[2])));
      at += 3;
      break;
    case 'R':
    case 'I':
      tn_buf_putc(p->out, *o == 'R' ? '(' : '[');
      put_list(p->out, at + 1, *at, *o == 'R' ? "$" : "");
      tn_buf_putc(p->out, *o == 'R' ? ')' : ']');
      at += *at + 1;
      break;
    default: tn_buf_printf(p->out, "%" PRId64, *at++); break;
    }
  }
}

static void put_instruction(const printer *p, const int64_t *w, int64_t n) {
  tn_buf_printf(p->out, "%2" PRId64 ": %" PRIx64, p->at, (uint64_t)w[0]);
  for (int64_t i = 1; i < n; ++i) tn_buf_printf(p->out, " %" PRId64, w[i]);
  tn_buf_printf(p->out, "   # %s", tn_vm_opcode_text(w[0]));
  if (w[0] == TN_VM_INVOKE_PACKED) {
    int64_t out = w[2], all = w[3];
    tn_buf_printf(p->out, " PackedFunc[%" PRId64 "] (in: ", w[1]);
    put_list(p->out, w + 4, all - out, "$");
    tn_buf_puts(p->out, ", out: ");
    put_list(p->out, w + 4 + all - out, out, "$");
    tn_buf_putc(p->out, ')');
  } else put_operands(p, w);
  tn_buf_putc(p->out, '\n');
}

static int put_function(const tn_vm_exe *x, int64_t i, tn_buf *out) {
  const tn_vm_function *f = &x->funcs[i];
  TN_AUTOFREE int64_t *starts = tn_alloc_array(f->ninst + 1, sizeof *starts);
  if (!starts) return -1;
  tn_buf_printf(out, "VM Function[%" PRId64 "]: %s(", i, f->name);
  for (int32_t k = 0; k < f->nparam; ++k) tn_buf_printf(out, "%s%s", k ? ", " : "", f->params[k]);
  tn_buf_printf(out,
                ")\n# reg file size = %d\n# instruction count = %" PRId64
                "\nopcode, fields # inst(text):\n",
                f->nreg, f->ninst);
  int64_t n = 0;
  for (int64_t at = 0; at < f->ncode; at += tn_vm_length(f->code + at, f->ncode - at))
    starts[n++] = at;
  starts[n] = f->ncode;
  for (printer p = {out, x, starts, 0}; p.at < n; ++p.at)
    put_instruction(&p, f->code + starts[p.at], starts[p.at + 1] - starts[p.at]);
  tn_buf_putc(out, '\n');
  return tn_buf_ok(out);
}

tn_str *tn_vm_text_bytecode(const tn_vm_exe *x) {
  TN_BUF(out);
  for (int64_t i = 0; i < x->nfunc; ++i) TN_TRYP(put_function(x, i, &out));
  return tn_buf_str(&out);
}

/* ---- the rest ---- */

static void put_shape(tn_buf *out, const tn_tensor *t) {
  if (!t) {
    tn_buf_puts(out, "late-bound");
    return;
  }
  if (t->dl.ndim == 0) {
    tn_buf_puts(out, "scalar");
    return;
  }
  tn_buf_putc(out, '[');
  tn_buf_extents(out, t->dl.shape, t->dl.ndim);
  tn_buf_putc(out, ']');
}

tn_str *tn_vm_text_constants(const tn_vm_exe *x) {
  TN_BUF(out);
  for (int64_t i = 0; i < x->nconst; ++i) {
    const char *name;
    tn_tensor *value = tn_vm_const_now(x, i, &name);
    tn_buf_printf(&out, "VM Const[%" PRId64 "]: ", i);
    if (value) tn_buf_printf(&out, "%s ", TN_DT(value->dl.dtype));
    put_shape(&out, value);
    if (name) tn_buf_printf(&out, " \"%s\"", name);
    tn_buf_printf(&out, " on device index %" PRId64 "\n", x->consts[i].device);
    tn_release(value);
  }
  return tn_buf_str(&out);
}

tn_str *tn_vm_text_devices(const tn_vm_exe *x) {
  TN_BUF(out);
  for (int64_t i = 0; i < x->ndevice; ++i) {
    char text[TN_DEVICE_TEXT];
    tn_buf_printf(&out, "VM VirtualDevice[%" PRId64 "]: %s%s%s%s\n", i,
                  tn_device_text(x->devices[i].dev, text), *x->devices[i].scope ? " scope " : "",
                  x->devices[i].scope, i == x->host ? " (host)" : "");
  }
  return tn_buf_str(&out);
}

tn_str *tn_vm_text_primitives(const tn_vm_exe *x) {
  TN_BUF(out);
  for (int64_t i = 0; i < x->nprim; ++i)
    tn_buf_printf(&out, "VM PackedFunc[%" PRId64 "]: %s\n", i, x->prims[i]);
  return tn_buf_str(&out);
}

tn_str *tn_vm_text_stats(const tn_vm_exe *x) {
  TN_BUF(out);
  tn_buf_printf(&out, "Relay VM executable statistics:\n  Constant shapes (# %" PRId64 "): [",
                x->nconst);
  for (int64_t i = 0; i < x->nconst; ++i) {
    const char *name;
    tn_tensor *value = tn_vm_const_now(x, i, &name);
    if (i) tn_buf_puts(&out, ", ");
    put_shape(&out, value);
    tn_release(value);
  }
  tn_buf_printf(&out, "]\n  Globals (#%" PRId64 "): [", x->nfunc);
  for (int64_t i = 0; i < x->nfunc; ++i)
    tn_buf_printf(&out, "%s(\"%s\", %" PRId64 ")", i ? ", " : "", x->funcs[i].name, i);
  tn_buf_printf(&out, "]\n  Primitive ops (#%" PRId64 "): [", x->nprim);
  for (int64_t i = 0; i < x->nprim; ++i) tn_buf_printf(&out, "%s%s", i ? ", " : "", x->prims[i]);
  tn_buf_puts(&out, "]\n");
  return tn_buf_str(&out);
}
