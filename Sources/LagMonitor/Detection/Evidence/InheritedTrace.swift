package import CLagBeacon

/// For a context without a trace: the trace of the nearest context around it.
package struct InheritedTrace: Sendable {
    /// The context without a trace.
    package var token: UInt64 = 0
    package private(set) var (high, low, span): (UInt64, UInt64, UInt64) = (0, 0, 0)
    private var openedNanoseconds: UInt64 = 0
    private var isAmbiguous = false

    package init() {}

    package var isCertain: Bool { span != 0 && !isAmbiguous }

    /// Considers one of those around it, in any order: the nearest was opened last.
    package mutating func consider(_ copy: UnsafePointer<clb_context_copy>) {
        let context = copy.pointee.context
        guard context.span != 0, context.opened_ns >= openedNanoseconds else { return }
        let isSame = context.trace_high == high && context.trace_low == low && context.span == span
        // They were opened between two ticks of the kernel's clock.
        isAmbiguous = context.opened_ns == openedNanoseconds && (isAmbiguous || !isSame)
        (high, low, span) = (context.trace_high, context.trace_low, context.span)
        openedNanoseconds = context.opened_ns
    }
}
