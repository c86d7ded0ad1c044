internal import LagMonitor
internal import LagRemote

/// Waits for threads that were asked whether they are there.
enum ProbeAnswers {
    private static let longestWait: Duration = .seconds(1)

    /// Whether all answer within a second.
    /// - Parameter questions: each says whether its answer is there.
    static func allArrive(_ questions: [LivenessProbe.Check]) async -> Bool {
        var open = questions
        let deadline = MonotonicTime.now + longestWait
        while true {
            open.removeAll { $0() }
            if open.isEmpty { return true }
            guard MonotonicTime.now < deadline else { return false }
            try? await Task.sleep(for: .milliseconds(5))
        }
    }
}
