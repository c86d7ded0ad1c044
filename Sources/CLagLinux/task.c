#define _GNU_SOURCE
#include "cll_task.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "cll_memory.h"
#include "cll_thread.h"

// Weak: missing in a program that runs no task.
extern void *swift_task_getCurrent(void) __attribute__((weak, swiftcall));
extern void *swift_task_alloc(size_t size) __attribute__((weak, swiftcall));
extern void swift_task_dealloc(void *block) __attribute__((weak, swiftcall));
extern const uint32_t _swift_concurrency_debug_internal_layout_version __attribute__((weak));

enum {
    KNOWN_LAYOUT = 1,     // of the runtimes of Swift 6.2 and 6.3
    LINK_MARKS = 7,       // bits of a link that are not part of the address
    RECORD_WORDS = 3,     // of a status record: its kind, the next one, what it is about
    LOCAL_WORDS = 4,      // of a bound task-local: the next one, the key, the value's type, the value
    // The first word of a task-local's item has the next one's address and its own kind (TaskLocal::Item::Kind,
    // swift/ABI/TaskLocal.h). The kind is in the upper two of the three bits that an address leaves free (llvm::PointerIntPair).
    LOCAL_KIND = 3 << 1,
    LOCAL_MARKER = 2 << 1, // the mark of the parent's list; below are bindings
    LOCAL_STOP = 3 << 1,   // the list ends: the task sees nothing further
    PROBE_BYTES = 32,     // of a block that is allocated to find where it is recorded
    LOWEST_ADDRESS = 4096,
};
static const uint32_t block_headers[] = {8, 16, 32};
enum { BLOCK_HEADERS = sizeof(block_headers) / sizeof(*block_headers), TASKS_TO_LEARN = 3 };

int cll_task_layout_is_known(void) {
    return &_swift_concurrency_debug_internal_layout_version && _swift_concurrency_debug_internal_layout_version == KNOWN_LAYOUT;
}

const void *cll_task_current(void) { return swift_task_getCurrent ? swift_task_getCurrent() : NULL; }

static int cll_read_exactly(uint64_t address, void *buffer, size_t size) {
    return address >= LOWEST_ADDRESS && cll_memory_read(getpid(), address, buffer, size) == size;
}

// A text that may end at the end of readable memory. Its length, or -1.
static int cll_read_name(uint64_t address, char *name) {
    size_t length = address >= LOWEST_ADDRESS ? cll_memory_read(getpid(), address, name, CLL_TASK_NAME_BYTES) : 0;
    if (length == 0) return -1;
    const char *end = memchr(name, 0, length);
    return (int)(end != NULL ? (size_t)(end - name) : length);
}

static int cll_is_name(uint64_t address, const char *expected) {
    char name[CLL_TASK_NAME_BYTES];
    int length = cll_read_name(address, name);
    return length >= 0 && (size_t)length == strlen(expected) && memcmp(name, expected, (size_t)length) == 0;
}

// The kind of the status record with that name, in the list that begins there; -1: none.
static int32_t cll_find_name_record(uint64_t record, const char *expected) {
    for (int count = 0; count < CLL_TASK_RECORDS; count++) {
        uint64_t words[RECORD_WORDS];
        if (!cll_read_exactly(record & ~(uint64_t)LINK_MARKS, words, sizeof(words))) return -1;
        if (cll_is_name(words[2], expected)) return (int32_t)(words[0] & 0xff);
        record = words[1];
    }
    return -1;
}

// The key's values in the list of task-locals that begins there, the innermost first, up to `capacity`. Returns their
// number.
static size_t cll_find_locals(uint64_t item, uint64_t key, uint64_t *values, size_t capacity) {
    size_t found = 0;
    for (int count = 0; count < CLL_TASK_LOCALS && found < capacity; count++) {
        uint64_t words[LOCAL_WORDS];
        // A marker is one word: it may be the last of its page, and what follows it may be left over from one of our
        // bindings.
        if (!cll_read_exactly(item & ~(uint64_t)LINK_MARKS, words, sizeof(words[0]))) break;
        uint64_t kind = words[0] & LOCAL_KIND;
        if (kind == LOCAL_STOP) break;
        if (kind < LOCAL_MARKER) {
            if (!cll_read_exactly(item & ~(uint64_t)LINK_MARKS, words, sizeof(words))) break;
            if (words[1] == key) values[found++] = words[3];
        }
        item = words[0];
    }
    return found;
}

// 0: none.
static uint64_t cll_find_local(uint64_t item, uint64_t key) {
    uint64_t value = 0;
    cll_find_locals(item, key, &value, 1);
    return value;
}

void cll_task_learner_in_task(cll_task_learner *learner, const cll_task_truth *truth) {
    if (!swift_task_getCurrent || !swift_task_alloc || !swift_task_dealloc) return;
    const void *task = swift_task_getCurrent();
    if (task == NULL) return;
    uint64_t words[CLL_TASK_WORDS];
    uint8_t bytes[sizeof(words)];
    // Read by the kernel: only an object's library, and AddressSanitizer, know its size.
    if (!cll_read_exactly((uint64_t)(uintptr_t)task, words, sizeof(words))) return;
    memcpy(bytes, words, sizeof(bytes));
    cll_task_learner found = {.name_kind = -1};
    for (uint32_t byte = 0; byte < 128; byte++) {
        if (bytes[byte] == truth->priority) found.priorities[byte / 32] |= 1u << byte % 32;
    }
    for (uint32_t word = 0; word < CLL_TASK_WORDS; word++) {
        if (cll_is_name(words[word], truth->name)) found.names |= 1u << word;
        int32_t kind = cll_find_name_record(words[word], truth->name);
        if (kind >= 0) {
            found.records |= 1u << word;
            found.name_kind = kind;
        }
        if (cll_find_local(words[word], truth->key) == truth->value) found.locals |= 1u << word;
    }
    char *first = swift_task_alloc(PROBE_BYTES), *second = swift_task_alloc(PROBE_BYTES);
    if (!cll_read_exactly((uint64_t)(uintptr_t)task, words, sizeof(words))) memset(words, 0, sizeof(words));
    for (uint32_t header = 0; header < BLOCK_HEADERS; header++) {
        uint64_t previous;
        if (!cll_read_exactly((uint64_t)(uintptr_t)(second - block_headers[header]), &previous, sizeof(previous))) continue;
        if (previous != (uint64_t)(uintptr_t)(first - block_headers[header])) continue;
        for (uint32_t word = 0; word < CLL_TASK_WORDS; word++) {
            if (words[word] == (uint64_t)(uintptr_t)(second - block_headers[header])) found.blocks[header] |= 1u << word;
        }
    }
    swift_task_dealloc(second);
    swift_task_dealloc(first);
    if (learner->tasks == 0) {
        *learner = found;
    } else {
        for (int index = 0; index < 4; index++) learner->priorities[index] &= found.priorities[index];
        for (uint32_t header = 0; header < BLOCK_HEADERS; header++) learner->blocks[header] &= found.blocks[header];
        learner->names &= found.names;
        learner->records &= learner->name_kind == found.name_kind ? found.records : 0;
        learner->locals &= found.locals;
    }
    learner->tasks++;
}

// The number of the only bit that is set; -1: not exactly one bit.
static int32_t cll_only_bit(uint32_t bits) { return __builtin_popcount(bits) == 1 ? __builtin_ctz(bits) : -1; }

static int32_t cll_word_offset(uint32_t bits) {
    int32_t word = cll_only_bit(bits);
    return word >= 0 ? word * 8 : -1;
}

void cll_task_learner_finish(const cll_task_learner *learner, cll_task_layout *layout) {
    layout->priority = layout->name = layout->name_kind = layout->local = layout->block = -1;
    if (learner->tasks < TASKS_TO_LEARN) return;
    int32_t found = -1, count = 0;
    for (int index = 0; index < 4; index++) {
        count += __builtin_popcount(learner->priorities[index]);
        if (learner->priorities[index] != 0 && found < 0) found = index * 32 + __builtin_ctz(learner->priorities[index]);
    }
    // The job's comes first; the task's status contains another one.
    if (count >= 1 && count <= 2) layout->priority = found;
    layout->name = cll_word_offset(learner->names);
    if (layout->name < 0) {
        layout->name = cll_word_offset(learner->records);
        layout->name_kind = learner->name_kind;
    }
    layout->local = cll_word_offset(learner->locals);
    for (uint32_t header = 0; header < BLOCK_HEADERS; header++) {
        int32_t word = cll_word_offset(learner->blocks[header]);
        if (word < 0) continue;
        layout->block = word;
        layout->block_header = (int32_t)block_headers[header];
    }
}

static void cll_read_task_name(const cll_task_layout *layout, uint64_t word, cll_task *task) {
    uint64_t address = word;
    for (int count = 0; layout->name_kind >= 0; count++) {
        uint64_t words[RECORD_WORDS];
        if (count == CLL_TASK_RECORDS || !cll_read_exactly(word & ~(uint64_t)LINK_MARKS, words, sizeof(words))) return;
        if ((words[0] & 0xff) == (uint64_t)layout->name_kind) {
            address = words[2];
            break;
        }
        word = words[1];
    }
    int length = cll_read_name(address, task->name);
    task->name_length = length > 0 ? (uint8_t)length : 0;
    // What follows it may change, and does not belong to it.
    memset(task->name + task->name_length, 0, sizeof(task->name) - task->name_length);
}

static uint64_t cll_word_at(const uint64_t *words, int32_t offset) { return offset >= 0 ? words[offset / 8] : 0; }

static int cll_task_read_once(const cll_task_layout *layout, const cll_job_thread *thread, cll_task *task) {
    enum { TID, TASK, TOKEN, OWNER, COUNT };
    uint64_t tid_address = cll_thread_tid_address(thread->descriptor);
    if (tid_address == 0 || layout->slots.task == 0) return ENOTSUP;
    uint64_t running = layout->running != 0 ? thread->descriptor + (uint64_t)layout->running : 0;
    uint64_t addresses[COUNT] = {
        tid_address,
        thread->descriptor + (uint64_t)layout->slots.task,
        // For unknown places, an existing word is read instead.
        running != 0 ? running : tid_address,
        running != 0 ? running + 8 : tid_address,
    };
    uint64_t words[COUNT];
    if (cll_memory_read_words(getpid(), addresses, words, COUNT) != COUNT || (pid_t)(uint32_t)words[TID] != thread->tid) return ESRCH;
    memset(task, 0, sizeof(*task));
    task->address = words[TASK];
    if (running != 0) {
        task->running_token = words[TOKEN];
        task->running_task = words[OWNER];
    }
    if (task->address == 0) return 0;
    uint64_t content[CLL_TASK_WORDS];
    if (!cll_read_exactly(task->address, content, sizeof(content))) return EAGAIN;
    memcpy(&task->number, (const char *)content + layout->slots.task_id, sizeof(task->number));
    if (layout->priority >= 0) {
        task->priority = ((const uint8_t *)content)[layout->priority];
        task->has_priority = 1;
    }
    if (layout->name >= 0) cll_read_task_name(layout, cll_word_at(content, layout->name), task);
    if (layout->local >= 0) {
        task->local = cll_find_local(cll_word_at(content, layout->local), layout->key);
        task->has_locals = 1;
    }
    task->block = cll_word_at(content, layout->block);
    return 0;
}

int cll_task_read(const cll_task_layout *layout, const cll_job_thread *thread, cll_task *task) {
    int error = cll_task_read_once(layout, thread, task);
    for (int attempt = 1; error == 0 && attempt < CLL_TASK_ATTEMPTS; attempt++) {
        cll_task again;
        error = cll_task_read_once(layout, thread, &again);
        if (error == 0 && memcmp(&again, task, sizeof(again)) == 0) return 0;
        *task = again;
    }
    return error != 0 ? error : EAGAIN;
}

size_t cll_task_blocks(const cll_task_layout *layout, const cll_task *task, uint64_t *addresses, size_t capacity) {
    size_t count = 0;
    uint64_t block = layout->block >= 0 ? task->block : 0;
    while (block != 0 && count < capacity) {
        uint64_t previous;
        if (block % 8 != 0 || !cll_read_exactly(block, &previous, sizeof(previous))) break;
        addresses[count++] = block + (uint64_t)layout->block_header;
        block = previous;
    }
    return count;
}

size_t cll_task_locals(const cll_task_layout *layout, const cll_task *task, uint64_t *values, size_t capacity) {
    uint64_t first;
    if (task->address == 0 || layout->local < 0) return 0;
    if (!cll_read_exactly(task->address + (uint64_t)layout->local, &first, sizeof(first))) return 0;
    size_t count = cll_find_locals(first, layout->key, values, capacity);
    return count > 0 && values[0] == task->local ? count : 0;
}
