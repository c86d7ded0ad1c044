internal import FoundationEssentials

/// How a request reaches the receiver; tests use another implementation.
protocol OTLPTransport: Sendable {
    /// Makes a request and calls `done` once, on any thread.
    func post(_ body: Data, _ done: @escaping @Sendable (OTLPAnswer) -> Void)
    /// Ends it permanently; a request in progress fails.
    func cancel()
}

/// The result of a request.
struct OTLPAnswer: Sendable, Equatable {
    struct Response: Sendable, Equatable {
        var status: Int
        var retryAfter: String?
        var body = Data()

        var isSuccess: Bool { (200..<300).contains(status) }
    }

    /// Nil: there was no answer.
    var response: Response?
    /// Why there was none, if that is known.
    var failure: String?

    /// Why the lines of the request did not arrive; nil: they did.
    var lossReason: String? {
        guard let response else { return failure ?? "no answer of the receiver" }
        return response.isSuccess ? nil : "the receiver answered with status \(response.status)"
    }
}
