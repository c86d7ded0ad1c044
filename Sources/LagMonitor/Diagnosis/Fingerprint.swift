internal import LagModel

/// What groups stalls: a hash of what was called, and one of the exact stack.
///
/// Neither holds a duration, a cause (but where there is no stack) or anything of the host or the process: both are the same under
/// address randomisation and on every host that runs the same files. Any thread.
package struct Fingerprint: Sendable, Hashable {
    /// What ``init(frames:)`` uses of a frame.
    package struct Frame: Sendable, Hashable {
        package var modulePath: String?
        package var buildID: String?
        /// The ELF virtual address.
        package var offset: UInt64?
        /// The same of its function's first byte, where that is known.
        package var functionOffset: UInt64?
        /// The simplified name.
        package var symbol: String?
        /// What tells functions of that symbol apart: which lambda of its function, which instance of a template.
        package var variant: String?
        /// By ``InAppRules``.
        package var inApp: Bool
        /// Whether a language's runtime knows the frame. ``modulePath`` is then the source file, and ``offset`` the line.
        package var isOfLanguage: Bool
        /// Whether the stacks that hold the function make up more than half of the stall.
        package var covers: Bool

        package init(
            modulePath: String?,
            buildID: String?,
            offset: UInt64?,
            functionOffset: UInt64? = nil,
            symbol: String?,
            variant: String? = nil,
            inApp: Bool,
            isOfLanguage: Bool = false,
            covers: Bool = true
        ) {
            self.isOfLanguage = isOfLanguage
            self.covers = covers
            self.modulePath = modulePath
            self.buildID = buildID
            self.offset = offset
            self.functionOffset = functionOffset
            self.symbol = symbol
            self.variant = variant
            self.inApp = inApp
        }

        /// The function: its symbol and variant, or else where it begins.
        var function: String {
            guard let symbol, !symbol.isEmpty else { return place(functionOffset ?? offset) }
            return symbol + (variant ?? "")
        }

        /// A lambda of the program's for which this library's template was made: the compiler has put the one into the other.
        package var closure: String? {
            inApp || isOfLanguage ? nil : variant.flatMap(TemplateClosure.init(in:))?.text
        }

        /// Build-id and offset; without a build-id the file's base name instead.
        func place(_ offset: UInt64?) -> String {
            let id = buildID.flatMap { $0.isEmpty ? nil : $0.lowercased() }
            let module = id ?? modulePath.map(ModuleName.base) ?? "?"
            return "\(module)+\(offset.map { String($0, radix: 16) } ?? "?")"
        }
    }

    /// Distinct in-app symbols that make a fingerprint.
    package static let depth = 5

    /// `v1:` and sixteen hex digits, over the leaf-most ``depth`` in-app symbols.
    ///
    /// Symbols of one name that are known to be different functions (``Frame/variant``) count as different ones, and a lambda that was put into
    /// a library's template as if it had a frame. A symbol counts once, where it is nearest to the leaf: so recursion of any period and depth gives the same
    /// fingerprint. A frame without a symbol counts as build-id and offset of its function. A stack without any in-app frame is
    /// taken by its leaf-most frames of any kind, and a stall without a stack by the words in its place. Where a language's runtime knows
    /// frames, only those count: the native ones around them differ with every build of the runtime.
    ///
    /// Of the frames that are left by all this, those that cover most of the stall count, unless none does: what else was on the stack when a sample
    /// was taken is chance, and would give the next stall of the same place another fingerprint.
    package let text: String
    /// Sixteen hex digits over build-id and offset of all frames.
    package let stackHash: String

    /// - Parameters:
    ///   - frames: leaf first.
    ///   - words: what is hashed where there is no stack.
    package init(frames: [Frame], orElse words: String = "") {
        let ofLanguage = frames.filter { $0.isOfLanguage && $0.symbol?.isEmpty == false }
        let counted = ofLanguage.isEmpty ? frames : ofLanguage
        // Which of the merged functions gives its name may change with every build.
        let named = counted.filter {
            $0.closure != nil || $0.inApp && $0.symbol?.hasPrefix(FrameRole.mergedPrefix) != true
        }
        let app = named.isEmpty ? counted.filter(\.inApp) : named
        let candidates = app.isEmpty ? counted : app
        let steady = candidates.filter(\.covers)
        var seen: Set<String> = []
        var hash = StableHash()
        for frame in steady.isEmpty ? candidates : steady {
            let token = frame.closure ?? frame.function
            guard seen.insert(token).inserted else { continue }
            hash.combine(token)
            if seen.count == Self.depth { break }
        }
        if frames.isEmpty, !words.isEmpty { hash.combine(words) }
        text = "v1:" + hash.text

        var exact = StableHash()
        for frame in frames { exact.combine(frame.place(frame.offset)) }
        stackHash = exact.text
    }
}
