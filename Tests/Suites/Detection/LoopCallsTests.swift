import LagDetection
import Testing

/// Whether a thread that sleeps deeper on the stack than its loop's wait is in a handler.
struct LoopCallsTests {
    private typealias Call = LoopCalls.Call

    private static func call(_ function: UInt64, _ stackPointer: UInt64) -> Call {
        Call(function: function, stackPointer: stackPointer)
    }
    private static func system(_ function: UInt64, _ stackPointer: UInt64) -> Call {
        Call(function: function, stackPointer: stackPointer, isSystems: true)
    }

    private static let (run, main, wait) = (UInt64(0x20), UInt64(0x10), UInt64(0x30))
    /// epoll_wait, the function that has the events on its stack, its caller, main and main's caller.
    private static let resting = LoopCalls([
        system(0xa0, 1000), call(wait, 1016), call(run, 5000), call(main, 5200), system(0xf0, 5300),
    ])
    private static let events: UInt64 = 1024

    private static func isHandler(_ calls: [Call], events: UInt64 = events) -> Bool { resting.isHandler(calls, events: events) }

    @Test func `a function that the loop calls besides its wait is a handler`() {
        #expect(
            Self.isHandler([
                Self.system(0xb0, 4000), Self.call(0x60, 4100), Self.call(0x50, 4300), Self.call(Self.run, 5000),
                Self.call(Self.main, 5200),
                Self.system(0xf0, 5300),
            ])
        )
    }

    @Test func `another wait of the same function is not a handler, nor is a call outside the loop`() {
        let outer = [Self.call(Self.run, 5000), Self.call(Self.main, 5200), Self.system(0xf0, 5300)]
        #expect(!Self.isHandler([Self.system(0xb0, 1000), Self.call(Self.wait, 1016)] + outer))
        // Its caller itself calls the wait for a lock, as a pool's thread does.
        #expect(!Self.isHandler([Self.system(0xb0, 4900)] + outer))
        // main has continued with something else.
        #expect(
            !Self.isHandler([Self.system(0xb0, 4900), Self.call(0x70, 5100), Self.call(Self.main, 5200), Self.system(0xf0, 5300)])
        )
        // Another function has its frame at the place of the loop's.
        #expect(
            !Self.isHandler([
                Self.system(0xb0, 4000), Self.call(0x60, 4100), Self.call(0x21, 5000), Self.call(Self.main, 5200),
                Self.system(0xf0, 5300),
            ])
        )
    }

    @Test func `a thread of a pool that rests in its own function is not in a handler`() {
        let outer = [Self.call(Self.run, 5000), Self.call(Self.main, 5200), Self.system(0xf0, 5300)]
        #expect(!Self.isHandler([Self.system(0xb0, 4700), Self.call(0x60, 4800)] + outer))
        #expect(Self.isHandler([Self.system(0xb0, 4600), Self.call(0x61, 4700), Self.call(0x60, 4800)] + outer))
    }

    @Test func `in a static program no handler is recognised`() {
        let handler = [Self.call(0xb0, 4000), Self.call(0x60, 4100), Self.call(0x50, 4300)] + Self.resting.calls.dropFirst(2)
        #expect(!Self.isHandler(handler))
        let resting = LoopCalls([Self.call(0xa0, 1000)] + Self.resting.calls.dropFirst())
        #expect(!resting.isHandler([Self.system(0xb0, 3900)] + handler, events: Self.events))
    }

    @Test func `no handler is recognised without the calls of the wait or with its events elsewhere`() {
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

    @Test func `a waiting function with a large frame also reveals the handlers of its caller`() {
        let handler = [
            Self.system(0xb0, 4000), Self.call(0x60, 4100), Self.call(0x50, 4300), Self.call(Self.run, 5000),
            Self.call(Self.main, 5200), Self.system(0xf0, 5300),
        ]
        #expect(Self.resting.canDistinguish(events: nil) && Self.resting.isHandler(handler, events: nil))
        // Not if the frames are small, or if the calls of a language are not on their own frames.
        let small = LoopCalls([
            Self.system(0xa0, 4480), Self.call(Self.wait, 4496), Self.call(Self.run, 5000), Self.call(Self.main, 5200),
            Self.system(0xf0, 5300),
        ])
        #expect(!small.canDistinguish(events: nil) && !small.isHandler(handler, events: nil))
        let interpreted = LoopCalls(Self.resting.calls, hasLanguages: true)
        #expect(!interpreted.isHandler(handler, events: nil) && interpreted.isHandler(handler, events: Self.events))
    }

    /// `select` in a function that fills a buffer, called by the loop, which has another one, and which its caller has left.
    @Test func `only the waiting function may have returned`() {
        let outer = [Self.call(Self.run, 6100), Self.call(Self.main, 6900), Self.system(0xf0, 7800)]
        let resting = LoopCalls([Self.system(0xa0, 4900), Self.call(Self.wait, 5000), Self.call(0x40, 5528)] + outer)
        let after = [Self.system(0xb0, 5500), Self.call(0x63, 5600), Self.call(0x62, 5700), Self.call(0x61, 5800)]
        #expect(!resting.isHandler(after + outer, events: nil))
    }
}
