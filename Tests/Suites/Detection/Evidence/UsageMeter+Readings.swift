internal import CLagLinux

@testable import LagDetection

// Readings in milliseconds.

extension UsageMeter {
    /// Readings at 100 and 150 ms; the callout began between them.
    init(cpuAt100: UInt64, cpuAt150: UInt64) {
        self.init()
        record(.reading(100, cpuAt100), .beacon(1, since: 90, woke: 90))
        record(.reading(150, cpuAt150), .beacon(2, since: 130, woke: 130))
    }

    func usage(_ since: UInt64, _ until: UInt64, length: UInt64? = nil, asleep: UInt64 = 0, _ last: Totals) -> ThreadUsage {
        usage(
            since: since * millisecond,
            until: until * millisecond,
            length: (length ?? until - since) * millisecond,
            spansCallouts: false,
            asleep: asleep * millisecond,
            last
        )
    }
}

extension UsageMeter.Totals {
    static func totals(
        _ milliseconds: UInt64,
        cpu: UInt64,
        delay: UInt64? = nil,
        system: UInt64 = 0,
        minor: UInt64 = 0,
        major: UInt64 = 0
    ) -> UsageMeter.Totals {
        var faults = cll_thread_faults()
        (faults.minor, faults.major, faults.system_ns) = (minor, major, system * millisecond)
        return UsageMeter.Totals(
            reading: .reading(milliseconds, cpu),
            times: delay.map { ThreadTimes(cpuNanoseconds: 0, runDelayNanoseconds: $0 * millisecond) },
            faults: delay == nil ? nil : faults
        )
    }
}

extension UsageMeter.Reading {
    static func reading(_ milliseconds: UInt64, _ cpu: UInt64, delay: UInt64? = nil) -> UsageMeter.Reading {
        UsageMeter.Reading(time: milliseconds * millisecond, cpu: cpu * millisecond, runDelay: delay.map { $0 * millisecond })
    }
}

extension BeaconReading {
    static func beacon(_ word: UInt64, since: UInt64, woke: UInt64) -> BeaconReading {
        BeaconReading(word: word, calloutNanoseconds: since * millisecond, wokeNanoseconds: woke * millisecond)
    }
}
