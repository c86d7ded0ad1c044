internal import CLagRemote

/// Go programs: their runtime waits for events in any idle thread, and runs goroutines in all threads.
package enum GoProgram {
    /// The message about one.
    package static let notice = "a Go program: its goroutines are not watched, and its threads are not loops"

    /// Whether a process runs one, by the note that Go's linker adds to its file. False also if the kernel does not permit
    /// reading it. Takes some 20 µs; any thread.
    package static func isRun(by process: Int32) -> Bool { clr_is_go_program(process) != 0 }

    /// The same for a file.
    package static func isFile(at path: String) -> Bool { clr_is_go_file(path) != 0 }
}
