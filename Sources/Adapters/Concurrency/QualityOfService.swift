internal import CLagLinux
internal import Glibc

/// The classes of libdispatch's root queues, on which the pools of Swift's runtime are based (swift/stdlib/public/Concurrency,
/// DispatchGlobalExecutor.cpp: a task's priority is its queue's class).
enum QualityOfService: UInt8, CaseIterable {
    case background = 9
    case utility = 17
    case `default` = 21
    case userInitiated = 25
    case userInteractive = 33

    /// The class of a priority; a priority between two classes belongs to the higher one.
    init(_ priority: TaskPriority) {
        // 0 is unspecified, which runs as the default.
        let value = priority.rawValue == 0 ? Self.default.rawValue : priority.rawValue
        self = Self.allCases.first { $0.rawValue >= value } ?? .userInteractive
    }

    /// `TaskPriority`'s name for it.
    var priorityName: String {
        switch self {
        case .background: "background"
        case .utility: "low"
        case .default: "medium"
        case .userInitiated: "high"
        case .userInteractive: "interactive"
        }
    }

    /// libdispatch's name for a thread that serves the root queue, cut like there: the last 15 characters of the queue's label.
    var threadName: cll_name {
        let label =
            switch self {
            case .background: "com.apple.root.background-qos"
            case .utility: "com.apple.root.utility-qos"
            case .default: "com.apple.root.default-qos"
            case .userInitiated: "com.apple.root.user-initiated-qos"
            case .userInteractive: "com.apple.root.user-interactive-qos"
            }
        return cll_name(String(decoding: label.utf8.suffix(15), as: UTF8.self))
    }
}

extension cll_name {
    /// Whether the calling thread has this name.
    var isOfThisThread: Bool {
        var present = cll_name()
        return withUnsafeMutableBytes(of: &present.text) { present in
            guard cll_thread_name(pthread_self(), present.baseAddress, present.count) == 0 else { return false }
            return withUnsafeBytes(of: text) { $0.elementsEqual(present) }
        }
    }
}
