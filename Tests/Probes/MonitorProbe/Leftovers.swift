internal import CLagBeacon
import Glibc
import LagMonitor
import TestSupport

/// After the last stop, everything is as before the first start.
enum Leftovers {
    struct Inventory: Equatable {
        let threads: [String]
        /// Number and target.
        let descriptors: [String]
        /// The actions for the signals that a capture may use.
        let signals: [String]
        let isArmed: Bool

        init(_ loop: ObservedRunLoop) {
            threads = Probe.entries(of: "/proc/self/task")
            descriptors = Probe.entries(of: "/proc/self/fd").map { "\($0) \(Self.target(of: $0))" }
            signals = [SIGPROF, Leftovers.realTimeSignal].map { number in
                var action = sigaction()
                guard sigaction(number, nil, &action) == 0 else { Probe.fail("sigaction(\(number))") }
                let handler = withUnsafeBytes(of: &action.__sigaction_handler) { $0.load(as: UInt.self) }
                // The kernel knows 64 signals; the rest of the set is not filled.
                let mask = withUnsafeBytes(of: &action.sa_mask) { $0.load(as: UInt64.self) }
                // SA_RESTORER: glibc's own, set by every sigaction(2).
                return "\(number): \(handler) \(mask) \(action.sa_flags & ~0x0400_0000)"
            }
            isArmed = loop.beacon.raw.pointee.armed != 0
        }

        private static func target(of descriptor: String) -> String {
            var buffer = [CChar](repeating: 0, count: 1024)
            let length = readlink("/proc/self/fd/\(descriptor)", &buffer, buffer.count)
            return String(decoding: buffer.prefix(max(length, 0)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
        }
    }

    /// `SIGRTMAX - 3`; glibc's macro is a call that Swift does not see.
    static let realTimeSignal: Int32 = 61

    static func check() throws {
        let thread = try KeepAliveThread(name: "worker")
        _ = try thread.performAndWait { usleep(1000) }
        let before = Inventory(thread.loop)
        let sink = MemorySink()
        let monitor = Probe.quickMonitor(sinks: [sink])
        for round in 1...2 {
            try monitor.start()
            try monitor.watch(thread.loop)
            var during = Inventory(thread.loop)
            _ = eventually(seconds: 5) {
                during = Inventory(thread.loop)
                return during.threads.count == before.threads.count + 2
            }
            if during.threads.count != before.threads.count + 2 { Probe.fail("threads while it runs: \(during.threads)") }
            if during.signals == before.signals { Probe.fail("no signal was taken") }
            _ = try thread.performAndWait { usleep(250_000) }
            if !eventually({ sink.lines.count == round }) { Probe.fail("no record in round \(round)") }
            monitor.stop()
            // A joined thread is listed a moment longer, until the kernel has removed it.
            var after = Inventory(thread.loop)
            _ = eventually(seconds: 5) {
                after = Inventory(thread.loop)
                return after == before
            }
            if after != before { Probe.fail("before \(before)\nafter round \(round) \(after)") }
        }
    }
}
