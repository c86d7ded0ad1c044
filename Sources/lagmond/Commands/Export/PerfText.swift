internal import LagModel
internal import LagReader

/// The format of `perf script`: one event per path, with the milliseconds as its period, then the frames, leaf first.
///
///     server 1234/1240 1795284476.654466:  400 stall-ms:
///     	    7ffbe1ccb12b __lll_lock_wait+0x2b (libc.so.6)
enum PerfText {
    static func text(_ stall: ParsedStall) -> [UInt8] {
        var text = ""
        let process = PlainText.sanitized(stall.processName.utf8).replacing(" ", with: "_")
        let seconds = max(0, stall.time) / 1_000_000_000
        let microseconds = String(max(0, stall.time) / 1000 % 1_000_000)
        let time = "\(seconds).\(String(repeating: "0", count: 6 - microseconds.count))\(microseconds)"
        StackPath.forEach(of: stall) { path in
            let weight = path.nanoseconds / 1_000_000 + (path.nanoseconds % 1_000_000 >= 500_000 ? 1 : 0)
            guard weight > 0 else { return }
            text += "\(process.isEmpty ? "process" : process) \(stall.pid)/\(stall.threadID) \(time): \(weight) stall-ms: \n"
            // The root is the process, which the event's first line names.
            for frame in path.frames.dropFirst().reversed() {
                let address = String(frame.pc ?? 0, radix: 16)
                let space = String(repeating: " ", count: max(0, 16 - address.count))
                let offset = frame.symbolOffset.map { "+0x" + String($0, radix: 16) } ?? ""
                let module = frame.module.map { PlainText.sanitized($0.utf8) } ?? "[unknown]"
                text += "\t\(space)\(address) \(frame.name)\(offset) (\(module))\n"
            }
            text += "\n"
        }
        return Array(text.utf8)
    }
}
