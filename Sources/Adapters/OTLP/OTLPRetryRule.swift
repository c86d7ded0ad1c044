internal import FoundationEssentials
internal import Glibc

/// Which requests are retried, and when: the rules of OTLP over HTTP (OpenTelemetry Protocol 1.x, "Failures").
///
/// 429, 502, 503 and 504 and a failed connection may be temporary; every other answer above 299 is permanent. The delay doubles
/// from ``firstDelay`` on; it is reduced at random by up to half, so that many hosts do not come back at once. `Retry-After`, in
/// seconds or as a date, makes it longer, up to ``longestDelay``, and never shorter.
public struct OTLPRetryRule: Sendable, Equatable {
    /// The maximum number of requests for the same lines; at least 1.
    public var attempts = 6
    /// The delay before the second request.
    public var firstDelay: Duration = .seconds(1)
    /// The longest delay, even if the receiver requests a longer one.
    public var longestDelay: Duration = .seconds(60)

    public init() {}

    enum Verdict: Equatable {
        /// Finished, but the receiver rejected this many of the records.
        case accepted(rejected: UInt64)
        case retry(afterNanoseconds: UInt64)
        case lost
    }

    /// - Parameters:
    ///   - attempt: the number of requests, including this one.
    ///   - jitter: 0..<1.
    func verdict(on answer: OTLPAnswer, attempt: Int, now: Date, jitter: Double) -> Verdict {
        var asked: Double?
        if let answer = answer.response {
            if answer.isSuccess { return .accepted(rejected: Self.rejected(in: answer.body)) }
            guard [429, 502, 503, 504].contains(answer.status) else { return .lost }
            asked = answer.retryAfter.flatMap { Self.seconds(ofRetryAfter: $0, now: now) }
        }
        guard attempt < attempts else { return .lost }
        let longest = longestDelay / .seconds(1)
        let doubled = firstDelay / .seconds(1) * pow(2, Double(min(attempt, 40) - 1))
        // A receiver may request no delay at all, or a time that is past by this host's clock.
        let seconds = max(asked ?? 0, min(longest, doubled) * (1 - jitter / 2))
        // Up to 292 years: more does not fit into the number.
        let nanoseconds = max(0, min(longest, seconds)) * 1e9
        return .retry(afterNanoseconds: nanoseconds < 0x1p63 ? UInt64(nanoseconds) : UInt64(Int64.max))
    }

    /// The answer's information about rejected records. An int64: a string, or a number if the receiver is not strict.
    private struct Answer: Decodable {
        struct PartialSuccess: Decodable {
            let rejectedLogRecords: UInt64

            private enum CodingKeys: CodingKey { case rejectedLogRecords }

            init(from decoder: any Decoder) throws {
                let values = try decoder.container(keyedBy: CodingKeys.self)
                if let number = try? values.decode(Int64.self, forKey: .rejectedLogRecords) {
                    rejectedLogRecords = UInt64(clamping: number)
                } else {
                    rejectedLogRecords = UInt64((try? values.decode(String.self, forKey: .rejectedLogRecords)) ?? "") ?? 0
                }
            }
        }

        let partialSuccess: PartialSuccess
    }

    private static func rejected(in body: Data) -> UInt64 {
        (try? JSONDecoder().decode(Answer.self, from: body))?.partialSuccess.rejectedLogRecords ?? 0
    }

    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    /// RFC 9110, section 10.2.3: seconds, or a date in the preferred form (`Sun, 06 Nov 1994 08:49:37 GMT`). Nil if it is
    /// neither.
    private static func seconds(ofRetryAfter text: String, now: Date) -> Double? {
        let words = text.split { $0 == " " || $0 == "\t" }
        if words.count == 1, words[0].utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) {
            return Double(words[0])
        }
        let clock = words.count == 6 ? words[4].split(separator: ":").compactMap { Int32($0) } : []
        guard clock.count == 3, words[5] == "GMT", let month = months.firstIndex(where: { $0 == words[2] }),
            let day = Int32(words[1]), let year = Int32(words[3]), (1900...9999).contains(year)
        else { return nil }
        var date = tm()
        (date.tm_year, date.tm_mon, date.tm_mday) = (year - 1900, Int32(month), day)
        (date.tm_hour, date.tm_min, date.tm_sec) = (clock[0], clock[1], clock[2])
        return max(0, Double(timegm(&date)) - now.timeIntervalSince1970)
    }
}
