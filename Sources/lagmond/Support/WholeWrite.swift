internal import Glibc

/// Writes all bytes to a descriptor, also in non-blocking mode, which another user of a shared pipe or terminal may have set.
enum WholeWrite {
    /// - Parameter waitMilliseconds: how long to wait each time that the reader is behind; -1: as long as in blocking mode.
    /// - Returns: 0, or the error's number; `EAGAIN` when the reader was too slow.
    static func write(_ bytes: [UInt8], to descriptor: Int32, waitMilliseconds: Int32 = -1) -> Int32 {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            let code = count < 0 ? errno : EIO
            if count > 0 {
                rest = rest.dropFirst(count)
            } else if code == EAGAIN {
                var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                // The next write handles any other outcome.
                if poll(&entry, 1, waitMilliseconds) == 0 { return code }
            } else if code != EINTR {
                return code
            }
        }
        return 0
    }
}
