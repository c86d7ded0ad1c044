import Foundation
import Glibc
import LagActivity
import Synchronization
import TestSupport
import Testing

@testable import LagMonitorDelivery
@testable import LagMonitorOTLP
@testable import LagOutput

/// Keeps requests until the test answers them.
private final class HeldTransport: OTLPTransport {
    private struct State {
        var bodies: [String] = []
        var held: [@Sendable (OTLPAnswer) -> Void] = []
    }

    private let state = Mutex(State())

    var bodies: [String] { state.withLock { $0.bodies } }

    func post(_ body: Data, _ done: @escaping @Sendable (OTLPAnswer) -> Void) {
        state.withLock { state in
            state.bodies.append(String(decoding: body, as: UTF8.self))
            state.held.append(done)
        }
    }

    /// Answers the waiting requests; returns false if there are none.
    func answer(_ status: Int?, retryAfter: String? = nil) -> Bool {
        let held = state.withLock { state in
            defer { state.held = [] }
            return state.held
        }
        for done in held { done(OTLPAnswer(response: status.map { .init(status: $0, retryAfter: retryAfter) })) }
        return !held.isEmpty
    }

    func cancel() {}
}

/// Requests to a receiver of OTLP, whose answers come later.
extension SpooledSinkTests {
    private func request(_ number: Int) -> String {
        #"{"resourceLogs":[{"n":\#(number),"scopeLogs":[{"logRecords":[{"attributes":[]}]}]}]}"# + "\n"
    }

    private func sink(_ transport: HeldTransport) throws -> SpooledSink {
        try sink(OTLPSink(name: "otlp:test", rule: OTLPRetryRule()) { transport })
    }

    /// The sink counts lines that its destination gave up only when it is queried.
    private func until(_ sink: SpooledSink, _ condition: () -> Bool) -> Bool {
        eventually {
            _ = sink.takeAbandonedLines()
            return condition()
        }
    }

    /// Answers until no line is kept.
    private func expectArrival(_ sink: SpooledSink, _ transport: HeldTransport) {
        let isEmpty = until(sink) {
            _ = transport.answer(200)
            return sink.keptLines == 0
        }
        #expect(isEmpty)
    }

    @Test func `requests that may succeed later are kept and sent again`() throws {
        let transport = HeldTransport()
        let sink = try sink(transport)
        for number in 1...3 { try sink.put(request(number)) }
        #expect(sink.unsettledLines == 3 && sink.keptLines == 0)
        #expect(until(sink) { transport.answer(503, retryAfter: "20") })
        #expect(until(sink) { sink.keptLines == 3 })
        clock.advance(19)
        #expect(sink.takeAbandonedLines() == 0 && transport.bodies.count == 1)
        clock.advance(2)
        #expect(until(sink) { transport.bodies.count == 2 })
        // The requests are on disk until it is known that they arrived.
        #expect(sink.keptLines == 3 && sink.unsettledLines == 3)
        expectArrival(sink, transport)
        #expect(sink.unsettledLines == 0 && sink.takeAbandonedLines() == 0 && files.isEmpty)
        let sent = transport.bodies.dropFirst().joined()
        #expect((1...3).allSatisfy { sent.contains("\"n\":\($0)") } && sent.contains("lagmonitor.late"))
    }

    @Test func `requests that the receiver rejects are counted as lost`() throws {
        let transport = HeldTransport()
        let sink = try sink(transport)
        try sink.put(request(1))
        var lost: UInt64 = 0
        for _ in 0..<2000 where lost == 0 {
            _ = transport.answer(400)
            lost += sink.takeAbandonedLines()
            usleep(5000)
        }
        #expect(lost == 1 && sink.keptLines == 0 && files.isEmpty)
    }

    @Test func `requests in progress are kept on close`() throws {
        let transport = HeldTransport()
        let first = try sink(transport)
        for number in 1...3 { try first.put(request(number)) }
        first.limitWaiting(until: MonotonicTime(nanoseconds: 0))
        first.close()
        #expect(first.takeAbandonedLines() == 0 && first.keptLines == 3)
        let fresh = HeldTransport()
        let second = try sink(fresh)
        expectArrival(second, fresh)
        let sent = fresh.bodies.joined()
        #expect((1...3).allSatisfy { sent.contains("\"n\":\($0)") })
    }

    @Test func `a full queue is written to disk in order`() throws {
        let transport = HeldTransport()
        let sink = try sink(transport)
        for number in 0...OTLPSink.capacity { try sink.put(request(number)) }
        #expect(sink.keptLines == OTLPSink.capacity + 1)
        clock.advance(11)
        expectArrival(sink, transport)
        let numbers = transport.bodies.joined().split(separator: "\"n\":").dropFirst()
            .compactMap { Int($0.prefix { $0.isNumber }) }
        let all = Array(0...OTLPSink.capacity)
        // The first request may already have been sent when its line was taken back.
        #expect(numbers == all || numbers == [0] + all)
    }
}
