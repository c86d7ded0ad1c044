/// Reads the frames that languages' runtimes (interpreters, JIT compilers) keep of another process's threads.
///
/// A monitor of its own process has none. In a thread's stack, such a frame has a ``FrameBuffer/Frame/language`` number; the
/// reporter looks up what it refers to.
package protocol LanguageFrameSource: AnyObject, Sendable {
    /// Called before the first capture.
    /// - Parameter notify: makes the reporter call ``resolve()``; must not block.
    func begin(notify: @escaping @Sendable () -> Void)

    /// Captures them for one watchdog; nil if there is no memory: then all frames are native ones.
    func makeCapture(process: Int32) -> (any LanguageCapture)?

    /// The runtime's lock for which a thread waits that sleeps in a futex at this address. The watchdog, after a capture;
    /// bounded, some 10 µs.
    /// - Returns: nil if the futex does not belong to a runtime's lock.
    func lock(waitedForAt futex: UInt64) -> RuntimeLock?

    /// The function of a frame, as a unique number. Any thread.
    func function(of frame: UInt32) -> UInt64

    /// Looks up the names of frames captured since the last call. Reads files and the process's memory.
    func resolve()

    /// The name of a frame; nil if it is not known, or was forgotten.
    func name(of frame: UInt32) -> LanguageFrameName?
}
