/// That a monitor reports what the program says it works at (`withStallContext`), and what of it.
///
/// ```swift
/// import LagMonitor
///
/// var configuration = StallMonitorConfiguration()
/// configuration.contexts = .recorded
/// ```
/// A plain value; any thread.
public struct StallContexts: Sendable, Equatable {
    /// Two are equal when they were made as one.
    private final class Redaction: Sendable {
        let value: @Sendable (_ name: String, _ value: String) -> String?

        init(_ value: @escaping @Sendable (String, String) -> String?) { self.value = value }
    }

    private let redaction: Redaction?

    private init(_ redaction: Redaction?) { self.redaction = redaction }

    /// Names and attributes as the program gives them.
    public static let recorded = StallContexts(nil)

    /// - Parameter redact: called by the reporter's thread for each attribute of a stall's contexts; what it returns is in the record, and an attribute
    ///   of which it returns nil is not. A stall's record waits for it.
    public static func redacted(by redact: @escaping @Sendable (_ name: String, _ value: String) -> String?) -> StallContexts {
        StallContexts(Redaction(redact))
    }

    package func redacted(_ name: String, _ value: String) -> String? {
        guard let redaction else { return value }
        return redaction.value(name, value)
    }

    public static func == (left: StallContexts, right: StallContexts) -> Bool { left.redaction === right.redaction }
}
