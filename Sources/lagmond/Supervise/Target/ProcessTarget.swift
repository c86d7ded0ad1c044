internal import Glibc
internal import LagMonitor
internal import LagRemote
internal import Synchronization

/// A target that already runs: attached to by its process ID, or by a PID file, which is read again when the process has exited.
final class ProcessTarget: Target {
    private struct State {
        var settings: TargetSettings
        var present: AttachedProcess?
        var past = StallMonitorStatistics()
        var end: WrappedProcess.Termination?
        /// Why it is not watched now; reported once.
        var waitReason: String?
        /// The same, if no other target watches it.
        var fault: String?
    }

    private let dependencies: TargetDependencies
    private let configuration: RemoteConfiguration
    private let state: Mutex<State>
    private let stopping = Atomic(false)
    private let hasEnded = Atomic(true)

    private static let pollMicroseconds: UInt32 = 100_000
    /// The number of polls until the next attempt to attach.
    private static let pollsBetweenAttempts = 10

    init(_ settings: TargetSettings, _ dependencies: TargetDependencies) throws(StartFailure) {
        self.dependencies = dependencies
        do throws(StartFailure) {
            configuration = try settings.remoteConfiguration()
            var state = State(settings: settings)
            // A process that is named by its ID must exist before anything starts.
            if case .process(let pid) = settings.kind {
                if let overlap = dependencies.overlap(pid) {
                    throw StartFailure(status: ExitStatus.configuration, message: overlap)
                }
                state.present = try Self.make(pid, settings, configuration, dependencies)
            }
            self.state = Mutex(state)
        } catch {
            throw error.ofTarget(settings.name)
        }
    }

    private static func make(
        _ process: Int32,
        _ settings: TargetSettings,
        _ configuration: RemoteConfiguration,
        _ dependencies: TargetDependencies
    ) throws(StartFailure) -> AttachedProcess {
        try AttachedProcess(
            process,
            name: settings.name,
            configuration: configuration,
            sink: dependencies.sink,
            lines: LineDispatcher(live: dependencies.live, target: settings.name)
        )
    }

    var settings: TargetSettings { state.withLock { $0.settings } }
    var end: WrappedProcess.Termination? { state.withLock { $0.end } }
    private var present: AttachedProcess? { state.withLock { $0.present } }

    /// With a PID file, a missing process is waited for.
    func start() throws(StartFailure) {
        if let present {
            try present.start()
        } else {
            do throws(StartFailure) { try attach() } catch { reportWait(error.message) }
        }
        hasEnded.store(false, ordering: .releasing)
        do throws(StartFailure) {
            try HelperThread.start("target-process") { [self] in
                follow()
                hasEnded.store(true, ordering: .releasing)
            }
        } catch {
            hasEnded.store(true, ordering: .releasing)
            throw error.ofTarget(settings.name)
        }
    }

    private func attach() throws(StartFailure) {
        guard case .processFile(let path) = settings.kind else { return }
        let process: Int32
        switch try Self.content(of: path) {
        case .number(let number): process = number
        case .nothing(let reason): return reportWait("pid_file: \(path): \(reason)", isFault: false)
        }
        // A stale PID file.
        if kill(process, 0) != 0, errno == ESRCH {
            return reportWait("pid_file: \(path): process \(process): no such process", isFault: false)
        }
        if let overlap = dependencies.overlap(process) { return reportWait(overlap, isFault: false) }
        let attached = try Self.make(process, settings, configuration, dependencies)
        try attached.start()
        state.withLock { state in
            state.present = attached
            (state.waitReason, state.fault) = (nil, nil)
        }
    }

    private enum Content {
        case number(Int32)
        /// No process ID in the file yet: the target waits until its program writes it.
        case nothing(String)
    }

    private static func content(of path: String) throws(StartFailure) -> Content {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else {
            if errno == ENOENT { return .nothing(Diagnostics.reason(errno)) }
            throw StartFailure(status: ExitStatus.noInput, message: "pid_file: \(path): \(Diagnostics.reason(errno))")
        }
        defer { close(descriptor) }
        var buffer = [UInt8](repeating: 0, count: 32)
        let count = buffer.withUnsafeMutableBytes { read(descriptor, $0.baseAddress, $0.count) }
        guard count >= 0 else {
            throw StartFailure(status: ExitStatus.noInput, message: "pid_file: \(path): \(Diagnostics.reason(errno))")
        }
        if count == 0 { return .nothing("empty") }
        let text = String(decoding: buffer[..<count], as: UTF8.self).split(whereSeparator: \.isWhitespace).first ?? ""
        guard let number = Int32(text), number > 0 else {
            throw StartFailure(
                status: ExitStatus.noInput,
                message: "pid_file: \(path): \"\(text)\" is not a process ID (allowed: 1 and above, in decimal)"
            )
        }
        return .number(number)
    }

    /// The thread's body: runs until the process has ended for good.
    private func follow() {
        var polls = 0
        var report = AttachReport()
        while !stopping.load(ordering: .acquiring) {
            usleep(Self.pollMicroseconds)
            polls += 1
            if let process = present {
                report.update(process.watchedProcesses, label: "\(settings.name): ")
                guard process.watch.isOver else { continue }
                stopWatching(process)
                report = AttachReport()
                Diagnostics.report("\(settings.name): process \(process.watch.process) has ended")
                guard case .processFile = settings.kind else {
                    state.withLock { $0.end = .exited(0) }
                    return dependencies.onEnd()
                }
            } else if polls % Self.pollsBetweenAttempts == 0 {
                do throws(StartFailure) { try attach() } catch { reportWait(error.message) }
            }
        }
    }

    private func reportWait(_ reason: String, isFault: Bool = true) {
        let isNew = state.withLock { state in
            defer { (state.waitReason, state.fault) = (reason, isFault ? reason : nil) }
            return state.waitReason != reason
        }
        if isNew { Diagnostics.report("\(settings.name): \(reason); waiting") }
    }

    private func stopWatching(_ process: AttachedProcess) {
        process.watch.stop()
        state.withLock { state in
            state.past += process.watch.statistics
            state.present = nil
        }
    }

    func accepts(_ settings: TargetSettings) throws(StartFailure) -> Bool {
        let configuration = try settings.remoteConfiguration()
        return configuration == self.configuration && settings.kind == self.settings.kind
    }

    func change(to settings: TargetSettings) { state.withLock { $0.settings = settings } }

    func stop() {
        stopping.store(true, ordering: .releasing)
        let deadline = MonotonicTime.now + .seconds(10)
        while !hasEnded.load(ordering: .acquiring), MonotonicTime.now < deadline { usleep(2000) }
        if let process = present { stopWatching(process) }
    }

    var status: TargetStatus {
        let (process, settings, fault, end) = state.withLock { ($0.present, $0.settings, $0.fault, $0.end) }
        if let process { return process.status }
        let phase: CommandLifecycle.Phase = end == nil ? .waiting : .ended
        return TargetStatus(name: settings.name, phase: phase.rawValue, isCommand: false, fault: fault)
    }

    /// This target has no command.
    func covers(_ process: Int32) -> Bool { false }

    var lags: [StallCounts.LoopKey: UInt64] { present?.lags ?? [:] }

    var statistics: StallMonitorStatistics {
        var (sum, process) = state.withLock { ($0.past, $0.present) }
        if let process { sum += process.watch.statistics }
        return sum
    }

    func probeLiveness() -> LivenessProbe.Check {
        // A target that replaces another one waits until that one has ended.
        present?.watch.probeLiveness().expected { [self] in !hasEnded.load(ordering: .acquiring) } ?? LivenessProbe.Check()
    }
}
