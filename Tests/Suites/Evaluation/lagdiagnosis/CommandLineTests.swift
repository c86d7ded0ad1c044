import Testing

@testable import lagdiagnosis

/// Tests that start the program, one at a time, because each uses the whole machine.
@Suite(.serialized) struct ProgramTests {}

extension ProgramTests {
    struct CommandLineTests {
        @Test func `an unknown scenario is refused with the known ones`() throws {
            let (status, output, errors) = try Program.run(["--only", "earthquake"])
            #expect(status == 64)
            #expect(output.isEmpty)
            #expect(errors.contains("'earthquake'") && errors.contains("own-code"), "\(errors)")
        }

        @Test(arguments: ["0", "101"]) func `a number of repetitions out of bounds is refused`(times: String) throws {
            let (status, _, errors) = try Program.run(["--repeat", times])
            #expect(status == 64)
            #expect(errors.contains("allowed is 1 to 100"), "\(errors)")
        }

        @Test func `the list option prints every scenario and runs none`() throws {
            let (status, output, _) = try Program.run(["--list"])
            #expect(status == 0)
            #expect(output.split(separator: "\n").map { String($0.prefix { $0 != ":" }) } == Corpus.scenarios.map(\.name))
        }

        @Test func `each repetition counts`() throws {
            let (status, output, _) = try Program.run(["--only", "usleep", "--repeat", "2", "--short"])
            #expect(status == 0)
            #expect(output.split(separator: "\n").last?.hasPrefix("diagnosis cause=2/2 culprit=") == true, "\(output)")
        }
    }
}
