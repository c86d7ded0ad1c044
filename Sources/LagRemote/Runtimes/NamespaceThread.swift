/// A thread's number as its own process knows it.
enum NamespaceThread {
    private static let longest = 8192

    /// The innermost of `NSpid` in `/proc/PID/task/TID/status` (proc(5)); the number itself where the kernel does not say. Some 10 µs.
    static func innerTid(of tid: Int32, process: Int32) -> Int32 {
        guard let text = ProcFile.text(at: "/proc/\(process)/task/\(tid)/status", limit: longest),
            let start = text.firstRange(of: "\nNSpid:")
        else { return tid }
        let line = text[start.upperBound...].prefix { $0 != "\n" }
        return line.split(whereSeparator: { $0 == "\t" || $0 == " " }).last.flatMap { Int32($0) } ?? tid
    }
}
