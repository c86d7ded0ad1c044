package import CLagLinux
internal import Glibc

/// Who holds the lock that a thread waits for, what that thread waits for in turn, and so on: to a thread that waits for no lock
/// we know the holder of, or back to one that was there already, which is a deadlock.
///
/// Owned by the watchdog. Reads `/proc` and memory only. Of this process's threads: no lock, no allocation; some 20 µs a link.
package final class LockChain {
    /// One thread of the chain.
    package struct Link: Sendable {
        package let tid: Int32
        /// What it waits for; kind 0 when it does not wait for a lock.
        package fileprivate(set) var lock = cll_lock()
        fileprivate var call = cll_thread_syscall()
        /// The runtime's lock that it waits for, as its runtime has it.
        fileprivate var runtimeLock: RuntimeLock?
        /// How often it had waited for something: unchanged means that it has not run since.
        fileprivate var waits: UInt64 = 0
        /// Whether the wait has a time-out: the fourth argument of each of futex's operations that wait (futex(2)). A runtime's own
        /// lock is waited for in many short waits.
        fileprivate var endsByItself: Bool { runtimeLock == nil && call.arguments.3 != 0 }
    }

    /// A chain of more threads is cut.
    package static let maximumLength = 16

    /// Threads in the chain; the first is the one that was asked for.
    package private(set) var count = 0
    /// Where the last one's lock leads back to, if it does.
    package private(set) var cycle: Int?
    private let links: UnsafeMutablePointer<Link>
    private let process: Int32
    private let languages: (any LanguageFrameSource)?

    package convenience init() { self.init(process: getpid()) }

    /// - Parameters:
    ///   - process: whose threads they are.
    ///   - languages: knows the locks of runtimes; of another process alone.
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
                // While each was read another may have gone on.
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

    /// Whether a thread that is said to hold an interpreter's lock waits for it itself: then another one has taken it meanwhile.
    private func holdsNothing(_ owner: Link, of link: Link) -> Bool {
        link.lock.kind == Int32(CLL_LOCK_INTERPRETER) && owner.lock.kind == link.lock.kind
            && owner.lock.address == link.lock.address
    }

    /// Whether the lock that this link waits for has the same owner as when it was read, and the one that waits has not run since: who gives a lock away wakes it.
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

    /// Whether the threads of a cycle wait for each other at one moment: each lock still has the owner that was read, *after* the last thread's wait was read, and none of the
    /// threads has run since. And none of the waits ends by itself. (An owner may give a lock away between the reading of that lock and of what it waits for itself, to a thread that is none of these: no
    /// counter shows it.)
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
