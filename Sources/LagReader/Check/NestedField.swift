package import LagModel

/// A member of an object within a line: a frame, a thread, a group of workers, a sample.
package struct NestedField: Sendable {
    package let name: StaticString
    package let content: FieldContent
    package let isRequired: Bool
    package let documentation: StaticString

    private init(_ name: StaticString, _ content: FieldContent, isRequired: Bool = false, _ documentation: StaticString) {
        self.name = name
        self.content = content
        self.isRequired = isRequired
        self.documentation = documentation
    }

    package static let frame = FrameMember.all.map {
        NestedField($0.name, $0.content, isRequired: $0.isRequired, $0.documentation)
    }

    package static let thread = [
        NestedField("thread_id", .taskID, isRequired: true, "The kernel's thread ID."),
        NestedField("thread_name", .text, "Its name."),
        NestedField("waits_for", .address, "The address of the lock that this thread itself waits for."),
        NestedField("frames", .frames, "Its stack, leaf first."),
    ]

    package static let request = [
        NestedField("name", .text, isRequired: true, "The kind of work."),
        NestedField("running", .flag, isRequired: true, "Whether the stalled thread was working on it."),
        NestedField("open_ms", .milliseconds, "How long it had been open; absent: not known."),
        NestedField("attributes", .attributes, "Attributes that the program set."),
    ]

    package static let task = [
        NestedField("id", .count, isRequired: true, "The runtime's ID of the task."),
        NestedField("name", .text, "The name that it was created with."),
        NestedField("priority", .count, "TaskPriority's number."),
        NestedField("awaited_by", .texts, "The chain of tasks that wait for it, by name; CPython only."),
    ]

    package static let workerGroup = [
        NestedField("thread_ids", .threadIDs, isRequired: true, "The kernel's thread IDs."),
        NestedField(
            "frames",
            .frames,
            "Their stack, leaf first; absent if it is the record's own, or did not fit in the line."
        ),
    ]

    package static let sampleNode = [
        NestedField("ms", .milliseconds, isRequired: true, "The time of the stall that these samples cover."),
        NestedField("samples", .count, isRequired: true, "How many samples went through here."),
        NestedField("frames", .texts, isRequired: true, "The functions, root to leaf."),
        NestedField("frames_total", .count, "The total number, if some were left out."),
        NestedField("children", .sampleTree, "The functions called by the last of frames, the heaviest first."),
        NestedField("pruned_ms", .milliseconds, "The weight of children that were left out."),
    ]
}
