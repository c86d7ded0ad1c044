#if Logging
    public import LagMonitor
    public import Logging

    extension StallAttributes {
        /// Values of a logger's metadata, as attributes of a context: those under these keys, and no other.
        ///
        /// `withStallContext(name: "GET /orders/:id", StallAttributes(logger, keys: ["request_id", "tenant"])) { … }`.
        ///
        /// The logger's own metadata and its metadata provider's (a tracer's ids, a task's values), which counts where both have a key, as in a log line.
        ///
        /// Any thread. A call of the provider and a text for each value; written as the argument of `withStallContext` not evaluated while nobody asks for
        /// contexts.
        public init(_ logger: Logger, keys: [String]) {
            let provided = logger.metadataProvider?.get() ?? [:]
            self.init(keys.compactMap { key in (provided[key] ?? logger[metadataKey: key]).map { (key, "\($0)") } })
        }
    }
#else
    public import LagMonitor

    extension StallAttributes {
        @available(*, unavailable, message: "turn on the trait 'Logging' of the package LagMonitor: traits: [\"Logging\"]")
        public init(_ logger: Any, keys: [String]) { self = [:] }
    }
#endif
