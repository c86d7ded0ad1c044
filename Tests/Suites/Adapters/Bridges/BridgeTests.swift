#if Hummingbird && GRPC && NIO && Tracing && Logging
    import Dispatch
    import GRPCCore
    import Glibc
    import HTTPTypes
    import Hummingbird
    import LagMonitor
    import LagMonitorConcurrency
    import LagMonitorGRPC
    import LagMonitorHummingbird
    import Logging
    import NIOCore
    import NIOPosix
    import TestSupport
    import Testing
    import Tracing

    /// What the server bridges report about a request: in the handler, and in work after its return.
    @Suite(.serialized) struct BridgeTests {
        private static let trace = "0af7651916cd43dd8448eb211c80319c"
        private static let callers = "00-\(trace)-00000000000000ff-01"

        /// The service context that a tracer's middleware sets around the bridge, with its own span.
        private static var traced: ServiceContext {
            _ = TracingTests.isBootstrapped
            var context = ServiceContext.topLevel
            context[TracingTests.HeaderKey.self] = "00-\(trace)-00000000000000aa-01"
            return context
        }

        /// Runs work on the pool that blocks at some point, until the stall is found.
        private static func record(_ body: @escaping @Sendable (StallSearch) async throws -> Void) async throws -> StallRecord {
            var configuration = StallMonitorConfiguration()
            configuration.contexts = .recorded
            let monitor = StallMonitor(configuration: configuration)
            let collected = CollectedRecords()
            monitor.onStall(queue: DispatchQueue(label: "stalls")) { collected.add($0) }
            try monitor.start()
            defer { monitor.stop() }
            try monitor.watchConcurrencyPool([.high, .medium, .low])
            // On a busy machine, other work of the pool stalls, too: then that may have been found, and the work is repeated.
            var records: [StallRecord] = []
            for _ in Attempts("a stall in blockInARequest") {
                let search = StallSearch(monitor)
                try await Task.detached(priority: .medium) { try await body(search) }.value
                // Not by `eventually`: a thread of the pool that it blocks is a stall, too.
                for _ in 0..<1000 where records.isEmpty {
                    try await Task.sleep(for: .milliseconds(10))
                    records = collected.records.filter { $0.frames.contains { $0.symbol?.contains("blockInARequest") ?? false } }
                }
                if !records.isEmpty { break }
            }
            #expect(records.count == 1, "\(collected.records)")
            return try #require(records.first)
        }

        private static func response(_ router: Router<BasicRequestContext>, _ path: String, traced: Bool) async throws -> Response
        {
            let channel = try await DatagramBootstrap(group: MultiThreadedEventLoopGroup.singleton).bind(
                host: "127.0.0.1",
                port: 0
            ).get()
            defer { channel.close(promise: nil) }
            let context = BasicRequestContext(
                source: ApplicationRequestContextSource(channel: channel, logger: Logger(label: "test"))
            )
            var head = HTTPRequest(method: .get, scheme: "http", authority: "localhost", path: path)
            head.headerFields[HTTPField.Name("traceparent")!] = callers
            let request = Request(head: head, body: RequestBody(buffer: ByteBuffer()))
            let responder = router.buildResponder()
            guard traced else { return try await responder.respond(to: request, context: context) }
            return try await ServiceContext.withValue(Self.traced) { try await responder.respond(to: request, context: context) }
        }

        private struct NoWriter: ResponseBodyWriter {
            func write(_ buffer: ByteBuffer) async throws {}
            consuming func finish(_ trailingHeaders: HTTPFields?) async throws {}
        }

        @inline(never) private static func blockInARequest() { usleep(500_000) }

        private static func router(_ search: StallSearch) -> Router<BasicRequestContext> {
            let router = Router()
            router.add(middleware: StallContextMiddleware { _, context in ["id": context.parameters.get("id") ?? ""] })
            router.get("blocks/:id") { _, _ in
                repeat { blockInARequest() } while !search.isOver
                return "fine"
            }
            router.get("streams/:id") { _, _ in
                Response(
                    status: .ok,
                    body: ResponseBody { writer in
                        repeat { blockInARequest() } while !search.isOver
                        try await writer.finish(nil)
                    }
                )
            }
            return router
        }

        @Test(arguments: [true, false]) func `a stall in a Hummingbird handler reports its request`(_ traced: Bool) async throws {
            let record = try await Self.record { search in
                let response = try await Self.response(Self.router(search), "/blocks/7", traced: traced)
                // A known length is unchanged.
                #expect(response.body.contentLength == 4)
            }
            #expect(record.request?.name == "GET /blocks/{id}" && record.request?.attributes.first?.value == "7", "\(record)")
            #expect(record.traceID == Self.trace && record.spanID == (traced ? "00000000000000aa" : "00000000000000ff"))
        }

        @Test func `a stall in a streamed response body reports the request and its trace`() async throws {
            let record = try await Self.record { search in
                let response = try await Self.response(Self.router(search), "/streams/8", traced: true)
                #expect(response.body.contentLength == nil)
                try await response.body.write(NoWriter())
            }
            #expect(record.request?.name == "GET /streams/{id}" && record.request?.attributes.first?.value == "8", "\(record)")
            #expect(record.traceID == Self.trace && record.spanID == "00000000000000aa")
        }

        @Test(arguments: [true, false])
        func `a stall in a gRPC call reports the method, in the handler and in its response`(_ inAnswer: Bool) async throws {
            // Too long for a context's name.
            let package = String(repeating: "long.", count: 12)
            let method = MethodDescriptor(fullyQualifiedService: package + "Orders", method: "Get")
            let record = try await Self.record { search in
                let response = try await ServiceContext.withValue(Self.traced) {
                    try await withServerContextRPCCancellationHandle { handle in
                        try await StallContextInterceptor { _, metadata in
                            ["id": metadata[stringValues: "id"].first { _ in true } ?? ""]
                        }.intercept(
                            request: StreamingServerRequest(
                                metadata: ["id": "9"],
                                messages: RPCAsyncSequence(wrapping: Self.nothing)
                            ),
                            context: ServerContext(descriptor: method, remotePeer: "", localPeer: "", cancellation: handle)
                        ) { (_: StreamingServerRequest<[UInt8]>, _) in
                            if !inAnswer { repeat { Self.blockInARequest() } while !search.isOver }
                            return StreamingServerResponse<[UInt8]> { _ in
                                if inAnswer { repeat { Self.blockInARequest() } while !search.isOver }
                                return ["end": "yes"]
                            }
                        }
                    }
                }
                let end = try await response.accepted.get().producer(RPCWriter(wrapping: NoMessages()))
                #expect(Array(end[stringValues: "end"]) == ["yes"])
            }
            #expect(record.request?.name == "Orders/Get" && record.request?.attributes.first?.value == "9", "\(record)")
            #expect(record.traceID == Self.trace && record.spanID == "00000000000000aa")
        }

        private static var nothing: AsyncThrowingStream<[UInt8], any Error> { AsyncThrowingStream { $0.finish() } }

        private struct NoMessages: RPCWriterProtocol {
            func write(_ element: [UInt8]) async throws {}
            func write(contentsOf elements: some Sequence<[UInt8]>) async throws {}
        }
    }
#endif
