internal import CLagBeacon
internal import CLagLinux
public import LagActivity
internal import LagModel
internal import Synchronization

// Running. Own thread only: a call from another thread would corrupt the loop, so it ends the program with a message.
extension ObservedRunLoop {
    /// Runs in the default mode until ``stop()``, or until the mode has neither source nor timer nor submitted work.
    ///
    /// Whenever a run ends for another reason, it starts the next one. `stop()` ends it, as it does every run call. (Foundation's
    /// `NSRunLoop.run()` cannot be stopped; `CFRunLoopRun()` can. This function is like `CFRunLoopRun()`.)
    public func run() {
        while true {
            switch run(in: .default, until: .max, returnAfterSourceHandled: false) {
            case .finished, .stopped: return
            case .timedOut, .handledSource: continue
            }
        }
    }

    /// Runs in the default mode until `date`, or until ``stop()``, or until the mode has nothing left to wait for.
    public func run(until date: MonotonicTime) {
        _ = run(in: .default, until: date.nanoseconds, returnAfterSourceHandled: false)
    }

    /// Runs once in `mode`: until one source was handled (submitted work counts), until `date`, or until ``stop()``.
    /// - Returns: false if the mode had nothing to wait for, before or during the run; true otherwise.
    public func run(mode: RunLoopMode, before date: MonotonicTime) -> Bool {
        run(in: mode, until: date.nanoseconds, returnAfterSourceHandled: true) != .finished
    }

    /// Runs in `mode` for `duration`; with zero or less it makes one turn without sleeping.
    /// - Parameters:
    ///   - mode: not ``RunLoopMode/common``, which is a set and not a mode: that returns `finished`.
    ///   - duration: the maximum time.
    ///   - returnAfterSourceHandled: whether to return after the first handled source. Timers and observers are not sources.
    /// - Returns: why it ended.
    public func run(in mode: RunLoopMode, for duration: Duration, returnAfterSourceHandled: Bool) -> RunLoopResult {
        let deadline = duration <= .zero ? MonotonicTime(nanoseconds: 0) : .now + duration
        return run(in: mode, until: deadline.nanoseconds, returnAfterSourceHandled: returnAfterSourceHandled)
    }

    /// Ends the *current* run call, the innermost if runs are nested; wakes a sleeping loop for it. Any thread.
    ///
    /// If the loop is not running, it does nothing: there is no call to end.
    public func stop() {
        runs.withLock { $0.stopInnermost() }
        signals.wakeUp()
    }

    /// Ends all present and future run calls after the callout in progress, because the thread is to end. Any thread.
    func stopPermanently() {
        isEnding.store(true, ordering: .releasing)
        runs.withLock { $0.stopAll() }
        signals.wakeUp()
    }

    /// One run call, from entry to exit; restores the outer run's state afterwards.
    private func run(in mode: RunLoopMode, until deadline: UInt64, returnAfterSourceHandled: Bool) -> RunLoopResult {
        // Not a precondition: its message would be missing in a release build.
        guard isCurrent else { fatalError("only its own thread may run \(self)") }
        guard mode != .common else { return .finished }
        watchMainQueue()

        let outerMode = own.mode
        let outerActivity = own.activity
        let outerWaiting = own.hasWaiting
        own.mode = mode
        own.clock = clb_now_ns()
        // What another mode's run has examined and skipped may be for this mode.
        signals.add(.ofModes)
        reloadItems()
        // A run that finds nothing to do does not count as a run: code that calls it repeatedly continues one piece of work.
        var entered = false
        defer { leave(to: outerMode, doing: outerActivity, waiting: outerWaiting, entered: entered) }
        if isModeEmpty { return .finished }
        entered = true

        let frame = runs.withLock { $0.push() }
        defer { runs.withLock { $0.pop() } }
        beacon.setMode(mode.number)

        // 1. Notify the observers that the loop is entered.
        if outerMode == nil || outerActivity == .expected {
            // Code that repeatedly runs the loop for one source at a time does not make it idle by that.
            let goesOn = outerMode == nil && own.clock - own.exited < Self.restNanoseconds
            publishWake(.entry, hasRested: !goesOn)
        } else {
            // The loop was at work and still is: a nested run is not idle time.
            publish(.entry)
        }
        let result =
            frame.isStopped
            ? .stopped : iterations(of: frame, until: deadline, returnAfterSourceHandled: returnAfterSourceHandled)
        // 11. Notify the observers that the loop is left.
        publish(.exit)
        return result
    }

    /// The turns of one run call: steps 2 to 10 of the loop, repeated.
    private func iterations(of frame: RunFrame, until deadline: UInt64, returnAfterSourceHandled: Bool) -> RunLoopResult {
        let neverSleeps = deadline <= own.clock
        while true {
            // This turn answers every wake so far.
            signals.takeWake()

            // 2. Notify the observers that timers are about to be checked.
            publish(.beforeTimers)
            // 3. Notify the observers that manual sources are about to be performed.
            publish(.beforeSources)
            var handledSource = runPerforms()

            // 4. Perform the manual sources that are signalled, and the work they submitted.
            if performSources(onlyOne: returnAfterSourceHandled) {
                handledSource = true
                _ = runPerforms()
            }

            // 5. Is a port ready? Then skip the sleep. After handled work, poll once without sleeping for what else is ready.
            let portsReady = arePortsReady()
            if portsReady || handledSource || neverSleeps || isMainQueueDue {
                own.poller.poll(in: own.version)
            } else {
                // 6. Notify the observers that the loop is about to sleep.
                publish(.beforeWaiting)
                // 7. Sleep until a port, a descriptor, a timer, the deadline, or a wake.
                let rested = sleep(until: deadline, unless: frame, pollsFirst: own.hadEvents)
                // 8. Notify the observers that the loop has woken up.
                if rested { publishWake(.afterWaiting) } else { publish(.afterWaiting) }
            }
            var hadEvents = false

            // 9. Handle what has arrived: timers, the main queue, ports and descriptors; then the work they submitted.
            fireTimers()
            if drainMainQueue() { hadEvents = true }
            if handlePorts(known: portsReady, onlyOne: returnAfterSourceHandled) { handledSource = true }
            if handleDescriptors(onlyOne: returnAfterSourceHandled) { hadEvents = true }
            if runPerforms() || hadEvents { handledSource = true }
            own.hadEvents = hadEvents

            // 10. Continue with step 2, or end.
            refreshItems()
            if handledSource && returnAfterSourceHandled { return .handledSource }
            if deadline <= own.clock { return .timedOut }
            if frame.isStopped { return .stopped }
            if isModeEmpty { return .finished }
        }
    }

    /// A loop that was not running for less time than this was not idle.
    private static let restNanoseconds: UInt64 = 1_000_000

    /// Step 7. Does not block if there is a reason to continue at once.
    ///
    /// A loop with more to do was not idle: it publishes a wait to the beacon only if everything it has polled was quiet. Without
    /// the first poll (one system call, after a turn that handled a descriptor or the main queue), a loop whose descriptors are
    /// never quiet would seem idle once per turn.
    /// - Returns: whether it was idle, however briefly.
    private func sleep(until deadline: UInt64, unless frame: RunFrame, pollsFirst: Bool) -> Bool {
        refreshItems()
        let end = min(deadline, own.timers.latestFire)
        let mayRest = !frame.isStopped && !signals.isWakePending && own.clock < end
        if pollsFirst || !mayRest { own.poller.poll(in: own.version) }
        guard mayRest, !own.poller.hasReadySources, !isMainQueueDue else {
            signals.takeWake()
            own.clock = clb_now_ns()
            return false
        }
        let before = own.clock
        own.activity = .waiting
        beacon.begin(.waiting, at: before)
        if own.spin.shouldSpin { _ = cll_wake_spin(signals.raw, before, min(SpinPolicy.budgetNanoseconds, end - before)) }
        own.poller.sleep(until: end, in: own.version)
        own.clock = clb_now_ns()
        // How soon the wake was requested, not how long this thread took to return from its sleep.
        let asked = cll_wake_asked_ns(signals.raw)
        own.spin.recordSleep(nanoseconds: (asked > before ? min(asked, own.clock) : own.clock) - before)
        return true
    }

    /// Returns to the outer run, or to not running.
    private func leave(
        to outerMode: RunLoopMode?,
        doing outerActivity: LoopActivity,
        waiting outerWaiting: Bool,
        entered: Bool
    ) {
        own.mode = outerMode
        own.activity = outerActivity
        setWaiting(outerWaiting)
        guard let outerMode else {
            own.reset()
            beacon.setMode(0)
            if entered {
                own.exited = own.clock
                beacon.begin(.notRunning, at: own.clock)
            }
            return
        }
        // The inner run may have examined and skipped what was meant for the outer run's mode.
        signals.add(.ofModes)
        signals.wakeUp()
        reloadItems()
        guard entered else { return }
        own.clock = clb_now_ns()
        beacon.setMode(outerMode.number)
        beacon.begin(outerActivity, at: own.clock)
    }
}
