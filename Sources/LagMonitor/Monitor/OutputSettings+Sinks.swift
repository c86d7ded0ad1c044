internal import Glibc
public import LagOutput

extension OutputSettings {
    /// Opens the destination.
    /// - Parameter otlp: creates the sink for ``Destination/otlp(endpoint:)``, which is in the product LagMonitorOTLP and not in
    ///   the core. Without this parameter that destination cannot be opened.
    /// - Throws: ``SinkError/Reason/cannotOpen``; with ENOTSUP if the product with the sink is not enabled; with EINVAL if
    ///   rotation is set for a destination other than a file, or a spool for one other than a stream or OTLP.
    public func makeSink(
        otlp: ((String) throws(SinkError) -> any RecordSink)? = nil
    ) throws(SinkError) -> any RecordSink { try makeSink(otlp: otlp, delivery: .enabled) }

    /// - Parameter delivery: creates the sinks that the core lacks.
    func makeSink(
        otlp: ((String) throws(SinkError) -> any RecordSink)? = nil,
        delivery: DeliveryParts?
    ) throws(SinkError) -> any RecordSink {
        guard rotation == nil || destination.isFile, spool == nil || destination.isNetwork else {
            throw SinkError(.cannotOpen, path: "\(destination)", code: EINVAL)
        }
        func parts() throws(SinkError) -> DeliveryParts {
            if let delivery { return delivery }
            throw SinkError(.cannotOpen, path: destination.text, code: ENOTSUP, detail: "it needs \(DeliveryParts.remedy)")
        }
        let sink: any RecordSink
        switch destination {
        case .stdout: sink = try DescriptorSink(descriptor: STDOUT_FILENO, name: "stdout")
        case .file(let path): sink = try FileSink(path: path, rotation: rotation, permissions: permissions)
        case .journald(let path): sink = try parts().journal(path)
        case .stream(let address): sink = try parts().stream(address)
        case .otlp(let endpoint):
            guard let otlp else {
                let detail = "it needs OTLPSink of the product LagMonitorOTLP"
                throw SinkError(.cannotOpen, path: destination.text, code: ENOTSUP, detail: detail)
            }
            sink = try otlp(endpoint)
        }
        guard let spool else { return sink }
        return try parts().spooled(sink, spool)
    }

    /// Where checked settings keep stalls in progress (``StallMonitorConfiguration/unfinishedPath``): at the path in the
    /// settings, otherwise beside the file for the lines, if a file can be created there. For `none` and other destinations:
    /// nowhere.
    static func unfinishedPath(_ reader: SettingsReader) -> String? {
        if let path = reader.string(for: .unfinished) { return path == "none" ? nil : path }
        guard let text = reader.string(for: .output), case .file(let log)? = try? Destination(text) else { return nil }
        var status = stat()
        // If the path exists and is not a regular file, it is a pipe or a device: files beside those would not be found.
        if stat(log, &status) == 0, status.st_mode & S_IFMT != S_IFREG { return nil }
        let path = UnfinishedPath(besideLog: log)
        return access(path.folder, W_OK) == 0 ? path.path : nil
    }
}
