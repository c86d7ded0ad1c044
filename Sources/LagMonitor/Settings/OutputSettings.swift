public import LagOutput

/// Where a monitor's lines go, as settings give it, for programs that let their users choose.
///
/// ```swift
/// import LagMonitor
///
/// let output = try OutputSettings("file:/var/log/shop/stalls.jsonl")
/// let monitor = StallMonitor(sinks: [try output.makeSink()])
/// ```
public struct OutputSettings: Sendable, Equatable {
    /// The available destinations.
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

    /// The values that ``init(_:rotation:)`` accepts if stdout belongs to another program, in words.
    package static var allowedDestinationsBesideStdout: String { Destination.allowedBesideStdout }

    /// Where lines go.
    public var destination: Destination
    /// For files; other destinations with it cannot be opened.
    public var rotation: FileRotation?
    /// Which users may read a file that is created.
    public var permissions = FilePermissions.owner
    /// Where lines are kept that a ``Destination/stream(_:)`` or ``Destination/otlp(endpoint:)`` does not accept; nil: they are
    /// lost.
    public var spool: SpoolSettings?

    /// A destination without rotation.
    public init(_ destination: Destination) { self.destination = destination }

    /// - Throws: ``StallMonitorError/invalidConfiguration(key:value:allowed:)`` if rotation is set and the destination is not a
    ///   file.
    public init(_ destination: Destination, rotation: FileRotation?) throws(StallMonitorError) {
        if let rotation, !destination.isFile {
            throw .invalidConfiguration(
                key: SettingKey.outputBytes.path,
                value: "\(rotation.maxBytes) for a destination that is not a file",
                allowed: "only if output.path is a file"
            )
        }
        self.destination = destination
        self.rotation = rotation
    }

    /// Reads the text form.
    /// - Throws: ``StallMonitorError/invalidConfiguration(key:value:allowed:)`` for `output.path`, and for `output.max_bytes` if
    ///   rotation is set and the destination is not a file.
    public init(_ text: String, rotation: FileRotation? = nil) throws(StallMonitorError) {
        let destination: Destination
        do throws(Destination.ValidationError) {
            destination = try Destination(text)
        } catch {
            throw .invalidConfiguration(
                key: SettingKey.output.path,
                value: "not valid: \(error.reason)",
                allowed: Destination.allowed
            )
        }
        try self.init(destination, rotation: rotation)
    }

    /// From checked settings; nil if they name no destination.
    package init?(_ reader: SettingsReader) {
        guard let text = reader.string(for: .output), let destination = try? Destination(text) else { return nil }
        self.init(destination)
        // A weaker source's file settings do not apply to the destination that a stronger source chose.
        if destination.isNetwork, let folder = reader.string(for: .spool) {
            spool = SpoolSettings(folder: folder, maxBytes: reader.int(for: .spoolBytes) ?? SpoolSettings.defaultBytes)
        }
        if destination.isFile { (rotation, permissions) = (Self.rotation(reader), Self.permissions(reader)) }
    }

    /// For a file, from checked settings.
    package static func permissions(_ reader: SettingsReader) -> FilePermissions {
        reader.string(for: .outputMode).flatMap(FilePermissions.init) ?? .owner
    }

    /// For a file, from checked settings; nil: they set no size.
    package static func rotation(_ reader: SettingsReader) -> FileRotation? {
        guard let bytes = reader.int(for: .outputBytes) else { return nil }
        return try? FileRotation(maxBytes: bytes, maxFiles: reader.int(for: .outputFiles) ?? FileRotation.defaultFiles)
    }
}
