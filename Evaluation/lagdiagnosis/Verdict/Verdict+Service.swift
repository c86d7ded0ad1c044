// The evaluation of stalls in services.
extension Verdict {
    private var service: ServiceTruth? { scenario.library?.service }

    /// The culprit of the record. For a service, a closure of a function counts as the function, regardless of its number.
    var culprit: String? { service == nil ? record?.fields.culprit : record?.fields.culprit.map(Self.function) }

    /// Whether the record names the request that its thread ran, or no request if the thread ran none; nil without a record.
    var requestIsRight: Bool? {
        guard let service, let record else { return nil }
        return record.fields.request?.name == service.request
    }

    /// Whether it names a wrong request, which is worse than none.
    var requestIsWrong: Bool { record?.fields.request != nil && requestIsRight == false }

    /// Whether all of the program's functions that wait for the stalled one are listed, in order. Later frames belong to the
    /// scenario's setup.
    var callersAreRight: Bool? {
        guard let expected = service?.suspendedCallers, let record else { return nil }
        return suspended(in: record).starts(with: expected)
    }

    /// Whether the record is wrong regardless of the machine's load.
    var isServiceFailure: Bool { service != nil && !isSkipped && (record == nil || requestIsWrong) }

    func text(of service: ServiceTruth) -> String {
        let request = "request=\(record?.fields.request?.name ?? "-")/\(service.request ?? "-")"
        return callersAreRight == nil ? request : "\(request) callers=\(callersAreRight == true ? "right" : "wrong")"
    }

    /// The text for a missed stall.
    var expectedOfService: String {
        guard let service else { return "" }
        let callers = service.suspendedCallers.map { ", callers \($0.joined(separator: ", "))" } ?? ""
        return ", request \(service.request ?? "none")\(callers)"
    }

    private func suspended(in record: StallLine) -> [String] {
        guard let module = scenario.culprits.first?.prefix(while: { $0 != "." }) else { return [] }
        return record.frames.filter { $0.async == true }.compactMap(\.symbol).map(Self.function).filter {
            $0.hasPrefix("\(module).")
        }
    }

    /// For example `a.f` of `closure #2 in a.f`.
    private static func function(_ symbol: String) -> String {
        symbol.ranges(of: " in ").last.map { String(symbol[$0.upperBound...]) } ?? symbol
    }
}
