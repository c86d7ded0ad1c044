// Stalls that only C can cause, each in a function that must be found in the captured stack.
#ifndef STALL_FIXTURES_H
#define STALL_FIXTURES_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// Calls back through code without frame pointers that uses the frame pointer's register for its own arithmetic.
int64_t fixture_frameless_call(void (*callback)(void *), void *argument, int64_t seed);

// Sleeps for 400 ms in `fixture_scheduled_sleep`, called by `fixture_scheduled_middle`, both with frame pointers that are set up between
// other instructions, called by `fixture_scheduled_outer`, which has a number in the frame pointer's register.
void fixture_sleep_in_scheduled_code(void);

// Sleeps for 400 ms in `fixture_present_caller`, in a function whose large frame contains an earlier call of it by
// `fixture_earlier_caller`.
void fixture_sleep_over_earlier_calls(void);

// Loops until the byte at `flag` is set in code without tables and frame records: 0: `fixture_handwritten_leaf`, which uses no stack, 1:
// `fixture_handwritten_pushing`, 2: `fixture_handwritten_moving`, which both use the frame pointer's register, 3: such code generated at
// run time, 4 and 5: `fixture_handwritten_aligning`, `fixture_handwritten_keeping`, which align their stacks. x86-64; has no effect
// elsewhere.
void fixture_call_handwritten(int kind, const volatile uint8_t *flag);
// The second of these, by a direct call, from a function whose frame grows by that many bytes.
void fixture_call_handwritten_directly(const volatile uint8_t *flag, int size);
// `fixture_handwritten_pushing`, entered by a jump from a called function: one with a table, and one without.
void fixture_call_handwritten_choice(const volatile uint8_t *flag);
void fixture_call_handwritten_stub(const volatile uint8_t *flag);
// Reads a byte in such code, `fixture_handwritten_read`, from such a function.
long fixture_read_by_hand(int descriptor, int size);

// Calls code generated at run time, which has frame records and no unwind information, from code that keeps a number in the frame pointer's
// register: a function that calls another one, which calls back, or loops until the byte at `flag` is set. x86-64; has no effect elsewhere.
void fixture_generated_call(void *page, void (*callback)(void *), void *argument);
// Such code, for `page`: the other code, which is generated for the call, calls this one.
void *fixture_generated_page(void);
void fixture_generated_loop(const volatile uint8_t *flag);

// vfork(2): the caller sleeps uninterruptibly (state D) until the child, which waits `milliseconds`, has exited.
void fixture_vfork_wait(int milliseconds);

// Recurses until at most `margin` bytes of the stack that begins at `low` are left, then calls back.
void fixture_at_stack_end(uint64_t low, uint64_t margin, void (*callback)(void *), void *argument);

// Raises SIGUSR1 at itself; the handler, `fixture_signal_handler`, calls back. With an alternate stack on request.
void fixture_in_signal_handler(int on_alternate_stack, void (*callback)(void *), void *argument);

// The same with a handler that is only a jump, to `fixture_framed_sleep`, which sleeps for 400 ms.
void fixture_in_jumping_handler(int on_alternate_stack);
void fixture_framed_sleep(int number);

// Throws a C++ exception through several frames and catches it: 42 on success.
int fixture_throw_and_catch(void);

// glibc's malloc_stats: writes to stderr while it holds the arena's lock.
void fixture_malloc_stats(void);

// The nesting depth that glibc's backtrace() sees.
int fixture_backtrace_depth(void);

// The file that a global symbol of the process comes from; NULL if there is none.
const char *fixture_file_of(const char *symbol);

void fixture_unbuffer_stdout(void);

// The place in the caller to which this call returns.
const void *fixture_return_address(void);

// An address right after a call, in a function that was inlined into `fixture_inlined_middle`, which was inlined into
// `fixture_with_inlined`, and the lines of the two calls and of the one to the leaf.
typedef struct {
    const void *return_address;
    int leaf_line;
    int middle_line;
    int outer_line;
} fixture_inlined_place;
void fixture_with_inlined(fixture_inlined_place *place);

// Waits in an epoll instance that no other code uses.
void fixture_epoll_wait(int milliseconds);

// A debugger in three calls, all from one thread: attach to a process without stopping it, stop it (and wait until it is stopped), detach
// from it. 0 or an errno.
int fixture_trace_attach(int pid);
int fixture_trace_stop(int pid);
int fixture_trace_detach(int pid);
// Lets any process of this user trace this one, if the kernel requires that.
void fixture_trace_allow(void);

// Sleeps in a futex as long as the word has this value.
void fixture_futex_wait(unsigned *word, unsigned value);

// Locks of the C++ library, one of each kind. A lock that is held for reading is waited for to write, and the other way round.
typedef enum {
    FIXTURE_MUTEX,
    FIXTURE_RECURSIVE_MUTEX,
    FIXTURE_TIMED_MUTEX,
    FIXTURE_SHARED_MUTEX_WRITE,
    FIXTURE_SHARED_MUTEX_READ,
} fixture_lock;
void fixture_lock_take(fixture_lock lock);
void fixture_lock_wait(fixture_lock lock);

// Calls back in the only dispatch_once: the second caller waits for the first.
void fixture_dispatch_once(void (*callback)(void *), void *argument);

#ifdef __cplusplus
}
#endif

#endif
