/* Finding convolutions and poolings whose channels are in blocks among the stages. */
#include "base/error.h"
#include "ir/imm.h"
#include "kernels/conv_impl.h"

/* `acc + data * weight`, the two operands in any order; `acc + data`, `max(acc, data)`: then the
   second operand is NULL. */
static bool find_operands(const kernel_stage *st, const tn_BufferLoad *operands[2]) {
  const tn_BufferStore *store = TN_AS(BufferStore, st->block->body);
  const tn_Add *add = store ? TN_AS(Add, store->value) : NULL;
  const tn_Max *max = store ? TN_AS(Max, store->value) : NULL;
  if ((!add && !max) || !st->block->init) return false;
  const tn_BufferLoad *acc = TN_AS(BufferLoad, add ? add->a : max->a);
  const tn_Mul *mul = add ? TN_AS(Mul, add->b) : NULL;
  if (!acc || acc->buffer != store->buffer) return false;
  operands[0] = kernel_loaded(mul ? mul->a : add ? add->b : max->b);
  operands[1] = mul ? kernel_loaded(mul->b) : NULL;
  return operands[0] && operands[0]->buffer != acc->buffer &&
         (!mul || (operands[1] && operands[0]->buffer != operands[1]->buffer));
}

/* Does an index of `load` hold the axis and one of the other kind (summed over or not)? */
static bool slides(const kernel_stage *st, const tn_BufferLoad *load, int axis) {
  for (int64_t i = 0; i < load->indices->len; ++i) {
    const tn_obj *index = load->indices->items[i].v.obj;
    if (!kernel_uses(index, &st->axis[axis])) continue;
    for (int k = 0; k < st->naxes; ++k)
      if (st->axis[k].reduce != st->axis[axis].reduce && kernel_uses(index, &st->axis[k]))
        return true;
  }
  return false;
}

static bool slides_any(const kernel_stage *st, const tn_BufferLoad *load) {
  for (int i = 0; i < st->nspatial; ++i)
    if (slides(st, load, i)) return true;
  return false;
}

/* Only height, width and the number of images may be dynamic: the code of a tile does not depend on
   them. */
static bool is_open(const kernel_conv *c) {
  for (int i = 0; i < c->st->nspatial; ++i)
    if (c->st->axis[i].extent < 0) return true;
  return false;
}
static bool has_channels(const kernel_conv *c) {
  const kernel_stage *st = c->st;
  return st->axis[c->lane].extent > 0 && (c->vectors < 0 || st->axis[c->vectors].extent > 0);
}

static int set_spatial(kernel_conv *c) {
  const kernel_stage *st = c->st;
  for (int i = st->nspatial - 2; i >= 0; --i) {
    bool in_data = kernel_uses(c->data->indices, &st->axis[i]);
    bool in_weight = c->weight && kernel_uses(c->weight->indices, &st->axis[i]);
    if (in_data && !in_weight && slides(st, c->data, i)) {
      if (c->col < 0) c->col = i;
      else if (c->row < 0) c->row = i;
    }
    if (in_weight && !in_data && c->vectors < 0) c->vectors = i;
  }
  return c->col >= 0;
}

/* The axis summed over that is not an offset in the image. */
static void set_channel(kernel_conv *c) {
  const kernel_stage *st = c->st;
  for (int i = st->nspatial; i < st->naxes; ++i)
    if (!slides(st, c->data, i) && c->channel < 0) c->channel = i;
}

enum { MAX_TOGETHER = 16 };

/* Channels read together: the block of the data's layout, else the largest divisor. */
static int64_t block_of(const kernel_conv *c) {
  if (c->channel < 0) return 1;
  const tn_arr *indices = c->data->indices, *shape = c->data->buffer->shape;
  const kernel_axis *axis = &c->st->axis[c->channel];
  int64_t last = indices->len - 1, n;
  if (kernel_uses(indices->items[last].v.obj, axis) && tir_as_int(shape->items[last].v.obj, &n) &&
      n > 0 && axis->extent % n == 0)
    return n;
  for (n = MAX_TOGETHER; n > 1; --n)
    if (axis->extent % n == 0) return n;
  return 1;
}

static int set_strided(kernel_conv *c) {
  const kernel_axis *col = &c->st->axis[c->col];
  bool one = true;
  for (int64_t i = 0; i < c->data->indices->len && one; ++i) {
    tn_expr *index = (tn_expr *)tn_arr_obj(c->data->indices, i);
    if (kernel_uses(index, col)) TN_TRY(kernel_has_factor_one(index, col, &one));
  }
  c->strided = !one;
  return 0;
}

/* Which operand is the data; without a weight each channel is reduced by itself. */
static bool set_operands(kernel_conv *c, const tn_BufferLoad *const operands[2]) {
  const kernel_axis *lane = &c->st->axis[c->lane];
  bool first = kernel_uses(operands[0]->indices, lane),
       second = operands[1] ? kernel_uses(operands[1]->indices, lane) : first;
  c->depthwise = first && second;
  int data = !operands[1] ? 0 : c->depthwise ? !slides_any(c->st, operands[0]) : first;
  c->data = operands[data];
  c->weight = operands[!data];
  return first || second;
}

/* Of the operand that has them; the axis summed over is any one. */
static int64_t groups_of(const kernel_stage *st, const kernel_axis *lane,
                         const tn_BufferLoad *const operands[2]) {
  for (int k = 0; k < 2 && operands[1]; ++k)
    for (int i = st->nspatial; i < st->naxes; ++i)
      if (kernel_dot_group(operands[k], lane, &st->axis[i]) > 1)
        return kernel_dot_group(operands[k], lane, &st->axis[i]);
  return 1;
}

int kernel_conv_of(kernel_conv *c, kernel_stage *st) {
  return st->spatial > 0 ? kernel_open_conv_of(c, st) : 0;
}

int kernel_open_conv_of(kernel_conv *c, kernel_stage *st) {
  const tn_BufferLoad *operands[2];
  *c = (kernel_conv){.st = st, .vectors = -1, .row = -1, .col = -1, .channel = -1};
  c->lane = st->nspatial - 1;
  if (st->nspatial < 2 || st->nspatial == st->naxes || st->lanes < 4 || st->reduction <= 0 ||
      !find_operands(st, operands))
    return 0;
  const kernel_axis *lane = &st->axis[c->lane];
  c->dot = groups_of(st, lane, operands);
  if ((!lane->contiguous && c->dot == 1) || lane->extent < 4 || !set_operands(c, operands))
    return 0;
  c->out = ((const tn_BufferStore *)st->block->body)->buffer;
  if (!set_spatial(c) || !has_channels(c)) return 0;
  c->open = is_open(c);
  TN_TRY(set_strided(c));
  set_channel(c);
  c->block = block_of(c);
  return 1;
}
