internal import CLagBeacon
internal import CLagRemote
internal import Foundation
internal import Testing

@Suite("What the preloaded library leaves unchanged")
struct PassingThroughTests {
    @Test func `results, errno and interruptions are those of the original call`() throws {
        let probe = try WatchedProbe("results")
        try probe.word("looped")
        #expect(!probe.table.loops.isEmpty)
        try probe.expectEnd()
    }

    @Test func `a program that waits before any constructor runs is watched and continues`() throws {
        let probe = try WatchedProbe("early")
        let word = try probe.word("looped")
        #expect(probe.table.live.map(\.tid) == [word.tid])
        try probe.expectEnd()
    }

    @Test func `a program that closes all descriptors is still watched`() throws {
        let probe = try WatchedProbe("closes")
        let word = try probe.word("looped")
        #expect(probe.table.live.map(\.tid) == [word.tid])
        try probe.expectEnd()
    }

    enum Foreign: String, CaseIterable {
        case version, magic, slots, missing, notNumbers, device, pipe
    }

    @Test(arguments: Foreign.allCases)
    func `an invalid loop table is ignored silently`(what: Foreign) throws {
        var path: String?
        switch what {
        case .missing: path = "/proc/\(getpid())/fd/9999"
        case .notNumbers: path = "/tmp/page"
        case .device: path = "/proc/\(getpid())/fd/\(try #require(FileHandle(forReadingAtPath: "/dev/null")).fileDescriptor)"
        case .pipe: path = "/proc/self/fd/1"
        case .version, .magic, .slots: break
        }
        let probe = try WatchedProbe("loop", path: path) { table in
            switch what {
            case .version: table.raw.pointee.version += 1
            case .magic: table.raw.pointee.magic.0 = 0
            case .slots: table.raw.pointee.slot_count += 1
            case .missing, .notNumbers, .device, .pipe: break
            }
        }
        try probe.word("looped")
        #expect(probe.table.loops.isEmpty)
        try probe.expectEnd()
    }

    @Test func `another preloaded library stays loaded`() throws {
        let probe = try WatchedProbe("loop", preload: "libm.so.6:\(WatchedProbe.library)")
        let word = try probe.word("looped")
        let maps = try String(contentsOfFile: "/proc/\(word.pid)/maps", encoding: .utf8)
        #expect(maps.contains("/libm.so.6") && maps.contains("/liblagmonitor-preload.so"))
        #expect(probe.table.live.count == 1)
        try probe.expectEnd()
    }

    /// Only libc: whatever the library depends on is loaded into every program below lagmond.
    @Test func `the preloaded library needs only libc`() throws {
        let file = try Data(contentsOf: URL(fileURLWithPath: WatchedProbe.library))
        for name in ["libswiftCore", "libstdc++", "libdispatch", "libunwind"] {
            #expect(file.range(of: Data(name.utf8)) == nil, "\(name)")
        }
        #expect(file.range(of: Data("libc.so.6".utf8)) != nil)
    }
}
