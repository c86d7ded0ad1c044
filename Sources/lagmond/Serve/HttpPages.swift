internal import LagMonitor
internal import LagRemote
internal import NIOHTTP1
internal import Synchronization

/// The answers to requests. Any thread.
final class HttpPages: Sendable {
    enum Reply: Sendable {
        case answer(HttpAnswer)
        /// Threads have been probed, and have a moment to answer; the page depends on whether all did.
        case probed(LivenessProbe.Check, page: @Sendable (Bool) -> HttpAnswer)
        /// Lines as they come.
        case lines(LiveClient, type: String)
    }

    private static let allowedMethods = "GET, HEAD"
    static let linesType = "application/x-ndjson"

    let live: LiveLines
    private let output: HealthTrackingSink
    /// `/metrics`, as last generated.
    private let page = Mutex<[MetricsFormat: (text: String, made: MonotonicTime)]>([:])
    private static let pageAge: Duration = .milliseconds(100)
    /// Set before a request can come.
    private let subject = Mutex<(any HttpStatusSource)?>(nil)

    init(live: LiveLines, output: HealthTrackingSink) {
        self.live = live
        self.output = output
    }

    func serve(_ subject: any HttpStatusSource) { self.subject.withLock { $0 = subject } }

    /// - Parameters:
    ///   - accept: the request's `Accept` headers.
    ///   - wake: called when lines wait, once for each time ``LiveClient/next()`` had none.
    func reply(to method: HTTPMethod, _ target: String, accept: [String] = [], wake: @escaping @Sendable () -> Void) -> Reply {
        let path = String(target.prefix { $0 != "?" })
        guard ["/metrics", "/healthz", "/stalls"].contains(path) else {
            return .answer(.refusal(.notFound, "the pages are /metrics, /healthz and /stalls"))
        }
        guard method == .GET || method == .HEAD else {
            let allowed = Self.allowedMethods
            return .answer(.refusal(.methodNotAllowed, "allowed: \(allowed)", [("Allow", allowed)]))
        }
        switch path {
        case "/metrics":
            let format = MetricsFormat(accepting: accept)
            return .answer(HttpAnswer(status: .ok, type: format.contentType, text: metrics(format)))
        case "/healthz":
            let subject = subject.withLock { $0 }
            let isRunning = subject != nil
            let check = subject?.probeLiveness() ?? LivenessProbe.Check()
            return .probed(check) { [self] in health(subject, isWatching: isRunning && $0) }
        default:
            if method == .HEAD { return .answer(HttpAnswer(status: .ok, type: Self.linesType, text: "")) }
            guard let client = live.join(wake: wake) else { return .answer(Self.tooManySubscribers) }
            return .lines(client, type: Self.linesType)
        }
    }

    private static let tooManySubscribers = HttpAnswer.refusal(
        .serviceUnavailable,
        "/stalls has \(LiveLines.maximumClients) subscribers, which is the limit, or the run is over",
        [("Retry-After", "5")]
    )

    /// One page for all clients at about the same time, because it may have megabytes.
    private func metrics(_ format: MetricsFormat) -> String {
        page.withLock { pages in
            if let page = pages[format], MonotonicTime.now - page.made < Self.pageAge { return page.text }
            let text = freshMetrics(format)
            pages[format] = (text, .now)
            return text
        }
    }

    private func freshMetrics(_ format: MetricsFormat) -> String {
        let subject = subject.withLock { $0 }
        let lags = live.counts.rows(of: subject?.lags ?? [:])
        let statistics = subject?.statistics
        return MetricsPage(
            counts: live.counts.snapshot,
            lags: lags,
            dropped: statistics?.dropped ?? 0,
            suppressed: statistics?.suppressed ?? 0,
            labels: live.labels,
            targets: subject?.targets ?? [],
            format: format
        ).text
    }

    private func health(_ subject: (any HttpStatusSource)?, isWatching: Bool) -> HttpAnswer {
        let page = HealthPage(
            isWatching: isWatching,
            sinkName: output.name,
            sink: output.health,
            statistics: subject?.statistics ?? StallMonitorStatistics(),
            stalledLoops: live.counts.snapshot.loops.filter { !$0.value.inProgress.isEmpty }.keys.sorted(),
            targets: subject?.targets ?? [],
            now: .now
        )
        return HttpAnswer(
            status: page.faults.isEmpty ? .ok : .serviceUnavailable,
            type: HealthPage.contentType,
            text: page.text
        )
    }
}
