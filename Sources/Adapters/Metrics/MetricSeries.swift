#if Metrics
    internal import CoreMetrics

    /// The metrics created so far, cached: if a counter of fractions were created again for every stall, a factory that counts
    /// whole numbers would lose the fractions.
    struct MetricSeries {
        private let factory: any MetricsFactory
        private var gauges: [String: Gauge] = [:]
        private var timers: [String: Timer] = [:]
        private var fractions: [String: FloatingPointCounter] = [:]
        private var counters: [String: Counter] = [:]

        init(factory: any MetricsFactory) { self.factory = factory }

        mutating func gauge(_ label: String, _ dimensions: [(String, String)]) -> Gauge {
            Self.cached(&gauges, label, dimensions) { [factory] in Gauge(label: label, dimensions: dimensions, factory: factory) }
        }

        mutating func durations(_ label: String, _ dimensions: [(String, String)]) -> Timer {
            Self.cached(&timers, label, dimensions) { [factory] in Timer(label: label, dimensions: dimensions, factory: factory) }
        }

        mutating func seconds(_ label: String, _ dimensions: [(String, String)]) -> FloatingPointCounter {
            Self.cached(&fractions, label, dimensions) { [factory] in
                FloatingPointCounter(label: label, dimensions: dimensions, factory: factory)
            }
        }

        mutating func counter(_ label: String, _ dimensions: [(String, String)]) -> Counter {
            Self.cached(&counters, label, dimensions) { [factory] in
                Counter(label: label, dimensions: dimensions, factory: factory)
            }
        }

        private static func cached<Metric>(
            _ metrics: inout [String: Metric],
            _ label: String,
            _ dimensions: [(String, String)],
            _ make: () -> Metric
        ) -> Metric {
            // No loop name contains a newline followed by a label's name.
            let key = ([label] + dimensions.map { "\($0.0)=\($0.1)" }).joined(separator: "\n")
            if let metric = metrics[key] { return metric }
            let metric = make()
            metrics[key] = metric
            return metric
        }
    }
#endif
