/// The data on a scenario that stalls a service, from a program's list. Tasks and requests of the service continue while a thread
/// is stalled.
struct ServiceTruth: Decodable, Sendable {
    /// The kind of the scenario; sums are printed per kind.
    let group: String
    /// The context that the stalled thread runs; nil: it runs none, and the record must not name one.
    var request: String?
    /// The program's functions that wait for the function on the stack, the innermost first; nil if that is not judged.
    var suspendedCallers: [String]?
}
