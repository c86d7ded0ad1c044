internal import Foundation
internal import LagMonitor
internal import LagMonitorConcurrency
internal import Synchronization

/// Runs fifty clients, each with one request at a time, until enough requests have blocked.
enum Service {
    static let clients = 50
    /// One request in this many blocks.
    private static let blockingShare = 200
    /// Time for the last request to end.
    private static let settlingMicroseconds: UInt32 = 1_500_000

    /// A request's task: its number, and whether it blocks.
    final class Requests: Sendable {
        private let next = Atomic<Int>(0)
        let truth = Truth()
        let stalls: Int

        init(stalls: Int) { self.stalls = stalls }

        var isDone: Bool { truth.count >= stalls }
        func take() -> Int { next.add(1, ordering: .relaxed).newValue }
        func work(_ request: Int) { if request % blockingShare == 0, !isDone { truth.block(request) } }
    }

    static func run(_ mode: Mode, stalls: Int) throws -> Score {
        let records = Records()
        var configuration = StallMonitorConfiguration()
        configuration.contexts = .recorded
        configuration.limits = .none
        let monitor = StallMonitor(configuration: configuration)
        monitor.onStall(queue: .global()) { records.add($0) }
        try monitor.start()
        defer { monitor.stop() }
        let requests = Requests(stalls: stalls)
        // A stall that is still in progress when its watch ends has no end line.
        let settle = { _ = usleep(settlingMicroseconds) }
        switch mode {
        case .actors, .mainActor, .tasks: try TaskService.run(requests, monitor, mode)
        case .nio, .nioTasks: try NIOService.run(requests, monitor, byTasks: mode == .nioTasks, settle)
        case .hummingbird: try HummingbirdService.run(requests, monitor)
        case .grpc: try GRPCService.run(requests, monitor)
        }
        settle()
        return Score(records.all, requests.truth.all, span: mode.span)
    }

    private final class Records: Sendable {
        private let records = Mutex<[StallRecord]>([])

        func add(_ record: StallRecord) { if record.phase == .end { records.withLock { $0.append(record) } } }
        var all: [StallRecord] { records.withLock { $0 } }
    }
}

/// The service.
enum Mode: String, CaseIterable {
    case actors
    case mainActor = "main-actor"
    case tasks
    case nio
    case nioTasks = "nio-tasks"
    case hummingbird
    case grpc

    /// The span that records must name: the span of the server's tracer, or of the caller; nil: requests have no trace.
    var span: String? {
        switch self {
        case .hummingbird: TraceParent.serverSpan
        case .grpc: TraceParent.clientSpan
        default: nil
        }
    }
}

/// W3C's trace header, derived from a request's number.
enum TraceParent {
    static let clientSpan = "00000000000000ff"
    static let serverSpan = "00000000000000aa"

    static func header(_ number: Int) -> String { "00-\(traceID(number))-\(clientSpan)-01" }

    static func traceID(_ number: Int) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: 32 - digits.count) + digits
    }
}
