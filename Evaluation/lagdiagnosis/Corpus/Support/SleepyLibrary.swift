internal import Glibc

/// A library whose constructor sleeps for half a second; compiled at run time.
enum SleepyLibrary {
    static func build() throws -> String {
        let path = TemporaryPaths.newPath()
        let source = """
            #include <time.h>
            __attribute__((constructor, noinline)) void corpus_plugin_set_up(void) {
                struct timespec time = {0, 500000000};
                nanosleep(&time, 0);
                __asm__ volatile("" ::: "memory");
            }
            """
        guard let file = fopen("\(path).c", "w") else { throw Unavailable("open \(path).c", errno: errno) }
        fputs(source, file)
        fclose(file)
        defer { unlink("\(path).c") }
        let options = "\(path).c -shared -fPIC -o \(path).so"
        guard system("{ clang \(options) || cc \(options); } 2>/dev/null") == 0 else { throw Unavailable("no C compiler") }
        // Kept, because names are read from the file after the stall.
        TemporaryPaths.remove("\(path).so")
        return "\(path).so"
    }
}
