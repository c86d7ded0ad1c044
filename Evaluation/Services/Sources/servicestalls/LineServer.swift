internal import Dispatch
internal import Foundation
internal import LagMonitor
internal import LagMonitorNIO
internal import NIOCore
internal import NIOPosix

enum Loops {
    /// Watched from the start of the program.
    static let group = MultiThreadedEventLoopGroup(numberOfThreads: 2)
}

/// A server on SwiftNIO that responds to lines; the beginning of a line determines how it stalls.
enum LineServer {
    /// - Parameter stallsAtEnd: whether the server stalls when a connection closes.
    /// - Returns: its port.
    static func start(stallsAtEnd: Bool = false) throws -> Int {
        let server = try ServerBootstrap(group: Loops.group).childChannelInitializer { channel in
            channel.eventLoop.makeCompletedFuture {
                try channel.pipeline.syncOperations.addHandlers([
                    ByteToMessageHandler(LineDecoder()), MessageToByteHandler(ReplyEncoder()),
                    StallContextHandler<String> { "LINE " + String($0.prefix { $0 != " " && $0 != "\n" }) },
                    LineHandler(stallsAtEnd: stallsAtEnd),
                ])
            }
        }.bind(host: "127.0.0.1", port: 0).wait()
        return server.localAddress?.port ?? 0
    }

    /// The same with asynchronous channels.
    static func startAsync() async throws {
        let server = try await ServerBootstrap(group: Loops.group).bind(host: "127.0.0.1", port: 0) { channel in
            channel.eventLoop.makeCompletedFuture {
                try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
            }
        }
        let port = server.channel.localAddress?.port ?? 0
        DispatchQueue.global().async { Loopback.ask(port, "hello\n") }
        try await server.executeThenClose { clients in
            for try await client in clients { Task { try await AsyncLines.serve(client) } }
        }
    }
}

struct LineDecoder: ByteToMessageDecoder {
    typealias InboundOut = String

    @inline(never) mutating func decode(context: ChannelHandlerContext, buffer: inout ByteBuffer) throws -> DecodingState {
        guard let end = buffer.readableBytesView.firstIndex(of: UInt8(ascii: "\n")),
            let line = buffer.readString(length: end - buffer.readerIndex + 1)
        else { return .needMoreData }
        if line.hasPrefix("slow-decode") {
            StalledTime.begin()
            let deadline = Deadline(480)
            var sum: UInt32 = 0
            while !deadline.isOver { for byte in line.utf8 { sum = sum &* 31 &+ UInt32(byte) } }
            keep(Int(sum))
            StalledTime.end()
        }
        context.fireChannelRead(wrapInboundOut(line))
        return .continue
    }
}

final class ReplyEncoder: MessageToByteEncoder, Sendable {
    typealias OutboundIn = String

    @inline(never) func encode(data: String, out: inout ByteBuffer) throws {
        if data.hasPrefix("slow-encode") {
            StalledTime.begin()
            let deadline = Deadline(410)
            var reply = ""
            while !deadline.isOver { reply = String(data.reversed()).uppercased() }
            out.writeString(reply)
            StalledTime.end()
        }
        out.writeString(data)
    }
}

final class LineHandler: ChannelInboundHandler, Sendable {
    typealias InboundIn = String
    typealias OutboundOut = String

    private let stallsAtEnd: Bool

    init(stallsAtEnd: Bool) { self.stallsAtEnd = stallsAtEnd }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let line = unwrapInboundIn(data)
        switch line.prefix(while: { $0 != "\n" }) {
        case "slow-handler": Stall.block(for: 440)
        case "slow-short": Stall.block(for: 210)
        case "slow-map": return respondByMap(context)
        case "slow-when": return respondWhenComplete(context)
        case "slow-flat-map": return respondByFlatMap(context)
        case "slow-scheduled": return respondLater(context)
        case "slow-context": return respondInContext(context)
        default: break
        }
        context.writeAndFlush(wrapOutboundOut(line), promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        if stallsAtEnd { leave() }
        context.fireChannelInactive()
    }

    @inline(never) private func leave() {
        StalledTime.begin()
        sleep(milliseconds: 370)
        StalledTime.end()
    }

    @inline(never) private func respondByMap(_ context: ChannelHandlerContext) {
        let channel = context.channel
        context.eventLoop.scheduleTask(in: .milliseconds(20)) { 7 }.futureResult.map { number -> String in
            StalledTime.begin()
            let deadline = Deadline(460)
            var hash = number
            while !deadline.isOver { for step in 0..<4_000 { hash = hash &* 33 ^ step } }
            StalledTime.end()
            return "\(hash)\n"
        }.whenSuccess { channel.writeAndFlush($0, promise: nil) }
    }

    @inline(never) private func respondWhenComplete(_ context: ChannelHandlerContext) {
        let channel = context.channel
        context.eventLoop.scheduleTask(in: .milliseconds(20)) { "done\n" }.futureResult.whenComplete { result in
            StalledTime.begin()
            Thread.sleep(forTimeInterval: 0.39)
            StalledTime.end()
            channel.writeAndFlush((try? result.get()) ?? "\n", promise: nil)
        }
    }

    @inline(never) private func respondByFlatMap(_ context: ChannelHandlerContext) {
        let channel = context.channel
        let done = DispatchSemaphore(value: 0)
        context.eventLoop.makeSucceededVoidFuture().flatMap { () -> EventLoopFuture<String> in
            StalledTime.begin()
            DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(530)) { done.signal() }
            done.wait()
            StalledTime.end()
            return channel.eventLoop.makeSucceededFuture("done\n")
        }.whenSuccess { channel.writeAndFlush($0, promise: nil) }
    }

    @inline(never) private func respondLater(_ context: ChannelHandlerContext) {
        let channel = context.channel
        context.eventLoop.scheduleTask(in: .milliseconds(30)) { Housekeeper.sweep(channel) }
    }

    @inline(never) private func respondInContext(_ context: ChannelHandlerContext) {
        let channel = context.channel
        context.eventLoop.execute { withStallContext(name: "later work") { Housekeeper.sweep(channel) } }
    }
}

private enum Housekeeper {
    @inline(never) static func sweep(_ channel: any Channel) {
        StalledTime.begin()
        let deadline = Deadline(350)
        var names: [Int: String] = [:]
        while !deadline.isOver { for number in 0..<500 { names[number] = String(number, radix: 16) } }
        StalledTime.end()
        channel.writeAndFlush("\(names.count)\n", promise: nil)
    }
}

private enum AsyncLines {
    @inline(never) static func serve(_ channel: NIOAsyncChannel<ByteBuffer, ByteBuffer>) async throws {
        try await channel.executeThenClose { inbound, outbound in
            for try await buffer in inbound {
                try await withStallContext(name: "LINE echo") {
                    let reply = answer(String(buffer: buffer))
                    try await outbound.write(ByteBuffer(string: reply))
                }
            }
        }
    }

    @inline(never) static func answer(_ line: String) -> String {
        StalledTime.begin()
        sleep(milliseconds: 430)
        StalledTime.end()
        return line
    }
}
