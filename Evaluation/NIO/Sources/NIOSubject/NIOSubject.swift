internal import NIOCore
internal import NIOExtras
internal import NIOHTTP1
internal import NIOHTTP2
internal import NIOPosix
internal import NIOWebSocket
internal import Runtime

/// A SwiftNIO server with the usual parts, for `lagbench --subject`: a program as large as real ones, in which lagbench looks up
/// names and lines.
///
/// Prints the time of the toolchain's own symboliser for its own stack: `peer_frames N`, `peer_first_ms X`, and
/// `peer_ms X`, the median of the times after the first.
@main
enum NIOSubject {
    static func main() throws {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let server = try ServerBootstrap(group: group)
            .childChannelInitializer { channel in
                channel.pipeline.configureHTTPServerPipeline(withErrorHandling: true).flatMap {
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandler(MeasuringHandler())
                    }
                }
            }
            .bind(host: "127.0.0.1", port: 0).wait()
        let answer = group.next().makePromise(of: String.self)
        let client = try ClientBootstrap(group: group)
            .channelInitializer { channel in
                channel.pipeline.addHTTPClientHandlers().flatMap {
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandler(AskingHandler(answer: answer))
                    }
                }
            }
            .connect(to: server.localAddress!).wait()
        print(try answer.futureResult.wait(), terminator: "")
        try client.close().wait()
        try server.close().wait()
        try group.syncShutdownGracefully()
    }

    /// Parts of larger servers, used only so that they are linked.
    static func parts() -> [Any.Type] {
        [
            NIOHTTP2Handler.self, NIOWebSocketServerUpgrader.self,
            ServerQuiescingHelper.self, HTTP2FramePayloadToHTTP1ServerCodec.self,
        ]
    }
}

/// Measures inside the stack of a pipeline, and responds with the result.
final class MeasuringHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private static let rounds = 5

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard case .end = unwrapInboundIn(data) else { return }
        let body = context.channel.allocator.buffer(string: Self.measured(more: 12) + "parts \(NIOSubject.parts().count)\n")
        let head = HTTPResponseHead(
            version: .http1_1,
            status: .ok,
            headers: ["content-length": "\(body.readableBytes)"]
        )
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        context.write(wrapOutboundOut(.body(.byteBuffer(body))), promise: nil)
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
    }

    /// Deepens the stack by `more` frames, then measures.
    @inline(never)
    private static func measured(more: Int) -> String {
        guard more == 0 else { return measured(more: more - 1) + "" }
        guard let stack = try? Backtrace.capture(limit: 30, top: 0) else { return "no stack\n" }
        let images = ImageMap.capture()
        let clock = ContinuousClock()
        var frames = 0
        let times = (0..<rounds).map { _ in
            clock.measure {
                let options: Backtrace.SymbolicationOptions = [.showInlineFrames, .showSourceLocations, .useSymbolCache]
                frames = stack.symbolicated(with: images, options: options)?.frames.count ?? 0
            } / .milliseconds(1)
        }
        let median = times.dropFirst().sorted()[(rounds - 1) / 2]
        return "peer_frames \(frames)\npeer_first_ms \(times[0])\npeer_ms \(median)\n"
    }
}

/// Sends one request, and returns the response.
final class AskingHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPClientResponsePart
    typealias OutboundOut = HTTPClientRequestPart

    private let answer: EventLoopPromise<String>
    private var text = ""

    init(answer: EventLoopPromise<String>) { self.answer = answer }

    func channelActive(context: ChannelHandlerContext) {
        let head = HTTPRequestHead(version: .http1_1, method: .GET, uri: "/", headers: ["host": "localhost"])
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head: break
        case .body(let buffer): text += String(buffer: buffer)
        case .end: answer.succeed(text)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { answer.fail(error) }
}
