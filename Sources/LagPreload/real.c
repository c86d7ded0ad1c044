#define _GNU_SOURCE
#include "hot.h"
#include "real.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <string.h>

#include "clb_loop_table.h"

hot_page hot __attribute__((aligned(HOT_BYTES)));

// A child that was forked while the loader worked must not call the loader.
static void *known[REAL_COUNT];

// How many objects had been loaded when nothing was found; 0: not searched yet. Some programs repeatedly call a missing function, and only
// another object can provide it.
static unsigned long long searched[REAL_COUNT];

#define REAL_NAME(name) [REAL_##name] = #name,
static const char *const names[REAL_COUNT] = {REAL_LIBC(REAL_NAME) REAL_LIBURING(REAL_NAME)};

// MARK: Of libraries that are not in the global scope

static int is_ours(void *function) {
    Dl_info found, own;
    return dladdr(function, &found) == 0 || dladdr(&hot, &own) == 0 || found.dli_fbase == own.dli_fbase;
}

// The symbol of this name in a loaded object or one of its dependencies; NULL: none, or ours. The object is never
// unloaded after that, so that the pointer stays valid.
static void *find_in(const char *file, const char *name) {
    void *object = dlopen(file, RTLD_NOLOAD | RTLD_LAZY);
    if (object == NULL) return NULL;
    void *function = dlsym(object, name);
    if (function != NULL && !is_ours(function)) return function;
    dlclose(object);
    return NULL;
}

static int visit_first(struct dl_phdr_info *object, size_t size, void *context) {
    *(unsigned long long *)context = object->dlpi_adds;
    return 1;
}

// The number of objects that were loaded since the program began, including unloaded ones. 0: not known.
static unsigned long long count_loaded(void) {
    unsigned long long count = 0;
    dl_iterate_phdr(visit_first, &count);
    return count;
}

// Some names at a time: each iteration handles many objects, and the names fit on the stack of a thread.
enum { FILES_BYTES = 4096 };  // PATH_MAX

typedef struct {
    char files[FILES_BYTES];  // each ends with a zero
    size_t used;
    int begin, next;  // objects before the names, and with them
    int index;
} object_search;

static int visit_object(struct dl_phdr_info *object, size_t size, void *context) {
    object_search *search = context;
    if (search->index++ < search->begin) return 0;
    const char *name = object->dlpi_name;
    // The loader finds a loaded object by its full name. It would search folders for other names (the kernel's own object;
    // the program itself, whose scope was already searched).
    size_t length = name != NULL && strchr(name, '/') != NULL ? strlen(name) + 1 : 0;
    if (length > FILES_BYTES) length = 0;
    if (length > FILES_BYTES - search->used) return 1;
    memcpy(search->files + search->used, name, length);
    search->used += length;
    search->next = search->index;
    return 0;
}

// A plugin that was loaded with RTLD_LOCAL, with a library of its own, still calls our functions, because the program's
// scope comes first. But the function after ours is only searched in that scope.
static void *find_elsewhere(const char *name) {
    object_search search = {.next = 0};
    // Not within the loader's iteration, which holds a lock that must be taken after the one needed here.
    for (;;) {
        search.begin = search.next;
        search.used = 0;
        search.index = 0;
        dl_iterate_phdr(visit_object, &search);
        if (search.next == search.begin) return NULL;
        for (size_t at = 0; at < search.used; at += strlen(search.files + at) + 1) {
            void *function = find_in(search.files + at, name);
            if (function != NULL) return function;
        }
    }
}

// MARK: Resolving

static void *find(int number) {
    // Before the search, so that objects loaded meanwhile are found at the next call.
    unsigned long long loaded = count_loaded();
    if (loaded != 0 && loaded == __atomic_load_n(&searched[number], __ATOMIC_RELAXED)) return NULL;
    int saved = errno;
    void *function = dlsym(RTLD_NEXT, names[number]);
    // An object that another thread unloads meanwhile is opened by its name, which a filter of the program may not
    // allow.
    int is_everywhere = number < REAL_LIBC_COUNT || !clb_makes_no_calls();
    if (function == NULL && number > REAL_LIBURING_BEGIN && is_everywhere) function = find_elsewhere(names[number]);
    errno = saved;
    // A filter that the kernel refuses is taken back; then the rest is searched after all.
    if (function == NULL && is_everywhere) __atomic_store_n(&searched[number], loaded, __ATOMIC_RELAXED);
    return function;
}

__attribute__((noinline, cold)) void *real_resolve(int number) {
    void *function = __atomic_load_n(&known[number], __ATOMIC_RELAXED);
    if (function == NULL) {
        function = find(number);
        if (function != NULL) __atomic_store_n(&known[number], function, __ATOMIC_RELAXED);
    }
    if (function != NULL) __atomic_store_n(&hot.functions[number], function, __ATOMIC_RELAXED);
    return function;
}

void real_resolve_all(void) {
    for (int number = 0; number < REAL_LIBC_COUNT; number++) real_resolve(number);
}
