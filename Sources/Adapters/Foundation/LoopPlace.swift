internal import CLagLinux
internal import Dispatch
internal import Glibc
internal import LagActivity
internal import Synchronization

/// Which thread a loop is on, once that is known.
final class LoopPlace: Sendable {
    struct Whereabouts: Sendable {
        let thread: ThreadIdentity
        let name: String

        static let unknown = Whereabouts(thread: ThreadIdentity(tid: 0, stackLow: 0, stackHigh: 0), name: "run loop")

        /// Takes down the calling thread.
        static func ofCallingThread() -> Whereabouts {
            let thread = ThreadIdentity.current
            let name = withUnsafeTemporaryAllocation(of: CChar.self, capacity: 16) { buffer in
                buffer.initialize(repeating: 0)
                guard cll_thread_name(pthread_self(), buffer.baseAddress, 16) == 0 else { return "" }
                return String(cString: buffer.baseAddress!)
            }
            return Whereabouts(thread: thread, name: name.isEmpty ? "thread \(thread.tid)" : name)
        }
    }

    private let content = Mutex(Whereabouts.unknown)
    private let known = DispatchSemaphore(value: 0)

    var whereabouts: Whereabouts { content.withLock { $0 } }
    var isKnown: Bool { whereabouts.thread.tid != 0 }

    func know(_ whereabouts: Whereabouts) {
        content.withLock { $0 = whereabouts }
        known.signal()
    }

    /// Waits until it is known, at most that long.
    func wait(atMost patience: Duration) {
        _ = known.wait(timeout: .now() + .nanoseconds(Int(patience.wholeNanoseconds)))
    }
}
