#if NIO
    internal import CLagLinux
    import Glibc
    import LagMonitor
    import NIOCore
    import NIOPosix
    import Synchronization
    import TestSupport

    /// Echoes on the loopback interface; a received `b` first blocks the handler until the stall is found.
    final class EchoServer: Sendable {
        private final class Handler: ChannelInboundHandler, Sendable {
            typealias InboundIn = ByteBuffer
            let facts: Facts
            let monitor: StallMonitor

            init(_ facts: Facts, _ monitor: StallMonitor) { (self.facts, self.monitor) = (facts, monitor) }

            func channelRead(context: ChannelHandlerContext, data: NIOAny) {
                if unwrapInboundIn(data).readableBytesView.first == UInt8(ascii: "b") {
                    facts.blocked.store(cll_gettid(), ordering: .relaxed)
                    let search = StallSearch(monitor)
                    repeat { blockInChannelRead(milliseconds: 500) } while !search.isOver
                }
                context.writeAndFlush(data, promise: nil)
            }
        }

        final class Facts: Sendable {
            let blocked = Atomic<Int32>(0)
        }

        private let facts = Facts()
        private let channel: any Channel

        /// - Parameters:
        ///   - monitor: it watches the group.
        ///   - first: handlers before it in the pipeline.
        init(
            _ group: any EventLoopGroup,
            watchedBy monitor: StallMonitor,
            after first: @escaping @Sendable () -> [any ChannelHandler] = { [] }
        ) throws {
            let facts = facts
            channel = try ServerBootstrap(group: group).childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandlers(first() + [Handler(facts, monitor)])
                }
            }.bind(host: "127.0.0.1", port: 0).wait()
        }

        /// The last thread that blocked.
        var blockedThread: Int32 { facts.blocked.load(ordering: .relaxed) }

        /// A blocking socket that is connected to it; negative if there is none.
        func connect() -> Int32 {
            let client = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = in_port_t(channel.localAddress?.port ?? 0).bigEndian
            address.sin_addr.s_addr = in_addr_t(INADDR_LOOPBACK).bigEndian
            let result = withUnsafePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    Glibc.connect(client, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
            return result == 0 ? client : -1
        }

        /// Sends one byte and waits for its echo.
        static func echo(_ character: Character, _ client: Int32) -> Bool {
            var byte = character.asciiValue ?? 0
            return send(client, &byte, 1, Int32(MSG_NOSIGNAL)) == 1 && recv(client, &byte, 1, 0) == 1
        }

        func close() { try? channel.close().wait() }
    }
#endif
