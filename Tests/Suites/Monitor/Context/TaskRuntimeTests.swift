import CLagBeacon
internal import CLagLinux
import Glibc
internal import LagActivity
import Testing

/// What is read of a task from outside equals what the task knows about itself.
struct TaskRuntimeTests {
    @Test func `the layout of the Swift runtime was learned and verified`() {
        #expect(cll_task_layout_is_known() != 0 && TaskRuntime.isVerified)
        let layout = TaskRuntime.layout
        #expect(layout.slots.task != 0 && layout.slots.task_id >= 0 && layout.running != 0)
        #expect(layout.priority >= 0 && layout.name >= 0 && layout.local >= 0 && layout.block >= 0, "\(layout)")
    }

    @Test(arguments: [TaskPriority.high, .medium, .low])
    func `the name, priority and context of a task are read correctly`(_ priority: TaskPriority) async throws {
        let task = try await Task.detached(name: "a task of a test", priority: priority) {
            try TaskRuntime.$context.withValue(0x0123_4567_89ab) { try Self.readOwn() }
        }.value
        #expect(task.nameText == "a task of a test" && task.local == 0x0123_4567_89ab && task.has_priority != 0)
        // A task that awaits it may have raised its priority.
        #expect(task.priority >= priority.rawValue && task.address != 0 && task.number != 0)
    }

    @Test func `a task without a name and a context is read without them`() async throws {
        let task = try await Task.detached { try Self.readOwn() }.value
        #expect(task.nameText == nil && task.local == 0)
    }

    @Test func `child tasks and unstructured tasks inherit the context, detached tasks do not`() async throws {
        try await TaskRuntime.$context.withValue(77) {
            async let child = Self.readLater().local
            let task = Task { try await Self.readLater().local }
            let detached = Task.detached { try await Self.readLater().local }
            let locals = try await [child, task.value, detached.value]
            #expect(locals == [77, 77, 0])
        }
    }

    @Test func `all contexts around the context of a task are read, including those of its parent task`() async throws {
        try await TaskRuntime.$context.withValue(7) {
            async let child = TaskRuntime.$context.withValue(77) { try await Self.readNested() }
            let own = try await Self.readNested()
            #expect(own == [7])
            let both = try await child
            #expect(both == [77, 7])
        }
        let none = try await Task.detached { try await Self.readNested() }.value
        #expect(none == [])
    }

    /// The runtime marks what is bound there, because a child task must copy it.
    @Test func `a context bound in the body of a task group is read`() async throws {
        let read = try await Task.detached {
            try await withThrowingTaskGroup { group in
                let own = try await TaskRuntime.$context.withValue(7) {
                    group.addTask { try await Self.readNested() }
                    return try await Self.readNested()
                }
                return try await [own, group.next() ?? []]
            }
        }.value
        #expect(read == [[7], [7]])
    }

    /// A child's list begins with a marker of one word, followed by old contents of that memory: for example what an earlier task
    /// bound.
    @Test(arguments: [(UInt64(0), UInt64(7)), (1 << 1, 7), (2 << 1, 77), (3 << 1, 0)])
    func `a task-local item is read according to its kind`(_ kind: UInt64, _ expected: UInt64) throws {
        let key: UInt64 = 0x5_0000
        let memory = UnsafeMutablePointer<UInt64>.allocate(capacity: 64)
        defer { memory.deallocate() }
        memory.initialize(repeating: 0, count: 64)
        let (slot, task, first, parents) = (memory, memory + 8, memory + 40, memory + 48)
        func address(_ pointer: UnsafeMutablePointer<UInt64>) -> UInt64 { UInt64(UInt(bitPattern: pointer)) }
        slot[0] = address(task)
        task[1] = address(first)
        // The next one, the key, the value's type, the value.
        (first[0], first[1], first[3]) = (address(parents) | kind, key, 7)
        (parents[1], parents[3]) = (key, 77)
        var layout = cll_task_layout(
            slots: cll_job_slots(task: 0, queue: 0, task_id: 0, label: 0),
            running: 0,
            key: key,
            priority: -1,
            name: -1,
            name_kind: -1,
            local: 8,
            block: -1,
            block_header: 0
        )
        layout.slots.task = Int64(bitPattern: address(slot) &- cll_thread_descriptor(cll_gettid()))
        var read = cll_task()
        let thread = try #require(JobThread(tid: cll_gettid()))
        #expect(thread.read(layout, &read) && read.address == address(task))
        #expect(read.local == expected)
    }

    @Test func `no thread is read for a thread number that is gone`() throws {
        var task = cll_task()
        let thread = try #require(JobThread(tid: cll_gettid()))
        #expect(thread.read(TaskRuntime.layout, &task))
        #expect(JobThread(tid: 0x3fff_fffe) == nil)
    }

    private static func readLater() async throws -> cll_task {
        try await Task.sleep(for: .milliseconds(1))
        return try readOwn()
    }

    private static func readNested() async throws -> [UInt64] {
        var (task, layout) = (try await readLater(), TaskRuntime.layout)
        return withUnsafeTemporaryAllocation(of: UInt64.self, capacity: Int(CLL_TASK_NESTED)) { values in
            Array(values[..<cll_task_locals(&layout, &task, values.baseAddress, values.count)])
        }
    }

    private static func readOwn() throws -> cll_task {
        var task = cll_task()
        let thread = try #require(JobThread(tid: cll_gettid()))
        #expect(thread.read(TaskRuntime.layout, &task))
        return task
    }
}
