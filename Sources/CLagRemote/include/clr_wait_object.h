// What a thread of another process waits on for events, and whether work is pending there that it does not fetch.
//
// The object is read while the thread sleeps in its wait: then the call's arguments and the memory that they point to are the ones that the kernel
// uses. Afterwards it is asked for by duplicates (pidfd_getfd(2)) of the process's descriptors and poll(2) with time-out 0, which consumes
// no event, whether it is level-triggered, edge-triggered or one-shot. A duplicate lives for one poll: none keeps open what the program closes.
//
// A signalfd is never asked, nor an epoll instance that may watch one: whether it is ready depends on who asks (signalfd(2)), and the kernel
// takes an item that is not ready for the asker off the instance's list. The program would miss its signal. Of such an instance the
// members are asked one by one, and the signals that wait for the thread. So is one that watches a file of /proc or /sys, a perf event,
// or what is not known: these are not asked at all, as some give their event to the first who asks.
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "cll_procfs.h"

enum { CLR_WAITED_MAX = 64 };

typedef struct clr_waited {
    int32_t descriptor;
    int32_t events;      // of poll(2)
    uint64_t identity;   // of what the descriptor refers to, as far as /proc names it
} clr_waited;

typedef struct clr_wait_object {
    int32_t epoll;        // the descriptor of an epoll instance; -1: poll(2) or select(2), or a ring
    uint32_t is_ring;     // 1: `waited` is the ring of io_uring, alone
    uint32_t count;       // of `waited`
    uint32_t is_complete; // 0: the wait has more descriptors than that
    clr_waited waited[CLR_WAITED_MAX];
} clr_wait_object;

// The epoll instance's descriptor of a thread that sleeps in `call`; -1: that is no wait on one.
int32_t clr_epoll_of_wait(const cll_thread_syscall *call);

// Reads the object of a thread that sleeps in `call`: 1, or 0 when that is no wait for events, or cannot be read. The process may have written
// anything there: what is read is bounded, and none of it is an address. Some 2 µs a descriptor; of epoll less than 1.
int clr_wait_object_read(pid_t pid, const cll_thread_syscall *call, clr_wait_object *object);

enum {
    CLR_WORK_NONE = 0,
    CLR_WORK_PENDING = 1,
    CLR_WORK_UNKNOWN = 2,
};

// Why it is not known.
enum {
    CLR_UNKNOWN_REFUSED = 1,     // the kernel does not permit it, or has no pidfd_getfd (before Linux 5.6)
    CLR_UNKNOWN_SIGNALFD = 2,    // see above
    CLR_UNKNOWN_DESCRIPTORS = 3, // some of the descriptors cannot be asked, or they are too many
};

// What kind of an object it is.
enum {
    CLR_OBJECT_LOOP = 0,   // several descriptors, or one that many others reach: a listening socket, an eventfd
    CLR_OBJECT_TIMER = 1,  // no descriptor: a sleep
    CLR_OBJECT_PEER = 2,   // one connection or pipe: a blocking read with a time-out
    CLR_OBJECT_GONE = 3,   // the program has closed it
    CLR_OBJECT_UNKNOWN = 4,
    CLR_OBJECT_TERMINAL = 5,  // a terminal alone
};

typedef struct clr_work {
    int32_t state;   // CLR_WORK_…
    int32_t reason;  // CLR_UNKNOWN_…, where the state is unknown
    int32_t kind;    // CLR_OBJECT_…
    uint32_t is_ring;
    uint32_t is_wake_up;  // what is ready are eventfds alone: a thread of the program's has asked the loop to look again
    uint32_t fetched;  // of a ring: how many completions the program has taken from it so far, as it says itself
} clr_work;

// Whether an epoll instance may watch what must not be asked, as it was found a moment ago. Zeroed: not known yet.
typedef struct clr_signal_members {
    uint64_t asked_ns;     // then
    uint64_t blocked;      // what has changed otherwise since begins it anew: signals that the thread blocks,
    uint64_t descriptors;  // and, if it blocks any, how many descriptors are open
    int32_t epoll;
    int32_t risk;          // CLR_MEMBERS_…, signal_members.h
} clr_signal_members;

// Asks. `tid` is the thread whose wait it is. `known`, if not NULL, is kept from one call to the next. Never waits. 4 µs for epoll, some 3 µs for
// each descriptor of a set.
//
// For epoll the process's descriptors are searched for what must not be asked: some 3 µs each, 512 at most (1.5 ms; a process
// with more is not searched), and where one is found, or more are open than that and the thread blocks signals, the list of the
// instance's members as well (0.6 ms for 1,024, some 3 µs more for each). With `known` that is once a second for each instance
// of a thread that blocks no signals; of one that does, also whenever the number of open descriptors has changed. Without
// `known` it is every call. What a thread that blocks none adds to its instance meanwhile (a file of /proc) may be asked once
// or more within that second.
void clr_wait_object_poll(int pidfd, pid_t pid, pid_t tid, const clr_wait_object *object, clr_signal_members *known, clr_work *work);

// Whether a thread that sleeps in `call` waits there for all that `object` is: a loop within a handler (a modal dialog), which fetches it. By poll
// or select with all of its descriptors, and each for the same events; by an instance that watches them all. Some 2 µs a descriptor.
int clr_wait_contains(pid_t pid, const cll_thread_syscall *call, const clr_wait_object *object);

// Takes from the descriptors of one wait what another one of the same thread has as well.
void clr_wait_object_subtract(clr_wait_object *object, const clr_wait_object *other);

// Whether a thread that sleeps in `call` waits there for the terminal of a person alone, which is one of several descriptors that `object` is: a
// question to the user, as a text program's dialog is. Some 2 µs a descriptor.
int clr_wait_asks_user(pid_t pid, const cll_thread_syscall *call, const clr_wait_object *object);

// What a process of one thread waits for by this epoll instance, where that shows that it runs no loop: one connection that was accepted, and else
// what is its own (pipes, signals, timers): who waits while it is at work is the one who asked. A connection that the process made itself (a
// broker's, an X server's), a second one, or a listening socket anywhere make a loop. Or pipes and signals alone, in a child of the same program: a
// helper of a server, which does what it has to do by the clock. What cannot be seen makes a loop. Of such a child an instance without
// a member does not show what it is for: a handler may have taken all out, as servers that read their configuration again do. 10 µs, and some for
// each descriptor of such a process.
enum { CLR_SERVES_LOOP = 0, CLR_SERVES_ONE_PEER = 1, CLR_SERVES_ITSELF = 2, CLR_SERVES_UNKNOWN = 3 };
int clr_service(int pidfd, pid_t pid, int32_t epoll);

// Whether an epoll instance watches a listening socket, among its first 256 members: its thread is a server's loop. 10 µs, and some 3 a socket.
int clr_epoll_accepts(int pidfd, pid_t pid, int32_t epoll);

// Whether an epoll instance watches nothing but what threads of the program's own wake its loop by (eventfd(2)): no one else waits for that loop. 10 µs.
int clr_has_wake_ups_alone(pid_t pid, int32_t epoll);

// Whether a client waits to be accepted at a listening socket of an object, of an epoll instance among its first 256 members. A set of poll or select
// may be a start's: there one has been accepted before, and is still connected. 10 µs, and some 3 a socket, of the process's as well for a set.
int clr_has_waiting_client(int pidfd, pid_t pid, const clr_wait_object *object);

// The listening sockets of an object, of an epoll instance among its first 256 members, that are ready, in `listeners` as a set: 1; 0: there are
// none, something else is ready as well, or that cannot be seen. 3 µs a descriptor.
int clr_ready_listeners(int pidfd, pid_t pid, const clr_wait_object *object, clr_wait_object *listeners);

enum { CLR_SOCKETS_MAX = 256 };

// The identities of the sockets that a wait of another process is for, of an epoll instance those among its members; returns how many; -1: they cannot
// be read, or an instance has more than 256. 3 µs a descriptor, and the kernel holds the instance's lock for a part of it.
int clr_wait_sockets(pid_t pid, const clr_wait_object *object, uint64_t found[CLR_SOCKETS_MAX]);

// Whether a process has one of these sockets by the same number, as a child inherits it. 3 µs a socket.
int clr_has_sockets(pid_t pid, const clr_wait_object *sockets);

// Whether nothing can come from `object` but new connections, and the process has none that came from there: then no work of a loop on it waits but
// what is pending there. 3 µs a socket of the process.
int clr_has_no_client(int pidfd, pid_t pid, const clr_wait_object *object);

// The descriptor from which a thread that sleeps in `call` waits for bytes, or for the readiness of which alone; -1: it waits for something else. 2 µs.
int32_t clr_awaited_descriptor(pid_t pid, const cll_thread_syscall *call);

// Whether nothing can come from `object` but new connections, at no more than eight sockets. 10 µs, and 3 a socket; of a large epoll instance the time that the
// kernel takes for its list.
int clr_waits_for_clients_alone(int pidfd, pid_t pid, const clr_wait_object *object);

// The same, and a thread that sleeps in `call` waits for one that came from there. 3 µs a listening
// socket, and 3 for the connection.
int clr_awaits_client(int pidfd, pid_t pid, const cll_thread_syscall *call, const clr_wait_object *object);

// Whether a thread that sleeps in `call` accepts a connection at a listening socket that `object` is for, which several processes that wait for one socket
// may come to at the same time. 10 µs of an epoll instance.
int clr_accepts_for(pid_t pid, const cll_thread_syscall *call, const clr_wait_object *object);

// Whether something that is ready of a set of poll or select is from one who asks the program for something: a connection to be accepted, one that was
// accepted, a datagram to a server's address, a person's terminal or display. NONE: all of it is the program's own, a pipe of which it has both ends or a connection
// that it made itself. UNKNOWN: a pipe or pair of which another process may have one, what cannot be asked, or there are more descriptors. WAITS of what
// is no set. 3 µs a descriptor.
enum { CLR_CLIENT_NONE = 0, CLR_CLIENT_WAITS = 1, CLR_CLIENT_UNKNOWN = 2 };
int clr_client_waits(int pidfd, pid_t pid, const clr_wait_object *object);

// The only listening socket of the process, as a set: 1; 0: it has none, or more than one. 3 µs a descriptor.
int clr_lone_listener(int pidfd, pid_t pid, clr_wait_object *object);

// Whether a thread of the process, of the first 64, sleeps in a wait for nothing but new connections, while one that came by them is open, and the
// process has other threads: these serve it. 10 µs a thread, and 3 a socket of the process.
int clr_serves_by_threads(int pidfd, pid_t pid);

// Whether a thread sleeps in a call in which it waits for what its own program does: a child's end, another thread.
int clr_awaits_own(const cll_thread_syscall *call);

// Whether a thread sleeps in a lock that processes share: a lock of a file, a semaphore of System V, a futex that is not private, but for
// one that is a thread's end. 1 µs, of a futex some for each thread.
int clr_waits_among_processes(pid_t pid, const cll_thread_syscall *call);

// What a call in which a thread sleeps says of it: it may wait for work (a lock or condition, an event, a child, a byte of a connection or pipe), it
// lets time pass, or it does some work (a file, an attempt to write or to connect).
enum { CLR_CALL_WORKS = 0, CLR_CALL_RESTS = 1, CLR_CALL_SLEEPS = 2 };

int32_t clr_call_use(pid_t pid, const cll_thread_syscall *call);

// Whether a thread of the process, of the first 64, sleeps in a wait for events that may be a loop's: on an epoll instance, a ring, or for several
// descriptors. Or whether all of them wait for children. For who wants to know why no loop is known of it. Some 5 µs a thread.
enum { CLR_THREADS_OTHERWISE = 0, CLR_THREADS_WAIT = 1, CLR_THREADS_AWAIT_CHILDREN = 2 };
int clr_threads_use(pid_t pid);

// Whether another thread of the process, of the first 64, sleeps in a wait on this epoll instance: then it fetches what comes. Some 5 µs a thread.
int clr_epoll_has_other_waiter(pid_t pid, pid_t tid, int32_t epoll);
