// Functions with frame pointers as optimising compilers generate them: other instructions are mixed with those that set up the frame.
#define _GNU_SOURCE
#include "stall_fixtures.h"

#include <unistd.h>

void fixture_scheduled_outer(void (*sleeper)(void));
void fixture_scheduled_sleep(void);

#if defined(__x86_64__)
#define BEGIN(name) ".globl " #name "\n.type " #name ", @function\n" #name ":\n.cfi_startproc\n"
#define END(name) ".cfi_endproc\n.size " #name ", . - " #name "\n"
#define PUSH "push %rbp\n.cfi_def_cfa_offset 16\n.cfi_offset %rbp, -16\n"
#define SET "mov %rsp, %rbp\n.cfi_def_cfa_register %rbp\n"
#define LEAVE "leave\n.cfi_def_cfa %rsp, 8\nret\n"

__asm__(".text\n" BEGIN(fixture_scheduled_sleep) PUSH
        "xor %edx, %edx\n"
        "mov $400000, %edi\n" SET
        "push %r12\n"
        "lea -24(%rbp), %rsi\n"
        "push %rbx\n"
        "mov %rdi, %rbx\n"
        "sub $48, %rsp\n"
        "call usleep@PLT\n"
        "mov -16(%rbp), %rbx\n"
        "mov -8(%rbp), %r12\n" LEAVE END(fixture_scheduled_sleep)
        // Returns early; and does not know its callee.
        BEGIN(fixture_scheduled_middle) "test %rdi, %rdi\n"
        "je 1f\n" PUSH "mov %rdi, %rax\n" SET "sub $16, %rsp\n"
        "call *%rax\n" LEAVE ".cfi_def_cfa %rsp, 8\n"
        "1: ret\n" END(fixture_scheduled_middle)
        // A library's: its frame pointer is a number.
        BEGIN(fixture_scheduled_outer) PUSH "mov $41, %ebp\n"
        "lea fixture_scheduled_middle(%rip), %rax\n"
        "call *%rax\n"
        "pop %rbp\n.cfi_def_cfa_offset 8\nret\n" END(fixture_scheduled_outer));
#else
void fixture_scheduled_sleep(void) {
    usleep(400000);
    __asm__ volatile("" ::: "memory");
}
__attribute__((noinline)) void fixture_scheduled_middle(void (*sleeper)(void)) {
    sleeper();
    __asm__ volatile("" ::: "memory");
}
void fixture_scheduled_outer(void (*sleeper)(void)) {
    fixture_scheduled_middle(sleeper);
    __asm__ volatile("" ::: "memory");
}
#endif

__attribute__((noinline)) void fixture_sleep_in_scheduled_code(void) {
    fixture_scheduled_outer(fixture_scheduled_sleep);
    __asm__ volatile("" ::: "memory");
}

// A frame whose length is known only at run time contains leftovers of earlier calls: here of the same function, by another caller.
__attribute__((noinline)) static void fixture_grown_sleep(int bytes, int milliseconds) {
    char room[bytes];
    __asm__ volatile("" ::"r"(room) : "memory");
    usleep((useconds_t)milliseconds * 1000);
    __asm__ volatile("" ::"r"(room) : "memory");
}

__attribute__((noinline)) void fixture_earlier_caller(void) {
    char room[1500];
    __asm__ volatile("" ::"r"(room) : "memory");
    fixture_grown_sleep(64, 1);
    __asm__ volatile("" ::"r"(room) : "memory");
}

__attribute__((noinline)) void fixture_present_caller(void) {
    fixture_grown_sleep(16384, 400);
    __asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) void fixture_sleep_over_earlier_calls(void) {
    fixture_earlier_caller();
    fixture_present_caller();
    __asm__ volatile("" ::: "memory");
}
