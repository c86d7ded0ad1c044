internal import LagActivity
package import LagCapture
internal import LagModel

/// The language frames of one process: its runtimes, and the names of their frames. Also the work that the program publishes for
/// its threads.
///
/// Nothing is read before a stall is likely. At the first reading the modules are checked once; a process without a runtime then
/// costs one comparison.
package final class LanguageFrames: LanguageFrameSource {
    /// Every known runtime, in the order in which they are tried on a stack.
    static let recognisers: [@Sendable (ProcessImage) -> RuntimeRecognition] = [
        PythonRuntime.recognise, V8Runtime.recognise, GoRuntime.recognise, RubyRuntime.recognise, PHPRuntime.recognise,
        PerlRuntime.recognise, HotSpotRuntime.recognise, PerfMapRuntime.recognise,
    ]

    private struct State {
        var modules: UInt64?
        /// By recogniser.
        var found: [Int: any LanguageRuntime] = [:]
        var runtimes: [any LanguageRuntime] = []
        var table = LanguageFrameTable()
        var notify: (@Sendable () -> Void)?
        var contexts: ThreadContexts
        /// Unknown versions that were reported.
        var reported: Set<String> = []
        var folders: ProgramFolders?
    }

    private let process: Int32
    /// Which attributes of the program's published contexts are read.
    let attributes: PublishedAttributes
    private let reportError: @Sendable (String) -> Void
    private let memory: RemoteMemory
    private let state: PthreadMutex<State>

    /// - Parameters:
    ///   - attributes: which attributes of the program's published contexts are read.
    ///   - reportError: gets a line on a runtime of unknown version.
    package init(
        process: Int32,
        attributes: PublishedAttributes = PublishedAttributes(),
        reportError: @escaping @Sendable (String) -> Void
    ) {
        self.process = process
        self.attributes = attributes
        self.reportError = reportError
        memory = RemoteMemory(process: process)
        state = PthreadMutex(State(contexts: ThreadContexts(memory)))
    }

    package func begin(notify: @escaping @Sendable () -> Void) { state.withLock { $0.notify = notify } }

    package func makeCapture(process: Int32) -> (any LanguageCapture)? { RuntimeCapture(self, process: process) }

    /// Call it before a capture, when the modules are known. The runtimes are determined once for each set of modules.
    /// - Returns: nil if there is no runtime.
    func prepare(_ thread: ThreadIdentity, modules: ModuleMap) -> PreparedThread? {
        let runtimes = runtimes(modules)
        let context = state.withLock { $0.contexts.prepare(thread.tid, modules: modules) }
        guard !runtimes.isEmpty || context != nil else { return nil }
        // Frames that follow from addresses alone need no number.
        let inner =
            runtimes.contains { $0.copiesFrames } ? NamespaceThread.innerTid(of: thread.tid, process: process) : thread.tid
        return PreparedThread(
            self,
            runtimes.map { ($0, $0.prepare(tid: thread.tid, innerTid: inner)) },
            (thread.tid, inner),
            context
        )
    }

    /// The names of a context's attributes.
    func keys(for record: ThreadContextRecord) -> [String] { state.withLock { $0.contexts.keys(for: record) } }

    private func runtimes(_ modules: ModuleMap) -> [any LanguageRuntime] {
        let present = modules.generation
        if let known = state.withLock({ $0.modules == present ? $0.runtimes : nil }) { return known }
        let image = ProcessImage(modules, memory)
        // Their data, and the numbers of their frames, stay when a program loads another module.
        var found = state.withLock { $0.found }.filter { $1.stays(in: image) }
        var unknown: [String] = []
        for (index, recognise) in Self.recognisers.enumerated() where found[index] == nil {
            switch recognise(image) {
            case .absent: break
            case .found(let runtime): found[index] = runtime
            case .unknown(let version): unknown.append(version)
            }
        }
        let runtimes = Self.recognisers.indices.compactMap { found[$0] }
        let news = state.withLock { state in
            state.modules = present
            (state.found, state.runtimes) = (found, runtimes)
            return unknown.filter { state.reported.insert($0).inserted }
        }
        for version in news { reportError("process \(process): runtime_unknown: \(version): native frames only") }
        return runtimes
    }

    /// Assigns numbers to the frames of a stack.
    func numbers(_ frames: [(LanguageFrame, any LanguageRuntime)]) -> [UInt32] {
        let (numbers, notify) = state.withLock { state in
            let numbers = frames.map { state.table.number($0.0, of: $0.1) }
            return (numbers, state.table.hasUnresolved ? state.notify : nil)
        }
        notify?()
        return numbers
    }

    package func lock(waitedForAt futex: UInt64) -> RuntimeLock? {
        for runtime in state.withLock({ $0.runtimes }) {
            guard let lock = runtime.lock(waitedForAt: futex) else { continue }
            let owner = NamespaceThread.tid(ofInner: lock.owner, process: process) ?? 0
            return RuntimeLock(address: lock.address, owner: owner, switches: lock.switches)
        }
        return nil
    }

    package func function(of frame: UInt32) -> UInt64 { state.withLock { $0.table.function(of: frame) } }

    package func resolve() {
        let unresolved = state.withLock { $0.table.takeUnresolved() }
        guard !unresolved.isEmpty else { return }
        // The position at the first of them: it may change.
        let folders = state.withLock { $0.folders } ?? ProgramFolders(process: process)
        state.withLock { $0.folders = folders }
        for (number, entry) in unresolved {
            var name = entry.runtime.name(entry.frame)
            name = name.map(folders.marked)
            state.withLock { $0.table.setName(name, of: number) }
        }
    }

    package func name(of frame: UInt32) -> LanguageFrameName? {
        resolve()
        return state.withLock { $0.table[frame]?.name }
    }
}
