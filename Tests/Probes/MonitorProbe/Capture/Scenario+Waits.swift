internal import CLagLinux
import Dispatch
import Glibc
internal import LagActivity
import LagCapture
import StallFixtures
import Synchronization

/// Threads that wait for each other: `kind=…`, `owner=NAME`, `threads=NAME …` (the chain), `cycle=N`, `last=KIND`.
///
/// A separate process for each, which exits without releasing the threads: most of them could not be released.
extension Scenario {
    static let waits: [String: Body] = [
        "wait-mutex": { try mutexWait(Int32(PTHREAD_MUTEX_TIMED_NP)) },
        "wait-mutex-normal": { try mutexWait(Int32(PTHREAD_MUTEX_NORMAL), explicitly: true) },
        "wait-mutex-recursive": { try mutexWait(Int32(PTHREAD_MUTEX_RECURSIVE)) },
        "wait-mutex-errorcheck": { try mutexWait(Int32(PTHREAD_MUTEX_ERRORCHECK)) },
        "wait-mutex-adaptive": { try mutexWait(Int32(PTHREAD_MUTEX_ADAPTIVE_NP)) },
        "wait-mutex-priority": { try mutexWait(Int32(PTHREAD_MUTEX_TIMED_NP), priority: true) },
        "wait-mutex-robust": { try mutexWait(Int32(PTHREAD_MUTEX_TIMED_NP), robust: true) },
        "wait-mutex-timed": {
            let mutex = SharedMutex()
            try oneWaits({ mutex.lock() }, { mutex.lock(seconds: 60) })
        },
        "wait-swift-mutex": {
            let box = MutexBox()
            let holder = StalledThread { thread in box.mutex.withLock { _ in sleepForever(thread) } }
            holder.waitUntilStalled(sleeping: true)
            let waiter = StalledThread.waiting { box.mutex.withLock { $0 += 1 } }
            report(waiter, [("holder", holder)])
        },
        "wait-read-lock-of-writer": {
            let lock = SharedReadWriteLock()
            try oneWaits({ lock.write() }, { lock.read() })
        },
        "wait-write-lock-of-writer": {
            let lock = SharedReadWriteLock()
            try oneWaits({ lock.write() }, { lock.write() })
        },
        "wait-write-lock-of-reader": {
            let lock = SharedReadWriteLock()
            try oneWaits({ lock.read() }, { lock.write() })
        },
        "wait-write-lock-of-readers": {
            let lock = SharedReadWriteLock()
            lock.read()
            lock.read()
            try oneWaits({ lock.read() }, { lock.write() })
        },
        // Its first writer waits for the reader, and a second one for the first.
        "wait-write-lock-of-writer-behind-reader": {
            let lock = SharedReadWriteLock()
            lock.read()
            try oneWaits({}, { lock.write() }, besides: { lock.write() })
        },
        // With such a lock, no reader passes a waiting writer.
        "wait-read-lock-behind-writer": {
            let lock = SharedReadWriteLock(prefersWriters: true)
            lock.read()
            try oneWaits({}, { lock.read() }, besides: { lock.write() })
        },
        "wait-std-mutex": { try standardWait(FIXTURE_MUTEX) },
        "wait-std-recursive-mutex": { try standardWait(FIXTURE_RECURSIVE_MUTEX) },
        "wait-std-timed-mutex": { try standardWait(FIXTURE_TIMED_MUTEX) },
        "wait-std-shared-mutex-of-writer": { try standardWait(FIXTURE_SHARED_MUTEX_WRITE) },
        "wait-std-shared-mutex-of-reader": { try standardWait(FIXTURE_SHARED_MUTEX_READ) },
        "wait-dispatch-once": {
            let holder = StalledThread { thread in callInOnce { sleepForever(thread) } }
            holder.waitUntilStalled(sleeping: true)
            let waiter = StalledThread.waiting { callInOnce {} }
            report(waiter, [("holder", holder)])
        },
        // Its word is not a thread number, and the word next to it here looks like a mutex with an owner.
        "wait-once-beside-a-tid": {
            let holder = StalledThread { sleepForever($0) }
            holder.waitUntilStalled(sleeping: true)
            let once = OnceBesideNumber(holder.target.tid)
            let initialiser = StalledThread { _ in once.call() }
            while !once.isBegun { usleep(1000) }
            let waiter = StalledThread.waiting { once.call() }
            report(waiter, [("holder", holder), ("initialiser", initialiser)])
        },
        "wait-join": {
            let holder = StalledThread { sleepForever($0) }
            let waiter = StalledThread.waiting { holder.join() }
            report(waiter, [("holder", holder)])
        },
        "wait-queue": {
            let queue = DispatchQueue(label: "busy")
            let worker = Worker(on: queue)
            let waiter = StalledThread.waiting { queue.sync {} }
            report(waiter, [], worker.tid)
        },
        "wait-queue-of-sync": {
            let queue = DispatchQueue(label: "busy")
            let holder = StalledThread { thread in queue.sync { sleepForever(thread) } }
            holder.waitUntilStalled(sleeping: true)
            let waiter = StalledThread.waiting { queue.sync {} }
            report(waiter, [("holder", holder)])
        },
        "wait-queue-barrier": {
            let queue = DispatchQueue(label: "busy", attributes: .concurrent)
            let worker = Worker(on: queue, flags: .barrier)
            let waiter = StalledThread.waiting { queue.sync {} }
            report(waiter, [], worker.tid)
        },
        "wait-semaphore": {
            let semaphore = SharedSemaphore()
            try oneWaits({}, { semaphore.wait() })
        },
        "wait-dispatch-semaphore": {
            let semaphore = DispatchSemaphore(value: 0)
            try oneWaits({}, { semaphore.wait() })
        },
        "wait-group": {
            let group = DispatchGroup()
            group.enter()
            try oneWaits({}, { group.wait() })
        },
        "wait-condition": {
            let condition = SharedCondition()
            try oneWaits({}, { condition.wait() })
        },
        "wait-ended-owner": {
            let mutex = SharedMutex()
            let holder = StalledThread { _ in mutex.lock() }
            holder.join()
            let waiter = StalledThread.waiting { mutex.lock() }
            report(waiter, [("holder", holder)])
        },
        // A number that happens to equal a thread number: an event count, a sequence.
        "wait-number": {
            let holder = StalledThread { sleepForever($0) }
            holder.waitUntilStalled(sleeping: true)
            let number = SharedNumber(UInt32(holder.target.tid))
            let waiter = StalledThread.waiting { number.wait() }
            report(waiter, [("holder", holder)])
        },
        // The word after a condition looks like a lock's owner if thread numbers are small.
        "wait-condition-before-mutex": {
            let pair = ConditionAndMutex()
            let waiter = StalledThread.waiting { pair.wait() }
            report(waiter, [])
        },
        "wait-sleep": { try oneWaits({}, { sleep(1000) }) },
    ]

    /// `holder` takes a lock and sleeps; `waiter` waits for it.
    ///
    /// - Parameter waitBefore: what another thread is already waiting for.
    private static func oneWaits(
        _ take: @escaping @Sendable () -> Void,
        _ wait: @escaping @Sendable () -> Void,
        besides waitBefore: (@Sendable () -> Void)? = nil
    ) throws {
        let holder = StalledThread { thread in
            take()
            sleepForever(thread)
        }
        holder.waitUntilStalled(sleeping: true)
        if let waitBefore {
            let other = StalledThread.waiting { waitBefore() }
            other.waitUntilStalled(sleeping: true)
        }
        let waiter = StalledThread.waiting { wait() }
        report(waiter, [("holder", holder)])
    }

    private static func standardWait(_ lock: fixture_lock) throws {
        try oneWaits({ fixture_lock_take(lock) }, { fixture_lock_wait(lock) })
    }

    private static func mutexWait(
        _ kind: Int32,
        explicitly: Bool = false,
        priority: Bool = false,
        robust: Bool = false
    ) throws {
        let mutex = SharedMutex(kind, explicitly: explicitly, priority: priority, robust: robust)
        try oneWaits({ mutex.lock() }, { mutex.lock() })
    }

    static func report(
        _ waiter: StalledThread,
        _ others: [(String, StalledThread)],
        _ worker: Int32 = 0,
        asked: String = "waiter"
    ) {
        let chain = LockChain()
        waiter.waitUntilStalled(sleeping: true)
        var names: [Int32: String] = [0: "none", waiter.target.tid: asked]
        if worker != 0 { names[worker] = "worker" }
        for (name, thread) in others { names[thread.target.tid] = name }
        var call = cll_thread_syscall()
        guard cll_procfs_syscall(getpid(), waiter.target.tid, &call) == Int32(CLL_SYSCALL_BLOCKED) else {
            print("the waiter does not sleep")
            _exit(1)
        }
        chain.follow(waiter.target.tid, in: call)
        print("kind=\(name(ofKind: chain[0].lock.kind))")
        print("owner=\(names[chain[0].lock.owner] ?? "?")")
        print("readers=\(chain[0].lock.readers)")
        print("threads=\((0..<chain.count).map { names[chain[$0].tid] ?? "?" }.joined(separator: " "))")
        print("cycle=\(chain.cycle.map(String.init) ?? "none")")
        print("last=\(name(ofKind: chain[chain.count - 1].lock.kind))")
        _exit(0)
    }

    private static func name(ofKind kind: Int32) -> String {
        switch kind {
        case Int32(CLL_LOCK_NONE): "none"
        case Int32(CLL_LOCK_FUTEX): "futex"
        case Int32(CLL_LOCK_MUTEX): "mutex"
        case Int32(CLL_LOCK_OWNED_WORD): "owned-word"
        case Int32(CLL_LOCK_THREAD): "thread"
        case Int32(CLL_LOCK_QUEUE): "queue"
        case Int32(CLL_LOCK_READ_WRITE): "read-write"
        case Int32(CLL_LOCK_PRIORITY): "priority"
        case Int32(CLL_LOCK_CONDITION): "condition"
        case Int32(CLL_LOCK_SEMAPHORE): "semaphore"
        default: "?"
        }
    }
}

/// In the process's only `dispatch_once`.
func callInOnce(_ body: @escaping () -> Void) {
    let call = Call {
        body()
        return 0
    }
    fixture_dispatch_once({ Call.run($0) }, Unmanaged.passUnretained(call).toOpaque())
}

extension StalledThread {
    /// Stalls in this wait.
    static func waiting(_ wait: @escaping @Sendable () -> Void) -> StalledThread {
        StalledThread { thread in
            thread.setReady()
            wait()
        }
    }
}

/// A wait that is not for a lock.
func sleepForever(_ thread: StalledThread) {
    thread.setReady()
    while true { poll(nil, 0, -1) }
}
