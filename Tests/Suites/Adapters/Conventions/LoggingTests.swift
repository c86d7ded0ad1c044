#if Logging
    import LagMonitor
    import LagMonitorLogging
    import LagMonitorTestKit
    import Logging
    import Synchronization
    import TestSupport
    import Testing

    /// A log handler that keeps its entries.
    final class Kept: Sendable {
        struct Entry: Sendable {
            let level: Logger.Level
            let message: String
            let metadata: Logger.Metadata
        }

        let entries = Mutex<[Entry]>([])

        var messages: [String] { entries.withLock { $0.map(\.message) } }

        func logger(_ level: Logger.Level = .trace) -> Logger {
            Logger(label: "test") { _ in Handler(kept: self, logLevel: level) }
        }

        private struct Handler: LogHandler {
            let kept: Kept
            var logLevel: Logger.Level
            var metadata: Logger.Metadata = [:]
            var metadataProvider: Logger.MetadataProvider?

            subscript(metadataKey key: String) -> Logger.MetadataValue? {
                get { metadata[key] }
                set { metadata[key] = newValue }
            }

            func log(event: LogEvent) {
                let entry = Entry(level: event.level, message: event.message.description, metadata: event.metadata ?? [:])
                kept.entries.withLock { $0.append(entry) }
            }
        }
    }

    @Suite struct LoggingTests {
        @Test func `a context takes the selected values of a logger`() {
            var logger = Kept().logger()
            logger[metadataKey: "tenant"] = "a"
            logger[metadataKey: "secret"] = "b"
            #expect(StallAttributes(logger, keys: ["tenant", "absent"]).pairs.map { "\($0)=\($1)" } == ["tenant=a"])
            logger.handler.metadataProvider = Logger.MetadataProvider { ["trace": "7", "tenant": "provider"] }
            let pairs = StallAttributes(logger, keys: ["trace", "tenant"]).pairs
            #expect(pairs.map(\.0) == ["trace", "tenant"] && pairs.map(\.1) == ["7", "provider"])
        }

        @Test func `a stall is one structured log entry`() throws {
            let (kit, kept) = (try TestMonitor(), Kept())
            kit.logStalls(to: kept.logger(), detail: .full())
            var evidence = StallRecord.Evidence()
            evidence.lockKind = .mutex
            evidence.lockOwner = .init(threadID: 12, threadName: "writer", waitsFor: 0x10)
            kit.loop("main").work(
                for: .microseconds(400_250),
                ScriptedWork(.lock, in: ["Cache.load()", "main"], evidence: evidence)
            )
            #expect(kit.waitForHandlers())
            let entries = kept.entries.withLock { $0 }
            let entry = try #require(entries.first)
            #expect(entries.count == 1 && entry.level == .warning)
            #expect(entry.message == kit.records[0].message)
            #expect(entry.metadata["loop"] == "main" && entry.metadata["cause"] == "lock" && entry.metadata["phase"] == "end")
            #expect(entry.metadata["duration_ms"] == "400.250" && entry.metadata["threshold_ms"] == "150.000")
            #expect(entry.metadata["blocked_ms"] == "400.250" && entry.metadata["cpu_ms"] == nil)
            #expect(entry.metadata["found_by"] == ["callout"])
            #expect(entry.metadata["lock_owner"] == ["thread_id": "12", "thread_name": "writer", "waits_for": "0x10"])
            guard case .array(let frames) = entry.metadata["frames"], case .dictionary(let leaf) = frames.first else {
                Issue.record("\(entry.metadata)")
                return
            }
            #expect(frames.count == 2 && leaf["symbol"] == "Cache.load()" && leaf["pc"] == "0x401000" && leaf["in_app"] == "true")
        }

        @Test func `every metadata key is a field of the line`() throws {
            let kit = try TestMonitor()
            kit.loop().work(for: .milliseconds(400))
            let line = try #require(kit.lines.first)
            for key in kit.records[0].logMetadata().keys { #expect(line.contains("\"\(key)\":"), "\(key)") }
            for key in ["duration_ms", "threshold_ms", "cpu_ms"] {
                let value = try #require(kit.records[0].logMetadata()[key])
                #expect(line.contains("\"\(key)\":\(value)"), "\(key) \(value)")
            }
        }

        @Test func `configured labels are in the metadata and in the line`() throws {
            var configuration = StallMonitorConfiguration()
            configuration.labels = ["team": "shop"]
            let (kit, kept) = (try TestMonitor(configuration: configuration), Kept())
            kit.logStalls(to: kept.logger())
            kit.logStalls(to: kept.logger(), detail: .full())
            kit.loop().work(for: .milliseconds(400))
            #expect(kit.waitForHandlers())
            let entries = kept.entries.withLock { $0 }
            #expect(entries.count == 2 && entries.allSatisfy { $0.metadata["labels"] == ["team": "shop"] }, "\(entries)")
            #expect(kit.lines.first?.contains(#""labels":{"team":"shop"}"#) == true)
        }

        @Test func `a log entry is short unless full detail is requested`() throws {
            let (kit, kept) = (try TestMonitor(), Kept())
            kit.logStalls(to: kept.logger())
            kit.loop("main").work(for: .microseconds(106_794_321), ScriptedWork(.cpu, in: ["Shop.render()", "main"]))
            #expect(kit.waitForHandlers())
            let entry = try #require(kept.entries.withLock { $0 }.last { $0.metadata["cause"] != nil })
            #expect(entry.message == "main was stalled for 1 min 47 s, computing in Shop.render()", "\(entry.message)")
            #expect(Set(entry.metadata.keys) == ["id", "fingerprint", "loop", "cause", "culprit"], "\(entry.metadata)")
        }

        @Test func `the log level follows the severity`() throws {
            let (kit, kept) = (try TestMonitor(), Kept())
            kit.logStalls(to: kept.logger(.error), detail: .full(frames: 0))
            kit.loop().work(for: .milliseconds(200))
            kit.loop().work(for: .seconds(6))
            kit.loop().begin()
            kit.advance(by: .milliseconds(200))
            kit.stop()
            #expect(kit.waitForHandlers())
            let entries = kept.entries.withLock { $0 }
            #expect(entries.map(\.level) == [.error, .error, .critical])
            #expect(entries.allSatisfy { $0.metadata["frames"] == nil && $0.metadata["frames_total"] == "2" })
        }

        @Test func `logging ends when its handler is cancelled`() throws {
            let (kit, kept) = (try TestMonitor(), Kept())
            kit.logStalls(to: kept.logger()).cancel()
            kit.loop().work(for: .milliseconds(400))
            #expect(kit.waitForHandlers() && kept.entries.withLock { $0.isEmpty })
        }

        @Test func `a real stall is logged`() throws {
            let kept = Kept()
            let stalled = try RealStall { $0.logStalls(to: kept.logger(), detail: .full()) }
            defer { stalled.end() }
            #expect(eventually { kept.entries.withLock { $0.count == 1 } })
            let entry = try #require(kept.entries.withLock { $0.first })
            #expect(entry.metadata["loop"] == "real" && entry.metadata["cause"] == "syscall")
            #expect("\(entry.metadata["frames"] ?? "")".contains("sleepForTheTest"), "\(entry.metadata)")
        }
    }
#endif
