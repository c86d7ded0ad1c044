internal import Foundation
import Glibc
internal import LagMonitor
internal import Testing

@testable internal import lagmond

/// unistd.h declares it only for GNU sources.
@_silgen_name("pipe2") private func makePipe(_ ends: UnsafeMutablePointer<Int32>, _ flags: Int32) -> Int32

/// The kinds of files that a settings file can be.
struct SettingsFileTests {
    /// As a shell passes `--config <(…)`.
    @Test func `a configuration pipe with a slow writer is read to its end`() throws {
        var ends: [Int32] = [-1, -1]
        // Otherwise a program that another test starts at this moment keeps the writer's end open.
        try #require(makePipe(&ends, O_CLOEXEC) == 0)
        defer { close(ends[0]) }
        let writer = ends[1]
        Thread.detachNewThread {
            for part in [#"{"duration_s":"#, " 3}"] {
                usleep(100_000)
                _ = write(writer, part, part.utf8.count)
            }
            close(writer)
        }
        let file = SettingsFile(path: "/proc/self/fd/\(ends[0])")
        #expect(file.problems.isEmpty, "\(file.problems)")
        #expect(file.values["duration_s"] != nil)
    }

    @Test func `an endless device is refused as a configuration file`() {
        #expect(
            SettingsFile(path: "/dev/zero").problems.map(\.description) == [
                "/dev/zero: cannot be read: it has more than 4 MiB; allowed: a readable file with a JSON object"
            ]
        )
    }
}
