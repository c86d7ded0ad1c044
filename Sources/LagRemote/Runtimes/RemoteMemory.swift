internal import CLagLinux

/// The current memory of another process. Reads never fault, and each is bounded, also in time: for a page that is not in the
/// process's page tables, see ``AbsentPages``. The data is a claim. Any thread.
struct RemoteMemory: Sendable {
    let process: Int32
    private let absent: AbsentPages

    /// More is not read at once.
    static let maximumBytes = 1 << 20

    init(process: Int32) {
        self.process = process
        absent = AbsentPages(of: process)
    }

    /// `count` bytes; nil if one of them cannot be read.
    func bytes(_ address: UInt64, _ count: Int) -> [UInt8]? {
        guard count >= 0, count <= Self.maximumBytes, address != 0 || count == 0 else { return nil }
        var got = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            if count > 0, let base = buffer.baseAddress { got = read(address, base, count) }
            initialized = min(got, count)
        }
        return bytes.count == count ? bytes : nil
    }

    func load<Number: FixedWidthInteger & BitwiseCopyable>(_ address: UInt64, as type: Number.Type = Number.self) -> Number? {
        var number: Number = 0
        let size = MemoryLayout<Number>.size
        guard address != 0, read(address, &number, size) == size else { return nil }
        return Number(littleEndian: number)
    }

    /// The words at several addresses, with one read for all; nil if one of them is not in memory, or cannot be read.
    func words(_ addresses: [UInt64]) -> [UInt64]? {
        guard !addresses.contains(0) else { return nil }
        let words = [UInt64](unsafeUninitializedCapacity: addresses.count) { buffer, initialized in
            var missing: UInt64 = 0
            guard let base = buffer.baseAddress,
                cll_memory_ready_pieces(process, addresses, MemoryLayout<UInt64>.size, addresses.count, &missing)
                    == addresses.count
            else { return }
            initialized = cll_memory_read_words(process, addresses, base, addresses.count)
        }
        return words.count == addresses.count ? words.map(UInt64.init(littleEndian:)) : nil
    }

    /// - Returns: how many bytes could be read.
    private func read(_ address: UInt64, _ target: UnsafeMutableRawPointer, _ count: Int) -> Int {
        var got = 0
        while got < count {
            let (place, part) = (address &+ UInt64(got), min(count - got, AbsentPages.maximumBytes))
            let isReady = cll_memory_ready_bytes(process, place, part) == part
            let read = isReady ? cll_memory_read(process, place, target + got, part) : absent.read(place, target + got, part)
            got += read
            guard read == part else { break }
        }
        return got
    }

    /// A zero-terminated string of at most `limit` bytes; nil without such an end.
    func text(_ address: UInt64, limit: Int) -> String? { Self.text(address, limit: limit, bytes) }

    /// The same, read in a way of the caller's.
    static func text(_ address: UInt64, limit: Int, _ read: (_ address: UInt64, _ count: Int) -> [UInt8]?) -> String? {
        var found: [UInt8] = []
        // In pieces, because the next page may not be mapped.
        while found.count < limit {
            let place = address &+ UInt64(found.count)
            let count = min(limit - found.count, Int(4096 - place % 4096), 256)
            guard let piece = read(place, count) else { return nil }
            if let end = piece.firstIndex(of: 0) { return String(decoding: found + piece[..<end], as: UTF8.self) }
            found += piece
        }
        return nil
    }
}

extension [UInt8] {
    /// A number at a place; nil beyond the end.
    func number<Number: FixedWidthInteger & BitwiseCopyable>(at offset: Int, as type: Number.Type = Number.self) -> Number? {
        guard offset >= 0, offset <= count - MemoryLayout<Number>.size else { return nil }
        return withUnsafeBytes { Number(littleEndian: $0.loadUnaligned(fromByteOffset: offset, as: Number.self)) }
    }
}
