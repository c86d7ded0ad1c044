internal import Glibc
internal import LagMonitor
internal import Synchronization

/// Why a step cannot run.
package struct WorkloadError: Error, CustomStringConvertible {
    package let description: String

    package init(call: String, code: Int32) { description = "\(call): \(WorkloadMessage.reason(code))" }
    init(_ description: String) { self.description = description }
    package init(_ error: any Error) { description = "\(error)" }
}

/// One execution, ready to run: everything is set up, so that `block` is only the blocking call.
package struct Injection {
    package let block: () -> Void
    package var cleanUp: () -> Void = {}

    init(_ block: @escaping () -> Void, cleanUp: @escaping () -> Void = {}) {
        self.block = block
        self.cleanUp = cleanUp
    }
}

/// Turns a kind into the call that blocks. Each blocking function is in the file of its group, is never inlined,
/// is not generic, and has the name in ``WorkloadKind/functionName``.
package final class WorkloadSteps: Sendable {
    private let server: SlowServer?

    /// Starts what the steps need; only `network` needs a server.
    /// - Throws: ``WorkloadError`` if the server cannot start on loopback.
    package init(for steps: [WorkloadStep]) throws(WorkloadError) {
        guard steps.contains(where: { $0.kind == .network }) else {
            server = nil
            return
        }
        do {
            server = try SlowServer()
        } catch {
            throw WorkloadError("the workload's loopback server cannot start: \(error)")
        }
    }

    /// Sets up one execution of `kind` that takes `length`, counted from this call.
    ///
    /// A `starve` is not a single call (see ``CallbackChain``): here it is one callback of that length.
    /// - Parameter releasing: a `hang` ends after `length` as well, because its other thread gives up.
    package func prepare(_ kind: WorkloadKind, length: Duration, releasing: Bool = false) throws(WorkloadError) -> Injection {
        let deadline = MonotonicTime.now + length
        switch kind {
        case .cpu: return Injection { computeUntil(deadline) }
        case .starve: return Injection { computeInTurn(deadline) }
        case .short: return Injection { computeBriefly(deadline) }
        case .idle: return Injection { stayIdle() }
        case .format: return Injection { renderReportUntil(deadline) }
        case .sleep: return Injection { sleepUntil(deadline) }
        case .read:
            let pipe = try LatePipe(filledAt: deadline)
            return Injection {
                readFromLatePipe(pipe.readEnd)
            } cleanUp: {
                pipe.close()
            }
        case .lock:
            let mutex = try HeldMutex(until: deadline)
            return Injection { acquireHeldMutex(mutex.raw) }
        case .hang:
            let pair = try DeadlockedPair(releasedAt: releasing ? deadline : nil)
            return Injection { lockInOppositeOrder(pair.first, pair.second) }
        case .child: return Injection { waitForChildProcess(length) }
        case .io:
            let file = try ScratchFile()
            return Injection {
                writeAndSyncUntil(deadline, file.descriptor)
            } cleanUp: {
                file.close()
            }
        case .network:
            guard let server else { throw WorkloadError(call: "network without a server", code: ENOTCONN) }
            return Injection { fetchFromSlowServer(server.port, length) }
        }
    }
}
