internal import CLagOTLP
internal import Dispatch
internal import FoundationEssentials
internal import Glibc
internal import LagActivity

/// Requests by libcurl: connections are kept, `https` is verified with the system's certificates, redirects are not followed.
// Unchecked: `client` is created here and destroyed by `deinit`. Only blocks on `queue` make requests, one at a time, and each
// keeps `self` alive; `clc_client_cancel` may be called on any thread.
final class HTTPTransport: OTLPTransport, @unchecked Sendable {
    private let client: OpaquePointer?
    /// Each request occupies the thread of its block until it is answered.
    private let queue = DispatchQueue(label: "lag-otlp-http", qos: .utility)

    /// - Returns: why no request can be made (libcurl is missing), or nil. Takes the loader's lock the first time.
    static func obstacle() -> String? { clc_load().map { String(cString: $0) } }

    init(url: URL, headers: [String: String], timeout: Duration) {
        var fields = headers
        fields["Content-Type"] = "application/json"
        fields["User-Agent"] = "LagMonitor"
        // Without a value libcurl omits it: no request waits for an interim answer.
        let lines = fields.map { "\($0.key): \($0.value)" } + ["Expect:"]
        let copies = lines.map { strdup($0) }
        defer { for copy in copies { free(copy) } }
        var pointers = copies.map { UnsafePointer<CChar>($0) }
        client = clc_client_create(url.absoluteString, &pointers, pointers.count, Self.milliseconds(timeout))
    }

    /// libcurl takes zero as no time-out.
    static func milliseconds(_ timeout: Duration) -> Int { Int(min(max(timeout / .milliseconds(1), 1), Double(Int32.max))) }

    deinit { if let client { clc_client_destroy(client) } }

    func post(_ body: Data, _ done: @escaping @Sendable (OTLPAnswer) -> Void) {
        queue.async {
            // The receiver may be slow: a program that watches Dispatch's threads need not see that.
            let answer = ExpectedBlocks.run { self.answer(to: body) }
            done(answer)
        }
    }

    func cancel() { if let client { clc_client_cancel(client) } }

    private func answer(to body: Data) -> OTLPAnswer {
        guard let client else { return OTLPAnswer() }
        var answer = clc_answer()
        let status = body.withUnsafeBytes { clc_client_post(client, $0.baseAddress, $0.count, &answer) }
        defer { free(answer.body) }
        guard status == 0 else { return OTLPAnswer(failure: answer.failure.map { String(cString: $0) }) }
        let retryAfter = withUnsafeBytes(of: answer.retry_after) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
        let text = answer.body.map { Data(bytes: $0, count: answer.body_bytes) } ?? Data()
        return OTLPAnswer(
            response: .init(status: Int(answer.status), retryAfter: retryAfter.isEmpty ? nil : retryAfter, body: text)
        )
    }
}
