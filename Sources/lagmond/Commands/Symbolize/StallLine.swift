internal import LagOutput

/// A line with a stall record: where its stacks are, and what each frame says.
struct StallLine {
    /// A frame as it is in the line.
    struct Frame {
        let value: JSONText.Value
        let buildID: String?
        let module: String?
        let offset: UInt64?
        /// What it has, whatever that says: a member that is null stays so, for there cannot be two of one name.
        let members: Set<String>
        /// It was looked up before: it says where it is in the source, it is inlined, or it follows an inlined one.
        let hasPlace: Bool
        /// What its symbol is, if it has one.
        let symbol: String?
        /// What the record says; nil where it says nothing.
        let isInApp: Bool?
        /// Its address is the one after a call.
        let isReturnAddress: Bool
    }

    let text: JSONText
    /// Those of the stalled thread, of the lock's owner, of the threads of a cycle or chain, and of a pool's, as they follow each other in
    /// the line: an editor goes through its bytes once.
    let frames: [Frame]

    /// Nil when the line is some other JSON text.
    init?(_ text: JSONText) {
        guard text.string(text.member("schema", of: text.root)) == "\(StallRecord.schema)",
            text.string(text.member("event", of: text.root)) == "stall"
        else { return nil }
        self.text = text
        let owner = text.member("lock_owner", of: text.root).map { [$0] } ?? []
        let others = ["lock_cycle", "lock_chain", "workers"].flatMap { text.elements($0, of: text.root) }
        let threads = [text.root] + owner + others
        frames = threads.flatMap { Self.frames(of: text.elements("frames", of: $0), in: text) }
            .sorted { $0.value.range.lowerBound < $1.value.range.lowerBound }
    }

    private static func frames(of stack: [JSONText.Value], in text: JSONText) -> [Frame] {
        // The leaf is where the thread is; so is a frame that a signal handler's return leads to. Inlined frames stand
        // before the one whose address they share.
        var isReturnAddress = false
        var followsInlined = false
        return stack.map { value in
            let symbol = text.string(text.member("symbol", of: value))
            let isInlined = text.isTrue(text.member("inlined", of: value))
            let frame = Frame(
                value: value,
                buildID: text.string(text.member("build_id", of: value)),
                module: text.string(text.member("module", of: value)),
                offset: text.string(text.member("offset", of: value)).flatMap(hex),
                members: text.names(of: value),
                hasPlace: text.member("file", of: value) != nil || isInlined || followsInlined,
                symbol: symbol,
                isInApp: text.boolean(text.member("in_app", of: value)),
                isReturnAddress: isReturnAddress && !text.isTrue(text.member("async", of: value))
            )
            followsInlined = isInlined
            if !isInlined { isReturnAddress = !(symbol.map(signalReturns.contains) ?? false) }
            return frame
        }
    }

    /// What a signal handler returns to, on x86-64 (glibc) and on aarch64 (the kernel's image).
    private static let signalReturns: Set<String> = ["__restore_rt", "__kernel_rt_sigreturn"]

    private static func hex(_ text: String) -> UInt64? {
        text.hasPrefix("0x") ? UInt64(text.dropFirst(2), radix: 16) : nil
    }
}
