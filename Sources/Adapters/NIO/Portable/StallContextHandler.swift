#if NIO
    public import LagMonitor
    public import NIOCore

    /// Says which message a channel's loop works at: what the handlers behind it do with one before they return is in its context, and a stall's
    /// record has it as `request`.
    ///
    /// `StallContextHandler<ByteBuffer> { $0.readableBytesView.first == UInt8(ascii: "?") ? "query" : nil }`.
    ///
    /// In front of the handlers that do the work. Not in it: what they do later, in a callback or in `channelReadComplete`, and what is behind a
    /// `NIOAsyncChannel`: there `withStallContext` belongs into the loop over `inbound`. Remove it where an upgrade changes what the channel's messages
    /// are. A context has the attribute `connection`, the other end's address, where there is one; `StallContexts.redacted(by:)` can take it off.
    ///
    /// On the channel's loop, one for each channel. What `withStallContext` costs a message, and little more than a load while nobody asks for contexts.
    public final class StallContextHandler<Message>: ChannelInboundHandler, RemovableChannelHandler {
        public typealias InboundIn = Message
        public typealias InboundOut = Message

        private let nameOf: (Message) -> String?
        private let attributesOf: ((Message) -> StallAttributes)?
        private let traceOf: ((Message) -> StallTrace?)?
        private var connection: StallAttributes = [:]
        /// The last one that began while contexts were asked for.
        private var request: (name: String, attributes: StallAttributes, trace: StallTrace?) = ("-", [:], nil)

        /// No closure is called while nobody asks for contexts.
        /// - Parameters:
        ///   - name: what kind of request a message begins, the same for all of that kind: a route, not a path. Nil: the message belongs to
        ///     the request before it, as a body's parts do.
        ///   - attributes: what else is known of a request that a message begins.
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
                // NIO ends the program where it is of another type: in debug builds at once, and not when a monitor starts.
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
