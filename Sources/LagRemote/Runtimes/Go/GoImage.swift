/// Finds the structures of Go's linker in a program's memory: no file is read, and they also exist in stripped programs.
///
/// Formats: System V ABI, chapter 5 ("Program Loading"); `src/runtime/symtab.go` (`moduledata`) of Go 1.18 and newer.
struct GoImage {
    private static let headerBytes = 64
    private static let programHeaderBytes = 56
    private static let maximumProgramHeaders = 64
    private static let maximumNoteBytes: UInt64 = 4096
    /// The limit of searched data; the linker puts the structures near its beginning.
    private static let maximumDataBytes: UInt64 = 16 << 20
    private static let pieceBytes: UInt64 = 256 * 1024
    private static let maximumCandidates = 256
    /// Between the table's header and the names, the first of its parts.
    private static let maximumTableHeaderBytes: UInt64 = 256

    private enum SegmentType {
        static let load: UInt32 = 1
        static let note: UInt32 = 4
    }
    private static let writable: UInt32 = 2

    private struct Segment {
        let type: UInt32
        let flags: UInt32
        let address: UInt64
        let bytes: UInt64
    }

    private let memory: RemoteMemory
    private let segments: [Segment]

    /// Nil if the program was not linked by Go, which stores the build's ID in its own note.
    init?(_ memory: RemoteMemory, start: UInt64, bias: UInt64) {
        guard let header = memory.bytes(start, Self.headerBytes), header.number(at: 0, as: UInt32.self) == 0x464c_457f,
            let table: UInt64 = header.number(at: 32), let count: UInt16 = header.number(at: 56),
            header.number(at: 54, as: UInt16.self) == UInt16(Self.programHeaderBytes), Int(count) <= Self.maximumProgramHeaders,
            let entries = memory.bytes(start &+ table, Int(count) * Self.programHeaderBytes)
        else { return nil }
        segments = stride(from: 0, to: entries.count, by: Self.programHeaderBytes).map { base in
            Segment(
                type: entries.number(at: base) ?? 0,
                flags: entries.number(at: base + 4) ?? 0,
                address: bias &+ (entries.number(at: base + 16) ?? 0),
                // Only the part from the file: the rest is zero.
                bytes: entries.number(at: base + 32) ?? 0
            )
        }
        self.memory = memory
        guard segments.contains(where: { $0.type == SegmentType.note && Self.isGoNote(memory, $0) }) else { return nil }
    }

    private static func isGoNote(_ memory: RemoteMemory, _ segment: Segment) -> Bool {
        guard segment.bytes <= maximumNoteBytes, let notes = memory.bytes(segment.address, Int(segment.bytes)) else {
            return false
        }
        var place = 0
        while let nameBytes: UInt32 = notes.number(at: place), let contentBytes: UInt32 = notes.number(at: place + 4) {
            // "Go", 4: ELF_NOTE_GOBUILDID_TAG of `cmd/internal/buildid`.
            if nameBytes == 4, notes.number(at: place + 8, as: UInt32.self) == 4,
                notes.number(at: place + 12, as: UInt32.self) == 0x6f47
            {
                return true
            }
            place += 12 + (Int(nameBytes) + 3) / 4 * 4 + (Int(contentBytes) + 3) / 4 * 4
        }
        return false
    }

    /// Calls `body` with the address of each structure that may be the `moduledata`, until it returns false: it begins with the address of the
    /// function table, whose parts follow as slices.
    func forEachModuleData(_ body: (UInt64) -> Bool) {
        var candidates = 0
        for segment in segments where segment.type == SegmentType.load && segment.flags & Self.writable != 0 {
            var done: UInt64 = 0
            let total = min(segment.bytes, Self.maximumDataBytes)
            while done < total {
                // Four words are checked: the pieces overlap by three.
                let length = min(Self.pieceBytes + 24, total - done)
                guard let piece = memory.bytes(segment.address &+ done, Int(length)) else { break }
                for place in Self.candidates(in: piece) {
                    candidates += 1
                    guard candidates <= Self.maximumCandidates, body(segment.address &+ done &+ UInt64(place)) else { return }
                }
                done += Self.pieceBytes
            }
        }
    }

    private static func candidates(in piece: [UInt8]) -> [Int] {
        piece.withUnsafeBytes { bytes in
            func word(_ place: Int) -> UInt64 { bytes.loadUnaligned(fromByteOffset: place, as: UInt64.self) }
            return stride(from: 0, through: bytes.count - 32, by: 8).filter { place in
                let table = word(place)
                let names = word(place + 8)
                guard table != 0, names > table, names - table <= maximumTableHeaderBytes else { return false }
                let count = word(place + 16)
                return count > 0 && count == word(place + 24)
            }
        }
    }
}
