#include "instruction_x86_64.h"

#include "clu_code.h"

#if defined(__x86_64__)

#include <string.h>

// Sizes, locks and repetition, segments.
static const uint8_t prefixes[] = {0x66, 0x67, 0xf0, 0xf2, 0xf3, 0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65};

enum { REX_W = 8, REX_R = 4, REX_X = 2, REX_B = 1, RBX = 3, RSP = 4, RBP = 5 };

// One-byte opcodes with an operand byte (ModRM), and with constants of one byte and of four.
static int clu_has_operands(uint8_t opcode) {
    if (opcode < 0x40) return (opcode & 7) < 4;
    return opcode == 0x63 || opcode == 0x69 || opcode == 0x6b || (opcode >= 0x80 && opcode <= 0x8f) || opcode == 0xc0 || opcode == 0xc1 ||
           opcode == 0xc6 || opcode == 0xc7 || (opcode >= 0xd0 && opcode <= 0xd3) || (opcode >= 0xd8 && opcode <= 0xdf) ||
           opcode == 0xf6 || opcode == 0xf7 || opcode >= 0xfe;
}

static size_t clu_constant_bytes(uint8_t opcode, int wide, int half, uint8_t operands) {
    size_t word = half && !wide ? 2 : 4;
    if (opcode < 0x40) return (opcode & 7) == 4 ? 1 : (opcode & 7) == 5 ? word : 0;
    if (opcode >= 0x70 && opcode <= 0x7f) return 1;
    if (opcode >= 0xb0 && opcode <= 0xb7) return 1;
    if (opcode >= 0xb8 && opcode <= 0xbf) return wide ? 8 : word;
    switch (opcode) {
        case 0x6a: case 0x6b: case 0x80: case 0x83: case 0xa8: case 0xc0: case 0xc1: case 0xc6: case 0xcd: case 0xeb: return 1;
        case 0xe0: case 0xe1: case 0xe2: case 0xe3: case 0xe4: case 0xe5: case 0xe6: case 0xe7: return 1;
        case 0x68: case 0x69: case 0x81: case 0xa9: case 0xc7: return word;
        case 0xe8: case 0xe9: return 4;
        case 0xc2: case 0xca: return 2;
        case 0xc8: return 3;
        case 0xa0: case 0xa1: case 0xa2: case 0xa3: return 8;
        case 0xf6: return (operands & 0x30) == 0 ? 1 : 0;
        case 0xf7: return (operands & 0x30) == 0 ? word : 0;
        default: return 0;
    }
}

// Two-byte opcodes, the first byte of which is 0f.
static int clu_has_operands_0f(uint8_t opcode) {
    return !((opcode >= 0x05 && opcode <= 0x0b) || (opcode >= 0x30 && opcode <= 0x37) || opcode == 0x77 || (opcode >= 0x80 && opcode <= 0x8f) ||
             (opcode >= 0xa0 && opcode <= 0xa2) || (opcode >= 0xa8 && opcode <= 0xaa) || (opcode >= 0xc8 && opcode <= 0xcf));
}

static size_t clu_constant_bytes_0f(uint8_t opcode) {
    if (opcode >= 0x80 && opcode <= 0x8f) return 4;
    switch (opcode) {
        case 0x70: case 0x71: case 0x72: case 0x73: case 0xa4: case 0xac: case 0xba: case 0xc2: case 0xc4: case 0xc5: case 0xc6: return 1;
        default: return 0;
    }
}

// The operand byte with what follows it; 0: incomplete.
static size_t clu_operand_bytes(const uint8_t *code, size_t size) {
    if (size < 1) return 0;
    int mod = code[0] >> 6, rm = code[0] & 7;
    if (mod == 3) return 1;
    if (rm != 4) return 1 + (mod == 1 ? 1 : mod == 2 || rm == 5 ? 4 : 0);
    if (size < 2) return 0;
    return 2 + (mod == 1 ? 1 : mod == 2 || (code[1] & 7) == 5 ? 4 : 0);
}

static int64_t clu_constant(const uint8_t *code, size_t bytes) {
    if (bytes == 1) return (int8_t)code[0];
    if (bytes == 2) return (int16_t)(code[0] | code[1] << 8);
    int32_t value;
    memcpy(&value, code, sizeof(value));
    return value;
}

// For registers that functions preserve for their callers, and some that they may use; -1: another one.
static void clu_takes_stack(clu_instruction *found, int reg, const uint8_t *constant, size_t bytes) {
    found->moves_stack = 1;
    found->stack_register = reg + 1;
    found->stack_from = reg == RBX ? 3 : reg == RBP ? 6 : reg >= 8 ? reg : 0;  // DWARF's numbers (System V ABI, AMD64, 3.6.2)
    if (bytes > 0) found->stack_further = clu_constant(constant, bytes);
}

// The effect of a one-byte opcode whose operands and constant are available.
static void clu_find_effect(clu_instruction *found, uint8_t opcode, int rex, const uint8_t *operands, const uint8_t *constant, size_t constant_bytes) {
    if ((opcode & 0xf0) == 0x50) {
        int reg = (opcode & 7) | (rex & REX_B ? 8 : 0);
        found->grows = opcode < 0x58 ? 8 : -8;
        found->saves_frame = opcode < 0x58 && reg == RBP;
        found->moves_stack = opcode >= 0x58 && reg == RSP;
        found->restores_frame = opcode >= 0x58 && reg == RBP;
    } else if (opcode == 0x68 || opcode == 0x6a) {
        found->grows = 8;
    } else if ((opcode >= 0x70 && opcode <= 0x7f) || (opcode >= 0xe0 && opcode <= 0xe3)) {
        found->flow = CLU_FLOW_BRANCH;
        found->has_target = 1;
        found->target = clu_constant(constant, constant_bytes);
    } else if (opcode == 0xe9 || opcode == 0xeb) {
        found->flow = CLU_FLOW_JUMPS;
        found->has_target = 1;
        found->target = clu_constant(constant, constant_bytes);
    } else if (opcode == 0xe8 || opcode == 0xc2 || opcode == 0xcc || opcode == 0xf4) {
        found->flow = CLU_FLOW_LEAVES;
    } else if (opcode == 0xc3) {
        found->flow = CLU_FLOW_RETURNS;
    } else if (opcode == 0xc9) {  // leave: rsp is rbp, which is popped
        clu_takes_stack(found, RBP, NULL, 0);
        found->stack_further = 8;
        found->restores_frame = 1;
        found->restored_from = -8;
    } else if ((opcode & 0xf8) == 0x90 || (opcode & 0xf8) == 0xb8) {  // an exchange with rax, a constant
        found->moves_stack = ((opcode & 7) | (rex & REX_B ? 8 : 0)) == RSP;
    } else if (opcode == 0x9c || opcode == 0x9d || opcode == 0xc8) {
        found->moves_stack = 1;  // pushf, popf, enter
    } else if (opcode == 0xff || opcode == 0x8f) {
        int kind = operands[0] >> 3 & 7;
        if (opcode == 0xff && (kind == 2 || kind == 3)) found->flow = CLU_FLOW_LEAVES;
        if (opcode == 0xff && (kind == 4 || kind == 5)) found->flow = CLU_FLOW_JUMPS;
        if (opcode == 0xff && kind == 6) found->grows = 8;
        if (opcode == 0x8f) found->grows = -8;
    }
    if (operands == NULL) return;
    int is_register = operands[0] >> 6 == 3;
    int reg = (operands[0] >> 3 & 7) | (rex & REX_R ? 8 : 0), rm = (operands[0] & 7) | (rex & REX_B ? 8 : 0);
    if ((rex & REX_W) && is_register && ((opcode == 0x89 && reg == RSP && rm == RBP) || (opcode == 0x8b && reg == RBP && rm == RSP))) {
        found->sets_frame = 1;
        return;
    }
    int mod = operands[0] >> 6, is_at_stack = !is_register && (operands[0] & 7) == 4 && operands[1] == 0x24 && (rex & (REX_X | REX_B)) == 0;
    if (opcode == 0x8b && (rex & REX_W) && is_at_stack) {
        found->restores_frame = reg == RBP;
        found->moves_stack = reg == RSP;
        found->loads = reg + 1;
        found->restored_from = mod == 0 ? 0 : clu_constant(operands + 2, mod == 1 ? 1 : 4);
        return;
    }
    if (is_register && rm == RSP && (opcode == 0x81 || opcode == 0x83)) {
        int kind = operands[0] >> 3 & 7;  // add, or, adc, sbb, and, sub, xor, cmp
        if ((rex & REX_W) && kind == 5) found->grows = clu_constant(constant, constant_bytes);
        else if ((rex & REX_W) && kind == 0) found->grows = -clu_constant(constant, constant_bytes);
        else if (kind != 7) found->moves_stack = 1;
    } else if (opcode == 0x8d && reg == RSP) {
        // lea rsp, [rsp + constant], or another register
        const int has_base = !is_register && (operands[0] & 7) != 4 && (mod != 0 || (operands[0] & 7) != 5) && (rex & REX_W) != 0;
        if ((rex & REX_W) && is_at_stack && mod != 0)
            found->grows = -clu_constant(operands + 2, mod == 1 ? 1 : 4);
        else
            clu_takes_stack(found, has_base ? rm : -1, operands + 1, !has_base || mod == 0 ? 0 : mod == 1 ? 1 : 4);
    } else if (opcode < 0x40 && (opcode & 7) < 4 && opcode < 0x38) {
        // The second-lowest bit shows which of the two is written.
        if ((opcode & 1) && (opcode & 2 ? reg == RSP : is_register && rm == RSP)) found->moves_stack = 1;
        if (found->moves_stack && (rex & REX_W) && is_register && opcode < 4) found->stack_grows_by = 1 + (opcode & 2 ? rm : reg);
    } else if (opcode == 0x89 && is_register && rm == RSP) {
        clu_takes_stack(found, rex & REX_W ? reg : -1, NULL, 0);
    } else if (opcode == 0x8b && reg == RSP) {
        clu_takes_stack(found, is_register && (rex & REX_W) ? rm : -1, NULL, 0);
    } else if (reg == RSP && (opcode == 0x63 || opcode == 0x69 || opcode == 0x6b)) {
        found->moves_stack = 1;
    } else if (is_register && ((opcode == 0x87 && (rm == RSP || reg == RSP)) || (opcode == 0xc7 && rm == RSP))) {
        found->moves_stack = 1;
    }
}

// Registers that an instruction may write. An instruction without an operand byte has the register in its opcode, or
// works on fixed registers (constants and exchanges on rax; strings, widths, ports, the processor's answers).
static uint32_t clu_names(uint8_t opcode, int map, int rex, const uint8_t *operands, int is_vector) {
    enum { RAX = 1 << 0, RDX = 1 << 2, BOUND = 1 << 0 | 1 << 1 | 1 << 2 | 1 << 3 | 1 << 6 | 1 << 7 };
    if (operands == NULL) {
        const uint32_t in_code = 1u << ((opcode & 7) | (rex & REX_B ? 8 : 0));
        if (map != 0) return (opcode & 0xf8) == 0xc8 ? in_code : BOUND;
        if (opcode < 0x40) return RAX;
        if (opcode < 0x90) return (opcode & 0xf8) == 0x58 ? in_code : 0;
        return opcode < 0x98 ? in_code | RAX : (opcode & 0xf0) == 0xb0 ? in_code : BOUND;
    }
    // The upper half's bits of a vector's prefix are not read: both are assumed.
    const int reg = operands[0] >> 3 & 7, rm = operands[0] & 7, is_register = operands[0] >> 6 == 3;
    const uint32_t named = is_vector ? 0x101u << reg | (is_register ? 0x101u << rm : 0)
                                     : 1u << (reg | (rex & REX_R ? 8 : 0)) | (is_register ? 1u << (rm | (rex & REX_B ? 8 : 0)) : 0);
    return map == 0 && (opcode == 0xf6 || opcode == 0xf7) ? named | RAX | RDX : named;
}

int clu_decode(const uint8_t *code, size_t size, clu_instruction *found) {
    memset(found, 0, sizeof(*found));
    size_t at = 0;
    int half = 0, rex = 0;
    for (; at < size; at++) {
        if (memchr(prefixes, code[at], sizeof(prefixes)) == NULL) break;
        if (code[at] == 0x66) half = 1;
    }
    if (at < size && (code[at] & 0xf0) == 0x40) rex = code[at++];
    if (at >= size) return 0;
    uint8_t opcode = code[at++];
    int map = 0;  // of opcodes: one byte, 0f, 0f 38, 0f 3a
    const int is_vector = opcode == 0x62 || opcode == 0xc4 || opcode == 0xc5;
    if (is_vector) {  // the map is in the prefix
        size_t prefix = opcode == 0x62 ? 3 : opcode == 0xc4 ? 2 : 1;
        if (at + prefix >= size) return 0;
        map = prefix == 1 ? 1 : code[at] & 7;
        if (map < 1 || map > 3) return 0;
        at += prefix;
        opcode = code[at++];
    } else if (opcode == 0x0f) {
        if (at >= size) return 0;
        opcode = code[at++];
        map = opcode == 0x38 ? 2 : opcode == 0x3a ? 3 : 1;
        if (map > 1) {
            if (at >= size) return 0;
            opcode = code[at++];
        }
    } else if (opcode == 0x06 || opcode == 0x07 || opcode == 0x0e || opcode == 0x16 || opcode == 0x17 || opcode == 0x1e || opcode == 0x1f ||
               (opcode < 0x40 && (opcode & 7) >= 6) || opcode == 0x60 || opcode == 0x61 || opcode == 0x82 || opcode == 0x9a || opcode == 0xce ||
               opcode == 0xd6 || opcode == 0xea) {
        return 0;  // not in this mode
    }
    const uint8_t *operands = NULL;
    if (map == 0 ? clu_has_operands(opcode) : map > 1 || clu_has_operands_0f(opcode)) {
        size_t bytes = clu_operand_bytes(code + at, size - at);
        if (bytes == 0 || at + bytes > size) return 0;
        operands = code + at;
        at += bytes;
    }
    size_t constant = map == 0 ? clu_constant_bytes(opcode, rex & REX_W, half, operands ? operands[0] : 0)
                    : map == 1 ? clu_constant_bytes_0f(opcode) : map == 3;
    if (at + constant > size) return 0;
    found->length = at + constant;
    found->names = clu_names(opcode, map, rex, operands, is_vector);
    if (map == 0) clu_find_effect(found, opcode, rex, operands, code + at, constant);
    else if (map == 1 && opcode >= 0x80 && opcode <= 0x8f && !operands) {
        found->flow = CLU_FLOW_BRANCH;
        found->has_target = 1;
        found->target = clu_constant(code + at, constant);
    }
    else if (!is_vector && map == 1 && (opcode & 0xf0) == 0x40)  // moved where a condition holds
        found->moves_stack = ((operands[0] >> 3 & 7) | (rex & REX_R ? 8 : 0)) == RSP;
    else if (map == 1 && opcode == 0x0b) found->flow = CLU_FLOW_LEAVES;
    return 1;
}

int clu_code_step(const uint8_t *code, size_t size, clu_step *step) {
    clu_instruction found;
    if (!clu_decode(code, size, &found)) return 0;
    static const clu_control_flow flows[] = {
        [CLU_FLOW_ON] = CLU_CONTINUES, [CLU_FLOW_LEAVES] = CLU_CALLS, [CLU_FLOW_RETURNS] = CLU_LEAVES,
        [CLU_FLOW_BRANCH] = CLU_BRANCHES, [CLU_FLOW_JUMPS] = CLU_JUMPS,
    };
    clu_control_flow flow = flows[found.flow];
    if (flow == CLU_JUMPS && !found.has_target) flow = CLU_LEAVES;
    if (code[0] == 0xc2 || code[0] == 0xcc || code[0] == 0xf4 || (code[0] == 0x0f && code[1] == 0x0b)) flow = CLU_LEAVES;  // returns, traps
    *step = (clu_step){.length = (uint32_t)found.length, .flow = flow, .target = found.target};
    return 1;
}

#else

int clu_code_step(const uint8_t *code, size_t size, clu_step *step) {
    (void)code, (void)size, (void)step;
    return 0;
}

#endif
