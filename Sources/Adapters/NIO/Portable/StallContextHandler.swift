#if NIO
    public import LagMonitor
    public import NIOCore

    /// Says which message a channel's loop works at: what the handlers behind it do with one before they return is in its context, and a stall's
    /// record has it as `request`.
    ///
    /// `StallContextHandler<ByteBuffer> { $0.readableBytesView.first == UInt8(ascii: "?") ? "query" : nil }`.
    ///
    /// In front of the handlers that do the work. What they do later, in a callback, is not in it. Each context has the attribute `connection`, the
    /// other end's address.
    ///
    /// On the channel's loop, one for each channel. What `withStallContext` costs a message, and little more than a load while nobody asks for contexts.
    public final class StallContextHandler<Message>: ChannelInboundHandler {
        public typealias InboundIn = Message
        public typealias InboundOut = Message

        private let nameOf: (Message) -> String?
        private let attributesOf: ((Message) -> StallAttributes)?
        /// The other end's address.
        private var connection: StallAttributes = [:]
        /// The last request's, until a message begins another.
        private var request: (name: String, attributes: StallAttributes) = ("-", [:])

        /// - Parameters:
        ///   - name: what kind of request a message begins, the same for all of that kind: a route, not a path. Nil: the message belongs to
        ///     the request before it, as a body's parts do. Not called while nobody asks for contexts.
        ///   - attributes: what else is known of a request that a message begins.
        public init(
            name: @escaping (Message) -> String?,
            attributes: ((Message) -> StallAttributes)? = nil
        ) {
            nameOf = name
            attributesOf = attributes
        }

        public func handlerAdded(context: ChannelHandlerContext) { setConnection(context) }

        public func channelActive(context: ChannelHandlerContext) {
            setConnection(context)
            context.fireChannelActive()
        }

        public func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            withStallContext(name: name(unwrapInboundIn(data)), request.attributes) { context.fireChannelRead(data) }
        }

        private func name(_ message: Message) -> String {
            if let name = nameOf(message) {
                request.name = name
                // Most have none: then nothing is allocated.
                request.attributes = attributesOf.map { StallAttributes(connection.pairs + $0(message).pairs) } ?? connection
            }
            return request.name
        }

        private func setConnection(_ context: ChannelHandlerContext) {
            guard let address = context.remoteAddress else { return }
            connection = ["connection": address.ipAddress.map { "\($0):\(address.port ?? 0)" } ?? address.pathname ?? "-"]
        }
    }

    @available(*, unavailable)
    extension StallContextHandler: Sendable {}
#endif
