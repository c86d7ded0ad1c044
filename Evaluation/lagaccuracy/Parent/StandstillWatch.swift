internal import Foundation
internal import Glibc
internal import LagMonitor
internal import StallFixtures
internal import Synchronization

/// Finds standstills: times in which no processor of this machine ran, because its host had paused the virtual machine. No
/// process could run in that time, so it is left out of the truth, as are the parent's own stops (``ObservedStop``).
///
/// On each of two processors, a thread sleeps repeatedly for a millisecond. The time in which both were late, without waiting for
/// their processor, is a standstill. The target cannot cause one: it delays each thread separately, and with run-queue delay.
final class StandstillWatch: Sendable {
    /// A sleep that ended late.
    struct Gap: Sendable, Equatable {
        let begin: UInt64
        let end: UInt64
        /// The part spent waiting for the processor.
        let runDelay: UInt64
    }

    private final class Sleeper: Sendable {
        let gaps = Mutex<[Gap]>([])
        let isPlaced = Atomic(false)
    }

    private let sleepers = [Sleeper(), Sleeper()]
    private let isOver = Atomic(false)
    private let ended = DispatchGroup()

    /// Nil if threads cannot be bound to processors: then standstills cannot be measured.
    init?() {
        let placed = DispatchGroup()
        for (processor, sleeper) in sleepers.enumerated() {
            placed.enter()
            ended.enter()
            Thread.detachNewThread { [self] in
                let isPlaced = corpus_pin_thread(Int32(processor)) == 0
                sleeper.isPlaced.store(isPlaced, ordering: .relaxed)
                placed.leave()
                if isPlaced { watch(sleeper) }
                ended.leave()
            }
        }
        placed.wait()
        guard sleepers.allSatisfy({ $0.isPlaced.load(ordering: .relaxed) }) else {
            isOver.store(true, ordering: .relaxed)
            return nil
        }
    }

    /// Ends the threads, and returns the standstills.
    func end() -> [ObservedStop] {
        isOver.store(true, ordering: .relaxed)
        ended.wait()
        return Self.common(sleepers[0].gaps.withLock { $0 }, sleepers[1].gaps.withLock { $0 })
    }

    private func watch(_ sleeper: Sleeper) {
        guard let figures = fopen("/proc/thread-self/schedstat", "re") else { return }
        defer { fclose(figures) }
        setvbuf(figures, nil, _IONBF, 0)
        var (last, waited) = (MonotonicTime.now.nanoseconds, Self.runDelay(figures))
        while !isOver.load(ordering: .relaxed) {
            usleep(UInt32(Self.sleepNanoseconds / 1000))
            let (now, nowWaited) = (MonotonicTime.now.nanoseconds, Self.runDelay(figures))
            if now - last >= Self.leastNanoseconds {
                sleeper.gaps.withLock { $0.append(Gap(begin: last, end: now, runDelay: nowWaited - waited)) }
            }
            (last, waited) = (now, nowWaited)
        }
    }

    /// The second number of a thread's schedstat.
    private static func runDelay(_ file: UnsafeMutablePointer<FILE>) -> UInt64 {
        var line = [CChar](repeating: 0, count: 96)
        rewind(file)
        guard fgets(&line, Int32(line.count), file) != nil else { return 0 }
        let text = String(decoding: line.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
        return text.split(separator: " ").dropFirst().first.flatMap { UInt64($0) } ?? 0
    }

    /// The time in which both threads were late. It ends when the first of them runs again; before it, each may have slept as
    /// planned.
    static func common(_ one: [Gap], _ other: [Gap]) -> [ObservedStop] {
        one.flatMap { a in
            other.compactMap { b in
                let (begin, end) = (max(a.begin, b.begin), min(a.end, b.end))
                let known = sleepNanoseconds + max(a.runDelay, b.runDelay)
                guard end > begin, end - begin >= leastNanoseconds + known else { return nil }
                return ObservedStop(asked: begin, stopped: begin + known, continued: end, running: end)
            }
        }
    }

    private static let sleepNanoseconds: UInt64 = 1_000_000
    /// Shorter delays come from the timers.
    private static let leastNanoseconds: UInt64 = 4_000_000
}
