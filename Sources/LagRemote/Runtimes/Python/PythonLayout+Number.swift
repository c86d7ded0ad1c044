extension PythonLayout {
    /// `thread_id`, a `pthread_t`, before `native_thread_id`, in all versions.
    private static let descriptorBeforeNumber: UInt64 = 8

    /// The number of the thread that a state belongs to, as the process itself knows it; nil: it has none yet.
    ///
    /// In a process that was forked the main thread's state has the number of its parent's thread, until Python's own hook runs: an embedder that does without
    /// (uWSGI) never renews it. The C library does, in the thread's own structure, which a fork leaves where it was. Of other threads that structure says nothing: the C library
    /// gives it to a new thread when the former one has ended, whose state may still be there.
    /// - Parameter word: reads one.
    func number(ofState state: UInt64, _ word: (_ address: UInt64) -> UInt64?) -> Int32? {
        if let descriptorNumber, let descriptor = word(state &+ nativeThread &- Self.descriptorBeforeNumber), descriptor != 0,
            let found = word(descriptor &+ descriptorNumber), Int32(truncatingIfNeeded: found) == mainThread
        {
            return mainThread
        }
        return word(state &+ nativeThread).flatMap(Int32.init(exactly:)).flatMap { $0 > 0 ? $0 : nil }
    }
}
