#define _GNU_SOURCE
#include "unwinder.h"

#include <string.h>

// DWARF 5, 6.4.1, 7.7.1 and 7.24; LSB Core, 10.6; the AArch64 ABI.
enum {
#if defined(__x86_64__)
    REGISTERS = 17,  // whose places libunwind stores
#else
    REGISTERS = 97,
#endif
    STATES = 32,     // remembered at a time; compilers need one or two
    OFFSET = 0x80, KINDS = 0xc0,  // the two upper bits; the other two kinds have no operands
    ADVANCE_1 = 0x02, ADVANCE_4 = 0x04, REGISTER = 0x09, REMEMBER = 0x0a, RESTORE_STATE = 0x0b,
    DEFINE_EXPRESSION = 0x0f, EXPRESSION = 0x10, VALUE_EXPRESSION = 0x16, NEGATE_SIGNED = 0x2d,
    ENTRY_BEGIN = 8,  // after its length and the offset back to the common part
};

// Bytes of a copy. A reader that is read beyond its end is `broken`.
typedef struct reader {
    uint8_t *next, *end;
    int broken;
} reader;

static void clu_skip(reader *from, uint64_t bytes) {
    if (bytes > (uint64_t)(from->end - from->next)) {
        from->broken = 1;
        bytes = (uint64_t)(from->end - from->next);
    }
    from->next += bytes;
}

static uint8_t clu_take_byte(reader *from) {
    uint8_t *at = from->next;
    clu_skip(from, 1);
    return from->broken ? 0 : *at;
}

// A LEB128 number. Other readers may interpret one with more than 64 bits differently.
static uint64_t clu_take_number(reader *from) {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
        uint8_t byte = clu_take_byte(from);
        value |= (uint64_t)(byte & 0x7f) << shift;
        if ((byte & 0x80) == 0) return value;
    }
    from->broken = 1;
    return 0;
}

// Checks an expression: no jump, no call, no division, and nothing unknown.
static int clu_check_expression(reader from) {
    while (from.next < from.end && !from.broken) {
        uint8_t operation = clu_take_byte(&from);
        if (operation >= 0x30 && operation <= 0x6f) continue;  // a small number, a register
        if (operation >= 0x70 && operation <= 0x8f) {          // a register and an offset
            clu_take_number(&from);
            continue;
        }
        switch (operation) {
            case 0x03: case 0x0e: case 0x0f: clu_skip(&from, 8); break;
            case 0x0c: case 0x0d: clu_skip(&from, 4); break;
            case 0x0a: case 0x0b: clu_skip(&from, 2); break;
            case 0x08: case 0x09: case 0x15: case 0x94: clu_skip(&from, 1); break;
            case 0x92: clu_take_number(&from);  // and another one
            case 0x10: case 0x11: case 0x23: case 0x90: clu_take_number(&from); break;
            case 0x06: case 0x12: case 0x13: case 0x14: case 0x16: case 0x17: case 0x19: case 0x1a: case 0x1c: case 0x1e: case 0x1f:
            case 0x20: case 0x21: case 0x22: case 0x24: case 0x25: case 0x26: case 0x27:
            case 0x29: case 0x2a: case 0x2b: case 0x2c: case 0x2d: case 0x2e: case 0x96: break;
            default: return 0;
        }
    }
    return !from.broken;
}

// The number of operands of an instruction; -1: not known, or one that compilers do not generate (DW_CFA_set_loc).
static int clu_operands(uint8_t instruction) {
    switch (instruction) {
        case 0x00: return 0;
        case 0x06: case 0x07: case 0x08: case 0x0d: case 0x0e: case 0x13: case 0x2e: return 1;
        case 0x05: case 0x0c: case 0x11: case 0x12: case 0x14: case 0x15: case 0x2f: return 2;
        default: return -1;
    }
}

// Checks instructions. 0: they are not those of a compiler.
static int clu_check_instructions(reader from, int *has_expression) {
    int states = 0;
    while (from.next < from.end && !from.broken) {
        uint8_t instruction = clu_take_byte(&from);
        if ((instruction & KINDS) == OFFSET) clu_take_number(&from);
        if ((instruction & KINDS) != 0) continue;
        int operands = clu_operands(instruction);
        if (instruction >= ADVANCE_1 && instruction <= ADVANCE_4) {
            clu_skip(&from, 1u << (instruction - ADVANCE_1));
        } else if (instruction == DEFINE_EXPRESSION || instruction == EXPRESSION || instruction == VALUE_EXPRESSION) {
            if (instruction != DEFINE_EXPRESSION) clu_take_number(&from);
            uint64_t length = clu_take_number(&from);
            reader expression = from;
            clu_skip(&from, length);
            expression.end = from.next;
            if (!clu_check_expression(expression)) return 0;
            *has_expression = 1;
        } else if (instruction == REGISTER) {
            clu_take_number(&from);
            if (clu_take_number(&from) >= REGISTERS) return 0;
        } else if (instruction == REMEMBER || instruction == RESTORE_STATE) {
            states += instruction == REMEMBER ? 1 : -1;
            if (states < 0 || states > STATES) return 0;
#if defined(__aarch64__)
        } else if (instruction == NEGATE_SIGNED) {
            from.next[-1] = 0;  // DW_CFA_nop
#endif
        } else if (operands >= 0) {
            while (operands-- > 0) clu_take_number(&from);
        } else {
            return 0;
        }
    }
    return !from.broken;
}

// The number of bytes of an address in one of the encodings DW_EH_PE_…; 0: no fixed size, or omitted.
static uint32_t clu_encoded_size(uint8_t encoding) {
    if ((encoding & 0x70) == 0x50) return 0;
    switch (encoding & 0x0f) {
        case 0x02: case 0x0a: return 2;
        case 0x03: case 0x0b: return 4;
        case 0x00: case 0x04: case 0x0c: return 8;
        default: return 0;
    }
}

// Moves from the start of a common part to its instructions. Returns the size of its entries' addresses, and in
// `is_sized` whether each entry has the length of its additional data. 0: it does not have the form that compilers
// generate, which all readers interpret alike.
static uint32_t clu_read_common(reader *from, int *is_sized) {
    uint32_t number = 1;
    if (from->end - from->next >= ENTRY_BEGIN) memcpy(&number, from->next + 4, 4);
    clu_skip(from, ENTRY_BEGIN);
    uint8_t version = clu_take_byte(from), encoding = 0;
    if (number != 0 || (version != 1 && version != 3)) return 0;
    char letters[8] = {0};
    uint32_t count = 0;
    for (char letter; (letter = (char)clu_take_byte(from)) != 0;) {
        if (count == sizeof(letters) - 1) return 0;
        letters[count++] = letter;
    }
    *is_sized = letters[0] == 'z';
    if (count > 0 && !*is_sized) return 0;
    clu_take_number(from);
    clu_take_number(from);
    if ((version == 1 ? clu_take_byte(from) : clu_take_number(from)) >= REGISTERS) return 0;
    if (*is_sized) {
        uint64_t length = clu_take_number(from);
        reader rest = *from;
        clu_skip(&rest, length);
        int is_over = 0;
        for (const char *letter = letters + 1; *letter != 0; letter++) {
            // Older readers do not support all of these, check only four letters, and ignore what follows.
            if (letter - letters >= 4) is_over = 1;
            if (*letter == 'B' || *letter == 'G') is_over = 1;
            else if (*letter == 'S') continue;
            else if (is_over) return 0;
            else if (*letter == 'L') clu_skip(from, 1);
            else if (*letter == 'R') encoding = clu_take_byte(from);
            else if (*letter == 'P') {
                uint32_t size = clu_encoded_size(clu_take_byte(from));
                if (size == 0) return 0;
                clu_skip(from, size);
            } else return 0;
        }
        if (rest.broken || from->next != rest.next) return 0;
    }
    return from->broken ? 0 : clu_encoded_size(encoding);
}

// Checks an entry and its common part.
static int clu_check_entry(reader common, reader entry, int *has_expression) {
    int is_sized;
    uint32_t size = clu_read_common(&common, &is_sized);
    if (size == 0 || !clu_check_instructions(common, has_expression)) return 0;
    clu_skip(&entry, ENTRY_BEGIN + 2 * size);  // including the start of its function and the function's length
    if (is_sized) clu_skip(&entry, clu_take_number(&entry));
    return !entry.broken && clu_check_instructions(entry, has_expression);
}

int clu_find_function(clu_unwinder *unwinder, uint64_t ip, clu_function *function) {
    uint8_t bytes[64];
    int32_t pair[2];
    uint64_t header, range = 0;
    uint32_t back, length, size = 0;
    int is_sized, is_found = 0;
    unwinder->reading_tables = 1;
    if (clu_find_entry(unwinder, ip, &header, pair)) {
        const uint64_t entry = header + (uint64_t)(int64_t)pair[1];
        if (clu_cached_read(unwinder, entry + 4, &back, 4) && clu_cached_read(unwinder, entry + 4 - back, &length, 4)) {
            // Not beyond its end: it may be the last data that is mapped there.
            if (length > sizeof(bytes) - 4) length = sizeof(bytes) - 4;
            if (clu_cached_read(unwinder, entry + 4 - back, bytes, length + 4)) {
                size = clu_read_common(&(reader){.next = bytes, .end = bytes + length + 4}, &is_sized);
            }
        }
        function->start = header + (uint64_t)(int64_t)pair[0];
        is_found = size != 0 && clu_cached_read(unwinder, entry + ENTRY_BEGIN + size, &range, size) && ip - function->start < range;
        function->end = function->start + range;
    }
    unwinder->reading_tables = 0;
    return is_found;
}

// The copy of what begins there; it is created if there is none yet.
static clu_piece *clu_take_piece(clu_unwinder *unwinder, uint64_t address, uint32_t most) {
    clu_entries *entries = &unwinder->entries;
    uint32_t length, used = 0;
    for (uint32_t index = 0; index < entries->count; index++) {
        clu_piece *piece = &entries->pieces[index];
        if (piece->address == address) return piece;
        used = piece->offset + piece->size;
    }
    if (!clu_cached_read(unwinder, address, &length, 4) || length < 4 || length > most - 4) return NULL;
    const uint32_t size = length + 4;
    if (address + size < address) return NULL;
    entries->is_full = entries->count == CLU_PIECES || used + size > CLU_PIECE_BYTES;
    for (uint32_t index = 0; index < entries->count && !entries->is_full; index++) {
        const clu_piece *piece = &entries->pieces[index];
        entries->is_full = address < piece->address + piece->size && piece->address < address + size;
    }
    uint8_t *bytes = entries->bytes + used;
    if (entries->is_full || !clu_cached_read(unwinder, address + 4, bytes + 4, length)) return NULL;
    memcpy(bytes, &length, 4);
    clu_piece *piece = &entries->pieces[entries->count++];
    *piece = (clu_piece){.address = address, .size = size, .offset = used};
    return piece;
}

static reader clu_read_piece(clu_entries *entries, const clu_piece *piece) {
    uint8_t *begin = entries->bytes + piece->offset;
    return (reader){.next = begin, .end = begin + piece->size};
}

static int clu_try_to_take(clu_unwinder *unwinder, uint64_t address) {
    clu_entries *entries = &unwinder->entries;
    entries->is_full = 0;
    entries->count = entries->kept;
    clu_piece *entry = clu_take_piece(unwinder, address, CLU_ENTRY_BYTES);
    if (entry == NULL) return 0;
    uint32_t back;
    memcpy(&back, entries->bytes + entry->offset + 4, 4);
    clu_piece *common = clu_take_piece(unwinder, address + 4 - back, CLU_COMMON_BYTES);
    int has_expression = 0;
    if (common == NULL || !clu_check_entry(clu_read_piece(entries, common), clu_read_piece(entries, entry), &has_expression)) return 0;
    if (has_expression) entries->kept = entries->count;
    return 1;
}

void clu_entries_forget(clu_unwinder *unwinder) {
    unwinder->entries.count = unwinder->entries.kept = 0;
    clu_libunwind()->flush_cache(unwinder->space, 0, 0);
}

int clu_entry_take(clu_unwinder *unwinder, uint64_t ip, uint64_t *header) {
    clu_entries *entries = &unwinder->entries;
    unwinder->reading_tables = 1;
    int result = clu_find_entry(unwinder, ip, header, entries->pair);
    if (result) {
        const uint64_t entry = *header + (uint64_t)(int64_t)entries->pair[1];
        result = clu_try_to_take(unwinder, entry);
        if (!result && entries->is_full) {
            clu_entries_forget(unwinder);
            result = clu_try_to_take(unwinder, entry);
        }
    }
    if (!result) entries->count = entries->kept;
    unwinder->reading_tables = 0;
    return result;
}

size_t clu_entries_copy(const clu_entries *entries, uint64_t address, uint64_t *word) {
    if (address == CLU_ENTRY_TABLE) {
        memcpy(word, entries->pair, sizeof(*word));
        return sizeof(*word);
    }
    size_t copied = 0;
    // The last one first: that is the one that is being read.
    for (uint32_t index = entries->count; index-- > 0 && copied < sizeof(*word);) {
        const clu_piece *piece = &entries->pieces[index];
        // By differences: it may begin within the word, or the word within it.
        if (address - piece->address >= piece->size && piece->address - address >= sizeof(*word)) continue;
        if (address - piece->address <= piece->size - sizeof(*word)) {  // none is shorter
            memcpy(word, entries->bytes + piece->offset + (address - piece->address), sizeof(*word));
            return sizeof(*word);
        }
        for (size_t byte = 0; byte < sizeof(*word); byte++) {
            uint64_t offset = address + byte - piece->address;
            if (offset >= piece->size) continue;
            memcpy((uint8_t *)word + byte, entries->bytes + piece->offset + offset, 1);
            copied++;
        }
    }
    return copied;
}
