internal import CLagLinux
internal import Dispatch
internal import Glibc
internal import LagActivity
internal import Synchronization

/// The thread of a loop, once it is known.
final class LoopThreadIdentity: Sendable {
    struct Details: Sendable {
        let thread: ThreadIdentity
        let name: String

        static let unknown = Details(thread: ThreadIdentity(tid: 0, stackLow: 0, stackHigh: 0), name: "run loop")

        /// Records the calling thread.
        static func ofCallingThread() -> Details {
            let thread = ThreadIdentity.current
            let name = withUnsafeTemporaryAllocation(of: CChar.self, capacity: 16) { buffer in
                buffer.initialize(repeating: 0)
                guard cll_thread_name(pthread_self(), buffer.baseAddress, 16) == 0 else { return "" }
                return String(cString: buffer.baseAddress!)
            }
            return Details(thread: thread, name: name.isEmpty ? "thread \(thread.tid)" : name)
        }
    }

    private let content = Mutex(Details.unknown)
    private let known = DispatchSemaphore(value: 0)

    var details: Details { content.withLock { $0 } }
    var isKnown: Bool { details.thread.tid != 0 }

    func set(_ details: Details) {
        content.withLock { $0 = details }
        known.signal()
    }

    /// Waits until it is known, at most this long.
    func wait(atMost timeout: Duration) {
        _ = known.wait(timeout: .now() + .nanoseconds(Int(timeout.wholeNanoseconds)))
    }
}
