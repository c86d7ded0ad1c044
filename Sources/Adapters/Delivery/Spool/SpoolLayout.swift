internal import LagOutput

/// The bytes of a spool file: lines in a ring.
///
/// | at | what |
/// |---|---|
/// | 0 | `LAGMONSP`, version (8), capacity of the ring (8) |
/// | 64, 128 | positions: generation (8), head (8), tail (8), lines (8), of these records (8), check (8) |
/// | 4096 | the ring: of each line its length (4), 1 for a record (4), check (8), the line |
///
/// All numbers are little-endian. Head and tail only grow; their place is the remainder by the capacity. A line is written first,
/// then the positions, into the copy that is not current; the valid copy with the higher generation is current. So if a process
/// is killed at any moment, the line is either complete or missing.
enum SpoolLayout {
    static let version: UInt64 = 1
    static let headerBytes = 4096
    static let entryHeadBytes = 16
    private static let magic = Array("LAGMONSP".utf8)

    /// From the first line that is kept to the end of the last one.
    struct Positions: Equatable {
        var head: UInt64 = 0
        var tail: UInt64 = 0
        var lines: UInt64 = 0
        var records: UInt64 = 0

        var usedBytes: UInt64 { tail &- head }
    }

    struct Content: Equatable {
        var capacity: UInt64
        var generation: UInt64 = 0
        var positions = Positions()
    }

    static func header(capacity: UInt64) -> [UInt8] {
        let bytes = magic + number(version) + number(capacity)
        return bytes + [UInt8](repeating: 0, count: headerBytes - bytes.count)
    }

    static func offset(ofGeneration generation: UInt64) -> Int { 64 + Int(generation % 2) * 64 }

    static func bytes(of positions: Positions, generation: UInt64) -> [UInt8] {
        let numbers = [generation, positions.head, positions.tail, positions.lines, positions.records].flatMap(number)
        return numbers + number(check(numbers[...]))
    }

    /// The content of the header; nil: it is not a file of this program, or damaged.
    static func read(_ header: [UInt8]) -> Content? {
        guard header.count >= headerBytes, header.starts(with: magic), number(header, at: 8) == version else { return nil }
        let capacity = number(header, at: 16)
        guard capacity > 0, capacity < 1 << 40 else { return nil }
        var best: Content?
        for copy in 0..<2 as Range<UInt64> {
            let at = offset(ofGeneration: copy)
            let generation = number(header, at: at)
            let positions = Positions(
                head: number(header, at: at + 8),
                tail: number(header, at: at + 16),
                lines: number(header, at: at + 24),
                records: number(header, at: at + 32)
            )
            guard number(header, at: at + 40) == check(header[at..<(at + 40)]), positions.head <= positions.tail,
                positions.tail < 1 << 62, generation < 1 << 62,
                positions.usedBytes <= capacity, positions.lines <= positions.usedBytes, positions.records <= positions.lines,
                generation % 2 == copy, generation >= best?.generation ?? 0
            else { continue }
            best = Content(capacity: capacity, generation: generation, positions: positions)
        }
        return best
    }

    static func entryHead(_ line: [UInt8], isRecord: Bool) -> [UInt8] {
        number(UInt64(line.count) | (isRecord ? 1 << 32 : 0)) + number(check(line[...]))
    }

    /// - Parameter head: ``entryHeadBytes`` long.
    static func readEntryHead(_ head: [UInt8]) -> (count: Int, isRecord: Bool, check: UInt64) {
        let first = number(head, at: 0)
        return (Int(first & 0xffff_ffff), first >> 32 & 1 == 1, number(head, at: 8))
    }

    static func check(_ bytes: ArraySlice<UInt8>) -> UInt64 {
        var hash = StableHash()
        hash.combine(bytes)
        return hash.value
    }

    private static func number(_ value: UInt64) -> [UInt8] { withUnsafeBytes(of: value.littleEndian) { Array($0) } }

    private static func number(_ bytes: [UInt8], at offset: Int) -> UInt64 {
        bytes[offset..<(offset + 8)].reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }
}
