internal import Foundation

/// The sums of one group of another program's stalls: a part of its corpus, on an idle or busy machine; for services, the stalls
/// of one kind.
struct GroupSummary {
    let part: LibraryTruth.Part
    let isBusy: Bool
    /// For services: the kind.
    let serviceGroup: String?
    let judged: [Verdict]
    private let skipped: Int

    init(part: LibraryTruth.Part, isBusy: Bool, serviceGroup: String? = nil, verdicts: [Verdict]) {
        self.part = part
        self.isBusy = isBusy
        self.serviceGroup = serviceGroup
        let own = verdicts.filter {
            $0.scenario.library?.part == part && $0.scenario.library?.service?.group == serviceGroup && $0.isBusy == isBusy
        }
        judged = own.filter { !$0.isSkipped }
        skipped = own.count - judged.count
    }

    var isEmpty: Bool { judged.isEmpty }
    /// Sums of only a few scenarios would reveal the verdict on each.
    var isTelltale: Bool { Set(judged.map(\.scenario.name)).count < Self.fewest }
    private static let fewest = 10

    var lines: [String] { serviceGroup.map { [serviceText($0)] } ?? [text] + calibration }

    /// `libraries part=developed load=quiet reported=N/N cause=N/N …`: all counts except `reported` are of the reported stalls.
    var text: String {
        let reported = judged.filter { $0.record != nil }
        let owners = reported.compactMap(\.ownerIsRight)
        let bounds = reported.compactMap(\.boundsAreRight)
        let errors = reported.compactMap(\.durationErrorMs).sorted()
        return [
            "libraries \(group)",
            "reported=\(judged.count { $0.isReported })/\(judged.count)",
            "other_reports=\(judged.reduce(0) { $0 + $1.reports.other })",
            "cause=\(reported.count { $0.causeIsRight })/\(reported.count)",
            "culprit=\(reported.count { $0.culpritIsRight })/\(reported.count)",
            "with_caller=\(reported.count { $0.culpritIsRightWithCaller })/\(reported.count)",
            "owner=\(owners.count { $0 })/\(owners.count)",
            "duration_error_p50_ms=\(Self.number(Self.quantile(0.5, of: errors)))",
            "duration_error_p99_ms=\(Self.number(Self.quantile(0.99, of: errors)))",
            "bounds_ok=\(bounds.count { $0 })/\(bounds.count)",
            "skipped=\(skipped)",
        ].joined(separator: " ")
    }

    /// How reliable the records' confidence is: `calibration … confidence=0.9-1.0 count=N right=0.97 mean=0.95`, a line for each
    /// bin, then the mean of the distances between both, each bin weighted by its count.
    var calibration: [String] {
        let calibration = Calibration(judged)
        let error = Self.number(calibration.expectedError)
        return calibration.bins.map { bin in
            "calibration \(group) confidence=\(bin.bounds) count=\(bin.count) right=\(Self.number(bin.right)) mean=\(Self.number(bin.mean))"
        } + ["calibration \(group) records=\(calibration.records) expected_error=\(error)"]
    }

    private var group: String { "part=\(part.rawValue) load=\(isBusy ? "busy" : "quiet")" }

    /// The value that this share of the sorted values does not exceed.
    private static func quantile(_ share: Double, of sorted: [Double]) -> Double? {
        sorted.isEmpty ? nil : sorted[min(sorted.count - 1, Int((share * Double(sorted.count)).rounded(.up)) - 1)]
    }

    static func number(_ value: Double?) -> String { value.map { String(format: "%.2f", $0) } ?? "-" }
}
