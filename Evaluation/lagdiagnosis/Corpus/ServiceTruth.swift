/// What a program's list says of one of its scenarios that stalls a service: where tasks and requests go on while a thread is stalled.
struct ServiceTruth: Decodable, Sendable {
    /// Scenarios of a kind, whose sums are printed together.
    let group: String
    /// The context that the stalled thread runs; nil: it runs none, and none may be named.
    var request: String?
    /// The program's functions that wait for what is on the stack, the innermost first; nil where that is not judged.
    var suspendedCallers: [String]?
}
