internal import LagCapture

/// Ruby's global lock (GVL), of its first ractor: whether a thread waits for it, and which thread holds it.
///
/// A waiting thread sleeps in its own condition, in which it also sleeps for other reasons (`sleep`, a queue); but then it is not
/// in the list of waiters for the lock. Or it has released the lock, and sleeps in a condition of the lock until another thread
/// has taken it.
///
/// The list of waiters shows whether the lock passed to another thread: a holder that released it and took it again at once,
/// before a waiter had it, is still the holder.
///
/// To exclude a wrong holder, it must be a thread of the same ring and ractor, no thread may be about to take the lock, and none
/// of this may change while it is read.
///
/// Source: `thread_pthread.h` and `thread_pthread.c` (`gvl_acquire_common`, `gvl_yield`) of Ruby 3.1; compared with the memory of Debian's 3.1.2.
struct RubyLock {
    /// `rb_global_vm_lock_t`: the owner, the mutex, the head of the threads that wait, the one of them that counts the time, and two conditions.
    private static let (mutex, waiting, timer): (UInt64, UInt64, UInt64) = (8, 48, 64)
    private static let conditions: UInt64 = 80
    /// Up to the conditions.
    private static let stateBytes = 80
    /// `pthread_cond_t`.
    private static let conditionBytes: UInt64 = 48
    private static let maximumWaiting = 1024

    private let memory: RemoteMemory
    private let layout: RubyLayout
    private let threads: RubyThreads

    init(_ memory: RemoteMemory, _ layout: RubyLayout, _ threads: RubyThreads) {
        self.memory = memory
        self.layout = layout
        self.threads = threads
    }

    /// Two reads for each thread, one for each that waits.
    /// - Parameter futex: the futex that the thread sleeps in.
    /// - Returns: nil: that is not the lock.
    func lock(waitedForAt futex: UInt64) -> RuntimeLock? {
        guard let ractor: UInt64 = memory.load(threads.main &+ layout.threadRactor), ractor != 0 else { return nil }
        let place = ractor &+ layout.ractorLock
        guard let state = memory.bytes(place, Self.stateBytes), isWaitedFor(place, at: futex) else { return nil }
        // Data that changes when another thread takes it: the waiters, the first and the last of them, and the timer thread.
        let waits = [Self.waiting, Self.waiting + 8, Self.timer].map { state.number(at: Int($0)) ?? 0 as UInt64 }
        let switches = LanguageFrame.check(of: waits)
        guard let owner: UInt64 = state.number(at: 0), owner != 0, state.number(at: Int(Self.mutex)) == Int32(0),
            let number = number(of: owner, in: ractor), memory.bytes(place, Self.stateBytes) == state
        else { return RuntimeLock(address: place, owner: 0, switches: switches) }
        return RuntimeLock(address: place, owner: number, switches: switches)
    }

    private func isWaitedFor(_ place: UInt64, at futex: UInt64) -> Bool {
        func lies(_ begin: UInt64, _ bytes: UInt64) -> Bool { futex >= begin && futex - begin < bytes }
        if lies(place &+ Self.conditions, 2 * Self.conditionBytes) { return true }
        guard let thread = threads.first(where: { lies($0 &+ layout.threadCondition, Self.conditionBytes) }) else { return false }
        var link: UInt64 = memory.load(place &+ Self.waiting) ?? 0
        for _ in 0..<Self.maximumWaiting where link != place &+ Self.waiting && link != 0 {
            if link == thread &+ layout.threadLink { return true }
            link = memory.load(link) ?? 0
        }
        return false
    }

    /// The thread ID in the process's own namespace.
    private func number(of owner: UInt64, in ractor: UInt64) -> Int32? {
        guard memory.load(owner &+ layout.threadRactor, as: UInt64.self) == ractor,
            threads.first(where: { $0 == owner }) != nil, let number = threads.number(of: owner),
            number > 0
        else { return nil }
        return number
    }
}
