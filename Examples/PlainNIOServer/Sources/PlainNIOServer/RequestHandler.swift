import Glibc
import NIOCore
import NIOHTTP1

/// Answers every request with a few bytes. Two paths block the event loop first: `/sleep` and `/compute`.
final class RequestHandler: ChannelInboundHandler, Sendable {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head):
            switch head.uri {
            case "/sleep": _ = waitForASlowStore()
            case "/compute": resizeAnImage()
            default: break
            }
        case .body: break
        case .end: answer(context)
        }
    }

    private func answer(_ context: ChannelHandlerContext) {
        let body = context.channel.allocator.buffer(staticString: "hello\n")
        let head = HTTPResponseHead(version: .http1_1, status: .ok, headers: ["content-length": "\(body.readableBytes)"])
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        context.write(wrapOutboundOut(.body(.byteBuffer(body))), promise: nil)
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
    }

    // The comparison after the call prevents a tail call.
    @inline(never) private func waitForASlowStore() -> Bool { usleep(400_000) == 0 }

    @inline(never) private func resizeAnImage() {
        let end = ContinuousClock.now + .milliseconds(400)
        while ContinuousClock.now < end {}
    }
}
