internal import Foundation
internal import TestSupport
internal import Testing

@testable import LagMonitor
@testable internal import LagRemote

/// Which loops of a program with the preloaded library are watched, and their names.
@Suite(.serialized) struct SelectionTests {
    @Test(arguments: [
        ("redis-server", true), ("redis-*", true), ("redis-serve?", true), ("[rR]edis*", true), ("*", true),
        ("redis", false), ("Redis-server", false), ("", false),
    ])
    func `a pattern must match the whole name`(pattern: String, matches: Bool) {
        let selection = LoopSelection(processes: ["nothing", pattern])
        #expect(selection.includes(processName: "redis-server") == matches)
        #expect(LoopSelection(threads: [pattern]).includes(processName: "redis-server"))
    }

    @Test func `a loop is named after its thread`() throws {
        let process = try RemoteProcess(["epoll", "names"])
        defer { process.end() }
        #expect(eventually { process.watch.watchedLoops == 4 })
        let loops = process.watch.watchedProcesses.flatMap(\.loops)
        #expect(loops.count { $0.name == "main" && $0.thread.tid == process.pid } == 1)
        #expect(loops.count { $0.name == "worker" } == 1)
        // One thread has no name and one gets its name later. The latter name is used if the watch began after that.
        let others = loops.filter { !["main", "worker", "late"].contains($0.name) }
        let areNumbered = others.allSatisfy { $0.name == "thread \($0.thread.tid)" }
        #expect((1...2).contains(others.count) && areNumbered, "\(loops.map(\.name))")
    }

    @Test func `only loops on the selected threads are watched`() throws {
        let process = try RemoteProcess(["epoll", "names"], selection: LoopSelection(threads: ["work*", "late"]))
        defer { process.end() }
        #expect(eventually { process.loopNames == ["late", "worker"] }, "\(process.loopNames)")
        let left = process.watch.unselectedLoops
        #expect(left.map(\.name).sorted() == ["ForeignProbe", "main"] && left.allSatisfy { $0.process == process.pid })
        #expect(process.watch.begunLoops == 2)
    }

    @Test func `a provisional loop is listed as unselected only once it is confirmed`() throws {
        let process = try RemoteProcess(["first", "loop"], selection: LoopSelection(threads: ["worker"]))
        defer { process.end() }
        #expect(process.hasProvisionalClaim())
        #expect(process.watch.unselectedLoops.isEmpty)
        process.send("\n")
        #expect(eventually { process.watch.unselectedLoops.map(\.name) == ["main"] })
        #expect(process.watch.begunLoops == 0)
    }

    @Test func `an unselected process is not counted or watched`() throws {
        let process = try RemoteProcess(["epoll", "sleep"], selection: LoopSelection(processes: ["redis*"]))
        defer { process.end() }
        #expect(eventually { process.watch.unselectedLoops.map(\.processName) == ["ForeignProbe"] })
        #expect(process.watch.watchedProcesses.isEmpty && process.watch.begunLoops == 0)
        // Its exit frees its slot, which is noticed without a watch.
        kill(process.pid, SIGKILL)
        #expect(eventually { process.watch.unselectedLoops.isEmpty })
        #expect(process.table.loop(at: 0) == nil && process.sink.lines.isEmpty)
    }

    @Test func `a changed selection starts and ends watches`() throws {
        let process = try RemoteProcess(["epoll", "names"], selection: LoopSelection(processes: ["redis*"]))
        defer { process.end() }
        #expect(eventually { process.watch.unselectedLoops.count == 4 })
        process.select(LoopSelection(processes: ["Foreign*"], threads: ["main"]))
        #expect(eventually { process.loopNames == ["main"] && process.watch.unselectedLoops.count == 3 })
        process.select(LoopSelection(threads: ["worker"]))
        #expect(eventually { process.loopNames == ["worker"] && process.watch.unselectedLoops.count == 3 })
        process.select(LoopSelection(processes: ["redis*"]))
        #expect(eventually { process.watch.watchedProcesses.isEmpty && process.watch.unselectedLoops.count == 4 })
        process.select(LoopSelection())
        #expect(eventually { process.watch.watchedLoops == 4 && process.watch.unselectedLoops.isEmpty })
    }
}
