/* Elements of buffers, one by one and as vectors, and allocations. */
#include <string.h>

#include "codegen/c/gen.h"

void c_gen_fini(c_gen *g) {
  tn_pmap_fini(&g->names);
  tn_pmap_fini(&g->stored);
  tn_pmap_fini(&g->data);
  tn_pmap_fini(&g->wide);
  tn_pmap_fini(&g->whole);
  tn_buf_fini(&g->types);
  tn_pmap_fini(&g->vectors);
  tn_vec_fini(&g->fragments);
  arith_fini(&g->known);
}

bool c_put_section(c_gen *g, const tn_AllocateConst *s) {
  const char *section = tir_constant_section(s);
  if (section)
    tn_buf_printf(g->decl,
                  "#if defined(__GNUC__) && defined(__ELF__)\n"
                  "__attribute__((section(\"%s\")))\n#endif\n",
                  section);
  return section != NULL;
}

void c_put_alignment(c_gen *g, const tn_AllocateConst *s) {
  const tn_obj *given = s->annotations ? tn_map_find(s->annotations, "alignment") : NULL;
  int64_t align = 0, element = (s->dtype.bits + 7) / 8;
  if (given && tir_as_int(given, &align) && align > element)
    tn_buf_printf(g->decl, "#if defined(__GNUC__)\n__attribute__((aligned(%lld)))\n#endif\n",
                  (long long)align);
}

/* ---- places ---- */

/* The data pointer as one of the buffer's type. */
static tn_str *pointer(c_gen *g, const tn_Buffer *b, const char *type) {
  tn_str *data;
  TN_GETP(data, c_var(g, b->data, 0));
  const char *declared = tn_pmap_get(&g->stored, b->data);
  if (declared && strcmp(declared, type) == 0) return data;
  const char *space = g->d->space ? g->d->space(c_scope_of(b->data)) : "";
  return tn_str_fmt("((%s%s*)%s)", space, type, tn_cstr(data));
}

static int check_flat(c_gen *g, const tn_Buffer *b, const tn_arr *indices) {
  TN_CHECK(indices->len == 1 && b->dtype.lanes == 1, CodegenError, b->span,
           "%s: %s: buffer %s is not flat: flatten the program first (tir.FlattenBuffer)",
           g->d->name, g->name, tn_cstr(b->name));
  return 0;
}

static int place(c_gen *g, const tn_Buffer *b, const tn_arr *indices, int lane, tn_str **data,
                 tn_str **index) {
  const char *type;
  TN_TRY(check_flat(g, b, indices));
  TN_GET(type, c_memory_type(g, c_is_wide(g, b->data) ? TN_I32 : b->dtype));
  TN_GET(*data, pointer(g, b, type));
  TN_GET(*index, c_expr(g, tn_arr_obj(indices, 0), lane));
  return 0;
}

tn_str *c_element(c_gen *g, const tn_Buffer *b, const tn_arr *indices, int lane) {
  tn_str *data, *index;
  TN_TRYP(place(g, b, indices, lane, &data, &index));
  return tn_str_fmt("%s[%s]", tn_cstr(data), tn_cstr(index));
}

int64_t c_allocation_size(c_gen *g, const tn_Allocate *s) {
  int64_t count = s->dtype.lanes, extent;
  for (int64_t i = 0; i < s->extents->len; ++i) {
    TN_CHECK(tir_as_int(tn_arr_obj(s->extents, i), &extent), CodegenError, s->span,
             "%s: %s: allocation of %s has an extent that is not constant", g->d->name, g->name,
             tn_cstr(s->buffer_var->name));
    TN_CHECK(!__builtin_mul_overflow(count, extent, &count) && count >= 0, CodegenError, s->span,
             "%s: %s: allocation of %s is too large", g->d->name, g->name,
             tn_cstr(s->buffer_var->name));
  }
  return count ? count : 1;
}

/* ---- vectors in memory ---- */

/* First of the neighbouring elements that a vector covers, or NULL when it is none. */
static tn_expr *vector_base(c_gen *g, const tn_Buffer *b, const tn_arr *indices) {
  const tn_Ramp *r = indices->len == 1 ? TN_AS(Ramp, tn_arr_obj(indices, 0)) : NULL;
  if (!r || !g->d->vector || !tir_is_one(r->stride) || !g->d->vector(b->dtype, (int)r->lanes))
    return NULL;
  if (!g->d->vectors_aligned) return r->base;
  arith_modular m = arith_modular_set(&g->known, r->base);
  return m.coeff % r->lanes == 0 && m.base % r->lanes == 0 ? r->base : NULL;
}

tn_str *c_vector_place(c_gen *g, const tn_Buffer *b, const tn_expr *base) {
  tn_str *data, *at;
  const char *type;
  TN_GETP(type, c_memory_type(g, b->dtype));
  TN_GETP(data, pointer(g, b, type));
  TN_GETP(at, c_expr(g, base, 0));
  return tn_str_fmt("%s + %s", tn_cstr(data), tn_cstr(at));
}

/* One lane of a vector, which is read when its first lane is asked for. */
static tn_str *load_lane(c_gen *g, const tn_BufferLoad *e, const tn_expr *base, int lane) {
  tn_str *v = tn_pmap_get(&g->vectors, e), *at;
  if (!v) {
    int lanes = e->dtype.lanes;
    const char *type = g->d->vector(e->buffer->dtype, lanes);
    TN_GETP(at, c_vector_place(g, e->buffer, base));
    TN_GETP(at, g->d->vector_load(g, type, lanes, tn_cstr(at)));
    int t = ++g->temps;
    c_line(g);
    tn_buf_printf(g->out, "%s t%d_ = %s;\n", type, t, tn_cstr(at));
    TN_GETP(v, tn_str_fmt("t%d_", t));
    TN_TRYP(tn_pmap_put(&g->vectors, e, v));
  }
  return tn_str_fmt("%s%s", tn_cstr(v), g->d->lane(lane));
}

tn_str *c_load(c_gen *g, const tn_BufferLoad *e, int lane) {
  tn_str *data, *index;
  TN_TRYP(check_flat(g, e->buffer, e->indices));
  tn_expr *base = g->conditional ? NULL : vector_base(g, e->buffer, e->indices);
  if (base) return load_lane(g, e, base, lane);
  TN_TRYP(place(g, e->buffer, e->indices, lane, &data, &index));
  return c_loaded(g, e->buffer->dtype, tn_str_fmt("%s[%s]", tn_cstr(data), tn_cstr(index)));
}

/* ---- stores ---- */

static int store_vector(c_gen *g, const tn_BufferStore *s, const tn_expr *base,
                        const tn_vec *values) {
  tn_str *at, *text;
  const char *list;
  TN_BUF(b);
  for (int64_t i = 0; i < values->len; ++i)
    tn_buf_printf(&b, "%s%s", i ? ", " : "", tn_cstr((tn_str *)values->items[i].v.obj));
  TN_GET(list, tn_buf_cstr(&b));
  const char *type = g->d->vector(s->buffer->dtype, (int)values->len);
  TN_GET(at, c_vector_place(g, s->buffer, base));
  TN_GET(text, g->d->vector_store(g, type, (int)values->len, tn_cstr(at), list));
  c_line(g);
  tn_buf_printf(g->out, "%s;\n", tn_cstr(text));
  return 0;
}

static int store_element(c_gen *g, const tn_BufferStore *s, int lane, tn_str *value) {
  tn_str *data, *index;
  TN_TRY(place(g, s->buffer, s->indices, lane, &data, &index));
  TN_GET(value, c_stored(g, s->buffer->dtype, value));
  if (c_is_narrow(g, s->buffer->dtype) && !TN_IS(Cast, s->value) && !TN_IS(IntImm, s->value)) {
    const char *type;
    TN_GET(type, c_memory_type(g, s->buffer->dtype));
    TN_GET(value, tn_str_fmt("(%s)%s", type, tn_cstr(value)));
  }
  c_line(g);
  tn_buf_printf(g->out, "%s[%s] = %s;\n", tn_cstr(data), tn_cstr(index), tn_cstr(value));
  return 0;
}

/* All lanes are computed before the first is written. */
int c_store(c_gen *g, const tn_BufferStore *s) {
  int lanes = s->value->dtype.lanes;
  TN_VEC(values);
  tn_str *v;
  TN_TRY(check_flat(g, s->buffer, s->indices));
  if (lanes > 1 && g->vectors_of_gnu) {
    int r = c_store_vector(g, s);
    if (r != 0) return r < 0 ? -1 : 0;
  }
  for (int i = 0; i < lanes; ++i) {
    TN_GET(v, lanes == 1 ? c_expr(g, s->value, 0) : c_lane_temp(g, s->value, i));
    TN_TRY(tn_vec_push_obj(&values, v));
  }
  tn_expr *base = lanes > 1 ? vector_base(g, s->buffer, s->indices) : NULL;
  int err = base ? store_vector(g, s, base, &values) : 0;
  for (int i = 0; !err && !base && i < lanes; ++i)
    err = store_element(g, s, i, (tn_str *)values.items[i].v.obj);
  return err;
}
