/// What all records of a process have in common: read once, at start.
package struct ProcessContext: Sendable, Equatable {
    /// `pid`: the process's number, in the PID namespace of the monitor.
    package var pid: Int32
    /// `process_name`: the base name of the executable file.
    package var processName: String
    /// `host_name`.
    package var hostName: String
    /// `boot_id`: 32 lower-case hex digits; all zeros if the kernel does not report it. Times of `mono_us` compare only within
    /// the same boot.
    package var bootID: String
    /// `service_name` in OpenTelemetry's meaning.
    package var serviceName: String?
    /// `service_version`.
    package var serviceVersion: String?
    /// `labels`: the operator's labels.
    package var labels = RecordLabels.none
    /// Where it runs: `k8s_pod_name`, `container_id`, …
    package var resource = ProcessResource()

    package init(
        pid: Int32,
        processName: String,
        hostName: String,
        bootID: String,
        serviceName: String? = nil,
        serviceVersion: String? = nil
    ) {
        self.pid = pid
        self.processName = processName
        self.hostName = hostName
        self.bootID = bootID
        self.serviceName = serviceName
        self.serviceVersion = serviceVersion
    }

    /// Lower-case hex digits only, exactly 32 of them; zeros when `text` is not a boot id.
    package static func normalizedBootID(_ text: String) -> String {
        let digits = text.lowercased().utf8.filter { byte in
            (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte)
        }
        return digits.count == 32 ? String(decoding: digits, as: UTF8.self) : String(repeating: "0", count: 32)
    }
}
