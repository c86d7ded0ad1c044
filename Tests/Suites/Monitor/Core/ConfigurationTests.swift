internal import LagActivity
import LagMonitor
import TestSupport
import Testing

struct ConfigurationTests {
    private func refusal(_ change: (inout StallMonitorConfiguration) -> Void) -> StallMonitorError? {
        var configuration = StallMonitorConfiguration()
        change(&configuration)
        do throws(StallMonitorError) {
            try configuration.validate()
            return nil
        } catch {
            return error
        }
    }

    private func key(_ change: (inout StallMonitorConfiguration) -> Void) -> String? {
        guard case .invalidConfiguration(let key, _, let allowed)? = refusal(change), !allowed.isEmpty else { return nil }
        return key
    }

    @Test func `the default and every preset are allowed`() {
        #expect(refusal { _ in } == nil)
        for preset in DetectionPreset.allCases { #expect(refusal { $0 = .preset(preset) } == nil) }
    }

    @Test func `the presets have their documented thresholds`() {
        #expect(StallMonitorConfiguration.preset(.standard) == StallMonitorConfiguration())
        #expect(StallMonitorConfiguration.preset(.standard).rules.callout?.threshold == .milliseconds(150))
        #expect(StallMonitorConfiguration.preset(.relaxed).rules.callout?.threshold == .milliseconds(240))
        #expect(StallMonitorConfiguration.preset(.restoring).rules.callout?.threshold == .milliseconds(250))
        #expect(StallMonitorConfiguration.preset(.restoring).restoreInterval == .seconds(5))
    }

    @Test(arguments: [Duration.zero, .milliseconds(-50), .microseconds(999), .seconds(61), .seconds(Int64.max)])
    func `intervals out of bounds are refused`(value: Duration) {
        #expect(key { $0.rules.callout = .init(interval: value) } == "interval_ms")
    }

    @Test(arguments: [0, -1, 1001, .max, .min])
    func `timeouts out of bounds are refused`(value: Int) {
        #expect(key { $0.rules.callout = .init(timeouts: value) } == "timeouts")
    }

    @Test(arguments: [Duration.nanoseconds(-1), .seconds(3601)])
    func `restore intervals out of bounds are refused`(value: Duration) {
        #expect(key { $0.restoreInterval = value } == "restore_interval_ms")
    }

    @Test(arguments: [Duration.nanoseconds(-1), .seconds(3601)])
    func `hang thresholds out of bounds are refused`(value: Duration) { #expect(key { $0.hangAfter = value } == "hang_after_ms") }

    @Test(arguments: [0, -1, 1023, 1_048_577])
    func `line lengths out of bounds are refused`(value: Int) { #expect(key { $0.maxLineBytes = value } == "max_line_bytes") }

    @Test(arguments: [0, -1, 257])
    func `frame counts out of bounds are refused`(value: Int) { #expect(key { $0.maxFrames = value } == "max_frames") }

    @Test func `empty texts are refused`() {
        #expect(key { $0.unfinishedPath = "" } == "unfinished_path")
        #expect(key { $0.serviceName = "" } == "service.name")
        #expect(key { $0.serviceVersion = "" } == "service.version")
        #expect(key { $0.inAppPrefixes = ["Shop", ""] } == "in_app_prefixes")
        #expect(key { $0.notInAppPrefixes = ["\0"] } == "not_in_app_prefixes")
        #expect(refusal { $0.serviceName = "" }?.description == "service.name is \"\", allowed is a text that is not empty")
    }

    @Test func `limits out of bounds are refused`() {
        #expect(key { $0.limits.perFingerprint?.burst = 0 } == "limit_burst")
        #expect(key { $0.limits.perFingerprint?.interval = .zero } == "limit_interval_ms")
        #expect(key { $0.limits.overall?.burst = 10_001 } == "limit_all_burst")
        #expect(key { $0.limits.overall?.interval = .seconds(86_401) } == "limit_all_interval_ms")
        #expect(key { $0.limits.quiet = .zero } == "limit_quiet_ms")
        #expect(key { $0.recurrence?.count = 0 } == "recurring_count")
        #expect(key { $0.recurrence?.count = 21 } == "recurring_count")
        #expect(key { $0.recurrence?.window = .milliseconds(999) } == "recurring_window_s")
        #expect(refusal { $0.limits = .none } == nil)
        #expect(refusal { $0.recurrence = nil } == nil)
    }

    @Test func `the bounds themselves are allowed`() {
        #expect(refusal { $0.rules.callout = .init(interval: .milliseconds(1)) } == nil)
        #expect(refusal { $0.rules.callout = .init(interval: .seconds(60)) } == nil)
        #expect(refusal { $0.rules.callout = .init(timeouts: 1000) } == nil)
        #expect(refusal { $0.maxLineBytes = 1024 } == nil)
        #expect(refusal { $0.maxLineBytes = 1_048_576 } == nil)
        #expect(refusal { $0.maxFrames = 256 } == nil)
    }

    @Test func `the error names the key, the value and the allowed range`() {
        let text = "\(refusal { $0.maxFrames = 300 }!)"
        #expect(text.contains("max_frames") && text.contains("300") && text.contains("1 to 256"))
    }

    @Test func `a monitor does not start with an invalid configuration`() {
        var configuration = StallMonitorConfiguration()
        configuration.rules.callout = .init(timeouts: 0)
        let monitor = StallMonitor(configuration: configuration)
        #expect(throws: StallMonitorError.self) { try monitor.start() }
        #expect(!monitor.isRunning)
    }

    @Test func `a loop can be watched only while the monitor runs`() {
        let monitor = StallMonitor()
        #expect(throws: StallMonitorError.notRunning) { try monitor.watch(ManyLoop()) }
        monitor.unwatch(ManyLoop())
        monitor.stop()
        monitor.reopenSinks()
        #expect(monitor.statistics == StallMonitorStatistics())
    }
}

/// A loop that never runs anything.
final class ManyLoop: ObservableLoop {
    let beacon = ActivityBeacon()
    let thread = ThreadIdentity(tid: 0, stackLow: 0, stackHigh: 0)
    let name = "many"
}

extension MonitorTests {
    @Suite struct LimitTests {
        @Test func `a loop beyond the limit is refused`() throws {
            let monitor = StallMonitor()
            try monitor.start()
            defer { monitor.stop() }
            let loops = (0..<16_384).map { _ in ManyLoop() }
            for loop in loops { try monitor.watch(loop) }
            #expect(throws: StallMonitorError.tooManyLoops(limit: 16_384)) { try monitor.watch(ManyLoop()) }
            // A loop that is already watched does not count again.
            try monitor.watch(loops[0])
            monitor.unwatch(loops[0])
            #expect(eventually { (try? monitor.watch(ManyLoop())) != nil })
        }

        @Test func `a loop without a thread is reported without a stack`() throws {
            let sink = MemorySink()
            let monitor = StallMonitor(configuration: MonitorTests.configuration, sinks: [sink])
            try monitor.start()
            defer { monitor.stop() }
            let loop = ManyLoop()
            try monitor.watch(loop)
            loop.beacon.wake(.beforeSources, at: MonotonicTime.now.nanoseconds)
            #expect(eventually { monitor.statistics.stalls == 1 })
            loop.beacon.publish(.waiting)
            #expect(eventually { sink.records.count == 1 })
            let line = try #require(sink.records.first)
            #expect(line.string("capture") == "none" && line.string("capture_error") == "thread_unknown")
            #expect(line.number("duration_ms") >= 120)
        }
    }
}
