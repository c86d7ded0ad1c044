internal import Glibc

extension ProcessContext {
    /// The calling process. Reads `/proc`: at start, not on a hot path. Never fails: what cannot be read is `unknown`; an
    /// unreadable boot id is all zeros.
    package static func current(serviceName: String? = nil, serviceVersion: String? = nil) -> ProcessContext {
        ProcessContext(
            pid: getpid(),
            processName: executableName(of: "self") ?? ProcFile.firstLine(of: "/proc/self/comm") ?? "unknown",
            hostName: hostName() ?? "unknown",
            bootID: normalizedBootID(ProcFile.firstLine(of: "/proc/sys/kernel/random/boot_id") ?? ""),
            serviceName: serviceName,
            serviceVersion: serviceVersion
        )
    }

    /// Adds where this process runs, from its environment and the kernel. Reads `/proc`, some 100 µs.
    package mutating func readResource() { add(ProcessResource(of: "self")) }

    /// Adds where the process runs; a missing service name is taken from there, too.
    package mutating func add(_ resource: ProcessResource) {
        self.resource = resource
        serviceName = serviceName ?? resource.serviceName
        serviceVersion = serviceVersion ?? resource.serviceVersion
    }

    /// `process_name` of another process: the name with which it was started. If one file has several names, this is more precise
    /// than the file's name. The kernel keeps 15 bytes of it; if it is cut, the file's name is used. Reads two small files; nil
    /// if neither can be read.
    package static func processName(of process: Int32) -> String? {
        let file = executableName(of: "\(process)")
        let command = ProcFile.firstLine(of: "/proc/\(process)/comm")
        let isCut = command.map { $0.utf8.count >= 15 && file?.hasPrefix($0) == true } ?? true
        return isCut ? file : command
    }

    /// The path of a process's executable from the kernel (followed by ` (deleted)` if the file was replaced); nil if it cannot
    /// be read. Any thread; 2 µs.
    package static func executablePath(of process: String) -> String? {
        var buffer = [CChar](repeating: 0, count: 4096)
        let count = readlink("/proc/\(process)/exe", &buffer, buffer.count)
        return count > 0 ? text(buffer[..<count]) : nil
    }

    private static func executableName(of process: String) -> String? {
        guard var path = executablePath(of: process) else { return nil }
        // The kernel adds this when the file was replaced, as every update does.
        if path.hasSuffix(" (deleted)") { path.removeLast(10) }
        guard let name = path.split(separator: "/").last else { return nil }
        return String(name)
    }

    private static func hostName() -> String? {
        var buffer = [CChar](repeating: 0, count: 256)
        guard gethostname(&buffer, buffer.count - 1) == 0 else { return nil }
        let name = text(buffer.prefix { $0 != 0 })
        return name.isEmpty ? nil : name
    }

    private static func text(_ characters: ArraySlice<CChar>) -> String {
        String(decoding: characters.lazy.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
