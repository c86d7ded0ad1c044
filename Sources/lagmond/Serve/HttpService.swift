internal import Glibc
internal import LagDetection
internal import LagModel
internal import LagMonitor
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import Synchronization

/// `/metrics`, `/healthz` and `/stalls` over HTTP.
///
/// The server runs on its own thread, so it answers while the main thread hangs. The resources of clients are limited
/// (``HttpLimits``).
final class HttpService: Sendable {
    private let address: ListenAddress
    private let pages: HttpPages
    private let limits: HttpLimits
    private let connections = Atomic<Int>(0)

    private static let restartSeconds: Int64 = 1
    /// How long clients of `/stalls` have to read the last lines.
    private static let drain: Duration = .milliseconds(200)
    /// An event loop aborts the process if it gets no descriptors: its poller, its waker, its timer, and the listener.
    private static let descriptorsToStart = 8

    init(address: ListenAddress, live: LiveLines, output: HealthTrackingSink, limits: HttpLimits = HttpLimits()) {
        self.address = address
        self.limits = limits
        pages = HttpPages(live: live, output: output)
    }

    /// Listens, and reports the address. If the system cannot start a thread for it, reports that there are no pages.
    /// - Returns: nil without a thread.
    /// - Throws: if it cannot listen on the address.
    @discardableResult
    func start(_ subject: any HttpStatusSource) throws(StartFailure) -> ListenAddress? {
        pages.serve(subject)
        guard Self.hasDescriptors else { throw refusal(EMFILE) }
        let loop: any EventLoop
        do {
            loop = try Self.startLoop()
        } catch {
            Diagnostics.report("http.listen: without /metrics, /healthz and /stalls on \(address): \(error.message)")
            return nil
        }
        do {
            let channel = try listen(on: address, loop).wait()
            let own = ListenAddress(host: address.host, port: UInt16(channel.localAddress?.port ?? 0))
            listenAgain(after: channel, on: own, loop)
            let heartbeat = TimeAmount.milliseconds(limits.heartbeatMilliseconds)
            loop.scheduleRepeatedTask(initialDelay: heartbeat, delay: heartbeat) { [live = pages.live] _ in live.sendHeartbeats()
            }
            Diagnostics.report("listening on http://\(own)")
            return own
        } catch {
            throw refusal(error)
        }
    }

    /// An event loop on our own thread: an event loop group starts its own thread, and aborts the process if it cannot.
    private static func startLoop() throws(StartFailure) -> any EventLoop {
        let started = PthreadMutex<(any EventLoop)?>(nil)
        let posted = WakeSemaphore()
        try HelperThread.start("lag-http") {
            MultiThreadedEventLoopGroup.withCurrentThreadAsEventLoop { loop in
                started.withLock { $0 = loop }
                posted.post()
            }
        }
        while true {
            if let loop = started.withLock({ $0 }) { return loop }
            _ = posted.wait(until: .max)
        }
    }

    /// Call it after the last line: waits a moment for the clients to read it.
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
            // A client that has closed its sending side may still read.
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            .childChannelInitializer { [self] channel in
                channel.eventLoop.makeCompletedFuture { try serve(channel) }
            }
            .bind(to: try SocketAddress(ipAddress: host, port: Int(address.port)))
    }

    /// Reports when the listener closes (on a system error), and starts another one.
    private func listenAgain(after channel: any Channel, on address: ListenAddress, _ group: any EventLoopGroup) {
        channel.closeFuture.whenComplete { [self] _ in
            Diagnostics.report("http: the listener closed; listening again")
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

/// A connection beyond ``HttpLimits/connections``: it gets the reason, and is closed. Its data is dropped.
private final class RefusedConnection: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let limits: HttpLimits
    /// Whether the client has a moment to read the answer. If there are many, they have none.
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
