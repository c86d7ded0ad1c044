internal import Glibc
internal import LagCapture
internal import TestSupport
internal import Testing

@testable internal import LagRemote

/// A block of this process's memory in which each word is a pointer into the block or another value.
final class WildMemory {
    static let bytes = 1 << 18
    let start: UnsafeMutableRawPointer
    private var random: SeededGenerator

    init(seed: UInt64) {
        random = SeededGenerator(seed: seed)
        start = .allocate(byteCount: Self.bytes, alignment: 4096)
        for offset in stride(from: 0, to: Self.bytes, by: 8) {
            let word: UInt64 =
                switch random.next() % 8 {
                case 0...3: address(Int(random.next() % UInt64(Self.bytes / 8)) * 8)
                case 4: random.next()
                case 5: UInt64(random.next() % 64)
                case 6: .max - random.next() % 64
                default: 0
                }
            start.storeBytes(of: word, toByteOffset: offset, as: UInt64.self)
        }
    }

    deinit { start.deallocate() }

    func address(_ offset: Int) -> UInt64 { UInt64(UInt(bitPattern: start)) &+ UInt64(offset) }
    func store(_ word: UInt64, at offset: Int) { start.storeBytes(of: word, toByteOffset: offset, as: UInt64.self) }
    var anyAddress: UInt64 { address(Int(random.next() % UInt64(Self.bytes / 8)) * 8) }
}

/// Readers of memory with arbitrary pointers: they return soon, with or without a result.
struct HostileRuntimeTests {
    private static let layouts: [PythonLayout] = [.version3x11, .version3x12]
    private let memory = RemoteMemory(process: getpid())

    @Test(arguments: 0..<40 as Range<UInt64>) func `reading Python frames in random memory terminates`(seed: UInt64) throws {
        let wild = WildMemory(seed: seed)
        let copy = try #require(MemoryCopy(process: getpid()))
        let clock = ContinuousClock()
        for layout in Self.layouts {
            for _ in 0..<50 {
                let state = wild.anyAddress
                let offset = Int(state - wild.address(0)) + Int(layout.nativeThread)
                if offset + 8 <= WildMemory.bytes { wild.store(77, at: offset) }
                copy.open(nil, within: 2_000_000)
                let begun = clock.now
                let groups = PythonFrameWalk(copy, layout).groups(of: state, tid: 77)
                #expect(clock.now - begun < .seconds(2))
                copy.close(nil)
                _ = PythonCollector(copy, layout, runtime: wild.anyAddress).isAtWork(in: state, tid: 77)
                #expect(groups.reduce(0) { $0 + $1.frames.count } <= 2 * 4096)
                // Only copied memory is read afterwards, and it gives no more frames.
                #expect(PythonFrameWalk(copy, layout).groups(of: state, tid: 77).count <= groups.count)
            }
        }
    }

    @Test(arguments: 0..<40 as Range<UInt64>) func `reading Python objects in random memory does no harm`(seed: UInt64) {
        let wild = WildMemory(seed: seed)
        for layout in Self.layouts {
            for _ in 0..<100 {
                let place = wild.anyAddress
                let type = wild.anyAddress
                let offset = Int(place - wild.address(0)) + 8
                if offset + 8 <= WildMemory.bytes { wild.store(type, at: offset) }
                let code = PythonCode(memory, layout, type: type, at: place)
                _ = code?.index(of: wild.anyAddress)
                _ = code?.isIncomplete(at: 3, owner: 0)
                let text = PythonText(memory: memory, layout: layout)
                _ = text.string(place, limit: PythonText.maximumNameCharacters)
                _ = text.bytes(place)
                let names = PythonNames(memory, layout, type: type)
                _ = names.name(LanguageFrame(code: place, check: code?.check ?? 0, position: .max, pc: 0))
            }
        }
    }

    @Test(arguments: 0..<40 as Range<UInt64>) func `the lock of an interpreter in random memory has a verified holder or none`(
        seed: UInt64
    ) {
        let wild = WildMemory(seed: seed)
        for layout in Self.layouts {
            for _ in 0..<20 {
                let runtime = wild.address(0)
                let threads = PythonThreads(memory, layout, runtime: runtime)
                let lock = PythonLock(memory, layout, runtime: runtime, threads)
                // The fields that are checked first are valid: the lock, and that it is locked.
                let (place, state) = (wild.address(4096 * 16), wild.anyAddress)
                guard Int(state - wild.address(0)) + 4096 <= WildMemory.bytes else { continue }
                var fixed = place
                if case .ofRuntime(let offset) = layout.lock { fixed = runtime &+ offset }
                if case .ofInterpreter(let offset) = layout.lock {
                    wild.store(wild.address(4096), at: Int(layout.firstInterpreter))
                    wild.store(place, at: 4096 + Int(offset))
                }
                wild.store(state, at: Int(fixed - wild.address(0)) + Int(PythonLock.holder))
                wild.store(1, at: Int(fixed - wild.address(0)) + Int(PythonLock.locked))
                wild.store(77, at: Int(state - wild.address(0)) + Int(layout.nativeThread))
                let found = lock.lock(waitedForAt: fixed &+ 40)
                #expect(found?.address == fixed)
                #expect(found?.owner == 0 || threads.holds(state, of: 77))
                #expect(lock.lock(waitedForAt: fixed &+ 31) == nil && lock.lock(waitedForAt: fixed &+ 80) == nil)
                _ = lock.lock(waitedForAt: wild.anyAddress)
            }
        }
    }

    @Test(arguments: 0..<20 as Range<UInt64>) func `searching Python threads in random memory terminates`(seed: UInt64) {
        let wild = WildMemory(seed: seed)
        for layout in Self.layouts {
            for _ in 0..<10 { _ = PythonThreads(memory, layout, runtime: wild.anyAddress).state(of: 77) }
        }
    }

    @Test(arguments: 0..<40 as Range<UInt64>) func `a random symbol table exports no symbol`(seed: UInt64) {
        let wild = WildMemory(seed: seed)
        // A header that points to segments within the block.
        for _ in 0..<100 {
            let start = wild.anyAddress
            let offset = Int(start - wild.address(0))
            guard offset + 128 <= WildMemory.bytes else { continue }
            wild.store(0x0001_0102_464c_457f, at: offset)
            wild.store(64, at: offset + 32)
            wild.store(0x0003_0038_0040_0000, at: offset + 48)
            wild.store(2, at: offset + 64)
            #expect(DynamicSymbols(memory, start: start, bias: start)?.symbol("_PyRuntime") == nil)
        }
    }

    @Test func `unmapped addresses are not read`() throws {
        #expect(memory.bytes(0, 8) == nil && memory.bytes(.max, 8) == nil && memory.bytes(16, .max) == nil)
        #expect(memory.load(.max - 3, as: UInt64.self) == nil && memory.text(.max - 2, limit: 64) == nil)
        let copy = try #require(MemoryCopy(process: getpid()))
        copy.open(nil, within: 1_000_000_000)
        #expect(copy.load(.max - 3, as: UInt64.self) == nil && copy.bytes(8, .max) == nil && copy.bytes(8, -1) == nil)
        copy.prefetch(.max - 10, 4096)
    }

    @Test func `a copy of many places contains the readable ones`() throws {
        let wild = WildMemory(seed: 2)
        let copy = try #require(MemoryCopy(process: getpid()))
        copy.open(nil, within: 1_000_000_000)
        var places = (0..<100).map { wild.address($0 * 64) }
        for bad in [0, 7, 40, 41, 99] { places[bad] = bad % 2 == 0 ? 0 : .max - 8 }
        copy.prefetch(places, 24)
        copy.close(nil)
        for (index, place) in places.enumerated() {
            let words = copy.bytes(place, 24).map { Array($0) }
            #expect(words == ([0, 7, 40, 41, 99].contains(index) ? nil : memory.bytes(place, 24)))
        }
        copy.open(nil, within: 1_000_000_000)
        copy.prefetch((0..<3000).map { wild.address($0 * 8) }, 8)
        copy.prefetch([wild.address(0)], -1)
        copy.prefetch([wild.address(0)], .max)
        #expect(copy.holds(wild.address(8), 8) && !copy.holds(wild.address(MemoryCopy.maximumReads * 8), 8))
    }

    @Test func `a memory copy is bounded in bytes and in reads`() throws {
        let wild = WildMemory(seed: 1)
        let copy = try #require(MemoryCopy(process: getpid()))
        copy.open(nil, within: 10_000_000_000)
        for offset in 0..<MemoryCopy.maximumReads { #expect(copy.load(wild.address(offset * 8), as: UInt64.self) != nil) }
        #expect(copy.load(wild.address(MemoryCopy.maximumReads * 8), as: UInt64.self) == nil && !copy.hasSpace)
        copy.open(nil, within: 10_000_000_000)
        for _ in 0..<10 { copy.prefetch(wild.address(0), WildMemory.bytes) }
        #expect(copy.load(wild.address(8), as: UInt64.self) != nil)
    }

    @Test func `frame numbers are bounded and not reused for other frames`() throws {
        let runtime = PerfMapRuntime(file: PerfMapFile(path: "/nonexistent", process: getpid()))
        var table = LanguageFrameTable()
        let first = table.number(LanguageFrame(code: 1, pc: 1), of: runtime)
        let again = table.number(LanguageFrame(code: 1, pc: 1), of: runtime)
        #expect(again == first)
        for code in 2...UInt64(LanguageFrameTable.capacity * 3) {
            _ = table.number(LanguageFrame(code: code, pc: 1), of: runtime)
        }
        #expect(table[first] == nil)
        let other = table.number(LanguageFrame(code: 1, pc: 1), of: runtime)
        let unresolved = table.takeUnresolved().count
        #expect(other != first && unresolved <= LanguageFrameTable.capacity)
    }

    /// A collector that moves objects (V8's) may be running when a name is looked up.
    @Test func `a name that cannot be read is looked up again a few times when its frame recurs`() throws {
        let runtime = PerfMapRuntime(file: PerfMapFile(path: "/nonexistent", process: getpid()))
        var table = LanguageFrameTable()
        func comesAgain(_ code: UInt64) -> UInt32 { table.number(LanguageFrame(code: code, pc: 1), of: runtime) }
        let (named, nameless) = (comesAgain(1), comesAgain(2))
        #expect(table.takeUnresolved().map(\.0) == [named, nameless])
        // Also during the lookup.
        #expect(comesAgain(2) == nameless && comesAgain(2) == nameless)
        table.setName(LanguageFrameName(language: "perf", function: "checkout", file: nil, line: nil, isLibrary: nil), of: named)
        #expect(comesAgain(1) == named)
        #expect(table.takeUnresolved().map(\.0) == [nameless])
        table.setName(nil, of: nameless)
        let names = LanguageFrameTable.maximumAttempts * 2
        #expect(
            (0..<names).count { _ in comesAgain(2) == nameless && !table.takeUnresolved().isEmpty } == LanguageFrameTable
                .maximumAttempts - 2
        )
        #expect(table[named]?.name?.function == "checkout")
    }
}
