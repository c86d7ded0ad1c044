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
    }

    /// Nil: there was no answer.
    var response: Response?
}
