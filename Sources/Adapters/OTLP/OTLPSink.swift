internal import Dispatch
internal import FoundationEssentials
internal import Glibc
public import LagActivity
public import LagMonitorDelivery
public import LagOutput
internal import Synchronization

/// Sends records to a receiver of OTLP over HTTP, as JSON: `POST …/v1/logs`.
///
/// ```swift
/// import LagMonitor
/// import LagMonitorOTLP
///
/// let monitor = StallMonitor(sinks: [try OTLPSink(endpoint: "http://127.0.0.1:4318")])
/// ```
///
/// An accepted line waits in a bounded queue. Requests are made on a Dispatch queue, one at a time, each with up to 64 lines, so
/// that no monitor ever waits for the network. A request that failed temporarily is retried (``OTLPRetryRule``). If the queue is
/// full, lines are refused (``SinkError/Reason/tooSlow``) and counted by the monitor. Lines that the receiver refused, or that no
/// request could deliver, are counted in ``takeAbandonedLines()``, or returned by ``takeAbandonedNotices()``. A line may arrive
/// twice if an answer was lost: its `id` shows that. In a ``SpooledSink`` nothing that may still arrive is lost: it is kept on
/// disk.
///
/// ``close()`` waits for pending lines, up to the monitor's deadline, otherwise up to one second; the rest is counted.
///
/// Programs that the process starts do not inherit the connection. They inherit two descriptors with which libcurl wakes itself:
/// it has no option for that, and does not reveal which they are (its issue 13618). Their only effect is that they are open
/// there.
public final class OTLPSink: ReturningSink, LossExplainingSink {
    /// How many lines may wait or be in a request.
    public static let capacity = 512
    /// The lines of one request, and their bytes.
    static let batchLines = 64
    static let batchBytes = 1 << 20

    private struct State {
        var waiting: [Line] = []
        /// The lines of the request that is in progress, or will be retried.
        var sending: [Line] = []
        var attempt = 0
        /// Only records.
        var abandoned: UInt64 = 0
        /// Why the last request failed; nil: it did not.
        var lastFailure: String?
        var lossReason: String?
        var unreportedNotices: [Notice] = []
        var isClosed = false
        /// Counts the requests and the closes; an answer to an older one is ignored.
        var generation: UInt64 = 0
        var transport: any OTLPTransport
        /// Lines are returned instead of sent again.
        var isReturning = false
        var returned = ReturnedLines()
        /// Consecutive requests that must be retried.
        var failures = 0

        /// Whatever the result of the request in progress, its lines are returned.
        mutating func giveBack(afterNanoseconds delay: UInt64 = 0) {
            returned.lines += (sending + waiting).map { ReturnedLines.Line(bytes: $0.bytes, isRecord: $0.isRecord) }
            returned.retryAfterNanoseconds = max(returned.retryAfterNanoseconds, delay)
            (sending, waiting) = ([], [])
            generation += 1
        }

        mutating func abandon(_ lines: [Line], because reason: String?) {
            if !lines.isEmpty { lossReason = reason }
            for line in lines {
                switch line.content {
                case .record: abandoned += 1
                case .losses(let notice): unreportedNotices.append(notice)
                case .notice: break
                }
            }
        }
    }

    /// The endpoint without its user and password, if it has them.
    public let name: String
    package let destination: String
    public let format: RecordFormat? = .otlp
    private let rule: OTLPRetryRule
    private let makeTransport: @Sendable () -> any OTLPTransport
    private let queue = DispatchQueue(label: "lag-otlp", qos: .utility)
    private let state: Mutex<State>
    private let limit = Atomic<UInt64>(.max)

    /// Does not connect yet.
    /// - Parameters:
    ///   - endpoint: `http://` or `https://`, a host, a port; `/v1/logs` is appended to a path that does not end in it.
    ///   - headers: sent with every request, for example for authorization.
    ///   - timeout: how long a request may take.
    ///   - rule: what is retried, and how often.
    /// - Throws: ``SinkError/Reason/cannotOpen`` with EINVAL if `endpoint` is not such a URL or a header is not valid, with
    ///   ELIBACC if libcurl is not installed.
    public convenience init(
        endpoint: String,
        headers: [String: String] = [:],
        timeout: Duration = .seconds(10),
        rule: OTLPRetryRule = OTLPRetryRule()
    ) throws(SinkError) {
        let name = Self.name(of: endpoint)
        guard let url = Self.url(endpoint) else {
            let detail = "not a URL with a host and without a query (allowed: otlp:http://HOST:PORT, otlp:https://HOST/PATH)"
            throw SinkError(.cannotOpen, path: name, code: EINVAL, detail: detail)
        }
        if let obstacle = Self.obstacle(in: headers) {
            throw SinkError(.cannotOpen, path: name, code: EINVAL, detail: obstacle)
        }
        if let obstacle = HTTPTransport.obstacle() {
            throw SinkError(.cannotOpen, path: name, code: ELIBACC, detail: obstacle)
        }
        self.init(name: name, destination: "otlp:\(endpoint)", rule: rule) {
            HTTPTransport(url: url, headers: headers, timeout: timeout)
        }
    }

    /// - Parameter destination: determines the file name of a spool; nil: the name does.
    init(
        name: String,
        destination: String? = nil,
        rule: OTLPRetryRule,
        makeTransport: @escaping @Sendable () -> any OTLPTransport
    ) {
        self.name = name
        self.destination = destination ?? name
        self.rule = rule
        self.makeTransport = makeTransport
        state = Mutex(State(transport: makeTransport()))
    }

    deinit { cancel(state.withLock { $0.transport }) }

    /// Accepts a line of format ``RecordFormat/otlp``; any other is refused with EINVAL.
    public func write(_ line: UnsafeRawBufferPointer) throws(SinkError) { try take(line, .record) }

    public func write(_ line: UnsafeRawBufferPointer, about facts: LineFacts) throws(SinkError) {
        try take(line, Line.Content(facts))
    }

    private func take(_ line: UnsafeRawBufferPointer, _ content: Line.Content) throws(SinkError) {
        guard OTLPRequest.isLine(line) else { throw SinkError(.writeFailed, path: name, code: EINVAL) }
        let line = Line(bytes: [UInt8](line), content: content)
        let failure: SinkError? = state.withLock { state in
            if state.isClosed { return SinkError(.closed, path: name) }
            guard state.returned.lines.isEmpty, state.waiting.count + state.sending.count < Self.capacity else {
                return SinkError(.tooSlow, path: name)
            }
            state.waiting.append(line)
            if state.sending.isEmpty { sendNext(&state) }
            return nil
        }
        if let failure { throw failure }
    }

    public func resume() throws(SinkError) {
        state.withLock { state in
            guard state.isClosed else { return }
            state.isClosed = false
            state.transport = makeTransport()
        }
    }

    public func close() {
        let ownDeadline = DispatchTime.now().uptimeNanoseconds + 1_000_000_000
        while true {
            let isDone = state.withLock { state in
                state.isClosed = true
                return state.sending.isEmpty
            }
            let bound = limit.load(ordering: .relaxed)
            if isDone || DispatchTime.now().uptimeNanoseconds >= (bound == .max ? ownDeadline : bound) { break }
            usleep(5000)
        }
        let transport = state.withLock { state in
            let left = state.sending + state.waiting
            if state.isReturning { state.giveBack() } else { state.abandon(left, because: state.lastFailure) }
            (state.sending, state.waiting) = ([], [])
            state.generation += 1
            return state.transport
        }
        cancel(transport)
    }

    /// On the queue that makes the requests, after the generation was incremented: a finished session must not be used for
    /// another request.
    private func cancel(_ transport: any OTLPTransport) { queue.async { transport.cancel() } }

    public func limitWaiting(until deadline: MonotonicTime?) { limit.store(deadline?.nanoseconds ?? .max, ordering: .relaxed) }

    public func takeAbandonedLines() -> UInt64 {
        state.withLock { state in
            defer { state.abandoned = 0 }
            return state.abandoned
        }
    }

    public func takeAbandonedNotices() -> [Notice] {
        state.withLock { state in
            defer { state.unreportedNotices = [] }
            return state.unreportedNotices
        }
    }

    public var unsettledLines: Int { state.withLock { $0.waiting.count + $0.sending.count + $0.returned.lines.count } }
    package var lossReason: String? { state.withLock { $0.lossReason } }

    package func returnsUndelivered() { state.withLock { $0.isReturning = true } }

    package func takeReturned(all: Bool) -> ReturnedLines {
        state.withLock { state in
            if all { state.giveBack() }
            defer { state.returned = ReturnedLines() }
            return state.returned
        }
    }

    /// The lines of the next request, if there are any.
    private func sendNext(_ state: inout State) {
        state.sending = []
        guard !state.waiting.isEmpty else { return }
        var bytes = 0
        let count = state.waiting.prefix(Self.batchLines).prefix { line in
            defer { bytes += line.bytes.count }
            return bytes == 0 || bytes + line.bytes.count <= Self.batchBytes
        }.count
        state.sending = Array(state.waiting.prefix(count))
        state.waiting.removeFirst(count)
        state.attempt = 0
        send(&state, afterNanoseconds: 0)
    }

    private func send(_ state: inout State, afterNanoseconds delay: UInt64) {
        state.generation += 1
        let generation = state.generation
        queue.asyncAfter(deadline: .now() + .nanoseconds(Int(clamping: delay))) { [weak self] in self?.post(generation) }
    }

    /// On the queue, like every call of the transport: so what ``close()`` cancels later cannot be over before the request is
    /// made.
    private func post(_ generation: UInt64) {
        let request: (body: Data, transport: any OTLPTransport)? = state.withLock { state in
            guard generation == state.generation, !state.sending.isEmpty else { return nil }
            state.attempt += 1
            return (OTLPRequest.body(of: state.sending.map(\.bytes)), state.transport)
        }
        guard let request else { return }
        request.transport.post(request.body) { [weak self] answer in
            guard let self else { return }
            queue.async { self.take(answer, generation) }
        }
    }

    private func take(_ answer: OTLPAnswer, _ generation: UInt64) {
        state.withLock { state in
            guard generation == state.generation, !state.sending.isEmpty else { return }
            state.lastFailure = answer.lossReason
            // A line that is returned is not lost, however often it failed.
            let attempt = state.isReturning ? min(state.failures + 1, rule.attempts - 1) : state.attempt
            switch rule.verdict(on: answer, attempt: attempt, now: Date(), jitter: Double.random(in: 0..<1)) {
            case .accepted(let rejected):
                state.failures = 0
                let reason = "the receiver rejected lines"
                if rejected >= UInt64(state.sending.count) {
                    state.abandon(state.sending, because: reason)
                } else if rejected > 0 {
                    state.lossReason = reason
                    // It is not known which ones: they are assumed to be records.
                    state.abandoned += min(rejected, UInt64(state.sending.count { $0.isRecord }))
                }
                sendNext(&state)
            case .retry(let nanoseconds) where state.isReturning:
                state.failures += 1
                state.giveBack(afterNanoseconds: nanoseconds)
            case .retry(let nanoseconds): send(&state, afterNanoseconds: nanoseconds)
            case .lost:
                state.abandon(state.sending, because: answer.lossReason)
                sendNext(&state)
            }
        }
    }
}
