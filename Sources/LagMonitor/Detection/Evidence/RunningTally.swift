package import CLagBeacon
package import CLagLinux
internal import LagCapture
internal import LagModel

/// What the thread was working on in one stall, according to the program (contexts) and to the runtime (its task): memory that is
/// allocated in advance.
///
/// One stall may consist of many tasks' jobs: a finding counts for as much of the time since the reading before as it is known to
/// have run (``LatestRunning``). What ran for at most half of the stall is not reported as its work.
package final class RunningTally {
    /// Different contexts, and different tasks, that are kept: the heaviest, and the latest.
    package static let capacity = 5
    /// Other contexts of the loop that are kept, the oldest ones.
    package static let openCapacity = 8

    private let memory: UnsafeMutableRawPointer
    private let contexts: UnsafeMutablePointer<clb_context_copy>
    private let tasks: UnsafeMutablePointer<cll_task>
    private let open: UnsafeMutablePointer<clb_context_copy>
    private let contextWeights: UnsafeMutablePointer<UInt64>
    private let taskWeights: UnsafeMutablePointer<UInt64>

    private var contextCount = 0
    private var taskCount = 0
    /// Other contexts that are open.
    package private(set) var openCount = 0
    /// When the open ones were listed.
    package private(set) var openNanoseconds: UInt64 = 0
    /// What the last reading found, if it runs until it is finished.
    private var lastingContext: Int?
    private var lastingTask: Int?
    private var latestNanoseconds: UInt64 = 0
    private var totalNanoseconds: UInt64 = 0
    private var hasListed = false

    private static let bytes =
        capacity * (MemoryLayout<clb_context_copy>.stride + MemoryLayout<cll_task>.stride + 2 * MemoryLayout<UInt64>.stride)
        + openCapacity * MemoryLayout<clb_context_copy>.stride

    /// Allocates its memory directly from the kernel.
    package init?() {
        guard let memory = cll_memory_map(Self.bytes) else { return nil }
        self.memory = memory
        contexts = memory.bindMemory(to: clb_context_copy.self, capacity: Self.capacity)
        open = UnsafeMutableRawPointer(contexts + Self.capacity)
            .bindMemory(to: clb_context_copy.self, capacity: Self.openCapacity)
        tasks = UnsafeMutableRawPointer(open + Self.openCapacity).bindMemory(to: cll_task.self, capacity: Self.capacity)
        contextWeights = UnsafeMutableRawPointer(tasks + Self.capacity).bindMemory(to: UInt64.self, capacity: Self.capacity)
        taskWeights = contextWeights + Self.capacity
    }

    deinit { cll_memory_unmap(memory, Self.bytes) }

    /// Resets it for another stall, which began at that time.
    package func begin(at since: UInt64) {
        contextCount = 0
        taskCount = 0
        openCount = 0
        hasListed = false
        (lastingContext, lastingTask) = (nil, nil)
        latestNanoseconds = since
        totalNanoseconds = 0
    }

    /// Adds a reading. Allocates nothing.
    /// - Parameter latest: since when its findings are known to have run.
    package func add(_ reading: RunningReading, _ latest: LatestRunning, at now: UInt64) {
        let before = latestNanoseconds
        latestNanoseconds = max(latestNanoseconds, now)
        totalNanoseconds += now.saturatingDifference(before)
        (lastingContext, lastingTask) = (nil, nil)
        if let context = reading.context {
            let index = place(of: context)
            contextWeights[index] += now.saturatingDifference(max(before, latest.contextNanoseconds))
            if reading.since != nil { lastingContext = index }
        }
        if let task = reading.task {
            let index = place(of: task)
            taskWeights[index] += now.saturatingDifference(max(before, latest.taskNanoseconds))
            if reading.since != nil { lastingTask = index }
        }
    }

    private func place(of context: UnsafePointer<clb_context_copy>) -> Int {
        var index = 0
        while index < contextCount {
            if contexts[index].token == context.pointee.token { return index }
            index += 1
        }
        if contextCount < Self.capacity { contextCount += 1 } else { index = Self.lightest(contextWeights) }
        contexts[index] = context.pointee
        contextWeights[index] = 0
        return index
    }

    /// The one to evict: many short jobs must not displace a long one.
    private static func lightest(_ weights: UnsafeMutablePointer<UInt64>) -> Int {
        var lightest = 0
        var index = 1
        while index < capacity {
            if weights[index] < weights[lightest] { lightest = index }
            index += 1
        }
        return lightest
    }

    private func place(of task: UnsafePointer<cll_task>) -> Int {
        var index = 0
        while index < taskCount {
            if tasks[index].address == task.pointee.address, tasks[index].number == task.pointee.number {
                // There was no time for it before.
                if tasks[index].name_length == 0 || (tasks[index].awaiter_lengths.0 == 0 && task.pointee.awaiter_lengths.0 > 0) {
                    tasks[index] = task.pointee
                }
                return index
            }
            index += 1
        }
        if taskCount < Self.capacity { taskCount += 1 } else { index = Self.lightest(taskWeights) }
        tasks[index] = task.pointee
        taskWeights[index] = 0
        return index
    }

    /// Whether the open contexts must be listed: once, at the first sample. From this call on they count as listed.
    package func beginOpen(at now: UInt64) -> Bool {
        guard !hasListed else { return false }
        hasListed = true
        openNanoseconds = now
        return true
    }

    /// Adds one of them. If they do not all fit, the oldest are kept.
    package func addOpen(_ context: UnsafePointer<clb_context_copy>) {
        var index = 0
        if openCount < Self.openCapacity {
            index = openCount
            openCount += 1
        } else {
            var other = 1
            while other < openCount {
                if open[other].context.opened_ns > open[index].context.opened_ns { index = other }
                other += 1
            }
            guard context.pointee.context.opened_ns < open[index].context.opened_ns else { return }
        }
        open[index] = context.pointee
    }

    /// Gives a context without a trace this one.
    package func setTrace(_ trace: InheritedTrace) {
        var index = 0
        while index < contextCount {
            if contexts[index].token == trace.token, contexts[index].context.span == 0 {
                contexts[index].context.trace_high = trace.high
                contexts[index].context.trace_low = trace.low
                contexts[index].context.span = trace.span
            }
            index += 1
        }
    }

    package func openContext(_ index: Int) -> clb_context_copy {
        precondition(index >= 0 && index < openCount, "context \(index) of \(openCount)")
        return open[index]
    }

    /// The stall is over, or is reported so far. The time after the last reading belongs to that reading, if what it found runs
    /// until it is finished. For other findings it may have been their last moment.
    package func close(at until: UInt64) {
        let gap = until.saturatingDifference(latestNanoseconds)
        latestNanoseconds = max(latestNanoseconds, until)
        totalNanoseconds += gap
        if let lastingContext { contextWeights[lastingContext] += gap }
        if let lastingTask { taskWeights[lastingTask] += gap }
    }

    /// How long the thread worked on a context, at least.
    private func ranNanoseconds(_ index: Int) -> UInt64 {
        let since = latestNanoseconds.saturatingDifference(totalNanoseconds)
        // A context that was opened during the stall has not run before.
        let missed = min(contexts[index].context.opened_ns.saturatingDifference(since), totalNanoseconds)
        return min(contextWeights[index], totalNanoseconds - missed)
    }

    /// The context that was running for more than half of the stall, if it was open for that long.
    package var running: clb_context_copy? {
        (0..<contextCount).first { ranNanoseconds($0) > totalNanoseconds / 2 }.map { contexts[$0] }
    }

    /// The other contexts on which the thread worked for at least this long: a loop that calls one handler after the other
    /// answers no other in between, so several of them make one stall. In the order in which they were found.
    package func alsoRan(atLeast nanoseconds: UInt64) -> [(copy: clb_context_copy, ranNanoseconds: UInt64)] {
        let running = running?.token
        return (0..<contextCount).map { (contexts[$0], ranNanoseconds($0)) }
            .filter { $0.1 >= max(nanoseconds, 1) && $0.0.token != running }
    }

    /// The task that was running for more than half of the stall.
    package var task: cll_task? {
        var index = 0
        while index < taskCount {
            if taskWeights[index] > totalNanoseconds / 2 { return tasks[index] }
            index += 1
        }
        return nil
    }

    /// Copies another tally into this one. Allocates nothing.
    package func copy(_ other: RunningTally) {
        memory.copyMemory(from: other.memory, byteCount: Self.bytes)
        contextCount = other.contextCount
        taskCount = other.taskCount
        openCount = other.openCount
        openNanoseconds = other.openNanoseconds
        hasListed = other.hasListed
        (lastingContext, lastingTask) = (other.lastingContext, other.lastingTask)
        latestNanoseconds = other.latestNanoseconds
        totalNanoseconds = other.totalNanoseconds
    }
}
