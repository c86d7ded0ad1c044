#if Metrics
    internal import CoreMetrics

    /// The metrics made so far, each cached: a counter of fractions made anew for every stall would lose them in a factory that counts
    /// whole numbers.
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
            // No name of a loop holds a newline that is followed by the name of a label.
            let key = ([label] + dimensions.map { "\($0.0)=\($0.1)" }).joined(separator: "\n")
            if let metric = metrics[key] { return metric }
            let metric = make()
            metrics[key] = metric
            return metric
        }
    }
#endif
