internal import LagCapture

/// CPython's global interpreter lock: whether a thread waits for it, and which thread holds it.
///
/// A waiting thread sleeps in `pthread_cond_timedwait` on the lock's own condition, for 5 ms at a time (`take_gil`,
/// Python/ceval_gil.c). So its futex is within the lock, unlike that of any other wait, and neither symbols nor the stack are
/// needed.
///
/// To exclude a wrong holder, the lock must be locked, its last holder must be a thread state in the interpreters' lists with its
/// own thread's ID, and none of this may change while it is read.
///
/// Source: `struct _gil_runtime_state`, CPython 3.11.2, 3.12.1 and 3.13.0, Include/internal/pycore_gil.h, by offsetof on x86-64.
struct PythonLock {
    /// `last_holder`, a `PyThreadState *`.
    static let holder: UInt64 = 8
    /// `locked`: an `int`, 1, 0, or -1 before there is a lock.
    static let locked: UInt64 = 16
    /// `cond`, a `pthread_cond_t`, behind `switch_number`.
    private static let condition: UInt64 = 32
    private static let conditionBytes: UInt64 = 48
    /// `switch_number`, an `unsigned long`: counts the threads that took the lock after another one.
    private static let switches = 24
    /// What changes with each switch of threads: up to `cond`.
    private static let stateBytes = 32
    /// `mutex`, a `pthread_mutex_t`, behind `cond`; its first word is 0 while it is free. Under it the lock is taken: `locked` first, then `last_holder`.
    private static let mutex: UInt64 = 80
    /// Interpreters of a process; one with more has a list that leads in a circle.
    private static let maximumInterpreters = 64

    private let memory: RemoteMemory
    private let layout: PythonLayout
    private let runtime: UInt64
    private let threads: PythonThreads

    init(_ memory: RemoteMemory, _ layout: PythonLayout, runtime: UInt64, _ threads: PythonThreads) {
        self.memory = memory
        self.layout = layout
        self.runtime = runtime
        self.threads = threads
    }

    /// Some 10 reads; two for each interpreter.
    /// - Parameter futex: the futex that the thread sleeps in.
    /// - Returns: nil: that is not the lock.
    func lock(waitedForAt futex: UInt64) -> RuntimeLock? {
        switch layout.lock {
        case nil: return nil
        case .ofRuntime(let offset): return lock(runtime &+ offset, waitedForAt: futex)
        case .ofInterpreter(let offset):
            var interpreter = memory.load(runtime &+ layout.firstInterpreter, as: UInt64.self) ?? 0
            for _ in 0..<Self.maximumInterpreters where interpreter != 0 {
                if let place = memory.load(interpreter &+ offset, as: UInt64.self), place != 0,
                    let found = lock(place, waitedForAt: futex)
                {
                    return found
                }
                interpreter = memory.load(interpreter &+ layout.nextInterpreter) ?? 0
            }
            return nil
        }
    }

    private func lock(_ place: UInt64, waitedForAt futex: UInt64) -> RuntimeLock? {
        let condition = place &+ Self.condition
        guard futex >= condition, futex - condition < Self.conditionBytes, let state = memory.bytes(place, Self.stateBytes),
            let locked: Int32 = state.number(at: Int(Self.locked)), locked == 0 || locked == 1
        else { return nil }
        let switches: UInt64 = state.number(at: Self.switches) ?? 0
        guard locked == 1, let owner = thread(ofState: state.number(at: Int(Self.holder)) ?? 0),
            // No thread is about to take it, and it has not been given to another one meanwhile.
            memory.load(place &+ Self.mutex, as: Int32.self) == 0, memory.bytes(place, Self.stateBytes) == state
        else { return RuntimeLock(address: place, owner: 0, switches: switches) }
        return RuntimeLock(address: place, owner: owner, switches: switches)
    }

    /// The thread ID in the process's own namespace.
    private func thread(ofState state: UInt64) -> Int32? {
        guard state != 0, let tid = layout.number(ofState: state, { memory.load($0) }), threads.holds(state, of: tid) else {
            return nil
        }
        return tid
    }
}
