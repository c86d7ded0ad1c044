internal import CLagLinux
internal import Glibc

/// Whether a debugger (or another tracer) is attached to a thread, and whether it holds the thread at this moment.
package enum TracerCheck: Sendable, Equatable {
    /// The thread is not traced.
    case none
    /// The tracer's thread (for a single-threaded debugger its process; 0: one outside our PID namespace), and whether the traced
    /// thread is in a tracing stop.
    case traced(by: Int32, stopped: Bool)
    /// The kernel does not report it: the thread is gone, or `/proc` is missing.
    case unknown

    /// `State` and `TracerPid` are among the first lines; the name before them has at most 64 characters including escapes.
    static let bufferSize = 512
    /// A static string ends with a NUL and is passed to C directly.
    private static let file: StaticString = "status"

    /// Whether another process holds the thread. A stop by this process's own tracer is short (longer if the tracer has to wait
    /// for a processor), and does not end a stall.
    package var isHeldByOthers: Bool {
        guard case .traced(let tracer, stopped: true) = self else { return false }
        return tracer == 0 || cll_is_thread_of(getpid(), tracer) == 0
    }

    /// Reads it from the kernel. About 10 µs; any thread, no lock, no allocation.
    ///
    /// A debugger usually stops all threads, including the caller: afterwards the thread may run again while the tracer is still
    /// attached. So `traced` with `stopped: false` can mean that a stop has just ended.
    package static func read(tid: Int32, process: Int32 = getpid()) -> TracerCheck {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: bufferSize) { buffer in
            let length = file.withUTF8Buffer { name in
                name.withMemoryRebound(to: CChar.self) {
                    cll_procfs_read(process, tid, $0.baseAddress!, buffer.baseAddress!, buffer.count)
                }
            }
            guard length > 0 else { return .unknown }
            return parse(UnsafeRawBufferPointer(UnsafeBufferPointer(rebasing: buffer[..<length])))
        }
    }

    /// The format is that of `proc_pid_status(5)`.
    static func parse(_ status: UnsafeRawBufferPointer) -> TracerCheck {
        let tab = UInt8(ascii: "\t")
        guard let state = KernelFile.lineStart(after: "State:", separator: tab, in: status), state < status.count,
            let tracer = KernelFile.lineStart(after: "TracerPid:", separator: tab, in: status)
                .flatMap({ KernelFile.number(in: status, at: $0) })
        else { return .unknown }
        let stopped = status[state] == UInt8(ascii: "t")
        return tracer == 0 && !stopped ? .none : .traced(by: Int32(clamping: tracer), stopped: stopped)
    }
}
