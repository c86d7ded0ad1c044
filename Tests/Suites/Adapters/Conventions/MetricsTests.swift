#if Metrics
    import Dispatch
    import LagMonitor
    import LagMonitorMetrics
    import LagMonitorTestKit
    import MetricsTestKit
    import Synchronization
    import TestSupport
    import Testing

    @Suite struct MetricsTests {
        private let factory = TestMetrics()

        private func gauge(_ label: String, _ dimensions: [(String, String)]) throws -> [Double] {
            try factory.expectRecorder(label, dimensions).values
        }

        @Test func `a stall is counted by loop and cause`() throws {
            let kit = try TestMonitor()
            let metrics = StallMetrics(of: kit, factory: factory)
            kit.loop("main").work(for: .milliseconds(400), ScriptedWork(.lock))
            kit.loop("main").work(for: .milliseconds(600), ScriptedWork(.lock))
            kit.loop("db").work(for: .milliseconds(300))
            #expect(kit.waitForHandlers())
            let locks = [("loop", "main"), ("cause", "lock")]
            let durations = try factory.expectTimer("lagmonitor_loop_stall_duration_seconds", locks)
            #expect(durations.values == [400_000_000, 600_000_000])
            let other = [("loop", "db"), ("cause", "cpu")]
            #expect(try factory.expectTimer("lagmonitor_loop_stall_duration_seconds", other).values == [300_000_000])
            // This factory counts whole numbers: 0.4 and 0.6 are one second only if both went into the same counter.
            #expect(try factory.expectCounter("lagmonitor_stalled_seconds_total", locks).totalValue == 1)
            #expect(try gauge("lagmonitor_last_stall_timestamp_seconds", [("loop", "db")]) == [1_767_225_601])
            #expect(try gauge("lagmonitor_build_info", [("version", StallMetrics.version)]) == [1])
            withExtendedLifetime(metrics) {}
        }

        @Test func `a hang is in progress until its end`() throws {
            let kit = try TestMonitor()
            let metrics = StallMetrics(of: kit, factory: factory)
            kit.loop("main").work(for: .seconds(7))
            #expect(kit.waitForHandlers())
            #expect(try gauge("lagmonitor_stall_in_progress", [("loop", "main")]) == [1, 0])
            let cpu = [("loop", "main"), ("cause", "cpu")]
            #expect(try factory.expectTimer("lagmonitor_loop_stall_duration_seconds", cpu).values == [7_000_000_000])
            #expect(try factory.expectCounter("lagmonitor_stalled_seconds_total", cpu).totalValue == 7)
            withExtendedLifetime(metrics) {}
        }

        @Test func `limits suppress lines, but not counts`() throws {
            var configuration = StallMonitorConfiguration()
            configuration.limits.perFingerprint?.burst = 2
            let kit = try TestMonitor(configuration: configuration)
            let metrics = StallMetrics(of: kit, factory: factory)
            for _ in 0..<30 { kit.loop("main").work(for: .milliseconds(500)) }
            #expect(kit.waitForHandlers())
            metrics.updateLag(of: [])
            let cpu = [("loop", "main"), ("cause", "cpu")]
            #expect(kit.records.count == 2)
            #expect(try factory.expectTimer("lagmonitor_loop_stall_duration_seconds", cpu).values.count == 30)
            #expect(try factory.expectCounter("lagmonitor_stalled_seconds_total", cpu).totalValue == 15)
            #expect(factory.counterTotal(label: "lagmonitor_stalls_suppressed_total", dimensions: []) == 28)
            withExtendedLifetime(metrics) {}
        }

        @Test func `of several loops with one name, one hang counts as one in progress`() throws {
            let metrics = StallMetrics(of: try TestMonitor(), factory: factory)
            metrics.count(.sample(loop: "pool.high", phase: .begin, number: 1))
            metrics.count(.sample(loop: "pool.high", number: 2))
            #expect(try gauge("lagmonitor_stall_in_progress", [("loop", "pool.high")]) == [1, 1])
            metrics.count(.sample(loop: "pool.high", phase: .abandoned, number: 1))
            #expect(try gauge("lagmonitor_stall_in_progress", [("loop", "pool.high")]) == [1, 1, 0])
        }

        @Test func `a record that a sink did not take is counted once`() throws {
            let sink = MemorySink()
            let kit = try TestMonitor(sinks: [sink])
            let metrics = StallMetrics(of: kit, factory: factory)
            sink.fail(with: SinkError(.closed, path: "full"))
            kit.loop().work(for: .milliseconds(400))
            kit.loop().work(for: .milliseconds(400))
            #expect(kit.waitForHandlers())
            metrics.updateLag(of: [])
            metrics.updateLag(of: [])
            #expect(factory.counterTotal(label: "lagmonitor_records_dropped_total", dimensions: [("reason", "not_written")]) == 2)
        }

        @Test func `configured labels are labels of every metric`() throws {
            var configuration = StallMonitorConfiguration()
            configuration.labels = ["team": "shop", "build-host": "b7"]
            let kit = try TestMonitor(configuration: configuration)
            let metrics = StallMetrics(of: kit, factory: factory)
            kit.loop("main").work(for: .milliseconds(400), ScriptedWork(.lock))
            #expect(kit.waitForHandlers())
            let own = [("build_host", "b7"), ("team", "shop")]
            let places = [("loop", "main"), ("cause", "lock")] + own
            #expect(try factory.expectTimer("lagmonitor_loop_stall_duration_seconds", places).values == [400_000_000])
            #expect(try gauge("lagmonitor_build_info", [("version", StallMetrics.version)] + own) == [1])
            withExtendedLifetime(metrics) {}
        }

        /// Queues, pools and NIO's loops: loops that are only pinged.
        @Test func `the lag of a pinged loop is the waiting time of its ping`() throws {
            let metrics = StallMetrics(of: try TestMonitor(), factory: factory)
            let queue = DispatchQueue(label: "orders")
            let loop = PingedQueue(queue)
            let goOn = occupy(queue)
            metrics.updateLag(of: [loop])
            loop.ping()
            #expect(
                try eventually {
                    metrics.updateLag(of: [loop])
                    return try gauge("lagmonitor_loop_lag_seconds", [("loop", "orders")]).last.map { $0 > 0.05 } ?? false
                }
            )
            goOn.signal()
            queue.sync {}
            metrics.updateLag(of: [loop])
            let lags = try gauge("lagmonitor_loop_lag_seconds", [("loop", "orders")])
            #expect(lags.first == 0 && lags.last == 0 && lags.count > 2, "\(lags)")
        }

        @Test func `metrics have few labels`() throws {
            let kit = try TestMonitor()
            let metrics = StallMetrics(of: kit, factory: factory)
            for number in 0..<8 {
                kit.loop().work(for: .milliseconds(200), ScriptedWork(in: ["function\(number)()", "main"]))
            }
            #expect(kit.waitForHandlers())
            #expect(factory.timers.count == 1 && factory.timers[0].values.count == 8)
            #expect(Set(factory.timers[0].dimensions.map(\.0)) == ["loop", "cause"])
            withExtendedLifetime(metrics) {}
        }

        @Test func `a real stall is counted, and its lag is measured`() throws {
            var metrics: StallMetrics?
            // It lasts until its lag was seen.
            let isSeen = Atomic<Bool>(false)
            let stalled = try RealStall(
                while: { !isSeen.load(ordering: .acquiring) },
                prepare: { metrics = StallMetrics(of: $0, factory: factory) }
            )
            defer {
                isSeen.store(true, ordering: .releasing)
                stalled.end()
            }
            let loop = [("loop", stalled.thread.loop.name)]
            #expect(
                eventually {
                    metrics?.updateLag(of: [stalled.thread.loop])
                    if (try? gauge("lagmonitor_loop_lag_seconds", loop).max()) ?? 0 > 0.1 {
                        isSeen.store(true, ordering: .releasing)
                    }
                    // A timer exists before its first value does.
                    return factory.timers(label: "lagmonitor_loop_stall_duration_seconds").contains { !$0.values.isEmpty }
                }
            )
            let wasSeen = isSeen.load(ordering: .acquiring)
            #expect(wasSeen)
            // When the loop is at rest again.
            #expect(
                try eventually {
                    metrics?.updateLag(of: [stalled.thread.loop])
                    return try gauge("lagmonitor_loop_lag_seconds", loop).last == 0
                }
            )
            let why = [("loop", "real"), ("cause", "syscall")]
            #expect(try factory.expectTimer("lagmonitor_loop_stall_duration_seconds", why).values.count == 1)
        }
    }
#endif
