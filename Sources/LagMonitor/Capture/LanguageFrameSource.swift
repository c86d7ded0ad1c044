package import CLagBeacon
package import CLagLinux
package import LagActivity
package import LagModel

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

/// A lock of a language's runtime, such as CPython's.
package struct RuntimeLock: Sendable, Equatable {
    /// Its address.
    package let address: UInt64
    /// The thread that holds it; 0: none, or not certain.
    package let owner: Int32
    /// How often it has passed from one thread to another: if unchanged, the same thread has held it all the time.
    package let switches: UInt64

    package init(address: UInt64, owner: Int32, switches: UInt64) {
        self.address = address
        self.owner = owner
        self.switches = switches
    }
}

/// The languages' part of a capture: copies for each capture method, and what becomes of them. Owned by the watchdog, like
/// ``ThreadCapture``.
package protocol LanguageCapture: AnyObject {
    /// What the thread of the last capture was working on; nil: not known.
    var context: UnsafePointer<clb_context_copy>? { get }
    /// The language's task that it ran; nil: none, or not known.
    var task: UnsafePointer<cll_task>? { get }
    /// Whether it was collecting garbage.
    var isCollecting: Bool { get }

    func forgetContext()

    /// - Parameters:
    ///   - identity: nil: the next capture is of native frames only.
    ///   - mayStop: whether it may stop the thread; no if another thread's stop was requested and is still to come.
    /// - Returns: whether frames must be copied while the thread cannot change them.
    func prepare(_ identity: ThreadIdentity?, _ modules: ModuleMap, mayStop: Bool) -> Bool

    /// Reads what a thread is working on at this moment, without stopping it: it counts only if a capture finds the same
    /// afterwards.
    /// - Parameter isLikely: whether it is worth examining the modules, which takes long the first time.
    func readRunning(_ identity: ThreadIdentity, _ modules: ModuleMap, isLikely: Bool)

    /// Copies the runtimes' frames of a sleeping thread.
    func copySleeping(_ snapshot: UnsafePointer<cll_snapshot>)

    /// Replaces the runtimes' own frames by the languages' frames, after the thread was released.
    /// - Parameter stored: the number of frames.
    /// - Returns: the number of frames afterwards, how many the whole stack gained, and whether a runtime reports that it ends at
    ///   the thread's first function.
    func merge(
        _ method: CaptureMethod,
        _ snapshot: UnsafePointer<cll_snapshot>,
        into frames: FrameBuffer,
        stored: Int
    ) -> (stored: Int, gained: Int, isWhole: Bool)
}

/// A function of a language, as its runtime names it.
package struct LanguageFrameName: Sendable, Hashable {
    /// `python`, `javascript`, `go`, `ruby`, `php`, …; nil: it has a name, but belongs to no language.
    package var language: String?
    /// The function, with its enclosing scopes: `Shop.checkout`, `load.<locals>.<lambda>`.
    package var function: String
    /// The name by which stalls are compared and blamed: the same for every build of the runtime, and without a line.
    package var symbol: String
    /// For a function without a name: distinguishes it from others with its symbol; the same for every build of the runtime.
    package var variant: String?
    /// The source file, as the runtime names it.
    package var file: String?
    /// Counted from 1.
    package var line: Int?
    /// Whether it is not the program's own code: the language's library, the runtime, a dependency. Nil: the file decides.
    package var isLibrary: Bool?

    /// - Parameter symbol: nil: the function, and the file without its folders.
    package init(
        language: String?,
        function: String,
        symbol: String? = nil,
        file: String? = nil,
        line: Int? = nil,
        isLibrary: Bool? = nil
    ) {
        self.language = language
        self.function = function
        self.symbol = symbol ?? Self.symbol(function, file)
        self.file = file
        self.line = line
        self.isLibrary = isLibrary
    }

    private static func symbol(_ function: String, _ file: String?) -> String {
        guard let file, !file.isEmpty else { return function }
        let base = file.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(file[file.utf8.index(after: $0)...]) } ?? file
        return base.isEmpty ? function : "\(function) (\(base))"
    }
}
