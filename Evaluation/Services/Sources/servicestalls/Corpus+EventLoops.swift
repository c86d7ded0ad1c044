internal import Dispatch
internal import Foundation
internal import LagMonitor
internal import NIOCore
internal import NIOPosix

// Event loops of SwiftNIO: handlers, callbacks, blocks, and actors on them.

extension Corpus {
    static let eventLoops: [Scenario] = [
        .line("nio-decode", "a decoder", ["cpu"], ["LineDecoder.decode"], "slow-decode \(String(repeating: "x", count: 500))"),
        .line(
            "nio-encode",
            "an encoder",
            ["cpu"],
            ["ReplyEncoder.encode"],
            request: "LINE slow-encode",
            "slow-encode \(String(repeating: "x", count: 500))"
        ),
        .line(
            "nio-handler",
            "a handler",
            ["syscall"],
            ["Stall.block"],
            callers: ["LineHandler.channelRead"],
            request: "LINE slow-handler",
            "slow-handler"
        ),
        .line(
            "nio-short",
            "a handler, slightly longer than the threshold",
            ["syscall"],
            ["Stall.block"],
            callers: ["LineHandler.channelRead"],
            request: "LINE slow-short",
            "slow-short"
        ),
        .line("nio-map", "a future's map, after the handler", ["cpu"], ["LineHandler.respondByMap"], "slow-map"),
        .line(
            "nio-when",
            "a future's whenComplete, after the handler",
            ["syscall"],
            ["LineHandler.respondWhenComplete"],
            "slow-when"
        ),
        .line(
            "nio-flatmap",
            "a future's flatMap, within the handler",
            ["lock"],
            ["LineHandler.respondByFlatMap"],
            request: "LINE slow-flat-map",
            "slow-flat-map"
        ),
        .line("nio-scheduled", "a scheduled task", ["cpu"], ["Housekeeper.sweep"], "slow-scheduled"),
        .line(
            "nio-execute-context",
            "a block with a separate context",
            ["cpu"],
            ["Housekeeper.sweep"],
            request: "later work",
            "slow-context"
        ),
        .line(
            "nio-inactive",
            "the close of a connection",
            ["syscall"],
            ["LineHandler.leave"],
            callers: ["LineHandler.channelInactive"],
            stallsAtEnd: true,
            "bye"
        ),
        .service(
            "nio-twenty",
            "one of the lines of twenty clients",
            ["syscall"],
            ["Stall.block"],
            callers: ["LineHandler.channelRead"],
            request: "LINE slow-handler"
        ) {
            let port = try LineServer.start()
            for client in 0..<20 {
                Thread.detachNewThread {
                    for line in 0..<12 {
                        Loopback.ask(port, client == 11 && line == 6 ? "slow-handler\n" : "quick\(client)\n")
                        usleep(20_000)
                    }
                }
            }
        },
        .service(
            "nio-async-channel",
            "the reader of a NIOAsyncChannel",
            ["syscall"],
            ["AsyncLines.answer"],
            callers: ["AsyncLines.serve"],
            request: "LINE echo"
        ) {
            try await LineServer.startAsync()
        },
        .service(
            "nio-actor",
            "an actor on an event loop",
            ["cpu"],
            ["Counter.recount"],
            callers: ["Counter.countDaily"],
            request: "daily count"
        ) {
            Task(name: "counting") {
                let counter = Counter(Loops.group.any())
                await withStallContext(name: "daily count") { keep(await counter.countDaily(520)) }
            }
        },
        .service("nio-loop-crowd", "a block without a context, while contexts are open", ["cpu"], ["Stall.compute"]) {
            Crowd.wait(8)
            let loop = Loops.group.next()
            for number in 0..<6 { loop.execute { withStallContext(name: "quick \(number)") { _ = usleep(300) } } }
            loop.execute { keep(Stall.compute(for: 460)) }
        },
        .service(
            "nio-loop-one-of-many",
            "one of thirty blocks, each with a context",
            ["syscall"],
            ["Stall.block"],
            request: "slow one"
        ) {
            let loop = Loops.group.next()
            for number in 0..<30 {
                loop.execute {
                    withStallContext(name: number == 17 ? "slow one" : "quick \(number)") {
                        if number == 17 { Stall.block(for: 430) } else { _ = usleep(300) }
                    }
                }
            }
        },
    ]

    /// For a program whose main thread drains the main queue.
    static let futures: [Scenario] = [
        .service("nio-future-get", "a task that has waited for a future", ["cpu"], ["Stall.compute"], request: "get") {
            let loop = MultiThreadedEventLoopGroup.singleton.any()
            try await withStallContext(name: "get") {
                keep(try await loop.scheduleTask(in: .milliseconds(40)) { 3 }.futureResult.get())
                keep(Stall.compute(for: 440))
            }
        },
        .service("nio-submit", "a task's block on an event loop, which does not inherit its context", ["cpu"], ["Stall.compute"])
        {
            let loop = MultiThreadedEventLoopGroup.singleton.any()
            try await withStallContext(name: "around") { keep(try await loop.submit { Stall.compute(for: 420) }.get()) }
        },
    ]
}

extension Scenario {
    /// Sends one line to a separate server.
    fileprivate static func line(
        _ name: String,
        _ summary: String,
        _ causes: [String],
        _ culprits: [String],
        callers: [String] = [],
        request: String? = nil,
        stallsAtEnd: Bool = false,
        _ line: String
    ) -> Scenario {
        .service(name, summary, causes, culprits, callers: callers, request: request) {
            let port = try LineServer.start(stallsAtEnd: stallsAtEnd)
            DispatchQueue.global().async { Loopback.ask(port, line + "\n") }
        }
    }
}

private actor Counter {
    private let loop: any EventLoop
    // The loop itself, which outlives the jobs that run on it.
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.executor.asUnownedSerialExecutor() }

    init(_ loop: any EventLoop) { self.loop = loop }

    @inline(never) func recount(_ milliseconds: Int) -> Int {
        StalledTime.begin()
        defer { StalledTime.end() }
        let deadline = Deadline(milliseconds)
        var sum = 0
        while !deadline.isOver { for _ in 0..<100 { sum &+= Int.random(in: 0..<9) } }
        return sum
    }

    @inline(never) func countDaily(_ milliseconds: Int) async -> Int {
        await Task.yield()
        return recount(milliseconds)
    }
}
