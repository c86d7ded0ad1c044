internal import ArgumentParser
internal import Glibc

// The corpus of another program.
extension DiagnoseCommand {
    /// Runs its scenarios for long enough that debuggers can sample each of them. Prints how often each debugger names the
    /// function, and how long it takes.
    func runWithDebuggers(program: String, scenarios: [Scenario]) throws {
        let trials = scenarios.map {
            Trial(scenario: $0, milliseconds: Self.comparedMilliseconds, program: program, debuggers: Debugger.allCases)
        }
        let verdicts = TrialRunner(trials: trials, size: 1).execute { verdict in
            print(verdict.coveredText)
            fflush(nil)
        }
        for part in LibraryTruth.Part.allCases {
            // A stall whose duration cannot be set may end before the debuggers have sampled it.
            let own = verdicts.filter {
                $0.scenario.library?.part == part && $0.lasts(milliseconds: Self.comparedMilliseconds * 4 / 5)
            }
            let compared = own.filter { verdict in
                Debugger.allCases.allSatisfy { tool in verdict.debuggerStacks.contains { $0.tool == tool } }
            }
            guard !compared.isEmpty else { continue }
            let right = compared.count { $0.culpritIsRight }
            print("compared part=\(part.rawValue) by=records culprit=\(right)/\(compared.count)")
            for tool in Debugger.allCases {
                let stacks = compared.flatMap { verdict in verdict.debuggerStacks.filter { $0.tool == tool }.map { (verdict, $0) }
                }
                let right = stacks.count { $0.1.names($0.0.scenario.culprits) }
                let times = stacks.map(\.1.milliseconds).sorted()
                print(
                    "compared part=\(part.rawValue) by=\(tool.rawValue) culprit=\(right)/\(stacks.count) "
                        + "took_p50_ms=\(Int(times[times.count / 2])) took_max_ms=\(Int(times[times.count - 1]))"
                )
            }
        }
    }

    private static let comparedMilliseconds = 5_000

    /// Runs its scenarios on an idle machine, then beside computing processes, and prints sums for each group. For unseen
    /// scenarios it prints nothing else.
    func run(program: String, scenarios: [Scenario]) throws {
        var verdicts: [Verdict] = []
        for isBusy in busy > 0 ? [false, true] : [false] {
            let spinners = try (0..<(isBusy ? busy : 0)).map { _ in try ChildProcess(["spin"]) }
            defer { for spinner in spinners { spinner.end() } }
            let trials = scenarios.flatMap {
                Array(
                    repeating: Trial(scenario: $0, milliseconds: Self.milliseconds, program: program, isBusy: isBusy),
                    count: times
                )
            }
            let (printsJSON, revealing) = (json, reveal)
            verdicts += TrialRunner(trials: trials, size: 1).execute { verdict in
                let isCovered = verdict.isCovered(revealing: revealing)
                if printsJSON {
                    print(isCovered ? verdict.coveredJSON : verdict.json)
                } else {
                    print(isCovered ? verdict.coveredText : verdict.text)
                }
                fflush(nil)
            }
        }
        for verdict in verdicts where verdict.isSkipped { say(verdict.text) }
        guard !json else { return }
        for verdict in verdicts where !verdict.isCovered(revealing: reveal) {
            if let miss = verdict.miss { print(miss) }
        }
        printSums(of: verdicts)
        if check, verdicts.contains(where: { !$0.isSkipped && !$0.isRight }) { throw ExitCode.failure }
        if verdicts.contains(where: \.isServiceFailure) { throw ExitCode.failure }
    }

    private func printSums(of verdicts: [Verdict]) {
        let kinds = verdicts.reduce(into: [String?]()) { kinds, verdict in
            let kind = verdict.scenario.library?.service?.group
            if !kinds.contains(kind) { kinds.append(kind) }
        }
        for kind in kinds {
            for part in LibraryTruth.Part.allCases {
                for isBusy in [false, true] {
                    let group = GroupSummary(part: part, isBusy: isBusy, serviceGroup: kind, verdicts: verdicts)
                    guard !group.isEmpty else { continue }
                    if part == .unseen, group.isTelltale, !reveal {
                        say("too few unseen scenarios: their sums would reveal the verdict on each")
                        continue
                    }
                    for line in group.lines { print(line) }
                }
            }
        }
    }
}
