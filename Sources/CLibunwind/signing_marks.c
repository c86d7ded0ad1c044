// Where the unwind tables say that a return address is signed (return_address.h).
#define _GNU_SOURCE
#include "unwinder.h"

#if defined(__aarch64__)

#include <string.h>

// DWARF 5, 6.4.1 and 7.24; the numbers of the instructions are those of table 7.29, LSB Core and the AArch64 ABI.
enum {
    OFFSET = 0x80, KINDS = 0xc0,  // the two upper bits; the other two kinds have nothing behind them
    ADVANCE_1 = 0x02, ADVANCE_4 = 0x04, REMEMBER = 0x0a, RESTORE_STATE = 0x0b,
    DEFINE_EXPRESSION = 0x0f, EXPRESSION = 0x10, VALUE_EXPRESSION = 0x16, NEGATE_SIGNED = 0x2d,
    ENTRY_BYTES = 1024,  // of an entry so much is read
    COMMON_BYTES = 64,
};

typedef struct reader { const uint8_t *next, *end; } reader;

static uint64_t clu_take_number(reader *from) {
    uint64_t value = 0;
    for (int shift = 0; from->next < from->end; shift += 7) {
        uint8_t byte = *from->next++;
        if (shift < 64) value |= (uint64_t)(byte & 0x7f) << shift;
        if ((byte & 0x80) == 0) break;
    }
    return value;
}

static void clu_skip(reader *from, uint64_t bytes) { from->next += bytes < (uint64_t)(from->end - from->next) ? bytes : (uint64_t)(from->end - from->next); }

// How many numbers stand behind an instruction; -1: not known.
static int clu_operands(uint8_t instruction) {
    switch (instruction) {
        case 0x00: case REMEMBER: case RESTORE_STATE: return 0;
        case 0x06: case 0x07: case 0x08: case 0x0d: case 0x0e: case 0x13: case 0x2e: return 1;
        case 0x05: case 0x09: case 0x0c: case 0x11: case 0x12: case 0x14: case 0x15: case 0x2f: return 2;
        default: return -1;
    }
}

// Goes through an entry's instructions, which begin at `address`.
static void clu_mark_instructions(clu_signing_marks *marks, reader from, uint64_t address) {
    const uint8_t *begin = from.next;
    while (from.next < from.end && marks->count < CLU_SIGNING_MARKS) {
        uint64_t place = address + (uint64_t)(from.next - begin);
        uint8_t instruction = *from.next++, kind = instruction & KINDS;
        if (kind == OFFSET) clu_take_number(&from);
        if (kind != 0) continue;
        int operands = clu_operands(instruction);
        if (instruction == NEGATE_SIGNED) {
            marks->places[marks->count++] = place;
        } else if (instruction >= ADVANCE_1 && instruction <= ADVANCE_4) {
            clu_skip(&from, 1u << (instruction - ADVANCE_1));
        } else if (instruction == DEFINE_EXPRESSION || instruction == EXPRESSION || instruction == VALUE_EXPRESSION) {
            if (instruction != DEFINE_EXPRESSION) clu_take_number(&from);
            clu_skip(&from, clu_take_number(&from));
        } else if (operands >= 0) {
            while (operands-- > 0) clu_take_number(&from);
        } else {
            return;  // DW_CFA_set_loc, which compilers do not make, or an unknown one
        }
    }
}

// An entry begins with its length and the way back to what it has in common with others; read as far as the buffer holds it.
static int clu_read_entry(clu_unwinder *unwinder, uint64_t address, uint8_t *buffer, size_t size, reader *entry, uint32_t *back) {
    uint32_t length;
    if (!clu_cached_read(unwinder, address, &length, 4) || length < 4 || length >= 0xfffffff0) return 0;
    if (length < size) size = length;
    if (!clu_cached_read(unwinder, address + 4, buffer, size)) return 0;
    memcpy(back, buffer, 4);
    *entry = (reader){buffer + 4, buffer + size};
    return 1;
}

// Skips an address in one of the encodings DW_EH_PE_… (LSB Core); 0: not one of those.
static int clu_skip_encoded(reader *from, uint8_t encoding) {
    switch (encoding == 0x50 ? 0xff : encoding & 0x0f) {
        case 0x01: case 0x09: clu_take_number(from); return 1;
        case 0x02: case 0x0a: clu_skip(from, 2); return 1;
        case 0x03: case 0x0b: clu_skip(from, 4); return 1;
        case 0x00: case 0x04: case 0x0c: clu_skip(from, 8); return 1;
        default: return 0;  // aligned, or unknown
    }
}

// Whether entries of this kind have the form that compilers give them: "zR", with a personality (P), exception tables (L) and other marks or
// without, and addresses of 32 bits relative to their place.
static int clu_is_usual(clu_unwinder *unwinder, uint64_t address) {
    uint8_t buffer[COMMON_BYTES];
    reader from;
    uint32_t number;
    if (!clu_read_entry(unwinder, address, buffer, sizeof(buffer), &from, &number) || number != 0 || from.end - from.next < 12) return 0;
    from.next++;  // the version
    const char *letters = (const char *)from.next;
    if (letters[0] != 'z' || strnlen(letters, 8) == 8) return 0;
    clu_skip(&from, strlen(letters) + 1);
    for (int number = 0; number < 4; number++) clu_take_number(&from);  // two factors, the return address's register, the length of what follows
    // What stands for each letter, in their order.
    while (*++letters != 0 && from.next < from.end) {
        if (*letters == 'R') return *from.next == 0x1b;
        if (*letters == 'L') clu_skip(&from, 1);
        else if (*letters == 'P') {
            uint8_t encoding = *from.next++;
            if (!clu_skip_encoded(&from, encoding)) return 0;
        } else if (*letters != 'S' && *letters != 'B') return 0;
    }
    return 0;
}

// The entry for `ip` by the sorted table of .eh_frame_hdr; 0: there is none.
static uint64_t clu_entry_of(clu_unwinder *unwinder, uint64_t ip) {
    int index = clu_module_find(unwinder->view.table, ip);
    uint64_t header = index < 0 ? 0 : unwinder->view.table->modules[index].eh_frame_hdr;
    uint32_t count, low = 0;
    if (header == 0 || !clu_cached_read(unwinder, header + 8, &count, 4)) return 0;
    int32_t pair[2];
    for (uint32_t high = count; low < high;) {
        uint32_t middle = low + (high - low) / 2;
        if (!clu_cached_read(unwinder, header + 12 + (uint64_t)middle * 8, pair, 8)) return 0;
        if (header + (uint64_t)(int64_t)pair[0] <= ip) low = middle + 1; else high = middle;
    }
    if (low == 0 || !clu_cached_read(unwinder, header + 12 + (uint64_t)(low - 1) * 8, pair, 8)) return 0;
    return header + (uint64_t)(int64_t)pair[1];
}

void clu_signing_marks_find(clu_unwinder *unwinder, uint64_t ip) {
    unwinder->signing.count = 0;
    uint8_t buffer[ENTRY_BYTES];
    reader from;
    uint32_t back;
    unwinder->reading_tables = 1;
    uint64_t entry = clu_entry_of(unwinder, ip);
    if (entry != 0 && clu_read_entry(unwinder, entry, buffer, sizeof(buffer), &from, &back) && clu_is_usual(unwinder, entry + 4 - back)) {
        clu_skip(&from, 8);  // where its function begins, and how long that is
        clu_skip(&from, clu_take_number(&from));
        clu_mark_instructions(&unwinder->signing, from, entry + 4 + (uint64_t)(from.next - buffer));
    }
    unwinder->reading_tables = 0;
}

#endif
