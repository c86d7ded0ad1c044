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
        NestedField("thread_id", .taskID, isRequired: true, "The kernel's number."),
        NestedField("thread_name", .text, "Its name."),
        NestedField("waits_for", .address, "The lock that it waits for itself."),
        NestedField("frames", .frames, "Its stack, leaf first."),
    ]

    package static let request = [
        NestedField("name", .text, isRequired: true, "What kind of work it is."),
        NestedField("running", .flag, isRequired: true, "Whether the stalled thread was at it."),
        NestedField("open_ms", .milliseconds, "For how long it had been open; not there: not known."),
        NestedField("attributes", .attributes, "What else the program said of it."),
    ]

    package static let task = [
        NestedField("id", .count, isRequired: true, "The runtime's number of the task."),
        NestedField("name", .text, "The name it was made with."),
        NestedField("priority", .count, "TaskPriority's number."),
        NestedField("awaited_by", .texts, "The names of the tasks that wait for it, one for the other; of CPython alone."),
    ]

    package static let workerGroup = [
        NestedField("thread_ids", .threadIDs, isRequired: true, "The kernel's numbers."),
        NestedField(
            "frames",
            .frames,
            "Their stack, leaf first; not there where it is the record's own, or the line had no room."
        ),
    ]

    package static let sampleNode = [
        NestedField("ms", .milliseconds, isRequired: true, "The time of the stall that these samples cover."),
        NestedField("samples", .count, isRequired: true, "How many samples went through here."),
        NestedField("frames", .texts, isRequired: true, "The functions, root to leaf."),
        NestedField("frames_total", .count, "How many there were, where some were left out."),
        NestedField("children", .sampleTree, "What the last of frames called, the heaviest first."),
        NestedField("pruned_ms", .milliseconds, "The weight of children that were left out."),
    ]
}
