package import LagModel

/// What groups stalls: a hash of what was called, and one of the exact stack.
///
/// Neither holds a duration, a cause (but where there is no stack) or anything of the host or the process: both are the same under
/// address randomisation and on every host that runs the same files. Any thread.
package struct Fingerprint: Sendable, Hashable {
    /// Distinct in-app symbols that make a fingerprint.
    package static let depth = 5

    /// `v1:` and sixteen hex digits, over the leaf-most ``depth`` in-app symbols.
    ///
    /// Symbols of one name that are known to be different functions (``StallRecord/Frame/variant``) count as different
    /// ones, and a lambda that was put into a library's template as if it had a frame. A symbol counts once, where it is nearest to the leaf: so recursion of any period and depth gives the same
    /// fingerprint. A frame without a symbol counts as build-id and offset of its function. A stack without any in-app frame is
    /// taken by its leaf-most frames of any kind, and a stall without a stack by the words in its place. Where a language's runtime knows
    /// frames, those count, and native ones of the program's own that they call; other native ones differ with every build of the runtime.
    ///
    /// Of the frames that are left by all this, those that cover most of the stall count, unless none does: what else was on the stack when a sample
    /// was taken is chance, and would give the next stall of the same place another fingerprint.
    package let text: String
    /// Sixteen hex digits over build-id and offset of all frames.
    package let stackHash: String

    private typealias Weighed = (frame: StallRecord.Frame, covers: Bool)

    /// - Parameters:
    ///   - frames: leaf first; `covers` says whether the stacks that hold the function make up more than half of the stall.
    ///   - words: what is hashed where there is no stack.
    package init(frames: [(frame: StallRecord.Frame, covers: Bool)], orElse words: String = "") {
        let counted = Self.counted(frames)
        // Which of the merged functions gives its name may change with every build.
        let named = counted.filter {
            $0.frame.closure != nil
                || $0.frame.inApp == true && $0.frame.symbol?.hasPrefix(FrameRole.mergedPrefix) != true
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

    /// What is further out than all frames of a language started its runtime.
    private static func counted(_ frames: [Weighed]) -> [Weighed] {
        func isOfLanguage(_ frame: StallRecord.Frame) -> Bool { frame.language != nil && frame.symbol?.isEmpty == false }
        guard let outermost = frames.lastIndex(where: { isOfLanguage($0.frame) }) else { return frames }
        return frames[...outermost].filter {
            isOfLanguage($0.frame) || $0.frame.language == nil && $0.frame.inApp == true && !$0.frame.isRuntime
        }
    }
}

extension StallRecord.Frame {
    /// A lambda of the program's for which this library's template was made: the compiler has put the one into the other.
    package var closure: String? {
        inApp == true || language != nil ? nil : variant.flatMap(TemplateClosure.init(in:))?.text
    }

    /// Its symbol and variant, or else where the function begins.
    fileprivate var functionOrPlace: String {
        guard let symbol, !symbol.isEmpty else { return stablePlace(functionOffset ?? offsetOrLine) }
        return symbol + (variant ?? "")
    }

    /// Where it is in its module; of a language's frame, the line in its source file.
    fileprivate var offsetOrLine: UInt64? { language == nil ? offset : line.map { UInt64(clamping: $0) } }

    /// Build-id and offset; without a build-id the file's base name instead.
    fileprivate func stablePlace(_ offset: UInt64?) -> String {
        let id = buildID.flatMap { $0.isEmpty ? nil : $0.lowercased() }
        let name = id ?? (language == nil ? module : file).map(ModuleName.base) ?? "?"
        return "\(name)+\(offset.map { String($0, radix: 16) } ?? "?")"
    }
}
