import CLagBeacon
internal import CLagLinux
import Glibc
internal import LagActivity
import Testing

/// What is read of a task from outside is what the task knows of itself.
struct TaskRuntimeTests {
    @Test func `the runtime's layout was learned and verified`() {
        #expect(cll_task_layout_is_known() != 0 && TaskRuntime.isVerified)
        let layout = TaskRuntime.layout
        #expect(layout.slots.task != 0 && layout.slots.task_id >= 0 && layout.running != 0)
        #expect(layout.priority >= 0 && layout.name >= 0 && layout.local >= 0 && layout.block >= 0, "\(layout)")
    }

    @Test(arguments: [TaskPriority.high, .medium, .low]) func `a task as it is read`(_ priority: TaskPriority) async throws {
        let task = try await Task.detached(name: "a task of a test", priority: priority) {
            try TaskRuntime.$context.withValue(0x0123_4567_89ab) { try Self.readOwn() }
        }.value
        #expect(task.nameText == "a task of a test" && task.local == 0x0123_4567_89ab && task.has_priority != 0)
        // Who awaits it may have raised its priority.
        #expect(task.priority >= priority.rawValue && task.address != 0 && task.number != 0)
    }

    @Test func `without a name and a context it has none`() async throws {
        let task = try await Task.detached { try Self.readOwn() }.value
        #expect(task.nameText == nil && task.local == 0)
    }

    @Test func `children and tasks made within have the context`() async throws {
        try await TaskRuntime.$context.withValue(77) {
            async let child = Self.readLater()
            #expect(try await child.local == 77)
            #expect(try await Task { try await Self.readLater() }.value.local == 77)
            #expect(try await Task.detached { try await Self.readLater() }.value.local == 0)
            let members = try await withThrowingTaskGroup(of: UInt64.self) { group in
                for _ in 0..<4 { group.addTask { try await Self.readLater().local } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(members == [77, 77, 77, 77])
        }
    }

    @Test func `another thread is not read as one that is gone`() throws {
        var task = cll_task()
        let thread = try #require(JobThread(tid: cll_gettid()))
        #expect(thread.read(TaskRuntime.layout, &task))
        #expect(JobThread(tid: 0x3fff_fffe) == nil)
    }

    private static func readLater() async throws -> cll_task {
        try await Task.sleep(for: .milliseconds(1))
        return try readOwn()
    }

    private static func readOwn() throws -> cll_task {
        var task = cll_task()
        let thread = try #require(JobThread(tid: cll_gettid()))
        #expect(thread.read(TaskRuntime.layout, &task))
        return task
    }
}
