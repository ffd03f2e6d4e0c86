/* Kernels whose first extent is known at run time only, in pieces of known size.

     fn (%p0: Tensor[(?, 512)], %p1: Tensor[(512, 512)], Primitive=1) { nn.dense(%p0, %p1) }

   computes each row of its result from a row of %p0. Kernels for 64, 32, 16, ... rows are as fast
   as those of static programs; the machine calls them on parts of the tensors, and pads the last
   rows where that is cheaper than one more call. Where nothing is shared by the rows (a product for
   each entry of a batch) the pieces are 8 rows and 1. */
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
  MOST_ROWS = 64,
  CALL_COST = 3,     /* of a call in rows: what is shared by its rows is read once */
  PACKING_COST = 22, /* the same where it is also put into panels, from WORTH_PACKING rows on */
  WORTH_PACKING = 4,
  LEAST_WORK = 4096,   /* multiplications for each row from which pieces are worth while */
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

static int see_dense(void *ctx, tn_obj *node) {
  const tn_RelayCall *c = TN_AS(RelayCall, node);
  const char *op = c ? relay_called_op(c) : NULL;
  if (op && strcmp(op, "nn.dense") == 0) *(bool *)ctx = true;
  return 0;
}

static int64_t call_cost(int64_t size, bool packs) {
  return !packs ? CALL_COST : size >= WORTH_PACKING ? PACKING_COST : 2 * size;
}

static void add_size(vm_rows *rows, int64_t size, int64_t call) {
  rows->costs[rows->n] = size + call;
  rows->sizes[rows->n++] = size;
}

int vm_row_pieces(const tn_RelayFunction *f, const tn_PrimFunc *p, vm_rows *rows) {
  row_check c = {.apart = true};
  rows->n = 0;
  int64_t shared = shared_elements(p, rows->mask, (int64_t)sizeof rows->mask);
  if (shared < 0 || !strchr(rows->mask, 'r')) return 0;
  TN_TRY(tn_post_order(p->body, check_block, &c));
  if (!c.apart || !c.reduces || c.work < LEAST_WORK) return 0;
  if (shared > 0 && c.work / shared < MUCH_REUSE) {
    bool packs = false; /* weights that were packed before belong to another operator */
    TN_TRY(tn_post_order(f->body, see_dense, &packs));
    for (int64_t size = MOST_ROWS; size > 0; size /= 2)
      add_size(rows, size, call_cost(size, packs));
  } else {
    if (c.work < MUCH_WORK) add_size(rows, 8, 0);
    add_size(rows, 1, 0);
  }
  return 0;
}

/* ---- kernels for a number of rows ---- */

static tn_Type *with_rows(const tn_Type *t, int64_t rows) {
  const tn_TupleType *tuple = TN_AS(TupleType, t);
  const tn_TensorType *tensor = TN_AS(TensorType, t);
  TN_VEC(v);
  for (int64_t i = 0; tuple && i < tuple->fields->len; ++i)
    TN_TRYP(tn_vec_push_obj(&v, with_rows((const tn_Type *)tn_arr_obj(tuple->fields, i), rows)));
  if (tuple) return (tn_Type *)relay_tuple_type(tn_arr_from(&v));
  int64_t n;
  for (int64_t i = 0; i < tensor->shape->len; ++i) {
    tn_obj *e = tn_arr_obj(tensor->shape, i);
    if (i == 0 && !tir_as_int(e, &n)) TN_GETP(e, (tn_obj *)tir_i32((int32_t)rows));
    TN_TRYP(tn_vec_push_obj(&v, e));
  }
  return (tn_Type *)relay_tensor_type(tn_arr_from(&v), tensor->dtype);
}

tn_RelayFunction *vm_kernel_of_rows(const tn_RelayFunction *f, int64_t rows) {
  TN_SCOPE(s);
  TN_PMAP(values);
  TN_VEC(params);
  tn_RelayFunction *r;
  void *body;
  for (int64_t i = 0; i < f->params->len; ++i) {
    const tn_RelayVar *v = (const tn_RelayVar *)tn_arr_obj(f->params, i);
    const tn_Type *t = relay_type_of(v);
    tn_RelayVar *own;
    TN_GETP(own,
            relay_var(tn_cstr(v->vid->name_hint), with_rows(t ? t : v->type_annotation, rows)));
    TN_TRYP(tn_pmap_put(&values, v->vid, own));
    TN_TRYP(tn_vec_push_obj(&params, own));
  }
  TN_GETP(body, relay_substitute(f->body, &values));
  TN_GETP(r, relay_function(tn_arr_from(&params), body, NULL, NULL));
  TN_GETP(r, relay_infer_expr(r, NULL));
  TN_CHECKP(relay_is_static(relay_type_of(r->body)), ValueError, NULL,
            "relay.vm: a kernel for a number of rows has other open extents");
  return tn_scope_return(s, r);
}
