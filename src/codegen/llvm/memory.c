/* Reading and writing buffers, and what is known about their overlap. */
#include <string.h>

#include "ir/functor.h"
#include "codegen/llvm/cg.h"

/* ---- alias information ----

   Each buffer that is known not to overlap another gets an alias scope; an access belongs to its
   buffer's scope and says that it does not touch the others. Known are: parameters and the data of
   tensors (when the function promises tir.noalias) and allocations. */

typedef struct {
  cg_alias *a;
  bool params;
  tn_pmap owners; /* variables that own memory of their own */
} collector;

static int note_owner(void *ctx, tn_obj *node) {
  collector *c = ctx;
  const tn_Allocate *alloc = TN_AS(Allocate, node);
  const tn_AllocateConst *constant = TN_AS(AllocateConst, node);
  const tn_LetStmt *let = TN_AS(LetStmt, node);
  if (alloc) return tn_pmap_put_int(&c->owners, alloc->buffer_var, 1);
  if (constant) return tn_pmap_put_int(&c->owners, constant->buffer_var, 1);
  if (!let) return 0;
  const tn_Call *get = tir_as_call((const tn_obj *)let->value, TIR_OP_tvm_struct_get);
  int64_t kind;
  bool data = get && tir_as_int(tn_arr_obj(get->args, 2), &kind) && kind == 1;
  if ((data && c->params) ||
      tir_as_call((const tn_obj *)let->value, TIR_OP_TVMBackendAllocWorkspace))
    return tn_pmap_put_int(&c->owners, let->var, 1);
  return 0;
}

static int note_access(void *ctx, tn_obj *node) {
  collector *c = ctx;
  const tn_BufferLoad *load = TN_AS(BufferLoad, node);
  const tn_BufferStore *store = TN_AS(BufferStore, node);
  const tn_Buffer *b = load ? load->buffer : store ? store->buffer : NULL;
  if (!b || !tn_pmap_has(&c->owners, b->data) || tn_pmap_has(&c->a->index, b->data)) return 0;
  return tn_pmap_put_int(&c->a->index, b->data, ++c->a->n);
}

static LLVMMetadataRef text(cg_module *m, const char *s) {
  return LLVMMDStringInContext2(m->ctx, s, strlen(s));
}

static int make_scopes(cg_module *m, cg_alias *a, const char *name) {
  LLVMMetadataRef scope[CG_MAX_SCOPES], rest[CG_MAX_SCOPES], domain = text(m, name);
  domain = LLVMMDNodeInContext2(m->ctx, &domain, 1);
  for (int i = 0; i < a->n; ++i) {
    const tn_str *s;
    TN_GET(s, tn_str_fmt("%s.%d", name, i));
    LLVMMetadataRef two[2] = {text(m, tn_cstr(s)), domain};
    scope[i] = LLVMMDNodeInContext2(m->ctx, two, 2);
  }
  for (int i = 0; i < a->n; ++i) {
    size_t n = 0;
    for (int j = 0; j < a->n; ++j)
      if (j != i) rest[n++] = scope[j];
    a->scopes[i] = LLVMMetadataAsValue(m->ctx, LLVMMDNodeInContext2(m->ctx, &scope[i], 1));
    a->others[i] = LLVMMetadataAsValue(m->ctx, LLVMMDNodeInContext2(m->ctx, rest, n));
  }
  return 0;
}

int cg_alias_init(cg_module *m, cg_alias *a, const tn_PrimFunc *func, const char *name) {
  collector c = {.a = a, .params = ir_attrs_flag(func->attrs, "tir.noalias")};
  int err = 0;
  for (int64_t i = 0; c.params && !err && i < func->params->len; ++i)
    err = tn_pmap_put_int(&c.owners, tn_arr_obj(func->params, i), 1);
  if (!err) err = tn_post_order(func->body, note_owner, &c);
  if (!err) err = tn_post_order(func->body, note_access, &c);
  tn_pmap_fini(&c.owners);
  if (err) return -1;
  if (a->n < 2 || a->n > CG_MAX_SCOPES) {
    a->n = 0;
    return 0;
  }
  return make_scopes(m, a, name);
}

static void mark(cg_fn *f, const tn_Buffer *b, LLVMValueRef access) {
  int64_t i = f->alias->n ? tn_pmap_get_int(&f->alias->index, b->data, 0) : 0;
  if (i <= 0) return;
  LLVMSetMetadata(access, f->m->md_scope, f->alias->scopes[i - 1]);
  LLVMSetMetadata(access, f->m->md_noalias, f->alias->others[i - 1]);
}

/* ---- addresses ---- */

/* Bytes of a scalar of the buffer: what every access is aligned to. */
static unsigned alignment(const tn_Buffer *b) {
  unsigned bytes = (b->dtype.bits + 7u) / 8u;
  return bytes & (bytes - 1) ? 1 : bytes;
}

static const tn_expr *only_index(cg_fn *f, const tn_Buffer *b, const tn_arr *indices) {
  TN_CHECKP(indices->len == 1, CodegenError, b->span,
            "llvm: %s: buffer %s is accessed with %lld indices: flatten the program first "
            "(tir.FlattenBuffer)",
            f->name, tn_cstr(b->name), (long long)indices->len);
  return (const tn_expr *)tn_arr_obj(indices, 0);
}

static LLVMValueRef element(cg_fn *f, const tn_Buffer *b, LLVMValueRef index) {
  LLVMTypeRef t;
  LLVMValueRef data;
  TN_GETP(t, cg_memory_type(f->m, b->dtype));
  TN_GETP(data, cg_expr(f, b->data));
  if (b->dtype.lanes > 1) { /* vectors lie without gaps, whatever LLVM's size of the type is */
    TN_GETP(t, cg_memory_type(f->m, ir_with_lanes(b->dtype, 1)));
    index = LLVMBuildMul(f->b, index, cg_i64(f, b->dtype.lanes), "");
  }
  return LLVMBuildInBoundsGEP2(f->b, t, data, &index, 1, "");
}

LLVMValueRef cg_address(cg_fn *f, const tn_BufferLoad *e) {
  const tn_expr *index;
  LLVMValueRef i;
  TN_GETP(index, only_index(f, e->buffer, e->indices));
  if (index->hdr.type_index == TN_TI_Ramp) index = ((const tn_Ramp *)index)->base;
  TN_GETP(i, cg_index(f, index));
  return element(f, e->buffer, i);
}

/* First element when the lanes are neighbours in memory, else NULL. */
static const tn_expr *dense_base(const tn_expr *index) {
  const tn_Ramp *r = TN_AS(Ramp, index);
  return r && tir_is_one(r->stride) ? r->base : index->dtype.lanes == 1 ? index : NULL;
}

/* ---- loads ---- */

static LLVMValueRef load_at(cg_fn *f, const tn_Buffer *b, LLVMValueRef index, int lanes) {
  LLVMTypeRef t;
  LLVMValueRef p;
  tn_dtype type = ir_with_lanes(b->dtype, b->dtype.lanes * lanes);
  TN_GETP(t, cg_memory_type(f->m, type));
  TN_GETP(p, element(f, b, index));
  LLVMValueRef v = LLVMBuildLoad2(f->b, t, p, "");
  LLVMSetAlignment(v, alignment(b));
  mark(f, b, v);
  if (!ir_is_bool(type)) return v;
  return LLVMBuildICmp(f->b, LLVMIntNE, v, LLVMConstNull(t), "");
}

/* Lane `lane` of a vector of indices. */
static LLVMValueRef lane_of(cg_fn *f, LLVMValueRef v, int lane) {
  return LLVMBuildExtractElement(f->b, v, cg_i32(f, lane), "");
}

LLVMValueRef cg_load(cg_fn *f, const tn_BufferLoad *e) {
  const tn_expr *index, *base;
  LLVMValueRef i;
  LLVMTypeRef t;
  TN_GETP(index, only_index(f, e->buffer, e->indices));
  int lanes = index->dtype.lanes;
  if ((base = dense_base(index))) {
    TN_GETP(i, cg_index(f, base));
    return load_at(f, e->buffer, i, lanes);
  }
  const tn_Broadcast *same = TN_AS(Broadcast, index);
  if (same && e->buffer->dtype.lanes == 1) {
    TN_GETP(i, cg_index(f, same->value));
    LLVMValueRef v;
    TN_GETP(v, load_at(f, e->buffer, i, 1));
    return cg_splat(f, v, lanes);
  }
  TN_CHECKP(e->buffer->dtype.lanes == 1, CodegenError, e->span,
            "llvm: %s: buffer %s of vectors is read at a vector of places", f->name,
            tn_cstr(e->buffer->name));
  TN_GETP(i, cg_index(f, index));
  TN_GETP(t, cg_type(f->m, e->dtype));
  LLVMValueRef out = LLVMGetPoison(t);
  for (int k = 0; k < lanes; ++k) {
    LLVMValueRef v;
    TN_GETP(v, load_at(f, e->buffer, lane_of(f, i, k), 1));
    out = LLVMBuildInsertElement(f->b, out, v, cg_i32(f, k), "");
  }
  return out;
}

/* ---- stores ---- */

static int store_at(cg_fn *f, const tn_Buffer *b, LLVMValueRef index, int lanes, LLVMValueRef v) {
  LLVMValueRef p;
  tn_dtype type = ir_with_lanes(b->dtype, b->dtype.lanes * lanes);
  TN_GET(p, element(f, b, index));
  if (ir_is_bool(type)) {
    LLVMTypeRef t;
    TN_GET(t, cg_memory_type(f->m, type));
    v = LLVMBuildZExt(f->b, v, t, "");
  }
  LLVMValueRef s = LLVMBuildStore(f->b, v, p);
  LLVMSetAlignment(s, alignment(b));
  mark(f, b, s);
  return 0;
}

int cg_store(cg_fn *f, const tn_BufferStore *s) {
  const tn_expr *index, *base;
  LLVMValueRef v, i;
  TN_GET(index, only_index(f, s->buffer, s->indices));
  TN_GET(v, cg_expr(f, s->value));
  if ((base = dense_base(index))) {
    TN_GET(i, cg_index(f, base));
    return store_at(f, s->buffer, i, index->dtype.lanes, v);
  }
  TN_CHECK(s->buffer->dtype.lanes == 1, CodegenError, s->span,
           "llvm: %s: buffer %s of vectors is written at a vector of places", f->name,
           tn_cstr(s->buffer->name));
  TN_GET(i, cg_index(f, index));
  for (int k = 0; k < index->dtype.lanes; ++k)
    TN_TRY(store_at(f, s->buffer, lane_of(f, i, k), 1, lane_of(f, v, k)));
  return 0;
}
