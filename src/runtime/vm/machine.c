/* The loop of the virtual machine, and calls. What a machine is made of is in setup.c. */
#include "runtime/vm/machine.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "object/dtype.h"
#include "runtime/tensor/tensor.h"

/* ---- registers ---- */

static inline void set(tn_any *reg, tn_any owned) {
  tn_any old = *reg;
  *reg = owned;
  if (tn_any_is_obj(&old)) tn_release(old.v.obj);
}

static inline tn_any kept(const tn_any *a) {
  if (tn_any_is_obj(a)) tn_retain(a->v.obj);
  return *a;
}

static void release_above(tn_vm_machine *m, int64_t base) {
  for (int64_t i = m->nreg; i > base; --i) {
    if (tn_any_is_obj(&m->regs[i - 1])) tn_release(m->regs[i - 1].v.obj);
  }
  m->nreg = base;
}

/* ---- calls ---- */

enum { MAX_REGS = 1 << 27 }; /* of all frames: 2 GB */

static int reserve(tn_vm_machine *m, int64_t more) {
  TN_CHECK(more <= MAX_REGS - m->nreg, RuntimeError, NULL,
           "virtual machine: calls are nested too deeply: they take %lld registers",
           (long long)m->nreg);
  TN_GROW(m->regs, m->reg_cap, m->nreg + more, return -1);
  return 0;
}

/* A function of which m->regs ends with the arguments begins. */
static int enter(tn_vm_machine *m, const tn_vm_function *f, const int64_t *pc, int64_t dst) {
  TN_CHECK(m->nframe < m->max_depth, RuntimeError, NULL,
           "virtual machine: calls are nested more than %lld deep: is there a recursion without "
           "end? (set_max_depth changes the limit)",
           (long long)m->max_depth);
  int64_t locals = f->nreg - f->nparam;
  TN_TRY(reserve(m, locals));
  TN_GROW(m->frames, m->frame_cap, m->nframe + 1, return -1);
  memset(m->regs + m->nreg, 0, (size_t)locals * sizeof *m->regs);
  m->frames[m->nframe++] = (tn_vm_frame){f, pc, m->nreg - f->nparam, dst, 0};
  m->nreg += locals;
  return 0;
}

/* The arguments at the end of m->regs take the place of the innermost frame. */
static int enter_in_place(tn_vm_machine *m, const tn_vm_function *f) {
  tn_vm_frame old = m->frames[--m->nframe];
  TN_CHECK(old.calls < m->max_calls, RuntimeError, NULL,
           "virtual machine: more than %lld calls without a return: is there a recursion without "
           "end? (set_max_calls changes the limit)",
           (long long)m->max_calls);
  tn_any *from = m->regs + m->nreg - f->nparam, *to = m->regs + old.base;
  for (tn_any *a = to; a < from; ++a) {
    if (tn_any_is_obj(a)) tn_release(a->v.obj);
  }
  memmove(to, from, (size_t)f->nparam * sizeof *to);
  m->nreg = old.base + f->nparam;
  TN_TRY(enter(m, f, old.pc, old.dst));
  m->frames[m->nframe - 1].calls = old.calls + 1;
  return 0;
}

/* Is the result of the call at w, whose next instruction is `next`, that of its function? */
static inline bool is_tail(const int64_t *w, const int64_t *next) {
  return next[0] == TN_VM_RET && next[1] == w[1];
}

static inline int begin_call(tn_vm_machine *m, const tn_vm_function *f, const int64_t *w,
                             const int64_t *next) {
  return is_tail(w, next) ? enter_in_place(m, f) : enter(m, f, next, w[1]);
}

/* invoke: d f n registers */
static int invoke(tn_vm_machine *m, const int64_t *w, const int64_t *next) {
  int64_t n = w[3], base = m->frames[m->nframe - 1].base;
  TN_TRY(reserve(m, n));
  const tn_any *r = m->regs + base;
  for (int64_t i = 0; i < n; ++i) m->regs[m->nreg + i] = kept(&r[w[4 + i]]);
  m->nreg += n;
  return begin_call(m, &m->x->funcs[w[2]], w, next);
}

/* invoke_closure: d closure n registers */
static int invoke_closure(tn_vm_machine *m, const int64_t *w, const int64_t *next) {
  int64_t n = w[3], base = m->frames[m->nframe - 1].base;
  const tn_any *callee = &m->regs[base + w[2]];
  TN_CHECK(callee->type_index == TN_TI_VMClosure, TypeError, NULL,
           "virtual machine: expected a closure, got %s",
           tn_type_key((uint32_t)callee->type_index));
  const tn_VMClosure *c = (const tn_VMClosure *)callee->v.obj;
  TN_CHECK(
      c->func < m->x->nfunc && m->x->funcs[c->func].nparam == c->len + n, TypeError, NULL,
      "virtual machine: a closure of another executable, or with %lld arguments too many or few",
      (long long)n);
  TN_TRY(reserve(m, c->len + n));
  const tn_any *r = m->regs + base;
  for (int64_t i = 0; i < c->len; ++i) m->regs[m->nreg + i] = kept(&c->fields[i]);
  m->nreg += c->len;
  for (int64_t i = 0; i < n; ++i) m->regs[m->nreg + i] = kept(&r[w[4 + i]]);
  m->nreg += n;
  return begin_call(m, &m->x->funcs[c->func], w, next);
}

/* ---- primitives ---- */

static int scalar_argument(DLTensor *dl, tn_any *a) {
  TN_CHECK(a->type_index == TN_VM_SCALAR, TypeError, NULL,
           "virtual machine: a primitive expects tensors, got %s",
           tn_type_key((uint32_t)a->type_index));
  *dl = (DLTensor){
      .data = &a->v, .device = {kDLCPU, 0}, .dtype = {(uint8_t)a->aux, (uint8_t)(a->aux >> 8), 1}};
  return 0;
}

/* A function that is not compiled code may keep its arguments, so they are separate tensors
   memory in the registers. */
static int call_any(tn_vm_machine *m, tn_func *f, const int64_t *regs, int64_t n, tn_any *r) {
  tn_any ret = tn_any_none(), boxed;
  TN_CHECK(f, TypeError, NULL, "virtual machine: a function on values called as a primitive");
  for (int64_t i = 0; i < n; ++i) {
    tn_any *a = &r[regs[i]];
    if (a->type_index == TN_VM_SCALAR) {
      TN_TRY(tn_vm_box(a, &boxed));
      *a = boxed;
    }
    m->args[i] = *a;
  }
  TN_TRY(tn_func_call(f, m->args, (int32_t)n, &ret));
  tn_any_release(&ret);
  return 0;
}

/* invoke_packed: p outputs n registers */
static int invoke_packed(tn_vm_machine *m, const int64_t *w, tn_any *r) {
  const tn_vm_primitive *p = &m->prims[w[1]];
  int64_t n = w[3];
  for (int64_t i = 0; i < n; ++i) {
    tn_any *a = &r[w[4 + i]];
    if (a->type_index == TN_TI_NDArray) {
      m->values[i].v_handle = tn_tensor_dl((tn_tensor *)a->v.obj);
      continue;
    }
    TN_TRY(scalar_argument(&m->dl[i], a));
    m->values[i].v_handle = &m->dl[i];
  }
  if (p->npiece) {
    int done = tn_vm_call_pieces(m, p, n, w[2]);
    if (done) return done < 0 ? -1 : 0;
  }
  return p->code ? tn_legacy_call_values(p->code, m->values, m->codes, (int)n)
                 : call_any(m, p->func, w + 4, n, r);
}

/* ---- data ---- */

/* The values of registers as others may see them, in `out`; those made here are in `made`. */
static int box_all(tn_vm_machine *m, const int64_t *regs, int64_t n, const tn_any *r) {
  int64_t i = 0;
  TN_TRY(reserve(m, n));
  for (; i < n && tn_vm_box(&r[regs[i]], &m->regs[m->nreg]) == 0; ++i) ++m->nreg;
  if (i == n) return 0;
  release_above(m, m->nreg - i);
  return -1;
}

/* call_values: d p n registers. Numbers stay numbers, which no object holds. */
static int call_values(tn_vm_machine *m, const int64_t *w, int64_t base) {
  const tn_vm_primitive *p = &m->prims[w[2]];
  int64_t n = w[3], first = m->nreg;
  tn_any ret = tn_any_none();
  int err = 0;
  TN_CHECK(p->on_values, TypeError, NULL, "virtual machine: %s is not a function on values",
           m->x->prims[w[2]]);
  TN_TRY(reserve(m, n));
  for (int64_t i = 0; i < n && !err; ++i) {
    const tn_any *a = &m->regs[base + w[4 + i]];
    if (a->type_index == TN_VM_SCALAR) err = tn_vm_box(a, &m->regs[m->nreg]);
    else m->regs[m->nreg] = kept(a);
    m->nreg += !err;
  }
  if (!err) err = tn_vm_call_value(m, p->on_values, m->regs + first, (int32_t)n, &ret);
  release_above(m, first);
  if (err) return -1;
  const tn_dtype t = ret.type_index == TN_BOOL ? TN_BOOL1 : TN_I64;
  if (ret.type_index == TN_INT || ret.type_index == TN_BOOL) {
    ret.aux = (uint32_t)(t.code | t.bits << 8);
    ret.type_index = TN_VM_SCALAR;
  }
  set(&m->regs[base + w[1]], ret);
  return 0;
}

/* alloc_data: d tag n registers */
static int alloc_data(tn_vm_machine *m, const int64_t *w, int64_t base) {
  int64_t n = w[3];
  TN_TRY(reserve(m, n));
  TN_TRY(box_all(m, w + 4, n, m->regs + base));
  tn_tuple *t = tn_tuple_new((uint32_t)w[2], m->regs + m->nreg - n, n);
  release_above(m, m->nreg - n);
  return tn_vm_put(&m->regs[base + w[1]], t);
}

/* alloc_closure: d f n registers */
static int alloc_closure(tn_vm_machine *m, const int64_t *w, int64_t base) {
  int64_t n = w[3];
  tn_VMClosure *c;
  TN_TRY(reserve(m, n));
  TN_GET(c, tn_obj_alloc(&tn_type_VMClosure, tn_array_bytes(sizeof *c, n, sizeof *c->fields)));
  c->func = (uint32_t)w[2];
  c->len = 0;
  if (box_all(m, w + 4, n, m->regs + base)) {
    tn_release(c);
    return -1;
  }
  if (n) memcpy(c->fields, m->regs + m->nreg - n, (size_t)n * sizeof *c->fields);
  c->len = n;
  m->nreg -= n; /* the closure owns them now */
  return tn_vm_put(&m->regs[base + w[1]], c);
}

static const tn_tuple *data_in(const tn_any *a) {
  TN_CHECKP(a->type_index == TN_TI_ADT, TypeError, NULL,
            "virtual machine: expected a value of an algebraic data type, got %s",
            tn_type_key((uint32_t)a->type_index));
  return (const tn_tuple *)a->v.obj;
}

static int get_field(const int64_t *w, tn_any *r) {
  const tn_tuple *t;
  TN_GET(t, data_in(&r[w[2]]));
  TN_CHECK(w[3] < t->len, IndexError, NULL, "virtual machine: field %lld of %lld", (long long)w[3],
           (long long)t->len);
  set(&r[w[1]], kept(&t->fields[w[3]]));
  return 0;
}

static int get_tag(const int64_t *w, tn_any *r) {
  const tn_tuple *t;
  TN_GET(t, data_in(&r[w[2]]));
  set(&r[w[1]], tn_any_int(t->tag));
  return 0;
}

static tn_VMRef *ref_in(const tn_any *a) {
  TN_CHECKP(a->type_index == TN_TI_VMRef, TypeError, NULL,
            "virtual machine: expected a reference, got %s", tn_type_key((uint32_t)a->type_index));
  return (tn_VMRef *)a->v.obj;
}

static int alloc_ref(const int64_t *w, tn_any *r) {
  tn_VMRef *ref;
  TN_GET(ref, tn_obj_alloc(&tn_type_VMRef, sizeof *ref));
  ref->value = tn_any_none();
  if (tn_vm_box(&r[w[2]], &ref->value) == 0) return tn_vm_put(&r[w[1]], ref);
  tn_release(ref);
  return -1;
}

static int read_ref(const int64_t *w, tn_any *r) {
  const tn_VMRef *ref;
  TN_GET(ref, ref_in(&r[w[2]]));
  set(&r[w[1]], kept(&ref->value));
  return 0;
}

static int write_ref(const int64_t *w, const tn_any *r) {
  tn_VMRef *ref;
  tn_any value;
  TN_GET(ref, ref_in(&r[w[1]]));
  TN_TRY(tn_vm_box(&r[w[2]], &value));
  set(&ref->value, value);
  return 0;
}

static int load_const(tn_vm_machine *m, const int64_t *w, tn_any *r) {
  tn_tensor *t = m->consts[w[2]];
  const char *name = "";
  if (!t) tn_release(tn_vm_const_now(m->x, w[2], &name));
  TN_CHECK(t, RuntimeError, NULL,
           "virtual machine: the constant \"%s\" is not there: load_late_bound_consts gives it its "
           "value before a machine is made",
           name ? name : "");
  tn_retain(t);
  set(&r[w[1]], tn_any_obj(t));
  return 0;
}

/* ---- the loop ---- */

/* The result of the innermost function goes to its caller. */
static void leave(tn_vm_machine *m, int64_t reg) {
  tn_vm_frame f = m->frames[--m->nframe];
  tn_any *r = m->regs + f.base, result = r[reg];
  r[reg] = tn_any_none();
  release_above(m, f.base);
  if (m->nframe) set(&m->regs[m->frames[m->nframe - 1].base + f.dst], result);
  else m->result = result;
}

static int choose(const int64_t *w, tn_any *r, const int64_t **pc) {
  int64_t a, b;
  TN_TRY(tn_vm_int(&r[w[1]], &a) || tn_vm_int(&r[w[2]], &b));
  *pc = w + (a == b ? w[3] : w[4]);
  return 0;
}

/* @param w count and registers of the arguments */
static int misfit(const tn_vm_machine *m, int64_t primitive, const int64_t *w, tn_any *r) {
  TN_BUF(shapes);
  for (int64_t i = 0, ndim; i < w[0]; ++i) {
    const int64_t *shape = NULL;
    TN_TRY(tn_vm_shape_in(&r[w[1 + i]], &shape, &ndim));
    tn_buf_puts(&shapes, i ? ", " : "");
    tn_buf_shape(&shapes, shape, ndim);
  }
  const char *text = tn_buf_cstr(&shapes);
  return text ? TN_RAISE(ShapeError, NULL,
                         "virtual machine: %s: the arguments do not fit together: %s",
                         m->x->prims[primitive], text)
              : -1;
}

/* check: number p tensors */
static int check_shapes(const tn_vm_machine *m, const int64_t *w, tn_any *r) {
  int64_t fit;
  TN_TRY(tn_vm_int(&r[w[1]], &fit));
  return fit ? 0 : misfit(m, w[2], w + 3, r);
}

/* check_extents: p tensors pairs */
static int check_extents(const tn_vm_machine *m, const int64_t *w, tn_any *r) {
  const int64_t *pairs = w + 4 + w[2], n = w[3 + w[2]];
  for (int64_t i = 0, a, b; i + 1 < n; i += 2) {
    TN_TRY(tn_vm_extent(r, w + 3, pairs[i], &a) || tn_vm_extent(r, w + 3, pairs[i + 1], &b));
    if (a != b) return misfit(m, w[1], w + 2, r);
  }
  return 0;
}

/* Runs the instruction at *pc and moves on. 1: the outermost function has returned. */
static inline int step(tn_vm_machine *m, const int64_t **pc) {
  const int64_t *w = *pc;
  int64_t base = m->frames[m->nframe - 1].base;
  tn_any *r = m->regs + base;
  switch ((tn_vm_opcode)w[0]) {
  case TN_VM_MOVE:
    *pc = w + 3;
    set(&r[w[1]], kept(&r[w[2]]));
    return 0;
  case TN_VM_RET: {
    const int64_t *next = m->frames[m->nframe - 1].pc;
    leave(m, w[1]);
    *pc = next;
    return m->nframe == 0;
  }
  case TN_VM_INVOKE:
    TN_TRY(invoke(m, w, w + 4 + w[3]));
    *pc = m->frames[m->nframe - 1].f->code;
    return 0;
  case TN_VM_INVOKE_CLOSURE:
    TN_TRY(invoke_closure(m, w, w + 4 + w[3]));
    *pc = m->frames[m->nframe - 1].f->code;
    return 0;
  case TN_VM_INVOKE_PACKED: *pc = w + 4 + w[3]; return invoke_packed(m, w, r);
  case TN_VM_ALLOC_TENSOR: *pc = w + 8 + w[7]; return tn_vm_alloc_tensor(m, w, r);
  case TN_VM_ALLOC_TENSOR_REG: *pc = w + 8; return tn_vm_alloc_tensor(m, w, r);
  case TN_VM_ALLOC_ADT: *pc = w + 4 + w[3]; return alloc_data(m, w, base);
  case TN_VM_ALLOC_CLOSURE: *pc = w + 4 + w[3]; return alloc_closure(m, w, base);
  case TN_VM_GET_FIELD: *pc = w + 4; return get_field(w, r);
  case TN_VM_IF: return choose(w, r, pc);
  case TN_VM_LOAD_CONST: *pc = w + 3; return load_const(m, w, r);
  case TN_VM_GOTO: *pc = w + w[1]; return 0;
  case TN_VM_GET_TAG: *pc = w + 3; return get_tag(w, r);
  case TN_VM_LOAD_CONSTI:
    *pc = w + 3;
    set(&r[w[1]], tn_any_int(w[2]));
    return 0;
  case TN_VM_FATAL:
    return TN_RAISE(TenonError, NULL, "virtual machine: no clause of the match fits the value");
  case TN_VM_ALLOC_STORAGE: *pc = w + 8; return tn_vm_alloc_storage(m, w, r);
  case TN_VM_SHAPE_OF: *pc = w + 3; return tn_vm_shape_of(m, w, r);
  case TN_VM_RESHAPE_TENSOR: *pc = w + 4; return tn_vm_reshape(m, w, r);
  case TN_VM_DEVICE_COPY: *pc = w + 5; return tn_vm_device_copy(m, w, r);
  case TN_VM_KILL_REGISTER:
    *pc = w + 2;
    set(&r[w[1]], tn_any_none());
    return 0;
  case TN_VM_ALLOC_REF: *pc = w + 3; return alloc_ref(w, r);
  case TN_VM_READ_REF: *pc = w + 3; return read_ref(w, r);
  case TN_VM_WRITE_REF: *pc = w + 3; return write_ref(w, r);
  case TN_VM_ALLOC_SCALAR:
    *pc = w + 5;
    set(&r[w[1]], (tn_any){.type_index = TN_VM_SCALAR, .aux = (uint32_t)(w[2] | w[3] << 8)});
    return 0;
  case TN_VM_MAKE_SHAPE: *pc = w + 4 + w[2] + w[3 + w[2]]; return tn_vm_make_shape(m, w, r);
  case TN_VM_CHECK: *pc = w + 4 + w[3]; return check_shapes(m, w, r);
  case TN_VM_CHECK_EXTENTS: *pc = w + 4 + w[2] + w[3 + w[2]]; return check_extents(m, w, r);
  case TN_VM_CALL_VALUES: *pc = w + 4 + w[3]; return call_values(m, w, base);
  case TN_VM_NOPCODE: break;
  }
  return TN_RAISE(InternalError, NULL, "virtual machine: instruction %lld", (long long)w[0]);
}

static int observed_step(tn_vm_machine *m, const int64_t **pc) {
  const int64_t *w = *pc;
  bool seen = w[0] == TN_VM_INVOKE_PACKED || w[0] == TN_VM_ALLOC_STORAGE ||
              w[0] == TN_VM_ALLOC_TENSOR || w[0] == TN_VM_ALLOC_TENSOR_REG ||
              w[0] == TN_VM_DEVICE_COPY;
  if (!seen) return step(m, pc);
  TN_TRY(m->observe(m->observer, m, w, true));
  TN_TRY(step(m, pc));
  return m->observe(m->observer, m, w, false);
}

static void add_place(const tn_vm_machine *m, const int64_t *w) {
  const tn_vm_function *f = m->nframe ? m->frames[m->nframe - 1].f : NULL;
  if (!f || w < f->code || w >= f->code + f->ncode) return;
  int64_t i = 0;
  for (const int64_t *at = f->code; at < w; ++i) at += tn_vm_length(at, f->ncode);
  const char *primitive = w[0] == TN_VM_INVOKE_PACKED ? m->x->prims[w[1]]
                          : w[0] == TN_VM_CALL_VALUES ? m->x->prims[w[2]]
                                                      : "";
  tn_error_note("in function %s of the virtual machine, instruction %lld: %s %s", f->name,
                (long long)i, tn_vm_opcode_text(w[0]), primitive);
}

static int loop(tn_vm_machine *m) {
  const int64_t *pc = m->frames[0].f->code, *w;
  int stop;
  if (m->observe) {
    do stop = observed_step(m, (w = pc, &pc));
    while (!stop);
  } else {
    do stop = step(m, (w = pc, &pc));
    while (!stop);
  }
  if (stop > 0) return 0;
  add_place(m, w);
  return -1;
}

/* ---- from outside ---- */

static int push_arguments(tn_vm_machine *m, const tn_vm_function *f, const tn_any *args) {
  TN_TRY(reserve(m, f->nparam));
  for (int32_t i = 0; i < f->nparam; ++i) {
    TN_TRY(tn_vm_argument(m, f, i, &args[i], &m->regs[m->nreg]));
    ++m->nreg;
  }
  return 0;
}

static int run(tn_vm_machine *m, const tn_vm_function *f, const tn_any *args, tn_any *ret) {
  TN_TRY(push_arguments(m, f, args));
  TN_TRY(enter(m, f, NULL, 0));
  TN_TRY(loop(m));
  tn_any result = m->result;
  m->result = tn_any_none();
  int err = tn_vm_box(&result, ret);
  if (tn_any_is_obj(&result)) tn_release(result.v.obj);
  if (!err && (err = tn_unshare(ret))) tn_any_release(ret); /* of constants and arguments */
  return err;
}

int tn_vm_run(tn_vm_machine *m, int64_t func, const tn_any *args, int32_t n, tn_any *ret) {
  const tn_vm_function *f = &m->x->funcs[func];
  TN_CHECK(n == f->nparam, ValueError, NULL, "%s(): expected %d arguments, got %d", f->name,
           f->nparam, n);
  int err = run(m, f, args, ret);
  if (err) {
    release_above(m, 0);
    m->nframe = 0;
  }
  return err;
}
