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
// Exported by interpreters whose language's calls are not on the C stack, or (CPython before 3.11) whose `select` waits much further in.
extern const int ruby_api_version[] __attribute__((weak));
extern const char *Py_GetVersion(void) __attribute__((weak));
extern int Perl_runops_standard(void *interpreter) __attribute__((weak));

// Many programs wait once or twice and exit: this frees their slots at once, before lagmond notices that they are gone. The loop of the exiting thread
// ends here, and with it the work since its last wait. (Work in later destructors of other libraries does not belong to it.) It also
// ends if a process exits without destructors. (A child of vfork(2) does that, with its parent's memory.)
__attribute__((destructor)) void loop_finish(void) {
    loop_thread *thread = &loop_self;
    if (thread->process == 0 || !loop_is_same_process(thread)) return;
    // lagmond itself notices that a process with a filter has exited.
    if (clb_makes_no_calls() || thread->pid != getpid()) return;
    if (clb_claim_state(thread->claim) == CLB_SLOT_PROVISIONAL) loop_withdraw(thread);
    else loop_end_thread(thread);
}

// Other C libraries load this library too, and abort the program if a symbol is missing, so it needs no symbol that musl lacks.
// But it was only tested with glibc.
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
