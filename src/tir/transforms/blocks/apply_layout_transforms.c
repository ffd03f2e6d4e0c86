/* Buffers get the layout that the function's attribute layout_transform_map asks for: a map from
   buffers to lists of index maps, which are applied one after the other.

     T.func_attr({"layout_transform_map": {A: [T.index_map(lambda i: [i // 4, i % 4])]}})
     A: T.Buffer((16,))                         A: T.Buffer((4, 4))
     ... A[i] ...                          ->   ... A[i // 4, i % 4] ...

   Parameters are changed too: whoever calls the function passes the new layout. Where an extent is
   not a multiple of what it is divided by, the buffer grows; what is in the padding stays
   undefined. The attribute layout_axis_separators, a map from some of the buffers to lists of axes,
   says where groups of the new axes begin that are flattened apart.
   The attribute goes. Buffers must be accessed by their indices, before they are flattened. */
#include "arith/analyzer.h"
#include "tir/index_map.h"
#include "tir/transforms/transforms.h"

typedef struct {
  arith_analyzer known;
  const tn_map *maps;       /* Buffer -> Array of IndexMap */
  const tn_map *separators; /* Buffer -> Array of IntImm; or NULL */
  tn_pmap buffers;          /* Buffer -> the one with the new layout */
  tn_pmap data;             /* their pointers -> the old buffer */
} layouter;

static const tn_arr *maps_of(const layouter *x, const tn_Buffer *b) {
  tn_any found;
  return tn_map_get(x->maps, tn_any_obj(b), &found) ? (const tn_arr *)found.v.obj : NULL;
}

static const tn_IndexMap *map_at(const tn_arr *maps, int64_t i) {
  return (const tn_IndexMap *)tn_arr_obj(maps, i);
}

/* ---- the new buffers ---- */

static int check_entry(const tn_any *key, const tn_any *value) {
  bool good = tn_any_is_obj(key) && TN_IS(Buffer, key->v.obj) && value->type_index == TN_TI_Array;
  const tn_arr *maps = good ? (const tn_arr *)value->v.obj : NULL;
  for (int64_t i = 0; good && i < maps->len; ++i)
    good = tn_arr_obj(maps, i) && TN_IS(IndexMap, tn_arr_obj(maps, i));
  TN_CHECK(good, ValueError, NULL,
           "ApplyLayoutTransforms: expected layout_transform_map to go from buffers to lists of "
           "IndexMap");
  return 0;
}

static int new_buffer(layouter *x, tn_Buffer *b, const tn_arr *maps) {
  tn_Buffer copy = *b, *r;
  TN_CHECK(b->strides->len == 0 && b->axis_separators->len == 0, ValueError, b->span,
           "ApplyLayoutTransforms: buffer %s must be compact, without axis separators",
           tn_cstr(b->name));
  for (int64_t i = 0; i < maps->len; ++i)
    TN_GET(copy.shape, tir_index_map_shape(&x->known, map_at(maps, i), copy.shape));
  tn_any axes;
  if (x->separators && tn_map_get(x->separators, tn_any_obj(b), &axes)) {
    TN_CHECK(axes.type_index == TN_TI_Array, TypeError, NULL,
             "ApplyLayoutTransforms: expected layout_axis_separators to go to lists");
    copy.axis_separators = (tn_arr *)axes.v.obj;
  }
  TN_GET(r, tn_node_copy(&tn_type_Buffer, &copy));
  TN_TRY(tn_pmap_put(&x->buffers, b, r));
  return tn_pmap_put(&x->data, b->data, b);
}

static int new_buffers(layouter *x) {
  tn_any key, value;
  for (int64_t i = 0; tn_map_at(x->maps, i, &key, &value); ++i) {
    TN_TRY(check_entry(&key, &value));
    TN_TRY(new_buffer(x, (tn_Buffer *)key.v.obj, (const tn_arr *)value.v.obj));
  }
  return 0;
}

/* ---- accesses ---- */

static tn_arr *new_indices(layouter *x, const tn_Buffer *b, tn_arr *indices) {
  const tn_arr *maps = maps_of(x, b);
  for (int64_t i = 0; i < maps->len && indices; ++i)
    indices = tir_index_map_indices(&x->known, map_at(maps, i), indices);
  return indices;
}

static tn_arr *new_ranges(layouter *x, const tn_Buffer *b, tn_arr *ranges) {
  const tn_arr *maps = maps_of(x, b);
  for (int64_t i = 0; i < maps->len && ranges; ++i)
    ranges = tir_index_map_ranges(&x->known, map_at(maps, i), ranges);
  return ranges;
}

static tn_obj *move_load(tn_mut *m, tn_BufferLoad *op) {
  layouter *x = m->ctx;
  tn_Buffer *b = tn_pmap_get(&x->buffers, op->buffer);
  tn_arr *indices;
  TN_GETP(indices, tn_mut_visit(m, op->indices));
  if (b) return (tn_obj *)tir_load(b, new_indices(x, op->buffer, indices));
  return indices == op->indices ? (tn_obj *)op : (tn_obj *)tir_load(op->buffer, indices);
}

static tn_obj *move_store(tn_mut *m, tn_BufferStore *op) {
  layouter *x = m->ctx;
  tn_Buffer *b = tn_pmap_get(&x->buffers, op->buffer);
  tn_arr *indices;
  tn_expr *value;
  TN_GETP(indices, tn_mut_visit(m, op->indices));
  TN_GETP(value, tn_mut_visit(m, op->value));
  if (b) return (tn_obj *)tir_store(b, value, new_indices(x, op->buffer, indices));
  if (indices == op->indices && value == op->value) return (tn_obj *)op;
  return (tn_obj *)tir_store(op->buffer, value, indices);
}

static tn_obj *move_region(tn_mut *m, tn_BufferRegion *op) {
  layouter *x = m->ctx;
  tn_Buffer *b = tn_pmap_get(&x->buffers, op->buffer);
  if (!b) return (tn_obj *)op;
  return (tn_obj *)TN_NEW(BufferRegion, .buffer = b,
                          .region = new_ranges(x, op->buffer, op->region));
}

static tn_obj *move_realize(tn_mut *m, tn_BufferRealize *op) {
  layouter *x = m->ctx;
  tn_Buffer *b = tn_pmap_get(&x->buffers, op->buffer);
  tn_BufferRealize copy = *op;
  if (!b) return tn_mut_children(m, op);
  copy.buffer = b;
  TN_GETP(copy.bounds, new_ranges(x, op->buffer, op->bounds));
  TN_GETP(copy.body, tn_mut_visit(m, op->body));
  return tn_node_copy(&tn_type_BufferRealize, &copy);
}

static tn_obj *move_buffer(tn_mut *m, tn_obj *b) {
  tn_obj *r = tn_pmap_get(&((layouter *)m->ctx)->buffers, b);
  return r ? r : b;
}

/* The range of a loop is known while its body is rewritten, so that quotients come out short. */
static tn_obj *move_for(tn_mut *m, tn_For *op) {
  layouter *x = m->ctx;
  tn_expr *min, *extent;
  tn_Range *r;
  TN_GETP(min, tn_mut_visit(m, op->min));
  TN_GETP(extent, tn_mut_visit(m, op->extent));
  TN_GETP(r, tir_range(op->min, op->extent));
  bool single = tir_is_one(op->extent); /* its variable stays */
  if (!single) TN_TRYP(arith_bind_range(&x->known, op->loop_var, r, true));
  tn_stmt *body = tn_mut_visit(m, op->body);
  if (!single) arith_unbind(&x->known, op->loop_var);
  return (tn_obj *)tir_for_with(op, min, extent, body);
}

static tn_obj *check_var(tn_mut *m, tn_Var *v) {
  const tn_Buffer *b = tn_pmap_get(&((layouter *)m->ctx)->data, v);
  TN_CHECKP(!b, ValueError, v->span,
            "ApplyLayoutTransforms: %s is used through its pointer, which does not follow its "
            "layout",
            b ? tn_cstr(b->name) : "");
  return (tn_obj *)v;
}

static tn_PrimFunc *with_parameters(layouter *x, tn_PrimFunc *f) {
  tn_any key, value;
  tn_PrimFunc copy = *f;
  for (int64_t i = 0; tn_map_at(f->buffer_map, i, &key, &value); ++i) {
    tn_Buffer *b = tn_pmap_get(&x->buffers, value.v.obj);
    if (b) TN_GETP(copy.buffer_map, tn_map_with(copy.buffer_map, key, tn_any_obj(b)));
  }
  return tn_node_copy(&tn_type_PrimFunc, &copy);
}

static void layouter_fini(layouter *x) {
  arith_fini(&x->known);
  tn_pmap_fini(&x->buffers);
  tn_pmap_fini(&x->data);
}

tn_PrimFunc *tir_apply_layout_transforms(tn_PrimFunc *f, const tn_pass_ctx *c) {
  static const tn_mut_case cases[] = {TN_CASE(BufferLoad, move_load),
                                      TN_CASE(BufferStore, move_store),
                                      TN_CASE(BufferRegion, move_region),
                                      TN_CASE(BufferRealize, move_realize),
                                      TN_CASE(For, move_for),
                                      TN_CASE(Buffer, move_buffer),
                                      TN_CASE(Var, check_var)};
  const tn_obj *maps = tir_func_attr(f, "layout_transform_map");
  (void)c;
  if (!maps) return f;
  TN_CHECKP(maps->type_index == TN_TI_Map, TypeError, NULL,
            "ApplyLayoutTransforms: expected layout_transform_map to be a map");
  const tn_obj *axes = tir_func_attr(f, "layout_axis_separators");
  TN_CHECKP(!axes || axes->type_index == TN_TI_Map, TypeError, NULL,
            "ApplyLayoutTransforms: expected layout_axis_separators to be a map");
  __attribute__((cleanup(layouter_fini)))
  layouter x = {.maps = (const tn_map *)maps, .separators = (const tn_map *)axes};
  TN_MUT(m, cases, &x);
  TN_TRYP(new_buffers(&x));
  TN_GETP(f, tir_with_attr(f, "layout_transform_map", NULL));
  if (axes) TN_GETP(f, tir_with_attr(f, "layout_axis_separators", NULL));
  tn_stmt *body;
  TN_GETP(body, tn_mut_visit(&m, f->body));
  TN_GETP(f, tir_with_body(f, body));
  return with_parameters(&x, f);
}
