/// A loop whose work moves between threads, one at a time.
package protocol UnpinnedLoop: ObservableLoop {
    /// The kernel's id of the thread that works for it now; 0: none, or not known. Called by the watchdog: no lock, no
    /// allocation.
    var presentThread: Int32 { get }
}
