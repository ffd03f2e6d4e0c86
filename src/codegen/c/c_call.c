/* Calls of intrinsics as C. */
#include <string.h>

#include "codegen/c/gen.h"

static const tn_expr *arg(const tn_Call *call, int64_t i) {
  return (const tn_expr *)tn_arr_obj(call->args, i);
}

static int need(c_gen *g, const tn_Call *call, int64_t n) {
  TN_CHECK(call->args->len >= n, CodegenError, call->span,
           "%s: %s: %s: expected at least %lld arguments, got %lld", g->d->name, g->name,
           tn_obj_key(call->op), (long long)n, (long long)call->args->len);
  return 0;
}

tn_str *c_call_arg(c_gen *g, const tn_Call *call, int64_t i, int lane) {
  TN_TRYP(need(g, call, i + 1));
  return c_expr(g, arg(call, i), lane);
}

/* ---- functions by name ---- */

tn_str *c_call_named(c_gen *g, const tn_Call *call, const char *name, int64_t first, int lane) {
  TN_BUF(b);
  tn_buf_printf(&b, "%s(", name);
  for (int64_t i = first; i < call->args->len; ++i) {
    tn_str *s;
    TN_GETP(s, c_expr(g, arg(call, i), lane));
    tn_buf_printf(&b, "%s%s", i > first ? ", " : "", tn_cstr(s));
  }
  tn_buf_putc(&b, ')');
  return tn_scope_own(tn_buf_str(&b));
}

/* Functions of <math.h>; float's have an f behind the name. */
static const char *const math[TIR_OP_END] = {
    [TIR_OP_exp] = "exp",           [TIR_OP_exp2] = "exp2",
    [TIR_OP_log] = "log",           [TIR_OP_log2] = "log2",
    [TIR_OP_log10] = "log10",       [TIR_OP_log1p] = "log1p",
    [TIR_OP_sqrt] = "sqrt",         [TIR_OP_sin] = "sin",
    [TIR_OP_cos] = "cos",           [TIR_OP_tan] = "tan",
    [TIR_OP_sinh] = "sinh",         [TIR_OP_cosh] = "cosh",
    [TIR_OP_tanh] = "tanh",         [TIR_OP_asin] = "asin",
    [TIR_OP_acos] = "acos",         [TIR_OP_atan] = "atan",
    [TIR_OP_asinh] = "asinh",       [TIR_OP_acosh] = "acosh",
    [TIR_OP_atanh] = "atanh",       [TIR_OP_erf] = "erf",
    [TIR_OP_floor] = "floor",       [TIR_OP_ceil] = "ceil",
    [TIR_OP_trunc] = "trunc",       [TIR_OP_round] = "round",
    [TIR_OP_fabs] = "fabs",         [TIR_OP_pow] = "pow",
    [TIR_OP_fma] = "fma",           [TIR_OP_fmod] = "fmod",
    [TIR_OP_atan2] = "atan2",       [TIR_OP_hypot] = "hypot",
    [TIR_OP_copysign] = "copysign", [TIR_OP_nextafter] = "nextafter",
    [TIR_OP_ldexp] = "ldexp",
};

static tn_str *call_math(c_gen *g, tir_op_id op, const tn_Call *call, int lane) {
  tn_str *name;
  const char *base = op == TIR_OP_nearbyint ? g->d->to_int_nearest : math[op];
  g->needs |= C_NEEDS_MATH;
  TN_GETP(name, tn_str_fmt("%s%s", base, call->dtype.bits <= 32 ? g->d->float_suffix : ""));
  return c_in_type(g, call->dtype, c_call_named(g, call, tn_cstr(name), 0, lane));
}

/* 1 / sqrt(x), 1 / (1 + exp(-x)) */
static tn_str *call_composed(c_gen *g, tir_op_id op, const tn_Call *call, int lane) {
  tn_str *x;
  bool single = call->dtype.bits <= 32;
  const char *one = single ? "1.0f" : "1.0", *f = single ? g->d->float_suffix : "";
  TN_TRYP(need(g, call, 1));
  g->needs |= C_NEEDS_MATH;
  TN_GETP(x, c_expr(g, arg(call, 0), lane));
  x = op == TIR_OP_rsqrt ? tn_str_fmt("(%s / sqrt%s(%s))", one, f, tn_cstr(x))
      : op == TIR_OP_exp10
          ? tn_str_fmt("pow%s(10.0%s, %s)", f, single ? "f" : "", tn_cstr(x))
          : tn_str_fmt(*tn_cstr(x) == '-' ? "(%s / (%s + exp%s(-(%s))))" /* not -- */
                                          : "(%s / (%s + exp%s(-%s)))",
                       one, one, f, tn_cstr(x));
  return c_in_type(g, call->dtype, x);
}

static tn_str *call_extern(c_gen *g, const tn_Call *call, int lane) {
  TN_TRYP(need(g, call, 1));
  const tn_StringImm *name = TN_AS(StringImm, arg(call, 0));
  TN_CHECKP(name, CodegenError, call->span, "%s: %s: call_extern: expected the name of a function",
            g->d->name, g->name);
  g->needs |= C_NEEDS_MATH; /* it may be one of these */
  TN_TRYP(c_declare_extern(g, call, tn_cstr(name->value)));
  const char *callee = tn_cstr(name->value);
  if (c_in_module(g, callee) && !c_is_math(callee)) TN_GETP(callee, c_identifier(callee));
  return c_call_named(g, call, callee, 1, lane);
}

/* A function without a result says whether it failed. */
static tn_str *call_function(c_gen *g, const tn_Call *call) {
  const tn_GlobalVar *v = (const tn_GlobalVar *)call->op;
  const tn_PrimFunc *callee = TN_AS(PrimFunc, ir_module_lookup(g->ir, v));
  tn_str *s;
  TN_CHECKP(callee, CodegenError, call->span, "%s: %s: %s is not a tensor program of the module",
            g->d->name, g->name, tn_cstr(v->name_hint));
  const char *name;
  TN_GETP(name, c_identifier(c_symbol(v, callee)));
  TN_GETP(s, c_call_named(g, call, name, 0, 0));
  if (call->dtype.code != kDLOpaqueHandle || call->dtype.bits != 0) return s;
  c_line(g);
  tn_buf_printf(g->out, "if (%s != 0) return -1;\n", tn_cstr(s));
  return tn_str_from("");
}

/* ---- bits and choices ---- */

static tn_str *two(c_gen *g, const tn_Call *call, const char *op, int lane) {
  tn_str *a, *b;
  const char *type;
  TN_TRYP(need(g, call, 2));
  TN_GETP(a, c_expr(g, arg(call, 0), lane));
  TN_GETP(b, c_expr(g, arg(call, 1), lane));
  TN_GETP(type, c_type(g, call->dtype));
  return tn_str_fmt("((%s)(%s %s %s))", type, tn_cstr(a), op, tn_cstr(b));
}

/* Only one side is evaluated, with what it needs before it. */
static tn_str *if_then_else(c_gen *g, const tn_Call *call, int lane) {
  tn_str *c, *v;
  const char *type;
  TN_TRYP(need(g, call, 3));
  TN_GETP(c, c_condition(g, arg(call, 0), lane));
  TN_GETP(type, c_type(g, call->dtype));
  int t = ++g->temps;
  c_line(g);
  tn_buf_printf(g->out, "%s t%d_;\n", type, t);
  for (int i = 1; i <= 2; ++i) {
    c_line(g);
    if (i == 1) {
      tn_buf_printf(g->out, "if (%s) {\n", tn_cstr(c));
    } else {
      tn_buf_puts(g->out, "} else {\n");
    }
    ++g->indent;
    ++g->conditional;
    TN_GETP(v, c_expr(g, arg(call, i), lane));
    --g->conditional;
    c_line(g);
    tn_buf_printf(g->out, "t%d_ = %s;\n", t, tn_cstr(v));
    --g->indent;
  }
  c_line(g);
  tn_buf_puts(g->out, "}\n");
  return tn_str_fmt("t%d_", t);
}

static tn_str *large_uint(const tn_Call *call) {
  int64_t low = 0, high = 0;
  tir_as_int((const tn_obj *)arg(call, 0), &low);
  tir_as_int((const tn_obj *)arg(call, 1), &high);
  uint64_t value = (uint64_t)high << 32 | ((uint64_t)low & 0xffffffffu);
  return tn_str_fmt("((uint64_t)%lluULL)", (unsigned long long)value);
}

/* ---- run-time structures ---- */

enum { FIELD_ADDRESS = 0, FIELD_VALUE = 12 };
static const char *const fields[] = {"",
                                     "data",
                                     "shape",
                                     "strides",
                                     "ndim",
                                     "dtype.code",
                                     "dtype.bits",
                                     "dtype.lanes",
                                     "byte_offset",
                                     "device.device_id",
                                     "device.device_type"};

static const char *value_member(tn_dtype t) {
  return ir_is_integral(t) ? "v_int64" : t.code == kDLFloat ? "v_float64" : "v_handle";
}

/* The field of a structure; t is the type of the value that is read or written. */
static tn_str *field(c_gen *g, const tn_Call *call, tn_dtype t) {
  int64_t kind;
  tn_str *p, *i;
  TN_TRYP(need(g, call, 3));
  TN_GETP(p, c_expr(g, arg(call, 0), 0));
  TN_GETP(i, c_expr(g, arg(call, 1), 0));
  TN_CHECKP(tir_as_int((const tn_obj *)arg(call, 2), &kind) &&
                (kind == FIELD_VALUE || (kind >= 0 && kind < TN_COUNT(fields))),
            CodegenError, call->span, "%s: %s: unknown field of a structure", g->d->name, g->name);
  if (kind == FIELD_VALUE)
    return tn_str_fmt("((TVMValue*)%s)[%s].%s", tn_cstr(p), tn_cstr(i), value_member(t));
  if (kind == FIELD_ADDRESS)
    return tn_str_fmt("((void*)((DLTensor*)%s + %s))", tn_cstr(p), tn_cstr(i));
  return tn_str_fmt("((DLTensor*)%s)[%s].%s", tn_cstr(p), tn_cstr(i), fields[kind]);
}

static tn_str *struct_get(c_gen *g, const tn_Call *call) {
  tn_str *s;
  const char *type;
  TN_GETP(s, field(g, call, call->dtype));
  TN_GETP(type, c_type(g, call->dtype));
  return tn_str_fmt("((%s)%s)", type, tn_cstr(s));
}

static tn_str *struct_set(c_gen *g, const tn_Call *call) {
  tn_str *s, *v;
  TN_TRYP(need(g, call, 4));
  int64_t kind = -1;
  tir_as_int((const tn_obj *)arg(call, 2), &kind);
  TN_GETP(s, field(g, call, arg(call, 3)->dtype));
  TN_GETP(v, c_expr(g, arg(call, 3), 0));
  c_line(g);
  bool device = kind == 10, pointer = kind == 2 || kind == 3;
  tn_buf_printf(g->out, "%s = %s%s;\n", tn_cstr(s),
                device    ? "(DLDeviceType)"
                : pointer ? "(int64_t*)"
                          : "",
                tn_cstr(v));
  return tn_str_from("");
}

static tn_str *stack_alloca(c_gen *g, const tn_Call *call) {
  int64_t n;
  TN_TRYP(need(g, call, 2));
  const tn_StringImm *what = TN_AS(StringImm, arg(call, 0));
  TN_CHECKP(what && tir_as_int((const tn_obj *)arg(call, 1), &n), CodegenError, call->span,
            "%s: %s: tvm_stack_alloca: expected a kind and a constant number", g->d->name, g->name);
  const char *kind = tn_cstr(what->value);
  const char *type = strcmp(kind, "shape") == 0       ? "int64_t"
                     : strcmp(kind, "arg_tcode") == 0 ? "int32_t"
                     : strcmp(kind, "array") == 0     ? "DLTensor"
                                                      : "TVMValue";
  int t = ++g->temps;
  c_line(g);
  tn_buf_printf(g->out, "%s t%d_[%lld];\n", type, t, (long long)(n > 0 ? n : 1));
  return tn_str_fmt("((void*)t%d_)", t);
}

/* ---- packed calls ---- */

/* The variable that keeps the function of a name. */
static tn_str *packed_variable(c_gen *g, const char *name) {
  tn_any found;
  tn_str *v, *text;
  if (tn_map_get(g->packed, tn_any_cstr(name), &found)) {
    v = (tn_str *)found.v.obj;
  } else {
    TN_GETP(v, tn_str_fmt("packed%lld_", (long long)tn_map_len(g->packed)));
    TN_TRYP(tn_map_set(g->packed, tn_any_cstr(name), tn_any_obj(v)));
    tn_buf_printf(g->decl, "static void* %s = NULL;\n", tn_cstr(v));
  }
  TN_GETP(text, c_string(name));
  c_line(g);
  tn_buf_printf(g->out,
                "if (%s == NULL && TVMBackendGetFuncFromEnv(__tvm_module_ctx, %s, &%s) != 0) "
                "return -1;\n",
                tn_cstr(v), tn_cstr(text), tn_cstr(v));
  return v;
}

static tn_str *call_packed(c_gen *g, const tn_Call *call, bool by_symbol) {
  tn_str *s[5], *f = NULL;
  const char *type;
  TN_TRYP(need(g, call, 5));
  const tn_StringImm *name = TN_AS(StringImm, arg(call, 0));
  TN_CHECKP(name, CodegenError, call->span, "%s: %s: packed call: expected a name", g->d->name,
            g->name);
  for (int i = 1; i < 5; ++i) TN_GETP(s[i], c_expr(g, arg(call, i), 0));
  if (!by_symbol) TN_GETP(f, packed_variable(g, tn_cstr(name->value)));
  const char *v = tn_cstr(s[1]), *t = tn_cstr(s[2]), *b = tn_cstr(s[3]), *e = tn_cstr(s[4]);
  c_line(g);
  if (f) {
    tn_buf_printf(g->out,
                  "if (TVMFuncCall(%s, (TVMValue*)%s + %s, (int*)%s + %s, %s - %s, (TVMValue*)%s + "
                  "%s, (int*)%s + %s) != 0) return -1;\n",
                  tn_cstr(f), v, b, t, b, e, b, v, e, t, e);
  } else {
    tn_buf_printf(g->out,
                  "if (%s((TVMValue*)%s + %s, (int*)%s + %s, %s - %s, (TVMValue*)%s + %s, "
                  "(int*)%s + %s, NULL) != 0) return -1;\n",
                  tn_cstr(name->value), v, b, t, b, e, b, v, e, t, e);
  }
  if (call->dtype.code == kDLOpaqueHandle && call->dtype.bits == 0) return tn_str_from("");
  TN_GETP(type, c_type(g, call->dtype));
  return tn_str_fmt("((%s)((TVMValue*)%s)[%s].%s)", type, v, e, value_member(call->dtype));
}

/* ---- others ---- */

static tn_str *ret(c_gen *g, const tn_Call *call) {
  tn_str *v;
  TN_TRYP(need(g, call, 1));
  TN_GETP(v, c_expr(g, arg(call, 0), 0));
  c_line(g);
  tn_buf_printf(g->out, "return %s;\n", tn_cstr(v));
  return tn_str_from("");
}

/* The bits of the value as it lies in memory. */
static tn_str *reinterpret(c_gen *g, const tn_Call *call, int lane) {
  tn_str *v;
  const char *to, *from;
  tn_dtype source = arg(call, 0)->dtype;
  TN_TRYP(need(g, call, 1));
  TN_GETP(from, c_memory_type(g, source));
  TN_GETP(to, c_memory_type(g, call->dtype));
  TN_GETP(v, c_expr(g, arg(call, 0), lane));
  if (call->dtype.code == kDLOpaqueHandle || source.code == kDLOpaqueHandle)
    return tn_str_fmt("((%s)%s)", to, tn_cstr(v));
  TN_GETP(v, c_stored(g, source, v));
  if (g->d->reinterpret) return c_loaded(g, call->dtype, g->d->reinterpret(from, to, tn_cstr(v)));
  int t = ++g->temps;
  c_line(g);
  if (g->alone) { /* needs no string.h */
    tn_buf_printf(g->out, "union { %s from; %s to; } t%d_ = {%s};\n", from, to, t, tn_cstr(v));
    return c_loaded(g, call->dtype, tn_str_fmt("t%d_.to", t));
  }
  tn_buf_printf(g->out, "%s s%d_ = %s; %s t%d_; memcpy(&t%d_, &s%d_, sizeof t%d_);\n", from, t,
                tn_cstr(v), to, t, t, t, t);
  return c_loaded(g, call->dtype, tn_str_fmt("t%d_", t));
}

static tn_str *one(c_gen *g, const tn_Call *call, const char *format_before, const char *after,
                   int lane) {
  tn_str *v;
  TN_TRYP(need(g, call, 1));
  TN_GETP(v, c_expr(g, arg(call, 0), lane));
  return tn_str_fmt("%s%s%s", format_before, tn_cstr(v), after);
}

static tn_str *address_of(c_gen *g, const tn_Call *call) {
  tn_str *p;
  TN_TRYP(need(g, call, 1));
  const tn_BufferLoad *load = TN_AS(BufferLoad, arg(call, 0));
  TN_CHECKP(load, CodegenError, call->span, "%s: %s: address_of: expected an element of a buffer",
            g->d->name, g->name);
  if (g->alone && load->indices->len == 1 && tir_is_zero(tn_arr_obj(load->indices, 0))) {
    TN_GETP(p, c_var(g, load->buffer->data, 0));
    return tn_str_fmt("(void*)%s", tn_cstr(p));
  }
  TN_GETP(p, c_element(g, load->buffer, load->indices, 0));
  return tn_str_fmt(g->d->kernels ? "(&%s)" : "((void*)&%s)", tn_cstr(p));
}

static tn_str *nothing(c_gen *g, const char *statement) {
  if (*statement) {
    c_line(g);
    tn_buf_puts(g->out, statement);
  }
  return tn_str_from("");
}

/* One lane of two vectors behind each other, or of a half of one. */
static tn_str *vector_part(c_gen *g, tir_op_id op, const tn_Call *call, int lane) {
  TN_TRYP(need(g, call, op == TIR_OP_vectorcombine ? 2 : 1));
  int n = arg(call, 0)->dtype.lanes;
  if (op != TIR_OP_vectorcombine)
    return c_expr(g, arg(call, 0), op == TIR_OP_vectorhigh ? lane + n / 2 : lane);
  return c_expr(g, arg(call, lane < n ? 0 : 1), lane < n ? lane : lane - n);
}

/* A pointer and how far behind it: in elements of `type`, or bytes for NULL. */
static tn_str *pointer_plus(c_gen *g, const tn_Call *call, const tn_expr *type, int64_t first) {
  tn_str *p, *n;
  const char *of = "char";
  TN_TRYP(need(g, call, first + 2));
  TN_GETP(p, c_expr(g, arg(call, first), 0));
  TN_GETP(n, c_expr(g, arg(call, first + 1), 0));
  if (type) TN_GETP(of, c_memory_type(g, ir_with_lanes(type->dtype, 1)));
  return tn_str_fmt("((void*)((%s*)%s + %s))", of, tn_cstr(p), tn_cstr(n));
}

tn_str *c_call(c_gen *g, const tn_Call *call, int lane) {
  if (call->op->hdr.type_index == TN_TI_GlobalVar) return call_function(g, call);
  tir_op_id op = tir_op_number((const tn_obj *)call->op);
  bool done = false;
  tn_str *own = g->d->call ? g->d->call(g, call, (int)op, lane, &done) : NULL;
  if (own || done) return own;
  if (op == TIR_OP_pow && ir_is_integral(call->dtype)) {
    TN_TRYP(need(g, call, 2));
    return c_int_power(g, call, lane);
  }
  if (op < TIR_OP_END && (math[op] || op == TIR_OP_nearbyint)) return call_math(g, op, call, lane);
  switch ((int)op) {
  case TIR_OP_bitwise_and: return two(g, call, "&", lane);
  case TIR_OP_bitwise_or: return two(g, call, "|", lane);
  case TIR_OP_bitwise_xor: return two(g, call, "^", lane);
  case TIR_OP_shift_left:
  case TIR_OP_shift_right:
    TN_TRYP(need(g, call, 2));
    return c_shift(g, call, op == TIR_OP_shift_left, lane);
  case TIR_OP_bitwise_not: return c_in_type(g, call->dtype, one(g, call, "(~", ")", lane));
  case TIR_OP_likely:
  case TIR_OP_tvm_thread_invariant: return one(g, call, "", "", lane);
  case TIR_OP_isnan: return one(g, call, "(isnan(", ") != 0)", lane);
  case TIR_OP_isinf: return one(g, call, "(isinf(", ") != 0)", lane);
  case TIR_OP_isfinite: return one(g, call, "(isfinite(", ") != 0)", lane);
  case TIR_OP_isnullptr: return one(g, call, "(", " == NULL)", lane);
  case TIR_OP_rsqrt:
  case TIR_OP_sigmoid:
  case TIR_OP_exp10: return call_composed(g, op, call, lane);
  case TIR_OP_if_then_else: return if_then_else(g, call, lane);
  case TIR_OP_large_uint_imm: return large_uint(call);
  case TIR_OP_reinterpret: return reinterpret(g, call, lane);
  case TIR_OP_call_extern:
  case TIR_OP_call_pure_extern: return call_extern(g, call, lane);
  case TIR_OP_tvm_struct_get: return struct_get(g, call);
  case TIR_OP_tvm_struct_set: return struct_set(g, call);
  case TIR_OP_tvm_stack_alloca: return stack_alloca(g, call);
  case TIR_OP_tvm_call_packed_lowered: return call_packed(g, call, false);
  case TIR_OP_tvm_call_cpacked_lowered: return call_packed(g, call, true);
  case TIR_OP_TVMBackendAllocWorkspace:
    return c_call_named(g, call, "TVMBackendAllocWorkspace", 0, 0);
  case TIR_OP_TVMBackendFreeWorkspace:
    return c_call_named(g, call, "TVMBackendFreeWorkspace", 0, 0);
  case TIR_OP_tvm_throw_last_error: return nothing(g, "return -1;\n");
  case TIR_OP_assume:
  case TIR_OP_start_profile_intrinsic:
  case TIR_OP_end_profile_intrinsic:
  case TIR_OP_prefetch: return nothing(g, "");
  case TIR_OP_tvm_storage_sync: return c_kernel_sync(g, call);
  case TIR_OP_popcount:
  case TIR_OP_clz: return c_count_bits(g, call, op == TIR_OP_clz, lane);
  case TIR_OP_vectorhigh:
  case TIR_OP_vectorlow:
  case TIR_OP_vectorcombine: return vector_part(g, op, call, lane);
  case TIR_OP_tvm_access_ptr:
    TN_TRYP(need(g, call, 3));
    return pointer_plus(g, call, arg(call, 0), 1);
  case TIR_OP_handle_add_byte_offset: return pointer_plus(g, call, NULL, 0);
  case TIR_OP_mem_copy: return c_call_named(g, call, "memcpy", 0, 0);
  case TIR_OP_type_annotation:
  case TIR_OP_undef: return tn_str_from("0");
  case TIR_OP_address_of: return address_of(g, call);
  case TIR_OP_ret: return ret(g, call);
  }
  return TN_RAISEP(CodegenError, call->span, "%s: %s: no code for the intrinsic %s: lower it first",
                   g->d->name, g->name,
                   op == TIR_OP_END ? "?" : tn_cstr(((tn_Op *)call->op)->name));
}
