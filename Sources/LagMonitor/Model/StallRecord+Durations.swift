// The record's times as `Duration`; inside the package they are the nanoseconds that were measured.

extension StallRecord {
    /// `duration_ms`: so far for ``Phase/begin``, in all for ``Phase/end``, at least for ``Phase/abandoned``.
    public var duration: Duration { Duration(clampingNanoseconds: durationNanoseconds) }

    /// `duration_min_ms` and `duration_max_ms`: bounds of the duration, where it is not known exactly.
    public var durationRange: ClosedRange<Duration>? {
        durationBounds.map { Duration(clampingNanoseconds: $0.lowerBound)...Duration(clampingNanoseconds: $0.upperBound) }
    }

    /// `excluded_ms`: time between the stall's start and its end in which the process could not run, and which is not in the duration.
    public var excluded: Duration? { excludedNanoseconds.map(Duration.init(clampingNanoseconds:)) }

    /// `threshold_ms`: from what duration on this counts as a stall.
    public var threshold: Duration { Duration(clampingNanoseconds: thresholdNanoseconds) }
}

extension StallRecord.Evidence {
    /// `cpu_ms`: the thread's time on a processor.
    public var cpu: Duration? { cpuNanoseconds.map(Duration.init(clampingNanoseconds:)) }

    /// `run_delay_ms`: runnable, but not scheduled.
    public var runDelay: Duration? { runDelayNanoseconds.map(Duration.init(clampingNanoseconds:)) }

    /// `throttled_ms`: the part of ``runDelay`` that the processor quota of its control groups took, at most; nil where none did, or that is not
    /// known.
    public var throttled: Duration? { throttledNanoseconds.map(Duration.init(clampingNanoseconds:)) }

    /// `blocked_ms`: asleep in the kernel.
    public var blocked: Duration? { blockedNanoseconds.map(Duration.init(clampingNanoseconds:)) }

    /// `system_ms`: in the kernel, a part of ``cpu``.
    public var system: Duration? { systemNanoseconds.map(Duration.init(clampingNanoseconds:)) }

    /// `pending_ms`: for how long at least events had been ready, when it was sampled.
    public var pendingTime: Duration? { pendingNanoseconds.map(Duration.init(clampingNanoseconds:)) }
}

extension StallRecord.SampleNode {
    /// `ms`: the time of the stall that the samples through here cover.
    public var weight: Duration { Duration(clampingNanoseconds: weightNanoseconds) }

    /// `pruned_ms`: the weight of children that were left out.
    public var pruned: Duration { Duration(clampingNanoseconds: prunedNanoseconds) }
}
