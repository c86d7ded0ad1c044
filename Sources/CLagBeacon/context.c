#define _GNU_SOURCE
#include "clb_context.h"

#include <sys/mman.h>

clb_contexts *clb_contexts_wanted;
clb_contexts *clb_contexts_all;
_Thread_local clb_context_running clb_context_thread;
_Thread_local uint32_t clb_context_cursor;
void (*clb_context_observer)(uint64_t token);

// The monitors that want contexts, and the table: both change only at the start and the end of a monitor.
static pthread_mutex_t wanting = PTHREAD_MUTEX_INITIALIZER;
static uint32_t wanting_count;

int clb_contexts_want(void) {
    pthread_mutex_lock(&wanting);
    if (clb_contexts_all == NULL) {
        void *memory = mmap(NULL, sizeof(clb_contexts), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory != MAP_FAILED) clb_contexts_all = memory;
    }
    int is_there = clb_contexts_all != NULL;
    if (is_there) {
        wanting_count++;
        __atomic_store_n(&clb_contexts_wanted, clb_contexts_all, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&wanting);
    return is_there;
}

void clb_contexts_unwant(void) {
    pthread_mutex_lock(&wanting);
    if (wanting_count > 0 && --wanting_count == 0) __atomic_store_n(&clb_contexts_wanted, NULL, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&wanting);
}

void clb_context_use(clb_contexts *table, uint32_t index) {
    uint32_t used = __atomic_load_n(&table->used, __ATOMIC_RELAXED);
    while (index >= used) {
        if (__atomic_compare_exchange_n(&table->used, &used, index + 1, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) return;
    }
}

uint32_t clb_context_begin(clb_contexts *table) {
    uint32_t thread = __atomic_fetch_add(&table->threads, 1, __ATOMIC_RELAXED);
    uint32_t first = thread * CLB_CONTEXT_STRIDE % CLB_CONTEXTS;
    clb_context_cursor = first + CLB_CONTEXTS;
    return first;
}

uint32_t clb_context_search(clb_contexts *table, uint32_t first) {
    for (uint32_t attempt = 1; attempt <= CLB_CONTEXT_ATTEMPTS; attempt++) {
        // The adjacent cells; if another thread has already filled those, cells further on.
        uint32_t distance = attempt <= CLB_CONTEXT_NEXT ? attempt : (attempt - CLB_CONTEXT_NEXT) * CLB_CONTEXT_JUMP;
        uint32_t index = (first + distance) % CLB_CONTEXTS;
        uint64_t state;
        if (!clb_context_claim(&table->cells[index], &state)) continue;
        return index;
    }
    __atomic_fetch_add(&table->refused, 1, __ATOMIC_RELAXED);
    return CLB_CONTEXTS;
}

int64_t clb_context_place(void) { return (int64_t)((uintptr_t)&clb_context_thread - (uintptr_t)pthread_self()); }

int clb_context_read(uint64_t token, clb_context_copy *copy) {
    clb_contexts *table = __atomic_load_n(&clb_contexts_wanted, __ATOMIC_ACQUIRE);
    uint64_t index = token >> CLB_CONTEXT_TOKEN_SHIFT, mask = (1ull << CLB_CONTEXT_TOKEN_SHIFT) - 1;
    if (table == NULL || token == 0 || index >= CLB_CONTEXTS) return 0;
    const uint64_t *cell = (const uint64_t *)&table->cells[index];
    uint64_t state = __atomic_load_n(&table->cells[index].state, __ATOMIC_ACQUIRE);
    if ((state & mask) != (token & mask) || (state & 3) != CLB_CONTEXT_STATE_OPEN) return 0;
    uint64_t words[sizeof(clb_context) / 8];
    for (uint32_t word = 0; word < sizeof(words) / 8; word++) words[word] = __atomic_load_n(&cell[word], __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    if (__atomic_load_n(&table->cells[index].state, __ATOMIC_RELAXED) != state) return 0;
    copy->token = token;
    memcpy(&copy->context, words, sizeof(words));
    return 1;
}

uint64_t clb_context_at(uint32_t index, uint64_t *thread, uint64_t *task, uint64_t *opened_ns) {
    clb_contexts *table = __atomic_load_n(&clb_contexts_wanted, __ATOMIC_ACQUIRE);
    if (table == NULL || index >= CLB_CONTEXTS) return 0;
    const clb_context *cell = &table->cells[index];
    uint64_t state = __atomic_load_n(&cell->state, __ATOMIC_ACQUIRE);
    if ((state & 3) != CLB_CONTEXT_STATE_OPEN) return 0;
    *thread = __atomic_load_n(&cell->thread, __ATOMIC_RELAXED);
    *task = __atomic_load_n(&cell->task, __ATOMIC_RELAXED);
    *opened_ns = __atomic_load_n(&cell->opened_ns, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    if (__atomic_load_n(&cell->state, __ATOMIC_RELAXED) != state) return 0;
    return (uint64_t)index << CLB_CONTEXT_TOKEN_SHIFT | (state & ((1ull << CLB_CONTEXT_TOKEN_SHIFT) - 1));
}

uint32_t clb_context_limit(void) {
    clb_contexts *table = __atomic_load_n(&clb_contexts_wanted, __ATOMIC_ACQUIRE);
    uint32_t used = table != NULL ? __atomic_load_n(&table->used, __ATOMIC_RELAXED) : 0;
    return used < CLB_CONTEXTS ? used : CLB_CONTEXTS;
}

uint64_t clb_context_refused(void) {
    clb_contexts *table = clb_contexts_all;
    return table != NULL ? __atomic_load_n(&table->refused, __ATOMIC_RELAXED) : 0;
}
