// The code shown in the article AdoptingInLibraries.md, compiled: SnippetTests.swift compares the two.
import Dispatch
import LagMonitor
import LagMonitorTestKit
import Synchronization
import Testing

public final class ImageStore: Sendable {
    private let queue = DispatchQueue(label: "com.example.images")
    /// What a monitor may watch, if the application has one. They can be pinged.
    public let loops: [any ObservableLoop]

    public init() { loops = [PingedQueue(queue)] }
}

final class Pump: PingableLoop {
    let name = "pump"
    let beacon = ActivityBeacon()
    let publishesActivity = false
    /// `ThreadIdentity.current`, read on the pump's own thread: whose stack is taken.
    let thread: ThreadIdentity
    private let isAsked = Atomic<Bool>(false)

    init(thread: ThreadIdentity) { self.thread = thread }

    func ping() {
        guard !isAsked.exchange(true, ordering: .sequentiallyConsistent) else { return }
        submit {
            self.isAsked.store(false, ordering: .sequentiallyConsistent)
            self.beacon.pong()
        }
    }
}

public final class HealthCheck: Sendable {
    private let longest = Mutex(Duration.zero)

    public init(_ stalls: some StallSource) {
        stalls.onStall(queue: DispatchQueue(label: "com.example.health")) { [weak self] record in
            self?.longest.withLock { $0 = max($0, record.duration) }
        }
    }

    public var isHealthy: Bool { longest.withLock { $0 } < .seconds(1) }
}

enum LibrarySnippets {
    static func names() throws {
        let queue = DispatchQueue(label: "com.example.images")
        let worker = try KeepAliveThread(name: "images")
        queue.async { worker.perform {} }
    }

    static func handedOut(_ store: ImageStore, _ monitor: StallMonitor, _ rules: StallRules) throws {
        for loop in store.loops { try monitor.watch(loop, rules: rules) }
    }

    static func expected(_ path: String) throws -> Database {
        let database = try StallMonitor.expectingBlock { try Database(path: path) }
        return database
    }
}

/// What the snippets assume.
struct Database {
    init(path: String) throws {}
    func open() throws {}
}

/// How the pump takes work: a thread of the test runs it.
let pumping = Mutex<KeepAliveThread?>(nil)

extension Pump {
    func submit(_ work: @escaping @Sendable () -> Void) { _ = pumping.withLock { $0 }?.perform(work) }
}
