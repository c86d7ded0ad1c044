extension StallRecord {
    /// What the program was working on, by its own report (`withStallContext`): a separate object in the line.
    public struct Request: Sendable, Equatable {
        /// The attribute name of a context's name, if a program publishes its contexts for any reader (OTEP 4947).
        package static let publishedKey = "lagmonitor.context"

        /// `name`: the kind of work.
        public var name: String
        /// `running`: whether the stalled thread was working on it. An open context is not necessarily the cause.
        public var running: Bool
        /// `open_ms`: how long it had been open; nil: not known.
        package var openNanoseconds: UInt64?
        /// `attributes`, in the program's order.
        public var attributes: [Attribute]

        public init(name: String, running: Bool, open: Duration? = nil, attributes: [Attribute] = []) {
            self.name = name
            self.running = running
            openNanoseconds = open?.clampedNanoseconds
            self.attributes = attributes
        }

        /// How long it had been open; nil: not known, if a program publishes its contexts for any reader.
        public var open: Duration? { openNanoseconds.map { Duration(clampingNanoseconds: $0) } }

        /// A name and a value.
        public struct Attribute: Sendable, Equatable {
            public var name: String
            public var value: String

            public init(name: String, value: String) {
                self.name = name
                self.value = value
            }
        }
    }

    /// The task that ran on the stalled thread, Swift's or asyncio's of CPython: a separate object in the line.
    public struct RunningTask: Sendable, Equatable {
        /// `id`: the runtime's number of the task; for CPython derived from its address.
        public var id: UInt64
        /// `name`: the name with which it was created.
        public var name: String?
        /// `priority`: `TaskPriority`'s number, 9 to 33; Swift only.
        public var priority: UInt64?
        /// `awaited_by`: the chain of tasks that wait for it, each for the one before, as far as their names are known; CPython
        /// only.
        public var awaitedBy: [String]

        public init(id: UInt64, name: String? = nil, priority: UInt64? = nil, awaitedBy: [String] = []) {
            self.id = id
            self.name = name
            self.priority = priority
            self.awaitedBy = awaitedBy
        }
    }
}
