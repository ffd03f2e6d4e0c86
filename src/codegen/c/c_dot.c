/* Sums of products of bytes that lie next to each other:

     for k in 24: s[0] += (int32_t)a[i + k] * (int32_t)b[j + k]
   =>
     s[0] = dot_s8s8_(&a[i], &b[j], 24, s[0])

   and dot_few_s8s8_ for less than four products, which is a loop in place unless size is the aim.

   The function works on two products at once where the compiler has the instructions of
   Arm's DSP extension (SMLAD, as CMSIS-NN uses it), else on one: the sums are the same. */
#include "base/pmap.h"
#include "ir/functor.h"
#include "codegen/c/gen.h"
#include "tenon/object.h"

enum { WORD = 4 }; /* bytes that the function takes at once */

static const tn_BufferLoad *as_byte(const tn_expr *e) {
  const tn_Cast *c = TN_AS(Cast, e);
  const tn_BufferLoad *l = c && tn_dtype_eq(e->dtype, TN_I32) ? TN_AS(BufferLoad, c->value) : NULL;
  tn_dtype t = l ? ((const tn_expr *)l)->dtype : (tn_dtype){0, 0, 0};
  bool byte = l && ir_is_integral(t) && t.bits == 8 && t.lanes == 1 && !ir_is_bool(t);
  return byte && l->indices->len == 1 ? l : NULL;
}

/* Is it the element that is stored? */
static bool is_sum(const tn_expr *e, const tn_BufferStore *s) {
  const tn_BufferLoad *l = TN_AS(BufferLoad, e);
  return l && l->buffer == s->buffer && tn_equal(l->indices, s->indices, 0) == 1;
}

typedef struct {
  const tn_BufferStore *store;
  const tn_BufferLoad *a, *b;
  tn_expr *base_a, *base_b; /* where they begin */
  int64_t n;
} dot;

/* Where the bytes begin; NULL where they do not follow one another (or with an error). */
static tn_expr *base_of(c_gen *g, const tn_BufferLoad *l, tn_Var *k) {
  TN_PMAP(vars);
  tn_expr *index = (tn_expr *)tn_arr_obj(l->indices, 0), *base;
  TN_TRYP(tn_pmap_put(&vars, k, tir_zero(k->dtype)));
  TN_GETP(base, tir_substitute(index, &vars));
  TN_GETP(base, arith_simplify(&g->known, base));
  tn_expr *sum = tir_add(base, (tn_expr *)k);
  return sum && arith_prove_equal(&g->known, index, sum) ? base : NULL;
}

static bool match(const tn_For *s, dot *d) {
  *d = (dot){.store = TN_AS(BufferStore, s->body)};
  const tn_Add *sum = d->store ? TN_AS(Add, d->store->value) : NULL;
  if (!sum || !tn_dtype_eq(d->store->value->dtype, TN_I32) || d->store->indices->len != 1 ||
      !tir_is_zero(s->min) || !tir_as_int((tn_obj *)s->extent, &d->n) || d->n < 2)
    return false;
  bool first = is_sum(sum->a, d->store);
  const tn_Mul *m = TN_AS(Mul, first ? sum->b : sum->a);
  if (!m || (!first && !is_sum(sum->b, d->store)) || c_uses(d->store->indices, s->loop_var))
    return false;
  d->a = as_byte(m->a);
  d->b = as_byte(m->b);
  return d->a && d->b;
}

static bool is_signed(const tn_BufferLoad *l) { return !ir_is_uint(((const tn_expr *)l)->dtype); }

static const char *name_of(c_gen *g, dot *d) {
  if (!is_signed(d->b) && is_signed(d->a)) { /* the signed one comes last */
    dot other = *d;
    d->a = other.b, d->b = other.a, d->base_a = other.base_b, d->base_b = other.base_a;
  }
  bool a = is_signed(d->a), b = is_signed(d->b);
  g->needs |= a ? C_NEEDS_DOT_SS : b ? C_NEEDS_DOT_US : C_NEEDS_DOT_UU;
  if (d->n < WORD) g->needs |= C_NEEDS_DOT_FEW;
  else if (d->n % WORD) g->needs |= C_NEEDS_DOT_TAIL;
  return a ? "s8s8_" : b ? "u8s8_" : "u8u8_";
}

int c_dot_product(c_gen *g, const tn_For *s) {
  dot d;
  tn_str *sum, *a, *b;
  if (g->d->kernels || !match(s, &d)) return 0;
  d.base_a = base_of(g, d.a, s->loop_var);
  d.base_b = d.base_a ? base_of(g, d.b, s->loop_var) : NULL;
  if (!d.base_b) return tn_error_pending() ? -1 : 0;
  const char *types = name_of(g, &d);
  TN_GET(sum, c_element(g, d.store->buffer, d.store->indices, 0));
  TN_GET(a, c_element(g, d.a->buffer, tn_arr_of(1, d.base_a), 0));
  TN_GET(b, c_element(g, d.b->buffer, tn_arr_of(1, d.base_b), 0));
  c_line(g);
  tn_buf_printf(g->out, "%s = dot_%s%s(&%s, &%s, %lld, %s);\n", tn_cstr(sum),
                d.n < WORD ? "few_" : "", types, tn_cstr(a), tn_cstr(b), (long long)d.n,
                tn_cstr(sum));
  return 1;
}

/* ---- the functions ---- */

static const char prelude[] =
    "#if defined(__ARM_FEATURE_SIMD32)\n"
    "#include <arm_acle.h>\n"
    "#include <string.h>\n"
    "static inline uint32_t dot_word_(const void* from) {\n"
    "  uint32_t word;\n"
    "  memcpy(&word, from, sizeof word);\n"
    "  return word;\n"
    "}\n"
    "static inline uint32_t dot_turned_(uint32_t word) { return (word >> 8) | (word << 24); }\n"
    "#endif\n";

/* %1$c, %2$c: s or u, of the types and of the instructions that widen bytes 0 and 2 of a word */
static void write_one(tn_buf *out, char a, char b, bool tail) {
  const char *s = a == 's' ? "int8_t" : "uint8_t", *t = b == 's' ? "int8_t" : "uint8_t";
  const char *x = a == 's' ? "__sxtb16((int8x4_t)" : "(int16x2_t)__uxtb16((uint8x4_t)",
             *y = b == 's' ? "__sxtb16((int8x4_t)" : "(int16x2_t)__uxtb16((uint8x4_t)";
  tn_buf_printf(out,
                "SHARED_ int32_t dot_%c8%c8_(const %s* a, const %s* b, int32_t n, int32_t sum) {\n"
                "#if defined(__ARM_FEATURE_SIMD32)\n"
                "  int32_t k = 0;\n"
                "  for (; k + 4 <= n; k += 4) {\n"
                "    uint32_t x = dot_word_(a + k), y = dot_word_(b + k);\n"
                "    sum = __smlad(%sx), %sy), sum);\n"
                "    x = dot_turned_(x);\n"
                "    y = dot_turned_(y);\n"
                "    sum = __smlad(%sx), %sy), sum);\n"
                "  }\n"
                "%s"
                "  for (; n > 0; --n) sum += (int32_t)*a++ * (int32_t)*b++;\n"
                "%s"
                "  return sum;\n"
                "}\n",
                a, b, s, t, x, y, x, y, tail ? "  a += k, b += k, n -= k;\n#endif\n" : "#else\n",
                tail ? "" : "#endif\n");
}

/* Fewer than a word. */
static void write_few(tn_buf *out, char a, char b) {
  const char *s = a == 's' ? "int8_t" : "uint8_t", *t = b == 's' ? "int8_t" : "uint8_t";
  tn_buf_printf(
      out,
      "#ifndef ONE_COPY_\n"
      "static inline int32_t dot_few_%c8%c8_(const %s* a, const %s* b, int32_t n, int32_t sum) {\n"
      "  for (int32_t k = 0; k < n; ++k) sum += (int32_t)a[k] * (int32_t)b[k];\n"
      "  return sum;\n"
      "}\n"
      "#else\n"
      "#define dot_few_%c8%c8_ dot_%c8%c8_\n"
      "#endif\n",
      a, b, s, t, a, b, a, b);
}

static void write_dots(int needs, char a, char b, tn_buf *out) {
  write_one(out, a, b, needs & C_NEEDS_DOT_TAIL);
  if (needs & C_NEEDS_DOT_FEW) write_few(out, a, b);
}

void c_write_dots(int needs, tn_buf *out) {
  if (!(needs & (C_NEEDS_DOT_SS | C_NEEDS_DOT_US | C_NEEDS_DOT_UU))) return;
  tn_buf_puts(out, prelude);
  if (needs & C_NEEDS_DOT_SS) write_dots(needs, 's', 's', out);
  if (needs & C_NEEDS_DOT_US) write_dots(needs, 'u', 's', out);
  if (needs & C_NEEDS_DOT_UU) write_dots(needs, 'u', 'u', out);
}
