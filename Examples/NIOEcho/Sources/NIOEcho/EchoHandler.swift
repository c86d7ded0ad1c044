import Foundation
import NIOCore

/// Echoes what it is sent. A message that begins with `block` is looked up first, in a way that no event loop should be made to wait for.
final class EchoHandler: ChannelInboundHandler, Sendable {
    typealias InboundIn = ByteBuffer

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if unwrapInboundIn(data).readableBytesView.starts(with: "block".utf8) { lookUpInASlowStore() }
        context.writeAndFlush(data, promise: nil)
    }

    @inline(never) private func lookUpInASlowStore() { usleep(400_000) }
}
