/* Relocations: what they need, and how they are written. The names are those of the processors'
   supplements to the System V ABI; S is the symbol's address, A the addend, P the place. */
#include <string.h>

#include "codegen/elf/elf.h"

typedef enum {
  NOTHING,
  ABSOLUTE, /* 64 bits: S + A */
  RELATIVE, /* 32 bits: S + A - P */
  RELATIVE_64,
  CALL, /* the same, by way of a stub when the symbol is elsewhere */
  SLOT, /* 32 bits: slot of S + A - P */
  PAGE, /* aarch64 adrp: pages from P to S + A */
  PAGE_SLOT,
  LOW, /* the low 12 bits of S + A, for an add or a load; `shift`: of the loaded size */
  LOW_SLOT,
  BRANCH, /* a branch of `shift` bits at bit 5: local only */
  FAR     /* b, bl: 26 bits */
} kind;

typedef struct {
  uint32_t type;
  kind what;
  int shift;
} row;

static const row x86_64[] = {
    {R_X86_64_NONE, NOTHING, 0},   {R_X86_64_64, ABSOLUTE, 0},        {R_X86_64_PC32, CALL, 0},
    {R_X86_64_PLT32, CALL, 0},     {R_X86_64_PC64, RELATIVE_64, 0},   {R_X86_64_GOTPCREL, SLOT, 0},
    {R_X86_64_GOTPCRELX, SLOT, 0}, {R_X86_64_REX_GOTPCRELX, SLOT, 0},
};
static const row aarch64[] = {
    {R_AARCH64_NONE, NOTHING, 0},
    {R_AARCH64_ABS64, ABSOLUTE, 0},
    {R_AARCH64_PREL32, RELATIVE, 0},
    {R_AARCH64_PREL64, RELATIVE_64, 0},
    {R_AARCH64_ADR_PREL_PG_HI21, PAGE, 0},
    {R_AARCH64_ADR_PREL_PG_HI21_NC, PAGE, 0},
    {R_AARCH64_ADD_ABS_LO12_NC, LOW, 0},
    {R_AARCH64_LDST8_ABS_LO12_NC, LOW, 0},
    {R_AARCH64_LDST16_ABS_LO12_NC, LOW, 1},
    {R_AARCH64_LDST32_ABS_LO12_NC, LOW, 2},
    {R_AARCH64_LDST64_ABS_LO12_NC, LOW, 3},
    {R_AARCH64_LDST128_ABS_LO12_NC, LOW, 4},
    {R_AARCH64_TSTBR14, BRANCH, 14},
    {R_AARCH64_CONDBR19, BRANCH, 19},
    {R_AARCH64_JUMP26, FAR, 0},
    {R_AARCH64_CALL26, FAR, 0},
    {R_AARCH64_ADR_GOT_PAGE, PAGE_SLOT, 0},
    {R_AARCH64_LD64_GOT_LO12_NC, LOW_SLOT, 3},
};

static const row *find(const elf_link *l, uint32_t type) {
  bool arm = l->machine == EM_AARCH64;
  const row *rows = arm ? aarch64 : x86_64;
  int n = arm ? TN_COUNT(aarch64) : TN_COUNT(x86_64);
  for (int i = 0; i < n; ++i)
    if (rows[i].type == type) return &rows[i];
  return NULL;
}

static int need_definition(const elf_object *o, const elf_symbol *s) {
  TN_CHECK(s->obj || s->weak, ValueError, NULL,
           "%s: %s has to be defined in the library: its address is built into the code", o->path,
           s->name);
  return 0;
}

int elf_scan(elf_link *l, elf_object *o, elf_place at, const Elf64_Rela *r, elf_symbol *s) {
  const row *w = find(l, (uint32_t)ELF64_R_TYPE(r->r_info));
  TN_CHECK(w, ValueError, NULL,
           "%s: relocation %u is not supported: install a linker (gcc) to export", o->path,
           (unsigned)ELF64_R_TYPE(r->r_info));
  switch (w->what) {
  case NOTHING: return 0;
  case CALL:
  case FAR:
    if (!s->obj && s->plt < 0) s->plt = l->nplt++;
    if (!s->obj && s->got < 0) s->got = l->ngot++;
    return 0;
  case SLOT:
  case PAGE_SLOT:
  case LOW_SLOT:
    if (s->got < 0) s->got = l->ngot++;
    return 0;
  case ABSOLUTE:
    TN_CHECK(at.region >= ELF_INIT, ValueError, NULL,
             "%s: an address lies in memory that cannot be written", o->path);
    TN_CHECK(at.offset + 8 <= l->size[at.region], ValueError, NULL,
             "%s: a relocation is outside of its section", o->path);
    *(s->obj ? &l->nrelative : &l->nabsolute) += 1;
    return 0;
  case RELATIVE:
  case RELATIVE_64:
  case PAGE:
  case LOW:
  case BRANCH: return need_definition(o, s);
  }
  return 0;
}

/* ---- writing ---- */

static uint32_t load32(const char *p) {
  uint32_t x;
  memcpy(&x, p, sizeof x);
  return x;
}
static void store32(char *p, uint32_t x) { memcpy(p, &x, sizeof x); }

/* Replaces the bits of `mask` in an instruction. */
static void insert(char *p, uint32_t mask, uint64_t bits) {
  store32(p, (load32(p) & ~mask) | ((uint32_t)bits & mask));
}

static int too_far(const elf_object *o) {
  return TN_RAISE(ValueError, NULL, "%s: code and data are too far apart: install a linker (gcc)",
                  o->path);
}

static bool in_bits(int64_t v, int bits) {
  return v >= -(INT64_C(1) << (bits - 1)) && v < INT64_C(1) << (bits - 1);
}

/* adrp has the two low bits of the page apart. */
static int put_page(const elf_object *o, char *p, uint64_t to, uint64_t from) {
  int64_t pages = (int64_t)((to & ~UINT64_C(4095)) - (from & ~UINT64_C(4095))) >> 12;
  if (!in_bits(pages, 21)) return too_far(o);
  insert(p, 0x60ffffe0U, ((uint64_t)pages & 3) << 29 | ((uint64_t)pages >> 2 & 0x7ffff) << 5);
  return 0;
}

static int put_branch(const elf_object *o, char *p, int bits, int at, int64_t distance) {
  if (!in_bits(distance, bits + 2) || distance & 3) return too_far(o);
  uint32_t mask = ((UINT32_C(1) << bits) - 1) << at;
  insert(p, mask, (uint64_t)(distance >> 2) << at);
  return 0;
}

static int put_relative(const elf_object *o, char *p, int64_t distance) {
  if (!in_bits(distance, 32)) return too_far(o);
  store32(p, (uint32_t)distance);
  return 0;
}

void elf_put_rela(elf_link *l, uint64_t at, uint32_t symbol, bool relative, bool slot,
                  int64_t addend) {
  bool arm = l->machine == EM_AARCH64;
  uint32_t type = relative ? (arm ? R_AARCH64_RELATIVE : R_X86_64_RELATIVE)
                  : slot   ? (arm ? R_AARCH64_GLOB_DAT : R_X86_64_GLOB_DAT)
                           : (arm ? R_AARCH64_ABS64 : R_X86_64_64);
  Elf64_Rela r = {at, ELF64_R_INFO((uint64_t)symbol, type), addend};
  tn_buf_put(&l->relocations, &r, sizeof r);
}

static int put_absolute(elf_link *l, uint64_t place, const elf_symbol *s, int64_t addend) {
  uint64_t value = elf_address(l, s) + (uint64_t)addend;
  elf_put_rela(l, place, (uint32_t)s->dynamic, s->obj != NULL, false,
               s->obj ? (int64_t)value : addend);
  return 0;
}

int elf_apply(elf_link *l, elf_object *o, elf_place at, const Elf64_Rela *r, elf_symbol *s) {
  const row *w = find(l, (uint32_t)ELF64_R_TYPE(r->r_info));
  char *p = l->content[at.region].data + at.offset;
  uint64_t place = l->address[at.region] + at.offset, add = (uint64_t)r->r_addend;
  uint64_t slot = l->got_address + (uint64_t)(s->got < 0 ? 0 : s->got) * 8;
  uint64_t stub = l->plt_address + (uint64_t)(s->plt < 0 ? 0 : s->plt) * elf_stub_size(l->machine);
  uint64_t to = elf_address(l, s) + add, call = s->plt < 0 ? to : stub + add;
  switch (w->what) {
  case NOTHING: return 0;
  case ABSOLUTE: return put_absolute(l, place, s, r->r_addend);
  case RELATIVE: return put_relative(o, p, (int64_t)(to - place));
  case CALL: return put_relative(o, p, (int64_t)(call - place));
  case SLOT: return put_relative(o, p, (int64_t)(slot + add - place));
  case RELATIVE_64: {
    uint64_t v = to - place;
    TN_CHECK(at.offset + 8 <= l->content[at.region].len, ValueError, NULL,
             "%s: a relocation is outside of its section", o->path);
    memcpy(p, &v, sizeof v);
    return 0;
  }
  case PAGE: return put_page(o, p, to, place);
  case PAGE_SLOT: return put_page(o, p, slot + add, place);
  case LOW: insert(p, 0x3ffc00U, ((to & 4095) >> w->shift) << 10); return 0;
  case LOW_SLOT: insert(p, 0x3ffc00U, (((slot + add) & 4095) >> w->shift) << 10); return 0;
  case BRANCH: return put_branch(o, p, w->shift, 5, (int64_t)(to - place));
  case FAR: return put_branch(o, p, 26, 0, (int64_t)(call - place));
  }
  return 0;
}

/* ---- stubs ---- */

uint64_t elf_stub_size(uint16_t machine) { return machine == EM_AARCH64 ? 16 : 8; }

/* x86-64: jmp *slot(%rip); int3; int3   aarch64: adrp x16, slot; ldr x17, [x16, slot]; br x17; nop
 */
void elf_put_stub(const elf_link *l, tn_buf *out, uint64_t at, uint64_t slot) {
  char code[16] = {(char)0xff, 0x25, 0, 0, 0, 0, (char)0xcc, (char)0xcc};
  if (l->machine == EM_AARCH64) {
    uint64_t pages = ((slot >> 12) - (at >> 12)) & 0x1fffff;
    store32(code, 0x90000010U);
    insert(code, 0x60ffffe0U, (pages & 3) << 29 | (pages >> 2) << 5);
    store32(code + 4, 0xf9400211U | (uint32_t)((slot & 4095) >> 3) << 10);
    store32(code + 8, 0xd61f0220U);
    store32(code + 12, 0xd503201fU);
  } else {
    store32(code + 2, (uint32_t)(slot - at - 6));
  }
  tn_buf_put(out, code, elf_stub_size(l->machine));
}
