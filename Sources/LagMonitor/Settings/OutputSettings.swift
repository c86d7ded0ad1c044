internal import Glibc
public import LagOutput

/// Where a monitor's lines go, as settings say it, for programs that let their users choose.
///
/// ```swift
/// import LagMonitor
///
/// let output = try OutputSettings("file:/var/log/shop/stalls.jsonl")
/// let monitor = StallMonitor(sinks: [try output.makeSink()])
/// ```
public struct OutputSettings: Sendable, Equatable {
    /// One of the destinations there are.
    public enum Destination: Sendable, Equatable {
        /// `-` or `stdout`.
        case stdout
        /// A path, or `file:` and a path.
        case file(path: String)
        /// `journald`, or `journald:` and the path of its socket. The product LagMonitorDelivery has the sink.
        case journald(path: String)
        /// `unix:` and a path, or `tcp:`, a host, a colon and a port. The product LagMonitorDelivery has the sink.
        case stream(StreamAddress)
        /// `otlp:` and the URL of a receiver of OTLP over HTTP.
        case otlp(endpoint: String)
    }

    /// What ``init(_:rotation:)`` takes, in words.
    package static var allowedDestinations: String { Destination.allowed }

    /// Where lines go.
    public var destination: Destination
    /// For files; no other destination is opened with one.
    public var rotation: FileRotation?
    /// Where lines are kept that a ``Destination/stream(_:)`` or ``Destination/otlp(endpoint:)`` does not take; nil: they are lost.
    public var spool: SpoolSettings?

    /// A destination without rotation.
    public init(_ destination: Destination) { self.destination = destination }

    /// - Throws: ``StallMonitorError/invalidConfiguration(key:value:allowed:)`` where something else than a file is to be rotated.
    public init(_ destination: Destination, rotation: FileRotation?) throws(StallMonitorError) {
        if let rotation, !destination.isFile {
            throw .invalidConfiguration(
                key: SettingKey.outputBytes.path,
                value: "\(rotation.maxBytes) for a destination that is no file",
                allowed: "only where output.path is a file"
            )
        }
        self.destination = destination
        self.rotation = rotation
    }

    /// Reads the text form.
    /// - Throws: ``StallMonitorError/invalidConfiguration(key:value:allowed:)`` for `output.path`, and for `output.max_bytes` where
    ///   something else than a file is to be rotated.
    public init(_ text: String, rotation: FileRotation? = nil) throws(StallMonitorError) {
        let destination: Destination
        do throws(Destination.ValidationError) {
            destination = try Destination(text)
        } catch {
            throw .invalidConfiguration(key: SettingKey.output.path, value: error.reason, allowed: Destination.allowed)
        }
        try self.init(destination, rotation: rotation)
    }

    /// Opens the destination.
    /// - Parameter otlp: makes the sink for ``Destination/otlp(endpoint:)``, which is not the core's: the product LagMonitorOTLP
    ///   has it. Unless given, that destination cannot be opened.
    /// - Throws: ``SinkError/Reason/cannotOpen``; with ENOTSUP where the product that has the sink is not enabled; with EINVAL where something else than a file is to be rotated, or lines of another
    ///   destination than a stream or OTLP are to be kept.
    public func makeSink(
        otlp: ((String) throws(SinkError) -> any RecordSink)? = nil
    ) throws(SinkError) -> any RecordSink { try makeSink(otlp: otlp, delivery: .enabled) }

    /// - Parameter delivery: makes what the core has no sink for.
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
        case .file(let path): sink = try FileSink(path: path, rotation: rotation)
        case .journald(let path): sink = try parts().journal(path)
        case .stream(let address): sink = try parts().stream(address)
        case .otlp(let endpoint):
            guard let otlp else { throw SinkError(.cannotOpen, path: destination.text, code: ENOTSUP) }
            sink = try otlp(endpoint)
        }
        guard let spool else { return sink }
        return try parts().spooled(sink, spool)
    }

    /// Where checked settings keep stalls in progress (``StallMonitorConfiguration/unfinishedPath``): at the path that they name, or beside the
    /// file that lines go to, if a file can be made there; `none` and other destinations: nowhere.
    static func unfinishedPath(_ reader: SettingsReader) -> String? {
        if let path = reader.string(for: .unfinished) { return path == "none" ? nil : path }
        guard let text = reader.string(for: .output), case .file(let log)? = try? Destination(text) else { return nil }
        var status = stat()
        // What is there and no plain file is a pipe or a device: files beside those would not be found.
        if stat(log, &status) == 0, status.st_mode & S_IFMT != S_IFREG { return nil }
        let path = UnfinishedPath(besideLog: log)
        return access(path.folder, W_OK) == 0 ? path.path : nil
    }

    /// Of checked settings; nil when they name no destination.
    package init?(_ reader: SettingsReader) {
        guard let text = reader.string(for: .output), let destination = try? Destination(text) else { return nil }
        self.init(destination)
        // What a weaker source says of files does not hold for what a stronger one chose.
        if destination.isNetwork, let folder = reader.string(for: .spool) {
            spool = SpoolSettings(folder: folder, maxBytes: reader.int(for: .spoolBytes) ?? SpoolSettings.defaultBytes)
        }
        guard destination.isFile, let bytes = reader.int(for: .outputBytes) else { return }
        rotation = try? FileRotation(maxBytes: bytes, maxFiles: reader.int(for: .outputFiles) ?? FileRotation.defaultFiles)
    }
}
