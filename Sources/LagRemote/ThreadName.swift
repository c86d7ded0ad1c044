internal import CLagLinux

/// The names of other processes' threads, as the kernel has them (`comm`): chosen by the process, at most 15 bytes.
///
/// Reads one small file each: not for the watchdog.
enum ThreadName {
    /// The name of a main thread, regardless of its `comm`, which names the process.
    private static let main = "main"

    /// The name for selection: `main`, or `comm`. Nil: the thread has exited.
    static func selectable(_ thread: Int32, of process: Int32) -> String? {
        // Also for a main thread, which may have exited.
        read(thread, of: process).map { thread == process ? main : $0 }
    }

    /// Nil: the thread has exited.
    private static func read(_ thread: Int32, of process: Int32) -> String? {
        // 15 bytes, a newline and a NUL.
        var buffer = [CChar](repeating: 0, count: 32)
        let length = cll_procfs_read(process, thread, "comm", &buffer, buffer.count)
        guard length >= 0 else { return nil }
        var text = buffer[..<length].map { UInt8(bitPattern: $0) }
        if text.last == UInt8(ascii: "\n") { text.removeLast() }
        return String(decoding: text, as: UTF8.self)
    }

    /// The name of a loop that publishes none: its thread's. A thread without its own name has its creator's, mostly the main
    /// thread's, which is meaningless; such a thread is named by its ID.
    static func ofLoop(on thread: Int32, of process: Int32) -> String {
        guard thread != process else { return main }
        let own = read(thread, of: process) ?? ""
        return own.isEmpty || own == read(process, of: process) ? "thread \(thread)" : own
    }
}
