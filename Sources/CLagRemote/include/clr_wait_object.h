// The object on which a thread of another process waits for events, and whether unfetched work is pending there.
//
// The object is read while the thread sleeps in its wait: then the call's arguments and the memory that they point to are the ones that the kernel
// uses. Later it is queried with duplicates (pidfd_getfd(2)) of the process's descriptors and poll(2) with timeout 0, which consumes
// no event, whether level-triggered, edge-triggered or one-shot. A duplicate lives for one poll, so it keeps nothing open that the program closes.
//
// A signalfd is never polled, nor an epoll instance that may watch one: its readiness depends on the polling process (signalfd(2)), and the kernel
// removes an item that is not ready for that process from the instance's list, so the program would miss its signal. For such an instance the
// members are polled one by one, and the thread's pending signals are read. The same applies to an instance that watches a file of /proc or /sys, a
// perf event, or an unknown file: these are not polled at all, because some report their event only to the first poll.
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "cll_procfs.h"

enum { CLR_WAITED_MAX = 64 };

typedef struct clr_waited {
    int32_t descriptor;
    int32_t events;      // of poll(2)
    uint64_t identity;   // of the file that the descriptor refers to, as far as /proc shows it
} clr_waited;

typedef struct clr_wait_object {
    int32_t epoll;        // the descriptor of an epoll instance; -1: poll(2) or select(2), or a ring
    uint32_t is_ring;     // 1: `waited` is the ring of io_uring, alone
    uint32_t count;       // of `waited`
    uint32_t is_complete; // 0: the wait has more descriptors
    clr_waited waited[CLR_WAITED_MAX];
} clr_wait_object;

// The epoll instance's descriptor of a thread that sleeps in `call`; -1: not a wait on an epoll instance.
int32_t clr_epoll_of_wait(const cll_thread_syscall *call);

// Reads the object of a thread that sleeps in `call`: 1, or 0 if it is not a wait for events, or cannot be read. The process may have written
// anything there: the amount read is bounded, and nothing is used as an address. Takes some 2 µs per descriptor; for epoll less than 1.
int clr_wait_object_read(pid_t pid, const cll_thread_syscall *call, clr_wait_object *object);

enum {
    CLR_WORK_NONE = 0,
    CLR_WORK_PENDING = 1,
    CLR_WORK_UNKNOWN = 2,
};

// Why the state is not known.
enum {
    CLR_UNKNOWN_REFUSED = 1,     // the kernel does not permit it, or lacks pidfd_getfd (before Linux 5.6)
    CLR_UNKNOWN_SIGNALFD = 2,    // see above
    CLR_UNKNOWN_DESCRIPTORS = 3, // some descriptors cannot be polled, or there are too many
    CLR_UNKNOWN_EDGE = 4,        // a member that is reported once for each event (EPOLLET) is ready, and may have been reported
};

// The kind of the object.
enum {
    CLR_OBJECT_LOOP = 0,   // several descriptors, or one with many possible peers: a listening socket, an eventfd
    CLR_OBJECT_TIMER = 1,  // no descriptor: a sleep
    CLR_OBJECT_PEER = 2,   // one connection or pipe: a blocking read with a timeout
    CLR_OBJECT_GONE = 3,   // the program has closed it
    CLR_OBJECT_UNKNOWN = 4,
    CLR_OBJECT_TERMINAL = 5,  // only a terminal, or a connection to a display server
};

typedef struct clr_work {
    int32_t state;   // CLR_WORK_…
    int32_t reason;  // CLR_UNKNOWN_…, if the state is unknown
    int32_t kind;    // CLR_OBJECT_…
    uint32_t is_ring;
    uint32_t is_wake_up;  // only eventfds are ready: a thread of the program has woken the loop
    uint32_t fetched;  // of a ring: how many completions the program has taken from it so far, as the program itself publishes
} clr_work;

// Whether an epoll instance may watch something that must not be polled, as found a moment ago. Zeroed: not known yet.
typedef struct clr_signal_members {
    uint64_t asked_ns;     // when it was found
    uint64_t blocked;      // a change of these invalidates it: the signals that the thread blocks,
    uint64_t descriptors;  // and, if it blocks any, the number of open descriptors
    int32_t epoll;
    int32_t risk;          // CLR_MEMBERS_…, signal_members.h
} clr_signal_members;

// Polls the object. `tid` is the waiting thread. `known`, if not NULL, is kept from one call to the next. Never blocks. Takes 4 µs for epoll, some
// 3 µs for each descriptor of a set.
//
// For epoll the process's descriptors are searched for files that must not be polled: some 3 µs each, at most 512 (1.5 ms; a process
// with more is not searched). If one is found, or if more are open and the thread blocks signals, the list of the
// instance's members is searched as well (0.6 ms for 1,024, some 3 µs more for each). With `known` that happens once a second for each instance
// of a thread that blocks no signals; for a thread that does, also whenever the number of open descriptors has changed. Without
// `known` it happens in every call. A file (of /proc) that a thread without blocked signals adds to its instance meanwhile may be polled once
// or more within that second.
void clr_wait_object_poll(int pidfd, pid_t pid, pid_t tid, const clr_wait_object *object, clr_signal_members *known, clr_work *work);

// Whether a thread that sleeps in `call` waits there for all of `object`: a loop within a handler (a modal dialog), which fetches its events. With poll
// or select on all of its descriptors, each for the same events; or with an instance that watches them all. Takes some 2 µs per descriptor.
int clr_wait_contains(pid_t pid, const cll_thread_syscall *call, const clr_wait_object *object);

// Removes from one wait the descriptors that another wait of the same thread has as well.
void clr_wait_object_subtract(clr_wait_object *object, const clr_wait_object *other);

// Whether a thread that sleeps in `call` waits only for an interactive terminal, which is one of several descriptors of `object`: a
// question to the user, such as a text program's dialog. Takes some 2 µs per descriptor.
int clr_wait_asks_user(pid_t pid, const cll_thread_syscall *call, const clr_wait_object *object);

// Whether the members of this epoll instance show that a single-threaded process runs no loop. Case 1: one accepted connection, and otherwise only
// its own files (pipes, signals, timers): then only the client that sent the request waits for it. A connection that the process made itself (to a
// broker, an X server), a second one, or a listening socket anywhere mean a loop. Case 2: only pipes and signals, in a child of the same program: a
// helper of a server, which works periodically. Anything that cannot be examined means a loop. For such a child, an instance without
// members shows nothing: a handler may have removed them all, as servers do that reload their configuration. Takes 10 µs, and some for
// each descriptor of such a process.
enum { CLR_SERVES_LOOP = 0, CLR_SERVES_ONE_PEER = 1, CLR_SERVES_ITSELF = 2, CLR_SERVES_UNKNOWN = 3 };
int clr_service(int pidfd, pid_t pid, int32_t epoll);

// Whether an epoll instance watches a listening socket, among its first 256 members: its thread is a server's loop. Takes 10 µs, and some 3 per socket.
int clr_epoll_accepts(int pidfd, pid_t pid, int32_t epoll);

// Whether an epoll instance watches only eventfds, with which threads of the program itself wake its loop: no client waits for that loop. Takes 10 µs.
int clr_has_wake_ups_alone(pid_t pid, int32_t epoll);

// Whether a client waits to be accepted at a listening socket of an object (for an epoll instance, among its first 256 members). A set of poll or select
// may belong to a start, so for a set this also requires an accepted connection that is still open. Takes 10 µs, and some 3 per socket, for a set also
// per socket of the process.
int clr_has_waiting_client(int pidfd, pid_t pid, const clr_wait_object *object);

// Whether an epoll instance of at most 256 members, in a process of one thread, is to report a listening socket only once (EPOLLONESHOT). The usual
// purpose of that is to leave the socket to another thread. Takes 20 µs, some 3 for each member that is reported once, and for a large
// instance the time that the kernel needs for its list.
int clr_has_one_shot_listeners(int pidfd, pid_t pid, int32_t epoll);

// Stores those of them in `listeners` as a set at which a client waits, and that were reported: 1; 0: there are none, or it cannot be examined. The
// handler that was called for the last client may still run. The instance itself is not ready then. Takes as long.
int clr_held_listeners(int pidfd, pid_t pid, int32_t epoll, clr_wait_object *listeners);

// Stores the ready listening sockets of an object in `listeners` as a set: 1; 0: there are none, or something else is ready as well; -1: it cannot be
// examined, for example an epoll instance of more than 256 members. Takes 3 µs per descriptor.
int clr_ready_listeners(int pidfd, pid_t pid, const clr_wait_object *object, clr_wait_object *listeners);

enum { CLR_SOCKETS_MAX = 256 };

// The identities of the sockets of a wait of another process (for an epoll instance, of its members); returns how many; -1: they cannot
// be read, or an instance has more than 256. Takes 3 µs per descriptor, and the kernel holds the instance's lock for a part of it.
int clr_wait_sockets(pid_t pid, const clr_wait_object *object, uint64_t found[CLR_SOCKETS_MAX]);

// Whether a process has one of these sockets with the same number, as inherited by a child. Takes 3 µs per socket.
int clr_has_sockets(pid_t pid, const clr_wait_object *sockets);

// Whether a process has closed all descriptors of `object`. Takes 1 µs per descriptor.
int clr_is_closed(pid_t pid, const clr_wait_object *object);

// Whether `object` can only deliver new connections, and the process has no connection from there: then the only waiting work of a loop on it is
// what is pending there. Takes 3 µs per socket of the process.
int clr_has_no_client(int pidfd, pid_t pid, const clr_wait_object *object);

// The descriptor from which a thread that sleeps in `call` reads, or for whose readiness alone it waits; -1: it waits for something else. Takes 2 µs.
int32_t clr_awaited_descriptor(pid_t pid, const cll_thread_syscall *call);

// Whether `object` can only deliver new connections, at no more than eight sockets. Takes 10 µs, and 3 per socket; for a large epoll instance the time
// that the kernel needs for its list.
int clr_waits_for_clients_alone(int pidfd, pid_t pid, const clr_wait_object *object);

// The same, and a thread that sleeps in `call` waits for a connection that came from there. Takes 3 µs per listening
// socket, and 3 for the connection.
int clr_awaits_client(int pidfd, pid_t pid, const cll_thread_syscall *call, const clr_wait_object *object);

// Whether one of these descriptors is among those of `object`. -1: they cannot be listed, or not all of them.
int clr_waits_at(pid_t pid, const clr_wait_object *object, const int32_t *descriptors, uint32_t count);

// The listening socket at which a thread that sleeps in `call` accepts a connection; -1: it is in another call.
int32_t clr_listener_of_accept(const cll_thread_syscall *call);

// Whether a thread that sleeps in `call` accepts a connection at a listening socket of `object`: several processes that wait for one socket may reach
// that call at the same time. Takes 10 µs for an epoll instance.
int clr_accepts_for(pid_t pid, const cll_thread_syscall *call, const clr_wait_object *object);

// Whether a ready descriptor of a set of poll or select comes from a client or user: a connection to be accepted or an accepted one, a datagram to a
// server's address, an interactive terminal or a display. NONE: all are the program's own: a pipe of which it has both ends, or a connection that
// it made itself. UNKNOWN: a pipe or socket pair of which another process may have one end, a descriptor that cannot be queried, or too many descriptors.
// WAITS for an object that is not a set. Takes 3 µs per descriptor.
enum { CLR_CLIENT_NONE = 0, CLR_CLIENT_WAITS = 1, CLR_CLIENT_UNKNOWN = 2 };
int clr_client_waits(int pidfd, pid_t pid, const clr_wait_object *object);

// The only listening socket of the process, as a set: 1; 0: it has none, or more than one. Takes 3 µs per descriptor.
int clr_lone_listener(int pidfd, pid_t pid, clr_wait_object *object);

// Whether one of the first 64 threads of the process sleeps in a wait for new connections only, while an accepted one is open, and the
// process has other threads: these serve it. Takes 10 µs per thread, and 3 per socket of the process.
int clr_serves_by_threads(int pidfd, pid_t pid);

// Whether a thread sleeps in a call that waits for its own program: a child's exit, another thread.
int clr_awaits_own(const cll_thread_syscall *call);

// Whether a thread sleeps in a lock that processes share: a file lock, a System V semaphore, a futex that is not private (except
// one for a thread's exit). Takes 1 µs, for a futex some for each thread.
int clr_waits_among_processes(pid_t pid, const cll_thread_syscall *call);

// What the call in which a thread sleeps shows: it may wait for work (a lock or condition, an event, a child, a byte of a connection or pipe), it
// sleeps for a time, or it works (on a file, or by trying to write or connect).
enum { CLR_CALL_WORKS = 0, CLR_CALL_RESTS = 1, CLR_CALL_SLEEPS = 2 };

int32_t clr_call_use(pid_t pid, const cll_thread_syscall *call);

// The kernel shows a call with a timeout that it restarts after a stop as `restart_syscall`, with the same arguments: replaces that number by the one of
// `before`, if that is the same call as the thread made it.
void clr_restarted(cll_thread_syscall *call, const cll_thread_syscall *before);

// Whether one of the first 64 threads of the process sleeps in a wait for events that may be a loop's: on an epoll instance, a ring, or several
// descriptors. Or whether all of them wait for children. Explains why a process has no known loop. Takes some 5 µs per thread.
enum { CLR_THREADS_OTHERWISE = 0, CLR_THREADS_WAIT = 1, CLR_THREADS_AWAIT_CHILDREN = 2 };
int clr_threads_use(pid_t pid);

// Whether another one of the first `most` threads of the process sleeps in a wait on this epoll instance: then it fetches the events. 0: none of all
// threads; -1: not known, because there are more. Takes some 5 µs per thread.
int clr_epoll_has_other_waiter(pid_t pid, pid_t tid, int32_t epoll, uint32_t most);

// The same for new connections: whether another thread sleeps in `accept` at a listening socket of `object`. -1 also if the object's descriptors
// cannot be listed. Takes some 5 µs per thread.
int clr_has_other_acceptor(pid_t pid, pid_t tid, const clr_wait_object *object, uint32_t most);
