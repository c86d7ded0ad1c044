extension GroupSummary {
    /// `services GROUP half=developed load=quiet stalls=N reported=N/N …`: all counts except `reported` are of the reported
    /// stalls;
    /// `request_right` of those in which a request ran, `callers` of those whose callers are judged.
    func serviceText(_ group: String) -> String {
        let reported = judged.filter { $0.record != nil }
        let requests = reported.filter { $0.scenario.library?.service?.request != nil }
        let callers = reported.compactMap(\.callersAreRight)
        return [
            "services \(group) half=\(part.rawValue) load=\(isBusy ? "busy" : "quiet")",
            "stalls=\(judged.count)",
            "reported=\(judged.count { $0.isReported })/\(judged.count)",
            "cause=\(reported.count { $0.causeIsRight })/\(reported.count)",
            "culprit=\(reported.count { $0.culpritIsRight })/\(reported.count)",
            "with_caller=\(reported.count { $0.culpritIsRightWithCaller })/\(reported.count)",
            "request_right=\(requests.count { $0.requestIsRight == true })/\(requests.count)",
            "request_wrong=\(reported.count { $0.requestIsWrong })",
            "callers=\(callers.count { $0 })/\(callers.count)",
            "confidence_error=\(Self.number(Calibration(judged).expectedError))",
        ].joined(separator: " ")
    }
}
