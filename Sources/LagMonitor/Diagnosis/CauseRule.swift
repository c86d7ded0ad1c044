package import LagModel

/// From what was measured and seen during a stall to its cause: the stall's time is divided among the causes, and the largest share
/// names it.
///
/// Measured is how long the thread was on a processor, waited for one, and slept; seen is, in some samples, what it did. So the
/// measured times are divided by what was seen: the time asleep among the waits that were seen, the time on a processor among
/// computing and system calls. What of the kernel's own share no system call explains is page faults, if there were enough of them.
///
/// Pure. Nothing here knows names of functions.
package struct CauseRule: Sendable {
    /// What a sample found the thread doing.
    package enum SampledState: Sendable, Equatable, CaseIterable {
        case computing
        /// In a system call, on a processor.
        case runningInSystemCall
        /// Asleep in a system call.
        case waiting
        case waitingForLock
        case deadlocked
        case faulting
    }

    /// How long the stall lasted, in nanoseconds as all times here.
    package var duration: UInt64
    /// The measured times; nil where they are not known.
    package var cpu: UInt64?
    package var runDelay: UInt64?
    package var blocked: UInt64?
    /// Time in the kernel, a part of `cpu`.
    package var system: UInt64?
    package var faults: UInt64?
    /// Whether samples could find a running thread in the kernel; otherwise what page faults do not explain of the kernel's time is system calls'.
    package var seesKernel = true
    /// Whether a fault may be one of 2 MiB in any program. One that asks for such pages, and cannot be seen in the kernel, has its faults called system calls.
    package var hasHugePages = true
    /// How much of the stall the samples cover, by what they found.
    package var seen: [SampledState: UInt64] = [:]

    /// A page fault takes so long at most without input: 2 MiB to be zeroed, on a slow machine.
    private static let longestFault: UInt64 = 1_000_000
    /// One of 4 KiB.
    private static let smallFault: UInt64 = 20_000
    /// The kernel reports its share of the time in hundredths of a second: two readings are wrong by so much.
    private static let systemTimeError: UInt64 = 20_000_000

    package init(duration: UInt64) { self.duration = duration }

    /// The stall's time by causes; sums to about the duration.
    package var shares: [StallRecord.Cause: UInt64] {
        var shares: [StallRecord.Cause: UInt64] = [:]
        guard let cpu, let blocked else {
            for (sampledState, weight) in seen { shares[Self.cause(of: sampledState), default: 0] += weight }
            return shares
        }
        shares[.runqueue] = runDelay ?? 0
        let asleep: [SampledState] = [.waiting, .waitingForLock, .deadlocked, .faulting]
        let weightAsleep = weight(of: asleep)
        for sampledState in asleep where weightAsleep > 0 {
            shares[Self.cause(of: sampledState), default: 0] += part(weight(of: [sampledState]), of: weightAsleep, blocked)
        }
        if weightAsleep == 0 { shares[.unknown] = blocked }
        // On a busy machine, signals were seen to find a computing thread right behind a system call far more often than the calls'
        // time would explain; but no call takes more than the kernel's time.
        let mostWorking = min(cpu, system.map { $0.saturatingSum(Self.systemTimeError) } ?? cpu)
        let working = min(
            part(weight(of: [.runningInSystemCall]), of: weight(of: [.runningInSystemCall, .computing]), cpu),
            mostWorking
        )
        let unexplained = min(system ?? 0, cpu).saturatingDifference(working)
        let longest = seesKernel || hasHugePages ? Self.longestFault : Self.smallFault
        let isFaulting = (faults ?? 0).saturatingProduct(longest) >= unexplained
        let faulting = isFaulting ? unexplained : 0
        let calling = seesKernel || isFaulting ? working : max(working, min(system ?? 0, cpu))
        shares[.syscall, default: 0] += calling
        shares[.pageFault, default: 0] += faulting
        shares[.cpu] = cpu.saturatingDifference(calling).saturatingDifference(faulting)
        return shares
    }

    package var cause: StallRecord.Cause {
        let shares = shares
        // In the order of the cases, so that equal shares have one answer.
        var best = StallRecord.Cause.unknown
        var most: UInt64 = 0
        for cause in StallRecord.Cause.allCases where shares[cause, default: 0] > most {
            best = cause
            most = shares[cause, default: 0]
        }
        return best
    }

    private static func cause(of sampledState: SampledState) -> StallRecord.Cause {
        switch sampledState {
        case .computing: .cpu
        case .runningInSystemCall, .waiting: .syscall
        case .waitingForLock: .lock
        case .deadlocked: .deadlock
        case .faulting: .pageFault
        }
    }

    private func weight(of states: [SampledState]) -> UInt64 { states.reduce(0) { $0 + seen[$1, default: 0] } }

    private func part(_ weight: UInt64, of whole: UInt64, _ time: UInt64) -> UInt64 {
        // `weight` is a part of `whole`, so the quotient is no more than `time`.
        whole == 0 ? 0 : whole.dividingFullWidth(time.multipliedFullWidth(by: weight)).quotient
    }
}
