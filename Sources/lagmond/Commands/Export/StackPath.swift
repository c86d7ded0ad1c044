internal import LagModel
internal import LagReader

/// A path from a program's root to a leaf function, and the stalled time of that path.
struct StackPath {
    /// Root first.
    let frames: [ExportFrame]
    let nanoseconds: UInt64

    /// Limits what one line can cost, since anyone may have written it.
    static let maximumFrames = 1024
    static let maximumPaths = 4096
    /// For the names in all paths together.
    private static let maximumBytes = 16 << 20
    private static let bytesPerFrame = 64

    /// Passes on the paths of a stall, whose times add up to its duration: those of the merged tree of all samples if the line
    /// has one, else the single stack. What exceeds the bounds becomes `[trimmed]`.
    static func forEach(of stall: ParsedStall, _ take: (StackPath) -> Void) {
        let root = root(of: stall.processName)
        guard stall.sampleTree.isEmpty else { return walk(treeOf: stall, root: root, take) }
        var frames = stall.frames.prefix(maximumFrames).reversed().map(ExportFrame.init)
        let depth = stall.frames.count { $0.inlined != true }
        if stall.frames.count > maximumFrames || (stall.framesTotal > UInt64(depth) && depth > 0) {
            frames.insert(ExportFrame(name: trimmed), at: 0)
        }
        if frames.isEmpty { frames = [ExportFrame(name: "[no stack]")] }
        take(StackPath(frames: [root] + frames, nanoseconds: stall.durationNanoseconds))
    }

    /// The first frame of every path of a process.
    static func root(of process: String) -> ExportFrame { ExportFrame(name: process.isEmpty ? "process" : process) }

    /// Replaces frames nearer to the root that did not fit in the line.
    private static let trimmed = "[trimmed]"
    /// Time that the samples do not cover.
    private static let notSampled = "[not sampled]"

    private static func walk(treeOf stall: ParsedStall, root: ExportFrame, _ take: (StackPath) -> Void) {
        let known = Dictionary(stall.frames.compactMap { frame in frame.symbol.map { ($0, ExportFrame(frame)) } }) { first, _ in
            first
        }
        let trimmed = ExportFrame(name: Self.trimmed)
        var sum: UInt64 = 0
        var trimmedNanoseconds: UInt64 = 0
        var (paths, bytes) = (0, 0)
        // One path that grows and shrinks: a copy for each node would cost the square of the depth.
        var frames = [root]
        func emit(_ nanoseconds: UInt64) {
            paths += 1
            bytes += frames.reduce(0) { $0 + $1.name.utf8.count + Self.bytesPerFrame }
            guard paths <= Self.maximumPaths, bytes <= Self.maximumBytes else {
                trimmedNanoseconds = trimmedNanoseconds.saturatingSum(nanoseconds)
                return
            }
            take(StackPath(frames: frames, nanoseconds: nanoseconds))
        }
        func push(_ frame: @autoclosure () -> ExportFrame) {
            if frames.count < Self.maximumFrames { return frames.append(frame()) }
            if frames.count == Self.maximumFrames { frames.append(trimmed) }
        }
        func walk(_ node: ParsedStall.Sample) {
            let above = frames.count
            defer { frames.removeLast(frames.count - above) }
            if let total = node.framesTotal, total > UInt64(node.frames.count) { push(trimmed) }
            for name in node.frames { push(known[name] ?? ExportFrame(name: name)) }
            let below = node.children.reduce(UInt64(0)) { $0.saturatingSum($1.nanoseconds) }
            let own = node.nanoseconds.saturatingDifference(below)
            if own > 0 { emit(own) }
            sum = sum.saturatingSum(own)
            for child in node.children { walk(child) }
        }
        for node in stall.sampleTree { walk(node) }
        if trimmedNanoseconds > 0 { take(StackPath(frames: [root, trimmed], nanoseconds: trimmedNanoseconds)) }
        if stall.durationNanoseconds > sum {
            let rest = stall.durationNanoseconds - sum
            take(StackPath(frames: [root, ExportFrame(name: notSampled)], nanoseconds: rest))
        }
    }
}

/// A frame as profilers represent it.
struct ExportFrame: Hashable {
    /// The short name; without one, module and offset, or the address.
    var name: String
    var function: String?
    var module: String?
    var buildID: String?
    var offset: UInt64?
    var pc: UInt64?
    var symbolOffset: UInt64?
    var file: String?
    var line: UInt64?
    var isInApp = false

    init(name: String) { self.name = Self.sanitized(name) }

    init(_ frame: StallRecord.Frame) {
        let place = frame.offset.map { "\(frame.module?.split(separator: "/").last ?? "?")+\(Hexadecimal.address($0))" }
        let address = frame.pc == 0 ? "?" : Hexadecimal.address(frame.pc)
        name = Self.sanitized(frame.symbol.flatMap { $0.isEmpty ? nil : $0 } ?? place ?? address)
        function = frame.function
        module = frame.module
        buildID = frame.buildID
        offset = frame.offset
        pc = frame.pc
        symbolOffset = frame.symbolOffset
        file = frame.file
        line = frame.line.flatMap(UInt64.init(exactly:))
        isInApp = frame.inApp == true
    }

    /// Frames with the same identity are merged, whatever process they were in.
    var identity: String { "\(name)\u{1}\(buildID ?? "")\u{1}\(module ?? "")\u{1}\(file ?? "")\u{1}\(line ?? 0)" }

    /// Without the separators of text formats: `;`, `->`, line ends.
    static func sanitized(_ name: String) -> String {
        let clean = PlainText.sanitized(name.utf8)
        guard clean.contains(";") || clean.contains("->") else { return clean }
        return clean.replacing("->", with: "→").replacing(";", with: ":")
    }
}
