/* Kernels: functions that many threads run at once. Thread axes are values that the language has,
   memory that a block of threads shares is declared at the start of the kernel. */
#include <string.h>

#include "ir/functor.h"
#include "runtime/module/device_module.h"
#include "codegen/c/gen.h"
#include "tir/analysis.h"

/* ---- memory ---- */

const char *c_scope_of(const tn_Var *v) {
  const tn_PointerType *t = TN_AS(PointerType, v->type_annotation);
  return t && t->storage_scope && t->storage_scope->len ? tn_cstr(t->storage_scope) : "global";
}

static bool is_shared(const char *scope) {
  return strcmp(scope, "shared") == 0 || strncmp(scope, "shared.", 7) == 0;
}

/* What the launch gives: one allocation, of any extent. */
static int allocate_dynamic(c_gen *g, const tn_Allocate *s) {
  tn_str *name;
  const char *type;
  TN_GET(type, c_memory_type(g, ir_with_lanes(s->dtype, 1)));
  TN_GET(name, c_name(g, s->buffer_var));
  TN_TRY(tn_pmap_put(&g->stored, s->buffer_var, type));
  tn_buf_printf(g->top, "%s  %s* %s = (%s*)dynamic_shared_;\n", g->d->dynamic_shared, type,
                tn_cstr(name), type);
  return c_stmt(g, s->body);
}

int c_kernel_allocate(c_gen *g, const tn_Allocate *s) {
  int64_t n;
  tn_str *name;
  const char *type, *scope = c_scope_of(s->buffer_var);
  bool local = strcmp(scope, "local") == 0;
  if (g->d->fragment && strncmp(scope, "wmma.", 5) == 0) return g->d->fragment(g, s);
  TN_CHECK(local || is_shared(scope), CodegenError, s->span,
           "%s: %s: %s is allocated in memory \"%s\", which a kernel cannot allocate", g->d->name,
           g->name, tn_cstr(s->buffer_var->name), scope);
  if (g->d->dynamic_shared && strcmp(scope, "shared.dyn") == 0) return allocate_dynamic(g, s);
  TN_TRY((n = c_allocation_size(g, s)) < 0);
  TN_GET(type, c_memory_type(g, ir_with_lanes(s->dtype, 1)));
  TN_GET(name, c_name(g, s->buffer_var));
  TN_TRY(tn_pmap_put(&g->stored, s->buffer_var, type));
  bool align = g->d->vectors_aligned && n > 1;
  if (local) c_line(g);
  tn_buf_printf(local ? g->out : g->top, "%s%s%s %s[%lld]%s;\n", local ? "" : g->d->shared,
                align ? "__align__(16) " : "", type, tn_cstr(name), (long long)n,
                local ? "" : g->d->shared_end);
  return c_stmt(g, s->body);
}

/* ---- threads ---- */

static const tn_IterVar *launched(const tn_AttrStmt *s) {
  return tn_str_eq(s->attr_key, "thread_extent") ? TN_AS(IterVar, s->node) : NULL;
}

/* Shape and layout of a fragment hold in the body. */
static int fragment_attr(c_gen *g, const tn_AttrStmt *s) {
  bool fragment = strncmp(tn_cstr(s->attr_key), "fragment_", 9) == 0;
  if (!fragment) return c_stmt(g, s->body);
  TN_TRY(tn_vec_push_obj(&g->fragments, s));
  TN_TRY(c_stmt(g, s->body));
  g->fragments.len--;
  return 0;
}

int c_kernel_attr(c_gen *g, const tn_AttrStmt *s) {
  const tn_IterVar *axis = launched(s);
  tn_str *value;
  const char *type, *text;
  if (!axis) return fragment_attr(g, s);
  TN_GET(type, c_type(g, axis->var->dtype));
  text = g->d->axis(tn_cstr(axis->thread_tag));
  TN_CHECK(text, CodegenError, s->span, "%s: %s: unknown thread axis %s", g->d->name, g->name,
           tn_cstr(axis->thread_tag));
  TN_GET(value, tn_str_fmt("((%s)%s)", type, text));
  TN_TRY(tn_pmap_put(&g->names, axis->var, value));
  return c_stmt(g, s->body);
}

tn_str *c_kernel_sync(c_gen *g, const tn_Call *call) {
  const tn_StringImm *scope = call->args->len ? TN_AS(StringImm, tn_arr_obj(call->args, 0)) : NULL;
  if (!g->d->kernels) return tn_str_from("");
  const char *text = scope ? g->d->barrier(tn_cstr(scope->value)) : NULL;
  TN_CHECKP(text, CodegenError, call->span, "%s: %s: no barrier for memory \"%s\"", g->d->name,
            g->name, scope ? tn_cstr(scope->value) : "?");
  if (*text) {
    c_line(g);
    tn_buf_printf(g->out, "%s;\n", text);
  }
  return tn_str_from("");
}

/* Threads of a block: what the axes of its threads multiply to. */
typedef struct {
  int64_t n;
  const char *seen[8];
  int nseen;
} block_size;

static int note_extent(void *ctx, tn_obj *o) {
  block_size *b = ctx;
  const tn_AttrStmt *s = TN_AS(AttrStmt, o);
  const tn_IterVar *axis = s ? launched(s) : NULL;
  int64_t n;
  if (!axis || strncmp(tn_cstr(axis->thread_tag), "threadIdx.", 10) != 0) return 0;
  for (int i = 0; i < b->nseen; ++i)
    if (strcmp(b->seen[i], tn_cstr(axis->thread_tag)) == 0) return 0;
  if (b->nseen < TN_COUNT(b->seen)) b->seen[b->nseen++] = tn_cstr(axis->thread_tag);
  b->n *= tir_as_int((tn_obj *)s->value, &n) ? n : 0;
  return 0;
}

/* ---- functions ---- */

typedef struct {
  tn_pmap read, written; /* variables of buffers */
} accesses;

static int note_access(void *ctx, tn_obj *o) {
  accesses *a = ctx;
  const tn_BufferLoad *load = TN_AS(BufferLoad, o);
  const tn_BufferStore *store = TN_AS(BufferStore, o);
  if (load) return tn_pmap_put(&a->read, load->buffer->data, o);
  return store ? tn_pmap_put(&a->written, store->buffer->data, o) : 0;
}

/* -1: an error */
static int reads_what_it_writes(const tn_PrimFunc *f) {
  accesses a = {0};
  int found = tn_pre_order(f->body, note_access, &a) < 0 ? -1 : 0;
  for (int64_t i = 0; found == 0 && i < f->params->len; ++i) {
    const void *v = tn_arr_obj(f->params, i);
    found = tn_pmap_has(&a.read, v) && tn_pmap_has(&a.written, v);
  }
  tn_pmap_fini(&a.read);
  tn_pmap_fini(&a.written);
  return found;
}

/* NVIDIA's compilers read through the cache of constants what no other pointer writes. They do so
   even where one load may be of such a pointer or of another, and then get what was there before
   the kernel wrote (CUDA 13.0: x = c ? written[i] : constant[i]). So kernels that read what they
   write promise nothing of their pointers. */
static int may_promise(const tn_PrimFunc *f, bool *noalias) {
  int both = reads_what_it_writes(f);
  *noalias = both == 0 && ir_attrs_flag(f->attrs, "tir.noalias");
  return both < 0 ? -1 : 0;
}

static int write_param(c_gen *g, const tn_Var *v, bool first, bool noalias) {
  tn_str *type, *name;
  const char *text;
  const tn_PointerType *p = TN_AS(PointerType, v->type_annotation);
  const tn_PrimType *to = p ? TN_AS(PrimType, p->element_type) : NULL;
  bool pointer = v->dtype.code == kDLOpaqueHandle;
  if (!first) tn_buf_puts(g->out, ", ");
  if (pointer && (!to || to->dtype.lanes != 1)) {
    TN_GET(type, tn_str_fmt("%svoid*", g->d->space(c_scope_of(v))));
  } else if (pointer) {
    TN_GET(type, c_var_type(g, v));
    TN_GET(text, c_memory_type(g, to->dtype));
    TN_TRY(tn_pmap_put(&g->stored, v, text));
  } else {
    TN_GET(text, ir_is_bool(v->dtype) ? c_memory_type(g, v->dtype) : c_type(g, v->dtype));
    TN_GET(type, tn_str_from(text));
  }
  TN_GET(name, c_name(g, v));
  tn_buf_printf(g->out, "%s %s%s", tn_cstr(type), pointer && noalias ? g->d->restrict_word : "",
                tn_cstr(name));
  return 0;
}

static int write_head(c_gen *g, const tn_PrimFunc *f) {
  block_size size = {.n = 1};
  bool noalias;
  TN_TRY(may_promise(f, &noalias));
  TN_TRY(tn_pre_order(f->body, note_extent, &size) < 0);
  TN_TRY(g->d->head(g, size.n));
  tn_buf_printf(g->out, "%s(", g->name);
  for (int64_t i = 0; i < f->params->len; ++i)
    TN_TRY(write_param(g, (const tn_Var *)tn_arr_obj(f->params, i), i == 0, noalias));
  tn_buf_puts(g->out, ") {\n");
  return 0;
}

int c_kernel(c_gen *g, const tn_PrimFunc *f) {
  TN_BUF(body);
  TN_BUF(top);
  tn_buf *out = g->out;
  const char *text;
  TN_GET(g->used, tn_scope_own(tn_map_new()));
  TN_TRY(write_head(g, f));
  g->indent = 1;
  g->temps = 0;
  g->out = &body;
  g->top = &top;
  int err = tir_find_data(f, &g->data) || c_stmt(g, f->body) ? -1 : 0;
  g->out = out;
  g->top = NULL;
  if (err) return -1;
  if (top.len) {
    TN_GET(text, tn_buf_cstr(&top));
    tn_buf_puts(out, text);
  }
  TN_GET(text, tn_buf_cstr(&body));
  tn_buf_printf(out, "%s}\n\n", text);
  return tn_buf_ok(out);
}

static int write_all(c_gen *g, tn_buf *all, const char *prelude) {
  tn_any key, value;
  const char *decl, *code;
  for (int64_t i = 0; tn_map_at(g->ir->functions, i, &key, &value); ++i) {
    const tn_PrimFunc *f = TN_AS(PrimFunc, value.v.obj);
    const tn_GlobalVar *v = (const tn_GlobalVar *)key.v.obj;
    TN_CHECK(f, CodegenError, v->span, "%s: %s is not a tensor program but a %s", g->d->name,
             tn_cstr(v->name_hint), tn_obj_key(value.v.obj));
    g->name = c_symbol(v, f);
    TN_TRY(c_kernel(g, f));
  }
  TN_GET(decl, tn_buf_cstr(g->decl));
  TN_GET(code, tn_buf_cstr(g->out));
  tn_buf_puts(all, prelude);
  c_write_helpers(g, all);
  tn_buf_printf(all, "%s%s", decl, code);
  return tn_buf_ok(all);
}

tn_str *c_kernel_source(const c_dialect *d, const tn_IRModule *ir, const char *prelude) {
  TN_BUF(all);
  TN_BUF(out);
  TN_BUF(decl);
  c_gen g = {.d = d, .out = &out, .decl = &decl, .ir = ir, .name = ""};
  int err = write_all(&g, &all, prelude);
  c_gen_fini(&g);
  return err ? NULL : tn_buf_str(&all);
}

/* ---- modules ---- */

/* How a scalar is handed over: kernels have no bool and no half. */
static tn_dtype passed_as(tn_dtype t) {
  if (ir_is_bool(t)) return tn_dtype_of(kDLInt, 8, 1);
  return ir_is_floating(t) && t.bits < 32 ? TN_F32 : t;
}

static int add_kernel(tn_device_code *code, const tn_GlobalVar *v, const tn_PrimFunc *f) {
  TN_VEC(types);
  TN_VEC(tags);
  for (int64_t i = 0; i < f->params->len; ++i) {
    tn_dtype t = passed_as(((const tn_Var *)tn_arr_obj(f->params, i))->dtype);
    TN_TRY(tn_vec_push(&types, tn_any_dtype(t)));
  }
  const tn_arr *params = (const tn_arr *)tn_map_find(f->attrs->dict, "tir.kernel_launch_params");
  TN_CHECK(params, CodegenError, f->span, "%s is not a kernel: it has no tir.kernel_launch_params",
           c_symbol(v, f));
  for (int64_t i = 0; i < params->len; ++i) TN_TRY(tn_vec_push(&tags, params->items[i]));
  return tn_device_code_add(code, c_symbol(v, f), &types, &tags);
}

tn_module *c_kernel_module(int device_type, const char *format, const tn_IRModule *ir,
                           const tn_bytes *data, const tn_str *source) {
  tn_any key, value;
  tn_device_code *code = tn_device_code_new(device_type, format, data, source);
  int err = code ? 0 : -1;
  for (int64_t i = 0; !err && tn_map_at(ir->functions, i, &key, &value); ++i)
    err = add_kernel(code, (tn_GlobalVar *)key.v.obj, (tn_PrimFunc *)value.v.obj);
  if (!err) return tn_device_module_new(code);
  tn_device_code_free(code);
  return NULL;
}
