/// The address of a stream's reader.
public enum StreamAddress: Sendable, Equatable, CustomStringConvertible {
    /// A Unix socket (`SOCK_STREAM`), by its path of at most 107 bytes.
    case unix(path: String)
    /// A host, by name or address, and a port from 1 to 65535.
    case tcp(host: String, port: Int)

    /// unix(7): `sun_path` has 108 bytes, including the zero at the end.
    package static let maximumPathBytes = 107

    /// As written in settings: `unix:/run/x.sock`, `tcp:127.0.0.1:6000`, `tcp:[::1]:6000`.
    public var description: String {
        switch self {
        case .unix(let path): "unix:\(path)"
        case .tcp(let host, let port): host.contains(":") ? "tcp:[\(host)]:\(port)" : "tcp:\(host):\(port)"
        }
    }
}
