internal import LagModel

/// A method, block or file of Ruby: an instruction sequence in another process's memory.
struct RubySequence: InterpretedFunction {
    /// Types in the low bits of an object's flags (`include/ruby/internal/value_type.h`), and of an internal one (`internal/imemo.h`).
    private enum Kind {
        static let mask: UInt64 = 0x1f
        static let string: UInt64 = 0x05
        static let array: UInt64 = 0x07
        static let `internal`: UInt64 = 0x1a
        static let internalShift: UInt64 = 12
        static let internalMask: UInt64 = 0xf
        static let sequence: UInt64 = 7
    }
    /// `FL_USER1`: of a string, its bytes are elsewhere; of an array, they are not.
    private static let user1: UInt64 = 1 << 13
    private static let embeddedLengthShift: UInt64 = 14
    private static let embeddedLengthMask: UInt64 = 0x1f
    private static let maximumTextBytes: UInt64 = 4096
    private static let maximumLines: UInt32 = 1 << 22
    private static let maximumVariantLines: UInt32 = 1024
    private static let block = "block "
    /// `iseq_insn_info_entry.node_id`, behind the line.
    private static let nodeOffset = 4

    private let layout: RubyLayout
    private let read: (_ address: UInt64, _ count: Int) -> [UInt8]?
    private let body: [UInt8]

    /// Nil if there is none.
    init?(_ layout: RubyLayout, at address: UInt64, read: @escaping (_ address: UInt64, _ count: Int) -> [UInt8]?) {
        guard let head = read(address, Int(layout.sequenceBody) + 8), let flags: UInt64 = head.number(at: 0),
            flags & Kind.mask == Kind.internal, flags >> Kind.internalShift & Kind.internalMask == Kind.sequence,
            let place: UInt64 = head.number(at: Int(layout.sequenceBody)), let body = read(place, layout.bodyBytes)
        else { return nil }
        self.layout = layout
        self.read = read
        self.body = body
    }

    private func field(_ offset: UInt64) -> UInt64 { body.number(at: Int(offset)) ?? 0 }

    func check(at _: UInt64) -> UInt64 {
        LanguageFrame.check(
            of: [layout.bodyCode, layout.bodyPath, layout.bodyLabel, layout.bodyLines, layout.bodyLineIndex].map(field)
        )
    }

    /// The instruction before a program counter, which is that of the call; nil if the counter is not in this sequence.
    func position(of counter: UInt64) -> UInt64? {
        let code = field(layout.bodyCode)
        guard let count: UInt32 = body.number(at: Int(layout.bodyCount)), code != 0, counter >= code, (counter - code) % 8 == 0
        else { return nil }
        let words = (counter - code) / 8
        guard words <= UInt64(count) else { return nil }
        return words == 0 ? 0 : words - 1
    }

    static let wordBytes: UInt64 = 8
    /// Before an instruction.
    private static let lookedThroughWords: UInt64 = 64
    /// No instruction's code in the interpreter is longer in one piece; what the compiler put elsewhere, as it seldom runs, is behind another one's.
    private static let longestHandler: UInt64 = 512
    private static let interpreterBytes: UInt64 = 1 << 17

    /// Whether the interpreter runs the instruction at a program counter.
    ///
    /// Only if no C function was called: the call of one need not be in the instruction's own code.
    ///
    /// Most instructions set the counter after themselves before they do anything; those that call no method (`leaf`: they create
    /// strings and lists, read variables) do so at their end. The interpreter's own address shows which of the two it is: each
    /// instruction begins with the address of the code that runs it (direct threading; `vm_exec.c`), and the nearest one before
    /// the interpreter's position belongs to the running instruction.
    func runs(at counter: UInt64, interpreter address: UInt64) -> Bool {
        let code = field(layout.bodyCode)
        guard position(of: counter) != nil, counter > code, let count: UInt32 = body.number(at: Int(layout.bodyCount)) else {
            return false
        }
        let place = (counter - code) / Self.wordBytes
        let before = min(place, Self.lookedThroughWords)
        guard place < UInt64(count), let bytes = read(counter - before * Self.wordBytes, Int((before + 1) * Self.wordBytes)),
            let own: UInt64 = bytes.number(at: Int(before * Self.wordBytes)), own <= address, address - own < Self.longestHandler
        else { return false }
        // The other words are operands: objects, caches, numbers.
        let handlers = (0..<Int(before)).compactMap { bytes.number(at: $0 * Int(Self.wordBytes)) as UInt64? }.filter {
            $0 >= address &- min(address, Self.interpreterBytes) && $0 < address &+ Self.interpreterBytes
        }
        // If the previous one has the same code, that may be running, with the counter after it.
        return handlers.last != own && handlers.allSatisfy { $0 > address || $0 <= own }
    }

    /// As Ruby's own stack traces name it: `checkout`, `block in checkout`, `<main>`.
    func label() -> String? { text(field(layout.bodyLabel)) }

    /// The file's full path if it has one, otherwise the name by which it was loaded.
    func file(at _: UInt64) -> String? {
        let path = field(layout.bodyPath)
        guard let flags = word(path) else { return nil }
        if flags & Kind.mask == Kind.string { return text(path) }
        guard flags & Kind.mask == Kind.array else { return nil }
        let elements: UInt64? = flags & Self.user1 != 0 ? path &+ 16 : word(path &+ 32)
        guard let elements, let name = word(elements), let whole = word(elements &+ 8) else { return nil }
        return text(whole) ?? text(name)
    }

    /// Blocks of one method, or of one class (such as a framework's routes), have the same name. This distinguishes them by the
    /// length of the code and the sequence of its syntax nodes, independent of its place in the file and its line breaks.
    func variant() -> String? {
        guard label()?.hasPrefix(Self.block) == true, let instructions: UInt32 = body.number(at: Int(layout.bodyCount)),
            let count: UInt32 = body.number(at: Int(layout.bodyLineCount)), (1...Self.maximumVariantLines).contains(count),
            let entries = read(field(layout.bodyLines), Int(count) * Int(layout.lineBytes))
        else { return nil }
        var hash = StableHash()
        hash.combine(word: UInt64(instructions))
        let numbers = (0..<Int(count)).map { entries.number(at: $0 * Int(layout.lineBytes) + Self.nodeOffset) ?? 0 as Int32 }
        // Instructions that the compiler adds have no node.
        let first = numbers.filter { $0 > 0 }.min() ?? 0
        for number in numbers { hash.combine(word: number > 0 ? UInt64(number - first) : .max) }
        return hash.text
    }

    private func word(_ address: UInt64) -> UInt64? { read(address, 8)?.number(at: 0) }

    private func text(_ string: UInt64) -> String? {
        guard string % 8 == 0, let flags = word(string), flags & Kind.mask == Kind.string else { return nil }
        let bytes: [UInt8]?
        if flags & Self.user1 != 0 {
            guard let count = word(string &+ 16), count <= Self.maximumTextBytes, let place = word(string &+ 24) else {
                return nil
            }
            bytes = read(place, Int(count))
        } else {
            bytes = read(string &+ 16, Int(flags >> Self.embeddedLengthShift & Self.embeddedLengthMask))
        }
        guard let bytes, !bytes.isEmpty else { return nil }
        return String(decoding: bytes, as: UTF8.self).asName
    }

    // MARK: Lines

    /// Positions of which the index has the number of entries itself; those beyond have a bit each (`iseq.c`, `succ_index_lookup`).
    private static let immediatePositions: UInt64 = 54
    private static let immediateAWord: UInt64 = 9
    private static let immediateBits: UInt64 = 7
    private static let blockPositions: UInt64 = 512
    private static let blockBytes: UInt64 = 80

    /// The line of an instruction, counted from 1.
    func line(at position: UInt64) -> Int? {
        guard let count: UInt32 = body.number(at: Int(layout.bodyLineCount)), count > 0, count <= Self.maximumLines else {
            return nil
        }
        guard let index = count == 1 ? 0 : lineIndex(position), index < UInt64(count),
            let entry = read(field(layout.bodyLines) &+ index &* layout.lineBytes, 4), let line: Int32 = entry.number(at: 0),
            line > 0
        else { return nil }
        return Int(line)
    }

    private func lineIndex(_ position: UInt64) -> UInt64? {
        let table = field(layout.bodyLineIndex)
        let entries: UInt64
        if position < Self.immediatePositions {
            guard let word = word(table &+ position / Self.immediateAWord &* 8) else { return nil }
            entries = word >> (position % Self.immediateAWord * Self.immediateBits) & 0x7f
        } else {
            let place = position - Self.immediatePositions
            // The number of entries before the block, those before each eighth of it in nine bits, and the bits.
            let block =
                table &+ Self.immediatePositions / Self.immediateAWord * 8 &+ place / Self.blockPositions &* Self.blockBytes
            let bit = place % Self.blockPositions
            guard let before: UInt32 = read(block, 4)?.number(at: 0), let ranks = word(block &+ 8),
                let bits = word(block &+ 16 &+ bit / 64 * 8)
            else { return nil }
            let eighths = bit < 64 ? 0 : ranks >> ((bit / 64 - 1) * 9) & 0x1ff
            entries = UInt64(before) + eighths + UInt64((bits << (63 - bit % 64)).nonzeroBitCount)
        }
        return entries > 0 ? entries - 1 : nil
    }
}
