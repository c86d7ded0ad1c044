extension StallRecord {
    /// What the program said that it worked at (`withStallContext`): an object of its own in the line.
    public struct Request: Sendable, Equatable {
        /// What a context's name is called as an attribute, where a program publishes its contexts for any reader (OTEP 4947).
        package static let publishedKey = "lagmonitor.context"

        /// `name`: what kind of work it is.
        public var name: String
        /// `running`: whether the stalled thread was at it. Being open is not being at fault.
        public var running: Bool
        /// `open_ms`: for how long it had been open; nil: not known.
        package var openNanoseconds: UInt64?
        /// `attributes`, in the order that the program gave them.
        public var attributes: [Attribute]

        public init(name: String, running: Bool, open: Duration? = nil, attributes: [Attribute] = []) {
            self.name = name
            self.running = running
            openNanoseconds = open?.clampedNanoseconds
            self.attributes = attributes
        }

        /// For how long it had been open; nil: that is not known, of a program that publishes its contexts for any reader.
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

    /// The task that ran on the stalled thread, Swift's or asyncio's of CPython: an object of its own in the line.
    public struct RunningTask: Sendable, Equatable {
        /// `id`: the runtime's number of the task; in CPython one made of its address.
        public var id: UInt64
        /// `name`: the one it was made with.
        public var name: String?
        /// `priority`: `TaskPriority`'s number, 9 to 33; of Swift alone.
        public var priority: UInt64?
        /// `awaited_by`: the names of the tasks that wait for it, one for the other, as far as they are known; of CPython alone.
        public var awaitedBy: [String]

        public init(id: UInt64, name: String? = nil, priority: UInt64? = nil, awaitedBy: [String] = []) {
            self.id = id
            self.name = name
            self.priority = priority
            self.awaitedBy = awaitedBy
        }
    }
}
