internal import Foundation
internal import LagMonitor

/// What a program's list says of one of its scenarios, beyond what every scenario has.
struct LibraryTruth: Sendable {
    /// Which scenarios are examined while the monitor is worked on: a coin, thrown by the name alone.
    enum Part: String, Decodable, Sendable, CaseIterable {
        case developed
        /// Of these, only sums are printed: who reads what the monitor says of one of them starts to work for it.
        case unseen
    }

    let part: Part
    /// Own functions that call the culprit: right only in the weaker verdict.
    let callers: [String]
    /// The thread that holds the lock, where it stands in memory.
    let owner: String?
    /// Whether what it does not spend on a processor is waiting for one.
    let computes: Bool
    /// What else is known of it, when it is a service's.
    var service: ServiceTruth?

    /// Where other processes have the processors, a thread that computes waits for one: by the stall's own clocks, the larger part is the
    /// cause. Near the middle either is right. So it is, at any share, of what computes and waits for others by turns.
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

    /// The scenarios of another program, by its own list.
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
