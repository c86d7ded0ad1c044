import Foundation
import Synchronization

@testable import LagMonitorOTLP

/// Answers as scripted; keeps requests unanswered while `holds` is set.
final class ScriptedTransport: OTLPTransport {
    private struct State {
        var answers: [OTLPAnswer] = []
        var bodies: [String] = []
        var held: [@Sendable (OTLPAnswer) -> Void] = []
        var holds = false
        var cancelled = 0
    }

    private let state = Mutex(State())

    init(_ statuses: [Int?] = [], holding: Bool = false) {
        state.withLock { state in
            state.answers = statuses.map { OTLPAnswer(response: $0.map { .init(status: $0) }) }
            state.holds = holding
        }
    }

    /// - Parameter rejecting: how many records the receiver rejects in each request.
    init(rejecting: [Int]) {
        state.withLock { state in
            state.answers = rejecting.map { count in
                let body = Data(#"{"partialSuccess":{"rejectedLogRecords":\#(count)}}"#.utf8)
                return OTLPAnswer(response: .init(status: 200, body: body))
            }
        }
    }

    var bodies: [String] { state.withLock { $0.bodies } }
    var cancelled: Int { state.withLock { $0.cancelled } }

    func post(_ body: Data, _ done: @escaping @Sendable (OTLPAnswer) -> Void) {
        let answer: OTLPAnswer? = state.withLock { state in
            state.bodies.append(String(decoding: body, as: UTF8.self))
            guard !state.holds else {
                state.held.append(done)
                return nil
            }
            return state.answers.isEmpty ? OTLPAnswer(response: .init(status: 200)) : state.answers.removeFirst()
        }
        if let answer { done(answer) }
    }

    func hold() { state.withLock { $0.holds = true } }

    func release() {
        let held = state.withLock { state in
            defer { state.held = [] }
            state.holds = false
            return state.held
        }
        for done in held { done(OTLPAnswer(response: .init(status: 200))) }
    }

    func cancel() { state.withLock { $0.cancelled += 1 } }
}
