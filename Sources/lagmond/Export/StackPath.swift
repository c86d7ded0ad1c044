internal import LagReader

/// A way from a program's root to what it stood in, and the time that belongs to it.
struct StackPath {
    /// Root first.
    let frames: [ExportFrame]
    let nanoseconds: UInt64

    /// The ways of a stall, whose times sum up to its duration: those of the merged tree of all looks where the line has one, else the
    /// one stack.
    static func paths(of stall: ReadStall) -> [StackPath] {
        let root = ExportFrame(name: stall.processName.isEmpty ? "process" : stall.processName)
        guard stall.sampleTree.isEmpty else { return paths(ofTree: stall, root: root) }
        var frames = stall.frames.reversed().map(ExportFrame.init)
        let depth = stall.frames.count { !$0.isInlined }
        if stall.framesTotal > UInt64(depth), depth > 0 { frames.insert(ExportFrame(name: trimmed), at: 0) }
        if frames.isEmpty { frames = [ExportFrame(name: "[no stack]")] }
        return [StackPath(frames: [root] + frames, nanoseconds: stall.durationNanoseconds)]
    }

    /// Where the line had no room for frames nearer to the root.
    private static let trimmed = "[trimmed]"
    /// What the looks do not stand for.
    private static let notLookedAt = "[not sampled]"

    private static func paths(ofTree stall: ReadStall, root: ExportFrame) -> [StackPath] {
        let known = Dictionary(stall.frames.compactMap { frame in frame.symbol.map { ($0, ExportFrame(frame)) } }) { first, _ in
            first
        }
        var paths: [StackPath] = []
        var sum: UInt64 = 0
        func walk(_ node: ReadStall.Sample, _ above: [ExportFrame]) {
            var frames = above
            if let total = node.framesTotal, total > UInt64(node.frames.count) { frames.append(ExportFrame(name: trimmed)) }
            frames += node.frames.map { known[$0] ?? ExportFrame(name: $0) }
            let below = node.children.reduce(UInt64(0)) { $0.addingSaturated($1.nanoseconds) }
            let own = node.nanoseconds > below ? node.nanoseconds - below : 0
            if own > 0 { paths.append(StackPath(frames: frames, nanoseconds: own)) }
            sum = sum.addingSaturated(own)
            for child in node.children { walk(child, frames) }
        }
        for node in stall.sampleTree { walk(node, [root]) }
        if stall.durationNanoseconds > sum {
            let rest = stall.durationNanoseconds - sum
            paths.append(StackPath(frames: [root, ExportFrame(name: notLookedAt)], nanoseconds: rest))
        }
        return paths
    }
}

/// A frame as profilers know it.
struct ExportFrame: Hashable {
    /// The short name; in its place module and offset, or the address.
    var name: String
    var function: String?
    var module: String?
    var buildID: String?
    var offset: UInt64?
    var pc: UInt64?
    var symbolOffset: UInt64?
    var file: String?
    var line: UInt64?

    init(name: String) { self.name = Self.harmless(name) }

    init(_ frame: ReadStall.Frame) {
        let place = frame.offset.map { "\(frame.module?.split(separator: "/").last ?? "?")+\($0)" }
        name = Self.harmless(frame.symbol.flatMap { $0.isEmpty ? nil : $0 } ?? place ?? (frame.pc.isEmpty ? "?" : frame.pc))
        function = frame.function
        module = frame.module
        buildID = frame.buildID
        offset = frame.offset.flatMap(Self.address)
        pc = Self.address(frame.pc)
        symbolOffset = frame.symbolOffset
        file = frame.file
        line = frame.line
    }

    /// The same place of a program: frames of one are merged, whatever process they were in.
    var identity: String { "\(name)\u{1}\(buildID ?? "")\u{1}\(module ?? "")\u{1}\(file ?? "")\u{1}\(line ?? 0)" }

    private static func address(_ text: String) -> UInt64? {
        text.hasPrefix("0x") ? UInt64(text.dropFirst(2), radix: 16) : nil
    }

    /// Without what readers of text formats split at: `;`, `->`, ends of lines.
    static func harmless(_ name: String) -> String {
        let clean = PlainText.harmless(name.utf8)
        guard clean.contains(";") || clean.contains("->") else { return clean }
        return clean.replacing("->", with: "→").replacing(";", with: ":")
    }
}

extension UInt64 {
    fileprivate func addingSaturated(_ other: UInt64) -> UInt64 {
        let (sum, isTooMuch) = addingReportingOverflow(other)
        return isTooMuch ? .max : sum
    }
}
