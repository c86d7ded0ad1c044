internal import Foundation
internal import LagMonitor

/// The data on a scenario of another program, from that program's list, in addition to the data of every scenario.
struct LibraryTruth: Sendable {
    /// The parts of the corpus, of which developers of the monitor may examine one. A hash of a scenario's name decides.
    enum Part: String, Decodable, Sendable, CaseIterable {
        case developed
        /// Only sums are printed for these, so that the monitor is not tuned to single scenarios.
        case unseen
    }

    let part: Part
    /// Own functions that call the culprit: correct only in the weaker verdict.
    let callers: [String]
    /// The thread that holds the lock, if memory contains it.
    let owner: String?
    /// Whether all time without a processor is a wait for one.
    let computes: Bool
    /// Further data for scenarios of services.
    var service: ServiceTruth?

    /// If other processes use the processors, a computing thread waits for one. The larger part, by the stall's own clocks, is
    /// the cause. Near one half, both are correct. For threads that alternately compute and wait for others, both are correct at
    /// any share.
    func causes(_ causes: [StallRecord.Cause], in truth: Truth?) -> [StallRecord.Cause] {
        guard computes || causes.contains(.cpu), let truth, truth.durationMs > 0 else { return causes }
        switch truth.cpuMs / truth.durationMs {
        case ..<0.4: return computes ? [.runqueue] : causes + [.runqueue]
        case ..<0.6: return causes + [.runqueue]
        default: return causes
        }
    }
}

extension Scenario {
    /// One line of a program's list.
    private struct Entry: Decodable {
        let name: String
        let causes: [String]
        let culprits: [String]
        let callers: [String]
        let owner: String?
        let summary: String
        let part: LibraryTruth.Part
        let computes: Bool
        let service: ServiceTruth?
    }

    /// The scenarios of another program, from its own list.
    static func listed(by program: String) throws -> [Scenario] {
        let child = try ChildProcess(["list"], program: program, capturesOutput: true)
        var scenarios: [Scenario] = []
        while let line = child.readLine() {
            let entry = try JSONDecoder().decode(Entry.self, from: Data(line.utf8))
            let causes = try entry.causes.map { word in
                guard let cause = StallRecord.Cause(rawValue: word) else {
                    throw DiagnosisFailure("\(program): \(entry.name) has an unknown cause '\(word)'")
                }
                return cause
            }
            scenarios.append(Scenario(entry, causes))
        }
        guard !scenarios.isEmpty else { throw DiagnosisFailure("\(program) lists no scenarios") }
        return scenarios
    }

    private init(_ entry: Entry, _ causes: [StallRecord.Cause]) {
        self.init(
            named: entry.name,
            causes,
            culprits: entry.culprits,
            entry.summary,
            library: LibraryTruth(
                part: entry.part,
                callers: entry.callers,
                owner: entry.owner,
                computes: entry.computes,
                service: entry.service
            )
        )
    }
}
