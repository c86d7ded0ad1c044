import Foundation
import Testing

@testable import lagdiagnosis

extension ProgramTests {
    /// The short form of `make diagnosis`, as in `make test`.
    @Suite(.serialized) struct ShortFormTests {
        @Test(.timeLimit(.minutes(5))) func `every scenario has one verdict`() throws {
            let verdicts = try ShortRun.verdicts.get()
            #expect(verdicts.map(\.scenario).sorted() == Corpus.scenarios.map(\.name).sorted())
            // Scenarios that the machine does not permit or is too busy for are skipped; most scenarios only wait.
            #expect(verdicts.count { !$0.isSkipped } >= Corpus.scenarios.count / 2)
        }

        /// Otherwise the scenario does not do what it states.
        @Test(.timeLimit(.minutes(5))) func `every scenario stalls for the stated time`() throws {
            for verdict in try ShortRun.verdicts.get() where !verdict.isSkipped {
                let record = try #require(verdict.record, "\(verdict.text)")
                #expect(record.durationMs >= 300, "\(verdict.text)")
                guard let truth = verdict.truth else { continue }
                #expect(abs(record.durationMs - truth.durationMs) < truth.durationMs / 4, "\(verdict.text)")
            }
        }

        /// A sample of a mixed stall sees one of its parts; if all time is in one function, its name must be in the stack.
        @Test(.timeLimit(.minutes(5))) func `every stack contains the culprit if the stall has a single cause`() throws {
            let mixed = Set(Corpus.mixed.map(\.name))
            for verdict in try ShortRun.verdicts.get() where !verdict.isSkipped && !mixed.contains(verdict.scenario) {
                // Samples of a thread that is rarely scheduled may all fail.
                if verdict.record?.capture == "none", verdict.scenario == "starved" { continue }
                #expect(verdict.stackHoldsCulprit, "\(verdict.text)")
            }
        }

        @Test(.timeLimit(.minutes(5))) func `every cause and culprit is right`() throws {
            for verdict in try ShortRun.verdicts.get() where !verdict.isSkipped {
                #expect(verdict.causeOk, "\(verdict.text)")
                #expect(verdict.culpritOk, "\(verdict.text)")
            }
        }
    }
}
