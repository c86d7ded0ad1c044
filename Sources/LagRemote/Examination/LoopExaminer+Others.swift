internal import CLagRemote

extension LoopExaminer {
    /// A loop that has come back from its wait lately.
    struct Other {
        let process: Int32
        /// What it waits on; nil: it was never seen in its wait.
        var object: WaitObject?
    }

    /// What the loop waits on, as far as it was seen.
    var asOther: Other { Other(process: process.pid, object: object) }

    /// Whether nothing is ready at the object but listening sockets from which others accept: as of a server's processes, which inherit one socket. While there
    /// are more clients than processes it is always ready, and who waits at it waits for the next process that is free.
    func isAcceptedByOthers(_ object: WaitObject, _ others: [Other]) -> Bool {
        guard !others.isEmpty, let listeners = object.readyListeners(pidfd: process.descriptor, process: process.pid) else {
            return false
        }
        return others.contains { ($0.object ?? WaitObject()).isFor(listeners, of: $0.process) }
    }
}
