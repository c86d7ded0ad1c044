/// Limits for the resources that clients can use, individually and together.
///
/// A connection serves one request, so these bound its resources, whatever it sends.
struct HttpLimits: Sendable {
    /// The request line and the headers. Prometheus sends about 400.
    var headBytes = 16_384
    var headers = 100
    /// Bytes after the head, which no page needs: they are read and dropped, so that the client gets the answer before the end.
    var droppedBytes = 1 << 20
    /// Connections served at the same time; more are answered with 503 and closed.
    var connections = 64
    /// From the connection to the end of the head.
    var headMilliseconds: Int64 = 10_000
    /// For taking an answer, and for taking the lines of `/stalls` that wait.
    var answerMilliseconds: Int64 = 10_000
    /// From the answer's end to the client's.
    var closeMilliseconds: Int64 = 2_000
    /// How often a client of `/stalls` that gets no lines gets an empty one.
    var heartbeatMilliseconds: Int64 = 5_000
}
