/// The score of a detector in one run: compares its detections with the truth. Pure.
///
/// - A detection belongs to the truth of its kind that it overlaps most and that no earlier detection has taken; a truth that is
///   not a stall (``Truth/mayBeFound``) has no detection.
/// - A detection that belongs to no truth is false. So is every repetition: each stall must be reported once.
/// - Recall is over the stalls that must be found (``Truth/mustBeFound``), injected or not.
/// - Durations are compared only for injected stalls; delays by the kernel have no callout that measures them from inside.
struct Score: Sendable, Equatable {
    /// A detection and what it belongs to.
    struct Match: Sendable, Equatable {
        let detection: Detection
        let truth: Truth

        /// How far the duration is outside the known bounds.
        var durationError: UInt64 {
            if detection.duration < truth.least { return truth.least - detection.duration }
            return detection.duration > truth.most ? detection.duration - truth.most : 0
        }

        /// Whether the detector gave bounds, and by how much the truth lies outside of them.
        var boundsError: UInt64? {
            guard let bounds = detection.bounds else { return nil }
            if truth.most < bounds.lowerBound { return bounds.lowerBound - truth.most }
            return truth.least > bounds.upperBound ? truth.least - bounds.upperBound : 0
        }

        /// From the moment the threshold was reached to the detection.
        var latency: UInt64 { detection.detected > truth.due ? detection.detected - truth.due : 0 }
    }

    private(set) var injected = 0
    private(set) var above = 0
    private(set) var aboveFound = 0
    /// Of ``above``, those that are starvations.
    private(set) var starvations = 0
    private(set) var starvationsFound = 0
    /// Findings without a stall, and repetitions.
    private(set) var falseCount = 0
    /// Of ``falseCount``, those that report a stall again.
    private(set) var repeats = 0
    /// Injected, but too short to be reported.
    private(set) var below = 0
    /// Injected, and may be reported or not.
    private(set) var between = 0
    /// Long enough to be reported and not injected: what the kernel did.
    private(set) var kernel = 0
    /// Nanoseconds, ascending.
    private(set) var durationErrors: [UInt64] = []
    private(set) var latencies: [UInt64] = []
    /// As text: misses and false records.
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

    /// 1 when nothing had to be found.
    var recall: Double { Self.part(aboveFound, of: above) ?? 1 }
    /// Its parts; nil where nothing had to be found.
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

    /// The nearest rank; nil of nothing.
    static func percentile(_ percent: Double, of sorted: [UInt64]) -> UInt64? {
        guard !sorted.isEmpty else { return nil }
        let rank = Int((percent / 100 * Double(sorted.count)).rounded(.up))
        return sorted[min(max(rank, 1), sorted.count) - 1]
    }
}
