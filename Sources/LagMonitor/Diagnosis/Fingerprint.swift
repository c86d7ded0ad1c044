package import LagModel

/// Groups stalls: a hash of the called functions, and one of the exact stack.
///
/// Neither contains a duration, a cause (except without a stack) or anything about the host or the process: both are the same
/// under address randomisation and on every host that runs the same files. Any thread.
package struct Fingerprint: Sendable, Hashable {
    /// Number of distinct in-app symbols in a fingerprint.
    package static let depth = 5

    /// `v1:` and sixteen hex digits, over the leaf-most ``depth`` in-app symbols.
    ///
    /// Symbols of one name that are known to be different functions (``StallRecord/Frame/variant``) count as different ones. A
    /// lambda that was inlined into a library's template counts as if it had a frame. A symbol counts once, where it is nearest
    /// to the leaf, so recursion of any period and depth gives the same fingerprint. A frame without a symbol counts as build-id
    /// and offset of its function. For a stack without any in-app frame, its leaf-most frames of any kind count; for a stall
    /// without a stack, the words in its place. If a language's runtime knows frames, those count, and the program's own native
    /// frames that they call; other native frames differ with every build of the runtime.
    ///
    /// Of the frames that remain, those that cover most of the stall count, unless none does: the others on the stack at the time
    /// of a sample are chance, and would give the next stall at the same place another fingerprint.
    package let text: String
    /// Sixteen hex digits over build-id and offset of all frames.
    package let stackHash: String

    private typealias Weighed = (frame: StallRecord.Frame, covers: Bool)

    /// - Parameters:
    ///   - frames: leaf first; `covers` is whether the stacks that contain the function make up more than half of the stall.
    ///   - words: what is hashed if there is no stack.
    package init(frames: [(frame: StallRecord.Frame, covers: Bool)], orElse words: String = "") {
        let counted = Self.counted(frames)
        // Which of the merged functions gives its name may change with every build.
        let named = counted.filter {
            $0.frame.closure != nil
                || $0.frame.inApp == true
                    && ($0.frame.language != nil || $0.frame.symbol?.hasPrefix(FrameRole.mergedPrefix) != true)
        }
        let app = named.isEmpty ? counted.filter { $0.frame.inApp == true } : named
        let candidates = app.isEmpty ? counted : app
        let steady = candidates.filter(\.covers)
        var seen: Set<String> = []
        var hash = StableHash()
        for (frame, _) in steady.isEmpty ? candidates : steady {
            let token = frame.closure ?? frame.functionOrPlace
            guard seen.insert(token).inserted else { continue }
            hash.combine(token)
            if seen.count == Self.depth { break }
        }
        if frames.isEmpty, !words.isEmpty { hash.combine(words) }
        text = "v1:" + hash.text

        var exact = StableHash()
        for (frame, _) in frames { exact.combine(frame.stablePlace(frame.offsetOrLine)) }
        stackHash = exact.text
    }

    /// Frames further out than all frames of a language started its runtime.
    private static func counted(_ frames: [Weighed]) -> [Weighed] {
        func isOfLanguage(_ frame: StallRecord.Frame) -> Bool { frame.language != nil && frame.symbol?.isEmpty == false }
        guard let outermost = frames.lastIndex(where: { isOfLanguage($0.frame) }) else { return frames }
        return frames[...outermost].filter {
            isOfLanguage($0.frame) || $0.frame.language == nil && $0.frame.inApp == true && !$0.frame.isRuntime
        }
    }
}

extension StallRecord.Frame {
    /// A lambda of the program for which this library template was instantiated: the compiler has inlined the lambda into the
    /// template.
    package var closure: String? {
        inApp == true || language != nil ? nil : variant.flatMap(TemplateClosure.init(in:))?.text
    }

    /// Its symbol and variant, otherwise the function's start.
    fileprivate var functionOrPlace: String {
        guard let symbol, !symbol.isEmpty else { return stablePlace(functionOffset ?? offsetOrLine) }
        return symbol + (variant ?? "")
    }

    /// Its place in its module; for a language's frame, the line in its source file.
    fileprivate var offsetOrLine: UInt64? { language == nil ? offset : line.map { UInt64(clamping: $0) } }

    /// Build-id and offset; without a build-id, the file's base name instead.
    fileprivate func stablePlace(_ offset: UInt64?) -> String {
        let id = buildID.flatMap { $0.isEmpty ? nil : $0.lowercased() }
        let name = id ?? (language == nil ? module : file).map(ModuleName.base) ?? "?"
        return "\(name)+\(offset.map { String($0, radix: 16) } ?? "?")"
    }
}
