internal import LagCapture

/// A Java method in HotSpot: `Method`, `ConstMethod` followed by its bytecode and line table, and the constant pool with its
/// names.
struct HotSpotMethod {
    private static let maximumTextBytes = 512
    private static let maximumLineBytes = 64 * 1024

    let address: UInt64
    /// Its `ConstMethod`. A redefined method gets another one.
    let constant: UInt64
    private let memory: RemoteMemory
    private let layout: HotSpotLayout.Method
    private let excluded: UInt32
    private let pool: UInt64

    /// Nil if there is no method: its pool must belong to a class that has this pool.
    init?(_ memory: RemoteMemory, _ all: HotSpotLayout, at address: UInt64) {
        let layout = all.method
        guard address % 8 == 0, let constant: UInt64 = memory.load(address &+ layout.constant), constant % 8 == 0,
            let pool: UInt64 = memory.load(constant &+ layout.pool), pool % 8 == 0,
            let holder: UInt64 = memory.load(pool &+ layout.holder),
            memory.load(holder &+ layout.holderPool) == pool
        else { return nil }
        self.address = address
        self.constant = constant
        self.memory = memory
        self.layout = layout
        excluded = all.excluded
        self.pool = pool
    }

    /// The bytecode at an address; nil: none.
    func index(ofBytecodeAt place: UInt64) -> Int? {
        guard let bytes = codeBytes else { return nil }
        let begin = constant &+ layout.codeBegin
        return place >= begin && place - begin < UInt64(bytes) ? Int(place - begin) : nil
    }

    /// Bytecodes (The Java Virtual Machine Specification, chapter 6).
    private enum Bytecode {
        static let dup: UInt8 = 0x59
        static let storeReference: UInt8 = 0x3a
        static let storeReferenceInSlot: ClosedRange<UInt8> = 0x4b...0x4e
        static let enterMonitor: UInt8 = 0xc2
        /// Constants and local variables: none of them calls anything. And the interpreter's rewritten forms for local variables
        /// (`_fast_aload_0`, `_fast_iload`, `_fast_iload2` of `bytecodes.hpp`, with the same numbers from Java 11 to 25).
        static let neverCall: [ClosedRange<UInt8>] = [0x01...0x11, 0x15...0x2d, 0xdc...0xdc, 0xe0...0xe1]
    }

    /// The calling bytecode, by the interpreter's saved place. For `monitorenter` it saves the following place, for exceptions to
    /// be thrown from there (`TemplateTable::monitorenter`): if that bytecode calls nothing, the `monitorenter` before it waits.
    func index(ofCallKeptAt place: UInt64) -> Int? {
        guard let index = index(ofBytecodeAt: place), index >= 4, let bytes = memory.bytes(place &- 4, 5) else {
            return index(ofBytecodeAt: place)
        }
        // With the pattern that compilers emit, because the byte alone may be an operand.
        let isStored =
            bytes[1] == Bytecode.dup && Bytecode.storeReferenceInSlot.contains(bytes[2])
            || bytes[0] == Bytecode.dup && bytes[1] == Bytecode.storeReference
        let isEntered = isStored && bytes[3] == Bytecode.enterMonitor && Bytecode.neverCall.contains { $0.contains(bytes[4]) }
        return isEntered ? index - 1 : index
    }

    /// How far below its frame pointer its stack may end: the maximum of pushes, plus what the JVM's own check allows
    /// (`frame::is_interpreted_frame_valid`).
    var maximumFrameBytes: UInt64 { (1024 + UInt64(memory.load(constant &+ layout.maxStack) ?? 0 as UInt16)) * 8 }

    private var codeBytes: UInt16? { memory.load(constant &+ layout.codeBytes) }

    func name(at bytecode: Int?) -> LanguageFrameName? {
        guard let index: UInt16 = memory.load(constant &+ layout.nameIndex), let method = text(index),
            let holder: UInt64 = memory.load(pool &+ layout.holder),
            let className = memory.load(holder &+ layout.className).flatMap({ text(symbol: $0) })
        else { return nil }
        let name = JavaName(className: className, method: method)
        return LanguageFrameName(
            language: "java",
            function: name.text,
            symbol: name.text,
            file: file(holder).map { name.folder + $0 },
            line: bytecode.flatMap { line(of: $0) },
            isLibrary: name.isLibrary
        )
    }

    private func file(_ holder: UInt64) -> String? {
        let place = layout.fileOfPool.map { pool &+ $0 } ?? layout.fileOfClass.map { holder &+ $0 }
        return place.flatMap { memory.load($0, as: UInt16.self) }.flatMap { $0 == 0 ? nil : text($0) }
    }

    private func text(_ index: UInt16) -> String? {
        memory.load(pool &+ layout.poolBegin &+ UInt64(index) &* 8).flatMap { text(symbol: $0) }
    }

    private func text(symbol: UInt64) -> String? {
        guard symbol % 8 == 0, let count: UInt16 = memory.load(symbol &+ layout.textBytes), count > 0,
            Int(count) <= Self.maximumTextBytes
        else {
            return nil
        }
        return memory.bytes(symbol &+ layout.text, Int(count)).map { String(decoding: $0, as: UTF8.self) }
    }

    /// The line of the last entry that is not after the bytecode. The table is compressed (`CompressedLineNumberReadStream`,
    /// `oops/method.cpp`).
    private func line(of bytecode: Int) -> Int? {
        guard let flags: UInt16 = memory.load(constant &+ layout.flags), flags & layout.hasLines != 0, let code = codeBytes,
            let words: UInt32 = memory.load(constant &+ layout.words)
        else { return nil }
        let begin = layout.codeBegin + UInt64(code)
        let count = Int(clamping: UInt64(words) &* 8) - Int(begin)
        guard count > 0, count <= Self.maximumLineBytes, let table = memory.bytes(constant &+ begin, count) else { return nil }
        var numbers = HotSpotNumbers(table, excluded: excluded)
        var (place, line) = (0, 0)
        var found: (place: Int, line: Int)?
        while let first = numbers.byte(), first != 0 {
            if first == 0xff {
                guard let (step, lines) = numbers.signed().flatMap({ step in numbers.signed().map { (step, $0) } }) else {
                    return nil
                }
                (place, line) = (place &+ step, line &+ lines)
            } else {
                (place, line) = (place &+ Int(first >> 3), line &+ Int(first & 7))
            }
            // If one place has several entries, the JVM's own traces use the first.
            if place == bytecode { return line > 0 ? line : nil }
            // The entries are not always in the order of the code.
            if place <= bytecode, place >= found?.place ?? 0 { found = (place, line) }
        }
        return found.flatMap { $0.line > 0 ? $0.line : nil }
    }
}
