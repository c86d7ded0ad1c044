internal import Glibc
internal import LagMonitor

// The main thread waits for pages of memory.

extension Corpus {
    static let memory: [Scenario] = [
        Scenario(
            "faults-anonymous",
            [.pageFault],
            ["fillGrid"],
            "memory that the kernel must allocate and clear page by page; it is released and used again, so that little is enough",
            making: {
                let mapping = try Mapping(256 << 20)
                madvise(mapping.start, mapping.bytes, Int32(MADV_NOHUGEPAGE))
                return { fillGrid(mapping, until: $0) }
            }
        ).with {
            $0.needsOwnProcessor = true
            $0.isStallAsIntended = { $0.minorFaults > 20_000 }
        },
        Scenario(
            "faults-file",
            [.pageFault],
            ["scanArchive"],
            "a mapped file, read from the disk in scattered order",
            making: {
                let file = try ScratchFile(bytes: archiveBytes)
                file.remove()
                let mapping = try file.map(archiveBytes)
                madvise(mapping.start, mapping.bytes, Int32(MADV_RANDOM))
                file.evict()
                return { scanArchive(mapping, file, until: $0) }
            }
        ).with {
            $0.needsOwnProcessor = true
            $0.isStallAsIntended = { $0.majorFaults > 200 }
        },
        Scenario(
            "memory-pressure",
            [.pageFault],
            ["searchIndex"],
            "a mapped file of three times the memory that a control group allows: pages are evicted and read again",
            making: {
                let file = try ScratchFile(bytes: 3 * limitBytes)
                file.remove()
                let mapping = try file.map(3 * limitBytes)
                // Reads all of it once, so that the group is full from now on.
                file.evict()
                for offset in stride(from: 0, to: mapping.bytes, by: pageBytes) {
                    _ = mapping.start.load(fromByteOffset: offset, as: UInt8.self)
                }
                madvise(mapping.start, mapping.bytes, Int32(MADV_RANDOM))
                return { searchIndex(mapping, until: $0) }
            }
        ).with {
            $0.memoryLimitBytes = limitBytes
            $0.runsAlone = true
            $0.isStallAsIntended = { $0.majorFaults > 200 }
            $0.needsOwnProcessor = true
        },
    ]

    private static let archiveBytes = 64 << 20
    private static let limitBytes = 32 << 20
}

/// The kernel's usual page size. With larger pages, some pages are accessed more than once.
private let pageBytes = 4096
/// The distance to the next accessed page: a prime, so that every page is accessed, and large, so that no page is read ahead.
private let leap = 10_007

@inline(never)
func fillGrid(_ grid: Mapping, until end: MonotonicTime) -> Int {
    var pages = 0
    while MonotonicTime.now < end {
        var offset = 0
        while offset < grid.bytes, offset & 0xf_ffff != 0 || MonotonicTime.now < end {
            grid.start.storeBytes(of: 1, toByteOffset: offset, as: UInt8.self)
            offset += pageBytes
            pages += 1
        }
        madvise(grid.start, grid.bytes, Int32(MADV_DONTNEED))
    }
    return pages
}

@inline(never)
func scanArchive(_ archive: Mapping, _ file: ScratchFile, until end: MonotonicTime) -> Int {
    var sum = 0
    let pages = archive.bytes / pageBytes
    var page = 1
    while MonotonicTime.now < end {
        for _ in 0..<(pages / 2) where MonotonicTime.now < end {
            page = (page + leap) % pages
            sum &+= Int(archive.start.load(fromByteOffset: page * pageBytes, as: UInt8.self))
        }
        // Repeats the reads on a fast disk.
        if MonotonicTime.now < end {
            madvise(archive.start, archive.bytes, Int32(MADV_DONTNEED))
            // Inlined, because under load this call may take most of the time, and its caller is to blame.
            posix_fadvise(file.descriptor, 0, 0, POSIX_FADV_DONTNEED)
        }
    }
    return sum
}

@inline(never)
func searchIndex(_ index: Mapping, until end: MonotonicTime) -> Int {
    var sum = 0
    var page = 1
    while MonotonicTime.now < end {
        page = (page + leap) % (index.bytes / pageBytes)
        sum &+= Int(index.start.load(fromByteOffset: page * pageBytes, as: UInt8.self))
    }
    return sum
}
