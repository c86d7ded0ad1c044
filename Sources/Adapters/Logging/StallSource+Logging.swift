#if Logging
    public import Dispatch
    public import LagMonitor
    public import Logging

    extension StallSource {
        /// Reports every stall through a `Logger`, too: the record's message, its severity as level, and metadata that identifies
        /// the record.
        ///
        /// ```swift
        /// import LagMonitor
        /// import LagMonitorLogging
        /// import Logging
        ///
        /// monitor.logStalls(to: Logger(label: "stalls"))
        /// ```
        /// A line is for people: `main was stalled for 351 ms, computing in Shop.render()`, with `loop`, `cause`, `culprit`,
        /// `fingerprint`, `id` and, if the configuration has any, `labels`. With `detail: .full()`, a log for programs has every
        /// field. It runs on a queue of its own, never on the stalled loop and never on the monitor's threads, so a log handler
        /// may block.
        ///
        /// - Parameters:
        ///   - logger: its level determines what is logged: a warning for a stall, an error for a long one, critical for one that
        ///     was not over when the watch ended.
        ///   - detail: the content of the metadata.
        ///   - queue: where the logger is called.
        /// - Returns: an object that ends it, by ``StallMonitor/StallHandler/cancel()``.
        @discardableResult
        public func logStalls(
            to logger: Logger,
            detail: StallLogDetail = .short,
            on queue: DispatchQueue = DispatchQueue(label: "LagMonitor.log")
        ) -> StallHandler {
            let labels = Logger.MetadataValue.dictionary(labels.mapValues { .string($0) })
            let hasLabels = !self.labels.isEmpty
            return onStall(queue: queue) { record in
                var metadata = record.logMetadata(detail)
                if hasLabels { metadata["labels"] = labels }
                logger.log(
                    level: record.severity.logLevel,
                    "\(record.message)",
                    metadata: metadata,
                    source: "LagMonitor"
                )
            }
        }
    }

    extension StallRecord.Severity {
        /// The level of swift-log that corresponds to it.
        public var logLevel: Logger.Level {
            switch self {
            case .warning: .warning
            case .error: .error
            case .critical: .critical
            }
        }
    }
#else
    public import Dispatch
    public import LagMonitor

    extension StallSource {
        @available(*, unavailable, message: "turn on the trait 'Logging' of the package LagMonitor: traits: [\"Logging\"]")
        @discardableResult
        public func logStalls(to logger: Any, detail: StallLogDetail = .short, on queue: DispatchQueue? = nil) -> StallHandler {
            fatalError()
        }
    }

    extension StallRecord {
        @available(*, unavailable, message: "turn on the trait 'Logging' of the package LagMonitor: traits: [\"Logging\"]")
        public func logMetadata(_ detail: StallLogDetail = .full()) -> Never { fatalError() }
    }

    extension StallRecord.Severity {
        @available(*, unavailable, message: "turn on the trait 'Logging' of the package LagMonitor: traits: [\"Logging\"]")
        public var logLevel: Never { fatalError() }
    }
#endif
