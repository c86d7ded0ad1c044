internal import CLagLinux
internal import LagActivity

extension ThreadIdentity {
    /// How often the thread has voluntarily gone to sleep (proc(5), `voluntary_ctxt_switches`); nil: it is gone, or the kernel
    /// does not show it. Takes some 10 µs, no allocation.
    var sleeps: UInt64? {
        var status = cll_thread_status()
        return cll_procfs_status(process, tid, &status) == 0 ? status.voluntary_switches : nil
    }
}
