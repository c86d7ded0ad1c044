internal import Foundation
internal import TestSupport
internal import Testing

/// A server that has each event of its listening socket reported once, and requests the next one when the handler has returned: while
/// a handler runs, its epoll instance is not ready, whoever waits.
@Suite("A listening socket that reports once")
struct OneShotListenerTests {
    private static let program = #"""
        #define _GNU_SOURCE
        #include <pthread.h>
        #include <semaphore.h>
        #include <string.h>
        #include <sys/epoll.h>
        #include <sys/socket.h>
        #include <sys/un.h>
        #include <time.h>
        #include <unistd.h>

        static int set, listener;
        static struct sockaddr_un address = {.sun_family = AF_UNIX};
        static socklen_t length = sizeof(sa_family_t);

        static void request_next(int operation) {
            struct epoll_event event = {.events = EPOLLIN | EPOLLONESHOT, .data.fd = listener};
            epoll_ctl(set, operation, listener, &event);
        }

        __attribute__((noinline)) static void rest(int seconds) {
            sem_t never;
            sem_init(&never, 0, 0);
            struct timespec end;
            clock_gettime(CLOCK_MONOTONIC, &end);
            end.tv_sec += seconds;
            while (sem_clockwait(&never, CLOCK_MONOTONIC, &end) == 0) continue;
            __asm__ volatile("");
        }

        static void come(void) {
            int client = socket(AF_UNIX, SOCK_STREAM, 0);
            if (connect(client, (struct sockaddr *)&address, length) != 0) _exit(3);
        }

        static void *pause_thread(void *unused) {
            pause();
            return unused;
        }

        // It may accept the next client, and then ask for more.
        static void leave_to_another(const char *kind) {
            pthread_t thread;
            if (strcmp(kind, "thread") == 0) pthread_create(&thread, NULL, pause_thread, NULL);
            pid_t parent = getpid();
            if (strcmp(kind, "process") != 0 || fork() != 0) return;
            set = epoll_create1(0);
            struct epoll_event event = {.events = EPOLLIN, .data.fd = listener};
            epoll_ctl(set, EPOLL_CTL_ADD, listener, &event);
            while (getppid() == parent) {
                epoll_wait(set, &event, 1, 10);
                usleep(10000);
            }
            _exit(0);
        }

        __attribute__((noinline)) static void handle(int hangs) {
            char room[2048];
            memset(room, hangs, sizeof(room));
            __asm__ volatile("" :: "r"(room) : "memory");
            if (accept(listener, NULL, NULL) < 0) _exit(4);
            come();
            if (hangs) rest(hangs);
            __asm__ volatile("" :: "r"(room) : "memory");
        }

        // Its wait is deeper in the stack than the rest after it.
        __attribute__((noinline)) static void serve(int hangs) {
            char room[4096];
            memset(room, hangs, sizeof(room));
            __asm__ volatile("" :: "r"(room) : "memory");
            for (int turns = 0;; turns++) {
                struct epoll_event event;
                if (turns == 100) come();
                if (epoll_wait(set, &event, 1, 10) != 1 || event.data.fd != listener) continue;
                handle(hangs);
                if (hangs != 60) return;
                request_next(EPOLL_CTL_MOD);
            }
        }

        int main(int count, char **arguments) {
            int stop[2];
            set = epoll_create1(0);
            listener = socket(AF_UNIX, SOCK_STREAM, 0);
            // Without a name the kernel gives one (unix(7), autobind).
            if (pipe(stop) != 0 || bind(listener, (struct sockaddr *)&address, length) != 0 || listen(listener, 4) != 0) return 1;
            length = sizeof(address);
            if (getsockname(listener, (struct sockaddr *)&address, &length) != 0) return 1;
            request_next(EPOLL_CTL_ADD);
            struct epoll_event event = {.events = EPOLLIN, .data.fd = stop[0]};
            epoll_ctl(set, EPOLL_CTL_ADD, stop[0], &event);
            leave_to_another(arguments[1]);
            serve(strcmp(arguments[1], "hang") == 0 ? 60 : strcmp(arguments[1], "leave") == 0 ? 0 : 5);
            rest(4);
            return 0;
        }
        """#

    @Test func `a client that waits there while a handler hangs leads to an action, otherwise to none`() throws {
        try withFolder { folder in
            let source = folder + "/server.c"
            try Data(Self.program.utf8).write(to: URL(fileURLWithPath: source))
            let compiler = try ProbeRun(["/usr/bin/env", "clang", "-O1", "-pthread", "-o", folder + "/server", source])
            try #require(compiler.status == 0, "\(compiler.errors)")
            func run(_ name: String) throws -> ProbeRun {
                try ProbeRun([
                    ProbeRun.lagmond, "run", "--on-hang", "signal:KILL", "--on-hang-after", "2", "--output", "/dev/null", "--",
                    folder + "/server", name,
                ])
            }
            let hang = try run("hang")
            #expect(hang.signal == SIGKILL && hang.hungSeconds >= 2, "\(hang.errors)")
            // It has left its loop, or leaves the socket to another thread or process, perhaps because it wants no client yet.
            for name in ["leave", "thread", "process"] {
                let ended = try run(name)
                #expect(ended.status == 0 && ended.signal == 0 && !ended.errors.contains("hanging"), "\(name): \(ended.errors)")
            }
        }
    }
}
