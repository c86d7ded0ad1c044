internal import CLagLinux

/// The names of other processes' threads, as the kernel keeps them (`comm`): chosen by the process, at most 15 bytes.
///
/// One small file each: not for the watchdog.
enum ThreadName {
    /// What a main thread is called, whatever its `comm`, which names the process.
    private static let main = "main"

    /// What the selection compares: `main`, or `comm`. Nil: the thread has ended.
    static func selectable(_ thread: Int32, of process: Int32) -> String? {
        // Also of a main thread, which may have ended.
        read(thread, of: process).map { thread == process ? main : $0 }
    }

    /// Nil: the thread has ended.
    private static func read(_ thread: Int32, of process: Int32) -> String? {
        // 15 bytes, a newline and a NUL.
        var buffer = [CChar](repeating: 0, count: 32)
        let length = cll_procfs_read(process, thread, "comm", &buffer, buffer.count)
        guard length >= 0 else { return nil }
        var text = buffer[..<length].map { UInt8(bitPattern: $0) }
        if text.last == UInt8(ascii: "\n") { text.removeLast() }
        return String(decoding: text, as: UTF8.self)
    }

    /// What a loop is called that publishes no name: by its thread. A thread that was given none has its creator's, mostly the main
    /// thread's, which says nothing; such a one is called by its number.
    static func ofLoop(on thread: Int32, of process: Int32) -> String {
        guard thread != process else { return main }
        let own = read(thread, of: process) ?? ""
        return own.isEmpty || own == read(process, of: process) ? "thread \(thread)" : own
    }
}
