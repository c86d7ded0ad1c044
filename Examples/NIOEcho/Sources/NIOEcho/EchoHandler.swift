import Foundation
import NIOCore

/// Echoes each message. Its mistake: for a message that begins with `block`, it first does a lookup that blocks the event loop.
final class EchoHandler: ChannelInboundHandler, Sendable {
    typealias InboundIn = ByteBuffer

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if unwrapInboundIn(data).readableBytesView.starts(with: "block".utf8) { lookUpInASlowStore() }
        context.writeAndFlush(data, promise: nil)
    }

    @inline(never) private func lookUpInASlowStore() { usleep(400_000) }
}
