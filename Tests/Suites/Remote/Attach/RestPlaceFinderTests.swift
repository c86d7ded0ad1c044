internal import Testing

@testable internal import LagRemote

/// Which threads are found by samples of their waits.
@Suite struct RestPlaceFinderTests {
    private static func resting(at pointer: UInt64 = 1000, runs: UInt64 = 1, epoll: Int32 = -1) -> ThreadObservation {
        ThreadObservation(
            doing: .blocked(call: ThreadObservation.epollWait, stackPointer: pointer, programCounter: 7, epoll: epoll),
            runs: runs
        )
    }

    @Test func `the wait location of a helper thread is accepted only after several visits`() {
        var main = RestPlaceFinder(.first)
        #expect(main.observe(ThreadObservation(doing: .running)) == nil)
        #expect(main.observe(Self.resting())?.stackPointer == 1000)
        var helper = RestPlaceFinder(.some)
        let found = [1, 1, 2, 3].map { helper.observe(Self.resting(runs: $0)) != nil }
        #expect(found == [false, false, false, true])
        var other = RestPlaceFinder(.some)
        #expect(other.observe(Self.resting(runs: 1, epoll: 5)) == nil)
        let accepting = other.observe(Self.resting(runs: 1, epoll: 6)) { $0 == 6 ? .accepting : .shared }
        #expect(accepting?.epoll == 6 && !other.isProvisional)
        var worker = RestPlaceFinder(.some)
        let own = worker.observe(Self.resting(runs: 1, epoll: 7)) { _ in .own }
        #expect(own?.epoll == 7 && worker.isProvisional)
    }

    @Test func `a thread with its own instance waits until it may be watched before it is known to be a loop`() {
        var worker = RestPlaceFinder(.some)
        var (queries, isFree, isShared) = (0, false, false)
        func found(_ runs: UInt64 = 1) -> Bool {
            let place = worker.observe(Self.resting(runs: runs, epoll: 7)) { _ in
                queries += 1
                return isShared ? .shared : .own
            } mayBeProvisional: {
                isFree
            }
            return place != nil
        }
        // It sleeps all the time.
        #expect(!found() && !found() && queries == 1)
        isFree = true
        #expect(found() && worker.isProvisional && queries == 2)
        worker = RestPlaceFinder(.some)
        (isFree, queries) = (false, 0)
        #expect(!found() && !found(2) && queries == 1)
        // Meanwhile another thread waits there.
        (isFree, isShared) = (true, true)
        #expect(!found(2) && !found(2) && queries == 2)
        #expect(found(3) && !worker.isProvisional)
    }

    /// What a preforking server waits for between two connections belongs to a request.
    @Test func `waits of a thread that rests in accept are a job's, unless they are for the same socket or go on for long`() {
        let accept = ThreadObservation(doing: .blocked(call: 43, stackPointer: 900, programCounter: 8), runs: 1, listener: 4)
        let second: UInt64 = 1_000_000_000
        var main = RestPlaceFinder(.first)
        let rest = main.observe(accept, at: second)
        #expect(rest == nil && main.job == .init(listener: 4, nanoseconds: second))
        let found = (2..<12).map { runs in
            main.observe(Self.resting(runs: runs, epoll: 6), at: runs * second, use: { _ in .own }, excludes: { $0 == 4 }) != nil
        }
        // Eight waits.
        #expect(found == Array(repeating: false, count: 7) + [true, true, true])
        var brief = RestPlaceFinder(.first, restsAt: 4, second)
        let early = (2..<20).compactMap { runs in
            brief.observe(Self.resting(runs: runs), at: second + runs * second / 10, excludes: { _ in true })
        }
        #expect(early.isEmpty)
        var loop = RestPlaceFinder(.first, restsAt: 4, second)
        let own = loop.observe(Self.resting(), at: second, excludes: { _ in false })
        #expect(own != nil)
    }

    /// A server that waits in accept is a loop only if the selection names its thread.
    @Test func `another blocking call is accepted as a wait for events only on named threads`() {
        var (named, other) = (RestPlaceFinder(.named), RestPlaceFinder(.first))
        let accept = { (runs: UInt64) in
            ThreadObservation(doing: .blocked(call: 43, stackPointer: 900, programCounter: 8), runs: runs)
        }
        let calls = (1..<9).map { named.observe(accept(UInt64($0)))?.call }
        #expect(calls == Array(repeating: nil, count: 7) + [43])
        let others = (1..<20).compactMap { other.observe(accept(UInt64($0))) }
        #expect(others.isEmpty)
    }
}
