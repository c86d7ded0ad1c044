#if Tracing
    public import LagMonitor
    public import Tracing

    extension StallTrace {
        /// The trace that the calling task is in, by whichever tracer the program has bootstrapped; nil: none.
        ///
        /// For `withStallContext(name: "GET /orders/:id", trace: .current)`.
        ///
        /// Any task. A tracer is asked for the header that it would send to another service; not while no monitor wants contexts, for `withStallContext`
        /// does not evaluate it then.
        public static var current: StallTrace? { ServiceContext.current.flatMap { StallTrace($0) } }

        /// The trace of a service context, which any tracer of swift-distributed-tracing hands on as W3C's `traceparent`.
        /// - Returns: nil where it is in no trace, or its tracer knows no such header.
        public init?(_ context: ServiceContext) {
            var header: String?
            InstrumentationSystem.instrument.inject(context, into: &header, using: TraceParentInjector())
            guard let header else { return nil }
            self.init(traceParent: header)
        }
    }

    /// Keeps the one header.
    private struct TraceParentInjector: Injector {
        func inject(_ value: String, forKey key: String, into carrier: inout String?) {
            if key.lowercased() == "traceparent" { carrier = value }
        }
    }
#else
    public import LagMonitor

    extension StallTrace {
        @available(*, unavailable, message: "turn on the trait 'Tracing' of the package LagMonitor: traits: [\"Tracing\"]")
        public static var current: StallTrace? { nil }

        @available(*, unavailable, message: "turn on the trait 'Tracing' of the package LagMonitor: traits: [\"Tracing\"]")
        public init?(_ context: Any) { nil }
    }
#endif
