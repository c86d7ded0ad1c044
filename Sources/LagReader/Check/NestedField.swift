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

    package static let frame = [
        NestedField("pc", .address, isRequired: true, "The address in the process."),
        NestedField("module", .text, "The file the address lies in."),
        NestedField("build_id", .text, "That file's build-id."),
        NestedField("offset", .address, "The address in the file, wherever it was loaded."),
        NestedField("symbol", .text, "The function, simplified."),
        NestedField("function", .text, "The function in full, where that says more."),
        NestedField("symbol_offset", .count, "Bytes from the function's start."),
        NestedField("file", .text, "Source file."),
        NestedField("line", .integer, "Line in it."),
        NestedField("inlined", .flag, "The function was inlined into the one of the next frame."),
        NestedField("in_app", .flag, "The program's own code."),
    ]

    package static let thread = [
        NestedField("thread_id", .taskID, isRequired: true, "The kernel's number."),
        NestedField("thread_name", .text, "Its name."),
        NestedField("waits_for", .address, "The lock that it waits for itself."),
        NestedField("frames", .frames, "Its stack, leaf first."),
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
        NestedField("ms", .milliseconds, isRequired: true, "The stretch of the stall that these samples stand for."),
        NestedField("samples", .count, isRequired: true, "How many samples went through here."),
        NestedField("frames", .texts, isRequired: true, "The functions, root to leaf."),
        NestedField("frames_total", .count, "How many there were, where some were left out."),
        NestedField("children", .sampleTree, "What the last of frames called, the heaviest first."),
        NestedField("pruned_ms", .milliseconds, "The weight of children that were left out."),
    ]
}
