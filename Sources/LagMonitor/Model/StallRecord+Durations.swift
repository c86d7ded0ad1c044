// The record's times as `Duration`; inside the package they are the measured nanoseconds.

extension StallRecord {
    /// `duration_ms`: so far for ``Phase/begin``, in all for ``Phase/end``, at least for ``Phase/abandoned``.
    public var duration: Duration { Duration(clampingNanoseconds: durationNanoseconds) }

    /// `duration_min_ms` and `duration_max_ms`: bounds of the duration, if it is not known exactly.
    public var durationRange: ClosedRange<Duration>? {
        durationBounds.map { Duration(clampingNanoseconds: $0.lowerBound)...Duration(clampingNanoseconds: $0.upperBound) }
    }

    /// `excluded_ms`: time between the stall's start and end in which the process could not run; not in the duration.
    public var excluded: Duration? { excludedNanoseconds.map(Duration.init(clampingNanoseconds:)) }

    /// `threshold_ms`: the duration from which this counts as a stall.
    public var threshold: Duration { Duration(clampingNanoseconds: thresholdNanoseconds) }
}

extension StallRecord.Evidence {
    /// `cpu_ms`: the thread's time on a processor.
    public var cpu: Duration? { cpuNanoseconds.map(Duration.init(clampingNanoseconds:)) }

    /// `run_delay_ms`: runnable, but not scheduled.
    public var runDelay: Duration? { runDelayNanoseconds.map(Duration.init(clampingNanoseconds:)) }

    /// `throttled_ms`: the part of ``runDelay`` that the processor quota of its control groups took, at most; nil if none did, or
    /// if it is not known.
    public var throttled: Duration? { throttledNanoseconds.map(Duration.init(clampingNanoseconds:)) }

    /// `blocked_ms`: asleep in the kernel.
    public var blocked: Duration? { blockedNanoseconds.map(Duration.init(clampingNanoseconds:)) }

    /// `system_ms`: in the kernel, a part of ``cpu``.
    public var system: Duration? { systemNanoseconds.map(Duration.init(clampingNanoseconds:)) }

    /// `pending_ms`: how long events had been ready when it was sampled, at least.
    public var pendingTime: Duration? { pendingNanoseconds.map(Duration.init(clampingNanoseconds:)) }
}

extension StallRecord.SampleNode {
    /// `ms`: the stall's time that the samples through this node cover.
    public var weight: Duration { Duration(clampingNanoseconds: weightNanoseconds) }

    /// `pruned_ms`: the weight of children that were left out.
    public var pruned: Duration { Duration(clampingNanoseconds: prunedNanoseconds) }
}
