#if NIO
    public import LagMonitor
    public import NIOCore

    /// Publishes which message a channel's loop works on: what the handlers after it do with a message before they return is in
    /// its context, and a stall's record contains it as `request`.
    ///
    /// `StallContextHandler<ByteBuffer> { $0.readableBytesView.first == UInt8(ascii: "?") ? "query" : nil }`.
    ///
    /// Add it before the handlers that do the work. Not included: what they do later, in a callback or in `channelReadComplete`,
    /// and what is behind a `NIOAsyncChannel`; there, use `withStallContext` in the loop over `inbound`. Remove the handler if an
    /// upgrade changes the type of the channel's messages. A context has the attribute `connection`, the peer's address, if there
    /// is one; `StallContexts.redacted(by:)` can remove it.
    ///
    /// On the channel's loop, one for each channel. Each message costs as much as `withStallContext`, and little more than a load
    /// while no monitor wants contexts.
    public final class StallContextHandler<Message>: ChannelInboundHandler, RemovableChannelHandler {
        public typealias InboundIn = Message
        public typealias InboundOut = Message

        private let nameOf: (Message) -> String?
        private let attributesOf: ((Message) -> StallAttributes)?
        private let traceOf: ((Message) -> StallTrace?)?
        private var connection: StallAttributes = [:]
        /// The last request that began while contexts were wanted.
        private var request: (name: String, attributes: StallAttributes, trace: StallTrace?) = ("-", [:], nil)

        /// No closure is called while no monitor wants contexts.
        /// - Parameters:
        ///   - name: the kind of request that a message begins, the same for all of that kind: a route, not a path. Nil: the
        ///     message belongs to the request before it, like a body's parts.
        ///   - attributes: further attributes of a request that a message begins.
        ///   - trace: the trace of such a request.
        public init(
            name: @escaping (Message) -> String?,
            attributes: ((Message) -> StallAttributes)? = nil,
            trace: ((Message) -> StallTrace?)? = nil
        ) {
            nameOf = name
            attributesOf = attributes
            traceOf = trace
        }

        public func handlerAdded(context: ChannelHandlerContext) { setConnection(context) }

        public func channelActive(context: ChannelHandlerContext) {
            setConnection(context)
            context.fireChannelActive()
        }

        public func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            guard areStallContextsWanted() else {
                // If it has another type, NIO ends the program: in debug builds at once, not only when a monitor starts.
                assert(
                    {
                        _ = unwrapInboundIn(data)
                        return true
                    }()
                )
                context.fireChannelRead(data)
                return
            }
            begin(unwrapInboundIn(data))
            withStallContext(name: request.name, request.attributes, trace: request.trace) { context.fireChannelRead(data) }
        }

        private func begin(_ message: Message) {
            guard let name = nameOf(message) else { return }
            // Most have no attributes of their own: then nothing is allocated.
            request = (name, attributesOf.map { connection + $0(message) } ?? connection, traceOf?(message) ?? nil)
        }

        private func setConnection(_ context: ChannelHandlerContext) {
            guard let address = context.remoteAddress else { return }
            let text =
                switch address {
                case .v4: "\(address.ipAddress ?? ""):\(address.port ?? 0)"
                case .v6: "[\(address.ipAddress ?? "")]:\(address.port ?? 0)"
                case .unixDomainSocket: address.pathname ?? ""
                }
            if !text.isEmpty { connection = ["connection": text] }
        }
    }

    @available(*, unavailable)
    extension StallContextHandler: Sendable {}
#endif
