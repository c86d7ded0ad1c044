#if !NIO
    public import LagMonitor

    // The declarations of this module with its trait, so that the compiler reports why they are unavailable.

    @available(*, unavailable, message: "turn on the trait 'NIO' of the package LagMonitor: traits: [\"NIO\"]")
    public final class NIOLoop {}

    @available(*, unavailable, message: "turn on the trait 'NIO' of the package LagMonitor: traits: [\"NIO\"]")
    public struct NIOLoops {
        public init(_ group: Any, named name: String = "nio") {}
    }

    @available(*, unavailable, message: "turn on the trait 'NIO' of the package LagMonitor: traits: [\"NIO\"]")
    public final class StallContextHandler<Message> {
        public init(
            name: (Message) -> String?,
            attributes: ((Message) -> StallAttributes)? = nil,
            trace: ((Message) -> StallTrace?)? = nil
        ) {}
    }

    extension StallRules {
        @available(*, unavailable, message: "turn on the trait 'NIO' of the package LagMonitor: traits: [\"NIO\"]")
        public static var eventLoops: StallRules { .pings }
    }

    extension StallMonitor {
        @available(*, unavailable, message: "turn on the trait 'NIO' of the package LagMonitor: traits: [\"NIO\"]")
        @discardableResult
        public func watch(_ group: Any, named name: String = "nio", rules: StallRules? = nil) -> NIOLoops {
            NIOLoops(group)
        }
    }
#endif
