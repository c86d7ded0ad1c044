#if Tracing
    import LagMonitor
    import LagMonitorTracing
    import Testing
    import Tracing

    /// Traces as a tracer passes them on.
    @Suite struct TracingTests {
        private static let header = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        private static let trace = StallTrace(traceParent: header)

        enum HeaderKey: ServiceContextKey { typealias Value = String }

        /// What a tracer does for a request to another service.
        private struct Propagator: Instrument {
            func extract<Carrier, Extract: Extractor>(
                _ carrier: Carrier,
                into context: inout ServiceContext,
                using extractor: Extract
            ) where Extract.Carrier == Carrier {}

            func inject<Carrier, Inject: Injector>(
                _ context: ServiceContext,
                into carrier: inout Carrier,
                using injector: Inject
            ) where Inject.Carrier == Carrier {
                injector.inject("a=b", forKey: "tracestate", into: &carrier)
                if let header = context[HeaderKey.self] { injector.inject(header, forKey: "Traceparent", into: &carrier) }
            }
        }

        static let isBootstrapped: Bool = {
            InstrumentationSystem.bootstrap(Propagator())
            return true
        }()

        @Test func `the current trace is that of the service context`() async {
            #expect(Self.isBootstrapped)
            #expect(StallTrace.current == nil)
            var context = ServiceContext.topLevel
            #expect(StallTrace(context) == nil)
            context[HeaderKey.self] = Self.header
            #expect(StallTrace(context) == Self.trace && Self.trace != nil)
            await ServiceContext.withValue(context) {
                async let child = StallTrace.current
                #expect(await child == Self.trace)
                withStallContext(name: "GET /", trace: .current) {}
            }
            context[HeaderKey.self] = "00-0-0-00"
            #expect(StallTrace(context) == nil)
        }
    }
#endif
