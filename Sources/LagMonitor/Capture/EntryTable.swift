internal import CLagLinux
internal import CLibunwind
internal import LagModel

/// A sorted table of a module's unwind entries, built from the entries: gcc links with `-static` without a table
/// (`--eh-frame-hdr`).
///
/// Format: LSB Core, 10.6.1. The entries are read from the process's memory and are not trusted: either all are used or none.
enum EntryTable {
    /// Programs of a hundred megabytes have some ten of these.
    private static let maximumBytes = 16 << 20

    /// How the addresses in entries are written (`DW_EH_PE_…`).
    private enum Encoding {
        static let format: UInt8 = 0x0f
        static let relation: UInt8 = 0x70
        static let relativeToPlace: UInt8 = 0x10
        static let indirect: UInt8 = 0x80
    }

    /// The table, sorted by functions; nil if the section does not consist of entries up to its end. Allocates.
    /// - Parameter section: its ELF virtual addresses.
    static func read(_ section: Range<UInt64>, of module: clu_module, in process: Int32) -> [clu_entry_place]? {
        let begin = module.bias &+ section.lowerBound
        let count = Int(clamping: section.upperBound - section.lowerBound)
        guard count > 0, count <= maximumBytes, begin >= module.start, begin < module.end, UInt64(count) <= module.end - begin,
            module.end - module.start <= UInt64(Int32.max)
        else { return nil }
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            initialized = cll_memory_read(process, begin, buffer.baseAddress, count)
        }
        guard bytes.count == count else { return nil }
        return places(LittleEndianBytes(bytes), at: begin, of: module)
    }

    private static func places(_ bytes: LittleEndianBytes, at begin: UInt64, of module: clu_module) -> [clu_entry_place]? {
        var encodings: [Int: UInt8] = [:]
        var found: [clu_entry_place] = []
        var offset = 0
        while offset + 4 <= bytes.count {
            let length = Int(bytes.u32(offset))
            // A zero ends them; all ones would be a length of 64 bits, which no compiler writes.
            if length == 0 { break }
            let content = offset + 4
            guard length >= 4, length <= bytes.count - content else { return nil }
            let back = Int(bytes.u32(content))
            if back == 0 {
                guard let encoding = encoding(bytes, content + 4, end: content + length) else { return nil }
                encodings[offset] = encoding
            } else {
                guard let encoding = encodings[content - back] else { return nil }
                if let function = address(bytes, content + 4, encoding, at: begin), function >= module.text_start,
                    function < module.text_end, let distance = Int32(exactly: Int64(bitPattern: function &- module.start))
                {
                    let entry = begin + UInt64(offset)
                    found.append(clu_entry_place(function: distance, entry: Int32(entry - module.start)))
                }
            }
            offset = content + length
        }
        return found.isEmpty ? nil : found.sorted { $0.function < $1.function }
    }

    /// How the entries of a common part encode addresses; nil if the encoding is not supported.
    private static func encoding(_ bytes: LittleEndianBytes, _ start: Int, end: Int) -> UInt8? {
        var at = start + 1
        guard at < end, bytes.u8(start) == 1 || bytes.u8(start) == 3 else { return nil }
        let letters = bytes.bytes[at..<end].prefix { $0 != 0 }
        at += letters.count + 1
        guard letters.first == UInt8(ascii: "z") else { return letters.isEmpty && at < end ? 0 : nil }
        // Two factors, the return address's register, the length of what follows.
        for _ in 0..<4 {
            while at < end, bytes.u8(at) & 0x80 != 0 { at += 1 }
            at += 1
        }
        for letter in letters.dropFirst() {
            guard at < end else { return letter == UInt8(ascii: "S") ? 0 : nil }
            switch letter {
            case UInt8(ascii: "R"): return bytes.u8(at)
            case UInt8(ascii: "L"): at += 1
            case UInt8(ascii: "P"):
                guard let size = size(bytes.u8(at)) else { return nil }
                at += 1 + size
            case UInt8(ascii: "S"), UInt8(ascii: "B"): break
            default: return nil
            }
        }
        return 0
    }

    private static func size(_ encoding: UInt8) -> Int? {
        switch encoding & Encoding.format {
        case 0x03, 0x0b: 4
        case 0x00, 0x04, 0x0c: 8
        default: nil
        }
    }

    private static func address(_ bytes: LittleEndianBytes, _ at: Int, _ encoding: UInt8, at begin: UInt64) -> UInt64? {
        guard encoding & Encoding.indirect == 0, let size = size(encoding), at + size <= bytes.count else { return nil }
        let isSigned = encoding & 0x08 != 0
        let plain = size == 8 ? bytes.u64(at) : UInt64(bytes.u32(at))
        let value = size == 4 && isSigned ? UInt64(bitPattern: Int64(Int32(truncatingIfNeeded: plain))) : plain
        switch encoding & Encoding.relation {
        case 0: return value
        case Encoding.relativeToPlace: return begin &+ UInt64(at) &+ value
        default: return nil
        }
    }
}
