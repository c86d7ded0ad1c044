package import CLagLinux
internal import Glibc

/// The holder of the lock for which a thread waits, the thread for which that one waits in turn, and so on. The chain ends at a
/// thread that does not wait for a lock with a known holder, or at a thread that is already in the chain: a deadlock.
///
/// Owned by the watchdog. Reads only `/proc` and memory. For this process's threads: no lock, no allocation; some 20 µs per link.
package final class LockChain {
    /// One thread of the chain.
    package struct Link: Sendable {
        package let tid: Int32
        /// What it waits for; kind 0 if it does not wait for a lock.
        package fileprivate(set) var lock = cll_lock()
        fileprivate var call = cll_thread_syscall()
        /// The runtime's lock for which it waits, from its runtime.
        fileprivate var runtimeLock: RuntimeLock?
        /// How often it had waited: if unchanged, it has not run since.
        fileprivate var waits: UInt64 = 0
        /// Whether the wait has a time-out: the fourth argument of each futex operation that waits (futex(2)). Threads wait for a
        /// runtime's own lock in many short waits.
        fileprivate var endsByItself: Bool { runtimeLock == nil && call.arguments.3 != 0 }
    }

    /// A longer chain is cut.
    package static let maximumLength = 16

    /// Threads in the chain; the first is the one for which it was requested.
    package private(set) var count = 0
    /// The link to which the last one's lock leads back, if it does.
    package private(set) var cycle: Int?
    private let links: UnsafeMutablePointer<Link>
    private let process: Int32
    private let languages: (any LanguageFrameSource)?

    package convenience init() { self.init(process: getpid()) }

    /// - Parameters:
    ///   - process: the process of the threads.
    ///   - languages: knows the locks of runtimes; only for another process.
    package init(process: Int32, languages: (any LanguageFrameSource)? = nil) {
        self.process = process
        self.languages = languages
        links = .allocate(capacity: Self.maximumLength)
        links.initialize(repeating: Link(tid: 0), count: Self.maximumLength)
        cll_lock_prepare()
    }

    deinit { links.deallocate() }

    package subscript(index: Int) -> Link {
        precondition(index >= 0 && index < count, "link \(index) of \(count)")
        return links[index]
    }

    /// Follows the chain from a thread that sleeps in `call`.
    package func follow(_ tid: Int32, in call: cll_thread_syscall) {
        cycle = nil
        count = 1
        links[0] = link(tid, call)
        while count < Self.maximumLength {
            let owner = links[count - 1].lock.owner
            guard owner > 0 else { return }
            if let known = position(of: owner) {
                // While one thread was read, another may have continued.
                cycle = isStill(from: known) ? known : nil
                return
            }
            var call = cll_thread_syscall()
            let sleeps = cll_procfs_syscall(process, owner, &call) == Int32(CLL_SYSCALL_BLOCKED)
            links[count] = sleeps ? link(owner, call) : Link(tid: owner)
            if holdsNothing(links[count], of: links[count - 1]) {
                links[count - 1].lock.owner = 0
                return
            }
            count += 1
        }
    }

    private func link(_ tid: Int32, _ call: cll_thread_syscall) -> Link {
        var link = Link(tid: tid)
        var call = call
        link.call = call
        link.waits = ThreadState(tid: tid, process: process)?.voluntarySwitches ?? 0
        cll_lock_find(process, tid, &call, &link.lock)
        if call.number == cll_syscall_futex, let lock = languages?.lock(waitedForAt: call.arguments.0) {
            link.lock = cll_lock()
            link.lock.kind = Int32(CLL_LOCK_INTERPRETER)
            link.lock.address = lock.address
            link.lock.owner = lock.owner == tid ? 0 : lock.owner
            link.runtimeLock = lock
        }
        return link
    }

    /// Whether a thread that supposedly holds an interpreter's lock waits for it itself: then another thread has taken it
    /// meanwhile.
    private func holdsNothing(_ owner: Link, of link: Link) -> Bool {
        link.lock.kind == Int32(CLL_LOCK_INTERPRETER) && owner.lock.kind == link.lock.kind
            && owner.lock.address == link.lock.address
    }

    /// Whether the lock of this link's wait has the same owner as when it was read, and the waiting thread has not run since:
    /// releasing a lock wakes the waiting thread.
    package func isStillHeld(_ index: Int) -> Bool {
        guard let lock = links[index].runtimeLock else {
            var now = cll_lock()
            cll_lock_find(process, links[index].tid, &links[index].call, &now)
            return now.address == links[index].lock.address && now.owner == links[index].lock.owner
                && ThreadState(tid: links[index].tid, process: process)?.voluntarySwitches == links[index].waits
        }
        return languages?.lock(waitedForAt: links[index].call.arguments.0) == lock
    }

    private func position(of tid: Int32) -> Int? {
        var index = 0
        while index < count {
            if links[index].tid == tid { return index }
            index += 1
        }
        return nil
    }

    /// Whether the threads of a cycle wait for each other at one moment: each lock still has the owner that was read, *after* the
    /// last thread's wait was read, none of the threads has run since, and none of the waits ends by itself. (An owner may
    /// release a lock between the reading of that lock and of its own wait, to a thread outside the cycle: no counter shows
    /// this.)
    private func isStill(from first: Int) -> Bool {
        for index in first..<count where links[index].endsByItself || !isStillHeld(index) { return false }
        for index in first..<count where !isStillAsleep(index) { return false }
        return true
    }

    private func isStillAsleep(_ index: Int) -> Bool {
        let link = links[index]
        var call = cll_thread_syscall()
        return cll_procfs_syscall(process, link.tid, &call) == Int32(CLL_SYSCALL_BLOCKED) && call.sp == link.call.sp
            && call.arguments.0 == link.call.arguments.0
            && ThreadState(tid: link.tid, process: process)?.voluntarySwitches == link.waits
    }
}
