internal import Glibc
internal import LagMonitor

// Kinds that wait for a device: io and network.

/// An unnamed file in `TMPDIR` or `/tmp`: nothing is left behind, however the run ends.
struct ScratchFile {
    let descriptor: Int32

    init() throws(WorkloadError) {
        let directory = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
        var template = Array("\(directory)/lagmond-XXXXXX".utf8CString)
        descriptor = mkstemp(&template)
        guard descriptor >= 0 else { throw WorkloadError(call: "mkstemp in \(directory)", code: errno) }
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        unlink(template)
    }

    func close() { _ = Glibc.close(descriptor) }
}

/// Repeatedly writes a quarter of a megabyte and makes the disk confirm it.
@inline(never)
func writeAndSyncUntil(_ deadline: MonotonicTime, _ descriptor: Int32) {
    let block = [UInt8](repeating: 0x5a, count: 256 * 1024)
    repeat {
        let written = block.withUnsafeBytes { pwrite(descriptor, $0.baseAddress, $0.count, 0) }
        if (written < 0 && errno != EINTR) || fsync(descriptor) != 0 {
            WorkloadMessage.write("workload step io: \(WorkloadMessage.reason(errno))")
            return
        }
    } while MonotonicTime.now < deadline
}

/// Requests a page from the slow server and reads the answer to its end, as a blocking HTTP client does.
@inline(never)
func fetchFromSlowServer(_ port: UInt16, _ length: Duration) {
    let connection = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    guard connection >= 0 else { return WorkloadMessage.write("workload step network: socket: \(WorkloadMessage.reason(errno))") }
    defer { close(connection) }
    guard SlowServer.withAddress(port: port, { connect(connection, $0, $1) }) == 0 else {
        return WorkloadMessage.write("workload step network: connect: \(WorkloadMessage.reason(errno))")
    }
    let milliseconds = length.wholeNanoseconds / 1_000_000
    let request = Array("GET /wait?ms=\(milliseconds) HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n".utf8)
    guard send(connection, request, request.count, Int32(MSG_NOSIGNAL)) == request.count else {
        return WorkloadMessage.write("workload step network: send: \(WorkloadMessage.reason(errno))")
    }
    var answer = [UInt8](repeating: 0, count: 1024)
    while true {
        let count = recv(connection, &answer, answer.count, 0)
        if count == 0 || (count < 0 && errno != EINTR) { return }
    }
}
