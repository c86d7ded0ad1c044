internal import Foundation
internal import TestSupport
internal import Testing

/// A static program whose main thread waits at its listening socket, as a start does, and then for a pool that accepts the
/// connections. At full load the socket is ready all the time.
struct PoolHangTests {
    private static let program = """
        #include <poll.h>
        #include <pthread.h>
        #include <stdio.h>
        #include <sys/socket.h>
        #include <sys/un.h>
        #include <unistd.h>
        enum { LENGTH = sizeof(sa_family_t) + 6 };
        static int listener;
        static struct sockaddr_un address = {.sun_family = AF_UNIX};
        static void *serve(void *unused) {
            for (;;) {
                int connection = accept(listener, 0, 0);
                usleep(100000);
                close(connection);
            }
            return unused;
        }
        static void *ask(void *unused) {
            for (;;) {
                char answer;
                int connection = socket(AF_UNIX, SOCK_STREAM, 0);
                if (connect(connection, (struct sockaddr *)&address, LENGTH) == 0) read(connection, &answer, 1);
                close(connection);
            }
            return unused;
        }
        __attribute__((noinline)) static void start(pthread_t *threads) {
            volatile char frame[4096];
            pthread_t client;
            frame[0] = 0;
            for (int index = 0; index < 3; index++) pthread_create(&threads[index], 0, serve, 0);
            usleep(IDLE);
            for (int index = 0; index < 16; index++) pthread_create(&client, 0, ask, 0);
            alarm(5);
            pthread_join(threads[0], 0);
            frame[1] = frame[0];
        }
        int main(void) {
            int stop[2];
            pthread_t threads[3];
            snprintf(address.sun_path + 1, 20, "%05d", getpid() % 100000);
            listener = socket(AF_UNIX, SOCK_STREAM, 0);
            if (pipe(stop) != 0 || bind(listener, (struct sockaddr *)&address, LENGTH) != 0 || listen(listener, 64) != 0) return 1;
            struct pollfd some[2] = {{.fd = listener, .events = POLLIN}, {.fd = stop[0], .events = POLLIN}};
            // The watch begins one to two seconds after the start.
            for (int rest = 0; rest < RESTS; rest++) poll(some, 2, 4000 / RESTS);
            start(threads);
        }
        """

    @Test func `a thread that has waited once, and rests while a pool serves, leads to no action`() throws {
        try Self.expectNoAction(rests: 1, idleMicroseconds: 0)
    }

    /// It may be a loop; but its pool was seen to accept the connections before all its threads were busy.
    @Test func `a thread that has waited often, and rests while a pool serves, leads to no action`() throws {
        try Self.expectNoAction(rests: 20, idleMicroseconds: 2_000_000)
    }

    private static func expectNoAction(rests: Int, idleMicroseconds: Int) throws {
        try withFolder { folder in
            try Data(Self.program.utf8).write(to: URL(fileURLWithPath: folder + "/pool.c"))
            let compiler = try ProbeRun([
                "/usr/bin/env", "clang", "-O1", "-static", "-DRESTS=\(rests)", "-DIDLE=\(idleMicroseconds)",
                "-o", folder + "/pool", folder + "/pool.c", "-lpthread",
            ])
            try #require(compiler.status == 0, "\(compiler.errors)")
            let run = try ProbeRun([
                ProbeRun.lagmond, "run", "--on-hang", "signal:KILL", "--on-hang-after", "1", "--output", folder + "/stalls", "--",
                folder + "/pool",
            ])
            // Its own alarm ends it.
            #expect(run.signal == SIGALRM && !run.errors.contains("hanging"), "\(run.errors)")
            // Without that thread as a loop, it shows nothing.
            #expect(run.errors.contains("watching main of pool"), "\(run.errors)")
        }
    }
}
