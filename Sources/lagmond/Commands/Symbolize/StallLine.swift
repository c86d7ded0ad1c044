internal import LagOutput

/// A line with a stall record: where its stacks are, and the contents of each frame.
struct StallLine {
    /// A frame as it is in the line.
    struct Frame {
        let value: JSONText.Value
        let buildID: String?
        let module: String?
        let offset: UInt64?
        /// The names of its members, even if null: such a member stays, because a name must not appear twice.
        let members: Set<String>
        /// It was symbolized before: it has a source position, it is inlined, or it follows an inlined frame.
        let hasPlace: Bool
        /// Its symbol, if it has one.
        let symbol: String?
        /// The record's value; nil if it has none.
        let isInApp: Bool?
        /// Whether its address is the one after a call.
        let isReturnAddress: Bool
    }

    let text: JSONText
    /// The frames of the stalled thread, the lock's owner, the threads of a cycle or chain, and a pool's threads, in the order of
    /// the line, so that an editor needs one pass over its bytes.
    let frames: [Frame]

    /// Nil if the line is some other JSON text.
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
        // The leaf's address is the thread's current position; so is that of a frame to which a signal handler returns. Inlined
        // frames precede the frame whose address they share.
        var isReturnAddress = false
        var followsInlined = false
        return stack.map { value in
            let symbol = text.string(text.member("symbol", of: value))
            let isInlined = text.isTrue(text.member("inlined", of: value))
            let frame = Frame(
                value: value,
                buildID: text.string(text.member("build_id", of: value)),
                module: text.string(text.member("module", of: value)),
                offset: text.string(text.member("offset", of: value)).flatMap { Hexadecimal.address($0) },
                members: text.names(of: value),
                hasPlace: text.member("file", of: value) != nil || isInlined || followsInlined,
                symbol: symbol,
                isInApp: text.boolean(text.member("in_app", of: value)),
                isReturnAddress: isReturnAddress && !text.isTrue(text.member("async", of: value))
            )
            followsInlined = isInlined && !text.isTrue(text.member("tail_call", of: value))
            if !isInlined { isReturnAddress = !(symbol.map(signalReturns.contains) ?? false) }
            return frame
        }
    }

    /// The functions that a signal handler returns to: x86-64 (glibc) and aarch64 (the kernel's image).
    private static let signalReturns: Set<String> = ["__restore_rt", "__kernel_rt_sigreturn"]
}
