#define _GNU_SOURCE
#include "stall_fixtures.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <linux/futex.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

__attribute__((noinline)) int64_t fixture_frameless_call(void (*callback)(void *), void *argument, int64_t seed) {
    // Enough live values that every callee-saved register, including the frame pointer's, holds one of them.
    int64_t a = seed * 3, b = seed ^ 0x55, c = seed + 7, d = seed * seed, e = seed - 11, f = seed << 3;
    __asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f));
    callback(argument);
    __asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f));
    return a + b + c + d + e + f;
}

#if defined(__x86_64__)
// push rbp; mov rbp, rsp; call (what follows the ret); pop rbp; ret
#define GENERATED_OUTER 0x55, 0x48, 0x89, 0xe5, 0xe8, 0x02, 0x00, 0x00, 0x00, 0x5d, 0xc3

// Calls with a number in the frame pointer's register, as compilers may store one there; its unwind tables show the caller's.
void fixture_call_without_frame_pointer(void (*function)(void *), void *argument);
__asm__(".text\n"
        ".type fixture_call_without_frame_pointer, @function\n"
        "fixture_call_without_frame_pointer:\n"
        ".cfi_startproc\n"
        "push %rbp\n"
        ".cfi_def_cfa_offset 16\n"
        ".cfi_offset %rbp, -16\n"
        "mov $41, %ebp\n"
        "mov %rdi, %rax\n"
        "mov %rsi, %rdi\n"
        "call *%rax\n"
        "pop %rbp\n"
        ".cfi_def_cfa_offset 8\n"
        ".cfi_restore %rbp\n"
        "ret\n"
        ".cfi_endproc\n"
        ".size fixture_call_without_frame_pointer, . - fixture_call_without_frame_pointer\n");

static void *fixture_generate(const uint8_t *code, size_t size) {
    void *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) abort();
    memcpy(memory, code, size);
    if (mprotect(memory, 4096, PROT_READ | PROT_EXEC) != 0) abort();
    return memory;
}

__attribute__((noinline)) static void fixture_run_generated(const uint8_t *code, size_t size, void *argument) {
    void *memory = fixture_generate(code, size);
    fixture_call_without_frame_pointer((void (*)(void *))(uintptr_t)memory, argument);
    munmap(memory, 4096);
}

typedef struct {
    void (*callback)(void *);
    void *argument;
} fixture_call;

// Calls the function of a fixture_call.
static const uint8_t fixture_calling_code[] = {
    GENERATED_OUTER,
    0x55, 0x48, 0x89, 0xe5,  // push rbp; mov rbp, rsp
    0x48, 0x8b, 0x07,        // mov rax, [rdi]
    0x48, 0x8b, 0x7f, 0x08,  // mov rdi, [rdi + 8]
    0xff, 0xd0,              // call rax
    0x5d, 0xc3,              // pop rbp; ret
};

void *fixture_generated_page(void) { return fixture_generate(fixture_calling_code, sizeof(fixture_calling_code)); }

__attribute__((noinline)) void fixture_generated_call(void *page, void (*callback)(void *), void *argument) {
    fixture_call call = {callback, argument};
    fixture_call through = {(void (*)(void *))(uintptr_t)page, &call};
    fixture_run_generated(fixture_calling_code, sizeof(fixture_calling_code), page != NULL ? &through : &call);
}

__attribute__((noinline)) void fixture_generated_loop(const volatile uint8_t *flag) {
    static const uint8_t code[] = {
        GENERATED_OUTER,
        0x55, 0x48, 0x89, 0xe5,  // push rbp; mov rbp, rsp
        0x8a, 0x07,              // mov al, [rdi]
        0x84, 0xc0,              // test al, al
        0x74, 0xfa,              // jz, to the mov
        0x5d, 0xc3,              // pop rbp; ret
    };
    fixture_run_generated(code, sizeof(code), (void *)(uintptr_t)flag);
}
#else
void *fixture_generated_page(void) { return NULL; }
void fixture_generated_call(void *page, void (*callback)(void *), void *argument) {}
void fixture_generated_loop(const volatile uint8_t *flag) {}
#endif

__attribute__((noinline)) void fixture_vfork_wait(int milliseconds) {
    struct timespec time = {milliseconds / 1000, (milliseconds % 1000) * 1000000L};
    pid_t child = vfork();
    if (child == 0) {
        nanosleep(&time, NULL);
        _exit(0);
    }
    __asm__ volatile("" ::: "memory");  // not a tail call: this function stays on the stack
}

__attribute__((noinline)) void fixture_at_stack_end(uint64_t low, uint64_t margin, void (*callback)(void *), void *argument) {
    volatile char here[512];
    here[0] = 1;
    if ((uint64_t)(uintptr_t)here > low + margin) {
        fixture_at_stack_end(low, margin, callback, argument);
    } else {
        callback(argument);
    }
    here[1] = here[0];
}

static __thread void (*handler_callback)(void *);
static __thread void *handler_argument;

__attribute__((noinline)) void fixture_signal_handler(int number) {
    handler_callback(handler_argument);
    __asm__ volatile("" ::: "memory");
}

// Raises SIGUSR1 at this thread, with that handler for it.
static inline __attribute__((always_inline)) void raise_with(void (*handler)(int), int on_alternate_stack) {
    enum { SIZE = 64 * 1024 };
    stack_t stack = {.ss_size = SIZE}, off = {.ss_flags = SS_DISABLE};
    if (on_alternate_stack) {
        stack.ss_sp = malloc(SIZE);
        sigaltstack(&stack, NULL);
    }
    struct sigaction action;
    memset(&action, 0, sizeof(action));
    action.sa_handler = handler;
    action.sa_flags = SA_RESTART | (on_alternate_stack ? SA_ONSTACK : 0);
    sigaction(SIGUSR1, &action, NULL);
    pthread_kill(pthread_self(), SIGUSR1);
    if (on_alternate_stack) {
        sigaltstack(&off, NULL);
        free(stack.ss_sp);
    }
}

__attribute__((noinline)) void fixture_in_signal_handler(int on_alternate_stack, void (*callback)(void *), void *argument) {
    handler_callback = callback;
    handler_argument = argument;
    raise_with(fixture_signal_handler, on_alternate_stack);
}

void fixture_jumping_handler(int number);

#if defined(__x86_64__)
// Compilers turn a handler's last statement, if it is a call, into a jump. The jump target finds its caller by the frame pointer.
__asm__(".text\n"
        ".globl fixture_jumping_handler\n.type fixture_jumping_handler, @function\nfixture_jumping_handler:\n"
        "  .cfi_startproc\n  jmp fixture_framed_sleep\n  .cfi_endproc\n.size fixture_jumping_handler, . - fixture_jumping_handler\n"
        ".globl fixture_framed_sleep\n.type fixture_framed_sleep, @function\nfixture_framed_sleep:\n"
        "  .cfi_startproc\n  push %rbp\n  .cfi_def_cfa_offset 16\n  .cfi_offset %rbp, -16\n  mov %rsp, %rbp\n"
        "  .cfi_def_cfa_register %rbp\n  sub $32, %rsp\n  mov $400000, %edi\n  call usleep@PLT\n"
        "  leave\n  .cfi_def_cfa %rsp, 8\n  ret\n  .cfi_endproc\n.size fixture_framed_sleep, . - fixture_framed_sleep\n");
#else
void fixture_framed_sleep(int number) { usleep(400000); }
void fixture_jumping_handler(int number) { fixture_framed_sleep(number); }
#endif

__attribute__((noinline)) void fixture_in_jumping_handler(int on_alternate_stack) {
    raise_with(fixture_jumping_handler, on_alternate_stack);
    __asm__ volatile("" ::: "memory");
}

void fixture_malloc_stats(void) {
    malloc_stats();
    __asm__ volatile("" ::: "memory");
}

int fixture_backtrace_depth(void) {
    void *frames[64];
    return backtrace(frames, 64);
}

const char *fixture_file_of(const char *symbol) {
    Dl_info info;
    void *address = dlsym(RTLD_DEFAULT, symbol);
    return address != NULL && dladdr(address, &info) != 0 ? info.dli_fname : NULL;
}

void fixture_unbuffer_stdout(void) { setvbuf(stdout, NULL, _IONBF, 0); }

void fixture_futex_wait(unsigned *word, unsigned value) { syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0); }

void fixture_epoll_wait(int milliseconds) {
    struct epoll_event event;
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    epoll_wait(epoll, &event, 1, milliseconds);
    close(epoll);
}
