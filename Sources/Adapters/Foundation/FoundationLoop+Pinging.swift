internal import CoreFoundation
public import LagActivity
internal import Synchronization

// The loop's answers to watchers, and what it publishes about its own blocking.
extension FoundationLoop: PingableLoop {
    /// Makes the loop call its beacon's ``ActivityBeacon/pong()``: by a block for its watched modes, and a wake. Any thread;
    /// takes the loop's lock and a little memory. Several unanswered pings get one answer. A loop that has ended never answers.
    ///
    /// A block is not a handled source. A run that would end at once because it has no sources continues for one turn, to perform
    /// it.
    public func ping() {
        guard !isFinished, let target = attachment.target else { return }
        guard !publisher.isPinged.exchange(true, ordering: .acquiringAndReleasing) else { return }
        target.perform { [publisher] in
            publisher.isPinged.store(false, ordering: .releasing)
            publisher.beacon.pong()
        }
    }
}

extension FoundationLoop: TickingLoop {
    /// Has a timer of the loop call `tick`, in its watched modes. Any thread.
    ///
    /// It is an ordinary timer: a run that would end because it has no sources and timers continues as long as there are ticks.
    public func startTicking(every interval: Duration, _ tick: @escaping @Sendable () -> Void) -> (any LoopTicker)? {
        guard !isFinished, let target = attachment.target else { return nil }
        return FoundationTicker(on: target, every: max(interval, .milliseconds(1)), tick)
    }
}

extension FoundationLoop {
    /// Runs `body`, which is expected to block, on the loop's thread: the time in it is not a stall, and what follows is a new
    /// stretch of work. On any other thread, and while the loop does not run, `body` just runs. See
    /// ``ActivityBeacon/expectingBlock(_:)``. Some 100 ns.
    @discardableResult
    public func expectingBlock<Value, Failure: Error>(_ body: () throws(Failure) -> Value) throws(Failure) -> Value {
        guard attachment.target?.isCurrent == true else { return try body() }
        return try beacon.expectingBlock(body)
    }
}

/// The ticks of a Foundation loop.
// Sendable without a check: an immutable reference to a CFRunLoopTimer, which has its own lock.
final class FoundationTicker: LoopTicker, @unchecked Sendable {
    private let timer: CFRunLoopTimer

    init?(on target: RunLoopTarget, every interval: Duration, _ tick: @escaping @Sendable () -> Void) {
        let seconds = Double(interval.wholeNanoseconds) / 1e9
        let first = CFAbsoluteTimeGetCurrent() + seconds
        guard let timer = CFRunLoopTimerCreateWithHandler(nil, first, seconds, 0, 0, { _ in tick() }) else { return nil }
        self.timer = timer
        for mode in target.modes { CFRunLoopAddTimer(target.loop, timer, mode) }
    }

    deinit { cancel() }

    func cancel() { CFRunLoopTimerInvalidate(timer) }
}
