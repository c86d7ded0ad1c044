#if Logging
    public import LagMonitor
    public import Logging

    extension StallAttributes {
        /// Values of a logger's metadata, as attributes of a context: only those under these keys.
        ///
        /// `withStallContext(name: "GET /orders/:id", StallAttributes(logger, keys: ["request_id", "tenant"])) { … }`.
        ///
        /// Includes the logger's own metadata and its metadata provider's (a tracer's ids, a task's values). If both have a key,
        /// the provider's value counts, as in a log line.
        ///
        /// Any thread. Costs a call of the provider and a text for each value. If it is written as the argument of
        /// `withStallContext`, it is not evaluated while no monitor wants contexts.
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
