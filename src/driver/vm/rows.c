/* Kernels whose first extent is known at run time only, in pieces of known size.

     fn (%p0: Tensor[(?, 512)], %p1: Tensor[(512, 512)], Primitive=1) { nn.dense(%p0, %p1) }

   computes each row of its result from a row of %p0. Kernels for 64, 32, 16, ... rows are as fast
   as those of static programs; the machine calls them on parts of the tensors, and pads the last
   rows where that is cheaper than one more call. Where nothing is shared by the rows (a product for
   each entry of a batch) the pieces are 8 rows and 1. A product of which other extents are dynamic
   too has kernels for one row and two, where padding them to a tile would cost most; more rows are
   not cut. */
#include <string.h>

#include "base/error.h"
#include "base/pmap.h"
#include "base/scope.h"
#include "driver/primitive.h"
#include "driver/vm/gen.h"
#include "ir/functor.h"
#include "ir/imm.h"
#include "relay/infer.h"
#include "relay/op.h"

enum {
  MIN_WORK = 4096,     /* multiplications for each row from which pieces are worth while, but for
                          products of matrices, which are slow otherwise */
  MUCH_WORK = 1 << 20, /* from which more than one row at a time brings nothing */
  MUCH_REUSE = 32      /* uses of each shared element within a row from which the same holds */
};

/* ---- is each row computed by itself? ---- */

typedef struct {
  const tn_Var *row; /* the iterator of the block over rows */
  bool apart;        /* still believed */
  bool reduces;
  int64_t work; /* for each row, of all blocks */
} row_check;

static bool is_open(const tn_Buffer *b) {
  int64_t n;
  return b->shape->len > 0 && !tir_as_int(tn_arr_obj(b->shape, 0), &n);
}

/* Extents behind the first must be known; elements of them, -1 where they are not. */
static int64_t row_elements(const tn_Buffer *b, int64_t first) {
  int64_t all = 1, n;
  for (int64_t i = first; i < b->shape->len; ++i) {
    if (!tir_as_int(tn_arr_obj(b->shape, i), &n) || __builtin_mul_overflow(all, n, &all)) return -1;
  }
  return all;
}

typedef struct {
  const tn_Var *var;
  bool found;
} var_search;

static int see_var(void *ctx, tn_obj *node) {
  var_search *s = ctx;
  s->found = s->found || node == (const tn_obj *)s->var;
  return s->found;
}

static bool uses(const void *e, const tn_Var *v) {
  var_search s = {v, false};
  return tn_post_order(e, see_var, &s) != 0 || s.found;
}

static void check_access(row_check *c, const tn_Buffer *b, const tn_arr *indices) {
  int64_t from = 0;
  if (is_open(b)) {
    const tn_Var *row = TN_AS(Var, tn_arr_obj(indices, 0));
    if (!c->row) c->row = row;
    c->apart = c->apart && row && row == c->row && row_elements(b, 1) >= 0;
    from = 1;
  } else c->apart = c->apart && row_elements(b, 0) >= 0;
  for (int64_t i = from; i < indices->len && c->row; ++i)
    c->apart = c->apart && !uses(tn_arr_obj(indices, i), c->row);
}

static int check_node(void *ctx, tn_obj *node) {
  row_check *c = ctx;
  const tn_BufferLoad *l = TN_AS(BufferLoad, node);
  const tn_BufferStore *s = TN_AS(BufferStore, node);
  if (l) check_access(c, l->buffer, l->indices);
  if (s) check_access(c, s->buffer, s->indices);
  /* the row itself, or how many there are, as a value */
  if ((c->row && node == (const tn_obj *)c->row) || TN_AS(SizeVar, node)) c->apart = false;
  return 0;
}

static bool but_indices(const tn_obj *parent, const tn_field *field, const tn_obj *child) {
  (void)child;
  bool access = TN_AS(BufferLoad, parent) || TN_AS(BufferStore, parent);
  return !access || !field || strcmp(field->name, "value") == 0;
}

/* Loads in indices (of gathers) are seen too: each must be of the same row. */
static int check_statement(row_check *c, const void *s) {
  TN_TRY(tn_post_order_if(s, but_indices, check_node, c));
  return 0;
}

static int check_block(void *ctx, tn_obj *node) {
  row_check *c = ctx;
  const tn_Block *b = TN_AS(Block, node);
  int64_t work = 1, n;
  if (!b || b->iter_vars->len == 0 || TN_AS(BlockRealize, b->body)) return 0;
  c->row = NULL;
  TN_TRY(check_statement(c, b->body));
  if (b->init) TN_TRY(check_statement(c, b->init));
  for (int64_t i = 0; i < b->iter_vars->len; ++i) {
    const tn_IterVar *v = (const tn_IterVar *)tn_arr_obj(b->iter_vars, i);
    bool known = tir_as_int((const tn_obj *)v->dom->extent, &n);
    if (!known && v->var != c->row) c->apart = false;
    if (v->iter_type == IR_ITER_COMM_REDUCE) c->reduces = true;
    if (known && __builtin_mul_overflow(work, n, &work)) work = INT64_MAX;
  }
  if (!c->row) c->apart = false; /* a stage that all rows share */
  if (__builtin_add_overflow(c->work, work, &c->work)) c->work = INT64_MAX;
  return 0;
}

/* ---- which pieces ---- */

/* Elements that all rows share; in `mask` a letter for each parameter: 'r' rows, 's' shared. */
static int64_t shared_elements(const tn_PrimFunc *p, char *mask, int64_t room) {
  int64_t all = 0;
  if (p->params->len >= room) return -1;
  for (int64_t i = 0; i < p->params->len; ++i) {
    tn_any found;
    if (!tn_map_get(p->buffer_map, tn_any_obj(tn_arr_obj(p->params, i)), &found)) return -1;
    const tn_Buffer *b = (const tn_Buffer *)found.v.obj;
    int64_t n = row_elements(b, is_open(b));
    mask[i] = is_open(b) ? 'r' : 's';
    if (n < 0 || b->dtype.bits < 8 || b->dtype.lanes != 1) return -1;
    if (!is_open(b) && __builtin_add_overflow(all, n, &all)) return -1;
  }
  mask[p->params->len] = '\0';
  return all;
}

static int see_product(void *ctx, tn_obj *node) {
  *(bool *)ctx = *(bool *)ctx || RELAY_ASK(form, node) == RELAY_PRODUCT;
  return 0;
}

/* What a call costs, measured for dense layers of 512 and 3072 times 768: a few rows cannot keep
   the processor busy, and what is shared and larger than the cache takes its time whatever is done
   with it. A weight that is not packed costs more for each row, or as much as packing it. */
static int64_t call_cost(int64_t size, bool packed, bool far) {
  if (!packed) return (far ? 125 : 35) * size < 210 ? (far ? 125 : 35) * size : 210 + 10 * size;
  int64_t few = 20 + 7 * size, many = 10 * size + 4, stream = far ? 125 : 0;
  int64_t cost = few > many ? few : many;
  return cost > stream ? cost : stream;
}

static void add_size(vm_pieces *all, int64_t size, int64_t cost) {
  all->costs[all->n] = cost;
  all->sizes[all->n++] = size;
}

static void add_sizes(vm_pieces *all, const int64_t *sizes, bool packed, bool far) {
  for (int i = 0; sizes[i]; ++i) add_size(all, sizes[i], call_cost(sizes[i], packed, far));
}

/* The letter of a parameter in the mask, where a tuple has one for each field. */
static int64_t letter_of(const tn_RelayFunction *f, int64_t param) {
  int64_t n = 0;
  for (int64_t i = 0; i < param; ++i)
    n += relay_count_tensors(relay_type_of(tn_arr_obj(f->params, i)));
  return n;
}

/* Pieces of rows that share much. What is near is cheap to read again for a few rows more; what is
   far is not, so pieces are large and padded. Where they read panels, calls of few rows do not. */
static int add_sharing(const tn_RelayFunction *f, const target_machine *m, bool far,
                       vm_rows *rows) {
  static const int64_t near_sizes[] = {64, 32, 16, 8, 6, 4, 2, 1, 0},
                       near_packed[] = {64, 32, 16, 8, 6, 4, 0}, near_direct[] = {2, 1, 0},
                       far_sizes[] = {64, 40, 32, 24, 16, 8, 1, 0},
                       far_packed[] = {64, 40, 32, 24, 0}, far_direct[] = {24, 16, 8, 2, 1, 0};
  _Static_assert(TN_COUNT(near_sizes) - 1 <= TN_VM_MAX_PIECES, "room");
  _Static_assert(TN_COUNT(far_packed) + TN_COUNT(far_direct) - 2 <= TN_VM_MAX_PIECES, "room");
  int r = vm_panels_of(f, m, &rows->panels);
  if (r <= 0) {
    add_sizes(&rows->direct, far ? far_sizes : near_sizes, true, far);
    return r;
  }
  rows->mask[letter_of(f, rows->panels.arg)] = 'p';
  rows->panel_cost = far ? 250 : 210;
  add_sizes(&rows->packed, far ? far_packed : near_packed, true, far);
  add_sizes(&rows->direct, far ? far_direct : near_direct, false, far);
  return 0;
}

/* Pieces of rows that have little in common. */
static void add_apart(vm_pieces *all, int64_t work) {
  if (work < MIN_WORK) add_size(all, 64, 640);
  if (work < MUCH_WORK) add_size(all, 8, 80);
  add_size(all, 1, 10);
}

/* ---- one row or two of products with other dynamic extents ---- */

/* The mask of what has as many rows as the result: 'x'; the others take part as they are. */
static bool mask_rows(const tn_PrimFunc *p, vm_rows *rows) {
  int64_t n = p->params->len;
  const tn_obj *row = NULL;
  if (n >= (int64_t)sizeof rows->mask) return false;
  rows->mask[n] = '\0';
  for (int64_t i = n; i-- > 0;) {
    tn_any found;
    if (!tn_map_get(p->buffer_map, tn_any_obj(tn_arr_obj(p->params, i)), &found)) return false;
    const tn_Buffer *b = (const tn_Buffer *)found.v.obj;
    if (!row && (b->shape->len != 2 || !is_open(b))) return false;
    if (!row) row = tn_arr_obj(b->shape, 0);
    bool has = b->shape->len > 0 && tn_arr_obj(b->shape, 0) == row;
    rows->mask[i] = has ? 'x' : 's';
    for (int64_t d = has; d < b->shape->len; ++d)
      if (tn_arr_obj(b->shape, d) == row) return false;
  }
  return row && TN_IS(SizeVar, row);
}

static void add_few(const tn_PrimFunc *p, vm_rows *rows) {
  if (!mask_rows(p, rows)) return;
  add_size(&rows->direct, 2, 20);
  add_size(&rows->direct, 1, 10);
}

int vm_row_pieces(const tn_RelayFunction *f, const tn_PrimFunc *p, const target_machine *m,
                  vm_rows *rows) {
  row_check c = {.apart = true};
  bool product = false;
  rows->direct.n = rows->packed.n = 0;
  int64_t shared = shared_elements(p, rows->mask, (int64_t)sizeof rows->mask);
  TN_TRY(tn_post_order(f->body, see_product, &product));
  if (shared < 0 && product && m->vector_bytes > 0) add_few(p, rows);
  if (shared < 0 || !strchr(rows->mask, 'r')) return 0;
  TN_TRY(tn_post_order(p->body, check_block, &c));
  if (!c.apart || !c.reduces || (c.work < MIN_WORK && !product)) return 0;
  if (shared > 0 && c.work / shared < MUCH_REUSE)
    return add_sharing(f, m, shared > m->l2 / (int64_t)sizeof(float) / 2, rows);
  add_apart(&rows->direct, c.work);
  return 0;
}

/* ---- kernels for a number of rows ---- */

/* The type with a number of rows where the mask says so, which is read on. */
static tn_Type *with_rows(const tn_Type *t, int64_t rows, const char **mask) {
  const tn_TupleType *tuple = TN_AS(TupleType, t);
  const tn_TensorType *tensor = TN_AS(TensorType, t);
  TN_VEC(v);
  for (int64_t i = 0; tuple && i < tuple->fields->len; ++i)
    TN_TRYP(
        tn_vec_push_obj(&v, with_rows((const tn_Type *)tn_arr_obj(tuple->fields, i), rows, mask)));
  if (tuple) return (tn_Type *)relay_tuple_type(tn_arr_from(&v));
  bool has = **mask == 'r' || **mask == 'x';
  ++*mask;
  for (int64_t i = 0; i < tensor->shape->len; ++i) {
    tn_obj *e = tn_arr_obj(tensor->shape, i);
    if (i == 0 && has) TN_GETP(e, (tn_obj *)tir_i32((int32_t)rows));
    TN_TRYP(tn_vec_push_obj(&v, e));
  }
  return (tn_Type *)relay_tensor_type(tn_arr_from(&v), tensor->dtype);
}

tn_RelayFunction *vm_kernel_of_rows(const tn_RelayFunction *f, int64_t rows, const char *mask) {
  bool others = strchr(mask, 'x') != NULL; /* extents that stay dynamic */
  TN_SCOPE(s);
  TN_PMAP(values);
  TN_VEC(params);
  tn_RelayFunction *r;
  void *body;
  for (int64_t i = 0; i < f->params->len; ++i) {
    const tn_RelayVar *v = (const tn_RelayVar *)tn_arr_obj(f->params, i);
    const tn_Type *t = relay_type_of(v);
    tn_RelayVar *own;
    TN_GETP(own, relay_var(tn_cstr(v->vid->name_hint),
                           with_rows(t ? t : v->type_annotation, rows, &mask)));
    TN_TRYP(tn_pmap_put(&values, v->vid, own));
    TN_TRYP(tn_vec_push_obj(&params, own));
  }
  TN_GETP(body, relay_substitute(f->body, &values));
  TN_GETP(r, relay_function(tn_arr_from(&params), body, NULL, NULL));
  TN_GETP(r, relay_infer_expr(r, NULL));
  TN_CHECKP(others || relay_is_static(relay_type_of(r->body)), ValueError, NULL,
            "relay.vm: a kernel for a number of rows has other dynamic extents");
  return tn_scope_return(s, r);
}
