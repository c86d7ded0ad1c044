internal import Dispatch
internal import Glibc
internal import LagMonitor

// The main thread waits for a signal from another thread, which signals late. There is no lock owner.

extension Corpus {
    static let semaphores: [Scenario] = [
        Scenario(
            "dispatch-semaphore",
            [.lock],
            ["waitForReply"],
            "a DispatchSemaphore that is signalled late",
            making: {
                let semaphore = DispatchSemaphore(value: 0)
                return { end in
                    try helper("answerer") {
                        rest(until: end)
                        semaphore.signal()
                    }
                    return waitForReply(semaphore)
                }
            }
        ),
        Scenario(
            "task-semaphore",
            [.lock],
            ["loadSynchronously"],
            "waiting for a task with a semaphore",
            making: {
                let semaphore = DispatchSemaphore(value: 0)
                return { end in loadSynchronously(semaphore, until: end) }
            }
        ),
        Scenario(
            "sem-wait",
            [.lock],
            ["takeTicket"],
            "a POSIX semaphore that is posted late",
            making: {
                let semaphore = Immortal(sem_t()) { sem_init($0, 0, 0) }
                return { end in
                    try helper("poster") {
                        rest(until: end)
                        sem_post(semaphore.raw)
                    }
                    return takeTicket(semaphore)
                }
            }
        ),
        Scenario(
            "condition-variable",
            [.lock],
            ["awaitFirstFrame"],
            "a condition variable that is signalled late",
            making: {
                let mutex = ThreadMutex()
                let condition = Immortal(pthread_cond_t()) { pthread_cond_init($0, nil) }
                return { end in
                    try helper("decoder") {
                        rest(until: end)
                        mutex.lock()
                        pthread_cond_signal(condition.raw)
                        mutex.unlock()
                    }
                    return awaitFirstFrame(condition, mutex, until: end)
                }
            }
        ),
        Scenario(
            "thread-join",
            [.lock],
            ["joinWorker"],
            "pthread_join of a thread that is busy",
            making: {
                { end in joinWorker(try BusyThread(until: end).thread) }
            }
        ),
    ]
}

@inline(never)
func waitForReply(_ semaphore: DispatchSemaphore) -> Int {
    semaphore.wait()
    return 1
}

@inline(never)
func loadSynchronously(_ semaphore: DispatchSemaphore, until end: MonotonicTime) -> Int {
    Task.detached {
        try? await Task.sleep(nanoseconds: UInt64(max(0, (end - .now).wholeNanoseconds)))
        semaphore.signal()
    }
    semaphore.wait()
    return 1
}

@inline(never)
func takeTicket(_ semaphore: Immortal<sem_t>) -> Int {
    while sem_wait(semaphore.raw) != 0 && errno == EINTR {}
    return 1
}

@inline(never)
func awaitFirstFrame(_ condition: Immortal<pthread_cond_t>, _ mutex: ThreadMutex, until end: MonotonicTime) -> Int {
    var wakes = 0
    pthread_mutex_lock(mutex.raw)
    while MonotonicTime.now < end {
        pthread_cond_wait(condition.raw, mutex.raw)
        wakes += 1
    }
    pthread_mutex_unlock(mutex.raw)
    return wakes
}

@inline(never)
func joinWorker(_ thread: pthread_t) -> Int { Int(pthread_join(thread, nil)) + 1 }
