import Foundation
internal import LagActivity
import Testing

@testable import LagRunLoop

/// The part of a thread's name that the kernel stores.
struct NamesTests {
    /// One character of forty-one bytes.
    private static let family = "\u{1F469}\u{200D}\u{1F469}\u{200D}\u{1F467}\u{200D}\u{1F466}\u{1F3FD}\u{1F3FD}\u{1F3FD}\u{1F3FD}"

    @Test(arguments: [
        ("worker", "worker"),
        ("exactly fifteen", "exactly fifteen"),
        ("exactly sixteen!", "exactly sixteen"),
        // Two bytes per character: the eighth does not fit.
        ("äöüäöüäöü", "äöüäöüä"),
        // A letter with two combining marks is one character of five bytes.
        ("0123456789abe\u{301}\u{302}", "0123456789ab"),
        // The first character alone is longer: it is cut into whole code points.
        (family, "\u{1F469}\u{200D}\u{1F469}\u{200D}"),
        ("\u{1F3F4}\u{E0067}\u{E0062}\u{E0065}\u{E006E}\u{E0067}\u{E007F}", "\u{1F3F4}\u{E0067}\u{E0062}"),
        ("", ""),
    ])
    func `a name is cut between characters, and never to nothing`(_ name: String, _ kept: String) {
        #expect(SystemThread.kernelName(name) == kept)
        #expect(SystemThread.kernelName(name).utf8.count <= 15)
    }

    @Test func `the kernel stores the shortened name`() throws {
        let thread = try KeepAliveThread(name: Self.family)
        let name = try thread.performAndWait {
            try String(contentsOfFile: "/proc/thread-self/comm", encoding: .utf8).trimmingCharacters(in: .newlines)
        }
        #expect(name == "\u{1F469}\u{200D}\u{1F469}\u{200D}")
        #expect(thread.name == Self.family)
        thread.stop()
        thread.join()
    }
}
