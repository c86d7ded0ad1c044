package import LagMonitor

/// Fills a period with short callbacks, each of which submits the next: the loop iterates but never sleeps.
package struct CallbackChain: Sendable {
    /// Makes the loop call a function, after everything that is already queued.
    package typealias Submit = @Sendable (_ work: @escaping @Sendable () -> Void) -> Void

    private let submit: Submit

    package init(submit: @escaping Submit) { self.submit = submit }

    /// Runs the first piece now, on the calling thread, which is the loop's; `end` is called in the last one.
    package func run(until deadline: MonotonicTime, end: @escaping @Sendable () -> Void) {
        let now = MonotonicTime.now
        computeInTurn(min(now + Self.pieceLength, deadline))
        if MonotonicTime.now >= deadline { return end() }
        submit { run(until: deadline, end: end) }
    }

    /// Far below any threshold.
    package static let pieceLength: Duration = .milliseconds(1)
}
