/// The score of a detector in one run: compares its detections with the truth. Pure.
///
/// - A detection belongs to the truth of its kind that it overlaps most and that has no earlier detection. A truth that is
///   not a stall (``Truth/mayBeFound``) has no detection.
/// - A detection that belongs to no truth is false. So is every repetition, because each stall must be reported once.
/// - Recall is the share of the stalls that must be found (``Truth/mustBeFound``), injected or not.
/// - Durations are compared only for injected stalls, because no callout measures delays by the kernel from inside.
struct Score: Sendable, Equatable {
    /// A detection and the truth to which it belongs.
    struct Match: Sendable, Equatable {
        let detection: Detection
        let truth: Truth

        /// How far the duration is outside the true bounds.
        var durationError: UInt64 {
            if detection.duration < truth.least { return truth.least - detection.duration }
            return detection.duration > truth.most ? detection.duration - truth.most : 0
        }

        /// How far the truth is outside the detector's bounds; nil if the detector gave none.
        var boundsError: UInt64? {
            guard let bounds = detection.bounds else { return nil }
            if truth.most < bounds.lowerBound { return bounds.lowerBound - truth.most }
            return truth.least > bounds.upperBound ? truth.least - bounds.upperBound : 0
        }

        /// The time from the moment when the threshold was reached to the detection.
        var latency: UInt64 { detection.detected > truth.due ? detection.detected - truth.due : 0 }
    }

    private(set) var injected = 0
    private(set) var above = 0
    private(set) var aboveFound = 0
    /// The starvations of ``above``.
    private(set) var starvations = 0
    private(set) var starvationsFound = 0
    /// The number of detections without a stall, and of repetitions.
    private(set) var falseCount = 0
    /// The detections of ``falseCount`` that report a stall again.
    private(set) var repeats = 0
    /// The number of injected stalls that are too short to be reported.
    private(set) var below = 0
    /// The number of injected stalls that may be reported or not.
    private(set) var between = 0
    /// The number of stalls that were not injected and are long enough to be reported; the kernel caused them.
    private(set) var kernel = 0
    /// Nanoseconds, ascending.
    private(set) var durationErrors: [UInt64] = []
    private(set) var latencies: [UInt64] = []
    /// Misses and false records, as text.
    private(set) var missed: [Truth] = []
    private(set) var unfounded: [Detection] = []
    private(set) var matches: [Match] = []

    init(truths: [Truth], detections: [Detection]) {
        let taken = match(truths, detections)
        for (index, truth) in truths.enumerated() {
            if truth.isInjected {
                injected += 1
                if !truth.mayBeFound { below += 1 } else if !truth.mustBeFound { between += 1 }
            } else if truth.mayBeFound {
                kernel += 1
            }
            guard truth.mustBeFound else { continue }
            above += 1
            if truth.stallType == .starvation { starvations += 1 }
            if taken.contains(index) {
                aboveFound += 1
                if truth.stallType == .starvation { starvationsFound += 1 }
            } else {
                missed.append(truth)
            }
        }
        durationErrors = matches.filter(\.truth.isInjected).map(\.durationError).sorted()
        latencies = matches.map(\.latency).sorted()
    }

    /// 1 if there was nothing to find.
    var recall: Double { Self.part(aboveFound, of: above) ?? 1 }
    /// The parts of the recall; nil if there was nothing to find.
    var starvationRecall: Double? { Self.part(starvationsFound, of: starvations) }
    var calloutRecall: Double? { Self.part(aboveFound - starvationsFound, of: above - starvations) }

    private static func part(_ found: Int, of all: Int) -> Double? { all == 0 ? nil : Double(found) / Double(all) }

    private mutating func match(_ truths: [Truth], _ detections: [Detection]) -> Set<Int> {
        var taken: Set<Int> = []
        for detection in detections.sorted(by: { $0.start < $1.start }) {
            falseCount += detection.repeats
            repeats += detection.repeats
            let candidates = truths.indices.filter { Self.belongs(detection, truths[$0]) }
            let common = { (index: Int) in overlap(detection.start, detection.end, truths[index].begin, truths[index].end) }
            if let best = candidates.filter({ !taken.contains($0) }).max(by: { common($0) < common($1) }) {
                taken.insert(best)
                matches.append(Match(detection: detection, truth: truths[best]))
            } else {
                falseCount += 1
                unfounded.append(detection)
                if !candidates.isEmpty { repeats += 1 }
            }
        }
        return taken
    }

    private static func belongs(_ detection: Detection, _ truth: Truth) -> Bool {
        truth.mayBeFound && (detection.stallType ?? truth.stallType) == truth.stallType
            && overlap(detection.start, detection.end, truth.begin, truth.end) > 0
    }

    /// The nearest-rank percentile; nil without values.
    static func percentile(_ percent: Double, of sorted: [UInt64]) -> UInt64? {
        guard !sorted.isEmpty else { return nil }
        let rank = Int((percent / 100 * Double(sorted.count)).rounded(.up))
        return sorted[min(max(rank, 1), sorted.count) - 1]
    }
}
