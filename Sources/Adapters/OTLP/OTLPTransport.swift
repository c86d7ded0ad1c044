internal import FoundationEssentials

/// How a request gets to the receiver; another one in tests.
protocol OTLPTransport: Sendable {
    /// Makes a request and calls `done` once, on any thread.
    func post(_ body: Data, _ done: @escaping @Sendable (OTLPAnswer) -> Void)
    /// Ends it for good; a request on its way fails.
    func cancel()
}

/// What came of a request.
struct OTLPAnswer: Sendable, Equatable {
    struct Response: Sendable, Equatable {
        var status: Int
        var retryAfter: String?
        var body = Data()
    }

    /// Nil: there was no answer.
    var response: Response?
}
