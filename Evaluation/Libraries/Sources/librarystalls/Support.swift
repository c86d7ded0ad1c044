internal import CLibraryStalls
internal import LagMonitor

/// Starts a thread of this name that runs `work` and ends.
func onThread(_ name: String, _ work: @escaping @Sendable () -> Void) throws {
    try ObservedRunLoop.performInBackground(name: name, work)
}

/// The preparation of a scenario of the C part.
func prepare(_ name: String) throws {
    if let reason = cStall(name).prepare?() { throw Unavailable(reason: String(cString: reason)) }
}

private func cStall(_ name: String) -> stall {
    for index in Int32(0)... {
        guard let stall = library_stall(index) else { break }
        if String(cString: stall.pointee.name) == name { return stall.pointee }
    }
    fatalError("unknown scenario '\(name)'")
}

/// An HTTP server on loopback that receives a request, and responds on demand.
struct SilentHTTP {
    let address: String

    init() throws {
        try prepare("curl-silent-server")
        address = "http://127.0.0.1:\(http_port())/"
    }

    func answer(at end: moment) { cStall("curl-silent-server").arrange(end) }
}
