internal import CLagLinux
internal import Glibc
internal import LagModel

/// Pieces of another process's memory, copied while a thread of it was stopped, and read afterwards.
///
/// Reading is the same in both phases, so code that follows a runtime's structures is written once: while the copy is open,
/// missing data is read from the process and kept; after it is closed, only kept data is available. Every read is bounded: by the
/// memory, the number of reads, and the processor time that those after the first few may take. (Ending it because this thread
/// had to wait for a processor would not shorten the stop: the wait is over, and the frames would be lost.)
///
/// Only pages in the process's page tables are read. Others may have to be read from a disk, or a program provides them
/// (`userfaultfd`, FUSE): it may wait for the thread that is stopped here, or never answer. Absent as well are pages of files and
/// of shared memory that are in memory, but that this process never touched: the kernel does not show the difference in
/// bounded time. (A page that is taken away between check and read is waited for.)
///
/// Data of another process is a claim: an invalid address gives nil. One thread at a time.
// Unchecked: it is passed from the copying thread to the reading one, by a queue that orders memory.
final class MemoryCopy: @unchecked Sendable {
    /// Enough for a runtime's data on some hundred calls.
    static let capacityBytes = 512 * 1024
    private static let residentBytes = 128 * 1024
    /// The maximum of requested pieces, about 1 µs each, by one system call or many.
    static let maximumReads = 512
    /// These are read regardless of time, for the innermost frame. On a busy machine one read may take as long as ten otherwise.
    static let leastReads = 16
    /// Pieces per system call; the time is checked after each.
    private static let readsAtOnce = 16

    private struct Piece {
        let address: UInt64
        let count: Int
        let offset: Int
    }

    let process: Int32
    private let buffer: UnsafeMutableRawPointer
    private var used = 0
    private var pieces: [Piece] = []
    private var lastHit = 0
    private var reads = 0
    private var deadlineNanoseconds: UInt64 = 0
    private var halfTimeNanoseconds: UInt64 = 0
    private var isOpen = false
    private var snapshot: UnsafePointer<cll_snapshot>?

    /// Allocates its memory directly from the kernel; pages become resident when used.
    init?(process: Int32) {
        guard let buffer = cll_memory_map(Self.capacityBytes) else { return nil }
        self.process = process
        self.buffer = buffer
        pieces.reserveCapacity(Self.maximumReads)
    }

    deinit { cll_memory_unmap(buffer, Self.capacityBytes) }

    /// Makes the kernel allocate the pages of most copies, which takes time, so that no thread is stopped meanwhile.
    func makeResident() {
        for offset in stride(from: 0, to: Self.residentBytes, by: 4096) {
            buffer.storeBytes(of: 0, toByteOffset: offset, as: UInt8.self)
        }
    }

    /// Discards the content, and copies from now on, for the given time.
    func open(_ snapshot: UnsafePointer<cll_snapshot>?, within nanoseconds: UInt64) {
        pieces.removeAll(keepingCapacity: true)
        (used, lastHit, reads, isOpen) = (0, 0, 0, true)
        self.snapshot = snapshot
        let now = Self.processorNanoseconds()
        (halfTimeNanoseconds, deadlineNanoseconds) = (now.saturatingSum(nanoseconds / 2), now.saturatingSum(nanoseconds))
    }

    func close(_ snapshot: UnsafePointer<cll_snapshot>?) {
        isOpen = false
        self.snapshot = snapshot
    }

    /// The thread's stack, from its stack pointer minus the red zone; nil if there is none.
    var stack: (address: UInt64, bytes: UnsafeRawBufferPointer)? {
        guard let snapshot, let stack = snapshot.pointee.stack else { return nil }
        let count = Int(clamping: min(snapshot.pointee.stack_length, snapshot.pointee.capacity))
        return (snapshot.pointee.stack_begin, UnsafeRawBufferPointer(start: stack, count: count))
    }

    /// The processor time of this thread; a system call of some 0.2 µs.
    private static func processorNanoseconds() -> UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return UInt64(clamping: time.tv_sec) &* 1_000_000_000 &+ UInt64(clamping: time.tv_nsec)
    }

    /// Whether there is time and space for more.
    var hasSpace: Bool {
        isOpen && reads < Self.maximumReads && used < Self.capacityBytes
            && (reads < Self.leastReads || Self.processorNanoseconds() < deadlineNanoseconds)
    }

    /// Whether to continue searching for data to copy: leaves enough time to copy it.
    var mayLookOn: Bool { isOpen && Self.processorNanoseconds() < halfTimeNanoseconds }

    /// Copies these bytes as far as they can be read: in one piece, or one for each run of pages that are in memory.
    func prefetch(_ address: UInt64, _ count: Int) {
        var (address, count) = (address, count)
        while let got = fetch(address, count, atLeast: 0)?.count, got < count {
            // The next page is not there.
            let next = cll_memory_page_after(address &+ UInt64(got))
            let skipped = Int(next &- address)
            guard skipped < count else { return }
            (address, count) = (next, count - skipped)
        }
    }

    /// Copies `count` bytes, rounded to words, from each of these addresses if readable, in order: with one system call for many.
    func prefetch(_ places: [UInt64], _ count: Int) {
        guard count > 0 else { return }
        places.withUnsafeBufferPointer { places in
            var rest = places[...]
            while let first = rest.first, hasSpace {
                let limit = min(rest.count, (Self.capacityBytes - used) / count, Self.maximumReads - reads, Self.readsAtOnce)
                guard limit > 0, let base = places.baseAddress else { return }
                let next = base + rest.startIndex
                var missing: UInt64 = 0
                let ready = first == 0 ? 0 : cll_memory_ready_pieces(process, next, count, limit, &missing)
                let got = ready == 0 ? 0 : cll_memory_read_pieces(process, next, count, buffer + used, ready)
                // The call ends at the first piece that is unreadable.
                if first != 0 { reads += min(got + 1, limit) }
                for (index, place) in rest.prefix(got).enumerated() {
                    pieces.append(Piece(address: place, count: count, offset: used + index * count))
                }
                used += min((got * count + 15) & ~15, Self.capacityBytes - used)
                // Unreadable data is skipped.
                rest = rest.dropFirst(got == rest.count ? got : got < limit ? got + 1 : got)
            }
        }
    }

    /// Whether these bytes are in the copy.
    func holds(_ address: UInt64, _ count: Int) -> Bool { find(address, count) != nil }

    /// `count` bytes; nil if they are not in one piece of the copy, or of the thread's stack.
    func bytes(_ address: UInt64, _ count: Int) -> UnsafeRawBufferPointer? {
        guard count > 0, count <= Self.capacityBytes else { return nil }
        if let start = find(address, count) { return UnsafeRawBufferPointer(start: start, count: count) }
        return fetch(address, count, atLeast: count)
    }

    /// A number of any width.
    func load<Number: FixedWidthInteger & BitwiseCopyable>(_ address: UInt64, as type: Number.Type = Number.self)
        -> Number?
    {
        bytes(address, MemoryLayout<Number>.size).map { Number(littleEndian: $0.loadUnaligned(as: Number.self)) }
    }

    private func find(_ address: UInt64, _ count: Int) -> UnsafeRawPointer? {
        if lastHit < pieces.count, let offset = Self.offset(of: address, count, in: pieces[lastHit]) {
            return UnsafeRawPointer(buffer + offset)
        }
        if let snapshot, let stack = snapshot.pointee.stack {
            let begin = snapshot.pointee.stack_begin
            let length = snapshot.pointee.stack_length
            if address >= begin, address - begin < length, length - (address - begin) >= UInt64(count) {
                return UnsafeRawPointer(stack + Int(address - begin))
            }
        }
        for index in pieces.indices {
            if let offset = Self.offset(of: address, count, in: pieces[index]) {
                lastHit = index
                return UnsafeRawPointer(buffer + offset)
            }
        }
        return nil
    }

    private static func offset(of address: UInt64, _ count: Int, in piece: Piece) -> Int? {
        guard address >= piece.address, address - piece.address <= UInt64(piece.count) else { return nil }
        let skipped = Int(address - piece.address)
        return piece.count - skipped >= count ? piece.offset + skipped : nil
    }

    /// - Returns: as many of the bytes as are in memory; nil if there is no space for more, or if they cannot be read.
    private func fetch(_ address: UInt64, _ count: Int, atLeast least: Int) -> UnsafeRawBufferPointer? {
        guard hasSpace, count > 0, count <= Self.capacityBytes - used, address != 0 else { return nil }
        reads += 1
        let ready = cll_memory_ready_bytes(process, address, count)
        guard ready >= least else { return nil }
        guard ready > 0 else { return UnsafeRawBufferPointer(start: nil, count: 0) }
        let got = Int(cll_memory_read(process, address, buffer + used, ready))
        guard got > 0, got >= least else { return nil }
        pieces.append(Piece(address: address, count: got, offset: used))
        lastHit = pieces.count - 1
        // Words stay aligned.
        defer { used += min((got + 15) & ~15, Self.capacityBytes - used) }
        return UnsafeRawBufferPointer(start: buffer + used, count: got)
    }
}
