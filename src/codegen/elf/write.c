/* The shared library: three segments (constants, code, data), the tables of the dynamic linker, and
   a section table, which loading does not need but nm, objdump and debuggers do.

     .hash .dynsym .dynstr .rela.dyn .rodata | .text .plt | .init_array .fini_array .data .got
     .dynamic .bss */
#include <string.h>

#include "base/file.h"
#include "codegen/elf/elf.h"

typedef enum {
  NONE,
  HASH,
  DYNSYM,
  DYNSTR,
  RELA,
  RODATA,
  TEXT,
  PLT,
  INIT,
  FINI,
  DATA,
  GOT,
  DYNAMIC,
  BSS,
  NAMES,
  PIECES
} piece;

typedef struct {
  const char *name;
  uint32_t type;
  uint64_t flags;
  piece link;
  uint64_t entry;
} piece_row;

static const piece_row rows[PIECES] = {
    [HASH] = {".hash", SHT_HASH, SHF_ALLOC, DYNSYM, 4},
    [DYNSYM] = {".dynsym", SHT_DYNSYM, SHF_ALLOC, DYNSTR, sizeof(Elf64_Sym)},
    [DYNSTR] = {".dynstr", SHT_STRTAB, SHF_ALLOC, NONE, 0},
    [RELA] = {".rela.dyn", SHT_RELA, SHF_ALLOC, DYNSYM, sizeof(Elf64_Rela)},
    [RODATA] = {".rodata", SHT_PROGBITS, SHF_ALLOC, NONE, 0},
    [TEXT] = {".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, NONE, 0},
    [PLT] = {".plt", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, NONE, 0},
    [INIT] = {".init_array", SHT_INIT_ARRAY, SHF_ALLOC | SHF_WRITE, NONE, 8},
    [FINI] = {".fini_array", SHT_FINI_ARRAY, SHF_ALLOC | SHF_WRITE, NONE, 8},
    [DATA] = {".data", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, NONE, 0},
    [GOT] = {".got", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, NONE, 8},
    [DYNAMIC] = {".dynamic", SHT_DYNAMIC, SHF_ALLOC | SHF_WRITE, DYNSTR, sizeof(Elf64_Dyn)},
    [BSS] = {".bss", SHT_NOBITS, SHF_ALLOC | SHF_WRITE, NONE, 0},
    [NAMES] = {".shstrtab", SHT_STRTAB, 0, NONE, 0},
};
static const piece region_piece[ELF_REGIONS] = {
    [ELF_RODATA] = RODATA, [ELF_TEXT] = TEXT, [ELF_INIT] = INIT,
    [ELF_FINI] = FINI,     [ELF_DATA] = DATA, [ELF_BSS] = BSS};

enum { SEGMENTS = 3, HEADERS = SEGMENTS + 2 }; /* and those of .dynamic and the stack */
static const piece first_of[SEGMENTS + 1] = {HASH, TEXT, INIT, NAMES};
static const uint32_t rights[SEGMENTS] = {PF_R, PF_R | PF_X, PF_R | PF_W};

typedef struct {
  elf_link *l;
  tn_buf data[PIECES];
  uint64_t size[PIECES], align[PIECES], offset[PIECES], address[PIECES];
  int32_t ndynamic; /* symbols of the dynamic linker's table */
} library;

static void put(tn_buf *b, const void *data, size_t n) { tn_buf_put(b, data, n); }

/* ---- what is known before addresses are ---- */

static uint32_t add_name(tn_buf *names, const char *name) {
  uint32_t at = (uint32_t)names->len;
  put(names, name, strlen(name) + 1);
  return at;
}

/* Numbers the symbols that the dynamic linker sees, and collects their names. */
static void number_symbols(library *b) {
  tn_buf_putc(&b->data[DYNSTR], '\0');
  b->ndynamic = 1;
  for (int32_t i = 0; i < b->l->nsymbol; ++i) {
    elf_symbol *s = &b->l->symbols[i];
    bool own = s->obj && s->hidden, table = strcmp(s->name, "_GLOBAL_OFFSET_TABLE_") == 0;
    if (!*s->name || own || table) continue;
    s->dynamic = b->ndynamic++;
  }
}

static uint32_t hash_of(const char *name) {
  uint32_t h = 0;
  for (; *name; ++name) {
    h = (h << 4) + (unsigned char)*name;
    uint32_t top = h & 0xf0000000U;
    h = (h ^ top >> 24) & ~top;
  }
  return h;
}

/* One chain for every second symbol: buckets lead to a symbol, chains to the next. */
static int make_hash(library *b) {
  uint32_t n = (uint32_t)b->ndynamic, buckets = n / 2 + 1;
  tn_buf *h = &b->data[HASH];
  tn_buf_u32(h, buckets);
  tn_buf_u32(h, n);
  tn_buf_pad(h, '\0', (size_t)(buckets + n) * 4);
  TN_TRY(tn_buf_ok(h));
  uint32_t *table = (uint32_t *)(void *)(h->data + 8), *chain = table + buckets;
  for (int32_t i = 0; i < b->l->nsymbol; ++i) {
    const elf_symbol *s = &b->l->symbols[i];
    if (!s->dynamic) continue;
    uint32_t k = hash_of(s->name) % buckets;
    chain[s->dynamic] = table[k];
    table[k] = (uint32_t)s->dynamic;
  }
  return 0;
}

static const char *const needed[] = {"libm.so.6", "libc.so.6"};

static void make_sizes(library *b) {
  elf_link *l = b->l;
  for (int i = 0; i < ELF_REGIONS; ++i) {
    b->size[region_piece[i]] = l->size[i];
    b->align[region_piece[i]] = l->align[i];
  }
  for (int32_t i = 0; i < l->nsymbol; ++i) /* the names come with the symbols, later */
    if (l->symbols[i].dynamic) b->size[DYNSTR] += strlen(l->symbols[i].name) + 1;
  for (int i = 0; i < TN_COUNT(needed); ++i) b->size[DYNSTR] += strlen(needed[i]) + 1;
  b->size[DYNSTR] += 1;
  b->size[HASH] = b->data[HASH].len;
  b->size[DYNSYM] = (uint64_t)b->ndynamic * sizeof(Elf64_Sym);
  b->size[RELA] = (uint64_t)(l->ngot + l->nrelative + l->nabsolute) * sizeof(Elf64_Rela);
  b->size[PLT] = (uint64_t)l->nplt * elf_stub_size(l->machine);
  b->size[GOT] = (uint64_t)l->ngot * 8;
  b->size[DYNAMIC] = (uint64_t)(14 + TN_COUNT(needed)) * sizeof(Elf64_Dyn);
}

/* Offsets in the file and addresses agree within a page; each segment has its own pages. */
static uint64_t place(library *b) {
  uint64_t page = b->l->machine == EM_AARCH64 ? 0x10000 : 0x1000, gap = 0;
  uint64_t at = sizeof(Elf64_Ehdr) + HEADERS * sizeof(Elf64_Phdr);
  for (int i = HASH; i < NAMES; ++i) {
    if (i == TEXT || i == INIT) gap += page;
    uint64_t align = b->align[i] < 16 ? 16 : b->align[i];
    at = (at + align - 1) & ~(align - 1);
    b->offset[i] = at;
    b->address[i] = at + gap;
    if (i != BSS) at += b->size[i];
  }
  b->offset[NAMES] = at;
  for (int i = 0; i < ELF_REGIONS; ++i) b->l->address[i] = b->address[region_piece[i]];
  b->l->got_address = b->address[GOT];
  b->l->plt_address = b->address[PLT];
  return page;
}

/* ---- what depends on addresses ---- */

static elf_region region_of(const elf_symbol *s) {
  return s->sym->st_shndx == SHN_ABS ? ELF_NOWHERE : s->obj->places[s->sym->st_shndx].region;
}

static void put_symbol(library *b, const elf_symbol *s) {
  Elf64_Sym y = {.st_name = add_name(&b->data[DYNSTR], s->name)};
  unsigned binding = s->weak ? STB_WEAK : STB_GLOBAL, type = ELF64_ST_TYPE(s->sym->st_info);
  y.st_info = (unsigned char)(binding << 4 | type);
  if (s->obj) {
    elf_region r = region_of(s);
    y.st_shndx = r == ELF_NOWHERE ? SHN_ABS : (uint16_t)region_piece[r];
    y.st_value = elf_address(b->l, s);
    y.st_size = s->sym->st_size;
  }
  put(&b->data[DYNSYM], &y, sizeof y);
}

static void put_slots(library *b) {
  elf_link *l = b->l;
  tn_buf_pad(&b->data[GOT], '\0', (size_t)l->ngot * 8);
  for (int32_t k = 0; k < l->nplt; ++k) /* the stubs lie in the order of their numbers */
    for (int32_t i = 0; i < l->nsymbol; ++i)
      if (l->symbols[i].plt == k)
        elf_put_stub(l, &b->data[PLT], l->plt_address + b->data[PLT].len,
                     l->got_address + (uint64_t)l->symbols[i].got * 8);
  for (int32_t i = 0; i < l->nsymbol; ++i) {
    const elf_symbol *s = &l->symbols[i];
    if (s->got < 0) continue;
    uint64_t value = s->obj ? elf_address(l, s) : 0;
    elf_put_rela(l, l->got_address + (uint64_t)s->got * 8, (uint32_t)(s->obj ? 0 : s->dynamic),
                 s->obj != NULL, true, (int64_t)value);
  }
}

static void put_entry(library *b, int64_t tag, uint64_t value) {
  Elf64_Dyn d = {.d_tag = tag, .d_un.d_val = value};
  put(&b->data[DYNAMIC], &d, sizeof d);
}

static void put_dynamic(library *b) {
  for (int i = 0; i < TN_COUNT(needed); ++i)
    put_entry(b, DT_NEEDED, add_name(&b->data[DYNSTR], needed[i]));
  put_entry(b, DT_HASH, b->address[HASH]);
  put_entry(b, DT_SYMTAB, b->address[DYNSYM]);
  put_entry(b, DT_SYMENT, sizeof(Elf64_Sym));
  put_entry(b, DT_STRTAB, b->address[DYNSTR]);
  put_entry(b, DT_STRSZ, b->size[DYNSTR]);
  put_entry(b, DT_RELA, b->address[RELA]);
  put_entry(b, DT_RELASZ, b->size[RELA]);
  put_entry(b, DT_RELAENT, sizeof(Elf64_Rela));
  if (b->size[INIT]) {
    put_entry(b, DT_INIT_ARRAY, b->address[INIT]);
    put_entry(b, DT_INIT_ARRAYSZ, b->size[INIT]);
  }
  if (b->size[FINI]) {
    put_entry(b, DT_FINI_ARRAY, b->address[FINI]);
    put_entry(b, DT_FINI_ARRAYSZ, b->size[FINI]);
  }
  put_entry(b, DT_FLAGS, DF_BIND_NOW);
  tn_buf_pad(&b->data[DYNAMIC], '\0', b->size[DYNAMIC] - b->data[DYNAMIC].len); /* DT_NULL */
}

static int fill(library *b) {
  elf_link *l = b->l;
  Elf64_Sym none = {0};
  put(&b->data[DYNSYM], &none, sizeof none);
  for (int32_t i = 0; i < l->nsymbol; ++i)
    if (l->symbols[i].dynamic) put_symbol(b, &l->symbols[i]);
  put_slots(b);
  put_dynamic(b);
  TN_TRY(elf_each_relocation(l, elf_apply));
  TN_TRY(tn_buf_ok(&l->relocations));
  TN_CHECK(l->relocations.len == b->size[RELA], InternalError, NULL,
           "the linker counted %llu bytes of relocations and wrote %zu",
           (unsigned long long)b->size[RELA], l->relocations.len);
  return 0;
}

/* ---- the file ---- */

static void put_head(const library *b, tn_buf *out, uint64_t sections) {
  Elf64_Ehdr h = {.e_type = ET_DYN,
                  .e_machine = b->l->machine,
                  .e_version = EV_CURRENT,
                  .e_phoff = sizeof h,
                  .e_shoff = sections,
                  .e_ehsize = sizeof h,
                  .e_phentsize = sizeof(Elf64_Phdr),
                  .e_phnum = HEADERS,
                  .e_shentsize = sizeof(Elf64_Shdr),
                  .e_shnum = PIECES,
                  .e_shstrndx = NAMES};
  memcpy(h.e_ident, ELFMAG, SELFMAG);
  h.e_ident[EI_CLASS] = ELFCLASS64;
  h.e_ident[EI_DATA] = ELFDATA2LSB;
  h.e_ident[EI_VERSION] = EV_CURRENT;
  put(out, &h, sizeof h);
}

static void put_segments(const library *b, tn_buf *out, uint64_t page) {
  for (int i = 0; i < SEGMENTS; ++i) {
    piece first = first_of[i], last = first_of[i + 1] - 1;
    uint64_t begin = i == 0 ? 0 : b->offset[first]; /* the first one holds the headers */
    uint64_t start = i == 0 ? 0 : b->address[first];
    uint64_t file_end =
        last == BSS ? b->offset[DYNAMIC] + b->size[DYNAMIC] : b->offset[last] + b->size[last];
    Elf64_Phdr p = {.p_type = PT_LOAD, .p_flags = rights[i], .p_offset = begin, .p_vaddr = start};
    p.p_paddr = start;
    p.p_filesz = file_end - begin;
    p.p_memsz = b->address[last] + b->size[last] - start;
    p.p_align = page;
    put(out, &p, sizeof p);
  }
  Elf64_Phdr d = {.p_type = PT_DYNAMIC, .p_flags = PF_R | PF_W, .p_offset = b->offset[DYNAMIC]};
  d.p_vaddr = d.p_paddr = b->address[DYNAMIC];
  d.p_filesz = d.p_memsz = b->size[DYNAMIC];
  d.p_align = 8;
  put(out, &d, sizeof d);
  Elf64_Phdr stack = {.p_type = PT_GNU_STACK, .p_flags = PF_R | PF_W, .p_align = 16};
  put(out, &stack, sizeof stack);
}

static void put_content(const library *b, tn_buf *out) {
  for (int i = HASH; i < BSS; ++i) {
    const tn_buf *data = &b->data[i];
    for (int r = 0; r < ELF_REGIONS; ++r)
      if (region_piece[r] == (piece)i) data = &b->l->content[r];
    if (i == RELA) data = &b->l->relocations;
    tn_buf_pad(out, '\0', b->offset[i] - out->len);
    put(out, data->data, data->len);
  }
}

static void put_sections(const library *b, tn_buf *out, const uint32_t *names) {
  for (int i = 0; i < PIECES; ++i) {
    const piece_row *r = &rows[i];
    Elf64_Shdr s = {.sh_name = names[i], .sh_type = r->type, .sh_flags = r->flags};
    if (i != NONE) s.sh_addralign = b->align[i] < 16 ? 16 : b->align[i];
    s.sh_addr = i == NAMES ? 0 : b->address[i];
    s.sh_offset = b->offset[i];
    s.sh_size = b->size[i];
    s.sh_link = (uint32_t)r->link;
    s.sh_entsize = r->entry;
    if (i == DYNSYM) s.sh_info = 1; /* the first that is not local */
    put(out, &s, sizeof s);
  }
}

static int write_file(library *b, const char *path, uint64_t page) {
  TN_BUF(out);
  uint32_t names[PIECES];
  tn_buf_putc(&b->data[NAMES], '\0');
  for (int i = 0; i < PIECES; ++i)
    names[i] = rows[i].name ? add_name(&b->data[NAMES], rows[i].name) : 0;
  b->size[NAMES] = b->data[NAMES].len;
  uint64_t sections = (b->offset[NAMES] + b->size[NAMES] + 7) & ~UINT64_C(7);
  put_head(b, &out, sections);
  put_segments(b, &out, page);
  put_content(b, &out);
  put(&out, b->data[NAMES].data, b->data[NAMES].len);
  tn_buf_pad(&out, '\0', sections - out.len);
  put_sections(b, &out, names);
  TN_TRY(tn_buf_ok(&out));
  return tn_file_write_as(path, out.data, out.len, TN_FILE_PROGRAM);
}

static int write(library *b, const char *path) {
  number_symbols(b);
  TN_TRY(make_hash(b));
  make_sizes(b);
  uint64_t page = place(b);
  TN_TRY(fill(b));
  for (int i = 0; i < PIECES; ++i) TN_TRY(tn_buf_ok(&b->data[i]));
  return write_file(b, path, page);
}

int elf_write(elf_link *l, const char *path) {
  library b = {.l = l};
  int err = write(&b, path);
  for (int i = 0; i < PIECES; ++i) tn_buf_fini(&b.data[i]);
  return err;
}
