internal import CLagBeacon
internal import CLagLinux
package import CLibunwind
internal import Glibc
internal import LagModel

/// The programs and libraries of a process, by default this one: read from `/proc/<pid>/maps` and the ELF headers in memory.
///
/// `dl_iterate_phdr` would take the loader's lock, which a thread stalled inside `dlopen` holds. This map takes no lock and
/// allocates nothing after ``init()``. An entry is written once and then constant, and is never given to another module, so a
/// frame's module index stays valid for every later reader.
///
/// Owned by one thread (the watchdog); only that thread calls ``refresh()``. ``module(at:)`` is for any thread, with an index
/// that the owner handed over.
// Unchecked: only the owner thread writes the arrays; readers get indices through a queue that orders memory, and entries below
// such an index never change.
package final class ModuleMap: @unchecked Sendable {
    /// How many different modules a process may map in its life before new ones stay nameless.
    package static let capacity = 2048
    /// How many separate pieces of code outside modules are known; stacks end at code beyond these.
    static let rangeCapacity = 2048

    /// The process of the modules.
    package let process: Int32
    let modules: UnsafeMutablePointer<clu_module>
    private let inodes: UnsafeMutablePointer<UInt64>
    /// ``ElfImage/stamp(at:of:)`` of each module without a Build ID.
    private let stamps: UnsafeMutablePointer<UInt64>
    private let paths: UnsafeMutableRawBufferPointer
    private let active: UnsafeMutablePointer<UInt16>
    private let ranges: UnsafeMutablePointer<clu_code_range>
    private let text: UnsafeMutablePointer<UInt8>
    private var known = 0
    private var usedPathBytes = 0
    private var activeCount = 0
    private var rangeCount = 0
    private var fingerprint: UInt64 = 0
    private var moduleFingerprint: UInt64 = 0
    /// Changes whenever modules, or copies of their code, were added or removed. Owner thread.
    package private(set) var generation: UInt64 = 0
    /// Where the process publishes its context, as of the last ``refresh()``; nil: nowhere. Owner thread.
    package private(set) var processContext: UInt64?
    private var textLength = 0
    /// Whether the process has more mappings than fit into the text: from then on only code mappings are read.
    private var isLarge = false
    /// When they may be read again (`CLOCK_MONOTONIC`).
    private var nextRefresh: UInt64 = 0
    /// When a walk may cause a reading (``refreshForWalk()``).
    var nextForWalk: UInt64 = 0
    /// Modules that did not fit.
    package private(set) var overflow = 0

    private static let textCapacity = 1 << 20
    /// Four times as many as the kernel allows a process by default (`vm.max_map_count`).
    private static let maximumMappings = 1 << 18
    /// Reading ten thousands of them takes some 1 µs each; it may take this fraction of the thread's time, as one in so many.
    private static let largeTimes: UInt64 = 50
    private static let pathCapacity = 1 << 20
    private static var moduleBytes: Int { capacity * MemoryLayout<clu_module>.stride }
    private static var rangeBytes: Int { rangeCapacity * MemoryLayout<clu_code_range>.stride }

    /// This process's modules.
    package convenience init?() { self.init(process: getpid()) }

    /// Takes its memory (about 3 MB of address space; touched as needed) directly from the kernel.
    package init?(process: Int32) {
        guard let modules = cll_memory_map(Self.moduleBytes), let inodes = cll_memory_map(Self.capacity * 8),
            let stamps = cll_memory_map(Self.capacity * 8), let paths = cll_memory_map(Self.pathCapacity),
            let active = cll_memory_map(Self.capacity * 2), let ranges = cll_memory_map(Self.rangeBytes),
            let text = cll_memory_map(Self.textCapacity)
        else { return nil }
        self.process = process
        self.modules = modules.bindMemory(to: clu_module.self, capacity: Self.capacity)
        self.inodes = inodes.bindMemory(to: UInt64.self, capacity: Self.capacity)
        self.stamps = stamps.bindMemory(to: UInt64.self, capacity: Self.capacity)
        self.paths = UnsafeMutableRawBufferPointer(start: paths, count: Self.pathCapacity)
        self.active = active.bindMemory(to: UInt16.self, capacity: Self.capacity)
        self.ranges = ranges.bindMemory(to: clu_code_range.self, capacity: Self.rangeCapacity)
        self.text = text.bindMemory(to: UInt8.self, capacity: Self.textCapacity)
    }

    deinit {
        for index in 0..<known where modules[index].made_count > 0 {
            cll_memory_unmap(
                UnsafeMutableRawPointer(mutating: modules[index].made_table),
                Self.tableBytes(modules[index].made_count)
            )
        }
        cll_memory_unmap(modules, Self.moduleBytes)
        cll_memory_unmap(stamps, Self.capacity * 8)
        cll_memory_unmap(paths.baseAddress, Self.pathCapacity)
        cll_memory_unmap(inodes, Self.capacity * 8)
        cll_memory_unmap(active, Self.capacity * 2)
        cll_memory_unmap(ranges, Self.rangeBytes)
        cll_memory_unmap(text, Self.textCapacity)
    }

    package var table: clu_module_table {
        clu_module_table(
            modules: modules,
            active: active,
            count: UInt32(activeCount),
            ranges: ranges,
            range_count: UInt32(rangeCount)
        )
    }

    /// Reads the process's mappings again. Owner thread; no allocation, no lock. Takes about 0.2 ms for a hundred mappings, and
    /// some 50 ms for 65,530, the default maximum of a process; then it reads only now and then.
    /// - Returns: whether anything was added or removed since the last time.
    @discardableResult
    package func refresh() -> Bool {
        let length = readMappings()
        // A text that was cut would lose the modules at its end: then the old map is better.
        guard length > 0, length < Self.textCapacity - 1 else { return false }
        textLength = length
        activeCount = 0
        rangeCount = 0
        processContext = nil
        var end: UInt64 = 0
        var hash = StableHash()
        // A JIT compiler maps code all the time, even from files, which adds no modules.
        var moduleHash = StableHash()
        var at = 0
        while at < length {
            let line = MapsLine(text: text, from: &at, limit: length)
            if line.isProcessContext {
                if processContext == nil { processContext = line.start }
                continue
            }
            // A module begins where a file's start is mapped; anonymous memory has no headers to read. A small file's start may
            // be mapped again for its code, as lld lays it out.
            let isFurtherPart = activeCount > 0 && line.start < end && line.inode == inodes[Int(active[activeCount - 1])]
            if line.fileOffset == 0, line.readable, line.inode != 0 || line.isVDSO, !isFurtherPart, let index = findOrAdd(line) {
                active[activeCount] = UInt16(index)
                activeCount += 1
                end = modules[index].end
                hash.combine(word: UInt64(index))
                moduleHash.combine(word: UInt64(index))
            } else if line.executable, line.start >= end {
                addRange(line)
                hash.combine(word: line.start ^ line.end << 20)
                if isOfModule(line.inode) { moduleHash.combine(word: line.start ^ line.end << 20) }
            }
        }
        defer { fingerprint = hash.value }
        if moduleHash.value != moduleFingerprint { generation &+= 1 }
        moduleFingerprint = moduleHash.value
        return hash.value != fingerprint
    }

    private func isOfModule(_ inode: UInt64) -> Bool {
        inode != 0 && (0..<known).contains { inodes[$0] == inode }
    }

    /// How much of ``text`` was filled; if it is too small, all of it.
    private func readMappings() -> Int {
        if !isLarge {
            let length = cll_procfs_maps(process, text, Self.textCapacity)
            isLarge = length >= Self.textCapacity - 1
            if !isLarge { return length }
        }
        let begun = clb_now_ns()
        guard begun >= nextRefresh else { return 0 }
        let length = cll_procfs_code_maps(process, text, Self.textCapacity, Self.maximumMappings)
        let now = clb_now_ns()
        nextRefresh = now &+ (now &- begun) &* Self.largeTimes
        return length
    }

    /// The modules that are mapped now, by index, with their start addresses; in the order of addresses. Owner thread; allocates.
    package var present: [(index: Int, start: UInt64)] {
        (0..<activeCount).map { (Int(active[$0]), modules[Int(active[$0])].start) }
    }

    /// The index of the module that contains an address, if any. Owner thread.
    package func index(of address: UInt64) -> Int? {
        var table = table
        let index = clu_module_find(&table, address)
        return index < 0 ? nil : Int(index)
    }

    /// Code of a module's file that is mapped a second time.
    package struct CodeCopy: Sendable {
        package let range: Range<UInt64>
        /// The address of the same code in the module.
        let original: UInt64

        package init(_ range: Range<UInt64>, of original: UInt64) {
            self.range = range
            self.original = original
        }

        package func original(of address: UInt64) -> UInt64? {
            range.contains(address) ? original &+ (address - range.lowerBound) : nil
        }
    }

    /// Copies of a module's code outside all modules, as of the last ``refresh()``: V8 maps its builtins near the code that it
    /// generates. Owner thread; allocates.
    package func copies(of index: Int) -> [CodeCopy] {
        var own: [MapsLine] = []
        var others: [MapsLine] = []
        var at = 0
        while at < textLength {
            let line = MapsLine(text: text, from: &at, limit: textLength)
            guard line.executable, line.start < line.end, line.inode == inodes[index], line.hasPath(of: modules + index) else {
                continue
            }
            switch self.index(of: line.start) {
            case nil: others.append(line)
            case index: own.append(line)
            default: break
            }
        }
        return others.compactMap { line in
            own.first { $0.fileOffset <= line.fileOffset && line.fileOffset - $0.fileOffset < $0.end - $0.start }
                .map { CodeCopy(line.start..<line.end, of: $0.start + (line.fileOffset - $0.fileOffset)) }
        }
    }

    /// The mapping that contains an address and has a guard below it (a mapping without access rights), as of the last
    /// ``refresh()``, if any. Owner thread.
    func guardedMapping(containing address: UInt64) -> (low: UInt64, high: UInt64)? {
        var at = 0
        var guardEnd: UInt64 = 0
        while at < textLength {
            let line = MapsLine(text: text, from: &at, limit: textLength)
            if line.start <= address, address < line.end {
                return line.readable && line.start == guardEnd ? (line.start, line.end) : nil
            }
            guardEnd = line.readable ? 0 : line.end
        }
        return nil
    }

    /// The modules that are mapped now and have no table of their unwind entries. Owner thread; allocates.
    package var withoutTables: [Int] {
        (0..<activeCount).map { Int(active[$0]) }.filter { modules[$0].eh_frame_hdr == 0 && modules[$0].made_count == 0 }
    }

    /// Creates the table of a module from its `.eh_frame`, which is at these ELF virtual addresses. Called before the index is
    /// handed over; allocates.
    /// - Returns: whether the entries are complete.
    @discardableResult
    package func makeTable(of index: Int, from section: Range<UInt64>) -> Bool {
        let module = modules[index]
        guard module.made_count == 0, let entries = EntryTable.read(section, of: module, in: process),
            let count = UInt32(exactly: entries.count), let memory = cll_memory_map(Self.tableBytes(count))
        else { return false }
        entries.withUnsafeBytes { memory.copyMemory(from: $0.baseAddress!, byteCount: $0.count) }
        modules[index].made_table = UnsafePointer(memory.bindMemory(to: clu_entry_place.self, capacity: entries.count))
        modules[index].made_count = count
        return true
    }

    private static func tableBytes(_ count: UInt32) -> Int { Int(count) * MemoryLayout<clu_entry_place>.stride }

    /// The description of a module. Allocates (it creates strings): for the reporter, not for the watchdog.
    package func module(at index: Int) -> ModuleInfo? {
        guard index >= 0, index < Self.capacity, modules[index].start != 0 else { return nil }
        return ModuleInfo(modules + index)
    }

    private func addRange(_ line: MapsLine) {
        let kind = Int32(line.inode != 0 ? CLU_CODE_OF_FILE : CLU_CODE_MADE)
        if rangeCount > 0, ranges[rangeCount - 1].end == line.start, ranges[rangeCount - 1].kind == kind {
            ranges[rangeCount - 1].end = line.end
        } else if rangeCount < Self.rangeCapacity {
            ranges[rangeCount] = clu_code_range(start: line.start, end: line.end, kind: kind)
            rangeCount += 1
        }
    }

    private func findOrAdd(_ line: MapsLine) -> Int? {
        // The maps are short and this runs only at start and at a suspected stall: a linear search is enough.
        for index in 0..<known
        where modules[index].start == line.start && inodes[index] == line.inode && line.hasPath(of: modules + index)
            && ElfImage.isStill(modules + index, of: process, stamp: stamps[index])
        {
            return index
        }
        guard known < Self.capacity else {
            overflow += 1
            return nil
        }
        guard ElfImage.read(at: line.start, of: process, into: modules + known) else { return nil }
        guard line.copyPath(into: modules + known, paths, used: &usedPathBytes) else {
            overflow += 1
            return nil
        }
        inodes[known] = line.inode
        stamps[known] = modules[known].build_id_length > 0 ? 0 : ElfImage.stamp(at: line.start, of: process)
        known += 1
        return known - 1
    }
}
