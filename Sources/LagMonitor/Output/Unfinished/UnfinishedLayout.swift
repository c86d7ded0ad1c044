/// The bytes of a file of stalls in progress.
///
/// | at | what |
/// |---|---|
/// | 0 | `LAGMONUF`, version (4), pid (4), start of the process in ticks (8), pid namespace (8), boot id (32), capacity of a half (8) |
/// | 128, 192 | of each half: generation (8), bytes (8), check (8) |
/// | 4096, 4096 + halfCapacity | the halves |
///
/// All numbers are little-endian. A new state goes into the half that is not current: first the half, then its head. The valid
/// half with the higher generation is current. So a process that is killed at any moment leaves the stalls as they were before
/// its last write or after it. If a machine lost power, the check shows whether a half is damaged.
enum UnfinishedLayout {
    static let version: UInt32 = 1
    static let headerBytes = 4096
    private static let magic = Array("LAGMONUF".utf8)

    /// Why bytes are not accepted.
    enum Refusal: Equatable {
        /// Not a file of this program.
        case foreign
        /// From another version of this layout, or from long ago.
        case old
        /// A file of this program, but damaged.
        case damaged
    }

    static func header(_ identity: ProcessIdentity, halfCapacity: Int) -> [UInt8] {
        var bytes = magic
        bytes += number(UInt64(version) | UInt64(UInt32(bitPattern: identity.pid)) << 32)
        bytes += number(identity.startTicks)
        bytes += number(identity.namespace)
        bytes += Array(identity.bootID.utf8.prefix(32))
        bytes += [UInt8](repeating: 0, count: 64 - bytes.count)
        bytes += number(UInt64(halfCapacity))
        return bytes + [UInt8](repeating: 0, count: headerBytes - bytes.count)
    }

    static func offsetOfHead(_ half: Int) -> Int { 128 + half * 64 }
    static func offset(ofHalf half: Int, halfCapacity: Int) -> Int { headerBytes + half * halfCapacity }

    static func head(generation: UInt64, _ bytes: [UInt8]) -> [UInt8] {
        number(generation) + number(UInt64(bytes.count)) + number(checksum(bytes[...], generation))
    }

    struct Content: Equatable {
        /// The process of the file; nil: nothing was ever written.
        let identity: ProcessIdentity?
        let stalls: [UnfinishedStall]
    }

    /// - Parameter bytes: the whole file.
    static func read(_ bytes: [UInt8]) -> Result<Content, RefusalError> {
        guard bytes.count >= headerBytes, bytes.starts(with: magic) else { return .failure(RefusalError(.foreign)) }
        guard UInt32(truncatingIfNeeded: number(bytes, at: 8)) == version else { return .failure(RefusalError(.old)) }
        let halfCapacity = number(bytes, at: 64)
        let identity = ProcessIdentity(
            pid: Int32(truncatingIfNeeded: number(bytes, at: 8) >> 32),
            startTicks: number(bytes, at: 16),
            namespace: number(bytes, at: 24),
            bootID: String(decoding: bytes[32..<64], as: UTF8.self)
        )
        var best: (generation: UInt64, bytes: ArraySlice<UInt8>)?
        var isWritten = false
        for half in 0..<2 {
            let head = offsetOfHead(half)
            let (generation, length) = (number(bytes, at: head), number(bytes, at: head + 8))
            guard generation > 0 else { continue }
            isWritten = true
            let begin = UInt64(headerBytes).addingReportingOverflow(
                UInt64(half).multipliedReportingOverflow(by: halfCapacity).partialValue
            )
            guard length <= halfCapacity, !begin.overflow, begin.partialValue <= UInt64(bytes.count),
                length <= UInt64(bytes.count) - begin.partialValue
            else { continue }
            let content = bytes[Int(begin.partialValue)..<Int(begin.partialValue + length)]
            guard checksum(content, generation) == number(bytes, at: head + 16), generation > best?.generation ?? 0 else {
                continue
            }
            best = (generation, content)
        }
        // Nothing was ever kept: the process died between creating the file and its first stall.
        guard isWritten else { return .success(Content(identity: identity, stalls: [])) }
        guard let best, let stalls = UnfinishedStall.decodeAll(best.bytes) else { return .failure(RefusalError(.damaged)) }
        return .success(Content(identity: identity, stalls: stalls))
    }

    struct RefusalError: Error, Equatable {
        let refusal: Refusal
        init(_ refusal: Refusal) { self.refusal = refusal }
    }

    /// FNV-1a, 64 bit (Fowler, Noll, Vo): against accidents, not against attackers.
    private static func checksum(_ bytes: ArraySlice<UInt8>, _ generation: UInt64) -> UInt64 {
        var hash = StableHash(variant: generation)
        hash.combine(bytes)
        return hash.value
    }

    private static func number(_ value: UInt64) -> [UInt8] { withUnsafeBytes(of: value.littleEndian) { Array($0) } }

    private static func number(_ bytes: [UInt8], at offset: Int) -> UInt64 { LittleEndianBytes(bytes).u64(offset) }
}
