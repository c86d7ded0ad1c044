import LagDetection
import Testing

/// Whether a thread that sleeps further out than its loop's wait is in a handler.
struct LoopCallsTests {
    private typealias Call = LoopCalls.Call

    private static func call(_ function: UInt64, _ stackPointer: UInt64) -> Call {
        Call(function: function, stackPointer: stackPointer)
    }
    private static func system(_ function: UInt64, _ stackPointer: UInt64) -> Call {
        Call(function: function, stackPointer: stackPointer, isSystems: true)
    }

    private static let (run, main, wait) = (UInt64(0x20), UInt64(0x10), UInt64(0x30))
    /// epoll_wait, the function that has the events on its stack, who calls that, main and what calls main.
    private static let resting = LoopCalls([
        system(0xa0, 1000), call(wait, 1016), call(run, 5000), call(main, 5200), system(0xf0, 5300),
    ])
    private static let events: UInt64 = 1024

    private static func isHandler(_ calls: [Call], events: UInt64 = events) -> Bool { resting.isHandler(calls, events: events) }

    @Test func `what the loop calls beside its wait is a handler`() {
        #expect(
            Self.isHandler([
                Self.system(0xb0, 4000), Self.call(0x60, 4100), Self.call(0x50, 4300), Self.call(Self.run, 5000),
                Self.call(Self.main, 5200),
                Self.system(0xf0, 5300),
            ])
        )
    }

    @Test func `another wait of the same function, and one that has left the loop, is none`() {
        let outer = [Self.call(Self.run, 5000), Self.call(Self.main, 5200), Self.system(0xf0, 5300)]
        #expect(!Self.isHandler([Self.system(0xb0, 1000), Self.call(Self.wait, 1016)] + outer))
        // Its caller calls the wait for a lock itself, as a pool's thread does.
        #expect(!Self.isHandler([Self.system(0xb0, 4900)] + outer))
        // main has gone on to something else.
        #expect(
            !Self.isHandler([Self.system(0xb0, 4900), Self.call(0x70, 5100), Self.call(Self.main, 5200), Self.system(0xf0, 5300)])
        )
        // Another function has its frame where the loop's was.
        #expect(
            !Self.isHandler([
                Self.system(0xb0, 4000), Self.call(0x60, 4100), Self.call(0x21, 5000), Self.call(Self.main, 5200),
                Self.system(0xf0, 5300),
            ])
        )
    }

    @Test func `a pool's thread that rests by a function of its own is in none`() {
        let outer = [Self.call(Self.run, 5000), Self.call(Self.main, 5200), Self.system(0xf0, 5300)]
        #expect(!Self.isHandler([Self.system(0xb0, 4700), Self.call(0x60, 4800)] + outer))
        #expect(Self.isHandler([Self.system(0xb0, 4600), Self.call(0x61, 4700), Self.call(0x60, 4800)] + outer))
    }

    @Test func `of a static program nothing is known`() {
        let handler = [Self.call(0xb0, 4000), Self.call(0x60, 4100), Self.call(0x50, 4300)] + Self.resting.calls.dropFirst(2)
        #expect(!Self.isHandler(handler))
        let resting = LoopCalls([Self.call(0xa0, 1000)] + Self.resting.calls.dropFirst())
        #expect(!resting.isHandler([Self.system(0xb0, 3900)] + handler, events: Self.events))
    }

    @Test func `without the calls of the wait, or with its events elsewhere, nothing is known`() {
        let handler = [
            Self.system(0xb0, 4000), Self.call(0x60, 4100), Self.call(0x50, 4300), Self.call(Self.run, 5000),
            Self.call(Self.main, 5200), Self.system(0xf0, 5300),
        ]
        #expect(Self.isHandler(handler))
        #expect(!LoopCalls().isHandler(handler, events: Self.events))
        #expect(!Self.isHandler([], events: Self.events))
        #expect(!Self.isHandler(handler, events: 5250))
        #expect(!Self.isHandler(handler, events: 500))
    }

    @Test func `a function that waits with a large frame has its caller's handlers beside it, too`() {
        let handler = [
            Self.system(0xb0, 4000), Self.call(0x60, 4100), Self.call(0x50, 4300), Self.call(Self.run, 5000),
            Self.call(Self.main, 5200), Self.system(0xf0, 5300),
        ]
        #expect(Self.resting.canDistinguish(events: nil) && Self.resting.isHandler(handler, events: nil))
        // Not where the frames are small, nor where a language's calls are on none of their own.
        let small = LoopCalls([
            Self.system(0xa0, 4480), Self.call(Self.wait, 4496), Self.call(Self.run, 5000), Self.call(Self.main, 5200),
            Self.system(0xf0, 5300),
        ])
        #expect(!small.canDistinguish(events: nil) && !small.isHandler(handler, events: nil))
        let interpreted = LoopCalls(Self.resting.calls, hasLanguages: true)
        #expect(!interpreted.isHandler(handler, events: nil) && interpreted.isHandler(handler, events: Self.events))
    }
}
