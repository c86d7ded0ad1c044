public import Glibc

/// A socket with this address: a path, or `@` and an abstract name. Nil if it cannot be bound.
public func boundUnixSocket(_ address: String, _ type: __socket_type) -> Int32? {
    let descriptor = socket(AF_UNIX, Int32(type.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    var name = sockaddr_un()
    name.sun_family = sa_family_t(AF_UNIX)
    let isAbstract = address.hasPrefix("@")
    withUnsafeMutableBytes(of: &name.sun_path) { path in
        path.copyBytes(from: address.utf8)
        if isAbstract { path[0] = 0 }
    }
    // The zero byte at the end of a path counts; an abstract name has none.
    let length = socklen_t(MemoryLayout<sa_family_t>.size + address.utf8.count + (isAbstract ? 0 : 1))
    let status = withUnsafePointer(to: &name) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, length) }
    }
    if status == 0 { return descriptor }
    close(descriptor)
    return nil
}
