internal import LagCapture
internal import LagModel

/// Go 1.18 and newer: the functions and lines of a program's code, and its stacks, from Go's own tables.
///
/// Go's code has no unwind tables for libunwind, and not every function keeps a frame record. But for each instruction the table
/// has the distance of the stack pointer from the return address, so from the first Go frame on, the stack is walked exactly.
final class GoRuntime: LanguageRuntime {
    private static let maximumFrames = 1024
    private static let pointerBytes: UInt64 = 8
    private static let recordBytes = 16
    /// For a stack that is not in the snapshot.
    private static let stackBytes = 32 * 1024
    private static let maximumStacks = 3
    private static let maximumRecords = 64
    private static let maximumFrameBytes: UInt64 = 1024

    let modules: Set<Int> = []
    let copiesFrames = true
    private let module: Int
    private let table: GoFunctionTable
    private let memory: RemoteMemory
    /// The folder of Go's own library; nil if paths were trimmed.
    private let library: String?

    private init(_ memory: RemoteMemory, module: Int, _ table: GoFunctionTable) {
        self.memory = memory
        self.module = module
        self.table = table
        // Go's code begins with functions of its library: `…/src/internal/cpu/cpu.go`.
        let first = table.function(at: table.text).flatMap { table.levels($0, at: table.text)?.last?.file }
        library = first.flatMap { path in
            path.hasPrefix("/") ? path.firstRange(of: "/src/").map { String(path[..<$0.upperBound]) } : nil
        }
    }

    static func recognise(_ image: ProcessImage) -> RuntimeRecognition {
        guard let program = image.modules.first,
            let found = GoImage(image.memory, start: program.start, bias: program.info.bias)
        else { return .absent }
        var table: GoFunctionTable?
        var seen: UInt64?
        found.forEachModuleData { place in
            seen = seen ?? place
            table = GoFunctionTable(image.memory, moduleData: place)
            return table == nil
        }
        guard let table else {
            let magic: UInt32? = seen.flatMap { image.memory.load($0, as: UInt64.self) }.flatMap { image.memory.load($0) }
            return .unknown("go with function table \(magic.map { String($0, radix: 16) } ?? "of another kind")")
        }
        return .found(GoRuntime(image.memory, module: program.index, table))
    }

    func prepare(tid: Int32, innerTid: Int32) -> UInt64? { 0 }

    /// The stack comes with the snapshot. The thread may have switched from another stack for code that needs much of it, such as
    /// the kernel's clock or the allocator: frame records or the waiting goroutine lead there.
    func copy(_ thread: RuntimeThread, _ memory: MemoryCopy) {
        if let goroutine = callingC(thread, memory) { return goroutine.copyStack(memory) }
        guard var record = thread.registers.framePointer else { return Goroutine.copyReferred(by: thread, memory) }
        _ = Goroutine.referred(by: thread, memory)
        var stacks = 0
        var callee: UInt64?
        for _ in 0..<Self.maximumRecords {
            if !memory.holds(record, Self.recordBytes) {
                guard stacks < Self.maximumStacks else { return }
                stacks += 1
                memory.prefetch(record, Self.stackBytes)
                // What has left the other stack may have its goroutine.
                if let callee {
                    let left = Goroutine.copyNamed(inFrameBefore: callee, from: thread.registers.stackPointer, memory)
                    Goroutine.copyBelow(record, of: left, memory)
                }
            }
            guard let next: UInt64 = memory.load(record), next != 0 else { return }
            (callee, record) = (record, next)
        }
    }

    /// A goroutine's stack, which is in the heap.
    func stackEnd(of thread: RuntimeThread, _ memory: MemoryCopy) -> UInt64? {
        Goroutine.referred(by: thread, memory).first { $0.owns(thread.registers.stackPointer) }?.stackEnd
    }

    func task(of thread: RuntimeThread, _ memory: MemoryCopy) -> LanguageTask? {
        // A goroutine that its thread has left may run on another thread by now, unless it is bound to it.
        let parked = { self.waitsWithGoroutine(thread, memory) ? Goroutine.parked(thread, memory) : nil }
        guard let goroutine = Goroutine.running(thread, memory) ?? callingC(thread, memory) ?? parked(),
            let number = goroutine.number(memory)
        else { return nil }
        return LanguageTask(address: goroutine.address, name: nil, number: number)
    }

    /// The goroutine whose C call the thread is in. A goroutine on its own stack is not in a C call.
    private func callingC(_ thread: RuntimeThread, _ memory: MemoryCopy) -> Goroutine? {
        guard Goroutine.running(thread, memory) == nil else { return nil }
        return CallOfC.goroutine(of: thread, code: table.code, memory)
    }

    private func waitsWithGoroutine(_ thread: RuntimeThread, _ memory: MemoryCopy) -> Bool {
        guard thread.registers.framePointer == nil else { return false }
        return Goroutine.innermostWords(of: thread, memory).contains { word in
            table.function(at: word &- 1).flatMap { table.levels($0, at: word &- 1)?.last?.function } == "runtime.stoplockedm"
        }
    }

    func merge(_ thread: RuntimeThread, _ memory: MemoryCopy?, _ stack: [StackEntry]) -> [StackEntry] {
        guard let memory, stack.contains(where: { isGo($0) }) else { return stack }
        var merged: [StackEntry] = []
        var place = 0
        while place < stack.count {
            guard case .native(let native) = stack[place], isGo(stack[place]), let walk = walk(from: native, memory) else {
                merged.append(stack[place])
                place += 1
                continue
            }
            merged += walk.frames.map { .language($0) }
            place += 1
            // After a stack switch, the unwinder found the start of the thread's own stack.
            if walk.hasChangedStack { break }
            // The unwinder's result for the same frames.
            while place < stack.count, walk.steps > 0, case .native(let passed) = stack[place],
                passed.stackPointer < walk.stackPointer
            { place += 1 }
        }
        return merged
    }

    /// From one frame as far as Go's tables lead: to C code, to the thread's first function, or to a stack switch.
    private func walk(from native: NativeFrame, _ memory: MemoryCopy) -> (
        frames: [LanguageFrame], stackPointer: UInt64, steps: Int, hasChangedStack: Bool
    )? {
        var frames: [LanguageFrame] = []
        var pc = native.frame.pc
        var stackPointer = native.stackPointer
        var steps = 0
        var isBehindCall = native.frame.isReturnAddress
        var (isParked, isGivenAway, hasChangedStack) = (false, false, false)
        var callee: (begin: UInt64, bytes: UInt64) = (stackPointer, 0)
        while frames.count < Self.maximumFrames {
            let address = pc &- (isBehindCall ? 1 : 0)
            guard let function = table.function(at: address) else { break }
            guard let levels = table.levels(function, at: address) else { return nil }
            for index in levels.indices {
                frames.append(
                    LanguageFrame(
                        code: function.entry,
                        check: UInt64(index),
                        position: address,
                        pc: pc,
                        isRuntime: levels[index].function.hasPrefix("runtime.")
                    )
                )
            }
            isBehindCall = true
            let next: (UInt64, UInt64)?
            switch levels.last?.function {
            case "runtime.stoplockedm":
                // For a thread that runs no other goroutine than the one it left.
                isParked = true
                next = caller(function, at: address, stackPointer, memory)
            case "runtime.schedule":
                isGivenAway = !isParked
                next = caller(function, at: address, stackPointer, memory)
            case "runtime.systemstack":
                next = caller(ofSwitchAt: stackPointer, memory)
                hasChangedStack = next != nil
            case "runtime.mcall":
                // It stores the goroutine that it leaves for its callee.
                next = isGivenAway ? nil : place(of: (stackPointer, Self.pointerBytes), stackPointer, memory)
                hasChangedStack = next != nil
            case "runtime.morestack":
                // Its callee has it.
                next = isGivenAway ? nil : place(of: callee, stackPointer, memory)
                hasChangedStack = next != nil
            case "runtime.asmcgocall":
                // It counts as on the stack that it has left. If it was on the thread's own stack, it has left none.
                let left = CallOfC.goroutine(at: stackPointer, memory)
                hasChangedStack = hasChangedStack || left != nil
                next =
                    caller(function, at: address, left?.stackPointer ?? stackPointer, memory)
                    ?? (steps == 0 ? caller(byRecord: native.framePointer, memory) : nil)
            case "runtime.cgocallback":
                // The saved place of a C call is the start of a function (`runtime.systemstack_switch`), as for each stack
                // switch.
                isBehindCall = false
                next = caller(function, at: address, stackPointer, memory)
            default:
                next =
                    caller(function, at: address, stackPointer, memory)
                    ?? (steps == 0 ? caller(byRecord: native.framePointer, memory) : nil)
            }
            guard let next else { break }
            callee = (stackPointer, next.1.saturatingDifference(stackPointer))
            (pc, stackPointer) = next
            steps += 1
        }
        return (frames, stackPointer, steps, hasChangedStack)
    }

    /// The return address, by the table's distance from the stack pointer; nil: not in Go's code.
    private func caller(_ function: GoFunctionTable.Function, at address: UInt64, _ stackPointer: UInt64, _ memory: MemoryCopy)
        -> (UInt64, UInt64)?
    {
        guard stackPointer != 0, let bytes = table.frameBytes(function, at: address) else { return nil }
        return returnAddress(stackPointer &+ bytes, memory)
    }

    /// The same by the frame pointer: a call of the kernel's clock switches the stack, which is in no table.
    private func caller(byRecord framePointer: UInt64, _ memory: MemoryCopy) -> (UInt64, UInt64)? {
        framePointer == 0 ? nil : returnAddress(framePointer &+ Self.pointerBytes, memory)
    }

    /// `runtime.systemstack` calls a function on the thread's own stack. That function first saves the frame pointer of the
    /// requester (a function of the runtime), next to which the requester's caller is.
    private func caller(ofSwitchAt stackPointer: UInt64, _ memory: MemoryCopy) -> (UInt64, UInt64)? {
        guard let framePointer: UInt64 = memory.load(stackPointer &- 2 &* Self.pointerBytes) else { return nil }
        return caller(byRecord: framePointer, memory)
    }

    /// Where the only goroutine continues that a part of the thread's own stack refers to.
    private func place(of piece: (begin: UInt64, bytes: UInt64), _ stackPointer: UInt64, _ memory: MemoryCopy) -> (
        UInt64, UInt64
    )? {
        var found: (UInt64, UInt64)?
        for offset in stride(from: 0, to: min(piece.bytes, Self.maximumFrameBytes), by: 8) {
            guard let address: UInt64 = memory.load(piece.begin &+ offset), let goroutine = Goroutine(memory, at: address),
                goroutine.canGoOn,
                !goroutine.owns(stackPointer), table.function(at: goroutine.programCounter &- 1) != nil
            else { continue }
            let next = (goroutine.programCounter, goroutine.stackPointer)
            if let found, found != next { return nil }
            found = next
        }
        return found
    }

    private func returnAddress(_ place: UInt64, _ memory: MemoryCopy) -> (UInt64, UInt64)? {
        guard let address: UInt64 = memory.load(place), table.function(at: address &- 1) != nil else { return nil }
        return (address, place &+ Self.pointerBytes)
    }

    private func isGo(_ entry: StackEntry) -> Bool {
        guard case .native(let native) = entry, native.frame.module == module else { return false }
        return table.function(at: native.address) != nil
    }

    func name(_ frame: LanguageFrame) -> LanguageFrameName? {
        guard let function = table.function(at: frame.position), let levels = table.levels(function, at: frame.position),
            frame.check < UInt64(levels.count)
        else { return nil }
        let level = levels[Int(frame.check)]
        let symbol = CgoName.withoutHash(level.function)
        return LanguageFrameName(
            language: "go",
            function: symbol,
            symbol: symbol,
            file: level.file,
            line: level.line,
            isLibrary: isLibrary(level) ? true : nil
        )
    }

    private func isLibrary(_ level: GoFunctionTable.Level) -> Bool {
        guard let file = level.file, !Self.generatedFiles.contains(file) else { return true }
        if let library, file.hasPrefix(library) { return true }
        // Paths were trimmed (`-trimpath`): module paths contain their version, and the first part of a library package has no
        // dot.
        return !file.hasPrefix("/") && (file.contains("@v") || Self.isOfLibrary(level.function))
    }

    /// By the compiler: methods for pointers and embedded types; by cgo: what calls C, and what C calls.
    private static let generatedFiles: Set = ["<autogenerated>", "_cgo_gotypes.go"]

    private static let libraryPackages: Set<Substring> = [
        "runtime", "internal", "syscall", "os", "io", "net", "time", "sync", "reflect", "fmt", "strings", "strconv", "bytes",
        "bufio", "sort",
        "encoding", "crypto", "compress", "archive", "container", "context", "database", "debug", "errors", "expvar", "flag",
        "go", "hash",
        "html", "image", "index", "iter", "log", "maps", "math", "mime", "path", "plugin", "regexp", "slices", "testing", "text",
        "unicode",
        "unique", "unsafe", "vendor", "weak", "cmp", "embed", "type..eq", "type",
    ]

    private static func isOfLibrary(_ function: String) -> Bool {
        libraryPackages.contains(function.prefix { $0 != "." && $0 != "/" })
    }
}
