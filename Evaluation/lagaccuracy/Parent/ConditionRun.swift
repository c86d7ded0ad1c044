internal import Foundation
internal import Glibc
internal import LagMonitor
internal import TestSupport

/// One condition: starts the target, applies the condition, and reads its report.
struct ConditionRun {
    let condition: Condition
    let options: RunOptions

    /// The result.
    struct Outcome {
        let report: TargetReport
        let observedStops: [ObservedStop]
        /// Nil: standstills could not be measured.
        var standstills: [ObservedStop]?
        /// When the target was ready.
        let start: UInt64
    }

    /// - Throws: ``AccuracyFailure`` if the target does not exit in time, or prints no readable report.
    func execute() throws -> Outcome {
        let plan = options.plan(for: condition)
        let guardian = condition == .stepped && options.setsClock ? try ClockGuardian() : nil
        defer { guardian?.end() }
        let spinners = condition == .starved ? try Self.spinners(seconds: Self.limitSeconds(plan)) : []
        defer { for spinner in spinners { spinner.end() } }
        let target = try ChildProcess(
            ["target", "--condition", condition.rawValue] + options.arguments,
            capturesOutput: true,
            extra: guardian?.input
        )
        defer { target.end() }
        let standstills = StandstillWatch()
        defer { _ = standstills?.end() }
        var outcome = try listen(to: target, until: MonotonicTime.now + .seconds(Self.limitSeconds(plan)))
        guard outcome.report.injected.count == plan.stalls.count else {
            throw AccuracyFailure(
                "\(condition.rawValue): \(outcome.report.injected.count) of \(plan.stalls.count) stalls injected"
            )
        }
        outcome.standstills = standstills?.end()
        if guardian?.hasFailed == true { throw AccuracyFailure("stepped: the wall clock could not be set") }
        return outcome
    }

    /// Reads the target's output, and stops it occasionally. The target's report is its last line.
    private func listen(to target: ChildProcess, until deadline: MonotonicTime) throws -> Outcome {
        var random = SeededGenerator(seed: options.seed, condition: condition, purpose: 2)
        var observedStops: [ObservedStop] = []
        var nextStop = MonotonicTime.distantFuture
        var text: [UInt8] = []
        var start: UInt64?
        while true {
            let now = MonotonicTime.now
            guard now < deadline else { throw AccuracyFailure("\(condition.rawValue): the target did not exit in time") }
            if now >= nextStop {
                if let observedStop = try target.stopAndContinue(milliseconds: random.logUniform(options.stopMilliseconds)) {
                    observedStops.append(observedStop)
                }
                nextStop = .now + .milliseconds(Int64.random(in: options.stopGapMilliseconds, using: &random))
                continue
            }
            var entry = pollfd(fd: target.output, events: Int16(POLLIN), revents: 0)
            let wait = min(nextStop, deadline) - now
            let ready = poll(&entry, 1, Int32(clamping: wait.wholeNanoseconds / 1_000_000 + 1))
            guard ready > 0 else { continue }
            var buffer = [UInt8](repeating: 0, count: 65_536)
            let count = read(target.output, &buffer, buffer.count)
            if count < 0 && errno == EINTR { continue }
            if count <= 0 { break }
            text.append(contentsOf: buffer[..<count])
            if start == nil, text.contains(UInt8(ascii: "\n")) {
                start = MonotonicTime.now.nanoseconds
                if condition == .stopped { nextStop = .now + .milliseconds(options.stopGapMilliseconds.lowerBound) }
            }
        }
        guard let end = text.firstIndex(of: UInt8(ascii: "\n")), let start,
            let report = try? JSONDecoder().decode(TargetReport.self, from: Data(text[(end + 1)...]))
        else { throw AccuracyFailure("\(condition.rawValue): the target exited without a report") }
        guard report.lost == 0 else {
            throw AccuracyFailure("\(condition.rawValue): \(report.lost) records were lost")
        }
        return Outcome(report: report, observedStops: observedStops, start: start)
    }

    /// Four spinning processes per processor. They exit with this process, or after their time limit.
    private static func spinners(seconds: Int) throws -> [ChildProcess] {
        let count = spinnersPerProcessor * max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)))
        return try (0..<count).map { _ in try ChildProcess(["spin", "--seconds", "\(seconds)"]) }
    }

    private static let spinnersPerProcessor = 4

    /// Stops and a busy machine make a run longer than planned, but a hang of the target must not make it endless.
    private static func limitSeconds(_ plan: InjectionPlan) -> Int { Int(plan.plannedMilliseconds / 1000) * 3 + 30 }
}
