internal import Foundation

#if canImport(FoundationNetworking)
    internal import FoundationNetworking
#endif

/// Requests by Foundation's client: connections are kept, `https` is checked against the system's certificates.
final class HTTPTransport: OTLPTransport {
    private let session: URLSession
    private let request: URLRequest

    init(url: URL, headers: [String: String], timeout: Duration) {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.httpCookieAcceptPolicy = .never
        configuration.httpShouldSetCookies = false
        configuration.timeoutIntervalForRequest = timeout / .seconds(1)
        configuration.timeoutIntervalForResource = timeout / .seconds(1)
        session = URLSession(configuration: configuration)
        var request = URLRequest(url: url)
        request.httpMethod = "POST"
        request.timeoutInterval = timeout / .seconds(1)
        for (name, value) in headers { request.setValue(value, forHTTPHeaderField: name) }
        request.setValue("application/json", forHTTPHeaderField: "Content-Type")
        request.setValue("LagMonitor", forHTTPHeaderField: "User-Agent")
        self.request = request
    }

    func post(_ body: Data, _ done: @escaping @Sendable (OTLPAnswer) -> Void) {
        var request = request
        request.httpBody = body
        session.dataTask(with: request) { body, response, _ in
            guard let response = response as? HTTPURLResponse else { return done(OTLPAnswer()) }
            let retryAfter = response.value(forHTTPHeaderField: "Retry-After")
            done(OTLPAnswer(response: .init(status: response.statusCode, retryAfter: retryAfter, body: body ?? Data())))
        }.resume()
    }

    func cancel() { session.invalidateAndCancel() }
}
