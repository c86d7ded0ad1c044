import Foundation
import Testing

@testable import LagMonitorOTLP

struct OTLPRetryRuleTests {
    /// 2026-11-21T12:00:00Z.
    private let now = Date(timeIntervalSince1970: 1_795_262_400)

    private func verdict(
        _ status: Int?,
        retryAfter: String? = nil,
        body: String = "",
        attempt: Int = 1,
        jitter: Double = 0
    ) -> OTLPRetryRule.Verdict {
        let response = status.map { OTLPAnswer.Response(status: $0, retryAfter: retryAfter, body: Data(body.utf8)) }
        return OTLPRetryRule().verdict(on: OTLPAnswer(response: response), attempt: attempt, now: now, jitter: jitter)
    }

    @Test(arguments: [200, 202, 204, 299]) func `a success status ends the attempts`(status: Int) {
        #expect(verdict(status, body: "{}") == .accepted(rejected: 0))
    }

    @Test(arguments: [429, 502, 503, 504]) func `a temporary error status is retried`(status: Int) {
        #expect(verdict(status) == .retry(afterNanoseconds: 1_000_000_000))
    }

    @Test(arguments: [301, 400, 401, 403, 404, 408, 413, 500, 501, 505]) func `any other status is not retried`(status: Int) {
        #expect(verdict(status) == .lost)
    }

    @Test func `a missing answer is retried up to the last attempt`() {
        #expect(verdict(nil, attempt: 5) == .retry(afterNanoseconds: 16_000_000_000))
        #expect(verdict(nil, attempt: 6) == .lost)
        #expect(verdict(503, retryAfter: "1", attempt: 6) == .lost)
    }

    @Test func `the delay doubles up to the maximum and jitter makes it shorter`() {
        var rule = OTLPRetryRule()
        rule.attempts = 100
        func delay(_ attempt: Int, _ jitter: Double) -> OTLPRetryRule.Verdict {
            rule.verdict(on: OTLPAnswer(), attempt: attempt, now: now, jitter: jitter)
        }
        #expect(delay(3, 0) == .retry(afterNanoseconds: 4_000_000_000))
        #expect(delay(3, 0.5) == .retry(afterNanoseconds: 3_000_000_000))
        #expect(delay(99, 0) == .retry(afterNanoseconds: 60_000_000_000))
    }

    @Test func `a delay beyond the range of the clock is limited`() {
        var rule = OTLPRetryRule()
        rule.longestDelay = .seconds(Int64.max)
        rule.firstDelay = .seconds(Int64.max)
        let answer = OTLPAnswer(response: .init(status: 503, retryAfter: String(repeating: "9", count: 400)))
        for answer in [answer, OTLPAnswer()] {
            let verdict = rule.verdict(on: answer, attempt: 1, now: now, jitter: 0)
            #expect(verdict == .retry(afterNanoseconds: UInt64(Int64.max)))
        }
    }

    @Test(arguments: [
        ("7", 7), (" 3 ", 3), ("86400", 60), ("Sat, 21 Nov 2026 12:00:09 GMT", 9),
        // Zero, a time in the past, and invalid values: as without the header.
        ("0", 1), ("Sat, 21 Nov 2026 11:00:00 GMT", 1), ("soon", 1), ("-5", 1), ("", 1),
    ])
    func `the retry delay follows the Retry-After header up to the maximum`(retryAfter: String, seconds: UInt64) {
        #expect(verdict(503, retryAfter: retryAfter) == .retry(afterNanoseconds: seconds * 1_000_000_000))
    }

    @Test func `the receiver cannot make delays shorter than the own ones`() {
        #expect(verdict(503, retryAfter: "0", attempt: 4) == .retry(afterNanoseconds: 8_000_000_000))
        #expect(verdict(503, retryAfter: "5", attempt: 4, jitter: 0.5) == .retry(afterNanoseconds: 6_000_000_000))
    }

    @Test(arguments: [
        (#"{"partialSuccess":{"rejectedLogRecords":"3","errorMessage":"no"}}"#, 3),
        (#"{"partialSuccess":{"rejectedLogRecords":2}}"#, 2), (#"{"partialSuccess":{}}"#, 0),
        (#"{"partialSuccess":{"rejectedLogRecords":-1}}"#, 0), (#"{"partialSuccess":5}"#, 0), ("not json", 0), ("", 0),
    ])
    func `rejected records are counted and not sent again`(body: String, rejected: UInt64) {
        #expect(verdict(200, body: body) == .accepted(rejected: rejected))
    }
}
