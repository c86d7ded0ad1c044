#if Logging
    public import LagMonitor
    public import Logging

    extension StallAttributes {
        /// Values of a logger's metadata, as attributes of a context: those under these keys, and no other.
        ///
        /// `withStallContext(name: "GET /orders/:id", StallAttributes(logger, keys: ["request_id", "tenant"])) { … }`.
        ///
        /// The logger's own metadata, then its metadata provider's (a tracer's ids, a task's values): where both have a key, the logger's counts, as it does in a
        /// log line. Any thread. Not evaluated while nobody asks for contexts.
        public init(_ logger: Logger, keys: [String]) {
            let provided = logger.metadataProvider?.get() ?? [:]
            self.init(keys.compactMap { key in (logger[metadataKey: key] ?? provided[key]).map { (key, "\($0)") } })
        }
    }
#else
    public import LagMonitor

    extension StallAttributes {
        @available(*, unavailable, message: "turn on the trait 'Logging' of the package LagMonitor: traits: [\"Logging\"]")
        public init(_ logger: Any, keys: [String]) { self = [:] }
    }
#endif
