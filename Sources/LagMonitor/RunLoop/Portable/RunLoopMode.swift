internal import LagModel

/// A run loop mode: a named set of sources, timers and observers. A loop runs in exactly one mode at a time.
///
/// The name is interned once; after that a mode is a small number, which the loop's beacon contains. Names live as long as the
/// process, so use a fixed vocabulary, not generated names. Any thread; creating a mode takes a lock for a dictionary look-up,
/// using one costs nothing.
public struct RunLoopMode: Sendable, Hashable, CustomStringConvertible {
    /// The number in the beacon; 0 means "no mode".
    public let number: UInt32

    /// The mode of this name; the same name is always the same mode.
    public init(_ name: String) { number = ModeNames.number(of: name) }

    init(number: UInt32) { self.number = number }

    /// The mode for ordinary work; a member of ``common`` from the beginning.
    public static let `default` = RunLoopMode("default")
    /// Not a mode but the *set* of common modes: what is added to it is in every member mode, also in one that becomes a member
    /// later (``ObservedRunLoop/addCommonMode(_:)``). A loop cannot run "in" it.
    public static let common = RunLoopMode("common")
    /// The mode in which a program runs while it tracks one thing and nothing else may interfere.
    public static let tracking = RunLoopMode("tracking")

    /// The name with which this mode was created.
    public var name: String { ModeNames.name(of: number) ?? "mode \(number)" }

    public var description: String { name }
}

/// The process's mode names: the number of a name is its place in the list, from 1.
enum ModeNames {
    /// The names that every loop has come first, so that they are always known.
    private static let names = PthreadMutex<(list: [String], numbers: [String: UInt32])>(
        (["default", "tracking"], ["default": 1, "tracking": 2])
    )

    static func number(of name: String) -> UInt32 {
        names.withLock { names in
            if let known = names.numbers[name] { return known }
            names.list.append(name)
            let number = UInt32(names.list.count)
            names.numbers[name] = number
            return number
        }
    }

    static func name(of number: UInt32) -> String? {
        names.withLock { names in
            number >= 1 && number <= names.list.count ? names.list[Int(number) - 1] : nil
        }
    }
}
