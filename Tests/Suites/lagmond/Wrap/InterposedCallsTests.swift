internal import Foundation
internal import TestSupport
internal import Testing

/// Calls that the preloaded library interposes, in programs that it must not disturb.
@Suite("Interposed calls")
struct InterposedCallsTests {
    private static let ways = ["prctl", "syscall"]

    /// The probe returns 1 or 2 if the kernel refuses its filter. The test checks all other results.
    private static let areFiltersAllowed = ways.allSatisfy { way in
        guard let run = try? ProbeRun([ProbeRun.probe, "sandbox", "never", way]) else { return true }
        return run.status != 1 && run.status != 2
    }

    @Test(.enabled(if: areFiltersAllowed, "the machine allows no filter"))
    func `the preloaded library does not break a program with its own seccomp filter`() async throws {
        try await atOnce(Self.ways.flatMap { [("early", $0), ("late", $0)] }) { try Self.expectFilter(when: $0, how: $1) }
    }

    private static func expectFilter(when: String, how: String) throws {
        let command = [ProbeRun.probe, "sandbox", when, how]
        try #require(ProbeRun(command).text == "done\n", "the probe fails by itself")
        let run = try ProbeRun([ProbeRun.lagmond, "run", "--output", "/dev/null", "--"] + command)
        #expect(run.status == 0 && run.signal == 0 && run.text == "done\n", "\(run.errors)")
        #expect(run.errors.contains("watched loops: \(when == "late" ? 1 : 0)\n"), "\(run.errors)")
    }

    private static let rings: [String] = [
        "/usr/lib/x86_64-linux-gnu/liburing.so.2", "/usr/lib/aarch64-linux-gnu/liburing.so.2", "/usr/lib64/liburing.so.2",
    ]
    private static let ring = rings.first { access($0, R_OK) == 0 }

    @Test(.enabled(if: ring != nil, "needs liburing")) func `an interposed call reaches the library that a plugin loads`() throws
    {
        let library: String = try #require(Self.ring)
        let run = try ProbeRun(ProbeRun.wrapper + [ProbeRun.probe, "plugin", library])
        let results = run.text.split(whereSeparator: \.isWhitespace)
        // The probe returns 3 if the call is not interposed: an older library lacks it.
        if run.status == 3, run.signal == 0 { return }
        #expect(run.status == 0 && run.signal == 0, "\(run.errors)")
        #expect(results.count == 2 && results.first == results.last, "\(run.text)")
    }
}
