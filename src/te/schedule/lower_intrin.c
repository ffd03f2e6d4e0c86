/* Loops that an intrinsic computes: is it the same, and on which pieces of the buffers?

     s[C].tensorize(yi, gemv)          with T.block(""):
                                         aa = T.match_buffer(A[x, k * 16:k * 16 + 16], (16,), ...)
                                         T.call_extern("gemv_update", aa.access_ptr("r"), ...)

   The axes that the inner loops run over are compared with those of the intrinsic, the last ones
   with the last ones; axes it lacks must take one value. The body is the same when it becomes the
   intrinsic's with each axis at the beginning of its range plus the intrinsic's axis, and each read
   counted from the beginning of the region that is read. */
#include "ir/functor.h"
#include "te/schedule/lower_impl.h"
#include "tenon/object.h"

typedef struct {
  te_lowerer *l;
  const tn_TeStage *st;
  const tn_ComputeOp *op, *code; /* of the stage, of the intrinsic */
  const tn_TeTensorIntrin *in;
  arith_analyzer a;
  tn_pmap set;    /* IterVar -> IntervalSet */
  tn_pmap vars;   /* variable of an axis -> begin + axis of the intrinsic */
  tn_map *sets;   /* variable of an axis -> IntervalSet */
  tn_arr *inputs; /* tensors that the stage reads */
  tn_vec regions; /* for each input: array of Range */
  tn_vec results; /* ranges of the axes of the results */
} matcher;

static void matcher_fini(matcher *m) {
  arith_fini(&m->a);
  tn_pmap_fini(&m->set);
  tn_pmap_fini(&m->vars);
  tn_vec_fini(&m->regions);
  tn_vec_fini(&m->results);
}

#define FAIL(m, ...) TN_RAISE(TenonError, NULL, "Tensorize failed: " __VA_ARGS__)

/* ---- axes ---- */

/* Loops outside are fixed, those inside take all their values. */
static int set_loops(matcher *m, int64_t at) {
  const tn_arr *leaves = m->st->leaf_iter_vars;
  for (int64_t i = 0; i < leaves->len; ++i) {
    const tn_IterVar *iv = te_iv(leaves, i);
    const tn_Range *r = te_range(&m->l->b, iv);
    tn_expr *v = (tn_expr *)iv->var;
    const tn_IntervalSet *s = tir_is_one(r->extent) ? arith_interval(r->min, r->min)
                              : i < at              ? arith_interval(v, v)
                                                    : arith_interval_of_range(&m->a, r);
    if (!s || tn_pmap_put(&m->set, iv, s)) return -1;
    TN_TRY(arith_bind_range(&m->a, iv->var, r, true));
  }
  return te_pass_up_domain(m->st, &m->l->b.dom, &m->set, &m->a);
}

/* Axis i of the stage; `with` is the intrinsic's, NULL where it has none. */
static int match_axis(matcher *m, const tn_IterVar *iv, const tn_IterVar *with, tn_vec *ranges) {
  const tn_IntervalSet *s = tn_pmap_get(&m->set, iv);
  const char *op = tn_cstr(m->op->name), *name = tn_cstr(iv->var->name);
  tn_Range *r = s ? arith_interval_range(&m->a, s, iv->dom) : iv->dom;
  const tn_IntervalSet *all = r ? arith_interval_of_range(&m->a, r) : NULL;
  tn_expr *at = r ? r->min : NULL;
  if (!all || tn_map_set(m->sets, tn_any_obj(iv->var), tn_any_obj(all))) return -1;
  if (!with && !arith_prove_equal(&m->a, r->extent, tir_one(r->extent->dtype)))
    return FAIL(m, "%s: axis %s takes several values inside, the intrinsic %s has no axis for it",
                op, name, tn_cstr(m->in->name));
  if (with && !arith_prove_equal(&m->a, r->extent, with->dom->extent))
    return FAIL(m, "%s: axis %s takes another number of values inside than %s of the intrinsic %s",
                op, name, tn_cstr(with->var->name), tn_cstr(m->in->name));
  if (with) {
    TN_TRY(arith_bind_range(&m->a, with->var, with->dom, true));
    TN_GET(at, tir_add(at, tir_cast(at->dtype, (tn_expr *)with->var, NULL)));
  }
  return tn_pmap_put(&m->vars, iv->var, at) || (ranges && tn_vec_push_obj(ranges, r)) ? -1 : 0;
}

static int match_axes(matcher *m, const tn_arr *axes, const tn_arr *with, tn_vec *ranges) {
  int64_t extra = axes->len - with->len;
  if (extra < 0)
    return FAIL(m, "%s has %lld axes, the intrinsic %s has %lld", tn_cstr(m->op->name),
                (long long)axes->len, tn_cstr(m->in->name), (long long)with->len);
  for (int64_t i = 0; i < axes->len; ++i)
    TN_TRY(match_axis(m, te_iv(axes, i), i < extra ? NULL : te_iv(with, i - extra), ranges));
  return 0;
}

/* ---- reads ---- */

typedef struct {
  matcher *m;
  const tn_Tensor *t;
  tn_vec *sets; /* one IntervalSet for each axis; empty before the first read */
} region_walk;

static int note_read(void *ctx, tn_obj *o) {
  const region_walk *w = ctx;
  const tn_ProducerLoad *load = TN_AS(ProducerLoad, o);
  bool first = !w->sets->len;
  if (!load || !te_same_tensor(TN_AS(Tensor, load->producer), w->t)) return 0;
  for (int64_t i = 0; i < load->indices->len; ++i) {
    tn_IntervalSet *s =
        arith_int_set(&w->m->a, (tn_expr *)tn_arr_obj(load->indices, i), w->m->sets);
    if (s && !first)
      s = arith_interval_union(&w->m->a, (tn_IntervalSet *)w->sets->items[i].v.obj, s);
    if (!s) return -1;
    if (first) TN_TRY(tn_vec_push_obj(w->sets, s));
    else w->sets->items[i].v.obj = (tn_obj *)s;
  }
  return 0;
}

/* The region of input i, which must be of the shape that the intrinsic takes. */
static int match_input(matcher *m, int64_t i) {
  TN_VEC(sets);
  TN_VEC(region);
  const tn_Tensor *t = (const tn_Tensor *)tn_arr_obj(m->inputs, i),
                  *with = (const tn_Tensor *)tn_arr_obj(m->in->inputs, i);
  region_walk w = {m, t, &sets};
  TN_TRY(tn_pre_order(m->op->body, note_read, &w) < 0);
  int64_t extra = t->shape->len - with->shape->len;
  if (extra < 0 || !tn_dtype_eq(t->dtype, with->dtype) || sets.len != t->shape->len)
    return FAIL(m, "%s: input %s has another type or fewer dimensions than %s of the intrinsic %s",
                tn_cstr(m->op->name), tn_cstr(t->op->name), tn_cstr(with->op->name),
                tn_cstr(m->in->name));
  for (int64_t k = 0; k < sets.len; ++k) {
    tn_expr *n = (tn_expr *)tn_arr_obj(t->shape, k);
    tn_Range *whole = tir_range(tir_zero(n->dtype), n);
    const tn_Range *r =
        whole ? arith_interval_range(&m->a, (tn_IntervalSet *)sets.items[k].v.obj, whole) : NULL;
    tn_expr *want = k < extra ? tir_one(n->dtype) : (tn_expr *)tn_arr_obj(with->shape, k - extra);
    if (!r || !want) return -1;
    if (!arith_prove_equal(&m->a, r->extent, want))
      return FAIL(m,
                  "%s: what is read of %s has another extent along dimension %lld than %s of "
                  "the intrinsic %s",
                  tn_cstr(m->op->name), tn_cstr(t->op->name), (long long)k, tn_cstr(with->op->name),
                  tn_cstr(m->in->name));
    TN_TRY(tn_vec_push_obj(&region, r));
  }
  const tn_arr *all = tn_arr_from(&region);
  return all ? tn_vec_push_obj(&m->regions, all) : -1;
}

static int match_inputs(matcher *m) {
  TN_GET(m->inputs, te_inputs((const tn_Operation *)m->op));
  if (m->inputs->len != m->in->inputs->len)
    return FAIL(m, "%s reads %lld tensors, the intrinsic %s reads %lld", tn_cstr(m->op->name),
                (long long)m->inputs->len, tn_cstr(m->in->name), (long long)m->in->inputs->len);
  for (int64_t i = 0; i < m->inputs->len; ++i) TN_TRY(match_input(m, i));
  return 0;
}

/* ---- bodies ---- */

static tn_obj *as_read(matcher *m, const tn_ProducerLoad *load, int64_t input);

/* An expression of the stage over the axes and tensors of the intrinsic. */
static tn_obj *as_code(void *ctx, tn_obj *o) {
  matcher *m = ctx;
  tn_obj *with = tn_pmap_get(&m->vars, o);
  const tn_ProducerLoad *load = TN_AS(ProducerLoad, o);
  if (with) return with;
  for (int64_t i = 0; load && i < m->inputs->len; ++i) {
    if (te_same_tensor(TN_AS(Tensor, load->producer), (tn_Tensor *)tn_arr_obj(m->inputs, i)))
      return as_read(m, load, i);
  }
  if (o->type_index == TN_TI_Buffer || o->type_index == TN_TI_Op) return o;
  return tn_map_children(o, as_code, m);
}

static tn_obj *as_read(matcher *m, const tn_ProducerLoad *load, int64_t input) {
  TN_VEC(indices);
  const tn_Tensor *with = (const tn_Tensor *)tn_arr_obj(m->in->inputs, input);
  const tn_arr *region = (const tn_arr *)m->regions.items[input].v.obj;
  int64_t extra = region->len - with->shape->len;
  for (int64_t i = extra; i < region->len; ++i) {
    tn_expr *at = (tn_expr *)as_code(m, tn_arr_obj(load->indices, i));
    at = tir_sub(at, ((const tn_Range *)tn_arr_obj(region, i))->min);
    if (!at || tn_vec_push_obj(&indices, arith_simplify(&m->a, at))) return NULL;
  }
  return (tn_obj *)TN_NEW(ProducerLoad, .dtype = load->dtype,
                          .producer = (tn_DataProducer *)(uintptr_t)with,
                          .indices = tn_arr_from(&indices));
}

/* Is it the same expression? -1: error. */
static int same(matcher *m, tn_obj *of_stage, tn_obj *of_code) {
  tn_expr *x = (tn_expr *)as_code(m, of_stage), *y = (tn_expr *)of_code;
  TN_GET(x, arith_simplify(&m->a, x));
  TN_GET(y, arith_simplify(&m->a, y));
  return tn_equal(x, y, 0);
}

static int same_reduction(matcher *m, const tn_Reduce *r, const tn_Reduce *code) {
  if (!code || r->source->len != code->source->len || r->init->len || code->init->len) return 0;
  int equal = tn_equal(r->combiner, code->combiner, 0);
  if (equal == 1) equal = same(m, (tn_obj *)r->condition, (tn_obj *)code->condition);
  for (int64_t i = 0; i < r->source->len && equal == 1; ++i)
    equal = same(m, tn_arr_obj(r->source, i), tn_arr_obj(code->source, i));
  return equal;
}

static int match_bodies(matcher *m) {
  const tn_arr *body = m->op->body, *code = m->code->body;
  const tn_Reduce *r = TN_AS(Reduce, tn_arr_obj(body, 0)), *s = TN_AS(Reduce, tn_arr_obj(code, 0));
  int equal = body->len == code->len && !r == !s;
  if (equal && r) equal = same_reduction(m, r, s);
  for (int64_t i = 0; !r && i < body->len && equal == 1; ++i)
    equal = same(m, tn_arr_obj(body, i), tn_arr_obj(code, i));
  if (equal < 0 || equal == 1) return equal < 0 ? -1 : 0;
  return FAIL(m, "the body of %s does not compute what the intrinsic %s does", tn_cstr(m->op->name),
              tn_cstr(m->in->name));
}

/* ---- pieces of buffers ---- */

/* A region as it is here, in the buffer that the tensor is in. */
static tn_BufferRegion *here(matcher *m, int64_t place, const tn_arr *region) {
  const tn_arr *begins = (const tn_arr *)m->l->begins.items[place].v.obj;
  TN_VEC(ranges);
  for (int64_t i = 0; i < region->len; ++i) {
    const tn_Range *r = (const tn_Range *)tn_arr_obj(region, i);
    tn_expr *min = te_lower_expr(m->l, r->min), *extent = te_lower_expr(m->l, r->extent);
    if (begins->len) min = tir_sub(min, te_lower_begin(m->l, begins, i));
    min = min ? arith_simplify(&m->l->arith, min) : NULL;
    if (!min || !extent || tn_vec_push_obj(&ranges, tir_range(min, extent))) return NULL;
  }
  return TN_NEW(BufferRegion, .buffer = (tn_Buffer *)m->l->buffers.items[place].v.obj,
                .region = tn_arr_from(&ranges));
}

/* The region without gaps: all of each dimension inside the first that takes several values. */
static bool is_compact(matcher *m, const tn_BufferRegion *src) {
  bool inside = false;
  if (src->buffer->strides->len) return false;
  for (int64_t i = 0; i < src->region->len; ++i) {
    tn_expr *n = ((const tn_Range *)tn_arr_obj(src->region, i))->extent;
    if (inside && !arith_prove_equal(&m->l->arith, n, (tn_expr *)tn_arr_obj(src->buffer->shape, i)))
      return false;
    inside = inside || !tir_is_one(n);
  }
  return true;
}

static tn_expr *start_of(matcher *m, const tn_BufferRegion *src) {
  const tn_Buffer *b = src->buffer;
  tn_expr *at = b->elem_offset ? b->elem_offset : tir_i32(0), *stride = tir_i32(1);
  for (int64_t i = src->region->len; i-- > 0 && at && stride;) {
    if (b->strides->len) stride = (tn_expr *)tn_arr_obj(b->strides, i);
    at = tir_add(at, tir_mul(((const tn_Range *)tn_arr_obj(src->region, i))->min, stride));
    stride = tir_mul(stride, (tn_expr *)tn_arr_obj(b->shape, i));
  }
  return at ? arith_simplify(&m->l->arith, at) : NULL;
}

/* What a buffer promises of where it lies must hold of the region. */
static int check_piece(matcher *m, const tn_Buffer *b, const tn_BufferRegion *src) {
  const char *name = tn_cstr(b->name), *of = tn_cstr(src->buffer->name);
  tn_expr *start;
  TN_GET(start, start_of(m, src));
  if (!b->strides->len && !is_compact(m, src))
    return FAIL(m,
                "Trying to bind compact buffer %s of the intrinsic %s to a strided piece of %s: "
                "declare it with strides",
                name, tn_cstr(m->in->name), of);
  bool fixed = !b->elem_offset || tir_is_zero(b->elem_offset);
  if (fixed && !arith_prove_equal(&m->l->arith, start, tir_zero(start->dtype)))
    return FAIL(m,
                "Trying to bind buffer %s of the intrinsic %s, which has no offset, to a piece "
                "inside %s: declare it with offset_factor=1",
                name, tn_cstr(m->in->name), of);
  if (fixed || b->offset_factor <= 1) return 0;
  tn_expr *rest = tir_floormod(start, tir_const_int(start->dtype, b->offset_factor));
  if (!rest || !arith_prove_equal(&m->l->arith, rest, tir_zero(start->dtype)))
    return FAIL(m,
                "Trying to bind buffer %s of the intrinsic %s with offset_factor %lld to a piece "
                "of %s whose offset is not known to be a multiple of it",
                name, tn_cstr(m->in->name), (long long)b->offset_factor, of);
  return 0;
}

static int add_piece(matcher *m, const tn_Tensor *t, const tn_arr *region, int64_t buffer,
                     tn_vec *matches, tn_vec *access) {
  const tn_Buffer *b = (const tn_Buffer *)tn_arr_obj(m->in->buffers, buffer);
  int64_t place = te_lower_place(m->l, t);
  TN_CHECK(place >= 0, ValueError, NULL,
           "lower: tensor %s is used by the intrinsic %s but neither an argument nor computed "
           "before",
           tn_cstr(t->op->name), tn_cstr(m->in->name));
  tn_BufferRegion *src = region ? here(m, place, region) : NULL;
  if (!src || check_piece(m, b, src)) return -1;
  TN_TRY(tn_vec_push_obj(access, src));
  return tn_vec_push_obj(
      matches, TN_NEW(MatchBufferRegion, .buffer = (tn_Buffer *)(uintptr_t)b, .source = src));
}

static tn_stmt *code_block(matcher *m, tn_stmt *code, bool with_inputs, bool reads_results) {
  TN_VEC(matches);
  TN_VEC(reads);
  TN_VEC(writes);
  int64_t n = m->in->inputs->len;
  tn_arr *none = tn_arr_of(0), *region = tn_arr_from(&m->results);
  for (int64_t i = 0; with_inputs && i < n; ++i)
    TN_TRYP(add_piece(m, (tn_Tensor *)tn_arr_obj(m->inputs, i), (tn_arr *)m->regions.items[i].v.obj,
                      i, &matches, &reads));
  for (int64_t i = 0; i < te_num_outputs(m->st->op); ++i)
    TN_TRYP(add_piece(m, te_output(m->st->op, i), region, n + i, &matches, &writes));
  for (int64_t i = 0; reads_results && i < writes.len; ++i)
    TN_TRYP(tn_vec_push(&reads, writes.items[i]));
  tn_Block *b =
      TN_NEW(Block, .iter_vars = none, .reads = tn_arr_from(&reads), .writes = tn_arr_from(&writes),
             .name_hint = m->in->name, .alloc_buffers = none,
             .match_buffers = tn_arr_from(&matches), .annotations = m->l->no_hints, .body = code);
  return b ? (tn_stmt *)TN_MAKE(BlockRealize, .iter_values = none, .predicate = tir_bool(true),
                                .block = b)
           : NULL;
}

static int match(matcher *m, int64_t at) {
  TN_TRY(set_loops(m, at));
  TN_TRY(match_axes(m, m->op->axis, m->code->axis, &m->results));
  TN_TRY(match_axes(m, m->op->reduce_axis, m->code->reduce_axis, NULL));
  TN_TRY(match_inputs(m));
  return match_bodies(m);
}

static tn_stmt *code_of(const matcher *m, te_intrin_part part) {
  tn_stmt *code = part == TE_INTRIN_BODY   ? m->in->body
                  : part == TE_INTRIN_INIT ? m->in->reduce_init
                                           : m->in->reduce_update;
  TN_CHECKP(code, TenonError, NULL,
            "Reduction update op for intrin %s is not defined: loops of the reduction of %s are "
            "outside of it",
            tn_cstr(m->in->name), tn_cstr(m->st->op->name));
  return code;
}

tn_stmt *te_lower_intrin(te_lowerer *l, const tn_TeStage *st, int64_t at, te_intrin_part part) {
  __attribute__((cleanup(matcher_fini))) matcher m = {.l = l, .st = st};
  m.op = (const tn_ComputeOp *)st->op;
  m.in = te_attr(st, te_iv(st->leaf_iter_vars, at))->tensor_intrin;
  m.code = (const tn_ComputeOp *)m.in->op;
  m.sets = tn_scope_own(tn_map_new());
  if (!m.sets || match(&m, at)) return NULL;
  tn_stmt *code = code_of(&m, part);
  return code ? code_block(&m, code, part != TE_INTRIN_INIT, part == TE_INTRIN_UPDATE) : NULL;
}

/* ---- computations over regions ---- */

/* The code with the values that the operation gives for its scalars. */
static tn_stmt *with_scalars(matcher *m, const tn_TensorComputeOp *op, tn_stmt *code) {
  TN_PMAP(values);
  for (int64_t i = 0; i < op->scalar_inputs->len; ++i) {
    const tn_Var *v = (const tn_Var *)tn_arr_obj(m->in->scalar_params, i);
    const tn_expr *e = te_lower_expr(m->l, tn_arr_obj(op->scalar_inputs, i));
    e = e ? tir_cast(v->dtype, (tn_expr *)(uintptr_t)e, NULL) : NULL;
    if (!e || tn_pmap_put(&values, v, e)) return NULL;
  }
  return op->scalar_inputs->len ? tir_substitute(code, &values) : code;
}

tn_stmt *te_lower_region(te_lowerer *l, const tn_TeStage *st, te_intrin_part part) {
  __attribute__((cleanup(matcher_fini))) matcher m = {.l = l, .st = st};
  const tn_TensorComputeOp *op = (const tn_TensorComputeOp *)st->op;
  m.in = op->intrin;
  m.inputs = op->inputs;
  for (int64_t i = 0; i < op->inputs->len; ++i)
    TN_TRYP(tn_vec_push_obj(&m.regions, te_region_of(op, i)));
  for (int64_t i = 0; i < op->axis->len; ++i) {
    const tn_IterVar *iv = te_iv(op->axis, i);
    const tn_Range *r =
        i < op->schedulable_ndim ? tir_range((tn_expr *)iv->var, tir_one(iv->var->dtype)) : iv->dom;
    if (!r || tn_vec_push_obj(&m.results, r)) return NULL;
  }
  tn_stmt *code = code_of(&m, part);
  code = code ? with_scalars(&m, op, code) : NULL;
  return code ? code_block(&m, code, part != TE_INTRIN_INIT, part == TE_INTRIN_UPDATE) : NULL;
}
