internal import CLagLinux
internal import Glibc
internal import LagCapture
internal import TestSupport
internal import Testing

@testable internal import LagRemote

/// Readers of Go's, Ruby's and PHP's structures in memory with arbitrary pointers: they return soon, with or without a result.
struct HostileLanguageTests {
    private let memory = RemoteMemory(process: getpid())

    @Test(arguments: 0..<40 as Range<UInt64>) func `a random Go function table does no harm`(seed: UInt64) {
        let wild = WildMemory(seed: seed)
        for number in 0..<40 {
            let data = wild.anyAddress
            let start = wild.anyAddress
            let (place, header) = (Int(data - wild.address(0)), Int(start - wild.address(0)))
            guard place + 400 <= WildMemory.bytes, header + 128 <= WildMemory.bytes, abs(place - header) > 512 else { continue }
            // All fields that are checked are valid, the others are not.
            let text = wild.anyAddress
            wild.store(0x0801_0000_ffff_fff0 | UInt64(number % 2), at: header)
            wild.store(UInt64(number), at: header + 8)
            wild.store(text, at: header + 24)
            wild.store(96, at: header + 32)
            for offset in [40, 48, 56, 64] { wild.store(wild.anyAddress &- start, at: header + offset) }
            wild.store(start, at: place)
            wild.store(start + 96, at: place + 8)
            wild.store(text, at: place + 176)
            for offset in [296, 304, 312, 320] { wild.store(text + UInt64(offset), at: place + offset) }
            guard let table = GoFunctionTable(memory, moduleData: data) else { continue }
            for offset: UInt64 in [0, 1, 100, 1 << 20, .max] {
                guard let function = table.function(at: text &+ offset) else { continue }
                _ = table.levels(function, at: text &+ offset)
                _ = table.frameBytes(function, at: text &+ offset)
                _ = table.name(function)
            }
        }
    }

    @Test(arguments: 0..<40 as Range<UInt64>)
    func `a Go program with endless module data candidates has only a few of them tried`(
        seed: UInt64
    ) {
        let wild = WildMemory(seed: seed)
        let start = wild.address(0)
        wild.store(0x0001_0102_464c_457f, at: 0)
        wild.store(64, at: 32)
        wild.store(0x0038_0040_0000_0000, at: 48)
        wild.store(2, at: 56)
        for (index, type) in ([4, 2 << 32 | 1] as [UInt64]).enumerated() {
            let entry = 64 + index * 56
            wild.store(type, at: entry)
            wild.store(1024, at: entry + 16)
            wild.store(index == 0 ? 64 : .max, at: entry + 32)
        }
        wild.store(4 << 32 | 4, at: 1024)
        wild.store(0x6f47 << 32 | 4, at: 1032)
        var tried = 0
        GoImage(memory, start: start, bias: start)?.forEachModuleData { _ in
            tried += 1
            return true
        }
        #expect(tried <= 256)
    }

    @Test(arguments: 0..<40 as Range<UInt64>)
    func `in random memory, a running goroutine is accepted only if the thread is on its stack`(seed: UInt64) throws {
        let wild = WildMemory(seed: seed)
        let copy = try #require(MemoryCopy(process: getpid()))
        for _ in 0..<50 {
            let (stack, place) = (wild.anyAddress & ~7, wild.anyAddress & ~7)
            let (first, offset) = (Int(stack - wild.address(0)), Int(place - wild.address(0)))
            guard max(first + 16, offset + 80) <= WildMemory.bytes else { continue }
            // It claims to be a goroutine.
            wild.store(place, at: offset + 72)
            wild.store(place, at: first)
            let thread = RuntimeThread(tid: 1, innerTid: 1, place: 0, registers: RuntimeRegisters(stackPointer: stack))
            copy.open(nil, within: 2_000_000)
            copy.prefetch(stack, 4096)
            Goroutine.copyReferred(by: thread, copy)
            copy.close(nil)
            let (running, parked) = (Goroutine.running(thread, copy), Goroutine.parked(thread, copy))
            #expect(running == nil || running?.owns(stack) == true)
            #expect(parked == nil || parked?.owns(stack) == false && parked?.canGoOn == true)
            _ = running?.number(copy)
            _ = parked?.number(copy)
        }
    }

    @Test func `a goroutine must contain its own address and a position on its stack to resume`() throws {
        let wild = WildMemory(seed: 1)
        let copy = try #require(MemoryCopy(process: getpid()))
        func goroutine(itself: UInt64, stackPointer: UInt64) -> Goroutine? {
            for (offset, value) in [(0, 4096), (8, 8192), (56, stackPointer), (64, 77), (72, itself)] {
                wild.store(value, at: offset)
            }
            copy.open(nil, within: 2_000_000)
            defer { copy.close(nil) }
            return Goroutine(copy, at: wild.address(0))
        }
        let found = try #require(goroutine(itself: wild.address(0), stackPointer: 8000))
        #expect(found.programCounter == 77 && found.stackPointer == 8000 && found.owns(4096) && !found.owns(8192))
        // A running goroutine.
        #expect(goroutine(itself: wild.address(0), stackPointer: 8192)?.canGoOn == false)
        #expect(goroutine(itself: wild.address(0), stackPointer: 0)?.canGoOn == false && found.canGoOn)
        #expect(goroutine(itself: wild.address(8), stackPointer: 8000) == nil)
    }

    /// The data that a cgo call keeps on the thread's own stack, and the data in the goroutine.
    @Test func `a cgo call is accepted only if its goroutine is consistent with it`() throws {
        let wild = WildMemory(seed: 1)
        let copy = try #require(MemoryCopy(process: getpid()))
        let (stack, goroutine) = (wild.address(0), wild.address(4096))
        func found(depth: UInt64, low: UInt64 = 1 << 20, isItself: Bool = true, stackPointer: UInt64 = (1 << 20) + 4000)
            -> Goroutine?
        {
            for offset in stride(from: 0, to: 64, by: 8) { wild.store(0, at: offset) }
            wild.store(depth, at: 40)
            wild.store(goroutine, at: 48)
            let words = [(0, low), (8, low + 8192), (56, stackPointer), (64, 77), (72, isItself ? goroutine : 0)]
            for (offset, value) in words { wild.store(value, at: 4096 + offset) }
            copy.open(nil, within: 2_000_000)
            defer { copy.close(nil) }
            return CallOfC.goroutine(at: stack, copy)
        }
        #expect(found(depth: 4192)?.address == goroutine)
        // A leftover of another call; not a goroutine; a goroutine on its own stack, or outside of it.
        #expect(found(depth: 4184) == nil && found(depth: 0) == nil && found(depth: 4192, isItself: false) == nil)
        #expect(found(depth: 4192, low: stack & ~4095, stackPointer: (stack & ~4095) + 4000) == nil)
        #expect(found(depth: 8192 + 8, stackPointer: (1 << 20) - 8) == nil)
    }

    @Test(arguments: 0..<40 as Range<UInt64>) func `a random cgo call yields a consistent goroutine or none`(seed: UInt64) throws
    {
        let wild = WildMemory(seed: seed)
        let copy = try #require(MemoryCopy(process: getpid()))
        var bytes = (0..<4096).map { wild.start.load(fromByteOffset: $0 * 8, as: UInt64.self) }
        let length = bytes.count * 8
        try bytes.withUnsafeMutableBytes { stack in
            var snapshot = cll_snapshot()
            snapshot.stack = stack.baseAddress?.assumingMemoryBound(to: UInt8.self)
            (snapshot.stack_length, snapshot.capacity) = (UInt64(length), UInt64(length))
            for _ in 0..<50 {
                snapshot.stack_begin = wild.anyAddress
                let stackPointer = snapshot.stack_begin &+ wild.anyAddress % 512
                let thread = RuntimeThread(tid: 1, innerTid: 1, place: 0, registers: RuntimeRegisters(stackPointer: stackPointer))
                try withUnsafePointer(to: snapshot) { snapshot in
                    copy.open(snapshot, within: 2_000_000)
                    defer { copy.close(nil) }
                    // All of the memory counts as code.
                    let code = wild.address(0)..<wild.address(WildMemory.bytes)
                    let found = CallOfC.goroutine(of: thread, code: code, copy)
                    try #require(found == nil || found?.canGoOn == true && found?.owns(stackPointer) == false)
                    _ = CallOfC.goroutine(at: stackPointer, copy)
                }
            }
        }
    }

    @Test(arguments: 0..<40 as Range<UInt64>) func `reading random Ruby frames terminates`(seed: UInt64) throws {
        let wild = WildMemory(seed: seed)
        let layout = RubyLayout.known[0]
        let copy = try #require(MemoryCopy(process: getpid()))
        for number in 0..<50 {
            let context = wild.anyAddress
            let offset = Int(context - wild.address(0))
            guard offset + 64 <= WildMemory.bytes else { continue }
            // A stack whose frames are in the random memory.
            let words = UInt64(number) * 500
            wild.store(wild.address(0), at: offset)
            wild.store(words, at: offset + 8)
            wild.store(wild.address(0) &+ words &* 8 &- 64 &* UInt64(1 + number * 7), at: offset + 16)
            copy.open(nil, within: 2_000_000)
            RubyStack(memory: copy, layout: layout).copy(of: context)
            copy.close(nil)
            let groups = RubyStack(memory: copy, layout: layout).groups(of: context).calls
            #expect(groups.joined().count <= 1024)
            for frame in groups.joined() {
                let sequence = RubySequence(layout, at: frame.function) { memory.bytes($0, $1) }
                _ = sequence?.position(of: frame.counter)
            }
        }
    }

    @Test(arguments: 0..<40 as Range<UInt64>) func `random Ruby instruction sequences do no harm`(seed: UInt64) {
        let wild = WildMemory(seed: seed)
        let layout = RubyLayout.known[0]
        for _ in 0..<100 {
            let (place, body) = (wild.anyAddress, wild.anyAddress)
            let offset = Int(place - wild.address(0))
            guard offset + 64 <= WildMemory.bytes else { continue }
            wild.store(0x701a, at: offset)
            wild.store(body, at: offset + 16)
            guard let sequence = RubySequence(layout, at: place, read: { memory.bytes($0, $1) }) else { continue }
            _ = sequence.label()
            _ = sequence.file(at: 0)
            for position: UInt64 in [0, 53, 54, 1000, .max] { _ = sequence.line(at: position) }
            _ = sequence.check(at: 0)
        }
    }

    @Test(arguments: 0..<40 as Range<UInt64>) func `reading random PHP frames terminates`(seed: UInt64) throws {
        let wild = WildMemory(seed: seed)
        let layout = PHPLayout.known[0]
        let copy = try #require(MemoryCopy(process: getpid()))
        for _ in 0..<50 {
            let (globals, place, next, function) = (wild.anyAddress, wild.anyAddress, wild.anyAddress, wild.anyAddress)
            let (first, frame, code) = (
                Int(globals - wild.address(0)), Int(place - wild.address(0)), Int(function - wild.address(0))
            )
            guard max(first + 500, frame + 64, code + 168) <= WildMemory.bytes else { continue }
            wild.store(place, at: first + 488)
            wild.store(function, at: frame + 24)
            wild.store(next, at: frame + 48)
            wild.store(2, at: code)
            copy.open(nil, within: 2_000_000)
            PHPStack(memory: copy, layout: layout, globals: globals).copy()
            copy.close(nil)
            let groups = PHPStack(memory: copy, layout: layout, globals: globals).groups()
            #expect(groups.joined().count <= 1024 + 64)
            for frame in groups.joined() {
                guard let found = PHPFunction(layout, at: frame.function, read: { memory.bytes($0, $1) }) else { continue }
                _ = (found.label(), found.file(at: 0), found.check(at: 0))
                for position: UInt64 in [found.position(of: frame.counter) ?? 0, 1, .max] { _ = found.line(at: position) }
            }
        }
    }

    /// The instruction of the innermost function, by its frame and by the registers.
    @Test func `the registers give the innermost PHP instruction if they are consistent with its frame`() throws {
        let wild = WildMemory(seed: 1)
        let layout = PHPLayout.known[0]
        let copy = try #require(MemoryCopy(process: getpid()))
        let (frame, function, code) = (wild.address(4096), wild.address(8192), wild.address(16384))
        for offset in stride(from: 8192, to: 8192 + 160, by: 8) { wild.store(0, at: offset) }
        wild.store(UInt64(PHPFunction.user), at: 8192)
        wild.store(4, at: 8192 + Int(layout.functionCount))
        wild.store(code, at: 8192 + Int(layout.functionCode))
        wild.store(wild.address(0), at: 8192 + Int(layout.functionFile))
        wild.store(frame, at: Int(layout.currentFrame))
        for (offset, value) in [(24, function), (40, 1 << 17), (48, 0)] { wild.store(value, at: 4096 + offset) }
        func counter(written: UInt64, r14: UInt64? = nil, r15: UInt64? = nil) -> UInt64? {
            wild.store(written, at: 4096)
            copy.open(nil, within: 2_000_000)
            defer { copy.close(nil) }
            let registers = RuntimeRegisters(r14: r14, r15: r15)
            return PHPStack(memory: copy, layout: layout, globals: wild.address(0), registers: registers).groups().first?.first?
                .counter
        }
        #expect(counter(written: code &+ 32, r14: frame, r15: code &+ 96) == code &+ 96)
        // Registers of another frame; not one of its instructions; a sleeping thread.
        #expect(counter(written: code &+ 32, r14: frame &+ 8, r15: code &+ 96) == code &+ 32)
        for none in [code &+ 128, code &+ 33, 0] { #expect(counter(written: code &+ 32, r14: frame, r15: none) == code &+ 32) }
        #expect(counter(written: code &+ 32) == code &+ 32)
        // A leftover of another function: the function is known, its line is not.
        #expect(counter(written: code &- 32) == 0 && counter(written: function &+ 8, r14: frame, r15: function) == 0)
        let found = PHPFunction(layout, at: function) { memory.bytes($0, $1) }
        #expect(found?.position(of: 0) == .max && found?.line(at: .max) == nil)
    }

    /// A function with instructions in 100..<108.
    private struct Function: InterpretedFunction {
        func check(at _: UInt64) -> UInt64 { 1 }
        func position(of counter: UInt64) -> UInt64? { (100..<108).contains(counter) ? counter - 100 : nil }
        func label() -> String? { "f" }
        func file(at _: UInt64) -> String? { nil }
        func line(at _: UInt64) -> Int? { nil }
        func variant() -> String? { nil }
    }

    @Test func `a call with an invalid position in its function keeps its frame but has no name`() {
        let calls = [(1, 104), (1, 400), (2, 104), (1, 101)].map { InterpretedCall(function: $0.0, counter: $0.1) }
        let frames = [calls].frames { $0 == 1 ? Function() : nil }[0]
        #expect(frames.map(\.pc) == [104, 400, 104, 101])
        let names = frames.map {
            $0.name(in: "x") {
                Function()
            } isLibrary: { _, _ in
                nil
            }
        }
        #expect(names.map { $0?.function } == ["f", nil, nil, "f"])
    }
}
