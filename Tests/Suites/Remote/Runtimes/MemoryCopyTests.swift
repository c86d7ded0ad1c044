internal import CLagLinux
internal import Foundation
internal import Glibc
internal import LagCapture
internal import TestSupport
internal import Testing

@testable internal import LagRemote

struct MemoryCopyTests {
    @Test func `the first reads are performed even after the deadline`() throws {
        let words = [UInt64](0..<64)
        try words.withUnsafeBufferPointer { words in
            let start = UInt64(UInt(bitPattern: words.baseAddress))
            let copy = try #require(MemoryCopy(process: getpid()))
            copy.open(nil, within: 0)
            let read = (0..<64).prefix { copy.load(start + UInt64($0) * 8) == UInt64($0) }.count
            #expect(read == MemoryCopy.leastReads && !copy.hasSpace && !copy.mayLookOn)
            // Also by one call for many places.
            copy.open(nil, within: 0)
            let places = (0..<64).map { start + UInt64($0) * 8 }
            copy.prefetch(places, 8)
            #expect(places.prefix { copy.holds($0, 8) }.count == MemoryCopy.leastReads)
            // Unreadable places cost one read each, not a batch; the null pointer costs none.
            copy.open(nil, within: 0)
            copy.prefetch([0, 8, 0, 16] + places, 8)
            #expect(places.prefix { copy.holds($0, 8) }.count >= MemoryCopy.leastReads - 2)
            copy.close(nil)
        }
    }

    private static func ready(_ process: Int32, _ places: UnsafePointer<UInt64>?, _ size: Int, _ count: Int) -> Int {
        var missing: UInt64 = 0
        return cll_memory_ready_pieces(process, places, size, count, &missing)
    }

    /// Some sandboxes forbid `move_pages`.
    static let showsPages = {
        guard let page = cll_memory_map(4096) else { return false }
        defer { cll_memory_unmap(page, 4096) }
        var address = UInt64(UInt(bitPattern: page))
        return ready(getpid(), &address, 8, 1) == 0
    }()

    /// A page that is not there may be provided by the thread that is stopped meanwhile. A read would make it present.
    @Test(.enabled(if: MemoryCopyTests.showsPages)) func `pages that are not in memory are neither read nor waited for`() throws {
        let page = 4096
        let memory = try #require(cll_memory_map(12 * page))
        defer { cll_memory_unmap(memory, 12 * page) }
        for index in [0, 1, 2, 4, 6] { memset(memory + index * page, Int32(index + 1), page) }
        let start = UInt64(UInt(bitPattern: memory))
        func place(_ index: Int, _ offset: Int = 0) -> UInt64 { start + UInt64(index * page + offset) }
        var missing = place(3)
        let copy = try #require(MemoryCopy(process: getpid()))
        copy.open(nil, within: 1_000_000_000)
        #expect(copy.load(place(3), as: UInt8.self) == nil && copy.load(place(4), as: UInt8.self) == 5)
        // Across the end of a page.
        #expect(copy.bytes(place(2, page - 4), 8) == nil && copy.bytes(place(1, page - 4), 8) != nil)
        // A long piece has a gap there, or begins after it; a whole one is absent.
        copy.prefetch(place(0, 100), 10 * page)
        #expect(copy.holds(place(0, 100), 3 * page - 100) && !copy.holds(place(2, page - 8), 9) && copy.holds(place(6), page))
        copy.open(nil, within: 1_000_000_000)
        copy.prefetch(place(2, page - 16), 32)
        #expect(copy.holds(place(2, page - 16), 16))
        copy.prefetch(place(3, 100), page + 200)
        #expect(copy.holds(place(4), 300) && !copy.holds(place(3, page - 1), 1) && !copy.holds(place(4), 301))
        #expect(copy.bytes(place(2), 2 * page) == nil)
        // Others of many places are read.
        copy.open(nil, within: 1_000_000_000)
        let places = (0..<12).map { place($0, 64) }
        copy.prefetch(places, 32)
        #expect(places.indices.filter { copy.holds(places[$0], 32) } == [0, 1, 2, 4, 6])
        copy.close(nil)
        #expect(Self.ready(getpid(), &missing, 8, 1) == 0)
        #expect(cll_memory_ready_bytes(getpid(), place(1, 100), 2 * page) == 2 * page - 100)
        #expect(cll_memory_ready_bytes(getpid(), place(1, 100), 2 * page - 100) == 2 * page - 100)
        #expect(cll_memory_ready_bytes(getpid(), missing, 1) == 0)
    }

    /// Of more pages than one system call takes.
    @Test(.enabled(if: MemoryCopyTests.showsPages)) func `a long range is ready up to its first gap`() throws {
        let (page, gap) = (4096, 70)
        let memory = try #require(cll_memory_map(80 * page))
        defer { cll_memory_unmap(memory, 80 * page) }
        for index in 0..<80 where index != gap { memset(memory + index * page, 1, page) }
        let start = UInt64(UInt(bitPattern: memory))
        #expect(cll_memory_ready_bytes(getpid(), start + 8, 79 * page) == gap * page - 8)
        #expect(cll_memory_ready_bytes(getpid(), start + 8, 64 * page) == 64 * page)
    }

    /// The process's own number then gives no access to its memory.
    @Test(.enabled(if: MemoryCopyTests.showsPages)) func `a process without its main thread shows its pages`() throws {
        let process = Process()
        process.executableURL = WatchedProbe.folder.appendingPathComponent("ForeignProbe")
        (process.arguments, process.standardOutput) = (["epoll", "alone"], FileHandle.nullDevice)
        try process.run()
        let pid = process.processIdentifier
        defer {
            kill(pid, SIGKILL)
            process.waitUntilExit()
        }
        // A zombie's number has no page tables.
        let hasEnded = try eventually {
            try String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8).contains(") Z ") && cll_living_thread(pid) != 0
        }
        try #require(hasEnded)
        let maps = try String(contentsOfFile: "/proc/\(pid)/task/\(cll_living_thread(pid))/maps", encoding: .utf8)
        let mappings = maps.split(separator: "\n").map { $0.split(separator: " ") }
        func range(_ mapping: [Substring]) -> Range<UInt64>? {
            let ends = mapping.first?.split(separator: "-").compactMap { UInt64($0, radix: 16) } ?? []
            return ends.count == 2 && ends[0] < ends[1] ? ends[0]..<ends[1] : nil
        }
        // The worker's stack, which is used from its other end, and the program's first page, which the loader has read.
        let unnamed = mappings.filter { $0.count == 5 && $0[1] == "rw-p" }.compactMap(range)
        var untouched = try #require(unnamed.max { $0.count < $1.count }).lowerBound
        let header = try #require(mappings.first.flatMap(range)).lowerBound
        #expect(Self.ready(pid, &untouched, 8, 1) == 0)
        let copy = try #require(MemoryCopy(process: pid))
        copy.open(nil, within: 1_000_000_000)
        #expect(copy.load(header, as: UInt32.self) == 0x464c_457f && copy.load(untouched, as: UInt64.self) == nil)
        copy.close(nil)
        #expect(cll_memory_ready_bytes(pid, untouched, 8) == 0)
    }

    @Test func `places that are not mapped, or at the end of the address space, need no wait`() {
        let places: [UInt64] = [0, 8, .max, .max - 3, 1 << 63]
        places.withUnsafeBufferPointer { places in
            // No bytes are less than one, not all that follow.
            for size in [0, 64] {
                #expect(Self.ready(getpid(), places.baseAddress, size, places.count) == places.count)
            }
        }
        #expect(
            places.allSatisfy { cll_memory_ready_bytes(getpid(), $0, 64) == 64 && cll_memory_ready_bytes(getpid(), $0, 0) == 0 }
        )
    }
}
