internal import CLagRemote
internal import LagRemote

/// Explains a process without a known loop by what its threads do.
enum SilentProcess {
    /// - Parameter use: the result of `clr_threads_use` for it.
    static func reason(isGo: Bool, use: Int) -> String {
        if isGo { return GoProgram.notice }
        return switch use {
        case CLR_THREADS_AWAIT_CHILDREN: "it waits for its children"
        case CLR_THREADS_WAIT: WatchReport.firstWait(of: "it")
        default: WatchReport.noWaits
        }
    }

    /// The process with a thread that waits like a loop: the command's own process, `it`, or the first one below it. Takes 10 µs
    /// per process of the machine.
    /// - Parameter isWatched: whether a loop of a process below it would be watched.
    static func waiter(below root: Int32, name: (Int32) -> String, isWatched: (Int32) -> Bool) -> String? {
        func waits(_ process: Int32) -> Bool { Int(clr_threads_use(process)) == CLR_THREADS_WAIT }
        guard !waits(root) else { return "it" }
        let found = ProcessTree.members(below: root).sorted().first { isWatched($0) && !GoProgram.isRun(by: $0) && waits($0) }
        return found.map { "\(name($0)) [\($0)]" }
    }
}
