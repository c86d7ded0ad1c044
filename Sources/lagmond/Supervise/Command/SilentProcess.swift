internal import CLagRemote
internal import LagRemote

/// A process of which no loop is known, by what its threads are at.
enum SilentProcess {
    /// - Parameter use: `clr_threads_use` of it.
    static func reason(isGo: Bool, use: Int) -> String {
        if isGo { return GoProgram.notice }
        return switch use {
        case CLR_THREADS_AWAIT_CHILDREN: "it waits for its children"
        case CLR_THREADS_WAIT: WatchReport.firstWait(of: "it")
        default: WatchReport.noWaits
        }
    }

    /// Who waits as loops do: the command's own process, which is `it`, or the first one below it. Some µs a process of the machine.
    static func waiter(below root: Int32, name: (Int32) -> String) -> String? {
        func waits(_ process: Int32) -> Bool { Int(clr_threads_use(process)) == CLR_THREADS_WAIT }
        guard !waits(root) else { return "it" }
        return ProcessTree.members(below: root).first(where: waits).map { "\(name($0)) [\($0)]" }
    }
}
