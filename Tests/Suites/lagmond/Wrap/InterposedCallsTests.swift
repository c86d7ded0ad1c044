internal import Foundation
internal import TestSupport
internal import Testing

/// What the preloaded library stands before, in programs that it must not disturb.
@Suite("Interposed calls")
struct InterposedCallsTests {
    private static let ways = ["prctl", "syscall"]

    /// The probe returns 1 or 2 where the kernel refuses its filter. Whatever else comes of it the test shall see.
    private static let areFiltersAllowed = ways.allSatisfy { way in
        guard let run = try? ProbeRun([ProbeRun.probe, "sandbox", "never", way]) else { return true }
        return run.status != 1 && run.status != 2
    }

    @Test(.enabled(if: areFiltersAllowed, "the machine allows no filter"), arguments: ["early", "late"], ways)
    func `a program with a filter of its own is not ended by our calls`(when: String, how: String) throws {
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

    @Test(.enabled(if: ring != nil, "needs liburing")) func `a library that a plugin brings along is called`() throws {
        let library: String = try #require(Self.ring)
        let run = try ProbeRun(ProbeRun.wrapper + [ProbeRun.probe, "plugin", library])
        let results = run.text.split(whereSeparator: \.isWhitespace)
        // The probe's status where ours does not stand before the library's: an older one lacks the call.
        if run.status == 3, run.signal == 0 { return }
        #expect(run.status == 0 && run.signal == 0, "\(run.errors)")
        #expect(results.count == 2 && results.first == results.last, "\(run.text)")
    }
}
