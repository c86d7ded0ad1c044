// Stall contexts: what the program publishes about its work, such as the request that a thread serves.
//
// Threads. A context is one cell of a fixed table. The thread that opens it is its only writer until it is closed,
// perhaps on another thread: a task moves between threads, and the task orders them. Any thread may read a cell at
// any time, without a lock: `state` is read before and after, and a copy counts only if both are the same and mean
// "open". A token identifies one opening of one cell, and never a later one.
//
// Bounds. At most 4096 contexts are open at once; further ones are counted and not kept. Opening allocates nothing,
// takes no lock and makes no system call (CLOCK_MONOTONIC_COARSE is read from memory that the kernel shares).
#ifndef CLB_CONTEXT_H
#define CLB_CONTEXT_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#pragma GCC visibility push(hidden)

enum {
    CLB_CONTEXTS = 4096,              // if a server has more requests in flight, the first ones are kept
    CLB_CONTEXT_STRIDE = 16,          // cells with which a thread starts: threads that open at once do not contend
    CLB_CONTEXT_ATTEMPTS = 128,       // cells that are tried to find a free one
    CLB_CONTEXT_NEXT = 16,            // how many of them are adjacent
    CLB_CONTEXT_JUMP = 257,           // between the others. Odd: its multiples cover the whole table
    CLB_CONTEXT_NAME_BYTES = 64,
    CLB_CONTEXT_TEXT_BYTES = 192,     // the name, then the attributes: a length and a text for the name, the same for the value
    CLB_CONTEXT_VALUE_BYTES = 64,     // of an attribute's name or value
    CLB_CONTEXT_TOKEN_SHIFT = 48,     // the cell's number is above this bit
    CLB_CONTEXT_STATE_OPEN = 2,       // `state` modulo 4: 0 free, 1 being written, 2 open
};

// The content of a context. Written by the thread that opens it, before the opening.
typedef struct clb_context_draft {
    uint64_t trace_high, trace_low, span;  // W3C; zeros: none
    uint8_t name_length;
    uint8_t text_length;                   // the name and the attributes
    uint8_t is_cut;                        // something did not fit
    uint8_t text[CLB_CONTEXT_TEXT_BYTES];
} clb_context_draft;

enum { CLB_CONTEXT_TEXT_WORDS = CLB_CONTEXT_TEXT_BYTES / 8 };

typedef struct clb_context {
    uint64_t state;       // 4 × openings + one of the above
    uint64_t opened_ns;   // CLOCK_MONOTONIC_COARSE
    uint64_t thread;      // pthread_t of the thread that opened it
    uint64_t task;        // the Swift task that did; 0: none
    uint64_t trace_high, trace_low, span;
    uint64_t lengths;     // of the name, of the whole text << 8, whether something was cut << 16
    uint64_t text[CLB_CONTEXT_TEXT_WORDS];
} clb_context;

_Static_assert(offsetof(clb_context, text) == 64, "finding a free cell and scanning touch only one cache line");
_Static_assert(sizeof(clb_context) == 256, "a context is four cache lines");

typedef struct clb_contexts {
    clb_context cells[CLB_CONTEXTS];
    uint32_t used;      // cells below it may be in use
    uint32_t threads;   // that have opened one
    uint64_t refused;   // contexts that found no free cell
} clb_contexts;

// What a thread runs according to the program: the innermost context of a synchronous call, and the task in which
// that was made.
typedef struct clb_context_running {
    uint64_t token;  // 0: none
    uint64_t task;   // 0: outside any task
} clb_context_running;

// The table; NULL while no monitor wants contexts.
extern clb_contexts *clb_contexts_wanted;
// The table, once it has been created: it stays.
extern clb_contexts *clb_contexts_all;
extern _Thread_local clb_context_running clb_context_thread;
// A thread calls it when it runs another synchronous context, with its token, or 0: none. NULL: not wanted.
extern void (*clb_context_observer)(uint64_t token);
// Where the calling thread tries first; 0: it has opened none.
extern _Thread_local uint32_t clb_context_cursor;

// One more, or one less, monitor wants contexts to be recorded. Returns whether there is memory for them.
int clb_contexts_want(void);
void clb_contexts_unwant(void);

// The place of the calling thread's first cells. The slow path, once per thread.
uint32_t clb_context_begin(clb_contexts *table);
// Uses a cell beyond those that were in use before. The slow path.
void clb_context_use(clb_contexts *table, uint32_t index);
// Another cell than the first one that was tried; CLB_CONTEXTS: none is free. The slow path.
uint32_t clb_context_search(clb_contexts *table, uint32_t first);

// Whether contexts are recorded now: one load.
static inline int clb_context_is_wanted(void) { return __atomic_load_n(&clb_contexts_wanted, __ATOMIC_RELAXED) != NULL; }

static inline void clb_draft_name(clb_context_draft *draft, const uint8_t *name, size_t length) {
    if (length > CLB_CONTEXT_NAME_BYTES) {
        length = CLB_CONTEXT_NAME_BYTES;
        draft->is_cut = 1;
    }
    memcpy(draft->text, name, length);
    draft->name_length = draft->text_length = (uint8_t)length;
}

// An attribute that does not fit completely is left out.
static inline void clb_draft_attribute(clb_context_draft *draft, const uint8_t *name, size_t name_length, const uint8_t *value,
                                       size_t value_length) {
    if (value_length > CLB_CONTEXT_VALUE_BYTES) {
        value_length = CLB_CONTEXT_VALUE_BYTES;
        draft->is_cut = 1;
    }
    size_t at = draft->text_length;
    if (name_length == 0 || name_length > CLB_CONTEXT_VALUE_BYTES || at + name_length + value_length + 2 > CLB_CONTEXT_TEXT_BYTES) {
        draft->is_cut = 1;
        return;
    }
    draft->text[at] = (uint8_t)name_length;
    memcpy(draft->text + at + 1, name, name_length);
    draft->text[at + 1 + name_length] = (uint8_t)value_length;
    memcpy(draft->text + at + 2 + name_length, value, value_length);
    draft->text_length = (uint8_t)(at + 2 + name_length + value_length);
}

static inline int clb_context_claim(clb_context *cell, uint64_t *state) {
    *state = __atomic_load_n(&cell->state, __ATOMIC_RELAXED);
    return (*state & 3) == 0
        && __atomic_compare_exchange_n(&cell->state, state, *state + 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

// The token of a context that is open from now on, or 0: no monitor wants contexts, or no cell is free.
static inline uint64_t clb_context_open(const clb_context_draft *draft, uint64_t task) {
    clb_contexts *table = __atomic_load_n(&clb_contexts_wanted, __ATOMIC_ACQUIRE);
    if (table == NULL) return 0;
    uint32_t index = clb_context_cursor;
    if (__builtin_expect(index == 0, 0)) index = clb_context_begin(table);
    index %= CLB_CONTEXTS;
    uint64_t state;
    if (__builtin_expect(!clb_context_claim(&table->cells[index], &state), 0)) {
        index = clb_context_search(table, index);
        if (index == CLB_CONTEXTS) return 0;
        state = __atomic_load_n(&table->cells[index].state, __ATOMIC_RELAXED) - 1;
    }
    if (__builtin_expect(index >= __atomic_load_n(&table->used, __ATOMIC_RELAXED), 0)) clb_context_use(table, index);
    clb_context *cell = &table->cells[index];
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    // What a reader may see at the same time is written by atomic stores; on the supported processors these are plain
    // stores.
    __atomic_thread_fence(__ATOMIC_RELEASE);
    __atomic_store_n(&cell->opened_ns, (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec, __ATOMIC_RELAXED);
    __atomic_store_n(&cell->thread, (uint64_t)pthread_self(), __ATOMIC_RELAXED);
    __atomic_store_n(&cell->task, task, __ATOMIC_RELAXED);
    __atomic_store_n(&cell->trace_high, draft->trace_high, __ATOMIC_RELAXED);
    __atomic_store_n(&cell->trace_low, draft->trace_low, __ATOMIC_RELAXED);
    __atomic_store_n(&cell->span, draft->span, __ATOMIC_RELAXED);
    __atomic_store_n(&cell->lengths, draft->name_length | (uint64_t)draft->text_length << 8 | (uint64_t)draft->is_cut << 16, __ATOMIC_RELAXED);
    for (uint32_t word = 0; word * 8 < draft->text_length; word++) {
        uint64_t text;
        memcpy(&text, draft->text + word * 8, sizeof(text));
        __atomic_store_n(&cell->text[word], text, __ATOMIC_RELAXED);
    }
    uint64_t open = state + CLB_CONTEXT_STATE_OPEN;
    __atomic_store_n(&cell->state, open, __ATOMIC_RELEASE);
    clb_context_cursor = index + CLB_CONTEXTS + 1;
    return (uint64_t)index << CLB_CONTEXT_TOKEN_SHIFT | (open & ((1ull << CLB_CONTEXT_TOKEN_SHIFT) - 1));
}

// Any thread; the opener's last access. 0 is no context.
static inline void clb_context_close(uint64_t token) {
    if (token == 0) return;
    uint32_t index = (uint32_t)(token >> CLB_CONTEXT_TOKEN_SHIFT);
    clb_context *cell = &clb_contexts_all->cells[index];
    uint64_t open = __atomic_load_n(&cell->state, __ATOMIC_RELAXED);
    __atomic_store_n(&cell->state, open + 2, __ATOMIC_RELEASE);
    // The next opening finds it in the cache.
    clb_context_cursor = index + CLB_CONTEXTS;
}

static inline clb_context_running clb_context_get_running(void) { return clb_context_thread; }
// Two stores: in between, the pair belongs to no task, or is empty.
static inline void clb_context_set_running(clb_context_running running) {
    __atomic_store_n(&clb_context_thread.token, 0, __ATOMIC_RELAXED);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    __atomic_store_n(&clb_context_thread.task, running.task, __ATOMIC_RELAXED);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    __atomic_store_n(&clb_context_thread.token, running.token, __ATOMIC_RELAXED);
    void (*observer)(uint64_t) = __atomic_load_n(&clb_context_observer, __ATOMIC_ACQUIRE);
    if (__builtin_expect(observer != NULL, 0)) observer(running.token);
}

// Where the calling thread keeps what it runs, relative to its descriptor (pthread_t): the same for every thread if
// that is static storage.
int64_t clb_context_place(void);

// A copy of an open context.
typedef struct clb_context_copy {
    uint64_t token;
    clb_context context;
} clb_context_copy;

// The same for a context that another process published in a form other than such a table: its opening time is not
// known, and 0.
static inline void clb_context_copy_draft(clb_context_copy *copy, uint64_t token, const clb_context_draft *draft) {
    memset(copy, 0, sizeof(*copy));
    copy->token = token;
    copy->context.trace_high = draft->trace_high;
    copy->context.trace_low = draft->trace_low;
    copy->context.span = draft->span;
    copy->context.lengths = draft->name_length | (uint64_t)draft->text_length << 8 | (uint64_t)draft->is_cut << 16;
    memcpy(copy->context.text, draft->text, sizeof(draft->text));
}

// Copies the context of a token, if it is still open; returns whether it is. Any thread: no lock, no allocation; any
// number is a valid argument.
int clb_context_read(uint64_t token, clb_context_copy *copy);
// The token of the context in that cell if it is open, otherwise 0; and the thread and the task that opened it, and
// the time.
uint64_t clb_context_at(uint32_t index, uint64_t *thread, uint64_t *task, uint64_t *opened_ns);
// How many cells may be in use.
uint32_t clb_context_limit(void);
// How many contexts found no free cell.
uint64_t clb_context_refused(void);

#pragma GCC visibility pop

#endif
