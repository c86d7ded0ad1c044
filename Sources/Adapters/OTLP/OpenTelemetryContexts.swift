internal import CLagOTLP
internal import Glibc
internal import LagModel

/// What this process's threads are at, for readers outside that know OpenTelemetry's process context (OTEP 4719) and thread context (OTEP 4947), as its
/// eBPF profiler and ``lagmond`` do.
///
/// ```swift
/// import LagMonitor
/// import LagMonitorOTLP
///
/// var configuration = StallMonitorConfiguration()
/// configuration.contexts = .recorded
/// try OpenTelemetryContexts.publish()
/// ```
/// Published is the innermost *synchronous* `withStallContext` that a thread runs, while a monitor records contexts: its trace and span, and its name
/// as the attribute `lagmonitor.context`. Other attributes are not, since they cannot be redacted for a reader outside; nor are asynchronous contexts: which
/// thread a task goes on with, the runtime does not say, and a thread would seem to be at what it has left. The trace's flags are 0.
public enum OpenTelemetryContexts {
    /// Why nothing is published.
    public struct Refusal: Error, Sendable, Equatable, CustomStringConvertible {
        /// The reason, as one line for a log.
        public let description: String
    }

    /// From now on until the process ends; in a child that it forks, not. Once: what has published a process context cannot do it again.
    ///
    /// Any thread. Reads `/proc/self/maps` and maps half a megabyte, of which what is used takes memory. A change of context costs some 5 ns more.
    /// - Parameters:
    ///   - serviceName: OpenTelemetry's `service.name`; nil: `OTEL_SERVICE_NAME`, or `unknown_service:` and the program's name.
    ///   - serviceVersion: `service.version`.
    /// - Throws: another library has published the process's context; the program does not export `otel_thread_ctx_v1` (it was not linked by Swift's driver,
    ///   or is static); the system has no memory for it.
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
