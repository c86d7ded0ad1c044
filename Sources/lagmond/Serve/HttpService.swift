internal import Dispatch
internal import FlyingFox
internal import FlyingSocks
internal import Foundation
internal import LagMonitor
internal import Synchronization

/// `/metrics`, `/healthz` and `/stalls` over HTTP.
///
/// The server runs on the pool of Swift's tasks and a queue of Dispatch: neither needs the main thread, so it answers while that hangs.
final class HttpService: Sendable {
    private let address: ListenAddress
    private let live: LiveLines
    private let output: HealthTrackingSink
    /// Set before a request can come.
    private let subject = Mutex<(any HttpStatusSource)?>(nil)

    private static let restartSeconds = 1.0
    /// What clients of `/stalls` get to take the last lines.
    private static let drain: Duration = .milliseconds(200)

    init(address: ListenAddress, live: LiveLines, output: HealthTrackingSink) {
        self.address = address
        self.live = live
        self.output = output
    }

    /// Listens, and says where.
    /// - Throws: when the address cannot be had.
    func start(_ subject: any HttpStatusSource) throws(StartFailure) {
        self.subject.withLock { $0 = subject }
        let answer = Mutex<Result<ListenAddress, StartFailure>?>(nil)
        let isDecided = DispatchSemaphore(value: 0)
        Task.detached {
            await self.run { result in
                answer.withLock { $0 = result }
                isDecided.signal()
            }
        }
        isDecided.wait()
        let listening = try answer.withLock { $0 }!.get()
        Diagnostics.report("listening on http://\(listening)")
    }

    /// After the last line: waits a moment for the clients to read it.
    func finish() {
        live.close()
        let deadline = MonotonicTime.now + Self.drain
        while live.clients > 0, MonotonicTime.now < deadline { usleep(5000) }
    }

    /// Serves until the process ends. An error (no descriptors left) ends a server: it is reported, and another one starts.
    private func run(_ decide: @escaping @Sendable (Result<ListenAddress, StartFailure>) -> Void) async {
        var bound: ListenAddress?
        while true {
            do {
                let server = try makeServer(bound ?? address)
                let serving = Task { try await server.run() }
                if bound == nil {
                    // Waiting for a server that cannot listen would take its whole timeout, so a failure cancels the wait.
                    let listening = Task { try await server.waitUntilListening() }
                    let failing = Task {
                        try? await serving.value
                        listening.cancel()
                    }
                    _ = try? await listening.value
                    if let own = await Self.address(of: server) {
                        bound = own
                        decide(.success(own))
                    }
                    failing.cancel()
                }
                try await serving.value
            } catch {
                guard bound != nil else { return decide(.failure(refusal(error))) }
                Diagnostics.report("http: \(Self.reason(error)); listening again")
            }
            try? await Task.sleep(for: .seconds(Self.restartSeconds))
        }
    }

    private func makeServer(_ address: ListenAddress) throws -> HTTPServer {
        let handler = ClosureHTTPHandler { [self] request in await respond(to: request) }
        // Its own logger writes to stdout, which is for records.
        return switch address.host {
        case .ip4(let host):
            HTTPServer(address: try .inet(ip4: host, port: address.port), logger: .disabled, handler: handler)
        case .ip6(let host):
            HTTPServer(address: try .inet6(ip6: host, port: address.port), logger: .disabled, handler: handler)
        }
    }

    private static func address(of server: HTTPServer) async -> ListenAddress? {
        switch await server.listeningAddress {
        case .ip4(let host, let port): ListenAddress(host: .ip4(host), port: port)
        case .ip6(let host, let port): ListenAddress(host: .ip6(host), port: port)
        case .unix, nil: nil
        }
    }

    private func refusal(_ error: any Error) -> StartFailure {
        StartFailure(
            status: ExitStatus.systemError,
            message: "http.listen: cannot listen on \(address): \(Self.reason(error))"
        )
    }

    private static func reason(_ error: any Error) -> String {
        guard case SocketError.failed(_, let number, _) = error else { return error.localizedDescription }
        return "\(Diagnostics.reason(number)) (errno \(number))"
    }
}

// The answers.
extension HttpService {
    private static let allowedMethods = "GET, HEAD"

    func respond(to request: HTTPRequest) async -> HTTPResponse {
        guard ["/metrics", "/healthz", "/stalls"].contains(request.path) else {
            return text("there is /metrics, /healthz and /stalls\n", .notFound, for: request)
        }
        guard request.method == .GET || request.method == .HEAD else {
            var response = text("allowed: \(Self.allowedMethods)\n", .methodNotAllowed, for: request)
            response.headers[HTTPHeader("Allow")] = Self.allowedMethods
            return response
        }
        switch request.path {
        case "/metrics": return text(metrics, .ok, type: MetricsPage.contentType, for: request)
        case "/healthz":
            let page = await health()
            return text(page.text, page.faults.isEmpty ? .ok : .serviceUnavailable, type: HealthPage.contentType, for: request)
        default: return stalls(request)
        }
    }

    private func stalls(_ request: HTTPRequest) -> HTTPResponse {
        let type = "application/x-ndjson"
        if request.method == .HEAD { return text("", .ok, type: type, for: request) }
        guard let client = live.join() else {
            return text("\(LiveLines.maximumClients) clients are here already\n", .serviceUnavailable, for: request)
        }
        return HTTPResponse(
            statusCode: .ok,
            headers: [.contentType: type, .cacheControl: "no-store"],
            body: HTTPBodySequence(from: LiveBody(client: client))
        )
    }

    private var metrics: String {
        let subject = subject.withLock { $0 }
        let lags = subject?.lags ?? [:]
        for place in lags.keys { live.counts.register(place) }
        return MetricsPage(
            counts: live.counts.snapshot,
            lags: lags,
            dropped: subject?.statistics.dropped ?? 0,
            targets: subject?.targets ?? []
        ).text
    }

    private func health() async -> HealthPage {
        let subject = subject.withLock { $0 }
        return HealthPage(
            isWatching: await subject?.isWatching() ?? false,
            sinkName: output.name,
            sink: output.health,
            statistics: subject?.statistics ?? StallMonitorStatistics(),
            stalledLoops: live.counts.snapshot.loops.filter { !$0.value.inProgress.isEmpty }.keys.sorted(),
            targets: subject?.targets ?? [],
            now: .now
        )
    }

    private func text(
        _ text: String,
        _ status: HTTPStatusCode,
        type: String = "text/plain; charset=utf-8",
        for request: HTTPRequest
    ) -> HTTPResponse {
        let body = Data(text.utf8)
        return HTTPResponse(
            statusCode: status,
            headers: [.contentType: type, .cacheControl: "no-store", .contentLength: "\(body.count)"],
            body: request.method == .HEAD ? Data() : body
        )
    }
}
