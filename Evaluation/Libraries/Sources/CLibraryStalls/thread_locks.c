// Locks of pthreads and of the C library that another thread of the program holds.
#include "tables.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <threads.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spinlock;
static pthread_barrier_t barrier;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static sem_t semaphore;
static pthread_t worker;
static FILE *log_file;
static volatile int state;

static void hold_mutex(moment end) {
    hold_until(end, "mutex-holder", (action)pthread_mutex_lock, (action)pthread_mutex_unlock, &mutex);
}

static const char *make_mutex(int protocol, int robust, int kind) {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, kind);
    pthread_mutexattr_setprotocol(&attributes, protocol);
    pthread_mutexattr_setrobust(&attributes, robust);
    return pthread_mutex_init(&mutex, &attributes) == 0 ? NULL : "this kind of mutex is not supported";
}

static const char *make_robust(void) { return make_mutex(PTHREAD_PRIO_NONE, PTHREAD_MUTEX_ROBUST, PTHREAD_MUTEX_NORMAL); }
static const char *make_inheriting(void) { return make_mutex(PTHREAD_PRIO_INHERIT, PTHREAD_MUTEX_STALLED, PTHREAD_MUTEX_NORMAL); }
static const char *make_checking(void) { return make_mutex(PTHREAD_PRIO_NONE, PTHREAD_MUTEX_STALLED, PTHREAD_MUTEX_ERRORCHECK); }
static const char *make_adaptive(void) { return make_mutex(PTHREAD_PRIO_NONE, PTHREAD_MUTEX_STALLED, PTHREAD_MUTEX_ADAPTIVE_NP); }

static int lock_and_change(void) {
    if (pthread_mutex_lock(&mutex) != 0) return -1;
    state++;
    pthread_mutex_unlock(&mutex);
    return 0;
}

int update_inventory(moment end) {
    if (pthread_mutex_lock(&mutex) != 0) return -1;
    state++;
    pthread_mutex_unlock(&mutex);
    return 0;
}

int update_robustly(moment end) { return lock_and_change() + 1; }

int try_for_a_while(moment end) {
    // The timeout is a time of the wall clock, far in the future.
    struct timespec limit;
    clock_gettime(CLOCK_REALTIME, &limit);
    limit.tv_sec += 10;
    if (pthread_mutex_timedlock(&mutex, &limit) != 0) return -1;
    pthread_mutex_unlock(&mutex);
    return 0;
}

static void read_meanwhile(moment end) {
    for (int reader = 0; reader < 2; reader++) {
        hold_until(end, "reader", (action)pthread_rwlock_rdlock, (action)pthread_rwlock_unlock, &rwlock);
    }
}

static void write_meanwhile(moment end) {
    hold_until(end, "table-writer", (action)pthread_rwlock_wrlock, (action)pthread_rwlock_unlock, &rwlock);
}

int replace_routes(moment end) {
    if (pthread_rwlock_wrlock(&rwlock) != 0) return -1;
    state++;
    pthread_rwlock_unlock(&rwlock);
    return 0;
}

int read_routes(moment end) {
    if (pthread_rwlock_rdlock(&rwlock) != 0) return -1;
    int seen = state;
    pthread_rwlock_unlock(&rwlock);
    return seen;
}

static const char *make_semaphore(void) { return sem_init(&semaphore, 0, 0) == 0 ? NULL : failed("sem_init"); }
static void post_late(moment end) { act_at(end, "poster", (action)sem_post, &semaphore); }

int take_print_slot(moment end) {
    while (sem_wait(&semaphore) != 0) {}
    return ++state;
}

static int signal_condition(void *unused) {
    pthread_mutex_lock(&mutex);
    state = 1;
    pthread_mutex_unlock(&mutex);
    return pthread_cond_signal(&condition);
}

static void signal_late(moment end) { act_at(end, "signaller", signal_condition, NULL); }

int await_first_result(moment end) {
    pthread_mutex_lock(&mutex);
    while (state == 0) pthread_cond_wait(&condition, &mutex);
    pthread_mutex_unlock(&mutex);
    return state;
}

static void *work(void *end) {
    pthread_setname_np(pthread_self(), "index-worker");
    rest_until(*(moment *)end);
    return NULL;
}

static void start_worker(moment end) {
    static moment over;
    over = end;
    pthread_create(&worker, NULL, work, &over);
}

int join_index_worker(moment end) {
    if (pthread_join(worker, NULL) != 0) return -1;
    return ++state;
}

static const char *make_barrier(void) {
    pthread_barrier_init(&barrier, NULL, 2);
    return NULL;
}

static void arrive_late(moment end) { act_at(end, "latecomer", (action)pthread_barrier_wait, &barrier); }

int meet_workers(moment end) {
    int code = pthread_barrier_wait(&barrier);
    return code + ++state;
}

static int lock_file(void *file) {
    flockfile(file);
    return 0;
}

static int unlock_file(void *file) {
    funlockfile(file);
    return 0;
}

static const char *open_log(void) {
    log_file = tmpfile();
    return log_file ? NULL : failed("tmpfile");
}

static void hold_log(moment end) { hold_until(end, "log-writer", lock_file, unlock_file, log_file); }

int log_request(moment end) {
    int length = fprintf(log_file, "request %d\n", state);
    return length + fflush(log_file);
}

static const char *make_spinlock(void) {
    pthread_spin_init(&spinlock, PTHREAD_PROCESS_PRIVATE);
    return NULL;
}

static void hold_spinlock(moment end) {
    hold_until(end, "spin-holder", (action)pthread_spin_lock, (action)pthread_spin_unlock, (void *)&spinlock);
}

int bump_counter(moment end) {
    if (pthread_spin_lock(&spinlock) != 0) return -1;
    state++;
    pthread_spin_unlock(&spinlock);
    return state;
}

static moment once_end;

static void load_tables(void) {
    state = 2;
    rest_until(once_end);
}

static int load_tables_once(void *unused) { return pthread_once(&once, load_tables); }

static void load_elsewhere(moment end) {
    once_end = end;
    act_at(moment_now(), "table-loader", load_tables_once, NULL);
    while (state != 2) thrd_yield();
}

int use_tables(moment end) {
    if (pthread_once(&once, load_tables) != 0) return -1;
    return state;
}

const struct stall thread_lock_stalls[] = {
    {"mutex", "lock", "update_inventory", NULL, "mutex-holder", "a mutex that another thread holds", NULL, hold_mutex, update_inventory},
    // lock_and_change has one caller, and may be inlined into it.
    {"mutex-robust", "lock", "lock_and_change|update_robustly", "handle_event", "mutex-holder",
     "a robust mutex of another thread", make_robust, hold_mutex, update_robustly},
    {"mutex-priority-inheriting", "lock", "update_inventory", NULL, "mutex-holder", "a mutex whose owner the kernel knows",
     make_inheriting, hold_mutex, update_inventory},
    {"mutex-error-checking", "lock", "update_inventory", NULL, "mutex-holder", "an error-checking mutex that another thread holds",
     make_checking, hold_mutex, update_inventory},
    {"mutex-adaptive", "lock", "update_inventory", NULL, "mutex-holder", "an adaptive mutex that another thread holds", make_adaptive,
     hold_mutex, update_inventory},
    {"mutex-timed", "lock", "try_for_a_while", NULL, "mutex-holder", "pthread_mutex_timedlock", NULL, hold_mutex,
     try_for_a_while},
    {"rwlock-writer-behind-readers", "lock", "replace_routes", NULL, NULL,
     "a writer waits for two readers, which memory does not identify", NULL, read_meanwhile, replace_routes},
    {"rwlock-reader-behind-writer", "lock", "read_routes", NULL, "table-writer", "a reader waits for a writer", NULL,
     write_meanwhile, read_routes},
    {"sem-wait", "lock", "take_print_slot", NULL, NULL, "a semaphore that is posted late", make_semaphore, post_late,
     take_print_slot},
    {"cond-wait", "lock", "await_first_result", NULL, NULL, "a condition variable that is signalled late", NULL, signal_late,
     await_first_result},
    {"pthread-join", "lock", "join_index_worker", NULL, "index-worker", "joining a thread that sleeps", NULL, start_worker,
     join_index_worker},
    {"pthread-barrier", "lock", "meet_workers", NULL, NULL, "a barrier that another thread reaches late", make_barrier,
     arrive_late, meet_workers},
    {"stdio-lock", "lock", "log_request", NULL, "log-writer", "fprintf to a FILE that another thread has locked", open_log,
     hold_log, log_request},
    // It uses its processor while it waits for a lock, so both causes are correct.
    {"spin-lock", "cpu|lock", "bump_counter", NULL, NULL, "pthread_spin_lock: the waiting thread spins", make_spinlock,
     hold_spinlock, bump_counter},
    {"pthread-once", "lock", "use_tables", NULL, NULL, "pthread_once while another thread runs it", NULL, load_elsewhere,
     use_tables},
    {0},
};
