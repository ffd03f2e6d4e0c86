/* Executables as files. All numbers little-endian:

     u64 magic, text version (u64 length, bytes)
     devices      u64 count, (i32 type, i32 id, text scope) each; i64 index of the host
     globals      u64 count, text each
     constants    u64 count, each u32 0 and an array (params.h), or u32 1 and a text: late-bound;
                  u64 count, i64 device of each
     primitives   u64 count, text each; u64 count of those with attributes: i64 number, u64 count,
                  (text key, text value) each
     code         u64 count, for each function
                    u64 3, texts: name, number of registers, number of instructions
                    u64 count, text of each parameter; u64 count, i64 device of each
                    each instruction: u64 count of words, i64 hash of the others, i64 opcode,
                    operands

     and the types of parameters and results (types.c)

   Jumps count instructions here. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/reader.h"
#include "runtime/tensor/params.h"
#include "runtime/tensor/tensor_content.h"
#include "runtime/vm/executable.h"

/* FNV-1a over the words. */
static int64_t hash_of(const int64_t *words, int64_t n) {
  uint64_t h = UINT64_C(1469598103934665603);
  for (int64_t i = 0; i < n; ++i) h = (h ^ (uint64_t)words[i]) * UINT64_C(1099511628211);
  return (int64_t)(h >> 1);
}

/* ---- writing ---- */

static void put_text(tn_buf *out, const char *s) {
  tn_buf_u64(out, strlen(s));
  tn_buf_puts(out, s);
}

static void put_i64(tn_buf *out, int64_t x) { tn_buf_u64(out, (uint64_t)x); }

static void put_number(tn_buf *out, int64_t x) {
  char text[24];
  snprintf(text, sizeof text, "%" PRId64, x);
  put_text(out, text);
}

static void put_devices(const tn_vm_exe *x, tn_buf *out) {
  put_i64(out, x->ndevice);
  for (int64_t i = 0; i < x->ndevice; ++i) {
    tn_buf_u32(out, (uint32_t)x->devices[i].dev.device_type);
    tn_buf_u32(out, (uint32_t)x->devices[i].dev.device_id);
    put_text(out, x->devices[i].scope);
  }
  put_i64(out, x->host);
}

static int put_consts(const tn_vm_exe *x, tn_buf *out) {
  put_i64(out, x->nconst);
  for (int64_t i = 0; i < x->nconst; ++i) {
    const char *name;
    tn_tensor *t = tn_vm_const_now(x, i, &name);
    tn_buf_u32(out, name != NULL);
    if (name) put_text(out, name);
    int err = name ? 0 : tn_tensor_blob_save((const tn_obj *)t, out);
    tn_release(t);
    TN_TRY(err);
  }
  put_i64(out, x->nconst);
  for (int64_t i = 0; i < x->nconst; ++i) put_i64(out, x->consts[i].device);
  return 0;
}

static int put_attrs(const tn_map *attrs, tn_buf *out) {
  put_i64(out, attrs->len);
  for (int64_t i = 0; i < attrs->len; ++i) {
    const char *key, *value;
    TN_TRY(tn_any_to_cstr(&attrs->entries[i].key, &key));
    TN_TRY(tn_any_to_cstr(&attrs->entries[i].value, &value));
    put_text(out, key);
    put_text(out, value);
  }
  return 0;
}

static int put_primitives(const tn_vm_exe *x, tn_buf *out) {
  put_i64(out, x->nprim);
  for (int64_t i = 0; i < x->nprim; ++i) put_text(out, x->prims[i]);
  put_i64(out, x->prim_attrs->len);
  for (int64_t i = 0; i < x->prim_attrs->len; ++i) {
    put_i64(out, x->prim_attrs->entries[i].key.v.i64);
    TN_TRY(put_attrs((const tn_map *)x->prim_attrs->entries[i].value.v.obj, out));
  }
  return 0;
}

typedef struct {
  const int64_t *starts;
  int64_t at;
} place;

/* From words to instructions. */
static int unresolve_jump(void *ctx, char kind, int64_t *word) {
  const place *p = ctx;
  if (kind != 'j') return 0;
  int64_t to = p->starts[p->at] + *word, i = p->at;
  while (p->starts[i] < to) ++i;
  *word = i - p->at;
  return 0;
}

static int put_instruction(const tn_vm_function *f, const place *p, int64_t n, tn_buf *out) {
  TN_AUTOFREE int64_t *w = tn_alloc_array(n, sizeof *w);
  if (!w) return -1;
  memcpy(w, f->code + p->starts[p->at], (size_t)n * sizeof *w);
  (void)tn_vm_each_operand(w, unresolve_jump, (void *)(uintptr_t)p);
  put_i64(out, n + 1);
  put_i64(out, hash_of(w, n));
  for (int64_t i = 0; i < n; ++i) put_i64(out, w[i]);
  return 0;
}

static int put_function(const tn_vm_function *f, tn_buf *out) {
  put_i64(out, 3);
  put_text(out, f->name);
  put_number(out, f->nreg);
  put_number(out, f->ninst);
  put_i64(out, f->nparam);
  for (int32_t i = 0; i < f->nparam; ++i) put_text(out, f->params[i]);
  put_i64(out, f->nparam);
  for (int32_t i = 0; i < f->nparam; ++i) put_i64(out, f->param_devices[i]);
  TN_AUTOFREE int64_t *starts = tn_alloc_array(f->ninst + 1, sizeof *starts);
  if (!starts) return -1;
  int64_t n = 0;
  for (int64_t at = 0; at < f->ncode; at += tn_vm_length(f->code + at, f->ncode - at))
    starts[n++] = at;
  starts[n] = f->ncode;
  for (place p = {starts, 0}; p.at < n; ++p.at)
    TN_TRY(put_instruction(f, &p, starts[p.at + 1] - starts[p.at], out));
  return tn_buf_ok(out);
}

tn_bytes *tn_vm_save(const tn_vm_exe *x) {
  TN_BUF(out);
  tn_buf_u64(&out, TN_VM_MAGIC);
  put_text(&out, TN_VM_VERSION);
  put_devices(x, &out);
  put_i64(&out, x->nfunc);
  for (int64_t i = 0; i < x->nfunc; ++i) put_text(&out, x->funcs[i].name);
  TN_TRYP(put_consts(x, &out));
  TN_TRYP(put_primitives(x, &out));
  put_i64(&out, x->nfunc);
  for (int64_t i = 0; i < x->nfunc; ++i) TN_TRYP(put_function(&x->funcs[i], &out));
  tn_vm_put_types(x, &out);
  TN_TRYP(tn_buf_ok(&out));
  return tn_bytes_new(out.data, out.len);
}

/* ---- reading ---- */

/* A text in memory of the arena; NULL with an error. Text with NUL bytes is refused. */
static char *read_text(tn_vm_exe *x, tn_reader *r) {
  tn_bytes_view v;
  TN_TRYP(tn_read_text(r, &v));
  TN_CHECKP(!v.size || !memchr(v.data, 0, v.size), ValueError, NULL, "a text with a zero byte");
  return tn_arena_strndup(&x->arena, (const char *)v.data, v.size);
}

static int read_header(tn_reader *r) {
  uint64_t magic;
  tn_bytes_view version;
  TN_TRY(tn_read_u64(r, &magic));
  TN_CHECK(magic == TN_VM_MAGIC, ValueError, NULL, "expected magic number 0x%llX, got 0x%llX",
           (unsigned long long)TN_VM_MAGIC, (unsigned long long)magic);
  TN_TRY(tn_read_text(r, &version));
  bool same = version.size == strlen(TN_VM_VERSION) &&
              memcmp(version.data, TN_VM_VERSION, version.size) == 0;
  TN_CHECK(same, ValueError, NULL,
           "the file is of version \"%.*s\", this library reads \"" TN_VM_VERSION
           "\": compile the model again",
           (int)(version.size < 40 ? version.size : 40), (const char *)version.data);
  return 0;
}

static int read_devices(tn_vm_exe *x, tn_reader *r) {
  uint64_t n;
  TN_TRY(tn_read_count(r, 16, &n));
  for (uint64_t i = 0; i < n; ++i) {
    uint32_t type, id;
    const char *scope;
    TN_TRY(tn_read_u32(r, &type) || tn_read_u32(r, &id));
    TN_CHECK(type < 256 && id < 65536, ValueError, NULL, "device %u of type %u", id, type);
    TN_GET(scope, read_text(x, r));
    tn_device dev = {(DLDeviceType)type, (int32_t)id};
    TN_TRY(tn_vm_add_device(x, dev, scope) < 0);
  }
  return tn_read_i64(r, &x->host);
}

static int read_globals(tn_reader *r, tn_reader *names, uint64_t *n) {
  tn_bytes_view text;
  TN_TRY(tn_read_count(r, 8, n));
  *names = *r;
  for (uint64_t i = 0; i < *n; ++i) TN_TRY(tn_read_text(r, &text));
  return 0;
}

static int read_const(tn_vm_exe *x, tn_reader *r) {
  uint32_t tag;
  TN_TRY(tn_read_u32(r, &tag));
  TN_CHECK(tag <= 1, ValueError, NULL, "expected 0 or 1 before a constant, got %u", tag);
  if (tag) {
    const char *name;
    TN_GET(name, read_text(x, r));
    return tn_vm_add_const(x, NULL, name, 0) < 0 ? -1 : 0;
  }
  tn_reader copied = *r;
  copied.owner = NULL; /* kernels want their memory aligned: not a view */
  tn_tensor *t;
  TN_GET(t, tn_tensor_read(&copied));
  r->pos = copied.pos;
  int64_t i = tn_vm_add_const(x, t, NULL, 0);
  tn_release(t);
  return i < 0 ? -1 : 0;
}

static int read_consts(tn_vm_exe *x, tn_reader *r) {
  uint64_t n, devices;
  TN_TRY(tn_read_count(r, 12, &n));
  for (uint64_t i = 0; i < n; ++i) TN_TRY(read_const(x, r));
  TN_TRY(tn_read_count(r, 8, &devices));
  TN_CHECK(devices == n, ValueError, NULL, "%llu constants, but %llu devices of them",
           (unsigned long long)n, (unsigned long long)devices);
  for (uint64_t i = 0; i < n; ++i) TN_TRY(tn_read_i64(r, &x->consts[i].device));
  return 0;
}

static int read_attrs(tn_vm_exe *x, tn_reader *r, tn_map *out) {
  uint64_t n;
  TN_TRY(tn_read_count(r, 16, &n));
  for (uint64_t i = 0; i < n; ++i) {
    const char *key, *value;
    tn_str *s;
    TN_GET(key, read_text(x, r));
    TN_GET(value, read_text(x, r));
    TN_GET(s, tn_str_new(value));
    int err = tn_map_set(out, tn_any_cstr(key), tn_any_obj(s));
    tn_release(s);
    TN_TRY(err);
  }
  return 0;
}

static int read_primitives(tn_vm_exe *x, tn_reader *r) {
  uint64_t n;
  TN_TRY(tn_read_count(r, 8, &n));
  for (uint64_t i = 0; i < n; ++i) {
    const char *name;
    TN_GET(name, read_text(x, r));
    TN_TRY(tn_vm_add_primitive(x, name) < 0);
  }
  TN_TRY(tn_read_count(r, 16, &n));
  for (uint64_t i = 0; i < n; ++i) {
    int64_t number;
    tn_map *attrs;
    TN_TRY(tn_read_i64(r, &number));
    TN_CHECK(number >= 0 && number < x->nprim, ValueError, NULL, "attributes of primitive %lld",
             (long long)number);
    TN_GET(attrs, tn_map_new());
    int err =
        read_attrs(x, r, attrs) || tn_map_set(x->prim_attrs, tn_any_int(number), tn_any_obj(attrs));
    tn_release(attrs);
    TN_TRY(err);
  }
  return 0;
}

typedef struct {
  int64_t *words;
  int64_t n, cap;
} word_list;

static int read_instruction(tn_reader *r, word_list *l) {
  uint64_t n;
  int64_t hash;
  TN_TRY(tn_read_count(r, 8, &n));
  TN_CHECK(n >= 2, ValueError, NULL, "an instruction of %llu words", (unsigned long long)n);
  TN_TRY(tn_read_i64(r, &hash));
  TN_GROW(l->words, l->cap, l->n + (int64_t)n, return -1);
  int64_t *w = l->words + l->n, count = (int64_t)n - 1;
  for (int64_t i = 0; i < count; ++i) TN_TRY(tn_read_i64(r, &w[i]));
#ifndef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION /* a fuzzer would seldom get past it */
  TN_CHECK(hash == hash_of(w, count), ValueError, NULL, "Found mismatch in hash for opcode %lld",
           (long long)w[0]);
#endif
  int64_t length = tn_vm_length(w, count);
  if (length < 0) return -1;
  TN_CHECK(length == count, ValueError, NULL, "%s takes %lld words, the file has %lld",
           tn_vm_opcode_text(w[0]), (long long)length, (long long)count);
  l->n += count;
  return 0;
}

static int read_number(tn_vm_exe *x, tn_reader *r, int64_t max, int64_t *out) {
  const char *text;
  char *end;
  TN_GET(text, read_text(x, r));
  *out = strtoll(text, &end, 10);
  TN_CHECK(*text && !*end && *out >= 0 && *out <= max, ValueError, NULL,
           "expected a number of at most %lld, got \"%.20s\"", (long long)max, text);
  return 0;
}

static int read_params(tn_vm_exe *x, tn_reader *r, const char *name, int64_t *func) {
  uint64_t n, devices;
  TN_TRY(tn_read_count(r, 8, &n));
  TN_CHECK(n <= TN_VM_MAX_REGISTERS, ValueError, NULL, "%llu parameters", (unsigned long long)n);
  TN_AUTOFREE const char **params = tn_alloc_zero((size_t)n + 1, sizeof *params);
  if (!params) return -1;
  for (uint64_t i = 0; i < n; ++i) TN_GET(params[i], read_text(x, r));
  TN_TRY(tn_read_count(r, 8, &devices));
  TN_CHECK(devices == n, ValueError, NULL, "%llu parameters, but %llu devices of them",
           (unsigned long long)n, (unsigned long long)devices);
  *func = tn_vm_add_function(x, name, (int32_t)n, params);
  if (*func < 0) return -1;
  for (uint64_t i = 0; i < n; ++i) TN_TRY(tn_read_i64(r, &x->funcs[*func].param_devices[i]));
  return 0;
}

static int read_function(tn_vm_exe *x, tn_reader *r, const char *name, word_list *l) {
  uint64_t three;
  int64_t nreg, ninst, func;
  const char *own;
  TN_TRY(tn_read_u64(r, &three));
  TN_CHECK(three == 3, ValueError, NULL, "expected three texts before a function");
  TN_GET(own, read_text(x, r));
  TN_CHECK(strcmp(own, name) == 0, ValueError, NULL, "function %.40s is listed as %.40s", own,
           name);
  TN_TRY(read_number(x, r, TN_VM_MAX_REGISTERS, &nreg));
  TN_TRY(read_number(x, r, (int64_t)(tn_read_left(r) / 16), &ninst));
  TN_TRY(read_params(x, r, name, &func));
  l->n = 0;
  for (int64_t i = 0; i < ninst; ++i) TN_TRY(read_instruction(r, l));
  return tn_vm_set_code(x, func, (int32_t)nreg, l->words, l->n);
}

static int read_code(tn_vm_exe *x, tn_reader *r, tn_reader *names, uint64_t nglobal) {
  uint64_t n;
  word_list l = {0};
  TN_TRY(tn_read_count(r, 8, &n));
  TN_CHECK(n == nglobal, ValueError, NULL, "%llu functions are listed, there are %llu",
           (unsigned long long)nglobal, (unsigned long long)n);
  int err = 0;
  for (uint64_t i = 0; i < n && !err; ++i) {
    const char *name = read_text(x, names);
    err = name ? read_function(x, r, name, &l) : -1;
  }
  tn_free(l.words);
  return err ? -1 : tn_vm_verify(x);
}

static const char *read_sections(tn_vm_exe *x, tn_reader *r) {
  tn_reader names = {0};
  uint64_t n = 0;
  if (read_header(r)) return "header";
  if (read_devices(x, r)) return "virtual device";
  if (read_globals(r, &names, &n)) return "global";
  if (read_consts(x, r)) return "constant";
  if (read_primitives(x, r)) return "primitive name";
  if (read_code(x, r, &names, n)) return "code";
  if (tn_vm_read_types(x, r)) return "type";
  if (tn_read_left(r)) {
    TN_RAISE(ValueError, NULL, "%zu bytes after the end", tn_read_left(r));
    return "type";
  }
  return NULL;
}

tn_vm_exe *tn_vm_load(const void *data, size_t n) {
  tn_reader r = {.data = data, .size = n};
  tn_vm_exe *x;
  tn_error e;
  TN_GETP(x, tn_vm_exe_new());
  const char *section = read_sections(x, &r);
  if (!section) return x;
  tn_vm_exe_free(x);
  tn_error_take(&e);
  if (e.kind == TN_MemoryError) tn_error_restore(&e);
  else
    TN_RAISE(ValueError, NULL, "Invalid VM file format in the %s section: %s", section,
             e.message ? e.message : "");
  tn_error_fini(&e);
  return NULL;
}
