extension Truth {
    /// All stalls and delays of a run, from the target's own readings and the times in which its parent stopped it.
    static func all(in report: TargetReport, observedStops: [ObservedStop]) -> [Truth] {
        let injected = report.injected.map { stall in
            make(
                stall.isStarvation ? .starvation : .callout,
                label: "\(stall.kind) in \(stall.place.rawValue)",
                isInjected: true,
                (stall.begin, stall.end),
                seen: (stall.before, stall.after),
                observedStops
            )
        }
        let gaps = report.gaps.map { gap in
            make(.callout, label: "kernel", isInjected: false, (gap.begin, gap.end), seen: (gap.begin, gap.end), observedStops)
        }
        let awakePeriods = report.awakePeriods.map { time in
            let whole = make(
                .starvation,
                label: "kernel",
                isInjected: false,
                (time.begin, time.end),
                seen: (time.begin, time.end),
                observedStops
            )
            let callouts = min(time.inLongCallouts, time.certain)
            return Truth(
                stallType: .starvation,
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
        return (injected + gaps + awakePeriods).sorted { $0.begin < $1.begin }
    }

    private static func make(
        _ stallType: StallType,
        label: String,
        isInjected: Bool,
        _ own: (begin: UInt64, end: UInt64),
        seen: (begin: UInt64, end: UInt64),
        _ observedStops: [ObservedStop]
    ) -> Truth {
        func without(_ length: UInt64, _ stopped: UInt64) -> UInt64 { length > stopped ? length - stopped : 0 }
        return Truth(
            stallType: stallType,
            label: label,
            isInjected: isInjected,
            begin: own.begin,
            end: own.end,
            least: without(own.end - own.begin, observedStops.possiblyStopped(from: own.begin, to: own.end)),
            most: without(own.end - own.begin, observedStops.certainlyStopped(from: own.begin, to: own.end)),
            longest: without(seen.end - seen.begin, observedStops.certainlyStopped(from: seen.begin, to: seen.end)),
            due: observedStops.time(after: own.begin, running: stallType.thresholdNanoseconds)
        )
    }
}
