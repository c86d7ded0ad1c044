internal import Glibc
internal import LagModel
internal import LagReader

/// The stacks of all stalls, merged from the root, by group; a bounded number of nodes.
///
/// A frame is a function, identified by its name and origin, regardless of build and line, to keep the tree readable.
struct StackTree: Sendable {
    /// Whose code a frame is. Functions of a library and of the program with the same name are different.
    enum Origin: UInt8, Sendable {
        /// The samples of a line have only names.
        case unknown
        case library
        case program
    }

    struct Frame: Sendable {
        let name: String
        /// If there are several, the alphabetically first; empty: no line has it.
        var module: String
        let origin: Origin

        /// The result does not depend on the order.
        mutating func learn(_ other: Frame) {
            if module.isEmpty || (!other.module.isEmpty && other.module < module) { module = other.module }
        }

        var key: FrameKey { FrameKey(name: name, origin: origin) }
    }

    struct FrameKey: Hashable, Sendable {
        let name: String
        let origin: Origin
    }

    struct Node: Sendable {
        /// -1: a root.
        let parent: Int32
        let frame: Int32
        let group: Int32
        /// The time spent in this node itself, without its children.
        var nanoseconds: UInt64 = 0
        var count: UInt64 = 0
    }

    /// About 100 bytes each. When the tree is full, new stacks end at their last known frame.
    static let maximumNodes = 400_000
    static let maximumFrames = 100_000
    private static let maximumNameBytes = 512

    private(set) var frames: [Frame] = []
    private(set) var nodes: [Node] = []
    /// Stacks that were truncated because the tree was full.
    private(set) var shortened: UInt64 = 0
    private var frameIndices: [FrameKey: Int32] = [:]
    private var children: [UInt64: Int32] = [:]
    private var roots: [UInt64: Int32] = [:]
    /// The node where an earlier stack ends, by the bytes of its frames.
    private var known: [UInt64: Int32] = [:]

    /// Adds the stall in the scanner.
    mutating func add(_ line: borrowing LineScanner, group: Int, nanoseconds: UInt64) {
        let hash = line.span(.sampleTree) == nil ? StackBytes.hash(line, group: group) : nil
        if let hash, let node = known[hash] { return spend(nanoseconds, 1, at: Int(node)) }
        guard let stall = line.stall() else { return }
        var count: UInt64 = 1
        StackPath.forEach(of: stall) { path in
            let node = add(path, group: group, count: count)
            count = 0
            if let hash, let node, known.count < Self.maximumNodes { known[hash] = node }
        }
    }

    /// - Parameter groups: for each group of the other, its number here.
    mutating func add(_ other: StackTree, groups: (Int) -> Int) {
        shortened += other.shortened
        var places: [Int32] = []
        places.reserveCapacity(other.nodes.count)
        for node in other.nodes {
            // Parents come before their children.
            let parent = node.parent < 0 ? -1 : places[Int(node.parent)]
            let group = groups(Int(node.group))
            let place = child(of: parent, group: group, other.frames[Int(node.frame)])
            if place == nil { shortened += node.count }
            places.append(place ?? parent)
            if node.nanoseconds > 0 || node.count > 0, let place = place ?? (parent >= 0 ? parent : nil) {
                spend(node.nanoseconds, node.count, at: Int(place))
            }
        }
    }

    private mutating func add(_ path: StackPath, group: Int, count: UInt64) -> Int32? {
        var place: Int32 = -1
        for frame in path.frames {
            let name = String(decoding: frame.name.utf8.prefix(Self.maximumNameBytes), as: UTF8.self)
            let module = frame.module?.split(separator: "/").last.map { String($0.prefix(100)) } ?? ""
            let origin: Origin = frame.isInApp ? .program : frame.module == nil ? .unknown : .library
            guard let next = child(of: place, group: group, Frame(name: name, module: module, origin: origin)) else {
                shortened += 1
                break
            }
            place = next
        }
        guard place >= 0 else { return nil }
        spend(path.nanoseconds, count, at: Int(place))
        return place
    }

    private mutating func spend(_ nanoseconds: UInt64, _ count: UInt64, at place: Int) {
        nodes[place].nanoseconds.addSaturated(nanoseconds)
        nodes[place].count += count
    }

    private mutating func child(of parent: Int32, group: Int, _ frame: Frame) -> Int32? {
        let place = parent < 0 ? UInt64(truncatingIfNeeded: group + 1) : UInt64(parent)
        if let known = frameIndices[frame.key] {
            frames[Int(known)].learn(frame)
            let key = place << 32 | UInt64(known)
            if let index = parent < 0 ? roots[key] : children[key] { return index }
        }
        guard nodes.count < Self.maximumNodes, frames.count < Self.maximumFrames else { return nil }
        let index = frameIndices[frame.key] ?? Int32(frames.count)
        if Int(index) == frames.count {
            frames.append(frame)
            frameIndices[frame.key] = index
        }
        let key = place << 32 | UInt64(index)
        let node = Int32(nodes.count)
        nodes.append(Node(parent: parent, frame: index, group: Int32(group)))
        if parent < 0 { roots[key] = node } else { children[key] = node }
        return node
    }
}

/// The bytes of a line's frames without the addresses, which differ in each process.
enum StackBytes {
    private static let pc: StaticString = "\"pc\":\""

    /// Nil if the line has no frames.
    static func hash(_ line: borrowing LineScanner, group: Int) -> UInt64? {
        guard let span = line.span(.frames), span.kind == .array else { return nil }
        let bytes = line.bytes(of: span)
        var hash = UInt64(truncatingIfNeeded: group) ^ (line.count(.framesTotal) ?? 0) << 32
        hash = line.withText(.processName) { ByteHash.hash($0, seed: hash) } ?? hash
        var start = 0
        while let found = find(in: bytes, from: start) {
            hash = ByteHash.hash(UnsafeBufferPointer(rebasing: bytes[start..<found]), seed: hash)
            start = found
            while start < bytes.count, bytes[start] != UInt8(ascii: "\"") { start += 1 }
        }
        return ByteHash.hash(UnsafeBufferPointer(rebasing: bytes[start...]), seed: hash)
    }

    /// Where the next address begins.
    private static func find(in bytes: UnsafeBufferPointer<UInt8>, from start: Int) -> Int? {
        guard let base = bytes.baseAddress else { return nil }
        let length = pc.utf8CodeUnitCount
        var place = start
        while place + length <= bytes.count {
            guard let found = memchr(base + place, CInt(letter), bytes.count - place) else { return nil }
            // One back, to the quote before the letter.
            place = UnsafeRawPointer(found) - UnsafeRawPointer(base) - 1
            guard place + length <= bytes.count else { return nil }
            if place >= start, memcmp(base + place, pc.utf8Start, length) == 0 { return place + length }
            place += 2
        }
        return nil
    }

    private static let letter = UInt8(ascii: "p")
}
