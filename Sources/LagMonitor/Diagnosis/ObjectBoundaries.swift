internal import LagModel

/// Where one object file's functions end and the next one's begin.
///
/// Assemblers pad each function's entry in `.eh_frame` to four bytes, and an object's last one to eight (GNU as `dw2gencfi.c`,
/// LLVM `MCDwarf.cpp`). GNU ld appends the objects' entries in the order of the objects and keeps the padding (`elf-eh-frame.c`):
///
///     ends at 8n + 4                 the next function belongs to the same object
///     four bytes more than needed    the object's last function
///     ends at 8n                     unknown
///
/// gold and lld pad each entry to eight. In their programs the padding between the functions (``Linker``) shows where the
/// sections of objects end.
struct ObjectBoundaries {
    enum End {
        /// The next function is of the same object.
        case goesOn
        /// The last function of the object, or of its section.
        case isLast
        case isOpen
    }

    struct Function {
        let address: UInt64
        fileprivate let size: UInt64
        fileprivate(set) var end: End
        /// The first function up to the last known end, and the first one that is certainly in the same section.
        fileprivate var run: Int32 = 0
        fileprivate var joined: Int32 = 0
        /// Of a first one: the last function that has it as ``run``, and as ``joined``.
        fileprivate var lastOfRun: Int32 = 0
        fileprivate var lastJoined: Int32 = 0
        fileprivate var hasSeveralFunctions = false
    }

    /// The functions of one section, or of several if their ends are not known.
    struct Section {
        let functions: ClosedRange<UInt64>
        /// Those that are certainly in the same section as the one that was asked for.
        let joined: ClosedRange<UInt64>
        /// Whether one section has several functions: the object was not compiled with `-ffunction-sections`.
        let hasSeveralFunctions: Bool
    }

    private static let maximumBytes: UInt64 = 64 << 20
    private static let maximumFunctions = 1 << 20
    private static let headerBytes = 17
    private static let lastPadding = 4
    /// `DW_CFA_GNU_args_size`: its operand may be zero, like padding.
    private static let argumentsSize: UInt8 = 0x2e
    /// Compilers and linkers align code to at most this.
    private static let maximumPadding: UInt64 = 63
    private static let codePieceBytes = 1 << 18

    /// In the order of the objects.
    private(set) var functions: [Function] = []
    /// Whether ``End/isLast`` means the end of an object, and not only that of its section.
    let areOfObjects: Bool

    /// Reads the section once: some milliseconds for ten thousand functions; for other linkers than GNU ld also the code.
    /// - Parameter file: the file with the code; a separate debug file has none.
    init(in file: borrowing ELFFile, by linker: Linker) {
        areOfObjects = linker == .gnu
        guard let section = file.sections(named: [".eh_frame"]).first, section.type != ELFFile.SectionType.noBits,
            section.size <= Self.maximumBytes, let bytes = file.source.bytes(at: section.offset, count: Int(section.size))
        else { return }
        let entries = LittleEndianBytes(bytes)
        var offset = 0
        // Length, distance to the common entry, function, its size, length of more, instructions (LSB, "The .eh_frame section").
        while offset + 8 <= entries.count, functions.count < Self.maximumFunctions {
            let length = Int(entries.u32(offset))
            let next = offset + 4 + length
            guard length >= 4, next <= entries.count else { break }
            defer { offset = next }
            guard entries.u32(offset + 4) != 0, length > Self.headerBytes - 4 else { continue }
            let distance = UInt64(bitPattern: Int64(Int32(bitPattern: entries.u32(offset + 8))))
            let address = section.address &+ UInt64(offset + 8) &+ distance
            let instructions = bytes[(offset + Self.headerBytes)..<next].dropFirst(Int(entries.u8(offset + Self.headerBytes - 1)))
            let code = instructions.reversed().drop { $0 == 0 }
            let isPadded = instructions.count - code.count >= Self.lastPadding && code.first != Self.argumentsSize
            let end: End = !areOfObjects ? .isOpen : next % 8 != 0 ? .goesOn : isPadded ? .isLast : .isOpen
            functions.append(Function(address: address, size: UInt64(entries.u32(offset + 12)), end: end))
        }
        if !areOfObjects { findEnds(in: file, linker) }
    }

    private mutating func findEnds(in file: borrowing ELFFile, _ linker: Linker) {
        functions.sort { $0.address < $1.address }
        defer { findRuns() }
        var left = ObjectReferences.maximumBytes
        var piece: (start: UInt64, bytes: [UInt8]) = (0, [])
        for place in functions.indices.dropLast() {
            let start = functions[place].address.saturatingSum(functions[place].size)
            let next = functions[place + 1].address
            guard start <= next, next - start <= Self.maximumPadding,
                let section = file.codeSection(at: functions[place].address),
                file.sections[section].contains(next)
            else { continue }
            if start < piece.start || next - piece.start > piece.bytes.count {
                guard left > 0 else { break }
                piece = (start, file.code(at: start, count: Self.codePieceBytes))
                left -= Self.codePieceBytes
            }
            guard next - piece.start <= piece.bytes.count else { continue }
            let padding = Array(piece.bytes[Int(start - piece.start)..<Int(next - piece.start)])
            functions[place].end = linker.end(padding: padding)
        }
    }

    private mutating func findRuns() {
        var (run, joined) = (0, 0)
        for place in functions.indices {
            if place > 0, functions[place - 1].end == .isLast { run = place }
            if place > 0, functions[place - 1].end != .goesOn { joined = place }
            functions[place].run = Int32(run)
            functions[place].joined = Int32(joined)
            functions[run].lastOfRun = Int32(place)
            functions[joined].lastJoined = Int32(place)
            if functions[place].end == .goesOn { functions[run].hasSeveralFunctions = true }
        }
    }

    /// The section of a function; nil if it is not known.
    func section(around address: UInt64) -> Section? {
        // GNU ld's objects are known, and not in the order of their addresses.
        var (low, high) = (0, areOfObjects ? 0 : functions.count)
        while low < high {
            let middle = (low + high) / 2
            if functions[middle].address < address { low = middle + 1 } else { high = middle }
        }
        guard low < functions.count, functions[low].address == address else { return nil }
        let (first, firstJoined) = (functions[Int(functions[low].run)], functions[Int(functions[low].joined)])
        return Section(
            functions: first.address...functions[Int(first.lastOfRun)].address,
            joined: firstJoined.address...functions[Int(firstJoined.lastJoined)].address,
            hasSeveralFunctions: first.hasSeveralFunctions
        )
    }
}
