import CLagBeacon
internal import LagActivity
import Testing

/// The table of contexts: each cell has one writer, and a reader never sees a half-written context.
@Suite(.serialized) struct ContextCellTests {
    private func open(_ name: String, _ attributes: [(String, String)] = [], task: UInt64 = 0) -> UInt64 {
        var draft = clb_context_draft()
        var name = name
        name.withUTF8 { clb_draft_name(&draft, $0.baseAddress, $0.count) }
        for (name, value) in attributes {
            let (name, value) = (Array(name.utf8), Array(value.utf8))
            clb_draft_attribute(&draft, name, name.count, value, value.count)
        }
        return clb_context_open(&draft, task)
    }

    private func name(_ copy: clb_context_copy) -> String {
        withUnsafeBytes(of: copy.context.text) { String(decoding: $0.prefix(Int(copy.context.lengths & 0xff)), as: UTF8.self) }
    }

    @Test func `no context is recorded while no reader has requested contexts`() {
        #expect(clb_context_is_wanted() == 0 && open("nobody") == 0)
        clb_context_close(0)
    }

    @Test func `a token is valid only until its context is closed`() {
        #expect(clb_contexts_want() != 0)
        defer { clb_contexts_unwant() }
        let first = open("first", task: 7)
        var copy = clb_context_copy()
        #expect(clb_context_read(first, &copy) != 0 && name(copy) == "first" && copy.context.task == 7)
        clb_context_close(first)
        #expect(clb_context_read(first, &copy) == 0, "it is closed")
        let second = open("second")
        #expect(second >> 48 == first >> 48, "the same cell")
        #expect(clb_context_read(first, &copy) == 0 && clb_context_read(second, &copy) != 0 && name(copy) == "second")
        clb_context_close(second)
        for token in [0, .max, 1, UInt64(4096) << 48 | 2] as [UInt64] { #expect(clb_context_read(token, &copy) == 0) }
    }

    @Test func `a long name is truncated, and an attribute that does not fit is left out`() {
        _ = clb_contexts_want()
        defer { clb_contexts_unwant() }
        let token = open(
            String(repeating: "n", count: 100),
            [("a", String(repeating: "v", count: 100)), ("b", String(repeating: "w", count: 100)), ("c", "x")]
        )
        defer { clb_context_close(token) }
        var copy = clb_context_copy()
        #expect(clb_context_read(token, &copy) != 0)
        #expect(name(copy) == String(repeating: "n", count: 64))
        // A name of 64 bytes, one attribute of 1 + 64 bytes and one of 1 + 1, each with two lengths; the second one did not fit.
        #expect(copy.context.lengths >> 8 & 0xff == 64 + 67 + 4 && copy.context.lengths >> 16 == 1)
    }

    @Test func `contexts beyond the capacity of the table are refused and counted`() {
        _ = clb_contexts_want()
        defer { clb_contexts_unwant() }
        let refused = clb_context_refused()
        let tokens = (0..<Int(CLB_CONTEXTS) + 10).map { _ in open("many") }
        defer { for token in tokens { clb_context_close(token) } }
        let kept = tokens.filter { $0 != 0 }
        #expect(kept.count >= Int(CLB_CONTEXTS) - Int(CLB_CONTEXT_ATTEMPTS) && Set(kept).count == kept.count)
        #expect(clb_context_refused() == refused + UInt64(tokens.count - kept.count) && kept.count < tokens.count)
        #expect(clb_context_limit() == UInt32(CLB_CONTEXTS))
    }

    @Test func `a trace is parsed only from a valid W3C traceparent`() {
        #expect(StallTrace(traceParent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01") != nil)
        for wrong in [
            "", "00", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331",
            "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-00000000000000000000000000000000-b7ad6b7169203331-01", "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
            "00-0af7651916cd43dd8448eb211c80319-b7ad6b7169203331-01", "00-0af7651916cd43dd8448eb211c80319g-b7ad6b7169203331-01",
        ] { #expect(StallTrace(traceParent: wrong) == nil, "\(wrong)") }
    }
}
