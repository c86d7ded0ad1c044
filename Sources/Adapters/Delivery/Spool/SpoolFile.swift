internal import Glibc
internal import LagOutput

/// A file of waiting lines: first in, first out, and never larger than its capacity.
///
/// Created with mode 0600, opened without following a link, and locked while it is open: a process that finds it locked leaves it
/// alone. Its content is not trusted: lengths are bounded and each line has a check. No `fsync`: it outlives the process, but not
/// a power failure.
///
/// One thread at a time. A line costs two writes, its removal one; a disk that hangs blocks the reporter, as with every file.
final class SpoolFile {
    /// A line of the file, and its end position.
    struct Entry {
        let line: [UInt8]
        let isRecord: Bool
        fileprivate let end: UInt64
    }

    /// The file cannot be used under this name.
    enum Obstacle: Error, Equatable {
        /// Another process has it, or has just removed it.
        case busy
        case failed(code: Int32, detail: String?)
    }

    let path: String
    private let descriptor: Int32
    private let capacity: UInt64
    private var generation: UInt64
    private var positions: SpoolLayout.Positions

    var lines: Int { Int(clamping: positions.lines) }
    var records: UInt64 { positions.records }
    /// How many of the records an earlier process wrote; these are the first.
    private(set) var inheritedRecords: UInt64
    var isEmpty: Bool { positions.usedBytes == 0 }
    /// Its content exists, but cannot be read.
    let isUnreadable: Bool

    private init(_ descriptor: Int32, _ path: String, _ content: SpoolLayout.Content, isUnreadable: Bool = false) {
        (self.descriptor, self.path, capacity) = (descriptor, path, content.capacity)
        (generation, positions) = (content.generation, content.positions)
        inheritedRecords = content.positions.records
        self.isUnreadable = isUnreadable
    }

    deinit { _ = Glibc.close(descriptor) }

    /// A new, empty file.
    static func create(_ path: String, capacity: Int) throws(Obstacle) -> SpoolFile {
        let descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw errno == EEXIST ? .busy : .failed(code: errno, detail: nil) }
        let file = SpoolFile(descriptor, path, SpoolLayout.Content(capacity: UInt64(capacity)))
        // Another process may have mistaken it for an empty, abandoned file, and removed it.
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0, UnfinishedFile.isLinked(descriptor, at: path) else { throw .busy }
        guard file.write(SpoolLayout.header(capacity: UInt64(capacity)), at: 0), file.commit(SpoolLayout.Positions()) else {
            let code = errno
            file.remove()
            throw .failed(code: code, detail: nil)
        }
        return file
    }

    /// A file that an earlier process left. If it contains nothing usable, it counts as empty.
    static func adopt(_ path: String) throws(Obstacle) -> SpoolFile {
        let descriptor = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw errno == ENOENT ? .busy : .failed(code: errno, detail: nil) }
        var status = stat()
        var detail: String?
        if fstat(descriptor, &status) != 0 || status.st_mode & S_IFMT != S_IFREG {
            detail = "it is not a regular file"
        } else if status.st_uid != geteuid() {
            detail = "it belongs to another user (uid \(status.st_uid))"
        } else if status.st_nlink > 1 {
            detail = "it has \(status.st_nlink) names (hard links)"
        }
        guard detail == nil, flock(descriptor, LOCK_EX | LOCK_NB) == 0, UnfinishedFile.isLinked(descriptor, at: path) else {
            _ = Glibc.close(descriptor)
            throw detail.map { .failed(code: EPERM, detail: $0) } ?? .busy
        }
        let content = SpoolLayout.read(bytes(descriptor, SpoolLayout.headerBytes, at: 0))
        // A shorter file belongs to a process that was killed while it created the file.
        let isUnreadable = content == nil && status.st_size > SpoolLayout.headerBytes
        return SpoolFile(descriptor, path, content ?? SpoolLayout.Content(capacity: 0), isUnreadable: isUnreadable)
    }

    /// False: there is no space, it could not be written, or the file was removed.
    func append(_ line: [UInt8], isRecord: Bool) -> Bool {
        guard UnfinishedFile.isLinked(descriptor, at: path) else { return false }
        let entry = SpoolLayout.entryHead(line, isRecord: isRecord) + line
        guard line.count <= Self.maximumLineBytes, UInt64(entry.count) <= capacity - positions.usedBytes,
            writeRing(entry, at: positions.tail)
        else { return false }
        var next = positions
        next.tail += UInt64(entry.count)
        next.lines += 1
        next.records += isRecord ? 1 : 0
        return commit(next)
    }

    /// The first line after `entry`, or of all; nil: there is none.
    /// - Throws: if the file is damaged there: nothing after it can be read.
    func entry(after entry: Entry? = nil) throws(Damage) -> Entry? {
        let start = entry?.end ?? positions.head
        let left = positions.tail - start
        guard left > 0 else { return nil }
        let headBytes = UInt64(SpoolLayout.entryHeadBytes)
        guard left >= headBytes else { throw Damage() }
        let bytes = readRing(SpoolLayout.entryHeadBytes, at: start)
        guard bytes.count == SpoolLayout.entryHeadBytes else { throw Damage() }
        let head = SpoolLayout.readEntryHead(bytes)
        guard UInt64(head.count) <= left - headBytes, head.count <= Self.maximumLineBytes else { throw Damage() }
        let line = readRing(head.count, at: start + headBytes)
        guard line.count == head.count, SpoolLayout.check(line[...]) == head.check else { throw Damage() }
        return Entry(line: line, isRecord: head.isRecord, end: start + headBytes + UInt64(head.count))
    }

    struct Damage: Error {}

    /// More than `max_line_bytes` allows: the length of a line in the file determines how much memory is allocated.
    private static let maximumLineBytes = 4 << 20

    /// Removes the lines up to and including the last of `entries`, which are the first of the file.
    func remove(_ entries: some BidirectionalCollection<Entry>) {
        guard let last = entries.last else { return }
        var next = positions
        next.head = last.end
        next.lines = next.lines.saturatingDifference(UInt64(entries.count))
        let records = UInt64(entries.count { $0.isRecord })
        next.records = next.records.saturatingDifference(records)
        inheritedRecords = inheritedRecords.saturatingDifference(records)
        // If this cannot be written, they are sent again after a restart.
        if !commit(next) { positions = next }
    }

    /// Removes all lines.
    func removeAll() {
        let end = SpoolLayout.Positions(head: positions.tail, tail: positions.tail)
        if !commit(end) { positions = end }
        inheritedRecords = 0
    }

    /// Deletes the file, unless another one has replaced it.
    func remove() { if UnfinishedFile.isLinked(descriptor, at: path) { unlink(path) } }

    private func commit(_ next: SpoolLayout.Positions) -> Bool {
        let generation = generation + 1
        let offset = SpoolLayout.offset(ofGeneration: generation)
        guard write(SpoolLayout.bytes(of: next, generation: generation), at: offset) else { return false }
        (self.generation, positions) = (generation, next)
        return true
    }

    /// The parts of the ring that a range covers: one, or two.
    private func parts(_ count: Int, at position: UInt64) -> [(offset: Int, count: Int)] {
        let start = Int(position % capacity)
        let first = min(count, Int(capacity) - start)
        let base = SpoolLayout.headerBytes
        return first == count ? [(base + start, count)] : [(base + start, first), (base, count - first)]
    }

    private func writeRing(_ bytes: [UInt8], at position: UInt64) -> Bool {
        var done = 0
        for part in parts(bytes.count, at: position) {
            guard write(Array(bytes[done..<(done + part.count)]), at: part.offset) else { return false }
            done += part.count
        }
        return true
    }

    private func readRing(_ count: Int, at position: UInt64) -> [UInt8] {
        parts(count, at: position).flatMap { Self.bytes(descriptor, $0.count, at: $0.offset) }
    }

    private func write(_ bytes: [UInt8], at offset: Int) -> Bool { UnfinishedFile.write(bytes, to: descriptor, at: offset) }

    private static func bytes(_ descriptor: Int32, _ size: Int, at offset: Int) -> [UInt8] {
        RecoveredStalls.bytes(of: descriptor, size, at: offset)
    }
}
