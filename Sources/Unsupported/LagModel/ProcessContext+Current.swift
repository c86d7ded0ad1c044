internal import Foundation

extension ProcessContext {
    /// The calling process, as far as Foundation describes it; the boot ID is zeros.
    package static func current(serviceName: String? = nil, serviceVersion: String? = nil) -> ProcessContext {
        let process = ProcessInfo.processInfo
        return ProcessContext(
            pid: process.processIdentifier,
            processName: process.processName,
            hostName: "unknown",
            bootID: normalizedBootID(""),
            serviceName: serviceName,
            serviceVersion: serviceVersion
        )
    }
}
