internal import CoreFoundation
public import LagActivity
internal import Synchronization

// What others ask of a loop to see whether it answers, and what it publishes about its own blocking.
extension FoundationLoop: PingableLoop {
    /// Has the loop call its beacon's ``ActivityBeacon/pong()``: a block for its watched modes, and a wake. Any thread; takes the
    /// loop's lock and a little memory. Pings not yet answered are answered once. One that has ended never answers.
    ///
    /// A block is no handled source. A run that would end at once for want of sources goes on for one turn, to perform it.
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
    /// Has `tick` called by a timer of the loop, in its watched modes. Any thread.
    ///
    /// It is a timer like any other: a run that would end for want of sources and timers goes on as long as there are ticks.
    public func startTicking(every interval: Duration, _ tick: @escaping @Sendable () -> Void) -> (any LoopTicker)? {
        guard !isFinished, let target = attachment.target else { return nil }
        return FoundationTicker(on: target, every: max(interval, .milliseconds(1)), tick)
    }
}

extension FoundationLoop {
    /// Runs `body`, which is expected to block, on the loop's thread: the time in it is no stall, and what comes after it is a new
    /// stretch of work. On any other thread, and while the loop does not run, `body` just runs. See
    /// ``ActivityBeacon/expectingBlock(_:)``. Some 100 ns.
    @discardableResult
    public func expectingBlock<Value, Failure: Error>(_ body: () throws(Failure) -> Value) throws(Failure) -> Value {
        guard attachment.target?.isCurrent == true else { return try body() }
        return try beacon.expectingBlock(body)
    }
}

/// The ticks of a Foundation loop.
// Sendable without a check: an immutable reference to a CFRunLoopTimer, which locks itself.
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
