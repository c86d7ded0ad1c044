import Foundation
import Testing

@testable import lagdiagnosis

extension ProgramTests {
    /// The short form of `make diagnosis`, as `make test` runs it.
    @Suite(.serialized) struct ShortFormTests {
        @Test(.timeLimit(.minutes(5))) func `every scenario gives one verdict`() throws {
            let verdicts = try ShortRun.verdicts.get()
            #expect(verdicts.map(\.scenario).sorted() == Corpus.scenarios.map(\.name).sorted())
            // What a machine does not permit is skipped, and what it is too busy for; the greater part of the corpus only waits.
            #expect(verdicts.count { !$0.isSkipped } >= Corpus.scenarios.count / 2)
        }

        /// Otherwise the scenario is not what it says it is.
        @Test(.timeLimit(.minutes(5))) func `every scenario stalls for as long as it says`() throws {
            for verdict in try ShortRun.verdicts.get() where !verdict.isSkipped {
                let record = try #require(verdict.record, "\(verdict.text)")
                #expect(record.durationMs >= 300, "\(verdict.text)")
                guard let truth = verdict.truth else { continue }
                #expect(abs(record.durationMs - truth.durationMs) < truth.durationMs / 4, "\(verdict.text)")
            }
        }

        /// One look sees one of two parts; where all the time is in one function, its name must be in the stack.
        @Test(.timeLimit(.minutes(5))) func `every stack of an unmixed stall shows the culprit`() throws {
            let mixed = Set(Corpus.mixed.map(\.name))
            for verdict in try ShortRun.verdicts.get() where !verdict.isSkipped && !mixed.contains(verdict.scenario) {
                // No look at a thread that is hardly ever scheduled has to succeed.
                if verdict.record?.capture == "none", verdict.scenario == "starved" { continue }
                #expect(verdict.stackHoldsCulprit, "\(verdict.text)")
            }
        }

        @Test(.timeLimit(.minutes(5))) func `every cause and every culprit is named`() throws {
            for verdict in try ShortRun.verdicts.get() where !verdict.isSkipped {
                #expect(verdict.causeOk, "\(verdict.text)")
                #expect(verdict.culpritOk, "\(verdict.text)")
            }
        }
    }
}
