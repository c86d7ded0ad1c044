internal import CLagOTLP
internal import Glibc
internal import LagModel

/// Publishes what this process's threads are working on, for external readers of OpenTelemetry's process context (OTEP 4719) and
/// thread context (OTEP 4947), such as its eBPF profiler and ``lagmond``.
///
/// ```swift
/// import LagMonitor
/// import LagMonitorOTLP
///
/// var configuration = StallMonitorConfiguration()
/// configuration.contexts = .recorded
/// try OpenTelemetryContexts.publish()
/// ```
/// While a monitor records contexts, the innermost *synchronous* `withStallContext` of each thread is published: its trace and
/// span, and its name as the attribute `lagmonitor.context`. Other attributes are not published, because they cannot be redacted
/// for an external reader. Asynchronous contexts are not published, because the runtime does not report on which thread a task
/// continues: a thread would seem to work on what it has left. The trace's flags are 0.
public enum OpenTelemetryContexts {
    /// Why nothing is published.
    public struct Refusal: Error, Sendable, Equatable, CustomStringConvertible {
        /// The reason, as one line for a log.
        public let description: String
    }

    /// From now on until the process exits; not in a forked child. Call it once: a process context can be published only once.
    ///
    /// Any thread. Reads `/proc/self/maps` and maps half a megabyte, of which only the used part takes memory. A change of
    /// context costs some 5 ns more.
    /// - Parameters:
    ///   - serviceName: OpenTelemetry's `service.name`; nil: `OTEL_SERVICE_NAME`, or `unknown_service:` and the program's name.
    ///   - serviceVersion: `service.version`.
    /// - Throws: another library has published the process's context; the program does not export `otel_thread_ctx_v1` (it was
    ///   not linked by Swift's driver, or is static); the system has no memory for it.
    public static func publish(serviceName: String? = nil, serviceVersion: String? = nil) throws(Refusal) {
        guard clo_context_is_exported() != 0 else {
            throw Refusal(
                description:
                    "the program does not export otel_thread_ctx_v1: link it with --export-dynamic-symbol=otel_thread_ctx_v1"
            )
        }
        var process = ProcessContext.current(serviceName: serviceName, serviceVersion: serviceVersion)
        process.readResource()
        let message = ProcessContextWriter.message(process)
        let result = message.withUnsafeBytes { clo_context_publish($0.baseAddress, $0.count) }
        guard result != 0 else { return }
        throw Refusal(
            description: result == EEXIST
                ? "the process has published its context already, perhaps by another library"
                : "the process's context cannot be published: errno \(result)"
        )
    }
}
