internal import Glibc
internal import LagModel

/// The line ends in the sources of scripts. Each part of a source is read once, and only up to the requested place: a bundle has
/// megabytes, and one stack has many places in it.
///
/// 10 MB take some 10 ms, in the reporter. The memory is bounded: 4 bytes for each line of the last few scripts.
final class V8Sources: Sendable {
    private static let maximumSources = 4
    /// Of one line a place is not farther into its script; what is larger has no lines.
    private static let maximumCharacters = 32 << 20
    private static let maximumEnds = 1 << 20
    private static let pieceBytes = 256 * 1024
    /// What another source at the same place would not begin with.
    private static let beginBytes = 1024

    fileprivate struct Source {
        let script: UInt64
        let place: UInt64
        let count: Int
        let begin: [UInt8]
        /// In characters.
        var ends: [Int32] = []
        var read = 0
        var endsInReturn = false

        func isSame(as other: Source) -> Bool {
            script == other.script && place == other.place && count == other.count && begin == other.begin
        }
    }

    private let known = PthreadMutex<[Source]>([])

    /// The line of a place, counted from 1; nil if the source cannot be read up to there.
    func line(at position: Int, of script: UInt64, in flat: V8Heap.Flat, _ heap: V8Heap) -> Int? {
        let width = flat.isOneByte ? 1 : 2
        guard (0..<flat.count).contains(position), position <= Self.maximumCharacters,
            let begin = heap.read(flat.address, min(Self.beginBytes, flat.count * width))
        else { return nil }
        let wanted = Source(script: script, place: flat.address, count: flat.count, begin: begin)
        var source = known.withLock { known in known.first { $0.isSame(as: wanted) } } ?? wanted
        while source.read < position {
            let count = min(Self.pieceBytes / width, flat.count - source.read)
            guard source.ends.count < Self.maximumEnds,
                let piece = heap.read(flat.address &+ UInt64(source.read * width), count * width)
            else { return nil }
            source.addEnds(of: piece, isOneByte: flat.isOneByte)
            source.read += count
        }
        known.withLock { known in
            known.removeAll { $0.script == script }
            known.insert(source, at: 0)
            if known.count > Self.maximumSources { known.removeLast() }
        }
        // The ends before the place.
        var (low, high) = (0, source.ends.count)
        while low < high {
            let middle = (low + high) / 2
            if Int(source.ends[middle]) < position { low = middle + 1 } else { high = middle }
        }
        return low + 1
    }
}

extension V8Sources.Source {
    private static let feed: UInt16 = 0x0a
    private static let `return`: UInt16 = 0x0d
    /// U+2028, U+2029.
    private static let separators: ClosedRange<UInt16> = 0x2028...0x2029

    /// Of the characters that follow those which were read.
    fileprivate mutating func addEnds(of piece: [UInt8], isOneByte: Bool) {
        piece.withUnsafeBytes { bytes in
            if isOneByte { addEnds(ofBytes: bytes) } else { addEnds(ofUnits: bytes) }
        }
    }

    private mutating func addEnds(ofBytes bytes: UnsafeRawBufferPointer) {
        guard let base = bytes.baseAddress else { return }
        func next(_ byte: UInt16, from place: Int) -> Int {
            guard place < bytes.count else { return bytes.count }
            return memchr(base + place, Int32(byte), bytes.count - place).map { UnsafeRawPointer($0) - base } ?? bytes.count
        }
        var (feed, `return`) = (next(Self.feed, from: 0), next(Self.return, from: 0))
        while min(feed, `return`) < bytes.count {
            if feed < `return` {
                if !(feed > 0 ? bytes[feed - 1] == UInt8(Self.return) : endsInReturn) { ends.append(Int32(read + feed)) }
                feed = next(Self.feed, from: feed + 1)
            } else {
                ends.append(Int32(read + `return`))
                `return` = next(Self.return, from: `return` + 1)
            }
        }
        endsInReturn = bytes.last == UInt8(Self.return)
    }

    private mutating func addEnds(ofUnits bytes: UnsafeRawBufferPointer) {
        for index in 0..<bytes.count / 2 {
            let unit = UInt16(littleEndian: bytes.loadUnaligned(fromByteOffset: index * 2, as: UInt16.self))
            if unit == Self.feed && !endsInReturn || unit == Self.return || Self.separators.contains(unit) {
                ends.append(Int32(read + index))
            }
            endsInReturn = unit == Self.return
        }
    }
}
