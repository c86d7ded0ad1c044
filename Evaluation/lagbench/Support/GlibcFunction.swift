internal import Glibc

/// Functions of glibc that Swift's Glibc module lacks; looked up in the library by name.
enum GlibcFunction {
    /// `backtrace()`, which unwinds with libgcc.
    typealias Backtrace = @convention(c) (UnsafeMutablePointer<UnsafeMutableRawPointer?>?, Int32) -> Int32
    /// `sched_getaffinity()` and `sched_setaffinity()`.
    typealias Affinity = @convention(c) (pid_t, Int, UnsafeMutablePointer<cpu_set_t>) -> Int32

    static func find<Function>(_ name: String, as type: Function.Type) throws -> Function {
        guard let library = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD), let symbol = dlsym(library, name) else {
            throw BenchmarkFailure("glibc's \(name) was not found")
        }
        return unsafeBitCast(symbol, to: type)
    }
}
