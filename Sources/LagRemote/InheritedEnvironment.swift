internal import LagModel

/// The environment of another process, even if the process has overwritten it.
///
/// Programs that write their title over their environment (redis-server, nginx) leave zero bytes there. Then this is the
/// environment of the nearest ancestor that has one, if the observer is an ancestor too, because the process has inherited it.
/// For any other process with the observer's host name, which is therefore in the same pod, it is the pod's entries of the
/// observer's environment.
enum InheritedEnvironment {
    private static let maximumAncestors = 16

    /// Reads some files of `/proc`; empty if they cannot be read.
    /// - Parameter observer: the process that reads.
    static func bytes(of process: Int32, observer: Int32) -> [UInt8] {
        let own = content(of: process)
        guard !own.isEmpty, isOverwritten(own) else { return own }
        var inherited: [UInt8]?
        var ancestor = process
        for _ in 0..<maximumAncestors {
            guard let parent = ProcFile.parent(of: ancestor) else { break }
            ancestor = parent
            let environment = content(of: parent)
            if inherited == nil, !isOverwritten(environment) { inherited = environment }
            if parent == observer { return inherited ?? [] }
        }
        // The containers of a pod share one UTS namespace; different pods have different ones.
        guard let hostName = ProcFile.namespace(.hostName, of: process), hostName == ProcFile.namespace(.hostName, of: observer)
        else { return [] }
        return podVariables(content(of: observer))
    }

    private static func isOverwritten(_ environment: [UInt8]) -> Bool { environment.allSatisfy { $0 == 0 } }

    /// The entries of an environment that describe the pod, not the program.
    private static func podVariables(_ environment: [UInt8]) -> [UInt8] {
        let entries = environment.split(separator: 0).filter { entry in
            ["POD_NAME=", "POD_NAMESPACE=", "NODE_NAME="].contains { entry.starts(with: $0.utf8) }
        }
        return entries.flatMap { $0 + [0] }
    }

    private static func content(of process: Int32) -> [UInt8] {
        ProcFile.bytes(at: "/proc/\(process)/environ", limit: ProcessResource.maximumEnvironmentBytes) ?? []
    }
}
