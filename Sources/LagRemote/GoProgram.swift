internal import CLagRemote

/// Programs of Go: their runtime waits for events by whichever thread is idle, and runs goroutines by all.
package enum GoProgram {
    /// What to say of one.
    package static let notice = "a Go program: its goroutines are not watched, and its threads run no loop"

    /// Whether a process runs one, by the note that Go's linker leaves in its file. False also where the kernel does not let us read that. Some
    /// 20 µs; any thread.
    package static func isRun(by process: Int32) -> Bool { clr_is_go_program(process) != 0 }

    /// The same of a file.
    package static func isFile(at path: String) -> Bool { clr_is_go_file(path) != 0 }
}
