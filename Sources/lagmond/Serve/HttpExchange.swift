internal import LagMonitor
internal import LagRemote
internal import NIOCore
internal import NIOHTTP1

/// One connection: a request, its answer, the end. Used only on the event loop's thread.
///
/// The answer needs only the request's head. After it, the connection's output is closed, and the client gets a moment to do the
/// same: closing the connection while bytes arrive could destroy the answer before the client reads it.
final class HttpExchange: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private enum State {
        case awaitingHead
        /// The text is not ready yet, or not sent yet.
        case answering
        case streaming(LiveClient)
        /// The output is closed.
        case ending
    }

    /// How long probed threads have to answer.
    private static let longestProbe: Duration = .seconds(1)
    private static let probePollMilliseconds: Int64 = 5

    private let pages: HttpPages
    private let limits: HttpLimits
    private let gate: RequestGate
    private var state = State.awaitingHead
    private var deadline: Scheduled<Void>?
    /// The version of the request, if one could be parsed.
    private var version = HTTPVersion.http1_1
    private var wantsBody = true

    init(pages: HttpPages, limits: HttpLimits, gate: RequestGate) {
        self.pages = pages
        self.limits = limits
        self.gate = gate
    }

    func channelActive(context: ChannelHandlerContext) {
        setDeadline(limits.headMilliseconds, context) { exchange, context in
            let text = "a request must arrive within \(Duration.milliseconds(exchange.limits.headMilliseconds).shown)"
            exchange.send(.refusal(.requestTimeout, text), context)
        }
        context.fireChannelActive()
    }

    func channelInactive(context: ChannelHandlerContext) {
        deadline?.cancel()
        if case .streaming(let client) = state { client.cancel() }
        state = .ending
        context.fireChannelInactive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard case .head(let head) = unwrapInboundIn(data), case .awaitingHead = state else { return }
        gate.isClosed = true
        version = head.version
        wantsBody = head.method != .HEAD
        state = .answering
        let loop = context.eventLoop
        let bound = NIOLoopBound((exchange: self, context: context), eventLoop: loop)
        let reply = pages.reply(to: head.method, head.uri, accept: head.headers["Accept"]) {
            loop.execute { bound.value.exchange.sendLines(bound.value.context) }
        }
        switch reply {
        case .answer(let answer): send(answer, context)
        case .lines(let client, let type): stream(client, type, context)
        case .probed(let check, let page): awaitAnswers(check, until: .now + Self.longestProbe, page, context)
        }
    }

    /// Uses timers of this loop instead of a task: if the system cannot start a thread, creating a task blocks until it can.
    private func awaitAnswers(
        _ check: LivenessProbe.Check,
        until end: MonotonicTime,
        _ page: @escaping @Sendable (Bool) -> HttpAnswer,
        _ context: ChannelHandlerContext
    ) {
        let haveAnswered = check()
        guard !haveAnswered, MonotonicTime.now < end else { return send(page(haveAnswered), context) }
        setDeadline(Self.probePollMilliseconds, context) { $0.awaitAnswers(check, until: end, page, $1) }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        sendLines(context)
        context.fireChannelWritabilityChanged()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case ChannelEvent.inputClosed = event {
            switch state {
            case .awaitingHead, .ending: context.close(promise: nil)
            case .answering: break
            // A client that only closed its sending side takes it; for a client that is gone, it fails, which ends the
            // connection.
            case .streaming(let client): client.sendHeartbeat()
            }
        }
        context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard let error = error as? HTTPParserError, case .awaitingHead = state else {
            // Dropped bytes are no longer parsed, so this is an error of the connection.
            return context.close(promise: nil)
        }
        switch error {
        case .headerOverflow:
            let text = "a request's head may have \(limits.headBytes) bytes and \(limits.headers) headers"
            send(.refusal(.requestHeaderFieldsTooLarge, text), context)
        default: send(.refusal(.badRequest, "not an HTTP request"), context)
        }
    }

    private func send(_ answer: HttpAnswer, _ context: ChannelHandlerContext) {
        gate.isClosed = true
        // The client may have disconnected while the answer was created.
        guard context.channel.isActive else { return }
        state = .answering
        let body = context.channel.allocator.buffer(string: answer.text)
        writeHead(answer.status, answer.type, answer.headers + [("Content-Length", "\(body.readableBytes)")], context)
        if wantsBody { context.write(wrapOutboundOut(.body(.byteBuffer(body))), promise: nil) }
        end(context)
    }

    private func writeHead(
        _ status: HTTPResponseStatus,
        _ type: String,
        _ headers: [(String, String)],
        _ context: ChannelHandlerContext
    ) {
        let all = [("Content-Type", type), ("Cache-Control", "no-store"), ("Connection", "close")] + headers
        let head = HTTPResponseHead(version: version, status: status, headers: HTTPHeaders(all))
        context.write(wrapOutboundOut(.head(head)), promise: nil)
    }

    private func end(_ context: ChannelHandlerContext) {
        setDeadline(limits.answerMilliseconds, context) { $1.close(promise: nil) }
        context.writeAndFlush(wrapOutboundOut(.end(nil))).assumeIsolated().whenComplete { [self] result in
            guard case .success = result, context.channel.isActive else { return context.close(promise: nil) }
            state = .ending
            context.close(mode: .output, promise: nil)
            setDeadline(limits.closeMilliseconds, context) { $1.close(promise: nil) }
        }
    }

    /// At most one runs at a time.
    private func setDeadline(
        _ milliseconds: Int64,
        _ context: ChannelHandlerContext,
        _ action: @escaping @Sendable (HttpExchange, ChannelHandlerContext) -> Void
    ) {
        deadline?.cancel()
        let bound = NIOLoopBound((exchange: self, context: context), eventLoop: context.eventLoop)
        deadline = context.eventLoop.scheduleTask(in: .milliseconds(milliseconds)) {
            action(bound.value.exchange, bound.value.context)
        }
    }
}

// The lines of /stalls.
extension HttpExchange {
    private func stream(_ client: LiveClient, _ type: String, _ context: ChannelHandlerContext) {
        deadline?.cancel()
        deadline = nil
        state = .streaming(client)
        writeHead(.ok, type, [], context)
        context.flush()
        sendLines(context)
    }

    /// Sends as many lines as the client takes; the rest waits in its queue, which is bounded.
    private func sendLines(_ context: ChannelHandlerContext) {
        guard case .streaming(let client) = state else { return }
        while context.channel.isWritable {
            deadline?.cancel()
            deadline = nil
            switch client.next() {
            case .nothing: return
            case .lines(let lines):
                let buffer = context.channel.allocator.buffer(bytes: lines)
                context.writeAndFlush(wrapOutboundOut(.body(.byteBuffer(buffer))), promise: nil)
            case .end:
                state = .answering
                return end(context)
            }
        }
        // Otherwise a client that reads nothing would keep its connection forever.
        if deadline == nil { setDeadline(limits.answerMilliseconds, context) { $1.close(promise: nil) } }
    }
}
