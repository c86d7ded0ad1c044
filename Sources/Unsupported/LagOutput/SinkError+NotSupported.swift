extension SinkError {
    /// The error of a write to a sink: it opens nothing, no monitor writes to it, and other lines are rejected instead of lost.
    package static func notSupported(_ name: String) -> SinkError {
        SinkError(.cannotOpen, path: name, detail: "sinks of LagMonitor are supported only on Linux")
    }

    package var codeText: String { "errno \(code)" }
}
