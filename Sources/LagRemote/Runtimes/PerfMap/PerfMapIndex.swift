/// The entries of a perf map, by address. If entries overlap, the last in the file is valid: code is freed, and other code reuses
/// its memory.
struct PerfMapIndex {
    private struct Entry {
        let start: UInt64
        let size: UInt32
        /// The offset of its name in the file.
        let nameOffset: UInt64
        let nameBytes: UInt16

        func holds(_ address: UInt64) -> Bool { address >= start && address - start < UInt64(size) }
    }

    /// Further entries are not indexed, so they have no names: 16 MB.
    static let capacity = 500_000
    /// The limit of a line; longer ones are not entries.
    static let maximumLineBytes = 4096
    /// The maximum of overlapping entries to check.
    private static let maximumOverlaps = 512

    private var entries: [Entry] = []
    private var isSorted = true
    /// Larger than any entry's size: entries that begin earlier than this before an address do not contain it.
    private var longest: UInt64 = 0
    /// Whether there were more than ``capacity``.
    private(set) var isOverfull = false

    var count: Int { entries.count }

    /// Reads whole lines.
    /// - Parameter offset: the offset of the text in the file.
    /// - Returns: how many bytes were consumed; the rest is an incomplete line.
    mutating func add(_ text: some RandomAccessCollection<UInt8>, at offset: UInt64) -> Int {
        var read = 0
        var line: [UInt8] = []
        for (position, byte) in text.enumerated() {
            if byte == UInt8(ascii: "\n") {
                add(line: line, at: offset &+ UInt64(read))
                line.removeAll(keepingCapacity: true)
                read = position + 1
            } else if line.count <= Self.maximumLineBytes {
                line.append(byte)
            }
        }
        return read
    }

    /// `START SIZE name`, the numbers hexadecimal (Linux, tools/perf/Documentation/jit-interface.txt).
    private mutating func add(line: [UInt8], at offset: UInt64) {
        guard !isOverfull, line.count <= Self.maximumLineBytes else { return }
        var position = 0
        guard let start = Self.number(line, &position), let size = Self.number(line, &position), size > 0,
            size <= UInt64(UInt32.max),
            position < line.count, start <= .max - size
        else { return }
        guard entries.count < Self.capacity else {
            isOverfull = true
            entries = []
            return
        }
        if let last = entries.last, last.start > start { isSorted = false }
        longest = max(longest, size)
        entries.append(
            Entry(
                start: start,
                size: UInt32(size),
                nameOffset: offset &+ UInt64(position),
                nameBytes: UInt16(clamping: line.count - position)
            )
        )
    }

    private static func number(_ line: [UInt8], _ position: inout Int) -> UInt64? {
        var value: UInt64 = 0
        var digits = 0
        if position + 1 < line.count, line[position] == UInt8(ascii: "0"), line[position + 1] | 0x20 == UInt8(ascii: "x") {
            position += 2
        }
        while position < line.count, let digit = Self.digit(line[position]) {
            guard digits < 16 else { return nil }
            value = value << 4 | digit
            digits += 1
            position += 1
        }
        guard digits > 0, position < line.count, line[position] == UInt8(ascii: " ") else { return nil }
        position += 1
        return value
    }

    private static func digit(_ byte: UInt8) -> UInt64? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt64(byte - UInt8(ascii: "0"))
        case UInt8(ascii: "a")...UInt8(ascii: "f"): UInt64(byte - UInt8(ascii: "a")) + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): UInt64(byte - UInt8(ascii: "A")) + 10
        default: nil
        }
    }

    /// The offset in the file of the name of the code at an address.
    mutating func find(_ address: UInt64) -> (offset: UInt64, bytes: Int)? {
        sortIfNeeded()
        var (low, high) = (0, entries.count)
        while low < high {
            let middle = (low + high) / 2
            if entries[middle].start <= address { low = middle + 1 } else { high = middle }
        }
        var found: Entry?
        for step in 1...Self.maximumOverlaps {
            guard low >= step else { break }
            let entry = entries[low - step]
            if address - entry.start >= longest { break }
            // A later line has a larger offset.
            if entry.holds(address), entry.nameOffset > found?.nameOffset ?? 0 { found = entry }
        }
        return found.map { ($0.nameOffset, Int($0.nameBytes)) }
    }

    private mutating func sortIfNeeded() {
        guard !isSorted else { return }
        entries.sort { ($0.start, $0.nameOffset) < ($1.start, $1.nameOffset) }
        isSorted = true
    }
}
