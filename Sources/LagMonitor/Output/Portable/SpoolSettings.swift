/// Where lines are kept that a network destination does not accept, and how many.
public struct SpoolSettings: Sendable, Equatable {
    /// Bytes for each destination and process.
    package static let allowedBytes = 65_536...17_179_869_184
    /// Some thousand lines.
    public static let defaultBytes = 16_777_216

    /// Created with mode 0700 if it does not exist, provided that its parent folder exists.
    public var folder: String
    /// The limit for the lines of one destination; what does not fit is refused, and counted as lost.
    public var maxBytes: Int

    /// - Parameter maxBytes: 64 KiB to 16 GiB; of other values, the nearest of these.
    public init(folder: String, maxBytes: Int = Self.defaultBytes) {
        self.folder = folder
        self.maxBytes = min(max(maxBytes, Self.allowedBytes.lowerBound), Self.allowedBytes.upperBound)
    }
}
