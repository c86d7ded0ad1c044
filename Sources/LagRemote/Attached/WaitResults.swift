internal import CLagLinux
internal import CLagRemote

/// The results that the loop's last wait has stored in the program's memory. The next wait overwrites them: if they changed,
/// there was another wait. Only for the watchdog's thread.
struct WaitResults {
    private var place = clr_wait_results()
    private var contents: UInt64 = 0
    private var readNanoseconds: UInt64 = 0
    /// When they were last seen to differ; 0: never.
    private(set) var changedNanoseconds: UInt64 = 0
    /// When they were last seen unchanged before that.
    private(set) var sameNanoseconds: UInt64 = 0

    /// Call it while the thread sleeps in the loop's wait.
    mutating func record(_ call: inout cll_thread_syscall) {
        place = clr_results_of_wait(&call)
        contents = 0
    }

    /// Call it while the thread is at work. Some µs.
    mutating func read(of process: Int32, at now: UInt64) {
        guard place.length > 0 else { return }
        let found = clr_read_results(process, place)
        if contents != 0, found != 0, found != contents { (changedNanoseconds, sameNanoseconds) = (now, readNanoseconds) }
        readNanoseconds = now
        contents = found
    }
}
