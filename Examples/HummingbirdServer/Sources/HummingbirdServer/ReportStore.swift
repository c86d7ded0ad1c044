import NIOCore

/// Represents a database client that returns futures, as clients built on SwiftNIO do.
struct ReportStore: Sendable {
    private let eventLoop: any EventLoop

    init(_ eventLoop: any EventLoop) { self.eventLoop = eventLoop }

    func rows() -> EventLoopFuture<[Int]> { eventLoop.scheduleTask(in: .milliseconds(5)) { Array(1...1000) }.futureResult }
}
