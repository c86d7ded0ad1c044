// The library's start and its end.
#define _GNU_SOURCE
#include "filters.h"
#include "hot.h"
#include "loop.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

clb_loop_table *loop_table;
int loop_is_active;
int loop_is_interpreter;
pthread_key_t loop_end_key;
// What interpreters export whose language's calls are none on the C stack, or (CPython before 3.11) whose `select` waits far further in.
extern const int ruby_api_version[] __attribute__((weak));
extern const char *Py_GetVersion(void) __attribute__((weak));
extern int Perl_runops_standard(void *interpreter) __attribute__((weak));

// Many programs wait once or twice and end: their slots are free again at once, not when lagmond finds that they are gone. The loop of the thread that
// exits ends here: what it did since its last wait has come to an end. (What other libraries' destructors do afterwards is no part of it.) So it
// does where a process ends without destructors. (A child of vfork(2) does that, with its parent's memory.)
__attribute__((destructor)) void loop_finish(void) {
    loop_thread *thread = &loop_self;
    if (thread->process == 0 || !loop_is_same_process(thread)) return;
    // lagmond finds that a process with a filter has ended.
    if (clb_makes_no_calls() || thread->pid != getpid()) return;
    if (clb_claim_state(thread->claim) == CLB_SLOT_PROVISIONAL) loop_withdraw(thread);
    else loop_end_thread(thread);
}

// Another C library loads this one, too, and ends the program when a symbol is missing: so none is needed here that musl has not.
// But it is glibc's alone that this was tried with.
extern const char *gnu_get_libc_version(void) __attribute__((weak));

__attribute__((constructor)) static void begin(void) {
    int saved = errno;
    real_resolve_all();
    filters_begin();
    const char *path = secure_getenv(CLB_LOOP_TABLE_VARIABLE);
    if (gnu_get_libc_version != NULL && path != NULL && (loop_table = clb_loop_table_open(path)) != NULL) {
        // Linux 4.14. Without it a fork's child could not be distinguished from its parent.
        if (madvise(&hot, sizeof(hot), MADV_WIPEONFORK) == 0 && pthread_key_create(&loop_end_key, loop_end_thread) == 0) {
            clb_loop_table_end_all(loop_table, getpid(), 0);
            loop_main_thread = &loop_self;
            loop_is_interpreter = Py_GetVersion != NULL || ruby_api_version != NULL || Perl_runops_standard != NULL;
            loop_begin_process(&loop_self);
            __atomic_store_n(&loop_is_active, 1, __ATOMIC_RELEASE);
        }
    }
    errno = saved;
}
