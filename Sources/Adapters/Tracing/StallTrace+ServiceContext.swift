#if Tracing
    public import LagMonitor
    public import Tracing

    extension StallTrace {
        /// The trace of the calling task, from whichever tracer the program has bootstrapped; nil: none.
        ///
        /// For `withStallContext(name: "GET /orders/:id", trace: .current)`.
        ///
        /// Any task. It asks the tracer for the header that it would send to another service. Not while no monitor wants
        /// contexts, because then `withStallContext` does not evaluate it.
        public static var current: StallTrace? { ServiceContext.current.flatMap { StallTrace($0) } }

        /// The trace of a service context. Any tracer of swift-distributed-tracing passes it on as W3C's `traceparent`.
        /// - Returns: nil if the context is in no trace, or its tracer does not support that header.
        public init?(_ context: ServiceContext) {
            var header: String?
            InstrumentationSystem.instrument.inject(context, into: &header, using: TraceParentInjector())
            guard let header else { return nil }
            self.init(traceParent: header)
        }

        /// The same as ``current`` for adapters; nil without the trait.
        package static var ofTask: StallTrace? { current }
    }

    /// Keeps only this header.
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

        package static var ofTask: StallTrace? { nil }
    }
#endif
