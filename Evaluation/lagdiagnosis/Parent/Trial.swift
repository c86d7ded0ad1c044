internal import Foundation
internal import LagMonitor

/// One scenario in a separate process.
struct Trial {
    let scenario: Scenario
    let milliseconds: Int
    /// The program that stalls, if it is not this one.
    var program: String?
    /// Whether computing processes run beside it.
    var isBusy = false
    /// The debuggers that sample the process in the middle of its stall.
    var debuggers: [Debugger] = []

    /// A silent process is killed after this time.
    private static let limit: Duration = .seconds(30)
    /// How often a scenario is retried if other processes take its processor, or the watchdog is delayed. If that happens every
    /// time, the last result is judged.
    private static let mostAttempts = 4

    func execute() -> Verdict {
        var verdict = attempt()
        // Every run of another program counts: the figures include the monitor's results on a busy machine.
        guard program == nil else {
            verdict.isBusy = isBusy
            return verdict
        }
        for count in 2...Self.mostAttempts {
            guard !scenario.expectsRunDelay, verdict.truth?.isDisturbed == true || verdict.isDurationUncertain else { break }
            verdict = attempt()
            verdict.attempts = count
        }
        if !scenario.expectsRunDelay, let truth = verdict.truth, truth.isDisturbed {
            let share = Int((truth.runDelayMs ?? 0) / truth.durationMs * 100)
            let reason = "disturbed \(verdict.attempts) times: others used its processor for \(share) % of the last stall"
            return Verdict(scenario: scenario, missingResult: .skipped(reason))
        }
        if let truth = verdict.truth, !scenario.isStallAsIntended(truth) {
            let figures =
                "\(Int(truth.cpuMs)) of \(Int(truth.durationMs)) ms computed, \(truth.minorFaults)+\(truth.majorFaults) faults"
            let reason = "this machine is too fast for it, or /var/tmp is in memory: \(figures)"
            return Verdict(scenario: scenario, missingResult: .skipped(reason))
        }
        return verdict
    }

    private func attempt() -> Verdict {
        do {
            return try run()
        } catch let unavailable as Unavailable {
            return Verdict(scenario: scenario, missingResult: .skipped(unavailable.reason))
        } catch {
            return Verdict(scenario: scenario, missingResult: .failed("\(error)"))
        }
    }

    private func run() throws -> Verdict {
        let group = try scenario.memoryLimitBytes.map { try MemoryGroup(limitBytes: $0) }
        defer { group?.remove() }
        let arguments = ["stall", "--scenario", scenario.name, "--milliseconds", "\(milliseconds)"]
        let child = try ChildProcess(
            arguments + (debuggers.isEmpty ? [] : ["--announce", "true"]) + (group.map { ["--group", $0.path] } ?? []),
            program: program,
            capturesOutput: true
        )
        defer { child.end() }
        let deadline = MonotonicTime.now + Self.limit
        var debuggerStacks: [DebuggerStack] = []
        var records: [StallLine] = []
        while let line = child.readLine(until: deadline) {
            if let report = try? JSONDecoder().decode(ChildReport.self, from: Data(line.utf8)) {
                switch report {
                case .skipped(let reason): throw Unavailable(reason)
                case .began:
                    debuggerStacks = debuggers.compactMap { $0.stack(of: child.pid) }
                    continue
                case .measured(let truth):
                    var verdict = Verdict(scenario: scenario, records: records, truth: truth)
                    verdict.debuggerStacks = debuggerStacks
                    return verdict
                }
            }
            let record = try StallLine(line)
            records.append(record)
            if scenario.ending == .byParent, record.phase == "begin" {
                return Verdict(scenario: scenario, records: records, truth: nil)
            }
        }
        throw DiagnosisFailure(
            deadline <= .now ? "no record and no exit within \(Self.limit)" : "it exited early, after \(records.count) records"
        )
    }
}
