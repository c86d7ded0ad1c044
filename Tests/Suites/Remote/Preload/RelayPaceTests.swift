internal import CLagBeacon
internal import Dispatch
internal import Foundation
internal import Synchronization
internal import TestSupport
internal import Testing

@testable import LagMonitor
@testable internal import LagRemote

/// What a process with access to the table can do to the thread that reads it.
struct RelayPaceTests {
    private let millisecond: UInt64 = 1_000_000

    @Test func `the first round after a pause starts at once`() {
        var pace = RelayPace()
        pace.recordRound(1000 * millisecond, foundAnswers: true)
        pace.recordWake(.post)
        #expect(pace.pause(at: 1500 * millisecond) == nil)
        #expect(pace.pause(at: 1000 * millisecond + 200_000) == 1001 * millisecond)
    }

    @Test func `rounds that find nothing are increasingly far apart`() {
        var pace = RelayPace()
        var (now, rounds): (UInt64, Int) = (5000 * millisecond, 0)
        let end = now + 1000 * millisecond
        while now < end {
            pace.recordRound(now, foundAnswers: false)
            pace.recordWake(.post)
            rounds += 1
            now = pace.pause(at: now + 1000) ?? now + 1000
        }
        #expect(rounds < 70)
        pace.recordRound(now, foundAnswers: true)
        #expect(pace.pause(at: now + 1000) == now + RelayPace.shortestNanoseconds)
    }

    @Test func `an answer without a post causes more frequent checks for a while`() {
        var pace = RelayPace()
        let now = 9000 * millisecond
        #expect(pace.deadline(isWatching: false, at: now) == .max)
        #expect(pace.deadline(isWatching: true, at: now) == now + RelayPace.checkNanoseconds)
        pace.recordWake(.check)
        pace.recordRound(now, foundAnswers: true)
        #expect(pace.deadline(isWatching: true, at: now) == now + RelayPace.suspiciousCheckNanoseconds)
        let later = now + RelayPace.suspicionNanoseconds
        #expect(pace.deadline(isWatching: true, at: later) == later + RelayPace.checkNanoseconds)
    }

    /// The relay looks again at a loop that has just begun to work, and may find another one's answer.
    @Test func `a round at the relay's own time suspects no process, and delays no answer`() {
        var pace = RelayPace()
        let now = 9000 * millisecond
        pace.recordWake(.appointment)
        for foundAnswers in [true, false, false] { pace.recordRound(now, foundAnswers: foundAnswers) }
        #expect(pace.deadline(isWatching: true, at: now) == now + RelayPace.checkNanoseconds)
        #expect(pace.pause(at: now + 1000) == now + RelayPace.shortestNanoseconds)
    }

    private func withHostile(_ remote: RemoteProcess, _ write: @escaping @Sendable (UInt) -> Void, _ body: () throws -> Void)
        rethrows
    {
        let isDone = Flag()
        let table = UInt(bitPattern: remote.table.raw)
        let group = DispatchGroup()
        DispatchQueue.global().async(group: group) {
            while !isDone.value.load(ordering: .relaxed) {
                write(table)
                usleep(20)
            }
        }
        defer {
            isDone.value.store(true, ordering: .relaxed)
            group.wait()
        }
        try body()
    }

    /// The processor time, in nanoseconds, of the threads with this name prefix.
    private func time(of name: String) -> UInt64 {
        let tasks = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")) ?? []
        return tasks.reduce(0) { sum, task in
            let text = { (file: String) in (try? String(contentsOfFile: "/proc/self/task/\(task)/\(file)", encoding: .utf8)) ?? ""
            }
            guard text("comm").hasPrefix(name) else { return sum }
            return sum + (text("schedstat").split(separator: " ").first.flatMap { UInt64($0) } ?? 0)
        }
    }

    @Test(arguments: [false, true]) func `endless posts and claim changes cost little`(changesClaims: Bool) throws {
        let remote = try RemoteProcess(["epoll", "stalls"])
        defer { remote.end() }
        withHostile(remote) { table in
            let table = UnsafeMutablePointer<clb_loop_table>(bitPattern: table)!
            let waker = clb_loop_table_waker(table)
            if changesClaims { clb_loop_table_claim_word(table, 255).pointee ^= 1 << 33 }
            clb_waker_post_shared(waker)
        } _: {
            usleep(200_000)
            let before = (time(of: "lag-loop-table"), time(of: "lag-processes"))
            sleep(2)
            let relay = time(of: "lag-loop-table") - before.0
            let manager = time(of: "lag-processes") - before.1
            #expect(
                relay < 200 * millisecond && manager < 400 * millisecond,
                "\(relay / millisecond) ms, \(manager / millisecond) ms"
            )
        }
    }
}

private final class Flag: Sendable { let value = Atomic(false) }
