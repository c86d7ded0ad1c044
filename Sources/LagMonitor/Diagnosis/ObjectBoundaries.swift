internal import LagModel

/// Where one object file's functions end and the next one's begin, from the padding in `.eh_frame`.
///
/// Assemblers pad each function's entry to four bytes, and an object's last one to eight (GNU as `dw2gencfi.c`, LLVM
/// `MCDwarf.cpp`). GNU ld appends the objects' entries in the order of the objects and keeps the padding (`elf-eh-frame.c`):
///
///     ends at 8n + 4                 the next function belongs to the same object
///     four bytes more than needed    the object's last function
///     ends at 8n                     unknown
///
/// gold, lld and mold pad each entry to eight: in their programs the padding shows nothing, and there are no names of object
/// files either.
struct ObjectBoundaries {
    enum End {
        /// The next function is of the same object.
        case goesOn
        /// The object's last function.
        case isLast
        case isOpen
    }

    struct Function {
        let address: UInt64
        let end: End
    }

    private static let maximumBytes: UInt64 = 64 << 20
    private static let maximumFunctions = 1 << 20
    private static let headerBytes = 17
    private static let lastPadding = 4
    /// `DW_CFA_GNU_args_size`: its operand may be zero, like padding.
    private static let argumentsSize: UInt8 = 0x2e

    /// In the order of the objects.
    private(set) var functions: [Function] = []

    /// Reads the section once: some milliseconds for ten thousand functions.
    /// - Parameter file: the file with the code; a separate debug file has none.
    init(in file: borrowing ELFFile) {
        guard let section = file.sections(named: [".eh_frame"]).first, section.type != ELFFile.SectionType.noBits,
            section.size <= Self.maximumBytes, let bytes = file.source.bytes(at: section.offset, count: Int(section.size))
        else { return }
        let entries = LittleEndianBytes(bytes)
        var offset = 0
        // Length, distance to the common entry, function, its size, length of more, instructions (LSB, "The .eh_frame section").
        while offset + 8 <= entries.count, functions.count < Self.maximumFunctions {
            let length = Int(entries.u32(offset))
            let next = offset + 4 + length
            guard length >= 4, next <= entries.count else { return }
            defer { offset = next }
            guard entries.u32(offset + 4) != 0, length > Self.headerBytes - 4 else { continue }
            let distance = UInt64(bitPattern: Int64(Int32(bitPattern: entries.u32(offset + 8))))
            let address = section.address &+ UInt64(offset + 8) &+ distance
            let instructions = bytes[(offset + Self.headerBytes)..<next].dropFirst(Int(entries.u8(offset + Self.headerBytes - 1)))
            let code = instructions.reversed().drop { $0 == 0 }
            let isPadded = instructions.count - code.count >= Self.lastPadding && code.first != Self.argumentsSize
            functions.append(Function(address: address, end: next % 8 != 0 ? .goesOn : isPadded ? .isLast : .isOpen))
        }
    }
}
