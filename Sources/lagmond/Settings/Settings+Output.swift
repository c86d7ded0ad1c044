internal import LagMonitor
internal import LagMonitorOTLP

extension Settings {
    /// Opens the destination of the lines.
    /// - Throws: ``StartFailure``.
    func openOutput() throws(StartFailure) -> any RecordSink {
        do {
            return try output.makeSink { endpoint throws(SinkError) in
                try OTLPSink(endpoint: endpoint, headers: outputHeaders)
            }
        } catch {
            throw StartFailure(status: ExitStatus.cannotCreate, message: "output: \(error)")
        }
    }
}
