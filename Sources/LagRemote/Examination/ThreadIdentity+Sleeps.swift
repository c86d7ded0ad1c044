internal import CLagLinux
internal import LagActivity

extension ThreadIdentity {
    /// How often the thread has gone to sleep by itself (proc(5), `voluntary_ctxt_switches`); nil: it is gone, or the kernel does not say. Some
    /// 10 µs, no allocation.
    var sleeps: UInt64? {
        var status = cll_thread_status()
        return cll_procfs_status(process, tid, &status) == 0 ? status.voluntary_switches : nil
    }
}
