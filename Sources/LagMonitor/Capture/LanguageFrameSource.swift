package import CLagBeacon
package import CLagLinux
package import LagActivity
package import LagModel

/// Knows the frames that the runtimes of languages keep of another process's threads: interpreters, compilers at run time.
///
/// A monitor of this process has none. In the stack of a thread such a frame is one with a ``FrameBuffer/Frame/language`` number; what that
/// stands for is asked for by the reporter.
package protocol LanguageFrameSource: AnyObject, Sendable {
    /// Before anything is captured.
    /// - Parameter notify: has the reporter call ``resolve()``; must not block.
    func begin(notify: @escaping @Sendable () -> Void)

    /// What one watchdog captures them by; nil where there is no memory: then all frames are native ones.
    func makeCapture(process: Int32) -> (any LanguageCapture)?

    /// The lock of a runtime that a thread waits for which sleeps in a futex at this address. The watchdog, after a capture; bounded,
    /// some 10 µs.
    /// - Returns: nil where the futex is none of a runtime's lock.
    func lock(waitedForAt futex: UInt64) -> RuntimeLock?

    /// The function of a frame, as a number that others do not have. Any thread.
    func function(of frame: UInt32) -> UInt64

    /// Finds the names of frames that came since the last call. Reads files and the process's memory.
    func resolve()

    /// What a frame is; nil where that is not known, or was forgotten.
    func name(of frame: UInt32) -> LanguageFrameName?
}

/// A lock that a language's runtime keeps for itself, such as CPython's.
package struct RuntimeLock: Sendable, Equatable {
    /// Where it lies.
    package let address: UInt64
    /// The thread that holds it; 0: none, or that is not certain.
    package let owner: Int32
    /// How often it has passed from one thread to another: unchanged means that the same one has held it all the time.
    package let switches: UInt64

    package init(address: UInt64, owner: Int32, switches: UInt64) {
        self.address = address
        self.owner = owner
        self.switches = switches
    }
}

/// The part of a capture that is the languages': copies for each way to a stack, and what becomes of them. Owned by the watchdog, as
/// ``ThreadCapture`` is.
package protocol LanguageCapture: AnyObject {
    /// What the thread of the last capture was at; nil: that is not known.
    var context: UnsafePointer<clb_context_copy>? { get }
    /// The task of its language that it ran; nil: none, or that is not known.
    var task: UnsafePointer<cll_task>? { get }
    /// Whether it was collecting garbage.
    var isCollecting: Bool { get }

    func forgetContext()

    /// - Parameter identity: nil: the next capture is of native frames alone.
    /// - Returns: whether frames have to be copied while the thread cannot change them.
    func prepare(_ identity: ThreadIdentity?, _ modules: ModuleMap) -> Bool

    /// Reads what a thread is at just now, whatever it does meanwhile: it counts only where a capture finds the same afterwards.
    /// - Parameter isLikely: whether it is worth a look at the modules, which takes long the first time.
    func readRunning(_ identity: ThreadIdentity, _ modules: ModuleMap, isLikely: Bool)

    /// Copies what the runtimes keep of a thread that sleeps.
    func copySleeping(_ snapshot: UnsafePointer<cll_snapshot>)

    /// Puts the languages' frames in the place of the runtimes' own, when the thread is on its way again.
    /// - Parameter stored: frames there are.
    /// - Returns: frames there are then, how many the whole stack gained, and whether a runtime says that it ends at the thread's first function.
    func merge(
        _ method: CaptureMethod,
        _ snapshot: UnsafePointer<cll_snapshot>,
        into frames: FrameBuffer,
        stored: Int
    ) -> (stored: Int, gained: Int, isWhole: Bool)
}

/// A function of a language, as its runtime names it.
package struct LanguageFrameName: Sendable, Hashable {
    /// `python`, `javascript`, `go`, `ruby`, `php`, …; nil: it has a name, and is no language's.
    package var language: String?
    /// The function, with what it is in: `Shop.checkout`, `load.<locals>.<lambda>`.
    package var function: String
    /// The name by which stalls are compared and blamed: the same for every build of the runtime, and without a line.
    package var symbol: String
    /// Of a function without a name of its own: what tells it from others of its symbol, the same for every build of the runtime.
    package var variant: String?
    /// The source file, as the runtime names it.
    package var file: String?
    /// Counted from 1.
    package var line: Int?
    /// Whether it is no code of the program's own: the language's library, the runtime, a dependency. Nil: the file decides.
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
