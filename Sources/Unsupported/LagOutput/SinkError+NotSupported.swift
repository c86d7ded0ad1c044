extension SinkError {
    /// What a sink says to who writes to it: it opens nothing, no monitor writes to it, and a line of somebody else is refused, not lost.
    package static func notSupported(_ name: String) -> SinkError {
        SinkError(.cannotOpen, path: name, detail: "sinks of LagMonitor are supported on Linux alone")
    }

    var codeText: String { "errno \(code)" }
}
