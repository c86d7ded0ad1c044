/// Which of the two troubles: a callback that stands still, or many that do not let the loop sleep.
enum Trouble: String, Sendable, CaseIterable {
    case callout
    case starvation

    /// From what duration on it is a stall.
    var thresholdNanoseconds: UInt64 {
        switch self {
        case .callout: 150_000_000
        case .starvation: 1_000_000_000
        }
    }
}

/// What really happened to the loop, once. Nanoseconds.
struct Truth: Sendable, Equatable {
    let trouble: Trouble
    /// `cpu in timer`; what was not injected is `kernel`.
    let label: String
    let isInjected: Bool
    let begin: UInt64
    let end: UInt64
    /// How long the target was at it by its own readings, without the time in which it was stopped. Two numbers, because the
    /// moment of a stop is known only within bounds; without stops they are the same.
    let least: UInt64
    let most: UInt64
    /// How long it can have looked to the loop: from its reading before the callout to the one after it. A delay by the kernel
    /// between the callout's last reading and the loop's next is in here.
    let longest: UInt64
    /// When it had lasted for its threshold.
    let due: UInt64

    /// A stall that must be found: at least one interval (50 ms) above the threshold.
    var isAbove: Bool { least >= trouble.thresholdNanoseconds + Self.intervalNanoseconds }
    /// A stall that may be found: not more than 1 ms below the threshold. Less is no stall, and a record of it is false.
    var isReportable: Bool { longest + Self.toleranceNanoseconds >= trouble.thresholdNanoseconds }

    static let intervalNanoseconds: UInt64 = 50_000_000
    static let toleranceNanoseconds: UInt64 = 1_000_000
}

extension Truth {
    /// All that happened in a run, from the target's own readings and the times in which its parent stopped it.
    static func all(in report: TargetReport, pulses: [Pulse]) -> [Truth] {
        let injected = report.injected.map { stall in
            make(
                stall.isStarvation ? .starvation : .callout,
                label: "\(stall.kind) in \(stall.place.rawValue)",
                isInjected: true,
                (stall.begin, stall.end),
                seen: (stall.before, stall.after),
                pulses
            )
        }
        let gaps = report.gaps.map { gap in
            make(.callout, label: "kernel", isInjected: false, (gap.begin, gap.end), seen: (gap.begin, gap.end), pulses)
        }
        let wakeful = report.wakeful.map { time in
            let whole = make(
                .starvation,
                label: "kernel",
                isInjected: false,
                (time.begin, time.end),
                seen: (time.begin, time.end),
                pulses
            )
            let callouts = min(time.inLongCallouts, time.certain)
            return Truth(
                trouble: .starvation,
                label: whole.label,
                isInjected: false,
                begin: whole.begin,
                end: whole.end,
                least: min(whole.least, time.certain - callouts),
                most: whole.most,
                longest: whole.longest - min(whole.longest, time.inLongCallouts),
                due: whole.due
            )
        }
        return (injected + gaps + wakeful).sorted { $0.begin < $1.begin }
    }

    private static func make(
        _ trouble: Trouble,
        label: String,
        isInjected: Bool,
        _ own: (begin: UInt64, end: UInt64),
        seen: (begin: UInt64, end: UInt64),
        _ pulses: [Pulse]
    ) -> Truth {
        func without(_ length: UInt64, _ stopped: UInt64) -> UInt64 { length > stopped ? length - stopped : 0 }
        return Truth(
            trouble: trouble,
            label: label,
            isInjected: isInjected,
            begin: own.begin,
            end: own.end,
            least: without(own.end - own.begin, pulses.perhapsStopped(from: own.begin, to: own.end)),
            most: without(own.end - own.begin, pulses.surelyStopped(from: own.begin, to: own.end)),
            longest: without(seen.end - seen.begin, pulses.surelyStopped(from: seen.begin, to: seen.end)),
            due: pulses.time(after: own.begin, running: trouble.thresholdNanoseconds)
        )
    }
}
