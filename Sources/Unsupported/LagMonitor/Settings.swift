internal import LagOutput

// The bounds of missing features, so that a configuration is checked as on Linux.
extension StallRules {
    static let maximumFunctions = 4
}

extension StallMonitorConfiguration {
    static let frameCapacity = 256
}

extension OutputSettings {
    /// Opens nothing.
    public func makeSink(
        otlp: ((String) throws(SinkError) -> any RecordSink)? = nil
    ) throws(SinkError) -> any RecordSink { MemorySink(name: "\(destination)") }

    static func unfinishedPath(_ reader: SettingsReader) -> String? {
        reader.string(for: .unfinished).flatMap { $0 == "none" ? nil : $0 }
    }
}
