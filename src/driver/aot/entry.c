/* C source around an ahead-of-time program for microcontrollers: tvmgen_NAME_run, and the pools of
   memory that nobody else gives. */
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/scope.h"
#include "driver/aot/aot.h"
#include "driver/aot/interface.h"
#include "driver/function_table.h"
#include "ir/module.h"
#include "object/functions.h"
#include "codegen/c/gen.h"

typedef struct {
  const aot_program *p;
  const tn_PrimFunc *main; /* as the code generator sees it */
  tn_str *symbol;
  int64_t ntensor; /* inputs and outputs */
} entry;

static const tn_AllocatedPoolInfo *pool_at(const entry *e, int64_t i) {
  return (const tn_AllocatedPoolInfo *)tn_arr_obj(e->p->metadata->pools, i);
}

static bool is_internal(const entry *e, int64_t i) { return pool_at(e, i)->pool_info->is_internal; }

/* Nothing of it is used: there is no memory then. */
static bool is_empty(const entry *e, int64_t i) {
  int64_t bytes = 0;
  tir_as_int((const tn_obj *)pool_at(e, i)->allocated_size, &bytes);
  return bytes == 0;
}

static void put_pool_name(const entry *e, int64_t i, tn_buf *out) {
  aot_put_identifier(out, tn_cstr(pool_at(e, i)->pool_info->pool_name));
}

/* Memory that is part of the program; where it lies may be said when this is compiled. */
static void put_internal_pools(const entry *e, tn_buf *out) {
  const tn_ExecutorCodegenMetadata *m = e->p->metadata;
  bool first = true;
  for (int64_t i = 0; i < m->pools->len; ++i) {
    int64_t bytes = 0;
    if (!is_internal(e, i) || is_empty(e, i)) continue;
    tir_as_int((const tn_obj *)pool_at(e, i)->allocated_size, &bytes);
    if (first)
      tn_buf_printf(out,
                    "#ifndef TENON_WORKSPACE /* may be defined as an attribute: a section, say */\n"
                    "#define TENON_WORKSPACE\n#endif\n"
                    "#if defined(__GNUC__)\n#define ALIGNED_ __attribute__((aligned(%" PRId64
                    ")))\n"
                    "#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L\n"
                    "#define ALIGNED_ _Alignas(%" PRId64 ")\n#else\n#define ALIGNED_\n#endif\n\n",
                    m->workspace_alignment, m->workspace_alignment);
    first = false;
    tn_buf_puts(out, "TENON_WORKSPACE ALIGNED_ static uint64_t ");
    put_pool_name(e, i, out);
    tn_buf_printf(out, "_[%" PRId64 "];\n", (bytes + 7) / 8);
  }
  tn_buf_putc(out, '\n');
}

static void put_pool(const entry *e, int64_t i, tn_buf *out) {
  if (is_internal(e, i) && is_empty(e, i)) {
    tn_buf_puts(out, "(uint8_t*)0");
    return;
  }
  if (!is_internal(e, i)) tn_buf_puts(out, "workspace_pools->");
  else tn_buf_puts(out, "(uint8_t*)");
  put_pool_name(e, i, out);
  if (is_internal(e, i)) tn_buf_putc(out, '_');
}

/* ---- the C interface ---- */

static void put_members(const tn_arr *names, const char *from, bool *first, tn_buf *out) {
  for (int64_t i = 0; i < names->len; ++i) {
    tn_buf_printf(out, "%s%s->", *first ? "" : ", ", from);
    aot_put_identifier(out, tn_cstr((const tn_str *)tn_arr_obj(names, i)));
    *first = false;
  }
}

/* Pools that the caller gives; the code of tn_micro_status. */
static void put_alignment_checks(const entry *e, tn_buf *out) {
  const tn_ExecutorCodegenMetadata *m = e->p->metadata;
  for (int64_t i = 0; i < m->pools->len; ++i) {
    if (is_internal(e, i)) continue;
    tn_buf_puts(out, "  if ((uintptr_t)");
    put_pool(e, i, out);
    tn_buf_printf(out, " %% %" PRId64 " != 0) return -4; /* TN_MICRO_UNALIGNED */\n",
                  m->workspace_alignment);
  }
}

static int64_t pool_named(const entry *e, const tn_PoolInfo *pool) {
  int64_t i = 0;
  while (i + 1 < e->p->metadata->pools->len && pool_at(e, i)->pool_info != pool) ++i;
  return i;
}

/* Where inputs, or outputs, lie in the pools. */
static void put_map_function(const entry *e, const aot_interface *x, const char *which,
                             const tn_arr *names, tn_buf *out) {
  bool pools = false;
  for (int twice = 0; twice < 2; ++twice) {
    aot_put_map_head(x, which, out);
    tn_buf_puts(out, twice ? " {\n" : ";\n");
  }
  tn_buf_puts(out, "  struct tvmgen_");
  driver_put_identifier(out, x->name);
  tn_buf_printf(out, "_%s at;\n", which);
  for (int64_t i = 0; i < names->len; ++i) {
    tn_any place;
    int64_t offset = 0;
    if (!tn_map_get(x->places, names->items[i], &place)) continue;
    const tn_PoolAllocation *p = (const tn_PoolAllocation *)place.v.obj;
    int64_t pool = pool_named(e, p->pool_info);
    tir_as_int((const tn_obj *)p->byte_offset, &offset);
    tn_buf_puts(out, "  at.");
    aot_put_identifier(out, tn_cstr((const tn_str *)names->items[i].v.obj));
    tn_buf_puts(out, " = (uint8_t*)");
    put_pool(e, pool, out);
    tn_buf_printf(out, " + %" PRId64 ";\n", offset);
    pools = pools || !is_internal(e, pool);
  }
  if (!names->len) tn_buf_puts(out, "  at.nothing_ = 0;\n");
  if (!pools && aot_has_pools(x)) tn_buf_puts(out, "  (void)workspace_pools;\n");
  tn_buf_puts(out, "  return at;\n}\n\n");
}

static int put_c_run(const entry *e, const aot_interface *x, tn_buf *out) {
  const tn_ExecutorCodegenMetadata *m = e->p->metadata;
  bool first = true, tensors = !aot_maps_io(x);
  TN_TRY(aot_put_structs(x, out));
  if (!tensors) {
    tn_buf_putc(out, '\n');
    put_map_function(e, x, "inputs", m->inputs, out);
    put_map_function(e, x, "outputs", m->outputs, out);
  }
  tn_buf_putc(out, '\n');
  aot_put_run_head(x, out);
  tn_buf_puts(out, ";\n");
  aot_put_run_head(x, out);
  tn_buf_puts(out, " {\n");
  if (tensors && !m->inputs->len) tn_buf_puts(out, "  (void)inputs;\n");
  if (tensors && !m->outputs->len) tn_buf_puts(out, "  (void)outputs;\n");
  put_alignment_checks(e, out);
  tn_buf_printf(out, "  return %s(", tn_cstr(e->symbol));
  if (tensors) put_members(m->inputs, "inputs", &first, out);
  if (tensors) put_members(m->outputs, "outputs", &first, out);
  for (int64_t i = 0; i < m->pools->len; ++i) {
    tn_buf_puts(out, first ? "" : ", ");
    put_pool(e, i, out);
    first = false;
  }
  tn_buf_puts(out, ");\n}\n");
  return 0;
}

/* ---- the packed interface ---- */

static const char packed_params[] =
    "(void* args, int32_t* type_codes, int32_t num_args, void* out_value, int32_t* out_code, void* "
    "resource_handle)";

static void put_data(int64_t i, bool first, tn_buf *out) {
  tn_buf_printf(out,
                "%s(char*)((DLTensor*)((TVMValue*)args)[%" PRId64
                "].v_handle)->data +\n      ((DLTensor*)((TVMValue*)args)[%" PRId64
                "].v_handle)->byte_offset",
                first ? "\n      (void*)(" : "),\n      (void*)(", i, i);
}

/* main takes data pointers. */
static void put_unpacking_run(const entry *e, tn_buf *out) {
  const tn_ExecutorCodegenMetadata *m = e->p->metadata;
  tn_buf_puts(out, "  (void)type_codes, (void)out_value, (void)out_code, (void)resource_handle;\n");
  tn_buf_printf(out, "  if (num_args != %" PRId64 ") return -1;\n  return %s(", e->ntensor,
                tn_cstr(e->symbol));
  for (int64_t i = 0; i < e->ntensor; ++i) put_data(i, i == 0, out);
  if (e->ntensor) tn_buf_putc(out, ')');
  for (int64_t i = 0; i < m->pools->len; ++i) {
    tn_buf_puts(out, i || e->ntensor ? ", " : "");
    put_pool(e, i, out);
  }
  tn_buf_puts(out, ");\n");
}

/* main is packed too; pools become arguments behind the caller's. */
static void put_passing_run(const entry *e, tn_buf *out) {
  const tn_ExecutorCodegenMetadata *m = e->p->metadata;
  int64_t n = e->ntensor, all = n + m->pools->len;
  if (all == n) {
    tn_buf_printf(
        out, "  return %s(args, type_codes, num_args, out_value, out_code, resource_handle);\n",
        tn_cstr(e->symbol));
    return;
  }
  tn_buf_printf(out,
                "  TVMValue values[%" PRId64 "];\n  int32_t codes[%" PRId64
                "];\n  if (num_args != %" PRId64 ") return -1;\n  for (int32_t i = 0; i < %" PRId64
                "; ++i) {\n    values[i] = ((TVMValue*)args)[i];\n    codes[i] = type_codes[i];\n"
                "  }\n",
                all, all, n, n);
  for (int64_t i = 0; i < m->pools->len; ++i) {
    tn_buf_printf(out, "  values[%" PRId64 "].v_handle = ", n + i);
    put_pool(e, i, out);
    tn_buf_printf(out, ";\n  codes[%" PRId64 "] = kTVMOpaqueHandle;\n", n + i);
  }
  tn_buf_printf(out,
                "  return %s(values, codes, %" PRId64 ", out_value, out_code, resource_handle);\n",
                tn_cstr(e->symbol), all);
}

static int put_packed_run(const entry *e, tn_buf *out) {
  for (int twice = 0; twice < 2; ++twice) {
    tn_buf_puts(out, "TVM_DLL int32_t tvmgen_");
    driver_put_identifier(out, tn_cstr(e->p->metadata->mod_name));
    tn_buf_printf(out, "_run%s%s\n", packed_params, twice ? " {" : ";");
  }
  if (e->p->metadata->unpacked_api) put_unpacking_run(e, out);
  else put_passing_run(e, out);
  tn_buf_puts(out, "}\n");
  return 0;
}

static int put_packed(const entry *e, tn_buf *out) {
  for (int64_t i = 0; i < e->p->metadata->pools->len; ++i)
    TN_CHECK(is_internal(e, i), ValueError, NULL,
             "interface-api packed: the caller cannot give the pool %s: use interface-api c",
             tn_cstr(pool_at(e, i)->pool_info->pool_name));
  return put_packed_run(e, out);
}

int aot_entry(const aot_program *p, const aot_options *o, tn_buf *out) {
  const tn_ExecutorCodegenMetadata *m = p->metadata;
  entry e = {.p = p, .ntensor = m->inputs->len + m->outputs->len};
  aot_interface x = {.name = tn_cstr(m->mod_name),
                     .inputs = m->inputs,
                     .outputs = m->outputs,
                     .pools = m->pools,
                     .devices = m->devices,
                     .places = m->io_pool_allocations};
  tn_GlobalVar *v;
  TN_GET(e.symbol, aot_symbol(tn_cstr(m->mod_name), "__tvm_main__"));
  TN_GET(v, ir_module_var(p->programs, tn_cstr(e.symbol)));
  TN_GET(e.main, (tn_PrimFunc *)ir_module_lookup(p->programs, v));
  tn_buf_puts(out, "// the model as one function\n#include \"tvm/runtime/c_runtime_api.h\"\n"
                   "#include <stdint.h>\n\n");
  TN_TRY(c_prototype(e.main, tn_cstr(e.symbol), out));
  tn_buf_putc(out, '\n');
  put_internal_pools(&e, out);
  TN_TRY(o->c_interface ? put_c_run(&e, &x, out) : put_packed(&e, out));
  return tn_buf_ok(out);
}
