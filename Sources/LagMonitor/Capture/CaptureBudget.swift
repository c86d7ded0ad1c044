/// How long a capture may take.
package struct CaptureBudget: Sendable {
    /// A thread that alternates between running and sleeping is polled this often, 0.1 ms apart, to find it asleep.
    let attempts: Int
    /// How long to wait for the answer to a signal. A thread on a processor answers within microseconds; a thread that waits for
    /// a processor may need a few scheduling slices.
    let answerNanoseconds: UInt64

    /// Whether the kernel may sample a thread of this process that no signal reaches: creating the event may take some
    /// milliseconds.
    let allowsSample: Bool

    /// For the first sample of a stall: 12 ms, or 50 ms.
    package static let full = CaptureBudget(attempts: 120, answerNanoseconds: 50_000_000, allowsSample: true)
    /// For less important captures: further samples, and other threads. 2 ms, or 5 ms.
    package static let brief = CaptureBudget(attempts: 20, answerNanoseconds: 5_000_000, allowsSample: false)
    /// For a thread that is most likely asleep; if not, it is tried again another time.
    package static let once = CaptureBudget(attempts: 1, answerNanoseconds: 0, allowsSample: false)
}
