internal import Dispatch
internal import LagMonitor
internal import Synchronization

// Asynchronous sequences, and calls that are bridged to asynchronous code.

extension Corpus {
    static let streams: [Scenario] = [
        .service(
            "async-sequence",
            "an iterator of the program",
            ["cpu"],
            ["Stall.compute"],
            callers: ["Pages.Iterator.parse"],
            request: "GET /pages"
        ) {
            await withStallContext(name: "GET /pages") { for await page in Pages(milliseconds: 430) { keep(page.count) } }
        },
        .service(
            "for-await",
            "the body of a for await",
            ["cpu"],
            ["Stall.compute"],
            callers: ["Feed.countDown"],
            request: "countdown"
        ) {
            await withStallContext(name: "countdown") { keep(await Feed.countDown(390)) }
        },
        .service(
            "stream-consumer",
            "the reader of an AsyncStream",
            ["syscall"],
            ["Stall.block"],
            callers: ["Feed.handle"],
            request: "feed"
        ) {
            await withStallContext(name: "feed") { keep(await Feed.consume(390)) }
        },
        .service("stream-map", "a closure of map", ["syscall"], ["Stall.block"], callers: ["Feed.handle"], request: "mapped") {
            await withStallContext(name: "mapped") { keep(await Feed.mapped(440)) }
        },
        .service(
            "stream-unfolding",
            "the closure that produces a stream's elements",
            ["syscall"],
            ["Stall.block"],
            callers: ["Feed.handle"],
            request: "unfolded",
            suspended: ["Feed.unfolded"]
        ) {
            await withStallContext(name: "unfolded") { keep(await Feed.unfolded(460)) }
        },
        .service(
            "continuation-body",
            "the body of withCheckedContinuation",
            ["syscall"],
            ["Stall.block"],
            callers: ["Feed.handle"],
            request: "bridge"
        ) {
            await withStallContext(name: "bridge") { keep(await Feed.bridge(470)) }
        },
        .service(
            "after-resume",
            "the code after a continuation",
            ["syscall"],
            ["Stall.block"],
            callers: ["Feed.handle"],
            request: "bridge"
        ) {
            await withStallContext(name: "bridge") { keep(await Feed.afterResume(480)) }
        },
        .service(
            "cancellation-handler",
            "the body of withTaskCancellationHandler",
            ["syscall"],
            ["Stall.block"],
            callers: ["Feed.handle"],
            request: "cancel"
        ) {
            await withStallContext(name: "cancel") { keep(await Feed.cancellable(350)) }
        },
    ]
}

private struct Pages: AsyncSequence {
    struct Iterator: AsyncIteratorProtocol {
        fileprivate var page = 0
        fileprivate let milliseconds: Int

        @inline(never) mutating func next() async -> [Int]? {
            page += 1
            await Task.yield()
            if page == 3 { return [parse()] }
            return page > 5 ? nil : [page]
        }

        @inline(never) func parse() -> Int { Stall.compute(for: milliseconds) &+ page }
    }

    let milliseconds: Int

    func makeAsyncIterator() -> Iterator { Iterator(milliseconds: milliseconds) }
}

private struct Countdown: AsyncSequence, AsyncIteratorProtocol {
    var number: Int

    mutating func next() async -> Int? {
        await Task.yield()
        number -= 1
        return number < 0 ? nil : number
    }

    func makeAsyncIterator() -> Countdown { self }
}

private enum Feed {
    @inline(never) static func handle(_ item: Int, _ milliseconds: Int) -> Int {
        Stall.block(for: milliseconds)
        return item
    }

    @inline(never) static func countDown(_ milliseconds: Int) async -> Int {
        var sum = 0
        for await number in Countdown(number: 3) { sum &+= number == 2 ? Stall.compute(for: milliseconds) : number }
        return sum
    }

    @inline(never) static func consume(_ milliseconds: Int) async -> Int {
        let (stream, source) = AsyncStream.makeStream(of: Int.self)
        Task.detached {
            for item in 0..<10 {
                source.yield(item)
                try? await Task.sleep(for: .milliseconds(5))
            }
            source.finish()
        }
        var sum = 0
        for await item in stream { sum &+= item == 6 ? handle(item, milliseconds) : item }
        return sum
    }

    @inline(never) static func mapped(_ milliseconds: Int) async -> Int {
        let (stream, source) = AsyncStream.makeStream(of: Int.self)
        for item in 0..<5 { source.yield(item) }
        source.finish()
        var sum = 0
        for await item in stream.map({ $0 == 3 ? handle($0, milliseconds) : $0 }) { sum &+= item }
        return sum
    }

    @inline(never) static func unfolded(_ milliseconds: Int) async -> Int {
        let count = Mutex(0)
        let stream = AsyncStream<Int>(unfolding: {
            let item = count.withLock {
                $0 += 1
                return $0
            }
            await Task.yield()
            if item == 3 { return handle(item, milliseconds) }
            return item > 5 ? nil : item
        })
        var sum = 0
        for await item in stream { sum += item }
        return sum
    }

    @inline(never) static func bridge(_ milliseconds: Int) async -> Int {
        await withCheckedContinuation { continuation in
            let item = handle(7, milliseconds)
            DispatchQueue.global().async { continuation.resume(returning: item) }
        }
    }

    @inline(never) static func afterResume(_ milliseconds: Int) async -> Int {
        let item: Int = await withCheckedContinuation { continuation in
            DispatchQueue.global().asyncAfter(deadline: .now() + 0.05) { continuation.resume(returning: 4) }
        }
        return handle(item, milliseconds)
    }

    @inline(never) static func cancellable(_ milliseconds: Int) async -> Int {
        await withTaskCancellationHandler {
            await Task.yield()
            return handle(2, milliseconds)
        } onCancel: {
        }
    }
}
