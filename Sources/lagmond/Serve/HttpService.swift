internal import Glibc
internal import LagMonitor
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import Synchronization

/// `/metrics`, `/healthz` and `/stalls` over HTTP.
///
/// The server runs on a thread of its own, so it answers while the main thread hangs. What clients can take is bounded (``HttpLimits``).
final class HttpService: Sendable {
    private let address: ListenAddress
    private let pages: HttpPages
    private let limits: HttpLimits
    private let connections = Atomic<Int>(0)

    private static let restartSeconds: Int64 = 1
    /// What clients of `/stalls` get to take the last lines.
    private static let drain: Duration = .milliseconds(200)
    /// An event loop ends the process where it gets no descriptors: its poller, its waker, its timer, and the listener.
    private static let descriptorsToStart = 8

    init(address: ListenAddress, live: LiveLines, output: HealthTrackingSink, limits: HttpLimits = HttpLimits()) {
        self.address = address
        self.limits = limits
        pages = HttpPages(live: live, output: output)
    }

    /// Listens, and says where.
    /// - Throws: when the address cannot be had.
    @discardableResult
    func start(_ subject: any HttpStatusSource) throws(StartFailure) -> ListenAddress {
        pages.serve(subject)
        guard Self.hasDescriptors else { throw refusal(EMFILE) }
        do {
            let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
            let channel = try listen(on: address, group).wait()
            let own = ListenAddress(host: address.host, port: UInt16(channel.localAddress?.port ?? 0))
            listenAgain(after: channel, on: own, group)
            Diagnostics.report("listening on http://\(own)")
            return own
        } catch {
            throw refusal(error)
        }
    }

    /// After the last line: waits a moment for the clients to read it.
    func finish() {
        pages.live.close()
        let deadline = MonotonicTime.now + Self.drain
        while pages.live.clients > 0, MonotonicTime.now < deadline { usleep(5000) }
    }

    private func listen(on address: ListenAddress, _ group: any EventLoopGroup) throws -> EventLoopFuture<any Channel> {
        let host =
            switch address.host {
            case .ip4(let host), .ip6(let host): host
            }
        return ServerBootstrap(group: group)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            // A client that sends no more may still read.
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            .childChannelInitializer { [self] channel in
                channel.eventLoop.makeCompletedFuture { try serve(channel) }
            }
            .bind(to: try SocketAddress(ipAddress: host, port: Int(address.port)))
    }

    /// A listener that ends (the system refuses it) is reported, and another one starts.
    private func listenAgain(after channel: any Channel, on address: ListenAddress, _ group: any EventLoopGroup) {
        channel.closeFuture.whenComplete { [self] _ in
            Diagnostics.report("http: the listener ended; listening again")
            retry(address, group)
        }
    }

    private func retry(_ address: ListenAddress, _ group: any EventLoopGroup) {
        group.next().scheduleTask(in: .seconds(Self.restartSeconds)) { [self] in
            try listen(on: address, group).whenComplete { result in
                switch result {
                case .success(let channel): self.listenAgain(after: channel, on: address, group)
                case .failure: self.retry(address, group)
                }
            }
        }
    }

    private func serve(_ channel: any Channel) throws {
        let count = connections.add(1, ordering: .relaxed).newValue
        channel.closeFuture.whenComplete { [self] _ in connections.subtract(1, ordering: .relaxed) }
        let pipeline = channel.pipeline.syncOperations
        guard count <= limits.connections else {
            let waits = count <= 2 * limits.connections
            return try pipeline.addHandler(RefusedConnection(limits: limits, waits: waits))
        }
        var fields = NIOHTTPDecoderLimitConfiguration()
        fields.maxHeaderFieldSize = limits.headBytes
        fields.maxHeaderListSize = limits.headBytes
        fields.maxHeaderFieldCount = limits.headers
        let gate = RequestGate(limits: limits)
        try pipeline.addHandlers([
            HTTPResponseEncoder(), gate, ByteToMessageHandler(HTTPRequestDecoder(limitConfiguration: fields)),
            HttpExchange(pages: pages, limits: limits, gate: gate),
        ])
    }

    private static var hasDescriptors: Bool {
        let probes = (0..<descriptorsToStart).map { _ in fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3) }
        defer { for probe in probes where probe >= 0 { close(probe) } }
        return probes.allSatisfy { $0 >= 0 }
    }

    private func refusal(_ error: any Error) -> StartFailure {
        guard let error = error as? IOError else { return refusal(reason: "\(error)") }
        return refusal(error.errnoCode)
    }

    private func refusal(_ number: Int32) -> StartFailure {
        refusal(reason: "\(Diagnostics.reason(number)) (errno \(number))")
    }

    private func refusal(reason: String) -> StartFailure {
        StartFailure(status: ExitStatus.systemError, message: "http.listen: cannot listen on \(address): \(reason)")
    }
}

/// A connection beyond ``HttpLimits/connections``: it learns why, and ends. What it sends is dropped.
private final class RefusedConnection: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let limits: HttpLimits
    /// Whether the client has a moment to read the answer. Many of them get none.
    private let waits: Bool

    init(limits: HttpLimits, waits: Bool) {
        self.limits = limits
        self.waits = waits
    }

    func channelActive(context: ChannelHandlerContext) {
        let text = "\(limits.connections) connections are open, which is the limit\n"
        let head = [
            "HTTP/1.1 503 Service Unavailable", "Content-Type: text/plain; charset=utf-8", "Connection: close", "Retry-After: 5",
            "Content-Length: \(text.utf8.count)", "", text,
        ]
        let answer = context.channel.allocator.buffer(string: head.joined(separator: "\r\n"))
        context.writeAndFlush(wrapOutboundOut(answer), promise: nil)
        guard waits else { return context.close(promise: nil) }
        context.close(mode: .output, promise: nil)
        let channel = context.channel
        context.eventLoop.scheduleTask(in: .milliseconds(limits.closeMilliseconds)) { channel.close(promise: nil) }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {}

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case ChannelEvent.inputClosed = event { context.close(promise: nil) }
    }
}
