// Code like handwritten assembly, or generated at run time: without tables and frame records, called through pointers.
#define _GNU_SOURCE
#include "stall_fixtures.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#if defined(__x86_64__)
typedef void fixture_loop(const volatile uint8_t *flag);

fixture_loop fixture_handwritten_leaf, fixture_handwritten_pushing, fixture_handwritten_moving, fixture_handwritten_aligning, fixture_handwritten_keeping;
extern const uint8_t fixture_handwritten_end[];

// Each loops until the byte at its argument is set.
#define BEGIN(name) ".globl " #name "\n.type " #name ", @function\n" #name ":\n"
#define END(name) ".size " #name ", . - " #name "\n"
#define LOOP "1: cmpb $0, (%rdi)\nje 1b\n"
__asm__(".text\n" BEGIN(fixture_handwritten_leaf) LOOP "ret\n" END(fixture_handwritten_leaf)
        BEGIN(fixture_handwritten_moving) "sub $64, %rsp\nmov %rbx, (%rsp)\nmov %rbp, 8(%rsp)\nmov $41, %ebp\nmov $42, %ebx\n" LOOP
        "mov (%rsp), %rbx\nmov 8(%rsp), %rbp\nadd $64, %rsp\nret\n" END(fixture_handwritten_moving)
        BEGIN(fixture_handwritten_pushing) "push %rbx\npush %rbp\npush %r12\nsub $200, %rsp\nmov $-41, %rbp\nmov $42, %ebx\n" LOOP
        "add $200, %rsp\npop %r12\npop %rbp\npop %rbx\nret\n" END(fixture_handwritten_pushing)
        "fixture_handwritten_end:\n"
        // This one aligns its stack, and stores there how far it was moved, or its former place.
        BEGIN(fixture_handwritten_aligning) "mov %rsp, %r11\nand $31, %r11\nadd $512, %r11\nsub %r11, %rsp\nmov %r11, 416(%rsp)\n"
        "mov %rbp, 464(%rsp)\nmov $-41, %rbp\n" LOOP "mov 416(%rsp), %r11\nmov 464(%rsp), %rbp\nadd %r11, %rsp\nret\n"
        END(fixture_handwritten_aligning)
        BEGIN(fixture_handwritten_keeping) "push %rbp\nmov %rsp, %rax\nsub $200, %rsp\nand $-64, %rsp\nmov %rax, 24(%rsp)\nmov $-41, %rbp\n" LOOP
        "mov 24(%rsp), %rsi\nlea (%rsi), %rsp\npop %rbp\nret\n" END(fixture_handwritten_keeping)
        // They choose the code for this processor, and continue in it. The first has a table.
        BEGIN(fixture_handwritten_choice) ".cfi_startproc\nmov fixture_chosen(%rip), %rax\njmp *%rax\n.cfi_endproc\n" END(fixture_handwritten_choice)
        BEGIN(fixture_handwritten_stub) "endbr64\njmp *fixture_chosen(%rip)\n" END(fixture_handwritten_stub)
        // Its end is before its wait.
        BEGIN(fixture_handwritten_read) "push %rbx\nsub $16, %rsp\njmp 2f\n1: add $16, %rsp\npop %rbx\nret\n"
        "2: xor %eax, %eax\nsyscall\njmp 1b\nint3\n" END(fixture_handwritten_read));

extern long fixture_handwritten_read(int descriptor, void *buffer, size_t count);

__attribute__((noinline)) long fixture_read_by_hand(int descriptor, int size) {
    volatile uint8_t room[size];
    char byte;
    room[0] = 0;
    long got = fixture_handwritten_read(descriptor, &byte, 1);
    room[size - 1] = 1;
    return got;
}

// Its frame is found only by its frame pointer.
__attribute__((noinline)) void fixture_call_handwritten_directly(const volatile uint8_t *flag, int size) {
    volatile uint8_t room[size];
    room[0] = 0;
    fixture_handwritten_pushing(flag);
    room[size - 1] = 1;
}

fixture_loop fixture_handwritten_choice, fixture_handwritten_stub;
__attribute__((visibility("hidden"))) fixture_loop *fixture_chosen = fixture_handwritten_pushing;

__attribute__((noinline)) void fixture_call_handwritten_choice(const volatile uint8_t *flag) {
    fixture_handwritten_choice(flag);
    __asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) void fixture_call_handwritten_stub(const volatile uint8_t *flag) {
    fixture_handwritten_stub(flag);
    __asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) void fixture_call_handwritten(int kind, const volatile uint8_t *flag) {
    fixture_loop *const loops[] = {fixture_handwritten_leaf,   fixture_handwritten_pushing, fixture_handwritten_moving, NULL,
                                   fixture_handwritten_aligning, fixture_handwritten_keeping};
    fixture_loop *volatile loop = loops[kind];
    if (loop == NULL) {
        void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (page == MAP_FAILED) abort();
        const uint8_t *code = (const uint8_t *)fixture_handwritten_pushing;
        memcpy(page, code, (size_t)(fixture_handwritten_end - code));
        if (mprotect(page, 4096, PROT_READ | PROT_EXEC) != 0) abort();
        loop = (fixture_loop *)page;
    }
    loop(flag);
    __asm__ volatile("" ::: "memory");
}
#else
void fixture_call_handwritten(int kind, const volatile uint8_t *flag) {}
void fixture_call_handwritten_directly(const volatile uint8_t *flag, int size) {}
void fixture_call_handwritten_choice(const volatile uint8_t *flag) {}
void fixture_call_handwritten_stub(const volatile uint8_t *flag) {}
long fixture_read_by_hand(int descriptor, int size) { return 0; }
#endif
