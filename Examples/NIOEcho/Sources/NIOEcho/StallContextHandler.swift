import LagMonitor
import NIOCore

/// Says which message a loop works at: what the handlers behind it do with one before they return is `request` in a stall's record.
///
/// In front of the handlers that do the work. The name has few values; which connection it was is an attribute.
final class StallContextHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    /// Messages of this connection so far.
    private var messages = 0

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        messages += 1
        withStallContext(
            name: unwrapInboundIn(data).readableBytesView.starts(with: "block".utf8) ? "echo block" : "echo",
            ["connection": "\(context.channel.remoteAddress?.port ?? 0)", "message": "\(messages)"]
        ) {
            context.fireChannelRead(data)
        }
    }
}
