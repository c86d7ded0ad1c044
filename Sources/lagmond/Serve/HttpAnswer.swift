internal import NIOHTTP1

/// An answer with complete text.
struct HttpAnswer: Sendable {
    var status: HTTPResponseStatus
    var type = "text/plain; charset=utf-8"
    var headers: [(String, String)] = []
    let text: String

    static func refusal(_ status: HTTPResponseStatus, _ text: String, _ headers: [(String, String)] = []) -> HttpAnswer {
        HttpAnswer(status: status, headers: headers, text: text + "\n")
    }
}
