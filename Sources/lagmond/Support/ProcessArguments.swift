internal import CLagRemote

/// The command line of this process, also without `/proc`: there `CommandLine` finds no arguments, so that a run that should
/// watch a command would watch itself.
enum ProcessArguments {
    /// As the kernel passed them, terminated by nil. Never freed.
    static var raw: (pointers: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>, count: Int) {
        var count: Int32 = 0
        guard let pointers = clr_process_arguments(&count), count > 0 else {
            return (CommandLine.unsafeArgv, Int(CommandLine.argc))
        }
        return (pointers, Int(count))
    }

    /// The program's name first.
    static var all: [String] {
        let (pointers, count) = raw
        return (0..<count).map { pointers[$0].map { String(cString: $0) } ?? "" }
    }
}
