internal import Foundation

/// Which requests are made again, and when: the rules of OTLP over HTTP (OpenTelemetry Protocol 1.x, "Failures").
///
/// 429, 502, 503 and 504 and a connection that failed may pass; every other answer above 299 will not. `Retry-After`, in seconds or as a
/// date, is kept to, up to ``longestDelay``; without it the delay doubles from ``firstDelay`` on, up to half of it less by chance, so that
/// many hosts do not come back at once.
public struct OTLPRetryRule: Sendable, Equatable {
    /// Requests for the same lines in all; at least 1.
    public var attempts = 6
    /// Before the second request.
    public var firstDelay: Duration = .seconds(1)
    /// The longest that any delay is, also one that the receiver asks for.
    public var longestDelay: Duration = .seconds(60)

    public init() {}

    enum Verdict: Equatable {
        /// Over, but so many of the records the receiver did not want.
        case accepted(rejected: UInt64)
        case retry(afterNanoseconds: UInt64)
        case lost
    }

    /// - Parameters:
    ///   - attempt: how many requests there were, this one included.
    ///   - jitter: 0..<1.
    func verdict(on answer: OTLPAnswer, attempt: Int, now: Date, jitter: Double) -> Verdict {
        var asked: Double?
        if let answer = answer.response {
            if (200..<300).contains(answer.status) { return .accepted(rejected: Self.rejected(in: answer.body)) }
            guard [429, 502, 503, 504].contains(answer.status) else { return .lost }
            asked = answer.retryAfter.flatMap { Self.seconds(ofRetryAfter: $0, now: now) }
        }
        guard attempt < attempts else { return .lost }
        let longest = longestDelay / .seconds(1)
        let doubled = firstDelay / .seconds(1) * pow(2, Double(min(attempt, 40) - 1))
        let seconds = asked ?? min(longest, doubled) * (1 - jitter / 2)
        // Up to 292 years: what is more has no place in the number.
        let nanoseconds = max(0, min(longest, seconds)) * 1e9
        return .retry(afterNanoseconds: nanoseconds < 0x1p63 ? UInt64(nanoseconds) : UInt64(Int64.max))
    }

    /// `partialSuccess.rejectedLogRecords`, an int64: a string, or a number where the receiver is not strict.
    private static func rejected(in body: Data) -> UInt64 {
        guard let answer = try? JSONSerialization.jsonObject(with: body) as? [String: Any],
            let partial = answer["partialSuccess"] as? [String: Any]
        else { return 0 }
        switch partial["rejectedLogRecords"] {
        case let text as String: return UInt64(text) ?? 0
        case let number as NSNumber: return UInt64(clamping: number.int64Value)
        default: return 0
        }
    }

    /// RFC 9110, section 10.2.3: seconds, or a date in the preferred form. Nil when it is neither.
    private static func seconds(ofRetryAfter text: String, now: Date) -> Double? {
        let text = text.trimmingCharacters(in: .whitespaces)
        if !text.isEmpty, text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) { return Double(text) }
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = TimeZone(identifier: "GMT")
        formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        return formatter.date(from: text).map { max(0, $0.timeIntervalSince(now)) }
    }
}
