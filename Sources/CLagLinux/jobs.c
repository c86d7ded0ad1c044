#define _GNU_SOURCE
#include "cll_jobs.h"

#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cll_breakpoint.h"
#include "cll_memory.h"
#include "cll_perf_sample.h"
#include "cll_thread.h"

// Weak: missing in a program that runs no task, or drains no queue.
extern void *swift_task_getCurrent(void) __attribute__((weak, swiftcall));
extern uint64_t swift_task_getJobTaskId(const void *task) __attribute__((weak, swiftcall));
extern void *dispatch_queue_create(const char *label, void *attributes) __attribute__((weak));
extern void dispatch_sync_f(void *queue, void *context, void (*work)(void *)) __attribute__((weak));
extern void dispatch_release(void *object) __attribute__((weak));

enum { NUMBER_WORDS = 24 };  // of a task, which has more than 100 bytes

// Static storage is this near to the thread's descriptor. The storage of a library loaded later may be anywhere, in
// each thread at a different place, and is freed with it.
enum { STATIC_BYTES = 65536 };

typedef struct place_search {
    uint64_t value;
    int64_t *places;
    uint32_t capacity, found;
} place_search;

// The words of the calling thread's static thread-local storage that contain the value.
static int cll_search_module(struct dl_phdr_info *info, size_t size, void *context) {
    place_search *search = context;
    if (info->dlpi_tls_data == NULL) return 0;
    for (int index = 0; index < info->dlpi_phnum; index++) {
        if (info->dlpi_phdr[index].p_type != PT_TLS) continue;
        uintptr_t at = ((uintptr_t)info->dlpi_tls_data + 7) & ~(uintptr_t)7;
        uintptr_t end = (uintptr_t)info->dlpi_tls_data + info->dlpi_phdr[index].p_memsz;
        for (; at + 8 <= end && search->found < search->capacity; at += 8) {
            int64_t place = (int64_t)(at - (uintptr_t)pthread_self());
            if (place < -STATIC_BYTES || place > STATIC_BYTES) continue;
            if (*(const uint64_t *)at == search->value) search->places[search->found++] = place;
        }
    }
    return 0;
}

static uint64_t cll_own_word(int64_t place) { return *(const uint64_t *)((uintptr_t)pthread_self() + (uintptr_t)place); }

// Keeps the places whose words are, or are not, the value.
static void cll_keep_places(cll_job_learner *learner, uint64_t value, int is_equal) {
    uint32_t kept = 0;
    for (uint32_t index = 0; index < learner->place_count; index++) {
        if ((cll_own_word(learner->places[index]) == value) == is_equal) learner->places[kept++] = learner->places[index];
    }
    learner->place_count = kept;
}

void cll_job_learner_in_task(cll_job_learner *learner) {
    if (!swift_task_getCurrent || !swift_task_getJobTaskId) return;
    const void *task = swift_task_getCurrent();
    if (task == NULL) return;
    learner->task = (uint64_t)(uintptr_t)task;
    if (learner->tasks == 0) {
        place_search search = {.value = learner->task, .places = learner->places, .capacity = CLL_JOB_PLACES};
        dl_iterate_phdr(cll_search_module, &search);
        learner->place_count = search.found;
        learner->numbers = ~0u;
    } else {
        cll_keep_places(learner, learner->task, 1);
    }
    uint32_t number = (uint32_t)swift_task_getJobTaskId(task), words[NUMBER_WORDS], equal = 0;
    // Read by the kernel: only an object's library, and AddressSanitizer, know its size.
    if (cll_memory_read(getpid(), learner->task, words, sizeof(words)) != sizeof(words)) memset(words, 0, sizeof(words));
    for (uint32_t index = 0; index < NUMBER_WORDS; index++) {
        if (words[index] == number) equal |= 1u << index;
    }
    learner->numbers &= equal;
    learner->tasks++;
}

void cll_job_learner_after_task(cll_job_learner *learner) { cll_keep_places(learner, learner->task, 0); }

int cll_job_learner_finish(const cll_job_learner *learner, cll_job_slots *slots) {
    // A reference count may be equal to a number by chance, but not three times in a row.
    enum { TASKS = 3 };
    if (learner->tasks < TASKS || learner->place_count != 1 || __builtin_popcount(learner->numbers) != 1) return 0;
    slots->task = learner->places[0];
    slots->task_id = __builtin_ctz(learner->numbers) * (int32_t)sizeof(uint32_t);
    return 1;
}

typedef struct queue_search {
    void *queue;
    cll_job_learner learner;
    int32_t label;
} queue_search;

static const char own_label[] = "lagmonitor.place";
enum { QUEUE_BYTES = 128 };  // of a queue, which has as many, to be searched

static void cll_search_queue(void *context) {
    queue_search *search = context;
    place_search found = {
        .value = (uint64_t)(uintptr_t)search->queue, .places = search->learner.places, .capacity = CLL_JOB_PLACES};
    dl_iterate_phdr(cll_search_module, &found);
    search->learner.place_count = found.found;
    for (int32_t at = 8; at + 8 <= QUEUE_BYTES; at += 8) {
        uint64_t word;
        char text[sizeof(own_label)];
        if (cll_memory_read(getpid(), (uint64_t)(uintptr_t)search->queue + (uint64_t)at, &word, sizeof(word)) != sizeof(word)) return;
        // Any number may be there: it is read as an address that may not be valid.
        if (word < 4096 || cll_memory_read(getpid(), word, text, sizeof(text)) != sizeof(text)) continue;
        if (memcmp(text, own_label, sizeof(text)) == 0) search->label = at;
    }
}

int cll_job_learn_queue(cll_job_slots *slots) {
    if (!dispatch_queue_create || !dispatch_sync_f || !dispatch_release) return 0;
    queue_search search = {.queue = dispatch_queue_create(own_label, NULL)};
    if (!search.queue) return 0;
    dispatch_sync_f(search.queue, &search, cll_search_queue);
    cll_keep_places(&search.learner, (uint64_t)(uintptr_t)search.queue, 0);
    dispatch_release(search.queue);
    if (search.learner.place_count != 1 || search.label == 0) return 0;
    slots->queue = search.learner.places[0];
    slots->label = search.label;
    return 1;
}

int cll_job_is_manager(const cll_job_slots *slots, uint64_t queue) {
    static const char manager[] = "com.apple.libdispatch-manager";
    char text[sizeof(manager)];
    uint64_t label;
    if (slots->label == 0 || cll_memory_read(getpid(), queue + (uint64_t)slots->label, &label, sizeof(label)) != sizeof(label)) return 0;
    return cll_memory_read(getpid(), label, text, sizeof(text)) == sizeof(text) && memcmp(text, manager, sizeof(text)) == 0;
}

int cll_job_read(const cll_job_slots *slots, const cll_job_thread *thread, cll_job *job) {
    enum { TID, TASK, QUEUE, COUNT };
    // For unknown places, an existing word is read instead.
    uint64_t tid_address = cll_thread_tid_address(thread->descriptor);
    uint64_t addresses[COUNT] = {
        tid_address,
        slots->task != 0 ? thread->descriptor + (uint64_t)slots->task : tid_address,
        slots->queue != 0 ? thread->descriptor + (uint64_t)slots->queue : tid_address,
    };
    uint64_t words[COUNT];
    if (tid_address == 0 || cll_memory_read_words(getpid(), addresses, words, COUNT) != COUNT) return ESRCH;
    // The kernel clears it at the thread's end (CLONE_CHILD_CLEARTID), and another thread writes its own.
    if ((pid_t)(uint32_t)words[TID] != thread->tid) return ESRCH;
    *job = (cll_job){.queue = slots->queue != 0 ? words[QUEUE] : 0};
    if (slots->task == 0 || words[TASK] == 0) return 0;
    uint32_t number;
    // A task that has ended meanwhile has no number any more: then no task is running.
    uint64_t at = words[TASK] + (uint64_t)slots->task_id;
    if (cll_memory_read(getpid(), at, &number, sizeof(number)) == sizeof(number)) job->task = 1ull << 32 | number;
    return 0;
}

int cll_job_counter_open(pid_t tid, uint64_t function) {
    if (cll_perf_is_filtered()) return -EPERM;
    int counter = cll_breakpoint_open(tid, function);
    if (counter >= 0) cll_breakpoint_set(counter, 1);
    return counter;
}

static uint64_t cll_clock_ns(clockid_t clock) {
    struct timespec time;
    return clock_gettime(clock, &time) == 0 ? (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec : 0;
}

cll_cpu_bounds cll_cpu_of_others(void) {
    uint64_t before = cll_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    uint64_t all = cll_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    uint64_t after = cll_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    return (cll_cpu_bounds){
        .at_least_ns = all > after ? all - after : 0,
        .at_most_ns = all > before ? all - before : 0,
    };
}

uint64_t cll_thread_count(void) {
    struct stat folder;
    // One link for each folder in it, one for itself and one for its parent.
    return stat("/proc/self/task", &folder) == 0 && folder.st_nlink > 2 ? (uint64_t)folder.st_nlink - 2 : 0;
}
