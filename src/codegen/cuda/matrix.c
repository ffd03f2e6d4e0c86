/* Products of small matrices by the threads of a warp together.

   wmma: fragments are arrays of registers whose content only the unit knows;
   T.tvm_load_matrix_sync, T.tvm_mma_sync, ... are instructions on them. What a fragment holds
   follows from its memory, its element type and its shape, which tir.InferFragment wrote around its
   allocation.

   mma: T.ptx_mma and T.ptx_ldmatrix work on ordinary arrays of each thread; how matrices lie in
   them is the program's business. */
#include "codegen/cuda/matrix.h"

#include <stdio.h>
#include <string.h>

#include "object/functions.h"

/* ---- arguments ---- */

int cuda_int_arg(c_gen *g, const tn_Call *e, int64_t i, int64_t *out) {
  TN_CHECK(i < e->args->len && tir_as_int(tn_arr_obj(e->args, i), out), CodegenError, e->span,
           "cuda: %s: %s: argument %lld must be a constant number", g->name,
           tn_cstr(((const tn_Op *)e->op)->name), (long long)i);
  return 0;
}

const char *cuda_text_arg(c_gen *g, const tn_Call *e, int64_t i) {
  const tn_StringImm *s = i < e->args->len ? TN_AS(StringImm, tn_arr_obj(e->args, i)) : NULL;
  TN_CHECKP(s, CodegenError, e->span, "cuda: %s: %s: argument %lld must be a text", g->name,
            tn_cstr(((const tn_Op *)e->op)->name), (long long)i);
  return tn_cstr(s->value);
}

/* "%3, %4, %5" */
static void put_operands(tn_buf *b, int first, int n) {
  for (int i = 0; i < n; ++i) tn_buf_printf(b, "%s%%%d", i ? ", " : "", first + i);
}

static tn_str *done_with(tn_buf *b, c_gen *g) {
  const char *text = tn_buf_cstr(b);
  if (!text) return NULL;
  c_line(g);
  tn_buf_printf(g->out, "%s;\n", text);
  return tn_str_from("");
}

/* ---- wmma ---- */

typedef struct {
  char role;        /* 'a', 'b', or 'c' of an accumulator */
  const char *type; /* of PTX */
  char constraint;  /* of a register in assembly */
  const char *reg;  /* C type of one */
  int n;            /* registers of a thread */
  int64_t m, rows, k;
  int64_t elements;
  const char *layout; /* "row" or "col" */
} fragment;

static char role_of(const tn_Var *v) {
  const char *scope = c_scope_of(v);
  return strcmp(scope, "wmma.matrix_a") == 0   ? 'a'
         : strcmp(scope, "wmma.matrix_b") == 0 ? 'b'
                                               : 'c';
}

/* What an element of this type is called, and the register that holds some or one. */
static int set_type(fragment *f, tn_dtype t) {
  static const struct {
    uint8_t code, bits;
    const char *type, *reg;
    char constraint;
  } rows[] = {{kDLFloat, 16, "f16", "unsigned int", 'r'},
              {kDLBfloat, 16, "bf16", "unsigned int", 'r'},
              {kDLFloat, 64, "f64", "double", 'd'},
              {kDLInt, 8, "s8", "unsigned int", 'r'},
              {kDLUInt, 8, "u8", "unsigned int", 'r'},
              {kDLInt, 4, "s4", "unsigned int", 'r'},
              {kDLUInt, 4, "u4", "unsigned int", 'r'},
              {kDLInt, 1, "b1", "unsigned int", 'r'},
              {kDLInt, 32, "s32", "int", 'r'}};
  bool single = t.code == kDLFloat && t.bits == 32, sum = f->role == 'c';
  if (single) f->type = sum ? "f32" : "tf32", f->reg = sum ? "float" : "unsigned int";
  if (single) f->constraint = sum ? 'f' : 'r';
  for (int i = 0; i < TN_COUNT(rows) && !single; ++i)
    if (rows[i].code == t.code && rows[i].bits == t.bits)
      f->type = rows[i].type, f->reg = rows[i].reg, f->constraint = rows[i].constraint;
  if (!f->type) return -1;
  int bits = f->constraint == 'd' ? 64 : 32;
  f->n = (int)(f->elements * t.bits / 32 / bits);
  if (t.code == kDLFloat && t.bits == 16 && !sum) f->n = 8; /* some elements are held twice */
  return f->n > 0 && f->n <= 8 ? 0 : -1;
}

static const tn_StringImm *attribute(const c_gen *g, const tn_Var *v, const char *key) {
  for (int64_t i = g->fragments.len; i-- > 0;) {
    const tn_AttrStmt *s = (const tn_AttrStmt *)g->fragments.items[i].v.obj;
    if (s->node == (const tn_obj *)v && tn_str_eq(s->attr_key, key))
      return TN_AS(StringImm, s->value);
  }
  return NULL;
}

static int describe(c_gen *g, const tn_obj *pointer, fragment *out) {
  const tn_Var *v = TN_AS(Var, pointer);
  const tn_PointerType *p = v ? TN_AS(PointerType, v->type_annotation) : NULL;
  const tn_PrimType *t = p ? TN_AS(PrimType, p->element_type) : NULL;
  TN_CHECK(t, CodegenError, NULL, "cuda: %s: expected a fragment, got %s", g->name,
           pointer ? tn_obj_key(pointer) : "None");
  const tn_StringImm *shape = attribute(g, v, "fragment_shape"),
                     *layout = attribute(g, v, "fragment_layout");
  long long m, n, k;
  TN_CHECK(shape && sscanf(tn_cstr(shape->value), "%lld, %lld, %lld", &m, &n, &k) == 3 && m > 0 &&
               n > 0 && k > 0 && m <= 256 && n <= 256 && k <= 256,
           CodegenError, v->span,
           "cuda: %s: the shape of fragment %s is not known: tir.InferFragment finds it out",
           g->name, tn_cstr(v->name));
  *out = (fragment){.role = role_of(v), .m = m, .rows = n, .k = k, .layout = "row"};
  out->elements = out->role == 'a' ? m * k : out->role == 'b' ? k * n : m * n;
  if (layout && tn_str_eq(layout->value, "col_major")) out->layout = "col";
  TN_CHECK(set_type(out, t->dtype) == 0, CodegenError, v->span,
           "cuda: %s: matrix units have no fragments of %s in %s of shape %lld, %lld, %lld",
           g->name, TN_DT(t->dtype), c_scope_of(v), m, n, k);
  return 0;
}

int cuda_fragment(c_gen *g, const tn_Allocate *s) {
  fragment f;
  tn_str *name;
  int64_t n = c_allocation_size(g, s);
  if (n < 0 || describe(g, (const tn_obj *)s->buffer_var, &f)) return -1;
  TN_CHECK(n % f.elements == 0, CodegenError, s->span,
           "cuda: %s: %s has %lld elements, fragments of its shape have %lld", g->name,
           tn_cstr(s->buffer_var->name), (long long)n, (long long)f.elements);
  TN_GET(name, c_name(g, s->buffer_var));
  c_line(g);
  tn_buf_printf(g->out, "%s %s[%lld][%d];\n", f.reg, tn_cstr(name), (long long)(n / f.elements),
                f.n);
  return c_stmt(g, s->body);
}

/* Registers of a fragment as operands: "r"(F[0][0]), "r"(F[0][1]) */
static void put_registers(tn_buf *b, const fragment *f, const tn_str *name, const tn_str *index,
                          const char *access) {
  for (int i = 0; i < f->n; ++i)
    tn_buf_printf(b, "%s\"%s%c\"(%s[%s][%d])", i ? ", " : "", access, f->constraint, tn_cstr(name),
                  tn_cstr(index), i);
}

static void put_shape(tn_buf *b, const fragment *f) {
  tn_buf_printf(b, "m%lldn%lldk%lld", (long long)f->m, (long long)f->rows, (long long)f->k);
}

/* (fragment, m, n, k, index, pointer, stride, layout) */
static tn_str *load_or_store(c_gen *g, const tn_Call *e, bool store) {
  fragment f;
  tn_str *name, *index, *ptr, *stride;
  const char *layout;
  TN_BUF(b);
  TN_TRYP(describe(g, tn_arr_obj(e->args, 0), &f));
  TN_GETP(name, c_call_arg(g, e, 0, 0));
  TN_GETP(index, c_call_arg(g, e, 4, 0));
  TN_GETP(ptr, c_call_arg(g, e, 5, 0));
  TN_GETP(stride, c_call_arg(g, e, 6, 0));
  TN_GETP(layout, cuda_text_arg(g, e, 7));
  const char *order = strcmp(layout, "col_major") == 0 ? "col" : "row";
  int first = store ? 1 : 0;
  tn_buf_printf(&b, "asm volatile(\"wmma.%s.%c.sync.aligned.%s.", store ? "store" : "load",
                store ? 'd' : f.role, order);
  put_shape(&b, &f);
  tn_buf_printf(&b, ".%s %s{", f.type, store ? "[%0], " : "");
  put_operands(&b, first, f.n);
  if (store) tn_buf_printf(&b, "}, %%%d;\" :: \"l\"(%s), ", f.n + 1, tn_cstr(ptr));
  else tn_buf_printf(&b, "}, [%%%d], %%%d;\" : ", f.n, f.n + 1);
  put_registers(&b, &f, name, index, store ? "" : "=");
  if (store) tn_buf_printf(&b, ", \"r\"((int)(%s)) : \"memory\")", tn_cstr(stride));
  else
    tn_buf_printf(&b, " : \"l\"(%s), \"r\"((int)(%s)) : \"memory\")", tn_cstr(ptr),
                  tn_cstr(stride));
  return done_with(&b, g);
}

/* (fragment, m, n, k, index, value) */
static tn_str *fill(c_gen *g, const tn_Call *e) {
  fragment f;
  tn_str *name, *index, *value;
  TN_BUF(b);
  TN_TRYP(describe(g, tn_arr_obj(e->args, 0), &f));
  TN_GETP(name, c_call_arg(g, e, 0, 0));
  TN_GETP(index, c_call_arg(g, e, 4, 0));
  TN_GETP(value, c_call_arg(g, e, 5, 0));
  tn_buf_printf(&b, "for (int i_ = 0; i_ < %d; ++i_) %s[%s][i_] = ", f.n, tn_cstr(name),
                tn_cstr(index));
  if (strcmp(f.type, "f16") == 0) {
    g->needs |= C_NEEDS_F16;
    tn_buf_printf(&b, "f16_store_(%s) * 0x10001u", tn_cstr(value));
  } else if (f.constraint != 'r' || strcmp(f.type, "s32") == 0) {
    tn_buf_printf(&b, "(%s)(%s)", f.reg, tn_cstr(value));
  } else {
    TN_CHECKP(tir_is_const(tn_arr_obj(e->args, 5), 0), CodegenError, e->span,
              "cuda: %s: fragments of %s can be filled with zero only", g->name, f.type);
    tn_buf_puts(&b, "0");
  }
  return done_with(&b, g);
}

/* (d, index, a, index, b, index, c, index) */
static tn_str *product(c_gen *g, const tn_Call *e, bool bits) {
  fragment f[4];
  tn_str *name[4], *index[4];
  TN_BUF(b);
  for (int i = 0; i < 4; ++i) {
    TN_TRYP(describe(g, tn_arr_obj(e->args, 2 * i), &f[i]));
    TN_GETP(name[i], c_call_arg(g, e, 2 * i, 0));
    TN_GETP(index[i], c_call_arg(g, e, 2 * i + 1, 0));
  }
  TN_CHECKP(f[0].role == 'c' && f[1].role == 'a' && f[2].role == 'b' && f[3].role == 'c',
            CodegenError, e->span,
            "cuda: %s: a product takes an accumulator, matrix_a, matrix_b and an accumulator",
            g->name);
  tn_buf_printf(&b, "asm volatile(\"wmma.mma.%ssync.aligned.%s.%s.", bits ? "xor.popc." : "",
                f[1].layout, f[2].layout);
  put_shape(&b, &f[0]);
  /* of float16 the types of the operands are not named */
  if (strcmp(f[1].type, "f16") == 0) tn_buf_printf(&b, ".%s.%s ", f[0].type, f[3].type);
  else tn_buf_printf(&b, ".%s.%s.%s.%s ", f[0].type, f[1].type, f[2].type, f[3].type);
  int at = 0;
  for (int i = 0; i < 4; at += f[i++].n) {
    tn_buf_puts(&b, i ? ", {" : "{");
    put_operands(&b, at, f[i].n);
    tn_buf_puts(&b, "}");
  }
  tn_buf_puts(&b, ";\" : ");
  for (int i = 0; i < 4; ++i) {
    if (i) tn_buf_puts(&b, i == 1 ? " : " : ", ");
    put_registers(&b, &f[i], name[i], index[i], i ? "" : "=");
  }
  tn_buf_puts(&b, ")");
  return done_with(&b, g);
}

/* ---- mma ---- */

/* A matrix in an array of each thread: what PTX calls its elements, and its registers. */
typedef struct {
  const char *type, *reg;
  char constraint;
  int n, bits;
  tn_str *place;
} operand;

static int set_operand(operand *x, const char *name, int64_t elements) {
  static const struct {
    const char *name, *type, *reg;
    char constraint;
    uint8_t bits;
  } rows[] = {
      {"fp16", "f16", "unsigned int", 'r', 16},  {"float16", "f16", "unsigned int", 'r', 16},
      {"bf16", "bf16", "unsigned int", 'r', 16}, {"tf32", "tf32", "unsigned int", 'r', 32},
      {"fp32", "f32", "float", 'f', 32},         {"float32", "f32", "float", 'f', 32},
      {"fp64", "f64", "double", 'd', 64},        {"float64", "f64", "double", 'd', 64},
      {"int32", "s32", "int", 'r', 32},          {"int8", "s8", "unsigned int", 'r', 8},
      {"uint8", "u8", "unsigned int", 'r', 8},   {"int4", "s4", "unsigned int", 'r', 4},
      {"uint4", "u4", "unsigned int", 'r', 4},   {"int1", "b1", "unsigned int", 'r', 1},
      {"e4m3", "e4m3", "unsigned int", 'r', 8},  {"e5m2", "e5m2", "unsigned int", 'r', 8}};
  for (int i = 0; i < TN_COUNT(rows); ++i) {
    if (strcmp(rows[i].name, name) != 0) continue;
    *x = (operand){rows[i].type, rows[i].reg, rows[i].constraint, 0, rows[i].bits, x->place};
    x->n = (int)(elements * x->bits / 32 / (x->bits == 64 ? 64 : 32));
    return 0;
  }
  return -1;
}

/* "m16n8k16" */
static int parse_shape(const char *text, int64_t *m, int64_t *n, int64_t *k) {
  long long x[3];
  int used = 0;
  if (sscanf(text, "m%lldn%lldk%lld%n", &x[0], &x[1], &x[2], &used) != 3 || text[used]) return -1;
  for (int i = 0; i < 3; ++i)
    if (x[i] <= 0 || x[i] > 256) return -1;
  *m = x[0], *n = x[1], *k = x[2];
  return 0;
}

static void put_operand(tn_buf *b, const operand *x, const char *access) {
  for (int i = 0; i < x->n; ++i)
    tn_buf_printf(b, "%s\"%s%c\"(((%s*)(%s))[%d])", i ? ", " : "", access, x->constraint, x->reg,
                  tn_cstr(x->place), i);
}

/* The place that a pointer and an offset in its elements give. */
static tn_str *place_arg(c_gen *g, const tn_Call *e, int64_t i) {
  tn_str *ptr, *at;
  TN_GETP(ptr, c_call_arg(g, e, i, 0));
  TN_GETP(at, c_call_arg(g, e, i + 1, 0));
  return tn_str_fmt("%s + %s", tn_cstr(ptr), tn_cstr(at));
}

/* The operands in the order of the arguments: a, b, c. */
static int read_operands(c_gen *g, const tn_Call *e, bool sparse, operand *x) {
  const char *shape, *type;
  int64_t m, n, k;
  TN_GET(shape, cuda_text_arg(g, e, 0));
  TN_CHECK(parse_shape(shape, &m, &n, &k) == 0, CodegenError, e->span,
           "cuda: %s: \"%.40s\" is not a shape of a product: expected one such as m16n8k16",
           g->name, shape);
  const int64_t elements[] = {m * k / (sparse ? 2 : 1), k * n, m * n};
  for (int i = 0; i < 3; ++i) {
    TN_GET(type, cuda_text_arg(g, e, 3 + i));
    TN_GET(x[i].place, place_arg(g, e, 6 + 2 * i));
    TN_CHECK(set_operand(&x[i], type, elements[i]) == 0, CodegenError, e->span,
             "cuda: %s: matrix units have no type \"%.40s\"", g->name, type);
  }
  if (m == 8 && n == 8 && k == 4 && x[0].bits == 16) { /* four products at a time */
    x[0].n = x[1].n = 2;
    x[2].n = x[2].bits == 16 ? 4 : 8;
  }
  for (int i = 0; i < 3; ++i)
    TN_CHECK(x[i].n > 0, CodegenError, e->span, "cuda: %s: no product of shape %s with these types",
             g->name, shape);
  return 0;
}

/* (shape, layout of a, of b, types of a, b, c, a, index, b, index, c, index, ...) */
static tn_str *mma(c_gen *g, const tn_Call *e, bool sparse) {
  operand x[3] = {{0}};
  const char *la, *lb, *bit_op = "";
  int64_t saturate, selector = 0;
  tn_str *meta = NULL;
  TN_BUF(b);
  TN_TRYP(read_operands(g, e, sparse, x));
  TN_GETP(la, cuda_text_arg(g, e, 1));
  TN_GETP(lb, cuda_text_arg(g, e, 2));
  if (sparse) TN_GETP(meta, place_arg(g, e, 12));
  if (sparse) TN_TRYP(cuda_int_arg(g, e, 14, &selector));
  TN_TRYP(cuda_int_arg(g, e, sparse ? 15 : 12, &saturate));
  if (!sparse && e->args->len > 13) TN_GETP(bit_op, cuda_text_arg(g, e, 13));
  tn_buf_printf(&b, "asm volatile(\"mma%s.sync.aligned.%s.%s.%s%s.%s.%s.%s.%s%s%s%s {",
                sparse ? ".sp" : "", cuda_text_arg(g, e, 0), la, lb, saturate ? ".satfinite" : "",
                x[2].type, x[0].type, x[1].type, x[2].type, *bit_op ? "." : "", bit_op,
                *bit_op ? ".popc" : "");
  int a = x[2].n, second = a + x[0].n, end = second + x[1].n;
  put_operands(&b, 0, x[2].n); /* the sum is read and written in place */
  tn_buf_puts(&b, "}, {");
  put_operands(&b, a, x[0].n);
  tn_buf_puts(&b, "}, {");
  put_operands(&b, second, x[1].n);
  tn_buf_puts(&b, "}, {");
  put_operands(&b, 0, x[2].n);
  tn_buf_puts(&b, "}");
  if (sparse) tn_buf_printf(&b, ", %%%d, 0x%llx", end, (long long)selector);
  tn_buf_puts(&b, ";\" : ");
  put_operand(&b, &x[2], "+");
  tn_buf_puts(&b, " : ");
  put_operand(&b, &x[0], "");
  tn_buf_puts(&b, ", ");
  put_operand(&b, &x[1], "");
  if (sparse) tn_buf_printf(&b, ", \"r\"(*(unsigned int*)(%s))", tn_cstr(meta));
  tn_buf_puts(&b, ")");
  return done_with(&b, g);
}

/* (transposed, number of matrices, type, local pointer, offset, shared pointer, offset) */
static tn_str *load_matrices(c_gen *g, const tn_Call *e) {
  int64_t transposed, n;
  const char *type;
  tn_str *to, *from;
  TN_BUF(b);
  TN_TRYP(cuda_int_arg(g, e, 0, &transposed));
  TN_TRYP(cuda_int_arg(g, e, 1, &n));
  TN_GETP(type, cuda_text_arg(g, e, 2));
  TN_CHECKP((n == 1 || n == 2 || n == 4) && strcmp(type, ".b16") == 0, CodegenError, e->span,
            "cuda: %s: ptx_ldmatrix loads 1, 2 or 4 matrices of \".b16\", not %lld of \"%.20s\"",
            g->name, (long long)n, type);
  TN_GETP(to, place_arg(g, e, 3));
  TN_GETP(from, place_arg(g, e, 5));
  tn_buf_printf(&b, "asm volatile(\"ldmatrix.sync.aligned.m8n8.x%lld%s.shared.b16 {", (long long)n,
                transposed ? ".trans" : "");
  put_operands(&b, 0, (int)n);
  tn_buf_printf(&b, "}, [%%%lld];\" : ", (long long)n);
  operand x = {.reg = "unsigned int", .constraint = 'r', .n = (int)n, .place = to};
  put_operand(&b, &x, "=");
  tn_buf_printf(&b, " : \"r\"((unsigned int)__cvta_generic_to_shared(%s)) : \"memory\")",
                tn_cstr(from));
  return done_with(&b, g);
}

/* (m, n, pointer, local pointer, offset, stride): 8 numbers of each of 32 threads; which element of
   the matrix is whose is that of two results of m16n8 side by side */
static tn_str *store_sum(c_gen *g, const tn_Call *e) {
  int64_t m, n;
  tn_str *to, *from, *stride;
  TN_BUF(b);
  TN_TRYP(cuda_int_arg(g, e, 0, &m));
  TN_TRYP(cuda_int_arg(g, e, 1, &n));
  TN_CHECKP(m == 16 && n == 16, CodegenError, e->span,
            "cuda: %s: mma_store stores 16 by 16 elements, not %lld by %lld", g->name, (long long)m,
            (long long)n);
  TN_GETP(to, c_call_arg(g, e, 2, 0));
  TN_GETP(from, place_arg(g, e, 3));
  TN_GETP(stride, c_call_arg(g, e, 5, 0));
  tn_buf_printf(
      &b,
      "for (int i_ = 0; i_ < 8; ++i_) (%s)[(i_ / 2 %% 2 * 8 + (int)threadIdx.x / 4) * (%s) "
      "+ i_ / 4 * 8 + (int)threadIdx.x %% 4 * 2 + i_ %% 2] = (%s)[i_]",
      tn_cstr(to), tn_cstr(stride), tn_cstr(from));
  return done_with(&b, g);
}

/* (number of elements, local pointer, offset) */
static tn_str *fill_sum(c_gen *g, const tn_Call *e) {
  tn_str *n, *to;
  TN_BUF(b);
  TN_GETP(n, c_call_arg(g, e, 0, 0));
  TN_GETP(to, place_arg(g, e, 1));
  tn_buf_printf(&b, "for (int i_ = 0; i_ < %s; ++i_) (%s)[i_] = 0", tn_cstr(n), tn_cstr(to));
  return done_with(&b, g);
}

tn_str *cuda_matrix_call(c_gen *g, const tn_Call *e, int op, bool *done) {
  *done = true;
  switch (op) {
  case TIR_OP_tvm_load_matrix_sync: return load_or_store(g, e, false);
  case TIR_OP_tvm_store_matrix_sync: return load_or_store(g, e, true);
  case TIR_OP_tvm_fill_fragment: return fill(g, e);
  case TIR_OP_tvm_mma_sync: return product(g, e, false);
  case TIR_OP_tvm_bmma_sync: return product(g, e, true);
  case TIR_OP_ptx_mma: return mma(g, e, false);
  case TIR_OP_ptx_mma_sp: return mma(g, e, true);
  case TIR_OP_ptx_ldmatrix: return load_matrices(g, e);
  case TIR_OP_mma_store: return store_sum(g, e);
  case TIR_OP_mma_fill: return fill_sum(g, e);
  default: *done = false; return NULL;
  }
}
