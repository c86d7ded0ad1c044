/// Whether a monitor reports the program's contexts (`withStallContext`), and which parts of them.
///
/// ```swift
/// import LagMonitor
///
/// var configuration = StallMonitorConfiguration()
/// configuration.contexts = .recorded
/// ```
/// A plain value; any thread.
public struct StallContexts: Sendable, Equatable {
    /// Two values are equal if one is a copy of the other.
    private final class Redaction: Sendable {
        let value: @Sendable (_ name: String, _ value: String) -> String?

        init(_ value: @escaping @Sendable (String, String) -> String?) { self.value = value }
    }

    private let redaction: Redaction?

    private init(_ redaction: Redaction?) { self.redaction = redaction }

    /// Names and attributes as the program gives them.
    public static let recorded = StallContexts(nil)

    /// - Parameter redact: the reporter's thread calls it for each attribute of a stall's contexts. The record contains what it
    ///   returns; if it returns nil, the attribute is omitted. The stall's record waits for the call.
    public static func redacted(by redact: @escaping @Sendable (_ name: String, _ value: String) -> String?) -> StallContexts {
        StallContexts(Redaction(redact))
    }

    package func redacted(_ name: String, _ value: String) -> String? {
        guard let redaction else { return value }
        return redaction.value(name, value)
    }

    public static func == (left: StallContexts, right: StallContexts) -> Bool { left.redaction === right.redaction }
}
