internal import NIOCore
internal import NIOHTTP1

/// Limits the input of a connection's parser: nothing beyond the head's limit, and nothing after the head.
///
/// The parser limits the fields of a head, but not the bytes before and between them.
final class RequestGate: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private let limits: HttpLimits
    private var headBytes = 0
    private var droppedBytes = 0
    /// Set when the answer is decided: later bytes are dropped.
    var isClosed = false

    init(limits: HttpLimits) { self.limits = limits }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = unwrapInboundIn(data)
        if !isClosed {
            let allowed = limits.headBytes - headBytes
            guard let head = bytes.readSlice(length: min(bytes.readableBytes, allowed)) else { return }
            headBytes += head.readableBytes
            context.fireChannelRead(wrapInboundOut(head))
            if !isClosed, bytes.readableBytes > 0 { context.fireErrorCaught(HTTPParserError.headerOverflow) }
        }
        droppedBytes += bytes.readableBytes
        if droppedBytes > limits.droppedBytes { context.close(promise: nil) }
    }
}
