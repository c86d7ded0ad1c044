internal import CLibunwind
package import LagActivity

/// A loop of another process, found by its waits or told by that process's own monitor.
package final class RemoteLoop: ObservableLoop {
    package let beacon: ActivityBeacon
    package let thread: ThreadIdentity
    package let name: String
    let claim: UInt64

    init(_ loop: SharedPage.Loop, _ owner: SharedPage.Owner, in page: SharedPage) {
        beacon = ActivityBeacon(at: clu_page_beacon(page.raw, loop.index), in: page)
        let stack = owner.stack
        thread = ThreadIdentity(tid: loop.thread, process: loop.process, stackLow: stack.low, stackHigh: stack.high)
        name = !loop.name.isEmpty ? loop.name : loop.thread == loop.process ? "main" : "thread \(loop.thread)"
        claim = loop.claim
    }

    package func modeName(_ number: UInt32) -> String? { nil }
}
