extension PythonLayout {
    /// `thread_id`, a `pthread_t`, before `native_thread_id`, in all versions.
    private static let descriptorBeforeNumber: UInt64 = 8

    /// The ID of the thread that a state belongs to, in the process's own namespace; nil: none yet.
    ///
    /// In a forked process, the main thread's state has the ID of its parent's thread, until Python's own hook runs; an embedder
    /// without that hook (uWSGI) never renews it. The C library does, in the thread's own structure, which stays at its address
    /// after a fork. For other threads that structure proves nothing: the C library reuses it for a new thread when the earlier
    /// one has ended, whose state may still exist.
    /// - Parameter word: reads one.
    func number(ofState state: UInt64, _ word: (_ address: UInt64) -> UInt64?) -> Int32? {
        if let descriptorNumber, let descriptor = word(descriptorPlace(ofState: state)), descriptor != 0,
            let found = word(descriptor &+ descriptorNumber), Int32(truncatingIfNeeded: found) == mainThread
        {
            return mainThread
        }
        return word(state &+ nativeThread).flatMap(Int32.init(exactly:)).flatMap { $0 > 0 ? $0 : nil }
    }

    /// Where a state has the address of the C library's own structure of its thread.
    func descriptorPlace(ofState state: UInt64) -> UInt64 { state &+ nativeThread &- Self.descriptorBeforeNumber }
}
