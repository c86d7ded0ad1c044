// Locks of C++ and of libdispatch, which one thread holds and another waits for.
#include "stall_fixtures.h"

#include <chrono>
#include <mutex>
#include <shared_mutex>

static std::mutex mutex;
static std::recursive_mutex recursive_mutex;
static std::timed_mutex timed_mutex;
static std::shared_mutex shared_mutex;

void fixture_lock_take(fixture_lock lock) {
    switch (lock) {
    case FIXTURE_MUTEX: mutex.lock(); break;
    case FIXTURE_RECURSIVE_MUTEX: recursive_mutex.lock(); break;
    case FIXTURE_TIMED_MUTEX: timed_mutex.lock(); break;
    case FIXTURE_SHARED_MUTEX_WRITE: shared_mutex.lock(); break;
    case FIXTURE_SHARED_MUTEX_READ: shared_mutex.lock_shared(); break;
    }
}

void fixture_lock_wait(fixture_lock lock) {
    switch (lock) {
    case FIXTURE_MUTEX: mutex.lock(); break;
    case FIXTURE_RECURSIVE_MUTEX: recursive_mutex.lock(); break;
    case FIXTURE_TIMED_MUTEX: (void)timed_mutex.try_lock_for(std::chrono::hours(1)); break;
    case FIXTURE_SHARED_MUTEX_WRITE: shared_mutex.lock_shared(); break;
    case FIXTURE_SHARED_MUTEX_READ: shared_mutex.lock(); break;
    }
}

// Weak: only programs that link libdispatch have it.
extern "C" void dispatch_once_f(intptr_t *predicate, void *argument, void (*function)(void *)) __attribute__((weak));

void fixture_dispatch_once(void (*callback)(void *), void *argument) {
    static intptr_t predicate;
    if (dispatch_once_f) dispatch_once_f(&predicate, argument, callback);
}
