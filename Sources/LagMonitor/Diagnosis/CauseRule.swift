package import LagModel

/// Derives a stall's cause from its measurements and samples: the stall's time is divided among the causes, and the largest share
/// is the cause.
///
/// Measured is how long the thread was on a processor, waited for one, and slept. Samples show what it did at some moments. So
/// the measured times are divided according to the samples: the time asleep among the sampled waits, the time on a processor
/// among computing and system calls. Kernel time that no system call explains is attributed to page faults, if there were enough
/// of them.
///
/// Pure. It does not depend on the names of functions.
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

    /// How long the stall lasted, in nanoseconds like all times here.
    package var duration: UInt64
    /// The measured times; nil if they are not known.
    package var cpu: UInt64?
    package var runDelay: UInt64?
    package var blocked: UInt64?
    /// Time in the kernel, a part of `cpu`.
    package var system: UInt64?
    package var faults: UInt64?
    /// Whether samples could find a running thread in the kernel; otherwise kernel time that page faults do not explain is
    /// attributed to system calls.
    package var seesKernel = true
    /// Whether a fault may be of 2 MiB in any program. If a program requests such pages and cannot be sampled in the kernel, its
    /// faults are attributed to system calls.
    package var hasHugePages = true
    /// How much of the stall the samples cover, by what they found.
    package var seen: [SampledState: UInt64] = [:]

    /// The longest time of a page fault without input: 2 MiB to be zeroed, on a slow machine.
    private static let longestFaultNanoseconds: UInt64 = 1_000_000
    /// The longest time of a 4 KiB fault.
    private static let smallFaultNanoseconds: UInt64 = 20_000
    /// The kernel reports its share of the time in hundredths of a second: the error of two readings.
    private static let systemTimeErrorNanoseconds: UInt64 = 20_000_000

    package init(duration: UInt64) { self.duration = duration }

    /// The stall's time by causes; the sum is about the duration.
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
        // On a busy machine, signals found a computing thread right after a system call far more often than the calls' time would
        // explain; but no call takes more than the kernel's time.
        let mostWorking = min(cpu, system.map { $0.saturatingSum(Self.systemTimeErrorNanoseconds) } ?? cpu)
        let working = min(
            part(weight(of: [.runningInSystemCall]), of: weight(of: [.runningInSystemCall, .computing]), cpu),
            mostWorking
        )
        let unexplained = min(system ?? 0, cpu).saturatingDifference(working)
        let longest = seesKernel || hasHugePages ? Self.longestFaultNanoseconds : Self.smallFaultNanoseconds
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
        // In the order of the cases, so that equal shares always give the same answer.
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
