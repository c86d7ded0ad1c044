internal import Glibc
internal import LagMonitor
internal import LagOutput
internal import Synchronization

/// Writes what was really injected: one JSON line per execution, with `kind`, `begin_mono_us`, `end_mono_us`, `function`.
///
/// Begin and end are read right around the blocking call. Any thread; a line is one `write` to a file opened with `O_APPEND`.
package final class TruthLog: Sendable {
    private struct State {
        var descriptor: Int32
        var open: (kind: WorkloadKind, begin: MonotonicTime)?
    }

    private let path: String
    private let state: Mutex<State>

    /// - Throws: ``WorkloadError`` with path and reason when the file cannot be opened.
    package init(path: String) throws(WorkloadError) {
        self.path = path
        do {
            state = Mutex(State(descriptor: try LineFile.open(path).descriptor))
        } catch {
            throw WorkloadError("truth: \(error)")
        }
    }

    deinit { state.withLock { _ = close($0.descriptor) } }

    /// An execution begins now.
    package func begin(_ kind: WorkloadKind) {
        state.withLock { $0.open = (kind, .now) }
    }

    /// The execution in progress, if any, ends now: its line is written.
    package func finish() {
        let now = MonotonicTime.now
        state.withLock { state in
            guard let (kind, begin) = state.open else { return }
            state.open = nil
            Self.write(Self.line(kind: kind, begin: begin, end: now), to: state.descriptor)
        }
    }

    /// Reopens the file, for a rotation; keeps the old one if that fails.
    package func reopen() {
        do {
            let fresh = try LineFile.open(path).descriptor
            state.withLock { state in
                close(state.descriptor)
                state.descriptor = fresh
            }
        } catch {
            WorkloadMessage.write("truth: \(error)")
        }
    }

    /// One line of the truth, including the newline. The names need no JSON escaping.
    static func line(kind: WorkloadKind, begin: MonotonicTime, end: MonotonicTime) -> String {
        "{\"kind\":\"\(kind.rawValue)\",\"begin_mono_us\":\(begin.nanoseconds / 1000),"
            + "\"end_mono_us\":\(end.nanoseconds / 1000),\"function\":\"\(kind.functionName)\"}\n"
    }

    private static func write(_ line: String, to descriptor: Int32) {
        var bytes = Array(line.utf8)[...]
        while !bytes.isEmpty {
            let count = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count > 0 {
                bytes = bytes.dropFirst(count)
            } else if errno != EINTR {
                WorkloadMessage.write("truth line lost: \(WorkloadMessage.reason(errno))")
                return
            }
        }
    }
}
